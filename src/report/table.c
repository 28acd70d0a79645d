/* table.c - pivoting rows into grids. */
#include "report/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "report/html.h"
#include "report/writer.h"

/* Columns that decide what a number may be called; those that are there always split tables. */
static const char *const table_protocol[] = {"dataset", "model",        "split",    "protocol",
                                             "stride",  "first_window", "precision"};

static const char table_gap[] = "–"; /* asked for, without a number */

enum {
    TABLE_PROTOCOL_N = sizeof table_protocol / sizeof *table_protocol,
    TABLE_KEYS_MAX = REPORT_MAX_NAMES + TABLE_PROTOCOL_N
};

/* The layout's columns found in the rows. */
struct table_columns {
    int32_t group[TABLE_KEYS_MAX], group_n;
    int32_t rows[REPORT_MAX_NAMES], rows_n;
    int32_t columns, value, gap, run, config, metric, verdict;
};

int report_table_column(int32_t *out, const struct report_rows *rows, const char *name,
                        struct err *e)
{
    *out = report_rows_column(rows, name);
    if (*out >= 0) return 0;
    const char *near = str_nearest(name, rows->name, (size_t)rows->columns_n);
    return ERR(e, ERR_DATA, "table.txt names the column %s, which the rows do not have%s%s", name,
               near ? "; the nearest is " : "", near ? near : "");
}

/* What the layout shows at the head of rows or columns need not split the table. */
static bool table_names(const struct report_layout *l, const char *column)
{
    for (int32_t i = 0; i < l->rows.n; i++)
        if (strcmp(l->rows.name[i], column) == 0) return true;
    return strcmp(l->columns, column) == 0;
}

static int table_find(struct table_columns *k, const struct report_table_args *t, struct err *e)
{
    const struct report_layout *l = t->layout;

    *k = (struct table_columns){0};
    for (int32_t i = 0; i < l->group.n; i++)
        TRY(report_table_column(&k->group[k->group_n++], t->rows, l->group.name[i], e));
    for (int32_t i = 0; i < TABLE_PROTOCOL_N; i++)
        if (!table_names(l, table_protocol[i]))
            k->group[k->group_n++] = report_rows_column(t->rows, table_protocol[i]);
    for (int32_t i = 0; i < l->rows.n; i++)
        TRY(report_table_column(&k->rows[k->rows_n++], t->rows, l->rows.name[i], e));
    TRY(report_table_column(&k->columns, t->rows, l->columns, e));
    TRY(report_table_column(&k->value, t->rows, t->value, e));
    k->gap = t->gap ? report_rows_column(t->rows, t->gap) : -1;
    k->run = report_rows_column(t->rows, "run_id");
    k->config = report_rows_column(t->rows, "config_id");
    k->metric = report_rows_column(t->rows, "metric");
    k->verdict = report_rows_column(t->rows, "verdict");
    return 0;
}

/* --- facts ---------------------------------------------------------------------------------- */

/* before, the column's distinct values, after; nothing when the rows do not say. */
static void facts_add(struct strbuf *b, const struct report_subset *s, const char *column,
                      const char *before, const char *after)
{
    const char *values = report_subset_distinct(s, report_rows_column(s->rows, column));
    if (!values) return;
    strbuf_addf(b, "%s%s%s%s", b->n ? ", " : "", before, values, after);
}

static void facts_add_seeds(struct strbuf *b, const struct report_subset *s)
{
    const char *seeds = report_subset_distinct(s, report_rows_column(s->rows, "seed"));
    if (!seeds) return;
    bool several = strchr(seeds, ',') != NULL;
    strbuf_addf(b, "%s%s %s", b->n ? ", " : "", several ? "seeds" : "seed", seeds);
    if (several) strbuf_add(b, " (mean ± standard deviation)");
}

/* Tokens scored: one number, or the range where cells differ. */
static void facts_add_tokens(struct strbuf *b, const struct report_subset *s)
{
    int32_t column = report_rows_column(s->rows, "tokens");
    const char *low = NULL, *high = NULL;

    for (int32_t i = 0; i < s->n; i++) {
        const char *text = report_rows_text(s->rows, s->row[i], column);
        if (!text) continue;
        if (!low || strtoll(text, NULL, 10) < strtoll(low, NULL, 10)) low = text;
        if (!high || strtoll(text, NULL, 10) > strtoll(high, NULL, 10)) high = text;
    }
    if (!low) return;
    strbuf_addf(b, ", %s", low);
    if (strcmp(low, high) != 0) strbuf_addf(b, " to %s", high);
    strbuf_add(b, " tokens scored");
}

