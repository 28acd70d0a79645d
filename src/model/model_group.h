/* model_group.h - the shards and slices of this rank. Functions that exchange are called by all
 * ranks. */
#ifndef MODEL_MODEL_GROUP_H
#define MODEL_MODEL_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "model/model.h"

/* The shards of an update whose gradients this rank has. */
struct model_group {
    int64_t slice_n;         /* elements of a slice */
    int32_t rank, ranks_n;   /* 0 of 1 without a group */
    int32_t node_ranks;      /* consecutive ranks that exchange first */
    int32_t first, leaves_n; /* this rank's part of the tree of shards */
    int32_t shards_n;        /* leaves that are shards */
    int32_t done_n;          /* shards that were computed, from the first on */
    bool added;              /* MODEL_GRADIENTS holds the sum of them all */
};

/* model_group_open - before the memory. Errors: ERR_INTERNAL the capacity has another number of
 * ranks than the group of the backend; ERR_USAGE the shards cannot feed them. */
int model_group_open(struct model *m, struct err *e);
/* model_group_begin - before the pass of a shard: *leaf is the gradient array that it writes.
 * model_group_add - after the pass. Errors: ERR_INTERNAL another shard is due. */
int model_group_begin(struct model *m, int32_t shard, int32_t *leaf, struct err *e);
int model_group_add(struct model *m, struct err *e);
/* model_group_flush - MODEL_GRADIENTS holds the sum of this rank's shards so far; only a new update
 * can follow. */
int model_group_flush(struct model *m, struct err *e);
/* model_group_sum - before an update with so many shards: the owned slices of MODEL_GRADIENTS hold
 * the sum of all ranks. Errors: ERR_INTERNAL not all of this rank's shards were computed. */
int model_group_sum(struct model *m, const struct model_update *u, struct err *e);
/* model_group_share_parts - every rank has the sums of squares of all slices and all losses.
 * model_group_share_weights - every rank has the weights that passes read. */
int model_group_share_parts(struct model *m, struct err *e);
int model_group_share_weights(struct model *m, struct err *e);
/* model_group_collect - rank 0 has the whole tensor of an array. Errors: ERR_INTERNAL the gradients
 * of the ranks are not added yet. */
int model_group_collect(struct model *m, enum model_array array, int32_t tensor, struct err *e);
/* model_group_owned - the elements of the array that this rank owns: n from *first on. */
int64_t model_group_owned(const struct model *m, int64_t *first);

#endif
