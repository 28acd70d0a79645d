/* backend.h - the contract between the model and whatever computes it: cpu, cuda:N, cuda:emulated,
 * check:cpu.
 *
 * 1. A backend is a struct of function pointers chosen by name at run time. Required slots are
 * plain ops which together run every model; a fused slot may be NULL and src/ops composes it.
 * 2. Callers use src/ops, which checks shapes and dtypes once; a backend may trust its arguments.
 * 3. Work is asynchronous: a fault surfaces at `sync` at the latest.
 * 4. Gradient ops take `accumulate` (0 overwrite, 1 add) and write f32. Sums have a fixed order:
 * same inputs, same bits.
 * 5. Whatever changes between batches of one shape is in backend memory (struct step_state, index
 * lists), so that work which was recorded can be replayed.
 * 6. linear_rows is exact by row: the bits of a row depend on that row and the weights only.
 * Evaluation uses it.
 *
 * Axes: B rows of a batch, T tokens of a row, N = B*T, H heads, D head width, C = H*D model width,
 * V classes. */
#ifndef BACKEND_BACKEND_H
#define BACKEND_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { BACKEND_VERSION = 5 };

enum dtype { DTYPE_F32, DTYPE_BF16, DTYPE_I32 };

/* A view of a matrix: rows of cols elements, `stride` elements from one row to the next (>= cols).
 * Borrows its memory. A vector is one row. */
struct tensor {
    void *data;
    int64_t rows, cols, stride;
    enum dtype dtype;
};

/* What changes between updates and between their batches; lives in backend memory, written by
 * upload. */
struct step_state {
    float lr, lr_previous; /* eta and eta of the update before (lr itself at the first update) */
    float gradient_scale;  /* 1 / targets of the update */
    float clip;            /* highest norm; 0: none */
    uint32_t update;       /* number of the update, from 0: the counter of dropout */
    uint32_t adam_step;    /* from 1 */
    int64_t first_row;     /* of the batch at hand: rows of the update's batches before it */
};

/* Dropout at one site. p = 0: none (and no random number is drawn). With from = first_row + span *
 * step_dev->first_row the element index is (from + row) * cols + column in the whole update, for
 * attention ((from + b) * H + h) * T * T + i * T + j; see base/philox.h for the counter. */
struct dropout {
    float p;
    uint64_t key;    /* the run's seed */
    uint32_t stream; /* layer and site: dropout_stream() in ops/ops.h */
    const struct step_state *step_dev;
    int64_t first_row; /* of this tensor's row 0: in the batch, or with span 0 in the update */
    int32_t span;      /* rows of this tensor to a row of the batch: T, for attention 1 */
    const int32_t *rows_dev; /* NULL: row i is from + i; else from + rows_dev[i] (a compacted tail;
                                what a row of index -1 draws means nothing) */
};

/* One bias form for every position method (per head h, distance d = query - key >= 0):
 *   d < bias_table_n: near[h][d], else offset[h] + slope[h] * d.   NULL near / offset / slope:
 * nothing, zero, zero. */
struct attention_bias {
    int32_t bias_table_n;
    const float *bias_table_dev;  /* (H, bias_table_n) f32 */
    const float *tail_offset_dev; /* (H) f32 */
    const float *tail_slope_dev;  /* (H) f32; ALiBi: -m */
    float *bias_table_grad_dev;   /* (H, bias_table_n) f32, written by the backward pass when not
                               NULL;   accumulated */
    float *tail_offset_grad_dev;  /* (H) f32, with bias_table_grad_dev */
};

/* Rotary positions of q and k: pairs of a head turned by the angle of their token. Tables cosine
 * and sine (T', D/2) f32, T' >= T, row = token of the row; data NULL: nothing is turned. layout 0:
 * adjacent pairs, 1: half split. */
struct attention_rotary {
    struct tensor cosine, sine;
    int layout;
};

/* Which keys a query sees: key j of query i if j <= i and (window == 0 or i - j < window or
 * j < sinks). A sink outside the window has distance i - j with SINKS_TEXT. With SINKS_CACHE
 * positions are places in a cache of sinks + window keys: the query is at
 * min(i, sinks + window - 1) for that pair, in the bias and in rotary alike. All zero: causal. */
enum attention_sink_positions { SINKS_TEXT, SINKS_CACHE };
struct attention_mask {
    int32_t window; /* keys, the query's own included; 0: all */
    int32_t sinks;  /* first keys of the row that stay visible; 0: none */
    enum attention_sink_positions sink_positions;
};

