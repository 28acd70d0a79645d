/* simd_attention.c - fused causal attention, forward.
 *
 * 1. A lane is a query: the softmax needs no sum across lanes, and every head width fills the
 *    lanes.
 * 2. For each tile of queries: for each tile of 64 keys from the first one in the window to the
 *    causal limit, then for each tile of sinks outside the window: scores, their running maximum,
 *    probabilities, and the output sum rescaled to the new maximum (online softmax: Milakov and
 *    Gimelshein 2018; Dao et al. 2022).
 * 3. The bits of a query depend only on the tokens it sees: key tiles begin at multiples of 64 for
 *    every T, and a masked key adds exactly zero. */
#include "cpu/simd_attention.h"

enum { FORWARD_KEYS = 4, FORWARD_DIMS = 8 };

/* Scratch of a thread: the bias tables of all heads, then the buffers of a tile. */
struct forward {
    const struct attention *a;
    const struct simd_dropout *dropout;
    float *table;       /* (H, table floats): the bias at distance d has index ATTENTION_WIDE + d */
    float *far;         /* the same without a window, if there are sinks */
    float *query;       /* (padded D, WIDE) scaled queries of the tile */
    float *out;         /* (padded D, WIDE) running sums */
    float *score;       /* (TILE, WIDE) scores, then probabilities */
    float *factor;      /* (TILE, WIDE) dropout factors */
    float *drawn;       /* (WIDE, TILE) the same, one row per query */
    float *sink_query;  /* (padded D, WIDE) queries rotated for sinks, if that differs */
    float *temperature; /* (WIDE) factors of the queries */
    float gate[2][ATTENTION_WIDE]; /* sums of the queries, high and low */
};

static size_t forward_bytes(const struct attention *a)
{
    int64_t tables_n = attention_has_sinks(a) ? 2 : 1,
            queries_n = attention_rotates_sinks(a) ? 3 : 2;
    int64_t floats = tables_n * a->H * attention_table_floats(a->T) +
                     queries_n * transpose_padded(a->D) * ATTENTION_WIDE +
                     3 * (int64_t)ATTENTION_TILE * ATTENTION_WIDE + ATTENTION_WIDE;
    return ((size_t)floats * sizeof(float) + 63) / 64 * 64;
}

static struct forward forward_plan(const struct attention *a, const struct simd_dropout *d,
                                   void *scratch)
{
    int64_t table = attention_table_floats(a->T), tile = transpose_padded(a->D) * ATTENTION_WIDE;
    struct forward f = {.a = a, .dropout = d, .table = scratch};
    f.query = f.table + a->H * table;
    f.out = f.query + tile;
    f.score = f.out + tile;
    f.factor = f.score + (int64_t)ATTENTION_TILE * ATTENTION_WIDE;
    f.drawn = f.factor + (int64_t)ATTENTION_TILE * ATTENTION_WIDE;
    f.temperature = f.drawn + (int64_t)ATTENTION_TILE * ATTENTION_WIDE;
    f.sink_query = f.temperature + ATTENTION_WIDE;
    f.far = f.sink_query + (attention_rotates_sinks(a) ? tile : 0);
    for (int32_t h = 0; h < a->H; h++) {
        float *to = f.table + h * table, *far = f.far + h * table;
        for (int64_t i = 0; i < ATTENTION_WIDE; i++) to[i] = -INFINITY;
        for (int64_t i = ATTENTION_WIDE; i < table; i++)
            to[i] = attention_window_bias_at(a, h, i - ATTENTION_WIDE);
        for (int64_t i = ATTENTION_WIDE; i < table && attention_has_sinks(a); i++)
            far[i] = attention_bias_at(&a->bias, h, i - ATTENTION_WIDE);
    }
    return f;
}

/* The queries and keys of a tile: `lanes` queries from first_query, keys_n keys from first_key. */
struct forward_tile {
    int64_t b, h, key_h, first_query, first_key, keys_n;
    int sinks; /* whether the keys are outside the window */
    const float *query;
    const float *bias; /* of the first query and the first key; the next key's is at + bias_step */
    int64_t bias_step;
    /* The biases of the head's keys, or NULL. Scores have them less that of the first query, so
     * that they are small where they matter. */
    const float *key_bias;
};

