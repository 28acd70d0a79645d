/* heads.c - what attention heads do with rows of text: the first key's share, entropy, distance,
 * the bounds of the decay, and rollouts.
 *
 * 1. The bounds: with a bias of -m * distance and logits in [a, b] a weight at distance d is at
 *    least (1 - e^-m) e^(a-b) e^(-m d) and at most e^(b-a) e^(-m d). a and b are those of the row.
 *    A weight that fp32 cannot hold counts as the smallest that it can.
 * 2. A rollout multiplies the matrices of weights of a head's layers, from the top one down, for
 *    the last query of a row. It is recorded after 1, 2, 4 and so on layers and after all, at the
 *    first distance of each bin.
 * 3. The op attention does not output weights. If the values are unit vectors, its output is the
 *    weights of as many keys as a head has features. So whatever the arguments of a layer's
 *    attention say holds here too: bias, rotation, mask, on every backend.
 * 4. Without the bias a logit is the logarithm of the weight plus that of the softmax sum.
 * 5. The op may rotate q and k in place, so that each call has copies. */
#include "worker/heads.h"

#include <assert.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "base/philox.h"
#include "data/tokens.h"
#include "data/windows.h"
#include "model/model.h"
#include "ops/ops.h"
#include "position/position.h"
#include "worker/evaluate.h"
#include "worker/state.h"

enum heads_text { HEADS_NATURAL, HEADS_RANDOM, HEADS_REPEATED, HEADS_TEXTS_N };
static const char *const text_names[] = {"natural", "random", "repeated"};

enum { HEADS_STREAM = 0x48454144 }; /* of the drawn words */

/* The attention of a layer, on its way to the host. */
struct reader {
    struct backend *b;
    heads_fn *see;
    void *context;
    bool has_slopes;                /* of the position method */
    struct tensor q, k, value, out; /* (T,HD), k and value (T,KD) */
    struct tensor lse;              /* (H,T) */
    float *rows, *lse_host;         /* (T,HD), (H,T) */
    struct heads_layer layer;
};

/* Sums over rows of the means over queries, and extremes. */
struct head_sums {
    double first_weight, entropy, distance;
    double logit_low, logit_high, slope, excess; /* the last two: NaN without a slope */
};
_Static_assert(sizeof(struct head_sums) == SHAPE_HEAD_SUMS * sizeof(double), "see shape_heads");

struct heads {
    struct worker *worker;
    const struct spec *trained;
    const struct spec_eval *eval;
    struct model *model;
    struct windows windows; /* the next natural row */
    int32_t H, layers, L;
    struct head_sums *sums_own; /* (layers,H) of the current text; the first of the arrays */
    double *rollout;            /* (layers,H,L) sums by distance after so many layers */
    double *row, *spare;        /* (L) */
    float *weight;              /* (layers,H,L,L) of the current row */
    int32_t *source, *target;   /* (L) */
};

/* --- a layer -------------------------------------------------------------------------------- */

/* Divides what shape_heads states among the arrays. */
static void reader_divide(struct reader *s, float *dev, float *host, int32_t kv_cols)
{
    struct tensor *const tensors[] = {&s->q, &s->k, &s->value, &s->out};
    int64_t T = s->layer.T, H = s->layer.H, n = s->q.rows * s->q.cols, square = H * T * T;

    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++, dev += n)
        *tensors[i] = tensor_make(dev, T, n / T, DTYPE_F32);
    s->k.cols = s->k.stride = s->value.cols = s->value.stride = kv_cols;
    s->lse = tensor_make(dev, H, T, DTYPE_F32);
    s->layer.weight = host;
    s->layer.logit = host + square;
    s->layer.slope = NULL;
    s->rows = host + 2 * square + H;
    s->lse_host = s->rows + n;
}

