/* check_shapes.c - tests the paper's model at its real sizes on cuda:emulated: a GPU must allow
 * every launch, and every block must stay within its memory.
 *
 * A few blocks of each launch run, the first and the last among them, and no products
 * (emulation_set_blocks): losses are meaningless, addresses are not. An index that overflows 32
 * bits ends the program, in UBSan or at the end of a mapping. */
#include "harness/test.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/philox.h"
#include "model/model_bench.h"

enum { DIM = 1024, HEADS = 8, FFN = 4096, WORDS = 267744 };

static const struct shapes {
    const char *name;
    enum spec_position position;
    enum spec_softmax softmax;
    enum dtype dtype;
    int32_t rows, length;
} shapes[] = {
    {"alibi, 9 x 1024, bf16", SPEC_ALIBI, SPEC_ADAPTIVE, DTYPE_BF16, 9, 1024},
    {"alibi, 1152 x 64, bf16", SPEC_ALIBI, SPEC_ADAPTIVE, DTYPE_BF16, 1152, 64},
    {"alibi, 1 x 16384, bf16", SPEC_ALIBI, SPEC_ADAPTIVE, DTYPE_BF16, 1, 16384},
    {"alibi, 3 x 3072, 267,744 words at once, bf16", SPEC_ALIBI, SPEC_PLAIN, DTYPE_BF16, 3, 3072},
    {"alibi, 3 x 3072, 267,744 words at once, fp32", SPEC_ALIBI, SPEC_PLAIN, DTYPE_F32, 3, 3072},
    {"sinusoidal, 18 x 512, fp32", SPEC_SINUSOIDAL, SPEC_ADAPTIVE, DTYPE_F32, 18, 512},
    {"rotary, 3 x 3072, bf16", SPEC_ROTARY, SPEC_ADAPTIVE, DTYPE_BF16, 3, 3072},
    {"t5, 3 x 3072, bf16", SPEC_T5, SPEC_ADAPTIVE, DTYPE_BF16, 3, 3072},
    {"t5, 18 x 512, fp32", SPEC_T5, SPEC_ADAPTIVE, DTYPE_F32, 18, 512},
};
/* One layer runs every kernel; sixteen layers repeat them. */
static struct spec spec_of(const struct shapes *t)
{
    struct spec s = model_bench_spec(t->position, t->softmax);
    s.data.vocab = WORDS;
    s.model.layers = 1;
    s.model.dim = DIM;
    s.model.heads = HEADS;
    s.model.ffn = FFN;
    s.model.cutoffs[0] = 20000;
    s.model.cutoffs[1] = 60000;
    s.option.t5_buckets = 32;
    s.option.t5_max_distance = 128;
    model_bench_dropout(&s, 0.1);
    s.train.clip = 0.1;
    return s;
}

static void blocks_stay_within_their_memory(void **state)
{
    const struct shapes *t = *state;
    struct spec s = spec_of(t);
    struct backend *b = NULL;
    struct model *m = NULL;
    int64_t n = (int64_t)t->rows * t->length;
    struct shape_capacity o = {
        .train = true, .rows_max = t->rows, .length_max = t->length, .scored_max = n};
    int32_t *ids = malloc((size_t)(n + 1) * sizeof *ids),
            *place = malloc((size_t)n * sizeof *place);
    float *logp = malloc((size_t)n * sizeof *logp);
    double loss = 0.0, norm = 0.0;
    assert_true(ids && place && logp);
    for (int64_t i = 0; i <= n; i++)
        ids[i] = 4 + (int32_t)(philox_word(1, (uint64_t)i, 0, 0) % (WORDS - 4));
    for (int64_t i = 0; i < n; i++) place[i] = (int32_t)i;
    struct model_batch batch = {
        .source = ids, .target = ids + 1, .rows = t->rows, .length = t->length};
    struct model_update u = {.lr = 0.5, .lr_previous = 0.5, .targets_n = n, .shards_n = 1};
    assert_ok(backend_open(&b, "cuda:emulated", 1, t->dtype, &e));
    assert_ok(model_open(&m, b, &s, &o, &e));
    for (int pass = 0; pass < 2; pass++) /* the second is captured and launched */
        assert_ok(model_train_batch(m, &batch, 0, 0, &loss, &e));
    assert_ok(model_apply(m, &u, &norm, &e));
    assert_ok(model_score(m, &batch, place, n, logp, &e));
    print_message("%s: %" PRId64 " bytes\n", t->name, model_bytes(m));
    model_close(m);
    backend_close(b);
    free(ids);
    free(place);
    free(logp);
}

TEST_CONSTRUCTOR(register_shapes)
{
    setenv("EMULATION_BLOCKS", "2", 1);
    setenv("EMULATION_MEMORY", "150000000000", 1);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        test_register(shapes[i].name, blocks_stay_within_their_memory, (void *)&shapes[i]);
}
