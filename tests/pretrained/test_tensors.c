/* test_tensors.c - values of tensors under this program's names: conversions, transposed maps, rows
 * of fused maps, names without prefix, ties. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/file.h"
#include "pretrained/fixture.h"

/* Element `at` of an internal tensor of a folder whose weights are the numbers of their elements.
 */
struct element {
    const char *tensor;
    int64_t at;
    float value;
};

/* Folders of 4 features, 2 heads of 2 and one layer; weights in the order of the file. */
static const struct layout {
    const char *name, *config, *weights;
    struct element element[12];
} layouts[] = {
    /* (in, out): element (r, c) of q is (c, r) of the first 4 of 12 columns. */
    {"thirds, transposed, no prefix",
     "{'model_type': 'gpt2', 'n_embd': 8, 'n_head': 2, 'n_layer': 1, 'vocab_size': 9, "
     "'n_positions': 5}",
     "wte.weight 9 8;wpe.weight 5 8;ln_f.weight 8;ln_f.bias 8;h.0.ln_1.weight 8;h.0.ln_1.bias 8;"
     "h.0.ln_2.weight 8;h.0.ln_2.bias 8;h.0.attn.c_attn.weight 8 24;h.0.attn.c_attn.bias 24;"
     "h.0.attn.c_proj.weight 8 8;h.0.attn.c_proj.bias 8;h.0.mlp.c_fc.weight 8 32;"
     "h.0.mlp.c_fc.bias 32;h.0.mlp.c_proj.weight 32 8;h.0.mlp.c_proj.bias 8",
     {{"decoder.layers.0.self_attn.q_proj.weight", 3 * 8 + 5, 5 * 24 + 3},
      {"decoder.layers.0.self_attn.k_proj.weight", 3 * 8 + 5, 5 * 24 + 8 + 3},
      {"decoder.layers.0.self_attn.v_proj.weight", 7 * 8 + 7, 7 * 24 + 16 + 7},
      {"decoder.layers.0.self_attn.k_proj.bias", 2, 8 + 2},
      {"decoder.layers.0.fc1.weight", 31 * 8 + 1, 1 * 32 + 31},
      {"decoder.layers.0.fc2.weight", 7 * 32 + 30, 30 * 8 + 7},
      {"decoder.embed_positions.weight", 4 * 8 + 1, 4 * 8 + 1},
      {"decoder.embed_tokens.weight", 8 * 8 + 7, 8 * 8 + 7}}},
    /* Head h: rows 12 h to 12 h + 3 are q, then k, then v. */
    {"per head",
     "{'model_type': 'bloom', 'hidden_size': 8, 'n_head': 2, 'n_layer': 1, 'vocab_size': 9}",
     "transformer.word_embeddings.weight 9 8;transformer.word_embeddings_layernorm.weight 8;"
     "transformer.word_embeddings_layernorm.bias 8;transformer.ln_f.weight 8;"
     "transformer.ln_f.bias 8;transformer.h.0.input_layernorm.weight 8;"
     "transformer.h.0.input_layernorm.bias 8;transformer.h.0.post_attention_layernorm.weight 8;"
     "transformer.h.0.post_attention_layernorm.bias 8;"
     "transformer.h.0.self_attention.query_key_value.weight 24 8;"
     "transformer.h.0.self_attention.query_key_value.bias 24;"
     "transformer.h.0.self_attention.dense.weight 8 8;"
     "transformer.h.0.self_attention.dense.bias 8;transformer.h.0.mlp.dense_h_to_4h.weight 32 8;"
     "transformer.h.0.mlp.dense_h_to_4h.bias 32;transformer.h.0.mlp.dense_4h_to_h.weight 8 32;"
     "transformer.h.0.mlp.dense_4h_to_h.bias 8;lm_head.weight 9 8",
     {{"decoder.layers.0.self_attn.q_proj.weight", 5 * 8 + 1, (12 + 1) * 8 + 1},
      {"decoder.layers.0.self_attn.k_proj.weight", 1 * 8 + 1, (4 + 1) * 8 + 1},
      {"decoder.layers.0.self_attn.v_proj.weight", 7 * 8 + 2, (12 + 8 + 3) * 8 + 2},
      {"decoder.layers.0.self_attn.v_proj.bias", 7, 12 + 8 + 3},
      {"decoder.embed_norm.bias", 7, 7},
      {"decoder.head.weight", 71, 71}}},
    /* 4 heads, 2 of keys: groups of 2 heads of q, one of k, one of v, 2 rows each. */
    {"groups",
     "{'model_type': 'falcon', 'hidden_size': 8, 'num_attention_heads': 4, 'num_kv_heads': 2, "
     "'num_hidden_layers': 1, 'vocab_size': 9, 'new_decoder_architecture': true, "
     "'num_ln_in_parallel_attn': 1, 'bias': true, 'ffn_hidden_size': 9}",
     "transformer.word_embeddings.weight 9 8;transformer.ln_f.weight 8;transformer.ln_f.bias 8;"
     "transformer.h.0.input_layernorm.weight 8;transformer.h.0.input_layernorm.bias 8;"
     "transformer.h.0.self_attention.query_key_value.weight 16 8;"
     "transformer.h.0.self_attention.query_key_value.bias 16;"
     "transformer.h.0.self_attention.dense.weight 8 8;"
     "transformer.h.0.self_attention.dense.bias 8;transformer.h.0.mlp.dense_h_to_4h.weight 9 8;"
     "transformer.h.0.mlp.dense_h_to_4h.bias 9;transformer.h.0.mlp.dense_4h_to_h.weight 8 9;"
     "transformer.h.0.mlp.dense_4h_to_h.bias 8",
     {{"decoder.layers.0.self_attn.q_proj.weight", 3 * 8, 3 * 8},
      {"decoder.layers.0.self_attn.q_proj.weight", 5 * 8 + 1, (8 + 1) * 8 + 1},
      {"decoder.layers.0.self_attn.k_proj.weight", 1 * 8, (4 + 1) * 8},
      {"decoder.layers.0.self_attn.k_proj.weight", 2 * 8, (8 + 4) * 8},
      {"decoder.layers.0.self_attn.v_proj.weight", 3 * 8 + 7, (8 + 6 + 1) * 8 + 7},
      {"decoder.layers.0.self_attn.v_proj.bias", 3, 8 + 6 + 1}}},
    /* The position of token t is row t + 2. The table of a tied model may be in the head only. */
    {"rows from 2, the table in the head",
     "{'model_type': 'opt', 'hidden_size': 8, 'num_attention_heads': 2, 'num_hidden_layers': 1, "
     "'ffn_dim': 9, 'vocab_size': 9, 'max_position_embeddings': 5, 'enable_bias': false}",
     "lm_head.weight 9 8;decoder.embed_positions.weight 7 8;decoder.final_layer_norm.weight 8;"
     "decoder.final_layer_norm.bias 8;decoder.layers.0.self_attn_layer_norm.weight 8;"
     "decoder.layers.0.self_attn_layer_norm.bias 8;decoder.layers.0.final_layer_norm.weight 8;"
     "decoder.layers.0.final_layer_norm.bias 8;decoder.layers.0.self_attn.q_proj.weight 8 8;"
     "decoder.layers.0.self_attn.k_proj.weight 8 8;decoder.layers.0.self_attn.v_proj.weight 8 8;"
     "decoder.layers.0.self_attn.out_proj.weight 8 8;decoder.layers.0.fc1.weight 9 8;"
     "decoder.layers.0.fc2.weight 8 9;decoder.layers.0.attn.bias 3 3",
     {{"decoder.embed_positions.weight", 0, 2 * 8},
      {"decoder.embed_positions.weight", 39, 55},
      {"decoder.embed_tokens.weight", 71, 71},
      {"decoder.layers.0.fc2.weight", 71, 71}}},
};

