/* executor_local.c - workers as processes of this machine.
 *
 * 1. A worker leads its own process group and dies with the scheduler, so that none is
 *    ever recovered. When it has ended, its group is killed before the leader is reaped.
 * 2. Its environment is what worker_environment lists, its stdin is /dev/null, and it inherits no
 *    other descriptor.
 * 3. Its output goes through a pipe to its log, at most WORKER_LOG_MAX_BYTES. The rest is read,
 *    counted and dropped, so that endless output neither blocks the worker nor fills the disk. A
 *    log that cannot be written does not cost a result: the worker's records decide. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/subprocess.h"
#include "record/run_folder.h"
#include "scheduler/scheduler_internal.h"

/* A full pipe is at most 16 chunks: one call drains what an ended worker left. */
enum { LOCAL_CHUNK = 64 * 1024, LOCAL_CHUNKS_A_DRAIN = 16 };

struct local_worker {
    struct local *local;
    struct local_worker *next;
    pid_t pid;              /* also the number of its group; 0: none */
    int log_pipe, log_file; /* the pipe carries its output; -1: closed */
    int64_t log_bytes, log_dropped_bytes;
    const char *dir; /* borrowed */
    bool log_failed; /* reported once */
};

struct local {
    struct executor_config config;
    struct local_worker *worker; /* a list of those not released */
    int epoll;                   /* of the log pipes */
};

static void local_close(void *self)
{
    struct local *l = self;

    if (!l) return;
    if (l->epoll >= 0) close(l->epoll);
    free(l);
}

static int local_open(void **self, const struct executor_config *c, struct err *e)
{
    struct local *l = calloc(1, sizeof *l);

    if (!l) return ERR(e, ERR_NOMEM, "out of memory while opening the devices of this machine");
    l->config = *c;
    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (l->epoll < 0) {
        int error = errno;
        local_close(l);
        return ERR(e, ERR_NOMEM, "epoll_create1: %s", strerror(error));
    }
    *self = l;
    return 0;
}

/* --- starting ------------------------------------------------------------------------------- */

/* Lists the environment of a worker; NULL ends it. */
static const char *const *worker_environment(struct arena *a, const struct worker_command *c)
{
    const struct {
        const char *name, *value; /* value NULL: not set */
    } rows[] = {{"PATH", getenv("PATH")},
                {"HOME", getenv("HOME")},
                {"TMPDIR", getenv("TMPDIR")},
                {"LD_LIBRARY_PATH", getenv("LD_LIBRARY_PATH")},
                {"ALIBI_CUBLAS", getenv("ALIBI_CUBLAS")}, /* the bundle's: where cuBLASLt is */
                {"LANG", "C.UTF-8"},
                {"OMP_NUM_THREADS", "1"},
                {MACHINE_MARK, c->attempt_dir},
                {"ALIBI_AVOID_BLAS", *c->avoid_blas ? c->avoid_blas : getenv("ALIBI_AVOID_BLAS")},
                {"ALIBI_KERNELS", getenv("ALIBI_KERNELS")},
                {"CUDA_VISIBLE_DEVICES", c->place->gpu}, /* an empty list hides every GPU */
                {"CUDA_DEVICE_ORDER", *c->place->gpu ? "PCI_BUS_ID" : NULL},
                {"ALIBI_CUDA_GRAPHS", getenv("ALIBI_CUDA_GRAPHS")}, /* changes no result */
                /* These only affect the emulated GPU. */
                {"EMULATION_ORDER", getenv("EMULATION_ORDER")},
                {"EMULATION_MEMORY", getenv("EMULATION_MEMORY")},
                {"EMULATION_OTHERS", getenv("EMULATION_OTHERS")},
                {"EMULATION_LOSE", getenv("EMULATION_LOSE")},
                {"EMULATION_OPEN", getenv("EMULATION_OPEN")}};
    enum { ROWS_N = sizeof rows / sizeof *rows };
    const char **out = arena_array(a, ROWS_N + 1, sizeof *out);
    int n = 0;

    for (int i = 0; i < ROWS_N; i++)
        if (rows[i].value) out[n++] = arena_printf(a, "%s=%s", rows[i].name, rows[i].value);
    return out;
}

