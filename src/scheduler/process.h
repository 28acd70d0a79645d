/* process.h - processes of this machine: their names, workers, and the signals of the scheduler.
 *
 * 1. A process is named by host, boot id, number and start time, so that neither a reused number
 *    nor a reboot nor a renamed host can be taken for the process that was meant.
 * 2. Every worker carries MACHINE_MARK=<absolute folder of its attempt> in its environment, and so
 *    does whatever it starts: a scheduler that takes over finds what is left of them by this mark.
 * 3. A worker leads its own process group and dies with the scheduler (PR_SET_PDEATHSIG, set
 *    between fork and exec with a check that the scheduler still lives; posix_spawn cannot set it).
 * 4. It sees no more of the environment than PATH, HOME, LANG, TMPDIR, LD_LIBRARY_PATH,
 *    ALIBI_CUDA_GRAPHS, ALIBI_AVOID_BLAS and what its device needs; stdin is /dev/null; no
 *    descriptor of the scheduler is open in it.
 * 5. What it prints goes through a pipe to its log, PROCESS_LOG_MAX_BYTES at most: the rest is
 *    read, counted and dropped, so that a worker that prints without end neither stops nor fills
 *    the disk.
 * 6. When the worker has ended its whole group is killed before its number is given back. */
#ifndef SCHEDULER_PROCESS_H
#define SCHEDULER_PROCESS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/err.h"

/* --- names ---------------------------------------------------------------------------------- */

#define MACHINE_MARK "ALIBI_ATTEMPT"

struct machine {
    char host[65], boot_id[40];
};

/* machine_read - this machine; boot_id is empty where /proc does not say it. */
void machine_read(struct machine *m);

/* machine_pid_start - clock ticks since boot at which the process started; 0: there is none. */
int64_t machine_pid_start(pid_t pid);

/* machine_is_alive - whether the very process that was recorded still runs on this machine. */
bool machine_is_alive(const struct machine *m, const char *host, const char *boot_id, int64_t pid,
                      int64_t pid_start);

/* proc_read - a file of /proc or /sys, whose size is not known before it is read, with a zero byte
 * after it; "" if it is absent. *n (may be NULL): its length. why (may be NULL) keeps the first
 * error of a file that exists. */
char *proc_read(struct arena *a, const char *path, size_t *n, struct err *why);

/* kill_leftover_workers - kills (SIGKILL) every process of this user whose environment carries the
 * mark of this attempt, and waits until they are gone, wait_ms at most each. Returns how many. */
int kill_leftover_workers(const char *attempt_dir, int wait_ms);

/* --- workers -------------------------------------------------------------------------------- */

enum { PROCESS_LOG_MAX_BYTES = 4 * 1024 * 1024 };

struct process {
    pid_t pid;         /* 0: none; also the number of its group */
    int64_t pid_start; /* see machine_is_alive */
    int log_pipe;      /* what it prints comes out here; -1: none */
    int log_file;
    int64_t log_bytes, log_dropped_bytes;
};

/* What a worker is started with, by whichever executor. */
struct worker_options {
    const char *program;     /* started as: program worker dir --device device --threads 1 */
    const char *root;        /* working folder */
    const char *dir;         /* the attempt's folder, relative to root */
    const char *attempt_dir; /* the same, absolute: the mark of rule 2, and where the log is */
    const char *device;      /* backend name as the worker sees it */
    int32_t cpu;             /* core to stay on; -1: any */
    int32_t cuda;            /* the only GPU it may see; -1: none */
    const char *cuda_uuid;   /* the same, as the driver names it; NULL or "": by number */
    bool alone;              /* it measures: nothing else may run there */
    const char *avoid_blas;  /* the library of an attempt that crashed; NULL or "": none */
};

/* process_start - returns when the program runs. Errors: ERR_UNAVAILABLE it cannot be started;
 * ERR_CREATE the log; ERR_NOMEM. */
int process_start(struct process *p, const struct worker_options *o, struct err *e);

/* process_drain_log - takes what is waiting in the pipe, 1 MiB at most. Errors: ERR_IO the log
 * cannot be written; the pipe is emptied all the same. */
int process_drain_log(struct process *p, struct err *e);

/* process_signal - to the worker's whole group. */
void process_signal(const struct process *p, int signal_number);

/* process_has_ended - false while it runs. True: the group is gone, the log is whole and *exit_code
 * or *signal_number says how it ended (the other is -1). */
bool process_has_ended(struct process *p, int *exit_code, int *signal_number);

/* process_close - ends what still runs and closes what is open; takes a zeroed struct. */
void process_close(struct process *p);

/* --- signals -------------------------------------------------------------------------------- */

/* Ctrl-C and ended children as something to poll. While it is open SIGINT, SIGTERM, SIGHUP and
 * SIGCHLD are blocked and read from a descriptor: no handler, no global. SIGHUP stays ignored if it
 * was (nohup). SIGINT is read even if a shell ignores it for a background job: whoever sends it
 * with kill means it. */
struct signals {
    int fd;
    sigset_t mask_before;
    struct sigaction child_before;
    int64_t last_record_us; /* when the last request to stop was read */
    int stops_n;            /* requests to stop so far */
};

int signals_open(struct signals *sg, struct err *e);
/* signals_read - takes what has come by now_us, a monotonic time. Requests that are read together,
 * or within a fifth of a second, count once: some tools signal a process and its group. *child: a
 * child has ended. */
void signals_read(struct signals *sg, int64_t now_us, bool *child);
void signals_close(struct signals *sg);

#endif