TEST_EACH(test_place_make, test_place_remove)

TEST_WITH(struct test_place *p, rows_and_columns_of_each_layout_are_put_in_order)
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        const struct layout *l = &layouts[i];
        const char *folder = arena_printf(&p->arena, "%s/%zu", p->path, i);
        struct pretrained *open;
        float out[512];

        open_folder_weights(p, folder, l->weights, NULL);
        open_folder_write(p, folder, "config.json", l->config);
        assert_ok(pretrained_open(&open, folder, &e));
        const struct shape_params *params = &pretrained_facts(open)->params;
        for (const struct element *x = l->element; x->tensor; x++) {
            int32_t tensor = shape_find(params, x->tensor);
            if (tensor < 0) fail_msg("%s: no tensor %s", l->name, x->tensor);
            assert_ok(pretrained_read(open, tensor, out, &e));
            if (out[x->at] != x->value)
                fail_msg("%s: element %lld of %s is %g, expected %g", l->name, (long long)x->at,
                         x->tensor, (double)out[x->at], (double)x->value);
        }
        pretrained_close(open);
    }
}

/* The value of fp16, as its definition says. */
static double half_value(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double magnitude = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
    return bits >> 15 ? -magnitude : magnitude;
}

/* A model whose table has 256 x 256 values: its weights, without the size of the table. */
static const char table_config[] = "{'model_type': 'gpt2', 'n_embd': 256, 'n_head': 1, 'n_layer': "
                                   "1, 'n_inner': 8, 'vocab_size': 256, 'n_positions': 8}";
