/* op_rows_update.c - rows of the op table: softmax losses and ops on a parameter block. */
#include "harness/test.h"

#include <math.h>
#include <string.h>

#include "ops/op_bench.h"
#include "ops/op_reference.h"
#include "ops/ops.h"

static const int32_t shapes[][2] = {{1, 1},    {3, 2},   {16, 16}, {21, 77},  {5, 1031},
                                    {64, 258}, {19, 15}, {19, 17}, {19, 500}, {19, 513}};
enum { SHAPES_N = sizeof shapes / sizeof *shapes };

/* Logits with a spread of some tens, so that most classes are far from the best. */
static struct op_matrix make_logits(struct op_bench *k, int64_t N, int64_t V, int64_t spare)
{
    struct op_matrix logits = op_random(k, N, V, spare);
    for (int64_t i = 0; i < N * V; i++) logits.host[i] = 12.0f * logits.host[i] + 30.0f;
    op_set(k, &logits);
    return logits;
}

static void softmax_loss(struct op_bench *k)
{
    struct err e = {0};
    for (int i = 0; i < SHAPES_N; i++)
        for (int gradient = 0; gradient < 2; gradient++) {
            int64_t N = shapes[i][0], V = shapes[i][1];
            struct op_matrix logits = make_logits(k, N, V, 3 * (i % 2)),
                             loss = op_random(k, 1, N, 0);
            const int32_t *at = NULL, *target = op_list(k, &at, N, (int32_t)V, 1);
            double *want = op_doubles(k, N), *want_grad = op_doubles(k, N * V);
            float *plain = op_floats(k, N), *plain_grad = op_floats(k, N * V);
            op_softmax_double(want, want_grad, logits.host, at, N, V);
            op_softmax_float(plain, plain_grad, logits.host, at, N, V);
            op_ok(ops_softmax_loss(k->b, &loss.t, &logits.t, target, gradient, &e), &e);
            tol_check_tensor(k, "loss", &loss.t, want, plain, NULL);
            if (gradient)
                tol_check_tensor(k, "dlogits", &logits.t, want_grad, plain_grad, NULL);
            else
                op_same("logits", op_get(k, &logits.t), logits.host, N * V);
        }
}

static void softmax_logp(struct op_bench *k)
{
    struct err e = {0};
    for (int i = 0; i < SHAPES_N; i++)
        for (int accumulate = 0; accumulate < 2; accumulate++) {
            int64_t N = shapes[i][0], V = shapes[i][1];
            struct op_matrix logits = make_logits(k, N, V, 3), logp = op_random(k, 1, N, 0);
            const int32_t *at = NULL, *target = op_list(k, &at, N, (int32_t)V, accumulate);
            double *want = op_doubles(k, N);
            float *plain = op_floats(k, N);
            op_softmax_double(want, NULL, logits.host, at, N, V);
            op_softmax_float(plain, NULL, logits.host, at, N, V);
            for (int64_t j = 0; j < N; j++) {
                want[j] = -want[j];
                plain[j] = -plain[j];
            }
            op_ok(ops_softmax_logp(k->b, &logp.t, &logits.t, target, accumulate, &e), &e);
            tol_check_tensor(k, "logp", &logp.t, want, plain, accumulate ? logp.host : NULL);
        }
}

static void softmax_logp_is_exact(struct op_bench *k)
{
    struct err e = {0};
    int64_t N = 23, V = 91;
    struct op_matrix logits = make_logits(k, N, V, 0), all = op_random(k, 1, N, 0);
    const int32_t *at = NULL, *target = op_list(k, &at, N, (int32_t)V, 0);
    op_ok(ops_softmax_logp(k->b, &all.t, &logits.t, target, 0, &e), &e);
    for (int64_t i = 0; i < N; i++) {
        struct op_matrix one = op_random(k, 1, 1, 0);
        struct tensor row = logits.t;
        row.data = (float *)row.data + i * V;
        row.rows = 1;
        op_ok(ops_softmax_logp(k->b, &one.t, &row, target + i, 0, &e), &e);
        op_same("row", op_get(k, &one.t), op_get(k, &all.t) + i, 1);
    }
}

/* Batches of one update: the second sum is that of all of them. */
static void sum_losses(struct op_bench *k)
{
    static const int32_t losses[] = {1, 31, 512, 1025, 18432};
    struct err e = {0};
    double zero[2] = {-1.0, 0.0}, got[2], all = 0.0, *sums = op_memory(k, zero, sizeof zero);
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        struct op_matrix x = op_random(k, 1, losses[i], 0);
        double want = 0.0, size = 0.0;
        for (int32_t j = 0; j < losses[i]; j++) {
            want += (double)x.host[j];
            size += fabs((double)x.host[j]);
        }
        op_ok(ops_sum_losses(k->b, sums, &x.t, &e), &e);
        op_ok(k->b->ops->download(k->b, got, sums, sizeof got, &e), &e);
        /* A sum of n numbers errs by at most n roundings of it. */
        assert_true(fabs(got[0] - want) <= losses[i] * 0x1p-52 * size);
        all += got[0];
        assert_true(got[1] == all);
    }
}