/* Causal attention: out[i] = sum over the j that mask lets i see of dropout(softmax_j(q[i].k[j] *
 * scale + bias(distance))) v[j], q and k turned first where rotary says so; dq and dk are of q and
 * k before that. q, k, v, out and their gradients are (B*T, C) views (often thirds of one (B*T, 3C)
 * tensor); head h owns columns h*D … h*D+D-1. lse (B*H, T) f32 is the log of the softmax sum. No
 * (T,T) matrix exists in memory. With rotary, the backward pass wants q and k as the forward pass
 * left them: a backend turns tiles as it loads them, where it cannot, src/ops has turned q and k in
 * place. */
struct attention {
    int32_t B, T, H, D;
    float scale;
    struct tensor q, k, v, out, lse;
    struct attention_bias bias;
    struct attention_rotary rotary;
    struct attention_mask mask;
    struct dropout dropout;
    struct tensor dout, dq, dk, dv; /* backward only; dq, dk, dv are overwritten */
};

struct backend;

struct backend_ops {
    /* life and memory */
    void (*close)(struct backend *);
    int (*alloc)(struct backend *, void **out, size_t bytes, struct err *);
    void (*release)(struct backend *, void *p);
    int (*upload)(struct backend *, void *dst_dev, const void *src_host, size_t bytes,
                  struct err *);
    int (*download)(struct backend *, void *dst_host, const void *src_dev, size_t bytes,
                    struct err *);
    int (*copy)(struct backend *, void *dst_dev, const void *src_dev, size_t bytes, struct err *);
    int (*zero)(struct backend *, void *dst_dev, size_t bytes, struct err *);
    int (*sync)(struct backend *, struct err *);
    /* peak_bytes - the highest memory of this process on the device as the driver or the kernel
     * counts it. */
    int (*peak_bytes)(struct backend *, int64_t *out, struct err *);

    /* linear maps: y (N,O) = x (N,I) w (O,I)^T + bias (1,O) or NULL. x and w share a dtype; y has
     * it too, or is f32; a bias is f32. Sums are f32. */
    int (*linear)(struct backend *, struct tensor *y, const struct tensor *x,
                  const struct tensor *w, const struct tensor *bias, int accumulate, struct err *);
    /* linear_rows - the same, exact by row (rule 6). */
    int (*linear_rows)(struct backend *, struct tensor *y, const struct tensor *x,
                       const struct tensor *w, const struct tensor *bias, struct err *);
    /* fused, may be NULL: y = max(x w^T + bias, 0); exact: with the bits of linear_rows. */
    int (*linear_relu)(struct backend *, struct tensor *y, const struct tensor *x,
                       const struct tensor *w, const struct tensor *bias, int exact, struct err *);
    /* dx (N,I) = dy (N,O) w (O,I) */
    int (*linear_bwd_input)(struct backend *, struct tensor *dx, const struct tensor *dy,
                            const struct tensor *w, int accumulate, struct err *);
    /* dw (O,I) = dy^T x; dbias (1,O) = column sums of dy, or NULL */
    int (*linear_bwd_weight)(struct backend *, struct tensor *dw, struct tensor *dbias,
                             const struct tensor *dy, const struct tensor *x, int accumulate,
                             struct err *);

    /* rows: y[i] = scale * x[index[i]] (gather), and y[index[i]] += or = scale * x[i] in rising i
     * (scatter). An index below 0 gathers zeros and scatters nothing. */
    int (*gather_rows)(struct backend *, struct tensor *y, const struct tensor *x,
                       const int32_t *index_dev, float scale, struct err *);
    int (*scatter_rows)(struct backend *, struct tensor *y, const struct tensor *x,
                        const int32_t *index_dev, float scale, int accumulate, struct err *);
    /* add_rows - y[i] = x[i] + table[index[i]]; y may be x. */
    int (*add_rows)(struct backend *, struct tensor *y, const struct tensor *x,
                    const struct tensor *table, const int32_t *index_dev, struct err *);
    /* cast - y = x, each in its own dtype (f32 or bf16) and with its stride; to the nearest, ties
     * to even. y is not x. */
    int (*cast)(struct backend *, struct tensor *y, const struct tensor *x, struct err *);
    /* y = x + r; any may be the same. */
    int (*add)(struct backend *, struct tensor *y, const struct tensor *x, const struct tensor *r,
               struct err *);

