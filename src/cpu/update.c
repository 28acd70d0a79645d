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

int cpu_sum_squares(struct backend *b, double *out_dev, const float *x_dev, int64_t n,
                    struct err *e)
{
    struct cpu *c = cpu_of(b);
    struct update_work w = {.grad = x_dev, .n = n};
    int64_t chunks = (n + UPDATE_CHUNK - 1) / UPDATE_CHUNK;
    double total = 0.0;

    TRY(cpu_scratch_reserve_first(c, (size_t)chunks * sizeof(double), e));
    w.sums = c->scratch_own[0].data_own;
    cpu_parallel(c, chunks, 1, update_squares_task, &w);
    for (int64_t i = 0; i < chunks; i++) total += w.sums[i];
    *out_dev = total;
    return 0;
}

int cpu_sum_losses(struct backend *b, double *sums_dev, const struct tensor *loss, struct err *e)
{
    (void)b;
    (void)e;
    const float *x = loss->data;
    double sum = 0.0;
    for (int64_t i = 0; i < loss->cols; i++) sum += (double)x[i];
    sums_dev[0] = sum;
    sums_dev[1] += sum;
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

int cpu_nag(struct backend *b, float *theta_dev, float *momentum_dev, const float *grad_dev,
            int64_t n, float mu, float weight_decay, const double *squares_dev,
            const struct step_state *step_dev, void *bf16_dev, struct err *e)
{
    (void)e;
    (void)bf16_dev; /* NULL: this backend computes in f32 */
    if (!isfinite(update_norm(squares_dev, step_dev))) return 0;
    double lr = step_dev->lr, before = step_dev->lr_previous;
    double ratio = before != 0.0 ? lr / before : lr;
    struct update_work w = {.theta = theta_dev, .first = momentum_dev, .grad = grad_dev};
    w.lr = step_dev->lr;
    w.nag = (struct simd_nag){
        .gradient = (float)update_gradient_factor(squares_dev, step_dev),
        .shrink = (float)(1.0 - lr * (double)weight_decay),
        .theta_momentum = (float)((double)mu * (double)mu * ratio),
        .theta_gradient = (float)((1.0 + (double)mu) * lr),
        .momentum = (float)((double)mu * ratio),
    };
    cpu_parallel(cpu_of(b), n, UPDATE_CHUNK, update_nag_task, &w);
    return 0;
}

static void update_adam_task(const struct cpu_share *s, void *arguments)
{
    struct update_work *w = arguments;
    struct simd_range elements = {s->begin, s->end};
    s->cpu->simd->update->adam(w->theta, w->first, w->second, w->grad, &w->adam, elements);
}

int cpu_adam(struct backend *b, float *theta_dev, float *m_dev, float *v_dev, const float *grad_dev,
             int64_t n, float beta1, float beta2, float eps, float weight_decay,
             const double *squares_dev, const struct step_state *step_dev, void *bf16_dev,
             struct err *e)
{
    (void)e;
    (void)bf16_dev; /* NULL: this backend computes in f32 */
    if (!isfinite(update_norm(squares_dev, step_dev))) return 0;
    double steps = step_dev->adam_step, lr = step_dev->lr;
    struct update_work w = {.theta = theta_dev, .first = m_dev, .second = v_dev, .grad = grad_dev};
    w.adam = (struct simd_adam){
        .gradient = (float)update_gradient_factor(squares_dev, step_dev),
        .shrink = (float)(1.0 - lr * (double)weight_decay),
        .beta1 = beta1,
        .beta2 = beta2,
        .step = (float)(lr / (1.0 - pow((double)beta1, steps))),
        .root_scale = (float)(1.0 / sqrt(1.0 - pow((double)beta2, steps))),
        .eps = eps,
    };
    cpu_parallel(cpu_of(b), n, UPDATE_CHUNK, update_adam_task, &w);
    return 0;
}

int cpu_all_reduce(struct backend *b, float *x_dev, int64_t n, struct err *e)
{
    (void)b;
    (void)x_dev;
    (void)n;
    (void)e;
    return 0; /* one device: the sum over devices is what it holds */
}
