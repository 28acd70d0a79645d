/* test_validate.c - the loss on valid against the loss of the training pass on the same rows, which
 * is computed another way: whole logits, and the quirk as an ignored class. Validations on blocks
 * of another length against an evaluation of the same weights at that length. */
#include "harness/test.h"

#include <math.h>
#include <string.h>

#include "worker/worker_fixture.h"
#include "worker/worker_internal.h"

static double training_loss(struct worker_fixture *f, struct model *m, const struct spec *s)
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

static double validation_loss(struct worker_fixture *f, bool quirk, double *expected)
{
    struct err e = {0};
    struct model *m = NULL;
    struct spec s = worker_fixture_spec(f, SPEC_ALIBI);
    const struct model_options o = {
        .train = true, .rows_max = 4, .length_max = s.train.L, .scored_max = 4 * s.train.L};
    double loss = 0.0;

    s.model.dropout = s.model.dropout_attention = 0.0;
    s.train.tail_quirk = quirk;
    assert_int_equal(model_open(&m, f->cpu, &s, &o, &e), 0);
    assert_int_equal(model_init(m, 3, &e), 0);
    *expected = training_loss(f, m, &s);
    const struct score_pass pass = {
        .model = m, .tokens = &f->corpus.split[CORPUS_VALID], .rows = 4};
    if (validate_loss(&pass, &s, &loss, &e) < 0) fail_msg("%s", e.text);
    model_close(m);
    return loss;
}

TEST_EACH(worker_fixture_make, worker_fixture_remove)

TEST_WITH(struct worker_fixture *f, validation_is_the_mean_loss_of_every_target)
{
    double expected = 0.0;
    double loss = validation_loss(f, false, &expected);
    assert_true(fabs(loss - expected) < 1e-5);
}

TEST_WITH(struct worker_fixture *f, with_the_quirk_class_1_of_a_tail_counts_its_cluster_only)
{
    double expected = 0.0, without = 0.0;
    double loss = validation_loss(f, true, &expected);
    assert_true(fabs(loss - expected) < 1e-5);
    /* The case would prove nothing if no such word occurred. */
    assert_true(loss < validation_loss(f, false, &without) - 1e-3);
}

/* Longer than training rows, longer than a whole shard, shorter than training rows. */
TEST_WITH(struct worker_fixture *f, blocks_of_any_length_give_the_loss_of_an_evaluation)
{
    struct spec train = worker_fixture_spec(f, SPEC_ALIBI);
    const int32_t lengths[] = {2 * train.train.L, train.train.shard_tokens + 5,
                               train.train.L / 2 + 1};

    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        train.train.validate_L = lengths[i];
        worker_fixture_must_run(f, &train, 1);
        struct spec eval = worker_fixture_eval(&train, lengths[i], 0);
        eval.eval.checkpoint = SPEC_LAST;
        worker_fixture_must_run(f, &eval, 1);
        double validated =
            worker_fixture_record(f, &train, 1, EVENT_VALIDATION, -1).validation.loss_nats;
        double evaluated =
            worker_fixture_record(f, &eval, 1, EVENT_EVALUATED, -1).evaluated.loss_nats;
        assert_true(fabs(validated - evaluated) <= 1e-9 * evaluated);
    }
}

TEST_WITH(struct worker_fixture *f, the_length_of_validations_changes_no_number_of_the_training)
{
    struct spec plain = worker_fixture_spec(f, SPEC_ALIBI), other = plain;
    char plain_id[SPEC_ID_BYTES], other_id[SPEC_ID_BYTES];

    other.train.validate_L = 2 * plain.train.L;
    spec_run_id(&plain, plain_id);
    spec_run_id(&other, other_id);
    assert_string_not_equal(plain_id, other_id);
    assert_true(worker_fixture_unbroken(f, &plain).final_loss_nats ==
                worker_fixture_unbroken(f, &other).final_loss_nats);
}

TEST_WITH(struct worker_fixture *f, a_validation_length_of_0_is_not_part_of_the_identity)
{
    struct spec s = worker_fixture_spec(f, SPEC_ALIBI);

    assert_null(strstr(spec_canonical(&s, &f->arena), "validate_L"));
    s.train.validate_L = s.train.L;
    assert_non_null(strstr(spec_canonical(&s, &f->arena), "train.validate_L="));
}
