/* shape.h - a model as arithmetic: which parameters exist, how many FLOPs a token costs, how many
 * bytes a run needs. Nothing here touches a tensor, a corpus or a device; a plan for 247M
 * parameters is made on any laptop. */
#ifndef SHAPE_SHAPE_H
#define SHAPE_SHAPE_H

#include <stdint.h>

#include "base/arena.h"
#include "spec/spec.h"

enum { SHAPE_NAME_BYTES = 80, SHAPE_BANDS_MAX = SPEC_CUTOFFS_MAX + 1 };

/* How a tensor is first filled (SPEC.md section 9): init_mean plus a uniform number within
 * init_value of 0, or a normal one of that std; SHAPE_OWN: by its position method's `start`. */
enum shape_init { SHAPE_ZEROS, SHAPE_ONES, SHAPE_UNIFORM, SHAPE_NORMAL, SHAPE_OWN };

struct shape_tensor {
    char name[SHAPE_NAME_BYTES]; /* as in SPEC.md section 14 */
    int32_t rows, cols;          /* (out, in); a vector is (1, n) */
    int32_t dims;                /* 1 or 2: how a checkpoint writes it */
    int64_t offset;              /* elements from the start of the parameter block */
    enum shape_init init;
    double init_mean, init_value;
    int32_t init_zero_row; /* a row that starts as zeros (the pad id); -1: none */
};

/* Parameters in one block. Neighbours that are used as one matrix are neighbours without a gap: q,
 * k, v weights (3D, D); q, k, v biases (3D); band 0's table and the class rows (c1 + K, D). Every
 * group starts at a multiple of 16 elements. */
struct shape_params {
    struct shape_tensor *tensor;
    int32_t tensors_n;
    int64_t elements_n;   /* of the block, gaps included */
    int64_t parameters_n; /* sum of rows * cols: 246,933,504 for wt103_247m with ALiBi */
};

/* One band of the embedding: ids [first, last) in a table of width `width`. Plain: one band without
 * projection. */
struct shape_band {
    int32_t first, last, width;
};
struct shape_bands {
    int32_t n;
    struct shape_band band[SHAPE_BANDS_MAX];
    int32_t head_n; /* classes of the head softmax: c1 + number of tails; V for plain */
};
void shape_bands(struct shape_bands *out, const struct spec_model *m, int32_t vocab);

/* Rows of length L that one shard of the spec holds. */
int32_t shape_shard_rows(const struct spec_train *t);

void shape_params(struct shape_params *out, struct arena *a, const struct spec *s);
/* shape_find - index of the tensor of that name, or -1. */
int32_t shape_find(const struct shape_params *p, const char *name);

/* FLOPs (a multiply-add is two) of one token at row length L: attention is causal, so (L+1)/2 keys
 * on average; tail rows are counted with tail_share[i], the share of targets in band i (NULL: a
 * Zipf estimate). Training is three times the forward pass. Source: performance limits worked by
 * hand for the 247M model. */
double shape_forward_flops(const struct spec *s, int32_t L, const double *tail_share);

/* shape_peak_flops - the peak of dense products of a device, FLOP/s, by its name ("NVIDIA H200");
 * 0: not known, as of every CPU, whose clock the name does not state. */
double shape_peak_flops(const char *device, enum spec_precision precision);

/* device_bytes: what the model of the run allocates on its device, exactly (shape/memory.h):
 * weights, gradients, optimiser, activations of one shard, a chunk of logits; not the process, its
 * libraries and their workspace. Disk: checkpoints kept while running and after. */
struct shape_cost {
    int64_t parameters_n;
    int64_t tokens_per_update; /* targets of a full update */
    double flops;              /* of the whole run */
    int64_t device_bytes;
    int64_t disk_running_bytes, disk_kept_bytes;
};
void shape_cost(struct shape_cost *out, const struct spec *s);

#endif
