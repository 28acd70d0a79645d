/* query.c - ad hoc questions: one SELECT, nothing else, within a time.
 *
 * Three fences: the authorizer lets only SELECT, READ, FUNCTION and RECURSIVE pass; the statement
 * must be read-only; a handler ends it when its time is over. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "store/database.h"

enum { QUERY_STEPS_BETWEEN_CHECKS = 2000, QUERY_NAMES_MAX = 256 };

static int authorize(void *context, int action, const char *first, const char *second,
                     const char *database, const char *inner)
{
    (void)context, (void)first, (void)database, (void)inner;
    if (action == SQLITE_FUNCTION && second && strcmp(second, "load_extension") == 0)
        return SQLITE_DENY;
    return action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_FUNCTION ||
                   action == SQLITE_RECURSIVE
               ? SQLITE_OK
               : SQLITE_DENY;
}

struct query_clock {
    int64_t end_us; /* monotonic; 0: no limit */
};

static int is_over(void *context)
{
    const struct query_clock *clock = context;
    return clock->end_us != 0 && clock_monotonic_us() > clock->end_us;
}

/* The nearest name of a view or of a view's column, for a name the user got wrong. */
static const char *nearest(struct store *s, struct arena *a, const char *wrong)
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
    return str_nearest(wrong, names, n);
}

