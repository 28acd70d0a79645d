/* test_memory.c - the table of buffers: offsets do not overlap, sums match numbers computed by
 * hand, and only position tables depend on the row length. */
#include "harness/test.h"

#include <stdio.h>

#include "shape/memory.h"
#include "shape/shape_specs.h"

enum { PARAMETERS = 246933504 };

static struct shape_memory plan_of(const struct spec *s, struct shape_capacity *capacity)
{
    struct shape_memory out;
    shape_capacity(capacity, s);
    shape_memory(&out, s, capacity);
    return out;
}

static int64_t end_of(const struct shape_buffer *b)
{
    return b->offset + b->copies_n * b->copy_bytes;
}

static void assert_apart(const struct shape_memory *k)
{
    int64_t most = 0;
    for (int32_t i = 0; i < SHAPE_BUFFERS_N; i++) {
        const struct shape_buffer *a = &k->buffer[i];
        if (a->copies_n == 0) continue;
        assert_true(a->offset >= 0 && a->offset % 64 == 0 && a->copy_bytes % 64 == 0);
        most = end_of(a) > most ? end_of(a) : most;
        for (int32_t j = i + 1; j < SHAPE_BUFFERS_N; j++) {
            const struct shape_buffer *b = &k->buffer[j];
            bool meet = b->copies_n > 0 && (a->alive & b->alive) != 0;
            if (meet && a->offset < end_of(b) && b->offset < end_of(a))
                fail_msg("%s and %s share bytes while both are alive", a->name, b->name);
        }
    }
    assert_int_equal(most, k->pool_bytes);
}

TEST(buffers_alive_together_never_share_bytes)
{
    for (int32_t i = 0; i < 32; i++) {
        struct spec s =
            i & 4 ? shape_specs_large(512) : shape_specs_paper((enum spec_position)(i & 3), 512);
        struct shape_capacity capacity;
        s.model.position = (enum spec_position)(i & 3);
        s.model.final_norm = (i & 4) != 0;
        s.train.precision = s.eval.precision = i & 8 ? SPEC_BF16 : SPEC_FP32;
        s.kind = i & 16 ? SPEC_EVAL : SPEC_TRAIN;
        s.eval.L = 640;
        struct shape_memory k = plan_of(&s, &capacity);
        assert_apart(&k);
        assert_int_equal(k.total_bytes,
                         k.arrays_bytes + k.bf16_bytes + k.pool_bytes + k.step_bytes);
    }
}

/* A token of an evaluation takes the stream, a norm, a branch, the stream after attention and the
 * inner width: 8 C for F = 4 C, as q, k, v and attention fit where the inner part is. A large
 * vocabulary's logits take the layers' place, beside stream, norm, branch and chosen rows. */
TEST(an_evaluation_needs_one_layer_or_one_chunk_of_logits)
{
    struct spec s = shape_specs_paper(SPEC_ALIBI, 512);
    struct shape_capacity capacity;
    s.kind = SPEC_EVAL;
    s.eval.L = 512;
    struct shape_memory k = plan_of(&s, &capacity);
    int64_t n = INT64_C(512) * capacity.rows_max, c = 1024, lists = 8 * n + 64;
    int64_t filling = (5 * 3 + 2) * (INT64_C(256) - 1); /* lists of three bands, losses of two */
    int64_t head = n * (4 * c + 256) * 4 + INT64_C(128) * 207744 * 4;
    int64_t fixed = 320 * c * 4 + (lists + filling) * 4 + (n + 1) * 2 * 4 + 64;
    assert_int_equal(n, 2048);
    assert_in_range(k.pool_bytes, head + fixed, head + fixed + 64);
    assert_int_equal(k.arrays_bytes, INT64_C(4) * k.elements_n);
    assert_in_range(k.elements_n, PARAMETERS, PARAMETERS + 16384);

    s.model.softmax = SPEC_PLAIN;
    s.model.cutoffs_n = 0;
    s.data.vocab = 2048;
    k = plan_of(&s, &capacity);
    int64_t layer = n * 8 * c * 4 + lists * 4;
    assert_in_range(k.pool_bytes, layer, layer + n * (8 + 2 + 2) * 4 + 1024);
}

/* Bytes of a bias per additional token of a row: a number for each head, with a gradient if it is
 * learned. */
static int64_t bias_bytes(const struct spec *s)
{
    const struct position_functions *f = position_methods[s->model.position].functions;
    const struct position_shape shape = spec_position_shape(s);
    int32_t grown = position_table_length(f, &shape, 65) - position_table_length(f, &shape, 64);
    return grown * s->model.heads * (f->pullback != NULL ? 8 : 4);
}

