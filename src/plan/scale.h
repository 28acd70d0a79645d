/* scale.h - configs/scale/NAME.yaml: how a grid of the paper's lengths becomes a smaller one.
 *
 * 1. `divide` maps L_train, L_valid, bench.L and strides above 1 by round-half-up(n / divide), at
 * least 1; nothing else is divided.
 * 2. `set` states the rest; entries of `where` add settings for runs that match, in order.
 *    Conditions are in nominal values.
 * 3. A scale that has conditions on the dataset knows these datasets and refuses others. */
#ifndef PLAN_SCALE_H
#define PLAN_SCALE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/project.h"
#include "plan/settings.h"

struct scale_rule {
    struct axes where;
    struct settings set;
};

struct scale {
    const char *name;
    double divide;
    struct settings set;
    struct scale_rule *rule;
    int32_t rules_n;
};

/* scale_read - Errors: ERR_USAGE no such scale, with the nearest name; ERR_DATA with the place. */
int scale_read(struct scale *s, struct arena *a, const struct project *p, const char *name,
               struct err *e);

/* scale_length - round-half-up(n / divide), at least 1; 0 stays 0. */
int32_t scale_length(const struct scale *s, int32_t n);

/* scale_apply - turns the nominal draft into the scale's. Errors: ERR_DATA when the scale does not
 * know the dataset. */
int scale_apply(const struct scale *s, struct draft *d, struct err *e);

#endif
