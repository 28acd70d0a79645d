/* table.h - the tables of an artefact: the cells of an answer in the layout of table.txt.
 *
 * 1. Rows that differ in what a number may be called (dataset, model, split, protocol, stride,
 * first window, precision) never share a table.
 * 2. A cell that was asked for and has no number is "–" (or "diverged"); one that was not asked for
 * is empty. */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

#include <stdio.h>

#include "report/cells.h"
#include "report/report.h"

struct report_table_args {
    struct store *store;
    const struct report_keys *keys;
    const struct report_layout *layout;
    enum report_format format;
    bool drawn; /* HTML: the figure of these numbers is there */
};

/* report_table_write - the tables, each with a line of facts. Errors: those of report_cells. */
int report_table_write(FILE *out, struct arena *a, const struct report_table_args *t,
                       struct err *e);

/* report_table_facts - "wikitext103, split valid, nonoverlapping windows, …, seeds 1, 2" of a row
 * of report_cells_groups. */
const char *report_table_facts(struct arena *a, const struct report_rows *groups, int32_t group,
                               bool brief);

/* report_table_size - "0.15M parameters", "0.15M to 0.20M parameters" of two counts; NULL without.
 */
const char *report_table_size(struct arena *a, const char *low, const char *high);

#endif
