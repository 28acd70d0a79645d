/* paper_configs.c - see plan_internal.h. */
#include "plan/plan_internal.h"

#include <string.h>

#include "base/file.h"
#include "base/str.h"

enum { PAPER_LIST_BYTES = 16 * 1024 * 1024 };
static const char paper_scale[] = "paper";
static const char paper_list[] = "experiments/paper_configs.txt";

static bool is_id(const char *word)
{
    size_t n = strlen(word);
    return n == SPEC_ID_BYTES - 1 && strspn(word, "0123456789abcdef") == n;
}

/* Adds an id, or "uncounted DATASET", to the content of the lists. */
static int read_line(struct map *listed, char *line, const char *path, int32_t number,
                     struct err *e)
{
    static const char blanks[] = " \t\r";
    char *rest, *word;

    line[strcspn(line, "#")] = '\0';
    word = strtok_r(line, blanks, &rest);
    if (!word) return 0;
    if (!is_id(word)) {
        const char *dataset = strcmp(word, "uncounted") == 0 ? strtok_r(NULL, blanks, &rest) : NULL;
        if (!dataset)
            return ERR(e, ERR_DATA,
                       "%s:%d: expected an id of 16 digits as `alibi plan NAME --scale paper "
                       "--configs` prints it, or `uncounted DATASET`, found '%.40s'",
                       path, number, word);
        word = arena_printf(listed->arena, "uncounted %s", dataset);
    }
    (void)map_put(listed, word, strlen(word), NULL);
    return 0;
}

static bool is_listed(const struct map *listed, const char *text)
{
    int32_t number;
    return map_get(listed, text, strlen(text), &number);
}

static int read_lists(struct map *listed, const struct project *project, struct err *e)
{
    const char *root[2];

    for (int i = 0, n = plan_roots(root, project); i < n; i++) {
        const char *path = arena_printf(listed->arena, "%s/%s", root[i], paper_list);
        char *text;
        int32_t number = 0;
        if (!file_exists(path)) continue;
        TRY(file_read(listed->arena, &text, NULL, path, PAPER_LIST_BYTES, e));
        for (char *line; (line = strsep(&text, "\n"));)
            TRY(read_line(listed, line, path, ++number, e));
    }
    return 0;
}

/* Computes the run's config id without the corpus (rule 3). A training's must be computed before
 * those of its evaluations. */
static void make_id(struct plan *p, struct plan_run *run, const struct map *listed)
{
    struct spec s = run->spec;
    struct spec_data bare = {0};

    memcpy(bare.dataset, s.data.dataset, sizeof bare.dataset);
    if (!is_listed(listed, arena_printf(&p->arena, "uncounted %s", s.data.dataset))) {
        bare.vocab = s.data.vocab;
        bare.train_tokens = s.data.train_tokens;
        bare.valid_tokens = s.data.valid_tokens;
        bare.test_tokens = s.data.test_tokens;
    }
    s.data = bare;
    spec_config_id(&s, run->train >= 0 ? p->run[run->train].paper_id : NULL, run->paper_id);
}

/* Marks the runs that artefacts with the names of shipped ones need, including the trainings of
 * evaluations: they are compared with the paper's. */
static const bool *find_claimed(struct plan *p, const struct project *project)
{
    bool *claimed = arena_array(&p->arena, (size_t)p->runs_n, sizeof *claimed), shipped = false;
    const char *artefact = "";

    for (const struct plan_point *at = p->point; at < p->point + p->points_n; at++) {
        if (strcmp(artefact, at->artefact) != 0)
            shipped = file_exists(arena_printf(&p->arena, "%s/experiments/%s/grid.yaml",
                                               project->share, at->artefact));
        artefact = at->artefact;
        if (!shipped) continue;
        claimed[at->run] = true;
        if (p->run[at->run].train >= 0) claimed[p->run[at->run].train] = true;
    }
    return claimed;
}

int paper_mark(struct plan *p, const struct project *project, struct err *e)
{
    struct map listed;
    int32_t runs_n = 0, strange_n = 0;

    for (int32_t i = 0; i < p->runs_n; i++)
        runs_n += strcmp(p->run[i].spec.scale, paper_scale) == 0;
    if (runs_n == 0) return 0;
    map_init(&listed, &p->arena);
    TRY(read_lists(&listed, project, e));
    const bool *claimed = find_claimed(p, project);
    for (int32_t i = 0; i < p->runs_n; i++) {
        struct plan_run *run = &p->run[i];
        if (strcmp(run->spec.scale, paper_scale) != 0) continue;
        make_id(p, run, &listed);
        if (is_listed(&listed, run->paper_id))
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
