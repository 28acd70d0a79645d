/* loop.c - fill the slots, wait, poll the attempts, act on those that ended.
 *
 * 1. A round's changes to the database are one transaction; nothing is printed as done before it is
 *    committed.
 * 2. A failure of a worker is an event; a failure to write the database or a folder ends the call
 *    and its workers, and the next call recovers what they wrote.
 * 3. Time limits use the monotonic clock; the wall clock is only shown.
 * 4. A rejected job is offered again if the executor has accepted one in this call, and while other
 *    jobs run or at most SCHEDULER_REJECTIONS_MAX times. */
#include "scheduler/loop.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "record/run_folder.h"

enum { SCHEDULER_TICK_MS = 200, SCHEDULER_REJECTIONS_MAX = 30 };

static int64_t scheduler_now_us(const struct scheduler *sc)
{
    const struct scheduler_options *o = sc->options;
    return o->now_us ? o->now_us(o->now_context) : clock_monotonic_us();
}

void scheduler_note_failure(struct scheduler *sc, int code, const struct run *job,
                            const char *message, const char *dir)
{
    char name[PROGRESS_NAME_BYTES];

    if (!sc->options->keep_going) sc->halted = true;
    if (sc->failure.code) return;
    progress_name(name, &job->spec);
    err_set(&sc->failure, code, "run %s (%s): %s%s%s", job->run_id, name, message,
            dir ? "; its log is " : "", dir ? run_folder_path(&sc->arena, dir, RUN_LOG) : "");
}

/* --- starting --- */

static bool scheduler_fits(void *context, const struct run *job)
{
    return slots_fit(context, job->device_bytes);
}

static bool scheduler_measures(const struct scheduler *sc)
{
    for (int32_t i = 0; i < sc->running_n; i++)
        if (sc->queue.job[sc->running[i]->task[0]].spec.kind == SPEC_BENCH) return true;
    return false;
}

/* verb: "started" or another of that length. */
static void print_start(struct scheduler *sc, const struct attempt *at, const char *verb)
{
    char name[PROGRESS_NAME_BYTES], more[32] = "";
    const char *label = at->id.label;

    progress_name(name, &sc->queue.job[at->task[0]].spec);
    if (at->tasks_n > 1) snprintf(more, sizeof more, " and %ld more", (long)at->tasks_n - 1);
    progress_print(&sc->progress, false, "%s  %s%s  %s%s%s%s", verb, name, more, at->dir,
                   *label ? "  (" : "", label, *label ? ")" : "");
}

static struct attempt_context scheduler_place(struct scheduler *sc, int32_t executor)
{
    return (struct attempt_context){
        .store = sc->store,
        .project = sc->project,
        .queue = &sc->queue,
        .slots = &sc->slots,
        .executor = sc->executor[executor].kind,
        .self = sc->executor[executor].self,
        .program = sc->options->worker ? sc->options->worker : sc->project->program,
        .now_us = scheduler_now_us(sc),
    };
}

/* 0: the job may be offered again later. */
static int handle_rejection(struct scheduler *sc, struct executor_open *x, const struct err *why,
                            struct err *e)
{
    bool hopeless = sc->running_n == 0 && x->rejected_n >= SCHEDULER_REJECTIONS_MAX;

    if (why->code != ERR_TRYLATER || !x->accepted || hopeless)
        return ERR(e, why->code, "%s", why->text);
    x->rejected_us = scheduler_now_us(sc);
    if (++x->rejected_n == 1)
        progress_print(&sc->progress, true, "warning: %s; retrying every %.3g s", why->text,
                       sc->poll_s);
    return 0;
}

static bool has_rejected(const struct scheduler *sc)
{
    for (int32_t i = 0; i < sc->executors_n; i++)
        if (sc->executor[i].rejected_n > 0) return true;
    return false;
}

