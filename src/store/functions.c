/* functions.c - the SQL functions that statements from outside may call.
 *
 * 1. They are a list of names. A function that is not on it is refused where a statement is
 *    prepared, in the statement itself and in the views it reads.
 * 2. SQLite answers an interrupt between the steps of a statement, never inside a function. Some of
 *    its functions take time that grows with the product of two arguments, and printf returns NULL
 *    where its result is too large. Guards have their names: a guard limits the pattern or the
 *    widths, ends when the statement's time is over, and calls SQLite's own function on a
 *    connection of its own, where the name still means that. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "store/database.h"
#include "store/fence.h"

enum { FUNCTION_SQL_BYTES = 512, FUNCTION_PRINTF_BYTES = 1 << 29 };

static const char *const allowed[] = {
    /* of one row */
    "abs", "char", "coalesce", "concat", "concat_ws", "format", "glob", "hex", "if", "ifnull",
    "iif", "instr", "length", "like", "likelihood", "likely", "lower", "ltrim", "max", "min",
    "nullif", "octet_length", "printf", "quote", "random", "randomblob", "replace", "round",
    "rtrim", "sign", "sqlite_version", "substr", "substring", "trim", "typeof", "unhex", "unicode",
    "unlikely", "upper", "zeroblob",
    /* dates */
    "current_date", "current_time", "current_timestamp", "date", "datetime", "julianday",
    "strftime", "time", "timediff", "unixepoch",
    /* mathematics */
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "ceiling", "cos", "cosh",
    "degrees", "exp", "floor", "ln", "log", "log10", "log2", "mod", "pi", "pow", "power", "radians",
    "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
    /* of many rows */
    "avg", "count", "group_concat", "median", "percentile", "percentile_cont", "percentile_disc",
    "string_agg", "sum", "total",
    /* over a window */
    "cume_dist", "dense_rank", "first_value", "lag", "last_value", "lead", "nth_value", "ntile",
    "percent_rank", "rank", "row_number"};

bool functions_allow(const char *name)
{
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
        if (strcasecmp(allowed[i], name) == 0) return true;
    return false;
}

/* pattern: the index of the argument whose length multiplies the time, or FORMAT. */
enum { FORMAT = -1 };
static const struct guard {
    const char *name;
    int args_n, pattern;
} guards[] = {{"printf", -1, FORMAT}, {"format", -1, FORMAT}, {"instr", 2, 1}, {"replace", 3, 1},
              {"trim", 2, 1},         {"ltrim", 2, 1},        {"rtrim", 2, 1}, {"like", 2, 0},
              {"like", 3, 0},         {"glob", 2, 0}};
enum { GUARDS_N = sizeof guards / sizeof *guards };

struct guarded {
    const struct guard *guard;
    struct functions *functions;
    sqlite3_stmt *statement_own; /* SELECT of SQLite's own function */
    int args_n;                  /* of the statement */
};

struct functions {
    const struct store *store;
    sqlite3
        *plain_own; /* where the guarded names mean SQLite's own functions; NULL: not needed yet */
    struct guarded guarded[GUARDS_N];
};

static int guarded_prepare(struct guarded *g, int n)
{
    struct functions *f = g->functions;
    char sql[FUNCTION_SQL_BYTES];
    int rc = SQLITE_OK;

    if (g->statement_own && g->args_n == n) return SQLITE_OK;
    sqlite3_finalize(g->statement_own);
    g->statement_own = NULL;
    if (!f->plain_own)
        rc = sqlite3_open_v2(":memory:", &f->plain_own, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                             NULL);
    if (rc != SQLITE_OK) return rc;
    int at = snprintf(sql, sizeof sql, "SELECT %s(", g->guard->name);
    for (int i = 0; i < n && at < FUNCTION_SQL_BYTES - 4; i++)
        at += snprintf(sql + at, sizeof sql - (size_t)at, i ? ",?" : "?");
    snprintf(sql + at, sizeof sql - (size_t)at, ")");
    g->args_n = n;
    return sqlite3_prepare_v2(f->plain_own, sql, -1, &g->statement_own, NULL);
}

/* Bytes of a text or blob, 0 of a number: asking for a number's would make it a text as well. */
static int text_bytes(sqlite3_value *value)
{
    int type = sqlite3_value_type(value);
    return type == SQLITE_TEXT || type == SQLITE_BLOB ? sqlite3_value_bytes(value) : 0;
}

