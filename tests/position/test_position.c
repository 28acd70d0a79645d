/* test_position.c - the position methods. */
#include "harness/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "position/position.h"
#include "spec/spec.h"

/* A method at some shape. Everything is in the arena. */
struct fixture {
    const struct position_functions *functions;
    struct spec spec;
    struct position_shape shape;
    struct arena arena;
    int32_t tensors_n;
    struct position_tensor tensor[POSITION_TENSORS_MAX];
    float *values[POSITION_TENSORS_MAX]; /* zeros */
    struct position_bias bias;           /* rows of at most L tokens */
};

static int64_t fixture_elements(const struct fixture *f, int32_t i)
{
    return (int64_t)f->tensor[i].rows * f->tensor[i].cols;
}

static struct position_bias fixture_zeros(struct fixture *f)
{
    int64_t heads = f->shape.heads, table = heads * f->bias.table_n;
    return (struct position_bias){
        .table_n = f->bias.table_n,
        .table = arena_array(&f->arena, (size_t)table + 1, sizeof(float)),
        .tail = arena_array(&f->arena, (size_t)heads, sizeof(float)),
    };
}

static void fixture_open(struct fixture *f, const struct spec *s, int32_t L)
{
    *f = (struct fixture){.functions = position_methods[s->model.position].functions, .spec = *s};
    arena_init(&f->arena);
    f->shape = spec_position_shape(&f->spec);
    f->tensors_n = f->functions->tensors ? f->functions->tensors(&f->shape, f->tensor) : 0;
    for (int32_t i = 0; i < f->tensors_n; i++)
        f->values[i] = arena_array(&f->arena, (size_t)fixture_elements(f, i), sizeof(float));
    f->bias.table_n = position_table_length(f->functions, &f->shape, L);
    f->bias = fixture_zeros(f);
}

static void fixture_close(struct fixture *f)
{
    arena_fini(&f->arena);
}

static void fixture_fill(struct fixture *f)
{
    size_t heads = (size_t)f->shape.heads;
    memset(f->bias.table, 0, heads * (size_t)f->bias.table_n * sizeof(float));
    memset(f->bias.tail, 0, heads * sizeof(float));
    f->functions->fill(&f->shape, (const float *const *)f->values, &f->bias);
}

static float fixture_bias(const struct fixture *f, int32_t h, int32_t distance)
{
    const struct position_bias *b = &f->bias;
    if (distance < b->table_n) return b->table[(int64_t)h * b->table_n + distance];
    return b->table_n > 0 ? b->tail[h] : b->tail[h] * (float)distance;
}

static struct spec spec_of(enum spec_position position, int32_t heads, int32_t width)
{
    struct spec s;
    spec_init(&s);
    s.model.position = position;
    s.model.heads = heads;
    s.model.dim = heads * width;
    s.train.L = 24;
    return s;
}

TEST(styles_are_those_of_figures)
{
    for (int32_t p = 0; p < POSITION_METHODS_N; p++) {
        assert_in_range(position_methods[p].style, 1, 17);  /* of preamble.gp */
        assert_int_not_equal(position_methods[p].style, 5); /* of names that are not methods */
        for (int32_t k = 0; k < p; k++)
            assert_int_not_equal(position_methods[p].style, position_methods[k].style);
    }
}

TEST(slopes_of_eight_and_twelve_heads_are_the_papers)
{
    struct fixture f;
    for (int heads = 8; heads <= 12; heads += 4) {
        struct spec s = spec_of(SPEC_ALIBI, heads, 8);
        fixture_open(&f, &s, 64);
        fixture_fill(&f);
        for (int h = 0; h < heads; h++) {
            double slope = h < 8 ? ldexp(1.0, -(h + 1)) : pow(2.0, -0.5 - (h - 8));
            assert_true(fabs((double)fixture_bias(&f, h, 1) + slope) < (h < 8 ? 0x1p-30 : 1e-7));
            assert_true(fixture_bias(&f, h, 0) == 0.0f);
        }
        fixture_close(&f);
    }
}

