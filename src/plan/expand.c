/* expand.c - expands a grid: its blocks, then the evaluations of each training.
 *
 * 1. A nominal draft is base plus the grid point; where, skip and --only match it.
 * 2. The final draft is the nominal one after the scale, the point's own axes where the scale sets
 *    them too, and --set; it defines the run.
 * 3. Points are numbered in grid order, including those that --only excludes, so that a number
 *    always means the same point. A nominal point in two blocks is one point. */
#include "plan/plan_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/map.h"
#include "base/str.h"

/* A training or benchmark during the expansion of its evaluations. */
struct parent {
    const struct rule *block;
    struct draft nominal;
    struct spec final;
    char nominal_id[SPEC_ID_BYTES];
    struct parent *from; /* the training that it continues, or NULL */
    int32_t point;       /* its number; -1: already numbered by an earlier block */
    int32_t run;         /* index in plan->run; -1 until a point needs it */
};

/* --- notes ---------------------------------------------------------------------------------- */

void notes_add(struct plan *plan, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    *vec_push(&plan->arena, &plan->notes) = arena_vprintf(&plan->arena, format, args);
    va_end(args);
}

void mentions_init(struct mentions *m, struct arena *a)
{
    map_init(&m->seen, a);
    strbuf_init(&m->text, a);
}

void plan_mention(struct mentions *m, const char *text)
{
    bool added;

    (void)map_put(&m->seen, text, strlen(text), &added);
    if (added) strbuf_addf(&m->text, "%s%s", m->text.n ? ", " : "", text);
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
static void note_pairs(struct expansion *x, const char *what, int64_t *pair, int32_t n)
{
    struct strbuf b;

    strbuf_init(&b, &x->plan->arena);
    qsort(pair, (size_t)n, sizeof *pair, compare_pairs);
    for (int32_t i = 0, from = 0; i < n; from = i) {
        int32_t values = 0, mapped = (int32_t)(pair[from] >> 32);
        strbuf_add(&b, from ? "; " : "");
        for (; i < n && pair[i] >> 32 == mapped; i++)
            if (i == from || pair[i] != pair[i - 1])
                strbuf_addf(&b, "%s%d", values++ ? ", " : "", (int32_t)pair[i]);
        strbuf_addf(&b, " are %s %d", values == 2 ? "both" : "all", mapped);
    }
    notes_add(x->plan, "%s: %s %s at scale %s", x->grid.name, what, b.text, x->scale.name);
}

/* Formats "2 trainings"; "" if n is 0. */
static const char *count_text(int32_t n, const char *what, struct arena *a)
{
    return n ? arena_printf(a, "%d %s%s", n, what, n == 1 ? "" : "s") : "";
}

/* Notes points that share a run with an earlier point of the grid. */
static void note_merged(struct expansion *x, int32_t first_point)
{
    static const char *const what[] = {"L_train", "L_valid", "stride"};
    enum { WHATS_N = sizeof what / sizeof *what };
    struct plan *plan = x->plan;
    struct {
        int64_t *item;
        int32_t n, capacity;
    } pairs[WHATS_N] = {{0}};
    int32_t trainings_n = 0, evaluations_n = 0; /* with the lengths of an earlier point */
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
        trainings_n += same && s->kind != SPEC_EVAL;
        evaluations_n += same && s->kind == SPEC_EVAL;
    }
    for (int i = 0; i < WHATS_N; i++)
        if (pairs[i].n > 0) note_pairs(x, what[i], pairs[i].item, pairs[i].n);
    if (trainings_n + evaluations_n == 0) return;
    notes_add(plan, "%s: %s%s%s share runs with others: %s", x->grid.name,
              count_text(trainings_n, "training", &plan->arena),
              trainings_n && evaluations_n ? " and " : "",
              count_text(evaluations_n, "evaluation", &plan->arena), x->lost.text.text);
}

/* Notes which settings of the scale axes of the grid replace. */
static void note_kept(struct expansion *x)
{
    if (x->kept.text.n > 0)
        notes_add(x->plan,
                  "%s: axes of the grid win over scale %s, which sets %s; runs with another value "
                  "are `modified`",
                  x->grid.name, x->scale.name, x->kept.text.text);
}

