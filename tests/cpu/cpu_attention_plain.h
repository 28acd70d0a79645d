/* cpu_attention_plain.h - causal attention by plain loops in double precision, the (T,T) matrix and
 * all: what the fused kernels are compared with. */
#ifndef TESTS_CPU_CPU_ATTENTION_PLAIN_H
#define TESTS_CPU_CPU_ATTENTION_PLAIN_H

#include "backend/backend.h"

/* Contiguous results: out, dq, dk, dv (B*T, H*D), lse (B*H, T), near (H, bias_table_n), offset (H).
 * dout of the record is read when dq is not NULL. */
struct plain_attention {
    double *out, *lse, *dq, *dk, *dv, *near_grad, *offset_grad;
};
void plain_attention_run(struct plain_attention *p, const struct attention *a);

#endif
