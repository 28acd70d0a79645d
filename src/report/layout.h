/* layout.h - table.txt: how the rows of query.sql become a table and the curves of a figure.
 *
 * One `key: value` a line; empty lines and lines that begin with # are skipped. Keys:
 *
 *   use:      FOLDER/FILE, a file of another artefact that serves here too: query.sql, plot.gp or
 *             claim.sql in place of one of this folder's own; table.txt for the keys that are not
 *             given here (a key given here replaces all its lines there). Nested use: lines
 *             are ignored, and its table.txt may not use another. Repeated for more
 *   title:    heading of the artefact, in plain text
 *   group:    columns; a table of its own for each of their values (may be left out)
 *   rows:     columns that name a row of the table
 *   columns:  the column whose values head the table
 *   value:    the column that is shown: the mean over seeds, ± the standard deviation when n > 1
 *   format:   %.Nf, N from 0 to 6; or metric | %.Nf for the rows with this value in `metric`
 *   extra:    column | heading | %.Nf | factor: one more column of the table, such as
 *             train_wps | words/s | %.0f | 1; repeated for more
 *   paper:    the metrics of paper.tsv that are shown in the same layout under a heading of
 *             their own; more than one need `group: metric`
 *   verdict:  metric | near | far, such as perplexity | 1.3 % | 5 %: when a cell of the paper is
 *             called reproduced, and when within 5 %. With | device at the end only numbers of a
 *             device of that name are judged; for others the ratio is shown. One line per metric
 *   note:     a sentence below the table; repeated for more
 *   panel:    the column that names the panels of the figure (may be left out)
 *   series:   the column that names a curve
 *   style:    the column that selects its colour: a position method
 *   x: y:     the columns that are drawn
 *             columns:, x:, panel:, rows: and group: may name a setting, such as train.lr, if the
 *             rows have a run_id; the words train.lr=2 of series: and rows: are then left out
 *   xlabel: ylabel:   labels of the axes (default: the columns' names)
 *   xscale:   linear, log2 or log10 (default: by the column and its values). Like the labels it is
 *             for the plot.gp of experiments/default and for others that use X_LABEL and so on
 *   label:    SETTING=VALUE | words, or SETTING | words: the words that name a value, or precede
 *             each value of a setting, in tables, legends and titles, such as
 *             eval.attention_window | window. Without words the setting is not shown. A column and
 *             its value may be named like a setting. Repeated for more
 *
 * A row whose rows: columns are all NULL is not in the table, one whose series: is NULL is not in
 * the figure.
 *
 * Wherever a column NAME has a companion NAME_nominal and the two differ, lengths are shown as
 * actual (nominal). Columns of query.sql with a meaning of their own: scale, dataset, model, split,
 * protocol, stride, first_window, precision, seed, tokens, modified (the protocol of a number:
 * rows that differ in one of dataset, model, split, protocol, stride, first_window or precision
 * are in different tables unless rows: or columns: names it); machine (what a speed was measured
 * on); run_id and config_id (what it came from); state (of a run without a result); compares (the
 * paper's metric that a row is compared with, where it is neither the column metric nor the first
 * of paper:). */
#ifndef REPORT_LAYOUT_H
#define REPORT_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

enum {
    REPORT_MAX_NAMES = 4,
    REPORT_MAX_EXTRAS = 4,
    REPORT_MAX_NOTES = 8,
    REPORT_MAX_USES = 4,
    REPORT_MAX_LABELS = 32
};
/* Settings that become columns: each is a join, of which SQLite allows 64. */
enum { REPORT_MAX_SETTINGS = 48 };

/* A use: line. */
struct report_use {
    const char *folder, *file;
    int line;
};

struct report_names {
    const char *name[REPORT_MAX_NAMES];
    int32_t n;
};

/* The decimals of one metric. */
struct report_decimals {
    const char *metric;
    int32_t decimals;
};

/* When a number of ours is the paper's: shares of the paper's number. */
struct report_rule {
    const char *metric, *device; /* device: NULL for any */
    double near, far;
};

struct report_extra {
    const char *column, *heading;
    int32_t decimals;
    double factor;
};

/* A label: line. */
struct report_label {
    const char *key, *value, *words; /* value: NULL for any; words: "" hides the setting */
    const char *path;                /* of the file with the line */
    int line;
};

enum report_xscale { REPORT_XSCALE_AUTO, REPORT_LINEAR, REPORT_LOG2, REPORT_LOG10 };

struct report_layout {
    struct report_use use[REPORT_MAX_USES];
    int32_t uses_n;
    const char *title;
    struct report_names group, rows;
    const char *columns, *value;
    int32_t decimals; /* of the value, of other metrics */
    struct report_decimals metric[REPORT_MAX_NAMES];
    int32_t metrics_n;
    struct report_extra extra[REPORT_MAX_EXTRAS];
    int32_t extras_n;
    struct report_names paper; /* metrics */
    struct report_rule rule[REPORT_MAX_NAMES];
    int32_t rules_n;
    const char *note[REPORT_MAX_NOTES];
    int32_t notes_n;
    const char *panel, *series, *style, *x, *y; /* NULL where not given */
    const char *xlabel, *ylabel;
    enum report_xscale xscale;
    struct report_label label[REPORT_MAX_LABELS];
    int32_t labels_n;
    uint32_t given; /* a bit for each key */
};

/* report_layout_read - text is the content of the file that path names in messages. Errors:
 * ERR_DATA "file:line: …" an unknown key (with the nearest one), a bad value, a key that must be
 * there, unless another table.txt is to give it: then report_layout_inherit asks for it. */
int report_layout_read(struct report_layout *l, struct arena *a, const char *path, const char *text,
                       struct err *e);

/* report_layout_used - the use: line for this file, or NULL. */
const struct report_use *report_layout_used(const struct report_layout *l, const char *file);

/* report_layout_inherit - takes from another layout every key that l does not give. Errors:
 * ERR_DATA a key must be there and is in neither; path is l's file. */
int report_layout_inherit(struct report_layout *l, const struct report_layout *from,
                          const char *path, struct err *e);

/* report_layout_rule - the verdict rule of this metric; NULL: its cells are not judged. */
const struct report_rule *report_layout_rule(const struct report_layout *l, const char *metric);

/* report_layout_decimals - how many decimals a value of this metric has (NULL: no metric). */
int32_t report_layout_decimals(const struct report_layout *l, const char *metric);

#endif
