/* memory.c - the table of buffers and their offsets.
 *
 * 1. One row of a constant table states name, type and lifetime; buffer_form states the shape.
 * 2. Buffers are placed in table order, each at the lowest offset that does not overlap a buffer
 *    alive in a common phase. Buffers that the head shares with the layers come first and buffers
 *    of the layers alone follow, so that logits can reuse the memory of the layers. */
#include "shape/memory.h"

#include <stddef.h>

enum {
    POOL_ALIGN_BYTES = 64,
    LISTS_SPARE = 64,
    /* fp32 runs on CPUs: 512 rows suffice for the matrix products; at most 16 MB for a large
     * vocabulary, but at least 128 rows; of a streamed model always 512, because each chunk packs
     * the whole table. */
    LOGITS_CHUNK_ELEMENTS = 4 * 1024 * 1024,
    LOGITS_ROWS_MAX = 512,
    LOGITS_ROWS_MIN = 128,
    /* bf16 runs on GPUs: 384 MB, so that a shard of the paper's model reads and writes the gradient
     * of the embedding table once; logits of a scoring are fp32 and use 80 MB. */
    LOGITS_CHUNK_ELEMENTS_BF16 = 192 * 1024 * 1024,
    LOGITS_CHUNK_SCORES_BF16 = 20 * 1024 * 1024,
    LOGITS_ROWS_MAX_BF16 = 16384,
    LOGITS_ROWS_MAX_SCORES_BF16 = 2048,
    LOGITS_ROWS_MULTIPLE = 16,
    LOGITS_STRIDE_MULTIPLE = 64 /* aligns rows to 128 bytes, a cache line */
};

/* Phases of a pass. Training and scoring passes share no contents. */
enum {
    TRAIN_EMBED = 1 << 0,
    TRAIN_LAYERS = 1 << 1,
    TRAIN_HEAD = 1 << 2,
    TRAIN_LAYERS_BWD = 1 << 3,
    TRAIN_EMBED_BWD = 1 << 4,
    SCORE_EMBED = 1 << 5,  /* ids to X */
    SCORE_ATTEND = 1 << 6, /* X to LN1 before the first layer; LN1 to QKV to ATTN_OUT */
    SCORE_BRANCH = 1 << 7, /* ATTN_OUT to NARROW; X and NARROW to ATTN_RESIDUAL and LN2 */
    SCORE_INNER = 1 << 8,  /* LN2 to FFN */
    SCORE_OUTER = 1 << 9,  /* FFN to NARROW; ATTN_RESIDUAL and NARROW to the next X and LN1 */
    SCORE_HEAD = 1 << 10,  /* X or LN1 to CHOSEN, then the logits */
    ALIVE_ALWAYS = (1 << 11) - 1,
    /* Alive from the forward to the backward pass through the layers. */
    TRAIN_KEPT = TRAIN_EMBED | TRAIN_LAYERS | TRAIN_HEAD | TRAIN_LAYERS_BWD,
    TRAIN_ALL = TRAIN_KEPT | TRAIN_EMBED_BWD
};

