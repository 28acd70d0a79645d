/* families.c - the families of models that are read: names of keys and tensors, defaults and
 * switches, as data. describe.c reads them; nothing is code for one family (open-models SPEC.md
 * sections 2 to 5).
 *
 * A family has keys, which are read first, and rules. A rule sets words, KEY=VALUE, if its
 * condition holds. A word is a key of the spec, the name of a tensor, or:
 * - prefix: of all names but the head's; layers: the list of layers
 * - qkv: the fused map of q, k and v; groups: its rows are `kv` groups, one for each head of keys,
 *   or 1, with q of its heads, then k, then v
 * - maps: `transposed` if they are stored (in, out)
 * - first_row: of the learned positions
 * - rope: `read` if section 5 applies; width: the key of the rotary width, instead of a share
 * - layer_types: `windows` if they decide which layers have the window, `alike` if all must be the
 *   same
 * A tensor without a word has the name that it has in this program.
 *
 * A condition is a list of words, all of which must hold: KEY, !KEY, KEY=VALUE, KEY!=VALUE,
 * KEY~PART. The value may be the name of a key. A rule with `refused` is an error that names this
 * key. */
#include "pretrained/pretrained_internal.h"

#define ROPE(name) "rope_parameters." name "|rope_scaling." name
#define COUNT CONFIG_COUNT
#define FLAG CONFIG_FLAG
#define REAL CONFIG_REAL
/* A row of keys; after `missing` may follow other fields. */
#define KEY(name_, type_, spec_, ...)                                                              \
    {                                                                                              \
        .name = name_, .type = type_, .spec = spec_, .missing = __VA_ARGS__                        \
    }
#define EPS(name, missing) KEY(name, REAL, "model.norm_eps", missing)
#define ACTIVATION(name, missing) KEY(name, CONFIG_ACTIVATION, "model.activation", missing)
#define LENGTH(missing) KEY("max_position_embeddings", COUNT, "train.L", missing)
#define TIED(missing) KEY("tie_word_embeddings", FLAG, "model.tied", missing)
#define BASE(name) KEY(ROPE("rope_theta") "|" name, REAL, "model.rotary_base", "10000", .agree = 2)
/* Rows of rules. */
#define SET(when_, words_)                                                                         \
    {                                                                                              \
        .when = when_, .words = words_                                                             \
    }
#define REFUSE(when_, key, reason_)                                                                \
    {                                                                                              \
        .when = when_, .refused = key, .reason = reason_                                           \
    }
#define HALF_SPLIT "model.position=rotary model.rotary_layout=half_split rope=read "
#define NO_BIASES "model.qkv_bias=false model.out_bias=false model.ffn_bias=false "

static const struct config_key bloom_keys[] = {
    KEY("n_embed|hidden_size", COUNT, "model.dim", "64"),
    KEY("n_head|num_attention_heads", COUNT, "model.heads", "8"),
    KEY("n_layer|num_hidden_layers", COUNT, "model.layers", "2"),
    KEY("vocab_size", COUNT, "data.vocab", "250880"),
    EPS("layer_norm_epsilon", "1e-05"),
    KEY("seq_length", COUNT, "train.L", "2048"),
    TIED("true"),
    KEY("apply_residual_connection_post_layernorm", FLAG, NULL, "false"),
    {0},
};
static const struct family_rule bloom_rules[] = {
    SET("",
        "model.position=alibi model.activation=gelu_tanh model.embedding_norm=true "
        "prefix=transformer. layers=h embed_tokens=word_embeddings layer_norm=ln_f "
        "embed_norm=word_embeddings_layernorm self_attn_layer_norm=input_layernorm "
        "final_layer_norm=post_attention_layernorm qkv=self_attention.query_key_value groups=kv "
        "self_attn.out_proj=self_attention.dense fc1=mlp.dense_h_to_4h fc2=mlp.dense_4h_to_h"),
    REFUSE("apply_residual_connection_post_layernorm", "apply_residual_connection_post_layernorm",
           "no published checkpoint has it"),
    {0},
};

