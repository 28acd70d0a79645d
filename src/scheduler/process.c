/* process.c - reads /proc; starts workers and takes what they print; signalfd.
 *
 * A process that ends between two reads of /proc is not an error. */
#include "scheduler/process.h"

#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "base/subprocess.h"
#include "record/run_folder.h"

/* --- names ---------------------------------------------------------------------------------- */

enum { PROC_MAX_BYTES = 1 << 20, MACHINE_START_FIELD = 22 };

char *proc_read(struct arena *a, const char *path, size_t *n, struct err *why)
{
    char chunk[4096];
    struct strbuf text;
    FILE *f = fopen(path, "re");

    int error = f || errno == ENOENT ? 0 : errno;
    strbuf_init(&text, a);
    strbuf_add(&text, "");
    for (size_t got = 1; f && got > 0 && text.n < PROC_MAX_BYTES;) {
        got = fread(chunk, 1, sizeof chunk, f);
        strbuf_add_n(&text, chunk, got);
    }
    if (f && ferror(f)) error = errno;
    if (f) fclose(f);
    if (error && why && why->code == 0) ERR(why, ERR_IO, "%s: %s", path, strerror(error));
    if (n) *n = text.n;
    return text.text;
}

void machine_read(struct machine *m)
{
    struct arena a;

    arena_init(&a);
    *m = (struct machine){0};
    if (gethostname(m->host, sizeof m->host - 1) < 0) snprintf(m->host, sizeof m->host, "unknown");
    const char *boot_id = proc_read(&a, "/proc/sys/kernel/random/boot_id", NULL, NULL);
    snprintf(m->boot_id, sizeof m->boot_id, "%.*s", (int)strcspn(boot_id, "\n"), boot_id);
    arena_fini(&a);
}

int64_t machine_pid_start(pid_t pid)
{
    int64_t start = 0;
    struct arena a;

    if (pid <= 0) return 0;
    arena_init(&a);
    /* The name of the program is in parentheses and may hold spaces and parentheses: field 3
     * begins after the last one. */
    char *text = proc_read(&a, arena_printf(&a, "/proc/%ld/stat", (long)pid), NULL, NULL);
    char *field = strrchr(text, ')');
    for (int i = 2; field && i < MACHINE_START_FIELD; i++) field = strchr(field + 1, ' ');
    if (field) {
        field++;
        field[strcspn(field, " \n")] = '\0';
        if (!str_to_int(&start, field)) start = 0;
    }
    arena_fini(&a);
    return start;
}

bool machine_is_alive(const struct machine *m, const char *host, const char *boot_id, int64_t pid,
                      int64_t pid_start)
{
    if (pid <= 0 || pid_start <= 0) return false;
    /* The boot id alone says whether this kernel ran it; the host name may have changed since. */
    if (*m->boot_id ? strcmp(m->boot_id, boot_id) != 0 : strcmp(m->host, host) != 0) return false;
    return machine_pid_start((pid_t)pid) == pid_start;
}

/* Whether one of the variables in text (n bytes, each ended by a zero byte) is the mark. */
static bool machine_has_mark(const char *text, size_t n, const char *mark)
{
    for (size_t i = 0; i < n; i += strlen(text + i) + 1)
        if (strcmp(text + i, mark) == 0) return true;
    return false;
}

static void machine_kill_and_wait(pid_t pid, int wait_ms)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);

    kill(pid, SIGKILL);
    if (fd < 0)
        return; /* gone already, or a kernel without pidfd: the kill is certain all the same */
    struct pollfd gone = {.fd = fd, .events = POLLIN};
    poll(&gone, 1, wait_ms);
    close(fd);
}

