/* scheduler_internal.h - the objects of the scheduler, for src/scheduler and its tests. */
#ifndef SCHEDULER_SCHEDULER_INTERNAL_H
#define SCHEDULER_SCHEDULER_INTERNAL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/project.h"
#include "scheduler/scheduler.h"
#include "store/ingest.h"
#include "store/store.h"

/* --- processes of this machine ---------------------------------------------------------------- */

/* Their names, and the signals of the scheduler.
 *
 * 1. A process is named by host, boot id, number and start time, so that neither a reused number
 *    nor a reboot nor a renamed host leads to another process.
 * 2. Every worker carries MACHINE_MARK=<absolute folder of its attempt> in its environment, and its
 *    children inherit it: a scheduler that recovers an attempt finds leftovers by this mark. */

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

/* --- executors -------------------------------------------------------------------------------- */

/* An executor runs the workers of attempts: one file and one row of EXECUTORS each.
 *
 * Attempts, the queue and the loop use only this table. scheduler_run opens an executor once.
 *
 *                    local (executor_local.c)          slurm (executor_slurm.c)
 *   start            fork and exec                     sbatch
 *   runs             at once                           when Slurm has room
 *   stop             SIGTERM to the process group      scancel --signal=TERM
 *   has ended        waitid, for every process         the job's file `exit`, or squeue
 *   without alibi    it dies with the scheduler        it continues; the next call recovers it */

struct executor_config {
    const struct project *project;
    const struct machine *machine; /* this one */
    const char *program;           /* started as: program worker dir --device device --threads 1 */
    const char *words;             /* value of the executor's option; NULL: not given */
    double poll_s;                 /* seconds between two queries */
    int64_t (*now_us)(void *context); /* as that of the scheduler's options; may be NULL */
    void *now_context;
    int32_t ranks_n, ranks_per_node; /* see scheduler_options */
    bool in_use;                     /* --devices gives it slots */
};

/* The device of one process of a worker. */
struct worker_place {
    const char *device; /* backend name as the process sees it */
    const char *gpu;    /* the only GPU it may see, by UUID or number; "": none */
    int32_t cpu;        /* core to pin to; -1: any */
};

/* The arguments and the environment of a worker: one process, or several of one training. */
struct worker_command {
    const char *dir;                  /* the attempt's folder, relative to the project's */
    const char *attempt_dir;          /* the same, absolute: its mark, and where the logs are */
    const struct worker_place *place; /* (places_n); of a cluster place[0] holds for all */
    int32_t places_n;       /* processes to start here: ranks rank … rank + places_n - 1 */
    int32_t rank, ranks_n;  /* ranks_n: processes of the training; 1 without --ranks */
    const char *host;       /* this machine's name for ranks elsewhere; NULL: none is */
    bool alone;             /* measures speed: nothing else may run on the device */
    const char *avoid_blas; /* BLAS that an earlier attempt failed with; "": none */
};

/* worker_log - the path of a process's log in dir: `log` of rank 0, `log.3` of rank 3. */
char *worker_log(struct arena *a, const char *dir, int32_t rank);

/* Identifies a worker in results.db and for the next scheduler. */
struct worker_id {
    const char *host, *boot_id; /* NULL: not known yet */
    int64_t pid, pid_start;     /* see struct machine; a Slurm job has its number and 0 */
    char label[32];             /* for messages, such as "job 17"; may be empty */
};

/* How a worker ended. */
struct exit_info {
    int exit_code, signal; /* -1: not applicable. Both -1: not observed; see why */
    int32_t rank;          /* of the process that explains the end; 0: also if that is not known */
    char why[320];         /* such as "job 17 ended as TIMEOUT"; else empty */
};

enum worker_state { WORKER_QUEUED, WORKER_RUNNING, WORKER_ENDED };
/* WORKER_STOP: write a checkpoint and end; WORKER_KILL: end at once. */
enum worker_signal { WORKER_NO_SIGNAL, WORKER_STOP, WORKER_KILL };

struct executor {
    const char *name;
    bool outlives; /* its workers continue without the scheduler */
    struct executor_option option;

