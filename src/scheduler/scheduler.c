/* scheduler.c - one call: open, recover, check; then fill the slots, wait, poll the attempts and
 * handle those that ended, until nothing runs and nothing can be started.
 *
 * 1. Each round changes the database in one transaction, and reports a run as done only after its
 *    commit.
 * 2. A failure of a worker is an event; a failure to write the database or a folder ends the call
 *    and its workers, and the next call recovers what they wrote.
 * 3. Time limits use the monotonic clock; the wall clock is only shown.
 * 4. A rejected worker is submitted again if the executor has accepted one in this call, while
 * other workers run or at most SCHEDULER_REJECTIONS_MAX times.
 * 5. Ctrl-C: the first stops the workers (handle_signals), the second kills them, the third
 *    (cluster only) leaves them to the next call (may_abandon).
 * 6. On every return the workers have ended, or continue if their executor outlives the scheduler,
 *    and signal handling is restored. */
#include "scheduler/scheduler.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "record/run_folder.h"
#include "scheduler/attempt.h"
#include "scheduler/call.h"
#include "scheduler/executor.h"
#include "scheduler/process.h"
#include "scheduler/progress.h"
#include "scheduler/queue.h"
#include "scheduler/slots.h"
#include "shape/shape.h"

enum { SCHEDULER_TICK_MS = 200, SCHEDULER_REJECTIONS_MAX = 30 };

int64_t scheduler_now_us(const struct scheduler *sc)
{
    const struct scheduler_options *o = sc->options;
    return o->now_us ? o->now_us(o->now_context) : clock_monotonic_us();
}

/* Stores the first failure for the message; log: the attempt's, or NULL. */
static void note_failure(struct scheduler *sc, int code, const struct run *run, const char *message,
                         const char *log)
{
    char name[PROGRESS_NAME_BYTES];

    if (!sc->options->keep_going) sc->halted = true;
    if (sc->failure.code) return;
    progress_name(name, &run->spec);
    err_set(&sc->failure, code, "run %s (%s): %s%s%s", run->run_id, name, message,
            log ? "; its log is " : "", log ? log : "");
}

/* --- starting --- */

static bool is_measuring(const struct scheduler *sc)
{
    for (int32_t i = 0; i < sc->running_n; i++)
        if (sc->queue.run[sc->running[i]->entry[0]].spec.kind == SPEC_BENCH) return true;
    return false;
}

/* Names the first run of an attempt, and how many share it. */
static void name_attempt(char out[PROGRESS_NAME_BYTES], const struct scheduler *sc,
                         const struct attempt *at, bool all)
{
    progress_name(out, &sc->queue.run[at->entry[0]].spec);
    size_t n = strlen(out);
    if (all && at->entries_n > 1)
        snprintf(out + n, PROGRESS_NAME_BYTES - n, " and %ld more", (long)at->entries_n - 1);
}

/* Watches an attempt. verb: "started" or another of that length. */
static void add_running(struct scheduler *sc, struct attempt *at, const char *verb)
{
    char name[PROGRESS_NAME_BYTES];
    char ranks[24] = "";
    const char *label = at->id.label;

    if (at->ranks_n > 1) snprintf(ranks, sizeof ranks, "  (%ld ranks)", (long)at->ranks_n);
    sc->running[sc->running_n++] = at;
    at->executor->accepted = true;
    queue_start(&sc->queue, at->entry, at->entries_n);
    name_attempt(name, sc, at, true);
    progress_print(&sc->progress, false, "%s  %s  %s%s%s%s%s", verb, name, at->dir,
                   *label ? "  (" : "", label, *label ? ")" : "", ranks);
}

/* Decides whether runs whose worker was not started are tried again later. */
static bool may_resubmit(struct scheduler *sc, const struct executor_open *x, const struct err *why)
{
    bool hopeless = sc->running_n == 0 && sc->rejected_n >= SCHEDULER_REJECTIONS_MAX;

    if (why->code != ERR_TRYLATER || !x->accepted || hopeless) return false;
    sc->rejected_us = scheduler_now_us(sc);
    if (++sc->rejected_n == 1)
        progress_print(&sc->progress, true, "warning: %s; retrying every %.3g s", why->text,
                       sc->poll_s);
    return true;
}

