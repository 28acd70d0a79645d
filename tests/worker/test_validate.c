/* test_validate.c - the loss on valid against the loss of the training pass on the same rows, which
 * is computed another way: whole logits, and the quirk as an ignored class. */
#include "harness/test.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "worker/score.h"
#include "worker/worker_fixture.h"

static double training_loss(const struct worker_fixture *f, struct model *m, const struct spec *s)
{
    struct err e = {0};
    struct windows w;
    struct window window;
    const struct tokens *valid = &f->corpus.split[CORPUS_VALID];
    double sum = 0.0;
    int32_t source[64], target[64];

    assert_int_equal(windows_make(&w, valid->n, s->train.L, s->train.L, 0, &e), 0);
    for (int64_t k = 0; k < windows_count(&w); k++) {
        double loss = 0.0;
        windows_get(&w, k, &window);
        windows_source(valid, &window, source);
        windows_target(valid, &window, target);
        const struct model_batch batch = {
            .source = source, .target = target, .rows = 1, .length = window.length};
        assert_int_equal(model_train_batch(m, &batch, 0, 0, &loss, &e), 0);
        sum += loss;
    }
    return sum / (double)valid->n;
}

static double validation_loss(const struct worker_fixture *f, bool quirk, double *expected)
{
    struct err e = {0};
    struct backend *b = NULL;
    struct model *m = NULL;
    struct spec s = worker_fixture_spec(f, SPEC_ALIBI);
    const struct model_options o = {
        .train = true, .rows_max = 4, .length_max = s.train.L, .scored_max = 4 * s.train.L};
    double loss = 0.0;

    s.model.dropout = s.model.dropout_attention = 0.0;
    s.train.tail_quirk = quirk;
    assert_int_equal(backend_open(&b, "cpu", 1, DTYPE_F32, &e), 0);
    assert_int_equal(model_open(&m, b, &s, &o, &e), 0);
    assert_int_equal(model_init(m, 3, &e), 0);
    *expected = training_loss(f, m, &s);
    const struct validate_options v = {
        .spec = &s, .valid = &f->corpus.split[CORPUS_VALID], .model = m, .rows = 4};
    if (validate_loss(&v, &loss, &e) < 0) fail_msg("%s", e.text);
    model_close(m);
    backend_close(b);
    return loss;
}

TEST_GROUP(worker_fixture_make, worker_fixture_remove)

TEST_WITH(void *fixture_of_case, validation_is_the_mean_loss_of_every_target)
{
    void **state = &fixture_of_case;
    double expected = 0.0;
    double loss = validation_loss(*state, false, &expected);
    assert_true(fabs(loss - expected) < 1e-5);
}

TEST_WITH(void *fixture_of_case, with_the_quirk_class_1_of_a_tail_counts_its_cluster_only)
{
    void **state = &fixture_of_case;
    double expected = 0.0, without = 0.0;
    double loss = validation_loss(*state, true, &expected);
    assert_true(fabs(loss - expected) < 1e-5);
    /* The case would prove nothing if no such word occurred. */
    assert_true(loss < validation_loss(*state, false, &without) - 1e-3);
}
