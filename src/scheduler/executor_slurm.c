/* executor_slurm.c - workers as Slurm jobs, from the machine of the scheduler.
 *
 * 1. Uses sbatch, squeue and scancel, with a time limit and without a shell. The project folder is
 *    on a file system that the nodes share, under the same path.
 * 2. A job is named alibi-<run>-<attempt>@<host of its scheduler> and its working folder is the
 *    project's. A job of that folder and this host without a row in results.db was submitted by a
 *    scheduler that died before it recorded the job: it is an orphan.
 * 3. The outcome of a job is in the attempt's file `exit`, which its node writes last. If that
 *    stays empty, squeue decides after three consecutive answers that the job is over or unknown; a
 *    missing answer proves nothing.
 * 4. The file `exit` exists from the start, empty: on NFS a new file may appear missing for a
 *    minute, but an existing one is reread at each open.
 * 5. A signal is repeated until scancel accepts it, so that none is lost while the controller is
 *    unreachable.
 * 6. --no-requeue: the scheduler retries. Two minutes before the job's time limit the worker
 *    writes a checkpoint (--signal), from which the next attempt resumes.
 * 7. A training with ranks is one job of nodes x ranks-per-node tasks, which srun starts and
 *    slurm_node.c executes. Its ranks are in the order of the nodes. --slurm describes a job of one
 *    process: GPUs per node are multiplied by the ranks of a node.
 * 8. Signals reach the batch shell alone, and srun would kill the tasks at SIGTERM. So the script
 *    sends it to the tasks itself, and repeats it until srun has ended: a task may have just begun.
 * 9. If a process of the attempt before was lost, the job avoids that node, unless too few are
 * left.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "base/subprocess.h"
#include "record/run_folder.h"
#include "scheduler/executor.h"
#include "scheduler/process.h"

enum {
    SLURM_JOBS_DEFAULT = 16,
    SLURM_STATE_BYTES = 32,
    SLURM_RANKS_PER_NODE = 8,    /* at most, unless --ranks-per-node says more */
    SLURM_OVER_MIN = 3,          /* consecutive answers after which a job is over */
    SLURM_HURRY = 5,             /* factor of polling while a job is to end */
    SLURM_FAILURES_REPORTED = 2, /* in a row: a single failure is usually transient */
    SLURM_LOG_TAIL_BYTES = 2048
};

static const double slurm_limit_s = 20, slurm_submit_limit_s = 60;

/* A list of texts: arguments of a program, its environment, numbers of jobs. */
struct slurm_words {
    const char **item;
    int32_t n, capacity;
};

/* A line of squeue. */
struct slurm_row {
    int64_t id;
    const char *state, *name, *dir;
};

struct slurm_job {
    struct slurm *cluster;
    struct slurm_job *next;
    int64_t id;
    const char *attempt_dir;       /* absolute; borrowed */
    char state[SLURM_STATE_BYTES]; /* as squeue spells it */
    int32_t over_n;                /* consecutive answers that it is over */
    enum worker_signal requested, accepted;
};

struct slurm {
    struct arena arena;
    struct executor_config config;
    struct slurm_words option;      /* the user's for sbatch: --partition=gpu */
    struct slurm_words environment; /* of Slurm's programs; ended by NULL */
    bool answered;                  /* squeue has answered */
    int64_t tried_us;               /* time of the last query, answered or not */
    struct arena answer;            /* holds the rows, and what is made of them */
    struct {
        struct slurm_row *item;
        int32_t n, capacity;
    } rows;
    struct slurm_job *job; /* those that are watched */
    int32_t failures_n;    /* of service in a row */
};

/* --- options and names ---------------------------------------------------------------------- */

/* Options that would break the rules above. */
static const char *const slurm_ours[] = {"array",     "chdir",    "clusters", "error",    "gid",
                                         "input",     "job-name", "output",   "parsable", "requeue",
                                         "test-only", "uid",      "wait",     "wrap"};

/* Options that follow from the ranks (rule 7). GPUs are gres=gpu or gpus-per-node, because every
 * task then sees those of all ranks of its node, as NCCL expects it. */
