/* op_rows.c - rows of the op table but for attention: what every op computes, as series of calls
 * that are compared with the oracle, and what a series cannot show. */
#include "harness/test.h"

#include <math.h>
#include <string.h>

#include "ops/op_case.h"
#include "ops/op_reference.h"
#include "ops/ops.h"

#define SIZES(list) .sizes = (list), .sizes_n = sizeof(list) / sizeof *(list)

static const float chances[] = {0.0f, 0.1f, 0.5f};
enum { CHANCES_N = sizeof chances / sizeof *chances };

/* One call; `bits` counts the ways: optional argument, flag, then chance and form. */
static void run_call(struct op_bench *k, const struct op_row *s, int32_t size, int ways[4])
{
    struct op_case c;
    int32_t letters_n = (int32_t)strlen(s->letters);
    struct op_choice o = {.without = ways[0] ? s->optional : NULL,
                          .flag = ways[1],
                          .p = chances[ways[2]],
                          /* A bias has the dtype of the output. */
                          .wide = size % 2 && (s->optional == NULL || ways[0]),
                          .spread = size % 5};
    for (int32_t i = 0; i < letters_n; i++)
        o.size[s->letters[i] - 'A'] = s->sizes[size * letters_n + i];
    op_case_make(&c, k, s->op, &o);
    if (s->prepare) s->prepare(&c, ways[3]);
    op_case_check(&c, s);
}

void op_row_run(const struct op_row *row, struct op_bench *k)
{
    if (row->run != NULL) {
        row->run(k);
        return;
    }
    if (row->op == OP_ROTARY && !op_exists(k->b, OP_ROTARY)) return; /* attention rotates */
    int32_t n = row->sizes_n / (int32_t)strlen(row->letters);
    const int ways_n[] = {row->optional ? 2 : 1, op_table[row->op].flag ? 2 : 1,
                          row->chances_n ? row->chances_n : 1, row->forms_n ? row->forms_n : 1};
    for (int32_t size = 0; size < n; size++)
        for (int way = 0; way < ways_n[0] * ways_n[1] * ways_n[2] * ways_n[3]; way++) {
            int rest = way, ways[4];
            for (int i = 0; i < 4; i++, rest /= ways_n[i - 1]) ways[i] = rest % ways_n[i];
            run_call(k, row, size, ways);
        }
}

/* ---- linear ops ---- */

/* N, I, O: single elements, ragged, whole vectors, more rows than a tile, tall weights. */
static const int32_t products[] = {
    1,  1, 1, 3, 5, 7, 16, 16, 16, 33, 17,  65, 64, 64, 192, 130, 24,  48, 257, 64,  33, 21,  300,
    12, 1, 8, 1, 5, 8, 24, 67, 24, 33, 130, 64, 65, 70, 8,   45,  300, 10, 61,  130, 8,  300,
};

/* Also more inputs and outputs than matrix units get at a time. */
static const int32_t split_products[] = {
    1, 1, 1, 3, 5, 7, 16, 32, 16, 33, 31, 33, 64, 64, 96, 35, 1030, 40, 70, 2100, 3, 31, 40, 1100,
};

/* Weights in fp32, and with as few bits as bf16 and fp16 have. */
static void set_split(struct op_case *c, int form)
{
    static const uint32_t kept[] = {0xFFFFFFFFu, 0xFFFF0000u, 0xFFFFE000u};
    struct linear_rows_args *a = (void *)c->args;
    struct op_matrix *w = op_case_matrix(c, "w");
    uint32_t *bits = (uint32_t *)(void *)w->host;
    a->split = true;
    for (int64_t i = 0; i < w->t.rows * w->t.cols; i++) bits[i] &= kept[form];
    op_set(c->k, w);
}

/* Exact or not; without or with a mask. */
static void set_exact(struct op_case *c, int form)
{
    struct linear_relu_args *a = (void *)c->args;
    a->exact = form & 1;
    if (form & 2) a->mask = op_mask(c->k, NULL, a->y.rows, a->y.cols);
}

/* y as relu leaves it. With a mask, y is not read: the op gets another matrix. */
static void set_passed(struct op_case *c, int form)
{
    struct linear_bwd_relu_args *a = (void *)c->args;
    struct op_matrix *y = op_case_matrix(c, "y");
    for (int64_t i = 0; i < y->t.rows * y->t.cols; i++)
        if (y->host[i] < 0.0f) y->host[i] = 0.0f;
    op_set(c->k, y);
    if (form == 0) return;
    a->mask = op_mask(c->k, y->host, y->t.rows, y->t.cols);
    a->y = op_activations(c->k, y->t.rows, y->t.cols, 0).t;
}

/* Any sub-batch of rows, in any place, gives the same bits. */
static void rows_are_exact(struct op_bench *k, bool split)
{
    op_bench_reset(k);
    struct op_matrix x = op_activations(k, 75, 40, 8), w = op_activations(k, 29, 40, 0);
    struct op_matrix bias = op_activations(k, 1, 29, 0), y = op_activations(k, 75, 29, 0);
    assert_ok(
        OPS(k->b, linear_rows, &e, .y = y.t, .x = x.t, .w = w.t, .bias = bias.t, .split = split));
    const float *all = op_get(k, &y.t);
    static const int32_t first[] = {0, 1, 17, 74, 30}, n[] = {1, 3, 33, 1, 45};
    for (int i = 0; i < 5; i++) {
        struct tensor part = x.t;
        part.data = (char *)x.t.data + (size_t)(first[i] * x.t.stride) * dtype_bytes(x.t.dtype);
        part.rows = n[i];
        struct op_matrix some = op_activations(k, n[i], 29, 0);
        assert_ok(OPS(k->b, linear_rows, &e, .y = some.t, .x = part, .w = w.t, .bias = bias.t,
                      .split = split));
        op_same("row", op_get(k, &some.t), all + first[i] * 29, n[i] * 29);
    }
}

static void linear_rows_is_exact(struct op_bench *k)
{
    for (int split = 0; split < 2; split++) rows_are_exact(k, split);
}

