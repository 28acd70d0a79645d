/* schema_check.c - whether the tables of a results.db are the program's own, and undamaged.
 *
 * The file may come from anybody. The program's own statements rely on its tables: a column that
 * must not be NULL has a value. And whatever a table computes, such as a CHECK, a generated column
 * or an index on an expression, runs inside these statements, where no fence limits it. So:
 * 1. Tables and indexes of the schema have the text that the steps give them, and perhaps more
 *    columns of a name and a type only.
 * 2. No other index of these tables computes anything.
 * 3. Tables of other names stay and are neither read nor checked. */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "store/database.h"
#include "store/open.h"
#include "store/schema.h"
#include "store/statements.h"

/* The schema of the file's version, in memory. tables: the names of its tables as rows of VALUES;
 * names: those of its indexes, too, as a list; both NULL for an empty file. */
struct schema {
    sqlite3 *connection_own;
    const char *tables, *names;
};

static int schema_error(struct store *s, const struct schema *ours, struct err *e)
{
    return ERR(e, ERR_INTERNAL, "%s: its schema cannot be made: %s", s->path,
               sqlite3_errmsg(ours->connection_own));
}

static int schema_open(struct schema *out, struct store *s, struct err *e)
{
    static const char sql[] = "SELECT group_concat(printf('(%Q)',name)) FILTER(WHERE type='table'),"
                              " group_concat(quote(name)) FROM sqlite_schema WHERE sql IS NOT NULL";
    int64_t version = 0;
    sqlite3_stmt *row = NULL;

    *out = (struct schema){0};
    TRY(DATABASE_NUMBER(s, version, e, "PRAGMA user_version"));
    int rc = sqlite3_open_v2(":memory:", &out->connection_own,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    for (int i = 0; rc == SQLITE_OK && i < schema_steps_n && schema_steps[i].version <= version;
         i++)
        rc = sqlite3_exec(out->connection_own, schema_steps[i].sql, NULL, NULL, NULL);
    if (rc == SQLITE_OK) rc = sqlite3_prepare_v2(out->connection_own, sql, -1, &row, NULL);
    if (rc == SQLITE_OK) rc = sqlite3_step(row);
    const char *tables = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(row, 0) : NULL;
    const char *names = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(row, 1) : NULL;
    if (tables) out->tables = arena_strdup(&s->arena, tables);
    if (names) out->names = arena_strdup(&s->arena, names);
    sqlite3_finalize(row);
    return rc == SQLITE_ROW ? 0 : schema_error(s, out, e);
}

static void schema_close(struct schema *ours)
{
    sqlite3_close(ours->connection_own);
}

/* A column that a program has added: a comma, a name and a type, n bytes. */
static bool is_column(const char *text, size_t n)
{
    static const char *const types[] = {" INTEGER", " REAL", " TEXT"};
    static const char name[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";

    if (strncmp(text, ", ", 2) != 0) return false;
    size_t length = strspn(text + 2, name), before = 2 + length;
    for (size_t i = 0; length > 0 && i < sizeof types / sizeof *types; i++)
        if (strlen(types[i]) + before == n && strncmp(text + before, types[i], n - before) == 0)
            return true;
    return false;
}

/* Whether the text in the file is ours, with columns added anywhere. Both are compared in pieces
 * that begin with a comma or a parenthesis. */
static bool is_same(const char *found, const char *ours)
{
    static const char begins[] = ",()";

    while (*found) {
        size_t n = 1 + strcspn(found + 1, begins),
               ours_n = *ours ? 1 + strcspn(ours + 1, begins) : 0;
        if (n == ours_n && strncmp(found, ours, n) == 0)
            ours += n;
        else if (!is_column(found, n))
            return false;
        found += n;
    }
    return !*ours;
}

static int check_object(struct store *s, const char *type, const char *name, const char *ours,
                        struct err *e)
{
    static const char sql[] = "SELECT sql FROM main.sqlite_schema WHERE type=?1 AND name=?2";
    const char *found;
    int rc = database_get(s, sql, DATABASE_VALUES(DATABASE_TEXT(type), DATABASE_TEXT(name)),
                          DATABASE_COLUMNS(DATABASE_TO(found)), e);

    if (rc < 0 || (rc > 0 && is_same(found, ours))) return rc < 0 ? rc : 0;
    return ERR(e, ERR_DATA, "%s: the %s '%s' %s%s", s->path, type, name,
               rc ? "is not the one that alibi makes" : "is missing", database_rebuild(s));
}

/* Rule 1. */
static int check_objects(struct store *s, const struct schema *ours, struct err *e)
{
    static const char sql[] = "SELECT type,name,sql FROM sqlite_schema"
                              " WHERE type IN('table','index') AND sql IS NOT NULL";
    sqlite3_stmt *row = NULL;
    int rc = 0, step = sqlite3_prepare_v2(ours->connection_own, sql, -1, &row, NULL);

    while (rc == 0 && (step = sqlite3_step(row)) == SQLITE_ROW)
        rc = check_object(s, (const char *)sqlite3_column_text(row, 0),
                          (const char *)sqlite3_column_text(row, 1),
                          (const char *)sqlite3_column_text(row, 2), e);
    if (rc == 0 && step != SQLITE_DONE) rc = schema_error(s, ours, e);
    sqlite3_finalize(row);
    return rc;
}

/* Rule 2. */
static int check_indexes(struct store *s, const struct schema *ours, struct err *e)
{
    char name[64];
    const char *sql =
        arena_printf(&s->arena,
                     "SELECT i.name FROM(VALUES%s) t,"
                     " pragma_index_list(t.column1,'main') i"
                     " WHERE i.name NOT IN(%s) AND(i.partial OR EXISTS("
                     "  SELECT 1 FROM pragma_index_xinfo(i.name,'main') WHERE cid=-2))",
                     ours->tables, ours->names);
    int rc = database_get(s, sql, NULL, 0, DATABASE_COLUMNS(DATABASE_TO(name)), e);

    if (rc <= 0) return rc;
    return ERR(e, ERR_DATA,
               "%s: the index '%s', which alibi did not make, computes something; drop it with the "
               "sqlite3 shell, or move the file away",
               s->path, name);
}

int schema_check(struct store *s, struct err *e)
{
    struct schema ours;

    int rc = schema_open(&ours, s, e);
    if (rc == 0) rc = check_objects(s, &ours, e);
    if (rc == 0 && ours.tables) rc = check_indexes(s, &ours, e);
    schema_close(&ours);
    return rc;
}

int store_check(struct store *s, struct err *e)
{
    struct schema ours;
    char text[256];
    int64_t broken = 0;

    TRY(database_refresh(s, e));
    int rc = schema_open(&ours, s, e);
    schema_close(&ours);
    if (rc < 0) return rc;
    rc = database_get(s,
                      arena_printf(&s->arena,
                                   "SELECT i.integrity_check FROM("
                                   "VALUES('sqlite_schema'),%s) t,"
                                   " pragma_integrity_check(t.column1,'main') i"
                                   " WHERE i.integrity_check<>'ok'",
                                   ours.tables),
                      NULL, 0, DATABASE_COLUMNS(DATABASE_TO(text)), e);
    if (rc < 0) return rc;
    if (rc > 0) return ERR(e, ERR_DATA, "%s: is damaged: %s%s", s->path, text, database_rebuild(s));
    TRY(database_get(s,
                     arena_printf(&s->arena,
                                  "SELECT count(*) FROM(VALUES%s) t,"
                                  " pragma_foreign_key_check(t.column1,'main')",
                                  ours.tables),
                     NULL, 0, DATABASE_COLUMNS(DATABASE_TO(broken)), e));
    if (broken > 0)
        return ERR(e, ERR_DATA, "%s: %lld rows point to rows that do not exist", s->path,
                   (long long)broken);
    return 0;
}
