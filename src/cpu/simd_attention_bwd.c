/* simd_attention_bwd.c - fused causal attention, backward.
 *
 * A lane is a key. For one tile of keys and each tile of 64 queries at or after it:
 * 1. recompute probabilities from the scores and the stored log of the softmax sum, and their
 *    gradient from dout and v: ds = p (dp - delta), delta = dout . out;
 * 2. dv += p dout and dk += ds q: sums over queries, within lanes;
 * 3. transpose ds, so that a lane is a query; dq += ds k;
 * 4. gradient of the bias: sums of ds over pairs of equal distance. Tiles in which every
 *    probability is zero are skipped (attention_skip below). With dropout, p is the dropped and
 *    scaled factor of v, and dp is multiplied by the dropout factor. */
#include <math.h>

#include "cpu/simd_attention.h"

/* Skip bounds: prove that all probabilities of a tile are exactly zero without computing them.
 *
 * The backward pass recomputes a probability as vector_exp2(q k + bias - lse), in units of log 2,
 * which is 0 below EXP2_ZERO. A probability of 0 adds zeros to every gradient if values and dout
 * are finite. If the bias falls with distance, for every pair of a tile of queries and a tile of
 * keys
 *
 *     q k + bias - lse  <=  max|q| max|k| + bias at the tiles' nearest distance - lowest lse
 *
 * (Cauchy-Schwarz). If the right side is below EXP2_ZERO, skipping the tile changes no bit of the
 * gradients. Both sides are sums with up to 130 roundings of 2^-24 each, so that each part is
 * increased by 2^-12 of itself. If a number is not finite, no tile is skipped. */
#define ATTENTION_SKIP_ABOVE (1.0f + 0x1p-12f)
#define ATTENTION_SKIP_BELOW (1.0f - 0x1p-12f)

/* For each tile of ATTENTION_TILE queries: the largest |q| and the smallest lse. */
struct attention_skip {
    float *query_norm, *lse;
};

/* True if tiles of head h can be skipped at all. */
VECTOR_FN int attention_skip_applies(const struct attention *a, int64_t h)
{
    const struct attention_bias *b = &a->bias;
    return b->tail_slope_dev && b->tail_slope_dev[h] < 0.0f && b->bias_table_n == 0 &&
           !a->gates.high.data && !a->temperature.inside && a->T > ATTENTION_TILE;
}

/* Computes both from q . q and lse of T queries. */
VECTOR_FN void attention_skip_fill(struct attention_skip *s, const float *squares, const float *lse,
                                   int64_t T)
{
    for (int64_t first = 0; first < T; first += ATTENTION_TILE) {
        float highest = 0.0f, lowest = INFINITY, poison = 0.0f;
        for (int64_t i = first; i < first + ATTENTION_TILE && i < T; i++) {
            poison += 0.0f * (squares[i] + lse[i]); /* NaN if either is not finite */
            if (squares[i] > highest) highest = squares[i];
            if (lse[i] < lowest) lowest = lse[i];
        }
        s->query_norm[first / ATTENTION_TILE] = sqrtf(highest) + poison;
        s->lse[first / ATTENTION_TILE] = lowest;
    }
}

/* The largest |k| of two vectors of keys in columns. */
VECTOR_FN float attention_skip_key_norm(const float *columns, int64_t column, int64_t D)
{
    vector_f32 square[2] = {{0}, {0}};
    for (int64_t c = 0; c < D; c++)
        for (int v = 0; v < 2; v++) {
            vector_f32 x = vector_load(columns + c * column + v * VECTOR_LANES);
            square[v] += x * x;
        }
    float sum = vector_sum(square[0] + square[1]);
    return sqrtf(vector_highest(vector_max(square[0], square[1]))) + 0.0f * sum;
}

/* bias: of the nearest pair of the query tile and the keys. */
VECTOR_FN int attention_skip_is_dead(const struct attention_skip *s, int64_t query_tile,
                                     float key_norm, float bias)
{
    float most = s->query_norm[query_tile] * key_norm * ATTENTION_SKIP_ABOVE;
    return most + (bias - s->lse[query_tile]) * ATTENTION_SKIP_BELOW < VECTOR_EXP2_ZERO;
}

enum {
    BACKWARD_QUERIES = 4,
    BACKWARD_DIMS = 8,
    BACKWARD_DS_ROW = ATTENTION_WIDE + VECTOR_LANES /* a vector of zeros between rows of ds */
};

/* Scratch of a thread. Tp is the number of tokens rounded up to whole tiles. Columns of tokens are
 * `column` floats apart, a cache line more than Tp: a power of two would map them to the same cache
 * lines. */
