/* page.c - the page of all artefacts: what was reproduced in a sentence, the first artefact, the
 * scoreboard, which is the contents too, claims and provenance (folded), a section for each other
 * artefact, the list of runs. And the scoreboard alone.
 *
 * Ids: a-<artefact> a section, f-<artefact> its picture, c-<config id> a configuration,
 * r-<run id> a run, m-<number> a machine. */
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "report/report_internal.h"
#include "spec/code_id.h"

static const char page_title[] = "Train Short, Test Long: what was reproduced";

struct report_page {
    FILE *out;
    struct arena arena;
    struct store *store;
    const struct project *project;
    const struct report_options *options;
    const struct report_item *item;
    int32_t items_n;
    struct report_judged *judged; /* items_n */
    struct report_claims claims;  /* of all */
    const char *wanted;           /* "|table5 mini|figure1 mini|" for the queries */
};

/* --- the scoreboard ------------------------------------------------------------------------- */

/* A row for each artefact: its cells by verdict, where any is at scale paper, and its claims by
 * verdict. titled: its title is there too, and leads to its section of the page. */
static int scoreboard(struct report_rows *r, struct report_page *p, bool titled, struct err *e)
{
    static const struct {
        const char *head, *cells, *claims; /* a column of the one or of the other */
    } columns[] = {{"<artefact", NULL, NULL},
                   {"<scale", NULL, NULL},
                   {"<title", NULL, NULL},
                   {">reproduced", "reproduced_n", NULL},
                   {">within", "within_n", NULL},
                   {">not reproduced", "not_reproduced_n", NULL},
                   {">cells not run", "not_run_n", NULL},
                   {">other device", "other_device_n", NULL},
                   {">noisy", "noisy_n", NULL},
                   {"<claims supported", NULL, "share"},
                   {"<contradicted", NULL, "contradicted"},
                   {"<not run", NULL, "not_run"},
                   {"<not judged", NULL, "not_judged"}};
    enum { COLUMNS_N = sizeof columns / sizeof *columns };
    bool judged = false;

    for (int32_t i = 0; i < p->items_n; i++) judged |= strcmp(p->item[i].scale, "paper") == 0;
    report_rows_init(r, &p->arena, COLUMNS_N, p->items_n);
    r->columns_n = 0;
    for (int32_t i = 0; i < p->items_n; i++) {
        const struct report_judged *k = &p->judged[i];
        const char *scale = p->item[i].scale, *title = k->folder.layout.title;
        const char *const names[] = {p->item[i].artefact, scale, title};
        struct report_rows v = {0};
        struct report_rows counts;
        TRY(report_claims_count(&counts, p->store, &k->claims, scale, e));
        if (judged) TRY(report_cells_judged(&v, &p->arena, p->store, &k->folder, scale, e));
        r->columns_n = 0;
        for (int c = 0; c < COLUMNS_N; c++) {
            struct report_cell *cell = &r->row[i][r->columns_n];
            if ((c == 2 && !titled) || (columns[c].cells && !judged)) continue;
            r->name[r->columns_n++] = columns[c].head;
            cell->text = columns[c].cells    ? report_rows_get(&v, 0, columns[c].cells)
                         : columns[c].claims ? report_rows_get(&counts, 0, columns[c].claims)
                                             : names[c];
            if (c == 2) cell->link = arena_printf(&p->arena, "a-%s", names[0]);
        }
    }
    report_rows_arrange(r);
    return 0;
}

int report_summary(FILE *out, struct store *s, const struct project *p,
                   const struct report_item *items, int32_t n, const struct report_options *o,
                   struct err *e)
{
    struct report_page page = {.out = out, .store = s, .item = items, .items_n = n};
    struct report_rows rows;
    int rc = 0;

    if (o->format == REPORT_CSV || o->format == REPORT_JSON) return 0;
    arena_init(&page.arena);
    TRY_OUT(rc, report_claims_of(&page.claims, &page.judged, &page.arena, s, p, items, n, e));
    TRY_OUT(rc, scoreboard(&rows, &page, false, e));
    if (o->format == REPORT_TEXT) fputc('\n', out);
    report_write_heading(out, "Summary", o->format, 1);
    if (o->format == REPORT_TEXT) fputc('\n', out);
    rc = report_rows_write(out, &rows, o->format, e);
out:
    arena_fini(&page.arena);
    return rc;
}

