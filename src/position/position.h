/* position.h - the table of position methods: how a model knows the order of its tokens.
 *
 * A method is one file of this folder and one row of POSITION_METHODS. What stands here is host
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

/* X(NAME, name, display, place, style): the enumerator SPEC_NAME; the name in specifications and
 * results.db; the name in tables; the place among the methods of a table; the number of colour and
 * point in a figure. The functions of a row are position_name, in NAME's own file. */
#define POSITION_METHODS(X)                                                                        \
    X(SINUSOIDAL, sinusoidal, "Sinusoidal", 1, 1)                                                  \
    X(ROTARY, rotary, "Rotary", 2, 2)                                                              \
    X(T5, t5, "T5 Bias", 3, 3)                                                                     \
    X(ALIBI, alibi, "ALiBi", 4, 4)

#define POSITION_ONE_MORE(NAME, name, display, place, style) +1
enum {
    POSITION_METHODS_N = 0 POSITION_METHODS(POSITION_ONE_MORE),
    POSITION_TENSORS_MAX = 3, /* learned tensors of one method */
    POSITION_WIDTH_MAX = 256  /* of a head */
};

/* Which features of a head form a pair: 2p and 2p + 1, or p and p + D / 2. */
enum position_rotary_layout { POSITION_ADJACENT_PAIRS, POSITION_HALF_SPLIT };

/* The options of all methods; each belongs to the method that lists it. */
struct position_options {
    double rotary_base;
    enum position_rotary_layout rotary_layout;
    int32_t t5_buckets, t5_max_distance;
    double t5_init_std;   /* of the table's initial values; 0: zeros */
    double t5_multiplier; /* the bias is multiplier * table */
};

/* A row of a method's list of options, which becomes the key `name` of a specification and applies
 * to the runs of that method. */
enum position_option_type { POSITION_INT, POSITION_REAL, POSITION_CHOICE };
struct position_option {
    const char *name; /* such as "model.t5_buckets"; NULL ends a list */
    enum position_option_type type;
    size_t offset;            /* of the field in struct position_options */
    double low, high;         /* allowed numbers, both included */
    const char *const *names; /* POSITION_CHOICE: the values in order, ended by NULL */
    const char *neutral;      /* the value that a specification need not state */
    const char *help, *source;
};

/* What the numbers of a method depend on. */
struct position_shape {
    int32_t heads, dim; /* H, C; a head is C / H wide */
    int32_t trained_length;
    const struct position_options *options;
};

/* A learned tensor. */
enum position_use { POSITION_BIAS };
enum position_start { POSITION_ZEROS, POSITION_NORMAL };
struct position_tensor {
    const char *name;   /* in checkpoints */
    int32_t rows, cols; /* a vector is (1, n) */
    int32_t dims;       /* 1 or 2: how a checkpoint writes it */
    enum position_use use;
    enum position_start start; /* initial values */
    double spread;             /* POSITION_NORMAL: standard deviation */
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
    int32_t first_row;    /* embedding: row of the first token; lower rows belong to padding */
    const struct position_option *options;
    /* check - rules between options, width and heads. Errors: ERR_DATA. */
    int (*check)(const struct position_shape *, struct err *e);
    /* tensors - the learned tensors; returns their number. */
    int32_t (*tensors)(const struct position_shape *, struct position_tensor *out);
    /* table_length - K for rows of at most L tokens. NULL: 0. */
    int32_t (*table_length)(const struct position_shape *, int32_t L);
    /* fill - the bias; `out` comes zeroed. */
    void (*fill)(const struct position_shape *, const float *const *params,
                 struct position_bias *out);
    /* pullback - adds the gradients of the tensors to dparams. */
    void (*pullback)(const struct position_shape *, const float *const *params,
                     const struct position_bias *grad, float *const *dparams);
    /* frequencies - the angle of pair p at token t is t * theta[p]; C / H / 2 numbers. */
    void (*frequencies)(const struct position_shape *, double *theta);
    /* embedding - row `row` (C numbers) of what is added to the scaled embedding of the tokens. */
    void (*embedding)(const struct position_shape *, int32_t row, float *out);
};

struct position_method {
    const char *name, *display;
    int32_t place, style;
    const struct position_functions *functions;
};
extern const struct position_method position_methods[POSITION_METHODS_N];

/* position_find - the number of the method of that name, or -1. */
int32_t position_find(const char *name);
/* position_table_length - K, 0 where the method has no table. */
int32_t position_table_length(const struct position_functions *f, const struct position_shape *s,
                              int32_t L);
/* position_rotation - cosines and sines (L, C / H / 2) of a method with frequencies; C / H is at
 * most POSITION_WIDTH_MAX. Angles are computed in double and rounded once. */
void position_rotation(const struct position_functions *f, const struct position_shape *s,
                       int32_t L, float *cosine, float *sine);

#endif
