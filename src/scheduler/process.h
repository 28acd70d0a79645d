/* process.h - the processes of this machine, and the signals of the scheduler.
 *
 * 1. A process is named by host, boot id, number and start time, so that neither a reused number
 *    nor a reboot nor a renamed host leads to another process.
 * 2. Every worker carries MACHINE_MARK=<absolute folder of its attempt> in its environment, and its
 *    children inherit it: a scheduler that recovers an attempt finds leftovers by this mark. */
#ifndef SCHEDULER_PROCESS_H
#define SCHEDULER_PROCESS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/err.h"

#define MACHINE_MARK "ALIBI_ATTEMPT"

struct machine {
    char host[65], boot_id[40];
};

/* machine_read - identifies this machine; boot_id is empty if /proc lacks it. */
void machine_read(struct machine *m);

/* machine_pid_start - clock ticks since boot at which the process started; 0: no such process. */
int64_t machine_pid_start(pid_t pid);

/* machine_is_alive - true if the recorded process still runs on this machine. */
bool machine_is_alive(const struct machine *m, const char *host, const char *boot_id, int64_t pid,
                      int64_t pid_start);

/* proc_read - reads a file of /proc or /sys, whose size is not known before it is read, with a zero
 * byte after it; "" if it is absent. *n (may be NULL): its length. why (may be NULL) keeps the
 * first error of a file that exists. */
char *proc_read(struct arena *a, const char *path, size_t *n, struct err *why);

/* kill_leftover_workers - kills (SIGKILL) every process of this user whose environment carries the
 * mark of this attempt, and waits until they are gone, 5 seconds at most each. */
void kill_leftover_workers(const char *attempt_dir);

/* Makes Ctrl-C and ended children a descriptor to poll. While it is open SIGINT, SIGTERM, SIGHUP
 * and SIGCHLD are blocked and read from a descriptor: no handler, no global. SIGHUP stays ignored
 * if it was (nohup). SIGINT is read even if a shell ignores it for a background job: whoever sends
 * it with kill means it. */
struct signals {
    int fd;
    sigset_t mask_before;
    struct sigaction child_before;
    int64_t last_request_us; /* when the last request to stop was read */
    int stops_n;             /* requests to stop so far */
};

int signals_open(struct signals *sg, struct err *e);
/* signals_read - takes what has come by now_us, a monotonic time. Requests that are read together,
 * or within a fifth of a second, count once: some tools signal a process and its group. *child: a
 * child has ended. */
void signals_read(struct signals *sg, int64_t now_us, bool *child);
void signals_close(struct signals *sg);

#endif
