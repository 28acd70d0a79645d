/* writer.c - cleaning, aligning and escaping. */
#include "report/report_internal.h"

#include <ctype.h>
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/file.h"

enum {
    GRID_GAP = 2,    /* spaces between columns of the text form */
    GRID_PROSE = 60, /* characters from which a cell is a sentence */
    LATEX_PROSE = 70
};

/* --- texts of others ------------------------------------------------------------------------- */

/* Characters that are valid and still not shown: C1 controls, marks and overrides of direction,
 * line and paragraph separators, interlinear marks, the byte order mark, half pairs, no characters.
 */
static const struct {
    uint32_t first, last;
} text_hidden[] = {
    {0x00, 0x1F},     {0x7F, 0x9F},     {0x061C, 0x061C}, {0x200E, 0x200F}, {0x2028, 0x202E},
    {0x2066, 0x2069}, {0xD800, 0xDFFF}, {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xFFFE, 0xFFFF},
};

/* The code of the UTF-8 sequence at p and its bytes; 0 bytes if it is invalid. */
static int text_decode(uint32_t *code, const unsigned char *p)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    int n = p[0] < 0x80 ? 1 : p[0] < 0xC2 ? 0 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;

    if (n == 0 || p[0] > 0xF4) return 0;
    *code = n == 1 ? p[0] : p[0] & (0x7Fu >> n);
    for (int i = 1; i < n; i++) {
        if ((p[i] & 0xC0u) != 0x80u) return 0;
        *code = *code << 6 | (p[i] & 0x3Fu);
    }
    return *code < least[n] || *code > 0x10FFFF ? 0 : n;
}

int report_text_step(bool *clean, const char *p)
{
    uint32_t code;
    int n = text_decode(&code, (const unsigned char *)p);

    *clean = n > 0;
    for (size_t i = 0; n && i < sizeof text_hidden / sizeof *text_hidden; i++)
        if (code >= text_hidden[i].first && code <= text_hidden[i].last) *clean = false;
    return n ? n : 1;
}

const char *report_clean_text(struct arena *a, const char *text)
{
    struct strbuf b;
    bool clean = true;

    if (!text) return "";
    for (const char *p = text; *p && clean;) p += report_text_step(&clean, p);
    if (clean) return text;
    strbuf_init(&b, a);
    for (const char *p = text; *p;) {
        int n = report_text_step(&clean, p);
        if (clean) strbuf_add_n(&b, p, (size_t)n);
        for (int i = 0; i < n && !clean; i++) strbuf_addf(&b, "\\x%02x", (unsigned char)p[i]);
        p += n;
    }
    return b.text;
}

size_t report_subscript(const char *text, const char *p)
{
    size_t word = strncmp(p, "L_", 2) == 0 ? strspn(p + 2, "abcdefghijklmnopqrstuvwxyz") : 0;
    bool begins = p == text || !isalnum((unsigned char)p[-1]);

    return word && begins && p[2 + word] != '_' ? word : 0;
}

/* --- text and Markdown ----------------------------------------------------------------------- */

static int32_t grid_width(const char *text)
{
    int32_t width = 0;
    for (const char *p = text; *p; p++) width += ((unsigned char)*p & 0xC0) != 0x80;
    return width;
}

/* Line -1 is the header line. */
static const char *grid_text(const struct report_rows *r, int32_t row, int32_t column)
{
    return report_clean_text(r->arena, row < 0 ? r->name[column] : r->row[row][column].text);
}

static void grid_pad(FILE *out, int32_t n, char c)
{
    for (int32_t i = 0; i < n; i++) fputc(c, out);
}

static void grid_write_text(FILE *out, const struct report_rows *r)
{
    int32_t *width = arena_array(r->arena, (size_t)r->columns_n + 1, sizeof *width);
    const bool *right = report_rows_right(r);
    int32_t total = 0;

    for (int32_t c = 0; c < r->columns_n; c++) {
        for (int32_t i = -1; i < r->rows_n; i++) {
            int32_t w = grid_width(grid_text(r, i, c));
            if (w > width[c]) width[c] = w;
        }
        total += width[c] + (c ? GRID_GAP : 0);
    }
    for (int32_t i = -1; i < r->rows_n; i++) {
        int32_t owed = 0; /* spaces not yet written, so that no line ends with one */
        for (int32_t c = 0; c < r->columns_n; c++) {
            const char *text = grid_text(r, i, c);
            int32_t rest = width[c] - grid_width(text);
            if (c) owed += GRID_GAP;
            if (right[c]) owed += rest;
            if (*text) {
                grid_pad(out, owed, ' ');
                fputs(text, out);
                owed = 0;
            } else if (right[c]) {
                owed += width[c] - rest;
            }
            if (!right[c]) owed += rest;
        }
        fputc('\n', out);
        if (i == -1) {
            grid_pad(out, total, '-');
            fputc('\n', out);
        }
    }
}

static void markdown_put(FILE *out, const char *text)
{
    for (const char *p = text; *p; p++) {
        if (strchr("|*_`<\\[", *p)) fputc('\\', out);
        fputc(*p, out);
    }
}