static const char *const slurm_ours_of_ranks[] = {
    "distribution",    "gpu-bind",         "gpus",
    "gpus-per-socket", "gpus-per-task",    "nodes",
    "ntasks",          "ntasks-per-core",  "ntasks-per-gpu",
    "ntasks-per-node", "ntasks-per-socket"};

/* Checks one option: name or name=value. */
static int slurm_check_word(const struct slurm *s, const char *word, struct err *e)
{
    size_t n = strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789-");

    if (!islower((unsigned char)word[0]) || (word[n] != '\0' && word[n] != '='))
        return ERR(e, ERR_USAGE,
                   "--slurm %s: not an option of sbatch; give long names, such as partition=gpu",
                   word);
    /* sbatch accepts abbreviated names. */
    for (size_t i = 0; i < sizeof slurm_ours / sizeof *slurm_ours; i++)
        if (strncmp(slurm_ours[i], word, n) == 0)
            return ERR(e, ERR_USAGE, "--slurm %s: alibi sets --%s itself", word, slurm_ours[i]);
    size_t ours_n = sizeof slurm_ours_of_ranks / sizeof *slurm_ours_of_ranks;
    for (size_t i = 0; s->config.ranks_n > 1 && i < ours_n; i++)
        if (strncmp(slurm_ours_of_ranks[i], word, n) == 0)
            return ERR(e, ERR_USAGE,
                       "--slurm %s: with --ranks alibi sets tasks, nodes and their GPUs; give "
                       "--ranks-per-node, and the GPU of one rank as gres=gpu:1",
                       word);
    for (const char *c = word; *c; c++)
        if (iscntrl((unsigned char)*c))
            return ERR(e, ERR_USAGE, "--slurm %.*s: its value holds a control character", (int)n,
                       word);
    return 0;
}

static int slurm_parse_options(struct slurm *s, struct err *e)
{
    char *rest = arena_strdup(&s->arena, s->config.words ? s->config.words : "");

    for (char *word = strsep(&rest, " \t\n"); word; word = strsep(&rest, " \t\n")) {
        word += strspn(word, "-");
        if (!*word) continue;
        TRY(slurm_check_word(s, word, e));
        *vec_push(&s->arena, &s->option) = arena_printf(&s->arena, "--%s", word);
    }
    return 0;
}

/* Returns the ranks of a node. A node has 8 GPUs at most, as a rule. */
static int32_t slurm_ranks_per_node(const struct slurm *s, int32_t ranks_n)
{
    int32_t most = s->config.ranks_per_node > 0 ? s->config.ranks_per_node : SLURM_RANKS_PER_NODE;
    return ranks_n < most ? ranks_n : most;
}

/* Multiplies the GPUs of a node in an option (rule 7). */
static const char *slurm_multiply_gpus(struct arena *a, const char *option, int32_t by)
{
    bool is_gres = strncmp(option, "--gres=", strlen("--gres=")) == 0;
    struct strbuf out;
    const char *sep = "";

    if (by == 1) return option;
    if (!is_gres && strncmp(option, "--gpus-per-node=", strlen("--gpus-per-node=")) != 0)
        return option;
    size_t name_n = strcspn(option, "=") + 1;
    char *rest = arena_strdup(a, option + name_n);
    strbuf_init(&out, a);
    strbuf_add_n(&out, option, name_n);
    for (char *item = strsep(&rest, ","); item; item = strsep(&rest, ","), sep = ",") {
        bool is_gpu = !is_gres || strcspn(item, ":") == strlen("gpu");
        const char *colon = strrchr(item, ':'), *count = colon ? colon + 1 : item;
        int64_t n;
        strbuf_add(&out, sep);
        if (!is_gpu || (is_gres && strncmp(item, "gpu", strlen("gpu")) != 0))
            strbuf_add(&out, item);
        else if (str_to_int(&n, count))
            strbuf_addf(&out, "%.*s%lld", (int)(count - item), item, (long long)n * by);
        else
            strbuf_addf(&out, "%s:%ld", item, (long)by);
    }
    return out.text;
}

