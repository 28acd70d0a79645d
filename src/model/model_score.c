/* model_score.c - computes log p of chosen targets, their keys, and whole distributions, and shows
 * the attention of a row.
 *
 * All linear ops are exact by row, so the bits of a position depend only on the tokens of its row
 * up to it. Logits are computed only at scored positions, one chunk of rows at a time. */
#include <inttypes.h>
#include <math.h>

#include "model/model_graph.h"
#include "model/model_lists.h"
#include "model/model_memory.h"
#include "model/model_pass.h"
#include "model/model_position.h"
#include "model/model_stream.h"
#include "model/model_struct.h"
#include "model/model_weights.h"

/* SHAPE_LOSS: log p of the rows of the head, then of each tail. With capacity.hits each of these
 * rows also has its best class, and then its best log p; in the head followed by log p of each
 * tail. */
struct score_layout {
    int64_t rows_n;           /* of head and tails */
    int64_t heads_n, bests_n; /* of the head: rows, and columns of best */
};

static struct score_layout score_layout(const struct model *m)
{
    struct score_layout l = {
        .rows_n = m->lists.chosen.n, .heads_n = m->lists.chosen.n, .bests_n = m->bands.n};
    for (int32_t band = 1; band < m->bands.n; band++) l.rows_n += m->lists.tail_row[band].n;
    return l;
}

/* Returns the index at which the best log p of a row begins. */
static int64_t best_at(const struct score_layout *l, int64_t row)
{
    int64_t at = 2 * l->rows_n;
    return row < l->heads_n ? at + row * l->bests_n
                            : at + l->heads_n * l->bests_n + row - l->heads_n;
}

/* Computes logits of the rows of x. Only a head may have a bias. */
static int logits_of(struct model *m, struct tensor *logits, const struct tensor *x,
                     const struct tensor *table, struct err *e)
{
    TRY(OPS(m->b, linear_rows, e, .y = *logits, .x = *x, .w = *table, .split = model_splits(m)));
    if (m->values.head_bias.data == NULL) return 0;
    return OPS(m->b, add_rows, e, .y = *logits, .x = *logits, .table = m->values.head_bias,
               .index_dev = model_list_dev(m, &m->lists.zero));
}

/* Computes log p of the given class of each row of x, over the classes of a table. */
static int softmax_score(struct model *m, const struct tensor *x, const struct tensor *table,
                         const struct model_list *target, int64_t out_from, struct err *e)
{
    const struct score_layout l = score_layout(m);
    float *loss_dev = m->buffers.loss.data;
    int64_t step = model_logits_rows(m, table->rows, false);
    for (int64_t row = 0; row < x->rows; row += step) {
        int64_t n = x->rows - row < step ? x->rows - row : step, at = out_from + row;
        struct tensor part = model_rows(x, row, n), best_class = {0}, best = {0};
        struct tensor logits = model_logits(&m->buffers.scores, n, table->rows);
        struct tensor logp = tensor_make(loss_dev + at, 1, n, DTYPE_F32);
        if (m->capacity.hits) {
            int64_t cols = out_from < l.heads_n ? l.bests_n : 1;
            best_class = tensor_make(loss_dev + l.rows_n + at, 1, n, DTYPE_F32);
            best = tensor_make(loss_dev + best_at(&l, at), n, cols, DTYPE_F32);
        }
        TRY(logits_of(m, &logits, &part, table, e));
        TRY(OPS(m->b, softmax_logp, e, .logp = logp, .logits = logits, .best_class = best_class,
                .best = best, .target_dev = model_list_dev(m, target) + row));
    }
    return 0;
}

/* Computes y = x P of a tail, exact by row. */
static int tail_input(struct model *m, struct tensor *y, const struct tensor *x, int32_t band,
                      struct err *e)
{
    return OPS(m->b, linear_rows, e, .y = *y, .x = *x, .w = m->buffers.transposed[band]);
}

/* Writes log p within each tail, for its rows, to out[from …]. x and y use buffers that the layers
 * no longer need. */
