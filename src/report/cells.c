/* cells.c - the statements behind tables and figures. Each is a chain of common table expressions:
 *
 *   answer    the rows of query.sql, or of a paper.tsv
 *   numbered  the same with "#row", the place in that order
 *   rule, judged, matched   the cells of the view comparison, judged, and the one of each row
 *   joined    the rows with the numbers and the verdict of their cell
 *   keyed     the rows with the place of their group, line and column, and the labels of the keys
 *
 * Columns that are not the answer's begin with "#", tables with report_: query.sql may use any
 * other name. */
#include "report/report_internal.h"

#include <string.h>

/* The protocol: numbers that differ in one of these columns are not comparable. */
static const char *const protocol_columns[] = {"dataset", "model",        "split",    "protocol",
                                               "stride",  "first_window", "precision"};
enum { PROTOCOL_N = sizeof protocol_columns / sizeof *protocol_columns };

/* A statement being written. */
struct statement {
    struct strbuf text;
    struct arena *arena;
    const struct report_keys *keys;
    const char *group[REPORT_GROUPS_MAX + PROTOCOL_N];
    int32_t group_n;
};

#define PUT(q, ...) strbuf_addf(&(q)->text, __VA_ARGS__)

/* --- names ---------------------------------------------------------------------------------- */

/* A column of the answer; NULL, in SQL, where it has none of this name. */
static const char *column(const struct statement *q, const char *name)
{
    return report_answer_has(q->keys->answer, name) ? str_quote(q->arena, name, '"') : "NULL";
}

/* The companion column NAME_nominal, or NULL in C. */
static const char *nominal(const struct statement *q, const char *name)
{
    const char *companion = arena_printf(q->arena, "%s_nominal", name);
    return report_answer_has(q->keys->answer, companion) ? str_quote(q->arena, companion, '"')
                                                         : NULL;
}

/* Whether a length is not the paper's. */
static const char *is_scaled(const struct statement *q, const char *name)
{
    const char *paper = nominal(q, name);
    return paper ? arena_printf(q->arena, "coalesce(%s <> %s, 0)", paper, column(q, name)) : "0";
}

static int check_column(const struct report_answer *r, const char *name, struct err *e)
{
    if (report_answer_has(r, name)) return 0;
    return ERR(e, ERR_DATA, "table.txt names the column %s, which the rows do not have%s", name,
               str_hint(name, r->name, (size_t)r->columns_n).text);
}

static int check_columns(const struct report_keys *k, struct err *e)
{
    for (int32_t i = 0; i < k->group_n; i++) TRY(check_column(k->answer, k->group[i], e));
    for (int32_t i = 0; i < k->lines_n; i++) TRY(check_column(k->answer, k->line[i], e));
    TRY(check_column(k->answer, k->column, e));
    TRY(check_column(k->answer, k->value, e));
    for (int32_t i = 0; i < k->extras_n; i++) TRY(check_column(k->answer, k->extra[i].column, e));
    return k->style ? check_column(k->answer, k->style, e) : 0;
}

/* --- the chain ------------------------------------------------------------------------------ */

/* The lines verdict: of table.txt, a row each. */
static void put_rules(struct statement *q, const struct report_layout *l)
{
    PUT(q, "report_rule(metric, near, far, device, within) AS (");
    for (int32_t i = 0; i < l->rules_n; i++)
        PUT(q, "%s(%s, %.17g, %.17g, %s, 'within %g %%')", i ? ", " : "VALUES ",
            str_quote(q->arena, l->rule[i].metric, '\''), l->rule[i].near, l->rule[i].far,
            l->rule[i].device ? str_quote(q->arena, l->rule[i].device, '\'') : "NULL",
            100 * l->rule[i].far);
    PUT(q, "%s),\n", l->rules_n ? "" : "SELECT NULL, NULL, NULL, NULL, NULL WHERE 0");
}

/* One row a cell of the view comparison: what it is, ours, the paper's, the verdict and its words.
 */