static const struct config_key mpt_keys[] = {
    KEY("d_model", COUNT, "model.dim", "2048"),
    KEY("n_heads", COUNT, "model.heads", "16"),
    KEY("n_layers", COUNT, "model.layers", "24"),
    KEY("vocab_size", COUNT, "data.vocab", "50368"),
    EPS("layer_norm_epsilon", "1e-05"),
    KEY("max_seq_len", COUNT, "train.L", "2048"),
    TIED("true"),
    KEY("attn_config.alibi_bias_max", REAL, "model.alibi_bias_max", "8"),
    KEY("attn_config.clip_qkv", CONFIG_REAL_OR_0, "model.qkv_clip", "0"),
    KEY("attn_config.softmax_scale", REAL, "model.score_scale", "0"),
    KEY("attn_config.alibi", FLAG, NULL, "true"),
    KEY("attn_config.qk_ln", FLAG, NULL, "false"),
    KEY("attn_config.prefix_lm", FLAG, NULL, "false"),
    KEY("attn_config.attn_type", CONFIG_WORD, NULL, "multihead_attention"),
    KEY("expansion_ratio", REAL, NULL, "4"),
    KEY("no_bias", FLAG, NULL, "true"),
    KEY("norm_type", CONFIG_WORD, NULL, "low_precision_layernorm"),
    KEY("logit_scale", CONFIG_ANY, NULL, ""),
    {0},
};
static const struct family_rule mpt_rules[] = {
    SET("", "model.position=alibi model.activation=gelu_erf model.norm_bias=false " NO_BIASES
            "prefix=transformer. layers=blocks embed_tokens=wte layer_norm=norm_f "
            "self_attn_layer_norm=norm_1 final_layer_norm=norm_2 qkv=attn.Wqkv groups=1 "
            "self_attn.out_proj=attn.out_proj fc1=ffn.up_proj fc2=ffn.down_proj"),
    REFUSE("!attn_config.alibi", "attn_config.alibi", "learned positions of MPT are not supported"),
    REFUSE("attn_config.qk_ln", "attn_config.qk_ln", "norms of q and k are not supported"),
    REFUSE("attn_config.prefix_lm", "attn_config.prefix_lm", "only causal attention is"),
    REFUSE("attn_config.attn_type!=multihead_attention", "attn_config.attn_type",
           "only multihead_attention is"),
    REFUSE("expansion_ratio!=4", "expansion_ratio", "only 4 is"),
    REFUSE("!no_bias", "no_bias", "only models without biases are"),
    REFUSE("logit_scale!=", "logit_scale", "logits are not scaled"),
    REFUSE("norm_type~rms", "norm_type", "only layernorm is"),
    {0},
};

static const struct config_key falcon_keys[] = {
    KEY("hidden_size", COUNT, "model.dim", "4544"),
    KEY("num_attention_heads", COUNT, "model.heads", "71"),
    KEY("num_hidden_layers", COUNT, "model.layers", "32"),
    KEY("vocab_size", COUNT, "data.vocab", "65024"),
    KEY("ffn_hidden_size", COUNT, "model.ffn", ""),
    EPS("layer_norm_epsilon", "1e-05"),
    ACTIVATION("activation", "gelu_erf"),
    LENGTH("2048"),
    TIED("true"),
    KEY("bias", FLAG, NULL, "false"),
    KEY("alibi", FLAG, NULL, "false"),
    KEY("multi_query", FLAG, NULL, "true"),
    KEY("parallel_attn", FLAG, NULL, "true"),
    KEY("new_decoder_architecture", FLAG, NULL, "false"),
    KEY("num_kv_heads", COUNT, "model.kv_heads", "num_attention_heads"),
    KEY("num_ln_in_parallel_attn", COUNT, NULL, ""),
    BASE("rope_theta"),
    {0},
};
static const struct family_rule falcon_rules[] = {
    SET("", "prefix=transformer. layers=h embed_tokens=word_embeddings layer_norm=ln_f "
            "self_attn_layer_norm=input_layernorm final_layer_norm=post_attention_layernorm "
            "qkv=self_attention.query_key_value groups=kv self_attn.out_proj=self_attention.dense "
            "fc1=mlp.dense_h_to_4h fc2=mlp.dense_4h_to_h"),
    SET("!bias", NO_BIASES),
    SET("alibi", "model.position=alibi model.alibi_rounding=keys"),
    SET("!alibi", HALF_SPLIT),
    SET("!new_decoder_architecture multi_query", "model.kv_heads=1"),
    SET("!new_decoder_architecture parallel_attn", "model.block=parallel"),
    SET("new_decoder_architecture", "model.block=parallel2 self_attn_layer_norm=ln_attn "
                                    "final_layer_norm=ln_mlp"),
    SET("new_decoder_architecture num_ln_in_parallel_attn=1",
        "model.block=parallel self_attn_layer_norm=input_layernorm"),
    REFUSE("new_decoder_architecture !parallel_attn", "parallel_attn",
           "new_decoder_architecture needs it"),
    REFUSE("!new_decoder_architecture !multi_query num_kv_heads!=num_attention_heads",
           "num_kv_heads", "without multi_query each head has keys of its own"),
    REFUSE("!new_decoder_architecture num_ln_in_parallel_attn=2", "num_ln_in_parallel_attn",
           "two norms need new_decoder_architecture"),
    REFUSE("num_ln_in_parallel_attn!= num_ln_in_parallel_attn!=1 num_ln_in_parallel_attn!=2",
           "num_ln_in_parallel_attn", "a layer has one norm or two"),
    {0},
};

