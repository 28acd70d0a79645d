/* report.c - one artefact: our tables, the paper's apart, the comparison, the verdicts, the figure.
 *
 * 1. The scale is in every heading and every picture.
 * 2. The paper's numbers are under their own heading, and beside ours only in the view
 *    comparison, which holds them at scale paper alone: there each cell has a verdict, elsewhere
 *    the claims judge the shape.
 * 3. Missing results are counted, with the command that makes them. */

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "report/cells.h"
#include "spec/spec.h"

/* One report while it is written. */
struct report_job {
    FILE *out;
    struct arena arena;
    struct store *store;
    const struct project *project;
    const struct report_options *options;
    struct report_folder folder;
    struct report_answer answer;
    struct report_words words;
    struct rows all;             /* the groups of the whole answer: one row, or none */
    struct rows verdicts;        /* of report_cells_judged */
    struct report_claims claims; /* no rows without a claim.sql */
    const char *title;
    double floor;
    const struct report_claims *judged; /* made before, or NULL */
    bool drawn;                         /* on a page: its figure is there */
    struct rows *gathered; /* of several artefacts, for programs; NULL: rows are written */
};

static bool is_html(const struct report_job *j)
{
    return j->options->format == REPORT_HTML;
}

static bool is_paper(const struct report_job *j)
{
    return report_is_paper(j->options->scale);
}

static void write_line(struct report_job *j, const char *format, ...) ERR_PRINTF(2, 3);

static void write_line(struct report_job *j, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    report_write_paragraph(j->out, arena_vprintf(&j->arena, format, args), j->options->format);
    va_end(args);
}

/* True if this fact holds for every row. */
static bool is_so(const struct report_job *j, const char *column)
{
    const char *text = report_rows_get(&j->all, 0, column);
    return text && strcmp(text, "1") == 0;
}

static void heading(struct report_job *j, const char *text, int level)
{
    if (j->options->format == REPORT_TEXT && level > 1) fputc('\n', j->out);
    report_write_heading(j->out, text, j->options->format, level);
}

/* The corpora of the artefact's runs, with the sizes of the models: one row a corpus. */
static const char subject_sql[] =
    "SELECT CASE WHEN r.corpus = r.dataset THEN '' WHEN r.corpus LIKE 'synthetic-' || r.dataset || "
    "'%'\n"
    "  THEN 'a synthetic stand-in for ' ELSE r.corpus || ' in place of ' END\n"
    " AS instead, r.dataset, min(r.parameters) AS low, max(r.parameters) AS high\n"
    "FROM points p JOIN runs r ON r.run_id = p.run_id\n"
    "WHERE p.artefact = :artefact AND p.scale = :scale AND r.corpus IS NOT NULL\n"
    "GROUP BY r.corpus, r.dataset ORDER BY min(p.point)";

/* The artefact's runs that are not done; N if every configuration was planned with seeds 1 to N. */
static const char undone_sql[] =
    "SELECT sum(undone) AS n, CASE WHEN max(seeds) > 1 AND max(seeds) = min(seeds)\n"
    " AND max(seeds) = max(last) THEN max(seeds) END AS seeds\n"
    "FROM (SELECT sum(r.state <> 'done') AS undone, count(DISTINCT r.seed) AS seeds,\n"
    "  max(r.seed) AS last FROM points p JOIN run_list r USING (run_id)\n"
    " WHERE p.artefact = :artefact AND p.scale = :scale GROUP BY r.config_id)";

/* The seeds above :seeds of which the artefact has results. */
static const char hidden_sql[] =
    "SELECT group_concat(seed, ', ') AS seeds, count(*) AS n FROM (SELECT DISTINCT r.seed\n"
    " FROM points p JOIN run_list r USING (run_id)\n"
    " WHERE p.artefact = :artefact || ' (hidden)' AND p.scale = :scale AND r.kind <> 'train'\n"
    " AND r.state = 'done' ORDER BY r.seed)";

