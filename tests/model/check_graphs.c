/* check_graphs.c - a model's passes as graphs, on the backends named on the command line.
 *
 *   check_graphs DEVICE…
 *
 * The reference is the same backend with ops that execute at once while "capturing": the same lists
 * and the same work, but no graph. */
#include "harness/test.h"

#include <math.h>
#include <stdlib.h>
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
    GRAPHS = 32,         /* that a model keeps */
    SHAPES = GRAPHS + 4, /* that it sees */
};

TEST_DEVICES(NULL)

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
static void open_bench(struct model_bench *k, const struct spec *s, int32_t rows, int32_t length,
                       bool graphs)
{
    enum dtype precision = s->train.precision == SPEC_BF16 ? DTYPE_BF16 : DTYPE_F32;
    struct backend *b = NULL;
    assert_ok(backend_open(&b, test_device, 1, precision, &e));
    if (graphs && choices[0] != '\0') assert_ok(b->ops->restore_choices(b, choices, &e));
    seen = graphs ? graph_slots_watch(b) : graph_slots_now(b);
    model_bench_open_with(k, b, s, rows, length, true);
}

/* ---- trainings ---- */

struct trace {
    double loss[UPDATES], norm[UPDATES];
    float logp[SCORES][TOKENS];
    float *weights_own;
    int64_t weights_n;
};

/* Every fourth update has no word of a tail, every fifth a short second shard: six shapes, of which
 * one occurs once. */
static struct model_batch batch_of(int32_t *ids, uint32_t update, int shard)
{
    struct model_batch batch =
        model_bench_batch(ids, ROWS, LENGTH, (uint64_t)update * SHARDS + (uint64_t)shard);
    for (int i = 0; update % 4 == 3 && i <= TOKENS; i++) ids[i] = 2 + ids[i] % 18;
    batch.rows -= shard == 1 && update % 5 == 4;
    batch.first_row = (int64_t)shard * ROWS;
    return batch;
}

static void train_update(struct model_bench *k, struct trace *t, uint32_t update)
{
    int32_t ids[TOKENS + 1];
    struct model_update u = {.update = update,
                             .lr = 0.5 + 0.01 * update,
                             .lr_previous = 0.5,
                             .targets_n = SHARDS * TOKENS};
    for (int shard = 0; shard < SHARDS; shard++) {
        struct model_batch batch = batch_of(ids, update, shard);
        assert_ok(model_train_batch(k->m, &batch, update, shard, NULL, &e));
    }
    assert_ok(model_apply(k->m, &u, &t->norm[update], &e));
    t->loss[update] = model_loss(k->m);
}

static struct trace train(const struct spec *s, bool graphs)
{
    struct trace t = {.weights_n = 0};
    struct model_bench k;
    int32_t ids[TOKENS + 1];
    open_bench(&k, s, ROWS, LENGTH, graphs);
    for (uint32_t update = 0; update < UPDATES; update++) train_update(&k, &t, update);
    for (int i = 0; i < SCORES; i++) {
        struct model_batch batch = batch_of(ids, 100 + 4 * (uint32_t)i, 0);
        model_bench_score(&k, &batch, 0, TOKENS, t.logp[i]);
    }
    t.weights_own = model_bench_all(&k, MODEL_VALUES, &t.weights_n);
    keep_choices(k.b);
    model_bench_close(&k);
    return t;
}

static const struct kind {
    const char *name;
    enum spec_position position;
    enum spec_precision precision;
} kinds[] = {{"replayed updates have the bits of others, sinusoidal", SPEC_SINUSOIDAL, SPEC_FP32},
             {"replayed updates have the bits of others, rotary", SPEC_ROTARY, SPEC_FP32},
             {"replayed updates have the bits of others, t5", SPEC_T5, SPEC_FP32},
             {"replayed updates have the bits of others, alibi", SPEC_ALIBI, SPEC_FP32},
             {"replayed updates have the bits of others, in bf16", SPEC_T5, SPEC_BF16}};