static const struct config_key neox_keys[] = {
    KEY("hidden_size", COUNT, "model.dim", "6144"),
    KEY("num_attention_heads", COUNT, "model.heads", "64"),
    KEY("num_hidden_layers", COUNT, "model.layers", "44"),
    KEY("vocab_size", COUNT, "data.vocab", "50432"),
    KEY("intermediate_size", COUNT, "model.ffn", "24576"),
    EPS("layer_norm_eps", "1e-05"),
    ACTIVATION("hidden_act", "gelu_erf"),
    LENGTH("2048"),
    TIED("false"),
    KEY("use_parallel_residual", FLAG, NULL, "true"),
    KEY("attention_bias", FLAG, NULL, "true"),
    BASE("rotary_emb_base"),
    KEY(ROPE("partial_rotary_factor") "|rotary_pct", REAL, "model.rotary_share", "0.25",
        .agree = 2),
    {0},
};
static const struct family_rule neox_rules[] = {
    SET("", HALF_SPLIT
        "prefix=gpt_neox. layers=layers embed_tokens=embed_in layer_norm=final_layer_norm "
        "head=embed_out|lm_head self_attn_layer_norm=input_layernorm "
        "final_layer_norm=post_attention_layernorm qkv=attention.query_key_value groups=kv "
        "self_attn.out_proj=attention.dense fc1=mlp.dense_h_to_4h fc2=mlp.dense_4h_to_h"),
    SET("use_parallel_residual", "model.block=parallel2"),
    SET("!attention_bias", "model.qkv_bias=false model.out_bias=false"),
    {0},
};

static const struct config_key gptj_keys[] = {
    KEY("n_embd", COUNT, "model.dim", "4096"),
    KEY("n_head", COUNT, "model.heads", "16"),
    KEY("n_layer", COUNT, "model.layers", "28"),
    KEY("vocab_size", COUNT, "data.vocab", "50400"),
    KEY("n_inner", COUNT, "model.ffn", ""),
    EPS("layer_norm_epsilon", "1e-05"),
    ACTIVATION("activation_function", "gelu_tanh"),
    KEY("n_positions", COUNT, "train.L", "2048"),
    TIED("false"),
    KEY("rotary_dim", COUNT, NULL, "64", .null = ""),
    {0},
};
static const struct family_rule gptj_rules[] = {
    SET("", "model.position=rotary model.rotary_layout=adjacent_pairs width=rotary_dim "
            "model.block=parallel model.qkv_bias=false model.out_bias=false model.head_bias=true "
            "prefix=transformer. layers=h embed_tokens=wte layer_norm=ln_f "
            "self_attn_layer_norm=ln_1 self_attn.q_proj=attn.q_proj self_attn.k_proj=attn.k_proj "
            "self_attn.v_proj=attn.v_proj self_attn.out_proj=attn.out_proj fc1=mlp.fc_in "
            "fc2=mlp.fc_out"),
    REFUSE("rotary_dim=", "rotary_dim", "state the rotary width"),
    {0},
};

static const struct config_key gpt2_keys[] = {
    KEY("n_embd", COUNT, "model.dim", "768"),
    KEY("n_head", COUNT, "model.heads", "12"),
    KEY("n_layer", COUNT, "model.layers", "12"),
    KEY("vocab_size", COUNT, "data.vocab", "50257"),
    KEY("n_inner", COUNT, "model.ffn", ""),
    EPS("layer_norm_epsilon", "1e-05"),
    ACTIVATION("activation_function", "gelu_tanh"),
    KEY("n_positions", COUNT, "train.L", "1024"),
    TIED("true"),
    KEY("scale_attn_weights", FLAG, NULL, "true"),
    KEY("scale_attn_by_inverse_layer_idx", FLAG, "model.score_scale_by_layer", "false"),
    KEY("add_cross_attention", FLAG, NULL, "false"),
    {0},
};
static const struct family_rule gpt2_rules[] = {
    SET("", "model.position=learned maps=transposed prefix=transformer. layers=h embed_tokens=wte "
            "embed_positions=wpe layer_norm=ln_f self_attn_layer_norm=ln_1 final_layer_norm=ln_2 "
            "qkv=attn.c_attn groups=1 self_attn.out_proj=attn.c_proj fc1=mlp.c_fc fc2=mlp.c_proj"),
    SET("!scale_attn_weights", "model.score_scale=1"),
    REFUSE("add_cross_attention", "add_cross_attention", "only decoders are"),
    {0},
};

