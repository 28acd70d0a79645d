/* artefact_folder.h - the files of an artefact, and which of them may be run. For src/report and
 * its tests.
 */
#ifndef REPORT_ARTEFACT_FOLDER_H
#define REPORT_ARTEFACT_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/project.h"
#include "report/layout.h"
#include "report/rows.h"

/* --- artefact_folder.c - the files of an artefact's folder: query.sql, table.txt, paper.tsv,
 * claim.sql, plot.gp.
 *
 * A folder that holds only a grid.yaml (a user's own) is reported too: experiments/default has the
 * query.sql and the table.txt it lacks, and the plot.gp of a folder without a table.txt. Without
 * paper.tsv or claim.sql that part is missing.
 *
 * A use: line of table.txt puts another artefact's file in the place of one that this folder lacks.
 * The other folder is looked for beside this one, then among the project's experiments, then among
 * the shipped ones. */

struct report_folder {
    const char *artefact, *dir, *command; /* command: what to write after `alibi run` */
    const char
        *points; /* the name of its points in results.db: the artefact's, and its variant's */
    const char *query, *query_path;
    const char *claims, *claims_path; /* NULL without claim.sql */
    const char *plot;                 /* NULL without plot.gp but with table.txt */
    const char *plot_untrusted;       /* path of a plot.gp that is neither, byte for byte, one that
                                         the program ships nor one that the user trusts; else NULL */
    const char *over;                 /* x of report_folder_over, or NULL */
    struct report_layout layout;
    bool laid_out;            /* table.txt is there */
    struct rows paper;        /* rows of the layout's paper metrics */
    const char *paper_path;   /* NULL without paper.tsv */
    struct rows effects;      /* rows of effects.tsv, which limit what a claim can show */
    const char *effects_path; /* NULL: there is no such file */
    struct {
        const char **item; /* the files of other folders that use: lines put in place of its own */
        int32_t n, capacity;
    } used;
};

/* report_folder_open - reads the files of dir. Errors: ERR_USAGE artefact is not a name;
 * ERR_NOINPUT dir is not there; ERR_DATA a file is wrong, or a use: line names a file that is
 * nowhere, that the folder holds itself, or that uses another. */
int report_folder_open(struct report_folder *f, struct arena *a, const struct project *p,
                       const char *artefact, const char *dir, struct err *e);

/* report_folder_over - replaces query, layout and figure by those of experiments/default, with
 * column x along the x axis and at the head of the table; keeps the labels, leaves out the paper
 * and the claims. */
int report_folder_over(struct report_folder *f, struct arena *a, const struct project *p,
                       const char *x, struct err *e);

/* report_folder_check - refuses a file that is a link out of its artefact's folder: a stranger's
 * folder could put any file of the user into a page. report_folder_read - checks and reads a file.
 * Errors: ERR_DATA; those of file_read. */
int report_folder_check(const char *path, struct err *e);
int report_folder_read(char **text, struct arena *a, const char *path, struct err *e);

/* report_entropy_floor - the perplexity no model can be below on a split, from
 * <root>/data/<corpus>/manifest.yaml: floor_perplexity of valid, floor_perplexity_test of test; 0
 * when the file or the line is not there. Errors: ERR_DATA the line holds no number. */
int report_entropy_floor(double *out, struct arena *a, const char *root, const char *corpus,
                         const char *split, struct err *e);

/* --- trust.c - the scripts of others that the user has read and trusts.
 *
 * `alibi report --trust` remembers the SHA-256 of a plot.gp in the user's state folder
 * ($XDG_STATE_HOME/alibi, else ~/.local/state/alibi), in the file `trusted`: a line for each, the
 * hash and where the script was. The text decides, not the path: a script that changes must be
 * trusted again. A file that belongs to or can be written by somebody else is ignored. */

/* report_trust_has - true if the script is trusted. report_trust_add - trusts the script that is at
 * path. Errors: ERR_UNAVAILABLE there is no state folder; ERR_DATA the file is somebody else's;
 * those of the files. */
bool report_trust_has(struct arena *a, const char *script);
int report_trust_add(struct arena *a, const char *script, const char *path, struct err *e);

#endif
