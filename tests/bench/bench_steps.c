/* bench_steps.c - tokens, steps, timing, and the file of initial weights for another program. */
#include "bench/bench_steps.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/philox.h"
#include "group/group.h"
#include "interchange/safetensors.h"
#include "shape/shape.h"

enum { FIRST_WORD = 4 }; /* lower ids are special symbols */

/* The word of an element of stream 1 (source) or 2 (target). Rank r of Zipf's law has a probability
 * of about 1/r: r = V^u for a uniform u. */
static int32_t bench_word(uint64_t stream, uint64_t element, int32_t vocab, bool zipf)
{
    int32_t words_n = vocab - FIRST_WORD;
    uint32_t word = philox_word(stream, element, 0, 0);
    if (!zipf) return FIRST_WORD + (int32_t)(word % (uint32_t)words_n);
    int32_t rank = (int32_t)pow((double)words_n, (double)philox_uniform(word));
    return FIRST_WORD + (rank < words_n ? rank : words_n - 1);
}

void bench_steps_draw(struct bench_steps *b, int64_t number, bool zipf)
{
    int32_t vocab = b->spec.data.vocab;
    for (int64_t i = 0; i < b->tokens; i++) {
        uint64_t element = (uint64_t)(number * b->tokens + i);
        b->source[i] = bench_word(1, element, vocab, zipf);
        b->target[i] = bench_word(2, element, vocab, zipf);
    }
}

static int bench_fill(struct bench_steps *b, bool zipf, struct err *e)
{
    int64_t shard_n = b->tokens / b->shards;
    b->source = calloc((size_t)b->tokens, sizeof *b->source);
    b->target = calloc((size_t)b->tokens, sizeof *b->target);
    b->position = calloc((size_t)shard_n, sizeof *b->position);
    b->logp = calloc((size_t)shard_n, sizeof *b->logp);
    if (!b->source || !b->target || !b->position || !b->logp)
        return ERR(e, ERR_NOMEM, "bench: no memory for %" PRId64 " tokens", b->tokens);
    bench_steps_draw(b, 0, zipf);
    for (int64_t i = 0; i < shard_n; i++) b->position[i] = (int32_t)i;
    return 0;
}

int bench_steps_open(struct bench_steps *b, const struct spec *s, const char *device,
                     int32_t threads, bool zipf, struct err *e)
{
    b->spec = *s;
    b->rows = shape_shard_rows(&s->train);
    b->length = s->train.L;
    b->shards = s->bench_mode == 0 ? s->train.shards : 1;
    int64_t shard_n = (int64_t)b->rows * b->length;
    b->tokens = b->shards * shard_n;
    TRY(bench_fill(b, zipf, e));
    TRY(backend_open(&b->backend, device, threads,
                     s->train.precision == SPEC_BF16 ? DTYPE_BF16 : DTYPE_F32, e));
    if (b->group) TRY(b->backend->ops->group_join(b->backend, b->group, e));
    bool both = s->kind != SPEC_BENCH, train = s->bench_mode == 0;
    const struct shape_capacity o = {.train = both || train,
                                     .rows_max = b->rows,
                                     .length_max = b->length,
                                     .ranks_n = group_ranks_n(b->group),
                                     .scored_max = both || !train ? shard_n : 0};
    TRY(model_open(&b->model, b->backend, s, &o, e));
    return model_init(b->model, (uint64_t)s->train.seed, e);
}

int bench_steps_stream(struct bench_steps *b, const struct spec *s, int32_t rows, int32_t threads,
                       model_source_fn *source, void *context, struct err *e)
{
    struct shape_capacity o;
    b->spec = *s;
    b->rows = rows;
    b->length = s->eval.L;
    b->shards = 1;
    b->tokens = (int64_t)rows * b->length;
    TRY(bench_fill(b, false, e));
    TRY(backend_open(&b->backend, "cpu", threads, DTYPE_F32, e));
    shape_capacity(&o, s);
    o.rows_max = rows;
    o.scored_max = b->tokens;
    TRY(model_open(&b->model, b->backend, s, &o, e));
    return model_stream(b->model, source, context, e);
}

void bench_steps_close(struct bench_steps *b)
{
    model_close(b->model);
    backend_close(b->backend);
    free(b->source);
    free(b->target);
    free(b->position);
    free(b->logp);
}

static struct model_batch bench_batch(const struct bench_steps *b, int32_t shard)
{
    int64_t first = (int64_t)shard * b->rows;
    return (struct model_batch){.source = b->source + first * b->length,
                                .target = b->target + first * b->length,
                                .rows = b->rows,
                                .length = b->length,
                                .first_row = first};
}

/* As in the worker, the host waits once, for the gradient norm. */
int bench_train_step(struct bench_steps *b, uint32_t update, double *loss, double *norm,
                     struct err *e)
{
    int64_t before = clock_monotonic_us();
    const struct model_update u = {.update = update,
                                   .lr = b->lr,
                                   .lr_previous = b->lr,
                                   .targets_n = b->tokens,
                                   .shards_n = b->shards};
    int32_t first, end;
    model_shards(b->model, &first, &end);
    for (int32_t shard = first; shard < end; shard++) {
        const struct model_batch batch = bench_batch(b, shard);
        TRY(model_train_batch(b->model, &batch, update, shard, NULL, e));
        if (shard == first) b->queue_us = clock_monotonic_us() - before;
    }
    TRY(model_apply(b->model, &u, norm, e));
    *loss = model_loss(b->model);
    return b->backend->ops->sync(b->backend, e);
}

