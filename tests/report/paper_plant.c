/* paper_plant.c - see paper_plant.h. */
#include "report/paper_plant.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "plan/plan.h"
#include "shape/memory.h"

struct planting {
    struct report_fixture *f;
    struct plan plan;
    bool made_up;
};

static struct project shipped(const struct report_fixture *f)
{
    return (struct project){.root = f->base->dir, .share = ".", .program = "alibi"};
}

void paper_plant_list(struct report_fixture *f)
{
    const struct project project = shipped(f);

    assert_works(f->base,
                 plan_list(&f->artefact, &f->artefacts_n, &project, &f->arena, &f->base->e));
    /* One whose models are not here has no run to plant (tests/cli/test_pretrained.sh). */
    int32_t n = 0;
    for (int32_t i = 0; i < f->artefacts_n; i++) {
        const struct plan_options none = {0};
        const char *name = f->artefact[i];
        struct plan p;
        assert_works(f->base, plan_open(&p, &project, &name, 1, &none, &f->base->e));
        if (p.runs_n > 0) f->artefact[n++] = f->artefact[i];
        plan_close(&p);
    }
    f->artefacts_n = n;
}

void paper_plant_collections(struct report_fixture *f)
{
    const struct project project = shipped(f);

    assert_works(f->base, plan_list_collections(&f->artefact, &f->artefacts_n, &project, &f->arena,
                                                &f->base->e));
}

int32_t paper_plant_numbers(struct report_fixture *f)
{
    int32_t planted = 0;

    paper_plant_list(f);
    assert_works(f->base, store_begin(f->base->store, &f->base->e));
    for (int32_t i = 0; i < f->artefacts_n; i++) {
        const char *path = arena_printf(&f->arena, "experiments/%s/paper.tsv", f->artefact[i]);
        if (!file_exists(path)) continue; /* it compares numbers of others */
        assert_works(f->base, store_set_paper(f->base->store, f->artefact[i], path, &f->base->e));
        planted++;
    }
    assert_works(f->base, store_commit(f->base->store, &f->base->e));
    return planted;
}

/* --- what the paper gives for a run --------------------------------------------------------- */

/* The first cell of a statement over :run and :metric as a number, or 0. */
static double number(const struct planting *t, int32_t run, const char *metric, const char *sql)
{
    const struct store_param params[] = {{"run", t->plan.run[run].run_id, STORE_TEXT},
                                         {"metric", metric, STORE_TEXT}};
    struct report_fixture *f = t->f;
    struct rows rows;

    assert_works(f->base, report_rows_query(&rows, &f->arena, f->base->store, NULL, sql, params, 2,
                                            REPORT_QUERY_LIMIT_S, &f->base->e));
    return report_rows_real(&rows, 0, "value", 0);
}

/* Under the first artefact that asks for it and has a value; 0: nothing. Speeds of one window at a
 * time are Table 4's before those of Table 6, which rounds (and has another T5 bias: X5). */
static double under_artefact(const struct planting *t, int32_t run, const char *metric)
{
    return number(t, run, metric,
                  "SELECT v.value FROM runs r JOIN points p ON p.run_id=r.run_id\n"
                  "JOIN paper_values v ON v.artefact=p.artefact AND v.position=r.position\n"
                  " AND v.L_train=p.L_train_nominal AND v.L_valid=p.L_valid_nominal\n"
                  " AND v.metric=:metric AND v.value>0\n"
                  "WHERE r.run_id=:run AND (r.kind<>'eval' OR v.split=r.split\n"
                  " AND v.protocol=r.protocol\n"
                  " AND v.stride IS CASE r.protocol WHEN 'sliding' THEN p.stride_nominal END)\n"
                  "ORDER BY p.rowid LIMIT 1");
}

/* Returns a number near Table 5's that agrees with the text on slopes (section 3: trained ones gain
 * nothing beyond L, drawn ones vary more than seeds do) and with the authors' README on shards. */
static double as_the_text_says(const struct planting *t, int32_t run, const char *metric)
{
    return number(t, run, metric,
                  "SELECT v.value*(1+(r.seed-3)*CASE s.value WHEN 'exponential' THEN 0.02\n"
                  " ELSE 0.001 END) AS value\n"
                  "FROM runs r JOIN points p ON p.run_id=r.run_id\n"
                  "JOIN paper_values v ON v.artefact='table5' AND v.position='alibi'\n"
                  " AND v.metric=:metric AND v.L_train=p.L_train_nominal\n"
                  " AND v.L_valid=CASE r.position WHEN 'alibi_learned' THEN p.L_train_nominal\n"
                  "  ELSE p.L_valid_nominal END\n"
                  "LEFT JOIN run_settings s ON s.run_id=r.train_run_id\n"
                  " AND s.key='model.alibi_slopes_source'\n"
                  "WHERE r.run_id=:run AND p.artefact IN('slopes','shards')\n"
                  "ORDER BY p.rowid LIMIT 1");
}