/* The artefact's trainings that are done, if its grid asks for nothing else. */
static const char trainings_only_sql[] =
    "SELECT count(DISTINCT CASE WHEN r.state = 'done' THEN r.run_id END) AS done,\n"
    "  count(DISTINCT r.run_id) AS n\n"
    "FROM points p JOIN run_list r USING (run_id)\n"
    "WHERE p.artefact = :artefact AND p.scale = :scale\n"
    "HAVING n > 0 AND min(r.kind = 'train')";

static int ask_artefact(struct rows *out, struct report_job *j, const char *sql, struct err *e)
{
    const struct store_param params[] = {{"artefact", j->folder.points, STORE_TEXT},
                                         {"scale", j->options->scale, STORE_TEXT}};

    return report_rows_query(out, &j->arena, j->store, j->folder.artefact, sql, params, 2,
                             REPORT_QUERY_LIMIT_S, e);
}

const char *report_dataset_title(const struct report_options *o, const char *dataset)
{
    for (int32_t i = 0; i < o->titles_n; i++)
        if (strcmp(o->titles[i].dataset, dataset) == 0) return o->titles[i].title;
    return dataset;
}

/* Describes the subject: "models of 0.15M parameters on a synthetic stand-in for WikiText-103";
 * NULL without a run. */
static int find_subject(const char **out, struct report_job *j, struct err *e)
{
    struct rows rows;
    struct strbuf b;

    TRY(ask_artefact(&rows, j, subject_sql, e));
    strbuf_init(&b, &j->arena);
    for (int32_t i = 0; i < rows.rows_n; i++) {
        const char *size = report_table_size(&j->arena, report_rows_get(&rows, i, "low"),
                                             report_rows_get(&rows, i, "high"));
        strbuf_addf(&b, "%s%s%s on %s%s", i ? ", " : "", size ? "models of " : "models",
                    size ? size : "", report_rows_get(&rows, i, "instead"),
                    report_dataset_title(j->options, report_rows_get(&rows, i, "dataset")));
    }
    *out = b.n ? b.text : NULL;
    return 0;
}

static int write_scale(struct report_job *j, struct err *e)
{
    const char *subject;

    if (is_paper(j)) {
        write_line(j, "Scale paper: the paper's own configuration.");
        return 0;
    }
    TRY(find_subject(&subject, j, e));
    write_line(
        j, "Scale %s: %s.%s", j->options->scale,
        subject ? subject : "not the paper's configuration",
        strcmp(j->options->scale, "none") == 0
            ? ""
            : " The shape of the curves may be compared with the paper's, the numbers may not.");
    return 0;
}

/* --- missing results ------------------------------------------------------------------------ */

static const char *variant(const struct report_job *j)
{
    return j->options->variant ? j->options->variant : "";
}

static bool has_rows(const struct report_job *j)
{
    return j->all.rows_n > 0;
}

/* Returns the layout as keys of our rows. */
static struct report_keys keys_of(const struct report_job *j)
{
    const struct report_layout *l = &j->folder.layout;

    return (struct report_keys){.answer = &j->answer,
                                .words = &j->words,
                                .group = l->group,
                                .protocol = true,
                                .line = l->rows,
                                .column = l->columns,
                                .value = l->value,
                                .why = "state",
                                .extra = l->extra,
                                .extras_n = l->extras_n,
                                .judged = l,
                                .artefact = j->folder.points,
                                .scale = j->options->scale};
}

/* Notes a column of table.txt if query.sql does not give it and it is a setting. */
static void take_setting(struct report_regrouping *g, const struct report_answer *r,
                         const char *column)
{
    if (!column || report_answer_has(r, column) || !spec_key_find(column)) return;
    for (int32_t i = 0; i < g->settings_n; i++)
        if (strcmp(g->setting[i], column) == 0) return;
    if (g->settings_n < REPORT_MAX_SETTINGS) g->setting[g->settings_n++] = column;
}

