/* test_forms.c - every form of the decoder against its formula in double precision; the same
 * weights streamed; what is refused.
 *
 *   test_forms [DEVICE…]      default: the CPU */
#include "harness/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/philox.h"
#include "model/formula.h"
#include "model/model_bench.h"
#include "model/model_struct.h"
#include "worker/heads.h"

enum { ROWS = 2, LENGTH = FORMULA_T, SETTINGS_MAX = 512, RANDOM_FORMS = 60 };

TEST_DEVICES("cpu")
TEST_EACH(NULL, model_bench_fini)

/* Settings of a form, "key=value key=value", beyond those of the base below. */
static const struct {
    const char *name, *settings;
} forms[] = {
    {"paper", ""},
    {"parallel", "block=parallel"},
    {"parallel2", "block=parallel2"},
    {"post", "block=post final_norm=false"},
    {"post with a final norm", "block=post final_norm=true"},
    {"rmsnorm", "norm=rmsnorm norm_eps=0.01"},
    {"norms without biases", "norm_bias=false norm_eps=0.001"},
    {"gelu_erf", "activation=gelu_erf"},
    {"gelu_tanh", "activation=gelu_tanh"},
    {"silu", "activation=silu"},
    {"gated", "activation=silu gated=true"},
    {"gated relu", "gated=true ffn_bias=false"},
    {"one key head", "kv_heads=1"},
    {"wide heads", "head_width=16 kv_heads=2"},
    {"narrow heads", "head_width=2"},
    {"no biases", "qkv_bias=false out_bias=false ffn_bias=false"},
    {"clip", "qkv_clip=0.2"},
    {"scale", "score_scale=0.4"},
    {"scale by layer", "score_scale_by_layer=true"},
    {"unscaled embedding", "embedding_scaled=false"},
    {"narrow table", "embedding_width=12"},
    {"wide table", "embedding_width=40 embedding_norm=true"},
    {"embedding norm", "embedding_norm=true"},
    {"own head", "tied=false head_bias=true"},
    {"no final norm", "final_norm=false"},
    {"windows", "attention_window_layers=0,5,2"},
    {"MPT", "alibi_bias_max=16 norm_bias=false activation=gelu_erf"},
    {"Falcon-RW", "alibi_rounding=keys activation=gelu_erf heads=12 dim=48 head_width=8"},
    {"GPT-J", "position=rotary rotary_share=0.5 block=parallel activation=gelu_tanh tied=false "
              "head_bias=true qkv_bias=false out_bias=false"},
    {"GPT-NeoX", "position=rotary rotary_layout=half_split rotary_share=0.5 block=parallel2 "
                 "activation=gelu_erf tied=false"},
    {"LLaMA", "position=rotary rotary_layout=half_split norm=rmsnorm activation=silu gated=true "
              "kv_heads=2 head_width=16 qkv_bias=false out_bias=false ffn_bias=false tied=false"},
    {"OPT-350m", "position=learned block=post final_norm=false embedding_width=12"},
    {"six heads", "heads=6 dim=48"},
};
enum { FORMS = sizeof forms / sizeof *forms };

static void set_key(struct spec *s, const char *key, const char *value)
{
    char name[64];
    snprintf(name, sizeof name, "model.%s", key);
    assert_non_null(spec_key_find(name));
    assert_ok(spec_set(s, spec_key_find(name), value, &e));
}

static void set_all(struct spec *s, const char *settings)
{
    char text[SETTINGS_MAX], *rest = text;
    snprintf(text, sizeof text, "%s", settings);
    for (char *pair = strtok_r(text, " ", &rest); pair; pair = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(pair, '=');
        *value = '\0';
        set_key(s, pair, value + 1);
    }
}

/* A pretrained model of three layers and these settings. */
static struct spec spec_of(const char *settings)
{
    struct spec s = model_bench_spec(SPEC_ALIBI, SPEC_PLAIN);
    s.kind = SPEC_TRAIN;
    s.train.origin = SPEC_PRETRAINED;
    s.model.layers = FORMULA_L;
    s.train.L = LENGTH;
    set_all(&s, settings);
    assert_ok(spec_check(&s, &e));
    return s;
}

