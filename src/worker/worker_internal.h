/* worker_internal.h - shared by the kinds of runs: the attempt's folder, its records, requests to
 * stop, weights, checkpoints, scores, speed.
 *
 * There is no signal handler: SIGTERM and SIGINT are blocked during the attempt, and
 * worker_stop_requested checks for pending ones. */
#ifndef WORKER_WORKER_INTERNAL_H
#define WORKER_WORKER_INTERNAL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "backend/backend.h"
#include "base/arena.h"
#include "data/corpus.h"
#include "data/windows.h"
#include "group/group.h"
#include "interchange/safetensors.h"
#include "model/model.h"
#include "record/run_folder.h"
#include "source/source.h"
#include "spec/spec.h"
#include "worker/worker.h"

struct worker {
    const struct project *project;
    const struct worker_options *options;
    struct arena arena;
    char *dir;      /* absolute */
    int32_t number; /* of the attempt; 0: dir is not runs/<run id>/<attempt> and has
                       no siblings */
    struct spec *spec;
    char (*run_id)[SPEC_ID_BYTES]; /* of each spec */
    int32_t specs_n;
    struct backend *backend;
    struct group *group;         /* NULL: alone */
    bool has_met;                /* the other ranks, or has tried to */
    struct event_writer *events; /* of a rank above 0: drops its records */
    int64_t in_use_bytes;        /* of a GPU, when it was opened: its driver counts all programs */
    int64_t started_us, progress_us; /* start of the attempt; time of the last progress record */
    struct record_progress progress; /* the last that worker_progress was given */
    int64_t looked_us;               /* time of the last look within a pass */
    bool has_choices;                /* the backend has restored recorded algorithms */
    bool stopped;
    sigset_t mask_before;
};

/* --- train.c, evaluate.c, bench.c: the kinds of runs ------------------------------------------ */
struct checkpoints;

/* train_run - runs the attempt's only spec, of kind SPEC_TRAIN, from its first update or from a
 * checkpoint of an older attempt. Records updates, validations, checkpoints and EVENT_TRAINED. The
 * caller passes `kept` to checkpoints_finish after recording the outcome. Errors: ERR_NUMBER a loss
 * or gradient is not finite; ERR_INTERRUPTED after writing a checkpoint; ERR_DATA the corpus does
 * not match. */
int train_run(struct worker *a, struct checkpoints *kept, struct err *e);

/* evaluate_run - runs all specs of the attempt, of kind SPEC_EVAL, and records EVENT_EVALUATED as
 * soon as each is done. Errors: ERR_NOINPUT the training is not done; ERR_DATA the checkpoint or
 * the corpus does not match; ERR_INTERRUPTED. */
int evaluate_run(struct worker *a, struct err *e);

/* bench_run - runs the attempt's only spec, of kind SPEC_BENCH; records EVENT_BENCHED. */
int bench_run(struct worker *a, struct err *e);

/* worker_progress - records EVENT_PROGRESS, at most once per second. An unknown loss or rate is
 * NaN. */
int worker_progress(struct worker *a, int64_t done, int64_t total, double loss_nats, double wps,
                    struct err *e);

/* worker_peak_bytes - the peak memory of the run: on a GPU beyond what was in use when it was
 * opened, on a CPU of the process; the largest of the ranks, all of which call it. */
int worker_peak_bytes(const struct worker *a, int64_t *out, struct err *e);

/* worker_writes - whether this process writes and deletes the files of the run: rank 0. */
static inline bool worker_writes(const struct worker *a)
{
    return group_rank(a->group) == 0;
}

/* worker_stop_requested - true if SIGTERM or SIGINT has arrived, at rank 0 also if it has at any
 * rank. With ranks, rank 0 shares what follows from it. */
bool worker_stop_requested(struct worker *a);
/* worker_check_stop - of an evaluation or a benchmark: ERR_INTERRUPTED if a stop was requested. */
int worker_check_stop(struct worker *a, struct err *e);

/* worker_choices - the algorithms that the backend selected by timing, as text in an arena; NULL:
 * none. worker_share_choices - gives the text of rank 0 to all ranks. worker_restore_choices -
 * makes the backend use these algorithms, or warns if it does not have them. NULL and "": none. */
const char *worker_choices(const struct worker *a, struct arena *arena);
int worker_share_choices(struct worker *a, const char **choices, struct err *e);
void worker_restore_choices(struct worker *a, const char *choices);

/* corpus_open_for - opens data/CORPUS of the spec. Errors: as corpus_open; ERR_DATA its vocabulary,
 * token counts or fingerprint (if the spec has one) differ from the spec's. */