static const char table_weights[] =
    "wte.weight 256 256;wpe.weight 8 256;ln_f.weight 256;ln_f.bias 256;h.0.ln_1.weight 256;"
    "h.0.ln_1.bias 256;h.0.ln_2.weight 256;h.0.ln_2.bias 256;h.0.attn.c_attn.weight 256 768;"
    "h.0.attn.c_attn.bias 768;h.0.attn.c_proj.weight 256 256;h.0.attn.c_proj.bias 256;"
    "h.0.mlp.c_fc.weight 256 8;h.0.mlp.c_fc.bias 8;h.0.mlp.c_proj.weight 8 256;"
    "h.0.mlp.c_proj.bias 256";
enum { TABLE_N = 256 * 256 };

/* Reads the table of a model that has these values. */
static int read_table(struct test_place *p, const struct open_folder_values *values, float *out,
                      struct err *e)
{
    struct pretrained *open;

    open_folder_write(p, p->path, "config.json", table_config);
    open_folder_weights(p, p->path, table_weights, values);
    TRY(pretrained_open(&open, p->path, e));
    int32_t i = shape_find(&pretrained_facts(open)->params, "decoder.embed_tokens.weight");
    int rc = pretrained_read(open, i, out, e);
    pretrained_close(open);
    return rc;
}

/* The CPU backend sets its threads to flush subnormal numbers to 0. */
static void flush_subnormals(bool flush)
{
#if defined(__x86_64__)
    _mm_setcsr((_mm_getcsr() & ~0x8040u) | (flush ? 0x8040u : 0));
#else
    (void)flush;
#endif
}

TEST_WITH(struct test_place *p, every_fp16_number_is_converted_exactly)
{
    uint16_t *bits = arena_array(&p->arena, TABLE_N, sizeof *bits);
    float *out = arena_array(&p->arena, TABLE_N, sizeof *out);
    const struct open_folder_values values = {"F16", sizeof *bits, bits};

    for (int i = 0; i < TABLE_N; i++) bits[i] = (uint16_t)((i >> 10 & 31) == 31 ? i & 0x83FF : i);
    for (int flush = 0; flush < 2; flush++) {
        flush_subnormals(flush);
        int rc = read_table(p, &values, out, &e);
        flush_subnormals(false);
        assert_int_equal(rc, 0);
        for (int i = 0; i < TABLE_N; i++)
            if ((double)out[i] != half_value(bits[i]))
                fail_msg("%04x is %g, expected %g", bits[i], (double)out[i], half_value(bits[i]));
    }
}

TEST_WITH(struct test_place *p, every_bf16_number_has_the_bits_of_fp32)
{
    uint16_t *bits = arena_array(&p->arena, TABLE_N, sizeof *bits);
    float *out = arena_array(&p->arena, TABLE_N, sizeof *out);
    const struct open_folder_values values = {"BF16", sizeof *bits, bits};

    for (int i = 0; i < TABLE_N; i++) bits[i] = (uint16_t)((i & 0x7F80) == 0x7F80 ? i & 0x807F : i);
    assert_ok(read_table(p, &values, out, &e));
    for (int i = 0; i < TABLE_N; i++) {
        uint32_t got;
        memcpy(&got, &out[i], sizeof got);
        if (got != (uint32_t)bits[i] << 16) fail_msg("%04x is %08x", bits[i], got);
    }
}

TEST_WITH(struct test_place *p, fp64_numbers_are_rounded)
{
    double *numbers = arena_array(&p->arena, TABLE_N, sizeof *numbers);
    float *out = arena_array(&p->arena, TABLE_N, sizeof *out);
    const struct open_folder_values values = {"F64", sizeof *numbers, numbers};

    for (int i = 0; i < TABLE_N; i++) numbers[i] = 1.0 / (1 + i) - 0.1;
    assert_ok(read_table(p, &values, out, &e));
    for (int i = 0; i < TABLE_N; i++) assert_true(out[i] == (float)numbers[i]);
}

TEST_WITH(struct test_place *p, a_number_that_is_not_finite_in_fp32_is_refused_by_name)
{
    static const struct {
        const char *dtype;
        size_t bytes;
        uint64_t bits;
    } rows[] = {
        {"F32", 4, 0x7F800000},
        {"F32", 4, 0xFFC00000},
        {"BF16", 2, 0x7F80},
        {"BF16", 2, 0xFFC0},
        {"F16", 2, 0x7C00},
        {"F16", 2, 0xFE00},
        {"F64", 8, 0x7FF8000000000000},
        {"F64", 8, 0x47F0000000000000 /* 2^128 */},
    };
    char *data = arena_array(&p->arena, TABLE_N, 8);
    float *out = arena_array(&p->arena, TABLE_N, sizeof *out);

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct open_folder_values values = {rows[i].dtype, rows[i].bytes, data};
        memset(data, 0, (size_t)TABLE_N * 8);
        assert_ok(read_table(p, &values, out, &e));
        memcpy(data + (TABLE_N - 1) * rows[i].bytes, &rows[i].bits, rows[i].bytes);
        assert_fails(ERR_DATA, "wte.weight has a value that is not finite",
                     read_table(p, &values, out, &e));
    }
}
