/* trained.c - from a training's id to its best or last weights. */
#include "worker/trained.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "record/event.h"

/* Reads the records of one attempt; *done says whether it trained run_id and ended well. The path
 * stays NULL when it left no result. */
static int trained_read(struct trained *out, bool *done, const char *dir, const char *run_id,
                        enum spec_checkpoint which, struct arena *a, struct err *e)
{
    struct event_reader *reader = NULL;
    struct event record;
    int rc = 0;
    bool trained = false;

    *out = (struct trained){0};
    *done = false;
    TRY(event_reader_open(&reader, arena_printf(a, "%s/events", dir), e));
    while ((rc = event_read(reader, &record, e)) == 1) {
        if (record.type == EVENT_TRAINED) {
            const char *id = json_string_value(json_object_get(record.json, "run_id"));
            const char *path = json_string_value(json_object_get(
                record.json, which == SPEC_BEST ? "best_checkpoint" : "last_checkpoint"));
            const char *sha256 = json_string_value(
                json_object_get(record.json, which == SPEC_BEST ? "best_sha256" : "last_sha256"));
            trained = id && strcmp(id, run_id) == 0 && path && !strchr(path, '/') && sha256;
            if (!trained) continue;
            out->path = arena_printf(a, "%s/%s", dir, path);
            snprintf(out->sha256, sizeof out->sha256, "%s", sha256);
        }
        if (record.type == EVENT_ENDED) {
            const char *state = json_string_value(json_object_get(record.json, "state"));
            *done = trained && state && strcmp(state, "done") == 0;
            if (!*done) out->path = NULL;
        }
    }
    event_reader_close(reader);
    return rc;
}

/* The highest number of an attempt's folder below `below`, 0 if there is none. */
static int trained_newest(int64_t *out, const char *dir, int64_t below, struct err *e)
{
    DIR *folder = opendir(dir);
    int64_t number;

    *out = 0;
    if (!folder)
        return ERR(e, ERR_NOINPUT, "%s: %s; the training was never run here", dir, strerror(errno));
    for (const struct dirent *d; (d = readdir(folder));)
        if (str_to_int(&number, d->d_name) && number > *out && number < below) *out = number;
    closedir(folder);
    return 0;
}

int checkpoint_find(struct trained *out, const struct project *p, struct arena *a,
                    const char *run_id, enum spec_checkpoint which, struct err *e)
{
    const char *dir = arena_printf(a, "%s/runs/%s", p->root, run_id);
    struct trained torn = {0};
    int64_t number = INT64_MAX;
    bool done = false;

    for (;;) {
        TRY(trained_newest(&number, dir, number, e));
        *out = torn;
        if (number == 0 && torn.path) return 0;
        if (number == 0)
            return ERR(e, ERR_NOINPUT, "%s: no attempt of the training %s is done", dir, run_id);
        TRY(trained_read(out, &done, arena_printf(a, "%s/%lld", dir, (long long)number), run_id,
                         which, a, e));
        if (done) return 0;
        if (!torn.path) torn = *out;
    }
}
