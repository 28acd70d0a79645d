/* test_attention.c - the CPU's attention in finer grids than the op table has, for every
 * instruction set and one and two threads. */
#include "harness/test.h"

#include "cpu/cpu_fixture.h"
#include "ops/op_attention.h"

static void check_case(const int32_t size[4], enum form form, float p, struct attention_mask mask)
{
    struct op_bench k;
    op_bench_init(&k, cpu_variant_best(1), 20211004);
    struct attention_case c = op_attention_case(&k, size, form, p);
    c.a.mask = c.ref.mask = mask;
    c.summed_n = (int64_t)size[0] * size[1];
    struct backend *own = k.b;
    for (int variant = 0; variant < CPU_VARIANTS; variant++) {
        if ((k.b = cpu_variant_open(variant)) == NULL) continue;
        op_attention_check(&k, &c); /* memory is on the host and shared by all variants */
        backend_close(k.b);
    }
    k.b = own;
    op_bench_close(&k);
}

TEST(every_head_width_and_bias_form_agrees_with_the_oracle)
{
    static const int32_t widths[] = {2,  4,  6,  8,  10, 12, 14,  16,  18,
                                     20, 30, 32, 64, 80, 96, 112, 128, 256};
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        for (int form = 0; form < FORMS_N; form++)
            check_case((int32_t[]){2, 70, 2, widths[w]}, (enum form)form, 0.0f,
                       (struct attention_mask){0});
}

TEST(lengths_around_a_tile_agree_with_the_oracle)
{
    static const int32_t lengths[] = {1,  2,  7,  8,  15,  16,  17,  31,
                                      33, 63, 64, 65, 127, 128, 129, 200};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (int form = 0; form < FORMS_N; form++)
            for (int32_t D = 8; D <= 12; D += 4)
                check_case((int32_t[]){1, lengths[i], 3, D}, (enum form)form, 0.0f,
                           (struct attention_mask){0});
}

TEST(windows_and_sinks_agree_with_the_oracle)
{
    static const int32_t lengths[] = {1, 4, 7, 15, 16, 33, 65, 130, 200},
                         windows[] = {1, 3, 16, 40, 64}, sinks[] = {0, 1, 4, 20, 70};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (size_t w = 0; w < sizeof windows / sizeof *windows; w++)
            for (size_t s = 0; s < sizeof sinks / sizeof *sinks; s++)
                check_case((int32_t[]){1, lengths[i], 2, 8}, (enum form)((i + w + s) % FORMS_N),
                           w % 2 ? 0.25f : 0.0f,
                           (struct attention_mask){windows[w], sinks[s],
                                                   s % 2 ? SINKS_TEXT : SINKS_CACHE, 0});
}

TEST(narrow_heads_agree_with_the_oracle)
{
    static const int32_t lengths[] = {1, 3, 16, 33, 65, 130, 200}, windows[] = {0, 1, 3, 40, 300};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (size_t w = 0; w < sizeof windows / sizeof *windows; w++)
            for (int32_t narrow = 1; narrow <= 5; narrow += 2)
                check_case((int32_t[]){1, lengths[i], 5, 8}, (enum form)((i + w) % FORMS_N),
                           w % 2 ? 0.25f : 0.0f,
                           (struct attention_mask){windows[w], 0, SINKS_TEXT, narrow});
}

TEST(dropout_takes_the_documented_elements_forward_and_backward)
{
    static const int32_t sizes[][4] = {{2, 8, 3, 8},  {2, 13, 3, 8},  {2, 64, 3, 8},
                                       {2, 70, 3, 8}, {2, 40, 2, 32}, {2, 70, 2, 20}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        check_case(sizes[i], i < 4 ? FORM_SLOPE : FORM_TABLE, i < 4 ? 0.3f : 0.5f,
                   (struct attention_mask){0});
}
