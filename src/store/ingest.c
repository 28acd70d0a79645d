/* ingest.c - copies the records of a worker into rows.
 *
 * 1. Every table has a key that a record repeats when it is read again: ingesting it twice or in
 *    another order changes nothing.
 * 2. The columns are those of record_fields; a statement for each type is made from the table.
 * 3. Of STEP records every k-th is kept, k = updates / 1000 rounded up, and the first and the last:
 *    the choice depends on the update's number only, so a resumed run keeps the same ones. Records
 *    of updates that the run does not have are left out. */
#include "store/ingest.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "record/fields.h"
#include "store/database.h"
#include "store/schema.h"
#include "store/statements.h"

enum { INGEST_FIELDS_MAX = 64, INGEST_BATCH = 10000 };

/* The parameters of all statements, from ?1 on; the fields of the record follow. */
enum { INGEST_ATTEMPT, INGEST_RUN, INGEST_SEQUENCE, INGEST_NOW, INGEST_FIXED };

/* The statements; %s: the columns of the fields, then their values, which have the names of the
 * columns, or in an UPDATE fill what is empty. */
#define FILL "UPDATE run_attempts SET(%s)=(%s) WHERE attempt_id=?1 AND state='running'"
#define RESULT(kind)                                                                               \
    "INSERT INTO results(attempt_id,run_id,kind,sequence,current,late,%s)"                         \
    " SELECT ?1,a.run_id,'" kind "',?3,0,a.state<>'running',%s FROM run_attempts a"                \
    " WHERE a.attempt_id=?1 AND a.run_id=?2 ON CONFLICT DO NOTHING"

/* A row beside the result of the same attempt, which comes later. */
#define OF_RESULT(table)                                                                           \
    "INSERT INTO " table "(attempt_id,%s) SELECT ?1,%s FROM run_attempts a"                        \
    " WHERE a.attempt_id=?1 AND a.run_id=?2 ON CONFLICT DO NOTHING"

/* An update that the run has: a file from elsewhere may hold records of any number of others. */
#define OF_THE_RUN "step BETWEEN 0 AND coalesce(r.updates,step)"

static const char *const ingest_templates[] = {
    [EVENT_STARTED] = FILL,
    [EVENT_PROGRESS] =
        "INSERT OR REPLACE INTO progress_now(attempt_id,sequence,updated_at,%s)"
        " SELECT ?1,?3,?4,%s FROM run_attempts a WHERE a.attempt_id=?1 AND a.state='running'"
        " AND ?3>coalesce((SELECT n.sequence FROM progress_now n WHERE n.attempt_id=?1),-1)",
    [EVENT_STEP] =
        "INSERT INTO curve_points(attempt_id,split,%s) SELECT ?1,'train',%s FROM run_attempts a"
        " JOIN runs r USING(run_id) WHERE a.attempt_id=?1 AND " OF_THE_RUN
        " AND(step<=1 OR step=r.updates OR a.slot='imported'"
        " OR step%%max(1,(coalesce(r.updates,0)+999)/1000)=0) ON CONFLICT DO NOTHING",
    [EVENT_VALIDATION] =
        "INSERT INTO curve_points(attempt_id,split,%s) SELECT ?1,'valid',%s FROM run_attempts a"
        " JOIN runs r USING(run_id) WHERE a.attempt_id=?1 AND " OF_THE_RUN
        " ON CONFLICT DO NOTHING",
    [EVENT_CHECKPOINT] = "INSERT INTO checkpoint_files(attempt_id,sequence,%s) SELECT ?1,?3,%s"
                         " WHERE true ON CONFLICT DO NOTHING",
    [EVENT_TRAINED] = RESULT("train"),
    [EVENT_EVALUATED] = RESULT("eval"),
    [EVENT_BENCHED] = RESULT("bench"),
    [EVENT_ENDED] = FILL,
    [EVENT_CONTINUED] = NULL, /* only in the folder's records */
    [EVENT_HEAD] = OF_RESULT("attention_heads"),
    [EVENT_ROLLOUT] = OF_RESULT("attention_rollouts"),
    [EVENT_SOURCE] = NULL, /* of no attempt: sources.c */
};
_Static_assert(sizeof ingest_templates / sizeof *ingest_templates == DATABASE_EVENT_TYPES,
               "one each");

