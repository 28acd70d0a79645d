/* expand.h - scales; a grid and a scale become runs and points of a plan. Inside src/plan only. */
#ifndef PLAN_EXPAND_H
#define PLAN_EXPAND_H

#include "base/map.h"
#include "plan/grid.h"
#include "plan/plan.h"

/* configs/scale/NAME.yaml: how a grid of the paper's lengths becomes a smaller one.
 *
 * 1. `divide` maps L_train, L_valid, bench.L and strides above 1 by round-half-up(n / divide), at
 * least 1; nothing else is divided.
 * 2. `set` states the rest; entries of `where` add settings for runs that match, in order.
 *    Conditions are in nominal values.
 * 3. A scale that has conditions on the dataset knows these datasets and refuses others. */
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

/* Which runs at scale paper are the paper's own.
 *
 * 1. What an artefact of a shipped name asks for is compared with the paper's numbers when its
 *    configuration is listed, however the grid came about: identity is meaning. What is not listed
 *    reads `modified`. An artefact of another name brings its own paper.tsv and answers for it:
 *    what is not listed there reads `modified` by --set only, as at the other scales.
 * 2. The lists are experiments/paper_configs.txt of the project and of the shipped files, both. A
 *    line is an id and what it is, for the reader; or `uncounted DATASET`; # begins a comment.
 * 3. The id is the config id without the text's folder and fingerprint: the paper's texts are not
 *    ours to ship, so none can be pinned. Of an `uncounted` dataset the paper does not say how many
 *    words and tokens there are either, so that any copy of it counts.
 * 4. Other scales are our own: there only --set modifies. */
/* paper_mark - gives every run at scale paper its paper_id, and `modified` by whether it is listed;
 * a note says how many are not. Errors: ERR_DATA a wrong line, with its place. */
int paper_mark(struct plan *p, const struct project *project, struct err *e);

#endif
