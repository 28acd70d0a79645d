/* probe.c - one block, two orders of the same context. */
#include "worker/probe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"

enum { PROBE_TOKENS = 8, PROBE_VOCAB = 32, PROBE_FFN = 16, PROBE_SEED = 20220425 };

/* Rounding moves a score by 1e-6, a method by more than 1e-3 in every model tried. */
static const double probe_least_change = 1e-4;

static struct spec probe_spec(const struct spec *s)
{
    struct spec one = *s;

    one.model.layers = 1;
    one.model.ffn = PROBE_FFN;
    one.model.softmax = SPEC_PLAIN;
    one.model.cutoffs_n = 0;
    one.model.final_norm = true;
    one.data.vocab = PROBE_VOCAB;
    return one;
}

/* A learned table may begin as zeros, which is a method at work that has learned nothing: it is
 * filled for the probe. */
static int probe_fill_table(struct model *m, struct err *e)
{
    const struct shape_params *p = model_params(m);
    int32_t index = shape_find(p, "decoder.relative_attention_bias.weight");

    if (index < 0) return 0;
    int32_t n = p->tensor[index].rows * p->tensor[index].cols;
    float *values = malloc((size_t)n * sizeof *values);
    if (!values) return ERR(e, ERR_NOMEM, "no memory for %d values", n);
    /* Falling with the distance, so that no turning of the context leaves it as it was. */
    for (int32_t i = 0; i < n; i++) values[i] = -0.25f * (float)(i / p->tensor[index].cols);
    int rc = model_write(m, MODEL_VALUES, index, values, e);
    free(values);
    return rc;
}

/* Queries and keys four times their first size make the attention of a rotary model uneven enough
 * to be seen; fresh weights give almost equal weight to every key. */
static int probe_sharpen(struct model *m, struct err *e)
{
    static const char *const names[] = {"decoder.layers.0.self_attn.q_proj.weight",
                                        "decoder.layers.0.self_attn.k_proj.weight"};
    const struct shape_params *p = model_params(m);
    int rc = 0;

    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        int32_t index = shape_find(p, names[k]);
        if (index < 0) return ERR(e, ERR_INTERNAL, "the model has no %s", names[k]);
        int64_t n = (int64_t)p->tensor[index].rows * p->tensor[index].cols;
        float *values = malloc((size_t)n * sizeof *values);
        if (!values) return ERR(e, ERR_NOMEM, "no memory for %lld values", (long long)n);
        rc = model_read(m, MODEL_VALUES, index, values, e);
        for (int64_t i = 0; rc == 0 && i < n; i++) values[i] *= 4.0f;
        if (rc == 0) rc = model_write(m, MODEL_VALUES, index, values, e);
        free(values);
        if (rc < 0) return rc;
    }
    return 0;
}

/* The largest change of a log probability after the last token when the order of its context is
 * turned around. */
static int probe_change(struct model *m, double *change, struct err *e)
{
    int32_t source[PROBE_TOKENS], turned[PROBE_TOKENS];
    const int32_t last = PROBE_TOKENS - 1;
    float before[PROBE_VOCAB], after[PROBE_VOCAB];

    for (int32_t t = 0; t < PROBE_TOKENS; t++) source[t] = 4 + 3 * t;
    for (int32_t t = 0; t < last; t++) turned[t] = source[last - 1 - t];
    turned[last] = source[last];
    struct model_batch batch = {
        .source = source, .target = source, .rows = 1, .length = PROBE_TOKENS};
    TRY(model_distribution(m, &batch, last, before, e));
    batch.source = turned;
    TRY(model_distribution(m, &batch, last, after, e));
    *change = 0.0;
    for (int32_t w = 0; w < PROBE_VOCAB; w++)
        *change = fmax(*change, fabs((double)after[w] - (double)before[w]));
    return 0;
}

int probe_position(struct backend *b, const struct spec *s, struct err *e)
{
    const struct model_options options = {
        .rows_max = 1, .length_max = PROBE_TOKENS, .scored_max = PROBE_TOKENS};
    const struct spec one = probe_spec(s);
    struct model *m = NULL;
    double change = 0.0;
    int rc = 0;

    TRY_OUT(rc, model_open(&m, b, &one, &options, e));
    TRY_OUT(rc, model_init(m, PROBE_SEED, e));
    TRY_OUT(rc, probe_fill_table(m, e));
    TRY_OUT(rc, probe_sharpen(m, e));
    TRY_OUT(rc, probe_change(m, &change, e));
    if (!(change > probe_least_change))
        rc =
            ERR(e, ERR_INTERNAL,
                "position method %s is not at work on %s: turning the context around changed log p "
                "by %g only",
                spec_position_name(s->model.position), b->name, change);
out:
    model_close(m);
    return rc;
}
