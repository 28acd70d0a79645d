/* fields.h - the contents of event records: one table of all fields, and a struct for each type
 * that is made from it.
 *
 * 1. A fact about a field is in its row: its name in JSON and as a member, its type, where
 *    results.db keeps it, whether `alibi verify` compares it. Writer, reader, schema, ingest, merge
 *    and verify iterate over the table. A new metric is a row and a column of a view.
 * 2. An unknown value is NaN, RECORD_NONE or NULL, never zero; in JSON it is null or absent. An
 *    absent flag is false.
 * 3. Texts of a record that was read are borrowed from its JSON. */
#ifndef RECORD_FIELDS_H
#define RECORD_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "record/event.h"

#define RECORD_NONE INT64_MIN      /* an integer that is not known */
#define RECORD_IMPORTED "imported" /* the device of a training that another program did */

/* Bins of the targets of an evaluation, rising, each a range of numbers; in JSON an array of
 * [first, last, targets, nll], and for classes of a corpus [first, last, targets, nll, hits, name].
 * nll: the sum of the targets' losses in nats; NaN where one is not finite. hits: how many were the
 * most probable word. */
enum { RECORD_BINS_MAX = 64 }; /* the longest window has 54 ranges of positions */
struct record_bins {
    int32_t n;
    struct record_bin {
        int64_t first, last, targets;
        double nll;
        int64_t hits;     /* RECORD_NONE: not known */
        const char *name; /* NULL: none, and no hits in JSON */
    } bin[RECORD_BINS_MAX];
};

/* The fields of each type: X(T, t, kind, name, need, table, column, verified), as in struct
 * record_field. They are the members of struct record_t, the content of a record EVENT_T. */

/* The worker has opened its device. device: product name, or RECORD_IMPORTED; backend: cpu …
 * ranks: processes of the attempt, each with such a device; an older program's record has none: 1.
 * memory_in_use_bytes: of a GPU at that moment, by all programs and CUDA itself; results count what
 * the run adds to it. */
#define RECORD_STARTED(X, T, t)                                                                    \
    X(T, t, INT, pid, OPTIONAL, NULL, NULL, false)                                                 \
    X(T, t, TEXT, host, OPTIONAL, "run_attempts", "host", false)                                   \
    X(T, t, TEXT, device, REQUIRED, "run_attempts", "device", false)                               \
    X(T, t, TEXT, backend, OPTIONAL, "run_attempts", "backend", false)                             \
    X(T, t, TEXT, blas, OPTIONAL, "run_attempts", "blas", false)                                   \
    X(T, t, INT, threads, OPTIONAL, "run_attempts", "threads", false)                              \
    X(T, t, INT, ranks, OPTIONAL, "run_attempts", "ranks", false)                                  \
    X(T, t, TEXT, code_id, REQUIRED, "run_attempts", "code_id", false)                             \
    X(T, t, TEXT, program, OPTIONAL, "run_attempts", "program", false)                             \
    X(T, t, INT, memory_in_use_bytes, OPTIONAL, NULL, NULL, false)

/* About once a second; also the heartbeat. done, total: updates or targets. */
#define RECORD_PROGRESS(X, T, t)                                                                   \
    X(T, t, REAL, done, REQUIRED, "progress_now", "done", false)                                   \
    X(T, t, REAL, total, REQUIRED, "progress_now", "total", false)                                 \
    X(T, t, REAL, loss_nats, OPTIONAL, "progress_now", "loss_nats", false)                         \
    X(T, t, REAL, wps, OPTIONAL, "progress_now", "wps", false)

/* Every update. */
#define RECORD_STEP(X, T, t)                                                                       \
    X(T, t, INT, update, REQUIRED, "curve_points", "step", false)                                  \
    X(T, t, REAL, loss_nats, OPTIONAL, "curve_points", "loss_nats", true)                          \
    X(T, t, REAL, lr, OPTIONAL, "curve_points", "lr", true)                                        \
    X(T, t, REAL, grad_norm, OPTIONAL, "curve_points", "grad_norm", true)

