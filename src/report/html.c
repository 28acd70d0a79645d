/* html.c - escaping, tables, claims, figures, READMEs; the style is in html_style.c. */
#include "report/report_internal.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

#include "base/file.h"

/* The text, escaped for content and for attributes in double quotes. */
static void html_put(FILE *out, const char *text)
{
    static const char special[] = "&<>\"'";
    static const char *const entity[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    bool clean;

    for (const char *p = text; p && *p;) {
        const char *at = strchr(special, *p);
        int n = report_text_step(&clean, p);
        if (at) fputs(entity[at - special], out);
        for (int i = 0; i < n && !at; i++)
            clean ? fputc(p[i], out) : fprintf(out, "\\x%02x", (unsigned char)p[i]);
        p += n;
    }
}

void report_html(FILE *out, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    for (const char *p = format; *p; p++) {
        if (*p != '%') {
            fputc(*p, out);
        } else if (*++p == 's') {
            html_put(out, va_arg(args, const char *));
        } else {
            assert(*p == 'd');
            fprintf(out, "%d", va_arg(args, int));
        }
    }
    va_end(args);
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
    report_html(out,
                "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
                "<meta name=\"color-scheme\" content=\"light dark\"/>\n"
                "<link rel=\"icon\" href=\"data:,\"/>\n<title>%s</title>\n<style>\n",
                title);
    fputs(report_html_style, out);
    fputs("</style>\n</head>\n<body>\n<main>\n", out);
}

void report_html_close(FILE *out)
{
    fputs("</main>\n</body>\n</html>\n", out);
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

    report_html(out, kind ? "<span class=\"badge %s\">%s</span>" : "%s%s", kind, verdict);
}

/* A number's verdict: its sign, which says the whole when asked. */
static void html_sign(FILE *out, const char *verdict)
{
    struct verdict_look look = verdict_look(verdict);

    if (*look.sign)
        report_html(out, " <span class=\"%s\" title=\"%s\">%s</span>", look.kind, verdict,
                    look.sign);
}

/* A text longer than this has its lines broken in a table. */
enum { HTML_WRAP_BYTES = 60 };

/* Lines of a text in a <pre>. */
static void html_lines(FILE *out, struct arena *a, const char *text)
{
    fputs("<pre>", out);
    for (const char *line = text; *line;) {
        size_t n = strcspn(line, "\n");
        report_html(out, "%s", arena_strndup(a, line, n));
        line += n + (line[n] == '\n');
        if (*line) fputc('\n', out);
    }
    fputs("</pre>", out);
}

/* What is in a cell: elements, a text with more under it, the verdict itself, a text with a link;
 * after a number its sign. */
static void html_content(FILE *out, struct arena *a, const struct report_cell *cell)
{
    if (cell->markup) {
        fputs(cell->markup, out);
    } else if (cell->more) {
        report_html(out, "<details><summary>%s</summary>", cell->text);
        html_lines(out, a, cell->more);
        fputs("</details>", out);
    } else if (cell->verdict && cell->text && strcmp(cell->verdict, cell->text) == 0) {
        report_html_badge(out, cell->verdict);
    } else {
        report_html(out, cell->link ? "<a href=\"#%s\">%s</a>" : "%s%s", cell->link, cell->text);
        if (cell->verdict) html_sign(out, cell->verdict);
    }
}

static void html_row(FILE *out, const struct report_rows *r, int32_t row, const bool *right)
{
    const char *id = r->row[row][0].id;

    report_html(out, id ? "<tr id=\"%s\">" : "<tr>", id);
    for (int32_t c = 0; c < r->columns_n; c++) {
        const struct report_cell *cell = &r->row[row][c];
        bool wide =
            cell->more || cell->wide || (cell->text && strlen(cell->text) > HTML_WRAP_BYTES);
        fputs(right[c] ? "<td class=\"n\"" : wide ? "<td class=\"w\"" : "<td", out);
        if (c && cell->id) report_html(out, " id=\"%s\"", cell->id);
        if (cell->hint) report_html(out, " title=\"%s\"", cell->hint);
        fputc('>', out);
        html_content(out, r->arena, cell);
        fputs("</td>", out);
    }
    fputs("</tr>\n", out);
}

void report_html_rows(FILE *out, const struct report_rows *r)
{
    const bool *right = report_rows_right(r);

    fputs("<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr>", out);
    for (int32_t c = 0; c < r->columns_n; c++)
        report_html(
            out, right[c] ? "<th scope=\"col\" class=\"n\">%s</th>" : "<th scope=\"col\">%s</th>",
            r->name[c]);
    fputs("</tr></thead>\n<tbody>\n", out);
    for (int32_t i = 0; i < r->rows_n; i++) html_row(out, r, i, right);
    fputs("</tbody>\n</table></div>\n", out);
}

/* Evidence of no more than this is shown at once. */
enum { HTML_OPEN_BYTES = 400 };

static void html_claim_open(FILE *out, const struct report_rows *cases, int32_t row)
{
    const char *evidence = report_rows_get(cases, row, "evidence");

    report_html(out, "<div class=\"claim\">\n<p><strong>%s</strong> ",
                report_rows_get(cases, row, "claim"));
    report_html_badge(out, report_rows_get(cases, row, "verdict"));
    report_html(out, " %s</p>\n", report_rows_get(cases, row, "statement"));
    if (evidence)
        fprintf(out, "<details%s><summary>the numbers it rests on</summary>\n<ul class=\"cases\">",
                strlen(evidence) <= HTML_OPEN_BYTES ? " open=\"open\"" : "");
}

static void html_line(FILE *out, const char *line)
{
    if (line) report_html(out, "<li>%s</li>", line);
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
    fprintf(out, "<img %s", attributes);
    report_html(out, " alt=\"%s\" src=\"data:image/svg+xml;base64,", title);
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

/* --- a README ------------------------------------------------------------------------------- */

/* What is understood is what the READMEs of artefacts are written in: blocks between empty lines,
 * **bold** and `code` in them, # headings. A block that begins like a list, a table, a quotation or
 * code keeps its lines. Anything else is text: nothing of it can become markup. */

/* One piece between marks, such as `code`; the position behind it, or NULL when the mark at p opens
 * nothing. */
static const char *text_marked(FILE *out, struct arena *a, const char *p, const char *mark,
                               const char *element)
{
    size_t n = strlen(mark);
    const char *end;

    if (strncmp(p, mark, n) != 0) return NULL;
    end = strstr(p + n, mark);
    if (!end || end == p + n) return NULL;
    report_html(out, "<%s>%s</%s>", element, arena_strndup(a, p + n, (size_t)(end - p) - n),
                element);
    return end + n;
}

void report_html_inline(FILE *out, struct arena *a, const char *p)
{
    while (*p) {
        const char *next = text_marked(out, a, p, "**", "strong");
        size_t n = strcspn(p + 1, "*`") + 1;
        if (!next) next = text_marked(out, a, p, "`", "code");
        if (!next) {
            report_html(out, "%s", arena_strndup(a, p, n));
            next = p + n;
        }
        p = next;
    }
}

static void text_block(FILE *out, struct arena *a, char *block)
{
    if (*block == '#') {
        fputs("<h4>", out);
        report_html_inline(out, a, block + strspn(block, "# "));
        fputs("</h4>\n", out);
        return;
    }
    bool in_columns = strchr("|->+0123456789", *block) || strncmp(block, "* ", 2) == 0 ||
                      strncmp(block, "```", 3) == 0 || strncmp(block, "    ", 4) == 0;
    if (in_columns) {
        html_lines(out, a, block);
        fputc('\n', out);
        return;
    }
    for (char *p = block; *p; p++)
        if (*p == '\n') *p = ' ';
    fputs("<p>", out);
    report_html_inline(out, a, block);
    fputs("</p>\n", out);
}

/* Takes the carriage returns and tabs out of a text, so that blocks are found by empty lines. */
static void text_plain(char *text)
{
    char *to = text;

    for (const char *p = text; *p; p++) {
        if (*p == '\r') continue;
        *to++ = *p == '\t' ? ' ' : *p;
    }
    *to = '\0';
}

void report_html_text(FILE *out, struct arena *a, const char *text, const char *more)
{
    char *own = arena_strdup(a, text), *block = own, *next;
    int shown = 0;

    text_plain(own);
    for (; block; block = next) {
        block += strspn(block, "\n");
        next = strstr(block, "\n\n");
        if (next) *next = '\0', next += 2;
        if (!*block) continue;
        if (shown == 0 && *block == '#') continue; /* the page has its own heading */
        if (shown == 1) report_html(out, "<details class=\"readme\"><summary>%s</summary>\n", more);
        size_t n = strlen(block);
        while (n > 0 && block[n - 1] == '\n') block[--n] = '\0';
        text_block(out, a, block);
        shown++;
    }
    if (shown > 1) fputs("</details>\n", out);
}
