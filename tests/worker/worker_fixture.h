/* worker_fixture.h - a project in a temporary folder with a corpus of 60 words, for tests that run
 * whole attempts. Texts and records are in its arena. */
#ifndef TESTS_WORKER_FIXTURE_H
#define TESTS_WORKER_FIXTURE_H

#include "base/project.h"
#include "data/corpus.h"
#include "harness/test.h"
#include "record/run_folder.h"
#include "spec/spec.h"
#include "worker/worker.h"

struct worker_fixture {
    char root[TEST_PATH_BYTES];
    struct project project;
    struct corpus corpus;
    struct backend *cpu; /* fp32 */
    struct arena arena;
};

/* cmocka setup and teardown; *state is the fixture. The log is silent from then on. With classes,
 * every third token of valid and test is in class "third", the others in "two", none in "none". */
int worker_fixture_make(void **state);
int worker_fixture_make_classes(void **state);
int worker_fixture_remove(void **state);

/* worker_fixture_spec - 20 updates of 2 x 64 tokens, a two-block model of width 32 with dropout;
 * the second epoch begins after update 13. */
struct spec worker_fixture_spec(const struct worker_fixture *f, enum spec_position position);
/* worker_fixture_eval - an evaluation of all of valid; stride 0: nonoverlapping. */
struct spec worker_fixture_eval(const struct spec *train, int32_t L, int32_t stride);

/* worker_fixture_dir - the folder of an attempt of a run. worker_fixture_path - of a file in it. */
char *worker_fixture_dir(struct worker_fixture *f, const struct spec *s, int32_t number);
char *worker_fixture_path(struct worker_fixture *f, const struct spec *s, int32_t number,
                          const char *name);

/* worker_fixture_attempt - makes the folder of an attempt, named after the first spec. */
char *worker_fixture_attempt(struct worker_fixture *f, const struct spec *specs, int32_t n,
                             int32_t number);
/* worker_fixture_run - the same, and runs it on the cpu; `more` gives other options (and perhaps
 * another device) or is NULL. worker_fixture_must_run - fails the case on an error. */
int worker_fixture_run(struct worker_fixture *f, const struct spec *specs, int32_t n,
                       int32_t number, const struct worker_options *more, struct err *e);
void worker_fixture_must_run(struct worker_fixture *f, const struct spec *s, int32_t number);
/* worker_fixture_must_stop - stops as on a signal after so many updates. */
void worker_fixture_must_stop(struct worker_fixture *f, const struct spec *s, int32_t number,
                              int64_t after, double checkpoint_s);
/* worker_fixture_must_cancel - runs the attempt with a signal pending, which must cancel it. */
void worker_fixture_must_cancel(struct worker_fixture *f, const struct spec *s, int32_t number,
                                int signal);
/* worker_fixture_must_fail - runs attempt 1, which must end with the code and a word of the
 * message, and removes the run. */
void worker_fixture_must_fail(struct worker_fixture *f, const struct spec *specs, int32_t n,
                              int code, const char *word);
/* worker_fixture_forget - removes runs/<id>. */
void worker_fixture_forget(struct worker_fixture *f, const struct spec *s);

/* worker_fixture_count - records of a type in an attempt. worker_fixture_record - record `index`
 * (from 0, -1 the last), which must exist. */
int32_t worker_fixture_count(struct worker_fixture *f, const struct spec *s, int32_t number,
                             enum event_type type);
struct record worker_fixture_record(struct worker_fixture *f, const struct spec *s, int32_t number,
                                    enum event_type type, int32_t index);

/* worker_fixture_ended - the attempt ended in a state. worker_fixture_same - an attempt of a
 * training gave the expected numbers. worker_fixture_unbroken - the result of the run in one
 * attempt, which is then deleted. */
void worker_fixture_ended(struct worker_fixture *f, const struct spec *s, int32_t number,
                          const char *state);
struct record_trained worker_fixture_trained(struct worker_fixture *f, const struct spec *s,
                                             int32_t number);
void worker_fixture_same(struct worker_fixture *f, const struct spec *s, int32_t number,
                         const struct record_trained *expected);
struct record_trained worker_fixture_unbroken(struct worker_fixture *f, const struct spec *s);

/* worker_fixture_flip - flips a bit of a byte, counted from the end of a file. */
void worker_fixture_flip(const char *path, long from_end);

#endif