    /* Lists the devices it offers. */
    int (*list)(struct device *out, int32_t room, int32_t *n, struct err *e);

    int (*open)(void **self, const struct executor_config *c, struct err *e);
    void (*close)(void *self); /* after its workers are released; takes NULL */

    /* Starts a worker. Errors: ERR_TRYLATER rejected for now; ERR_UNAVAILABLE it cannot be started;
     * ERR_CREATE its log; ERR_NOMEM. */
    int (*start)(void *self, void **worker, struct worker_id *id, const struct worker_command *c,
                 struct err *e);
    /* Recovers the worker of a row that an earlier scheduler left running; attempt_dir is absolute.
     * 1: it still runs and *worker watches it. 0: it has ended and writes nothing more to its
     * folder. Errors: ERR_TRYLATER unknown for now. */
    int (*recover)(void *self, void **worker, struct worker_id *id, const struct store_running *row,
                   const char *attempt_dir, struct err *e);
    /* Called after all rows were recovered: cancels workers of this project without a row. *n: how
     * many. NULL: not needed. */
    int (*cancel_orphans)(void *self, int32_t *n, struct err *e);

    /* Called in every round of the loop: reads the workers' output, queries a cluster, delivers
     * signals. An error is logged as a warning; the workers continue. NULL: nothing to do. */
    int (*service)(void *self, struct err *e);
    int (*wait_fd)(void *self); /* readable when service has work; NULL: none */

    /* reported_end: the worker's last record was read. WORKER_ENDED: it writes nothing more, and
     * *end is set. */
    enum worker_state (*poll)(void *worker, bool reported_end, struct exit_info *end);
    void (*signal)(void *worker, enum worker_signal signal); /* repeating a signal has no effect */
    /* Frees *worker. Kills one that still runs, unless the executor outlives the scheduler. */
    void (*release)(void *worker);
};

enum { WORKER_LOG_MAX_BYTES = 4 * 1024 * 1024 };
#define SLURM_EXIT_FILE "exit" /* how a job's worker ended, in the attempt's folder */
#define EXECUTOR_EXTERN(name, syntax) extern const struct executor executor_##name;
EXECUTORS(EXECUTOR_EXTERN)
extern const struct executor *const executor_table[]; /* ended by NULL */

/* executor_devices - the devices of all executors of a table, see device_list. */
int executor_devices(const struct executor *const *table, struct device *out, int32_t room,
                     int32_t *n, struct err *e);

/* executor_find - the index of the executor that ran a worker on the device of this name: the one
 * of that name, else the first. */
int32_t executor_find(const struct executor *const *table, const char *device);

/* local_devices - see device.c. */
int local_devices(struct device *out, int32_t room, int32_t *n, struct err *e);

/* --- device slots ----------------------------------------------------------------------------- */

/* Device slots: each holds one process of a worker, or on a cluster one worker; selected with
 * --devices. */

enum { SLOTS_DEVICES_MAX = 64, SLOTS_MAX = 4096, SLOTS_LOSSES_MAX = 3 };

/* Consecutive workers that died on a device before they made progress. */
struct device_failures {
    int32_t n, first; /* first: the run of the first */
    bool several;     /* their runs differ */
};

struct slot {
    int32_t device; /* index in slots.device */
    int32_t cpu;    /* core the worker is pinned to; -1: any */
    int32_t cuda;   /* ordinal of the GPU; -1: none */
    bool busy;
    bool evaluates; /* its run is an evaluation */
    int64_t bytes;  /* planned bytes of its process */
};

struct slots {
    struct device device[SLOTS_DEVICES_MAX];
    int64_t used_bytes[SLOTS_DEVICES_MAX]; /* planned bytes of the runs there */
    int32_t running_n[SLOTS_DEVICES_MAX];
    struct device_failures losses[SLOTS_DEVICES_MAX];
    int32_t devices_n;
    struct slot *slot; /* in the arena */
    int32_t n;
    int32_t ranks_n; /* processes of a training; slots_retire_device may halve it */
    char note[160];  /* why there are fewer slots than --devices says; empty: there are not */
};

