/* spec.h - the specification of one run: everything that decides its numbers, and nothing else.
 *
 * 1. Identity is meaning: the run id is a hash of the canonical text, which holds only the keys
 * that apply to the run and are not at their neutral value. A new key therefore changes no old id.
 * 2. Device, host, BLAS, threads and code id belong to the attempt, never to the spec.
 * 3. A spec is a training, an evaluation (which names its training run) or a benchmark. An
 * evaluation's canonical text holds the id of its training and eval.* keys; its struct also carries
 * the training's keys, for cost and display. */
#ifndef SPEC_SPEC_H
#define SPEC_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "position/position.h"

enum { SPEC_ID_BYTES = 17, SPEC_TEXT_BYTES = 96, SPEC_CUTOFFS_MAX = 4, SPEC_KEYS_MAX = 256 };
/* Most tokens of a batch. */
enum { SPEC_BATCH_MAX = 100000000 };

/* SPEC_MEANING - raised by the commit that changes the numbers of a golden 20-update run. */
enum { SPEC_MEANING = 1 };

enum spec_kind { SPEC_TRAIN, SPEC_EVAL, SPEC_BENCH };
/* SPEC_SINUSOIDAL and so on: a row of position_methods. */
#define SPEC_POSITION(NAME, name, display, place, style, bounded) SPEC_##NAME,
enum spec_position { POSITION_METHODS(SPEC_POSITION) };
enum spec_softmax { SPEC_ADAPTIVE, SPEC_PLAIN };
enum spec_optimizer { SPEC_NAG, SPEC_ADAM };
enum spec_schedule { SPEC_COSINE, SPEC_FIXED };
enum spec_precision { SPEC_FP32, SPEC_BF16 };
enum spec_split { SPEC_TRAIN_SPLIT, SPEC_VALID, SPEC_TEST };
enum spec_window { SPEC_NONOVERLAPPING, SPEC_SLIDING };
enum spec_checkpoint { SPEC_BEST, SPEC_LAST };

/* Which keys a query sees: its own and those before it within `window` tokens (0: all), and the
 * first `sinks` of the row (StreamingLLM: Xiao et al. 2024). */
enum spec_sink_positions { SPEC_SINKS_TEXT, SPEC_SINKS_CACHE };
struct spec_mask {
    int32_t window, sinks;                   /* tokens; the window counts the query's own */
    enum spec_sink_positions sink_positions; /* distances of sinks: of the text, or as places in a
                                                cache of sinks and window */
};

struct spec_model {
    char name[SPEC_TEXT_BYTES]; /* a label such as wt103_247m; not hashed */
    enum spec_position position;
    int32_t layers, dim, heads, ffn; /* N, D, H, F */
    enum spec_softmax softmax;       /* adaptive input and softmax, or one tied table */
    int32_t cutoffs_n;
    int32_t cutoffs[SPEC_CUTOFFS_MAX]; /* rising, below data.vocab; adaptive only */
    int32_t adaptive_factor;           /* band i has width D / factor^i */
    bool final_norm;                   /* LayerNorm after the last layer */
    double dropout;                    /* embedding, attention output, feed-forward output */
    double dropout_attention, dropout_relu;
    double dropout_softmax; /* head input and tail projections; for plain: head input */
    struct spec_mask mask;
};

struct spec_data {
    char dataset[SPEC_TEXT_BYTES];     /* the paper's name of it, kept at every scale: wikitext103,
                                          bookcorpus, cc100 */
    char corpus[SPEC_TEXT_BYTES];      /* the folder under data/ that holds the token files */
    char fingerprint[SPEC_TEXT_BYTES]; /* of dictionary and token files: 64 hex digits */
    int32_t vocab;                     /* V, specials included */
    int64_t train_tokens, valid_tokens, test_tokens;
};

struct spec_train {
    int32_t L; /* L_train, tokens a row */
    int32_t shards,
        shard_tokens; /* an update sums the gradients of `shards` batches of at most shard_tokens */
    int32_t updates;
    enum spec_optimizer optimizer;
    double lr, lr_init,
        lr_min; /* highest rate, rate before the first update, rate at the end of a period */
    enum spec_schedule schedule;
    int32_t warmup, period; /* updates */
    double period_multiplier, lr_shrink;
    double momentum, weight_decay;
    double adam_beta1, adam_beta2, adam_eps;
    double clip; /* highest L2 norm of the gradient per token; 0: none */
    int64_t seed;
    enum spec_precision precision;
    bool tail_quirk;        /* the authors' omission of class 1 of every tail from the loss (SPEC.md
                               section 7) */
    int32_t validate_every; /* updates; 0: at the end of every epoch, as the authors do */
    int32_t validate_L;     /* tokens of a validation's blocks; 0: L */
};

struct spec_eval {
    char train_run[SPEC_ID_BYTES]; /* the training whose checkpoint is evaluated */
    enum spec_checkpoint checkpoint;
    enum spec_split split;
    enum spec_window window;
    int32_t L;      /* L_valid */
    int32_t stride; /* sliding only: targets a window */
    enum spec_precision precision;
    int64_t targets;               /* the first so many targets of the split; 0: all */
    enum position_scaling scaling; /* of the trained method, over rows longer than L_train */
    double scaling_factor;         /* 0: L_valid / L_train, at least 1 */
    struct spec_mask mask;         /* window 0: that of the training */
};

