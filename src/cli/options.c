/* options.c - parses and describes the options of a command, and opens what it needs. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/cli.h"
#include "report/report.h"
#include "store/store.h"

void cli_print(const char *format, ...)
{
    struct arena a;
    va_list args;

    arena_init(&a);
    va_start(args, format);
    fputs(str_clean(&a, arena_vprintf(&a, format, args), "\n\t"), stdout);
    va_end(args);
    arena_fini(&a);
}

static void print_help(const struct cli_command *self, const struct cli_option *all)
{
    printf("usage: alibi %s%s%s [options]\n\n%s\n", self->name, *self->arguments ? " " : "",
           self->arguments, self->help);
    if (*self->text) printf("\n%s", self->text);
    printf("\noptions:\n");
    for (const struct cli_option *o = all; o->name; o++) {
        char left[64];
        int column = 26;
        snprintf(left, sizeof left, "%s%c%s--%s%s%s", o->letter ? "-" : "  ",
                 o->letter ? o->letter : ' ', o->letter ? ", " : " ", o->name,
                 o->argument ? " " : "", o->argument ? o->argument : "");
        for (const char *c = left; *c; c++)
            column += (*c & 0xC0) == 0x80; /* UTF-8 continuation bytes have no width */
        printf("  %-*s %s\n", column, left, o->help);
    }
}

/* Appends text to the list of a repeatable option. */
static int add_value(struct arena *a, const struct cli_option *o, const char *text, struct err *e)
{
    const char *const **list = o->out;
    size_t n = 0;

    while (*list && (*list)[n]) n++;
    if (n == CLI_LIST_MAX)
        return ERR(e, ERR_USAGE, "--%s is given more than %d times", o->name, CLI_LIST_MAX);
    const char **longer = arena_array(a, n + 2, sizeof *longer);
    for (size_t i = 0; i < n; i++) longer[i] = (*list)[i];
    longer[n] = text;
    *list = longer;
    return 0;
}

/* Returns how to give a list of seeds; "": other options have none. */
static const char *list_hint(struct arena *a, const char *option, const char *list)
{
    if (strcmp(option, "seeds") != 0) return "";
    return arena_printf(a, "; a list is a line of the grid.yaml: seed: [%s]", list);
}

static int check_output(const struct cli_option *o, const char *path, struct err *e)
{
    if (!*path) return ERR(e, ERR_USAGE, "--%s requires %s, found ''", o->name, o->argument);
    if (!store_is_of_project(path)) return 0;
    return ERR(e, ERR_USAGE, "--%s: %s is the results.db of a project; name another file", o->name,
               path);
}