/* Sets the values to unit vectors: feature c of every head belongs to key first + c. */
static int upload_units(struct reader *s, int32_t first, int32_t width, struct err *e)
{
    int64_t n = s->value.rows * s->value.cols;

    memset(s->rows, 0, (size_t)n * sizeof *s->rows);
    for (int32_t c = 0; c < width && first + c < s->layer.T; c++)
        for (int64_t h = 0; h < s->value.cols / width; h++)
            s->rows[(int64_t)(first + c) * s->value.cols + h * width + c] = 1.0f;
    return s->b->ops->upload(s->b, s->value.data, s->rows, (size_t)n * sizeof *s->rows, e);
}

/* Writes the weights (H,T,T) of the attention, and its sums to lse_host. */
static int download_weights(struct reader *s, struct attention a, float *weight, struct err *e)
{
    const struct backend_ops *ops = s->b->ops;
    struct tensor q = a.q, k = a.k;
    int32_t T = a.T, D = a.D;

    a.q = s->q;
    a.k = s->k;
    a.v = s->value;
    a.out = s->out;
    a.lse = s->lse;
    for (int32_t first = 0; first < T; first += D) {
        TRY(upload_units(s, first, D, e));
        TRY(OPS(s->b, cast, e, .y = a.q, .x = q));
        TRY(OPS(s->b, cast, e, .y = a.k, .x = k));
        TRY(ops_attention(s->b, &a, e));
        TRY(ops->download(s->b, s->rows, s->out.data, (size_t)(T * s->out.cols) * sizeof *s->rows,
                          e));
        for (int32_t h = 0; h < a.H; h++)
            for (int32_t i = 0; i < T; i++)
                for (int32_t c = 0; c < D && first + c < T; c++)
                    weight[((int64_t)h * T + i) * T + first + c] =
                        s->rows[i * s->out.cols + h * D + c];
    }
    return ops->download(s->b, s->lse_host, s->lse.data,
                         (size_t)a.H * (size_t)T * sizeof *s->lse_host, e);
}

/* The slopes of a method whose bias is one for each head, where it is that at every distance: with
 * sinks the distances are those of a cache, a temperature inside multiplies the bias of each query
 * by its own factor, and a bias of each key has no distances. A table has the slope at distance 1.
 */
static int download_slopes(struct reader *s, const struct attention *a, struct err *e)
{
    struct heads_layer *layer = &s->layer;
    const struct attention_bias *bias = &a->bias;
    int32_t n = bias->bias_table_n;

    layer->slope = NULL;
    if (!s->has_slopes || (n < 2 && bias->tail_slope_dev == NULL) || a->mask.sinks > 0 ||
        a->temperature.inside)
        return 0;
    layer->slope = layer->logit + (int64_t)a->H * a->T * a->T;
    for (int32_t h = 0; h < a->H; h++) {
        const float *dev =
            n > 1 ? bias->bias_table_dev + (int64_t)h * n + 1 : bias->tail_slope_dev + h;
        TRY(s->b->ops->download(s->b, &layer->slope[h], dev, sizeof *dev, e));
        layer->slope[h] = -layer->slope[h];
    }
    return 0;
}

static int read_layer(void *context, const struct attention *a, int32_t l, struct err *e)
{
    struct reader *s = context;
    struct attention plain = *a;
    int64_t rows = (int64_t)a->H * a->T;

    plain.bias = (struct attention_bias){0};
    TRY(download_weights(s, plain, s->layer.logit, e));
    for (int64_t i = 0; i < rows * a->T; i++)
        s->layer.logit[i] = logf(s->layer.logit[i]) + s->lse_host[i / a->T];
    TRY(download_weights(s, *a, s->layer.weight, e));
    TRY(download_slopes(s, a, e));
    s->layer.layer = l;
    return s->see(s->context, &s->layer, e);
}

static int no_memory(const struct spec_model *model, int32_t L, struct err *e)
{
    struct shape_heads need;

    shape_heads(&need, model, L);
    return ERR(e, ERR_NOMEM,
               "out of memory: eval.attention_rows needs %" PRId64
               " MB for rows of eval.L = %d tokens; lower eval.L, or set eval.attention_rows to 0",
               (need.device_bytes + need.layer_bytes + need.row_bytes) / 1000000, L);
}

