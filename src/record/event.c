/* event.c - framed records in an append-only file. */
#include "record/event.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"

enum { EVENT_TAIL_BYTES = 4, EVENT_JSON_MAX_BYTES = 1 << 20 };

/* Before the JSON; little endian. */
struct event_head {
    uint32_t json_bytes;
    uint64_t sequence;
    uint32_t type;
} __attribute__((packed));
_Static_assert(sizeof(struct event_head) == 16, "as in the file");

struct event_writer {
    int fd;               /* -1: records are dropped */
    pthread_mutex_t lock; /* of: */
    uint64_t sequence;    /* of the last record */
    bool ended;           /* which is EVENT_ENDED */
    char path[];
};

struct event_reader {
    int fd; /* -1 until the file exists */
    int64_t at;
    uint64_t sequence;
    json_t *json_own;
    char path[];
};

int event_writer_open(struct event_writer **out, const char *path, struct err *e)
{
    size_t path_n = path ? strlen(path) + 1 : 0;
    struct event_writer *w = calloc(1, sizeof *w + path_n);

    *out = NULL;
    if (!w) return ERR(e, ERR_NOMEM, "%s: no memory to write it", path ? path : "records");
    pthread_mutex_init(&w->lock, NULL);
    w->fd = -1;
    if (path) {
        memcpy(w->path, path, path_n);
        w->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    }
    if (path && w->fd < 0) {
        int rc = ERR(e, ERR_CREATE, "%s: cannot be created: %s", path, strerror(errno));
        free(w);
        return rc;
    }
    *out = w;
    return 0;
}

/* Appends a record; under the lock. */
static int append_record(struct event_writer *w, enum event_type type, const char *text, size_t n,
                         struct err *e)
{
    int rc = 0;
    unsigned char *record = NULL;
    size_t bytes = sizeof(struct event_head) + n + EVENT_TAIL_BYTES;

    if (w->ended)
        return ERR(e, ERR_INTERNAL, "%s: a record of type %d after the last", w->path, type);
    if (n > EVENT_JSON_MAX_BYTES || !(record = malloc(bytes)))
        return ERR(e, ERR_INTERNAL, "%s: a record of %zu bytes is too long", w->path, n);
    const struct event_head head = {htole32((uint32_t)n), htole64(w->sequence + 1),
                                    htole32((uint32_t)type)};
    memcpy(record, &head, sizeof head);
    memcpy(record + sizeof head, text, n);
    uint32_t crc = htole32(hash_crc32c(0, record, sizeof head + n));
    memcpy(record + sizeof head + n, &crc, sizeof crc);
    for (size_t done = 0; done < bytes;) {
        ssize_t wrote = write(w->fd, record + done, bytes - done);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) {
            rc = ERR(e, ERR_IO, "%s: writing a record: %s", w->path, strerror(errno));
            goto out;
        }
        done += (size_t)wrote;
    }
    w->sequence++;
    w->ended = type == EVENT_ENDED;
out:
    free(record);
    return rc;
}

int event_write(struct event_writer *w, enum event_type type, json_t *json, struct err *e)
{
    char *text =
        json ? json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17)) : NULL;

    json_decref(json);
    if (!text) return ERR(e, ERR_INTERNAL, "%s: a record of type %d has no JSON", w->path, type);
    pthread_mutex_lock(&w->lock);
    int rc = w->fd < 0 ? 0 : append_record(w, type, text, strlen(text), e);
    pthread_mutex_unlock(&w->lock);
    free(text);
    return rc;
}

int event_sync(struct event_writer *w, struct err *e)
{
    if (w->fd >= 0 && fdatasync(w->fd) < 0)
        return ERR(e, ERR_IO, "%s: fdatasync: %s", w->path, strerror(errno));
    return 0;
}

void event_writer_close(struct event_writer *w)
{
    if (!w) return;
    if (w->fd >= 0) close(w->fd);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

int event_reader_open(struct event_reader **out, const char *path, struct err *e)
{
    size_t path_n = strlen(path) + 1;
    struct event_reader *r = calloc(1, sizeof *r + path_n);

    *out = NULL;
    if (!r) return ERR(e, ERR_NOMEM, "%s: no memory to read it", path);
    r->fd = -1;
    memcpy(r->path, path, path_n);
    *out = r;
    return 0;
}

/* Reads n bytes at the reader's offset: 1, or 0 if the file has fewer. */
static int read_at(struct event_reader *r, void *out, size_t n, struct err *e)
{
    size_t done = 0;
    while (done < n) {
        ssize_t got = pread(r->fd, (char *)out + done, n - done, r->at + (int64_t)done);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return ERR(e, ERR_IO, "%s: %s", r->path, strerror(errno));
        if (got == 0) return 0;
        done += (size_t)got;
    }
    return 1;
}

int event_read(struct event_reader *r, struct event *out, struct err *e)
{
    struct event_head head;
    unsigned char *record = NULL;
    uint32_t crc;
    int rc = 0;

    if (r->fd < 0) r->fd = file_open_read(r->path, e);
    if (r->fd < 0) return r->fd == ERR_NOINPUT ? 0 : r->fd;
    rc = read_at(r, &head, sizeof head, e);
    if (rc <= 0) return rc;
    uint32_t n = le32toh(head.json_bytes);
    uint64_t sequence = le64toh(head.sequence);
    if (n > EVENT_JSON_MAX_BYTES || sequence != r->sequence + 1) return 0; /* damaged: the end */
    size_t bytes = sizeof(struct event_head) + n + EVENT_TAIL_BYTES;
    record = malloc(bytes);
    if (!record) return ERR(e, ERR_NOMEM, "%s: no memory for a record", r->path);
    rc = read_at(r, record, bytes, e);
    if (rc <= 0) goto out;
    rc = 0;
    memcpy(&crc, record + sizeof head + n, sizeof crc);
    if (hash_crc32c(0, record, sizeof head + n) != le32toh(crc)) goto out;
    json_t *json = json_loadb((char *)record + sizeof head, n, 0, NULL);
    if (!json) goto out;
    json_decref(r->json_own);
    r->json_own = json;
    r->at += (int64_t)bytes;
    r->sequence = sequence;
    *out = (struct event){
        .sequence = sequence, .type = (enum event_type)le32toh(head.type), .json = json};
    rc = 1;
out:
    free(record);
    return rc;
}

void event_reader_close(struct event_reader *r)
{
    if (!r) return;
    json_decref(r->json_own);
    if (r->fd >= 0) close(r->fd);
    free(r);
}