TEST(learned_slopes_start_at_the_given_ones)
{
    static const double start[] = {40, 4, 0.03125};
    for (int way = POSITION_EXP; way <= POSITION_SOFTPLUS; way++) {
        struct spec s = spec_of(SPEC_ALIBI_LEARNED, 3, 8);
        struct fixture f;
        s.option.alibi_parametrisation = (enum position_parametrisation)way;
        s.option.alibi_start_slopes = (struct position_list){.n = 3};
        memcpy(s.option.alibi_start_slopes.value, start, sizeof start);
        fixture_open(&f, &s, 64);
        f.functions->start(&f.shape, 0, f.values[0]);
        fixture_fill(&f);
        for (int h = 0; h < 3; h++)
            assert_true(fabs((double)fixture_bias(&f, h, 1) / start[h] + 1) < 1e-6);
        fixture_close(&f);
    }
}

TEST(bam_starts_as_alibi)
{
    for (int way = POSITION_NO_LOCATION; way <= POSITION_LEARNED_LOCATION; way++) {
        struct spec s = spec_of(SPEC_BAM, 12, 8);
        struct fixture f;
        s.option.bam_location = (enum position_location)way;
        fixture_open(&f, &s, 64);
        assert_int_equal(f.tensors_n, 2 + way);
        for (int h = 0; h < 12; h++) f.values[0][h] = 1.0f; /* by mean; the location by zeros */
        assert_true(f.tensor[0].mean == 1.0 && f.tensor[0].spread == 0.0);
        f.functions->start(&f.shape, 1, f.values[1]);
        fixture_fill(&f);
        for (int h = 0; h < 12; h++)
            for (int d = 0; d < 64; d++) {
                double slope = (double)position_alibi_slope(h, 12);
                assert_true(fabs((double)fixture_bias(&f, h, d) + slope * (d + 1e-5)) <
                            1e-6 * (slope * d + 1e-5));
            }
        fixture_close(&f);
    }
}

TEST(drawn_slopes_are_in_proportion_to_their_mean)
{
    float bias[2];
    for (int i = 0; i < 2; i++) {
        struct spec s = spec_of(SPEC_ALIBI, 8, 8);
        struct fixture f;
        s.train.seed = 5;
        s.option.alibi_slopes_source = POSITION_EXPONENTIAL;
        if (i == 1) s.option.alibi_slopes_mean = 8;
        fixture_open(&f, &s, 64);
        fixture_fill(&f);
        bias[i] = fixture_bias(&f, 3, 1);
        fixture_close(&f);
    }
    assert_true(bias[0] < 0 && bias[1] == 8 * bias[0]);
}

TEST(sinusoids_have_two_halves_and_a_zero_row_for_padding)
{
    struct spec s = spec_of(SPEC_SINUSOIDAL, 1, 9);
    struct fixture f;
    float row[9];
    fixture_open(&f, &s, 64);
    f.functions->embedding(&f.shape, 1, row);
    for (int c = 0; c < 9; c++) assert_true(row[c] == 0.0f);
    f.functions->embedding(&f.shape, 5, row);
    for (int j = 0; j < 4; j++) {
        double angle = 5.0 * pow(10000.0, -(double)j / 3.0);
        assert_true(fabs((double)row[j] - sin(angle)) < 1e-6);
        assert_true(fabs((double)row[4 + j] - cos(angle)) < 1e-6);
    }
    assert_true(row[8] == 0.0f);
    fixture_close(&f);
}

TEST(rotations_begin_at_no_angle_and_turn_the_first_pair_by_one)
{
    enum { L = 5, HALF = 4 };
    struct spec s = spec_of(SPEC_ROTARY, 3, 2 * HALF);
    struct fixture f;
    float cosine[L * HALF], sine[L * HALF];
    fixture_open(&f, &s, L);
    position_rotation(f.functions, &f.shape, L, false, cosine, sine);
    for (int t = 0; t < L; t++)
        for (int p = 0; p < HALF; p++) {
            double angle = t * pow(10.0, -p);
            assert_true(fabs((double)cosine[t * HALF + p] - cos(angle)) < 1e-7);
            assert_true(fabs((double)sine[t * HALF + p] - sin(angle)) < 1e-7);
        }
    fixture_close(&f);
}

