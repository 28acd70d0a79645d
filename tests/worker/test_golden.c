/* test_golden.c - the losses after 20 updates of a small model of each kind at the current
 * SPEC_MEANING.
 *
 * A run id stands for its numbers. If a change alters what a spec computes (order of batches,
 * initialisation, dropout, an optimiser, a bias, …), these cases fail. If the change is intended,
 * raise SPEC_MEANING in src/spec/spec.h, which changes every run id, and replace the losses below.
 * Devices and libraries differ only in the last digits. */
#include "harness/test.h"

#include <math.h>

#include "worker/worker_fixture.h"

/* Twenty updates amplify a difference in the last digit of a sum to about 1e-6. */
static const double golden_tolerance = 1e-4;

struct golden {
    const char *what;
    enum spec_position position;
    bool adam, plain, quirk;
    double train, valid; /* nats per target: of the last update, and after it */
};

static const struct golden golden[] = {
    {"sinusoidal", SPEC_SINUSOIDAL, false, false, false, 4.551329, 4.205516},
    {"rotary", SPEC_ROTARY, false, false, false, 4.455066, 4.207064},
    {"t5", SPEC_T5, false, false, false, 4.473571, 4.246723},
    {"alibi", SPEC_ALIBI, false, false, false, 4.476848, 4.193258},
    {"alibi, Adam", SPEC_ALIBI, true, false, false, 3.787745, 3.467767},
    {"alibi, plain softmax", SPEC_ALIBI, false, true, false, 3.968815, 3.892679},
    {"alibi, tail quirk", SPEC_ALIBI, false, false, true, 4.356752, 4.069266},
};

static struct spec golden_spec(const struct worker_fixture *f, const struct golden *g)
{
    struct spec s = worker_fixture_spec(f, g->position);

    s.model.dropout_relu = s.model.dropout_softmax = 0.1;
    s.option.t5_init_std = 0.5;
    s.train.tail_quirk = g->quirk;
    if (g->plain) {
        s.model.softmax = SPEC_PLAIN;
        s.model.cutoffs_n = 0;
        s.model.final_norm = true;
    }
    if (g->adam) {
        s.train.optimizer = SPEC_ADAM;
        s.train.lr = 0.01;
        s.train.weight_decay = 0.01;
    }
    return s;
}

TEST_GROUP(worker_fixture_make, worker_fixture_remove)

TEST_WITH(struct worker_fixture *f, the_numbers_of_a_name_are_those_of_its_meaning)
{
    int wrong = 0;

    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        const struct spec s = golden_spec(f, &golden[i]);
        worker_fixture_must_run(f, &s, 1);
        double train = worker_fixture_record(f, &s, 1, EVENT_STEP, -1).step.loss_nats;
        double valid = worker_fixture_record(f, &s, 1, EVENT_VALIDATION, -1).validation.loss_nats;
        if (fabs(train - golden[i].train) <= golden_tolerance &&
            fabs(valid - golden[i].valid) <= golden_tolerance)
            continue;
        wrong++;
        print_message("%s: %.6f, %.6f; expected %.6f, %.6f\n", golden[i].what, train, valid,
                      golden[i].train, golden[i].valid);
    }
    if (wrong)
        fail_msg("the numbers of a run have changed; if intended, raise SPEC_MEANING (now %d) in "
                 "src/spec/spec.h and replace the losses in this file",
                 SPEC_MEANING);
}
