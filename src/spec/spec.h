/* spec.h - the specification of a run: everything that determines its numbers, and nothing else.
 *
 * 1. The run id is a hash of the canonical text. That text contains only the keys that apply to the
 *    run and are not at their neutral value, so that adding a key does not change existing ids.
 * 2. Device, host, BLAS, threads and code id belong to the attempt, not to the spec.
 * 3. A spec describes a training, an evaluation or a benchmark. The canonical text of an
 *    evaluation contains its training's run id and eval.* keys; the struct also has the
 *    training's keys, for cost and display. */
#ifndef SPEC_SPEC_H
#define SPEC_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "position/position.h"

enum { SPEC_ID_BYTES = 17, SPEC_TEXT_BYTES = 96, SPEC_CUTOFFS_MAX = 4, SPEC_KEYS_MAX = 256 };
/* Largest number of tokens per batch. */
enum { SPEC_BATCH_MAX = 100000000 };
/* Longest row whose attention weights are recorded. */
enum { SPEC_ATTENTION_MAX = 512 };

/* SPEC_MEANING - raise it in a commit that changes the numbers of a golden 20-update run. */
enum { SPEC_MEANING = 1 };

enum spec_kind { SPEC_TRAIN, SPEC_EVAL, SPEC_BENCH };
/* SPEC_SINUSOIDAL and so on: indices of position_methods. */
#define SPEC_POSITION(NAME, name, display, place, style, bounded) SPEC_##NAME,
enum spec_position { POSITION_METHODS(SPEC_POSITION) };
enum spec_softmax { SPEC_ADAPTIVE, SPEC_PLAIN };
enum spec_optimizer { SPEC_NAG, SPEC_ADAM };
enum spec_schedule { SPEC_COSINE, SPEC_FIXED };
/* SPEC_AUTHORS: the checkpoint of another program is the result; nothing is trained here.
 * SPEC_PRETRAINED: so is a folder in Hugging Face format, which src/pretrained reads. */
enum spec_origin { SPEC_TRAINED, SPEC_AUTHORS, SPEC_PRETRAINED };
enum spec_precision { SPEC_FP32, SPEC_BF16 };
enum spec_split { SPEC_TRAIN_SPLIT, SPEC_VALID, SPEC_TEST };
enum spec_window { SPEC_NONOVERLAPPING, SPEC_SLIDING, SPEC_ROLLING };
enum spec_checkpoint { SPEC_BEST, SPEC_LAST };
/* A training takes over from its parent: weights, optimiser state and update number, or only the
 * weights. */
enum spec_continues { SPEC_CONTINUES_ALL, SPEC_CONTINUES_WEIGHTS };

/* The attention mask. A query sees the last `window` keys including its own (0: all before it) and
 * the first `sinks` keys of the row (StreamingLLM: Xiao et al. 2024). */
enum spec_sink_positions { SPEC_SINKS_TEXT, SPEC_SINKS_CACHE };
struct spec_mask {
    int32_t window, sinks;                   /* tokens; the window includes the query's own */
    enum spec_sink_positions sink_positions; /* distances to sinks: in the text, or between places
                                                in a cache of sinks and window */
};

/* The factor of a query on its scores: none; of a trained model max(1, ln(i + 1) / ln(length)); a
 * learned number of its head times the log of the number of keys that it sees (SSMax: Nakanishi
 * 2025); 1 + scale ln(1 + floor((i + 1) / length)) in layers without position (Llama 4). */
enum spec_temperature_kind { SPEC_NO_TEMPERATURE, SPEC_SSMAX, SPEC_STEPS, SPEC_LOG };
enum spec_eval_temperature { SPEC_AS_TRAINED, SPEC_EVAL_LOG };
enum spec_temperature_bias { SPEC_BIAS_OUTSIDE, SPEC_BIAS_INSIDE };
struct spec_temperature {
    enum spec_temperature_kind kind;
    enum spec_temperature_bias bias; /* whether the factor multiplies the bias too */
    int32_t length;                  /* tokens */
    double scale, start;             /* start: of SSMax's learned numbers */
};

