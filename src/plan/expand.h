/* expand.h - a grid and a scale become runs and points of a plan. Inside src/plan only. */
#ifndef PLAN_EXPAND_H
#define PLAN_EXPAND_H

#include "base/map.h"
#include "plan/grid.h"
#include "plan/plan.h"
#include "plan/scale.h"

/* What the command line adds to every grid. */
struct expand_options {
    struct settings set; /* --set */
    struct axes only;    /* --only */
};

/* expand_count - the points of a grid before scales, --only and skips. Errors: ERR_DATA with the
 * place when they are more than PLAN_MAX_RUNS; nothing is expanded then. */
int expand_count(int64_t *out, const struct grid *g, struct err *e);

/* expand_grid - adds the grid's runs and points to plan, whose arrays have room. runs holds the ids
 * of plan->run. Errors: ERR_DATA with the place of the block or rule. */
int expand_grid(struct plan *plan, struct map *runs, const struct grid *g, const struct scale *s,
                const struct expand_options *o, struct err *e);

/* notes_add - one more note of the plan. */
void notes_add(struct plan *plan, const char *format, ...) ERR_PRINTF(2, 3);

#endif
