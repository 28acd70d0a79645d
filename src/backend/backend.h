/* backend.h - the contract between the model and its backends: cpu, cuda:N, cuda:emulated,
 * check:cpu.
 *
 * 1. A backend is a struct of function pointers, chosen by name at run time. The plain ops are
 *    required and suffice for every model. A fused op may be NULL; src/ops then composes it.
 * 2. Callers use src/ops, which checks arguments against ops_table.c; backends may trust them. A
 *    backend rejects what it cannot compute (ERR_UNAVAILABLE names the value).
 * 3. Work is asynchronous. A failure is reported at `sync` at the latest.
 * 4. Gradient ops take `accumulate` (0 overwrite, 1 add) and write fp32. Sums have a fixed order:
 *    same inputs, same bits.
 * 5. Everything that changes between batches of one shape is in backend memory (struct step_state,
 *    index lists), so that captured work can be launched again.
 * 6. linear_rows is exact by row: the bits of an output row depend only on its input row and the
 *    weights. Evaluation uses it.
 *
 * Axes: B rows of a batch, T tokens of a row, N = B*T, H heads, D head width, C = H*D model width,
 * V classes. */
#ifndef BACKEND_BACKEND_H
#define BACKEND_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { BACKEND_VERSION = 15 };

enum dtype { DTYPE_F32, DTYPE_BF16, DTYPE_I32 };

/* A view of a matrix: rows of cols elements, `stride` >= cols elements from one row to the next.
 * Borrows its memory. A vector is one row. */
struct tensor {
    void *data;
    int64_t rows, cols, stride;
    enum dtype dtype;
};

/* Values that change between updates and batches; in backend memory, written by upload. */
struct step_state {
    float lr, lr_previous; /* eta of this and of the previous update (lr at the first update) */
    float gradient_scale;  /* 1 / targets of the update */
    float clip;            /* largest gradient norm; 0: no clipping */
    uint32_t update;       /* number of the update, from 0: the counter of dropout */
    uint32_t adam_step;    /* from 1 */
    int64_t first_row;     /* of the current batch: rows of earlier batches of this update */
};

/* Dropout at one site. p = 0: none, and no random number is drawn. With from = first_row + span *
 * step_dev->first_row, the element index within the update is (from + row) * cols + column; for
 * attention ((from + b) * H + h) * T * T + i * T + j. base/philox.h defines the counter. */
struct dropout {
    float p;
    uint64_t key;    /* the run's seed */
    uint32_t stream; /* layer and site: dropout_stream() in ops/ops.h */
    const struct step_state *step_dev;
    int64_t first_row;       /* of this tensor: index in the batch, or in the update if span is 0 */
    int32_t span;            /* rows of this tensor per row of the batch: T; attention: 1 */
    const int32_t *rows_dev; /* NULL: row i has index from + i; else from + rows_dev[i] (a compacted
                                tail; draws of padding rows are not used) */
};

/* The bias of every position method. For head h and distance d = query - key >= 0 it is
 *   bias_table[h][d] if d < bias_table_n, else tail_offset[h] + tail_slope[h] * d.
 * A NULL tail is zero. key_bias_dev is added too: a number of the key alone, which is not a
 * function of the distance (Falcon's rounded ALiBi); forward only, and not with SINKS_CACHE. */
struct attention_bias {
    int32_t bias_table_n;
    const float *bias_table_dev;  /* (H, bias_table_n) fp32 */
    const float *tail_offset_dev; /* (H) fp32 */
    const float *tail_slope_dev;  /* (H) fp32; ALiBi: -m */
    const float *key_bias_dev;    /* (H, T) fp32; NULL: none */
    float *bias_table_grad_dev;   /* (H, bias_table_n) fp32, accumulated by the backward pass; NULL:
                                     not computed */
    float *tail_offset_grad_dev;  /* (H) fp32, with bias_table_grad_dev */
};

/* Rotary positions of q and k: the first P pairs of a head are rotated by the angle of their token.
 * Pair p has features 2p and 2p + 1 (layout 0) or p and p + P (layout 1). */
