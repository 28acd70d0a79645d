/* merge_rows.c - the rows of another results.db, for a merge and for a file to publish. */
#include "store/merge.h"

#include "store/database.h"
#include "store/open.h"
#include "store/schema.h"
#include "store/statements.h"

int merge_attach(struct merge *m, const struct store *other, struct err *e)
{
    const char *uri =
        database_uri(&m->arena, other->path, other->immutable ? "immutable=1" : "mode=ro");

    return DATABASE_RUN(m->store, e, "ATTACH ?1 AS other", DATABASE_TEXT(uri));
}

static const char merge_current[] =
    "UPDATE main.results SET current=1 WHERE result_id IN("
    " SELECT v.result_id FROM other.results o"
    " JOIN other.run_attempts t ON t.attempt_id=o.attempt_id"
    " JOIN main.run_attempts h ON h.uid=t.uid"
    " JOIN main.results v ON v.attempt_id=h.attempt_id AND v.sequence=o.sequence"
    " WHERE o.current=1 AND NOT EXISTS(SELECT 1 FROM main.results c WHERE c.run_id=v.run_id"
    "  AND c.current=1)"
    " AND NOT EXISTS(SELECT 1 FROM main.sources c WHERE c.id=v.run_id AND c.current=1))";

/* The copied tables in this order: rows o of the other file, with h, the row here of their attempt.
 */
#define OF_ATTEMPT                                                                                 \
    " o JOIN other.run_attempts t ON t.attempt_id=o.attempt_id"                                    \
    " JOIN main.run_attempts h ON h.uid=t.uid WHERE true"

/* The same of their result, v. */
#define OF_RESULT                                                                                  \
    " o JOIN other.results w ON w.result_id=o.result_id"                                           \
    " JOIN other.run_attempts t ON t.attempt_id=w.attempt_id"                                      \
    " JOIN main.run_attempts h ON h.uid=t.uid"                                                     \
    " JOIN main.results v ON v.attempt_id=h.attempt_id AND v.sequence=w.sequence WHERE true"

static const struct {
    const char *name, *from;
} merge_tables[] = {
    {"runs", " o WHERE true ORDER BY o.run_id"},
    {"sources", " o WHERE o.uid NOT IN(SELECT uid FROM temp.known)"},
    {"run_attempts", " o WHERE o.state<>'running' AND o.uid NOT IN(SELECT uid FROM temp.known)"
                     " AND o.uid NOT IN(SELECT uid FROM main.sources) ORDER BY o.run_id,o.attempt"},
    {"results", OF_ATTEMPT " ORDER BY h.attempt_id,o.sequence"},
    {"position_losses", OF_RESULT},
    {"group_losses", OF_RESULT},
    {"checkpoint_files", OF_ATTEMPT " ORDER BY h.attempt_id,o.sequence"},
    {"curve_points", OF_ATTEMPT},
    {"attention_heads", OF_ATTEMPT},
    {"attention_rollouts", OF_ATTEMPT},
    {"points", " o WHERE NOT EXISTS(SELECT 1 FROM main.points h WHERE h.artefact=o.artefact"
               " AND h.scale=o.scale) ORDER BY o.artefact,o.scale,o.point"},
};

/* The statement that copies table ?1 from ?2: the columns that both files have. Its own ?1 is the
 * other file's folder. A new number is NULL; a row whose key is here stays as it is. */
static const char merge_statement[] =
    "SELECT 'INSERT INTO main.'||?1||'('||group_concat(name)||') SELECT '||group_concat(CASE"
    " WHEN name='result_id' AND ?1 LIKE '%_losses' THEN 'v.result_id'"
    " WHEN name='result_id' OR(name='attempt_id' AND ?1='run_attempts') THEN 'NULL'"
    " WHEN name='source_id' THEN 'NULL'"
    " WHEN name='attempt_id' THEN 'h.attempt_id'"
    " WHEN ?1='sources' AND name='attempt' THEN 'o.attempt'"
    " WHEN ?1='sources' AND name='current' THEN 'o.current AND"
    "  NOT EXISTS(SELECT 1 FROM main.results c WHERE c.run_id=o.id AND c.current=1) AND"
    "  NOT EXISTS(SELECT 1 FROM main.sources c WHERE c.id=o.id AND c.current=1)'"
    " WHEN name='attempt' THEN 'o.attempt+(SELECT coalesce(max(h.attempt),0)"
    "  FROM main.run_attempts h WHERE h.run_id=o.run_id)'"
    " WHEN name='dir' THEN 'CASE WHEN substr(o.dir,1,1)=''/'' THEN o.dir ELSE ?1||''/''||o.dir END'"
    " WHEN name='merged_from' THEN 'coalesce(o.merged_from,?1)'"
    " WHEN name='current' THEN '0' ELSE 'o.'||name END)||' FROM other.'||?1||?2"
    " ||' ON CONFLICT DO NOTHING'"
    " FROM pragma_table_info(?1,'main')"
    " WHERE name IN(SELECT name FROM pragma_table_info(?1,'other'))";

