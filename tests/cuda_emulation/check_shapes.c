/* check_shapes.c - tests the paper's model at its real sizes on cuda:emulated: a GPU must allow
 * every launch, and every block must stay within its memory.
 *
 * A few blocks of each launch run, the first and the last among them, and no products
 * (emulation_set_blocks): losses are meaningless, addresses are not. An index that overflows 32
 * bits ends the program, in UBSan or at the end of a mapping. */
#include "harness/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "model/model_bench.h"

enum { DIM = 1024, HEADS = 8, FFN = 4096, WORDS = 267744 };

static const struct shapes {
    const char *name;
    enum spec_position position;
    enum spec_softmax softmax;
    enum dtype dtype;
    int32_t rows, length;
    int32_t shards;       /* of the update */
    const char *settings; /* keys of the spec; NULL: the paper's model */
    bool only_scores;     /* a form that is not trained */
} shapes[] = {
    {"alibi, 9 x 1024, bf16", SPEC_ALIBI, SPEC_ADAPTIVE, DTYPE_BF16, 9, 1024, .shards = 8},
    {"alibi, 1152 x 64, bf16", SPEC_ALIBI, SPEC_ADAPTIVE, DTYPE_BF16, 1152, 64, .shards = 1},
    {"alibi, 1 x 16384, bf16", SPEC_ALIBI, SPEC_ADAPTIVE, DTYPE_BF16, 1, 16384, .shards = 1},
    {"alibi, 3 x 3072, 267,744 words at once, bf16", SPEC_ALIBI, SPEC_PLAIN, DTYPE_BF16, 3, 3072,
     .shards = 1},
    {"alibi, 3 x 3072, 267,744 words at once, fp32", SPEC_ALIBI, SPEC_PLAIN, DTYPE_F32, 3, 3072,
     .shards = 1},
    {"sinusoidal, 18 x 512, fp32", SPEC_SINUSOIDAL, SPEC_ADAPTIVE, DTYPE_F32, 18, 512, .shards = 1},
    {"rotary, 3 x 3072, bf16", SPEC_ROTARY, SPEC_ADAPTIVE, DTYPE_BF16, 3, 3072, .shards = 1},
    {"t5, 3 x 3072, bf16", SPEC_T5, SPEC_ADAPTIVE, DTYPE_BF16, 3, 3072, .shards = 1},
    {"t5, 18 x 512, fp32", SPEC_T5, SPEC_ADAPTIVE, DTYPE_F32, 18, 512, .shards = 1},
    {"forget gate, 9 x 1024, bf16", SPEC_FORGET_GATE, SPEC_ADAPTIVE, DTYPE_BF16, 9, 1024,
     .shards = 1},
    {"open model, 1 x 2048, bf16", SPEC_ROTARY, SPEC_PLAIN, DTYPE_BF16, 1, 2048, .shards = 1,
     .settings = "model.norm=rmsnorm model.activation=silu model.gated=true model.kv_heads=2 "
                 "model.qkv_clip=8 model.tied=false model.rotary_layout=half_split",
     .only_scores = true},
};
/* Sets "key=value key=value". */
static void set_all(struct spec *s, const char *settings)
{
    char text[256], *rest = text;
    snprintf(text, sizeof text, "%s", settings);
    for (char *pair = strtok_r(text, " ", &rest); pair; pair = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(pair, '=');
        *value = '\0';
        assert_ok(spec_set(s, spec_key_find(pair), value + 1, &e));
    }
}

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
    s.train.shards = t->shards;
    if (t->settings) set_all(&s, t->settings);
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
        .train = !t->only_scores, .rows_max = t->rows, .length_max = t->length, .scored_max = n};
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
    struct model_update u = {
        .lr = 0.5, .lr_previous = 0.5, .targets_n = n, .shards_n = s.train.shards};
    assert_ok(backend_open(&b, "cuda:emulated", 1, t->dtype, &e));
    assert_ok(model_open(&m, b, &s, &o, &e));
    /* The second pass is captured and launched. */
    for (int32_t pass = 0; !t->only_scores && pass < 1 + s.train.shards; pass++)
        assert_ok(model_train_batch(m, &batch, 0, pass > 0 ? pass - 1 : 0, &loss, &e));
    if (!t->only_scores) assert_ok(model_apply(m, &u, &norm, &e));
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