static int start_next(struct scheduler *sc, int32_t n, struct err *e)
{
    struct attempt *at;
    int32_t slot[SLOTS_MAX];
    const struct run *first = &sc->queue.run[sc->queue.pick[0]];
    const struct slots_need need = queue_need(&sc->queue, &sc->slots, sc->queue.pick, n);
    int32_t slots_n = slots_find(&sc->slots, &need, slot);

    if (slots_n == 0)
        return ERR(e, ERR_INTERNAL, "a run was chosen though no slot has room for it");
    int rc = attempt_start(&at, sc, n, slot, slots_n, e);
    if (rc < 0)
        return may_resubmit(sc, &sc->executor[slots_executor(&sc->slots, slot[0])], e) ? 0 : rc;
    slots_take(&sc->slots, slot, slots_n, need.bytes, first->spec.kind == SPEC_EVAL);
    sc->rejected_n = 0;
    add_running(sc, at, "started");
    return 0;
}

static int commit_round(struct scheduler *sc, struct err *e)
{
    if (!sc->batch) return 0;
    sc->batch = false;
    return store_finish(sc->store, 0, e);
}

/* Each start is committed at once, so that the next scheduler knows what runs. */
static int fill_slots(struct scheduler *sc, struct err *e)
{
    while (!sc->stopping && !sc->halted && slots_free_n(&sc->slots) > 0 && !is_measuring(sc)) {
        double since_s = (double)(scheduler_now_us(sc) - sc->rejected_us) / 1e6;
        if (sc->rejected_n > 0 && since_s < sc->poll_s) break;
        int32_t n = queue_next(&sc->queue, sc->running_n == 0, &sc->slots);
        if (n == 0) break;
        if (!sc->batch) TRY(store_begin(sc->store, e));
        sc->batch = true;
        TRY(start_next(sc, n, e));
        TRY(commit_round(sc, e));
    }
    return 0;
}

/* Keeps those of the recovered attempts that execute runs of the queue; a call that wants the runs
 * of the others recovers them. */
static void take_over(struct scheduler *sc)
{
    int32_t recovered_n = sc->running_n;

    sc->running_n = 0;
    for (int32_t i = 0; i < recovered_n; i++) {
        struct attempt *at = sc->running[i];
        attempt_find_entries(at, &sc->queue);
        if (at->entries_n == 0) {
            attempt_free(at);
            continue;
        }
        struct slots_need need = queue_need(&sc->queue, &sc->slots, at->entry, at->entries_n);
        const struct run *first = &sc->queue.run[at->entry[0]];
        need.executor = (int32_t)(at->executor - sc->executor);
        at->slot = arena_array(&at->arena, (size_t)need.ranks_n, sizeof *at->slot);
        at->slots_n = slots_find(&sc->slots, &need, at->slot);
        slots_take(&sc->slots, at->slot, at->slots_n, need.bytes, first->spec.kind == SPEC_EVAL);
        add_running(sc, at, "resumed");
    }
}

/* --- waiting --- */

static void signal_all(struct scheduler *sc, enum worker_signal signal)
{
    for (int32_t i = 0; i < sc->running_n; i++) {
        sc->running[i]->stop_sent = true;
        sc->running[i]->executor->kind->signal(sc->running[i]->worker, signal);
    }
}

/* Only trainings write checkpoints; evaluations and benchmarks end without a result. */
static void announce_stop(struct scheduler *sc)
{
    long n[2] = {0, 0}; /* others, trainings */
    struct arena a;
    struct strbuf line;

    for (int32_t i = 0; i < sc->running_n; i++)
        n[sc->queue.run[sc->running[i]->entry[0]].spec.kind == SPEC_TRAIN]++;
    arena_init(&a);
    strbuf_init(&line, &a);
    if (n[1] > 0 || n[0] == 0)
        strbuf_addf(&line, "%ld worker%s will write a checkpoint after the current update", n[1],
                    n[1] == 1 ? "" : "s");
    if (n[0] > 0)
        strbuf_addf(&line, "%s%ld worker%s will end after the current batch, without a result",
                    n[1] > 0 ? ", " : "", n[0], n[0] == 1 ? "" : "s");
    progress_print(&sc->progress, true, "stopping: %s (Ctrl-C again kills %s)", line.text,
                   sc->running_n == 1 ? "it" : "them");
    arena_fini(&a);
}

