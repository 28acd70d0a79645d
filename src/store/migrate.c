/* migrate.c - brings results.db to the newest schema: steps, columns of record_fields, views. */
#include "store/migrate.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "record/fields.h"
#include "store/database.h"
#include "store/statements.h"

int migrate_version(struct store *s, int64_t *out, int newest, struct err *e)
{
    int64_t id = 0, objects = 0;

    TRY(DATABASE_NUMBER(s, *out, e, "PRAGMA user_version"));
    TRY(DATABASE_NUMBER(s, id, e, "PRAGMA application_id"));
    TRY(DATABASE_NUMBER(s, objects, e, "SELECT count(*) FROM sqlite_schema"));
    if (id != SCHEMA_APPLICATION_ID && (id != 0 || objects > 0 || *out != 0))
        return ERR(e, ERR_DATA, "%s: is a database of another program (application_id %lld)%s",
                   s->path, (long long)id,
                   database_remedy(s, "; name another --project folder or move the file away",
                                   "; name a results.db"));
    if (*out < 0 || (*out == 0 && objects > 0))
        return ERR(e, ERR_DATA,
                   "%s: has tables, but its schema has version %lld, and the first is 1%s", s->path,
                   (long long)*out,
                   database_remedy(
                       s, "; restore a copy, or move it away and run `alibi merge runs/`", ""));
    if (*out > newest)
        return ERR(e, ERR_UNAVAILABLE,
                   "%s: its schema has version %lld and this program knows version %d; use the "
                   "newer program that wrote it",
                   s->path, (long long)*out, newest);
    return 0;
}

/* Copies the file to a name with its version. */
static int back_up(struct store *s, int64_t version, struct err *e)
{
    if (!*sqlite3_db_filename(s->connection_own, "main")) return 0; /* in memory */
    const char *path = arena_printf(&s->arena, "%s.backup-v%lld", s->path, (long long)version);
    const char *temporary = arena_printf(&s->arena, "%s.tmp-%ld", path, (long)getpid());

    unlink(temporary);
    int rc = DATABASE_RUN(s, e, "VACUUM INTO ?1", DATABASE_TEXT(temporary));
    if (rc == 0) rc = file_sync(temporary, e);
    if (rc == 0 && rename(temporary, path) < 0)
        rc = ERR(e, ERR_CREATE, "%s: cannot be created: %s", path, strerror(errno));
    if (rc < 0) {
        unlink(temporary);
        err_ctx(e, "backup before the migration");
        return rc;
    }
    log_info("%s: schema version %lld; a copy is in %s", s->path, (long long)version, path);
    return 0;
}

/* Runs the statements that a query gives as one text, which may be empty. */
static int run_answer(struct store *s, const char *sql, struct err *e)
{
    const char *script;

    TRY(database_get(s, sql, NULL, 0, DATABASE_COLUMNS(DATABASE_TO(script)), e));
    return database_script(s, script, e);
}

const char *migrate_query_lacking(struct store *s, const char *expression)
{
    static const char *const types[] = {[RECORD_INT] = "INTEGER",
                                        [RECORD_REAL] = "REAL",
                                        [RECORD_TEXT] = "TEXT",
                                        [RECORD_BOOL] = "INTEGER"};
    static const char *const key_types[] = {
        [SPEC_T_INT32] = "INTEGER", [SPEC_T_INT64] = "INTEGER", [SPEC_T_DOUBLE] = "REAL",
        [SPEC_T_BOOL] = "INTEGER",  [SPEC_T_ENUM] = "TEXT",     [SPEC_T_TEXT] = "TEXT",
        [SPEC_T_INTS] = "TEXT",     [SPEC_T_REALS] = "TEXT"};
    size_t keys_n;
    const struct spec_key *keys = spec_keys(&keys_n);
    struct strbuf sql;
    const char *comma = "";

    strbuf_init(&sql, &s->arena);
    strbuf_addf(&sql,
                "SELECT group_concat(%s,'') FROM(SELECT tab,"
                " group_concat('ALTER TABLE '||tab||' ADD COLUMN '||col||' '||type||';','')"
                "  AS additions, group_concat(',NULL AS '||col,'') AS nulls"
                " FROM(SELECT DISTINCT column1 AS tab, column2 AS col, column3 AS type FROM(VALUES",
                expression);
    for (int32_t i = 0; i < record_fields_n; i++) {
        const struct record_field *f = &record_fields[i];
        if (!f->column) continue;
        strbuf_addf(&sql, "%s('%s','%s','%s')", comma, f->table, f->column, types[f->kind]);
        comma = ",";
    }
    for (size_t i = 0; i < keys_n; i++)
        if (keys[i].column)
            strbuf_addf(&sql, ",('runs','%s','%s')", keys[i].column, key_types[keys[i].type]);
    strbuf_add(&sql, ")) WHERE col NOT IN(SELECT name FROM pragma_table_info(tab,'main'))"
                     " AND tab IN(SELECT name FROM main.sqlite_schema WHERE type='table')"
                     " GROUP BY tab)");
    return sql.text;
}