/* Rejects a design with its place in the grid. If --set of one of these keys made it, a trial with
 * fewer updates or another text, a note mentions it once. names ends with NULL. */
static int reject_keys(struct expansion *x, const char *const *names, bool *noted,
                       const struct yaml_node *at, const char *text, struct err *e)
{
    while (*names && !axes_find(&x->set, *names)) names++;
    if (!*names) return yaml_error(at, e, "%s", text);
    if (!*noted) notes_add(x->plan, "%s: %s", x->grid.name, text);
    *noted = true;
    return 0;
}

/* Checks that a training does not end in its warm-up. */
static int check_warmup(struct expansion *x, const struct rule *block, const struct spec *s,
                        struct err *e)
{
    static const char *const names[] = {"train.warmup", "train.updates", NULL};
    const struct spec_train *t = &s->train;
    const struct yaml_node *at = block->at;

    if (!spec_key_applies(spec_key_find("train.warmup"), s) || t->updates > t->warmup) return 0;
    for (int i = 0; names[i] && at == block->at; i++) {
        const struct axis *own = axes_find(&block->axes, names[i]);
        if (!own) own = axes_find(&x->grid.set, names[i]);
        if (own) at = own->at;
    }
    const char *text = arena_printf(&x->plan->arena,
                                    "train.updates %d ends in the warm-up of %d updates; set "
                                    "train.warmup and train.period too",
                                    t->updates, t->warmup);
    return reject_keys(x, names, &x->warmup_noted, at, text, e);
}

/* Checks that an evaluation's text fills a window. The texts of pretrained models are documents,
 * with which windows end. */
static int check_length(struct expansion *x, const struct rule *evaluate, const struct spec *s,
                        struct err *e)
{
    static const char *const names[] = {"data.corpus", "data.train_tokens", "data.valid_tokens",
                                        "data.test_tokens", NULL};
    const struct axis *set = axes_find(&x->set, "eval.L");
    int64_t all = spec_split_tokens(&s->data, s->eval.split);

    if (spec_is_pretrained(s) || all == 0 || s->eval.L <= all) return 0;
    const char *text = arena_printf(
        &x->plan->arena, "L_valid: %d is longer than the %lld tokens of the split in %.60s; %s",
        s->eval.L, (long long)all, s->data.corpus, "shorten it or take a longer text");
    if (set) return ERR(e, ERR_DATA, "--set eval.L=%s: %s", set->item[0], text);
    return reject_keys(x, names, &x->length_noted, evaluate->at, text, e);
}

/* Notes the evaluations with settings that change nothing at their length, if the grid also has the
 * evaluations without them. */
static void note_copies(struct expansion *x, int32_t first_point)
{
    static const char *const names[] = {"eval.position_scaling", "eval.attention_window",
                                        "eval.temperature"};
    struct plan *p = x->plan;
    struct mentions what;
    char id[SPEC_ID_BYTES];
    int32_t twin, n = 0;

    mentions_init(&what, &p->arena);
    for (int32_t i = first_point; i < p->points_n; i++) {
        const struct plan_run *run = &p->run[p->point[i].run];
        if (run->spec.kind != SPEC_EVAL) continue;
        const struct spec bare = spec_without_idle(&run->spec);
        spec_run_id(&bare, id);
        if (!strcmp(id, run->run_id) || !map_get(&x->runs, id, strlen(id), &twin)) continue;
        n++;
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            const struct spec_key *key = spec_key_find(names[k]);
            const char *value = spec_get(&run->spec, key, &p->arena);
            if (!spec_key_equals(&bare, key, value))
                plan_mention(&what, arena_printf(&p->arena, "%s=%s at L_valid %d", names[k], value,
                                                 p->point[i].L_valid_nominal));
        }
    }
    if (n > 0)
        notes_add(p, "%s: %s the same number%s as others, because nothing changes with %s",
                  x->grid.name,
                  n == 1 ? "1 evaluation gives" : arena_printf(&p->arena, "%d evaluations give", n),
                  n == 1 ? "" : "s", what.text.text);
}

/* Notes a grid whose trainings no table shows: it evaluates nothing, and its folder has no query of
 * its own. */
