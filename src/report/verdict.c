/* verdict.c - the verdicts on the cells of the view comparison: a table and a sentence. */
#include "report/verdict.h"

#include <string.h>

#include "base/str.h"

const char *const report_verdict_names[REPORT_VERDICTS_N] = {
    "reproduced", "within", "not reproduced", "not run", "other device", "noisy"};

static const char *cell_text(const struct report_verdicts *v, int32_t row, const char *column)
{
    return report_rows_get(&v->rows, row, column);
}

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

int report_verdicts_find(struct report_verdicts *v, struct arena *a, struct store *s,
                         const struct report_folder *f, const char *scale, struct err *e)
{
    *v = (struct report_verdicts){0};
    TRY(report_cells_judged(&v->rows, a, s, &f->layout, f->points, scale, e));
    for (int32_t i = 0; i < v->rows.rows_n; i++) v->cells_n += cell_text(v, i, "paper") != NULL;
    return 0;
}

int32_t report_verdicts_count(const struct report_verdicts *v, const char *verdict)
{
    int32_t n = 0;
    for (int32_t i = 0; i < v->rows.rows_n; i++) n += same(cell_text(v, i, "verdict"), verdict);
    return n;
}

/* --- the table of cells --------------------------------------------------------------------- */

/* A column that names a cell: shown always, where cells differ in it, or where one has a value. */
enum name_when { NAME_ALWAYS, NAME_DIFFERS, NAME_SAID };

static const struct {
    const char *column, *heading;
    enum name_when when;
    bool right;
} name_table[] = {
    {"metric", "metric", NAME_DIFFERS, false}, {"method", "method", NAME_ALWAYS, false},
    {"L_train", "L_train", NAME_ALWAYS, true}, {"L_valid", "L_valid", NAME_DIFFERS, true},
    {"split", "split", NAME_DIFFERS, false},   {"protocol", "windows", NAME_DIFFERS, false},
    {"stride", "stride", NAME_DIFFERS, true},  {"origin", "origin", NAME_SAID, false},
    {"seeds", "seeds", NAME_ALWAYS, true},
};
enum { NAMES_N = sizeof name_table / sizeof *name_table, NUMBERS_N = 5 };

/* Whether a column is shown; cells without a value do not count as different. */
static bool is_shown(const struct report_verdicts *v, const int32_t *cell, int32_t n,
                     enum name_when when, const char *column)
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
    int32_t decimals = report_layout_decimals(&f->layout, cell_text(v, cell, "metric"));
    const char *state = cell_text(v, cell, "state");
    double ours, std, paper;

    report_rows_real(&paper, &v->rows, cell, "paper");
    report_grid_set(g, row, at + 1, arena_printf(a, "%.*f", decimals, paper));
    report_grid_set(g, row, at + 4, cell_text(v, cell, "said"));
    g->verdict[(int64_t)row * g->columns_n + at + 4] = cell_text(v, cell, "said");
    if (!report_rows_real(&ours, &v->rows, cell, "ours")) {
        report_grid_set(g, row, at, strcmp(state, "not run") == 0 ? "–" : state);
        return;
    }
    const char *mean = arena_printf(a, "%.*f", decimals, ours);
    if (report_rows_real(&std, &v->rows, cell, "ours_std"))
        mean = arena_printf(a, "%s ± %.*f", mean, decimals, std);
    report_grid_set(g, row, at, mean);
    const char *verdict = cell_text(v, cell, "verdict");
    if (same(verdict, "other device") || same(verdict, "noisy")) return; /* not compared */
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
        if (cell_text(v, i, "paper")) cell[n++] = i;
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

    strbuf_init(&b, a);
    for (int32_t k = 0; k < REPORT_VERDICTS_N; k++)
        judged_n += report_verdicts_count(v, report_verdict_names[k]);
    if (judged_n == 0) return NULL;
    add_count(&b, report_verdicts_count(v, "reproduced"), "reproduced");
    for (int32_t i = 0; i < v->rows.rows_n; i++) { /* one count for each bound */
        const char *said = cell_text(v, i, "said");
        int32_t n = 0;
        if (!same(cell_text(v, i, "verdict"), "within")) continue;
        for (int32_t k = 0; k < v->rows.rows_n; k++) {
            if (!same(said, cell_text(v, k, "said"))) continue;
            if (k < i) break;
            n++;
        }
        add_count(&b, n, said);
    }
    add_count(&b, report_verdicts_count(v, "not reproduced"), "not reproduced");
    add_count(&b, report_verdicts_count(v, "other device"), "on another device (ratio alone)");
    add_count(&b, report_verdicts_count(v, "noisy"), "measured on a busy machine (not judged)");
    add_count(&b, report_verdicts_count(v, "not run"), "not run");
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
