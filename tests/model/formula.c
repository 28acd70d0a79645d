/* formula.c - see formula.h. Learned positions, ALiBi and rotary without scaling. */
#include "model/formula.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef double row_c[FORMULA_C];
typedef double row_q[FORMULA_Q];
typedef double row_f[FORMULA_F];

/* A tensor's values, or NULL. */
static const float *values(const struct formula *f, const char *name)
{
    int32_t i = shape_find(f->params, name);
    return i < 0 ? NULL : f->value[i];
}

/* y = x W' + b for every token; place.weight is (rows, cols). */
static void map(const struct formula *f, double *y, int32_t y_stride, const double *x,
                int32_t x_stride, int32_t rows, int32_t cols, const char *place)
{
    char name[2][SHAPE_NAME_BYTES];
    snprintf(name[0], sizeof name[0], "%s.weight", place);
    snprintf(name[1], sizeof name[1], "%s.bias", place);
    const float *w = values(f, name[0]), *b = values(f, name[1]);
    for (int32_t t = 0; t < f->T; t++)
        for (int32_t r = 0; r < rows; r++) {
            double sum = b ? (double)b[r] : 0.0;
            for (int32_t c = 0; c < cols; c++)
                sum += (double)w[(int64_t)r * cols + c] * x[t * x_stride + c];
            y[t * y_stride + r] = sum;
        }
}

static void norm(const struct formula *f, row_c *y, const row_c *x, const char *place)
{
    char name[2][SHAPE_NAME_BYTES];
    int32_t C = f->s->model.dim;
    bool rms = f->s->model.form.norm == SPEC_RMSNORM;
    snprintf(name[0], sizeof name[0], "%s.weight", place);
    snprintf(name[1], sizeof name[1], "%s.bias", place);
    const float *gain = values(f, name[0]), *bias = values(f, name[1]);
    for (int32_t t = 0; t < f->T; t++) {
        double mean = 0.0, squares = 0.0;
        for (int32_t c = 0; c < C && !rms; c++) mean += x[t][c] / C;
        for (int32_t c = 0; c < C; c++) squares += (x[t][c] - mean) * (x[t][c] - mean) / C;
        double root = sqrt(squares + f->s->model.form.norm_eps);
        for (int32_t c = 0; c < C; c++)
            y[t][c] = (x[t][c] - mean) / root * (double)gain[c] + (bias ? (double)bias[c] : 0.0);
    }
}

static double act(enum spec_activation kind, double x)
{
    if (kind == SPEC_GELU_ERF) return x / 2 * (1 + erf(x / sqrt(2.0)));
    if (kind == SPEC_GELU_TANH)
        return x / 2 * (1 + tanh(sqrt(2.0 / acos(-1.0)) * (x + 0.044715 * x * x * x)));
    if (kind == SPEC_SILU) return x / (1 + exp(-x));
    return fmax(x, 0.0);
}

/* Eight significant bits, to nearest, ties to even. */
static double bf16(double x)
{
    int exponent;
    double share = frexp(x, &exponent);
    return ldexp(nearbyint(share * 256.0), exponent - 8);
}

static double slope(const struct formula *f, int32_t h)
{
    int32_t power = 1;
    while (2 * power <= f->s->model.heads) power *= 2;
    double e = h < power ? 8.0 * (h + 1) / power : 8.0 * (2 * (h - power) + 1) / (2 * power);
    return pow(2.0, -e * f->s->option.alibi_bias_max / 8.0);
}

static double bias(const struct formula *f, int32_t h, int32_t i, int32_t j)
{
    if (f->s->model.position != SPEC_ALIBI) return 0.0;
    if (f->s->option.alibi_rounding == POSITION_ROUNDED_KEYS)
        return bf16(bf16(slope(f, h)) * bf16(j)) / sqrt(spec_head_width(&f->s->model));
    return -slope(f, h) * (i - j);
}

/* Rotates the first features of one head at position t. */
static void rotate(const struct formula *f, double *u, int32_t t)
{
    const struct position_options *o = &f->s->option;
    int32_t r = (int32_t)floor(o->rotary_share * spec_head_width(&f->s->model));
    for (int32_t p = 0; f->s->model.position == SPEC_ROTARY && p < r / 2; p++) {
        double angle = t * pow(o->rotary_base, -2.0 * p / r);
        bool adjacent = o->rotary_layout == POSITION_ADJACENT_PAIRS;
        double *a = &u[adjacent ? 2 * p : p], *b = &u[adjacent ? 2 * p + 1 : p + r / 2], was = *a;
        *a = was * cos(angle) - *b * sin(angle);
        *b = *b * cos(angle) + was * sin(angle);
    }
}

