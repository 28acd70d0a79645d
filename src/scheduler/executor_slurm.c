/* slurm.c - what is asked of Slurm and what is made of the answers; slurm_submit.c submits. */
#include "scheduler/slurm.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "scheduler/command.h"

enum {
    SLURM_POLL_S = 10,
    SLURM_OVER_MIN = 3,
    SLURM_HURRY = 5,
    SLURM_FAILURES_SAID = 2,
    SLURM_LOG_TAIL_BYTES = 2048
};

static const double slurm_limit_s = 20;

void slurm_close(struct slurm *s)
{
    arena_fini(&s->arena);
    arena_fini(&s->heard);
}

/* --- squeue --- */

/* The next word of a line, or NULL. */
static char *slurm_word(char **rest)
{
    char *word = *rest ? strsep(rest, " ") : NULL;
    return word && *word ? word : NULL;
}

/* Names of other jobs may hold spaces; the columns after them are then wrong, and of no interest.
 */
static void slurm_take_answer(struct slurm *s, char *text)
{
    int32_t room = 1;

    for (const char *c = text; *c; c++) room += *c == '\n';
    s->row = arena_array(&s->heard, (size_t)room, sizeof *s->row);
    s->rows_n = 0;
    for (char *line = strsep(&text, "\n"); line; line = strsep(&text, "\n")) {
        const char *id = slurm_word(&line), *state = slurm_word(&line), *name = slurm_word(&line);
        struct slurm_row row = {.state = state, .name = name, .dir = line ? line : ""};
        if (id && state && name && str_to_int(&row.id, id)) s->row[s->rows_n++] = row;
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
    for (int32_t i = 0; i < s->rows_n; i++)
        if (s->row[i].id == id) return &s->row[i];
    return NULL;
}

/* A job that was submitted after the question was asked is not in its answer. */
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

int slurm_query(struct slurm *s, struct err *e)
{
    char *text, user[64];
    int64_t now_us = clock_monotonic_us();

    snprintf(user, sizeof user, "--user=%lld", (long long)getuid());
    const char *const argv[] = {"squeue", "--noheader",           "--states=all",
                                user,     "--format=%i %T %j %Z", NULL};
    s->tried_us = now_us;
    s->rows_n = 0;
    arena_fini(&s->heard);
    arena_init(&s->heard);
    TRY(slurm_program_run(&text, &s->heard, argv, slurm_limit_s, e));
    s->asked_us = now_us;
    slurm_take_answer(s, text);
    slurm_note_answer(s);
    return 0;
}

/* Whether a row is of a job that carries out dir, whatever its scheduler's host was called. */
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
           strcmp(at + 1, s->machine.host) == 0;
}

const struct slurm_row *slurm_find(const struct slurm *s, int64_t id, const char *dir)
{
    const struct slurm_row *row = slurm_row_of(s, id);

    return row && !slurm_is_over(row->state) && slurm_is_of(s, row, dir) ? row : NULL;
}

/* --- scancel --- */

static int slurm_scancel(struct slurm *s, const char *const *option, const int64_t *id, int32_t n,
                         struct err *e)
{
    struct arena a;
    int32_t argc = 0;

    if (n == 0) return 0;
    arena_init(&a);
    const char **argv = arena_array(&a, (size_t)n + 8, sizeof *argv);
    argv[argc++] = "scancel";
    argv[argc++] = "--quiet";
    for (; *option; option++) argv[argc++] = *option;
    for (int32_t i = 0; i < n; i++) argv[argc++] = arena_printf(&a, "%lld", (long long)id[i]);
    s->tried_us = clock_monotonic_us();
    int rc = slurm_program_run(NULL, &a, argv, slurm_limit_s, e);
    arena_fini(&a);
    return rc;
}

static const char *const at_once[] = {NULL};

int slurm_cancel_orphans(struct slurm *s, int32_t *n, const int64_t *known, int32_t known_n,
                         struct err *e)
{
    int64_t *stray = arena_array(&s->heard, (size_t)s->rows_n + 1, sizeof *stray);

    *n = 0;
    for (int32_t i = 0; i < s->rows_n; i++) {
        const struct slurm_row *row = &s->row[i];
        bool is_known = false;
        for (int32_t k = 0; k < known_n; k++) is_known = is_known || known[k] == row->id;
        if (!is_known && !slurm_is_over(row->state) && slurm_is_ours(s, row))
            stray[(*n)++] = row->id;
    }
    return slurm_scancel(s, at_once, stray, *n, e);
}

bool slurm_has_started(const struct slurm_job *job)
{
    return strcmp(job->state, "RUNNING") == 0 || strcmp(job->state, "COMPLETING") == 0;
}

void slurm_request(struct slurm_job *job, enum slurm_request wish)
{
    if (wish > job->wish) job->wish = wish;
}

/* A job's wish that scancel has still to hear of. */
static bool slurm_is_owed(const struct slurm_job *job)
{
    return job->wish != job->granted && job->over_n == 0;
}

