/* queue.c - selection, order and consequences; starts no processes. */
#include "scheduler/queue.h"

#include <stdlib.h>
#include <string.h>

#include "scheduler/slots.h"
#include "shape/shape.h"
#include "spec/code_id.h"

/* Decides whether a run is wanted. follows: the training that it needs is wanted. Retrying a
 * training also retries the runs it blocked; redoing a stale one redoes those that depend on it. */
static bool queue_wants(const struct store_run_state *st, enum spec_kind kind,
                        enum scheduler_pick pick, bool follows)
{
    bool diverged = st->last == STORE_DIVERGED;

    switch (pick) {
    case PICK_MISSING:
        return !st->done && !diverged;
    case PICK_REEVALUATE:
        return kind == SPEC_EVAL || (!st->done && !diverged);
    case PICK_REDO:
        return true;
    case PICK_FAILED:
        return !st->done &&
               (follows || diverged || st->last == STORE_FAILED || st->last == STORE_LOST);
    case PICK_STALE:
        /* A source is not the result of any version of this program. */
        return follows || (st->done && !st->is_source && strcmp(st->code_id, code_id()) != 0);
    }
    return false;
}

static int queue_pick(struct queue *q, int32_t i, struct store *s, enum scheduler_pick pick,
                      struct err *e)
{
    struct store_run_state st;
    struct queue_entry *t = &q->entry[i];
    const struct run *run = &q->run[i];

    TRY(store_run_state(s, run->run_id, &st, e));
    bool follows = run->train >= 0 && q->entry[run->train].state == RUN_WAITING;
    bool wanted = spec_is_defined(&run->spec) && queue_wants(&st, run->spec.kind, pick, follows);
    t->was_done = st.done && !wanted;
    t->fresh =
        wanted && (st.done || pick == PICK_REDO || pick == PICK_STALE || st.last == STORE_DIVERGED);
    if (wanted)
        t->state = RUN_WAITING;
    else if (!st.done && st.last == STORE_DIVERGED && pick != PICK_STALE)
        t->state = RUN_DIVERGED;
    t->replaces = wanted && st.done && pick != PICK_STALE;
    return 0;
}

/* Blocks runs that need a training that is neither done nor wanted. */
static void queue_block_dependent(struct queue *q)
{
    for (int32_t i = 0; i < q->n; i++) {
        int32_t train = q->run[i].train;
        if (q->entry[i].state != RUN_WAITING || train < 0) continue;
        if (q->entry[train].state != RUN_WAITING && !q->entry[train].was_done)
            q->entry[i].state = RUN_BLOCKED;
    }
}

static int queue_rank(const struct run *run)
{
    return run->spec.kind == SPEC_EVAL ? 0 : run->spec.kind == SPEC_TRAIN ? 1 : 2;
}

static int queue_compare(const void *a, const void *b, void *context)
{
    const struct run *run = context;
    int32_t ia = *(const int32_t *)a, ib = *(const int32_t *)b;
    const struct run *x = &run[ia], *y = &run[ib];

    if (queue_rank(x) != queue_rank(y)) return queue_rank(x) - queue_rank(y);
    if (x->flops != y->flops) return x->flops > y->flops ? -1 : 1;
    return ia < ib ? -1 : 1; /* order of the plan: deterministic */
}

int queue_init(struct queue *q, struct arena *a, struct store *s, const struct run *runs, int32_t n,
               const struct scheduler_options *o, struct err *e)
{
    *q = (struct queue){.run = runs,
                        .n = n,
                        .tries = o->tries > 0 ? o->tries : 3,
                        .waits = -1,
                        .ranks_n = o->ranks_n};
    q->entry = arena_array(a, (size_t)n + 1, sizeof *q->entry);
    q->order = arena_array(a, (size_t)n + 1, sizeof *q->order);
    q->pick = arena_array(a, (size_t)n + 1, sizeof *q->pick);
    for (int32_t i = 0; i < n; i++) {
        q->order[i] = i;
        if (runs[i].train >= i)
            return ERR(e, ERR_INTERNAL, "run %s comes before the training it needs",
                       runs[i].run_id);
        TRY(queue_pick(q, i, s, o->pick, e));
    }
    queue_block_dependent(q);
    qsort_r(q->order, (size_t)n, sizeof *q->order, queue_compare, (void *)(uintptr_t)runs);
    return 0;
}

int queue_clear(const struct queue *q, struct store *s, struct err *e)
{
    int rc = 0;

    TRY(store_begin(s, e));
    for (int32_t i = 0; i < q->n; i++) {
        const struct queue_entry *t = &q->entry[i];
        if (t->replaces && (t->state == RUN_WAITING || t->state == RUN_RUNNING))
            TRY_OUT(rc, store_clear_results(s, q->run[i].run_id, e));
    }
out:
    return store_finish(s, rc, e);
}

static bool queue_is_ready(const struct queue *q, int32_t i)
{
    int32_t train = q->run[i].train;
    if (q->entry[i].state != RUN_WAITING) return false;
    return train < 0 || q->entry[train].state == RUN_DONE || q->entry[train].was_done;
}

/* True if one worker can do both: same weights, and only L or stride differ, or they read the same
 * datastore. */
static bool queue_may_share(const struct queue *q, int32_t x, int32_t y)
{
    const struct spec_eval *a = &q->run[x].spec.eval, *b = &q->run[y].spec.eval;

    if (q->run[x].spec.kind != SPEC_EVAL || q->run[y].spec.kind != SPEC_EVAL) return false;
    if (q->entry[x].alone || q->entry[y].alone) return false;
    if (strcmp(a->train_run, b->train_run) != 0 || a->checkpoint != b->checkpoint ||
        a->precision != b->precision || !spec_same_datastore(&a->knn, &b->knn))
        return false;
    return a->knn.neighbours > 0 ||
           (a->split == b->split && a->window == b->window && a->targets == b->targets);
}

