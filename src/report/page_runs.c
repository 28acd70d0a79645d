/* page_runs.c - the provenance of the page and its list of runs. */
#include <string.h>

#include "report/folder.h"
#include "report/html.h"
#include "report/page.h"
#include "report/table.h"
#include "report/writer.h"

/* The runs that the artefacts ask for, and the attempt whose result is shown; machine numbers what
 * they ran on from 1. Begins a query, which reads `wanted` (run_id) and `made` (run_id, …). */
#define PAGE_RUNS                                                                                  \
    "WITH wanted AS (SELECT DISTINCT r.run_id FROM artefact_points p"                              \
    "  JOIN run_list e ON e.run_id = p.run_id"                                                     \
    "  JOIN run_list r ON r.run_id IN (e.run_id, e.train_run_id)"                                  \
    "  WHERE instr(:items, '|' || p.artefact || ' ' || p.scale || '|')),"                          \
    "made AS (SELECT a.run_id, a.attempt, a.device, a.backend, a.blas, a.threads, a.code_id,"      \
    "  a.ended_at, dense_rank() OVER (ORDER BY a.device, a.backend, a.blas, a.threads) AS machine" \
    "  FROM wanted w JOIN attempts a ON a.run_id = w.run_id WHERE a.current_result = 1)"

/* The answer of a query over :items. what names it in messages. */
static int page_query(struct report_rows *rows, struct report_page *p, const char *what,
                      const char *sql, struct err *e)
{
    const struct store_param params[] = {{"items", p->wanted}};
    return report_rows_query(rows, &p->arena, p->store, what, sql, params, 1, REPORT_QUERY_LIMIT_S,
                             e);
}

static const char page_subject_query[] =
    PAGE_RUNS "SELECT count(*) AS n, min(r.parameters) AS low, max(r.parameters) AS high,"
              " replace(group_concat(DISTINCT r.scale), ',', ', ') AS scales,"
              " replace(group_concat(DISTINCT r.corpus), ',', ', ') AS corpora"
              " FROM wanted w JOIN runs r USING (run_id)";

int report_page_subject(const char **out, struct report_page *p, struct err *e)
{
    struct report_rows rows;

    *out = "no run yet";
    TRY(page_query(&rows, p, "what was run", page_subject_query, e));
    const char *n = report_rows_get(&rows, 0, "n"), *corpora = report_rows_get(&rows, 0, "corpora");
    const char *size = report_table_size(&p->arena, report_rows_get(&rows, 0, "low"),
                                         report_rows_get(&rows, 0, "high"));
    if (strcmp(n, "0") == 0) return 0;
    *out = arena_printf(&p->arena, "%s runs at scale %s%s%s%s%s", n,
                        report_rows_get(&rows, 0, "scales"), size ? ": models of " : "",
                        size ? size : "", corpora ? " on " : "", corpora ? corpora : "");
    return 0;
}

/* --- provenance ----------------------------------------------------------------------------- */

static const char page_counts_query[] = PAGE_RUNS
    "SELECT r.scale, CASE r.kind WHEN 'train' THEN 'trainings' WHEN 'eval' THEN 'evaluations'"
    "  ELSE 'benchmarks' END AS what, r.dataset, r.model, count(*) AS \"asked for\","
    " sum(r.state = 'done') AS done, group_concat(DISTINCT r.seed) AS seeds,"
    " group_concat(DISTINCT m.code_id) AS code, min(m.ended_at) AS oldest,"
    " max(m.ended_at) AS newest,"
    " CASE max(r.modified) WHEN 1 THEN 'modified' ELSE 'as written' END AS settings"
    " FROM wanted w JOIN run_list r ON r.run_id = w.run_id LEFT JOIN made m USING (run_id)"
    " GROUP BY r.scale, r.dataset, r.model, r.kind"
    " ORDER BY r.scale, r.dataset, r.model, r.kind DESC";

static const char page_machines_query[] = PAGE_RUNS
    "SELECT 'm-' || machine AS machine, backend, device, blas AS BLAS, threads, count(*) AS runs"
    " FROM made GROUP BY machine, backend, device, blas, threads ORDER BY machine";

