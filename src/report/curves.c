/* curves.c - draws the view `curves` with gnuplot, as text and as a picture. */
#include "report/rows.h"

#include <string.h>
#include <unistd.h>

#include "base/file.h"

enum { CURVES_NAMED_MAX = 4 };

struct curves {
    struct arena arena;
    const struct report_curves_args *args;
    const char *name; /* of the files in plots/ */
    struct rows runs; /* of runs_sql */
};

/* Returns one row for each run in :runs (ids of 16 digits, a space after each), in that order: its
 * label (method, and settings in which the runs differ, by the last part of their keys unless two
 * end alike), the settings that all share, and its losses, a line each. Runs of several scales
 * differ in almost every setting, and only their scale is shown. Its style is that of the method if
 * no two runs share one, else its number. */
static const char runs_sql[] =
    "WITH RECURSIVE asked(nth, run_id, rest) AS (\n"
    "  SELECT 0, NULL, :runs\n"
    "  UNION ALL SELECT nth + 1, substr(rest, 1, 16), substr(rest, 18) FROM asked\n"
    "  WHERE rest <> ''),\n"
    "trained AS MATERIALIZED (\n"
    "  SELECT min(a.nth) AS nth, t.run_id, t.position, t.L_train, t.seed, t.scale,\n"
    "    coalesce(m.display, t.position) AS method, coalesce(m.style, 5) AS style\n"
    "  FROM asked a JOIN run_list r ON r.run_id = a.run_id\n"
    "  JOIN run_list t ON t.run_id = coalesce(r.train_run_id, r.run_id)\n"
    "  LEFT JOIN position_methods m ON m.position = t.position GROUP BY t.run_id),\n"
    "same AS (\n"
    "  SELECT count(DISTINCT L_train) = 1 AS L, count(DISTINCT seed) = 1 AS seed,\n"
    "    count(DISTINCT scale) = 1 AS scale, count(DISTINCT position) = count(*) AS methods,\n"
    "    count(*) AS runs_n FROM trained),\n"
    "setting AS MATERIALIZED (\n"
    "  SELECT t.run_id, t.position, t.L_train, s.key, s.value\n"
    "  FROM trained t JOIN settings s ON s.run_id = t.run_id\n"
    "  WHERE (s.key LIKE 'model.%' OR s.key LIKE 'train.%' OR s.key = 'data.corpus')\n"
    "  AND s.key NOT IN ('model.position', 'model.name', 'train.seed', 'train.L')),\n"
    "varying AS (\n"
    "  SELECT key FROM setting GROUP BY key\n"
    "  HAVING count(DISTINCT value) > 1 AND count(*) = (SELECT runs_n FROM same)\n"
    "  UNION SELECT key FROM setting GROUP BY key, position, L_train\n"
    "  HAVING count(DISTINCT value) > 1),\n"
    "short AS (\n"
    "  SELECT key, CASE count(*) OVER (PARTITION BY last) WHEN 1 THEN last ELSE key END AS name\n"
    "  FROM (SELECT key, substr(key, instr(key, '.') + 1) AS last FROM varying)),\n"
    "named AS (\n"
    "  SELECT run_id, group_concat(' ' || name || '=' || value, '') AS settings\n"
    "  FROM (SELECT * FROM setting JOIN short USING (key) ORDER BY run_id, key)\n"
    "  WHERE (SELECT scale FROM same) GROUP BY run_id),\n"
    "labelled AS (\n"
    "  SELECT t.*, t.method || CASE WHEN same.scale THEN '' ELSE ' ' || t.scale END\n"
    "    || CASE WHEN same.L THEN '' ELSE ' L=' || t.L_train END || coalesce(n.settings, '')\n"
    "    || CASE WHEN same.seed THEN '' ELSE ' seed ' || t.seed END AS label,\n"
    "    CASE WHEN same.scale THEN 'scale ' || t.scale ELSE 'several scales' END\n"
    "    || CASE WHEN same.L THEN ', L=' || t.L_train ELSE '' END\n"
    "    || CASE WHEN same.seed THEN ', seed ' || t.seed ELSE '' END AS facts\n"
    "  FROM trained t JOIN same LEFT JOIN named n USING (run_id)),\n"
    "loss AS MATERIALIZED (\n"
    "  SELECT run_id, group_concat(step || ' ' || loss_nats, char(10))\n"
    "      FILTER (WHERE split = 'train') AS training,\n"
    "    group_concat(step || ' ' || loss_nats, char(10))\n"
    "      FILTER (WHERE split <> 'train') AS validation\n"
    "  FROM (SELECT run_id, step, split, CASE split WHEN 'train' THEN avg(loss_nats) OVER latest\n"
    "      ELSE loss_nats END AS loss_nats\n"
    "    FROM curves WHERE run_id IN (SELECT run_id FROM trained) AND loss_nats NOT NULL\n"
    "    WINDOW latest AS (PARTITION BY run_id, split ORDER BY step\n"
    "      RANGE BETWEEN :smooth - 1 PRECEDING AND CURRENT ROW)\n"
    "    ORDER BY run_id, step) GROUP BY run_id)\n"
    "SELECT run_id, CASE count(*) OVER (PARTITION BY label) WHEN 1 THEN label\n"
    "  ELSE label || printf(' (%.8s)', run_id) END AS label, facts, training, validation,\n"
    "  CASE WHEN (SELECT methods FROM same) THEN style\n"
    "    ELSE row_number() OVER (ORDER BY nth) END AS style\n"
    "FROM labelled LEFT JOIN loss USING (run_id) ORDER BY nth";

