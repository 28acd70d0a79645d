/* slurm.h - jobs of Slurm seen from the machine that the scheduler runs on: submitted, watched,
 * cancelled. What a job does on its node is in slurm_node.h.
 *
 * 1. Slurm's own programs are asked (sbatch, squeue, scancel), with a time limit and without a
 * shell. The project's folder is on a file system that the nodes share, under the same path.
 * 2. A job is named alibi-<run>-<attempt>@<host of its scheduler> and its working folder is the
 * project's. A job of that folder and of this host that no row of results.db knows was submitted by
 * a scheduler that died before it could say so: it is cancelled.
 * 3. How a job ended is in the attempt's file `exit`, which its node writes last. Only where that
 * stays empty does squeue count, and only when it has answered three times that the job is over or
 * unknown: an answer that does not come says nothing.
 * 4. The file `exit` is there from the start, empty: on NFS a file that is not there may seem
 * absent for a minute after it was made, one that is there is asked for anew at each open.
 * 5. A wish to stop or cancel is kept until scancel has taken it, so that none is lost while the
 * controller is away.
 * 6. Slurm's --no-requeue: it is the scheduler that tries again. Two minutes before the job's time
 * limit the worker is told to keep a checkpoint (--signal), from which the next attempt goes on. */
#ifndef SCHEDULER_SLURM_H
#define SCHEDULER_SLURM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/project.h"
#include "scheduler/machine.h"
#include "scheduler/process.h"

#define SLURM_EXIT_FILE "exit"

enum { SLURM_JOBS_DEFAULT = 16, SLURM_STATE_BYTES = 32, SLURM_NAME_BYTES = 128 };

enum slurm_request { SLURM_NONE, SLURM_STOP, SLURM_CANCEL };

/* A line of squeue. */
struct slurm_row {
    int64_t id;
    const char *state, *name, *dir;
};

struct slurm_job;
struct slurm {
    struct arena arena;
    const char *root;       /* the project's folder */
    struct machine machine; /* this one */
    const char **word;      /* what the user wants of sbatch: --partition=gpu; ended by NULL */
    int64_t poll_us;        /* between two questions to squeue */
    int64_t asked_us;       /* when the newest answer was asked for; 0: never */
    int64_t tried_us;       /* when Slurm was last asked for anything */
    struct arena heard;     /* holds the answer */
    struct slurm_row *row;
    int32_t rows_n;
    struct slurm_job *job; /* those that are watched */
    int32_t failures_n;    /* of slurm_tick in a row */
};

struct slurm_job {
    struct slurm *cluster;
    struct slurm_job *next;
    int64_t id;                    /* 0: none */
    const char *attempt_dir;       /* absolute; the caller's */
    char state[SLURM_STATE_BYTES]; /* as squeue spells it; empty: not heard of yet */
    int64_t since_us;              /* watched since then */
    int32_t over_n;                /* answers in a row by which it is over */
    enum slurm_request wish, granted;
};

/* slurm_open - words: options of sbatch as "partition=gpu gres=gpu:1 time=24:00:00", or NULL.
 * poll_s 0: 10. Errors: ERR_USAGE a word that is none, or that would break what is said above. */
int slurm_open(struct slurm *s, const struct project *p, const char *words, double poll_s,
               struct err *e);
void slurm_close(struct slurm *s); /* takes a zeroed struct; jobs go on */
/* slurm_parse_options - the part of slurm_open that reads the words. */
int slurm_parse_options(const char ***out, struct arena *a, const char *words, struct err *e);

/* slurm_query - asks squeue for the jobs of this user. Errors: ERR_UNAVAILABLE there is no squeue;
 * ERR_TRYLATER it does not answer. */
int slurm_query(struct slurm *s, struct err *e);

/* slurm_find - the job of this number in the newest answer, if it carries out the attempt (dir:
 * relative, runs/<run>/<attempt>) and is not over; else NULL. */
const struct slurm_row *slurm_find(const struct slurm *s, int64_t id, const char *dir);

/* slurm_cancel_orphans - see 2; known: the numbers of jobs that rows know. *n: how many. */
int slurm_cancel_orphans(struct slurm *s, int32_t *n, const int64_t *known, int32_t known_n,
                         struct err *e);

/* slurm_tick - when it is time to, asks squeue and carries out wishes. Errors: the second of a
 * streak; one alone is soon made good, and the rest stay unsaid. */
int slurm_tick(struct slurm *s, struct err *e);

/* slurm_submit - writes job.sh into the attempt's folder and gives it to sbatch; job->cluster is
 * set. Errors: ERR_CREATE; ERR_UNAVAILABLE there is no sbatch; ERR_TRYLATER sbatch refuses. */
int slurm_submit(struct slurm_job *job, const struct process_options *o, struct err *e);

/* slurm_name - of the job that carries out the attempt (rule 2). */
void slurm_name(char out[SLURM_NAME_BYTES], const char *host, const char *dir);

/* slurm_watch - a job that an earlier scheduler submitted; job->cluster is set, row is of its
 * newest answer. */
void slurm_watch(struct slurm_job *job, const struct slurm_row *row, const char *attempt_dir);
void slurm_detach(struct slurm_job *job); /* no longer watched; it goes on */

bool slurm_has_started(const struct slurm_job *job);
void slurm_request(struct slurm_job *job, enum slurm_request wish);

/* slurm_has_ended - said: its worker's last record is there. why: what squeue and the job's own
 * output say, where the file `exit` says nothing. */
bool slurm_has_ended(struct slurm_job *job, bool said, int *exit_code, int *signal_number,
                     char *why, size_t room);

#endif
