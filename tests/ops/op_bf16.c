/* op_bf16.c - see op_bf16.h. */
#include "ops/op_bf16.h"

#include <math.h>
#include <string.h>

#include "harness/test.h"

void op_bf16_open(struct op_bench *k, const char *device)
{
    struct err e = {0};
    struct backend *b = NULL;
    op_ok(backend_open(&b, device, 1, DTYPE_BF16, &e), &e);
    op_bench_init(k, b, 20211004);
}

float op_bf16_round(float value, uint16_t *rounded)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits = (bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u;
    *rounded = (uint16_t)(bits >> 16);
    memcpy(&value, &bits, sizeof value);
    return value;
}

struct op_matrix op_bf16_random(struct op_bench *k, int64_t rows, int64_t cols, float scale)
{
    struct op_matrix m;
    uint16_t *bits = arena_array(&k->arena, (size_t)(rows * cols), sizeof *bits);
    m.host = op_floats(k, rows * cols);
    for (int64_t i = 0; i < rows * cols; i++)
        m.host[i] = op_bf16_round(scale * op_uniform(k), &bits[i]);
    m.t = tensor_make(op_memory(k, bits, (size_t)(rows * cols) * sizeof *bits), rows, cols,
                      DTYPE_BF16);
    return m;
}

void op_bf16_check(struct op_bench *k, const char *what, const struct tensor *t, const double *want,
                   double allowed, double terms)
{
    struct err e = {0};
    double largest = terms;
    int64_t n = t->rows * t->cols;
    char *got = arena_array(&k->arena, (size_t)n, dtype_bytes(t->dtype));
    op_ok(k->b->ops->download(k->b, got, t->data, (size_t)n * dtype_bytes(t->dtype), &e), &e);
    for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs(want[i]));
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        float value;
        if (t->dtype == DTYPE_BF16) {
            bits = (uint32_t)((uint16_t *)(void *)got)[i] << 16;
            memcpy(&value, &bits, sizeof value);
        } else {
            memcpy(&value, got + i * (int64_t)sizeof value, sizeof value);
        }
        if (!(fabs((double)value - want[i]) <= allowed * largest))
            fail_msg("%s[%lld] is %.7g, expected %.7g, at most %.3g off", what, (long long)i,
                     (double)value, want[i], allowed * largest);
    }
}

void op_bf16_same(struct op_bench *k, const char *what, const void *bf16_dev, const float *want,
                  int64_t n)
{
    struct err e = {0};
    uint16_t *got = arena_array(&k->arena, (size_t)n, sizeof *got), bits;
    op_ok(k->b->ops->download(k->b, got, bf16_dev, (size_t)n * sizeof *got, &e), &e);
    for (int64_t i = 0; i < n; i++) {
        (void)op_bf16_round(want[i], &bits);
        if (got[i] != bits)
            fail_msg("%s[%lld] of %.9g is %04x, expected %04x", what, (long long)i, (double)want[i],
                     got[i], bits);
    }
}
