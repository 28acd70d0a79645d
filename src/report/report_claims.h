/* report_claims.h - the verdicts of one folder's claim.sql. */
#ifndef REPORT_REPORT_CLAIMS_H
#define REPORT_REPORT_CLAIMS_H

#include "report/report.h"
#include "report/report_folder.h"

#ifdef __cplusplus
extern "C" {
#endif

/* report_claims_judge - the rows of claim.sql with their columns checked; *contradicted counts. No
 * rows and no error without a claim.sql. */
int report_claims_judge(struct report_rows *out, int32_t *contradicted, struct arena *a,
                        struct store *s, const struct report_folder *f, const char *scale,
                        struct err *e);

/* report_claims_sentence - "Shape: 2 of 3 claims supported (P5, P7); contradicted: P8." Away from
 * scale paper claims are about shape. Those whose name begins with X are about the paper's own
 * numbers and are left out; NULL when no other is there. */
const char *report_claims_sentence(struct arena *a, const struct report_rows *claims,
                                   const char *scale);

/* report_claims_heading - what stands above verdicts: away from scale paper they are about shape.
 */
const char *report_claims_heading(struct arena *a, const char *scale);

/* report_claims_write - as text three lines a claim, in the other formats a table. */
int report_claims_write(FILE *out, const struct report_rows *claims, const struct report_options *o,
                        struct err *e);

#ifdef __cplusplus
}
#endif
#endif
