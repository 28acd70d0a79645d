/* test_graph.c - which passes of a model run directly, are captured and are launched, and that
 * padded lists change nothing; on the CPU, for which graph_slots.h emulates graphs. */
#include "harness/test.h"

#include <math.h>

#include "model/graph_slots.h"
#include "model/model_bench.h"

enum { ROWS = 2, LENGTH = 19, TOKENS = ROWS * LENGTH, GRAPHS = 64 };

TEST_EACH(NULL, model_bench_fini)

static struct model_batch make_batch(int32_t rows, int32_t length, uint64_t seed)
{
    struct model_batch batch = model_bench_batch(NULL, rows, length, seed);
    batch.first_row = 3;
    return batch;
}

/* The results of a batch. */
struct trace {
    double loss;
    const float *gradients, *logp;
    int64_t gradients_n;
};

/* A batch on a model with exactly its capacity; padded on a checking backend. */
static struct trace trace_of(const struct spec *s, int32_t rows, int32_t length, bool filled)
{
    struct backend *b = NULL;
    const struct model_batch batch = make_batch(rows, length, 6);
    assert_ok(backend_open(&b, filled ? "check:cpu" : "cpu", 1, DTYPE_F32, &e));
    if (filled) graph_slots_now(b);
    struct model_bench *k = model_bench_open_with(b, s, rows, length, true);
    struct trace t = {.gradients_n = model_bench_n(k)};
    t.logp = model_bench_score(k, &batch, 0, rows * length);
    t.loss = model_bench_loss(k, &batch, 4, 0);
    t.gradients = model_bench_all(k, MODEL_GRADIENTS);
    model_bench_close(k);
    return t;
}

/* Three tokens, one of each band, pad three lists of a pool for three tokens; 257 tokens are one
 * more than a multiple of the padding. */
TEST(padded_lists_change_nothing)
{
    static const int32_t sizes[][2] = {{1, 3}, {ROWS, LENGTH}, {1, 257}};
    for (int i = 0; i < 6; i++) {
        struct spec s = model_bench_spec(i & 1 ? SPEC_T5 : SPEC_SINUSOIDAL, SPEC_ADAPTIVE);
        s.model.dropout = s.model.dropout_softmax = i & 1 ? 0.2 : 0.0;
        s.model.layers = 1;
        const int32_t *size = sizes[i / 2];
        const struct trace want = trace_of(&s, size[0], size[1], false);
        const struct trace got = trace_of(&s, size[0], size[1], true);
        /* More rows let a BLAS choose another kernel: the same products, rounded differently
         * (oneDNN does so with AVX2, not with AVX-512). */
        assert_true(fabs(got.loss - want.loss) <= 1e-6 * fabs(want.loss));
        for (int32_t j = 0; j < size[0] * size[1]; j++)
            assert_true(fabs((double)got.logp[j] - want.logp[j]) < 1e-5);
        assert_true(model_bench_difference(want.gradients, got.gradients, want.gradients_n) < 1e-6);
    }
}

TEST(a_shape_runs_then_is_captured_then_launched)
{
    struct spec s = model_bench_spec(SPEC_ALIBI, SPEC_ADAPTIVE);
    s.train.shards = 2;
    struct model_bench *k = model_bench_open(&s, ROWS, LENGTH, true);
    const struct graph_slots *seen = graph_slots_pretend(k->b);
    for (int i = 0; i < 4; i++) {
        struct model_batch batch = make_batch(ROWS, LENGTH, (uint64_t)i);
        batch.first_row = 10 * i; /* not part of the shape */
        assert_ok(model_train_batch(k->m, &batch, (uint32_t)i, 0, NULL, &e));
        model_bench_apply(k, (uint32_t)i, 0.1, TOKENS);
        model_bench_score(k, &batch, 0, TOKENS);
        assert_int_equal(seen->captures_n, i > 0 ? 4 : 0);
        assert_int_equal(seen->launches_n, 4 * i);
    }
    /* The second shard's gradients are another shape; so are words of the first band only. */
    struct model_batch batch = make_batch(ROWS, LENGTH, 0);
    assert_ok(model_train_batch(k->m, &batch, 0, 0, NULL, &e));
    assert_ok(model_train_batch(k->m, &batch, 0, 1, NULL, &e));
    batch = make_batch(ROWS, LENGTH - 1, 9);
    assert_ok(model_train_batch(k->m, &batch, 9, 0, NULL, &e));
    int32_t *ids;
    batch = model_bench_batch(&ids, ROWS, LENGTH, 9);
    for (int32_t i = 0; i <= TOKENS; i++) ids[i] = 2 + ids[i] % 18;
    assert_ok(model_train_batch(k->m, &batch, 9, 0, NULL, &e));
    assert_int_equal(seen->launches_n, 13);
    assert_int_equal(seen->alive_n, 4);
    assert_ok(model_keep_inner(k->m, &e)); /* graphs must not outlive it */
    assert_int_equal(seen->alive_n, 0);
}

