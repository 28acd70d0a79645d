/* attention.cu - attention and attention_bwd: choose the family of kernels (attention.cuh, rule 1),
 * lay out the workspace, and compute skip bounds and delta. */
#include "attention.cuh"
#include "attention_skip.cuh"
#include "kernels.h"

enum { ROW_LANES = 16, PREPARE_THREADS = 256, PREPARE_ROWS = PREPARE_THREADS / ROW_LANES };

/* Adds over the 16 lanes that share a row. */
static __device__ inline float row_sum(float x)
{
    for (int o = ROW_LANES / 2; o; o >>= 1) x += __shfl_xor_sync(0xffffffffu, x, o);
    return x;
}

static __device__ inline float vec8_dot(const struct vec8 &a, const struct vec8 &b)
{
    float sum = 0.0f;
    for (int e = 0; e < 8; e++) sum = fmaf(a.x[e], b.x[e], sum);
    return sum;
}

/* Skip bounds (attention_skip.cuh). A block owns a norm tile of one head, 16 lanes own a row, a
 * lane owns eight columns. Rows before SKIP_FROM need only the norms of their keys. Reads q and k
 * once from memory and, without `summed`, k seven times more from the cache: 4 bytes an element.
 * 256 threads give each 16 lanes four rows, enough loads in flight. */
static __global__ void skip_bounds_k(struct attention a, struct attention_parts parts,
                                     float *workspace, bool summed)
{
    SHARED(float, longest, [PREPARE_ROWS]);
    int group = threadIdx.x / ROW_LANES, col = threadIdx.x % ROW_LANES * 8;
    struct attention_tile at = attention_tile_of(a, (int32_t)attention_norm_tiles(a.T), false);
    struct head_bias bias = head_bias_of(a.bias, at.h, 1.0f / a.scale);
    int32_t key_h = key_head_of(a, at.h);
    float key_norm = 0.0f;
    bool bounded = (at.tile + 1) * ATTENTION_NORM_TILE > SKIP_FROM;
    int32_t known_n = bounded && !summed ? (int32_t)SKIP_KNOWN : 1;
    const float *lse = (const float *)a.lse.data + at.item * a.lse.stride;

    for (int32_t step = 0; step < ATTENTION_NORM_TILE / PREPARE_ROWS; step++) {
        int32_t i = at.tile * ATTENTION_NORM_TILE + step * PREPARE_ROWS + group;
        bool present = i < a.T;
        struct vec8 q = {{0}}, k = {{0}};
        if (present && bounded && col < a.D)
            q = vec8_load(head_row<const bf16>(a.q, a, at.b, at.h, i) + col);
        float norm = sqrtf(row_sum(vec8_dot(q, q))) * 1.0001f, known = ATTENTION_MASKED;
        for (int32_t back = 0; back < known_n; back++) {
            if (present && i >= back && col < a.D)
                k = vec8_load(head_row<const bf16>(a.k, a, at.b, key_h, i - back) + col);
            float score = row_sum(vec8_dot(q, k)) + fmaf(bias.slope, (float)back, bias.offset);
            if (i >= back) known = fmaxf(known, score);
            float square = back == 0 ? row_sum(vec8_dot(k, k)) : 0.0f;
            if (present && back == 0) key_norm = square <= key_norm ? key_norm : square;
        }
        if (!present || !bounded || col != 0) continue;
        if (summed) known = lse[i] / a.scale;
        float lost = (SKIP_LOST + logf((float)(i + 1))) / a.scale;
        float nearest = fmaf(bias.slope, (float)(i - ATTENTION_NORM_TILE + 1), bias.offset);
        workspace[parts.norm + at.item * a.T + i] = norm;
        workspace[parts.cutoff + at.item * a.T + i] = known - lost - nearest;
    }
    if (col == 0) longest[group] = key_norm;
    __syncthreads();
    if (threadIdx.x != 0) return;
    /* A NaN must win: with it nothing is skipped. */
    for (int g = 1; g < PREPARE_ROWS; g++)
        key_norm = longest[g] <= key_norm ? key_norm : longest[g];
    int64_t tile = at.item * attention_norm_tiles(a.T) + at.tile;
    workspace[parts.key_norm + tile] = sqrtf(key_norm);
}

cudaError_t attention_skip_bounds(cudaStream_t stream, const struct attention *a, float *workspace,
                                  bool summed)
{
    int64_t blocks = attention_norm_tiles(a->T) * a->B * a->H;
    if (blocks > 0x7fffffff) return cudaErrorInvalidValue;
    return launch(skip_bounds_k, dim3((unsigned)blocks), dim3(PREPARE_THREADS), 0, stream, *a,
                  attention_parts_of(a), workspace, summed);
}

