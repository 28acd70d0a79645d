/* fence.c - see fence.h. */
#include "store/fence.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/clock.h"
#include "store/database.h"
#include "store/schema.h"

enum { FENCE_SQL_BYTES = 1 << 20, FENCE_REPEAT_US = 10000 };

/* --- actions and functions ------------------------------------------------------------------ */

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

/* inner: the view or trigger of the file that brings the action with it. */
static int authorize_own(void *context, int action, const char *first, const char *second,
                         const char *database, const char *inner)
{
    (void)context, (void)second, (void)database;
    if (!inner || strcmp(inner, schema_trigger_name) == 0 || action == SQLITE_SELECT)
        return SQLITE_OK;
    /* The reader's temporary view of a table's name (shadow_tables). */
    return action == SQLITE_READ && first && strcmp(first, inner) == 0 ? SQLITE_OK : SQLITE_DENY;
}

static void authorize(struct store *s)
{
    sqlite3_set_authorizer(s->connection_own, s->fence ? authorize_fenced : authorize_own,
                           s->fence);
}

void fence_open_gate(struct fence *f)
{
    sqlite3_set_authorizer(f->store->connection_own, authorize_own, NULL);
}

int fence_connection(struct store *s, struct err *e)
{
    static const struct {
        int verb, value;
    } switches[] = {{SQLITE_DBCONFIG_DEFENSIVE, 1},
                    {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                    {SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0},
                    {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
                    {SQLITE_DBCONFIG_DQS_DML, 0},
                    {SQLITE_DBCONFIG_DQS_DDL, 0}};

    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
        sqlite3_db_config(s->connection_own, switches[i].verb, switches[i].value, NULL);
    sqlite3_limit(s->connection_own, SQLITE_LIMIT_LENGTH, DATABASE_VALUE_BYTES);
    sqlite3_limit(s->connection_own, SQLITE_LIMIT_SQL_LENGTH, FENCE_SQL_BYTES);
    sqlite3_drop_modules(s->connection_own, NULL);
    authorize(s);
    TRY(functions_register(s, e));
    return database_script(s, "PRAGMA cell_size_check=ON", e);
}

/* --- time ----------------------------------------------------------------------------------- */

static bool is_over(const struct fence *f)
{
    return f->end_us != 0 && clock_monotonic_us() > f->end_us;
}

bool fence_is_over(const struct fence *f)
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

/* --- raising and lowering ------------------------------------------------------------------- */

int fence_raise(struct fence *f, struct store *s, double limit_s, struct err *e)
{
    *f = (struct fence){.store = s, .outer = s->fence, .limit_s = limit_s};
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
