/* writer.c - cleaning, aligning and escaping. */
#include "report/rows.h"

#include <ctype.h>
#include <jansson.h>
#include <stdint.h>
#include <string.h>

#include "base/file.h"

enum {
    GAP = 2,          /* spaces between columns of the text form */
    PROSE = 60,       /* characters from which a cell is a sentence */
    WORDS = 30,       /* characters from which a cell may be broken where a table is too wide */
    LATEX_PROSE = 70, /* hundredths of the width, at most, for columns of sentences */
    LATEX_PROSE_MIN = 20,
    LATEX_LINE = 76, /* characters of a line of a LaTeX article, about */
    LATEX_GAP = 3    /* between two columns */
};

size_t report_subscript(const char *text, const char *p)
{
    size_t word = strncmp(p, "L_", 2) == 0 ? strspn(p + 2, "abcdefghijklmnopqrstuvwxyz") : 0;
    bool begins = p == text || !isalnum((unsigned char)p[-1]);

    return word && begins && p[2 + word] != '_' ? word : 0;
}

/* --- a table -------------------------------------------------------------------------------- */

struct table {
    FILE *out;
    const struct rows *rows;
    const bool *right;
    int32_t *width;    /* of the columns, in characters */
    int32_t owed;      /* spaces not written yet: no line ends with a space */
    const char *above; /* LaTeX: the name of above_n columns from above_first on; or NULL */
    int32_t above_first, above_n;
    int rc; /* of the cells written so far, with the error in e */
    struct err *e;
};

static int32_t text_width(const char *text)
{
    int32_t width = 0;
    for (const char *p = text; *p; p++) width += ((unsigned char)*p & 0xC0) != 0x80;
    return width;
}

/* Returns a cell before it is escaped; row -1 is the header line. */
static const char *raw_text(const struct table *t, int32_t row, int32_t column)
{
    return row < 0 ? t->rows->name[column] : t->rows->row[row][column].text;
}

static const char *clean_text(const struct table *t, int32_t row, int32_t column)
{
    return str_clean(t->rows->arena, raw_text(t, row, column), "");
}

static void put_plain(FILE *out, const char *text)
{
    fputs(text, out);
}

static void put_pad(FILE *out, int32_t n, char c)
{
    for (int32_t i = 0; i < n; i++) fputc(c, out);
}

static void measure_columns(struct table *t)
{
    const struct rows *r = t->rows;

    t->width = arena_array(r->arena, (size_t)r->columns_n + 1, sizeof *t->width);
    for (int32_t c = 0; c < r->columns_n; c++)
        for (int32_t i = -1; i < r->rows_n; i++) {
            int32_t w = text_width(clean_text(t, i, c));
            if (w > t->width[c]) t->width[c] = w;
        }
}

static void text_cell(struct table *t, int32_t row, int32_t column)
{
    const char *text = clean_text(t, row, column);
    int32_t rest = t->width[column] - text_width(text);

    t->owed = column ? t->owed + GAP : 0;
    if (t->right[column]) t->owed += rest;
    if (*text) {
        put_pad(t->out, t->owed, ' ');
        fputs(text, t->out);
        t->owed = 0;
    }
    if (!t->right[column]) t->owed += rest;
}

static void text_rule(struct table *t)
{
    int32_t total = GAP * (t->rows->columns_n - 1);

    for (int32_t c = 0; c < t->rows->columns_n; c++) total += t->width[c];
    put_pad(t->out, total, '-');
    fputc('\n', t->out);
}

static void markdown_put(FILE *out, const char *text)
{
    for (const char *p = text; *p; p++) {
        if (strchr("|*_`<\\[", *p)) fputc('\\', out);
        fputc(*p, out);
    }
}

static void markdown_cell(struct table *t, int32_t row, int32_t column)
{
    markdown_put(t->out, clean_text(t, row, column));
}