/* A table whose row is its number gives the bucket of a distance. */
static void open_buckets(struct fixture *f, int32_t buckets, int32_t max_distance)
{
    struct spec s = spec_of(SPEC_T5, 1, 8);
    s.option.t5_buckets = buckets;
    s.option.t5_max_distance = max_distance;
    fixture_open(f, &s, 64);
    for (int32_t b = 0; b < buckets; b++) f->values[0][b] = (float)b;
    fixture_fill(f);
}

TEST(t5_buckets_begin_where_the_authors_of_t5_begin_them)
{
    static const int32_t first[] = {16, 19, 21, 24, 27, 31, 35, 40,
                                    46, 52, 59, 67, 77, 87, 99, 113};
    struct fixture f;
    float bucket = 0.0f;
    open_buckets(&f, 32, 128);
    assert_int_equal(f.bias.table_n, 113);
    for (int32_t distance = 0; distance <= 4096; distance++) {
        if (distance > 0 && distance < 16) bucket = (float)distance;
        for (int i = 0; i < 16; i++)
            if (first[i] == distance) bucket = (float)(16 + i);
        assert_true(fixture_bias(&f, 0, distance) == bucket);
    }
    fixture_close(&f);
}

TEST(a_bucket_border_on_an_exact_power_is_not_missed)
{
    struct fixture f;
    open_buckets(&f, 32, 256);
    /* 16 buckets a factor of 16: every doubling is exactly four buckets. */
    for (int32_t k = 0; k < 4; k++) {
        assert_true(fixture_bias(&f, 0, 16 << k) == (float)(16 + 4 * k));
        if (k) assert_true(fixture_bias(&f, 0, (16 << k) - 1) == (float)(15 + 4 * k));
    }
    assert_true(fixture_bias(&f, 0, 256) == 31.0f);
    assert_true(fixture_bias(&f, 0, 2147483647) == 31.0f);
    fixture_close(&f);
    open_buckets(&f, 4, 8); /* the smallest table: two exact distances, two buckets */
    assert_true(fixture_bias(&f, 0, 2) == 2.0f);
    assert_true(fixture_bias(&f, 0, 4) == 3.0f);
    fixture_close(&f);
}

/* The sum of a bias, each entry times its weight. */
static double weighted(const struct position_bias *bias, const struct position_bias *weight,
                       int32_t heads)
{
    double sum = 0.0;
    for (int64_t i = 0; i < (int64_t)heads * bias->table_n; i++)
        sum += (double)bias->table[i] * (double)weight->table[i];
    for (int32_t h = 0; h < heads; h++) sum += (double)bias->tail[h] * (double)weight->tail[h];
    return sum;
}

static float random_number(uint32_t i, uint32_t stream)
{
    return 2.0f * philox_uniform(philox_word(11, i, 0, stream)) - 1.0f;
}

