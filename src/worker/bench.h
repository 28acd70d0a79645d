/* bench.h - words per second of a training: the median over windows of ten updates.
 *
 * 1. Time is device-synchronised at both ends of a window; validation and checkpoints are outside.
 * 2. The first ten updates of an attempt, or a twentieth of its updates where that is fewer, are
 *    warm-up and not counted.
 * 3. A median, so that a neighbour's burst on the machine does not become the figure. An attempt
 *    too short for one whole window is measured by what it has. */
#ifndef WORKER_BENCH_H
#define WORKER_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

struct speed {
    int64_t warmup; /* updates not counted yet */
    int64_t window_n, window_targets;
    double window_s;
    struct {
        double *item;
        int32_t n, capacity;
    } rates; /* targets per second of each whole window */
    struct arena *arena;
};

void speed_init(struct speed *s, struct arena *a, int64_t updates);
/* speed_window_ends - whether the update that is about to be added ends a window, so that the
 * device must be synchronised first. */
bool speed_window_ends(const struct speed *s);
void speed_add(struct speed *s, int64_t targets_n, double seconds);
/* speed_rate - targets per second, or NaN when nothing was measured. */
double speed_rate(const struct speed *s);
/* speed_median - of n values, which it sorts; NaN for none. */
double speed_median(double *values, int64_t n);

#endif