struct spec {
    enum spec_kind kind;
    char scale[SPEC_TEXT_BYTES]; /* mini, small, paper, none: what the numbers may be called */
    bool modified;               /* not what its scale says (plan.h); shown, not hashed */
    struct spec_model model;
    struct position_options option; /* of model.position; keys model.* */
    struct spec_data data;
    struct spec_train train;
    struct spec_eval eval;
    int32_t bench_mode; /* kind bench: 0 train, 1 eval */
    int32_t bench_rows; /* mode eval: rows read at a time; 0: as many as a shard holds */
    int32_t bench_L;    /* mode eval: tokens of a row; 0: train.L */
};

enum spec_type {
    SPEC_T_INT32,
    SPEC_T_INT64,
    SPEC_T_DOUBLE,
    SPEC_T_BOOL,
    SPEC_T_ENUM,
    SPEC_T_TEXT,
    SPEC_T_INTS,
    SPEC_T_REALS /* struct position_list */
};

/* One row a key: the only place that knows a key's name, type, range, neutral value, when it
 * applies and its help. */
struct spec_key {
    const char *name; /* such as "train.lr" */
    enum spec_type type;
    size_t offset;            /* of the field in struct spec */
    double low, high;         /* allowed range of numbers, both included */
    const char *const *names; /* SPEC_T_ENUM: the values in order, ended by NULL */
    const char *neutral; /* the value that means "as before this key existed"; NULL: always in the
                            canonical text */
    bool hashed;         /* false: display only */
    bool (*applies)(const struct spec *); /* NULL: always */
    const char *help;                     /* one sentence with the unit */
    const char *source;                   /* where the paper or the authors' code says it */
};

/* spec_keys - all keys, the options of the position methods among them. */
const struct spec_key *spec_keys(size_t *n);
/* spec_key_find - NULL if there is none of this name. */
const struct spec_key *spec_key_find(const char *name);
/* spec_key_nearest - for messages: the nearest key name, or NULL. */
const char *spec_key_nearest(const char *name);

/* spec_init - every key at the value a config need not state (the neutral one, or zero). */
void spec_init(struct spec *s);

/* spec_set - parses text into the key's field. Lists are written "20000,60000" or "none".
 * Errors: ERR_DATA with the key, the value, what is allowed and the nearest right value; no file
 * position. */
int spec_set(struct spec *s, const struct spec_key *key, const char *text, struct err *e);

/* spec_key_is_list - whether a value is several numbers. */
bool spec_key_is_list(const struct spec_key *key);

/* spec_get - the field as text, in the arena; what spec_set reads back to the same value. */
char *spec_get(const struct spec *s, const struct spec_key *key, struct arena *a);

/* spec_check - rules between keys: heads divide dim, cut-offs rise and are below the vocabulary,
 * shard_tokens >= L, stride <= L. Errors: ERR_DATA names the keys and values. */
int spec_check(const struct spec *s, struct err *e);

/* spec_precision - what the run computes in: an evaluation by eval.precision, all else by
 * train.precision. *key (or NULL) is the name of that key. */
enum spec_precision spec_precision(const struct spec *s, const char **key);
/* spec_is_defined - false for an evaluation of rows for which the position method of its training
 * is not defined. The spec must have the training's keys. */
bool spec_is_defined(const struct spec *s);
/* spec_valid_length - tokens of a row that the run reads without training on it: L_valid of an
 * evaluation, bench.L of a benchmark in mode eval; 0: none of its own. */
int32_t spec_valid_length(const struct spec *s);
/* spec_check_device - whether a device of this name, such as cuda:0, can compute the run: a CPU
 * takes fp32 and even head widths, CUDA head widths that are multiples of 8, both up to 256; no
 * device chooses the precision. ERR_UNAVAILABLE names key, value and device, and the --set of a
 * precision. */
int spec_check_device(const struct spec *s, const char *device, struct err *e);

/* spec_canonical - the hashed text: "kind=train\nkey=value\n…" sorted by key, only keys that are
 * hashed, apply and are not neutral, and "meaning=N". spec_parse reads it back (also from a
 * checkpoint or an attempt's spec file). */
char *spec_canonical(const struct spec *s, struct arena *a);
/* spec_text - every key that applies, one "key=value" a line in key-table order: what is stored and
 * shown. */
char *spec_text(const struct spec *s, struct arena *a);
int spec_parse(struct spec *s, const char *text, struct err *e);
/* spec_parse_list - the specs of an attempt's file: one text, or several evaluations between lines
 * "---". They and *n live in the arena; `place` names the file in messages. Errors also: ERR_DATA
 * several specs that are not all evaluations, or more than 4096. */
int spec_parse_list(struct spec **out, int32_t *n, const char *text, const char *place,
                    struct arena *a, struct err *e);

/* spec_run_id - first 16 hex digits of SHA-256 of the canonical text. spec_config_id - the same
 * without the seed; for an evaluation the training's config id replaces its run id, so
 * config_of_train is needed (else NULL). */
void spec_run_id(const struct spec *s, char out[SPEC_ID_BYTES]);
void spec_config_id(const struct spec *s, const char *config_of_train, char out[SPEC_ID_BYTES]);

/* spec_evaluated - the training's spec as an evaluation uses its model: with the evaluation's
 * scaling and mask. */
struct spec spec_evaluated(const struct spec *train, const struct spec_eval *eval);

/* spec_position_shape - what the numbers of the run's position method depend on; it points into s.
 */
struct position_shape spec_position_shape(const struct spec *s);

const char *spec_position_name(enum spec_position p);
const char *spec_kind_name(enum spec_kind k);

#endif
