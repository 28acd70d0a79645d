/* batches.h - training batches packed as in the authors' code (oracle SPEC.md section 3).
 *
 * The stream is cut into chunks of L tokens. Chunks are ordered by length (the short one first),
 * equal lengths in an order drawn from the seed, and packed greedily while rows * longest row <=
 * shard_tokens. This composition is fixed; the order of the batches is drawn for each epoch from
 * seed + epoch. An update takes the next `shards` batches. */
#ifndef DATA_BATCHES_H
#define DATA_BATCHES_H

#include <stdint.h>

#include "base/err.h"
#include "data/tokens.h"

struct batches_options {
    int32_t L, shards, shard_tokens;
    uint64_t seed;
};

/* A shard: rows x length ids, padded on the right with id 1. The arrays belong to the batches
 * object and are valid until its next batches_get. */
struct batch {
    const int32_t *source, *target; /* (rows, length) */
    int32_t rows, length;
    int64_t targets_n; /* targets that are not padding */
};

/* The numbers of a shard without its ids; all 0 if the update lacks it. */
struct batch_shape {
    int32_t rows, length;
    int64_t targets_n;
};

struct batches;
/* batches_open - borrows train, which must stay open. Errors: ERR_DATA a row longer than a shard,
 * no tokens; ERR_NOMEM. */
int batches_open(struct batches **out, const struct tokens *train, const struct batches_options *o,
                 struct err *e);
void batches_close(struct batches *b); /* takes NULL */
/* batches_epoch_updates - updates per epoch; the last one may have fewer shards. */
int64_t batches_epoch_updates(const struct batches *b);
/* batches_rows_max - the largest number of rows of a shard. */
int32_t batches_rows_max(const struct batches *b);
/* batches_get - shard `shard` of update `update`, both from 0. A pure function of its arguments.
 * Shards missing in the last update of an epoch have rows = 0. */
int batches_get(struct batches *b, int64_t update, int32_t shard, struct batch *out, struct err *e);
/* batches_shape - the shapes of all shards of an update, in out (shards). Reads no ids, and the
 * shard of the latest batches_get stays valid. */
int batches_shape(struct batches *b, int64_t update, struct batch_shape *out, struct err *e);
/* batches_epoch_of - the epoch (from 1) of an update, and whether the update is the last of it. */
int64_t batches_epoch_of(const struct batches *b, int64_t update, int *last_of_epoch);

/* batches_shuffle - a uniformly distributed permutation of 0 .. n-1, determined by key and stream.
 *
 * Fisher-Yates from the last index down. The draw for index i is word i of Philox under (key, step
 * 0, stream); a biased draw (Lemire 2019) is repeated with the next step. */
void batches_shuffle(int32_t *out, int32_t n, uint64_t key, uint32_t stream);

#endif