/* --- claims --------------------------------------------------------------------------------- */

/* A claim that several folders share, in the same words and at one scale, is one: place. Where they
 * differ it counts as the worst, and each verdict names its folders. Names of artefacts are
 * letters, digits, dots, dashes and underscores. */
#define PAGE_CLAIMS                                                                                \
    ",\nshared AS (\n"                                                                             \
    " SELECT *, min(\"#row\") OVER same AS place, count(*) OVER same AS all_n,\n"                  \
    "  '<a href=\"#a-' || artefact || '\">' || artefact || '</a>' AS folder,\n"                    \
    "  CASE verdict WHEN 'contradicted' THEN 1 WHEN 'not run' THEN 2 WHEN 'not judged' THEN 3\n"   \
    "   ELSE 4 END AS rank\n"                                                                      \
    " FROM report_numbered WINDOW same AS (PARTITION BY claim, statement, scale)),\n"              \
    "badge AS (\n"                                                                                 \
    " SELECT place, '<span class=\"badge ' || CASE rank WHEN 4 THEN 'yes' WHEN 1 THEN 'no'\n"      \
    "   ELSE 'open' END || '\">' || verdict || '</span>'\n"                                        \
    "  || CASE WHEN count(*) < all_n THEN ' ' || group_concat(folder, ' ') ELSE '' END AS badge\n" \
    " FROM (SELECT * FROM shared ORDER BY \"#row\") GROUP BY place, rank ORDER BY place, rank)\n"

static const char page_claims_sql[] = PAGE_CLAIMS
    "SELECT '' AS artefact, group_concat(folder, ' ') AS \"#markup\", claim AS \"<claim\",\n"
    " scale AS \"<scale\", '' AS verdict,\n"
    " (SELECT group_concat(badge, ' ') FROM badge b WHERE b.place = s.place) AS \"#markup\",\n"
    " statement AS \"<statement\", '' AS \"#wide\"\n"
    "FROM (SELECT * FROM shared ORDER BY \"#row\") s GROUP BY place ORDER BY place";

/* One row: how many claims about runs hold, how many were judged, and all of it in words. */
static const char page_counts_sql[] = PAGE_CLAIMS
    "SELECT sum(own AND rank = 4) AS supported, sum(own AND rank IN (1, 4)) AS judged,\n"
    " printf('%d supported, %d contradicted, %d not run, %d not judged at their scale; and %d of "
    "%d'"
    "\n  || ' about the paper''s own numbers alone supported.', sum(own AND rank = 4),\n"
    "  sum(own AND rank = 1), sum(own AND rank = 2), sum(own AND rank = 3),\n"
    "  sum(NOT own AND rank = 4), sum(NOT own)) AS sentence\n"
    "FROM (SELECT min(rank) AS rank, counted <> 0 AS own FROM shared GROUP BY place)";

static int write_claims(struct report_page *p, const char *sentence, struct err *e)
{
    struct report_rows rows;

    TRY(report_claims_ask(&rows, p->store, &p->claims, NULL, page_claims_sql, e));
    report_rows_arrange(&rows);
    fputs("<details id=\"claims\"><summary>The claims of the paper, judged</summary>\n", p->out);
    TRY(report_rows_write(p->out, &rows, REPORT_HTML, e));
    report_html(p->out,
                "<p>%s The numbers that each rests on are in its artefact's section. Away from "
                "scale paper a verdict is about the shape of the curves, not about the numbers."
                "</p>\n</details>\n",
                sentence);
    return 0;
}

/* --- provenance ----------------------------------------------------------------------------- */

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

/* How many runs of which models on which corpora. */
static int page_subject(const char **out, struct report_page *p, struct err *e)
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
    "SELECT 'm-' || machine AS machine, 'm-' || machine AS \"#id\", backend AS \"<backend\","
    " device AS \"<device\", blas AS \"<BLAS\", threads, count(*) AS runs"
    " FROM made GROUP BY machine, backend, device, blas, threads ORDER BY machine";