struct backward {
    const struct attention *a;
    const struct simd_dropout *dropout;
    int64_t Tp, column, table_n;
    float *tables;        /* (H, table_n) biases by falling distance, see backward_table */
    const float *table;   /* of the current head */
    float *far;           /* (H, Tp) biases by distance without a window, if there are sinks */
    float *key, *value;   /* (D, column) of the head; keys scaled to units of log 2 */
    float *dquery;        /* (D, column) */
    float *dkey, *dvalue; /* (D, WIDE) of the tile */
    float *p;             /* (TILE, WIDE) */
    float *ds;            /* (TILE, DS_ROW), with a vector of zeros also before the first row */
    float *ds_transposed; /* (WIDE, TILE) */
    float *sink_query;    /* (TILE, D) queries rotated for sinks, if that differs */
    float *sink_dquery;   /* (padded D, TILE) their gradient */
    float *delta, *lse;   /* (Tp) */
    float *by_distance;   /* (table_n) sums of ds, in the table's order */
    float *squares;       /* (Tp) q . q, if tiles can be skipped */
    float *warm_query;    /* (TILE, D) queries times their factors, with a temperature */
    float *bias_dots;     /* (Tp) ds . bias in units of log 2, with a temperature */
    float *gate;          /* (2, Tp) sums of the gates, high and low */
    float *dgate;         /* (WIDE) sums of ds of the tile's keys */
    struct attention_skip skip; /* (Tp / TILE) each */
};

/* A row that fits into a tile of keys is padded to vectors only. */
static int64_t backward_padded(int32_t T)
{
    if (T <= VECTOR_LANES) return VECTOR_LANES > TRANSPOSE_BLOCK ? VECTOR_LANES : TRANSPOSE_BLOCK;
    return ((int64_t)T + ATTENTION_TILE - 1) / ATTENTION_TILE * ATTENTION_TILE;
}

static int64_t backward_table_floats(int64_t Tp)
{
    return Tp + 2 * ATTENTION_TILE + 2 * ATTENTION_WIDE;
}

static int64_t backward_column(int64_t Tp)
{
    return Tp + 16;
}

enum { BACKWARD_DS_FLOATS = ATTENTION_TILE * BACKWARD_DS_ROW + 2 * VECTOR_LANES };

static size_t backward_bytes(const struct attention *a)
{
    int64_t Tp = backward_padded(a->T), D = transpose_padded(a->D);
    int64_t sinks = attention_has_sinks(a) ? a->H * Tp : 0;
    if (attention_rotates_sinks(a)) sinks += 2 * D * ATTENTION_TILE;
    int64_t warm = a->temperature.query_dev ? a->D * ATTENTION_TILE + Tp : 0;
    int64_t floats = sinks + warm + (a->H + 1) * backward_table_floats(Tp) +
                     3 * D * backward_column(Tp) + 2 * D * ATTENTION_WIDE +
                     2 * (int64_t)ATTENTION_TILE * ATTENTION_WIDE + BACKWARD_DS_FLOATS + 3 * Tp +
                     2 * (Tp / ATTENTION_TILE + 1) + 2 * Tp + ATTENTION_WIDE;
    return ((size_t)floats * sizeof(float) + 63) / 64 * 64;
}

/* Distance d of head h has index Tp - 1 - d: keys j, j + 1, ... of query i are consecutive from
 * Tp - 1 - i + j on. Entries past distance 0 are the causal mask. */
static void backward_table(const struct backward *w, int32_t h)
{
    float *table = w->tables + h * w->table_n;
    for (int64_t d = 0; d < w->Tp; d++) {
        table[w->Tp - 1 - d] = attention_window_bias_at(w->a, h, d);
        if (attention_has_sinks(w->a)) w->far[h * w->Tp + d] = attention_bias_at(&w->a->bias, h, d);
    }
    for (int64_t i = w->Tp; i < w->table_n; i++) table[i] = -INFINITY;
}

