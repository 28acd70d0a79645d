/* test_families.c - config.json of each family and its switches: the description that is read, as
 * its difference from that of the family's first config, or the message. */
#include <stdio.h>
#include <string.h>

#include "pretrained/fixture.h"
#include "pretrained/pretrained_internal.h"

/* Configs with ' instead of ". Sizes are left to their defaults. */
static const char *const configs[] = {
    "{'model_type': 'bloom'}",
    "{'model_type': 'bloom', 'n_embed': 96, 'hidden_size': 64, 'n_head': null, 'seq_length': 512}",
    "{'model_type': 'bloom', 'hidden_size': 96, 'n_inner': 7, 'layer_norm_epsilon': 0.5}",
    "{'model_type': 'bloom', 'apply_residual_connection_post_layernorm': true}",
    "{'model_type': 'mpt'}",
    "{'model_type': 'mpt', 'attn_config': {'alibi_bias_max': 16, 'clip_qkv': 6, 'softmax_scale': "
    "0.25}}",
    "{'model_type': 'mpt', 'attn_config': {'clip_qkv': 0, 'softmax_scale': null, 'alibi': null}}",
    "{'model_type': 'mpt', 'attn_config': {'alibi': false}}",
    "{'model_type': 'mpt', 'attn_config': {'qk_ln': true}}",
    "{'model_type': 'mpt', 'attn_config': {'prefix_lm': true}}",
    "{'model_type': 'mpt', 'attn_config': {'attn_type': 'multiquery_attention'}}",
    "{'model_type': 'mpt', 'attn_config': {'alibi_bias_max': '8'}}",
    "{'model_type': 'mpt', 'attn_config': {'alibi': 1}}",
    "{'model_type': 'mpt', 'attn_config': 'torch'}",
    "{'model_type': 'mpt', 'expansion_ratio': 2}",
    "{'model_type': 'mpt', 'expansion_ratio': 4.0}",
    "{'model_type': 'mpt', 'no_bias': false}",
    "{'model_type': 'mpt', 'logit_scale': 'inv_sqrt_d_model'}",
    "{'model_type': 'mpt', 'norm_type': 'low_precision_rmsnorm'}",
    "{'model_type': 'falcon'}",
    "{'model_type': 'falcon', 'multi_query': false}",
    "{'model_type': 'falcon', 'multi_query': false, 'num_kv_heads': 1}",
    "{'model_type': 'falcon', 'num_ln_in_parallel_attn': 2}",
    "{'model_type': 'falcon', 'parallel_attn': false, 'bias': true, 'ffn_hidden_size': 100}",
    "{'model_type': 'falcon', 'alibi': true, 'activation': 'gelu_pytorch_tanh'}",
    "{'model_type': 'falcon', 'new_decoder_architecture': true, 'num_kv_heads': 71}",
    "{'model_type': 'falcon', 'new_decoder_architecture': true, 'hidden_size': 8192, "
    "'num_attention_heads': 128, 'num_kv_heads': 8, 'rope_theta': 500042}",
    "{'model_type': 'falcon', 'new_decoder_architecture': true, 'num_ln_in_parallel_attn': 1}",
    "{'model_type': 'falcon', 'new_decoder_architecture': true, 'num_ln_in_parallel_attn': 3}",
    "{'model_type': 'falcon', 'new_decoder_architecture': true, 'parallel_attn': false}",
    "{'model_type': 'gpt_neox'}",
    "{'model_type': 'gpt_neox', 'rotary_pct': 1.0, 'rotary_emb_base': 2500, 'attention_bias': "
    "false, 'use_parallel_residual': false, 'tie_word_embeddings': true}",
    "{'model_type': 'gpt_neox', 'rope_parameters': {'rope_theta': 77, 'partial_rotary_factor': "
    "0.5}, 'rotary_pct': 1.0, 'rotary_emb_base': 2500}",
    "{'model_type': 'gpt_neox', 'rotary_pct': 0.22}",
    "{'model_type': 'gptj'}",
    "{'model_type': 'gptj', 'rotary_dim': 24, 'n_embd': 96, 'n_head': 4, 'n_inner': 100, "
    "'rope_theta': 5}",
    "{'model_type': 'gptj', 'rotary_dim': null}",
    "{'model_type': 'gptj', 'rotary_dim': 7}",
    "{'model_type': 'gptj', 'rotary_dim': 258}",
    "{'model_type': 'gpt2'}",
    "{'model_type': 'gpt2', 'scale_attn_weights': false, 'scale_attn_by_inverse_layer_idx': true}",
    "{'model_type': 'gpt2', 'add_cross_attention': true}",
    "{'model_type': 'opt'}",
    "{'model_type': 'opt', 'do_layer_norm_before': false, 'word_embed_proj_dim': 512}",
    "{'model_type': 'opt', '_remove_final_layer_norm': true, 'enable_bias': false}",
    "{'model_type': 'opt', 'layer_norm_elementwise_affine': false}",
    "{'model_type': 'llama'}",
    "{'model_type': 'llama', 'attention_bias': true, 'mlp_bias': true, 'num_key_value_heads': 8, "
    "'head_dim': 64, 'tie_word_embeddings': true, 'rms_norm_eps': 1e-5}",
    "{'model_type': 'llama', 'partial_rotary_factor': 0.5}",
    "{'model_type': 'llama', 'rope_parameters': {'partial_rotary_factor': 0.5}}",
    "{'model_type': 'llama', 'sliding_window': 9, 'num_hidden_layers': 2, 'layer_types': "
    "['full_attention', 'full_attention']}",
    "{'model_type': 'llama', 'num_hidden_layers': 2, 'layer_types': ['full_attention', "
    "'sliding_attention']}",
    "{'model_type': 'llama', 'num_hidden_layers': 2, 'layer_types': ['full_attention', 'linear']}",
    "{'model_type': 'llama', 'num_hidden_layers': 2, 'layer_types': ['full_attention']}",
    "{'model_type': 'llama', 'rope_scaling': {'type': 'linear', 'factor': 2}, 'rope_theta': 1e6}",
    "{'model_type': 'llama', 'rope_scaling': {'type': 'linear', 'factor': 2}, 'rope_parameters': "
    "{'rope_type': 'linear', 'factor': 2.0, 'rope_theta': 99}, 'rope_theta': 1e6}",
    "{'model_type': 'llama', 'rope_scaling': {'rope_type': 'dynamic', 'type': 'linear', 'factor': "
    "4.5}}",
    "{'model_type': 'llama', 'rope_scaling': {'rope_type': 'dynamic', 'factor': 2}, 'head_dim': 2}",
    "{'model_type': 'llama', 'rope_scaling': {'rope_type': 'llama3', 'factor': 8, "
    "'low_freq_factor': 1, 'high_freq_factor': 4}, 'original_max_position_embeddings': 8192}",
    "{'model_type': 'llama', 'rope_scaling': {'rope_type': 'yarn', 'factor': 4, 'beta_fast': 8, "
    "'beta_slow': 2, 'truncate': false, 'original_max_position_embeddings': 1024}, "
    "'original_max_position_embeddings': 1024}",
    "{'model_type': 'llama', 'rope_scaling': {'rope_type': 'yarn', 'factor': 4, "
    "'original_max_position_embeddings': 1024}, 'original_max_position_embeddings': 1023}",
    "{'model_type': 'llama', 'rope_scaling': {'rope_type': 'yarn', 'factor': 40, 'mscale': 0.707, "
    "'mscale_all_dim': 1.0}}",
    "{'model_type': 'llama', 'rope_scaling': {'rope_type': 'yarn', 'factor': 40, 'mscale': 0.707, "
    "'mscale_all_dim': 0}}",
    "{'model_type': 'llama', 'rope_scaling': {'rope_type': 'yarn', 'factor': 40, 'mscale': 0.707, "
    "'mscale_all_dim': 1.0, 'attention_factor': 1.25}}",
    "{'model_type': 'llama', 'rope_theta': 0}",
    "{'model_type': 'llama', 'num_hidden_layers': 1001}",
    "{'model_type': 'llama', 'vocab_size': 100000001}",
    "{'model_type': 'llama', 'head_dim': 257}",
    "{'model_type': 'llama', 'tie_word_embeddings': 'yes'}",
    "{'model_type': 'llama', 'hidden_act': ['silu'], 'rope_scaling': {'type': 'su'}}",
    "{'model_type': 'llama', 'partial_rotary_factor': 0.5, 'rope_scaling': {'type': 'su'}}",
    "{'model_type': 'llama', 'quantization_config': {}}",
    "{'model_type': 'lama'}",
    "{'model_type': ['llama']}",
    "{'model_type': 'x', 'is_encoder_decoder': true, 'auto_map': {'AutoModel': 'y.Z'}}",
    "{'model_type': 'qwen3_moe', 'num_experts': 8, 'auto_map': {'AutoConfig': 'a.B', "
    "'AutoModelForCausalLM': 'org/repo--c.D'}}",
    "{'model_type': 'mistral'}",
    "{'model_type': 'mistral', 'sliding_window': null, 'num_key_value_heads': 32}",
    "{'model_type': 'mistral', 'sliding_window': 0}",
    "{'model_type': 'qwen2'}",
    "{'model_type': 'qwen2', 'use_sliding_window': true, 'num_hidden_layers': 3, "
    "'max_window_layers': 1, 'sliding_window': 6}",
    "{'model_type': 'qwen2', 'use_sliding_window': true, 'num_hidden_layers': 3, "
    "'max_window_layers': 0}",
    "{'model_type': 'qwen2', 'use_sliding_window': true, 'num_hidden_layers': 3, "
    "'max_window_layers': 3}",
    "{'model_type': 'qwen2', 'use_sliding_window': true, 'num_hidden_layers': 2, 'sliding_window': "
    "5, 'layer_types': ['sliding_attention', 'full_attention']}",
    "{'model_type': 'qwen2', 'use_sliding_window': true, 'num_hidden_layers': 2, 'layer_types': "
    "['sliding_attention', 'full_attention', 'full_attention']}",
    "{'model_type': 'qwen2', 'use_sliding_window': true, 'sliding_window': null}",
    "{'model_type': 'qwen2', 'use_sliding_window': true, 'num_hidden_layers': 200, "
    "'max_window_layers': 1}",
};

