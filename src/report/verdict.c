/* verdict.c - judging the cells of the view comparison. */
#include "report/verdict.h"

#include <math.h>
#include <string.h>

#include "base/str.h"

/* Columns of the query below. */
enum {
    CELL_METRIC,
    CELL_METHOD,
    CELL_L_TRAIN,
    CELL_L_VALID,
    CELL_SPLIT,
    CELL_PROTOCOL,
    CELL_STRIDE,
    CELL_ORIGIN,
    CELL_SEEDS,
    CELL_OURS,
    CELL_STD,
    CELL_PAPER,
    CELL_DELTA,
    CELL_STATE,
    CELL_DEVICE,
    CELL_CONFIG,
    CELL_ARTEFACT,
    CELL_SCALE,
    CELL_DATASET,
    CELL_POSITION
};

static const char verdict_query[] =
    "SELECT metric, CASE position WHEN 'sinusoidal' THEN 'Sinusoidal' WHEN 'rotary' THEN 'Rotary'"
    "  WHEN 't5' THEN 'T5 Bias' WHEN 'alibi' THEN 'ALiBi' ELSE position END AS method,"
    " L_train_nominal AS L_train, L_valid_nominal AS L_valid, split, protocol, stride,"
    " nullif(origin,'trained') AS origin,"
    " seeds, ours, ours_std, paper, delta, state, device, config_id, artefact, scale, dataset,"
    " position"
    " FROM comparison WHERE artefact=:artefact AND scale=:scale"
    " ORDER BY CASE metric WHEN 'perplexity' THEN 1 WHEN 'train_wps' THEN 2 WHEN 'eval_wps' THEN 3"
    "  ELSE 4 END, stride DESC,"
    " CASE position WHEN 'sinusoidal' THEN 1 WHEN 'rotary' THEN 2 WHEN 't5' THEN 3 ELSE 4 END,"
    " position, L_train_nominal, L_valid_nominal, split DESC, device";

static const char *cell_text(const struct report_verdicts *v, int32_t row, int32_t column)
{
    return report_rows_text(&v->rows, row, column);
}

static enum report_verdict judge(const char **said, struct arena *a,
                                 const struct report_verdicts *v, int32_t row,
                                 const struct report_rule *rule)
{
    double ours, paper;
    const char *state = cell_text(v, row, CELL_STATE), *device = cell_text(v, row, CELL_DEVICE);

    *said = NULL;
    if (!rule || !report_rows_number(&paper, &v->rows, row, CELL_PAPER)) return REPORT_NO_VERDICT;
    if (strcmp(state, "not run") == 0) {
        *said = "not run";
        return REPORT_NOT_RUN;
    }
    bool number = report_rows_number(&ours, &v->rows, row, CELL_OURS);
    if (rule->device && !(device && strstr(device, rule->device))) {
        *said = number ? arena_printf(a, "× %.2f on %s", ours / paper, device ? device : "?") : "–";
        return REPORT_OTHER_DEVICE;
    }
    double off = number ? fabs(ours - paper) : INFINITY;
    if (off <= rule->near * paper) {
        *said = "reproduced";
        return REPORT_REPRODUCED;
    }
    if (off <= rule->far * paper) {
        *said = arena_printf(a, "within %g %%", 100 * rule->far);
        return REPORT_WITHIN;
    }
    *said = "not reproduced";
    return REPORT_NOT_REPRODUCED;
}

int report_verdicts_find(struct report_verdicts *v, struct arena *a, struct store *s,
                         const struct report_folder *f, const char *scale, struct err *e)
{
    const struct store_param params[] = {{"artefact", f->artefact}, {"scale", scale}};

    *v = (struct report_verdicts){0};
    TRY(report_rows_query(&v->rows, a, s, "comparison with the paper", verdict_query, params, 2,
                          REPORT_QUERY_LIMIT_S, e));
    v->said = arena_array(a, (size_t)v->rows.rows_n + 1, sizeof *v->said);
    v->verdict = arena_array(a, (size_t)v->rows.rows_n + 1, sizeof *v->verdict);
    v->joined = arena_array(a, (size_t)v->rows.rows_n + 1, sizeof *v->joined);
    for (int32_t i = 0; i < v->rows.rows_n; i++) {
        const struct report_rule *rule =
            report_layout_rule(&f->layout, cell_text(v, i, CELL_METRIC));
        v->verdict[i] = judge(&v->said[i], a, v, i, rule);
        if (v->verdict[i] != REPORT_NO_VERDICT) v->count[v->verdict[i]]++;
        v->cells_n += cell_text(v, i, CELL_PAPER) != NULL;
    }
    return 0;
}

