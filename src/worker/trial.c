/* trial.c - whether a device computes: some ops of each kind, compared with the CPU backend; and
 * whether threads that compute at the same time give the bits of one that computes alone.
 *
 * 1. It finds kernels that the device cannot run and results that are wrong. `make check-gpu`
 *    measures how exact the ops are.
 * 2. No tile of the attention kernels divides T, and D is their largest width, so that they need
 *    all their shared memory.
 * 3. linear_relu writes a mask that is compared with its output, and linear_bwd_relu reads a mask
 *    that is written here: a library with another order of bits would give wrong gradients without
 *    an error.
 * 4. The products of threads are small, so that calls of a library that shares a buffer among
 *    threads overlap often. */
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "ops/ops.h"
#include "worker/worker.h"

enum { T = 129, D = 128, WORDS = D / 32 /* of a row of a mask */ };

/* The inputs come first. */
enum { X, W, BIAS, DY, Q, K, V, DOUT, GIVEN, SLOPE, Y, MASK, SUM, DX, OUT, LSE, DQ, DK, DV, ALL };
enum { INPUTS = Y };

/* type: DTYPE_BF16 is the precision of the backend. */
static const struct {
    const char *op; /* that writes it */
    int32_t rows, cols;
    enum dtype type;
} tensors[ALL] = {
    [X] = {"", T, D, DTYPE_BF16},
    [W] = {"", D, D, DTYPE_BF16},
    [BIAS] = {"", 1, D, DTYPE_BF16},
    [DY] = {"", T, D, DTYPE_BF16},
    [Q] = {"", T, D, DTYPE_BF16},
    [K] = {"", T, D, DTYPE_BF16},
    [V] = {"", T, D, DTYPE_BF16},
    [DOUT] = {"", T, D, DTYPE_BF16},
    [GIVEN] = {"", T, WORDS, DTYPE_I32},
    [SLOPE] = {"", 1, 1, DTYPE_F32},
    [Y] = {"linear_relu", T, D, DTYPE_BF16},
    [MASK] = {"linear_relu", T, WORDS, DTYPE_I32},
    [SUM] = {"add", T, D, DTYPE_BF16},
    [DX] = {"linear_bwd_relu", T, D, DTYPE_BF16},
    [OUT] = {"attention", T, D, DTYPE_BF16},
    [LSE] = {"attention", 1, T, DTYPE_F32},
    [DQ] = {"attention_bwd", T, D, DTYPE_BF16},
    [DK] = {"attention_bwd", T, D, DTYPE_BF16},
    [DV] = {"attention_bwd", T, D, DTYPE_BF16},
};

/* The numbers of all tensors as fp32, whatever their type. The words of a mask are bits. */
struct trial {
    uint32_t word[ALL][T * D];
    struct tensor tensor[ALL]; /* of the backend that computes */
};

static int32_t trial_n(int i)
{
    return tensors[i].rows * tensors[i].cols;
}

static float as_float(uint32_t word)
{
    float x;
    memcpy(&x, &word, sizeof x);
    return x;
}

/* Multiples of 1/8 between -1 and 1, which bf16 represents, and random bits. */
static void trial_fill(struct trial *t)
{
    for (int i = 0; i < INPUTS; i++) {
        for (int32_t k = 0; k < trial_n(i); k++) {
            uint32_t word = philox_word(1, (uint64_t)k, 0, (uint32_t)i);
            float x = (float)(word % 17) / 8.0f - 1.0f;
            if (tensors[i].type == DTYPE_I32)
                t->word[i][k] = word;
            else
                memcpy(&t->word[i][k], &x, sizeof x);
        }
    }
}

/* Uploads an input, or downloads an output. */
static int trial_transfer(struct trial *t, struct backend *b, int i, struct err *e)
{
    uint16_t half[T * D];
    size_t bytes = (size_t)trial_n(i) * dtype_bytes(t->tensor[i].dtype);
    bool is_bf16 = t->tensor[i].dtype == DTYPE_BF16;
    void *host = is_bf16 ? (void *)half : t->word[i], *dev = t->tensor[i].data;

    for (int32_t k = 0; k < trial_n(i) && is_bf16; k++) half[k] = (uint16_t)(t->word[i][k] >> 16);
    if (i < INPUTS) return b->ops->upload(b, dev, host, bytes, e);
    TRY(b->ops->download(b, host, dev, bytes, e));
    for (int32_t k = 0; k < trial_n(i) && is_bf16; k++) t->word[i][k] = (uint32_t)half[k] << 16;
    return 0;
}