/* Fused or not: negative values become zero, all others keep the bits of linear_rows. */
static void linear_relu_is_exact(struct op_bench *k)
{
    for (size_t i = 0; i < sizeof products / sizeof *products; i += 3) {
        op_bench_reset(k);
        int64_t N = products[i], I = products[i + 1], O = products[i + 2];
        struct op_matrix x = op_activations(k, N, I, 0), w = op_activations(k, O, I, 0);
        struct op_matrix bias = op_activations(k, 1, O, 0),
                         y = op_activations(k, N, O, 4 * (i % 2));
        struct linear_relu_args a = {
            .y = y.t, .x = x.t, .w = w.t, .bias = bias.t, .exact = true, .split = i % 2};
        assert_ok(ops_linear_relu(k->b, &a, &e));
        const float *made = op_get(k, &y.t);
        assert_ok(OPS(k->b, linear_rows, &e, .y = y.t, .x = x.t, .w = w.t, .bias = bias.t,
                      .split = i % 2));
        float *want = op_get(k, &y.t);
        for (int64_t j = 0; j < N * O; j++)
            if (want[j] < 0.0f) want[j] = 0.0f;
        op_same("y by rows", made, want, N * O);
    }
}

/* ---- rows of a table ---- */

/* N M C */
static const int32_t tables[] = {1,  1,  1,  7,  5,   3, 40, 16, 64, 33,  100,
                                 65, 37, 13, 21, 600, 7, 3,  17, 9,  1031};

static void scale_gathered(struct op_case *c, int form)
{
    ((struct gather_rows_args *)(void *)c->args)->scale = form ? 1.0f : 8.0f;
}

/* The factor is a power of two, so that sums are exact to compare. */
static void add_scattered(struct op_case *c, int form)
{
    struct scatter_rows_args *a = (void *)c->args;
    a->scale = form ? 1.0f : 2.0f;
    a->accumulate = true;
}

/* Of two rows with the same index the later one remains. */
static void scatter_rows_overwrites(struct op_bench *k)
{
    int32_t at[] = {4, -1, 0, 2, 4}, N = 5, C = 19;
    struct op_matrix x = op_activations(k, N, C, 0), y = op_activations(k, 6, C, 5);
    const int32_t *index = op_memory(k, at, sizeof at);
    for (int32_t i = 0; i < N; i++)
        for (int32_t c = 0; at[i] >= 0 && c < C; c++)
            y.host[at[i] * C + c] = 8.0f * x.host[i * C + c];
    assert_ok(OPS(k->b, scatter_rows, &e, .y = y.t, .x = x.t, .index_dev = index, .scale = 8.0f));
    op_same("y", op_get(k, &y.t), y.host, 6 * C);
}

/* Terms are added one after another, in the order of the list, and rounded once. */
static void scatter_rows_adds_in_order(struct op_bench *k)
{
    enum { N = 600, M = 7, C = 3 };
    struct op_matrix x = op_activations(k, N, C, 0), y = op_activations(k, M, C, 5);
    const int32_t *at = NULL, *index = op_list(k, &at, N, M, 1);
    for (int32_t i = 0; i < N * C; i++)
        if (at[i / C] >= 0) y.host[at[i / C] * C + i % C] += 0.5f * x.host[i];
    for (int32_t i = 0; i < M * C; i++) y.host[i] = op_stored(k, y.host[i]);
    assert_ok(OPS(k->b, scatter_rows, &e, .y = y.t, .x = x.t, .index_dev = index, .scale = 0.5f,
                  .accumulate = true));
    op_same("y", op_get(k, &y.t), y.host, M * C);
}

/* ---- elementwise ops ---- */

static const int32_t matrices[] = {1,  1, 2,  3,  17, 16,  33, 65,  12, 257, 70, 64,
                                   41, 8, 41, 24, 41, 100, 41, 300, 41, 512, 1,  4099}; /* N C */

/* x = factor * x + offset, as the backend stores it. */
static void stretch(struct op_case *c, const char *name, float factor, float offset)
{
    struct op_matrix *x = op_case_matrix(c, name);
    for (int64_t i = 0; i < x->t.rows * x->t.cols; i++)
        x->host[i] = op_stored(c->k, factor * x->host[i] + offset);
    op_set(c->k, x);
}

static void add_mask(struct op_case *c, int form)
{
    struct relu_args *a = (void *)c->args;
    if (form) a->mask = op_mask(c->k, NULL, a->y.rows, a->y.cols);
}

/* The output of relu at this dropout. With a mask, the op gets another matrix as y. */
static void make_relu(struct op_case *c, int form)
{
    struct relu_bwd_args *a = (void *)c->args;
    struct op_matrix *y = op_case_matrix(c, "y");
    for (int64_t i = 0; i < y->t.rows * y->t.cols; i++)
        y->host[i] = y->host[i] > 0.0f ? op_stored(c->k, y->host[i] * c->factor[i]) : 0.0f;
    op_set(c->k, y);
    if (form == 0) return;
    a->mask = op_mask(c->k, y->host, y->t.rows, y->t.cols);
    a->y = op_activations(c->k, y->t.rows, y->t.cols, 0).t;
}

static void relu_of_nan(struct op_bench *k)
{
    struct op_matrix x = op_activations(k, 3, 50, 10);
    x.host[57] = NAN;
    op_set(k, &x);
    assert_ok(OPS(k->b, relu, &e, .y = x.t, .x = x.t));
    assert_true(isnan(op_get(k, &x.t)[57]));
}

/* Wider than the bends of the curves, so that both ends are straight. */
static void set_activation(struct op_case *c, int form)
{
    stretch(c, "x", 7.0f, 0.0f);
    ((struct activate_args *)(void *)c->args)->kind = (enum activation)form;
}

/* Every number keeps its relative error of a few units, or the result is near 0: of each size of x,
 * up to the largest, alone and with a factor. NaN stays NaN. */
static void activate_sizes(struct op_bench *k)
{
    enum { N = 2, C = 511, KINDS = ACTIVATE_SILU + 1 };
    double unit = k->b->precision == DTYPE_BF16 ? 0x1p-8 : 0x1p-22;
    for (int way = 0; way < 2 * KINDS; way++) {
        op_bench_reset(k);
        struct op_matrix x = op_activations(k, N, C, 0), y = op_activations(k, N, C, 3),
                         factor = op_activations(k, N, C, 0);
        enum activation kind = (enum activation)(way % KINDS);
        for (int i = 0; i < N * C; i++)
            x.host[i] = op_stored(k, (i % 2 ? -1.0f : 1.0f) *
                                         ldexpf(1.5f + x.host[i] / 4.0f, i / 2 % 252 - 125));
        x.host[C - 1] = x.host[3] = NAN;
        op_set(k, &x);
        struct activate_args a = {.y = y.t, .x = x.t, .kind = kind};
        if (way >= KINDS) a.factor = factor.t;
        assert_ok(ops_activate(k->b, &a, &e));
        const float *got = op_get(k, &y.t);
        for (int i = 0; i < N * C; i++) {
            double at = (double)x.host[i], by = way < KINDS ? 1.0 : (double)factor.host[i];
            double want = op_activated_double(at, kind) * by;
            /* A number below 0 is 1 + erf, or its like, times x: as exact as erf. */
            double size = at < 0.0 && kind != ACTIVATE_RELU ? fmin(-at, 8.0) : fabs(at);
            double allowed = fmax(unit * size * fabs(by), 0x1p-125);
            if (isnan(at) ? !isnan(got[i]) : !(fabs((double)got[i] - want) <= allowed))
                fail_msg("kind %d of %g is %.9g, expected %.9g", (int)kind, at, (double)got[i],
                         want);
        }
    }
}

