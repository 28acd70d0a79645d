/* model_embedding.c - from ids to the residual stream, and its backward pass (oracle SPEC.md
 * sections 4 and 8).
 *
 * Adaptive: gathers the rows of each band, projects them, and scatters them to their tokens, times
 * sqrt(C). Plain: gathers in place. Then the position method adds its rows, then dropout. The
 * backward pass of the projections needs the gathered rows. */
#include <math.h>

#include "model/model_internal.h"

/* Returns the gathered rows of a band, which follow those of earlier bands. */
static struct tensor band_rows(const struct model *m, int64_t *used, int32_t band)
{
    int64_t n = m->lists.band_id[band].n, width = m->bands.band[band].width;
    struct tensor rows = model_view(&m->buffers.gathered, n, width);
    rows.data = (char *)rows.data + (size_t)*used * dtype_bytes(rows.dtype);
    *used += n * width;
    return rows;
}

static float embedding_scale(const struct model *m)
{
    return (float)sqrt((double)m->spec.model.dim);
}

static int embed_adaptive(struct model *m, const struct model_pass *p, struct tensor *x,
                          struct err *e)
{
    int64_t used = 0;
    for (int32_t i = 0; i < m->bands.n; i++) {
        if (m->lists.band_id[i].n == 0) continue;
        struct tensor rows = band_rows(m, &used, i);
        struct tensor projected = model_view(&m->buffers.narrow, rows.rows, x->cols);
        TRY(ops_gather_rows(m->b, &rows, &m->values.table[i],
                            model_list_dev(m, &m->lists.band_id[i]), 1.0f, e));
        TRY(model_linear(m, p, &projected, &rows, &m->values.projection[i], NULL, e));
        TRY(ops_scatter_rows(m->b, x, &projected, model_list_dev(m, &m->lists.band_row[i]),
                             embedding_scale(m), 0, e));
    }
    return 0;
}

int model_embed(struct model *m, const struct model_pass *p, struct err *e)
{
    struct tensor x = model_view(&model_activations(m, p, 0)->x, p->tokens_n, m->spec.model.dim);
    if (m->spec.model.softmax == SPEC_ADAPTIVE)
        TRY(embed_adaptive(m, p, &x, e));
    else
        TRY(ops_gather_rows(m->b, &x, &m->values.table[0], model_list_dev(m, &m->lists.band_id[0]),
                            embedding_scale(m), e));
    if (m->position.embedding.data != NULL)
        TRY(ops_add_rows(m->b, &x, &x, &m->position.embedding,
                         model_list_dev(m, &m->lists.position), e));
    struct dropout d = model_dropout(m, p, m->spec.model.dropout, 0, DROPOUT_EMBEDDING);
    if (d.p > 0.0f) TRY(ops_dropout(m->b, &x, &x, &d, e));
    return 0;
}

static int embed_adaptive_bwd(struct model *m, const struct tensor *dx, struct err *e)
{
    int64_t used = 0;
    for (int32_t i = 0; i < m->bands.n; i++) {
        if (m->lists.band_id[i].n == 0) continue;
        struct tensor rows = band_rows(m, &used, i);
        struct tensor dprojected = model_view(&m->buffers.narrow, rows.rows, dx->cols);
        struct tensor drows = model_view(&m->buffers.wide, rows.rows, rows.cols);
        TRY(ops_gather_rows(m->b, &dprojected, dx, model_list_dev(m, &m->lists.band_row[i]),
                            embedding_scale(m), e));
        TRY(ops_linear_bwd_weight(m->b, &m->gradients.projection[i], NULL, &dprojected, &rows, 1,
                                  e));
        TRY(ops_linear_bwd_input(m->b, &drows, &dprojected, &m->values.projection[i], 0, e));
        TRY(ops_scatter_rows(m->b, &m->gradients.table[i], &drows,
                             model_list_dev(m, &m->lists.band_grad[i]), 1.0f, 1, e));
    }
    return 0;
}

int model_embed_bwd(struct model *m, const struct model_pass *p, struct err *e)
{
    struct tensor dx = model_view(&m->buffers.stream_grad, p->tokens_n, m->spec.model.dim);
    struct dropout d = model_dropout(m, p, m->spec.model.dropout, 0, DROPOUT_EMBEDDING);
    if (d.p > 0.0f) TRY(ops_dropout(m->b, &dx, &dx, &d, e));
    if (m->position.embedding_grad.data != NULL)
        TRY(ops_scatter_rows(m->b, &m->position.embedding_grad, &dx,
                             model_list_dev(m, &m->lists.position), 1.0f, 1, e));
    if (m->spec.model.softmax == SPEC_ADAPTIVE) return embed_adaptive_bwd(m, &dx, e);
    return ops_scatter_rows(m->b, &m->gradients.table[0], &dx,
                            model_list_dev(m, &m->lists.band_grad[0]), embedding_scale(m), 1, e);
}
