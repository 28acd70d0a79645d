/* attention.c - the attention ops: divides the heads of all rows among threads, and sums the
 * gradients of a learned bias. */
#include "cpu/cpu.h"

#include <string.h>

enum { ATTENTION_WIDTH_MAX = 256 };

struct attention_work {
    const struct attention *a;
    size_t scratch_bytes; /* of the kernel; a thread's sums of bias gradients follow it */
    int want_bias;
};

static int check_width(const char *op, const struct attention *a, struct err *e)
{
    if (a->D >= 2 && a->D <= ATTENTION_WIDTH_MAX && a->D % 2 == 0) return 0;
    return ERR(e, ERR_UNAVAILABLE,
               "op %s: head width %d is not supported on cpu: expected an even width up to %d", op,
               a->D, ATTENTION_WIDTH_MAX);
}

static size_t attention_sums_n(const struct attention *a)
{
    return (size_t)a->H * (size_t)(a->bias.bias_table_n + 1);
}

static void attention_task(const struct cpu_share *s, void *arguments)
{
    struct attention_work *w = arguments;
    struct simd_range items = {s->begin, s->end};
    s->cpu->simd->attention->run(w->a, cpu_scratch_of(s), items);
}

int cpu_attention(struct backend *b, const struct attention *a, struct err *e)
{
    struct cpu *c = cpu_of(b);
    struct attention_work w = {.a = a};
    TRY(check_width("attention", a, e));
    TRY(cpu_scratch_reserve(c, c->simd->attention->scratch_bytes(a), e));
    cpu_parallel(c, (int64_t)a->B * a->H, 1, attention_task, &w);
    return 0;
}

static float *attention_sums(const struct cpu *c, const struct attention_work *w, int32_t thread)
{
    return (float *)(void *)((char *)c->scratch_own[thread].data_own + w->scratch_bytes);
}

static void attention_bwd_task(const struct cpu_share *s, void *arguments)
{
    struct attention_work *w = arguments;
    struct simd_range items = {s->begin, s->end};
    float *near = NULL, *offset = NULL;
    if (w->want_bias) {
        offset = attention_sums(s->cpu, w, s->thread);
        near = offset + w->a->H;
    }
    s->cpu->simd->attention_bwd->run(w->a, near, offset, cpu_scratch_of(s), items);
}

int cpu_attention_bwd(struct backend *b, const struct attention *a, struct err *e)
{
    struct cpu *c = cpu_of(b);
    const struct attention_bias *bias = &a->bias;
    struct attention_work w = {.a = a};
    size_t sums_bytes = attention_sums_n(a) * sizeof(float);

    TRY(check_width("attention_bwd", a, e));
    w.want_bias = bias->bias_table_grad_dev != NULL || bias->tail_offset_grad_dev != NULL;
    w.scratch_bytes = (c->simd->attention_bwd->scratch_bytes(a) + 63) / 64 * 64;
    TRY(cpu_scratch_reserve(c, w.scratch_bytes + sums_bytes, e));
    for (int32_t t = 0; w.want_bias && t < b->threads; t++)
        memset(attention_sums(c, &w, t), 0, sums_bytes);
    cpu_parallel(c, (int64_t)a->B * a->H, 1, attention_bwd_task, &w);
    for (int32_t t = 0; w.want_bias && t < b->threads; t++) {
        const float *offset = attention_sums(c, &w, t), *near = offset + a->H;
        for (int64_t i = 0; bias->bias_table_grad_dev && i < (int64_t)a->H * bias->bias_table_n;
             i++)
            bias->bias_table_grad_dev[i] += near[i];
        for (int64_t h = 0; bias->tail_offset_grad_dev && h < a->H; h++)
            bias->tail_offset_grad_dev[h] += offset[h];
    }
    return 0;
}