/* Scores of N keys from key k of the tile on; updates highest. */
VECTOR_FN void forward_scores_of(const struct forward *f, const struct forward_tile *t,
                                 vector_f32 *highest, int64_t k, const int N, const int QV)
{
    const struct tensor *keys = &f->a->k;
    const float *key =
        attention_head(keys, f->a, t->b, t->key_h) + (t->first_key + k) * keys->stride;
    const float *bias = t->bias + k * t->bias_step;
    vector_f32 sum[FORWARD_KEYS][2];
    for (int n = 0; n < N; n++)
        for (int v = 0; v < QV; v++)
            sum[n][v] = vector_load(bias + n * t->bias_step + v * VECTOR_LANES);
    for (int n = 0; n < N && t->key_bias; n++)
        for (int v = 0; v < QV; v++)
            sum[n][v] += (t->key_bias[t->first_key + k + n] - t->key_bias[t->first_query]) *
                         (float)ATTENTION_LOG2E;
    for (int n = 0; n < N && f->a->temperature.inside; n++)
        for (int v = 0; v < QV; v++)
            sum[n][v] = attention_inside(sum[n][v], vector_load(f->temperature + v * VECTOR_LANES));
    for (int64_t c = 0; c < f->a->D; c++)
        for (int n = 0; n < N; n++)
            for (int v = 0; v < QV; v++)
                sum[n][v] += vector_load(t->query + c * ATTENTION_WIDE + v * VECTOR_LANES) *
                             key[n * keys->stride + c];
    if (f->a->gates.high.data) {
        const float *high = attention_gate(&f->a->gates.high, f->a, t->b, t->h) + t->first_key + k;
        const float *low = attention_gate(&f->a->gates.low, f->a, t->b, t->h) + t->first_key + k;
        for (int n = 0; n < N; n++)
            for (int v = 0; v < QV; v++)
                sum[n][v] += ((vector_load(f->gate[0] + v * VECTOR_LANES) - high[n]) +
                              (vector_load(f->gate[1] + v * VECTOR_LANES) - low[n])) *
                             (float)ATTENTION_LOG2E;
    }
    for (int n = 0; n < N; n++)
        for (int v = 0; v < QV; v++) {
            highest[v] = vector_max(sum[n][v], highest[v]);
            vector_store(f->score + (k + n) * ATTENTION_WIDE + v * VECTOR_LANES, sum[n][v]);
        }
}

VECTOR_FN void forward_scores(const struct forward *f, const struct forward_tile *t,
                              vector_f32 *highest, const int QV)
{
    int64_t k = 0;
    for (; k + FORWARD_KEYS <= t->keys_n; k += FORWARD_KEYS)
        forward_scores_of(f, t, highest, k, FORWARD_KEYS, QV);
    for (; k < t->keys_n; k++) forward_scores_of(f, t, highest, k, 1, QV);
}

/* Multiplies probabilities by their dropout factors: draws the factors of each query up to its own
 * token, and transposes the tile. */
static void forward_dropout(const struct forward *f, const struct forward_tile *t, int64_t lanes)
{
    const struct attention *a = f->a;
    int64_t head = (f->dropout->first_row + t->b) * a->H + t->h;
    memset(f->drawn, 0, (size_t)(lanes * ATTENTION_TILE) * sizeof *f->drawn);
    for (int64_t l = 0; l < lanes && t->first_query + l < a->T; l++) {
        int64_t i = t->first_query + l, n = i - t->first_key + 1;
        if (n <= 0) continue;
        dropout_factors(f->drawn + l * ATTENTION_TILE, f->dropout,
                        (uint64_t)((head * a->T + i) * a->T + t->first_key),
                        n < t->keys_n ? n : t->keys_n);
    }
    transpose_to_columns(f->factor, ATTENTION_WIDE, f->drawn, ATTENTION_TILE, lanes,
                         transpose_padded(t->keys_n), 1.0f);
    for (int64_t k = 0; k < t->keys_n; k++)
        for (int64_t v = 0; v < lanes; v += VECTOR_LANES) {
            float *p = f->score + k * ATTENTION_WIDE + v;
            vector_store(p, vector_load(p) * vector_load(f->factor + k * ATTENTION_WIDE + v));
        }
}

/* N columns of v from c on: out = rescale * out + sum of p v over the tile's keys. */
VECTOR_FN void forward_values_of(const struct forward *f, const struct forward_tile *t,
                                 const vector_f32 *rescale, int64_t c, const int N, const int QV)
{
    const struct tensor *values = &f->a->v;
    const float *value =
        attention_head(values, f->a, t->b, t->key_h) + t->first_key * values->stride;
    float *out = f->out + c * ATTENTION_WIDE;
    vector_f32 sum[FORWARD_DIMS][2];
    for (int n = 0; n < N; n++)
        for (int v = 0; v < QV; v++)
            sum[n][v] = vector_load(out + n * ATTENTION_WIDE + v * VECTOR_LANES) * rescale[v];
    for (int64_t k = 0; k < t->keys_n; k++) {
        const float *p = f->score + k * ATTENTION_WIDE;
        const float *row = value + k * values->stride + c;
        for (int n = 0; n < N; n++)
            for (int v = 0; v < QV; v++) sum[n][v] += vector_load(p + v * VECTOR_LANES) * row[n];
    }
    for (int n = 0; n < N; n++)
        for (int v = 0; v < QV; v++)
            vector_store(out + n * ATTENTION_WIDE + v * VECTOR_LANES, sum[n][v]);
}

