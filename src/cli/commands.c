/* commands.c - the rows of the command table. */
#include "cli/cli.h"

static const char plan_more[] =
    "ARTEFACT is a name under experiments/ (see `alibi list`), `all`, or the path of a folder with "
    "a\n"
    "grid.yaml; a path must contain a slash. Lengths in --only are the paper's. --only may be "
    "given\n"
    "several times; values of one key are separated by |. `alibi settings` lists the keys of "
    "--set\n"
    "and --only.\n\n"
    "  alibi plan table5 --scale paper\n"
    "  alibi plan table5 --only 'position=alibi|sinusoidal,L_train=512'\n"
    "  alibi plan ./mygrid/ --set train.updates=200";
static const char run_more[] =
    "The same command resumes after any interruption and runs nothing twice. First Ctrl-C: write\n"
    "checkpoints and stop. Second: kill the workers. Results are in results.db, logs under runs/.\n"
    "More than a day of estimated work needs --yes.\n\n"
    "With --devices slurm each attempt is a Slurm job, and --slurm passes options to sbatch. The\n"
    "project folder must be on a file system shared with the nodes, results.db on a local disk (a\n"
    "symbolic link). A third Ctrl-C abandons the jobs that Slurm has not ended; the next call\n"
    "recovers them.\n\n"
    "  alibi run table5\n"
    "  alibi run figure1 figure11 --devices cpu:2 --seeds 3\n"
    "  alibi run table5 --devices slurm:8 --slurm \"partition=gpu gres=gpu:1 time=24:00:00\"";
static const char report_more[] =
    "HTML is one self-contained page for all the artefacts, with figures, verdicts and the origin "
    "of\n"
    "each number.\n\n"
    "At scale paper each number has the paper's beside it, with a verdict; at other scales the\n"
    "artefact's claims judge the shape. Several artefacts end with a summary. Verdicts do not "
    "affect\n"
    "the exit status; use `alibi claims` for that.\n\n"
    "A plot.gp can run any command. One that is not shipped with alibi runs in a sandbox\n"
    "(bubblewrap); pass --trust to run one that you have read. If a figure cannot be drawn, for "
    "lack\n"
    "of gnuplot or a sandbox, all else is printed and the exit status is 69.\n\n"
    "  alibi report table5 --format latex\n"
    "  alibi report all --format html --out plots/report.html";
static const char logs_more[] =
    "Losses, validations and checkpoints, then the worker's warnings and errors. Every update is "
    "in\n"
    "the view curves and in the attempt's event file.";
static const char curves_more[] = "Draws in the terminal and, without --watch, writes "
                                  "plots/curves-RUN.svg. Several runs share one\n"
                                  "picture. Needs gnuplot.\n\n"
                                  "  alibi curves 4a69595cd94f7913 762c78c09e07ed31\n"
                                  "  alibi curves 4a69 --watch";
static const char settings_more[] =
    "Without KEY: every key with its range and default, a line each. With KEY (or a part of one, "
    "such\n"
    "as `train.`): also its source. The paper's or the authors' value is in the source.\n\n"
    "A grid.yaml sets keys under `set:` (for all runs) and as axes under `grid:` and `evaluate:`; "
    "a\n"
    "list of values makes an axis of any key. Short names: position L_train L_valid dataset seed\n"
    "split window stride targets checkpoint mode.\n\n"
    "  base: [data/mytext.yaml]                 pieces of configs/, beside the grid, or under "
    "data/\n"
    "  set: { model: { layers: 2, dim: 64 }, train.updates: 500 }\n"
    "  grid:                                    a union of products\n"
    "    - { position: [alibi, t5], L_train: [64, 128], train.lr: [0.5, 1] }\n"
    "    - { kind: bench, position: alibi, L_train: 512, mode: [train, eval] }\n"
    "  evaluate:\n"
    "    - { where: { position: alibi }, L_valid: { list: [64, 128], at_least: L_train } }\n"
    "    - { window: sliding, stride: 1, L_valid: { from: L_train, add: [0, 64] } }\n"
    "  skip: [{ where: { position: t5, L_train: 128 }, why: \"not in the paper\" }]\n\n"
    "  alibi settings train.\n"
    "  alibi settings model.dropout";