TEST(memory_at_equal_tokens_grows_with_the_row_length_by_positions_only)
{
    static const int32_t lengths[] = {64, 512, 1024, 3072};
    struct shape_capacity capacity;
    for (int32_t position = 0; position < POSITION_METHODS_N; position++) {
        struct spec first = shape_specs_paper((enum spec_position)position, 64);
        struct shape_memory base = plan_of(&first, &capacity);
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            struct spec s = shape_specs_paper((enum spec_position)position, lengths[i]);
            struct shape_memory k = plan_of(&s, &capacity);
            int64_t table = position == SPEC_SINUSOIDAL ? 1024 * 4 : 0;
            if (position == SPEC_ROTARY) table = 2 * 64 * 4;
            if (position == SPEC_XPOS) table = 4 * 64 * 4; /* k has its own */
            if (position == SPEC_LEARNED)                  /* they are parameters */
                table = INT64_C(1024) * 4 * (k.slots_n + k.gradients_n - 1);
            table += bias_bytes(&s);
            assert_int_equal(capacity.rows_max * capacity.length_max, 9216);
            assert_int_equal(k.total_bytes - base.total_bytes, table * (lengths[i] - 64));
        }
    }
}

TEST(capacities_are_those_computed_by_hand)
{
    struct shape_capacity capacity;
    struct spec s = shape_specs_paper(SPEC_ALIBI, 16);

    s.train.shard_tokens = 56; /* three rows of 16 */
    s.train.validate_L = 20;
    s.data.train_tokens = 1000;
    shape_capacity(&capacity, &s);
    assert_true(capacity.train && capacity.rows_max == 3 && capacity.length_max == 20);
    assert_int_equal(capacity.scored_max, 40); /* 48 tokens hold two rows of 20 */
    assert_int_equal(shape_capacity_validation(&capacity, &s.train), 2);
    s.train.validate_L = 100;
    s.data.train_tokens = 17; /* two blocks in all */
    shape_capacity(&capacity, &s);
    assert_true(capacity.rows_max == 1 && capacity.length_max == 100 && capacity.scored_max == 100);
    assert_int_equal(shape_capacity_validation(&capacity, &s.train), 1);

    shape_capacity_scores(&capacity, 100, 100, 1, SPEC_FP32);
    assert_true(!capacity.train && capacity.rows_max == 20 && capacity.length_max == 100);
    assert_int_equal(capacity.scored_max, 2000);
    shape_capacity_scores(&capacity, 100, 1, 1, SPEC_BF16);
    assert_true(capacity.scored_max == 20 && capacity.precision == SPEC_BF16);
    shape_capacity_scores(&capacity, 100, 1, 3,
                          SPEC_FP32); /* 19 rows serve 3 lengths, the first one all */
    assert_int_equal(capacity.scored_max, 19 * 3 + 100);
    shape_capacity_scores(&capacity, 5000, 5000, 1, SPEC_FP32);
    assert_true(capacity.rows_max == 1 && capacity.scored_max == 5000);
}

/* State 10 bytes a parameter (masters, rounded copy, momentum), gradients of one, two, four and
 * eight shards 16 bytes, and for each token and layer 12 C of 2 bytes and a mask of 4 C bits: 2.47
 * GB, 3.95 GB and 3.70 GB; the rest, of which 0.37 GB are logits, is under 0.55 GB. */
TEST(the_paper_s_model_takes_eleven_gigabytes_in_bf16)
{
    struct spec s = shape_specs_paper(SPEC_ALIBI, 512);
    struct shape_capacity capacity;
    s.train.precision = SPEC_BF16;
    struct shape_memory k = plan_of(&s, &capacity);
    int64_t kept = INT64_C(16) * 9216 * (12 * 1024 * 2 + 4 * 1024 / 8);
    assert_int_equal(k.arrays_bytes + k.bf16_bytes, INT64_C(26) * k.elements_n);
    assert_true(k.pool_bytes > kept);
    assert_true(k.pool_bytes < kept + INT64_C(550000000));
    assert_in_range(k.total_bytes, INT64_C(10000000000), INT64_C(11000000000));
    printf("247M, bf16, 9,216 tokens: %.3f GB, of it activations %.3f GB\n",
           (double)k.total_bytes / 1e9, (double)k.pool_bytes / 1e9);
}

/* A block for each level of the tree of a rank's shards; a piece of at most 32 MB of each other
 * rank of a round, 256 MB in all. Two rounds share this memory. */