/* Settings drawn at random: of each key one value, and one of four position methods. */
static const char *random_settings(uint64_t seed)
{
    static char text[SETTINGS_MAX];
    static const char *const choices[][5] = {
        {"block=sequential", "block=parallel", "block=parallel2", "block=post"},
        {"norm=layernorm", "norm=rmsnorm", "norm_bias=false"},
        {"norm_eps=1e-5", "norm_eps=0.01"},
        {"activation=relu", "activation=gelu_erf", "activation=gelu_tanh", "activation=silu"},
        {"gated=false", "gated=true"},
        {"heads=4 dim=32", "heads=4 kv_heads=2 dim=48", "heads=6 kv_heads=2 dim=48",
         "heads=6 kv_heads=3 dim=48", "heads=6 kv_heads=1 dim=48"},
        {"head_width=0", "head_width=16", "head_width=8", "head_width=4"},
        {"qkv_bias=true", "qkv_bias=false"},
        {"out_bias=true", "out_bias=false"},
        {"ffn_bias=true", "ffn_bias=false"},
        {"qkv_clip=0", "qkv_clip=0.5"},
        {"score_scale=0", "score_scale=0.3"},
        {"score_scale_by_layer=false", "score_scale_by_layer=true"},
        {"embedding_scaled=true", "embedding_scaled=false"},
        {"embedding_width=0", "embedding_width=12", "embedding_width=44"},
        {"embedding_norm=false", "embedding_norm=true"},
        {"tied=true", "tied=false"},
        {"head_bias=true", "head_bias=false"},
        {"final_norm=true", "final_norm=false"},
        {"attention_window_layers=none", "attention_window_layers=7,0,3"},
        {"alibi_bias_max=8", "alibi_bias_max=16 alibi_rounding=none", "alibi_rounding=keys",
         "position=rotary rotary_layout=half_split rotary_share=0.5", "position=learned"},
    };
    size_t used = 0;
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        uint32_t n = 0, word = philox_word(seed, i, 0, 0x71);
        while (n < 5 && choices[i][n]) n++;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s ", choices[i][word % n]);
    }
    assert_true(used < sizeof text);
    return text;
}

/* Values of all tensors, drawn from a seed. */
struct weights {
    struct arena arena;
    struct shape_params params;
    float **value;
    int32_t reads[SHAPE_LAYER_0 + FORMULA_L + 1]; /* of tensors, by stage */
    int32_t fails_at;                             /* tensor whose read fails; -1: none */
};

static void weights_init(struct weights *w, const struct spec *s)
{
    *w = (struct weights){.fails_at = -1};
    arena_init(&w->arena);
    shape_params(&w->params, &w->arena, s);
    w->value = arena_array(&w->arena, (size_t)w->params.tensors_n, sizeof *w->value);
    for (int32_t i = 0; i < w->params.tensors_n; i++) {
        const struct shape_tensor *t = &w->params.tensor[i];
        int64_t n = (int64_t)t->rows * t->cols;
        bool gain = strstr(t->name, "norm.weight") != NULL;
        double spread = t->dims == 1 ? 0.3 : sqrt(2.0 / t->cols);
        w->value[i] = arena_array(&w->arena, (size_t)n, sizeof **w->value);
        for (int64_t j = 0; j < n; j++) {
            uint32_t word = philox_word(17, (uint64_t)j, (uint32_t)i, 0x72);
            w->value[i][j] =
                (float)((gain ? 1.0 : 0.0) + spread * (2.0 * (double)philox_uniform(word) - 1.0));
        }
    }
}

static int weights_source(void *context, int32_t tensor, float *out, struct err *err)
{
    struct weights *w = context;
    const struct shape_tensor *t = &w->params.tensor[tensor];
    if (tensor == w->fails_at) return ERR(err, ERR_DATA, "tensor %s is damaged", t->name);
    w->reads[t->stage]++;
    memcpy(out, w->value[tensor], (size_t)t->rows * (size_t)t->cols * sizeof *out);
    return 0;
}

