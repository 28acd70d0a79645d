/* slots.c - the table of slots: each calls its launcher on the backend's stream. */
#include "context.h"
#include "kernels.h"

static int slot_gather_rows(struct backend *b, struct tensor *y, const struct tensor *x,
                            const int32_t *index_dev, float scale, struct err *e)
{
    struct cuda *c = cuda_of(b);
    return cuda_fault(c, cuda_gather_rows(c->stream_own, y, x, index_dev, scale), "gather_rows", e);
}

static int slot_scatter_rows(struct backend *b, struct tensor *y, const struct tensor *x,
                             const int32_t *index_dev, float scale, int accumulate, struct err *e)
{
    struct cuda *c = cuda_of(b);
    return cuda_fault(c, cuda_scatter_rows(c->stream_own, y, x, index_dev, scale, accumulate),
                      "scatter_rows", e);
}

static int slot_add_rows(struct backend *b, struct tensor *y, const struct tensor *x,
                         const struct tensor *table, const int32_t *index_dev, struct err *e)
{
    struct cuda *c = cuda_of(b);
    return cuda_fault(c, cuda_add_rows(c->stream_own, y, x, table, index_dev), "add_rows", e);
}

static int slot_cast(struct backend *b, struct tensor *y, const struct tensor *x, struct err *e)
{
    struct cuda *c = cuda_of(b);
    return cuda_fault(c, cuda_cast(c->stream_own, y, x), "cast", e);
}

static int slot_add(struct backend *b, struct tensor *y, const struct tensor *x,
                    const struct tensor *r, struct err *e)
{
    struct cuda *c = cuda_of(b);
    return cuda_fault(c, cuda_add(c->stream_own, y, x, r), "add", e);
}

static int slot_dropout(struct backend *b, struct tensor *y, const struct tensor *x,
                        const struct dropout *d, struct err *e)
{
    struct cuda *c = cuda_of(b);
    return cuda_fault(c, cuda_dropout(c->stream_own, y, x, d), "dropout", e);
}

static int slot_relu(struct backend *b, struct tensor *y, const struct tensor *x,
                     const struct dropout *d, struct err *e)
{
    struct cuda *c = cuda_of(b);
    return cuda_fault(c, cuda_relu(c->stream_own, y, x, d), "relu", e);
}

static int slot_relu_bwd(struct backend *b, struct tensor *dx, const struct tensor *dy,
                         const struct tensor *y, const struct dropout *d, struct err *e)
{
    struct cuda *c = cuda_of(b);
    return cuda_fault(c, cuda_relu_bwd(c->stream_own, dx, dy, y, d), "relu_bwd", e);
}

static int slot_layernorm(struct backend *b, struct tensor *y, struct tensor *stats,
                          const struct tensor *x, const struct tensor *gain,
                          const struct tensor *bias, struct err *e)
{
    struct cuda *c = cuda_of(b);
    return cuda_fault(c, cuda_layernorm(c->stream_own, y, stats, x, gain, bias), "norm", e);
}

static int slot_layernorm_bwd(struct backend *b, struct tensor *dx, struct tensor *dgain,
                              struct tensor *dbias, const struct tensor *dy, const struct tensor *x,
                              const struct tensor *stats, const struct tensor *gain,
                              int accumulate_dx, struct err *e)
{
    struct cuda *c = cuda_of(b);
    void *scratch = NULL;
    TRY(cuda_scratch(c, &scratch, cuda_layernorm_bwd_workspace(dx->rows, dx->cols), e));
    return cuda_fault(c,
                      cuda_layernorm_bwd(c->stream_own, dx, dgain, dbias, dy, x, stats, gain,
                                         accumulate_dx, scratch),
                      "layernorm_bwd", e);
}

static int slot_residual_layernorm(struct backend *b, struct tensor *s, struct tensor *y,
                                   struct tensor *stats, const struct tensor *x,
                                   const struct tensor *r, const struct dropout *d,
                                   const struct tensor *gain, const struct tensor *bias,
                                   struct err *e)
{
    struct cuda *c = cuda_of(b);
    return cuda_fault(c, cuda_residual_layernorm(c->stream_own, s, y, stats, x, r, d, gain, bias),
                      "residual_layernorm", e);
}