static void clip_and_rotate(const struct formula *f, row_q *x, int32_t heads, bool rotated)
{
    double most = f->s->model.form.qkv_clip;
    int32_t w = spec_head_width(&f->s->model);
    for (int32_t t = 0; t < f->T; t++) {
        for (int32_t c = 0; c < heads * w && most > 0; c++)
            x[t][c] = fmin(fmax(x[t][c], -most), most);
        for (int32_t h = 0; h < heads && rotated; h++) rotate(f, &x[t][h * w], t);
    }
}

/* The scores and the softmax of query i of a head; then its output. */
static void attend(struct formula *f, int32_t l, int32_t h, int32_t i, const row_q *q,
                   const row_q *k, const row_q *v, double *out)
{
    const struct spec_model *m = &f->s->model;
    int32_t w = spec_head_width(m), g = h * spec_kv_heads(m) / m->heads;
    int32_t window = m->window_layers.n ? (int32_t)m->window_layers.value[l] : m->mask.window;
    double scale = m->form.score_scale > 0 ? m->form.score_scale : 1.0 / sqrt(w), sum = 0.0;
    if (m->form.score_scale_by_layer) scale /= l + 1;
    for (int32_t j = 0; j < f->T; j++) {
        double dot = 0.0, *weight = &f->weight[l][h][i][j];
        for (int32_t c = 0; c < w; c++) dot += q[i][h * w + c] * k[j][g * w + c];
        bool seen = j <= i && (window == 0 || i - j < window);
        f->score[l][h][i][j] = seen ? dot * scale : -INFINITY;
        *weight = seen ? exp(dot * scale + bias(f, h, i, j)) : 0.0;
        sum += *weight;
    }
    for (int32_t j = 0; j < f->T; j++) f->weight[l][h][i][j] /= sum;
    for (int32_t c = 0; c < w; c++) {
        out[h * w + c] = 0.0;
        for (int32_t j = 0; j <= i; j++) out[h * w + c] += f->weight[l][h][i][j] * v[j][g * w + c];
    }
}

static void attention(struct formula *f, row_c *y, const row_c *x, int32_t l)
{
    static row_q q[FORMULA_T], k[FORMULA_T], v[FORMULA_T], out[FORMULA_T];
    const struct spec_model *m = &f->s->model;
    int32_t w = spec_head_width(m), H = m->heads, K = spec_kv_heads(m);
    row_q *const parts[] = {q, k, v};
    char place[SHAPE_NAME_BYTES];
    for (int i = 0; i < 3; i++) {
        snprintf(place, sizeof place, "decoder.layers.%d.self_attn.%c_proj", l, "qkv"[i]);
        map(f, *parts[i], FORMULA_Q, *x, FORMULA_C, (i ? K : H) * w, m->dim, place);
        clip_and_rotate(f, parts[i], i ? K : H, i < 2);
    }
    for (int32_t h = 0; h < H; h++)
        for (int32_t i = 0; i < f->T; i++)
            attend(f, l, h, i, (const row_q *)q, (const row_q *)k, (const row_q *)v, out[i]);
    snprintf(place, sizeof place, "decoder.layers.%d.self_attn.out_proj", l);
    map(f, *y, FORMULA_C, *out, FORMULA_Q, m->dim, H * w, place);
}

static void feed_forward(struct formula *f, row_c *y, const row_c *x, int32_t l)
{
    static row_f u[FORMULA_T], gate[FORMULA_T];
    const struct spec_model *m = &f->s->model;
    char place[3][SHAPE_NAME_BYTES];
    static const char *const names[] = {"fc1", "fc_gate", "fc2"};
    for (int i = 0; i < 3; i++)
        snprintf(place[i], sizeof place[i], "decoder.layers.%d.%s", l, names[i]);
    map(f, *u, FORMULA_F, *x, FORMULA_C, m->ffn, m->dim, place[0]);
    if (m->form.gated) map(f, *gate, FORMULA_F, *x, FORMULA_C, m->ffn, m->dim, place[1]);
    for (int32_t t = 0; t < f->T; t++)
        for (int32_t c = 0; c < m->ffn; c++)
            u[t][c] = m->form.gated ? act(m->form.activation, gate[t][c]) * u[t][c]
                                    : act(m->form.activation, u[t][c]);
    map(f, *y, FORMULA_C, *u, FORMULA_F, m->dim, m->ffn, place[2]);
    memcpy(f->key, x, sizeof f->key);
}

