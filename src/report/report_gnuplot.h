/* report_gnuplot.h - gnuplot as a process, and texts that are safe in its scripts.
 *
 * 1. gnuplot is found in PATH and started with arguments, never through a shell, without the user's
 * gnuplotrc.
 * 2. A text enters a script only through report_gnuplot_quote: single quotes, in which gnuplot
 * substitutes nothing.
 * 3. A picture appears under its name complete or not at all. */
#ifndef REPORT_REPORT_GNUPLOT_H
#define REPORT_REPORT_GNUPLOT_H

#include <stdint.h>

#include "base/str.h"

#ifdef __cplusplus
extern "C" {
#endif

/* report_gnuplot_quote - text as a single-quoted gnuplot string; control characters become spaces.
 */
void report_gnuplot_quote(struct strbuf *b, const char *text);

/* report_gnuplot_draw - runs folder/script with FORMAT ("svg" or "png") and OUTPUT set, the
 * current folder being `folder`, and renames the picture to folder/picture. Errors: ERR_UNAVAILABLE
 * gnuplot is not installed (names the package); ERR_INTERNAL it failed: quotes what it said. */
int report_gnuplot_draw(struct arena *a, const char *folder, const char *script, const char *format,
                        const char *picture, struct err *e);

#ifdef __cplusplus
}
#endif
#endif
