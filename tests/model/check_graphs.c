/* check_graphs.c - a model's passes as graphs, on the backends named on the command line.
 *
 *   check_graphs DEVICE…
 *
 * The reference is the same backend with ops that execute at once while "capturing": the same lists
 * and the same work, but no graph. */
#include "harness/test.h"

#include <math.h>
#include <string.h>

#include "model/graph_slots.h"
#include "model/model_bench.h"

enum {
    UPDATES = 20,
    SHARDS = 2,
    ROWS = 2,
    LENGTH = 9,
    TOKENS = ROWS * LENGTH,
    SCORES = 3,
    GRAPHS = 64,         /* that a model keeps */
    SHAPES = GRAPHS + 4, /* that it sees */
};

TEST_DEVICES(NULL)
TEST_EACH(NULL, model_bench_fini)

static const struct graph_slots *seen;

/* The algorithm choices of the first of two runs, which the second reuses. */
static char choices[1 << 20];

static int forget_choices(void **state)
{
    (void)state;
    choices[0] = '\0';
    return 0;
}

TEST_GROUP(forget_choices, NULL)

static void keep_choices(struct backend *b)
{
    assert_true(b->ops->choices(b, choices, sizeof choices) < sizeof choices);
}

/* With graphs, or executing at once. */
static struct model_bench *open_bench(const struct spec *s, int32_t rows, int32_t length,
                                      bool graphs)
{
    enum dtype precision = s->train.precision == SPEC_BF16 ? DTYPE_BF16 : DTYPE_F32;
    struct backend *b = NULL;
    assert_ok(backend_open(&b, test_device, 1, precision, &e));
    if (graphs && choices[0] != '\0') assert_ok(b->ops->restore_choices(b, choices, &e));
    seen = graphs ? graph_slots_watch(b) : graph_slots_now(b);
    return model_bench_open_with(b, s, rows, length, true);
}

/* ---- trainings ---- */

struct trace {
    double loss[UPDATES], norm[UPDATES];
    const float *logp[SCORES], *weights;
    int64_t weights_n;
};

/* Every fourth update has no word of a tail, every fifth a short second shard: six shapes, of which
 * one occurs once. */
static struct model_batch batch_of(uint32_t update, int shard)
{
    int32_t *ids;
    struct model_batch batch =
        model_bench_batch(&ids, ROWS, LENGTH, (uint64_t)update * SHARDS + (uint64_t)shard);
    for (int i = 0; update % 4 == 3 && i <= TOKENS; i++) ids[i] = 2 + ids[i] % 18;
    batch.rows -= shard == 1 && update % 5 == 4;
    batch.first_row = (int64_t)shard * ROWS;
    return batch;
}

static void train_update(struct model_bench *k, struct trace *t, uint32_t update)
{
    struct model_update u = {.update = update,
                             .lr = 0.5 + 0.01 * update,
                             .lr_previous = 0.5,
                             .targets_n = SHARDS * TOKENS,
                             .shards_n = SHARDS};
    for (int shard = 0; shard < SHARDS; shard++) {
        struct model_batch batch = batch_of(update, shard);
        assert_ok(model_train_batch(k->m, &batch, update, shard, NULL, &e));
    }
    assert_ok(model_apply(k->m, &u, &t->norm[update], &e));
    t->loss[update] = model_loss(k->m);
}

static struct trace train(const struct spec *s, bool graphs)
{
    struct model_bench *k = open_bench(s, ROWS, LENGTH, graphs);
    struct trace t = {.weights_n = model_bench_n(k)};
    for (uint32_t update = 0; update < UPDATES; update++) train_update(k, &t, update);
    for (int i = 0; i < SCORES; i++) {
        const struct model_batch batch = batch_of(100 + 4 * (uint32_t)i, 0);
        t.logp[i] = model_bench_score(k, &batch, 0, TOKENS);
    }
    t.weights = model_bench_all(k, MODEL_VALUES);
    keep_choices(k->b);
    model_bench_close(k);
    return t;
}

static const struct kind {
    const char *name;
    enum spec_position position;
    enum spec_precision precision;
} kinds[] = {{"launched updates have the bits of others, sinusoidal", SPEC_SINUSOIDAL, SPEC_FP32},
             {"launched updates have the bits of others, rotary", SPEC_ROTARY, SPEC_FP32},
             {"launched updates have the bits of others, t5", SPEC_T5, SPEC_FP32},
             {"launched updates have the bits of others, alibi", SPEC_ALIBI, SPEC_FP32},
             {"launched updates have the bits of others, in bf16", SPEC_T5, SPEC_BF16}};

