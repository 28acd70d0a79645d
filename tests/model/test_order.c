/* test_order.c - a run with a position method really uses it.
 *
 * One causal layer without any position method sees its context as a set: reversing the context
 * leaves the prediction after the last token as it was. With a method it changes. Deeper models
 * would not show it: through the causal mask alone they can distinguish positions. */
#include "harness/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"

enum { TOKENS = 8, VOCAB = 32, FFN = 16, SEED = 20220425 };

/* Rounding moves a score by 1e-6, a method by more than 1e-3 in every model tried. */
static const double least_change = 1e-4;

static struct spec spec_of(int32_t position, int32_t heads, int32_t width)
{
    struct spec s;
    spec_init(&s);
    s.model.position = (enum spec_position)position;
    s.model.heads = heads;
    s.model.dim = heads * width;
    s.model.layers = 1;
    s.model.ffn = FFN;
    s.model.softmax = SPEC_PLAIN;
    s.model.final_norm = true;
    s.data.vocab = VOCAB;
    s.train.L = TOKENS;
    s.option.hard_alibi_heads = heads;
    return s;
}

static void change(struct model *m, const char *name, float by, bool fall)
{
    const struct shape_params *p = model_params(m);
    int32_t index = shape_find(p, name);
    assert_true(index >= 0);
    int32_t n = p->tensor[index].rows * p->tensor[index].cols;
    float *values = malloc((size_t)n * sizeof *values);
    assert_non_null(values);
    assert_ok(model_read(m, MODEL_VALUES, index, values, &e));
    for (int32_t i = 0; i < n; i++)
        values[i] = fall ? by * (float)(i / p->tensor[index].cols) : by * values[i];
    assert_ok(model_write(m, MODEL_VALUES, index, values, &e));
    free(values);
}

/* The largest change of a log probability after the last token when its context is reversed. */
static double change_by_order(struct backend *b, const struct spec *s)
{
    const struct shape_capacity options = {.rows_max = 1, .length_max = TOKENS, .scored_max = 1};
    struct model *m = NULL;
    int32_t source[TOKENS], reversed[TOKENS], last = TOKENS - 1;
    float before[VOCAB], after[VOCAB];
    double most = 0.0;

    assert_ok(model_open(&m, b, s, &options, &e));
    assert_ok(model_init(m, SEED, &e));
    /* Fresh queries and keys give almost equal weight to every key: four times their size shows a
     * rotation. A T5 table may start as zeros, a method that has learned nothing yet: it falls with
     * the distance. */
    change(m, "decoder.layers.0.self_attn.q_proj.weight", 4.0f, false);
    change(m, "decoder.layers.0.self_attn.k_proj.weight", 4.0f, false);
    if (s->model.position == SPEC_T5)
        change(m, "decoder.relative_attention_bias.weight", -0.25f, true);
    for (int32_t t = 0; t < TOKENS; t++) source[t] = 4 + 3 * t;
    for (int32_t t = 0; t < last; t++) reversed[t] = source[last - 1 - t];
    reversed[last] = source[last];
    struct model_batch batch = {.source = source, .target = source, .rows = 1, .length = TOKENS};
    assert_ok(model_distribution(m, &batch, last, before, &e));
    batch.source = reversed;
    assert_ok(model_distribution(m, &batch, last, after, &e));
    for (int32_t w = 0; w < VOCAB; w++)
        most = fmax(most, fabs((double)after[w] - (double)before[w]));
    model_close(m);
    return most;
}

TEST(every_method_that_should_notices_the_order_of_tokens)
{
    static const int32_t widths[] = {8, 32, 128};
    struct backend *b = NULL;
    assert_ok(backend_open(&b, "cpu", 1, DTYPE_F32, &e));
    for (int32_t p = 0; p < POSITION_METHODS_N; p++)
        for (int32_t heads = 1; heads <= 8; heads += heads < 3 ? 1 : 5)
            for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
                const struct spec s = spec_of(p, heads, widths[i]);
                double most = change_by_order(b, &s);
                /* The first head of Hard-ALiBi sees one token. */
                bool notices = p != SPEC_NONE && !(p == SPEC_HARD_ALIBI && heads == 1);
                if ((most > least_change) != notices)
                    fail_msg("%s, %d heads of width %d: log p changes by %g",
                             position_methods[p].name, heads, widths[i], most);
            }
    backend_close(b);
}

TEST(a_method_without_effect_is_detected)
{
    struct backend *b = NULL;
    struct spec s = spec_of(SPEC_T5, 8, 64);
    assert_ok(backend_open(&b, "cpu", 1, DTYPE_F32, &e));
    assert_true(change_by_order(b, &s) > least_change);
    s.option.t5_multiplier = 0.0;
    assert_true(change_by_order(b, &s) < least_change / 10.0);
    backend_close(b);
}
