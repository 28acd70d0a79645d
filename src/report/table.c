/* table.c - places cells in tables and describes the tables. */
#include "report/cells.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char table_gap[] = "–"; /* asked for, without a number */

/* --- facts ---------------------------------------------------------------------------------- */

static void add_seeds(struct strbuf *b, const char *seeds, bool brief)
{
    bool several = seeds && strchr(seeds, ',');

    if (!seeds) return;
    strbuf_addf(b, "%s%s %s", b->n ? ", " : "", several ? "seeds" : "seed", seeds);
    if (several && !brief) strbuf_add(b, " (mean ± standard deviation)");
}

/* Adds the tokens scored: one number, or the range if cells differ. */
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

/* Returns the corpus that was read if it is not the paper's own text. */
static const char *text_read(struct arena *a, const struct rows *groups, int32_t group)
{
    const char *dataset = report_rows_get(groups, group, "dataset");
    const char *corpus = report_rows_get(groups, group, "corpus");

    if (!dataset || !corpus || strcmp(dataset, corpus) == 0) return dataset;
    const char *synthetic = arena_printf(a, "synthetic-%s", dataset);
    if (strncmp(corpus, synthetic, strlen(synthetic)) == 0)
        return arena_printf(a, "synthetic stand-in for %s", dataset);
    return arena_printf(a, "%s in place of %s", corpus, dataset);
}

const char *report_table_facts(struct arena *a, const struct rows *groups, int32_t group,
                               bool brief)
{
    static const struct {
        const char *column, *before, *after;
    } facts[] = {{"model", "model ", ""},   {"params", "", " parameters"},
                 {"split", "split ", ""},   {"protocol", "", " windows"},
                 {"stride", "stride ", ""}, {"precision", "", ""},
                 {"machine", "on ", ""}};
    const char *modified = report_rows_get(groups, group, "modified");
    const char *noisy = report_rows_get(groups, group, "noisy");
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
        if (values && *values)
            strbuf_addf(&b, "%s%s%s%s", b.n ? ", " : "", facts[i].before, values, facts[i].after);
        if (i == 0 && size) strbuf_addf(&b, "%s%s", b.n ? ", " : "", size);
    }
    add_tokens(&b, report_rows_get(groups, group, "tokens_low"),
               report_rows_get(groups, group, "tokens_high"));
    add_seeds(&b, report_rows_get(groups, group, "seed"), brief);
    if (source) strbuf_addf(&b, "%s%s", b.n ? ", " : "", source);
    if (modified && strcmp(modified, "1") == 0) strbuf_add(&b, ", modified");
    if (noisy && strcmp(noisy, "1") == 0)
        strbuf_addf(&b, "%sspeeds measured on a busy machine (noisy)", b.n ? ", " : "");
    return b.text;
}

/* --- one table ------------------------------------------------------------------------------ */

/* The cells of an answer. Those of the current group are cells[cell ..], column by column. */
struct table {
    const struct report_table_args *args;
    struct arena *arena;
    struct rows groups, cells;
    int32_t cell, cells_n, lines_n, columns_n; /* of the current group */
    int32_t seeds_n;                           /* runs of a full cell */
    bool *dropped;                             /* of each column of `without`: a table had it */
};

static const char *cell_column(const struct table *t, int32_t cell, const char *name)
{
    return report_rows_get(&t->cells, cell, name);
}

/* The number, or 0 if absent. */
static double cell_number(const struct table *t, int32_t cell, const char *name)
{
    return report_rows_real(&t->cells, cell, name, 0);
}

/* Returns a cell's number, or the reason why it has none. */
static const char *cell_text(const struct table *t, int32_t cell)
{
    struct arena *a = t->arena;
    double n = cell_number(t, cell, "n"), mean = cell_number(t, cell, "mean");
    const char *why = cell_column(t, cell, "why");
    int32_t decimals = report_layout_decimals(t->args->layout, cell_column(t, cell, "metric"));

    if (n == 0) {
        size_t length = why ? strcspn(why, ":") : 0; /* "OOM: and what it means" */
        return length > 0 && length <= 12 ? arena_strndup(a, why, length) : table_gap;
    }
    const char *text = arena_printf(a, "%.*f", decimals, mean);
    if (n >= 2) text = arena_printf(a, "%s ± %.*f", text, decimals, cell_number(t, cell, "std"));
    if (cell_number(t, cell, "noisy") == 1) text = arena_printf(a, "%s (noisy)", text);
    bool has_runs = cell_column(t, cell, "runs"); /* a number of the paper has none */
    return has_runs && n < t->seeds_n ? arena_printf(a, "%s (n=%.0f)", text, n) : text;
}