/* The form of the decoder, as fields that the forward pass obeys (open-models SPEC.md section 3).
 * Their neutral values are the paper's: LayerNorm before each part, ReLU, a tied table. Only a
 * pretrained model may have others, for they are not trained here. */
enum spec_norm { SPEC_LAYERNORM, SPEC_RMSNORM };
enum spec_block {
    SPEC_SEQUENTIAL, /* x += A(n1(x)); x += M(n2(x)) */
    SPEC_PARALLEL,   /* a = n1(x); x += A(a) + M(a) */
    SPEC_PARALLEL2,  /* x += A(n1(x)) + M(n2(x)) */
    SPEC_POST        /* x = n1(x + A(x)); x = n2(x + M(x)) */
};
enum spec_activation { SPEC_RELU, SPEC_GELU_ERF, SPEC_GELU_TANH, SPEC_SILU };
struct spec_form {
    enum spec_norm norm;
    double norm_eps; /* inside the root */
    bool norm_bias;
    enum spec_block block;
    enum spec_activation activation;
    bool gated;                        /* M: (act(x Wg) * (x W1)) W2, else act(x W1) W2 */
    int32_t kv_heads;                  /* K, divides H; 0: H */
    int32_t head_width;                /* 0: D / H */
    bool qkv_bias, out_bias, ffn_bias; /* of q, k and v; of their output; of all of M */
    double qkv_clip;                   /* q, k and v are clipped to [-c, c]; 0: not */
    double score_scale;                /* of q . k; 0: head width^-0.5 */
    bool score_scale_by_layer;         /* divided by the layer's number, from 1 */
    bool embedding_scaled;             /* rows of the table times sqrt(D) */
    int32_t embedding_width;           /* of the table, with maps to and from D; 0: D */
    bool embedding_norm;               /* a norm of the embedding */
    bool tied, head_bias;              /* the head is the table; its bias */
};

struct spec_model {
    char name[SPEC_TEXT_BYTES]; /* a label such as wt103_247m; not hashed */
    enum spec_position position;
    int32_t layers, dim, heads, ffn; /* N, D, H, F */
    enum spec_softmax softmax;       /* adaptive input and softmax, or one tied embedding table */
    int32_t cutoffs_n;
    int32_t cutoffs[SPEC_CUTOFFS_MAX]; /* rising, below data.vocab; adaptive only */
    int32_t adaptive_factor;           /* band i has width D / factor^i */
    bool final_norm;                   /* LayerNorm after the last layer */
    double dropout;                    /* embedding, attention output, feed-forward output */
    double dropout_attention, dropout_relu;
    double dropout_softmax; /* head input and tail projections; for plain: head input */
    struct spec_mask mask;
    struct spec_temperature temperature;
    /* By layer; empty: all layers alike. The position method or none (enum spec_position); the
     * window of the mask. */
    struct position_list position_layers, window_layers;
    struct spec_form form;
    char files[SPEC_TEXT_BYTES]; /* of a pretrained model: SHA-256 of its files' hashes */
};

struct spec_data {
    char dataset[SPEC_TEXT_BYTES];     /* name in the paper, the same at every scale: wikitext103,
                                          bookcorpus, cc100 */
    char corpus[SPEC_TEXT_BYTES];      /* folder under data/ with the token files */
    char fingerprint[SPEC_TEXT_BYTES]; /* of dictionary and token files: 64 hex digits */
    int32_t vocab;                     /* V, including special symbols */
    int64_t train_tokens, valid_tokens, test_tokens;
};

struct spec_train {
    int32_t L;                    /* L_train, tokens per row */
    int32_t shards, shard_tokens; /* an update sums the gradients of `shards` batches of at most
                                     shard_tokens tokens */
    int32_t updates;
    enum spec_optimizer optimizer;
    double lr, lr_init, lr_min; /* highest learning rate, rate before the first update, rate at the
                                   end of a period */
    enum spec_schedule schedule;
    int32_t warmup, period; /* updates */
    double period_multiplier, lr_shrink;
    double momentum, weight_decay;
    double adam_beta1, adam_beta2, adam_eps;
    double clip; /* largest L2 norm of the gradient per token; 0: no clipping */
    int64_t seed;
    enum spec_precision precision;
    enum spec_origin origin;
    bool tail_quirk; /* leaves class 1 of every tail out of the loss, as the authors' code does
                        (SPEC.md section 7) */
    int32_t validate_every;   /* updates; 0: at the end of every epoch, as the authors do */
    int32_t validate_L;       /* tokens per row in validations; 0: L */
    char from[SPEC_ID_BYTES]; /* run id of the parent: the training that this one continues; "" */
    enum spec_checkpoint from_checkpoint;
    enum spec_continues continues;
    bool keep_state; /* keeps the optimiser state of the last checkpoint; not hashed */
};

