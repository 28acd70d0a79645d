/* expand.c - expands a grid: its blocks, then the evaluations of each training.
 *
 * 1. A nominal draft is base plus the grid point; where, skip and --only match it.
 * 2. The final draft is the nominal one after scale and --set; it defines the run.
 * 3. Points are numbered in grid order, including those that --only excludes, so that a number
 * always means the same point. A nominal point in two blocks is one point. */
#include "plan/plan_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"

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
    bool wanted;   /* selected by --only, judged by its own keys */
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

/* Pairs of nominal lengths of an artefact that a scale maps to the same run. */
enum merge_what { MERGE_L_TRAIN, MERGE_L_VALID, MERGE_STRIDE, MERGE_WHATS_N };
static const char *const merge_names[] = {"L_train", "L_valid", "stride"};

struct merge {
    enum merge_what what;
    int32_t mapped, nominal;
};

static int32_t nominal_of(const struct plan_point *p, enum merge_what what)
{
    const int32_t values[] = {p->L_train_nominal, p->L_valid_nominal, p->stride_nominal};
    return values[what];
}

static int32_t mapped_of(const struct spec *s, enum merge_what what)
{
    const int32_t values[] = {s->train.L, spec_valid_length(s), s->eval.stride};
    return values[what];
}

static int compare_merges(const void *a, const void *b)
{
    const struct merge *x = a, *y = b;

    if (x->what != y->what) return x->what < y->what ? -1 : 1;
    if (x->mapped != y->mapped) return x->mapped < y->mapped ? -1 : 1;
    return (x->nominal > y->nominal) - (x->nominal < y->nominal);
}

/* Adds a pair for each length in which the two points differ; returns their number. */
static int32_t add_pair(struct merge *out, const struct plan *plan, const struct plan_point *a,
                        const struct plan_point *b)
{
    int32_t n = 0;

    for (enum merge_what what = 0; what < MERGE_WHATS_N; what++) {
        if (nominal_of(a, what) == nominal_of(b, what)) continue;
        int32_t mapped = mapped_of(&plan->run[a->run].spec, what);
        out[n++] = (struct merge){what, mapped, nominal_of(a, what)};
        out[n++] = (struct merge){what, mapped, nominal_of(b, what)};
    }
    return n;
}

/* One note per kind of length: "512, 513 are both 64; 1024, 1025 are both 128". */
static void note_what(struct plan *plan, const struct merge *m, int32_t n, const char *artefact,
                      const char *scale)
{
    struct strbuf b;

    strbuf_init(&b, &plan->arena);
    for (int32_t i = 0; i < n;) {
        int32_t values = 0, from = i;
        strbuf_add(&b, from ? "; " : "");
        for (; i < n && m[i].mapped == m[from].mapped; i++) {
            if (i > from && m[i].nominal == m[i - 1].nominal) continue;
            strbuf_addf(&b, "%s%d", values++ ? ", " : "", m[i].nominal);
        }
        strbuf_addf(&b, " are %s %d", values == 2 ? "both" : "all", m[from].mapped);
    }
    notes_add(plan, "%s: %s %s at scale %s", artefact, merge_names[m->what], b.text, scale);
}

static void note_merged(struct plan *plan, int32_t first_point, const char *artefact,
                        const char *scale)
{
    int32_t points = plan->points_n - first_point, n = 0, same = 0;
    int32_t *first =
        arena_array(&plan->arena, (size_t)plan->runs_n + 1, sizeof *first); /* point index + 1 */
    struct merge *merge =
        arena_array(&plan->arena, (size_t)points * 2 * MERGE_WHATS_N + 1, sizeof *merge);

    for (int32_t i = 0; i < points; i++) {
        const struct plan_point *p = &plan->point[first_point + i];
        int32_t *known = &first[p->run];
        if (*known == 0) {
            *known = i + 1;
            continue;
        }
        int32_t added = add_pair(&merge[n], plan, &plan->point[first_point + *known - 1], p);
        n += added;
        same += added == 0;
    }
    if (n > 0) qsort(merge, (size_t)n, sizeof *merge, compare_merges);
    for (int32_t i = 0, from = 0; i < n; i++) {
        if (i + 1 < n && merge[i + 1].what == merge[from].what) continue;
        note_what(plan, &merge[from], i + 1 - from, artefact, scale);
        from = i + 1;
    }
    if (same > 0)
        notes_add(plan,
                  "%s: %d points share runs with others, because they differ only in keys that "
                  "scale %s or --set sets",
                  artefact, same, scale);
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
        if (!where_matches(&x->grid->skip[i].where, nominal, false)) continue;
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
    if (number < 0 || !where_matches(&x->all->only, &d.spec, false)) return 0;
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
        if (!where_matches(&r->where, &t->nominal.spec, false)) continue;
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
    t.wanted = where_matches(only, &t.nominal.spec, true);
    if (t.wanted && !axes_evaluation(only)) TRY(need_parent(x, &t, e));
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
    note_merged(plan, first_point, g->name, s->name);
    return 0;
}
