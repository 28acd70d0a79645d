/* cells.c - the statements behind tables and figures: the rows of an answer by their meaning, which
 * this file writes, then the parts of cells.sql. */
#include "report/cells.h"

#include <string.h>

#include "report/cells.inc"

/* The protocol: numbers that differ in one of these columns are not comparable. */
static const char *const protocol_columns[] = {"dataset", "model",        "split",    "protocol",
                                               "stride",  "first_window", "precision"};
enum { PROTOCOL_N = sizeof protocol_columns / sizeof *protocol_columns };

/* Columns of an answer with a fixed meaning; the first FACTS_N are listed in the facts of a group.
 */
static const char *const known_columns[] = {
    "dataset",         "model",          "params",    "split",   "protocol",     "stride",
    "precision",       "machine",        "seed",      "source",  "scale",        "corpus",
    "metric",          "run_id",         "config_id", "tokens",  "parameters",   "modified",
    "noisy",           "alone_noisy",    "device",    "code_id", "train_run_id", "L_train",
    "L_train_nominal", "L_valid_nominal"};
enum { FACTS_N = 12, KNOWN_N = sizeof known_columns / sizeof *known_columns };

/* An SQL statement under construction. */
struct statement {
    struct strbuf text;
    struct arena *arena;
    const struct report_keys *keys;
    bool whole; /* all rows are one group */
};

#define PUT(q, ...) strbuf_addf(&(q)->text, __VA_ARGS__)

static const char *quoted(const struct statement *q, const char *name)
{
    return str_quote(q->arena, name, '"');
}

static int check_column(const struct report_answer *r, const char *name, struct err *e)
{
    if (report_answer_has(r, name)) return 0;
    return ERR(e, ERR_DATA, "table.txt names the column %s, which the rows do not have%s", name,
               str_hint(name, r->rows.name, (size_t)r->rows.columns_n).text);
}

static int check_columns(const struct report_keys *k, struct err *e)
{
    for (int32_t i = 0; i < k->group.n; i++) TRY(check_column(k->answer, k->group.name[i], e));
    for (int32_t i = 0; i < k->line.n; i++) TRY(check_column(k->answer, k->line.name[i], e));
    TRY(check_column(k->answer, k->column, e));
    TRY(check_column(k->answer, k->value, e));
    for (int32_t i = 0; i < k->extras_n; i++) TRY(check_column(k->answer, k->extra[i].column, e));
    return k->style ? check_column(k->answer, k->style, e) : 0;
}

/* --- the rows of an answer ------------------------------------------------------------------ */

/* Selects a column of the answer under the name of its role; `otherwise` if the answer lacks it. */
static void put_role(struct statement *q, const char *role, const char *name, const char *otherwise)
{
    PUT(q, ", %s AS %s", report_answer_has(q->keys->answer, name) ? quoted(q, name) : otherwise,
        role);
}

static void put_key(struct statement *q, const char *role, const char *name)
{
    put_role(q, role, name, "NULL");
    put_role(q, arena_printf(q->arena, "%s_paper", role),
             name ? arena_printf(q->arena, "%s_nominal", name) : NULL, "NULL");
}

static void put_keys(struct statement *q, const char *role, const struct report_names *names)
{
    for (int32_t i = 0; i < REPORT_MAX_NAMES; i++)
        put_key(q, arena_printf(q->arena, "%s%d", role, i), i < names->n ? names->name[i] : NULL);
}

/* Selects a column as a finite number or NULL. */
static void put_number(struct statement *q, const char *role, const char *name)
{
    const char *own = name ? quoted(q, name) : "NULL";

    PUT(q, ", CASE WHEN typeof(%s) IN ('integer', 'real') AND abs(%s) < 9e999 THEN %s END AS %s",
        own, own, own, role);
}

/* Adds the columns by which rows are grouped. They are the columns of the layout, then those of the
 * protocol. A column that the layout shows in the head of lines or columns is left out. */
