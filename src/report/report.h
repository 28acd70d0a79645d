/* report.h - an artefact from results.db: table, figure, comparison with the paper, claims.
 *
 * Everything specific to an artefact is in its folder: query.sql, table.txt or plot.gp,
 * paper.tsv, claim.sql. Adding a figure adds a folder and no C. */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/project.h"
#include "store/store.h"

enum report_format {
    REPORT_TEXT,
    REPORT_MARKDOWN,
    REPORT_CSV,
    REPORT_JSON,
    REPORT_LATEX,
    REPORT_HTML
};

/* Figures that were not drawn because gnuplot, trust or a writable folder is missing. */
struct report_undrawn {
    int32_t n;
    struct err first; /* why the first was not */
};

/* How a text calls a dataset; one without a title is called by its name. */
struct report_title {
    const char *dataset, *title;
};

struct report_options {
    const char *scale;   /* which scale's results */
    const char *title;   /* the grid's, of a folder without a table.txt; may be NULL */
    const char *variant; /* " --set train.lr=2": the change of the grid; NULL or "": none */
    enum report_format format;
    int32_t seeds;       /* seeds above it are hidden in the store; 0: none */
    const char *figures; /* the folder of figures; NULL: plots of the project */
    bool draw; /* write <artefact>-<scale>.svg, .png and .pdf; with x and width_in in the name */
    bool color;
    bool trust;      /* remember each plot.gp as trusted (trust.c) */
    const char *x;   /* a setting or a column along the x axis, whatever the folder says; or NULL */
    double width_in; /* figures of this width in inches, for a text; 0: as on a page */
    bool table_only; /* tables without the text around them */
    bool no_bold;    /* LaTeX: nothing is bold */
    const char *const *without; /* headings of columns that tables for people leave out; ended by
                                   NULL; may be NULL */
    struct report_undrawn *undrawn; /* may be NULL */
    const struct report_title *titles;
    int32_t titles_n;
};

/* report_artefact - dir is experiments/<artefact>, or a folder of the user's that holds a
 * grid.yaml. Writes the table of ours with a line of verdicts, the comparison (scale paper only)
 * with a verdict for each cell, the paper's table under its own heading, the claims, and where the
 * figure was drawn. Cells without a result are gaps. CSV and JSON give the rows of query.sql, each
 * with its cell's metric (compared), ours_mean, ours_std, seeds, paper, delta and verdict (the last
 * three NULL away from scale paper), then the cells that none of them shows, and nothing else; HTML
 * is a section of report_page, its cells leading to the appendix of runs there. A figure that
 * cannot be drawn is a line of the answer, not an error.
 *
 * A plot.gp that is not a shipped one may run any command: it is run only if the user trusts it
 * (trust.c). */
int report_artefact(FILE *out, struct store *s, const struct project *p, const char *artefact,
                    const char *dir, const struct report_options *o, struct err *e);

/* report_dataset_title - the title of a dataset; without one, its name. */
const char *report_dataset_title(const struct report_options *o, const char *dataset);

/* report_artefacts - writes the output of `alibi report`: a page in HTML; one table of the rows of
 * all in CSV and JSON, where a column that an artefact lacks is NULL; else one report after
 * another, with a summary if there are several. o->scale and o->title are not used. */
struct report_item {
    const char *artefact, *dir, *scale;
    const char *title; /* as in report_options */
};
int report_artefacts(FILE *out, struct store *s, const struct project *p,
                     const struct report_item *items, int32_t n, const struct report_options *o,
                     struct err *e);

/* report_page - writes one page of HTML that needs nothing else: a summary (claims, provenance), a
 * section of each artefact with its figure, and an appendix with the specification, device and code
 * of every run shown. Draws the figures into plots/ when o->draw. o->scale is not used. */
int report_page(FILE *out, struct store *s, const struct project *p,
                const struct report_item *items, int32_t n, const struct report_options *o,
                struct err *e);

/* report_summary - writes a row for each artefact: its claims by verdict, and its numbers of the
 * paper by verdict if any is at scale paper. */
int report_summary(FILE *out, struct store *s, const struct project *p,
                   const struct report_item *items, int32_t n, const struct report_options *o,
                   struct err *e);