/* A datastore of a training (kNN-LM: Khandelwal et al. 2020): a key and the next token for each
 * target of its text, from the start. A target's log p becomes log((1 - lambda) p + lambda q),
 * where q gives the nearest keys the weights softmax(-squared distance / temperature).
 * SPEC_KNN_UNTRAINED: keys and queries of the model's initial values. SPEC_KNN_UNIGRAM: all keys
 * have the same weight. */
enum spec_knn_control { SPEC_KNN_KEYS, SPEC_KNN_UNTRAINED, SPEC_KNN_UNIGRAM };
struct spec_knn {
    int32_t neighbours; /* 0: no datastore */
    double temperature, lambda;
    int32_t window, stride; /* of the training text; 0: train.L, half the window */
    int64_t keys;           /* targets in the datastore; 0: all */
    enum spec_knn_control control;
};

struct spec_eval {
    char train_run[SPEC_ID_BYTES]; /* run id of the evaluated training */
    enum spec_checkpoint checkpoint;
    enum spec_split split;
    enum spec_window window;
    int32_t L;      /* L_valid */
    int32_t stride; /* sliding only: targets per window */
    enum spec_precision precision;
    int64_t targets;               /* number of targets, from the start of the split; 0: all */
    enum position_scaling scaling; /* of the trained position method to rows longer than L_train */
    double scaling_factor;         /* 0: L_valid / L_train, at least 1 */
    struct position_list longrope_short, longrope_long; /* empty: those of the training */
    enum position_alibi_bias alibi_bias;                /* in place of the training's */
    enum position_format alibi_format;
    struct spec_mask mask; /* window 0: as in training */
    enum spec_eval_temperature temperature;
    enum spec_temperature_bias temperature_bias;
    int32_t temperature_length; /* tokens; 0: L_train */
    int32_t attention_rows;     /* rows of each text of worker/heads.c; 0: none */
    struct spec_knn knn;
};

struct spec {
    enum spec_kind kind;
    char scale[SPEC_TEXT_BYTES]; /* mini, laptop, small, paper, none: what the numbers may be called
                                  */
    bool modified;               /* differs from its scale (plan.h); shown, not hashed */
    struct spec_model model;
    struct position_options option; /* of model.position; keys model.* */
    struct spec_data data;
    struct spec_train train;
    struct spec_eval eval;
    int32_t bench_mode; /* kind bench: 0 train, 1 eval */
    int32_t bench_rows; /* mode eval: rows per batch; 0: as many as fit into a shard */
    int32_t bench_L;    /* mode eval: tokens per row; 0: train.L */
};

enum spec_type {
    SPEC_T_INT32,
    SPEC_T_INT64,
    SPEC_T_DOUBLE,
    SPEC_T_BOOL,
    SPEC_T_ENUM,
    SPEC_T_TEXT,
    SPEC_T_INTS,
    SPEC_T_REALS /* struct position_list; with names: their indices */
};

/* A row of the key table: everything the program knows about a key. */
struct spec_key {
    const char *name; /* such as "train.lr" */
    enum spec_type type;
    size_t offset;            /* of the field in struct spec */
    double low, high;         /* allowed range of numbers, both included */
    const char *const *names; /* SPEC_T_ENUM: values in order, NULL-terminated */
    const char
        *neutral; /* the behaviour before this key existed; NULL: always in the canonical text */
    bool hashed;  /* false: display only */
    bool (*applies)(const struct spec *); /* NULL: always */
    const char *help;                     /* one sentence with the unit */
    const char *source; /* where the paper or the authors' code states the value */
    const char *column; /* of a run in results.db; NULL: none */
};