/* Adds the settings that the layout names to the columns. */
static int add_settings(struct report_job *j, struct err *e)
{
    const struct report_layout *l = &j->folder.layout;
    const char *const single[] = {l->columns, l->x, l->panel}, *over = j->folder.over;
    struct report_regrouping g = {.labels = l->rows};

    if (over && !report_answer_has(&j->answer, over) && !spec_key_find(over))
        return ERR(e, ERR_USAGE, "--x %s is neither a setting nor a column of %s%s", over,
                   j->folder.query_path, spec_key_hint(over).text);
    if (!report_answer_has(&j->answer, "run_id")) return 0;
    for (size_t i = 0; i < sizeof single / sizeof *single; i++)
        take_setting(&g, &j->answer, single[i]);
    for (int32_t i = 0; i < l->rows.n; i++) take_setting(&g, &j->answer, l->rows.name[i]);
    for (int32_t i = 0; i < l->group.n; i++) take_setting(&g, &j->answer, l->group.name[i]);
    if (over && strcmp(over, "L_train") == 0) g.omit = "trained_on";
    if (over && strcmp(over, "L_valid") != 0) g.lengthened = l->series;
    if (l->series && g.labels.n < REPORT_MAX_NAMES) g.labels.name[g.labels.n++] = l->series;
    if (!g.settings_n && !g.omit && !g.lengthened) return 0;
    return report_answer_regroup(&j->answer, &j->arena, j->store, &g, REPORT_QUERY_LIMIT_S, e);
}

/* Reads query.sql and the facts of its whole answer. */
static int read_answer(struct report_job *j, struct err *e)
{
    const struct store_param params[] = {{"artefact", j->folder.points, STORE_TEXT},
                                         {"scale", j->options->scale, STORE_TEXT}};
    const struct report_asked asked = {j->folder.query_path, j->folder.query, params, 2,
                                       REPORT_QUERY_LIMIT_S};

    TRY(report_answer_query(&j->answer, &j->arena, j->store, &asked, e));
    TRY(add_settings(j, e));
    const struct report_keys k = keys_of(j);
    TRY(report_words_read(&j->words, &j->arena, j->store, &k, !j->folder.over, e));
    return report_cells_groups(&j->all, &j->arena, j->store, &k, true, e);
}

/* Counts results that no command can make. */
static void write_impossible(struct report_job *j, const char *column, double all, const char *why)
{
    double n = report_rows_real(&j->all, 0, column, 0);
    if (n > 0)
        write_line(j, "%.0f of %.0f results %s missing: %s.", n, all, n == 1 ? "is" : "are", why);
}

/* Says why there is no row: nothing was run yet, or the grid evaluates nothing. */
static int write_no_rows(struct report_job *j, const char *command, struct err *e)
{
    struct rows rows;

    TRY(ask_artefact(&rows, j, trainings_only_sql, e));
    if (rows.rows_n == 0 || j->folder.laid_out)
        write_line(j, "There are no results of %s at scale %s yet. The command that makes them: %s",
                   j->folder.artefact, j->options->scale, command);
    else
        write_line(j,
                   "%s of %s trainings of %s are done, and the view `trainings` has them; the grid "
                   "has no evaluate:, therefore there is no table. Add it to grid.yaml, then run: "
                   "%s",
                   report_rows_get(&rows, 0, "done"), report_rows_get(&rows, 0, "n"),
                   j->folder.artefact, command);
    return 0;
}

static int write_missing(struct report_job *j, struct err *e)
{
    double all = report_rows_real(&j->all, 0, "all_n", 0);
    double missing = report_rows_real(&j->all, 0, "missing_n", 0);
    struct rows rows;
    const char *command =
        arena_printf(&j->arena, "alibi run %s --scale %s%s",
                     str_shell_word(&j->arena, j->folder.command), j->options->scale, variant(j));

    if (!has_rows(j)) return write_no_rows(j, command, e);
    write_impossible(j, "undefined_n", all, "the position method is not defined beyond L_train");
    write_impossible(j, "diverged_n", all, "the training diverged");
    if (missing == 0) return 0;
    TRY(ask_artefact(&rows, j, undone_sql, e));
    double undone = report_rows_real(&rows, 0, "n", 0);
    const char *seeds = report_rows_get(&rows, 0, "seeds");
    if (seeds) command = arena_printf(&j->arena, "%s --seeds %s", command, seeds);
    write_line(j, "%.0f of %.0f results %s missing (%s)%s: %s%s", missing, all,
               missing == 1 ? "is" : "are", is_html(j) ? "not run" : "–",
               undone > 0 ? ". The command that makes them"
                          : ", although every run is done. This command evaluates again",
               command, undone > 0 ? "" : " --redo-evaluations");
    return 0;
}

