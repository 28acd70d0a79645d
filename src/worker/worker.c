/* worker.c - carries out an attempt, from its folder to its outcome, and what all kinds of runs
 * share: records, requests to stop, the backend's choices, the corpus. */
#include "worker/worker.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "backend/backend.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "data/corpus.h"
#include "shape/shape.h"
#include "spec/code_id.h"
#include "worker/bench.h"
#include "worker/checkpoints.h"
#include "worker/evaluate.h"
#include "worker/state.h"
#include "worker/train.h"

enum { WORKER_PROGRESS_US = 1000000, WORKER_LOOK_US = 2000000 };
/* The stall is shorter than that of the scheduler, so that the silent rank is named. */
static const double worker_meet_s = 120.0, worker_stall_s = 240.0;

static void stop_signals(sigset_t *out)
{
    sigemptyset(out);
    sigaddset(out, SIGTERM);
    sigaddset(out, SIGINT);
}

/* --- records and requests ------------------------------------------------------------------- */

static int progress_record(struct worker *a, struct err *e)
{
    const struct record r = {.type = EVENT_PROGRESS, .progress = a->progress};
    int64_t now = clock_monotonic_us();

    if (a->progress_us != 0 && now - a->progress_us < WORKER_PROGRESS_US) return 0;
    a->progress_us = now;
    return record_write(a->events, &r, e);
}

int worker_progress(struct worker *a, int64_t done, int64_t total, double loss_nats, double wps,
                    struct err *e)
{
    a->progress = (struct record_progress){
        .done = (double)done, .total = (double)total, .loss_nats = loss_nats, .wps = wps};
    return progress_record(a, e);
}

bool worker_stop_requested(struct worker *a)
{
    sigset_t signals;
    const struct timespec now = {0};
    struct err ignored; /* without rank 0 this one ends, too */

    stop_signals(&signals);
    while (sigtimedwait(&signals, NULL, &now) > 0) {
        a->stopped = true;
        (void)group_request_stop(a->group, &ignored);
    }
    return a->stopped || group_stop_requested(a->group);
}

int worker_check_stop(struct worker *a, struct err *e)
{
    if (!worker_stop_requested(a)) return 0;
    return ERR(e, ERR_INTERRUPTED, "stopped while %s",
               a->spec[0].kind == SPEC_BENCH ? "measuring; rerun the command to start over"
                                             : "evaluating; rerun the command to evaluate again");
}

/* Is called before each op. A pass without a record for long would look like a worker that hangs:
 * repeats the last progress. A training obeys a stop after its update. */
static int worker_tick(void *context, struct err *e)
{
    struct worker *a = context;
    int64_t now = clock_monotonic_us();

    if (now - a->looked_us < WORKER_LOOK_US) return 0;
    a->looked_us = now;
    if (a->spec[0].kind != SPEC_TRAIN) TRY(worker_check_stop(a, e));
    return progress_record(a, e);
}

/* --- the backend ---------------------------------------------------------------------------- */

const char *worker_choices(const struct worker *a, struct arena *arena)
{
    struct backend *b = a->backend;

    if (!b || !b->ops->choices) return NULL;
    size_t bytes = b->ops->choices(b, NULL, 0) + 1;
    char *text = arena_array(arena, bytes, 1);
    b->ops->choices(b, text, bytes);
    return *text ? text : NULL;
}

int worker_share_choices(struct worker *a, const char **choices, struct err *e)
{
    size_t n = worker_writes(a) && *choices ? strlen(*choices) : 0;

    TRY(group_share(a->group, &n, sizeof n, e));
    char *text = arena_array(&a->arena, n + 1, 1);
    if (worker_writes(a) && n > 0) memcpy(text, *choices, n);
    TRY(group_share(a->group, text, n, e));
    text[n] = '\0';
    *choices = text;
    return 0;
}

void worker_restore_choices(struct worker *a, const char *choices)
{
    struct err why = {0};

    if (!choices || !*choices || !a->backend->ops->restore_choices) return;
    a->has_choices = a->backend->ops->restore_choices(a->backend, choices, &why) == 0;
    if (!a->has_choices)
        log_warn("%s: the last digits may differ from an uninterrupted run", why.text);
}

/* --- the corpus ----------------------------------------------------------------------------- */

