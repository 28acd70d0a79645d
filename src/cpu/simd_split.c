/* simd_split.c - products of fp32 matrices on the matrix units (AMX) of x86 processors.
 *
 * 1. A float is the exact sum of three bf16 numbers, x = x1 + x2 + x3, each the rounded rest of the
 *    one before. A product needs x1 w1 + x1 w2 + x2 w1 + x2 w2 + x1 w3 + x3 w1; what is left out is
 *    below 2^-24 of it, as much as fp32 rounds. The units multiply bf16 exactly and add in fp32.
 * 2. Weights that were written as bf16 have w2 = w3 = 0, those written as fp16 w3 = 0: the packing
 *    sees it, and such products are left out, which changes no bit.
 * 3. A tile is 16 rows of 64 bytes. The result is y^T = w x^T, so that weights, of which there are
 *    more, are packed without transposing: SPLIT_SIDE outputs by SPLIT_SIDE rows of x at a time.
 * 4. Bits of a row of y depend only on its row of x and on w: the sum over inputs has one order. */
#include "cpu/simd.h"

#if defined(SIMD_SPLITS)
#include <sys/syscall.h>
#include <unistd.h>

#include "cpu/simd_transpose.h"

#define SPLIT_TARGET __attribute__((target("amx-tile,amx-bf16,avx512bf16")))
#define SPLIT_FN SPLIT_TARGET static inline __attribute__((always_inline))

enum {
    TILE_ROWS = 16,
    TILE_BYTES = 1024,
    STEP = 32, /* inputs of a tile */
    PARTS = 3,
    SIDE_TILES = SPLIT_SIDE / TILE_ROWS,
    STEP_BYTES = PARTS * SIDE_TILES * TILE_BYTES, /* of a step of a packed panel */
    GROUP_BYTES = 1 << 20,                        /* of packed rows that stay in a cache */
    TILE_DATA = 18,                               /* the kernel's number of the state of tiles */
    REQUEST_PERMISSION = 0x1023
};

/* The configuration of eight tiles of 16 rows. */
struct split_tiles {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

static bool split_runs(void)
{
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("amx-bf16") || !__builtin_cpu_supports("amx-tile") ||
        !__builtin_cpu_supports("avx512bf16"))
        return false;
    return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

/* Rounds 32 floats to bf16, in order, and leaves their rests. */
SPLIT_FN __m512i split_round(__m512 rest[2])
{
    __m512i made = (__m512i)_mm512_cvtne2ps_pbh(rest[1], rest[0]);
    __m512i low = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(made));
    __m512i high = _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(made, 1));
    rest[0] = _mm512_sub_ps(rest[0], _mm512_castsi512_ps(_mm512_slli_epi32(low, 16)));
    rest[1] = _mm512_sub_ps(rest[1], _mm512_castsi512_ps(_mm512_slli_epi32(high, 16)));
    return made;
}

/* Loads n of 32 floats, then zeros. */
SPLIT_FN void split_load(__m512 to[2], const float *from, int64_t n)
{
    __mmask16 low = n >= 16 ? 0xffff : (__mmask16)((1u << n) - 1);
    __mmask16 high = n >= 32 ? 0xffff : n <= 16 ? 0 : (__mmask16)((1u << (n - 16)) - 1);
    to[0] = _mm512_maskz_loadu_ps(low, from);
    to[1] = _mm512_maskz_loadu_ps(high, from + 16);
}

/* Packs the panels of weights: SPLIT_SIDE outputs; of each step the parts, of each part the tiles,
 * of which a row has 32 inputs of an output. */