/* --- parts of the answer -------------------------------------------------------------------- */

static int write_tables(struct report_job *j, struct err *e)
{
    bool alone = j->options->table_only;
    const struct report_keys keys = keys_of(j);
    const struct report_table_args table = {.store = j->store,
                                            .keys = &keys,
                                            .layout = &j->folder.layout,
                                            .format = j->options->format,
                                            .drawn = j->drawn,
                                            .caption = alone ? j->title : NULL,
                                            .label = j->folder.artefact,
                                            .no_bold = j->options->no_bold,
                                            .without = j->options->without};

    if (!has_rows(j)) return 0;
    TRY(report_table_write(j->out, &j->arena, &table, e));
    if (alone) return 0;
    if (j->options->format == REPORT_TEXT) fputc('\n', j->out);
    if (is_so(j, "scaled"))
        write_line(j, "Lengths are in tokens; in parentheses the paper's length each stands for.");
    return 0;
}

/* Says which seeds were run and are not shown. */
static int write_hidden(struct report_job *j, struct err *e)
{
    struct rows rows;

    if (j->options->seeds == 0) return 0;
    TRY(ask_artefact(&rows, j, hidden_sql, e));
    double n = report_rows_real(&rows, 0, "n", 0);
    if (n > 0)
        write_line(j, "Seed%s %s %s run too and %s not shown (--seeds %d).", n == 1 ? "" : "s",
                   report_rows_get(&rows, 0, "seeds"), n == 1 ? "was" : "were",
                   n == 1 ? "is" : "are", j->options->seeds);
    return 0;
}

static void write_notes(struct report_job *j)
{
    const struct report_layout *l = &j->folder.layout;

    for (int32_t i = 0; i < l->notes_n; i++) write_line(j, "%s", l->note[i]);
    if (j->floor > 0)
        write_line(j,
                   "No model can be below perplexity %.2f on this text: it is generated, and its "
                   "entropy is known exactly.",
                   j->floor);
}

/* Counts the verdicts of cells and claims. */
static int write_foot(struct report_job *j, struct err *e)
{
    const char *cells = report_rows_get(&j->verdicts, 0, "sentence");
    struct rows counts;

    TRY(report_claims_count(&counts, j->store, &j->claims, j->options->scale, e));
    const char *claims = report_rows_get(&counts, 0, "sentence");
    const char *alone = report_rows_get(&counts, 0, "of_paper");
    if (cells) write_line(j, "%s", cells);
    if (claims)
        write_line(j, "%s", claims);
    else if (j->folder.paper_path && !is_paper(j))
        write_line(j, "Shape: this artefact has no claims; its README names the artefact that "
                      "judges its curves.");
    if (alone) write_line(j, "%s", alone);
    return 0;
}

/* --- ours beside the paper's ---------------------------------------------------------------- */

/* Writes our number, the paper's, and the absolute and relative difference into the columns from
 * `to` on. */
static void put_numbers(struct store_cell *to, struct arena *a, const struct rows *v, int32_t cell,
                        const struct report_folder *f)
{
    int32_t decimals = report_layout_decimals(&f->layout, report_rows_get(v, cell, "metric"));
    const char *state = report_rows_get(v, cell, "state"),
               *verdict = report_rows_get(v, cell, "verdict");
    double ours = report_rows_real(v, cell, "ours", NAN);
    double std = report_rows_real(v, cell, "ours_std", NAN);
    double paper = report_rows_real(v, cell, "paper", 0);

    to[1].text = arena_printf(a, "%.*f", decimals, paper);
    if (isnan(ours)) {
        to[0].text = strcmp(state, "not run") == 0 ? "–" : state;
        return;
    }
    to[0].text = arena_printf(a, "%.*f", decimals, ours);
    if (!isnan(std)) to[0].text = arena_printf(a, "%s ± %.*f", to[0].text, decimals, std);
    if (str_same(verdict, "other device") || str_same(verdict, "noisy")) return; /* not compared */
    to[2].text = arena_printf(a, "%+.*f", decimals, ours - paper);
    to[3].text = arena_printf(a, "%+.1f %%", 100 * (ours - paper) / paper);
}

