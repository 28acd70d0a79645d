/* bench.c - warm-up, timed steps, median. */
#include "worker/bench.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/philox.h"
#include "model/model.h"
#include "shape/shape.h"
#include "worker/room.h"
#include "worker/speed.h"

enum {
    BENCH_WARMUP = 3,
    BENCH_STEPS = 20,
    BENCH_STEPS_MAX = 1000,
    BENCH_FIRST_WORD = 4, /* after the special symbols */
    BENCH_STREAM = 0x42454E43
};

/* Short steps are repeated for about so long. */
static const double bench_seconds = 2.0;

struct bench {
    struct worker *attempt;
    const struct spec *spec;
    struct model *model;
    int32_t rows, length;             /* of a shard; tokens a row */
    int32_t shards;                   /* of a step: one in eval mode */
    int64_t shard_n;                  /* tokens of a shard */
    int32_t *source_own, *target_own; /* (shards, rows, L) */
    int32_t *position_own;
    float *logp_own;
    double seconds[BENCH_STEPS_MAX];
    int32_t steps_n;
};

/* Rank r of V words with probability about 1/r: r = V^u for a uniform u. */
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
    struct shape_capacity room;
    size_t n;

    shape_capacity(&room, s);
    x->rows = room.rows_max;
    x->length = room.length_max;
    x->shards = train ? s->train.shards : 1;
    x->shard_n = (int64_t)x->rows * x->length;
    n = (size_t)(x->shards * x->shard_n);
    x->source_own = calloc(n, sizeof *x->source_own);
    x->target_own = calloc(n, sizeof *x->target_own);
    x->position_own = calloc((size_t)x->shard_n, sizeof *x->position_own);
    x->logp_own = calloc((size_t)x->shard_n, sizeof *x->logp_own);
    if (!x->source_own || !x->target_own || !x->position_own || !x->logp_own)
        return ERR(e, ERR_NOMEM, "no memory for %zu tokens", n);
    for (size_t i = 0; i < n; i++) {
        x->source_own[i] = bench_word(s, i);
        x->target_own[i] = bench_word(s, i + 1);
    }
    for (int64_t i = 0; i < x->shard_n; i++) x->position_own[i] = (int32_t)i;
    const struct model_options options = model_options_for(&room);
    TRY(model_open(&x->model, x->attempt->backend, s, &options, e));
    return model_init(x->model, (uint64_t)s->train.seed, e);
}

static struct model_batch bench_batch(const struct bench *x, int32_t shard)
{
    return (struct model_batch){.source = x->source_own + shard * x->shard_n,
                                .target = x->target_own + shard * x->shard_n,
                                .rows = x->rows,
                                .length = x->length,
                                .first_row = (int64_t)shard * x->rows};
}

static int bench_train_step(struct bench *x, uint32_t step, struct err *e)
{
    double norm = 0.0;

    for (int32_t shard = 0; shard < x->shards; shard++) {
        const struct model_batch batch = bench_batch(x, shard);
        TRY(model_train_batch(x->model, &batch, step, shard > 0, NULL, e));
    }
    /* A rate of zero costs what any rate does and keeps every step's numbers alike. */
    const struct model_update update = {.update = step, .targets_n = x->shards * x->shard_n};
    return model_apply(x->model, &update, &norm, e);
}

static int bench_step(struct bench *x, uint32_t step, struct err *e)
{
    struct backend *b = x->attempt->backend;

    if (x->spec->bench_mode == 0) {
        TRY(bench_train_step(x, step, e));
    } else {
        const struct model_batch batch = bench_batch(x, 0);
        TRY(model_score(x->model, &batch, x->position_own, x->shard_n, x->logp_own, e));
    }
    return b->ops->sync(b, e);
}

static int bench_measure(struct bench *x, struct err *e)
{
    int64_t from_us = 0;

    for (uint32_t step = 0; x->steps_n < BENCH_STEPS_MAX; step++) {
        if (worker_stop_requested(x->attempt))
            return ERR(e, ERR_INTERRUPTED, "stopped while measuring; the same command starts over");
        TRY(worker_progress(x->attempt, step, BENCH_WARMUP + BENCH_STEPS, (double)NAN, (double)NAN,
                            e));
        int64_t step_us = clock_monotonic_us();
        if (step == BENCH_WARMUP) from_us = step_us;
        TRY(bench_step(x, step, e));
        int64_t now_us = clock_monotonic_us();
        if (step < BENCH_WARMUP) continue;
        x->seconds[x->steps_n++] = 1e-6 * (double)(now_us - step_us);
        if (x->steps_n >= BENCH_STEPS && 1e-6 * (double)(now_us - from_us) >= bench_seconds) break;
    }
    return 0;
}

/* The share of the device's peak that the model's own FLOPs take (no recomputation is counted);
 * null where the peak is not known, and where a share above 1 shows that it is not. */
static json_t *bench_mfu(const struct bench *x, double wps)
{
    const struct spec *s = x->spec;
    double token_flops = shape_forward_flops(s, x->length, NULL) * (s->bench_mode == 0 ? 3 : 1);
    double peak = shape_peak_flops(x->attempt->backend->device, spec_precision(s, NULL));
    double mfu = peak > 0 ? wps * token_flops / peak : 0;

    return mfu > 0 && mfu <= 1 ? json_real(mfu) : json_null();
}

static int bench_record(struct bench *x, struct err *e)
{
    struct worker *a = x->attempt;
    int64_t peak = 0, tokens = x->shards * x->shard_n;
    double median = speed_median(x->seconds, x->steps_n);

    TRY(worker_peak_bytes(a, &peak, e));
    double wps = (double)tokens / median;
    json_t *json = json_pack("{s:s, s:o, s:I, s:o, s:I, s:f}", "run_id", a->run_id[0], "wps",
                             json_finite(wps), "peak_memory_bytes", (json_int_t)peak, "mfu",
                             bench_mfu(x, wps), "batch_tokens", (json_int_t)tokens, "wall_seconds",
                             1e-6 * (double)(clock_monotonic_us() - a->started_us));
    return event_write(a->events, EVENT_BENCHED, json, e);
}

int bench_run(struct worker *a, struct err *e)
{
    int rc = 0;
    struct bench *x = calloc(1, sizeof *x);

    if (!x) return ERR(e, ERR_NOMEM, "no memory for a benchmark");
    x->attempt = a;
    x->spec = &a->spec[0];
    TRY_OUT(rc, bench_open(x, e));
    TRY_OUT(rc, bench_measure(x, e));
    rc = bench_record(x, e);
out:
    model_close(x->model);
    free(x->source_own);
    free(x->target_own);
    free(x->position_own);
    free(x->logp_own);
    free(x);
    return rc;
}
