/* forget_gate.c - the forget gate (FoX: Lin et al. 2025; data-dependent ALiBi): a score gets the
 * sum of the log gates of the tokens after its key, up to its query.
 *
 * - data: the gate of a token is sigmoid(w . x + b), x what q, k and v are projected from
 * - learned: sigmoid(b), for each layer and head
 * - fixed: the same with b of a decay time T, which is ALiBi with the slope 1 / T
 *
 * Decay times lie between two numbers, evenly in the logarithm: of fixed gates, and of b before
 * training. */
#include <math.h>

#include "position/position.h"

static const char *const gate_names[] = {"data", "learned", "fixed", NULL};
static const char *const start_names[] = {"decay", "zero", NULL};

static const struct position_option options[] = {
    POSITION_NAMES("model.forget_gate", forget_gate, gate_names, "data",
                   "gates of forget_gate: of each token, a learned number of each layer and head, "
                   "or fixed",
                   "FoX: data"),
    POSITION_NUMBER(POSITION_REAL, "model.forget_gate_min", forget_gate_min, 1e-3, 1e9, "1",
                    "shortest decay time of a head, in tokens: of fixed gates, or at the start",
                    "FoX, its code"),
    POSITION_NUMBER(POSITION_REAL, "model.forget_gate_max", forget_gate_max, 0, 1e9, "0",
                    "longest decay time of a head, in tokens; 0: train.L", "FoX, its code"),
    POSITION_NAMES("model.forget_gate_start", forget_gate_start, start_names, "decay",
                   "biases of the gates before training: those of the decay times, or 0",
                   "FoX: 0, or decay times"),
    {.name = NULL},
};

static double longest(const struct position_shape *s)
{
    double most = s->options->forget_gate_max;
    return most > 0.0 ? most : fmax(s->options->forget_gate_min, s->trained_length);
}

static double decay_time(const struct position_shape *s, int32_t h)
{
    double least = s->options->forget_gate_min;
    return s->heads < 2 ? least : least * pow(longest(s) / least, (double)h / (s->heads - 1));
}

static int forget_gate_check(const struct position_shape *s, struct err *e)
{
    if (s->options->forget_gate_min <= longest(s)) return 0;
    return ERR(e, ERR_DATA, "model.forget_gate_min: %g is above the longest decay time %g",
               s->options->forget_gate_min, longest(s));
}

static enum position_gates forget_gate_gates(const struct position_shape *s)
{
    return s->options->forget_gate;
}

static void forget_gate_start(const struct position_shape *s, int32_t tensor, float *out)
{
    (void)tensor; /* the biases of a layer's gates */
    for (int32_t h = 0; h < s->heads; h++)
        out[h] = s->options->forget_gate_start == POSITION_ZERO_GATES
                     ? 0.0f
                     : (float)-log(expm1(1.0 / decay_time(s, h)));
}

static void forget_gate_fill(const struct position_shape *s, const float *const *params,
                             struct position_bias *out)
{
    (void)params;
    for (int32_t h = 0; h < s->heads && forget_gate_gates(s) == POSITION_FIXED_GATES; h++)
        out->tail[h] = (float)(-1.0 / decay_time(s, h));
}

const struct position_functions position_forget_gate = {
    .options = options,
    .check = forget_gate_check,
    .start = forget_gate_start,
    .fill = forget_gate_fill,
    .gates = forget_gate_gates,
};
