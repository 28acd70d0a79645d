/* bench_gpu_ops.c - measures each op at the shapes of the 247M model, and the device's ceilings:
 * copy bandwidth, and matrix products by cuda/gemm.h.
 *
 * 1. A row is an op with the sizes of its axes. The table of ops gives its arguments and the bytes
 *    that it must read and write once. A multiply-add is two flops; the backward pass of attention
 *    counts five products.
 * 2. An op is queued several times and waited for once, so that the launch is not timed.
 * 3. Operands are random numbers: a product of zeros draws less power and runs faster. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/ops_table.h"
#include "base/clock.h"
#include "base/philox.h"
#include "bench/bench_gpu.h"
#include "ops/op_case.h"
#include "shape/shape.h"

enum { ROUNDS = 20, BURST_MAX = 64, BLOCK_ELEMENTS = 1 << 20, WARMUP_CALLS = 3 };
static const double burst_s = 4e-3;

struct ops {
    struct backend *b;
    bool tiny;
    int64_t N, C, F; /* tokens, model width, feed-forward width */
    struct spec spec;
    float *random_own;  /* a block of numbers in [-1, 1) */
    uint16_t *bf16_own; /* the same in bf16 */
    int32_t *index_own; /* (N) */
    void *step_own;     /* on the device */
    void *held_own[OP_ARGUMENTS_MAX];
    int32_t held_n;
    json_t *rows; /* borrowed */
};

/* One row; `with` names the optional arguments that are present. */
struct row {
    enum op op;
    const char *with;
    int64_t size[OP_LETTERS_N];
    float dropout;
};
#define SIZE(letter) size[letter - 'A']

/* A call to be timed. */
struct call {
    int (*run)(struct ops *o, const struct call *call, struct err *e);
    enum op op;
    const void *args;
};

/* ---- memory ---- */

static int hold(struct ops *o, void **out, size_t bytes, struct err *e)
{
    TRY(o->b->ops->alloc(o->b, out, bytes, e));
    o->held_own[o->held_n++] = *out;
    return 0;
}

static void release(struct ops *o)
{
    while (o->held_n > 0) o->b->ops->release(o->b, o->held_own[--o->held_n]);
}

/* n random numbers: one block, repeated. */
static int random_memory(struct ops *o, void **out, int64_t n, enum dtype dtype, struct err *e)
{
    const void *from = dtype == DTYPE_BF16 ? (const void *)o->bf16_own : o->random_own;
    size_t size = dtype_bytes(dtype);
    TRY(hold(o, out, (size_t)n * size, e));
    for (int64_t at = 0; at < n; at += BLOCK_ELEMENTS) {
        int64_t part = n - at < BLOCK_ELEMENTS ? n - at : BLOCK_ELEMENTS;
        TRY(o->b->ops->upload(o->b, (char *)*out + (size_t)at * size, from, (size_t)part * size,
                              e));
    }
    return 0;
}

static int make_index(struct ops *o, void **out, int64_t n, int64_t below, struct err *e)
{
    for (int64_t i = 0; i < n; i++)
        o->index_own[i] = (int32_t)(philox_word(3, (uint64_t)i, 0, 0) % (uint32_t)below);
    TRY(hold(o, out, (size_t)n * sizeof *o->index_own, e));
    return o->b->ops->upload(o->b, *out, o->index_own, (size_t)n * sizeof *o->index_own, e);
}

/* ---- arguments ---- */

static int set_pointer(struct ops *o, const struct row *r, const struct op_argument *a, char *args,
                       int64_t n, struct err *e)
{
    void *p = NULL;
    int64_t below = strcmp(a->name, "target") == 0 ? r->SIZE('V') : r->SIZE('M');
    switch (a->type) {
    case ARG_I32:
        TRY(make_index(o, &p, n, below, e));
        break;
    case ARG_STEP:
        p = o->step_own;
        break;
    case ARG_BF16:
        TRY(random_memory(o, &p, n, DTYPE_BF16, e));
        break;
    default:
        TRY(random_memory(o, &p, a->type == ARG_F64 ? 2 * n : n, DTYPE_F32, e));
    }
    memcpy(args + a->offset, &p, sizeof p);
    return 0;
}

static int set_tensor(struct ops *o, const struct op_argument *a, char *args, const int64_t n[2],
                      enum dtype dtype, struct err *e)
{
    void *p = NULL;
    TRY(random_memory(o, &p, n[0] * n[1], dtype, e));
    struct tensor t = tensor_make(p, n[0], n[1], dtype);
    memcpy(args + a->offset, &t, sizeof t);
    return 0;
}

