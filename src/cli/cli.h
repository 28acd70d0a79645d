/* cli.h - the table of commands and their options.
 *
 * 1. A command is a row: name, one-line help, options, a function. `alibi NAME --help` is printed
 * from the row.
 * 2. Answers go to stdout, everything else to stderr; exit statuses follow err_exit_code.
 * 3. Commands parse with cli_parse, open the project with cli_open, and return an error code. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/project.h"

enum { CLI_OPTIONS_MAX = 24, CLI_LIST_MAX = 256 };

enum cli_type { CLI_FLAG, CLI_TEXT, CLI_NUMBER, CLI_REAL, CLI_LIST };

struct cli_list {
    const char *item[CLI_LIST_MAX];
    int32_t n;
};

/* An option: --name, with an argument unless it is a flag. out: bool, const char *, int32_t,
 * double, struct cli_list. */
struct cli_option {
    const char *name;
    char letter; /* 0: none */
    enum cli_type type;
    void *out;
    const char *argument, *help;
};

struct cli {
    struct arena arena;
    struct project project;
    const char *project_dir; /* --project, or NULL */
    bool quiet;              /* --quiet */
    /* For completion: cli_parse hands over all options and has the command return at once. */
    void (*asked)(void *context, const struct cli_option *all);
    void *asked_context;
};

struct cli_command {
    const char *name, *arguments, *help;
    const char *more; /* paragraphs and examples for --help, or NULL */
    int (*run)(struct cli *c, const struct cli_command *self, int argc, char **argv, struct err *e);
    bool hidden;
};

const struct cli_command *cli_commands(size_t *n);

/* cli_parse - options of a command, in any order with the positional arguments, which go to rest. 1
 * when --help was asked for and printed, or the options were (the command then returns 0), 0 to go
 * on. Every command
 * also knows --project DIR, --quiet and --help. Errors: ERR_USAGE with the nearest option, too few
 * or too many arguments. */
int cli_parse(struct cli *c, const struct cli_command *self, const struct cli_option *options,
              int argc, char **argv, struct cli_list *rest, int32_t rest_min, int32_t rest_max,
              struct err *e);

/* cli_open - the project of --project or of the current folder. */
int cli_open(struct cli *c, struct err *e);
/* cli_results - path of results.db. */
char *cli_results(struct cli *c);

int cli_plan(struct cli *c, const struct cli_command *self, int argc, char **argv, struct err *e);
int cli_run(struct cli *c, const struct cli_command *self, int argc, char **argv, struct err *e);
int cli_report(struct cli *c, const struct cli_command *self, int argc, char **argv, struct err *e);
int cli_claims(struct cli *c, const struct cli_command *self, int argc, char **argv, struct err *e);
int cli_query(struct cli *c, const struct cli_command *self, int argc, char **argv, struct err *e);
int cli_compare(struct cli *c, const struct cli_command *self, int argc, char **argv,
                struct err *e);
int cli_status(struct cli *c, const struct cli_command *self, int argc, char **argv, struct err *e);
int cli_show(struct cli *c, const struct cli_command *self, int argc, char **argv, struct err *e);
int cli_logs(struct cli *c, const struct cli_command *self, int argc, char **argv, struct err *e);
int cli_devices(struct cli *c, const struct cli_command *self, int argc, char **argv,
                struct err *e);
int cli_doctor(struct cli *c, const struct cli_command *self, int argc, char **argv, struct err *e);
int cli_data(struct cli *c, const struct cli_command *self, int argc, char **argv, struct err *e);
int cli_merge(struct cli *c, const struct cli_command *self, int argc, char **argv, struct err *e);
int cli_gc(struct cli *c, const struct cli_command *self, int argc, char **argv, struct err *e);
int cli_verify(struct cli *c, const struct cli_command *self, int argc, char **argv, struct err *e);
int cli_import(struct cli *c, const struct cli_command *self, int argc, char **argv, struct err *e);
int cli_export(struct cli *c, const struct cli_command *self, int argc, char **argv, struct err *e);
int cli_completion(struct cli *c, const struct cli_command *self, int argc, char **argv,
                   struct err *e);
int cli_complete(struct cli *c, const struct cli_command *self, int argc, char **argv,
                 struct err *e);
int cli_worker(struct cli *c, const struct cli_command *self, int argc, char **argv, struct err *e);
int cli_slurm_job(struct cli *c, const struct cli_command *self, int argc, char **argv,
                  struct err *e);

#endif
