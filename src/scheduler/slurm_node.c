/* slurm_node.c - one attempt as a job of Slurm, on its nodes: what `alibi slurm-job` does.
 *
 * 1. A job runs one worker of the local executor. With ranks each task of srun runs this, and
 *    starts the process of its rank.
 * 2. A worker gets a GPU that Slurm gave the job (CUDA_VISIBLE_DEVICES), else the CPU: the first
 *    one, or that of its number among the tasks of the node.
 * 3. SIGTERM - from scancel, or two minutes before the time limit - is passed on to the worker.
 * 4. The outcome of the attempt is that of rank 0, whose task writes the file `exit` last. srun
 *    kills all tasks when one fails; so a task whose worker failed waits for that file first. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "record/run_folder.h"
#include "scheduler/executor.h"
#include "scheduler/process.h"

/* OUTCOME_S: more than the ranks need to end after a loss. */
enum { SLURM_NODE_OUTCOME_S = 60, SLURM_NODE_LOOK_MS = 200 };

/* The number of a task among those of its step. */
struct slurm_task {
    int32_t rank, ranks_n, local; /* local: among the tasks of the node */
    const char *host;             /* of the node; NULL: all tasks are on this one */
};

static int slurm_node_number(int32_t *out, const char *variable, struct err *e)
{
    int64_t n;
    const char *text = getenv(variable);

    if (!text || !str_to_int(&n, text) || n < 0 || n > INT32_MAX)
        return ERR(e, ERR_USAGE, "%s=%s: expected a number, which srun sets", variable,
                   text ? text : "");
    *out = (int32_t)n;
    return 0;
}

/* The name of a node is usually that of its host. */
static const char *slurm_node_host(const struct machine *m)
{
    struct addrinfo *found = NULL;
    const char *node = getenv("SLURMD_NODENAME");

    if (!node || getaddrinfo(node, NULL, NULL, &found) != 0) return m->host;
    freeaddrinfo(found);
    return node;
}

/* A batch script alone is no step of srun. */
static int slurm_node_read_task(struct slurm_task *t, const struct machine *m, struct err *e)
{
    int32_t nodes_n;

    *t = (struct slurm_task){.ranks_n = 1};
    if (!getenv("SLURM_STEP_NUM_TASKS")) return 0;
    TRY(slurm_node_number(&t->ranks_n, "SLURM_STEP_NUM_TASKS", e));
    TRY(slurm_node_number(&t->rank, "SLURM_PROCID", e));
    TRY(slurm_node_number(&t->local, "SLURM_LOCALID", e));
    TRY(slurm_node_number(&nodes_n, "SLURM_STEP_NUM_NODES", e));
    if (nodes_n > 1) t->host = slurm_node_host(m);
    return 0;
}

/* Returns the GPU of the task; "": none. A list of one is the task's own. */
static int slurm_node_gpu(const char **gpu, struct arena *a, const struct slurm_task *t,
                          struct err *e)
{
    const char *given = getenv("CUDA_VISIBLE_DEVICES");
    int32_t n = 0;

    *gpu = "";
    if (!given || !*given || strcmp(given, "NoDevFiles") == 0) return 0;
    char *rest = arena_strdup(a, given);
    for (char *item = strsep(&rest, ","); item; item = strsep(&rest, ","), n++)
        if (n == 0 || n == t->local) *gpu = item;
    if (n == 1 || t->local < n) return 0;
    return ERR(e, ERR_USAGE,
               "rank %ld: Slurm gave its node %ld GPUs (%s), one for each rank is "
               "needed; see --ranks-per-node",
               (long)t->rank, (long)n, given);
}

/* Writes the file `exit` in place: on NFS a new file may appear missing for a minute. */
static int slurm_node_write(const char *path, const struct exit_info *end, struct err *e)
{
    int rc = 0, fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

    if (fd < 0) return ERR(e, ERR_CREATE, "%s: %s", path, strerror(errno));
    bool exited = end->exit_code >= 0;
    if (dprintf(fd, exited ? "exit %d\n" : "signal %d\n", exited ? end->exit_code : end->signal) <
            0 ||
        fsync(fd) < 0)
        rc = ERR(e, ERR_IO, "%s: %s", path, strerror(errno));
    if (close(fd) < 0 && rc == 0) rc = ERR(e, ERR_IO, "%s: %s", path, strerror(errno));
    return rc;
}

