/* executor_local.c - workers as processes of this machine.
 *
 * 1. A worker has its own process group, which its first process leads, and dies with the
 *    scheduler, so that none is ever recovered. When all its processes have ended, the group is
 *    killed before they are reaped.
 * 2. Its environment is what worker_environment lists, its stdin is /dev/null, and it inherits no
 *    other descriptor.
 * 3. Its output goes through a pipe to its log, at most WORKER_LOG_MAX_BYTES. The rest is read,
 *    counted and dropped, so that endless output neither blocks the worker nor fills the disk. A
 *    log that cannot be written does not cost a result: the worker's records decide.
 * 4. The processes of one training end together, by themselves. LOCAL_GRACE_S after one has failed,
 *    or that of rank 0 has ended, those that are left are killed. Rank 0 decides the exit status,
 *    unless a signal killed another one: that is the cause, and rank 0 only reports a lost
 *    connection. */
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
#include "base/clock.h"
#include "base/subprocess.h"
#include "record/run_folder.h"
#include "scheduler/executor.h"
#include "scheduler/process.h"

/* A full pipe is at most 16 chunks: one call drains what an ended worker left. LOCAL_GRACE_S: ranks
 * that lost another one need about 15 seconds at most to report it. */
enum { LOCAL_CHUNK = 64 * 1024, LOCAL_CHUNKS_A_DRAIN = 16, LOCAL_GRACE_S = 30 };

/* One process of a worker. When it has ended it is not reaped before the others have: the number of
 * the first one is that of the group. */
struct local_rank {
    pid_t pid;              /* 0: none */
    int log_pipe, log_file; /* the pipe carries its output; -1: closed */
    int64_t log_bytes, log_dropped_bytes;
    bool log_failed; /* reported once */
    bool ended;
    int exit_code, signal; /* -1: not applicable */
};

struct local_worker {
    struct local *local;
    struct local_worker *next;
    const char *dir;        /* borrowed */
    int64_t alone_since_us; /* when a process failed, or that of rank 0 ended; 0: not yet */
    bool cut_off;           /* the rest was killed LOCAL_GRACE_S later */
    int32_t cause;          /* the process that explains the end; -1: none has failed */
    int32_t first, ranks_n; /* first: the rank of the first process */
    struct local_rank rank[];
};

struct local {
    struct executor_config config;
    struct local_worker *worker; /* a list of those not released */
    int epoll;                   /* of the log pipes */
};

static int64_t local_now_us(const struct local *l)
{
    return l->config.now_us ? l->config.now_us(l->config.now_context) : clock_monotonic_us();
}

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

/* True if a variable says how ranks reach each other, such as NCCL_SOCKET_IFNAME: to NCCL, UCX,
 * libfabric and its plugin, or RDMA. It changes no result. */
static bool is_of_the_network(const char *variable)
{
    static const char *const prefixes[] = {"NCCL_", "UCX_", "FI_", "OFI_", "RDMAV_"};

    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(variable, prefixes[i], strlen(prefixes[i])) == 0) return true;
    return false;
}

