/* query.c - ad hoc queries: a single SELECT, within the limits of its fence (fence.h) and
 * QUERY_ANSWER_BYTES of output. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"
#include "store/database.h"
#include "store/fence.h"

enum { QUERY_NAMES_MAX = 256, QUERY_ANSWER_BYTES = 64 << 20 };

/* The view or the column of a view that the user probably meant. */
static struct str_hint hint(struct store *s, struct arena *a, const char *wrong)
{
    static const char sql[] =
        "SELECT name FROM sqlite_schema WHERE type='view' UNION SELECT c.name FROM sqlite_schema v,"
        " pragma_table_info(v.name) c WHERE v.type='view'";
    const char *names[QUERY_NAMES_MAX];
    size_t n = 0;
    sqlite3_stmt *row = NULL;

    if (sqlite3_prepare_v2(s->connection_own, sql, -1, &row, NULL) == SQLITE_OK)
        while (n < QUERY_NAMES_MAX && sqlite3_step(row) == SQLITE_ROW)
            names[n++] = arena_strdup(a, (const char *)sqlite3_column_text(row, 0));
    sqlite3_finalize(row);
    return str_hint(wrong, names, n);
}

/* The error of a limit; the message states the limit. */
static int limit_error(const struct fence *f, int primary, const char *text, struct err *e)
{
    if (primary == SQLITE_INTERRUPT)
        return ERR(
            e, ERR_UNAVAILABLE,
            "query: took longer than %g s; narrow it, or give `alibi query` a longer --limit",
            fence_limit_s(f));
    if (*f->refused)
        return ERR(e, ERR_USAGE,
                   "query: %s() is not allowed here, only SELECT with SQLite's functions of "
                   "numbers, texts, dates, groups and windows",
                   f->refused);
    if (f->functions_n > FENCE_FUNCTIONS_MAX)
        return ERR(e, ERR_USAGE, "query: calls more than %d functions", FENCE_FUNCTIONS_MAX);
    if (primary == SQLITE_AUTH || strstr(text, "not authorized"))
        return ERR(e, ERR_USAGE, "query: only SELECT from tables and views is allowed here (%s)",
                   text);
    if (primary == SQLITE_TOOBIG)
        return ERR(e, ERR_DATA,
                   "query: a value or a row is larger than the limit of " DATABASE_VALUE_TEXT
                   "; select less of it");
    if (primary == SQLITE_NOMEM)
        return ERR(e, ERR_DATA, "query: needs more memory than the limit of %d MiB; narrow it",
                   FENCE_HEAP_BYTES >> 20);
    return 0;
}

/* The name that SQLite does not know, without quotes and without what newer versions add. */
static const char *unknown_name(struct arena *a, const char *text, const char *beginning)
{
    size_t n = strlen(beginning);

    if (strncmp(text, beginning, n) != 0) return NULL;
    const char *name = text + n, *more = strstr(name, " - ");
    size_t length = more ? (size_t)(more - name) : strlen(name);
    if (length > 2 && name[0] == '"' && name[length - 1] == '"') name++, length -= 2;
    return arena_strndup(a, name, length);
}

/* Whether the name is followed by a parenthesis: a table-valued function. */
static bool is_called(const char *sql, const char *name)
{
    size_t n = strlen(name);

    for (const char *p = sql; n && *p; p++)
        if (strncasecmp(p, name, n) == 0 && p[n + strspn(p + n, " \t\r\n")] == '(') return true;
    return false;
}

/* SQLite's message about a wrong statement, with the nearest name if possible. */
static int name_error(struct store *s, const char *sql, const char *text, struct err *e)
{
    struct arena a;

    arena_init(&a);
    const char *column = unknown_name(&a, text, "no such column: ");
    const char *table = unknown_name(&a, text, "no such table: ");
    const char *made = unknown_name(&a, text, "vtable constructor failed: ");
    const char *name = column ? column : table, *dot = name ? strrchr(name, '.') : NULL;
    struct str_hint near = {""};
    const char *advice = near.text;
    bool bare = column && !dot; /* perhaps a text */
    int rc;

    if (name) near = hint(s, &a, dot ? dot + 1 : name);
    if (name && !*near.text && !bare)
        advice = "; `alibi query \"SELECT name FROM sqlite_schema WHERE type='view'\"` lists the "
                 "views";
    if (made || (table && is_called(sql, table)))
        rc = ERR(e, ERR_USAGE,
                 "query: only SELECT from tables and views is allowed here, not from the "
                 "table-valued function %s()",
                 made ? made : table);
    else
        rc = ERR(e, ERR_USAGE, "query: %s%s%s", text,
                 bare ? " (a text goes in 'single quotes')" : "", advice);
    arena_fini(&a);
    return rc;
}

