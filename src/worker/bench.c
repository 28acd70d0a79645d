/* bench.c - measures the speed of trainings and runs benchmarks.
 *
 * Benchmarks. Mode train measures whole updates of the spec's shards: forward, backward and step.
 * Mode eval measures scoring every position of a shard's rows, or of bench.rows rows of bench.L
 * tokens, such as one window at a time. After a few warm-up steps at least twenty are timed, each
 * with a synchronisation; the result is their median. Tokens are drawn by Zipf's law instead of
 * read from a corpus, so that the bands of an adaptive softmax have realistic shares. */
#include "worker/bench.h"

#include <math.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "backend/backend.h"
#include "base/clock.h"
#include "base/philox.h"
#include "model/model.h"
#include "shape/shape.h"
#include "worker/state.h"

/* --- the speed of a training ---------------------------------------------------------------- */

enum { SPEED_WINDOW = 10, SPEED_WARMUP = 10, SPEED_WARMUP_SHARE = 20 };

void speed_init(struct speed *s, struct arena *a, int64_t updates)
{
    int64_t share = updates / SPEED_WARMUP_SHARE;
    *s = (struct speed){.arena = a, .warmup = share < SPEED_WARMUP ? share : SPEED_WARMUP};
}

bool speed_window_ends(const struct speed *s)
{
    return s->warmup == 1 || (s->warmup == 0 && s->window_n == SPEED_WINDOW - 1);
}

void speed_add(struct speed *s, int64_t targets_n, double seconds)
{
    if (s->warmup > 0) {
        s->warmup--;
        return;
    }
    s->window_n++;
    s->window_targets += targets_n;
    s->window_s += seconds;
    if (s->window_n < SPEED_WINDOW) return;
    if (s->window_s > 0.0) *vec_push(s->arena, &s->rates) = (double)s->window_targets / s->window_s;
    s->window_n = s->window_targets = 0;
    s->window_s = 0.0;
}

