/* test_train.c - gradients, dropout and updates of whole models. */
#include "harness/test.h"

#include <math.h>

#include "model/model_bench.h"

enum { ROWS = 4, LENGTH = 24, TOKENS = ROWS * LENGTH };

TEST_EACH(NULL, model_bench_fini)

/* Moves one tensor along its gradient: the loss must change by the gradient's norm times the step.
 */
static void check_tensor_slope(struct model_bench *k, const struct model_batch *batch,
                               int32_t tensor)
{
    int64_t n = model_bench_tensor_n(k, tensor);
    double norm = 0.0, loss[2], step = 1e-2;
    model_bench_loss(k, batch, 0, 0);
    const float *gradients = model_bench_read(k, MODEL_GRADIENTS, tensor);
    const float *values = model_bench_read(k, MODEL_VALUES, tensor);
    float *moved = model_bench_array(n);
    for (int64_t i = 0; i < n; i++) norm += (double)gradients[i] * (double)gradients[i];
    norm = sqrt(norm);
    for (int side = 0; side < 2; side++) {
        double by = (side == 0 ? -step : step) / norm;
        for (int64_t i = 0; i < n; i++)
            moved[i] = (float)((double)values[i] + by * (double)gradients[i]);
        assert_ok(model_write(k->m, MODEL_VALUES, tensor, moved, &e));
        loss[side] = model_bench_loss(k, batch, 0, 0);
    }
    assert_ok(model_write(k->m, MODEL_VALUES, tensor, values, &e));
    /* Key biases have no gradient but rounding; a loss of hundreds of nats is known to 1e-4. */
    double slope = (loss[1] - loss[0]) / (2.0 * step);
    if (norm > 0.5 && fabs(slope - norm) > 0.03 * norm + 0.02)
        fail_msg("%s: difference %.6g, gradient's norm %.6g",
                 model_params(k->m)->tensor[tensor].name, slope, norm);
}

TEST(gradients_of_every_tensor_are_differences)
{
    for (int i = 0; i < BENCH_MODELS; i++) {
        struct spec s = model_bench_spec_number(i);
        /* The masks of one update are fixed, so it is smooth. */
        model_bench_dropout(&s, i / 2 % 2 ? 0.2 : 0.0);
        struct model_bench *k = model_bench_open(&s, ROWS, LENGTH, true);
        int32_t *ids;
        const struct model_batch batch = model_bench_batch(&ids, ROWS, LENGTH, (uint64_t)i);
        /* Row 1 of a tail's table starts as zeros, where LayerNorm is all but a straight line. */
        for (int j = 0; j <= TOKENS; j++) ids[j] += ids[j] == 21 || ids[j] == 41;
        for (int32_t j = 0; j < model_params(k->m)->tensors_n; j++)
            check_tensor_slope(k, &batch, j);
    }
}

/* Rows [first, first + n) of a batch as a micro-batch of the same update. */
static struct model_batch part_of(const struct model_batch *batch, int32_t first, int32_t n)
{
    return (struct model_batch){.source = batch->source + first * LENGTH,
                                .target = batch->target + first * LENGTH,
                                .rows = n,
                                .length = LENGTH,
                                .first_row = first};
}

TEST(a_batch_in_two_parts_is_the_batch)
{
    for (int i = 0; i < BENCH_MODELS; i++) {
        struct spec s = model_bench_spec_number(i);
        s.train.shards = 2;
        model_bench_dropout(&s, 0.3);
        struct model_bench *k = model_bench_open(&s, ROWS, LENGTH, true);
        const struct model_batch batch = model_bench_batch(NULL, ROWS, LENGTH, 5);
        const struct model_batch first = part_of(&batch, 0, 1);
        const struct model_batch second = part_of(&batch, 1, ROWS - 1);
        double whole = model_bench_loss(k, &batch, 9, 0);
        const float *want = model_bench_all(k, MODEL_GRADIENTS);
        double parts = model_bench_loss(k, &first, 9, 0) + model_bench_loss(k, &second, 9, 1);
        const float *got = model_bench_all(k, MODEL_GRADIENTS);
        assert_true(fabs(whole - parts) < 1e-6 * whole);
        assert_true(model_bench_difference(want, got, model_bench_n(k)) < 2e-6);
    }
}

