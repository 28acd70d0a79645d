/* meter.h - what the user sees while a grid runs: on stderr one line that is painted anew on a
 * terminal, plain lines elsewhere.
 *
 * Whatever else is said while the line stands goes through progress_print, which takes the line
 * away first. There is no colour, so NO_COLOR has nothing to take away. */
#ifndef SCHEDULER_METER_H
#define SCHEDULER_METER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "scheduler/scheduler.h"

enum { METER_NAME_BYTES = 160 };

struct progress_line {
    bool quiet, live, shown; /* shown: the line stands on the terminal */
    const char *headline;
    int64_t start_us, painted_us;
};

/* How far things are. */
struct meter_state {
    int32_t total_n, ended_n, failed_n, diverged_n, running_n, slots_n;
    double wps;                /* of all workers that run */
    double flops_done;         /* in this call, running ones by their share */
    double flops_left;         /* of what is not ended */
    double flops_longest_left; /* of one run that is running or to come */
    double worker_s;           /* time of all workers so far, added up */
    bool stopping;
};

void meter_open(struct progress_line *m, bool quiet, const char *headline);
/* progress_print - a line that stays. live_too: also on a terminal, where the painted line already
 * tells of starts and ends. */
void progress_print(struct progress_line *m, bool live_too, const char *format, ...)
    ERR_PRINTF(3, 4);
/* progress_draw - the line of now; does nothing when the last is recent enough. */
void progress_draw(struct progress_line *m, const struct meter_state *st);
void meter_close(struct progress_line *m);

/* meter_eta - seconds left by the speed reached so far; negative: not known yet. */
double meter_eta(const struct meter_state *st);

/* meter_name - a job for people: "train alibi L=64 seed 1", "evaluate alibi L=64 at 128". */
void meter_name(char out[METER_NAME_BYTES], const struct spec *s);

#endif
