/* families.c - the families of models that are read: a function for each, with its keys, their
 * defaults, its tensors and what it refuses (open-models SPEC.md sections 2 to 5). describe.c does
 * the rest. */
#include <string.h>

#include "pretrained/pretrained_internal.h"

#define ROPE(name) "rope_parameters." name "&rope_scaling." name

/* Keys that most families have under some name; name NULL: it has none. A size of 0 is not assumed;
 * HEADS: as many as heads. */
enum { HEADS = -1 };
struct size {
    const char *name;
    int32_t missing;
};
struct common {
    struct size dim, heads, kv_heads, layers, vocab, ffn, length;
    struct {
        const char *name;
        double missing;
    } eps;
    struct {
        const char *name;
        enum spec_activation missing;
    } activation;
    bool tied;
};

static int read_size(int32_t *out, const char **name, struct config *c, const struct size *size,
                     const char *spec, int32_t heads, struct err *e)
{
    if (!size->name) return 0;
    TRY(config_count(out, c, size->name, spec, size->missing == HEADS ? heads : size->missing, e));
    if (name) *name = c->name;
    return 0;
}

static int read_common(struct family *f, struct config *c, const struct common *k, struct err *e)
{
    struct spec_model *m = &f->spec.model;
    struct spec_form *form = &m->form;

    if (k->activation.name)
        TRY(config_activation(&form->activation, c, k->activation.name, k->activation.missing, e));
    TRY(read_size(&m->dim, &f->dim, c, &k->dim, "model.dim", 0, e));
    TRY(read_size(&m->heads, &f->heads, c, &k->heads, "model.heads", 0, e));
    TRY(read_size(&form->kv_heads, &f->kv_heads, c, &k->kv_heads, "model.kv_heads", m->heads, e));
    TRY(read_size(&m->layers, NULL, c, &k->layers, "model.layers", 0, e));
    TRY(read_size(&f->spec.data.vocab, NULL, c, &k->vocab, "data.vocab", 0, e));
    TRY(read_size(&m->ffn, NULL, c, &k->ffn, "model.ffn", 0, e));
    if (k->eps.name)
        TRY(config_real(&form->norm_eps, c, k->eps.name, "model.norm_eps", k->eps.missing, e));
    TRY(read_size(&f->spec.train.L, NULL, c, &k->length, "train.L", 0, e));
    return config_flag(&form->tied, c, "tie_word_embeddings", k->tied, e);
}

/* Reads a switch that must have a value. */
static int require_value(struct config *c, const char *key, bool missing, bool required,
                         const char *reason, struct err *e)
{
    bool value;

    TRY(config_flag(&value, c, key, missing, e));
    return value == required ? 0 : family_refuse(c, key, value ? "true" : "false", reason, e);
}

static void drop_biases(struct spec_form *form)
{
    form->qkv_bias = form->out_bias = form->ffn_bias = false;
}

static void rename_tensor(struct family *f, const char *role, const char *name)
{
    const char **n = f->tensors.name;

    while (*n && strcmp(*n, role) != 0) n += 2;
    n[0] = role;
    n[1] = name;
}

/* Reads the base and the type of a rotation of which pairs are halves of a head. */
static int read_half_split(struct family *f, struct config *c, const char *base, struct err *e)
{
    f->spec.model.position = SPEC_ROTARY;
    f->spec.option.rotary_layout = POSITION_HALF_SPLIT;
    TRY(config_real(&f->spec.option.rotary_base, c, base, "model.rotary_base", 10000, e));
    return family_find_rope(f, c, e);
}

static int read_bloom(struct family *f, struct config *c, struct err *e)
{
    static const struct common common = {.dim = {"n_embed|hidden_size", 64},
                                         .heads = {"n_head|num_attention_heads", 8},
                                         .layers = {"n_layer|num_hidden_layers", 2},
                                         .vocab = {"vocab_size", 250880},
                                         .length = {"seq_length", 2048},
                                         .eps = {"layer_norm_epsilon", 1e-5},
                                         .tied = true};
    f->tensors = (struct family_tensors){
        .prefix = "transformer.",
        .layers = "h",
        .fused = "self_attention.query_key_value",
        .fused_by_key_head = true,
        .name = {"embed_tokens", "word_embeddings", "layer_norm", "ln_f", "embed_norm",
                 "word_embeddings_layernorm", "self_attn_layer_norm", "input_layernorm",
                 "final_layer_norm", "post_attention_layernorm", "self_attn.out_proj",
                 "self_attention.dense", "fc1", "mlp.dense_h_to_4h", "fc2", "mlp.dense_4h_to_h"}};
    TRY(read_common(f, c, &common, e));
    f->spec.model.position = SPEC_ALIBI;
    f->spec.model.form.activation = SPEC_GELU_TANH;
    f->spec.model.form.embedding_norm = true;
    return require_value(c, "apply_residual_connection_post_layernorm", false, false,
                         "no published checkpoint has it", e);
}