/* Whether an executor rejected a job so recently that none is offered. */
static bool waits_after_rejection(const struct scheduler *sc)
{
    for (int32_t i = 0; i < sc->executors_n; i++) {
        const struct executor_open *x = &sc->executor[i];
        double since_s = (double)(scheduler_now_us(sc) - x->rejected_us) / 1e6;
        if (x->rejected_n > 0 && since_s < sc->poll_s) return true;
    }
    return false;
}

static int scheduler_start(struct scheduler *sc, int32_t n, struct err *e)
{
    struct err why = {0};
    struct attempt *at;
    int64_t bytes = 0;

    for (int32_t i = 0; i < n; i++)
        if (sc->queue.job[sc->pick[i]].device_bytes > bytes)
            bytes = sc->queue.job[sc->pick[i]].device_bytes;
    int32_t slot = slots_take(&sc->slots, bytes);
    if (slot < 0) return ERR(e, ERR_INTERNAL, "a run was chosen though no slot has room for it");
    int32_t executor = slots_executor(&sc->slots, slot);
    const struct attempt_context place = scheduler_place(sc, executor);
    if (attempt_start(&at, &place, sc->pick, n, slot, &why) < 0) {
        slots_leave(&sc->slots, slot, bytes);
        return handle_rejection(sc, &sc->executor[executor], &why, e);
    }
    sc->executor[executor].rejected_n = 0;
    sc->executor[executor].accepted = true;
    queue_start(&sc->queue, sc->pick, n);
    sc->running[sc->running_n++] = at;
    print_start(sc, at, "started");
    return 0;
}

static int scheduler_commit(struct scheduler *sc, struct err *e)
{
    if (!sc->batch) return 0;
    sc->batch = false;
    int rc = store_commit(sc->store, e);
    if (rc < 0) store_rollback(sc->store);
    return rc;
}

/* Each start is committed by itself: what runs is known to the next scheduler. */
static int scheduler_fill(struct scheduler *sc, struct err *e)
{
    while (!sc->stopping && !sc->halted && slots_free_n(&sc->slots) > 0 &&
           !scheduler_measures(sc) && !waits_after_rejection(sc)) {
        int32_t n = queue_next(&sc->queue, sc->pick, sc->running_n == 0, slots_free_n(&sc->slots),
                               scheduler_fits, &sc->slots);
        if (n == 0) break;
        if (!sc->batch) TRY(store_begin(sc->store, e));
        sc->batch = true;
        TRY(scheduler_start(sc, n, e));
        TRY(scheduler_commit(sc, e));
    }
    return 0;
}

int scheduler_take_over(struct scheduler *sc, struct err *e)
{
    struct attempt *at;
    size_t room = (size_t)(sc->slots.n + sc->left_n);

    sc->running = arena_array(&sc->arena, room, sizeof(struct attempt *));
    sc->poll = arena_array(&sc->arena, EXECUTORS_MAX + 1, sizeof *sc->poll);
    for (int32_t i = 0; i < sc->left_n; i++) {
        const struct attempt_left left = sc->left[i];
        const struct attempt_context place = scheduler_place(sc, left.executor);
        sc->left[i].job = NULL;
        TRY(attempt_recover(&at, &place, &left, e));
        if (!at) continue;
        at->slot = slots_take_of(&sc->slots, left.executor, at->bytes);
        queue_start(&sc->queue, at->task, at->tasks_n);
        sc->running[sc->running_n++] = at;
        sc->executor[left.executor].accepted = true;
        print_start(sc, at, "goes on");
    }
    return 0;
}

/* --- waiting --- */

static void signal_all(struct scheduler *sc, enum job_signal signal)
{
    for (int32_t i = 0; i < sc->running_n; i++) {
        sc->running[i]->told = true;
        sc->running[i]->executor->signal(sc->running[i]->job, signal);
    }
}

