/* position.h - the table of position methods: how a model knows the order of its tokens.
 *
 * A method is one row of POSITION_METHODS and functions in a file of this folder (two of one kind
 * share a file). A new one also needs a fixture of tests/fixtures/oracle, and a name in README.md
 * and tests/cli/golden/settings.txt. This is host
 * arithmetic over at most (heads, tokens of a row) numbers; src/model moves the numbers to a
 * device.
 *
 * 1. The index of a row is the number of the method. Rows are added at the end.
 * 2. A function that is NULL means that the method does not use it.
 * 3. A bias is added to the scores of attention, for head h and the distance d = query - key >= 0:
 *    table[h][d] while d < K, then tail[h]. Without a table, K = 0, it is tail[h] * d.
 * 4. Learned numbers are tensors of the model. `fill` makes the bias from them, `pullback` turns
 * the gradient of the bias into theirs.
 * 5. What a function computes depends on its shape alone: the same shape gives the same bits. */
#ifndef POSITION_POSITION_H
#define POSITION_POSITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* X(NAME, name, display, place, style, bounded): the enumerator SPEC_NAME; the name in
 * specifications and results.db; the name in tables; the place among the methods of a table; the
 * number of colour and point in a figure, 1 to 9 (5: also that of a name that is not a method); 1:
 * not defined for rows longer than L_train. The functions of a row are position_name. */
#define POSITION_METHODS(X)                                                                        \
    X(SINUSOIDAL, sinusoidal, "Sinusoidal", 1, 1, 0)                                               \
    X(ROTARY, rotary, "Rotary", 2, 2, 0)                                                           \
    X(T5, t5, "T5 Bias", 3, 3, 0)                                                                  \
    X(ALIBI, alibi, "ALiBi", 4, 4, 0)                                                              \
    X(NONE, none, "NoPE", 5, 6, 0)                                                                 \
    X(LEARNED, learned, "Learned", 6, 7, 1)                                                        \
    X(ALIBI_LEARNED, alibi_learned, "ALiBi, learned slopes", 7, 8, 0)                              \
    X(KERPLE_LOG, kerple_log, "KERPLE-log", 8, 9, 0)                                               \
    X(KERPLE_POWER, kerple_power, "KERPLE-power", 9, 5, 0)                                         \
    X(SANDWICH, sandwich, "Sandwich", 10, 7, 0)                                                    \
    X(TISA, tisa, "TISA", 11, 6, 0)

#define POSITION_ONE_MORE(NAME, name, display, place, style, bounded) +1
enum {
    POSITION_METHODS_N = 0 POSITION_METHODS(POSITION_ONE_MORE),
    POSITION_TENSORS_MAX = 3, /* learned tensors of one method */
    POSITION_WIDTH_MAX = 256, /* of a head */
    POSITION_LIST_MAX = 64    /* numbers of a list */
};

/* Which features of a head form a pair: 2p and 2p + 1, or p and p + D / 2. */
enum position_rotary_layout { POSITION_ADJACENT_PAIRS, POSITION_HALF_SPLIT };
/* How a trained method is stretched over rows that are longer than those it was trained on. */
enum position_scaling {
    POSITION_UNSCALED,
    POSITION_PI,          /* rotary: angles divided by the factor (Chen et al. 2023) */
    POSITION_NTK,         /* rotary: the base grows with the factor (YaRN, eqs. 14 to 16) */
    POSITION_DYNAMIC_NTK, /* the same by a factor that grows with the row */
    POSITION_YARN,        /* rotary: slow pairs divided, scores sharpened (Peng et al. 2024) */
    POSITION_SLOPES,      /* ALiBi: slopes times L_train / row (Al-Khateeb et al. 2023) */
    POSITION_SCALINGS_N
};
/* Where ALiBi's slopes come from when they are not listed: the paper's, or drawn from the run's
 * seed. */
enum position_slopes { POSITION_GEOMETRIC, POSITION_EXPONENTIAL };
/* A learned slope m of the parameter u: e^u, or ln(1 + e^u). */
enum position_parametrisation { POSITION_EXP, POSITION_SOFTPLUS };

struct position_list {
    int32_t n;
    double value[POSITION_LIST_MAX];
};

/* The options of all methods; each belongs to the method that lists it. */
struct position_options {
    double rotary_base;
    enum position_rotary_layout rotary_layout;
    int32_t t5_buckets, t5_max_distance;
    double t5_init_std;                /* of the table's initial values; 0: zeros */
    double t5_multiplier;              /* the bias is multiplier * table */
    double learned_init_std;           /* of the rows' initial values; 0: C^-0.5 */
    struct position_list alibi_slopes; /* by head; empty: as alibi_slopes_source says */
    enum position_slopes alibi_slopes_source;
    enum position_parametrisation alibi_parametrisation;
    int32_t sandwich_dim, tisa_kernels;
    /* Of a training, or of an evaluation of it. factor 0: row length / original length, at least 1;
     * original_length 0: that of the training. */
    enum position_scaling scaling;
    double scaling_factor;
    int32_t original_length;
    double yarn_beta_fast, yarn_beta_slow;
    double yarn_attention_factor; /* 0: 0.1 ln(factor) + 1 */
};

