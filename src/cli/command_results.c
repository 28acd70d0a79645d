/* command_results.c - alibi report, claims, query, compare: what results.db answers. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "cli/cli.h"
#include "report/compare.h"
#include "report/report.h"

/* Folder and name of an artefact, and the scale its numbers are asked for at. */
static int find_artefact(struct cli *c, const char *given, const char *scale, const char **name,
                         const char **dir, const char **scale_out, struct err *e)
{
    struct plan p;
    struct plan_options o = {.scale = scale};

    TRY(plan_open(&p, &c->project, &given, 1, &o, e));
    *name = arena_strdup(&c->arena, p.artefact[0].name);
    *dir = arena_strdup(&c->arena, p.artefact[0].dir);
    *scale_out = arena_strdup(&c->arena, p.artefact[0].scale);
    plan_close(&p);
    return 0;
}

/* The artefacts of a command line, `all` expanded; without any: all. */
static int take_artefacts(struct report_item **out, int32_t *n, struct cli *c,
                          const struct cli_list *given, const char *scale, struct err *e)
{
    static const char *const all[] = {"all"};
    const char *const *names;

    TRY(planning_artefacts(&names, n, &c->project, &c->arena, given->n ? given->item : all,
                           given->n ? given->n : 1, e));
    *out = arena_array(&c->arena, (size_t)*n, sizeof **out);
    for (int32_t i = 0; i < *n; i++) {
        struct report_item *k = &(*out)[i];
        TRY(find_artefact(c, names[i], scale, &k->artefact, &k->dir, &k->scale, e));
    }
    return 0;
}

/* One page of HTML for all artefacts, or one report after another with a summary of several. */
static int write_reports(FILE *out, struct cli *c, struct store *store,
                         const struct report_item *items, int32_t n, struct report_options *o,
                         struct err *e)
{
    if (o->format == REPORT_HTML) return report_page(out, store, &c->project, items, n, o, e);
    for (int32_t i = 0; i < n; i++) {
        const struct report_item *k = &items[i];
        o->scale = k->scale;
        if (i && o->format == REPORT_TEXT) fputc('\n', out);
        TRY(report_artefact(out, store, &c->project, k->artefact, k->dir, o, e));
    }
    return n > 1 ? report_summary(out, store, &c->project, items, n, o, e) : 0;
}

/* Writes to the file `path` complete or not at all; path NULL: to the standard output. */
static int write_reports_to(const char *path, struct cli *c, struct store *store,
                            const struct report_item *items, int32_t items_n,
                            struct report_options *o, struct err *e)
{
    char *text = NULL;
    size_t n = 0;

    if (!path) return write_reports(stdout, c, store, items, items_n, o, e);
    FILE *out = open_memstream(&text, &n);
    if (!out) return ERR(e, ERR_NOMEM, "out of memory while writing the report");
    int rc = write_reports(out, c, store, items, items_n, o, e);
    if (fclose(out) != 0 && rc == 0)
        rc = ERR(e, ERR_NOMEM, "out of memory while writing the report");
    if (rc == 0) rc = file_write_named(path, text, n, e);
    if (rc == 0) log_info("%s: %zu bytes", path, n);
    free(text);
    return rc;
}

int cli_report(struct cli *c, const struct cli_command *self, int argc, char **argv, struct err *e)
{
    const char *scale = NULL, *format = "text", *path = NULL;
    bool no_draw = false;
    int32_t refused_n = 0;
    struct cli_list given;
    struct report_item *items;
    int32_t items_n;
    struct store *store = NULL;
    struct report_options o = {.color = isatty(STDOUT_FILENO), .refused_n = &refused_n};
    const struct cli_option options[] = {
        {"scale", 's', CLI_SCALE, &scale, "NAME",
         "the scale whose results are shown (default: the grid's, else mini)"},
        {"format", 'f', CLI_FORMAT, &format, "F",
         "text, markdown, csv, json, latex or html (one page)"},
        {"out", 'o', CLI_TEXT, &path, "FILE", "write to FILE instead of the standard output"},
        {"no-figure", 0, CLI_FLAG, &no_draw, NULL, "print the table only"},
        {"trust", 0, CLI_FLAG, &o.trust, NULL, "run every plot.gp outside the sandbox"},
        {0}};
    int rc = cli_parse(c, self, options, argc, argv, &given, 1, CLI_LIST_MAX, e);

    if (rc != 0) return rc < 0 ? rc : 0;
    TRY_OUT(rc, report_format_find(&o.format, format, e));
    TRY_OUT(rc, cli_open_results(c, &store, e));
    TRY_OUT(rc, take_artefacts(&items, &items_n, c, &given, scale, e));
    o.draw = !no_draw;
    if (path) o.color = false;
    rc = write_reports_to(path, c, store, items, items_n, &o, e);
    if (rc == 0 && refused_n > 0)
        rc = ERR(e, ERR_UNAVAILABLE,
                 "%d figure%s not drawn for lack of a sandbox; install bubblewrap, or pass --trust",
                 refused_n, refused_n == 1 ? " was" : "s were");
out:
    store_close(store);
    return rc;
}