#define RECORD_VALIDATION(X, T, t)                                                                 \
    X(T, t, INT, update, REQUIRED, "curve_points", "step", false)                                  \
    X(T, t, INT, epoch, OPTIONAL, "curve_points", "epoch", false)                                  \
    X(T, t, REAL, loss_nats, OPTIONAL, "curve_points", "loss_nats", true)                          \
    X(T, t, REAL, perplexity, OPTIONAL, "curve_points", "perplexity", true)                        \
    X(T, t, BOOL, best, OPTIONAL, "curve_points", "best", true)

/* path, state_path: names of files in the attempt's folder. state_…: of the optimiser; NULL:
 * weights only. best_update: of the best weights so far. */
#define RECORD_CHECKPOINT(X, T, t)                                                                 \
    X(T, t, INT, update, REQUIRED, "checkpoint_files", "step", false)                              \
    X(T, t, TEXT, path, REQUIRED, "checkpoint_files", "path", false)                               \
    X(T, t, TEXT, sha256, REQUIRED, "checkpoint_files", "sha256", true)                            \
    X(T, t, INT, bytes, OPTIONAL, "checkpoint_files", "bytes", false)                              \
    X(T, t, BOOL, best, OPTIONAL, "checkpoint_files", "best", false)                               \
    X(T, t, TEXT, state_path, OPTIONAL, NULL, NULL, false)                                         \
    X(T, t, TEXT, state_sha256, OPTIONAL, NULL, NULL, false)                                       \
    X(T, t, INT, best_update, OPTIONAL, NULL, NULL, false)

/* A result names its run, because several evaluations share a worker. */
#define RECORD_TRAINED(X, T, t)                                                                    \
    X(T, t, TEXT, run_id, REQUIRED, NULL, NULL, false)                                             \
    X(T, t, INT, peak_memory_bytes, OPTIONAL, "results", "peak_memory_bytes", false)               \
    X(T, t, REAL, wall_seconds, OPTIONAL, "results", "wall_seconds", false)                        \
    X(T, t, INT, updates, REQUIRED, "results", "updates", false)                                   \
    X(T, t, INT, tokens_per_update, REQUIRED, "results", "tokens_per_update", false)               \
    X(T, t, INT, parameters, OPTIONAL, "results", "parameters", false)                             \
    X(T, t, REAL, final_loss_nats, REQUIRED, "results", "final_loss_nats", true)                   \
    X(T, t, REAL, train_wps, OPTIONAL, "results", "train_wps", false)                              \
    X(T, t, TEXT, best_checkpoint, OPTIONAL, "results", "best_checkpoint", false)                  \
    X(T, t, TEXT, best_sha256, OPTIONAL, "results", "best_sha256", true)                           \
    X(T, t, TEXT, last_checkpoint, OPTIONAL, "results", "last_checkpoint", false)                  \
    X(T, t, TEXT, last_sha256, OPTIONAL, "results", "last_sha256", true)

/* bytes, words, documents: of the text that was scored, if a tokenizer cut it and all of the split
 * was scored. tokenizer, tokenizer_sha256: as in struct corpus; NULL: the words of dict.txt.
 * loss_nats, perplexity: not known where nonfinite > 0. tokens, nonfinite: targets scored; those
 * without a finite loss. eval_wps: not known where a pass was shared. bins: losses by position in
 * the windows, from 1; blocks: by number of the target, from 1, in 64 equal parts; groups: by class
 * of the corpus, from 0. An older program's record has none, so that they cannot be verified;
 * loss_nats is.
 * position_loss: the bins of programs before schema version 4 (schema.c). datastore_sha256: of
 * values and keys (worker/datastore.c); NULL: none were searched. */
