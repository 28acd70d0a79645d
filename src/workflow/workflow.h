/* workflow.h - the steps of commands, without options and printing.
 *
 * 1. A workflow takes an open project and, if it writes results, a store open for writing. Texts it
 *    returns are in the caller's arena.
 * 2. It prints only log lines and returns its answer in a struct. */
#ifndef WORKFLOW_WORKFLOW_H
#define WORKFLOW_WORKFLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/project.h"
#include "data/corpus.h"
#include "plan/plan.h"
#include "record/fields.h"
#include "scheduler/scheduler.h"
#include "shape/shape.h"
#include "store/ingest.h"
#include "store/store.h"
#include "worker/worker.h"

enum { ROWS_LIMIT_S = 60 };

/* rows_read - store_query within ROWS_LIMIT_S. */
static inline int rows_read(struct rows *out, struct arena *a, struct store *store, const char *sql,
                            const struct store_param *params, int32_t params_n, struct err *e)
{
    return store_query(store, out, a, sql, params, params_n, ROWS_LIMIT_S, e);
}

/* --- planning.c, hardware.c, estimate.c, changes.c: a plan with its state and an estimate --- */
enum { PLANNING_DEVICES_MAX = 64 };

/* An estimate of time comes from one of three sources: earlier trainings on the device; a share of
 * the peak of a GPU (PLANNING_PEAK_SHARE); a guess about the processor, or about another GPU. */
enum planning_basis { PLANNING_MEASURED, PLANNING_MODELLED, PLANNING_GUESSED };

/* An assumption, not a measurement of this program: trainings of large models reached 21 to 46 % of
 * the peak (Chowdhery et al., PaLM, 2022, table 3). */
#define PLANNING_PEAK_SHARE 0.4

struct planning {
    struct plan plan;
    struct store_run_state *state; /* of each run */
    char **changed; /* of each new run: settings that differ from the run that its point needed when
                       the artefact was last run; NULL: none, or the same run */
    const char **settings; /* of each run: settings in which its training differs from others with
                              equal columns, such as "train.lr=0.5"; "": none */
    const struct plan_model **model; /* of each pretrained training; NULL: others, or it is not
                                        imported */
    const char **gone; /* of each done training: why an evaluation to do cannot use its checkpoint;
                          NULL: it can, or none needs it */
    int32_t ranks_n;   /* processes of a training, each on a device slot */
    double *seconds;   /* estimate for each run on the slots that it takes; 0 if it will not run */
    struct device device; /* device assumed by the estimate; its slots: of all --devices */
    struct err unusable;  /* why --devices cannot be used here; device is then the CPU. code 0: they
                             can */
    const struct shape_gpu *gpu; /* --devices names this GPU, not a device of this machine; NULL */
    enum planning_basis basis;   /* of the estimate */
    double rate_measured;        /* FLOP/s of earlier trainings here; 0: none */
    double seconds_left;         /* estimated wall time of all remaining runs on all slots */
    double work_s;               /* the same on one slot */
    int32_t runs_n;              /* all but sources, as are those of each kind and those done: */
    int32_t trainings_n, evaluations_n, benchmarks_n, done_n;
    int32_t undefined_n; /* evaluations for which their position method is not defined */
};

/* planning_open - devices: --devices, for the estimate, or a GPU and a number such as h100x8; NULL:
 * auto. store may be NULL: nothing is done. The caller closes p->plan. Errors: those of plan_open;
 * ERR_USAGE devices is neither. */
int planning_open(struct planning *p, const struct project *project, const char *const *artefacts,
                  int32_t n, const struct plan_options *o, const char *devices, struct store *store,
                  struct err *e);

/* planning_seconds - estimate for a training by so many processes, or for another run. The parts of
 * several processes are modelled: the work is divided by the shards of the busiest one, and the
 * exchange is that of shape_exchange_s. */
double planning_seconds(const struct planning *p, int32_t run, int32_t ranks_n);

/* planning_trains - true if the run is a training that is to be done here. */
bool planning_trains(const struct planning *p, int32_t run);

/* planning_gpu_word - how the user names GPU i of shape_gpus: "h100pcie"; NULL: past the last. */
char *planning_gpu_word(int32_t i, struct arena *a);

