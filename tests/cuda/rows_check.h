/* rows_check.h - matrices on host and device, and comparisons, for the tests of kernels.
 *
 * 1. Device memory ends with the last element. Gaps between rows are NaN and must stay NaN. An
 *    access outside a view therefore shows as a fault, a NaN or a changed gap.
 * 2. Every number has a bound; a check reports the worst ratio of error to bound. Numbers that are
 *    exact or rounded once are compared bit for bit.
 * 3. u is the unit roundoff of fp32, w that of the stored dtype.
 * 4. A case ends with device_free(), which frees everything it has put on the device. */
#ifndef TESTS_CUDA_ROWS_CHECK_H
#define TESTS_CUDA_ROWS_CHECK_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vector>

#include "gpu.cuh"

#include "base/philox.h"
#include "kernels.h"

static const double u = 0x1p-24;

/* The arguments of one call. */
template <class A> static inline const A *args_of(const A &args)
{
    return &args;
}

static inline double unit_of(enum dtype d)
{
    return d == DTYPE_BF16 ? 0x1p-8 : u;
}

/* The layout of a view: gap elements between rows, shift elements before the first. gap -1: the gap
 * that makes every row begin at a multiple of eight elements. */
struct layout {
    int64_t gap, shift;
};
static const struct layout layouts[] = {{0, 0}, {-1, 16}, {3, 1}};
enum { LAYOUTS_N = 3 };
static const enum dtype dtypes[] = {DTYPE_F32, DTYPE_BF16};

static int failures, checks;

static inline void check(bool good, const char *what, const char *where, int64_t a, int64_t b)
{
    checks++;
    if (good) return;
    failures++;
    printf("  FAIL %s: %s (%lld, %lld)\n", where, what, (long long)a, (long long)b);
}

static inline void check_call(int rc, const char *where)
{
    check(rc == 0, cudaGetErrorString((cudaError_t)rc), where, rc, 0);
}

/* ---- random numbers from a seed and an index ---- */

static inline double normal_at(uint64_t seed, uint64_t place)
{
    struct philox_block w = philox_4x32(seed, (uint32_t)place, (uint32_t)(place >> 32), 0, 0);
    double a = (w.word[0] + 0.5) * 0x1p-32, b = (w.word[1] + 0.5) * 0x1p-32;
    return sqrt(-2.0 * log(a)) * cos(6.283185307179586 * b);
}

static inline uint32_t word_at(uint64_t seed, uint64_t place)
{
    return philox_word(seed, place, 77, 3);
}

static inline float rounded(float x, enum dtype d)
{
    return d == DTYPE_BF16 ? __bfloat162float(__float2bfloat16(x)) : x;
}

/* ---- matrices ---- */

struct matrix {
    std::vector<float> host; /* rows x cols: the values on the device */
    struct tensor t;
    unsigned char *memory; /* NULL for a part of another matrix */
    size_t bytes, shift_bytes;
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

/* A list or a record on the device. */
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
            unsigned char *to = &raw[m.shift_bytes + (size_t)(r * m.t.stride + c) * width];
            x = rounded(x, m.t.dtype);
            bf16 b = __float2bfloat16(x);
            memcpy(to, m.t.dtype == DTYPE_BF16 ? (const void *)&b : &x, width);
        }
    cudaMemcpy(m.memory, raw.data(), m.bytes, cudaMemcpyHostToDevice);
}

/* matrix_make - normal numbers around `mean`. */
static inline struct matrix matrix_make(int64_t rows, int64_t cols, enum dtype dtype,
                                        struct layout l, uint64_t seed, double spread, double mean)
{
    struct matrix m;
    m.t = tensor_make(NULL, rows, cols, dtype);
    m.t.stride = l.gap < 0 ? (cols + 7) / 8 * 8 + 8 : cols + l.gap;
    m.shift_bytes = (size_t)l.shift * dtype_bytes(dtype);
    m.bytes = m.shift_bytes + (size_t)((rows - 1) * m.t.stride + cols) * dtype_bytes(dtype);
    m.host.resize((size_t)(rows * cols));
    for (size_t i = 0; i < m.host.size(); i++)
        m.host[i] = (float)(spread * normal_at(seed, i) + mean);
    m.memory = (unsigned char *)device_alloc(m.bytes);
    m.t.data = m.memory + m.shift_bytes;
    matrix_put(m);
    return m;
}

/* The device's values of a view, which may be part of wider rows. */
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

/* matrix_get - the device's values now; fails if a gap has changed. */
static inline std::vector<float> matrix_get(const struct matrix &m, const char *where)
{
    size_t width = dtype_bytes(m.t.dtype);
    std::vector<float> out = tensor_get(m.t);
    std::vector<unsigned char> raw(m.bytes);
    cudaMemcpy(raw.data(), m.memory, m.bytes, cudaMemcpyDeviceToHost);
    for (int64_t r = 0; r < m.t.rows; r++)
        memset(&raw[m.shift_bytes + (size_t)(r * m.t.stride) * width], 0xff,
               (size_t)m.t.cols * width);
    check(raw == std::vector<unsigned char>(m.bytes, 0xff), "the gap between rows was written",
          where, m.t.rows, m.t.cols);
    return out;
}

/* ---- comparisons ---- */

/* Compares bit for bit; any NaN equals any other. */
static inline void check_same(const char *where, const std::vector<float> &got,
                              const std::vector<float> &want)
{
    size_t differ = 0, first = 0;
    for (size_t i = 0; i < want.size(); i++)
        if (memcmp(&got[i], &want[i], 4) != 0 && !(got[i] != got[i] && want[i] != want[i])) {
            if (differ++ == 0) first = i;
        }
    check(got.size() == want.size() && differ == 0, "bits differ: how many, the first", where,
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

/* ---- dropout from its definition ---- */

struct draw {
    struct dropout d = {};
    std::vector<int32_t> rows; /* empty: rows follow each other */
    uint32_t update;
};

static inline struct draw draw_make(float p, int64_t rows, bool listed, uint32_t update)
{
    struct draw out;
    struct step_state step = {};
    step.lr = step.lr_previous = 0.1f, step.gradient_scale = 1.0f;
    step.update = update, step.adam_step = 1;
    out.d.p = p;
    out.d.key = 0x123456789abcdefULL;
    out.d.stream = 43;
    out.d.step_dev = device_copy(std::vector<struct step_state>(1, step));
    out.d.first_row = 5000000000LL; /* elements beyond 32 bits */
    out.d.rows_dev = NULL;
    out.update = update;
    for (int64_t i = 0; listed && i < rows; i++) out.rows.push_back((int32_t)(3 * i + i % 2));
    if (listed) out.d.rows_dev = device_copy(out.rows);
    return out;
}

static inline float draw_factor(const struct draw &w, int64_t row, int64_t column, int64_t cols)
{
    if (w.d.p == 0.0f) return 1.0f;
    int64_t place = w.d.first_row + (w.rows.empty() ? row : w.rows[(size_t)row]);
    uint32_t word = philox_word(w.d.key, (uint64_t)(place * cols + column), w.update, w.d.stream);
    return word < philox_keep_below(w.d.p) ? 1.0f / (1.0f - w.d.p) : 0.0f;
}

static inline int checks_report(const char *family)
{
    check_call(cudaDeviceSynchronize(), family);
    device_free();
    printf("%s: %d checks, %s\n", family, checks, failures ? "FAILED" : "all hold");
    return failures != 0;
}

#endif