/* slots_open - selects slots of the devices of a table of executors. auto: every
 * usable GPU that is not busy, or every core if there is no GPU; cpu: every core; cpu:N: N
 * workers, at most one per core or one per rank (then with a note); cuda:0,cuda:1: these GPUs. A
 * cluster and the emulated GPU must be named. auto never mixes CPU and GPU, because their last bits
 * differ. Workers are pinned to cores only if every core has one; otherwise the kernel chooses
 * better. ranks_n: processes of a training; 0: 1. Errors: ERR_USAGE not a device, or fewer slots of
 * one kind than ranks; ERR_UNAVAILABLE it cannot be used, with the reason. */
int slots_open(struct slots *sl, struct arena *a, const char *devices, int32_t ranks_n,
               const struct executor *const *executors, struct err *e);

/* slots_ranks - the processes of a run. slots_width - the slots it takes: on a cluster one. */
int32_t slots_ranks(const struct slots *sl, const struct spec *s);
int32_t slots_width(const struct slots *sl, const struct spec *s);

/* The demand of a worker. */
struct slots_need {
    int32_t executor; /* -1: any */
    int32_t ranks_n;
    int64_t bytes;                                                   /* of each process */
    enum { SLOTS_NOW, SLOTS_WITHOUT_EVALUATIONS, SLOTS_EMPTY } view; /* EMPTY: if nothing ran */
};

/* slots_find - the slots of a worker: free, with memory, and of one kind: the CPU, GPUs of one
 * model, or one slot of a cluster. slot (may be NULL): room for ranks_n. Returns how many; 0: there
 * are not enough. An idle device always qualifies, because planned memory may be too high, if fewer
 * than ranks_n slots have more memory; not if view is SLOTS_EMPTY. */
int32_t slots_find(const struct slots *sl, const struct slots_need *need, int32_t *slot);
void slots_take(struct slots *sl, const int32_t *slot, int32_t n, int64_t bytes, bool evaluates);
void slots_leave(struct slots *sl, const int32_t *slot, int32_t n);
int32_t slots_executor(const struct slots *sl, int32_t slot);
bool slots_have(const struct slots *sl, int32_t executor);
int32_t slots_free_n(const struct slots *sl);

/* slots_retire_device - starts no more workers on the slot's device; why: the reason. Returns the
 * number of slots left, and halves ranks_n until there are so many of one kind. */
int32_t slots_retire_device(struct slots *sl, int32_t slot, const char *why);

/* slots_note_failure - records that a worker ended on the slot; in_vain: it was killed or vanished
 * before it made progress. Returns whether to retire the device: SLOTS_LOSSES_MAX consecutive
 * workers of more than one run ended so, and another device is left. */
bool slots_note_failure(struct slots *sl, int32_t slot, int32_t run, bool in_vain);

/* slots_largest - the device with the most free memory: a run that needs more is refused. */
const struct device *slots_largest(const struct slots *sl);

/* device_cores - lists the cores this process may use, at most room. *workers_n: workers that run
 * at full speed; a container's CPU limit may make it smaller than the number of cores. */
int32_t device_cores(int32_t *out, int32_t room, int32_t *workers_n);

/* --- the queue -------------------------------------------------------------------------------- */

/* Selects the wanted runs, their order, and the consequences of each outcome.
 *
 *   skipped   not wanted, or done before
 *   waiting   starts as soon as its training is done and a slot is free
 *   running   in an attempt
 *   done, failed, diverged, cancelled   its outcome in this call
 *   blocked   cannot start: its training is not done, or no device is large enough
 *
 * Order: evaluations before trainings (results appear early), trainings by decreasing cost (the
 * last ones are short), measurements of speed last and alone.
 *
 * A training needs several slots at once if it has several ranks, or one with much memory. From the
 * moment at which the first training in this order lacks slots, only those evaluations go before it
 * that could start then. Others wait until it has started, unless it lacks slots of trainings. */

enum run_state {
    RUN_SKIPPED,
    RUN_WAITING,
    RUN_RUNNING,
    RUN_DONE,
    RUN_FAILED,
    RUN_DIVERGED,
    RUN_CANCELLED,
    RUN_BLOCKED
};

