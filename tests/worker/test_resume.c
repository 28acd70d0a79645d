/* test_resume.c - a training that resumes from an older attempt has the same bits from any update,
 * skips damaged checkpoints, does not resume if the attempt is fresh, and keeps what a later one
 * needs. */
#include "harness/test.h"

#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "worker/worker_fixture.h"

static void resume_at_updates(struct worker_fixture *f, const struct spec *s, int64_t step)
{
    const struct record_trained expected = worker_fixture_unbroken(f, s);

    for (int64_t k = 1; k < s->train.updates; k += step) {
        worker_fixture_must_stop(f, s, 1, k, 0.0);
        worker_fixture_must_run(f, s, 2);
        assert_int_equal(worker_fixture_record(f, s, 2, EVENT_STEP, 0).step.update, k + 1);
        worker_fixture_same(f, s, 2, &expected);
        worker_fixture_forget(f, s);
    }
    print_message("%d faults injected\n", (s->train.updates - 1 + (int)step - 1) / (int)step);
}

TEST_EACH(worker_fixture_make, worker_fixture_remove)

TEST_WITH(struct worker_fixture *f, a_run_stopped_at_any_update_resumes_to_the_same_bits)
{
    struct spec s = worker_fixture_spec(f, SPEC_ALIBI);

    resume_at_updates(f, &s, 1);
    s = worker_fixture_spec(f, SPEC_T5);
    s.train.optimizer = SPEC_ADAM;
    s.train.adam_beta1 = 0.9;
    s.train.adam_beta2 = 0.98;
    s.train.adam_eps = 1e-8;
    s.train.lr = 0.01;
    s.train.validate_every = 3;
    resume_at_updates(f, &s, 4);
}

TEST_WITH(struct worker_fixture *f, a_run_stopped_after_each_update_in_turn_ends_with_the_same_bits)
{
    struct spec s = worker_fixture_spec(f, SPEC_SINUSOIDAL);
    s.train.validate_every = 4;
    const struct record_trained expected = worker_fixture_unbroken(f, &s);

    for (int32_t k = 1; k <= 20; k++) worker_fixture_must_stop(f, &s, k, k, 0.0);
    worker_fixture_must_run(f, &s, 21);
    assert_int_equal(worker_fixture_count(f, &s, 21, EVENT_STEP), 0);
    worker_fixture_same(f, &s, 21, &expected);
    assert_true(file_exists(worker_fixture_path(f, &s, 21, expected.best_checkpoint)));
}

TEST_WITH(struct worker_fixture *f,
          a_fresh_attempt_starts_at_update_1_and_later_ones_resume_from_it)
{
    const struct spec s = worker_fixture_spec(f, SPEC_ALIBI);
    static const int64_t stops[] = {10, 4, 5};

    for (int32_t k = 1; k <= 3; k++) {
        const char *dir = worker_fixture_attempt(f, &s, 1, k);
        if (k == 2) assert_ok(run_folder_set_fresh(dir, &e));
        worker_fixture_must_stop(f, &s, k, stops[k - 1], 0.0);
    }
    /* Not from update 10 of the first: the second began at 1, the third resumed from 4. */
    assert_int_equal(worker_fixture_count(f, &s, 2, EVENT_STEP), 4);
    assert_int_equal(worker_fixture_count(f, &s, 3, EVENT_STEP), 1);
}

/* Stops after update 10 with checkpoints of 9 and 10, damages those named, and expects the second
 * attempt to begin with update `first`. */
static void resume_damaged(struct worker_fixture *f, const char *const *damaged, int64_t first,
                           const struct record_trained *expected)
{
    const struct spec s = worker_fixture_spec(f, SPEC_ALIBI);

    worker_fixture_must_stop(f, &s, 1, 10, 1e-9);
    for (; *damaged; damaged++) worker_fixture_flip(worker_fixture_path(f, &s, 1, *damaged), 5);
    worker_fixture_must_run(f, &s, 2);
    assert_int_equal(worker_fixture_record(f, &s, 2, EVENT_STEP, 0).step.update, first);
    worker_fixture_same(f, &s, 2, expected);
    worker_fixture_forget(f, &s);
}

TEST_WITH(struct worker_fixture *f, a_damaged_checkpoint_falls_back_to_the_older_one)
{
    const struct spec s = worker_fixture_spec(f, SPEC_ALIBI);
    const struct record_trained expected = worker_fixture_unbroken(f, &s);
    static const char *const none[] = {NULL},
                             *const weights[] = {"update-000000010.safetensors", NULL},
                             *const state_of[] = {"update-000000010.state.safetensors", NULL},
                             *const all[] = {"update-000000010.state.safetensors",
                                             "update-000000009.safetensors", NULL};

    resume_damaged(f, none, 11, &expected);
    resume_damaged(f, weights, 10, &expected);
    resume_damaged(f, state_of, 10, &expected);
    resume_damaged(f, all, 1, &expected);
}