/* Pulled back, the weights of a weighted sum of the bias are the differences of that sum. */
TEST(gradients_of_every_learned_tensor_are_differences)
{
    for (int32_t p = 0; p < POSITION_METHODS_N; p++) {
        struct spec s = spec_of((enum spec_position)p, 3, 8);
        struct fixture f;
        fixture_open(&f, &s, 40);
        if (f.functions->pullback == NULL) {
            fixture_close(&f);
            continue;
        }
        struct position_bias weight = fixture_zeros(&f);
        float *gradient[POSITION_TENSORS_MAX];
        uint32_t seed = 0;
        for (int64_t i = 0; i < (int64_t)3 * weight.table_n; i++)
            weight.table[i] = random_number(seed++, 1);
        for (int32_t h = 0; h < 3; h++)
            weight.tail[h] = position_table_length(f.functions, &f.shape, 80) > weight.table_n
                                 ? 0.0f /* the table is as long as a row: there is no tail */
                                 : random_number(seed++, 1);
        for (int32_t t = 0; t < f.tensors_n; t++) {
            int64_t n = fixture_elements(&f, t);
            gradient[t] = arena_array(&f.arena, (size_t)n, sizeof(float));
            for (int64_t i = 0; i < n; i++) f.values[t][i] = 0.6f + 0.3f * random_number(seed++, 2);
        }
        f.functions->pullback(&f.shape, (const float *const *)f.values, &weight, gradient);
        for (int32_t t = 0; t < f.tensors_n; t++)
            for (int64_t i = 0; i < fixture_elements(&f, t); i++) {
                const float step = 0x1p-7f, value = f.values[t][i];
                double sum[2];
                for (int side = 0; side < 2; side++) {
                    f.values[t][i] = value + (side == 0 ? -step : step);
                    fixture_fill(&f);
                    sum[side] = weighted(&f.bias, &weight, 3);
                }
                f.values[t][i] = value;
                double slope = (sum[1] - sum[0]) / (2.0 * (double)step);
                if (fabs(slope - (double)gradient[t][i]) > 2e-3 * (1.0 + fabs(slope)))
                    fail_msg("%s: %s[%lld]: difference %g, gradient %g", position_methods[p].name,
                             f.tensor[t].name, (long long)i, slope, (double)gradient[t][i]);
            }
        fixture_close(&f);
    }
}

/* Eight significant bits, to nearest, ties to even. */
static double bf16(double x)
{
    int exponent;
    double share = frexp(x, &exponent);
    return ldexp(nearbyint(share * 256.0), exponent - 8);
}

/* Twelve heads: the slopes 2^-0.5, 2^-1.5 ... of the last four are rounded, keys from 257 on, and
 * products. */
TEST(falcon_rounds_the_bias_of_each_key)
{
    enum { H = 12, L = 300, D = 64 };
    const struct position_functions *f = position_methods[SPEC_ALIBI].functions;
    struct position_options options = {.alibi_bias_max = 8};
    struct position_shape shape = {.heads = H,
                                   .dim = H * D,
                                   .width = D,
                                   .trained_length = L,
                                   .length = L,
                                   .options = &options};
    static float out[H * L];
    int32_t rounded_n = 0;

    assert_false(position_has_key_bias(f, &shape));
    options.alibi_rounding = POSITION_ROUNDED_KEYS;
    assert_true(position_has_key_bias(f, &shape) && f->key_bias(&shape, L, out));
    for (int32_t h = 0; h < H; h++)
        for (int32_t j = 0; j < L; j++) {
            double e_h = h < 8 ? h + 1 : (h - 8) + 0.5, exact = pow(2.0, -e_h) * j / 8.0;
            double want = bf16(bf16(pow(2.0, -e_h)) * bf16(j)) / 8.0;
            assert_true((double)out[h * L + j] == want);
            rounded_n += want != exact;
        }
    assert_true(rounded_n > 1000);
    assert_ok(position_check(SPEC_ALIBI, &shape, &e));
    options.scaling = POSITION_SLOPES;
    assert_fails(ERR_DATA, "rounded or per key", position_check(SPEC_ALIBI, &shape, &e));
}

/* The value of 16 bits of a format with so many bits of exponent; every test value is normal. */
static double value_of(unsigned bits, int exponent_bits)
{
    int fraction_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
    int exponent = (int)(bits >> fraction_bits) - bias;
    return ldexp(1.0 + (bits & ((1u << fraction_bits) - 1)) / ldexp(1.0, fraction_bits), exponent);
}

/* Bits worked out by hand: x = 1.fraction * 2^e, the fraction cut to 7 or 10 bits; a rest above
 * half a unit, or of half a unit on an odd last bit, adds one. */
