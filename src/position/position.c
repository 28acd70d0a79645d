/* position.c - the table of position methods, and functions that several of them share. */
#include "position/position.h"

#include <math.h>

#define DECLARE(NAME, name_, display_, place_, style_, bounded_)                                   \
    extern const struct position_functions position_##name_;
POSITION_METHODS(DECLARE)

#define ROW(NAME, name_, display_, place_, style_, bounded_)                                       \
    {.name = #name_,                                                                               \
     .display = display_,                                                                          \
     .place = place_,                                                                              \
     .style = style_,                                                                              \
     .bounded = bounded_,                                                                          \
     .functions = &position_##name_},
const struct position_method position_methods[POSITION_METHODS_N] = {POSITION_METHODS(ROW)};

const char *const position_scaling_names[] = {"none",   "pi",       "ntk",    "dynamic_ntk", "yarn",
                                              "llama3", "longrope", "slopes", NULL};
const char *const position_alibi_bias_names[] = {"distance", "key", NULL};
const char *const position_format_names[] = {"fp32", "bf16", "fp16", NULL};

int position_check(int32_t method, const struct position_shape *s, struct err *e)
{
    const struct position_functions *f = position_methods[method].functions;
    enum position_scaling scaling = s->options->scaling;

    if (scaling != POSITION_UNSCALED && (f->scalings >> scaling & 1) == 0)
        return ERR(e, ERR_DATA, "eval.position_scaling: %s does not apply to model.position = %s",
                   position_scaling_names[scaling], position_methods[method].name);
    return f->check ? f->check(s, e) : 0;
}

bool position_follows_length(int32_t method, const struct position_shape *s)
{
    const struct position_functions *f = position_methods[method].functions;
    return f->follows_length && f->follows_length(s);
}

bool position_adds_to_embedding(int32_t method, const struct position_shape *s)
{
    const struct position_functions *f = position_methods[method].functions;
    struct position_tensor tensor[POSITION_TENSORS_MAX];
    int32_t n = f->tensors ? f->tensors(s, tensor) : 0;

    for (int32_t i = 0; i < n; i++)
        if (tensor[i].use == POSITION_EMBEDDING) return true;
    return f->embedding != NULL;
}

int32_t position_original_length(const struct position_shape *s)
{
    return s->options->original_length > 0 ? s->options->original_length : s->trained_length;
}

bool position_has_key_bias(const struct position_functions *f, const struct position_shape *s)
{
    return f->key_bias && f->key_bias(s, 0, NULL);
}

int32_t position_row_length(const struct position_shape *s, int32_t L)
{
    (void)s;
    return L;
}

int32_t position_table_length(const struct position_functions *f, const struct position_shape *s,
                              int32_t L)
{
    return f->table_length ? f->table_length(s, L) : 0;
}

int32_t position_pairs(const struct position_functions *f, const struct position_shape *s)
{
    if (f->frequencies == NULL || s->heads < 1) return 0;
    return f->pairs ? f->pairs(s) : s->width / 2;
}

void position_rotation(const struct position_functions *f, const struct position_shape *s,
                       int32_t L, bool of_keys, float *cosine, float *sine)
{
    int32_t pairs = position_pairs(f, s);
    double theta[POSITION_WIDTH_MAX / 2], rate[POSITION_WIDTH_MAX / 2] = {0};

    double factor = f->frequencies(s, theta);
    for (int32_t p = 0; p < pairs && f->growth; p++)
        rate[p] = f->growth(s, p) * (of_keys ? -1.0 : 1.0);
    for (int64_t i = 0; i < (int64_t)L * pairs; i++) {
        double angle = (double)(i / pairs) * theta[i % pairs];
        double size = theta[i % pairs] > 0 ? factor : 1.0;
        size *= exp(rate[i % pairs] * (double)(i / pairs - L / 2));
        cosine[i] = (float)(size * cos(angle));
        sine[i] = (float)(size * sin(angle));
    }
}