/* position_scaling_names - in the order of enum position_scaling, ended by NULL. */
extern const char *const position_scaling_names[];

/* A row of a method's list of options, which becomes the key `name` of a specification and applies
 * to the runs of that method. */
enum position_option_type { POSITION_INT, POSITION_REAL, POSITION_CHOICE, POSITION_REALS };
struct position_option {
    const char *name; /* such as "model.t5_buckets"; NULL ends a list */
    enum position_option_type type;
    size_t offset;            /* of the field in struct position_options */
    double low, high;         /* allowed numbers, both included */
    const char *const *names; /* POSITION_CHOICE: the values in order, ended by NULL */
    const char *neutral;      /* the value that a specification need not state */
    const char *help, *source;
};

/* Rows of a list of options: a number or a list of them, one of some names. */
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

/* What the numbers of a method depend on. */
struct position_shape {
    int32_t heads, dim;     /* H, C; a head is C / H wide */
    int32_t trained_length; /* L_train */
    int32_t length;         /* of a row as its protocol states it; rows may end earlier */
    int64_t seed;           /* of the training */
    const struct position_options *options;
};

/* A learned tensor: what `fill` reads, or rows that are added to the tokens' embeddings. */
enum position_use { POSITION_BIAS, POSITION_EMBEDDING };
/* Initial values: zeros; mean + spread * (-1, 1); mean + spread * normal; what `start` writes. */
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
    float *tail;     /* (H); its gradient is known only where K > 0 */
};

/* params and dparams: one (rows, cols) array per tensor, in the order of `tensors`. */
struct position_functions {
    bool order_sensitive; /* one layer of it gives another answer when earlier tokens change places
                           */
    uint32_t scalings;    /* bit set of enum position_scaling, beside POSITION_UNSCALED */
    int32_t first_row; /* embedding: row of the first token; padding uses the row before it, or, at
                          0, the row of a token */
    const struct position_option *options;
    /* check - rules between options, width and heads. Errors: ERR_DATA. */
    int (*check)(const struct position_shape *, struct err *e);
    /* tensors - the learned tensors; returns their number. */
    int32_t (*tensors)(const struct position_shape *, struct position_tensor *out);
    /* start - initial values of a tensor that starts with POSITION_OWN. */
    void (*start)(const struct position_shape *, int32_t tensor, float *out);
    /* project - moves the tensors' values into their ranges, after each update and before a bias is
     * filled. Gradients are those at the projected values. */
    void (*project)(const struct position_shape *, float *const *params);
    /* table_length - K for rows of at most L tokens. NULL: 0. */
    int32_t (*table_length)(const struct position_shape *, int32_t L);
    /* fill - the bias; `out` comes zeroed. */
    void (*fill)(const struct position_shape *, const float *const *params,
                 struct position_bias *out);
    /* pullback - adds the gradients of the tensors to dparams. */
    void (*pullback)(const struct position_shape *, const float *const *params,
                     const struct position_bias *grad, float *const *dparams);
    /* frequencies - the angle of pair p at token t is t * theta[p]; C / H / 2 numbers. Returns the
     * factor of cosines and sines. */
    double (*frequencies)(const struct position_shape *, double *theta);
    /* follows_length - whether its numbers change with shape.length, so that a short row is no
     * prefix of a longer one. NULL: they do not. */
    bool (*follows_length)(const struct position_shape *);
    /* embedding - row `row` (C numbers) of what is added to the scaled embedding of the tokens. */
    void (*embedding)(const struct position_shape *, int32_t row, float *out);
};

struct position_method {
    const char *name, *display;
    int32_t place, style;
    bool bounded;
    const struct position_functions *functions;
};
extern const struct position_method position_methods[POSITION_METHODS_N];

/* position_check - the options of a run: scaling, then the method's own rules. Errors: ERR_DATA. */
int position_check(int32_t method, const struct position_shape *s, struct err *e);
/* position_follows_length - see follows_length. */
bool position_follows_length(int32_t method, const struct position_shape *s);
/* position_original_length - tokens of the rows before scaling. */
int32_t position_original_length(const struct position_shape *s);
/* position_alibi_slope - of head h, as the paper chooses slopes. */
float position_alibi_slope(int32_t h, int32_t heads);
/* position_table_length - K, 0 where the method has no table. */
int32_t position_table_length(const struct position_functions *f, const struct position_shape *s,
                              int32_t L);
/* position_rotation - cosines and sines (L, C / H / 2) of a method with frequencies; C / H is at
 * most POSITION_WIDTH_MAX. Angles are computed in double and rounded once. */
void position_rotation(const struct position_functions *f, const struct position_shape *s,
                       int32_t L, float *cosine, float *sine);

#endif