int corpus_open_for(struct corpus *c, const struct project *p, const struct spec *s, struct err *e);

/* --- weights.c: a model's tensors in safetensors files ------------------------------------------
 *
 * Weights have the names of oracle SPEC.md section 14, optimiser state the same names and a prefix.
 * Always fp32. */

/* weights_save - slots_n 0: writes the parameters; otherwise slots_n optimiser tensors per
 * parameter, named "state0.NAME", "state1.NAME". Texts are written to __metadata__. sha256 and
 * bytes of the file may be NULL. path NULL: only gives this rank's parts to rank 0, which writes.
 */
int weights_save(struct model *m, int32_t slots_n, const char *path,
                 const struct safetensors_text *texts, int32_t texts_n, char sha256[HASH_HEX_BYTES],
                 int64_t *bytes, struct err *e);

/* weights_load - loads tensors saved by weights_save; path is for messages. The model is unchanged
 * unless the whole file matches it. Errors: ERR_DATA a tensor is missing, has another shape or
 * dtype, or is not in the model. */
int weights_load(struct model *m, int32_t slots_n, const struct safetensors *s, const char *path,
                 struct err *e);

/* weights_inherit - the same for a training's parent: loads the tensors of a file of the parent,
 * whose parameters are `parent`, that the child takes over, and leaves the others as they are.
 * Errors: also ERR_DATA a number is not finite. */
int weights_inherit(struct model *m, int32_t slots_n, const struct shape_inheritance *h,
                    const struct shape_params *parent, const struct safetensors *s,
                    const char *path, struct err *e);

/* --- weights of a source (source/source.h) for evaluations ---------------------------------------
 *
 * weights_are_streamed - true if a model of it has a capacity with `streamed`: on a CPU, where the
 * folder's files are in the same memory. weights_of_source - gives the weights to a model; a
 * streamed one reads them until source_close. */
bool weights_are_streamed(const struct source *s, const struct worker *a);
int weights_of_source(const struct source *s, const struct worker *a, struct model *m,
                      struct err *e);

/* --- parent.c: the start of a training that continues another one -------------------------------
 *
 * 1. The model has its own initial values; those of the tensors that the parent has too are
 *    replaced by the parent's, and with train.continues=all so is the optimiser state.
 * 2. With `all` the update number goes on at the parent's. The validation due there was the
 *    parent's; best on valid starts empty.
 * 3. The run id covers the parent's run id, and not the hash of its file, which does not exist when
 *    a run is planned. EVENT_CONTINUED records the hash, and `alibi verify` compares it. */

struct checkpoint_point;

/* parent_start - sets the model and *now; *rate to the learning rate that the parent used last
 * (train.continues=weights: unchanged). Records EVENT_CONTINUED. Errors: ERR_NOINPUT the parent is
 * not done, or kept no optimiser state; ERR_DATA it is of another model, text or optimiser, or its
 * file is damaged. */
int parent_start(struct worker *a, struct model *m, int32_t slots_n, struct checkpoint_point *now,
                 double *rate, struct err *e);

/* --- checkpoints.c: the checkpoints of a training, and resuming from them ------------------------
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

/* --- score.c: passes over a token stream that score every target of a protocol once ---
 *
 * model_score is exact by row: the bits of a score depend only on the tokens of its row up to it.
 * Therefore neither batching nor the length of a row after a scored position changes a score; a
 * pass for several lengths relies on this. */

struct score_options {
    struct model *model;
    struct group *group;    /* of validate_loss: the ranks that share its batches; NULL: alone */
    int32_t rows;           /* rows per batch: shape_capacity_scores of the opened model */
    struct windows windows; /* of the token stream that they name */
    const int32_t *L;       /* rising lengths that share a pass with stride 1 over windows.targets_n
                               targets; NULL: only the windows */
    int32_t L_n;
    enum score_keys {
        SCORE_NO_KEYS,
        SCORE_AND_KEYS, /* the model has a capacity with `keys` */
        SCORE_ONLY_KEYS /* logp is not computed */
    } keys;
    int32_t width; /* of a key: model.dim */
};

/* A score. For each `which`, targets come once each, in stream order. */
struct score {
    int64_t target; /* of the stream */
    int32_t at;     /* position in its window, from 0 */
    int32_t which;  /* index of the length; 0 without L */
    float logp;     /* log p of the target, nats */
    bool hit;       /* of a model opened with capacity.hits: the target is the most probable word */
    int32_t index;  /* internal: of the scored position */
};

