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
 *
 * On its node a job executes one attempt with a worker of the local executor (slurm_node_run).
 * 7. The worker gets the first GPU that Slurm gave the job (CUDA_VISIBLE_DEVICES), else the CPU.
 * 8. SIGTERM - from scancel, or two minutes before the time limit - is passed on to it. */
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
#include "scheduler/scheduler_internal.h"

enum {
    SLURM_JOBS_DEFAULT = 16,
    SLURM_STATE_BYTES = 32,
    SLURM_OVER_MIN = 3,          /* consecutive answers after which a job is over */
    SLURM_HURRY = 5,             /* factor of polling while a job is to end */
    SLURM_FAILURES_REPORTED = 2, /* in a row: a single failure is usually transient */
    SLURM_LOG_TAIL_BYTES = 2048
};

static const char slurm_exit_file[] = "exit"; /* rules 3 and 4 */
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

/* Checks one option: name or name=value. */
static int slurm_check_word(const char *word, struct err *e)
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
        TRY(slurm_check_word(word, e));
        *vec_push(&s->arena, &s->option) = arena_printf(&s->arena, "--%s", word);
    }
    return 0;
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

static int slurm_write_script(const struct slurm *s, struct arena *a,
                              const struct worker_command *o, struct err *e)
{
    bool avoids = *o->avoid_blas != '\0';
    const char *text = arena_printf(
        a,
        "#!/bin/sh\n# One attempt as a job of Slurm; see alibi run --help.\n%s%s%s"
        "exec %s slurm-job %s --project %s\n",
        avoids ? "export ALIBI_AVOID_BLAS=" : "", avoids ? str_shell_word(a, o->avoid_blas) : "",
        avoids ? "\n" : "", str_shell_word(a, s->config.program), str_shell_word(a, o->dir),
        str_shell_word(a, s->config.project->root));

    return file_write_atomic(arena_printf(a, "%s/job.sh", o->attempt_dir), text, strlen(text), e);
}

static struct slurm_words slurm_arguments(const struct slurm *s, struct arena *a,
                                          const struct worker_command *o)
{
    struct slurm_words argv = {0};
    const char *name = slurm_name(a, s->config.machine->host, o->dir);

    slurm_add(a, &argv, "sbatch", "--parsable", arena_printf(a, "--job-name=%s", name),
              arena_printf(a, "--chdir=%s", s->config.project->root),
              arena_printf(a, "--output=%s/slurm.log", o->dir), "--no-requeue",
              "--signal=B:TERM@120", o->alone ? "--exclusive" : NULL, NULL);
    for (int32_t i = 0; i < s->option.n; i++) *vec_push(a, &argv) = s->option.item[i];
    *vec_push(a, &argv) = arena_printf(a, "%s/job.sh", o->attempt_dir);
    return argv;
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
    const char *path = arena_printf(&a, "%s/%s", o->attempt_dir, slurm_exit_file);
    struct slurm_words argv = slurm_arguments(s, &a, o);
    TRY_OUT(rc, file_write_atomic(path, "", 0, e));
    TRY_OUT(rc, slurm_write_script(s, &a, o, e));
    TRY_OUT(rc, slurm_run(&text, s, &a, &argv, slurm_submit_limit_s, e));
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

    slurm_read_tail(text, sizeof text, job->attempt_dir, slurm_exit_file);
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

/* --- on the node --- */

/* Returns the first GPU that Slurm assigned; "": none. */
static const char *slurm_node_gpu(struct arena *a)
{
    const char *given = getenv("CUDA_VISIBLE_DEVICES");

    if (!given || strcmp(given, "NoDevFiles") == 0) return "";
    return arena_strndup(a, given, strcspn(given, ","));
}

/* Writes the file `exit` in place: see rule 4. */
static int slurm_node_write(const char *path, const struct exit_info *end, struct err *e)
{
    int rc = 0, fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

    if (fd < 0) return ERR(e, ERR_CREATE, "%s: %s", path, strerror(errno));
    bool exited = end->exit_code >= 0;
    if (dprintf(fd, exited ? "exit %d\n" : "signal %d\n", exited ? end->exit_code : end->signal) <
            0 ||
        fsync(fd) < 0)
        rc = ERR(e, ERR_IO, "%s: %s", path, strerror(errno));
    if (close(fd) < 0 && rc == 0) rc = ERR(e, ERR_IO, "%s: %s", path, strerror(errno));
    return rc;
}

/* Forwards signals to the worker until it has ended. */
static struct exit_info slurm_node_attend(void *local, void *worker, struct signals *sg)
{
    int stops_seen = 0;
    struct exit_info end;

    while (executor_local.poll(worker, false, &end) != WORKER_ENDED) {
        struct pollfd wait[2] = {{.fd = sg->fd, .events = POLLIN},
                                 {.fd = executor_local.wait_fd(local), .events = POLLIN}};
        bool child = false;
        poll(wait, 2, -1);
        signals_read(sg, clock_monotonic_us(), &child);
        if (sg->stops_n > stops_seen) executor_local.signal(worker, WORKER_STOP);
        stops_seen = sg->stops_n;
        executor_local.service(local, NULL);
    }
    return end;
}

static int slurm_node_judge(const char *dir, const struct exit_info *end, struct err *e)
{
    if (end->exit_code == 0) return 0;
    if (end->exit_code < 0)
        return ERR(e, ERR_INTERNAL, "%s: the worker was killed by signal %d", dir, end->signal);
    return ERR(e, end->exit_code == err_exit_code(ERR_INTERRUPTED) ? ERR_INTERRUPTED : ERR_INTERNAL,
               "%s: the worker ended with exit %d; its log is %s/log", dir, end->exit_code, dir);
}

int slurm_node_run(const struct project *p, const char *dir, struct err *e)
{
    int rc = 0;
    void *local = NULL, *worker = NULL;
    struct machine machine;
    struct worker_id id;
    struct signals signals = {.fd = -1};
    struct arena a;

    arena_init(&a);
    machine_read(&machine);
    const struct executor_config config = {
        .project = p, .machine = &machine, .program = p->program};
    const char *gpu = slurm_node_gpu(&a), *attempt_dir = project_path(p, &a, dir);
    const struct worker_place place = {.device = *gpu ? "cuda:0" : "cpu", .gpu = gpu, .cpu = -1};
    const struct worker_command command = {
        .dir = dir,
        .attempt_dir = attempt_dir,
        .place = &place,
        .places_n = 1,
        .ranks_n = 1,
        .avoid_blas = "",
    };
    TRY_OUT(rc, signals_open(&signals, e));
    if (file_exists(run_folder_path(&a, attempt_dir, RUN_EVENTS))) {
        rc = ERR(e, ERR_USAGE, "%s has already been executed", dir);
        goto out;
    }
    TRY_OUT(rc, executor_local.open(&local, &config, e));
    TRY_OUT(rc, executor_local.start(local, &worker, &id, &command, e));
    const struct exit_info end = slurm_node_attend(local, worker, &signals);
    const char *path = arena_printf(&a, "%s/%s", attempt_dir, slurm_exit_file);
    TRY_OUT(rc, slurm_node_write(path, &end, e));
    rc = slurm_node_judge(dir, &end, e);
out:
    if (worker) executor_local.release(worker);
    executor_local.close(local);
    signals_close(&signals);
    arena_fini(&a);
    return rc;
}