static int set_argument(struct ops *o, const struct row *r, const struct op_argument *a, char *args,
                        struct err *e)
{
    const char *shape = a->shape;
    int64_t n[2] = {op_dimension(&shape, r->size), 0};
    n[1] = op_dimension(&shape, r->size);
    if (a->type == ARG_MASK) n[1] = relu_mask_words(n[1]);
    int32_t size_32 = (int32_t)n[0];
    float positive = 1e-5f; /* the epsilon of norms */
    struct dropout d = {.p = r->dropout, .key = 1, .step_dev = o->step_own};
    /* Accumulated gradients of rows are fp32, as is everything but activations. */
    bool sums = r->op == OP_SCATTER_ROWS && a->role == ARG_UPDATE;
    if (a->type == ARG_SIZE_32)
        memcpy(args + a->offset, &size_32, sizeof size_32);
    else if (a->type == ARG_SIZE_64)
        memcpy(args + a->offset, &n[0], sizeof n[0]);
    else if (a->type == ARG_POSITIVE)
        memcpy(args + a->offset, &positive, sizeof positive);
    else if (a->type == ARG_DROPOUT)
        memcpy(args + a->offset, &d, sizeof d);
    else if ((a->optional && !op_is_listed(r->with, a->name)) || n[0] * n[1] == 0)
        return 0;
    else if (a->type == ARG_MASK)
        return set_tensor(o, a, args, n, DTYPE_I32, e);
    else if (a->type < ARG_MASK)
        return set_tensor(o, a, args, n,
                          sums || a->type == ARG_TENSOR_F32 ? DTYPE_F32 : o->b->precision, e);
    else
        return set_pointer(o, r, a, args, n[0] * n[1], e);
    return 0;
}

/* Arguments that the table does not describe: the scale, and ALiBi's slopes. */
static int set_rest(struct ops *o, const struct row *r, char *args, struct err *e)
{
    struct attention *a = (struct attention *)(void *)args;
    float slope[64];
    if (r->op != OP_ATTENTION && r->op != OP_ATTENTION_BWD) return 0;
    a->scale = 1.0f / sqrtf((float)a->D);
    for (int32_t h = 0; h < a->H; h++) slope[h] = -ldexpf(1.0f, -(h + 1)); /* of 8 heads */
    if (!a->bias.tail_slope_dev) return 0;
    return o->b->ops->upload(o->b, (void *)(uintptr_t)a->bias.tail_slope_dev, slope,
                             (size_t)a->H * sizeof *slope, e);
}

/* Counts every argument once, and only the rows of a table that are used. */
static double bytes_of(const struct row *r, const struct op_memory *memory, int32_t n)
{
    double sum = 0.0;
    for (int32_t i = 0; i < n; i++) {
        bool is_table = memory[i].argument->shape[0] == 'M';
        double rows = (double)(is_table ? r->SIZE('N') : memory[i].rows);
        sum += (memory[i].role == ARG_UPDATE ? 2.0 : 1.0) * rows * (double)memory[i].row_bytes;
    }
    return sum;
}

static double flops_of(const struct row *r)
{
    double pairs = (double)(r->SIZE('B') * r->SIZE('T')) * ((double)r->SIZE('T') + 1.0);
    double width = (double)(r->SIZE('H') * r->SIZE('D'));
    if (r->op == OP_ATTENTION) return 2.0 * pairs * width; /* 2 flops a pair, half of them */
    if (r->op == OP_ATTENTION_BWD) return 5.0 * pairs * width;
    return 2.0 * (double)r->SIZE('N') * (double)r->SIZE('I') * (double)r->SIZE('O');
}

/* ---- time ---- */

static int run_op(struct ops *o, const struct call *call, struct err *e)
{
    return op_run(o->b, call->op, call->args, e);
}

/* Seconds of `n` calls, waited for once. */
static int burst(struct ops *o, const struct call *call, int32_t n, double *seconds, struct err *e)
{
    int64_t before = clock_monotonic_us();
    for (int32_t i = 0; i < n; i++) TRY(call->run(o, call, e));
    TRY(o->b->ops->sync(o->b, e));
    *seconds = 1e-6 * (double)(clock_monotonic_us() - before) / n;
    return 0;
}

