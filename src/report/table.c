/* table.c - placing cells in grids, and saying what they are. */
#include "report/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "report/html.h"
#include "report/writer.h"

static const char table_gap[] = "–"; /* asked for, without a number */

/* --- facts ---------------------------------------------------------------------------------- */

static void add_seeds(struct strbuf *b, const char *seeds, bool brief)
{
    bool several = seeds && strchr(seeds, ',');

    if (!seeds) return;
    strbuf_addf(b, "%s%s %s", b->n ? ", " : "", several ? "seeds" : "seed", seeds);
    if (several && !brief) strbuf_add(b, " (mean ± standard deviation)");
}

/* Tokens scored: one number, or the range where cells differ. */
static void add_tokens(struct strbuf *b, const char *low, const char *high)
{
    if (!low) return;
    strbuf_addf(b, ", %s", low);
    if (strcmp(low, high) != 0) strbuf_addf(b, " to %s", high);
    strbuf_add(b, " tokens scored");
}

static const char *size_text(struct arena *a, double n)
{
    if (n >= 1e9) return arena_printf(a, "%.2fB", 1e-9 * n);
    if (n >= 1e4) return arena_printf(a, n >= 1e8 ? "%.0fM" : "%.2fM", 1e-6 * n);
    return arena_printf(a, "%.0f", n);
}

const char *report_table_size(struct arena *a, const char *low, const char *high)
{
    double least, most;

    if (!low || !high || !str_to_double(&least, low) || !str_to_double(&most, high)) return NULL;
    const char *from = size_text(a, least), *to = size_text(a, most);
    if (strcmp(from, to) == 0) return arena_printf(a, "%s parameters", to);
    return arena_printf(a, "%s to %s parameters", from, to);
}

/* The corpus that was read, where it is not the paper's own text. */
static const char *text_read(struct arena *a, const struct report_rows *groups, int32_t group)
{
    const char *dataset = report_rows_get(groups, group, "dataset");
    const char *corpus = report_rows_get(groups, group, "corpus");

    if (!dataset || !corpus || strcmp(dataset, corpus) == 0) return dataset;
    const char *synthetic = arena_printf(a, "synthetic-%s", dataset);
    if (strncmp(corpus, synthetic, strlen(synthetic)) == 0)
        return arena_printf(a, "synthetic stand-in for %s", dataset);
    return arena_printf(a, "%s in place of %s", corpus, dataset);
}

const char *report_table_facts(struct arena *a, const struct report_rows *groups, int32_t group,
                               bool brief)
{
    static const struct {
        const char *column, *before, *after;
    } facts[] = {{"model", "model ", ""},   {"params", "", " parameters"},
                 {"split", "split ", ""},   {"protocol", "", " windows"},
                 {"stride", "stride ", ""}, {"precision", "", ""},
                 {"machine", "on ", ""}};
    const char *modified = report_rows_get(groups, group, "modified");
    const char *source = report_rows_get(groups, group, "source");
    const char *text = text_read(a, groups, group);
    const char *size = report_table_size(a, report_rows_get(groups, group, "parameters_low"),
                                         report_rows_get(groups, group, "parameters_high"));
    struct strbuf b;

    strbuf_init(&b, a);
    if (report_rows_get(groups, group, "params")) size = NULL; /* the same number */
    if (text) strbuf_add(&b, text);
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        const char *values = report_rows_get(groups, group, facts[i].column);
        if (values)
            strbuf_addf(&b, "%s%s%s%s", b.n ? ", " : "", facts[i].before, values, facts[i].after);
        if (i == 0 && size) strbuf_addf(&b, "%s%s", b.n ? ", " : "", size);
    }
    add_tokens(&b, report_rows_get(groups, group, "tokens_low"),
               report_rows_get(groups, group, "tokens_high"));
    add_seeds(&b, report_rows_get(groups, group, "seed"), brief);
    if (source) strbuf_addf(&b, "%s%s", b.n ? ", " : "", source);
    if (modified && strcmp(modified, "1") == 0) strbuf_add(&b, ", modified");
    return b.text;
}

/* --- one grid ------------------------------------------------------------------------------- */

/* The answer's cells: those of one group are lines[line ..] and cells[cell ..] in their order. */
struct table {
    const struct report_table_args *args;
    struct report_rows groups, lines, cells;
    int32_t line, lines_n, cell, cells_n; /* of the current group */
    int32_t seeds_n;                      /* runs of a full cell */
};

