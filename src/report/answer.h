/* answer.h - the answer of a query held in memory, with names and types of its cells.
 *
 * Everything the report prints passes through this form: rows of results.db (report_rows_query) and
 * rows of a paper.tsv (report_rows_tsv). A cell's text is NULL for NULL in SQL. */
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

struct report_rows {
    struct arena *arena; /* holds everything below */
    const char **name;   /* columns_n */
    int32_t columns_n;
    struct store_cell **row; /* rows_n, each of columns_n cells */
    int32_t rows_n, room;
};

/* report_rows_query - all rows of one statement. where names its source in messages (a file), or
 * is NULL. Errors: those of store_query; ERR_DATA more than REPORT_MAX_CELLS cells. */
int report_rows_query(struct report_rows *r, struct arena *a, struct store *s, const char *where,
                      const char *sql, const struct store_param *params, int32_t params_n,
                      double limit_s, struct err *e);

/* report_rows_tsv - a file of tab-separated cells under a header line; empty cells become NULL.
 * Errors: ERR_NOINPUT absent; ERR_DATA "file:line: …" a row of another width. */
int report_rows_tsv(struct report_rows *r, struct arena *a, const char *path, struct err *e);

/* report_rows_column - index of the column of this name, or -1. */
int32_t report_rows_column(const struct report_rows *r, const char *name);

/* report_rows_text - the cell's text; NULL for SQL NULL and for column -1. */
const char *report_rows_text(const struct report_rows *r, int32_t row, int32_t column);

/* report_rows_number - true and the value when the cell holds a finite number. */
bool report_rows_number(double *out, const struct report_rows *r, int32_t row, int32_t column);

/* The same by the column's name. */
const char *report_rows_get(const struct report_rows *r, int32_t row, const char *name);
bool report_rows_real(double *out, const struct report_rows *r, int32_t row, const char *name);

/* An answer as a part of a larger statement: the rows of query.sql, or those of a paper.tsv. */
struct report_answer {
    const char *where; /* in messages: the file */
    const char *sql;   /* a SELECT without its semicolon, or VALUES */
    const char **name; /* columns_n; a second column of a name has "_2" and so on after it */
    int32_t columns_n;
};

/* report_answer_query - of one statement. Errors: those of store_columns, with the file.
 * report_answer_rows - of rows; what looks like a number is one. */
int report_answer_query(struct report_answer *out, struct arena *a, struct store *s,
                        const char *where, const char *sql, struct err *e);
void report_answer_rows(struct report_answer *out, struct arena *a, const char *where,
                        const struct report_rows *rows);
bool report_answer_has(const struct report_answer *r, const char *name);

/* report_answer_begin - "WITH …": the tables report_answer, the rows, and report_numbered, the same
 * with "#row", the place of a row from 1. report_quoted - a name or a text as SQL writes it. */
void report_answer_begin(struct strbuf *b, const struct report_answer *r);
const char *report_quoted(struct arena *a, const char *text, char quote);

/* report_rows_csv - RFC 4180 with a header line, lines ended by LF, full precision, empty for NULL;
 * a text that a spreadsheet would take for a formula has an apostrophe before it.
 * report_rows_json - an array of objects; numbers stay numbers, NULL is null. */
int report_rows_csv(FILE *out, const struct report_rows *r, struct err *e);
int report_rows_json(FILE *out, const struct report_rows *r, struct err *e);

#endif
