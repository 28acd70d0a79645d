/* test_shape.c - parameters: counts computed by hand, names of checkpoints, measured initial
 * values. */
#include "harness/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "shape/memory.h"
#include "shape/shape_specs.h"

static int64_t parameters_of(const struct spec *s)
{
    struct shape_cost cost;
    shape_cost(&cost, s);
    return cost.parameters_n;
}

TEST(the_paper_model_has_247_million_parameters)
{
    struct spec alibi = shape_specs_paper(SPEC_ALIBI, 512),
                sinusoidal = shape_specs_paper(SPEC_SINUSOIDAL, 512);
    struct spec rotary = shape_specs_paper(SPEC_ROTARY, 512), t5 = shape_specs_paper(SPEC_T5, 512);

    assert_int_equal(parameters_of(&alibi), 246933504);
    assert_int_equal(parameters_of(&sinusoidal), 246933504);
    assert_int_equal(parameters_of(&rotary), 246933504);
    assert_int_equal(parameters_of(&t5), 246933504 + 32 * 8);
}

TEST_EACH(test_place_make, test_place_remove)

TEST_WITH(struct test_place *place, embeddings_projections_and_class_rows_are_45_million)
{
    struct spec s = shape_specs_paper(SPEC_ALIBI, 512);
    struct shape_params p;
    int64_t layers = 0, all = 0;

    shape_params(&p, &place->arena, &s);
    for (int32_t i = 0; i < p.tensors_n; i++) {
        int64_t n = (int64_t)p.tensor[i].rows * p.tensor[i].cols;
        all += n;
        if (strncmp(p.tensor[i].name, "decoder.layers.", 15) == 0) layers += n;
    }
    assert_int_equal(all, p.parameters_n);
    assert_int_equal(all, 246933504);
    assert_int_equal(layers, 201539584);
    assert_int_equal(all - layers, 45393920);
    assert_int_equal(p.tensors_n, 3 * 2 + 1 + 16 * 16);
}

static const struct shape_tensor *tensor_of(const struct shape_params *p, const char *name)
{
    int32_t i = shape_find(p, name);
    if (i < 0) fail_msg("no tensor %s", name);
    return &p->tensor[i];
}

static int64_t end_of(const struct shape_tensor *t)
{
    return t->offset + (int64_t)t->rows * t->cols;
}

TEST_WITH(struct test_place *place, tensors_used_as_one_matrix_are_neighbours)
{
    struct spec s = shape_specs_paper(SPEC_T5, 512);
    struct shape_params p;

    s.model.dim = 40; /* no multiple of 16: groups need gaps */
    s.model.heads = 5;
    s.model.ffn = 72;
    s.model.adaptive_factor = 3;
    shape_params(&p, &place->arena, &s);
    const struct shape_tensor *table = tensor_of(&p, "decoder.embed_tokens.embeddings.0.0.weight");
    const struct shape_tensor *rows =
        tensor_of(&p, "decoder.adaptive_softmax.head.class_proj.weight");
    assert_int_equal(end_of(table), rows->offset);
    assert_int_equal(rows->rows, 2);
    for (int l = 0; l < 16; l++) {
        for (int kind = 0; kind < 2; kind++) {
            static const char *const kinds[] = {"weight", "bias"};
            const struct shape_tensor *qkv[3];
            for (int i = 0; i < 3; i++) {
                char name[SHAPE_NAME_BYTES];
                snprintf(name, sizeof name, "decoder.layers.%d.self_attn.%c_proj.%s", l, "qkv"[i],
                         kinds[kind]);
                qkv[i] = tensor_of(&p, name);
            }
            assert_int_equal(qkv[0]->offset % 16, 0);
            assert_int_equal(end_of(qkv[0]), qkv[1]->offset);
            assert_int_equal(end_of(qkv[1]), qkv[2]->offset);
        }
    }
    int64_t end = 0;
    for (int fp32 = 0; fp32 < 2; fp32++) { /* in order, apart or a group, never overlapping */
        for (int32_t i = 0; i < p.tensors_n; i++) {
            const struct shape_tensor *t = &p.tensor[i];
            if (t->fp32 != (fp32 == 1)) continue;
            assert_in_range(t->offset - end, 0, 15);
            assert_true(t->offset == end || t->offset % 16 == 0);
            end = end_of(t);
        }
        if (!fp32) assert_in_range(p.fp32_first - end, 0, 15);
    }
    assert_in_range(p.elements_n - end, 0, 15);
    assert_int_equal(p.elements_n % 16, 0);
}