static void grid_write_markdown(FILE *out, const struct report_rows *r)
{
    const bool *right = report_rows_right(r);

    for (int32_t i = -1; i < r->rows_n; i++) {
        fputc('|', out);
        for (int32_t c = 0; c < r->columns_n; c++) {
            fputc(' ', out);
            markdown_put(out, grid_text(r, i, c));
            fputs(" |", out);
        }
        fputc('\n', out);
        if (i >= 0) continue;
        fputc('|', out);
        for (int32_t c = 0; c < r->columns_n; c++) fputs(right[c] ? " ---: |" : " :--- |", out);
        fputc('\n', out);
    }
}

static const struct {
    const char *from, *to;
} latex_table[] = {
    {"\\", "\\textbackslash{}"},
    {"{", "\\{"},
    {"}", "\\}"},
    {"&", "\\&"},
    {"%", "\\%"},
    {"$", "\\$"},
    {"#", "\\#"},
    {"_", "\\_"},
    {"~", "\\textasciitilde{}"},
    {"^", "\\textasciicircum{}"},
    {"<", "$<$"},
    {">", "$>$"},
    {"–", "--"},
    {"±", "$\\pm$"},
    {"×", "$\\times$"},
    {"≤", "$\\le$"},
    {"≥", "$\\ge$"},
};

static void latex_put(FILE *out, const char *text)
{
    while (*text) {
        size_t n = 0;
        for (size_t i = 0; i < sizeof latex_table / sizeof *latex_table && !n; i++) {
            size_t length = strlen(latex_table[i].from);
            if (strncmp(text, latex_table[i].from, length) != 0) continue;
            fputs(latex_table[i].to, out);
            n = length;
        }
        if (!n) fputc(*text, out);
        text += n ? n : 1;
    }
}

/* Columns of sentences are broken into lines and share LATEX_PROSE hundredths of the width. */
static void latex_columns(FILE *out, const struct report_rows *r)
{
    const bool *right = report_rows_right(r);
    bool *prose = arena_array(r->arena, (size_t)r->columns_n + 1, sizeof *prose);
    int32_t prose_n = 0;

    for (int32_t c = 0; c < r->columns_n; c++) {
        for (int32_t i = 0; i < r->rows_n; i++)
            prose[c] |= !right[c] && grid_width(grid_text(r, i, c)) > GRID_PROSE;
        prose_n += prose[c];
    }
    for (int32_t c = 0; c < r->columns_n; c++)
        if (prose[c])
            fprintf(out, "p{0.%02d\\linewidth}", LATEX_PROSE / prose_n);
        else
            fputc(right[c] ? 'r' : 'l', out);
}

static void grid_write_latex(FILE *out, const struct report_rows *r)
{
    fputs("\\begin{tabular}{", out);
    latex_columns(out, r);
    fputs("}\n\\toprule\n", out);
    for (int32_t i = -1; i < r->rows_n; i++) {
        for (int32_t c = 0; c < r->columns_n; c++) {
            const char *text = grid_text(r, i, c);
            if (c) fputs(" & ", out);
            if (text[0] == '-' && text[1] >= '0' && text[1] <= '9') {
                fputs("$-$", out); /* a minus, not a hyphen */
                text++;
            }
            latex_put(out, text);
        }
        fputs(" \\\\\n", out);
        if (i < 0) fputs("\\midrule\n", out);
    }
    fputs("\\bottomrule\n\\end{tabular}\n", out);
}

/* --- CSV and JSON --------------------------------------------------------------------------- */

/* A text is quoted where RFC 4180 requires it. One that a spreadsheet would run as a formula begins
 * with an apostrophe, which it shows as text; numbers stay as they are. */
static void csv_cell(FILE *out, const char *text)
{
    double number;

    if (!text) return;
    bool formula = *text && strchr("=+-@\t\r", *text) && !str_to_double(&number, text);
    if (!formula && !strpbrk(text, ",\"\r\n") && *text) {
        fputs(text, out);
        return;
    }
    fputs(formula ? "\"'" : "\"", out);
    for (const char *p = text; *p; p++) {
        if (*p == '"') fputc('"', out);
        fputc(*p, out);
    }
    fputc('"', out);
}

static int write_csv(FILE *out, const struct report_rows *r, struct err *e)
{
    for (int32_t c = 0; c < r->columns_n; c++) {
        if (c) fputc(',', out);
        csv_cell(out, r->name[c]);
    }
    if (r->columns_n) fputs("\n", out);
    for (int32_t i = 0; i < r->rows_n; i++) {
        for (int32_t c = 0; c < r->columns_n; c++) {
            if (c) fputc(',', out);
            csv_cell(out, r->row[i][c].text);
        }
        fputs("\n", out);
    }
    return file_check_output(out, e);
}

