/* ops.c - the functions of the backend. Each op calls its launcher on the backend's stream; the
 * linear maps are in linear.c. */
#include "context.h"
#include "kernels.h"

/* ---- what the kernels do not support ---- */

static int check_attention(const char *op, const struct backend *b, const struct attention *a,
                           struct err *e)
{
    if (a->D % 8 != 0 || a->D > ATTENTION_WIDTH_MAX)
        return ERR(e, ERR_UNAVAILABLE,
                   "op %s: head width %d is not supported on %s: expected a multiple of 8 up to %d",
                   op, a->D, b->name, ATTENTION_WIDTH_MAX);
    if (a->mask.window > 0 && a->mask.sinks > 0 && a->mask.sink_positions != SINKS_TEXT)
        return ERR(e, ERR_UNAVAILABLE,
                   "op %s: %d sinks at positions in a cache are not supported on %s; use cpu", op,
                   a->mask.sinks, b->name);
    /* attention_bias_grad.cu computes the tail offset's gradient from an identity. With a window
     * few pairs are in the tail, and its rounding error would be too large. */
    if (a->mask.window > 0 && a->bias.tail_offset_grad_dev)
        return ERR(e, ERR_UNAVAILABLE,
                   "op %s: a window of %d keys with a learned bias tail is not trained on %s; use "
                   "cpu",
                   op, a->mask.window, b->name);
    return 0;
}

static int check_columns(const char *op, const struct backend *b, const struct tensor *x,
                         struct err *e)
{
    if (x->cols <= CUDA_NORM_COLS_MAX) return 0;
    return ERR(e, ERR_UNAVAILABLE,
               "op %s: rows of %lld columns are not supported on %s: expected at most %d", op,
               (long long)x->cols, b->name, CUDA_NORM_COLS_MAX);
}

/* ---- from an op to its launcher; check: 0, or an expression of op, b, a and e that returns an
 * error code ---- */

#define LAUNCH(name, args, check)                                                                  \
    int cuda_run_##name(struct backend *b, const struct args *a, struct err *e)                    \
    {                                                                                              \
        static const char op[] = #name;                                                            \
        struct cuda *c = cuda_of(b);                                                               \
        TRY(check);                                                                                \
        return cuda_fault(c, cuda_##name(c->stream_own, a), op, e);                                \
    }

/* LAUNCH with a workspace, which is scratch memory. */
#define LAUNCH_WITH_WORKSPACE(name, args, check, bytes)                                            \
    int cuda_run_##name(struct backend *b, const struct args *a, struct err *e)                    \
    {                                                                                              \
        static const char op[] = #name;                                                            \
        struct cuda *c = cuda_of(b);                                                               \
        void *workspace = NULL;                                                                    \
        TRY(check);                                                                                \
        TRY(cuda_scratch(c, &workspace, bytes, e));                                                \
        return cuda_fault(c, cuda_##name(c->stream_own, a, workspace), op, e);                     \
    }

#define LAUNCH_PLAIN(NAME, name, args) LAUNCH(name, args, 0)
CUDA_PLAIN_OPS(LAUNCH_PLAIN)
LAUNCH(layernorm, layernorm_args, check_columns(op, b, &a->x, e))
LAUNCH_WITH_WORKSPACE(layernorm_bwd, layernorm_bwd_args, check_columns(op, b, &a->x, e),
                      cuda_layernorm_bwd_workspace(&a->x))
LAUNCH(residual_layernorm, residual_layernorm_args, check_columns(op, b, &a->x, e))
LAUNCH_WITH_WORKSPACE(residual_layernorm_bwd, residual_layernorm_bwd_args,
                      check_columns(op, b, &a->s, e), cuda_layernorm_bwd_workspace(&a->s))
LAUNCH_WITH_WORKSPACE(attention, attention, check_attention(op, b, a, e),
                      cuda_attention_workspace(a))
LAUNCH_WITH_WORKSPACE(attention_bwd, attention, check_attention(op, b, a, e),
                      cuda_attention_workspace(a))
LAUNCH(forget_gate, forget_gate_args, 0)
LAUNCH_WITH_WORKSPACE(forget_gate_bwd, forget_gate_bwd_args, 0, cuda_forget_gate_bwd_workspace(a))
LAUNCH_WITH_WORKSPACE(sum_squares, sum_squares_args, 0, cuda_sum_squares_workspace(a))

static size_t cuda_choices(struct backend *b, char *text, size_t bytes)
{
    return gemm_choices(cuda_of(b)->gemm_own, text, bytes);
}

static int cuda_restore_choices(struct backend *b, const char *text, struct err *e)
{
    return gemm_adopt(cuda_of(b)->gemm_own, text, e);
}

static void cuda_close_choices(struct backend *b)
{
    gemm_close_choices(cuda_of(b)->gemm_own);
}

#define cuda_run_rotary NULL /* attention rotates (attention.cuh, rule 4) */

const struct backend_ops cuda_functions = {
    .close = cuda_close,
    .alloc = cuda_alloc,
    .release = cuda_release,
    .upload = cuda_upload,
    .download = cuda_download,
    .copy = cuda_copy,
    .zero = cuda_zero,
    .sync = cuda_sync,
    .peak_bytes = cuda_peak_bytes,
    .attention_rotates = 1,
#define ENTRY(NAME, name, args) .name = cuda_run_##name,
    BACKEND_OPS(ENTRY)
#undef ENTRY
        .graph_begin = cuda_graph_begin,
    .graph_end = cuda_graph_end,
    .graph_launch = cuda_graph_launch,
    .graph_free = cuda_graph_free,
    .choices = cuda_choices,
    .restore_choices = cuda_restore_choices,
    .close_choices = cuda_close_choices,
    .group_join = cuda_group_join,
    .exchange = cuda_exchange,
};