int heads_see(struct model *m, struct backend *b, const struct spec_model *model,
              const struct model_batch *batch, heads_fn *see, void *context, struct err *e)
{
    int32_t H = model->heads, T = batch->length, width = spec_head_width(model);
    struct reader s = {.b = b,
                       .see = see,
                       .context = context,
                       .has_slopes = position_methods[model->position].functions->has_slopes,
                       .layer = {.H = H, .T = T}};
    struct shape_heads need;
    void *dev = NULL;
    int rc = 0;

    if (b->precision != DTYPE_F32)
        return ERR(e, ERR_UNAVAILABLE, "attention weights: bf16 is not supported, only fp32");
    shape_heads(&need, model, T);
    float *host = malloc((size_t)need.layer_bytes);
    if (!host) return no_memory(model, T, e);
    TRY_OUT(rc, b->ops->alloc(b, &dev, (size_t)need.device_bytes, e));
    s.q = tensor_make(dev, T, (int64_t)H * width, DTYPE_F32);
    reader_divide(&s, dev, host, spec_kv_heads(model) * width);
    rc = model_attend(m, batch, read_layer, &s, e);
out:
    if (rc == ERR_NOMEM) rc = no_memory(model, T, e);
    if (dev) b->ops->release(b, dev);
    free(host);
    return rc;
}

/* --- a row ---------------------------------------------------------------------------------- */

static int32_t draw_word(const struct heads *s, uint64_t element, enum heads_text text)
{
    uint64_t words = (uint64_t)s->trained->data.vocab - TOKEN_SPECIALS_N;
    uint64_t word =
        philox_word((uint64_t)s->trained->train.seed, element, (uint32_t)text, HEADS_STREAM);
    return (int32_t)(TOKEN_SPECIALS_N + (word * words >> 32));
}

/* Finds the next window that fills a row; false: there is none. */
static bool next_window(struct heads *s, struct window *w)
{
    while (windows_next(&s->windows, w))
        if (w->length == s->L) return true;
    return false;
}

static void fill_row(struct heads *s, enum heads_text text, int32_t row)
{
    int64_t first = (int64_t)row * s->L;
    struct window w;

    if (text == HEADS_NATURAL) {
        bool found = next_window(s, &w);
        assert(found);
        tokens_read_row(s->windows.tokens, w.first, s->L, s->L, s->source, s->target);
        return;
    }
    for (int32_t t = 0; t < s->L; t++)
        s->source[t] = draw_word(s, (uint64_t)(text == HEADS_RANDOM ? first + t : row), text);
}

/* The row's extremes of the logits that a head's queries see. */
static void add_logits(struct head_sums *sum, const float *logit, int32_t T, double range[2])
{
    range[0] = INFINITY;
    range[1] = -INFINITY;
    for (int32_t i = 0; i < T; i++)
        for (int32_t j = 0; j <= i; j++) {
            double x = (double)logit[i * T + j];
            if (x == -INFINITY) continue;
            range[0] = fmin(range[0], x);
            range[1] = fmax(range[1], x);
        }
    sum->logit_low = fmin(sum->logit_low, range[0]);
    sum->logit_high = fmax(sum->logit_high, range[1]);
}

/* Adds the means over the queries of a row. */
static void add_weights(struct head_sums *sum, const float *weight, int32_t T)
{
    double first = 0.0, entropy = 0.0, distance = 0.0;

    for (int32_t i = 0; i < T; i++) {
        first += (double)weight[i * T];
        for (int32_t j = 0; j <= i; j++) {
            double w = (double)weight[i * T + j];
            if (w > 0.0) entropy -= w * log(w);
            distance += w * (i - j);
        }
    }
    sum->first_weight += first / T;
    sum->entropy += entropy / T;
    sum->distance += distance / T;
}