static const struct {
    const char *name;
    enum shape_number number;
    uint32_t alive;
} buffer_rows[SHAPE_BUFFERS_N] = {
    [SHAPE_X] = {"stream", SHAPE_ACTIVATION,
                 TRAIN_KEPT | SCORE_EMBED | SCORE_ATTEND | SCORE_BRANCH | SCORE_OUTER | SCORE_HEAD},
    [SHAPE_LN1] = {"norm 1", SHAPE_ACTIVATION,
                   TRAIN_KEPT | SCORE_ATTEND | SCORE_OUTER | SCORE_HEAD},
    [SHAPE_LN2] = {"norm 2", SHAPE_ACTIVATION, TRAIN_KEPT | SCORE_BRANCH | SCORE_INNER},
    [SHAPE_TRANSPOSED] = {"transposed projections", SHAPE_ACTIVATION, ALIVE_ALWAYS},
    [SHAPE_LISTS] = {"index lists", SHAPE_I32, ALIVE_ALWAYS},
    [SHAPE_EMBEDDING] = {"position embedding", SHAPE_F32, ALIVE_ALWAYS},
    [SHAPE_COSINE] = {"cosines", SHAPE_F32, ALIVE_ALWAYS},
    [SHAPE_SINE] = {"sines", SHAPE_F32, ALIVE_ALWAYS},
    [SHAPE_BIAS] = {"bias", SHAPE_F32, ALIVE_ALWAYS},
    [SHAPE_BIAS_GRAD] = {"bias gradient", SHAPE_F32, ALIVE_ALWAYS},
    [SHAPE_KEY_BIAS] = {"bias of keys", SHAPE_F32, ALIVE_ALWAYS},
    [SHAPE_TEMPERATURE] = {"temperature", SHAPE_F32, ALIVE_ALWAYS},
    [SHAPE_NARROW] = {"narrow", SHAPE_ACTIVATION,
                      TRAIN_ALL | SCORE_EMBED | SCORE_BRANCH | SCORE_OUTER | SCORE_HEAD},
    [SHAPE_ATTN_RESIDUAL] = {"residual stream after attention", SHAPE_ACTIVATION,
                             TRAIN_KEPT | SCORE_BRANCH | SCORE_INNER | SCORE_OUTER},
    [SHAPE_FFN] = {"inner", SHAPE_ACTIVATION, TRAIN_KEPT | SCORE_INNER | SCORE_OUTER},
    [SHAPE_FACTOR] = {"factor", SHAPE_ACTIVATION, SCORE_INNER},
    [SHAPE_RELU_MASK] = {"relu mask", SHAPE_I32, TRAIN_KEPT},
    [SHAPE_QKV] = {"q, k, v", SHAPE_ACTIVATION, TRAIN_KEPT | SCORE_ATTEND},
    [SHAPE_ATTN_OUT] = {"attention", SHAPE_ACTIVATION, TRAIN_KEPT | SCORE_ATTEND | SCORE_BRANCH},
    [SHAPE_LSE] = {"attention sums", SHAPE_F32, TRAIN_KEPT | SCORE_ATTEND},
    [SHAPE_GATE_INPUT] = {"gate inputs", SHAPE_F32, TRAIN_KEPT | SCORE_ATTEND},
    [SHAPE_GATES] = {"gate sums", SHAPE_F32, TRAIN_KEPT | SCORE_ATTEND},
    [SHAPE_GATES_GRAD] = {"gate sums gradient", SHAPE_F32, TRAIN_LAYERS_BWD},
    [SHAPE_GATE_INPUT_GRAD] = {"gate inputs gradient", SHAPE_ACTIVATION, TRAIN_LAYERS_BWD},
    [SHAPE_STATS1] = {"statistics 1", SHAPE_F32, TRAIN_KEPT | SCORE_ATTEND | SCORE_OUTER},
    [SHAPE_STATS2] = {"statistics 2", SHAPE_F32, TRAIN_KEPT | SCORE_BRANCH},
    [SHAPE_STREAM_GRAD] = {"stream gradient", SHAPE_ACTIVATION,
                           TRAIN_HEAD | TRAIN_LAYERS_BWD | TRAIN_EMBED_BWD},
    [SHAPE_DROPPED] = {"dropped", SHAPE_ACTIVATION, TRAIN_HEAD | TRAIN_LAYERS_BWD},
    [SHAPE_GATHERED] = {"gathered", SHAPE_ACTIVATION, TRAIN_ALL | SCORE_EMBED},
    [SHAPE_WIDE] = {"wide", SHAPE_ACTIVATION, TRAIN_LAYERS_BWD | TRAIN_EMBED_BWD},
    [SHAPE_FEATURES] = {"features", SHAPE_ACTIVATION, TRAIN_HEAD},
    [SHAPE_TAIL] = {"tail", SHAPE_ACTIVATION, TRAIN_HEAD | SCORE_HEAD},
    [SHAPE_KEYS] = {"keys", SHAPE_ACTIVATION, SCORE_INNER | SCORE_OUTER | SCORE_HEAD},
    [SHAPE_CHOSEN] = {"chosen", SHAPE_ACTIVATION, SCORE_HEAD},
    [SHAPE_PROJECTED] = {"projected", SHAPE_ACTIVATION, SCORE_HEAD},
    [SHAPE_LOGITS] = {"logits", SHAPE_ACTIVATION, TRAIN_HEAD},
    [SHAPE_LOSS] = {"loss", SHAPE_F32, TRAIN_HEAD | SCORE_HEAD},
    [SHAPE_SCORES] = {"logits of scores", SHAPE_F32, SCORE_HEAD},
};

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int32_t validated_length(const struct spec_train *t)
{
    return t->validate_L > 0 ? t->validate_L : t->L;
}