#define RECORD_EVALUATED(X, T, t)                                                                  \
    X(T, t, TEXT, run_id, REQUIRED, NULL, NULL, false)                                             \
    X(T, t, INT, peak_memory_bytes, OPTIONAL, "results", "peak_memory_bytes", false)               \
    X(T, t, REAL, wall_seconds, OPTIONAL, "results", "wall_seconds", false)                        \
    X(T, t, REAL, loss_nats, IF_FINITE, "results", "loss_nats", true)                              \
    X(T, t, REAL, perplexity, IF_FINITE, "results", "perplexity", true)                            \
    X(T, t, INT, tokens, REQUIRED, "results", "tokens", true)                                      \
    X(T, t, INT, nonfinite, REQUIRED, "results", "nonfinite", true)                                \
    X(T, t, REAL, eval_wps, OPTIONAL, "results", "eval_wps", false)                                \
    X(T, t, TEXT, checkpoint_sha256, OPTIONAL, "results", "checkpoint_sha256", true)               \
    X(T, t, TEXT, position_loss, OPTIONAL, "results", "position_loss", false)                      \
    X(T, t, BINS, bins, OPTIONAL, NULL, NULL, false)                                               \
    X(T, t, BINS, blocks, OPTIONAL, NULL, NULL, false)                                             \
    X(T, t, BINS, groups, OPTIONAL, NULL, NULL, false)                                             \
    X(T, t, TEXT, datastore_sha256, OPTIONAL, "results", "datastore_sha256", true)                 \
    X(T, t, INT, bytes, OPTIONAL, "results", "bytes", true)                                        \
    X(T, t, INT, words, OPTIONAL, "results", "words", true)                                        \
    X(T, t, INT, documents, OPTIONAL, "results", "documents", true)                                \
    X(T, t, TEXT, tokenizer, OPTIONAL, "results", "tokenizer", false)                              \
    X(T, t, TEXT, tokenizer_sha256, OPTIONAL, "results", "tokenizer_sha256", true)

/* cpu_share, switches_per_s: of the measured steps, processor time over wall time and involuntary
 * context switches. */
#define RECORD_BENCHED(X, T, t)                                                                    \
    X(T, t, TEXT, run_id, REQUIRED, NULL, NULL, false)                                             \
    X(T, t, INT, peak_memory_bytes, OPTIONAL, "results", "peak_memory_bytes", false)               \
    X(T, t, REAL, wall_seconds, OPTIONAL, "results", "wall_seconds", false)                        \
    X(T, t, REAL, wps, REQUIRED, "results", "wps", true)                                           \
    X(T, t, REAL, mfu, OPTIONAL, "results", "mfu", false)                                          \
    X(T, t, INT, batch_tokens, OPTIONAL, "results", "batch_tokens", false)                         \
    X(T, t, REAL, cpu_share, OPTIONAL, "results", "cpu_share", false)                              \
    X(T, t, REAL, switches_per_s, OPTIONAL, "results", "switches_per_s", false)

/* state: done, failed, diverged, cancelled, or lost: another rank was. code: as err_name gives it.
 * message: one line, perhaps empty. choices: algorithms the device selected by timing; NULL: it
 * selects none. cause, rank, node: of an error, who is to blame, as in struct err; an older
 * program's record has none. */
#define RECORD_ENDED(X, T, t)                                                                      \
    X(T, t, TEXT, state, OPTIONAL, NULL, NULL, false)                                              \
    X(T, t, TEXT, code, OPTIONAL, NULL, NULL, false)                                               \
    X(T, t, TEXT, message, OPTIONAL, NULL, NULL, false)                                            \
    X(T, t, TEXT, choices, OPTIONAL, "run_attempts", "choices", false)                             \
    X(T, t, TEXT, cause, OPTIONAL, NULL, NULL, false)                                              \
    X(T, t, INT, rank, OPTIONAL, NULL, NULL, false)                                                \
    X(T, t, TEXT, node, OPTIONAL, NULL, NULL, false)

/* A training with a parent has started from the parent's weights; one that resumes from its own
 * checkpoint has no such record. update: that it goes on from. sha256, state_sha256: of the
 * parent's files. fresh, dropped: tensors that only the child, or only the parent, has. */