static int corpus_check(const struct corpus *c, const struct spec_data *d, struct err *e)
{
    const int64_t expected[CORPUS_SPLITS_N] = {d->train_tokens, d->valid_tokens, d->test_tokens};

    /* Texts that cannot be shipped have no fingerprint in the spec; then only their counts are
     * compared. */
    if (*d->fingerprint && strcmp(c->fingerprint, d->fingerprint) != 0)
        return ERR(e, ERR_DATA,
                   "data/%s has fingerprint %.64s, but the run was planned for %.64s; prepare the "
                   "same text again, or rerun `alibi plan` for this one",
                   d->corpus, c->fingerprint, d->fingerprint);
    /* A model may have more rows than its tokenizer has ids. */
    if (*c->tokenizer_sha256 ? c->vocab > d->vocab : c->vocab != d->vocab)
        return ERR(e, ERR_DATA, "data/%s has a vocabulary of %d, but the run was planned for %d",
                   d->corpus, c->vocab, d->vocab);
    for (int i = 0; i < CORPUS_SPLITS_N; i++)
        if (c->split[i].n != expected[i])
            return ERR(
                e, ERR_DATA, "data/%s has %" PRId64 " %s tokens, the run was planned for %" PRId64,
                d->corpus, c->split[i].n, corpus_split_name((enum corpus_split)i), expected[i]);
    return 0;
}

int corpus_open_for(struct corpus *c, const struct project *p, const struct spec *s, struct err *e)
{
    TRY(corpus_open(c, p, s->data.corpus, e));
    int rc = corpus_check(c, &s->data, e);
    if (rc < 0) corpus_close(c);
    return rc;
}

/* --- the attempt ---------------------------------------------------------------------------- */

/* Opens the attempt's folder, reads its specs, and blocks SIGTERM and SIGINT. worker_close is
 * called also after an error. */
static int worker_open(struct worker *a, const struct project *p, const struct worker_options *o,
                       struct err *e)
{
    sigset_t signals;
    char path[PATH_MAX];

    *a = (struct worker){.project = p,
                         .options = o,
                         .started_us = clock_monotonic_us(),
                         .progress = {.total = 1.0, .loss_nats = (double)NAN, .wps = (double)NAN}};
    a->looked_us = a->started_us;
    arena_init(&a->arena);
    stop_signals(&signals);
    pthread_sigmask(SIG_BLOCK, &signals, &a->mask_before);
    if (!realpath(o->dir, path)) return ERR(e, ERR_NOINPUT, "%s: %s", o->dir, strerror(errno));
    a->dir = arena_strdup(&a->arena, path);
    run_folder_parse(path, NULL, &a->number);
    TRY(o->rank == 0 ? run_folder_append(&a->events, a->dir, e)
                     : event_writer_open(&a->events, NULL, e));
    TRY(run_folder_read_specs(&a->spec, &a->specs_n, &a->arena, a->dir, e));
    a->run_id = arena_array(&a->arena, (size_t)a->specs_n, sizeof *a->run_id);
    for (int32_t i = 0; i < a->specs_n; i++) spec_run_id(&a->spec[i], a->run_id[i]);
    return 0;
}

static void worker_close(struct worker *a)
{
    /* A late signal must not kill a process whose result is recorded. */
    worker_stop_requested(a);
    backend_close(a->backend);
    event_writer_close(a->events);
    pthread_sigmask(SIG_SETMASK, &a->mask_before, NULL);
    arena_fini(&a->arena);
}

int worker_peak_bytes(const struct worker *a, int64_t *out, struct err *e)
{
    int64_t peak[GROUP_RANKS_MAX];
    size_t end[GROUP_RANKS_MAX];
    int32_t ranks_n = group_ranks_n(a->group), rank = group_rank(a->group);

    TRY(a->backend->ops->peak_bytes(a->backend, &peak[rank], e));
    peak[rank] -= a->in_use_bytes;
    for (int32_t r = 0; r < ranks_n; r++) end[r] = (size_t)(r + 1) * sizeof *peak;
    TRY(group_gather(a->group, peak, end, e));
    *out = peak[0];
    for (int32_t r = 1; r < ranks_n; r++)
        if (peak[r] > *out) *out = peak[r];
    return 0;
}