static int score_tails(struct model *m, const struct tensor *chosen, int64_t from, struct err *e)
{
    for (int32_t band = 1; band < m->bands.n; band++) {
        int64_t n = m->lists.tail_row[band].n, done = 0;
        while (done < n) {
            int64_t part = n - done < m->tokens_max ? n - done : m->tokens_max;
            struct tensor x = model_view(&m->buffers.narrow, part, m->spec.model.dim);
            struct tensor y = model_view(&m->buffers.tail, part, m->bands.band[band].width);
            const int32_t *rows_dev = model_list_dev(m, &m->lists.tail_row[band]) + done;
            struct model_list target = m->lists.tail_class[band];
            target.offset += done;
            TRY(OPS(m->b, gather_rows, e, .y = x, .x = *chosen, .index_dev = rows_dev,
                    .scale = 1.0f));
            TRY(tail_input(m, &y, &x, band, e));
            TRY(softmax_score(m, &y, &m->values.table[band], &target, from, e));
            done += part;
            from += part;
        }
    }
    return 0;
}

/* The most probable word at position i, by the words of the head and the best of each tail; -1:
 * none. */
static int32_t best_word(const struct model *m, const struct score_layout *l, int64_t i)
{
    const float *number = m->loss_host + l->rows_n, *head = m->loss_host + best_at(l, i);
    int32_t word = (int32_t)number[i];
    float most = head[0];
    int64_t row = l->heads_n + i;
    for (int32_t band = 1; band < m->bands.n; row += m->lists.tail_row[band++].n) {
        float logp = head[band] + m->loss_host[best_at(l, row)];
        if (number[row] < 0.0f) return -1;
        if (logp <= most || word < 0) continue;
        most = logp;
        word = m->bands.band[band].first + (int32_t)number[row];
    }
    return word;
}

/* Adds log p of head and tail for each position, on the host. */
static int collect_scores(struct model *m, const struct model_batch *batch, const int32_t *position,
                          float *out_host, struct err *e)
{
    const struct score_layout l = score_layout(m);
    int64_t n = m->capacity.hits ? best_at(&l, l.rows_n) : l.rows_n;
    TRY(m->b->ops->download(m->b, m->loss_host, m->buffers.loss.data,
                            (size_t)n * sizeof *m->loss_host, e));
    for (int64_t i = 0; i < l.heads_n; i++) out_host[i] = m->loss_host[i];
    const float *share = m->loss_host + l.heads_n;
    for (int32_t band = 1; band < m->bands.n; band++) {
        const int32_t *row = m->lists_host + m->lists.tail_row[band].offset;
        for (int64_t i = 0; i < m->lists.tail_row[band].n; i++, share++)
            if (row[i] >= 0) out_host[row[i]] += *share;
    }
    for (int64_t i = 0; m->capacity.hits && i < l.heads_n; i++)
        m->hit_host[i] = best_word(m, &l, i) == batch->target[position[i]];
    return 0;
}

const bool *model_hits(const struct model *m)
{
    return m->hit_host;
}

/* Runs the layers without the head, gathers the features at the chosen positions, and maps them to
 * the width of the head. */
static int score_forward(struct model *m, const struct model_pass *p, struct tensor *chosen,
                         struct err *e)
{
    TRY(model_forward(m, p, e));
    struct tensor features = model_features(m, p);
    *chosen = model_view(&m->buffers.chosen, m->lists.chosen.n, m->spec.model.dim);
    TRY(OPS(m->b, gather_rows, e, .y = *chosen, .x = features,
            .index_dev = model_list_dev(m, &m->lists.chosen), .scale = 1.0f));
    TRY(model_stage(m, model_head_stage(m), e));
    if (m->values.project_out.data == NULL) return 0;
    features = *chosen;
    *chosen = model_view(&m->buffers.projected, features.rows, m->values.project_out.rows);
    return model_linear(m, p, chosen, &features, &m->values.project_out, NULL, e);
}

/* Computes log p of all chosen positions, a body of model_graph.c. */
static int score_pass(struct model *m, const struct model_pass *p, struct err *e)
{
    struct tensor chosen;
    TRY(score_forward(m, p, &chosen, e));
    TRY(softmax_score(m, &chosen, &m->values.head, &m->lists.head, 0, e));
    return score_tails(m, &chosen, m->lists.chosen.n, e);
}

static int check_number(const struct model *m, int64_t positions_n, struct err *e)
{
    if (positions_n >= 0 && positions_n <= m->capacity.scored_max) return 0;
    return ERR(e, ERR_INTERNAL,
               "%" PRId64 " positions to score, but the model was opened for %" PRId64, positions_n,
               m->capacity.scored_max);
}

/* Prepares a pass over the chosen positions. target NULL: they are not scored. */
static int begin_pass(struct model *m, struct model_pass *p, const struct model_batch *batch,
                      const int32_t *target, const int32_t *position, int64_t positions_n,
                      struct err *e)
{
    TRY(model_pass_begin(m, p, batch, false, e));
    TRY(model_lists_chosen(m, batch, position, positions_n, e));
    if (target) TRY(model_lists_target(m, target, position, positions_n, false, e));
    TRY(model_weights_transpose(m, e));
    TRY(model_position_row_length(m, batch, e));
    TRY(model_position_refresh(m, e));
    return model_lists_upload(m, e);
}

