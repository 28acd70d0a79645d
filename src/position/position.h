/* position.h - the table of position methods: how a model encodes the order of its tokens.
 *
 * A method is a row of POSITION_METHODS and functions in a file of this folder (similar methods
 * share a file). A new one also needs a fixture in tests/fixtures/oracle, and its name in
 * README.md, the table of configs/README.md and tests/cli/golden/settings.txt. The functions
 * compute at most (heads, tokens of a row) numbers on the host; src/model uploads them to a device.
 *
 * 1. The index of a row is the number of the method. Add rows at the end.
 * 2. A function is NULL if the method does not need it.
 * 3. A bias is added to the attention scores. For head h and distance d = query - key >= 0 it is
 *    table[h][d] if d < K, else tail[h]. Without a table (K = 0) it is tail[h] * d.
 * 4. Learned numbers are tensors of the model, trained like all others, at one learning rate.
 * `fill` computes the bias from them; `pullback` computes their gradients from the gradient of the
 * bias.
 * 5. The results of a function depend on its shape alone: the same shape gives the same bits. */
#ifndef POSITION_POSITION_H
#define POSITION_POSITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* X(NAME, name, display, place, style, bounded): enumerator SPEC_NAME; name in specs and
 * results.db; name in tables; place among the methods of a table; number of colour and marker in a
 * figure, 1 to 17 (5 is of names that are not methods); bounded 1: not defined for rows longer than
 * L_train. The functions of a row are named position_name. */
#define POSITION_METHODS(X)                                                                        \
    X(SINUSOIDAL, sinusoidal, "Sinusoidal", 1, 1, 0)                                               \
    X(ROTARY, rotary, "Rotary", 2, 2, 0)                                                           \
    X(T5, t5, "T5 Bias", 3, 3, 0)                                                                  \
    X(ALIBI, alibi, "ALiBi", 4, 4, 0)                                                              \
    X(NONE, none, "NoPE", 5, 6, 0)                                                                 \
    X(LEARNED, learned, "Learned", 6, 7, 1)                                                        \
    X(ALIBI_LEARNED, alibi_learned, "ALiBi, learned slopes", 7, 8, 0)                              \
    X(KERPLE_LOG, kerple_log, "KERPLE-log", 8, 9, 0)                                               \
    X(KERPLE_POWER, kerple_power, "KERPLE-power", 9, 10, 0)                                        \
    X(SANDWICH, sandwich, "Sandwich", 10, 11, 0)                                                   \
    X(TISA, tisa, "TISA", 11, 12, 0)                                                               \
    X(BAM, bam, "BAM", 13, 14, 0)                                                                  \
    X(HARD_ALIBI, hard_alibi, "Hard-ALiBi", 14, 15, 0)                                             \
    X(FORGET_GATE, forget_gate, "Forget gate", 15, 16, 0)                                          \
    X(XPOS, xpos, "xPos", 12, 13, 0)

#define POSITION_ONE_MORE(NAME, name, display, place, style, bounded) +1
enum {
    POSITION_METHODS_N = 0 POSITION_METHODS(POSITION_ONE_MORE),
    POSITION_TENSORS_MAX = 3, /* learned tensors of one method */
    POSITION_WIDTH_MAX = 256, /* of a head */
    POSITION_LIST_MAX = 128,  /* numbers of a list */
    POSITION_HEADS_MAX = 1024 /* heads of a layer */
};

/* The features of a head that form pair p: 2p and 2p + 1, or p and p + D / 2, of a head of which
 * only r features rotate p and p + r / 2. */
enum position_rotary_layout { POSITION_ADJACENT_PAIRS, POSITION_HALF_SPLIT };
/* The share of a head that rotates: its first features, with frequencies of their own (GPT-J,
 * GPT-NeoX), or its fastest pairs, with the frequencies they have in the whole head (p-RoPE, Gemma
 * 4). */
