/* picture.c - gnuplot's SVG, line by line. */
#include "report/picture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "report/html.h"

static const char picture_mark[] = "\t<g onmousemove=\"gnuplot_svg.showHypertext(evt,'";

/* The next line without its end; *rest moves behind it, and is NULL after the last. */
static const char *picture_line(char **rest)
{
    char *line = *rest, *end = strchr(line, '\n');

    if (end) *end = '\0';
    *rest = end && end[1] ? end + 1 : NULL;
    return line;
}

static bool picture_is_group(const char *line)
{
    return strncmp(line, "<g fill=\"none\"", 14) == 0;
}

static bool picture_begins(const char *next, const char *with)
{
    return next && strncmp(next, with, strlen(with)) == 0;
}

/* The mark of a point and its `<use …/></g>` on the next line: a group with a title. */
static void picture_point(FILE *out, char **rest, const struct report_picture_point *point,
                          int32_t points_n)
{
    const char *mark = picture_line(rest) + strlen(picture_mark);
    long n = strtol(mark, NULL, 10);
    const struct report_picture_point *p = n >= 1 && n <= points_n ? &point[n - 1] : NULL;

    fputs(REPORT_PICTURE_POINT, out);
    report_html_put(out, p ? p->config : NULL);
    fputs("\"><title>", out);
    report_html_put(out, p ? p->hint : NULL);
    fprintf(out, "</title>%s\n", *rest ? picture_line(rest) : "");
}

/* Each point stands in a group of settings that it does not need; so does, often, nothing. */
static void picture_write(FILE *out, char *text, const struct report_picture_point *point,
                          int32_t points_n)
{
    for (char *rest = text; rest;) {
        const char *line = picture_line(&rest);
        bool is_point = picture_is_group(line) && picture_begins(rest, picture_mark);
        if (is_point) picture_point(out, &rest, point, points_n);
        if (picture_is_group(line) && picture_begins(rest, "</g>\n"))
            picture_line(&rest);
        else
            fprintf(out, "%s\n", line);
    }
}

int report_picture_trace(struct arena *a, const char *path,
                         const struct report_picture_point *point, int32_t points_n, struct err *e)
{
    char *text, *written = NULL;
    size_t n = 0;

    TRY(file_read(a, &text, NULL, path, REPORT_PICTURE_MAX_BYTES, e));
    FILE *out = open_memstream(&written, &n);
    if (!out) return ERR(e, ERR_IO, "memory for %s: %s", path, strerror(errno));
    picture_write(out, text, point, points_n);
    int rc = fclose(out) == 0 ? 0 : ERR(e, ERR_IO, "memory for %s: out of it", path);
    if (rc == 0) rc = file_write_atomic(path, written, n, e);
    free(written);
    return rc;
}
