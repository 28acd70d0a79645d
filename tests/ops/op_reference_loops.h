/* op_reference_loops.h - the formulas of backend.h, written once for REAL and NAME; included twice
 * by op_reference.h and by nothing else. Every sum runs in rising index. */
/* exp and log of REAL. */
static inline REAL NAME(real_exp)(REAL x)
{
    return sizeof(REAL) == sizeof(float) ? (REAL)expf((float)x) : (REAL)exp((double)x);
}

static inline REAL NAME(real_log)(REAL x)
{
    return sizeof(REAL) == sizeof(float) ? (REAL)logf((float)x) : (REAL)log((double)x);
}

static inline REAL NAME(real_erf)(REAL x)
{
    return sizeof(REAL) == sizeof(float) ? (REAL)erff((float)x) : (REAL)erf((double)x);
}

static inline REAL NAME(real_tanh)(REAL x)
{
    return sizeof(REAL) == sizeof(float) ? (REAL)tanhf((float)x) : (REAL)tanh((double)x);
}

static inline REAL NAME(real_sqrt)(REAL x)
{
    return (REAL)sqrt((double)x);
}

/* y (N,O) = x (N,I) w (O,I)^T + bias or NULL */
static inline void NAME(op_linear)(REAL *y, const float *x, const float *w, const float *bias,
                                   int64_t N, int64_t I, int64_t O)
{
    for (int64_t n = 0; n < N; n++)
        for (int64_t o = 0; o < O; o++) {
            REAL sum = bias == NULL ? 0 : (REAL)bias[o];
            for (int64_t i = 0; i < I; i++) sum += (REAL)x[n * I + i] * (REAL)w[o * I + i];
            y[n * O + o] = sum;
        }
}

static inline void NAME(op_linear_bwd_input)(REAL *dx, const float *dy, const float *w, int64_t N,
                                             int64_t I, int64_t O)
{
    for (int64_t n = 0; n < N; n++)
        for (int64_t i = 0; i < I; i++) {
            REAL sum = 0;
            for (int64_t o = 0; o < O; o++) sum += (REAL)dy[n * O + o] * (REAL)w[o * I + i];
            dx[n * I + i] = sum;
        }
}

static inline void NAME(op_linear_bwd_weight)(REAL *dw, REAL *dbias, const float *dy,
                                              const float *x, int64_t N, int64_t I, int64_t O)
{
    for (int64_t o = 0; o < O; o++) {
        dbias[o] = 0;
        for (int64_t n = 0; n < N; n++) dbias[o] += (REAL)dy[n * O + o];
        for (int64_t i = 0; i < I; i++) {
            REAL sum = 0;
            for (int64_t n = 0; n < N; n++) sum += (REAL)dy[n * O + o] * (REAL)x[n * I + i];
            dw[o * I + i] = sum;
        }
    }
}

/* Mean (rms: 0) and reciprocal deviation of one row: biased variance, eps inside the root. */
static inline void NAME(row_stats)(REAL *mean, REAL *rdev, const float *x, int64_t C, float eps,
                                   int rms)
{
    REAL sum = 0, squares = 0;
    for (int64_t c = 0; c < C && !rms; c++) sum += (REAL)x[c];
    *mean = sum / (REAL)C;
    for (int64_t c = 0; c < C; c++) squares += ((REAL)x[c] - *mean) * ((REAL)x[c] - *mean);
    *rdev = 1 / NAME(real_sqrt)(squares / (REAL)C + (REAL)eps);
}

/* bias may be NULL. */
static inline void NAME(op_layernorm)(REAL *y, REAL *stats, const float *x, const float *gain,
                                      const float *bias, int64_t N, int64_t C, float eps, int rms)
{
    for (int64_t n = 0; n < N; n++) {
        REAL *mean = stats + 2 * n, *rdev = mean + 1;
        NAME(row_stats)(mean, rdev, x + n * C, C, eps, rms);
        for (int64_t c = 0; c < C; c++)
            y[n * C + c] = ((REAL)x[n * C + c] - *mean) * *rdev * (REAL)gain[c] +
                           (bias == NULL ? 0 : (REAL)bias[c]);
    }
}

