/* schedule.c - warm-up, cosine with restarts, fixed. Pure functions in double. */
#include "worker/schedule.h"

#include <math.h>

static double schedule_cosine(const struct spec_train *t, int64_t after_warmup)
{
    const double pi = 3.14159265358979323846;
    double position = (double)after_warmup; /* updates into the period */
    double length = t->period;
    double factor = 1.0;

    if (t->period < 1) return t->lr;
    /* A multiplier below 1 would shrink the periods away: the last whole one is then repeated. */
    while (position >= length) {
        position -= length;
        if (length * t->period_multiplier >= 1.0) length *= t->period_multiplier;
        factor *= t->lr_shrink;
    }
    return factor * (t->lr_min + 0.5 * (t->lr - t->lr_min) * (1.0 + cos(pi * position / length)));
}

double schedule_rate(const struct spec_train *t, int64_t update)
{
    if (update < t->warmup) {
        double first = t->lr_init < 0.0 ? t->lr_min : t->lr_init;
        return first + (double)update * (t->lr - first) / t->warmup;
    }
    return t->schedule == SPEC_FIXED ? t->lr : schedule_cosine(t, update - t->warmup);
}