TEST(a_rank_has_a_block_for_each_level_and_a_piece_of_each_other_rank)
{
    static const struct {
        int32_t shards, ranks_n, gradients_n;
        int64_t staging_bytes;
        int32_t node_ranks;
    } cases[] = {
        {1, 0, 1, 0, 0},
        {2, 1, 2, 0, 0},
        {3, 1, 3, 0, 0},
        {6, 1, 4, 0, 0},
        {8, 1, 4, 0, 0},
        {8, 2, 3, 32 << 20, 0},
        {8, 4, 2, 3 * 32 << 20, 0},
        {8, 8, 1, 7 * 32 << 20, 0},
        {6, 4, 2, 3 * 32 << 20, 0},
        {65536, 1, 17, 0, 0},
        {128, 128, 1, 127 * (2 << 20), 0},
        {8, 8, 1, 7 * 32 << 20, 8},
        {8, 8, 1, 3 * 32 << 20, 4}, /* on a node */
        {8, 8, 1, 3 * 32 << 20, 2}, /* between nodes */
        {32, 32, 1, 15 * 16 << 20, 2},
        {128, 128, 1, 7 * 32 << 20, 8},
        {128, 128, 1, 127 * (2 << 20), 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct spec s = shape_specs_paper(SPEC_ALIBI, 512);
        struct shape_capacity capacity;
        struct shape_memory k;
        s.train.shards = cases[i].shards;
        shape_capacity(&capacity, &s);
        capacity.ranks_n = cases[i].ranks_n;
        capacity.node_ranks = cases[i].node_ranks;
        shape_memory(&k, &s, &capacity);
        assert_int_equal(k.gradients_n, cases[i].gradients_n);
        assert_int_equal(k.arrays_bytes, 4 * k.elements_n * (k.slots_n + k.gradients_n - 1));
        assert_int_equal(k.step_bytes, SHAPE_STEP_BYTES + 8 * shape_leaves(cases[i].shards));
        assert_int_equal(k.staging_bytes, cases[i].staging_bytes);
        assert_int_equal(k.total_bytes, k.arrays_bytes + k.bf16_bytes + k.pool_bytes +
                                            k.step_bytes + k.staging_bytes);
    }
}

TEST(logits_are_computed_for_a_chunk_of_rows)
{
    struct spec s = shape_specs_large(512);
    struct shape_capacity capacity;
    struct shape_memory k = plan_of(&s, &capacity);
    assert_int_equal(k.buffer[SHAPE_LOGITS].cols, 128 * INT64_C(50304));
    assert_int_equal(shape_logits_stride(50265), 50304);
    assert_int_equal(shape_logits_stride(64), 64);
    const struct shape_capacity fp32 = {.precision = SPEC_FP32}, bf16 = {.precision = SPEC_BF16};
    const struct shape_capacity streamed = {.streamed = true};
    assert_int_equal(shape_logits_rows(1, &fp32, true), 512);
    assert_int_equal(shape_logits_rows(8192, &fp32, true), 512);
    assert_int_equal(shape_logits_rows(16384, &fp32, true), 256);
    assert_int_equal(shape_logits_rows(65536, &fp32, true), 128);
    assert_int_equal(shape_logits_rows(250880, &streamed, false), 512);
    assert_int_equal(shape_logits_rows(1, &bf16, true), 16384);
    assert_true(shape_logits_rows(20002, &bf16, true) >= 9216); /* a shard at once */
    assert_true(shape_logits_rows(20002, &bf16, false) * 20002 * 4 < 90000000);
    for (int train = 0; train < 2; train++)
        assert_int_equal(shape_logits_rows(20002, &fp32, train), 208);
}

TEST(a_benchmark_has_capacity_for_its_own_rows_in_mode_eval)
{
    static const struct {
        int32_t mode, rows, L, rows_max, length_max, scored_max;
    } cases[] = {
        {1, 0, 0, 18, 512, 9216},    {1, 1, 0, 1, 512, 512},         {1, 0, 3072, 3, 3072, 9216},
        {1, 2, 3072, 2, 3072, 6144}, {1, 0, 12512, 1, 12512, 12512}, {0, 1, 3072, 18, 512, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct spec s = shape_specs_paper(SPEC_ALIBI, 512);
        struct shape_capacity capacity;
        s.kind = SPEC_BENCH;
        s.bench_mode = cases[i].mode;
        s.bench_rows = cases[i].rows;
        s.bench_L = cases[i].L;
        shape_capacity(&capacity, &s);
        assert_int_equal(capacity.train, cases[i].mode == 0);
        assert_int_equal(capacity.rows_max, cases[i].rows_max);
        assert_int_equal(capacity.length_max, cases[i].length_max);
        assert_int_equal(capacity.scored_max, cases[i].scored_max);
    }
}
