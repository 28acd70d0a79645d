/* rotary.cu - rotary positions, in place: pairs of a head turned by the angle of their token. */
#include "kernels.h"
#include "rotate.cuh"
#include "rows.cuh"

struct rotary_call {
    struct tensor x, cosine, sine;
    int32_t T, D, H, layout;
    int32_t units_n; /* threads of a head */
    float sign;
};

/* A thread's row, head and number in it; row -1: none. */
struct rotary_place {
    int32_t row, h, unit;
};

static __device__ inline struct rotary_place rotary_place_of(const struct rotary_call &c)
{
    struct rotary_place p;
    int32_t at = (int32_t)(blockIdx.y * blockDim.x + threadIdx.x);
    p.row = (int32_t)(blockIdx.x * blockDim.y + threadIdx.y);
    p.h = at / c.units_n;
    p.unit = at % c.units_n;
    if (p.row >= c.x.rows || p.h >= c.H) p.row = -1;
    return p;
}

/* A thread owns one pair. Reads and writes an element once: 4 or 8 bytes, and 8 of the tables,
 * which the heads of a row find in the cache. */
template <class T> static __global__ void rotary_one_k(struct rotary_call c)
{
    struct rotary_place at = rotary_place_of(c);
    if (at.row < 0) return;
    int32_t p = at.unit, i = at.row % c.T;
    T *x = row_of<T>(c.x, at.row) + (int64_t)at.h * c.D;
    T *first = c.layout == 0 ? x + 2 * p : x + p;
    T *second = c.layout == 0 ? first + 1 : first + c.D / 2;
    float cosine = row_of<const float>(c.cosine, i)[p];
    float sine = row_of<const float>(c.sine, i)[p] * c.sign;
    float a = rows_widen(*first), b = rows_widen(*second);
    rotate_pair(&a, &b, cosine, sine);
    rows_narrow(first, a);
    rows_narrow(second, b);
}

/* A thread owns eight pairs, sixteen elements, in 16-byte accesses. */
template <class T> static __global__ void rotary_eight_k(struct rotary_call c)
{
    struct rotary_place at = rotary_place_of(c);
    if (at.row < 0) return;
    int32_t p = at.unit * 8, i = at.row % c.T;
    T *x = row_of<T>(c.x, at.row) + (int64_t)at.h * c.D;
    T *lower = c.layout == 0 ? x + 2 * p : x + p;
    T *upper = c.layout == 0 ? lower + 8 : lower + c.D / 2;
    struct eight u = vec8_load(lower), v = vec8_load(upper);
    struct eight cosine = vec8_load(row_of<const float>(c.cosine, i) + p);
    struct eight sine = vec8_load(row_of<const float>(c.sine, i) + p);
    if (c.layout == 0) {
#pragma unroll
        for (int e = 0; e < 4; e++) {
            rotate_pair(&u.x[2 * e], &u.x[2 * e + 1], cosine.x[e], sine.x[e] * c.sign);
            rotate_pair(&v.x[2 * e], &v.x[2 * e + 1], cosine.x[e + 4], sine.x[e + 4] * c.sign);
        }
    } else {
#pragma unroll
        for (int e = 0; e < 8; e++) rotate_pair(&u.x[e], &v.x[e], cosine.x[e], sine.x[e] * c.sign);
    }
    eight_store(lower, u);
    eight_store(upper, v);
}

int cuda_rotary(void *stream, const struct rotary_args *a)
{
    const struct tensor *x = &a->x;
    struct rotary_call c;
    int32_t half = (int32_t)(x->cols / a->H / 2);
    bool eights =
        half % 8 == 0 && rows_is_wide(x) && rows_is_wide(&a->cosine) && rows_is_wide(&a->sine);
    if (!rows_is_float(x)) return (int)cudaErrorInvalidValue;
    c.x = *x;
    c.cosine = a->cosine;
    c.sine = a->sine;
    c.T = a->T;
    c.D = 2 * half;
    c.H = a->H;
    c.layout = a->layout;
    c.units_n = eights ? half / 8 : half;
    c.sign = a->inverse ? -1.0f : 1.0f;
    if (x->rows == 0 || half == 0) return 0;
    int64_t threads_n = (int64_t)a->H * c.units_n; /* of a row */
    dim3 block = rows_block(threads_n * 8), grid = rows_grid(x->rows, threads_n * 8, block);
    if (x->rows > INT32_MAX || grid.y > 65535) return (int)cudaErrorInvalidValue;
    void (*kernel)(struct rotary_call) = rotary_one_k<float>;
    if (x->dtype == DTYPE_F32 && eights) kernel = rotary_eight_k<float>;
    if (x->dtype == DTYPE_BF16) kernel = eights ? rotary_eight_k<bf16> : rotary_one_k<bf16>;
    launch(kernel, grid, block, 0, (cudaStream_t)stream, c);
    return (int)cudaGetLastError();
}