int cli_claims(struct cli *c, const struct cli_command *self, int argc, char **argv, struct err *e)
{
    const char *scale = NULL, *format = "text";
    struct cli_list given;
    struct report_item *items;
    int32_t items_n;
    struct store *store = NULL;
    struct report_options o = {.color = isatty(STDOUT_FILENO)};
    int32_t contradicted = 0;
    const struct cli_option options[] = {
        {"scale", 's', CLI_SCALE, &scale, "NAME",
         "the scale whose results are judged (default: the grid's, else mini)"},
        {"format", 'f', CLI_FORMAT, &format, "F", "text, markdown, csv, json, latex or html"},
        {0}};
    int rc = cli_parse(c, self, options, argc, argv, &given, 0, CLI_LIST_MAX, e);

    if (rc != 0) return rc < 0 ? rc : 0;
    TRY_OUT(rc, report_format_find(&o.format, format, e));
    TRY_OUT(rc, cli_open_results(c, &store, e));
    TRY_OUT(rc, take_artefacts(&items, &items_n, c, &given, scale, e));
    const char **dirs = arena_array(&c->arena, (size_t)items_n, sizeof *dirs);
    for (int32_t i = 0; i < items_n; i++) {
        dirs[i] = items[i].dir;
        o.scale = items[i].scale;
    }
    TRY_OUT(rc, report_claims(stdout, store, &c->project, dirs, items_n, &o, &contradicted, e));
    if (contradicted > 0)
        rc = ERR(e, ERR_INTERNAL, "%d claim%s contradicted by results.db at scale %s", contradicted,
                 contradicted == 1 ? " is" : "s are", o.scale);
out:
    store_close(store);
    return rc;
}

int cli_query(struct cli *c, const struct cli_command *self, int argc, char **argv, struct err *e)
{
    const char *format = "text";
    double limit_s = 30;
    struct cli_list rest;
    struct store *store = NULL;
    enum report_format f;
    const struct cli_option options[] = {
        {"format", 'f', CLI_FORMAT, &format, "F", "text, markdown, csv, json, latex or html"},
        {"limit", 0, CLI_REAL, &limit_s, "S", "time limit in seconds (default 30)"},
        {0}};
    int rc = cli_parse(c, self, options, argc, argv, &rest, 1, 1, e);

    if (rc != 0) return rc < 0 ? rc : 0;
    TRY_OUT(rc, report_format_find(&f, format, e));
    TRY_OUT(rc, cli_open_results(c, &store, e));
    rc = report_query(stdout, store, rest.item[0], limit_s, f, e);
out:
    store_close(store);
    return rc;
}

int cli_compare(struct cli *c, const struct cli_command *self, int argc, char **argv, struct err *e)
{
    const char *format = "text";
    struct cli_list rest;
    struct store *store = NULL;
    enum report_format f;
    const struct cli_option options[] = {
        {"format", 'f', CLI_FORMAT, &format, "F", "text, markdown, csv, json, latex or html"}, {0}};
    int rc = cli_parse(c, self, options, argc, argv, &rest, 2, 2, e);

    if (rc != 0) return rc < 0 ? rc : 0;
    TRY_OUT(rc, report_format_find(&f, format, e));
    TRY_OUT(rc, cli_open_results(c, &store, e));
    rc = report_compare(stdout, store, rest.item[0], rest.item[1], f, e);
out:
    store_close(store);
    return rc;
}