/* The epsilon is 1e-5; dgain and dbias are overwritten. */
static inline void NAME(op_layernorm_bwd)(REAL *dx, REAL *dgain, REAL *dbias, const float *dy,
                                          const float *x, const float *gain, int64_t N, int64_t C)
{
    for (int64_t c = 0; c < C; c++) dgain[c] = dbias[c] = 0;
    for (int64_t n = 0; n < N; n++) {
        const float *row = x + n * C, *drow = dy + n * C;
        REAL mean, rdev, sum = 0, dot = 0;
        NAME(row_stats)(&mean, &rdev, row, C, 1e-5f, 0);
        for (int64_t c = 0; c < C; c++) {
            REAL unit = ((REAL)row[c] - mean) * rdev, d = (REAL)drow[c] * (REAL)gain[c];
            dgain[c] += (REAL)drow[c] * unit;
            dbias[c] += (REAL)drow[c];
            sum += d;
            dot += d * unit;
        }
        for (int64_t c = 0; c < C; c++) {
            REAL unit = ((REAL)row[c] - mean) * rdev, d = (REAL)drow[c] * (REAL)gain[c];
            dx[n * C + c] = rdev * (d - sum / (REAL)C - unit * dot / (REAL)C);
        }
    }
}

static inline REAL NAME(op_activated)(REAL x, enum activation kind)
{
    REAL root = (REAL)0.79788456080286535588; /* of 2 / pi */
    switch (kind) {
    case ACTIVATE_RELU:
        return x < 0 ? 0 : x;
    case ACTIVATE_GELU_ERF:
        return x / 2 * (1 + NAME(real_erf)(x * (REAL)0.70710678118654752440));
    case ACTIVATE_GELU_TANH:
        return x / 2 * (1 + NAME(real_tanh)(root * (x + (REAL)0.044715 * x * x * x)));
    case ACTIVATE_SILU:
        return x / (1 + NAME(real_exp)(-x));
    }
    return 0;
}

/* Rotates the pairs of x (rows, H*D) in place; no token is later than `last`. */
static inline void NAME(rotate_pairs)(REAL *x, const float *cosine, const float *sine, int64_t rows,
                                      int32_t T, int32_t last, int32_t H, int32_t D, int64_t pairs,
                                      int layout, int inverse)
{
    for (int64_t n = 0; n < rows; n++)
        for (int64_t h = 0; h < H; h++)
            for (int64_t p = 0; p < pairs; p++) {
                int64_t base = (n * H + h) * D;
                int64_t first = base + (layout == 0 ? 2 * p : p);
                int64_t second = base + (layout == 0 ? 2 * p + 1 : p + pairs);
                int64_t token = n % T < last ? n % T : last;
                REAL cosine_t = (REAL)cosine[token * pairs + p];
                REAL sine_t = (REAL)sine[token * pairs + p];
                if (inverse) sine_t = -sine_t;
                REAL u = x[first], w = x[second];
                x[first] = u * cosine_t - w * sine_t;
                x[second] = w * cosine_t + u * sine_t;
            }
}

static inline void NAME(op_rotary)(REAL *y, const float *x, const float *cosine, const float *sine,
                                   int64_t rows, int32_t T, int32_t H, int32_t D, int64_t pairs,
                                   int layout, int inverse)
{
    for (int64_t i = 0; i < rows * H * D; i++) y[i] = (REAL)x[i];
    NAME(rotate_pairs)(y, cosine, sine, rows, T, T, H, D, pairs, layout, inverse);
}

/* A rotated copy of q or k on the heap; no token is later than `last`. */
static inline REAL *NAME(attention_rotated)(const float *x, int keys, int32_t last,
                                            const struct op_attention *a)
{
    int32_t heads = keys && a->K > 0 ? a->K : a->H;
    int64_t rows = (int64_t)a->B * a->T, n = rows * heads * a->D;
    REAL *out = malloc((size_t)n * sizeof *out);
    if (out == NULL) abort();
    for (int64_t i = 0; i < n; i++) out[i] = (REAL)x[i];
    if (a->cosine != NULL) NAME(rotate_pairs)
    (out, keys ? a->key_cosine : a->cosine, keys ? a->key_sine : a->sine, rows, a->T, last, heads,
     a->D, a->pairs, a->layout, 0);
    return out;
}

