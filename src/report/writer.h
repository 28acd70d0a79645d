/* writer.h - a table in every format, and the words around it.
 *
 * The caller decides the text of a cell; this file aligns and escapes, and makes visible what
 * clean.h calls not clean. */
#ifndef REPORT_WRITER_H
#define REPORT_WRITER_H

#include <stdio.h>

#include "base/arena.h"
#include "report/answer.h"
#include "report/clean.h"
#include "report/report.h"

/* report_rows_write - TEXT, MARKDOWN, LATEX (booktabs), HTML (a fragment), and for programs:
 *   CSV    RFC 4180 with a header line, lines ended by LF, full precision, empty for NULL; a text
 *          that a spreadsheet would take for a formula has an apostrophe before it
 *   JSON   an array of objects; numbers stay numbers, NULL is null */
int report_rows_write(FILE *out, const struct report_rows *r, enum report_format format,
                      struct err *e);

/* The words around the tables, in the formats for people: a heading, a paragraph. */
void report_write_heading(FILE *out, const char *text, enum report_format format, int level);
void report_write_paragraph(FILE *out, const char *text, enum report_format format);

#endif