/* The state of a run in this call. */
struct queue_entry {
    enum run_state state;
    bool was_done; /* skipped because it is done */
    bool fresh;    /* its next attempt does not resume from older ones */
    bool replaces; /* a current result, which queue_clear clears */
    bool alone;    /* a shared worker failed: the next attempt has its own */
    bool precedes; /* an evaluation that could start when q->waits began to wait */
    int32_t tries_n;
    char avoid_blas[96]; /* see attempt_failed_blas; may be empty */
};

struct queue {
    const struct run *run;     /* n, borrowed */
    struct queue_entry *entry; /* n: the state of each */
    int32_t n;
    int32_t *order;  /* indices in the order of starting */
    int32_t *pick;   /* the runs of the next worker: indices */
    int32_t tries;   /* attempts a run may have */
    int32_t waits;   /* a training that lacks slots; -1: none */
    int32_t ranks_n; /* of a training, for which device_bytes of its run is */
};

/* queue_init - reads the state of every run from the store and selects the wanted ones. */
int queue_init(struct queue *q, struct arena *a, struct store *s, const struct run *runs, int32_t n,
               const struct scheduler_options *o, struct err *e);
/* queue_clear - clears the current results that PICK_REDO and PICK_REEVALUATE replace. A run that
 * cannot start keeps its own: call it when such runs are blocked. */
int queue_clear(const struct queue *q, struct store *s, struct err *e);

/* queue_next - selects the runs of the next worker: one that has a slot, or several evaluations
 * that differ only in L and stride, and writes them to q->pick. idle: nothing runs. If nothing else
 * could use the free slots, evaluations that gain nothing by sharing are spread over them. Returns
 * the number of runs; 0: nothing can start now. */
int32_t queue_next(struct queue *q, bool idle, const struct slots *slots);
/* queue_need - what a worker for these runs needs, on any executor. */
struct slots_need queue_need(const struct queue *q, const struct slots *slots, const int32_t *run,
                             int32_t n);

/* queue_start - marks n runs as running. */
void queue_start(struct queue *q, const int32_t *run, int32_t n);

/* queue_end - applies the outcome of a run's attempt. Failed and lost runs wait again while tries
 * are left. A training that ends without success blocks its evaluations. Returns the new state. */
enum run_state queue_end(struct queue *q, int32_t run, enum store_state state, bool shared);

/* queue_block - blocks a run that cannot start, and the evaluations that wait for it. */
void queue_block(struct queue *q, int32_t run);

/* --- progress --------------------------------------------------------------------------------- */

/* Shows the progress of a grid on stderr: one line that is redrawn on a terminal, plain lines
 * elsewhere, and the first and last lines of a call.
 *
 * Whatever else is printed while the line is shown goes through progress_print, which removes the
 * line first. */

enum { PROGRESS_NAME_BYTES = 160 };

struct progress_line {
    bool quiet, live, shown; /* shown: the line is on the terminal */
    const char *headline;
    int64_t painted_us;
};

/* Work done and work left. */
struct progress_work {
    int32_t slots_n;
    double flops_done;         /* in this call, running ones by their share */
    double flops_left;         /* of what has not ended */
    double flops_longest_left; /* of one run that is running or to come, on each of its slots */
    double worker_s;           /* time of all workers so far, added up over their slots */
};

void progress_open(struct progress_line *m, bool quiet, const char *headline);
void progress_clear(struct progress_line *m); /* removes the line that is redrawn */
/* progress_print - writes a line that stays. live_too: also on a terminal, where the redrawn line
 * already shows starts and ends. */
void progress_print(struct progress_line *m, bool live_too, const char *format, ...)
    ERR_PRINTF(3, 4);
/* progress_draw - redraws the line; does nothing if it was drawn recently. */
struct scheduler;
void progress_draw(struct scheduler *sc);
struct attempt;
/* progress_slot_seconds - the time of an attempt so far, once for each of its slots. */
double progress_slot_seconds(const struct scheduler *sc, const struct attempt *at);

/* progress_own_flops - what an attempt that has this share of a run has computed itself, without
 * the updates of the checkpoint from which it resumed. A training that continues a parent counts
 * the parent's updates in its share, and not in its cost. */
