/* op_bench.c - random inputs, transfers and the tolerance of the op table. */
#include "ops/op_bench.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/philox.h"
#include "harness/test.h"

/* The stream word of every number drawn here. */
enum { OP_STREAM = 0x0B5 };

void op_bench_init(struct op_bench *k, struct backend *b, uint64_t seed)
{
    *k = (struct op_bench){.b = b, .seed = seed};
    arena_init(&k->arena);
}

void op_bench_fini(struct op_bench *k)
{
    for (int32_t i = 0; i < k->held_n; i++) k->b->ops->release(k->b, k->held_own[i]);
    k->held_n = 0;
    arena_fini(&k->arena);
}

void op_bench_close(struct op_bench *k)
{
    struct backend *b = k->b;
    op_bench_fini(k);
    backend_close(b);
}

void op_bench_reset(struct op_bench *k)
{
    op_bench_fini(k);
    k->terms = 0.0;
    arena_init(&k->arena);
}

static uint32_t draw_word(struct op_bench *k)
{
    return philox_word(k->seed, k->drawn++, 0, OP_STREAM);
}

float op_uniform(struct op_bench *k)
{
    return 2.0f * philox_uniform(draw_word(k)) - 1.0f;
}

static int32_t below_of(struct op_bench *k, int32_t n)
{
    return (int32_t)(draw_word(k) % (uint32_t)n);
}

void *op_memory(struct op_bench *k, const void *content, size_t bytes)
{
    void *p = NULL;
    assert_true(k->held_n < OP_HELD_MAX);
    assert_ok(k->b->ops->alloc(k->b, &p, bytes, &e));
    k->held_own[k->held_n++] = p;
    if (content != NULL)
        assert_ok(k->b->ops->upload(k->b, p, content, bytes, &e));
    else
        assert_ok(k->b->ops->zero(k->b, p, bytes, &e));
    return p;
}

float op_round_bf16(float value, uint16_t *rounded)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits = (bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u;
    if (rounded != NULL) *rounded = (uint16_t)(bits >> 16);
    memcpy(&value, &bits, sizeof value);
    return value;
}

float op_stored(const struct op_bench *k, float value)
{
    return k->b->precision == DTYPE_BF16 ? op_round_bf16(value, NULL) : value;
}

/* The memory of a view, gaps between its rows included: on the emulated GPU a transfer costs what a
 * kernel does, so that a matrix is one, not one for each row. */
static void *extent_of(struct op_bench *k, const struct tensor *t, size_t *bytes)
{
    *bytes = (size_t)((t->rows - 1) * t->stride + t->cols) * dtype_bytes(t->dtype);
    return arena_array(&k->arena, *bytes, 1);
}

struct tensor op_mask(struct op_bench *k, const float *y, int64_t rows, int64_t cols)
{
    int64_t words = relu_mask_words(cols);
    size_t bytes = (size_t)(rows * words) * sizeof(uint32_t);
    uint32_t *bits = arena_array(&k->arena, bytes, 1);
    memset(bits, 0, bytes);
    for (int64_t i = 0; y && i < rows * cols; i++)
        bits[i / cols * words + i % cols / 32] |= (uint32_t)(y[i] != 0.0f) << i % cols % 32;
    return tensor_make(op_memory(k, bits, bytes), rows, words, DTYPE_I32);
}

void op_check_mask(struct op_bench *k, const struct tensor *mask, const struct tensor *y)
{
    size_t bytes = (size_t)(mask->rows * mask->cols) * sizeof(uint32_t);
    uint32_t *word = arena_array(&k->arena, bytes, 1);
    const float *value = op_get(k, y);
    assert_ok(k->b->ops->download(k->b, word, mask->data, bytes, &e));
    for (int64_t i = 0; i < y->rows * y->cols; i++) {
        int64_t row = i / y->cols, c = i % y->cols;
        assert_int_equal(word[row * mask->cols + c / 32] >> c % 32 & 1, value[i] != 0.0f);
    }
}

/* Gaps become zeros, as they were. */
void op_set(struct op_bench *k, const struct op_matrix *m)
{
    size_t bytes;
    void *extent = extent_of(k, &m->t, &bytes);
    for (int64_t i = 0; i < m->t.rows; i++)
        for (int64_t j = 0; j < m->t.cols; j++) {
            int64_t at = i * m->t.stride + j;
            float value = m->host[i * m->t.cols + j];
            if (m->t.dtype == DTYPE_BF16)
                op_round_bf16(value, (uint16_t *)extent + at);
            else
                ((float *)extent)[at] = value;
        }
    assert_ok(k->b->ops->upload(k->b, m->t.data, extent, bytes, &e));
}

float *op_get(struct op_bench *k, const struct tensor *t)
{
    size_t bytes;
    void *extent = extent_of(k, t, &bytes);
    float *out = op_floats(k, t->rows * t->cols);
    assert_ok(k->b->ops->download(k->b, extent, t->data, bytes, &e));
    for (int64_t i = 0; i < t->rows; i++)
        for (int64_t j = 0; j < t->cols; j++) {
            int64_t at = i * t->stride + j;
            uint32_t bits = t->dtype == DTYPE_BF16 ? (uint32_t)((uint16_t *)extent)[at] << 16 : 0;
            float *to = &out[i * t->cols + j];
            memcpy(to, t->dtype == DTYPE_BF16 ? (void *)&bits : (float *)extent + at, sizeof *to);
        }
    return out;
}

