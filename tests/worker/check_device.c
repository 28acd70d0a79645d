/* check_device.c - whole attempts of the worker on the backends named on the command line: training
 * and evaluation agree with the CPU, and a resumed run equals an uninterrupted one bit for bit. The
 * CPU computes in fp32, a device also in bf16.
 *
 *   check_device DEVICE… */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "worker/worker_fixture.h"

enum { STOPPED_AFTER = 7, CASES_MAX = 32 };

/* fp32: rounding errors of sums in another order, enlarged by twenty updates. bf16: the project's
 * goal for a training's losses. */
static const double tolerances[] = {[SPEC_FP32] = 1e-5, [SPEC_BF16] = 1e-3};

struct place {
    struct worker_fixture *fixture;
    const char *device;
    enum spec_position position;
    enum spec_precision precision;
    char name[96];
};

static int make_fixture(void **state)
{
    struct place *p = *state;
    void *made = NULL;
    int rc = worker_fixture_make(&made);
    p->fixture = made;
    return rc;
}

static int remove_fixture(void **state)
{
    void *made = ((struct place *)*state)->fixture;
    return worker_fixture_remove(&made);
}

static void run(const struct place *p, const struct spec *s, int32_t number, const char *device)
{
    const struct worker_options o = {.device = device};
    assert_ok(worker_fixture_run(p->fixture, s, 1, number, &o, &e));
}

static double evaluated(const struct place *p, const struct spec *s, const char *device)
{
    run(p, s, 1, device);
    double loss = worker_fixture_record(p->fixture, s, 1, EVENT_EVALUATED, -1).evaluated.loss_nats;
    worker_fixture_forget(p->fixture, s);
    return loss;
}

static void near(const char *what, double got, double want, enum spec_precision precision)
{
    double tolerance = tolerances[precision];
    if (!(want > 0.0 && fabs(got - want) <= tolerance * want))
        fail_msg("%s is %.9g, on the CPU %.9g: off by %.2g relative, at most %g", what, got, want,
                 fabs(got - want) / want, tolerance);
}

static void an_attempt_is_that_of_the_cpu(void **state)
{
    const struct place *p = *state;
    struct err e = {0};
    struct spec s = worker_fixture_spec(p->fixture, p->position), eval, sliding;
    struct worker_options stop = {.device = p->device, .stop_after = STOPPED_AFTER};
    s.model.dropout_relu = s.model.dropout_softmax = 0.1;

    struct record_trained cpu = worker_fixture_unbroken(p->fixture, &s);
    s.train.precision = p->precision;
    run(p, &s, 1, p->device);
    struct record_trained unbroken = worker_fixture_trained(p->fixture, &s, 1);
    if (strstr(p->device, "cuda")) { /* the algorithm choices of the GPU's library are recorded */
        stop.choices = worker_fixture_record(p->fixture, &s, 1, EVENT_ENDED, -1).ended.choices;
        assert_non_null(stop.choices); /* other algorithms, selected by timing, have other bits */
    }
    worker_fixture_forget(p->fixture, &s);
    near("the last loss", unbroken.final_loss_nats, cpu.final_loss_nats, p->precision);

    assert_int_equal(worker_fixture_run(p->fixture, &s, 1, 1, &stop, &e), ERR_INTERRUPTED);
    run(p, &s, 2, p->device);
    worker_fixture_same(p->fixture, &s, 2, &unbroken);

    /* A checkpoint has fp32 weights in every precision. */
    eval = worker_fixture_eval(&s, 24, 0);
    sliding = worker_fixture_eval(&s, 16, 1);
    double loss = evaluated(p, &eval, "cpu");
    near("the evaluation", evaluated(p, &eval, p->device), loss, SPEC_FP32);
    near("the sliding evaluation", evaluated(p, &sliding, p->device), evaluated(p, &sliding, "cpu"),
         SPEC_FP32);
    if (p->precision == SPEC_FP32) return;
    eval.eval.precision = p->precision;
    near("the evaluation in its precision", evaluated(p, &eval, p->device), loss, p->precision);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        enum spec_position position;
        enum spec_precision precision;
    } kinds[] = {{"t5", SPEC_T5, SPEC_FP32},
                 {"alibi", SPEC_ALIBI, SPEC_FP32},
                 {"alibi in bf16", SPEC_ALIBI, SPEC_BF16}};
    static struct place places[CASES_MAX];
    struct CMUnitTest tests[CASES_MAX] = {0};
    size_t n = 0;
    if (argc < 2 || argv[1][0] == '-') {
        fputs("usage: check_device DEVICE...\n", stderr);
        return 64;
    }
    for (int i = 1; i < argc; i++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds && n < CASES_MAX; k++) {
            struct place *p = &places[n];
            *p = (struct place){
                .device = argv[i], .position = kinds[k].position, .precision = kinds[k].precision};
            snprintf(p->name, sizeof p->name, "%s: %s", argv[i], kinds[k].name);
            tests[n++] = (struct CMUnitTest){.name = p->name,
                                             .test_func = an_attempt_is_that_of_the_cpu,
                                             .setup_func = make_fixture,
                                             .teardown_func = remove_fixture,
                                             .initial_state = p};
        }
    return _cmocka_run_group_tests("attempts", tests, n, NULL, NULL) == 0 ? 0 : 1;
}
