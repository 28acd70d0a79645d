/* summary.h - what a whole call amounts to: its first line, its last lines, its counts. */
#ifndef SCHEDULER_SUMMARY_H
#define SCHEDULER_SUMMARY_H

#include <stdint.h>

#include "scheduler/progress.h"
#include "scheduler/queue.h"

/* summary_say_start - how much is to do, and where the results are. */
void summary_say_start(struct progress_line *m, const struct queue *q, int32_t slots_n);
/* summary_say_end - counts and time; which evaluations were not started, and why. */
void summary_say_end(struct progress_line *m, const struct queue *q,
                     const struct scheduler_result *r);
/* summary_fill_result - the counts; takes a queue that was never filled. */
void summary_fill_result(struct scheduler_result *r, const struct queue *q);
/* summary_fill_meter - counts, and the cost of what has not started. */
void summary_fill_meter(struct meter_state *st, const struct queue *q);

#endif
