/* html.h - the parts of an HTML page: texts, tables, a figure.
 *
 * 1. Every text that is not this program's own passes report_html: no name, title, claim or
 * message can open an element or an attribute.
 * 2. What is written is well-formed XML as well as HTML, so that any checker of either can read it.
 * 3. Nothing is loaded from elsewhere, and nothing needs a script. */
#ifndef REPORT_HTML_H
#define REPORT_HTML_H

#include <stdio.h>

#include "report/answer.h"
#include "report/writer.h"

/* report_html - the format, in which %s is a text, escaped for content and for attributes in double
 * quotes (NULL is nothing; what report_clean_text shows as \xNN is shown so here), and %d an int.
 */
void report_html(FILE *out, const char *format, ...) ERR_PRINTF(2, 3);

/* report_html_open, report_html_close - everything before and after the body of a page. Its policy
 * forbids scripts and whatever would be loaded from elsewhere. */
void report_html_open(FILE *out, const char *title);
void report_html_close(FILE *out);

/* report_html_rows - a table that scrolls sideways where it is wider than the page. A cell with a
 * link leads to the element of that id; a number with a verdict has its sign. */
void report_html_rows(FILE *out, const struct report_rows *r);

/* report_html_badge - colours a verdict or a state; any other text stays plain. */
void report_html_badge(FILE *out, const char *verdict);

/* report_html_claims - a block for each claim of the rows report_claims.cases: verdict, statement,
 * and its cases in a list. */
void report_html_claims(FILE *out, const struct report_rows *cases);

/* report_html_inline - a text with its **bold** and `code`. */
void report_html_inline(FILE *out, struct arena *a, const char *text);

/* report_html_text - a text of a README: paragraphs with **bold** and `code`, headings, and what
 * stands in columns (lists, tables, code) as it is. The first paragraph is shown, the rest opens
 * under `more`. */
void report_html_text(FILE *out, struct arena *a, const char *text, const char *more);

/* report_html_figure - the SVG files PATH.svg and PATH.narrow.svg (for a phone) as images of the
 * page, embedded as they are: a browser runs no script of an image and looks up none of its ids. id
 * is a plain name, `title` says what is shown. Errors: those of file_read. */
int report_html_figure(FILE *out, struct arena *a, const char *path, const char *id,
                       const char *title, struct err *e);

#endif