/* The paper's length of a run: that of a point which asks for it or for its evaluation. */
#define NOMINAL                                                                                    \
    "(SELECT p.L_train_nominal FROM points p JOIN runs e ON e.run_id=p.run_id"                     \
    " WHERE :run IN(e.run_id,e.train_run_id) ORDER BY p.rowid DESC LIMIT 1)"

/* Speed or memory of a position at a length, from the figure that holds more digits first. */
static double measured(const struct planting *t, int32_t run, const char *metric)
{
    return number(t, run, metric,
                  "SELECT v.value FROM runs r JOIN paper_values v ON v.dataset=r.dataset\n"
                  " AND v.position=r.position AND v.metric=:metric AND v.L_train=" NOMINAL "\n"
                  "WHERE r.run_id=:run AND v.artefact<>'table6'\n"
                  "ORDER BY v.artefact='figure7' DESC, v.artefact LIKE 'table%' DESC LIMIT 1");
}

/* Figure 5 gives hours; its last ones are these, after so many updates (Table 11), or after all
 * that the run has at its scale. */
static void last_point(double *hours, double *updates, const struct planting *t, int32_t run)
{
    bool alibi = t->plan.run[run].spec.model.position == SPEC_ALIBI;
    double L = number(t, run, NULL, "SELECT " NOMINAL " AS value");

    *hours = (alibi ? 2 : 1) * L == 1024 ? 5547.0 : 5973.0;
    *updates = fmin(alibi ? 50000 : L == 1024 ? 46700 : 44200, t->plan.run[run].spec.train.updates);
}

/* Losses by position as the paper explains its Figure 1, though it has no numbers of them: high in
 * the first eighth of L, then level; beyond L level for ALiBi and high for the others. */
static const char *bins(struct arena *a, const struct spec *s)
{
    int32_t L = s->train.L, first = 1;
    const struct {
        int32_t last;
        double loss;
    } ranges[] = {{L / 8, 3.5},
                  {L / 2, 3.1},
                  {L, 3.0},
                  {s->eval.L, s->model.position == SPEC_ALIBI ? 3.0 : 4.0}};
    struct strbuf b;

    strbuf_init(&b, a);
    strbuf_add(&b, "");
    for (int i = 0; i < 4 && first <= s->eval.L; i++) {
        int32_t last = ranges[i].last < s->eval.L ? ranges[i].last : s->eval.L;
        int32_t targets = 100 * (last - first + 1);
        strbuf_addf(&b, "%s[%d,%d,%d,%.17g]", i ? "," : "", first, last, targets,
                    ranges[i].loss * targets);
        first = last + 1;
    }
    return b.text;
}

/* --- runs ----------------------------------------------------------------------------------- */

/* The validations of a training in Figure 5. */
static void plant_curve(const struct planting *t, int32_t run, int64_t attempt_id)
{
    const struct store_param param = {"run", t->plan.run[run].run_id, STORE_TEXT};
    struct report_fixture *f = t->f;
    struct rows rows;
    double hours, updates;

    last_point(&hours, &updates, t, run);
    assert_works(f->base,
                 report_rows_query(&rows, &f->arena, f->base->store, NULL,
                                   "SELECT v.x, v.value FROM runs r JOIN paper_values v\n"
                                   " ON v.position=r.position AND v.artefact='figure5'\n"
                                   "WHERE r.run_id=:run AND v.L_train=" NOMINAL " ORDER BY v.line",
                                   &param, 1, REPORT_QUERY_LIMIT_S, &f->base->e));
    for (int32_t i = 0; i < rows.rows_n; i++) {
        double x = report_rows_real(&rows, i, "x", NAN),
               y = report_rows_real(&rows, i, "value", NAN);
        fixture_record(f->base, attempt_id, (uint64_t)(10 + i), EVENT_VALIDATION,
                       "{'update':%lld,'epoch':1,'loss_nats':%.17g,'perplexity':%.17g,"
                       "'best':true}",
                       llround(x / hours * updates), log(y), y);
    }
}

static void plant_training(const struct planting *t, int32_t run)
{
    const struct plan_run *r = &t->plan.run[run];
    int64_t id = fixture_start(t->f->base, r->run_id);
    double hours, updates, tokens = (double)r->cost.tokens_per_update;

    last_point(&hours, &updates, t, run);
    fixture_record(t->f->base, id, 1, EVENT_TRAINED,
                   "{'run_id':'%s','updates':%d,'tokens_per_update':%.0f,'parameters':%lld,"
                   "'final_loss_nats':2.5,'train_wps':%.17g,'peak_memory_bytes':4096,"
                   "'wall_seconds':2.5,'best_checkpoint':'best','best_sha256':'abc',"
                   "'last_checkpoint':'last','last_sha256':'abc'}",
                   r->run_id, r->spec.train.updates, tokens, (long long)r->cost.parameters_n,
                   updates * tokens / (hours * 3600));
    if (strcmp(r->spec.data.dataset, "cc100") == 0)
        plant_curve(t, run, id);
    else /* train.validate_every=0: once, at the end */
        fixture_record(t->f->base, id, 10, EVENT_VALIDATION,
                       "{'update':%d,'epoch':1,'loss_nats':2.5,'perplexity':12.25,'best':true}",
                       r->spec.train.updates);
    fixture_end(t->f->base, id, STORE_DONE);
}