/* The latest position of a query that sees a sink outside its window. */
static inline int32_t NAME(sink_last)(const struct op_attention *a)
{
    const struct attention_mask *m = &a->mask;
    return m->sink_positions == SINKS_CACHE ? m->sinks + m->window - 1 : a->T;
}

/* Whether j is a sink outside the window of i; then sets *distance. */
static inline int NAME(is_far)(int32_t *distance, int32_t h, int32_t i, int32_t j,
                               const struct op_attention *a)
{
    int32_t last = NAME(sink_last)(a), window = a->mask.window;
    if (h < a->mask.narrow_heads && (window == 0 || window > h)) window = h + 1;
    *distance = i - j;
    if (window == 0 || i - j < window) return 0;
    *distance = (i < last ? i : last) - j;
    return 1;
}

/* The first element of the head of k or v, in token j, that head h reads. */
static inline int64_t NAME(key_place)(const struct op_attention *a, int32_t b, int32_t h, int32_t j)
{
    int32_t K = a->K > 0 ? a->K : a->H;
    return (((int64_t)b * a->T + j) * K + h / (a->H / K)) * a->D;
}

/* The scaled product of a pair, and its bias; j: the number of the key. */
static inline REAL NAME(pair_score)(REAL *bias, const REAL *query, const REAL *key, int32_t h,
                                    int32_t distance, int32_t j, const struct op_attention *a)
{
    REAL score = 0;
    *bias = 0;
    for (int32_t d = 0; d < a->D; d++) score += query[d] * key[d];
    if (distance < a->bias_table_n) {
        *bias = (REAL)a->near[(int64_t)h * a->bias_table_n + distance];
    } else {
        if (a->offset != NULL) *bias = (REAL)a->offset[h];
        if (a->slope != NULL) *bias += (REAL)a->slope[h] * (REAL)distance;
    }
    if (a->key_bias != NULL) *bias += (REAL)a->key_bias[(int64_t)h * a->T + j];
    return score * (REAL)a->scale;
}

static inline REAL NAME(temperature)(const struct op_attention *a, int32_t h, int32_t i)
{
    if (a->query_factor == NULL) return 1;
    return (REAL)a->query_factor[i] * (a->head_factor ? (REAL)a->head_factor[h] : 1);
}

/* Softmax of query i over keys 0 … i, those that the mask hides excepted; returns the log of its
 * sum. far: q as sinks outside the window see it. */
static inline REAL NAME(attention_row)(REAL *p, const REAL *q, const REAL *far, const REAL *k,
                                       int32_t b, int32_t h, int32_t i,
                                       const struct op_attention *a)
{
    int64_t C = (int64_t)a->H * a->D;
    REAL most = -INFINITY, sum = 0;
    for (int32_t j = 0; j <= i; j++) {
        int32_t distance, is_far = NAME(is_far)(&distance, h, i, j, a);
        const REAL *query = (is_far ? far : q) + ((int64_t)b * a->T + i) * C + h * a->D;
        const REAL *key = k + NAME(key_place)(a, b, h, j);
        REAL bias, warm = NAME(temperature)(a, h, i);
        p[j] = -INFINITY;
        if (is_far && j >= a->mask.sinks) continue;
        REAL score = NAME(pair_score)(&bias, query, key, h, distance, j, a);
        p[j] = a->inside ? warm * (score + bias) : warm * score + bias;
        if (a->high != NULL) {
            const float *high = a->high + ((int64_t)b * a->H + h) * a->T;
            const float *low = a->low + ((int64_t)b * a->H + h) * a->T;
            p[j] += ((REAL)high[i] - (REAL)high[j]) + ((REAL)low[i] - (REAL)low[j]);
        }
        if (p[j] > most) most = p[j];
    }
    for (int32_t j = 0; j <= i; j++) {
        p[j] = NAME(real_exp)(p[j] - most);
        sum += p[j];
    }
    for (int32_t j = 0; j <= i; j++) p[j] /= sum;
    return most + NAME(real_log)(sum);
}

static inline REAL NAME(attention_factor)(const struct op_attention *a, int32_t b, int32_t h,
                                          int32_t i, int32_t j)
{
    if (a->factor == NULL) return 1;
    return (REAL)a->factor[(((int64_t)b * a->H + h) * a->T + i) * a->T + j];
}