/* With a stride of 1 one pass serves every length, and a datastore is made and searched once; other
 * evaluations only share the loading. */
static bool queue_shares_a_pass(const struct run *run)
{
    if (run->spec.eval.knn.neighbours > 0) return true;
    return run->spec.eval.window == SPEC_SLIDING && run->spec.eval.stride == 1;
}

struct slots_need queue_need(const struct queue *q, const struct slots *slots, const int32_t *run,
                             int32_t n)
{
    struct slots_need need = {.executor = -1, .ranks_n = slots_ranks(slots, &q->run[run[0]].spec)};

    for (int32_t i = 0; i < n; i++)
        if (q->run[run[i]].device_bytes > need.bytes) need.bytes = q->run[run[i]].device_bytes;
    /* Fewer ranks than planned: each needs more. */
    if (need.ranks_n < q->ranks_n && q->run[run[0]].spec.kind == SPEC_TRAIN)
        need.bytes = shape_rank_bytes(&q->run[run[0]].spec, need.ranks_n,
                                      shape_find_gpu(slots->device[0].description));
    return need;
}

/* Whether slots for a run are free. */
static bool queue_has_slots(const struct queue *q, const struct slots *slots, int32_t run, int view)
{
    struct slots_need need = queue_need(q, slots, &run, 1);
    need.view = view;
    return slots_find(slots, &need, NULL) > 0;
}

/* Notes the first training that lacks slots, and the evaluations that go before it. Returns whether
 * the others must wait for it: not if it lacks slots of trainings. */
static bool queue_holds_back(struct queue *q, const struct slots *slots)
{
    if (q->waits >= 0 && !queue_is_ready(q, q->waits)) q->waits = -1;
    for (int32_t i = 0; i < q->n && q->waits < 0; i++) {
        int32_t run = q->order[i];
        if (q->run[run].spec.kind != SPEC_TRAIN || !queue_is_ready(q, run)) continue;
        if (queue_has_slots(q, slots, run, SLOTS_NOW)) break;
        q->waits = run;
        for (int32_t k = 0; k < q->n; k++) q->entry[k].precedes = queue_is_ready(q, k);
    }
    return q->waits >= 0 && queue_has_slots(q, slots, q->waits, SLOTS_WITHOUT_EVALUATIONS);
}

static bool queue_may_start(const struct queue *q, int32_t i, bool holds_back)
{
    bool waits = holds_back && q->run[i].spec.kind == SPEC_EVAL && !q->entry[i].precedes;
    return queue_is_ready(q, i) && !waits;
}

static int32_t queue_gather(struct queue *q, int32_t first, bool holds_back,
                            const struct slots *slots)
{
    int32_t n = 0, slots_free = slots_free_n(slots);
    bool others = false;

    for (int32_t i = 0; i < q->n; i++) {
        if (i != first && !queue_may_start(q, i, holds_back)) continue;
        if (i == first || queue_may_share(q, first, i))
            q->pick[n++] = i;
        else if (slots_width(slots, &q->run[i].spec) < slots_free)
            others = true;
    }
    if (!others && slots_free > 1 && n > 1 && !queue_shares_a_pass(&q->run[first]))
        n = (n + slots_free - 1) / slots_free;
    return n;
}

int32_t queue_next(struct queue *q, bool idle, const struct slots *slots)
{
    bool holds_back = queue_holds_back(q, slots);

    for (int32_t i = 0; i < q->n; i++) {
        int32_t run = q->order[i];
        enum spec_kind kind = q->run[run].spec.kind;
        if (!queue_may_start(q, run, holds_back)) continue;
        /* Speed is measured while nothing else runs. */
        if (kind == SPEC_BENCH && !idle) continue;
        if (!queue_has_slots(q, slots, run, SLOTS_NOW)) continue;
        if (kind == SPEC_EVAL) return queue_gather(q, run, holds_back, slots);
        q->pick[0] = run;
        return 1;
    }
    return 0;
}

void queue_start(struct queue *q, const int32_t *run, int32_t n)
{
    for (int32_t i = 0; i < n; i++) q->entry[run[i]].state = RUN_RUNNING;
}

static void queue_block_after(struct queue *q, int32_t train)
{
    for (int32_t i = train + 1; i < q->n; i++)
        if (q->run[i].train == train && q->entry[i].state == RUN_WAITING) queue_block(q, i);
}

void queue_block(struct queue *q, int32_t run)
{
    q->entry[run].state = RUN_BLOCKED;
    queue_block_after(q, run);
}

enum run_state queue_end(struct queue *q, int32_t run, enum store_state state, bool shared)
{
    struct queue_entry *t = &q->entry[run];

    t->tries_n++;
    if (state == STORE_DONE)
        t->state = RUN_DONE;
    else if (state == STORE_DIVERGED)
        t->state = RUN_DIVERGED;
    else if (state == STORE_CANCELLED)
        t->state = RUN_CANCELLED;
    else
        t->state = t->tries_n < q->tries ? RUN_WAITING : RUN_FAILED;
    if (state == STORE_FAILED && shared) t->alone = true;
    /* A later attempt resumes from this one. */
    if (state != STORE_DIVERGED) t->fresh = false;
    if (t->state == RUN_DIVERGED || t->state == RUN_FAILED) queue_block_after(q, run);
    return t->state;
}