/* An element has the same bits at the end of a row and within it, in any row. */
static void activate_is_exact(struct op_bench *k)
{
    enum { N = 3, C = 67 };
    for (int kind = 0; kind <= ACTIVATE_SILU; kind++) {
        op_bench_reset(k);
        struct op_matrix x = op_activations(k, N, C, 0), y = op_activations(k, N, C, 0);
        assert_ok(OPS(k->b, activate, &e, .y = y.t, .x = x.t, .kind = (enum activation)kind));
        const float *all = op_get(k, &y.t);
        struct tensor from = x.t, to = op_activations(k, 1, C, 0).t;
        from.rows = 1;
        for (int n = 1; n < C; n += 7)
            for (int first = 0; first + n <= C; first += 5) {
                from.data = (char *)x.t.data + (size_t)(C + first) * dtype_bytes(from.dtype);
                from.cols = to.cols = n;
                assert_ok(
                    OPS(k->b, activate, &e, .y = to, .x = from, .kind = (enum activation)kind));
                op_same("y", op_get(k, &to), all + C + first, n);
            }
    }
}

static void set_limit(struct op_case *c, int form)
{
    ((struct clamp_args *)(void *)c->args)->limit = form ? 100.0f : 0.5f;
}

static void clamp_of_nan(struct op_bench *k)
{
    struct op_matrix x = op_activations(k, 3, 50, 10);
    const float odd[] = {NAN, INFINITY, -INFINITY, 2.0f, -2.0f, 0.0f};
    const float want[] = {NAN, 1.5f, -1.5f, 1.5f, -1.5f, 0.0f};
    memcpy(x.host + 57, odd, sizeof odd);
    op_set(k, &x);
    assert_ok(OPS(k->b, clamp, &e, .y = x.t, .x = x.t, .limit = 1.5f));
    const float *got = op_get(k, &x.t) + 57;
    assert_true(isnan(got[0]));
    op_same("x", got + 1, want + 1, 5);
}

static void casts_round_to_the_nearest(struct op_bench *k)
{
    static const float ties[] = {1.00390625f, 1.01171875f,   -1.00390625f,
                                 1.0039063f,  3.3895314e38f, 0x1.fffffep0f,
                                 1e-40f,      0.0f,          -0.0f};
    enum { N = sizeof ties / sizeof *ties };
    if (k->b->precision != DTYPE_BF16) return;
    struct op_matrix x = op_random(k, 1, N, 0), y = op_random_of(k, 1, N, 0, DTYPE_BF16);
    memcpy(x.host, ties, sizeof ties);
    op_set(k, &x);
    assert_ok(OPS(k->b, cast, &e, .y = y.t, .x = x.t));
    for (int i = 0; i < N; i++) x.host[i] = op_round_bf16(ties[i], NULL);
    op_same("y", op_get(k, &y.t), x.host, N);
}

static void dropout_of_listed_rows(struct op_bench *k)
{
    int64_t N = 29, C = 18;
    struct op_matrix x = op_activations(k, N, C, 0), y = op_activations(k, N, C, 0);
    const int32_t *rows = NULL;
    const struct step_state step = {.update = OP_UPDATE};
    struct dropout d = {.p = 0.3f,
                        .key = 99,
                        .stream = dropout_stream(1, DROPOUT_TAIL),
                        .step_dev = op_step(k, &step),
                        .first_row = 5000000001, /* elements beyond 32 bits */
                        .span = 13};
    d.rows_dev = op_list(k, &rows, N, 500, 0);
    const float *factor = op_factors(k, &d, rows, OP_UPDATE, N, C);
    assert_ok(OPS(k->b, dropout, &e, .y = y.t, .x = x.t, .dropout = d));
    for (int64_t i = 0; i < N * C; i++) x.host[i] = op_stored(k, x.host[i] * factor[i]);
    op_same("y", op_get(k, &y.t), x.host, N * C);
}

/* Kept elements make up for dropped ones: of n draws with chance p, the mean strays by at most five
 * standard deviations sqrt(p / (1 - p) / n). */
static void dropout_keeps_the_mean(struct op_bench *k)
{
    int64_t N = 400, C = 250;
    struct op_matrix x = op_activations(k, N, C, 0);
    const struct step_state step = {.update = OP_UPDATE};
    for (int64_t i = 0; i < N * C; i++) x.host[i] = 1.0f;
    for (int c = 1; c < CHANCES_N; c++) {
        struct dropout d = {.p = chances[c], .key = 5, .step_dev = op_step(k, &step), .span = 1};
        double sum = 0.0, p = (double)chances[c];
        op_set(k, &x);
        assert_ok(OPS(k->b, dropout, &e, .y = x.t, .x = x.t, .dropout = d));
        const float *y = op_get(k, &x.t);
        for (int64_t i = 0; i < N * C; i++) sum += (double)y[i];
        double mean = sum / (double)(N * C);
        assert_true(fabs(mean - 1.0) < 5.0 * sqrt(p / (1.0 - p) / (double)(N * C)));
    }
}

/* ---- LayerNorm ---- */

static const int32_t norms[] = {2,  3,  17, 16,  33, 65,  12, 257, 70, 64,   41, 8,
                                41, 24, 41, 100, 41, 300, 41, 512, 9,  1024, 3,  4100}; /* N C */

/* Epsilons that decide and that vanish, numbers that are large and as small as the epsilon. */
static const struct {
    float eps, factor, offset;
} norm_forms[] = {{1e-5f, 1.0f, 3.0f},
                  {1e-3f, 0.03f, 0.0f},
                  {1e-12f, 1e-6f, 0.0f},
                  {1e-12f, 3e8f, 3e8f},
                  {1e-6f, 1e-12f, 0.0f}};
enum { NORM_FORMS_N = sizeof norm_forms / sizeof *norm_forms };

/* x with a mean that the norm takes off: of its size in deviations, the terms that cancel. */
static void stretch_x(struct op_case *c, int form)
{
    stretch(c, "x", norm_forms[form].factor, norm_forms[form].offset);
    c->k->terms = 2.0 * (double)(norm_forms[form].offset / norm_forms[form].factor);
}