static int read_runs(struct curves *c, struct store *s, struct err *e)
{
    struct strbuf runs;

    strbuf_init(&runs, &c->arena);
    for (int32_t i = 0; i < c->args->runs_n; i++) strbuf_addf(&runs, "%s ", c->args->run_id[i]);
    int32_t smooth = c->args->smooth > 0 ? c->args->smooth : 1;
    const struct store_param params[] = {
        {"runs", runs.text, STORE_TEXT},
        {"smooth", arena_printf(&c->arena, "%d", smooth), STORE_INTEGER}};
    TRY(report_rows_query(&c->runs, &c->arena, s, NULL, runs_sql, params, 2, REPORT_QUERY_LIMIT_S,
                          e));
    for (int32_t i = 0; i < c->runs.rows_n; i++)
        if (!report_rows_get(&c->runs, i, "training") &&
            !report_rows_get(&c->runs, i, "validation"))
            return ERR(e, ERR_NOINPUT, "run %s has no losses yet (only trainings have)",
                       report_rows_get(&c->runs, i, "run_id"));
    return 0;
}

/* Names the picture: "curves-4a69595c-762c78c0" for up to CURVES_NAMED_MAX runs, else with their
 * number. */
static const char *picture_name(struct curves *c)
{
    const struct report_curves_args *args = c->args;
    struct strbuf b;

    strbuf_init(&b, &c->arena);
    strbuf_add(&b, "curves");
    for (int32_t i = 0; i < args->runs_n && i < CURVES_NAMED_MAX; i++)
        strbuf_addf(&b, "-%.8s", args->run_id[i]);
    if (args->runs_n > CURVES_NAMED_MAX)
        strbuf_addf(&b, "-%d-more", args->runs_n - CURVES_NAMED_MAX);
    return b.text;
}

/* Writes two data blocks for each run: training and validations. */
static void write_data(struct curves *c, struct strbuf *data)
{
    static const char *const split[] = {"training", "validation"};

    for (int32_t i = 0; i < 2 * c->runs.rows_n; i++) {
        const char *points = report_rows_get(&c->runs, i / 2, split[i % 2]);
        strbuf_addf(data, "# %s: %s\n%s\n\n\n", split[i % 2],
                    report_rows_get(&c->runs, i / 2, "label"), points ? points : "NaN NaN");
    }
}

/* Writes the script for the terminal: it plots the blocks that have points, each with a legend
 * entry. */
static void write_text_script(struct curves *c, struct strbuf *b)
{
    bool first = true;

    strbuf_addf(b,
                "set terminal dumb %d,%d\nset output OUTPUT\nset xlabel 'update'\n"
                "set ylabel 'loss, nats per token'\nset key top right\nset autoscale xfix\nplot ",
                c->args->columns, c->args->lines);
    for (int32_t i = 0; i < 2 * c->runs.rows_n; i++) {
        const char *split = i % 2 ? "validation" : "training";
        if (!report_rows_get(&c->runs, i / 2, split)) continue;
        strbuf_addf(b, "%s'%s.dat' index %d using 1:2 with %s %d title ", first ? "" : ", ",
                    c->name, i, i % 2 ? "points pointtype" : "lines linetype", i / 2 + 1);
        report_gnuplot_quote(
            b, arena_printf(&c->arena, "%s, %s", report_rows_get(&c->runs, i / 2, "label"), split));
        first = false;
    }
    strbuf_add(b, "\n");
}