static int sql_error(struct store *s, const char *sql, struct err *e)
{
    char text[512];
    int primary = sqlite3_errcode(s->connection_own) & 0xff;

    snprintf(text, sizeof text, "%s", sqlite3_errmsg(s->connection_own));
    TRY(limit_error(s->fence, primary, text, e));
    fence_open_gate(s->fence);
    return primary == SQLITE_ERROR ? name_error(s, sql, text, e) : database_error(s, primary, e);
}

/* Nothing but space, comments and semicolons may follow the statement. */
static int check_tail(struct store *s, const char *tail, struct err *e)
{
    while (*tail) {
        sqlite3_stmt *more = NULL;
        const char *rest = tail;
        int rc = sqlite3_prepare_v2(s->connection_own, tail, -1, &more, &rest);
        bool another = rc != SQLITE_OK || more != NULL;
        sqlite3_finalize(more);
        if (another)
            return ERR(e, ERR_USAGE, "query: only one statement is allowed, found '%.40s' after it",
                       tail);
        if (rest == tail) break;
        tail = rest;
    }
    return 0;
}

/* Sixteen hex digits such as 12345678901234e5 are an id, though they would do as a number: a real
 * number needs a point or a sign. */
static int bind_param(sqlite3_stmt *statement, int at, const char *value)
{
    int64_t integer;
    double real;

    if (!value) return sqlite3_bind_null(statement, at);
    if (str_to_int(&integer, value)) return sqlite3_bind_int64(statement, at, integer);
    if (strpbrk(value, ".+-") && str_to_double(&real, value))
        return sqlite3_bind_double(statement, at, real);
    return sqlite3_bind_text(statement, at, value, -1, SQLITE_TRANSIENT);
}

static int bind_params(struct store *s, sqlite3_stmt *statement, const struct store_param *params,
                       int32_t params_n, struct err *e)
{
    for (int i = 1; i <= sqlite3_bind_parameter_count(statement); i++) {
        const char *name = sqlite3_bind_parameter_name(statement, i);
        int32_t k = 0;
        while (name && k < params_n && strcmp(params[k].name, name + 1) != 0) k++;
        if (!name || k == params_n)
            return ERR(e, ERR_USAGE, "query: the parameter %s has no value", name ? name : "?");
        int rc = bind_param(statement, i, params[k].value);
        if (rc != SQLITE_OK) return database_error(s, rc, e);
    }
    return 0;
}

/* Its bytes of text. */
static int64_t fill_cell(struct store_cell *cell, char number[STR_DOUBLE_BYTES], sqlite3_stmt *row,
                         int column)
{
    switch (sqlite3_column_type(row, column)) {
    case SQLITE_NULL:
        *cell = (struct store_cell){NULL, 'n'};
        break;
    case SQLITE_INTEGER:
        snprintf(number, STR_DOUBLE_BYTES, "%lld", (long long)sqlite3_column_int64(row, column));
        *cell = (struct store_cell){number, 'i'};
        break;
    case SQLITE_FLOAT:
        str_from_double(number, sqlite3_column_double(row, column));
        *cell = (struct store_cell){number, 'r'};
        break;
    default:
        *cell = (struct store_cell){(const char *)sqlite3_column_text(row, column), 't'};
        return sqlite3_column_bytes(row, column);
    }
    return 0;
}

/* The first step comes before the names are asked for: where another process has changed the schema
 * meanwhile, it prepares the statement again, and earlier names would be gone. */