static const int32_t lengths[] = {1, 7, 64, 1000, 4097, 70001};
enum { LENGTHS_N = sizeof lengths / sizeof *lengths };

static double read_double(struct op_bench *k, const double *from_dev)
{
    struct err e = {0};
    double out = 0.0;
    op_ok(k->b->ops->download(k->b, &out, from_dev, sizeof out, &e), &e);
    return out;
}

static void sum_squares(struct op_bench *k)
{
    struct err e = {0};
    for (int i = 0; i < LENGTHS_N; i++) {
        struct op_matrix x = op_random(k, 1, lengths[i], 0);
        double *out = op_memory(k, NULL, sizeof *out), want = 0.0;
        for (int32_t j = 0; j < lengths[i]; j++) want += (double)x.host[j] * (double)x.host[j];
        op_ok(ops_sum_squares(k->b, out, x.t.data, lengths[i], &e), &e);
        double got = read_double(k, out);
        /* Squares are exact in double; a sum of n numbers errs by at most n roundings. */
        assert_true(fabs(got - want) <= lengths[i] * 0x1p-52 * want);
        op_ok(ops_sum_squares(k->b, out, x.t.data, lengths[i], &e), &e);
        assert_true(got == read_double(k, out));
    }
}

/* Weights as the oracle's starting values. */
static double *doubles_of(struct op_bench *k, const float *x, int64_t n)
{
    double *out = op_doubles(k, n);
    for (int64_t i = 0; i < n; i++) out[i] = (double)x[i];
    return out;
}

static float *floats_of(struct op_bench *k, const float *x, int64_t n)
{
    float *out = op_floats(k, n);
    memcpy(out, x, (size_t)n * sizeof *out);
    return out;
}

static void check_nag(struct op_bench *k, int64_t n, const struct op_nag *s)
{
    struct err e = {0};
    op_bench_reset(k);
    struct op_matrix theta = op_random(k, 1, n, 0), momentum = op_random(k, 1, n, 0);
    struct op_matrix grad = op_random(k, 1, n, 0);
    double *squares = op_memory(k, NULL, sizeof *squares);
    struct step_state step = {.lr = s->lr,
                              .lr_previous = s->lr_previous,
                              .gradient_scale = s->gradient_scale,
                              .clip = s->clip};
    double *want = doubles_of(k, theta.host, n), *want_momentum = doubles_of(k, momentum.host, n);
    float *plain = floats_of(k, theta.host, n), *plain_momentum = floats_of(k, momentum.host, n);
    op_nag_double(want, want_momentum, grad.host, n, s);
    op_nag_float(plain, plain_momentum, grad.host, n, s);
    op_ok(ops_sum_squares(k->b, squares, grad.t.data, n, &e), &e);
    op_ok(ops_nag(k->b,
                  &(struct nag_args){.theta_dev = theta.t.data,
                                     .momentum_dev = momentum.t.data,
                                     .grad_dev = grad.t.data,
                                     .n = n,
                                     .mu = s->mu,
                                     .weight_decay = s->decay,
                                     .squares_dev = squares,
                                     .step_dev = op_step(k, &step)},
                  &e),
          &e);
    tol_check_tensor(k, "theta", &theta.t, want, plain, NULL);
    tol_check_tensor(k, "momentum", &momentum.t, want_momentum, plain_momentum, NULL);
}

static void nag(struct op_bench *k)
{
    static const struct op_nag settings[] = {
        {1.0f, 1.0f, 1.0f, 0.0f, 0.99f, 0.0f},
        {0.25f, 0.5f, 1.0f / 512.0f, 0.1f, 0.9f, 0.01f},
        {0.25f, 0.0f, 2.0f, 0.1f, 0.99f, 0.0f},
        {1e-7f, 1e-7f, 1.0f, 1e9f, 0.99f, 0.0f},
    };
    for (int i = 0; i < LENGTHS_N; i++)
        for (int j = 0; j < 4; j += 1 + (i > 3)) check_nag(k, lengths[i], &settings[j]);
}