static void set_norm(struct op_case *c, int form)
{
    stretch_x(c, form);
    ((struct layernorm_args *)(void *)c->args)->eps = norm_forms[form].eps;
}

static void set_residual_norm(struct op_case *c, int form)
{
    stretch_x(c, form);
    stretch(c, "r", norm_forms[form].factor, 0.0f);
    ((struct residual_layernorm_args *)(void *)c->args)->eps = norm_forms[form].eps;
}

static void remove_bias(struct op_case *c, struct tensor *bias)
{
    *bias = (struct tensor){0};
    op_case_matrix(c, "bias")->t.data = NULL;
}

static void set_rms(struct op_case *c, int form)
{
    struct layernorm_args *a = (void *)c->args;
    set_norm(c, form);
    a->rms = true;
    remove_bias(c, &a->bias);
}

static void set_residual_rms(struct op_case *c, int form)
{
    struct residual_layernorm_args *a = (void *)c->args;
    set_residual_norm(c, form);
    a->rms = true;
    remove_bias(c, &a->bias);
}

static void set_stats(struct op_case *c, const char *of)
{
    struct op_matrix *x = op_case_matrix(c, of), *stats = op_case_matrix(c, "stats");
    int64_t N = x->t.rows, C = x->t.cols;
    op_layernorm_float(op_floats(c->k, N * C), stats->host, x->host,
                       op_case_matrix(c, "gain")->host, NULL, N, C, 1e-5f, 0);
    op_set(c->k, stats);
}

static void stats_of_x(struct op_case *c, int form)
{
    (void)form;
    set_stats(c, "x");
}

/* Without dropout dr is not given. */
static void stats_of_s(struct op_case *c, int form)
{
    (void)form;
    set_stats(c, "s");
    if (c->choice.p > 0.0f) return;
    ((struct residual_layernorm_bwd_args *)(void *)c->args)->dr = (struct tensor){0};
    op_case_matrix(c, "dr")->t.data = NULL;
}

/* ---- rotary ---- */

/* N, T, H, P, R, C: tables longer than a row; all features rotate, or some. */
static const int32_t rotations[] = {18, 9, 3, 4,  12, 24,  33, 33, 2, 8,  36, 32,
                                    5,  5, 1, 64, 8,  128, 12, 4,  5, 16, 7,  160,
                                    18, 9, 3, 2,  12, 30,  12, 4,  1, 5,  7,  16};

static void set_layout(struct op_case *c, int form)
{
    struct rotary_args *a = (void *)c->args;
    a->layout = form & 1;
    a->inverse = form >> 1;
}

/* ---- losses ---- */

static const int32_t losses[] = {1,  1,  3,  2,  16,  16, 21,  77, 5,    1031, 64,    258, 19,
                                 15, 19, 17, 19, 500, 19, 513, 7,  4096, 3,    20002, 40,  1};
/* N, V, E: the last E - 1 classes compete with nothing. */
static const int32_t best_classes[] = {1,    1,  1,   3,   2, 2,    16, 16, 1,     21, 77, 3,  5,
                                       1031, 4,  64,  258, 3, 19,   15, 15, 19,    17, 2,  19, 500,
                                       2,    19, 513, 2,   7, 4096, 1,  3,  20002, 5,  40, 1,  1};
/* N V */

/* Logits with a spread of some tens, so that most classes are far from the best. Then, in turn:
 * half a row is masked; logits differ by less than fp32 resolves; some are far above the others. */
static void spread_logits(struct op_case *c, int form)
{
    struct op_matrix *x = op_case_matrix(c, "logits");
    int64_t V = x->t.cols;
    stretch(c, "logits", 12.0f, 30.0f);
    for (int64_t i = 0; form == 1 && i < x->t.rows * V; i++) {
        int64_t row = i / V, column = i % V;
        if (row % 3 == 1 || (row % 3 == 0 && column >= V / 2))
            x->host[i] = op_stored(c->k, x->host[i] - 1e30f);
        if (row % 3 == 2 && column % 5 == 0) x->host[i] = op_stored(c->k, 1e30f);
    }
    op_set(c->k, x);
}

/* A class at -inf has probability 0; a NaN or inf reaches the result. */
static void softmax_not_finite(struct op_bench *k)
{
    static const float odd[] = {NAN, INFINITY, -INFINITY};
    const int32_t second = 1, *target = op_memory(k, &second, sizeof second);
    struct op_matrix logits = op_random(k, 1, 40, 0), logp = op_random(k, 1, 1, 0);
    for (int i = 0; i < 3 * 40; i++) {
        memset(logits.host, 0, 40 * sizeof(float));
        logits.host[i / 3] = odd[i % 3];
        op_set(k, &logits);
        assert_ok(
            OPS(k->b, softmax_logp, &e, .logp = logp.t, .logits = logits.t, .target_dev = target));
        float got = *op_get(k, &logp.t);
        assert_true(odd[i % 3] == -INFINITY && i / 3 != second
                        ? fabs((double)got + log(39.0)) < 1e-6
                        : !isfinite(got));
    }
}

/* Two equal classes, of which one may be among the later; then NaN and infinities. */
static void softmax_best_class(struct op_bench *k)
{
    enum { V = 700, E = 3 };
    const struct {
        int32_t at, other, want;
        float value, odd;
    } rows[] = {{0, 699, 0, 9, 0},          {697, 698, 697, 9, 0},     {37, 38, 37, 9, 0},
                {640, 5, 5, 9, 0},          {11, 523, 11, 9, 0},       {698, 699, 0, 9, 0},
                {3, 3, -1, 9, NAN},         {3, 699, -1, NAN, 0},      {9, 9, -1, INFINITY, 0},
                {9, 2, 2, 9, -INFINITY},    {9, 699, -1, INFINITY, 0}, {8, 4, 4, 1e38f, 0},
                {10, 10, 10, 3e38f, -3e38f}};
    enum { ROWS = sizeof rows / sizeof *rows };
    const int32_t none = -1, *target = op_memory(k, &none, sizeof none);
    for (int i = 0; i < ROWS; i++) {
        struct op_matrix logits = op_random(k, 1, V, 0), logp = op_random(k, 1, 1, 0),
                         number = op_random(k, 1, 1, 0), best = op_random(k, 1, E, 0);
        memset(logits.host, 0, V * sizeof(float));
        logits.host[rows[i].at] = logits.host[rows[i].other] = rows[i].value;
        logits.host[300] = rows[i].odd;
        op_set(k, &logits);
        assert_ok(OPS(k->b, softmax_logp, &e, .logp = logp.t, .logits = logits.t,
                      .target_dev = target, .best_class = number.t, .best = best.t));
        if ((int32_t)*op_get(k, &number.t) != rows[i].want)
            fail_msg("row %d: class %g is best, expected %d", i, (double)*op_get(k, &number.t),
                     rows[i].want);
        assert_true(*op_get(k, &logp.t) == 0.0f); /* without a target */
    }
}