static void close_log(struct local_worker *w)
{
    if (w->log_pipe >= 0) close(w->log_pipe);
    if (w->log_file >= 0) close(w->log_file);
    w->log_pipe = w->log_file = -1;
}

static void local_release(void *worker)
{
    struct local_worker *w = worker, **at = &w->local->worker;

    while (*at && *at != w) at = &(*at)->next;
    if (*at) *at = w->next;
    if (w->pid > 0) {
        kill(-w->pid, SIGKILL);
        waitpid(w->pid, NULL, 0);
    }
    close_log(w);
    free(w);
}

/* Starts the program; returns when it runs. */
static int spawn(struct local_worker *w, struct arena *a, const struct worker_command *c,
                 struct err *e)
{
    int output[2];
    const char *path = run_folder_path(a, c->attempt_dir, RUN_LOG);
    const struct executor_config *config = &w->local->config;
    const char *const argv[] = {config->program,  "worker",    c->dir, "--device",
                                c->place->device, "--threads", "1",    NULL};
    const struct subprocess worker = {.argv = argv,
                                      .environment = worker_environment(a, c),
                                      .folder = config->project->root,
                                      .dies_with_parent = true,
                                      .core = c->place->cpu >= 0 ? &c->place->cpu : NULL};
    struct epoll_event ready = {.events = EPOLLIN};

    if (pipe2(output, O_CLOEXEC) < 0)
        return ERR(e, ERR_NOMEM, "%s: a worker cannot be started: %s", c->dir, strerror(errno));
    w->log_pipe = output[0];
    fcntl(w->log_pipe, F_SETFL, O_NONBLOCK);
    w->log_file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    int rc = 0;
    if (w->log_file < 0) {
        rc = ERR(e, ERR_CREATE, "%s: cannot be created: %s", path, strerror(errno));
    } else if (epoll_ctl(w->local->epoll, EPOLL_CTL_ADD, w->log_pipe, &ready) < 0) {
        rc = ERR(e, ERR_NOMEM, "%s: epoll_ctl: %s", c->dir, strerror(errno));
    } else {
        int failure = subprocess_spawn(&w->pid, &worker, output[1], output[1]);
        if (failure)
            rc = ERR(e, w->pid < 0 ? ERR_NOMEM : ERR_UNAVAILABLE, "%s: cannot be started: %s",
                     config->program, strerror(failure));
        if (failure) w->pid = 0;
    }
    close(output[1]);
    return rc;
}

static int local_start(void *self, void **worker, struct worker_id *id,
                       const struct worker_command *c, struct err *e)
{
    struct local *l = self;
    struct local_worker *w = calloc(1, sizeof *w);
    struct arena a;

    if (!w) return ERR(e, ERR_NOMEM, "%s: out of memory while starting a worker", c->dir);
    *w = (struct local_worker){
        .local = l, .next = l->worker, .dir = c->dir, .log_pipe = -1, .log_file = -1};
    l->worker = w;
    arena_init(&a);
    int rc = spawn(w, &a, c, e);
    arena_fini(&a);
    if (rc < 0) {
        local_release(w);
        return rc;
    }
    *id = (struct worker_id){.host = l->config.machine->host,
                             .boot_id = l->config.machine->boot_id,
                             .pid = w->pid,
                             .pid_start = machine_pid_start(w->pid)};
    *worker = w;
    return 0;
}

/* Kills the process group by its recorded leader, then every process that still carries the
 * attempt's mark. */
static int local_recover(void *self, void **worker, struct worker_id *id,
                         const struct store_running *row, const char *attempt_dir, struct err *e)
{
    const struct local *l = self;

    (void)worker, (void)id, (void)e;
    if (machine_is_alive(l->config.machine, row->host, row->boot_id, row->pid, row->pid_start))
        kill(-(pid_t)row->pid, SIGKILL);
    kill_leftover_workers(attempt_dir);
    return 0;
}