/* Returns the name of the job (rule 2). */
static char *slurm_name(struct arena *a, const char *host, const char *dir)
{
    char run_id[SPEC_ID_BYTES] = "";
    int32_t attempt = 0;

    run_folder_parse(dir, run_id, &attempt);
    return arena_printf(a, "alibi-%s-%ld@%s", run_id, (long)attempt, host);
}

/* --- Slurm's programs ----------------------------------------------------------------------- */

/* Variables of a job that the caller runs in, and user settings of squeue and scancel, would change
 * the answers. */
static bool slurm_passes(const char *variable)
{
    static const struct {
        const char *prefix;
        bool passes;
    } rows[] = {{"SLURM_CONF=", true}, {"SLURM_JWT=", true}, {"SLURM_", false},
                {"SQUEUE_", false},    {"SCANCEL_", false},  {"SBATCH_ARRAY", false},
                {"SBATCH_WAIT", false}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strncmp(variable, rows[i].prefix, strlen(rows[i].prefix)) == 0) return rows[i].passes;
    return true;
}

static void slurm_set_environment(struct slurm *s)
{
    extern char **environ;

    for (char **v = environ; *v; v++)
        if (slurm_passes(*v)) *vec_push(&s->arena, &s->environment) = arena_strdup(&s->arena, *v);
    *vec_push(&s->arena, &s->environment) = NULL;
}

/* Runs one of Slurm's programs. *out (may be NULL): its output, in the arena. Errors:
 * ERR_UNAVAILABLE it cannot be started; ERR_TRYLATER it fails or times out. */
static int slurm_run(char **out, const struct slurm *s, struct arena *a, struct slurm_words *argv,
                     double limit_s, struct err *e)
{
    *vec_push(a, argv) = NULL;
    const struct subprocess program = {
        .argv = argv->item, .environment = s->environment.item, .timeout_s = limit_s};
    struct subprocess_end end;

    TRY(subprocess_run(&end, a, &program, e));
    TRY(subprocess_check(&end, &program, ERR_TRYLATER, e));
    if (out) *out = end.output;
    return 0;
}

/* Appends the words of a list that NULL ends. */
static void slurm_add(struct arena *a, struct slurm_words *w, ...)
{
    va_list words;

    va_start(words, w);
    for (const char *word = va_arg(words, const char *); word; word = va_arg(words, const char *))
        *vec_push(a, w) = word;
    va_end(words);
}

/* Cuts off the next word of a line; NULL: there is none. */
static char *slurm_word(char **rest)
{
    char *word = *rest ? strsep(rest, " ") : NULL;
    return word && *word ? word : NULL;
}

/* Names of other jobs may contain spaces; the columns after them are then wrong and unused.
 */
static void slurm_take_answer(struct slurm *s, char *text)
{
    for (char *line = strsep(&text, "\n"); line; line = strsep(&text, "\n")) {
        const char *id = slurm_word(&line), *state = slurm_word(&line), *name = slurm_word(&line);
        struct slurm_row row = {.state = state, .name = name, .dir = line ? line : ""};
        if (id && state && name && str_to_int(&row.id, id)) *vec_push(&s->answer, &s->rows) = row;
    }
}

static bool slurm_is_over(const char *state)
{
    static const char *const over[] = {"BOOT_FAIL", "CANCELLED", "COMPLETED",     "DEADLINE",
                                       "FAILED",    "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED",
                                       "REVOKED",   "TIMEOUT"};

    for (size_t i = 0; i < sizeof over / sizeof *over; i++)
        if (strcmp(state, over[i]) == 0) return true;
    return false;
}

static const struct slurm_row *slurm_row_of(const struct slurm *s, int64_t id)
{
    for (int32_t i = 0; i < s->rows.n; i++)
        if (s->rows.item[i].id == id) return &s->rows.item[i];
    return NULL;
}