static void put_part(struct statement *q)
{
    const struct report_keys *k = q->keys;

    PUT(q, ", dense_rank() OVER (ORDER BY NULL");
    for (int32_t i = 0; i < k->group.n && !q->whole; i++)
        PUT(q, ", %s", quoted(q, k->group.name[i]));
    for (int32_t i = 0; i < PROTOCOL_N && k->protocol && !q->whole; i++) {
        bool shown = strcmp(k->column, protocol_columns[i]) == 0;
        for (int32_t c = 0; c < k->line.n; c++)
            shown |= strcmp(k->line.name[c], protocol_columns[i]) == 0;
        if (!shown && report_answer_has(k->answer, protocol_columns[i]))
            PUT(q, ", %s", protocol_columns[i]);
    }
    PUT(q, ") AS part");
}

/* Writes the table report_row of cells.sql. */
static void put_rows(struct statement *q)
{
    const struct report_keys *k = q->keys;
    const struct report_layout *l = k->judged;
    const char *metric = report_answer_has(k->answer, "compares") ? "compares" : "metric";

    report_answer_begin(&q->text, k->answer);
    PUT(q, ",\nreport_row AS MATERIALIZED (\n SELECT \"#row\" AS row");
    put_part(q);
    put_keys(q, "group", &k->group);
    put_keys(q, "line", &k->line);
    put_key(q, "head", k->column);
    put_key(q, "x", l && l->x ? l->x : k->column);
    put_number(q, "number", k->value);
    put_number(q, "drawn", l ? l->y : NULL);
    for (int32_t i = 0; i < REPORT_MAX_EXTRAS; i++)
        put_number(q, arena_printf(q->arena, "extra%d", i),
                   i < k->extras_n ? k->extra[i].column : NULL);
    put_role(q, "style", k->style, "NULL");
    put_role(q, "state", k->why, "NULL");
    put_role(q, "compared", metric, "NULL");
    put_role(q, "run", "run_id", "\"#row\"");
    put_role(q, "training", "train_run_id", "\"#row\"");
    for (int i = 0; i < KNOWN_N; i++) put_role(q, known_columns[i], known_columns[i], "NULL");
    PUT(q, "\n FROM report_numbered),\n");
}

/* Writes the verdict: lines of table.txt as rows, and the cells that they judge. */
static void put_judged(struct statement *q)
{
    const struct report_layout *l = q->keys->judged;

    PUT(q, "report_rule(metric, near, far, device, within) AS (");
    for (int32_t i = 0; i < l->rules_n; i++)
        PUT(q, "%s(%s, %.17g, %.17g, %s, 'within %g %%')", i ? ", " : "VALUES ",
            str_quote(q->arena, l->rule[i].metric, '\''), l->rule[i].near, l->rule[i].far,
            l->rule[i].device ? str_quote(q->arena, l->rule[i].device, '\'') : "NULL",
            100 * l->rule[i].far);
    PUT(q, "%s),\n%s", l->rules_n ? "" : "SELECT NULL, NULL, NULL, NULL, NULL WHERE 0", judged_sql);
}

bool report_is_paper(const char *scale)
{
    return strcmp(scale, "paper") == 0;
}

static void start_statement(struct statement *q, struct arena *a, const struct report_keys *k)
{
    *q = (struct statement){.arena = a, .keys = k};
    strbuf_init(&q->text, a);
}

/* Writes the rows that are shown; judged: with the verdicts of their cells. */
static void put_shown(struct statement *q, bool judged)
{
    put_rows(q);
    if (judged) {
        put_judged(q);
        PUT(q, ",\n");
    }
    PUT(q, "%s,\n%s,\n", judged ? matched_sql : unmatched_sql, shown_sql);
}