/* planning_is_too_large - true if a run needs more memory than the GPU that --devices names. */
bool planning_is_too_large(const struct planning *p, int32_t run);

/* Which remaining runs end within a budget of time, if the shortest start first. A training and its
 * evaluations are one piece of work. */
struct planning_fit {
    bool *fits;                            /* of each run */
    int32_t pieces_n, fitting_n, beyond_n; /* the others need too much memory */
    double seconds;                        /* until the last that fits ends */
    double beyond_s;                       /* time on one slot of those that do not fit */
    int32_t shortest; /* of these, the run that starts the shortest one; -1: none */
    double shortest_s;
};
void planning_fit(struct planning_fit *out, const struct planning *p, double budget_s,
                  struct arena *a);

/* planning_check_precision - checks that the device named in --devices supports the precision of
 * every remaining run. Errors: ERR_UNAVAILABLE names the --set to use. */
int planning_check_precision(const struct planning *p, struct err *e);

/* planning_check_models - checks that the pretrained models of the runs to do are imported, and
 * that their texts have the ids of their tokenizers. Errors: ERR_NOINPUT, ERR_DATA with the command
 * to use. */
int planning_check_models(const struct planning *p, const struct project *project, struct err *e);

/* planning_is_published - true for a training that is not done and whose checkpoint the authors
 * made: `alibi run` downloads and imports it. */
bool planning_is_published(const struct planning *p, int32_t run);

/* planning_why - the state of a run: "done", "new", "new: train.lr 2, was 3", "failed 2 times: …",
 * "cancelled; resumes", "done, but its checkpoint is gone". */
char *planning_why(const struct planning *p, int32_t run, struct arena *a);

/* --- run.c -------------------------------------------------------------------------------- */
/* workflow_register - registers runs, points and the paper's numbers of a plan in one transaction.
 * With --only it registers the points of the whole grid, unless the settings are invalid for
 * others. */
int workflow_register(struct store *store, const struct project *project, struct arena *a,
                      const struct plan *p, const struct plan_options *o, struct err *e);

/* workflow_unregistered - *out: results.db has results for an artefact that no `alibi run` has
 * asked for at its scale, because other artefacts needed the same runs. If so, *p is its plan,
 * which the caller closes. variant: of plan.h; o: the same options. Warns of a grid that cannot be
 * read. */
int workflow_unregistered(struct plan *p, bool *out, struct store *store,
                          const struct project *project, const struct plan_artefact *artefact,
                          const char *variant, const struct plan_options *o, struct err *e);

/* workflow_corpus - configs/data/NAME.yaml, zeroed without one, and the counts that a corpus of
 * this name must have: those of the file if it has a source, whose hash fixes the text; 0: any. */
int workflow_corpus(struct plan_corpus *out, struct manifest *known, const struct project *project,
                    struct arena *a, const char *name, struct err *e);

typedef void (*workflow_progress_fn)(void *context, const char *what, double share);

/* workflow_show_bytes - reports the bytes of a download or a file at most four times a second, with
 * the time left; without a terminal a line a minute. context: struct workflow_bytes. */
struct workflow_bytes {
    workflow_progress_fn progress;
    const char *name;
    int64_t first, shown, started_us, shown_us; /* first: bytes that were there before; -1 */
};
void workflow_show_bytes(void *context, int64_t done, int64_t total);

/* workflow_run - prepares the corpora, registers the plan, runs what is missing and judges the
 * claims. so: devices NULL means auto; headline is set here. Errors: those of scheduler_run;
 * ERR_DATA a corpus does not match the plan, or, without so->keep_going, a run diverged, now or
 * before. */
int workflow_run(struct store *store, const struct project *project, const struct planning *p,
                 const struct plan_options *o, const struct scheduler_options *so,
                 workflow_progress_fn progress, struct err *e);