static const char judged_sql[] =
    "report_metric_place(metric, place) AS (VALUES ('perplexity', 1), ('train_wps', 2), "
    "('eval_wps', "
    "3)),\n"
    "report_compared AS (\n"
    " SELECT c.metric, coalesce(m.display, c.position) AS method, c.L_train_nominal AS L_train,\n"
    "  c.L_valid_nominal AS L_valid, c.split, c.protocol, c.stride,\n"
    "  nullif(c.origin, 'trained') AS origin, c.seeds, c.ours, c.ours_std, c.paper, c.delta,\n"
    "  c.state, c.device, c.config_id, c.artefact, c.scale, c.dataset, c.position, r.within,\n"
    "  row_number() OVER (ORDER BY coalesce(o.place, 4), c.stride DESC, coalesce(m.place, 99),\n"
    "   c.position, c.L_train_nominal, c.L_valid_nominal, c.split DESC, c.device) AS \"#cell\",\n"
    "  CASE WHEN r.metric IS NULL OR c.paper IS NULL THEN NULL\n"
    "   WHEN c.state = 'not run' THEN 'not run'\n"
    "   WHEN c.metric LIKE '%_wps' AND EXISTS (SELECT 1 FROM benchmarks b\n"
    "    WHERE b.config_id = c.config_id AND b.noisy) THEN 'noisy'\n"
    "   WHEN r.device IS NOT NULL AND coalesce(instr(c.device, r.device), 0) = 0\n"
    "    THEN 'other device'\n"
    "   WHEN abs(c.ours - c.paper) <= r.near * c.paper THEN 'reproduced'\n"
    "   WHEN abs(c.ours - c.paper) <= r.far * c.paper THEN 'within'\n"
    "   ELSE 'not reproduced' END AS verdict\n"
    " FROM comparison c LEFT JOIN report_rule r ON r.metric = c.metric\n"
    " LEFT JOIN report_metric_place o ON o.metric = c.metric\n"
    " LEFT JOIN position_methods m ON m.position = c.position\n"
    " WHERE c.artefact = :artefact AND c.scale = :scale),\n"
    "report_judged AS MATERIALIZED (\n"
    " SELECT *, CASE verdict WHEN 'within' THEN within\n"
    "  WHEN 'other device' THEN CASE WHEN ours IS NULL THEN '–'\n"
    "   ELSE printf('× %.2f on %s', ours / paper, coalesce(device, '?')) END\n"
    "  WHEN 'noisy' THEN 'not judged: the machine was busy'\n"
    "  ELSE verdict END AS said\n"
    " FROM report_compared)";

/* The cell of each row: the one of its configuration, lengths and metric; where several devices
 * measured that, the one of the row's own. */
static void put_matched(struct statement *q)
{
    const struct report_layout *l = q->keys->judged;
    const char *own = report_answer_has(q->keys->answer, "compares") ? "compares" : "metric";
    const char *otherwise = l->paper.n ? l->paper.name[0] : l->value;

    PUT(q,
        ",\nreport_matched AS MATERIALIZED (\n SELECT n.\"#row\", j.*,\n"
        "  row_number() OVER (PARTITION BY n.\"#row\" ORDER BY j.device IS %s DESC, j.\"#cell\")\n"
        "   AS \"#pick\"\n"
        " FROM report_numbered n JOIN report_judged j ON j.config_id = %s AND j.L_train IS %s\n"
        "  AND j.L_valid IS %s AND j.metric = coalesce(%s, %s))",
        report_answer_has(q->keys->answer, "machine") ? "n.machine" : "NULL",
        report_answer_has(q->keys->answer, "config_id") ? "n.config_id" : "NULL",
        report_answer_has(q->keys->answer, "L_train_nominal") ? "n.L_train_nominal" : "NULL",
        report_answer_has(q->keys->answer, "L_valid_nominal") ? "n.L_valid_nominal" : "NULL",
        report_answer_has(q->keys->answer, own) ? arena_printf(q->arena, "n.%s", own) : "NULL",
        str_quote(q->arena, otherwise, '\''));
}