static int run_statement(struct rows *out, const struct statement *q, struct store *s,
                         struct err *e)
{
    const struct report_keys *k = q->keys;
    const struct report_layout *l = k->judged;
    const struct store_param params[] = {
        {"artefact", k->artefact, STORE_TEXT},
        {"scale", k->scale, STORE_TEXT},
        {"metric", l && l->paper.n ? l->paper.name[0] : k->value, STORE_TEXT},
        {"lines_n", k->line.n == 1 ? "1" : "0", STORE_INTEGER},
        {"whole", q->whole ? "1" : "0", STORE_INTEGER},
        {"value", k->value, STORE_TEXT},
        REPORT_GIVEN(k->answer)};

    return report_rows_query(out, q->arena, s, k->answer->where, q->text.text, params,
                             sizeof params / sizeof *params, REPORT_QUERY_LIMIT_S, e);
}

/* --- groups and cells ----------------------------------------------------------------------- */

int report_cells_groups(struct rows *out, struct arena *a, struct store *s,
                        const struct report_keys *k, bool all, struct err *e)
{
    struct statement q;

    TRY(check_columns(k, e));
    start_statement(&q, a, k);
    q.whole = all;
    put_shown(&q, false);
    PUT(&q, "report_name(name) AS (VALUES (NULL)");
    for (int i = 0; i < FACTS_N; i++) PUT(&q, ", ('%s')", known_columns[i]);
    PUT(&q, "),\nreport_fact AS (SELECT grp, row, name, CASE name");
    for (int i = 0; i < FACTS_N; i++)
        PUT(&q, " WHEN '%s' THEN %s", known_columns[i], known_columns[i]);
    PUT(&q, " END AS v FROM report_shown, report_name),\n%s", groups_sql);
    for (int i = 0; i < FACTS_N; i++)
        PUT(&q, ", max(list) FILTER (WHERE name = '%s') AS %s", known_columns[i], known_columns[i]);
    PUT(&q, "\nFROM report_group g JOIN report_title t USING (grp) JOIN report_runs r USING (grp)\n"
            "LEFT JOIN report_values USING (grp) GROUP BY g.grp ORDER BY g.grp");
    return run_statement(out, &q, s, e);
}

/* The settings in which the configurations of a list of ids differ. Those that only some of them
 * have follow from these: a window's sinks differ in no run without a window. */
static const char differing_sql[] =
    "SELECT group_concat(key, ', ') FROM (\n"
    " SELECT key, max(differs) OVER () > differs AS follows FROM (\n"
    "  SELECT key, count(DISTINCT value) > 1 AS differs FROM settings JOIN (\n"
    "   SELECT min(run_id) AS run_id, count(*) OVER () AS n FROM run_list\n"
    "   WHERE instr(:configs, config_id) > 0 GROUP BY config_id) USING (run_id)\n"
    "  WHERE key NOT IN ('eval.train_run', 'train.seed')\n"
    "  GROUP BY key HAVING differs OR count(*) < n) ORDER BY key)\n"
    "WHERE NOT follows";

/* Refuses to average unlike configurations. */
static int check_alike(const struct rows *cells, struct store *s, struct err *e)
{
    struct rows differing;

    for (int32_t i = 0; i < cells->rows_n; i++) {
        double n = report_rows_real(cells, i, "configs_n", 0);
        const char *configs = report_rows_get(cells, i, "configs");
        if (n <= 1) continue;
        const struct store_param param = {"configs", configs, STORE_TEXT};
        TRY(report_rows_query(&differing, cells->arena, s, NULL, differing_sql, &param, 1,
                              REPORT_QUERY_LIMIT_S, e));
        const char *keys = report_rows_text(&differing, 0, 0);
        return ERR(
            e, ERR_DATA,
            "%.0f configurations (config_id %s) fall into one cell%s%s; name the column that "
            "tells them apart in rows: or group: of table.txt (settings has those of "
            "evaluations)",
            n, configs, keys ? " and differ in " : "", keys ? keys : "");
    }
    return 0;
}

