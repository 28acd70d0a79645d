/* expand.c - walks the blocks of a grid, then the evaluations of each training.
 *
 * 1. A nominal draft is base and the grid point; where, skip and --only look at it.
 * 2. The final draft is the nominal one after scale and --set; it makes the run.
 * 3. Points are numbered in grid order whatever --only leaves out, so that a number always means
 *    the same wish. The same nominal point in two blocks is one point. */
#include "plan/expand.h"

#include <stdio.h>
#include <string.h>

struct expander {
    struct plan *plan;
    struct ids *runs;  /* run id -> index in plan->run */
    struct ids points; /* nominal id -> 0, for those of this grid */
    const struct grid *grid;
    const struct scale *scale;
    const struct expand_options *options;
    int32_t next_point;
    bool *skip_hit, *rule_hit; /* for notes on entries that match nothing */
    bool warmup_said;
};

/* A training or benchmark while its evaluations are made. */
struct parent {
    const struct yaml_node *at;
    struct draft nominal;
    struct spec final;
    char nominal_id[SPEC_ID_BYTES];
    int32_t point; /* its number; -1: another block has it */
    bool wanted;   /* by --only, as far as its own keys go */
    int32_t run;   /* index in plan->run; -1 until somebody needs it */
};

/* --- counting ------------------------------------------------------------------------------- */

static int64_t count_rules(const struct grid *g, const struct draft *nominal)
{
    struct arena scratch;
    int64_t n = 0, *length;

    arena_init(&scratch);
    for (int32_t i = 0; i < g->rules_n && n <= PLAN_MAX_RUNS; i++) {
        const struct grid_rule *r = &g->rule[i];
        if (!where_matches(&r->where, &nominal->spec)) continue;
        int64_t lengths = grid_lengths_list(&length, &r->lengths, nominal->spec.train.L, &scratch);
        int64_t products = axes_size(&r->axes);
        n += products > PLAN_MAX_RUNS ? products : products * lengths;
    }
    arena_fini(&scratch);
    return n;
}

int expand_count(int64_t *out, const struct grid *g, struct err *e)
{
    int64_t n = 0;

    for (int32_t b = 0; b < g->blocks_n; b++) {
        const struct grid_block *block = &g->block[b];
        int64_t size = axes_size(&block->axes);
        n += size;
        for (int64_t i = 0; i < size && n <= PLAN_MAX_RUNS; i++) {
            struct draft d = g->base;
            d.spec.kind = block->kind;
            axes_apply(&block->axes, i, &d);
            if (block->kind == SPEC_TRAIN) n += count_rules(g, &d);
        }
        if (n > PLAN_MAX_RUNS)
            return yaml_error(block->at, e, "the grid has more than %d runs up to this block",
                              PLAN_MAX_RUNS);
    }
    *out = n;
    return 0;
}

/* --- runs and points ------------------------------------------------------------------------ */

/* --set is literal and comes last. A spec it changes is no longer the artefact's, but for the seed;
 * a key that does not apply to the run changes nothing. */
static void apply_set(const struct settings *set, struct draft *d)
{
    for (int32_t i = 0; i < set->n; i++) {
        const struct spec_key *key = set->item[i].key;
        bool same = spec_key_equals(&d->spec, key, set->item[i].text);
        draft_set(d, key, set->item[i].text);
        bool counts = key->hashed && strcmp(key->name, "train.seed") != 0 &&
                      (!key->applies || key->applies(&d->spec));
        if (!same && counts) d->spec.modified = true;
    }
}

/* The nominal draft becomes the spec of a run. */
static int finish(const struct expander *x, struct draft *d, const struct yaml_node *at,
                  struct err *e)
{
    int rc;

    TRY_OUT(rc, scale_apply(x->scale, d, e));
    apply_set(&x->options->set, d);
    TRY_OUT(rc, draft_complete(d, e));
    TRY_OUT(rc, spec_check(&d->spec, e));
out:
    if (rc < 0) yaml_place(at, e);
    return rc;
}

/* Index of the run of a final spec, which is added when it is new. */
static int32_t add_run(struct expander *x, const struct spec *final, int32_t train)
{
    struct plan *p = x->plan;
    char id[SPEC_ID_BYTES];

    spec_run_id(final, id);
    int32_t at = ids_add(x->runs, id, p->runs_n);
    if (at < p->runs_n) return at;
    struct plan_run *run = &p->run[p->runs_n++];
    *run = (struct plan_run){.spec = *final, .train = train};
    memcpy(run->run_id, id, sizeof id);
    spec_config_id(final, train >= 0 ? p->run[train].config_id : NULL, run->config_id);
    shape_cost(&run->cost, final);
    return at;
}

