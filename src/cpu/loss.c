/* loss.c - the softmax slots, rows divided among threads. */
#include "cpu/cpu.h"

enum { LOSS_GRAIN = 8 };

struct loss_work {
    float *out;
    struct tensor *logits;
    const struct tensor *logits_read;
    const int32_t *target;
    int flag; /* gradient, or accumulate */
};

static void loss_softmax_task(const struct cpu_share *s, void *arguments)
{
    struct loss_work *w = arguments;
    struct simd_range rows = {s->begin, s->end};
    s->cpu->simd->loss->softmax_loss(w->out, w->logits, w->target, w->flag, rows);
}

int cpu_softmax_loss(struct backend *b, struct tensor *loss, struct tensor *logits,
                     const int32_t *target_dev, int gradient, struct err *e)
{
    (void)e;
    struct loss_work w = {
        .out = loss->data, .logits = logits, .target = target_dev, .flag = gradient};
    cpu_parallel(cpu_of(b), logits->rows, LOSS_GRAIN, loss_softmax_task, &w);
    return 0;
}

static void loss_logp_task(const struct cpu_share *s, void *arguments)
{
    struct loss_work *w = arguments;
    struct simd_range rows = {s->begin, s->end};
    s->cpu->simd->loss->softmax_logp(w->out, w->logits_read, w->target, w->flag, rows);
}

int cpu_softmax_logp(struct backend *b, struct tensor *logp, const struct tensor *logits,
                     const int32_t *target_dev, int accumulate, struct err *e)
{
    (void)e;
    struct loss_work w = {
        .out = logp->data, .logits_read = logits, .target = target_dev, .flag = accumulate};
    cpu_parallel(cpu_of(b), logits->rows, LOSS_GRAIN, loss_logp_task, &w);
    return 0;
}