static struct model *open_model(struct backend *b, const struct spec *s, struct weights *w,
                                bool streamed)
{
    const struct shape_capacity capacity = {.rows_max = ROWS,
                                            .length_max = LENGTH,
                                            .scored_max = ROWS * LENGTH,
                                            .keys = b->precision == DTYPE_F32,
                                            .streamed = streamed};
    struct model *m = NULL;
    struct shape_memory planned;
    assert_ok(model_open(&m, b, s, &capacity, &e));
    shape_memory(&planned, s, &m->capacity);
    assert_int_equal(model_bytes(m), planned.total_bytes);
    if (streamed) assert_ok(model_stream(m, weights_source, w, &e));
    for (int32_t i = 0; i < w->params.tensors_n && !streamed; i++)
        assert_ok(model_write(m, MODEL_VALUES, i, w->value[i], &e));
    return m;
}

static void score_all(struct model *m, const struct model_batch *batch, float *logp)
{
    int32_t position[ROWS * LENGTH];
    for (int32_t i = 0; i < batch->rows * batch->length; i++) position[i] = i;
    assert_ok(model_score(m, batch, position, batch->rows * batch->length, logp, &e));
}

/* The largest difference of log p over both rows, the second of which is computed, too. */
static double score_difference(struct model *m, struct formula *f, const struct model_batch *batch)
{
    float logp[ROWS * LENGTH];
    double worst = 0.0;
    score_all(m, batch, logp);
    for (int32_t row = 0; row < ROWS; row++) {
        formula_compute(f, batch->source + row * LENGTH);
        for (int32_t t = 0; t < LENGTH; t++) {
            int32_t at = row * LENGTH + t;
            worst = fmax(worst, fabs((double)logp[at] - f->logp[t][batch->target[at]]));
        }
    }
    return worst;
}

/* A model of these settings with its weights and its formula. */
struct form {
    const char *name;
    struct spec s;
    struct weights w;
    struct formula *f;
    struct backend *b;
    struct model *m;
    struct model_batch batch;
};

/* Returns false if the device cannot compute heads of that width. */
static bool form_open(struct form *k, const char *name, const char *settings, bool streamed)
{
    static struct formula f;
    struct err unused = {0};
    *k = (struct form){.name = name, .s = spec_of(settings), .f = &f};
    if (spec_check_device(&k->s, test_device, &unused) < 0) return false;
    assert_ok(backend_open(&k->b, test_device, 1, test_dtype, &e));
    weights_init(&k->w, &k->s);
    f = (struct formula){.s = &k->s, .params = &k->w.params, .value = k->w.value, .T = LENGTH};
    k->m = open_model(k->b, &k->s, &k->w, streamed);
    k->batch = model_bench_batch(NULL, ROWS, LENGTH, 5);
    return true;
}

static void form_close(struct form *k)
{
    model_close(k->m);
    arena_fini(&k->w.arena);
    backend_close(k->b);
}

static void assert_form(const char *name, const char *settings)
{
    struct form k;
    if (!form_open(&k, name, settings, false)) return;
    double worst = score_difference(k.m, k.f, &k.batch);
    if (!(worst < (test_dtype == DTYPE_F32 ? 5e-6 : 0.2)))
        fail_msg("%s (%s): log p differs by %.2e", name, settings, worst);
    form_close(&k);
}

TEST(every_form_is_its_formula)
{
    for (size_t i = 0; i < FORMS; i++) assert_form(forms[i].name, forms[i].settings);
}

TEST(random_forms_are_their_formulas)
{
    for (uint64_t seed = 0; seed < RANDOM_FORMS; seed++) {
        char name[32];
        snprintf(name, sizeof name, "random form %d", (int)seed);
        assert_form(name, random_settings(seed));
    }
}

/* The largest difference of n numbers from the formula's, which are infinite where they are. */
static double difference(const float *ours, const double *theirs, int32_t n)
{
    double worst = 0.0;
    for (int32_t i = 0; i < n; i++)
        if ((double)ours[i] != theirs[i]) worst = fmax(worst, fabs((double)ours[i] - theirs[i]));
    return worst;
}

