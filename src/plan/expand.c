/* expand.c - expands a grid: its blocks, then the evaluations of each training.
 *
 * 1. A nominal draft is base plus the grid point; where, skip and --only match it.
 * 2. The final draft is the nominal one after scale and --set; it defines the run.
 * 3. Points are numbered in grid order, including those that --only excludes, so that a number
 *    always means the same point. A nominal point in two blocks is one point. */
#include "plan/plan_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/str.h"

struct expander {
    struct expansion *all;
    struct plan *plan;
    struct map points; /* nominal ids of this grid */
    const struct grid *grid;
    const struct scale *scale;
    int64_t points_n; /* before --only and skips */
    int32_t next_point;
    bool *skip_hit, *rule_hit; /* to report entries that match nothing */
    bool warmup_said;
};

/* A training or benchmark during the expansion of its evaluations. */
struct parent {
    const struct yaml_node *at;
    struct draft nominal;
    struct spec final;
    char nominal_id[SPEC_ID_BYTES];
    int32_t point; /* its number; -1: already numbered by an earlier block */
    int32_t run;   /* index in plan->run; -1 until a point needs it */
};

/* --- notes ---------------------------------------------------------------------------------- */

void notes_add(struct plan *plan, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    *vec_push(&plan->arena, &plan->notes) = arena_vprintf(&plan->arena, format, args);
    va_end(args);
}

/* A nominal length and the length of its run, as one number that sorts by the latter. */
#define PAIR(mapped, nominal) ((int64_t)(mapped) << 32 | (nominal))