static const char query_more[] =
    "Read-only, with a time limit. The views are a stable interface: evaluations, trainings,\n"
    "artefact_evaluations, benchmarks, curves, settings, paper_values, comparison, attempts, "
    "claims,\n"
    "progress. experiments/README.md describes them and has worked queries.\n\n"
    "  alibi query \"SELECT position, L_train, L_valid, perplexity FROM evaluations\"\n"
    "  alibi query \"SELECT position, avg(train_wps) FROM trainings GROUP BY 1\" --format markdown";
static const char compare_more[] =
    "A and B are filters column=value,… over the view evaluations, or prefixes of run ids.\n"
    "Columns: scale dataset corpus model position L_train L_valid split protocol stride\n"
    "first_window precision checkpoint targets seed modified origin; lengths are the paper's.\n"
    "A filter may also name a setting, such as train.lr=3 (`alibi settings`). What neither filter\n"
    "names must agree, settings of the training included. Each row has an evaluation of A, one of "
    "B, A - B and A "
    "/ B.\n"
    "Numbers of different scales, datasets, splits or protocols are never paired, even if a "
    "filter\n"
    "names them: they are listed in rows of their own with the reason.\n\n"
    "  alibi compare position=alibi,scale=mini position=sinusoidal,scale=mini\n"
    "  alibi compare position=alibi,L_train=512 position=sinusoidal,L_train=3072 --format csv\n"
    "  alibi compare 4a78ce3faa78e948 34f5b850cba02073";
static const char data_more[] =
    "  alibi data list                          list prepared corpora and those to fetch or "
    "generate\n"
    "  alibi data fetch wikitext103             download (resumes), check and unpack; --from FILE\n"
    "                                           uses an archive on this machine\n"
    "  alibi data prepare NAME                  prepare a fetched or an embedded corpus\n"
    "  alibi data prepare NAME --text DIR       prepare train.txt, valid.txt and test.txt of DIR;\n"
    "                                           a grid then names it with `base: "
    "[data/NAME.yaml]`\n"
    "  alibi data prepare bookcorpus --text DIR --vocab-file vocab.txt --cased\n"
    "                                           with BERT's word pieces\n"
    "  alibi data prepare cc100 --text DIR --vocab-file vocab.json --merges merges.txt\n"
    "                                           with GPT-2's byte-level BPE\n"
    "  alibi data verify NAME                   hash every file";
static const char import_more[] =
    "FILE is a fairseq checkpoint as torch.save writes it; nothing in it is executed. Its names,\n"
    "shapes and options must match one training of a plan, which then counts as done.\n\n"
    "  alibi import alibi_wt103_L512.pt --dict dict.txt\n"
    "  alibi run table5 --scale paper --only position=alibi,L_train=512\n"
    "  alibi import mine.pt --as position=sinusoidal,L_train=64 --for ./mygrid/";
static const char export_more[] = "Writes model.safetensors (fp32, fairseq's names, tied tensors "
                                  "once), config.json and dict.txt;\n"
                                  "tests/interchange/load_export.py reads them with PyTorch.";
static const char merge_more[] =
    "DIR is a project folder, such as that of a GPU machine. Its results are ingested, and its "
    "run\n"
    "folders with the checkpoints are linked or copied. If DIR has no results.db, or is a folder "
    "of\n"
    "run folders, the results are rebuilt from the event records of the runs. Merging twice "
    "changes\n"
    "nothing. A folder that cannot be read is named and left out; the exit status is then 65.\n\n"
    "  alibi merge /media/gpu-machine/project\n"
    "  alibi merge runs/                        rebuild a lost results.db";
static const char verify_more[] =
    "Hashes the checkpoints and compares every current result with its record in runs/. With RUN,\n"
    "also reproduces it bit for bit: the first K updates of a training (from the start, because a\n"
    "finished training keeps no optimiser state), or a whole evaluation. The exit status is 65 if\n"
    "anything differs; checks that cannot run on this machine are reported as skipped.\n\n"
    "  alibi verify\n"
    "  alibi verify 4a78ce3faa78e948 --updates 100\n"
    "  alibi verify --updates 3                 every training and evaluation";