/* A pass in batches: `while (s.rows_left > 0)` scores_next, which sets item[0 .. n).
 *
 * With several lengths:
 *   1. A row begins at every source position s and has the longest length, or ends with the
 *      document.
 *   2. In the row that begins at s, position L-1 has exactly L-1 tokens of context: it is the last
 *      token of the window of length L of target s + L - 1.
 *   3. Targets before L-1 have all earlier tokens as context: the row that begins the document
 *      scores them for every length. It is the first row of its batch, so that scored_max holds. */
struct scores {
    struct score_options options;
    struct arena arena; /* of the arrays */
    struct score *item;
    int64_t n;
    int64_t rows_left, rows_n; /* rows_n: of the batch */
    int32_t length, width;     /* of a row: nominal, and tokens with padding */
    int64_t scored_n, scored_max;
    int32_t *source, *target; /* (rows, width) */
    int32_t *position;        /* of each scored position: row * width + at */
    float *logp;              /* of each scored position */
    float *keys;              /* of each scored position: model_keys; NULL: none */
};
void scores_open(struct scores *s, const struct score_options *o);
int scores_next(struct scores *s, struct err *e);
void scores_close(struct scores *s);

/* validate_loss - the loss on valid during training, in nats per target, over nonoverlapping
 * windows of train.validate_L tokens (0: train.L) of the whole split. It selects the best
 * checkpoint and is never reported as perplexity. With train.tail_quirk a target of class 1 of a
 * tail counts only its cluster term, as in the authors' validation (oracle SPEC.md section 7).
 * o->windows names the tokens only. Rank r of P scores batches r, r + P, …; all ranks get all log
 * p, and add them in the order of the text. tick (may be NULL) is called before each P batches; a
 * negative code ends the validation. validate_windows - completes the windows of o. */
typedef int (*validate_tick_fn)(void *context, struct err *e);
int validate_windows(struct windows *w, const struct spec *s, struct err *e);
int validate_loss(const struct score_options *o, const struct spec *s, validate_tick_fn tick,
                  void *context, double *loss_nats, struct err *e);

/* --- datastore.c: the keys of a training's text, in memory ---------------------------------------
 *
 * Values are the first targets of the training text, keys their activations (model_keys). Every
 * worker whose evaluations search them computes them first. */

struct datastore_options {
    struct worker *worker;
    const struct source *source;
    const struct corpus *corpus;
    struct spec_knn knn; /* of spec_datastore */
    int64_t more;        /* targets that the worker scores afterwards, for progress */
};
struct datastore {
    float *keys_own;     /* (n, model.dim) */
    int32_t *values_own; /* (n) */
    int64_t n;
    char sha256[HASH_HEX_BYTES]; /* of the values, then the keys */
};
/* datastore_build - Errors: ERR_INTERRUPTED; ERR_NUMBER a key is not finite; ERR_NOMEM names the
 * setting. */
int datastore_build(struct datastore *d, const struct datastore_options *o, struct err *e);
void datastore_close(struct datastore *d);
/* datastore_model - opens the model that computes keys: with the checkpoint's values, or with its
 * initial ones. */
int datastore_model(struct model **out, const struct datastore_options *o, const struct spec *s,
                    const struct shape_capacity *capacity, struct err *e);

/* --- neighbours.c: exact search in tiles, see there ---------------------------------------------
 */

struct neighbours_options {
    struct backend *backend;
    const float *keys; /* (keys_n, width) on the host; borrowed */
    int64_t keys_n;
    int32_t width, k, queries_max;
    int (*tick)(void *context, struct err *e); /* before each tile; a negative code ends the
                                                  search; may be NULL */
    void *context;
};
struct neighbour {
    double distance; /* squared */
    int64_t key;
};
struct neighbours {
    struct neighbours_options options;
    float *queries_dev_own, *keys_dev_own, *halves_dev_own, *products_dev_own;
    float *products_own, *halves_own;
    struct neighbour *heap_own; /* (queries_max, kept) */
    int32_t *heap_n_own, kept;
    double longest;     /* largest square of a key */
    int64_t repeated_n; /* queries that were compared with every key */
};
/* neighbours_open - Errors: ERR_DATA k is not from 1 to keys_n; ERR_NOMEM. neighbours_close also
 * follows an error. */
int neighbours_open(struct neighbours *s, const struct neighbours_options *o, struct err *e);
void neighbours_close(struct neighbours *s);
/* neighbours_find - the k nearest keys of each query (queries_n, width); ties to the lower index.
 * Errors: ERR_DATA a key is not finite. neighbours_of - those of a query of the last call, by
 * rising distance; NaN if the query is not finite. */
