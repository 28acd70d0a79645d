/* checkpoints.h - the checkpoints of a training, and resuming from them.
 *
 * 1. A checkpoint is update-N.safetensors (fp32 master weights; __metadata__: format, spec, run_id,
 *    update, blas) and, if training may resume from it, update-N.state.safetensors (optimiser
 *    state, and struct checkpoint_point as text). It has no random state: all draws and the
 *    position in the data are functions of the seed and the number of the update.
 * 2. Both files are complete or absent: written under another name, synced, renamed, and their
 *    folder synced (base/file.h). The record EVENT_CHECKPOINT has their hashes; it is synced before
 *    an older checkpoint is deleted.
 * 3. During training the last two checkpoints with state are kept, and the weights that were best
 *    on valid when each was written. When done, only the best and the last weights are kept, in one
 *    file if they are of the same update, and with train.keep_state the state of the last.
 * 4. If the files of a checkpoint do not match their hashes, an older one is used.
 * 5. The folders of older attempts are only read. The best weights are copied from there, so that
 *    every attempt's folder is complete.
 * 6. With ranks, all call these functions together. The files do not depend on their number: rank 0
 *    collects each tensor and writes it; the others wait for the file. To resume, rank 0 looks for
 *    the checkpoint, and every rank reads and verifies that one. */
#ifndef WORKER_CHECKPOINTS_H
#define WORKER_CHECKPOINTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hash.h"

struct model;
struct worker;

enum { CHECKPOINT_PATH_BYTES = 64 };

/* Weights in an attempt's folder. */
struct checkpoint_weights {
    int64_t update; /* after this many updates; 0: none */
    int64_t bytes;
    char path[CHECKPOINT_PATH_BYTES]; /* relative to the attempt */
    char sha256[HASH_HEX_BYTES];
};

/* The position of a training between two updates. */
struct checkpoint_point {
    int64_t update;    /* updates done */
    int64_t validated; /* update of the last validation; 0: none */
    double loss_nats;  /* training loss per target of the last update */
    struct checkpoint_weights best;
    double best_loss_nats; /* loss of `best` on valid */
    double seconds;        /* wall time so far, including the attempts that this one continues */
    double wps;            /* targets per second so far; NaN: not measured */
};

struct checkpoints {
    struct worker *worker;
    struct model *model;
    int32_t slots_n;                /* optimiser tensors per parameter */
    struct checkpoint_weights last; /* written last; update 0: none */
    struct {
        int64_t update, best; /* resuming from it needs the weights of both */
    } kept[2];                /* the newest checkpoint and the one before it; update 0: none */
};

/* checkpoints_save - writes and records a checkpoint of `now`, and deletes checkpoints no longer
 * needed. best: these weights are the best so far, and now->best is set to them. last: the training
 * is complete, so that no state is written. */
int checkpoints_save(struct checkpoints *c, struct checkpoint_point *now, bool best, bool last,
                     struct err *e);

/* checkpoints_finish - deletes all but the best and the last weights, after the attempt's end is
 * recorded. */
void checkpoints_finish(struct checkpoints *c);

/* checkpoints_resume - loads the newest valid checkpoint of older attempts into the model. *now is
 * unchanged if there is none. */
int checkpoints_resume(struct checkpoints *c, struct checkpoint_point *now, struct err *e);

#endif