static void plant_evaluation(const struct planting *t, int32_t run)
{
    const struct plan_run *r = &t->plan.run[run];
    double value = under_artefact(t, run, "perplexity");

    if (value <= 0) value = as_the_text_says(t, run, "perplexity");
    if (value <= 0 && t->made_up) value = 20 + (double)strtoull(r->run_id, NULL, 16) / 1e19;
    if (value <= 0) return; /* the paper has none */
    const double nll = 100 * log(value);
    int64_t id = fixture_start(t->f->base, r->run_id);
    fixture_record(t->f->base, id, 1, EVENT_EVALUATED,
                   "{'run_id':'%s','loss_nats':%.17g,'perplexity':%.17g,'tokens':217646,"
                   "'nonfinite':0,'eval_wps':1000.5,'peak_memory_bytes':2048,"
                   "'wall_seconds':0.5,'checkpoint_sha256':'abc','bins':[%s],"
                   "'blocks':[[1,100,100,%.17g],[101,200,100,%.17g]]}",
                   r->run_id, log(value), value, bins(&t->f->arena, &r->spec), nll, nll);
    fixture_end(t->f->base, id, STORE_DONE);
}

static void plant_benchmark(const struct planting *t, int32_t run)
{
    const struct plan_run *r = &t->plan.run[run];
    int64_t id = fixture_start(t->f->base, r->run_id);
    double wps = r->spec.bench_rows == 1
                     ? under_artefact(t, run, "eval_wps")
                     : measured(t, run, r->spec.bench_mode == 0 ? "train_wps" : "eval_wps");
    struct shape_capacity room;

    shape_capacity(&room, &r->spec);
    fixture_record(t->f->base, id, 1, EVENT_BENCHED,
                   "{'run_id':'%s','wps':%.17g,'mfu':null,'peak_memory_bytes':%lld,"
                   "'wall_seconds':2,'batch_tokens':%lld}",
                   r->run_id, wps > 0 ? wps : 1000, llround(measured(t, run, "memory_gb") * 1e9),
                   (long long)room.rows_max * room.length_max);
    fixture_end(t->f->base, id, STORE_DONE);
}

static void add_run(const struct planting *t, const struct plan_run *r)
{
    const struct store_run row = {.spec = &r->spec,
                                  .run_id = r->run_id,
                                  .config_id = r->config_id,
                                  .train_run_id =
                                      r->train >= 0 ? t->plan.run[r->train].run_id : NULL,
                                  .parameters_n = r->cost.parameters_n};

    assert_works(t->f->base, store_add_run(t->f->base->store, &row, &t->f->base->e));
}

static void plant_points(const struct planting *t, const char *artefact, const char *scale)
{
    const struct plan *p = &t->plan;
    struct store_point *points = arena_array(&t->f->arena, (size_t)p->points_n + 1, sizeof *points);
    int32_t n = 0;

    for (int32_t i = 0; i < p->points_n; i++) {
        const struct plan_point *q = &p->point[i];
        if (strcmp(q->artefact, artefact) != 0) continue;
        points[n++] = (struct store_point){q->point, p->run[q->run].run_id, q->L_train_nominal,
                                           q->L_valid_nominal, q->stride_nominal};
    }
    assert_works(t->f->base,
                 store_set_points(t->f->base->store, artefact, scale, points, n, &t->f->base->e));
}

void paper_plant_runs(struct report_fixture *f, const char *scale, const char *const *artefacts,
                      int32_t n)
{
    static void (*const plant[])(const struct planting *t,
                                 int32_t run) = {[SPEC_TRAIN] = plant_training,
                                                 [SPEC_EVAL] = plant_evaluation,
                                                 [SPEC_BENCH] = plant_benchmark};
    const struct project project = shipped(f);
    struct planting t = {.f = f, .made_up = n > 0 && project_collection_bytes(artefacts[0]) > 0};
    const struct plan_options o = {.scale = scale};

    assert_works(f->base, plan_open(&t.plan, &project, artefacts, n, &o, &f->base->e));
    assert_works(f->base, store_begin(f->base->store, &f->base->e));
    for (int32_t i = 0; i < t.plan.runs_n; i++) add_run(&t, &t.plan.run[i]);
    for (int32_t i = 0; i < n; i++) plant_points(&t, artefacts[i], scale);
    for (int32_t i = 0; i < t.plan.runs_n; i++) plant[t.plan.run[i].spec.kind](&t, i);
    assert_works(f->base, store_commit(f->base->store, &f->base->e));
    plan_close(&t.plan);
}

void paper_plant_all(struct report_fixture *f, const char *scale)
{
    paper_plant_numbers(f);
    paper_plant_runs(f, scale, (const char *const *)f->artefact, f->artefacts_n);
}
