/* report_page.c - the page of all artefacts: summary, sections, appendix of runs.
 *
 * A cell leads to c-<config id> in the appendix: one entry a configuration, with its specification
 * and a row r-<run id> for each seed. An entry is closed until it is looked at; a browser opens it
 * when a link leads into it. */
#include <string.h>

#include "base/str.h"
#include "report/report.h"
#include "report/report_claims.h"
#include "report/report_folder.h"
#include "report/report_grid.h"
#include "report/report_html.h"
#include "spec/code_id.h"

struct report_page {
    FILE *out;
    struct arena arena;
    struct store *store;
    const struct project *project;
    const struct report_options *options;
    const struct report_item *item;
    int32_t items_n;
    const char *wanted; /* "|table5 mini|figure1 mini|" for the queries below */
};

static int page_query(struct report_rows *rows, struct report_page *p, const char *what,
                      const char *sql, struct err *e)
{
    const struct store_param params[] = {{"items", p->wanted}};
    return report_rows_query(rows, &p->arena, p->store, what, sql, params, 1, REPORT_QUERY_LIMIT_S,
                             e);
}

/* --- summary -------------------------------------------------------------------------------- */

/* The claims of every folder; title[i] becomes the artefact's title. */
static int page_claims(struct report_page *p, const char **title, int32_t counts[3], struct err *e)
{
    fputs("<h2 id=\"claims\">The claims of the paper, judged</h2>\n"
          "<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr><th>artefact</th><th>claim</th>"
          "<th>scale</th><th>verdict</th><th>statement</th></tr></thead>\n<tbody>\n",
          p->out);
    for (int32_t i = 0; i < p->items_n; i++) {
        const struct report_item *item = &p->item[i];
        struct report_folder f;
        struct report_rows claims;
        int32_t contradicted;
        TRY(report_folder_open(&f, &p->arena, p->project, item->artefact, item->dir, e));
        TRY(report_claims_judge(&claims, &contradicted, &p->arena, p->store, &f, item->scale, e));
        title[i] = f.layout.title;
        for (int32_t k = 0; k < claims.rows_n; k++) {
            const struct store_cell *cell = claims.row[k];
            counts[*cell[2].text == 's' ? 0 : *cell[2].text == 'c' ? 1 : 2]++;
            fprintf(p->out, "<tr><td><a href=\"#%s\">%s</a></td><td>", item->artefact,
                    item->artefact);
            report_html_put(p->out, cell[0].text);
            fputs("</td><td>", p->out);
            report_html_put(p->out, item->scale);
            fputs("</td><td>", p->out);
            report_html_badge(p->out, cell[2].text);
            fputs("</td><td class=\"w\">", p->out);
            report_html_put(p->out, cell[1].text);
            fputs("</td></tr>\n", p->out);
        }
    }
    fputs("</tbody>\n</table></div>\n", p->out);
    fprintf(
        p->out,
        "<p>%d supported, %d contradicted, %d not run. Away from scale paper a verdict is about "
        "the shape of the curves, not about the numbers.</p>\n",
        counts[0], counts[1], counts[2]);
    return 0;
}

static const char page_runs_query[] =
    "WITH wanted AS (SELECT DISTINCT r.run_id FROM artefact_points p"
    "  JOIN run_list e ON e.run_id = p.run_id"
    "  JOIN run_list r ON r.run_id IN (e.run_id, e.train_run_id)"
    "  WHERE instr(:items, '|' || p.artefact || ' ' || p.scale || '|'))"
    "SELECT r.scale, CASE r.kind WHEN 'train' THEN 'trainings' WHEN 'eval' THEN 'evaluations'"
    "  ELSE 'benchmarks' END AS what, r.dataset, r.model, count(*) AS asked,"
    " sum(r.state = 'done') AS done, group_concat(DISTINCT r.seed) AS seeds,"
    " group_concat(DISTINCT a.device) AS devices, group_concat(DISTINCT a.code_id) AS code,"
    " max(a.ended_at) AS newest, CASE max(r.modified) WHEN 1 THEN 'modified' END AS settings"
    " FROM wanted w JOIN run_list r ON r.run_id = w.run_id"
    " LEFT JOIN attempts a ON a.run_id = r.run_id AND a.current_result = 1"
    " GROUP BY r.scale, r.dataset, r.model, r.kind"
    " ORDER BY r.scale, r.dataset, r.model, r.kind DESC";