/* Rule 1: how far the logarithm of a weight is outside the bounds; negative inside. */
static void add_excess(struct head_sums *sum, const float *weight, const float *logit, int32_t T,
                       double m, const double range[2])
{
    double width = range[1] - range[0], least = log(-expm1(-m));

    for (int32_t i = 0; i < T; i++)
        for (int32_t j = 0; j <= i; j++) {
            if (logit[i * T + j] == -INFINITY) continue;
            double w = log(fmax((double)weight[i * T + j], (double)FLT_MIN)), decay = -m * (i - j);
            double above = w - fmax(width + decay, log((double)FLT_MIN));
            double below = least - width + decay - w;
            sum->excess = fmax(sum->excess, fmax(above, below));
        }
}

/* Adds a layer of the current row, whose weights are kept for the rollout. */
static int see_layer(void *context, const struct heads_layer *layer, struct err *e)
{
    struct heads *s = context;
    int32_t T = layer->T;
    int64_t square = (int64_t)T * T;

    (void)e;
    memcpy(s->weight + (int64_t)layer->layer * s->H * square, layer->weight,
           (size_t)(s->H * square) * sizeof *s->weight);
    for (int32_t h = 0; h < s->H; h++) {
        struct head_sums *sum = &s->sums_own[(int64_t)layer->layer * s->H + h];
        const float *weight = layer->weight + h * square, *logit = layer->logit + h * square;
        double range[2];
        add_logits(sum, logit, T, range);
        add_weights(sum, weight, T);
        if (!layer->slope) continue;
        if (isnan(sum->slope)) sum->excess = -INFINITY;
        sum->slope = (double)layer->slope[h];
        add_excess(sum, weight, logit, T, sum->slope, range);
    }
    return 0;
}

void heads_roll(double *row, double *spare, const float *weight, int32_t T)
{
    memset(spare, 0, (size_t)T * sizeof *spare);
    for (int32_t i = 0; i < T; i++)
        for (int32_t j = 0; j <= i; j++) spare[j] += row[i] * (double)weight[i * T + j];
    memcpy(row, spare, (size_t)T * sizeof *row);
}

/* Whether a rollout of the first n layers is recorded. */
static bool rolls(const struct heads *s, int32_t n)
{
    return (n & (n - 1)) == 0 || n == s->layers;
}

/* Rule 2. */
static void add_rollouts(struct heads *s)
{
    int64_t square = (int64_t)s->L * s->L;

    for (int32_t n = 1; n <= s->layers; n++)
        for (int32_t h = 0; rolls(s, n) && h < s->H; h++) {
            double *sum = s->rollout + ((int64_t)(n - 1) * s->H + h) * s->L;
            memset(s->row, 0, (size_t)s->L * sizeof *s->row);
            s->row[s->L - 1] = 1.0;
            for (int32_t l = n - 1; l >= 0; l--)
                heads_roll(s->row, s->spare, s->weight + ((int64_t)l * s->H + h) * square, s->L);
            for (int32_t d = 0; d < s->L; d++) sum[d] += s->row[s->L - 1 - d];
        }
}

/* --- a text --------------------------------------------------------------------------------- */

static int read_text(struct heads *s, enum heads_text text, struct err *e)
{
    int64_t heads_n = (int64_t)s->layers * s->H;
    const struct model_batch batch = {
        .source = s->source, .target = s->target, .rows = 1, .length = s->L, .stated_length = s->L};

    for (int64_t i = 0; i < heads_n; i++)
        s->sums_own[i] = (struct head_sums){.logit_low = INFINITY,
                                            .logit_high = -INFINITY,
                                            .slope = (double)NAN,
                                            .excess = (double)NAN};
    memset(s->rollout, 0, (size_t)(heads_n * s->L) * sizeof *s->rollout);
    for (int32_t row = 0; row < s->eval->attention_rows; row++) {
        TRY(worker_check_stop(s->worker, e));
        fill_row(s, text, row);
        TRY(heads_see(s->model, s->worker->backend, &s->trained->model, &batch, see_layer, s, e));
        add_rollouts(s);
    }
    return 0;
}