/* The copy in bf16 has the other tensors. */
TEST_WITH(struct test_place *place, norms_and_tensors_of_positions_are_read_in_fp32)
{
    static const char *const endings[] = {"norm.weight", "norm.bias",
                                          "relative_attention_bias.weight"};
    struct spec s = shape_specs_paper(SPEC_T5, 512);
    struct shape_params p;
    shape_params(&p, &place->arena, &s);
    for (int32_t i = 0; i < p.tensors_n; i++) {
        bool expected = false;
        for (size_t j = 0; j < sizeof endings / sizeof *endings; j++)
            expected |= strstr(p.tensor[i].name, endings[j]) != NULL;
        if (p.tensor[i].fp32 != expected) fail_msg("%s", p.tensor[i].name);
    }
}

TEST_WITH(struct test_place *place, shapes_and_names_are_those_of_a_checkpoint)
{
    struct spec s = shape_specs_paper(SPEC_T5, 512);
    struct shape_params p;

    shape_params(&p, &place->arena, &s);
    const struct shape_tensor *t = tensor_of(&p, "decoder.embed_tokens.embeddings.2.0.weight");
    assert_int_equal(t->rows, 207744);
    assert_int_equal(t->cols, 64);
    t = tensor_of(&p, "decoder.embed_tokens.embeddings.1.1.weight");
    assert_int_equal(t->rows, 1024);
    assert_int_equal(t->cols, 256);
    t = tensor_of(&p, "decoder.layers.15.fc1.weight");
    assert_int_equal(t->rows, 4096);
    assert_int_equal(t->cols, 1024);
    t = tensor_of(&p, "decoder.layers.3.final_layer_norm.bias");
    assert_int_equal(t->dims, 1);
    assert_int_equal(t->cols, 1024);
    t = tensor_of(&p, "decoder.relative_attention_bias.weight");
    assert_int_equal(t->rows, 32);
    assert_int_equal(t->cols, 8);
    assert_int_equal(shape_find(&p, "decoder.layer_norm.weight"), -1);
    assert_int_equal(shape_find(&p, "decoder.embed_tokens.weight"), -1);
    s = shape_specs_large(512);
    s.model.final_norm = true;
    shape_params(&p, &place->arena, &s);
    t = tensor_of(&p, "decoder.embed_tokens.weight");
    assert_int_equal(t->rows, 50265);
    assert_int_equal(t->cols, 2048);
    assert_true(shape_find(&p, "decoder.layer_norm.bias") > 0);
    assert_int_equal(shape_find(&p, "decoder.relative_attention_bias.weight"), -1);
}

/* Published models: their sizes, keys of their form, and the sum of their tensors. */
static const struct published {
    const char *name;
    int32_t vocab, layers, dim, heads, ffn, L;
    enum spec_position position;
    struct spec_form form;
    int64_t parameters_n;
} published[] = {
    {"LLaMA-7B",
     32000,
     32,
     4096,
     32,
     11008,
     2048,
     SPEC_ROTARY,
     {.norm = SPEC_RMSNORM, .gated = true},
     6738415616},
    {"Mistral-7B",
     32000,
     32,
     4096,
     32,
     14336,
     4096,
     SPEC_ROTARY,
     {.norm = SPEC_RMSNORM, .gated = true, .kv_heads = 8},
     7241732096},
    {"GPT-J-6B",
     50400,
     28,
     4096,
     16,
     16384,
     2048,
     SPEC_ROTARY,
     {.norm_bias = true, .block = SPEC_PARALLEL, .ffn_bias = true, .head_bias = true},
     6050882784},
    {"Pythia-6.9B",
     50432,
     32,
     4096,
     32,
     16384,
     2048,
     SPEC_ROTARY,
     {.norm_bias = true,
      .block = SPEC_PARALLEL2,
      .qkv_bias = true,
      .out_bias = true,
      .ffn_bias = true},
     6857302016},
    {"MPT-7B", 50432, 32, 4096, 32, 16384, 2048, SPEC_ALIBI, {.tied = true}, 6649286656},
    {"Falcon-7B",
     65024,
     32,
     4544,
     71,
     18176,
     2048,
     SPEC_ROTARY,
     {.norm_bias = true, .block = SPEC_PARALLEL, .kv_heads = 1, .tied = true},
     6921720704},
    {"OPT-350m",
     50272,
     24,
     1024,
     16,
     4096,
     2050,
     SPEC_LEARNED,
     {.norm_bias = true,
      .block = SPEC_POST,
      .qkv_bias = true,
      .out_bias = true,
      .ffn_bias = true,
      .embedding_width = 512,
      .tied = true},
     331196416},
    {"BLOOM-7B1",
     250880,
     30,
     4096,
     32,
     16384,
     2048,
     SPEC_ALIBI,
     {.norm_bias = true,
      .qkv_bias = true,
      .out_bias = true,
      .ffn_bias = true,
      .embedding_norm = true,
      .tied = true},
     7069016064},
};