/* Lists the environment of a worker; NULL ends it. */
static const char *const *worker_environment(struct arena *a, const struct worker_command *c,
                                             const struct worker_device *device)
{
    const struct {
        const char *name, *value; /* value NULL: not set */
    } rows[] = {{"PATH", getenv("PATH")},
                {"HOME", getenv("HOME")},
                {"TMPDIR", getenv("TMPDIR")},
                {"LD_LIBRARY_PATH", getenv("LD_LIBRARY_PATH")},
                {"ALIBI_CUBLAS", getenv("ALIBI_CUBLAS")}, /* the bundle's: where cuBLASLt is */
                {"ALIBI_NCCL", getenv("ALIBI_NCCL")},
                {"LANG", "C.UTF-8"},
                {"OMP_NUM_THREADS", "1"},
                {MACHINE_MARK, c->attempt_dir},
                {"ALIBI_AVOID_BLAS", *c->avoid_blas ? c->avoid_blas : getenv("ALIBI_AVOID_BLAS")},
                {"ALIBI_KERNELS", getenv("ALIBI_KERNELS")},
                {"CUDA_VISIBLE_DEVICES", device->gpu}, /* an empty list hides every GPU */
                {"CUDA_DEVICE_ORDER", *device->gpu ? "PCI_BUS_ID" : NULL},
                {"CUDA_DEVICE_MAX_CONNECTIONS", getenv("CUDA_DEVICE_MAX_CONNECTIONS")},
                {"ALIBI_CUDA_GRAPHS", getenv("ALIBI_CUDA_GRAPHS")}, /* changes no result */
                /* These only affect the emulated GPU. */
                {"EMULATION_ORDER", getenv("EMULATION_ORDER")},
                {"EMULATION_MEMORY", getenv("EMULATION_MEMORY")},
                {"EMULATION_OTHERS", getenv("EMULATION_OTHERS")},
                {"EMULATION_LOSE", getenv("EMULATION_LOSE")},
                {"EMULATION_NCCL", getenv("EMULATION_NCCL")},
                {"EMULATION_OPEN", getenv("EMULATION_OPEN")}};
    enum { ROWS_N = sizeof rows / sizeof *rows };
    extern char **environ;
    struct {
        const char **item;
        int32_t n, capacity;
    } out = {0};

    for (int i = 0; i < ROWS_N; i++)
        if (rows[i].value)
            *vec_push(a, &out) = arena_printf(a, "%s=%s", rows[i].name, rows[i].value);
    for (char **v = environ; *v; v++)
        if (is_of_the_network(*v)) *vec_push(a, &out) = *v;
    *vec_push(a, &out) = NULL;
    return out.item;
}

static void close_log(struct local_rank *r)
{
    if (r->log_pipe >= 0) close(r->log_pipe);
    if (r->log_file >= 0) close(r->log_file);
    r->log_pipe = r->log_file = -1;
}

/* Kills what is left of the group, and reaps the processes of the worker. */
static void reap_worker(struct local_worker *w)
{
    if (w->rank[0].pid > 0) kill(-w->rank[0].pid, SIGKILL);
    for (int32_t i = 0; i < w->ranks_n; i++) {
        if (w->rank[i].pid > 0) waitpid(w->rank[i].pid, NULL, 0);
        w->rank[i].pid = 0;
    }
}

static void local_release(void *worker)
{
    struct local_worker *w = worker, **at = &w->local->worker;

    while (*at && *at != w) at = &(*at)->next;
    if (*at) *at = w->next;
    reap_worker(w);
    for (int32_t i = 0; i < w->ranks_n; i++) close_log(&w->rank[i]);
    free(w);
}

/* The arguments of a process; NULL ends them. */
static const char *const *worker_arguments(struct arena *a, const struct local *l,
                                           const struct worker_command *c, int32_t i)
{
    enum { WORDS_MAX = 16 };
    const char **out = arena_array(a, WORDS_MAX, sizeof *out), **word = out;

    *word++ = l->config.program;
    *word++ = "worker";
    *word++ = c->dir;
    *word++ = "--device";
    *word++ = c->device[i].name;
    *word++ = "--threads";
    *word++ = "1";
    if (c->ranks_n == 1) return out;
    *word++ = "--rank";
    *word++ = arena_printf(a, "%ld", (long)(c->rank + i));
    *word++ = "--ranks";
    *word++ = arena_printf(a, "%ld", (long)c->ranks_n);
    *word++ = "--meet";
    *word++ = run_folder_path(a, c->attempt_dir, RUN_MEET);
    if (!c->host) return out;
    *word++ = "--host";
    *word++ = c->host;
    return out;
}

