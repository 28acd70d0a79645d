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
    SLURM_NAME_BYTES = 128,
    SLURM_OVER_MIN = 3,          /* consecutive answers after which a job is over */
    SLURM_HURRY = 5,             /* factor of polling while a job is to end */
    SLURM_FAILURES_REPORTED = 2, /* in a row: a single failure is usually transient */
    SLURM_LOG_TAIL_BYTES = 2048
};

static const char slurm_exit_file[] = "exit"; /* rules 3 and 4 */
static const double slurm_limit_s = 20, slurm_submit_limit_s = 60;

/* A line of squeue. */
struct slurm_row {
    int64_t id;
    const char *state, *name, *dir;
};

enum slurm_request { SLURM_NONE, SLURM_STOP, SLURM_CANCEL };

struct slurm_job {
    struct slurm *cluster;
    struct slurm_job *next;
    int64_t id;
    const char *attempt_dir;       /* absolute; borrowed */
    char state[SLURM_STATE_BYTES]; /* as squeue spells it */
    int64_t since_us;              /* watched since then */
    int32_t over_n;                /* consecutive answers that it is over */
    enum slurm_request requested, accepted;
};

struct slurm {
    struct arena arena;
    const char *root; /* the project's folder */
    const struct machine *machine;
    const char **option; /* the user's for sbatch: --partition=gpu; ended by NULL */
    char **environment;  /* of Slurm's programs; ended by NULL */
    bool in_use;
    int64_t poll_us;     /* between two queries */
    int64_t asked_us;    /* time of the query that the newest answer is for; 0: never */
    int64_t tried_us;    /* time of the last query, answered or not */
    struct arena answer; /* holds the rows */
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

/* One option: name or name=value, with or without leading dashes. */
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

static int slurm_parse_options(const char ***out, struct arena *a, const char *text, struct err *e)
{
    char *rest = arena_strdup(a, text ? text : "");
    int32_t n = 0;

    *out = arena_array(a, strlen(rest) / 2 + 2, sizeof **out);
    for (char *word = strsep(&rest, " \t\n"); word; word = strsep(&rest, " \t\n")) {
        word += strspn(word, "-");
        if (!*word) continue;
        TRY(slurm_check_word(word, e));
        (*out)[n++] = arena_printf(a, "--%s", word);
    }
    return 0;
}

/* The name of the job (rule 2). */
static void slurm_name(char out[SLURM_NAME_BYTES], const char *host, const char *dir)
{
    char run_id[SPEC_ID_BYTES] = "";
    int32_t attempt = 0;

    run_folder_parse(dir, run_id, &attempt);
    snprintf(out, SLURM_NAME_BYTES, "alibi-%s-%ld@%s", run_id, (long)attempt, host);
}

/* --- Slurm's programs ----------------------------------------------------------------------- */

/* Variables of a job that the caller runs in, and user settings of squeue and scancel, would change
 * the answers. */
static bool slurm_passes(const char *variable)
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

static char **slurm_environment(struct arena *a)
{
    size_t n = 0, kept_n = 0;
    extern char **environ;

    while (environ[n]) n++;
    char **out = arena_array(a, n + 1, sizeof *out);
    for (size_t i = 0; i < n; i++)
        if (slurm_passes(environ[i])) out[kept_n++] = arena_strdup(a, environ[i]);
    return out;
}

/* Runs one of Slurm's programs. *out (may be NULL): its output, in the arena. Errors:
 * ERR_UNAVAILABLE it cannot be started; ERR_TRYLATER it fails or times out. */
static int slurm_run(char **out, const struct slurm *s, struct arena *a, const char *const *argv,
                     double limit_s, struct err *e)
{
    const struct subprocess program = {
        .argv = argv, .environment = (const char *const *)s->environment, .timeout_s = limit_s};
    struct subprocess_end end;

    TRY(subprocess_run(&end, a, &program, e));
    TRY(subprocess_check(&end, &program, ERR_TRYLATER, e));
    if (out) *out = end.output;
    return 0;
}

/* The next word of a line, or NULL. */
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

/* A job submitted after the query is not in its answer. */
static void slurm_note_answer(struct slurm *s)
{
    for (struct slurm_job *job = s->job; job; job = job->next) {
        const struct slurm_row *row = slurm_row_of(s, job->id);
        if (row) snprintf(job->state, sizeof job->state, "%s", row->state);
        if (row && !slurm_is_over(row->state))
            job->over_n = 0;
        else if (row || job->since_us < s->asked_us)
            job->over_n++;
    }
}

static int slurm_query(struct slurm *s, struct err *e)
{
    char *text, user[64];
    int64_t now_us = clock_monotonic_us();

    snprintf(user, sizeof user, "--user=%lld", (long long)getuid());
    const char *const argv[] = {"squeue", "--noheader",           "--states=all",
                                user,     "--format=%i %T %j %Z", NULL};
    s->tried_us = now_us;
    arena_fini(&s->answer);
    arena_init(&s->answer);
    memset(&s->rows, 0, sizeof s->rows);
    TRY(slurm_run(&text, s, &s->answer, argv, slurm_limit_s, e));
    s->asked_us = now_us;
    slurm_take_answer(s, text);
    slurm_note_answer(s);
    return 0;
}

/* Whether a row is of a job that executes dir; its scheduler may have had another host name. */
static bool slurm_is_of(const struct slurm *s, const struct slurm_row *row, const char *dir)
{
    char name[SLURM_NAME_BYTES];

    slurm_name(name, "", dir);
    return strcmp(row->dir, s->root) == 0 && strncmp(row->name, name, strlen(name)) == 0;
}

/* Whether a row is of a job that a scheduler of this project on this machine submitted. */
static bool slurm_is_ours(const struct slurm *s, const struct slurm_row *row)
{
    const char *at = strrchr(row->name, '@');

    return strcmp(row->dir, s->root) == 0 && strncmp(row->name, "alibi-", 6) == 0 && at &&
           strcmp(at + 1, s->machine->host) == 0;
}

/* The job of this number in the newest answer, if it executes the attempt and is not over. */
static const struct slurm_row *slurm_find(const struct slurm *s, int64_t id, const char *dir)
{
    const struct slurm_row *row = slurm_row_of(s, id);

    return row && !slurm_is_over(row->state) && slurm_is_of(s, row, dir) ? row : NULL;
}

static int slurm_scancel(struct slurm *s, const char *option, const int64_t *id, int32_t n,
                         struct err *e)
{
    struct arena a;
    int32_t argc = 0;