static void softmax_logp_is_exact(struct op_bench *k)
{
    int64_t N = 23, V = 91;
    struct op_matrix logits = op_activations(k, N, V, 0), all = op_random(k, 1, N, 0);
    const int32_t *at = NULL, *target = op_list(k, &at, N, (int32_t)V, 0);
    assert_ok(OPS(k->b, softmax_logp, &e, .logp = all.t, .logits = logits.t, .target_dev = target));
    for (int64_t i = 0; i < N; i++) {
        struct op_matrix one = op_random(k, 1, 1, 0);
        struct tensor row = logits.t;
        row.data = (char *)row.data + (size_t)(i * V) * dtype_bytes(row.dtype);
        row.rows = 1;
        assert_ok(
            OPS(k->b, softmax_logp, &e, .logp = one.t, .logits = row, .target_dev = target + i));
        op_same("row", op_get(k, &one.t), op_get(k, &all.t) + i, 1);
    }
}

static void sum_losses(struct op_bench *k)
{
    static const int32_t lengths[] = {1, 31, 512, 1025, 18432};
    double got = -1.0, *out = op_memory(k, &got, sizeof got);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        struct op_matrix x = op_random(k, 1, lengths[i], 0);
        double want = 0.0, size = 0.0;
        for (int32_t j = 0; j < lengths[i]; j++) {
            want += (double)x.host[j];
            size += fabs((double)x.host[j]);
        }
        assert_ok(OPS(k->b, sum_losses, &e, .out_dev = out, .loss = x.t));
        assert_ok(k->b->ops->download(k->b, &got, out, sizeof got, &e));
        /* A sum of n numbers errs by at most n roundings of it. */
        assert_true(fabs(got - want) <= lengths[i] * 0x1p-52 * size);
    }
}

/* ---- a parameter block ---- */

static const int32_t lengths[] = {1, 7, 64, 1000, 4097, 70001};
enum { LENGTHS_N = sizeof lengths / sizeof *lengths };

static double sum_squares_of(struct op_bench *k, const struct op_matrix *x, double *out_dev)
{
    double out = 0.0;
    assert_ok(OPS(k->b, sum_squares, &e, .out_dev = out_dev, .x_dev = x->t.data,
                  .n = x->t.cols * x->t.rows));
    assert_ok(k->b->ops->download(k->b, &out, out_dev, sizeof out, &e));
    return out;
}

static void sum_squares(struct op_bench *k)
{
    for (int i = 0; i < LENGTHS_N; i++) {
        struct op_matrix x = op_random(k, 1, lengths[i], 0);
        double *out = op_memory(k, NULL, sizeof *out), want = 0.0;
        for (int32_t j = 0; j < lengths[i]; j++) want += (double)x.host[j] * (double)x.host[j];
        double got = sum_squares_of(k, &x, out);
        /* Squares are exact in double; a sum of n numbers errs by at most n roundings. */
        assert_true(fabs(got - want) <= lengths[i] * 0x1p-52 * want);
        assert_true(got == sum_squares_of(k, &x, out));
    }
}

/* Each part has the bits that it has alone, wherever it begins, and a block that is one part those
 * of a call without parts. */
static void sum_squares_of_parts(struct op_bench *k)
{
    static const int32_t parts[] = {1, 3, 64, 100, 4096, 70000, 100000};
    for (int i = 0; i < LENGTHS_N; i++)
        for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
            int64_t n = lengths[i], part = parts[p], parts_n = (n - 1) / part + 1;
            if (parts_n > 5000) continue;
            op_bench_reset(k);
            struct op_matrix x = op_random(k, 1, n, 0);
            double *out = op_memory(k, NULL, (size_t)(parts_n + 1) * sizeof *out);
            double *got = op_doubles(k, parts_n + 1), *alone = op_memory(k, NULL, sizeof *alone);
            assert_ok(OPS(k->b, sum_squares, &e, .out_dev = out, .x_dev = x.t.data, .n = n,
                          .part = part));
            assert_ok(k->b->ops->download(k->b, got, out, (size_t)(parts_n + 1) * sizeof *got, &e));
            assert_true(got[parts_n] == 0.0); /* behind the last one */
            for (int64_t j = 0; j < parts_n; j += 1 + parts_n / 7) {
                int64_t left = n - j * part;
                double want;
                assert_ok(OPS(k->b, sum_squares, &e, .out_dev = alone,
                              .x_dev = (float *)x.t.data + j * part, .n = left < part ? left : part,
                              .part = part));
                assert_ok(k->b->ops->download(k->b, &want, alone, sizeof want, &e));
                assert_true(got[j] == want);
                double plain = 0.0;
                for (int64_t l = 0; l < part && l < left; l++)
                    plain += (double)x.host[j * part + l] * (double)x.host[j * part + l];
                assert_true(fabs(got[j] - plain) <= (double)part * 0x1p-52 * plain);
            }
            if (part == n) assert_true(got[0] == sum_squares_of(k, &x, alone));
        }
}

/* From left to right, so that the bits are those of a plain loop. */
static void sum_doubles(struct op_bench *k)
{
    for (int i = 0; i < LENGTHS_N; i++) {
        double *host = op_doubles(k, lengths[i]), got;
        for (int32_t j = 0; j < lengths[i]; j++)
            host[j] = (double)op_uniform(k) * exp2(40.0 * (double)op_uniform(k));
        for (int form = 0; form < 3; form++) {
            double want = -0.0;
            if (form == 1) host[0] = -0.0;
            if (form == 2) host[lengths[i] / 2] = (double)NAN;
            for (int32_t j = 0; j < lengths[i]; j++) want += host[j];
            double *x = op_memory(k, host, (size_t)lengths[i] * sizeof *host);
            double *out = op_memory(k, NULL, sizeof *out);
            assert_ok(OPS(k->b, sum_doubles, &e, .out_dev = out, .x_dev = x, .n = lengths[i]));
            assert_ok(k->b->ops->download(k->b, &got, out, sizeof got, &e));
            assert_true(form == 2 ? isnan(got) : memcmp(&got, &want, sizeof got) == 0);
        }
        op_bench_reset(k);
    }
}

/* ---- a tree of blocks ---- */