static void batch_of_length(struct model_bench *k, int32_t length)
{
    const struct model_batch batch = make_batch(1, length, 2);
    assert_ok(model_train_batch(k->m, &batch, 0, 0, NULL, &e));
}

TEST(the_least_recently_used_shape_is_replaced)
{
    struct spec s = model_bench_spec(SPEC_ALIBI, SPEC_PLAIN);
    s.model.layers = 1;
    struct model_bench *k = model_bench_open(&s, 1, 2 * GRAPHS, true);
    const struct graph_slots *seen = graph_slots_pretend(k->b);
    for (int32_t length = 1; length <= GRAPHS; length++) {
        batch_of_length(k, length);
        batch_of_length(k, length);
    }
    assert_int_equal(seen->alive_n, GRAPHS);
    batch_of_length(k, 1);
    batch_of_length(k, GRAPHS + 1); /* takes the place of length 2 */
    assert_int_equal(seen->alive_n, GRAPHS - 1);
    int before = seen->launches_n;
    batch_of_length(k, 1);
    batch_of_length(k, 3);
    assert_int_equal(seen->launches_n, before + 2);
    batch_of_length(k, 2);
    assert_int_equal(seen->launches_n, before + 2);
    const struct model_graph_counts counts = model_graph_counts(k->m);
    assert_int_equal(counts.direct, GRAPHS + 2);
    assert_int_equal(counts.captured, GRAPHS);
    assert_int_equal(counts.evicted, 2);

    /* If more shapes alternate than the cache holds, none is captured. */
    int captures_n = seen->captures_n;
    for (int round = 0; round < 2; round++)
        for (int32_t length = 2 * GRAPHS; length > GRAPHS - 2; length--) batch_of_length(k, length);
    assert_int_equal(seen->captures_n, captures_n);
}

TEST(an_update_waits_for_the_backend_once)
{
    enum { SHARDS = 3 };
    struct spec s = model_bench_spec(SPEC_ROTARY, SPEC_ADAPTIVE);
    s.train.shards = SHARDS;
    struct model_bench *k = model_bench_open(&s, ROWS, LENGTH, true);
    const struct graph_slots *seen = graph_slots_now(k->b);
    struct model_batch shards[SHARDS];
    double sum = 0.0;
    for (int i = 0; i < SHARDS; i++) {
        shards[i] = make_batch(ROWS, LENGTH, (uint64_t)i);
        sum += model_bench_loss(k, &shards[i], 0, i);
    }
    int before = seen->downloads_n;
    for (int i = 0; i < SHARDS; i++) assert_ok(model_train_batch(k->m, &shards[i], 0, i, NULL, &e));
    model_bench_apply(k, 0, 0.1, SHARDS * TOKENS);
    assert_int_equal(seen->downloads_n, before + 1);
    assert_true(model_loss(k->m) == sum);
}

static int broken_softmax_loss(struct backend *b, const struct softmax_loss_args *a, struct err *e)
{
    (void)a;
    return ERR(e, ERR_INTERNAL, "%s: a broken slot", b->name);
}

TEST(an_error_ends_the_capture)
{
    struct spec s = model_bench_spec(SPEC_ALIBI, SPEC_PLAIN);
    struct model_bench *k = model_bench_open(&s, ROWS, LENGTH, true);
    struct graph_slots *seen = graph_slots_pretend(k->b);
    const struct model_batch batch = make_batch(ROWS, LENGTH, 1);
    model_bench_loss(k, &batch, 0, 0);
    seen->slots.softmax_loss = broken_softmax_loss;
    assert_fails(ERR_INTERNAL, "a broken slot", model_train_batch(k->m, &batch, 0, 0, NULL, &e));
    assert_int_equal(seen->alive_n, 0);
    seen->slots.softmax_loss = seen->inner->softmax_loss;
    model_bench_loss(k, &batch, 0, 0);
    assert_int_equal(seen->captures_n, 2);
    assert_int_equal(seen->alive_n, 1);
}
