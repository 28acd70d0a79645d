/* gnuplot.h - gnuplot as a process, and texts that are safe in its scripts.
 *
 * 1. gnuplot is found in PATH and started with arguments, never through a shell, without the user's
 * gnuplotrc and without variables such as GNUPLOT_LIB.
 * 2. A text enters a script only through report_gnuplot_quote: single quotes, in which gnuplot
 * substitutes nothing.
 * 3. A picture appears under its name complete or not at all.
 * 4. A script may run any command (system, backquotes, pipes, eval): a filter for that cannot be
 * complete. One that is not trusted runs in a sandbox of bubblewrap: no network, no processes but
 * its own, no privileges, no files but programs, fonts, its script and its data; what it can write
 * and what stays is its picture. */
#ifndef REPORT_GNUPLOT_H
#define REPORT_GNUPLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* report_gnuplot_quote - text as a single-quoted gnuplot string; control characters become spaces.
 */
void report_gnuplot_quote(struct strbuf *b, const char *text);

/* report_gnuplot_check_sandbox - for the script at this path. Errors: ERR_UNAVAILABLE there is no
 * sandbox here: says why and what to do. */
int report_gnuplot_check_sandbox(struct arena *a, const char *script, struct err *e);

/* report_gnuplot_draw - writes NAME.dat and NAME.gp into folder, made when absent, and runs NAME.gp
 * there for each format, with FORMAT and OUTPUT set, into NAME.FORMAT. In a sandbox the script sees
 * these two files alone. Errors: ERR_UNAVAILABLE gnuplot is not installed (names the package);
 * ERR_INTERNAL it failed: quotes what it said; those of the files. */
struct report_gnuplot {
    const char *folder, *name;
    const struct strbuf *data, *script;
    const char *const *format; /* ended by NULL */
    bool sandboxed;
};
int report_gnuplot_draw(struct arena *a, const struct report_gnuplot *g, struct err *e);

#endif
