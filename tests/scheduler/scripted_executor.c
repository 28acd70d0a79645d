/* scripted_executor.c - see scripted_executor.h. */
#include "scheduler/scripted_executor.h"

#include <stdlib.h>
#include <string.h>

#include "scheduler/outcome.h"

struct scripted {
    const char *root;
    int64_t pid;
};

static const struct outcome left = {.name = "left", .records = ""};

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
    s->root = c->project->root;
    *self = s;
    return 0;
}

/* The worker is the outcome it has. */
static int run_worker(void **worker, const struct outcome *o, const char *dir, struct err *e)
{
    struct event_writer *w;

    if (!o) o = &left;
    *worker = (void *)(uintptr_t)o;
    TRY(outcome_begin(&w, dir, e));
    return outcome_end(w, o, dir, e);
}

static int scripted_start(void *self, void **worker, struct worker_id *id,
                          const struct worker_command *o, struct err *e)
{
    struct scripted *s = self;
    char word[OUTCOME_WORD_BYTES];

    TRY(outcome_word(word, s->root, o->attempt_dir, e));
    if (strcmp(word, "reject") == 0)
        return ERR(e, ERR_TRYLATER, "%s: rejected as scripted", o->dir);
    *id = (struct worker_id){.host = "h", .pid = ++s->pid};
    return run_worker(worker, outcome_find(word), o->attempt_dir, e);
}

static int scripted_recover(void *self, void **worker, struct worker_id *id,
                            const struct store_running *row, const char *attempt_dir, struct err *e)
{
    const struct scripted *s = self;
    char word[OUTCOME_WORD_BYTES];

    TRY(outcome_word(word, s->root, attempt_dir, e));
    if (strcmp(word, "alive") != 0) return 0;
    *id = (struct worker_id){.pid = row->pid};
    TRY(run_worker(worker, outcome_find("done"), attempt_dir, e));
    return 1;
}

static enum worker_state scripted_poll(void *worker, bool reported_end, struct exit_info *end)
{
    const struct outcome *o = worker;

    (void)reported_end;
    *end = (struct exit_info){.exit_code = -1, .signal = -1};
    if (o == &left)
        snprintf(end->why, sizeof end->why, "job 1 ended as TIMEOUT");
    else if (o->signal)
        end->signal = o->signal;
    else
        end->exit_code = o->exit_code;
    return WORKER_ENDED;
}

static void scripted_signal(void *worker, enum worker_signal signal)
{
    (void)worker, (void)signal;
}

static void scripted_release(void *worker)
{
    (void)worker;
}

static const struct executor executor_scripted = {
    .name = "scripted",
    .outlives = true,
    .list = scripted_list,
    .open = scripted_open,
    .close = free,
    .start = scripted_start,
    .recover = scripted_recover,
    .poll = scripted_poll,
    .signal = scripted_signal,
    .release = scripted_release,
};

const struct executor *const scripted_table[] = {&executor_scripted, NULL};
