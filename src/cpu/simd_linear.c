/* simd_linear.c - y = x w^T + bias on rows, exact by row.
 *
 * 1. The weights are packed into panels of PANEL outputs, input by input, padded with zeros: one
 *    pass over w for all rows.
 * 2. A block of rows is multiplied with a panel in registers. Each element of y is one chain of
 *    multiply-adds over the inputs in rising order, starting from zero, for every height of the
 *    block. Therefore the bits of a row depend only on that row and the weights.
 * 3. Rows are processed in groups that stay in the second-level cache while all panels are used. */
#include "cpu/simd.h"
#include "cpu/simd_transpose.h"

enum {
    PANEL = 2 * VECTOR_LANES,
    BLOCK_ROWS = VECTOR_LANES == 16 ? 12 : 6, /* as many as the registers hold */
    SMALL_BLOCK_ROWS = 4,  /* enough chains to hide the latency of a multiply-add */
    GROUP_FLOATS = 262144, /* of x per group: one megabyte */
    DW_FLOATS = 65536,     /* of x per step of the weight's gradient */
    DW_DEPTH_MIN = 64,
    DW_DEPTH_MAX = 256
};

static size_t linear_packed_bytes(const struct tensor *w)
{
    int64_t panels = (w->rows + PANEL - 1) / PANEL;
    return (size_t)(panels * PANEL * w->cols) * sizeof(float);
}

/* Packs panels begin ... end - 1 of w (O,I): element (i, o) of panel p is at (p I + i) PANEL + o.
 */
static void linear_pack(const void *args, struct simd_range panels)
{
    const struct simd_product *a = args;
    const struct tensor *w = a->w;
    int64_t I = w->cols;
    for (int64_t p = panels.begin; p < panels.end; p++) {
        float *to = a->packed + p * I * PANEL;
        const float *from = (const float *)w->data + p * PANEL * w->stride;
        int64_t outputs = w->rows - p * PANEL < PANEL ? w->rows - p * PANEL : PANEL, i = 0;
        if (outputs < PANEL) memset(to, 0, (size_t)(I * PANEL) * sizeof *to);
        for (; outputs == PANEL && i + VECTOR_LANES <= I; i += VECTOR_LANES)
            for (int64_t o = 0; o < PANEL; o += VECTOR_LANES)
                transpose_square(to + i * PANEL + o, PANEL, from + o * w->stride + i, w->stride);
        for (; i + TRANSPOSE_BLOCK <= I; i += TRANSPOSE_BLOCK)
            transpose_to_columns(to + i * PANEL, PANEL, from + i, w->stride, outputs,
                                 TRANSPOSE_BLOCK, 1.0f);
        for (; i < I; i++)
            for (int64_t o = 0; o < outputs; o++) to[i * PANEL + o] = from[o * w->stride + i];
    }
}

/* A block of N rows against one panel. bias is PANEL floats. outputs < PANEL: the last panel. With
 * transposed, x is stored by columns: row n, input i is at x[i * stride_x + n]. */
struct linear_block {
    float *y;
    const float *x, *panel, *bias;
    int64_t stride_y, stride_x, I, outputs;
    int accumulate;
};

VECTOR_FN void linear_block_run(const struct linear_block *b, const int N, const int transposed)
{
    vector_f32 sum[BLOCK_ROWS][2];
    for (int n = 0; n < N; n++) sum[n][0] = sum[n][1] = (vector_f32){0};
    for (int64_t i = 0; i < b->I; i++) {
        vector_f32 w0 = vector_load(b->panel + i * PANEL);
        vector_f32 w1 = vector_load(b->panel + i * PANEL + VECTOR_LANES);
        for (int n = 0; n < N; n++) {
            float x = transposed ? b->x[i * b->stride_x + n] : b->x[n * b->stride_x + i];
            sum[n][0] += w0 * x;
            sum[n][1] += w1 * x;
        }
    }
    vector_f32 bias0 = vector_load(b->bias), bias1 = vector_load(b->bias + VECTOR_LANES);
    for (int n = 0; n < N; n++) {
        float *y = b->y + n * b->stride_y, last[PANEL] = {0};
        float *to = y;
        if (b->outputs < PANEL) {
            to = last;
            memcpy(last, y, (size_t)b->outputs * sizeof *y);
        }
        sum[n][0] += bias0;
        sum[n][1] += bias1;
        if (b->accumulate) {
            sum[n][0] += vector_load(to);
            sum[n][1] += vector_load(to + VECTOR_LANES);
        }
        vector_store(to, sum[n][0]);
        vector_store(to + VECTOR_LANES, sum[n][1]);
        if (b->outputs < PANEL) memcpy(y, last, (size_t)b->outputs * sizeof *y);
    }
}