static void page_machine(struct report_page *p, const struct report_rows *rows, int32_t row)
{
    fputs("<tr id=\"", p->out);
    report_html_put(p->out, report_rows_text(rows, row, 0));
    fputs("\">", p->out);
    for (int32_t c = 0; c < rows->columns_n; c++) {
        fputs(rows->row[row][c].type == 't' ? "<td>" : "<td class=\"n\">", p->out);
        report_html_put(p->out, report_rows_text(rows, row, c));
        fputs("</td>", p->out);
    }
    fputs("</tr>\n", p->out);
}

/* The machines, each the target of its runs. */
static int page_machines(struct report_page *p, struct err *e)
{
    struct report_rows rows;

    TRY(page_query(&rows, p, "the machines", page_machines_query, e));
    if (rows.rows_n == 0) return 0;
    fputs("<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr><th>machine</th>"
          "<th>backend</th><th>device</th><th>BLAS</th><th class=\"n\">threads</th>"
          "<th class=\"n\">runs</th></tr></thead>\n<tbody>\n",
          p->out);
    for (int32_t i = 0; i < rows.rows_n; i++) page_machine(p, &rows, i);
    fputs("</tbody>\n</table></div>\n", p->out);
    return 0;
}

int report_page_made(struct report_page *p, struct err *e)
{
    struct report_rows rows;
    struct report_grid g;

    TRY(page_query(&rows, p, "what was run", page_counts_query, e));
    if (rows.rows_n == 0) {
        fputs("<p>Nothing was run yet.</p>\n", p->out);
        return 0;
    }
    report_grid_from_rows(&g, &p->arena, &rows);
    report_html_grid(p->out, &g);
    return page_machines(p, e);
}

/* --- the list of runs ----------------------------------------------------------------------- */

static const char page_runs_query[] = PAGE_RUNS
    "SELECT r.kind, r.dataset, r.config_id, r.run_id, r.train_run_id, r.seed, r.state,"
    " CASE r.kind WHEN 'eval' THEN (SELECT printf('%.4f', v.perplexity) FROM evaluations v"
    "   WHERE v.run_id = r.run_id)"
    "  WHEN 'train' THEN (SELECT printf('%.4f', v.final_loss_nats) FROM trainings v"
    "   WHERE v.run_id = r.run_id)"
    "  ELSE (SELECT printf('%.0f', v.wps) FROM benchmarks v WHERE v.run_id = r.run_id) END"
    "  AS result,"
    " m.attempt, 'm-' || m.machine AS machine, m.code_id, m.ended_at, r.spec,"
    " CASE r.kind WHEN 'eval' THEN printf('%s, L=%d at %d, %s, %s%s', r.position, r.L_train,"
    "   r.L_valid, r.split, r.protocol, CASE WHEN r.protocol = 'sliding'"
    "   THEN printf(' S=%d', r.stride) ELSE '' END)"
    "  WHEN 'train' THEN printf('%s, L=%d', r.position, r.L_train)"
    "  ELSE printf('%s, L=%d%s, %s', r.position, r.L_train,"
    "   CASE WHEN r.L_valid THEN printf(' at %d', r.L_valid) ELSE '' END, r.mode) END"
    "  || printf(' (model %s, scale %s%s)', r.model, r.scale,"
    "   CASE r.modified WHEN 1 THEN ', modified' ELSE '' END) AS facts"
    " FROM wanted w JOIN run_list r ON r.run_id = w.run_id LEFT JOIN made m USING (run_id)"
    " ORDER BY r.kind DESC, r.dataset, r.position, r.L_train, r.L_valid, r.config_id, r.seed,"
    " r.run_id";

/* Columns of the query above. */
enum {
    RUN_KIND,
    RUN_DATASET,
    RUN_CONFIG,
    RUN_ID,
    RUN_TRAINING,
    RUN_SEED,
    RUN_STATE,
    RUN_RESULT,
    RUN_ATTEMPT,
    RUN_MACHINE,
    RUN_CODE,
    RUN_ENDED,
    RUN_SPEC,
    RUN_FACTS
};