#define RECORD_CONTINUED(X, T, t)                                                                  \
    X(T, t, TEXT, parent, REQUIRED, NULL, NULL, true)                                              \
    X(T, t, INT, update, REQUIRED, NULL, NULL, true)                                               \
    X(T, t, TEXT, path, REQUIRED, NULL, NULL, false)                                               \
    X(T, t, TEXT, sha256, REQUIRED, NULL, NULL, true)                                              \
    X(T, t, TEXT, state_sha256, OPTIONAL, NULL, NULL, true)                                        \
    X(T, t, TEXT, fresh, REQUIRED, NULL, NULL, true)                                               \
    X(T, t, TEXT, dropped, REQUIRED, NULL, NULL, true)

/* Describes a head with the rows of a text; written before the result of its evaluation. Layers and
 * heads count from 1. Means are over the queries of a row and over rows. distance: tokens from the
 * query back to the key. logit_…: the extremes of the scores without the bias. slope: of a bias
 * that is -slope * distance. bound_excess: the most by which the logarithm of a weight leaves the
 * bounds that the slope and the row's own logits set (worker/heads.c); at most 0 up to rounding. */
#define RECORD_HEAD(X, T, t)                                                                       \
    X(T, t, TEXT, run_id, REQUIRED, NULL, NULL, false)                                             \
    X(T, t, TEXT, text, REQUIRED, "attention_heads", "text", true)                                 \
    X(T, t, INT, layer, REQUIRED, "attention_heads", "layer", true)                                \
    X(T, t, INT, head, REQUIRED, "attention_heads", "head", true)                                  \
    X(T, t, INT, rows, REQUIRED, "attention_heads", "rows", true)                                  \
    X(T, t, REAL, first_weight, OPTIONAL, "attention_heads", "first_weight", true)                 \
    X(T, t, REAL, entropy, OPTIONAL, "attention_heads", "entropy", true)                           \
    X(T, t, REAL, distance, OPTIONAL, "attention_heads", "distance", true)                         \
    X(T, t, REAL, logit_low, OPTIONAL, "attention_heads", "logit_low", true)                       \
    X(T, t, REAL, logit_high, OPTIONAL, "attention_heads", "logit_high", true)                     \
    X(T, t, REAL, slope, OPTIONAL, "attention_heads", "slope", true)                               \
    X(T, t, REAL, bound_excess, OPTIONAL, "attention_heads", "bound_excess", true)

/* The weight of the key at a distance from the last query of a row, through the first `layers`
 * layers of a head: an element of the product of its matrices of weights, the mean over rows. */
#define RECORD_ROLLOUT(X, T, t)                                                                    \
    X(T, t, TEXT, run_id, REQUIRED, NULL, NULL, false)                                             \
    X(T, t, TEXT, text, REQUIRED, "attention_rollouts", "text", true)                              \
    X(T, t, INT, layers, REQUIRED, "attention_rollouts", "layers", true)                           \
    X(T, t, INT, head, REQUIRED, "attention_rollouts", "head", true)                               \
    X(T, t, INT, distance, REQUIRED, "attention_rollouts", "distance", true)                       \
    X(T, t, REAL, weight, OPTIONAL, "attention_rollouts", "weight", true)

/* Weights that no training of this program made stand for those of the run. kind: checkpoint,
 * authors or folder. name: of the file that was imported, or of the model. path: the file of
 * weights in the attempt's folder, or the absolute path of a folder in Hugging Face format. sha256:
 * of that file; of a folder model.files. tokenizer: SHA-256 of what determines the ids of its
 * texts. files: of a folder, as sha256sum prints them. updates and the two after it: of the
 * training elsewhere. */
#define RECORD_SOURCE(X, T, t)                                                                     \
    X(T, t, TEXT, run_id, REQUIRED, NULL, NULL, false)                                             \
    X(T, t, TEXT, kind, REQUIRED, NULL, NULL, false)                                               \
    X(T, t, TEXT, name, REQUIRED, NULL, NULL, false)                                               \
    X(T, t, TEXT, path, REQUIRED, NULL, NULL, false)                                               \
    X(T, t, TEXT, sha256, REQUIRED, NULL, NULL, false)                                             \
    X(T, t, TEXT, tokenizer, OPTIONAL, NULL, NULL, false)                                          \
    X(T, t, TEXT, files, OPTIONAL, NULL, NULL, false)                                              \
    X(T, t, INT, updates, OPTIONAL, NULL, NULL, false)                                             \
    X(T, t, INT, tokens_per_update, OPTIONAL, NULL, NULL, false)                                   \
    X(T, t, REAL, final_loss_nats, OPTIONAL, NULL, NULL, false)                                    \
    X(T, t, INT, parameters, OPTIONAL, NULL, NULL, false)                                          \
    X(T, t, TEXT, code_id, REQUIRED, NULL, NULL, false)