/* What was run where, by which code; the machines are the targets of their runs. */
static int page_made(struct report_page *p, struct err *e)
{
    struct report_rows counts, machines;

    TRY(page_query(&counts, p, "what was run", page_counts_query, e));
    TRY(page_query(&machines, p, "the machines", page_machines_query, e));
    if (counts.rows_n == 0) {
        fputs("<p>Nothing was run yet.</p>\n", p->out);
        return 0;
    }
    TRY(report_rows_write(p->out, &counts, REPORT_HTML, e));
    report_rows_arrange(&machines);
    return machines.rows_n ? report_rows_write(p->out, &machines, REPORT_HTML, e) : 0;
}

/* --- the list of runs ----------------------------------------------------------------------- */

/* drawn: the curves of each training, a polyline of each split in a box of 300 by 60: the mean of
 * each hundredth of the updates, and in words the losses and updates it begins and ends with. The
 * box is as high as what follows the first twentieth, whose fall would flatten the rest. */
#define PAGE_CURVES                                                                                \
    ", sized AS (SELECT run_id, max(step) AS steps FROM wanted JOIN curves USING (run_id)"         \
    "  WHERE loss_nats IS NOT NULL GROUP BY run_id),"                                              \
    "losses AS MATERIALIZED (SELECT c.run_id, c.split, c.step, c.loss_nats AS loss, s.steps,"      \
    "  min(c.loss_nats) OVER run AS low,"                                                          \
    "  max(CASE WHEN c.step * 20 >= s.steps THEN c.loss_nats END) OVER run AS high"                \
    "  FROM sized s JOIN curves c USING (run_id) WHERE c.loss_nats IS NOT NULL"                    \
    "  WINDOW run AS (PARTITION BY c.run_id)),"                                                    \
    "points AS (SELECT run_id, split, min(step) AS first, max(step) AS last, avg(loss) AS mean,"   \
    "  printf('%.0f,%.0f', 300.0 * max(step) / steps,"                                             \
    "   max(3, 57 - 54 * (avg(loss) - low) / max(high - low, 1e-9))) AS point"                     \
    "  FROM losses GROUP BY run_id, split, 100 * step / steps),"                                   \
    "lines AS (SELECT run_id, printf('<g><title>%s loss: %.2f nats at update %d, %.2f at update"   \
    " %d</title><polyline class=\"%s\" points=\"',"                                                \
    "  CASE split WHEN 'train' THEN 'training' ELSE 'validation' END,"                             \
    "  (SELECT mean FROM points b WHERE b.run_id = p.run_id AND b.split = p.split"                 \
    "   ORDER BY b.first LIMIT 1), min(first),"                                                    \
    "  (SELECT mean FROM points b WHERE b.run_id = p.run_id AND b.split = p.split"                 \
    "   ORDER BY b.last DESC LIMIT 1), max(last),"                                                 \
    "  CASE split WHEN 'train' THEN 'train' ELSE 'valid' END)"                                     \
    "  || group_concat(point, ' ') || '\"/></g>' AS line"                                          \
    "  FROM (SELECT * FROM points ORDER BY run_id, split, first) p GROUP BY run_id, split"         \
    "  ORDER BY run_id, split),"                                                                   \
    "drawn AS (SELECT run_id, '<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"curve\""          \
    " viewBox=\"0 0 300 60\" role=\"img\">' || group_concat(line, '') || '</svg>' AS svg"          \
    "  FROM lines GROUP BY run_id),"

/* The runs, those of a kind and a dataset together: title and result are the heading of their table
 * and of its results. A configuration has its specification at its first seed. */
