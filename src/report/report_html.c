/* report_html.c - escaping, tables, claims; the picture is in report_html_figure.c, the style in
 * report_html_style.c. */
#include "report/report_html.h"

#include <string.h>

#include "report/report_html_style.h"

/* Bytes of the UTF-8 sequence that begins here and may stand in XML; 0 if it is none. */
static int html_sequence(const unsigned char *p)
{
    uint32_t code;
    int n;

    if (p[0] < 0x80) return 1;
    if (p[0] >= 0xC2 && p[0] < 0xE0) {
        n = 2;
        code = p[0] & 0x1Fu;
    } else if (p[0] >= 0xE0 && p[0] < 0xF0) {
        n = 3;
        code = p[0] & 0x0Fu;
    } else if (p[0] >= 0xF0 && p[0] < 0xF5) {
        n = 4;
        code = p[0] & 0x07u;
    } else {
        return 0;
    }
    for (int i = 1; i < n; i++) {
        if ((p[i] & 0xC0u) != 0x80u) return 0;
        code = code << 6 | (p[i] & 0x3Fu);
    }
    if ((n == 3 && code < 0x800) || (n == 4 && (code < 0x10000 || code > 0x10FFFF))) return 0;
    if ((code >= 0xD800 && code < 0xE000) || code == 0xFFFE || code == 0xFFFF) return 0;
    return n;
}

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
    const unsigned char *p = (const unsigned char *)text;

    while (p && *p) {
        const char *entity = html_entity((char)*p);
        int n = html_sequence(p);
        if (entity)
            fputs(entity, out);
        else if (*p < 0x20 || *p == 0x7f)
            fprintf(out, "\\x%02x", (unsigned)*p);
        else if (n == 0)
            fputs("\xEF\xBF\xBD", out);
        else
            fwrite(p, 1, (size_t)n, out);
        p += n ? n : 1;
    }
}

void report_html_open(FILE *out, const char *title)
{
    fputs("<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n"
          "<meta charset=\"utf-8\"/>\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
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

static void html_cell(FILE *out, const struct report_grid *g, int64_t at, int32_t column)
{
    const char *link = g->link[at], *hint = g->hint[at];

    fputs(g->right[column] ? "<td class=\"n\"" : "<td", out);
    if (hint) {
        fputs(" title=\"", out);
        report_html_put(out, hint);
        fputc('"', out);
    }
    fputc('>', out);
    if (link) {
        fputs("<a href=\"#", out);
        report_html_put(out, link);
        fputs("\">", out);
    }
    report_html_put(out, g->cell[at]);
    fputs(link ? "</a></td>" : "</td>", out);
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

void report_html_badge(FILE *out, const char *verdict)
{
    static const char *const known[][2] = {
        {"supported", "yes"}, {"contradicted", "no"}, {"not run", "open"},
        {"done", "yes"},      {"failed", "no"},       {"diverged", "no"},
    };
    const char *kind = "open";

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (verdict && strcmp(verdict, known[i][0]) == 0) kind = known[i][1];
    fprintf(out, "<span class=\"badge %s\">", kind);
    report_html_put(out, verdict);
    fputs("</span>", out);
}

/* The cases of the evidence, which claim.sql joins with "; ", an item each. */
static void html_cases(FILE *out, struct arena *a, const char *evidence)
{
    char *text = arena_strdup(a, evidence);

    fputs("<ul class=\"cases\">", out);
    for (char *end; text; text = end) {
        end = strstr(text, "; ");
        if (end) {
            *end = '\0';
            end += 2;
        }
        fputs("<li>", out);
        report_html_put(out, text);
        fputs("</li>", out);
    }
    fputs("</ul>\n", out);
}

void report_html_claims(FILE *out, const struct report_rows *claims)
{
    int32_t claim = report_rows_column(claims, "claim");
    int32_t statement = report_rows_column(claims, "statement");
    int32_t verdict = report_rows_column(claims, "verdict");
    int32_t evidence = report_rows_column(claims, "evidence");

    for (int32_t i = 0; i < claims->rows_n; i++) {
        const char *cases = report_rows_text(claims, i, evidence);
        fputs("<div class=\"claim\">\n<p><strong>", out);
        report_html_put(out, report_rows_text(claims, i, claim));
        fputs("</strong> ", out);
        report_html_badge(out, report_rows_text(claims, i, verdict));
        fputc(' ', out);
        report_html_put(out, report_rows_text(claims, i, statement));
        fputs("</p>\n", out);
        if (cases) {
            fputs("<details><summary>the numbers it rests on</summary>\n", out);
            html_cases(out, claims->arena, cases);
            fputs("</details>\n", out);
        }
        fputs("</div>\n", out);
    }
}
