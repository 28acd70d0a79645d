/* page.h - what the parts of the page share; for page.c and page_runs.c. */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include <stdio.h>

#include "base/arena.h"
#include "report/answer.h"
#include "report/folder.h"
#include "report/report.h"

struct report_page {
    FILE *out;
    struct arena arena;
    struct store *store;
    const struct project *project;
    const struct report_options *options;
    const struct report_item *item;
    int32_t items_n;
    struct report_folder *folder; /* items_n */
    const char *wanted;           /* "|table5 mini|figure1 mini|" for the queries */
};

/* report_scoreboard - a row for each artefact, which leads to its section; claims as judged. */
struct report_claims;
int report_scoreboard(struct report_page *p, const struct report_claims *claims, struct err *e);

/* report_page_subject - one text: how many runs of which models on which corpora. */
int report_page_subject(const char **out, struct report_page *p, struct err *e);

/* report_page_made - what was run where, by which code: the provenance of the page. */
int report_page_made(struct report_page *p, struct err *e);

/* report_page_runs - the list of every run: an entry c-<config id> for a configuration, with its
 * specification, and a row r-<run id> for each of its seeds. */
int report_page_runs(struct report_page *p, struct err *e);

#endif