static const char page_runs_query[] = PAGE_RUNS PAGE_CURVES
    "listed AS (SELECT r.*, r.config_id IS lag(r.config_id) OVER (PARTITION BY r.kind, r.dataset"
    "   ORDER BY r.position, r.L_train, r.L_valid, r.config_id, r.seed, r.run_id) AS again,"
    " CASE r.kind WHEN 'eval' THEN (SELECT printf('%.4f', v.perplexity) FROM evaluations v"
    "   WHERE v.run_id = r.run_id)"
    "  WHEN 'train' THEN (SELECT printf('%.4f', v.final_loss_nats) FROM trainings v"
    "   WHERE v.run_id = r.run_id)"
    "  ELSE (SELECT printf('%.0f', v.wps) FROM benchmarks v WHERE v.run_id = r.run_id) END"
    "  AS result,"
    " CASE r.kind WHEN 'eval' THEN printf('%s, L=%d at %d, %s, %s%s', r.position, r.L_train,"
    "   r.L_valid, r.split, r.protocol, CASE WHEN r.protocol = 'sliding'"
    "   THEN printf(' S=%d', r.stride) ELSE '' END)"
    "  WHEN 'train' THEN printf('%s, L=%d', r.position, r.L_train)"
    "  ELSE printf('%s, L=%d%s, %s', r.position, r.L_train,"
    "   CASE WHEN r.L_valid THEN printf(' at %d', r.L_valid) ELSE '' END, r.mode) END"
    "  || printf(' (model %s, scale %s%s)', r.model, r.scale,"
    "   CASE r.modified WHEN 1 THEN ', modified' ELSE '' END) AS facts"
    " FROM wanted w JOIN run_list r ON r.run_id = w.run_id)"
    "SELECT CASE r.kind WHEN 'train' THEN 'Trainings: ' WHEN 'eval' THEN 'Evaluations: '"
    "  ELSE 'Benchmarks: ' END || coalesce(r.dataset, '') AS title,"
    " CASE r.kind WHEN 'train' THEN '>last loss (nats)' WHEN 'eval' THEN '>perplexity'"
    "  ELSE '>words/s' END AS heading,"
    " r.run_id AS \"<run\", 'r-' || r.run_id AS \"#id\","
    " CASE WHEN again THEN 'the same' ELSE facts END AS \"<configuration\","
    " CASE WHEN NOT again THEN 'c-' || r.config_id END AS \"#id\","
    " CASE WHEN NOT again THEN coalesce(r.spec, '') END AS \"#more\", r.seed AS \">seed\","
    " coalesce(result, nullif(r.state, 'none'), 'not run') AS result,"
    " CASE r.kind WHEN 'eval' THEN r.train_run_id END AS \"~training\","
    " 'r-' || r.train_run_id AS \"#link\","
    " CASE r.kind WHEN 'train' THEN '' END AS \"~loss over updates\", d.svg AS \"#markup\","
    " m.attempt AS \">attempt\", 'm-' || m.machine AS \"<machine\","
    " 'm-' || m.machine AS \"#link\", m.code_id AS \"<code\", m.ended_at AS \"<ended\""
    " FROM listed r LEFT JOIN made m USING (run_id) LEFT JOIN drawn d USING (run_id)"
    " ORDER BY r.kind DESC, r.dataset, r.position, r.L_train, r.L_valid, r.config_id, r.seed,"
    " r.run_id";
enum { RUN_TITLE, RUN_HEADING, RUN_FIRST, RUN_RESULT = 8 };

static int page_runs(struct report_page *p, struct err *e)
{
    struct report_rows all, table;

    TRY(page_query(&all, p, "the list of runs", page_runs_query, e));
    fputs("<section id=\"runs\">\n<h2>Every run</h2>\n<p>A run's id is the hash of its "
          "specification, which opens under its configuration (that of the first seed): "
          "<code>alibi show RUN</code> says the same. Its log is "
          "<code>runs/RUN/ATTEMPT/log</code>.</p>\n",
          p->out);
    for (int32_t i = 0, n; i < all.rows_n; i += n) {
        n = report_rows_alike(&all, i, RUN_TITLE);
        report_rows_slice(&table, &all, RUN_FIRST, all.columns_n - RUN_FIRST, i, n);
        table.name[RUN_RESULT - RUN_FIRST] = all.row[i][RUN_HEADING].text;
        report_rows_arrange(&table);
        report_html(p->out, "<h3>%s</h3>\n", all.row[i][RUN_TITLE].text);
        TRY(report_rows_write(p->out, &table, REPORT_HTML, e));
    }
    fputs("</section>\n", p->out);
    return 0;
}

