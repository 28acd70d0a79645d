/* paper_plant.c - see paper_plant.h. */
#include "report/paper_plant.h"

#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "plan/plan.h"
#include "shape/memory.h"

enum { PLANT_JSON_BYTES = 1024, PLANT_SQL_BYTES = 768 };

struct planting {
    struct report_fixture *f;
    struct plan plan;
    int32_t *L_train; /* nominal, of each run */
};

static struct project shipped(const struct report_fixture *f, char here[PATH_MAX])
{
    assert_non_null(getcwd(here, PATH_MAX));
    return (struct project){.root = f->base->dir, .share = here, .program = "alibi"};
}

void paper_plant_list(struct report_fixture *f)
{
    char here[PATH_MAX];
    struct project project = shipped(f, here);

    assert_works(f->base,
                 plan_list(&f->artefact, &f->artefacts_n, &project, &f->arena, &f->base->e));
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

/* The first cell as a number, or 0. */
static double number(const struct planting *t, const char *sql)
{
    double value = 0;
    const char *text = fixture_cell(t->f->base->store, sql);
    return sscanf(text, "%lf", &value) == 1 ? value : 0;
}

/* What the paper gives for a run under the first artefact that asks for it and has a value; 0:
 * nothing. Speeds of one window at a time are Table 4's before those of Table 6, which rounds (and
 * has another T5 bias: X5). */
static double under_artefact(const struct planting *t, int32_t run, const char *metric)
{
    const struct plan *p = &t->plan;
    const struct spec *s = &p->run[run].spec;
    bool sliding = s->eval.window == SPEC_SLIDING;
    double value = 0;

    for (int32_t i = 0; i < p->points_n && value <= 0; i++) {
        const struct plan_point *q = &p->point[i];
        char sql[PLANT_SQL_BYTES], protocol[96] = "", stride[24] = "NULL";
        if (q->run != run) continue;
        if (sliding) snprintf(stride, sizeof stride, "%d", q->stride_nominal);
        if (s->kind == SPEC_EVAL)
            snprintf(protocol, sizeof protocol,
                     " AND split='%s' AND protocol='%s' AND stride IS %s",
                     s->eval.split == SPEC_TEST ? "test" : "valid",
                     sliding ? "sliding" : "nonoverlapping", stride);
        snprintf(sql, sizeof sql,
                 "SELECT value FROM paper_values WHERE artefact='%s' AND position='%s' AND "
                 "L_train=%d AND L_valid=%d AND metric='%s' AND value IS NOT NULL%s",
                 q->artefact, spec_position_name(s->model.position), q->L_train_nominal,
                 q->L_valid_nominal, metric, protocol);
        value = number(t, sql);
    }
    return value;
}

/* Speed or memory of a position at a length, from the figure that holds more digits first. */
static double measured(const struct planting *t, int32_t run, const char *metric)
{
    const struct spec *s = &t->plan.run[run].spec;
    char sql[PLANT_SQL_BYTES];

    snprintf(sql, sizeof sql,
             "SELECT value FROM paper_values WHERE metric='%s' AND dataset='%s' AND position='%s' "
             "AND L_train=%d AND artefact NOT IN ('table6') ORDER BY artefact='figure7' DESC, "
             "artefact LIKE 'table%%' DESC LIMIT 1",
             metric, s->data.dataset, spec_position_name(s->model.position), t->L_train[run]);
    return number(t, sql);
}

/* Figure 5 gives hours; its last ones are these, after so many updates (Table 11). */
static double last_hours(const struct planting *t, int32_t run)
{
    bool alibi = t->plan.run[run].spec.model.position == SPEC_ALIBI;
    return (alibi ? 2 : 1) * t->L_train[run] == 1024 ? 5547.0 : 5973.0;
}

static double last_updates(const struct planting *t, int32_t run)
{
    if (t->plan.run[run].spec.model.position == SPEC_ALIBI) return 50000;
    return t->L_train[run] == 1024 ? 46700 : 44200;
}

/* The validations of a training in Figure 5. */
static void plant_curve(const struct planting *t, int32_t run, int64_t attempt_id)
{
    const struct spec *s = &t->plan.run[run].spec;
    struct store_fixture *base = t->f->base;
    char sql[PLANT_SQL_BYTES], json[PLANT_JSON_BYTES];
    struct rows rows;

    snprintf(sql, sizeof sql,
             "SELECT x, value FROM paper_values WHERE artefact='figure5' AND position='%s' AND "
             "L_train=%d ORDER BY line",
             spec_position_name(s->model.position), t->L_train[run]);
    assert_works(base, fixture_ask(base, &rows, sql, NULL, 0, 60));
    for (int32_t i = 0; i < rows.n; i++) {
        double x = strtod(rows.row[i][0].text, NULL), y = strtod(rows.row[i][1].text, NULL);
        long long step = llround(x / last_hours(t, run) * last_updates(t, run));
        snprintf(json, sizeof json,
                 "{\"update\":%lld,\"epoch\":1,\"loss_nats\":%.17g,\"perplexity\":%.17g,"
                 "\"best\":true}",
                 step, log(y), y);
        if (fixture_ingest(base, attempt_id, (uint64_t)(10 + i), EVENT_VALIDATION, json) < 0)
            fail_msg("%s", base->e.text);
    }
}

static void training_json(char out[PLANT_JSON_BYTES], const struct planting *t, int32_t run)
{
    const struct plan_run *r = &t->plan.run[run];
    double tokens = last_updates(t, run) * (double)r->cost.tokens_per_update;
    double wps = tokens / (last_hours(t, run) * 3600);

    snprintf(out, PLANT_JSON_BYTES,
             "{\"run_id\":\"%s\",\"updates\":%d,\"tokens_per_update\":%lld,\"parameters\":%lld,"
             "\"final_loss_nats\":2.5,\"train_wps\":%.17g,\"peak_memory_bytes\":4096,"
             "\"wall_seconds\":2.5,\"best_checkpoint\":\"best\",\"best_sha256\":\"abc\","
             "\"last_checkpoint\":\"last\",\"last_sha256\":\"abc\"}",
             r->run_id, r->spec.train.updates, (long long)r->cost.tokens_per_update,
             (long long)r->cost.parameters_n, wps);
}

/* Losses by position as the paper explains its Figure 1, though it has no numbers of them: high in
 * the first eighth of L, then level; beyond L level for ALiBi and high for the others. Lines as in
 * record/fields.h, but for the newline, which JSON escapes. */
static char *position_loss(char *out, size_t room, const struct spec *s)
{
    int32_t L = s->train.L, first = 1;
    const struct {
        int32_t last;
        double loss;
    } ranges[] = {{L / 8, 3.5},
                  {L / 2, 3.1},
                  {L, 3.0},
                  {s->eval.L, s->model.position == SPEC_ALIBI ? 3.0 : 4.0}};
    size_t n = 0;

    out[0] = '\0';
    for (int i = 0; i < 4 && first <= s->eval.L; i++) {
        int32_t last = ranges[i].last < s->eval.L ? ranges[i].last : s->eval.L;
        int32_t targets = 100 * (last - first + 1);
        n += (size_t)snprintf(out + n, room - n, "%10d%10d%16d%27.17g\\n", first, last, targets,
                              ranges[i].loss * targets);
        first = last + 1;
    }
    return out;
}

/* The result of a run as its worker would write it; false: the paper has none. */
static bool result_json(char out[PLANT_JSON_BYTES], enum event_type *type, const struct planting *t,
                        int32_t run)
{
    const struct plan_run *r = &t->plan.run[run];

    if (r->spec.kind == SPEC_TRAIN) {
        *type = EVENT_TRAINED;
        training_json(out, t, run);
        return true;
    }
    if (r->spec.kind == SPEC_EVAL) {
        double value = under_artefact(t, run, "perplexity");
        char lines[4 * 66 + 1];
        *type = EVENT_EVALUATED;
        snprintf(out, PLANT_JSON_BYTES,
                 "{\"run_id\":\"%s\",\"loss_nats\":%.17g,\"perplexity\":%.17g,\"tokens\":217646,"
                 "\"nonfinite\":0,\"eval_wps\":1000.5,\"peak_memory_bytes\":2048,"
                 "\"wall_seconds\":0.5,\"checkpoint_sha256\":\"abc\",\"position_loss\":\"%s\"}",
                 r->run_id, value > 0 ? log(value) : 0, value,
                 position_loss(lines, sizeof lines, &r->spec));
        return value > 0;
    }
    double wps = r->spec.bench_rows == 1
                     ? under_artefact(t, run, "eval_wps")
                     : measured(t, run, r->spec.bench_mode == 0 ? "train_wps" : "eval_wps");
    double bytes = measured(t, run, "memory_gb") * 1e9;
    struct shape_capacity room;
    shape_capacity(&room, &r->spec);
    *type = EVENT_BENCHED;
    snprintf(out, PLANT_JSON_BYTES,
             "{\"run_id\":\"%s\",\"wps\":%.17g,\"mfu\":null,\"peak_memory_bytes\":%lld,"
             "\"wall_seconds\":2,\"batch_tokens\":%lld}",
             r->run_id, wps > 0 ? wps : 1000, llround(bytes),
             (long long)room.rows_max * room.length_max);
    return true;
}

static void plant_run(const struct planting *t, int32_t run)
{
    const struct plan_run *r = &t->plan.run[run];
    struct store_fixture *base = t->f->base;
    char json[PLANT_JSON_BYTES];
    enum event_type type;
    const struct store_run row = {.spec = &r->spec,
                                  .run_id = r->run_id,
                                  .config_id = r->config_id,
                                  .train_run_id =
                                      r->train >= 0 ? t->plan.run[r->train].run_id : NULL,
                                  .parameters_n = r->cost.parameters_n};

    if (store_add_run(base->store, &row, &base->e) < 0) fail_msg("%s", base->e.text);
    if (!result_json(json, &type, t, run)) return;
    int64_t id = fixture_start(base, r->run_id);
    if (fixture_ingest(base, id, 1, type, json) < 0) fail_msg("%s", base->e.text);
    if (r->spec.kind == SPEC_TRAIN && strcmp(r->spec.data.dataset, "cc100") == 0)
        plant_curve(t, run, id);
    fixture_end(base, id, STORE_DONE);
}

static void plant_points(const struct planting *t, const char *artefact, const char *scale)
{
    const struct plan *p = &t->plan;
    struct store_fixture *base = t->f->base;
    struct store_point *points = calloc((size_t)p->points_n, sizeof *points);
    int32_t n = 0;

    assert_non_null(points);
    for (int32_t i = 0; i < p->points_n; i++) {
        const struct plan_point *q = &p->point[i];
        if (strcmp(q->artefact, artefact) != 0) continue;
        points[n++] = (struct store_point){q->point, p->run[q->run].run_id, q->L_train_nominal,
                                           q->L_valid_nominal, q->stride_nominal};
    }
    if (store_set_points(base->store, artefact, scale, points, n, &base->e) < 0)
        fail_msg("%s", base->e.text);
    free(points);
}

/* The paper's length of each run: that of a point which asks for it or for its evaluation. */
static int32_t *nominal_lengths(const struct plan *p)
{
    int32_t *L = calloc((size_t)p->runs_n, sizeof *L);

    assert_non_null(L);
    for (int32_t i = 0; i < p->points_n; i++) {
        const struct plan_point *q = &p->point[i];
        int32_t train = p->run[q->run].train;
        L[q->run] = q->L_train_nominal;
        if (train >= 0) L[train] = q->L_train_nominal;
    }
    return L;
}

void paper_plant_runs(struct report_fixture *f, const char *scale, const char *const *artefacts,
                      int32_t n)
{
    char here[PATH_MAX];
    struct project project = shipped(f, here);
    struct planting t = {.f = f};
    const struct plan_options o = {.scale = scale};

    assert_works(f->base, plan_open(&t.plan, &project, artefacts, n, &o, &f->base->e));
    t.L_train = nominal_lengths(&t.plan);
    assert_works(f->base, store_begin(f->base->store, &f->base->e));
    for (int32_t i = 0; i < t.plan.runs_n; i++) plant_run(&t, i);
    for (int32_t i = 0; i < n; i++) plant_points(&t, artefacts[i], scale);
    assert_works(f->base, store_commit(f->base->store, &f->base->e));
    free(t.L_train);
    plan_close(&t.plan);
}

void paper_plant_all(struct report_fixture *f, const char *scale)
{
    paper_plant_numbers(f);
    paper_plant_runs(f, scale, (const char *const *)f->artefact, f->artefacts_n);
}