static struct spec spec_of(const struct published *p)
{
    struct spec s;

    spec_init(&s);
    s.kind = SPEC_EVAL;
    s.train.origin = SPEC_PRETRAINED;
    s.train.L = s.eval.L = p->L;
    s.data.vocab = p->vocab;
    s.model.position = p->position;
    s.model.layers = p->layers;
    s.model.dim = p->dim;
    s.model.heads = p->heads;
    s.model.ffn = p->ffn;
    s.model.softmax = SPEC_PLAIN;
    s.model.final_norm = p->form.block != SPEC_POST;
    s.model.form = p->form;
    return s;
}

TEST(published_models_have_their_number_of_parameters)
{
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        struct spec s = spec_of(&published[i]);
        if (parameters_of(&s) != published[i].parameters_n)
            fail_msg("%s: %lld parameters", published[i].name, (long long)parameters_of(&s));
    }
}

/* Streamed, a model of 7e9 parameters takes less than 2 GB, if
 * its table does. */
TEST_WITH(struct test_place *place, a_streamed_model_needs_one_stage_at_a_time)
{
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        struct spec s = spec_of(&published[i]);
        struct shape_params all, p;
        struct shape_capacity capacity;
        struct shape_memory memory;
        int64_t stages[SHAPE_LAYER_0 + 33] = {0}, most = 0;

        shape_params(&all, &place->arena, &s);
        shape_params_streamed(&p, &place->arena, &s);
        assert_int_equal(p.tensors_n, all.tensors_n);
        assert_int_equal(p.parameters_n, all.parameters_n);
        for (int32_t k = 0; k < p.tensors_n; k++) {
            int64_t n = (int64_t)p.tensor[k].rows * p.tensor[k].cols;
            assert_string_equal(p.tensor[k].name, all.tensor[k].name);
            assert_int_equal(all.tensor[k].stage, p.tensor[k].stage);
            stages[p.tensor[k].stage] += n;
        }
        for (int32_t k = SHAPE_TABLE; k <= SHAPE_LAYER_0 + s.model.layers; k++)
            if (stages[k] > most) most = stages[k];
        assert_in_range(p.elements_n - stages[SHAPE_STAYS] - most, 0, 16 * p.tensors_n);
        shape_capacity(&capacity, &s);
        assert_true(capacity.streamed);
        shape_memory(&memory, &s, &capacity);
        assert_int_equal(memory.arrays_bytes, 4 * p.elements_n);
        double gb = (double)memory.total_bytes / 1e9;
        printf("%s: %.2f GB\n", published[i].name, gb);
        if (stages[SHAPE_TABLE] < 400e6) assert_true(gb < 2.0);
        s.eval.precision = SPEC_BF16;
        shape_capacity(&capacity, &s);
        assert_false(capacity.streamed);
    }
}