static void handle_signals(struct scheduler *sc)
{
    if (sc->signals.stops_n >= 1 && !sc->stopping) {
        sc->stopping = true;
        progress_print(
            &sc->progress, true,
            "stopping: %ld worker%s will write a checkpoint after the current update (Ctrl-C again "
            "kills %s)",
            (long)sc->running_n, sc->running_n == 1 ? "" : "s", sc->running_n == 1 ? "it" : "them");
        signal_all(sc, JOB_STOP);
    }
    if (sc->signals.stops_n >= 2 && !sc->killed) {
        sc->killed = true;
        signal_all(sc, JOB_KILL);
    }
}

/* Until a signal, news of an executor, or the next tick. *child: a worker may have ended. */
static void scheduler_wait(struct scheduler *sc, bool *child)
{
    struct err e;
    int64_t since_ms = (scheduler_now_us(sc) - sc->last_poll_us) / 1000;
    int timeout_ms = since_ms >= SCHEDULER_TICK_MS ? 0 : (int)(SCHEDULER_TICK_MS - since_ms);

    sc->poll[0] = (struct pollfd){.fd = sc->signals.fd, .events = POLLIN};
    for (int32_t i = 0; i < sc->executors_n; i++) /* a negative descriptor is passed over */
        sc->poll[i + 1] = (struct pollfd){.fd = sc->executor[i].kind->wait_fd(sc->executor[i].self),
                                          .events = POLLIN};
    poll(sc->poll, (nfds_t)sc->executors_n + 1, timeout_ms);
    signals_read(&sc->signals, scheduler_now_us(sc), child);
    handle_signals(sc);
    for (int32_t i = 0; i < sc->executors_n; i++)
        if (sc->executor[i].kind->service(sc->executor[i].self, &e) < 0)
            progress_print(&sc->progress, true, "warning: %s", e.text);
}

/* --- attempts that end --- */

static void print_end(struct scheduler *sc, const struct attempt *at, bool again)
{
    char name[PROGRESS_NAME_BYTES], took[CLOCK_TEXT_BYTES];

    progress_name(name, &sc->queue.job[at->task[0]].spec);
    clock_duration(took, (double)(scheduler_now_us(sc) - at->start_us) / 1e6);
    if (at->state == STORE_DONE && at->tasks_n > 1)
        progress_print(&sc->progress, false, "done     %s and %ld more in %s", name,
                       (long)at->tasks_n - 1, took);
    else if (at->state == STORE_DONE)
        progress_print(&sc->progress, false, "done     %s in %s", name, took);
    else
        progress_print(&sc->progress, true, "%-8s %s after %s: %s%s (%s)",
                       store_state_name(at->state), name, took,
                       *at->message ? at->message : "no message", again ? "; will be retried" : "",
                       run_folder_path(&sc->arena, at->dir, RUN_LOG));
}

/* A GPU that a worker could not use, or lost, or that loses one worker after the other, gets no
 * other in this call; its runs move to the devices that are left. A cluster has many. */
static void handle_device_failure(struct scheduler *sc, const struct attempt *at)
{
    if (at->slot < 0) return;
    const struct device *d = &sc->slots.device[sc->slots.slot[at->slot].device];
    if (strcmp(d->name, "cpu") == 0 || d->is_cluster) return;
    bool gone = at->state == STORE_FAILED && at->journal.unavailable;
    bool in_vain = at->state == STORE_LOST && !(at->journal.share > 0);
    bool suspect = slots_note_failure(&sc->slots, at->slot, at->task[0], in_vain);
    if (!gone && !suspect) return;
    int32_t left = slots_retire_device(&sc->slots, at->slot, at->message);
    progress_print(&sc->progress, true, "%s disabled for this run of alibi; %ld device slot%s left",
                   d->name, (long)left, left == 1 ? "" : "s");
    if (left > 0) return;
    scheduler_note_failure(sc, ERR_UNAVAILABLE, &sc->queue.job[at->task[0]], at->message, at->dir);
    sc->halted = true;
}