/* --- import_checkpoint.c ------------------------------------------------------------------ */
struct import_options {
    const char *as;       /* "position=alibi,L_train=512", or NULL */
    const char *dict;     /* its dict.txt, or NULL */
    const char *artefact; /* artefact whose trainings are searched */
    const char *scale;    /* NULL: the grid's */
    double loss_nats;     /* training loss per token; 0: the file's */
    bool force;           /* replace an existing result */
};
struct import_result {
    struct spec spec; /* of the training */
    char run_id[SPEC_ID_BYTES];
    int64_t parameters_n;
    int32_t L_train_nominal;
    bool was_fp16, heads_recorded;
    const char *dir; /* of the attempt, relative to the project */
};

/* workflow_import - registers a checkpoint of fairseq as the result of the matching training of a
 * plan. A failure leaves neither folder nor rows. Errors: ERR_USAGE no training or several match,
 * or the result exists and force is false; ERR_DATA the model or dictionary does not match. */
int workflow_import(struct import_result *out, const struct project *project, struct arena *a,
                    const char *path, const struct import_options *o, struct err *e);

/* A source that is being registered. */
struct registration {
    struct store *store;
    const struct project *project;
    struct arena *arena;
    const struct plan_run *run; /* the training whose weights it has */
    const char *dir, *path;     /* a new folder of the run: relative to the project, and absolute */
    int32_t number;             /* of the folder */
};
/* registration_begin - makes the folder, which may take the weights. */
int registration_begin(struct registration *g, struct err *e);
/* registration_end - writes the record into the folder, and adds run and source to results.db. Sets
 * what follows from the run: run_id and code_id. After a failure, of which rc may be one
 * before, the folder is removed. */
int registration_end(struct registration *g, int rc, const struct record_source *source,
                     struct err *e);

/* workflow_import_training - workflow_import of the file of g->run, a training of the plan. */
int workflow_import_training(struct import_result *out, struct registration *g, const char *path,
                             const struct import_options *o, const struct plan *p, struct err *e);

/* --- pretrained.c: models in Hugging Face format ------------------------------------------------
 *
 * 1. Importing a folder checks all of it, hashes its files and writes the piece
 *    data/models/NAME.yaml. Neither the weights nor a run are written.
 * 2. A run that needs the model registers it as a source, and again if its folder has moved. */
struct model_options {
    const char *as;        /* NAME; NULL: that of the folder */
    const char *tokenizer; /* folder of its tokenizer; NULL: the same */
    bool force;            /* replace a piece of another model */
    workflow_progress_fn progress;
};
struct model_result {
    struct arena *arena;
    const char *name;
    const char *family, *dtype, *note; /* note: or NULL */
    struct spec spec;
    int64_t parameters_n, bytes;    /* bytes: of the weight files */
    int32_t ids_n, prefix;          /* of the tokenizer; prefix -1: none */
    const char *tokenizer_note;     /* or NULL */
    const char *folder, *tokenizer; /* folders, absolute */
    const char *piece;              /* path relative to the project */
};
/* workflow_import_model - Errors: those of pretrained_open, pretrained_read and tokenizer_open;
 * ERR_USAGE the name is not valid, or is that of another model and force is false. */
int workflow_import_model(struct model_result *out, const struct project *project, struct arena *a,
                          const char *folder, const struct model_options *o, struct err *e);

/* workflow_register_models - registers the pretrained models that runs to do need; redo: or done
 * ones. */
int workflow_register_models(struct store *store, const struct project *project, struct arena *a,
                             const struct planning *p, bool redo, struct err *e);

/* --- published.c -------------------------------------------------------------------------- */
/* workflow_fetch_training - downloads and imports the checkpoint of a training of the plan that
 * another program made, from the address in checkpoints.yaml of its artefact. Resumes
 * an interrupted download. A file without a published hash must be a checkpoint of that training;
 * then its hash is kept in FILE.sha256 and expected from later downloads. Errors: ERR_NOINPUT no
 * address is known; those of fetch_file and workflow_import; ERR_CREATE the disk is too full. */
int workflow_fetch_training(struct store *store, const struct project *project, struct arena *a,
                            const struct plan *p, int32_t run, workflow_progress_fn progress,
                            struct err *e);

/* --- export_run.c ------------------------------------------------------------------------- */
struct export_result {
    const char *run_id, *dir;
    bool has_dictionary;
};

/* workflow_export - writes weights, config.json and dict.txt of a training or of an evaluation's
 * training. dir NULL: exports/RUN. Errors: ERR_NOINPUT the training is not done. */
