/* options.c - parses and describes the options of a command. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "cli/cli.h"
#include "report/report.h"

static void print_option(const char *name, char letter, const char *argument, const char *help)
{
    char left[64];
    snprintf(left, sizeof left, "%s%c%s--%s%s%s", letter ? "-" : "  ", letter ? letter : ' ',
             letter ? ", " : " ", name, argument ? " " : "", argument ? argument : "");
    int column = 26;

    for (const char *c = left; *c; c++)
        column += (*c & 0xC0) == 0x80; /* UTF-8 continuation bytes have no width */
    printf("  %-*s %s\n", column, left, help);
}

static void print_help(const struct cli_command *self, const struct cli_option *options)
{
    printf("usage: alibi %s%s%s [options]\n\n%s\n", self->name, *self->arguments ? " " : "",
           self->arguments, self->help);
    if (self->more) printf("\n%s\n", self->more);
    printf("\noptions:\n");
    for (const struct cli_option *o = options; o && o->name; o++)
        print_option(o->name, o->letter, o->argument, o->help);
    print_option("project", 0, "DIR", "work in this folder instead of the current one");
    print_option("quiet", 'q', NULL, "log only warnings and errors");
    print_option("help", 'h', NULL, "print this help");
}

static int take_value(const struct cli_option *o, const char *text, struct err *e)
{
    int64_t number;
    struct cli_list *list = o->out;

    if (o->type == CLI_FLAG) {
        *(bool *)o->out = true;
    } else if (o->type == CLI_NUMBER || o->type == CLI_COUNT) {
        if (!str_to_int(&number, text) || number < (o->type == CLI_COUNT) || number > INT32_MAX)
            return ERR(e, ERR_USAGE, "--%s: expected a %s integer, found '%s'", o->name,
                       o->type == CLI_COUNT ? "positive" : "non-negative", text);
        *(int32_t *)o->out = (int32_t)number;
    } else if (o->type == CLI_REAL) {
        if (!str_to_double(o->out, text) || *(double *)o->out < 0)
            return ERR(e, ERR_USAGE, "--%s: expected a non-negative number, found '%s'", o->name,
                       text);
    } else if (o->type == CLI_FORMAT) {
        return report_format_find(o->out, text, e);
    } else if (o->type < CLI_LIST) {
        *(const char **)o->out = text;
    } else {
        if (list->n == CLI_LIST_MAX)
            return ERR(e, ERR_USAGE, "--%s is given more than %d times", o->name, CLI_LIST_MAX);
        list->item[list->n++] = text;
    }
    return 0;
}

/* Finds the option of an argument ("--name", "--name=value", "-n"). The error names the nearest
 * option. */
static int find_option(const struct cli_option **out, const struct cli_command *self,
                       const struct cli_option *all, const char *argument, struct err *e)
{
    const char *names[CLI_OPTIONS_MAX];
    size_t n = 0;
    const char *name = argument + 2;
    size_t length = strcspn(name, "=");

    for (const struct cli_option *o = all; o->name; o++) {
        bool is_long =
            argument[1] == '-' && strlen(o->name) == length && strncmp(o->name, name, length) == 0;
        bool is_short = argument[1] != '-' && o->letter == argument[1] && !argument[2];
        if (is_long || is_short) {
            *out = o;
            return 0;
        }
        names[n++] = o->name;
    }
    const char *near = argument[1] == '-' ? str_nearest(name, names, n) : NULL;
    return ERR(e, ERR_USAGE, "unknown option %s of `alibi %s`%s%s; see `alibi %s --help`", argument,
               self->name, near ? "; did you mean --" : "", near ? near : "", self->name);
}

int cli_parse(struct cli *c, const struct cli_command *self, const struct cli_option *options,
              int argc, char **argv, int32_t rest_min, int32_t rest_max, struct err *e)
{
    struct cli_option all[CLI_OPTIONS_MAX] = {{0}};
    struct cli_list *rest = &c->rest;
    bool help = false, only_rest = false;
    int32_t n = 0;

    for (const struct cli_option *o = options; o && o->name; o++) all[n++] = *o;
    all[n++] = (struct cli_option){"project", 0, CLI_TEXT, &c->project_dir, "DIR", ""};
    all[n++] = (struct cli_option){"quiet", 'q', CLI_FLAG, &c->quiet, NULL, ""};
    all[n++] = (struct cli_option){"help", 'h', CLI_FLAG, &help, NULL, ""};
    if (c->take_options) {
        c->take_options(c->take_options_context, all);
        return CLI_DONE;
    }
    for (int i = 0; i < argc; i++) {
        const struct cli_option *o = NULL;
        if (only_rest || argv[i][0] != '-' || argv[i][1] == '\0') {
            if (rest->n == rest_max || rest->n == CLI_LIST_MAX)
                return ERR(e, ERR_USAGE, "unexpected argument '%s'; usage: alibi %s %s", argv[i],
                           self->name, self->arguments);
            rest->item[rest->n++] = argv[i];
            continue;
        }
        if (strcmp(argv[i], "--") == 0) {
            only_rest = true;
            continue;
        }
        TRY(find_option(&o, self, all, argv[i], e));
        const char *value = argv[i][1] == '-' ? strchr(argv[i], '=') : NULL;
        if (o->type == CLI_FLAG && value)
            return ERR(e, ERR_USAGE, "%s: --%s takes no value", argv[i], o->name);
        if (o->type != CLI_FLAG && !value && i + 1 == argc)
            return ERR(e, ERR_USAGE, "--%s requires %s", o->name, o->argument);
        if (value)
            value++;
        else if (o->type != CLI_FLAG)
            value = argv[++i];
        TRY(take_value(o, value, e));
    }
    if (help) {
        print_help(self, options);
        return CLI_DONE;
    }
    if (c->quiet) log_set_level(LOG_WARN);
    if (rest->n < rest_min)
        return ERR(e, ERR_USAGE, "`alibi %s` needs %s; see `alibi %s --help`", self->name,
                   self->arguments, self->name);
    return 0;
}

int cli_open(struct cli *c, struct err *e)
{
    return project_open(&c->project, &c->arena, c->project_dir, e);
}

char *cli_results(struct cli *c)
{
    return project_path(&c->project, &c->arena, "results.db");
}

int cli_open_results(struct cli *c, struct err *e)
{
    TRY(cli_open(c, e));
    return store_open(&c->store, cli_results(c), STORE_READ, e);
}

int cli_find_run(struct cli *c, char run_id[SPEC_ID_BYTES], const char *given, struct err *e)
{
    char *path;
    const char *grid = arena_printf(&c->arena, "experiments/%.64s/grid.yaml", given);

    if (str_is_name(given) && project_find(&path, &c->project, &c->arena, grid, NULL) == 0)
        return ERR(e, ERR_USAGE, "'%s' is an artefact, not a run id; see `alibi report %s`", given,
                   given);
    return store_find_run(c->store, run_id, given, e);
}

const char *cli_plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

struct planning_options cli_planning(const struct cli_planning *o)
{
    return (struct planning_options){.plan = {.scale = o->scale,
                                              .set = o->set.item,
                                              .set_n = o->set.n,
                                              .only = o->only.item,
                                              .only_n = o->only.n,
                                              .seeds = o->seeds},
                                     .devices = o->devices};
}
