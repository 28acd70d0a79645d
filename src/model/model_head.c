/* model_head.c - the training loss and its gradients (oracle SPEC.md sections 6 to 8).
 *
 * Works on one chunk of rows of logits at a time: loss, gradient of the logits, then the gradients
 * of the features and tables. A tail gets only the rows whose target is in it. The gradient of the
 * features goes to buffers.stream_grad, the sum of the losses to the model's state. */
#include "model/model_internal.h"

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
        TRY(ops_linear(m->b, &logits, &part, table, NULL, 0, e));
        TRY(ops_softmax_loss(m->b, &loss, &logits, model_list_dev(m, target) + row, 1, e));
        TRY(ops_linear_bwd_input(m->b, &dpart, &logits, table, 0, e));
        TRY(ops_linear_bwd_weight(m->b, dtable, NULL, &logits, &part, accumulate || row > 0, e));
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

    TRY(ops_gather_rows(m->b, &x, features, rows_dev, 1.0f, e));
    TRY(ops_linear_bwd_input(m->b, &y, &x, &m->values.projection[band], 0, e));
    if (d.p > 0.0f) TRY(ops_dropout(m->b, &y, &y, &d, e));
    TRY(softmax_train(m, &y, &m->values.table[band], &m->lists.tail_class[band], loss_from, &dy,
                      &m->gradients.table[band], true, e));
    if (d.p > 0.0f) TRY(ops_dropout(m->b, &dy, &dy, &d, e));
    TRY(ops_linear_bwd_weight(m->b, &m->gradients.projection[band], NULL, &x, &dy, 1, e));
    struct tensor dx = model_view(&m->buffers.dropped, n, c);
    TRY(ops_linear(m->b, &dx, &dy, &m->values.projection[band], NULL, 0, e));
    return ops_scatter_rows(m->b, dfeatures, &dx, rows_dev, 1.0f, 1, e);
}

int model_head_train(struct model *m, const struct model_pass *p, struct err *e)
{
    int64_t n = p->tokens_n, c = m->spec.model.dim, losses_n = n;
    struct tensor features = model_features(m, p);
    struct tensor dfeatures = model_view(&m->buffers.stream_grad, n, c);
    struct dropout d = model_dropout(m, p, m->spec.model.dropout_softmax, 0, DROPOUT_HEAD_INPUT);
    if (d.p > 0.0f) {
        struct tensor dropped = model_view(&m->buffers.features, n, c);
        TRY(ops_dropout(m->b, &dropped, &features, &d, e));
        features = dropped;
    }
    TRY(softmax_train(m, &features, &m->values.head, &m->lists.head, 0, &dfeatures,
                      &m->gradients.head, p->accumulate, e));
    for (int32_t band = 1; band < m->bands.n; band++) {
        if (m->lists.tail_row[band].n == 0) continue;
        TRY(tail_train(m, p, band, &features, losses_n, &dfeatures, e));
        losses_n += m->lists.tail_row[band].n;
    }
    if (d.p > 0.0f) TRY(ops_dropout(m->b, &dfeatures, &dfeatures, &d, e));
    struct tensor losses = model_view(&m->buffers.loss, 1, losses_n);
    return ops_sum_losses(m->b, &m->state_dev_own->batch_loss, &losses, e);
}
