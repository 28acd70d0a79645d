/* test_reproduce.c - verification reproduces the same bits, finds a changed record with a valid
 * checksum, and does not report results of another program as errors. */
#include "harness/test.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "worker/worker.h"
#include "worker/worker_fixture.h"

static struct reproduce_report verify(struct worker_fixture *f, const struct spec *s,
                                      int32_t number, int64_t updates)
{
    char id[SPEC_ID_BYTES];
    struct reproduce_report r;

    spec_run_id(s, id);
    const struct reproduce_options o = {
        .dir = worker_fixture_dir(f, s, number), .run_id = id, .updates = updates};
    assert_ok(reproduce_run(&r, &f->project, &o, &e));
    return r;
}

/* Replaces one field of the index-th record of a type. */
static void forge(struct worker_fixture *f, const struct spec *s, int32_t number,
                  enum event_type type, int32_t index, const char *key, json_t *value)
{
    const char *path = worker_fixture_path(f, s, number, "events");
    const char *forged = worker_fixture_path(f, s, number, "forged");
    struct event_reader *reader = NULL;
    struct event_writer *writer = NULL;
    struct event record;
    struct err e = {0};

    assert_ok(event_reader_open(&reader, path, &e));
    assert_ok(event_writer_open(&writer, forged, &e));
    while (event_read(reader, &record, &e) == 1) {
        json_t *copy = json_deep_copy(record.json);
        if (record.type == type && index-- == 0) json_object_set(copy, key, value);
        assert_ok(event_write(writer, record.type, copy, &e));
    }
    assert_true(index < 0);
    event_reader_close(reader);
    event_writer_close(writer);
    json_decref(value);
    assert_int_equal(rename(forged, path), 0);
}

TEST_EACH(worker_fixture_make, worker_fixture_remove)

TEST_WITH(struct worker_fixture *f, a_training_is_reproduced_bit_for_bit)
{
    struct spec s = worker_fixture_spec(f, SPEC_ALIBI);
    struct reproduce_report r;

    s.train.validate_every = 4;
    worker_fixture_must_run(f, &s, 1);
    r = verify(f, &s, 1, 3);
    assert_true(r.ran && r.same_maker && r.differ_n == 0);
    assert_int_equal(r.updates, 3);
    assert_int_equal(r.compared_n, 3);
    /* Everything: 20 updates, 4 validations with their best checkpoints, the last weights. */
    r = verify(f, &s, 1, 1000);
    assert_int_equal(r.updates, 20);
    assert_int_equal(r.differ_n, 0);
    assert_true(r.compared_n >= 20 + 4 + 1 && r.hashes_n >= 1);
}

TEST_WITH(struct worker_fixture *f, every_attempt_of_an_interrupted_training_is_compared)
{
    const struct spec s = worker_fixture_spec(f, SPEC_ROTARY);
    struct reproduce_report r;

    worker_fixture_must_stop(f, &s, 1, 6, 0.0);
    worker_fixture_must_run(f, &s, 2);
    r = verify(f, &s, 2, 9);
    assert_int_equal(r.differ_n, 0);
    assert_int_equal(r.compared_n, 9);
    r = verify(f, &s, 2, 6); /* where it was stopped a checkpoint is recorded, and reproduced */
    assert_int_equal(r.differ_n, 0);
    assert_true(r.compared_n == 6 + 1 && r.hashes_n == 1);
    forge(f, &s, 1, EVENT_STEP, 1, "grad_norm", json_real(0.125));
    r = verify(f, &s, 2, 9);
    assert_int_equal(r.differ_n, 1);
    assert_non_null(strstr(r.why, "update 2: grad_norm is"));
}

