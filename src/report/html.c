/* html.c - escaping, tables, claims, figures, READMEs; the style of the page. */
#include "report/cells.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

#include "base/file.h"

/* n bytes of a text, escaped for content and for attributes in double quotes; subscripts as
 * elements. */
static void html_put(FILE *out, const char *text, size_t bytes, bool subscripts)
{
    static const char special[] = "&<>\"'";
    static const char *const entity[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    bool clean;

    for (const char *p = text; p < text + bytes;) {
        size_t word = subscripts ? report_subscript(text, p) : 0;
        if (word) {
            fprintf(out, "L<sub>%.*s</sub>", (int)word, p + 2);
            p += 2 + word;
            continue;
        }
        const char *at = strchr(special, *p);
        int n = str_clean_step(&clean, p, text + bytes);
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
            const char *text = va_arg(args, const char *);
            if (text) html_put(out, text, strlen(text), true);
        } else if (*p == '-') {
            const char *text = va_arg(args, const char *);
            if (text) html_put(out, text, strlen(text), false);
            p++; /* its s */
        } else {
            assert(*p == 'd');
            fprintf(out, "%d", va_arg(args, int));
        }
    }
    va_end(args);
}

/* --- the page ------------------------------------------------------------------------------- */

/* Light and dark, phone and paper.
 *
 * 1. Tables and pictures wider than the page scroll inside their own box; the page itself does not.
 * 2. A picture is there twice: a phone shows the one whose panels are in a column, which it need
 *    not shrink. In the dark its lightness is inverted; the rotation by 180 degrees keeps the hues.
 * 3. In print everything is light and nothing scrolls. Folded parts stay folded and the list of
 * runs is left out: what is printed is the results.
 * 4. On a phone a claim is above its statement, which avoids sideways scrolling.
 * 5. Text has a contrast of at least 4.5 with its ground, in the light and in the dark.
 * 6. The sheet has no < and no &: it is read as XML too. */
