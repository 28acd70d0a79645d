/* paper_configs.h - which runs at scale paper are the paper's own. Inside src/plan only.
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
#ifndef PLAN_PAPER_CONFIGS_H
#define PLAN_PAPER_CONFIGS_H

#include "base/err.h"
#include "base/project.h"
#include "plan/plan.h"

/* paper_mark - gives every run at scale paper its paper_id, and `modified` by whether it is listed;
 * a note says how many are not. Errors: ERR_DATA a wrong line, with its place. */
int paper_mark(struct plan *p, const struct project *project, struct err *e);

#endif