/* --- beside the rows of query.sql ----------------------------------------------------------- */

/* The columns of query.sql by which a row finds its cell. */
struct row_key {
    int32_t config, L_train, L_valid, metric, device;
};

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* The cell of a row, or -1. Where several devices measured it, that of the row's own. */
static int32_t find_cell(const struct report_verdicts *v, const struct report_rows *rows,
                         int32_t row, const struct row_key *k, const char *metric)
{
    const char *device = report_rows_text(rows, row, k->device);
    int32_t found = -1;

    for (int32_t i = 0; i < v->rows.rows_n; i++) {
        if (!same(report_rows_text(rows, row, k->config), cell_text(v, i, CELL_CONFIG)) ||
            !same(report_rows_text(rows, row, k->L_train), cell_text(v, i, CELL_L_TRAIN)) ||
            !same(report_rows_text(rows, row, k->L_valid), cell_text(v, i, CELL_L_VALID)) ||
            !same(metric, cell_text(v, i, CELL_METRIC)))
            continue;
        if (found < 0 || same(device, cell_text(v, i, CELL_DEVICE))) found = i;
    }
    return found;
}

/* The columns that a row gains, in this order, then the verdict. */
static const struct {
    const char *name;
    int32_t column;
} gained[] = {{"compared", CELL_METRIC}, {"ours_mean", CELL_OURS}, {"ours_std", CELL_STD},
              {"seeds", CELL_SEEDS},     {"paper", CELL_PAPER},    {"delta", CELL_DELTA}};
enum { GAINED_N = sizeof gained / sizeof *gained };

static void gain(struct store_cell *cells, const struct report_verdicts *v, int32_t cell)
{
    for (int32_t c = 0; c < GAINED_N; c++) cells[c] = v->rows.row[cell][gained[c].column];
    if (v->said[cell]) cells[GAINED_N] = (struct store_cell){v->said[cell], 't'};
}

void report_verdicts_join(struct report_rows *rows, const struct report_verdicts *v,
                          const struct report_folder *f)
{
    const char *names[GAINED_N + 1];
    const struct row_key k = {.config = report_rows_column(rows, "config_id"),
                              .L_train = report_rows_column(rows, "L_train_nominal"),
                              .L_valid = report_rows_column(rows, "L_valid_nominal"),
                              .metric = report_rows_column(rows, "compares") < 0
                                            ? report_rows_column(rows, "metric")
                                            : report_rows_column(rows, "compares"),
                              .device = report_rows_column(rows, "machine")};

    if (rows->rows_n == 0) return;
    for (int32_t c = 0; c < GAINED_N; c++) names[c] = gained[c].name;
    names[GAINED_N] = "verdict";
    int32_t first = report_rows_widen(rows, names, GAINED_N + 1);
    for (int32_t i = 0; i < rows->rows_n; i++) {
        const char *metric = report_rows_text(rows, i, k.metric);
        if (!metric && f->layout.paper.n) metric = f->layout.paper.name[0];
        if (!metric) metric = f->layout.value;
        int32_t cell = find_cell(v, rows, i, &k, metric);
        if (cell < 0) continue;
        gain(rows->row[i] + first, v, cell);
        v->joined[cell] = true;
    }
}

