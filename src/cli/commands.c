/* commands.c - the rows of the command table. The texts that follow the first line of --help are in
 * help.txt, which the build turns into rows of a name and a text. */
#include <string.h>

#include "cli/cli.h"

static const struct {
    const char *name, *text;
} help_texts[] = {{"", ""
#include "cli/help.inc"
}};

const char *cli_help_text(const struct cli_command *command)
{
    for (size_t i = 0; i < sizeof help_texts / sizeof *help_texts; i++)
        if (strcmp(help_texts[i].name, command->name) == 0) return help_texts[i].text;
    return NULL;
}

enum { ANY = CLI_LIST_MAX };

static const struct cli_command table[] = {
    {"plan", "ARTEFACT…", "list the runs an artefact needs, why, and their cost", cli_plan,
     CLI_RESULTS_IF_ANY, 1, ANY, false},
    {"run", "ARTEFACT…", "run what is missing; the same command resumes", cli_run, CLI_PROJECT, 1,
     ANY, false},
    {"report", "ARTEFACT…", "print tables, draw figures, give verdicts", cli_report, CLI_RESULTS, 1,
     ANY, false},
    {"claims", "[ARTEFACT…]", "judge the paper's claims", cli_claims, CLI_RESULTS, 0, ANY, false},
    {"status", "", "show running and finished runs", cli_status, CLI_RESULTS, 0, 0, false},
    {"show", "RUN", "show a run's spec, attempts and results", cli_show, CLI_RUNS, 1, 1, false},
    {"logs", "RUN", "print the log of a run's newest attempt", cli_logs, CLI_RUNS, 1, 1, false},
    {"curves", "RUN…", "draw training and validation losses", cli_curves, CLI_RUNS, 1, ANY, false},
    {"list", "", "list artefacts, what is done and the time left", cli_artefacts,
     CLI_RESULTS_IF_ANY, 0, 0, false},
    {"settings", "[KEY]", "list the settings of a grid and of --set", cli_settings, CLI_NOTHING, 0,
     1, false},
    {"query", "SQL", "run a read-only SQL query on results.db", cli_query, CLI_RESULTS, 1, 1,
     false},
    {"compare", "A B", "compare two sets of evaluations", cli_compare, CLI_RESULTS, 2, 2, false},
    {"devices", "", "list usable devices", cli_devices, CLI_NOTHING, 0, 0, false},
    {"doctor", "", "check this machine: devices, BLAS, tools", cli_doctor, CLI_PROJECT, 0, 0,
     false},
    {"data", "list|fetch|prepare|verify …", "list, fetch, prepare and verify corpora", cli_data,
     CLI_PROJECT, 1, 2, false},
    {"import", "FILE", "register a published checkpoint as a training", cli_import, CLI_PROJECT, 1,
     1, false},
    {"export", "RUN", "write a training's weights as safetensors", cli_export, CLI_RUNS, 1, 1,
     false},
    {"merge", "DB|DIR", "ingest results from another project or rebuild results.db", cli_merge,
     CLI_PROJECT, 1, 1, false},
    {"gc", "", "delete files of superseded attempts", cli_gc, CLI_PROJECT, 0, 0, false},
    {"verify", "[RUN]", "check stored files and reproduce runs bit for bit", cli_verify, CLI_RUNS,
     0, 1, false},
    {"completion", "bash|zsh|fish", "print a shell completion script", cli_completion, CLI_NOTHING,
     1, 1, false},
    {"complete", "WORD…", "print completions of the last word (called by that script)",
     cli_complete, CLI_NOTHING, 0, ANY, true},
    {"worker", "DIR", "execute one attempt (started by run)", cli_worker, CLI_PROJECT, 1, 1, true},
    {"slurm-job", "DIR", "execute one attempt as a Slurm job (submitted by run)", cli_slurm_job,
     CLI_PROJECT, 1, 1, true},
};

const struct cli_command *cli_commands(size_t *n)
{
    *n = sizeof table / sizeof *table;
    return table;
}
