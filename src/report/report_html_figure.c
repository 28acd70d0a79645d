/* report_html_figure.c - gnuplot's SVG as part of a page.
 *
 * gnuplot gives every picture the same ids (of its point shapes and groups), which on one page
 * would be those of the first picture. So ids and what refers to them get a prefix. The fixed width
 * and height go: the page decides, the viewBox keeps the proportions. */
#include <string.h>

#include "base/file.h"
#include "base/str.h"
#include "report/report_html.h"

enum { FIGURE_MAX_BYTES = 16 * 1024 * 1024 };

/* What stands before an id, or before a reference to one. */
static const char *const figure_ids[] = {"id=\"",          "id='",  "xlink:href='#",
                                         "xlink:href=\"#", "url(#", "href=\"#"};

static const char *figure_id_at(const char *p)
{
    for (size_t i = 0; i < sizeof figure_ids / sizeof *figure_ids; i++)
        if (strncmp(p, figure_ids[i], strlen(figure_ids[i])) == 0) return figure_ids[i];
    return NULL;
}

static void figure_body(FILE *out, const char *p, const char *prefix)
{
    while (*p) {
        const char *before = figure_id_at(p);
        if (!before) {
            fputc(*p++, out);
            continue;
        }
        fprintf(out, "%s%s-", before, prefix);
        p += strlen(before);
    }
}

int report_html_figure(FILE *out, struct arena *a, const char *path, const char *prefix,
                       const char *title, struct err *e)
{
    char *text;

    TRY(file_read(a, &text, NULL, path, FIGURE_MAX_BYTES, e));
    const char *svg = strstr(text, "<svg");
    const char *box = svg ? strstr(svg, "viewBox=\"") : NULL;
    const char *body = box ? strchr(box, '>') : NULL;
    const char *named = body ? strstr(body, "</title>") : NULL;
    const char *end = box ? strchr(box + strlen("viewBox=\""), '"') : NULL;

    if (!body || !end || end > body)
        return ERR(e, ERR_DATA, "%s: holds no picture with a viewBox; draw it again", path);
    fprintf(out, "<div class=\"figure\" tabindex=\"0\">\n<svg %.*s\" role=\"img\" ",
            (int)(end - box), box);
    fputs("xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\">\n"
          "<title>",
          out);
    report_html_put(out, title);
    fputs("</title>", out);
    figure_body(out, named ? named + strlen("</title>") : body + 1, prefix);
    fputs("</div>\n", out);
    return 0;
}