/* sum(lo, lo + operands_n) of element i; false if it is absent. */
static bool tree_of(float *out, const struct op_matrix *x, uint32_t present, int32_t lo,
                    int32_t operands_n, int64_t i)
{
    float right = 0.0f;
    if (operands_n == 1) {
        if (present >> lo & 1) *out = x[lo].host[i];
        return present >> lo & 1;
    }
    bool has_left = tree_of(out, x, present, lo, operands_n / 2, i);
    bool has_right = tree_of(&right, x, present, lo + operands_n / 2, operands_n / 2, i);
    if (has_left && has_right) *out = *out + right;
    if (has_right && !has_left) *out = right;
    return has_left || has_right;
}

static void check_tree(struct op_bench *k, const struct op_matrix *x, uint32_t present,
                       float *y_dev, int64_t n)
{
    struct tree_add_args a = {.y_dev = y_dev, .n = n};
    for (int32_t j = 0; j < TREE_ADD_MAX; j++)
        if (present >> j & 1) a.x_dev[j] = x[j].t.data;
    assert_ok(ops_tree_add(k->b, &a, &e));
    const struct tensor y = tensor_make(y_dev, 1, n, DTYPE_F32);
    const float *got = op_get(k, &y);
    for (int64_t i = 0; i < n; i++) {
        float want = 0.0f;
        tree_of(&want, x, present, 0, TREE_ADD_MAX, i);
        if (isnan(want) ? !isnan(got[i]) : memcmp(&got[i], &want, sizeof want) != 0)
            fail_msg("operands %08x, element %d of %d: %a, expected %a", present, (int)i, (int)n,
                     (double)got[i], (double)want);
    }
}

/* Blocks of random numbers, with zeros of both signs and numbers that are not finite in the same
 * places of several operands. */
static void tree_operands(struct op_bench *k, struct op_matrix x[TREE_ADD_MAX], int64_t n)
{
    static const float special[] = {-0.0f, 0.0f, (float)NAN, (float)INFINITY, -(float)INFINITY};
    op_bench_reset(k);
    for (int32_t j = 0; j < TREE_ADD_MAX; j++) {
        x[j] = op_random(k, 1, n, 0);
        for (int64_t i = 0; i < n; i++) {
            float draw = op_uniform(k);
            x[j].host[i] *= exp2f(6.0f * op_uniform(k)); /* so that sums round */
            if (i % 4 == 0 && draw < 0.5f) x[j].host[i] = -0.0f;
            if (i % 16 == 1 && draw < -0.8f) x[j].host[i] = special[(i / 16 + j) % 5];
        }
        op_set(k, &x[j]);
    }
}

static void tree_add(struct op_bench *k)
{
    static const int32_t sizes[] = {1, 3, 64, 1001};
    struct op_matrix x[TREE_ADD_MAX];
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        int64_t n = sizes[s];
        tree_operands(k, x, n);
        float *y = op_memory(k, NULL, (size_t)n * sizeof *y);
        /* Each subset of 1 to 5 operands, then each number of operands, then any. */
        for (uint32_t present = 1; present < 32; present++) check_tree(k, x, present, y, n);
        for (int32_t m = 6; m <= TREE_ADD_MAX; m++)
            check_tree(k, x, UINT32_MAX >> (TREE_ADD_MAX - m), y, n);
        for (int32_t draw = 0; draw < 40; draw++) {
            uint32_t present = (uint32_t)(((double)op_uniform(k) + 1.0) * 0x1p31);
            if (draw % 2) present &= (uint32_t)(((double)op_uniform(k) + 1.0) * 0x1p31);
            if (present != 0) check_tree(k, x, present, y, n);
        }
    }
}

/* y may be any operand; a block longer than a thread's share. */
static void tree_add_in_place(struct op_bench *k)
{
    enum { N = 140001 };
    static const uint32_t sets[] = {0x1, 0x3, 0x7, 0x8, 0xFF, 0x80000001, 0xF0F0, 0xFFFFFFFF};
    struct op_matrix x[TREE_ADD_MAX];
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++)
        for (int32_t j = 0; j < TREE_ADD_MAX; j += j < 3 ? 1 : 7) {
            if (!(sets[s] >> j & 1)) continue;
            tree_operands(k, x, s == 4 ? N : 77);
            check_tree(k, x, sets[s], x[j].t.data, s == 4 ? N : 77);
        }
    float *y = x[0].t.data;
    assert_fails(ERR_INTERNAL, "op tree_add: all operands are absent",
                 OPS(k->b, tree_add, &e, .y_dev = y, .n = 1));
}

/* ln sigmoid(x) */
static double log_gate(double x)
{
    return x > 0.0 ? -log1p(exp(-x)) : x - log1p(exp(x));
}

/* Sums from the first token to the last, and their gradients from the last to the first; with
 * inputs of each token, or with the biases alone; gates near 0, near 1 and between. */
static void forget_gate(struct op_bench *k)
{
    static const int32_t sizes[][3] = {{2, 1, 3}, {3, 33, 2}, {1, 200, 5}, {2, 700, 1}};
    for (int way = 0; way < 8; way++) {
        int32_t B = sizes[way / 2][0], T = sizes[way / 2][1], H = sizes[way / 2][2];
        op_bench_reset(k);
        struct op_matrix z = op_random(k, B * T, H, 0), bias = op_random(k, 1, H, 0),
                         high = op_random(k, B * H, T, 0), low = op_random(k, B * H, T, 0),
                         dsums = op_random(k, B * H, T, 0), dbias = op_random(k, 1, H, 0),
                         dz = op_activations(k, B * T, H, 0);
        for (int64_t i = 0; i < (int64_t)B * T * H; i++) z.host[i] *= i % 7 == 0 ? 60.0f : 3.0f;
        op_set(k, &z);
        struct tensor none = {.dtype = DTYPE_F32}, input = way % 2 ? none : z.t;
        assert_ok(OPS(k->b, forget_gate, &e, .B = B, .T = T, .H = H, .high = high.t, .low = low.t,
                      .z = input, .bias = bias.t));
        assert_ok(OPS(k->b, forget_gate_bwd, &e, .B = B, .T = T, .H = H,
                      .dz = way % 2 ? none : dz.t, .dbias = dbias.t, .dsums = dsums.t, .z = input,
                      .bias = bias.t));
        const float *got_high = op_get(k, &high.t), *got_low = op_get(k, &low.t);
        const float *got_dz = op_get(k, &dz.t), *got_dbias = op_get(k, &dbias.t);
        double rounding = k->b->precision == DTYPE_BF16 ? 0x1p-8 : 0x1p-22;
        for (int32_t h = 0; h < H; h++) {
            double dbias_want = 0.0, size = 0.0;
            for (int32_t b = 0; b < B; b++) {
                int64_t row = (int64_t)(b * H + h) * T;
                double sum = 0.0, dsum = 0.0;
                for (int32_t t = 0; t < T; t++) {
                    double x = (double)bias.host[h];
                    if (way % 2 == 0) x += (double)z.host[((int64_t)b * T + t) * H + h];
                    sum += log_gate(x);
                    double got = (double)got_high[row + t] + (double)got_low[row + t];
                    if (!(fabs(got - sum) <= 1e-13 * (T - sum)))
                        fail_msg("sum[%d][%d][%d] is %.17g, expected %.17g", b, h, t, got, sum);
                }
                for (int32_t t = T - 1; t >= 0; t--) {
                    int64_t at = ((int64_t)b * T + t) * H + h;
                    double x = (double)bias.host[h] + (way % 2 ? 0.0 : (double)z.host[at]);
                    dsum += (double)dsums.host[row + t];
                    double want = dsum / (1.0 + exp(x));
                    dbias_want += want;
                    size += fabs(want);
                    if (way % 2 == 0 && !(fabs((double)got_dz[at] - want) <= rounding * fabs(want)))
                        fail_msg("dz[%d][%d][%d] is %g, expected %g", b, t, h, (double)got_dz[at],
                                 want);
                }
            }
            dbias_want += (double)dbias.host[h];
            assert_true(fabs((double)got_dbias[h] - dbias_want) <= 0x1p-22 * (size + 1.0));
        }
    }
}