static void put_joined(struct statement *q, bool judged)
{
    if (!judged) {
        PUT(q, ",\nreport_joined AS (SELECT *, NULL AS \"#verdict\" FROM report_numbered)");
        return;
    }
    PUT(q, ",\n");
    put_rules(q, q->keys->judged);
    strbuf_add(&q->text, judged_sql);
    put_matched(q);
    PUT(q, ",\nreport_joined AS MATERIALIZED (\n SELECT n.*, m.metric AS \"#compared\", m.ours AS "
           "\"#ours_mean\","
           " m.ours_std AS \"#ours_std\",\n  m.seeds AS \"#seeds\", m.paper AS \"#paper\","
           " m.delta AS \"#delta\", m.said AS \"#verdict\"\n"
           " FROM report_numbered n LEFT JOIN report_matched m ON m.\"#row\" = n.\"#row\" AND "
           "m.\"#pick\" = 1)");
}

static void add_group(struct statement *q, const char *name)
{
    q->group[q->group_n++] = str_quote(q->arena, name, '"');
}

/* The columns of a group: those of the layout, then the protocol, except what the layout shows in
 * the head of lines or columns. */
static void find_groups(struct statement *q, bool all)
{
    const struct report_keys *k = q->keys;

    for (int32_t i = 0; i < k->group_n && !all; i++) add_group(q, k->group[i]);
    for (int32_t i = 0; i < PROTOCOL_N && k->protocol && !all; i++) {
        bool shown = strcmp(k->column, protocol_columns[i]) == 0;
        for (int32_t c = 0; c < k->lines_n; c++)
            shown |= strcmp(k->line[c], protocol_columns[i]) == 0;
        if (!shown && report_answer_has(k->answer, protocol_columns[i]))
            add_group(q, protocol_columns[i]);
    }
}

/* "PARTITION BY" the columns of a group and these. */
static const char *partition(const struct statement *q, const char *const *more, int32_t more_n)
{
    struct strbuf b;

    strbuf_init(&b, q->arena);
    strbuf_add(&b, "PARTITION BY NULL");
    for (int32_t i = 0; i < q->group_n; i++) strbuf_addf(&b, ", %s", q->group[i]);
    for (int32_t i = 0; i < more_n; i++) strbuf_addf(&b, ", %s", str_quote(q->arena, more[i], '"'));
    return b.text;
}

/* Whether a value is a finite number. */
#define IS_NUMBER "(typeof(%s) IN ('integer', 'real') AND abs(%s) < 9e999)"

/* The label of a key, and for a sort of its values: as numbers where all of the group are. */
static void put_key(struct statement *q, const char *name, const char *label)
{
    const char *own = column(q, name), *paper = nominal(q, name);
    const char *same = partition(q, &name, 1);

    if (!paper) {
        PUT(q, ",\n  %s AS \"#%s\"", own, label);
    } else {
        const char *low = arena_printf(q->arena, "min(%s) OVER (%s)", paper, same);
        const char *high = arena_printf(q->arena, "max(%s) OVER (%s)", paper, same);
        PUT(q,
            ",\n  %s || CASE WHEN %s IS NULL OR %s = %s AND %s = %s THEN ''\n"
            "   WHEN %s = %s THEN printf(' (%%.0f)', %s)\n"
            "   ELSE printf(' (%%.0f–%%.0f)', %s, %s) END AS \"#%s\"",
            own, low, low, own, high, own, low, high, low, low, high, label);
    }
    PUT(q,
        ",\n  min(typeof(%s) <> 'text') OVER (%s) AS \"#%s_right\","
        "\n  CASE WHEN min(typeof(%s) <> 'text') OVER (%s) THEN %s\n"
        "   ELSE min(\"#row\") OVER (%s) END AS \"#%s_order\"",
        own, partition(q, NULL, 0), label, own, partition(q, NULL, 0), own, same, label);
}

/* What a cell came from: the distinct values of each column in it, in the order of the rows. */
static const struct {
    const char *name, *column;
} traces[] = {{"runs", "run_id"},
              {"devices", "device"},
              {"machines", "machine"},
              {"codes", "code_id"},
              {"sources", "source"}};
enum { TRACES_N = sizeof traces / sizeof *traces };

