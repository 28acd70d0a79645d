/* elementwise_rows.cu - sums, casts, dropout and ReLU. Each number is rounded once, so comparisons
 * are bit for bit. */
#include "rows_check.h"

static const int64_t shapes[][2] = {{1, 1}, {3, 7}, {9, 23}, {2, 1031}, {10, 64}, {130, 4}};

typedef void (*test)(int64_t rows, int64_t cols, enum dtype dtype, struct layout l);

static void sums_are_rounded_once(int64_t rows, int64_t cols, enum dtype dtype, struct layout l)
{
    struct matrix x = matrix_make(rows, cols, dtype, l, 1, 1.0, 0.0);
    struct matrix r = matrix_make(rows, cols, dtype, l, 2, 1.0, 0.0);
    struct matrix y = matrix_make(rows, cols, dtype, l, 3, 1.0, 0.0);
    std::vector<float> want(x.host.size());
    for (size_t i = 0; i < want.size(); i++) want[i] = rounded(x.host[i] + r.host[i], dtype);
    check_call(cuda_add(NULL, args_of(add_args{y.t, x.t, r.t})), "add");
    check_same("add", matrix_get(y, "add"), want);
    check_call(cuda_add(NULL, args_of(add_args{x.t, x.t, r.t})), "add in place");
    check_same("add in place", matrix_get(x, "add"), want);
    device_free();
}

static void copies_change_dtype_and_stride(int64_t rows, int64_t cols, enum dtype dtype,
                                           struct layout l)
{
    struct matrix x = matrix_make(rows, cols, dtype, l, 4, 1.0, 0.0);
    for (enum dtype to : dtypes) {
        struct matrix y = matrix_make(rows, cols, to, layouts[1], 5, 1.0, 0.0);
        std::vector<float> want = x.host;
        for (float &v : want) v = rounded(v, to);
        check_call(cuda_cast(NULL, args_of(cast_args{y.t, x.t})), "cast");
        check_same("cast", matrix_get(y, "cast"), want);
    }
    device_free();
}

static void masks_are_the_words_of_philox(int64_t rows, int64_t cols, enum dtype dtype,
                                          struct layout l)
{
    static const float chances[] = {0.0f, 0.1f, 0.5f};
    for (int c = 0; c < 3; c++) {
        struct matrix x = matrix_make(rows, cols, dtype, l, 6, 1.0, 0.0);
        struct matrix y = matrix_make(rows, cols, dtype, l, 7, 1.0, 0.0);
        struct draw w = draw_make(chances[c], rows, c == 1, 40 + (uint32_t)c);
        std::vector<float> want(x.host.size());
        for (int64_t i = 0; i < rows * cols; i++)
            want[(size_t)i] =
                rounded(x.host[(size_t)i] * draw_factor(w, i / cols, i % cols, cols), dtype);
        check_call(cuda_dropout(NULL, args_of(dropout_args{y.t, x.t, w.d})), "dropout");
        check_same("dropout", matrix_get(y, "dropout"), want);
        check_call(cuda_dropout(NULL, args_of(dropout_args{x.t, x.t, w.d})), "dropout in place");
        check_same("dropout in place", matrix_get(x, "dropout"), want);
    }
    device_free();
}

