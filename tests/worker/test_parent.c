/* test_parent.c - a training that continues another one: what it takes over, that a kill changes no
 * bit, and what it refuses. */
#include "harness/test.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "worker/worker_fixture.h"

/* The first 12 updates of a training of 20, as a training that keeps its state. */
static struct spec parent_of(const struct worker_fixture *f, enum spec_position position)
{
    struct spec s = worker_fixture_spec(f, position);

    s.train.updates = 12;
    s.train.keep_state = true;
    return s;
}

static struct spec child_of(const struct spec *parent, enum spec_continues continues)
{
    struct spec s = *parent;

    spec_run_id(parent, s.train.from);
    s.train.keep_state = false;
    s.train.continues = continues;
    if (continues == SPEC_CONTINUES_ALL) s.train.updates = 20;
    return s;
}

static struct record_continued continued(struct worker_fixture *f, const struct spec *s)
{
    return worker_fixture_record(f, s, 1, EVENT_CONTINUED, 0).continued;
}

TEST_EACH(worker_fixture_make, worker_fixture_remove)

/* From update 13 on the child is the training that was never interrupted. */
static void continue_the_same(struct worker_fixture *f, const struct spec *parent)
{
    const struct spec child = child_of(parent, SPEC_CONTINUES_ALL);
    struct spec whole = *parent;

    whole.train.keep_state = false;
    whole.train.updates = child.train.updates;
    worker_fixture_must_run(f, parent, 1);
    worker_fixture_must_run(f, &child, 1);
    worker_fixture_must_run(f, &whole, 1);
    assert_int_equal(worker_fixture_count(f, &child, 1, EVENT_STEP), 8);
    for (int32_t i = 0; i < 8; i++) {
        const struct record_step a = worker_fixture_record(f, &child, 1, EVENT_STEP, i).step,
                                 b = worker_fixture_record(f, &whole, 1, EVENT_STEP, 12 + i).step;
        assert_int_equal(a.update, 13 + i);
        assert_int_equal(b.update, 13 + i);
        assert_true(a.loss_nats == b.loss_nats && a.grad_norm == b.grad_norm && a.lr == b.lr);
    }
    const struct record_continued c = continued(f, &child);
    assert_int_equal(c.update, 12);
    assert_string_equal(c.parent, child.train.from);
    assert_string_equal(c.sha256, worker_fixture_trained(f, parent, 1).last_sha256);
    assert_non_null(c.state_sha256);
    assert_string_equal(c.fresh, "");
    assert_string_equal(c.dropped, "");
}

TEST_WITH(struct worker_fixture *f, all_goes_on_as_if_the_parent_had_never_ended)
{
    struct spec s = parent_of(f, SPEC_T5);

    continue_the_same(f, &s);
    s.train.optimizer = SPEC_ADAM;
    s.train.adam_beta1 = 0.9;
    s.train.adam_beta2 = 0.98;
    s.train.adam_eps = 1e-8;
    s.train.lr = 0.01;
    continue_the_same(f, &s);
}

TEST_WITH(struct worker_fixture *f, a_parent_that_keeps_its_state_has_the_same_weights)
{
    struct spec s = parent_of(f, SPEC_ALIBI);
    const char *state = "update-000000012.state.safetensors";

    worker_fixture_must_run(f, &s, 1);
    const struct record_trained kept = worker_fixture_trained(f, &s, 1);
    assert_true(file_exists(worker_fixture_path(f, &s, 1, state)));
    worker_fixture_forget(f, &s);
    s.train.keep_state = false;
    worker_fixture_must_run(f, &s, 1);
    assert_false(file_exists(worker_fixture_path(f, &s, 1, state)));
    worker_fixture_same(f, &s, 1, &kept);
}

/* Stops the child after any update, also before its first checkpoint, and resumes it. */
static void interrupt(struct worker_fixture *f, const struct spec *child, int64_t first)
{
    const struct record_trained expected = worker_fixture_unbroken(f, child);

    for (int64_t k = first + 1; k < child->train.updates; k += 3) {
        worker_fixture_must_stop(f, child, 1, k, 0.0);
        worker_fixture_must_run(f, child, 2);
        assert_int_equal(worker_fixture_record(f, child, 2, EVENT_STEP, 0).step.update, k + 1);
        assert_int_equal(worker_fixture_count(f, child, 2, EVENT_CONTINUED), 0);
        worker_fixture_same(f, child, 2, &expected);
        worker_fixture_forget(f, child);
    }
    /* An attempt that left no checkpoint: the next one starts from the parent again. */
    worker_fixture_must_stop(f, child, 1, first + 1, 0.0);
    char name[64];
    snprintf(name, sizeof name, "update-%09d.state.safetensors", (int)first + 1);
    worker_fixture_flip(worker_fixture_path(f, child, 1, name), 5);
    worker_fixture_must_run(f, child, 2);
    assert_int_equal(worker_fixture_count(f, child, 2, EVENT_CONTINUED), 1);
    worker_fixture_same(f, child, 2, &expected);
    worker_fixture_forget(f, child);
}

