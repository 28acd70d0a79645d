/* scripted_executor.c - see scripted_executor.h. */
#include "scheduler/scripted_executor.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/str.h"
#include "scheduler/outcome.h"

struct scripted {
    const char *root;
    int64_t pid;
};

struct scripted_worker {
    const struct outcome *outcome;
    int32_t rank;
};

enum { TOYS_N = 6 };

static const struct outcome left = {.name = "left", .records = ""};

static int scripted_list(struct device *out, int32_t room, int32_t *n, struct err *e)
{
    if (room <= TOYS_N) return ERR(e, ERR_INTERNAL, "no room for a device");
    *n = 1 + TOYS_N;
    out[0] = (struct device){.name = "scripted",
                             .memory_bytes = 1 << 30,
                             .free_bytes = 1 << 30,
                             .slots = 2,
                             .is_counted = true,
                             .is_cluster = true};
    for (int32_t i = 0; i < TOYS_N; i++) {
        struct device *d = &out[1 + i];
        *d = (struct device){.memory_bytes = 1 << 20, .free_bytes = 1 << 20, .slots = 1};
        snprintf(d->name, sizeof d->name, "toy:%d", (int)i);
        snprintf(d->model, sizeof d->model, "%s", i < TOYS_N - 1 ? "Toy" : "Toy XL");
    }
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

static int run_worker(void **worker, const char *records, const char *end, const char *dir,
                      struct err *e)
{
    const struct outcome *o = outcome_find(records);
    struct event_writer *writer;
    struct scripted_worker *w = calloc(1, sizeof *w);

    if (!w) return ERR(e, ERR_NOMEM, "no memory");
    *worker = w;
    w->rank = strcmp(records, end) != 0;
    w->outcome = outcome_find(end);
    TRY(outcome_begin(&writer, dir, e));
    return outcome_end(writer, o ? o : &left, dir, e);
}

static int note_start(const struct scripted *s, const struct worker_command *o, struct err *e)
{
    struct arena a;
    struct strbuf line;

    arena_init(&a);
    strbuf_init(&line, &a);
    char *path = arena_printf(&a, "%s/started", s->root), *before = "";
    if (file_exists(path)) TRY(file_read(&a, &before, NULL, path, 1 << 20, e));
    strbuf_addf(&line, "%s%d", before, (int)o->ranks_n);
    for (int32_t i = 0; i < o->devices_n; i++) strbuf_addf(&line, " %s", o->device[i].name);
    strbuf_add(&line, "\n");
    int rc = file_write_atomic(path, line.text, line.n, e);
    arena_fini(&a);
    return rc;
}

static int scripted_start(void *self, void **worker, struct worker_id *id,
                          const struct worker_command *o, struct err *e)
{
    struct scripted *s = self;
    char word[OUTCOME_WORD_BYTES], end[OUTCOME_WORD_BYTES];

    TRY(outcome_word(word, s->root, o->attempt_dir, 0, e));
    TRY(outcome_word(end, s->root, o->attempt_dir, 1, e));
    if (strcmp(word, "reject") == 0)
        return ERR(e, ERR_TRYLATER, "%s: rejected as scripted", o->dir);
    TRY(note_start(s, o, e));
    *id = (struct worker_id){.host = "h", .pid = ++s->pid};
    return run_worker(worker, word, end, o->attempt_dir, e);
}

static int scripted_recover(void *self, void **worker, struct worker_id *id,
                            const struct store_running *row, const char *attempt_dir, struct err *e)
{
    const struct scripted *s = self;
    char word[OUTCOME_WORD_BYTES];

    TRY(outcome_word(word, s->root, attempt_dir, 0, e));
    if (strcmp(word, "alive") != 0) return 0;
    *id = (struct worker_id){.pid = row->pid};
    TRY(run_worker(worker, "done", "done", attempt_dir, e));
    return 1;
}

static enum worker_state scripted_poll(void *worker, bool reported_end, struct exit_info *end)
{
    const struct scripted_worker *w = worker;
    const struct outcome *o = w->outcome;

    (void)reported_end;
    *end = (struct exit_info){.exit_code = -1, .signal = -1, .rank = w->rank};
    if (!o)
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
    .release = free,
};

const struct executor *const scripted_table[] = {&executor_scripted, NULL};
