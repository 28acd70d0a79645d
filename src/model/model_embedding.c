/* model_embedding.c - from ids to the residual stream, and its backward pass (oracle SPEC.md
 * sections 4 and 8).
 *
 * Adaptive: gathers the rows of each band, projects them, and scatters them to their tokens, times
 * sqrt(C). Plain: gathers in place, or before a map and a norm. Then the position method adds its
 * rows, then dropout. The backward pass of the projections needs the gathered rows. */
#include <math.h>

#include "model/model_lists.h"
#include "model/model_memory.h"
#include "model/model_pass.h"
#include "model/model_stream.h"
#include "model/model_struct.h"
#include "model/model_weights.h"

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
    return m->spec.model.form.embedding_scaled ? (float)sqrt((double)m->spec.model.dim) : 1.0f;
}

static int embed_adaptive(struct model *m, const struct model_pass *p, struct tensor *x,
                          struct err *e)
{
    int64_t used = 0;
    for (int32_t i = 0; i < m->bands.n; i++) {
        if (m->lists.band_id[i].n == 0) continue;
        struct tensor rows = band_rows(m, &used, i);
        struct tensor projected = model_view(&m->buffers.narrow, rows.rows, x->cols);
        TRY(OPS(m->b, gather_rows, e, .y = rows, .x = m->values.table[i],
                .index_dev = model_list_dev(m, &m->lists.band_id[i]), .scale = 1.0f));
        TRY(model_linear(m, p, &projected, &rows, &m->values.projection[i], NULL, e));
        TRY(OPS(m->b, scatter_rows, e, .y = *x, .x = projected,
                .index_dev = model_list_dev(m, &m->lists.band_row[i]),
                .scale = embedding_scale(m)));
    }
    return 0;
}

/* Gathers the rows of one table, maps them to the model's width, and normalises them. */
static int embed_plain(struct model *m, const struct model_pass *p, struct tensor *x, struct err *e)
{
    const struct model_weights *w = &m->values;
    bool normed = w->embed_norm.gain.data != NULL, mapped = w->project_in.data != NULL;
    struct tensor stats = model_view(&model_activations(m, p, 0)->stats1, p->tokens_n, 2);
    struct tensor wide = normed ? model_view(&m->buffers.narrow, p->tokens_n, x->cols) : *x;
    struct tensor rows =
        mapped ? model_view(&m->buffers.gathered, p->tokens_n, w->table[0].cols) : wide;
    TRY(OPS(m->b, gather_rows, e, .y = rows, .x = w->table[0],
            .index_dev = model_list_dev(m, &m->lists.band_id[0]), .scale = embedding_scale(m)));
    if (mapped) TRY(model_linear(m, p, &wide, &rows, &w->project_in, NULL, e));
    return normed ? model_normalise(m, x, &stats, &wide, &w->embed_norm, e) : 0;
}

int model_embed(struct model *m, const struct model_pass *p, struct err *e)
{
    struct tensor x = model_view(&model_activations(m, p, 0)->x, p->tokens_n, m->spec.model.dim);
    TRY(model_stage(m, SHAPE_TABLE, e));
    TRY(m->spec.model.softmax == SPEC_ADAPTIVE ? embed_adaptive(m, p, &x, e)
                                               : embed_plain(m, p, &x, e));
    if (m->position.embedding.data != NULL)
        TRY(OPS(m->b, add_rows, e, .y = x, .x = x, .table = m->position.embedding,
                .index_dev = model_list_dev(m, &m->lists.position)));
    struct dropout d = model_dropout(m, p, m->spec.model.dropout, 0, DROPOUT_EMBEDDING);
    if (d.p > 0.0f) TRY(OPS(m->b, dropout, e, .y = x, .x = x, .dropout = d));
    return 0;
}

static int embed_adaptive_bwd(struct model *m, const struct model_pass *p, const struct tensor *dx,
                              struct err *e)
{
    int64_t used = 0;
    for (int32_t i = 0; i < m->bands.n; i++) {
        if (m->lists.band_id[i].n == 0) continue;
        struct tensor rows = band_rows(m, &used, i);
        struct tensor dprojected = model_view(&m->buffers.narrow, rows.rows, dx->cols);
        struct tensor drows = model_view(&m->buffers.wide, rows.rows, rows.cols);
        TRY(OPS(m->b, gather_rows, e, .y = dprojected, .x = *dx,
                .index_dev = model_list_dev(m, &m->lists.band_row[i]),
                .scale = embedding_scale(m)));
        TRY(OPS(m->b, linear_bwd_weight, e, .dw = m->gradients[p->leaf].projection[i],
                .dy = dprojected, .x = rows, .accumulate = true));
        TRY(OPS(m->b, linear_bwd_input, e, .dx = drows, .dy = dprojected,
                .w = m->values.projection[i]));
        TRY(OPS(m->b, scatter_rows, e, .y = m->gradients[p->leaf].table[i], .x = drows,
                .index_dev = model_list_dev(m, &m->lists.band_grad[i]), .scale = 1.0f,
                .accumulate = true));
    }
    return 0;
}

int model_embed_bwd(struct model *m, const struct model_pass *p, struct err *e)
{
    struct tensor dx = model_view(&m->buffers.stream_grad, p->tokens_n, m->spec.model.dim);
    struct dropout d = model_dropout(m, p, m->spec.model.dropout, 0, DROPOUT_EMBEDDING);
    if (d.p > 0.0f) TRY(OPS(m->b, dropout, e, .y = dx, .x = dx, .dropout = d));
    if (m->position.embedding_grad[p->leaf].data != NULL)
        TRY(OPS(m->b, scatter_rows, e, .y = m->position.embedding_grad[p->leaf], .x = dx,
                .index_dev = model_list_dev(m, &m->lists.position), .scale = 1.0f,
                .accumulate = true));
    if (m->spec.model.softmax == SPEC_ADAPTIVE) return embed_adaptive_bwd(m, p, &dx, e);
    return OPS(m->b, scatter_rows, e, .y = m->gradients[p->leaf].table[0], .x = dx,
               .index_dev = model_list_dev(m, &m->lists.band_grad[0]), .scale = embedding_scale(m),
               .accumulate = true);
}
