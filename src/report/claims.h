/* claims.h - the verdicts of one folder's claim.sql. */
#ifndef REPORT_CLAIMS_H
#define REPORT_CLAIMS_H

#include "report/folder.h"
#include "report/report.h"

/* report_claims_judge - the rows of claim.sql with their columns checked; *contradicted counts. No
 * rows and no error without a claim.sql. */
int report_claims_judge(struct report_rows *out, int32_t *contradicted, struct arena *a,
                        struct store *s, const struct report_folder *f, const char *scale,
                        struct err *e);

/* The claims of a folder by verdict: how many, and their names, "P5, P7". Those whose name begins
 * with X are about the paper's own numbers and are not counted. */
struct report_claims_tally {
    int32_t all_n, supported_n, contradicted_n, open_n;
    const char *supported, *contradicted, *open; /* open: not run */
};
void report_claims_tally(struct report_claims_tally *t, struct arena *a,
                         const struct report_rows *claims);

/* report_claims_sentence - "Shape: 2 of 3 claims supported (P5, P7); contradicted: P8." Away from
 * scale paper claims are about shape. NULL when none is counted. */
const char *report_claims_sentence(struct arena *a, const struct report_rows *claims,
                                   const char *scale);

/* report_claims_heading - what stands above verdicts: away from scale paper they are about shape.
 */
const char *report_claims_heading(struct arena *a, const char *scale);

/* report_claims_write - as text three lines a claim, in the other formats a table. */
int report_claims_write(FILE *out, const struct report_rows *claims, const struct report_options *o,
                        struct err *e);

#endif
