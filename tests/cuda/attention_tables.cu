// attention_tables.cu - rotary positions against plain loops.
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
    struct rotary_args args = {x.view, cosine.view, sine.view, T, H, layout, inverse != 0};
    int failures = cuda_rotary(NULL, &args) != 0;
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
    printf("attention tables: %s\n", failures ? "FAILED" : "all agree");
    return failures != 0;
}