/* Standard deviations measured on the authors' freshly made model. */
TEST_WITH(struct test_place *place, initial_values_have_the_measured_spread)
{
    static const struct {
        const char *name;
        double std;
    } measured[] = {
        {"decoder.embed_tokens.embeddings.0.0.weight", 0.03125},
        {"decoder.embed_tokens.embeddings.1.0.weight", 0.0625},
        {"decoder.embed_tokens.embeddings.2.0.weight", 0.125},
        {"decoder.embed_tokens.embeddings.0.1.weight", 0.0313},
        {"decoder.embed_tokens.embeddings.1.1.weight", 0.0395},
        {"decoder.embed_tokens.embeddings.2.1.weight", 0.0428},
        {"decoder.layers.0.self_attn.q_proj.weight", 0.0221},
        {"decoder.layers.9.self_attn.v_proj.bias", 0.018},
        {"decoder.layers.0.self_attn.out_proj.weight", 0.0313},
        {"decoder.layers.0.fc1.weight", 0.01804},
        {"decoder.layers.0.fc2.weight", 0.00902},
        {"decoder.adaptive_softmax.head.class_proj.weight", 0.0440},
    };
    struct spec s = shape_specs_paper(SPEC_T5, 512);
    struct shape_params p;

    shape_params(&p, &place->arena, &s);
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
        const struct shape_tensor *t = tensor_of(&p, measured[i].name);
        double std = t->init == SHAPE_UNIFORM ? t->init_value / sqrt(3.0) : t->init_value;
        if (fabs(std / measured[i].std - 1.0) > 0.01)
            fail_msg("%s: %g, measured %g", t->name, std, measured[i].std);
        assert_int_equal(t->init_zero_row, t->init == SHAPE_NORMAL ? 1 : -1);
    }
    assert_int_equal(tensor_of(&p, "decoder.layers.0.self_attn.out_proj.bias")->init, SHAPE_ZEROS);
    assert_int_equal(tensor_of(&p, "decoder.layers.0.final_layer_norm.weight")->init, SHAPE_ONES);
    assert_int_equal(tensor_of(&p, "decoder.relative_attention_bias.weight")->init, SHAPE_ZEROS);
    s.option.t5_init_std = 0.5;
    shape_params(&p, &place->arena, &s);
    const struct shape_tensor *t = tensor_of(&p, "decoder.relative_attention_bias.weight");
    assert_int_equal(t->init, SHAPE_NORMAL);
    assert_true(t->init_value == 0.5);
    assert_int_equal(t->init_zero_row, -1);
}

TEST(bands_follow_the_cut_offs)
{
    struct spec s = shape_specs_paper(SPEC_ALIBI, 512);
    struct shape_bands b;

    shape_bands(&b, &s.model, s.data.vocab);
    assert_int_equal(b.n, 3);
    assert_int_equal(b.head_n, 20002);
    assert_int_equal(b.band[1].first, 20000);
    assert_int_equal(b.band[1].last, 60000);
    assert_int_equal(b.band[1].width, 256);
    assert_int_equal(b.band[2].last, 267744);
    assert_int_equal(b.band[2].width, 64);
    s = shape_specs_large(512);
    shape_bands(&b, &s.model, s.data.vocab);
    assert_int_equal(b.n, 1);
    assert_int_equal(b.head_n, 50265);
    assert_int_equal(b.band[0].width, 2048);
}

TEST(ranks_are_a_power_of_two_that_the_shards_can_feed)
{
    static const struct {
        int32_t shards, ranks_n;
        const char *nearest; /* NULL: allowed */
    } cases[] = {
        {1, 1, NULL},          {6, 1, NULL},
        {6, 2, NULL},          {6, 4, NULL},
        {6, 8, NULL},          {8, 8, NULL},
        {65536, 256, NULL},    {1, 2, "use 1"},
        {1, 0, "use 1"},       {8, 0, "use 1 or 2"},
        {8, -4, "use 1 or 2"}, {8, 3, "use 2 or 4"},
        {8, 6, "use 4 or 8"},  {8, 16, "use 4 or 8"},
        {6, 9, "use 4 or 8"},  {65536, 512, "use 128 or 256"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int32_t shards = cases[i].shards, ranks_n = cases[i].ranks_n;
        if (cases[i].nearest == NULL)
            assert_ok(shape_check_ranks(shards, ranks_n, &e));
        else
            assert_fails(ERR_USAGE, cases[i].nearest, shape_check_ranks(shards, ranks_n, &e));
    }
    assert_int_equal(shape_leaves(1), 1);
    assert_int_equal(shape_leaves(6), 8);
    assert_int_equal(shape_leaves(8), 8);
}
