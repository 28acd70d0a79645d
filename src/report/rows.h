/* rows.h - tables in memory, and what writes them: text, HTML, gnuplot. For src/report and its
 * tests. */
#ifndef REPORT_ROWS_H
#define REPORT_ROWS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "report/report.h"
#include "store/store.h"

/* --- answer.c - tables in memory (struct rows).
 *
 * Rows come from results.db (report_rows_query), from a paper.tsv (report_rows_tsv) or from C code
 * (report_rows_init); writer.c writes them in every format. The text of a cell is NULL for SQL NULL
 * and for an empty cell. A cell of type t is aligned to the left, every other to the right. */

enum { REPORT_MAX_FILE_BYTES = 1024 * 1024, REPORT_QUERY_LIMIT_S = 60 };

/* How a table shows a cell. */
struct cell_marks {
    const char *verdict;     /* its verdict, or NULL */
    const char *link, *hint; /* HTML: the id of the link target, the tooltip; or NULL */
    /* HTML: its own id, or that of its row in the first column; a text that opens under it;
     * elements in place of its text; not NULL: its lines are broken, however short it is */
    const char *id, *more, *markup, *wide;
    bool best; /* LaTeX: bold, because no competing number comes within its error */
};

/* report_marks - the marks of a cell, to read. report_marks_of - the same, to set. */
const struct cell_marks *report_marks(const struct store_cell *cell);
struct cell_marks *report_marks_of(struct arena *a, struct store_cell *cell);

/* report_rows_init - makes cells without text; names are NULL. report_rows_add - adds a row of such
 * cells. report_rows_append - adds the rows
 * of another table with the same columns, which then share their cells; *to may be zeroed. */
void report_rows_init(struct rows *r, struct arena *a, int32_t columns_n, int32_t rows_n);
struct store_cell *report_rows_add(struct rows *r);
void report_rows_append(struct rows *to, const struct rows *from);

/* report_rows_join - copies the rows of another, whose columns the table gets if it lacks them; *to
 * has an arena. A cell that is in one of them alone is NULL. */
void report_rows_join(struct rows *to, const struct rows *from);

/* report_rows_slice - selects columns and rows, which share their cells with the original. */
void report_rows_slice(struct rows *out, const struct rows *of, int32_t column, int32_t columns_n,
                       int32_t row, int32_t rows_n);

/* report_rows_alike - counts the rows from this one on that have its text in the column. */
int32_t report_rows_alike(const struct rows *r, int32_t row, int32_t column);

/* report_rows_query - reads all rows of one statement. where names its source in messages (a file),
 * or is NULL. Errors: those of store_query. */
int report_rows_query(struct rows *r, struct arena *a, struct store *s, const char *where,
                      const char *sql, const struct store_param *params, int32_t params_n,
                      double limit_s, struct err *e);

/* report_rows_tsv - reads a file of tab-separated cells under a header line; empty cells become
 * NULL. Errors: ERR_NOINPUT absent; ERR_DATA "file:line: …" a row of another width. */
int report_rows_tsv(struct rows *r, struct arena *a, const char *path, struct err *e);

/* report_rows_arrange - applies the marks at the start of column names, in statements of this
 * program:
 *   >name, <name   aligned to the right, to the left, regardless of its cells
 *   ?name          left out if all its values are the same; ~name: if it has none
 *   #verdict       and every other field of cell_marks: of the cells of the column before */
void report_rows_arrange(struct rows *r);

/* report_rows_column - index of the column of this name, or -1. */
int32_t report_rows_column(const struct rows *r, const char *name);

/* report_unique_name - the name of a column; "_2" is appended to the second column of a name, and
 * so on. */
const char *report_unique_name(struct arena *a, const char *const *name, int32_t column);

/* report_rows_text - the cell's text; NULL for SQL NULL, for column -1 and beyond the rows. */
const char *report_rows_text(const struct rows *r, int32_t row, int32_t column);

/* report_rows_get - the text of a cell by its column's name. report_rows_real - its number;
 * `otherwise` if it has none. */
const char *report_rows_get(const struct rows *r, int32_t row, const char *name);
double report_rows_real(const struct rows *r, int32_t row, const char *name, double otherwise);

/* report_rows_right - true for each column that is aligned to the right, because it holds no text.
 */
const bool *report_rows_right(const struct rows *r);

/* --- writer.c - a table in every format, and the words around it.
 *
 * The caller determines the text of a cell; this file aligns and escapes it. */

/* report_rows_write - prints a table as TEXT, MARKDOWN, LATEX (booktabs), HTML (a fragment), and
 * for programs:
 *   CSV    RFC 4180 with a header line, lines ended by LF, full precision, empty for NULL; a text
 *          that a spreadsheet would take for a formula has an apostrophe before it
 *   JSON   an array of objects; numbers stay numbers, NULL is null */
int report_rows_write(FILE *out, const struct rows *r, enum report_format format, struct err *e);

/* report_rows_write_latex - the same as LaTeX, with a line above the header that names n columns
 * from `first` on together. */