/* --- the ranks ------------------------------------------------------------------------------ */

static int ranks_check(const struct worker *a, struct err *e)
{
    const struct worker_options *o = a->options;

    if (o->ranks_n < 0 || o->ranks_n > GROUP_RANKS_MAX || o->rank < 0 ||
        o->rank >= (o->ranks_n > 0 ? o->ranks_n : 1))
        return ERR(e, ERR_USAGE, "rank %d of %d: expected a rank below a number of at most %d",
                   o->rank, o->ranks_n, GROUP_RANKS_MAX);
    if (o->ranks_n < 2) return 0;
    if (a->spec[0].kind != SPEC_TRAIN)
        return ERR(e, ERR_USAGE, "%d ranks: only a training has several, this is %s", o->ranks_n,
                   a->spec[0].kind == SPEC_EVAL ? "an evaluation" : "a benchmark");
    if (!o->meet)
        return ERR(e, ERR_USAGE, "--ranks %d needs --meet FILE, in which the ranks find each other",
                   o->ranks_n);
    if (o->rank == 0 && file_exists(o->meet))
        return ERR(e, ERR_CREATE, "%s exists already: another attempt is meeting, or was cut off",
                   o->meet);
    return shape_check_ranks(a->spec[0].train.shards, o->ranks_n, e);
}

/* Records how the attempt ended. choices: as worker_choices. An error that blames no rank is that
 * of rank 0, which writes. */
static int worker_end(struct worker *a, int outcome, const struct err *why, const char *choices,
                      struct err *e)
{
    bool is_lost = outcome == ERR_UNAVAILABLE && a->has_met;
    bool is_own = outcome < 0 && why->cause == ERR_CAUSE_OWN && why->rank < 0;
    const struct record r = {.type = EVENT_ENDED,
                             .ended = {.state = outcome == 0                 ? "done"
                                                : outcome == ERR_NUMBER      ? "diverged"
                                                : outcome == ERR_INTERRUPTED ? "cancelled"
                                                : is_lost                    ? "lost"
                                                                             : "failed",
                                       .code = err_name(outcome),
                                       .message = outcome < 0 ? why->text : "",
                                       .choices = choices,
                                       .cause = outcome < 0 ? err_cause_name(why->cause) : NULL,
                                       .rank = is_own                          ? 0
                                               : outcome < 0 && why->rank >= 0 ? why->rank
                                                                               : RECORD_NONE,
                                       .node = outcome < 0 && *why->node ? why->node : NULL}};

    TRY(record_write(a->events, &r, e));
    return event_sync(a->events, e);
}

/* Is called by the thread that watches the other ranks, before it ends this process. */
static void worker_lost(void *context, const struct err *why)
{
    struct err unrecorded = {0};

    log_error(why);
    if (worker_end(context, why->code, why, NULL, &unrecorded) < 0) log_error(&unrecorded);
}

/* Meets the other ranks. */
static int ranks_join(struct worker *a, const char *host, struct err *e)
{
    const struct worker_options *o = a->options;
    struct backend *b = a->backend;
    const char *node = o->host ? o->host : host;

    if (o->ranks_n < 2) return 0;
    if (!b->ops->group_join)
        return ERR(e, ERR_UNAVAILABLE, "%s cannot share a training with other processes", b->name);
    const struct group_options options = {
        .rank = o->rank,
        .ranks_n = o->ranks_n,
        .meet = o->meet,
        .host = o->host,
        .label = arena_printf(&a->arena, "%s, %s", node, b->name),
        .node = node,
        .identity = arena_printf(
            &a->arena, "run: %s\ncode: %s\ndevice: %s\nlibrary: %s\nprecision: %s\n", a->run_id[0],
            code_id(), b->device, b->blas, b->precision == DTYPE_BF16 ? "bf16" : "fp32"),
        .meet_s = o->meet_s > 0.0 ? o->meet_s : worker_meet_s,
        .stall_s = o->stall_s > 0.0 ? o->stall_s : worker_stall_s,
        .lost = worker_lost,
        .context = a};
    a->has_met = true;
    TRY(group_open(&a->group, &options, e));
    TRY(b->ops->group_join(b, a->group, e));
    int32_t node_ranks = group_node_ranks(a->group);
    if (*b->transport) log_info("%d ranks exchange by %s", o->ranks_n, b->transport);
    if (node_ranks > 1 && node_ranks < o->ranks_n)
        log_info("the %d ranks of a node exchange first, then one of each node", node_ranks);
    if (node_ranks == 0)
        log_warn("all ranks exchange at once, which is slow between nodes: their hosts have ranks "
                 "that are not consecutive, or numbers of ranks that differ");
    if (*b->transport_warning) log_warn("this is slow: %s", b->transport_warning);
    return 0;
}