struct attention_rotary {
    struct tensor cosine, sine; /* (T', P) fp32, T' >= T, P <= D/2, one row per token; or none */
    struct tensor key_cosine, key_sine; /* the same, of k; or none: k is rotated as q */
    int layout; /* enum position_rotary_layout: 0 adjacent pairs, 1 half split */
};

/* Which keys a query sees: key j of query i if j <= i and (window == 0 or i - j < window or j <
 * sinks). The window of head h < narrow_heads has at most h + 1 keys (Hard-ALiBi); with it there
 * are no sinks. With SINKS_TEXT a sink outside the window has distance i - j. With SINKS_CACHE
 * positions are places in a cache of sinks + window keys: for that pair the query is at min(i,
 * sinks + window
 * - 1), in the bias and in rotary alike. All zero: causal. */
enum attention_sink_positions { SINKS_TEXT, SINKS_CACHE };
struct attention_mask {
    int32_t window; /* keys, including the query's own; 0: all */
    int32_t sinks;  /* first keys of the row that stay visible; 0: none */
    enum attention_sink_positions sink_positions;
    int32_t narrow_heads; /* at most H */
};

/* The temperature: query i of head h multiplies its scores, and inside also their biases, by
 *   factor(h, i) = query[i] * head[h]. */
struct attention_temperature {
    const float *query_dev; /* (T) fp32; NULL: every factor is 1 */
    const float *head_dev;  /* (H) fp32; NULL: ones */
    float *head_grad_dev;   /* (H) fp32, accumulated by the backward pass; NULL: not computed */
    bool inside;
};

/* The score of query i and key j gets sum[i] - sum[j], sum = high + low: of the log gates of the
 * tokens of the row so far (op forget_gate). Both or none. */
struct attention_gates {
    struct tensor high, low; /* (B*H, T) fp32 */
    struct tensor dsums; /* (B*H, T) fp32, backward only: gradient of sum, overwritten; or none */
};

enum { ATTENTION_WIDTH_MAX = 256 }; /* of D, on every backend */

/* attention, attention_bwd: causal attention and its gradients. With q and k rotated first,
 *   out[i] = sum over the j that mask lets i see of
 *            dropout(softmax_j(factor(h, i) * q[i] . k[j] * scale + bias(distance) + gates)) v[j]
 * or with the temperature inside factor(h, i) * (q[i] . k[j] * scale + bias(distance)), then
 * without gates. No (T,T) matrix exists in memory. dq and dk are the gradients of q and k before
 * the rotation. The backward pass takes q and k as the forward pass left them: a backend with
 * attention_rotates rotates tiles when it loads them; for others src/ops has rotated q and k in
 * place. */
struct attention {
    int32_t B, T, H, D;
    int32_t K; /* heads of k and v, divides H: head h reads head h / (H / K); 0: H. Backward: H */
    float scale;
    struct tensor q;    /* (B*T, H*D), head h owns the columns from h*D on */
    struct tensor k, v; /* (B*T, K*D); q, k and v are often columns of one tensor */
    struct tensor out;  /* (B*T, H*D) */
    struct tensor lse;  /* (B*H, T) fp32: log of the sum of the softmax */
    struct attention_bias bias;
    struct attention_rotary rotary;
    struct attention_mask mask;
    struct attention_temperature temperature;
    struct attention_gates gates;
    struct dropout dropout;
    struct tensor dout, dq, dk, dv; /* (B*T, H*D), backward only; dq, dk, dv are overwritten */
};

/* The arguments of the ops. A tensor marked "or none" is omitted by data = NULL. Outputs are
 * overwritten, or added to if accumulate is set. Outputs may overlap other arguments only where
 * stated. ops_table.c states the same for programs. */

/* linear: y = x w^T + bias. Sums are fp32. */
struct linear_args {
    struct tensor y;    /* (N,O) of the dtype of x, or fp32 */
    struct tensor x;    /* (N,I) */
    struct tensor w;    /* (O,I) of the dtype of x */
    struct tensor bias; /* (1,O) of the dtype of x, and y too; or none */
    bool accumulate;
};

/* linear_rows: linear, exact by row (rule 6). split: a backend may add products of bf16 parts of x
 * and w, as accurate as fp32, with other bits than those of linear; without it linear_rows has the
 * bits of every earlier version. */