TEST_WITH(struct worker_fixture *f, a_forged_record_is_found)
{
    const struct spec s = worker_fixture_spec(f, SPEC_T5);
    const char *path = worker_fixture_path(f, &s, 1, "events");
    struct reproduce_report r;

    worker_fixture_must_run(f, &s, 1);
    double loss = worker_fixture_record(f, &s, 1, EVENT_STEP, 4).step.loss_nats;
    forge(f, &s, 1, EVENT_STEP, 4, "loss_nats", json_real(loss * (1 - 1e-15)));
    assert_int_equal(verify(f, &s, 1, 4).differ_n, 0);
    r = verify(f, &s, 1, 5);
    assert_true(r.ran && r.same_maker && r.differ_n == 1);
    assert_non_null(strstr(r.why, "update 5: loss_nats is"));
    forge(f, &s, 1, EVENT_STEP, 4, "loss_nats", json_real(loss));
    forge(f, &s, 1, EVENT_CHECKPOINT, -1 + worker_fixture_count(f, &s, 1, EVENT_CHECKPOINT),
          "sha256", json_string("0123"));
    assert_int_equal(verify(f, &s, 1, 19).differ_n, 0);
    r = verify(f, &s, 1, 20);
    assert_int_equal(r.differ_n, 1);
    assert_non_null(strstr(r.why, "checkpoint of update 20: sha256"));
    /* Truncated in the middle: lost records are reported as missing. */
    assert_int_equal(truncate(path, 900), 0);
    r = verify(f, &s, 1, 20);
    assert_true(r.differ_n > 10);
    assert_non_null(strstr(r.why, "its record is missing"));
    assert_int_equal(truncate(path, 3), 0);
    r = verify(f, &s, 1, 20);
    assert_true(r.ran && r.same_maker && r.differ_n == 1);
    assert_non_null(strstr(r.why, "damaged"));
}

TEST_WITH(struct worker_fixture *f, a_training_by_several_processes_is_repeated_by_one)
{
    const struct spec s = worker_fixture_spec(f, SPEC_ALIBI);

    worker_fixture_must_run(f, &s, 1);
    forge(f, &s, 1, EVENT_STARTED, 0, "ranks", json_integer(2));
    const struct reproduce_report r = verify(f, &s, 1, 20);
    assert_true(r.ran && r.same_maker && r.differ_n == 0 && r.hashes_n > 0);
}

TEST_WITH(struct worker_fixture *f, another_program_s_numbers_may_differ)
{
    const struct spec s = worker_fixture_spec(f, SPEC_ALIBI);
    struct reproduce_report r;

    worker_fixture_must_run(f, &s, 1);
    forge(f, &s, 1, EVENT_STARTED, 0, "code_id", json_string("older"));
    r = verify(f, &s, 1, 5);
    assert_true(r.ran && !r.same_maker && r.differ_n == 0);
    forge(f, &s, 1, EVENT_STEP, 0, "loss_nats", json_real(4.0));
    r = verify(f, &s, 1, 5);
    assert_true(r.ran && !r.same_maker && r.differ_n == 1);
    assert_non_null(strstr(r.maker, "recorded with code_id older"));
    forge(f, &s, 1, EVENT_STARTED, 0, "backend", json_string("cuda:99"));
    r = verify(f, &s, 1, 5);
    assert_false(r.ran);
    assert_non_null(strstr(r.why, "cuda:99"));
}

TEST_WITH(struct worker_fixture *f, an_evaluation_of_a_shared_pass_is_reproduced)
{
    const struct spec s = worker_fixture_spec(f, SPEC_ALIBI);
    const struct spec shared[] = {worker_fixture_eval(&s, 8, 1), worker_fixture_eval(&s, 20, 1)};
    struct reproduce_report r;
    char id[SPEC_ID_BYTES];

    worker_fixture_must_run(f, &s, 1);
    assert_ok(worker_fixture_run(f, shared, 2, 1, NULL, &e));
    spec_run_id(&shared[1], id);
    const struct reproduce_options o = {
        .dir = worker_fixture_dir(f, shared, 1), .run_id = id, .updates = 5};
    assert_ok(reproduce_run(&r, &f->project, &o, &e));
    assert_true(r.ran && r.differ_n == 0 && r.compared_n == 1 && r.updates == 0);
    forge(f, &shared[0], 1, EVENT_EVALUATED, 1, "tokens", json_integer(1));
    assert_ok(reproduce_run(&r, &f->project, &o, &e));
    assert_int_equal(r.differ_n, 1);
    assert_non_null(strstr(r.why, "tokens is"));
    spec_run_id(&s, id);
    assert_int_equal(reproduce_run(&r, &f->project, &o, &e), ERR_DATA);
    assert_non_null(strstr(e.text, "contains no spec of run"));
}

TEST_WITH(struct worker_fixture *f, what_is_not_on_this_machine_is_not_reproduced)
{
    const struct spec s = worker_fixture_spec(f, SPEC_ALIBI);

    const struct reproduce_report r = verify(f, &s, 1, 5);
    assert_false(r.ran);
    assert_non_null(strstr(r.why, "not on this machine"));
}