/* delta = dout . out of each query and head. 16 lanes own a row, a lane owns eight columns of each
 * 128. Reads both tensors once: 2 or 4 bytes an element each. */
template <class T>
static __global__ void delta_k(struct attention a, float *delta, int64_t rows_n, bool vectors)
{
    int64_t row = (int64_t)blockIdx.x * PREPARE_ROWS + threadIdx.x / ROW_LANES;
    int first = threadIdx.x % ROW_LANES * 8;
    int64_t token = row / a.H, h = row % a.H, b = token / a.T, i = token % a.T;
    float sum = 0.0f;
    for (int col = first; row < rows_n && col < a.D; col += ROW_LANES * 8) {
        const T *out = head_row<const T>(a.out, a, b, h, i) + col;
        const T *dout = head_row<const T>(a.dout, a, b, h, i) + col;
        if (vectors)
            sum += vec8_dot(vec8_load(out), vec8_load(dout));
        else
            for (int c = 0; c < 8 && col + c < a.D; c++)
                sum = fmaf(rows_widen(out[c]), rows_widen(dout[c]), sum);
    }
    sum = row_sum(sum);
    if (row < rows_n && first == 0) delta[(b * a.H + h) * a.T + i] = sum;
}

static cudaError_t delta_launch(cudaStream_t stream, const struct attention *a, float *delta)
{
    int64_t rows_n = (int64_t)a->B * a->T * a->H;
    int64_t blocks = (rows_n + PREPARE_ROWS - 1) / PREPARE_ROWS;
    bool vectors = a->D % 8 == 0 && rows_are_wide(a->out, a->dout);
    if (blocks > 0x7fffffff) return cudaErrorInvalidValue;
    return launch_by_dtype(a->q, delta_k<bf16>, delta_k<float>, dim3((unsigned)blocks),
                           dim3(PREPARE_THREADS), 0, stream, *a, delta, rows_n, vectors);
}

size_t cuda_attention_workspace(const struct attention *a)
{
    return (size_t)attention_parts_of(a).floats_n * sizeof(float);
}

static bool fits_kernels(const struct attention *a)
{
    return a->D <= ATTENTION_WIDTH_MAX && a->scale > 0.0f && a->q.dtype != DTYPE_I32;
}

/* True if the tensor-core kernels can rotate a tile in shared memory. Adjacent pairs lie within one
 * chunk of eight columns. Pairs half a head apart must lie half a tile apart, so that one warp has
 * copied both. All features rotate, q and k by the same
 * tables. */
static bool fits_rotation(const struct attention *a)
{
    const struct attention_rotary *r = &a->rotary;
    if (!attention_rotates(*a)) return true;
    return rows_are_wide(r->cosine, r->sine) && 2 * r->cosine.cols == a->D && !r->key_cosine.data &&
           (r->layout == 0 || a->D == attention_compiled_width(a->D));
}

static bool fits_mma(const struct attention *a)
{
    return a->D % 8 == 0 && a->D <= ATTENTION_WIDTH_MMA && fits_rotation(a) &&
           attention_is_aligned(&a->q) && attention_is_aligned(&a->k) &&
           attention_is_aligned(&a->v) && attention_is_aligned(&a->out);
}

int cuda_attention(void *stream, const struct attention *a, void *workspace)
{
    cudaStream_t s = (cudaStream_t)stream;
    if (!fits_kernels(a)) return (int)cudaErrorInvalidValue;
    return (int)(fits_mma(a) ? attention_mma(s, a, (float *)workspace) : attention_fma(s, a));
}

int cuda_attention_bwd(void *stream, const struct attention *a, void *workspace)
{
    cudaStream_t s = (cudaStream_t)stream;
    float *floats = (float *)workspace;
    if (!fits_kernels(a)) return (int)cudaErrorInvalidValue;
    cudaError_t rc = delta_launch(s, a, floats + attention_parts_of(a).delta);
    if (rc != cudaSuccess) return (int)rc;
    bool aligned = attention_is_aligned(&a->dout) && attention_is_aligned(&a->dq) &&
                   attention_is_aligned(&a->dk) && attention_is_aligned(&a->dv);
    rc = fits_mma(a) && aligned ? attention_bwd_mma(s, a, floats) : attention_bwd_fma(s, a, floats);
    if (rc == cudaSuccess && a->bias.bias_table_grad_dev) rc = attention_bias_grad(s, a, floats);
    if (rc == cudaSuccess && a->temperature.head_grad_dev) rc = attention_head_grad(s, a, floats);
    return (int)rc;
}