static struct backward backward_plan(const struct attention *a, const struct simd_dropout *d,
                                     void *scratch)
{
    struct backward w = {.a = a, .dropout = d, .Tp = backward_padded(a->T)};
    int64_t tile = (int64_t)ATTENTION_TILE * ATTENTION_WIDE;
    w.column = backward_column(w.Tp);
    int64_t D = transpose_padded(a->D), head = D * w.column;
    w.table_n = backward_table_floats(w.Tp);
    w.key = scratch;
    w.value = w.key + head;
    w.dquery = w.value + head;
    w.dkey = w.dquery + head;
    w.dvalue = w.dkey + D * ATTENTION_WIDE;
    w.p = w.dvalue + D * ATTENTION_WIDE;
    w.ds_transposed = w.p + tile;
    w.ds = w.ds_transposed + tile;
    memset(w.ds, 0, BACKWARD_DS_FLOATS * sizeof *w.ds);
    w.delta = w.ds + BACKWARD_DS_FLOATS;
    w.ds += VECTOR_LANES;
    w.lse = w.delta + w.Tp;
    w.by_distance = w.lse + w.Tp;
    w.squares = w.by_distance + w.table_n;
    w.skip.query_norm = w.squares + w.Tp;
    w.skip.lse = w.skip.query_norm + w.Tp / ATTENTION_TILE + 1;
    w.tables = w.skip.lse + w.Tp / ATTENTION_TILE + 1;
    w.sink_query = w.tables + a->H * w.table_n;
    w.sink_dquery = w.sink_query + D * ATTENTION_TILE;
    w.gate = w.sink_query + (attention_rotates_sinks(a) ? 2 * D * ATTENTION_TILE : 0);
    w.dgate = w.gate + 2 * w.Tp;
    w.far = w.dgate + ATTENTION_WIDE;
    w.warm_query = w.far + (attention_has_sinks(a) ? a->H * w.Tp : 0);
    w.bias_dots = w.warm_query + a->D * ATTENTION_TILE;
    for (int32_t h = 0; h < a->H; h++) backward_table(&w, h);
    return w;
}

/* sum += the products of the first n of eight floats. */
VECTOR_FN void backward_add_block(vector_f32x8 *sum, const float *x, const float *y,
                                  const int64_t n)
{
    vector_f32x8 a, b;
    transpose_load(&a, x, n);
    transpose_load(&b, y, n);
    *sum += a * b;
}

/* dot[i] = x[i] . y[i], eight rows at a time: transposes their products and adds them. */
VECTOR_FN void backward_row_dots(float *dot, const float *x_rows, int64_t x_stride,
                                 const float *y_rows, int64_t y_stride, int64_t T, int64_t D)
{
    for (int64_t first = 0; first < T; first += TRANSPOSE_BLOCK) {
        vector_f32x8 row[TRANSPOSE_BLOCK] = {{0}}, sum = {0};
        for (int64_t i = 0; i < TRANSPOSE_BLOCK && first + i < T; i++) {
            const float *x = x_rows + (first + i) * x_stride, *y = y_rows + (first + i) * y_stride;
            int64_t c = 0;
            for (; c + TRANSPOSE_BLOCK <= D; c += TRANSPOSE_BLOCK)
                backward_add_block(&row[i], x + c, y + c, TRANSPOSE_BLOCK);
            if (c < D) backward_add_block(&row[i], x + c, y + c, D - c);
        }
        transpose_block(row);
        for (int i = 0; i < TRANSPOSE_BLOCK; i++) sum += row[i];
        *(vector_f32x8_any *)(void *)(dot + first) = sum;
    }
}

/* Loads the head's keys and values as columns, its delta and lse; zeroes dq. */
static void backward_load(struct backward *w, int64_t b, int64_t h)
{
    const struct attention *a = w->a;
    const float *key = attention_head(&a->k, a, b, h), *value = attention_head(&a->v, a, b, h);
    const float *out = attention_head(&a->out, a, b, h), *dout = attention_head(&a->dout, a, b, h);
    const float *lse = (const float *)a->lse.data + (b * a->H + h) * a->lse.stride;
    float scale = (float)(a->scale * ATTENTION_LOG2E);
    transpose_to_columns(w->key, w->column, key, a->k.stride, a->T, a->D, scale);
    transpose_to_columns(w->value, w->column, value, a->v.stride, a->T, a->D, 1.0f);
    /* Zero everything past the last token: a masked lane must not read a NaN from earlier use. */
    for (int64_t c = 0; c < a->D; c++)
        for (int64_t j = a->T; j < w->Tp; j++)
            w->key[c * w->column + j] = w->value[c * w->column + j] = 0.0f;
    backward_row_dots(w->delta, out, a->out.stride, dout, a->dout.stride, a->T, a->D);
    for (int64_t i = 0; i < a->T; i++) w->lse[i] = lse[i] * (float)ATTENTION_LOG2E;
    if (attention_skip_applies(a, h)) {
        const float *query = attention_head(&a->q, a, b, h);
        backward_row_dots(w->squares, query, a->q.stride, query, a->q.stride, a->T, a->D);
        for (int64_t i = 0; i < a->T && a->temperature.query_dev; i++)
            w->squares[i] *= attention_factor(a, h, i) * attention_factor(a, h, i);
        attention_skip_fill(&w->skip, w->squares, w->lse, a->T);
    }
    memset(w->dquery, 0, (size_t)(a->D * w->column) * sizeof *w->dquery);
    if (a->temperature.query_dev) memset(w->bias_dots, 0, (size_t)w->Tp * sizeof *w->bias_dots);
    if (!a->gates.high.data) return;
    memset(w->gate, 0, 2 * (size_t)w->Tp * sizeof *w->gate);
    memcpy(w->gate, attention_gate(&a->gates.high, a, b, h), (size_t)a->T * sizeof *w->gate);
    memcpy(w->gate + w->Tp, attention_gate(&a->gates.low, a, b, h), (size_t)a->T * sizeof *w->gate);
}