/* The features, the distributions, and the keys of row 0. */
static void assert_outputs(struct form *k)
{
    enum { STREAMS = FORMULA_L + 1 };
    const struct model_batch row = {.source = k->batch.source, .rows = 1, .length = LENGTH};
    int32_t C = k->s.model.dim, position[LENGTH];
    float all[FORMULA_V], *keys = model_bench_array(LENGTH * C);
    float *stream = model_bench_array((STREAMS + 1) * ROWS * LENGTH * C);
    for (int32_t t = 0; t < LENGTH; t++) position[t] = t;
    formula_compute(k->f, k->batch.source);
    assert_ok(model_keep_inner(k->m, &e));
    assert_ok(model_keys(k->m, &row, position, LENGTH, keys, &e));
    assert_ok(k->b->ops->download(k->b, stream, k->m->inner_dev_own,
                                  (size_t)(STREAMS * ROWS * LENGTH * C) * sizeof *stream, &e));
    for (int32_t t = 0; t < LENGTH; t++) {
        assert_ok(model_distribution(k->m, &row, t, all, &e));
        if (difference(all, k->f->logp[t], k->s.data.vocab) > 1e-5)
            fail_msg("%s: the distribution at %d differs", k->name, t);
        if (difference(keys + t * C, k->f->key[t], C) > 1e-5)
            fail_msg("%s: the key at %d differs", k->name, t);
        for (int32_t l = 0; l < STREAMS; l++)
            if (difference(stream + (l * ROWS * LENGTH + t) * C, k->f->stream[l][t], C) > 5e-5)
                fail_msg("%s: the stream at %d differs before layer %d", k->name, t, l);
    }
}

/* One layer's attention weights and logits, and whether it has slopes. */
static int see(void *context, const struct heads_layer *l, struct err *err)
{
    const struct form *k = context;
    const struct position_options *o = &k->s.option;
    bool sloped = k->s.model.position == SPEC_ALIBI && o->alibi_rounding == POSITION_EXACT;
    (void)err;
    for (int32_t h = 0; h < l->H; h++)
        for (int32_t i = 0; i < LENGTH; i++) {
            int64_t at = ((int64_t)h * LENGTH + i) * LENGTH;
            if (difference(l->weight + at, k->f->weight[l->layer][h][i], LENGTH) > 1e-5 ||
                difference(l->logit + at, k->f->score[l->layer][h][i], LENGTH) > 1e-4)
                fail_msg("%s: layer %d, head %d, query %d differs", k->name, l->layer, h, i);
        }
    if ((l->slope != NULL) != sloped) fail_msg("%s: slopes", k->name);
    return 0;
}

TEST(streams_keys_distributions_and_heads_are_those_of_the_formula)
{
    for (size_t i = 0; i < FORMS; i++) {
        struct form k;
        if (!form_open(&k, forms[i].name, forms[i].settings, false)) continue;
        const struct model_batch row = {.source = k.batch.source, .rows = 1, .length = LENGTH};
        if (test_dtype == DTYPE_F32) assert_outputs(&k);
        assert_fails(test_dtype == DTYPE_F32 ? 0 : ERR_UNAVAILABLE, "bf16 is not supported",
                     heads_see(k.m, k.m->b, &k.s.model, &row, see, &k, &e));
        form_close(&k);
    }
}

/* A row alone, in a batch and after a longer one has the same bits: a bias by key, too. */
TEST(a_short_row_has_the_bits_of_a_long_one)
{
    for (size_t i = 0; i < FORMS; i++) {
        struct form k;
        float all[ROWS * LENGTH], some[LENGTH / 2];
        if (!form_open(&k, forms[i].name, forms[i].settings, false)) continue;
        const struct model_batch row = {
            .source = k.batch.source, .target = k.batch.target, .rows = 1, .length = LENGTH / 2};
        score_all(k.m, &k.batch, all);
        score_all(k.m, &row, some);
        assert_memory_equal(all, some, sizeof some);
        form_close(&k);
    }
}

