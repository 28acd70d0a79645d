/* model_bench.h - a tiny model and random batches, for the tests of src/model. */
#ifndef MODEL_MODEL_BENCH_H
#define MODEL_MODEL_BENCH_H

#include <stdint.h>

#include "model/model.h"

enum { BENCH_VOCAB = 60 };

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
};
/* What the functions below return belongs to the running case: model_bench_fini, the teardown of
 * TEST_EACH or TEST_GROUP, closes and frees it. */
int model_bench_fini(void **state);

/* model_bench_open - a model on the CPU for rows_max x length_max, with initial values of a seed.
 * model_bench_open_on - on a device; model_bench_open_with - on a backend, which it closes. */
struct model_bench *model_bench_open(const struct spec *s, int32_t rows_max, int32_t length_max,
                                     bool train);
struct model_bench *model_bench_open_on(const char *device, enum dtype dtype, const struct spec *s,
                                        int32_t rows_max, int32_t length_max, bool train);
struct model_bench *model_bench_open_with(struct backend *b, const struct spec *s, int32_t rows_max,
                                          int32_t length_max, bool train);
/* model_bench_open_for_hits - on a device, for model_hits. */
struct model_bench *model_bench_open_for_hits(const char *device, enum dtype dtype,
                                              const struct spec *s, int32_t rows_max,
                                              int32_t length_max);
/* model_bench_close - before the end of the case. */
void model_bench_close(struct model_bench *k);

/* model_bench_choices - the algorithms that the device has selected by timing, as text; NULL: none.
 * model_bench_restore_choices - makes another device use them (NULL: nothing); otherwise two models
 * on one kind of device may differ in bits. */
char *model_bench_choices(const struct model_bench *k);
void model_bench_restore_choices(struct model_bench *k, const char *choices);

/* model_bench_array - n zeroed numbers. model_bench_tokens - n ids from 2 on, drawn from a seed.
 * model_bench_batch - a batch of such ids, whose targets are the next ones; they may be changed
 * through *ids (unless NULL), which has rows * length + 1. */
float *model_bench_array(int64_t n);
int32_t *model_bench_tokens(int64_t n, uint64_t seed);
struct model_batch model_bench_batch(int32_t **ids, int32_t rows, int32_t length, uint64_t seed);
/* model_bench_score - log p of the first n targets from the beginning of a row on. */
float *model_bench_score(struct model_bench *k, const struct model_batch *batch, int32_t row,
                         int32_t n);
/* model_bench_loss - loss of a batch, with gradients left in the model; shard 0 begins an update.
 */
double model_bench_loss(struct model_bench *k, const struct model_batch *batch, uint32_t update,
                        int32_t shard);
/* model_bench_apply - an update with the shards since shard 0 at this rate, the former being the
 * same; returns the norm. */
double model_bench_apply(struct model_bench *k, uint32_t update, double lr, int64_t targets_n);

/* model_bench_copy - all tensors of an array, between models of one spec. */
void model_bench_copy(struct model_bench *to, struct model_bench *from, enum model_array array);
/* model_bench_tensor_n, model_bench_n - elements of a tensor, and of all. */
int64_t model_bench_tensor_n(const struct model_bench *k, int32_t tensor);
int64_t model_bench_n(const struct model_bench *k);
/* model_bench_read - a tensor of an array. model_bench_all - all one after the other. */
float *model_bench_read(struct model_bench *k, enum model_array array, int32_t tensor);
float *model_bench_all(struct model_bench *k, enum model_array array);
/* model_bench_difference - the largest |a - b| over the largest |a|. */
double model_bench_difference(const float *a, const float *b, int64_t n);

#endif