static void add_rows(const struct formula *f, row_c *y, const row_c *x)
{
    for (int32_t t = 0; t < f->T; t++)
        for (int32_t c = 0; c < f->s->model.dim; c++) y[t][c] += x[t][c];
}

static void layer(struct formula *f, row_c *x, int32_t l)
{
    static row_c a[FORMULA_T], b[FORMULA_T], attended[FORMULA_T], fed[FORMULA_T];
    enum spec_block block = f->s->model.form.block;
    char n1[SHAPE_NAME_BYTES], n2[SHAPE_NAME_BYTES];
    snprintf(n1, sizeof n1, "decoder.layers.%d.self_attn_layer_norm", l);
    snprintf(n2, sizeof n2, "decoder.layers.%d.final_layer_norm", l);
    if (block == SPEC_POST) {
        attention(f, attended, (const row_c *)x, l);
        add_rows(f, x, (const row_c *)attended);
        norm(f, x, (const row_c *)x, n1);
        feed_forward(f, fed, (const row_c *)x, l);
        add_rows(f, x, (const row_c *)fed);
        norm(f, x, (const row_c *)x, n2);
        return;
    }
    norm(f, a, (const row_c *)x, n1);
    attention(f, attended, (const row_c *)a, l);
    if (block == SPEC_PARALLEL) memcpy(b, a, sizeof b);
    if (block == SPEC_PARALLEL2) norm(f, b, (const row_c *)x, n2);
    add_rows(f, x, (const row_c *)attended);
    if (block == SPEC_SEQUENTIAL) norm(f, b, (const row_c *)x, n2);
    feed_forward(f, fed, (const row_c *)b, l);
    add_rows(f, x, (const row_c *)fed);
}

/* Table, map, norm, position row. */
static void embed(const struct formula *f, row_c *x, const int32_t *source)
{
    static row_c rows[FORMULA_T];
    const struct spec_model *m = &f->s->model;
    int32_t E = m->form.embedding_width > 0 ? m->form.embedding_width : m->dim;
    const float *table = values(f, "decoder.embed_tokens.weight");
    const float *places = values(f, "decoder.embed_positions.weight");
    double scale = m->form.embedding_scaled ? sqrt(m->dim) : 1.0;
    for (int32_t t = 0; t < f->T; t++)
        for (int32_t c = 0; c < E; c++) rows[t][c] = scale * (double)table[source[t] * E + c];
    memcpy(x, rows, sizeof rows);
    if (E != m->dim) map(f, *x, FORMULA_C, *rows, FORMULA_C, m->dim, E, "decoder.project_in");
    if (m->form.embedding_norm) norm(f, x, (const row_c *)x, "decoder.embed_norm");
    for (int32_t t = 0; t < f->T && places; t++)
        for (int32_t c = 0; c < m->dim; c++) x[t][c] += (double)places[t * m->dim + c];
}

void formula_compute(struct formula *f, const int32_t *source)
{
    static row_c x[FORMULA_T], features[FORMULA_T];
    const struct spec_model *m = &f->s->model;
    int32_t V = f->s->data.vocab,
            E = m->form.embedding_width > 0 ? m->form.embedding_width : m->dim;
    embed(f, x, source);
    memcpy(f->stream[0], x, sizeof x);
    for (int32_t l = 0; l < m->layers; l++) {
        layer(f, x, l);
        memcpy(f->stream[l + 1], x, sizeof x);
    }
    if (m->final_norm) norm(f, x, (const row_c *)x, "decoder.layer_norm");
    memcpy(features, x, sizeof x);
    if (E != m->dim) map(f, *features, FORMULA_C, *x, FORMULA_C, E, m->dim, "decoder.project_out");
    const float *own = values(f, "decoder.head.weight"),
                *head_bias = values(f, "decoder.head.bias");
    const float *head = own ? own : values(f, "decoder.embed_tokens.weight");
    for (int32_t t = 0; t < f->T; t++) {
        double sum = 0.0;
        for (int32_t v = 0; v < V; v++) {
            f->logp[t][v] = head_bias ? (double)head_bias[v] : 0.0;
            for (int32_t c = 0; c < E; c++)
                f->logp[t][v] += (double)head[v * E + c] * features[t][c];
            sum += exp(f->logp[t][v]);
        }
        for (int32_t v = 0; v < V; v++) f->logp[t][v] -= log(sum);
    }
}