static void handle_signals(struct scheduler *sc)
{
    if (sc->signals.stops_n >= 1 && !sc->stopping) {
        sc->stopping = true;
        announce_stop(sc);
        signal_all(sc, WORKER_STOP);
    }
    if (sc->signals.stops_n >= 2 && !sc->killed) {
        sc->killed = true;
        signal_all(sc, WORKER_KILL);
    }
}

/* Waits for a signal, an executor or the next tick. *child: a worker may have ended. */
static void wait_for_news(struct scheduler *sc, bool *child)
{
    struct err e;
    struct pollfd wait[EXECUTORS_MAX + 1];
    int64_t since_ms = (scheduler_now_us(sc) - sc->last_poll_us) / 1000;
    int timeout_ms = since_ms >= SCHEDULER_TICK_MS ? 0 : (int)(SCHEDULER_TICK_MS - since_ms);

    wait[0] = (struct pollfd){.fd = sc->signals.fd, .events = POLLIN};
    for (int32_t i = 0; i < sc->executors_n; i++) {
        const struct executor_open *x = &sc->executor[i];
        int fd = x->kind->wait_fd ? x->kind->wait_fd(x->self) : -1; /* poll ignores -1 */
        wait[i + 1] = (struct pollfd){.fd = fd, .events = POLLIN};
    }
    poll(wait, (nfds_t)sc->executors_n + 1, timeout_ms);
    signals_read(&sc->signals, scheduler_now_us(sc), child);
    handle_signals(sc);
    for (int32_t i = 0; i < sc->executors_n; i++) {
        const struct executor_open *x = &sc->executor[i];
        if (x->kind->service && x->kind->service(x->self, &e) < 0)
            progress_print(&sc->progress, true, "warning: %s", e.text);
    }
}

/* --- attempts that end --- */

static void print_end(struct scheduler *sc, const struct attempt *at, bool again)
{
    char name[PROGRESS_NAME_BYTES], took[CLOCK_TEXT_BYTES];

    name_attempt(name, sc, at, at->state == STORE_DONE);
    clock_duration(took, (double)(scheduler_now_us(sc) - at->start_us) / 1e6);
    if (at->state == STORE_DONE)
        progress_print(&sc->progress, false, "done     %s in %s", name, took);
    else
        progress_print(&sc->progress, true, "%-8s %s after %s: %s%s (%s)",
                       store_state_name(at->state), name, took,
                       *at->message ? at->message : "no message", again ? "; will be retried" : "",
                       attempt_log(at, &sc->arena, at->dir));
}

/* Retires a GPU that a worker could not use or lost, or on which workers die one after the other;
 * its runs move to the remaining devices, with fewer ranks if too few are left. Of several ranks,
 * the GPU is that of the one that explains the end. A cluster has many GPUs and stays. */
static void handle_device_failure(struct scheduler *sc, const struct attempt *at)
{
    if (at->rank < 0 || at->rank >= at->slots_n) return;
    int32_t slot = at->slot[at->rank], ranks_n = sc->slots.ranks_n;
    const struct device *d = &sc->slots.device[sc->slots.slot[slot].device];
    if (d->is_counted) return;
    bool in_vain = at->state == STORE_LOST && !(at->journal.share > 0);
    bool suspect = slots_note_failure(&sc->slots, slot, at->entry[0], in_vain);
    if (!at->gave_up && !suspect) return;
    int32_t left = slots_retire_device(&sc->slots, slot, at->message);
    progress_print(&sc->progress, true, "%s disabled for this run of alibi; %ld device slot%s left",
                   d->name, (long)left, left == 1 ? "" : "s");
    if (sc->slots.ranks_n < ranks_n && left > 0)
        progress_print(&sc->progress, true, "trainings continue with %ld rank%s instead of %ld",
                       (long)sc->slots.ranks_n, sc->slots.ranks_n == 1 ? "" : "s", (long)ranks_n);
    if (left > 0) return;
    note_failure(sc, ERR_UNAVAILABLE, &sc->queue.run[at->entry[0]], at->message,
                 attempt_log(at, &sc->arena, at->dir));
    sc->halted = true;
}

