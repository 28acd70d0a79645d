/* machine.c - reads /proc.
 *
 * A process that ends between two reads is not an error. */
#include "scheduler/machine.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/str.h"

enum { MACHINE_STAT_BYTES = 1024, MACHINE_ENVIRON_BYTES = 128 * 1024, MACHINE_START_FIELD = 22 };

/* Reads at most room - 1 bytes and ends them with a zero byte; the length, or -1. */
static ssize_t read_proc_file(char *out, size_t room, const char *path)
{
    size_t used = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    out[0] = '\0';
    if (fd < 0) return -1;
    while (used < room - 1) {
        ssize_t n = read(fd, out + used, room - 1 - used);
        if (n <= 0) break;
        used += (size_t)n;
    }
    out[used] = '\0';
    close(fd);
    return (ssize_t)used;
}

void machine_read(struct machine *m)
{
    *m = (struct machine){0};
    if (gethostname(m->host, sizeof m->host - 1) < 0) snprintf(m->host, sizeof m->host, "unknown");
    read_proc_file(m->boot_id, sizeof m->boot_id, "/proc/sys/kernel/random/boot_id");
    m->boot_id[strcspn(m->boot_id, "\n")] = '\0';
}

int64_t machine_pid_start(pid_t pid)
{
    char path[64], text[MACHINE_STAT_BYTES];
    int64_t start = 0;

    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    if (pid <= 0 || read_proc_file(text, sizeof text, path) <= 0) return 0;
    /* The name of the program is in parentheses and may hold spaces and parentheses: field 3
     * begins after the last one. */
    char *field = strrchr(text, ')');
    for (int i = 2; field && i < MACHINE_START_FIELD; i++) {
        field = strchr(field + 1, ' ');
    }
    if (!field) return 0;
    field++;
    field[strcspn(field, " \n")] = '\0';
    return str_to_int(&start, field) ? start : 0;
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
    char mark[4200], path[64];
    DIR *proc = opendir("/proc");
    char *text = malloc(MACHINE_ENVIRON_BYTES);

    if (!proc || !text) goto out;
    snprintf(mark, sizeof mark, "%s=%s", MACHINE_MARK, attempt_dir);
    for (struct dirent *entry = readdir(proc); entry; entry = readdir(proc)) {
        int64_t pid;
        if (!isdigit((unsigned char)entry->d_name[0]) || !str_to_int(&pid, entry->d_name)) continue;
        if (pid == getpid()) continue;
        snprintf(path, sizeof path, "/proc/%lld/environ", (long long)pid);
        ssize_t n = read_proc_file(text, MACHINE_ENVIRON_BYTES, path);
        if (n <= 0 || !machine_has_mark(text, (size_t)n, mark)) continue;
        machine_kill_and_wait((pid_t)pid, wait_ms);
        killed_n++;
    }
out:
    free(text);
    if (proc) closedir(proc);
    return killed_n;
}