static void add_point(struct expander *x, int32_t number, int32_t run, const struct spec *nominal)
{
    bool eval = nominal->kind == SPEC_EVAL;
    bool sliding = eval && nominal->eval.window == SPEC_SLIDING;

    x->plan->point[x->plan->points_n++] =
        (struct plan_point){.artefact = x->grid->name,
                            .point = number,
                            .run = run,
                            .L_train_nominal = nominal->train.L,
                            .L_valid_nominal = spec_valid_length(nominal),
                            .stride_nominal = sliding ? nominal->eval.stride : 0};
}

/* The number of a nominal point, or -1 when the grid has it already. */
static int32_t number_point(struct expander *x, const char *nominal_id)
{
    int32_t before = x->points.n;

    (void)ids_add(&x->points, nominal_id, 0);
    return x->points.n > before ? x->next_point++ : -1;
}

/* Whether an entry of skip leaves this spec out. Entries on keys of an evaluation match no
 * training. */
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

/* A --set that cuts the updates but not the schedule leaves a training that never gets going. */
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

/* Makes the run of a training when it is first needed. */
static int need_parent(struct expander *x, struct parent *t, struct err *e)
{
    if (t->run >= 0) return 0;
    struct draft d = t->nominal;
    struct draft bare;
    TRY(finish(x, &d, t->at, e));
    draft_init(&bare);
    d.spec.eval = bare.spec.eval; /* no part of a training; evaluations have their own */
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
    int rc;

    d.spec.kind = SPEC_EVAL;
    axes_apply(&r->axes, index, &d);
    snprintf(text, sizeof text, "%lld", (long long)L);
    rc = settings_value(length, text, e);
    if (rc < 0) {
        yaml_place(r->at, e);
        return rc;
    }
    draft_set(&d, length, text);
    memcpy(d.spec.eval.train_run, t->nominal_id, sizeof t->nominal_id);
    if (is_skipped(x, &d.spec)) return 0;
    spec_run_id(&d.spec, id);
    int32_t number = number_point(x, id);
    if (number < 0 || !where_matches(&x->options->only, &d.spec)) return 0;
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

static int expand_rules(struct expander *x, struct parent *t, struct err *e)
{
    struct spec as_eval = t->nominal.spec;

    for (int32_t i = 0; i < x->grid->rules_n; i++) {
        const struct grid_rule *r = &x->grid->rule[i];
        int64_t *length;
        if (!where_matches(&r->where, &as_eval)) continue;
        x->rule_hit[i] = true;
        int64_t products = axes_size(&r->axes);
        int32_t n =
            grid_lengths_list(&length, &r->lengths, t->nominal.spec.train.L, &x->plan->arena);
        for (int64_t k = 0; k < products; k++)
            for (int32_t l = 0; l < n; l++) TRY(expand_evaluation(x, t, r, k, length[l], e));
    }
    return 0;
}

static int expand_training(struct expander *x, const struct grid_block *block, int64_t index,
                           struct err *e)
{
    struct parent t = {.at = block->at, .nominal = x->grid->base, .run = -1};
    const struct axes *only = &x->options->only;

    t.nominal.spec.kind = block->kind;
    axes_apply(&block->axes, index, &t.nominal);
    if (is_skipped(x, &t.nominal.spec)) return 0;
    spec_run_id(&t.nominal.spec, t.nominal_id);
    t.point = number_point(x, t.nominal_id);
    t.wanted = where_of_training(only, &t.nominal.spec);
    if (t.wanted && !where_has_eval(only)) TRY(need_parent(x, &t, e));
    return block->kind == SPEC_TRAIN ? expand_rules(x, &t, e) : 0;
}

static void note_entries(struct expander *x)
{
    struct plan *p = x->plan;
    const struct grid *g = x->grid;

    if (g->said && strcmp(g->said, g->name) != 0)
        notes_add(p, "%s: the grid says artefact: %s; the folder's name is used", g->name, g->said);
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

int expand_grid(struct plan *plan, struct ids *runs, const struct grid *g, const struct scale *s,
                const struct expand_options *o, struct err *e)
{
    struct expander x = {.plan = plan, .runs = runs, .grid = g, .scale = s, .options = o};
    int32_t first_point = plan->points_n;

    ids_init(&x.points, &plan->arena);
    x.skip_hit = arena_array(&plan->arena, (size_t)g->skips_n + 1, sizeof *x.skip_hit);
    x.rule_hit = arena_array(&plan->arena, (size_t)g->rules_n + 1, sizeof *x.rule_hit);
    for (int32_t b = 0; b < g->blocks_n; b++) {
        int64_t size = axes_size(&g->block[b].axes);
        for (int64_t i = 0; i < size; i++) TRY(expand_training(&x, &g->block[b], i, e));
    }
    note_entries(&x);
    notes_add_merged(plan, first_point, g->name, s->name);
    return 0;
}