/* The consequences of an end that is in the database now. */
static void finish_attempt(struct scheduler *sc, struct attempt *at)
{
    bool again = false;

    const char *blas = attempt_failed_blas(at);

    handle_device_failure(sc, at);
    for (int32_t i = 0; i < at->tasks_n; i++) {
        const struct run *job = &sc->queue.job[at->task[i]];
        struct task *t = &sc->queue.task[at->task[i]];
        if (blas) snprintf(t->avoid_blas, sizeof t->avoid_blas, "%s", blas);
        if (attempt_was_preempted(at)) queue_refund_try(&sc->queue, at->task[i]);
        enum run_state state = queue_end(&sc->queue, at->task[i], at->state, at->n > 1);
        if (state == RUN_DONE) sc->flops_done += job->flops;
        if (state == RUN_WAITING) again = true;
        if (state == RUN_FAILED)
            scheduler_note_failure(sc, ERR_INTERNAL, job, at->message, at->dir);
    }
    sc->worker_s += (double)(scheduler_now_us(sc) - at->start_us) / 1e6;
    print_end(sc, at, again && !sc->stopping && !sc->halted);
    if (at->slot >= 0) slots_leave(&sc->slots, at->slot, at->bytes);
}

static int poll_attempts(struct scheduler *sc, struct err *e)
{
    int32_t kept = 0;

    for (int32_t i = 0; i < sc->running_n; i++) {
        struct attempt *at = sc->running[i];
        int rc = attempt_poll(at, sc->store, scheduler_now_us(sc), sc->stall_s, &sc->batch, e);
        if (rc < 0) {
            err_ctx(e, "%s", at->dir);
            return rc;
        }
    }
    TRY(scheduler_commit(sc, e));
    sc->last_poll_us = scheduler_now_us(sc);
    for (int32_t i = 0; i < sc->running_n; i++) {
        struct attempt *at = sc->running[i];
        if (!at->ended) {
            sc->running[kept++] = at;
            continue;
        }
        finish_attempt(sc, at);
        attempt_free(at);
    }
    sc->running_n = kept;
    return 0;
}

static void draw_progress(struct scheduler *sc)
{
    struct progress_state st = {.running_n = sc->running_n,
                                .slots_n = sc->slots.n,
                                .flops_done = sc->flops_done,
                                .worker_s = sc->worker_s,
                                .stopping = sc->stopping};

    progress_count(&st, &sc->queue);
    for (int32_t i = 0; i < sc->running_n; i++) {
        const struct attempt *at = sc->running[i];
        double flops = 0;
        for (int32_t k = 0; k < at->tasks_n; k++) flops += sc->queue.job[at->task[k]].flops;
        double done = flops * at->journal.share;
        st.flops_done += done;
        st.flops_left += flops - done;
        if (flops - done > st.flops_longest_left) st.flops_longest_left = flops - done;
        st.worker_s += (double)(scheduler_now_us(sc) - at->start_us) / 1e6;
        st.wps += at->journal.wps;
    }
    progress_draw(&sc->progress, &st);
}

/* Third Ctrl-C: abandon the jobs that have not ended, if they go on without us. The next call
 * recovers them. */
static bool may_abandon(const struct scheduler *sc)
{
    if (sc->signals.stops_n < 3) return false;
    for (int32_t i = 0; i < sc->running_n; i++)
        if (!sc->running[i]->executor->outlives) return false;
    return true;
}

int scheduler_loop(struct scheduler *sc, struct err *e)
{
    for (;;) {
        bool child = false;
        TRY(scheduler_fill(sc, e));
        bool waits = has_rejected(sc) && !sc->stopping && !sc->halted;
        if ((sc->running_n == 0 && !waits) || may_abandon(sc)) return 0;
        scheduler_wait(sc, &child);
        int64_t since_us = scheduler_now_us(sc) - sc->last_poll_us;
        if (child || since_us >= SCHEDULER_TICK_MS * 1000) TRY(poll_attempts(sc, e));
        if (sc->running_n > 0) draw_progress(sc);
    }
}
