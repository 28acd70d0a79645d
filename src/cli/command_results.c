/* command_results.c - alibi report, claims, query and compare: answers from results.db. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/cli.h"
#include "report/report.h"
#include "workflow/workflow.h"

#define CLI_FORMAT_OPTION(out)                                                                     \
    {                                                                                              \
        "format", 'f', CLI_FORMAT, out, "F", "text, markdown, csv, json or latex"                  \
    }

/* Refuses an artefact that the file of --db has and whose grid is not here. */
static int check_grid(struct cli *c, const char *name, struct err *e)
{
    static const char sql[] = "SELECT 1 FROM artefact_points WHERE artefact = :name LIMIT 1";
    const struct store_param param = {"name", name, STORE_TEXT};
    char *path;
    const char *grid = arena_printf(&c->arena, "experiments/%.128s/grid.yaml", name);
    struct rows rows;

    if (!str_is_name_path(name) || project_find(&path, &c->project, &c->arena, grid, NULL) == 0)
        return 0;
    TRY(rows_read(&rows, &c->arena, c->store, sql, &param, 1, e));
    if (rows.rows_n == 0) return 0;
    return ERR(
        e, ERR_NOINPUT,
        "%s has results of %s, but neither this project nor the shipped experiments/ has its "
        "grid.yaml; work in the folder that has it, or name that with --project",
        c->db, name);
}

struct report_item *cli_report_items(struct cli *c)
{
    const struct plan *p = &c->planning.plan;
    struct report_item *item = arena_array(&c->arena, (size_t)p->artefacts_n + 1, sizeof *item);

    for (int32_t i = 0; i < p->artefacts_n; i++) {
        const struct plan_artefact *k = &p->artefact[i];
        item[i] = (struct report_item){
            .artefact = k->name, .dir = k->dir, .scale = k->scale, .title = k->title};
    }
    return item;
}

/* Finds the artefacts of the command line, none: all of them. */
static int take_artefacts(struct report_item **out, int32_t *n, struct cli *c,
                          struct plan_options *o, struct err *e)
{
    static const char *const all[] = {"all"};
    const char *const *names = c->rest.n ? c->rest.item : all;
    struct plan *p = &c->planning.plan;

    for (int32_t i = 0; c->db && i < c->rest.n; i++) TRY(check_grid(c, names[i], e));
    o->artefacts_only = true;
    TRY(plan_open(p, &c->project, names, c->rest.n ? c->rest.n : 1, o, e));
    *n = p->artefacts_n;
    *out = cli_report_items(c);
    return 0;
}

int cli_write_reports(size_t *bytes, const char *path, struct cli *c,
                      const struct report_item *items, int32_t items_n,
                      const struct report_options *o, struct err *e)
{
    char *text = NULL;
    size_t n = 0;

    *bytes = 0;
    if (!path) return report_artefacts(stdout, c->store, &c->project, items, items_n, o, e);
    FILE *out = open_memstream(&text, &n);
    if (!out) return ERR(e, ERR_NOMEM, "out of memory while writing the report");
    int rc = report_artefacts(out, c->store, &c->project, items, items_n, o, e);
    if (fclose(out) != 0 && rc == 0)
        rc = ERR(e, ERR_NOMEM, "out of memory while writing the report");
    if (rc == 0) rc = file_write_named(path, text, n, e);
    free(text);
    *bytes = n;
    return rc;
}

/* Reads a copy from here on, in which more can be registered than `alibi run` has asked for. */
static int read_copy(struct cli *c, bool *copied, struct err *e)
{
    struct store *copy;

    if (*copied) return 0;
    TRY(store_copy(&copy, c->store, e));
    store_close(c->store);
    c->store = copy;
    *copied = true;
    return 0;
}

/* Registers, in a copy, the artefacts whose runs are done although only other artefacts have asked
 * for them, with seeds 1 to `seeds`, and leaves out those above; 0: the grid's seeds, and all. */
static int register_known(struct cli *c, const struct plan_options *o, int32_t seeds, struct err *e)
{
    const struct plan *asked = &c->planning.plan;
    struct plan_options seeded = *o;
    bool copied = false;

    seeded.seeds = seeds;
    for (int32_t i = 0; i < asked->artefacts_n; i++) {
        struct plan p;
        bool unregistered;
        TRY(workflow_unregistered(&p, &unregistered, c->store, &c->project, &asked->artefact[i],
                                  asked->variant, &seeded, e));
        if (!unregistered) continue;
        int rc = read_copy(c, &copied, e);
        if (rc == 0) rc = workflow_register(c->store, &c->project, &c->arena, &p, &seeded, e);
        plan_close(&p);
        TRY(rc);
    }
    if (seeds == 0) return 0;
    TRY(read_copy(c, &copied, e));
    return store_hide_seeds(c->store, seeds, e);
}