static void compared_table(struct rows *out, struct arena *a, const struct rows *v,
                           const struct report_folder *f)
{
    /* The columns that name a cell. Their headings have the marks of report_rows_arrange. */
    static const struct {
        const char *column, *heading;
    } names[] = {{"metric", "?metric"},   {"method", "method"},  {"L_train", ">L_train"},
                 {"L_valid", "?L_valid"}, {"split", "?split"},   {"protocol", "?windows"},
                 {"stride", "?stride"},   {"origin", "~origin"}, {"seeds", ">seeds"},
                 {"ours", ">ours"},       {"paper", ">paper"},   {NULL, ">difference"},
                 {NULL, ">relative"},     {"phrase", "verdict"}, {"phrase", "#verdict"}};
    enum { COLUMNS_N = sizeof names / sizeof *names, OURS = 9 };

    report_rows_init(out, a, COLUMNS_N, v->rows_n);
    out->rows_n = 0;
    for (int32_t c = 0; c < COLUMNS_N; c++) out->name[c] = names[c].heading;
    for (int32_t i = 0; i < v->rows_n; i++) {
        if (!report_rows_get(v, i, "paper")) continue;
        struct store_cell *row = out->row[out->rows_n++];
        for (int32_t c = 0; c < COLUMNS_N; c++)
            if (names[c].column) row[c] = v->row[i][report_rows_column(v, names[c].column)];
        put_numbers(row + OURS, a, v, i, f);
    }
    report_rows_arrange(out);
}

static bool same_rule(const struct report_rule *a, const struct report_rule *b)
{
    return a->near == b->near && a->far == b->far && str_same(a->device, b->device);
}

static const char *rule_words(struct arena *a, const struct report_folder *f)
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

static int write_comparison(struct report_job *j, struct err *e)
{
    struct rows table;
    const struct rows *v = &j->verdicts;
    const char *rule = rule_words(&j->arena, &j->folder);
    double cells_n = report_rows_real(v, 0, "cells_n", 0);

    if (!is_paper(j)) return 0;
    heading(j, "Ours beside the paper's (unmodified specification only)", 2);
    if (cells_n == 0) {
        write_line(j, "There is no result of the paper's own specification yet.");
        return 0;
    }
    if (rule) write_line(j, "%s", rule);
    if (report_rows_real(v, 0, "not_run_n", 0) == cells_n) {
        write_line(j, "None of these numbers was made yet.");
        return 0;
    }
    if (j->options->format == REPORT_TEXT) fputc('\n', j->out);
    compared_table(&table, &j->arena, v, &j->folder);
    TRY(report_rows_write(j->out, &table, j->options->format, e));
    if (j->options->format != REPORT_TEXT) fputc('\n', j->out);
    return 0;
}

static int write_paper(struct report_job *j, struct err *e)
{
    struct report_answer paper;
    struct report_keys keys = keys_of(j);
    const struct report_table_args table = {.store = j->store,
                                            .keys = &keys,
                                            .layout = &j->folder.layout,
                                            .format = j->options->format};

    if (!j->folder.layout.paper.n || j->folder.paper.rows_n == 0) return 0;
    report_answer_rows(&paper, j->folder.paper_path, &j->folder.paper);
    keys.answer = &paper;
    keys.value = "value";
    keys.why = "note";
    keys.extras_n = 0;
    keys.judged = NULL;
    const char *title =
        is_paper(j) ? "The paper's numbers"
                    : arena_printf(&j->arena, "The paper's numbers (not comparable with scale %s)",
                                   j->options->scale);
    if (is_html(j))
        report_html(j->out, "<details class=\"paper\"><summary>%s</summary>\n", title);
    else
        heading(j, title, 2);
    TRY(report_table_write(j->out, &j->arena, &table, e));
    if (is_html(j)) fputs("</details>\n", j->out);
    return 0;
}

