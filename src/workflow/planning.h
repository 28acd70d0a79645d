/* planning.h - a plan with its state in results.db and its estimated time. */
#ifndef WORKFLOW_PLANNING_H
#define WORKFLOW_PLANNING_H

#include "plan/plan.h"
#include "scheduler/scheduler.h"
#include "store/store.h"

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
/* planning_find_changes - fills p->changed; store may be NULL. */
int planning_find_changes(struct planning *p, struct store *store, struct err *e);

#endif