/* Whether a job is ended by a signal that it can act on: one that has begun, and not at once. */
static bool slurm_is_asked(const struct slurm_job *job)
{
    return job->wish == SLURM_STOP && slurm_has_started(job);
}

/* asked: those that are asked, or the others. Of a job that is asked only the first process gets
 * the signal, and hands it on; one that waits takes none. */
static int slurm_grant(struct slurm *s, bool asked, struct err *e)
{
    static const char *const to_ask[] = {"--batch", "--signal=TERM", NULL};
    int32_t n = 0, owed_n = 0;
    struct arena a;

    for (const struct slurm_job *job = s->job; job; job = job->next) n++;
    arena_init(&a);
    int64_t *id = arena_array(&a, (size_t)n + 1, sizeof *id);
    for (const struct slurm_job *job = s->job; job; job = job->next)
        if (slurm_is_owed(job) && slurm_is_asked(job) == asked) id[owed_n++] = job->id;
    int rc = slurm_scancel(s, asked ? to_ask : at_once, id, owed_n, e);
    for (struct slurm_job *job = s->job; job && rc == 0; job = job->next)
        if (slurm_is_owed(job) && slurm_is_asked(job) == asked) job->granted = job->wish;
    arena_fini(&a);
    return rc;
}

/* --- watching --- */

int slurm_tick(struct slurm *s, struct err *e)
{
    bool wished = false, owed = false, well = s->failures_n == 0;

    if (!s->job) return 0;
    for (const struct slurm_job *job = s->job; job; job = job->next) {
        wished = wished || job->wish != SLURM_NONE;
        owed = owed || slurm_is_owed(job);
    }
    int64_t since_us = clock_monotonic_us() - s->tried_us;
    /* Who waits for an end to come hears of it sooner; Slurm in trouble is left its time. */
    int64_t poll_us = wished && well ? s->poll_us / SLURM_HURRY : s->poll_us;
    if (since_us < poll_us && !(owed && well)) return 0;
    int rc = slurm_query(s, e);
    if (rc == 0) rc = slurm_grant(s, true, e);
    if (rc == 0) rc = slurm_grant(s, false, e);
    s->failures_n = rc < 0 ? s->failures_n + 1 : 0;
    return s->failures_n == SLURM_FAILURES_SAID ? rc : 0;
}

void slurm_watch(struct slurm_job *job, const struct slurm_row *row, const char *attempt_dir)
{
    job->id = row->id;
    job->attempt_dir = attempt_dir;
    job->since_us = clock_monotonic_us();
    snprintf(job->state, sizeof job->state, "%s", row->state);
    job->next = job->cluster->job;
    job->cluster->job = job;
}

void slurm_detach(struct slurm_job *job)
{
    if (job->id == 0) return;
    for (struct slurm_job **at = &job->cluster->job; *at; at = &(*at)->next) {
        if (*at != job) continue;
        *at = job->next;
        break;
    }
    job->id = 0;
}

static void slurm_read_tail(char *out, size_t room, const char *dir, const char *name)
{
    char path[4200];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    file_read_tail(out, room, path);
}

/* "exit 0\n" or "signal 9\n", written by slurm_node_run. */
static bool slurm_read_exit(const struct slurm_job *job, int *exit_code, int *signal_number)
{
    char text[32];
    int64_t number;

    slurm_read_tail(text, sizeof text, job->attempt_dir, SLURM_EXIT_FILE);
    char *end = strchr(text, '\n'), *space = strchr(text, ' ');
    if (!end || !space) return false;
    *end = *space = '\0';
    if (!str_to_int(&number, space + 1)) return false;
    *(strcmp(text, "exit") == 0 ? exit_code : signal_number) = (int)number;
    return true;
}

bool slurm_has_ended(struct slurm_job *job, bool said, int *exit_code, int *signal_number,
                     char *why, size_t room)
{
    char tail[SLURM_LOG_TAIL_BYTES];
    bool known = (said || job->over_n > 0) && slurm_read_exit(job, exit_code, signal_number);

    if (!known && job->over_n < SLURM_OVER_MIN) return false;
    /* To open a file is to ask NFS for what is new in it, also on behalf of who has it open. */
    slurm_read_tail(tail, sizeof tail, job->attempt_dir, "events");
    if (known) return true;
    slurm_read_tail(tail, sizeof tail, job->attempt_dir, "slurm.log");
    const char *line = str_last_line(tail);
    snprintf(why, room, "job %lld %s%s%s%.200s", (long long)job->id,
             slurm_is_over(job->state) ? "ended as " : "is not known to Slurm any more",
             slurm_is_over(job->state) ? job->state : "", *line ? ": " : "", line);
    return true;
}

int slurm_open(struct slurm *s, const struct project *p, const char *words, double poll_s,
               struct err *e)
{
    *s = (struct slurm){.root = p->root};
    machine_read(&s->machine);
    arena_init(&s->arena);
    arena_init(&s->heard);
    s->poll_us = (int64_t)((poll_s > 0 ? poll_s : SLURM_POLL_S) * 1e6);
    return slurm_parse_options(&s->word, &s->arena, words, e);
}