static int read_mpt_refused(struct config *c, struct err *e)
{
    const char *type, *norm;
    double ratio;

    TRY(require_value(c, "attn_config.alibi", true, true,
                      "learned positions of MPT are not supported", e));
    TRY(require_value(c, "attn_config.qk_ln", false, false, "norms of q and k are not supported",
                      e));
    TRY(require_value(c, "attn_config.prefix_lm", false, false, "only causal attention is", e));
    TRY(config_word(&type, c, "attn_config.attn_type", "multihead_attention", e));
    if (strcmp(type, "multihead_attention") != 0)
        return family_refuse(c, c->name, type, "only multihead_attention is", e);
    TRY(config_real(&ratio, c, "expansion_ratio", NULL, 4, e));
    if (ratio != 4)
        return family_refuse(c, c->name, config_show_real(c->arena, ratio), "only 4 is", e);
    TRY(require_value(c, "no_bias", true, true, "only models without biases are", e));
    const json_t *scale = config_find(c, "logit_scale");
    if (scale)
        return family_refuse(c, "logit_scale", config_show(c->arena, scale),
                             "logits are not scaled", e);
    TRY(config_word(&norm, c, "norm_type", "low_precision_layernorm", e));
    return strstr(norm, "rms") ? family_refuse(c, c->name, norm, "only layernorm is", e) : 0;
}

static int read_mpt(struct family *f, struct config *c, struct err *e)
{
    static const struct common common = {.dim = {"d_model", 2048},
                                         .heads = {"n_heads", 16},
                                         .layers = {"n_layers", 24},
                                         .vocab = {"vocab_size", 50368},
                                         .length = {"max_seq_len", 2048},
                                         .eps = {"layer_norm_epsilon", 1e-5},
                                         .tied = true};
    struct spec_form *form = &f->spec.model.form;

    f->tensors = (struct family_tensors){
        .prefix = "transformer.",
        .layers = "blocks",
        .fused = "attn.Wqkv",
        .name = {"embed_tokens", "wte", "layer_norm", "norm_f", "self_attn_layer_norm", "norm_1",
                 "final_layer_norm", "norm_2", "self_attn.out_proj", "attn.out_proj", "fc1",
                 "ffn.up_proj", "fc2", "ffn.down_proj"}};
    TRY(read_common(f, c, &common, e));
    TRY(config_real(&f->spec.option.alibi_bias_max, c, "attn_config.alibi_bias_max",
                    "model.alibi_bias_max", 8, e));
    TRY(config_real_or_0(&form->qkv_clip, c, "attn_config.clip_qkv", "model.qkv_clip", 0, e));
    TRY(config_real(&form->score_scale, c, "attn_config.softmax_scale", "model.score_scale", 0, e));
    f->spec.model.position = SPEC_ALIBI;
    form->activation = SPEC_GELU_ERF;
    form->norm_bias = false;
    drop_biases(form);
    return read_mpt_refused(c, e);
}

/* The norms and the heads of keys of a Falcon, whose architecture has two forms. */
static int read_falcon_form(struct family *f, struct config *c, struct err *e)
{
    struct spec_model *m = &f->spec.model;
    bool shares_keys, parallel, is_new;
    int32_t norms;

    TRY(config_flag(&shares_keys, c, "multi_query", true, e));
    TRY(config_flag(&parallel, c, "parallel_attn", true, e));
    TRY(config_flag(&is_new, c, "new_decoder_architecture", false, e));
    TRY(config_count(&norms, c, "num_ln_in_parallel_attn", NULL, 0, e));
    const char *norms_text = config_show_real(c->arena, norms);
    if (is_new && !parallel)
        return family_refuse(c, "parallel_attn", "false", "new_decoder_architecture needs it", e);
    if (!is_new && !shares_keys && m->form.kv_heads != m->heads)
        return family_refuse(c, "num_kv_heads", config_show_real(c->arena, m->form.kv_heads),
                             "without multi_query each head has keys of its own", e);
    if (!is_new && norms == 2)
        return family_refuse(c, "num_ln_in_parallel_attn", norms_text,
                             "two norms need new_decoder_architecture", e);
    if (norms > 2)
        return family_refuse(c, "num_ln_in_parallel_attn", norms_text,
                             "a layer has one norm or two", e);
    if (!is_new && shares_keys) m->form.kv_heads = 1;
    if (parallel) m->form.block = is_new && norms != 1 ? SPEC_PARALLEL2 : SPEC_PARALLEL;
    if (!is_new || norms == 1) return 0;
    rename_tensor(f, "self_attn_layer_norm", "ln_attn");
    rename_tensor(f, "final_layer_norm", "ln_mlp");
    return 0;
}