/* If the corpus has fewer rows than fit into a shard, the shard is the corpus. */
static void capacity_train(struct shape_capacity *out, const struct spec *s)
{
    const struct spec_train *t = &s->train;
    int32_t validated = validated_length(t);
    int64_t rows = larger(shape_shard_rows(t), 1);
    int64_t chunks_n = (s->data.train_tokens + t->L - 1) / t->L;

    if (chunks_n > 0) rows = smaller(rows, chunks_n);
    int64_t tokens_n = rows * t->L;
    out->train = true;
    out->length_max = t->L > validated ? t->L : validated;
    out->rows_max = (int32_t)((tokens_n + out->length_max - 1) / out->length_max);
    out->scored_max = larger(tokens_n / validated, 1) * validated;
}

int32_t shape_capacity_validation(const struct shape_capacity *capacity, const struct spec_train *t)
{
    return (int32_t)(capacity->scored_max / validated_length(t));
}

void shape_capacity_scores(struct shape_capacity *out, int32_t longest, int32_t stride,
                           int32_t lengths_n, enum spec_precision precision)
{
    int64_t rows = larger(SHAPE_SCORE_TOKENS / longest, 1);

    *out = (struct shape_capacity){.rows_max = (int32_t)rows,
                                   .length_max = longest,
                                   .scored_max = lengths_n > 1 ? (rows - 1) * lengths_n + longest
                                                               : rows * stride,
                                   .precision = precision};
}

bool shape_has_search(const struct spec *s)
{
    const struct spec_knn *k = &s->eval.knn;
    return s->kind == SPEC_EVAL && k->neighbours > 0 && k->control != SPEC_KNN_UNIGRAM;
}

/* Mode eval may set the number and length of rows. */
static void capacity_bench(struct shape_capacity *out, const struct spec *s)
{
    bool eval = s->bench_mode == 1;
    int32_t L = spec_valid_length(s) > 0 ? spec_valid_length(s) : s->train.L;

    out->train = !eval;
    out->length_max = L;
    out->rows_max = (int32_t)larger(s->train.shard_tokens / L, 1);
    if (eval && s->bench_rows > 0) out->rows_max = s->bench_rows;
    out->scored_max = eval ? (int64_t)out->rows_max * L : 0;
}

void shape_capacity(struct shape_capacity *out, const struct spec *s)
{
    *out = (struct shape_capacity){.precision = spec_precision(s, NULL)};
    if (s->kind == SPEC_EVAL) {
        int32_t L = s->eval.L > 0 ? s->eval.L : 1;
        int32_t stride = s->eval.window == SPEC_SLIDING ? s->eval.stride : L;
        shape_capacity_scores(out, L, stride, 1, s->eval.precision);
        out->keys = shape_has_search(s);
        out->streamed = spec_is_pretrained(s) && out->precision == SPEC_FP32;
    } else if (s->train.L < 1) {
        *out = (struct shape_capacity){.rows_max = 1, .length_max = 1};
    } else if (s->kind == SPEC_TRAIN) {
        capacity_train(out, s);
    } else {
        capacity_bench(out, s);
    }
}