static void markdown_rule(struct table *t)
{
    fputc('|', t->out);
    for (int32_t c = 0; c < t->rows->columns_n; c++)
        fputs(t->right[c] ? " ---: |" : " :--- |", t->out);
    fputc('\n', t->out);
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
    {"|", "$|$"},
    {"–", "--"},
    {"±", "$\\pm$"},
    {"×", "$\\times$"},
    {"≤", "$\\le$"},
    {"≥", "$\\ge$"},
};

/* L_valid and its like are formulas. */
static void latex_put(FILE *out, const char *text)
{
    for (const char *start = text; *text;) {
        size_t n = report_subscript(start, text);
        if (n) {
            fprintf(out, "$L_\\mathrm{%.*s}$", (int)n, text + 2);
            text += 2 + n;
            continue;
        }
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

/* Finds the columns of sentences, and in a table wider than a line the widest column of texts.
 * Returns the hundredths of the width that each of them gets: LaTeX breaks them into lines. */
static int32_t latex_share(const struct table *t, bool *prose)
{
    int32_t columns_n = t->rows->columns_n, widest = -1, prose_n = 0, rest = LATEX_LINE;
    int32_t total = LATEX_GAP * columns_n;

    for (int32_t c = 0; c < columns_n; c++) {
        total += t->width[c];
        prose[c] = !t->right[c] && t->width[c] > PROSE;
        if (!t->right[c] && (widest < 0 || t->width[c] > t->width[widest])) widest = c;
    }
    if (total > LATEX_LINE && widest >= 0 && t->width[widest] > WORDS) prose[widest] = true;
    for (int32_t c = 0; c < columns_n; c++) {
        prose_n += prose[c];
        rest -= LATEX_GAP + (prose[c] ? 0 : t->width[c]);
    }
    if (prose_n == 0) return 0;
    int32_t share = 100 * rest / LATEX_LINE;
    share = share > LATEX_PROSE ? LATEX_PROSE : share < LATEX_PROSE_MIN ? LATEX_PROSE_MIN : share;
    return share / prose_n;
}

static void latex_begin(struct table *t)
{
    const struct rows *r = t->rows;
    bool *prose = arena_array(r->arena, (size_t)r->columns_n + 1, sizeof *prose);

    measure_columns(t);
    int32_t share = latex_share(t, prose);
    fputs("\\begin{tabular}{", t->out);
    for (int32_t c = 0; c < r->columns_n; c++)
        if (prose[c])
            fprintf(t->out, "p{0.%02d\\linewidth}", share);
        else
            fputc(t->right[c] ? 'r' : 'l', t->out);
    fputs("}\n\\toprule\n", t->out);
    if (!t->above) return;
    for (int32_t c = 0; c < t->above_first; c++) fputs("& ", t->out);
    fprintf(t->out, "\\multicolumn{%d}{c}{", t->above_n);
    latex_put(t->out, str_clean(r->arena, t->above, ""));
    int32_t after = r->columns_n - t->above_first - t->above_n;
    fputc('}', t->out);
    for (int32_t c = 0; c < after; c++) fputs(" &", t->out);
    fprintf(t->out, " \\\\\n\\cmidrule(lr){%d-%d}\n", t->above_first + 1,
            t->above_first + t->above_n);
}

static void latex_cell(struct table *t, int32_t row, int32_t column)
{
    const char *text = clean_text(t, row, column);
    bool negative = text[0] == '-' && text[1] >= '0' && text[1] <= '9';
    bool bold = row >= 0 && report_marks(&t->rows->row[row][column])->best;

    /* The command that ends the line before takes [ and * as its argument. */
    if (column == 0 && *text && strchr("[*", *text)) fputs("{}", t->out);
    if (bold) fputs("\\textbf{", t->out);
    if (negative) fputs("$-$", t->out); /* a minus, not a hyphen */
    latex_put(t->out, text + negative);
    if (bold) fputs("}", t->out);
}

void report_latex_open(FILE *out, const char *caption, const char *label)
{
    fputs("\\begin{table}\n\\centering\n\\caption{", out);
    latex_put(out, caption);
    fprintf(out, "}\n\\label{tab:%s}\n", label);
}

void report_latex_close(FILE *out)
{
    fputs("\\end{table}\n", out);
}

/* A text is quoted where RFC 4180 requires it. One that a spreadsheet would run as a formula begins
 * with an apostrophe, which it shows as text; numbers stay as they are. */
static void csv_cell(struct table *t, int32_t row, int32_t column)
{
    const char *text = raw_text(t, row, column);
    FILE *out = t->out;
    double number;

    if (!text) return;
    bool formula = *text && strchr("=+-@\t\r", *text) && !str_to_double(&number, text);
    if (!formula && !strpbrk(text, ",\"\r\n") && *text) {
        fputs(text, out);
        return;
    }
    struct arena *a = t->rows->arena;
    fputs(str_quote(a, formula ? arena_printf(a, "'%s", text) : text, '"'), out);
}

/* Writes a text as a JSON string; jansson escapes what must be escaped and rejects what is not
 * UTF-8. */
static void json_text(struct table *t, const char *text)
{
    json_t *string = json_string(text);

    if (!string)
        t->rc = ERR(t->e, ERR_DATA, "a cell that begins with \"%.40s\" is not valid UTF-8", text);
    else if (json_dumpf(string, t->out, JSON_ENCODE_ANY) < 0)
        t->rc = file_check_output(t->out, t->e) < 0 ? ERR_OUTPUT
                                                    : ERR(t->e, ERR_NOMEM, "out of memory");
    json_decref(string);
}

/* Writes the words of a text as an array of strings. */
static void json_words(struct table *t, const char *text)
{
    char *rest = arena_strdup(t->rows->arena, text), *word;

    fputc('[', t->out);
    for (int n = 0; (word = strsep(&rest, " "));) {
        if (!*word) continue;
        if (n++) fputs(", ", t->out);
        json_text(t, word);
    }
    fputc(']', t->out);
}

/* Numbers are written as they are: the store gives the shortest form that reads back the same. */
static void json_cell(struct table *t, int32_t row, int32_t column)
{
    const struct store_cell *cell = &t->rows->row[row][column];
    double number;

    json_text(t, report_unique_name(t->rows->arena, t->rows->name, column));
    fputs(": ", t->out);
    if (cell->type == 'w')
        json_words(t, store_text(cell));
    else if (cell->text && cell->type == 'j')
        fputs(cell->text, t->out);
    else if (cell->text && (cell->type == 't' || !str_to_double(&number, cell->text)))
        json_text(t, cell->text);
    else
        fputs(cell->text ? cell->text : "null", t->out);
}

static void html_cell(struct table *t, int32_t row, int32_t column)
{
    report_html_cell(t->out, t->rows, row, column, t->right[column]);
}

/* --- every format --------------------------------------------------------------------------- */

/* The punctuation of a format. A line is `first`, the cells with `between` between them, `last`.
 * The header line, which JSON lacks, ends in head_last and rule(). */
static const struct encoding {
    const char *name;
    void (*begin)(struct table *t), (*rule)(struct table *t); /* may be NULL */
    void (*cell)(struct table *t, int32_t row, int32_t column);
    const char *open, *first, *between, *last, *head_last, *close;
} encodings[] = {
    [REPORT_TEXT] = {"text", measure_columns, text_rule, text_cell, "", "", "", "\n", "\n", ""},
    [REPORT_MARKDOWN] = {"markdown", NULL, markdown_rule, markdown_cell, "", "| ", " | ", " |\n",
                         " |\n", ""},
    [REPORT_CSV] = {"csv", NULL, NULL, csv_cell, "", "", ",", "\n", "\n", ""},
    [REPORT_JSON] = {"json", NULL, NULL, json_cell, "[", "\n {", ", ", "}", NULL, "]\n"},
    [REPORT_LATEX] = {"latex", latex_begin, NULL, latex_cell, "", "", " & ", " \\\\\n",
                      " \\\\\n\\midrule\n", "\\bottomrule\n\\end{tabular}\n"},
    [REPORT_HTML] = {"html", NULL, NULL, html_cell,
                     "<div class=\"scroll\" tabindex=\"0\"><table>\n<thead>", "", "", "</tr>\n",
                     "</tr></thead>\n<tbody>\n", "</tbody>\n</table></div>\n"},
};
enum { ENCODINGS_N = sizeof encodings / sizeof *encodings };

static int write_table(struct table t, const struct encoding *n)
{
    FILE *out = t.out;
    const struct rows *r = t.rows;
    struct err *e = t.e;

    t.right = report_rows_right(r);
    if (r->columns_n == 0 && n->head_last) return file_check_output(out, e);
    fputs(n->open, out);
    if (n->begin) n->begin(&t);
    for (int32_t i = n->head_last ? -1 : 0; i < r->rows_n; i++) {
        if (i > 0 && !n->head_last) fputc(',', out);
        fputs(n->first, out);
        for (int32_t c = 0; c < r->columns_n && t.rc == 0; c++) {
            if (c) fputs(n->between, out);
            n->cell(&t, i, c);
        }
        if (t.rc < 0) return t.rc;
        fputs(i < 0 ? n->head_last : n->last, out);
        if (i < 0 && n->rule) n->rule(&t);
    }
    if (!n->head_last && r->rows_n) fputc('\n', out);
    fputs(n->close, out);
    return file_check_output(out, e);
}

int report_rows_write(FILE *out, const struct rows *r, enum report_format format, struct err *e)
{
    return write_table((struct table){.out = out, .rows = r, .e = e}, &encodings[format]);
}

int report_rows_write_latex(FILE *out, const struct rows *r, const char *name, int32_t first,
                            int32_t n, struct err *e)
{
    return write_table(
        (struct table){
            .out = out, .rows = r, .above = name, .above_first = first, .above_n = n, .e = e},
        &encodings[REPORT_LATEX]);
}

/* Texts before and after a paragraph and headings of level 1 and 2, and the function that escapes
 * their words. */
static const struct {
    const char *before[3], *after[3];
    void (*put)(FILE *out, const char *text);
} words[] = {
    [REPORT_TEXT] = {{"", "", ""}, {"\n", "\n", "\n"}, put_plain},
    [REPORT_MARKDOWN] = {{"## ", "### ", ""}, {"\n\n", "\n\n", "\n\n"}, markdown_put},
    [REPORT_LATEX] = {{"\\section*{", "\\subsection*{", ""}, {"}\n\n", "}\n\n", "\n\n"}, latex_put},
    [REPORT_HTML] = {{"<h2>", "<h3>", "<p>"}, {"</h2>\n", "</h3>\n", "</p>\n"}, report_html_inline},
};

void report_write_heading(FILE *out, const char *text, enum report_format format, int level)
{
    struct arena a;

    arena_init(&a);
    fputs(words[format].before[level - 1], out);
    words[format].put(out, str_clean(&a, text, ""));
    fputs(words[format].after[level - 1], out);
    arena_fini(&a);
}

void report_write_paragraph(FILE *out, const char *text, enum report_format format)
{
    report_write_heading(out, text, format, 3);
}

void report_write_folder(FILE *out, const char *name, enum report_format format)
{
    if (format != REPORT_MARKDOWN) {
        report_write_heading(out, name, format, 1);
        return;
    }
    fputs("## [", out);
    markdown_put(out, name);
    fprintf(out, "](%s/)\n\n", name);
}

int report_query(FILE *out, struct store *s, const char *sql, double limit_s,
                 enum report_format format, struct err *e)
{
    struct arena a;
    struct rows rows;

    arena_init(&a);
    int rc = report_rows_query(&rows, &a, s, NULL, sql, NULL, 0, limit_s, e);
    if (rc == 0) rc = report_rows_write(out, &rows, format, e);
    arena_fini(&a);
    return rc;
}

int report_format_find(enum report_format *out, const char *name, struct err *e)
{
    for (int i = 0; i < ENCODINGS_N; i++) {
        if (strcmp(name, encodings[i].name) != 0) continue;
        *out = (enum report_format)i;
        return 0;
    }
    return ERR(e, ERR_USAGE,
               "unknown format \"%s\"; the formats are text, markdown, csv, json, latex and, for a "
               "report, html",
               name);
}