/* Applies the consequences of a committed outcome. */
static void finish_attempt(struct scheduler *sc, struct attempt *at)
{
    bool again = false;
    const char *blas = attempt_failed_blas(at);

    handle_device_failure(sc, at);
    for (int32_t i = 0; i < at->entries_n; i++) {
        const struct run *run = &sc->queue.run[at->entry[i]];
        struct queue_entry *t = &sc->queue.entry[at->entry[i]];
        if (blas) snprintf(t->avoid_blas, sizeof t->avoid_blas, "%s", blas);
        if (attempt_was_preempted(at)) t->tries_n--; /* the next does not count as a try */
        if (attempt_is_hopeless(at)) t->tries_n = sc->queue.tries;
        enum run_state state =
            queue_end(&sc->queue, at->entry[i], attempt_run_state(at, run->run_id), at->n > 1);
        if (state == RUN_DONE) sc->flops_done += progress_own_flops(at, run, 1);
        if (state == RUN_WAITING) again = true;
        if (state == RUN_FAILED)
            note_failure(sc, attempt_code(at), run, at->message,
                         attempt_log(at, &sc->arena, at->dir));
    }
    sc->worker_s += progress_slot_seconds(sc, at);
    print_end(sc, at, again && !sc->stopping && !sc->halted);
    slots_leave(&sc->slots, at->slot, at->slots_n);
}

static int poll_attempts(struct scheduler *sc, struct err *e)
{
    int32_t kept = 0;

    for (int32_t i = 0; i < sc->running_n; i++) {
        struct attempt *at = sc->running[i];
        int rc = attempt_poll(at, sc, e);
        if (rc < 0) {
            err_ctx(e, "%s", at->dir);
            return rc;
        }
    }
    TRY(commit_round(sc, e));
    sc->last_poll_us = scheduler_now_us(sc);
    for (int32_t i = 0; i < sc->running_n; i++) {
        struct attempt *at = sc->running[i];
        if (at->state == STORE_NONE) {
            sc->running[kept++] = at;
            continue;
        }
        finish_attempt(sc, at);
        attempt_free(at);
    }
    sc->running_n = kept;
    return 0;
}

/* True after a third Ctrl-C if the executors of all unfinished workers outlive the scheduler: the
 * next call recovers them. */
static bool may_abandon(const struct scheduler *sc)
{
    if (sc->signals.stops_n < 3) return false;
    for (int32_t i = 0; i < sc->running_n; i++)
        if (!sc->running[i]->executor->kind->outlives) return false;
    return true;
}

static int scheduler_loop(struct scheduler *sc, struct err *e)
{
    for (;;) {
        bool child = false;
        TRY(fill_slots(sc, e));
        bool waits = sc->rejected_n > 0 && !sc->stopping && !sc->halted;
        if ((sc->running_n == 0 && !waits) || may_abandon(sc)) return 0;
        wait_for_news(sc, &child);
        int64_t since_us = scheduler_now_us(sc) - sc->last_poll_us;
        if (child || since_us >= SCHEDULER_TICK_MS * 1000) TRY(poll_attempts(sc, e));
        if (sc->running_n > 0) progress_draw(sc);
    }
}

/* --- before the loop --- */

/* Fails if a run cannot start at all: a device of this call lacks its precision, or it is too large
 * for every device or for the disk. */
static int check_resources(const struct scheduler *sc, int32_t i, struct err *e)
{
    const struct run *run = &sc->queue.run[i];
    struct slots_need need = queue_need(&sc->queue, &sc->slots, &i, 1);
    struct statvfs disk;
    char ranks[32] = "";

    need.view = SLOTS_EMPTY;
    for (int32_t k = 0; k < sc->slots.n; k++)
        TRY(spec_check_device(&run->spec, sc->slots.device[sc->slots.slot[k].device].name, e));
    if (run->spec.kind == SPEC_TRAIN)
        TRY(shape_check_ranks(run->spec.train.shards, need.ranks_n, e));
    if (slots_find(&sc->slots, &need, NULL) == 0) {
        const struct device *d = slots_largest(&sc->slots);
        if (need.ranks_n > 1)
            snprintf(ranks, sizeof ranks, " for each of %ld ranks", (long)need.ranks_n);
        return ERR(e, ERR_NOMEM,
                   "needs %.1f MB of memory%s, but %s has %.1f MB free of %.1f MB; use another "
                   "device or a smaller model",
                   (double)need.bytes / 1e6, ranks, d->name, (double)d->free_bytes / 1e6,
                   (double)d->memory_bytes / 1e6);
    }
    if (statvfs(sc->project->root, &disk) < 0) return 0;
    double free_bytes = (double)disk.f_bavail * (double)disk.f_frsize;
    if ((double)run->disk_bytes <= free_bytes) return 0;
    return ERR(e, ERR_NOMEM,
               "needs %.1f MB of disk, but %s has %.1f MB free; delete files with `alibi gc`",
               (double)run->disk_bytes / 1e6, sc->project->root, free_bytes / 1e6);
}

