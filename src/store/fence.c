/* fence.c - see fence.h.
 *
 * The functions that statements from outside may call:
 * 1. They are a list of names. A function that is not on it is refused where a statement is
 *    prepared, in the statement itself and in the views it reads.
 * 2. SQLite answers an interrupt between the steps of a statement, never inside a function. Some of
 *    its functions take time that grows with the product of two arguments, and printf returns NULL
 *    where its result is too large. Guards have their names: a guard limits the pattern or the
 *    widths, ends when the statement's time is over, and calls SQLite's own function on a
 *    connection of its own, where the name still means that. */
#include "store/fence.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/clock.h"
#include "store/database.h"

enum { FENCE_REPEAT_US = 10000, FUNCTION_SQL_BYTES = 512, FUNCTION_PRINTF_BYTES = 1 << 29 };

/* --- time ----------------------------------------------------------------------------------- */

static bool is_over(const struct fence *f)
{
    return f->end_us != 0 && clock_monotonic_us() > f->end_us;
}

static bool fence_is_over(const struct fence *f)
{
    while (f && !is_over(f)) f = f->outer;
    return f;
}

double fence_limit_s(const struct fence *f)
{
    const struct fence *over = f;
    while (over && !is_over(over)) over = over->outer;
    return over ? over->limit_s : f->limit_s;
}

/* An interrupt that falls between two steps is lost, so it is repeated until the query has ended.
 */
static void *watch(void *context)
{
    struct fence *f = context;
    int64_t next_us = f->end_us;

    pthread_mutex_lock(&f->lock);
    while (!f->ended) {
        int64_t now_us = clock_monotonic_us();
        if (now_us > f->end_us) {
            sqlite3_interrupt(f->store->connection_own);
            next_us = now_us + FENCE_REPEAT_US;
        }
        struct timespec until = {.tv_sec = next_us / 1000000, .tv_nsec = next_us % 1000000 * 1000};
        pthread_cond_timedwait(&f->wake, &f->lock, &until);
    }
    pthread_mutex_unlock(&f->lock);
    return NULL;
}

/* The thread takes no signals: they are for the thread that runs the command. */
static int start_timer(struct fence *f, struct err *e)
{
    pthread_condattr_t monotonic;
    sigset_t all, before;

    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    f->timed = pthread_create(&f->timer, NULL, watch, f) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (f->timed) return 0;
    pthread_cond_destroy(&f->wake);
    pthread_mutex_destroy(&f->lock);
    return ERR(e, ERR_UNAVAILABLE, "query: the thread for its time limit cannot be started");
}

static void stop_timer(struct fence *f)
{
    pthread_mutex_lock(&f->lock);
    f->ended = true;
    pthread_cond_signal(&f->wake);
    pthread_mutex_unlock(&f->lock);
    pthread_join(f->timer, NULL);
    pthread_cond_destroy(&f->wake);
    pthread_mutex_destroy(&f->lock);
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
    const struct store *store;
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

static void authorize(struct store *s)
{
    if (s->fence)
        sqlite3_set_authorizer(s->connection_own, authorize_fenced, s->fence);
    else
        database_authorize(s);
}

void fence_open_gate(struct fence *f)
{
    database_authorize(f->store);
}

/* --- raising and lowering ------------------------------------------------------------------- */

int fence_raise(struct fence *f, struct store *s, double limit_s, struct err *e)
{
    *f = (struct fence){.store = s, .outer = s->fence, .limit_s = limit_s};
    if (!s->has_guards) TRY(functions_register(s, e));
    if (limit_s > 0 && limit_s < 1e9) {
        f->end_us = clock_monotonic_us() + (int64_t)(limit_s * 1e6);
        TRY(start_timer(f, e));
    }
    f->heap_soft = sqlite3_soft_heap_limit64(-1);
    f->heap_hard = sqlite3_hard_heap_limit64(FENCE_HEAP_BYTES);
    s->fence = f;
    authorize(s);
    return 0;
}

void fence_lower(struct fence *f)
{
    if (f->timed) stop_timer(f);
    sqlite3_hard_heap_limit64(f->heap_hard);
    sqlite3_soft_heap_limit64(f->heap_soft);
    f->store->fence = f->outer;
    authorize(f->store);
}
