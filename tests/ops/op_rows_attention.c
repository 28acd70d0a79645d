/* op_rows_attention.c - rows of the op table: rotary, and attention with every form of bias and
 * head width. */
#include "harness/test.h"

#include <math.h>
#include <string.h>

#include "backend/ops_table.h"
#include "ops/op_attention.h"
#include "ops/ops.h"

enum { UPDATE = 777 };

/* Columns [first, first + n) of a packed matrix. */
static float *columns(struct op_bench *k, const struct op_matrix *m, int64_t first, int64_t n)
{
    float *out = op_floats(k, m->t.rows * n);
    for (int64_t i = 0; i < m->t.rows; i++)
        memcpy(out + i * n, m->host + i * m->t.cols + first, (size_t)n * sizeof *out);
    return out;
}

static struct tensor part(const struct tensor *t, int64_t first, int64_t n)
{
    struct tensor part = *t;
    part.cols = n;
    part.data = (char *)t->data + (size_t)first * dtype_bytes(t->dtype);
    return part;
}

static void set_bias(struct op_bench *k, struct attention_case *c, enum form form)
{
    int32_t H = c->ref.H, bias_table_n = form == FORM_TABLE || form == FORM_ALL ? 5 : 0;
    struct op_matrix near = op_random(k, H, bias_table_n > 0 ? bias_table_n : 1, 0);
    struct op_matrix offset = op_random(k, 1, H, 0), slope = op_random(k, 1, H, 0);
    for (int32_t h = 0; h < H; h++) slope.host[h] = -0.5f / (float)(h + 1);
    op_set(k, &slope);
    c->table_grad = op_random(k, H, bias_table_n > 0 ? bias_table_n : 1, 0);
    c->offset_grad = op_random(k, 1, H, 0);
    if (bias_table_n > 0) {
        c->ref.bias_table_n = c->a.bias.bias_table_n = bias_table_n;
        c->ref.near = near.host;
        c->a.bias.bias_table_dev = near.t.data;
        c->a.bias.bias_table_grad_dev = c->table_grad.t.data;
        c->a.bias.tail_offset_grad_dev = c->offset_grad.t.data;
        c->ref.offset = offset.host;
        c->a.bias.tail_offset_dev = offset.t.data;
    }
    if (form == FORM_SLOPE || form == FORM_ALL) {
        c->ref.slope = slope.host;
        c->a.bias.tail_slope_dev = slope.t.data;
    }
}

/* Dropout's factors over (B, H, T, T): the element is ((first_row + b) * H + h) * T * T + i * T +
 * j.
 */
static void set_dropout(struct op_bench *k, struct attention_case *c, float p)
{
    struct step_state step = {.update = UPDATE};
    int64_t pairs = (int64_t)c->ref.T * c->ref.T, blocks = (int64_t)c->ref.B * c->ref.H;
    struct dropout *d = &c->a.dropout;
    *d = (struct dropout){.p = p,
                          .key = 99,
                          .stream = dropout_stream(1, DROPOUT_ATTENTION),
                          .step_dev = op_step(k, &step),
                          .first_row = 6,
                          .span = 1};
    struct dropout whole = *d;
    whole.first_row *= c->ref.H; /* one block of pairs is one row of elements */
    whole.span *= c->ref.H;
    if (p > 0.0f) c->ref.factor = op_factors(k, &whole, NULL, UPDATE, blocks, pairs);
}