const char report_html_style[] =
    ":root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--soft:#57606a;--line:#d8dee4;"
    "--box:#f6f8fa;--link:#0757b0;--yes:#116329;--no:#a40e26;--open:#6e5a00;--mark:#fff3c4}\n"
    "@media (prefers-color-scheme:dark){:root{--bg:#14171b;--fg:#e4e8ec;--soft:#9aa4af;"
    "--line:#353c44;--box:#1d2227;--link:#79b8ff;--yes:#57c278;--no:#ff8a8a;--open:#dcb94a;"
    "--mark:#4a3f10}}\n"
    "*{box-sizing:border-box}\n"
    "html{-webkit-text-size-adjust:100%}\n"
    "body{margin:0;background:var(--bg);color:var(--fg);"
    "font:16px/1.5 system-ui,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;overflow-wrap:anywhere}\n"
    "main{max-width:76rem;margin:0 auto;padding:1rem}\n"
    "h1{font-size:1.6rem;line-height:1.2;margin:.4rem 0}\n"
    "h2{font-size:1.25rem;line-height:1.3;margin:0 0 .5rem}\n"
    "h3{font-size:1.02rem;margin:1.4rem 0 .4rem}\n"
    "h4{font-size:1rem;margin:.8rem 0 .2rem}\n"
    "p{margin:.4rem 0;max-width:60rem}sub{line-height:0}\n"
    "a{color:var(--link)}\n"
    "section{border-top:1px solid var(--line);margin-top:2rem;padding-top:1.2rem}\n"
    ".lead{font-size:1.15rem}\n"
    "svg.curve{display:block;width:11rem;height:2.2rem}"
    "svg.curve polyline{fill:none;stroke:var(--soft);stroke-width:2}"
    "svg.curve .valid{stroke:var(--link);stroke-width:3}\n"
    ".scroll,.figure{overflow-x:auto;max-width:100%;margin:.6rem 0}\n"
    "table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:.2rem .6rem;text-align:left;vertical-align:top;"
    "border-bottom:1px solid var(--line);white-space:nowrap}\n"
    "td.w{white-space:normal;min-width:16rem;max-width:48rem}\n"
    "#runs td:first-child{font-family:ui-monospace,'DejaVu Sans Mono',monospace}\n"
    "th{font-weight:600;border-bottom:2px solid var(--line)}\n"
    "th.n,td.n{text-align:right}\n"
    "td a{color:inherit;text-decoration:underline;text-decoration-color:var(--line);"
    "text-underline-offset:.2em}\ntd a:hover{text-decoration-color:var(--link)}\n"
    ".figure img{display:block;max-width:100%;height:auto;background:#fff}\n"
    ".figure .narrow{display:none}\n"
    "@media screen and (prefers-color-scheme:dark){.figure img{filter:invert(.92) "
    "hue-rotate(180deg)}}\n"
    ".caption{color:var(--soft);font-size:.88rem;margin:.8rem 0 0}\n"
    ".paper{background:var(--box);border-left:3px solid var(--line);padding:.2rem .8rem;"
    "margin:1rem 0}\n.paper h3{margin-top:.6rem}\n"
    ".badge{display:inline-block;font-size:.78rem;font-weight:600;padding:0 .5em;"
    "border:1px solid currentColor;border-radius:1em;white-space:nowrap}\n"
    ".near{color:var(--link)}.yes{color:var(--yes)}.no{color:var(--no)}.open{color:var(--open)}\n"
    ".claim{margin:.7rem 0}\n.claim details{color:var(--soft);font-size:.88rem}\n"
    ".cases{margin:.3rem 0;padding-left:1.2rem}\n"
    "details{margin:.15rem 0}td details{margin:0}\nsummary{cursor:pointer}\n"
    "pre{white-space:pre-wrap;background:var(--box);padding:.6rem .8rem;"
    "font:.8rem/1.45 ui-monospace,'DejaVu Sans Mono',monospace;margin:.4rem 0}\n"
    "code{font:.85em ui-monospace,'DejaVu Sans Mono',monospace}\n"
    "td:target,tr:target{background:var(--mark)}\n"
    "@media screen and (max-width:40rem){main{padding:.7rem}h1{font-size:1.35rem}"
    "th,td{padding:.2rem .4rem}td.w{min-width:10.5rem}"
    ".figure .wide{display:none}.figure .narrow{display:block;margin:0 auto}"
    ".claims thead{display:none}.claims table,.claims tbody,.claims tr,.claims td.w{display:block}"
    ".claims tr{padding:.35rem 0;border-bottom:1px solid var(--line)}"
    ".claims td{display:inline;border:0;padding:0 .4rem 0 0}"
    ".claims td.w{min-width:0;padding:.2rem 0 0}"
    ".board td,.board th{white-space:normal;overflow-wrap:normal}"
    ".board td:nth-child(3){min-width:7rem}.board :is(td,th){padding:.2rem}"
    ".board :is(td,th):nth-child(-n+2){display:none}}\n"
    "@media print{:root{color-scheme:light;--bg:#fff;--fg:#000;--soft:#333;--line:#999;--box:#fff;"
    "--link:#000;--yes:#000;--no:#000;--open:#000;--mark:#fff}\n"
    "@page{margin:1.2cm}html{font-size:9pt}body{font-size:1rem;line-height:1.35}"
    "main{max-width:none;padding:0}section{border:0;margin:0;padding-top:.6rem}"
    "h3{margin:.6rem 0 .2rem}p{max-width:none}.claim,.paper{margin:.3rem 0}.figure "
    "img{max-width:80%}\n"
    ".figure,tr,.claim{break-inside:avoid}\n"
    ".scroll,.figure{overflow:visible}h2,h3,h4,.caption{break-after:avoid}\n"
    ".badge{font-size:.9em;padding:0 .3em}.caption{font-size:9pt}"
    "table{font-size:7.5pt}th,td{padding:1pt 3pt;white-space:normal;overflow-wrap:normal}\n"
    "td.n{white-space:nowrap}td.w{min-width:0;max-width:none;overflow-wrap:anywhere}\n"
    "#runs,[href='#runs']{display:none}a{text-decoration:none}}\n";