static int slurm_query(struct slurm *s, struct err *e)
{
    char *text;
    struct slurm_words argv = {0};

    s->tried_us = clock_monotonic_us();
    arena_fini(&s->answer);
    arena_init(&s->answer);
    memset(&s->rows, 0, sizeof s->rows);
    slurm_add(&s->answer, &argv, "squeue", "--noheader", "--states=all",
              arena_printf(&s->answer, "--user=%lld", (long long)getuid()), "--format=%i %T %j %Z",
              NULL);
    TRY(slurm_run(&text, s, &s->answer, &argv, slurm_limit_s, e));
    s->answered = true;
    slurm_take_answer(s, text);
    for (struct slurm_job *job = s->job; job; job = job->next) {
        const struct slurm_row *row = slurm_row_of(s, job->id);
        if (row) snprintf(job->state, sizeof job->state, "%s", row->state);
        job->over_n = row && !slurm_is_over(row->state) ? 0 : job->over_n + 1;
    }
    return 0;
}

/* True if a row is a job of this project that is not over and whose name begins so. */
static bool slurm_is_ours(const struct slurm *s, const struct slurm_row *row, const char *name)
{
    return !slurm_is_over(row->state) && strcmp(row->dir, s->config.project->root) == 0 &&
           strncmp(row->name, name, strlen(name)) == 0;
}

/* Cancels jobs, or sends SIGTERM to the first process of each, which forwards it. */
static int slurm_scancel(struct slurm *s, bool terminate, const struct slurm_words *id,
                         struct err *e)
{
    struct slurm_words argv = {0};

    if (id->n == 0) return 0;
    slurm_add(&s->answer, &argv, "scancel", "--quiet", NULL);
    if (terminate) slurm_add(&s->answer, &argv, "--batch", "--signal=TERM", NULL);
    for (int32_t i = 0; i < id->n; i++) *vec_push(&s->answer, &argv) = id->item[i];
    s->tried_us = clock_monotonic_us();
    return slurm_run(NULL, s, &s->answer, &argv, slurm_limit_s, e);
}

static const char *slurm_number(struct slurm *s, int64_t id)
{
    return arena_printf(&s->answer, "%lld", (long long)id);
}

/* --- one cluster ---------------------------------------------------------------------------- */

/* Memory and speed depend on the node: no limit here, and estimates assume a core of this machine.
 */
static int slurm_list(struct device *out, int32_t room, int32_t *n, struct err *e)
{
    (void)e;
    *n = room > 0;
    if (room <= 0) return 0;
    *out = (struct device){.name = "slurm",
                           .description = "jobs of a cluster",
                           .memory_bytes = INT64_MAX / 2,
                           .free_bytes = INT64_MAX / 2,
                           .slots = SLURM_JOBS_DEFAULT,
                           .is_counted = true,
                           .is_cluster = true};
    if (!subprocess_find("sbatch"))
        snprintf(out->unusable, sizeof out->unusable,
                 "sbatch not found in PATH (is this a login node?)");
    return 0;
}

static void slurm_close(void *self)
{
    struct slurm *s = self;

    if (!s) return;
    arena_fini(&s->arena);
    arena_fini(&s->answer);
    free(s);
}

static int slurm_open(void **self, const struct executor_config *c, struct err *e)
{
    struct slurm *s = calloc(1, sizeof *s);

    if (!s) return ERR(e, ERR_NOMEM, "out of memory while opening Slurm");
    s->config = *c;
    arena_init(&s->arena);
    arena_init(&s->answer);
    slurm_set_environment(s);
    int rc = slurm_parse_options(s, e);
    if (rc < 0)
        slurm_close(s);
    else
        *self = s;
    return rc;
}

/* Cancels the jobs that no row of results.db has: jobs with a row are watched by now. */
static int slurm_cancel_orphans(void *self, int32_t *n, struct err *e)
{
    struct slurm *s = self;
    struct slurm_words orphan = {0};

    *n = 0;
    if (s->config.in_use && !s->answered) TRY(slurm_query(s, e));
    for (int32_t i = 0; i < s->rows.n; i++) {
        const struct slurm_row *row = &s->rows.item[i];
        const struct slurm_job *job = s->job;
        const char *at = strrchr(row->name, '@');
        while (job && job->id != row->id) job = job->next;
        if (!job && slurm_is_ours(s, row, "alibi-") && at &&
            strcmp(at + 1, s->config.machine->host) == 0)
            *vec_push(&s->answer, &orphan) = slurm_number(s, row->id);
    }
    *n = orphan.n;
    return slurm_scancel(s, false, &orphan, e);
}

