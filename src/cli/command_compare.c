/* command_compare.c - alibi compare: two filters side by side. */
#include <stdio.h>

#include "cli/cli.h"
#include "report/compare.h"
#include "store/store.h"

int cli_compare(struct cli *c, const struct cli_command *self, int argc, char **argv, struct err *e)
{
    const char *format = "text";
    struct cli_list rest;
    struct store *store = NULL;
    enum report_format f;
    const struct cli_option options[] = {
        {"format", 'f', CLI_TEXT, &format, "F", "text, markdown, csv, json, latex or html"}, {0}};
    int rc = cli_parse(c, self, options, argc, argv, &rest, 2, 2, e);

    if (rc != 0) return rc < 0 ? rc : 0;
    TRY_OUT(rc, report_format_find(&f, format, e));
    TRY_OUT(rc, cli_open(c, e));
    TRY_OUT(rc, store_open(&store, cli_results(c), STORE_READ, e));
    rc = report_compare(stdout, store, rest.item[0], rest.item[1], f, e);
out:
    store_close(store);
    return rc;
}
