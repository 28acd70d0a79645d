/* query.c - statements from outside, such as query.sql, claim.sql and the command line: a single
 * SELECT within its limits. The views and triggers of a foreign results.db fall under them, too.
 *
 * A fence is raised around each:
 * 1. Actions: a SELECT without PRAGMA, ATTACH and virtual tables.
 * 2. Functions: those of a list, called at most FENCE_FUNCTIONS_MAX times in a statement with its
 *    views. A function that is not on the list is refused when a statement is prepared, in the
 *    statement itself and in the views it reads.
 * 3. Time: SQLite checks between the steps of a statement whether its time is over, never inside a
 *    function. Some of its functions take time that grows with the product of two arguments, and
 *    printf returns NULL if its result is too large. Guards have their names: a guard limits the
 *    pattern or the widths, ends when the statement's time is over, and calls SQLite's own function
 *    on a connection of its own, where the name still means that.
 * 4. Memory: FENCE_HEAP_BYTES for SQLite, DATABASE_VALUE_BYTES for a value or a row,
 *    QUERY_ANSWER_BYTES and QUERY_CELLS_MAX for the answer.
 * 5. The program's own statements may do everything, but no view of the file takes part in them,
 *    and of its triggers only the one of the schema. SQLite names a WITH table as it names a view,
 *    so these statements have none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/str.h"
#include "spec/spec.h"
#include "store/database.h"

enum {
    FENCE_FUNCTIONS_MAX = 20000,
    FENCE_PATTERN_MAX = 1000, /* bytes of a pattern; width and precision in a format */
    FENCE_HEAP_BYTES = 256 << 20,
    FENCE_STEPS = 100, /* of a statement, between two looks at the clock */
    FUNCTION_SQL_BYTES = 512,
    FUNCTION_PRINTF_BYTES = 1 << 29,
    QUERY_NAMES_MAX = 1024,
    QUERY_HOLDERS_MAX = 3, /* views that a message names */
    QUERY_ANSWER_BYTES = 64 << 20,
    QUERY_CELLS_MAX = 4 * 1000 * 1000
};

struct fence {
    double limit_s;
    int64_t end_us; /* monotonic; 0: no limit */
    bool preparing; /* only then functions count: SQLite prepares again when the schema changes */
    int functions_n;
    char refused[64]; /* the function that is not on the list; "": none */
};

/* --- time ----------------------------------------------------------------------------------- */

/* Whether the time of the statement is over. */
static int is_late(void *store)
{
    const struct fence *f = ((const struct store *)store)->fence;
    return f && f->end_us > 0 && clock_monotonic_us() > f->end_us;
}

/* --- functions ------------------------------------------------------------------------------ */

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

static bool functions_allow(const char *name)
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
    struct guarded guarded[GUARDS_N]; /* first: its address is that of the whole */
    struct store *store;
    sqlite3 *plain_own; /* where the guarded names mean SQLite's own; NULL: not needed yet */
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