static int give_rows(struct store *s, const char *sql, sqlite3_stmt *statement, store_row_fn row,
                     void *context, struct err *e)
{
    int step = sqlite3_step(statement);
    int n = sqlite3_column_count(statement);
    const char **names = calloc((size_t)n + 1, sizeof *names);
    struct store_cell *cells = calloc((size_t)n + 1, sizeof *cells);
    char(*numbers)[STR_DOUBLE_BYTES] = calloc((size_t)n + 1, sizeof *numbers);
    int64_t bytes = 0;
    int rc = 0;

    if (!names || !cells || !numbers) {
        rc = ERR(e, ERR_NOMEM, "query: no memory for %d columns", n);
        goto out;
    }
    for (int i = 0; i < n; i++) names[i] = sqlite3_column_name(statement, i);
    for (; step == SQLITE_ROW; step = sqlite3_step(statement)) {
        for (int i = 0; i < n; i++) {
            bytes += fill_cell(&cells[i], numbers[i], statement, i);
            if (cells[i].type != 'n' && !cells[i].text) {
                rc = sql_error(s, sql, e);
                goto out;
            }
        }
        if (bytes > QUERY_ANSWER_BYTES) {
            rc = ERR(e, ERR_DATA,
                     "query: the answer is larger than the limit of %d MiB; narrow it with WHERE "
                     "or LIMIT",
                     QUERY_ANSWER_BYTES >> 20);
            goto out;
        }
        TRY_OUT(rc, row(context, n, names, cells, e));
    }
    if (step != SQLITE_DONE) rc = sql_error(s, sql, e);
out:
    free(names);
    free(cells);
    free(numbers);
    return rc;
}

/* The statement of sql, checked: one SELECT and nothing after it. *bytes: its length there. */
static int prepare(struct store *s, struct fence *fence, const char *sql, sqlite3_stmt **out,
                   size_t *bytes, struct err *e)
{
    const char *tail = "";

    fence->preparing = true;
    int prepared = sqlite3_prepare_v2(s->connection_own, sql, -1, out, &tail);
    fence->preparing = false;
    if (prepared != SQLITE_OK) return sql_error(s, sql, e);
    if (!*out) return ERR(e, ERR_USAGE, "query: empty statement");
    *bytes = (size_t)(tail - sql);
    TRY(check_tail(s, tail, e));
    if (!sqlite3_stmt_readonly(*out) || sqlite3_stmt_isexplain(*out))
        return ERR(e, ERR_USAGE, "query: only SELECT is allowed here");
    return 0;
}

int store_query(struct store *s, const char *sql, const struct store_param *params,
                int32_t params_n, double limit_s, store_row_fn row, void *context, struct err *e)
{
    sqlite3_stmt *statement = NULL;
    struct fence fence;
    size_t bytes;
    int rc = 0;

    TRY(database_refresh(s, e));
    TRY(fence_raise(&fence, s, limit_s, e));
    TRY_OUT(rc, prepare(s, &fence, sql, &statement, &bytes, e));
    TRY_OUT(rc, bind_params(s, statement, params, params_n, e));
    TRY_OUT(rc, give_rows(s, sql, statement, row, context, e));
out:
    sqlite3_finalize(statement);
    fence_lower(&fence);
    return rc;
}

int store_columns(struct store *s, struct arena *a, const char *sql, const char ***names,
                  int32_t *n, size_t *bytes, struct err *e)
{
    sqlite3_stmt *statement = NULL;
    struct fence fence;
    int rc = 0;

    TRY(database_refresh(s, e));
    TRY(fence_raise(&fence, s, 0, e));
    TRY_OUT(rc, prepare(s, &fence, sql, &statement, bytes, e));
    *n = sqlite3_column_count(statement);
    *names = arena_array(a, (size_t)*n + 1, sizeof **names);
    for (int32_t i = 0; i < *n; i++)
        (*names)[i] = arena_strdup(a, sqlite3_column_name(statement, i));
    if (*bytes > 0 && sql[*bytes - 1] == ';') --*bytes;
out:
    sqlite3_finalize(statement);
    fence_lower(&fence);
    return rc;
}

int store_check(struct store *s, struct err *e)
{
    char text[256];
    int64_t broken = 0;

    TRY(database_refresh(s, e));
    TRY(database_first(s, text, sizeof text, "PRAGMA integrity_check(1)", NULL, 0, e));
    if (strcmp(text, "ok") != 0)
        return ERR(e, ERR_DATA, "%s: is damaged: %s" DATABASE_REBUILD, s->path, text);
    TRY(database_number(s, &broken, "SELECT count(*) FROM pragma_foreign_key_check", e));
    if (broken > 0)
        return ERR(e, ERR_DATA, "%s: %lld rows point to rows that do not exist", s->path,
                   (long long)broken);
    return 0;
}