static void note_unevaluated(struct expansion *x)
{
    static const char *const own[] = {"query.sql", "table.txt"};
    const struct grid *g = &x->grid;
    bool trains = false;

    for (int32_t i = 0; i < g->blocks.n; i++) trains |= g->blocks.item[i].kind == SPEC_TRAIN;
    if (!trains || g->evaluate.n > 0) return;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (file_exists(arena_printf(&x->plan->arena, "%s/%s", g->dir, own[i]))) return;
    notes_add(x->plan,
              "%s: the grid has no evaluate:, therefore its trainings give no table; add one such "
              "as `evaluate: [{ L_valid: [512, 1024] }]`",
              g->name);
}

/* Reports settings of the grid without effect, because the scale, applied later, sets them too. */
static void note_overridden(struct expansion *x)
{
    const struct spec *base = &x->grid.base.spec;

    for (int32_t i = 0; i < x->grid.set.n; i++) {
        const struct axis *own = &x->grid.set.item[i];
        bool maps;
        const char *value = scale_value(&x->scale, base, own->key, &maps);
        if (value && !axes_find(&x->set, own->key->name) && !spec_key_equals(base, own->key, value))
            notes_add(x->plan,
                      "%s: %s=%s under set: has no effect, because scale %s sets it to %s; make it "
                      "an axis under grid:, or use --set or --scale none",
                      x->grid.name, own->key->name, own->item[0], x->scale.name, value);
    }
}

/* Reports what is left out, and entries that match nothing. */
static void note_entries(struct expansion *x)
{
    struct plan *p = x->plan;
    const struct grid *g = &x->grid;

    if (g->name_given && strcmp(g->name_given, g->name) != 0)
        notes_add(p, "%s: ignoring artefact: %s in the grid; the folder's name is used", g->name,
                  g->name_given);
    bool all = true; /* blocks are here */
    for (int32_t i = 0; i < g->blocks.n; i++) {
        const struct rule *r = &g->blocks.item[i];
        all = all && !r->missing;
        if (r->missing) notes_add(p, "%s: left out %s: %s", g->name, r->missing, r->how);
    }
    for (int32_t i = 0; i < g->evaluate.n; i++) {
        const struct rule *r = &g->evaluate.item[i];
        if (!r->used && all)
            notes_add(p, "%s: the entry of evaluate at line %d matches no training", g->name,
                      r->at->line);
    }
    for (int32_t i = 0; i < g->skip.n; i++) {
        const struct rule *r = &g->skip.item[i];
        if (r->used)
            notes_add(p, "%s: left out %s: %s", g->name,
                      axes_text(r->where.item, r->where.n, &p->arena), r->why);
        else if (all)
            notes_add(p, "%s: the entry of skip at line %d matches nothing", g->name, r->at->line);
    }
}

/* --- specs ---------------------------------------------------------------------------------- */

/* Replaces a setting of the scale. Unless that changes only the seed or a label, it marks the spec
 * as modified. A key that does not apply to the run changes nothing. Returns whether it marks. */
static bool override_key(struct draft *d, const struct spec_key *key, const char *value)
{
    bool same = spec_key_equals(&d->spec, key, value);

    draft_set(d, key, value);
    bool counts =
        key->hashed && strcmp(key->name, "train.seed") != 0 && spec_key_applies(key, &d->spec);
    if (!same && counts) d->spec.modified = true;
    return !same && counts;
}

/* A point's own values win over settings of the scale, but not over what it maps them to. */
static void apply_axes(struct expansion *x, const struct axes *own, const struct spec *nominal,
                       struct draft *d)
{
    struct arena *a = &x->plan->arena;
    bool maps;

    for (int32_t i = 0; i < own->n; i++) {
        const struct spec_key *key = own->item[i].key;
        const char *value = scale_value(&x->scale, nominal, key, &maps);
        if (value && !maps && !axes_find(&x->set, key->name) &&
            override_key(d, key, spec_get(nominal, key, a)))
            plan_mention(&x->kept, arena_printf(a, "%s=%s", key->name, value));
    }
}

