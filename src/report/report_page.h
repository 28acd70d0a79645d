/* report_page.h - what the parts of the page share; for report_page.c and report_page_runs.c. */
#ifndef REPORT_REPORT_PAGE_H
#define REPORT_REPORT_PAGE_H

#include <stdio.h>

#include "base/arena.h"
#include "report/report.h"
#include "report/report_rows.h"

#ifdef __cplusplus
extern "C" {
#endif

struct report_page {
    FILE *out;
    struct arena arena;
    struct store *store;
    const struct project *project;
    const struct report_options *options;
    const struct report_item *item;
    int32_t items_n;
    const char **title; /* items_n: of the artefacts, without their scale */
    const char *wanted; /* "|table5 mini|figure1 mini|" for the queries */
};

/* The runs that the artefacts ask for, and the attempt whose result is shown; machine numbers what
 * they ran on from 1. Begins a query, which reads `wanted` (run_id) and `made` (run_id, …). */
#define REPORT_PAGE_RUNS                                                                           \
    "WITH wanted AS (SELECT DISTINCT r.run_id FROM artefact_points p"                              \
    "  JOIN run_list e ON e.run_id = p.run_id"                                                     \
    "  JOIN run_list r ON r.run_id IN (e.run_id, e.train_run_id)"                                  \
    "  WHERE instr(:items, '|' || p.artefact || ' ' || p.scale || '|')),"                          \
    "made AS (SELECT a.run_id, a.attempt, a.device, a.backend, a.blas, a.threads, a.code_id,"      \
    "  a.ended_at, dense_rank() OVER (ORDER BY a.device, a.backend, a.blas, a.threads) AS machine" \
    "  FROM wanted w JOIN attempts a ON a.run_id = w.run_id WHERE a.current_result = 1)"

/* report_page_query - the answer of a query over :items. what names it in messages. */
int report_page_query(struct report_rows *rows, struct report_page *p, const char *what,
                      const char *sql, struct err *e);

/* report_page_made - what was run where, by which code: the provenance of the page. */
int report_page_made(struct report_page *p, struct err *e);

/* report_page_runs - the list of every run: an entry c-<config id> for a configuration, with its
 * specification, and a row r-<run id> for each of its seeds. */
int report_page_runs(struct report_page *p, struct err *e);

#ifdef __cplusplus
}
#endif
#endif