int model_score(struct model *m, const struct model_batch *batch, const int32_t *position,
                int64_t positions_n, float *out_host, struct err *e)
{
    struct model_pass p;
    if (positions_n == 0) return 0;
    TRY(check_number(m, positions_n, e));
    TRY(begin_pass(m, &p, batch, batch->target, position, positions_n, e));
    TRY(model_graph_run(m, score_pass, &p, e));
    return collect_scores(m, batch, position, out_host, e);
}

int model_keys(struct model *m, const struct model_batch *batch, const int32_t *position,
               int64_t positions_n, float *out_host, struct err *e)
{
    const struct tensor *keys = &m->buffers.keys;
    struct model_pass p;
    if (positions_n == 0) return 0;
    TRY(check_number(m, positions_n, e));
    if (!keys->data) return ERR(e, ERR_INTERNAL, "keys of a model that was opened without them");
    if (keys->dtype != DTYPE_F32)
        return ERR(e, ERR_UNAVAILABLE,
                   "the keys of a datastore are fp32, and %s computes in bf16; use "
                   "eval.precision: fp32",
                   m->b->name);
    if (batch) {
        TRY(begin_pass(m, &p, batch, NULL, position, positions_n, e));
        TRY(model_graph_run(m, model_forward, &p, e));
    }
    return m->b->ops->download(m->b, out_host, keys->data,
                               (size_t)(positions_n * keys->cols) * sizeof *out_host, e);
}

/* Computes log-probabilities of n logits, plus `share`. */
static void log_softmax(float *out, const float *logits, int64_t n, double share)
{
    double most = -INFINITY, sum = 0.0;
    for (int64_t i = 0; i < n; i++) most = logits[i] > most ? (double)logits[i] : most;
    for (int64_t i = 0; i < n; i++) sum += exp((double)logits[i] - most);
    for (int64_t i = 0; i < n; i++) out[i] = (float)((double)logits[i] - most - log(sum) + share);
}

/* Downloads one row of logits. */
static int row_logits(struct model *m, const struct tensor *x, const struct tensor *table,
                      float *out_host, struct err *e)
{
    struct tensor logits = model_logits(&m->buffers.scores, 1, table->rows);
    TRY(logits_of(m, &logits, x, table, e));
    return m->b->ops->download(m->b, out_host, logits.data, (size_t)table->rows * sizeof *out_host,
                               e);
}

int model_distribution(struct model *m, const struct model_batch *batch, int32_t position,
                       float *out_host, struct err *e)
{
    struct model_pass p;
    struct tensor x;
    double share[SHAPE_BANDS_MAX];
    TRY(begin_pass(m, &p, batch, NULL, &position, 1, e));
    TRY(score_forward(m, &p, &x, e));

    /* The head's logits go to out_host, with the class rows of the tails at the end; these are read
     * before the first tail overwrites them. */
    int32_t words = m->bands.band[0].last, tails = m->bands.n - 1;
    TRY(row_logits(m, &x, &m->values.head, out_host, e));
    log_softmax(out_host, out_host, words + tails, 0.0);
    for (int32_t i = 0; i < tails; i++) share[i] = (double)out_host[words + i];
    for (int32_t band = 1; band < m->bands.n; band++) {
        float *out = out_host + m->bands.band[band].first;
        struct tensor y = model_view(&m->buffers.tail, 1, m->bands.band[band].width);
        TRY(tail_input(m, &y, &x, band, e));
        TRY(row_logits(m, &y, &m->values.table[band], out, e));
        log_softmax(out, out, m->values.table[band].rows, share[band - 1]);
    }
    return 0;
}

int model_attend(struct model *m, const struct model_batch *batch, model_attention_fn *see,
                 void *context, struct err *e)
{
    struct model_pass p;
    if (batch->rows != 1)
        return ERR(e, ERR_INTERNAL, "attention of %d rows, expected 1", batch->rows);
    TRY(model_pass_begin(m, &p, batch, false, e));
    TRY(model_position_row_length(m, batch, e));
    TRY(model_position_refresh(m, e));
    TRY(model_lists_upload(m, e));
    m->see = see;
    m->see_context = context;
    int rc = model_forward(m, &p, e);
    m->see = NULL;
    return rc;
}