/* K: heads of k and v. */
static struct attention_case make_case(struct op_bench *k, const int32_t size[4], int32_t K,
                                       enum form form, float p)
{
    int32_t B = size[0], T = size[1], H = size[2], D = size[3], C = H * D, N = B * T;
    int32_t keys = K * D, all = C + 2 * keys;
    struct attention_case c = {.forward_only = K != H};
    struct op_matrix qkv = op_activations(k, N, all, 0), lse = op_random(k, B * H, T, 0);
    for (int64_t i = 0; i < (int64_t)N * all; i++) qkv.host[i] *= 2.0f; /* scores that differ */
    op_set(k, &qkv);
    c.out = op_activations(k, N, C, 0);
    c.dout = op_activations(k, N, C, 0);
    c.dqkv = op_activations(k, N, 3 * C, 0);
    float scale = (float)(1.0 / sqrt((double)D));
    c.ref = (struct op_attention){.B = B, .T = T, .H = H, .D = D, .K = K, .scale = scale};
    c.a = (struct attention){.B = B,
                             .T = T,
                             .H = H,
                             .D = D,
                             .K = K == H ? 0 : K,
                             .scale = scale,
                             .q = part(&qkv.t, 0, C),
                             .k = part(&qkv.t, C, keys),
                             .v = part(&qkv.t, C + keys, keys),
                             .out = c.out.t,
                             .lse = lse.t,
                             .dout = c.dout.t,
                             .dq = part(&c.dqkv.t, 0, C),
                             .dk = part(&c.dqkv.t, C, C),
                             .dv = part(&c.dqkv.t, 2 * C, C)};
    c.q = columns(k, &qkv, 0, C);
    c.k = columns(k, &qkv, C, keys);
    c.v = columns(k, &qkv, C + keys, keys);
    set_bias(k, &c, form);
    set_dropout(k, &c, p);
    return c;
}

struct attention_case op_attention_case(struct op_bench *k, const int32_t size[4], enum form form,
                                        float p)
{
    return make_case(k, size, size[2], form, p);
}

/* A gradient of a score is p (dp - sum of p dp): with few keys the two cancel. The largest dp times
 * what it is multiplied with afterwards; in bf16, whose roundings are large, as much as a sum of D
 * products typically is. */
static double largest_term(const struct op_bench *k, const struct attention_case *c)
{
    int64_t C = (int64_t)c->ref.H * c->ref.D;
    double most = 0.0, size = 0.0;
    for (int64_t i = 0; i < (int64_t)c->ref.B * c->ref.T * C; i++)
        size = fmax(size, fabs((double)c->q[i]));
    if (k->b->precision == DTYPE_BF16)
        return (double)c->ref.scale * sqrt(c->ref.D) / (1.0 - (double)c->a.dropout.p) * size;
    for (int64_t n = 0; n < (int64_t)c->ref.B * c->ref.T; n++)
        for (int32_t h = 0; h < c->ref.H; h++) {
            double dp = 0.0;
            for (int64_t d = n * C + h * c->ref.D; d < n * C + (h + 1) * c->ref.D; d++)
                dp += fabs((double)c->dout.host[d] * (double)c->v[d]);
            most = fmax(most, dp);
        }
    return most * fmax(1.0, 2.0 * (double)c->ref.scale);
}

static void ask_oracle(struct op_bench *k, struct attention_case *c)
{
    int64_t n = c->out.t.rows * c->out.t.cols, lse_n = c->a.lse.rows * c->a.lse.cols;
    int64_t table_n = c->ref.H * c->ref.bias_table_n + 1;
    const int64_t sizes[] = {n, lse_n, n, n, n, lse_n, table_n, c->ref.H, c->ref.H};
    for (int i = 0; i < ATTENTION_RESULTS; i++) {
        c->want[i] = op_doubles(k, sizes[i]);
        c->plain[i] = op_floats(k, sizes[i]);
    }
    double **want = c->want;
    float **plain = c->plain;
    op_attention_double(want[OUT], want[LSE], c->q, c->k, c->v, &c->ref);
    op_attention_float(plain[OUT], plain[LSE], c->q, c->k, c->v, &c->ref);
    if (c->forward_only) return;
    c->ref.dsums = want[DSUMS];
    op_attention_bwd_double(want[DQ], want[DK], want[DV], want[TABLE_GRAD], want[OFFSET_GRAD],
                            want[HEAD_GRAD], c->q, c->k, c->v, c->dout.host, &c->ref);
    c->ref.dsums = plain[DSUMS];
    op_attention_bwd_float(plain[DQ], plain[DK], plain[DV], plain[TABLE_GRAD], plain[OFFSET_GRAD],
                           plain[HEAD_GRAD], c->q, c->k, c->v, c->dout.host, &c->ref);
}