static const char *number_text(struct arena *a, double mean, double std, double n, int32_t decimals)
{
    if (n < 2) return arena_printf(a, "%.*f", decimals, mean);
    return arena_printf(a, "%.*f ± %.*f", decimals, mean, decimals, std);
}

/* The text of a cell: its number, or why it has none. */
static const char *cell_text(struct arena *a, const struct table *t, int32_t cell)
{
    double n = 0, mean = 0, std = 0;
    const char *why = report_rows_get(&t->cells, cell, "why");

    report_rows_real(&n, &t->cells, cell, "n");
    if (n == 0) {
        size_t length = why ? strcspn(why, ":") : 0; /* "OOM: and what it means" */
        return length > 0 && length <= 12 ? arena_strndup(a, why, length) : table_gap;
    }
    report_rows_real(&mean, &t->cells, cell, "mean");
    report_rows_real(&std, &t->cells, cell, "std");
    const char *metric = report_rows_get(&t->cells, cell, "metric");
    const char *text =
        number_text(a, mean, std, n, report_layout_decimals(t->args->layout, metric));
    const char *noisy = report_rows_get(&t->cells, cell, "noisy");
    if (noisy && strcmp(noisy, "1") == 0) text = arena_printf(a, "%s (noisy)", text);
    return n < t->seeds_n ? arena_printf(a, "%s (n=%.0f)", text, n) : text;
}

/* Where a cell's number came from, in few words. */
static const char *cell_source(struct arena *a, const struct report_rows *cells, int32_t cell)
{
    const char *device = report_rows_get(cells, cell, "devices");
    const struct {
        const char *text, *before;
    } parts[] = {{report_rows_get(cells, cell, "runs"), "run "},
                 {device ? device : report_rows_get(cells, cell, "machines"), "on "},
                 {report_rows_get(cells, cell, "codes"), "code "},
                 {report_rows_get(cells, cell, "sources"), ""}};
    struct strbuf b;

    strbuf_init(&b, a);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].text)
            strbuf_addf(&b, "%s%s%s", b.n ? "; " : "", parts[i].before, parts[i].text);
    return b.text;
}

static void put_cell(struct report_grid *g, int32_t row, int32_t column, const struct table *t,
                     int32_t cell)
{
    const char *text = cell_text(g->arena, t, cell);
    const char *config = report_rows_get(&t->cells, cell, "config_id");
    const char *runs = report_rows_get(&t->cells, cell, "runs");
    int64_t at = (int64_t)row * g->columns_n + column;

    g->verdict[at] = report_rows_get(&t->cells, cell, "verdict");
    if (t->args->format == REPORT_HTML && config && runs) {
        g->link[at] = arena_printf(g->arena, "c-%s", config);
        g->hint[at] = cell_source(g->arena, &t->cells, cell);
    }
    if (t->args->format == REPORT_HTML && runs && strcmp(text, table_gap) == 0) text = "not run";
    report_grid_set(g, row, column, text);
}

static void put_line(struct report_grid *g, int32_t row, const struct table *t, int32_t line)
{
    const struct report_keys *k = t->args->keys;
    int32_t first = g->columns_n - k->extras_n;
    const char *run = report_rows_get(&t->lines, line, "train_run_id");
    double mean;

    for (int32_t i = 0; i < k->lines_n; i++)
        report_grid_set(g, row, i,
                        report_rows_get(&t->lines, line, arena_printf(g->arena, "label%d", i)));
    for (int32_t i = 0; i < k->extras_n; i++) {
        const struct report_extra *x = &k->extra[i];
        bool is = report_rows_real(&mean, &t->lines, line, arena_printf(g->arena, "extra%d", i));
        report_grid_set(g, row, first + i,
                        is ? arena_printf(g->arena, "%.*f", x->decimals, mean * x->factor)
                           : table_gap);
        if (is && run && t->args->format == REPORT_HTML)
            g->link[(int64_t)row * g->columns_n + first + i] = arena_printf(g->arena, "r-%s", run);
    }
}

static bool same(const struct report_rows *r, const char *name, int32_t a, int32_t b)
{
    return strcmp(report_rows_get(r, a, name), report_rows_get(r, b, name)) == 0;
}

/* The cells come column by column. */
static int32_t count_columns(const struct table *t)
{
    int32_t n = 0;
    for (int32_t i = t->cell; i < t->cell + t->cells_n; i++)
        n += i == t->cell || !same(&t->cells, "column", i - 1, i);
    return n;
}

