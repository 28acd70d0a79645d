/* plan_fixture.h - a temporary project folder with files of the test. */
#ifndef TESTS_PLAN_FIXTURE_H
#define TESTS_PLAN_FIXTURE_H

#include "base/arena.h"
#include "base/project.h"
#include "plan/plan.h"

struct plan_fixture {
    struct arena arena;
    struct project project; /* root: temporary; share: the source tree */
    char root[256];
    struct err err; /* of the last call */
    struct plan_fixture_plan *plans;
};

/* cmocka's setup and teardown; *state is a struct plan_fixture. */
int plan_fixture_setup(void **state);
int plan_fixture_teardown(void **state);

/* plan_fixture_write - a file under the root, with its folders. */
void plan_fixture_write(struct plan_fixture *f, const char *name, const char *text);

/* Plans, closed at the end of the case, which an error fails. plan_fixture_open: of
 * experiments/g/grid.yaml holding text; options may be NULL (scale none). plan_fixture_shipped: of
 * shipped artefacts; plan_fixture_at: with no option but the scale. */
const struct plan *plan_fixture_open(struct plan_fixture *f, const char *grid,
                                     const struct plan_options *o);
const struct plan *plan_fixture_shipped(struct plan_fixture *f, const char *const *names, int32_t n,
                                        const struct plan_options *o);
const struct plan *plan_fixture_at(struct plan_fixture *f, const char *const *names, int32_t n,
                                   const char *scale);

/* A complete base for grids of two words: tiny model, corpus and recipe as one piece. */
extern const char plan_fixture_tiny[];

#endif