static void put_keyed(struct statement *q, bool all)
{
    const struct report_keys *k = q->keys;
    const char *cell[REPORT_MAX_NAMES + 2]; /* columns of a line, of a cell, and one more */

    PUT(q, ",\nreport_keyed AS MATERIALIZED (\n SELECT *, min(\"#row\") OVER (%s) AS \"#group\"",
        partition(q, NULL, 0));
    PUT(q, ",\n  min(\"#row\") OVER (%s) AS \"#line\"", partition(q, k->line, k->lines_n));
    PUT(q, ",\n  min(\"#row\") OVER (%s) AS \"#column\"", partition(q, &k->column, 1));
    put_key(q, k->column, "label");
    for (int32_t i = 0; i < k->lines_n; i++)
        put_key(q, k->line[i], arena_printf(q->arena, "line%d", i));
    for (int32_t i = 0; i < k->group_n && q->group_n; i++)
        put_key(q, k->group[i], arena_printf(q->arena, "group%d", i));
    memcpy(cell, k->line, sizeof k->line);
    cell[k->lines_n] = k->column;
    for (int32_t i = 0; i < TRACES_N; i++) {
        cell[k->lines_n + 1] = traces[i].column;
        if (report_answer_has(k->answer, traces[i].column))
            PUT(q,
                ",\n  CASE WHEN row_number() OVER (%s ORDER BY \"#row\") = 1 THEN %s END AS"
                " \"#%s\"",
                partition(q, cell, k->lines_n + 2), traces[i].column, traces[i].name);
        else
            PUT(q, ",\n  NULL AS \"#%s\"", traces[i].name);
    }
    PUT(q, "\n FROM report_joined");
    for (int32_t i = 0; i < k->lines_n && !all; i++)
        PUT(q, "%s%s IS NOT NULL", i ? " OR " : " WHERE ", column(q, k->line[i]));
    PUT(q, ")");
}

/* judged: the rows have the verdicts of their cells. */
static void start(struct statement *q, struct arena *a, const struct report_keys *k, bool all,
                  bool judged)
{
    *q = (struct statement){.arena = a, .keys = k};
    strbuf_init(&q->text, a);
    find_groups(q, all);
    report_answer_begin(&q->text, q->keys->answer);
    put_joined(q, judged);
    put_keyed(q, all);
}

static int ask(struct report_rows *out, const struct statement *q, struct store *s, struct err *e)
{
    const struct store_param params[] = {{"artefact", q->keys->artefact},
                                         {"scale", q->keys->scale}};

    return report_rows_query(out, q->arena, s, q->keys->answer->where, q->text.text, params, 2,
                             REPORT_QUERY_LIMIT_S, e);
}

/* --- groups --------------------------------------------------------------------------------- */

/* The distinct values of a column in a group as "a, b": numbers in their order, texts in that of
 * the answer. */
static void put_distinct(struct statement *q, const char *name)
{
    const char *own = column(q, name);

    PUT(q,
        ",\n (SELECT group_concat(v, ', ') FROM (SELECT %s AS v FROM report_keyed k\n"
        "   WHERE k.\"#group\" = g.\"#group\" AND %s IS NOT NULL GROUP BY v\n"
        "   ORDER BY CASE typeof(v) WHEN 'text' THEN 0 ELSE v END, min(k.\"#row\"))) AS \"%s\"",
        own, own, name);
}

