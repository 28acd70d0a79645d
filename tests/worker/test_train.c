/* test_train.c - whole trainings: records, files, seeds, stopping, divergence, refusals. */
#include "harness/test.h"

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "interchange/safetensors.h"
#include "worker/worker_fixture.h"

TEST_CONSTRUCTOR(prepare)
{
    log_set_level(LOG_WARN);
}

TEST_EACH(worker_fixture_make, worker_fixture_remove)

TEST_WITH(const struct worker_fixture *f,
          a_training_records_every_update_and_leaves_weights_that_say_what_they_are)
{
    const struct spec s = worker_fixture_spec(f, SPEC_ALIBI);
    struct safetensors *weights = NULL;
    char path[2 * WORKER_PATH_BYTES], sha256[HASH_HEX_BYTES], id[SPEC_ID_BYTES];
    struct spec inside;

    worker_fixture_must_run(f, &s, 1);
    assert_int_equal(worker_fixture_events(f, &s, 1, EVENT_STARTED), 1);
    assert_int_equal(worker_fixture_events(f, &s, 1, EVENT_STEP), 20);
    assert_int_equal(worker_fixture_events(f, &s, 1, EVENT_VALIDATION), 2);
    assert_true(worker_fixture_events(f, &s, 1, EVENT_PROGRESS) >= 1);
    worker_fixture_ended(f, &s, 1, "done");
    json_t *trained = worker_fixture_event(f, &s, 1, EVENT_TRAINED, 0);
    spec_run_id(&s, id);
    assert_string_equal(worker_fixture_text(trained, "run_id"), id);
    assert_int_equal(json_integer_value(json_object_get(trained, "updates")), 20);
    assert_int_equal(json_integer_value(json_object_get(trained, "tokens_per_update")), 128);
    assert_true(json_number_value(json_object_get(trained, "train_wps")) > 0.0);
    assert_true(json_integer_value(json_object_get(trained, "peak_memory_bytes")) > 0);
    worker_fixture_path(f, &s, 1, worker_fixture_text(trained, "last_checkpoint"), path);
    assert_int_equal(hash_file(sha256, path, &e), 0);
    assert_string_equal(sha256, worker_fixture_text(trained, "last_sha256"));
    assert_int_equal(safetensors_open(&weights, path, &e), 0);
    assert_int_equal(spec_parse(&inside, safetensors_metadata(weights, "spec"), &e), 0);
    char inside_id[SPEC_ID_BYTES];
    spec_run_id(&inside, inside_id);
    assert_string_equal(inside_id, id);
    safetensors_close(weights);
    json_decref(trained);
}

TEST_WITH(const struct worker_fixture *f, when_done_only_weights_are_left)
{
    const struct spec s = worker_fixture_spec(f, SPEC_ALIBI);
    char path[2 * WORKER_PATH_BYTES];

    const struct worker_options o = {.checkpoint_s = 1e-9};
    e = (struct err){0};
    assert_int_equal(worker_fixture_run(f, &s, 1, 1, &o, &e), 0);
    assert_true(worker_fixture_events(f, &s, 1, EVENT_CHECKPOINT) >= 20);
    json_t *trained = worker_fixture_event(f, &s, 1, EVENT_TRAINED, 0);
    for (int64_t u = 1; u <= 20; u++) {
        char name[64];
        snprintf(name, sizeof name, "update-%09lld.safetensors", (long long)u);
        worker_fixture_path(f, &s, 1, name, path);
        bool kept = strcmp(name, worker_fixture_text(trained, "best_checkpoint")) == 0 ||
                    strcmp(name, worker_fixture_text(trained, "last_checkpoint")) == 0;
        assert_int_equal(file_exists(path), kept);
        snprintf(name, sizeof name, "update-%09lld.state.safetensors", (long long)u);
        worker_fixture_path(f, &s, 1, name, path);
        assert_false(file_exists(path));
    }
    json_decref(trained);
}

