/* test_batches.c - training batches: their content, order and invariants. */
#include <stdlib.h>
#include <string.h>

#include "data/batches.h"
#include "data/data_support.h"

enum { N = 1003, FIRST_ID = 10 };

/* A stream whose ids state their position: FIRST_ID + position. */
static struct tokens stream(int64_t n)
{
    static int32_t ids[200000];
    assert_in_range(n, 1, sizeof ids / sizeof *ids);
    for (int32_t i = 0; i < n; i++) ids[i] = FIRST_ID + i;
    return data_tokens(ids, n);
}

static struct batches *opened(const struct tokens *s, int32_t L, int32_t shards,
                              int32_t shard_tokens, uint64_t seed)
{
    struct batches_options o = {
        .L = L, .shards = shards, .shard_tokens = shard_tokens, .seed = seed};
    struct batches *b;
    assert_ok(batches_open(&b, s, &o, &e));
    return b;
}

static struct batch got(struct batches *b, int64_t update, int32_t shard)
{
    struct batch batch;
    assert_ok(batches_get(b, update, shard, &batch, &e));
    return batch;
}

/* Marks the targets of a batch and checks that each source is the id before its target. */
static void mark(const struct batch *batch, int *seen)
{
    int64_t targets = 0;
    for (int64_t i = 0; i < (int64_t)batch->rows * batch->length; i++) {
        int32_t target = batch->target[i];
        if (target == 1) {
            assert_int_equal(batch->source[i], 1);
            continue;
        }
        targets++;
        seen[target - FIRST_ID]++;
        assert_int_equal(batch->source[i], target == FIRST_ID ? 2 : target - 1);
    }
    assert_int_equal(batch->targets_n, targets);
}

TEST(every_token_is_scored_exactly_once_an_epoch)
{
    const struct tokens s = stream(N);
    struct batches *b = opened(&s, 16, 3, 100, 1);
    int64_t updates = batches_epoch_updates(b);
    assert_int_equal(batches_rows_max(b), 6);
    assert_int_equal(updates, 4); /* 63 chunks, 11 batches */
    for (int64_t epoch = 0; epoch < 3; epoch++) {
        int seen[N] = {0}, shards = 0;
        for (int64_t u = epoch * updates; u < (epoch + 1) * updates; u++) {
            int last;
            assert_int_equal(batches_epoch_of(b, u, &last), epoch + 1);
            assert_int_equal(last, u == (epoch + 1) * updates - 1);
            for (int32_t shard = 0; shard < 3; shard++) {
                struct batch batch = got(b, u, shard);
                shards += batch.rows > 0;
                mark(&batch, seen);
            }
        }
        assert_int_equal(shards, 11);
        for (int i = 0; i < N; i++) assert_int_equal(seen[i], 1);
        assert_int_equal(got(b, (epoch + 1) * updates - 1, 2).rows, 0);
    }
    batches_close(b);
}

/* A batch's rows as one number that does not depend on their order, and its place by its rows. */
static uint64_t fingerprint(const struct batch *batch)
{
    uint64_t sum = 0;
    for (int32_t row = 0; row < batch->rows; row++) {
        uint64_t h = (uint64_t)batch->target[(int64_t)row * batch->length] * 0x9E3779B97F4A7C15u;
        sum += (h ^ h >> 29) * 0xBF58476D1CE4E5B9u;
    }
    return sum;
}

TEST(batches_are_the_same_every_epoch_and_their_order_is_not)
{
    enum { BATCHES = 11, EPOCHS = 4 };
    const struct tokens s = stream(N);
    struct batches *b = opened(&s, 16, 1, 100, 1);
    uint64_t order[EPOCHS][BATCHES];
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        for (int i = 0; i < BATCHES; i++) {
            struct batch batch = got(b, epoch * BATCHES + i, 0);
            order[epoch][i] = fingerprint(&batch);
        }
        if (epoch == 0) continue;
        for (int i = 0; i < BATCHES; i++) {
            int there = 0;
            for (int j = 0; j < BATCHES; j++) there += order[epoch][i] == order[0][j];
            assert_int_equal(there, 1);
        }
        assert_memory_not_equal(order[epoch], order[epoch - 1], sizeof order[0]);
    }
    batches_close(b);
}

