/* update.c - what ends a batch and an update: the sum of losses, the gradient's norm, NAG, Adam. */
#include "cpu/cpu.h"

#include <math.h>

enum { UPDATE_CHUNK = 65536 };

struct update_work {
    float *theta, *first, *second;
    const float *grad;
    int64_t n;
    double *sums;
    struct simd_nag nag;
    struct simd_adam adam;
    float lr;
};

/* Each chunk's sum is its own, whichever thread takes it: the total's bits do not depend on the
 * number of threads. */
static void update_squares_task(const struct cpu_share *s, void *arguments)
{
    struct update_work *w = arguments;
    for (int64_t chunk = s->begin; chunk < s->end; chunk++) {
        int64_t first = chunk * UPDATE_CHUNK, left = w->n - first;
        int64_t n = left < UPDATE_CHUNK ? left : UPDATE_CHUNK;
        w->sums[chunk] = s->cpu->simd->update->sum_squares(w->grad + first, n);
    }
}

int cpu_sum_squares(struct backend *b, const struct sum_squares_args *a, struct err *e)
{
    struct cpu *c = cpu_of(b);
    struct update_work w = {.grad = a->x_dev, .n = a->n};
    int64_t chunks = (a->n + UPDATE_CHUNK - 1) / UPDATE_CHUNK;
    double total = 0.0;

    TRY(cpu_scratch_reserve_first(c, (size_t)chunks * sizeof(double), e));
    w.sums = c->scratch_own[0].data_own;
    cpu_parallel(c, chunks, 1, update_squares_task, &w);
    for (int64_t i = 0; i < chunks; i++) total += w.sums[i];
    *a->out_dev = total;
    return 0;
}

int cpu_sum_losses(struct backend *b, const struct sum_losses_args *a, struct err *e)
{
    (void)b;
    (void)e;
    const float *x = a->loss.data;
    double sum = 0.0;
    for (int64_t i = 0; i < a->loss.cols; i++) sum += (double)x[i];
    *a->batch_dev = sum;
    *a->total_dev += sum;
    return 0;
}

static double update_norm(const double *squares, const struct step_state *step)
{
    return (double)step->gradient_scale * sqrt(*squares);
}

/* What the gradient is multiplied by: the mean over targets, then clipping by the norm. */
static double update_gradient_factor(const double *squares, const struct step_state *step)
{
    double norm = update_norm(squares, step);
    double clip = 1.0;
    if (step->clip > 0.0f && norm + 1e-6 > (double)step->clip)
        clip = (double)step->clip / (norm + 1e-6);
    return (double)step->gradient_scale * clip;
}

static void update_nag_task(const struct cpu_share *s, void *arguments)
{
    struct update_work *w = arguments;
    struct simd_range elements = {s->begin, s->end};
    s->cpu->simd->update->nag(w->theta, w->first, w->grad, &w->nag, w->lr, elements);
}

int cpu_nag(struct backend *b, const struct nag_args *a, struct err *e)
{
    (void)e;
    if (!isfinite(update_norm(a->squares_dev, a->step_dev))) return 0;
    double lr = a->step_dev->lr, before = a->step_dev->lr_previous, mu = a->mu;
    double ratio = before != 0.0 ? lr / before : lr;
    struct update_work w = {.theta = a->theta_dev, .first = a->momentum_dev, .grad = a->grad_dev};
    w.lr = a->step_dev->lr;
    w.nag = (struct simd_nag){
        .gradient = (float)update_gradient_factor(a->squares_dev, a->step_dev),
        .shrink = (float)(1.0 - lr * (double)a->weight_decay),
        .theta_momentum = (float)(mu * mu * ratio),
        .theta_gradient = (float)((1.0 + mu) * lr),
        .momentum = (float)(mu * ratio),
    };
    cpu_parallel(cpu_of(b), a->n, UPDATE_CHUNK, update_nag_task, &w);
    return 0;
}

static void update_adam_task(const struct cpu_share *s, void *arguments)
{
    struct update_work *w = arguments;
    struct simd_range elements = {s->begin, s->end};
    s->cpu->simd->update->adam(w->theta, w->first, w->second, w->grad, &w->adam, elements);
}

int cpu_adam(struct backend *b, const struct adam_args *a, struct err *e)
{
    (void)e;
    if (!isfinite(update_norm(a->squares_dev, a->step_dev))) return 0;
    double steps = a->step_dev->adam_step, lr = a->step_dev->lr;
    struct update_work w = {
        .theta = a->theta_dev, .first = a->m_dev, .second = a->v_dev, .grad = a->grad_dev};
    w.adam = (struct simd_adam){
        .gradient = (float)update_gradient_factor(a->squares_dev, a->step_dev),
        .shrink = (float)(1.0 - lr * (double)a->weight_decay),
        .beta1 = a->beta1,
        .beta2 = a->beta2,
        .step = (float)(lr / (1.0 - pow((double)a->beta1, steps))),
        .root_scale = (float)(1.0 / sqrt(1.0 - pow((double)a->beta2, steps))),
        .eps = a->eps,
    };
    cpu_parallel(cpu_of(b), a->n, UPDATE_CHUNK, update_adam_task, &w);
    return 0;
}

int cpu_all_reduce(struct backend *b, const struct all_reduce_args *a, struct err *e)
{
    (void)b;
    (void)a;
    (void)e;
    return 0; /* one device: the sum over devices is what it holds */
}