static inline void NAME(op_attention)(REAL *out, REAL *lse, const float *q_in, const float *k_in,
                                      const float *v, const struct op_attention *a)
{
    int64_t C = (int64_t)a->H * a->D;
    REAL *p = malloc((size_t)a->T * sizeof *p);
    REAL *q = NAME(attention_rotated)(q_in, 0, a->T, a),
         *k = NAME(attention_rotated)(k_in, 1, a->T, a);
    REAL *far = NAME(attention_rotated)(q_in, 0, NAME(sink_last)(a), a);
    if (p == NULL) abort();
    for (int32_t b = 0; b < a->B; b++)
        for (int32_t h = 0; h < a->H; h++)
            for (int32_t i = 0; i < a->T; i++) {
                REAL *to = out + ((int64_t)b * a->T + i) * C + h * a->D;
                lse[((int64_t)b * a->H + h) * a->T + i] =
                    NAME(attention_row)(p, q, far, k, b, h, i, a);
                for (int32_t d = 0; d < a->D; d++) to[d] = 0;
                for (int32_t j = 0; j <= i; j++) {
                    const float *value = v + NAME(key_place)(a, b, h, j);
                    REAL weight = p[j] * NAME(attention_factor)(a, b, h, i, j);
                    for (int32_t d = 0; d < a->D; d++) to[d] += weight * (REAL)value[d];
                }
            }
    free(far);
    free(k);
    free(q);
    free(p);
}

/* The contribution of a query to all gradients; dfar is that of q rotated for sinks. */
static inline void NAME(attention_row_bwd)(REAL *p, REAL *dq, REAL *dfar, REAL *dk, REAL *dv,
                                           REAL *dbias_table, REAL *dtail_offset, REAL *dhead,
                                           const REAL *q, const REAL *far, const REAL *k,
                                           const float *v, const float *dout, int32_t b, int32_t h,
                                           int32_t i, const struct op_attention *a)
{
    int64_t C = (int64_t)a->H * a->D, from = ((int64_t)b * a->T + i) * C + h * a->D;
    REAL *dp = p + a->T, dot = 0;
    NAME(attention_row)(p, q, far, k, b, h, i, a);
    for (int32_t j = 0; j <= i; j++) {
        int64_t to = ((int64_t)b * a->T + j) * C + h * a->D;
        REAL factor = NAME(attention_factor)(a, b, h, i, j);
        dp[j] = 0;
        for (int32_t d = 0; d < a->D; d++) {
            dp[j] += (REAL)dout[from + d] * (REAL)v[to + d] * factor;
            dv[to + d] += p[j] * factor * (REAL)dout[from + d];
        }
        dot += p[j] * dp[j];
    }
    for (int32_t j = 0; j <= i; j++) {
        int64_t to = ((int64_t)b * a->T + j) * C + h * a->D;
        REAL ds = p[j] * (dp[j] - dot);
        int32_t distance, is_far = NAME(is_far)(&distance, h, i, j, a);
        if (is_far && j >= a->mask.sinks) continue;
        const REAL *query = (is_far ? far : q) + from;
        REAL bias, score = NAME(pair_score)(&bias, query, k + to, h, distance, j, a);
        if (a->head_factor != NULL)
            dhead[h] += ds * (REAL)a->query_factor[i] * (score + (a->inside ? bias : 0));
        REAL warm = NAME(temperature)(a, h, i) * ds;
        for (int32_t d = 0; d < a->D; d++) {
            (is_far ? dfar : dq)[from + d] += warm * (REAL)a->scale * k[to + d];
            dk[to + d] += warm * (REAL)a->scale * query[d];
        }
        if (a->dsums != NULL) ((REAL *)a->dsums)[((int64_t)b * a->H + h) * a->T + j] -= ds;
        if (a->inside) ds = warm;
        if (distance < a->bias_table_n)
            dbias_table[(int64_t)h * a->bias_table_n + distance] += ds;
        else
            dtail_offset[h] += ds;
    }
}

