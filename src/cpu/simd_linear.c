/* simd_linear.c - the products of linear and of its gradients, exact by row.
 *
 * 1. A product y = a b is computed in parts: some columns of y, summed over some inputs. A part of
 *    b is packed into panels of PANEL columns, input by input, padded with zeros.
 * 2. A block of rows of a is multiplied with a panel in registers. Each element is one chain of
 *    multiply-adds over the inputs of the part in rising order, starting from zero, for every
 * height of the block; parts are added in rising order. Therefore the bits of a row depend only on
 * that row and b.
 * 3. A panel stays in the first-level cache while a group of rows of a, which stays in the
 *    second-level cache, is multiplied with it. The sizes fit processors with 32 kilobytes and half
 *    a megabyte. Rows that the next block reads, and y, are fetched before they are needed.
 * 4. The gradient of the weight, dw = dy^T x, packs its left-hand matrix too: a row of dw is a
 *    column of dy, whose elements are far apart in memory. */
#include "cpu/simd.h"
#include "cpu/simd_transpose.h"

enum {
    PANEL = 2 * VECTOR_LANES,
    BLOCK_ROWS = VECTOR_LANES == 16 ? 12 : 6, /* as many as the registers hold */
    SMALL_BLOCK_ROWS = 4,                     /* enough chains to hide the latency */
    /* Inputs of a part, floats of a part of b, and floats of a group of rows of a. */
    DEPTH = VECTOR_LANES == 16 ? 1024 : 256,
    PART_FLOATS = VECTOR_LANES == 16 ? 1 << 21 : 1 << 16,
    GROUP_FLOATS = VECTOR_LANES == 16 ? 1 << 18 : 1 << 15,
    DW_PART_FLOATS = 1 << 16, /* PART_FLOATS of the gradient of the weight */
    DW_DEPTH = 128,           /* DEPTH of the gradient of the weight */
    DW_STRIP = 48,            /* rows of dw whose dy is packed at a time */
    /* Floats of a packed block of dy. Not a power of two, so that blocks share no cache lines. */
    DW_BLOCK_FLOATS = DW_DEPTH * BLOCK_ROWS + 16,
    LINE_FLOATS = 16, /* of a cache line */
    PACK_AHEAD = 8    /* rows that are fetched before they are packed */
};

VECTOR_FN void linear_fetch(const float *p, int64_t n, const int write)
{
    for (int64_t i = 0; i < n; i += LINE_FLOATS) __builtin_prefetch(p + i, write);
}

/* Packs panels begin ... end - 1 of a part: element (i, o) of a panel is at i PANEL + o. */
static void linear_pack_rows(const struct simd_product *p, int64_t begin, int64_t end)
{
    int64_t cols = end * PANEL < p->outputs ? end * PANEL : p->outputs;
    int64_t whole = cols / PANEL * PANEL;
    const float *from = (const float *)p->b->data + p->first_input * p->b->stride + p->first_output;
    float *to = p->packed;
    for (int64_t i = 0; i < p->depth; i++, from += p->b->stride, to += PANEL) {
        linear_fetch(from + PACK_AHEAD * p->b->stride + begin * PANEL, cols - begin * PANEL, 0);
        for (int64_t c = begin * PANEL; c < whole; c += PANEL) {
            vector_store(to + c * p->depth, vector_load(from + c));
            vector_store(to + c * p->depth + VECTOR_LANES, vector_load(from + c + VECTOR_LANES));
        }
        if (whole == cols) continue;
        memset(to + whole * p->depth, 0, PANEL * sizeof *to);
        memcpy(to + whole * p->depth, from + whole, (size_t)(cols - whole) * sizeof *to);
    }
}

/* The same for one panel of a transposed b. */
static void linear_pack_transposed(const struct simd_product *p, int64_t panel)
{
    const struct tensor *b = p->b;
    float *to = p->packed + panel * p->depth * PANEL;
    int64_t left = p->outputs - panel * PANEL, outputs = left < PANEL ? left : PANEL, i = 0;
    const float *from =
        (const float *)b->data + (p->first_output + panel * PANEL) * b->stride + p->first_input;
    if (outputs < PANEL) memset(to, 0, (size_t)(p->depth * PANEL) * sizeof *to);
    for (; outputs == PANEL && i + VECTOR_LANES <= p->depth; i += VECTOR_LANES)
        for (int64_t c = 0; c < PANEL; c += VECTOR_LANES)
            transpose_square(to + i * PANEL + c, PANEL, from + c * b->stride + i, b->stride);
    for (; i + TRANSPOSE_BLOCK <= p->depth; i += TRANSPOSE_BLOCK)
        transpose_to_columns(to + i * PANEL, PANEL, from + i, b->stride, outputs, TRANSPOSE_BLOCK,
                             1.0f);
    for (; i < p->depth; i++)
        for (int64_t c = 0; c < outputs; c++) to[i * PANEL + c] = from[c * b->stride + i];
}