/* Mentions why axes of several values do not tell runs apart. */
static void mention_lost(struct expansion *x, const struct axes *own, const struct spec *nominal,
                         const struct spec *final)
{
    struct arena *a = &x->plan->arena;
    bool maps;

    for (int32_t i = 0; i < own->n; i++) {
        const struct spec_key *key = own->item[i].key;
        bool other = final->kind == SPEC_EVAL && !settings_belongs(key, "eval.");
        if (own->item[i].n < 2) continue;
        if (axes_find(&x->set, key->name))
            plan_mention(&x->lost, arena_printf(a, "--set sets %s", key->name));
        else if (scale_value(&x->scale, nominal, key, &maps) && maps)
            plan_mention(&x->lost, arena_printf(a, "scale %s maps %s", x->scale.name, key->name));
        else if (!other && !spec_key_applies(key, final))
            plan_mention(&x->lost, arena_printf(a, "%s does not apply", key->name));
    }
}

/* Completes a draft with the values of --set, but for number `but` of them, and with the slopes of
 * the scale: these follow the number of heads, and --set may replace them. */
static int complete_draft(struct expansion *x, const struct axes *set, int32_t but, struct draft *d,
                          struct err *e)
{
    for (int slopes = 0; slopes < 2; slopes++) {
        if (slopes) TRY(scale_slopes(&x->scale, d, &x->plan->arena, e));
        for (int32_t i = 0; i < set->n; i++)
            if (i != but && scale_is_slope(set->item[i].key) == (slopes == 1))
                override_key(d, set->item[i].key, set->item[i].item[0]);
    }
    TRY(draft_complete(d, e));
    if (x->parent) TRY(spec_continue(&d->spec, x->parent, e));
    return spec_check(&d->spec, e);
}

/* Prefixes the error with its cause: the one --set without which the draft is valid, all of them,
 * or the grid. */
static void blame_setting(struct expansion *x, const struct draft *before,
                          const struct yaml_node *at, struct err *e)
{
    static const struct axes none = {0};
    const struct axes *set = &x->set;
    struct draft without = *before;

    if (set->n == 0 || complete_draft(x, &none, -1, &without, NULL) < 0) {
        yaml_place(at, ERR_DATA, e);
        return;
    }
    for (int32_t i = 0; i < set->n; i++) {
        without = *before;
        if (complete_draft(x, set, i, &without, NULL) < 0) continue;
        err_ctx(e, "--set %s=%s", set->item[i].key->name, set->item[i].item[0]);
        return;
    }
    err_ctx(e, "--set");
}

/* Turns the nominal draft of a point of a block, or of an evaluation of it, into the spec of a run.
 */
static int finish_spec(struct expansion *x, struct draft *d, const struct rule *block,
                       const struct rule *evaluate, struct err *e)
{
    static const struct axes none = {0};
    const struct yaml_node *at = evaluate ? evaluate->at : block->at;
    const struct axes *const own[] = {&block->axes, evaluate ? &evaluate->axes : &none};
    const struct spec nominal = d->spec;

    TRY(yaml_place(at, scale_apply(&x->scale, d, e), e));
    for (int i = 0; i < 2; i++) apply_axes(x, own[i], &nominal, d);
    struct draft before = *d;
    int rc = complete_draft(x, &x->set, -1, d, e);
    for (int i = 0; i < 2; i++) mention_lost(x, own[i], &nominal, &d->spec);
    if (rc < 0) blame_setting(x, &before, at, e);
    return rc;
}

/* True if an entry of skip excludes this spec. Entries with evaluation keys match no training. */
static bool is_skipped(struct expansion *x, const struct spec *nominal)
{
    bool skipped = false;

    for (int32_t i = 0; i < x->grid.skip.n; i++) {
        struct rule *r = &x->grid.skip.item[i];
        bool matches = axes_match(&r->where, nominal);
        r->used |= matches;
        skipped |= matches;
    }
    return skipped;
}

/* True if --only selects this spec. */
static bool is_selected(struct expansion *x, const struct spec *nominal)
{
    bool selected = true;

    for (int32_t i = 0; i < x->only.n; i++) {
        const struct axis *only = &x->only.item[i];
        struct selection *s = &x->selection[i];
        bool matches = axis_matches(only, nominal), added;
        selected &= matches;
        s->matched |= matches;
        if (!axis_applies(only, nominal)) continue;
        const char *value = spec_get(nominal, only->key, &x->plan->arena);
        (void)map_put(&s->seen, value, strlen(value), &added);
        if (added) strbuf_addf(&s->values, "%s%s", s->values.n ? ", " : "", value);
    }
    return selected;
}