TEST(the_short_chunk_is_the_first_row_of_a_full_batch_and_padded)
{
    const struct tokens s = stream(N); /* 62 chunks of 16 and one of 11 */
    struct batches *b = opened(&s, 16, 1, 100, 5);
    int padded = 0;
    for (int64_t u = 0; u < batches_epoch_updates(b); u++) {
        struct batch batch = got(b, u, 0);
        assert_int_equal(batch.length, 16);
        if (batch.targets_n == (int64_t)batch.rows * 16) continue;
        padded++;
        assert_int_equal(batch.rows, 6);
        assert_int_equal(batch.targets_n, 6 * 16 - 5);
        assert_int_equal(batch.target[0], FIRST_ID + 62 * 16);
        assert_int_equal(batch.target[10], FIRST_ID + N - 1);
        for (int i = 11; i < 16; i++) assert_int_equal(batch.target[i], 1);
    }
    assert_int_equal(padded, 1);
    batches_close(b);
}

/* Greedy packing as in SPEC section 3, of lengths alone. */
static int64_t packed_greedily(int64_t n, int32_t L, int32_t most)
{
    int64_t batches = 0, rows = 0;
    for (int64_t chunk = 0; chunk * L < n; chunk++) {
        bool is_short = chunk == 0 && n % L != 0; /* lengths rise */
        int64_t longest = is_short && n > L ? n % L : n < L ? n : L;
        if (rows == 0 || (rows + 1) * longest > most) {
            batches++;
            rows = 0;
        }
        rows++;
    }
    return batches;
}

TEST(packing_agrees_with_the_greedy_rule_at_many_sizes)
{
    for (int64_t n = 1; n < 60; n++) {
        for (int32_t L = 1; L < 12; L++) {
            for (int32_t most = L; most < 40; most += 3) {
                const struct tokens s = stream(n);
                struct batches *b = opened(&s, L, 1, most, 3);
                assert_int_equal(batches_epoch_updates(b), packed_greedily(n, L, most));
                int seen[64] = {0};
                for (int64_t u = 0; u < batches_epoch_updates(b); u++) {
                    struct batch batch = got(b, u, 0);
                    assert_true((int64_t)batch.rows * batch.length <= most);
                    assert_true(batch.rows <= batches_rows_max(b));
                    mark(&batch, seen);
                }
                for (int64_t i = 0; i < n; i++) assert_int_equal(seen[i], 1);
                batches_close(b);
            }
        }
    }
}

TEST(shards_of_9216_hold_the_rows_of_the_paper)
{
    static const int32_t cases[][2] = {{512, 18}, {1024, 9}, {1536, 6}, {2048, 4}, {3072, 3}};
    const struct tokens s = stream(200000);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct batches *b = opened(&s, cases[i][0], 8, 9216, 1);
        assert_int_equal(batches_rows_max(b), cases[i][1]);
        batches_close(b);
    }
}

TEST(any_update_can_be_asked_for_in_any_order)
{
    const struct tokens s = stream(N);
    struct batches *a = opened(&s, 16, 2, 64, 9), *b = opened(&s, 16, 2, 64, 9);
    for (int64_t u = 99; u >= 0; u -= 7) {
        for (int32_t shard = 1; shard >= 0; shard--) {
            got(a, (u * 31) % 200, 0);
            struct batch first = got(a, u, shard), second = got(b, u, shard);
            size_t bytes = (size_t)first.rows * (size_t)first.length * 4;
            assert_int_equal(first.rows, second.rows);
            assert_memory_equal(first.target, second.target, bytes);
            assert_memory_equal(first.source, second.source, bytes);
        }
    }
    batches_close(a);
    batches_close(b);
}

/* Compares the shapes of one update with its shards; returns the number of rows. */
static int64_t compared(struct batches *b, int64_t update, int32_t shards)
{
    struct batch_shape shape[8];
    struct batch first = got(b, update, 0);
    int32_t kept = first.target[0];
    int64_t rows = 0;
    assert_ok(batches_shape(b, update, shape, &e));
    assert_int_equal(first.target[0], kept); /* its ids are still there */
    for (int32_t shard = 0; shard < shards; shard++) {
        struct batch batch = got(b, update, shard);
        assert_int_equal(shape[shard].rows, batch.rows);
        assert_int_equal(shape[shard].length, batch.length);
        assert_int_equal(shape[shard].targets_n, batch.targets_n);
        rows += batch.rows;
    }
    return rows;
}

