/* html_figure.c - gnuplot's SVG as part of a page.
 *
 * 1. gnuplot gives every picture the same ids (of its point shapes and groups), which on one page
 *    would be those of the first picture: ids and what refers to them get a prefix.
 * 2. The fixed width and height go: the page decides, the viewBox keeps the proportions, and the
 *    width says how small the text may become.
 * 3. Colours follow the page (html_color.h).
 * 4. A traced point leads to its configuration in the appendix of the page.
 * Only tags are changed, never the text between them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "report/html.h"
#include "report/html_color.h"
#include "report/picture.h"

struct figure {
    FILE *out;
    const char *id;
    struct report_colors colors;
    bool in_link; /* between the <a> of a point and its end */
};

/* What stands before an id, before a reference to one, before a colour. */
static const char *const figure_ids[] = {" id=\"",         " id='", "xlink:href='#",
                                         "xlink:href=\"#", "url(#", "href=\"#"};
static const char *const figure_colors[] = {" fill=", " fill = ", " stroke=", " color="};

static size_t figure_match(const char *p, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strncmp(p, list[i], strlen(list[i])) == 0) return strlen(list[i]);
    return 0;
}

/* Writes one tag, from < to >; the position behind it. */
static const char *figure_tag(struct figure *f, const char *p)
{
    while (*p && *p != '>') {
        size_t id = figure_match(p, figure_ids, sizeof figure_ids / sizeof *figure_ids);
        size_t color = figure_match(p, figure_colors, sizeof figure_colors / sizeof *figure_colors);
        size_t n = id ? id : color ? color : 1;
        fwrite(p, 1, n, f->out);
        p += n;
        if (id) fprintf(f->out, "%s-", f->id);
        if (!color || (*p != '"' && *p != '\'')) continue;
        char quote = *p++;
        size_t length = strcspn(p, quote == '"' ? "\"" : "'");
        fputc(quote, f->out);
        report_color_put(f->out, &f->colors, p, length);
        p += length;
    }
    if (*p) fputc(*p++, f->out);
    return p;
}

/* A traced point: a link where it has a configuration. */
static const char *figure_point(struct figure *f, const char *p)
{
    p += strlen(REPORT_PICTURE_POINT);
    size_t n = strcspn(p, "\"");

    f->in_link = n > 0;
    if (n > 0)
        fprintf(f->out, "<a href=\"#c-%.*s\">", (int)n, p);
    else
        fputs("<g>", f->out);
    p += n;
    return *p ? p + strlen("\">") : p;
}

static void figure_body(struct figure *f, const char *p)
{
    while (*p) {
        if (strncmp(p, REPORT_PICTURE_POINT, strlen(REPORT_PICTURE_POINT)) == 0) {
            p = figure_point(f, p);
        } else if (f->in_link && strncmp(p, "</g>", 4) == 0) {
            fputs("</a>", f->out);
            f->in_link = false;
            p += 4;
        } else if (*p == '<') {
            p = figure_tag(f, p);
        } else {
            fputc(*p++, f->out);
        }
    }
}

/* The parts of a file: the four numbers of its viewBox, and what follows its title. */
static int figure_parts(const char **body, double box[4], const char *path, const char *text,
                        struct err *e)
{
    const char *svg = strstr(text, "<svg");
    const char *view = svg ? strstr(svg, "viewBox=\"") : NULL;
    const char *end = view ? strchr(view, '>') : NULL;

    if (!end ||
        sscanf(view, "viewBox=\"%lf %lf %lf %lf\"", &box[0], &box[1], &box[2], &box[3]) != 4)
        return ERR(e, ERR_DATA, "%s: holds no picture with a viewBox; draw it again", path);
    const char *named = strstr(end, "</title>");
    *body = named ? named + strlen("</title>") : end + 1;
    return 0;
}

int report_html_figure(FILE *out, struct arena *a, const char *path, const char *id,
                       const char *title, struct err *e)
{
    char *text, *written = NULL;
    const char *body = NULL;
    double box[4] = {0};
    size_t n = 0;

    TRY(file_read(a, &text, NULL, path, REPORT_PICTURE_MAX_BYTES, e));
    TRY(figure_parts(&body, box, path, text, e));
    struct figure f = {.out = open_memstream(&written, &n), .id = id};
    if (!f.out) return ERR(e, ERR_IO, "memory for %s: %s", path, strerror(errno));
    figure_body(&f, body);
    if (fclose(f.out) != 0) {
        free(written);
        return ERR(e, ERR_IO, "memory for %s: out of it", path);
    }
    fprintf(out,
            "<div class=\"figure\" tabindex=\"0\">\n<svg id=\"%s\" style=\"--w:%.0fpx\" "
            "viewBox=\"%g %g %g %g\" role=\"img\" xmlns=\"http://www.w3.org/2000/svg\" "
            "xmlns:xlink=\"http://www.w3.org/1999/xlink\">\n<title>",
            id, box[2], box[0], box[1], box[2], box[3]);
    report_html_put(out, title);
    fputs("</title>\n", out);
    report_color_style(out, &f.colors, id);
    fwrite(written, 1, n, out);
    fputs("</div>\n", out);
    free(written);
    return 0;
}