/* True on a device that captures graphs, after a check that it refuses streamed weights. */
static bool refuses_streams(void)
{
    const struct shape_capacity capacity = {
        .rows_max = 1, .length_max = 1, .scored_max = 1, .streamed = true};
    struct spec s = spec_of("");
    struct backend *b = NULL;
    struct model *m = NULL;
    assert_ok(backend_open(&b, test_device, 1, test_dtype, &e));
    bool refuses = b->ops->graph_begin != NULL;
    if (refuses)
        assert_fails(ERR_UNAVAILABLE, "streamed weights: scoring on",
                     model_open(&m, b, &s, &capacity, &e));
    backend_close(b);
    return refuses;
}

/* Each pass reads the table, each layer and the head once; a tied head is the table. */
static void assert_streamed(const char *name, const char *settings)
{
    struct form k, streamed;
    float want[ROWS * LENGTH], logp[ROWS * LENGTH];
    form_open(&k, name, settings, false);
    form_open(&streamed, name, settings, true);
    score_all(k.m, &k.batch, want);
    int32_t kept = streamed.w.reads[SHAPE_STAYS];
    for (int32_t pass = 1; pass < 3; pass++) {
        score_all(streamed.m, &k.batch, logp);
        if (memcmp(logp, want, sizeof want) != 0) fail_msg("%s: pass %d", name, pass);
    }
    assert_int_equal(streamed.w.reads[SHAPE_STAYS], kept);
    bool tied = k.s.model.form.tied; /* then it is still there at the next pass */
    assert_int_equal(streamed.w.reads[SHAPE_TABLE], tied ? 3 : 2);
    assert_int_equal(streamed.w.reads[SHAPE_LAYER_0 + FORMULA_L], tied ? 0 : 2);
    for (int32_t i = 0; i < k.w.params.tensors_n; i++)
        for (int32_t l = 0; l < FORMULA_L; l++)
            if (k.w.params.tensor[i].stage == SHAPE_LAYER_0 + l)
                streamed.w.reads[SHAPE_LAYER_0 + l] -= 2;
    for (int32_t l = 0; l < FORMULA_L; l++)
        assert_int_equal(streamed.w.reads[SHAPE_LAYER_0 + l], 0);
    assert_true(model_bytes(streamed.m) < model_bytes(k.m));
    form_close(&streamed);
    form_close(&k);
}

TEST(streamed_weights_give_the_bits_of_resident_ones)
{
    if (refuses_streams()) return;
    for (size_t i = 0; i < FORMS; i++) assert_streamed(forms[i].name, forms[i].settings);
    for (uint64_t seed = 0; seed < RANDOM_FORMS; seed += 4)
        assert_streamed("random", random_settings(seed));
}

TEST(a_source_that_fails_ends_the_pass_and_the_next_one_reads_again)
{
    struct form k;
    float want[ROWS * LENGTH], logp[ROWS * LENGTH];
    int32_t position = 0;
    if (refuses_streams()) return;
    form_open(&k, "failing", "tied=false", true);
    score_all(k.m, &k.batch, want);
    k.w.fails_at = shape_find(&k.w.params, "decoder.layers.0.fc1.weight");
    assert_fails(ERR_DATA, "decoder.layers.0.fc1.weight is damaged",
                 model_score(k.m, &k.batch, &position, 1, logp, &e));
    k.w.fails_at = -1;
    score_all(k.m, &k.batch, logp);
    assert_memory_equal(logp, want, sizeof want);
    form_close(&k);
}

/* Settings that model_open refuses, as its capacity states them. */
TEST(what_cannot_be_computed_is_refused)
{
    static const struct {
        const char *settings, *words;
        bool train, streamed;
        int code;
    } cases[] = {
        {"block=parallel", "model.block = parallel: only pretrained", true, false, ERR_DATA},
        {"tied=false", "model.tied = false: only pretrained", true, false, ERR_DATA},
        {"norm_eps=0.01", "model.norm_eps = 0.01: only pretrained", true, false, ERR_DATA},
        {"", "streamed weights: training", true, true, ERR_UNAVAILABLE},
        {"softmax=adaptive cutoffs=20 tied=false", "model.tied = false", false, false, ERR_DATA},
        {"kv_heads=3", "model.kv_heads = 3 must divide model.heads = 4", false, false, ERR_DATA},
        {"head_width=3", "head width 3: expected an even number", false, false, ERR_DATA},
        {"heads=5", "model.heads = 5 must divide", false, false, ERR_DATA},
    };
    struct backend *b = NULL;
    assert_ok(backend_open(&b, test_device, 1, test_dtype, &e));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct spec s = model_bench_spec(SPEC_ALIBI, SPEC_PLAIN);
        struct model *m = NULL;
        set_all(&s, cases[i].settings);
        const struct shape_capacity capacity = {.rows_max = 1,
                                                .length_max = 8,
                                                .scored_max = 8,
                                                .train = cases[i].train,
                                                .streamed = cases[i].streamed};
        assert_fails(cases[i].code, cases[i].words, model_open(&m, b, &s, &capacity, &e));
        assert_null(m);
    }
    backend_close(b);
}