struct op_matrix op_random_of(struct op_bench *k, int64_t rows, int64_t cols, int64_t spare,
                              enum dtype dtype)
{
    struct op_matrix m;
    size_t size = dtype_bytes(dtype);
    char *data = op_memory(k, NULL, (size_t)(rows * (cols + spare)) * size);
    m.host = op_floats(k, rows * cols);
    for (int64_t i = 0; i < rows * cols; i++) {
        m.host[i] = op_uniform(k);
        if (dtype == DTYPE_BF16) m.host[i] = op_round_bf16(m.host[i], NULL);
    }
    m.t = tensor_make(data + (size_t)(spare / 2) * size, rows, cols, dtype);
    m.t.stride = cols + spare;
    op_set(k, &m);
    return m;
}

struct op_matrix op_random(struct op_bench *k, int64_t rows, int64_t cols, int64_t spare)
{
    return op_random_of(k, rows, cols, spare, DTYPE_F32);
}

struct op_matrix op_activations(struct op_bench *k, int64_t rows, int64_t cols, int64_t spare)
{
    return op_random_of(k, rows, cols, spare, k->b->precision);
}

const int32_t *op_list(struct op_bench *k, const int32_t **host, int64_t n, int32_t below, int gaps)
{
    int32_t *list = arena_array(&k->arena, (size_t)n, sizeof *list);
    for (int64_t i = 0; i < n; i++) list[i] = gaps && below_of(k, 8) == 0 ? -1 : below_of(k, below);
    *host = list;
    return op_memory(k, list, (size_t)n * sizeof *list);
}

const struct step_state *op_step(struct op_bench *k, const struct step_state *content)
{
    struct step_state step = *content;
    step.first_row = OP_FIRST_ROW;
    return op_memory(k, &step, sizeof step);
}

double *op_doubles(struct op_bench *k, int64_t n)
{
    return arena_array(&k->arena, (size_t)n, sizeof(double));
}

float *op_floats(struct op_bench *k, int64_t n)
{
    return arena_array(&k->arena, (size_t)n, sizeof(float));
}

void tol_check(struct op_bench *k, const char *what, enum dtype dtype, double ulps,
               double f32_error, const float *got, const double *want, const float *plain,
               const float *before, int64_t n)
{
    enum { FLOOR_ULPS = 8 };
    double plain_error = 0.0, largest = k->terms;
    for (int64_t i = 0; i < n; i++) {
        double start = before == NULL ? 0.0 : (double)before[i];
        /* As the op adds: in float. */
        double sum = before == NULL ? (double)plain[i] : (double)(before[i] + plain[i]);
        plain_error = fmax(plain_error, fabs(sum - (want[i] + start)));
        largest = fmax(largest, fmax(fabs(want[i]), fabs(want[i] + start)));
    }
    double allowed = 2.0 * plain_error + FLOOR_ULPS * 0x1p-24 * largest;
    if (k->b->precision == DTYPE_BF16) allowed = fmax(allowed, f32_error * largest);
    if (dtype == DTYPE_BF16) allowed = ulps * 0x1p-8 * largest;
    for (int64_t i = 0; i < n; i++) {
        double expected = want[i] + (before == NULL ? 0.0 : (double)before[i]);
        double error = fabs((double)got[i] - expected);
        if (!(error <= allowed))
            fail_msg("%s[%" PRId64 "] is %.9g, expected %.9g: off by %.3g, at most %.3g is allowed "
                     "(seed %" PRIu64 ")",
                     what, i, (double)got[i], expected, error, allowed, k->seed);
    }
}

void tol_check_tensor(struct op_bench *k, const char *what, const struct tensor *got,
                      const double *want, const float *plain, const float *before)
{
    tol_check(k, what, DTYPE_F32, 0.0, 0.0, op_get(k, got), want, plain, before,
              got->rows * got->cols);
}

void op_same(const char *what, const float *got, const float *want, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (memcmp(&got[i], &want[i], sizeof *got) != 0)
            fail_msg("%s[%" PRId64 "] is %.9g, expected exactly %.9g", what, i, (double)got[i],
                     (double)want[i]);
}

float *op_factors(struct op_bench *k, const struct dropout *d, const int32_t *rows_host,
                  uint32_t update, int64_t rows, int64_t cols)
{
    float *factor = op_floats(k, rows * cols);
    uint32_t below = philox_keep_below(d->p);
    int64_t from = d->first_row + (int64_t)d->span * OP_FIRST_ROW;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
            int64_t row = from + (rows_host == NULL ? i : rows_host[i]);
            uint32_t word = philox_word(d->key, (uint64_t)(row * cols + j), update, d->stream);
            factor[i * cols + j] =
                d->p == 0.0f ? 1.0f : (word < below ? 1.0f / (1.0f - d->p) : 0.0f);
        }
    return factor;
}