void report_verdicts_append(struct report_rows *rows, const struct report_verdicts *v)
{
    static const struct {
        const char *name;
        int32_t column;
    } known[] = {{"artefact", CELL_ARTEFACT}, {"scale", CELL_SCALE},
                 {"dataset", CELL_DATASET},   {"position", CELL_POSITION},
                 {"method", CELL_METHOD},     {"metric", CELL_METRIC},
                 {"L_train", CELL_L_TRAIN},   {"L_train_nominal", CELL_L_TRAIN},
                 {"L_valid", CELL_L_VALID},   {"L_valid_nominal", CELL_L_VALID},
                 {"split", CELL_SPLIT},       {"protocol", CELL_PROTOCOL},
                 {"stride", CELL_STRIDE},     {"device", CELL_DEVICE},
                 {"machine", CELL_DEVICE},    {"config_id", CELL_CONFIG}};
    int32_t first = rows->columns_n - GAINED_N - 1;

    if (rows->rows_n == 0) return;
    for (int32_t i = 0; i < v->rows.rows_n; i++) {
        if (v->joined[i] || !cell_text(v, i, CELL_PAPER)) continue;
        struct store_cell *cells = report_rows_add(rows);
        for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
            int32_t column = report_rows_column(rows, known[k].name);
            if (column >= 0 && column < first) cells[column] = v->rows.row[i][known[k].column];
        }
        gain(cells + first, v, i);
    }
}

/* --- the table of cells --------------------------------------------------------------------- */

/* A column that names a cell: shown always, where cells differ in it, or where one says it. */
enum name_when { NAME_ALWAYS, NAME_DIFFERS, NAME_SAID };

static const struct {
    int32_t column;
    const char *heading;
    enum name_when when;
    bool right;
} name_table[] = {
    {CELL_METRIC, "metric", NAME_DIFFERS, false}, {CELL_METHOD, "method", NAME_ALWAYS, false},
    {CELL_L_TRAIN, "L_train", NAME_ALWAYS, true}, {CELL_L_VALID, "L_valid", NAME_DIFFERS, true},
    {CELL_SPLIT, "split", NAME_DIFFERS, false},   {CELL_PROTOCOL, "windows", NAME_DIFFERS, false},
    {CELL_STRIDE, "stride", NAME_DIFFERS, true},  {CELL_ORIGIN, "origin", NAME_SAID, false},
    {CELL_SEEDS, "seeds", NAME_ALWAYS, true},
};
enum { NAMES_N = sizeof name_table / sizeof *name_table, NUMBERS_N = 5 };

/* Whether a column is shown; cells that say nothing of it do not count as different. */
static bool is_shown(const struct report_verdicts *v, const int32_t *cell, int32_t n,
                     enum name_when when, int32_t column)
{
    const char *first = NULL;

    for (int32_t i = 0; i < n; i++) {
        const char *text = cell_text(v, cell[i], column);
        if (first && text && strcmp(first, text) != 0) return true;
        if (text) first = text;
    }
    return when == NAME_ALWAYS || (when == NAME_SAID && first);
}

/* Ours, the paper's, the difference twice, the verdict; from column `at` of the grid on. */
static void put_numbers(struct report_grid *g, int32_t row, int32_t at,
                        const struct report_verdicts *v, int32_t cell,
                        const struct report_folder *f)
{
    struct arena *a = g->arena;
    int32_t decimals = report_layout_decimals(&f->layout, cell_text(v, cell, CELL_METRIC));
    const char *state = cell_text(v, cell, CELL_STATE);
    double ours, std, paper;

    report_rows_number(&paper, &v->rows, cell, CELL_PAPER);
    report_grid_set(g, row, at + 1, arena_printf(a, "%.*f", decimals, paper));
    report_grid_set(g, row, at + 4, v->said[cell]);
    g->verdict[(int64_t)row * g->columns_n + at + 4] = v->said[cell];
    if (!report_rows_number(&ours, &v->rows, cell, CELL_OURS)) {
        report_grid_set(g, row, at, strcmp(state, "not run") == 0 ? "–" : state);
        return;
    }
    const char *mean = arena_printf(a, "%.*f", decimals, ours);
    if (report_rows_number(&std, &v->rows, cell, CELL_STD))
        mean = arena_printf(a, "%s ± %.*f", mean, decimals, std);
    report_grid_set(g, row, at, mean);
    if (v->verdict[cell] == REPORT_OTHER_DEVICE) return; /* its verdict is the ratio */
    report_grid_set(g, row, at + 2, arena_printf(a, "%+.*f", decimals, ours - paper));
    report_grid_set(g, row, at + 3, arena_printf(a, "%+.1f %%", 100 * (ours - paper) / paper));
}