    if (n == 0) return 0;
    arena_init(&a);
    const char **argv = arena_array(&a, (size_t)n + 8, sizeof *argv);
    argv[argc++] = "scancel";
    argv[argc++] = "--quiet";
    if (option) {
        argv[argc++] = "--batch"; /* the job's first process, which forwards the signal */
        argv[argc++] = option;
    }
    for (int32_t i = 0; i < n; i++) argv[argc++] = arena_printf(&a, "%lld", (long long)id[i]);
    s->tried_us = clock_monotonic_us();
    int rc = slurm_run(NULL, s, &a, argv, slurm_limit_s, e);
    arena_fini(&a);
    return rc;
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
    *s = (struct slurm){.root = c->project->root,
                        .machine = c->machine,
                        .in_use = c->in_use,
                        .poll_us = (int64_t)(c->poll_s * 1e6)};
    arena_init(&s->arena);
    arena_init(&s->answer);
    s->environment = slurm_environment(&s->arena);
    int rc = slurm_parse_options(&s->option, &s->arena, c->words, e);
    if (rc < 0)
        slurm_close(s);
    else
        *self = s;
    return rc;
}

/* Errors: as slurm_scancel. */
static int slurm_cancel_orphans(void *self, int32_t *n, const int64_t *known, int32_t known_n,
                                struct err *e)
{
    struct slurm *s = self;

