/* migrate.c - see migrate.h. */
#include "store/migrate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/log.h"
#include "base/str.h"
#include "record/fields.h"

int migrate_version(struct store *s, int64_t *out, int newest, struct err *e)
{
    int64_t id = 0, objects = 0;

    TRY(database_number(s, out, "PRAGMA user_version", e));
    TRY(database_number(s, &id, "PRAGMA application_id", e));
    TRY(database_number(s, &objects, "SELECT count(*) FROM sqlite_schema", e));
    if (id != SCHEMA_APPLICATION_ID && (id != 0 || objects > 0 || *out != 0))
        return ERR(e, ERR_DATA,
                   "%s: is a database of another program (application_id %lld); name another "
                   "--project folder or move the file away",
                   s->path, (long long)id);
    if (*out > newest)
        return ERR(e, ERR_UNAVAILABLE,
                   "%s: its schema has version %lld and this program knows version %d; use the "
                   "newer program that wrote it",
                   s->path, (long long)*out, newest);
    return 0;
}

static int sync_file(const char *path, struct err *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0) return ERR(e, ERR_IO, "%s: %s", path, strerror(errno));
    int rc = fsync(fd) < 0 ? ERR(e, ERR_IO, "%s: fsync: %s", path, strerror(errno)) : 0;
    close(fd);
    return rc;
}