/* If only variants of the grid have results, names the command that shows them. */
static int note_variants(struct cli *c, const struct report_item *item, struct err *e)
{
    static const char sql[] =
        "SELECT DISTINCT artefact FROM artefact_points WHERE scale = :scale"
        " AND substr(artefact, 1, length(:name) + 7) = :name || ' --set '"
        " AND NOT EXISTS (SELECT 1 FROM artefact_points WHERE artefact = :name AND scale = :scale)";
    const struct store_param params[] = {{"name", item->artefact, STORE_TEXT},
                                         {"scale", item->scale, STORE_TEXT}};
    struct rows rows;

    TRY(rows_read(&rows, &c->arena, c->store, sql, params, 2, e));
    for (int32_t i = 0; i < rows.rows_n; i++)
        log_info("note: %s has results only of a changed grid: alibi report %s --scale %s",
                 item->artefact, store_text(&rows.row[i][0]), item->scale);
    return 0;
}

/* The titles that the files of configs/data give their datasets; a file with an error gives none.
 */
int cli_dataset_titles(struct report_options *o, struct cli *c, struct err *e)
{
    struct plan_corpus corpus;
    char **names;
    int32_t n;

    TRY(plan_corpora(&names, &n, &c->project, &c->arena, e));
    struct report_title *all = arena_array(&c->arena, (size_t)n + 1, sizeof *all);
    for (int32_t i = 0; i < n; i++)
        if (plan_corpus_read(&corpus, &c->project, &c->arena, names[i], NULL) == 0)
            all[o->titles_n++] = (struct report_title){corpus.name, corpus.title};
    o->titles = all;
    return 0;
}

/* Reads "3.3in" and the like; text NULL: 0. */
static int read_width(double *inches, struct arena *a, const char *text, struct err *e)
{
    static const struct {
        const char *name;
        double inches;
    } units[] = {{"in", 1}, {"cm", 1 / 2.54}, {"mm", 1 / 25.4}, {"pt", 1 / 72.27}};
    enum { UNITS_N = sizeof units / sizeof *units, WIDTH_MIN = 2, WIDTH_MAX = 20 };
    size_t n = text && strlen(text) > 2 ? strlen(text) - 2 : 0;
    double number;

    *inches = 0;
    for (int i = 0; i < UNITS_N && n > 0; i++)
        if (strcmp(text + n, units[i].name) == 0 &&
            str_to_double(&number, arena_strndup(a, text, n)))
            *inches = number * units[i].inches;
    if (!text || (*inches >= WIDTH_MIN && *inches <= WIDTH_MAX)) return 0;
    return ERR(e, ERR_USAGE, "--width %s: expected %d to %d inches, such as 3.3in, 84mm or 240pt",
               text, WIDTH_MIN, WIDTH_MAX);
}

CLI_COMMAND(report)
{
    const char *width = NULL;
    const char *path = NULL;
    struct plan_options selected = {0};
    bool no_draw = false;
    struct report_undrawn undrawn = {0};
    struct report_item *items;
    int32_t items_n;
    size_t bytes;
    struct report_options o = {.color = isatty(STDOUT_FILENO), .undrawn = &undrawn};
    const struct cli_option options[] = {
        {"scale", 's', CLI_SCALE, &selected.scale, "NAME",
         "show results of this scale (default: the grid's, else mini)"},
        {"set", 0, CLI_LIST_SETTINGS, &selected.set, "KEY=VALUE",
         "show the results of `alibi run` with the same --set"},
        {"seeds", 0, CLI_COUNT, &o.seeds, "N", "show seeds 1 to N of those that were run"},
        {"format", 'f', CLI_FORMAT_PAGE, &o.format, "F",
         "text, markdown, csv, json, latex or html (one page)"},
        {"out", 'o', CLI_OUTPUT, &path, "FILE", "write to FILE instead of the standard output"},
        {"x", 'x', CLI_TEXT, &o.x, "KEY",
         "draw and tabulate over this setting, such as train.lr, or L_train"},
        {"width", 0, CLI_TEXT, &width, "W",
         "draw for a text: this wide (3.3in, 84mm, 240pt), without title"},
        {"figures", 0, CLI_TEXT, &o.figures, "DIR", "draw into DIR (default: plots)"},
        {"table-only", 0, CLI_FLAG, &o.table_only, NULL,
         "print the tables without the text around"},
        {"without", 0, CLI_LIST_TEXTS, &o.without, "COLUMN",
         "leave out the column with this heading; may be repeated"},
        {"no-bold", 0, CLI_FLAG, &o.no_bold, NULL,
         "LaTeX: do not set the best number of a row in bold"},
        {"no-figure", 0, CLI_FLAG, &no_draw, NULL, "print the table only"},
        {"trust", 0, CLI_FLAG, &o.trust, NULL, "trust each plot.gp as it is now"},
        {0}};

    TRY(cli_begin(c, options, e));
    TRY(read_width(&o.width_in, &c->arena, width, e));
    if (o.format == REPORT_HTML && (o.x || width || o.table_only))
        return ERR(e, ERR_USAGE, "--x, --width and --table-only do not apply to --format html");
    TRY(take_artefacts(&items, &items_n, c, &selected, e));
    TRY(cli_dataset_titles(&o, c, e));
    TRY(register_known(c, &selected, o.seeds, e));
    o.variant = c->planning.plan.variant;
    o.draw = !no_draw;
    for (int32_t i = 0; i < items_n && !*o.variant; i++) TRY(note_variants(c, &items[i], e));
    if (path) o.color = false;
    TRY(cli_write_reports(&bytes, path, c, items, items_n, &o, e));
    if (path) log_info("%s: %zu bytes", path, bytes);
    if (undrawn.n > 0)
        return ERR(e, undrawn.first.code, "%d figure%s not drawn, the first: %s", undrawn.n,
                   undrawn.n == 1 ? " was" : "s were", undrawn.first.text);
    return 0;
}