    *n = 0;
    if (s->in_use && s->asked_us == 0) TRY(slurm_query(s, e));
    int64_t *orphan = arena_array(&s->answer, (size_t)s->rows.n + 1, sizeof *orphan);
    for (int32_t i = 0; i < s->rows.n; i++) {
        const struct slurm_row *row = &s->rows.item[i];
        bool is_known = false;
        for (int32_t k = 0; k < known_n; k++) is_known = is_known || known[k] == row->id;
        if (!is_known && !slurm_is_over(row->state) && slurm_is_ours(s, row))
            orphan[(*n)++] = row->id;
    }
    return slurm_scancel(s, NULL, orphan, *n, e);
}

/* --- submitting ----------------------------------------------------------------------------- */

static int slurm_write_script(struct arena *a, const struct worker_command *o, struct err *e)
{
    bool avoids = o->avoid_blas && *o->avoid_blas;
    const char *text = arena_printf(
        a,
        "#!/bin/sh\n# One attempt as a job of Slurm; see alibi run --help.\n%s%s%s"
        "exec %s slurm-job %s --project %s\n",
        avoids ? "export ALIBI_AVOID_BLAS=" : "", avoids ? str_shell_word(a, o->avoid_blas) : "",
        avoids ? "\n" : "", str_shell_word(a, o->program), str_shell_word(a, o->dir),
        str_shell_word(a, o->root));

    return file_write_atomic(arena_printf(a, "%s/job.sh", o->attempt_dir), text, strlen(text), e);
}

static const char **slurm_arguments(const struct slurm *s, struct arena *a,
                                    const struct worker_command *o)
{
    char name[SLURM_NAME_BYTES];
    int32_t n = 0, words_n = 0;

    while (s->option[words_n]) words_n++;
    const char **argv = arena_array(a, (size_t)words_n + 12, sizeof *argv);
    argv[n++] = "sbatch";
    argv[n++] = "--parsable";
    slurm_name(name, s->machine->host, o->dir);
    argv[n++] = arena_printf(a, "--job-name=%s", name);
    argv[n++] = arena_printf(a, "--chdir=%s", o->root);
    argv[n++] = arena_printf(a, "--output=%s/slurm.log", o->dir);
    argv[n++] = "--no-requeue";
    argv[n++] = "--signal=B:TERM@120";
    if (o->alone) argv[n++] = "--exclusive";
    for (int32_t i = 0; i < words_n; i++) argv[n++] = s->option[i];
    argv[n++] = arena_printf(a, "%s/job.sh", o->attempt_dir);
    return argv;
}

static struct slurm_job *slurm_watch(struct slurm *s, const struct slurm_row *row,
                                     const char *attempt_dir, struct worker_id *id)
{
    struct slurm_job *job = calloc(1, sizeof *job);

    if (!job) abort(); /* a few hundred bytes: see arena.h */
    *job = (struct slurm_job){.cluster = s,
                              .next = s->job,
                              .id = row->id,
                              .attempt_dir = attempt_dir,
                              .since_us = clock_monotonic_us()};
    snprintf(job->state, sizeof job->state, "%s", row->state);
    s->job = job;
    *id = (struct worker_id){.pid = row->id}; /* its host comes with its first record */
    snprintf(id->label, sizeof id->label, "job %lld", (long long)row->id);
    return job;
}

static int slurm_start(void *self, void **job, struct worker_id *id, const struct worker_command *o,
                       struct err *e)
{
    int rc = 0;
    char *text;
    struct arena a;
    struct slurm *s = self;
    struct slurm_row row = {.state = "PENDING"};

