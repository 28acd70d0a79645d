/* ingest.c - the records of a worker become rows.
 *
 * 1. Every table has a key that a record repeats when it is read again: ingesting it twice, or in
 *    another order, changes nothing.
 * 2. The columns are those of record_fields; a statement for each type is made from the table.
 * 3. Of STEP records every k-th is kept, k = updates / 1000 rounded up, and the first and the last:
 *    the choice depends on the update's number only, so a resumed run keeps the same ones. */
#include "store/ingest.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "record/fields.h"
#include "store/database.h"

enum { INGEST_STEPS_KEPT = 1000, INGEST_FIELDS_MAX = 64, INGEST_BATCH = 10000 };

/* What all statements are given; the record's fields follow. */
enum { INGEST_ATTEMPT, INGEST_RUN, INGEST_SEQUENCE, INGEST_LATE, INGEST_NOW, INGEST_FIXED };

/* How the records of a type are stored. columns: besides those of the fields; NULL: the fields fill
 * what is empty in the attempt's row. */
struct ingest_rule {
    const char *verb, *columns, *values, *condition;
    bool running; /* only while the attempt runs */
};

#define RESULT_COLUMNS "attempt_id,run_id,kind,sequence,current,late"
#define RESULT_VALUES(kind) "?1,?2,'" kind "',?3,0,?4"
#define ONCE "WHERE true ON CONFLICT DO NOTHING"

static const struct ingest_rule ingest_rules[] = {
    [EVENT_STARTED] = {.running = true},
    [EVENT_PROGRESS] = {"INSERT OR REPLACE", "attempt_id,sequence,updated_at", "?1,?3,?5",
                        "WHERE ?3>coalesce((SELECT sequence FROM progress_now WHERE"
                        " attempt_id=?1),-1)",
                        true},
    [EVENT_STEP] = {"INSERT", "attempt_id,split", "?1,'train'", ONCE, false},
    [EVENT_VALIDATION] = {"INSERT", "attempt_id,split", "?1,'valid'", ONCE, false},
    [EVENT_CHECKPOINT] = {"INSERT", "attempt_id,sequence", "?1,?3", ONCE, false},
    [EVENT_TRAINED] = {"INSERT", RESULT_COLUMNS, RESULT_VALUES("train"), ONCE, false},
    [EVENT_EVALUATED] = {"INSERT", RESULT_COLUMNS, RESULT_VALUES("eval"), ONCE, false},
    [EVENT_BENCHED] = {"INSERT", RESULT_COLUMNS, RESULT_VALUES("bench"), ONCE, false},
    [EVENT_ENDED] = {.running = true},
};
_Static_assert(sizeof ingest_rules / sizeof *ingest_rules == DATABASE_EVENT_TYPES, "one rule each");

static bool is_stored(const struct record_field *f, enum event_type type)
{
    return f->type == type && f->column;
}

/* UPDATE run_attempts SET device=coalesce(device,?6),… */
static void write_update(struct strbuf *sql, enum event_type type)
{
    int at = INGEST_FIXED;

    strbuf_add(sql, "UPDATE run_attempts SET");
    for (int32_t i = 0; i < record_fields_n; i++) {
        const struct record_field *f = &record_fields[i];
        if (!is_stored(f, type)) continue;
        strbuf_addf(sql, "%s %s=coalesce(%s,?%d)", at > INGEST_FIXED ? "," : "", f->column,
                    f->column, at + 1);
        at++;
    }
    strbuf_add(sql, " WHERE attempt_id=?1 AND state='running'");
}

/* INSERT INTO results(attempt_id,…,updates,…) SELECT ?1,…,?6,… WHERE … */
static void write_insert(struct strbuf *sql, enum event_type type)
{
    const struct ingest_rule *rule = &ingest_rules[type];
    const char *table = NULL;
    struct strbuf columns, values;
    int at = INGEST_FIXED;

    strbuf_init(&columns, sql->arena);
    strbuf_init(&values, sql->arena);
    for (int32_t i = 0; i < record_fields_n; i++) {
        const struct record_field *f = &record_fields[i];
        if (!is_stored(f, type)) continue;
        table = f->table;
        strbuf_addf(&columns, ",%s", f->column);
        strbuf_addf(&values, ",?%d", ++at);
    }
    strbuf_addf(sql, "%s INTO %s(%s%s) SELECT %s%s %s", rule->verb, table, rule->columns,
                columns.text, rule->values, values.text, rule->condition);
}

static const char *ingest_sql(struct store *s, enum event_type type)
{
    struct strbuf sql;

    if (s->ingest_sql[type]) return s->ingest_sql[type];
    strbuf_init(&sql, &s->arena);
    if (ingest_rules[type].columns)
        write_insert(&sql, type);
    else
        write_update(&sql, type);
    return s->ingest_sql[type] = sql.text;
}