/* Names the origin of a cell's number in a few words. */
static const char *cell_source(const struct table *t, int32_t cell)
{
    const char *device = cell_column(t, cell, "devices");
    const struct {
        const char *text, *before;
    } parts[] = {{cell_column(t, cell, "runs"), "run "},
                 {device ? device : cell_column(t, cell, "machines"), "on "},
                 {cell_column(t, cell, "codes"), "code "},
                 {cell_column(t, cell, "sources"), ""}};
    struct strbuf b;

    strbuf_init(&b, t->arena);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].text)
            strbuf_addf(&b, "%s%s%s", b.n ? "; " : "", parts[i].before, parts[i].text);
    return b.text;
}

static void put_cell(struct store_cell *out, const struct table *t, int32_t cell)
{
    bool linked = t->args->format == REPORT_HTML && cell_column(t, cell, "runs");
    const char *config = cell_column(t, cell, "config_id");

    out->text = cell_text(t, cell);
    report_marks_of(t->arena, out)->verdict = cell_column(t, cell, "verdict");
    if (linked && config) {
        out->marks->link = arena_printf(t->arena, "c-%s", config);
        out->marks->hint = cell_source(t, cell);
    }
    if (linked && strcmp(out->text, table_gap) == 0) out->text = "not run";
}

/* Writes the row labels of a cell's line and the numbers that the line has of its own; `first` is
 * the first number's column. */
static void put_line(struct store_cell *row, const struct table *t, int32_t cell, int32_t first)
{
    const struct report_keys *k = t->args->keys;
    const char *run = cell_column(t, cell, "train_run_id");

    for (int32_t i = 0; i < k->line.n; i++) {
        const char *label = cell_column(t, cell, arena_printf(t->arena, "label%d", i));
        row[i].text = report_words_text(k->words, k->line.name[i], label);
        row[i].type = cell_number(t, cell, arena_printf(t->arena, "right%d", i)) == 1 ? 'n' : 't';
    }
    for (int32_t i = 0; i < k->extras_n; i++) {
        const struct report_extra *x = &k->extra[i];
        struct store_cell *out = &row[first + i];
        double mean = report_rows_real(&t->cells, cell, arena_printf(t->arena, "extra%d", i), NAN);
        out->text = table_gap;
        if (isnan(mean)) continue;
        out->text = arena_printf(t->arena, "%.*f", x->decimals, mean * x->factor);
        if (run && t->args->format == REPORT_HTML)
            report_marks_of(t->arena, out)->link = arena_printf(t->arena, "r-%s", run);
    }
}

/* Returns 1 if more is better, -1 if less is; 0: unknown. */
static int better(const char *measure)
{
    static const struct {
        const char *measure;
        int sign;
    } measures[] = {{"perplexity", -1}, {"loss_nats", -1}, {"wps", 1},
                    {"train_wps", 1},   {"eval_wps", 1},   {"alone_wps", 1}};

    for (size_t i = 0; i < sizeof measures / sizeof *measures; i++)
        if (strcmp(measure, measures[i].measure) == 0) return measures[i].sign;
    return 0;
}

static const char *measure_of(const struct table *t, int32_t cell)
{
    const char *metric = cell_column(t, cell, "metric");
    return metric ? metric : t->args->keys->value;
}

/* True if two cells compete: methods are compared with each other, and so are the rows of a column
 * that is not a method. */
static bool competes(const struct table *t, int32_t a, int32_t b)
{
    const char *order = strcmp(t->args->keys->column, "method") == 0 ? "line_n" : "column_n";
    return cell_number(t, a, order) == cell_number(t, b, order) &&
           strcmp(measure_of(t, a), measure_of(t, b)) == 0;
}

