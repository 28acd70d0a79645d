/* ingest.c - the worker's records become rows.
 *
 * 1. Every table has a key that a record repeats when it is read again: ingesting it twice, or in
 *    another order, changes nothing.
 * 2. The columns are those of record_fields; a statement for each type is made from the table.
 * 3. Of STEP records every k-th is kept, k = updates / 1000 rounded up, and the first and the last:
 *    the choice depends on the update's number only, so a resumed run keeps the same ones. */
#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "record/fields.h"
#include "store/database.h"

enum { INGEST_STEPS_KEPT = 1000, INGEST_FIELDS_MAX = 64 };

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

int store_ingest(struct store *s, int64_t attempt_id, const struct event *ev, struct err *e)
{
    const struct database_known *k;
    struct record r;

    TRY(find_attempt(s, attempt_id, &k, e));
    int rc = record_read(&r, ev, e);
    if (rc < 0) {
        err_ctx(e, "run %s", k->run_id);
        return rc;
    }
    const char *run_id = record_run_id(&r);
    if (run_id && strcmp(run_id, k->run_id) != 0) return 0;
    if (ingest_rules[r.type].running && !k->running) return 0;
    if (r.type == EVENT_STEP && !step_is_kept(r.step.update, k->updates)) return 0;
    return store_record(s, &r, ev->sequence, k, e);
}
