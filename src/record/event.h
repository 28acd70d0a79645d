/* event.h - event records: the framed file through which a worker reports to the scheduler.
 *
 * A record: u32 length of the JSON, u64 sequence number (from 1), u32 type, JSON text, u32 CRC-32C
 * of all before it; little endian, appended with one write. A torn or damaged tail ends the file
 * for a reader. Sequence numbers make ingest idempotent. Only the worker of the attempt writes the
 * file; of a worker with several ranks, rank 0. fields.h has the content of each type. */
#ifndef RECORD_EVENT_H
#define RECORD_EVENT_H

#include <jansson.h>
#include <stdint.h>

#include "base/err.h"

enum event_type {
    EVENT_STARTED = 1,
    EVENT_PROGRESS = 2,
    EVENT_STEP = 3,
    EVENT_VALIDATION = 4,
    EVENT_CHECKPOINT = 5,
    EVENT_TRAINED = 6,    /* the result of a training */
    EVENT_EVALUATED = 7,  /* the result of an evaluation */
    EVENT_BENCHED = 8,    /* the result of a benchmark */
    EVENT_ENDED = 9,      /* the last record */
    EVENT_CONTINUED = 10, /* a training has started from another one's checkpoint */
    EVENT_HEAD = 11,      /* what an attention head does, before the evaluation's result */
    EVENT_ROLLOUT = 12,   /* attention through several layers, likewise */
    EVENT_SOURCE = 13     /* weights made elsewhere are registered; the only record of its folder */
};

/* Writing. A record survives the writer's death when event_write returns, and the machine's after
 * event_sync. Several threads may write; after EVENT_ENDED none can (ERR_INTERNAL). */
struct event_writer;
/* event_writer_open - path NULL: records are dropped. Errors: ERR_CREATE the file exists. */
int event_writer_open(struct event_writer **out, const char *path, struct err *e);
/* event_write - steals the reference to json (as json_object_set_new does), also on failure. */
int event_write(struct event_writer *w, enum event_type type, json_t *json, struct err *e);
int event_sync(struct event_writer *w, struct err *e);
void event_writer_close(struct event_writer *w); /* takes NULL */

/* Reading. A file that grows may be polled. */
struct event_reader;
struct event {
    uint64_t sequence;
    enum event_type type;
    json_t *json; /* borrowed until the next event_read or close */
};
/* event_reader_open - the file may be created later. */
int event_reader_open(struct event_reader **out, const char *path, struct err *e);
/* event_read - 1 and the next whole record; 0 at the end, at a torn tail or without a file: try
 * again later. Errors: ERR_DATA not a regular file; ERR_IO, ERR_NOMEM. */
int event_read(struct event_reader *r, struct event *out, struct err *e);
void event_reader_close(struct event_reader *r); /* takes NULL */

#endif