TEST_WITH(struct worker_fixture *f, a_damaged_best_is_not_carried_along)
{
    const struct spec s = worker_fixture_spec(f, SPEC_ALIBI);
    const struct record_trained expected = worker_fixture_unbroken(f, &s);

    worker_fixture_must_stop(f, &s, 1, 15, 0.0);
    /* The first checkpoint is the one of the validation at the end of the first epoch. */
    const struct record_checkpoint best =
        worker_fixture_record(f, &s, 1, EVENT_CHECKPOINT, 0).checkpoint;
    assert_true(best.best);
    worker_fixture_flip(worker_fixture_path(f, &s, 1, best.path), 5);
    worker_fixture_must_run(f, &s, 2);
    assert_int_equal(worker_fixture_count(f, &s, 2, EVENT_STEP), 20);
    worker_fixture_same(f, &s, 2, &expected);
}

TEST_WITH(struct worker_fixture *f, what_a_killed_worker_did_not_finish_writing_is_deleted)
{
    const struct spec s = worker_fixture_spec(f, SPEC_ALIBI);
    const char *half = "update-000000011.safetensors.tmp-77";

    worker_fixture_must_stop(f, &s, 1, 10, 0.0);
    test_write(worker_fixture_path(f, &s, 1, half), "half", 4);
    worker_fixture_must_run(f, &s, 2);
    assert_false(file_exists(worker_fixture_path(f, &s, 1, half)));
    assert_true(file_exists(worker_fixture_path(f, &s, 1, "update-000000010.safetensors")));
}

/* The attempt has the weights and states of this update and the one before, and the best weights.
 */
static void assert_kept(struct worker_fixture *f, const struct spec *s, int32_t number, int last)
{
    const int best =
        13; /* the end of the first epoch, the only validation before the last update */

    for (int u = 1; u <= 20; u++) {
        const char *weights = arena_printf(&f->arena, "update-%09d.safetensors", u);
        const char *state = arena_printf(&f->arena, "update-%09d.state.safetensors", u);
        bool kept = u == last || u == last - 1;
        assert_int_equal(file_exists(worker_fixture_path(f, s, number, weights)),
                         kept || u == best);
        assert_int_equal(file_exists(worker_fixture_path(f, s, number, state)), kept);
    }
}

TEST_WITH(struct worker_fixture *f, each_attempt_keeps_its_last_two_checkpoints_and_the_best)
{
    const struct spec s = worker_fixture_spec(f, SPEC_ALIBI);

    worker_fixture_must_stop(f, &s, 1, 16, 1e-9);
    assert_kept(f, &s, 1, 16);
    worker_fixture_must_stop(f, &s, 2, 18, 1e-9);
    assert_kept(f, &s, 2, 18);
    assert_kept(f, &s, 1, 16);
}

/* Runs an attempt in a child with a checkpoint after every update, and kills it when its records
 * show the update. */
static void kill_after(struct worker_fixture *f, const struct spec *s, int32_t number,
                       int64_t update)
{
    const struct worker_options o = {.checkpoint_s = 1e-9};
    struct event_reader *reader = NULL;
    struct event record;
    struct err e = {0};
    const char *path = worker_fixture_path(f, s, number, "events");
    int64_t seen = 0;

    pid_t child = fork();
    if (child == 0) {
        worker_fixture_run(f, s, 1, number, &o, &e);
        _exit(0);
    }
    assert_ok(event_reader_open(&reader, path, &e));
    while (seen < update) {
        int got = event_read(reader, &record, &e);
        assert_true(got >= 0);
        if (got == 0) sched_yield();
        if (got == 1 && record.type == EVENT_STEP)
            seen = json_integer_value(json_object_get(record.json, "update"));
    }
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    event_reader_close(reader);
}

TEST_WITH(struct worker_fixture *f, a_worker_killed_again_and_again_ends_with_the_same_bits)
{
    const struct spec s = worker_fixture_spec(f, SPEC_ROTARY);
    const struct record_trained expected = worker_fixture_unbroken(f, &s);
    int32_t number = 1;

    for (int64_t update = 2; update < s.train.updates; update += 3)
        kill_after(f, &s, number++, update);
    worker_fixture_must_run(f, &s, number);
    /* Each attempt began at a checkpoint of an older one, so that few updates are left. */
    assert_true(worker_fixture_count(f, &s, number, EVENT_STEP) <= 5);
    worker_fixture_same(f, &s, number, &expected);
}

TEST_WITH(struct worker_fixture *f, a_killed_child_of_another_training_ends_with_the_same_bits)
{
    struct spec parent = worker_fixture_spec(f, SPEC_ROTARY);
    struct spec child = parent;
    int32_t number = 1;

    parent.train.updates = 8;
    parent.train.keep_state = true;
    spec_run_id(&parent, child.train.from);
    child.train.L = 32;
    worker_fixture_must_run(f, &parent, 1);
    const struct record_trained expected = worker_fixture_unbroken(f, &child);
    for (int64_t update = 9; update < child.train.updates; update += 3)
        kill_after(f, &child, number++, update);
    worker_fixture_must_run(f, &child, number);
    worker_fixture_same(f, &child, number, &expected);
}