TEST_WITH(const struct worker_fixture *f,
          the_same_seed_gives_the_same_bits_twice_and_another_gives_others)
{
    static const enum spec_position positions[] = {SPEC_ALIBI, SPEC_SINUSOIDAL, SPEC_ROTARY,
                                                   SPEC_T5};
    for (size_t i = 0; i < sizeof positions / sizeof *positions; i++) {
        struct spec s = worker_fixture_spec(f, positions[i]);
        const struct worker_outcome first = worker_fixture_unbroken(f, &s),
                                    second = worker_fixture_unbroken(f, &s);
        worker_fixture_same(&first, &second);
        s.train.seed = 2;
        const struct worker_outcome other = worker_fixture_unbroken(f, &s);
        assert_true(first.final_loss != other.final_loss);
    }
}

TEST_WITH(const struct worker_fixture *f,
          a_signal_ends_the_attempt_as_cancelled_after_the_current_update)
{
    const struct spec s = worker_fixture_spec(f, SPEC_ALIBI);
    const struct worker_outcome expected = worker_fixture_unbroken(f, &s);
    sigset_t signals, before;

    /* The signal waits until the worker looks. */
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, &before);
    raise(SIGTERM);
    assert_int_equal(worker_fixture_run(f, &s, 1, 1, NULL, &e), ERR_INTERRUPTED);
    sigprocmask(SIG_SETMASK, &before, NULL);
    assert_int_equal(worker_fixture_events(f, &s, 1, EVENT_STEP), 1);
    worker_fixture_ended(f, &s, 1, "cancelled");
    assert_int_equal(err_exit_code(ERR_INTERRUPTED), 130);
    worker_fixture_must_run(f, &s, 2);
    const struct worker_outcome got = worker_fixture_outcome(f, &s, 2);
    worker_fixture_same(&expected, &got);
}

TEST_WITH(const struct worker_fixture *f, a_loss_that_is_not_finite_ends_as_diverged)
{
    struct spec s = worker_fixture_spec(f, SPEC_ALIBI);

    s.train.lr = 1000.0;
    s.train.warmup = 0;
    s.train.clip = 0.0;
    s.train.updates = 400;
    s.train.period = 400;
    assert_int_equal(worker_fixture_run(f, &s, 1, 1, NULL, &e), ERR_NUMBER);
    assert_non_null(strstr(e.text, "update"));
    json_t *ended = worker_fixture_event(f, &s, 1, EVENT_ENDED, -1);
    assert_string_equal(worker_fixture_text(ended, "state"), "diverged");
    assert_string_equal(worker_fixture_text(ended, "message"), e.text);
    assert_string_equal(worker_fixture_text(ended, "code"), "number");
    json_decref(ended);
    assert_int_equal(worker_fixture_events(f, &s, 1, EVENT_TRAINED), 0);
}

TEST_WITH(const struct worker_fixture *f, another_text_under_the_same_name_is_refused)
{
    struct spec s = worker_fixture_spec(f, SPEC_ALIBI);

    s.data.fingerprint[0] = s.data.fingerprint[0] == '0' ? '1' : '0';
    assert_int_equal(worker_fixture_run(f, &s, 1, 1, NULL, &e), ERR_DATA);
    assert_non_null(strstr(e.text, "fingerprint"));
    assert_non_null(strstr(e.text, f->corpus.fingerprint));
    assert_non_null(strstr(e.text, s.data.fingerprint));
    worker_fixture_ended(f, &s, 1, "failed");
}

TEST_WITH(const struct worker_fixture *f, bf16_on_a_cpu_is_refused_with_the_remedy)
{
    struct spec s = worker_fixture_spec(f, SPEC_ALIBI);

    s.train.precision = SPEC_BF16;
    assert_int_equal(worker_fixture_run(f, &s, 1, 1, NULL, &e), ERR_UNAVAILABLE);
    assert_non_null(strstr(e.text, "--set train.precision=fp32"));
}

TEST_WITH(const struct worker_fixture *f, an_attempt_is_made_once)
{
    const struct spec s = worker_fixture_spec(f, SPEC_ALIBI);

    worker_fixture_must_run(f, &s, 1);
    assert_int_equal(worker_fixture_run(f, &s, 1, 1, NULL, &e), ERR_CREATE);
    worker_fixture_ended(f, &s, 1, "done");
}
