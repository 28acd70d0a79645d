/* families.c - the families of models that are read: names of keys and tensors, defaults and
 * switches, as data. Nothing here is code for one family (open-models SPEC.md sections 2 to 5).
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
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "pretrained/pretrained_internal.h"

enum { KEYS_MAX = 64, WORDS_MAX = 64 };

struct rule {
    const char *when, *words; /* when NULL: ends the list */
    const char *refused, *reason;
};

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
static const struct rule bloom_rules[] = {
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
static const struct rule mpt_rules[] = {
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
static const struct rule falcon_rules[] = {
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
static const struct rule neox_rules[] = {
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
static const struct rule gptj_rules[] = {
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
static const struct rule gpt2_rules[] = {
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
static const struct rule opt_rules[] = {
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
static const struct rule llama_rules[] = {
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
static const struct rule mistral_rules[] = {
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
static const struct rule qwen2_rules[] = {
    SET("", LLAMA_WORDS "model.out_bias=false model.ffn_bias=false layer_types=windows"),
    SET("!use_sliding_window", "model.attention_window=0"),
    LLAMA_REFUSED,
    {0},
};

static const struct {
    const char *name; /* sorted */
    const struct config_key *keys;
    const struct rule *rules;
} families[] = {
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
enum { FAMILIES_N = sizeof families / sizeof *families };

/* Models with an encoder whose config may not say so. */
static const char *const encoder_decoders[] = {
    "bart",
    "bigbird_pegasus",
    "blenderbot",
    "blenderbot-small",
    "encoder-decoder",
    "fsmt",
    "led",
    "longt5",
    "m2m_100",
    "marian",
    "mbart",
    "mt5",
    "mvp",
    "nllb-moe",
    "pegasus",
    "pegasus_x",
    "plbart",
    "prophetnet",
    "rag",
    "speech_to_text",
    "speecht5",
    "switch_transformers",
    "t5",
    "t5gemma",
    "umt5",
    "vision-encoder-decoder",
    "whisper",
    "xlm-prophetnet",
};

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
static const struct {
    const char *name, *words;
    const struct config_key *keys;
} rope_types[] = {
    {"default", "", no_keys},
    {"linear", "model.rope_scaling=pi", factor_keys},
    {"dynamic", "model.rope_scaling=dynamic_ntk", factor_keys},
    {"yarn", "model.rope_scaling=yarn", yarn_keys},
    {"llama3", "model.rope_scaling=llama3", llama3_keys},
};
enum { ROPE_TYPES_N = sizeof rope_types / sizeof *rope_types };

/* --- reading -------------------------------------------------------------------------------- */

/* A description that is being read. */
struct reader {
    struct arena *a;
    const struct config *c;
    struct family *f;
    struct config_value value[KEYS_MAX];
    bool given[KEYS_MAX];
    int32_t n;
};

/* Whether a key has this name: the one before the first |, or that without the object. */
static bool is_named(const struct config_key *key, const char *name, size_t n)
{
    const char *last = strrchr(key->name, '|');
    size_t first_n = strcspn(key->name, "|");

    if (first_n == n && strncmp(key->name, name, n) == 0) return true;
    return last && strlen(last + 1) == n && strncmp(last + 1, name, n) == 0;
}

static int32_t find_key(const struct reader *r, const char *name, size_t n)
{
    for (int32_t i = 0; i < r->n; i++)
        if (is_named(r->value[i].key, name, n)) return i;
    return -1;
}

/* Returns the value of the key of that name, or the text itself. */
static const char *value_of(const struct reader *r, const char *text, size_t n)
{
    int32_t i = find_key(r, text, n);
    return i < 0 ? arena_strndup(r->a, text, n) : r->value[i].text;
}

/* Returns the value of the key that sets a key of the spec. */
static const struct config_value *for_spec(const struct reader *r, const char *spec)
{
    for (int32_t i = 0; i < r->n; i++)
        if (r->value[i].key->spec && strcmp(r->value[i].key->spec, spec) == 0) return &r->value[i];
    return NULL;
}

static int set_spec(struct reader *r, const char *name, const char *text, struct err *e)
{
    int rc = spec_set(&r->f->spec, spec_key_find(name), text, e);
    if (rc < 0) err_ctx(e, "%s", r->c->path);
    return rc;
}

/* Reads keys; of activations or of all others. */
static int read_keys(struct reader *r, const struct config_key *key, bool activations,
                     struct err *e)
{
    for (; key->name; key++) {
        if ((key->type == CONFIG_ACTIVATION) != activations) continue;
        struct config_value *v = &r->value[r->n];
        TRY(config_get(v, r->a, r->c, key, e));
        r->given[r->n] = v->text != NULL;
        if (!v->text && !key->missing) return ERR(e, ERR_DATA, "%s: no %s", r->c->path, v->name);
        if (!v->text) v->text = value_of(r, key->missing, strlen(key->missing));
        r->n++;
        if (key->spec && *v->text) TRY(set_spec(r, key->spec, v->text, e));
    }
    return 0;
}

/* Sets the words of a text, each KEY=VALUE. */
static int set_words(struct reader *r, const char *text, struct err *e)
{
    struct family *f = r->f;

    for (const char *p = text; *p; p += strspn(p, " ")) {
        size_t n = strcspn(p, " "), name_n = strcspn(p, "=");
        const char *name = arena_strndup(r->a, p, name_n);
        const char *value = arena_strndup(r->a, p + name_n + 1, n - name_n - 1);
        p += n;
        if (strncmp(name, "model.", 6) == 0)
            TRY(set_spec(r, name, value, e));
        else
            f->word[f->words_n++] = (struct family_word){name, value};
    }
    return 0;
}

static bool word_holds(const struct reader *r, const char *word, size_t n)
{
    bool negated = word[0] == '!';
    const char *name = word + negated, *end = word + n;
    size_t name_n = strcspn(name, "!=~ ");
    const char *op = name + name_n, *value = value_of(r, name, name_n);

    if (op >= end) return (strcmp(value, "true") == 0) != negated;
    const char *right = op + 1 + (*op == '!');
    const char *text = value_of(r, right, (size_t)(end - right));
    if (*op == '~') return strstr(value, text) != NULL;
    return (strcmp(value, text) == 0) == (*op == '=');
}

static bool rule_holds(const struct reader *r, const struct rule *rule)
{
    for (const char *p = rule->when; *p; p += strspn(p, " ")) {
        size_t n = strcspn(p, " ");
        if (!word_holds(r, p, n)) return false;
        p += n;
    }
    return true;
}

/* --- sizes, rotation, windows --------------------------------------------------------------- */

static int refuse_divisor(const struct reader *r, const struct config_value *whole,
                          const struct config_value *part, struct err *e)
{
    return ERR(e, ERR_DATA, "%s: %s = %s is not a multiple of %s = %s%s", r->c->path, whole->name,
               whole->text, part->name, part->text, r->f->defaults);
}

/* Checks sizes against each other and gives those that follow from others their neutral values. */
static int check_sizes(struct reader *r, struct err *e)
{
    struct spec_model *m = &r->f->spec.model;
    const struct config_value *dim = for_spec(r, "model.dim"), *heads = for_spec(r, "model.heads");

    if (m->form.head_width == 0 && m->dim % m->heads != 0) return refuse_divisor(r, dim, heads, e);
    if (m->heads % spec_kv_heads(m) != 0)
        return refuse_divisor(r, heads, for_spec(r, "model.kv_heads"), e);
    if (spec_head_width(m) > POSITION_WIDTH_MAX)
        return ERR(e, ERR_UNAVAILABLE,
                   "%s: %s = %s and %s = %s make heads of %d features, more than %d%s", r->c->path,
                   dim->name, dim->text, heads->name, heads->text, spec_head_width(m),
                   POSITION_WIDTH_MAX, r->f->defaults);
    if (m->ffn == 0) m->ffn = 4 * m->dim;
    if (m->form.kv_heads == m->heads) m->form.kv_heads = 0;
    if (m->form.embedding_width == m->dim) m->form.embedding_width = 0;
    if (m->heads * m->form.head_width == m->dim) m->form.head_width = 0;
    return 0;
}

/* Returns the name of one of the two objects of rotary parameters that is there; NULL: none. */
static const char *rope_object(const struct config *c, int i)
{
    static const char *const names[] = {"rope_parameters", "rope_scaling"};
    return config_find(c, names[i]) ? names[i] : NULL;
}

/* Finds the type that both objects agree on, as an index of rope_types. */
static int find_rope_type(int *type, const struct reader *r, struct err *e)
{
    const char *found = NULL, *at = NULL, *key;
    json_t *value;

    *type = 0;
    for (int i = 0; i < 2; i++) {
        const char *object = rope_object(r->c, i);
        const json_t *in = object ? config_find(r->c, object) : NULL, *named = NULL;
        if (!object) continue;
        if (!json_is_object(in))
            return ERR(e, ERR_DATA, "%s: %s = %s, expected an object", r->c->path, object,
                       config_show(r->a, in));
        json_object_foreach((json_t *)(uintptr_t)in, key, value)
        {
            if (json_is_object(value))
                return ERR(
                    e, ERR_UNAVAILABLE,
                    "%s: %s.%s is an object: parameters of each layer type are not supported",
                    r->c->path, object, key);
        }
        const char *name = arena_printf(r->a, "%s.rope_type", object);
        named = config_find(r->c, name);
        if (!named) named = config_find(r->c, name = arena_printf(r->a, "%s.type", object));
        const char *text = named ? config_show(r->a, named) : rope_types[0].name;
        if (found && strcmp(found, text) != 0)
            return ERR(e, ERR_DATA, "%s: %s = %s, but %s = %s", r->c->path, at, found, name, text);
        found = text;
        at = name;
    }
    while (found && *type < ROPE_TYPES_N && strcmp(rope_types[*type].name, found) != 0) ++*type;
    if (*type < ROPE_TYPES_N) return 0;
    return ERR(e, ERR_UNAVAILABLE, "%s: %s = %s, expected default, linear, dynamic, yarn or llama3",
               r->c->path, at, found);
}

/* Returns what YaRN's cosines and sines are multiplied by. */
static double growth(double mscale, double factor)
{
    return factor <= 1 ? 1 : 0.1 * mscale * log(factor) + 1;
}

static double real_of(const struct reader *r, const char *name)
{
    double value = 0;
    (void)str_to_double(&value, value_of(r, name, strlen(name)));
    return value;
}

static int read_rope(struct reader *r, int type, struct err *e)
{
    struct position_options *o = &r->f->spec.option;

    TRY(set_words(r, rope_types[type].words, e));
    TRY(read_keys(r, rope_types[type].keys, false, e));
    if (o->scaling == POSITION_LLAMA3 && o->llama3_low >= o->llama3_high) {
        const struct config_value *low = for_spec(r, "model.llama3_low_freq_factor");
        const struct config_value *high = for_spec(r, "model.llama3_high_freq_factor");
        return ERR(e, ERR_DATA, "%s: %s = %s is not below %s = %s", r->c->path, low->name,
                   low->text, high->name, high->text);
    }
    if (o->scaling != POSITION_YARN || o->yarn_attention_factor > 0) return 0;
    double some = real_of(r, "rope_scaling.mscale"),
           all = real_of(r, "rope_scaling.mscale_all_dim");
    if (some > 0 && all > 0)
        o->yarn_attention_factor = growth(some, o->scaling_factor) / growth(all, o->scaling_factor);
    return 0;
}

/* Checks the features that rotate. A width is made the share of a head. */
static int check_rotation(struct reader *r, struct err *e)
{
    struct spec *s = &r->f->spec;
    const char *key = family_word(r->f, "width", NULL);
    const struct config_value *share = for_spec(r, "model.rotary_share");
    int32_t width = spec_head_width(&s->model);
    int32_t least = s->option.scaling == POSITION_DYNAMIC_NTK ? 4 : 2;
    double rotated = key ? real_of(r, key) : floor(s->option.rotary_share * width);

    if (rotated < least || rotated > width || fmod(rotated, 2) != 0)
        return ERR(e, ERR_DATA,
                   "%s: %s = %s: %g of %d features of a head rotate, expected an even number from "
                   "%d to %d",
                   r->c->path,
                   key     ? key
                   : share ? share->name
                           : "head_dim",
                   key     ? value_of(r, key, strlen(key))
                   : share ? share->text
                           : "",
                   rotated, width, least, width);
    if (!key) return 0;
    s->option.rotary_share = rotated / width;
    while (floor(s->option.rotary_share * width) < rotated)
        s->option.rotary_share = nextafter(s->option.rotary_share, 2);
    return 0;
}

/* Whether layer l has the window of the model. *types: layer_types of the config, or NULL. */
static int layer_has_window(bool *has, const struct reader *r, const json_t *types, int32_t l,
                            struct err *e)
{
    const char *type = json_string_value(json_array_get(types, (size_t)l));

    *has = !types && l >= (int32_t)real_of(r, "max_window_layers");
    if (!types) return 0;
    *has = type && strcmp(type, "sliding_attention") == 0;
    if (*has || (type && strcmp(type, "full_attention") == 0)) return 0;
    return ERR(e, ERR_DATA,
               "%s: layer_types = %s: expected full_attention or sliding_attention for each of %d "
               "layers",
               r->c->path, config_show(r->a, types), r->f->spec.model.layers);
}

static int read_windows(struct reader *r, struct err *e)
{
    struct spec_model *m = &r->f->spec.model;
    const char *use = family_word(r->f, "layer_types", "");
    const json_t *types = config_find(r->c, "layer_types");
    int32_t with_n = 0, window = m->mask.window;
    bool decides = strcmp(use, "windows") == 0 && window > 0, has;

    if (!*use || (!types && !decides)) return 0;
    for (int32_t l = 0; l < m->layers; l++) {
        TRY(layer_has_window(&has, r, types, l, e));
        with_n += has;
        if (l < POSITION_LIST_MAX) m->window_layers.value[l] = has ? window : 0;
    }
    bool mixed = with_n > 0 && with_n < m->layers;
    if (types && json_array_size(types) != (size_t)m->layers)
        return ERR(e, ERR_DATA, "%s: layer_types has %zu entries for %d layers", r->c->path,
                   json_array_size(types), m->layers);
    if (!decides && mixed && strcmp(use, "alike") == 0)
        return ERR(e, ERR_UNAVAILABLE,
                   "%s: layer_types = %s is not supported: all layers of this family are alike",
                   r->c->path, config_show(r->a, types));
    if (!decides) return 0;
    if (mixed && m->layers > POSITION_LIST_MAX)
        return ERR(e, ERR_UNAVAILABLE, "%s: windows of more than %d layers are not supported",
                   r->c->path, POSITION_LIST_MAX);
    m->window_layers.n = mixed ? m->layers : 0;
    if (with_n < m->layers) m->mask.window = 0;
    return 0;
}

/* --- families ------------------------------------------------------------------------------- */

static int refuse_type(const struct config *c, struct arena *a, const char *type, struct err *e)
{
    const char *names[FAMILIES_N], *file = NULL, *key;
    struct strbuf why;
    json_t *value;

    for (size_t i = 0; i < FAMILIES_N; i++) names[i] = families[i].name;
    strbuf_init(&why, a);
    strbuf_add(&why, str_hint(type, names, FAMILIES_N).text);
    json_object_foreach((json_t *)(uintptr_t)config_find(c, "auto_map"), key, value)
    {
        if (json_is_string(value) && (!file || strncmp(key, "AutoModel", 9) == 0))
            file = json_string_value(value);
    }
    const char *end = file ? strrchr(file, '.') : NULL;
    if (file)
        strbuf_addf(&why,
                    "; its code is remote (auto_map names %.*s.py), and this program runs none",
                    end ? (int)(end - file < 100 ? end - file : 100) : 100, file);
    if (config_find(c, "num_local_experts") || config_find(c, "num_experts"))
        strbuf_add(&why, "; mixtures of experts are not supported");
    return ERR(e, ERR_UNAVAILABLE, "%s: model_type = %s is not supported%s", c->path, type,
               why.text);
}

static int refuse_quantised(const struct config *c, struct arena *a, struct err *e)
{
    const json_t *method = config_find(c, "quantization_config.quant_method");

    if (!config_find(c, "quantization_config")) return 0;
    return ERR(e, ERR_UNAVAILABLE,
               "%s: quantization_config%s%s: quantised weights are not supported; use the original "
               "checkpoint",
               c->path, method ? ".quant_method = " : "", method ? config_show(a, method) : "");
}

/* Returns the index of a family. */
static size_t find_family(const char *name)
{
    size_t i = 0;
    while (i < FAMILIES_N && strcmp(families[i].name, name) != 0) i++;
    return i;
}

int family_find(struct family *f, struct arena *a, const struct config *c, struct err *e)
{
    const json_t *value = config_find(c, "model_type");
    const json_t *encoder = config_find(c, "is_encoder_decoder");
    struct strbuf names;

    *f = (struct family){.note = NULL};
    strbuf_init(&names, a);
    for (size_t i = 0; i < FAMILIES_N; i++)
        strbuf_addf(&names, "%s%s", i ? ", " : "", families[i].name);
    if (!value)
        return ERR(e, ERR_DATA, "%s: no model_type; expected one of %s", c->path, names.text);
    const char *type = config_show(a, value);
    bool known = find_family(type) < FAMILIES_N, two = json_is_true(encoder);
    for (size_t i = 0; i < sizeof encoder_decoders / sizeof *encoder_decoders; i++)
        two = two || strcmp(encoder_decoders[i], type) == 0;
    if (two)
        return ERR(e, ERR_UNAVAILABLE,
                   "%s: model_type = %s is an encoder-decoder; only decoders are supported",
                   c->path, type);
    if (!known || !json_is_string(value)) return refuse_type(c, a, type, e);
    f->name = families[find_family(type)].name;
    return refuse_quantised(c, a, e);
}

const char *family_word(const struct family *f, const char *key, const char *missing)
{
    for (int32_t i = f->words_n - 1; i >= 0; i--)
        if (strcmp(f->word[i].key, key) == 0) return f->word[i].text;
    return missing;
}

/* Notes values that the config does not state. */
static void note_defaults(struct reader *r)
{
    struct strbuf sizes, notes;

    strbuf_init(&sizes, r->a);
    strbuf_init(&notes, r->a);
    for (int32_t i = 0; i < r->n; i++) {
        const struct config_value *v = &r->value[i];
        if (r->given[i] || v->key->type != CONFIG_COUNT || !v->key->spec || !*v->text) continue;
        bool length = strcmp(v->key->spec, "train.L") == 0;
        strbuf_addf(length ? &notes : &sizes, "; config.json has no %s: %s is assumed", v->name,
                    v->text);
    }
    if (r->f->spec.option.alibi_rounding != POSITION_EXACT)
        strbuf_add(&notes, "; the bias of each key is rounded to bf16, so that neighbouring keys "
                           "get equal biases in rows of more than 256 tokens");
    r->f->defaults = sizes.n ? sizes.text : "";
    r->f->note = notes.n ? notes.text + 2 : NULL;
}

int family_describe(struct family *f, struct arena *a, const struct config *c, struct err *e)
{
    size_t i = find_family(f->name);
    struct reader *r = arena_alloc(a, sizeof *r);
    int type = 0;

    r->a = a;
    r->c = c;
    r->f = f;
    f->word = arena_array(a, WORDS_MAX, sizeof *f->word);
    spec_init(&f->spec);
    TRY(set_words(r, "model.softmax=plain model.final_norm=true model.embedding_scaled=false", e));
    f->spec.kind = SPEC_TRAIN;
    f->spec.train.origin = SPEC_PRETRAINED;
    TRY(read_keys(r, families[i].keys, true, e));
    TRY(read_keys(r, families[i].keys, false, e));
    for (const struct rule *rule = families[i].rules; rule->when; rule++)
        if (!rule->refused && rule_holds(r, rule)) TRY(set_words(r, rule->words, e));
    bool has_rope = strcmp(family_word(f, "rope", ""), "read") == 0;
    if (has_rope) TRY(find_rope_type(&type, r, e));
    for (const struct rule *rule = families[i].rules; rule->when; rule++) {
        if (!rule->refused || !rule_holds(r, rule)) continue;
        const char *value = value_of(r, rule->refused, strlen(rule->refused));
        return ERR(e, ERR_UNAVAILABLE, "%s: %s = %s is not supported: %s", c->path, rule->refused,
                   *value ? value : "null", rule->reason);
    }
    note_defaults(r);
    TRY(check_sizes(r, e));
    if (has_rope) TRY(read_rope(r, type, e));
    if (f->spec.model.position == SPEC_ROTARY) TRY(check_rotation(r, e));
    TRY(read_windows(r, e));
    int rc = spec_check(&f->spec, e);
    if (rc < 0) err_ctx(e, "%s", c->path);
    return rc;
}