static const struct config_key opt_keys[] = {
    KEY("hidden_size", COUNT, "model.dim", "768"),
    KEY("num_attention_heads", COUNT, "model.heads", "12"),
    KEY("num_hidden_layers", COUNT, "model.layers", "12"),
    KEY("vocab_size", COUNT, "data.vocab", "50272"),
    KEY("ffn_dim", COUNT, "model.ffn", "3072"),
    KEY("word_embed_proj_dim", COUNT, "model.embedding_width", "hidden_size"),
    ACTIVATION("activation_function", "relu"),
    LENGTH("2048"),
    TIED("true"),
    KEY("do_layer_norm_before", FLAG, NULL, "true"),
    KEY("_remove_final_layer_norm", FLAG, NULL, "false"),
    KEY("enable_bias", FLAG, NULL, "true"),
    KEY("layer_norm_elementwise_affine", FLAG, NULL, "true"),
    {0},
};
static const struct family_rule opt_rules[] = {
    SET("", "model.position=learned first_row=2 prefix=model. layers=decoder.layers "
            "embed_tokens=decoder.embed_tokens embed_positions=decoder.embed_positions "
            "project_in=decoder.project_in project_out=decoder.project_out "
            "layer_norm=decoder.final_layer_norm"),
    SET("!enable_bias", NO_BIASES),
    SET("!do_layer_norm_before", "model.block=post model.final_norm=false"),
    SET("_remove_final_layer_norm", "model.final_norm=false"),
    REFUSE("!layer_norm_elementwise_affine", "layer_norm_elementwise_affine",
           "norms without gain are not"),
    {0},
};

/* Keys of llama, mistral and qwen2; their defaults are arguments. */
#define LLAMA_KEYS(kv_heads, ffn, vocab, length)                                                   \
    KEY("hidden_size", COUNT, "model.dim", "4096"),                                                \
        KEY("num_attention_heads", COUNT, "model.heads", "32"),                                    \
        KEY("num_key_value_heads", COUNT, "model.kv_heads", kv_heads),                             \
        KEY("head_dim", COUNT, "model.head_width", ""),                                            \
        KEY("num_hidden_layers", COUNT, "model.layers", "32"),                                     \
        KEY("vocab_size", COUNT, "data.vocab", vocab),                                             \
        KEY("intermediate_size", COUNT, "model.ffn", ffn), EPS("rms_norm_eps", "1e-06"),           \
        ACTIVATION("hidden_act", "silu"), LENGTH(length), TIED("false"), BASE("rope_theta"),       \
    {                                                                                              \
        ROPE("partial_rotary_factor") "|partial_rotary_factor", REAL, NULL, "1", .agree = 3        \
    }
#define LLAMA_WORDS                                                                                \
    HALF_SPLIT "model.norm=rmsnorm model.gated=true prefix=model. layers=layers layer_norm=norm "  \
               "self_attn_layer_norm=input_layernorm final_layer_norm=post_attention_layernorm "   \
               "self_attn.out_proj=self_attn.o_proj fc_gate=mlp.gate_proj fc1=mlp.up_proj "        \
               "fc2=mlp.down_proj "
#define LLAMA_REFUSED                                                                              \
    {                                                                                              \
        "partial_rotary_factor!=1", NULL, "partial_rotary_factor", "only 1 is"                     \
    }

static const struct config_key llama_keys[] = {
    LLAMA_KEYS("num_attention_heads", "11008", "32000", "2048"),
    KEY("attention_bias", FLAG, NULL, "false"),
    KEY("mlp_bias", FLAG, NULL, "false"),
    {0},
};
static const struct family_rule llama_rules[] = {
    SET("", LLAMA_WORDS "layer_types=alike"),
    SET("!attention_bias", "model.qkv_bias=false model.out_bias=false"),
    SET("!mlp_bias", "model.ffn_bias=false"),
    LLAMA_REFUSED,
    {0},
};

