/* compare.h - two sets of evaluations side by side.
 *
 * 1. A filter is a comma list of column=value over the view evaluations, or the id of a run or a
 * training. L_train and L_valid are the paper's lengths, as in --only.
 * 2. What neither filter names must agree: an evaluation of A is paired with one of B with the same
 * position, lengths, seed, and so on.
 * 3. Scale, dataset, corpus, split, protocol, stride, first window, precision, checkpoint and the
 * number of targets asked for must always agree, named or not: they decide what a number may be
 * called. Evaluations that agree in all but these keep rows of their own, with what differs.
 */
#ifndef REPORT_COMPARE_H
#define REPORT_COMPARE_H

#include <stdio.h>

#include "report/report.h"

/* report_compare - columns: the coordinates, "A" and "B" perplexities, difference (A - B), ratio
 * (A / B), the runs of both, and why a row has no partner. Errors: ERR_USAGE a filter is wrong,
 * with the nearest column; ERR_NOINPUT no evaluation matches one. */
int report_compare(FILE *out, struct store *s, const char *a_filter, const char *b_filter,
                   enum report_format format, struct err *e);

#endif