TEST(an_evaluation_rounds_slopes_distances_and_keys_to_bf16_and_fp16)
{
    static const struct {
        double slope;
        int32_t n;
        unsigned bf16, fp16;
    } rows[] = {
        {1, 256, 0x4380, 0x5C00},         /* 2^8 */
        {1, 257, 0x4380, 0x5C04},         /* bf16: half a unit above the even 256 */
        {1, 259, 0x4382, 0x5C0C},         /* bf16: half a unit above the odd 258 */
        {1, 2047, 0x4500, 0x67FF},        /* fp16: exact */
        {1, 2049, 0x4500, 0x6800},        /* fp16: half a unit above the even 2048 */
        {1, 2051, 0x4500, 0x6802},        /* fp16: half a unit above the odd 2050 */
        {1.0 / 3, 1, 0x3EAB, 0x3555},     /* 1.01010101 01...: up at 7 bits, down at 10 */
        {1.0 / 3, 3, 0x3F80, 0x3C00},     /* bf16: 171 * 3 = 513, 1.00000000 1: down to 1;
                                             fp16: 1365 * 3 = 4095, 1.1111111111 1: up to 1 */
        {0.0078125, 300, 0x4016, 0x40B0}, /* 300 / 128 = 1.00101100 * 2 */
    };
    static const enum position_format formats[] = {POSITION_BF16, POSITION_FP16};
    const struct position_functions *f = position_methods[SPEC_ALIBI].functions;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int k = 0; k < 2; k++) {
            int32_t L = rows[i].n + 1;
            double want = k == 0 ? value_of(rows[i].bf16, 8) : value_of(rows[i].fp16, 5);
            struct position_options options = {.alibi_slopes = {1, {rows[i].slope}},
                                               .alibi_format = formats[k]};
            struct position_shape shape = {
                .heads = 1, .dim = 8, .width = 8, .length = L, .options = &options};
            float table[2100], tail, keys[2100];
            struct position_bias bias = {
                .table_n = f->table_length(&shape, L), .table = table, .tail = &tail};

            assert_int_equal(bias.table_n, L);
            f->fill(&shape, NULL, &bias);
            options.alibi_bias = POSITION_OF_KEY;
            assert_true(f->key_bias(&shape, L, keys));
            assert_int_equal(f->table_length(&shape, L), 0);
            if ((double)-table[L - 1] != want || (double)keys[L - 1] != want)
                fail_msg("%g * %d in %s: %.9g as distance, %.9g as key, want %.9g", rows[i].slope,
                         rows[i].n, k == 0 ? "bf16" : "fp16", (double)-table[L - 1],
                         (double)keys[L - 1], want);
        }
}

TEST(an_evaluation_rounds_no_bias_twice_and_none_beyond_the_range)
{
    struct position_options options = {.alibi_bias_max = 8};
    struct position_shape shape = {
        .heads = 8, .dim = 64, .width = 8, .length = 65504, .options = &options};

    options.alibi_format = POSITION_FP16;
    assert_ok(position_check(SPEC_ALIBI, &shape, &e));
    shape.length = 65520; /* half a unit above 65504 */
    assert_fails(ERR_DATA, "fp16 ends at 65504", position_check(SPEC_ALIBI, &shape, &e));
    options.alibi_format = POSITION_BF16;
    assert_ok(position_check(SPEC_ALIBI, &shape, &e));
    options.scaling = POSITION_SLOPES;
    assert_fails(ERR_DATA, "slopes does not apply", position_check(SPEC_ALIBI, &shape, &e));
    options.scaling = POSITION_UNSCALED;
    options.alibi_rounding = POSITION_ROUNDED_KEYS;
    assert_fails(ERR_DATA, "would replace model.alibi_rounding",
                 position_check(SPEC_ALIBI, &shape, &e));
}

/* The slope of the last of 8 heads is 2^-m. */
TEST(alibi_has_a_largest_exponent)
{
    struct position_options options = {0};
    struct position_shape shape = {.heads = 8, .dim = 64, .width = 8, .options = &options};
    float tail[8];
    struct position_bias bias = {.tail = tail};

    for (int m = 4; m <= 16; m *= 2) {
        options.alibi_bias_max = m;
        position_methods[SPEC_ALIBI].functions->fill(&shape, NULL, &bias);
        for (int h = 0; h < 8; h++) assert_true(tail[h] == (float)-pow(2.0, -m * (h + 1) / 8.0));
    }
}

