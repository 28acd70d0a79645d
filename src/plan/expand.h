/* expand.h - expands a grid at a scale into runs and points of a plan. Internal to src/plan. */
#ifndef PLAN_EXPAND_H
#define PLAN_EXPAND_H

#include "base/map.h"
#include "plan/grid.h"
#include "plan/plan.h"

/* configs/scale/NAME.yaml: how to scale down a grid written in the paper's lengths.
 *
 * 1. `divide` maps L_train, L_valid, bench.L and strides above 1 by round-half-up(n / divide), at
 * least 1; nothing else is divided.
 * 2. `set` gives further settings; entries of `where` add settings for runs that match, in order.
 *    Conditions use nominal values.
 * 3. A scale with conditions on the dataset rejects all other datasets. */
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

/* scale_read - Errors: ERR_USAGE unknown scale, with the nearest name; ERR_DATA with the place. */
int scale_read(struct scale *s, struct arena *a, const struct project *p, const char *name,
               struct err *e);

/* scale_length - round-half-up(n / divide), at least 1; 0 stays 0. */
int32_t scale_length(const struct scale *s, int32_t n);

/* scale_apply - applies the scale to a nominal draft. Errors: ERR_DATA if the scale has no settings
 * for the dataset. */
int scale_apply(const struct scale *s, struct draft *d, struct err *e);

/* Options of the command line that apply to every grid. */
struct expand_options {
    struct settings set; /* --set */
    struct axes only;    /* --only */
};

/* expand_count - the number of points of a grid before --only and skips, an upper bound of its
 * runs. Errors: ERR_DATA with the place if there are more than PLAN_MAX_RUNS. */
int expand_count(int64_t *out, const struct grid *g, struct err *e);

/* expand_grid - adds the grid's runs and points to plan, whose arrays have the capacity for them.
 * runs maps the ids of plan->run to indices. Errors: ERR_DATA with the place of the block or rule.
 */
int expand_grid(struct plan *plan, struct map *runs, const struct grid *g, const struct scale *s,
                const struct expand_options *o, struct err *e);

/* notes_add - adds a note to the plan. */
void notes_add(struct plan *plan, const char *format, ...) ERR_PRINTF(2, 3);

/* Which runs at scale paper have the paper's configuration.
 *
 * 1. Runs of an artefact with a shipped name are compared with the paper's numbers if their
 *    configuration is listed, whatever grid produced them; the others are `modified`. An artefact
 *    with another name has its own paper.tsv: its runs are `modified` only by --set, as at other
 *    scales.
 * 2. The lists are experiments/paper_configs.txt of the project and of the shipped files. A line is
 *    an id and a description, or `uncounted DATASET`; # begins a comment.
 * 3. The id is the config id without the corpus's folder and fingerprint, because the paper's texts
 *    cannot be shipped. For an `uncounted` dataset it also excludes the counts of words and tokens,
 *    which the paper does not state.
 * 4. At other scales only --set makes a run `modified`. */
/* paper_mark - sets paper_id and `modified` of every run at scale paper; adds a note with the
 * number of runs that are not listed. Errors: ERR_DATA a wrong line, with its place. */
int paper_mark(struct plan *p, const struct project *project, struct err *e);

#endif