/* Adds the lines of a that are not lines of b. */
static void add_lines(struct strbuf *out, const char *a, const char *b, char sign)
{
    for (const char *line = a; *line; line += strcspn(line, "\n") + 1) {
        const char *text = arena_printf(out->arena, "\n%.*s\n", (int)strcspn(line, "\n"), line);
        if (!strstr(arena_printf(out->arena, "\n%s", b), text))
            strbuf_addf(out, "    %c %s", sign, text + 1);
    }
}

TEST_EACH(test_place_make, test_place_remove)

TEST_WITH(struct test_place *p, each_config_has_its_description_or_its_message)
{
    struct strbuf out;
    const char *family = "", *first = "";

    strbuf_init(&out, &p->arena);
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        struct config c;
        struct family f;
        e = (struct err){0};
        open_folder_write(p, p->path, "config.json", configs[i]);
        assert_ok(config_open(&c, &p->arena, p->path, &e));
        int rc = family_find(&f, &p->arena, &c, &e);
        if (rc == 0) rc = family_describe(&f, &c, &e);
        strbuf_addf(&out, "%s\n", configs[i]);
        if (rc == 0) {
            const char *text = spec_canonical(&f.spec, &p->arena);
            bool same = strcmp(f.name, family) == 0;
            add_lines(&out, text, same ? first : "", '+');
            if (same) add_lines(&out, first, text, '-');
            if (!same) first = text;
            family = f.name;
            if (f.note) strbuf_addf(&out, "    (%s)\n", f.note);
        } else {
            const char *after = strstr(e.text, "config.json");
            strbuf_addf(&out, "    %d %s\n", err_exit_code(rc), after ? after : e.text);
        }
        config_close(&c);
    }
    assert_golden("pretrained/golden/families.txt", out.text);
}