CLI_COMMAND(claims)
{
    struct plan_options selected = {0};
    struct report_item *items;
    int32_t items_n;
    struct report_options o = {.color = isatty(STDOUT_FILENO)};
    int32_t contradicted = 0;
    const struct cli_option options[] = {
        {"scale", 's', CLI_SCALE, &selected.scale, "NAME",
         "judge results of this scale (default: the grid's, else mini)"},
        CLI_FORMAT_OPTION(&o.format),
        {0}};

    TRY(cli_begin(c, options, e));
    if (c->rest.n == 0 && !selected.scale) selected.scale = PLAN_SCALE;
    TRY(take_artefacts(&items, &items_n, c, &selected, e));
    o.scale = items[0].scale; /* that of the heading */
    for (int32_t i = 1; i < items_n; i++)
        if (strcmp(items[i].scale, o.scale) != 0)
            return ERR(e, ERR_USAGE,
                       "%s is of scale %s and %s of scale %s; judge them one by one, or all with "
                       "--scale",
                       items[0].artefact, o.scale, items[i].artefact, items[i].scale);
    TRY(register_known(c, &selected, 0, e));
    TRY(report_claims(stdout, c->store, &c->project, items, items_n, &o, &contradicted, e));
    if (contradicted > 0)
        return ERR(e, ERR_INTERNAL, "%d claim%s contradicted by %s at scale %s", contradicted,
                   contradicted == 1 ? " is" : "s are", c->db ? c->db : "results.db", o.scale);
    return 0;
}

CLI_COMMAND(query)
{
    double limit_s = 30;
    bool wide = false, views = false;
    enum report_format format = REPORT_TEXT;
    const struct cli_option options[] = {
        CLI_FORMAT_OPTION(&format),
        {"limit", 0, CLI_REAL, &limit_s, "S", "time limit in seconds (default 30)"},
        {"wide", 0, CLI_FLAG, &wide, NULL,
         "add a column for each setting in which the rows differ"},
        {"views", 0, CLI_FLAG, &views, NULL,
         "list the views and their columns; with a name, explain this view or column"},
        {0}};

    TRY(cli_begin(c, options, e));
    if (views && wide) return ERR(e, ERR_USAGE, "--views cannot be combined with --wide");
    if (!views && !wide && c->rest.n == 0)
        return ERR(e, ERR_USAGE, "query: expected a SELECT, --wide or --views");
    if (!c->store)
        TRY(views ? store_empty(&c->store, e)
                  : store_open(&c->store, c->results, STORE_READ, e)); /* says what is missing */
    if (views) return report_views(stdout, c->store, c->rest.item[0], format, e);
    if (wide) return report_wide(stdout, c->store, c->rest.item[0], limit_s, format, e);
    return report_query(stdout, c->store, c->rest.item[0], limit_s, format, e);
}

CLI_COMMAND(compare)
{
    enum report_format format = REPORT_TEXT;
    bool all = false;
    const struct cli_option options[] = {
        {"all", 0, CLI_FLAG, &all, NULL, "also list the evaluations without a partner"},
        CLI_FORMAT_OPTION(&format),
        {0}};

    TRY(cli_begin(c, options, e));
    return report_compare(stdout, c->store, c->rest.item[0], c->rest.item[1], all, format, e);
}
