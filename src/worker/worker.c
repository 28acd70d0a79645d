/* worker.c - from an attempt's folder to its outcome: which work, and how it ended. */
#include "worker/worker.h"

#include "worker/worker_internal.h"
#include "worker/bench.h"
#include "worker/evaluate.h"
#include "worker/train.h"

static int worker_work(struct worker *a, struct train **training, struct err *e)
{
    TRY(worker_start(a, e));
    switch (a->spec[0].kind) {
    case SPEC_TRAIN:
        return train_run(training, a, e);
    case SPEC_EVAL:
        return evaluate_run(a, e);
    case SPEC_BENCH:
        return bench_run(a, e);
    }
    return ERR(e, ERR_DATA, "a spec of kind %d", (int)a->spec[0].kind);
}

int worker_run(const struct project *p, const struct worker_options *o, struct err *e)
{
    struct worker a;
    struct train *training = NULL;
    struct err unrecorded = {0}, mine = {0};

    if (!e) e = &mine; /* the record of the end quotes it */
    int rc = worker_open(&a, p, o, e);
    if (rc == 0) rc = worker_work(&a, &training, e);
    if (a.events) {
        int ended = worker_end(&a, rc, e, &unrecorded);
        /* An outcome that could not be recorded has not happened; the first fault is the one told.
         */
        if (rc == 0 && ended < 0) rc = ERR(e, ended, "%s", unrecorded.text);
    }
    if (rc == 0 && training) train_prune_checkpoints(training);
    train_close(training);
    worker_close(&a);
    return rc;
}
