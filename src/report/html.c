/* html.c - escaping, tables, claims, figures; the style is in html_style.c. */
#include "report/html.h"

#include <string.h>

#include "base/file.h"
#include "report/clean.h"
#include "report/html_style.h"

static const char *html_entity(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

void report_html_put(FILE *out, const char *text)
{
    bool clean;

    for (const char *p = text; p && *p;) {
        const char *entity = html_entity(*p);
        int n = report_text_step(&clean, p);
        if (entity) fputs(entity, out);
        for (int i = 0; i < n && !entity; i++)
            clean ? fputc(p[i], out) : fprintf(out, "\\x%02x", (unsigned char)p[i]);
        p += n;
    }
}

/* No script, nothing from elsewhere, no form: only the page's own style sheets. */
static const char html_policy[] =
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
    "'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\"/>\n";

void report_html_open(FILE *out, const char *title)
{
    fputs("<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n"
          "<meta charset=\"utf-8\"/>\n",
          out);
    fputs(html_policy, out);
    fputs("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
          "<meta name=\"color-scheme\" content=\"light dark\"/>\n"
          "<link rel=\"icon\" href=\"data:,\"/>\n<title>",
          out);
    report_html_put(out, title);
    fputs("</title>\n<style>\n", out);
    fputs(report_html_style, out);
    fputs("</style>\n</head>\n<body>\n<main>\n", out);
}

void report_html_close(FILE *out)
{
    fputs("</main>\n</body>\n</html>\n", out);
}

void report_html_caption(FILE *out, const char *text)
{
    fputs("<p class=\"caption\">", out);
    report_html_put(out, text);
    fputs("</p>\n", out);
}

/* How a verdict or a state is shown: its colour, and beside a number a sign that needs no colour. A
 * name that ends in a space is the beginning of a verdict. */
static const struct verdict_look {
    const char *name, *kind, *sign;
} verdict_looks[] = {
    {"supported", "yes", ""},   {"contradicted", "no", ""},    {"reproduced", "yes", "✓"},
    {"within ", "near", "≈"},   {"not reproduced", "no", "✗"}, {"done", "yes", ""},
    {"failed", "no", ""},       {"not run", "open", ""},       {"diverged", "no", ""},
    {"not judged", "open", ""},
};

static struct verdict_look verdict_look(const char *verdict)
{
    for (size_t i = 0; i < sizeof verdict_looks / sizeof *verdict_looks; i++) {
        const char *name = verdict_looks[i].name;
        size_t n = strlen(name);
        if (strncmp(verdict, name, n) == 0 && (name[n - 1] == ' ' || !verdict[n]))
            return verdict_looks[i];
    }
    return (struct verdict_look){verdict, NULL, ""};
}

void report_html_badge(FILE *out, const char *verdict)
{
    const char *kind = verdict_look(verdict).kind;

    if (kind) fprintf(out, "<span class=\"badge %s\">", kind);
    report_html_put(out, verdict);
    if (kind) fputs("</span>", out);
}

/* A number's verdict: its sign, which says the whole when asked. */
static void html_sign(FILE *out, const char *verdict)
{
    struct verdict_look look = verdict_look(verdict);

    if (!*look.sign) return;
    fprintf(out, " <span class=\"%s\" title=\"", look.kind);
    report_html_put(out, verdict);
    fprintf(out, "\">%s</span>", look.sign);
}

/* A text longer than this has its lines broken in a table. */
enum { HTML_WRAP_BYTES = 60 };

/* What stands in a cell: a text, perhaps with a link; the verdict itself, or a number's sign. */
static void html_content(FILE *out, const struct report_grid *g, int64_t at)
{
    const char *text = g->cell[at], *link = g->link[at], *verdict = g->verdict[at];

    if (verdict && text && strcmp(verdict, text) == 0) {
        report_html_badge(out, verdict);
        return;
    }
    if (link) {
        fputs("<a href=\"#", out);
        report_html_put(out, link);
        fputs("\">", out);
    }
    report_html_put(out, text);
    if (link) fputs("</a>", out);
    if (verdict) html_sign(out, verdict);
}

static void html_cell(FILE *out, const struct report_grid *g, int64_t at, int32_t column)
{
    const char *text = g->cell[at], *hint = g->hint[at];
    bool wide = text && strlen(text) > HTML_WRAP_BYTES;

    fputs(g->right[column] ? "<td class=\"n\"" : wide ? "<td class=\"w\"" : "<td", out);
    if (hint) {
        fputs(" title=\"", out);
        report_html_put(out, hint);
        fputc('"', out);
    }
    fputc('>', out);
    html_content(out, g, at);
    fputs("</td>", out);
}

void report_html_grid(FILE *out, const struct report_grid *g)
{
    if (g->columns_n == 0) return;
    fputs("<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr>", out);
    for (int32_t c = 0; c < g->columns_n; c++) {
        fputs(g->right[c] ? "<th scope=\"col\" class=\"n\">" : "<th scope=\"col\">", out);
        report_html_put(out, g->head[c]);
        fputs("</th>", out);
    }
    fputs("</tr></thead>\n<tbody>\n", out);
    for (int32_t i = 0; i < g->rows_n; i++) {
        fputs("<tr>", out);
        for (int32_t c = 0; c < g->columns_n; c++)
            html_cell(out, g, (int64_t)i * g->columns_n + c, c);
        fputs("</tr>\n", out);
    }
    fputs("</tbody>\n</table></div>\n", out);
}

/* Evidence of no more than this is shown at once. */
enum { HTML_OPEN_BYTES = 400 };

static void html_claim_open(FILE *out, const struct report_rows *cases, int32_t row)
{
    const char *evidence = report_rows_get(cases, row, "evidence");

    fputs("<div class=\"claim\">\n<p><strong>", out);
    report_html_put(out, report_rows_get(cases, row, "claim"));
    fputs("</strong> ", out);
    report_html_badge(out, report_rows_get(cases, row, "verdict"));
    fputc(' ', out);
    report_html_put(out, report_rows_get(cases, row, "statement"));
    fputs("</p>\n", out);
    if (evidence)
        fprintf(out, "<details%s><summary>the numbers it rests on</summary>\n<ul class=\"cases\">",
                strlen(evidence) <= HTML_OPEN_BYTES ? " open=\"open\"" : "");
}

static void html_line(FILE *out, const char *line)
{
    if (!line) return;
    fputs("<li>", out);
    report_html_put(out, line);
    fputs("</li>", out);
}

static bool html_same_claim(const struct report_rows *cases, int32_t a, int32_t b)
{
    static const char *const key[] = {"artefact", "head"};

    for (int i = 0; i < 2; i++) {
        const char *x = report_rows_get(cases, a, key[i]), *y = report_rows_get(cases, b, key[i]);
        if (x && strcmp(x, y) != 0) return false;
    }
    return true;
}

void report_html_claims(FILE *out, const struct report_rows *cases)
{
    for (int32_t i = 0; i < cases->rows_n; i++) {
        if (i == 0 || !html_same_claim(cases, i - 1, i)) {
            html_claim_open(out, cases, i);
            html_line(out, report_rows_get(cases, i, "note"));
        }
        html_line(out, report_rows_get(cases, i, "line"));
        if (i + 1 < cases->rows_n && html_same_claim(cases, i, i + 1)) continue;
        if (report_rows_get(cases, i, "evidence")) fputs("</ul>\n</details>\n", out);
        fputs("</div>\n", out);
    }
}

/* --- figures -------------------------------------------------------------------------------- */

enum { FIGURE_MAX_BYTES = 16 * 1024 * 1024 };

/* RFC 4648: three bytes are four digits, and = fills the last four. */
static void put_base64(FILE *out, const char *text, size_t n)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < n; i += 3) {
        uint32_t bits = 0;
        for (size_t k = 0; k < 3; k++)
            bits = bits << 8 | (i + k < n ? (unsigned char)text[i + k] : 0);
        for (size_t k = 0; k < 4; k++)
            fputc(i + k <= n ? digit[bits >> (18 - 6 * k) & 63] : '=', out);
    }
}

static int html_picture(FILE *out, struct arena *a, const char *path, const char *title,
                        const char *attributes, struct err *e)
{
    char *text;
    size_t n;

    TRY(file_read(a, &text, &n, path, FIGURE_MAX_BYTES, e));
    fprintf(out, "<img %s alt=\"", attributes);
    report_html_put(out, title);
    fputs("\" src=\"data:image/svg+xml;base64,", out);
    put_base64(out, text, n);
    fputs("\"/>", out);
    return 0;
}

int report_html_figure(FILE *out, struct arena *a, const char *path, const char *id,
                       const char *title, struct err *e)
{
    fputs("<div class=\"figure\">", out);
    TRY(html_picture(out, a, arena_printf(a, "%s.svg", path), title,
                     arena_printf(a, "id=\"%s\" class=\"wide\"", id), e));
    TRY(html_picture(out, a, arena_printf(a, "%s.narrow.svg", path), title, "class=\"narrow\"", e));
    fputs("</div>\n", out);
    return 0;
}