int scheduler_find_checkpoint(struct store *s, const struct project *p, const char *train_run,
                              enum spec_checkpoint which, bool *gone, struct err *why,
                              struct err *e)
{
    char path[256], sha256[65];
    struct arena a;

    *gone = false;
    TRY(store_checkpoint(s, train_run, which, path, sha256, e));
    arena_init(&a);
    if (path[0] == '/')
        err_set(why, ERR_NOINPUT,
                "training %s was merged without its folder, so its checkpoint %s is not here; "
                "alibi merge FOLDER of the project that made it brings it, --redo trains again",
                train_run, path);
    else if (!file_exists(project_path(p, &a, path)))
        err_set(why, ERR_NOINPUT,
                "the checkpoint of training %s is gone (%s); `alibi run` with --redo trains it "
                "again",
                train_run, path);
    arena_fini(&a);
    *gone = why->code != 0;
    return 0;
}

/* Reports runs that cannot start before anything starts. */
static int refuse_impossible(struct scheduler *sc, struct err *e)
{
    for (int32_t i = 0; i < sc->queue.n; i++) {
        const struct run *run = &sc->queue.run[i];
        struct err why = {0};
        enum spec_checkpoint which;
        bool gone = false;
        spec_needs(&run->spec, &which);
        if (sc->queue.entry[i].state != RUN_WAITING) continue;
        if (run->train >= 0 && sc->queue.entry[run->train].was_done)
            TRY(scheduler_find_checkpoint(sc->store, sc->project, sc->queue.run[run->train].run_id,
                                          which, &gone, &why, e));
        if (!gone && check_resources(sc, i, &why) == 0) continue;
        int rc = why.code;
        note_failure(sc, rc, run, why.text, NULL);
        if (!sc->options->keep_going) return ERR(e, rc, "%s", sc->failure.text);
        progress_print(&sc->progress, true, "refused  run %s: %s", run->run_id, why.text);
        queue_block(&sc->queue, i);
    }
    return 0;
}

/* Opens the slots that the options name. */
static int open_slots(struct slots *sl, struct arena *a, const struct scheduler_options *o,
                      struct err *e)
{
    int32_t n = o->ranks_per_node;

    TRY(slots_open(sl, a, o->devices, o->ranks_n, o->executors ? o->executors : executor_table, e));
    if (n > 0 && !sl->device[sl->slot[0].device].is_cluster)
        return ERR(e, ERR_USAGE, "--ranks-per-node %d requires --devices slurm", n);
    return 0;
}

int scheduler_check(const struct scheduler_options *o, struct err *e)
{
    struct arena a;

    arena_init(&a);
    int rc = open_slots(arena_array(&a, 1, sizeof(struct slots)), &a, o, e);
    arena_fini(&a);
    return rc;
}

static int open_executors(struct scheduler *sc, struct err *e)
{
    const struct executor *const *table = sc->table;

    TRY(open_slots(&sc->slots, &sc->arena, sc->options, e));
    if (*sc->slots.note) log_warn("%s", sc->slots.note);
    for (int32_t i = 0; table[i] && i < EXECUTORS_MAX; i++) {
        const struct executor_config config = {
            .project = sc->project,
            .machine = &sc->machine,
            .program = sc->options->worker ? sc->options->worker : sc->project->program,
            .words = sc->options->words[i],
            .poll_s = sc->poll_s,
            .ranks_n = sc->options->ranks_n,
            .now_us = sc->options->now_us,
            .now_context = sc->options->now_context,
            .ranks_per_node = sc->options->ranks_per_node,
            .in_use = slots_have(&sc->slots, i)};
        if (config.words && !config.in_use)
            return ERR(e, ERR_USAGE, "--%s %s requires --devices %s", table[i]->option.name,
                       config.words, table[i]->name);
        sc->executor[i].kind = table[i];
        TRY(table[i]->open(&sc->executor[i].self, &config, e));
        sc->executors_n = i + 1;
    }
    return 0;
}

/* Recovers what an earlier scheduler left running. The store's lock proves that no other scheduler
 * of this project is alive. */