static int trial_ops(const struct tensor *t, struct backend *b, struct err *e)
{
    const struct linear_relu_args forward = {
        .y = t[Y], .x = t[X], .w = t[W], .bias = t[BIAS], .mask = t[MASK]};
    const struct linear_bwd_relu_args backward = {
        .dx = t[DX], .dy = t[DY], .w = t[W], .y = t[Y], .mask = t[GIVEN]};
    const struct attention attention = {.B = 1,
                                        .T = T,
                                        .H = 1,
                                        .D = D,
                                        .scale = 0.125f,
                                        .q = t[Q],
                                        .k = t[K],
                                        .v = t[V],
                                        .out = t[OUT],
                                        .lse = t[LSE],
                                        .bias = {.tail_slope_dev = t[SLOPE].data},
                                        .dout = t[DOUT],
                                        .dq = t[DQ],
                                        .dk = t[DK],
                                        .dv = t[DV]};

    TRY(ops_linear_relu(b, &forward, e));
    TRY(OPS(b, add, e, .y = t[SUM], .x = t[X], .r = t[DY]));
    TRY(ops_linear_bwd_relu(b, &backward, e));
    TRY(ops_attention(b, &attention, e));
    return ops_attention_bwd(b, &attention, e);
}

static int trial_compute(struct trial *t, struct backend *b, struct err *e)
{
    int rc = 0;

    trial_fill(t);
    for (int i = 0; i < ALL; i++) {
        enum dtype type = tensors[i].type == DTYPE_BF16 ? b->precision : tensors[i].type;
        t->tensor[i] = tensor_make(NULL, tensors[i].rows, tensors[i].cols, type);
    }
    for (int i = 0; i < ALL; i++)
        TRY_OUT(rc, b->ops->alloc(b, &t->tensor[i].data,
                                  (size_t)trial_n(i) * dtype_bytes(t->tensor[i].dtype), e));
    for (int i = 0; i < INPUTS; i++) TRY_OUT(rc, trial_transfer(t, b, i, e));
    TRY_OUT(rc, trial_ops(t->tensor, b, e));
    TRY_OUT(rc, b->ops->sync(b, e));
    for (int i = INPUTS; i < ALL; i++) TRY_OUT(rc, trial_transfer(t, b, i, e));
out:
    for (int i = 0; i < ALL; i++)
        if (t->tensor[i].data) b->ops->release(b, t->tensor[i].data);
    return rc;
}

/* Compares an output with the CPU's. The limit is a share of the tensor's largest number: four
 * times the difference on the emulated GPU in bf16 (4.7e-3), ten times in fp32 (8.8e-7). */
static int compare_trials(const struct trial *ours, const struct trial *cpu, int i, bool is_bf16,
                          struct err *e)
{
    float largest = 0;

    for (int32_t k = 0; k < trial_n(i); k++)
        largest = fmaxf(largest, fabsf(as_float(cpu->word[i][k])));
    for (int32_t k = 0; k < trial_n(i); k++) {
        float x = as_float(ours->word[i][k]), expected = as_float(cpu->word[i][k]);
        if (fabsf(x - expected) <= largest * (is_bf16 ? 2e-2f : 1e-5f)) continue;
        return ERR(e, ERR_UNAVAILABLE, "wrong result of op %s: row %d, column %d is %g, not %g",
                   tensors[i].op, k / tensors[i].cols, k % tensors[i].cols, (double)x,
                   (double)expected);
    }
    return 0;
}

static int compare_mask(const struct trial *ours, struct err *e)
{
    for (int32_t k = 0; k < T * D; k++) {
        bool is_set = ours->word[MASK][k / 32] >> k % 32 & 1;
        if (is_set == (as_float(ours->word[Y][k]) != 0)) continue;
        return ERR(e, ERR_UNAVAILABLE,
                   "wrong result of op linear_relu: row %d, column %d is %g, but its bit in the "
                   "mask is %d",
                   k / D, k % D, (double)as_float(ours->word[Y][k]), is_set);
    }
    return 0;
}