/* spec_keys - all keys, including the options of the position methods. */
const struct spec_key *spec_keys(size_t *n);
/* spec_key_find - the key of this name, or NULL. */
const struct spec_key *spec_key_find(const char *name);
/* spec_key_hint, spec_value_hint - for messages: the key, or the value of an enum key, that text
 * probably means (str_hint). */
struct str_hint spec_key_hint(const char *text);
struct str_hint spec_value_hint(const struct spec_key *key, const char *text);

/* spec_init - sets every key to the value that a config need not state (neutral, or zero). */
void spec_init(struct spec *s);

/* spec_set - parses text into the key's field. Lists are written "20000,60000" or "none". Errors:
 * ERR_DATA names the key, the value, the expected values and the nearest of them, but not the file.
 */
int spec_set(struct spec *s, const struct spec_key *key, const char *text, struct err *e);

/* spec_key_applies - true if the key is a setting of the run. */
bool spec_key_applies(const struct spec_key *key, const struct spec *s);
/* spec_key_describes - true if the key applies to the run, or to the training that it evaluates and
 * to benchmarks of such a training, too. */
bool spec_key_describes(const struct spec_key *key, const struct spec *s);

/* spec_key_is_list - true if the key's value is a list of numbers. */
bool spec_key_is_list(const struct spec_key *key);

/* spec_get - the field as text in the arena; spec_set parses it to the same value. */
char *spec_get(const struct spec *s, const struct spec_key *key, struct arena *a);

/* spec_check - rules between keys: heads divide dim, cut-offs rise and are below the vocabulary,
 * shard_tokens >= L, stride <= L. Errors: ERR_DATA names the keys and
 * values. */
int spec_check(const struct spec *s, struct err *e);

/* spec_check_paper_form - checks that the decoder has the paper's form, the only one that the
 * backward pass and the adaptive softmax know. */
int spec_check_paper_form(const struct spec *s, struct err *e);

/* spec_check_layers - its rules for the lists by layer: as many entries as layers, each one that a
 * layer can have. */
int spec_check_layers(const struct spec *s, struct err *e);

/* spec_precision - eval.precision for an evaluation, otherwise train.precision. Sets *key (may be
 * NULL) to the name of that key. */
enum spec_precision spec_precision(const struct spec *s, const char **key);
/* spec_needs - the run id of the training whose checkpoint the run starts from, and which
 * checkpoint (may be NULL): of an evaluation, or of a training with a parent. "": none. */
const char *spec_needs(const struct spec *s, enum spec_checkpoint *which);
/* spec_continue - checks a training (or an evaluation of it) against its parent: model, text,
 * optimiser and updates. A scaling of the child without an original length gets the parent's.
 * Errors: ERR_DATA names key and values. */
int spec_continue(struct spec *child, const struct spec *parent, struct err *e);
/* spec_first_update - updates that a training takes over from its parent. */
int32_t spec_first_update(const struct spec *child, const struct spec *parent);
/* spec_datastore - the numbers of a datastore that "0" stands for, from the training that the
 * evaluation has. spec_same_datastore - whether two evaluations of one checkpoint read the same
 * one, or both none. */
struct spec_knn spec_datastore(const struct spec_eval *eval, const struct spec *train);
bool spec_same_datastore(const struct spec_knn *a, const struct spec_knn *b);
/* spec_alike - whether two specs have the same values of all keys that apply to one of them, except
 * those that `but` names; it ends with NULL. */
bool spec_alike(const struct spec *a, const struct spec *b, const char *const *but);
/* spec_model_difference - the first key of the model, its vocabulary or its length that two specs
 * of pretrained models do not have alike, NULL: none. Its name and the hashes of its files may
 * differ.
 */
const struct spec_key *spec_model_difference(const struct spec *a, const struct spec *b);
/* spec_is_defined - false for an evaluation whose rows are too long for the position method of its
 * training. The spec must have the training's keys. */
bool spec_is_defined(const struct spec *s);
/* spec_is_source - true for a training that is never made here: its weights were made elsewhere. */
bool spec_is_source(const struct spec *s);
/* spec_is_pretrained - true for a source without any settings of its training, and for evaluations
 * of it: a model of any form, which reads documents of its own tokenizer and whose weights stay in
 * their folder. */