static int record_rollouts(const struct heads *s, const char *run_id, const char *text, int32_t n,
                           struct err *e)
{
    for (int32_t h = 0; h < s->H; h++)
        for (int32_t k = 0; evaluate_bin_first(k) < s->L; k++) {
            int32_t d = evaluate_bin_first(k);
            const struct record r = {
                .type = EVENT_ROLLOUT,
                .rollout = {.run_id = run_id,
                            .text = text,
                            .layers = n,
                            .head = h + 1,
                            .distance = d,
                            .weight = s->rollout[((int64_t)(n - 1) * s->H + h) * s->L + d] /
                                      s->eval->attention_rows}};
            TRY(record_write(s->worker->events, &r, e));
        }
    return 0;
}

static int record_text(const struct heads *s, const char *run_id, const char *text, struct err *e)
{
    double rows = s->eval->attention_rows;

    for (int32_t i = 0; i < s->layers * s->H; i++) {
        const struct head_sums *sum = &s->sums_own[i];
        const struct record r = {.type = EVENT_HEAD,
                                 .head = {.run_id = run_id,
                                          .text = text,
                                          .layer = i / s->H + 1,
                                          .head = i % s->H + 1,
                                          .rows = s->eval->attention_rows,
                                          .first_weight = sum->first_weight / rows,
                                          .entropy = sum->entropy / rows,
                                          .distance = sum->distance / rows,
                                          .logit_low = sum->logit_low,
                                          .logit_high = sum->logit_high,
                                          .slope = sum->slope,
                                          .bound_excess = sum->excess}};
        TRY(record_write(s->worker->events, &r, e));
    }
    for (int32_t n = 1; n <= s->layers; n++)
        if (rolls(s, n)) TRY(record_rollouts(s, run_id, text, n, e));
    return 0;
}

static int open_arrays(struct heads *s, struct err *e)
{
    int64_t heads_n = (int64_t)s->layers * s->H, L = s->L;
    struct shape_heads need;

    shape_heads(&need, &s->trained->model, s->L);
    s->sums_own = calloc(1, (size_t)need.row_bytes);
    if (!s->sums_own) return no_memory(&s->trained->model, s->L, e);
    s->rollout = (double *)(s->sums_own + heads_n);
    s->row = s->rollout + heads_n * L;
    s->spare = s->row + L;
    s->weight = (float *)(s->spare + L);
    s->source = (int32_t *)(s->weight + heads_n * L * L);
    s->target = s->source + L;
    return 0;
}

int heads_record(struct worker *a, int32_t spec, const struct spec *trained, struct model *m,
                 const struct tokens *tokens, struct err *e)
{
    const struct spec_eval *eval = &a->spec[spec].eval;
    int64_t rows_n = 0;
    struct heads s = {.worker = a,
                      .trained = trained,
                      .eval = eval,
                      .model = m,
                      .H = trained->model.heads,
                      .layers = trained->model.layers,
                      .L = eval->L};
    int rc = 0;

    if (eval->attention_rows == 0) return 0;
    TRY(windows_make(&s.windows, tokens, WINDOWS_STRIDE, s.L, s.L, 0, e));
    const struct windows all = s.windows;
    for (struct window w; next_window(&s, &w);) rows_n++;
    s.windows = all;
    if (rows_n < eval->attention_rows)
        return ERR(e, ERR_DATA,
                   "eval.attention_rows: %d rows of eval.L = %d tokens, but the split has only "
                   "%" PRId64 " tokens",
                   eval->attention_rows, eval->L, tokens->n);
    TRY(open_arrays(&s, e));
    for (int32_t text = 0; rc == 0 && text < HEADS_TEXTS_N; text++) {
        rc = read_text(&s, text, e);
        if (rc == 0) rc = record_text(&s, a->run_id[spec], text_names[text], e);
    }
    free(s.sums_own);
    return rc;
}
