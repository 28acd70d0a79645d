/* claims.h - the verdicts of one folder's claim.sql. */
#ifndef REPORT_CLAIMS_H
#define REPORT_CLAIMS_H

#include "report/folder.h"
#include "report/report.h"

/* What a claim.sql comes to.
 *
 * It answers with the cases of its claims: claim, statement, wanted (how many cases the grid asks
 * for), seed (NULL where a case has none), holds (1, or 0 or NULL where it does not), said (the
 * case's numbers in words). A claim without a case yet has one row whose said is NULL.
 *
 * 1. A claim with fewer cases than are wanted, or with none wanted, is "not run".
 * 2. It is "supported" when every case holds, else "contradicted".
 * 3. Its evidence is the words of the cases, in their order, each with its seed, joined by "; ";
 * what is missing comes first.
 *
 * Or it answers with verdicts: claim, statement, verdict, evidence. In both two columns may follow.
 * counted is 0 of a claim about the paper's own numbers, which no run of ours can change. unjudged
 * is NULL, or why a claim is "not judged", in words that follow these: "at this scale: …" or
 * "because the machine was busy". */
struct report_claims {
    /* one a claim: artefact, scale, claim, statement, verdict, evidence, counted, … */
    struct report_rows rows;
    /* one a case, with the columns of its claim; line is its text or NULL */
    struct report_rows cases;
};

/* report_claims_judge - no rows and no error without a claim.sql. Errors: ERR_DATA other columns, a
 * verdict of another word, a claim or a statement that is NULL, wanted is not a number of cases. */
int report_claims_judge(struct report_claims *out, struct arena *a, struct store *s,
                        const struct report_folder *f, const char *scale, struct err *e);

/* report_claims_of - all claims of n artefacts, and those of each beside its folder. */
struct report_judged {
    struct report_folder folder;
    struct report_claims claims;
};
int report_claims_of(struct report_claims *all, struct report_judged **judged, struct arena *a,
                     struct store *s, const struct project *p, const struct report_item *items,
                     int32_t n, struct err *e);

enum {
    REPORT_SUPPORTED,
    REPORT_CONTRADICTED,
    REPORT_NOT_RUN,
    REPORT_NOT_JUDGED,
    REPORT_CLAIM_VERDICTS_N
};
extern const char *const report_claim_verdicts[REPORT_CLAIM_VERDICTS_N];

/* The claims by verdict: how many, and their names, "P5, P7"; those about the paper's own numbers
 * alone are counted apart. A claim that folders share counts once. */
struct report_claims_tally {
    int32_t n[REPORT_CLAIM_VERDICTS_N];
    const char *names[REPORT_CLAIM_VERDICTS_N];
    int32_t all_n; /* but for those not judged */
    int32_t paper_n, paper_supported_n;
};
void report_claims_tally(struct report_claims_tally *t, struct arena *a,
                         const struct report_claims *claims);

/* report_claims_sentence - "Shape: 2 of 3 claims supported (P5, P7); contradicted: P8." Away from
 * scale paper claims are about shape. report_claims_of_paper - the same of those about the paper's
 * own numbers alone. NULL where there is none. */
const char *report_claims_sentence(struct arena *a, const struct report_claims *claims,
                                   const char *scale);
const char *report_claims_of_paper(struct arena *a, const struct report_claims *claims);

/* report_claims_heading - what is above verdicts: away from scale paper they are about shape.
 */
const char *report_claims_heading(struct arena *a, const char *scale);

/* report_claims_write - as text three lines a claim, in the other formats a table; placed: with the
 * artefact. */
int report_claims_write(FILE *out, const struct report_claims *claims, bool placed,
                        const struct report_options *o, struct err *e);

#endif
