/* check_device.c - whole attempts of the worker on the backends named on the command line: training
 * and evaluation agree with the CPU, and a resumed run equals an uninterrupted one bit for bit. The
 * CPU computes in fp32, a device also in bf16.
 *
 *   check_device DEVICE… */
#include <math.h>
#include <string.h>

#include "worker/worker_fixture.h"

enum { STOPPED_AFTER = 7 };

/* fp32: rounding errors of sums in another order, enlarged by twenty updates. bf16: the project's
 * goal for a training's losses. */
static const double tolerances[] = {[SPEC_FP32] = 1e-5, [SPEC_BF16] = 1e-3};

static void run_attempt(struct worker_fixture *f, const struct spec *s, int32_t number,
                        const char *device)
{
    const struct worker_options o = {.device = device};
    assert_ok(worker_fixture_run(f, s, 1, number, &o, &e));
}

static double evaluated(struct worker_fixture *f, const struct spec *s, const char *device)
{
    run_attempt(f, s, 1, device);
    double loss = worker_fixture_record(f, s, 1, EVENT_EVALUATED, -1).evaluated.loss_nats;
    worker_fixture_forget(f, s);
    return loss;
}

static void near(const char *what, double got, double want, enum spec_precision precision)
{
    double tolerance = tolerances[precision];
    if (!(want > 0.0 && fabs(got - want) <= tolerance * want))
        fail_msg("%s is %.9g, on the CPU %.9g: off by %.2g relative, at most %g", what, got, want,
                 fabs(got - want) / want, tolerance);
}

static void compare_with_cpu(struct worker_fixture *f, enum spec_position position,
                             enum spec_precision precision)
{
    struct spec s = worker_fixture_spec(f, position), eval, sliding;
    struct worker_options stop = {.device = test_device, .stop_after = STOPPED_AFTER};
    s.model.dropout_relu = s.model.dropout_softmax = 0.1;

    struct record_trained cpu = worker_fixture_unbroken(f, &s);
    s.train.precision = precision;
    run_attempt(f, &s, 1, test_device);
    struct record_trained unbroken = worker_fixture_trained(f, &s, 1);
    if (strstr(test_device, "cuda")) { /* the algorithm choices of the GPU's library are recorded */
        stop.choices = worker_fixture_record(f, &s, 1, EVENT_ENDED, -1).ended.choices;
        assert_non_null(stop.choices); /* other algorithms, selected by timing, have other bits */
    }
    worker_fixture_forget(f, &s);
    near("the last loss", unbroken.final_loss_nats, cpu.final_loss_nats, precision);

    assert_fails(ERR_INTERRUPTED, "", worker_fixture_run(f, &s, 1, 1, &stop, &e));
    run_attempt(f, &s, 2, test_device);
    worker_fixture_same(f, &s, 2, &unbroken);

    /* A checkpoint has fp32 weights in every precision. */
    eval = worker_fixture_eval(&s, 24, 0);
    sliding = worker_fixture_eval(&s, 16, 1);
    double loss = evaluated(f, &eval, "cpu");
    near("the evaluation", evaluated(f, &eval, test_device), loss, SPEC_FP32);
    near("the sliding evaluation", evaluated(f, &sliding, test_device),
         evaluated(f, &sliding, "cpu"), SPEC_FP32);
    if (precision == SPEC_FP32) return;
    eval.eval.precision = precision;
    near("the evaluation in its precision", evaluated(f, &eval, test_device), loss, precision);
}

TEST_DEVICES(NULL)
TEST_EACH(worker_fixture_make, worker_fixture_remove)

TEST_WITH(struct worker_fixture *f, t5_is_that_of_the_cpu)
{
    compare_with_cpu(f, SPEC_T5, SPEC_FP32);
}

TEST_WITH(struct worker_fixture *f, alibi_is_that_of_the_cpu)
{
    compare_with_cpu(f, SPEC_ALIBI, SPEC_FP32);
}

TEST_WITH(struct worker_fixture *f, alibi_in_bf16_is_that_of_the_cpu)
{
    compare_with_cpu(f, SPEC_ALIBI, SPEC_BF16);
}
