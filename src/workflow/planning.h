/* planning.h - what plan and run share: the options that make a plan, its state in results.db, its
 * estimated time. */
#ifndef CLI_PLANNING_H
#define CLI_PLANNING_H

#include "cli/cli.h"
#include "plan/plan.h"
#include "scheduler/scheduler.h"
#include "store/store.h"

enum { PLANNING_DEVICES_MAX = 64 };

/* Options as given on the command line. */
struct planning_options {
    const char *scale, *only, *devices;
    int32_t seeds;
    struct cli_list set;
};
/* The rows of struct cli_option for them. */
#define PLANNING_OPTIONS(o)                                                                        \
    {"scale",    's',    CLI_TEXT,                                                                 \
     &(o).scale, "NAME", "mini, small, paper or none (default: the grid's, else mini)"},           \
        {"set",    0,           CLI_LIST,                                                          \
         &(o).set, "KEY=VALUE", "change a setting of every run; they read `modified`"},            \
        {"only",    0,       CLI_TEXT,                                                             \
         &(o).only, "K=V,…", "only these points, such as position=alibi,L_train=512"},             \
        {"seeds", 0, CLI_NUMBER, &(o).seeds, "N", "seeds 1 to N instead of the grid's"},           \
    {                                                                                              \
        "devices", 0, CLI_TEXT, &(o).devices, "D",                                                 \
            "auto, cpu, cpu:N, cuda:0,… or slurm:N (default auto)"                               \
    }

struct planning {
    struct plan plan;
    struct store_run_state *state; /* of each run */
    char **changed;  /* of each new run: what differs from the run that its point asked for when the
                        artefact was last run; NULL: it asked for none, or for this one */
    double *seconds; /* estimated for each run that is not done, on one slot; 0 for done ones */
    struct device device; /* what the estimate assumes */
    bool device_named;    /* it is one of --devices; else none of them is here */
    double rate_measured; /* FLOP/s of past trainings here; 0: the device's rough figure is used */
    double seconds_left;  /* wall time of all that is not done, over the slots */
    int32_t trainings_n, evaluations_n, benchmarks_n, done_n;
};

/* planning_open - artefact `all` stands for every artefact under experiments/. store may be NULL:
 * nothing is done yet. */
int planning_open(struct planning *p, struct cli *c, const struct cli_list *artefacts,
                  const struct planning_options *o, struct store *store, struct err *e);
void planning_close(struct planning *p);

/* planning_check_precision - whether the device of the estimate, if it is named, computes in the
 * precision of every run that is not done. ERR_UNAVAILABLE names the --set. */
int planning_check_precision(const struct planning *p, struct err *e);

/* planning_artefacts - names with `all` expanded, in the cli's arena. */
int planning_artefacts(struct cli *c, const struct cli_list *given, struct cli_list *out,
                       struct err *e);

/* planning_why - of a run, in a few words: "done", "new", "new: train.lr 2, was 3", "failed 2
 * times: …", "cancelled; resumes". */
char *planning_why(const struct planning *p, int32_t run, struct arena *a);
/* planning_find_changes - fills p->changed; store may be NULL. */
int planning_find_changes(struct planning *p, struct store *store, struct err *e);

/* planning_thousands - 246933504 as "246,933,504". */
char *planning_thousands(struct arena *a, int64_t n);
/* planning_bytes - "1.4 GB". */
char *planning_bytes(struct arena *a, double bytes);

#endif