static int time_call(struct ops *o, const struct call *call, struct bench_timing *out,
                     struct err *e)
{
    double seconds[ROUNDS], one = 0.0;
    TRY(burst(o, call, o->tiny ? 1 : WARMUP_CALLS, &one, e));
    TRY(burst(o, call, 1, &one, e));
    int32_t calls = one > 0.0 ? (int32_t)(burst_s / one) : BURST_MAX;
    calls = calls < 1 || o->tiny ? 1 : calls > BURST_MAX ? BURST_MAX : calls;
    int32_t rounds = o->tiny ? 2 : ROUNDS;
    for (int32_t i = 0; i < rounds; i++) TRY(burst(o, call, calls, &seconds[i], e));
    bench_quartiles(seconds, rounds, out);
    return 0;
}

static void add_row(struct ops *o, const char *name, const struct bench_timing *t, double bytes,
                    double flops)
{
    json_array_append_new(o->rows, json_pack("{s:s, s:f, s:f, s:f, s:f, s:f}", "op", name,
                                             "median_s", t->median_s, "low_s", t->low_s, "high_s",
                                             t->high_s, "bytes", bytes, "flops", flops));
}

/* A refused op ends only its row; a device that is lost or out of memory ends the case. */
static int time_row(struct ops *o, const char *name, const struct row *r, struct err *e)
{
    struct bench_timing t = {0};
    struct op_memory memory[OP_ARGUMENTS_MAX];
    _Alignas(16) char args[OP_CASE_ARGS_BYTES] = {0};
    const struct op_descriptor *d = &op_table[r->op];
    const struct call call = {run_op, r->op, args};
    /* Computes gradients and adds them to those of earlier shards. */
    const bool flag =
        r->op == OP_LINEAR_BWD_WEIGHT || r->op == OP_LAYERNORM_BWD || r->op == OP_SOFTMAX_LOSS;
    int32_t n = 0;
    int rc = op_exists(o->b, r->op)
                 ? 0
                 : ERR(e, ERR_INTERNAL, "%s has no op %s", o->b->name, op_name(r->op));
    for (const struct op_argument *a = d->argument; rc == 0 && a->name; a++)
        rc = set_argument(o, r, a, args, e);
    if (d->flag) memcpy(args + d->flag, &flag, sizeof flag);
    if (rc == 0) rc = set_rest(o, r, args, e);
    if (rc == 0) rc = op_arguments(o->b, r->op, args, memory, &n, e);
    if (rc == 0) rc = time_call(o, &call, &t, e);
    release(o);
    if (rc == ERR_UNAVAILABLE || rc == ERR_NOMEM) return rc;
    if (rc == 0)
        add_row(o, name, &t, bytes_of(r, memory, n), flops_of(r));
    else
        json_array_append_new(o->rows, json_pack("{s:s, s:s}", "op", name, "refused", e->text));
    return 0;
}

/* ---- the rows ---- */

/* The products of the layers, of the head, and of each tail, with the share of rows that
 * WikiText-103 has there (4.0 and 2.3 % of the targets). */
static int time_products(struct ops *o, struct err *e)
{
    static const enum op ops[] = {OP_LINEAR, OP_LINEAR_ROWS, OP_LINEAR_BWD_INPUT,
                                  OP_LINEAR_BWD_WEIGHT};
    int64_t N = o->N, C = o->C, F = o->F, c1 = o->spec.model.cutoffs[0];
    int64_t c2 = o->spec.model.cutoffs[1], V = o->spec.data.vocab;
    int64_t factor = o->spec.model.adaptive_factor;
    const struct {
        const char *name;
        int64_t n, in, out;
    } products[] = {{"q, k, v", N, C, 3 * C},
                    {"attention out", N, C, C},
                    {"feed-forward in", N, C, F},
                    {"feed-forward out", N, F, C},
                    {"head", N, C, c1 + 2},
                    {"tail 1", N / 25, C / factor, c2 - c1},
                    {"tail 2", N / 43, C / factor / factor, V - c2}};
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {
            char name[BENCH_NAME_BYTES];
            struct row r = {.op = ops[k]};
            r.SIZE('N') = products[i].n;
            r.SIZE('I') = products[i].in;
            r.SIZE('O') = products[i].out;
            snprintf(name, sizeof name, "%s %s", op_name(r.op), products[i].name);
            TRY(time_row(o, name, &r, e));
        }
    return 0;
}

/* Products of the feed-forward layers with the epilogues of training, which the same products alone
 * (time_products) show the price of. */