/* A tile: queries_n queries from first_query, and keys from first_key. */
struct backward_tile {
    int64_t b, h, first_query, queries_n, first_key;
    int sinks;          /* whether the keys are outside the window */
    const float *query; /* rows of queries, query_row apart */
    const float
        *bias;     /* of the first query and the first key; the next query's is at + bias_step */
    float *dquery; /* columns of queries, dquery_column apart */
    int64_t query_row, bias_step, dquery_column;
};

/* sum[n][v] += x[n] . column vectors, for N queries. */
VECTOR_FN void backward_dots(vector_f32 sum[BACKWARD_QUERIES][2], const float *x, int64_t stride,
                             const float *columns, int64_t column, int64_t D, const int N,
                             const int KV)
{
    for (int64_t c = 0; c < D; c++)
        for (int n = 0; n < N; n++)
            for (int v = 0; v < KV; v++)
                sum[n][v] +=
                    vector_load(columns + c * column + v * VECTOR_LANES) * x[n * stride + c];
}

/* Step 1 for N queries from query q of the tile on. */
VECTOR_FN void backward_scores_of(const struct backward *w, const struct backward_tile *t,
                                  int64_t q, const int N, const int KV)
{
    const struct attention *a = w->a;
    int64_t i = t->first_query + q;
    const float *query = t->query + q * t->query_row;
    const float *dout = attention_head(&a->dout, a, t->b, t->h) + i * a->dout.stride;
    const float *bias = t->bias + q * t->bias_step;
    vector_f32 sum[BACKWARD_QUERIES][2], dp[BACKWARD_QUERIES][2];
    for (int n = 0; n < N; n++)
        for (int v = 0; v < KV; v++) {
            sum[n][v] = vector_load(bias + n * t->bias_step + v * VECTOR_LANES);
            if (a->temperature.inside)
                sum[n][v] =
                    attention_inside(sum[n][v], vector_set(attention_factor(a, t->h, i + n)));
            sum[n][v] -= w->lse[i + n];
            dp[n][v] = vector_set(0.0f);
        }
    for (int n = 0; n < N && a->gates.high.data; n++)
        for (int v = 0; v < KV; v++) {
            const float *high = w->gate + t->first_key + v * VECTOR_LANES;
            sum[n][v] += ((w->gate[i + n] - vector_load(high)) +
                          (w->gate[w->Tp + i + n] - vector_load(high + w->Tp))) *
                         (float)ATTENTION_LOG2E;
        }
    backward_dots(sum, query, t->query_row, w->key + t->first_key, w->column, a->D, N, KV);
    backward_dots(dp, dout, a->dout.stride, w->value + t->first_key, w->column, a->D, N, KV);
    for (int n = 0; n < N; n++)
        for (int v = 0; v < KV; v++) {
            float *to = w->p + (q + n) * ATTENTION_WIDE + v * VECTOR_LANES;
            vector_f32 p = vector_exp2(sum[n][v]), factor = vector_set(1.0f);
            if (w->dropout->keep_scale != 0.0f) factor = vector_load(to);
            vector_store(w->ds + (q + n) * BACKWARD_DS_ROW + v * VECTOR_LANES,
                         p * (dp[n][v] * factor - w->delta[i + n]));
            vector_store(to, p * factor);
        }
}

/* Dropout factors of the tile, in p until step 1 reads them. */
static void backward_dropout(const struct backward *w, const struct backward_tile *t, int64_t lanes)
{
    const struct attention *a = w->a;
    int64_t head = (w->dropout->first_row + t->b) * a->H + t->h;
    for (int64_t q = 0; q < t->queries_n; q++) {
        int64_t element = (head * a->T + t->first_query + q) * a->T + t->first_key;
        dropout_factors(w->p + q * ATTENTION_WIDE, w->dropout, (uint64_t)element, lanes);
    }
}