int report_cells_groups(struct report_rows *out, struct arena *a, struct store *s,
                        const struct report_keys *k, bool all, struct err *e)
{
    static const char *const facts[] = {"dataset",  "model",  "params",    "split",
                                        "protocol", "stride", "precision", "machine",
                                        "seed",     "source", "scale",     "corpus"};
    struct statement q;

    TRY(check_columns(k, e));
    start(&q, a, k, all, false);
    const char *value = column(&q, k->value);
    PUT(&q,
        ",\nreport_run AS (SELECT \"#group\", min(\"#row\"), " IS_NUMBER
        " AS has FROM report_keyed\n"
        " GROUP BY \"#group\", %s)\n",
        value, value, report_answer_has(k->answer, "run_id") ? "run_id" : "\"#row\"");
    PUT(&q, "SELECT g.\"#group\" AS \"group\"");
    for (int32_t i = 0; i < k->group_n && !all; i++) PUT(&q, ", g.\"#group%d\" AS label%d", i, i);
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) put_distinct(&q, facts[i]);
    PUT(&q,
        ",\n min(%s) AS tokens_low, max(%s) AS tokens_high, min(%s) AS parameters_low,\n"
        " max(%s) AS parameters_high, max(%s) AS modified, max(max(coalesce(%s, 0),\n"
        " coalesce(%s, 0))) AS noisy",
        column(&q, "tokens"), column(&q, "tokens"), column(&q, "parameters"),
        column(&q, "parameters"), column(&q, "modified"), column(&q, "noisy"),
        column(&q, "alone_noisy"));
    PUT(&q, ",\n max(%s OR %s) AS scaled, max(%s) AS x_scaled", is_scaled(&q, k->column),
        is_scaled(&q, "L_train"),
        is_scaled(&q, k->judged && k->judged->x ? k->judged->x : k->column));
    PUT(&q, ",\n (SELECT count(*) FROM report_run r WHERE r.\"#group\" = g.\"#group\") AS all_n"
            ",\n (SELECT sum(NOT has) FROM report_run r WHERE r.\"#group\" = g.\"#group\") AS "
            "missing_n\n"
            "FROM report_keyed g GROUP BY g.\"#group\" ORDER BY g.\"#group\"");
    return ask(out, &q, s, e);
}

/* --- cells ---------------------------------------------------------------------------------- */

/* One row a line: its place in the group, its labels and its own numbers, each the mean over its
 * trainings. */
static void put_lines(struct statement *q)
{
    const struct report_keys *k = q->keys;

    for (int32_t i = 0; i < k->extras_n; i++)
        PUT(q, "%s, avg(v%d) AS extra%d",
            i ? "" : ",\nreport_extra AS (SELECT \"#group\", \"#line\"", i, i);
    if (k->extras_n)
        PUT(q, "\n FROM (SELECT \"#group\", \"#line\", %s AS run",
            report_answer_has(k->answer, "train_run_id") ? "train_run_id" : "\"#row\"");
    for (int32_t i = 0; i < k->extras_n; i++) {
        const char *value = column(q, k->extra[i].column);
        PUT(q, ",\n  max(CASE WHEN " IS_NUMBER " THEN %s END) AS v%d", value, value, value, i);
    }
    if (k->extras_n)
        PUT(q, "\n  FROM report_keyed GROUP BY 1, 2, 3 ORDER BY 1, 2, 3) GROUP BY 1, 2)");
    PUT(q,
        ",\nreport_line AS (SELECT \"#group\", \"#line\", min(\"#row\"),\n"
        "  dense_rank() OVER (PARTITION BY \"#group\" ORDER BY %s\"#line\") - 1 AS line_n",
        k->lines_n == 1 ? "\"#line0_order\", " : "");
    for (int32_t i = 0; i < k->lines_n; i++)
        PUT(q, ",\n  \"#line%d\" AS label%d, \"#line%d_right\" AS right%d", i, i, i, i);
    PUT(q,
        ",\n  coalesce((SELECT m.style FROM position_methods m WHERE m.position = %s), 5) AS style,"
        "\n  %s AS train_run_id\n FROM report_keyed k GROUP BY 1, 2)",
        k->style ? arena_printf(q->arena, "k.%s", column(q, k->style)) : "NULL",
        column(q, "train_run_id"));
}

