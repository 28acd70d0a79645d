// attention_tables.cu - rotary positions and the learned bias's way in and out, against plain
// loops.
#include "attention_oracle.h"

static int rotary_agrees(int32_t B, int32_t T, int32_t H, int32_t D, int64_t gap, enum dtype dtype,
                         int layout, int inverse)
{
    struct matrix x, cosine, sine;
    struct worst w = {"rotary", 0};
    int32_t half = D / 2;
    double unit = dtype == DTYPE_BF16 ? 0x1p-8 : 0x1p-23;
    matrix_make(x, (int64_t)B * T, (int64_t)H * D, (int64_t)H * D + gap, dtype, 3, 1.0);
    matrix_make(cosine, T + 2, half, half, DTYPE_F32, 4, 1.0);
    matrix_make(sine, T + 2, half, half, DTYPE_F32, 5, 1.0);
    int failures = cuda_rotary(NULL, &x.view, &cosine.view, &sine.view, T, H, layout, inverse) != 0;
    cudaDeviceSynchronize();
    std::vector<float> got = matrix_read(x.view);
    for (int64_t row = 0; row < x.view.rows; row++)
        for (int32_t h = 0; h < H; h++)
            for (int32_t p = 0; p < half; p++) {
                size_t at = (size_t)(row * H * D + h * D);
                size_t i = at + (size_t)(layout == 0 ? 2 * p : p);
                size_t j = layout == 0 ? i + 1 : i + (size_t)half;
                size_t angle = (size_t)(row % T * half + p);
                double c = cosine.host[angle], s = sine.host[angle] * (inverse ? -1.0 : 1.0);
                double a = x.host[i], b = x.host[j], first = a * c - b * s, second = b * c + a * s;
                double bound = 0x1p-23 * (fabs(a * c) + fabs(b * s));
                worst_see(w, got[i], first, unit * fabs(first) + bound + 1e-30);
                bound = 0x1p-23 * (fabs(b * c) + fabs(a * s));
                worst_see(w, got[j], second, unit * fabs(second) + bound + 1e-30);
            }
    failures += worst_report(w);
    if (failures)
        printf("  T=%d H=%d D=%d gap=%d dtype=%d layout=%d inverse=%d\n", T, H, D, (int)gap, dtype,
               layout, inverse);
    for (struct matrix *m : {&x, &cosine, &sine}) cudaFree(m->view.data);
    return failures;
}

static int bias_agrees(int32_t buckets, int32_t H, int32_t bias_table_n, int64_t gap, int accumulate)
{
    struct matrix table, dtable, near, near_grad, offset, offset_grad;
    struct attention_bias bias;
    struct worst w = {"bias_expand", 0}, v = {"bias_reduce", 0};
    std::vector<int32_t> bucket((size_t)bias_table_n);
    const float multiplier = 1.7f;
    int32_t *bucket_dev;
    matrix_make(table, buckets, H, H + gap, DTYPE_F32, 1, 1.0);
    matrix_make(dtable, buckets, H, H + gap, DTYPE_F32, 2, 1.0);
    matrix_make(near, H, bias_table_n, bias_table_n, DTYPE_F32, 3, 1.0);
    matrix_make(near_grad, H, bias_table_n, bias_table_n, DTYPE_F32, 4, 1.0);
    matrix_make(offset, 1, H, H, DTYPE_F32, 5, 1.0);
    matrix_make(offset_grad, 1, H, H, DTYPE_F32, 6, 1.0);
    for (int32_t d = 0; d < bias_table_n; d++) bucket[(size_t)d] = d < 3 ? d : 3 + d % (buckets - 4);
    cudaMalloc((void **)&bucket_dev, bucket.size() * 4);
    cudaMemcpy(bucket_dev, bucket.data(), bucket.size() * 4, cudaMemcpyHostToDevice);
    memset(&bias, 0, sizeof bias);
    bias.bias_table_n = bias_table_n;
    bias.bias_table_grad_dev = (float *)near_grad.view.data;
    bias.tail_offset_grad_dev = (float *)offset_grad.view.data;
    int failures = cuda_bias_expand(NULL, &bias, (float *)near.view.data, (float *)offset.view.data,
                                    &table.view, bucket_dev, multiplier) != 0;
    failures +=
        cuda_bias_reduce(NULL, &dtable.view, &bias, bucket_dev, multiplier, accumulate) != 0;
    cudaDeviceSynchronize();
    failures += bias.bias_table_dev != near.view.data || bias.tail_offset_dev != offset.view.data;
    std::vector<float> got = matrix_read(near.view), far = matrix_read(offset.view);
    std::vector<float> sums = matrix_read(dtable.view);
    for (int32_t h = 0; h < H; h++) {
        std::vector<double> want((size_t)buckets, 0.0), size((size_t)buckets, 1e-30);
        for (int32_t b = 0; b < buckets && accumulate; b++)
            want[(size_t)b] = dtable.host[(size_t)(b * H + h)];
        for (int32_t d = 0; d <= bias_table_n; d++) {
            size_t b = (size_t)(d < bias_table_n ? bucket[(size_t)d] : buckets - 1);
            double entry = table.host[b * (size_t)H + (size_t)h] * (double)multiplier;
            float is = d < bias_table_n ? got[(size_t)(h * bias_table_n + d)] : far[(size_t)h];
            double more =
                d < bias_table_n ? near_grad.host[(size_t)(h * bias_table_n + d)] : offset_grad.host[(size_t)h];
            worst_see(w, is, entry, 0x1p-24 * fabs(entry));
            want[b] += more * (double)multiplier;
            size[b] += fabs(more * (double)multiplier);
        }
        for (int32_t b = 0; b < buckets; b++)
            worst_see(v, sums[(size_t)(b * H + h)], want[(size_t)b],
                      bias_table_n * 0x1p-23 * (size[(size_t)b] + fabs(want[(size_t)b])));
    }
    failures += worst_report(w) + worst_report(v);
    if (failures)
        printf("  buckets=%d H=%d bias_table_n=%d accumulate=%d\n", buckets, H, bias_table_n, accumulate);
    for (struct matrix *m : {&table, &dtable, &near, &near_grad, &offset, &offset_grad})
        cudaFree(m->view.data);
    cudaFree(bucket_dev);
    return failures;
}

int main(void)
{
    int failures = 0;
    for (int mix = 0; mix < 8; mix++) {
        enum dtype dtype = mix & 1 ? DTYPE_BF16 : DTYPE_F32;
        int layout = mix >> 1 & 1, inverse = mix >> 2 & 1;
        failures += rotary_agrees(2, 7, 3, 16, 0, dtype, layout, inverse);
        failures += rotary_agrees(1, 33, 4, 128, 8, dtype, layout, inverse);
        failures += rotary_agrees(2, 5, 2, 8, 0, dtype, layout, inverse);
        failures += rotary_agrees(1, 6, 5, 64, 3, dtype, layout, inverse);
        failures += rotary_agrees(3, 3, 1, 6, 1, dtype, layout, inverse);
        failures += rotary_agrees(1, 2, 40, 32, 0, dtype, layout, inverse);
    }
    for (int accumulate = 0; accumulate < 2; accumulate++) {
        failures += bias_agrees(32, 8, 113, 0, accumulate);
        failures += bias_agrees(6, 3, 1, 2, accumulate);
        failures += bias_agrees(9, 16, 40, 1, accumulate);
    }
    printf("attention tables: %s\n", failures ? "FAILED" : "all agree");
    return failures != 0;
}
