/* cases.h - from cases to verdicts: what every claim.sql has in common.
 *
 * A claim.sql may answer with the cases of its claims instead of with verdicts: claim, statement,
 * wanted (how many cases the grid asks for), seed (NULL where a case has none), holds (1, or 0 or
 * NULL where it does not), said (the case's numbers in words). A claim of which there is no case
 * yet has one row whose said is NULL. Then
 *
 * 1. a claim with fewer cases than are wanted, or with none wanted, is "not run";
 * 2. it is "supported" when every case holds, else "contradicted";
 * 3. its evidence is what the cases say, in their order, each with its seed, joined by "; ". */
#ifndef REPORT_CASES_H
#define REPORT_CASES_H

#include "report/answer.h"

/* report_cases_are - do the rows have the columns of cases. */
bool report_cases_are(const struct report_rows *rows);

/* report_cases_judge - verdicts (claim, statement, verdict, evidence), one row a claim, in the
 * order in which the claims first come. where names the file. Errors: ERR_DATA a claim or a
 * statement is NULL, wanted is no number of cases. */
int report_cases_judge(struct report_rows *out, struct arena *a, const struct report_rows *cases,
                       const char *where, struct err *e);

#endif