/* SQLite's sentence, and help where it is cheap. */
static int sql_error(struct store *s, struct err *e)
{
    char text[512];
    struct arena a;
    int primary = sqlite3_errcode(s->connection_own) & 0xff;

    snprintf(text, sizeof text, "%s", sqlite3_errmsg(s->connection_own));
    sqlite3_set_authorizer(s->connection_own, NULL, NULL);
    if (primary == SQLITE_AUTH || strstr(text, "not authorized"))
        return ERR(e, ERR_USAGE, "query: only SELECT is allowed here (%s)", text);
    if (primary != SQLITE_ERROR) return database_error(s, primary, e);
    arena_init(&a);
    const char *name = NULL;
    const char *near = NULL;
    if (strncmp(text, "no such column: ", 16) == 0) name = text + 16;
    if (strncmp(text, "no such table: ", 15) == 0) name = text + 15;
    if (name) {
        const char *dot = strrchr(name, '.');
        near = nearest(s, &a, dot ? dot + 1 : name);
    }
    int rc = ERR(e, ERR_USAGE, "query: %s%s%s", text,
                 near   ? "; the nearest name is "
                 : name ? "; `alibi query \"SELECT name FROM sqlite_schema WHERE type='view'\"` "
                          "lists the views"
                        : "",
                 near ? near : "");
    arena_fini(&a);
    return rc;
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
            return ERR(e, ERR_USAGE,
                       "query: only one statement is allowed; after it stands '%.40s'", tail);
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

static void fill_cell(struct store_cell *cell, char number[STR_DOUBLE_BYTES], sqlite3_stmt *row,
                      int column)
{
    switch (sqlite3_column_type(row, column)) {
    case SQLITE_NULL:
        *cell = (struct store_cell){NULL, 'n'};
        return;
    case SQLITE_INTEGER:
        snprintf(number, STR_DOUBLE_BYTES, "%lld", (long long)sqlite3_column_int64(row, column));
        *cell = (struct store_cell){number, 'i'};
        return;
    case SQLITE_FLOAT:
        str_from_double(number, sqlite3_column_double(row, column));
        *cell = (struct store_cell){number, 'r'};
        return;
    default:
        *cell = (struct store_cell){(const char *)sqlite3_column_text(row, column), 't'};
        if (!cell->text) cell->text = "";
    }
}

/* The first step comes before the names are asked for: where another process has changed the schema
 * meanwhile, it prepares the statement again, and earlier names would be gone. */
static int give_rows(struct store *s, sqlite3_stmt *statement, double limit_s, store_row_fn row,
                     void *context, struct err *e)
{
    int step = sqlite3_step(statement);
    int n = sqlite3_column_count(statement);
    const char **names = calloc((size_t)n + 1, sizeof *names);
    struct store_cell *cells = calloc((size_t)n + 1, sizeof *cells);
    char(*numbers)[STR_DOUBLE_BYTES] = calloc((size_t)n + 1, sizeof *numbers);
    int rc = 0;

    if (!names || !cells || !numbers) {
        rc = ERR(e, ERR_NOMEM, "query: no memory for %d columns", n);
        goto out;
    }
    for (int i = 0; i < n; i++) names[i] = sqlite3_column_name(statement, i);
    for (; step == SQLITE_ROW; step = sqlite3_step(statement)) {
        for (int i = 0; i < n; i++) fill_cell(&cells[i], numbers[i], statement, i);
        TRY_OUT(rc, row(context, n, names, cells, e));
    }
    if ((step & 0xff) == SQLITE_INTERRUPT)
        rc = ERR(e, ERR_UNAVAILABLE,
                 "query: took longer than %g s; narrow it, or give it more time", limit_s);
    else if (step != SQLITE_DONE)
        rc = sql_error(s, e);
out:
    free(names);
    free(cells);
    free(numbers);
    return rc;
}

/* Puts the fences up for this clock, or takes them away for NULL. */
static void fence(struct store *s, void *clock)
{
    s->query_clock = clock;
    sqlite3_set_authorizer(s->connection_own, clock ? authorize : NULL, NULL);
    sqlite3_progress_handler(s->connection_own, clock ? QUERY_STEPS_BETWEEN_CHECKS : 0,
                             clock ? is_over : NULL, clock);
}

int store_query(struct store *s, const char *sql, const struct store_param *params,
                int32_t params_n, double limit_s, store_row_fn row, void *context, struct err *e)
{
    sqlite3_stmt *statement = NULL;
    struct query_clock clock = {0};
    void *outer = s->query_clock; /* a row function may ask again */
    const char *tail = "";
    int rc = 0;

    TRY(database_refresh(s, e));
    if (limit_s > 0 && limit_s < 1e9)
        clock.end_us = clock_monotonic_us() + (int64_t)(limit_s * 1e6);
    fence(s, &clock);
    if (sqlite3_prepare_v2(s->connection_own, sql, -1, &statement, &tail) != SQLITE_OK) {
        rc = sql_error(s, e);
        goto out;
    }
    if (!statement) {
        rc = ERR(e, ERR_USAGE, "query: there is no statement in it");
        goto out;
    }
    TRY_OUT(rc, check_tail(s, tail, e));
    if (!sqlite3_stmt_readonly(statement) || sqlite3_stmt_isexplain(statement)) {
        rc = ERR(e, ERR_USAGE, "query: only SELECT is allowed here");
        goto out;
    }
    TRY_OUT(rc, bind_params(s, statement, params, params_n, e));
    TRY_OUT(rc, give_rows(s, statement, limit_s, row, context, e));
out:
    sqlite3_finalize(statement);
    fence(s, outer);
    return rc;
}

static int keep_text(sqlite3_stmt *row, char *out, size_t room)
{
    snprintf(out, room, "%s", (const char *)sqlite3_column_text(row, 0));
    return strcmp(out, "ok") == 0;
}

int store_check(struct store *s, struct err *e)
{
    char text[256] = "";
    int64_t broken = 0;
    sqlite3_stmt *row = NULL;

    TRY(database_refresh(s, e));
    int rc = sqlite3_prepare_v2(s->connection_own, "PRAGMA integrity_check(1)", -1, &row, NULL);
    if (rc == SQLITE_OK) rc = sqlite3_step(row);
    bool sound = rc == SQLITE_ROW && keep_text(row, text, sizeof text);
    int code = rc == SQLITE_ROW ? 0 : database_error(s, rc, e);
    sqlite3_finalize(row);
    if (code < 0) return code;
    if (!sound)
        return ERR(e, ERR_DATA, "%s: is damaged: %s; take results.db from a backup", s->path, text);
    TRY(database_number(s, &broken, "SELECT count(*) FROM pragma_foreign_key_check", e));
    if (broken > 0)
        return ERR(e, ERR_DATA, "%s: %lld rows point to rows that are not there", s->path,
                   (long long)broken);
    return 0;
}
