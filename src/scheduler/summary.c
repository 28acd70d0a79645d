/* summary.c - counting a queue. */
#include "scheduler/summary.h"

#include <stdio.h>

#include "base/clock.h"

static const char *summary_plural(int32_t n)
{
    return n == 1 ? "" : "s";
}

void summary_fill_result(struct scheduler_result *r, const struct queue *q)
{
    for (int32_t i = 0; i < q->n; i++) {
        const struct task *t = &q->task[i];
        if (t->state == RUN_SKIPPED && !t->was_done) continue; /* not asked for */
        r->wanted++;
        switch (t->state) {
        case RUN_SKIPPED:
            r->already_done++;
            break;
        case RUN_DONE:
            r->done++;
            break;
        case RUN_FAILED:
            r->failed++;
            break;
        case RUN_DIVERGED:
            r->diverged++;
            break;
        case RUN_CANCELLED:
            r->cancelled++;
            break;
        case RUN_WAITING:
        case RUN_RUNNING:
        case RUN_BLOCKED:
            r->not_started++;
            break;
        }
    }
}

void summary_fill_meter(struct meter_state *st, const struct queue *q)
{
    for (int32_t i = 0; i < q->n; i++) {
        const struct task *t = &q->task[i];
        if (t->state == RUN_SKIPPED && !t->was_done) continue;
        st->total_n++;
        if (t->state == RUN_SKIPPED || t->state == RUN_DONE) st->ended_n++;
        st->failed_n += t->state == RUN_FAILED;
        st->diverged_n += t->state == RUN_DIVERGED;
        if (t->state != RUN_WAITING) continue;
        st->flops_left += q->job[i].flops;
        if (q->job[i].flops > st->flops_longest_left) st->flops_longest_left = q->job[i].flops;
    }
}

void summary_say_start(struct progress_line *m, const struct queue *q, int32_t slots_n)
{
    static const char *const names[] = {"training", "evaluation", "measurement"};
    int32_t n[3] = {0}, done_n = 0;
    char counts[160] = "";
    size_t used = 0;

    for (int32_t i = 0; i < q->n; i++) {
        if (q->task[i].state == RUN_WAITING) n[q->job[i].spec.kind]++;
        done_n += q->task[i].was_done;
    }
    for (int k = 0; k < 3; k++)
        if (n[k] > 0)
            used += (size_t)snprintf(counts + used, sizeof counts - used, "%s%ld %s%s",
                                     used ? ", " : "", (long)n[k], names[k], summary_plural(n[k]));
    if (used == 0)
        progress_print(m, true, "%s: nothing to start, %ld run%s done; results are in results.db",
                       m->headline, (long)done_n, done_n == 1 ? " is" : "s are");
    else
        progress_print(
            m, true,
            "%s: %s to do, %ld done before, %ld worker%s; results go to results.db, attempts "
            "to runs/",
            m->headline, counts, (long)done_n, (long)slots_n, summary_plural(slots_n));
}

/* The evaluations that wait in vain for one training. */
static void summary_say_held(struct progress_line *m, const struct queue *q, int32_t train)
{
    int32_t held_n = 0;
    char name[METER_NAME_BYTES];
    enum run_state state = q->task[train].state;

    if (state != RUN_DIVERGED && state != RUN_FAILED && state != RUN_BLOCKED) return;
    for (int32_t i = train + 1; i < q->n; i++)
        held_n += q->job[i].train == train && q->task[i].state == RUN_BLOCKED;
    if (held_n == 0) return;
    meter_name(name, &q->job[train].spec);
    progress_print(m, true, "not started: %ld evaluation%s of %s (run %s), which %s", (long)held_n,
                   summary_plural(held_n), name, q->job[train].run_id,
                   state == RUN_DIVERGED ? "diverged"
                   : state == RUN_FAILED ? "failed"
                                         : "was not started either");
}

void summary_say_end(struct progress_line *m, const struct queue *q,
                     const struct scheduler_result *r)
{
    char took[CLOCK_TEXT_BYTES], rest[160] = "";
    const struct {
        const char *name;
        int32_t n;
    } rows[] = {{"failed", r->failed},
                {"diverged", r->diverged},
                {"cancelled", r->cancelled},
                {"not started", r->not_started}};

    for (int32_t i = 0; i < q->n; i++)
        if (q->job[i].spec.kind == SPEC_TRAIN) summary_say_held(m, q, i);
    size_t used = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].n > 0)
            used += (size_t)snprintf(rest + used, sizeof rest - used, ", %ld %s", (long)rows[i].n,
                                     rows[i].name);
    clock_duration(took, r->seconds);
    progress_print(m, true, "%s: %ld done now, %ld before%s, in %s", m->headline, (long)r->done,
                   (long)r->already_done, rest, took);
}