/* Refuses to show losses a token of different tokenizers in one table or panel. */
static int check_tokenizers(struct arena *a, struct store *s, const struct report_keys *k,
                            struct err *e)
{
    struct statement q;
    struct rows mixed;

    TRY(report_rows_query(&mixed, a, s, NULL,
                          "SELECT 1 FROM results WHERE tokenizer_sha256 IS NOT NULL LIMIT 1", NULL,
                          0, REPORT_QUERY_LIMIT_S, e));
    if (mixed.rows_n == 0) return 0; /* every text has the words of dict.txt */
    start_statement(&q, a, k);
    put_shown(&q, false);
    strbuf_add(&q.text, tokenizers_sql);
    TRY(run_statement(&mixed, &q, s, e));
    if (mixed.rows_n == 0) return 0;
    return ERR(e, ERR_DATA,
               "%s: numbers of the tokenizers %s are not comparable, because their tokens differ; "
               "show bits_per_byte, or a table for each with group: corpus",
               k->value, report_rows_text(&mixed, 0, 0));
}

static int ask_cells(struct rows *out, struct arena *a, struct store *s,
                     const struct report_keys *k, const char *select, struct err *e)
{
    struct statement q;

    TRY(check_columns(k, e));
    TRY(check_tokenizers(a, s, k, e));
    start_statement(&q, a, k);
    put_shown(&q, k->judged && report_is_paper(k->scale));
    PUT(&q, "%s%s", cells_sql, select);
    TRY(run_statement(out, &q, s, e));
    return check_alike(out, s, e);
}

int report_cells(struct rows *out, struct arena *a, struct store *s, const struct report_keys *k,
                 struct err *e)
{
    return ask_cells(out, a, s, k, all_cells_sql, e);
}

int report_cells_curves(struct rows *out, struct arena *a, struct store *s,
                        const struct report_keys *k, struct err *e)
{
    return ask_cells(out, a, s, k, curves_sql, e);
}

/* --- beside the paper ----------------------------------------------------------------------- */

int report_cells_judged(struct rows *out, struct arena *a, struct store *s,
                        const struct report_folder *f, const char *scale, struct err *e)
{
    const struct report_answer none = {.where = "comparison with the paper"};
    const struct report_keys k = {
        .answer = &none, .judged = &f->layout, .artefact = f->points, .scale = scale};
    struct statement q;

    *out = (struct rows){.arena = a};
    if (!report_is_paper(scale)) return 0;
    start_statement(&q, a, &k);
    PUT(&q, "WITH ");
    put_judged(&q);
    strbuf_add(&q.text, counted_sql);
    return run_statement(out, &q, s, e);
}

int report_cells_rows(struct rows *out, struct arena *a, struct store *s,
                      const struct report_keys *k, struct err *e)
{
    /* Columns of report_judged that an answer may have, too. */
    static const char *const shared[] = {
        "artefact", "scale",   "dataset",   "position",        "method",          "metric",
        "L_train",  "L_valid", "split",     "L_train_nominal", "L_valid_nominal", "stride",
        "device",   "machine", "config_id", "protocol"};
    const struct report_answer *r = k->answer;
    struct statement q;

    start_statement(&q, a, k);
    put_rows(&q);
    put_judged(&q);
    PUT(&q, ",\n%s\nSELECT ", matched_sql);
    for (int32_t c = 0; c < r->rows.columns_n; c++) PUT(&q, "n.%s, ", quoted(&q, r->rows.name[c]));
    strbuf_add(&q.text, beside_sql);
    for (int32_t c = 0; c < r->rows.columns_n; c++) {
        const char *cell = "NULL";
        for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
            if (strcmp(shared[i], r->rows.name[c]) == 0) cell = shared[i];
        PUT(&q, "%s, ", cell);
    }
    strbuf_add(&q.text, alone_sql);
    TRY(run_statement(out, &q, s, e));
    if (out->rows_n) out->columns_n -= 2; /* "#part" and "#order" */
    return 0;
}
