/* command.c - posix_spawn, two pipes, a deadline. */
#include "scheduler/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"

enum { COMMAND_OUTPUT_MAX_BYTES = 64 << 20, COMMAND_CHUNK = 4096 };

/* One end of a pipe and what came out of it. */
struct command_stream {
    int fd; /* -1: closed */
    struct strbuf text;
};

static bool command_passes(const char *variable)
{
    static const char *const kept[] = {"SLURM_CONF=", "SLURM_JWT="};
    static const char *const dropped[] = {"SLURM_", "SQUEUE_", "SCANCEL_", "SBATCH_ARRAY",
                                          "SBATCH_WAIT"};

    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (strncmp(variable, kept[i], strlen(kept[i])) == 0) return true;
    for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++)
        if (strncmp(variable, dropped[i], strlen(dropped[i])) == 0) return false;
    return true;
}

static char **command_environment(struct arena *a)
{
    size_t n = 0, kept_n = 0;
    extern char **environ;

    while (environ[n]) n++;
    char **out = arena_array(a, n + 1, sizeof *out);
    for (size_t i = 0; i < n; i++)
        if (command_passes(environ[i])) out[kept_n++] = environ[i];
    return out;
}

/* Starts it with its output on out and its complaints on complaint; an errno. */
static int command_spawn(pid_t *pid, struct arena *a, const char *const *argv, int out,
                         int complaint)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;

    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                              POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    int code = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (code == 0) code = posix_spawn_file_actions_adddup2(&actions, out, 1);
    if (code == 0) code = posix_spawn_file_actions_adddup2(&actions, complaint, 2);
    if (code == 0)
        code = posix_spawnp(pid, argv[0], &actions, &attributes, (char **)(uintptr_t)argv,
                            command_environment(a));
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return code;
}

/* Takes what waits in the pipe; a stream that has ended, or says too much, is closed. */
static void command_take(struct command_stream *s)
{
    char chunk[COMMAND_CHUNK];
    ssize_t n = read(s->fd, chunk, sizeof chunk);

    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n > 0) strbuf_add_n(&s->text, chunk, (size_t)n);
    if (n > 0 && s->text.n < COMMAND_OUTPUT_MAX_BYTES) return;
    close(s->fd);
    s->fd = -1;
}

/* Until both streams have ended; false: the deadline came first. */
static bool command_listen(struct command_stream stream[2], int64_t deadline_us)
{
    while (stream[0].fd >= 0 || stream[1].fd >= 0) {
        struct pollfd wait[2] = {{.fd = stream[0].fd, .events = POLLIN},
                                 {.fd = stream[1].fd, .events = POLLIN}};
        int64_t left_us = deadline_us - clock_monotonic_us();
        if (left_us <= 0) return false;
        if (poll(wait, 2, (int)(left_us / 1000) + 1) < 0) continue;
        for (int i = 0; i < 2; i++)
            if (stream[i].fd >= 0 && wait[i].revents) command_take(&stream[i]);
    }
    return true;
}

/* The program's status once it has ended, which it is made to do at the deadline. */
static int command_await(pid_t pid, bool *in_time, int64_t deadline_us)
{
    int status = 0, fd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    int64_t left_us = deadline_us - clock_monotonic_us();

    if (*in_time && fd >= 0) *in_time = poll(&wait, 1, left_us > 0 ? (int)(left_us / 1000) : 0) > 0;
    if (!*in_time) kill(-pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    if (fd >= 0) close(fd);
    return status;
}

/* What the end of the program means. */
static int command_judge(const char *name, int status, bool in_time, double limit_s,
                         char *complaint, struct err *e)
{
    if (!in_time) return ERR(e, ERR_TRYLATER, "%s: no answer within %g s", name, limit_s);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
    const char *line = str_last_line(complaint);
    if (!*line) line = "it said nothing";
    if (WIFEXITED(status))
        return ERR(e, ERR_TRYLATER, "%s: exit %d: %.600s", name, WEXITSTATUS(status), line);
    return ERR(e, ERR_TRYLATER, "%s: killed by signal %d: %.600s", name, WTERMSIG(status), line);
}

int slurm_program_run(char **out, struct arena *a, const char *const *argv, double limit_s,
                      struct err *e)
{
    int rc = 0, output[2] = {-1, -1}, complaint[2] = {-1, -1};
    int64_t deadline_us = clock_monotonic_us() + (int64_t)(limit_s * 1e6);
    pid_t pid;

    if (pipe2(output, O_CLOEXEC) < 0 || pipe2(complaint, O_CLOEXEC) < 0) {
        rc = ERR(e, ERR_TRYLATER, "%s: cannot be started: %s", argv[0], strerror(errno));
        goto out;
    }
    int code = command_spawn(&pid, a, argv, output[1], complaint[1]);
    if (code != 0) {
        rc = ERR(e, ERR_UNAVAILABLE, "%s: cannot be started: %s", argv[0], strerror(code));
        goto out;
    }
    close(output[1]);
    close(complaint[1]);
    struct command_stream stream[2] = {{.fd = output[0]}, {.fd = complaint[0]}};
    output[0] = output[1] = complaint[0] = complaint[1] = -1;
    for (int i = 0; i < 2; i++) {
        strbuf_init(&stream[i].text, a);
        strbuf_add(&stream[i].text, "");
    }
    bool in_time = command_listen(stream, deadline_us);
    int status = command_await(pid, &in_time, deadline_us);
    for (int i = 0; i < 2; i++)
        if (stream[i].fd >= 0) close(stream[i].fd);
    rc = command_judge(argv[0], status, in_time, limit_s, stream[1].text.text, e);
    if (rc == 0 && out) *out = stream[0].text.text;
out:
    for (int i = 0; i < 2; i++) {
        if (output[i] >= 0) close(output[i]);
        if (complaint[i] >= 0) close(complaint[i]);
    }
    return rc;
}

bool subprocess_exists(const char *program)
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
