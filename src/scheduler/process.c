/* process.c - fork, exec, pipe and wait.
 *
 * Between fork and exec the child calls only functions that are safe there; what it needs is
 * prepared before. A failure on the child's side comes back through a pipe that exec closes. */
#include "scheduler/process.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "record/run_folder.h"
#include "scheduler/machine.h"

/* A full pipe is at most 16 chunks, so what an ended worker has left is taken in one go. */
enum { PROCESS_ENV_MAX = 16, PROCESS_CHUNK = 64 * 1024, PROCESS_CHUNKS_A_DRAIN = 16 };

/* The environment and arguments of a worker, in the caller's arena. */
struct process_image {
    struct arena *arena;
    char *env[PROCESS_ENV_MAX + 1];
    int env_n;
    const char *argv[8];
};

static void process_add_env(struct process_image *im, const char *name, const char *value)
{
    assert(im->env_n < PROCESS_ENV_MAX);
    if (value) im->env[im->env_n++] = arena_printf(im->arena, "%s=%s", name, value);
}

static void process_fill_image(struct process_image *im, struct arena *a,
                               const struct worker_options *o)
{
    /* The last four steer the emulated GPU, and only that; the one before changes no bit. */
    static const char *const passed[] = {"PATH",
                                         "HOME",
                                         "TMPDIR",
                                         "LD_LIBRARY_PATH",
                                         "ALIBI_CUDA_GRAPHS",
                                         "EMULATION_ORDER",
                                         "EMULATION_MEMORY",
                                         "EMULATION_LOSE",
                                         "EMULATION_OPEN"};

    *im = (struct process_image){.arena = a};
    for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
        process_add_env(im, passed[i], getenv(passed[i]));
    process_add_env(im, "ALIBI_AVOID_BLAS",
                    o->avoid_blas && *o->avoid_blas ? o->avoid_blas : getenv("ALIBI_AVOID_BLAS"));
    process_add_env(im, "LANG", "C.UTF-8");
    process_add_env(im, "OMP_NUM_THREADS", "1");
    process_add_env(im, MACHINE_MARK, o->attempt_dir);
    /* An empty list hides every GPU from a worker that is to use none. A GPU is named by its UUID:
     * numbers change when one fails. */
    const char *gpu = o->cuda < 0 ? "" : arena_printf(a, "%ld", (long)o->cuda);
    if (o->cuda >= 0 && o->cuda_uuid && *o->cuda_uuid) gpu = o->cuda_uuid;
    process_add_env(im, "CUDA_VISIBLE_DEVICES", gpu);
    if (o->cuda >= 0) process_add_env(im, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    const char *argv[] = {o->program, "worker", o->dir, "--device", o->device, "--threads", "1"};
    memcpy(im->argv, argv, sizeof argv);
}

/* The child's side. fd: what becomes its output, and where an errno goes when exec fails. */
static _Noreturn void process_become(const struct process_image *im, const struct worker_options *o,
                                     pid_t parent, int output, int report)
{
    struct sigaction plain = {.sa_handler = SIG_DFL};
    sigset_t none;
    int failure;

    setpgid(0, 0);
    /* Whoever dies between fork and this call leaves the child with another parent. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0) goto fail;
    if (getppid() != parent) _exit(127);
    for (int i = 1; i < NSIG; i++) sigaction(i, &plain, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (o->cpu >= 0) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(o->cpu, &set);
        sched_setaffinity(0, sizeof set, &set); /* a core taken away since: any will do */
    }
    int input = open("/dev/null", O_RDONLY);
    if (input < 0 || dup2(input, 0) < 0 || dup2(output, 1) < 0 || dup2(output, 2) < 0) goto fail;
    if (chdir(o->root) < 0) goto fail;
    syscall(SYS_close_range, 3U, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */);
    execve(o->program, (char *const *)(uintptr_t)im->argv, im->env);
fail:
    failure = errno;
    if (write(report, &failure, sizeof failure) < 0) _exit(126);
    _exit(127);
}

/* 0, or the errno with which the child failed to become the worker. */
static int process_await_exec(int report)
{
    int failure = 0;
    ssize_t n;
    do {
        n = read(report, &failure, sizeof failure);
    } while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof failure ? failure : 0;
}

