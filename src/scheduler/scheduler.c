/* scheduler.c - one call: open, recover, refuse, loop, report.
 *
 * Whatever happens, the workers of the call have ended when it returns, or go on if their executor
 * outlives the scheduler; and the signals are as they were. */
#include "scheduler/scheduler.h"

#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/clock.h"
#include "scheduler/loop.h"

/* Why a job cannot be started at all: a device of this call lacks its precision, or it is too large
 * for every device, or for the disk. */
static int scheduler_check(const struct scheduler *sc, const struct run *job, struct err *e)
{
    const struct device *d = slots_largest(&sc->slots);
    struct statvfs disk;

    for (int32_t i = 0; i < sc->slots.n; i++)
        TRY(spec_check_device(&job->spec, sc->slots.device[sc->slots.slot[i].device].name, e));
    if (job->device_bytes > d->free_bytes)
        return ERR(
            e, ERR_NOMEM,
            "needs %.1f MB of memory, but %s has %.1f MB free of %.1f MB; use another device or a "
            "smaller model",
            (double)job->device_bytes / 1e6, d->name, (double)d->free_bytes / 1e6,
            (double)d->memory_bytes / 1e6);
    if (statvfs(sc->project->root, &disk) < 0) return 0;
    double free_bytes = (double)disk.f_bavail * (double)disk.f_frsize;
    if ((double)job->disk_bytes <= free_bytes) return 0;
    return ERR(e, ERR_NOMEM,
               "needs %.1f MB of disk, but %s has %.1f MB free; delete files with `alibi gc`",
               (double)job->disk_bytes / 1e6, sc->project->root, free_bytes / 1e6);
}

/* An evaluation cannot be started if its training was merged and its folder did not come along: why
 * says so then. */
static int scheduler_find_away(const struct scheduler *sc, const struct run *job, struct err *why,
                               struct err *e)
{
    const struct queue *q = &sc->queue;
    char path[256], sha256[65];

    if (job->train < 0 || !q->task[job->train].was_done) return 0;
    TRY(store_checkpoint(sc->store, q->job[job->train].run_id, job->spec.eval.checkpoint, path,
                         sha256, e));
    if (path[0] == '/')
        err_set(why, ERR_NOINPUT,
                "its training %s was merged without its folder, so its checkpoint %s is not here; "
                "alibi merge FOLDER of the project that made it brings it, --redo trains again",
                q->job[job->train].run_id, path);
    return 0;
}

/* What cannot be started at all is said before anything is. */
static int scheduler_refuse(struct scheduler *sc, struct err *e)
{
    for (int32_t i = 0; i < sc->queue.n; i++) {
        const struct run *job = &sc->queue.job[i];
        struct err why = {0};
        if (sc->queue.task[i].state != RUN_WAITING) continue;
        TRY(scheduler_find_away(sc, job, &why, e));
        if (why.code == 0 && scheduler_check(sc, job, &why) == 0) continue;
        int rc = why.code;
        scheduler_note_failure(sc, rc, job, why.text, NULL);
        if (!sc->options->keep_going) return ERR(e, rc, "%s", sc->failure.text);
        progress_print(&sc->progress, true, "refused  run %s: %s", job->run_id, why.text);
        queue_block(&sc->queue, i);
    }
    return 0;
}

