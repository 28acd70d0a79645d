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

static int slot_relu_dx(struct backend *b, struct tensor *dx, const struct tensor *dy,
                        const struct tensor *y, const struct dropout *d, struct err *e)
{
    struct cuda *c = cuda_of(b);
    return cuda_fault(c, cuda_relu_dx(c->stream_own, dx, dy, y, d), "relu_dx", e);
}

static int slot_norm(struct backend *b, struct tensor *y, struct tensor *stats,
                     const struct tensor *x, const struct tensor *gain, const struct tensor *bias,
                     struct err *e)
{
    struct cuda *c = cuda_of(b);
    return cuda_fault(c, cuda_norm(c->stream_own, y, stats, x, gain, bias), "norm", e);
}

static int slot_norm_dx(struct backend *b, struct tensor *dx, struct tensor *dgain,
                        struct tensor *dbias, const struct tensor *dy, const struct tensor *x,
                        const struct tensor *stats, const struct tensor *gain, int accumulate_dx,
                        struct err *e)
{
    struct cuda *c = cuda_of(b);
    void *scratch = NULL;
    TRY(cuda_scratch(c, &scratch, cuda_norm_dx_workspace(dx->rows, dx->cols), e));
    return cuda_fault(
        c,
        cuda_norm_dx(c->stream_own, dx, dgain, dbias, dy, x, stats, gain, accumulate_dx, scratch),
        "norm_dx", e);
}

static int slot_residual_norm(struct backend *b, struct tensor *s, struct tensor *y,
                              struct tensor *stats, const struct tensor *x, const struct tensor *r,
                              const struct dropout *d, const struct tensor *gain,
                              const struct tensor *bias, struct err *e)
{
    struct cuda *c = cuda_of(b);
    return cuda_fault(c, cuda_residual_norm(c->stream_own, s, y, stats, x, r, d, gain, bias),
                      "residual_norm", e);
}

static int slot_residual_norm_dx(struct backend *b, struct tensor *ds, struct tensor *dr,
                                 struct tensor *dgain, struct tensor *dbias,
                                 const struct tensor *dy, const struct tensor *s,
                                 const struct tensor *stats, const struct tensor *gain,
                                 const struct dropout *d, struct err *e)
{
    struct cuda *c = cuda_of(b);
    void *scratch = NULL;
    TRY(cuda_scratch(c, &scratch, cuda_norm_dx_workspace(ds->rows, ds->cols), e));
    return cuda_fault(
        c,
        cuda_residual_norm_dx(c->stream_own, ds, dr, dgain, dbias, dy, s, stats, gain, d, scratch),
        "residual_norm_dx", e);
}

static int slot_rotary(struct backend *b, struct tensor *x, const struct tensor *cosine,
                       const struct tensor *sine, int32_t T, int32_t H, int layout, int inverse,
                       struct err *e)
{
    struct cuda *c = cuda_of(b);
    return cuda_fault(c, cuda_rotary(c->stream_own, x, cosine, sine, T, H, layout, inverse),
                      "rotary", e);
}

static int slot_attention(struct backend *b, struct attention *a, struct err *e)
{
    struct cuda *c = cuda_of(b);
    void *scratch = NULL;
    TRY(cuda_scratch(c, &scratch, cuda_attention_workspace(a), e));
    return cuda_fault(c, cuda_attention(c->stream_own, a, scratch), "attention", e);
}

static int slot_attention_dx(struct backend *b, struct attention *a, struct err *e)
{
    struct cuda *c = cuda_of(b);
    void *scratch = NULL;
    TRY(cuda_scratch(c, &scratch, cuda_attention_workspace(a), e));
    return cuda_fault(c, cuda_attention_dx(c->stream_own, a, scratch), "attention_dx", e);
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

static int slot_bias_expand(struct backend *b, struct attention_bias *bias, float *near_dev,
                            float *offset_dev, const struct tensor *table,
                            const int32_t *bucket_dev, float multiplier, struct err *e)
{
    struct cuda *c = cuda_of(b);
    return cuda_fault(
        c,
        cuda_bias_expand(c->stream_own, bias, near_dev, offset_dev, table, bucket_dev, multiplier),
        "bias_expand", e);
}

static int slot_bias_reduce(struct backend *b, struct tensor *dtable,
                            const struct attention_bias *bias, const int32_t *bucket_dev,
                            float multiplier, int accumulate, struct err *e)
{
    struct cuda *c = cuda_of(b);
    return cuda_fault(
        c, cuda_bias_reduce(c->stream_own, dtable, bias, bucket_dev, multiplier, accumulate),
        "bias_reduce", e);
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
                    const struct step_state *step_dev, void *half_dev, struct err *e)
{
    struct cuda *c = cuda_of(b);
    return cuda_fault(c,
                      cuda_nag(c->stream_own, theta_dev, momentum_dev, grad_dev, n, mu,
                               weight_decay, squares_dev, step_dev, half_dev),
                      "nag", e);
}

static int slot_adam(struct backend *b, float *theta_dev, float *m_dev, float *v_dev,
                     const float *grad_dev, int64_t n, float beta1, float beta2, float eps,
                     float weight_decay, const double *squares_dev,
                     const struct step_state *step_dev, void *half_dev, struct err *e)
{
    struct cuda *c = cuda_of(b);
    return cuda_fault(c,
                      cuda_adam(c->stream_own, theta_dev, m_dev, v_dev, grad_dev, n, beta1, beta2,
                                eps, weight_decay, squares_dev, step_dev, half_dev),
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
    .linear_dx = cuda_linear_dx,
    .linear_dx_relu = cuda_linear_dx_relu,
    .linear_dw = cuda_linear_dw,
    .gather_rows = slot_gather_rows,
    .scatter_rows = slot_scatter_rows,
    .add_rows = slot_add_rows,
    .cast = slot_cast,
    .add = slot_add,
    .dropout = slot_dropout,
    .relu = slot_relu,
    .relu_dx = slot_relu_dx,
    .norm = slot_norm,
    .norm_dx = slot_norm_dx,
    .residual_norm = slot_residual_norm,
    .residual_norm_dx = slot_residual_norm_dx,
    .rotary = slot_rotary,
    .attention_turns = 1,
    .attention = slot_attention,
    .attention_dx = slot_attention_dx,
    .softmax_loss = slot_softmax_loss,
    .softmax_logp = slot_softmax_logp,
    .sum_losses = slot_sum_losses,
    .bias_expand = slot_bias_expand,
    .bias_reduce = slot_bias_reduce,
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
