/* command_report.c - alibi report, claims, query: questions to results.db. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "cli/planning.h"
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

static int open_results(struct cli *c, struct store **store, struct err *e)
{
    TRY(cli_open(c, e));
    return store_open(store, cli_results(c), STORE_READ, e);
}

/* One page of HTML for all artefacts, or one report after another with a summary of several. */
static int write_reports(FILE *out, struct cli *c, struct store *store,
                         const struct cli_list *artefacts, const char *scale,
                         struct report_options *o, struct err *e)
{
    struct report_item *items = arena_array(&c->arena, (size_t)artefacts->n, sizeof *items);

    for (int32_t i = 0; i < artefacts->n; i++) {
        struct report_item *k = &items[i];
        TRY(find_artefact(c, artefacts->item[i], scale, &k->artefact, &k->dir, &k->scale, e));
        if (o->format == REPORT_HTML) continue;
        o->scale = k->scale;
        if (i && o->format == REPORT_TEXT) fputc('\n', out);
        TRY(report_artefact(out, store, &c->project, k->artefact, k->dir, o, e));
    }
    if (o->format != REPORT_HTML)
        return artefacts->n > 1 ? report_summary(out, store, &c->project, items, artefacts->n, o, e)
                                : 0;
    return report_page(out, store, &c->project, items, artefacts->n, o, e);
}

/* Writes to the file `path` complete or not at all; path NULL: to the standard output. */
static int write_reports_to(const char *path, struct cli *c, struct store *store,
                            const struct cli_list *artefacts, const char *scale,
                            struct report_options *o, struct err *e)
{
    char *text = NULL;
    size_t n = 0;

    if (!path) return write_reports(stdout, c, store, artefacts, scale, o, e);
    FILE *out = open_memstream(&text, &n);
    if (!out) return ERR(e, ERR_IO, "memory for the report: %s", strerror(errno));
    int rc = write_reports(out, c, store, artefacts, scale, o, e);
    if (fclose(out) != 0 && rc == 0) rc = ERR(e, ERR_IO, "memory for the report: out of it");
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
    struct cli_list given, artefacts;
    struct store *store = NULL;
    struct report_options o = {.color = isatty(STDOUT_FILENO), .refused_n = &refused_n};
    const struct cli_option options[] = {
        {"scale", 's', CLI_TEXT, &scale, "NAME",
         "the scale whose results are shown (default: the grid's, else mini)"},
        {"format", 'f', CLI_TEXT, &format, "F",
         "text, markdown, csv, json, latex or html (one page)"},
        {"out", 'o', CLI_TEXT, &path, "FILE", "write to FILE instead of the standard output"},
        {"no-figure", 0, CLI_FLAG, &no_draw, NULL, "print the table only"},
        {"trust", 0, CLI_FLAG, &o.trust, NULL, "run every plot.gp outside the sandbox"},
        {0}};
    int rc = cli_parse(c, self, options, argc, argv, &given, 1, CLI_LIST_MAX, e);

    if (rc != 0) return rc < 0 ? rc : 0;
    TRY_OUT(rc, report_format_find(&o.format, format, e));
    TRY_OUT(rc, open_results(c, &store, e));
    TRY_OUT(rc, planning_artefacts(c, &given, &artefacts, e));
    o.draw = !no_draw;
    if (path) o.color = false;
    rc = write_reports_to(path, c, store, &artefacts, scale, &o, e);
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
    struct cli_list given, artefacts;
    struct store *store = NULL;
    struct report_options o = {.color = isatty(STDOUT_FILENO)};
    const char *dirs[CLI_LIST_MAX];
    int32_t contradicted = 0;
    const struct cli_option options[] = {
        {"scale", 's', CLI_TEXT, &scale, "NAME",
         "the scale whose results are judged (default: the grid's, else mini)"},
        {"format", 'f', CLI_TEXT, &format, "F", "text, markdown, csv, json, latex or html"},
        {0}};
    int rc = cli_parse(c, self, options, argc, argv, &given, 0, CLI_LIST_MAX, e);

    if (rc != 0) return rc < 0 ? rc : 0;
    if (given.n == 0) given.item[given.n++] = "all";
    TRY_OUT(rc, report_format_find(&o.format, format, e));
    TRY_OUT(rc, open_results(c, &store, e));
    TRY_OUT(rc, planning_artefacts(c, &given, &artefacts, e));
    for (int32_t i = 0; i < artefacts.n; i++) {
        const char *name;
        TRY_OUT(rc, find_artefact(c, artefacts.item[i], scale, &name, &dirs[i], &o.scale, e));
    }
    TRY_OUT(rc, report_claims(stdout, store, &c->project, dirs, artefacts.n, &o, &contradicted, e));
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
        {"format", 'f', CLI_TEXT, &format, "F", "text, markdown, csv, json, latex or html"},
        {"limit", 0, CLI_REAL, &limit_s, "S",
         "seconds after which the question is given up (default 30)"},
        {0}};
    int rc = cli_parse(c, self, options, argc, argv, &rest, 1, 1, e);

    if (rc != 0) return rc < 0 ? rc : 0;
    TRY_OUT(rc, report_format_find(&f, format, e));
    TRY_OUT(rc, open_results(c, &store, e));
    rc = report_query(stdout, store, rest.item[0], limit_s, f, e);
out:
    store_close(store);
    return rc;
}
