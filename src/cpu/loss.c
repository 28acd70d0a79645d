/* loss.c - the softmax ops, rows divided among threads. */
#include "cpu/cpu.h"

enum { LOSS_GRAIN = 8 };

static void softmax_loss_rows(struct cpu *c, const void *args, struct simd_range rows)
{
    const struct softmax_loss_args *a = args;
    c->simd->loss->softmax_loss(a->loss.data, &a->logits, a->target_dev, a->gradient, rows);
}

int cpu_softmax_loss(struct backend *b, const struct softmax_loss_args *a, struct err *e)
{
    (void)e;
    return cpu_rows(b, a->logits.rows, LOSS_GRAIN, softmax_loss_rows, a);
}

static void softmax_logp_rows(struct cpu *c, const void *args, struct simd_range rows)
{
    const struct softmax_logp_args *a = args;
    c->simd->loss->softmax_logp(a->logp.data, &a->logits, a->target_dev, a->accumulate, rows);
}

int cpu_softmax_logp(struct backend *b, const struct softmax_logp_args *a, struct err *e)
{
    (void)e;
    return cpu_rows(b, a->logits.rows, LOSS_GRAIN, softmax_logp_rows, a);
}
