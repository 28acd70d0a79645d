/* verdict.h - ours beside the paper's, cell by cell, and what may be said of each.
 *
 * 1. A cell of the paper is judged only where the view comparison holds its number: scale paper,
 *    unmodified specification. Everything else has no verdict.
 * 2. The rule is data: the lines verdict: of table.txt. A metric without one is not judged.
 * 3. reproduced: the mean of the seeds differs by no more than `near` of the paper's number; within
 *    x %: by no more than `far`; not reproduced: by more, or the training diverged, or the number
 *    is not finite; not run: there is no result.
 * 4. A number that depends on the device is judged on the paper's device alone; of another one the
 *    ratio is shown with its name. */
#ifndef REPORT_VERDICT_H
#define REPORT_VERDICT_H

#include "report/answer.h"
#include "report/folder.h"
#include "report/writer.h"

enum report_verdict {
    REPORT_REPRODUCED,
    REPORT_WITHIN,
    REPORT_NOT_REPRODUCED,
    REPORT_NOT_RUN,
    REPORT_OTHER_DEVICE,
    REPORT_VERDICTS_N,
    REPORT_NO_VERDICT = REPORT_VERDICTS_N
};

/* The rows of comparison of an artefact at a scale, each with its verdict. */
struct report_verdicts {
    struct report_rows rows;      /* a cell a row; columns as verdict.c selects them */
    const char **said;            /* rows.rows_n: "reproduced", "within 5 %", … or NULL */
    enum report_verdict *verdict; /* rows.rows_n */
    bool *joined;                 /* rows.rows_n: a row of query.sql shows it */
    int32_t count[REPORT_VERDICTS_N];
    int32_t cells_n; /* with a number of the paper */
};

/* report_verdicts_find - asks the view and judges. Errors: those of report_rows_query. */
int report_verdicts_find(struct report_verdicts *v, struct arena *a, struct store *s,
                         const struct report_folder *f, const char *scale, struct err *e);

/* report_verdicts_join - gives the rows of query.sql the columns compared (the metric of their
 * cell), ours_mean, ours_std, seeds, paper, delta (all in the paper's unit) and verdict; NULL where
 * a row is no cell of the view. report_verdicts_append - after that, one more row for each cell
 * with a number of the paper that no row shows, such as the memory beside a perplexity. */
void report_verdicts_join(struct report_rows *rows, const struct report_verdicts *v,
                          const struct report_folder *f);
void report_verdicts_append(struct report_rows *rows, const struct report_verdicts *v);

/* report_verdicts_grid - the cells with a number of the paper: what each is, ours, the paper's, the
 * difference, the verdict. Columns that would say the same in every row are left out. */
void report_verdicts_grid(struct report_grid *g, struct arena *a, const struct report_verdicts *v,
                          const struct report_folder *f);

/* report_verdicts_sentence - "Verdicts on 50 numbers of the paper: 48 reproduced, …"; NULL without
 * one. report_verdicts_rule - the rules in words; NULL without one. */
const char *report_verdicts_sentence(struct arena *a, const struct report_verdicts *v);
const char *report_verdicts_rule(struct arena *a, const struct report_folder *f);

#endif
