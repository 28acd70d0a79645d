/* commands.c - the rows of the command table. */
#include "cli/cli.h"

static const char plan_more[] =
    "ARTEFACT is a name under experiments/, `all`, or the path of a folder that holds a grid.yaml\n"
    "(a path has a slash in it). Lengths in --only are the paper's.\n\n"
    "  alibi plan table5 --scale paper\n"
    "  alibi plan table5 --only position=alibi,L_train=512\n"
    "  alibi plan ./mygrid/ --set train.updates=200";
static const char run_more[] = "The same command resumes after any interruption and runs nothing "
                               "twice. First Ctrl-C: running\n"
                               "work is checkpointed and stopped; second: killed. Results are in "
                               "results.db, logs under runs/.\n"
                               "More than a day of estimated work asks for --yes.\n\n"
                               "With --devices slurm each attempt is a job of Slurm, and --slurm "
                               "holds options of sbatch.\n"
                               "The folder lies where the nodes see it, results.db on a local "
                               "disk (a symbolic link).\n"
                               "Jobs outlive a scheduler that dies or is told to stop a third "
                               "time; the next call takes\n"
                               "them over.\n\n"
                               "  alibi run table5\n"
                               "  alibi run figure1 figure11 --devices cpu:2 --seeds 3\n"
                               "  alibi run table5 --devices slurm:8 --slurm \"partition=gpu "
                               "gres=gpu:1 time=24:00:00\"";
static const char report_more[] =
    "HTML is one page for all artefacts named, with figures, verdicts and where each number came\n"
    "from; it needs nothing else.\n\n"
    "At scale paper each number stands beside the paper's with a verdict; at the others the shape\n"
    "is judged, by the artefact's claims. Several artefacts end with a summary. The exit status "
    "says\n"
    "nothing of verdicts; that of `alibi claims` does.\n\n"
    "A plot.gp can run any command. One that is not shipped with alibi runs in a sandbox\n"
    "(bubblewrap). Without a working sandbox its figure is not drawn, all else is, and the exit\n"
    "status is 69. Pass --trust to run a plot.gp that you have read.\n\n"
    "  alibi report table5 --format latex\n"
    "  alibi report all --format html --out plots/report.html";
static const char query_more[] =
    "Read-only and limited in time. The views are the contract: evaluations, "
    "artefact_evaluations,\n"
    "trainings, benchmarks, curves, paper_values, comparison, attempts, claims, progress.\n"
    "experiments/README.md has worked queries.\n\n"
    "  alibi query \"SELECT position, L_train, L_valid, perplexity FROM evaluations\"\n"
    "  alibi query \"SELECT position, avg(train_wps) FROM trainings GROUP BY 1\" --format markdown";
static const char compare_more[] =
    "A and B are filters column=value,… over the view evaluations, or the beginnings of run ids.\n"
    "Columns: scale dataset corpus model position L_train L_valid split protocol stride\n"
    "first_window precision checkpoint targets seed modified origin; lengths are the paper's.\n"
    "What neither filter names must agree: a row is one evaluation of A, one of B, A - B, A / B.\n"
    "Numbers of different scales, datasets, splits or protocols are never paired, named or not:\n"
    "they stand in rows of their own, which say why.\n\n"
    "  alibi compare position=alibi,scale=mini position=sinusoidal,scale=mini\n"
    "  alibi compare position=alibi,L_train=512 position=sinusoidal,L_train=3072 --format csv\n"
    "  alibi compare 4a78ce3faa78e948 34f5b850cba02073";
static const char data_more[] =
    "  alibi data list                          what is prepared, what can be made or fetched\n"
    "  alibi data fetch wikitext103             download, check and unpack (resumes; --from FILE\n"
    "                                           takes an archive that is here)\n"
    "  alibi data prepare NAME                  of what was fetched, or a synthetic corpus\n"
    "  alibi data prepare NAME --text DIR       prepare train.txt, valid.txt and test.txt of DIR;\n"
    "                                           a grid then names it with `base: "
    "[data/NAME.yaml]`\n"
    "  alibi data prepare bookcorpus --text DIR --vocab-file vocab.txt --cased\n"
    "                                           by the word pieces of BERT\n"
    "  alibi data prepare cc100 --text DIR --vocab-file vocab.json --merges merges.txt\n"
    "                                           by the byte pairs of GPT-2\n"
    "  alibi data verify NAME                   hash every file again";
