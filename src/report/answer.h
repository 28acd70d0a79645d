/* answer.h - tables in memory: the one form between SQL and what is printed.
 *
 * Rows come of results.db (report_rows_query), of a paper.tsv (report_rows_tsv) or are placed by
 * hand (report_rows_init); the encoders of writer.h write them in every format. A cell's text is
 * NULL for NULL in SQL and where there is nothing to show. */
#ifndef REPORT_ANSWER_H
#define REPORT_ANSWER_H

#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "store/store.h"

enum {
    REPORT_MAX_CELLS = 4 * 1000 * 1000,
    REPORT_MAX_FILE_BYTES = 1024 * 1024,
    REPORT_QUERY_LIMIT_S = 60
};

struct report_cell {
    const char *text;
    char type; /* as in store_cell; t is aligned to the left, everything else to the right */
    const char *verdict;     /* what was judged of it, or NULL */
    const char *link, *hint; /* HTML: the id it leads to, the tooltip; or NULL */
    /* HTML: its own id, or that of its row in the first column; a text that opens under it;
     * elements in place of its text; not NULL: its lines are broken, however short it is */
    const char *id, *more, *markup, *wide;
};

struct report_rows {
    struct arena *arena; /* holds everything below */
    const char **name;   /* columns_n */
    int32_t columns_n;
    struct report_cell **row; /* rows_n, each of columns_n cells */
    int32_t rows_n, room;
};

/* report_rows_init - cells without text, names NULL. report_rows_append - the rows of another with
 * the same columns, whose cells they share; *to may be zeroed. */
void report_rows_init(struct report_rows *r, struct arena *a, int32_t columns_n, int32_t rows_n);
void report_rows_append(struct report_rows *to, const struct report_rows *from);

/* report_rows_slice - some columns of some rows, which share their cells. */
void report_rows_slice(struct report_rows *out, const struct report_rows *of, int32_t column,
                       int32_t columns_n, int32_t row, int32_t rows_n);

/* report_rows_query - all rows of one statement. where names its source in messages (a file), or
 * is NULL. Errors: those of store_query; ERR_DATA more than REPORT_MAX_CELLS cells. */
int report_rows_query(struct report_rows *r, struct arena *a, struct store *s, const char *where,
                      const char *sql, const struct store_param *params, int32_t params_n,
                      double limit_s, struct err *e);

/* report_rows_tsv - a file of tab-separated cells under a header line; empty cells become NULL.
 * Errors: ERR_NOINPUT absent; ERR_DATA "file:line: …" a row of another width. */
int report_rows_tsv(struct report_rows *r, struct arena *a, const char *path, struct err *e);

/* report_rows_arrange - obeys the marks that names in a statement of the program's own begin with:
 *   >name, <name   aligned to the right, to the left, whatever its cells are
 *   ?name          left out if all its values are the same; ~name: if it has none
 *   #verdict       and every other field of report_cell: of the cells of the column before */
void report_rows_arrange(struct report_rows *r);

/* report_rows_column - index of the column of this name, or -1. */
int32_t report_rows_column(const struct report_rows *r, const char *name);

/* report_rows_text - the cell's text; NULL for SQL NULL and for column -1. */
const char *report_rows_text(const struct report_rows *r, int32_t row, int32_t column);

/* report_rows_number - true and the value when the cell holds a finite number. */
bool report_rows_number(double *out, const struct report_rows *r, int32_t row, int32_t column);

/* The same by the column's name. */
const char *report_rows_get(const struct report_rows *r, int32_t row, const char *name);
bool report_rows_real(double *out, const struct report_rows *r, int32_t row, const char *name);

/* report_rows_right - which columns are aligned to the right: those without a text. */
const bool *report_rows_right(const struct report_rows *r);

/* An answer as a part of a larger statement: the rows of query.sql, or those of a paper.tsv. */
struct report_answer {
    const char *where; /* in messages: the file */
    const char *sql;   /* a SELECT without its semicolon, or VALUES */
    const char **name; /* columns_n, each once (report_unique_name) */
    int32_t columns_n;
};

/* report_answer_query - of one statement. Errors: those of store_columns, with the file.
 * report_answer_rows - of rows. */
int report_answer_query(struct report_answer *out, struct arena *a, struct store *s,
                        const char *where, const char *sql, struct err *e);
void report_answer_rows(struct report_answer *out, struct arena *a, const char *where,
                        const struct report_rows *rows);
/* report_unique_name - the name of a column; the second column of a name has "_2" after it, and so
 * on. */
const char *report_unique_name(struct arena *a, const char *const *name, int32_t column);
bool report_answer_has(const struct report_answer *r, const char *name);

/* report_answer_begin - "WITH …": the tables report_answer, the rows, and report_numbered, the same
 * with "#row", the place of a row from 1. report_quoted - a name or a text as SQL writes it. */
void report_answer_begin(struct strbuf *b, const struct report_answer *r);
const char *report_quoted(struct arena *a, const char *text, char quote);

#endif