static int time_epilogues(struct ops *o, struct err *e)
{
    static const struct {
        enum op op;
        const char *with;
        bool narrows; /* from F to C columns */
    } ops[] = {{OP_LINEAR_RELU, "bias", false},
               {OP_LINEAR_RELU, "bias mask", false},
               {OP_LINEAR_BWD_RELU, "mask", true},
               {OP_LINEAR_BWD_WEIGHT, "dbias", false},
               {OP_LINEAR_BWD_WEIGHT, "dbias", true}};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        char name[BENCH_NAME_BYTES];
        struct row r = {.op = ops[i].op, .with = ops[i].with};
        r.SIZE('N') = o->N;
        r.SIZE('I') = ops[i].narrows ? o->F : o->C;
        r.SIZE('O') = ops[i].narrows ? o->C : o->F;
        snprintf(name, sizeof name, "%s feed-forward %s, with %s", op_name(r.op),
                 ops[i].narrows ? "out" : "in", r.with);
        TRY(time_row(o, name, &r, e));
    }
    return 0;
}

static int time_others(struct ops *o, struct err *e)
{
    static const struct {
        enum op op;
        bool wide; /* columns of the feed-forward layer */
    } ops[] = {{OP_GATHER_ROWS, false},
               {OP_SCATTER_ROWS, false},
               {OP_ADD_ROWS, false},
               {OP_DROPOUT, false},
               {OP_LAYERNORM, false},
               {OP_LAYERNORM_BWD, false},
               {OP_RESIDUAL_LAYERNORM, false},
               {OP_RESIDUAL_LAYERNORM_BWD, false},
               {OP_RELU, true},
               {OP_RELU_BWD, true},
               {OP_SOFTMAX_LOGP, false},
               {OP_SOFTMAX_LOSS, false}};
    struct shape_params p;
    struct arena arena;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        struct row r = {.op = ops[i].op, .with = "dr bias", .dropout = 0.1f};
        r.SIZE('N') = o->N;
        r.SIZE('C') = ops[i].wide ? o->F : o->C;
        r.SIZE('M') = o->spec.model.cutoffs[0];
        r.SIZE('V') = o->spec.model.cutoffs[0] + 2; /* the head's */
        TRY(time_row(o, op_name(r.op), &r, e));
    }

    arena_init(&arena);
    shape_params(&p, &arena, &o->spec);
    struct row r = {.with = o->b->precision == DTYPE_BF16 ? "bf16" : ""};
    r.SIZE('N') = p.elements_n;
    arena_fini(&arena);
    for (r.op = OP_SUM_SQUARES; r.op <= OP_NAG; r.op++) TRY(time_row(o, op_name(r.op), &r, e));
    return 0;
}

/* Attention of every position method at every length; dropout at the middle one. */
static int time_attention(struct ops *o, struct err *e)
{
    static const struct {
        enum spec_position position;
        const char *with;
    } methods[] = {{SPEC_SINUSOIDAL, ""},
                   {SPEC_ROTARY, "rotary.cosine rotary.sine"},
                   {SPEC_T5, "bias.tail_offset bias.bias_table_grad bias.tail_offset_grad"},
                   {SPEC_ALIBI, "bias.tail_slope"}};
    static const int32_t lengths[] = {512, 1024, 3072};
    int32_t divisor = 9216 / o->spec.train.shard_tokens;
    for (int i = 0; i < 3 * 4 * 2 * 2; i++) { /* length, method, dropout, pass */
        int32_t T = lengths[i / 16] / divisor, H = o->spec.model.heads, m = i / 4 % 4;
        char name[BENCH_NAME_BYTES];
        struct row r = {.op = i % 2 ? OP_ATTENTION_BWD : OP_ATTENTION,
                        .with = methods[m].with,
                        .dropout = i / 2 % 2 ? 0.1f : 0.0f};
        const struct position_shape shape = spec_position_shape(&o->spec);
        if (r.dropout > 0.0f && i / 16 != 1) continue;
        r.SIZE('B') = o->N / T;
        r.SIZE('T') = r.SIZE('R') = T;
        r.SIZE('H') = r.SIZE('K') = H;
        r.SIZE('D') = o->C / H;
        r.SIZE('P') = o->C / H / 2;
        r.SIZE('L') = methods[m].position == SPEC_T5
                          ? position_table_length(position_methods[SPEC_T5].functions, &shape, T)
                          : 0;
        snprintf(name, sizeof name, "%s %s %d%s", op_name(r.op),
                 spec_position_name(methods[m].position), T, r.dropout > 0.0f ? " drop" : "");
        TRY(time_row(o, name, &r, e));
    }
    return 0;
}