#define RECORD_TYPES(X)                                                                            \
    X(STARTED, started)                                                                            \
    X(PROGRESS, progress)                                                                          \
    X(STEP, step)                                                                                  \
    X(VALIDATION, validation)                                                                      \
    X(CHECKPOINT, checkpoint)                                                                      \
    X(TRAINED, trained)                                                                            \
    X(EVALUATED, evaluated)                                                                        \
    X(BENCHED, benched)                                                                            \
    X(ENDED, ended)                                                                                \
    X(CONTINUED, continued)                                                                        \
    X(HEAD, head)                                                                                  \
    X(ROLLOUT, rollout)                                                                            \
    X(SOURCE, source)

#define RECORD_INT_TYPE int64_t
#define RECORD_REAL_TYPE double
#define RECORD_TEXT_TYPE const char *
#define RECORD_BOOL_TYPE bool
#define RECORD_BINS_TYPE struct record_bins
#define RECORD_MEMBER(T, t, kind, name, ...) RECORD_##kind##_TYPE name;
#define RECORD_STRUCT(T, t)                                                                        \
    struct record_##t {                                                                            \
        RECORD_##T(RECORD_MEMBER, T, t)                                                            \
    };
RECORD_TYPES(RECORD_STRUCT)

#define RECORD_IN_UNION(T, t) struct record_##t t;
struct record {
    enum event_type type;
    union {
        RECORD_TYPES(RECORD_IN_UNION)
    };
};

enum record_kind { RECORD_INT, RECORD_REAL, RECORD_TEXT, RECORD_BOOL, RECORD_BINS };
enum record_need { RECORD_OPTIONAL, RECORD_REQUIRED, RECORD_IF_FINITE };

struct record_field {
    enum event_type type;
    const char *name; /* in JSON, and of the member */
    size_t offset;    /* in struct record */
    enum record_kind kind;
    enum record_need need; /* RECORD_IF_FINITE: required, and known, only where nonfinite = 0 */
    const char *table, *column; /* of results.db; NULL: not stored */
    bool verified;              /* a reproduction must give the same value */
};
extern const struct record_field record_fields[]; /* the fields of a type are neighbours */
extern const int32_t record_fields_n;

/* record_write - appends the record to the attempt's events. A text that is not UTF-8 loses the
 * bytes that are not ASCII. */
int record_write(struct event_writer *w, const struct record *r, struct err *e);

/* record_read - the record of an event. Errors: ERR_DATA an unknown type, or the field that is
 * missing or has another type. */
int record_read(struct record *out, const struct event *ev, struct err *e);

/* record_copy - copies a record with its texts into an arena. */
void record_copy(struct record *out, const struct record *r, struct arena *a);

/* record_run_id - the run that the record is about; NULL: the attempt. record_is_result - whether
 * it is that run's result. */
const char *record_run_id(const struct record *r);
bool record_is_result(const struct record *r);

/* The value of a field. */
struct record_value {
    enum record_kind kind;
    bool known;
    int64_t integer; /* also of a flag */
    double real;
    const char *text;
    const struct record_bins *bins;
};
struct record_value record_get(const struct record *r, const struct record_field *f);
/* record_equal - bit for bit; two values that are not known are equal. */
bool record_equal(const struct record_value *a, const struct record_value *b);
/* record_equals_cell - record_equal with a cell of results.db as text; NULL: SQL NULL. */
bool record_equals_cell(const struct record_value *v, const char *cell);
/* record_format - for messages, in an arena; "nothing" if it is not known. */
char *record_format(const struct record_value *v, struct arena *a);

#endif