static int read_falcon(struct family *f, struct config *c, struct err *e)
{
    static const struct common common = {.dim = {"hidden_size", 4544},
                                         .heads = {"num_attention_heads", 71},
                                         .layers = {"num_hidden_layers", 32},
                                         .vocab = {"vocab_size", 65024},
                                         .ffn = {"ffn_hidden_size", 0},
                                         .length = {"max_position_embeddings", 2048},
                                         .eps = {"layer_norm_epsilon", 1e-5},
                                         .activation = {"activation", SPEC_GELU_ERF},
                                         .tied = true};
    static const struct size kv_heads = {"num_kv_heads", HEADS};
    struct spec_model *m = &f->spec.model;
    bool bias, alibi;

    f->tensors = (struct family_tensors){
        .prefix = "transformer.",
        .layers = "h",
        .fused = "self_attention.query_key_value",
        .fused_by_key_head = true,
        .name = {"embed_tokens", "word_embeddings", "layer_norm", "ln_f", "self_attn_layer_norm",
                 "input_layernorm", "final_layer_norm", "post_attention_layernorm",
                 "self_attn.out_proj", "self_attention.dense", "fc1", "mlp.dense_h_to_4h", "fc2",
                 "mlp.dense_4h_to_h"}};
    TRY(read_common(f, c, &common, e));
    TRY(read_size(&m->form.kv_heads, &f->kv_heads, c, &kv_heads, "model.kv_heads", m->heads, e));
    TRY(config_flag(&bias, c, "bias", false, e));
    TRY(config_flag(&alibi, c, "alibi", false, e));
    if (!bias) drop_biases(&m->form);
    if (alibi) {
        m->position = SPEC_ALIBI;
        f->spec.option.alibi_rounding = POSITION_ROUNDED_KEYS;
    } else {
        TRY(read_half_split(f, c, ROPE("rope_theta") "|rope_theta", e));
    }
    return read_falcon_form(f, c, e);
}

static int read_neox(struct family *f, struct config *c, struct err *e)
{
    static const struct common common = {.dim = {"hidden_size", 6144},
                                         .heads = {"num_attention_heads", 64},
                                         .layers = {"num_hidden_layers", 44},
                                         .vocab = {"vocab_size", 50432},
                                         .ffn = {"intermediate_size", 24576},
                                         .length = {"max_position_embeddings", 2048},
                                         .eps = {"layer_norm_eps", 1e-5},
                                         .activation = {"hidden_act", SPEC_GELU_ERF}};
    struct spec_form *form = &f->spec.model.form;
    bool parallel, bias;

    f->tensors = (struct family_tensors){
        .prefix = "gpt_neox.",
        .layers = "layers",
        .head = {"embed_out", "lm_head"},
        .fused = "attention.query_key_value",
        .fused_by_key_head = true,
        .name = {"embed_tokens", "embed_in", "layer_norm", "final_layer_norm",
                 "self_attn_layer_norm", "input_layernorm", "final_layer_norm",
                 "post_attention_layernorm", "self_attn.out_proj", "attention.dense", "fc1",
                 "mlp.dense_h_to_4h", "fc2", "mlp.dense_4h_to_h"}};
    TRY(read_common(f, c, &common, e));
    TRY(config_flag(&parallel, c, "use_parallel_residual", true, e));
    TRY(config_flag(&bias, c, "attention_bias", true, e));
    TRY(config_real(&f->spec.option.rotary_share, c, ROPE("partial_rotary_factor") "|rotary_pct",
                    "model.rotary_share", 0.25, e));
    f->rotated = c->name;
    if (parallel) form->block = SPEC_PARALLEL2;
    form->qkv_bias = form->out_bias = bias;
    return read_half_split(f, c, ROPE("rope_theta") "|rotary_emb_base", e);
}