static bool is_stored(const struct record_field *f, enum event_type type)
{
    return f->type == type && f->column;
}

static const char *ingest_sql(struct store *s, enum event_type type)
{
    struct strbuf columns, values;
    bool updates = ingest_templates[type][0] == 'U';
    int at = INGEST_FIXED;

    if (s->ingest_sql[type]) return s->ingest_sql[type];
    strbuf_init(&columns, &s->arena);
    strbuf_init(&values, &s->arena);
    for (int32_t i = 0; i < record_fields_n; i++) {
        const struct record_field *f = &record_fields[i];
        const char *comma = at > INGEST_FIXED ? "," : "";
        if (!is_stored(f, type)) continue;
        strbuf_addf(&columns, "%s%s", comma, f->column);
        if (updates)
            strbuf_addf(&values, "%scoalesce(%s,?%d)", comma, f->column, ++at);
        else
            strbuf_addf(&values, "%s?%d AS %s", comma, ++at, f->column);
    }
    return s->ingest_sql[type] =
               arena_printf(&s->arena, ingest_templates[type], columns.text, values.text);
}

static int store_bins_by(struct store *s, int64_t attempt_id, uint64_t sequence,
                         const char *grouping, const struct record_bins *bins, struct err *e)
{
    for (int32_t i = 0; i < bins->n; i++) {
        const struct record_bin *b = &bins->bin[i];
        struct record_value hits = DATABASE_INT(b->hits);
        hits.known = b->hits != RECORD_NONE;
        TRY(DATABASE_RUN(s, e,
                         "INSERT INTO group_losses SELECT result_id,?3,?4,?5,?6,?7,?8,?9"
                         " FROM results WHERE attempt_id=?1 AND sequence=?2"
                         " ON CONFLICT DO NOTHING",
                         DATABASE_INT(attempt_id), DATABASE_INT(sequence), DATABASE_TEXT(grouping),
                         DATABASE_INT(b->first), DATABASE_INT(b->last), DATABASE_TEXT(b->name),
                         DATABASE_INT(b->targets), DATABASE_REAL(b->nll), hits));
    }
    return 0;
}

/* The losses by position, part and class of a result. An older program's record has those by
 * position as text. */
static int store_bins(struct store *s, int64_t attempt_id, uint64_t sequence,
                      const struct record_evaluated *r, struct err *e)
{
    if (r->position_loss)
        return DATABASE_RUN(s, e, schema_rows_of_attempt, DATABASE_INT(attempt_id));
    for (int32_t i = 0; i < r->bins.n; i++) {
        const struct record_bin *b = &r->bins.bin[i];
        TRY(DATABASE_RUN(s, e,
                         "INSERT INTO position_losses SELECT result_id,?3,?4,?5,?6 FROM results"
                         " WHERE attempt_id=?1 AND sequence=?2 ON CONFLICT DO NOTHING",
                         DATABASE_INT(attempt_id), DATABASE_INT(sequence), DATABASE_INT(b->first),
                         DATABASE_INT(b->last), DATABASE_INT(b->targets), DATABASE_REAL(b->nll)));
    }
    TRY(store_bins_by(s, attempt_id, sequence, "block", &r->blocks, e));
    return store_bins_by(s, attempt_id, sequence, "group", &r->groups, e);
}