    arena_init(&a);
    const char *path = arena_printf(&a, "%s/%s", o->attempt_dir, slurm_exit_file);
    TRY_OUT(rc, file_write_atomic(path, "", 0, e));
    TRY_OUT(rc, slurm_write_script(&a, o, e));
    TRY_OUT(rc, slurm_run(&text, s, &a, slurm_arguments(s, &a, o), slurm_submit_limit_s, e));
    text[strcspn(text, ";\n")] = '\0'; /* number;cluster */
    if (!str_to_int(&row.id, text) || row.id <= 0) {
        rc = ERR(e, ERR_UNAVAILABLE, "sbatch: expected the number of a job, found '%.80s'", text);
        goto out;
    }
    *job = slurm_watch(s, &row, o->attempt_dir, id);
out:
    arena_fini(&a);
    return rc;
}

/* Without squeue there are no jobs. */
static int slurm_recover(void *self, void **job, struct worker_id *id,
                         const struct store_running *row, const char *attempt_dir, struct err *e)
{
    struct slurm *s = self;

    if (s->asked_us == 0) {
        int rc = slurm_query(s, e);
        if (rc == ERR_UNAVAILABLE) return 0;
        if (rc < 0) {
            err_ctx(e, "whether job %lld still runs is unknown", (long long)row->pid);
            return rc;
        }
    }
    const struct slurm_row *found = slurm_find(s, row->pid, row->dir);
    if (!found) return 0;
    *job = slurm_watch(s, found, attempt_dir, id);
    return 1;
}

/* --- watching ------------------------------------------------------------------------------- */

static bool slurm_has_started(const struct slurm_job *job)
{
    return strcmp(job->state, "RUNNING") == 0 || strcmp(job->state, "COMPLETING") == 0;
}

static void slurm_signal(void *job, enum job_signal signal)
{
    struct slurm_job *j = job;
    enum slurm_request request = signal == JOB_STOP ? SLURM_STOP : SLURM_CANCEL;

    if (request > j->requested) j->requested = request;
}

/* Whether a signal is still to be accepted by scancel. */
static bool slurm_is_pending(const struct slurm_job *job)
{
    return job->requested != job->accepted && job->over_n == 0;
}

/* A started job handles SIGTERM; a waiting one is cancelled. */
static bool slurm_takes_signal(const struct slurm_job *job)
{
    return job->requested == SLURM_STOP && slurm_has_started(job);
}

/* takes_signal: select started jobs, or the others. */
static int slurm_deliver(struct slurm *s, bool takes_signal, struct err *e)
{
    int32_t n = 0, pending_n = 0;
    struct arena a;

    for (const struct slurm_job *job = s->job; job; job = job->next) n++;
    arena_init(&a);
    int64_t *id = arena_array(&a, (size_t)n + 1, sizeof *id);
    for (const struct slurm_job *job = s->job; job; job = job->next)
        if (slurm_is_pending(job) && slurm_takes_signal(job) == takes_signal)
            id[pending_n++] = job->id;
    int rc = slurm_scancel(s, takes_signal ? "--signal=TERM" : NULL, id, pending_n, e);
    for (struct slurm_job *job = s->job; job && rc == 0; job = job->next)
        if (slurm_is_pending(job) && slurm_takes_signal(job) == takes_signal)
            job->accepted = job->requested;
    arena_fini(&a);
    return rc;
}

/* Queries squeue when due, then delivers signals. Reports the second consecutive failure. */
static int slurm_service(void *self, struct err *e)
{
    struct slurm *s = self;
    bool ending = false, pending = false, well = s->failures_n == 0;

    if (!s->job) return 0;
    for (const struct slurm_job *job = s->job; job; job = job->next) {
        ending = ending || job->requested != SLURM_NONE;
        pending = pending || slurm_is_pending(job);
    }
    int64_t since_us = clock_monotonic_us() - s->tried_us;
    /* Poll faster while waiting for a job that is to end. Back off while squeue fails. */
    int64_t poll_us = ending && well ? s->poll_us / SLURM_HURRY : s->poll_us;
    if (since_us < poll_us && !(pending && well)) return 0;
    int rc = slurm_query(s, e);
    if (rc == 0) rc = slurm_deliver(s, true, e);
    if (rc == 0) rc = slurm_deliver(s, false, e);
    s->failures_n = rc < 0 ? s->failures_n + 1 : 0;
    if (s->failures_n != SLURM_FAILURES_REPORTED) return 0;
    return ERR(e, rc, "%s; jobs go on, squeue is asked again every %.3g s",
               arena_strdup(&s->answer, e->text), (double)s->poll_us / 1e6);
}

static void slurm_read_tail(char *out, size_t room, const char *dir, const char *name)
{
    char path[4200];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    file_read_tail(out, room, path);
}

/* "exit 0\n" or "signal 9\n", see slurm_node_write. */
static bool slurm_read_exit(const struct slurm_job *job, struct exit_info *end)
{
    char text[32];
    int64_t number;

    slurm_read_tail(text, sizeof text, job->attempt_dir, slurm_exit_file);
    char *newline = strchr(text, '\n'), *space = strchr(text, ' ');
    if (!newline || !space) return false;
    *newline = *space = '\0';
    if (!str_to_int(&number, space + 1)) return false;
    *(strcmp(text, "exit") == 0 ? &end->exit_code : &end->signal) = (int)number;
    return true;
}

static enum job_state slurm_poll(void *job, bool reported_end, struct exit_info *end)
{
    const struct slurm_job *j = job;
    char tail[SLURM_LOG_TAIL_BYTES];

