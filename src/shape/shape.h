/* shape.h - computes a model's parameters, FLOPs per token and bytes per run from the spec alone,
 * without tensors, corpus or device. */
#ifndef SHAPE_SHAPE_H
#define SHAPE_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "spec/spec.h"

enum { SHAPE_NAME_BYTES = 80, SHAPE_BANDS_MAX = SPEC_CUTOFFS_MAX + 1 };

/* Initialisation of a tensor (SPEC.md section 9): init_mean plus a uniform number in [-init_value,
 * init_value], or a normal one of that standard deviation. SHAPE_OWN: its position method's `start`
 * writes it. */
enum shape_init { SHAPE_ZEROS, SHAPE_ONES, SHAPE_UNIFORM, SHAPE_NORMAL, SHAPE_OWN };

/* Stages of a pass, each of which alone reads its tensors: the table, layer l = SHAPE_LAYER_0 + l,
 * and SHAPE_LAYER_0 + layers: a head that is not the table. SHAPE_STAYS: always in memory. */
enum shape_stage { SHAPE_STAYS, SHAPE_TABLE, SHAPE_LAYER_0 };

struct shape_tensor {
    char name[SHAPE_NAME_BYTES]; /* as in SPEC.md section 14 */
    int32_t rows, cols;          /* (out, in); a vector is (1, n) */
    int32_t dims;                /* 1 or 2: how a checkpoint writes it */
    bool joined;                 /* follows the tensor before it without a gap */
    bool position;               /* learned by the position method, or SSMax's */
    bool fp32;                   /* read in fp32 also where other weights are read in bf16 */
    int32_t stage;               /* of a pass that alone reads it, see enum shape_stage */
    int64_t offset;              /* elements from the start of the parameter array */
    enum shape_init init;
    double init_mean, init_value;
    int32_t init_zero_row; /* a row initialised to zeros (the pad id); -1: none */
};

/* Parameters in one array. Tensors used as one matrix have no gaps: q, k, v weights
 * ((H + 2K) w, D); q, k, v biases; band 0's table and the class rows (c1 + K, D). Each matrix
 * starts at a multiple of 16 elements. Tensors read in fp32 follow all others: ranks that exchange
 * bf16 weights exchange the end of the array in fp32. */
struct shape_params {
    struct shape_tensor *tensor;
    int32_t tensors_n;
    int64_t elements_n;   /* of the array, gaps included */
    int64_t fp32_first;   /* element with which the tensors read in fp32 begin */
    int64_t largest_n;    /* rows * cols of the largest tensor */
    int64_t parameters_n; /* sum of rows * cols: 246,933,504 for wt103_247m with ALiBi */
};

/* A band of the embedding: ids [first, last) in a table of width `width`. A plain softmax has one
 * band; its width is model.embedding_width. */
struct shape_band {
    int32_t first, last, width;
};
struct shape_bands {
    int32_t n;
    struct shape_band band[SHAPE_BANDS_MAX];
    int32_t head_n; /* classes of the head softmax: c1 + number of tails; V for plain */
};
void shape_bands(struct shape_bands *out, const struct spec_model *m, int32_t vocab);

/* shape_shard_rows - rows of L_train tokens in one shard. */
int32_t shape_shard_rows(const struct spec_train *t);

/* The ranks of a training add the gradients of its shards as a binary tree, whose leaves are the
 * shards, and each owns an equal part of SHAPE_SLICES slices of the parameter array; neither
 * depends on their number. shape_leaves - the smallest power of two >= shards. shape_slice -
 * elements of a slice of an array; the last slices may be shorter or empty. shape_check_ranks -
 * whether so many ranks can share the shards. Errors: ERR_USAGE names the nearest numbers of ranks.
 */
enum { SHAPE_SLICES = 256 };
int32_t shape_leaves(int32_t shards);
int64_t shape_slice(int64_t elements_n);
int shape_check_ranks(int32_t shards, int32_t ranks_n, struct err *e);

/* shape_params - the parameters, listed in the arena; without an arena, only their numbers. */
void shape_params(struct shape_params *out, struct arena *a, const struct spec *s);
/* shape_params_streamed - the same tensors in a smaller array, in which all stages begin at element
 * 0: it holds one stage at a time (capacity.streamed of shape/memory.h). */
