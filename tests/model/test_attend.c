/* test_attend.c - attention weights and logits of a row agree with each other and with the bias.
 *
 *   test_attend [DEVICE…]      default: the CPU */
#include "harness/test.h"

#include <math.h>
#include <string.h>

#include "model/model_bench.h"
#include "model/model_position.h"
#include "model/model_struct.h"
#include "worker/heads.h"

enum { LENGTH = 40, FLOATS = 2 * 4 * LENGTH * LENGTH };

TEST_DEVICES("cpu")
TEST_EACH(NULL, model_bench_fini)

/* The layers of a row, one after the other. */
struct kept {
    float weight[FLOATS], logit[FLOATS], slope[8];
    int32_t layers, slopes_n;
};

static int keep_layer(void *context, const struct heads_layer *l, struct err *err)
{
    struct kept *k = context;
    int64_t n = (int64_t)l->H * l->T * l->T;
    (void)err;
    assert_int_equal(l->layer, k->layers++);
    assert_true(l->H == 4 && l->T == LENGTH);
    memcpy(k->weight + l->layer * n, l->weight, (size_t)n * sizeof *l->weight);
    memcpy(k->logit + l->layer * n, l->logit, (size_t)n * sizeof *l->logit);
    for (int32_t h = 0; l->slope && h < l->H; h++) k->slope[k->slopes_n++] = l->slope[h];
    return 0;
}

static struct kept see(struct model_bench *k)
{
    static struct kept kept;
    const struct model_batch batch = model_bench_batch(NULL, 1, LENGTH, 3);
    kept = (struct kept){0};
    assert_ok(heads_see(k->m, k->m->b, &k->m->spec.model, &batch, keep_layer, &kept, &e));
    assert_int_equal(kept.layers, 2);
    return kept;
}

/* The bias of a head at a distance, as the host has computed it. */
static double bias_at(const struct model *m, int32_t h, int32_t d)
{
    const struct model_position *p = &m->position;
    if (p->functions->fill == NULL) return 0.0;
    if (d < p->bias_host.table_n)
        return (double)p->bias_host.table[(int64_t)h * p->bias_host.table_n + d];
    return p->bias_host.table_n > 0 ? (double)p->bias_host.tail[h]
                                    : (double)p->bias_host.tail[h] * d;
}

/* The largest difference between the weights and the softmax of logits and bias in double. */
static double softmax_difference(const struct model *m, const struct kept *k)
{
    int32_t window = m->spec.model.mask.window;
    double worst = 0.0;
    for (int64_t row = 0; row < (int64_t)2 * 4 * LENGTH; row++) {
        int32_t i = (int32_t)(row % LENGTH), h = (int32_t)(row / LENGTH % 4);
        double w[LENGTH] = {0}, sum = 0.0;
        for (int32_t j = 0; j < LENGTH; j++) {
            double logit = (double)k->logit[row * LENGTH + j];
            bool seen = j <= i && (window == 0 || i - j < window);
            assert_true(isfinite(logit) ? seen : !seen && logit < 0.0);
            w[j] = seen ? exp(logit + bias_at(m, h, i - j)) : 0.0;
            sum += w[j];
        }
        for (int32_t j = 0; j < LENGTH; j++)
            worst = fmax(worst, fabs(w[j] / sum - (double)k->weight[row * LENGTH + j]));
    }
    return worst;
}

TEST(weights_are_the_softmax_of_logits_and_bias_for_every_method)
{
    for (int i = 0; i < BENCH_MODELS; i++) {
        struct spec s = model_bench_spec_number(i);
        if (i % 4 == 2) s.model.mask.window = 9;
        s.train.L = LENGTH;
        struct model_bench *k = model_bench_open_on(test_device, test_dtype, &s, 1, LENGTH, false);
        const struct kept kept = see(k);
        assert_true(softmax_difference(k->m, &kept) < 1e-5);
        bool learned = s.model.position == SPEC_ALIBI_LEARNED;
        assert_int_equal(kept.slopes_n, s.model.position == SPEC_ALIBI || learned ? 8 : 0);
        for (int32_t h = 0; h < kept.slopes_n; h++)
            assert_true(
                (double)kept.slope[h] ==
                (learned ? -bias_at(k->m, h % 4, 1) : (double)position_alibi_slope(h % 4, 4)));
        model_bench_close(k);
    }
}

TEST(a_bias_inside_the_temperature_has_no_slope)
{
    struct spec s = model_bench_spec(SPEC_ALIBI, SPEC_PLAIN);
    for (int inside = 0; inside < 2; inside++) {
        s.model.temperature = (struct spec_temperature){
            .kind = SPEC_LOG, .bias = inside ? SPEC_BIAS_INSIDE : SPEC_BIAS_OUTSIDE, .length = 4};
        struct model_bench *k = model_bench_open_on(test_device, test_dtype, &s, 1, LENGTH, false);
        const struct kept kept = see(k);
        assert_int_equal(kept.slopes_n, inside ? 0 : 8);
        assert_true(inside || softmax_difference(k->m, &kept) < 1e-5);
        model_bench_close(k);
    }
}

/* Projections that are zero, and biases of q and k that are not: each logit is their product. */
TEST(logits_are_absolute)
{
    struct spec s = model_bench_spec(SPEC_ALIBI, SPEC_PLAIN);
    struct model_bench *k = model_bench_open_on(test_device, test_dtype, &s, 1, LENGTH, false);
    const struct shape_params *params = model_params(k->m);
    for (int32_t i = 0; i < params->tensors_n; i++) {
        const char *name = params->tensor[i].name;
        int64_t n = model_bench_tensor_n(k, i);
        float *x = model_bench_array(n);
        bool bias = strstr(name, "q_proj.bias") != NULL || strstr(name, "k_proj.bias") != NULL;
        for (int64_t c = 0; bias && c < n; c++) x[c] = strstr(name, "q_proj") ? 0.5f : -1.5f;
        if (bias || strstr(name, "q_proj.weight") || strstr(name, "k_proj.weight"))
            assert_ok(model_write(k->m, MODEL_VALUES, i, x, &e));
    }
    const struct kept kept = see(k);
    double expected = -0.75 * 8 / sqrt(8.0); /* heads are 8 wide */
    for (int64_t i = 0; i < FLOATS; i++)
        if (!isinf(kept.logit[i])) assert_true(fabs((double)kept.logit[i] - expected) < 1e-5);
}

static int refuse(void *context, const struct heads_layer *l, struct err *err)
{
    (void)context;
    return ERR(err, ERR_DATA, "layer %d is enough", l->layer);
}

TEST(a_refusal_ends_the_pass_and_more_than_a_row_is_refused)
{
    struct spec s = model_bench_spec(SPEC_ROTARY, SPEC_PLAIN);
    struct model_bench *k = model_bench_open_on(test_device, test_dtype, &s, 2, LENGTH, false);
    const struct model_batch one = model_bench_batch(NULL, 1, LENGTH, 3);
    const struct model_batch two = model_bench_batch(NULL, 2, LENGTH, 3);
    assert_fails(ERR_DATA, "layer 0 is enough",
                 heads_see(k->m, k->m->b, &s.model, &one, refuse, NULL, &e));
    assert_fails(ERR_INTERNAL, "of 2 rows",
                 heads_see(k->m, k->m->b, &s.model, &two, refuse, NULL, &e));
    const struct kept kept = see(k); /* the model still works */
    assert_true(softmax_difference(k->m, &kept) < 1e-5);
}