enum position_rotary_share { POSITION_PARTIAL, POSITION_PROPORTIONAL };
/* How a trained method is scaled to rows longer than those it was trained on. */
enum position_scaling {
    POSITION_UNSCALED,
    POSITION_PI,          /* rotary: angles divided by the factor (Chen et al. 2023) */
    POSITION_NTK,         /* rotary: the base grows with the factor (YaRN, eqs. 14 to 16) */
    POSITION_DYNAMIC_NTK, /* as NTK, with a factor that grows with the row */
    POSITION_YARN,        /* rotary: slow pairs divided, scores sharpened (Peng et al. 2024) */
    POSITION_LLAMA3,      /* rotary: pairs of long wavelengths divided (Llama 3.1) */
    POSITION_LONGROPE,    /* rotary: each pair divided by a given factor (Ding et al. 2024) */
    POSITION_SLOPES,      /* ALiBi: slopes times L_train / row (Al-Khateeb et al. 2023) */
    POSITION_SCALINGS_N
};
/* ALiBi's slopes if they are not listed: the paper's, or drawn from the run's seed. */
enum position_slopes { POSITION_GEOMETRIC, POSITION_EXPONENTIAL };
/* ALiBi's bias: slope times distance, or a number of each key, rounded to bf16 as by Falcon. */
enum position_rounding { POSITION_EXACT, POSITION_ROUNDED_KEYS };
/* ALiBi's bias in an evaluation: -slope * distance, or slope * key, which the softmax does not
 * distinguish; and the format to which slope, distance or key, and their product are rounded. */
enum position_alibi_bias { POSITION_OF_DISTANCE, POSITION_OF_KEY };
enum position_format { POSITION_FP32, POSITION_BF16, POSITION_FP16 };
/* The ends of YaRN's ramp: whole pairs, or not. */
enum position_ends { POSITION_WHOLE_ENDS, POSITION_EXACT_ENDS };
/* Learned slope as a function of the parameter u: e^u, or ln(1 + e^u). */
enum position_parametrisation { POSITION_EXP, POSITION_SOFTPLUS };
/* Location of the distance in BAM: 0, or learned for each head. */
enum position_location { POSITION_NO_LOCATION, POSITION_LEARNED_LOCATION };

/* Forget gates: from each token, from a learned number of each layer and head, or fixed. */
enum position_gates { POSITION_TOKEN_GATES, POSITION_LEARNED_GATES, POSITION_FIXED_GATES };
/* Their biases before training: of decay times, or 0. */
enum position_gate_start { POSITION_DECAY_GATES, POSITION_ZERO_GATES };

struct position_list {
    int32_t n;
    double value[POSITION_LIST_MAX];
};

/* The options of all methods. Each applies to the methods that list it. */
struct position_options {
    double rotary_base;
    struct position_list rotary_base_layers; /* by layer; empty: rotary_base */
    enum position_rotary_layout rotary_layout;
    double rotary_share;
    enum position_rotary_share rotary_share_form;
    int32_t t5_buckets, t5_max_distance;
    double t5_init_std;                /* of the table at initialisation; 0: zeros */
    double t5_multiplier;              /* the bias is multiplier * table */
    double learned_init_std;           /* of the rows at initialisation; 0: C^-0.5 */
    struct position_list alibi_slopes; /* by head; empty: see alibi_slopes_source */
    enum position_slopes alibi_slopes_source;
    double alibi_slopes_mean; /* of drawn slopes */
    double alibi_bias_max;    /* exponent of the last head's geometric slope */
    enum position_rounding alibi_rounding;
    enum position_alibi_bias alibi_bias;
    enum position_format alibi_format;
    enum position_parametrisation alibi_parametrisation;
    struct position_list alibi_start_slopes; /* of learned slopes, by head; empty: the paper's */
    int32_t sandwich_dim, tisa_kernels;
    enum position_location bam_location;
    int32_t hard_alibi_heads;
    enum position_gates forget_gate;
    double forget_gate_min, forget_gate_max; /* decay times; max 0: L_train */
    enum position_gate_start forget_gate_start;
    /* Scaling in training or in an evaluation. factor 0: row length / original length, at least 1;
     * original_length 0: L_train. */
    enum position_scaling scaling;
    double scaling_factor;
    int32_t original_length;
    double yarn_beta_fast, yarn_beta_slow;
    enum position_ends yarn_truncate;
    double yarn_attention_factor;   /* 0: 0.1 ln(factor) + 1 */
    double llama3_low, llama3_high; /* original length / wavelength: divided below low, kept above
                                       high */
    struct position_list longrope_short, longrope_long; /* by rotated pair: rows up to the original
                                                           length, longer ones */
    double xpos_scale_base;                             /* tokens */
    double longrope_attention_factor; /* 0: sqrt(1 + ln(factor) / ln(original length)) */
};