/* SQLite's own function; its result or its error becomes the context's. */
static void guarded_evaluate(struct guarded *g, sqlite3_context *context, int n,
                             sqlite3_value **values)
{
    int rc = guarded_prepare(g, n);

    if (rc == SQLITE_OK)
        sqlite3_limit(g->functions->plain_own, SQLITE_LIMIT_LENGTH,
                      g->guard->pattern == FORMAT ? FUNCTION_PRINTF_BYTES : DATABASE_VALUE_BYTES);
    for (int i = 0; i < n && rc == SQLITE_OK; i++)
        rc = sqlite3_bind_value(g->statement_own, i + 1, values[i]);
    if (rc == SQLITE_OK) rc = sqlite3_step(g->statement_own);
    sqlite3_value *value = rc == SQLITE_ROW ? sqlite3_column_value(g->statement_own, 0) : NULL;
    if (value && text_bytes(value) > DATABASE_VALUE_BYTES) {
        sqlite3_result_error_toobig(context);
    } else if (value) {
        sqlite3_result_value(context, value);
    } else {
        sqlite3_result_error(context, sqlite3_errmsg(g->functions->plain_own), -1);
        sqlite3_result_error_code(context, rc);
    }
    sqlite3_reset(g->statement_own);
    /* Which does not take NULL: without memory there is no statement. */
    if (g->statement_own) sqlite3_clear_bindings(g->statement_own);
}

/* A width or precision at *p, given in digits or as the next argument; *p moves past it. */
static int64_t format_number(const char **p, int *next, int n, sqlite3_value **values)
{
    int64_t number = 0;

    if (**p == '*') {
        ++*p;
        number = *next < n ? sqlite3_value_int64(values[*next]) : 0;
        ++*next;
        return number < 0 ? -(number + 1) : number;
    }
    for (; **p >= '0' && **p <= '9'; ++*p)
        if (number <= FENCE_PATTERN_MAX) number = 10 * number + (**p - '0');
    return number;
}

/* Whether no width or precision is above the limit. A specification is
 * % flags width .precision l conversion, as sqlite3_str_vappendf reads it. */
static bool format_is_narrow(int n, sqlite3_value **values)
{
    const char *p = n ? (const char *)sqlite3_value_text(values[0]) : NULL;
    int next = 1;

    while (p && (p = strchr(p, '%'))) {
        p += 1 + strspn(p + 1, "-+ #!0,");
        if (format_number(&p, &next, n, values) > FENCE_PATTERN_MAX) return false;
        if (*p == '.') {
            p++;
            if (format_number(&p, &next, n, values) > FENCE_PATTERN_MAX) return false;
        }
        p += strspn(p, "l");
        if (!*p) break;
        if (*p != '%' && *p != 'n') next++;
        p++;
    }
    return true;
}

static void guarded_call(sqlite3_context *context, int n, sqlite3_value **values)
{
    struct guarded *g = sqlite3_user_data(context);
    const struct guard *guard = g->guard;
    int64_t bytes = 0;
    char text[128];

    for (int i = 0; i < n; i++) bytes += text_bytes(values[i]);
    if (fence_is_over(g->functions->store->fence)) {
        sqlite3_result_error_code(context, SQLITE_INTERRUPT);
    } else if (guard->pattern == FORMAT && bytes > DATABASE_VALUE_BYTES) {
        sqlite3_result_error_toobig(context);
    } else if (guard->pattern == FORMAT && !format_is_narrow(n, values)) {
        snprintf(text, sizeof text, "%s(): a width or precision is above the limit of %d",
                 guard->name, FENCE_PATTERN_MAX);
        sqlite3_result_error(context, text, -1);
    } else if (guard->pattern >= 0 && text_bytes(values[guard->pattern]) > FENCE_PATTERN_MAX) {
        snprintf(text, sizeof text, "%s(): argument %d is longer than the limit of %d bytes",
                 guard->name, guard->pattern + 1, FENCE_PATTERN_MAX);
        sqlite3_result_error(context, text, -1);
    } else {
        guarded_evaluate(g, context, n, values);
    }
}

int functions_register(struct store *s, struct err *e)
{
    struct functions *f = calloc(1, sizeof *f);
    int rc = SQLITE_OK;

    if (!f) return ERR(e, ERR_NOMEM, "%s: no memory to open it", s->path);
    s->functions_own = f;
    f->store = s;
    for (int i = 0; i < GUARDS_N && rc == SQLITE_OK; i++) {
        f->guarded[i] = (struct guarded){.guard = &guards[i], .functions = f};
        /* innocuous: the views of the file may call them */
        rc = sqlite3_create_function_v2(s->connection_own, guards[i].name, guards[i].args_n,
                                        SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
                                        &f->guarded[i], guarded_call, NULL, NULL, NULL);
    }
    return rc == SQLITE_OK ? 0 : database_error(s, rc, e);
}

void functions_free(struct functions *f)
{
    if (!f) return;
    for (int i = 0; i < GUARDS_N; i++) sqlite3_finalize(f->guarded[i].statement_own);
    sqlite3_close(f->plain_own);
    free(f);
}