/* The pairs of runs of one seed of two cells. */
static int pair_runs(struct rows *out, const struct table *t, int32_t a, int32_t b, struct err *e)
{
    static const char sql[] = "SELECT a.run_id, b.run_id FROM evaluations a JOIN evaluations b"
                              " ON b.seed IS a.seed WHERE instr(:a, a.run_id)"
                              " AND instr(:b, b.run_id) ORDER BY 1, 2";
    const struct store_param params[] = {{"a", cell_column(t, a, "runs"), STORE_TEXT},
                                         {"b", cell_column(t, b, "runs"), STORE_TEXT}};

    return report_rows_query(out, t->arena, t->args->store, NULL, sql, params, 2,
                             REPORT_QUERY_LIMIT_S, e);
}

/* The difference a - b of two numbers, and its standard error: that of paired evaluations in nats,
 * or of the means of the seeds; NAN where one seed tells none. */
static int difference(double *mean, double *error, const struct table *t, int32_t a, int32_t b,
                      struct err *e)
{
    double n[2] = {cell_number(t, a, "n"), cell_number(t, b, "n")};
    double std[2] = {cell_number(t, a, "std"), cell_number(t, b, "std")};
    struct rows pairs, paired;

    *mean = cell_number(t, a, "mean") - cell_number(t, b, "mean");
    *error = n[0] > 1 && n[1] > 1 ? sqrt(std[0] * std[0] / n[0] + std[1] * std[1] / n[1]) : NAN;
    if (strcmp(measure_of(t, a), "perplexity") != 0 || !cell_column(t, a, "runs") ||
        !cell_column(t, b, "runs"))
        return 0;
    TRY(pair_runs(&pairs, t, a, b, e));
    if (pairs.rows_n == 0) return 0;
    TRY(report_compare_mean(&paired, t->arena, t->args->store, &pairs, e));
    *mean = report_rows_real(&paired, 0, "nats", *mean);
    *error = report_rows_real(&paired, 0, "error", NAN);
    return 0;
}

/* *best: the number is better than each competing one by more than ERRORS standard errors. */
static int find_best(bool *best, const struct table *t, int32_t cell, struct err *e)
{
    enum { ERRORS = 2 };
    int sign = better(measure_of(t, cell));
    int32_t others_n = 0;

    *best = false;
    if (sign == 0 || cell_number(t, cell, "n") == 0) return 0;
    for (int32_t i = t->cell; i < t->cell + t->cells_n; i++)
        if (i != cell && cell_number(t, i, "n") > 0 && competes(t, cell, i) &&
            sign * (cell_number(t, i, "mean") - cell_number(t, cell, "mean")) >= 0)
            return 0;
    for (int32_t i = t->cell; i < t->cell + t->cells_n; i++) {
        double mean, error;
        if (i == cell || cell_number(t, i, "n") == 0 || !competes(t, cell, i)) continue;
        TRY(difference(&mean, &error, t, cell, i, e));
        if (!(sign * mean > ERRORS * error)) return 0;
        others_n++;
    }
    *best = others_n > 0;
    return 0;
}

static int make_rows(struct rows *r, const struct table *t, struct err *e)
{
    const struct report_keys *k = t->args->keys;
    int32_t first_extra = k->line.n + t->columns_n;

    report_rows_init(r, t->arena, first_extra + k->extras_n, t->lines_n);
    for (int32_t c = 0; c < k->line.n; c++)
        r->name[c] = report_words_key(k->words, k->line.name[c]);
    for (int32_t i = 0; i < k->extras_n; i++) r->name[first_extra + i] = k->extra[i].heading;
    for (int32_t i = t->cell; i < t->cell + t->cells_n; i++) {
        int32_t column = k->line.n + (int32_t)cell_number(t, i, "column_n");
        struct store_cell *row = r->row[(int32_t)cell_number(t, i, "line_n")];
        put_line(row, t, i, first_extra);
        r->name[column] = report_words_text(k->words, k->column, cell_column(t, i, "label"));
        put_cell(&row[column], t, i);
        if (t->args->format == REPORT_LATEX && !t->args->no_bold)
            TRY(find_best(&row[column].marks->best, t, i, e));
    }
    return 0;
}