static bool step_is_kept(int64_t update, int64_t updates)
{
    int64_t every = (updates + INGEST_STEPS_KEPT - 1) / INGEST_STEPS_KEPT;
    return every <= 1 || update <= 1 || update == updates || update % every == 0;
}

static struct database_value bound_value(const struct record_value *v)
{
    if (!v->known) return DATABASE_NULL;
    if (v->kind == RECORD_REAL) return DATABASE_REAL(v->real);
    return v->kind == RECORD_TEXT ? DATABASE_TEXT(v->text) : DATABASE_INT(v->integer);
}

static int store_record(struct store *s, const struct record *r, uint64_t sequence,
                        const struct database_known *k, struct err *e)
{
    char now[CLOCK_TEXT_BYTES];
    struct database_value value[INGEST_FIXED + INGEST_FIELDS_MAX];
    int n = INGEST_FIXED;

    clock_utc(now);
    value[INGEST_ATTEMPT] = DATABASE_INT(k->attempt_id);
    value[INGEST_RUN] = DATABASE_TEXT(k->run_id);
    value[INGEST_SEQUENCE] = DATABASE_INT(sequence);
    value[INGEST_LATE] = DATABASE_INT(!k->running);
    value[INGEST_NOW] = DATABASE_TEXT(now);
    for (int32_t i = 0; i < record_fields_n; i++) {
        if (!is_stored(&record_fields[i], r->type)) continue;
        assert(n < INGEST_FIXED + INGEST_FIELDS_MAX);
        struct record_value v = record_get(r, &record_fields[i]);
        value[n++] = bound_value(&v);
    }
    return database_run(s, ingest_sql(s, r->type), value, n, e);
}

/* The attempt of this id, as far as ingest asks for it again and again. */
static int find_attempt(struct store *s, int64_t attempt_id, const struct database_known **out,
                        struct err *e)
{
    struct database_known *k = &s->known[(uint64_t)attempt_id % DATABASE_KNOWN];
    sqlite3_stmt *row;

    *out = k;
    if (k->attempt_id == attempt_id && attempt_id != 0) return 0;
    k->attempt_id = 0;
    TRY(DATABASE_SELECT(s, &row, e,
                        "SELECT a.run_id,coalesce(r.updates,0),a.state='running' FROM run_attempts "
                        "a JOIN runs r USING(run_id) WHERE a.attempt_id=?1",
                        DATABASE_INT(attempt_id)));
    int rc = database_next(s, row, e);
    if (rc < 0) return rc;
    if (rc == 0)
        return ERR(e, ERR_INTERNAL, "results.db has no attempt with id %lld",
                   (long long)attempt_id);
    *k = (struct database_known){.attempt_id = attempt_id,
                                 .updates = sqlite3_column_int64(row, 1),
                                 .running = sqlite3_column_int(row, 2)};
    database_text(k->run_id, sizeof k->run_id, row, 0);
    database_reset(row);
    return 0;
}

/* Reads a record of a run's attempt. */
static int read_record(struct record *r, const struct event *ev, const char *run_id, struct err *e)
{
    int rc = record_read(r, ev, e);

    if (rc < 0) err_ctx(e, "run %s", run_id);
    return rc;
}

/* A record that is read for the attempt k. */
static int ingest_record(struct store *s, const struct database_known *k, const struct record *r,
                         uint64_t sequence, struct err *e)
{
    const char *run_id = record_run_id(r);

    if (run_id && strcmp(run_id, k->run_id) != 0) return 0;
    if (ingest_rules[r->type].running && !k->running) return 0;
    if (r->type == EVENT_STEP && !step_is_kept(r->step.update, k->updates)) return 0;
    return store_record(s, r, sequence, k, e);
}

int store_ingest(struct store *s, int64_t attempt_id, const struct event *ev, struct err *e)
{
    const struct database_known *k;
    struct record r;

    TRY(find_attempt(s, attempt_id, &k, e));
    TRY(read_record(&r, ev, k->run_id, e));
    return ingest_record(s, k, &r, ev->sequence, e);
}

/* --- the records of one worker -------------------------------------------------------------- */

int journal_open(struct journal *j, const char *dir, struct ingest_target *run, int32_t runs_n,
                 struct err *e)
{
    struct arena a;