static int page_summary(struct report_page *p, const char **title, struct err *e)
{
    struct report_rows rows;
    struct report_grid g;
    int32_t counts[3] = {0};

    fputs(
        "<h1>Train Short, Test Long: what was reproduced</h1>\n<p>Press, Smith, Lewis: "
        "Attention with Linear Biases Enables Input Length Extrapolation (ICLR 2022). Our numbers "
        "and the paper's stand apart, and every number of ours leads to its run. Written by "
        "<code>alibi report</code>, code <code>",
        p->out);
    report_html_put(p->out, code_id());
    fputs("</code>.</p>\n", p->out);
    TRY(page_claims(p, title, counts, e));
    fputs("<h2 id=\"runs\">What was run</h2>\n", p->out);
    TRY(page_query(&rows, p, "what was run", page_runs_query, e));
    if (rows.rows_n == 0) {
        fputs("<p>Nothing yet.</p>\n", p->out);
    } else {
        report_grid_from_rows(&g, &p->arena, &rows);
        report_html_grid(p->out, &g);
    }
    fputs("<nav aria-label=\"artefacts\"><h2>Artefacts</h2>\n<ul>\n", p->out);
    for (int32_t i = 0; i < p->items_n; i++) {
        fprintf(p->out, "<li><a href=\"#%s\">", p->item[i].artefact);
        report_html_put(p->out, title[i]);
        fputs("</a></li>\n", p->out);
    }
    fputs("<li><a href=\"#appendix\">Every run</a></li>\n</ul></nav>\n", p->out);
    return 0;
}

/* --- appendix ------------------------------------------------------------------------------- */

static const char page_appendix_query[] =
    "WITH wanted AS (SELECT DISTINCT r.run_id FROM artefact_points p"
    "  JOIN run_list e ON e.run_id = p.run_id"
    "  JOIN run_list r ON r.run_id IN (e.run_id, e.train_run_id)"
    "  WHERE instr(:items, '|' || p.artefact || ' ' || p.scale || '|'))"
    "SELECT r.config_id, r.run_id, r.train_run_id, r.kind, r.seed, r.state,"
    " CASE r.kind WHEN 'eval' THEN 'perplexity' WHEN 'train' THEN 'last loss (nats)'"
    "  ELSE 'words/s' END AS measure,"
    " CASE r.kind WHEN 'eval' THEN (SELECT printf('%.4f', v.perplexity) FROM evaluations v"
    "   WHERE v.run_id = r.run_id)"
    "  WHEN 'train' THEN (SELECT printf('%.4f', v.final_loss_nats) FROM trainings v"
    "   WHERE v.run_id = r.run_id)"
    "  ELSE (SELECT printf('%.0f', v.wps) FROM benchmarks v WHERE v.run_id = r.run_id) END"
    "  AS result,"
    " a.attempt, a.device, a.backend, a.blas, a.threads, a.code_id, a.ended_at, a.log_path, r.spec,"
    " CASE r.kind WHEN 'eval' THEN printf('%s, L=%d at %d, split %s, %s%s', r.position, r.L_train,"
    "   r.L_valid, r.split, r.protocol, CASE WHEN r.protocol = 'sliding'"
    "   THEN printf(' S=%d', r.stride) ELSE '' END)"
    "  WHEN 'train' THEN printf('training of %s, L=%d', r.position, r.L_train)"
    "  ELSE printf('speed of %s, L=%d, %s', r.position, r.L_train, r.mode) END"
    "  || printf(' (%s, %s, %s%s)', r.dataset, r.model, r.scale,"
    "   CASE r.modified WHEN 1 THEN ', modified by --set' ELSE '' END) AS facts"
    " FROM wanted w JOIN run_list r ON r.run_id = w.run_id"
    " LEFT JOIN attempts a ON a.run_id = r.run_id AND a.current_result = 1"
    " ORDER BY r.kind DESC, r.dataset, r.position, r.L_train, r.L_valid, r.config_id, r.seed,"
    " r.run_id";

/* Columns of the query above. */
enum {
    RUN_CONFIG,
    RUN_ID,
    RUN_TRAINING,
    RUN_KIND,
    RUN_SEED,
    RUN_STATE,
    RUN_MEASURE,
    RUN_RESULT,
    RUN_ATTEMPT,
    RUN_DEVICE,
    RUN_BACKEND,
    RUN_BLAS,
    RUN_THREADS,
    RUN_CODE,
    RUN_ENDED,
    RUN_LOG,
    RUN_SPEC,
    RUN_FACTS
};

static void page_cell(struct report_page *p, const char *text)
{
    fputs("<td>", p->out);
    report_html_put(p->out, text);
    fputs("</td>", p->out);
}