struct linear_rows_args {
    struct tensor y, x, w, bias; /* as of linear */
    bool split;
};

/* linear_relu, fused: y = relu(x w^T + bias). exact: with the bits of linear_rows, also of its
 * split. A backend's own function is called only without dropout. */
struct linear_relu_args {
    struct tensor y, x, w, bias; /* as of linear */
    struct tensor mask;          /* as of relu */
    struct dropout dropout;
    bool exact, split;
};

/* linear_bwd_input: dx = dy w. */
struct linear_bwd_input_args {
    struct tensor dx; /* (N,I) */
    struct tensor dy; /* (N,O) */
    struct tensor w;  /* (O,I) */
    bool accumulate;
};

/* linear_bwd_relu, fused: dx = relu_bwd(dy w). A backend's own function is called only with a
 * mask, and may round once where relu_bwd rounds dy w first. */
struct linear_bwd_relu_args {
    struct tensor dx, dy, w; /* as of linear_bwd_input */
    struct tensor y, mask;   /* (N,I), (N,G): as of relu_bwd */
    struct dropout dropout;
};

/* linear_bwd_weight: dw = dy^T x; dbias = column sums of dy. */
struct linear_bwd_weight_args {
    struct tensor dw;    /* (O,I) fp32 */
    struct tensor dbias; /* (1,O) fp32, or none */
    struct tensor dy;    /* (N,O) */
    struct tensor x;     /* (N,I) */
    bool accumulate;     /* for both */
};

/* gather_rows: y[i] = scale * x[index[i]]; an index below 0 gathers zeros. */
struct gather_rows_args {
    struct tensor y;          /* (N,C) */
    struct tensor x;          /* (M,C) */
    const int32_t *index_dev; /* (N) */
    float scale;
};

/* scatter_rows: y[index[i]] = scale * x[i], or added, in rising i. An index below 0 scatters
 * nothing; rows of y without an index are unchanged. */
struct scatter_rows_args {
    struct tensor y;          /* (M,C) of any dtype */
    struct tensor x;          /* (N,C) */
    const int32_t *index_dev; /* (N) */
    float scale;
    bool accumulate;
};

/* add_rows: y[i] = x[i] + table[index[i]]; y may be x. */
struct add_rows_args {
    struct tensor y, x;       /* (N,C) */
    struct tensor table;      /* (M,C) fp32 */
    const int32_t *index_dev; /* (N) */
};

/* cast: y = x between fp32 and bf16, each with its own stride; rounds to nearest, ties to even. */
struct cast_args {
    struct tensor y, x; /* (N,C) */
};

/* add: y = x + r; they may share memory. */
struct add_args {
    struct tensor y, x, r; /* (N,C) */
};

/* dropout: y = mask * x / (1-p), forward and backward; y may be x. */
struct dropout_args {
    struct tensor y, x; /* (N,C) */
    struct dropout dropout;
};

/* relu: y = dropout(max(x, 0)); y may be x. The mask is a bit an element, for relu_bwd, which then
 * need not read y: bit c % 32 of word c / 32 of a row is 1 where y is not 0. Bits from C on have no
 * meaning. */
struct relu_args {
    struct tensor y, x; /* (N,C) */
    struct tensor mask; /* (N,G) i32, G = relu_mask_words(C); or none */
    struct dropout dropout;
};

/* Rows of a mask are multiples of 16 bytes, as cuBLASLt wants them. */
static inline int64_t relu_mask_words(int64_t C)
{
    return (C + 127) / 128 * 4;
}

/* relu_bwd: dx = dy / (1-p) where y is not 0, else 0; dx may be dy. */
struct relu_bwd_args {
    struct tensor dx, dy; /* (N,C) */
    struct tensor y;      /* (N,C) output of relu */
    struct tensor mask;   /* (N,G) of relu, read instead of y; or none */
    struct dropout dropout;
};

/* activate: y = act(x) * factor. gelu_erf = x / 2 (1 + erf(x / sqrt 2)); gelu_tanh = x / 2 (1 +
 * tanh(sqrt(2 / pi) (x + 0.044715 x^3))); silu = x / (1 + e^-x). y may be x or factor. */