/* Each run of a cell with its number, and the cell's mean beside it. */
static void put_means(struct statement *q)
{
    const char *value = column(q, q->keys->value);

    PUT(q,
        ",\nreport_run AS (SELECT \"#group\", \"#line\", \"#column\", %s AS run, min(\"#row\"),\n"
        "  %s AS config_id, %s AS number FROM report_keyed WHERE " IS_NUMBER
        " GROUP BY 1, 2, 3, 4),\n"
        "report_centred AS (SELECT *, avg(number) OVER cell AS mean FROM report_run WINDOW cell AS "
        "(\n"
        "  PARTITION BY \"#group\", \"#line\", \"#column\" ORDER BY run\n"
        "  ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)),\n"
        "report_mean AS (SELECT \"#group\", \"#line\", \"#column\", count(*) AS n, mean,\n"
        "  CASE WHEN count(*) > 1 THEN sqrt(sum((number - mean) * (number - mean)) / (count(*) - "
        "1))\n"
        "   ELSE 0 END AS std, count(DISTINCT config_id) AS configs_n,\n"
        "  replace(group_concat(DISTINCT config_id), ',', ', ') AS configs\n"
        " FROM (SELECT * FROM report_centred ORDER BY 1, 2, 3, run) GROUP BY 1, 2, 3)",
        report_answer_has(q->keys->answer, "run_id") ? "run_id" : "\"#row\"",
        column(q, "config_id"), value, value, value);
}

static void put_cells(struct statement *q)
{
    const struct report_keys *k = q->keys;
    const char *paper = nominal(q, k->column);

    PUT(q,
        ",\nreport_cell AS (SELECT \"#group\", \"#line\", \"#column\", min(\"#row\"), \"#label\",\n"
        "  \"#label_order\", %s AS x, %s AS x_nominal, %s AS metric, %s AS config_id, \n"
        "  max(%s AND coalesce(%s, '') NOT LIKE 'memory%%') AS noisy,\n"
        "  group_concat(DISTINCT \"#verdict\") AS verdict, group_concat(DISTINCT %s) AS why",
        column(q, k->column), paper ? paper : column(q, k->column), column(q, "metric"),
        column(q, "config_id"), column(q, "noisy"), column(q, "metric"),
        k->why ? column(q, k->why) : "NULL");
    for (int32_t i = 0; i < TRACES_N; i++)
        PUT(q, ",\n  group_concat(\"#%s\", ', ') AS %s", traces[i].name, traces[i].name);
    PUT(q, "\n FROM (SELECT * FROM report_keyed ORDER BY \"#row\") GROUP BY 1, 2, 3),\n"
           "report_cells AS (SELECT c.\"#group\" AS \"group\",\n"
           " dense_rank() OVER (PARTITION BY c.\"#group\" ORDER BY c.\"#label_order\","
           " c.\"#column\") - 1 AS column_n,\n"
           " c.\"#label\" AS label, c.x, c.x_nominal, c.metric, c.config_id, c.noisy, c.verdict, "
           "c.why,\n"
           " coalesce(m.n, 0) AS n, m.mean, m.std, m.configs_n, m.configs, l.*");
    for (int32_t i = 0; i < k->extras_n; i++) PUT(q, ", e.extra%d", i);
    for (int32_t i = 0; i < TRACES_N; i++) PUT(q, ", c.%s", traces[i].name);
    PUT(q,
        "\nFROM report_cell c JOIN report_line l USING (\"#group\", \"#line\")\n"
        " LEFT JOIN report_mean m USING (\"#group\", \"#line\", \"#column\")%s)\n",
        k->extras_n ? " JOIN report_extra e USING (\"#group\", \"#line\")" : "");
}

/* Unlike configurations are not averaged. */
static int check_alike(const struct report_rows *cells, struct err *e)
{
    double n;

    for (int32_t i = 0; i < cells->rows_n; i++)
        if (report_rows_real(&n, cells, i, "configs_n") && n > 1)
            return ERR(
                e, ERR_DATA,
                "%.0f configurations (config_id %s) fall into one cell; name the column that "
                "tells them apart in rows: or group: of table.txt",
                n, report_rows_get(cells, i, "configs"));
    return 0;
}

static int start_cells(struct statement *q, struct arena *a, const struct report_keys *k,
                       struct err *e)
{
    TRY(check_columns(k, e));
    start(q, a, k, false, k->judged != NULL);
    put_lines(q);
    put_means(q);
    put_cells(q);
    return 0;
}

int report_cells(struct report_rows *out, struct arena *a, struct store *s,
                 const struct report_keys *k, struct err *e)
{
    struct statement q;

    TRY(start_cells(&q, a, k, e));
    PUT(&q, "SELECT * FROM report_cells ORDER BY 1, column_n, line_n");
    TRY(ask(out, &q, s, e));
    return check_alike(out, e);
}

