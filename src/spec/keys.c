/* keys.c - the table of spec keys, the only list of them.
 *
 * 1. The neutral value of a key is the behaviour before the key existed; a key without one is
 *    always hashed.
 * 2. The files of the position methods list their own options. These follow the other keys of the
 *    model and apply to the runs of their method. */
#include <assert.h>
#include <string.h>
#include <threads.h>

#include "base/str.h"
#include "spec/spec.h"

static const char *const kind_names[] = {"train", "eval", "bench", NULL};
#define POSITION_NAME(NAME, name, display, place, style, bounded) #name,
static const char *const position_names[] = {POSITION_METHODS(POSITION_NAME) NULL};
static const char *const softmax_names[] = {"adaptive", "plain", NULL};
static const char *const optimizer_names[] = {"nag", "adam", NULL};
static const char *const origin_names[] = {"trained", "authors", "pretrained", NULL};
static const char *const norm_names[] = {"layernorm", "rmsnorm", NULL};
static const char *const block_names[] = {"sequential", "parallel", "parallel2", "post", NULL};
static const char *const activation_names[] = {"relu", "gelu_erf", "gelu_tanh", "silu", NULL};
static const char *const schedule_names[] = {"cosine", "fixed", NULL};
static const char *const precision_names[] = {"fp32", "bf16", NULL};
static const char *const split_names[] = {"train", "valid", "test", NULL};
static const char *const window_names[] = {"nonoverlapping", "sliding", "rolling", NULL};
static const char *const checkpoint_names[] = {"best", "last", NULL};
static const char *const continues_names[] = {"all", "weights", NULL};
static const char *const sink_names[] = {"text", "cache", NULL};
static const char *const temperature_names[] = {"none", "ssmax", "steps", NULL};
static const char *const eval_temperature_names[] = {"none", "log", NULL};
static const char *const temperature_bias_names[] = {"outside", "inside", NULL};
static const char *const knn_names[] = {"none", "untrained", "unigram", NULL};
static const char *const mode_names[] = {"train", "eval", NULL};

/* Other names for the values of enum keys. */
#define POSITION_ALIAS(NAME, name, display, place, style, bounded) display "=" #name,
static const char *const value_aliases[] = {POSITION_METHODS(POSITION_ALIAS) "RoPE=rotary",
                                            "absolute=sinusoidal",
                                            "relative=t5",
                                            "SGD=nag",
                                            "Nesterov=nag",
                                            "AdamW=adam",
                                            "dev=valid",
                                            "validation=valid",
                                            "overlapping=sliding",
                                            "float32=fp32",
                                            "bfloat16=bf16"};
enum { ALIASES_N = sizeof value_aliases / sizeof *value_aliases, NAMES_MAX = 32 };

/* NAME(s): the runs to which a key applies. */
#define APPLIES(name, condition)                                                                   \
    static bool name(const struct spec *s)                                                         \
    {                                                                                              \
        return condition;                                                                          \
    }
