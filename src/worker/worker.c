/* worker.c - carries out an attempt, from its folder to its outcome. */
#include "worker/worker.h"

#include <errno.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "spec/code_id.h"
#include "worker/worker_internal.h"

/* Opens the backend in the precision of the first spec. */
static int worker_start(struct worker *a, struct err *e)
{
    const struct worker_options *o = a->options;
    struct utsname host;
    bool bf16 = spec_precision(&a->spec[0], NULL) == SPEC_BF16;

    TRY(spec_check_device(&a->spec[0], o->device, e));
    TRY(backend_open(&a->backend, o->device, o->threads, bf16 ? DTYPE_BF16 : DTYPE_F32, e));
    worker_restore_choices(a, o->choices);
    if (uname(&host) < 0) return ERR(e, ERR_INTERNAL, "uname: %s", strerror(errno));
    const struct record r = {
        .type = EVENT_STARTED,
        .started = {.pid = getpid(),
                    .threads = a->backend->threads,
                    .host = host.nodename,
                    .device = a->backend->device,
                    .backend = a->backend->name,
                    .blas = a->backend->blas,
                    .code_id = code_id(),
                    .program = a->project->program ? a->project->program : ""}};
    return record_write(a->events, &r, e);
}

static int worker_end(struct worker *a, int outcome, const struct err *why, struct err *e)
{
    const struct record r = {.type = EVENT_ENDED,
                             .ended = {.state = outcome == 0                 ? "done"
                                                : outcome == ERR_NUMBER      ? "diverged"
                                                : outcome == ERR_INTERRUPTED ? "cancelled"
                                                                             : "failed",
                                       .code = err_name(outcome),
                                       .message = outcome < 0 ? why->text : "",
                                       .choices = worker_choices(a, &a->arena)}};

    TRY(record_write(a->events, &r, e));
    return event_sync(a->events, e);
}

static int worker_work(struct worker *a, struct checkpoints *kept, struct err *e)
{
    TRY(worker_start(a, e));
    switch (a->spec[0].kind) {
    case SPEC_TRAIN:
        return train_run(a, kept, e);
    case SPEC_EVAL:
        return evaluate_run(a, e);
    case SPEC_BENCH:
        return bench_run(a, e);
    }
    return ERR(e, ERR_DATA, "%s: unknown kind %d of spec", a->dir, (int)a->spec[0].kind);
}

int worker_run(const struct project *p, const struct worker_options *o, struct err *e)
{
    struct worker a;
    struct checkpoints kept = {.worker = &a};
    struct err unrecorded = {0}, mine = {0};

    if (!e) e = &mine; /* the end's record contains the message */
    int rc = worker_open(&a, p, o, e);
    if (rc == 0) rc = worker_work(&a, &kept, e);
    if (a.events) {
        int ended = worker_end(&a, rc, e, &unrecorded);
        /* Fails if the outcome could not be recorded; reports the first error. */
        if (rc == 0 && ended < 0) rc = ERR(e, ended, "%s", unrecorded.text);
    }
    if (rc == 0) checkpoints_finish(&kept);
    worker_close(&a);
    return rc;
}
