// attention_oracle.h - attention and its gradients from the formula, in double, with bounds for
// rounding; and cases in device memory.
//
// Bounds are derived from how the kernels round. u is the unit roundoff of fp32, w that of stored
// values and of operands of products (bf16: 2^-8, fp32: u). We take the error of a sum of n rounded
// terms to be at most 4 sqrt(n) u times the sum of absolute terms.
#ifndef TESTS_CUDA_ATTENTION_ORACLE_H
#define TESTS_CUDA_ATTENTION_ORACLE_H

#include "rows_check.h"

#ifndef __CUDACC__
#include "emulation_control.h"
#endif

enum bias_form { BIAS_NONE, BIAS_SLOPE, BIAS_TABLE, BIAS_ALL };

struct attention_case {
    int32_t B, T, H, D;
    enum dtype dtype;
    enum bias_form form;
    int32_t bias_table_n;
    float p;
    bool thirds; // q, k, v are thirds of one tensor; otherwise `gap` elements separate their rows
    int32_t gap;
    int32_t window = 0, sinks = 0;
};

struct attention_fixture {
    struct attention_case c;
    struct attention a;
    struct matrix qkv[3], out, lse, dout, gradient[3];
    std::vector<float> table, offset, slope;
    void *workspace;
};

static inline void fixture_bias(struct attention_fixture &f)
{
    const struct attention_case &c = f.c;
    struct attention_bias &b = f.a.bias;
    memset(&b, 0, sizeof b);
    for (int h = 0; h < c.H; h++) {
        f.slope.push_back(-(float)exp2(-8.0 * (h + 1) / c.H));
        f.offset.push_back((float)(0.7 * normal_at(77, (uint64_t)h)));
        for (int d = 0; d < c.bias_table_n; d++)
            f.table.push_back((float)normal_at(78, (uint64_t)(h * c.bias_table_n + d)));
    }
    if (c.form == BIAS_SLOPE || c.form == BIAS_ALL) b.tail_slope_dev = device_copy(f.slope);
    if (c.form != BIAS_TABLE && c.form != BIAS_ALL) return;
    b.bias_table_n = c.bias_table_n;
    b.bias_table_dev = device_copy(f.table);
    b.tail_offset_dev = device_copy(f.offset);
    b.bias_table_grad_dev = device_copy(std::vector<float>(f.table.size(), 0.25f));
    b.tail_offset_grad_dev = device_copy(std::vector<float>(f.offset.size(), 0.25f));
}

// q, k and v as parts of one tensor, or as three tensors.
static inline void fixture_parts(struct attention_fixture &f, struct matrix (&m)[3], uint64_t seed,
                                 double spread)
{
    const struct attention_case &c = f.c;
    int64_t N = (int64_t)c.B * c.T, C = (int64_t)c.H * c.D;
    if (!c.thirds) {
        for (int i = 0; i < 3; i++)
            m[i] = matrix_make(N, C, c.dtype, {c.gap, 0}, seed + (uint64_t)i, spread, 0.0);
        return;
    }
    struct matrix all = matrix_make(N, 3 * C, c.dtype, {0, 0}, seed, spread, 0.0);
    for (int i = 0; i < 3; i++) {
        m[i] = {};
        m[i].t = all.t;
        m[i].t.cols = C;
        m[i].t.data = (char *)all.t.data + (size_t)(i * C) * dtype_bytes(c.dtype);
        for (int64_t r = 0; r < N; r++)
            m[i].host.insert(m[i].host.end(), all.host.begin() + (r * 3 + i) * C,
                             all.host.begin() + (r * 3 + i + 1) * C);
    }
}