TEST(a_streamed_model_takes_its_tensors_from_its_source_only)
{
    struct form k;
    struct model *m = NULL;
    float logp, *values = model_bench_array(60 * 32);
    int32_t position = 0;
    if (refuses_streams()) return;
    form_open(&k, "streamed", "", true);
    int32_t table = shape_find(&k.w.params, "decoder.embed_tokens.weight");
    int32_t norm = shape_find(&k.w.params, "decoder.layers.2.final_layer_norm.weight");
    assert_fails(ERR_INTERNAL, "decoder.embed_tokens.weight of a streamed model",
                 model_write(k.m, MODEL_VALUES, table, values, &e));
    assert_fails(ERR_INTERNAL, "decoder.embed_tokens.weight of a streamed model",
                 model_read(k.m, MODEL_VALUES, table, values, &e));
    assert_ok(model_read(k.m, MODEL_VALUES, norm, values, &e));
    assert_memory_equal(values, k.w.value[norm], 32 * sizeof *values);
    const struct shape_capacity capacity = {
        .rows_max = ROWS, .length_max = LENGTH, .scored_max = 1, .streamed = true};
    assert_ok(model_open(&m, k.b, &k.s, &capacity, &e));
    assert_fails(ERR_INTERNAL, "without model_stream",
                 model_score(m, &k.batch, &position, 1, &logp, &e));
    model_close(m);
    form_close(&k);
    form_open(&k, "resident", "", false);
    assert_fails(ERR_INTERNAL, "not opened as streamed",
                 model_stream(k.m, weights_source, &k.w, &e));
    form_close(&k);
}

/* Id 1 is a word of a pretrained model, whose rows are padded with -1. */
TEST(every_id_of_a_pretrained_model_is_a_word)
{
    static const char *const settings[] = {"", "position=learned", "embedding_width=12"};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        struct form k;
        int32_t *ids;
        float padded[ROWS * LENGTH], logp[ROWS * LENGTH];
        form_open(&k, settings[i], settings[i], false);
        k.batch = model_bench_batch(&ids, ROWS, LENGTH, 5);
        for (int32_t t = 0; t < ROWS * LENGTH; t += 3) ids[t] = 1;
        double worst = score_difference(k.m, k.f, &k.batch);
        assert_true(worst < (test_dtype == DTYPE_F32 ? 5e-6 : 0.2));
        score_all(k.m, &k.batch, logp);
        for (int32_t t = LENGTH / 2; t < LENGTH; t++) ids[t] = -1;
        int32_t position[ROWS * LENGTH], n = 0;
        for (int32_t t = 0; t < ROWS * LENGTH; t++)
            if (t < LENGTH / 2 - 1 || t >= LENGTH) position[n++] = t;
        assert_ok(model_score(k.m, &k.batch, position, n, padded, &e));
        for (int32_t j = 0; j < n; j++) assert_true(padded[j] == logp[position[j]]);
        form_close(&k);
    }
    struct spec s = model_bench_spec(SPEC_ALIBI, SPEC_PLAIN);
    struct model_bench *k = model_bench_open_on(test_device, test_dtype, &s, 1, 8, false);
    int32_t *ids, position = 0;
    float logp;
    const struct model_batch batch = model_bench_batch(&ids, 1, 8, 5);
    ids[3] = -1;
    assert_fails(ERR_DATA, "token 3 is -1", model_score(k->m, &batch, &position, 1, &logp, &e));
}