bool spec_is_pretrained(const struct spec *s);
/* spec_valid_length - tokens per evaluated row: L_valid of an evaluation, bench.L of a benchmark in
 * mode eval, otherwise 0. */
int32_t spec_valid_length(const struct spec *s);
/* spec_check_device - checks that a device of this name, such as cuda:0, can compute the run. A CPU
 * supports fp32 and even head widths, CUDA supports head widths that are multiples of 8; both up to
 * 256. Errors: ERR_UNAVAILABLE names key, value and device, and for a precision the --set to use.
 */
int spec_check_device(const struct spec *s, const char *device, struct err *e);

/* spec_canonical - the hashed text "kind=train\nkey=value\n…", sorted by key: the keys that are
 * hashed, apply and are not neutral, and "meaning=N". spec_parse reads it, also from a checkpoint
 * or an attempt's spec file. */
char *spec_canonical(const struct spec *s, struct arena *a);
/* spec_lines - every key that applies, in the order of the key table, then "meaning". spec_text -
 * the same as the stored and displayed text, one "key=value" per line. */
struct spec_line {
    const char *key, *value;
    bool hashed; /* it is in the canonical text */
};
struct spec_line *spec_lines(const struct spec *s, size_t *n, struct arena *a);
char *spec_text(const struct spec *s, struct arena *a);
int spec_parse(struct spec *s, const char *text, struct err *e);
/* spec_parse_list - parses an attempt's spec file: one spec, or several evaluations separated by
 * lines "---". Specs are in the arena; `name` names the file in messages. Errors: also ERR_DATA if
 * several specs are not all evaluations, or are more than 4096. */
int spec_parse_list(struct spec **out, int32_t *n, const char *text, const char *name,
                    struct arena *a, struct err *e);

/* spec_run_id - first 16 hex digits of SHA-256 of the canonical text. spec_config_id - the run id
 * of the spec without the seed; for an evaluation the training's config id replaces its run id, and
 * for a training with a parent the parent's, so config_of_train is needed (else NULL). */
void spec_run_id(const struct spec *s, char out[SPEC_ID_BYTES]);
void spec_config_id(const struct spec *s, const char *config_of_train, char out[SPEC_ID_BYTES]);

/* spec_evaluated - the training's spec with the evaluation's position scaling, form and format
 * of ALiBi's bias, mask and temperature. The scaling starts from the training's rows; for a child
 * that was itself trained with a scaling, from the rows before that. */
struct spec spec_evaluated(const struct spec *train, const struct spec_eval *eval);
/* spec_split_tokens - the tokens of a split; 0: not known. */
int64_t spec_split_tokens(const struct spec_data *d, enum spec_split split);
/* spec_without_idle - an evaluation without the settings that change nothing at its length: a
 * scaling of rows not longer than the training's, a window of a whole row, a temperature that
 * begins beyond the row. The spec must have the training's keys. */
struct spec spec_without_idle(const struct spec *s);

/* spec_layer_has_position - whether a layer has the run's position method. spec_layer_window - its
 * window; 0: all keys. */
bool spec_layer_has_position(const struct spec_model *m, int32_t layer);
int32_t spec_layer_window(const struct spec_model *m, int32_t layer);

/* spec_head_width - w, features of a head. spec_kv_heads - K, heads of keys and values. */
int32_t spec_head_width(const struct spec_model *m);
int32_t spec_kv_heads(const struct spec_model *m);

/* spec_pad - the id that pads rows: 1, the pad id of every dictionary; of a pretrained model -1,
 * for each of its ids is a token. */
int32_t spec_pad(const struct spec *s);

/* spec_layer_gates - which forget gates a layer has; POSITION_FIXED_GATES, which are a bias, also
 * if it has none. */
enum position_gates spec_layer_gates(const struct spec *s, int32_t layer);

/* spec_position_shape - the inputs of the run's position method; points into s. */
struct position_shape spec_position_shape(const struct spec *s);

const char *spec_position_name(enum spec_position p);
const char *spec_kind_name(enum spec_kind k);

#endif
