/* scheduler.c - one call: prepare, loop, judge.
 *
 * Whatever happens, the workers of the call have ended when it returns and the signals are as they
 * were. */
#include "scheduler/scheduler.h"

#include <stdio.h>
#include <sys/statvfs.h>

#include "base/clock.h"
#include "scheduler/loop.h"
#include "scheduler/summary.h"

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
            "wants %.1f MB of memory, %s has %.1f MB free of %.1f MB; take another device or a "
            "smaller model",
            (double)job->device_bytes / 1e6, d->name, (double)d->free_bytes / 1e6,
            (double)d->memory_bytes / 1e6);
    if (statvfs(sc->project->root, &disk) < 0) return 0;
    double free_bytes = (double)disk.f_bavail * (double)disk.f_frsize;
    if ((double)job->disk_bytes <= free_bytes) return 0;
    return ERR(e, ERR_NOMEM,
               "wants %.1f MB of disk, %s has %.1f MB free; give some back with alibi gc",
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
        progress_print(&sc->meter, true, "refused  run %s: %s", job->run_id, why.text);
        queue_block(&sc->queue, i);
    }
    return 0;
}

/* Jobs that nobody knows of any more: see 2 in slurm.h. That they cannot be cancelled now is no
 * reason not to go on. */
static int scheduler_cancel_strays(struct scheduler *sc, struct err *e)
{
    struct err why;
    struct store_running *row;
    int32_t rows_n, known_n = 0, strays_n;

    if (slots_have_slurm(&sc->slots) && sc->slurm.asked_us == 0) TRY(slurm_query(&sc->slurm, e));
    if (sc->slurm.asked_us == 0) return 0;
    TRY(store_running(sc->store, &sc->arena, &row, &rows_n, e));
    int64_t *known = arena_array(&sc->arena, (size_t)rows_n + 1, sizeof *known);
    for (int32_t i = 0; i < rows_n; i++) known[known_n++] = row[i].pid;
    if (slurm_cancel_orphans(&sc->slurm, &strays_n, known, known_n, &why) < 0)
        progress_print(&sc->meter, true, "warning: %ld jobs that no attempt knows still run: %s",
                       (long)strays_n, why.text);
    else if (strays_n > 0)
        progress_print(&sc->meter, true, "cancelled %ld job%s that no attempt knows",
                       (long)strays_n, strays_n == 1 ? "" : "s");
    return 0;
}

static int scheduler_prepare(struct scheduler *sc, const struct run *jobs, int32_t jobs_n,
                             struct err *e)
{
    int32_t settled_n;

    machine_read(&sc->machine);
    TRY(slots_open(&sc->slots, &sc->arena, sc->options->devices, e));
    if (sc->options->slurm && !slots_have_slurm(&sc->slots))
        return ERR(e, ERR_USAGE, "--slurm %s: goes with --devices slurm", sc->options->slurm);
    TRY(slurm_open(&sc->slurm, sc->project, sc->options->slurm, sc->options->slurm_poll_s, e));
    sc->pick = arena_array(&sc->arena, (size_t)jobs_n + 1, sizeof *sc->pick);
    TRY(scheduler_recover(sc->store, sc->project, &sc->machine, &sc->slurm, &settled_n, e));
    if (settled_n > 0)
        progress_print(&sc->meter, true,
                       "took up %ld attempt%s that an earlier call left unfinished",
                       (long)settled_n, settled_n == 1 ? "" : "s");
    TRY(scheduler_cancel_strays(sc, e));
    TRY(queue_init(&sc->queue, &sc->arena, sc->store, jobs, jobs_n, sc->options, e));
    summary_say_start(&sc->meter, &sc->queue, sc->slots.n);
    TRY(scheduler_take_over(sc, e));
    return scheduler_refuse(sc, e);
}

static int scheduler_verdict(const struct scheduler *sc, const struct scheduler_result *r,
                             struct err *e)
{
    if (sc->stopping)
        return ERR(e, ERR_INTERRUPTED,
                   "stopped on request: %d of %d runs are done; the same command goes on with the "
                   "rest",
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
    meter_open(&sc.meter, o->quiet, o->headline);
    TRY_OUT(rc, signals_open(&sc.signals, e));
    TRY_OUT(rc, scheduler_prepare(&sc, jobs, jobs_n, e));
    rc = scheduler_loop(&sc, e);
out:
    if (rc < 0 && sc.batch) store_rollback(s);
    for (int32_t i = 0; i < sc.running_n; i++) attempt_free(sc.running[i]);
    slurm_close(&sc.slurm);
    signals_close(&sc.signals);
    result->seconds = (double)(clock_monotonic_us() - start_us) / 1e6;
    result->interrupted = sc.stopping;
    summary_fill_result(result, &sc.queue);
    meter_close(&sc.meter);
    if (rc == 0) summary_say_end(&sc.meter, &sc.queue, result);
    if (rc == 0) rc = scheduler_verdict(&sc, result, e);
    arena_fini(&sc.arena);
    return rc;
}