/* report_claims - runs claim.sql of each folder: one row a claim (claim, statement, verdict,
 * evidence), verdict one of supported, contradicted, mixed, not run, not judged; or one row a case,
 * from which the verdicts follow (cells.h). Skips folders without one. *contradicted: their
 * number. Errors: ERR_DATA another verdict or other columns; names the file. */
int report_claims(FILE *out, struct store *s, const struct project *p,
                  const struct report_item *items, int32_t n, const struct report_options *o,
                  int32_t *contradicted, struct err *e);

/* report_judge - judges the claims of one artefact and stores the verdicts for the view claims; s
 * is open for writing. Does nothing without a claim.sql. */
int report_judge(struct store *s, const struct project *p, const char *artefact, const char *dir,
                 const char *scale, struct err *e);

/* report_compare - writes two sets of evaluations side by side. Columns: the coordinates, the
 * settings that differ, "A" and "B" perplexities, difference (A - B), ratio (A / B), the runs of
 * both, and why a row has no partner. Errors: ERR_USAGE a filter is wrong, with the nearest column;
 * ERR_NOINPUT no evaluation matches one.
 *
 * 1. A filter is a comma list of column=value over the view evaluations, of settings such as
 *    train.lr=2, or the id of a run or a training. L_train and L_valid are the paper's lengths.
 * 2. What neither filter names must agree: an evaluation of A is paired with one of B with the same
 *    position, lengths, seed, and so on, whose training has the same settings.
 * 3. Scale, dataset, corpus, split, protocol, stride, first window, precision, checkpoint and the
 *    number of targets asked for must always agree, named or not: they decide what a number may be
 *    called. Evaluations that agree in all but these keep rows of their own, with what differs.
 * 4. CSV and JSON have every column in full. The formats for people fit 120 columns: a table for
 *    each kind of number by rule 3, what its rows share above it, ids of 8 digits, long texts as
 *    notes below. They end with the mean of A / B and its standard errors, and count the
 * evaluations without a partner instead of listing them, unless `all`, or no pair is found. */
int report_compare(FILE *out, struct store *s, const char *a_filter, const char *b_filter, bool all,
                   enum report_format format, struct err *e);

/* report_query - writes the rows of an SQL statement in a format (alibi query); limit_s: time limit
 * in seconds. */
int report_query(FILE *out, struct store *s, const char *sql, double limit_s,
                 enum report_format format, struct err *e);

/* report_wide - the same, and a column for each setting of the rows' run_id in which they differ,
 * if none of the columns shows it. sql NULL: all evaluations. Errors: ERR_USAGE the rows have no
 * run_id, or more than REPORT_MAX_SETTINGS settings differ. */
int report_wide(FILE *out, struct store *s, const char *sql, double limit_s,
                enum report_format format, struct err *e);

/* report_views - writes the columns of each view: as text under its name, in the other formats a
 * row for each. name: only this view, with the meaning of its columns, or this column; NULL: all.
 * Errors: ERR_USAGE neither. */
int report_views(FILE *out, struct store *s, const char *name, enum report_format format,
                 struct err *e);

/* report_format_find - the format called text, markdown, csv, json, latex or html. Only
 * report_artefacts writes HTML. Errors: ERR_USAGE names them. */
int report_format_find(enum report_format *out, const char *name, struct err *e);

/* report_curves - draws losses during training in the terminal and as a picture: loss (nats per
 * token) by update, training as lines, validations as points, a colour and a label of its settings
 * a run. Errors: ERR_NOINPUT a run has no losses yet; ERR_UNAVAILABLE gnuplot is not installed. */
struct report_curves_args {
    const char (*run_id)[SPEC_ID_BYTES]; /* trainings, or evaluations of them */
    int32_t runs_n;
    int32_t columns, lines; /* of the terminal */
    int32_t smooth;         /* a training loss is the mean of so many updates; 0: of its own */
    const char *format;     /* also draw a picture: svg, png or pdf; NULL: do not */
    const char *path;       /* of the picture; NULL: plots/curves-….FORMAT */
};
int report_curves(FILE *out, struct store *s, const struct project *p,
                  const struct report_curves_args *c, struct err *e);

#endif