/* Points are the lines of a data file; an empty one is where cells without a number are between
 * two of them. Curves of one style in a panel differ in shade. */
static const char curves_sql[] =
    ", report_placed AS (SELECT *, row_number() OVER (PARTITION BY \"group\", line_n\n"
    "  ORDER BY column_n) AS place FROM report_cells),\n"
    "report_point AS (SELECT *, place - lag(place) OVER (PARTITION BY \"group\", line_n\n"
    "  ORDER BY place) AS step FROM report_placed\n"
    " WHERE n > 0 AND typeof(x) IN ('integer', 'real') AND abs(x) < 9e999),\n"
    "report_points AS (SELECT \"group\", line_n, count(*) AS points_n, max(n) AS seeds,\n"
    "  min(x) AS x_low, max(x) AS x_high, min(mean) AS y_low, max(mean) AS y_high,\n"
    "  group_concat(CASE WHEN step > 1 THEN char(10) ELSE '' END ||\n"
    "   printf('%.10g %.10g %.10g %d %.10g # %s', x, mean, coalesce(std, 0), n,\n"
    "    coalesce(x_nominal, x), coalesce(runs, 'paper')), char(10)) AS points\n"
    " FROM (SELECT * FROM report_point ORDER BY \"group\", line_n, place) GROUP BY 1, 2)\n"
    "SELECT l.\"group\", coalesce(l.label0, '') AS title, l.style, g.panel, l.configs_n, "
    "l.configs,\n"
    " p.points, p.points_n, p.seeds, p.x_low, p.x_high, p.y_low, p.y_high,\n"
    " CASE count(*) OVER same WHEN 1 THEN 1.0 ELSE (row_number() OVER (same ORDER BY l.line_n) -\n"
    "  1.0) / (count(*) OVER same - 1) END AS shade\n"
    "FROM (SELECT \"group\", line_n, label0, style, max(configs_n) AS configs_n, configs\n"
    "  FROM report_cells GROUP BY 1, 2) l\n"
    " JOIN (SELECT \"#group\" AS \"group\", ";

int report_cells_curves(struct report_rows *out, struct arena *a, struct store *s,
                        const struct report_keys *k, struct err *e)
{
    struct statement q;

    TRY(start_cells(&q, a, k, e));
    strbuf_add(&q.text, curves_sql);
    PUT(&q,
        "%s AS panel FROM report_keyed GROUP BY 1) g USING (\"group\")\n"
        " LEFT JOIN report_points p USING (\"group\", line_n)\n"
        "WINDOW same AS (PARTITION BY l.\"group\", l.style) ORDER BY l.\"group\", l.line_n",
        k->group_n ? "\"#group0\"" : "NULL");
    TRY(ask(out, &q, s, e));
    return check_alike(out, e);
}

/* --- beside the paper ----------------------------------------------------------------------- */

/* All cells; beside each, how many have each verdict, and all of that in a sentence: a bound of
 * "within" is a verdict of its own. */
static const char counted_sql[] =
    "\nSELECT *, count(paper) OVER () AS cells_n,\n"
    " nullif(sum(verdict = 'reproduced') OVER (), 0) AS reproduced_n,\n"
    " nullif(sum(verdict = 'within') OVER (), 0) AS within_n,\n"
    " nullif(sum(verdict = 'not reproduced') OVER (), 0) AS not_reproduced_n,\n"
    " nullif(sum(verdict = 'not run') OVER (), 0) AS not_run_n,\n"
    " nullif(sum(verdict = 'other device') OVER (), 0) AS other_device_n,\n"
    " nullif(sum(verdict = 'noisy') OVER (), 0) AS noisy_n,\n"
    " (SELECT printf('Verdicts on %d number%s of the paper: %s.', sum(n),\n"
    "   CASE sum(n) WHEN 1 THEN '' ELSE 's' END, group_concat(n || ' ' || words, ', ')) FROM (\n"
    "  SELECT count(*) AS n, words FROM (SELECT \"#cell\", CASE verdict WHEN 'within' THEN said\n"
    "    WHEN 'other device' THEN 'on another device (ratio alone)'\n"
    "    WHEN 'noisy' THEN 'measured on a busy machine (not judged)' ELSE verdict END AS words,\n"
    "    CASE verdict WHEN 'reproduced' THEN 1 WHEN 'within' THEN 2 WHEN 'not reproduced' THEN 3\n"
    "     WHEN 'other device' THEN 4 WHEN 'noisy' THEN 5 ELSE 6 END AS place\n"
    "   FROM report_judged WHERE verdict IS NOT NULL)\n"
    "  GROUP BY place, words ORDER BY place, min(\"#cell\")) HAVING sum(n) > 0) AS sentence\n"
    "FROM report_judged ORDER BY \"#cell\"";