int neighbours_find(struct neighbours *s, const float *queries, int32_t queries_n, struct err *e);
const struct neighbour *neighbours_of(const struct neighbours *s, int32_t query);
/* neighbours_weigh - softmax(-distance / temperature). neighbours_mix - log((1 - lambda) e^logp +
 * lambda p). */
void neighbours_weigh(double *weight, const struct neighbour *near, int32_t k, double temperature);
double neighbours_mix(double logp, double p, double lambda);

/* --- heads.c: what attention heads do with rows of text ------------------------------------------
 *
 * 1. Each evaluation with eval.attention_rows describes the heads for three texts of so many rows:
 *    the first rows of the split, cut like nonoverlapping windows; rows of random words; rows of
 *    one random word, repeated. Words are drawn from the training's seed.
 * 2. Statistics are summed in double, row by row (RECORD_HEAD, RECORD_ROLLOUT). */

/* heads_see - what the heads of each layer do with one row of T tokens: `see` is called for each
 * layer in order, and may end the pass with an error. Arrays are on the host until it returns. s:
 * the model's spec. Errors: ERR_UNAVAILABLE activations are bf16; ERR_NOMEM. */
struct heads_layer {
    int32_t layer, H, T;
    float *weight; /* (H,T,T) attention weights of the keys of each query */
    float *logit;  /* (H,T,T) its scores without the bias by distance, with forget gates; -INFINITY:
                      the key is not seen */
    float *slope;  /* (H) where the bias is -slope * distance; else NULL */
};
typedef int heads_fn(void *context, const struct heads_layer *layer, struct err *e);
int heads_see(struct model *m, struct backend *b, const struct spec_model *s,
              const struct model_batch *batch, heads_fn *see, void *context, struct err *e);

/* heads_record - reads the rows with the evaluation's model, and records EVENT_HEAD for each head
 * and EVENT_ROLLOUT. Errors: ERR_DATA the split is too short; ERR_INTERRUPTED; ERR_NOMEM. */
int heads_record(struct worker *a, int32_t spec, const struct spec *trained, struct model *m,
                 const struct tokens *tokens, struct err *e);

/* heads_roll - multiplies a row of T shares by a matrix (T,T) of weights: the shares of the layer
 * below. spare: T numbers. */
void heads_roll(double *row, double *spare, const float *weight, int32_t T);

/* evaluate_bin_first - the first position of a bin of positions (evaluate.c, rule 6). */
int32_t evaluate_bin_first(int32_t bin);

/* --- bench.c: words per second of a training, the median over windows of ten updates ---
 *
 * 1. The device is synchronised at both ends of a window; windows exclude validation and
 *    checkpoints.
 * 2. The first ten updates of an attempt, or a twentieth of its updates if that is fewer, are
 *    warm-up and not measured.
 * 3. The median ignores bursts of other load on the machine. An attempt too short for a whole
 *    window is measured by the updates it has. */

struct speed {
    int64_t warmup; /* warm-up updates left */
    int64_t window_n, window_targets;
    double window_s;
    struct {
        double *item;
        int32_t n, capacity;
    } rates; /* targets per second of each whole window */
    struct arena *arena;
};

void speed_init(struct speed *s, struct arena *a, int64_t updates);
/* speed_window_ends - true if the next update added ends a window, so that the device must be
 * synchronised first. */
bool speed_window_ends(const struct speed *s);
void speed_add(struct speed *s, int64_t targets_n, double seconds);
/* speed_rate - targets per second, or NaN without a measurement. */
double speed_rate(const struct speed *s);
/* speed_median - the median of n values, which it sorts; NaN if n is 0. */
double speed_median(double *values, int64_t n);

/* --- train.c -------------------------------------------------------------------------------- */

/* schedule_rate - the learning rate of update `update`, counted from 0.
 *
 * 1. Warm-up: below t->warmup it rises linearly from lr_init to lr (a negative lr_init means
 *    lr_min).
 * 2. SPEC_FIXED: afterwards lr.
 * 3. SPEC_COSINE: period i has period * period_multiplier^i updates, in which the rate falls along
 *    half a cosine from lr to lr_min, both times lr_shrink^i. If period is 0: lr.
 * Source: the authors' README recipe and scheduler (oracle SPEC.md section 10). */
double schedule_rate(const struct spec_train *t, int64_t update);

#endif