static void page_run(struct report_page *p, const struct store_cell *run)
{
    fputs("<tr id=\"r-", p->out);
    report_html_put(p->out, run[RUN_ID].text);
    fputs("\">", p->out);
    page_cell(p, run[RUN_ID].text);
    page_cell(p, run[RUN_SEED].text);
    page_cell(p, run[RUN_STATE].text);
    page_cell(p, run[RUN_RESULT].text);
    fputs("<td>", p->out);
    if (run[RUN_TRAINING].text) {
        fputs("<a href=\"#r-", p->out);
        report_html_put(p->out, run[RUN_TRAINING].text);
        fputs("\">", p->out);
        report_html_put(p->out, run[RUN_TRAINING].text);
        fputs("</a>", p->out);
    }
    fputs("</td>", p->out);
    for (int32_t c = RUN_ATTEMPT; c <= RUN_LOG; c++) page_cell(p, run[c].text);
    fputs("</tr>\n", p->out);
}

/* The specification, a setting a line. */
static void page_spec(struct report_page *p, const char *spec)
{
    char *line = arena_strdup(&p->arena, spec ? spec : "");

    fputs("<pre>", p->out);
    for (char *end; line; line = end) {
        end = strchr(line, '\n');
        if (end) *end++ = '\0';
        report_html_put(p->out, line);
        if (end && *end) fputc('\n', p->out);
    }
    fputs("</pre>\n", p->out);
}

static int page_appendix(struct report_page *p, struct err *e)
{
    struct report_rows rows;
    const char *shown = NULL;

    TRY(page_query(&rows, p, "the appendix of runs", page_appendix_query, e));
    fputs(
        "<section id=\"appendix\">\n<h2>Every run</h2>\n<p>One entry for each configuration, with "
        "a row for each seed. The specification is that of the first seed; a run id is the hash "
        "of its specification, so <code>alibi show RUN</code> says the same.</p>\n",
        p->out);
    for (int32_t i = 0; i < rows.rows_n; i++) {
        const struct store_cell *run = rows.row[i];
        bool first = !shown || strcmp(shown, run[RUN_CONFIG].text) != 0;
        if (first) {
            shown = run[RUN_CONFIG].text;
            fputs("<details><summary>", p->out);
            report_html_put(p->out, run[RUN_FACTS].text);
            fprintf(p->out, "</summary>\n<div class=\"run\" id=\"c-%s\">\n", shown);
            page_spec(p, run[RUN_SPEC].text);
            fputs("<div class=\"scroll\" tabindex=\"0\"><table><thead><tr><th>run</th>"
                  "<th>seed</th><th>state</th><th>",
                  p->out);
            report_html_put(p->out, run[RUN_MEASURE].text);
            fputs("</th><th>training</th><th>attempt</th><th>device</th><th>backend</th>"
                  "<th>BLAS</th><th>threads</th><th>code</th><th>ended</th><th>log</th>"
                  "</tr></thead>\n<tbody>\n",
                  p->out);
        }
        page_run(p, run);
        if (i + 1 == rows.rows_n || strcmp(shown, rows.row[i + 1][RUN_CONFIG].text) != 0)
            fputs("</tbody></table></div>\n</div></details>\n", p->out);
    }
    fputs("</section>\n", p->out);
    return 0;
}

/* --- the whole ------------------------------------------------------------------------------ */

int report_page(FILE *out, struct store *s, const struct project *p,
                const struct report_item *items, int32_t n, const struct report_options *o,
                struct err *e)
{
    struct report_page page = {
        .out = out, .store = s, .project = p, .options = o, .item = items, .items_n = n};
    struct strbuf wanted;
    int rc = 0;

    arena_init(&page.arena);
    strbuf_init(&wanted, &page.arena);
    strbuf_add(&wanted, "|");
    for (int32_t i = 0; i < n; i++)
        strbuf_addf(&wanted, "%s %s|", items[i].artefact, items[i].scale);
    page.wanted = wanted.text;
    const char **title = arena_array(&page.arena, (size_t)n + 1, sizeof *title);
    report_html_open(out, "Train Short, Test Long: what was reproduced");
    TRY_OUT(rc, page_summary(&page, title, e));
    for (int32_t i = 0; i < n; i++) {
        struct report_options of_item = *o;
        of_item.scale = items[i].scale;
        of_item.format = REPORT_HTML;
        fprintf(out, "<section id=\"%s\">\n", items[i].artefact);
        TRY_OUT(rc, report_artefact(out, s, p, items[i].artefact, items[i].dir, &of_item, e));
        fputs("</section>\n", out);
    }
    TRY_OUT(rc, page_appendix(&page, e));
    report_html_close(out);
    if (ferror(out)) rc = ERR(e, ERR_IO, "writing the page failed");
out:
    arena_fini(&page.arena);
    return rc;
}