/* The scalings of pretrained models, of r = 16 turned features of 32 (open-models SPEC.md section
 * 5); yarn with its factor of cosines. */
TEST(scalings_of_pretrained_models_use_the_rotated_width)
{
    enum { R = 16, L0 = 64, T = 200 };
    static const enum position_scaling kinds[] = {POSITION_PI, POSITION_DYNAMIC_NTK, POSITION_YARN,
                                                  POSITION_YARN, POSITION_LLAMA3};
    const double pi = acos(-1.0), s = 4.0, base = 500.0;
    struct spec spec;
    spec_init(&spec);
    struct position_options options = spec.option;
    struct position_shape shape = {.heads = 2,
                                   .dim = 40,
                                   .width = 2 * R,
                                   .trained_length = L0,
                                   .length = T,
                                   .options = &options};
    options.rotary_base = base;
    options.rotary_share = 0.5;
    options.rotary_layout = POSITION_HALF_SPLIT;
    options.scaling_factor = s;
    options.yarn_beta_fast = 8.0;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        bool ends = k == 3; /* of the ramp are exact */
        double theta[R], grown = base * pow(s * T / L0 - (s - 1), R / (R - 2.0));
        double low = R * log(L0 / (2 * pi * 8)) / (2 * log(base));
        double high = R * log(L0 / (2 * pi)) / (2 * log(base));
        options.scaling = kinds[k];
        options.yarn_truncate = ends ? POSITION_EXACT_ENDS : POSITION_WHOLE_ENDS;
        if (!ends) low = floor(low), high = ceil(high);
        low = fmax(low, 0.0);
        high = fmin(high, R - 1);
        assert_ok(position_check(SPEC_ROTARY, &shape, &e));
        double factor = position_methods[SPEC_ROTARY].functions->frequencies(&shape, theta);
        assert_true(fabs(factor - (kinds[k] == POSITION_YARN ? 0.1 * log(s) + 1 : 1)) < 1e-15);
        for (int p = 0; p < R / 2; p++) {
            double plain = pow(base, -2.0 * p / R), want = plain / s;
            double share = fmin(fmax((p - low) / (high - low), 0.0), 1.0);
            double kept = fmin(fmax((L0 * plain / (2 * pi) - 1) / (4 - 1), 0.0), 1.0);
            if (kinds[k] == POSITION_DYNAMIC_NTK) want = pow(grown, -2.0 * p / R);
            if (kinds[k] == POSITION_YARN) want = (1 - share) * plain + share * plain / s;
            if (kinds[k] == POSITION_LLAMA3) want = (1 - kept) * plain / s + kept * plain;
            if (fabs(theta[p] / want - 1) > 1e-14) fail_msg("scaling %zu, pair %d", k, p);
        }
    }
}

TEST(the_table_of_configs_readme_has_every_method)
{
    struct arena a;
    char *text = test_read("configs/README.md");

    arena_init(&a);
    for (int32_t m = 0; m < POSITION_METHODS_N; m++) {
        const struct position_method *method = &position_methods[m];
        const char *start = arena_printf(&a, "\n| `%s` | ", method->name);
        const char *row = strstr(text, start);
        if (!row) fail_msg("%s has no row", method->name);
        row = arena_strndup(&a, row + 1, strcspn(row + 1, "\n"));
        if (!strstr(row, method->bounded ? "| not defined |" : "| defined |"))
            fail_msg("beyond L_train: %s", row);
    }
    for (int i = 1; position_scaling_names[i]; i++)
        if (!strstr(text, arena_printf(&a, "\n| `%s` | `", position_scaling_names[i])))
            fail_msg("scaling %s has no row", position_scaling_names[i]);
    arena_fini(&a);
    free(text);
}