static int read_gptj(struct family *f, struct config *c, struct err *e)
{
    static const struct common common = {.dim = {"n_embd", 4096},
                                         .heads = {"n_head", 16},
                                         .layers = {"n_layer", 28},
                                         .vocab = {"vocab_size", 50400},
                                         .ffn = {"n_inner", 0},
                                         .length = {"n_positions", 2048},
                                         .eps = {"layer_norm_epsilon", 1e-5},
                                         .activation = {"activation_function", SPEC_GELU_TANH}};
    struct spec_form *form = &f->spec.model.form;

    f->tensors = (struct family_tensors){
        .prefix = "transformer.",
        .layers = "h",
        .name = {"embed_tokens", "wte", "layer_norm", "ln_f", "self_attn_layer_norm", "ln_1",
                 "self_attn.q_proj", "attn.q_proj", "self_attn.k_proj", "attn.k_proj",
                 "self_attn.v_proj", "attn.v_proj", "self_attn.out_proj", "attn.out_proj", "fc1",
                 "mlp.fc_in", "fc2", "mlp.fc_out"}};
    TRY(read_common(f, c, &common, e));
    f->rotated = "rotary_dim";
    if (config_is_null(c, f->rotated))
        return family_refuse(c, f->rotated, "null", "state the rotary width", e);
    TRY(config_count(&f->rotated_n, c, f->rotated, NULL, 64, e));
    f->spec.model.position = SPEC_ROTARY;
    f->spec.option.rotary_layout = POSITION_ADJACENT_PAIRS;
    form->block = SPEC_PARALLEL;
    form->qkv_bias = form->out_bias = false;
    form->head_bias = true;
    return 0;
}

static int read_gpt2(struct family *f, struct config *c, struct err *e)
{
    static const struct common common = {.dim = {"n_embd", 768},
                                         .heads = {"n_head", 12},
                                         .layers = {"n_layer", 12},
                                         .vocab = {"vocab_size", 50257},
                                         .ffn = {"n_inner", 0},
                                         .length = {"n_positions", 1024},
                                         .eps = {"layer_norm_epsilon", 1e-5},
                                         .activation = {"activation_function", SPEC_GELU_TANH},
                                         .tied = true};
    struct spec_form *form = &f->spec.model.form;
    bool scaled;

    f->tensors = (struct family_tensors){
        .prefix = "transformer.",
        .layers = "h",
        .fused = "attn.c_attn",
        .transposed = true,
        .name = {"embed_tokens", "wte", "embed_positions", "wpe", "layer_norm", "ln_f",
                 "self_attn_layer_norm", "ln_1", "final_layer_norm", "ln_2", "self_attn.out_proj",
                 "attn.c_proj", "fc1", "mlp.c_fc", "fc2", "mlp.c_proj"}};
    TRY(read_common(f, c, &common, e));
    TRY(config_flag(&scaled, c, "scale_attn_weights", true, e));
    TRY(config_flag(&form->score_scale_by_layer, c, "scale_attn_by_inverse_layer_idx", false, e));
    f->spec.model.position = SPEC_LEARNED;
    if (!scaled) form->score_scale = 1;
    return require_value(c, "add_cross_attention", false, false, "only decoders are", e);
}

static int read_opt(struct family *f, struct config *c, struct err *e)
{
    static const struct common common = {.dim = {"hidden_size", 768},
                                         .heads = {"num_attention_heads", 12},
                                         .layers = {"num_hidden_layers", 12},
                                         .vocab = {"vocab_size", 50272},
                                         .ffn = {"ffn_dim", 3072},
                                         .length = {"max_position_embeddings", 2048},
                                         .activation = {"activation_function", SPEC_RELU},
                                         .tied = true};
    struct spec_model *m = &f->spec.model;
    bool before, removed, biases;

    f->tensors = (struct family_tensors){
        .prefix = "model.",
        .layers = "decoder.layers",
        .first_row = 2,
        .name = {"embed_tokens", "decoder.embed_tokens", "embed_positions",
                 "decoder.embed_positions", "project_in", "decoder.project_in", "project_out",
                 "decoder.project_out", "layer_norm", "decoder.final_layer_norm"}};
    TRY(read_common(f, c, &common, e));
    TRY(config_count(&m->form.embedding_width, c, "word_embed_proj_dim", "model.embedding_width",
                     m->dim, e));
    TRY(config_flag(&before, c, "do_layer_norm_before", true, e));
    TRY(config_flag(&removed, c, "_remove_final_layer_norm", false, e));
    TRY(config_flag(&biases, c, "enable_bias", true, e));
    m->position = SPEC_LEARNED;
    if (!biases) drop_biases(&m->form);
    if (!before) m->form.block = SPEC_POST;
    m->final_norm = before && !removed;
    return require_value(c, "layer_norm_elementwise_affine", true, true,
                         "norms without gain are not", e);
}

