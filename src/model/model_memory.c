/* model_memory.c - the three allocations of a model. The layout is walked twice: once to count,
 * once to hand out memory, so that offsets and size cannot disagree. */
#include <inttypes.h>
#include <stdlib.h>

#include "model/model_internal.h"

enum { POOL_ALIGN_BYTES = 64 };

void *model_pool_take(struct model *m, size_t bytes)
{
    char *at = m->pool.base == NULL ? NULL : m->pool.base + m->pool.used_bytes;
    m->pool.used_bytes += (bytes + POOL_ALIGN_BYTES - 1) / POOL_ALIGN_BYTES * POOL_ALIGN_BYTES;
    return at;
}

struct tensor model_pool_matrix(struct model *m, int64_t rows, int64_t cols)
{
    void *data = model_pool_take(m, (size_t)rows * (size_t)cols * sizeof(float));
    return tensor_make(data, rows, cols, DTYPE_F32);
}

struct tensor model_view(const struct tensor *t, int64_t rows, int64_t cols)
{
    return tensor_make(t->data, rows, cols, t->dtype);
}

struct tensor model_rows(const struct tensor *t, int64_t first, int64_t n)
{
    struct tensor part = *t;
    part.data = (char *)t->data + (size_t)(first * t->stride) * dtype_bytes(t->dtype);
    part.rows = n;
    return part;
}

