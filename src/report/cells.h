/* cells.h - the numbers of tables and figures: SQL over the rows of an answer.
 *
 * An answer (the rows of query.sql, or those of a paper.tsv) becomes groups, lines and cells.
 * SQLite groups, averages and joins; C places the cells and writes them.
 *
 * 1. A group is a table or a panel, a line is a row of the table or a curve. All three come in the
 *    order in which the answer first has them; columns, and lines of one key, in the order of their
 *    numbers where they have nothing else.
 * 2. A cell is the mean over its distinct runs that have a number, each counted once and summed in
 *    the order of the run ids.
 * 3. A length NAME whose companion NAME_nominal differs is labelled "8 (64)", and "65 (522–524)"
 *    where several of the paper's lengths became one. */
#ifndef REPORT_CELLS_H
#define REPORT_CELLS_H

#include "report/answer.h"
#include "report/layout.h"

enum { REPORT_GROUPS_MAX = 16 };

/* Which columns of the answer mean what. A name that the answer lacks is an error in group to
 * value, and NULL in the others. */
struct report_keys {
    const struct report_answer *answer;
    const char *group[REPORT_GROUPS_MAX];
    int32_t group_n;
    bool
        protocol; /* rows that differ in what a number may be called are also groups of their own */
    const char *line[REPORT_MAX_NAMES];
    int32_t lines_n;
    const char *column, *value;
    const char *style; /* the position method whose style a line has: that of its first row */
    const char *why;   /* why a cell has no number */
    const struct report_extra *extra; /* numbers of a line, each the mean over its trainings */
    int32_t extras_n;
    /* Ours: rows are joined with the view comparison, judged by the rules of the layout. */
    const struct report_layout *judged; /* NULL: not judged */
    const char *artefact, *scale;
};

/* report_cells_groups - one row a group; all: one row for the whole answer, or none where it has no
 * row. Columns: group, label0.. of its keys, the distinct values of dataset, model, params, split,
 * protocol, stride, precision, machine, seed, source, scale and corpus as "a, b", tokens_low,
 * tokens_high, parameters_low, parameters_high, modified, scaled (some length of a column or of
 * L_train is not the paper's), x_scaled (of the figure's x), all_n and missing_n (runs asked for,
 * and those without a number). report_cells - one row a cell, column by column: group, column_n and
 * line_n (its place there, from 0), label (of the column), x, x_nominal, metric, config_id, noisy,
 * verdict, why, n, mean, std, configs_n, configs, runs, devices, codes, sources; of its line
 * label0.., right0.. (its key is a number), style (of position_methods; 5 of another),
 * train_run_id, extra0.., each the mean over its trainings. Errors:
 * ERR_DATA a column the answer lacks, with the nearest; unlike configurations in one cell. */
int report_cells_groups(struct report_rows *out, struct arena *a, struct store *s,
                        const struct report_keys *k, bool all, struct err *e);
int report_cells(struct report_rows *out, struct arena *a, struct store *s,
                 const struct report_keys *k, struct err *e);

/* report_cells_judged - one row a cell of the view comparison, with verdict and said (verdict.h).
 * report_cells_rows - the rows of the answer with compared, ours_mean, ours_std, seeds, paper,
 * delta and verdict of their cell, then the cells with a number of the paper that none of them
 * shows. */
int report_cells_judged(struct report_rows *out, struct arena *a, struct store *s,
                        const struct report_layout *l, const char *artefact, const char *scale,
                        struct err *e);
int report_cells_rows(struct report_rows *out, struct arena *a, struct store *s,
                      const struct report_keys *k, struct err *e);

#endif
