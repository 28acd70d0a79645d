/* bench_gpu_sliding.c - measures evaluation with stride 1: the cost of a target at every length of
 * Tables 13 to 15, in windows of that length alone, and in one pass shared by all lengths.
 *
 * 1. A batch has the worker's size (shape_capacity_scores). A window scores its last position; a
 *    row of the shared pass scores one position for each length.
 * 2. Tables 13 to 15 evaluate models trained on 512, 1024 and 3072 tokens at their own and all
 *    longer lengths: ten cells a method. Separately these are ten passes, shared they are three;
 *    the pass of the model of 3072 tokens has one length.
 * 3. A score must have the same bits either way; compared for every start and length. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "bench/bench_gpu.h"
#include "shape/memory.h"

enum { LENGTHS_N = 5, STARTS_N = 8, ROWS_MAX = 64 };

static const int32_t paper_lengths[LENGTHS_N] = {512, 1024, 1536, 2048, 3072};
static const int32_t models_that_read[LENGTHS_N] = {1, 2, 2, 2, 3};
static const int32_t models_n = 3;

struct sliding {
    struct bench_steps *steps;
    int32_t length[LENGTHS_N];
    int32_t timed_n, batch_tokens;
    int32_t *source_own, *target_own; /* of one batch */
    int32_t position[ROWS_MAX];
    float logp[ROWS_MAX];
};

/* A batch whose rows begin at tokens first, first + 1, … of the step's tokens, repeated without
 * end.
 */
static struct model_batch sliding_batch(struct sliding *x, int64_t first, int32_t rows, int32_t L)
{
    for (int32_t r = 0; r < rows; r++)
        for (int32_t i = 0; i < L; i++) {
            int64_t from = (first + r + i) % x->steps->tokens;
            x->source_own[(int64_t)r * L + i] = x->steps->source[from];
            x->target_own[(int64_t)r * L + i] = x->steps->target[from];
        }
    return (struct model_batch){
        .source = x->source_own, .target = x->target_own, .rows = rows, .length = L};
}

static int sliding_score(struct sliding *x, const struct model_batch *batch, int32_t positions_n,
                         struct err *e)
{
    struct bench_steps *b = x->steps;
    TRY(model_score(b->model, batch, x->position, positions_n, x->logp, e));
    return b->backend->ops->sync(b->backend, e);
}

static int sliding_time(struct sliding *x, const struct model_batch *batch, int32_t positions_n,
                        struct bench_timing *out, struct err *e)
{
    double seconds[BENCH_STEPS];
    for (int32_t i = -BENCH_WARMUP; i < x->timed_n; i++) {
        int64_t before = clock_monotonic_us();
        TRY(sliding_score(x, batch, positions_n, e));
        if (i >= 0) seconds[i] = 1e-6 * (double)(clock_monotonic_us() - before);
    }
    bench_quartiles(seconds, x->timed_n, out);
    return 0;
}

/* A row from `first` on, scored for every length. */
static struct model_batch shared_batch(struct sliding *x, int64_t first)
{
    for (int k = 0; k < LENGTHS_N; k++) x->position[k] = x->length[k] - 1;
    return sliding_batch(x, first, 1, x->length[LENGTHS_N - 1]);
}

/* Windows of length number k, the first from `first` on. */
static struct model_batch apart_batch(struct sliding *x, int64_t first, int k)
{
    int32_t L = x->length[k], rows = x->batch_tokens / L;
    rows = rows < 1 ? 1 : rows > ROWS_MAX ? ROWS_MAX : rows;
    for (int32_t r = 0; r < rows; r++) x->position[r] = r * L + L - 1;
    return sliding_batch(x, first, rows, L);
}

/* Counts the pairs of start and length whose scores differ. */
static int count_differing(struct sliding *x, int *differ_n, struct err *e)
{
    float together[LENGTHS_N];
    *differ_n = 0;
    for (int s = 0; s < STARTS_N; s++) {
        int64_t first = s * x->steps->tokens / STARTS_N;
        struct model_batch batch = shared_batch(x, first);
        TRY(sliding_score(x, &batch, LENGTHS_N, e));
        memcpy(together, x->logp, sizeof together);
        for (int k = 0; k < LENGTHS_N; k++) {
            batch = apart_batch(x, first, k);
            TRY(sliding_score(x, &batch, batch.rows, e));
            *differ_n += memcmp(&together[k], &x->logp[0], sizeof *together) != 0;
        }
    }
    return 0;
}

/* Seconds of a shared pass, and of a target of each length in separate windows. */
static int time_all(struct sliding *x, double *start_s, double apart_s[LENGTHS_N], struct err *e)
{
    struct bench_timing t = {0};
    struct model_batch batch = shared_batch(x, 0);
    TRY(sliding_time(x, &batch, LENGTHS_N, &t, e));
    *start_s = t.median_s;
    for (int k = 0; k < LENGTHS_N; k++) {
        batch = apart_batch(x, 0, k);
        TRY(sliding_time(x, &batch, batch.rows, &t, e));
        apart_s[k] = t.median_s / batch.rows;
    }
    return 0;
}

int bench_sliding(json_t *out, struct bench_steps *b, const struct bench_case *c,
                  const struct bench_options *o, struct err *e)
{
    struct sliding x = {.steps = b,
                        .batch_tokens = bench_length(SHAPE_SCORE_TOKENS, o),
                        .timed_n = o->tiny ? BENCH_TINY_STEPS : BENCH_STEPS,
                        .source_own = calloc((size_t)b->tokens, sizeof *x.source_own),
                        .target_own = calloc((size_t)b->tokens, sizeof *x.target_own)};
    double apart_s[LENGTHS_N], all_apart_s = 0.0, start_s = 0.0;
    int rc = 0, differ_n = 0;
    json_t *rows = json_array();

    json_object_set_new(out, "lengths", rows);
    if (!x.source_own || !x.target_own) {
        rc = ERR(e, ERR_NOMEM, "no memory for a batch");
        goto out;
    }
    for (int k = 0; k < LENGTHS_N; k++) x.length[k] = bench_length(paper_lengths[k], o);
    TRY_OUT(rc, count_differing(&x, &differ_n, e));
    TRY_OUT(rc, time_all(&x, &start_s, apart_s, e));
    for (int k = 0; k < LENGTHS_N; k++) {
        all_apart_s += models_that_read[k] * apart_s[k];
        json_array_append_new(
            rows, json_pack("{s:i, s:f}", "L", (int)x.length[k], "target_s", apart_s[k]));
    }
    double longest_s = apart_s[LENGTHS_N - 1];
    json_object_update_new(out,
                           json_pack("{s:s, s:f, s:f, s:f, s:f, s:i, s:i}", "position",
                                     spec_position_name(c->position), "longest_target_s", longest_s,
                                     "shared_start_s", start_s, "tables_apart_s", all_apart_s,
                                     "tables_together_s", (models_n - 1) * start_s + longest_s,
                                     "cells", STARTS_N * LENGTHS_N, "differ", differ_n));
out:
    free(x.source_own);
    free(x.target_own);
    return rc;
}
