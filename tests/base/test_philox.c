/* test_philox.c - known answers of Philox 4x32-10, and the statistics on which dropout relies. */
#include "harness/test.h"

#include "base/philox.h"

TEST(known_answers_of_the_published_generator_hold)
{
    static const struct {
        uint32_t counter[4], key[2], want[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const uint32_t *c = known[i].counter;
        uint64_t key = known[i].key[0] | (uint64_t)known[i].key[1] << 32;
        struct philox_block b = philox_4x32(key, c[0], c[1], c[2], c[3]);
        for (int w = 0; w < 4; w++) assert_int_equal(b.word[w], known[i].want[w]);
    }
}

TEST(a_word_is_its_blocks_word)
{
    for (uint64_t element = (1ull << 34) - 6; element < (1ull << 34) + 6; element++) {
        uint64_t block = element / 4;
        struct philox_block b = philox_4x32(7, (uint32_t)block, (uint32_t)(block >> 32), 11, 13);
        assert_int_equal(philox_word(7, element, 11, 13), b.word[element % 4]);
    }
}

TEST(the_share_kept_by_dropout_is_one_minus_p)
{
    static const float rates[] = {0.1f, 0.3f, 0.5f, 0.9f};
    enum { N = 200000 };
    for (size_t r = 0; r < sizeof rates / sizeof *rates; r++) {
        uint32_t below = philox_keep_below(rates[r]);
        double kept = 0;
        for (uint64_t i = 0; i < N; i++) kept += philox_word(1, i, 2, (uint32_t)r) < below;
        double sigma = 1.0 / 2 / 447.2; /* at most sqrt(p (1-p) / N) */
        assert_true(kept / N > 1 - rates[r] - 5 * sigma && kept / N < 1 - rates[r] + 5 * sigma);
    }
    assert_int_equal(philox_keep_below(0), 0xffffffffu);
}

TEST(a_uniform_is_between_zero_and_one)
{
    assert_true(philox_uniform(0) == 0.0f);
    assert_true(philox_uniform(0xffffffffu) < 1.0f);
    assert_true(philox_uniform(0x80000000u) == 0.5f);
}