void shape_params_streamed(struct shape_params *out, struct arena *a, const struct spec *s);
/* shape_find - index of the tensor with that name, or -1. */
int32_t shape_find(const struct shape_params *p, const char *name);

/* shape_inherit - which tensors a training takes over from its parent: from[i] is the parent's
 * tensor that the child's tensor i starts from, or -1: it starts fresh. fresh, dropped: the names
 * of those that only the child, or only the parent, has, separated by spaces; "" none. Errors:
 * ERR_DATA one of them does not belong to a position method; a tensor has another shape. */
struct shape_inheritance {
    int32_t *from;
    const char *fresh, *dropped;
};
int shape_inherit(struct shape_inheritance *out, struct arena *a, const struct shape_params *child,
                  const struct shape_params *parent, struct err *e);

/* shape_forward_flops - FLOPs of one token at row length L; a multiply-add counts as two. Causal
 * attention sees (L+1)/2 keys on average. The shares of the bands are a Zipf estimate. A training
 * update costs three forward passes. */
double shape_forward_flops(const struct spec *s, int32_t L);

/* A GPU whose peaks are known. */
struct shape_gpu {
    const char *name;  /* a part of what its driver calls it */
    double bf16, fp32; /* TFLOP/s of dense products */
    double memory_gb;
    double link_gb; /* GB/s to another GPU of its machine, in one direction; 0: not known */
};
const struct shape_gpu *shape_gpus(size_t *n);
/* shape_find_gpu - by what its driver calls it, such as "NVIDIA H200"; NULL: not known, as for
 * every CPU, whose name does not state its clock. */
const struct shape_gpu *shape_find_gpu(const char *device);

/* shape_peak_flops - peak FLOP/s of dense products on a device, by its name; 0: not known. */
double shape_peak_flops(const char *device, enum spec_precision precision);

/* The cost of a run. device_bytes is exactly what the model allocates on its device
 * (shape/memory.h): weights, gradients, optimiser state, activations of one shard, a chunk of
 * logits. It excludes the process, its libraries and their workspace. gpu_bytes: what a GPU, whose
 * graphs need all weights in its memory, allocates beyond that for a model that is streamed on a
 * CPU. host_bytes: keys of a datastore, weights of eval.attention_rows. Disk: checkpoints kept
 * during the run and after it. A training whose checkpoint is imported costs only its weights on
 * disk. */
struct shape_cost {
    int64_t parameters_n;
    int64_t tokens_per_update; /* targets per full update */
    double flops;              /* of the whole run */
    /* Parts of an evaluation's flops: its datastore and its search, which others share. */
    double datastore_flops, search_flops;
    int64_t device_bytes, gpu_bytes, host_bytes;
    int64_t disk_running_bytes, disk_kept_bytes;
};
void shape_cost(struct shape_cost *out, const struct spec *s);
/* shape_cost_continued - shape_cost of a training with a parent: of the updates that it adds. */
void shape_cost_continued(struct shape_cost *out, const struct spec *s, const struct spec *parent);

/* Assumptions of a model, not measurements of this program: GPUs of a machine; the share of their
 * links' peak that all of them reach at once; GB/s of each between machines, 400 Gb/s less 10 %. */
enum { SHAPE_NODE_GPUS = 8 };
#define SHAPE_LINK_SHARE 0.73
#define SHAPE_NETWORK_GB 45.0

/* A training by several ranks. shape_nccl_bytes - what NCCL takes of the memory of a rank on such
 * GPUs; NULL: nothing, as on CPUs. shape_rank_bytes - that and device_bytes of a rank.
 * shape_rank_shards - of an update, the most shards that a rank computes. shape_exchange_s -
 * seconds of an update in which ranks on such GPUs exchange gradients and weights; 0 if the link is
 * not known. Their additions are not counted: the fewer shards a rank has, the fewer it makes. */
int64_t shape_nccl_bytes(int32_t ranks_n, const struct shape_gpu *gpu);
int64_t shape_rank_bytes(const struct spec *s, int32_t ranks_n, const struct shape_gpu *gpu);
int32_t shape_rank_shards(int32_t shards, int32_t ranks_n);
double shape_exchange_s(const struct spec *s, int32_t ranks_n, const struct shape_gpu *gpu);

#endif