/* --- runs and points ------------------------------------------------------------------------ */

/* True the first time that it is called for such a text. */
static bool is_new(struct expansion *x, const char *text)
{
    bool added;

    (void)map_put(&x->shared, text, strlen(text), &added);
    return added;
}

/* Counts a datastore and a search for the first run alone that asks for them. */
static void estimate_datastore(struct expansion *x, struct plan_run *run)
{
    const struct spec_eval *s = &run->spec.eval;
    const struct spec_knn k = spec_datastore(s, &run->spec);
    struct arena *a = &x->plan->arena;

    if (run->cost.datastore_flops == 0) return;
    const char *datastore = arena_printf(a, "%s %d %d %d %lld %d", s->train_run, (int)s->checkpoint,
                                         k.window, k.stride, (long long)k.keys, (int)k.control);
    const char *search = arena_printf(a, "%s %d %d %d %d %lld", datastore, (int)s->split, s->L,
                                      s->stride, k.neighbours, (long long)s->targets);
    if (!is_new(x, datastore)) run->cost.flops -= run->cost.datastore_flops;
    if (!is_new(x, search)) run->cost.flops -= run->cost.search_flops;
}

static void estimate_run(struct expansion *x, struct plan_run *run)
{
    if (run->spec.kind == SPEC_TRAIN && run->train >= 0)
        shape_cost_continued(&run->cost, &run->spec, &x->plan->run[run->train].spec);
    else
        shape_cost(&run->cost, &run->spec);
    estimate_datastore(x, run);
}

/* Returns the index of the run of a final spec; adds it if it is new. */
static int32_t add_run(struct expansion *x, const struct spec *final, int32_t train)
{
    struct plan *p = x->plan;
    char id[SPEC_ID_BYTES];
    bool added;

    spec_run_id(final, id);
    int32_t *at = map_put(&x->runs, id, strlen(id), &added);
    if (!added) return *at;
    *at = p->runs_n;
    vec_grow(&p->arena, &p->run, p->runs_n, &x->runs_capacity, sizeof *p->run);
    struct plan_run *run = &p->run[p->runs_n++];
    *run = (struct plan_run){.spec = *final, .train = train};
    memcpy(run->run_id, id, sizeof id);
    spec_config_id(final, train >= 0 ? p->run[train].config_id : NULL, run->config_id);
    estimate_run(x, run);
    return p->runs_n - 1;
}

static void add_point(struct expansion *x, int32_t number, int32_t run, const struct spec *nominal)
{
    struct plan *p = x->plan;
    bool sliding = nominal->kind == SPEC_EVAL && nominal->eval.window == SPEC_SLIDING;

    vec_grow(&p->arena, &p->point, p->points_n, &x->points_capacity, sizeof *p->point);
    p->point[p->points_n++] =
        (struct plan_point){.artefact = x->grid.name,
                            .point = number,
                            .run = run,
                            .L_train_nominal = nominal->train.L,
                            .L_valid_nominal = spec_valid_length(nominal),
                            .stride_nominal = sliding ? nominal->eval.stride : 0};
}

/* Numbers a new nominal point; -1: the grid already has it. */
static int32_t number_point(struct expansion *x, const char *nominal_id)
{
    bool added;

    (void)map_put(&x->points, nominal_id, strlen(nominal_id), &added);
    return added ? x->next_point++ : -1;
}

/* Checks that the tensors of a training fit those of its parent. */
static int check_tensors(const struct spec *child, const struct spec *parent, struct err *e)
{
    struct shape_params own, theirs;
    struct shape_inheritance h;
    struct arena a;

    arena_init(&a);
    shape_params(&own, &a, child);
    shape_params(&theirs, &a, parent);
    int rc = shape_inherit(&h, &a, &own, &theirs, e);
    arena_fini(&a);
    return rc;
}