    *end = (struct exit_info){.exit_code = -1, .signal = -1};
    bool known = (reported_end || j->over_n > 0) && slurm_read_exit(j, end);
    if (!known && j->over_n < SLURM_OVER_MIN)
        return slurm_has_started(j) ? JOB_RUNNING : JOB_QUEUED;
    /* Opening a file revalidates NFS's cache, also for descriptors that are already open. */
    slurm_read_tail(tail, sizeof tail, j->attempt_dir, "events");
    if (known) return JOB_ENDED;
    slurm_read_tail(tail, sizeof tail, j->attempt_dir, "slurm.log");
    const char *line = str_last_line(tail);
    bool is_over = slurm_is_over(j->state);
    snprintf(end->why, sizeof end->why, "job %lld %s%s%s%.200s", (long long)j->id,
             is_over ? "ended as " : "is not known to Slurm any more", is_over ? j->state : "",
             *line ? ": " : "", line);
    return JOB_ENDED;
}

static void slurm_release(void *job)
{
    struct slurm_job *j = job;

    for (struct slurm_job **at = &j->cluster->job; *at; at = &(*at)->next) {
        if (*at != j) continue;
        *at = j->next;
        break;
    }
    free(j);
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

/* The first GPU that Slurm assigned, in the arena; "": none. */
static const char *slurm_node_gpu(struct arena *a)
{
    const char *given = getenv("CUDA_VISIBLE_DEVICES");

    if (!given || strcmp(given, "NoDevFiles") == 0) return "";
    return arena_strndup(a, given, strcspn(given, ","));
}

/* Written in place: see rule 4. */
static int slurm_node_write(const char *path, int exit_code, int signal_number, struct err *e)
{
    char text[32];
    int rc = 0;
    int n = snprintf(text, sizeof text, "%s %d\n", exit_code >= 0 ? "exit" : "signal",
                     exit_code >= 0 ? exit_code : signal_number);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

    if (fd < 0) return ERR(e, ERR_CREATE, "%s: %s", path, strerror(errno));
    if (write(fd, text, (size_t)n) != n || fsync(fd) < 0)
        rc = ERR(e, ERR_IO, "%s: %s", path, strerror(errno));
    if (close(fd) < 0 && rc == 0) rc = ERR(e, ERR_IO, "%s: %s", path, strerror(errno));
    return rc;
}

/* Until the worker has ended. */
static struct exit_info slurm_node_attend(void *local, void *job, struct signals *sg)
{
    int heard_n = 0;
    struct exit_info end;

    while (executor_local.poll(job, false, &end) != JOB_ENDED) {
        struct pollfd wait[2] = {{.fd = sg->fd, .events = POLLIN},
                                 {.fd = executor_local.wait_fd(local), .events = POLLIN}};
        bool child = false;
        poll(wait, 2, -1);
        signals_read(sg, clock_monotonic_us(), &child);
        if (sg->stops_n > heard_n) executor_local.signal(job, JOB_STOP);
        heard_n = sg->stops_n;
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
    void *local = NULL, *job = NULL;
    struct machine machine;
    struct worker_id id;
    struct signals signals = {.fd = -1};
    struct arena a;

    arena_init(&a);
    machine_read(&machine);
    const struct executor_config config = {.project = p, .machine = &machine};
    const char *gpu = slurm_node_gpu(&a), *attempt_dir = project_path(p, &a, dir);
    const struct worker_command command = {
        .program = p->program,
        .root = p->root,
        .dir = dir,
        .attempt_dir = attempt_dir,
        .device = *gpu ? "cuda:0" : "cpu",
        .cpu = -1,
        .cuda = *gpu ? 0 : -1,
        .cuda_uuid = gpu,
    };
    TRY_OUT(rc, signals_open(&signals, e));
    if (file_exists(run_folder_path(&a, attempt_dir, RUN_EVENTS))) {
        rc = ERR(e, ERR_USAGE, "%s has already been executed", dir);
        goto out;
    }
    TRY_OUT(rc, executor_local.open(&local, &config, e));
    TRY_OUT(rc, executor_local.start(local, &job, &id, &command, e));
    const struct exit_info end = slurm_node_attend(local, job, &signals);
    const char *path = arena_printf(&a, "%s/%s", attempt_dir, slurm_exit_file);
    TRY_OUT(rc, slurm_node_write(path, end.exit_code, end.signal, e));
    rc = slurm_node_judge(dir, &end, e);
out:
    if (job) executor_local.release(job);
    executor_local.close(local);
    signals_close(&signals);
    arena_fini(&a);
    return rc;
}
