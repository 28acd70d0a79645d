/* op_bench.h - shared by all rows of the op table: random inputs on a backend, often as views into
 * wider matrices, and the comparison with the double-precision oracle.
 *
 * The tolerance is derived: an op may err at most twice as much as plain loops of the same dtype do
 * against the oracle, with a floor of a few units in the last place of the largest number, or of
 * the terms that cancel in it. */
#ifndef OPS_OP_BENCH_H
#define OPS_OP_BENCH_H

#include <stdint.h>

#include "backend/backend.h"
#include "base/arena.h"

enum { OP_HELD_MAX = 64 };

struct op_bench {
    struct backend *b; /* borrowed */
    uint64_t seed;     /* of this row's inputs; printed when it fails */
    uint64_t drawn;
    double terms; /* size of the terms that cancel in a result; 0: as large as the result */
    struct arena arena;
    void *held_own[OP_HELD_MAX]; /* backend memory, released at the end */
    int32_t held_n;
};

/* A matrix on the backend and its packed content on the host. */
struct op_matrix {
    struct tensor t;
    float *host; /* (rows, cols) as uploaded */
};

void op_bench_init(struct op_bench *k, struct backend *b, uint64_t seed);
/* op_bench_reset - releases all memory for the next case of a row; the random inputs continue. */
void op_bench_reset(struct op_bench *k);
void op_bench_fini(struct op_bench *k);
/* op_bench_close - op_bench_reset; also closes the backend. */
void op_bench_close(struct op_bench *k);

/* op_uniform - the next number in [-1, 1). */
float op_uniform(struct op_bench *k);

/* op_random - a matrix of random numbers in f32 (op_activations: in the precision of the backend;
 * the host copy has the numbers rounded to bf16); with spare > 0 a view into one with so many more
 * columns, half of them before it. Like all functions here, asserts that allocation succeeds. */
struct op_matrix op_random(struct op_bench *k, int64_t rows, int64_t cols, int64_t spare);
struct op_matrix op_activations(struct op_bench *k, int64_t rows, int64_t cols, int64_t spare);
struct op_matrix op_random_of(struct op_bench *k, int64_t rows, int64_t cols, int64_t spare,
                              enum dtype dtype);
/* op_set - uploads m->host again, after a change. */
void op_set(struct op_bench *k, const struct op_matrix *m);
/* op_get - the matrix as it is now, packed, in the arena. */
float *op_get(struct op_bench *k, const struct tensor *t);
/* op_mask - the mask that relu writes with y (NULL: no bits). op_check_mask - asserts that it is
 * y's. */
struct tensor op_mask(struct op_bench *k, const float *y, int64_t rows, int64_t cols);
void op_check_mask(struct op_bench *k, const struct tensor *mask, const struct tensor *y);
/* op_memory - bytes of backend memory with this content (zeros where NULL). */
void *op_memory(struct op_bench *k, const void *content, size_t bytes);
/* op_list - n random numbers below `below`; every eighth is -1 with gaps. *host gets them. */
const int32_t *op_list(struct op_bench *k, const int32_t **host, int64_t n, int32_t below,
                       int gaps);
/* op_step - a step state as given, of a batch with OP_FIRST_ROW rows before it in its update. */
enum { OP_FIRST_ROW = 76 };
const struct step_state *op_step(struct op_bench *k, const struct step_state *content);

/* Memory for an oracle's results. */
double *op_doubles(struct op_bench *k, int64_t n);
float *op_floats(struct op_bench *k, int64_t n);

/* tol_check - compares got, results in f32 or bf16, with the oracle's want; the error of plain
 * float loops determines the tolerance. want and plain are first added to before (unless NULL).
 * bf16: may err by so many units in the last place of the largest number; f32 on a backend of bf16:
 * by this share of it, where that is more. */
void tol_check(struct op_bench *k, const char *what, enum dtype dtype, double ulps,
               double f32_error, const float *got, const double *want, const float *plain,
               const float *before, int64_t n);
/* op_round_bf16 - to the nearest, ties to even; bits may be NULL. */
float op_round_bf16(float value, uint16_t *bits);
/* op_stored - a number as activations of the backend hold it. */
float op_stored(const struct op_bench *k, float value);
/* tol_check_tensor - tol_check for a matrix of f32 on a backend of f32. */
void tol_check_tensor(struct op_bench *k, const char *what, const struct tensor *got,
                      const double *want, const float *plain, const float *before);
/* op_same - bit for bit. */
void op_same(const char *what, const float *got, const float *want, int64_t n);

/* op_factors - dropout's factor of every element of a (rows, cols) matrix: 0 or 1/(1-p), straight
 * from Philox. rows_host as d->rows_dev. */
float *op_factors(struct op_bench *k, const struct dropout *d, const int32_t *rows_host,
                  uint32_t update, int64_t rows, int64_t cols);

#endif