VECTOR_FN void backward_scores(const struct backward *w, const struct backward_tile *t,
                               const int KV)
{
    int64_t q = 0;
    if (w->dropout->keep_scale != 0.0f) backward_dropout(w, t, KV * VECTOR_LANES);
    for (; q + BACKWARD_QUERIES <= t->queries_n; q += BACKWARD_QUERIES)
        backward_scores_of(w, t, q, BACKWARD_QUERIES, KV);
    for (; q < t->queries_n; q++) backward_scores_of(w, t, q, 1, KV);
}

/* sums (D, sums_stride) += over rows r of weight (rows_n, weight_stride) times x[r][c], where
 * element c of row r of x is x[r * x_row + c * x_col]. Steps 2 and 3. */
struct backward_product {
    float *sums;
    const float *weight, *x;
    int64_t sums_stride, weight_stride, x_row, x_col, rows_n;
};

VECTOR_FN void backward_add_products_of(const struct backward_product *m, int64_t c, const int N,
                                        const int KV)
{
    vector_f32 sum[BACKWARD_DIMS][2];
    for (int n = 0; n < N; n++)
        for (int v = 0; v < KV; v++)
            sum[n][v] = vector_load(m->sums + (c + n) * m->sums_stride + v * VECTOR_LANES);
    for (int64_t r = 0; r < m->rows_n; r++)
        for (int n = 0; n < N; n++)
            for (int v = 0; v < KV; v++)
                sum[n][v] += vector_load(m->weight + r * m->weight_stride + v * VECTOR_LANES) *
                             m->x[r * m->x_row + (c + n) * m->x_col];
    for (int n = 0; n < N; n++)
        for (int v = 0; v < KV; v++)
            vector_store(m->sums + (c + n) * m->sums_stride + v * VECTOR_LANES, sum[n][v]);
}

VECTOR_FN void backward_add_products(const struct backward_product *m, int64_t D, const int KV)
{
    int64_t c = 0;
    for (; c + BACKWARD_DIMS <= D; c += BACKWARD_DIMS)
        backward_add_products_of(m, c, BACKWARD_DIMS, KV);
    for (; c < D; c += 2) backward_add_products_of(m, c, 2, KV);
}

/* Step 3: transposes squares of ds, so that lanes are queries. */
VECTOR_FN void backward_queries(const struct backward *w, const struct backward_tile *t,
                                const int KV)
{
    int64_t lanes = KV * VECTOR_LANES;
    int64_t rows = (t->queries_n + VECTOR_LANES - 1) / VECTOR_LANES * VECTOR_LANES;
    for (int64_t q = t->queries_n; q < rows; q++)
        memset(w->ds + q * BACKWARD_DS_ROW, 0, ATTENTION_WIDE * sizeof *w->ds);
    for (int64_t q = 0; q < rows; q += VECTOR_LANES)
        for (int64_t k = 0; k < lanes; k += VECTOR_LANES)
            transpose_square(w->ds_transposed + k * ATTENTION_TILE + q, ATTENTION_TILE,
                             w->ds + q * BACKWARD_DS_ROW + k, BACKWARD_DS_ROW);
    for (int64_t q = 0; q < rows;) {
        struct backward_product m = {.sums = t->dquery + q,
                                     .weight = w->ds_transposed + q,
                                     .x = w->key + t->first_key,
                                     .sums_stride = t->dquery_column,
                                     .weight_stride = ATTENTION_TILE,
                                     .x_row = 1,
                                     .x_col = w->column,
                                     .rows_n = lanes};
        if (q + ATTENTION_WIDE <= rows) {
            backward_add_products(&m, w->a->D, 2);
            q += ATTENTION_WIDE;
        } else {
            backward_add_products(&m, w->a->D, 1);
            q += VECTOR_LANES;
        }
    }
}

/* Step 4: adds row q of ds to the sums of its distances, which begin one float before those of the
 * previous row. Adds as many rows as a vector has lanes in registers: each row is read from before
 * its first element, by its shift; the zeros between rows fill the rest. */
VECTOR_FN void backward_distances(const struct backward *w, const struct backward_tile *t,
                                  const int KV)
{
    for (int64_t q = 0; q < t->queries_n; q += VECTOR_LANES) {
        int64_t lowest = w->Tp - (t->first_query + q) - VECTOR_LANES + t->first_key;
        float *to = w->by_distance + lowest;
        vector_f32 sum[3];
        for (int v = 0; v <= KV; v++) sum[v] = vector_load(to + v * VECTOR_LANES);
        for (int64_t r = 0; r < VECTOR_LANES; r++) {
            const float *from = w->ds + (q + r) * BACKWARD_DS_ROW - (VECTOR_LANES - 1 - r);
            for (int v = 0; v <= KV; v++) sum[v] += vector_load(from + v * VECTOR_LANES);
        }
        for (int v = 0; v <= KV; v++) vector_store(to + v * VECTOR_LANES, sum[v]);
    }
}

