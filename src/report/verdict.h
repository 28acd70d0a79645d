/* verdict.h - ours beside the paper's, cell by cell, and the verdict on each.
 *
 * 1. A cell of the paper is judged only where the view comparison holds its number: scale paper,
 *    unmodified specification. Everything else has no verdict.
 * 2. The rule is data: the lines verdict: of table.txt. A metric without one is not judged.
 * 3. reproduced: the mean of the seeds differs by no more than `near` of the paper's number; within
 *    x %: by no more than `far`; not reproduced: by more, or the training diverged, or the number
 *    is not finite; not run: there is no result yet.
 * 4. A number that depends on the device is judged on the paper's device alone; of another one the
 *    ratio is shown with its name. A speed measured on a busy machine (noisy, in the view
 *    benchmarks) is not judged. */
#ifndef REPORT_VERDICT_H
#define REPORT_VERDICT_H

#include "report/cells.h"
#include "report/folder.h"
#include "report/writer.h"

/* The rows of report_cells_judged of an artefact at a scale; their column verdict is one of
 * report_verdict_names or NULL, said is its words: "within 5 %", "× 1.20 on …". */
struct report_verdicts {
    struct report_rows rows;
    int32_t cells_n; /* with a number of the paper */
};

enum { REPORT_VERDICTS_N = 6 };
extern const char *const report_verdict_names[REPORT_VERDICTS_N];

/* report_verdicts_find - asks the view and judges. Errors: those of report_rows_query. */
int report_verdicts_find(struct report_verdicts *v, struct arena *a, struct store *s,
                         const struct report_folder *f, const char *scale, struct err *e);

/* report_verdicts_count - the cells of a verdict. */
int32_t report_verdicts_count(const struct report_verdicts *v, const char *verdict);

/* report_verdicts_table - the cells with a number of the paper: what each is, ours, the paper's,
 * the difference, the verdict. Columns with one value in every row are left out. */
void report_verdicts_table(struct report_rows *out, struct arena *a,
                           const struct report_verdicts *v, const struct report_folder *f);

/* report_verdicts_sentence - "Verdicts on 50 numbers of the paper: 48 reproduced, …"; NULL without
 * one. report_verdicts_rule - the rules in words; NULL without one. */
const char *report_verdicts_sentence(struct arena *a, const struct report_verdicts *v);
const char *report_verdicts_rule(struct arena *a, const struct report_folder *f);

#endif
