/* progress.h - shows the progress of a grid on stderr: one line that is redrawn on a terminal,
 * plain lines elsewhere, and the first and last lines of a call.
 *
 * Whatever else is printed while the line is shown goes through progress_print, which removes the
 * line first. */
#ifndef SCHEDULER_PROGRESS_H
#define SCHEDULER_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "scheduler/queue.h"
#include "scheduler/scheduler.h"
#include "scheduler/slots.h"
#include "spec/spec.h"

struct scheduler;
struct attempt;

enum { PROGRESS_NAME_BYTES = 160 };

struct progress_line {
    bool quiet, live, shown; /* shown: the line is on the terminal */
    const char *headline;
    int64_t painted_us;
};

/* Work done and work left. */
struct progress_work {
    int32_t slots_n;
    double flops_done;         /* in this call, running ones by their share */
    double flops_left;         /* of what has not ended */
    double flops_longest_left; /* of one run that is running or to come, on each of its slots */
    double worker_s;           /* time of all workers so far, added up over their slots */
};

void progress_open(struct progress_line *m, bool quiet, const char *headline);
void progress_clear(struct progress_line *m); /* removes the line that is redrawn */
/* progress_print - writes a line that stays. live_too: also on a terminal, where the redrawn line
 * already shows starts and ends. */
void progress_print(struct progress_line *m, bool live_too, const char *format, ...)
    ERR_PRINTF(3, 4);
/* progress_draw - redraws the line; does nothing if it was drawn recently. */
void progress_draw(struct scheduler *sc);
/* progress_slot_seconds - the time of an attempt so far, once for each of its slots. */
double progress_slot_seconds(const struct scheduler *sc, const struct attempt *at);

/* progress_own_flops - what an attempt that has this share of a run has computed itself, without
 * the updates of the checkpoint from which it resumed. A training that continues a parent counts
 * the parent's updates in its share, and not in its cost. */
double progress_own_flops(const struct attempt *at, const struct run *run, double share);

/* progress_eta - seconds left by the speed reached so far; negative: not known yet. */
double progress_eta(const struct progress_work *w);

/* progress_format - the line: runs done, rate and time left, as far as they are known. */
void progress_format(struct strbuf *line, const struct scheduler *sc);

/* progress_name - describes a run for people: "train alibi L=64 seed 1", "evaluate alibi L=64 at
 * 128". */
void progress_name(char out[PROGRESS_NAME_BYTES], const struct spec *s);

/* progress_fill_result - counts the outcomes of the whole call; takes a queue that was never
 * filled. */
void progress_fill_result(struct scheduler_result *r, const struct queue *q);

/* progress_print_start - says how much is to do, and where the results are. progress_print_end -
 * says counts and time, and which evaluations were not started, and why. */
void progress_print_start(struct progress_line *m, const struct queue *q, const struct slots *sl);
void progress_print_end(struct progress_line *m, const struct queue *q,
                        const struct scheduler_result *r);

#endif