/* sum(lo, hi) of present leaves; what is absent adds nothing. */
static float tree_of(float *const *leaf, int32_t present, int32_t lo, int32_t hi, int64_t i)
{
    if (hi - lo == 1) return leaf[lo][i];
    int32_t mid = (lo + hi) / 2;
    float left = tree_of(leaf, present, lo, mid, i);
    return mid < present ? left + tree_of(leaf, present, mid, hi, i) : left;
}

/* The sum of the first shards of an update has the bits of the tree over leaves that were computed
 * alone. */
static void shards_add_up(struct model_bench *k, float *const *leaf, int32_t shards_n,
                          int32_t leaves_n)
{
    float *want = model_bench_array(model_bench_n(k));
    for (int32_t shard = 0; shard < shards_n; shard++) {
        const struct model_batch batch = model_bench_batch(NULL, 1, 3, (uint64_t)shard);
        model_bench_loss(k, &batch, 0, shard);
    }
    for (int64_t i = 0; i < model_bench_n(k); i++)
        want[i] = tree_of(leaf, shards_n, 0, leaves_n, i);
    assert_memory_equal(model_bench_all(k, MODEL_GRADIENTS), want,
                        (size_t)model_bench_n(k) * sizeof *want);
}

TEST(gradients_of_shards_add_up_as_a_tree)
{
    enum { MOST = 128 };
    static const int32_t shards[] = {1, 2, 3, 6, 8, 13, MOST - 1, MOST};
    struct spec s = model_bench_spec(SPEC_T5, SPEC_ADAPTIVE);
    s.model.layers = 1;
    model_bench_dropout(&s, 0.2);
    struct model_bench *k = model_bench_open(&s, 1, 3, true);
    float *leaf[MOST];
    for (int32_t i = 0; i < MOST; i++) {
        const struct model_batch batch = model_bench_batch(NULL, 1, 3, (uint64_t)i);
        model_bench_loss(k, &batch, 0, 0);
        leaf[i] = model_bench_all(k, MODEL_GRADIENTS);
    }
    for (size_t i = 0; i < sizeof shards / sizeof *shards; i++) {
        s.train.shards = shards[i];
        k = model_bench_open(&s, 1, 3, true);
        int32_t leaves_n = shape_leaves(shards[i]);
        for (int32_t n = 1; n <= shards[i]; n += n < 8 ? 1 : 17)
            shards_add_up(k, leaf, n, leaves_n);
        shards_add_up(k, leaf, shards[i], leaves_n);
        model_bench_close(k);
    }
}

TEST(shards_come_in_order_and_an_update_has_all_of_them)
{
    struct spec s = model_bench_spec(SPEC_ALIBI, SPEC_PLAIN);
    const struct model_batch batch = model_bench_batch(NULL, ROWS, LENGTH, 5);
    struct model_update u = {.update = 3, .lr = 0.1, .lr_previous = 0.1, .targets_n = 1};
    double norm = 0.0;
    s.train.shards = 3;
    struct model_bench *k = model_bench_open(&s, ROWS, LENGTH, true);
    assert_fails(ERR_INTERNAL, "shard 1 of", model_train_batch(k->m, &batch, 3, 1, NULL, &e));
    assert_fails(ERR_INTERNAL, "shard 3 of", model_train_batch(k->m, &batch, 3, 3, NULL, &e));
    assert_fails(ERR_INTERNAL, "shard -1 of", model_train_batch(k->m, &batch, 3, -1, NULL, &e));
    for (int i = 0; i < 2; i++) assert_ok(model_train_batch(k->m, &batch, 3, i, NULL, &e));
    for (u.shards_n = 0; u.shards_n < 5; u.shards_n++)
        if (u.shards_n != 2)
            assert_fails(ERR_INTERNAL, "computed 2", model_apply(k->m, &u, &norm, &e));
    model_bench_all(k, MODEL_GRADIENTS); /* after this only a new update can follow */
    assert_fails(ERR_INTERNAL, "shard 2 of", model_train_batch(k->m, &batch, 3, 2, NULL, &e));
    u.shards_n = 2;
    assert_ok(model_apply(k->m, &u, &norm, &e));
    assert_fails(ERR_INTERNAL, "computed 0", model_apply(k->m, &u, &norm, &e));
}

/* The seven sites, as settings of the spec; sites that share one setting are distinguished by the
 * ops table's masks and by dropout_stream. */