static int compare_pairs(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Notes which lengths of one kind the scale maps to one: "512, 513 are both 64; 1024, 1025 are both
 * 128". */
static void note_pairs(struct plan *plan, const struct grid *g, const char *what, int64_t *pair,
                       int32_t n, const char *scale)
{
    struct strbuf b;

    strbuf_init(&b, &plan->arena);
    qsort(pair, (size_t)n, sizeof *pair, compare_pairs);
    for (int32_t i = 0, from = 0; i < n; from = i) {
        int32_t values = 0, mapped = (int32_t)(pair[from] >> 32);
        strbuf_add(&b, from ? "; " : "");
        for (; i < n && pair[i] >> 32 == mapped; i++)
            if (i == from || pair[i] != pair[i - 1])
                strbuf_addf(&b, "%s%d", values++ ? ", " : "", (int32_t)pair[i]);
        strbuf_addf(&b, " are %s %d", values == 2 ? "both" : "all", mapped);
    }
    notes_add(plan, "%s: %s %s at scale %s", g->name, what, b.text, scale);
}

/* Notes points that share a run with an earlier point of the grid. */
static void note_merged(struct plan *plan, int32_t first_point, const struct grid *g,
                        const char *scale)
{
    static const char *const what[] = {"L_train", "L_valid", "stride"};
    enum { WHATS_N = sizeof what / sizeof *what };
    struct {
        int64_t *item;
        int32_t n, capacity;
    } pairs[WHATS_N] = {{0}};
    int32_t same_n = 0;
    const struct plan_point **first =
        arena_array(&plan->arena, (size_t)plan->runs_n + 1, sizeof *first); /* of each run */

    for (const struct plan_point *p = plan->point + first_point; p < plan->point + plan->points_n;
         p++) {
        const struct plan_point *q = first[p->run];
        const struct spec *s = &plan->run[p->run].spec;
        if (!q) {
            first[p->run] = p;
            continue;
        }
        const int32_t lengths[WHATS_N][3] = {
            {s->train.L, q->L_train_nominal, p->L_train_nominal},
            {spec_valid_length(s), q->L_valid_nominal, p->L_valid_nominal},
            {s->eval.stride, q->stride_nominal, p->stride_nominal}};
        bool same = true;
        for (int i = 0; i < WHATS_N; i++) {
            const int32_t *l = lengths[i];
            if (l[1] == l[2]) continue;
            *vec_push(&plan->arena, &pairs[i]) = PAIR(l[0], l[1]);
            *vec_push(&plan->arena, &pairs[i]) = PAIR(l[0], l[2]);
            same = false;
        }
        same_n += same;
    }
    for (int i = 0; i < WHATS_N; i++)
        if (pairs[i].n > 0) note_pairs(plan, g, what[i], pairs[i].item, pairs[i].n, scale);
    if (same_n > 0)
        notes_add(plan,
                  "%s: %d points share runs with others, because they differ only in keys that "
                  "scale %s or --set sets",
                  g->name, same_n, scale);
}

/* --- runs and points ------------------------------------------------------------------------ */

/* --set is literal and applied last. Unless it changes only the seed, it marks the spec as
 * modified. A key that does not apply to the run changes nothing. */
static void apply_set(const struct axes *set, struct draft *d)
{
    for (int32_t i = 0; i < set->n; i++) {
        const struct spec_key *key = set->item[i].key;
        bool same = spec_key_equals(&d->spec, key, set->item[i].item[0]);
        draft_set(d, key, set->item[i].item[0]);
        bool counts = key->hashed && strcmp(key->name, "train.seed") != 0 &&
                      (!key->applies || key->applies(&d->spec));
        if (!same && counts) d->spec.modified = true;
    }
}

static int check_draft(const struct draft *d, struct err *e)
{
    TRY(draft_complete(d, e));
    return spec_check(&d->spec, e);
}

/* Prefixes the error with its cause: the one --set without which the draft is valid, all of them,
 * or the grid. */
static void blame(const struct axes *set, const struct draft *before, const struct yaml_node *at,
                  struct err *e)
{
    if (set->n == 0 || check_draft(before, NULL) < 0) {
        yaml_place(at, ERR_DATA, e);
        return;
    }
    for (int32_t i = 0; i < set->n; i++) {
        struct draft without = *before;
        for (int32_t k = 0; k < set->n; k++)
            if (k != i) draft_set(&without, set->item[k].key, set->item[k].item[0]);
        if (check_draft(&without, NULL) < 0) continue;
        err_ctx(e, "--set %s=%s", set->item[i].key->name, set->item[i].item[0]);
        return;
    }
    err_ctx(e, "--set");
}

/* Turns the nominal draft into the spec of a run. */
static int finish(const struct expander *x, struct draft *d, const struct yaml_node *at,
                  struct err *e)
{
    TRY(yaml_place(at, scale_apply(x->scale, d, e), e));
    struct draft before = *d;
    apply_set(&x->all->set, d);
    int rc = check_draft(d, e);
    if (rc < 0) blame(&x->all->set, &before, at, e);
    return rc;
}

/* Index of the run of a final spec; adds it if it is new. */
static int32_t add_run(struct expander *x, const struct spec *final, int32_t train)
{
    struct plan *p = x->plan;
    char id[SPEC_ID_BYTES];
    bool added;

    spec_run_id(final, id);
    int32_t *at = map_put(&x->all->runs, id, strlen(id), &added);
    if (!added) return *at;
    *at = p->runs_n;
    vec_grow(&p->arena, &p->run, p->runs_n, &x->all->runs_capacity, sizeof *p->run);
    struct plan_run *run = &p->run[p->runs_n++];
    *run = (struct plan_run){.spec = *final, .train = train};
    memcpy(run->run_id, id, sizeof id);
    spec_config_id(final, train >= 0 ? p->run[train].config_id : NULL, run->config_id);
    shape_cost(&run->cost, final);
    return p->runs_n - 1;
}

static void add_point(struct expander *x, int32_t number, int32_t run, const struct spec *nominal)
{
    struct plan *p = x->plan;
    bool eval = nominal->kind == SPEC_EVAL;
    bool sliding = eval && nominal->eval.window == SPEC_SLIDING;

    vec_grow(&p->arena, &p->point, p->points_n, &x->all->points_capacity, sizeof *p->point);
    p->point[p->points_n++] =
        (struct plan_point){.artefact = x->grid->name,
                            .point = number,
                            .run = run,
                            .L_train_nominal = nominal->train.L,
                            .L_valid_nominal = spec_valid_length(nominal),
                            .stride_nominal = sliding ? nominal->eval.stride : 0};
}

/* The number of a new nominal point, or -1 if the grid already has it. */
static int32_t number_point(struct expander *x, const char *nominal_id)
{
    bool added;

    (void)map_put(&x->points, nominal_id, strlen(nominal_id), &added);
    return added ? x->next_point++ : -1;
}

/* Whether an entry of skip excludes this spec. Entries with evaluation keys match no training. */
static bool is_skipped(struct expander *x, const struct spec *nominal)
{
    bool skipped = false;

    for (int32_t i = 0; i < x->grid->skips_n; i++) {
        if (!where_matches(&x->grid->skip[i].where, nominal)) continue;
        x->skip_hit[i] = true;
        skipped = true;
    }
    return skipped;
}

/* Warns if --set reduces the updates but not the schedule: the training then ends in its warm-up.
 */
static void note_warmup(struct expander *x, const struct spec *s)
{
    const struct spec_train *t = &s->train;

    if (s->kind != SPEC_TRAIN || t->schedule != SPEC_COSINE || t->updates > t->warmup) return;
    if (!x->warmup_said)
        notes_add(x->plan,
                  "%s: train.updates %d ends in the warm-up of %d updates; set train.warmup and "
                  "train.period too",
                  x->grid->name, t->updates, t->warmup);
    x->warmup_said = true;
}

/* Adds the run of a training when it is first needed. */
static int need_parent(struct expander *x, struct parent *t, struct err *e)
{
    if (t->run >= 0) return 0;
    struct draft d = t->nominal;
    struct draft bare;
    TRY(finish(x, &d, t->at, e));
    draft_init(&bare);
    d.spec.eval = bare.spec.eval; /* not part of a training; evaluations have their own */
    t->final = d.spec;
    note_warmup(x, &t->final);
    t->run = add_run(x, &d.spec, -1);
    if (t->point >= 0) add_point(x, t->point, t->run, &t->nominal.spec);
    return 0;
}

/* One evaluation of a training: point `index` of the rule's product at one length. */
static int expand_evaluation(struct expander *x, struct parent *t, const struct grid_rule *r,
                             int64_t index, int64_t L, struct err *e)
{
    const struct spec_key *length = spec_key_find("eval.L");
    char id[SPEC_ID_BYTES], text[32];
    struct draft d = t->nominal;

    d.spec.kind = SPEC_EVAL;
    axes_apply(&r->axes, index, &d);
    snprintf(text, sizeof text, "%lld", (long long)L);
    TRY(yaml_place(r->at, settings_value(length, text, e), e));
    draft_set(&d, length, text);
    memcpy(d.spec.eval.train_run, t->nominal_id, sizeof t->nominal_id);
    if (is_skipped(x, &d.spec)) return 0;
    spec_run_id(&d.spec, id);
    int32_t number = number_point(x, id);
    if (number < 0 || !where_matches(&x->all->only, &d.spec)) return 0;
    TRY(need_parent(x, t, e));
    struct spec nominal = d.spec;
    TRY(finish(x, &d, r->at, e));
    d.spec.model = t->final.model;
    d.spec.data = t->final.data;
    d.spec.train = t->final.train;
    d.spec.modified |= t->final.modified;
    memcpy(d.spec.eval.train_run, x->plan->run[t->run].run_id, SPEC_ID_BYTES);
    add_point(x, number, add_run(x, &d.spec, t->run), &nominal);
    return 0;
}

/* Counts points of the product of a block or a rule before they are made. */
static int count_points(struct expander *x, const struct yaml_node *block, int64_t n, struct err *e)
{
    x->points_n += n;
    if (x->points_n <= PLAN_MAX_RUNS) return 0;
    return yaml_error(block, e, "the grid has more than %d runs up to this block", PLAN_MAX_RUNS);
}

static int expand_rules(struct expander *x, struct parent *t, struct err *e)
{
    for (int32_t i = 0; i < x->grid->rules_n; i++) {
        const struct grid_rule *r = &x->grid->rule[i];
        int64_t *length;
        if (!where_matches(&r->where, &t->nominal.spec)) continue;
        x->rule_hit[i] = true;
        int64_t products = axes_size(&r->axes);
        int32_t n =
            grid_lengths_list(&length, &r->lengths, t->nominal.spec.train.L, &x->plan->arena);
        TRY(count_points(x, t->at, products > PLAN_MAX_RUNS ? products : products * n, e));
        for (int64_t k = 0; k < products; k++)
            for (int32_t l = 0; l < n; l++) TRY(expand_evaluation(x, t, r, k, length[l], e));
    }
    return 0;
}

static int expand_training(struct expander *x, const struct grid_block *block, int64_t index,
                           struct err *e)
{
    struct parent t = {.at = block->at, .nominal = x->grid->base, .run = -1};
    const struct axes *only = &x->all->only;

    t.nominal.spec.kind = block->kind;
    axes_apply(&block->axes, index, &t.nominal);
    if (is_skipped(x, &t.nominal.spec)) return 0;
    spec_run_id(&t.nominal.spec, t.nominal_id);
    t.point = number_point(x, t.nominal_id);
    if (!axes_evaluation(only) && where_matches(only, &t.nominal.spec)) TRY(need_parent(x, &t, e));
    return block->kind == SPEC_TRAIN ? expand_rules(x, &t, e) : 0;
}

/* Reports settings of the grid without effect, because the scale, applied later, sets them too. */
static void note_overridden(struct expander *x)
{
    const struct spec *base = &x->grid->base.spec;

    for (const struct axis *own = x->grid->set.item; own < x->grid->set.item + x->grid->set.n;
         own++) {
        const char *value = scale_value(x->scale, base, own->key);
        if (!value || axes_find(&x->all->set, own->key->name) ||
            spec_key_equals(base, own->key, value))
            continue;
        notes_add(x->plan,
                  "%s: %s=%s in the grid has no effect, because scale %s sets it to %s; use "
                  "--set or --scale none",
                  x->grid->name, own->key->name, own->item[0], x->scale->name, value);
    }
}

static void note_entries(struct expander *x)
{
    struct plan *p = x->plan;
    const struct grid *g = x->grid;

    if (g->said && strcmp(g->said, g->name) != 0)
        notes_add(p, "%s: ignoring artefact: %s in the grid; the folder's name is used", g->name,
                  g->said);
    for (int32_t i = 0; i < g->rules_n; i++)
        if (!x->rule_hit[i])
            notes_add(p, "%s: the entry of evaluate at line %d matches no training", g->name,
                      g->rule[i].at->line);
    for (int32_t i = 0; i < g->skips_n; i++) {
        const struct grid_skip *s = &g->skip[i];
        if (x->skip_hit[i])
            notes_add(p, "%s: left out %s: %s", g->name, where_text(&s->where, &p->arena), s->why);
        else
            notes_add(p, "%s: the entry of skip at line %d matches nothing", g->name, s->at->line);
    }
}

int expand_grid(struct expansion *all, const struct grid *g, const struct scale *s, struct err *e)
{
    struct plan *plan = all->plan;
    struct expander x = {.all = all, .plan = plan, .grid = g, .scale = s};
    int32_t first_point = plan->points_n;

    map_init(&x.points, &plan->arena);
    x.skip_hit = arena_array(&plan->arena, (size_t)g->skips_n + 1, sizeof *x.skip_hit);
    x.rule_hit = arena_array(&plan->arena, (size_t)g->rules_n + 1, sizeof *x.rule_hit);
    for (const struct grid_block *b = g->block; b < g->block + g->blocks_n; b++) {
        int64_t size = axes_size(&b->axes);
        TRY(count_points(&x, b->at, size, e));
        for (int64_t i = 0; i < size; i++) TRY(expand_training(&x, b, i, e));
    }
    note_overridden(&x);
    note_entries(&x);
    note_merged(plan, first_point, g, s->name);
    return 0;
}