static void relu_and_its_gradient(int64_t rows, int64_t cols, enum dtype dtype, struct layout l)
{
    for (int c = 0; c < 4; c++) {
        int64_t words = relu_mask_words(cols);
        struct tensor mask = {};
        if (c >= 2)
            mask = tensor_make(device_alloc((size_t)(rows * words) * 4), rows, words, DTYPE_I32);
        struct matrix x = matrix_make(rows, cols, dtype, l, 8, 1.0, 0.0);
        struct matrix dy = matrix_make(rows, cols, dtype, l, 9, 1.0, 0.0);
        struct draw w = draw_make(c % 2 ? 0.3f : 0.0f, rows, false, 12345);
        x.host[0] = NAN; /* must stay NaN */
        matrix_put(x);
        std::vector<float> want(x.host.size()), want_dx(x.host.size());
        for (int64_t i = 0; i < rows * cols; i++) {
            float v = x.host[(size_t)i], scale = c % 2 ? 1.0f / (1.0f - w.d.p) : 1.0f;
            v = v <= 0.0f ? 0.0f : v;
            want[(size_t)i] = rounded(v * draw_factor(w, i / cols, i % cols, cols), dtype);
            want_dx[(size_t)i] =
                want[(size_t)i] == 0.0f ? 0.0f : rounded(dy.host[(size_t)i] * scale, dtype);
        }
        check_call(cuda_relu(NULL, args_of(relu_args{x.t, x.t, mask, w.d})), "relu");
        check_same("relu", matrix_get(x, "relu"), want);
        check_call(cuda_relu_bwd(NULL, args_of(relu_bwd_args{dy.t, dy.t, x.t, mask, w.d})), "relu_bwd");
        check_same("relu_bwd", matrix_get(dy, "relu_bwd"), want_dx);
    }
    device_free();
}

static void columns_are_summed(int64_t rows, int64_t cols, enum dtype dtype, struct layout l)
{
    for (int accumulate = 0; accumulate < 2; accumulate++) {
        struct matrix x = matrix_make(rows, cols, dtype, l, 9, 1.0, 0.0);
        struct matrix out = matrix_make(1, cols, DTYPE_F32, l, 10, 1.0, 0.0);
        void *workspace = device_alloc(cuda_column_sums_workspace(&x.t));
        check_call(cuda_column_sums(NULL, &out.t, &x.t, accumulate, workspace), "column_sums");
        std::vector<float> got = matrix_get(out, "column_sums");
        for (int64_t column = 0; column < cols; column++) {
            double sum = accumulate ? out.host[(size_t)column] : 0.0, size = fabs(sum);
            for (int64_t i = column; i < rows * cols; i += cols) {
                sum += x.host[(size_t)i];
                size += fabs(x.host[(size_t)i]);
            }
            check(fabs(got[(size_t)column] - sum) <= 1e-5 * size, "sums", "column_sums", column,
                  rows);
        }
    }
    device_free();
}

/* Two updates with the same arguments draw different masks, as the launches of a graph must. */
static void the_step_is_read_when_the_kernel_runs()
{
    struct matrix x = matrix_make(40, 40, DTYPE_F32, layouts[0], 10, 1.0, 0.0);
    struct matrix y = matrix_make(40, 40, DTYPE_F32, layouts[0], 11, 1.0, 0.0);
    struct draw w = draw_make(0.5f, 40, false, 1);
    std::vector<float> got[2];
    for (uint32_t update = 0; update < 2; update++) {
        struct step_state step = {};
        step.lr = step.lr_previous = 0.1f, step.gradient_scale = 1.0f;
        step.update = update, step.adam_step = 1;
        cudaMemcpy((void *)w.d.step_dev, &step, sizeof step, cudaMemcpyHostToDevice);
        check_call(cuda_dropout(NULL, args_of(dropout_args{y.t, x.t, w.d})), "dropout");
        got[update] = matrix_get(y, "dropout");
    }
    check(got[0] != got[1], "the masks of two updates are the same", "dropout", 0, 1);
    device_free();
}

int main(void)
{
    static const test tests[] = {sums_are_rounded_once, copies_change_dtype_and_stride,
                                 masks_are_the_words_of_philox, relu_and_its_gradient, columns_are_summed};
    for (test run : tests)
        for (const int64_t *shape : shapes)
            for (enum dtype dtype : dtypes)
                for (struct layout l : layouts) run(shape[0], shape[1], dtype, l);
    the_step_is_read_when_the_kernel_runs();
    return checks_report("elementwise");
}