void op_attention_check(struct op_bench *k, struct attention_case *c)
{
    static const char *const names[] = {"out",   "lse",        "dq",          "dk",       "dv",
                                        "dsums", "table_grad", "offset_grad", "head_grad"};
    const struct tensor *got[] = {&c->a.out,        &c->a.lse,         &c->a.dq,
                                  &c->a.dk,         &c->a.dv,          &c->a.gates.dsums,
                                  &c->table_grad.t, &c->offset_grad.t, &c->head_grad.t};
    if (c->want[OUT] == NULL) ask_oracle(k, c);
    op_set(k, &c->table_grad);
    op_set(k, &c->offset_grad);
    if (c->ref.head_factor != NULL) op_set(k, &c->head_grad);
    op_attention_run(k, c);
    for (int i = 0; i < (c->forward_only ? DQ : ATTENTION_RESULTS); i++) {
        const float *before[] = {c->table_grad.host, c->offset_grad.host, c->head_grad.host};
        if ((i == TABLE_GRAD || i == OFFSET_GRAD) && c->ref.bias_table_n == 0) continue;
        if (i == HEAD_GRAD && c->ref.head_factor == NULL) continue;
        if (i == DSUMS && c->ref.high == NULL) continue;
        k->terms = i < DQ ? 0.0 : largest_term(k, c);
        if (k->b->precision == DTYPE_BF16 && i == DV) k->terms = 1.0 / (1.0 - c->a.dropout.p);
        if (i == DSUMS) k->terms *= sqrt((double)c->ref.T); /* a sum over queries */
        if (i >= TABLE_GRAD && c->summed_n > 0) k->terms *= sqrt((double)c->summed_n);
        if (i == HEAD_GRAD) k->terms *= sqrt((double)c->ref.B * c->ref.T);
        /* A sum over queries of p dp, of which dp is a sum of D products. */
        if (i >= TABLE_GRAD && k->b->precision == DTYPE_BF16)
            k->terms = sqrt((double)c->ref.B * c->ref.T * c->ref.D) / (1.0 - c->a.dropout.p);
        /* Rotated q and k are rounded to bf16: a score, of size 1, feels it. */
        double f32_error = i != LSE || c->ref.cosine ? 0x1p-8 : 1e-5;
        tol_check(k, names[i], got[i]->dtype, i == OUT ? 2 : 3, f32_error, op_get(k, got[i]),
                  c->want[i], c->plain[i], i < TABLE_GRAD ? NULL : before[i - TABLE_GRAD],
                  got[i]->rows * got[i]->cols);
    }
}

void op_attention_run(struct op_bench *k, const struct attention_case *c)
{
    assert_ok(ops_attention(k->b, &c->a, &e));
    if (!c->forward_only) assert_ok(ops_attention_bwd(k->b, &c->a, &e));
}

/* Factors of queries of both signs, 0 for the first; those of heads if `heads`. Factors of size 1
 * would let a score grow with the length of a row, and its roundings too. */
static void set_temperature(struct op_bench *k, struct attention_case *c, bool heads, bool inside)
{
    struct op_matrix query = op_random(k, 1, c->ref.T, 0), head = op_random(k, 1, c->ref.H, 0);
    c->head_grad = op_random(k, 1, c->ref.H, 0);
    for (int32_t i = 0; i < c->ref.T; i++) query.host[i] *= i == 0 ? 0.0f : 0.5f;
    op_set(k, &query);
    c->a.temperature = (struct attention_temperature){.query_dev = query.t.data, .inside = inside};
    c->ref.query_factor = query.host;
    c->ref.inside = inside;
    if (!heads) return;
    c->a.temperature.head_dev = head.t.data;
    c->a.temperature.head_grad_dev = c->head_grad.t.data;
    c->ref.head_factor = head.host;
}