enum activation { ACTIVATE_RELU, ACTIVATE_GELU_ERF, ACTIVATE_GELU_TANH, ACTIVATE_SILU };
struct activate_args {
    struct tensor y, x;   /* (N,C) */
    struct tensor factor; /* (N,C), or none: 1 */
    enum activation kind;
};

/* clamp: y = min(max(x, -limit), limit); y may be x. */
struct clamp_args {
    struct tensor y, x; /* (N,C) */
    float limit;        /* above 0 */
};

/* layernorm: y = (x - mean) * rstd * gain + bias, eps inside the root, biased variance. rms: y = x
 * * rstd * gain, rstd = 1 / sqrt(mean x^2 + eps); forward only. */
struct layernorm_args {
    struct tensor y;     /* (N,C) */
    struct tensor stats; /* (N,2) fp32: mean (rms: 0), reciprocal deviation */
    struct tensor x;     /* (N,C) */
    struct tensor gain;  /* (1,C) fp32 */
    struct tensor bias;  /* (1,C) fp32, or none; none with rms */
    float eps;           /* above 0 */
    bool rms;
};

/* layernorm_bwd: gradients of y = layernorm(x).
 *   dx[i] (+)= rstd[i] * (g - mean(g) - xhat[i] * mean(g * xhat[i])),  g = dy[i] * gain
 * dgain and dbias are always accumulated. */
struct layernorm_bwd_args {
    struct tensor dx;           /* (N,C) written, or added to if accumulate_dx */
    struct tensor dgain, dbias; /* (1,C) fp32 */
    struct tensor dy, x;        /* (N,C) */
    struct tensor stats;        /* (N,2) fp32, of layernorm */
    struct tensor gain;         /* (1,C) fp32 */
    bool accumulate_dx;
};

/* residual_layernorm, fused: s = x + dropout(r); y = layernorm(s). s may be x. */
struct residual_layernorm_args {
    struct tensor s, y;       /* (N,C) */
    struct tensor stats;      /* (N,2) fp32, of s */
    struct tensor x, r;       /* (N,C) */
    struct tensor gain, bias; /* as of layernorm */
    float eps;
    bool rms;
    struct dropout dropout;
};

/* residual_layernorm_bwd, fused: its backward pass. On entry ds is the gradient of s through the
 * residual stream; on return it is the whole gradient of s, and of x. dr = mask * ds / (1-p) of ds
 * as stored. Without dropout dr equals ds: it is not written, and a backend's own function is not
 * called. dgain and dbias are accumulated. */
struct residual_layernorm_bwd_args {
    struct tensor ds;           /* (N,C) added to */
    struct tensor dr;           /* (N,C), or none without dropout */
    struct tensor dgain, dbias; /* (1,C) fp32 */
    struct tensor dy, s;        /* (N,C) */
    struct tensor stats;        /* (N,2) fp32, of s */
    struct tensor gain;         /* (1,C) fp32 */
    struct dropout dropout;
};

/* forget_gate: sum[b * H + h][t] = sum over tokens u <= t of row b of ln sigmoid(z + bias), summed
 * in double. */
struct forget_gate_args {
    int32_t B, T, H;
    struct tensor high, low; /* (B*H, T) fp32: sum rounded, and the rest */
    struct tensor z;         /* (B*T, H) fp32; or none: 0 */
    struct tensor bias;      /* (1,H) fp32 */
};

/* forget_gate_bwd: its gradients, summed in double. */
struct forget_gate_bwd_args {
    int32_t B, T, H;
    struct tensor dz;      /* (B*T, H), or none */
    struct tensor dbias;   /* (1,H) fp32, accumulated */
    struct tensor dsums;   /* (B*H, T) fp32 */
    struct tensor z, bias; /* as of forget_gate */
};

/* rotary: rotates the pairs of x in place by the angles of their tokens, as struct attention_rotary
 * says. NULL if attention_rotates. */
