/* test_memory.c - planned bytes equal allocated bytes, and buffers that share bytes do not disturb
 * each other. */
#include "harness/test.h"

#include "model/model.h"
#include "model/model_bench.h"
#include "shape/memory.h"

TEST_EACH(NULL, model_bench_fini)

/* A wrapper of the CPU backend that counts allocated bytes. The count is beside its table of ops,
 * where alloc finds it. */
struct counting {
    struct backend_ops ops; /* first */
    const struct backend_ops *inner;
    int64_t bytes;
};

static int counting_alloc(struct backend *b, void **out, size_t bytes, struct err *e)
{
    struct counting *k = (struct counting *)(uintptr_t)b->ops;
    k->bytes += (int64_t)bytes;
    return k->inner->alloc(b, out, bytes, e);
}

/* Opens and closes a model; returns the allocated bytes. Opening calls no op, so that the CPU can
 * act as a device of bf16. */
static int64_t allocated(const struct spec *s, const struct shape_capacity *capacity)
{
    struct backend *b = NULL;
    struct model *m = NULL;
    assert_ok(backend_open(&b, "cpu", 1, DTYPE_F32, &e));
    struct counting k = {.ops = *b->ops, .inner = b->ops};
    k.ops.alloc = counting_alloc;
    b->ops = &k.ops;
    if (capacity->precision == SPEC_BF16) b->precision = DTYPE_BF16;
    assert_ok(model_open(&m, b, s, capacity, &e));
    assert_int_equal(model_bytes(m), k.bytes);
    model_close(m);
    b->ops = k.inner;
    backend_close(b);
    return k.bytes;
}

static void assert_planned(const struct spec *s, const struct shape_capacity *capacity)
{
    struct shape_memory planned;
    shape_memory(&planned, s, capacity);
    assert_int_equal(allocated(s, capacity), planned.total_bytes);
}

TEST(planned_bytes_are_the_bytes_asked_of_the_backend)
{
    static const struct shape_capacity capacities[] = {
        {.train = true, .rows_max = 3, .length_max = 7, .scored_max = 21},
        {.train = true, .rows_max = 1, .length_max = 40, .scored_max = 0},
        {.train = true, .rows_max = 2, .length_max = 9, .scored_max = 100},
        {.train = false, .rows_max = 5, .length_max = 16, .scored_max = 80},
        {.train = false, .rows_max = 1, .length_max = 1, .scored_max = 1},
        {.train = false, .rows_max = 4, .length_max = 12, .scored_max = 4},
        {.train = false, .rows_max = 4, .length_max = 12, .scored_max = 24, .keys = true},
    };
    for (int32_t position = 0; position < POSITION_METHODS_N; position++)
        for (int32_t softmax = SPEC_ADAPTIVE; softmax <= SPEC_PLAIN; softmax++)
            for (size_t i = 0; i < sizeof capacities / sizeof *capacities; i++) {
                struct spec s =
                    model_bench_spec((enum spec_position)position, (enum spec_softmax)softmax);
                s.train.optimizer = i % 2 ? SPEC_ADAM : SPEC_NAG;
                s.model.dropout_softmax = i % 2 ? 0.1 : 0.0;
                struct shape_capacity capacity = capacities[i];
                assert_planned(&s, &capacity);
                capacity.precision = SPEC_BF16;
                assert_planned(&s, &capacity);
            }
}

/* The lengths, rows and positions that a worker opens its model for. */
TEST(a_run_s_device_bytes_are_those_its_worker_allocates)
{
    static const struct {
        int32_t L, shard_tokens, validate_L;
    } trainings[] = {{8, 96, 0}, {12, 100, 5}, {16, 48, 64}};
    struct shape_cost cost;
    for (size_t i = 0; i < sizeof trainings / sizeof *trainings; i++) {
        struct spec s = model_bench_spec(SPEC_ALIBI, SPEC_ADAPTIVE);
        s.kind = SPEC_TRAIN;
        s.data.train_tokens = 10000;
        s.train.L = trainings[i].L;
        s.train.shards = 2;
        s.train.shard_tokens = trainings[i].shard_tokens;
        s.train.validate_L = trainings[i].validate_L;
        struct shape_capacity capacity;
        shape_capacity(&capacity, &s);
        shape_cost(&cost, &s);
        assert_int_equal(allocated(&s, &capacity), cost.device_bytes);
        s.train.precision = capacity.precision = SPEC_BF16;
        shape_cost(&cost, &s);
        assert_int_equal(allocated(&s, &capacity), cost.device_bytes);
    }
    static const int32_t lengths[] = {64, 700, 3000};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (int32_t stride = 1; stride <= lengths[i]; stride += lengths[i] - 1) {
            struct spec s = model_bench_spec(SPEC_SINUSOIDAL, SPEC_PLAIN);
            s.kind = SPEC_EVAL;
            s.eval.L = lengths[i];
            s.eval.window = stride < lengths[i] ? SPEC_SLIDING : SPEC_NONOVERLAPPING;
            s.eval.stride = stride;
            struct shape_capacity capacity;
            shape_capacity_scores(&capacity, lengths[i], stride, 1, SPEC_FP32);
            shape_cost(&cost, &s);
            assert_int_equal(allocated(&s, &capacity), cost.device_bytes);
        }
}

/* A scoring pass uses bytes of the training's; the next training pass must not see it, and a model
 * opened for scoring, whose buffers share more, gives the same bits. */
static void assert_scoring_apart(const struct spec *s)
{
    enum { ROWS = 3, LENGTH = 8, TOKENS = ROWS * LENGTH };
    struct model_bench *k = model_bench_open(s, ROWS, LENGTH, true);
    struct model_bench *only = model_bench_open(s, ROWS, LENGTH, false);
    const struct model_batch batch = {.source = model_bench_tokens(TOKENS, 1),
                                      .target = model_bench_tokens(TOKENS, 2),
                                      .rows = ROWS,
                                      .length = LENGTH};
    double loss = model_bench_loss(k, &batch, 4, 0);
    const float *before = model_bench_all(k, MODEL_GRADIENTS);
    for (int32_t again = 0; again < 2; again++)
        assert_memory_equal(model_bench_score(k, &batch, 0, TOKENS),
                            model_bench_score(only, &batch, 0, TOKENS), TOKENS * sizeof(float));
    assert_true(model_bench_loss(k, &batch, 4, 0) == loss);
    assert_memory_equal(before, model_bench_all(k, MODEL_GRADIENTS),
                        (size_t)model_bench_n(k) * sizeof *before);
}

TEST(scoring_between_batches_changes_no_bit)
{
    for (int32_t i = 0; i < 16; i++) {
        struct spec s =
            model_bench_spec((enum spec_position)(i % 4), i & 4 ? SPEC_PLAIN : SPEC_ADAPTIVE);
        s.model.dropout = i & 8 ? 0.2 : 0.0;
        s.model.dropout_softmax = i & 8 ? 0.3 : 0.0;
        s.model.layers = 3;
        assert_scoring_apart(&s);
    }
}