/* The squares of the gradient, and the step state as c->step now is. */
static void set_update(struct op_case *c, const double *squares_dev)
{
    sum_squares_of(c->k, op_case_matrix(c, "gradient"), (double *)(uintptr_t)squares_dev);
    op_case_step(c);
}

static void set_nag(struct op_case *c, int form)
{
    static const struct {
        float lr, lr_previous, gradient_scale, clip, mu, decay;
    } settings[] = {
        {1.0f, 1.0f, 1.0f, 0.0f, 0.99f, 0.0f},
        {0.25f, 0.5f, 1.0f / 512.0f, 0.1f, 0.9f, 0.01f},
        {0.25f, 0.0f, 2.0f, 0.1f, 0.99f, 0.0f},
        {1e-7f, 1e-7f, 1.0f, 1e9f, 0.99f, 0.0f},
    };
    struct nag_args *a = (void *)c->args;
    a->mu = settings[form].mu;
    a->weight_decay = settings[form].decay;
    c->step.lr = settings[form].lr;
    c->step.lr_previous = settings[form].lr_previous;
    c->step.gradient_scale = settings[form].gradient_scale;
    c->step.clip = settings[form].clip;
    set_update(c, a->squares_dev);
}

static void set_adam(struct op_case *c, int form)
{
    static const struct {
        float lr, gradient_scale, clip, beta2, decay;
        uint32_t step;
    } settings[] = {{8e-3f, 1.0f, 0.0f, 0.98f, 0.0f, 1},
                    {1e-3f, 1.0f / 512.0f, 1.0f, 0.999f, 0.01f, 100}};
    struct adam_args *a = (void *)c->args;
    struct op_matrix *v = op_case_matrix(c, "v");
    for (int64_t i = 0; i < v->t.rows * v->t.cols; i++)
        v->host[i] = v->host[i] * v->host[i] + 0.01f;
    op_set(c->k, v);
    a->beta1 = 0.9f;
    a->beta2 = settings[form].beta2;
    a->eps = 1e-8f;
    a->weight_decay = settings[form].decay;
    c->step.lr = settings[form].lr;
    c->step.gradient_scale = settings[form].gradient_scale;
    c->step.clip = settings[form].clip;
    c->step.adam_step = settings[form].step;
    set_update(c, a->squares_dev);
}

/* Weights, their state and a rounded copy stay as they are. */
static void norm_not_finite(struct op_bench *k)
{
    static const double squares[] = {(double)NAN, (double)INFINITY};
    static const enum op ops[] = {OP_NAG, OP_ADAM};
    for (int i = 0; i < 4; i++) {
        const struct op_choice o = {.size = {OP_SIZE('N', 300)}};
        struct op_case c;
        struct op_memory memory[OP_ARGUMENTS_MAX];
        unsigned char *before[OP_ARGUMENTS_MAX];
        int32_t n = 0;
        op_case_make(&c, k, ops[i / 2], &o);
        (i / 2 ? set_adam : set_nag)(&c, 1);
        assert_ok(op_arguments(k->b, c.op, c.args, memory, &n, &e));
        for (int32_t j = 0; j < n; j++) {
            if (memory[j].argument->type == ARG_F64)
                assert_ok(
                    k->b->ops->upload(k->b, memory[j].data, &squares[i % 2], sizeof *squares, &e));
            before[j] = op_memory_get(k, &memory[j]);
        }
        assert_ok(op_case_run(&c, &e));
        for (int32_t j = 0; j < n; j++)
            assert_memory_equal(op_memory_get(k, &memory[j]), before[j],
                                op_memory_bytes(&memory[j]));
    }
}