int64_t shape_search_bytes(int64_t queries_n, int32_t width)
{
    return 4 * ((queries_n + SHAPE_SEARCH_KEYS) * width + SHAPE_SEARCH_KEYS +
                queries_n * SHAPE_SEARCH_KEYS);
}

void shape_heads(struct shape_heads *out, const struct spec_model *m, int32_t L)
{
    int64_t H = m->heads, all = H * m->layers, square = (int64_t)L * L;
    int64_t features = L * H * spec_head_width(m), sums = L * H;

    *out = (struct shape_heads){.device_bytes = 4 * (4 * features + sums),
                                .layer_bytes = 4 * (2 * H * square + features + sums + H),
                                .row_bytes = 8 * (all * (SHAPE_HEAD_SUMS + L) + 2 * L) +
                                             4 * (all * square + 2 * L)};
}

int64_t shape_logits_stride(int64_t classes)
{
    return (classes + LOGITS_STRIDE_MULTIPLE - 1) / LOGITS_STRIDE_MULTIPLE * LOGITS_STRIDE_MULTIPLE;
}

int64_t shape_logits_rows(int64_t classes, const struct shape_capacity *capacity, bool train)
{
    int64_t chunk = LOGITS_CHUNK_ELEMENTS, most = LOGITS_ROWS_MAX;
    if (capacity->streamed) return most;
    if (capacity->precision == SPEC_BF16) {
        chunk = train ? LOGITS_CHUNK_ELEMENTS_BF16 : LOGITS_CHUNK_SCORES_BF16;
        most = train ? LOGITS_ROWS_MAX_BF16 : LOGITS_ROWS_MAX_SCORES_BF16;
    }
    int64_t rows = smaller(larger(chunk / larger(classes, 1), LOGITS_ROWS_MIN), most);
    return rows / LOGITS_ROWS_MULTIPLE * LOGITS_ROWS_MULTIPLE;
}

/* The sizes from which buffer shapes are computed. */
struct measure {
    const struct spec *spec;
    const struct shape_capacity *capacity;
    struct shape_bands bands;
    int64_t tokens_n, heads_n; /* tokens of a batch; rows that reach the head */
    int64_t filled_n;          /* largest number of rows of a band: tokens_n, padded */
    int64_t tail_widths;       /* of all tails together */
};

/* Rows of a band after padding its list. */
static int64_t filled(const struct measure *k, int64_t rows)
{
    if (k->bands.n < 2) return rows;
    return (rows + SHAPE_LIST_ROWS - 1) / SHAPE_LIST_ROWS * SHAPE_LIST_ROWS;
}

/* Upper bound of the padding of the lists of so many bands. */
static int64_t filling(const struct measure *k, int64_t bands)
{
    return k->bands.n < 2 ? 0 : bands * (SHAPE_LIST_ROWS - 1);
}

static int64_t chunk_elements(const struct measure *k, int64_t rows_n, int64_t classes, bool train)
{
    return smaller(rows_n, shape_logits_rows(classes, k->capacity, train)) *
           shape_logits_stride(classes);
}

/* Elements of the largest chunk of logits for that many rows, over head and tails. */
static int64_t logits_elements(const struct measure *k, int64_t rows_n, bool train)
{
    int64_t most = chunk_elements(k, rows_n, k->bands.head_n, train);

    for (int32_t i = 1; i < k->bands.n; i++) {
        int64_t classes = k->bands.band[i].last - k->bands.band[i].first;
        most = larger(most, chunk_elements(k, filled(k, rows_n), classes, train));
    }
    return most;
}

static void measure_make(struct measure *k, const struct spec *s,
                         const struct shape_capacity *capacity)
{
    *k = (struct measure){.spec = s, .capacity = capacity};
    shape_bands(&k->bands, &s->model, s->data.vocab);
    k->tokens_n = (int64_t)capacity->rows_max * capacity->length_max;
    k->heads_n = capacity->train ? larger(k->tokens_n, capacity->scored_max) : capacity->scored_max;
    k->filled_n = filled(k, k->tokens_n);
    for (int32_t i = 1; i < k->bands.n; i++) k->tail_widths += k->bands.band[i].width;
}

