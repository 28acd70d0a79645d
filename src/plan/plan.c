/* plan.c - finds the requested artefacts and expands their grids. */
#include "plan/plan_internal.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/str.h"

/* --- artefacts ------------------------------------------------------------------------------ */

int plan_roots(const char *out[2], const struct project *p)
{
    out[0] = p->root;
    out[1] = p->share;
    return strcmp(p->root, p->share) != 0 ? 2 : 1;
}

static int compare_names(const void *a, const void *b)
{
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

int plan_names(char ***out, int32_t *n, const struct project *p, struct arena *a,
               const char *folder, const char *suffix, struct err *e)
{
    struct {
        char **item;
        int32_t n, capacity;
    } all = {0};
    const char *root[2];
    struct dir d;

    for (int r = 0, roots_n = plan_roots(root, p); r < roots_n; r++) {
        const char *path = arena_printf(a, "%s/%s", root[r], folder);
        int rc = dir_open(&d, path, e);
        if (rc < 0 && rc != ERR_NOINPUT) return rc;
        for (int32_t i = 0; i < d.n; i++) {
            const char *dot = suffix[0] == '.' ? strrchr(d.name_own[i], '.') : NULL;
            size_t length = dot ? (size_t)(dot - d.name_own[i]) : strlen(d.name_own[i]);
            char *name = arena_strndup(a, d.name_own[i], length);
            if (str_is_name(name) && file_exists(arena_printf(a, "%s/%s%s", path, name, suffix)))
                *vec_push(a, &all) = name;
        }
        dir_close(&d);
    }
    if (all.n > 0) qsort(all.item, (size_t)all.n, sizeof *all.item, compare_names);
    *out = all.item;
    *n = 0;
    for (int32_t i = 0; i < all.n; i++)
        if (*n == 0 || strcmp((*out)[*n - 1], all.item[i]) != 0) (*out)[(*n)++] = all.item[i];
    return 0;
}

int plan_list(char ***out, int32_t *n, const struct project *project, struct arena *a,
              struct err *e)
{
    return plan_names(out, n, project, a, "experiments", "/grid.yaml", e);
}

int plan_list_collections(char ***out, int32_t *n, const struct project *project, struct arena *a,
                          struct err *e)
{
    struct {
        char **item;
        int32_t n, capacity;
    } all = {0};
    char **folder, **name, *grid;
    int32_t folders_n, names_n;

    TRY(plan_names(&folder, &folders_n, project, a, "experiments", "/.", e));
    for (int32_t i = 0; i < folders_n; i++) {
        const char *path = arena_printf(a, "experiments/%s", folder[i]);
        if (project_find(&grid, project, a, arena_printf(a, "%s/grid.yaml", path), NULL) == 0)
            continue;
        TRY(plan_names(&name, &names_n, project, a, path, "/grid.yaml", e));
        for (int32_t k = 0; k < names_n; k++)
            *vec_push(a, &all) = arena_printf(a, "%s/%s", folder[i], name[k]);
    }
    *out = all.item;
    *n = all.n;
    return 0;
}

/* Returns the name of the artefact in the folder dir, an absolute path: its own name, after that of
 * its collection if it is in one. */
static const char *artefact_name(const struct project *project, struct arena *a, const char *dir)
{
    const char *own = strrchr(dir, '/') + 1, *root[2];
    char folder[PATH_MAX];

    for (int r = 0, roots_n = plan_roots(root, project); r < roots_n; r++) {
        if (!realpath(arena_printf(a, "%s/experiments", root[r]), folder)) continue;
        size_t n = strlen(folder);
        bool inside = strncmp(dir, folder, n) == 0 && dir[n] == '/' && dir + n + 1 < own;
        const char *collection =
            inside ? arena_strndup(a, dir + n + 1, (size_t)(own - dir) - n - 2) : "";
        if (str_is_name(collection) &&
            !file_exists(arena_printf(a, "%s/%s/grid.yaml", folder, collection)))
            return arena_printf(a, "%s/%s", collection, own);
    }
    return own;
}

static int unknown_path(const struct project *project, struct arena *a, const char *path, int why,
                        struct err *e)
{
    char **names;
    int32_t n;

    TRY(plan_list_collections(&names, &n, project, a, e));
    return ERR(e, ERR_NOINPUT, "%s: %s%s", path, strerror(why),
               str_hint(path, (const char *const *)names, (size_t)n).text);
}

static int unknown_artefact(const struct project *project, struct arena *a, const char *name,
                            struct err *e)
{
    char **names;
    int32_t n;

    if (file_exists(arena_printf(a, "%s/grid.yaml", name)))
        return ERR(e, ERR_NOINPUT,
                   "unknown artefact '%.100s' (a path must contain a slash); did you mean "
                   "./%.100s/ ?",
                   name, name);
    TRY(plan_list(&names, &n, project, a, e));
    return ERR(e, ERR_NOINPUT,
               "unknown artefact '%.100s' (`alibi list` lists them; a path must contain a slash)%s",
               name, str_hint(name, (const char *const *)names, (size_t)n).text);
}

/* Finds name and folder of an artefact from the user's argument. */
static int find_artefact(struct plan_artefact *out, const struct project *project, struct arena *a,
                         const char *asked, struct err *e)
{
    static const char file[] = "/grid.yaml";
    char path[PATH_MAX], *grid;

    if (strchr(asked, '/')) {
        const char *shipped = arena_printf(a, "experiments/%s", asked);
        if (!file_exists(asked) && project_find(&grid, project, a, shipped, NULL) == 0)
            asked = grid;
        if (!realpath(asked, path)) return unknown_path(project, a, asked, errno, e);
        size_t n = strlen(path) - strlen(file); /* a grid.yaml stands for its folder */
        if (strlen(path) > strlen(file) && strcmp(path + n, file) == 0) path[n] = '\0';
        out->dir = arena_strdup(a, path);
        if (!file_exists(arena_printf(a, "%s%s", path, file)))
            return ERR(e, ERR_NOINPUT, "%s contains no grid.yaml", asked);
    } else {
        if (!str_is_name(asked) ||
            project_find(&grid, project, a, arena_printf(a, "experiments/%s%s", asked, file),
                         NULL) < 0)
            return unknown_artefact(project, a, asked, e);
        out->dir = arena_strndup(a, grid, strlen(grid) - strlen(file));
    }
    out->name = artefact_name(project, a, out->dir);
    if (!str_is_name_path(out->name))
        return ERR(e, ERR_USAGE,
                   "%s: '%.80s' is not a valid name of an artefact; rename the folder with "
                   "letters, digits, . _ -",
                   asked, out->name);
    return 0;
}

/* Adds an artefact unless it is known. Two folders of one name are an error: they would share the
 * results of that name. */
static int add_artefact(struct plan *p, const struct project *project, const char *asked,
                        bool optional, struct err *e)
{
    struct plan_artefact *one = &p->artefact[p->artefacts_n];

    *one = (struct plan_artefact){.optional = optional};
    TRY(find_artefact(one, project, &p->arena, asked, e));
    for (struct plan_artefact *k = p->artefact; k < one; k++) {
        if (strcmp(k->name, one->name) != 0) continue;
        if (strcmp(k->dir, one->dir) == 0) {
            k->optional &= optional;
            return 0;
        }
        return ERR(e, ERR_USAGE, "%s and %s are both named %s; rename one", k->dir, one->dir,
                   one->name);
    }
    p->artefacts_n++;
    return 0;
}

/* True if the word stands for several artefacts, among them the one of this name. */
static bool names_several(const char *word, const char *artefact)
{
    size_t collection_n = project_collection_bytes(artefact);

    if (collection_n == 0) return strcmp(word, "all") == 0;
    return strlen(word) == collection_n && strncmp(word, artefact, collection_n) == 0;
}

static int find_artefacts(struct plan *p, const struct project *project,
                          const char *const *artefacts, int32_t n, struct err *e)
{
    struct arena *a = &p->arena;
    int32_t single_n, inner_n;
    char **single, **inner, *grid;

    TRY(plan_list(&single, &single_n, project, a, e));
    TRY(plan_list_collections(&inner, &inner_n, project, a, e));
    p->artefact = arena_array(a, (size_t)(n + single_n + inner_n + 1), sizeof *p->artefact);
    for (int32_t i = 0; i < n; i++) {
        bool several = false;
        for (int32_t k = 0; k < single_n + inner_n; k++) {
            const char *name = k < single_n ? single[k] : inner[k - single_n];
            const char *file = arena_printf(a, "experiments/%s/grid.yaml", name);
            if (!names_several(artefacts[i], name)) continue;
            several = true;
            TRY(project_find(&grid, project, a, file, e));
            TRY(add_artefact(p, project, grid, true, e));
        }
        if (!several) TRY(add_artefact(p, project, artefacts[i], false, e));
    }
    if (p->artefacts_n > 0) return 0;
    return ERR(e, ERR_USAGE,
               "no artefact given; name one, such as table5, or a folder with a grid.yaml");
}

/* --- command line --------------------------------------------------------------------------- */

/* Parses --only key=value|value,key=value. Values of a repeated key are alternatives. */
static int read_only(struct axes *out, struct arena *a, const char *text, struct err *e)
{
    char *copy = arena_strdup(a, text), *rest, *more;
    bool any = false;

    for (char *part = strtok_r(copy, ",", &rest); part; part = strtok_r(NULL, ",", &rest)) {
        char *equals = strchr(part, '='), *value = equals ? equals + 1 : part;
        if (!equals && any)
            return ERR(e, ERR_USAGE,
                       "--only %s: '%s' has no key; values of one key are separated by |, such as "
                       "L_train=64|512",
                       text, part);
        int32_t name_n = (int32_t)(value - part);
        for (char *one = strtok_r(value, "|", &more); one; one = strtok_r(NULL, "|", &more)) {
            struct axes s = {0};
            TRY(settings_add_text(&s, a, "--only", arena_printf(a, "%.*s%s", name_n, part, one),
                                  e));
            struct axis *axis = axes_find(out, s.item->key->name);
            if (axis)
                *vec_push(a, axis) = s.item->item[0];
            else
                *vec_push(a, out) = *s.item;
            any = true;
        }
        if (!value[0]) return settings_add_text(&(struct axes){0}, a, "--only", part, e);
    }
    return any ? 0
               : ERR(e, ERR_USAGE,
                     "--only: expected key=value, such as position=alibi,L_train=512");
}

static int read_options(struct expansion *x, const struct plan_options *o, struct err *e)
{
    struct arena *a = &x->plan->arena;

    for (const char *const *set = o->set; set && *set; set++)
        TRY(settings_add_text(&x->set, a, "--set", *set, e));
    for (const char *const *only = o->only; only && *only; only++)
        TRY(read_only(&x->only, a, *only, e));
    if (o->seeds < 0 || o->seeds > PLAN_MAX_RUNS)
        return ERR(e, ERR_USAGE, "--seeds: expected 1 to %d, found %d", PLAN_MAX_RUNS, o->seeds);
    x->selection = arena_array(a, (size_t)x->only.n + 1, sizeof *x->selection);
    for (int32_t i = 0; i < x->only.n; i++) {
        map_init(&x->selection[i].seen, a);
        strbuf_init(&x->selection[i].values, a);
    }
    return 0;
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp(((const struct axis *)a)->key->name, ((const struct axis *)b)->key->name);
}

/* Formats the settings of --set as words of a command line. The last value of a repeated key
 * counts. */
static const char *variant_text(const struct axes *set, struct arena *a)
{
    struct axes sorted = {0};
    struct strbuf b;

    for (int32_t i = 0; i < set->n; i++) {
        struct axis *same = axes_find(&sorted, set->item[i].key->name);
        if (!same) same = vec_push(a, &sorted);
        *same = set->item[i];
    }
    if (sorted.n > 0) qsort(sorted.item, (size_t)sorted.n, sizeof *sorted.item, compare_keys);
    strbuf_init(&b, a);
    for (int32_t i = 0; i < sorted.n; i++)
        strbuf_addf(&b, " --set %s=%s", sorted.item[i].key->name, sorted.item[i].item[0]);
    return b.text;
}

/* Adds to --set data.corpus=NAME what data/NAME.yaml says of that corpus: its counts and its
 * fingerprint, unless --set gives them. The dataset stays the grid's, for which the corpus stands.
 */
static int read_corpus(struct expansion *x, const struct project *project, struct err *e)
{
    struct arena *a = &x->plan->arena;
    const char *name = NULL; /* the last value of a repeated key counts */
    struct piece piece;
    char *path;

    for (int32_t i = 0; i < x->set.n; i++)
        if (strcmp(x->set.item[i].key->name, "data.corpus") == 0) name = x->set.item[i].item[0];
    if (!name || !str_is_name(name)) return 0;
    path = arena_printf(a, "%s/data/%s.yaml", project->root, name);
    if (!file_exists(path)) return 0; /* not prepared: a run says so */
    TRY(piece_read(&piece, a, path, e));
    for (int32_t i = 0; i < piece.settings.n; i++) {
        const char *key = piece.settings.item[i].key->name;
        if (strcmp(key, "data.dataset") != 0 && !axes_find(&x->set, key))
            *vec_push(a, &x->set) = piece.settings.item[i];
    }
    return 0;
}

/* --- the plan ------------------------------------------------------------------------------- */

static int read_scale(struct expansion *x, const struct project *project, const char *given,
                      struct err *e)
{
    const struct yaml_node *own = x->grid.scale;
    const char *name = given ? given : own ? own->text : PLAN_SCALE;
    int rc = scale_read(&x->scale, &x->plan->arena, project, name, e);

    if (rc != ERR_USAGE || given || !own) return rc;
    yaml_place(own, rc, e); /* the error is in the file, not on the command line */
    if (e) e->code = ERR_DATA;
    return ERR_DATA;
}

/* Reports a --only that selects nothing: names the first key whose values no point has. */
static int nothing_selected(const struct expansion *x, struct err *e)
{
    struct arena *a = &x->plan->arena;

    for (int32_t i = 0; i < x->only.n; i++) {
        const struct selection *s = &x->selection[i];
        const char *key = settings_short(x->only.item[i].key);
        if (s->matched) continue;
        return ERR(e, ERR_USAGE, "--only %s: no run matches; %s", axes_text(&x->only.item[i], 1, a),
                   s->values.n ? arena_printf(a, "%s must be one of %s", key, s->values.text)
                               : arena_printf(a, "no run has the key %s", key));
    }
    return ERR(e, ERR_USAGE, "--only %s: no run matches all of these conditions",
               axes_text(x->only.item, x->only.n, a));
}

/* Adds artefact k to those of the plan, and expands its grid. */
static int plan_artefact(struct expansion *x, struct plan_artefact k, bool expands, struct err *e)
{
    struct plan *p = x->plan;

    k.title = x->grid.title;
    k.scale = x->scale.name;
    p->artefact[p->artefacts_n++] = k;
    return expands ? expand_grid(x, e) : 0;
}

/* True if every block lacks a piece. */
static bool is_absent(const struct grid *g)
{
    int32_t i = 0;

    while (i < g->blocks.n && g->blocks.item[i].missing) i++;
    return i == g->blocks.n;
}

/* Reads options, artefacts, grids and scales, and expands the grids. */
static int make_plan(struct plan *p, const struct project *project, const char *const *artefacts,
                     int32_t n, const struct plan_options *o, struct err *e)
{
    struct expansion x = {.plan = p};
    struct mentions left_out, datasets;

    TRY(read_options(&x, o, e));
    p->variant = variant_text(&x.set, &p->arena);
    TRY(read_corpus(&x, project, e));
    map_init(&x.runs, &p->arena);
    TRY(find_artefacts(p, project, artefacts, n, e));
    mentions_init(&left_out, &p->arena);
    mentions_init(&datasets, &p->arena);
    int32_t asked_n = p->artefacts_n;
    p->artefacts_n = 0;
    for (int32_t i = 0; i < asked_n; i++) {
        const struct plan_artefact *k = &p->artefact[i];
        const struct spec *base = &x.grid.base.spec;
        TRY(grid_read(&x.grid, &p->arena, project, k->name, k->dir, o->seeds, e));
        for (int32_t piece = 0; piece < x.grid.pieces.n; piece++)
            *vec_push(&p->arena, &p->pieces) = x.grid.pieces.item[piece];
        TRY(read_scale(&x, project, o->scale, e));
        if (k->optional && is_absent(&x.grid)) {
            notes_add(p,
                      "left out %s: no piece of its blocks is here; `alibi plan %s` says how to "
                      "get them",
                      k->name, k->name);
            continue;
        }
        if (!k->optional || scale_has(&x.scale, base)) {
            TRY(plan_artefact(&x, *k, !o->artefacts_only, e));
            continue;
        }
        plan_mention(&left_out, k->name);
        plan_mention(&datasets, base->data.dataset);
    }
    if (left_out.text.n)
        notes_add(p, "left out %s: scale %s has no text for %s", left_out.text.text, x.scale.name,
                  datasets.text.text);
    p->scale = p->artefacts_n ? p->artefact[0].scale : x.scale.name;
    if (p->runs_n == 0 && x.only.n) return nothing_selected(&x, e);
    return paper_mark(p, project, e);
}

int plan_open(struct plan *p, const struct project *project, const char *const *artefacts,
              int32_t n, const struct plan_options *o, struct err *e)
{
    *p = (struct plan){0};
    arena_init(&p->arena);
    int rc = make_plan(p, project, artefacts, n, o, e);
    if (rc < 0) plan_close(p);
    return rc;
}

void plan_close(struct plan *p)
{
    if (!p) return;
    arena_fini(&p->arena);
    *p = (struct plan){0};
}