static int store_record(struct store *s, int64_t attempt_id, const struct record *r,
                        uint64_t sequence, struct err *e)
{
    char now[CLOCK_TEXT_BYTES];
    struct record_value value[INGEST_FIXED + INGEST_FIELDS_MAX];
    int n = INGEST_FIXED;

    if (!ingest_templates[r->type]) return 0;
    clock_utc(now);
    value[INGEST_ATTEMPT] = DATABASE_INT(attempt_id);
    value[INGEST_RUN] = DATABASE_TEXT(record_run_id(r));
    value[INGEST_SEQUENCE] = DATABASE_INT(sequence);
    value[INGEST_NOW] = DATABASE_TEXT(now);
    for (int32_t i = 0; i < record_fields_n; i++) {
        if (!is_stored(&record_fields[i], r->type)) continue;
        assert(n < INGEST_FIXED + INGEST_FIELDS_MAX);
        value[n++] = record_get(r, &record_fields[i]);
    }
    TRY(database_run(s, ingest_sql(s, r->type), value, n, e));
    return r->type == EVENT_EVALUATED ? store_bins(s, attempt_id, sequence, &r->evaluated, e) : 0;
}

/* Reads a record of a run's attempt. */
static int read_record(struct record *r, const struct event *ev, const char *run_id, struct err *e)
{
    int rc = record_read(r, ev, e);

    if (rc < 0) err_ctx(e, "run %s", run_id);
    return rc;
}

int store_ingest(struct store *s, int64_t attempt_id, const struct event *ev, struct err *e)
{
    char run_id[SPEC_ID_BYTES];
    struct record r;

    int rc = database_get(s, "SELECT run_id FROM run_attempts WHERE attempt_id=?1",
                          DATABASE_VALUES(DATABASE_INT(attempt_id)),
                          DATABASE_COLUMNS(DATABASE_TO(run_id)), e);
    if (rc < 0) return rc;
    if (rc == 0)
        return ERR(e, ERR_INTERNAL, "results.db has no attempt with id %lld",
                   (long long)attempt_id);
    TRY(read_record(&r, ev, run_id, e));
    return store_record(s, attempt_id, &r, ev->sequence, e);
}

/* --- the records of one worker -------------------------------------------------------------- */

