/* workflow.h - what a command does, without its options and its printing.
 *
 * 1. A workflow takes an open project and, where it writes results, a store that is open for
 * writing. Texts that it returns are in the caller's arena.
 * 2. It prints nothing but log lines; what a command answers is in the result it fills. */
#ifndef WORKFLOW_WORKFLOW_H
#define WORKFLOW_WORKFLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/project.h"
#include "plan/plan.h"
#include "scheduler/scheduler.h"
#include "store/ingest.h"
#include "store/store.h"

/* --- planning.c: a plan with its state in results.db and its estimated time ----------------- */
enum { PLANNING_DEVICES_MAX = 64 };

struct planning_options {
    struct plan_options plan;
    const char *devices; /* --devices, for the estimate; NULL: auto */
};

struct planning {
    struct plan plan;
    struct store_run_state *state; /* of each run */
    char **changed; /* of each new run: what differs from the run that its point asked for when the
                       artefact was last run; NULL: it asked for none, or for this one */
    const char **settings; /* of each run: in which settings its training differs from others that
                              have the same columns, such as "train.lr=0.5"; "": in none */
    double *seconds; /* estimated for each run that is not done, on one slot; 0 for done ones */
    struct device device; /* what the estimate assumes */
    bool device_named;    /* it is one of --devices; else none of them is here */
    double rate_measured; /* FLOP/s of past trainings here; 0: the device's rough figure is used */
    double seconds_left;  /* wall time of all that is not done, over the slots */
    int32_t trainings_n, evaluations_n, benchmarks_n, done_n;
    int32_t undefined_n; /* evaluations beyond what their method is defined for */
};

/* planning_open - artefact `all` is every artefact under experiments/. store may be NULL: nothing
 * is done yet. */
int planning_open(struct planning *p, const struct project *project, const char *const *artefacts,
                  int32_t n, const struct planning_options *o, struct store *store, struct err *e);
void planning_close(struct planning *p);

/* planning_check_precision - whether the device of the estimate, if it is named, computes in the
 * precision of every run that is not done. ERR_UNAVAILABLE names the --set. */
int planning_check_precision(const struct planning *p, struct err *e);

/* planning_artefacts - n names with `all` expanded, in the arena. */
int planning_artefacts(const char *const **out, int32_t *out_n, const struct project *project,
                       struct arena *a, const char *const *given, int32_t n, struct err *e);

/* planning_why - of a run, in a few words: "done", "new", "new: train.lr 2, was 3", "failed 2
 * times: …", "cancelled; resumes". */
char *planning_why(const struct planning *p, int32_t run, struct arena *a);

/* --- run.c -------------------------------------------------------------------------------- */
/* workflow_register - runs, points and the paper's numbers of a plan, in one transaction. With
 * --only the points of the whole grid are registered, unless its settings suit no other point. */
int workflow_register(struct store *store, const struct project *project, const struct planning *p,
                      const struct plan_options *o, struct err *e);

typedef void (*workflow_progress_fn)(void *context, const char *what, double share);

/* workflow_run - prepares the corpora, registers the plan, runs what is missing and judges the
 * claims. so: devices NULL means auto; headline is set here. Errors: those of scheduler_run;
 * ERR_DATA a corpus other than the plan's. */
int workflow_run(struct store *store, const struct project *project, const struct planning *p,
                 const struct plan_options *o, const struct scheduler_options *so,
                 workflow_progress_fn progress, struct err *e);

/* --- import.c ----------------------------------------------------------------------------- */
struct import_options {
    const char *as;       /* "position=alibi,L_train=512", or NULL */
    const char *dict;     /* its dict.txt, or NULL */
    const char *artefact; /* whose trainings to look among */
    const char *scale;    /* NULL: the grid's */
    double loss_nats;     /* training loss a token; 0: the file's */
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

/* workflow_import - a checkpoint of fairseq becomes the result of the one training of the plan that
 * matches. A failure leaves neither folder nor rows. Errors: ERR_USAGE no training or several
 * match, or it is done and force is false; ERR_DATA the file is of another model or dictionary. */
int workflow_import(struct import_result *out, const struct project *project, struct arena *a,
                    const char *path, const struct import_options *o, struct err *e);

/* --- export.c ----------------------------------------------------------------------------- */
struct export_result {
    char run_id[SPEC_ID_BYTES];
    const char *dir;
    bool has_dictionary;
};

/* workflow_export - weights, config.json and dict.txt of a training, or of the training of an
 * evaluation. dir: NULL for exports/RUN. Errors: ERR_NOINPUT the training is not done. */
int workflow_export(struct export_result *out, const struct project *project, struct arena *a,
                    struct store *store, const char *run_id, const char *dir,
                    enum spec_checkpoint which, struct err *e);

/* --- folders.c ---------------------------------------------------------------------------- */
struct merge_result {
    const char *folders;           /* the run folders that were ingested; NULL: a results.db was */
    struct ingest_summary summary; /* of them */
    int32_t results_n;             /* of the results.db */
    struct ingest_copies copied;   /* run folders that came along */
    int32_t skipped_n;             /* folders left out */
    const char *why;               /* the first of them */
};

/* workflow_merge - path: a project's folder, a results.db, or a folder of run folders. Errors:
 * ERR_NOINPUT it contains none of these; those of store_merge and ingest_run_folders. */
int workflow_merge(struct merge_result *out, const struct project *project, struct arena *a,
                   struct store *store, const char *path, struct err *e);

struct gc_result {
    int32_t folders_n;
    double bytes;
};

/* workflow_gc - deletes attempt folders that no current result and no run that may resume needs. */
int workflow_gc(struct gc_result *out, const struct project *project, struct store *store,
                struct err *e);

/* --- verify.c ----------------------------------------------------------------------------- */
enum verify_verdict {
    VERIFY_OK,
    VERIFY_WRONG,
    VERIFY_MISSING,   /* its records are not on this machine */
    VERIFY_DIFFERENT, /* other bits by another program, device or library: not promised equal */
    VERIFY_SKIPPED    /* cannot be checked on this machine */
};
struct verify_options {
    const char *run_id; /* NULL: every run */
    int64_t updates;    /* of a training, to reproduce; 0: none */
    /* Called for each finding. detail: a second line, or NULL. */
    void (*report)(void *context, enum verify_verdict verdict, const char *what,
                   const char *detail);
    void *context;
};
struct verify_summary {
    int32_t checkpoints_n, results_n, reproduced_n, wrong_n;
};

/* workflow_verify - checks results.db, the checkpoints, the records and, if asked, reproduces runs.
 * What is wrong is reported and counted. Errors: ERR_DATA results.db is damaged; ERR_NOINPUT the
 * run is not finished. */
int workflow_verify(struct verify_summary *out, const struct project *project, struct arena *a,
                    struct store *store, const struct verify_options *o, struct err *e);

#endif