/* --- logs ----------------------------------------------------------------------------------- */

/* Writes up to the limit; counts the rest. */
static int keep_log(struct local_worker *w, const char *text, size_t n, struct err *e)
{
    size_t room = (size_t)(WORKER_LOG_MAX_BYTES - w->log_bytes);
    size_t kept = n < room ? n : room;

    w->log_dropped_bytes += (int64_t)(n - kept);
    for (size_t done = 0; done < kept;) {
        ssize_t wrote = write(w->log_file, text + done, kept - done);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0)
            return ERR(e, ERR_IO, "the log of worker %ld: writing %zu bytes: %s", (long)w->pid,
                       kept - done, strerror(errno));
        done += (size_t)wrote;
        w->log_bytes += wrote;
    }
    return 0;
}

/* Reads what is in the pipe, at most 1 MiB, even if the log cannot be written. */
static int drain_log(struct local_worker *w, struct err *e)
{
    char chunk[LOCAL_CHUNK];
    int rc = 0;

    for (int i = 0; w->log_pipe >= 0 && i < LOCAL_CHUNKS_A_DRAIN; i++) {
        ssize_t n = read(w->log_pipe, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) break;
        if (n <= 0) { /* every writer has closed it */
            close(w->log_pipe);
            w->log_pipe = -1;
            break;
        }
        if (rc == 0) rc = keep_log(w, chunk, (size_t)n, e);
    }
    return rc;
}

/* Writes the rest of the log, and a notice if some was dropped. */
static void finish_log(struct local_worker *w)
{
    drain_log(w, NULL);
    if (w->log_dropped_bytes > 0 && w->log_file >= 0)
        dprintf(w->log_file, "\n[the log ends here: %lld more bytes were not kept]\n",
                (long long)w->log_dropped_bytes);
    close_log(w);
}

/* Drains all logs. Reports the first that cannot be written, each one once. */
static int local_service(void *self, struct err *e)
{
    int rc = 0;

    for (struct local_worker *w = ((struct local *)self)->worker; w; w = w->next) {
        struct err why;
        if (drain_log(w, &why) >= 0 || w->log_failed || rc < 0) continue;
        w->log_failed = true;
        rc = ERR(e, why.code, "%s: %s", w->dir, why.text);
    }
    return rc;
}

static int local_wait_fd(void *self)
{
    return ((struct local *)self)->epoll;
}

/* --- ends ----------------------------------------------------------------------------------- */

static enum worker_state local_poll(void *worker, bool reported_end, struct exit_info *end)
{
    struct local_worker *w = worker;
    siginfo_t info = {0};
    int waited = waitid(P_PID, (id_t)w->pid, &info, WEXITED | WNOHANG | WNOWAIT);

    (void)reported_end;
    *end = (struct exit_info){.exit_code = -1, .signal = -1};
    if (waited < 0 && errno == EINTR) return WORKER_RUNNING;
    if (waited == 0 && info.si_pid != w->pid) return WORKER_RUNNING;
    /* Not yet reaped: the pid still belongs to this group. */
    kill(-w->pid, SIGKILL);
    finish_log(w);
    if (waited == 0)
        *(info.si_code == CLD_EXITED ? &end->exit_code : &end->signal) = info.si_status;
    waitpid(w->pid, NULL, 0);
    w->pid = 0;
    return WORKER_ENDED;
}

static void local_signal(void *worker, enum worker_signal signal)
{
    const struct local_worker *w = worker;

    if (w->pid > 0) kill(-w->pid, signal == WORKER_STOP ? SIGTERM : SIGKILL);
}

const struct executor executor_local = {
    .name = "local",
    .list = local_devices,
    .open = local_open,
    .close = local_close,
    .start = local_start,
    .recover = local_recover,
    .service = local_service,
    .wait_fd = local_wait_fd,
    .poll = local_poll,
    .signal = local_signal,
    .release = local_release,
};
