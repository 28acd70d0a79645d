/* check_training.c - trains tiny models on the backends named on the command line and on the CPU:
 * losses, gradient norms and weights agree update by update, and a backend repeats its own bits.
 *
 *   check_training DEVICE…
 *
 * Dropout is on at every site: had one mask one other bit, losses would differ in the third
 * digit. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/model_bench.h"

enum { UPDATES = 20, SHARDS = 2, ROWS = 3, LENGTH = 33, TOKENS = ROWS * LENGTH, CASES_MAX = 64 };

/* Rounding errors of sums in another order, enlarged by twenty updates. */
static const double loss_tolerance = 1e-5, weight_tolerance = 1e-5;

static const struct kind {
    const char *name;
    enum spec_position position;
    enum spec_softmax softmax;
    enum spec_optimizer optimizer;
} kinds[] = {
    {"sinusoidal, adaptive, nag", SPEC_SINUSOIDAL, SPEC_ADAPTIVE, SPEC_NAG},
    {"rotary, adaptive, nag", SPEC_ROTARY, SPEC_ADAPTIVE, SPEC_NAG},
    {"t5, adaptive, nag", SPEC_T5, SPEC_ADAPTIVE, SPEC_NAG},
    {"alibi, adaptive, nag", SPEC_ALIBI, SPEC_ADAPTIVE, SPEC_NAG},
    {"alibi, plain, adam", SPEC_ALIBI, SPEC_PLAIN, SPEC_ADAM},
};
enum { KINDS_N = sizeof kinds / sizeof *kinds };

struct place {
    const struct kind *kind;
    const char *device;
    char name[128];
};

/* What a training leaves behind. */
struct trace {
    double loss[UPDATES], norm[UPDATES];
    float logp[TOKENS];
    float *weights_own;
    int64_t weights_n;
};

static struct spec spec_of(const struct kind *k)
{
    struct spec s = model_bench_spec(k->position, k->softmax);
    s.model.dropout = s.model.dropout_attention = 0.1;
    s.model.dropout_relu = s.model.dropout_softmax = 0.1;
    s.train.optimizer = k->optimizer;
    s.train.clip = 0.1;
    return s;
}

static void open_model(struct model_bench *k, const struct spec *s, const char *device)
{
    struct err e = {0};
    struct model_options o = {
        .train = true, .rows_max = ROWS, .length_max = LENGTH, .scored_max = TOKENS};
    *k = (struct model_bench){0};
    model_bench_ok(backend_open(&k->b, device, 1, DTYPE_F32, &e), &e);
    model_bench_ok(model_open(&k->m, k->b, s, &o, &e), &e);
    model_bench_ok(model_init(k->m, 3, &e), &e);
}

static void train_update(struct model_bench *k, const struct spec *s, struct trace *t,
                         uint32_t update)
{
    struct err e = {0};
    int32_t ids[TOKENS + 1];
    double lr = s->train.optimizer == SPEC_ADAM ? 0.003 : 0.5;
    struct model_update u = {.update = update,
                             .lr = lr * (1.0 + 0.01 * update),
                             .lr_previous = lr * (1.0 + 0.01 * (update > 0 ? update - 1.0 : 0.0)),
                             .targets_n = SHARDS * TOKENS};
    t->loss[update] = 0.0;
    for (int shard = 0; shard < SHARDS; shard++) {
        model_bench_tokens(ids, TOKENS + 1, (uint64_t)(update * SHARDS + (uint32_t)shard));
        struct model_batch batch = {.source = ids,
                                    .target = ids + 1,
                                    .rows = ROWS,
                                    .length = LENGTH,
                                    .first_row = (int64_t)shard * ROWS};
        t->loss[update] += model_bench_loss(k, &batch, update, shard);
    }
    model_bench_ok(model_apply(k->m, &u, &t->norm[update], &e), &e);
}