/* Returns the column of a heading as it is shown, or as it would be without labels; -1: none. */
static int32_t find_heading(const struct rows *r, const struct table *t, const char *heading)
{
    const struct report_keys *k = t->args->keys;
    const char *const shown[] = {heading, report_words_key(k->words, heading),
                                 report_words_text(k->words, k->column, heading)};
    int32_t column = -1;

    for (size_t i = 0; i < sizeof shown / sizeof *shown && column < 0; i++)
        column = report_rows_column(r, shown[i]);
    return column;
}

/* Drops the columns that the caller does not want, and counts those of each kind that stay. */
static void drop_unwanted(struct rows *r, struct table *t, int32_t *labels_n, int32_t *numbers_n)
{
    const char *const *without = t->args->without;

    *labels_n = t->args->keys->line.n;
    *numbers_n = t->columns_n;
    for (int32_t w = 0; without && without[w]; w++) {
        int32_t column = find_heading(r, t, without[w]);
        if (column < 0) continue;
        t->dropped[w] = true;
        report_rows_drop(r, column);
        if (column < *labels_n)
            (*labels_n)--;
        else if (column < *labels_n + *numbers_n)
            (*numbers_n)--;
    }
}

/* Moves labels that all rows share into words: "L_train 512". The first label stays. */
static const char *gather_labels(struct rows *r, const struct table *t, int32_t *labels_n)
{
    struct strbuf b;

    strbuf_init(&b, t->arena);
    for (int32_t c = 1; c < *labels_n;) {
        const char *text = report_rows_text(r, 0, c);
        if (r->rows_n < 2 || !text || report_rows_alike(r, 0, c) < r->rows_n) {
            c++;
            continue;
        }
        strbuf_addf(&b, "%s%s%s%s", b.n ? ", " : "", r->name[c], *r->name[c] ? " " : "", text);
        report_rows_drop(r, c);
        (*labels_n)--;
    }
    return b.n ? b.text : NULL;
}

/* --- the tables of an answer ---------------------------------------------------------------- */

/* Returns "L_train = 64 (512)"; NULL without group: lines, or if no words name them. */
static const char *group_title(const struct table *t, int32_t group)
{
    const struct report_keys *k = t->args->keys;
    struct strbuf b;

    strbuf_init(&b, t->arena);
    for (int32_t i = 0; i < k->group.n; i++) {
        const char *label =
            report_rows_get(&t->groups, group, arena_printf(t->arena, "label%d", i));
        const char *words =
            report_words_title(k->words, k->group.name[i], label ? label : "(null)", false);
        if (*words) strbuf_addf(&b, "%s%s", b.n ? ", " : "", words);
    }
    return b.n ? b.text : NULL;
}

/* Describes the numbers of a table. On a page it repeats the scale, because a link may lead to any
 * table. */
static void write_caption(FILE *out, const struct table *t, int32_t group)
{
    const char *facts = report_table_facts(t->arena, &t->groups, group, false);
    const char *scale = report_rows_get(&t->groups, group, "scale");

    if (t->args->format != REPORT_HTML)
        report_write_paragraph(out, facts, t->args->format);
    else
        report_html(out,
                    scale ? "<p class=\"caption\">Scale %s: %s</p>\n"
                          : "<p class=\"caption\">%s%s</p>\n",
                    scale, facts);
}

/* Moves to the cells of a group, which follow those of the group before. */
static void enter_group(struct table *t, int32_t group)
{
    const char *id = report_rows_get(&t->groups, group, "group");
    const char *seeds = report_rows_get(&t->groups, group, "seed");

    t->cell += t->cells_n;
    t->cells_n = t->lines_n = t->columns_n = 0;
    for (int32_t i = t->cell; i < t->cells.rows_n && strcmp(cell_column(t, i, "group"), id) == 0;
         i++) {
        int32_t lines_n = 1 + (int32_t)cell_number(t, i, "line_n");
        if (lines_n > t->lines_n) t->lines_n = lines_n;
        t->columns_n = 1 + (int32_t)cell_number(t, i, "column_n");
        t->cells_n++;
    }
    t->seeds_n = 1;
    for (const char *p = seeds; p && *p; p++) t->seeds_n += *p == ',';
}