/* A copy of the file as it is, under its version's name. */
static int back_up(struct store *s, int64_t version, struct err *e)
{
    char path[DATABASE_PATH_BYTES + 32], temporary[DATABASE_PATH_BYTES + 48];

    snprintf(path, sizeof path, "%s.backup-v%lld", s->path, (long long)version);
    snprintf(temporary, sizeof temporary, "%s.tmp-%ld", path, (long)getpid());
    unlink(temporary);
    int rc = DATABASE_RUN(s, e, "VACUUM INTO ?1", DATABASE_TEXT(temporary));
    if (rc == 0) rc = sync_file(temporary, e);
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

static int drop_views(struct store *s, struct err *e)
{
    static const char list[] = "SELECT name FROM sqlite_schema WHERE type='view'";
    char sql[256] = "";

    for (;;) {
        sqlite3_stmt *statement = NULL;
        int rc = sqlite3_prepare_v2(s->connection_own, list, -1, &statement, NULL);
        if (rc == SQLITE_OK) rc = sqlite3_step(statement);
        if (rc == SQLITE_ROW)
            sqlite3_snprintf(sizeof sql, sql, "DROP VIEW \"%w\"",
                             (const char *)sqlite3_column_text(statement, 0));
        sqlite3_finalize(statement);
        if (rc == SQLITE_DONE) return 0;
        if (rc != SQLITE_ROW) return database_error(s, rc, e);
        TRY(database_script(s, sql, e));
    }
}

static int find_column(struct store *s, const struct record_field *f, bool *found, struct err *e)
{
    sqlite3_stmt *row;

    TRY(DATABASE_SELECT(s, &row, e, "SELECT 1 FROM pragma_table_info(?1) WHERE name=?2",
                        DATABASE_TEXT(f->table), DATABASE_TEXT(f->column)));
    int rc = database_next(s, row, e);
    *found = rc > 0;
    database_reset(row);
    return rc < 0 ? rc : 0;
}

static int add_column(struct store *s, const struct record_field *f, struct err *e)
{
    static const char *const types[] = {[RECORD_INT] = "INTEGER",
                                        [RECORD_REAL] = "REAL",
                                        [RECORD_TEXT] = "TEXT",
                                        [RECORD_BOOL] = "INTEGER"};
    char sql[160];

    snprintf(sql, sizeof sql, "ALTER TABLE %s ADD COLUMN %s %s", f->table, f->column,
             types[f->kind]);
    return database_script(s, sql, e);
}

/* Of every field that no table has: counts it and, if so asked, adds its column. */
static int visit_columns(struct store *s, bool add, int32_t *missing_n, struct err *e)
{
    *missing_n = 0;
    for (int32_t i = 0; i < record_fields_n; i++) {
        bool found = !record_fields[i].column;
        if (!found) TRY(find_column(s, &record_fields[i], &found, e));
        if (found) continue;
        ++*missing_n;
        if (add) TRY(add_column(s, &record_fields[i], e));
    }
    return 0;
}

int migrate_columns(struct store *s, int32_t *n, struct err *e)
{
    return visit_columns(s, false, n, e);
}

static int apply(struct store *s, const struct schema_step *steps, int steps_n, int64_t from,
                 const char *const *views, struct err *e)
{
    char sql[96];
    int64_t broken = 0;
    int32_t added_n;

    bool whole = from < steps[steps_n - 1].version; /* else only columns are missing */
    if (whole)
        TRY(drop_views(s, e)); /* first: a view would hold on to a table that a step renames */
    for (int i = 0; i < steps_n; i++)
        if (steps[i].version > from) TRY(database_script(s, steps[i].sql, e));
    TRY(visit_columns(s, true, &added_n, e));
    for (int i = 0; whole && views[i]; i++) TRY(database_script(s, views[i], e));
    TRY(database_number(s, &broken, "SELECT count(*) FROM pragma_foreign_key_check", e));
    if (broken > 0)
        return ERR(e, ERR_DATA, "%s: %lld rows point to rows that are not there", s->path,
                   (long long)broken);
    snprintf(sql, sizeof sql, "PRAGMA application_id=%d;PRAGMA user_version=%d",
             SCHEMA_APPLICATION_ID, steps[steps_n - 1].version);
    return database_script(s, sql, e);
}

int migrate_run(struct store *s, const struct schema_step *steps, int steps_n,
                const char *const *views, struct err *e)
{
    int newest = steps[steps_n - 1].version;
    int64_t version = 0;
    int32_t missing_n = 0;
    int rc = 0;

    TRY(migrate_version(s, &version, newest, e));
    if (version == newest) TRY(migrate_columns(s, &missing_n, e));
    if (version == newest && missing_n == 0) return 0;
    if (version > 0) TRY(back_up(s, version, e));
    database_forget_statements(s);
    /* A step may rebuild a table that others point to; foreign_key_check follows. */
    TRY(database_script(s, "PRAGMA foreign_keys=OFF", e));
    TRY_OUT(rc, store_begin(s, e));
    TRY_OUT(rc, apply(s, steps, steps_n, version, views, e));
    TRY_OUT(rc, store_commit(s, e));
out:
    if (rc < 0) {
        store_rollback(s);
        err_ctx(e, "migration from version %lld to %d", (long long)version, newest);
    }
    database_script(s, "PRAGMA foreign_keys=ON", NULL);
    return rc;
}

static const char view_prefix[] = "CREATE VIEW ";

/* One view: nothing, when the file holds this text of it. */
static int renew_view(struct store *s, const char *text, struct err *e)
{
    sqlite3_stmt *row = NULL;
    const char *rest = text + sizeof view_prefix - 1;
    char drop[96] = "";
    int rc = sqlite3_prepare_v2(s->connection_own,
                                "SELECT 1 FROM main.sqlite_schema WHERE type='view' AND sql=?1", -1,
                                &row, NULL);

    if (rc == SQLITE_OK) rc = sqlite3_bind_text(row, 1, text, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK) rc = sqlite3_step(row);
    bool same = rc == SQLITE_ROW;
    int code = rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : database_error(s, rc, e);
    sqlite3_finalize(row);
    if (code < 0 || same) return code;
    struct strbuf b;
    struct arena a;
    arena_init(&a);
    strbuf_init(&b, &a);
    sqlite3_snprintf(sizeof drop, drop, "DROP VIEW IF EXISTS main.\"%.*w\"",
                     (int)strcspn(rest, " "), rest);
    if (s->mode == STORE_WRITE) code = database_script(s, drop, e);
    strbuf_addf(&b, "%s%s", s->mode == STORE_WRITE ? view_prefix : "CREATE TEMP VIEW ", rest);
    if (code == 0) code = database_script(s, b.text, e);
    arena_fini(&a);
    return code;
}

int migrate_views(struct store *s, const char *const *views, struct err *e)
{
    int rc = 0;

    if (s->mode == STORE_READ) {
        TRY(database_script(s, "PRAGMA temp_store=2", e));
        for (int i = 0; views[i]; i++) TRY(renew_view(s, views[i], e));
        return 0;
    }
    TRY(store_begin(s, e));
    for (int i = 0; views[i]; i++) TRY_OUT(rc, renew_view(s, views[i], e));
    rc = store_commit(s, e);
out:
    if (rc < 0) store_rollback(s);
    return rc;
}
