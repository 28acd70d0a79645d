/* scoreboard.c - all artefacts in one table: how many cells and claims came out how. */
#include <string.h>

#include "base/file.h"
#include "report/claims.h"
#include "report/folder.h"
#include "report/report.h"
#include "report/verdict.h"
#include "report/writer.h"

/* Columns of the table; those of cells are left out when nothing is at scale paper. */
enum { SUMMARY_ARTEFACT, SUMMARY_SCALE, SUMMARY_CELLS, SUMMARY_CLAIMS_N = 4 };

static const char *const cell_heads[REPORT_VERDICTS_N] = {
    "reproduced", "within", "not reproduced", "cells not run", "other device", "noisy"};
static const char *const claim_heads[SUMMARY_CLAIMS_N] = {"claims supported", "contradicted",
                                                          "not run", "not judged"};

static const char *count(struct arena *a, int32_t n)
{
    return n ? arena_printf(a, "%d", n) : NULL;
}

/* The row of an artefact. */
static int summarise(struct report_grid *g, int32_t row, struct store *s, const struct project *p,
                     const struct report_item *item, bool cells, struct err *e)
{
    struct arena *a = g->arena;
    struct report_folder f;
    struct report_verdicts v;
    struct report_claims claims;
    struct report_claims_tally t;
    int32_t at = SUMMARY_CELLS;

    TRY(report_folder_open(&f, a, p, item->artefact, item->dir, e));
    TRY(report_claims_judge(&claims, a, s, &f, item->scale, e));
    report_claims_tally(&t, a, &claims);
    report_grid_set(g, row, SUMMARY_ARTEFACT, item->artefact);
    report_grid_set(g, row, SUMMARY_SCALE, item->scale);
    if (cells) {
        TRY(report_verdicts_find(&v, a, s, &f, item->scale, e));
        for (int32_t k = 0; k < REPORT_VERDICTS_N; k++)
            report_grid_set(g, row, at++,
                            count(a, report_verdicts_count(&v, report_verdict_names[k])));
    }
    if (t.n[REPORT_NOT_JUDGED]) report_grid_set(g, row, at + 3, t.names[REPORT_NOT_JUDGED]);
    if (t.all_n == 0) return 0;
    report_grid_set(g, row, at, arena_printf(a, "%d of %d", t.n[REPORT_SUPPORTED], t.all_n));
    report_grid_set(g, row, at + 1, t.names[REPORT_CONTRADICTED]);
    report_grid_set(g, row, at + 2, t.names[REPORT_NOT_RUN]);
    return 0;
}

int report_summary(FILE *out, struct store *s, const struct project *p,
                   const struct report_item *items, int32_t n, const struct report_options *o,
                   struct err *e)
{
    struct arena a;
    struct report_grid g;
    bool cells = false;
    int rc = 0;

    if (o->format == REPORT_CSV || o->format == REPORT_JSON) return 0;
    arena_init(&a);
    for (int32_t i = 0; i < n; i++) cells |= strcmp(items[i].scale, "paper") == 0;
    int32_t first_claim = SUMMARY_CELLS + (cells ? REPORT_VERDICTS_N : 0);
    report_grid_init(&g, &a, first_claim + SUMMARY_CLAIMS_N, n);
    g.head[SUMMARY_ARTEFACT] = "artefact";
    g.head[SUMMARY_SCALE] = "scale";
    for (int32_t c = SUMMARY_CELLS; c < first_claim; c++) {
        g.head[c] = cell_heads[c - SUMMARY_CELLS];
        g.right[c] = true;
    }
    for (int32_t c = 0; c < SUMMARY_CLAIMS_N; c++) g.head[first_claim + c] = claim_heads[c];
    for (int32_t i = 0; i < n; i++) TRY_OUT(rc, summarise(&g, i, s, p, &items[i], cells, e));
    if (o->format == REPORT_TEXT) fputc('\n', out);
    report_write_heading(out, "Summary", o->format, 1);
    if (o->format == REPORT_TEXT) fputc('\n', out);
    report_grid_write(out, &g, o->format);
    rc = file_check_output(out, e);
out:
    arena_fini(&a);
    return rc;
}