/* Writes the script for a picture: one panel with a curve for each run. */
static int write_script(struct curves *c, struct strbuf *b, const struct project *p, struct err *e)
{
    static const char *const files[] = {"preamble.gp", "curves.gp"};
    int32_t n = c->runs.rows_n;
    char *text;

    report_script_begin(b, c->name);
    report_script_text(b, "TITLE", "Loss in training (lines) and on the validation text (marks)");
    const char *facts = report_rows_get(&c->runs, 0, "facts");
    if (c->args->smooth > 1)
        facts = arena_printf(&c->arena, "%s, training losses are means of %d updates", facts,
                             c->args->smooth);
    report_script_text(b, "FACTS", facts);
    strbuf_addf(b,
                "PANELS = 1\narray PANEL_TITLE[1] = ['']\narray PANEL_FIRST[1] = [1]\n"
                "array PANEL_LAST[1] = [%d]\nSEEDS = 1\nFLOOR = 0\nWIDTH_IN = 0\nX_TICS = ''\n"
                "CURVES = %d\narray CURVE_TITLE[CURVES]\narray CURVE_STYLE[CURVES]\n"
                "array CURVE_SHADE[CURVES]\narray CURVE_DASH[CURVES]\n",
                n, n);
    for (int32_t i = 0; i < n; i++) {
        report_script_text(b, arena_printf(&c->arena, "CURVE_TITLE[%d]", i + 1),
                           report_rows_get(&c->runs, i, "label"));
        strbuf_addf(b, "CURVE_STYLE[%d] = %s\n", i + 1, report_rows_get(&c->runs, i, "style"));
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *path = arena_printf(&c->arena, "%s/experiments/%s", p->share, files[i]);
        TRY(file_read(&c->arena, &text, NULL, path, REPORT_MAX_FILE_BYTES, e));
        strbuf_add(b, text);
    }
    strbuf_add(b, "\nunset output\n");
    return 0;
}

/* Draws in one format, into plots/. */
static int draw_curves(struct curves *c, const char *folder, const struct strbuf *data,
                       const struct strbuf *script, const char *format, struct err *e)
{
    const char *const formats[] = {format, NULL};
    const struct report_gnuplot g = {.folder = folder,
                                     .name = c->name,
                                     .data = data,
                                     .script = script,
                                     .format = formats,
                                     .limit_s = REPORT_GNUPLOT_LIMIT_S};

    return report_gnuplot_draw(&c->arena, &g, e);
}

/* Reads a picture and removes it. */
static int take_picture(struct curves *c, char **text, size_t *n, const char *picture,
                        struct err *e)
{
    enum { PICTURE_BYTES_MAX = 1 << 26 };

    TRY(file_read(&c->arena, text, n, picture, PICTURE_BYTES_MAX, e));
    unlink(picture);
    return 0;
}

static int draw_all(FILE *out, struct curves *c, const struct project *p, struct err *e)
{
    const struct report_curves_args *args = c->args;
    const char *folder = project_path(p, &c->arena, "plots");
    struct strbuf data, script;
    char *text;
    size_t n;

    strbuf_init(&data, &c->arena);
    write_data(c, &data);
    strbuf_init(&script, &c->arena);
    write_text_script(c, &script);
    TRY(draw_curves(c, folder, &data, &script, "txt", e));
    TRY(take_picture(c, &text, &n, arena_printf(&c->arena, "%s/%s.txt", folder, c->name), e));
    fwrite(text, 1, n, out);
    if (!args->format) return file_check_output(out, e);
    strbuf_init(&script, &c->arena);
    TRY(write_script(c, &script, p, e));
    TRY(draw_curves(c, folder, &data, &script, args->format, e));
    if (args->path) {
        const char *picture = arena_printf(&c->arena, "%s/%s.%s", folder, c->name, args->format);
        TRY(take_picture(c, &text, &n, picture, e));
        TRY(file_write_named(args->path, text, n, e));
    }
    if (args->path)
        fprintf(out, "%s\n", args->path);
    else
        fprintf(out, "plots/%s.%s\n", c->name, args->format);
    return file_check_output(out, e);
}

int report_curves(FILE *out, struct store *s, const struct project *p,
                  const struct report_curves_args *args, struct err *e)
{
    struct curves c = {.args = args};

    arena_init(&c.arena);
    c.name = picture_name(&c);
    int rc = read_runs(&c, s, e);
    if (rc == 0) rc = draw_all(out, &c, p, e);
    arena_fini(&c.arena);
    return rc;
}
