/* query.c - statements from outside, such as query.sql, claim.sql and the command line: a single
 * SELECT within its limits. The views and triggers of a foreign results.db fall under them, too.
 *
 * A fence is raised around each:
 * 1. Actions: a SELECT without PRAGMA, ATTACH and virtual tables.
 * 2. Functions: those of a list. Another one is refused when a statement is prepared, in the
 *    statement itself and in the views it reads.
 * 3. Time: SQLite checks between the steps of a statement whether its time is over, but neither
 *    inside a function nor while it prepares a statement, and instr() of two long texts alone takes
 *    half a minute. So FENCE_GRACE_S later an alarm ends the process. That loses nothing: such a
 *    statement only reads, and the results of `alibi run` are committed before they are judged.
 * 4. Memory: FENCE_HEAP_BYTES for SQLite, DATABASE_VALUE_BYTES for a value or a row,
 *    QUERY_ANSWER_BYTES and QUERY_CELLS_MAX for the answer.
 * 5. The program's own statements may do everything, but no view of the file takes part in them,
 *    and of its triggers only the one of the schema. SQLite names a WITH table as it names a view,
 *    so these statements have none. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/str.h"
#include "spec/spec.h"
#include "store/database.h"
#include "store/open.h"
#include "store/schema.h"
#include "store/statements.h"

enum {
    FENCE_HEAP_BYTES = 256 << 20,
    FENCE_STEPS = 100,                    /* of a statement, between two looks at the clock */
    FENCE_GRACE_S = 3,                    /* from the limit to the alarm */
    FENCE_LIMIT_MAX = 1000 * 1000 * 1000, /* seconds; more is no limit */
    COLUMNS_LIMIT_S = 60,
    QUERY_NAMES_MAX = 1024,
    QUERY_HOLDERS_MAX = 3, /* views that a message names */
    QUERY_ANSWER_BYTES = 64 << 20,
    QUERY_CELLS_MAX = 4 * 1000 * 1000
};

#define FENCE_REMEDY "; narrow it, or give `alibi query` a longer --limit"

struct fence {
    double limit_s;
    int64_t end_us;   /* monotonic; 0: no limit */
    char refused[64]; /* the function that is not on the list; "": none */
    struct sigaction action_before;
    struct itimerval timer_before;
};

/* --- time ----------------------------------------------------------------------------------- */

/* True once the statement has timed out. */
static int is_late(void *fence)
{
    const struct fence *f = fence;
    return f->end_us > 0 && clock_monotonic_us() > f->end_us;
}

static char alarm_text[160]; /* the handler may not format it */

static void end_process(int number)
{
    (void)number;
    ssize_t wrote = write(STDERR_FILENO, alarm_text, strlen(alarm_text));
    (void)wrote;
    _exit(err_exit_code(ERR_UNAVAILABLE));
}

static void set_alarm(struct fence *f)
{
    const struct sigaction action = {.sa_handler = end_process};
    double seconds = f->limit_s + FENCE_GRACE_S;
    const struct itimerval timer = {.it_value = {.tv_sec = (time_t)seconds}};
    sigset_t alarm_only;

    snprintf(alarm_text, sizeof alarm_text, "alibi: query: took longer than %g s" FENCE_REMEDY "\n",
             f->limit_s);
    sigaction(SIGALRM, &action, &f->action_before);
    sigemptyset(&alarm_only);
    sigaddset(&alarm_only, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &alarm_only, NULL);
    setitimer(ITIMER_REAL, &timer, &f->timer_before);
}

static void clear_alarm(const struct fence *f)
{
    setitimer(ITIMER_REAL, &f->timer_before, NULL);
    sigaction(SIGALRM, &f->action_before, NULL);
}

/* --- functions ------------------------------------------------------------------------------ */