static void check_adam(struct op_bench *k, int64_t n, const struct op_adam *s)
{
    struct err e = {0};
    op_bench_reset(k);
    struct op_matrix theta = op_random(k, 1, n, 0), m = op_random(k, 1, n, 0);
    struct op_matrix v = op_random(k, 1, n, 0), grad = op_random(k, 1, n, 0);
    for (int64_t i = 0; i < n; i++) v.host[i] = v.host[i] * v.host[i] + 0.01f;
    op_set(k, &v);
    double *squares = op_memory(k, NULL, sizeof *squares);
    struct step_state step = {
        .lr = s->lr, .gradient_scale = s->gradient_scale, .clip = s->clip, .adam_step = s->step};
    double *want = doubles_of(k, theta.host, n), *want_m = doubles_of(k, m.host, n);
    double *want_v = doubles_of(k, v.host, n);
    float *plain = floats_of(k, theta.host, n), *plain_m = floats_of(k, m.host, n);
    float *plain_v = floats_of(k, v.host, n);
    op_adam_double(want, want_m, want_v, grad.host, n, s);
    op_adam_float(plain, plain_m, plain_v, grad.host, n, s);
    op_ok(ops_sum_squares(k->b, squares, grad.t.data, n, &e), &e);
    op_ok(ops_adam(k->b,
                   &(struct adam_args){.theta_dev = theta.t.data,
                                       .m_dev = m.t.data,
                                       .v_dev = v.t.data,
                                       .grad_dev = grad.t.data,
                                       .n = n,
                                       .beta1 = s->beta1,
                                       .beta2 = s->beta2,
                                       .eps = s->eps,
                                       .weight_decay = s->decay,
                                       .squares_dev = squares,
                                       .step_dev = op_step(k, &step)},
                   &e),
          &e);
    tol_check_tensor(k, "theta", &theta.t, want, plain, NULL);
    tol_check_tensor(k, "m", &m.t, want_m, plain_m, NULL);
    tol_check_tensor(k, "v", &v.t, want_v, plain_v, NULL);
}

static void adam(struct op_bench *k)
{
    static const struct op_adam settings[] = {
        {8e-3f, 1.0f, 0.0f, 0.9f, 0.98f, 1e-8f, 0.0f, 1},
        {1e-3f, 1.0f / 512.0f, 1.0f, 0.9f, 0.999f, 1e-8f, 0.01f, 100},
    };
    for (int i = 0; i < LENGTHS_N; i++)
        for (int j = 0; j < 2; j++) check_adam(k, lengths[i], &settings[j]);
}

/* Weights, their state and a rounded copy stay as they are. */
static void norm_not_finite(struct op_bench *k)
{
    enum { N = 300 };
    static const double squares[] = {(double)NAN, (double)INFINITY};
    struct err e = {0};
    for (int i = 0; i < 2; i++) {
        struct op_matrix theta = op_random(k, 1, N, 0), first = op_random(k, 1, N, 0);
        struct op_matrix second = op_random(k, 1, N, 0), grad = op_random(k, 1, N, 0);
        const double *squares_dev = op_memory(k, &squares[i], sizeof *squares);
        const struct step_state step = {
            .lr = 0.5f, .lr_previous = 0.5f, .gradient_scale = 0.1f, .clip = 0.1f, .adam_step = 3};
        const struct step_state *step_dev = op_step(k, &step);
        op_ok(ops_nag(k->b,
                      &(struct nag_args){.theta_dev = theta.t.data,
                                         .momentum_dev = first.t.data,
                                         .grad_dev = grad.t.data,
                                         .n = N,
                                         .mu = 0.9f,
                                         .weight_decay = 0.01f,
                                         .squares_dev = squares_dev,
                                         .step_dev = step_dev},
                      &e),
              &e);
        op_ok(ops_adam(k->b,
                       &(struct adam_args){.theta_dev = theta.t.data,
                                           .m_dev = first.t.data,
                                           .v_dev = second.t.data,
                                           .grad_dev = grad.t.data,
                                           .n = N,
                                           .beta1 = 0.9f,
                                           .beta2 = 0.99f,
                                           .eps = 1e-8f,
                                           .weight_decay = 0.01f,
                                           .squares_dev = squares_dev,
                                           .step_dev = step_dev},
                       &e),
              &e);
        op_same("theta", op_get(k, &theta.t), theta.host, N);
        op_same("first", op_get(k, &first.t), first.host, N);
        op_same("second", op_get(k, &second.t), second.host, N);
    }
}

static void all_reduce(struct op_bench *k)
{
    struct err e = {0};
    struct op_matrix x = op_random(k, 1, 1000, 0);
    op_ok(ops_all_reduce(k->b, x.t.data, 1000, &e), &e);
    op_same("x", op_get(k, &x.t), x.host, 1000);
}

const struct op_row op_rows_update[] = {
    {"softmax_loss is the cross-entropy and its gradient", softmax_loss},
    {"softmax_logp is minus the loss", softmax_logp},
    {"softmax_logp gives a row the same bits in any batch", softmax_logp_is_exact},
    {"sum_losses adds up a batch and an update", sum_losses},
    {"sum_squares is exact in double and repeats", sum_squares},
    {"nag scales, clips, updates its momentum and steps", nag},
    {"adam scales, clips, updates its moments and steps", adam},
    {"nag and adam change nothing if the norm is not finite", norm_not_finite},
    {"all_reduce of one device changes nothing", all_reduce},
    {NULL, NULL},
};