/* --- submitting ----------------------------------------------------------------------------- */

/* Writes the batch script. The shell's first wait ends with srun or with a signal, whose trap lasts
 * until srun has ended (rule 8). */
static int slurm_write_script(const struct slurm *s, struct arena *a,
                              const struct worker_command *o, struct err *e)
{
    struct strbuf text;
    const char *job =
        arena_printf(a, "%s slurm-job %s --project %s", str_shell_word(a, s->config.program),
                     str_shell_word(a, o->dir), str_shell_word(a, s->config.project->root));

    strbuf_init(&text, a);
    strbuf_add(&text, "#!/bin/sh\n# One attempt as a job of Slurm; see alibi run --help.\n");
    if (*o->avoid_blas)
        strbuf_addf(&text, "export ALIBI_AVOID_BLAS=%s\n", str_shell_word(a, o->avoid_blas));
    if (o->ranks_n == 1)
        strbuf_addf(&text, "exec %s\n", job);
    else
        strbuf_addf(&text,
                    "srun --kill-on-bad-exit=1 --distribution=block "
                    "${SLURM_CPUS_PER_TASK:+--cpus-per-task=$SLURM_CPUS_PER_TASK} %s &\n"
                    "trap 'while kill -0 $! 2>/dev/null; do "
                    "scancel --quiet --signal=TERM \"$SLURM_JOB_ID\"; sleep 2; done' TERM\n"
                    "wait $! || wait $!\n",
                    job);
    return file_write_atomic(arena_printf(a, "%s/job.sh", o->attempt_dir), text.text,
                             strlen(text.text), e);
}

/* Names the node of the process that the end of the attempt before this one blames; "": it blames
 * none. A node that failed ends all connections long before Slurm notices it. */
static const char *slurm_lost_node(struct arena *a, const char *attempt_dir)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    int32_t attempt = 0;
    struct record r;
    struct err why;

    if (!run_folder_parse(attempt_dir, NULL, &attempt) || attempt < 2) return "";
    const char *before = run_folder_sibling(a, attempt_dir, attempt - 1);
    if (run_folder_find(&r, a, before, EVENT_ENDED, &why) != 1) return "";
    if (!r.ended.code || err_from_name(r.ended.code) != ERR_UNAVAILABLE || !r.ended.node) return "";
    /* A record may come from elsewhere, and a comma would name a second node. */
    return r.ended.node[strspn(r.ended.node, letters)] == '\0' ? r.ended.node : "";
}

/* Submits the job. avoid: a node; "": none. */
static int slurm_submit(char **answer, const struct slurm *s, struct arena *a,
                        const struct worker_command *o, const char *avoid, struct err *e)
{
    static const char exclude[] = "--exclude=";
    struct slurm_words argv = {0};
    int32_t per_node = slurm_ranks_per_node(s, o->ranks_n);
    const char *name = slurm_name(a, s->config.machine->host, o->dir);

    slurm_add(a, &argv, "sbatch", "--parsable", arena_printf(a, "--job-name=%s", name),
              arena_printf(a, "--chdir=%s", s->config.project->root),
              arena_printf(a, "--output=%s/slurm.log", o->dir), "--no-requeue",
              "--signal=B:TERM@120", o->alone ? "--exclusive" : NULL, NULL);
    if (o->ranks_n > 1)
        slurm_add(a, &argv, arena_printf(a, "--nodes=%ld", (long)(o->ranks_n / per_node)),
                  arena_printf(a, "--ntasks=%ld", (long)o->ranks_n),
                  arena_printf(a, "--ntasks-per-node=%ld", (long)per_node), NULL);
    if (*avoid) *vec_push(a, &argv) = arena_printf(a, "%s%s", exclude, avoid);
    for (int32_t i = 0; i < s->option.n; i++) {
        const char *option = slurm_multiply_gpus(a, s->option.item[i], per_node);
        if (*avoid && strncmp(option, exclude, strlen(exclude)) == 0) /* the last one counts */
            option = arena_printf(a, "%s,%s", option, avoid);
        *vec_push(a, &argv) = option;
    }
    *vec_push(a, &argv) = arena_printf(a, "%s/job.sh", o->attempt_dir);
    return slurm_run(answer, s, a, &argv, slurm_submit_limit_s, e);
}