/* Allows the page's own style sheets and images; no script, no form, nothing from elsewhere. */
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
                "<link rel=\"icon\" href=\"data:,\"/>\n<title>%-s</title>\n<style>\n",
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

/* A verdict or a state in its colour; any other text stays plain. */
static void html_badge(FILE *out, const char *verdict)
{
    const char *kind = verdict_look(verdict).kind;

    report_html(out, kind ? "<span class=\"badge %-s\">%s</span>" : "%s%s", kind, verdict);
}

/* A number's verdict as a sign with the words as its tooltip. */
static void html_sign(FILE *out, const char *verdict)
{
    struct verdict_look look = verdict_look(verdict);

    if (*look.sign)
        report_html(out, " <span class=\"%-s\" title=\"%-s\">%s</span>", look.kind, verdict,
                    look.sign);
}

/* A text longer than this has its lines broken in a table. */
enum { HTML_WRAP_BYTES = 60 };

/* Lines of a text in a <pre>. */
static void html_lines(FILE *out, const char *text)
{
    fputs("<pre>", out);
    for (const char *line = text; *line;) {
        size_t n = strcspn(line, "\n");
        html_put(out, line, n, false);
        line += n + (line[n] == '\n');
        if (*line) fputc('\n', out);
    }
    fputs("</pre>", out);
}

/* Writes the content of a cell: elements, a text that opens, the verdict itself, or a text with a
 * link. A number is followed by its verdict's sign. */
static void html_content(FILE *out, const struct store_cell *cell)
{
    const struct cell_marks *m = report_marks(cell);

    if (m->markup) {
        fputs(m->markup, out);
    } else if (m->more) {
        report_html(out, "<details><summary>%s</summary>", cell->text);
        html_lines(out, m->more);
        fputs("</details>", out);
    } else if (m->verdict && cell->text && strcmp(m->verdict, cell->text) == 0) {
        html_badge(out, m->verdict);
    } else {
        report_html(out, m->link ? "<a href=\"#%-s\">%s</a>" : "%s%s", m->link, cell->text);
        if (m->verdict) html_sign(out, m->verdict);
    }
}

void report_html_cell(FILE *out, const struct rows *r, int32_t row, int32_t column, bool right)
{
    const struct store_cell *cell = row < 0 ? NULL : &r->row[row][column];
    const struct cell_marks *m = cell ? report_marks(cell) : NULL;

    if (column == 0) report_html(out, m && m->id ? "<tr id=\"%-s\">" : "<tr>", m ? m->id : NULL);
    if (!cell) {
        report_html(out,
                    right ? "<th scope=\"col\" class=\"n\">%s</th>" : "<th scope=\"col\">%s</th>",
                    r->name[column]);
        return;
    }
    bool wide = m->more || m->wide || (cell->text && strlen(cell->text) > HTML_WRAP_BYTES);
    fputs(right ? "<td class=\"n\"" : wide ? "<td class=\"w\"" : "<td", out);
    if (column && m->id) report_html(out, " id=\"%-s\"", m->id);
    if (m->hint) report_html(out, " title=\"%-s\"", m->hint);
    fputc('>', out);
    html_content(out, cell);
    fputs("</td>", out);
}

/* Evidence up to this length is not folded. */
enum { HTML_OPEN_BYTES = 400 };

static void html_claim_open(FILE *out, const struct rows *cases, int32_t row)
{
    const char *evidence = report_rows_get(cases, row, "evidence");

    report_html(out, "<div class=\"claim\">\n<p><strong>%s</strong> ",
                report_rows_get(cases, row, "claim"));
    html_badge(out, report_rows_get(cases, row, "verdict"));
    report_html(out, " %s</p>\n", report_rows_get(cases, row, "statement"));
    if (evidence)
        fprintf(out, "<details%s><summary>the numbers it rests on</summary>\n<ul class=\"cases\">",
                strlen(evidence) <= HTML_OPEN_BYTES ? " open=\"open\"" : "");
}