/* dbias_table (H, bias_table_n), dtail_offset (H) and dhead (H) are overwritten. */
static inline void NAME(op_attention_bwd)(REAL *dq, REAL *dk, REAL *dv, REAL *dbias_table,
                                          REAL *dtail_offset, REAL *dhead, const float *q_in,
                                          const float *k_in, const float *v, const float *dout,
                                          const struct op_attention *a)
{
    int64_t n = (int64_t)a->B * a->T * a->H * a->D;
    REAL *p = malloc(2 * (size_t)a->T * sizeof *p), *dfar = calloc((size_t)n, sizeof *dfar);
    REAL *q = NAME(attention_rotated)(q_in, 0, a->T, a),
         *k = NAME(attention_rotated)(k_in, 1, a->T, a);
    REAL *far = NAME(attention_rotated)(q_in, 0, NAME(sink_last)(a), a);
    if (p == NULL || dfar == NULL) abort();
    for (int64_t i = 0; i < n; i++) dq[i] = dk[i] = dv[i] = 0;
    for (int64_t i = 0; i < (int64_t)a->H * a->bias_table_n; i++) dbias_table[i] = 0;
    for (int32_t h = 0; h < a->H; h++) dtail_offset[h] = dhead[h] = 0;
    for (int64_t i = 0; a->dsums != NULL && i < (int64_t)a->B * a->H * a->T; i++)
        ((REAL *)a->dsums)[i] = 0;
    for (int32_t b = 0; b < a->B; b++)
        for (int32_t h = 0; h < a->H; h++)
            for (int32_t i = 0; i < a->T; i++) NAME(attention_row_bwd)
    (p, dq, dfar, dk, dv, dbias_table, dtail_offset, dhead, q, far, k, v, dout, b, h, i, a);
    if (a->cosine != NULL) {
        int64_t rows = (int64_t)a->B * a->T;
        int32_t last = NAME(sink_last)(a);
        NAME(rotate_pairs)
        (dq, a->cosine, a->sine, rows, a->T, a->T, a->H, a->D, a->pairs, a->layout, 1);
        NAME(rotate_pairs)
        (dfar, a->cosine, a->sine, rows, a->T, last, a->H, a->D, a->pairs, a->layout, 1);
        NAME(rotate_pairs)
        (dk, a->key_cosine, a->key_sine, rows, a->T, a->T, a->H, a->D, a->pairs, a->layout, 1);
    }
    for (int64_t i = 0; i < n; i++) dq[i] += dfar[i];
    free(far);
    free(k);
    free(q);
    free(dfar);
    free(p);
}

/* loss (N); dlogits (N,V) or NULL; target -1 counts nothing */
static inline void NAME(op_softmax)(REAL *loss, REAL *dlogits, const float *logits,
                                    const int32_t *target, int64_t N, int64_t V)
{
    for (int64_t n = 0; n < N; n++) {
        const float *row = logits + n * V;
        REAL most = (REAL)row[0], sum = 0;
        for (int64_t c = 1; c < V; c++)
            if ((REAL)row[c] > most) most = (REAL)row[c];
        for (int64_t c = 0; c < V; c++) sum += NAME(real_exp)((REAL)row[c] - most);
        REAL log_sum = NAME(real_log)(sum);
        loss[n] = target[n] < 0 ? 0 : log_sum - ((REAL)row[target[n]] - most);
        for (int64_t c = 0; dlogits != NULL && c < V; c++) {
            REAL p = NAME(real_exp)((REAL)row[c] - most) / sum;
            dlogits[n * V + c] = target[n] < 0 ? 0 : p - (c == target[n] ? 1 : 0);
        }
    }
}

/* best_class (N): the highest of the first V - E + 1 classes; best (N,E): its log p, then that of
 * each later class */
static inline void NAME(op_softmax_best)(REAL *best_class, REAL *best, const float *logits,
                                         int64_t N, int64_t V, int64_t E)
{
    for (int64_t n = 0; n < N; n++) {
        const float *row = logits + n * V;
        REAL loss;
        int32_t most = 0;
        for (int32_t c = 1; c <= V - E; c++)
            if (row[c] > row[most]) most = c;
        best_class[n] = (REAL)most;
        for (int64_t k = 0; k < E; k++) {
            int32_t c = k == 0 ? most : (int32_t)(V - E + k);
            NAME(op_softmax)(&loss, NULL, row, &c, 1, V);
            best[n * E + k] = -loss;
        }
    }
}
