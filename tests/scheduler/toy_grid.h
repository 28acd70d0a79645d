/* toy_grid.h - a project in a temporary folder with a grid for the fake worker, for the scheduler's
 * tests. */
#ifndef TESTS_TOY_GRID_H
#define TESTS_TOY_GRID_H

#include <stdbool.h>
#include <sys/types.h>

#include "harness/test.h"
#include "scheduler/queue.h"
#include "scheduler/slots.h"
#include "store/store_fixture.h"

/* TOY_DEADLINE_MS: of every wait for a condition; generous, since the machine may be busy. */
enum { TOY_RUNS_MAX = 512, TOY_STALL_S = 300, TOY_DEADLINE_MS = 120000 };

struct toy_grid {
    struct arena arena;
    struct project project;
    char root[TEST_PATH_BYTES], worker[4200];
    struct store *store;
    struct run run[TOY_RUNS_MAX];
    int32_t n;
    struct scheduler_options options;
    struct scheduler_result result;
    struct err e;
    struct slots slots; /* of the tests of slots and queue alone */
    struct queue queue;
    int clock[2];     /* a pipe: how much time has passed besides */
    int64_t ahead_us; /* of the machine's clock, as far as the pipe was read */
    int bell;         /* a FIFO: the fake worker writes a byte when it begins to wait */
    int gate;         /* a FIFO: a byte lets the fake worker's action `gate` go on */
    int asked;        /* a FIFO of test_slurm.c: squeue writes a byte when it is asked */
};

/* Makes the folder; the script lets everything succeed. One slot, no progress lines. A worker may
 * be silent for TOY_STALL_S. */
int toy_grid_setup(void **state);
int toy_grid_teardown(void **state); /* removes the folder */

/* Adds a training (L) and returns its index; costs fall in the order of adding. */
int32_t toy_grid_train(struct toy_grid *g, int32_t L);
int32_t toy_grid_evaluate(struct toy_grid *g, int32_t train, int32_t L);
int32_t toy_grid_bench(struct toy_grid *g, int32_t L);

/* A training with three evaluations; returns the training's index. */
int32_t toy_grid_family(struct toy_grid *g, int32_t L);

/* Replaces the script (outcome.h): for each pair (run, words), ended by -1; all others are done. */
void toy_grid_script(struct toy_grid *g, ...);

void toy_grid_open_store(struct toy_grid *g); /* and adds the runs */
int toy_grid_run(struct toy_grid *g);         /* scheduler_run into result and e */
/* The same, which does so many runs; or fails with this code and a word of the message. */
void toy_grid_complete(struct toy_grid *g, int32_t done);
void toy_grid_fail(struct toy_grid *g, int code, const char *word);

/* A running row of a run and its folder, as an earlier scheduler would have left them; the id of
 * the attempt. row: what else it has. */
int64_t toy_grid_leave(struct toy_grid *g, int32_t run, struct store_attempt row);

/* One integer from the store. */
long toy_grid_count(struct toy_grid *g, const char *sql);
/* The number of rows, or of attempts that fulfil a condition. */
#define assert_count(g, n, sql) assert_int_equal(toy_grid_count((g), (sql)), (n))
#define assert_attempts(g, n, condition)                                                           \
    assert_count(g, n, "SELECT count(*) FROM attempts WHERE " condition)
/* The number of attempts of a run. */
long toy_grid_attempts(struct toy_grid *g, int32_t run);
/* The state of the newest attempt of a run. */
enum store_state toy_grid_last(struct toy_grid *g, int32_t run);
/* The same in a process of its own; its exit status is -rc. The store must be closed. */
pid_t toy_grid_fork(struct toy_grid *g);
/* Waits for the end of that process; its exit status. toy_grid_join - expects this code, then opens
 * the store. */
int toy_grid_status(pid_t pid);
void toy_grid_join(struct toy_grid *g, pid_t pid, int code);
/* The same for a call in which one run does what the action says; returns when its worker has
 * begun to wait. */
pid_t toy_grid_begin(struct toy_grid *g, int32_t run, const char *action);
/* Kills a scheduler. */
void toy_grid_kill(pid_t pid);
/* A new FIFO that is open for both sides; its descriptor. */
int toy_grid_fifo(const char *path);
/* Waits for n bytes of a FIFO, such as the bell. */
void toy_grid_await_bell(int fifo, int n);
/* Lets the worker at the gate go on. */
void toy_grid_open_gate(struct toy_grid *g);
/* Waits until the process has ended. Works for processes that are not children. */
void toy_grid_await_end(pid_t pid);
/* Waits until results.db, which a scheduler in another process writes, gives this one integer. */
void toy_grid_await_count(struct toy_grid *g, const char *sql, long expected);
/* Lets time pass for the scheduler, also for one in another process; at once. */
void toy_grid_pass(struct toy_grid *g, double seconds);
/* A file of the project, or of a run's first attempt; "" if it is absent. */
char *toy_grid_read(struct toy_grid *g, const char *name);
char *toy_grid_read_of(struct toy_grid *g, int32_t run, const char *name);

#endif
