/* verdict.c - the verdicts on the cells of the view comparison: a table and a sentence. */
#include "report/report_internal.h"

#include <string.h>

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

/* Ours, the paper's, the difference twice: the columns from `to` on of a cell's row. */
static void put_numbers(struct report_cell *to, struct arena *a, const struct report_verdicts *v,
                        int32_t cell, const struct report_folder *f)
{
    int32_t decimals = report_layout_decimals(&f->layout, cell_text(v, cell, "metric"));
    const char *state = cell_text(v, cell, "state"), *verdict = cell_text(v, cell, "verdict");
    double ours, std, paper = 0;

    report_rows_real(&paper, &v->rows, cell, "paper");
    to[1].text = arena_printf(a, "%.*f", decimals, paper);
    if (!report_rows_real(&ours, &v->rows, cell, "ours")) {
        to[0].text = strcmp(state, "not run") == 0 ? "–" : state;
        return;
    }
    to[0].text = arena_printf(a, "%.*f", decimals, ours);
    if (report_rows_real(&std, &v->rows, cell, "ours_std"))
        to[0].text = arena_printf(a, "%s ± %.*f", to[0].text, decimals, std);
    if (same(verdict, "other device") || same(verdict, "noisy")) return; /* not compared */
    to[2].text = arena_printf(a, "%+.*f", decimals, ours - paper);
    to[3].text = arena_printf(a, "%+.1f %%", 100 * (ours - paper) / paper);
}

void report_verdicts_table(struct report_rows *out, struct arena *a,
                           const struct report_verdicts *v, const struct report_folder *f)
{
    /* What names a cell, with marks of report_rows_arrange. */
    static const struct {
        const char *column, *heading;
    } names[] = {{"metric", "?metric"},   {"method", "method"},  {"L_train", ">L_train"},
                 {"L_valid", "?L_valid"}, {"split", "?split"},   {"protocol", "?windows"},
                 {"stride", "?stride"},   {"origin", "~origin"}, {"seeds", ">seeds"},
                 {"ours", ">ours"},       {"paper", ">paper"},   {NULL, ">difference"},
                 {NULL, ">relative"},     {"said", "verdict"},   {"said", "#verdict"}};
    enum { COLUMNS_N = sizeof names / sizeof *names, OURS = 9 };

    report_rows_init(out, a, COLUMNS_N, v->cells_n);
    out->rows_n = 0;
    for (int32_t c = 0; c < COLUMNS_N; c++) out->name[c] = names[c].heading;
    for (int32_t i = 0; i < v->rows.rows_n; i++) {
        if (!cell_text(v, i, "paper")) continue;
        struct report_cell *row = out->row[out->rows_n++];
        for (int32_t c = 0; c < COLUMNS_N; c++)
            if (names[c].column)
                row[c] = v->rows.row[i][report_rows_column(&v->rows, names[c].column)];
        put_numbers(row + OURS, a, v, i, f);
    }
    report_rows_arrange(out);
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