SPLIT_TARGET static void split_pack_weights(const void *args, struct simd_range panels)
{
    const struct simd_split *p = args;
    const struct tensor *w = p->w;
    int64_t steps = (p->depth + STEP - 1) / STEP;
    for (int64_t panel = panels.begin; panel < panels.end; panel++) {
        int64_t first = p->first_output + panel * SPLIT_SIDE,
                left = p->outputs - panel * SPLIT_SIDE;
        char *to = (char *)p->weights + panel * steps * STEP_BYTES;
        __m512i used[PARTS] = {_mm512_setzero_si512(), _mm512_setzero_si512(),
                               _mm512_setzero_si512()};
        for (int64_t o = 0; o < SPLIT_SIDE; o++) {
            const float *from = (const float *)w->data + (first + o) * w->stride + p->first_input;
            char *row = to + o / TILE_ROWS * TILE_BYTES + o % TILE_ROWS * 64;
            for (int64_t step = 0; step < steps; step++, row += STEP_BYTES) {
                __m512 rest[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
                int64_t n = p->depth - step * STEP;
                if (o < left) split_load(rest, from + step * STEP, n);
                for (int part = 0; part < PARTS; part++) {
                    __m512i made = split_round(rest);
                    used[part] = _mm512_or_si512(used[part], made);
                    _mm512_store_si512((void *)(row + part * SIDE_TILES * TILE_BYTES), made);
                }
            }
        }
        /* Minus zero is zero. */
        const __m512i value = _mm512_set1_epi32(0x7fff7fff);
        p->parts[panel] = _mm512_test_epi32_mask(used[2], value)   ? 3
                          : _mm512_test_epi32_mask(used[1], value) ? 2
                                                                   : 1;
    }
}

/* Packs blocks of SPLIT_SIDE rows of x: a row of a tile has two inputs of each of 16 rows of x. */
SPLIT_TARGET static void split_pack_rows(const void *args, struct simd_range blocks)
{
    const struct simd_split *p = args;
    const struct tensor *x = p->x;
    int64_t steps = (p->depth + STEP - 1) / STEP;
    float square[TILE_ROWS][16] __attribute__((aligned(64)));
    for (int64_t block = blocks.begin; block < blocks.end; block++)
        for (int64_t step = 0; step < steps; step++)
            for (int64_t tile = 0; tile < SIDE_TILES; tile++) {
                char *to =
                    (char *)p->rows + (block * steps + step) * STEP_BYTES + tile * TILE_BYTES;
                int64_t row = block * SPLIT_SIDE + tile * TILE_ROWS;
                __m512 rest[TILE_ROWS][2];
                for (int64_t r = 0; r < TILE_ROWS; r++) {
                    rest[r][0] = rest[r][1] = _mm512_setzero_ps();
                    if (row + r < x->rows)
                        split_load(rest[r],
                                   (const float *)x->data + (row + r) * x->stride + p->first_input +
                                       step * STEP,
                                   p->depth - step * STEP);
                }
                for (int part = 0; part < PARTS; part++) {
                    for (int64_t r = 0; r < TILE_ROWS; r++)
                        _mm512_store_si512((void *)square[r], split_round(rest[r]));
                    transpose_square((float *)(void *)(to + part * SIDE_TILES * TILE_BYTES), 16,
                                     square[0], 16);
                }
            }
}

/* Tiles 0 to 3 are sums, 4 and 5 weights, 6 and 7 rows of x. Each multiplies all four and loads a
 * tile for the next product as soon as the last one that reads it has begun. */
SPLIT_FN void split_then_rows(const char *x, int64_t part)
{
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(2, 5, 6);
    _tile_loadd(6, x + SIDE_TILES * part * TILE_BYTES, 64);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(3, 5, 7);
    _tile_loadd(7, x + (SIDE_TILES * part + 1) * TILE_BYTES, 64);
}

SPLIT_FN void split_then_weights(const char *w, int64_t part)
{
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(4, w + SIDE_TILES * part * TILE_BYTES, 64);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
    _tile_loadd(5, w + (SIDE_TILES * part + 1) * TILE_BYTES, 64);
}

/* The first product of a step is w1 x3. */
SPLIT_FN void split_load_step(const char *w, const char *x)
{
    const char *last = x + SIDE_TILES * (PARTS - 1) * TILE_BYTES;
    _tile_loadd(4, w, 64);
    _tile_loadd(6, last, 64);
    _tile_loadd(7, last + TILE_BYTES, 64);
    _tile_loadd(5, w + TILE_BYTES, 64);
}

/* Sums of SPLIT_SIDE outputs (rows) of SPLIT_SIDE rows of x (columns). */
SPLIT_TARGET static void split_block(float *out, const char *w, const char *x, int64_t steps,
                                     int parts)
{
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    split_load_step(w, x);
    for (; steps > 0; steps--, w += STEP_BYTES, x += STEP_BYTES) {
        split_then_rows(x, 1);
        if (parts > 1) {
            split_then_weights(w, 1);
            split_then_rows(x, 0);
            if (parts > 2) split_then_weights(w, 2);
            split_then_weights(w, 0);
        } else {
            split_then_rows(x, 0);
        }
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
        if (steps > 1) split_load_step(w + STEP_BYTES, x + STEP_BYTES);
    }
    _tile_stored(0, out, SPLIT_SIDE * sizeof(float));
    _tile_stored(1, out + TILE_ROWS, SPLIT_SIDE * sizeof(float));
    _tile_stored(2, out + TILE_ROWS * SPLIT_SIDE, SPLIT_SIDE * sizeof(float));
    _tile_stored(3, out + TILE_ROWS * SPLIT_SIDE + TILE_ROWS, SPLIT_SIDE * sizeof(float));
}

/* Writes or adds the sums of a block to y, with the bias. */
static void split_finish(const struct simd_split *p, float *sum, int64_t row, int64_t output)
{
    float made[SPLIT_SIDE][SPLIT_SIDE] __attribute__((aligned(64))), bias[SPLIT_SIDE] = {0};
    int64_t rows = p->y->rows - row, n = p->first_output + p->outputs - output;
    if (n > SPLIT_SIDE) n = SPLIT_SIDE;
    if (rows > SPLIT_SIDE) rows = SPLIT_SIDE;
    if (p->bias) memcpy(bias, p->bias + output, (size_t)n * sizeof *bias);
    for (int64_t i = 0; i < SPLIT_SIDE; i += TILE_ROWS)
        for (int64_t j = 0; j < SPLIT_SIDE; j += TILE_ROWS)
            transpose_square(&made[i][j], SPLIT_SIDE, sum + j * SPLIT_SIDE + i, SPLIT_SIDE);
    for (int64_t r = 0; r < rows; r++) {
        float *y = (float *)p->y->data + (row + r) * p->y->stride + output;
        if (n == SPLIT_SIDE)
            for (int64_t v = 0; v < SPLIT_SIDE; v += VECTOR_LANES) {
                vector_f32 to = vector_load(made[r] + v) + vector_load(bias + v);
                vector_store(y + v, p->accumulate ? vector_load(y + v) + to : to);
            }
        for (int64_t o = 0; o < n && n < SPLIT_SIDE; o++)
            y[o] = (p->accumulate ? y[o] : 0.0f) + made[r][o] + bias[o];
    }
}

/* Items are blocks of SPLIT_SIDE rows. */
SPLIT_TARGET static void split_run(const void *args, struct simd_range blocks)
{
    const struct simd_split *p = args;
    int64_t steps = (p->depth + STEP - 1) / STEP, panel_bytes = steps * STEP_BYTES;
    int64_t group = GROUP_BYTES / panel_bytes > 1 ? GROUP_BYTES / panel_bytes : 1;
    float sum[SPLIT_SIDE * SPLIT_SIDE] __attribute__((aligned(64)));
    struct split_tiles tiles = {.palette = 1};
    for (int t = 0; t < 8; t++) {
        tiles.row_bytes[t] = 64;
        tiles.rows[t] = TILE_ROWS;
    }
    _tile_loadconfig(&tiles);
    for (int64_t first = blocks.begin; first < blocks.end; first += group) {
        int64_t end = first + group < blocks.end ? first + group : blocks.end;
        for (int64_t o = 0; o < p->outputs; o += SPLIT_SIDE) {
            int64_t panel = o / SPLIT_SIDE;
            for (int64_t block = first; block < end; block++) {
                split_block(sum, (const char *)p->weights + panel * panel_bytes,
                            (const char *)p->rows + block * panel_bytes, steps, p->parts[panel]);
                split_finish(p, sum, block * SPLIT_SIDE, p->first_output + o);
            }
        }
    }
    _tile_release();
}

static size_t split_packed_bytes(int64_t rows, int64_t depth)
{
    return (size_t)((rows + SPLIT_SIDE - 1) / SPLIT_SIDE * ((depth + STEP - 1) / STEP) *
                    STEP_BYTES);
}

const struct simd_splits SIMD_NAME(simd_splits) = {
    .runs = split_runs,
    .packed_bytes = split_packed_bytes,
    .pack_weights = split_pack_weights,
    .pack_rows = split_pack_rows,
    .run = split_run,
};
#endif
