/* slots.c - the functions of the backend: each op calls its launcher on the backend's stream, those
 * of linear.c excepted. */
#include "context.h"
#include "kernels.h"

/* An op whose launcher has no workspace. */
#define LAUNCH(name, args)                                                                         \
    static int slot_##name(struct backend *b, const struct args *a, struct err *e)                 \
    {                                                                                              \
        struct cuda *c = cuda_of(b);                                                               \
        return cuda_fault(c, cuda_##name(c->stream_own, a), #name, e);                             \
    }

/* An op whose launcher has one, which is scratch memory. */
#define LAUNCH_WITH_WORKSPACE(name, args)                                                          \
    static int slot_##name(struct backend *b, const struct args *a, struct err *e)                 \
    {                                                                                              \
        struct cuda *c = cuda_of(b);                                                               \
        void *workspace = NULL;                                                                    \
        TRY(cuda_scratch(c, &workspace, cuda_##name##_workspace(a), e));                           \
        return cuda_fault(c, cuda_##name(c->stream_own, a, workspace), #name, e);                  \
    }

LAUNCH(gather_rows, gather_rows_args)
LAUNCH(scatter_rows, scatter_rows_args)
LAUNCH(add_rows, add_rows_args)
LAUNCH(cast, cast_args)
LAUNCH(add, add_args)
LAUNCH(dropout, dropout_args)
LAUNCH(relu, dropout_args)
LAUNCH(relu_bwd, relu_bwd_args)
LAUNCH(layernorm, layernorm_args)
LAUNCH_WITH_WORKSPACE(layernorm_bwd, layernorm_bwd_args)
LAUNCH(residual_layernorm, residual_layernorm_args)
LAUNCH_WITH_WORKSPACE(residual_layernorm_bwd, residual_layernorm_bwd_args)
LAUNCH(rotary, rotary_args)
LAUNCH(softmax_loss, softmax_loss_args)
LAUNCH(softmax_logp, softmax_logp_args)
LAUNCH(sum_losses, sum_losses_args)
LAUNCH_WITH_WORKSPACE(sum_squares, sum_squares_args)
LAUNCH(nag, nag_args)
LAUNCH(adam, adam_args)

/* What the kernels leave out. The widest head is the widest they are compiled for. */
static int check_attention(const char *op, const struct backend *b, const struct attention *a,
                           struct err *e)
{
    enum { WIDTH_MAX = 256 };
    if (a->D % 8 != 0 || a->D > WIDTH_MAX)
        return ERR(e, ERR_UNAVAILABLE,
                   "op %s: head width %d is not supported on %s: expected a multiple of 8 up to %d",
                   op, a->D, b->name, WIDTH_MAX);
    if (a->mask.window > 0 && a->mask.sinks > 0 && a->mask.sink_positions != SINKS_TEXT)
        return ERR(e, ERR_UNAVAILABLE,
                   "op %s: %d sinks at positions in a cache are not supported on %s; use cpu", op,
                   a->mask.sinks, b->name);
    /* attention_bias_grad.cu has the gradient of the far constant from an identity, which is less
     * exact than a window's few far pairs need. */
    if (a->mask.window > 0 && a->bias.tail_offset_grad_dev)
        return ERR(
            e, ERR_UNAVAILABLE,
            "op %s: a window of %d keys with a learned bias tail is not trained on %s; use cpu", op,
            a->mask.window, b->name);
    return 0;
}

static int slot_attention(struct backend *b, const struct attention *a, struct err *e)
{
    struct cuda *c = cuda_of(b);
    void *workspace = NULL;
    TRY(check_attention("attention", b, a, e));
    TRY(cuda_scratch(c, &workspace, cuda_attention_workspace(a), e));
    return cuda_fault(c, cuda_attention(c->stream_own, a, workspace), "attention", e);
}

static int slot_attention_bwd(struct backend *b, const struct attention *a, struct err *e)
{
    struct cuda *c = cuda_of(b);
    void *workspace = NULL;
    TRY(check_attention("attention_bwd", b, a, e));
    TRY(cuda_scratch(c, &workspace, cuda_attention_workspace(a), e));
    return cuda_fault(c, cuda_attention_bwd(c->stream_own, a, workspace), "attention_bwd", e);
}

static int slot_all_reduce(struct backend *b, const struct all_reduce_args *a, struct err *e)
{
    (void)b;
    (void)a;
    (void)e;
    return 0; /* one device: the sum over devices is what it holds */
}

static size_t slot_choices(struct backend *b, char *text, size_t bytes)
{
    return gemm_choices(cuda_of(b)->gemm_own, text, bytes);
}

static int slot_adopt(struct backend *b, const char *text, struct err *e)
{
    return gemm_adopt(cuda_of(b)->gemm_own, text, e);
}

const struct backend_ops cuda_slots = {
    .close = cuda_close,
    .alloc = cuda_alloc,
    .release = cuda_release,
    .upload = cuda_upload,
    .download = cuda_download,
    .copy = cuda_copy,
    .zero = cuda_zero,
    .sync = cuda_sync,
    .peak_bytes = cuda_peak_bytes,
    .linear = cuda_linear,
    .linear_rows = cuda_linear_rows,
    .linear_relu = cuda_linear_relu,
    .linear_bwd_input = cuda_linear_bwd_input,
    .linear_relu_bwd = cuda_linear_relu_bwd,
    .linear_bwd_weight = cuda_linear_bwd_weight,
    .gather_rows = slot_gather_rows,
    .scatter_rows = slot_scatter_rows,
    .add_rows = slot_add_rows,
    .cast = slot_cast,
    .add = slot_add,
    .dropout = slot_dropout,
    .relu = slot_relu,
    .relu_bwd = slot_relu_bwd,
    .layernorm = slot_layernorm,
    .layernorm_bwd = slot_layernorm_bwd,
    .residual_layernorm = slot_residual_layernorm,
    .residual_layernorm_bwd = slot_residual_layernorm_bwd,
    .rotary = slot_rotary,
    .attention_rotates = 1,
    .attention = slot_attention,
    .attention_bwd = slot_attention_bwd,
    .softmax_loss = slot_softmax_loss,
    .softmax_logp = slot_softmax_logp,
    .sum_losses = slot_sum_losses,
    .sum_squares = slot_sum_squares,
    .nag = slot_nag,
    .adam = slot_adam,
    .all_reduce = slot_all_reduce,
    .record = cuda_record,
    .keep = cuda_keep,
    .replay = cuda_replay,
    .forget = cuda_forget,
    .choices = slot_choices,
    .adopt = slot_adopt,
};