/* Writes a tile's gradients of keys and values to their rows. */
static void backward_store(const struct backward *w, const struct backward_tile *t, int64_t lanes)
{
    const struct attention *a = w->a;
    float *dkey = attention_head(&a->dk, a, t->b, t->h);
    float *dvalue = attention_head(&a->dv, a, t->b, t->h);
    int64_t left = a->T - t->first_key, rows = left < lanes ? left : lanes;
    dkey += t->first_key * a->dk.stride;
    dvalue += t->first_key * a->dv.stride;
    transpose_to_rows(dkey, a->dk.stride, w->dkey, ATTENTION_WIDE, rows, a->D, a->scale);
    transpose_to_rows(dvalue, a->dv.stride, w->dvalue, ATTENTION_WIDE, rows, a->D, 1.0f);
    for (int64_t j = 0; j < rows && a->gates.dsums.data; j++)
        attention_gate(&a->gates.dsums, a, t->b, t->h)[t->first_key + j] = -w->dgate[j];
}

/* True if every probability of the tile is proven zero, from the nearest pair of query and key. */
VECTOR_FN int backward_is_dead(const struct backward *w, const struct backward_tile *t,
                               float key_norm)
{
    int64_t nearest = t->first_query - (t->first_key + ATTENTION_WIDE - 1);
    if (nearest <= 0) return 0;
    return attention_skip_is_dead(&w->skip, t->first_query / ATTENTION_TILE, key_norm,
                                  w->table[w->Tp - 1 - nearest]);
}

/* Sets up the tile for pairs within the window. */
static void backward_aim(const struct backward *w, struct backward_tile *t)
{
    const struct attention *a = w->a;
    t->query = attention_head(&a->q, a, t->b, t->h) + t->first_query * a->q.stride;
    t->query_row = a->q.stride;
    t->bias = w->table + w->Tp - 1 - t->first_query + t->first_key;
    t->bias_step = -1;
    t->dquery = w->dquery + t->first_query;
    t->dquery_column = w->column;
    if (a->temperature.query_dev == NULL) return;
    for (int64_t q = 0; q < t->queries_n; q++) {
        float factor = attention_factor(a, t->h, t->first_query + q);
        for (int64_t c = 0; c < a->D; c++)
            w->warm_query[q * a->D + c] = factor * t->query[q * t->query_row + c];
    }
    t->query = w->warm_query;
    t->query_row = a->D;
}

/* Sets up the tile for sinks outside the window. Their biases are in place of ds. */
static void backward_aim_at_sinks(const struct backward *w, struct backward_tile *t, int64_t lanes)
{
    const struct attention *a = w->a;
    const float *far = w->far + t->h * w->Tp;
    for (int64_t q = 0; q < t->queries_n; q++)
        for (int64_t k = 0; k < lanes; k++) {
            int64_t i = t->first_query + q, j = t->first_key + k;
            w->ds[q * BACKWARD_DS_ROW + k] =
                attention_sees_sink(a, i, j) ? far[attention_sink_position(a, i) - j] : -INFINITY;
        }
    t->bias = w->ds;
    t->bias_step = BACKWARD_DS_ROW;
    if (!attention_rotates_sinks(a)) return;
    for (int64_t q = 0; q < t->queries_n; q++) {
        memcpy(w->sink_query + q * a->D, t->query + q * t->query_row, (size_t)a->D * sizeof(float));
        for (int64_t p = 0; p < a->rotary.cosine.cols; p++) {
            struct attention_rotation r = attention_sink_rotation(a, t->first_query + q, p);
            float x = t->query[q * t->query_row + r.first];
            float y = t->query[q * t->query_row + r.second];
            w->sink_query[q * a->D + r.first] = x * r.cosine - y * r.sine;
            w->sink_query[q * a->D + r.second] = y * r.cosine + x * r.sine;
        }
    }
    t->query = w->sink_query;
    t->query_row = a->D;
    t->dquery = w->sink_dquery;
    t->dquery_column = ATTENTION_TILE;
    memset(w->sink_dquery, 0, (size_t)(a->D * ATTENTION_TILE) * sizeof *w->sink_dquery);
}

