/* subprocess.c - fork and exec, two pipes, a deadline. */
#include "base/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"

enum { SUBPROCESS_OUTPUT_MAX_BYTES = 64 << 20, SUBPROCESS_CHUNK_BYTES = 4096 };

/* The read end of a pipe and the output read from it. */
struct stream {
    int fd; /* -1: closed */
    struct strbuf text;
};

/* Runs in the child: executes the program, or writes the errno to the pipe and exits. */
static _Noreturn void become_program(const struct subprocess *s, pid_t parent, int output,
                                     int errors, int report)
{
    extern char **environ;
    cpu_set_t set;
    sigset_t none;
    int input;

    setpgid(0, s->group);
    if (s->dies_with_parent) {
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0) goto fail;
        if (getppid() != parent) _exit(127); /* the parent died before prctl */
    }
    for (int i = 1; i < NSIG; i++) signal(i, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (s->core) {
        CPU_ZERO(&set);
        CPU_SET(*s->core, &set);
        sched_setaffinity(0, sizeof set, &set); /* if it fails, run on any core */
    }
    input = open("/dev/null", O_RDONLY);
    if (input < 0 || dup2(input, 0) < 0 || dup2(output, 1) < 0 || dup2(errors, 2) < 0) goto fail;
    if (s->folder && chdir(s->folder) < 0) goto fail;
    syscall(SYS_close_range, 3U, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */);
    execvpe(s->argv[0], (char **)(uintptr_t)s->argv,
            s->environment ? (char **)(uintptr_t)s->environment : environ);
fail:;
    int failure = errno;
    if (write(report, &failure, sizeof failure) < 0) _exit(126);
    _exit(127);
}

int subprocess_spawn(pid_t *pid, const struct subprocess *s, int output, int errors)
{
    int report[2], failure = 0;
    pid_t parent = getpid();
    ssize_t n;

    *pid = -1;
    if (pipe2(report, O_CLOEXEC) < 0) return errno;
    *pid = fork();
    if (*pid == 0) become_program(s, parent, output, errors, report[1]);
    if (*pid < 0) failure = errno;
    /* Parent and child both call setpgid, so the group has its member from here on. */
    if (*pid > 0) setpgid(*pid, s->group);
    close(report[1]);
    do {
        n = *pid > 0 ? read(report[0], &failure, sizeof failure) : 0;
    } while (n < 0 && errno == EINTR);
    close(report[0]);
    if (failure && *pid > 0) waitpid(*pid, NULL, 0);
    return failure;
}

/* Reads the available output. Closes a stream at its end or past the limit. */
static void stream_read(struct stream *s)
{
    char chunk[SUBPROCESS_CHUNK_BYTES];
    ssize_t n = read(s->fd, chunk, sizeof chunk);

    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n > 0) strbuf_add_n(&s->text, chunk, (size_t)n);
    if (n > 0 && s->text.n < SUBPROCESS_OUTPUT_MAX_BYTES) return;
    close(s->fd);
    s->fd = -1;
}

/* Milliseconds until the deadline, rounded up; -1: no deadline. */
static int milliseconds_until(int64_t deadline_us)
{
    if (deadline_us == 0) return -1;
    int64_t left_us = deadline_us - clock_monotonic_us();
    return left_us > 0 ? (int)(left_us / 1000) + 1 : 0;
}

/* Reads both streams to their ends; false if the deadline passes first. */
static bool streams_read(struct stream stream[2], int64_t deadline_us)
{
    while (stream[0].fd >= 0 || stream[1].fd >= 0) {
        struct pollfd wait[2] = {{.fd = stream[0].fd, .events = POLLIN},
                                 {.fd = stream[1].fd, .events = POLLIN}};
        int left_ms = milliseconds_until(deadline_us);
        if (left_ms == 0) return false;
        if (poll(wait, 2, left_ms) < 0) continue;
        for (int i = 0; i < 2; i++)
            if (stream[i].fd >= 0 && wait[i].revents) stream_read(&stream[i]);
    }
    return true;
}

/* Waits for the program and returns its wait status. Kills its process group at the deadline. */
static int wait_for(pid_t pid, bool *in_time, int64_t deadline_us)
{
    int status = 0, fd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd wait = {.fd = fd, .events = POLLIN};

    if (*in_time && fd >= 0 && deadline_us > 0)
        *in_time = poll(&wait, 1, milliseconds_until(deadline_us)) > 0;
    if (!*in_time) kill(-pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    if (fd >= 0) close(fd);
    return status;
}

int subprocess_run(struct subprocess_end *out, struct arena *a, const struct subprocess *s,
                   struct err *e)
{
    int rc = 0, pipes[2][2] = {{-1, -1}, {-1, -1}};
    int64_t deadline_us =
        s->timeout_s > 0 ? clock_monotonic_us() + (int64_t)(s->timeout_s * 1e6) : 0;
    struct stream stream[2];
    pid_t pid = 0;

    if (pipe2(pipes[0], O_CLOEXEC) < 0 || pipe2(pipes[1], O_CLOEXEC) < 0) {
        rc = ERR(e, ERR_NOMEM, "%s: cannot start: %s", s->argv[0], strerror(errno));
        goto out;
    }
    int code = subprocess_spawn(&pid, s, pipes[0][1], pipes[1][1]);
    if (code != 0) {
        rc = ERR(e, ERR_UNAVAILABLE, "%s: cannot start: %s", s->argv[0], strerror(code));
        goto out;
    }
    for (int i = 0; i < 2; i++) {
        close(pipes[i][1]);
        stream[i].fd = pipes[i][0];
        pipes[i][0] = pipes[i][1] = -1;
        strbuf_init(&stream[i].text, a);
    }
    bool in_time = streams_read(stream, deadline_us);
    int status = wait_for(pid, &in_time, deadline_us);
    for (int i = 0; i < 2; i++)
        if (stream[i].fd >= 0) close(stream[i].fd);
    *out = (struct subprocess_end){.output = stream[0].text.text,
                                   .errors = stream[1].text.text,
                                   .exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
                                   .signal = WIFSIGNALED(status) ? WTERMSIG(status) : -1,
                                   .timed_out = !in_time};
out:
    for (int i = 0; i < 2; i++)
        for (int end = 0; end < 2; end++)
            if (pipes[i][end] >= 0) close(pipes[i][end]);
    return rc;
}

int subprocess_check(const struct subprocess_end *end, const struct subprocess *s, int code,
                     struct err *e)
{
    const char *name = s->argv[0];

    if (end->timed_out) return ERR(e, code, "%s: no answer within %g s", name, s->timeout_s);
    if (end->exit_code == 0) return 0;
    const char *line = str_last_line(end->errors);
    if (!*line) line = "no message";
    if (end->exit_code > 0) return ERR(e, code, "%s: exit %d: %.600s", name, end->exit_code, line);
    return ERR(e, code, "%s: killed by signal %d: %.600s", name, end->signal, line);
}

bool subprocess_find(const char *program)
{
    char file[4096];
    const char *path = getenv("PATH");

    while (path && *path) {
        size_t n = strcspn(path, ":");
        int length = snprintf(file, sizeof file, "%.*s/%s", (int)n, path, program);
        if (length > 0 && (size_t)length < sizeof file && access(file, X_OK) == 0) return true;
        path += n + (path[n] == ':');
    }
    return false;
}