/* Different angles and sizes for each token and pair, in tables longer than the row. */
static void draw_rotation(struct op_bench *k, const struct attention_case *c, int32_t pairs,
                          bool sized, struct op_matrix *cosine, struct op_matrix *sine)
{
    int64_t rows = c->ref.T + 3;
    *cosine = op_random(k, rows, pairs, 0);
    *sine = op_random(k, rows, pairs, 0);
    for (int64_t i = 0; i < rows * pairs; i++) {
        double angle = 3.0 * (double)cosine->host[i];
        double size = sized ? 1.0 + 0.3 * (double)sine->host[i] : 1.0;
        cosine->host[i] = (float)(size * cos(angle));
        sine->host[i] = (float)(size * sin(angle));
    }
    op_set(k, cosine);
    op_set(k, sine);
}

/* own: k has tables of its own, and pairs have sizes. */
static void set_rotary(struct op_bench *k, struct attention_case *c, int layout, int32_t width,
                       bool own)
{
    struct op_matrix table[4];
    draw_rotation(k, c, width / 2, own, &table[0], &table[1]);
    c->a.rotary =
        (struct attention_rotary){.cosine = table[0].t, .sine = table[1].t, .layout = layout};
    c->ref.key_cosine = c->ref.cosine = table[0].host;
    c->ref.key_sine = c->ref.sine = table[1].host;
    c->ref.layout = layout;
    c->ref.pairs = width / 2;
    if (!own) return;
    draw_rotation(k, c, width / 2, own, &table[2], &table[3]);
    c->a.rotary.key_cosine = table[2].t;
    c->a.rotary.key_sine = table[3].t;
    c->ref.key_cosine = table[2].host;
    c->ref.key_sine = table[3].host;
}

static void check_both(struct op_bench *k, const int32_t *size, enum form form, float p)
{
    op_bench_reset(k);
    struct attention_case c = op_attention_case(k, size, form, p);
    op_attention_check(k, &c);
}

/* Forward, then backward on what the forward pass left of q and k. */
static void attention_rotary(struct op_bench *k)
{
    static const int32_t sizes[][4] = {{2, 37, 3, 8},  {1, 70, 2, 16}, {1, 66, 1, 24},
                                       {2, 33, 1, 32}, {1, 65, 2, 64}, {1, 35, 2, 128}};
    for (int i = 0; i < 6; i++)
        for (int way = 0; way < 6; way++) { /* layouts; whole heads, parts, own tables of k */
            op_bench_reset(k);
            struct attention_case c =
                op_attention_case(k, sizes[i], (enum form)(i % 4), i % 2 * 0.25f);
            set_rotary(k, &c, way % 2, way / 2 != 1 ? sizes[i][3] : sizes[i][3] / 4 * 2,
                       way / 2 == 2);
            op_attention_check(k, &c);
        }
}

/* B, T, H, D */
static void attention_widths(struct op_bench *k)
{
    static const int32_t sizes[][4] = {{2, 17, 3, 8},  {1, 33, 2, 16}, {2, 40, 1, 32},
                                       {1, 65, 2, 64}, {1, 70, 2, 24}, {1, 35, 1, 80},
                                       {1, 66, 1, 96}, {1, 21, 1, 128}};
    for (int i = 0; i < 8; i++) check_both(k, sizes[i], (enum form)(i % 4), 0.0f);
}

/* A backend computes a head width correctly or rejects it. */
static void attention_other_widths(struct op_bench *k)
{
    static const int32_t widths[] = {2, 4, 6, 10, 12, 14, 20, 30, 66, 132, 248, 256};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        for (int layout = -1; layout < 2; layout++) { /* -1: not rotary */
            struct err e = {0};
            const int32_t size[] = {2, layout == 0 ? 70 : 37, 2, widths[i]};
            op_bench_reset(k);
            struct attention_case c =
                op_attention_case(k, size, (enum form)(i % 4), layout == 0 ? 0.25f : 0.0f);
            if (ops_attention(k->b, &c.a, &e) == ERR_UNAVAILABLE) {
                assert_non_null(strstr(e.text, "head width"));
                continue;
            }
            if (layout >= 0) set_rotary(k, &c, layout, widths[i], false);
            op_attention_check(k, &c);
        }
}