/* Rotates the gradients of queries rotated for sinks back and adds them to dq. */
static void backward_rotate(const struct backward *w, const struct backward_tile *t)
{
    int64_t pairs = w->a->rotary.cosine.cols;
    for (int64_t q = 0; q < t->queries_n; q++) {
        float *to = w->dquery + t->first_query + q;
        for (int64_t c = 2 * pairs; c < w->a->D; c++)
            to[c * w->column] += w->sink_dquery[c * ATTENTION_TILE + q];
        for (int64_t p = 0; p < pairs; p++) {
            struct attention_rotation r = attention_sink_rotation(w->a, t->first_query + q, p);
            float x = w->sink_dquery[r.first * ATTENTION_TILE + q];
            float y = w->sink_dquery[r.second * ATTENTION_TILE + q];
            to[r.first * w->column] += x * r.cosine + y * r.sine;
            to[r.second * w->column] += y * r.cosine - x * r.sine;
        }
    }
}

/* Step 4 for sinks, whose distances need not be consecutive. */
static void backward_sink_distances(const struct backward *w, const struct backward_tile *t,
                                    int64_t lanes)
{
    for (int64_t q = 0; q < t->queries_n; q++)
        for (int64_t k = 0; k < lanes; k++) {
            int64_t i = t->first_query + q, j = t->first_key + k;
            if (!attention_sees_sink(w->a, i, j)) continue;
            w->by_distance[w->Tp - 1 - (attention_sink_position(w->a, i) - j)] +=
                w->ds[q * BACKWARD_DS_ROW + k];
        }
}

/* With the temperature inside: adds ds . bias of each query, and makes ds the gradient of its
 * biases. */
static void backward_inside(const struct backward *w, const struct backward_tile *t, int64_t lanes)
{
    const struct attention *a = w->a;
    const float *table = w->table + w->Tp - 1 - t->first_query + t->first_key;
    const float *far = w->far + t->h * w->Tp;
    for (int64_t q = 0; q < t->queries_n; q++) {
        int64_t i = t->first_query + q;
        float *ds = w->ds + q * BACKWARD_DS_ROW, dot = 0.0f;
        for (int64_t k = 0; k < lanes; k++) {
            int64_t j = t->first_key + k;
            float bias = !t->sinks                      ? table[k - q]
                         : attention_sees_sink(a, i, j) ? far[attention_sink_position(a, i) - j]
                                                        : -INFINITY;
            if (bias > -INFINITY) dot += ds[k] * bias;
            ds[k] *= attention_factor(a, t->h, i);
        }
        w->bias_dots[i] += dot;
    }
}

/* Multiplies the head's dq by the factors, and returns the gradient of its factor. */
static float backward_cool(const struct backward *w, int64_t b, int64_t h)
{
    const struct attention *a = w->a;
    const float *query = attention_head(&a->q, a, b, h);
    float *dquery = attention_head(&a->dq, a, b, h);
    double sum = 0.0;
    for (int64_t i = 0; i < a->T; i++) {
        float factor = attention_factor(a, h, i), dot = w->bias_dots[i] * (float)ATTENTION_LN2;
        for (int64_t c = 0; c < a->D; c++) {
            dot += dquery[i * a->dq.stride + c] * query[i * a->q.stride + c];
            dquery[i * a->dq.stride + c] *= factor;
        }
        sum += (double)a->temperature.query_dev[i] * (double)dot;
    }
    return (float)sum;
}

/* The queries that see a key of the tile, within the window or outside it as a sink. The first tile
 * of queries after the window ends at a multiple of the tile, like the others. */
static struct simd_range backward_seen_by(const struct backward *w, const struct backward_tile *t)
{
    const struct attention *a = w->a;
    int64_t window = attention_window(a, t->h), end = t->first_key + ATTENTION_WIDE - 1 + window;
    if (t->sinks)
        return (struct simd_range){
            .begin = (t->first_key + window) / ATTENTION_TILE * ATTENTION_TILE, .end = a->T};
    return (struct simd_range){.begin = t->first_key, .end = window > 0 && end < a->T ? end : a->T};
}

VECTOR_FN void backward_pairs(const struct backward *w, struct backward_tile *t, int want_bias,
                              const int KV)
{
    const struct attention *a = w->a;
    if (t->sinks) backward_aim_at_sinks(w, t, KV * VECTOR_LANES);
    backward_scores(w, t, KV);
    for (int v = 0; v < KV && a->gates.dsums.data; v++) {
        vector_f32 sum = vector_load(w->dgate + v * VECTOR_LANES);
        for (int64_t q = 0; q < t->queries_n; q++)
            sum += vector_load(w->ds + q * BACKWARD_DS_ROW + v * VECTOR_LANES);
        vector_store(w->dgate + v * VECTOR_LANES, sum);
    }
    for (int which = 0; which < 2; which++) {
        struct backward_product m = {.sums = which == 0 ? w->dvalue : w->dkey,
                                     .weight = which == 0 ? w->p : w->ds,
                                     .x = t->query,
                                     .sums_stride = ATTENTION_WIDE,
                                     .weight_stride = which == 0 ? ATTENTION_WIDE : BACKWARD_DS_ROW,
                                     .x_row = t->query_row,
                                     .x_col = 1,
                                     .rows_n = t->queries_n};
        if (which == 0) {
            m.x = attention_head(&a->dout, a, t->b, t->h) + t->first_query * a->dout.stride;
            m.x_row = a->dout.stride;
        }
        backward_add_products(&m, a->D, KV);
    }
    backward_queries(w, t, KV);
    if (t->sinks && attention_rotates_sinks(a)) backward_rotate(w, t);
    if (a->temperature.inside) backward_inside(w, t, KV * VECTOR_LANES);
    if (want_bias && t->sinks) backward_sink_distances(w, t, KV * VECTOR_LANES);
    if (want_bias && !t->sinks) backward_distances(w, t, KV);
}