/* Ends the group. Errors that all ranks have alike are an end that they reach together; any other
 * one is the first cause on the others. Then the backend stays open: to close it may wait for a
 * lost rank. */
static int ranks_leave(struct worker *a, int rc, struct err *e)
{
    struct err late = {0};

    if (!a->group) return rc;
    bool together = rc == 0 || rc == ERR_NUMBER || rc == ERR_INTERRUPTED;
    if (together) backend_close(a->backend);
    a->backend = NULL;
    int ended = group_close(a->group, together ? 0 : rc, together ? &late : e);
    a->group = NULL;
    if (!together || ended >= 0) return rc;
    *e = late;
    return ended;
}

/* --- from start to end ---------------------------------------------------------------------- */

/* Opens the backend in the precision of the first spec. */
static int worker_start(struct worker *a, struct err *e)
{
    const struct worker_options *o = a->options;
    struct utsname host;
    bool bf16 = spec_precision(&a->spec[0], NULL) == SPEC_BF16;

    TRY(ranks_check(a, e));
    TRY(spec_check_device(&a->spec[0], o->device, e));
    TRY(backend_open(&a->backend, o->device, o->threads, bf16 ? DTYPE_BF16 : DTYPE_F32, e));
    if (strstr(a->backend->name, "cuda"))
        TRY(a->backend->ops->peak_bytes(a->backend, &a->in_use_bytes, e));
    if (uname(&host) < 0) return ERR(e, ERR_INTERNAL, "uname: %s", strerror(errno));
    TRY(ranks_join(a, host.nodename, e));
    worker_restore_choices(a, o->choices);
    a->backend->tick = worker_tick;
    a->backend->tick_context = a;
    const struct record r = {
        .type = EVENT_STARTED,
        .started = {.pid = getpid(),
                    .threads = a->backend->threads,
                    .ranks = o->ranks_n > 0 ? o->ranks_n : 1,
                    .host = host.nodename,
                    .device = a->backend->device,
                    .backend = a->backend->name,
                    .blas = a->backend->blas,
                    .code_id = code_id(),
                    .program = a->project->program ? a->project->program : "",
                    .memory_in_use_bytes = a->in_use_bytes > 0 ? a->in_use_bytes : RECORD_NONE}};
    return record_write(a->events, &r, e);
}

static int worker_work(struct worker *a, struct checkpoints *kept, struct err *e)
{
    TRY(worker_start(a, e));
    switch (a->spec[0].kind) {
    case SPEC_TRAIN:
        return train_run(a, kept, e);
    case SPEC_EVAL:
        return evaluate_run(a, e);
    case SPEC_BENCH:
        return bench_run(a, e);
    }
    return ERR(e, ERR_DATA, "%s: unknown kind %d of spec", a->dir, (int)a->spec[0].kind);
}

int worker_run(const struct project *p, const struct worker_options *o, struct err *e)
{
    struct worker a;
    struct checkpoints kept = {.worker = &a};
    struct err unrecorded = {0}, mine = {0};

    if (!e) e = &mine; /* the end's record contains the message */
    int rc = worker_open(&a, p, o, e);
    if (rc == 0) rc = worker_work(&a, &kept, e);
    const char *choices = worker_choices(&a, &a.arena);
    rc = ranks_leave(&a, rc, e);
    if (a.events) {
        int ended = worker_end(&a, rc, e, choices, &unrecorded);
        /* Fails if the outcome could not be recorded; reports the first error. */
        if (rc == 0 && ended < 0) rc = ERR(e, ended, "%s", unrecorded.text);
    }
    if (rc == 0 && o->rank == 0) checkpoints_finish(&kept);
    worker_close(&a);
    return rc;
}