    *j = (struct journal){.run = run, .runs_n = runs_n};
    arena_init(&a);
    int rc = event_reader_open(&j->reader_own, run_folder_path(&a, dir, RUN_EVENTS), e);
    arena_fini(&a);
    return rc;
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

static void journal_break(struct journal *j, const char *why)
{
    j->broken = true;
    snprintf(j->message, sizeof j->message, "%s", why);
}

static void note_end(struct journal *j, const struct record_ended *r)
{
    static const enum store_state ends[] = {STORE_DONE, STORE_FAILED, STORE_DIVERGED,
                                            STORE_CANCELLED};

    j->unavailable = r->code && strcmp(r->code, err_name(ERR_UNAVAILABLE)) == 0;
    for (size_t i = 0; r->state && i < sizeof ends / sizeof *ends; i++)
        if (strcmp(r->state, store_state_name(ends[i])) == 0) j->said = ends[i];
    if (j->said == STORE_NONE)
        journal_break(j, "the worker's last record has no known state");
    else
        snprintf(j->message, sizeof j->message, "%s", r->message ? r->message : "");
}

static void note_progress(struct journal *j, const struct record_progress *r)
{
    if (r->total > 0 && r->done >= 0) j->share = fmin(r->done / r->total, 1.0);
    if (r->wps >= 0) j->wps = r->wps;
}

/* A result goes to the attempt of its run, any other record to all. */
static int ingest_event(struct journal *j, struct store *s, const struct event *ev, struct err *e)
{
    const struct database_known *k;
    struct record r;
    bool found = false;

    j->records_n++;
    TRY(read_record(&r, ev, j->run[0].run_id, e));
    const char *run_id = record_run_id(&r);
    if (r.type == EVENT_STARTED && r.started.backend && strcmp(r.started.backend, "cpu") == 0)
        snprintf(j->blas, sizeof j->blas, "%s", r.started.blas ? r.started.blas : "");
    if (r.type == EVENT_PROGRESS) note_progress(j, &r.progress);
    if (r.type == EVENT_CHECKPOINT) j->has_checkpoint = true;
    if (r.type == EVENT_ENDED) note_end(j, &r.ended);
    for (int32_t i = 0; i < j->runs_n && !j->broken; i++) {
        if (run_id && strcmp(j->run[i].run_id, run_id) != 0) continue;
        TRY(find_attempt(s, j->run[i].attempt_id, &k, e));
        TRY(ingest_record(s, k, &r, ev->sequence, e));
        if (run_id) found = j->run[i].has_result = true;
    }
    if (run_id && !found)
        return ERR(e, ERR_DATA, "the worker wrote a result of a run that was not its own");
    return 0;
}

/* What the store finds wrong in a record, or a file that is not one, is the worker's fault and ends
 * its attempt only. */
static int note_wrong(struct journal *j, int rc, const struct err *why, struct err *e)
{
    if (rc != ERR_DATA && rc != ERR_NUMBER) return ERR(e, rc, "%s", why->text);
    journal_break(j, why->text);
    return 0;
}

int journal_ingest(struct journal *j, struct store *s, bool *batch, struct err *e)
{
    struct event ev;
    struct err why = {0};

    for (int i = 0; i < INGEST_BATCH && !j->broken; i++) {
        int rc = event_read(j->reader_own, &ev, &why);
        if (rc == 0) return 0;
        if (rc > 0 && !*batch) TRY(store_begin(s, e));
        *batch = *batch || rc > 0;
        if (rc > 0) rc = ingest_event(j, s, &ev, &why);
        if (rc < 0) TRY(note_wrong(j, rc, &why, e));
    }
    return 0;
}

/* What the records of a worker say about one of its runs, without an exit status to compare. */
static void judge_abandoned(const struct journal *j, const struct ingest_target *run,
                            struct store_end *end)
{
    if (j->broken)
        end->state = STORE_FAILED;
    else if (j->said == STORE_NONE || (j->said == STORE_DONE && !run->has_result))
        end->state = STORE_LOST;
    else
        end->state = j->said;
    end->message = *j->message ? j->message : NULL;
    if (end->state == STORE_LOST) end->message = "its scheduler ended before it did";
}

int ingest_abandoned(struct store *s, const char *dir, const struct store_running *row, int32_t n,
                     const char *ended_at, struct err *e)
{
    int rc = 0;
    bool batch = false;
    struct arena arena;
    struct journal j = {0};

    arena_init(&arena);
    struct ingest_target *run = arena_array(&arena, (size_t)n, sizeof *run);
    for (int32_t i = 0; i < n; i++) {
        run[i].attempt_id = row[i].attempt_id;
        memcpy(run[i].run_id, row[i].run_id, sizeof run[i].run_id);
    }
    TRY_OUT(rc, journal_open(&j, dir, run, n, e));
    for (int64_t before = -1; j.records_n > before;) {
        before = j.records_n;
        TRY_OUT(rc, journal_ingest(&j, s, &batch, e));
    }
    for (int32_t i = 0; i < n; i++) {
        struct store_end end = {.exit_code = -1, .signal = -1, .ended_at = ended_at};
        judge_abandoned(&j, &run[i], &end);
        TRY_OUT(rc, store_end_attempt(s, run[i].attempt_id, &end, e));
    }
    if (batch) rc = store_commit(s, e);
    batch = batch && rc < 0;
out:
    if (batch) store_rollback(s);
    journal_close(&j);
    arena_fini(&arena);
    return rc;
}