static const struct config_key mistral_keys[] = {
    LLAMA_KEYS("8", "14336", "32000", "131072"),
    KEY("sliding_window", COUNT, "model.attention_window", "4096", .null = ""),
    {0},
};
static const struct family_rule mistral_rules[] = {
    SET("", LLAMA_WORDS "layer_types=alike " NO_BIASES),
    LLAMA_REFUSED,
    {0},
};

static const struct config_key qwen2_keys[] = {
    LLAMA_KEYS("num_attention_heads", "22016", "151936", "32768"),
    KEY("sliding_window", COUNT, "model.attention_window", "4096", .null = ""),
    KEY("use_sliding_window", FLAG, NULL, "false"),
    KEY("max_window_layers", CONFIG_WHOLE, NULL, "28"),
    {0},
};
static const struct family_rule qwen2_rules[] = {
    SET("", LLAMA_WORDS "model.out_bias=false model.ffn_bias=false layer_types=windows"),
    SET("!use_sliding_window", "model.attention_window=0"),
    LLAMA_REFUSED,
    {0},
};

const struct family_row family_rows[] = {
    {"bloom", bloom_keys, bloom_rules},
    {"falcon", falcon_keys, falcon_rules},
    {"gpt2", gpt2_keys, gpt2_rules},
    {"gpt_neox", neox_keys, neox_rules},
    {"gptj", gptj_keys, gptj_rules},
    {"llama", llama_keys, llama_rules},
    {"mistral", mistral_keys, mistral_rules},
    {"mpt", mpt_keys, mpt_rules},
    {"opt", opt_keys, opt_rules},
    {"qwen2", qwen2_keys, qwen2_rules},
};
const int32_t family_rows_n = sizeof family_rows / sizeof *family_rows;

const char encoder_decoders[] =
    " bart bigbird_pegasus blenderbot blenderbot-small encoder-decoder fsmt led longt5"
    " m2m_100 marian mbart mt5 mvp nllb-moe pegasus pegasus_x plbart prophetnet rag"
    " speech_to_text speecht5 switch_transformers t5 t5gemma umt5 vision-encoder-decoder"
    " whisper xlm-prophetnet ";

/* Types of section 5, with the keys that each needs. */
#define FACTOR                                                                                     \
    {                                                                                              \
        ROPE("factor"), REAL, "model.rope_scaling_factor", NULL, .agree = 2                        \
    }
#define ORIGINAL                                                                                   \
    {                                                                                              \
        ROPE("original_max_position_embeddings")                                                   \
        "|original_max_position_embeddings", COUNT, "model.rope_original_length", "", .agree = 3   \
    }
static const struct config_key no_keys[] = {{0}};
static const struct config_key factor_keys[] = {FACTOR, {0}};
static const struct config_key yarn_keys[] = {
    FACTOR,
    ORIGINAL,
    KEY(ROPE("beta_fast"), REAL, "model.yarn_beta_fast", "32", .agree = 2),
    KEY(ROPE("beta_slow"), REAL, "model.yarn_beta_slow", "1", .agree = 2),
    KEY(ROPE("truncate"), FLAG, "model.yarn_truncate", "true", .agree = 2),
    KEY(ROPE("attention_factor"), REAL, "model.yarn_attention_factor", "0", .agree = 2),
    KEY(ROPE("mscale"), CONFIG_REAL_OR_0, NULL, "0", .agree = 2),
    KEY(ROPE("mscale_all_dim"), CONFIG_REAL_OR_0, NULL, "0", .agree = 2),
    {0},
};
static const struct config_key llama3_keys[] = {
    FACTOR,
    ORIGINAL,
    KEY(ROPE("low_freq_factor"), REAL, "model.llama3_low_freq_factor", NULL, .agree = 2),
    KEY(ROPE("high_freq_factor"), REAL, "model.llama3_high_freq_factor", NULL, .agree = 2),
    {0},
};
const struct rope_type rope_types[] = {
    {"default", "", no_keys},
    {"linear", "model.rope_scaling=pi", factor_keys},
    {"dynamic", "model.rope_scaling=dynamic_ntk", factor_keys},
    {"yarn", "model.rope_scaling=yarn", yarn_keys},
    {"llama3", "model.rope_scaling=llama3", llama3_keys},
};
const int32_t rope_types_n = sizeof rope_types / sizeof *rope_types;