int merge_table(struct store *s, const char *name, const char *from, const char *folder,
                struct err *e)
{
    const char *sql;

    TRY(database_get(s, merge_statement, DATABASE_VALUES(DATABASE_TEXT(name), DATABASE_TEXT(from)),
                     DATABASE_COLUMNS(DATABASE_TO(sql)), e));
    if (!*sql) return 0; /* an older file has no such table */
    int rc = database_get(s, sql, DATABASE_VALUES(DATABASE_TEXT(folder)), NULL, 0, e);
    if (rc != ERR_INTERNAL || (sqlite3_errcode(s->connection_own) & 0xff) != SQLITE_CONSTRAINT)
        return rc;
    return ERR(e, ERR_DATA, "a row of %s breaks a rule of results.db: %s", name,
               sqlite3_errmsg(s->connection_own));
}

const char *merge_dir(struct merge *m, const char *folder, const char *dir)
{
    return *dir == '/' ? dir : arena_printf(&m->arena, "%s/%s", folder, dir);
}

struct attempt_list {
    struct other_attempt {
        const char *run_id, *uid, *dir;
    } * item;
    int32_t n, capacity;
};

/* Attempts with other uids whose records are here, in the table temp.known. */
static int list_known(struct merge *m, const char *folder, struct err *e)
{
    struct attempt_list all = {0};
    struct other_attempt o;
    char records[HASH_HEX_BYTES];
    sqlite3_stmt *row;
    int rc;

    TRY(database_script(m->store, "CREATE TEMP TABLE known(uid TEXT PRIMARY KEY)", e));
    TRY(database_select(
        m->store, &row,
        "SELECT run_id,uid,dir FROM other.run_attempts WHERE state<>'running' AND dir<>''"
        " AND uid NOT IN(SELECT uid FROM main.run_attempts)"
        " AND run_id IN(SELECT run_id FROM main.run_attempts UNION SELECT id FROM main.sources)",
        NULL, 0, e));
    while ((rc = database_next(
                m->store, row,
                DATABASE_COLUMNS(DATABASE_TO(o.run_id), DATABASE_TO(o.uid), DATABASE_TO(o.dir)),
                e)) > 0)
        *vec_push(&m->arena, &all) = o;
    for (int32_t i = 0; rc == 0 && i < all.n; i++) {
        o = all.item[i];
        if (!merge_hash_records(records, m, merge_dir(m, folder, o.dir))) continue;
        rc = merge_find_records(m, o.run_id, records, e);
        if (rc > 0)
            rc = DATABASE_RUN(m->store, e, "INSERT INTO temp.known VALUES(?1)",
                              DATABASE_TEXT(o.uid));
    }
    return rc;
}

int merge_rows(struct merge *m, const char *folder, struct err *e)
{
    static const char count[] = "SELECT count(*) FROM main.results WHERE current=1";
    struct store *s = m->store;
    int32_t before, after;
    int rc = 0;

    TRY(store_begin(s, e));
    TRY_OUT(rc, DATABASE_NUMBER(s, before, e, count));
    TRY_OUT(rc, list_known(m, folder, e));
    for (size_t i = 0; i < sizeof merge_tables / sizeof *merge_tables; i++)
        TRY_OUT(rc, merge_table(s, merge_tables[i].name, merge_tables[i].from, folder, e));
    TRY_OUT(rc, database_script(s, schema_rows_of_texts, e));
    TRY_OUT(rc, database_script(s, merge_current, e));
    TRY_OUT(rc, database_script(s, schema_sources_of_attempts, e));
    TRY_OUT(rc, results_unlink_evaluations(s, NULL, e));
    TRY_OUT(rc, database_script(s, "DROP TABLE temp.known", e));
    rc = DATABASE_NUMBER(s, after, e, count);
out:
    rc = store_finish(s, rc, e);
    if (rc == 0) m->result->results_n = after - before;
    return rc;
}