int journal_open(struct journal *j, const char *dir, struct ingest_target *run, int32_t runs_n,
                 struct err *e)
{
    *j = (struct journal){.run = run, .runs_n = runs_n, .rank = -1};
    return run_folder_poll(&j->reader_own, dir, e);
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

static void note_end(struct journal *j, const struct record_ended *r)
{
    enum store_state state = r->state ? store_state_find(r->state) : STORE_NONE;

    j->code = r->code ? err_from_name(r->code) : 0;
    j->cause = err_cause_from_name(r->cause);
    j->rank = r->rank >= 0 && r->rank <= INT32_MAX ? (int32_t)r->rank : -1;
    if (state > STORE_RUNNING) j->reported = state; /* it has ended */
    j->broken = j->reported == STORE_NONE;
    snprintf(j->message, sizeof j->message, "%s",
             j->broken    ? "the worker's last record has no known state"
             : r->message ? r->message
                          : "");
}

static void note_progress(struct journal *j, const struct record_progress *r)
{
    if (r->total > 0 && r->done >= 0) j->share = fmin(r->done / r->total, 1.0);
    if (r->total > 0 && j->first_update > 0)
        j->share_before = fmin((double)(j->first_update - 1) / r->total, j->share);
    if (r->wps >= 0) j->wps = r->wps;
}

/* A record about a run goes to the attempt of that run, any other one to all. */
static int ingest_event(struct journal *j, struct store *s, const struct event *ev, struct err *e)
{
    struct record r;
    bool found = false;

    j->records_n++;
    TRY(read_record(&r, ev, j->run[0].run_id, e));
    const char *run_id = record_run_id(&r);
    if (r.type == EVENT_STARTED && r.started.backend && strcmp(r.started.backend, "cpu") == 0)
        snprintf(j->blas, sizeof j->blas, "%s", r.started.blas ? r.started.blas : "");
    if (r.type == EVENT_STEP && j->first_update == 0) j->first_update = r.step.update;
    if (r.type == EVENT_PROGRESS) note_progress(j, &r.progress);
    if (r.type == EVENT_CHECKPOINT) j->has_checkpoint = true;
    if (r.type == EVENT_ENDED) note_end(j, &r.ended);
    for (int32_t i = 0; i < j->runs_n && !j->broken; i++) {
        if (run_id && strcmp(j->run[i].run_id, run_id) != 0) continue;
        TRY(store_record(s, j->run[i].attempt_id, &r, ev->sequence, e));
        found = true;
        if (record_is_result(&r)) j->run[i].has_result = true;
        if (r.type == EVENT_EVALUATED) j->run[i].is_evaluated = true;
    }
    if (run_id && !found)
        return ERR(e, ERR_DATA, "the worker wrote a result of a run that was not its own");
    return 0;
}

int ingest_new_records(struct journal *j, struct store *s, bool *batch, struct err *e)
{
    struct event ev;
    struct err why = {0};

    for (int i = 0; i < INGEST_BATCH && !j->broken; i++) {
        int rc = event_read(j->reader_own, &ev, &why);
        if (rc == 0) return 0;
        if (rc > 0 && !*batch) TRY(store_begin(s, e));
        *batch = *batch || rc > 0;
        if (rc > 0) rc = ingest_event(j, s, &ev, &why);
        if (rc >= 0) continue;
        /* A wrong record, or a file without records, ends only the attempt of its worker. */
        j->broken = rc == ERR_DATA || rc == ERR_NUMBER;
        if (!j->broken) return ERR(e, rc, "%s", why.text);
        snprintf(j->message, sizeof j->message, "%s", why.text);
    }
    return 0;
}

enum store_state journal_state(const struct journal *j, const struct ingest_target *run,
                               enum store_state attempt)
{
    return run->is_evaluated && !j->broken ? STORE_DONE : attempt;
}

/* The outcome of one run of a worker from its records alone, without an exit status. */
static void judge_abandoned(const struct journal *j, const struct ingest_target *run,
                            struct store_end *end)
{
    if (j->broken)
        end->state = STORE_FAILED;
    else if (j->reported == STORE_NONE || (j->reported == STORE_DONE && !run->has_result))
        end->state = STORE_LOST;
    else
        end->state = j->reported;
    end->message = *j->message ? j->message : NULL;
    if (end->state == STORE_LOST && j->reported != STORE_LOST)
        end->message = "its scheduler ended before it did";
    end->state = journal_state(j, run, end->state);
}

int ingest_abandoned(struct store *s, const char *dir, const struct store_running *row, int32_t n,
                     const char *ended_at, struct err *e)
{
    int rc = 0;
    bool batch = true;
    int64_t before;
    struct arena arena;
    struct journal j = {0};

    TRY(store_begin(s, e));
    arena_init(&arena);
    struct ingest_target *run = arena_array(&arena, (size_t)n, sizeof *run);
    for (int32_t i = 0; i < n; i++) {
        run[i].attempt_id = row[i].attempt_id;
        memcpy(run[i].run_id, row[i].run_id, sizeof run[i].run_id);
    }
    TRY_OUT(rc, journal_open(&j, dir, run, n, e));
    do {
        before = j.records_n;
        TRY_OUT(rc, ingest_new_records(&j, s, &batch, e));
    } while (j.records_n > before);
    for (int32_t i = 0; i < n; i++) {
        struct store_end end = {.exit_code = -1, .signal = -1, .ended_at = ended_at};
        judge_abandoned(&j, &run[i], &end);
        TRY_OUT(rc, store_end_attempt(s, run[i].attempt_id, &end, e));
    }
out:
    rc = store_finish(s, rc, e);
    journal_close(&j);
    arena_fini(&arena);
    return rc;
}