APPLIES(has_model, s->kind != SPEC_EVAL)
APPLIES(is_train, s->kind == SPEC_TRAIN)
APPLIES(is_pretrained, is_train(s) && spec_is_pretrained(s))
APPLIES(is_trained, is_train(s) && !spec_is_pretrained(s))
APPLIES(has_training, has_model(s) && !is_pretrained(s))
APPLIES(is_eval, s->kind == SPEC_EVAL)
APPLIES(is_child, is_trained(s) && s->train.from[0])
APPLIES(keeps_state, is_trained(s) && s->train.keep_state)
APPLIES(is_bench, s->kind == SPEC_BENCH)
APPLIES(is_bench_eval, is_bench(s) && s->bench_mode == 1)
APPLIES(has_layernorm, has_model(s) && s->model.form.norm == SPEC_LAYERNORM)
APPLIES(is_adaptive, has_model(s) && s->model.softmax == SPEC_ADAPTIVE)
APPLIES(is_nag, has_training(s) && s->train.optimizer == SPEC_NAG)
APPLIES(is_adam, has_training(s) && s->train.optimizer == SPEC_ADAM)
APPLIES(is_cosine, is_trained(s) && s->train.schedule == SPEC_COSINE)
APPLIES(is_scaled, is_eval(s) && s->eval.scaling != POSITION_UNSCALED)
APPLIES(is_longrope, is_eval(s) && s->eval.scaling == POSITION_LONGROPE)
APPLIES(has_window, has_model(s) && (s->model.mask.window > 0 || s->model.window_layers.n > 0))
APPLIES(has_sinks, has_window(s) && s->model.mask.sinks > 0)
APPLIES(is_masked, is_eval(s) && s->eval.mask.window > 0)
APPLIES(is_sunk, is_masked(s) && s->eval.mask.sinks > 0)
APPLIES(has_temperature, has_model(s) && s->model.temperature.kind != SPEC_NO_TEMPERATURE)
APPLIES(has_ssmax, has_model(s) && s->model.temperature.kind == SPEC_SSMAX)
APPLIES(has_steps, has_model(s) && s->model.temperature.kind == SPEC_STEPS)
APPLIES(is_log, is_eval(s) && s->eval.temperature == SPEC_EVAL_LOG)
APPLIES(has_datastore, is_eval(s) && s->eval.knn.neighbours > 0)
APPLIES(has_neighbours, has_datastore(s) && s->eval.knn.control != SPEC_KNN_UNIGRAM)
APPLIES(is_sliding, is_eval(s) && s->eval.window == SPEC_SLIDING)
/* has_NAME: a run of that position method. */
#define HAS_POSITION(NAME, name, display, place, style, bounded)                                   \
    APPLIES(has_##name, has_model(s) && s->model.position == SPEC_##NAME)
POSITION_METHODS(HAS_POSITION)
#define POSITION_APPLIES(NAME, name, display, place, style, bounded) has_##name,
static bool (*const position_applies[])(const struct spec *) = {POSITION_METHODS(POSITION_APPLIES)};

/* An option that several methods list is one of rotations. */
APPLIES(has_rotation,
        has_model(s) && position_methods[s->model.position].functions->frequencies != NULL)

/* After `source` a row may have .column = "NAME". */
#define KEY(key, type_, field, lo, hi, names_, neutral_, hashed_, applies_, help_, ...)            \
    {                                                                                              \
        .name = key, .type = type_, .offset = offsetof(struct spec, field), .low = lo, .high = hi, \
        .names = names_, .neutral = neutral_, .hashed = hashed_, .applies = applies_,              \
        .help = help_, .source = __VA_ARGS__                                                       \
    }
#define INT(key, field, lo, hi, neutral, applies, help, ...)                                       \
    KEY(key, SPEC_T_INT32, field, lo, hi, NULL, neutral, true, applies, help, __VA_ARGS__)
#define LONG(key, field, lo, hi, neutral, applies, help, ...)                                      \
    KEY(key, SPEC_T_INT64, field, lo, hi, NULL, neutral, true, applies, help, __VA_ARGS__)
#define REAL(key, field, lo, hi, neutral, applies, help, ...)                                      \
    KEY(key, SPEC_T_DOUBLE, field, lo, hi, NULL, neutral, true, applies, help, __VA_ARGS__)
#define FLAG(key, field, neutral, applies, help, ...)                                              \
    KEY(key, SPEC_T_BOOL, field, 0, 1, NULL, neutral, true, applies, help, __VA_ARGS__)
#define ENUM(key, field, names, neutral, applies, help, ...)                                       \
    KEY(key, SPEC_T_ENUM, field, 0, 0, names, neutral, true, applies, help, __VA_ARGS__)
#define TEXT(key, field, hashed, neutral, applies, help, ...)                                      \
    KEY(key, SPEC_T_TEXT, field, 0, 0, NULL, neutral, hashed, applies, help, __VA_ARGS__)

static const struct spec_key model_keys[] = {
    ENUM("kind", kind, kind_names, NULL, NULL, "kind of run", "this project", .column = "kind"),
    TEXT("scale", scale, true, NULL, NULL,
         "scale of the run, which decides what its numbers may be called", "configs/scale",
         .column = "scale"),

    TEXT("model.name", model.name, false, "", NULL, "a label of the model", "", .column = "model"),
    ENUM("model.position", model.position, position_names, NULL, has_model, "position method",
         "ALiBi paper, sections 2 and 3", .column = "position"),
    INT("model.layers", model.layers, 1, 1000, NULL, has_model, "transformer blocks",
        "ALiBi paper, p. 3: 16"),
    INT("model.dim", model.dim, 8, 65536, NULL, has_model, "model width D",
        "ALiBi paper, p. 3: 1024"),
    INT("model.heads", model.heads, 1, POSITION_HEADS_MAX, NULL, has_model, "attention heads",
        "ALiBi paper, p. 3: 8"),
    INT("model.ffn", model.ffn, 8, 262144, NULL, has_model,
        "inner width of the feed-forward layers", "ALiBi paper, p. 3: 4096"),
    ENUM("model.softmax", model.softmax, softmax_names, NULL, has_model,
         "adaptive input and softmax, or one tied embedding table",
         "ALiBi paper, p. 3; Baevski and Auli 2018"),
    KEY("model.cutoffs", SPEC_T_INTS, model.cutoffs, 1, 2147483647, NULL, NULL, true, is_adaptive,
        "first ids of the tail bands, rising, such as 20000,60000",
        "authors' transformer_lm.py: 20000,60000"),
    INT("model.adaptive_factor", model.adaptive_factor, 1, 64, "4", is_adaptive,
        "each band is this many times narrower than the one before", "authors' code: 4"),
    FLAG("model.final_norm", model.final_norm, "false", has_model, "LayerNorm after the last block",
         "authors' code: none in transformer_lm_wiki103"),
    REAL("model.dropout", model.dropout, 0, 0.99, "0", has_model,
         "dropout of embedding, attention output and feed-forward output", "authors' code: 0.3"),
    REAL("model.dropout_attention", model.dropout_attention, 0, 0.99, "0", has_model,
         "dropout of attention weights", "authors' code: 0.1"),
    REAL("model.dropout_relu", model.dropout_relu, 0, 0.99, "0", has_model,
         "dropout after the ReLU", "authors' code: 0.1"),
    REAL("model.dropout_softmax", model.dropout_softmax, 0, 0.99, "0", has_model,
         "dropout of the head's input and of the tail projections", "authors' code: 0.2"),
    INT("model.attention_window", model.mask.window, 0, 100000000, "0", has_model,
        "window: tokens that a query sees, including its own; 0: all before it",
        "Mistral, Longformer"),
    INT("model.attention_sinks", model.mask.sinks, 0, 1000000, "0", has_window,
        "sinks: first tokens of a row that stay visible outside the window", "StreamingLLM: 4"),
    ENUM("model.sink_positions", model.mask.sink_positions, sink_names, "cache", has_sinks,
         "distances to sinks: in the text, or between places in a cache",
         "StreamingLLM, section 3.2: cache"),
    ENUM("model.temperature", model.temperature.kind, temperature_names, "none", has_model,
         "factor of a query on its scores: a learned one of its head times ln of its keys (ssmax), "
         "or steps with its position in layers without position; of a trained model: "
         "eval.temperature",
         "SSMax; Llama 4"),
    ENUM("model.temperature_bias", model.temperature.bias, temperature_bias_names, "outside",
         has_temperature, "whether the factor multiplies the position method's bias too: inside",
         "BAM: inside"),
    REAL("model.ssmax_start", model.temperature.start, 0, 1000, "1", has_ssmax,
         "factor of each head before training", "BAM: 1"),
    INT("model.temperature_length", model.temperature.length, 1, 1000000000, "8192", has_steps,
        "tokens of a step", "Llama 4: 8192"),
    REAL("model.temperature_scale", model.temperature.scale, 0, 1000, "0.1", has_steps,
         "height of the steps", "Llama 4: 0.1"),
    KEY("model.position_layers", SPEC_T_REALS, model.position_layers, 0, 0, position_names, "",
        true, has_model, "position method of each layer: model.position or none; empty: all alike",
        "Llama 4, SmolLM3: every fourth none"),
    KEY("model.attention_window_layers", SPEC_T_REALS, model.window_layers, 0, 100000000, NULL,
        "none", true, has_model,
        "window of each layer, instead of model.attention_window; 0: all keys",
        "Gemma 3: 4096, every sixth 0"),

    ENUM("model.norm", model.form.norm, norm_names, "layernorm", has_model, "normalisation",
         "LLaMA: rmsnorm"),
    REAL("model.norm_eps", model.form.norm_eps, 1e-12, 0.999, "1e-05", has_model,
         "epsilon of the norms, inside the root", "PyTorch: 1e-5"),
    FLAG("model.norm_bias", model.form.norm_bias, "true", has_layernorm, "biases of the norms",
         "MPT: false"),
    ENUM("model.block", model.form.block, block_names, "sequential", has_model,
         "attention and feed-forward layers in turn, beside each other after one norm or two, or "
         "norms after them",
         "GPT-J: parallel; GPT-NeoX: parallel2; OPT-350m: post"),
    ENUM("model.activation", model.form.activation, activation_names, "relu", has_model,
         "activation of the feed-forward layers", "GPT-2: gelu_tanh; LLaMA: silu"),
    FLAG("model.gated", model.form.gated, "false", has_model,
         "multiply the activation with a second map of the input", "LLaMA: true"),
    INT("model.kv_heads", model.form.kv_heads, 0, 1024, "0", has_model,
        "heads of keys and values, each read by as many query heads; 0: model.heads",
        "Falcon-7B: 1"),
    INT("model.head_width", model.form.head_width, 0, POSITION_WIDTH_MAX, "0", has_model,
        "features of a head; 0: model.dim / model.heads", "Mistral: 128"),
    FLAG("model.qkv_bias", model.form.qkv_bias, "true", has_model, "biases of q, k and v",
         "LLaMA: false"),
    FLAG("model.out_bias", model.form.out_bias, "true", has_model, "bias of attention's output map",
         "LLaMA: false"),
    FLAG("model.ffn_bias", model.form.ffn_bias, "true", has_model,
         "biases of the feed-forward layers", "LLaMA: false"),
    REAL("model.qkv_clip", model.form.qkv_clip, 0, 1e9, "0", has_model,
         "clip q, k and v to this size; 0: off", "MPT: 8"),
    REAL("model.score_scale", model.form.score_scale, 0, 1e6, "0", has_model,
         "factor of q . k; 0: head width^-0.5", "MPT: softmax_scale"),
    FLAG("model.score_scale_by_layer", model.form.score_scale_by_layer, "false", has_model,
         "divide model.score_scale by the number of the layer, from 1",
         "GPT-2: scale_attn_by_inverse_layer_idx"),
    FLAG("model.embedding_scaled", model.form.embedding_scaled, "true", has_model,
         "multiply embeddings by sqrt(model.dim)", "GPT-2: false"),
    INT("model.embedding_width", model.form.embedding_width, 0, 65536, "0", has_model,
        "width of the embedding table, with maps to and from model.dim; 0: model.dim",
        "OPT-350m: 512"),
    FLAG("model.embedding_norm", model.form.embedding_norm, "false", has_model,
         "norm of the embedding", "BLOOM: true"),
    FLAG("model.tied", model.form.tied, "true", has_model, "the head is the embedding table",
         "GPT-NeoX: false"),
    FLAG("model.head_bias", model.form.head_bias, "false", has_model, "bias of the head",
         "GPT-J: true"),
    TEXT("model.files", model.files, true, "", is_pretrained,
         "SHA-256 of the hashes of a pretrained model's files", "this project"),
};

static const struct spec_key other_keys[] = {
    TEXT("data.dataset", data.dataset, true, NULL, has_model, "name of the text in the paper",
         "ALiBi paper, sections 2.2 and 4.2, appendix A.3", .column = "dataset"),
    TEXT("data.corpus", data.corpus, true, NULL, has_model,
         "the folder under data/ with the token files", "", .column = "corpus"),
    TEXT("data.fingerprint", data.fingerprint, true, "", has_model,
         "SHA-256 of dictionary and token files", ""),
    INT("data.vocab", data.vocab, 8, 100000000, NULL, has_model,
        "vocabulary size, including special symbols", "267,744 for WikiText-103"),
    LONG("data.train_tokens", data.train_tokens, 0, 1e15, NULL, has_model,
         "tokens of the training split", "103,227,021 for WikiText-103"),
    LONG("data.valid_tokens", data.valid_tokens, 0, 1e15, NULL, has_model,
         "tokens of the validation split", "217,646 for WikiText-103"),
    LONG("data.test_tokens", data.test_tokens, 0, 1e15, NULL, has_model, "tokens of the test split",
         "245,569 for WikiText-103"),

    INT("train.L", train.L, 1, 100000000, NULL, has_model, "L_train: tokens per training row",
        "ALiBi paper, Table 5: 64 to 3072", .column = "L_train"),
    INT("train.shards", train.shards, 1, 65536, "1", has_training, "batches summed into one update",
        "8 GPUs"),
    INT("train.shard_tokens", train.shard_tokens, 1, SPEC_BATCH_MAX, NULL, has_training,
        "largest number of tokens per batch", "authors' README: 9216"),
    INT("train.updates", train.updates, 1, 1000000000, NULL, is_trained, "updates of a training",
        "authors' README: 286000", .column = "updates"),
    ENUM("train.optimizer", train.optimizer, optimizer_names, "nag", has_training, "update rule",
         "authors' README: nag"),
    REAL("train.lr", train.lr, 0, 1000, NULL, is_trained, "highest learning rate",
         "authors' README: 1"),
    REAL("train.lr_init", train.lr_init, -1, 1000, "0", is_cosine,
         "learning rate before the first update; negative: lr_min", "authors' README: 1e-7"),
    REAL("train.lr_min", train.lr_min, 0, 1000, "0", is_cosine,
         "learning rate at the end of a period", "authors' README: 1e-4"),
    ENUM("train.schedule", train.schedule, schedule_names, "cosine", is_trained,
         "learning rate schedule", "authors' README: cosine"),
    INT("train.warmup", train.warmup, 0, 1000000000, "0", is_cosine, "updates of linear warm-up",
        "authors' README: 16000"),
    INT("train.period", train.period, 1, 1000000000, NULL, is_cosine,
        "updates of the first cosine period", "authors' README: 270000"),
    REAL("train.period_multiplier", train.period_multiplier, 1, 1000, "1", is_cosine,
         "each period is this many times longer than the one before", "authors' README: 2"),
    REAL("train.lr_shrink", train.lr_shrink, 0.0001, 1, "1", is_cosine,
         "factor on the learning rates from period to period", "authors' README: 0.75"),
    REAL("train.momentum", train.momentum, 0, 0.9999999, "0.99", is_nag, "momentum of NAG",
         "authors' README: 0.99"),
    REAL("train.weight_decay", train.weight_decay, 0, 1, "0", has_training,
         "decoupled weight decay", "authors' README: 0"),
    REAL("train.adam_beta1", train.adam_beta1, 0, 0.9999999, "0.9", is_adam, "Adam's beta 1", ""),
    REAL("train.adam_beta2", train.adam_beta2, 0, 0.9999999, "0.98", is_adam, "Adam's beta 2", ""),
    REAL("train.adam_eps", train.adam_eps, 1e-20, 1, "1e-08", is_adam, "Adam's epsilon", ""),
    REAL("train.clip", train.clip, 0, 1e9, "0", has_training,
         "gradient clipping: largest L2 norm of the gradient per token; 0: off",
         "authors' README: 0.1"),
    LONG("train.seed", train.seed, 0, 9223372036854774784.0, NULL, has_training,
         "seed of initialisation, data order and dropout", "authors' README: 1", .column = "seed"),
    ENUM("train.origin", train.origin, origin_names, "trained", is_train,
         "who trains the model; authors, pretrained: a published checkpoint is imported, never "
         "trained "
         "here",
         "authors' README: eight ALiBi models"),
    ENUM("train.precision", train.precision, precision_names, "fp32", has_training,
         "precision of training; bf16 keeps fp32 master weights", "authors: fp16"),
    FLAG("train.tail_quirk", train.tail_quirk, "false", is_trained,
         "leave class 1 of each tail out of the training loss, as the authors' code does",
         "authors' adaptive_loss.py"),
    INT("train.validate_every", train.validate_every, 0, 1000000000, "0", is_trained,
        "updates between validations; 0: at the end of each epoch", "authors: each epoch"),
    INT("train.validate_L", train.validate_L, 0, 1000000, "0", is_trained,
        "tokens per row in validations during training; 0: train.L",
        "ALiBi paper, Figure 5: 1024, 2048"),

    TEXT("train.from", train.from, true, "", is_child,
         "run id of the parent: the training that this one continues", "fairseq: --restore-file"),
    ENUM("train.from_checkpoint", train.from_checkpoint, checkpoint_names, "last", is_child,
         "checkpoint of the parent to start from", "fairseq: checkpoint_last.pt"),
    ENUM("train.continues", train.continues, continues_names, "all", is_child,
         "what goes on from the parent: weights, optimiser state and update number; or weights",
         "fairseq: --restore-file, --finetune-from-model"),
    KEY("train.keep_state", SPEC_T_BOOL, train.keep_state, 0, 1, NULL, "false", false, keeps_state,
        "keep the optimiser state of the last checkpoint, for trainings that continue this one",
        ""),

    TEXT("eval.train_run", eval.train_run, true, NULL, is_eval, "run id of the evaluated training",
         ""),
    ENUM("eval.checkpoint", eval.checkpoint, checkpoint_names, "best", is_eval,
         "checkpoint to evaluate; best: lowest validation loss",
         "authors' README: checkpoint_best.pt", .column = "checkpoint"),
    ENUM("eval.split", eval.split, split_names, NULL, is_eval, "split to evaluate",
         "ALiBi paper, Table 5: valid", .column = "split"),
    ENUM("eval.window", eval.window, window_names, NULL, is_eval,
         "how the text is cut into rows; the window of the attention is attention_window",
         "ALiBi paper, section 2.2 and appendix B", .column = "protocol"),
    INT("eval.L", eval.L, 1, 100000000, NULL, is_eval, "L_valid: tokens per window",
        "ALiBi paper, Tables 2 to 5"),
    INT("eval.stride", eval.stride, 1, 100000000, NULL, is_sliding, "targets per sliding window",
        "ALiBi paper, appendix B: 1", .column = "stride"),
    ENUM("eval.precision", eval.precision, precision_names, "fp32", is_eval,
         "precision of evaluation", "authors' README: fp32"),
    LONG("eval.targets", eval.targets, 0, 1e15, "0", is_eval,
         "number of targets, from the start of the split; 0: all", "ALiBi paper: all",
         .column = "targets"),
    ENUM("eval.position_scaling", eval.scaling, position_scaling_names, "none", is_eval,
         "scaling of a trained method to rows longer than L_train; in training: model.rope_scaling",
         "PI, NTK-aware, YaRN, Llama 3 and LongRoPE of rotary; slopes of ALiBi"),
    REAL("eval.position_scaling_factor", eval.scaling_factor, 0, 1e6, "0", is_scaled,
         "scaling factor; 0: eval.L / train.L, for which ntk and dynamic_ntk are the same",
         "PI: L' / L"),
    KEY("eval.longrope_short_factors", SPEC_T_REALS, eval.longrope_short, 1e-6, 1e6, NULL, "none",
        true, is_longrope, "model.longrope_short_factors in evaluation; none: as in training",
        "LongRoPE: searched"),
    KEY("eval.longrope_long_factors", SPEC_T_REALS, eval.longrope_long, 1e-6, 1e6, NULL, "none",
        true, is_longrope, "model.longrope_long_factors in evaluation; none: as in training",
        "LongRoPE: searched"),
    ENUM("eval.alibi_bias", eval.alibi_bias, position_alibi_bias_names, "distance", is_eval,
         "form of alibi's bias in evaluation: -slope * distance, or slope * number of the key, "
         "which differ by rounding alone",
         "authors' code: key"),
    ENUM("eval.alibi_precision", eval.alibi_format, position_format_names, "fp32", is_eval,
         "format to which slope, distance or key, and their product are rounded; score and sum "
         "stay in eval.precision",
         "authors' code: fp16"),
    INT("eval.attention_window", eval.mask.window, 0, 1000000, "0", is_eval,
        "model.attention_window in evaluation; 0: as in training; eval.L or more: no window",
        "StreamingLLM"),
    INT("eval.attention_sinks", eval.mask.sinks, 0, 1000000, "0", is_masked,
        "model.attention_sinks in evaluation", "StreamingLLM: 4"),
    ENUM("eval.sink_positions", eval.mask.sink_positions, sink_names, "cache", is_sunk,
         "model.sink_positions in evaluation", "StreamingLLM, section 3.2: cache"),
    ENUM("eval.temperature", eval.temperature, eval_temperature_names, "none", is_eval,
         "factor of query i on its scores: max(1, ln(i + 1) / ln(eval.temperature_length))",
         "ReRoPE; Self-Extend"),
    ENUM("eval.temperature_bias", eval.temperature_bias, temperature_bias_names, "outside", is_log,
         "whether the factor multiplies the position method's bias too: inside", "this project"),
    INT("eval.temperature_length", eval.temperature_length, 0, 1000000000, "0", is_log,
        "tokens up to which the factor is 1; 0: train.L", "ReRoPE: L_train"),
    INT("eval.attention_rows", eval.attention_rows, 0, 100000, "0", is_eval,
        "also record what each attention head does with so many rows of eval.L tokens; 0: off",
        "Gu et al. 2024, arXiv 2410.10781: 100 rows of 64 tokens"),

    INT("eval.knn_neighbours", eval.knn.neighbours, 0, 65536, "0", is_eval,
        "keys of a datastore of the training that are mixed into each prediction; 0: none",
        "kNN-LM: 1024"),
    REAL("eval.knn_temperature", eval.knn.temperature, 1e-9, 1e9, "1", has_neighbours,
         "divides the squared distances to the keys", "kNN-LM: 1"),
    REAL("eval.knn_lambda", eval.knn.lambda, 0, 1, "0.25", has_datastore,
         "share of the datastore in the mixed probability", "kNN-LM: 0.25"),
    INT("eval.knn_window", eval.knn.window, 0, 1000000, "0", has_neighbours,
        "tokens per window of the training text when keys are made; 0: train.L", "kNN-LM: 3072"),
    INT("eval.knn_stride", eval.knn.stride, 0, 1000000, "0", has_neighbours,
        "keys per window, which have the rest of it as context; 0: half of the window",
        "kNN-LM: 1536"),
    LONG("eval.knn_keys", eval.knn.keys, 0, 1e12, "0", has_datastore,
         "targets in the datastore, from the start of the training text; 0: all", "kNN-LM: all"),
    ENUM("eval.knn_control", eval.knn.control, knn_names, "none", has_datastore,
         "untrained: keys and queries of the initial values; unigram: all keys have one weight",
         "this project"),

    ENUM("bench.mode", bench_mode, mode_names, NULL, is_bench,
         "measured pass: training or evaluation", "ALiBi paper, Table 1", .column = "mode"),
    INT("bench.rows", bench_rows, 0, 65536, "0", is_bench_eval,
        "rows per batch; 0: as many as fit into a shard", "ALiBi paper, Tables 2 to 4: 1"),
    INT("bench.L", bench_L, 0, 1000000, "0", is_bench_eval, "tokens per row; 0: train.L",
        "ALiBi paper, Tables 2 to 4: L_valid"),
};

int32_t spec_head_width(const struct spec_model *m)
{
    if (m->form.head_width > 0) return m->form.head_width;
    return m->heads > 0 ? m->dim / m->heads : 0; /* the spec of an evaluation alone has no model */
}

int32_t spec_kv_heads(const struct spec_model *m)
{
    return m->form.kv_heads > 0 ? m->form.kv_heads : m->heads;
}

int32_t spec_pad(const struct spec *s)
{
    return spec_is_pretrained(s) ? -1 : 1;
}

/* All keys in order, built once. */
static struct spec_key key_table[SPEC_KEYS_MAX];
static size_t keys_n;
static once_flag keys_made = ONCE_FLAG_INIT;

static void add_key(struct spec_key key)
{
    for (size_t i = 0; i < keys_n; i++)
        if (strcmp(key_table[i].name, key.name) == 0) {
            key_table[i].applies = has_rotation;
            return;
        }
    assert(keys_n < SPEC_KEYS_MAX);
    key_table[keys_n++] = key;
}

static struct spec_key option_key(const struct position_option *o, int32_t method)
{
    static const enum spec_type types[] = {[POSITION_INT] = SPEC_T_INT32,
                                           [POSITION_REAL] = SPEC_T_DOUBLE,
                                           [POSITION_CHOICE] = SPEC_T_ENUM,
                                           [POSITION_REALS] = SPEC_T_REALS};
    return (struct spec_key){.name = o->name,
                             .type = types[o->type],
                             .offset = offsetof(struct spec, option) + o->offset,
                             .low = o->low,
                             .high = o->high,
                             .names = o->names,
                             .neutral = o->neutral,
                             .hashed = true,
                             .applies = position_applies[method],
                             .help = o->help,
                             .source = o->source};
}

static void make_keys(void)
{
    for (size_t i = 0; i < sizeof model_keys / sizeof *model_keys; i++) add_key(model_keys[i]);
    for (int32_t p = 0; p < POSITION_METHODS_N; p++)
        for (const struct position_option *o = position_methods[p].functions->options; o && o->name;
             o++)
            add_key(option_key(o, p));
    for (size_t i = 0; i < sizeof other_keys / sizeof *other_keys; i++) add_key(other_keys[i]);
}

const struct spec_key *spec_keys(size_t *n)
{
    call_once(&keys_made, make_keys);
    *n = keys_n;
    return key_table;
}

const struct spec_key *spec_key_find(const char *name)
{
    size_t n;
    const struct spec_key *keys = spec_keys(&n);

    for (size_t i = 0; i < n; i++)
        if (strcmp(keys[i].name, name) == 0) return &keys[i];
    return NULL;
}

struct str_hint spec_key_hint(const char *text)
{
    const char *names[SPEC_KEYS_MAX];
    size_t n;
    const struct spec_key *keys = spec_keys(&n);

    for (size_t i = 0; i < n; i++) names[i] = keys[i].name;
    return str_hint(text, names, n);
}

struct str_hint spec_value_hint(const struct spec_key *key, const char *text)
{
    const char *names[NAMES_MAX + ALIASES_N];
    size_t n = 0;

    for (const char *const *name = key->names; *name; name++) {
        assert(n + ALIASES_N < sizeof names / sizeof *names);
        names[n++] = *name;
        for (size_t i = 0; i < ALIASES_N; i++)
            if (strcmp(strchr(value_aliases[i], '=') + 1, *name) == 0)
                names[n++] = value_aliases[i];
    }
    return str_hint(text, names, n);
}

const char *spec_position_name(enum spec_position p)
{
    return position_methods[p].name;
}

struct spec_knn spec_datastore(const struct spec_eval *eval, const struct spec *train)
{
    struct spec_knn k = eval->knn;
    int64_t targets = train->data.train_tokens;

    if (k.window == 0) k.window = train->train.L;
    if (k.stride == 0) k.stride = (k.window + 1) / 2;
    if (k.keys == 0 || (targets > 0 && k.keys > targets)) k.keys = targets;
    return k;
}

bool spec_same_datastore(const struct spec_knn *a, const struct spec_knn *b)
{
    if (a->neighbours == 0 || b->neighbours == 0) return a->neighbours == b->neighbours;
    return a->control == b->control && a->window == b->window && a->stride == b->stride &&
           a->keys == b->keys;
}

bool spec_alike(const struct spec *a, const struct spec *b, const char *const *but)
{
    size_t n;
    const struct spec_key *keys = spec_keys(&n);
    struct arena scratch;
    bool alike = true;

    arena_init(&scratch);
    for (size_t i = 0; alike && i < n; i++) {
        const struct spec_key *key = &keys[i];
        bool here = spec_key_applies(key, a), there = spec_key_applies(key, b);
        const char *const *name = but;
        while (*name && strcmp(*name, key->name) != 0) name++;
        if (*name || (!here && !there)) continue;
        alike =
            here == there && strcmp(spec_get(a, key, &scratch), spec_get(b, key, &scratch)) == 0;
    }
    arena_fini(&scratch);
    return alike;
}

const struct spec_key *spec_model_difference(const struct spec *a, const struct spec *b)
{
    const struct spec_key *found = NULL;
    size_t n;
    const struct spec_key *keys = spec_keys(&n);
    struct arena scratch;

    arena_init(&scratch);
    for (size_t i = 0; !found && i < n; i++) {
        const char *name = keys[i].name;
        bool of_model = strncmp(name, "model.", 6) == 0 || strcmp(name, "train.L") == 0 ||
                        strcmp(name, "data.vocab") == 0;
        if (!of_model || !keys[i].hashed || strcmp(name, "model.files") == 0) continue;
        if (!spec_key_applies(&keys[i], a)) continue; /* a key that it depends on differs first */
        if (strcmp(spec_get(a, &keys[i], &scratch), spec_get(b, &keys[i], &scratch)) != 0)
            found = &keys[i];
    }
    arena_fini(&scratch);
    return found;
}

struct spec spec_evaluated(const struct spec *train, const struct spec_eval *eval)
{
    struct spec s = *train;

    if (eval->mask.window > 0) s.model.mask = eval->mask;
    /* All layers of a pretrained model have the window that the evaluation states. */
    if (eval->mask.window > 0 && spec_is_pretrained(&s)) s.model.window_layers.n = 0;
    if (eval->temperature == SPEC_EVAL_LOG)
        s.model.temperature = (struct spec_temperature){
            .kind = SPEC_LOG,
            .bias = eval->temperature_bias,
            .length = eval->temperature_length > 0 ? eval->temperature_length : train->train.L};
    for (int32_t l = 0; eval->mask.window > 0 && l < s.model.window_layers.n; l++)
        if (s.model.window_layers.value[l] > 0) s.model.window_layers.value[l] = eval->mask.window;
    s.option.alibi_bias = eval->alibi_bias;
    s.option.alibi_format = eval->alibi_format;
    if (eval->scaling == POSITION_UNSCALED) return s;
    s.option.scaling = eval->scaling;
    s.option.scaling_factor = eval->scaling_factor;
    if (eval->longrope_short.n > 0) s.option.longrope_short = eval->longrope_short;
    if (eval->longrope_long.n > 0) s.option.longrope_long = eval->longrope_long;
    if (!train->train.from[0] || train->option.scaling == POSITION_UNSCALED)
        s.option.original_length = 0;
    return s;
}

int64_t spec_split_tokens(const struct spec_data *d, enum spec_split split)
{
    return split == SPEC_TEST    ? d->test_tokens
           : split == SPEC_VALID ? d->valid_tokens
                                 : d->train_tokens;
}

/* True if the scaling leaves rows of this length as they were trained. */
static bool is_idle_scaling(const struct spec *s)
{
    const struct spec_eval *v = &s->eval;
    bool short_rows = v->L <= s->train.L;
    bool by_one = v->scaling_factor == 1 || (v->scaling_factor == 0 && short_rows);

    if (s->option.scaling != POSITION_UNSCALED) return false;
    if (v->scaling == POSITION_SLOPES || v->scaling == POSITION_DYNAMIC_NTK) return short_rows;
    if (v->scaling == POSITION_YARN) return by_one && s->option.yarn_attention_factor == 0;
    return by_one && (v->scaling == POSITION_PI || v->scaling == POSITION_NTK);
}

struct spec spec_without_idle(const struct spec *s)
{
    struct spec bare = *s;
    struct spec_eval *v = &bare.eval;
    int32_t log_from = v->temperature_length > 0 ? v->temperature_length : s->train.L;
    bool sees_all = s->model.mask.window == 0 && s->model.window_layers.n == 0;

    if (is_idle_scaling(s)) v->scaling = POSITION_UNSCALED;
    if (sees_all && v->mask.window >= v->L) v->mask.window = 0;
    if (v->temperature == SPEC_EVAL_LOG && v->L <= log_from) v->temperature = SPEC_AS_TRAINED;
    return bare;
}

bool spec_layer_has_position(const struct spec_model *m, int32_t layer)
{
    return m->position_layers.n == 0 || m->position_layers.value[layer] == (double)m->position;
}

int32_t spec_layer_window(const struct spec_model *m, int32_t layer)
{
    return m->window_layers.n == 0 ? m->mask.window : (int32_t)m->window_layers.value[layer];
}

struct position_shape spec_position_shape(const struct spec *s)
{
    bool has_heads = s->model.heads > 0; /* the spec of an evaluation alone has none */
    return (struct position_shape){.heads = s->model.heads,
                                   .dim = s->model.dim,
                                   .width = has_heads ? spec_head_width(&s->model) : 0,
                                   .trained_length = s->train.L,
                                   .length = s->train.L,
                                   .seed = s->train.seed,
                                   .options = &s->option};
}

enum position_gates spec_layer_gates(const struct spec *s, int32_t layer)
{
    const struct position_functions *f = position_methods[s->model.position].functions;
    const struct position_shape shape = spec_position_shape(s);

    if (f->gates == NULL || !spec_layer_has_position(&s->model, layer)) return POSITION_FIXED_GATES;
    return f->gates(&shape);
}

bool spec_key_applies(const struct spec_key *key, const struct spec *s)
{
    return !key->applies || key->applies(s);
}

bool spec_key_describes(const struct spec_key *key, const struct spec *s)
{
    return spec_key_applies(key, s) || key->applies == has_model ||
           (key->applies == has_training && !spec_is_pretrained(s));
}

const char *spec_kind_name(enum spec_kind k)
{
    return kind_names[k];
}

int32_t spec_valid_length(const struct spec *s)
{
    if (s->kind == SPEC_EVAL) return s->eval.L;
    return is_bench_eval(s) ? s->bench_L : 0;
}

const char *spec_needs(const struct spec *s, enum spec_checkpoint *which)
{
    bool eval = s->kind == SPEC_EVAL;

    if (which) *which = eval ? s->eval.checkpoint : s->train.from_checkpoint;
    return eval ? s->eval.train_run : is_train(s) ? s->train.from : "";
}

bool spec_is_defined(const struct spec *s)
{
    bool bounded = position_methods[s->model.position].bounded;
    return s->kind != SPEC_EVAL || !bounded ||
           (s->eval.L <= s->train.L && s->eval.knn.window <= s->train.L);
}

bool spec_is_source(const struct spec *s)
{
    return s->kind == SPEC_TRAIN && s->train.origin != SPEC_TRAINED;
}

bool spec_is_pretrained(const struct spec *s)
{
    return s->train.origin == SPEC_PRETRAINED;
}

enum spec_precision spec_precision(const struct spec *s, const char **key)
{
    bool eval = s->kind == SPEC_EVAL;
    if (key != NULL) *key = eval ? "eval.precision" : "train.precision";
    return eval ? s->eval.precision : s->train.precision;
}

int spec_check_device(const struct spec *s, const char *device, struct err *e)
{
    const char *key, *plain = strncmp(device, "check:", 6) == 0 ? device + 6 : device;
    bool cpu = strcmp(plain, "cpu") == 0;
    int32_t width = has_model(s) ? spec_head_width(&s->model) : 0; /* 0: its training's */

    if (width % (cpu ? 2 : 8) != 0 || width > POSITION_WIDTH_MAX)
        return ERR(e, ERR_UNAVAILABLE,
                   "head width %d (model.dim / model.heads) is not supported on %s: expected %s up "
                   "to %d",
                   width, device, cpu ? "an even width" : "a multiple of 8", POSITION_WIDTH_MAX);
    if (spec_precision(s, &key) != SPEC_BF16 || !cpu) return 0;
    return ERR(e, ERR_UNAVAILABLE,
               "%s=bf16 is not supported on %s, which computes in fp32; use a CUDA device, or "
               "--set %s=fp32 (a different run)",
               key, device, key);
}
