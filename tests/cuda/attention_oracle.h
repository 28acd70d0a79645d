// attention_oracle.h - attention and its gradients from the formula, in double, with bounds for
// rounding; matrices and cases in device memory.
//
// Device memory ends with the last element; gaps between rows are NaN. Bounds are derived from how
// the kernels round. u is the unit roundoff of fp32, w that of stored values and of operands of
// products (bf16: 2^-8, fp32: u). We take the error of a sum of n rounded terms to be at most
// 4 sqrt(n) u times the sum of absolute terms. A check reports the worst ratio of error to bound.
#ifndef TESTS_CUDA_ATTENTION_ORACLE_H
#define TESTS_CUDA_ATTENTION_ORACLE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vector>

#include "gpu.cuh"

#include "base/philox.h"
#include "kernels.h"

#ifndef __CUDACC__
#include "emulation_control.h"
#endif

static const double u = 0x1p-24;

static inline double unit_of(enum dtype d)
{
    return d == DTYPE_BF16 ? 0x1p-8 : u;
}

static int failures, checks;

static inline void count_check(bool good, const char *what, const char *where, int64_t a, int64_t b)
{
    checks++;
    if (good) return;
    failures++;
    printf("  FAIL %s: %s (%lld, %lld)\n", where, what, (long long)a, (long long)b);
}

static inline void check_call(int rc, const char *where)
{
    count_check(rc == 0, cudaGetErrorString((cudaError_t)rc), where, rc, 0);
}

static inline double normal_at(uint64_t seed, uint64_t place)
{
    struct philox_block w = philox_4x32(seed, (uint32_t)place, (uint32_t)(place >> 32), 0, 0);
    double a = (w.word[0] + 0.5) * 0x1p-32, b = (w.word[1] + 0.5) * 0x1p-32;
    return sqrt(-2.0 * log(a)) * cos(6.283185307179586 * b);
}

static inline float rounded(float x, enum dtype d)
{
    return d == DTYPE_BF16 ? __bfloat162float(__float2bfloat16(x)) : x;
}

// ---- matrices ----

struct matrix {
    std::vector<float> host; // rows x cols: the values on the device
    struct tensor t;
    unsigned char *memory; // NULL for a part of another matrix
    size_t bytes;
};

static std::vector<void *> device_own;

static inline void *device_alloc(size_t bytes)
{
    void *p = NULL;
    check_call(cudaMalloc(&p, bytes > 0 ? bytes : 1), "cudaMalloc");
    device_own.push_back(p);
    return p;
}

static inline void device_free()
{
    for (void *p : device_own) cudaFree(p);
    device_own.clear();
}

// A list or a record on the device.
template <class T> static inline T *device_copy(const std::vector<T> &host)
{
    T *p = (T *)device_alloc(host.size() * sizeof(T));
    cudaMemcpy(p, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice);
    return p;
}

static inline void matrix_put(struct matrix &m)
{
    size_t width = dtype_bytes(m.t.dtype);
    std::vector<unsigned char> raw(m.bytes, 0xff);
    for (int64_t r = 0; r < m.t.rows; r++)
        for (int64_t c = 0; c < m.t.cols; c++) {
            float &x = m.host[(size_t)(r * m.t.cols + c)];
            unsigned char *to = &raw[(size_t)(r * m.t.stride + c) * width];
            x = rounded(x, m.t.dtype);
            bf16 b = __float2bfloat16(x);
            memcpy(to, m.t.dtype == DTYPE_BF16 ? (const void *)&b : &x, width);
        }
    cudaMemcpy(m.memory, raw.data(), m.bytes, cudaMemcpyHostToDevice);
}

// matrix_make - normal numbers; rows are `gap` elements apart.
static inline struct matrix matrix_make(int64_t rows, int64_t cols, enum dtype dtype, int64_t gap,
                                        uint64_t seed)
{
    struct matrix m;
    m.t = tensor_make(NULL, rows, cols, dtype);
    m.t.stride = cols + gap;
    m.bytes = (size_t)((rows - 1) * m.t.stride + cols) * dtype_bytes(dtype);
    m.host.resize((size_t)(rows * cols));
    for (size_t i = 0; i < m.host.size(); i++) m.host[i] = (float)normal_at(seed, i);
    m.memory = (unsigned char *)device_alloc(m.bytes);
    m.t.data = m.memory;
    matrix_put(m);
    return m;
}

// The device's values of a view, which may be part of wider rows.
static inline std::vector<float> tensor_get(const struct tensor &t)
{
    size_t width = dtype_bytes(t.dtype);
    std::vector<unsigned char> raw((size_t)((t.rows - 1) * t.stride + t.cols) * width);
    std::vector<float> out;
    cudaDeviceSynchronize();
    cudaMemcpy(raw.data(), t.data, raw.size(), cudaMemcpyDeviceToHost);
    for (int64_t r = 0; r < t.rows; r++)
        for (int64_t c = 0; c < t.cols; c++) {
            const unsigned char *from = &raw[(size_t)(r * t.stride + c) * width];
            bf16 half;
            float x = 0.0f;
            memcpy(&half, from, sizeof half);
            if (t.dtype == DTYPE_F32) memcpy(&x, from, sizeof x);
            out.push_back(t.dtype == DTYPE_F32 ? x : __bfloat162float(half));
        }
    return out;
}