static int slot_residual_layernorm_bwd(struct backend *b, struct tensor *ds, struct tensor *dr,
                                       struct tensor *dgain, struct tensor *dbias,
                                       const struct tensor *dy, const struct tensor *s,
                                       const struct tensor *stats, const struct tensor *gain,
                                       const struct dropout *d, struct err *e)
{
    struct cuda *c = cuda_of(b);
    void *scratch = NULL;
    TRY(cuda_scratch(c, &scratch, cuda_layernorm_bwd_workspace(ds->rows, ds->cols), e));
    return cuda_fault(c,
                      cuda_residual_layernorm_bwd(c->stream_own, ds, dr, dgain, dbias, dy, s, stats,
                                                  gain, d, scratch),
                      "residual_layernorm_bwd", e);
}

static int slot_rotary(struct backend *b, struct tensor *x, const struct tensor *cosine,
                       const struct tensor *sine, int32_t T, int32_t H, int layout, int inverse,
                       struct err *e)
{
    struct cuda *c = cuda_of(b);
    return cuda_fault(c, cuda_rotary(c->stream_own, x, cosine, sine, T, H, layout, inverse),
                      "rotary", e);
}

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

static int slot_attention(struct backend *b, struct attention *a, struct err *e)
{
    struct cuda *c = cuda_of(b);
    void *scratch = NULL;
    TRY(check_attention("attention", b, a, e));
    TRY(cuda_scratch(c, &scratch, cuda_attention_workspace(a), e));
    return cuda_fault(c, cuda_attention(c->stream_own, a, scratch), "attention", e);
}

static int slot_attention_bwd(struct backend *b, struct attention *a, struct err *e)
{
    struct cuda *c = cuda_of(b);
    void *scratch = NULL;
    TRY(check_attention("attention_bwd", b, a, e));
    TRY(cuda_scratch(c, &scratch, cuda_attention_workspace(a), e));
    return cuda_fault(c, cuda_attention_bwd(c->stream_own, a, scratch), "attention_bwd", e);
}

static int slot_softmax_loss(struct backend *b, struct tensor *loss, struct tensor *logits,
                             const int32_t *target_dev, int gradient, struct err *e)
{
    struct cuda *c = cuda_of(b);
    return cuda_fault(c, cuda_softmax_loss(c->stream_own, loss, logits, target_dev, gradient),
                      "softmax_loss", e);
}

static int slot_sum_losses(struct backend *b, double *sums_dev, const struct tensor *loss,
                           struct err *e)
{
    struct cuda *c = cuda_of(b);
    return cuda_fault(c, cuda_sum_losses(c->stream_own, sums_dev, loss), "sum_losses", e);
}

static int slot_softmax_logp(struct backend *b, struct tensor *logp, const struct tensor *logits,
                             const int32_t *target_dev, int accumulate, struct err *e)
{
    struct cuda *c = cuda_of(b);
    return cuda_fault(c, cuda_softmax_logp(c->stream_own, logp, logits, target_dev, accumulate),
                      "softmax_logp", e);
}

static int slot_sum_squares(struct backend *b, double *out_dev, const float *x_dev, int64_t n,
                            struct err *e)
{
    struct cuda *c = cuda_of(b);
    void *scratch = NULL;
    TRY(cuda_scratch(c, &scratch, cuda_sum_squares_workspace(n), e));
    return cuda_fault(c, cuda_sum_squares(c->stream_own, out_dev, x_dev, n, scratch), "sum_squares",
                      e);
}

static int slot_nag(struct backend *b, float *theta_dev, float *momentum_dev, const float *grad_dev,
                    int64_t n, float mu, float weight_decay, const double *squares_dev,
                    const struct step_state *step_dev, void *bf16_dev, struct err *e)
{
    struct cuda *c = cuda_of(b);
    return cuda_fault(c,
                      cuda_nag(c->stream_own, theta_dev, momentum_dev, grad_dev, n, mu,
                               weight_decay, squares_dev, step_dev, bf16_dev),
                      "nag", e);
}

static int slot_adam(struct backend *b, float *theta_dev, float *m_dev, float *v_dev,
                     const float *grad_dev, int64_t n, float beta1, float beta2, float eps,
                     float weight_decay, const double *squares_dev,
                     const struct step_state *step_dev, void *bf16_dev, struct err *e)
{
    struct cuda *c = cuda_of(b);
    return cuda_fault(c,
                      cuda_adam(c->stream_own, theta_dev, m_dev, v_dev, grad_dev, n, beta1, beta2,
                                eps, weight_decay, squares_dev, step_dev, bf16_dev),
                      "adam", e);
}

static int slot_all_reduce(struct backend *b, float *x_dev, int64_t n, struct err *e)
{
    (void)b;
    (void)x_dev;
    (void)n;
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