/* position_scaling_names - in the order of enum position_scaling, NULL-terminated. */
extern const char *const position_scaling_names[];
/* position_alibi_bias_names, position_format_names - likewise. */
extern const char *const position_alibi_bias_names[], *const position_format_names[];

/* A row of a method's list of options. It becomes the spec key `name`, which applies to the runs of
 * that method. */
enum position_option_type { POSITION_INT, POSITION_REAL, POSITION_CHOICE, POSITION_REALS };
struct position_option {
    const char *name; /* such as "model.t5_buckets"; NULL ends a list */
    enum position_option_type type;
    size_t offset;            /* of the field in struct position_options */
    double low, high;         /* allowed range, inclusive */
    const char *const *names; /* POSITION_CHOICE: the values in order, NULL-terminated */
    const char *neutral;      /* the value that a spec need not state */
    const char *help, *source;
};

/* Rows of a list of options: a number or a list of numbers; one of several names. */
#define POSITION_NUMBER(type_, key, field, low_, high_, neutral_, help_, source_)                  \
    {                                                                                              \
        key, type_, offsetof(struct position_options, field), low_, high_, NULL, neutral_, help_,  \
            source_                                                                                \
    }
#define POSITION_NAMES(key, field, names_, neutral_, help_, source_)                               \
    {                                                                                              \
        key, POSITION_CHOICE, offsetof(struct position_options, field), 0, 0, names_, neutral_,    \
            help_, source_                                                                         \
    }

/* The inputs of a method's functions. */
struct position_shape {
    int32_t heads, dim;     /* H, C */
    int32_t width;          /* D, of a head */
    int32_t trained_length; /* L_train */
    int32_t length;         /* nominal length of a row; rows may be shorter */
    int64_t seed;           /* of the training */
    const struct position_options *options;
};

/* A learned tensor: input of `fill`, or rows added to the embeddings of the tokens. */
enum position_use { POSITION_BIAS, POSITION_EMBEDDING };
/* Initial values: zeros; mean + spread * uniform(-1, 1); mean + spread * normal; written by
 * `start`. */
enum position_start { POSITION_ZEROS, POSITION_UNIFORM, POSITION_NORMAL, POSITION_OWN };
struct position_tensor {
    const char *name;   /* in checkpoints */
    int32_t rows, cols; /* a vector is (1, n) */
    int32_t dims;       /* 1 or 2: how a checkpoint writes it */
    enum position_use use;
    enum position_start start;
    double mean, spread;
};

/* A bias, or its gradient. */
struct position_bias {
    int32_t table_n; /* K */
    float *table;    /* (H, K) */
    float *tail;     /* (H); it has a gradient only if K > 0 */
};