static int recover_workers(struct scheduler *sc, struct err *e)
{
    struct store_running *row;
    int32_t rows_n;

    TRY(store_running(sc->store, &sc->arena, &row, &rows_n, e));
    sc->running = arena_array(&sc->arena, (size_t)(sc->slots.n + rows_n), sizeof(struct attempt *));
    for (int32_t i = 0, same_n; i < rows_n; i += same_n) {
        struct attempt *at;
        for (same_n = 1; i + same_n < rows_n; same_n++)
            if (strcmp(row[i + same_n].dir, row[i].dir) != 0) break;
        TRY(attempt_recover(&at, sc, row + i, same_n, e));
        if (at)
            sc->running[sc->running_n++] = at;
        else
            sc->recovered_n += same_n;
    }
    if (sc->recovered_n > 0)
        progress_print(&sc->progress, true, "recovered %ld unfinished attempt%s",
                       (long)sc->recovered_n, sc->recovered_n == 1 ? "" : "s");
    return 0;
}

/* Cancels orphans. The call continues if that fails. */
static int cancel_orphans(struct scheduler *sc, const struct executor_open *x, struct err *e)
{
    int32_t n = 0;
    int rc = x->kind->cancel_orphans ? x->kind->cancel_orphans(x->self, &n, e) : 0;
    const char *plural = n == 1 ? "" : "s";

    if (n == 0) return rc;
    if (rc < 0)
        progress_print(&sc->progress, true, "warning: %ld orphaned %s job%s still run: %s", (long)n,
                       x->kind->name, plural, e->text);
    else
        progress_print(&sc->progress, true, "cancelled %ld orphaned %s job%s", (long)n,
                       x->kind->name, plural);
    return 0;
}

static int prepare_queue(struct scheduler *sc, const struct run *runs, int32_t runs_n,
                         struct err *e)
{
    machine_read(&sc->machine);
    TRY(open_executors(sc, e));
    TRY(recover_workers(sc, e));
    for (int32_t i = 0; i < sc->executors_n; i++) TRY(cancel_orphans(sc, &sc->executor[i], e));
    TRY(queue_init(&sc->queue, &sc->arena, sc->store, runs, runs_n, sc->options, e));
    progress_print_start(&sc->progress, &sc->queue, &sc->slots);
    take_over(sc);
    TRY(refuse_impossible(sc, e));
    return queue_clear(&sc->queue, sc->store, e);
}

static void close_call(struct scheduler *sc)
{
    for (int32_t i = 0; i < sc->running_n; i++) attempt_free(sc->running[i]);
    for (int32_t i = 0; i < sc->executors_n; i++) sc->executor[i].kind->close(sc->executor[i].self);
    signals_close(&sc->signals);
}

static int verdict(const struct scheduler *sc, const struct scheduler_result *r, struct err *e)
{
    if (sc->stopping)
        return ERR(e, ERR_INTERRUPTED, "stopped: %d of %d runs done; rerun the command to continue",
                   r->already_done + r->done, r->wanted);
    if (sc->failure.code) return ERR(e, sc->failure.code, "%s", sc->failure.text);
    return 0;
}

int scheduler_run(struct store *s, const struct project *p, const struct run *runs, int32_t runs_n,
                  const struct scheduler_options *o, struct scheduler_result *result, struct err *e)
{
    int rc = 0;
    int64_t start_us = clock_monotonic_us();
    struct scheduler sc = {.store = s, .project = p, .options = o, .signals = {.fd = -1}};

    arena_init(&sc.arena);
    sc.stall_s = o->stall_s > 0 ? o->stall_s : 300;
    sc.table = o->executors ? o->executors : executor_table;
    sc.poll_s = o->poll_s > 0 ? o->poll_s : 10;
    progress_open(&sc.progress, o->quiet, o->headline);
    TRY_OUT(rc, signals_open(&sc.signals, e));
    TRY_OUT(rc, prepare_queue(&sc, runs, runs_n, e));
    rc = scheduler_loop(&sc, e);
out:
    if (rc < 0 && sc.batch) store_rollback(s);
    close_call(&sc);
    progress_fill_result(result, &sc.queue);
    result->seconds = (double)(clock_monotonic_us() - start_us) / 1e6;
    result->recovered = sc.recovered_n;
    progress_clear(&sc.progress);
    if (rc == 0) progress_print_end(&sc.progress, &sc.queue, result);
    if (rc == 0) rc = verdict(&sc, result, e);
    arena_fini(&sc.arena);
    return rc;
}