const char *report_table_facts(const struct report_subset *s)
{
    struct strbuf b;
    strbuf_init(&b, s->arena);
    facts_add(&b, s, "dataset", "", "");
    facts_add(&b, s, "model", "model ", "");
    facts_add(&b, s, "params", "", " parameters");
    facts_add(&b, s, "split", "split ", "");
    facts_add(&b, s, "protocol", "", " windows");
    facts_add(&b, s, "stride", "stride ", "");
    facts_add(&b, s, "precision", "", "");
    facts_add(&b, s, "machine", "on ", "");
    facts_add_tokens(&b, s);
    facts_add_seeds(&b, s);
    facts_add(&b, s, "source", "", "");
    const char *modified = report_subset_distinct(s, report_rows_column(s->rows, "modified"));
    if (modified && strchr(modified, '1')) strbuf_add(&b, ", modified");
    return b.text;
}

const char *report_table_source(const struct report_subset *s)
{
    static const struct {
        const char *column, *instead, *before;
    } parts[] = {{"run_id", NULL, "run "},
                 {"device", "machine", "on "},
                 {"code_id", NULL, "code "},
                 {"source", NULL, ""}};
    struct strbuf b;

    strbuf_init(&b, s->arena);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *text = report_subset_distinct(s, report_rows_column(s->rows, parts[i].column));
        if (!text && parts[i].instead)
            text = report_subset_distinct(s, report_rows_column(s->rows, parts[i].instead));
        if (text) strbuf_addf(&b, "%s%s%s", b.n ? "; " : "", parts[i].before, text);
    }
    return b.text;
}

/* --- one grid ------------------------------------------------------------------------------- */

static const char *cell_number(struct arena *a, const struct report_number *n, int32_t decimals,
                               double factor)
{
    if (n->n < 2) return arena_printf(a, "%.*f", decimals, n->mean * factor);
    return arena_printf(a, "%.*f ± %.*f", decimals, n->mean * factor, decimals, n->std * factor);
}

/* What a cell says: its number, why it has none, or nothing when nobody asked for it. seeds_n is
 * how many runs a full cell has. */
static int table_cell(const char **out, const struct report_subset *s,
                      const struct table_columns *k, const struct report_layout *l, int32_t seeds_n,
                      struct err *e)
{
    struct report_number number;

    *out = NULL;
    if (s->n == 0) return 0;
    TRY(report_subset_mean(&number, s, k->value, k->run, k->config, e));
    if (number.n == 0) {
        const char *why = report_subset_distinct(s, k->gap);
        size_t length = why ? strcspn(why, ":") : 0; /* "OOM: and what it means" */
        *out = length > 0 && length <= 12 ? arena_strndup(s->arena, why, length) : table_gap;
        return 0;
    }
    const char *metric = report_rows_text(s->rows, s->row[0], k->metric);
    *out = cell_number(s->arena, &number, report_layout_decimals(l, metric), 1);
    if (number.n < seeds_n) *out = arena_printf(s->arena, "%s (n=%d)", *out, number.n);
    return 0;
}

/* Where a cell's number came from: its configuration in the appendix, and in few words its runs,
 * devices and code. */
static void table_trace(struct report_grid *g, int32_t row, int32_t column,
                        const struct report_subset *s, const struct table_columns *k)
{
    const char *config = report_rows_text(s->rows, s->row[0], k->config);
    const char *runs = report_subset_distinct(s, k->run);
    int64_t at = (int64_t)row * g->columns_n + column;

    if (!config || !runs) return;
    g->link[at] = arena_printf(g->arena, "c-%s", config);
    g->hint[at] = report_table_source(s);
}

static int table_extras(struct report_grid *g, int32_t row, int32_t first,
                        const struct report_subset *of_row, const struct report_table_args *t,
                        struct err *e)
{
    int32_t training = report_rows_column(t->rows, "train_run_id");

    for (int32_t i = 0; i < t->layout->extras_n; i++) {
        const struct report_extra *x = &t->layout->extra[i];
        struct report_number number;
        int32_t column;
        TRY(report_table_column(&column, t->rows, x->column, e));
        TRY(report_subset_mean(&number, of_row, column, training, -1, e));
        const char *text = table_gap;
        if (number.n) text = arena_printf(g->arena, "%.*f", x->decimals, number.mean * x->factor);
        report_grid_set(g, row, first + i, text);
        const char *run = report_rows_text(of_row->rows, of_row->row[0], training);
        if (run && number.n && t->format == REPORT_HTML)
            g->link[(int64_t)row * g->columns_n + first + i] = arena_printf(g->arena, "r-%s", run);
    }
    return 0;
}

static int32_t table_seeds(const struct report_subset *s)
{
    struct report_subset seeds;
    int32_t column = report_rows_column(s->rows, "seed");
    if (column < 0) return 1;
    report_subset_heads(&seeds, s, &column, 1);
    return seeds.n;
}

static int table_fill(struct report_grid *g, const struct report_subset *s,
                      const struct report_subset *rows, const struct report_subset *columns,
                      const struct table_columns *k, const struct report_table_args *t,
                      struct err *e)
{
    int32_t seeds_n = table_seeds(s);

