/* fields.h - the contents of event records: a struct for each type, and one table of all fields.
 *
 * 1. A fact about a field is in its row of record_fields: its name in JSON, its type, where
 *    results.db keeps it, whether `alibi verify` compares it. Writer, reader, schema, ingest, merge
 *    and verify iterate over the table. A new metric is a member, a row and its place in a view.
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

#define RECORD_NONE INT64_MIN /* an integer that is not known */

struct record_started { /* the worker has opened its device */
    int64_t pid, threads;
    const char *host, *device, *backend, *blas; /* device: product name; backend: cpu … */
    const char *code_id, *program;
};
struct record_progress { /* about once a second; also the heartbeat */
    double done, total;  /* updates or targets */
    double loss_nats, wps;
};
struct record_step { /* every update */
    int64_t update;
    double loss_nats, lr, grad_norm;
};
struct record_validation {
    int64_t update, epoch;
    double loss_nats, perplexity;
    bool best;
};
struct record_checkpoint {
    int64_t update;
    const char *path, *sha256; /* names of files in the attempt's folder */
    int64_t bytes;
    bool best;
    const char *state_path, *state_sha256; /* of the optimiser; NULL: weights only */
    int64_t best_update;                   /* of the best weights so far */
};
/* A result names its run, because several evaluations share a worker. */
struct record_trained {
    const char *run_id;
    int64_t peak_memory_bytes;
    double wall_seconds;
    int64_t updates, tokens_per_update, parameters;
    double final_loss_nats, train_wps;
    const char *best_checkpoint, *best_sha256, *last_checkpoint, *last_sha256;
};
struct record_evaluated {
    const char *run_id;
    int64_t peak_memory_bytes;
    double wall_seconds;
    double loss_nats, perplexity; /* not known where nonfinite > 0 */
    int64_t tokens, nonfinite;    /* targets scored; those without a finite loss */
    double eval_wps;              /* not known where a pass was shared */
    const char *checkpoint_sha256;
    /* A line of 64 bytes for each range of positions in the windows, rising: first and last
     * position, from 1 (10 bytes each), targets there (16), the sum of their losses in nats (27,
     * empty where it is not finite), a newline. NULL: an older program's record. */
    const char *position_loss;
};
struct record_benched {
    const char *run_id;
    int64_t peak_memory_bytes;
    double wall_seconds, wps, mfu;
    int64_t batch_tokens;
    double cpu_share;      /* of the measured steps: processor time over wall time */
    double switches_per_s; /* of the measured steps: involuntary context switches */
};
struct record_ended {
    const char *state;   /* done, failed, diverged or cancelled */
    const char *code;    /* as err_name gives it */
    const char *message; /* one line, perhaps empty */
    const char *choices; /* algorithms the device selected by timing; NULL: it selects none */
};

struct record {
    enum event_type type;
    union {
        struct record_started started;
        struct record_progress progress;
        struct record_step step;
        struct record_validation validation;
        struct record_checkpoint checkpoint;
        struct record_trained trained;
        struct record_evaluated evaluated;
        struct record_benched benched;
        struct record_ended ended;
    };
};

enum record_kind { RECORD_INT, RECORD_REAL, RECORD_TEXT, RECORD_BOOL };
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

/* record_copy - the same with its texts in an arena. */
void record_copy(struct record *out, const struct record *r, struct arena *a);

/* record_run_id - the run whose result the record is; NULL: the record is not a result. */
const char *record_run_id(const struct record *r);

/* The value of a field. */
struct record_value {
    enum record_kind kind;
    bool known;
    int64_t integer; /* also of a flag */
    double real;
    const char *text;
};
struct record_value record_get(const struct record *r, const struct record_field *f);
/* record_equal - bit for bit; two values that are not known are equal. */
bool record_equal(const struct record_value *a, const struct record_value *b);
/* record_equals_cell - the same with a cell of results.db as text; NULL: SQL NULL. */
bool record_equals_cell(const struct record_value *v, const char *cell);
/* record_format - for messages, in an arena; "nothing" if it is not known. */
char *record_format(const struct record_value *v, struct arena *a);

#endif