static const char completion_more[] = "`make install` installs the scripts. Otherwise put one "
                                      "of these into ~/.bashrc, ~/.zshrc or config.fish:\n\n"
                                      "  source <(alibi completion bash)\n"
                                      "  source <(alibi completion zsh)\n"
                                      "  alibi completion fish | source";

enum { ANY = CLI_LIST_MAX };

static const struct cli_command table[] = {
    {"plan", "ARTEFACT…", "list the runs an artefact needs, why, and their cost", plan_more,
     cli_plan, CLI_RESULTS_IF_ANY, 1, ANY, false},
    {"run", "ARTEFACT…", "run what is missing; the same command resumes", run_more, cli_run,
     CLI_PROJECT, 1, ANY, false},
    {"report", "ARTEFACT…", "print tables, draw figures, give verdicts", report_more, cli_report,
     CLI_RESULTS, 1, ANY, false},
    {"claims", "[ARTEFACT…]", "judge the paper's claims",
     "The exit status is 70 if a claim is contradicted.", cli_claims, CLI_RESULTS, 0, ANY, false},
    {"status", "", "show running and finished runs", NULL, cli_status, CLI_RESULTS, 0, 0, false},
    {"show", "RUN", "show a run's spec, attempts and results",
     "RUN is a run id or a prefix of at least 4 digits that matches one run.", cli_show, CLI_RUNS,
     1, 1, false},
    {"logs", "RUN", "print the log of a run's newest attempt", logs_more, cli_logs, CLI_RUNS, 1, 1,
     false},
    {"curves", "RUN…", "draw training and validation losses", curves_more, cli_curves, CLI_RUNS, 1,
     ANY, false},
    {"list", "", "list artefacts, what is done and the time left", NULL, cli_artefacts,
     CLI_RESULTS_IF_ANY, 0, 0, false},
    {"settings", "[KEY]", "list the settings of a grid and of --set", settings_more, cli_settings,
     CLI_NOTHING, 0, 1, false},
    {"query", "SQL", "run a read-only SQL query on results.db", query_more, cli_query, CLI_RESULTS,
     1, 1, false},
    {"compare", "A B", "compare two sets of evaluations", compare_more, cli_compare, CLI_RESULTS, 2,
     2, false},
    {"devices", "", "list usable devices", NULL, cli_devices, CLI_NOTHING, 0, 0, false},
    {"doctor", "", "check this machine: devices, BLAS, tools", NULL, cli_doctor, CLI_PROJECT, 0, 0,
     false},
    {"data", "list|fetch|prepare|verify …", "list, fetch, prepare and verify corpora", data_more,
     cli_data, CLI_PROJECT, 1, 2, false},
    {"import", "FILE", "register a published checkpoint as a training", import_more, cli_import,
     CLI_PROJECT, 1, 1, false},
    {"export", "RUN", "write a training's weights as safetensors", export_more, cli_export,
     CLI_RUNS, 1, 1, false},
    {"merge", "DB|DIR", "ingest results from another project or rebuild results.db", merge_more,
     cli_merge, CLI_PROJECT, 1, 1, false},
    {"gc", "", "delete files of superseded attempts",
     "Deletes the folders of attempts that did not become a run's result, once the run is done.",
     cli_gc, CLI_PROJECT, 0, 0, false},
    {"verify", "[RUN]", "check stored files and reproduce runs bit for bit", verify_more,
     cli_verify, CLI_RUNS, 0, 1, false},
    {"completion", "bash|zsh|fish", "print a shell completion script", completion_more,
     cli_completion, CLI_NOTHING, 1, 1, false},
    {"complete", "WORD…", "print completions of the last word (called by that script)", NULL,
     cli_complete, CLI_NOTHING, 0, ANY, true},
    {"worker", "DIR", "execute one attempt (started by run)", NULL, cli_worker, CLI_PROJECT, 1, 1,
     true},
    {"slurm-job", "DIR", "execute one attempt as a Slurm job (submitted by run)", NULL,
     cli_slurm_job, CLI_PROJECT, 1, 1, true},
};

const struct cli_command *cli_commands(size_t *n)
{
    *n = sizeof table / sizeof *table;
    return table;
}
