/* table.h - the tables of an artefact: rows of an answer in the layout of table.txt.
 *
 * 1. Rows that differ in what a number may be called (dataset, model, split, protocol, stride,
 * first window, precision) never share a table.
 * 2. A cell that was asked for and has no number is "–" (or "diverged"); one that was not asked
 * for is empty. */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

#include <stdio.h>

#include "report/layout.h"
#include "report/report.h"
#include "report/subset.h"

struct report_table_args {
    const struct report_rows *rows;
    const struct report_layout *layout;
    const char *value; /* column shown: the layout's, or "value" for the paper's rows */
    const char *gap;   /* column that says why a cell has no number, or NULL */
    bool extras;       /* whether the layout's extra columns are there */
    enum report_format format;
};

/* report_table_write - the tables, each with a line of facts. Errors: ERR_DATA a column the layout
 * names and the rows lack; unlike configurations in one cell. */
int report_table_write(FILE *out, struct arena *a, const struct report_table_args *t,
                       struct err *e);

/* report_table_facts - "wikitext103, split valid, nonoverlapping windows, …, seeds 1, 2" of rows.
 */
const char *report_table_facts(const struct report_subset *s);

/* report_table_source - what the rows came from: "run …; on …; code …" of ours, the page of the
 * paper's; "" when they do not say. */
const char *report_table_source(const struct report_subset *s);

/* report_table_column - the index of a column the layout names. Errors: ERR_DATA if query.sql has
 * no such column. */
int report_table_column(int32_t *out, const struct report_rows *rows, const char *name,
                        struct err *e);

#endif