static inline void fixture_open(struct attention_fixture &f, const struct attention_case &c)
{
    int64_t N = (int64_t)c.B * c.T, C = (int64_t)c.H * c.D;
    struct step_state step = {};
    step.update = 1234, step.adam_step = 1;
    f.c = c;
    memset(&f.a, 0, sizeof f.a);
    f.a.B = c.B, f.a.T = c.T, f.a.H = c.H, f.a.D = c.D;
    f.a.scale = (float)(1.0 / sqrt((double)c.D));
    f.a.mask.window = c.window, f.a.mask.sinks = c.sinks;
    fixture_parts(f, f.qkv, 1, 1.0);
    fixture_parts(f, f.gradient, 5, 1.0);
    f.out = matrix_make(N, C, c.dtype, {c.gap, 0}, 9, 1.0, 0.0);
    f.dout = matrix_make(N, C, c.dtype, {c.gap, 0}, 10, 1.0, 0.0);
    f.lse = matrix_make((int64_t)c.B * c.H, c.T, DTYPE_F32, {3, 0}, 11, 1.0, 0.0);
    f.a.q = f.qkv[0].t, f.a.k = f.qkv[1].t, f.a.v = f.qkv[2].t;
    f.a.dq = f.gradient[0].t, f.a.dk = f.gradient[1].t, f.a.dv = f.gradient[2].t;
    f.a.out = f.out.t, f.a.dout = f.dout.t, f.a.lse = f.lse.t;
    fixture_bias(f);
    f.a.dropout.p = c.p;
    f.a.dropout.key = 0x123456789abcdefull;
    f.a.dropout.stream = 17;
    f.a.dropout.step_dev = device_copy(std::vector<struct step_state>(1, step));
    f.a.dropout.first_row = 5;
    f.workspace = device_alloc(cuda_attention_workspace(&f.a));
}

static inline double oracle_bias(const struct attention_fixture &f, int h, int d)
{
    const struct attention_bias &b = f.a.bias;
    if (b.bias_table_dev && d < b.bias_table_n) return f.table[(size_t)(h * b.bias_table_n + d)];
    double bias = b.tail_offset_dev ? f.offset[(size_t)h] : 0.0;
    return b.tail_slope_dev ? bias + (double)f.slope[(size_t)h] * d : bias;
}

// The dropout factor: 0 or 1 / (1 - p).
static inline double oracle_keep(const struct attention_fixture &f, int b, int h, int i, int j)
{
    const struct dropout &d = f.a.dropout;
    if (d.p <= 0.0f) return 1.0;
    uint64_t place = (uint64_t)((d.first_row + b) * f.c.H + h);
    uint64_t element = (place * (uint64_t)f.c.T + (uint64_t)i) * (uint64_t)f.c.T + (uint64_t)j;
    bool kept = philox_word(d.key, element, 1234, d.stream) < philox_keep_below(d.p);
    return kept ? 1.0 / (1.0 - (double)d.p) : 0.0;
}

// One query's row from the formula.
struct oracle_row {
    std::vector<double> p, factor; // probability before dropout, dropout's factor
    double lse, score_error;       // score_error: bound of a probability's relative error
};

static inline const float *host_row(const struct matrix &m, const struct attention_case &c, int b,
                                    int h, int i)
{
    return m.host.data() + ((size_t)(b * c.T + i) * (size_t)c.H + (size_t)h) * (size_t)c.D;
}

static inline struct oracle_row oracle_row_of(const struct attention_fixture &f, int b, int h,
                                              int i)
{
    const struct attention_case &c = f.c;
    struct oracle_row r;
    double top = -INFINITY, sum = 0.0;
    const float *q = host_row(f.qkv[0], c, b, h, i);
    r.score_error = 0.0;
    for (int j = 0; j <= i; j++) {
        const float *k = host_row(f.qkv[1], c, b, h, j);
        double dot = 0.0, size = 0.0;
        for (int d = 0; d < c.D; d++) {
            dot += (double)q[d] * k[d];
            size += fabs((double)q[d] * k[d]);
        }
        bool seen = c.window == 0 || i - j < c.window || j < c.sinks;
        double bias = seen ? oracle_bias(f, h, i - j) : -INFINITY;
        double s = dot * (double)f.a.scale + bias;
        double error = 4 * sqrt(c.D + 3.0) * u * (size * (double)f.a.scale + fabs(bias));
        if (!seen) error = 0.0;
        r.p.push_back(s);
        r.factor.push_back(oracle_keep(f, b, h, i, j));
        // The error of a score counts times p, so scores with vanishing p do not matter.
        if (s > top - 30.0) r.score_error = fmax(r.score_error, error);
        top = fmax(top, s);
    }
    for (double &s : r.p) sum += s = exp(s - top);
    for (double &p : r.p) p /= sum;
    r.lse = top + log(sum);
    r.score_error = 2 * r.score_error + 4 * sqrt(i + 8.0) * u;
    return r;
}

// Ends a case; failed_n: failed checks before it.
static inline void case_end(const struct attention_case &c, int failed_n)
{
    device_free();
    if (failures == failed_n) return;
    static const char *const forms[] = {"none", "slope", "table", "all"};
    printf("B=%d T=%d H=%d D=%d %s bias=%s(%d) p=%.2f %s+%d window=%d sinks=%d\n", c.B, c.T, c.H,
           c.D, c.dtype == DTYPE_BF16 ? "bf16" : "f32", forms[c.form], c.bias_table_n, (double)c.p,
           c.thirds ? "thirds" : "apart", c.gap, c.window, c.sinks);
}