static void score(struct model_bench *k, struct trace *t)
{
    struct err e = {0};
    int32_t ids[TOKENS + 1], position[TOKENS];
    model_bench_tokens(ids, TOKENS + 1, 99);
    for (int32_t i = 0; i < TOKENS; i++) position[i] = i;
    struct model_batch batch = {.source = ids, .target = ids + 1, .rows = ROWS, .length = LENGTH};
    model_bench_ok(model_score(k->m, &batch, position, TOKENS, t->logp, &e), &e);
}

static struct trace train(const struct kind *kind, const char *device)
{
    struct trace t = {0};
    struct model_bench k;
    struct spec s = spec_of(kind);
    open_model(&k, &s, device);
    for (uint32_t update = 0; update < UPDATES; update++) train_update(&k, &s, &t, update);
    score(&k, &t);
    t.weights_own = model_bench_all(&k, MODEL_VALUES, &t.weights_n);
    model_bench_close(&k);
    return t;
}

static void agree(const char *what, uint32_t update, double got, double want)
{
    if (!(fabs(got - want) <= loss_tolerance * fabs(want)))
        fail_msg("%s of update %u is %.9g, on the CPU %.9g: off by %.2g relative, at most %g", what,
                 update, got, want, fabs(got - want) / fabs(want), loss_tolerance);
}

static void twenty_updates_are_those_of_the_cpu(void **state)
{
    const struct place *p = *state;
    struct trace want = train(p->kind, "cpu"), got = train(p->kind, p->device);
    for (uint32_t i = 0; i < UPDATES; i++) {
        agree("loss", i, got.loss[i], want.loss[i]);
        agree("gradient's norm", i, got.norm[i], want.norm[i]);
    }
    double weights = model_bench_difference(want.weights_own, got.weights_own, want.weights_n);
    /* A key's bias has no gradient but rounding errors, which Adam makes as large as any. */
    if (p->kind->optimizer == SPEC_ADAM) weights = 0.0;
    double scores = model_bench_difference(want.logp, got.logp, TOKENS);
    if (!(weights <= weight_tolerance && scores <= loss_tolerance))
        fail_msg("weights differ by %.2g, log p by %.2g of the largest", weights, scores);
    print_message("%s: loss %.6f, last weights differ by %.1e, log p by %.1e\n", p->name,
                  got.loss[UPDATES - 1] / (SHARDS * TOKENS), weights, scores);
    free(want.weights_own);
    free(got.weights_own);
}

static void a_second_training_has_the_same_bits(void **state)
{
    const struct place *p = *state;
    struct trace a = train(p->kind, p->device), b = train(p->kind, p->device);
    assert_memory_equal(a.loss, b.loss, sizeof a.loss);
    assert_memory_equal(a.norm, b.norm, sizeof a.norm);
    assert_memory_equal(a.logp, b.logp, sizeof a.logp);
    assert_memory_equal(a.weights_own, b.weights_own, (size_t)a.weights_n * sizeof(float));
    free(a.weights_own);
    free(b.weights_own);
}

int main(int argc, char **argv)
{
    static struct place places[CASES_MAX];
    struct CMUnitTest tests[2 * CASES_MAX] = {0};
    size_t n = 0, tests_n = 0;
    if (argc < 2 || argv[1][0] == '-') {
        fputs("usage: check_training DEVICE...\n", stderr);
        return 64;
    }
    for (int i = 1; i < argc; i++)
        for (int k = 0; k < KINDS_N && n < CASES_MAX; k++) {
            struct place *p = &places[n++];
            *p = (struct place){.kind = &kinds[k], .device = argv[i]};
            snprintf(p->name, sizeof p->name, "%s: %s", argv[i], kinds[k].name);
            tests[tests_n++] = (struct CMUnitTest){.name = p->name,
                                                   .test_func = twenty_updates_are_those_of_the_cpu,
                                                   .initial_state = p};
            if (kinds[k].position != SPEC_T5) continue; /* it has the most kernels */
            tests[tests_n++] = (struct CMUnitTest){.name = "the same, twice",
                                                   .test_func = a_second_training_has_the_same_bits,
                                                   .initial_state = p};
        }
    return _cmocka_run_group_tests("training", tests, tests_n, NULL, NULL) == 0 ? 0 : 1;
}