static struct slurm_job *slurm_watch(struct slurm *s, int64_t id, const char *state,
                                     const char *attempt_dir, struct worker_id *out)
{
    struct slurm_job *job = calloc(1, sizeof *job);

    if (!job) abort(); /* a few hundred bytes: see arena.h */
    *job = (struct slurm_job){.cluster = s, .next = s->job, .id = id, .attempt_dir = attempt_dir};
    snprintf(job->state, sizeof job->state, "%s", state);
    s->job = job;
    *out = (struct worker_id){.pid = id}; /* its host comes with its first record */
    snprintf(out->label, sizeof out->label, "job %lld", (long long)id);
    return job;
}

static int slurm_start(void *self, void **worker, struct worker_id *id,
                       const struct worker_command *o, struct err *e)
{
    int rc = 0;
    int64_t number;
    char *text;
    struct arena a;
    struct slurm *s = self;

    arena_init(&a);
    const char *path = arena_printf(&a, "%s/" SLURM_EXIT_FILE, o->attempt_dir);
    const char *avoid = slurm_lost_node(&a, o->attempt_dir);
    TRY_OUT(rc, file_write_atomic(path, "", 0, e));
    TRY_OUT(rc, slurm_write_script(s, &a, o, e));
    rc = slurm_submit(&text, s, &a, o, avoid, e);
    /* Slurm has no code for it: unlike other failures, one about nodes means that nothing was
     * submitted. */
    if (rc < 0 && *avoid && strstr(e->text, " node ")) rc = slurm_submit(&text, s, &a, o, "", e);
    if (rc < 0) goto out;
    text[strcspn(text, ";\n")] = '\0'; /* number;cluster */
    if (!str_to_int(&number, text) || number <= 0) {
        rc = ERR(e, ERR_UNAVAILABLE, "sbatch: expected the number of a job, found '%.80s'", text);
        goto out;
    }
    *worker = slurm_watch(s, number, "PENDING", o->attempt_dir, id);
out:
    arena_fini(&a);
    return rc;
}

/* Without squeue there are no jobs. The host of the job's scheduler may have been renamed. */
static int slurm_recover(void *self, void **worker, struct worker_id *id,
                         const struct store_running *row, const char *attempt_dir, struct err *e)
{
    struct slurm *s = self;

    if (!s->answered) {
        int rc = slurm_query(s, e);
        if (rc == ERR_UNAVAILABLE) return 0;
        if (rc < 0) {
            err_ctx(e, "whether job %lld still runs is unknown", (long long)row->pid);
            return rc;
        }
    }
    const struct slurm_row *found = slurm_row_of(s, row->pid);
    if (!found || !slurm_is_ours(s, found, slurm_name(&s->answer, "", row->dir))) return 0;
    *worker = slurm_watch(s, found->id, found->state, attempt_dir, id);
    return 1;
}

/* --- watching ------------------------------------------------------------------------------- */

static bool slurm_has_started(const struct slurm_job *job)
{
    return strcmp(job->state, "RUNNING") == 0 || strcmp(job->state, "COMPLETING") == 0;
}

static void slurm_signal(void *worker, enum worker_signal signal)
{
    struct slurm_job *job = worker;

    if (signal > job->requested) job->requested = signal;
}

/* True if scancel has not yet accepted the requested signal. */
static bool slurm_is_pending(const struct slurm_job *job)
{
    return job->requested != job->accepted && job->over_n == 0;
}

/* Delivers signals. A started job handles SIGTERM; a waiting one is cancelled. terminate: select
 * those that get SIGTERM, or the others. */
static int slurm_deliver(struct slurm *s, bool terminate, struct err *e)
{
    struct slurm_words id = {0};

    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1) TRY(slurm_scancel(s, terminate, &id, e));
        for (struct slurm_job *job = s->job; job; job = job->next) {
            bool handles = job->requested == WORKER_STOP && slurm_has_started(job);
            if (!slurm_is_pending(job) || handles != terminate) continue;
            if (pass == 0)
                *vec_push(&s->answer, &id) = slurm_number(s, job->id);
            else
                job->accepted = job->requested;
        }
    }
    return 0;
}

