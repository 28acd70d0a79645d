/* compare_filter.h - the filters of alibi compare and the evaluations they choose; for
 * compare.c. */
#ifndef REPORT_COMPARE_FILTER_H
#define REPORT_COMPARE_FILTER_H

#include <stdbool.h>

#include "report/answer.h"

/* How a coordinate of an evaluation takes part in the join. */
enum compare_role {
    COMPARE_JOINED,   /* agrees unless a filter names it */
    COMPARE_PROTECTED /* agrees always: what a number may be called */
};

struct compare_coordinate {
    const char *name, *column; /* in a filter; of the view evaluations */
    enum compare_role role;
    bool of_training; /* fixed by the id of a training */
    bool shown;       /* a column of the table, when it varies or both sides agree */
};

enum {
    COMPARE_N = 17,
    /* Columns of the rows of a side after the coordinates. */
    COMPARE_PERPLEXITY = COMPARE_N,
    COMPARE_RUN,
    COMPARE_TRAINING,
    COMPARE_SPEC, /* of the training */
    COMPARE_SETTINGS_MAX = 16,
    COMPARE_LIMIT_S = 30
};
extern const struct compare_coordinate compare_table[COMPARE_N];

/* A setting of the training that a filter names, such as train.lr=3. */
struct compare_setting {
    const char *key, *value;
};

struct compare_side {
    const char *value[COMPARE_N]; /* NULL: not named */
    struct compare_setting setting[COMPARE_SETTINGS_MAX];
    int32_t settings_n;
    const char *run;         /* the beginning of an id, or NULL */
    bool free[COMPARE_N];    /* named, or fixed by the id */
    struct report_rows rows; /* the coordinates in the order of the table, and what is below */
    bool *used;              /* rows.rows_n, all false */
};

/* compare_is_free - whether the filter lets trainings differ in a setting: it names the key, a
 * column that stands for it, or a run. */
bool compare_is_free(const struct compare_side *side, const char *key);

/* compare_side_read - reads a filter and fetches its evaluations. Errors: those of report_compare.
 */
int compare_side_read(struct compare_side *side, struct arena *a, struct store *s,
                      const char *filter, struct err *e);

#endif