/* Starts one process; returns when it runs. */
static int spawn_rank(struct local_worker *w, struct arena *a, const struct worker_command *c,
                      int32_t i, struct err *e)
{
    int output[2];
    const char *path = worker_log(a, c->attempt_dir, c->rank + i);
    struct local_rank *r = &w->rank[i];
    const struct executor_config *config = &w->local->config;
    const struct subprocess worker = {.argv = worker_arguments(a, w->local, c, i),
                                      .environment = worker_environment(a, c, &c->device[i]),
                                      .folder = config->project->root,
                                      .dies_with_parent = true,
                                      .core = c->device[i].cpu >= 0 ? &c->device[i].cpu : NULL,
                                      .group = i > 0 ? w->rank[0].pid : 0};
    struct epoll_event ready = {.events = EPOLLIN};

    if (pipe2(output, O_CLOEXEC) < 0)
        return ERR(e, ERR_NOMEM, "%s: a worker cannot be started: %s", c->dir, strerror(errno));
    r->log_pipe = output[0];
    fcntl(r->log_pipe, F_SETFL, O_NONBLOCK);
    r->log_file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    int rc = 0;
    if (r->log_file < 0) {
        rc = ERR(e, ERR_CREATE, "%s: cannot be created: %s", path, strerror(errno));
    } else if (epoll_ctl(w->local->epoll, EPOLL_CTL_ADD, r->log_pipe, &ready) < 0) {
        rc = ERR(e, ERR_NOMEM, "%s: epoll_ctl: %s", c->dir, strerror(errno));
    } else {
        int failure = subprocess_spawn(&r->pid, &worker, output[1], output[1]);
        if (failure)
            rc = ERR(e, r->pid < 0 ? ERR_NOMEM : ERR_UNAVAILABLE, "%s: cannot be started: %s",
                     config->program, strerror(failure));
        if (failure) r->pid = 0;
    }
    close(output[1]);
    return rc;
}

static int local_start(void *self, void **worker, struct worker_id *id,
                       const struct worker_command *c, struct err *e)
{
    struct local *l = self;
    struct local_worker *w = calloc(1, sizeof *w + (size_t)c->devices_n * sizeof *w->rank);
    struct arena a;
    int rc = 0;

    if (!w) return ERR(e, ERR_NOMEM, "%s: out of memory while starting a worker", c->dir);
    *w = (struct local_worker){.local = l,
                               .next = l->worker,
                               .dir = c->dir,
                               .cause = -1,
                               .first = c->rank,
                               .ranks_n = c->devices_n};
    for (int32_t i = 0; i < w->ranks_n; i++)
        w->rank[i] =
            (struct local_rank){.log_pipe = -1, .log_file = -1, .exit_code = -1, .signal = -1};
    l->worker = w;
    arena_init(&a);
    for (int32_t i = 0; i < w->ranks_n && rc == 0; i++) rc = spawn_rank(w, &a, c, i, e);
    arena_fini(&a);
    if (rc < 0) {
        local_release(w);
        return rc;
    }
    *id = (struct worker_id){.host = l->config.machine->host,
                             .boot_id = l->config.machine->boot_id,
                             .pid = w->rank[0].pid,
                             .pid_start = machine_pid_start(w->rank[0].pid)};
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
static int keep_log(struct local_rank *r, const char *text, size_t n, struct err *e)
{
    size_t room = (size_t)(WORKER_LOG_MAX_BYTES - r->log_bytes);
    size_t kept = n < room ? n : room;

    r->log_dropped_bytes += (int64_t)(n - kept);
    for (size_t done = 0; done < kept;) {
        ssize_t wrote = write(r->log_file, text + done, kept - done);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0)
            return ERR(e, ERR_IO, "the log of worker %ld: writing %zu bytes: %s", (long)r->pid,
                       kept - done, strerror(errno));
        done += (size_t)wrote;
        r->log_bytes += wrote;
    }
    return 0;
}

/* Reads what is in the pipe, at most 1 MiB, even if the log cannot be written. */
static int drain_log(struct local_rank *r, struct err *e)
{
    char chunk[LOCAL_CHUNK];
    int rc = 0;

    for (int i = 0; r->log_pipe >= 0 && i < LOCAL_CHUNKS_A_DRAIN; i++) {
        ssize_t n = read(r->log_pipe, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) break;
        if (n <= 0) { /* every writer has closed it */
            close(r->log_pipe);
            r->log_pipe = -1;
            break;
        }
        if (rc == 0) rc = keep_log(r, chunk, (size_t)n, e);
    }
    return rc;
}