    for (int32_t i = 0; i < rows->n; i++) {
        struct report_subset of_row, of_cell;
        report_subset_like(&of_row, s, k->rows, k->rows_n, rows->row[i]);
        for (int32_t c = 0; c < k->rows_n; c++)
            report_grid_set(g, i, c, report_subset_label(s, rows->row[i], k->rows[c]));
        for (int32_t c = 0; c < columns->n; c++) {
            const char *text;
            report_subset_like(&of_cell, &of_row, &k->columns, 1, columns->row[c]);
            TRY(table_cell(&text, &of_cell, k, t->layout, seeds_n, e));
            g->verdict[(int64_t)i * g->columns_n + k->rows_n + c] =
                report_subset_distinct(&of_cell, k->verdict);
            if (of_cell.n && t->format == REPORT_HTML) {
                table_trace(g, i, k->rows_n + c, &of_cell, k);
                if (k->run >= 0 && strcmp(text, table_gap) == 0) text = "not run";
            }
            report_grid_set(g, i, k->rows_n + c, text);
        }
        if (t->extras) TRY(table_extras(g, i, k->rows_n + columns->n, &of_row, t, e));
    }
    return 0;
}

static bool column_is_number(const struct report_subset *s, int32_t column)
{
    double number;
    for (int32_t i = 0; i < s->n; i++)
        if (report_rows_text(s->rows, s->row[i], column) &&
            !report_rows_number(&number, s->rows, s->row[i], column))
            return false;
    return true;
}

static int table_write_one(FILE *out, const struct report_subset *s, const struct table_columns *k,
                           const struct report_table_args *t, struct err *e)
{
    struct report_subset rows, columns;
    struct report_grid g;
    int32_t extras_n = t->extras ? t->layout->extras_n : 0;

    report_subset_heads(&rows, s, k->rows, k->rows_n);
    report_subset_heads(&columns, s, &k->columns, 1);
    report_subset_sort(&columns, k->columns);
    if (k->rows_n == 1) report_subset_sort(&rows, k->rows[0]);
    report_grid_init(&g, s->arena, k->rows_n + columns.n + extras_n, rows.n);
    for (int32_t c = 0; c < k->rows_n; c++) {
        g.head[c] = s->rows->name[k->rows[c]];
        g.right[c] = column_is_number(s, k->rows[c]);
    }
    for (int32_t c = 0; c < columns.n; c++) {
        g.head[k->rows_n + c] = report_subset_label(s, columns.row[c], k->columns);
        g.right[k->rows_n + c] = true;
    }
    for (int32_t c = 0; c < extras_n; c++) {
        g.head[k->rows_n + columns.n + c] = t->layout->extra[c].heading;
        g.right[k->rows_n + columns.n + c] = true;
    }
    TRY(table_fill(&g, s, &rows, &columns, k, t, e));
    report_grid_write(out, &g, t->format);
    return 0;
}

/* "L_train = 64 (512)" of the group a row belongs to; NULL without group: lines. */
static const char *table_group_title(const struct report_subset *s, const struct table_columns *k,
                                     const struct report_layout *l)
{
    struct strbuf b;
    if (l->group.n == 0) return NULL;
    strbuf_init(&b, s->arena);
    for (int32_t i = 0; i < l->group.n; i++)
        strbuf_addf(&b, "%s%s = %s", i ? ", " : "", l->group.name[i],
                    report_subset_label(s, s->row[0], k->group[i]));
    return b.text;
}

/* What the numbers of a table are. A reader may land on any table of a page, so there the scale of
 * ours is said again. */
static void table_caption(FILE *out, const struct report_subset *s, enum report_format format)
{
    const char *facts = report_table_facts(s);
    const char *scale = report_subset_distinct(s, report_rows_column(s->rows, "scale"));

    if (format == REPORT_HTML && scale)
        facts = arena_printf(s->arena, "Scale %s: %s", scale, facts);
    if (format == REPORT_HTML)
        report_html_caption(out, facts);
    else
        report_write_paragraph(out, facts, format);
}

int report_table_write(FILE *out, struct arena *a, const struct report_table_args *t, struct err *e)
{
    struct table_columns k;
    struct report_subset all, groups;

    TRY(table_find(&k, t, e));
    report_subset_all(&all, a, t->rows);
    report_subset_heads(&groups, &all, k.group, k.group_n);
    for (int32_t i = 0; i < groups.n; i++) {
        struct report_subset group;
        report_subset_like(&group, &all, k.group, k.group_n, groups.row[i]);
        const char *title = table_group_title(&group, &k, t->layout);
        if (title) report_write_heading(out, title, t->format, 2);
        table_caption(out, &group, t->format);
        if (t->format == REPORT_TEXT) fputc('\n', out);
        TRY(table_write_one(out, &group, &k, t, e));
        if (i + 1 < groups.n || t->format != REPORT_TEXT) fputc('\n', out);
    }
    return 0;
}