// ---- comparisons ----

// Compares bit for bit; any NaN equals any other.
static inline void check_same(const char *where, const std::vector<float> &got,
                              const std::vector<float> &want)
{
    size_t differ = 0, first = 0;
    for (size_t i = 0; i < want.size(); i++)
        if (memcmp(&got[i], &want[i], 4) != 0 && !(got[i] != got[i] && want[i] != want[i])) {
            if (differ++ == 0) first = i;
        }
    count_check(got.size() == want.size() && differ == 0, "bits differ: how many, the first", where,
                (int64_t)differ, (int64_t)first);
    if (differ) printf("       got %.9g, want %.9g\n", (double)got[first], (double)want[first]);
}

struct worst {
    const char *where;
    double ratio;
};

static inline void worst_see(struct worst &w, double got, double want, double bound)
{
    double ratio = fabs(got - want) / bound;
    if (!(ratio <= w.ratio)) w.ratio = ratio == ratio ? ratio : INFINITY;
}

static inline void worst_check(const struct worst &w)
{
    checks++;
    if (w.ratio <= 1.0) return;
    failures++;
    printf("  FAIL %s: %.3g times its bound\n", w.where, w.ratio);
}

// ---- cases ----

enum bias_form { BIAS_NONE, BIAS_SLOPE, BIAS_TABLE, BIAS_ALL };

struct attention_case {
    int32_t B, T, H, D;
    enum dtype dtype;
    enum bias_form form;
    int32_t bias_table_n;
    float p;
    bool thirds; // q, k, v are thirds of one tensor; otherwise `gap` elements separate their rows
    int32_t gap;
    int32_t window = 0, sinks = 0, narrow_heads = 0;
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
static inline void fixture_parts(struct attention_fixture &f, struct matrix (&m)[3], uint64_t seed)
{
    const struct attention_case &c = f.c;
    int64_t N = (int64_t)c.B * c.T, C = (int64_t)c.H * c.D;
    if (!c.thirds) {
        for (int i = 0; i < 3; i++) m[i] = matrix_make(N, C, c.dtype, c.gap, seed + (uint64_t)i);
        return;
    }
    struct matrix all = matrix_make(N, 3 * C, c.dtype, 0, seed);
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
    f.a.mask.narrow_heads = c.narrow_heads;
    fixture_parts(f, f.qkv, 1);
    fixture_parts(f, f.gradient, 5);
    f.out = matrix_make(N, C, c.dtype, c.gap, 9);
    f.dout = matrix_make(N, C, c.dtype, c.gap, 10);
    f.lse = matrix_make((int64_t)c.B * c.H, c.T, DTYPE_F32, 3, 11);
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
        bool narrow = h < c.narrow_heads && i - j > h;
        bool seen = !narrow && (c.window == 0 || i - j < c.window || j < c.sinks);
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
    printf("B=%d T=%d H=%d D=%d %s bias=%s(%d) p=%.2f %s+%d window=%d sinks=%d narrow=%d\n", c.B,
           c.T, c.H, c.D, c.dtype == DTYPE_BF16 ? "bf16" : "f32", forms[c.form], c.bias_table_n,
           (double)c.p, c.thirds ? "thirds" : "apart", c.gap, c.window, c.sinks, c.narrow_heads);
}

// attention_cases - one in four of all dtypes, widths, lengths and forms of bias, then one that is
// long enough for skip bounds: the first head sees only a few tokens.
static inline void attention_cases(void (*agrees)(const struct attention_case &c))
{
    static const int32_t widths[] = {8, 16, 32, 64, 128}, lengths[] = {1, 7, 33, 64, 100, 257};
    for (int i = 0; i < 2 * 5 * 6 * 4; i++) {
        int form = i % 4, length = i / 4 % 6, width = i / 24 % 5, mix = width + length + form;
        if (mix % 4 != 0) continue;
        struct attention_case c = {lengths[length] > 200 ? 1 : 2,
                                   lengths[length],
                                   3,
                                   widths[width],
                                   i / 120 ? DTYPE_BF16 : DTYPE_F32,
                                   (enum bias_form)form,
                                   mix % 3 == 0 ? 5 : 40,
                                   mix / 4 % 2 ? 0.3f : 0.0f,
                                   mix % 3 != 1,
                                   mix % 3 == 2 ? 8 : 0};
        agrees(c);
    }
    agrees({1, 700, 2, 32, DTYPE_BF16, BIAS_SLOPE, 0, 0.0f, true, 0});
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

static inline int checks_report(const char *family)
{
    check_call(cudaDeviceSynchronize(), family);
    device_free();
    printf("%s: %d checks, %s\n", family, checks, failures ? "FAILED" : "all hold");
    return failures != 0;
}

#endif
