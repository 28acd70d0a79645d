/* scripted_executor.c - see scripted_executor.h. */
#include "scheduler/scripted_executor.h"

#include <string.h>

#include "record/run_folder.h"

enum outcome { DONE, FAILED, DIVERGED, WAITING, REJECT, LOST, LEFT, ALIVE };

static const char *const outcome_names[] = {"done",   "failed", "diverged", "waiting",
                                            "reject", "lost",   "left",     "alive"};

struct scripted {
    struct arena arena;
    char *rest; /* of the script; NULL: done */
    int64_t pid;
};

struct scripted_job {
    enum outcome outcome;
    bool stopped;
};

static enum outcome next_outcome(struct scripted *s)
{
    const char *word = s->rest ? strsep(&s->rest, " ") : "done";

    for (size_t i = 0; i < sizeof outcome_names / sizeof *outcome_names; i++)
        if (strcmp(word, outcome_names[i]) == 0) return (enum outcome)i;
    return DONE;
}

static int scripted_list(struct device *out, int32_t room, int32_t *n, struct err *e)
{
    if (room < 1) return ERR(e, ERR_INTERNAL, "no room for a device");
    *n = 1;
    *out = (struct device){.name = "scripted",
                           .memory_bytes = 1 << 30,
                           .free_bytes = 1 << 30,
                           .slots = 2,
                           .is_counted = true,
                           .is_cluster = true};
    return 0;
}

static int scripted_open(void **self, const struct executor_config *c, struct err *e)
{
    struct scripted *s = calloc(1, sizeof *s);

    if (!s) return ERR(e, ERR_NOMEM, "no memory");
    arena_init(&s->arena);
    if (c->words && *c->words) s->rest = arena_strdup(&s->arena, c->words);
    *self = s;
    return 0;
}

static void scripted_close(void *self)
{
    struct scripted *s = self;

    if (!s) return;
    arena_fini(&s->arena);
    free(s);
}

static int write_result(struct event_writer *w, const struct spec *spec, struct err *e)
{
    char run_id[SPEC_ID_BYTES];
    struct record r;

    spec_run_id(spec, run_id);
    if (spec->kind == SPEC_TRAIN)
        r = (struct record){.type = EVENT_TRAINED,
                            .trained = {.run_id = run_id,
                                        .updates = 8,
                                        .tokens_per_update = 10,
                                        .final_loss_nats = 3.5,
                                        .last_checkpoint = "last.safetensors",
                                        .last_sha256 = "aa",
                                        .best_checkpoint = "last.safetensors",
                                        .best_sha256 = "aa"}};
    else
        r = (struct record){.type = EVENT_EVALUATED,
                            .evaluated = {.run_id = run_id,
                                          .loss_nats = 3,
                                          .perplexity = 20,
                                          .tokens = 100,
                                          .checkpoint_sha256 = "aa"}};
    return record_write(w, &r, e);
}

/* What a worker of this outcome leaves. */
static int write_records(struct scripted *s, const char *dir, enum outcome outcome, struct err *e)
{
    struct record started = {.type = EVENT_STARTED,
                             .started = {.device = "scripted", .code_id = "c"}};
    struct record ended = {.type = EVENT_ENDED,
                           .ended = {.state = outcome_names[outcome], .message = "as scripted"}};
    struct event_writer *w = NULL;
    struct spec *spec;
    int32_t n;
    int rc = 0;

    if (outcome == WAITING) return 0;
    TRY(run_folder_read_specs(&spec, &n, &s->arena, dir, e));
    TRY(run_folder_append(&w, dir, e));
    TRY_OUT(rc, record_write(w, &started, e));
    for (int32_t i = 0; i < n && outcome == DONE; i++) TRY_OUT(rc, write_result(w, &spec[i], e));
    if (outcome < WAITING) rc = record_write(w, &ended, e);
out:
    event_writer_close(w);
    return rc;
}

static int add_job(void **job, enum outcome outcome, struct err *e)
{
    struct scripted_job *j = calloc(1, sizeof *j);

    if (!j) return ERR(e, ERR_NOMEM, "no memory");
    j->outcome = outcome;
    *job = j;
    return 0;
}

static int scripted_start(void *self, void **job, struct worker_id *id,
                          const struct worker_command *o, struct err *e)
{
    struct scripted *s = self;
    enum outcome outcome = next_outcome(s);

    if (outcome == REJECT) return ERR(e, ERR_TRYLATER, "%s: rejected as scripted", o->dir);
    TRY(write_records(s, o->attempt_dir, outcome, e));
    *id = (struct worker_id){.host = "h", .pid = ++s->pid};
    return add_job(job, outcome, e);
}

static int scripted_recover(void *self, void **job, struct worker_id *id,
                            const struct store_running *row, const char *attempt_dir, struct err *e)
{
    struct scripted *s = self;

    if (next_outcome(s) != ALIVE) return 0;
    TRY(write_records(s, attempt_dir, DONE, e));
    *id = (struct worker_id){.pid = row->pid};
    TRY(add_job(job, DONE, e));
    return 1;
}

static enum job_state scripted_poll(void *job, bool reported_end, struct exit_info *end)
{
    const struct scripted_job *j = job;

    (void)reported_end;
    *end = (struct exit_info){.exit_code = -1, .signal = -1};
    if (j->outcome == WAITING && !j->stopped) return JOB_QUEUED;
    if (j->outcome == LEFT)
        snprintf(end->why, sizeof end->why, "job 1 ended as TIMEOUT");
    else if (j->outcome == LOST || j->stopped)
        end->signal = 9;
    else
        end->exit_code = j->outcome == FAILED;
    return JOB_ENDED;
}

static void scripted_signal(void *job, enum job_signal signal)
{
    (void)signal;
    ((struct scripted_job *)job)->stopped = true;
}

static const struct executor executor_scripted = {
    .name = "scripted",
    .outlives = true,
    .option = {"script", "WORDS", "outcomes"},
    .list = scripted_list,
    .open = scripted_open,
    .close = scripted_close,
    .start = scripted_start,
    .recover = scripted_recover,
    .poll = scripted_poll,
    .signal = scripted_signal,
    .release = free,
};

const struct executor *const scripted_table[] = {&executor_scripted, NULL};
