/* process.h - one worker as a process: start, log, signals, end.
 *
 * 1. A worker leads its own process group and dies with the scheduler (PR_SET_PDEATHSIG, set
 * between fork and exec with a check that the scheduler still lives; posix_spawn cannot set it).
 * 2. It sees no more of the environment than PATH, HOME, LANG, TMPDIR, LD_LIBRARY_PATH,
 * ALIBI_CUDA_GRAPHS, ALIBI_AVOID_BLAS and what its device needs; stdin is /dev/null; no descriptor
 * of the scheduler is open in it.
 * 3. What it prints goes through a pipe to its log, PROCESS_LOG_MAX_BYTES at most: the rest is
 * read, counted and dropped, so that a worker that prints without end neither stops nor fills the
 * disk.
 * 4. When the worker has ended its whole group is killed before its number is given back. */
#ifndef SCHEDULER_PROCESS_H
#define SCHEDULER_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

enum { PROCESS_LOG_MAX_BYTES = 4 * 1024 * 1024 };

struct process {
    pid_t pid;         /* 0: none; also the number of its group */
    int64_t pid_start; /* see machine.h */
    int log_pipe;      /* what it prints comes out here; -1: none */
    int log_file;
    int64_t log_bytes, log_dropped_bytes;
};

/* What a worker is started with, by whichever executor. */
struct worker_options {
    const char *program;     /* started as: program worker dir --device device --threads 1 */
    const char *root;        /* working folder */
    const char *dir;         /* the attempt's folder, relative to root */
    const char *attempt_dir; /* the same, absolute: the mark of machine.h, and where the log is */
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

#endif