int64_t model_logits_rows(int64_t classes)
{
    int64_t rows = MODEL_LOGITS_CHUNK_ELEMENTS / classes;
    rows = rows < MODEL_LOGITS_ROWS_MIN ? MODEL_LOGITS_ROWS_MIN : rows;
    rows = rows > MODEL_LOGITS_ROWS_MAX ? MODEL_LOGITS_ROWS_MAX : rows;
    return rows / 16 * 16;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Elements of the largest chunk of logits over head and tails. */
static int64_t logits_elements(const struct model *m, int64_t rows_n)
{
    int64_t most = least(rows_n, model_logits_rows(m->bands.head_n)) * m->bands.head_n;
    for (int32_t i = 1; i < m->bands.n; i++) {
        int64_t classes = m->bands.band[i].last - m->bands.band[i].first;
        int64_t n = least(rows_n, model_logits_rows(classes)) * classes;
        most = n > most ? n : most;
    }
    return most;
}

static void layout_stream(struct model *m, struct model_activations *act)
{
    int64_t n = m->tokens_max, c = m->spec.model.dim;
    act->x = model_pool_matrix(m, n, c);
    act->a = model_pool_matrix(m, n, c);
    act->stats1 = model_pool_matrix(m, n, 2);
}

static void layout_layer(struct model *m, struct model_activations *act)
{
    int64_t n = m->tokens_max, c = m->spec.model.dim;
    layout_stream(m, act);
    act->qkv = model_pool_matrix(m, n, 3 * c);
    act->o = model_pool_matrix(m, n, c);
    act->lse = model_pool_matrix(m, 1, n * m->spec.model.heads);
    act->s = model_pool_matrix(m, n, c);
    act->g = model_pool_matrix(m, n, c);
    act->stats2 = model_pool_matrix(m, n, 2);
    act->u = model_pool_matrix(m, n, m->spec.model.ffn);
}

static void layout_pool(struct model *m)
{
    struct model_buffers *w = &m->buffers;
    int64_t n = m->tokens_max, c = m->spec.model.dim, f = m->spec.model.ffn;
    bool train = m->options.train;
    int32_t layers = train ? m->spec.model.layers : 1;
    for (int32_t l = 0; l < layers; l++) layout_layer(m, &w->layer[l]);
    if (train) layout_stream(m, &w->layer[layers]);
    w->gathered = model_pool_matrix(m, n, c);
    w->narrow = model_pool_matrix(m, n, c);
    w->wide = model_pool_matrix(m, n, f > 3 * c ? f : 3 * c);
    if (train) {
        w->stream_grad = model_pool_matrix(m, n, c);
        w->dropped = model_pool_matrix(m, n, c);
        w->features = model_pool_matrix(m, n, c);
    }
    int64_t scored = m->options.scored_max, heads_n = train && n > scored ? n : scored;
    w->chosen = model_pool_matrix(m, scored > 0 ? scored : 1, c);
    /* One more row for model_distribution, which looks at one position of any model. */
    w->logits = model_pool_matrix(m, 1, logits_elements(m, heads_n + 1));
    w->loss = model_pool_matrix(m, 1, 2 * (heads_n + 1));
    for (int32_t i = 1; i < m->bands.n; i++)
        w->transposed[i] = model_pool_take(m, (size_t)m->bands.band[i].width * (size_t)c * 4);
    m->lists_dev = model_pool_take(m, (size_t)m->lists_room * sizeof *m->lists_dev);
    if (m->position->layout != NULL) m->position->layout(m);
}

/* Slots of the parameter block: values, then gradients and optimiser state. */
static int32_t slots(const struct model *m)
{
    if (!m->options.train) return 1;
    return m->spec.train.optimizer == SPEC_ADAM ? 4 : 3;
}

float *model_block_dev(const struct model *m, enum model_block block)
{
    if ((int32_t)block >= m->slots_n) return NULL;
    return m->block_dev_own + (int64_t)block * m->params.elements_n;
}

static int host_open(struct model *m, int64_t heads_n, struct err *e)
{
    int64_t widest = 1;
    for (int32_t i = 1; i < m->bands.n; i++) {
        int64_t w = m->bands.band[i].width;
        widest = w > widest ? w : widest;
    }
    m->lists_host = malloc((size_t)m->lists_room * sizeof *m->lists_host);
    m->loss_host = malloc((size_t)(2 * (heads_n + 1)) * sizeof *m->loss_host);
    m->turn_host = malloc((size_t)(2 * widest * m->spec.model.dim) * sizeof *m->turn_host);
    if (m->lists_host == NULL || m->loss_host == NULL || m->turn_host == NULL)
        return ERR(e, ERR_NOMEM, "no memory for the lists of batches of %" PRId64 " tokens",
                   m->tokens_max);
    return 0;
}

int model_memory_open(struct model *m, struct err *e)
{
    struct backend *b = m->b;
    int32_t layers = m->options.train ? m->spec.model.layers + 1 : 1;
    int64_t scored = m->options.scored_max, n = m->tokens_max;
    m->buffers.layer = arena_array(&m->arena, (size_t)layers, sizeof *m->buffers.layer);
    /* Band rows, ids and gradient ids; positions; then a target's class, its tail row and class
     * for each scored row, and the scored positions. */
    m->lists_room = 4 * n + 4 * (n > scored ? n : scored) + 64;
    m->slots_n = slots(m);
    TRY(host_open(m, n > scored ? n : scored, e));

    size_t block_bytes = (size_t)m->params.elements_n * sizeof(float) * (size_t)m->slots_n;
    TRY(b->ops->alloc(b, (void **)&m->block_dev_own, block_bytes, e));
    TRY(b->ops->zero(b, m->block_dev_own, block_bytes, e));

    layout_pool(m);
    TRY(b->ops->alloc(b, &m->pool_own, m->pool.used_bytes, e));
    TRY(b->ops->zero(b, m->pool_own, m->pool.used_bytes, e));
    m->pool = (struct model_pool){.base = m->pool_own};
    layout_pool(m);

    TRY(b->ops->alloc(b, &m->state_own, sizeof *m->step_dev + sizeof *m->squares_dev, e));
    m->squares_dev = m->state_own; /* first: it needs the wider alignment */
    m->step_dev = (struct step_state *)(m->squares_dev + 1);
    return 0;
}

void model_memory_close(struct model *m)
{
    struct backend *b = m->b;
    void *blocks[] = {m->block_dev_own, m->pool_own, m->state_own, m->inner_dev_own};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (blocks[i] != NULL) b->ops->release(b, blocks[i]);
    free(m->lists_host);
    free(m->loss_host);
    free(m->turn_host);
}
