/* rows.c - the ops that are one kernel on rows. Threads get contiguous rows (scatter_rows: columns,
 * so that rows with the same index are added in order). */
#include "cpu/cpu.h"

#include <string.h>

#include "backend/ops_table.h"

enum { ROWS_GRAIN = 8, COLS_GRAIN = 16 };

#define ON_ROWS(NAME, name, args)                                                                  \
    int cpu_##name(struct backend *b, const struct args *a, struct err *e)                         \
    {                                                                                              \
        (void)e;                                                                                   \
        cpu_parallel(b, op_rows_n(OP_##NAME, a), ROWS_GRAIN, cpu_of(b)->simd->name, a);            \
        return 0;                                                                                  \
    }
BACKEND_ROW_OPS(ON_ROWS)
ON_ROWS(ROTARY, rotary, rotary_args)
ON_ROWS(LAYERNORM, layernorm, layernorm_args)
ON_ROWS(RESIDUAL_LAYERNORM, residual_layernorm, residual_layernorm_args)

int cpu_scatter_rows(struct backend *b, const struct scatter_rows_args *a, struct err *e)
{
    (void)e;
    cpu_parallel(b, a->y.cols, COLS_GRAIN, cpu_of(b)->simd->scatter_rows, a);
    return 0;
}

/* Each thread sums its rows' shares of dgain and dbias in its own scratch. */
int cpu_layernorm_bwd(struct backend *b, const struct layernorm_bwd_args *a, struct err *e)
{
    struct cpu *c = cpu_of(b);
    size_t bytes = 2 * (size_t)a->dx.cols * sizeof(float);

    TRY(cpu_scratch_reserve(c, bytes, e));
    for (int32_t t = 0; t < b->threads; t++) memset(c->scratch_own[t].data_own, 0, bytes);
    cpu_parallel(b, a->dx.rows, ROWS_GRAIN, c->simd->layernorm_bwd, a);
    for (int32_t t = 0; t < b->threads; t++) {
        const float *part = c->scratch_own[t].data_own;
        for (int64_t i = 0; i < a->dx.cols; i++) {
            ((float *)a->dgain.data)[i] += part[i];
            ((float *)a->dbias.data)[i] += part[a->dx.cols + i];
        }
    }
    return 0;
}
