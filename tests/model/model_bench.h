/* model_bench.h - a tiny model and random batches, for the tests of src/model. */
#ifndef MODEL_MODEL_BENCH_H
#define MODEL_MODEL_BENCH_H

#include <stdint.h>

#include "model/model.h"

enum { BENCH_VOCAB = 60, BENCH_TOKENS_MAX = 512 };

/* model_bench_spec - 2 layers, width 32, 4 heads; adaptive with bands of 20, 20 and 20 words, or
 * plain with a final LayerNorm. No dropout. */
struct spec model_bench_spec(enum spec_position position, enum spec_softmax softmax);

/* model_bench_spec_number - every position method, adaptive and plain. */
enum { BENCH_MODELS = 2 * POSITION_METHODS_N };
struct spec model_bench_spec_number(int i);
/* model_bench_dropout - at every site. */
void model_bench_dropout(struct spec *s, double p);

struct model_bench {
    struct backend *b;
    struct model *m;
    float *values, *gradients; /* capacity for the largest tensor */
};
/* model_bench_open_with - for rows_max x length_max, with initial values of a seed; closing it
 * closes the backend. */
void model_bench_open_with(struct model_bench *k, struct backend *b, const struct spec *s,
                           int32_t rows_max, int32_t length_max, bool train);
/* model_bench_open_on - also opens the device. */
void model_bench_open_on(struct model_bench *k, const char *device, enum dtype dtype,
                         const struct spec *s, int32_t rows_max, int32_t length_max, bool train);
/* model_bench_open - model_bench_open_on the CPU. */
void model_bench_open(struct model_bench *k, const struct spec *s, int32_t rows_max,
                      int32_t length_max, bool train);
void model_bench_close(struct model_bench *k);

/* model_bench_choices - the algorithms that the device has selected by timing, as text in new heap
 * memory; NULL: none. model_bench_restore_choices - makes another device use them (NULL: nothing);
 * otherwise two models on one kind of device may differ in bits. */
char *model_bench_choices(const struct model_bench *k);
void model_bench_restore_choices(struct model_bench *k, const char *choices);

/* model_bench_tokens - n ids from 2 on, drawn from a seed. */
void model_bench_tokens(int32_t *out, int64_t n, uint64_t seed);
/* model_bench_batch - the tokens of a seed as a batch; ids holds rows * length + 1. */
struct model_batch model_bench_batch(int32_t *ids, int32_t rows, int32_t length, uint64_t seed);
/* model_bench_score - log p of the first n targets from the beginning of a row on. */
void model_bench_score(struct model_bench *k, const struct model_batch *batch, int32_t row,
                       int32_t n, float *logp);
/* model_bench_copy - all tensors of a block, between models of one spec. */
void model_bench_copy(struct model_bench *to, struct model_bench *from, enum model_block block);
/* model_bench_loss - loss of a batch, with gradients left in the model. */
double model_bench_loss(struct model_bench *k, const struct model_batch *batch, uint32_t update,
                        int accumulate);
/* model_bench_tensor - elements of a tensor. */
int64_t model_bench_tensor(const struct model_bench *k, int32_t tensor);
/* model_bench_all - all tensors of a block one after the other, in new heap memory. */
float *model_bench_all(struct model_bench *k, enum model_block block, int64_t *n);
/* model_bench_difference - the largest |a - b| over the largest |a|. */
double model_bench_difference(const float *a, const float *b, int64_t n);

#endif