VECTOR_FN void backward_keys(const struct backward *w, struct backward_tile t, int want_bias,
                             const int KV)
{
    const struct attention *a = w->a;
    size_t tile_bytes = (size_t)a->D * ATTENTION_WIDE * sizeof(float);
    memset(w->dkey, 0, tile_bytes);
    memset(w->dvalue, 0, tile_bytes);
    memset(w->dgate, 0, ATTENTION_WIDE * sizeof *w->dgate);
    int may_skip = KV == 2 && attention_skip_applies(a, t.h);
    int kinds = attention_has_sinks(a) && t.first_key < a->mask.sinks ? 2 : 1;
    float key_norm = 0.0f;
    if (may_skip) key_norm = attention_skip_key_norm(w->key + t.first_key, w->column, a->D);
    for (t.sinks = 0; t.sinks < kinds; t.sinks++) {
        struct simd_range seen = backward_seen_by(w, &t);
        for (t.first_query = seen.begin; t.first_query < seen.end; t.first_query += t.queries_n) {
            /* Query tiles end at multiples of the tile, like the padded rows of dq. */
            t.queries_n = ATTENTION_TILE - t.first_query % ATTENTION_TILE;
            if (t.queries_n > a->T - t.first_query) t.queries_n = a->T - t.first_query;
            if (!t.sinks && may_skip && backward_is_dead(w, &t, key_norm)) continue;
            backward_aim(w, &t);
            backward_pairs(w, &t, want_bias, KV);
        }
    }
    backward_store(w, &t, KV * VECTOR_LANES);
}

/* Adds the head's sums by distance to the gradients of its tail constant and its table. */
static void backward_fold(const struct backward *w, int64_t h, float *tail_offset_grad)
{
    int64_t bias_table_n = w->a->bias.bias_table_n;
    float *bias_table_grad = tail_offset_grad + 2 * w->a->H;
    double far = 0.0;
    for (int64_t d = 0; d < w->a->T; d++) {
        float sum = w->by_distance[w->Tp - 1 - d];
        if (d < bias_table_n)
            bias_table_grad[h * bias_table_n + d] += sum;
        else
            far += (double)sum;
    }
    tail_offset_grad[h] += (float)far;
}

static void backward_run(const void *args, struct simd_range items)
{
    const struct attention *a = args;
    const struct simd_dropout d = dropout_of(&a->dropout, a->T);
    struct backward w = backward_plan(a, &d, items.scratch);
    int want_bias = a->bias.bias_table_grad_dev || a->bias.tail_offset_grad_dev;
    float *sums = (float *)(void *)((char *)items.scratch + backward_bytes(a));
    for (int64_t item = items.begin; item < items.end; item++) {
        struct backward_tile t = {.b = item / a->H, .h = item % a->H};
        w.table = w.tables + t.h * w.table_n;
        backward_load(&w, t.b, t.h);
        if (want_bias) memset(w.by_distance, 0, (size_t)w.table_n * sizeof *w.by_distance);
        if (a->T <= VECTOR_LANES)
            backward_keys(&w, t, want_bias, 1);
        else
            for (; t.first_key < a->T; t.first_key += ATTENTION_WIDE)
                backward_keys(&w, t, want_bias, 2);
        float *dquery = attention_head(&a->dq, a, t.b, t.h);
        transpose_to_rows(dquery, a->dq.stride, w.dquery, w.column, a->T, a->D,
                          (float)ATTENTION_LN2);
        if (want_bias) backward_fold(&w, t.h, sums);
        if (a->temperature.query_dev) sums[a->H + t.h] += backward_cool(&w, t.b, t.h);
    }
}

const struct simd_attention SIMD_NAME(simd_attention_bwd) = {
    .scratch_bytes = backward_bytes,
    .run = backward_run,
};