struct rotary_args {
    struct tensor x;            /* (B*T, H*D), D even */
    struct tensor cosine, sine; /* (T', P) fp32, T' >= T, P <= D/2 */
    int32_t T, H;
    int layout;   /* enum position_rotary_layout: 0 adjacent pairs, 1 half split */
    bool inverse; /* rotates back: the backward pass */
};

/* softmax_loss: loss[i] = -log softmax(logits[i])[target[i]] in nats, 0 for target -1. gradient:
 * overwrites logits with the gradient of the sum of loss. Sums and logarithms are in double or
 * compensated fp32. */
struct softmax_loss_args {
    struct tensor loss;        /* (1,N) fp32 */
    struct tensor logits;      /* (N,V) */
    const int32_t *target_dev; /* (N) */
    bool gradient;
};

/* softmax_logp: logp[i] = log p of target[i], 0 for target -1, exact by row; added to logp if
 * accumulate (for a tail). If given, best_class is the highest of the first V - E + 1 classes, the
 * lowest of several that are equal, or -1 if a logit of the row is NaN or +infinity, or all are
 * -infinity; best is its log p, then log p of each later class. At most 2^24 classes, so that fp32
 * has their numbers. */
struct softmax_logp_args {
    struct tensor logp;        /* (1,N) fp32 */
    struct tensor best_class;  /* (1,N) fp32; data NULL: neither */
    struct tensor best;        /* (N,E) fp32, E <= V */
    struct tensor logits;      /* (N,V) */
    const int32_t *target_dev; /* (N) */
    bool accumulate;
};

/* sum_losses: out = sum of loss in double, in a fixed order. */
struct sum_losses_args {
    double *out_dev;
    struct tensor loss; /* (1,N) fp32 */
};

/* sum_squares: out[j] = sum of x^2 over part j, which has the elements from j * part on; the last
 * one may be shorter. The order of a part's additions depends on `part` alone. */
struct sum_squares_args {
    double *out_dev;    /* (ceil(n / part)) */
    const float *x_dev; /* (n) */
    int64_t n;
    int64_t part; /* 0: n */
};

/* nag, adam: one update of a whole parameter array of n elements (gaps are zero). The gradient is
 * first multiplied by gradient_scale and by the clip factor min(1, clip / (norm + 1e-6)), norm =
 * gradient_scale * sqrt(squares). If the norm is not finite, nothing changes. */
struct nag_args {
    float *theta_dev, *momentum_dev; /* (n) */
    const float *grad_dev;           /* (n) */
    int64_t n;
    float mu, weight_decay;
    const double *squares_dev; /* of sum_squares */
    const struct step_state *step_dev;
    void *bf16_dev; /* (n) bf16: the new weights, rounded like cast; NULL: none */
};

struct adam_args {
    float *theta_dev, *m_dev, *v_dev; /* (n) */
    const float *grad_dev;            /* (n) */
    int64_t n;
    float beta1, beta2, eps, weight_decay;
    const double *squares_dev;
    const struct step_state *step_dev;
    void *bf16_dev; /* as in nag_args */
};

/* tree_add: y = sum(0, TREE_ADD_MAX) of a binary tree over the operands,
 *   sum(k, k + 1) = x_k,  sum(lo, hi) = sum(lo, mid) + sum(mid, hi),  mid = (lo + hi) / 2.
 * An absent operand adds nothing, not even 0 (-0 + 0 is +0): where one side of a sum is absent, the
 * result is the other side, unchanged. y may be any x_k. */
enum { TREE_ADD_MAX = 32 };
struct tree_add_args {
    float *y_dev;                     /* (n) */
    const float *x_dev[TREE_ADD_MAX]; /* each (n), or NULL: absent; at least one is given */
    int64_t n;
};

/* sum_doubles: out = x_0 + ... + x_{n-1}, from left to right. */
struct sum_doubles_args {
    double *out_dev;
    const double *x_dev; /* (n) */
    int64_t n;
};

/* Every op: enumerator, function, argument struct. Code that lists or wraps ops derives from these
 * lists and ops_table.c. A row op is one kernel in every backend, which takes the argument struct
 * and computes each of N rows alone: backends declare and call it by the first list. src/ops
 * composes the third of other ops where a backend has none, or rotates q and k for them. */
