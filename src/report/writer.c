/* writer.c - aligning and escaping. */
#include "report/writer.h"

#include <string.h>

#include "base/file.h"
#include "base/str.h"
#include "report/html.h"

enum {
    GRID_GAP = 2,    /* spaces between columns of the text form */
    GRID_PROSE = 60, /* characters from which a cell is a sentence */
    LATEX_PROSE = 70
};

void report_grid_init(struct report_grid *g, struct arena *a, int32_t columns_n, int32_t rows_n)
{
    *g = (struct report_grid){.arena = a, .columns_n = columns_n, .rows_n = rows_n};
    g->head = arena_array(a, (size_t)columns_n + 1, sizeof *g->head);
    g->right = arena_array(a, (size_t)columns_n + 1, sizeof *g->right);
    g->cell = arena_array(a, (size_t)columns_n * (size_t)rows_n + 1, sizeof *g->cell);
    g->link = arena_array(a, (size_t)columns_n * (size_t)rows_n + 1, sizeof *g->link);
    g->verdict = arena_array(a, (size_t)columns_n * (size_t)rows_n + 1, sizeof *g->verdict);
    g->hint = arena_array(a, (size_t)columns_n * (size_t)rows_n + 1, sizeof *g->hint);
}

void report_grid_set(struct report_grid *g, int32_t row, int32_t column, const char *text)
{
    g->cell[(int64_t)row * g->columns_n + column] = text;
}

void report_grid_from_rows(struct report_grid *g, struct arena *a, const struct report_rows *r)
{
    report_grid_init(g, a, r->columns_n, r->rows_n);
    for (int32_t c = 0; c < r->columns_n; c++) {
        g->head[c] = r->name[c];
        g->right[c] = r->rows_n > 0;
        for (int32_t i = 0; i < r->rows_n; i++) {
            if (r->row[i][c].type == 't') g->right[c] = false;
            report_grid_set(g, i, c, r->row[i][c].text);
        }
    }
}

static int32_t grid_width(const char *text)
{
    int32_t width = 0;
    for (const char *p = text; *p; p++) width += ((unsigned char)*p & 0xC0) != 0x80;
    return width;
}

/* Line -1 is the header line. */
static const char *grid_text(const struct report_grid *g, int32_t row, int32_t column)
{
    const char *text = row < 0 ? g->head[column] : g->cell[(int64_t)row * g->columns_n + column];
    return report_clean_text(g->arena, text);
}

static void grid_pad(FILE *out, int32_t n, char c)
{
    for (int32_t i = 0; i < n; i++) fputc(c, out);
}

static void grid_write_text(FILE *out, const struct report_grid *g)
{
    int32_t *width = arena_array(g->arena, (size_t)g->columns_n + 1, sizeof *width);
    int32_t total = 0;

    for (int32_t c = 0; c < g->columns_n; c++) {
        for (int32_t i = -1; i < g->rows_n; i++) {
            int32_t w = grid_width(grid_text(g, i, c));
            if (w > width[c]) width[c] = w;
        }
        total += width[c] + (c ? GRID_GAP : 0);
    }
    for (int32_t i = -1; i < g->rows_n; i++) {
        int32_t owed = 0; /* spaces not yet written, so that no line ends with one */
        for (int32_t c = 0; c < g->columns_n; c++) {
            const char *text = grid_text(g, i, c);
            int32_t rest = width[c] - grid_width(text);
            if (c) owed += GRID_GAP;
            if (g->right[c]) owed += rest;
            if (*text) {
                grid_pad(out, owed, ' ');
                fputs(text, out);
                owed = 0;
            } else if (g->right[c]) {
                owed += width[c] - rest;
            }
            if (!g->right[c]) owed += rest;
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

static void grid_write_markdown(FILE *out, const struct report_grid *g)
{
    for (int32_t i = -1; i < g->rows_n; i++) {
        fputc('|', out);
        for (int32_t c = 0; c < g->columns_n; c++) {
            fputc(' ', out);
            markdown_put(out, grid_text(g, i, c));
            fputs(" |", out);
        }
        fputc('\n', out);
        if (i >= 0) continue;
        fputc('|', out);
        for (int32_t c = 0; c < g->columns_n; c++) fputs(g->right[c] ? " ---: |" : " :--- |", out);
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

/* Whether a column holds sentences, which are broken into lines. */
static bool grid_is_prose(const struct report_grid *g, int32_t column)
{
    for (int32_t i = 0; i < g->rows_n; i++)
        if (grid_width(grid_text(g, i, column)) > GRID_PROSE) return !g->right[column];
    return false;
}

/* Columns of sentences share LATEX_PROSE hundredths of the line. */
static void latex_columns(FILE *out, const struct report_grid *g)
{
    int32_t prose_n = 0;

    for (int32_t c = 0; c < g->columns_n; c++) prose_n += grid_is_prose(g, c);
    for (int32_t c = 0; c < g->columns_n; c++)
        if (grid_is_prose(g, c))
            fprintf(out, "p{0.%02d\\linewidth}", LATEX_PROSE / prose_n);
        else
            fputc(g->right[c] ? 'r' : 'l', out);
}

static void grid_write_latex(FILE *out, const struct report_grid *g)
{
    fputs("\\begin{tabular}{", out);
    latex_columns(out, g);
    fputs("}\n\\toprule\n", out);
    for (int32_t i = -1; i < g->rows_n; i++) {
        for (int32_t c = 0; c < g->columns_n; c++) {
            const char *text = grid_text(g, i, c);
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

void report_grid_write(FILE *out, const struct report_grid *g, enum report_format format)
{
    if (g->columns_n == 0) return;
    if (format == REPORT_MARKDOWN)
        grid_write_markdown(out, g);
    else if (format == REPORT_LATEX)
        grid_write_latex(out, g);
    else if (format == REPORT_HTML)
        report_html_grid(out, g);
    else
        grid_write_text(out, g);
}

int report_rows_write(FILE *out, struct arena *a, const struct report_rows *r,
                      enum report_format format, struct err *e)
{
    struct report_grid g;

    if (format == REPORT_CSV) return report_rows_csv(out, r, e);
    if (format == REPORT_JSON) return report_rows_json(out, r, e);
    report_grid_from_rows(&g, a, r);
    report_grid_write(out, &g, format);
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
    if (rc == 0) rc = report_rows_write(out, &a, &rows, format, e);
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