TEST_WITH(struct worker_fixture *f, a_child_stopped_anywhere_ends_with_the_same_bits)
{
    const struct spec parent = parent_of(f, SPEC_ROTARY);
    struct spec child = child_of(&parent, SPEC_CONTINUES_ALL);

    worker_fixture_must_run(f, &parent, 1);
    child.train.L = 32;
    child.train.validate_every = 4;
    interrupt(f, &child, 12);
    child = child_of(&parent, SPEC_CONTINUES_WEIGHTS);
    child.train.L = 32;
    child.option.scaling = POSITION_PI;
    child.option.scaling_factor = 2;
    child.option.original_length = 16;
    interrupt(f, &child, 0);
}

TEST_WITH(struct worker_fixture *f, tensors_of_the_position_method_start_fresh_or_are_dropped)
{
    struct spec parent = parent_of(f, SPEC_ALIBI);
    struct spec child = child_of(&parent, SPEC_CONTINUES_ALL);

    worker_fixture_must_run(f, &parent, 1);
    child.model.position = SPEC_T5;
    worker_fixture_must_run(f, &child, 1);
    assert_non_null(strstr(continued(f, &child).fresh, "relative_attention_bias"));
    assert_string_equal(continued(f, &child).dropped, "");
    parent = parent_of(f, SPEC_T5);
    worker_fixture_must_run(f, &parent, 1);
    child = child_of(&parent, SPEC_CONTINUES_WEIGHTS);
    child.model.position = SPEC_NONE;
    worker_fixture_must_run(f, &child, 1);
    assert_string_equal(continued(f, &child).fresh, "");
    assert_non_null(strstr(continued(f, &child).dropped, "relative_attention_bias"));
    assert_null(continued(f, &child).state_sha256);
    assert_int_equal(continued(f, &child).update, 0);
}

TEST_WITH(struct worker_fixture *f, what_does_not_fit_its_parent_is_refused)
{
    struct spec parent = parent_of(f, SPEC_LEARNED);
    const struct spec good = child_of(&parent, SPEC_CONTINUES_ALL);
    struct spec child = good;

    worker_fixture_must_fail(f, &child, 1, ERR_NOINPUT, "was not run");
    worker_fixture_must_stop(f, &parent, 1, 5, 0.0);
    worker_fixture_must_fail(f, &child, 1, ERR_NOINPUT, "no finished attempt");
    worker_fixture_must_run(f, &parent, 2);
    child.train.updates = 12;
    worker_fixture_must_fail(f, &child, 1, ERR_DATA, "train.updates");
    child = good;
    child.train.optimizer = SPEC_ADAM;
    child.train.adam_eps = 1e-8;
    worker_fixture_must_fail(f, &child, 1, ERR_DATA, "train.optimizer");
    child = good;
    child.model.dim = 40;
    worker_fixture_must_fail(f, &child, 1, ERR_DATA, "model.dim: 40, but 32 in the parent");
    child = good;
    child.train.L = 32;
    worker_fixture_must_fail(f, &child, 1, ERR_DATA, "embed_positions");
    worker_fixture_flip(worker_fixture_path(f, &parent, 2, "update-000000012.state.safetensors"),
                        5);
    worker_fixture_must_fail(f, &good, 1, ERR_DATA, "update-000000012.state.safetensors");
    worker_fixture_forget(f, &parent);
    parent.train.keep_state = false;
    worker_fixture_must_run(f, &parent, 1);
    worker_fixture_must_fail(f, &good, 1, ERR_NOINPUT, "train.keep_state");
    child = child_of(&parent, SPEC_CONTINUES_WEIGHTS);
    worker_fixture_must_run(f, &child, 1);
}

TEST_WITH(struct worker_fixture *f, a_diverged_parent_is_refused)
{
    struct spec parent = parent_of(f, SPEC_ALIBI);
    struct err why = {0};

    parent.train.lr = 1000;
    parent.train.clip = 0;
    assert_int_equal(worker_fixture_run(f, &parent, 1, 1, NULL, &why), ERR_NUMBER);
    const struct spec child = child_of(&parent, SPEC_CONTINUES_WEIGHTS);
    worker_fixture_must_fail(f, &child, 1, ERR_NOINPUT, "no finished attempt");
}

TEST_WITH(struct worker_fixture *f, a_child_is_reproduced_from_its_parent)
{
    const struct spec parent = parent_of(f, SPEC_ALIBI);
    const struct spec child = child_of(&parent, SPEC_CONTINUES_ALL);
    struct reproduce_report r;
    char id[SPEC_ID_BYTES];

    spec_run_id(&child, id);
    worker_fixture_must_run(f, &parent, 1);
    worker_fixture_must_run(f, &child, 1);
    const struct reproduce_options o = {
        .dir = worker_fixture_dir(f, &child, 1), .run_id = id, .updates = 5};
    assert_ok(reproduce_run(&r, &f->project, &o, &e));
    assert_true(r.ran);
    assert_int_equal(r.updates, 5);
    assert_int_equal(r.differ_n, 0);
    assert_true(r.compared_n >= 6); /* the parent and five updates */
}