static int32_t find_line(const struct table *t, int32_t cell)
{
    const char *line = report_rows_get(&t->cells, cell, "line");
    for (int32_t i = 0; i < t->lines_n; i++)
        if (strcmp(report_rows_get(&t->lines, t->line + i, "line"), line) == 0) return i;
    return 0;
}

static void write_grid(FILE *out, struct arena *a, const struct table *t)
{
    const struct report_keys *k = t->args->keys;
    struct report_grid g;
    int32_t column = k->lines_n - 1;

    report_grid_init(&g, a, k->lines_n + count_columns(t) + k->extras_n, t->lines_n);
    for (int32_t c = 0; c < g.columns_n; c++) g.right[c] = true;
    for (int32_t c = 0; c < k->lines_n; c++) {
        const char *right = report_rows_get(&t->lines, t->line, arena_printf(a, "right%d", c));
        g.head[c] = k->line[c];
        g.right[c] = strcmp(right, "1") == 0;
    }
    for (int32_t i = 0; i < k->extras_n; i++)
        g.head[g.columns_n - k->extras_n + i] = k->extra[i].heading;
    for (int32_t i = 0; i < t->lines_n; i++) put_line(&g, i, t, t->line + i);
    for (int32_t i = t->cell; i < t->cell + t->cells_n; i++) {
        if (i == t->cell || !same(&t->cells, "column", i - 1, i))
            g.head[++column] = report_rows_get(&t->cells, i, "label");
        put_cell(&g, find_line(t, i), column, t, i);
    }
    report_grid_write(out, &g, t->args->format);
}

/* --- the tables of an answer ---------------------------------------------------------------- */

/* "L_train = 64 (512)"; NULL without group: lines. */
static const char *group_title(struct arena *a, const struct table *t, int32_t group)
{
    const struct report_keys *k = t->args->keys;
    struct strbuf b;

    if (k->group_n == 0) return NULL;
    strbuf_init(&b, a);
    for (int32_t i = 0; i < k->group_n; i++) {
        const char *label = report_rows_get(&t->groups, group, arena_printf(a, "label%d", i));
        strbuf_addf(&b, "%s%s = %s", i ? ", " : "", k->group[i], label ? label : "(null)");
    }
    return b.text;
}

/* What the numbers of a table are. A reader may land on any table of a page, so the scale of ours
 * is repeated there. */
static void write_caption(FILE *out, struct arena *a, const struct table *t, int32_t group)
{
    const char *facts = report_table_facts(a, &t->groups, group, false);
    const char *scale = report_rows_get(&t->groups, group, "scale");

    if (t->args->format == REPORT_HTML && scale)
        facts = arena_printf(a, "Scale %s: %s", scale, facts);
    if (t->args->format == REPORT_HTML)
        report_html_caption(out, facts);
    else
        report_write_paragraph(out, facts, t->args->format);
}

/* Moves to the lines and cells of a group, which follow those of the group before. */
static void enter_group(struct table *t, int32_t group)
{
    const char *id = report_rows_get(&t->groups, group, "group");
    const char *seeds = report_rows_get(&t->groups, group, "seed");

    t->line += t->lines_n;
    t->cell += t->cells_n;
    t->lines_n = t->cells_n = 0;
    while (t->line + t->lines_n < t->lines.rows_n &&
           strcmp(report_rows_get(&t->lines, t->line + t->lines_n, "group"), id) == 0)
        t->lines_n++;
    while (t->cell + t->cells_n < t->cells.rows_n &&
           strcmp(report_rows_get(&t->cells, t->cell + t->cells_n, "group"), id) == 0)
        t->cells_n++;
    t->seeds_n = 1;
    for (const char *p = seeds; p && *p; p++) t->seeds_n += *p == ',';
}

int report_table_write(FILE *out, struct arena *a, const struct report_table_args *args,
                       struct err *e)
{
    struct table t = {.args = args};

    TRY(report_cells_groups(&t.groups, a, args->store, args->keys, false, e));
    TRY(report_cells_lines(&t.lines, a, args->store, args->keys, e));
    TRY(report_cells(&t.cells, a, args->store, args->keys, e));
    for (int32_t i = 0; i < t.groups.rows_n; i++) {
        const char *title = group_title(a, &t, i);
        enter_group(&t, i);
        if (title) report_write_heading(out, title, args->format, 2);
        write_caption(out, a, &t, i);
        if (args->format == REPORT_TEXT) fputc('\n', out);
        write_grid(out, a, &t);
        if (i + 1 < t.groups.rows_n || args->format != REPORT_TEXT) fputc('\n', out);
    }
    return 0;
}
