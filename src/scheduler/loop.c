/* loop.c - fill the slots, wait, listen, draw the consequences of what ended.
 *
 * 1. A round's changes to the database are one transaction; nothing is called done on the screen
 *    before it is committed.
 * 2. A failure of a worker is an event; a failure to write the database or a folder ends the call
 *    and its workers, and the next call takes up what they wrote.
 * 3. Time limits use the monotonic clock; the wall clock is only shown.
 * 4. A job that Slurm refuses is offered again while there is hope: at once none when it is the
 *    first of the call, later as long as others run or SCHEDULER_REFUSALS_MAX are not reached. */
#include "scheduler/loop.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "scheduler/summary.h"

enum { SCHEDULER_TICK_MS = 200, SCHEDULER_REFUSALS_MAX = 30 };

static int64_t scheduler_now_us(const struct scheduler *sc)
{
    const struct scheduler_options *o = sc->options;
    return o->now_us ? o->now_us(o->now_context) : clock_monotonic_us();
}

void scheduler_note_failure(struct scheduler *sc, int code, const struct run *job,
                            const char *message, const char *dir)
{
    char name[METER_NAME_BYTES];

    if (!sc->options->keep_going) sc->halted = true;
    if (sc->failure.code) return;
    meter_name(name, &job->spec);
    err_set(&sc->failure, code, "run %s (%s): %s%s%s%s", job->run_id, name, message,
            dir ? "; its log is " : "", dir ? dir : "", dir ? "/log" : "");
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
static void scheduler_say_start(struct scheduler *sc, const struct attempt *at, const char *verb)
{
    char name[METER_NAME_BYTES], more[32] = "", job[32] = "";

    meter_name(name, &sc->queue.job[at->task[0]].spec);
    if (at->tasks_n > 1) snprintf(more, sizeof more, " and %ld more", (long)at->tasks_n - 1);
    if (at->work.job.id > 0) snprintf(job, sizeof job, "  (job %lld)", (long long)at->work.job.id);
    progress_print(&sc->meter, false, "%s  %s%s  %s%s", verb, name, more, at->dir, job);
}

static struct attempt_context scheduler_place(struct scheduler *sc)
{
    return (struct attempt_context){
        .store = sc->store,
        .project = sc->project,
        .machine = &sc->machine,
        .queue = &sc->queue,
        .slots = &sc->slots,
        .slurm = &sc->slurm,
        .program = sc->options->worker ? sc->options->worker : sc->project->program,
        .now_us = scheduler_now_us(sc),
    };
}

/* 0: it may be offered again later. */
static int handle_rejection(struct scheduler *sc, int rc, const struct err *e)
{
    if (rc != ERR_TRYLATER || !sc->accepted) return rc;
    if (sc->running_n == 0 && sc->refused_n >= SCHEDULER_REFUSALS_MAX) return rc;
    sc->refused_us = scheduler_now_us(sc);
    if (++sc->refused_n == 1)
        progress_print(&sc->meter, true, "warning: %s; it is tried again every %.3g s", e->text,
                       (double)sc->slurm.poll_us / 1e6);
    return 0;
}

static bool scheduler_waits_for_slurm(const struct scheduler *sc)
{
    return sc->refused_n > 0 && scheduler_now_us(sc) - sc->refused_us < sc->slurm.poll_us;
}

static int scheduler_start(struct scheduler *sc, int32_t n, struct err *e)
{
    const struct attempt_context place = scheduler_place(sc);
    struct err refusal = {0};
    struct attempt *at;
    int64_t bytes = 0;

    for (int32_t i = 0; i < n; i++)
        if (sc->queue.job[sc->pick[i]].device_bytes > bytes)
            bytes = sc->queue.job[sc->pick[i]].device_bytes;
    int32_t slot = slots_take(&sc->slots, bytes);
    if (slot < 0) return ERR(e, ERR_INTERNAL, "a run was chosen though no slot has room for it");
    int rc = attempt_start(&at, &place, sc->pick, n, slot, &refusal);
    if (rc < 0) {
        slots_leave(&sc->slots, slot, bytes);
        rc = handle_rejection(sc, rc, &refusal);
        return rc < 0 ? ERR(e, rc, "%s", refusal.text) : 0;
    }
    if (sc->slots.slot[slot].slurm) {
        sc->refused_n = 0;
        sc->accepted = true;
    }
    queue_start(&sc->queue, sc->pick, n);
    sc->running[sc->running_n++] = at;
    scheduler_say_start(sc, at, "started");
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
           !scheduler_measures(sc) && !scheduler_waits_for_slurm(sc)) {
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
    const struct attempt_context place = scheduler_place(sc);
    struct store_running *row;
    struct attempt *at;
    int32_t rows_n;

    TRY(store_running(sc->store, &sc->arena, &row, &rows_n, e));
    sc->running = arena_array(&sc->arena, (size_t)(sc->slots.n + rows_n), sizeof(struct attempt *));
    sc->poll = arena_array(&sc->arena, (size_t)(sc->slots.n + rows_n) + 1, sizeof *sc->poll);
    for (int32_t i = 0, same_n; i < rows_n; i += same_n) {
        same_n = attempt_gather_running(row + i, rows_n - i);
        const struct slurm_row *found = slurm_find(&sc->slurm, row[i].pid, row[i].dir);
        if (!found) continue;
        TRY(attempt_recover(&at, &place, row + i, same_n, found, e));
        if (!at) continue;
        at->slot = slots_take_slurm(&sc->slots, at->bytes);
        queue_start(&sc->queue, at->task, at->tasks_n);
        sc->running[sc->running_n++] = at;
        sc->accepted = true;
        scheduler_say_start(sc, at, "goes on");
    }
    return 0;
}

/* --- waiting --- */

static void scheduler_end_all(struct scheduler *sc, bool at_once)
{
    for (int32_t i = 0; i < sc->running_n; i++) {
        struct execution *x = &sc->running[i]->work;
        sc->running[i]->told = true;
        (at_once ? x->by->kill : x->by->stop)(x);
    }
}

static void handle_signals(struct scheduler *sc)
{
    if (sc->signals.stops_n >= 1 && !sc->stopping) {
        sc->stopping = true;
        progress_print(
            &sc->meter, true,
            "stopping: %ld worker%s will keep a checkpoint after the current update; again to "
            "end %s at once",
            (long)sc->running_n, sc->running_n == 1 ? "" : "s", sc->running_n == 1 ? "it" : "them");
        scheduler_end_all(sc, false);
    }
    if (sc->signals.stops_n >= 2 && !sc->killed) {
        sc->killed = true;
        scheduler_end_all(sc, true);
    }
}

static void scheduler_take_logs(struct scheduler *sc)
{
    struct err e;

    for (int32_t i = 0; i < sc->running_n; i++) {
        struct attempt *at = sc->running[i];
        if (at->work.by->drain_log(&at->work, &e) >= 0 || at->log_failed) continue;
        at->log_failed = true;
        progress_print(&sc->meter, true, "warning: %s: %s", at->dir, e.text);
    }
}

/* Until a signal, a line for a log, or the next tick. *child: a worker may have ended. */
static void scheduler_wait(struct scheduler *sc, bool *child)
{
    struct err e;
    int64_t since_ms = (scheduler_now_us(sc) - sc->last_poll_us) / 1000;
    int timeout_ms = since_ms >= SCHEDULER_TICK_MS ? 0 : (int)(SCHEDULER_TICK_MS - since_ms);

    sc->poll[0] = (struct pollfd){.fd = sc->signals.fd, .events = POLLIN};
    for (int32_t i = 0; i < sc->running_n; i++) /* a negative descriptor is passed over */
        sc->poll[i + 1] =
            (struct pollfd){.fd = sc->running[i]->work.process.log_pipe, .events = POLLIN};
    poll(sc->poll, (nfds_t)sc->running_n + 1, timeout_ms);
    signals_read(&sc->signals, scheduler_now_us(sc), child);
    handle_signals(sc);
    scheduler_take_logs(sc);
    if (slurm_tick(&sc->slurm, &e) < 0)
        progress_print(&sc->meter, true, "warning: %s; jobs go on, it is asked again every %.3g s",
                       e.text, (double)sc->slurm.poll_us / 1e6);
}

/* --- listening --- */

/* Records first: whether a worker was silent or what its end means is seen only after them. */
static int scheduler_listen_one(struct scheduler *sc, struct attempt *at, struct err *e)
{
    struct execution *x = &at->work;
    struct exit_info how;
    int64_t now_us = scheduler_now_us(sc);
    bool ended = x->by->has_ended(x, at->journal.said != STORE_NONE, &how);

    for (int64_t before = -1; at->journal.records_n > before;) {
        before = at->journal.records_n;
        TRY(attempt_poll(at, sc->store, now_us, &sc->batch, e));
        if (!ended) break;
    }
    if (!ended) {
        if (at->journal.records_n == 0 && !x->by->has_started(x))
            at->start_us = at->last_record_us = now_us;
        bool stalled = (double)(now_us - at->last_record_us) / 1e6 > sc->stall_s;
        if (stalled && at->killed_stalled_us == 0) at->killed_stalled_us = now_us;
        if (at->killed_stalled_us > 0 || at->journal.broken) x->by->kill(x);
        return 0;
    }
    attempt_set_outcome(at, sc->project, &how);
    if (!sc->batch) TRY(store_begin(sc->store, e));
    sc->batch = true;
    const struct store_end end = {.state = at->state,
                                  .exit_code = how.exit_code,
                                  .signal = how.signal,
                                  .message = *at->message ? at->message : NULL};
    for (int32_t i = 0; i < at->n; i++)
        TRY(store_end_attempt(sc->store, at->run[i].attempt_id, &end, e));
    return 0;
}

static void scheduler_say_end(struct scheduler *sc, const struct attempt *at, bool again)
{
    char name[METER_NAME_BYTES], took[CLOCK_TEXT_BYTES];

    meter_name(name, &sc->queue.job[at->task[0]].spec);
    clock_duration(took, (double)(scheduler_now_us(sc) - at->start_us) / 1e6);
    if (at->state == STORE_DONE && at->tasks_n > 1)
        progress_print(&sc->meter, false, "done     %s and %ld more in %s", name,
                       (long)at->tasks_n - 1, took);
    else if (at->state == STORE_DONE)
        progress_print(&sc->meter, false, "done     %s in %s", name, took);
    else
        progress_print(&sc->meter, true, "%-8s %s after %s: %s%s (%s/log)",
                       store_state_name(at->state), name, took,
                       *at->message ? at->message : "it said nothing",
                       again ? "; it gets another try" : "", at->dir);
}

/* A GPU that a worker could not use, or lost, or that loses one worker after the other, gets no
 * other in this call; its runs move to the devices that are left. */
static void handle_device_failure(struct scheduler *sc, const struct attempt *at)
{
    if (at->slot < 0) return;
    const struct device *d = &sc->slots.device[sc->slots.slot[at->slot].device];
    /* Of Slurm it was one node of many. */
    if (strcmp(d->name, "cpu") == 0 || d->is_cluster) return;
    bool gone = at->state == STORE_FAILED && at->journal.unavailable;
    bool in_vain = at->state == STORE_LOST && !(at->journal.share > 0);
    bool suspect = slots_note_failure(&sc->slots, at->slot, at->task[0], in_vain);
    if (!gone && !suspect) return;
    int32_t left = slots_retire_device(&sc->slots, at->slot, at->message);
    progress_print(&sc->meter, true, "%s is not used any more in this call; %ld worker%s left",
                   d->name, (long)left, left == 1 ? "" : "s");
    if (left > 0) return;
    scheduler_note_failure(sc, ERR_UNAVAILABLE, &sc->queue.job[at->task[0]], at->message, at->dir);
    sc->halted = true;
}

/* The consequences of an end that is in the database now. */
static void finish_attempt(struct scheduler *sc, struct attempt *at)
{
    bool again = false;

    handle_device_failure(sc, at);

    for (int32_t i = 0; i < at->tasks_n; i++) {
        const struct run *job = &sc->queue.job[at->task[i]];
        if (attempt_was_preempted(at)) queue_refund_try(&sc->queue, at->task[i]);
        enum run_state state = queue_end(&sc->queue, at->task[i], at->state, at->n > 1);
        if (state == RUN_DONE) sc->flops_done += job->flops;
        if (state == RUN_WAITING) again = true;
        if (state == RUN_FAILED)
            scheduler_note_failure(sc, ERR_INTERNAL, job, at->message, at->dir);
    }
    sc->worker_s += (double)(scheduler_now_us(sc) - at->start_us) / 1e6;
    scheduler_say_end(sc, at, again && !sc->stopping && !sc->halted);
    if (at->slot >= 0) slots_leave(&sc->slots, at->slot, at->bytes);
}

static int poll_attempts(struct scheduler *sc, struct err *e)
{
    int32_t kept = 0;

    for (int32_t i = 0; i < sc->running_n; i++) {
        int rc = scheduler_listen_one(sc, sc->running[i], e);
        if (rc < 0) {
            err_ctx(e, "%s", sc->running[i]->dir);
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

static void scheduler_paint(struct scheduler *sc)
{
    struct meter_state st = {.running_n = sc->running_n,
                             .slots_n = sc->slots.n,
                             .flops_done = sc->flops_done,
                             .worker_s = sc->worker_s,
                             .stopping = sc->stopping};

    summary_fill_meter(&st, &sc->queue);
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
    progress_draw(&sc->meter, &st);
}

/* The user's third wish: jobs that Slurm does not end are left to themselves, and to the next call.
 */
static bool scheduler_may_leave(const struct scheduler *sc)
{
    if (sc->signals.stops_n < 3) return false;
    for (int32_t i = 0; i < sc->running_n; i++)
        if (sc->running[i]->work.by != &executor_slurm) return false;
    return true;
}

int scheduler_loop(struct scheduler *sc, struct err *e)
{
    for (;;) {
        bool child = false;
        TRY(scheduler_fill(sc, e));
        bool waits = sc->refused_n > 0 && !sc->stopping && !sc->halted;
        if ((sc->running_n == 0 && !waits) || scheduler_may_leave(sc)) return 0;
        scheduler_wait(sc, &child);
        int64_t since_us = scheduler_now_us(sc) - sc->last_poll_us;
        if (child || since_us >= SCHEDULER_TICK_MS * 1000) TRY(poll_attempts(sc, e));
        if (sc->running_n > 0) scheduler_paint(sc);
    }
}