    /* dropout: y = mask * x / (1-p); forward and backward alike; y may be x. */
    int (*dropout)(struct backend *, struct tensor *y, const struct tensor *x,
                   const struct dropout *, struct err *);
    /* relu: y = max(x, 0), then dropout; backward dx = dy * mask/(1-p) where y != 0 (y is the
     * forward result). */
    int (*relu)(struct backend *, struct tensor *y, const struct tensor *x, const struct dropout *,
                struct err *);
    int (*relu_bwd)(struct backend *, struct tensor *dx, const struct tensor *dy,
                    const struct tensor *y, const struct dropout *, struct err *);
    /* fused, may be NULL: relu_bwd of linear_bwd_input: dx (N,I) = dy (N,O) w (O,I) / (1-p) where y
     * (N,I) is not 0, else 0. The product may be left unrounded before the division. dx is none of
     * the others. */
    int (*linear_relu_bwd)(struct backend *, struct tensor *dx, const struct tensor *dy,
                           const struct tensor *w, const struct tensor *y, const struct dropout *,
                           struct err *);

    /* LayerNorm, eps 1e-5 inside the root, biased variance. stats (N,2): mean and reciprocal
     * deviation. stats, gain and bias are f32. */
    int (*layernorm)(struct backend *, struct tensor *y, struct tensor *stats,
                     const struct tensor *x, const struct tensor *gain, const struct tensor *bias,
                     struct err *);
    /* dx is added to when accumulate_dx; dgain, dbias (1,C) are always accumulated. */
    int (*layernorm_bwd)(struct backend *, struct tensor *dx, struct tensor *dgain,
                         struct tensor *dbias, const struct tensor *dy, const struct tensor *x,
                         const struct tensor *stats, const struct tensor *gain, int accumulate_dx,
                         struct err *);
    /* fused, may be NULL: s = x + dropout(r); y = norm(s). s may be x. */
    int (*residual_layernorm)(struct backend *, struct tensor *s, struct tensor *y,
                              struct tensor *stats, const struct tensor *x, const struct tensor *r,
                              const struct dropout *, const struct tensor *gain,
                              const struct tensor *bias, struct err *);
    /* fused, may be NULL: its backward pass. ds is the gradient of s by other ways (the residual
     * stream) and becomes the whole one, which is also x's; dr = mask * ds / (1-p) of ds as stored,
     * p > 0. dgain, dbias (1,C) are accumulated. */
    int (*residual_layernorm_bwd)(struct backend *, struct tensor *ds, struct tensor *dr,
                                  struct tensor *dgain, struct tensor *dbias,
                                  const struct tensor *dy, const struct tensor *s,
                                  const struct tensor *stats, const struct tensor *gain,
                                  const struct dropout *, struct err *);

    /* rotary in place on x (B*T, H*D): cos, sin (T', D/2) f32 tables, row = token of the row.
     * layout 0 adjacent pairs, 1 half split; inverse turns back (the backward pass). */
    int (*rotary)(struct backend *, struct tensor *x, const struct tensor *cosine,
                  const struct tensor *sine, int32_t T, int32_t H, int layout, int inverse,
                  struct err *);

    /* attention_rotates: whether these two do what struct attention_rotary asks for. */
    int attention_rotates;
    int (*attention)(struct backend *, struct attention *, struct err *);
    int (*attention_bwd)(struct backend *, struct attention *, struct err *);

    /* Softmax cross-entropy of logits (N,V) with class target[i] (-1: row counts nothing). loss
     * (1,N) nats per row, 0 for -1. When gradient: logits become dlogits of the summed loss. lse
     * and log p are in double or compensated f32. */
    int (*softmax_loss)(struct backend *, struct tensor *loss, struct tensor *logits,
                        const int32_t *target_dev, int gradient, struct err *);
    /* sum_losses: sums_dev[0] (f64) = the sum of loss (1,N) in double, fixed order; sums_dev[1] is
     * added to by as much. */
    int (*sum_losses)(struct backend *, double *sums_dev, const struct tensor *loss, struct err *);
    /* log p[i] of target[i] from logits (N,V), exact by row; adds to out (1,N) when accumulate (a
     * tail's share). */
    int (*softmax_logp)(struct backend *, struct tensor *logp, const struct tensor *logits,
                        const int32_t *target_dev, int accumulate, struct err *);

