/* picture.h - the points of a figure say what they are.
 *
 * gnuplot draws the labels of TRACE (plot.h) as marks that call a script of its own, with
 * the number of the point. report_picture_trace replaces them by what a browser shows without any
 * script: a <g class="point"> with a title and, for the page, the configuration it leads to. */
#ifndef REPORT_PICTURE_H
#define REPORT_PICTURE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

/* The largest SVG that is read, and how a point begins in a traced one: the configuration follows,
 * then `">`. */
enum { REPORT_PICTURE_MAX_BYTES = 16 * 1024 * 1024 };
#define REPORT_PICTURE_POINT "<g class=\"point\" data-config=\""

struct report_picture_point {
    const char *hint;   /* in words */
    const char *config; /* config id, or NULL: a number of the paper */
};

/* report_picture_trace - rewrites the SVG at path; point i of the data file is point[i - 1]. Groups
 * that draw nothing are left out. Errors: those of file_read and file_write_atomic. */
int report_picture_trace(struct arena *a, const char *path,
                         const struct report_picture_point *point, int32_t points_n, struct err *e);

#endif