/* Adds the run of a training when it is first needed. */
static int need_parent(struct expansion *x, struct parent *t, struct err *e)
{
    struct plan *p = x->plan;

    if (t->run >= 0) return 0;
    struct draft d = t->nominal;
    struct draft bare;
    if (t->from) TRY(need_parent(x, t->from, e));
    if (t->from) memcpy(d.spec.train.from, p->run[t->from->run].run_id, SPEC_ID_BYTES);
    x->parent = t->from ? &t->from->final : NULL;
    TRY(finish_spec(x, &d, t->block, NULL, e));
    if (x->parent) TRY(yaml_place(t->block->from_at, check_tensors(&d.spec, x->parent, e), e));
    draft_init(&bare);
    d.spec.eval = bare.spec.eval; /* not part of a training; evaluations have their own */
    t->final = d.spec;
    TRY(check_warmup(x, t->block, &t->final, e));
    t->run = add_run(x, &d.spec, t->from ? t->from->run : -1);
    if (t->from && d.spec.train.continues == SPEC_CONTINUES_ALL) {
        p->run[t->from->run].spec.train.keep_state = true;
        estimate_run(x, &p->run[t->from->run]);
    }
    if (t->point >= 0) add_point(x, t->point, t->run, &t->nominal.spec);
    return 0;
}

/* Adds one evaluation of a training: point `index` of the rule's product at one length. */
static int expand_evaluation(struct expansion *x, struct parent *t, const struct rule *r,
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
    if (number < 0 || !is_selected(x, &d.spec)) return 0;
    TRY(need_parent(x, t, e));
    struct spec nominal = d.spec;
    x->parent = t->from ? &t->from->final : NULL;
    TRY(finish_spec(x, &d, t->block, r, e));
    d.spec.model = t->final.model;
    d.spec.data = t->final.data;
    d.spec.train = t->final.train;
    TRY(check_length(x, r, &d.spec, e));
    d.spec.modified |= t->final.modified;
    memcpy(d.spec.eval.train_run, x->plan->run[t->run].run_id, SPEC_ID_BYTES);
    add_point(x, number, add_run(x, &d.spec, t->run), &nominal);
    return 0;
}

/* Counts points of the product of a block or a rule before they are made. */
static int count_points(struct expansion *x, const struct yaml_node *block, int64_t n,
                        struct err *e)
{
    x->points_n += n;
    if (x->points_n <= PLAN_MAX_RUNS) return 0;
    return yaml_error(block, e, "the grid has more than %d runs up to this block", PLAN_MAX_RUNS);
}

/* Returns the i-th length of a rule for a training with rows of L_train tokens (0: not set in the
 * grid); -1: the rule leaves it out. */
static int64_t length_of(const struct rule *r, int32_t i, int64_t L_train)
{
    if (r->length[i].times > 0) return (int64_t)(r->length[i].times * (double)L_train + 0.5);
    int64_t least = r->least.tokens + (r->least.relative ? L_train : 0);
    int64_t tokens = r->length[i].tokens + (r->length[i].relative ? L_train : 0);

    return tokens >= least ? tokens : -1;
}

static int expand_rule(struct expansion *x, struct parent *t, struct rule *r, struct err *e)
{
    int32_t L_train = t->nominal.spec.train.L, lengths_n = 0;
    int64_t products = axes_size(&r->axes), L;

    if (!axes_match(&r->where, &t->nominal.spec)) return 0;
    r->used = true;
    for (int32_t i = 0; i < r->lengths_n; i++) lengths_n += length_of(r, i, L_train) >= 0;
    if (lengths_n == 0) return 0;
    TRY(count_points(x, t->block->at, products * lengths_n, e));
    for (int64_t k = 0; k < products; k++)
        for (int32_t i = 0; i < r->lengths_n; i++)
            if ((L = length_of(r, i, L_train)) >= 0) TRY(expand_evaluation(x, t, r, k, L, e));
    return 0;
}

/* Describes which parent a training asks for: "L_train=64, seed=1, position=alibi". */
static char *asked_parent(const struct rule *block, const struct axes *own, struct arena *a)
{
    return arena_printf(a, "%s%s%s", axes_text(block->from.item, block->from.n, a),
                        own->n ? ", " : "", axes_text(own->item, own->n, a));
}