double progress_own_flops(const struct attempt *at, const struct run *run, double share);

/* progress_eta - seconds left by the speed reached so far; negative: not known yet. */
double progress_eta(const struct progress_work *w);

/* progress_format - the line: runs done, rate and time left, as far as they are known. */
void progress_format(struct strbuf *line, const struct scheduler *sc);

/* progress_name - describes a run for people: "train alibi L=64 seed 1", "evaluate alibi L=64 at
 * 128". */
void progress_name(char out[PROGRESS_NAME_BYTES], const struct spec *s);

/* progress_fill_result - counts the outcomes of the whole call; takes a queue that was never
 * filled. */
void progress_fill_result(struct scheduler_result *r, const struct queue *q);

/* progress_print_start - says how much is to do, and where the results are. progress_print_end -
 * says counts and time, and which evaluations were not started, and why. */
void progress_print_start(struct progress_line *m, const struct queue *q, const struct slots *sl);
void progress_print_end(struct progress_line *m, const struct queue *q,
                        const struct scheduler_result *r);

/* --- one call --------------------------------------------------------------------------------- */

/* An open executor. */
struct executor_open {
    const struct executor *kind;
    void *self;
    bool accepted; /* it accepted a worker of this call */
};

struct scheduler {
    struct arena arena;
    struct store *store;
    const struct project *project;
    const struct scheduler_options *options;
    struct machine machine;
    struct queue queue;
    struct slots slots;
    struct progress_line progress;
    struct signals signals;
    const struct executor *const *table; /* of executors; ended by NULL */
    struct executor_open executor[EXECUTORS_MAX];
    int32_t executors_n;
    struct attempt **running;       /* room for slots.n and the workers of earlier calls */
    int32_t running_n, recovered_n; /* recovered_n: ended attempts of earlier calls */
    double stall_s, poll_s, flops_done, worker_s;
    int64_t last_poll_us, rejected_us; /* rejected_us: when a worker was rejected last */
    int32_t rejected_n;                /* consecutive rejections */
    bool batch;                        /* a transaction is open */
    bool stopping;                     /* first Ctrl-C */
    bool killed;                       /* second Ctrl-C */
    bool halted;                       /* after a failure, without --keep-going */
    struct err failure;                /* of the first run that failed for good; code 0: none */
};

/* scheduler_now_us - the monotonic time, or that of the options' clock. */
int64_t scheduler_now_us(const struct scheduler *sc);

/* --- attempts --------------------------------------------------------------------------------- */

/* One attempt at a run, or at several evaluations that share a worker: its folder, its
 * worker, its records, its outcome.
 *
 * An attempt enters the database when its worker starts. A crash before that leaves a folder and
 * perhaps an orphan of its executor; the next attempt has the next number. */

enum { ATTEMPT_MESSAGE_BYTES = 600 };

struct attempt {
    struct arena arena;        /* owns the members below */
    struct ingest_target *run; /* its runs */
    int32_t n;
    int32_t *entry; /* those of them that this call wants: indices of the queue */
    int32_t entries_n;
    const char *dir, *path; /* runs/<run_id>/<attempt>, of the first run; the same, absolute */
    struct journal journal;
    struct executor_open *executor;
    void *worker; /* the executor's; NULL: not started */
    struct worker_id id;
    int32_t *slot;             /* slots_n: of rank 0, 1, … */
    int32_t slots_n;           /* 0: a recovered attempt when all slots were in use */
    int32_t ranks_n;           /* processes; 0: recovered, not known */
    int32_t rank;              /* that explains the end, see struct exit_info */
    bool gave_up;              /* a process could not use its device */
    int64_t start_us;          /* monotonic; of a recovered attempt, when it was recovered */
    int64_t last_record_us;    /* of the newest record, or the start */
    bool stop_sent;            /* the user requested a stop and it was sent */
    int64_t killed_stalled_us; /* when it was killed as stalled; 0: it was not */
    enum store_state state;    /* STORE_NONE: has not ended; else in the database */
    bool crashed;              /* by a signal that a fault of the program raises */
    char message[ATTEMPT_MESSAGE_BYTES];
};