VECTOR_FN void linear_blocks(struct linear_block b, int64_t rows, const int transposed)
{
    int64_t step = transposed ? 1 : b.stride_x;
    for (; rows >= BLOCK_ROWS; rows -= BLOCK_ROWS) {
        linear_block_run(&b, BLOCK_ROWS, transposed);
        b.x += BLOCK_ROWS * step;
        b.y += BLOCK_ROWS * b.stride_y;
    }
    for (; rows >= SMALL_BLOCK_ROWS; rows -= SMALL_BLOCK_ROWS) {
        linear_block_run(&b, SMALL_BLOCK_ROWS, transposed);
        b.x += SMALL_BLOCK_ROWS * step;
        b.y += SMALL_BLOCK_ROWS * b.stride_y;
    }
    for (; rows > 0; rows--) {
        linear_block_run(&b, 1, transposed);
        b.x += step;
        b.y += b.stride_y;
    }
}

static void linear_rows(const void *args, struct simd_range rows)
{
    const struct simd_product *a = args;
    const struct tensor *x = a->x, *y = a->y;
    int64_t I = x->cols, O = y->cols, height = GROUP_FLOATS / I / BLOCK_ROWS * BLOCK_ROWS;
    if (height < BLOCK_ROWS) height = BLOCK_ROWS;
    for (int64_t first = rows.begin; first < rows.end; first += height) {
        int64_t n = rows.end - first < height ? rows.end - first : height;
        for (int64_t o = 0; o < O; o += PANEL) {
            float panel_bias[PANEL] = {0};
            int64_t outputs = O - o < PANEL ? O - o : PANEL;
            if (a->bias) memcpy(panel_bias, a->bias + o, (size_t)outputs * sizeof *a->bias);
            struct linear_block b = {.y = (float *)y->data + first * y->stride + o,
                                     .x = (const float *)x->data + first * x->stride,
                                     .panel = a->packed + o * I,
                                     .bias = panel_bias,
                                     .stride_y = y->stride,
                                     .stride_x = x->stride,
                                     .I = I,
                                     .outputs = outputs,
                                     .accumulate = a->accumulate};
            linear_blocks(b, n, 0);
        }
    }
}

/* Rows of x that the weight's gradient sums at a time: their panels stay in the second-level cache
 * while all outputs are computed. */
static int64_t linear_bwd_weight_depth(int64_t I)
{
    int64_t depth = DW_FLOATS / I;
    if (depth > DW_DEPTH_MAX) return DW_DEPTH_MAX;
    return depth < DW_DEPTH_MIN ? DW_DEPTH_MIN : depth;
}

static size_t linear_bwd_weight_bytes(const struct tensor *x)
{
    int64_t panels = (x->cols + PANEL - 1) / PANEL;
    return (size_t)(panels * PANEL * linear_bwd_weight_depth(x->cols)) * sizeof(float);
}

/* Packs rows first ... first + depth - 1 of x into panels of PANEL columns, padded with zeros. */
static void linear_bwd_weight_pack(float *packed, const struct tensor *x, int64_t first,
                                   int64_t depth)
{
    for (int64_t c = 0; c < x->cols; c += PANEL) {
        int64_t n = x->cols - c < PANEL ? x->cols - c : PANEL;
        for (int64_t i = 0; i < depth; i++) {
            const float *from = (const float *)x->data + (first + i) * x->stride + c;
            float *to = packed + (c * depth) + i * PANEL;
            if (n < PANEL) memset(to, 0, PANEL * sizeof *to);
            memcpy(to, from, (size_t)n * sizeof *to);
        }
    }
}

static void linear_bwd_weight(const struct tensor *dw, const struct tensor *dy,
                              const struct tensor *x, bool accumulate, struct simd_range outputs)
{
    const float no_bias[PANEL] = {0};
    float *packed = outputs.scratch;
    int64_t I = x->cols, step = linear_bwd_weight_depth(I);
    for (int64_t first = 0; first < x->rows; first += step) {
        int64_t depth = x->rows - first < step ? x->rows - first : step;
        linear_bwd_weight_pack(packed, x, first, depth);
        for (int64_t o = outputs.begin; o < outputs.end; o += BLOCK_ROWS) {
            int64_t left = outputs.end - o, n = left < BLOCK_ROWS ? left : BLOCK_ROWS;
            struct linear_block b = {.x = (const float *)dy->data + first * dy->stride + o,
                                     .bias = no_bias,
                                     .stride_y = dw->stride,
                                     .stride_x = dy->stride,
                                     .I = depth,
                                     .accumulate = accumulate || first > 0};
            for (int64_t c = 0; c < I; c += PANEL) {
                b.y = (float *)dw->data + o * dw->stride + c;
                b.panel = packed + c * depth;
                b.outputs = I - c < PANEL ? I - c : PANEL;
                linear_blocks(b, n, 1);
            }
        }
    }
}

const struct simd_linear SIMD_NAME(simd_linear) = {
    .panel = PANEL,
    .packed_bytes = linear_packed_bytes,
    .pack = linear_pack,
    .rows = linear_rows,
    .dw_bytes = linear_bwd_weight_bytes,
    .dw = linear_bwd_weight,
};
