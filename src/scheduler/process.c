/* process.c - reads /proc; signalfd.
 *
 * A process that ends between two reads of /proc is not an error. */
#include "scheduler/process.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"

/* --- names ---------------------------------------------------------------------------------- */

enum { PROC_MAX_BYTES = 1 << 20, MACHINE_START_FIELD = 22, KILL_WAIT_MS = 5000 };

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
    /* The boot id identifies the kernel; the host name may have changed since. */
    if (*m->boot_id ? strcmp(m->boot_id, boot_id) != 0 : strcmp(m->host, host) != 0) return false;
    return machine_pid_start((pid_t)pid) == pid_start;
}

/* True if one of the variables in text (n bytes, each ended by a zero byte) is the mark. */
static bool machine_has_mark(const char *text, size_t n, const char *mark)
{
    for (size_t i = 0; i < n; i += strlen(text + i) + 1)
        if (strcmp(text + i, mark) == 0) return true;
    return false;
}

static void machine_kill_and_wait(pid_t pid)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);

    kill(pid, SIGKILL);
    if (fd < 0) return; /* already gone, or a kernel without pidfd: the kill works anyway */
    struct pollfd gone = {.fd = fd, .events = POLLIN};
    poll(&gone, 1, KILL_WAIT_MS);
    close(fd);
}

void kill_leftover_workers(const char *attempt_dir)
{
    struct dir proc;

    if (dir_open(&proc, "/proc", NULL) < 0) return;
    for (int32_t i = 0; i < proc.n; i++) {
        int64_t pid;
        size_t n;
        struct arena a;
        if (!str_to_int(&pid, proc.name_own[i]) || pid == getpid()) continue;
        arena_init(&a);
        const char *mark = arena_printf(&a, "%s=%s", MACHINE_MARK, attempt_dir);
        const char *path = arena_printf(&a, "/proc/%lld/environ", (long long)pid);
        const char *text = proc_read(&a, path, &n, NULL);
        if (machine_has_mark(text, n, mark)) machine_kill_and_wait((pid_t)pid);
        arena_fini(&a);
    }
    dir_close(&proc);
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
    /* If SIGCHLD is ignored, the kernel reaps children itself and their exit status is lost. */
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
        if (sg->stops_n == 0 || now_us - sg->last_request_us > SIGNALS_SAME_REQUEST_US)
            sg->stops_n++;
        sg->last_request_us = now_us;
    }
}

void signals_close(struct signals *sg)
{
    if (sg->fd < 0) return;
    bool child;
    signals_read(sg, 0, &child); /* a pending signal must not be delivered when unblocked */
    close(sg->fd);
    sigaction(SIGCHLD, &sg->child_before, NULL);
    sigprocmask(SIG_SETMASK, &sg->mask_before, NULL);
    sg->fd = -1;
}