static void linear_pack(const void *args, struct simd_range panels)
{
    const struct simd_product *p = args;
    if (!p->transposed) linear_pack_rows(p, panels.begin, panels.end);
    for (int64_t at = panels.begin; p->transposed && at < panels.end; at++)
        linear_pack_transposed(p, at);
}

/* A block of N rows against one panel. bias: PANEL floats, or NULL. outputs < PANEL: the last
 * panel. packed: input i of row n is at a[i * BLOCK_ROWS + n], not at a[n * stride_a + i]. */
struct linear_block {
    float *y;
    const float *a, *panel, *bias;
    int64_t stride_y, stride_a, depth, outputs;
    bool add;
};

/* Writes or adds the sums of a row of the last panel. */
static void linear_store_last(const struct linear_block *b, float *y, const vector_f32 sum[2])
{
    float made[PANEL];
    memcpy(made, sum, sizeof made);
    for (int64_t o = 0; o < b->outputs; o++) y[o] = b->add ? y[o] + made[o] : made[o];
}

/* Adds the bias, and writes the sums. In this function and the next, loops over rows must be
 * unrolled: the sums are registers. */
VECTOR_FN void linear_block_end(const struct linear_block *b, vector_f32 sum[][2], const int N)
{
    float *y = b->y;
    if (b->bias) {
#pragma GCC unroll 12
        for (int n = 0; n < N; n++)
            for (int v = 0; v < 2; v++) sum[n][v] += vector_load(b->bias + v * VECTOR_LANES);
    }
    if (b->outputs < PANEL) {
        for (int n = 0; n < N; n++) linear_store_last(b, y + n * b->stride_y, sum[n]);
        return;
    }
    if (b->add) {
#pragma GCC unroll 12
        for (int n = 0; n < N; n++)
            for (int v = 0; v < 2; v++)
                sum[n][v] += vector_load(y + n * b->stride_y + v * VECTOR_LANES);
    }
#pragma GCC unroll 12
    for (int n = 0; n < N; n++)
        for (int v = 0; v < 2; v++) vector_store(y + n * b->stride_y + v * VECTOR_LANES, sum[n][v]);
}

VECTOR_FN void linear_block_run(const struct linear_block *b, const int N, const int packed)
{
    vector_f32 sum[BLOCK_ROWS][2];
    const float *a = b->a;
#pragma GCC unroll 12
    for (int n = 0; n < N; n++) {
        sum[n][0] = sum[n][1] = (vector_f32){0};
        linear_fetch(b->y + n * b->stride_y, PANEL, 1);
        if (!packed) linear_fetch(a + (N + n) * b->stride_a, 2 * LINE_FLOATS, 0);
    }
    for (int64_t i = 0; i < b->depth; i++) {
        vector_f32 w0 = vector_load(b->panel + i * PANEL);
        vector_f32 w1 = vector_load(b->panel + i * PANEL + VECTOR_LANES);
#pragma GCC unroll 12
        for (int n = 0; n < N; n++) {
            float x = packed ? a[i * BLOCK_ROWS + n] : a[n * b->stride_a + i];
            sum[n][0] += w0 * x;
            sum[n][1] += w1 * x;
        }
    }
    linear_block_end(b, sum, N);
}

VECTOR_FN void linear_blocks(struct linear_block b, int64_t rows)
{
    for (; rows >= BLOCK_ROWS; rows -= BLOCK_ROWS) {
        linear_block_run(&b, BLOCK_ROWS, 0);
        b.a += BLOCK_ROWS * b.stride_a;
        b.y += BLOCK_ROWS * b.stride_y;
    }
    for (; rows >= SMALL_BLOCK_ROWS; rows -= SMALL_BLOCK_ROWS) {
        linear_block_run(&b, SMALL_BLOCK_ROWS, 0);
        b.a += SMALL_BLOCK_ROWS * b.stride_a;
        b.y += SMALL_BLOCK_ROWS * b.stride_y;
    }
    for (; rows > 0; rows--) {
        linear_block_run(&b, 1, 0);
        b.a += b.stride_a;
        b.y += b.stride_y;
    }
}

static void linear_rows(const void *args, struct simd_range rows)
{
    const struct simd_product *p = args;
    const struct tensor *a = p->a, *y = p->y;
    int64_t height = GROUP_FLOATS / p->depth / BLOCK_ROWS * BLOCK_ROWS;
    for (int64_t first = rows.begin; first < rows.end; first += height) {
        int64_t n = rows.end - first < height ? rows.end - first : height;
        for (int64_t o = 0; o < p->outputs; o += PANEL) {
            int64_t outputs = p->outputs - o < PANEL ? p->outputs - o : PANEL;
            float bias[PANEL] = {0};
            if (p->bias)
                memcpy(bias, p->bias + p->first_output + o, (size_t)outputs * sizeof *bias);
            struct linear_block b = {
                .y = (float *)y->data + first * y->stride + p->first_output + o,
                .a = (const float *)a->data + first * a->stride + p->first_input,
                .panel = p->packed + o * p->depth,
                .bias = p->bias ? bias : NULL,
                .stride_y = y->stride,
                .stride_a = a->stride,
                .depth = p->depth,
                .outputs = outputs,
                .add = p->accumulate || p->first_input > 0};
            linear_blocks(b, n);
        }
    }
}