static const char import_more[] =
    "FILE is a checkpoint of fairseq as torch.save writes it; nothing in it is executed. Its "
    "names,\n"
    "shapes and options must be those of one training of a plan, which then counts as done.\n\n"
    "  alibi import alibi_wt103_L512.pt --dict dict.txt\n"
    "  alibi run table5 --scale paper --only position=alibi,L_train=512\n"
    "  alibi import mine.pt --as position=sinusoidal,L_train=64 --for ./mygrid/";
static const char export_more[] = "Writes model.safetensors (fp32, fairseq's names, tied tensors "
                                  "once), config.json and dict.txt;\n"
                                  "tests/interchange/load_export.py reads them with PyTorch.";

static const char merge_more[] =
    "DIR is a project's folder, such as the one of a GPU machine: its results come, and the "
    "folders\n"
    "of their runs with the checkpoints (linked where that is possible, else copied). Without a\n"
    "results.db in it, or given a folder of run folders, the results are made from the records of\n"
    "the runs: so a lost results.db is made again. Merging twice changes nothing. A folder that\n"
    "cannot be read is named and left out; the exit status is then 65.\n\n"
    "  alibi merge /media/gpu-machine/project\n"
    "  alibi merge runs/                        results.db was lost";
static const char verify_more[] =
    "Hashes the checkpoints again and compares every current result with its record in runs/. "
    "With\n"
    "RUN the run is done again too: the first K updates of a training (from the start: its\n"
    "optimiser's state is gone when it is done), or a whole evaluation, compared bit for bit. "
    "Exit\n"
    "status 65 when anything is wrong; what cannot be done here is said and is no fault.\n\n"
    "  alibi verify\n"
    "  alibi verify 4a78ce3faa78e948 --updates 100\n"
    "  alibi verify --updates 3                 every training and evaluation";

static const char completion_more[] = "`make install` puts the scripts where the shells look. "
                                      "Without it, in ~/.bashrc or ~/.zshrc:\n\n"
                                      "  source <(alibi completion bash)\n"
                                      "  source <(alibi completion zsh)\n"
                                      "  alibi completion fish | source";

static const struct cli_command table[] = {
    {"plan", "ARTEFACT…", "the runs an artefact needs: done or new, why, and their cost", plan_more,
     cli_plan, false},
    {"run", "ARTEFACT…", "run what is missing; the same command resumes", run_more, cli_run, false},
    {"report", "ARTEFACT…", "tables, figures and verdicts from results.db", report_more, cli_report,
     false},
    {"claims", "[ARTEFACT…]", "each claim of the paper: supported, contradicted or not run",
     "Exit status 0 when no claim is contradicted, 70 otherwise.", cli_claims, false},
    {"status", "", "what is running and what was done", NULL, cli_status, false},
    {"show", "RUN", "one run whole: spec, attempts, results",
     "RUN is a run id or its beginning, if only one run begins so.", cli_show, false},
    {"logs", "RUN", "the log of a run's newest attempt", NULL, cli_logs, false},
    {"query", "SQL", "an SQL question to results.db, read-only", query_more, cli_query, false},
    {"compare", "A B", "two sets of evaluations side by side", compare_more, cli_compare, false},
    {"devices", "", "the devices that runs can use", NULL, cli_devices, false},
    {"doctor", "", "whether this machine is ready, and which BLAS is in use", NULL, cli_doctor,
     false},
    {"data", "list|fetch|prepare|verify …", "corpora", data_more, cli_data, false},
    {"import", "FILE", "a published checkpoint becomes the result of a training", import_more,
     cli_import, false},
    {"export", "RUN", "a training's weights for users of PyTorch", export_more, cli_export, false},
    {"merge", "DB|DIR", "take over results made elsewhere, or make a lost results.db again",
     merge_more, cli_merge, false},
    {"gc", "", "give back the disk of attempts that nothing needs",
     "Removes the folders of attempts that did not become a run's result, once the run is done.",
     cli_gc, false},
    {"verify", "[RUN]", "hash, compare with the records, and run again bit for bit", verify_more,
     cli_verify, false},
    {"completion", "bash|zsh|fish", "a script that completes commands, options and names by Tab",
     completion_more, cli_completion, false},
    {"complete", "WORD…", "what may stand for the last word (asked by that script)", NULL,
     cli_complete, true},
    {"worker", "DIR", "carry out one attempt (started by run)", NULL, cli_worker, true},
    {"slurm-job", "DIR", "carry out one attempt as a job of Slurm (submitted by run)", NULL,
     cli_slurm_job, true},
};

const struct cli_command *cli_commands(size_t *n)
{
    *n = sizeof table / sizeof *table;
    return table;
}
