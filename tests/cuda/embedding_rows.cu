/* embedding_rows.cu - gather, add and scatter rows. The order of additions is specified, so results
 * are compared bit for bit with loops in fp32, and sums also with double. */
#include "rows_check.h"

/* N rows, C columns, V rows of the table. */
static const int64_t shapes[][3] = {
    {1, 1, 1}, {3, 7, 5}, {40, 8, 3}, {65, 23, 30}, {17, 1031, 9}, {530, 12, 40},
};

/* Indices distributed like words of a text: a few occur often. One in nine is -1. */
static std::vector<int32_t> text_indices(int64_t n, int64_t V, uint64_t seed)
{
    std::vector<int32_t> out((size_t)n);
    for (int64_t i = 0; i < n; i++) {
        double share = word_at(seed, (uint64_t)i) * 0x1p-32;
        out[(size_t)i] = (int32_t)(share * share * share * (double)V);
        if (word_at(seed + 1, (uint64_t)i) % 9 == 0) out[(size_t)i] = -1;
    }
    return out;
}

/* A permutation of 0 ... n - 1. */
static std::vector<int32_t> mixed_indices(int64_t n)
{
    std::vector<int32_t> out;
    for (int64_t i = 0; i < n; i++) out.push_back((int32_t)i);
    for (int64_t i = n - 1; i > 0; i--) {
        size_t other = word_at(5, (uint64_t)i) % (size_t)(i + 1);
        int32_t kept = out[other];
        out[other] = out[(size_t)i];
        out[(size_t)i] = kept;
    }
    return out;
}

static void rows_are_gathered(const int64_t *shape, enum dtype to, enum dtype from, struct layout l)
{
    int64_t N = shape[0], C = shape[1], V = shape[2];
    std::vector<int32_t> index = text_indices(N, V, 10);
    int32_t *index_dev = device_copy(index);
    struct matrix x = matrix_make(V, C, from, l, 1, 1.0, 0.0);
    struct matrix y = matrix_make(N, C, to, l, 2, 1.0, 0.0);
    std::vector<float> want(y.host.size(), 0.0f);
    for (int64_t i = 0; i < N; i++)
        for (int64_t c = 0; c < C && index[(size_t)i] >= 0; c++)
            want[(size_t)(i * C + c)] =
                rounded(1.7f * x.host[(size_t)(index[(size_t)i] * C + c)], to);
    check_call(cuda_gather_rows(NULL, args_of(gather_rows_args{y.t, x.t, index_dev, 1.7f})),
               "gather");
    check_same("gather", matrix_get(y, "gather"), want);
    device_free();
}

static void table_rows_are_added(const int64_t *shape, enum dtype to, enum dtype from,
                                 struct layout l)
{
    int64_t N = shape[0], C = shape[1], V = shape[2];
    std::vector<int32_t> index = text_indices(N, V, 20);
    int32_t *index_dev = device_copy(index);
    struct matrix x = matrix_make(N, C, to, l, 3, 1.0, 0.0);
    struct matrix table = matrix_make(V, C, DTYPE_F32, l, 4, 1.0, 0.0);
    std::vector<float> want = x.host;
    for (int64_t i = 0; i < N; i++)
        for (int64_t c = 0; c < C && index[(size_t)i] >= 0; c++) {
            float &v = want[(size_t)(i * C + c)];
            v = rounded(v + table.host[(size_t)(index[(size_t)i] * C + c)], to);
        }
    (void)from;
    check_call(cuda_add_rows(NULL, args_of(add_rows_args{x.t, x.t, table.t, index_dev})),
               "add_rows");
    check_same("add_rows", matrix_get(x, "add_rows"), want);
    device_free();
}

static void check_scatter(const std::vector<int32_t> &index, int64_t C, int64_t V, enum dtype to,
                          enum dtype from, struct layout l, float scale, int accumulate)
{
    int64_t N = (int64_t)index.size();
    int32_t *index_dev = device_copy(index);
    struct matrix x = matrix_make(N, C, from, l, 5, 1.0, 0.0);
    struct matrix y = matrix_make(V, C, to, l, 6, 1.0, 0.0);
    std::vector<float> want = y.host;
    std::vector<double> sum(want.begin(), want.end()), size(want.size());
    for (size_t k = 0; k < want.size(); k++) size[k] = fabs(sum[k]);
    for (int64_t i = 0; i < N; i++)
        for (int64_t c = 0; c < C && index[(size_t)i] >= 0; c++) {
            size_t at = (size_t)(index[(size_t)i] * C + c);
            float term = scale * x.host[(size_t)(i * C + c)];
            want[at] = accumulate ? want[at] + term : term;
            sum[at] = (accumulate ? sum[at] : 0.0) + (double)scale * x.host[(size_t)(i * C + c)];
            size[at] = (accumulate ? size[at] : 0.0) + fabs((double)term);
        }
    for (float &v : want) v = rounded(v, to);
    check_call(cuda_scatter_rows(
                   NULL, args_of(scatter_rows_args{y.t, x.t, index_dev, scale, accumulate != 0})),
               "scatter");
    std::vector<float> got = matrix_get(y, "scatter");
    struct worst w = {"scatter", 0.0};
    for (size_t k = 0; k < want.size(); k++)
        worst_see(w, got[k], sum[k], unit_of(to) * fabs(sum[k]) + (double)N * u * size[k] + 1e-30);
    worst_check(w);
    check_same(accumulate ? "scatter adding" : "scatter setting", got, want);
    device_free();
}

static void rows_are_scattered(const int64_t *shape, enum dtype to, enum dtype from,
                               struct layout l)
{
    for (int accumulate = 0; accumulate < 2; accumulate++)
        check_scatter(text_indices(shape[0], shape[2], 30), shape[1], shape[2], to, from, l, 0.3f,
                      accumulate);
}

int main(void)
{
    for (const int64_t *shape : shapes)
        for (enum dtype to : dtypes)
            for (enum dtype from : dtypes) {
                bool large = shape[0] * shape[1] > 1000;
                for (int l = 0; l < LAYOUTS_N; l++) {
                    if (large && (l != 1 + (int)to || (shape[0] > 500 && to == from))) continue;
                    rows_are_gathered(shape, to, from, layouts[l]);
                    if (to == from) table_rows_are_added(shape, to, from, layouts[l]);
                    rows_are_scattered(shape, to, from, layouts[l]);
                }
            }
    /* Each index once; then one index only. */
    check_scatter(mixed_indices(140), 16, 140, DTYPE_BF16, DTYPE_BF16, layouts[0], 32.0f, 0);
    check_scatter(mixed_indices(140), 16, 140, DTYPE_F32, DTYPE_BF16, layouts[0], 1.0f, 1);
    check_scatter(std::vector<int32_t>(70, 2), 24, 4, DTYPE_F32, DTYPE_F32, layouts[0], 0.7f, 0);
    check_scatter(std::vector<int32_t>(600, 2), 24, 4, DTYPE_F32, DTYPE_F32, layouts[0], 0.7f, 1);
    return checks_report("embedding");
}