void report_verdicts_grid(struct report_grid *g, struct arena *a, const struct report_verdicts *v,
                          const struct report_folder *f)
{
    static const char *const numbers[NUMBERS_N] = {"ours", "paper", "difference", "relative",
                                                   "verdict"};
    int32_t *cell = arena_array(a, (size_t)v->rows.rows_n + 1, sizeof *cell), n = 0;
    int32_t shown[NAMES_N], shown_n = 0;

    for (int32_t i = 0; i < v->rows.rows_n; i++)
        if (cell_text(v, i, CELL_PAPER)) cell[n++] = i;
    for (int32_t k = 0; k < NAMES_N; k++)
        if (is_shown(v, cell, n, name_table[k].when, name_table[k].column)) shown[shown_n++] = k;
    report_grid_init(g, a, shown_n + NUMBERS_N, n);
    for (int32_t c = 0; c < shown_n; c++) {
        g->head[c] = name_table[shown[c]].heading;
        g->right[c] = name_table[shown[c]].right;
        for (int32_t i = 0; i < n; i++)
            report_grid_set(g, i, c, cell_text(v, cell[i], name_table[shown[c]].column));
    }
    for (int32_t c = 0; c < NUMBERS_N; c++) {
        g->head[shown_n + c] = numbers[c];
        g->right[shown_n + c] = c + 1 < NUMBERS_N;
    }
    for (int32_t i = 0; i < n; i++) put_numbers(g, i, shown_n, v, cell[i], f);
}

/* --- in words ------------------------------------------------------------------------------- */

static void add_count(struct strbuf *b, int32_t n, const char *what)
{
    if (n > 0) strbuf_addf(b, "%s%d %s", b->n ? ", " : "", n, what);
}

const char *report_verdicts_sentence(struct arena *a, const struct report_verdicts *v)
{
    struct strbuf b;
    int32_t judged_n = 0;

    for (int32_t k = 0; k < REPORT_VERDICTS_N; k++) judged_n += v->count[k];
    if (judged_n == 0) return NULL;
    strbuf_init(&b, a);
    add_count(&b, v->count[REPORT_REPRODUCED], "reproduced");
    for (int32_t i = 0; i < v->rows.rows_n; i++) { /* one count for each bound */
        int32_t n = 0;
        if (!v->said[i] || strncmp(v->said[i], "within", 6) != 0) continue;
        for (int32_t k = 0; k < v->rows.rows_n; k++) {
            if (!same(v->said[i], v->said[k])) continue;
            if (k < i) break;
            n++;
        }
        add_count(&b, n, v->said[i]);
    }
    add_count(&b, v->count[REPORT_NOT_REPRODUCED], "not reproduced");
    add_count(&b, v->count[REPORT_OTHER_DEVICE], "on another device (ratio alone)");
    add_count(&b, v->count[REPORT_NOT_RUN], "not run");
    return arena_printf(a, "Verdicts on %d number%s of the paper: %s.", judged_n,
                        judged_n == 1 ? "" : "s", b.text);
}

static bool same_rule(const struct report_rule *a, const struct report_rule *b)
{
    return a->near == b->near && a->far == b->far && same(a->device, b->device);
}

const char *report_verdicts_rule(struct arena *a, const struct report_folder *f)
{
    const struct report_rule *rule = f->layout.rule;
    struct strbuf b;

    if (f->layout.rules_n == 0) return NULL;
    strbuf_init(&b, a);
    for (int32_t i = 0; i < f->layout.rules_n; i++) {
        bool again = i > 0 && same_rule(&rule[i - 1], &rule[i]);
        bool last = i + 1 == f->layout.rules_n || !same_rule(&rule[i], &rule[i + 1]);
        strbuf_addf(&b, "%s%s", again ? ", " : i ? "; " : "", rule[i].metric);
        if (!last) continue;
        strbuf_addf(&b, ": reproduced up to %g %% from the paper's number, \"within\" up to %g %%",
                    100 * rule[i].near, 100 * rule[i].far);
        if (rule[i].device)
            strbuf_addf(&b, ", on a %s alone: of another device the ratio is shown",
                        rule[i].device);
    }
    return arena_printf(a, "Rule: %s.", b.text);
}