const struct op_row op_rows[] = {
    {"linear is x times w transposed plus bias", .op = OP_LINEAR, .letters = "NIO", SIZES(products),
     .optional = "bias", .ulps = 1, .f32_error = 1e-5},
    {"linear_rows is linear", .op = OP_LINEAR_ROWS, .letters = "NIO", SIZES(products),
     .optional = "bias", .ulps = 1, .f32_error = 1e-5},
    {"linear_rows is linear by split products", .op = OP_LINEAR_ROWS, .letters = "NIO",
     SIZES(split_products), .forms_n = 3, .optional = "bias", .prepare = set_split, .ulps = 1,
     .f32_error = 1e-5},
    {"linear_rows gives a row the same bits in any batch", .run = linear_rows_is_exact},
    {"linear_relu is linear followed by relu", .op = OP_LINEAR_RELU, .letters = "NIO",
     SIZES(products), .forms_n = 4, .optional = "bias", .prepare = set_exact, .ulps = 1,
     .f32_error = 1e-5},
    {"linear_relu keeps the bits of linear_rows", .run = linear_relu_is_exact},
    {"linear_bwd_input is dy times w", .op = OP_LINEAR_BWD_INPUT, .letters = "NIO", SIZES(products),
     .ulps = 1, .f32_error = 1e-5},
    {"linear_bwd_relu is dy times w where relu passed", .op = OP_LINEAR_BWD_RELU, .letters = "NIO",
     SIZES(products), .chances_n = CHANCES_N, .forms_n = 2, .prepare = set_passed, .ulps = 2,
     .f32_error = 1e-5},
    {"linear_bwd_weight is dy transposed times x and its column sums", .op = OP_LINEAR_BWD_WEIGHT,
     .letters = "NIO", SIZES(products), .optional = "dbias", .ulps = 1, .f32_error = 1e-5},
    {"gather_rows scales listed rows and gives zeros for a gap", .op = OP_GATHER_ROWS,
     .letters = "NMC", SIZES(tables), .forms_n = 2, .prepare = scale_gathered, .exact = "y"},
    {"scatter_rows adds every listed row", .op = OP_SCATTER_ROWS, .letters = "NMC", SIZES(tables),
     .forms_n = 2, .prepare = add_scattered, .ulps = 2},
    {"scatter_rows adds in the order of the list", .run = scatter_rows_adds_in_order},
    {"scatter_rows overwrites listed rows only", .run = scatter_rows_overwrites},
    {"add_rows adds rows of a table", .op = OP_ADD_ROWS, .letters = "NMC", SIZES(tables),
     .exact = "y"},
    {"cast rounds once, or copies", .op = OP_CAST, .letters = "NC", SIZES(matrices), .exact = "y"},
    {"cast rounds to the nearest, ties to even", .run = casts_round_to_the_nearest},
    {"add is a sum", .op = OP_ADD, .letters = "NC", SIZES(matrices), .exact = "y"},
    {"dropout has the mask of Philox bit for bit", .op = OP_DROPOUT, .letters = "NC",
     SIZES(matrices), .chances_n = CHANCES_N, .exact = "y"},
    {"dropout keeps the mean", .run = dropout_keeps_the_mean},
    {"dropout of a compacted tail counts the listed rows", .run = dropout_of_listed_rows},
    {"relu passes what is positive and kept", .op = OP_RELU, .letters = "NC", SIZES(matrices),
     .chances_n = CHANCES_N, .forms_n = 2, .prepare = add_mask, .exact = "y"},
    {"relu of a NaN is a NaN", .run = relu_of_nan},
    {"relu_bwd passes the gradient of what relu passed", .op = OP_RELU_BWD, .letters = "NC",
     SIZES(matrices), .chances_n = CHANCES_N, .forms_n = 2, .prepare = make_relu, .exact = "dx"},
    {"activate is the activation times the factor", .op = OP_ACTIVATE, .letters = "NC",
     SIZES(matrices), .forms_n = ACTIVATE_SILU + 1, .prepare = set_activation, .optional = "factor",
     .ulps = 1},
    {"activate keeps its precision at every size, and NaN", .run = activate_sizes},
    {"activate gives an element the same bits at any place", .run = activate_is_exact},
    {"clamp keeps what is within the limits", .op = OP_CLAMP, .letters = "NC", SIZES(matrices),
     .forms_n = 2, .prepare = set_limit, .exact = "y"},
    {"clamp limits infinities and keeps NaN", .run = clamp_of_nan},
    {"layernorm has zero mean and biased variance", .op = OP_LAYERNORM, .letters = "NC",
     SIZES(norms), .forms_n = NORM_FORMS_N, .prepare = set_norm, .optional = "bias", .ulps = 1,
     .f32_error = 1e-5},
    {"layernorm with rms divides by the root of the mean square", .op = OP_LAYERNORM,
     .letters = "NC", SIZES(norms), .forms_n = NORM_FORMS_N, .prepare = set_rms, .ulps = 1,
     .f32_error = 1e-5},
    {"layernorm_bwd is the gradient of layernorm", .op = OP_LAYERNORM_BWD, .letters = "NC",
     SIZES(norms), .prepare = stats_of_x, .ulps = 1, .f32_error = 1e-5},
    {"residual_layernorm is dropout, sum and layernorm", .op = OP_RESIDUAL_LAYERNORM,
     .letters = "NC", SIZES(norms), .chances_n = CHANCES_N, .forms_n = NORM_FORMS_N,
     .prepare = set_residual_norm, .optional = "bias", .ulps = 2, .f32_error = 1e-5},
    {"residual_layernorm with rms is dropout, sum and rms", .op = OP_RESIDUAL_LAYERNORM,
     .letters = "NC", SIZES(norms), .chances_n = CHANCES_N, .forms_n = NORM_FORMS_N,
     .prepare = set_residual_rms, .ulps = 2, .f32_error = 1e-5},
    {"residual_layernorm_bwd is layernorm_bwd on top of the stream, then dropout",
     .op = OP_RESIDUAL_LAYERNORM_BWD, .letters = "NC", SIZES(norms), .chances_n = CHANCES_N,
     .prepare = stats_of_s, .exact = "dr", .ulps = 1, .f32_error = 1e-5},
    {"rotary rotates pairs of both layouts and back", .op = OP_ROTARY, .letters = "NTHPRC",
     SIZES(rotations), .forms_n = 4, .prepare = set_layout, .replaces = true, .ulps = 1},
    {"softmax_loss is the cross-entropy and its gradient", .op = OP_SOFTMAX_LOSS, .letters = "NV",
     SIZES(losses), .forms_n = 2, .prepare = spread_logits, .replaces = true, .ulps = 1,
     .f32_error = 1e-6},
    {"softmax_logp is minus the loss, and finds the best class", .op = OP_SOFTMAX_LOGP,
     .letters = "NVE", SIZES(best_classes), .forms_n = 2, .prepare = spread_logits,
     .optional = "best best_class", .exact = "best_class", .f32_error = 1e-6},
    {"softmax_logp finds the lowest of equal classes, and none if a logit is NaN",
     .run = softmax_best_class},
    {"softmax_logp of a row that is not finite", .run = softmax_not_finite},
    {"softmax_logp gives a row the same bits in any batch", .run = softmax_logp_is_exact},
    {"sum_losses adds up a batch", .run = sum_losses},
    {"forget_gate adds up the logs of gates, and pulls their gradients back", .run = forget_gate},
    {"sum_squares is exact in double and repeats", .run = sum_squares},
    {"sum_squares gives a part the bits that it has alone", .run = sum_squares_of_parts},
    {"sum_doubles adds from left to right", .run = sum_doubles},
    {"tree_add adds the operands that are there, in the order of a tree", .run = tree_add},
    {"tree_add may write to an operand", .run = tree_add_in_place},
    {"nag scales, clips, updates its momentum and steps", .op = OP_NAG, .letters = "N",
     SIZES(lengths), .forms_n = 4, .prepare = set_nag, .replaces = true},
    {"adam scales, clips, updates its moments and steps", .op = OP_ADAM, .letters = "N",
     SIZES(lengths), .forms_n = 2, .prepare = set_adam, .replaces = true},
    {"nag and adam change nothing if the norm is not finite", .run = norm_not_finite},
    {.name = NULL},
};
