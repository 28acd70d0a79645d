/* folder.h - the files of an artefact's folder: query.sql, table.txt, paper.tsv, claim.sql,
 * plot.gp.
 *
 * A folder that holds only a grid.yaml (a user's own) is reported too: without query.sql and
 * table.txt the rows are all evaluations the grid asks for, in a table of methods and L_train by
 * L_valid, and a curve for each. Without paper.tsv or claim.sql that part is missing.
 *
 * A use: line of table.txt puts another artefact's file in the place of one that this folder lacks.
 * The other folder is looked for beside this one, then among the project's experiments, then among
 * the shipped ones. */
#ifndef REPORT_FOLDER_H
#define REPORT_FOLDER_H

#include "base/project.h"
#include "report/answer.h"
#include "report/layout.h"

struct report_folder {
    const char *artefact, *dir, *command; /* command: what to write after `alibi run` */
    const char
        *points; /* the name of its points in results.db: the artefact's, and its variant's */
    const char *query, *query_path;
    const char *claims, *claims_path; /* NULL without claim.sql */
    const char *plot;                 /* NULL without plot.gp but with table.txt */
    const char *plot_untrusted;       /* path of a plot.gp that is not, byte for byte, one that the
                                         program ships; else NULL */
    struct report_layout layout;
    bool laid_out;            /* table.txt is there */
    struct report_rows paper; /* rows of the layout's paper metrics */
    const char *paper_path;   /* NULL without paper.tsv */
};

/* report_folder_open - reads the files of dir. Errors: ERR_USAGE artefact is not a name;
 * ERR_NOINPUT dir is not there; ERR_DATA a file is wrong, or a use: line names a file that is
 * nowhere, that the folder holds itself, or that uses another. */
int report_folder_open(struct report_folder *f, struct arena *a, const struct project *p,
                       const char *artefact, const char *dir, struct err *e);

/* report_entropy_floor - the perplexity no model can be below on a split, from
 * <root>/data/<corpus>/manifest.yaml: floor_perplexity of valid, floor_perplexity_test of test; 0
 * when the file or the line is not there. Errors: ERR_DATA the line holds no number. */
int report_entropy_floor(double *out, struct arena *a, const char *root, const char *corpus,
                         const char *split, struct err *e);

#endif
