/* event.h - the record file through which a worker tells the scheduler what happened.
 *
 * A record: u32 length of the JSON, u64 sequence (from 1), u32 type, JSON text, u32 CRC-32C of all
 * before it; little endian, appended with one write. A torn or damaged tail ends the file for a
 * reader. Sequence numbers make ingestion idempotent. Only the worker of the attempt writes the
 * file. */
#ifndef SPEC_EVENT_H
#define SPEC_EVENT_H

#include <jansson.h>
#include <stdint.h>

#include "base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

enum event_type {
    EVENT_STARTED = 1,    /* pid, host, device, backend, blas, threads, code_id, program */
    EVENT_PROGRESS = 2,   /* done, total (updates or targets), loss_nats, wps; about once a second;
                             also the heartbeat */
    EVENT_STEP = 3,       /* update, loss_nats, lr, grad_norm: every update */
    EVENT_VALIDATION = 4, /* update, epoch, loss_nats, perplexity, best (bool) */
    EVENT_CHECKPOINT = 5, /* update, path (relative to the attempt), sha256, bytes, best (bool) */
    EVENT_TRAINED = 6,    /* run_id, updates, tokens_per_update, parameters, final_loss_nats,
                             train_wps,    peak_memory_bytes, wall_seconds, best_checkpoint,
                             best_sha256,    last_checkpoint, last_sha256 */
    EVENT_EVALUATED =
        7, /* run_id, loss_nats, perplexity (null if nonfinite > 0), tokens, nonfinite, eval_wps or
              null, peak_memory_bytes, checkpoint_sha256, wall_seconds */
    EVENT_BENCHED = 8, /* run_id, wps, peak_memory_bytes, mfu, batch_tokens, wall_seconds */
    EVENT_ENDED = 9    /* state: done | failed | diverged | cancelled; code (err_name), message,
                          choices (of algorithms; absent where the device has none) */
};

/* Writing. The record is on its way to the disk when event_write returns; event_sync makes it
 * durable. */
struct event_writer;
int event_writer_open(struct event_writer **out, const char *path, struct err *e);
/* event_write - takes over the reference to json (as json_object_set_new does), also on failure. */
int event_write(struct event_writer *w, enum event_type type, json_t *json, struct err *e);
int event_sync(struct event_writer *w, struct err *e);
void event_writer_close(struct event_writer *w); /* takes NULL */

/* Reading from where one left off; a file that grows may be polled. */
struct event_reader;
struct event {
    uint64_t sequence;
    enum event_type type;
    json_t *json; /* a loan until the next event_read or close */
};
/* event_reader_open - the file need not exist yet. */
int event_reader_open(struct event_reader **out, const char *path, struct err *e);
/* event_read - 1 and the next whole record, 0 at the end or at a torn tail (try again later), or an
 * error. */
int event_read(struct event_reader *r, struct event *out, struct err *e);
void event_reader_close(struct event_reader *r); /* takes NULL */

#ifdef __cplusplus
}
#endif
#endif
