/* test_long_pass.c - a pass that takes long: the worker gives signs of life between its ops, and an
 * evaluation obeys a stop there. The backend "slow" is the CPU, with one attention that ends only
 * when the worker is due to look. */
#include "harness/test.h"

#include <signal.h>

#include "base/clock.h"
#include "worker/worker_fixture.h"

enum { LOOK_US = 2000000, ONE_ROW = 512 /* tokens, more than valid has */ };

static struct {
    struct backend_ops cpu;
    int slow;   /* the attention of the attempt that takes long, from 0 */
    int signal; /* that arrives during it; 0: none */
    int done_n; /* attentions so far */
} script;

static int attention_slow(struct backend *b, const struct attention *a, struct err *e)
{
    if (script.done_n++ == script.slow) {
        if (script.signal) raise(script.signal);
        for (int64_t until = clock_monotonic_us() + LOOK_US; clock_monotonic_us() < until;)
            continue;
    }
    return script.cpu.attention(b, a, e);
}

static int open_slow(struct backend **out, int ordinal, int32_t threads, enum dtype precision,
                     struct err *e)
{
    static struct backend_ops ops;

    (void)ordinal;
    TRY(backend_open(out, "cpu", threads, precision, e));
    ops = script.cpu = *(*out)->ops;
    ops.attention = attention_slow;
    (*out)->ops = &ops;
    return 0;
}

static struct spec train; /* done, in every case */

static int make(void **state)
{
    static const struct backend_library library = {
        .version = BACKEND_VERSION, .name = "slow", .open = open_slow};

    backend_register(&library);
    worker_fixture_make(state);
    train = worker_fixture_spec(*state, SPEC_ALIBI);
    worker_fixture_must_run(*state, &train, 1);
    return 0;
}
TEST_GROUP(make, worker_fixture_remove)

/* Runs attempt 1 on "slow". */
static int run_attempt(struct worker_fixture *f, const struct spec *s, int slow, int signal,
                       struct err *e)
{
    const struct worker_options o = {.device = "slow"};

    script.slow = slow;
    script.signal = signal;
    script.done_n = 0;
    return worker_fixture_run(f, s, 1, 1, &o, e);
}

TEST_WITH(struct worker_fixture *f, a_batch_that_takes_long_has_signs_of_life_and_the_same_loss)
{
    const struct spec s = worker_fixture_eval(&train, ONE_ROW, 0);

    worker_fixture_must_run(f, &s, 1);
    double expected = worker_fixture_record(f, &s, 1, EVENT_EVALUATED, 0).evaluated.loss_nats;
    worker_fixture_forget(f, &s);
    assert_ok(run_attempt(f, &s, 0, 0, &e));
    assert_int_equal(script.done_n, s.model.layers); /* one batch */
    assert_true(worker_fixture_count(f, &s, 1, EVENT_PROGRESS) >= 2);
    const struct record_progress alive =
        worker_fixture_record(f, &s, 1, EVENT_PROGRESS, 1).progress;
    assert_true(alive.done == 0.0 && alive.total > 0.0);
    assert_true(worker_fixture_record(f, &s, 1, EVENT_EVALUATED, 0).evaluated.loss_nats ==
                expected);
    worker_fixture_forget(f, &s);
}

TEST_WITH(struct worker_fixture *f, a_stop_during_a_long_batch_ends_it_before_the_next_layer)
{
    const struct spec s = worker_fixture_eval(&train, ONE_ROW, 0);

    assert_fails(ERR_INTERRUPTED, "evaluate again", run_attempt(f, &s, 0, SIGTERM, &e));
    assert_int_equal(script.done_n, 1);
    assert_int_equal(worker_fixture_count(f, &s, 1, EVENT_EVALUATED), 0);
    worker_fixture_ended(f, &s, 1, "cancelled");
    worker_fixture_forget(f, &s);
}

TEST_WITH(struct worker_fixture *f, a_long_update_has_signs_of_life_and_ends_before_a_stop)
{
    struct spec s = train;

    s.train.seed = 2;
    const struct record_trained expected = worker_fixture_unbroken(f, &s);
    assert_fails(ERR_INTERRUPTED, "after update 1 of", run_attempt(f, &s, 0, SIGTERM, &e));
    assert_int_equal(script.done_n, s.train.shards * s.model.layers);
    assert_int_equal(worker_fixture_count(f, &s, 1, EVENT_STEP), 1);
    const struct record_progress alive =
        worker_fixture_record(f, &s, 1, EVENT_PROGRESS, 1).progress;
    assert_true(alive.done == 0.0 && alive.total == s.train.updates);
    worker_fixture_must_run(f, &s, 2);
    worker_fixture_same(f, &s, 2, &expected);
}
