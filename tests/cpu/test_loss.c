/* test_loss.c - softmax cross-entropy and log-probabilities against double precision. */
#include "harness/test.h"

#include <stddef.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/cpu_fixture.h"
#include "ops/ops.h"

enum { N = 19, ROOM = 1100 };

static double row_logp(double *share, const float *x, int64_t V, int32_t target)
{
    double highest = (double)x[0], sum = 0.0;
    for (int64_t c = 1; c < V; c++) highest = fmax(highest, (double)x[c]);
    for (int64_t c = 0; c < V; c++) sum += exp((double)x[c] - highest);
    for (int64_t c = 0; c < V; c++)
        share[c] = exp((double)x[c] - highest) / sum - (c == target ? 1.0 : 0.0);
    return (double)x[target] - highest - log(sum);
}

TEST(losses_and_gradients_agree_for_any_number_of_classes)
{
    static const int64_t classes[] = {1, 2, 15, 16, 17, 500, 513, 1030};
    double share[ROOM];
    for (size_t k = 0; k < sizeof classes / sizeof *classes; k++)
        for (int variant = 0; variant < CPU_VARIANTS; variant++) {
            int64_t V = classes[k];
            struct backend *b = cpu_variant_open(variant);
            e = (struct err){0};
            int32_t target[N];
            float loss[N], logp[N];
            if (!b) continue;
            float *x = cpu_random_make(N * ROOM, 8.0f, 1),
                  *kept = cpu_random_make(N * ROOM, 8.0f, 1);
            struct tensor logits = tensor_make(x, N, V, DTYPE_F32);
            struct tensor tloss = tensor_make(loss, 1, N, DTYPE_F32);
            struct tensor tlogp = tensor_make(logp, 1, N, DTYPE_F32);
            logits.stride = ROOM;
            for (int32_t i = 0; i < N; i++) target[i] = i % 5 == 4 ? -1 : (int32_t)((i * 37) % V);
            for (int i = 0; i < N; i++) logp[i] = 1.0f;
            assert_int_equal(ops_softmax_logp(b, &tlogp, &logits, target, 1, &e), 0);
            assert_int_equal(ops_softmax_loss(b, &tloss, &logits, target, 0, &e), 0);
            cpu_check_bits("logits", x, kept, N * ROOM * sizeof *x);
            assert_int_equal(ops_softmax_loss(b, &tloss, &logits, target, 1, &e), 0);
            for (int i = 0; i < N; i++) {
                if (target[i] < 0) {
                    assert_true(loss[i] == 0.0f && logp[i] == 1.0f);
                    for (int64_t c = 0; c < V; c++) assert_true(x[i * ROOM + c] == 0.0f);
                    continue;
                }
                double expected = row_logp(share, kept + i * ROOM, V, target[i]);
                double negative = -expected, plus_one = expected + 1.0;
                /* 2 ulp an exponential, 32 additions of lanes and 6 across them; one rounding. */
                cpu_check("loss", &loss[i], &negative, 1, 1.0, 42.0);
                cpu_check("logp", &logp[i], &plus_one, 1, 1.0, 44.0);
                cpu_check("dlogits", x + i * ROOM, share, V, 1.0, 48.0);
            }
            free(x);
            free(kept);
            backend_close(b);
        }
}

TEST(large_logits_neither_overflow_nor_lose_the_loss)
{
    for (int variant = 0; variant < CPU_VARIANTS; variant++) {
        struct backend *b = cpu_variant_open(variant);
        e = (struct err){0};
        if (!b) continue;
        float x[4] = {1e30f, -1e30f, 5.0f, 1e30f}, loss = 0.0f;
        int32_t target = 0;
        struct tensor logits = tensor_make(x, 1, 4, DTYPE_F32);
        struct tensor tloss = tensor_make(&loss, 1, 1, DTYPE_F32);
        assert_int_equal(ops_softmax_loss(b, &tloss, &logits, &target, 1, &e), 0);
        assert_true(fabsf(loss - 0.69314718f) < 1e-6f);
        assert_true(x[0] == -0.5f && x[1] == 0.0f && x[3] == 0.5f);
        backend_close(b);
    }
}

TEST(a_logit_that_is_not_a_number_makes_the_loss_one)
{
    for (int variant = 0; variant < CPU_VARIANTS; variant++)
        for (int at = 0; at < 40; at++) {
            struct backend *b = cpu_variant_open(variant);
            e = (struct err){0};
            if (!b) continue;
            float x[40] = {0}, logp = 0.0f;
            int32_t target = 1;
            struct tensor logits = tensor_make(x, 1, 40, DTYPE_F32);
            struct tensor out = tensor_make(&logp, 1, 1, DTYPE_F32);
            x[at] = NAN;
            assert_int_equal(ops_softmax_logp(b, &out, &logits, &target, 0, &e), 0);
            assert_true(isnan(logp));
            backend_close(b);
        }
}
