/* attention.c - the attention ops: divides the heads of all rows among threads, and sums the
 * gradients of a learned bias and of the temperature. */
#include "cpu/cpu.h"

#include <string.h>

static int check_width(const char *op, const struct attention *a, struct err *e)
{
    if (a->D >= 2 && a->D <= ATTENTION_WIDTH_MAX && a->D % 2 == 0) return 0;
    return ERR(e, ERR_UNAVAILABLE,
               "op %s: head width %d is not supported on cpu: expected an even width up to %d", op,
               a->D, ATTENTION_WIDTH_MAX);
}

int cpu_attention(struct backend *b, const struct attention *a, struct err *e)
{
    struct cpu *c = cpu_of(b);
    TRY(check_width("attention", a, e));
    TRY(cpu_scratch_reserve(c, c->simd->attention->scratch_bytes(a), e));
    cpu_parallel(b, (int64_t)a->B * a->H, 1, c->simd->attention->run, a);
    return 0;
}

/* Each thread sums the gradients of its heads behind its kernel's scratch. */
int cpu_attention_bwd(struct backend *b, const struct attention *a, struct err *e)
{
    struct cpu *c = cpu_of(b);
    const struct attention_bias *bias = &a->bias;
    int64_t table_n = (int64_t)a->H * bias->bias_table_n;
    float *head_grad = a->temperature.head_grad_dev;
    size_t sums_bytes = (size_t)(2 * a->H + table_n) * sizeof(float);

    TRY(check_width("attention_bwd", a, e));
    size_t bytes = c->simd->attention_bwd->scratch_bytes(a);
    TRY(cpu_scratch_reserve(c, bytes + sums_bytes, e));
    for (int32_t t = 0; t < b->threads; t++)
        memset((char *)c->scratch_own[t].data_own + bytes, 0, sums_bytes);
    cpu_parallel(b, (int64_t)a->B * a->H, 1, c->simd->attention_bwd->run, a);
    for (int32_t t = 0; t < b->threads; t++) {
        const float *offset = (void *)((char *)c->scratch_own[t].data_own + bytes);
        for (int64_t i = 0; bias->bias_table_grad_dev && i < table_n; i++)
            bias->bias_table_grad_dev[i] += offset[2 * a->H + i];
        for (int64_t h = 0; bias->tail_offset_grad_dev && h < a->H; h++)
            bias->tail_offset_grad_dev[h] += offset[h];
        for (int64_t h = 0; head_grad && h < a->H; h++) head_grad[h] += offset[a->H + h];
    }
    return 0;
}