int workflow_export(struct export_result *out, const struct project *project, struct arena *a,
                    struct store *store, const char *run_id, const char *dir,
                    enum spec_checkpoint which, struct err *e);

/* workflow_export_losses - repeats an evaluation, writes the loss of each target to path, and
 * compares the evaluation with its record. Errors: ERR_NOINPUT the evaluation is not done;
 * ERR_UNAVAILABLE it cannot be repeated on this machine; those of reproduce_run. */
int workflow_export_losses(struct reproduce_report *out, const struct project *project,
                           struct arena *a, struct store *store, const char *run_id,
                           const char *path, struct err *e);

/* --- gc.c --------------------------------------------------------------------------------- */
struct gc_result {
    int32_t folders_n;
    double bytes;
};

/* workflow_gc - deletes attempt folders that neither a current result nor a run that may resume
 * needs. */
int workflow_gc(struct gc_result *out, const struct project *project, struct arena *a,
                struct store *store, struct err *e);

/* workflow_delete - deletes the attempt folders of what store_doom found, then its rows. What an
 * interruption leaves is still in results.db, so that the same command deletes the rest. */
int workflow_delete(struct gc_result *out, const struct project *project,
                    const struct store_doomed *doomed, struct store *store, struct err *e);

/* --- grid_files.c, merge_grids.c ------------------------------------------------------------ */
/* workflow_grid_files - the files of a plan's grids: pieces, files that table.txt uses, the files
 * of their folders that alibi reads, each once. Errors: ERR_DATA a file is outside of the project,
 * or a link out of its folder; those of report_folder_open.
 * workflow_project_name - the name in the project of one of its files, or of a shipped one; NULL:
 * it is neither. workflow_grid_folder - likewise of an artefact's folder; experiments/NAME if it is
 * elsewhere. */
struct grid_file {
    const char *path; /* absolute */
    const char *name; /* such as mygrid/grid.yaml, data/mytext.yaml */
};
struct grid_files {
    struct grid_file *item;
    int32_t n, capacity;
};
int workflow_grid_files(struct grid_files *out, struct arena *a, const struct project *project,
                        const struct plan *plan, struct err *e);
const char *workflow_project_name(const struct project *p, const char *path);
const char *workflow_grid_folder(const struct project *p, struct arena *a,
                                 const struct plan_artefact *artefact);

/* workflow_merge_grids - copies the grids of the results of another project, at path (its folder or
 * its results.db), with their pieces. Never overwrites a file. Without results.db there, it does
 * nothing. */
struct merged_names {
    const char **item;
    int32_t n, capacity;
};
struct merged_grids {
    struct merged_names copied;    /* files by their names in the project */
    struct merged_names different; /* files that are here with other bytes, and stay */
    struct merged_names missing;   /* such as "mygrid come without their grid: REASON" */
};
int workflow_merge_grids(struct merged_grids *out, const struct project *project, struct arena *a,
                         const char *path, struct err *e);

/* --- verify.c ----------------------------------------------------------------------------- */
enum verify_verdict {
    VERIFY_OK,
    VERIFY_WRONG,
    VERIFY_MISSING,   /* its records are not on this machine */
    VERIFY_DIFFERENT, /* other bits with another program, device or library, where equal bits are
                         not guaranteed */
    VERIFY_SKIPPED    /* cannot be checked on this machine */
};
struct verify_options {
    const char *run_id; /* NULL: every run */
    int64_t updates;    /* updates of a training to reproduce; 0: none */
    /* Called for each finding. detail: a second line, or NULL. */
    void (*report)(void *context, enum verify_verdict verdict, const char *what,
                   const char *detail);
    void *context;
};
struct verify_summary {
    int32_t checkpoints_n, results_n, reproduced_n, wrong_n;
};

/* workflow_verify - checks results.db, the checkpoints and the records, and reproduces runs if
 * updates > 0. Problems are reported and counted. Errors: ERR_DATA results.db is damaged;
 * ERR_NOINPUT the run is not finished. */
int workflow_verify(struct verify_summary *out, const struct project *project, struct arena *a,
                    struct store *store, const struct verify_options *o, struct err *e);

#endif