// attention_cases - the cases of both passes: dtypes, widths, lengths and forms of bias. Runs one
// case in four unless `all`, then some that are long enough for skip bounds: the first heads see
// only a few tokens.
static inline void attention_cases(bool all, void (*agrees)(const struct attention_case &c))
{
    static const int32_t widths[] = {8, 16, 32, 64, 128}, lengths[] = {1, 7, 33, 64, 100, 257};
    const struct attention_case far[] = {{1, 700, 2, 32, DTYPE_BF16, BIAS_SLOPE, 0, 0.0f, true, 0},
                                         {1, 644, 1, 64, DTYPE_BF16, BIAS_SLOPE, 0, 0.2f, true, 0},
                                         {1, 577, 2, 128, DTYPE_BF16, BIAS_SLOPE, 0, 0, true, 0}};
    for (int i = 0; i < 2 * 5 * 6 * 4; i++) {
        int form = i % 4, length = i / 4 % 6, width = i / 24 % 5, mix = width + length + form;
        if (!all && mix % 4 != 0) continue;
        struct attention_case c = {lengths[length] > 200 ? 1 : 2,
                                   lengths[length],
                                   3,
                                   widths[width],
                                   i / 120 ? DTYPE_BF16 : DTYPE_F32,
                                   (enum bias_form)form,
                                   mix % 3 == 0 ? 5 : 40,
                                   (all ? length : mix / 4) % 2 ? 0.3f : 0.0f,
                                   mix % 3 != 1,
                                   mix % 3 == 2 ? 8 : 0};
        agrees(c);
    }
    for (int i = 0; i < (all ? 3 : 1); i++) agrees(far[i]);
}

// Heads that fill the shared memory of a block, and widths between the compiled ones: with the
// tiles that fit an RTX 4090, an A100 and an H100.
static const struct attention_case wide_cases[] = {
    {1, 100, 2, 128, DTYPE_F32, BIAS_ALL, 40, 0.3f, true, 0},
    {1, 150, 1, 128, DTYPE_BF16, BIAS_TABLE, 40, 0.3f, true, 0},
    {1, 577, 1, 128, DTYPE_BF16, BIAS_SLOPE, 0, 0.0f, true, 0},
    {2, 70, 1, 80, DTYPE_BF16, BIAS_ALL, 9, 0.2f, false, 8},
    {1, 70, 2, 136, DTYPE_BF16, BIAS_ALL, 33, 0.2f, true, 0},
    {1, 70, 1, 200, DTYPE_BF16, BIAS_SLOPE, 0, 0.0f, false, 3},
    {1, 100, 1, 256, DTYPE_F32, BIAS_ALL, 20, 0.3f, true, 0},
    // Windows shorter than a tile, longer than a tile and longer than T; sinks to mid-tile.
    {1, 300, 1, 128, DTYPE_BF16, BIAS_SLOPE, 0, 0.0f, true, 0, 20, 0},
    {1, 300, 2, 64, DTYPE_BF16, BIAS_ALL, 40, 0.2f, true, 0, 70, 5},
    {1, 200, 1, 32, DTYPE_BF16, BIAS_TABLE, 40, 0.0f, true, 0, 1, 33},
    {1, 200, 1, 64, DTYPE_F32, BIAS_ALL, 40, 0.2f, true, 0, 50, 3},
    {1, 150, 1, 16, DTYPE_F32, BIAS_SLOPE, 0, 0.0f, true, 0, 200, 2},
};
enum { WIDE_CASES_N = sizeof wide_cases / sizeof *wide_cases };

// Limits that a test sets on the emulated device. A GPU keeps its own.
static const size_t shared_limits[] = {99 << 10, 163 << 10, 227 << 10};
enum { SHARED_LIMITS_N = 3 };

static inline void shared_limit(size_t bytes)
{
#ifdef __CUDACC__
    (void)bytes;
#else
    emulation_set_shared(bytes);
#endif
}

static inline void attention_wide_cases(void (*agrees)(const struct attention_case &c))
{
    for (size_t limit : shared_limits) {
        int before = failures;
        shared_limit(limit);
        for (const struct attention_case &c : wide_cases) agrees(c);
        if (failures > before) printf("  with %zu KB of shared memory\n", limit >> 10);
    }
}

#endif
