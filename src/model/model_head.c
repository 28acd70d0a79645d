/* model_head.c - the training loss and its gradients (oracle SPEC.md sections 6 to 8).
 *
 * Works on one chunk of rows of logits at a time: loss, gradient of the logits, then the gradients
 * of the features and tables. A tail gets only the rows whose target is in it. The gradient of the
 * features goes to buffers.stream_grad, the sum of the losses to the model's state. */
#include "model/model_lists.h"
#include "model/model_memory.h"
#include "model/model_pass.h"
#include "model/model_struct.h"

/* Loss and gradients of one softmax over all rows of x. Overwrites dx, and dtable unless
 * accumulate. */
static int softmax_train(struct model *m, const struct tensor *x, const struct tensor *table,
                         const struct model_list *target, int64_t loss_from, struct tensor *dx,
                         struct tensor *dtable, bool accumulate, struct err *e)
{
    int64_t step = model_logits_rows(m, table->rows, true);
    for (int64_t row = 0; row < x->rows; row += step) {
        int64_t n = x->rows - row < step ? x->rows - row : step;
        struct tensor part = model_rows(x, row, n), dpart = model_rows(dx, row, n);
        struct tensor logits = model_logits(&m->buffers.logits, n, table->rows);
        struct tensor loss =
            tensor_make((float *)m->buffers.loss.data + loss_from + row, 1, n, DTYPE_F32);
        TRY(OPS(m->b, linear, e, .y = logits, .x = part, .w = *table));
        TRY(OPS(m->b, softmax_loss, e, .loss = loss, .logits = logits,
                .target_dev = model_list_dev(m, target) + row, .gradient = true));
        TRY(OPS(m->b, linear_bwd_input, e, .dx = dpart, .dy = logits, .w = *table));
        TRY(OPS(m->b, linear_bwd_weight, e, .dw = *dtable, .dy = logits, .x = part,
                .accumulate = accumulate || row > 0));
    }
    return 0;
}

/* Trains one tail: y = x P for its rows, dropout on y, softmax over the band's table. */
static int tail_train(struct model *m, const struct model_pass *p, int32_t band,
                      const struct tensor *features, int64_t loss_from, struct tensor *dfeatures,
                      struct err *e)
{
    int64_t n = m->lists.tail_row[band].n, c = m->spec.model.dim;
    int32_t width = m->bands.band[band].width;
    const int32_t *rows_dev = model_list_dev(m, &m->lists.tail_row[band]);
    struct tensor x = model_view(&m->buffers.narrow, n, c);
    struct tensor both = model_view(&m->buffers.tail, 2 * n, width);
    struct tensor y = model_rows(&both, 0, n), dy = model_rows(&both, n, n);
    struct dropout d = model_dropout(m, p, m->spec.model.dropout_softmax, band - 1, DROPOUT_TAIL);
    d.rows_dev = rows_dev;

    TRY(OPS(m->b, gather_rows, e, .y = x, .x = *features, .index_dev = rows_dev, .scale = 1.0f));
    TRY(OPS(m->b, linear_bwd_input, e, .dx = y, .dy = x, .w = m->values.projection[band]));
    if (d.p > 0.0f) TRY(OPS(m->b, dropout, e, .y = y, .x = y, .dropout = d));
    TRY(softmax_train(m, &y, &m->values.table[band], &m->lists.tail_class[band], loss_from, &dy,
                      &m->gradients[p->leaf].table[band], true, e));
    if (d.p > 0.0f) TRY(OPS(m->b, dropout, e, .y = dy, .x = dy, .dropout = d));
    TRY(OPS(m->b, linear_bwd_weight, e, .dw = m->gradients[p->leaf].projection[band], .dy = x,
            .x = dy, .accumulate = true));
    struct tensor dx = model_view(&m->buffers.dropped, n, c);
    TRY(OPS(m->b, linear, e, .y = dx, .x = dy, .w = m->values.projection[band]));
    return OPS(m->b, scatter_rows, e, .y = *dfeatures, .x = dx, .index_dev = rows_dev,
               .scale = 1.0f, .accumulate = true);
}

int model_head_train(struct model *m, const struct model_pass *p, struct err *e)
{
    int64_t n = p->tokens_n, c = m->spec.model.dim, losses_n = n;
    struct tensor features = model_features(m, p);
    struct tensor dfeatures = model_view(&m->buffers.stream_grad, n, c);
    struct dropout d = model_dropout(m, p, m->spec.model.dropout_softmax, 0, DROPOUT_HEAD_INPUT);
    if (d.p > 0.0f) {
        struct tensor dropped = model_view(&m->buffers.features, n, c);
        TRY(OPS(m->b, dropout, e, .y = dropped, .x = features, .dropout = d));
        features = dropped;
    }
    TRY(softmax_train(m, &features, &m->values.head, &m->lists.head, 0, &dfeatures,
                      &m->gradients[p->leaf].head, false, e));
    for (int32_t band = 1; band < m->bands.n; band++) {
        if (m->lists.tail_row[band].n == 0) continue;
        TRY(tail_train(m, p, band, &features, losses_n, &dfeatures, e));
        losses_n += m->lists.tail_row[band].n;
    }
    if (d.p > 0.0f) TRY(OPS(m->b, dropout, e, .y = dfeatures, .x = dfeatures, .dropout = d));
    struct tensor losses = model_view(&m->buffers.loss, 1, losses_n);
    return OPS(m->b, sum_losses, e, .out_dev = &m->state_dev_own->batch_loss, .loss = losses);
}