static void attention_forms(struct op_bench *k)
{
    static const int32_t size[] = {2, 37, 4, 8};
    for (int form = FORM_NONE; form <= FORM_ALL; form++) check_both(k, size, (enum form)form, 0.0f);
}

static void attention_lengths(struct op_bench *k)
{
    static const int32_t lengths[] = {1, 2, 3, 7, 8, 15, 16, 31, 63, 64, 65, 127, 130};
    for (int i = 0; i < 13; i++) {
        int32_t size[] = {1 + i % 2, lengths[i], 2, 8};
        check_both(k, size, i % 2 ? FORM_SLOPE : FORM_TABLE, 0.0f);
    }
}

static void attention_dropout(struct op_bench *k)
{
    static const int32_t sizes[][4] = {{2, 19, 3, 8}, {1, 67, 2, 16}};
    for (int i = 0; i < 2; i++)
        for (int form = FORM_SLOPE; form <= FORM_ALL; form += 2)
            check_both(k, sizes[i], (enum form)form, 0.25f);
}

/* The first outputs of a row have the same bits whatever follows it and wherever it is in the
 * batch. */
static void attention_prefix(struct op_bench *k)
{
    static const int32_t size[] = {3, 70, 2, 16}, shorter[] = {1, 1, 2, 3, 16, 33, 64, 69};
    int64_t C = (int64_t)size[2] * size[3];
    struct attention_case c = op_attention_case(k, size, FORM_SLOPE, 0.0f);
    assert_ok(ops_attention(k->b, &c.a, &e));
    const float *all = op_get(k, &c.a.out);
    for (int i = 0; i < 8; i++) {
        int32_t T = shorter[i], row = i % 3;
        struct attention part = c.a;
        struct op_matrix out = op_activations(k, T, C, 0);
        struct op_matrix lse = op_random(k, size[2], T, 0);
        struct tensor *views[] = {&part.q, &part.k, &part.v};
        for (int j = 0; j < 3; j++) {
            views[j]->data = (char *)views[j]->data + (size_t)(row * size[1] * views[j]->stride) *
                                                          dtype_bytes(views[j]->dtype);
            views[j]->rows = T;
        }
        part.B = 1;
        part.T = T;
        part.out = out.t;
        part.lse = lse.t;
        assert_ok(ops_attention(k->b, &part, &e));
        op_same("prefix", op_get(k, &out.t), all + row * size[1] * C, T * C);
    }
}

/* Windows shorter than, equal to and longer than rows and tiles, of all heads or of the narrow
 * ones, sinks of text and cache, with
 * every bias form, both layouts of rotary and dropout. */