/* --- the whole ------------------------------------------------------------------------------ */

/* The sentence that the page opens with; supported and judged: claims. */
static int page_open(struct report_page *p, const char *supported, const char *judged,
                     struct err *e)
{
    const char *subject;

    TRY(page_subject(&subject, p, e));
    bool some = judged && strcmp(judged, "0") != 0;
    report_html_open(p->out, page_title);
    report_html(p->out, "<h1>%s</h1>\n<p class=\"lead\">", page_title);
    if (some) report_html(p->out, "%s of %s claims of ", supported, judged);
    report_html(p->out,
                "<em>Attention with Linear Biases Enables Input Length Extrapolation</em> (Press, "
                "Smith, Lewis; ICLR 2022)%s%s.</p>\n",
                some ? " hold in " : ": ", subject);
    return 0;
}

static int page_section(struct report_page *p, int32_t i, struct err *e)
{
    const struct report_item *item = &p->item[i];
    struct report_options o = *p->options;

    o.scale = item->scale;
    o.title = item->title;
    o.format = REPORT_HTML;
    report_html(p->out, "<section class=\"artefact\" id=\"a-%-s\">\n", item->artefact);
    TRY(report_artefact(p->out, p->store, p->project, item->artefact, item->dir, &o, e));
    fputs("</section>\n", p->out);
    return 0;
}

/* The scoreboard, the claims and the provenance. */
static int page_contents(struct report_page *p, const char *sentence, struct err *e)
{
    struct report_rows board;
    char now[CLOCK_TEXT_BYTES];

    clock_utc(now);
    TRY(scoreboard(&board, p, true, e));
    fputs("<section id=\"contents\">\n<h2>Tables and figures</h2>\n<div id=\"board\">\n", p->out);
    TRY(report_rows_write(p->out, &board, REPORT_HTML, e));
    fputs("</div>\n", p->out);
    if (sentence) TRY(write_claims(p, sentence, e));
    report_html(p->out,
                "<details id=\"made\"><summary>What was run, where, by which code</summary>\n"
                "<p>Written by <code>alibi report</code>, version <code>%s</code>, on %s from "
                "<code>results.db</code>.</p>\n",
                code_id(), now);
    TRY(page_made(p, e));
    fputs("</details>\n<p><a href=\"#runs\">Every run</a></p>\n</section>\n", p->out);
    return 0;
}

static int page_write(struct report_page *p, struct err *e)
{
    struct report_rows counts;

    TRY(report_claims_of(&p->claims, &p->judged, &p->arena, p->store, p->project, p->item,
                         p->items_n, e));
    TRY(report_claims_ask(&counts, p->store, &p->claims, NULL, page_counts_sql, e));
    const char *sentence = report_rows_get(&counts, 0, "sentence");
    TRY(page_open(p, report_rows_get(&counts, 0, "supported"),
                  report_rows_get(&counts, 0, "judged"), e));
    if (p->items_n) TRY(page_section(p, 0, e));
    TRY(page_contents(p, sentence, e));
    for (int32_t i = 1; i < p->items_n; i++) TRY(page_section(p, i, e));
    TRY(page_runs(p, e));
    report_html_close(p->out);
    return file_check_output(p->out, e);
}

int report_page(FILE *out, struct store *s, const struct project *p,
                const struct report_item *items, int32_t n, const struct report_options *o,
                struct err *e)
{
    struct report_page page = {
        .out = out, .store = s, .project = p, .options = o, .item = items, .items_n = n};
    struct strbuf wanted;

    arena_init(&page.arena);
    strbuf_init(&wanted, &page.arena);
    strbuf_add(&wanted, "|");
    for (int32_t i = 0; i < n; i++)
        strbuf_addf(&wanted, "%s%s %s|", items[i].artefact, o->variant ? o->variant : "",
                    items[i].scale);
    page.wanted = wanted.text;
    int rc = page_write(&page, e);
    arena_fini(&page.arena);
    return rc;
}