/* Waits until rank 0 has written its outcome (rule 4). */
static void slurm_node_await_outcome(const char *path)
{
    char text[32];
    int64_t deadline_us = clock_monotonic_us() + SLURM_NODE_OUTCOME_S * 1000000LL;

    for (file_read_tail(text, sizeof text, path); !*text && clock_monotonic_us() < deadline_us;
         file_read_tail(text, sizeof text, path))
        poll(NULL, 0, SLURM_NODE_LOOK_MS);
}

/* Forwards signals to the worker until it has ended. */
static struct exit_info slurm_node_attend(void *local, void *worker, struct signals *sg)
{
    int stops_seen = 0;
    struct exit_info end;

    while (executor_local.poll(worker, false, &end) != WORKER_ENDED) {
        struct pollfd wait[2] = {{.fd = sg->fd, .events = POLLIN},
                                 {.fd = executor_local.wait_fd(local), .events = POLLIN}};
        bool child = false;
        poll(wait, 2, -1);
        signals_read(sg, clock_monotonic_us(), &child);
        if (sg->stops_n > stops_seen) executor_local.signal(worker, WORKER_STOP);
        stops_seen = sg->stops_n;
        executor_local.service(local, NULL);
    }
    return end;
}

static int slurm_node_judge(const char *log, const struct exit_info *end, struct err *e)
{
    if (end->exit_code == 0) return 0;
    if (end->exit_code < 0)
        return ERR(e, ERR_INTERNAL, "%s: the worker was killed by signal %d", log, end->signal);
    return ERR(e, end->exit_code == err_exit_code(ERR_INTERRUPTED) ? ERR_INTERRUPTED : ERR_INTERNAL,
               "%s: the worker ended with exit %d", log, end->exit_code);
}

int slurm_node_run(const struct project *p, const char *dir, struct err *e)
{
    int rc = 0;
    void *local = NULL, *worker = NULL;
    const char *gpu;
    struct machine machine;
    struct slurm_task task;
    struct worker_id id;
    struct signals signals = {.fd = -1};
    struct arena a;

    arena_init(&a);
    machine_read(&machine);
    const struct executor_config config = {
        .project = p, .machine = &machine, .program = p->program};
    const char *attempt_dir = project_path(p, &a, dir);
    const char *path = arena_printf(&a, "%s/" SLURM_EXIT_FILE, attempt_dir);
    TRY_OUT(rc, signals_open(&signals, e));
    TRY_OUT(rc, slurm_node_read_task(&task, &machine, e));
    TRY_OUT(rc, slurm_node_gpu(&gpu, &a, &task, e));
    const struct worker_device device = {.name = *gpu ? "cuda:0" : "cpu", .gpu = gpu, .cpu = -1};
    const struct worker_command command = {
        .dir = dir,
        .attempt_dir = attempt_dir,
        .device = &device,
        .devices_n = 1,
        .rank = task.rank,
        .ranks_n = task.ranks_n,
        .host = task.host,
        .avoid_blas = "",
    };
    if (task.rank == 0 && file_exists(run_folder_path(&a, attempt_dir, RUN_EVENTS))) {
        rc = ERR(e, ERR_USAGE, "%s has already been executed", dir);
        goto out;
    }
    TRY_OUT(rc, executor_local.open(&local, &config, e));
    TRY_OUT(rc, executor_local.start(local, &worker, &id, &command, e));
    const struct exit_info end = slurm_node_attend(local, worker, &signals);
    if (task.rank == 0)
        TRY_OUT(rc, slurm_node_write(path, &end, e));
    else if (end.exit_code != 0)
        slurm_node_await_outcome(path);
    rc = slurm_node_judge(worker_log(&a, dir, task.rank), &end, e);
out:
    if (worker) executor_local.release(worker);
    executor_local.close(local);
    signals_close(&signals);
    arena_fini(&a);
    return rc;
}
