/* checkpoints.h - the files that a training leaves on its way, and how a later attempt resumes from
 * them.
 *
 * 1. A checkpoint is update-N.safetensors (fp32 master weights; __metadata__: format, spec, run_id,
 *    update, blas) and, where training may resume from it, update-N.state.safetensors (optimiser,
 *    and the text of struct checkpoint_point). Nothing random is kept: every draw is a function of
 *    the seed and the update's number, and so is the place in the data.
 * 2. Both are complete or absent; their hashes are in the record EVENT_CHECKPOINT, which is synced
 *    before an older checkpoint is deleted.
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

enum { CHECKPOINT_PATH_BYTES = 64, CHECKPOINTS_KEPT_MAX = 6 };

struct worker;

/* Weights in the attempt's folder. */
struct checkpoint_weights {
    int64_t update; /* updates done; 0: none */
    int64_t bytes;
    char path[CHECKPOINT_PATH_BYTES]; /* relative to the attempt */
    char sha256[HASH_HEX_BYTES];
};

/* The position of a training between two updates. */
struct checkpoint_point {
    int64_t update;    /* updates done */
    int64_t validated; /* the last update after which valid was scored; 0: never */
    double loss_nats;  /* training loss per target of the last update */
    struct checkpoint_weights best;
    double best_loss_nats; /* on valid; of best */
    double seconds;        /* wall time of the attempts this one continues, up to here */
    double wps;            /* measured so far; NaN: nothing measured */
};

/* A checkpoint in the attempt's folder. */
struct checkpoint_kept {
    struct checkpoint_weights weights;
    bool has_state;
    int64_t best_update; /* the best when it was written: resuming from it needs those weights */
};

struct checkpoints {
    struct worker *worker;
    struct model *model;
    int32_t slots_n;                                   /* optimiser tensors per parameter */
    struct checkpoint_kept kept[CHECKPOINTS_KEPT_MAX]; /* rising updates */
    int32_t kept_n;
};

/* checkpoints_save - writes a checkpoint of `now`, records it and deletes what is no longer kept.
 * best: these weights are now the best (now->best is set to them). last: the training is complete,
 * so no state is written. */
int checkpoints_save(struct checkpoints *c, struct checkpoint_point *now, bool best, bool last,
                     struct err *e);

/* checkpoints_last - the weights written last; update 0 if there are none. */
struct checkpoint_weights checkpoints_last(const struct checkpoints *c);

/* checkpoints_finish - after the attempt's end is recorded: deletes all but the best and the last
 * weights. */
void checkpoints_finish(struct checkpoints *c);

/* checkpoints_resume - loads the newest valid checkpoint of older attempts into the model; *now is
 * unchanged if there is none. */
int checkpoints_resume(struct checkpoints *c, struct checkpoint_point *now, struct err *e);

#endif
