/* checkpoint.h - the files a training leaves on its way, and how a later attempt goes on from them.
 *
 * 1. A checkpoint is update-N.safetensors (fp32 master weights; __metadata__: format, spec, run_id,
 *    update, blas) and, where training may go on from it, update-N.state.safetensors (optimiser,
 * and the text of struct checkpoint_point). Nothing random is kept: every draw is a function of the
 *    seed and the update's number, and so is the place in the data.
 * 2. Both are complete or absent; their hashes stand in the record EVENT_CHECKPOINT, which is
 * synced before an older checkpoint is deleted.
 * 3. While training: the last two with state, and the weights that were best on valid when each was
 *    written. When done: the best and the last weights only, one file if they are the same update.
 * 4. A checkpoint whose files do not match their hashes is not used; an older one is.
 * 5. Older attempts' folders are only read. The best weights so far are copied from there, so that
 *    an attempt's folder is whole by itself. */
#ifndef WORKER_CHECKPOINTS_H
#define WORKER_CHECKPOINTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hash.h"
#include "model/model.h"
#include "worker/worker_internal.h"

enum { CHECKPOINT_PATH_BYTES = 64, CHECKPOINT_KEPT_MAX = 6 };

/* Weights in the attempt's folder. */
struct checkpoint_weights {
    int64_t update; /* updates done; 0: none */
    int64_t bytes;
    char path[CHECKPOINT_PATH_BYTES]; /* relative to the attempt */
    char sha256[HASH_HEX_BYTES];
};

/* Where a training stands between two updates. */
struct checkpoint_point {
    int64_t update;    /* updates done */
    int64_t validated; /* the last update after which valid was scored; 0: never */
    double loss_nats;  /* training loss per target of the last update */
    struct checkpoint_weights best;
    double best_loss_nats; /* on valid; of best */
    double seconds;        /* wall time of the attempts this one goes on from, up to here */
    double wps;            /* measured so far; NaN: nothing measured */
};

/* A checkpoint in the attempt's folder. */
struct checkpoint_kept {
    struct checkpoint_weights weights;
    bool has_state;
    int64_t best_update; /* the best when it was written: resuming from it needs those weights */
};

struct checkpoints {
    struct worker *attempt;
    const struct spec *spec;
    struct model *model;
    struct checkpoint_kept kept[CHECKPOINT_KEPT_MAX]; /* rising updates */
    int32_t kept_n;
};

/* checkpoint_save - writes a checkpoint of `now`, records it and deletes what is no longer kept.
 * best: these weights are now the best (now->best is set to them). last: the training is complete,
 * so no state is written. */
int checkpoint_save(struct checkpoints *c, struct checkpoint_point *now, bool best, bool last,
                    struct err *e);

/* checkpoint_finish - after the attempt's end is recorded: deletes all but the best and the last
 * weights. */
void checkpoint_finish(struct checkpoints *c, const struct checkpoint_point *now);

/* checkpoint_resume - loads the newest valid checkpoint of older attempts into the model; *now is
 * unchanged when there is none. */
int checkpoint_resume(struct checkpoints *c, struct checkpoint_point *now, struct err *e);

/* checkpoint_last - the weights written last; update 0 when there are none. */
struct checkpoint_weights checkpoint_last(const struct checkpoints *c);

#endif
