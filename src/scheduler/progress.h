/* progress.h - what the user sees while a grid runs: on stderr one line that is redrawn on a
 * terminal, plain lines elsewhere; first and last lines of a call.
 *
 * Whatever else is printed while the line is shown goes through progress_print, which removes the
 * line first. */
#ifndef SCHEDULER_PROGRESS_H
#define SCHEDULER_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "scheduler/queue.h"
#include "scheduler/scheduler.h"

enum { PROGRESS_NAME_BYTES = 160 };

struct progress_line {
    bool quiet, live, shown; /* shown: the line is on the terminal */
    const char *headline;
    int64_t start_us, painted_us;
};

/* How far things are. */
struct progress_state {
    int32_t total_n, ended_n, failed_n, diverged_n, running_n, slots_n;
    double wps;                /* of all workers that run */
    double flops_done;         /* in this call, running ones by their share */
    double flops_left;         /* of what has not ended */
    double flops_longest_left; /* of one run that is running or to come */
    double worker_s;           /* time of all workers so far, added up */
    bool stopping;
};

void progress_open(struct progress_line *m, bool quiet, const char *headline);
void progress_close(struct progress_line *m);
/* progress_print - a line that stays. live_too: also on a terminal, where the redrawn line already
 * shows starts and ends. */
void progress_print(struct progress_line *m, bool live_too, const char *format, ...)
    ERR_PRINTF(3, 4);
/* progress_draw - the line of now; does nothing if the last is recent enough. */
void progress_draw(struct progress_line *m, const struct progress_state *st);

/* progress_eta - seconds left by the speed reached so far; negative: not known yet. */
double progress_eta(const struct progress_state *st);

/* progress_name - a run for people: "train alibi L=64 seed 1", "evaluate alibi L=64 at 128". */
void progress_name(char out[PROGRESS_NAME_BYTES], const struct spec *s);

/* progress_count - counts, and the cost of what has not started. progress_fill_result - the counts
 * of the whole call; takes a queue that was never filled. */
void progress_count(struct progress_state *st, const struct queue *q);
void progress_fill_result(struct scheduler_result *r, const struct queue *q);

/* progress_print_start - how much is to do, and where the results are. progress_print_end - counts
 * and time; which evaluations were not started, and why. */
void progress_print_start(struct progress_line *m, const struct queue *q, int32_t slots_n);
void progress_print_end(struct progress_line *m, const struct queue *q,
                        const struct scheduler_result *r);

#endif
