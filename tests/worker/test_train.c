/* test_train.c - whole trainings: records, files, seeds, stopping, divergence, errors. */
#include "harness/test.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "interchange/interchange.h"
#include "worker/worker_fixture.h"

TEST_EACH(worker_fixture_make, worker_fixture_remove)

TEST_WITH(struct worker_fixture *f,
          a_training_records_every_update_and_leaves_weights_that_say_what_they_are)
{
    const struct spec s = worker_fixture_spec(f, SPEC_ALIBI);
    struct safetensors *weights = NULL;
    struct spec inside;
    char id[SPEC_ID_BYTES];

    worker_fixture_must_run(f, &s, 1);
    assert_int_equal(worker_fixture_count(f, &s, 1, EVENT_STARTED), 1);
    assert_int_equal(worker_fixture_record(f, &s, 1, EVENT_STARTED, 0).started.ranks, 1);
    assert_int_equal(worker_fixture_count(f, &s, 1, EVENT_STEP), 20);
    assert_int_equal(worker_fixture_count(f, &s, 1, EVENT_VALIDATION), 2);
    assert_true(worker_fixture_count(f, &s, 1, EVENT_PROGRESS) >= 1);
    worker_fixture_ended(f, &s, 1, "done");
    const struct record_trained trained = worker_fixture_trained(f, &s, 1);
    spec_run_id(&s, id);
    assert_string_equal(trained.run_id, id);
    assert_int_equal(trained.updates, 20);
    assert_int_equal(trained.tokens_per_update, 128);
    assert_true(trained.train_wps > 0.0);
    assert_true(trained.peak_memory_bytes > 0);
    const char *path = worker_fixture_path(f, &s, 1, trained.last_checkpoint);
    assert_ok(checkpoint_open(&weights, &inside, path, trained.last_sha256, id, &e));
    safetensors_close(weights);
}

TEST_WITH(struct worker_fixture *f, when_done_only_weights_are_left)
{
    const struct spec s = worker_fixture_spec(f, SPEC_ALIBI);
    const struct worker_options o = {.checkpoint_s = 1e-9};

    assert_ok(worker_fixture_run(f, &s, 1, 1, &o, &e));
    assert_true(worker_fixture_count(f, &s, 1, EVENT_CHECKPOINT) >= 20);
    const struct record_trained trained = worker_fixture_trained(f, &s, 1);
    for (int u = 1; u <= 20; u++) {
        const char *name = arena_printf(&f->arena, "update-%09d.safetensors", u);
        const char *state = arena_printf(&f->arena, "update-%09d.state.safetensors", u);
        bool kept = strcmp(name, trained.best_checkpoint) == 0 ||
                    strcmp(name, trained.last_checkpoint) == 0;
        assert_int_equal(file_exists(worker_fixture_path(f, &s, 1, name)), kept);
        assert_false(file_exists(worker_fixture_path(f, &s, 1, state)));
    }
}

TEST_WITH(struct worker_fixture *f,
          the_same_seed_gives_the_same_bits_twice_and_another_gives_others)
{
    static const enum spec_position positions[] = {SPEC_ALIBI, SPEC_SINUSOIDAL, SPEC_ROTARY,
                                                   SPEC_T5};
    for (size_t i = 0; i < sizeof positions / sizeof *positions; i++) {
        struct spec s = worker_fixture_spec(f, positions[i]);
        const struct record_trained first = worker_fixture_unbroken(f, &s);
        worker_fixture_must_run(f, &s, 1);
        worker_fixture_same(f, &s, 1, &first);
        worker_fixture_forget(f, &s);
        s.train.seed = 2;
        assert_true(first.final_loss_nats != worker_fixture_unbroken(f, &s).final_loss_nats);
    }
}

TEST_WITH(struct worker_fixture *f, a_signal_ends_the_attempt_as_cancelled_after_the_current_update)
{
    const struct spec s = worker_fixture_spec(f, SPEC_ALIBI);
    const struct record_trained expected = worker_fixture_unbroken(f, &s);

    /* The signal is pending until the worker checks for it. */
    worker_fixture_must_cancel(f, &s, 1, SIGTERM);
    assert_int_equal(worker_fixture_count(f, &s, 1, EVENT_STEP), 1);
    assert_int_equal(err_exit_code(ERR_INTERRUPTED), 130);
    worker_fixture_must_run(f, &s, 2);
    worker_fixture_same(f, &s, 2, &expected);
}

TEST_WITH(struct worker_fixture *f, a_loss_that_is_not_finite_ends_as_diverged)
{
    struct spec s = worker_fixture_spec(f, SPEC_ALIBI);

    s.train.lr = 1000.0;
    s.train.warmup = 0;
    s.train.clip = 0.0;
    s.train.updates = 400;
    s.train.period = 400;
    assert_int_equal(worker_fixture_run(f, &s, 1, 1, NULL, &e), ERR_NUMBER);
    assert_non_null(strstr(e.text, "update"));
    const struct record_ended ended = worker_fixture_record(f, &s, 1, EVENT_ENDED, -1).ended;
    assert_string_equal(ended.state, "diverged");
    assert_string_equal(ended.message, e.text);
    assert_string_equal(ended.code, "number");
    assert_int_equal(worker_fixture_count(f, &s, 1, EVENT_TRAINED), 0);
}

TEST_WITH(struct worker_fixture *f, another_text_under_the_same_name_is_rejected)
{
    struct spec s = worker_fixture_spec(f, SPEC_ALIBI);

    s.data.fingerprint[0] = s.data.fingerprint[0] == '0' ? '1' : '0';
    assert_int_equal(worker_fixture_run(f, &s, 1, 1, NULL, &e), ERR_DATA);
    assert_non_null(strstr(e.text, "fingerprint"));
    assert_non_null(strstr(e.text, f->corpus.fingerprint));
    assert_non_null(strstr(e.text, s.data.fingerprint));
    worker_fixture_ended(f, &s, 1, "failed");
}

TEST_WITH(struct worker_fixture *f, bf16_on_a_cpu_is_rejected_with_the_remedy)
{
    struct spec s = worker_fixture_spec(f, SPEC_ALIBI);

    s.train.precision = SPEC_BF16;
    worker_fixture_must_fail(f, &s, 1, ERR_UNAVAILABLE, "--set train.precision=fp32");
}

TEST_WITH(struct worker_fixture *f, an_attempt_is_executed_once)
{
    const struct spec s = worker_fixture_spec(f, SPEC_ALIBI);

    worker_fixture_must_run(f, &s, 1);
    assert_int_equal(worker_fixture_run(f, &s, 1, 1, NULL, &e), ERR_CREATE);
    worker_fixture_ended(f, &s, 1, "done");
}
