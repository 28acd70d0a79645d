/* journal.c - sorts records to the attempts they belong to. */
#include "store/journal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { JOURNAL_BATCH = 10000 };

int journal_open(struct journal *j, const char *path, struct ingest_target *run, int32_t runs_n,
                 struct err *e)
{
    *j = (struct journal){.run = run, .runs_n = runs_n};
    return event_reader_open(&j->reader_own, path, e);
}

void journal_close(struct journal *j)
{
    event_reader_close(j->reader_own);
    j->reader_own = NULL;
}

bool journal_has_results(const struct journal *j)
{
    for (int32_t i = 0; i < j->runs_n; i++)
        if (!j->run[i].has_result) return false;
    return true;
}

static bool journal_is_result(enum event_type type)
{
    return type == EVENT_TRAINED || type == EVENT_EVALUATED || type == EVENT_BENCHED;
}

static void journal_break(struct journal *j, const char *why)
{
    j->broken = true;
    snprintf(j->message, sizeof j->message, "%s", why);
}

static void journal_note_end(struct journal *j, const json_t *json)
{
    static const enum store_state ends[] = {STORE_DONE, STORE_FAILED, STORE_DIVERGED,
                                            STORE_CANCELLED};
    const char *state = json_string_value(json_object_get(json, "state"));
    const char *message = json_string_value(json_object_get(json, "message"));
    const char *code = json_string_value(json_object_get(json, "code"));

    j->unavailable = code && strcmp(code, err_name(ERR_UNAVAILABLE)) == 0;
    for (size_t i = 0; state && i < sizeof ends / sizeof *ends; i++)
        if (strcmp(state, store_state_name(ends[i])) == 0) j->said = ends[i];
    if (j->broken) return;
    if (j->said == STORE_NONE)
        journal_break(j, "the worker's last record names no state that there is");
    else
        snprintf(j->message, sizeof j->message, "%s", message ? message : "");
}

static void journal_note_progress(struct journal *j, const json_t *json)
{
    double done = json_number_value(json_object_get(json, "done"));
    double total = json_number_value(json_object_get(json, "total"));
    double wps = json_number_value(json_object_get(json, "wps"));

    if (total > 0 && done >= 0) j->share = fmin(done / total, 1.0);
    if (wps >= 0) j->wps = wps;
}

/* The attempt a result belongs to, or NULL: a result of a run this worker was not given. */
static struct ingest_target *journal_find(struct journal *j, const json_t *json)
{
    const char *run_id = json_string_value(json_object_get(json, "run_id"));

    for (int32_t i = 0; run_id && i < j->runs_n; i++)
        if (strcmp(j->run[i].run_id, run_id) == 0) return &j->run[i];
    return NULL;
}

/* A record that the store finds wrong is the worker's fault and ends its attempt; anything else is
 * ours. */
static int journal_give(struct journal *j, struct store *s, struct ingest_target *run,
                        const struct event *ev, struct err *e)
{
    int rc = store_ingest(s, run->attempt_id, ev, e);

    if (rc != ERR_DATA && rc != ERR_NUMBER) return rc;
    journal_break(j, e->text);
    return 0;
}

static int journal_take(struct journal *j, struct store *s, const struct event *ev, struct err *e)
{
    j->records_n++;
    if (journal_is_result(ev->type)) {
        struct ingest_target *run = journal_find(j, ev->json);
        if (!run) {
            journal_break(j, "the worker wrote a result of a run that was not its own");
            return 0;
        }
        TRY(journal_give(j, s, run, ev, e));
        run->has_result = !j->broken;
        return 0;
    }
    if (ev->type == EVENT_PROGRESS) journal_note_progress(j, ev->json);
    if (ev->type == EVENT_CHECKPOINT) j->has_checkpoint = true;
    if (ev->type == EVENT_ENDED) journal_note_end(j, ev->json);
    for (int32_t i = 0; i < j->runs_n && !j->broken; i++)
        TRY(journal_give(j, s, &j->run[i], ev, e));
    return 0;
}

int ingest_new_records(struct journal *j, struct store *s, bool *batch, struct err *e)
{
    struct event ev;

    for (int i = 0; i < JOURNAL_BATCH && !j->broken; i++) {
        int got = event_read(j->reader_own, &ev, e);
        if (got == ERR_DATA) { /* not a file: no reason to stop the other attempts */
            journal_break(j, e->text);
            return 0;
        }
        if (got <= 0) return got;
        if (!*batch) TRY(store_begin(s, e));
        *batch = true;
        TRY(journal_take(j, s, &ev, e));
    }
    return 0;
}