static int add_columns(struct store *s, struct err *e)
{
    return run_answer(s, migrate_query_lacking(s, "additions"), e);
}

int migrate_views(struct store *s, const char *const *views, bool all, struct err *e)
{
    static const char prefix[] = "CREATE VIEW ";
    bool writes = s->mode == STORE_WRITE;

    for (; *views; views++) {
        const char *name = *views + sizeof prefix - 1;
        int same = DATABASE_EXISTS(
            s, e, "SELECT 1 FROM main.sqlite_schema WHERE type='view' AND sql=?1 AND NOT ?2",
            DATABASE_TEXT(*views), DATABASE_INT(all));
        if (same < 0) return same;
        if (same) continue;
        TRY(database_script(s,
                            arena_printf(&s->arena, "DROP VIEW IF EXISTS %s.%.*s;CREATE %s VIEW %s",
                                         writes ? "main" : "temp", (int)strcspn(name, " "), name,
                                         writes ? "" : "TEMP", name),
                            e));
    }
    return 0;
}

/* The steps from a version on, the columns that tables lack, and the views. */
static int apply_steps(struct store *s, const struct schema_step *steps, int steps_n, int64_t from,
                       const char *const *views, struct err *e)
{
    char sql[96];
    int64_t broken = 0;
    int newest = steps[steps_n - 1].version;

    if (from < newest) /* a view would follow a renamed table */
        TRY(run_answer(s,
                       "SELECT group_concat(printf('DROP VIEW \"%w\";',name),'')"
                       " FROM sqlite_schema WHERE type='view'",
                       e));
    if (from > 0) TRY(add_columns(s, e));
    for (int i = 0; i < steps_n; i++) {
        if (steps[i].version <= from) continue;
        TRY(database_script(s, steps[i].sql, e));
        TRY(add_columns(s, e));
        if (steps[i].rows) TRY(database_script(s, steps[i].rows, e));
        if (steps[i].moved) TRY(database_script(s, steps[i].moved, e));
    }
    TRY(migrate_views(s, views, false, e));
    TRY(DATABASE_NUMBER(s, broken, e, "SELECT count(*) FROM pragma_foreign_key_check"));
    if (broken > 0)
        return ERR(e, ERR_DATA, "%s: %lld rows point to rows that do not exist", s->path,
                   (long long)broken);
    snprintf(sql, sizeof sql, "PRAGMA application_id=%d;PRAGMA user_version=%d",
             SCHEMA_APPLICATION_ID, newest);
    return database_script(s, sql, e);
}

int migrate_run(struct store *s, const struct schema_step *steps, int steps_n,
                const char *const *views, struct err *e)
{
    int newest = steps[steps_n - 1].version;
    int64_t version = 0;
    const char *lacking;
    int rc = 0;

    TRY(migrate_version(s, &version, newest, e));
    TRY(database_get(s, migrate_query_lacking(s, "tab"), NULL, 0,
                     DATABASE_COLUMNS(DATABASE_TO(lacking)), e));
    bool renews = version < newest || *lacking;
    if (renews && version > 0) TRY(back_up(s, version, e));
    /* A step may rebuild a referenced table; foreign_key_check follows. */
    if (renews) {
        database_forget_statements(s);
        TRY(database_script(s, "PRAGMA foreign_keys=OFF", e));
    }
    TRY_OUT(rc, store_begin(s, e));
    TRY_OUT(rc, renews ? apply_steps(s, steps, steps_n, version, views, e)
                       : migrate_views(s, views, false, e));
    TRY_OUT(rc, store_commit(s, e));
out:
    if (rc < 0) {
        store_rollback(s);
        if (renews) err_ctx(e, "migration from version %lld to %d", (long long)version, newest);
    }
    if (renews) database_script(s, "PRAGMA foreign_keys=ON", NULL);
    return rc;
}