/* Queries squeue when due, then delivers signals. Reports the second consecutive failure. */
static int slurm_service(void *self, struct err *e)
{
    struct slurm *s = self;
    bool ending = false, pending = false, well = s->failures_n == 0;

    if (!s->job) return 0;
    for (const struct slurm_job *job = s->job; job; job = job->next) {
        ending = ending || job->requested != WORKER_NO_SIGNAL;
        pending = pending || slurm_is_pending(job);
    }
    int64_t since_us = clock_monotonic_us() - s->tried_us;
    /* Poll faster while waiting for a job that is to end. Back off while squeue fails. */
    double poll_us = 1e6 * s->config.poll_s / (ending && well ? SLURM_HURRY : 1);
    if ((double)since_us < poll_us && !(pending && well)) return 0;
    int rc = slurm_query(s, e);
    if (rc == 0) rc = slurm_deliver(s, true, e);
    if (rc == 0) rc = slurm_deliver(s, false, e);
    s->failures_n = rc < 0 ? s->failures_n + 1 : 0;
    if (s->failures_n != SLURM_FAILURES_REPORTED) return 0;
    return ERR(e, rc, "%s; jobs keep running; will retry squeue every %.3g s",
               arena_strdup(&s->answer, e->text), s->config.poll_s);
}

static void slurm_read_tail(char *out, size_t room, const char *dir, const char *name)
{
    char path[4200];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    file_read_tail(out, room, path);
}

/* Reads how the worker ended, if the node has written it: "exit 0\n" or "signal 9\n". */
static bool slurm_read_exit(const struct slurm_job *job, struct exit_info *end)
{
    char text[32];

    slurm_read_tail(text, sizeof text, job->attempt_dir, SLURM_EXIT_FILE);
    return strchr(text, '\n') && (sscanf(text, "exit %d", &end->exit_code) == 1 ||
                                  sscanf(text, "signal %d", &end->signal) == 1);
}

static enum worker_state slurm_poll(void *worker, bool reported_end, struct exit_info *end)
{
    const struct slurm_job *job = worker;
    char tail[SLURM_LOG_TAIL_BYTES];

    *end = (struct exit_info){.exit_code = -1, .signal = -1};
    bool known = (reported_end || job->over_n > 0) && slurm_read_exit(job, end);
    if (!known && job->over_n < SLURM_OVER_MIN)
        return slurm_has_started(job) ? WORKER_RUNNING : WORKER_QUEUED;
    /* Opening a file revalidates NFS's cache, also for descriptors that are already open. */
    slurm_read_tail(tail, sizeof tail, job->attempt_dir, "events");
    if (known) return WORKER_ENDED;
    slurm_read_tail(tail, sizeof tail, job->attempt_dir, "slurm.log");
    const char *line = str_last_line(tail);
    bool is_over = slurm_is_over(job->state);
    snprintf(end->why, sizeof end->why, "job %lld %s%s%s%.200s", (long long)job->id,
             is_over ? "ended as " : "is not known to Slurm any more", is_over ? job->state : "",
             *line ? ": " : "", line);
    return WORKER_ENDED;
}

static void slurm_release(void *worker)
{
    struct slurm_job *job = worker, **at = &job->cluster->job;

    while (*at != job) at = &(*at)->next;
    *at = job->next;
    free(job);
}

const struct executor executor_slurm = {
    .name = "slurm",
    .outlives = true,
    .option = {"slurm", "WORDS",
               "sbatch options for --devices slurm, such as \"partition=gpu time=24:00:00\""},
    .list = slurm_list,
    .open = slurm_open,
    .close = slurm_close,
    .start = slurm_start,
    .recover = slurm_recover,
    .cancel_orphans = slurm_cancel_orphans,
    .service = slurm_service,
    .poll = slurm_poll,
    .signal = slurm_signal,
    .release = slurm_release,
};