static void form(struct shape_memory *out, enum shape_buffer_id id, int64_t copies_n, int64_t rows,
                 int64_t cols)
{
    struct shape_buffer *b = &out->buffer[id];
    *b = (struct shape_buffer){.name = buffer_rows[id].name,
                               .number = buffer_rows[id].number,
                               .alive = buffer_rows[id].alive,
                               .rows = rows,
                               .cols = cols,
                               .copies_n = rows * cols > 0 ? (int32_t)copies_n : 0};
}

static void form_layers(struct shape_memory *out, const struct measure *k)
{
    const struct spec_model *m = &k->spec->model;
    int64_t n = k->tokens_n, c = m->dim, layers = k->capacity->train ? m->layers : 1;
    int64_t last = k->capacity->train ? 1 : 0, normed = m->final_norm ? last : 0;
    bool masked = k->capacity->train && k->capacity->precision == SPEC_BF16;
    int64_t mask_words = (m->ffn + 127) / 128 * 4; /* linear_relu rejects any other number */
    enum spec_block block = m->form.block;
    int64_t width = spec_head_width(m), q = m->heads * width, kv = spec_kv_heads(m) * width;
    int64_t norms1 = block != SPEC_POST || m->final_norm ? layers + normed : 0;
    int64_t norms2 = block != SPEC_PARALLEL ? layers : 0;

    form(out, SHAPE_X, layers + last, n, c);
    form(out, SHAPE_LN1, norms1, n, c);
    form(out, SHAPE_STATS1, layers + normed, n, 2);
    form(out, SHAPE_QKV, layers, n, q + 2 * kv);
    form(out, SHAPE_ATTN_OUT, layers, n, q);
    form(out, SHAPE_LSE, layers, 1, n * m->heads);
    form(out, SHAPE_ATTN_RESIDUAL, layers, n, c);
    form(out, SHAPE_LN2, norms2, n, c);
    form(out, SHAPE_STATS2, norms2, n, 2);
    form(out, SHAPE_FFN, layers, n, m->ffn);
    form(out, SHAPE_FACTOR, m->form.gated, n, m->ffn);
    form(out, SHAPE_RELU_MASK, masked ? layers : 0, n, mask_words);
    /* The table has the lifetimes of SPEC_SEQUENTIAL; other blocks read some buffers longer. */
    if (block == SPEC_PARALLEL) out->buffer[SHAPE_LN1].alive |= SCORE_BRANCH | SCORE_INNER;
    if (block == SPEC_POST) out->buffer[SHAPE_LN2].alive |= SCORE_OUTER;
    if (m->form.embedding_norm) out->buffer[SHAPE_STATS1].alive |= SCORE_EMBED;
}

