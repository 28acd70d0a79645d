/* mask_rows.cu - the bits of a mask, and the comparison of two products under one. */
#include "rows_check.h"

static const int64_t shapes[][2] = {{1, 1},   {3, 7},   {9, 23}, {2, 1031},
                                    {10, 64}, {6, 128}, {130, 4}};

/* Half of the numbers are zeros, of both signs. */
static struct matrix masked(int64_t rows, int64_t cols, enum dtype dtype, struct layout l)
{
    struct matrix y = matrix_make(rows, cols, dtype, l, 20, 1.0, 0.0);
    for (size_t i = 0; i < y.host.size(); i++)
        if (word_at(21, i) % 2) y.host[i] = word_at(22, i) % 2 ? 0.0f : -0.0f;
    matrix_put(y);
    return y;
}

static void a_bit_says_what_is_not_zero(int64_t rows, int64_t cols, enum dtype dtype,
                                        struct layout l)
{
    struct matrix y = masked(rows, cols, dtype, l);
    int64_t stride = cuda_mask_stride(cols), first = word_at(23, (uint64_t)cols) % cols;
    y.host[(size_t)first] = NAN; /* is not zero */
    matrix_put(y);
    std::vector<unsigned char> bits(cuda_mask_bytes(rows, cols), 0xff);
    unsigned char *bits_dev = device_copy(bits);
    check(stride % 128 == 0 && stride >= cols && stride < cols + 128, "stride", "mask", stride,
          cols);
    check_call(cuda_mask(NULL, bits_dev, &y.t), "mask");
    cudaDeviceSynchronize();
    cudaMemcpy(bits.data(), bits_dev, bits.size(), cudaMemcpyDeviceToHost);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < stride; c++) {
            bool want = c < cols && y.host[(size_t)(r * cols + c)] != 0.0f;
            int64_t at = r * stride + c;
            if ((bits[(size_t)(at / 8)] >> at % 8 & 1) != want)
                check(false, "a bit is wrong", "mask", r, c);
        }
    check(true, "", "mask", 0, 0);
    cudaFree(bits_dev);
    matrix_free(y);
}

static struct mask_report compared(const struct matrix &c, const struct matrix &want,
                                   const struct matrix &y)
{
    struct mask_report report = {7, 7};
    struct mask_report *report_dev = device_copy(std::vector<struct mask_report>(1, report));
    check_call(cuda_mask_compare(NULL, report_dev, &c.t, &want.t, &y.t), "mask_compare");
    cudaDeviceSynchronize();
    cudaMemcpy(&report, report_dev, sizeof report, cudaMemcpyDeviceToHost);
    cudaFree(report_dev);
    return report;
}

/* Numbers between 1 and 2, so that each that is kept would be missed; cut where y is zero. */
static struct matrix product_under(const struct matrix &y, struct layout l)
{
    struct matrix c = matrix_make(y.t.rows, y.t.cols, y.t.dtype, l, 24, 0.0, 0.0);
    for (size_t i = 0; i < c.host.size(); i++)
        c.host[i] = y.host[i] == 0.0f ? 0.0f : rounded(1.0f + word_at(25, i) * 0x1p-33f, y.t.dtype);
    matrix_put(c);
    return c;
}

static void a_comparison_finds_each_difference(int64_t rows, int64_t cols, enum dtype dtype,
                                               struct layout l)
{
    struct matrix y = masked(rows, cols, dtype, l);
    struct matrix want = product_under(y, layouts[0]), c = product_under(y, l);
    float share = dtype == DTYPE_BF16 ? 0x1p-6f : 0x1p-14f;
    uint32_t edges_n = 0;
    for (int64_t i = 0; i + 1 < rows * cols; i++)
        if ((i + 1) % cols)
            edges_n += (y.host[(size_t)i] == 0.0f) != (y.host[(size_t)i + 1] == 0.0f);
    struct mask_report same = compared(c, want, y);
    check(same.wrong_n == 0, "what is the same is wrong", "mask_compare", same.wrong_n, 0);
    check(same.edges_n == edges_n, "edges", "mask_compare", same.edges_n, edges_n);

    uint32_t wrong_n = 0;
    for (int64_t i = 0; i < rows * cols; i += 3) {
        float &x = c.host[(size_t)i];
        int kind = (int)(word_at(26, (uint64_t)i) % 3);
        if (y.host[(size_t)i] == 0.0f)
            x = kind == 0 ? NAN : 0x1p-100f; /* not cut */
        else
            x = kind == 0 ? 0.0f : kind == 1 ? NAN : x + 3.0f * share; /* lost, or far off */
        wrong_n++;
    }
    for (int64_t i = 1; i < rows * cols; i += 3) /* near enough */
        if (y.host[(size_t)i] != 0.0f) c.host[(size_t)i] += 0.5f * share;
    matrix_put(c);
    struct mask_report other = compared(c, want, y);
    check(other.wrong_n == wrong_n, "differences found", "mask_compare", other.wrong_n, wrong_n);
    matrix_free(c);
    matrix_free(want);
    matrix_free(y);
}

int main(void)
{
    for (const int64_t *shape : shapes)
        for (enum dtype dtype : dtypes)
            for (struct layout l : layouts) {
                a_bit_says_what_is_not_zero(shape[0], shape[1], dtype, l);
                a_comparison_finds_each_difference(shape[0], shape[1], dtype, l);
            }
    return checks_report("mask");
}