static int open_executors(struct scheduler *sc, struct err *e)
{
    const struct executor *const *table = sc->table;

    TRY(slots_open(&sc->slots, &sc->arena, sc->options->devices, table, e));
    for (int32_t i = 0; table[i] && i < EXECUTORS_MAX; i++) {
        const struct executor_config config = {.project = sc->project,
                                               .machine = &sc->machine,
                                               .words = sc->options->words[i],
                                               .poll_s = sc->poll_s,
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

/* The rows that share a folder with row[0] come to the front; how many. */
static int32_t gather_rows(struct store_running *row, int32_t n)
{
    int32_t same_n = 1;

    for (int32_t i = 1; i < n; i++) {
        if (strcmp(row[i].dir, row[0].dir) != 0) continue;
        struct store_running kept = row[same_n];
        row[same_n++] = row[i];
        row[i] = kept;
    }
    return same_n;
}

/* The rows of one worker: it goes on, or its attempts end as its records say. */
static int recover_worker(struct scheduler *sc, const struct store_running *row, int32_t n,
                          struct err *e)
{
    struct attempt_left *left = &sc->left[sc->left_n];
    const char *path = project_path(sc->project, &sc->arena, row->dir);

    *left =
        (struct attempt_left){.row = row, .n = n, .executor = executor_find(sc->table, row->slot)};
    const struct executor_open *x = &sc->executor[left->executor];
    int rc = x->kind->recover(x->self, &left->job, &left->id, row, path, e);
    if (rc == 0) rc = ingest_abandoned(sc->store, path, row, n, NULL, e);
    if (rc < 0)
        err_ctx(e, "%s", row->dir);
    else if (left->job)
        sc->left_n++;
    else
        sc->recovered_n += n;
    return rc < 0 ? rc : 0;
}

/* What an earlier scheduler left running. Holding the store's lock proves that no scheduler of this
 * project lives. */
static int scheduler_recover(struct scheduler *sc, struct err *e)
{
    struct store_running *row;
    int32_t rows_n;

    TRY(store_running(sc->store, &sc->arena, &row, &rows_n, e));
    sc->left = arena_array(&sc->arena, (size_t)rows_n + 1, sizeof *sc->left);
    for (int32_t i = 0, same_n; i < rows_n; i += same_n) {
        same_n = gather_rows(row + i, rows_n - i);
        TRY(recover_worker(sc, row + i, same_n, e));
    }
    if (sc->recovered_n > 0)
        progress_print(&sc->progress, true, "recovered %ld unfinished attempt%s",
                       (long)sc->recovered_n, sc->recovered_n == 1 ? "" : "s");
    return 0;
}

/* Workers that no row knows. The call goes on if they cannot be cancelled now. */
static int cancel_orphans(struct scheduler *sc, const struct executor_open *x, struct err *e)
{
    int32_t known_n = 0, rows_n, orphans_n = 0;
    struct store_running *row;
    struct err why = {0};

    if (!x->kind->cancel_orphans) return 0;
    TRY(store_running(sc->store, &sc->arena, &row, &rows_n, e));
    int64_t *known = arena_array(&sc->arena, (size_t)rows_n + 1, sizeof *known);
    for (int32_t i = 0; i < rows_n; i++) known[known_n++] = row[i].pid;
    int rc = x->kind->cancel_orphans(x->self, &orphans_n, known, known_n, &why);
    const char *plural = orphans_n == 1 ? "" : "s";
    if (rc < 0 && orphans_n == 0) return ERR(e, rc, "%s", why.text);
    if (rc < 0)
        progress_print(&sc->progress, true, "warning: %ld orphaned %s job%s still run: %s",
                       (long)orphans_n, x->kind->name, plural, why.text);
    else if (orphans_n > 0)
        progress_print(&sc->progress, true, "cancelled %ld orphaned %s job%s", (long)orphans_n,
                       x->kind->name, plural);
    return 0;
}

static int scheduler_prepare(struct scheduler *sc, const struct run *jobs, int32_t jobs_n,
                             struct err *e)
{
    machine_read(&sc->machine);
    TRY(open_executors(sc, e));
    sc->pick = arena_array(&sc->arena, (size_t)jobs_n + 1, sizeof *sc->pick);
    TRY(scheduler_recover(sc, e));
    for (int32_t i = 0; i < sc->executors_n; i++) TRY(cancel_orphans(sc, &sc->executor[i], e));
    TRY(queue_init(&sc->queue, &sc->arena, sc->store, jobs, jobs_n, sc->options, e));
    progress_print_start(&sc->progress, &sc->queue, sc->slots.n);
    TRY(scheduler_take_over(sc, e));
    return scheduler_refuse(sc, e);
}

static void scheduler_close(struct scheduler *sc)
{
    for (int32_t i = 0; i < sc->running_n; i++) attempt_free(sc->running[i]);
    for (int32_t i = 0; i < sc->left_n; i++)
        if (sc->left[i].job) sc->executor[sc->left[i].executor].kind->release(sc->left[i].job);
    for (int32_t i = 0; i < sc->executors_n; i++) sc->executor[i].kind->close(sc->executor[i].self);
    signals_close(&sc->signals);
}

static int scheduler_verdict(const struct scheduler *sc, const struct scheduler_result *r,
                             struct err *e)
{
    if (sc->stopping)
        return ERR(e, ERR_INTERRUPTED, "stopped: %d of %d runs done; rerun the command to continue",
                   r->already_done + r->done, r->wanted);
    if (sc->failure.code) return ERR(e, sc->failure.code, "%s", sc->failure.text);
    return 0;
}

int scheduler_run(struct store *s, const struct project *p, const struct run *jobs, int32_t jobs_n,
                  const struct scheduler_options *o, struct scheduler_result *result, struct err *e)
{
    int rc = 0;
    int64_t start_us = clock_monotonic_us();
    struct scheduler sc = {.store = s, .project = p, .options = o, .signals = {.fd = -1}};

    *result = (struct scheduler_result){0};
    arena_init(&sc.arena);
    sc.stall_s = o->stall_s > 0 ? o->stall_s : 300;
    sc.table = o->executors ? o->executors : executor_table;
    sc.poll_s = o->poll_s > 0 ? o->poll_s : 10;
    progress_open(&sc.progress, o->quiet, o->headline);
    TRY_OUT(rc, signals_open(&sc.signals, e));
    TRY_OUT(rc, scheduler_prepare(&sc, jobs, jobs_n, e));
    rc = scheduler_loop(&sc, e);
out:
    if (rc < 0 && sc.batch) store_rollback(s);
    scheduler_close(&sc);
    result->seconds = (double)(clock_monotonic_us() - start_us) / 1e6;
    result->interrupted = sc.stopping;
    result->recovered = sc.recovered_n;
    progress_fill_result(result, &sc.queue);
    progress_close(&sc.progress);
    if (rc == 0) progress_print_end(&sc.progress, &sc.queue, result);
    if (rc == 0) rc = scheduler_verdict(&sc, result, e);
    arena_fini(&sc.arena);
    return rc;
}
