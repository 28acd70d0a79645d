/* worker_fixture.h - a project in a temporary folder with a corpus of 60 words, for tests that run
 * whole attempts. */
#ifndef TESTS_WORKER_FIXTURE_H
#define TESTS_WORKER_FIXTURE_H

#include <stdint.h>

#include <jansson.h>

#include "base/hash.h"
#include "base/project.h"
#include "data/corpus.h"
#include "record/event.h"
#include "spec/spec.h"
#include "worker/worker.h"

enum { WORKER_PATH_BYTES = 256 };

struct worker_fixture {
    char root[WORKER_PATH_BYTES];
    struct project project;
    struct corpus corpus;
};

/* cmocka setup and teardown; *state is the fixture. */
int worker_fixture_make(void **state);
int worker_fixture_remove(void **state);

/* worker_fixture_spec - 20 updates of 2 x 64 tokens, a two-block model of width 32 with dropout;
 * the second epoch begins after update 13. */
struct spec worker_fixture_spec(const struct worker_fixture *f, enum spec_position position);
/* worker_fixture_eval - an evaluation of all of valid; stride 0: nonoverlapping. */
struct spec worker_fixture_eval(const struct spec *train, int32_t L, int32_t stride);

/* worker_fixture_attempt - makes runs/<id of the first spec>/<number> with the specs. */
void worker_fixture_attempt(const struct worker_fixture *f, const struct spec *specs, int32_t n,
                            int32_t number, char dir[WORKER_PATH_BYTES]);
/* worker_fixture_run - the same, and runs it on the cpu; `more` gives other options (and perhaps
 * another device) or is NULL. */
int worker_fixture_run(const struct worker_fixture *f, const struct spec *specs, int32_t n,
                       int32_t number, const struct worker_options *more, struct err *e);
/* worker_fixture_forget - removes runs/<id>. */
void worker_fixture_forget(const struct worker_fixture *f, const struct spec *s);

/* worker_fixture_event - record `index` (from 0, -1 the last) of a type of an attempt; NULL when
 * there is none. The caller releases it. */
json_t *worker_fixture_event(const struct worker_fixture *f, const struct spec *s, int32_t number,
                             enum event_type type, int32_t index);
int32_t worker_fixture_events(const struct worker_fixture *f, const struct spec *s, int32_t number,
                              enum event_type type);
/* worker_fixture_path - of a file of an attempt. */
void worker_fixture_path(const struct worker_fixture *f, const struct spec *s, int32_t number,
                         const char *name, char path[2 * WORKER_PATH_BYTES]);

/* What two runs of the same numbers have in common. */
struct worker_outcome {
    char best[HASH_HEX_BYTES], last[HASH_HEX_BYTES];
    double final_loss;
};

/* The rest of the cases' vocabulary; each fails the case when it does not hold. */
const char *worker_fixture_text(const json_t *json, const char *key);
struct worker_outcome worker_fixture_outcome(const struct worker_fixture *f, const struct spec *s,
                                             int32_t number);
void worker_fixture_same(const struct worker_outcome *a, const struct worker_outcome *b);
void worker_fixture_ended(const struct worker_fixture *f, const struct spec *s, int32_t number,
                          const char *state);
void worker_fixture_must_run(const struct worker_fixture *f, const struct spec *s, int32_t number);
/* worker_fixture_must_stop - stops as on a signal after so many updates. */
void worker_fixture_must_stop(const struct worker_fixture *f, const struct spec *s, int32_t number,
                              int64_t after, double checkpoint_s);
/* worker_fixture_unbroken - the outcome of the run in one attempt; the attempt is removed. */
struct worker_outcome worker_fixture_unbroken(const struct worker_fixture *f, const struct spec *s);

#endif