int bench_eval_step(struct bench_steps *b, uint32_t update, double *loss, double *norm,
                    struct err *e)
{
    int64_t n = b->tokens / b->shards;
    (void)update;
    *loss = *norm = 0.0;
    for (int32_t shard = 0; shard < b->shards; shard++) {
        const struct model_batch batch = bench_batch(b, shard);
        TRY(model_score(b->model, &batch, b->position, n, b->logp, e));
        TRY(b->backend->ops->sync(b->backend, e));
        for (int64_t i = 0; i < n; i++) *loss -= (double)b->logp[i];
    }
    return 0;
}

int bench_steps_write(struct bench_steps *b, const char *path, struct err *e)
{
    const struct shape_params *p = model_params(b->model);
    int32_t n = p->tensors_n + 2;
    int64_t most = p->elements_n;
    struct safetensors_entry *entry = calloc((size_t)n, sizeof *entry);
    float *values = malloc((size_t)(most > b->tokens ? most : b->tokens) * sizeof *values);
    int rc = ERR_NOMEM;

    if (!entry || !values) {
        ERR(e, rc, "%s: no memory for a copy of the weights", path);
        goto out;
    }
    for (int32_t i = 0; i < p->tensors_n; i++) {
        const struct shape_tensor *t = &p->tensor[i];
        entry[i] = (struct safetensors_entry){.name = t->name,
                                              .dims = {t->dims == 1 ? t->cols : t->rows, t->cols},
                                              .dims_n = t->dims,
                                              .elements_n = (int64_t)t->rows * t->cols};
    }
    for (int side = 0; side < 2; side++)
        entry[n - 2 + side] = (struct safetensors_entry){.name = side ? "target" : "source",
                                                         .dims = {b->tokens},
                                                         .dims_n = 1,
                                                         .elements_n = b->tokens};
    const struct safetensors_content content = {.entry = entry, .entries_n = n};
    struct safetensors_writer w;
    rc = safetensors_writer_open(&w, path, &content, e);
    for (int32_t i = 0; rc == 0 && i < n; i++) {
        /* ids are below 2^24, so a float represents each exactly */
        const int32_t *ids = i == n - 2 ? b->source : b->target;
        if (i < p->tensors_n) rc = model_read(b->model, MODEL_VALUES, i, values, e);
        for (int64_t k = 0; i >= p->tensors_n && k < b->tokens; k++) values[k] = (float)ids[k];
        if (rc == 0) rc = safetensors_writer_add(&w, values, entry[i].elements_n, e);
    }
    rc = safetensors_writer_close(&w, rc, NULL, NULL, e);
out:
    free(values);
    free(entry);
    return rc;
}

char *bench_choices(struct backend *b)
{
    if (!b->ops->choices) return NULL;
    size_t bytes = b->ops->choices(b, NULL, 0) + 1;
    char *text = malloc(bytes);
    if (text) (void)b->ops->choices(b, text, bytes);
    return text;
}

static int compare_seconds(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void bench_quartiles(double *seconds, int32_t n, struct bench_timing *out)
{
    qsort(seconds, (size_t)n, sizeof *seconds, compare_seconds);
    out->median_s = seconds[n / 2];
    out->low_s = seconds[n / 4];
    out->high_s = seconds[3 * n / 4];
    out->best_s = seconds[0];
}

int bench_time(struct bench_steps *b, bench_step step, int32_t warmup, int32_t least_n,
               double seconds, struct bench_timing *out, struct err *e)
{
    double took[BENCH_STEPS_MAX], queued[BENCH_STEPS_MAX], loss, norm;
    int64_t start = 0;
    clock_t cpu_start = 0; /* CPU time of all threads */
    int32_t n = 0;

    for (int32_t update = 0; n < BENCH_STEPS_MAX; update++) {
        if (update == warmup) {
            start = clock_monotonic_us();
            cpu_start = clock();
        }
        int64_t before = clock_monotonic_us();
        TRY(step(b, (uint32_t)update, &loss, &norm, e));
        int64_t now = clock_monotonic_us();
        if (update == 0) {
            out->first_loss = loss / (double)b->tokens;
            out->first_norm = norm;
        }
        if (update >= warmup) {
            queued[n] = 1e-6 * (double)b->queue_us;
            took[n++] = 1e-6 * (double)(now - before);
        }
        if (n >= least_n && 1e-6 * (double)(now - start) > seconds) break;
    }
    out->steps_n = n;
    out->cpu_s = (double)(clock() - cpu_start) / CLOCKS_PER_SEC / n;
    bench_quartiles(queued, n, out);
    out->queue_s = out->median_s;
    bench_quartiles(took, n, out);
    return 0;
}