TEST(every_setting_of_dropout_reaches_the_loss)
{
    const struct model_batch batch = model_bench_batch(NULL, ROWS, LENGTH, 1);
    double loss[5] = {0};
    for (int i = 0; i < 5; i++) {
        struct spec s = model_bench_spec(SPEC_ALIBI, SPEC_ADAPTIVE);
        double *setting[] = {&s.model.dropout, &s.model.dropout_attention, &s.model.dropout_relu,
                             &s.model.dropout_softmax};
        if (i > 0) *setting[i - 1] = 0.3;
        struct model_bench *k = model_bench_open(&s, ROWS, LENGTH, true);
        loss[i] = model_bench_loss(k, &batch, 0, 0);
        assert_true(loss[i] == model_bench_loss(k, &batch, 0, 0));
        bool changes = loss[i] != model_bench_loss(k, &batch, 1, 0);
        assert_true(changes == (i > 0));
        for (int j = 0; j < i; j++) assert_true(loss[i] != loss[j]);
    }
}

/* Kept values are scaled up: over many updates the loss stays where it is without dropout, but for
 * the second order of the noise. */
TEST(dropout_keeps_the_mean_loss)
{
    enum { UPDATES = 400 };
    const struct model_batch batch = model_bench_batch(NULL, ROWS, LENGTH, 2);
    struct spec s = model_bench_spec(SPEC_ALIBI, SPEC_PLAIN);
    double mean = 0.0, squares = 0.0;
    double plain = model_bench_loss(model_bench_open(&s, ROWS, LENGTH, true), &batch, 0, 0);
    s.model.dropout_relu = 0.1;
    struct model_bench *k = model_bench_open(&s, ROWS, LENGTH, true);
    for (uint32_t u = 0; u < UPDATES; u++) {
        double loss = model_bench_loss(k, &batch, u, 0);
        mean += loss / UPDATES;
        squares += loss * loss / UPDATES;
    }
    assert_true(squares > mean * mean);
    assert_true(fabs(mean - plain) < 0.01 * plain);
}

TEST(padding_on_the_right_changes_nothing)
{
    enum { WIDE = LENGTH + 7 };
    const struct model_batch batch = model_bench_batch(NULL, ROWS, LENGTH, 3);
    int32_t source[ROWS * WIDE], target[ROWS * WIDE];
    const struct model_batch padded = {
        .source = source, .target = target, .rows = ROWS, .length = WIDE};
    for (int row = 0; row < ROWS; row++)
        for (int j = 0; j < WIDE; j++) {
            source[row * WIDE + j] = j < LENGTH ? batch.source[row * LENGTH + j] : 1;
            target[row * WIDE + j] = j < LENGTH ? batch.target[row * LENGTH + j] : 1;
        }
    for (int i = 0; i < BENCH_MODELS; i++) {
        struct spec s = model_bench_spec_number(i);
        struct model_bench *k = model_bench_open(&s, ROWS, WIDE, true);
        double want_loss = model_bench_loss(k, &batch, 0, 0);
        const float *want = model_bench_all(k, MODEL_GRADIENTS);
        double loss = model_bench_loss(k, &padded, 0, 0);
        const float *got = model_bench_all(k, MODEL_GRADIENTS);
        assert_true(fabs(loss - want_loss) < 1e-6 * want_loss);
        assert_true(model_bench_difference(want, got, model_bench_n(k)) < 2e-6);
    }
}

TEST(the_tail_quirk_leaves_out_class_one_of_a_tail)
{
    int32_t *ids;
    const struct model_batch batch = model_bench_batch(&ids, ROWS, LENGTH, 4);
    double loss[2] = {0}, share = 0.0;
    /* Words 21 and 41 are class 1 of their tails; let only target 4 be one. */
    for (int i = 0; i <= TOKENS; i++) ids[i] += ids[i] == 21 || ids[i] == 41;
    ids[5] = 21;
    for (int quirk = 0; quirk < 2; quirk++) {
        struct spec s = model_bench_spec(SPEC_ALIBI, SPEC_ADAPTIVE);
        float all[BENCH_VOCAB];
        double tail = 0.0;
        s.train.tail_quirk = quirk;
        struct model_bench *k = model_bench_open(&s, ROWS, LENGTH, true);
        loss[quirk] = model_bench_loss(k, &batch, 0, 0);
        assert_ok(model_distribution(k->m, &batch, 4, all, &e));
        for (int w = 20; w < 40; w++) tail += exp((double)all[w]);
        share = log(tail) - (double)all[21]; /* -log p within the tail */
    }
    assert_true(fabs(loss[0] - loss[1] - share) < 1e-4);
}