int process_start(struct process *p, const struct worker_options *o, struct err *e)
{
    int rc = 0, report[2] = {-1, -1}, output[2] = {-1, -1};
    struct process_image im;
    struct arena arena;

    arena_init(&arena);
    *p = (struct process){.log_pipe = -1, .log_file = -1};
    if (pipe2(report, O_CLOEXEC) < 0 || pipe2(output, O_CLOEXEC) < 0) {
        rc = ERR(e, ERR_NOMEM, "%s: a worker cannot be started: %s", o->dir, strerror(errno));
        goto out;
    }
    process_fill_image(&im, &arena, o);
    const char *path = run_folder_path(&arena, o->attempt_dir, RUN_LOG);
    p->log_file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (p->log_file < 0) {
        rc = ERR(e, ERR_CREATE, "%s: cannot be created: %s", path, strerror(errno));
        goto out;
    }
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) process_become(&im, o, parent, output[1], report[1]);
    if (pid < 0) {
        rc = ERR(e, ERR_NOMEM, "%s: a worker cannot be started: %s", o->dir, strerror(errno));
        goto out;
    }
    setpgid(pid, pid); /* both sides do it: whoever is first, the group is there from now on */
    close(report[1]);
    report[1] = -1;
    p->pid = pid;
    int failure = process_await_exec(report[0]);
    if (failure) {
        rc = ERR(e, ERR_UNAVAILABLE, "%s: cannot be started: %s", o->program, strerror(failure));
        goto out;
    }
    p->pid_start = machine_pid_start(pid);
    p->log_pipe = output[0];
    output[0] = -1;
    fcntl(p->log_pipe, F_SETFL, O_NONBLOCK);
out:
    for (int i = 0; i < 2; i++) {
        if (report[i] >= 0) close(report[i]);
        if (output[i] >= 0) close(output[i]);
    }
    arena_fini(&arena);
    if (rc < 0) process_close(p);
    return rc;
}

/* Keeps what the cap leaves room for; counts the rest. */
static int process_keep_log(struct process *p, const char *text, size_t n, struct err *e)
{
    size_t room = (size_t)(PROCESS_LOG_MAX_BYTES - p->log_bytes);
    size_t kept = n < room ? n : room;

    p->log_dropped_bytes += (int64_t)(n - kept);
    for (size_t done = 0; done < kept;) {
        ssize_t wrote = write(p->log_file, text + done, kept - done);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0)
            return ERR(e, ERR_IO, "the log of worker %ld: writing %zu bytes: %s", (long)p->pid,
                       kept - done, strerror(errno));
        done += (size_t)wrote;
        p->log_bytes += wrote;
    }
    return 0;
}

int process_drain_log(struct process *p, struct err *e)
{
    char chunk[PROCESS_CHUNK];
    int rc = 0;

    for (int i = 0; p->log_pipe >= 0 && i < PROCESS_CHUNKS_A_DRAIN; i++) {
        ssize_t n = read(p->log_pipe, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) break;
        if (n <= 0) { /* every writer has closed it */
            close(p->log_pipe);
            p->log_pipe = -1;
            break;
        }
        if (rc == 0) rc = process_keep_log(p, chunk, (size_t)n, e);
    }
    return rc;
}

void process_signal(const struct process *p, int signal_number)
{
    if (p->pid > 0) kill(-p->pid, signal_number);
}

/* The rest of the log, and a notice if some was dropped. A log that cannot be written is no reason
 * to lose a result: the worker's own records decide. */
static void process_finish_log(struct process *p)
{
    char notice[128];

    process_drain_log(p, NULL);
    if (p->log_dropped_bytes > 0) {
        int n = snprintf(notice, sizeof notice,
                         "\n[the log ends here: %lld more bytes were not kept]\n",
                         (long long)p->log_dropped_bytes);
        if (write(p->log_file, notice, (size_t)n) < 0) p->log_dropped_bytes++;
    }
    if (p->log_pipe >= 0) close(p->log_pipe);
    if (p->log_file >= 0) close(p->log_file);
    p->log_pipe = p->log_file = -1;
}

bool process_has_ended(struct process *p, int *exit_code, int *signal_number)
{
    siginfo_t info = {0};
    int waited = waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT);

    if (waited < 0 && errno == EINTR) return false;
    if (waited == 0 && info.si_pid != p->pid) return false;
    /* Not yet reaped: the number still belongs to this group and to nobody else. */
    process_signal(p, SIGKILL);
    process_finish_log(p);
    *exit_code = waited == 0 && info.si_code == CLD_EXITED ? info.si_status : -1;
    *signal_number = waited == 0 && info.si_code != CLD_EXITED ? info.si_status : -1;
    waitpid(p->pid, NULL, 0);
    p->pid = 0;
    return true;
}

void process_close(struct process *p)
{
    if (p->pid > 0) {
        process_signal(p, SIGKILL);
        waitpid(p->pid, NULL, 0);
        p->pid = 0;
    }
    if (p->log_pipe > 0) close(p->log_pipe);
    if (p->log_file > 0) close(p->log_file);
    p->log_pipe = p->log_file = -1;
}