static int ops_open(struct ops *o, json_t *rows, const struct bench_case *c,
                    const struct bench_options *p, struct err *e)
{
    const struct step_state step = {.gradient_scale = 1.0f, .clip = 0.1f, .adam_step = 1};
    *o = (struct ops){.rows = rows, .tiny = p->tiny};
    bench_spec(&o->spec, c, p);
    o->N = o->spec.train.shard_tokens;
    o->C = o->spec.model.dim;
    o->F = o->spec.model.ffn;
    o->random_own = malloc(BLOCK_ELEMENTS * sizeof *o->random_own);
    o->bf16_own = malloc(BLOCK_ELEMENTS * sizeof *o->bf16_own);
    o->index_own = malloc((size_t)o->N * sizeof *o->index_own);
    if (!o->random_own || !o->bf16_own || !o->index_own)
        return ERR(e, ERR_NOMEM, "no memory for random numbers");
    for (int64_t i = 0; i < BLOCK_ELEMENTS; i++) {
        uint32_t bits;
        o->random_own[i] = 2.0f * philox_uniform(philox_word(4, (uint64_t)i, 0, 0)) - 1.0f;
        memcpy(&bits, &o->random_own[i], sizeof bits);
        o->bf16_own[i] = (uint16_t)(bits >> 16); /* truncated: any value will do */
    }
    TRY(backend_open(&o->b, p->device, 1, c->precision == SPEC_BF16 ? DTYPE_BF16 : DTYPE_F32, e));
    TRY(o->b->ops->alloc(o->b, &o->step_own, sizeof step, e));
    return o->b->ops->upload(o->b, o->step_own, &step, sizeof step, e);
}

static void ops_close(struct ops *o)
{
    if (o->b) {
        release(o);
        o->b->ops->release(o->b, o->step_own);
    }
    backend_close(o->b);
    free(o->random_own);
    free(o->bf16_own);
    free(o->index_own);
}

int bench_ops(json_t *out, const struct bench_case *c, const struct bench_options *p, struct err *e)
{
    struct ops o;
    int rc = 0;
    json_t *rows = json_array();

    json_object_set_new(out, "ops", rows);
    TRY_OUT(rc, ops_open(&o, rows, c, p, e));
    TRY_OUT(rc, time_products(&o, e));
    TRY_OUT(rc, time_epilogues(&o, e));
    TRY_OUT(rc, time_others(&o, e));
    TRY_OUT(rc, time_attention(&o, e));
    char *choices = bench_choices(o.b);
    if (choices) json_object_set_new(out, "choices", json_string(choices));
    free(choices);
out:
    ops_close(&o);
    return rc;
}

/* ---- ceilings ---- */

struct copy {
    void *to, *from;
    size_t bytes;
};

static int run_copy(struct ops *o, const struct call *call, struct err *e)
{
    const struct copy *c = call->args;
    return o->b->ops->copy(o->b, c->to, c->from, c->bytes, e);
}

static int time_copy(struct ops *o, int64_t bytes, struct err *e)
{
    struct bench_timing t = {0};
    struct copy copy = {.bytes = (size_t)bytes};
    const struct call call = {run_copy, OPS_N, &copy};
    TRY(random_memory(o, &copy.to, bytes / 4, DTYPE_F32, e));
    TRY(random_memory(o, &copy.from, bytes / 4, DTYPE_F32, e));
    TRY(time_call(o, &call, &t, e));
    add_row(o, "copy", &t, 2.0 * (double)bytes, 0);
    release(o);
    return 0;
}

/* A copy of 4 GiB and a bf16 product of 8192^3; in fp32 too. */
int bench_ceilings(json_t *out, const struct bench_case *c, const struct bench_options *p,
                   struct err *e)
{
    struct ops o = {0};
    int rc = 0;
    struct bench_case other = *c;
    struct row product = {.op = OP_LINEAR};
    json_t *rows = json_array();

    product.SIZE('N') = product.SIZE('I') = product.SIZE('O') = p->tiny ? 64 : 8192;
    json_object_set_new(out, "ops", rows);
    for (int fp32 = p->tiny; fp32 < 2; fp32++) {
        other.precision = fp32 ? SPEC_FP32 : SPEC_BF16;
        TRY_OUT(rc, ops_open(&o, rows, &other, p, e));
        if (!fp32 || p->tiny) TRY_OUT(rc, time_copy(&o, p->tiny ? 1 << 16 : (int64_t)4 << 30, e));
        TRY_OUT(rc, time_row(&o, fp32 ? "product fp32" : "product bf16", &product, e));
        if (fp32 == 0) ops_close(&o);
    }
out:
    ops_close(&o);
    return rc;
}