/* Bytes of a text or blob, 0 of a number: sqlite3_value_bytes would convert a number to a text. */
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
    /* It does not take NULL, and without memory there is no statement. */
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
    if (is_late(g->functions->store)) {
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

static void functions_free(void *functions)
{
    struct functions *f = functions;

    for (int i = 0; i < GUARDS_N; i++) sqlite3_finalize(f->guarded[i].statement_own);
    sqlite3_close(f->plain_own);
    free(f);
}

/* They are freed when the connection is closed. */
static int functions_register(struct store *s, struct err *e)
{
    struct functions *f = calloc(1, sizeof *f);
    int rc = SQLITE_OK;

    if (!f) return ERR(e, ERR_NOMEM, "%s: no memory to read it", s->path);
    f->store = s;
    for (int i = 0; i < GUARDS_N && rc == SQLITE_OK; i++) {
        f->guarded[i] = (struct guarded){.guard = &guards[i], .functions = f};
        /* innocuous: the views of the file may call them */
        rc = sqlite3_create_function_v2(s->connection_own, guards[i].name, guards[i].args_n,
                                        SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
                                        &f->guarded[i], guarded_call, NULL, NULL,
                                        i == 0 ? functions_free : NULL);
    }
    s->has_guards = rc == SQLITE_OK;
    return rc == SQLITE_OK ? 0 : database_error(s, rc, e);
}

/* --- actions -------------------------------------------------------------------------------- */

static int authorize_function(struct fence *f, const char *name)
{
    if (f->preparing && ++f->functions_n > FENCE_FUNCTIONS_MAX) return SQLITE_DENY;
    if (functions_allow(name)) return SQLITE_OK;
    snprintf(f->refused, sizeof f->refused, "%s", name);
    return SQLITE_DENY;
}

static int authorize_fenced(void *context, int action, const char *first, const char *second,
                            const char *database, const char *inner)
{
    static const char pragma[] = "pragma_";

    (void)database, (void)inner;
    if (action == SQLITE_SELECT || action == SQLITE_RECURSIVE) return SQLITE_OK;
    if (action == SQLITE_FUNCTION) return authorize_function(context, second ? second : "");
    if (action != SQLITE_READ) return SQLITE_DENY;
    return first && strncasecmp(first, pragma, strlen(pragma)) == 0 ? SQLITE_DENY : SQLITE_OK;
}

/* --- raising and lowering ------------------------------------------------------------------- */

/* Statements are fenced until fence_lower; limit_s 0: without limit of time. The fence is the
 * caller's and must stay where it is. */
static int fence_raise(struct fence *f, struct store *s, double limit_s, struct err *e)
{
    *f = (struct fence){.limit_s = limit_s};
    TRY(database_refresh(s, e));
    if (!s->has_guards) TRY(functions_register(s, e));
    if (limit_s > 0 && limit_s < 1e9) f->end_us = clock_monotonic_us() + (int64_t)(limit_s * 1e6);
    s->fence = f;
    sqlite3_progress_handler(s->connection_own, FENCE_STEPS, is_late, s);
    sqlite3_hard_heap_limit64(FENCE_HEAP_BYTES);
    sqlite3_set_authorizer(s->connection_own, authorize_fenced, f);
    return 0;
}

static void fence_lower(struct store *s)
{
    s->fence = NULL;
    sqlite3_progress_handler(s->connection_own, 0, NULL, NULL);
    sqlite3_hard_heap_limit64(0);
    sqlite3_soft_heap_limit64(0);
    database_authorize(s);
}

/* --- queries -------------------------------------------------------------------------------- */

/* A column of a view. */
struct view_column {
    const char *view, *name;
    bool is_read; /* the statement names the view */
};

/* Whether the statement contains the name as a word. */
static bool contains_word(const char *sql, const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    size_t n = strlen(name);

    for (const char *p = sql; *p; p += strcspn(p, letters)) {
        size_t length = strspn(p, letters);
        if (length == n && strncasecmp(p, name, n) == 0) return true;
        p += length;
    }
    return false;
}

static int32_t list_columns(struct view_column **out, struct store *s, struct arena *a,
                            const char *sql)
{
    static const char columns_sql[] = "SELECT v.name,c.name FROM sqlite_schema v,"
                                      " pragma_table_info(v.name) c WHERE v.type='view' LIMIT ?1";
    struct view_column *columns = arena_array(a, QUERY_NAMES_MAX, sizeof *columns);
    const char *view, *name;
    int32_t n = 0;
    sqlite3_stmt *row;

    if (database_select(s, &row, columns_sql, DATABASE_VALUES(DATABASE_INT(QUERY_NAMES_MAX)),
                        NULL) == 0)
        while (database_next(s, row, DATABASE_COLUMNS(DATABASE_TO(view), DATABASE_TO(name)), NULL) >
               0)
            columns[n++] = (struct view_column){arena_strdup(a, view), arena_strdup(a, name),
                                                contains_word(sql, view)};
    *out = columns;
    return n;
}

/* Whether a name such as final_loss_nats has this part between its underscores. */
static bool has_part(const char *name, const char *part)
{
    size_t n = strlen(part);

    for (const char *p = name; p; p = strchr(p, '_') ? strchr(p, '_') + 1 : NULL)
        if (strncasecmp(p, part, n) == 0 && (p[n] == '\0' || p[n] == '_')) return true;
    return false;
}

/* The key of this name, or the first whose name ends in it after a point. */
static const struct spec_key *find_setting(const char *name)
{
    size_t n;
    const struct spec_key *keys = spec_keys(&n);

    for (size_t i = 0; i < n; i++) {
        const char *point = strchr(keys[i].name, '.');
        if (strcmp(keys[i].name, name) == 0 || (point && strcmp(point + 1, name) == 0))
            return &keys[i];
    }
    return NULL;
}

/* Names the views that have the column, and the setting of this name; else the nearest name, first
 * among the columns of the statement's views. *found: the column or setting exists. */
static const char *column_advice(bool *found, struct store *s, struct arena *a, const char *sql,
                                 const char *column)
{
    const char *dot = strrchr(column, '.'), *name = dot ? dot + 1 : column;
    const struct spec_key *key = find_setting(column), *exact = dot ? key : NULL;
    struct view_column *columns;
    int32_t n = list_columns(&columns, s, a, sql), holders_n = 0, own_n = 0;
    const char **names = arena_array(a, (size_t)n + 1, sizeof *names);
    const char *part = NULL;
    struct strbuf b;

    strbuf_init(&b, a);
    if (dot && !key) key = find_setting(name);
    for (int32_t i = 0; i < n; i++) {
        if (columns[i].is_read) names[own_n++] = columns[i].name;
        if (columns[i].is_read && !part && has_part(columns[i].name, name)) part = columns[i].name;
        if (strcasecmp(columns[i].name, name) != 0 || exact) continue;
        if (++holders_n <= QUERY_HOLDERS_MAX)
            strbuf_addf(&b, "%s %s", holders_n > 1 ? "," : "; it is a column of", columns[i].view);
        if (holders_n == QUERY_HOLDERS_MAX + 1) strbuf_add(&b, ", …");
    }
    if (key && !part)
        strbuf_addf(&b, "; a setting is a row of the view settings: WHERE key = '%s'", key->name);
    *found = b.n > 0;
    if (*found) return b.text;
    if (part) return arena_printf(a, "; did you mean '%s'?", part);
    struct str_hint near = str_hint(name, names, (size_t)own_n);
    for (int32_t i = 0; i < n; i++) names[i] = columns[i].name;
    if (!*near.text) near = str_hint(name, names, (size_t)n);
    return arena_strdup(a, near.text);
}

static struct str_hint view_hint(struct store *s, const char *wrong)
{
    static const char sql[] = "SELECT name FROM sqlite_schema WHERE type='view' LIMIT ?1";
    const char *names[QUERY_NAMES_MAX], *name;
    size_t n = 0;
    sqlite3_stmt *row;

    if (database_select(s, &row, sql, DATABASE_VALUES(DATABASE_INT(QUERY_NAMES_MAX)), NULL) == 0)
        while (database_next(s, row, DATABASE_COLUMNS(DATABASE_TO(name)), NULL) > 0)
            names[n++] = name;
    return str_hint(wrong, names, n);
}

/* The error of a limit; the message states the limit. */
static int limit_error(const struct fence *f, int primary, const char *text, struct err *e)
{
    if (primary == SQLITE_INTERRUPT)
        return ERR(
            e, ERR_UNAVAILABLE,
            "query: took longer than %g s; narrow it, or give `alibi query` a longer --limit",
            f->limit_s);
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
    const char *advice = "";
    bool found = false;
    int rc;

    if (column) advice = column_advice(&found, s, &a, sql, column);
    if (table) advice = arena_strdup(&a, view_hint(s, table).text);
    if ((table || (column && strchr(column, '.'))) && !*advice)
        advice = "; `alibi query \"SELECT name FROM sqlite_schema WHERE type='view'\"` lists the "
                 "views";
    bool bare = column && !found && !strchr(column, '.'); /* perhaps a text */
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
    database_authorize(s); /* name_error uses a PRAGMA, which a fenced statement may not */
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

static int bind_param(sqlite3_stmt *statement, int at, const struct store_param *param)
{
    int64_t integer;

    if (!param->value) return sqlite3_bind_null(statement, at);
    if (param->type == STORE_INTEGER && str_to_int(&integer, param->value))
        return sqlite3_bind_int64(statement, at, integer);
    return sqlite3_bind_text(statement, at, param->value, -1, SQLITE_TRANSIENT);
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
        int rc = bind_param(statement, i, &params[k]);
        if (rc != SQLITE_OK) return database_error(s, rc, e);
    }
    return 0;
}

/* Its bytes of text. */
static int64_t read_cell(struct store_cell *cell, struct arena *a, sqlite3_stmt *row, int column)
{
    char number[STR_DOUBLE_BYTES];
    const char *text = NULL;

    switch (sqlite3_column_type(row, column)) {
    case SQLITE_NULL:
        cell->type = 'n';
        return 0;
    case SQLITE_INTEGER:
        cell->type = 'i';
        snprintf(number, sizeof number, "%lld", (long long)sqlite3_column_int64(row, column));
        cell->text = arena_strdup(a, number);
        return 0;
    case SQLITE_FLOAT:
        cell->type = 'r';
        str_from_double(number, sqlite3_column_double(row, column));
        cell->text = arena_strdup(a, number);
        return 0;
    default:
        cell->type = 't';
        text = (const char *)sqlite3_column_text(row, column);
        cell->text = text ? arena_strdup(a, text) : NULL;
        return sqlite3_column_bytes(row, column);
    }
}

static void read_names(const char ***names, int *n, struct arena *a, sqlite3_stmt *statement)
{
    *n = sqlite3_column_count(statement);
    *names = arena_array(a, (size_t)*n + 1, sizeof **names);
    for (int i = 0; i < *n; i++) (*names)[i] = arena_strdup(a, sqlite3_column_name(statement, i));
}

/* The first step comes before the names are read: if another process has changed the schema, the
 * step prepares the statement again, perhaps with other names. */
static int read_rows(struct store *s, struct rows *out, struct arena *a, const char *sql,
                     sqlite3_stmt *statement, struct err *e)
{
    int32_t capacity = 0;
    int64_t bytes = 0;
    int step;

    while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
        if (out->n == 0) read_names(&out->name, &out->columns_n, a, statement);
        if ((int64_t)(out->n + 1) * out->columns_n > QUERY_CELLS_MAX)
            return ERR(e, ERR_DATA,
                       "query: the answer has more than %d cells; narrow it with WHERE or LIMIT",
                       QUERY_CELLS_MAX);
        struct store_cell *cells = arena_array(a, (size_t)out->columns_n, sizeof *cells);
        for (int i = 0; i < out->columns_n; i++) {
            bytes += read_cell(&cells[i], a, statement, i);
            if (cells[i].type != 'n' && !cells[i].text) return sql_error(s, sql, e);
        }
        if (bytes > QUERY_ANSWER_BYTES)
            return ERR(e, ERR_DATA,
                       "query: the answer is larger than the limit of %d MiB; narrow it with WHERE "
                       "or LIMIT",
                       QUERY_ANSWER_BYTES >> 20);
        vec_grow(a, &out->row, out->n, &capacity, sizeof *out->row);
        out->row[out->n++] = cells;
    }
    return step == SQLITE_DONE ? 0 : sql_error(s, sql, e);
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

int store_query(struct store *s, struct rows *out, struct arena *a, const char *sql,
                const struct store_param *params, int32_t params_n, double limit_s, struct err *e)
{
    sqlite3_stmt *statement = NULL;
    struct fence fence;
    size_t bytes;

    *out = (struct rows){0};
    TRY(fence_raise(&fence, s, limit_s, e));
    int rc = prepare(s, &fence, sql, &statement, &bytes, e);
    if (rc == 0) rc = bind_params(s, statement, params, params_n, e);
    if (rc == 0) rc = read_rows(s, out, a, sql, statement, e);
    sqlite3_finalize(statement);
    fence_lower(s);
    return rc;
}

int store_columns(struct store *s, struct arena *a, const char *sql, const char ***names,
                  int32_t *n, size_t *bytes, struct err *e)
{
    sqlite3_stmt *statement = NULL;
    struct fence fence;

    TRY(fence_raise(&fence, s, 0, e));
    int rc = prepare(s, &fence, sql, &statement, bytes, e);
    if (rc == 0) read_names(names, n, a, statement);
    if (rc == 0 && *bytes > 0 && sql[*bytes - 1] == ';') --*bytes;
    sqlite3_finalize(statement);
    fence_lower(s);
    return rc;
}
