/* fence.h - limits of statements from outside: query.sql, claim.sql, the command line, and views
 * and triggers of a foreign results.db. For src/store only.
 *
 * 1. Actions: a fenced statement is a SELECT without PRAGMA, ATTACH and virtual tables.
 * 2. Functions: those of a list, called at most FENCE_FUNCTIONS_MAX times in a
 *    statement with its views.
 * 3. Time: a thread interrupts the statement at its deadline.
 * 4. Memory: FENCE_HEAP_BYTES for SQLite, DATABASE_VALUE_BYTES for a value or a row.
 * 5. The program's own statements may do everything, but no view of the file takes part in them,
 *    and of its triggers only the one of the schema. SQLite names a WITH table as it names a view,
 *    so these statements have none. */
#ifndef STORE_FENCE_H
#define STORE_FENCE_H

#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum {
    FENCE_FUNCTIONS_MAX = 2000,
    FENCE_PATTERN_MAX = 1000, /* bytes of a pattern; width and precision in a format */
    FENCE_HEAP_BYTES = 256 << 20
};

struct store;
struct fence {
    struct store *store;
    struct fence *outer; /* of the query whose row function asks this one; NULL: none */
    double limit_s;
    int64_t end_us; /* monotonic; 0: no limit */
    bool preparing; /* only then functions count: SQLite prepares again when the schema changes */
    int functions_n;
    char refused[64]; /* the function that is not on the list; "": none */
    bool timed;       /* the thread runs, and lock and wake are there */
    pthread_t timer;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool ended;                   /* under lock */
    int64_t heap_hard, heap_soft; /* limits before */
};

/* fence_raise - statements are fenced until fence_lower; limit_s 0: without limit of time. The
 * fence is the caller's and must stay where it is. Fences nest. */
int fence_raise(struct fence *f, struct store *s, double limit_s, struct err *e);
void fence_lower(struct fence *f);
/* fence_open_gate - statements of the program's own from here on, still within time and memory. */
void fence_open_gate(struct fence *f);

/* fence_limit_s - the limit whose time is over: this fence's or that of one around it. */
double fence_limit_s(const struct fence *f);

#endif