static void attention_mask(struct op_bench *k)
{
    static const struct {
        int32_t size[4];
        struct attention_mask mask;
    } cases[] = {
        {{2, 9, 2, 8}, {1, 0, SINKS_TEXT, 0}},       {{1, 13, 2, 8}, {4, 2, SINKS_CACHE, 0}},
        {{1, 70, 2, 8}, {5, 3, SINKS_TEXT, 0}},      {{2, 70, 2, 12}, {9, 4, SINKS_CACHE, 0}},
        {{1, 140, 2, 16}, {64, 1, SINKS_CACHE, 0}},  {{1, 140, 1, 8}, {33, 70, SINKS_CACHE, 0}},
        {{1, 200, 2, 8}, {17, 0, SINKS_TEXT, 0}},    {{1, 200, 1, 20}, {65, 66, SINKS_TEXT, 0}},
        {{1, 33, 2, 8}, {33, 5, SINKS_CACHE, 0}},    {{1, 34, 2, 8}, {33, 40, SINKS_CACHE, 0}},
        {{1, 130, 2, 8}, {100, 100, SINKS_TEXT, 0}}, {{1, 9, 3, 8}, {0, 0, SINKS_TEXT, 1}},
        {{1, 140, 5, 8}, {0, 0, SINKS_TEXT, 4}},     {{2, 70, 4, 12}, {3, 0, SINKS_TEXT, 4}},
        {{1, 200, 2, 16}, {33, 0, SINKS_TEXT, 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int way = 0; way < 12; way++) {
            struct err e = {0};
            op_bench_reset(k);
            struct attention_case c =
                op_attention_case(k, cases[i].size, (enum form)(way % 4), way % 2 ? 0.25f : 0.0f);
            c.a.mask = c.ref.mask = cases[i].mask;
            if (c.a.mask.narrow_heads > 0) c.summed_n = (int64_t)c.ref.B * c.ref.T;
            if (ops_attention(k->b, &c.a, &e) == ERR_UNAVAILABLE) continue;
            if (way / 4 > 0)
                set_rotary(k, &c, way / 4 - 1,
                           way % 4 < 2 ? cases[i].size[3] : cases[i].size[3] / 4 * 2, way % 4 == 3);
            op_attention_check(k, &c);
        }
}

/* Every form of bias, with and without factors of heads, windows, sinks and rotation. */
static void attention_temperature(struct op_bench *k)
{
    static const struct {
        int32_t size[4];
        struct attention_mask mask;
    } cases[] = {
        {{2, 9, 2, 8}, {0}},
        {{1, 70, 3, 16}, {0}},
        {{2, 140, 2, 8}, {.window = 33}},
        {{1, 70, 2, 8}, {.window = 5, .sinks = 3}},
        {{1, 130, 2, 8}, {.window = 9, .sinks = 4, .sink_positions = SINKS_CACHE}},
        {{1, 33, 4, 32}, {.narrow_heads = 2}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int way = 0; way < 16; way++) {
            struct err e = {0};
            op_bench_reset(k);
            struct attention_case c =
                op_attention_case(k, cases[i].size, (enum form)(way % 4), way % 3 ? 0.0f : 0.25f);
            c.a.mask = c.ref.mask = cases[i].mask;
            if (ops_attention(k->b, &c.a, &e) == ERR_UNAVAILABLE) continue;
            if (way % 5 == 0) set_rotary(k, &c, way % 2, cases[i].size[3], way % 4 == 0);
            set_temperature(k, &c, way / 4 % 2, way / 8);
            op_attention_check(k, &c);
        }
}

/* Sums that fall along a row: steeply in every other head, so that distant keys vanish. */
static void set_gates(struct op_bench *k, struct attention_case *c)
{
    int32_t T = c->ref.T, rows = c->ref.B * c->ref.H;
    struct op_matrix high = op_random(k, rows, T, 0), low = op_random(k, rows, T, 0);
    for (int64_t i = 0; i < (int64_t)rows * T; i++) {
        high.host[i] = 0.5f * high.host[i] - (i / T % 2 ? 0.05f : 20.0f) * (float)(i % T);
        low.host[i] *= 1e-3f;
    }
    op_set(k, &high);
    op_set(k, &low);
    c->ref.high = high.host;
    c->ref.low = low.host;
    c->a.gates =
        (struct attention_gates){.high = high.t, .low = low.t, .dsums = op_random(k, rows, T, 0).t};
}

static void attention_gates(struct op_bench *k)
{
    static const int32_t sizes[][4] = {{2, 9, 3, 8},   {1, 70, 2, 16}, {2, 33, 2, 32},
                                       {1, 140, 2, 8}, {1, 65, 2, 64}, {1, 35, 1, 128}};
    static const struct attention_mask masks[] = {
        {0, 0, SINKS_TEXT, 0}, {17, 0, SINKS_TEXT, 0}, {9, 4, SINKS_TEXT, 0}};
    for (int i = 0; i < 6; i++)
        for (int m = 0; m < 3; m++) {
            op_bench_reset(k);
            struct attention_case c = op_attention_case(
                k, sizes[i], (enum form)(i % (m ? 2 : FORMS_N)), m ? 0.0f : 0.25f);
            c.a.mask = c.ref.mask = masks[m];
            c.summed_n = (int64_t)c.ref.B * c.ref.T;
            set_gates(k, &c);
            op_attention_check(k, &c);
        }
}

/* Falcon's: multiples of the number of the key, rounded to bf16, so that later keys of a row come
 * in groups of equal ones; divided by a number that no power of two is near. */
static void set_key_bias(struct op_bench *k, struct attention_case *c)
{
    int32_t T = c->ref.T, H = c->ref.H;
    struct op_matrix bias = op_random(k, H, T, 0);
    for (int32_t i = 0; i < H * T; i++) {
        float slope = op_round_bf16(1.0f / (float)(1 + i / T), NULL);
        bias.host[i] =
            op_round_bf16(slope * op_round_bf16((float)(i % T), NULL), NULL) / sqrtf(12.0f);
    }
    op_set(k, &bias);
    c->ref.key_bias = bias.host;
    c->a.bias.key_bias_dev = bias.t.data;
    c->forward_only = true;
}

/* K = 1, divisors of H and H; every bias form, dropout, both layouts of rotary with and without
 * tables of k, windows, sinks, temperatures and gates; biases of keys, in rows longer than bf16
 * counts. */
static void attention_shared(struct op_bench *k)
{
    static const struct {
        int32_t size[4], K;
        struct attention_mask mask;
    } cases[] = {
        {{2, 9, 4, 8}, 1, {0}},
        {{1, 70, 6, 16}, 3, {0}},
        {{2, 140, 4, 8}, 2, {.window = 33}},
        {{1, 300, 3, 8}, 3, {0}},
        {{1, 530, 6, 32}, 2, {0}},
        {{1, 130, 4, 64}, 2, {.window = 9, .sinks = 3}},
        {{1, 70, 4, 24}, 2, {.window = 5, .sinks = 4, .sink_positions = SINKS_CACHE}},
        {{1, 33, 6, 128}, 2, {.narrow_heads = 4}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int way = 0; way < 12; way++) {
            struct err e = {0};
            op_bench_reset(k);
            struct attention_case c = make_case(k, cases[i].size, cases[i].K, (enum form)(way % 4),
                                                way == 5 ? 0.25f : 0.0f);
            c.a.mask = c.ref.mask = cases[i].mask;
            if (ops_attention(k->b, &c.a, &e) == ERR_UNAVAILABLE) continue;
            if (way % 3 == 1) set_rotary(k, &c, way % 2, cases[i].size[3], way == 7);
            /* With a factor below 0, distant keys have the largest biases: not in a long row. */
            if (way == 2 || (way == 9 && cases[i].size[1] < 40))
                set_temperature(k, &c, true, way == 9);
            if (way == 3) set_gates(k, &c);
            if (way >= 8 && c.a.mask.sink_positions == SINKS_TEXT) set_key_bias(k, &c);
            op_attention_check(k, &c);
        }
}

const struct op_row op_rows_attention[] = {
    {"attention agrees at head widths 8 to 128", .run = attention_widths},
    {"attention agrees at every other head width or rejects it", .run = attention_other_widths},
    {"attention agrees without bias, with slopes, with a table and with all",
     .run = attention_forms},
    {"attention agrees at lengths around every tile", .run = attention_lengths},
    {"attention drops the pairs that Philox selects", .run = attention_dropout},
    {"attention gives a prefix the same bits in any batch", .run = attention_prefix},
    {"attention rotates q and k by their tokens and the gradients back", .run = attention_rotary},
    {"attention adds the sums of gates and computes their gradient", .run = attention_gates},
    {"attention shares heads of k and v, and adds biases of keys", .run = attention_shared},
    {"attention agrees with windows, narrow heads and sinks or rejects them",
     .run = attention_mask},
    {"attention multiplies scores, and biases inside, by the factors of queries and heads",
     .run = attention_temperature},
    {.name = NULL},
};