int report_rows_write_latex(FILE *out, const struct rows *r, const char *name, int32_t first,
                            int32_t n, struct err *e);

/* report_rows_drop - removes a column. */
void report_rows_drop(struct rows *r, int32_t column);

/* report_latex_open, report_latex_close - begin and end the float of a table, with its caption and
 * label. */
void report_latex_open(FILE *out, const char *caption, const char *label);
void report_latex_close(FILE *out);

/* Write headings and paragraphs around the tables, in the formats for people. */
void report_write_heading(FILE *out, const char *text, enum report_format format, int level);
void report_write_paragraph(FILE *out, const char *text, enum report_format format);

/* report_write_folder - the name of an artefact's folder as a heading of level 1, in Markdown a
 * link to it. */
void report_write_folder(FILE *out, const char *name, enum report_format format);

/* report_subscript - length of the word that is a subscript of the L at p, as in L_valid, or 0.
 * `text` is where p's text begins. */
size_t report_subscript(const char *text, const char *p);

/* --- html.c - the parts of an HTML page: texts, tables, a figure.
 *
 * 1. Every text from outside is written by report_html: no name, title, claim or message can open
 *    an element or an attribute.
 * 2. The output is well-formed XML as well as HTML, so that a checker of either accepts it.
 * 3. The page loads nothing and needs no script. */

/* report_html - prints the format. %s: a text of the page, escaped, after str_clean; NULL is empty;
 * L_valid and its like have subscripts. %-s: a text in an attribute, in double quotes, or in code:
 * without subscripts. %d: an int. */
void report_html(FILE *out, const char *format, ...) ERR_PRINTF(2, 3);

/* report_html_open, report_html_close - write the page before and after its body. Its content
 * security policy forbids scripts and external resources. */
void report_html_open(FILE *out, const char *title);
void report_html_close(FILE *out);

extern const char report_html_style[];

/* report_html_cell - writes one cell of a table; of row -1 the column's heading. One with a link
 * leads to the element of that id; a number with a verdict has its sign. The first of a row opens
 * the row. */
void report_html_cell(FILE *out, const struct rows *r, int32_t row, int32_t column, bool right);

/* report_html_claims - writes a block for each claim of the rows report_claims.cases: verdict,
 * statement, and its cases in a list. */
void report_html_claims(FILE *out, const struct rows *cases);

/* report_html_inline - writes **bold** and `code` within a text. */
void report_html_inline(FILE *out, const char *text);

/* report_html_text - writes a README: paragraphs with **bold** and `code`, headings, and lists,
 * tables and code with their lines. The first paragraph is shown, the rest opens under `more`. */
void report_html_text(FILE *out, struct arena *a, const char *text, const char *more);

/* report_html_figure - embeds the SVG files PATH.svg and PATH.narrow.svg (for a phone) as images of
 * the page, unchanged: a browser runs no script of an image and looks up none of its ids. id is a
 * plain name, `title` describes the figure. Errors: those of file_read. */
int report_html_figure(FILE *out, struct arena *a, const char *path, const char *id,
                       const char *title, struct err *e);

/* --- gnuplot.c - runs gnuplot; quotes texts for its scripts.
 *
 * 1. gnuplot is found in PATH and started with arguments, never through a shell, without the user's
 *    gnuplotrc and without variables such as GNUPLOT_LIB.
 * 2. A text enters a script only through report_gnuplot_quote: single quotes, in which gnuplot
 *    substitutes nothing.
 * 3. A picture appears under its name complete or not at all.
 * 4. A script may run any command (system, backquotes, pipes, eval): a filter for that cannot be
 *    complete. Only scripts that are shipped or trusted (trust.c) are run.
 * 5. gnuplot is stopped at its time limit. */

/* report_gnuplot_quote - writes text as a single-quoted string; control characters become spaces.
 */
void report_gnuplot_quote(struct strbuf *b, const char *text);

/* report_script_begin - writes the first lines of a picture's script: the paths of itself and its
 * data. report_script_text - sets a variable to a text that enhanced mode shows as it is, except
 * that L_valid and its like have subscripts (plot.c). */
void report_script_begin(struct strbuf *b, const char *name);
void report_script_text(struct strbuf *b, const char *name, const char *text);

/* report_gnuplot_draw - writes NAME.dat and NAME.gp into folder, which it creates if needed, and
 * runs NAME.gp there for each format, with FORMAT and OUTPUT set, into NAME.FORMAT. Errors:
 * ERR_UNAVAILABLE gnuplot is not installed (names the package); ERR_INTERNAL it failed: quotes its
 * message, or did not end in time; those of the files. */
enum { REPORT_GNUPLOT_LIMIT_S = 60 };
struct report_gnuplot {
    const char *folder, *name;
    const struct strbuf *data, *script;
    const char *const *format; /* ended by NULL */
    double limit_s;            /* for each format */
};
int report_gnuplot_draw(struct arena *a, const struct report_gnuplot *g, struct err *e);

#endif