VECTOR_FN void forward_values(const struct forward *f, const struct forward_tile *t,
                              const vector_f32 *rescale, const int QV)
{
    int64_t c = 0;
    for (; c + FORWARD_DIMS <= f->a->D; c += FORWARD_DIMS)
        forward_values_of(f, t, rescale, c, FORWARD_DIMS, QV);
    for (; c < f->a->D; c += 2) forward_values_of(f, t, rescale, c, 2, QV);
}

/* Loads the tile's queries as columns, scaled to units of log 2; lanes past T are zero. */
static void forward_load(struct forward *f, const struct forward_tile *t, int64_t lanes)
{
    const struct attention *a = f->a;
    float scale = (float)(a->scale * ATTENTION_LOG2E);
    const float *query = attention_head(&a->q, a, t->b, t->h);
    int64_t rows = a->T - t->first_query < lanes ? a->T - t->first_query : lanes;
    if (rows < lanes) memset(f->query, 0, (size_t)a->D * ATTENTION_WIDE * sizeof *f->query);
    transpose_to_columns(f->query, ATTENTION_WIDE, query + t->first_query * a->q.stride,
                         a->q.stride, rows, a->D, scale);
    memset(f->out, 0, (size_t)a->D * ATTENTION_WIDE * sizeof *f->out);
    for (int64_t l = 0; l < lanes && a->temperature.query_dev; l++)
        f->temperature[l] = l < rows ? attention_factor(a, t->h, t->first_query + l) : 0.0f;
    for (int64_t c = 0; c < a->D && a->temperature.query_dev; c++)
        for (int64_t l = 0; l < lanes; l++) f->query[c * ATTENTION_WIDE + l] *= f->temperature[l];
    if (!a->gates.high.data) return;
    const float *high = attention_gate(&a->gates.high, a, t->b, t->h) + t->first_query;
    const float *low = attention_gate(&a->gates.low, a, t->b, t->h) + t->first_query;
    for (int64_t l = 0; l < lanes; l++) {
        f->gate[0][l] = l < rows ? high[l] : 0.0f;
        f->gate[1][l] = l < rows ? low[l] : 0.0f;
    }
}

/* Writes out / sum and the log of the softmax sum of the queries. */
VECTOR_FN void forward_finish(const struct forward *f, const struct forward_tile *t,
                              const vector_f32 *highest, const vector_f32 *sum, const int QV)
{
    const struct attention *a = f->a;
    int64_t lanes = QV * VECTOR_LANES, left = a->T - t->first_query;
    int64_t rows = left < lanes ? left : lanes;
    float *out = attention_head(&a->out, a, t->b, t->h) + t->first_query * a->out.stride;
    float *lse = (float *)a->lse.data + (t->b * a->H + t->h) * a->lse.stride + t->first_query;
    float log_sum[ATTENTION_WIDE];
    for (int v = 0; v < QV; v++) {
        vector_f32 share = 1.0f / sum[v];
        for (int64_t c = 0; c < a->D; c++) {
            float *column = f->out + c * ATTENTION_WIDE + v * VECTOR_LANES;
            vector_store(column, vector_load(column) * share);
        }
        vector_f32 total = (highest[v] + vector_log2(sum[v])) * (float)ATTENTION_LN2;
        vector_f32 factor = vector_set(1.0f);
        if (a->temperature.inside) factor = vector_load(f->temperature + v * VECTOR_LANES);
        if (t->key_bias) total += t->key_bias[t->first_query] * factor;
        vector_store(log_sum + v * VECTOR_LANES, total);
    }
    transpose_to_rows(out, a->out.stride, f->out, ATTENTION_WIDE, rows, a->D, 1.0f);
    memcpy(lse, log_sum, (size_t)rows * sizeof *lse);
}

/* Rotates the queries for sinks outside the window. */
static void forward_rotate(const struct forward *f, const struct forward_tile *t, int64_t lanes)
{
    const struct attention *a = f->a;
    int64_t rows = a->T - t->first_query < lanes ? a->T - t->first_query : lanes;
    memcpy(f->sink_query, f->query, (size_t)(a->D * ATTENTION_WIDE) * sizeof *f->query);
    for (int64_t l = 0; l < rows; l++)
        for (int64_t p = 0; p < a->rotary.cosine.cols; p++) {
            struct attention_rotation r = attention_sink_rotation(a, t->first_query + l, p);
            float x = f->query[r.first * ATTENTION_WIDE + l];
            float y = f->query[r.second * ATTENTION_WIDE + l];
            f->sink_query[r.first * ATTENTION_WIDE + l] = x * r.cosine - y * r.sine;
            f->sink_query[r.second * ATTENTION_WIDE + l] = y * r.cosine + x * r.sine;
        }
}