TEST(shapes_are_those_of_the_shards_without_their_ids)
{
    /* tokens, L, shards, shard_tokens: a short chunk, a last update with fewer shards, a last batch
     * with fewer rows; one batch that is shorter than L; nothing uneven. */
    static const int32_t cases[][4] = {{N, 16, 3, 100},  {N, 16, 8, 100},  {5, 16, 2, 64},
                                       {960, 16, 2, 96}, {961, 16, 6, 48}, {70, 7, 1, 7}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int32_t *c = cases[i];
        const struct tokens s = stream(c[0]);
        struct batches *b = opened(&s, c[1], c[2], c[3], 3);
        int64_t rows = 0, updates = batches_epoch_updates(b);
        for (int64_t u = 0; u < updates; u++) rows += compared(b, u, c[2]);
        assert_int_equal(rows, (c[0] - 1) / c[1] + 1);
        for (int64_t u = 3 * updates - 1; u >= updates; u--) compared(b, u, c[2]);
        batches_close(b);
    }
}

TEST(another_seed_packs_other_batches)
{
    const struct tokens s = stream(N);
    struct batches *a = opened(&s, 16, 1, 100, 1), *b = opened(&s, 16, 1, 100, 2);
    int same = 0;
    for (int64_t i = 0; i < 11; i++) {
        for (int64_t j = 0; j < 11; j++) {
            struct batch first = got(a, i, 0), second = got(b, j, 0);
            same += fingerprint(&first) == fingerprint(&second);
        }
    }
    assert_int_equal(same, 0);
    batches_close(a);
    batches_close(b);
}

TEST(options_that_cannot_be_are_rejected)
{
    const struct tokens s = stream(N);
    const struct tokens none = data_tokens(s.ids, 0);
    struct batches_options o = {.L = 128, .shards = 1, .shard_tokens = 127};
    struct batches *b;
    assert_fails(ERR_DATA, "a row of 128 tokens does not fit into a shard of 127",
                 batches_open(&b, &s, &o, &e));
    o.shard_tokens = 128;
    assert_fails(ERR_DATA, "no tokens", batches_open(&b, &none, &o, &e));
    o.shards = 0;
    assert_fails(ERR_DATA, "0 shards", batches_open(&b, &s, &o, &e));
    b = opened(&s, 16, 2, 100, 1);
    struct batch batch;
    assert_int_equal(batches_get(b, 0, 2, &batch, &e), ERR_INTERNAL);
    assert_int_equal(batches_get(b, -1, 0, &batch, &e), ERR_INTERNAL);
    assert_int_equal(batches_shape(b, -1, (struct batch_shape[2]){{0}}, &e), ERR_INTERNAL);
    batches_close(b);
}

TEST(a_shuffle_has_every_number_once_and_differs_by_key_and_stream)
{
    enum { M = 5000 };
    static int32_t a[M], b[M], seen[M];
    batches_shuffle(a, M, 7, 1);
    for (int i = 0; i < M; i++) seen[a[i]]++;
    for (int i = 0; i < M; i++) assert_int_equal(seen[i], 1);
    batches_shuffle(b, M, 7, 1);
    assert_memory_equal(a, b, sizeof a);
    batches_shuffle(b, M, 8, 1);
    assert_memory_not_equal(a, b, sizeof a);
    batches_shuffle(b, M, 7, 2);
    assert_memory_not_equal(a, b, sizeof a);
    batches_shuffle(b, 0, 7, 1);
    batches_shuffle(b, 1, 7, 1);
    assert_int_equal(b[0], 0);
}

TEST(all_shuffles_of_four_are_equally_frequent)
{
    enum { KEYS = 24000 };
    int32_t counts[256] = {0}, p[4];
    int different = 0;
    double chi2 = 0;
    for (uint64_t key = 0; key < KEYS; key++) {
        batches_shuffle(p, 4, key, 3);
        counts[p[0] << 6 | p[1] << 4 | p[2] << 2 | p[3]]++;
    }
    for (int i = 0; i < 256; i++) {
        if (counts[i] == 0) continue;
        different++;
        chi2 += (counts[i] - 1000.0) * (counts[i] - 1000.0) / 1000.0;
    }
    assert_int_equal(different, 24);
    assert_true(chi2 < 49.7); /* 23 degrees of freedom: exceeded once in a thousand */
}
