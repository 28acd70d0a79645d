/* op_bf16.h - matrices of bf16 for the tests of ops, and their comparison with expected values.
 *
 * Inputs are exact in bf16; host copies hold the same numbers as floats. */
#ifndef OPS_OP_BF16_H
#define OPS_OP_BF16_H

#include "ops/op_bench.h"

/* Units in the last place of bf16 of a number of size one. */
#define OP_BF16_ULPS(n) ((n)*0x1p-8)

/* op_bf16_open - a bench on a newly opened device of bf16; op_bench_close ends both. */
void op_bf16_open(struct op_bench *k, const char *device);

/* op_bf16_round - to the nearest bf16, ties to even; *rounded receives its bits. */
float op_bf16_round(float value, uint16_t *rounded);
/* op_bf16_random - a matrix of random numbers in [-scale, scale). */
struct op_matrix op_bf16_random(struct op_bench *k, int64_t rows, int64_t cols, float scale);

/* op_bf16_check - compares a packed matrix of bf16 or f32: the error is at most `allowed` times the
 * largest expected value, or times `terms`, the size of the terms that cancel in it. */
void op_bf16_check(struct op_bench *k, const char *what, const struct tensor *t, const double *want,
                   double allowed, double terms);
/* op_bf16_same - n numbers of bf16 are these floats rounded, bit for bit. */
void op_bf16_same(struct op_bench *k, const char *what, const void *bf16_dev, const float *want,
                  int64_t n);

#endif