static int write_claims(struct report_job *j, struct err *e)
{
    const struct report_item item = {.artefact = j->folder.artefact};

    if (!j->folder.claims) return 0;
    heading(j, report_claims_heading(&j->arena, &item, 1, j->options->scale), 2);
    return report_claims_write(j->out, &j->claims, false, j->options, e);
}

/* --- the figure ----------------------------------------------------------------------------- */

/* A variant's name contains a hash, because its settings may not be valid in a file name. */
static const char *figure_name(struct report_job *j)
{
    char hash[HASH_HEX_BYTES];
    struct strbuf b;

    strbuf_init(&b, &j->arena);
    for (const char *c = j->folder.artefact; *c; c++) strbuf_addf(&b, "%c", *c == '/' ? '-' : *c);
    strbuf_addf(&b, "-%s", j->options->scale);
    hash_sha256_hex(hash, variant(j), strlen(variant(j)));
    if (*variant(j)) strbuf_addf(&b, "-%.8s", hash);
    if (j->folder.over) strbuf_addf(&b, "-by-%s", j->folder.over);
    if (j->options->width_in > 0) strbuf_addf(&b, "-%.4gin", j->options->width_in);
    return b.text;
}

/* Draws the figure; *sentence reports the outcome; *picture is its path without ".svg", or NULL.
 * Fails only when an input is wrong: without gnuplot the tables are still the answer. */
static int draw_figure(struct report_job *j, const char **sentence, const char **picture,
                       struct err *e)
{
    struct err fault = {0};
    struct report_answer paper;
    int32_t points;
    char *preamble;
    const char *name = figure_name(j);
    const char *path = arena_printf(&j->arena, "%s/experiments/preamble.gp", j->project->share);
    bool beside = is_paper(j) && j->folder.paper.rows_n > 0;

    TRY(file_read(&j->arena, &preamble, NULL, path, REPORT_MAX_FILE_BYTES, e));
    if (beside) report_answer_rows(&paper, j->folder.paper_path, &j->folder.paper);
    const char *folder = j->options->figures ? j->options->figures : "plots";
    const struct report_plot plot = {
        .folder = j->options->figures ? folder : project_path(j->project, &j->arena, folder),
        .name = name,
        .title = j->title,
        .facts = report_table_facts(&j->arena, &j->all, 0, true),
        .scale = j->options->scale,
        .artefact = &j->folder,
        .store = j->store,
        .words = &j->words,
        .ours = &j->answer,
        .paper = beside ? &paper : NULL,
        .scaled = is_so(j, "x_scaled"),
        .preamble = preamble,
        .floor = j->floor,
        .narrow = is_html(j) && j->options->width_in == 0,
        .width_in = j->options->width_in};
    *picture = NULL;
    int rc = report_plot_draw(&points, &j->arena, &plot, &fault);
    if (rc == ERR_DATA) return ERR(e, rc, "%s: %s", j->folder.dir, fault.text);
    if (rc < 0 && j->options->undrawn && j->options->undrawn->n++ == 0)
        j->options->undrawn->first = fault;
    if (rc < 0)
        *sentence = arena_printf(&j->arena, "The figure was not drawn: %s%s", fault.text,
                                 rc == ERR_CREATE ? "; --figures DIR draws it elsewhere" : "");
    else if (points == 0 && report_rows_real(&j->all, 0, "all_n", 0) >
                                report_rows_real(&j->all, 0, "missing_n", 0))
        *sentence = arena_printf(&j->arena, "The figure was not drawn: no %s is a number.",
                                 j->folder.layout.x);
    else if (points == 0)
        *sentence = "The figure was not drawn: there is no result yet.";
    else {
        *sentence = arena_printf(&j->arena, "Figure: %s/%s.svg, .png and .pdf", folder, name);
        *picture = arena_printf(&j->arena, "%s/%s", plot.folder, name);
    }
    return 0;
}

