/* subset.h - some of the rows of an answer: what a table, a cell or a curve is made of.
 *
 * Columns are indices into the rows; -1 (a column that is not there) reads as NULL everywhere. */
#ifndef REPORT_SUBSET_H
#define REPORT_SUBSET_H

#include "report/answer.h"

struct report_subset {
    struct arena *arena;
    const struct report_rows *rows;
    int32_t *row; /* n indices of rows */
    int32_t n;
};

void report_subset_all(struct report_subset *out, struct arena *a, const struct report_rows *rows);

/* report_subset_like - the rows that agree with row `like` in each of the columns. */
void report_subset_like(struct report_subset *out, const struct report_subset *from,
                        const int32_t *columns, int32_t columns_n, int32_t like);

/* report_subset_heads - for each distinct combination of the columns the first row that has it, in
 * the order of appearance. report_subset_sort - the same rows in the order of a column of numbers;
 * nothing changes when one is no number. */
void report_subset_heads(struct report_subset *out, const struct report_subset *from,
                         const int32_t *columns, int32_t columns_n);
void report_subset_sort(struct report_subset *s, int32_t column);

/* report_subset_distinct - the distinct texts of a column, "a, b"; NULL when all are NULL. */
const char *report_subset_distinct(const struct report_subset *s, int32_t column);

/* report_subset_label - the cell's text; a length whose paper's length differs is
 * "8 (64)", and "65 (522–524)" where several of the paper's lengths became one. */
const char *report_subset_label(const struct report_subset *s, int32_t row, int32_t column);

/* report_subset_scaled - whether any of the column's lengths differs from the paper's. */
bool report_subset_scaled(const struct report_subset *s, int32_t column);

struct report_number {
    int32_t n; /* runs; 0: no result */
    double mean;
    double std; /* sample standard deviation; 0 when n < 2 */
};

/* report_subset_mean - over the distinct runs (the column id) that have a value; column 'id' -1:
 * over the rows. Errors: ERR_DATA when the runs have different texts in the column `same` (-1: not
 * asked): unlike things are not averaged. */
int report_subset_mean(struct report_number *out, const struct report_subset *s, int32_t value,
                       int32_t id, int32_t same, struct err *e);

#endif