/* Columns of dw that are computed at a time. */
static int64_t dw_width(int64_t I)
{
    int64_t all = (I + PANEL - 1) / PANEL * PANEL, most = DW_PART_FLOATS / DW_DEPTH / PANEL * PANEL;
    return all < most ? all : most;
}

/* Scratch: the packed part of x, then the packed strip of dy. */
static size_t dw_bytes(const struct tensor *x)
{
    int64_t strip = (DW_STRIP / BLOCK_ROWS + 1) * DW_BLOCK_FLOATS;
    return (size_t)(dw_width(x->cols) * DW_DEPTH + strip) * sizeof(float);
}

/* Packs n columns of depth rows into blocks of BLOCK_ROWS. */
static void dw_pack(float *to, const float *from, int64_t stride, int64_t depth, int64_t n)
{
    int64_t whole = n / BLOCK_ROWS, rest = n % BLOCK_ROWS;
    for (int64_t i = 0; i < depth; i++, from += stride, to += BLOCK_ROWS) {
        linear_fetch(from + PACK_AHEAD * stride, n, 0);
        for (int64_t b = 0; b < whole; b++)
            memcpy(to + b * DW_BLOCK_FLOATS, from + b * BLOCK_ROWS, BLOCK_ROWS * sizeof *to);
        for (int64_t r = 0; r < rest; r++)
            to[whole * DW_BLOCK_FLOATS + r] = from[whole * BLOCK_ROWS + r];
    }
}

/* Multiplies a packed strip of n rows with a panel. */
VECTOR_FN void dw_strip(struct linear_block b, int64_t n)
{
    const float *strip = b.a;
    int64_t row = 0, stride = b.stride_y;
    for (; row + BLOCK_ROWS <= n; row += BLOCK_ROWS, b.y += BLOCK_ROWS * stride) {
        b.a = strip + row / BLOCK_ROWS * DW_BLOCK_FLOATS;
        linear_block_run(&b, BLOCK_ROWS, 1);
    }
    b.a = strip + row / BLOCK_ROWS * DW_BLOCK_FLOATS;
    for (; row + SMALL_BLOCK_ROWS <= n; row += SMALL_BLOCK_ROWS, b.y += SMALL_BLOCK_ROWS * stride) {
        linear_block_run(&b, SMALL_BLOCK_ROWS, 1);
        b.a += SMALL_BLOCK_ROWS;
    }
    for (; row < n; row++, b.y += stride, b.a++) linear_block_run(&b, 1, 1);
}

/* Adds a part: some columns of dw, summed over some rows of x and dy. */
static void dw_part(const struct simd_product *p, const struct tensor *dy,
                    struct simd_range outputs)
{
    const struct tensor *dw = p->y;
    float *strip = p->packed + dw_width(p->b->cols) * DW_DEPTH;
    linear_pack_rows(p, 0, (p->outputs + PANEL - 1) / PANEL);
    for (int64_t o = outputs.begin; o < outputs.end; o += DW_STRIP) {
        int64_t n = outputs.end - o < DW_STRIP ? outputs.end - o : DW_STRIP;
        dw_pack(strip, (const float *)dy->data + p->first_input * dy->stride + o, dy->stride,
                p->depth, n);
        for (int64_t c = 0; c < p->outputs; c += PANEL) {
            struct linear_block b = {.y = (float *)dw->data + o * dw->stride + p->first_output + c,
                                     .a = strip,
                                     .panel = p->packed + c * p->depth,
                                     .stride_y = dw->stride,
                                     .depth = p->depth,
                                     .outputs = p->outputs - c < PANEL ? p->outputs - c : PANEL,
                                     .add = p->accumulate || p->first_input > 0};
            dw_strip(b, n);
        }
    }
}

static void linear_dw(const struct tensor *dw, const struct tensor *dy, const struct tensor *x,
                      bool accumulate, struct simd_range outputs)
{
    struct simd_product p = {.y = dw, .b = x, .packed = outputs.scratch, .accumulate = accumulate};
    int64_t width = dw_width(x->cols), rows = x->rows;
    for (; p.first_output < x->cols; p.first_output += width)
        for (p.first_input = 0; p.first_input < rows; p.first_input += DW_DEPTH) {
            p.outputs = x->cols - p.first_output < width ? x->cols - p.first_output : width;
            p.depth = rows - p.first_input < DW_DEPTH ? rows - p.first_input : DW_DEPTH;
            dw_part(&p, dy, outputs);
        }
}

const struct simd_linear SIMD_NAME(simd_linear) = {
    .panel = PANEL,
    .depth = DEPTH,
    .part_floats = PART_FLOATS,
    .pack = linear_pack,
    .rows = linear_rows,
    .dw_bytes = dw_bytes,
    .dw = linear_dw,
};