/* Writes the rest of the log, and a notice if some was dropped. */
static void finish_log(struct local_rank *r)
{
    drain_log(r, NULL);
    if (r->log_dropped_bytes > 0 && r->log_file >= 0)
        dprintf(r->log_file, "\n[the log ends here: %lld more bytes were not kept]\n",
                (long long)r->log_dropped_bytes);
    close_log(r);
}

/* Drains all logs. Reports the first that cannot be written, each one once. */
static int local_service(void *self, struct err *e)
{
    int rc = 0;

    for (struct local_worker *w = ((struct local *)self)->worker; w; w = w->next) {
        for (int32_t i = 0; i < w->ranks_n; i++) {
            struct err why;
            if (drain_log(&w->rank[i], &why) >= 0 || w->rank[i].log_failed || rc < 0) continue;
            w->rank[i].log_failed = true;
            rc = ERR(e, why.code, "%s: %s", w->dir, why.text);
        }
    }
    return rc;
}

static int local_wait_fd(void *self)
{
    return ((struct local *)self)->epoll;
}

/* --- ends ----------------------------------------------------------------------------------- */

/* Notes the end of a process. A signal explains more than an exit status: a rank that loses another
 * one exits. */
static void note_end(struct local_worker *w, int32_t i, const siginfo_t *info)
{
    struct local_rank *r = &w->rank[i];

    r->ended = true;
    *(info->si_code == CLD_EXITED ? &r->exit_code : &r->signal) = info->si_status;
    bool failed = r->exit_code != 0;
    if ((failed || w->first + i == 0) && w->alone_since_us == 0)
        w->alone_since_us = local_now_us(w->local);
    if (!failed || w->cut_off) return;
    if (w->cause < 0 || (r->signal >= 0 && w->rank[w->cause].signal < 0)) w->cause = i;
}

/* Notes the ends that can be seen; true if every process has ended. */
static bool see_ends(struct local_worker *w)
{
    bool all = true;

    for (int32_t i = 0; i < w->ranks_n; i++) {
        struct local_rank *r = &w->rank[i];
        siginfo_t info = {0};
        if (r->ended) continue;
        int waited = waitid(P_PID, (id_t)r->pid, &info, WEXITED | WNOHANG | WNOWAIT);
        if (waited == 0 && info.si_pid == r->pid)
            note_end(w, i, &info);
        else
            all = waited < 0 && errno != EINTR && all;
    }
    return all;
}

/* Kills the rest when it had its time to end by itself. */
static void cut_off(struct local_worker *w)
{
    int64_t since_us = w->alone_since_us ? local_now_us(w->local) - w->alone_since_us : 0;

    if (w->cut_off || since_us <= LOCAL_GRACE_S * 1000000LL) return;
    w->cut_off = true;
    kill(-w->rank[0].pid, SIGKILL);
}

/* How the worker ended (rule 4). */
static struct exit_info judge_end(const struct local_worker *w)
{
    const struct local_rank *own = &w->rank[0], *cause = w->cause < 0 ? own : &w->rank[w->cause];
    bool is_done = w->first == 0 && own->exit_code == 0;
    bool decides = is_done || (cause->signal < 0 && own->exit_code > 0);

    if (decides) cause = own;
    return (struct exit_info){.exit_code = cause->exit_code,
                              .signal = cause->signal,
                              .rank = is_done || w->cause < 0 ? w->first : w->first + w->cause};
}

static enum worker_state local_poll(void *worker, bool reported_end, struct exit_info *end)
{
    struct local_worker *w = worker;

    (void)reported_end;
    if (!see_ends(w)) {
        cut_off(w);
        return WORKER_RUNNING;
    }
    *end = judge_end(w);
    /* Not yet reaped: the number of the first process still belongs to this group. */
    kill(-w->rank[0].pid, SIGKILL);
    for (int32_t i = 0; i < w->ranks_n; i++) finish_log(&w->rank[i]);
    reap_worker(w);
    return WORKER_ENDED;
}

static void local_signal(void *worker, enum worker_signal signal)
{
    const struct local_worker *w = worker;

    if (w->rank[0].pid > 0) kill(-w->rank[0].pid, signal == WORKER_STOP ? SIGTERM : SIGKILL);
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