static int write_figure(struct report_job *j, struct err *e)
{
    const char *sentence = NULL, *picture;

    if (!j->options->draw || !j->folder.plot || !j->folder.layout.x || !has_rows(j)) return 0;
    TRY(draw_figure(j, &sentence, &picture, e));
    if (j->options->format == REPORT_CSV || j->options->format == REPORT_JSON)
        log_info("%s", sentence);
    if (j->options->table_only || j->options->format == REPORT_CSV ||
        j->options->format == REPORT_JSON)
        return 0;
    j->drawn = is_html(j) && picture;
    if (j->drawn)
        return report_html_figure(j->out, &j->arena, picture,
                                  arena_printf(&j->arena, "f-%s", j->folder.artefact), j->title, e);
    fputc('\n', j->out);
    write_line(j, "%s", sentence);
    return 0;
}

/* Writes the folder's README: the paper's claims, our deviations and how they are judged. */
static int write_readme(struct report_job *j, struct err *e)
{
    char *text;
    const char *path = arena_printf(&j->arena, "%s/README.md", j->folder.dir);

    if (!is_html(j) || !file_exists(path)) return 0;
    TRY(report_folder_read(&text, &j->arena, path, e));
    report_html_text(j->out, &j->arena, text, "What is run, how it is judged, how it deviates");
    return 0;
}

/* --- the whole ------------------------------------------------------------------------------ */

/* Finds the corpus's entropy floor if all rows have one corpus and one split. */
static int find_floor(struct report_job *j, struct err *e)
{
    if (!has_rows(j)) return 0;
    const char *corpus = report_rows_get(&j->all, 0, "corpus");
    const char *split = report_rows_get(&j->all, 0, "split");
    return report_entropy_floor(&j->floor, &j->arena, j->project->root, corpus, split, e);
}

/* Judges cells and claims before anything is written. */
static int judge_all(struct report_job *j, struct err *e)
{
    TRY(report_cells_judged(&j->verdicts, &j->arena, j->store, &j->folder, j->options->scale, e));
    if (j->judged) {
        j->claims = *j->judged;
        return 0;
    }
    return report_claims_judge(&j->claims, &j->arena, j->store, &j->folder, j->options->scale, e);
}

/* Adds to the title that the text is generated and that not all runs are what the scale prescribes,
 * because a picture is shown without its page. */
static const char *whole_title(struct report_job *j)
{
    const char *corpus = report_rows_get(&j->all, 0, "corpus");
    bool synthetic = corpus && strncmp(corpus, "synthetic-", strlen("synthetic-")) == 0;

    const char *title = j->folder.layout.title;
    bool ended = *title && strchr(".?!", title[strlen(title) - 1]);

    return arena_printf(&j->arena, "%s%s Scale %s%s%s%s%s", title, ended ? "" : ".",
                        j->options->scale, synthetic ? ", synthetic text" : "",
                        is_so(j, "modified") ? ", modified" : "", *variant(j) ? ":" : "",
                        variant(j));
}

/* Writes the answer for programs: the rows, then the cells that no row shows. */
static int write_rows(struct report_job *j, struct err *e)
{
    const struct report_keys k = keys_of(j);
    struct rows rows;

    TRY(report_cells_rows(&rows, &j->arena, j->store, &k, e));
    if (!j->gathered) return report_rows_write(j->out, &rows, j->options->format, e);
    report_rows_join(j->gathered, &rows);
    return 0;
}

static int report_write(struct report_job *j, struct err *e)
{
    TRY(judge_all(j, e));
    if (j->options->format == REPORT_CSV || j->options->format == REPORT_JSON)
        return write_rows(j, e);
    if (j->options->format == REPORT_LATEX) fputs("% \\usepackage{booktabs}\n", j->out);
    if (j->options->table_only) return has_rows(j) ? write_tables(j, e) : write_missing(j, e);
    heading(j, j->title, 1);
    TRY(write_scale(j, e));
    if (j->options->format == REPORT_TEXT) fputc('\n', j->out);
    TRY(write_readme(j, e));
    if (is_html(j)) TRY(write_figure(j, e));
    TRY(write_tables(j, e));
    write_notes(j);
    TRY(write_hidden(j, e));
    TRY(write_missing(j, e));
    TRY(write_foot(j, e));
    TRY(write_comparison(j, e));
    TRY(write_paper(j, e));
    return write_claims(j, e);
}