static void form_once(struct shape_memory *out, const struct measure *k)
{
    const struct spec_model *m = &k->spec->model;
    bool train = k->capacity->train, adaptive = m->softmax == SPEC_ADAPTIVE;
    int64_t table = k->bands.band[0].width;
    bool projected = table != m->dim;
    int64_t n = k->tokens_n, c = m->dim, scored = k->capacity->scored_max;
    int64_t most = k->filled_n, tail = k->bands.n > 1 ? k->bands.band[1].width : 0;
    /* With padding: rows of band 0 have the width of the model, those of other bands the width of
     * their band. */
    int64_t gathered = n + (filling(k, 1) * (c + k->tail_widths) + c - 1) / larger(c, 1);

    form(out, SHAPE_WIDE, train, most, larger(m->ffn, 3 * c));
    form(out, SHAPE_NARROW, 1, most, c);
    form(out, SHAPE_STREAM_GRAD, train, n, c);
    form(out, SHAPE_DROPPED, train, most, c);
    form(out, SHAPE_GATHERED, adaptive || projected, projected ? n : gathered,
         projected ? table : c);
    form(out, SHAPE_FEATURES, train && m->dropout_softmax > 0.0, n, c);
    form(out, SHAPE_TAIL, 1, most, train ? 2 * tail : tail);
    form(out, SHAPE_KEYS, k->capacity->keys, larger(scored, 1), c);
    form(out, SHAPE_CHOSEN, 1, larger(scored, 1), c);
    form(out, SHAPE_PROJECTED, projected, larger(scored, 1), table);
    form(out, SHAPE_LOGITS, train, 1, logits_elements(k, n, true));
    /* One row more than are scored: a whole distribution is computed for one position of any model.
     */
    form(out, SHAPE_SCORES, 1, 1, logits_elements(k, scored + 1, false));
    out->losses_n = 2 * (k->heads_n + 1) + filling(k, k->bands.n - 1);
    /* Every band scores every row: its loss, its best class and at most two of its log p. */
    if (k->capacity->hits)
        out->losses_n = 4 * (k->bands.n * k->heads_n + filling(k, k->bands.n - 1));
    form(out, SHAPE_LOSS, 1, 1, out->losses_n);
    form(out, SHAPE_TRANSPOSED, 1, k->tail_widths, c);
    /* Per token: band rows, ids and gradient ids, and positions. Per row of the head: the target's
     * class, tail row, tail class, and the scored position. A band has three lists, a tail two. */
    out->lists_n = 4 * n + 4 * k->heads_n + filling(k, 5 * k->bands.n) + LISTS_SPARE;
    if (m->form.head_bias) out->lists_n += k->heads_n;
    if (k->capacity->hits) out->lists_n += 2 * k->bands.n * k->heads_n; /* each tail has all rows */
    form(out, SHAPE_LISTS, 1, 1, out->lists_n);
}

static void form_position(struct shape_memory *out, const struct measure *k)
{
    const struct spec_model *m = &k->spec->model;
    const struct position_functions *f = position_methods[m->position].functions;
    const struct position_shape shape = spec_position_shape(k->spec);
    int64_t L = k->capacity->length_max, pairs = position_pairs(f, &shape);
    int64_t bias_rows = position_table_length(f, &shape, k->capacity->length_max) + 1;

    form(out, SHAPE_EMBEDDING, f->embedding != NULL, f->first_row + L, m->dim);
    int32_t bases = k->spec->option.rotary_base_layers.n, tables = bases > 0 ? bases : 1;

    if (f->growth) tables = 2;
    form(out, SHAPE_COSINE, tables, L, pairs);
    form(out, SHAPE_SINE, tables, L, pairs);
    form(out, SHAPE_TEMPERATURE, m->temperature.kind != SPEC_NO_TEMPERATURE, m->layers, L);
    int64_t n = k->tokens_n, layers = k->capacity->train ? m->layers : 1;
    enum position_gates gates = f->gates ? f->gates(&shape) : POSITION_FIXED_GATES;
    bool gated = gates != POSITION_FIXED_GATES, by_token = gates == POSITION_TOKEN_GATES;
    form(out, SHAPE_GATE_INPUT, by_token ? layers : 0, n, m->heads);
    form(out, SHAPE_GATES, gated ? layers : 0, 2, n * m->heads);
    form(out, SHAPE_GATES_GRAD, gated && k->capacity->train, 1, n * m->heads);
    form(out, SHAPE_GATE_INPUT_GRAD, by_token && k->capacity->train, n, m->heads);
    bool by_key = position_has_key_bias(f, &shape);
    form(out, SHAPE_KEY_BIAS, by_key, m->heads, L);
    form(out, SHAPE_BIAS, f->fill != NULL && !by_key, bias_rows, m->heads);
    form(out, SHAPE_BIAS_GRAD, f->pullback != NULL && k->capacity->train, bias_rows, m->heads);
}

static int64_t end_of(const struct shape_buffer *b)
{
    return b->offset + b->copies_n * b->copy_bytes;
}

/* Returns the end of an earlier buffer that overlaps this one and is alive in a common phase; -1:
 * there is none. */