#define BACKEND_ROW_OPS(OP)                                                                        \
    OP(GATHER_ROWS, gather_rows, gather_rows_args)                                                 \
    OP(ADD_ROWS, add_rows, add_rows_args)                                                          \
    OP(CAST, cast, cast_args)                                                                      \
    OP(ADD, add, add_args)                                                                         \
    OP(DROPOUT, dropout, dropout_args)                                                             \
    OP(RELU, relu, relu_args)                                                                      \
    OP(RELU_BWD, relu_bwd, relu_bwd_args)                                                          \
    OP(ACTIVATE, activate, activate_args)                                                          \
    OP(CLAMP, clamp, clamp_args)                                                                   \
    OP(SOFTMAX_LOSS, softmax_loss, softmax_loss_args)                                              \
    OP(SOFTMAX_LOGP, softmax_logp, softmax_logp_args)
#define BACKEND_PLAIN_OPS(OP)                                                                      \
    BACKEND_ROW_OPS(OP)                                                                            \
    OP(LINEAR, linear, linear_args)                                                                \
    OP(LINEAR_ROWS, linear_rows, linear_rows_args)                                                 \
    OP(LINEAR_BWD_INPUT, linear_bwd_input, linear_bwd_input_args)                                  \
    OP(LINEAR_BWD_WEIGHT, linear_bwd_weight, linear_bwd_weight_args)                               \
    OP(SCATTER_ROWS, scatter_rows, scatter_rows_args)                                              \
    OP(LAYERNORM, layernorm, layernorm_args)                                                       \
    OP(LAYERNORM_BWD, layernorm_bwd, layernorm_bwd_args)                                           \
    OP(FORGET_GATE, forget_gate, forget_gate_args)                                                 \
    OP(FORGET_GATE_BWD, forget_gate_bwd, forget_gate_bwd_args)                                     \
    OP(SUM_LOSSES, sum_losses, sum_losses_args)                                                    \
    OP(SUM_SQUARES, sum_squares, sum_squares_args)                                                 \
    OP(NAG, nag, nag_args)                                                                         \
    OP(ADAM, adam, adam_args)                                                                      \
    OP(TREE_ADD, tree_add, tree_add_args)                                                          \
    OP(SUM_DOUBLES, sum_doubles, sum_doubles_args)
#define BACKEND_COMPOSED_OPS(OP)                                                                   \
    OP(LINEAR_RELU, linear_relu, linear_relu_args)                                                 \
    OP(LINEAR_BWD_RELU, linear_bwd_relu, linear_bwd_relu_args)                                     \
    OP(RESIDUAL_LAYERNORM, residual_layernorm, residual_layernorm_args)                            \
    OP(RESIDUAL_LAYERNORM_BWD, residual_layernorm_bwd, residual_layernorm_bwd_args)                \
    OP(ROTARY, rotary, rotary_args)                                                                \
    OP(ATTENTION, attention, attention)                                                            \
    OP(ATTENTION_BWD, attention_bwd, attention)
#define BACKEND_OPS(OP) BACKEND_PLAIN_OPS(OP) BACKEND_COMPOSED_OPS(OP)

#define OP_ENUMERATOR(NAME, name, args) OP_##NAME,
enum op { BACKEND_OPS(OP_ENUMERATOR) OPS_N };
#undef OP_ENUMERATOR

struct backend;
struct group;
struct group_transfer;

struct backend_ops {
    /* lifetime and memory */
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
    /* peak_bytes - the peak memory of this process on the device, as counted by the driver or the
     * kernel. */
    int (*peak_bytes)(struct backend *, int64_t *out, struct err *);

    /* the ops, documented at their argument structs above */
#define OP_FUNCTION(NAME, name, args)                                                              \
    int (*name)(struct backend *, const struct args *, struct err *);
    BACKEND_OPS(OP_FUNCTION)
#undef OP_FUNCTION
    /* attention_rotates: whether attention and attention_bwd apply struct attention_rotary. */
    int attention_rotates;
    /* host_memory: whether alloc returns memory of the host, and work is done when a call returns.
     */
    int host_memory;