/* Trusts the script of the folder if the user does now (and remembers it) or did before. */
static void trust_script(struct report_job *j)
{
    struct report_folder *f = &j->folder;
    struct err why;

    if (!f->plot_untrusted) return;
    bool now = j->options->trust;
    if (now && report_trust_add(&j->arena, f->plot, f->plot_untrusted, &why) < 0)
        log_warn("%s is trusted for this command only: %s", f->plot_untrusted, why.text);
    if (now || report_trust_has(&j->arena, f->plot)) f->plot_untrusted = NULL;
}

static int report_one(struct report_job j, const char *artefact, const char *dir, struct err *e)
{
    const struct project *p = j.project;
    const struct report_options *o = j.options;
    int rc = 0;

    arena_init(&j.arena);
    TRY_OUT(rc, report_folder_open(&j.folder, &j.arena, p, artefact, dir, e));
    if (o->x) TRY_OUT(rc, report_folder_over(&j.folder, &j.arena, p, o->x, e));
    if (o->title && !j.folder.laid_out) j.folder.layout.title = o->title;
    trust_script(&j);
    if (*variant(&j)) {
        j.folder.points = arena_printf(&j.arena, "%s%s", artefact, variant(&j));
        j.folder.claims = NULL; /* they are about the grid as written */
        j.judged = NULL;
    }
    TRY_OUT(rc, read_answer(&j, e));
    j.title = whole_title(&j);
    TRY_OUT(rc, find_floor(&j, e));
    rc = report_write(&j, e);
    if (rc == ERR_DATA) err_ctx(e, "%s", artefact);
    if (rc == 0 && !is_html(&j)) rc = write_figure(&j, e);
    if (rc == 0) rc = file_check_output(j.out, e);
out:
    arena_fini(&j.arena);
    return rc;
}

int report_artefact(FILE *out, struct store *s, const struct project *p, const char *artefact,
                    const char *dir, const struct report_options *o, struct err *e)
{
    const struct report_job j = {.out = out, .store = s, .project = p, .options = o};
    return report_one(j, artefact, dir, e);
}

int report_section(FILE *out, struct store *s, const struct project *p,
                   const struct report_item *item, const struct report_claims *judged,
                   const struct report_options *o, struct err *e)
{
    struct report_options own = *o;
    const struct report_job j = {
        .out = out, .store = s, .project = p, .options = &own, .judged = judged};

    own.scale = item->scale;
    own.title = item->title;
    own.format = REPORT_HTML;
    return report_one(j, item->artefact, item->dir, e);
}

/* Writes the rows of all artefacts as one answer. */
static int report_gathered(FILE *out, struct store *s, const struct project *p,
                           const struct report_item *items, int32_t n,
                           const struct report_options *o, struct err *e)
{
    struct arena a;
    struct report_options own = *o;
    int rc = 0;

    arena_init(&a);
    struct rows all = {.arena = &a};
    const struct report_job j = {
        .out = out, .store = s, .project = p, .options = &own, .gathered = &all};
    for (int32_t i = 0; i < n; i++) {
        own.scale = items[i].scale;
        own.title = items[i].title;
        TRY_OUT(rc, report_one(j, items[i].artefact, items[i].dir, e));
    }
    rc = report_rows_write(out, &all, o->format, e);
out:
    arena_fini(&a);
    return rc;
}

int report_artefacts(FILE *out, struct store *s, const struct project *p,
                     const struct report_item *items, int32_t n, const struct report_options *o,
                     struct err *e)
{
    struct report_options own = *o;

    if (o->format == REPORT_HTML) return report_page(out, s, p, items, n, o, e);
    if (o->format == REPORT_CSV || o->format == REPORT_JSON)
        return report_gathered(out, s, p, items, n, o, e);
    for (int32_t i = 0; i < n; i++) {
        own.scale = items[i].scale;
        own.title = items[i].title;
        if (i && o->format == REPORT_TEXT) fputc('\n', out);
        TRY(report_artefact(out, s, p, items[i].artefact, items[i].dir, &own, e));
    }
    return n > 1 ? report_summary(out, s, p, items, n, o, e) : 0;
}