/* Writes the biases of a tile of sinks in place of its scores. */
static void forward_sink_biases(const struct forward *f, const struct forward_tile *t)
{
    const float *far = f->far + t->h * attention_table_floats(f->a->T) + ATTENTION_WIDE;
    for (int64_t k = 0; k < t->keys_n; k++)
        for (int64_t l = 0; l < ATTENTION_WIDE; l++) {
            int64_t i = t->first_query + l, j = t->first_key + k;
            f->score[k * ATTENTION_WIDE + l] = attention_sees_sink(f->a, i, j)
                                                   ? far[attention_sink_position(f->a, i) - j]
                                                   : -INFINITY;
        }
}

/* The first tile with a key in the window of a query of this tile. */
static int64_t forward_first_key(const struct forward *f, const struct forward_tile *t)
{
    int64_t window = attention_window(f->a, t->h);
    int64_t first = window > 0 ? t->first_query - window + 1 : 0;
    return first > 0 ? first / ATTENTION_TILE * ATTENTION_TILE : 0;
}

/* Sets up the tile of keys from t->first_key on: first tiles in the window, then sinks outside it.
 * Returns 0 after the last one. limit: number of keys that a query of the tile may see. */
VECTOR_FN int forward_next(const struct forward *f, struct forward_tile *t, int64_t limit,
                           const int QV)
{
    const struct attention *a = f->a;
    if (!t->sinks && t->first_key >= limit) {
        if (!attention_has_sinks(a) || limit - 1 < a->mask.window) return 0;
        if (attention_rotates_sinks(a)) forward_rotate(f, t, QV * VECTOR_LANES);
        t->sinks = 1;
        t->first_key = 0;
    }
    if (t->sinks && limit > a->mask.sinks) limit = a->mask.sinks;
    if (t->first_key >= limit) return 0;
    t->keys_n = limit - t->first_key < ATTENTION_TILE ? limit - t->first_key : ATTENTION_TILE;
    t->query = t->sinks && attention_rotates_sinks(a) ? f->sink_query : f->query;
    if (t->sinks) {
        forward_sink_biases(f, t);
        t->bias = f->score;
        t->bias_step = ATTENTION_WIDE;
    } else {
        t->bias = f->table + t->h * attention_table_floats(a->T) + ATTENTION_WIDE + t->first_query -
                  t->first_key;
        t->bias_step = -1;
    }
    return 1;
}

VECTOR_FN void forward_queries(struct forward *f, struct forward_tile t, const int QV)
{
    int64_t lanes = QV * VECTOR_LANES, limit = t.first_query + lanes;
    vector_f32 highest[2] = {vector_set(-1e30f), vector_set(-1e30f)}, sum[2] = {{0}, {0}};
    if (limit > f->a->T) limit = f->a->T;
    forward_load(f, &t, lanes);
    for (t.first_key = forward_first_key(f, &t); forward_next(f, &t, limit, QV);
         t.first_key += ATTENTION_TILE) {
        vector_f32 before[2] = {highest[0], highest[1]}, rescale[2] = {{0}, {0}};
        forward_scores(f, &t, highest, QV);
        for (int v = 0; v < QV; v++) {
            rescale[v] = vector_exp2(before[v] - highest[v]);
            sum[v] *= rescale[v];
        }
        for (int64_t k = 0; k < t.keys_n; k++)
            for (int v = 0; v < QV; v++) {
                float *p = f->score + k * ATTENTION_WIDE + v * VECTOR_LANES;
                vector_f32 probability = vector_exp2(vector_load(p) - highest[v]);
                sum[v] += probability;
                vector_store(p, probability);
            }
        if (f->dropout->keep_scale != 0.0f) forward_dropout(f, &t, lanes);
        forward_values(f, &t, rescale, QV);
    }
    forward_finish(f, &t, highest, sum, QV);
}

static void forward_run(const void *args, struct simd_range items)
{
    const struct attention *a = args;
    const struct simd_dropout d = dropout_of(&a->dropout, a->T);
    struct forward f = forward_plan(a, &d, items.scratch);
    for (int64_t item = items.begin; item < items.end; item++) {
        struct forward_tile t = {.b = item / a->H, .h = item % a->H};
        t.key_h = attention_key_head(a, t.h);
        if (a->bias.key_bias_dev) t.key_bias = a->bias.key_bias_dev + t.h * a->T;
        if (a->T <= VECTOR_LANES) {
            forward_queries(&f, t, 1);
            continue;
        }
        for (; t.first_query < a->T; t.first_query += ATTENTION_WIDE) forward_queries(&f, t, 2);
    }
}

const struct simd_attention SIMD_NAME(simd_attention) = {
    .scratch_bytes = forward_bytes,
    .run = forward_run,
};
