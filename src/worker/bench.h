/* bench.h - benchmarks, and words per second of a training, the median over windows of ten updates.
 *
 * 1. The device is synchronised at both ends of a window; windows exclude validation and
 *    checkpoints.
 * 2. The first ten updates of an attempt, or a twentieth of its updates if that is fewer, are
 *    warm-up and not measured.
 * 3. The median ignores bursts of other load on the machine. An attempt too short for a whole
 *    window is measured by the updates it has. */
#ifndef WORKER_BENCH_H
#define WORKER_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

struct worker;

/* bench_run - runs the attempt's only spec, of kind SPEC_BENCH; records EVENT_BENCHED. */
int bench_run(struct worker *a, struct err *e);

struct speed {
    int64_t warmup; /* warm-up updates left */
    int64_t window_n, window_targets;
    double window_s;
    struct {
        double *item;
        int32_t n, capacity;
    } rates; /* targets per second of each whole window */
    struct arena *arena;
};

void speed_init(struct speed *s, struct arena *a, int64_t updates);
/* speed_window_ends - true if the next update added ends a window, so that the device must be
 * synchronised first. */
bool speed_window_ends(const struct speed *s);
void speed_add(struct speed *s, int64_t targets_n, double seconds);
/* speed_rate - targets per second, or NaN without a measurement. */
double speed_rate(const struct speed *s);
/* speed_median - the median of n values, which it sorts; NaN if n is 0. */
double speed_median(double *values, int64_t n);

#endif