static const struct {
    const char *kind, *heading, *result, *more; /* more: a heading of its own */
} run_kinds[] = {{"train", "Trainings", "last loss (nats)", "<th>loss over updates</th>"},
                 {"eval", "Evaluations", "perplexity", "<th>training</th>"},
                 {"bench", "Benchmarks", "words/s", ""}};

static bool same(const struct store_cell *a, const struct store_cell *b, int column)
{
    const char *x = a ? a[column].text : NULL, *y = b ? b[column].text : NULL;
    return x && y && strcmp(x, y) == 0;
}

/* A cell that leads to the element <before><text>, or an empty one. */
static void run_link(struct report_page *p, const char *before, const char *text)
{
    fputs("<td>", p->out);
    if (text) {
        fprintf(p->out, "<a href=\"#%s", before);
        report_html_put(p->out, text);
        fputs("\">", p->out);
        report_html_put(p->out, text);
        fputs("</a>", p->out);
    }
    fputs("</td>", p->out);
}

static void run_cell(struct report_page *p, const char *begin, const char *text)
{
    fputs(begin, p->out);
    report_html_put(p->out, text);
    fputs("</td>", p->out);
}

/* --- training curves ------------------------------------------------------------------------ */

/* A row for each training and split: its losses as points of a polyline in a box of 300 by 60, the
 * mean of each hundredth of the updates; and the losses and updates it begins and ends with. The
 * box is as high as what follows the first twentieth, whose fall would flatten the rest. */
static const char page_curves_query[] = PAGE_RUNS
    ", sized AS (SELECT run_id, max(step) AS steps FROM wanted JOIN curves USING (run_id)"
    "  WHERE loss_nats IS NOT NULL GROUP BY run_id),"
    "losses AS MATERIALIZED (SELECT c.run_id, c.split, c.step, c.loss_nats AS loss, s.steps,"
    "  min(c.loss_nats) OVER run AS low,"
    "  max(CASE WHEN c.step * 20 >= s.steps THEN c.loss_nats END) OVER run AS high"
    "  FROM sized s JOIN curves c USING (run_id) WHERE c.loss_nats IS NOT NULL"
    "  WINDOW run AS (PARTITION BY c.run_id)),"
    "points AS (SELECT run_id, split, min(step) AS first, max(step) AS last, avg(loss) AS mean,"
    "  printf('%.0f,%.0f', 300.0 * max(step) / steps,"
    "   max(3, 57 - 54 * (avg(loss) - low) / max(high - low, 1e-9))) AS point"
    "  FROM losses GROUP BY run_id, split, 100 * step / steps)"
    "SELECT run_id, split, group_concat(point, ' ') AS points,"
    " printf('%s loss: %.2f nats at update %d, %.2f at update %d',"
    "  CASE split WHEN 'train' THEN 'training' ELSE 'validation' END,"
    "  (SELECT mean FROM points b WHERE b.run_id = p.run_id AND b.split = p.split"
    "   ORDER BY b.first LIMIT 1), min(first),"
    "  (SELECT mean FROM points b WHERE b.run_id = p.run_id AND b.split = p.split"
    "   ORDER BY b.last DESC LIMIT 1), max(last)) AS said"
    " FROM (SELECT * FROM points ORDER BY run_id, split, first) p GROUP BY run_id, split"
    " ORDER BY run_id, split";

/* A cell with the curves of a training. */
static void run_curves(struct report_page *p, const struct report_rows *curves, const char *run_id)
{
    int32_t n = 0;

    fputs("<td>", p->out);
    for (int32_t i = 0; i < curves->rows_n; i++) {
        if (strcmp(report_rows_text(curves, i, 0), run_id) != 0) continue;
        if (n++ == 0)
            fputs("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"curve\" "
                  "viewBox=\"0 0 300 60\" role=\"img\">",
                  p->out);
        fputs("<g><title>", p->out);
        report_html_put(p->out, report_rows_text(curves, i, 3));
        fprintf(p->out, "</title><polyline class=\"%s\" points=\"",
                strcmp(report_rows_text(curves, i, 1), "train") == 0 ? "train" : "valid");
        report_html_put(p->out, report_rows_text(curves, i, 2));
        fputs("\"/></g>", p->out);
    }
    fputs(n ? "</svg></td>" : "</td>", p->out);
}