static void replayed_updates_have_the_bits_of_others(void **state)
{
    const struct kind *kind = *state;
    struct spec s = model_bench_spec(kind->position, SPEC_ADAPTIVE);
    model_bench_dropout(&s, 0.1);
    s.train.clip = 0.1;
    s.train.precision = kind->precision;
    s.model.layers = 1;
    struct trace want = train(&s, false), got = train(&s, true);
    /* Seven shapes occur more than once: the first and the second shard, with all words or few, the
     * short second shard, the update, the scores. One occurs once. */
    assert_int_equal(seen->records_n, 7);
    assert_int_equal(seen->replays_n, UPDATES * (SHARDS + 1) + SCORES - 8);
    assert_int_equal(seen->alive_n, 0);
    assert_memory_equal(got.loss, want.loss, sizeof got.loss);
    assert_memory_equal(got.norm, want.norm, sizeof got.norm);
    assert_memory_equal(got.logp, want.logp, sizeof got.logp);
    assert_memory_equal(got.weights_own, want.weights_own, (size_t)want.weights_n * sizeof(float));
    free(want.weights_own);
    free(got.weights_own);
}

TEST_CONSTRUCTOR(register_kinds)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        test_register(kinds[i].name, replayed_updates_have_the_bits_of_others, (void *)&kinds[i]);
}

/* Losses of batches of every length, three times in a row, then once more from the longest down. */
static void train_lengths(double (*loss)[4], bool graphs)
{
    struct spec s = model_bench_spec(SPEC_ALIBI, SPEC_PLAIN);
    struct model_bench k;
    int32_t ids[SHAPES + 1];
    s.model.layers = 1;
    open_bench(&k, &s, 1, SHAPES, graphs);
    model_bench_tokens(ids, SHAPES + 1, 5);
    struct model_batch batch = {.source = ids, .target = ids + 1, .rows = 1};
    for (batch.length = 1; batch.length <= SHAPES; batch.length++)
        for (uint32_t i = 0; i < 3; i++)
            loss[batch.length - 1][i] = model_bench_loss(&k, &batch, i, 0);
    if (graphs) {
        assert_int_equal(seen->records_n, SHAPES);
        assert_int_equal(seen->replays_n, 2 * SHAPES);
    }
    for (batch.length = SHAPES; batch.length > 0; batch.length--)
        loss[batch.length - 1][3] = model_bench_loss(&k, &batch, 3, 0);
    keep_choices(k.b);
    model_bench_close(&k);
}

TEST(more_shapes_than_are_kept_change_no_bit)
{
    static double want[SHAPES][4], got[SHAPES][4];
    train_lengths(want, false);
    train_lengths(got, true);
    assert_int_equal(seen->alive_most, GRAPHS);
    /* The last 32 are in the cache; the first four run directly. */
    assert_int_equal(seen->records_n, SHAPES);
    assert_int_equal(seen->replays_n, 2 * SHAPES + GRAPHS);
    assert_int_equal(seen->alive_n, 0);
    assert_memory_equal(got, want, sizeof got);
}

/* The update is a graph launch. It changes neither weights nor momentum, and returns the error. */
TEST(a_norm_that_is_not_finite_changes_no_weight_in_a_replay)
{
    struct spec s = model_bench_spec(SPEC_ALIBI, SPEC_PLAIN);
    struct model_bench k;
    struct trace t = {.weights_n = 0};
    const struct model_update u = {.update = 9, .lr = 0.5, .lr_previous = 0.5, .targets_n = 1};
    double norm = 0.0;
    int64_t n = 0;
    open_bench(&k, &s, ROWS, LENGTH, true);
    for (uint32_t update = 0; update < 2; update++) train_update(&k, &t, update);
    float *values = model_bench_all(&k, MODEL_VALUES, &n);
    float *momentum = model_bench_all(&k, MODEL_STATE_0, &n);
    int32_t last = model_params(k.m)->tensors_n - 1;
    float *gradient = calloc((size_t)model_bench_tensor(&k, last), sizeof *gradient);
    assert_non_null(gradient);
    gradient[0] = (float)NAN;
    assert_ok(model_write(k.m, MODEL_GRADIENTS, last, gradient, &e));
    int replays_n = seen->replays_n;
    assert_int_equal(model_apply(k.m, &u, &norm, &e), ERR_NUMBER);
    assert_int_equal(seen->replays_n, replays_n + 1);
    assert_non_null(strstr(e.text, "update 9"));
    float *values_now = model_bench_all(&k, MODEL_VALUES, &n);
    float *momentum_now = model_bench_all(&k, MODEL_STATE_0, &n);
    assert_memory_equal(values_now, values, (size_t)n * sizeof *values);
    assert_memory_equal(momentum_now, momentum, (size_t)n * sizeof *momentum);
    free(values);
    free(momentum);
    free(gradient);
    free(values_now);
    free(momentum_now);
    model_bench_close(&k);
}