int kill_leftover_workers(const char *attempt_dir, int wait_ms)
{
    int killed_n = 0;
    DIR *proc = opendir("/proc");

    for (struct dirent *entry = proc ? readdir(proc) : NULL; entry; entry = readdir(proc)) {
        int64_t pid;
        size_t n;
        struct arena a;
        if (!isdigit((unsigned char)entry->d_name[0]) || !str_to_int(&pid, entry->d_name)) continue;
        if (pid == getpid()) continue;
        arena_init(&a);
        const char *mark = arena_printf(&a, "%s=%s", MACHINE_MARK, attempt_dir);
        const char *path = arena_printf(&a, "/proc/%lld/environ", (long long)pid);
        const char *text = proc_read(&a, path, &n, NULL);
        if (machine_has_mark(text, n, mark)) {
            machine_kill_and_wait((pid_t)pid, wait_ms);
            killed_n++;
        }
        arena_fini(&a);
    }
    if (proc) closedir(proc);
    return killed_n;
}

/* --- workers -------------------------------------------------------------------------------- */

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

int process_start(struct process *p, const struct worker_options *o, struct err *e)
{
    int rc = 0, output[2] = {-1, -1};
    struct process_image im;
    struct arena arena;

    arena_init(&arena);
    *p = (struct process){.log_pipe = -1, .log_file = -1};
    process_fill_image(&im, &arena, o);
    const struct subprocess worker = {.argv = im.argv,
                                      .environment = (const char *const *)im.env,
                                      .folder = o->root,
                                      .dies_with_parent = true,
                                      .core = o->cpu >= 0 ? &o->cpu : NULL};
    const char *path = run_folder_path(&arena, o->attempt_dir, RUN_LOG);
    if (pipe2(output, O_CLOEXEC) < 0) {
        rc = ERR(e, ERR_NOMEM, "%s: a worker cannot be started: %s", o->dir, strerror(errno));
        goto out;
    }
    p->log_pipe = output[0];
    p->log_file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (p->log_file < 0) {
        rc = ERR(e, ERR_CREATE, "%s: cannot be created: %s", path, strerror(errno));
        goto out;
    }
    int failure = subprocess_spawn(&p->pid, &worker, output[1], output[1]);
    if (failure) {
        rc = ERR(e, p->pid < 0 ? ERR_NOMEM : ERR_UNAVAILABLE, "%s: cannot be started: %s",
                 o->program, strerror(failure));
        p->pid = 0;
        goto out;
    }
    p->pid_start = machine_pid_start(p->pid);
    fcntl(p->log_pipe, F_SETFL, O_NONBLOCK);
out:
    if (output[1] >= 0) close(output[1]);
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

/* --- signals -------------------------------------------------------------------------------- */

enum { SIGNALS_SAME_REQUEST_US = 200000 };

int signals_open(struct signals *sg, struct err *e)
{
    sigset_t wanted;
    struct sigaction plain = {.sa_handler = SIG_DFL}, hangup;

    *sg = (struct signals){.fd = -1};
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGINT);
    sigaddset(&wanted, SIGTERM);
    sigaddset(&wanted, SIGCHLD);
    if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
        sigaddset(&wanted, SIGHUP);
    sg->fd = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    if (sg->fd < 0) return ERR(e, ERR_INTERNAL, "signalfd: %s", strerror(errno));
    /* Where SIGCHLD is ignored the kernel reaps children itself and their exit status is lost. */
    sigaction(SIGCHLD, &plain, &sg->child_before);
    sigprocmask(SIG_BLOCK, &wanted, &sg->mask_before);
    return 0;
}

void signals_read(struct signals *sg, int64_t now_us, bool *child)
{
    struct signalfd_siginfo info;

    while (read(sg->fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGCHLD) {
            *child = true;
            continue;
        }
        if (sg->stops_n == 0 || now_us - sg->last_record_us > SIGNALS_SAME_REQUEST_US)
            sg->stops_n++;
        sg->last_record_us = now_us;
    }
}

void signals_close(struct signals *sg)
{
    if (sg->fd < 0) return;
    bool child;
    signals_read(sg, 0, &child); /* what is still pending must not strike when it is unblocked */
    close(sg->fd);
    sigaction(SIGCHLD, &sg->child_before, NULL);
    sigprocmask(SIG_SETMASK, &sg->mask_before, NULL);
    sg->fd = -1;
}