/* params and dparams: one (rows, cols) array per tensor, in the order of `tensors`. */
struct position_functions {
    uint32_t scalings; /* bit set of supported enum position_scaling, without POSITION_UNSCALED */
    int32_t first_row; /* embedding row of the first token; padding uses the row before it, or if it
                          is 0, the row of a token */
    bool has_slopes;   /* the bias is -slope * distance, with a slope of each head */
    const struct position_option *options;
    /* check - checks options against width and heads. Errors: ERR_DATA. */
    int (*check)(const struct position_shape *, struct err *e);
    /* tensors - writes the learned tensors to out and returns their number. */
    int32_t (*tensors)(const struct position_shape *, struct position_tensor *out);
    /* start - writes the initial values of a tensor with POSITION_OWN. */
    void (*start)(const struct position_shape *, int32_t tensor, float *out);
    /* project - clamps the tensors' values to their ranges, after each update and before the bias
     * is computed. Gradients are taken at the projected values. */
    void (*project)(const struct position_shape *, float *const *params);
    /* table_length - K for rows of at most L tokens. NULL: 0. */
    int32_t (*table_length)(const struct position_shape *, int32_t L);
    /* fill - computes the bias; `out` is zeroed before the call. */
    void (*fill)(const struct position_shape *, const float *const *params,
                 struct position_bias *out);
    /* key_bias - writes the bias as a number of each key, out (H, L), instead of `fill`; L 0:
     * writes nothing. Returns whether the bias is of that kind. NULL: it is not. */
    bool (*key_bias)(const struct position_shape *, int32_t L, float *out);
    /* pullback - adds the gradients of the tensors to dparams. */
    void (*pullback)(const struct position_shape *, const float *const *params,
                     const struct position_bias *grad, float *const *dparams);
    /* frequencies - the angle of pair p at token t is t * theta[p]; as many numbers as pairs. A
     * pair with theta 0 does not rotate. Returns the factor of the others' cosines and sines. */
    double (*frequencies)(const struct position_shape *, double *theta);
    /* growth - the rate per token at which pair p of q grows, and of k falls. NULL: 0. */
    double (*growth)(const struct position_shape *, int32_t p);
    /* pairs - pairs of a head in the tables. NULL: D / 2. */
    int32_t (*pairs)(const struct position_shape *);
    /* narrow_heads - the number of heads with a window of their own: head h sees at most h + 1
     * keys. NULL: 0. */
    int32_t (*narrow_heads)(const struct position_shape *);
    /* gates - the forget gates of each layer. With POSITION_TOKEN_GATES a layer has the tensors
     * self_attn.forget_gate.weight (H, C) and .bias (H), with POSITION_LEARNED_GATES the bias;
     * `start` writes the bias, as tensor 0. NULL: no gates. */
    enum position_gates (*gates)(const struct position_shape *);
    /* follows_length - whether the numbers depend on shape.length, so that the result of a short
     * row is not a prefix of that of a longer one. NULL: they do not. */
    bool (*follows_length)(const struct position_shape *);
    /* embedding - row `row` (C numbers) of the table added to the scaled embeddings of the tokens.
     */
    void (*embedding)(const struct position_shape *, int32_t row, float *out);
};

struct position_method {
    const char *name, *display;
    int32_t place, style;
    bool bounded;
    const struct position_functions *functions;
};
extern const struct position_method position_methods[POSITION_METHODS_N];

/* position_check - checks the options of a run: scaling, then the method's own rules. Errors:
 * ERR_DATA. */
int position_check(int32_t method, const struct position_shape *s, struct err *e);
/* position_follows_length - see follows_length. */
bool position_follows_length(int32_t method, const struct position_shape *s);
/* position_adds_to_embedding - whether the method adds rows to the embeddings of the tokens. */
bool position_adds_to_embedding(int32_t method, const struct position_shape *s);
/* position_original_length - tokens per row before scaling. */
int32_t position_original_length(const struct position_shape *s);
/* position_has_key_bias - whether the bias is a number of the key (key_bias). */
bool position_has_key_bias(const struct position_functions *f, const struct position_shape *s);
/* position_alibi_slope - the paper's slope of head h. */
float position_alibi_slope(int32_t h, int32_t heads);
/* position_row_length - table_length of a method whose table has every distance of a row: L. */
int32_t position_row_length(const struct position_shape *s, int32_t L);
/* position_table_length - K for rows of at most L tokens; 0 without a table. */
int32_t position_table_length(const struct position_functions *f, const struct position_shape *s,
                              int32_t L);
/* position_pairs - pairs of a head in the tables of a method with frequencies; else 0. */
int32_t position_pairs(const struct position_functions *f, const struct position_shape *s);
/* position_rotation - cosines and sines (L, pairs) of q, or of k, of a method with frequencies; C /
 * H is at most POSITION_WIDTH_MAX. Growth starts from token L / 2. Computed in double and rounded
 * once.
 */
void position_rotation(const struct position_functions *f, const struct position_shape *s,
                       int32_t L, bool of_keys, float *cosine, float *sine);

#endif