/* On a page a long table of ours beside a figure is folded. */
static void open_details(FILE *out, const struct table *t)
{
    enum { SHORT_LINES = 12 };
    int32_t lines_n = 0;

    for (int32_t i = 0, most = 0; i < t->cells.rows_n; i++) {
        bool enters =
            i == 0 || strcmp(cell_column(t, i, "group"), cell_column(t, i - 1, "group")) != 0;
        int32_t n = 1 + (int32_t)cell_number(t, i, "line_n");
        if (enters) most = 0;
        if (n > most) lines_n += n - most, most = n;
    }
    fputs(t->args->drawn && lines_n > SHORT_LINES ? "<details>" : "<details open=\"open\">", out);
    fputs("<summary>The numbers</summary>\n", out);
}

/* Opens the float of a group. shared: what all its rows share, or NULL. */
static void open_float(FILE *out, const struct table *t, int32_t group, const char *shared)
{
    const char *label = t->args->label ? t->args->label : "";
    const char *const parts[] = {group_title(t, group), shared,
                                 report_table_facts(t->arena, &t->groups, group, false)};
    struct strbuf b;

    strbuf_init(&b, t->arena);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i]) strbuf_addf(&b, "%s%s", b.n ? "; " : "", parts[i]);
    if (t->groups.rows_n > 1) label = arena_printf(t->arena, "%s-%d", label, group + 1);
    report_latex_open(out, arena_printf(t->arena, "%s (%s).", t->args->caption, b.text), label);
}

/* Writes the heading and the facts of a group. */
static void write_heading(FILE *out, const struct table *t, int32_t group)
{
    const struct report_table_args *args = t->args;
    const char *title = group_title(t, group);

    if (title) report_write_heading(out, title, args->format, 2);
    if (!args->caption) write_caption(out, t, group);
    if (args->format == REPORT_TEXT && (title || !args->caption)) fputc('\n', out);
}

static int write_group(FILE *out, struct table *t, int32_t group, struct err *e)
{
    const struct report_table_args *args = t->args;
    bool floats = args->caption && args->format == REPORT_LATEX;
    const char *head = report_words_key(args->keys->words, args->keys->column);
    struct rows r;
    int32_t labels_n, numbers_n;

    TRY(make_rows(&r, t, e));
    drop_unwanted(&r, t, &labels_n, &numbers_n);
    if (floats)
        open_float(out, t, group, gather_labels(&r, t, &labels_n));
    else
        write_heading(out, t, group);
    if (args->format == REPORT_LATEX && numbers_n > 1)
        TRY(report_rows_write_latex(out, &r, head, labels_n, numbers_n, e));
    else
        TRY(report_rows_write(out, &r, args->format, e));
    if (floats) report_latex_close(out);
    return 0;
}

static int check_without(const struct table *t, struct err *e)
{
    const char *const *without = t->args->without;

    for (int32_t w = 0; without && without[w] && t->groups.rows_n; w++)
        if (!t->dropped[w])
            return ERR(e, ERR_USAGE, "--without %s: no table of %s has a column of this heading",
                       without[w], t->args->label ? t->args->label : "this artefact");
    return 0;
}

int report_table_write(FILE *out, struct arena *a, const struct report_table_args *args,
                       struct err *e)
{
    struct table t = {.args = args, .arena = a};
    bool folds = args->format == REPORT_HTML && args->keys->judged;

    TRY(report_cells_groups(&t.groups, a, args->store, args->keys, false, e));
    TRY(report_cells(&t.cells, a, args->store, args->keys, e));
    if (folds) open_details(out, &t);
    size_t without_n = 0;
    while (args->without && args->without[without_n]) without_n++;
    t.dropped = arena_array(a, without_n + 1, sizeof *t.dropped);
    for (int32_t i = 0; i < t.groups.rows_n; i++) {
        enter_group(&t, i);
        TRY(write_group(out, &t, i, e));
        if (i + 1 < t.groups.rows_n || args->format != REPORT_TEXT) fputc('\n', out);
    }
    if (folds) fputs("</details>\n", out);
    return check_without(&t, e);
}
