/* cli.h - the table of commands and their options.
 *
 * 1. A command is a section of commands.txt and a function. `alibi NAME --help` is printed from the
 *    section and the command's options.
 * 2. Answers go to stdout, everything else to stderr; exit statuses follow err_exit_code.
 * 3. A command describes its options and calls cli_begin, which parses them and opens what the
 *    row says; it returns an error code. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/project.h"
#include "store/store.h"
#include "workflow/workflow.h"

enum { CLI_OPTIONS_MAX = 24, CLI_LIST_MAX = 256 };

/* The type of an option's argument; determines parsing, messages and completion. */
enum cli_type {
    CLI_FLAG,        /* nothing; out: bool */
    CLI_NUMBER,      /* an integer from 0; out: int32_t */
    CLI_COUNT,       /* an integer from 1; out: int32_t */
    CLI_REAL,        /* a number from 0; out: double */
    CLI_DURATION,    /* a time such as 24h; out: double, in seconds */
    CLI_FORMAT,      /* of an answer; out: enum report_format */
    CLI_FORMAT_PAGE, /* the same, or html: a page */
    CLI_WHICH,       /* best, last; out: enum spec_checkpoint */
    CLI_TEXT,        /* this and the following types: a text; out: const char * */
    CLI_OUTPUT,      /* a file to write; not the results.db of a project */
    CLI_SCALE,       /* a name of configs/scale */
    CLI_DEVICE,      /* a device of this machine */
    CLI_DEVICES,     /* argument of --devices: also a cluster */
    CLI_HARDWARE,    /* the same, or GPUs that this machine need not have */
    CLI_AXES,        /* position=alibi,L_train=512 */
    CLI_LIST_AXES,   /* this and the following types are repeatable; out: NULL-terminated list of
                        texts, const char *const * */
    CLI_LIST_TEXTS,
    CLI_LIST_SETTINGS /* model.heads=4 */
};

struct cli_list {
    const char *item[CLI_LIST_MAX];
    int32_t n;
};

/* An option --name, with an argument unless it is a flag. */
struct cli_option {
    const char *name;
    char letter; /* 0: none */
    enum cli_type type;
    void *out;
    const char *argument, *help;
};

struct cli_command;
struct cli {
    const struct cli_command *self;
    int argc; /* of the words after the command's name */
    char **argv;
    struct arena arena;
    struct project project;
    const char *project_dir;  /* --project, or NULL */
    const char *results;      /* path of results.db, set by cli_open */
    const char *db;           /* --db, or NULL */
    bool quiet;               /* --quiet */
    struct cli_list rest;     /* positional arguments */
    struct store *store;      /* results.db if the command opened it; main closes it */
    struct planning planning; /* likewise; commands without estimates use only its plan */
    bool completes;           /* cli_begin completes the last word and returns CLI_DONE */
};

/* Files that cli_begin opens. */
enum cli_opens {
    CLI_NOTHING,
    CLI_PROJECT,         /* --project or the current folder */
    CLI_RESULTS_IF_ANY,  /* also results.db for reading if it exists; without it every run is new */
    CLI_RESULTS,         /* also results.db for reading */
    CLI_ANSWERS,         /* the same, or the file of --db */
    CLI_ANSWERS_IF_ANY,  /* the same, or nothing if neither exists */
    CLI_ANSWERS_OF_RUNS, /* and replaces positional arguments, prefixes of run ids, by the ids */
    CLI_RUNS             /* the same without --db: the runs' folders are needed, too */
};

typedef int cli_run_fn(struct cli *c, struct err *e);
struct cli_command {
    const char *name, *arguments, *help;
    const char *text; /* further text of --help, whole lines */
    cli_run_fn *run;
    enum cli_opens opens;
    int32_t rest_min, rest_max; /* positional arguments */
    bool hidden;
};

const struct cli_command *cli_commands(size_t *n);
/* CLI_COMMAND - declares a command's function and begins its definition. */
#define CLI_COMMAND(name)                                                                          \
    cli_run_fn cli_##name;                                                                         \
    int cli_##name(struct cli *c, struct err *e)

/* cli_begin - parses options (NULL: none) and positional arguments, in any order, and opens what
 * the command needs. Every command also has --project DIR, --quiet and --help. CLI_DONE: --help or
 * completions were printed; the command must return. Errors: ERR_USAGE unknown option, with the
 * nearest name; too few or too many arguments; the name of an artefact instead of a run, with the
 * right command. */
enum { CLI_DONE = INT_MIN };
int cli_begin(struct cli *c, const struct cli_option *options, struct err *e);
/* cli_open - opens --project or the current folder. */
int cli_open(struct cli *c, struct err *e);
/* cli_plural - "" for one, else "s". */
const char *cli_plural(int64_t n);
/* --- reports (command_results.c) --------------------------------------------------------------
 */
struct report_item;
struct report_options;
/* cli_report_items - the artefacts of the open plan. cli_dataset_titles - the titles that the files
 * of configs/data give their datasets. cli_write_reports - writes the reports to a file, completely
 * or not at all, and sets its size; path NULL: to stdout. */
struct report_item *cli_report_items(struct cli *c);
int cli_dataset_titles(struct report_options *o, struct cli *c, struct err *e);
int cli_write_reports(size_t *bytes, const char *path, struct cli *c,
                      const struct report_item *items, int32_t items_n,
                      const struct report_options *o, struct err *e);

/* cli_can_ask - a person can answer at the terminal. cli_ask - asks a question of yes or no. */
bool cli_can_ask(void);
bool cli_ask(const char *question);
/* cli_complete_word - prints the completions of the last word of a command with these options. */
int cli_complete_word(struct cli *c, const struct cli_option *all, struct err *e);

/* Options of plan and run; o: struct plan_options. type, syntax: of --devices. */
#define CLI_PLANNING_OPTIONS(o, devices, type, syntax)                                             \
    {"scale",    's',    CLI_SCALE,                                                                \
     &(o).scale, "NAME", "such as mini, laptop or paper (default: the grid's, else mini)"},        \
        {"set",    0,           CLI_LIST_SETTINGS,                                                 \
         &(o).set, "KEY=VALUE", "change a setting of every run, which then reads `modified`"},     \
        {"only",    0,       CLI_LIST_AXES,                                                        \
         &(o).only, "K=V,…", "select points, such as position=alibi,L_train=512"},                 \
        {"seeds", 0, CLI_COUNT, &(o).seeds, "N", "use seeds 1 to N instead of the grid's"},        \
    {                                                                                              \
        "devices", 0, type, &(devices), "D", syntax " (default auto)"                              \
    }

/* cli_show_progress - draws the share of a preparation at a terminal. context: NULL, or the
 * const int64_t of clock_monotonic_us at which share was 0, for an estimate of the rest. */
void cli_show_progress(void *context, const char *what, double share);

/* cli_print - prints a part of an answer: printf to stdout, with the texts from outside in it as
 * str_clean has them. Lines and tabs stay. */
void cli_print(const char *format, ...) ERR_PRINTF(1, 2);

#endif
