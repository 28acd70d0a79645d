/* paper_configs.c - see expand.h. */
#include "plan/expand.h"

#include <string.h>

#include "base/file.h"
#include "base/map.h"
#include "base/str.h"

enum { PAPER_LIST_BYTES = 16 * 1024 * 1024, PAPER_DATASETS_MAX = 16 };
static const char paper_scale[] = "paper";
static const char paper_list[] = "experiments/paper_configs.txt";

/* The content of the lists. */
struct listed {
    struct map ids;
    const char *uncounted[PAPER_DATASETS_MAX];
    int32_t uncounted_n;
};

static bool is_id(const char *word)
{
    size_t n = strlen(word);
    return n == SPEC_ID_BYTES - 1 && strspn(word, "0123456789abcdef") == n;
}

static int read_line(struct listed *l, char *line, const char *path, int32_t number, struct err *e)
{
    static const char blanks[] = " \t\r";
    char *rest, *word;

    line[strcspn(line, "#")] = '\0';
    word = strtok_r(line, blanks, &rest);
    if (!word) return 0;
    if (is_id(word)) {
        (void)map_put(&l->ids, word, strlen(word), NULL);
        return 0;
    }
    const char *dataset = strcmp(word, "uncounted") == 0 ? strtok_r(NULL, blanks, &rest) : NULL;
    if (!dataset)
        return ERR(e, ERR_DATA,
                   "%s:%d: expected an id of 16 digits as `alibi plan NAME --scale paper "
                   "--configs` prints it, or `uncounted DATASET`, found '%.40s'",
                   path, number, word);
    if (l->uncounted_n == PAPER_DATASETS_MAX)
        return ERR(e, ERR_DATA, "%s:%d: more than %d datasets are uncounted", path, number,
                   PAPER_DATASETS_MAX);
    l->uncounted[l->uncounted_n++] = dataset;
    return 0;
}

/* Reads the list of one folder, if it exists. */
static int read_list(struct listed *l, struct arena *a, const char *root, struct err *e)
{
    const char *path = arena_printf(a, "%s/%s", root, paper_list);
    char *text;
    int32_t number = 0;

    if (!file_exists(path)) return 0;
    TRY(file_read(a, &text, NULL, path, PAPER_LIST_BYTES, e));
    for (char *line; (line = strsep(&text, "\n"));) TRY(read_line(l, line, path, ++number, e));
    return 0;
}

static bool is_listed(const struct listed *l, const char *id)
{
    int32_t number;
    return map_get(&l->ids, id, strlen(id), &number);
}

static bool is_uncounted(const struct listed *l, const char *dataset)
{
    for (int32_t i = 0; i < l->uncounted_n; i++)
        if (strcmp(l->uncounted[i], dataset) == 0) return true;
    return false;
}

/* The run's config id without the corpus (rule 3). A training's must be computed before those of
 * its evaluations. */
static void make_id(struct plan *p, struct plan_run *run, const struct listed *l)
{
    struct spec s = run->spec;
    struct spec_data bare = {0};

    memcpy(bare.dataset, s.data.dataset, sizeof bare.dataset);
    if (!is_uncounted(l, s.data.dataset)) {
        bare.vocab = s.data.vocab;
        bare.train_tokens = s.data.train_tokens;
        bare.valid_tokens = s.data.valid_tokens;
        bare.test_tokens = s.data.test_tokens;
    }
    s.data = bare;
    spec_config_id(&s, run->train >= 0 ? p->run[run->train].paper_id : NULL, run->paper_id);
}

/* Whether an artefact has the name of a shipped one, so that its runs are compared with the
 * paper's. */
static bool is_shipped(const struct project *project, struct arena *a, const char *artefact)
{
    return file_exists(arena_printf(a, "%s/experiments/%s/grid.yaml", project->share, artefact));
}

/* The runs that artefacts with shipped names need, including the trainings of evaluations. */
static const bool *find_claimed(const struct plan *p, const struct project *project,
                                struct arena *a)
{
    bool *claimed = arena_array(a, (size_t)p->runs_n, sizeof *claimed), shipped = false;
    const char *artefact = NULL;

    for (int32_t i = 0; i < p->points_n; i++) {
        const struct plan_point *at = &p->point[i];
        if (!artefact || strcmp(artefact, at->artefact) != 0)
            shipped = is_shipped(project, a, at->artefact);
        artefact = at->artefact;
        if (!shipped) continue;
        claimed[at->run] = true;
        if (p->run[at->run].train >= 0) claimed[p->run[at->run].train] = true;
    }
    return claimed;
}

int paper_mark(struct plan *p, const struct project *project, struct err *e)
{
    struct listed l = {0};
    int32_t runs_n = 0, strange_n = 0;

    for (int32_t i = 0; i < p->runs_n; i++)
        runs_n += strcmp(p->run[i].spec.scale, paper_scale) == 0;
    if (runs_n == 0) return 0;
    map_init(&l.ids, &p->arena);
    TRY(read_list(&l, &p->arena, project->root, e));
    if (strcmp(project->root, project->share) != 0)
        TRY(read_list(&l, &p->arena, project->share, e));
    const bool *claimed = find_claimed(p, project, &p->arena);
    for (int32_t i = 0; i < p->runs_n; i++) {
        struct plan_run *run = &p->run[i];
        if (strcmp(run->spec.scale, paper_scale) != 0) continue;
        make_id(p, run, &l);
        if (is_listed(&l, run->paper_id))
            run->spec.modified = false;
        else if (claimed[i])
            run->spec.modified = true;
        strange_n += run->spec.modified && claimed[i];
    }
    if (strange_n)
        notes_add(p,
                  "%d of %d runs are not the paper's (not listed in %s): they are marked "
                  "`modified` and not compared with its numbers",
                  strange_n, runs_n, paper_list);
    return 0;
}