static void launched_updates_have_the_bits_of_others(void **state)
{
    const struct kind *kind = *state;
    struct spec s = model_bench_spec(kind->position, SPEC_ADAPTIVE);
    model_bench_dropout(&s, 0.1);
    s.train.clip = 0.1;
    s.train.shards = SHARDS;
    s.train.precision = kind->precision;
    s.model.layers = 1;
    const struct trace want = train(&s, false), got = train(&s, true);
    /* Eight shapes occur more than once: the first and the second shard, with all words or few, the
     * short second shard, the squares, the update, the scores. One occurs once. */
    assert_int_equal(seen->captures_n, 8);
    assert_int_equal(seen->launches_n, UPDATES * (SHARDS + 2) + SCORES - 9);
    assert_int_equal(seen->alive_n, 0);
    assert_memory_equal(got.loss, want.loss, sizeof got.loss);
    assert_memory_equal(got.norm, want.norm, sizeof got.norm);
    for (int i = 0; i < SCORES; i++)
        assert_memory_equal(got.logp[i], want.logp[i], TOKENS * sizeof(float));
    assert_memory_equal(got.weights, want.weights, (size_t)want.weights_n * sizeof(float));
}

TEST_CONSTRUCTOR(register_kinds)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        test_register(kinds[i].name, launched_updates_have_the_bits_of_others, (void *)&kinds[i]);
}

/* Losses of batches of every length, three times in a row, then once more from the longest down. */
static void train_lengths(double (*loss)[4], bool graphs)
{
    struct spec s = model_bench_spec(SPEC_ALIBI, SPEC_PLAIN);
    s.model.layers = 1;
    struct model_bench *k = open_bench(&s, 1, SHAPES, graphs);
    struct model_batch batch = model_bench_batch(NULL, 1, SHAPES, 5);
    for (batch.length = 1; batch.length <= SHAPES; batch.length++)
        for (uint32_t i = 0; i < 3; i++)
            loss[batch.length - 1][i] = model_bench_loss(k, &batch, i, 0);
    if (graphs) {
        assert_int_equal(seen->captures_n, SHAPES);
        assert_int_equal(seen->launches_n, 2 * SHAPES);
    }
    for (batch.length = SHAPES; batch.length > 0; batch.length--)
        loss[batch.length - 1][3] = model_bench_loss(k, &batch, 3, 0);
    keep_choices(k->b);
    model_bench_close(k);
}

TEST(more_shapes_than_are_kept_change_no_bit)
{
    static double want[SHAPES][4], got[SHAPES][4];
    train_lengths(want, false);
    train_lengths(got, true);
    assert_int_equal(seen->alive_most, GRAPHS);
    /* The last 64 are in the cache; the first four run directly. */
    assert_int_equal(seen->captures_n, SHAPES);
    assert_int_equal(seen->launches_n, 2 * SHAPES + GRAPHS);
    assert_int_equal(seen->alive_n, 0);
    assert_memory_equal(got, want, sizeof got);
}

/* The update is a graph launch. It changes neither weights nor momentum, and returns the error. */
TEST(a_norm_that_is_not_finite_changes_no_weight_in_a_launch)
{
    struct spec s = model_bench_spec(SPEC_ALIBI, SPEC_PLAIN);
    s.train.shards = SHARDS;
    struct model_bench *k = open_bench(&s, ROWS, LENGTH, true);
    struct trace t = {.weights_n = model_bench_n(k)};
    const struct model_update u = {
        .update = 9, .lr = 0.5, .lr_previous = 0.5, .targets_n = 1, .shards_n = 1};
    const struct model_batch batch = batch_of(9, 0);
    size_t bytes = (size_t)t.weights_n * sizeof(float);
    double norm = 0.0;
    for (uint32_t update = 0; update < 2; update++) train_update(k, &t, update);
    const float *values = model_bench_all(k, MODEL_VALUES);
    const float *momentum = model_bench_all(k, MODEL_STATE_0);
    int32_t last = model_params(k->m)->tensors_n - 1;
    float *gradient = model_bench_array(model_bench_tensor_n(k, last));
    gradient[0] = (float)NAN;
    assert_ok(model_train_batch(k->m, &batch, 9, 0, NULL, &e));
    assert_ok(model_write(k->m, MODEL_GRADIENTS, last, gradient, &e));
    int launches_n = seen->launches_n;
    assert_fails(ERR_NUMBER, "update 9", model_apply(k->m, &u, &norm, &e));
    assert_int_equal(seen->launches_n, launches_n + 2);
    assert_memory_equal(model_bench_all(k, MODEL_VALUES), values, bytes);
    assert_memory_equal(model_bench_all(k, MODEL_STATE_0), momentum, bytes);
}
