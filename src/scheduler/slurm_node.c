/* slurm_node.c - one worker, its signals, its end. */
#include "scheduler/slurm_node.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "record/run_folder.h"
#include "scheduler/process.h"
#include "scheduler/signals.h"

/* The first of the GPUs that Slurm gave, in the arena; "" when it gave none. */
static const char *slurm_node_gpu(struct arena *a)
{
    const char *given = getenv("CUDA_VISIBLE_DEVICES");

    if (!given || strcmp(given, "NoDevFiles") == 0) return "";
    return arena_strndup(a, given, strcspn(given, ","));
}

/* Written in place: see executor_slurm.c, rule 4. */
static int slurm_node_write(const char *path, int exit_code, int signal_number, struct err *e)
{
    char text[32];
    int rc = 0;
    int n = snprintf(text, sizeof text, "%s %d\n", exit_code >= 0 ? "exit" : "signal",
                     exit_code >= 0 ? exit_code : signal_number);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

    if (fd < 0) return ERR(e, ERR_CREATE, "%s: %s", path, strerror(errno));
    if (write(fd, text, (size_t)n) != n || fsync(fd) < 0)
        rc = ERR(e, ERR_IO, "%s: %s", path, strerror(errno));
    if (close(fd) < 0 && rc == 0) rc = ERR(e, ERR_IO, "%s: %s", path, strerror(errno));
    return rc;
}

/* Until the worker has ended. */
static void slurm_node_attend(struct process *worker, struct signals *sg, int *exit_code,
                              int *signal_number)
{
    int heard_n = 0;

    while (!process_has_ended(worker, exit_code, signal_number)) {
        struct pollfd wait[2] = {{.fd = sg->fd, .events = POLLIN},
                                 {.fd = worker->log_pipe, .events = POLLIN}};
        bool child = false;
        poll(wait, 2, -1);
        signals_read(sg, clock_monotonic_us(), &child);
        if (sg->stops_n > heard_n) process_signal(worker, SIGTERM);
        heard_n = sg->stops_n;
        process_drain_log(worker, NULL);
    }
}

static int slurm_node_judge(const char *dir, int exit_code, int signal_number, struct err *e)
{
    if (exit_code == 0) return 0;
    if (exit_code < 0)
        return ERR(e, ERR_INTERNAL, "%s: the worker was killed by signal %d", dir, signal_number);
    return ERR(e, exit_code == err_exit_code(ERR_INTERRUPTED) ? ERR_INTERRUPTED : ERR_INTERNAL,
               "%s: the worker ended with exit %d; its log is %s/log", dir, exit_code, dir);
}

int slurm_node_run(const struct project *p, const char *dir, struct err *e)
{
    int rc = 0, exit_code = -1, signal_number = -1;
    struct process worker = {.log_pipe = -1, .log_file = -1};
    struct signals signals = {.fd = -1};
    struct arena a;

    arena_init(&a);
    const char *gpu = slurm_node_gpu(&a), *attempt_dir = project_path(p, &a, dir);
    struct worker_options o = {
        .program = p->program,
        .root = p->root,
        .dir = dir,
        .attempt_dir = attempt_dir,
        .device = *gpu ? "cuda:0" : "cpu",
        .cpu = -1,
        .cuda = *gpu ? 0 : -1,
        .cuda_uuid = gpu,
    };
    TRY_OUT(rc, signals_open(&signals, e));
    if (file_exists(run_folder_path(&a, attempt_dir, RUN_EVENTS))) {
        rc = ERR(e, ERR_USAGE, "%s has already been executed", dir);
        goto out;
    }
    TRY_OUT(rc, process_start(&worker, &o, e));
    slurm_node_attend(&worker, &signals, &exit_code, &signal_number);
    const char *path = arena_printf(&a, "%s/%s", attempt_dir, SLURM_EXIT_FILE);
    TRY_OUT(rc, slurm_node_write(path, exit_code, signal_number, e));
    rc = slurm_node_judge(dir, exit_code, signal_number, e);
out:
    process_close(&worker);
    signals_close(&signals);
    arena_fini(&a);
    return rc;
}
