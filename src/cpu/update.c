/* update.c - the ops at the end of a batch and an update: sum of losses, sum of gradients, gradient
 * norm, NAG, Adam. */
#include "cpu/cpu.h"

#include <math.h>

enum { UPDATE_GRAIN = 65536 };

int cpu_sum_squares(struct backend *b, const struct sum_squares_args *a, struct err *e)
{
    struct cpu *c = cpu_of(b);
    int64_t part = a->part > 0 && a->part < a->n ? a->part : a->n;
    int64_t chunks_most = (part - 1) / SIMD_SQUARES_CHUNK + 1;

    TRY(cpu_scratch_reserve_first(c, (size_t)chunks_most * sizeof(double), e));
    double *out = a->out_dev;
    for (int64_t first = 0; first < a->n; first += part) {
        int64_t left = a->n - first, n = left < part ? left : part;
        int64_t chunks = (n - 1) / SIMD_SQUARES_CHUNK + 1;
        struct simd_squares work = {
            .x = a->x_dev + first, .n = n, .sums = c->scratch_own[0].data_own};
        double total = 0.0;
        cpu_parallel(b, chunks, 1, c->simd->sum_squares, &work);
        for (int64_t i = 0; i < chunks; i++) total += work.sums[i];
        *out++ = total;
    }
    return 0;
}

int cpu_tree_add(struct backend *b, const struct tree_add_args *a, struct err *e)
{
    (void)e;
    cpu_parallel(b, a->n, UPDATE_GRAIN, cpu_of(b)->simd->tree_add, a);
    return 0;
}

int cpu_sum_doubles(struct backend *b, const struct sum_doubles_args *a, struct err *e)
{
    (void)b;
    (void)e;
    double sum = a->x_dev[0];
    for (int64_t i = 1; i < a->n; i++) sum += a->x_dev[i];
    *a->out_dev = sum;
    return 0;
}

int cpu_sum_losses(struct backend *b, const struct sum_losses_args *a, struct err *e)
{
    (void)b;
    (void)e;
    const float *x = a->loss.data;
    double sum = 0.0;
    for (int64_t i = 0; i < a->loss.cols; i++) sum += (double)x[i];
    *a->out_dev = sum;
    return 0;
}

static double update_norm(const double *squares, const struct step_state *step)
{
    return (double)step->gradient_scale * sqrt(*squares);
}

/* The factor of the gradient: mean over targets, then clipping by the norm. */
static double update_gradient_factor(const double *squares, const struct step_state *step)
{
    double norm = update_norm(squares, step);
    double clip = 1.0;
    if (step->clip > 0.0f && norm + 1e-6 > (double)step->clip)
        clip = (double)step->clip / (norm + 1e-6);
    return (double)step->gradient_scale * clip;
}

int cpu_nag(struct backend *b, const struct nag_args *a, struct err *e)
{
    (void)e;
    if (!isfinite(update_norm(a->squares_dev, a->step_dev))) return 0;
    double lr = a->step_dev->lr, before = a->step_dev->lr_previous, mu = a->mu;
    double ratio = before != 0.0 ? lr / before : lr;
    struct simd_nag work = {
        .theta = a->theta_dev,
        .b = a->momentum_dev,
        .grad = a->grad_dev,
        .lr = a->step_dev->lr,
        .gradient = (float)update_gradient_factor(a->squares_dev, a->step_dev),
        .shrink = (float)(1.0 - lr * (double)a->weight_decay),
        .theta_momentum = (float)(mu * mu * ratio),
        .theta_gradient = (float)((1.0 + mu) * lr),
        .momentum = (float)(mu * ratio),
    };
    cpu_parallel(b, a->n, UPDATE_GRAIN, cpu_of(b)->simd->nag, &work);
    return 0;
}

int cpu_adam(struct backend *b, const struct adam_args *a, struct err *e)
{
    (void)e;
    if (!isfinite(update_norm(a->squares_dev, a->step_dev))) return 0;
    double steps = a->step_dev->adam_step, lr = a->step_dev->lr;
    struct simd_adam work = {
        .theta = a->theta_dev,
        .m = a->m_dev,
        .v = a->v_dev,
        .grad = a->grad_dev,
        .gradient = (float)update_gradient_factor(a->squares_dev, a->step_dev),
        .shrink = (float)(1.0 - lr * (double)a->weight_decay),
        .beta1 = a->beta1,
        .beta2 = a->beta2,
        .step = (float)(lr / (1.0 - pow((double)a->beta1, steps))),
        .root_scale = (float)(1.0 / sqrt(1.0 - pow((double)a->beta2, steps))),
        .eps = a->eps,
    };
    cpu_parallel(b, a->n, UPDATE_GRAIN, cpu_of(b)->simd->adam, &work);
    return 0;
}