    /* Graphs; all four NULL if not supported. Between graph_begin and graph_end, ops, copy and zero
     * are captured with their arguments instead of executed. During capture nothing may allocate,
     * transfer to or from the host, synchronise, or select algorithms by timing (ERR_INTERNAL names
     * the attempt); therefore the same work is executed once before its capture. Without graph_out
     * the capture is discarded, as after an error. graph_launch executes the captured work on the
     * current contents of the same memory. */
    int (*graph_begin)(struct backend *, struct err *);
    int (*graph_end)(struct backend *, void **graph_out, struct err *);
    int (*graph_launch)(struct backend *, void *graph, struct err *);
    void (*graph_free)(struct backend *, void *graph); /* takes NULL */

    /* Algorithm choices; all NULL if not supported. choices writes the GEMM algorithms selected by
     * timing as text, truncated to bytes, and returns its length without the final 0.
     * restore_choices, called before the first op, reads such a text: the algorithms it names are
     * not timed again, so that results keep their bits. ERR_DATA: the text is of another library or
     * device; nothing is restored. close_choices - from now on nothing is timed: what has no
     * algorithm gets the first that the library names, which depends on library and device alone.
     */
    size_t (*choices)(struct backend *, char *text, size_t bytes);
    int (*restore_choices)(struct backend *, const char *text, struct err *);
    void (*close_choices)(struct backend *);

    /* Ranks of one training (group/group.h). group_join - this process is a rank of g, which is
     * borrowed and outlives the backend; called once, before the first op. exchange - as
     * group_exchange, with memory of the device: queued like an op, so that it follows earlier ops
     * and later ones follow it; the list may be freed at once. Not during a capture. A backend
     * without group_join refuses trainings on several devices. */
    int (*group_join)(struct backend *, struct group *g, struct err *);
    int (*exchange)(struct backend *, const struct group_transfer *list, int32_t n, struct err *);
};

/* An open backend. Implementations embed it as their first member. */
struct backend {
    const struct backend_ops *ops;
    char name[32];   /* as opened: cpu, cuda:0, check:cpu */
    char device[96]; /* for people: "AMD EPYC, 1 thread" */
    char blas[96];   /* library, version and kernels in use */
    int32_t threads;
    enum dtype precision;        /* of activations */
    struct group *group;         /* after group_join; NULL: this process computes alone */
    char transport[64];          /* then for people, of exchange: "NCCL 2.27.5"; "": sockets */
    char transport_warning[256]; /* why no faster transport is used; "": there is none */
    /* src/ops calls it before each op, in any pass of any model; an error ends the op. NULL: none.
     */
    int (*tick)(void *context, struct err *e);
    void *tick_context;
};

/* backend_open - opens a registered backend, cuda:N, or check:NAME, which wraps NAME in the
 * checking backend. threads: of the CPU backend; 0 means 1. Errors: ERR_USAGE unknown name;
 * ERR_UNAVAILABLE with the reason (no driver, library not built, no such device). */
int backend_open(struct backend **out, const char *name, int32_t threads, enum dtype precision,
                 struct err *e);
void backend_close(struct backend *b); /* takes NULL */
/* backend_transport - transport of struct backend_library for cuda:N, without opening the device.
 */
int backend_transport(const char *name, char *text, size_t bytes, struct err *e);

/* How a backend describes itself. One with `open` is a device; one with `wrap` is opened as
 * NAME:INNER around another backend, which it owns, even if wrap fails. transport describes how
 * its ranks would exchange ("NCCL 2.27.5"), without a device: ERR_NOINPUT through host memory,
 * since a library was not found; ERR_UNAVAILABLE not at all. A program registers the backends that
 * it links. libalibi_cuda.so is loaded on demand and exports `const struct backend_library
 * *alibi_backend_library(void)`. */
struct backend_library {
    int32_t version; /* BACKEND_VERSION */
    const char *name;
    int (*open)(struct backend **out, int ordinal, int32_t threads, enum dtype precision,
                struct err *e);
    int (*wrap)(struct backend **out, struct backend *inner_own, struct err *e);
    int (*transport)(char *text, size_t bytes, struct err *e);
};
/* backend_register - makes a linked backend known to backend_open. Call it before threads start. */
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