int report_cells_judged(struct report_rows *out, struct arena *a, struct store *s,
                        const struct report_folder *f, const char *scale, struct err *e)
{
    const struct report_answer none = {.where = "comparison with the paper"};
    const struct report_keys k = {
        .answer = &none, .judged = &f->layout, .artefact = f->points, .scale = scale};
    struct statement q = {.arena = a, .keys = &k};

    strbuf_init(&q.text, a);
    strbuf_add(&q.text, "WITH ");
    put_rules(&q, &f->layout);
    strbuf_add(&q.text, judged_sql);
    strbuf_add(&q.text, counted_sql);
    return ask(out, &q, s, e);
}

int report_cells_rows(struct report_rows *out, struct arena *a, struct store *s,
                      const struct report_keys *k, struct err *e)
{
    /* What a cell that no row shows has in the columns of the answer. */
    static const struct {
        const char *column, *cell;
    } known[] = {{"artefact", "artefact"},  {"scale", "scale"},     {"dataset", "dataset"},
                 {"position", "position"},  {"method", "method"},   {"metric", "metric"},
                 {"L_train", "L_train"},    {"L_valid", "L_valid"}, {"L_train_nominal", "L_train"},
                 {"split", "split"},        {"stride", "stride"},   {"L_valid_nominal", "L_valid"},
                 {"device", "device"},      {"machine", "device"},  {"protocol", "protocol"},
                 {"config_id", "config_id"}};
    struct statement q = {.arena = a, .keys = k};
    struct strbuf columns;

    strbuf_init(&q.text, a);
    report_answer_begin(&q.text, k->answer);
    put_joined(&q, true);
    strbuf_init(&columns, a);
    for (int32_t c = 0; c < k->answer->columns_n; c++)
        strbuf_addf(&columns, "%s, ", str_quote(a, k->answer->name[c], '"'));
    PUT(&q,
        "\nSELECT %s\"#compared\" AS compared, \"#ours_mean\" AS ours_mean,"
        " \"#ours_std\" AS ours_std,\n \"#seeds\" AS seeds, \"#paper\" AS paper,"
        " \"#delta\" AS delta, \"#verdict\" AS verdict FROM (\n"
        "SELECT %s\"#compared\", \"#ours_mean\", \"#ours_std\", \"#seeds\", \"#paper\","
        " \"#delta\", \"#verdict\",\n 0 AS \"#part\", \"#row\" AS \"#place\" FROM report_joined\n"
        "UNION ALL SELECT ",
        columns.text, columns.text);
    for (int32_t c = 0; c < k->answer->columns_n; c++) {
        const char *cell = "NULL";
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            if (strcmp(known[i].column, k->answer->name[c]) == 0) cell = known[i].cell;
        PUT(&q, "%s, ", cell);
    }
    PUT(&q,
        "metric, ours, ours_std, seeds, paper, delta, said, 1, \"#cell\" FROM report_judged\n"
        " WHERE paper IS NOT NULL AND EXISTS (SELECT 1 FROM report_numbered) AND \"#cell\" NOT IN\n"
        "  (SELECT \"#cell\" FROM report_matched WHERE \"#pick\" = 1)\n"
        ") ORDER BY \"#part\", \"#place\"");
    return ask(out, &q, s, e);
}