static int64_t hit(const struct shape_memory *out, int32_t id)
{
    const struct shape_buffer *b = &out->buffer[id];
    for (int32_t i = 0; i < id; i++) {
        const struct shape_buffer *other = &out->buffer[i];
        if (other->copies_n > 0 && (other->alive & b->alive) != 0 && b->offset < end_of(other) &&
            other->offset < end_of(b))
            return end_of(other);
    }
    return -1;
}

/* Places a buffer at the lowest free offset, which is 0 or the end of another buffer. */
static void place_buffer(struct shape_memory *out, int32_t id, bool bf16)
{
    struct shape_buffer *b = &out->buffer[id];
    int64_t number_bytes = b->number == SHAPE_ACTIVATION && bf16 ? 2 : 4;
    int64_t bytes = b->rows * b->cols * number_bytes;

    b->copy_bytes = (bytes + POOL_ALIGN_BYTES - 1) / POOL_ALIGN_BYTES * POOL_ALIGN_BYTES;
    if (b->copies_n == 0) return;
    for (int64_t next = 0; next >= 0; next = hit(out, id)) b->offset = next;
    out->pool_bytes = larger(out->pool_bytes, end_of(b));
}

/* Counts the arrays of gradients: the levels of the tree of a rank's leaves. */
static int32_t gradient_arrays(int32_t leaves)
{
    int32_t n = 1;
    for (int32_t level = 1; level < leaves; level *= 2) n++;
    return n;
}

/* Counts a round of so many ranks, each of which adds so many slices. */
static void count_round(struct shape_memory *out, enum shape_round number, int32_t ranks_n,
                        int32_t slices)
{
    if (ranks_n < 2) return;
    int64_t most = smaller(SHAPE_PIECE_BYTES, SHAPE_STAGING_BYTES / ranks_n) / 4;
    int64_t piece_n = smaller(shape_slice(out->elements_n) * slices, most);
    out->piece_n[number] = piece_n;
    out->staging_bytes = larger(out->staging_bytes, piece_n * 4 * (ranks_n - 1));
}

void shape_memory(struct shape_memory *out, const struct spec *s,
                  const struct shape_capacity *capacity)
{
    struct shape_params params;
    struct measure k;
    bool bf16 = capacity->precision == SPEC_BF16;

    *out = (struct shape_memory){.slots_n = 1};
    measure_make(&k, s, capacity);
    form_layers(out, &k);
    form_once(out, &k);
    form_position(out, &k);
    for (int32_t id = 0; !capacity->train && id < SHAPE_BUFFERS_N; id++)
        out->buffer[id].alive &= ~(uint32_t)TRAIN_ALL;
    for (int32_t id = 0; id < SHAPE_BUFFERS_N; id++) place_buffer(out, id, bf16);

    if (capacity->streamed)
        shape_params_streamed(&params, NULL, s);
    else
        shape_params(&params, NULL, s);
    out->elements_n = params.elements_n;
    out->step_bytes = SHAPE_STEP_BYTES;
    if (capacity->train) {
        int32_t leaves = shape_leaves(s->train.shards);
        int32_t ranks_n = (int32_t)larger(capacity->ranks_n, 1);
        int32_t node_ranks = capacity->node_ranks > 0 ? capacity->node_ranks : ranks_n;
        out->slots_n = s->train.optimizer == SPEC_ADAM ? 4 : 3;
        out->gradients_n = gradient_arrays(leaves / ranks_n);
        count_round(out, SHAPE_IN_NODE, node_ranks, SHAPE_SLICES / node_ranks);
        count_round(out, SHAPE_BETWEEN_NODES, ranks_n / node_ranks, SHAPE_SLICES / ranks_n);
        out->step_bytes += INT64_C(8) * leaves;
    }
    out->arrays_bytes = out->elements_n * 4 * (out->slots_n + larger(out->gradients_n - 1, 0));
    out->bf16_bytes = bf16 ? out->elements_n * 2 : 0;
    out->total_bytes = out->arrays_bytes + out->bf16_bytes + out->pool_bytes + out->step_bytes +
                       out->staging_bytes;
}