/* The configuration with its specification, a setting a line: at its first seed. */
static void run_config(struct report_page *p, const struct store_cell *run)
{
    char *line = arena_strdup(&p->arena, run[RUN_SPEC].text ? run[RUN_SPEC].text : "");

    fputs("<td class=\"w\" id=\"c-", p->out);
    report_html_put(p->out, run[RUN_CONFIG].text);
    fputs("\"><details><summary>", p->out);
    report_html_put(p->out, run[RUN_FACTS].text);
    fputs("</summary><pre>", p->out);
    for (char *end; line && *line; line = end) {
        end = strchr(line, '\n');
        if (end) *end++ = '\0';
        report_html_put(p->out, line);
        if (end && *end) fputc('\n', p->out);
    }
    fputs("</pre></details></td>", p->out);
}

static void run_row(struct report_page *p, const struct report_rows *curves,
                    const struct store_cell *run, bool first)
{
    bool done = run[RUN_RESULT].text != NULL;
    const char *state = run[RUN_STATE].text;

    fputs("<tr id=\"r-", p->out);
    report_html_put(p->out, run[RUN_ID].text);
    fputs("\">", p->out);
    run_cell(p, "<td class=\"id\">", run[RUN_ID].text);
    if (first)
        run_config(p, run);
    else
        run_cell(p, "<td>", "the same");
    run_cell(p, "<td class=\"n\">", run[RUN_SEED].text);
    run_cell(p, "<td class=\"n\">",
             done                                  ? run[RUN_RESULT].text
             : state && strcmp(state, "none") != 0 ? state
                                                   : "not run");
    if (strcmp(run[RUN_KIND].text, "eval") == 0) run_link(p, "r-", run[RUN_TRAINING].text);
    if (strcmp(run[RUN_KIND].text, "train") == 0) run_curves(p, curves, run[RUN_ID].text);
    run_cell(p, "<td class=\"n\">", run[RUN_ATTEMPT].text);
    run_link(p, "", run[RUN_MACHINE].text);
    run_cell(p, "<td>", run[RUN_CODE].text);
    run_cell(p, "<td>", run[RUN_ENDED].text);
    fputs("</tr>\n", p->out);
}

static void run_head(struct report_page *p, const struct store_cell *run)
{
    size_t i = 0;

    while (i + 1 < sizeof run_kinds / sizeof *run_kinds &&
           strcmp(run[RUN_KIND].text, run_kinds[i].kind) != 0)
        i++;
    fprintf(p->out, "<h3>%s: ", run_kinds[i].heading);
    report_html_put(p->out, run[RUN_DATASET].text);
    fprintf(p->out,
            "</h3>\n<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr><th>run</th>"
            "<th>configuration</th><th class=\"n\">seed</th><th class=\"n\">%s</th>%s"
            "<th class=\"n\">attempt</th><th>machine</th><th>code</th><th>ended</th></tr></thead>\n"
            "<tbody>\n",
            run_kinds[i].result, run_kinds[i].more);
}

int report_page_runs(struct report_page *p, struct err *e)
{
    struct report_rows rows, curves;
    const struct store_cell *before = NULL;

    TRY(page_query(&rows, p, "the list of runs", page_runs_query, e));
    TRY(page_query(&curves, p, "the training curves", page_curves_query, e));
    fputs("<section id=\"runs\">\n<h2>Every run</h2>\n<p>A run's id is the hash of its "
          "specification, which opens under its configuration (that of the first seed): "
          "<code>alibi show RUN</code> says the same. Its log is "
          "<code>runs/RUN/ATTEMPT/log</code>.</p>\n",
          p->out);
    for (int32_t i = 0; i < rows.rows_n; i++) {
        const struct store_cell *run = rows.row[i];
        bool same_table = same(before, run, RUN_KIND) && same(before, run, RUN_DATASET);
        if (!same_table) {
            if (before) fputs("</tbody>\n</table></div>\n", p->out);
            run_head(p, run);
        }
        run_row(p, &curves, run, !same_table || !same(before, run, RUN_CONFIG));
        before = run;
    }
    if (before) fputs("</tbody>\n</table></div>\n", p->out);
    fputs("</section>\n", p->out);
    return 0;
}