/* LLaMA, Mistral and Qwen2, whose defaults differ. */
static int read_llama_like(struct family *f, struct config *c, struct size kv_heads, int32_t ffn,
                           int32_t vocab, int32_t length, struct err *e)
{
    const struct common common = {.dim = {"hidden_size", 4096},
                                  .heads = {"num_attention_heads", 32},
                                  .kv_heads = kv_heads,
                                  .layers = {"num_hidden_layers", 32},
                                  .vocab = {"vocab_size", vocab},
                                  .ffn = {"intermediate_size", ffn},
                                  .length = {"max_position_embeddings", length},
                                  .eps = {"rms_norm_eps", 1e-6},
                                  .activation = {"hidden_act", SPEC_SILU}};
    struct spec_form *form = &f->spec.model.form;
    double share;

    f->tensors = (struct family_tensors){.prefix = "model.",
                                         .layers = "layers",
                                         .name = {"layer_norm", "norm", "self_attn_layer_norm",
                                                  "input_layernorm", "final_layer_norm",
                                                  "post_attention_layernorm", "self_attn.out_proj",
                                                  "self_attn.o_proj", "fc_gate", "mlp.gate_proj",
                                                  "fc1", "mlp.up_proj", "fc2", "mlp.down_proj"}};
    TRY(read_common(f, c, &common, e));
    TRY(config_count(&form->head_width, c, "head_dim", "model.head_width", 0, e));
    form->norm = SPEC_RMSNORM;
    form->gated = true;
    f->windows = FAMILY_WINDOWS_ALIKE;
    TRY(read_half_split(f, c, ROPE("rope_theta") "|rope_theta", e));
    TRY(config_real(&share, c, ROPE("partial_rotary_factor") "&partial_rotary_factor", NULL, 1, e));
    if (share == 1) return 0;
    return family_refuse(c, "partial_rotary_factor", config_show_real(c->arena, share), "only 1 is",
                         e);
}

static int read_llama(struct family *f, struct config *c, struct err *e)
{
    struct spec_form *form = &f->spec.model.form;
    bool attention_bias;

    TRY(read_llama_like(f, c, (struct size){"num_key_value_heads", HEADS}, 11008, 32000, 2048, e));
    TRY(config_flag(&attention_bias, c, "attention_bias", false, e));
    form->qkv_bias = form->out_bias = attention_bias;
    return config_flag(&form->ffn_bias, c, "mlp_bias", false, e);
}

/* Reads a window, which null switches off. */
static int read_window(struct family *f, struct config *c, struct err *e)
{
    static const char key[] = "sliding_window";
    return config_count(&f->spec.model.mask.window, c, key, "model.attention_window",
                        config_is_null(c, key) ? 0 : 4096, e);
}

static int read_mistral(struct family *f, struct config *c, struct err *e)
{
    TRY(read_llama_like(f, c, (struct size){"num_key_value_heads", 8}, 14336, 32000, 131072, e));
    drop_biases(&f->spec.model.form);
    return read_window(f, c, e);
}

static int read_qwen2(struct family *f, struct config *c, struct err *e)
{
    struct spec_model *m = &f->spec.model;
    bool has_window;

    TRY(read_llama_like(f, c, (struct size){"num_key_value_heads", HEADS}, 22016, 151936, 32768,
                        e));
    TRY(read_window(f, c, e));
    TRY(config_flag(&has_window, c, "use_sliding_window", false, e));
    TRY(config_whole(&f->max_window_layers, c, "max_window_layers", 28, e));
    if (!has_window) m->mask.window = 0;
    m->form.out_bias = m->form.ffn_bias = false;
    f->windows = FAMILY_WINDOWS_BY_LAYER;
    return 0;
}

const struct family_row family_rows[] = {
    {"bloom", read_bloom},     {"falcon", read_falcon}, {"gpt2", read_gpt2},
    {"gpt_neox", read_neox},   {"gptj", read_gptj},     {"llama", read_llama},
    {"mistral", read_mistral}, {"mpt", read_mpt},       {"opt", read_opt},
    {"qwen2", read_qwen2},
};
const int32_t family_rows_n = sizeof family_rows / sizeof *family_rows;