void report_html_claims(FILE *out, const struct rows *cases)
{
    static const char *const lines[] = {"note", "line"};

    for (int32_t i = 0; i < cases->rows_n; i++) {
        bool first = report_claims_begins(cases, i);
        if (first) html_claim_open(out, cases, i);
        for (int k = !first; k < 2; k++)
            if (report_rows_get(cases, i, lines[k]))
                report_html(out, "<li>%s</li>", report_rows_get(cases, i, lines[k]));
        if (i + 1 < cases->rows_n && !report_claims_begins(cases, i + 1)) continue;
        if (report_rows_get(cases, i, "evidence")) fputs("</ul>\n</details>\n", out);
        fputs("</div>\n", out);
    }
}

/* --- figures -------------------------------------------------------------------------------- */

enum { FIGURE_MAX_BYTES = 16 * 1024 * 1024 };

/* Encodes bytes by RFC 4648: three bytes are four digits, and = fills the last four. */
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
    report_html(out, " alt=\"%-s\" src=\"data:image/svg+xml;base64,", title);
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

/* Supports the Markdown that the artefacts' READMEs use: blocks between empty lines, **bold** and
 * `code` in them, # headings of a line. A block that begins like a list, a table, a quotation or
 * code keeps its lines. Anything else is text: nothing of it can become markup. */

/* Writes one piece between marks, such as `code`. Returns the position behind it; NULL: the mark at
 * p opens nothing. */
static const char *text_marked(FILE *out, const char *p, const char *mark, const char *element)
{
    size_t n = strlen(mark);
    const char *end;

    if (strncmp(p, mark, n) != 0) return NULL;
    end = strstr(p + n, mark);
    if (!end || end == p + n) return NULL;
    fprintf(out, "<%s>", element);
    html_put(out, p + n, (size_t)(end - p) - n, strcmp(element, "code") != 0);
    fprintf(out, "</%s>", element);
    return end + n;
}

void report_html_inline(FILE *out, const char *p)
{
    while (*p) {
        const char *next = text_marked(out, p, "**", "strong");
        size_t n = strcspn(p + 1, "*`") + 1;
        if (!next) next = text_marked(out, p, "`", "code");
        if (!next) {
            html_put(out, p, n, true);
            next = p + n;
        }
        p = next;
    }
}

static void text_block(FILE *out, char *block)
{
    if (*block == '#') {
        fputs("<h4>", out);
        report_html_inline(out, block + strspn(block, "# "));
        fputs("</h4>\n", out);
        return;
    }
    bool in_columns = strchr("|->+0123456789", *block) || strncmp(block, "* ", 2) == 0 ||
                      strncmp(block, "```", 3) == 0 || strncmp(block, "    ", 4) == 0;
    if (in_columns) {
        html_lines(out, block);
        fputc('\n', out);
        return;
    }
    for (char *p = block; *p; p++)
        if (*p == '\n') *p = ' ';
    fputs("<p>", out);
    report_html_inline(out, block);
    fputs("</p>\n", out);
}

/* Removes carriage returns and replaces tabs, because empty lines separate blocks. */
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
        next = strstr(block, *block == '#' ? "\n" : "\n\n"); /* a heading is a line */
        if (next) *next++ = '\0';
        if (!*block) continue;
        if (shown == 0 && *block == '#') continue; /* the page has its own heading */
        if (shown == 1) report_html(out, "<details class=\"readme\"><summary>%s</summary>\n", more);
        size_t n = strlen(block);
        while (n > 0 && block[n - 1] == '\n') block[--n] = '\0';
        text_block(out, block);
        shown++;
    }
    if (shown > 1) fputs("</details>\n", out);
}