/* A text as a JSON string; jansson escapes what must be escaped and refuses what is not UTF-8. */
static int json_text(FILE *out, const char *text, struct err *e)
{
    json_t *string = json_string(text);
    int rc = 0;

    if (!string)
        rc = ERR(e, ERR_DATA, "a cell that begins with \"%.40s\" is not valid UTF-8", text);
    else if (json_dumpf(string, out, JSON_ENCODE_ANY) < 0 && (rc = file_check_output(out, e)) == 0)
        rc = ERR(e, ERR_NOMEM, "no memory to print a cell");
    json_decref(string);
    return rc;
}

/* Numbers are written as they are: the store gives the shortest form that reads back the same. */
static int json_cell(FILE *out, const struct report_cell *cell, struct err *e)
{
    double number;

    if (!cell->text) {
        fputs("null", out);
        return 0;
    }
    if (cell->type != 't' && str_to_double(&number, cell->text)) {
        fputs(cell->text, out);
        return 0;
    }
    return json_text(out, cell->text, e);
}

static int write_json(FILE *out, const struct report_rows *r, struct err *e)
{
    fputs("[", out);
    for (int32_t i = 0; i < r->rows_n; i++) {
        fputs(i ? ",\n {" : "\n {", out);
        for (int32_t c = 0; c < r->columns_n; c++) {
            if (c) fputs(", ", out);
            TRY(json_text(out, report_unique_name(r->arena, r->name, c), e));
            fputs(": ", out);
            TRY(json_cell(out, &r->row[i][c], e));
        }
        fputs("}", out);
    }
    fputs(r->rows_n ? "\n]\n" : "]\n", out);
    return file_check_output(out, e);
}

/* --- every format --------------------------------------------------------------------------- */

int report_rows_write(FILE *out, const struct report_rows *r, enum report_format format,
                      struct err *e)
{
    if (format == REPORT_CSV) return write_csv(out, r, e);
    if (format == REPORT_JSON) return write_json(out, r, e);
    if (r->columns_n == 0) return file_check_output(out, e);
    if (format == REPORT_TEXT) grid_write_text(out, r);
    if (format == REPORT_MARKDOWN) grid_write_markdown(out, r);
    if (format == REPORT_LATEX) grid_write_latex(out, r);
    if (format == REPORT_HTML) report_html_rows(out, r);
    return file_check_output(out, e);
}

/* The text of a line in the format, cleaned and escaped; in HTML with its `code`. */
static void write_line(FILE *out, const char *text, enum report_format format)
{
    struct arena a;
    arena_init(&a);
    const char *clean = report_clean_text(&a, text);
    if (format == REPORT_MARKDOWN)
        markdown_put(out, clean);
    else if (format == REPORT_LATEX)
        latex_put(out, clean);
    else if (format == REPORT_HTML)
        report_html_inline(out, &a, clean);
    else
        fputs(clean, out);
    arena_fini(&a);
}

void report_write_heading(FILE *out, const char *text, enum report_format format, int level)
{
    if (format == REPORT_MARKDOWN) fputs(level == 1 ? "## " : "### ", out);
    if (format == REPORT_LATEX) fputs(level == 1 ? "\\section*{" : "\\subsection*{", out);
    if (format == REPORT_HTML) fprintf(out, "<h%d>", level + 1);
    write_line(out, text, format);
    if (format == REPORT_HTML) fprintf(out, "</h%d>", level + 1);
    fputs(format == REPORT_LATEX ? "}\n\n" : "\n", out);
    if (format == REPORT_MARKDOWN) fputc('\n', out);
}

void report_write_paragraph(FILE *out, const char *text, enum report_format format)
{
    if (format == REPORT_HTML) fputs("<p>", out);
    write_line(out, text, format);
    fputs(format == REPORT_HTML ? "</p>\n" : format == REPORT_TEXT ? "\n" : "\n\n", out);
}

int report_query(FILE *out, struct store *s, const char *sql, double limit_s,
                 enum report_format format, struct err *e)
{
    struct arena a;
    struct report_rows rows;

    arena_init(&a);
    int rc = report_rows_query(&rows, &a, s, NULL, sql, NULL, 0, limit_s, e);
    if (rc == 0 && format == REPORT_HTML) report_html_open(out, "alibi query");
    if (rc == 0) rc = report_rows_write(out, &rows, format, e);
    if (rc == 0 && format == REPORT_HTML) report_html_close(out);
    arena_fini(&a);
    return rc;
}

static const struct {
    const char *name;
    enum report_format format;
} format_table[] = {
    {"text", REPORT_TEXT}, {"markdown", REPORT_MARKDOWN}, {"csv", REPORT_CSV},
    {"json", REPORT_JSON}, {"latex", REPORT_LATEX},       {"html", REPORT_HTML},
};

int report_format_find(enum report_format *out, const char *name, struct err *e)
{
    for (size_t i = 0; i < sizeof format_table / sizeof *format_table; i++) {
        if (strcmp(name, format_table[i].name) != 0) continue;
        *out = format_table[i].format;
        return 0;
    }
    return ERR(e, ERR_USAGE,
               "unknown format \"%s\"; the formats are text, markdown, csv, json, latex and html",
               name);
}