/* attempt_start - for the n runs of queue.pick: creates the folder, writes the spec, starts the
 * worker on the slots and adds the rows, in the caller's transaction. *out is freed with
 * attempt_free. Errors: those of files, the store and the executor's start; then nothing runs. */
int attempt_start(struct attempt **out, struct scheduler *sc, int32_t n, const int32_t *slot,
                  int32_t slots_n, struct err *e);

/* attempt_recover - takes control of a worker of an earlier scheduler: its running rows [0, n),
 * which share a folder. Its records are read from the first. If it has ended, ends the rows as its
 * records state and sets *out to NULL. */
int attempt_recover(struct attempt **out, struct scheduler *sc, const struct store_running *row,
                    int32_t n, struct err *e);

/* attempt_find_entries - finds the runs of a recovered attempt in the queue. */
void attempt_find_entries(struct attempt *at, const struct queue *q);

/* attempt_log - the path of the log that explains its end. dir: its folder as the caller names it.
 */
char *attempt_log(const struct attempt *at, struct arena *a, const char *dir);

/* attempt_poll - ingests new records, kills a stalled worker, and sets state and message when
 * the worker has ended. */
int attempt_poll(struct attempt *at, struct scheduler *sc, struct err *e);

/* The facts about a worker's end that decide the outcome. */
enum attempt_fact {
    FACT_BROKEN = 1 << 0, /* a record is wrong */
    FACT_DONE = 1 << 1,   /* the last record, one of five, or none */
    FACT_FAILED = 1 << 2,
    FACT_DIVERGED = 1 << 3,
    FACT_CANCELLED = 1 << 4,
    FACT_LOST = 1 << 5,
    FACT_RESULTS = 1 << 6, /* every run has its result */
    FACT_STALLED = 1 << 7, /* it was killed for its silence */
    FACT_STOPPED = 1 << 8, /* the user requested a stop */
    FACT_KILLED = 1 << 9,  /* a signal explains the end */
    FACT_UNSEEN = 1 << 10, /* it has no exit status */
    FACT_EXIT_NOT_0 = 1 << 11,
    FACT_GAVE_UP = 1 << 12, /* a process could not use its device */
    FACTS_END = 1 << 13
};

struct attempt_outcome {
    uint32_t all, none; /* facts that must hold, and that must not */
    enum store_state state;
    enum {
        ATTEMPT_RECORD, /* the message of the last record, or of what is broken; may be empty */
        ATTEMPT_STALLED,
        ATTEMPT_SIGNAL,
        ATTEMPT_WHY, /* the executor's */
        ATTEMPT_STOPPED,
        ATTEMPT_NO_SUCCESS,
        ATTEMPT_NO_RESULT,
        ATTEMPT_NO_RECORD,
        ATTEMPT_LOG /* the last line of the log */
    } message;
};
extern const struct attempt_outcome attempt_outcomes[]; /* the last one needs no fact */

/* attempt_judge - the outcome of a worker about which these facts hold. */
const struct attempt_outcome *attempt_judge(uint32_t facts);

/* attempt_is_hopeless - true if the next try would fail in the same way: its ranks lacked something
 * that must exist, such as a usable transport, before they made progress. */
bool attempt_is_hopeless(const struct attempt *at);

/* attempt_code - the code of a run that failed: that of the last record if a file is to blame, else
 * ERR_INTERNAL. */
int attempt_code(const struct attempt *at);

/* attempt_was_preempted - true if the worker was stopped from outside, such as by Slurm before a
 * time limit, and wrote a checkpoint: this is not a failure, and the next attempt resumes. */
bool attempt_was_preempted(const struct attempt *at);
/* attempt_run_state - the outcome of one of its runs, once the attempt has ended. */
enum store_state attempt_run_state(const struct attempt *at, const char *run_id);

/* attempt_failed_blas - the BLAS that the worker crashed in or that reported an error; NULL: none.
 * The next attempt avoids it. */
const char *attempt_failed_blas(const struct attempt *at);

/* attempt_free - releases the worker; takes NULL. */
void attempt_free(struct attempt *at);

#endif
