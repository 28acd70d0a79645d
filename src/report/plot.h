/* plot.h - the figure of an artefact: curves out of rows, a data file, a script, pictures. Axis
 * labels are `set xlabel` and `set ylabel` of the artefact's plot.gp; folder.c has the default.
 *
 * NAME.dat (the numbers, with where each came from) and NAME.gp (a preamble and the artefact's
 * plot.gp) are kept beside the pictures, so that `gnuplot NAME.gp` draws the figure again, with
 * -e "FORMAT='pdf'" as PDF; NAME is <artefact>-<scale>. The preamble opens the terminal and gives
 * plot.gp
 *
 *   DATA              the data file; block i (gnuplot: index i-1) is curve i: x, y, standard
 *                     deviation, runs, x of the paper; a missing point is an empty line
 *   SCALE TITLE FACTS texts; TITLE names artefact and scale, FACTS protocol, split and seeds
 *   PAPER             1 at scale paper
 *   SCALED            1 when lengths are not the paper's
 *   SEEDS             the most runs behind a point
 *   FLOOR             exp(entropy) of the corpus, 0 if unknown
 *   X_MIN X_MAX Y_MIN Y_MAX   over all points
 *   PANELS            and arrays PANEL_TITLE, PANEL_FIRST, PANEL_LAST (curves of each)
 *   CURVES            and arrays CURVE_TITLE, CURVE_STYLE (that of the view position_methods,
 *                     such as 4 of ALiBi; 10 more for a curve of the paper), CURVE_SHADE (0 to 1
 *                     among the curves of one style in a panel), line styles 1 to 9 and 11 to 19
 *   color(i)          of curve i: the method's, light to dark by shade; the paper's grey
 *   method(i) tokens(i) entry(i)   CURVE_TITLE without its length; the length; what the legend says
 *                     of the curve ('': nothing). plot.gp may define entry again
 *
 * and commands for `eval`. BEGIN opens the picture with title and facts. PANEL, for p from 1 to
 * PANELS, sets the frame of panel p. END closes the picture with a legend. Of these plot commands
 * are made: LINES (each curve of panel p), BANDS (a deviation over seeds around it), OFF (a mark
 * where it leaves the frame at y_top), LABELS (the length of ALiBi's curves at their beginnings).
 * FLOOR_LINE draws FLOOR where it is between y_low and y_top. NARROW is 1 for a phone: the panels
 * are in a column.
 *
 * Texts are escaped for gnuplot's enhanced mode, L_valid and its like have subscripts. The paper's
 * points are drawn at scale paper only. */
#ifndef REPORT_PLOT_H
#define REPORT_PLOT_H

#include "report/report_internal.h"

struct report_plot {
    const char *folder; /* where the files go; made when absent */
    const char *name;   /* <artefact>-<scale> */
    const char *title, *facts, *scale;
    const struct report_layout *layout;
    struct store *store;
    const struct report_answer *ours;
    const struct report_answer *paper; /* NULL: the paper's points are not drawn */
    const char *artefact;
    bool scaled;           /* lengths are not the paper's */
    const char *script;    /* the text of plot.gp */
    const char *untrusted; /* its path, if it is to run in a sandbox; or NULL */
    double floor;          /* 0: unknown */
    bool narrow;           /* also NAME.narrow.svg, its panels in a column, for a phone */
};

/* report_plot_draw - writes NAME.dat, NAME.gp, NAME.svg, NAME.png and NAME.pdf. *points is how many
 * numbers there were; with none, or without the sandbox it needs, nothing is written. Errors: those
 * of report_gnuplot_draw, of report_gnuplot_check_sandbox and of the files. */
int report_plot_draw(int32_t *points, struct arena *a, const struct report_plot *plot,
                     struct err *e);

#endif