static const char *const allowed[] = {
    /* of one row */
    "abs", "char", "coalesce", "concat", "concat_ws", "format", "glob", "hex", "if", "ifnull",
    "iif", "instr", "length", "like", "likelihood", "likely", "lower", "ltrim", "max", "min",
    "nullif", "octet_length", "printf", "quote", "random", "randomblob", "replace", "round",
    "rtrim", "sign", "sqlite_version", "substr", "substring", "trim", "typeof", "unhex", "unicode",
    "unlikely", "upper", "zeroblob",
    /* of a column that holds JSON, such as claims.cases */
    "json_array_length", "json_extract", "json_type",
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

/* --- actions -------------------------------------------------------------------------------- */

static int authorize_function(struct fence *f, const char *name)
{
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
static void fence_raise(struct fence *f, struct store *s, double limit_s)
{
    *f = (struct fence){.limit_s = limit_s};
    if (limit_s > 0 && limit_s < FENCE_LIMIT_MAX) {
        f->end_us = clock_monotonic_us() + (int64_t)(limit_s * 1e6);
        set_alarm(f);
    }
    s->fence = f;
    sqlite3_progress_handler(s->connection_own, FENCE_STEPS, is_late, f);
    sqlite3_hard_heap_limit64(FENCE_HEAP_BYTES);
    sqlite3_set_authorizer(s->connection_own, authorize_fenced, f);
}

static void fence_lower(struct store *s)
{
    if (s->fence->end_us > 0) clear_alarm(s->fence);
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
    const char **names = arena_array(a, 2 * (size_t)n + 1, sizeof *names);
    const char *part = NULL;
    struct strbuf b;

    strbuf_init(&b, a);
    if (dot && !key) key = find_setting(name);
    for (int32_t i = 0; i < n; i++) {
        if (columns[i].is_read) names[own_n++] = columns[i].name;
        if (columns[i].is_read && strcmp(columns[i].name, "perplexity") == 0)
            names[own_n++] = "ppl=perplexity";
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
        return ERR(e, ERR_UNAVAILABLE, "query: took longer than %g s" FENCE_REMEDY, f->limit_s);
    if (*f->refused)
        return ERR(e, ERR_USAGE,
                   "query: %s() is not allowed here, only SELECT with SQLite's functions of "
                   "numbers, texts, dates, groups and windows",
                   f->refused);
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
    const char *advice = strcmp(text, "incomplete input") == 0
                             ? ": the statement ends too early; add what follows its last word"
                             : "";
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

/* Binds a text by its type in store_cell. */
static int bind_text(sqlite3_stmt *statement, int at, const char *text, char type)
{
    int64_t integer;

    if (!text) return sqlite3_bind_null(statement, at);
    if (type != 't' && type != 'r' && str_to_int(&integer, text))
        return sqlite3_bind_int64(statement, at, integer);
    if (type != 't' && type != 'i') return sqlite3_bind_double(statement, at, strtod(text, NULL));
    return sqlite3_bind_text(statement, at, text, -1, SQLITE_TRANSIENT);
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
        int rc =
            bind_text(statement, i, params[k].value, params[k].type == STORE_INTEGER ? 'i' : 't');
        if (rc != SQLITE_OK) return database_error(s, rc, e);
    }
    return 0;
}

static int insert_rows(struct store *s, const char *sql, const struct rows *rows, struct err *e)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(s->connection_own, sql, -1, &statement, NULL);

    for (int32_t i = 0; i < rows->rows_n && rc == SQLITE_OK; i++) {
        for (int32_t c = 0; c < rows->columns_n && rc == SQLITE_OK; c++)
            rc = bind_text(statement, c + 1, rows->row[i][c].text, rows->row[i][c].type);
        if (rc == SQLITE_OK) sqlite3_step(statement);
        if (rc == SQLITE_OK) rc = sqlite3_reset(statement); /* the error of the step */
    }
    rc = rc == SQLITE_OK ? 0 : database_error(s, rc, e);
    sqlite3_finalize(statement);
    return rc;
}

static void drop_tables(struct store *s, const struct store_param *params, int32_t params_n)
{
    char sql[128];

    for (int32_t i = 0; i < params_n; i++) {
        if (params[i].type != STORE_ROWS || !params[i].value) continue;
        snprintf(sql, sizeof sql, "DROP TABLE IF EXISTS temp.%s", params[i].name);
        (void)database_script(s, sql, NULL);
    }
}

static int make_tables(struct store *s, const struct store_param *params, int32_t params_n,
                       struct err *e)
{
    for (int32_t i = 0; i < params_n; i++) {
        const struct rows *rows = params[i].value;
        struct strbuf columns, values;
        if (params[i].type != STORE_ROWS || !rows) continue;
        strbuf_init(&columns, rows->arena);
        strbuf_init(&values, rows->arena);
        for (int32_t c = 0; c < rows->columns_n; c++) {
            strbuf_addf(&columns, "%sc%d", c ? "," : "", c);
            strbuf_add(&values, c ? ",?" : "?");
        }
        TRY(database_script(
            s, arena_printf(rows->arena, "CREATE TEMP TABLE %s(%s)", params[i].name, columns.text),
            e));
        TRY(insert_rows(s,
                        arena_printf(rows->arena, "INSERT INTO temp.%s VALUES(%s)", params[i].name,
                                     values.text),
                        rows, e));
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
    int64_t bytes = 0;
    int step;

    while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
        if (out->rows_n == 0) read_names(&out->name, &out->columns_n, a, statement);
        if ((int64_t)(out->rows_n + 1) * out->columns_n > QUERY_CELLS_MAX)
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
        vec_grow(a, &out->row, out->rows_n, &out->room, sizeof *out->row);
        out->row[out->rows_n++] = cells;
    }
    return step == SQLITE_DONE ? 0 : sql_error(s, sql, e);
}

/* The statement of sql, checked: one SELECT and nothing after it. */
static int prepare_statement(struct store *s, const char *sql, sqlite3_stmt **out, struct err *e)
{
    const char *tail = "";

    if (sqlite3_prepare_v2(s->connection_own, sql, -1, out, &tail) != SQLITE_OK)
        return sql_error(s, sql, e);
    if (!*out) return ERR(e, ERR_USAGE, "query: empty statement");
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

    *out = (struct rows){.arena = a};
    TRY(database_refresh(s, e));
    int rc = make_tables(s, params, params_n, e);
    fence_raise(&fence, s, limit_s);
    if (rc == 0) rc = prepare_statement(s, sql, &statement, e);
    if (rc == 0) rc = bind_params(s, statement, params, params_n, e);
    if (rc == 0) rc = read_rows(s, out, a, sql, statement, e);
    sqlite3_finalize(statement);
    fence_lower(s);
    drop_tables(s, params, params_n);
    return rc;
}

int store_columns(struct store *s, struct rows *out, struct arena *a, const char *sql,
                  const struct store_param *params, int32_t params_n, struct err *e)
{
    sqlite3_stmt *statement = NULL;
    struct fence fence;

    *out = (struct rows){.arena = a};
    TRY(database_refresh(s, e));
    int rc = make_tables(s, params, params_n, e);
    fence_raise(&fence, s, COLUMNS_LIMIT_S);
    if (rc == 0) rc = prepare_statement(s, sql, &statement, e);
    if (rc == 0) read_names(&out->name, &out->columns_n, a, statement);
    sqlite3_finalize(statement);
    fence_lower(s);
    drop_tables(s, params, params_n);
    return rc;
}