static int speed_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double speed_median(double *values, int64_t n)
{
    if (n == 0) return (double)NAN;
    qsort(values, (size_t)n, sizeof *values, speed_compare);
    return n % 2 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

double speed_rate(const struct speed *s)
{
    if (s->rates.n > 0) return speed_median(s->rates.item, s->rates.n);
    return s->window_s > 0.0 ? (double)s->window_targets / s->window_s : (double)NAN;
}

/* --- benchmarks ----------------------------------------------------------------------------- */

enum {
    BENCH_WARMUP = 3,
    BENCH_STEPS = 20,
    BENCH_STEPS_MAX = 1000,
    BENCH_FIRST_WORD = 4, /* after the special symbols */
    BENCH_STREAM = 0x42454E43
};

/* Short steps are repeated for about this time. */
static const double bench_seconds = 2.0;

struct bench {
    struct worker *worker;
    const struct spec *spec;
    struct model *model;
    int32_t rows, length;     /* rows of a shard; tokens per row */
    int32_t shards;           /* shards per step; 1 in mode eval */
    int64_t shard_n;          /* tokens of a shard */
    int32_t *source, *target; /* (shards, rows, L) */
    int32_t *position;
    float *logp;
    double seconds[BENCH_STEPS_MAX];
    int32_t steps_n;
    double cpu_share, switches_per_s; /* fields of the record */
};

/* Draws rank r of V words with probability about 1/r: r = V^u for a uniform u. */
static int32_t bench_word(const struct spec *s, uint64_t element)
{
    int32_t words_n = s->data.vocab - BENCH_FIRST_WORD;
    double u =
        (double)philox_uniform(philox_word((uint64_t)s->train.seed, element, 0, BENCH_STREAM));
    int32_t rank = (int32_t)pow((double)words_n, u);
    return BENCH_FIRST_WORD + (rank < words_n ? rank : words_n - 1);
}

static int bench_open(struct bench *x, struct err *e)
{
    const struct spec *s = x->spec;
    bool train = s->bench_mode == 0;
    struct shape_capacity capacity;
    size_t n;

    shape_capacity(&capacity, s);
    x->rows = capacity.rows_max;
    x->length = capacity.length_max;
    x->shards = train ? s->train.shards : 1;
    x->shard_n = (int64_t)x->rows * x->length;
    n = (size_t)(x->shards * x->shard_n);
    struct arena *a = &x->worker->arena;
    x->source = arena_array(a, n, sizeof *x->source);
    x->target = arena_array(a, n, sizeof *x->target);
    x->position = arena_array(a, (size_t)x->shard_n, sizeof *x->position);
    x->logp = arena_array(a, (size_t)x->shard_n, sizeof *x->logp);
    for (size_t i = 0; i < n; i++) {
        x->source[i] = bench_word(s, i);
        x->target[i] = bench_word(s, i + 1);
    }
    for (int64_t i = 0; i < x->shard_n; i++) x->position[i] = (int32_t)i;
    TRY(model_open(&x->model, x->worker->backend, s, &capacity, e));
    return model_init(x->model, (uint64_t)s->train.seed, e);
}

static struct model_batch bench_batch(const struct bench *x, int32_t shard)
{
    return (struct model_batch){.source = x->source + shard * x->shard_n,
                                .target = x->target + shard * x->shard_n,
                                .rows = x->rows,
                                .length = x->length,
                                .first_row = (int64_t)shard * x->rows};
}

static int bench_train_step(struct bench *x, uint32_t step, struct err *e)
{
    double norm = 0.0;

    for (int32_t shard = 0; shard < x->shards; shard++) {
        const struct model_batch batch = bench_batch(x, shard);
        TRY(model_train_batch(x->model, &batch, step, shard, NULL, e));
    }
    /* A learning rate of zero costs as much as any and keeps the numbers of every step equal. */
    const struct model_update update = {
        .update = step, .targets_n = x->shards * x->shard_n, .shards_n = x->shards};
    return model_apply(x->model, &update, &norm, e);
}

static int bench_step(struct bench *x, uint32_t step, struct err *e)
{
    struct backend *b = x->worker->backend;

    if (x->spec->bench_mode == 0) {
        TRY(bench_train_step(x, step, e));
    } else {
        const struct model_batch batch = bench_batch(x, 0);
        TRY(model_score(x->model, &batch, x->position, x->shard_n, x->logp, e));
    }
    return b->ops->sync(b, e);
}

/* Measures the share of the time in which this process had a processor, and how often it lost it:
 * other load on the machine distorts the speed. */
static void bench_sharing(struct bench *x, int64_t wall_us, int64_t cpu_us, int64_t switches)
{
    struct rusage usage = {0};

    getrusage(RUSAGE_SELF, &usage);
    x->cpu_share = (double)(clock_cpu_us() - cpu_us) / (double)wall_us;
    x->switches_per_s = 1e6 * (double)(usage.ru_nivcsw - switches) / (double)wall_us;
}

static int bench_measure(struct bench *x, struct err *e)
{
    struct rusage before = {0};
    int64_t from_us = 0, cpu_us = 0;

    for (uint32_t step = 0; x->steps_n < BENCH_STEPS_MAX; step++) {
        TRY(worker_check_stop(x->worker, e));
        TRY(worker_progress(x->worker, step, BENCH_WARMUP + BENCH_STEPS, (double)NAN, (double)NAN,
                            e));
        int64_t step_us = clock_monotonic_us();
        if (step == BENCH_WARMUP) {
            from_us = step_us;
            cpu_us = clock_cpu_us();
            getrusage(RUSAGE_SELF, &before);
        }
        TRY(bench_step(x, step, e));
        int64_t now_us = clock_monotonic_us();
        if (step < BENCH_WARMUP) continue;
        x->seconds[x->steps_n++] = 1e-6 * (double)(now_us - step_us);
        bench_sharing(x, now_us - from_us, cpu_us, before.ru_nivcsw);
        if (x->steps_n >= BENCH_STEPS && 1e-6 * (double)(now_us - from_us) >= bench_seconds) break;
    }
    return 0;
}

/* Model FLOP utilisation: the model's FLOPs, without recomputation, as a share of the device's
 * peak. NaN if the peak is not known or, with a share above 1, wrong. */
static double bench_mfu(const struct bench *x, double wps)
{
    const struct spec *s = x->spec;
    double token_flops = shape_forward_flops(s, x->length) * (s->bench_mode == 0 ? 3 : 1);
    double peak = shape_peak_flops(x->worker->backend->device, spec_precision(s, NULL));
    double mfu = peak > 0 ? wps * token_flops / peak : 0;

    return mfu > 0 && mfu <= 1 ? mfu : (double)NAN;
}

static int bench_record(struct bench *x, struct err *e)
{
    struct worker *a = x->worker;
    int64_t peak = 0, tokens = x->shards * x->shard_n;
    double wps = (double)tokens / speed_median(x->seconds, x->steps_n);

    TRY(worker_peak_bytes(a, &peak, e));
    const struct record r = {
        .type = EVENT_BENCHED,
        .benched = {.run_id = a->run_id[0],
                    .peak_memory_bytes = peak,
                    .wall_seconds = 1e-6 * (double)(clock_monotonic_us() - a->started_us),
                    .wps = wps,
                    .mfu = bench_mfu(x, wps),
                    .batch_tokens = tokens,
                    .cpu_share = x->cpu_share,
                    .switches_per_s = x->switches_per_s}};
    return record_write(a->events, &r, e);
}

int bench_run(struct worker *a, struct err *e)
{
    struct bench x = {.worker = a, .spec = &a->spec[0]};

    int rc = bench_open(&x, e);
    if (rc == 0) rc = bench_measure(&x, e);
    if (rc == 0) rc = bench_record(&x, e);
    model_close(x.model);
    return rc;
}
