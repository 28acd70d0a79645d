/* bench_gpu_op.c - memory of random numbers, and the time of one op.
 *
 * 1. An op is queued several times and waited for once, so that launching is not what is timed.
 * 2. Operands are random numbers: a product of zeros draws less power and runs faster. */
#include "bench/bench_gpu_op.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/philox.h"

enum { ROUNDS = 20, BURST_MAX = 64, BLOCK_ELEMENTS = 1 << 20, WARMUP_CALLS = 3 };
static const double burst_s = 4e-3;

int op_memory(struct ops *o, void **out, size_t bytes, struct err *e)
{
    *out = NULL;
    if (o->held_n == OPS_HELD_MAX)
        return ERR(e, ERR_INTERNAL, "more than %d buffers", OPS_HELD_MAX);
    TRY(o->b->ops->alloc(o->b, out, bytes, e));
    o->held_own[o->held_n++] = *out;
    return 0;
}

void op_release(struct ops *o)
{
    while (o->held_n > 0) o->b->ops->release(o->b, o->held_own[--o->held_n]);
}

int op_random(struct ops *o, void *dev, int64_t n, enum dtype dtype, struct err *e)
{
    const void *from = dtype == DTYPE_BF16 ? (const void *)o->half_own : o->random_own;
    size_t size = dtype_bytes(dtype);
    for (int64_t at = 0; at < n; at += BLOCK_ELEMENTS) {
        int64_t part = n - at < BLOCK_ELEMENTS ? n - at : BLOCK_ELEMENTS;
        TRY(o->b->ops->upload(o->b, (char *)dev + (size_t)at * size, from, (size_t)part * size, e));
    }
    return 0;
}

int op_tensor(struct ops *o, struct tensor *out, int64_t rows, int64_t cols, enum dtype dtype,
              struct err *e)
{
    void *data = NULL;
    TRY(op_memory(o, &data, (size_t)(rows * cols) * dtype_bytes(dtype), e));
    *out = tensor_make(data, rows, cols, dtype);
    return op_random(o, data, rows * cols, dtype, e);
}

int op_activation(struct ops *o, struct tensor *out, int64_t rows, int64_t cols, struct err *e)
{
    return op_tensor(o, out, rows, cols, o->b->precision, e);
}

/* Seconds of `calls` calls, waited for once. */
static int op_burst(struct ops *o, op_call call, int32_t calls, double *seconds, struct err *e)
{
    int64_t before = clock_monotonic_us();
    for (int32_t i = 0; i < calls; i++) TRY(call(o, e));
    TRY(o->b->ops->sync(o->b, e));
    *seconds = 1e-6 * (double)(clock_monotonic_us() - before) / calls;
    return 0;
}

static int op_time(struct ops *o, op_call call, struct bench_timing *out, struct err *e)
{
    double seconds[ROUNDS], one = 0.0;
    TRY(op_burst(o, call, o->tiny ? 1 : WARMUP_CALLS, &one, e));
    TRY(op_burst(o, call, 1, &one, e));
    int32_t calls = one > 0.0 ? (int32_t)(burst_s / one) : BURST_MAX;
    calls = calls < 1 || o->tiny ? 1 : calls > BURST_MAX ? BURST_MAX : calls;
    int32_t rounds = o->tiny ? 2 : ROUNDS;
    for (int32_t i = 0; i < rounds; i++) TRY(op_burst(o, call, calls, &seconds[i], e));
    bench_quartiles(seconds, rounds, out);
    return 0;
}

json_t *bench_row(const char *name, const struct bench_timing *t, double bytes, double flops)
{
    return json_pack("{s:s, s:f, s:f, s:f, s:f, s:f}", "op", name, "median_s", t->median_s, "low_s",
                     t->low_s, "high_s", t->high_s, "bytes", bytes, "flops", flops);
}

int op_row(struct ops *o, const char *name, op_call call, double bytes, double flops, struct err *e)
{
    struct bench_timing t = {0};
    int rc = op_time(o, call, &t, e);
    if (rc == ERR_UNAVAILABLE || rc == ERR_NOMEM) return rc;
    json_t *row = rc == 0 ? bench_row(name, &t, bytes, flops)
                          : json_pack("{s:s, s:s}", "op", name, "refused", e->text);
    json_array_append_new(o->rows, row);
    return 0;
}

static int op_blocks(struct ops *o, struct err *e)
{
    o->random_own = malloc(BLOCK_ELEMENTS * sizeof *o->random_own);
    o->half_own = malloc(BLOCK_ELEMENTS * sizeof *o->half_own);
    if (!o->random_own || !o->half_own) return ERR(e, ERR_NOMEM, "no memory for random numbers");
    for (int64_t i = 0; i < BLOCK_ELEMENTS; i++) {
        uint32_t bits;
        o->random_own[i] = 2.0f * philox_uniform(philox_word(4, (uint64_t)i, 0, 0)) - 1.0f;
        memcpy(&bits, &o->random_own[i], sizeof bits);
        o->half_own[i] = (uint16_t)(bits >> 16); /* cut off: any bf16 will do */
    }
    return 0;
}

int op_open(struct ops *o, json_t *rows, const struct bench_case *c, const struct bench_options *p,
            struct err *e)
{
    const struct step_state step = {.gradient_scale = 1.0f, .clip = 0.1f, .adam_step = 1};
    *o = (struct ops){.rows = rows, .tiny = p->tiny};
    bench_spec(&o->spec, c, p);
    o->N = o->spec.train.shard_tokens;
    o->C = o->spec.model.dim;
    o->F = o->spec.model.ffn;
    TRY(op_blocks(o, e));
    TRY(backend_open(&o->b, p->device, 1, c->precision == SPEC_BF16 ? DTYPE_BF16 : DTYPE_F32, e));
    o->elements = (double)dtype_bytes(o->b->precision);
    TRY(o->b->ops->alloc(o->b, &o->step_own, sizeof step, e));
    TRY(o->b->ops->upload(o->b, o->step_own, &step, sizeof step, e));
    o->dropout = (struct dropout){.p = 0.1f, .key = 1, .step_dev = o->step_own};
    return 0;
}

void op_close(struct ops *o)
{
    if (o->b) {
        op_release(o);
        o->b->ops->release(o->b, o->step_own);
    }
    backend_close(o->b);
    free(o->random_own);
    free(o->half_own);
}
