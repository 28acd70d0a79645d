/* simd_transpose.h - transposes rows of tokens into columns and back, in registers.
 *
 * A square of n rows is transposed by log2(n) rounds of interleaving the first half of its rows
 * with the second half. */
#ifndef CPU_SIMD_TRANSPOSE_H
#define CPU_SIMD_TRANSPOSE_H

#include "cpu/simd_vector.h"

enum { TRANSPOSE_BLOCK = 8 };

typedef float vector_f32x8 __attribute__((vector_size(32)));
typedef float vector_f32x8_any __attribute__((vector_size(32), aligned(4), may_alias));

/* transpose_block - transposes row[0 ... 7] in place. */
VECTOR_FN void transpose_block(vector_f32x8 row[TRANSPOSE_BLOCK])
{
    for (int round = 0; round < 3; round++) {
        vector_f32x8 next[TRANSPOSE_BLOCK];
        for (int i = 0; i < TRANSPOSE_BLOCK / 2; i++) {
            next[2 * i] = __builtin_shufflevector(row[i], row[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
            next[2 * i + 1] =
                __builtin_shufflevector(row[i], row[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
        }
        for (int i = 0; i < TRANSPOSE_BLOCK; i++) row[i] = next[i];
    }
}

/* transpose_padded - n columns rounded up to whole blocks, the size of a transposed matrix. */
VECTOR_FN int64_t transpose_padded(int64_t n)
{
    return (n + TRANSPOSE_BLOCK - 1) / TRANSPOSE_BLOCK * TRANSPOSE_BLOCK;
}

/* Loads the first n of eight floats at p, then zeros. The result is written through a pointer,
 * because not every instruction set returns a vector of eight in a register. */
VECTOR_FN void transpose_load(vector_f32x8 *row, const float *p, const int64_t n)
{
    *row = (vector_f32x8){0};
    memcpy(row, p, (size_t)n * sizeof *p);
}

/* Eight columns, of which in has cols_n. */
VECTOR_FN void transpose_columns(float *out, int64_t out_stride, const float *in, int64_t in_stride,
                                 int64_t rows_n, const int64_t cols_n, float scale)
{
    for (int64_t r = 0; r < rows_n; r += TRANSPOSE_BLOCK) {
        vector_f32x8 row[TRANSPOSE_BLOCK] = {{0}};
        for (int i = 0; i < TRANSPOSE_BLOCK && r + i < rows_n; i++) {
            transpose_load(&row[i], in + (r + i) * in_stride, cols_n);
            row[i] *= scale;
        }
        transpose_block(row);
        for (int i = 0; i < TRANSPOSE_BLOCK; i++)
            *(vector_f32x8_any *)(void *)(out + i * out_stride + r) = row[i];
    }
}

/* transpose_to_columns - out[c * out_stride + r] = scale in[r][c] for a matrix of rows_n x cols_n.
 * Pads rows and columns with zeros to multiples of eight. */
VECTOR_FN void transpose_to_columns(float *out, int64_t out_stride, const float *in,
                                    int64_t in_stride, int64_t rows_n, int64_t cols_n, float scale)
{
    int64_t c = 0;
    for (; c + TRANSPOSE_BLOCK <= cols_n; c += TRANSPOSE_BLOCK)
        transpose_columns(out + c * out_stride, out_stride, in + c, in_stride, rows_n,
                          TRANSPOSE_BLOCK, scale);
    if (c < cols_n)
        transpose_columns(out + c * out_stride, out_stride, in + c, in_stride, rows_n, cols_n - c,
                          scale);
}

/* Eight columns, of which out has cols_n. */
VECTOR_FN void transpose_rows(float *out, int64_t out_stride, const float *in, int64_t in_stride,
                              int64_t rows_n, const int64_t cols_n, float scale)
{
    for (int64_t r = 0; r < rows_n; r += TRANSPOSE_BLOCK) {
        vector_f32x8 row[TRANSPOSE_BLOCK];
        for (int i = 0; i < TRANSPOSE_BLOCK; i++)
            row[i] = *(const vector_f32x8_any *)(const void *)(in + i * in_stride + r) * scale;
        transpose_block(row);
        for (int i = 0; i < TRANSPOSE_BLOCK && r + i < rows_n; i++)
            memcpy(out + (r + i) * out_stride, &row[i], (size_t)cols_n * sizeof *out);
    }
}

/* transpose_to_rows - the inverse: out[r][c] = scale in[c * in_stride + r]. Reads whole blocks of
 * eight rows and columns, writes rows_n x cols_n. */
VECTOR_FN void transpose_to_rows(float *out, int64_t out_stride, const float *in, int64_t in_stride,
                                 int64_t rows_n, int64_t cols_n, float scale)
{
    int64_t c = 0;
    for (; c + TRANSPOSE_BLOCK <= cols_n; c += TRANSPOSE_BLOCK)
        transpose_rows(out + c, out_stride, in + c * in_stride, in_stride, rows_n, TRANSPOSE_BLOCK,
                       scale);
    if (c < cols_n)
        transpose_rows(out + c, out_stride, in + c * in_stride, in_stride, rows_n, cols_n - c,
                       scale);
}

/* transpose_square - transposes VECTOR_LANES rows and columns. */
VECTOR_FN void transpose_square(float *out, int64_t out_stride, const float *in, int64_t in_stride)
{
    enum { N = VECTOR_LANES, HALF = N / 2 };
    vector_f32 row[N], next[N];
    vector_i32 low, high;
    for (int l = 0; l < N; l++) {
        low[l] = l / 2 + (l % 2) * N;
        high[l] = l / 2 + HALF + (l % 2) * N;
    }
    for (int i = 0; i < N; i++) row[i] = vector_load(in + i * in_stride);
    for (int round = 1; round < N; round *= 2) {
        for (int i = 0; i < HALF; i++) {
            next[2 * i] = __builtin_shuffle(row[i], row[i + HALF], low);
            next[2 * i + 1] = __builtin_shuffle(row[i], row[i + HALF], high);
        }
        for (int i = 0; i < N; i++) row[i] = next[i];
    }
    for (int i = 0; i < N; i++) vector_store(out + i * out_stride, row[i]);
}

#endif