    /* Over a whole parameter block of n elements (gaps hold zeros):
     * sum_squares: *out_dev (f64) = sum of x^2, fixed order. nag, adam: the gradient is first
     * multiplied by gradient_scale and by the clip factor min(1, clip / (norm + 1e-6)), norm =
     * gradient_scale * sqrt(*squares_dev). Where the norm is not finite they change nothing.
     * bf16_dev: n bf16 weights that are written in the same
     * pass, the new ones rounded as cast does; NULL: none (a backend of f32 takes nothing else). */
    int (*sum_squares)(struct backend *, double *out_dev, const float *x_dev, int64_t n,
                       struct err *);
    int (*nag)(struct backend *, float *theta_dev, float *momentum_dev, const float *grad_dev,
               int64_t n, float mu, float weight_decay, const double *squares_dev,
               const struct step_state *step_dev, void *bf16_dev, struct err *);
    int (*adam)(struct backend *, float *theta_dev, float *m_dev, float *v_dev,
                const float *grad_dev, int64_t n, float beta1, float beta2, float eps,
                float weight_decay, const double *squares_dev, const struct step_state *step_dev,
                void *bf16_dev, struct err *);
    /* sum over devices, the identity for one. */
    int (*all_reduce)(struct backend *, float *x_dev, int64_t n, struct err *);

    /* May be NULL, all together: work as a graph. From record to keep, ops, copy and zero are not
     * done but written down, arguments and all; nothing may be allocated, moved to or from the
     * host, waited for, or chosen by measuring (ERR_INTERNAL names what was tried), so the same
     * work is done once before it is recorded. keep ends it; without graph_out what was written is
     * thrown away, as after an error. replay does the work: the same memory, its contents of now.
     */
    int (*record)(struct backend *, struct err *);
    int (*keep)(struct backend *, void **graph_out, struct err *);
    int (*replay)(struct backend *, void *graph, struct err *);
    void (*forget)(struct backend *, void *graph); /* takes NULL */

    /* Both may be NULL: which algorithms were chosen by measuring, as a text to be kept with
     * results; returns its length without the final 0, and writes what fits. adopt takes such a
     * text before the first op: what it names is not chosen anew, so that bits stay the same.
     * ERR_DATA: a text of another library or device; nothing is adopted. */
    size_t (*choices)(struct backend *, char *text, size_t bytes);
    int (*adopt)(struct backend *, const char *text, struct err *);
};

/* An open backend. The implementation embeds it as its first member. */
struct backend {
    const struct backend_ops *ops;
    char name[32];   /* as it was opened: cpu, cuda:0, check:cpu */
    char device[96]; /* for people: "AMD EPYC, 1 thread" */
    char blas[96];   /* library, version and kernels in use */
    int32_t threads;
    enum dtype precision; /* of activations */
};

/* backend_open - by name: a registered backend, cuda:N, or check:NAME, which wraps NAME in the
 * checking backend. threads: for cpu, 0 means 1. Errors: ERR_USAGE unknown name; ERR_UNAVAILABLE
 * with the reason (no driver, library not built, no such device). */
int backend_open(struct backend **out, const char *name, int32_t threads, enum dtype precision,
                 struct err *e);
void backend_close(struct backend *b); /* takes NULL */

/* How a backend presents itself: with `open` it is a device of its own, with `wrap` it is opened as
 * NAME:INNER around another backend, which it owns (also when it fails). A program registers the
 * backends that it links; libalibi_cuda.so is opened when it is asked for and exports
 * `const struct backend_library *alibi_backend_library(void)`. */
struct backend_library {
    int32_t version; /* BACKEND_VERSION */
    const char *name;
    int (*open)(struct backend **out, int ordinal, int32_t threads, enum dtype precision,
                struct err *e);
    int (*wrap)(struct backend **out, struct backend *inner_own, struct err *e);
};
/* backend_register - makes a linked backend known to backend_open; before threads start. */
void backend_register(const struct backend_library *library);

static inline struct tensor tensor_make(void *data, int64_t rows, int64_t cols, enum dtype dtype)
{
    struct tensor t;
    t.data = data;
    t.rows = rows;
    t.cols = cols;
    t.stride = cols;
    t.dtype = dtype;
    return t;
}
static inline size_t dtype_bytes(enum dtype d)
{
    return d == DTYPE_BF16 ? 2 : 4;
}

#ifdef __cplusplus
}
#endif
#endif
