/* writer.h - a finished table of texts, written for people: aligned text, Markdown, LaTeX,
 * HTML.
 *
 * A cell is NULL where there is nothing to show. The caller decides the text of a cell; this
 * file only aligns and escapes, and makes visible what clean.h calls not clean. */
#ifndef REPORT_WRITER_H
#define REPORT_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "report/answer.h"
#include "report/clean.h"
#include "report/report.h"

struct report_grid {
    struct arena *arena;
    int32_t columns_n, rows_n;
    const char **head;    /* columns_n */
    const char **cell;    /* (rows_n, columns_n) */
    const char **link;    /* (rows_n, columns_n) HTML: the id a cell leads to, or NULL */
    const char **hint;    /* (rows_n, columns_n) HTML: the tooltip of a cell, or NULL */
    const char **verdict; /* (rows_n, columns_n) what was judged of a cell, or NULL */
    bool *right;          /* columns_n: numbers are aligned to the right */
};

void report_grid_init(struct report_grid *g, struct arena *a, int32_t columns_n, int32_t rows_n);
void report_grid_set(struct report_grid *g, int32_t row, int32_t column, const char *text);

/* report_grid_from_rows - every column and cell as it is; columns that hold only numbers are
 * aligned to the right. */
void report_grid_from_rows(struct report_grid *g, struct arena *a, const struct report_rows *r);

/* report_grid_write - format TEXT, MARKDOWN, LATEX (booktabs) or HTML (a fragment). */
void report_grid_write(FILE *out, const struct report_grid *g, enum report_format format);

/* report_rows_write - rows as they are, in any format. */
int report_rows_write(FILE *out, struct arena *a, const struct report_rows *r,
                      enum report_format format, struct err *e);

/* The words around the tables, in the same formats: a heading, a paragraph. */
void report_write_heading(FILE *out, const char *text, enum report_format format, int level);
void report_write_paragraph(FILE *out, const char *text, enum report_format format);

#endif