static int take_value(struct arena *a, const struct cli_option *o, const char *text, struct err *e)
{
    int64_t number;

    if (o->type == CLI_FLAG) {
        *(bool *)o->out = true;
    } else if (o->type == CLI_NUMBER || o->type == CLI_COUNT) {
        if (!str_to_int(&number, text) || number < (o->type == CLI_COUNT) || number > INT32_MAX)
            return ERR(e, ERR_USAGE, "--%s: expected a %s integer, found '%s'%s", o->name,
                       o->type == CLI_COUNT ? "positive" : "non-negative", text,
                       strchr(text, ',') ? list_hint(a, o->name, text) : "");
        *(int32_t *)o->out = (int32_t)number;
    } else if (o->type == CLI_REAL) {
        if (!str_to_double(o->out, text) || *(double *)o->out < 0)
            return ERR(e, ERR_USAGE, "--%s: expected a non-negative number, found '%s'", o->name,
                       text);
    } else if (o->type == CLI_DURATION) {
        if (!clock_parse_duration(o->out, text))
            return ERR(e, ERR_USAGE, "--%s: expected a time such as 90m, 24h or 3d, found '%s'",
                       o->name, text);
    } else if (o->type == CLI_FORMAT || o->type == CLI_FORMAT_PAGE) {
        TRY(report_format_find(o->out, text, e));
        if (o->type == CLI_FORMAT && *(enum report_format *)o->out == REPORT_HTML)
            return ERR(e, ERR_USAGE,
                       "--%s html: only `alibi report` writes a page; use text, markdown, csv, "
                       "json or latex",
                       o->name);
    } else if (o->type == CLI_WHICH) {
        bool last = strcmp(text, "last") == 0;
        if (!last && strcmp(text, "best") != 0)
            return ERR(e, ERR_USAGE, "--%s: expected best or last, found '%.40s'", o->name, text);
        *(enum spec_checkpoint *)o->out = last ? SPEC_LAST : SPEC_BEST;
    } else if (o->type == CLI_OUTPUT) {
        TRY(check_output(o, text, e));
        *(const char **)o->out = text;
    } else if (o->type < CLI_LIST_AXES) {
        *(const char **)o->out = text;
    } else {
        return add_value(a, o, text, e);
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
    if (argument[1] == '-' && length == strlen("scale") && strncmp(name, "scale", length) == 0)
        return ERR(
            e, ERR_USAGE,
            "unknown option --scale of `alibi %s`; plan, run, report, claims and list have it",
            self->name);
    const char *near = argument[1] == '-' ? str_nearest(name, names, n) : NULL;
    return ERR(e, ERR_USAGE, "unknown option %s of `alibi %s`%s%s; see `alibi %s --help`", argument,
               self->name, near ? "; did you mean --" : "", near ? near : "", self->name);
}

/* A lone - is an operand, and so is SQL that begins with a comment. */
static bool is_option(const char *word)
{
    return word[0] == '-' && word[1] && !(word[1] == '-' && isspace((unsigned char)word[2]));
}

/* Parses the words; `all` ends with --help, which sets *help. */
static int parse_options(struct cli *c, const struct cli_option *all, const bool *help,
                         struct err *e)
{
    const struct cli_command *self = c->self;
    struct cli_list *rest = &c->rest;
    bool only_rest = false;

    for (char **word = c->argv, **end = word + c->argc; word < end; word++) {
        const struct cli_option *o = NULL;
        if (only_rest || !is_option(*word)) {
            if (rest->n == self->rest_max)
                return ERR(e, ERR_USAGE, "unexpected argument '%s'; usage: alibi %s%s%s", *word,
                           self->name, *self->arguments ? " " : "", self->arguments);
            rest->item[rest->n++] = *word;
            continue;
        }
        only_rest = strcmp(*word, "--") == 0;
        if (only_rest) continue;
        TRY(find_option(&o, self, all, *word, e));
        const char *value = (*word)[1] == '-' ? strchr(*word, '=') : NULL;
        if (o->type == CLI_FLAG && value)
            return ERR(e, ERR_USAGE, "%s: --%s takes no value", *word, o->name);
        if (o->type != CLI_FLAG && !value && word + 1 == end)
            return ERR(e, ERR_USAGE, "--%s requires %s", o->name, o->argument);
        if (value)
            value++;
        else if (o->type != CLI_FLAG)
            value = *++word;
        TRY(take_value(&c->arena, o, value, e));
    }
    if (!*help && rest->n < self->rest_min)
        return ERR(e, ERR_USAGE, "`alibi %s` needs %s; see `alibi %s --help`", self->name,
                   self->arguments, self->name);
    return 0;
}

/* Replaces a prefix of a run id by the id. */
static int find_run(struct cli *c, const char **run, struct err *e)
{
    char *path, run_id[SPEC_ID_BYTES];
    const char *grid = arena_printf(&c->arena, "experiments/%.128s/grid.yaml", *run);

    if (str_is_name_path(*run) && project_find(&path, &c->project, &c->arena, grid, NULL) == 0)
        return ERR(e, ERR_USAGE, "'%s' is an artefact, not a run id; see `alibi report %s`", *run,
                   *run);
    TRY(store_find_run(c->store, run_id, *run, e));
    *run = arena_strdup(&c->arena, run_id);
    return 0;
}

int cli_begin(struct cli *c, const struct cli_option *options, struct err *e)
{
    enum cli_opens opens = c->self->opens;
    struct cli_option all[CLI_OPTIONS_MAX] = {{0}};
    bool help = false;
    int32_t n = 0;

    for (; options && options->name; options++) all[n++] = *options;
    if (opens >= CLI_ANSWERS && opens <= CLI_ANSWERS_OF_RUNS)
        all[n++] = (struct cli_option){"db",   0,      CLI_TEXT,
                                       &c->db, "FILE", "read this file instead of results.db"};
    all[n++] = (struct cli_option){"project", 0,
                                   CLI_TEXT,  &c->project_dir,
                                   "DIR",     "work in this folder instead of the current one"};
    all[n++] = (struct cli_option){"quiet",   'q',  CLI_FLAG,
                                   &c->quiet, NULL, "log only warnings and errors"};
    all[n++] = (struct cli_option){"help", 'h', CLI_FLAG, &help, NULL, "print this help"};
    if (c->completes) {
        TRY(cli_complete_word(c, all, e));
        return CLI_DONE;
    }
    TRY(parse_options(c, all, &help, e));
    if (help) {
        print_help(c->self, all);
        return CLI_DONE;
    }
    if (c->quiet) log_set_level(LOG_WARN);
    if (opens >= CLI_PROJECT) TRY(cli_open(c, e));
    if (opens >= CLI_RESULTS_IF_ANY) {
        int rc = c->db ? store_open(&c->store, c->db, STORE_GIVEN, e)
                       : store_open(&c->store, c->results, STORE_READ, e);
        bool optional = opens == CLI_RESULTS_IF_ANY || opens == CLI_ANSWERS_IF_ANY;
        if (rc < 0 && !(rc == ERR_NOINPUT && optional && !c->db)) return rc;
    }
    for (int32_t i = 0; opens >= CLI_ANSWERS_OF_RUNS && i < c->rest.n; i++)
        TRY(find_run(c, &c->rest.item[i], e));
    return 0;
}

int cli_open(struct cli *c, struct err *e)
{
    TRY(project_open(&c->project, &c->arena, c->project_dir, e));
    c->results = project_path(&c->project, &c->arena, "results.db");
    return 0;
}

void cli_show_progress(void *context, const char *what, double share)
{
    const int64_t *started_us = context;
    char left[CLOCK_TEXT_BYTES] = "";

    if (!isatty(STDERR_FILENO)) return;
    if (started_us && share > 0 && share < 1)
        clock_duration(left, 1e-6 * (double)(clock_monotonic_us() - *started_us) * (1 / share - 1));
    fprintf(stderr, "\r\033[Kpreparing: %s %3.0f %%%s%s%s", what, 100 * share,
            *left ? ", left " : "", left, share >= 1 ? "\n" : "");
}

bool cli_can_ask(void)
{
    return isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

bool cli_ask(const char *question)
{
    char answer[8] = "";

    fprintf(stderr, "%s [y/N] ", question);
    return fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

const char *cli_plural(int64_t n)
{
    return n == 1 ? "" : "s";
}
