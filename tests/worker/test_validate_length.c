/* test_validate_length.c - validations on blocks of another length than training's, against an
 * evaluation of the same weights at that length, which is another path through the worker. */
#include "harness/test.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "worker/worker_fixture.h"

static double number_of(const struct worker_fixture *f, const struct spec *s, enum event_type type,
                        const char *key)
{
    json_t *json = worker_fixture_event(f, s, 1, type, -1);
    assert_non_null(json);
    double value = json_number_value(json_object_get(json, key));
    json_decref(json);
    return value;
}

/* Trains, evaluates the last weights at L_valid, and compares with the last validation. */
static void validates_like_an_evaluation(const struct worker_fixture *f, int32_t L_valid)
{
    struct spec train = worker_fixture_spec(f, SPEC_ALIBI);

    log_set_level(LOG_WARN);
    train.train.validate_L = L_valid;
    worker_fixture_must_run(f, &train, 1);
    struct spec eval = worker_fixture_eval(&train, L_valid, 0);
    eval.eval.checkpoint = SPEC_LAST;
    worker_fixture_must_run(f, &eval, 1);
    double validated = number_of(f, &train, EVENT_VALIDATION, "loss_nats");
    double evaluated = number_of(f, &eval, EVENT_EVALUATED, "loss_nats");
    assert_true(fabs(validated - evaluated) <= 1e-9 * evaluated);
}

TEST_EACH(worker_fixture_make, worker_fixture_remove)

TEST_WITH(const struct worker_fixture *f, validation_blocks_may_be_longer_than_training_rows)
{
    validates_like_an_evaluation(f, 2 * worker_fixture_spec(f, SPEC_ALIBI).train.L);
}

TEST_WITH(const struct worker_fixture *f, validation_blocks_may_be_longer_than_a_whole_shard)
{
    validates_like_an_evaluation(f, worker_fixture_spec(f, SPEC_ALIBI).train.shard_tokens + 5);
}

TEST_WITH(const struct worker_fixture *f, validation_blocks_may_be_shorter_than_training_rows)
{
    validates_like_an_evaluation(f, worker_fixture_spec(f, SPEC_ALIBI).train.L / 2 + 1);
}

TEST_WITH(const struct worker_fixture *f,
          the_length_of_validations_changes_no_number_of_the_training)
{
    struct spec plain = worker_fixture_spec(f, SPEC_ALIBI), other = plain;
    char plain_id[SPEC_ID_BYTES], other_id[SPEC_ID_BYTES];

    log_set_level(LOG_WARN);
    other.train.validate_L = 2 * plain.train.L;
    spec_run_id(&plain, plain_id);
    spec_run_id(&other, other_id);
    assert_string_not_equal(plain_id, other_id);
    worker_fixture_must_run(f, &plain, 1);
    worker_fixture_must_run(f, &other, 1);
    struct worker_outcome a = worker_fixture_outcome(f, &plain, 1);
    struct worker_outcome b = worker_fixture_outcome(f, &other, 1);
    assert_true(a.final_loss == b.final_loss);
}

TEST_WITH(const struct worker_fixture *f, a_validation_length_of_0_is_no_part_of_the_identity)
{
    struct spec s = worker_fixture_spec(f, SPEC_ALIBI);
    struct arena a;

    arena_init(&a);
    assert_null(strstr(spec_canonical(&s, &a), "validate_L"));
    s.train.validate_L = s.train.L;
    assert_non_null(strstr(spec_canonical(&s, &a), "train.validate_L="));
    arena_fini(&a);
}