int trial_run(struct backend *b, struct err *e)
{
    struct backend *reference = NULL;
    struct trial *ours = calloc(1, sizeof *ours), *cpu = calloc(1, sizeof *cpu);
    int rc = 0;

    if (!ours || !cpu) TRY_OUT(rc, ERR(e, ERR_NOMEM, "out of memory while testing %s", b->name));
    TRY_OUT(rc, backend_open(&reference, "cpu", 1, DTYPE_F32, e));
    TRY_OUT(rc, trial_compute(cpu, reference, e));
    TRY_OUT(rc, trial_compute(ours, b, e));
    for (int i = INPUTS; i < ALL; i++)
        if (i != MASK) TRY_OUT(rc, compare_trials(ours, cpu, i, b->precision == DTYPE_BF16, e));
    TRY_OUT(rc, compare_mask(ours, e));
out:
    backend_close(reference);
    free(ours);
    free(cpu);
    return rc;
}

/* --- threads that multiply at the same time ------------------------------------------------- */

enum { SIDE = 32, SQUARE = SIDE * SIDE, PRODUCTS = 3, THREADS = 2 };

struct multiplier {
    struct backend *backend;
    float x[2 * SQUARE]; /* also dy; then w */
    float made[PRODUCTS * SQUARE];
    const float *expected; /* NULL: nothing is compared */
    int64_t repeats, wrong_n;
    int rc;
    struct err error;
};

/* Computes y, dx and dw of square matrices. */
static int multiply_once(struct multiplier *m)
{
    const struct tensor x = tensor_make(m->x, SIDE, SIDE, DTYPE_F32);
    const struct tensor w = tensor_make(m->x + SQUARE, SIDE, SIDE, DTYPE_F32);
    struct tensor y = tensor_make(m->made, SIDE, SIDE, DTYPE_F32), dx = y, dw = y;
    struct err *e = &m->error;

    dx.data = m->made + SQUARE;
    dw.data = m->made + 2 * SQUARE;
    TRY(OPS(m->backend, linear, e, .y = y, .x = x, .w = w));
    TRY(OPS(m->backend, linear_bwd_input, e, .dx = dx, .dy = x, .w = w));
    return OPS(m->backend, linear_bwd_weight, e, .dw = dw, .dy = x, .x = w);
}

static void *multiply_for_trial(void *context)
{
    struct multiplier *m = context;

    for (int64_t i = 0; i < m->repeats && m->rc == 0; i++) {
        m->rc = multiply_once(m);
        m->wrong_n += m->expected && memcmp(m->made, m->expected, sizeof m->made) != 0;
    }
    return NULL;
}

static int multiply_together(struct multiplier *m, struct err *e)
{
    pthread_t thread[THREADS];
    int n = 0, failed = 0;

    while (n < THREADS &&
           (failed = pthread_create(&thread[n], NULL, multiply_for_trial, &m[n])) == 0)
        n++;
    for (int i = 0; i < n; i++) pthread_join(thread[i], NULL);
    if (failed) return ERR(e, ERR_UNAVAILABLE, "a thread cannot be started: %s", strerror(failed));
    for (int i = 0; i < THREADS; i++) {
        if (m[i].rc < 0) return ERR(e, m[i].rc, "%s", m[i].error.text);
        if (m[i].wrong_n > 0)
            return ERR(e, ERR_UNAVAILABLE,
                       "%s: %" PRId64 " of %" PRId64 " products differ if two threads multiply at "
                       "the same time",
                       m[i].backend->blas, m[i].wrong_n, m[i].repeats);
    }
    return 0;
}

int trial_threads(struct backend *first, struct backend *second, int64_t repeats, struct err *e)
{
    struct multiplier *m = calloc(THREADS + 1, sizeof *m), *alone = m + THREADS;
    int rc = 0;

    if (!m) return ERR(e, ERR_NOMEM, "out of memory while testing threads");
    for (int i = 0; i < THREADS + 1; i++) {
        m[i].backend = i == 1 ? second : first;
        m[i].expected = i < THREADS ? alone->made : NULL;
        m[i].repeats = i < THREADS ? repeats : 1;
        for (int32_t k = 0; k < 2 * SQUARE; k++)
            m[i].x[k] = (float)philox_word(1, (uint64_t)k, 0, 0) / 0x1p31f - 1.0f;
    }
    multiply_for_trial(alone);
    rc = alone->rc < 0 ? ERR(e, alone->rc, "%s", alone->error.text) : multiply_together(m, e);
    free(m);
    return rc;
}