/* Finds the training of an earlier block that a training of this block continues: the one that
 * matches its `from`, and has its seed, position and dataset where that does not give them. n: how
 * many trainings the earlier blocks have. */
static int find_parent(struct expansion *x, struct parent *t, int32_t n, struct err *e)
{
    static const char *const shared[] = {"train.seed", "model.position", "data.dataset"};
    struct arena *a = &x->plan->arena;
    const struct rule *block = t->block;
    struct axes own = {0};
    int32_t found_n = 0;

    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
        struct axis one = {.key = spec_key_find(shared[i])};
        if (axes_find(&block->from, shared[i])) continue;
        *vec_push(a, &one) = spec_get(&t->nominal.spec, one.key, a);
        *vec_push(a, &own) = one;
    }
    for (int32_t i = 0; i < n; i++) {
        struct parent *p = x->parents.item[i];
        if (!axes_match(&block->from, &p->nominal.spec) || !axes_match(&own, &p->nominal.spec))
            continue;
        t->from = p;
        found_n++;
    }
    if (found_n == 0)
        return yaml_error(block->from_at, e, "from: no training of an earlier block has %s",
                          asked_parent(block, &own, a));
    if (found_n > 1)
        return yaml_error(block->from_at, e,
                          "from: %d trainings of earlier blocks have %s; add a key in which they "
                          "differ",
                          found_n, asked_parent(block, &own, a));
    memcpy(t->nominal.spec.train.from, t->from->nominal_id, SPEC_ID_BYTES);
    return 0;
}

static bool has_children(const struct grid *g)
{
    for (int32_t i = 0; i < g->blocks.n; i++)
        if (g->blocks.item[i].from_at) return true;
    return false;
}

/* earlier_n: how many trainings the earlier blocks have. */
static int expand_training(struct expansion *x, const struct rule *block, int64_t index,
                           int32_t earlier_n, struct err *e)
{
    struct parent here, *t = &here;
    struct rules *rules = &x->grid.evaluate;

    if (has_children(&x->grid)) t = arena_array(&x->plan->arena, 1, sizeof *t);
    *t = (struct parent){.block = block, .nominal = x->grid.base, .run = -1};
    t->nominal.spec.kind = block->kind;
    axes_apply(&block->base, 0, &t->nominal);
    if (block->base_at) axes_apply(&x->grid.set, 0, &t->nominal);
    axes_apply(&block->axes, index, &t->nominal);
    if (block->from_at) TRY(find_parent(x, t, earlier_n, e));
    if (is_skipped(x, &t->nominal.spec)) return 0;
    spec_run_id(&t->nominal.spec, t->nominal_id);
    t->point = number_point(x, t->nominal_id);
    if (t != &here && block->kind == SPEC_TRAIN && t->point >= 0)
        *vec_push(&x->plan->arena, &x->parents) = t;
    if (is_selected(x, &t->nominal.spec)) TRY(need_parent(x, t, e));
    for (int32_t i = 0; i < rules->n && block->kind == SPEC_TRAIN; i++)
        TRY(expand_rule(x, t, &rules->item[i], e));
    return 0;
}

int expand_grid(struct expansion *x, struct err *e)
{
    int32_t first_point = x->plan->points_n;

    map_init(&x->points, &x->plan->arena);
    map_init(&x->shared, &x->plan->arena);
    x->points_n = x->next_point = 0;
    x->warmup_noted = x->length_noted = false;
    x->parents.n = 0;
    mentions_init(&x->kept, &x->plan->arena);
    mentions_init(&x->lost, &x->plan->arena);
    for (int32_t k = 0; k < x->grid.blocks.n; k++) {
        const struct rule *block = &x->grid.blocks.item[k];
        int64_t size = axes_size(&block->axes);
        int32_t earlier_n = x->parents.n;
        if (block->missing) continue;
        TRY(count_points(x, block->at, size, e));
        for (int64_t i = 0; i < size; i++) TRY(expand_training(x, block, i, earlier_n, e));
    }
    note_overridden(x);
    note_entries(x);
    note_kept(x);
    note_merged(x, first_point);
    note_copies(x, first_point);
    note_unevaluated(x);
    return 0;
}
