/* test_update.c - the gradient's norm, NAG and Adam against their formulas in double precision. */
#include "harness/test.h"

#include <stddef.h>

#include <math.h>
#include <stdlib.h>

#include "cpu/cpu_fixture.h"
#include "ops/ops.h"

enum { N = 200003 };

TEST(the_sum_of_squares_has_the_same_bits_on_one_thread_and_on_two)
{
    double sums[2], expected = 0.0;
    float *x = cpu_random_make(N, 1.0f, 1);
    for (int64_t i = 0; i < N; i++) expected += (double)x[i] * (double)x[i];
    for (int variant = 0; variant < 3; variant++) {
        for (int threads = 1; threads <= 2; threads++) {
            struct backend *b = cpu_variant_open(variant + 3 * (threads - 1));
            e = (struct err){0};
            if (!b) continue;
            assert_int_equal(ops_sum_squares(b, &sums[threads - 1], x, N, &e), 0);
            assert_true(fabs(sums[threads - 1] / expected - 1.0) < 1e-12);
            backend_close(b);
        }
        assert_true(sums[0] == sums[1]);
    }
    free(x);
}

/* gradient * scale * min(1, clip / (norm + 1e-6)) */
static double clipped(const float *grad, double squares, const struct step_state *s, int64_t i)
{
    double norm = (double)s->gradient_scale * sqrt(squares), factor = 1.0;
    if (s->clip > 0.0f) factor = fmin(1.0, (double)s->clip / (norm + 1e-6));
    return (double)grad[i] * (double)s->gradient_scale * factor;
}

static void check_nag(struct backend *b, const struct step_state *s, float decay)
{
    enum { n = 1000 };
    struct err e = {0};
    float *theta = cpu_random_make(n, 1.0f, 1), *momentum = cpu_random_make(n, 1.0f, 2);
    float *grad = cpu_random_make(n, 1.0f, 3);
    double expected_theta[n], expected_momentum[n], squares = 0.0, mu = 0.99f, lr = s->lr;
    double ratio = s->lr_previous != 0.0f ? lr / (double)s->lr_previous : lr;
    for (int i = 0; i < n; i++) squares += (double)grad[i] * (double)grad[i];
    for (int i = 0; i < n; i++) {
        double g = clipped(grad, squares, s, i), m = (double)momentum[i];
        expected_theta[i] = (double)theta[i] * (1.0 - lr * (double)decay) + mu * mu * ratio * m -
                            (1.0 + mu) * lr * g;
        expected_momentum[i] = mu * ratio * m - lr * g;
    }
    assert_int_equal(ops_nag(b,
                             &(struct nag_args){.theta_dev = theta,
                                                .momentum_dev = momentum,
                                                .grad_dev = grad,
                                                .n = n,
                                                .mu = 0.99f,
                                                .weight_decay = decay,
                                                .squares_dev = &squares,
                                                .step_dev = s},
                             &e),
                     0);
    cpu_check("theta", theta, expected_theta, n, 1.0, 6.0);
    cpu_check("momentum", momentum, expected_momentum, n, 1.0, 4.0);
    free(theta);
    free(momentum);
    free(grad);
}

TEST(nag_follows_the_authors_formula_with_clipping_and_a_changing_rate)
{
    const struct step_state cases[] = {
        {.lr = 0.5f, .lr_previous = 0.25f, .gradient_scale = 0.01f, .clip = 0.1f},
        {.lr = 0.5f, .lr_previous = 0.5f, .gradient_scale = 1.0f, .clip = 0.0f},
        {.lr = 0.5f, .lr_previous = 0.0f, .gradient_scale = 0.001f, .clip = 100.0f},
    };
    for (int variant = 0; variant < CPU_VARIANTS; variant++) {
        struct backend *b = cpu_variant_open(variant);
        if (!b) continue;
        for (int i = 0; i < 3; i++) check_nag(b, &cases[i], i == 1 ? 0.1f : 0.0f);
        backend_close(b);
    }
}

TEST(adam_corrects_its_moments_by_the_step)
{
    enum { n = 333 };
    for (int variant = 0; variant < CPU_VARIANTS; variant++) {
        struct backend *b = cpu_variant_open(variant);
        e = (struct err){0};
        struct step_state s = {.lr = 0.01f, .gradient_scale = 0.5f, .clip = 1.0f, .adam_step = 3};
        if (!b) continue;
        float *theta = cpu_random_make(n, 1.0f, 1), *m = cpu_random_make(n, 0.1f, 2);
        float *v = cpu_zeros(n), *grad = cpu_random_make(n, 1.0f, 3);
        double et[n], em[n], ev[n], squares = 0.0, b1 = 0.9f, b2 = 0.98f;
        for (int i = 0; i < n; i++) {
            v[i] = 0.01f + 0.001f * (float)(i % 7);
            squares += (double)grad[i] * (double)grad[i];
        }
        for (int i = 0; i < n; i++) {
            double g = clipped(grad, squares, &s, i);
            em[i] = b1 * (double)m[i] + (1.0 - b1) * g;
            ev[i] = b2 * (double)v[i] + (1.0 - b2) * g * g;
            et[i] = (double)theta[i] * (1.0 - 0.01f * 0.1f) -
                    (double)s.lr / (1.0 - pow(b1, 3)) * em[i] /
                        (sqrt(ev[i] / (1.0 - pow(b2, 3))) + (double)1e-8f);
        }
        assert_int_equal(ops_adam(b,
                                  &(struct adam_args){.theta_dev = theta,
                                                      .m_dev = m,
                                                      .v_dev = v,
                                                      .grad_dev = grad,
                                                      .n = n,
                                                      .beta1 = 0.9f,
                                                      .beta2 = 0.98f,
                                                      .eps = 1e-8f,
                                                      .weight_decay = 0.1f,
                                                      .squares_dev = &squares,
                                                      .step_dev = &s},
                                  &e),
                         0);
        cpu_check("m", m, em, n, 0.1, 8.0);
        cpu_check("v", v, ev, n, 0.01, 8.0);
        cpu_check("theta", theta, et, n, 1.0, 8.0);
        free(theta);
        free(m);
        free(v);
        free(grad);
        backend_close(b);
    }
}
