/* estimate.c - estimates the time and memory of the runs of a plan, and which of them fit into a
 * budget of time. */
#include <math.h>
#include <stdlib.h>

#include "shape/shape.h"
#include "workflow/workflow_internal.h"

bool planning_trains(const struct planning *p, int32_t run)
{
    const struct spec *s = &p->plan.run[run].spec;
    return s->kind == SPEC_TRAIN && !spec_is_source(s) && !p->state[run].done;
}

bool planning_is_too_large(const struct planning *p, int32_t run)
{
    return p->gpu && p->plan.run[run].cost.device_bytes > p->device.memory_bytes;
}

/* --- time and memory ------------------------------------------------------------------------- */

/* Makes the memory of a run that of one of its processes on the device. One that is done may be
 * redone. */
static int find_memory(struct planning *p, struct err *e)
{
    const struct shape_gpu *gpu = shape_find_gpu(p->device.description);
    for (int32_t i = 0; p->ranks_n > 1 && i < p->plan.runs_n; i++) {
        struct plan_run *r = &p->plan.run[i];
        if (r->spec.kind != SPEC_TRAIN || spec_is_source(&r->spec)) continue;
        int rc = shape_check_ranks(r->spec.train.shards, p->ranks_n, e);
        if (rc < 0) return err_ctx(e, "--ranks: run %s", r->run_id), rc;
        r->cost.device_bytes = shape_rank_bytes(&r->spec, p->ranks_n, gpu);
    }
    for (int32_t i = 0; i < p->plan.runs_n; i++) {
        struct shape_cost *c = &p->plan.run[i].cost;
        c->device_bytes += planning_has_gpu(p) ? c->gpu_bytes : c->host_bytes; /* a CPU's is one */
    }
    return 0;
}

double planning_seconds(const struct planning *p, int32_t run, int32_t ranks_n)
{
    const struct plan_run *r = &p->plan.run[run];
    const struct spec_train *t = &r->spec.train;
    double seconds = r->cost.flops / planning_rate(p, &r->spec);

    if (ranks_n == 1 || !planning_trains(p, run)) return seconds;
    double update_flops =
        3.0 * shape_forward_flops(&r->spec, t->L) * (double)r->cost.tokens_per_update;
    return seconds * shape_rank_shards(t->shards, ranks_n) / t->shards +
           r->cost.flops / update_flops *
               shape_exchange_s(&r->spec, ranks_n, shape_find_gpu(p->device.description));
}

int planning_estimate(struct planning *p, struct err *e)
{
    double longest = 0;

    TRY(find_memory(p, e));
    for (int32_t i = 0; i < p->plan.runs_n; i++) {
        if (p->state[i].done || !spec_is_defined(&p->plan.run[i].spec)) continue;
        p->seconds[i] = planning_seconds(p, i, p->ranks_n);
        p->work_s += p->seconds[i] * (planning_trains(p, i) ? p->ranks_n : 1);
        if (p->seconds[i] > longest) longest = p->seconds[i];
    }
    p->seconds_left = fmax(p->work_s / p->device.slots, longest);
    return 0;
}

/* --- a budget of time ------------------------------------------------------------------------ */

/* A training with its evaluations and those that continue it, or a run that waits for none. */
struct piece {
    int32_t run;
    double seconds;
};

static int compare_pieces(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;

    if (x->seconds != y->seconds) return x->seconds < y->seconds ? -1 : 1;
    return x->run - y->run;
}

/* Collects the pieces, the shortest first; one that needs too much memory takes for ever. */
static int32_t collect_pieces(struct piece *out, const struct planning *p, struct arena *a)
{
    struct piece *of_run = arena_array(a, (size_t)p->plan.runs_n + 1, sizeof *of_run);
    int32_t *root = arena_array(a, (size_t)p->plan.runs_n + 1, sizeof *root);
    int32_t n = 0;

    for (int32_t i = 0; i < p->plan.runs_n; i++) {
        const struct plan_run *r = &p->plan.run[i];
        root[i] = r->train >= 0 ? root[r->train] : i;
        struct piece *piece = &of_run[root[i]];
        piece->seconds += planning_is_too_large(p, i) ? (double)INFINITY : p->seconds[i];
    }
    for (int32_t i = 0; i < p->plan.runs_n; i++)
        if (of_run[i].seconds > 0) out[n++] = (struct piece){i, of_run[i].seconds};
    qsort(out, (size_t)n, sizeof *out, compare_pieces);
    return n;
}

/* The slots of a training are one here. The shortest piece goes to the one that is free first; when
 * one does not fit, no later one does.
 */
void planning_fit(struct planning_fit *out, const struct planning *p, double budget_s,
                  struct arena *a)
{
    size_t runs_n = (size_t)p->plan.runs_n + 1;
    struct piece *piece = arena_array(a, runs_n, sizeof *piece);
    int32_t at_once = p->device.slots > p->ranks_n ? p->device.slots / p->ranks_n : 1;
    double *busy_s = arena_array(a, (size_t)at_once, sizeof *busy_s);

    *out = (struct planning_fit){.fits = arena_array(a, runs_n, sizeof *out->fits), .shortest = -1};
    out->pieces_n = collect_pieces(piece, p, a);
    for (int32_t k = 0; k < out->pieces_n; k++) {
        double *slot_s = &busy_s[k % at_once];
        bool fits = out->shortest < 0 && *slot_s + piece[k].seconds <= budget_s;
        if (!isfinite(piece[k].seconds)) break;
        if (!fits && out->shortest < 0) {
            out->shortest = piece[k].run;
            out->shortest_s = piece[k].seconds;
        }
        if (!fits) {
            out->beyond_n++;
            out->beyond_s += piece[k].seconds;
            continue;
        }
        *slot_s += piece[k].seconds;
        out->seconds = fmax(out->seconds, *slot_s);
        out->fits[piece[k].run] = true;
        out->fitting_n++;
    }
    for (int32_t i = 0; i < p->plan.runs_n; i++)
        if (p->plan.run[i].train >= 0) out->fits[i] = out->fits[p->plan.run[i].train];
}
