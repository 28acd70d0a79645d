/* test_evaluate.c - evaluations of a trained checkpoint as records: groups, protocols, refusals. */
#include "harness/test.h"

#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "worker/worker_fixture.h"

struct trained_fixture {
    struct worker_fixture *project;
    struct spec train;
};

static int make_trained(void **state)
{
    struct trained_fixture *t = calloc(1, sizeof *t);
    struct err e = {0};
    void *project = NULL;

    assert_non_null(t);
    worker_fixture_make(&project);
    t->project = project;
    t->train = worker_fixture_spec(t->project, SPEC_ALIBI);
    log_set_level(LOG_WARN);
    if (worker_fixture_run(t->project, &t->train, 1, 1, NULL, &e) < 0) fail_msg("%s", e.text);
    *state = t;
    return 0;
}

static int remove_trained(void **state)
{
    struct trained_fixture *t = *state;
    void *project = t->project;
    worker_fixture_remove(&project);
    free(t);
    return 0;
}

static double real_of(const json_t *json, const char *key)
{
    const json_t *value = json_object_get(json, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

/* The record of spec i of a group whose folder is that of spec 0. */
static json_t *record_of(const struct trained_fixture *t, const struct spec *specs, int32_t i,
                         int32_t n)
{
    char id[SPEC_ID_BYTES];

    spec_run_id(&specs[i], id);
    for (int32_t k = 0; k < n; k++) {
        json_t *json = worker_fixture_event(t->project, &specs[0], 1, EVENT_EVALUATED, k);
        assert_non_null(json);
        if (strcmp(json_string_value(json_object_get(json, "run_id")), id) == 0) return json;
        json_decref(json);
    }
    fail_msg("no record of %s", id);
    return NULL;
}

static void run_group(const struct trained_fixture *t, const struct spec *specs, int32_t n)
{
    struct err e = {0};
    if (worker_fixture_run(t->project, specs, n, 1, NULL, &e) < 0) fail_msg("%s", e.text);
    assert_int_equal(worker_fixture_events(t->project, &specs[0], 1, EVENT_EVALUATED), n);
}

static double loss_alone(const struct trained_fixture *t, const struct spec *s)
{
    run_group(t, s, 1);
    json_t *json = record_of(t, s, 0, 1);
    double loss = real_of(json, "loss_nats");
    assert_true(real_of(json, "perplexity") == exp(loss));
    assert_true(real_of(json, "eval_wps") > 0.0);
    json_decref(json);
    worker_fixture_forget(t->project, s);
    return loss;
}

TEST_GROUP(make_trained, remove_trained)

TEST_WITH(const struct trained_fixture *t, a_group_gives_each_evaluation_the_numbers_it_has_alone)
{
    struct spec group[6];
    double alone[6];
    static const struct {
        int32_t L, stride;
    } protocols[6] = {{24, 1}, {16, 0}, {3, 1}, {32, 0}, {16, 1}, {16, 4}};

    for (int i = 0; i < 6; i++) {
        group[i] = worker_fixture_eval(&t->train, protocols[i].L, protocols[i].stride);
        alone[i] = loss_alone(t, &group[i]);
    }
    run_group(t, group, 6);
    for (int i = 0; i < 6; i++) {
        json_t *json = record_of(t, group, i, 6);
        assert_true(real_of(json, "loss_nats") == alone[i]);
        assert_int_equal(json_integer_value(json_object_get(json, "tokens")),
                         t->project->corpus.split[CORPUS_VALID].n);
        assert_int_equal(json_integer_value(json_object_get(json, "nonfinite")), 0);
        bool shared = protocols[i].stride == 1;
        assert_int_equal(json_is_null(json_object_get(json, "eval_wps")), shared);
        assert_true(real_of(json, "peak_memory_bytes") > 0.0);
        json_decref(json);
    }
    worker_fixture_forget(t->project, &group[0]);
}

/* Slopes that follow the length of the window: no prefix of a longer row has them. */
TEST_WITH(const struct trained_fixture *t, scores_that_follow_the_window_do_not_share_passes)
{
    struct spec group[3];
    double alone[3], plain = 0.0;

    for (int i = 0; i < 3; i++) {
        group[i] = worker_fixture_eval(&t->train, 40 + 40 * i, 1);
        group[i].eval.targets = 100;
        if (i == 2) plain = loss_alone(t, &group[i]);
        group[i].eval.scaling = POSITION_SLOPES;
        alone[i] = loss_alone(t, &group[i]);
    }
    assert_true(alone[2] != plain);
    run_group(t, group, 3);
    for (int i = 0; i < 3; i++) {
        json_t *json = record_of(t, group, i, 3);
        assert_true(real_of(json, "loss_nats") == alone[i]);
        json_decref(json);
    }
    worker_fixture_forget(t->project, &group[0]);
}

TEST_WITH(const struct trained_fixture *t, a_stride_of_the_whole_window_is_nonoverlapping)
{
    const struct spec blocks = worker_fixture_eval(&t->train, 16, 0);
    const struct spec sliding = worker_fixture_eval(&t->train, 16, 16);
    assert_true(loss_alone(t, &blocks) == loss_alone(t, &sliding));
}

TEST_WITH(const struct trained_fixture *t,
          validation_in_training_is_the_nonoverlapping_evaluation_of_the_best)
{
    const struct spec s = worker_fixture_eval(&t->train, t->train.train.L, 0);
    double best = INFINITY;

    for (int32_t i = 0; i < 2; i++) {
        json_t *json = worker_fixture_event(t->project, &t->train, 1, EVENT_VALIDATION, i);
        best = fmin(best, real_of(json, "loss_nats"));
        json_decref(json);
    }
    assert_true(loss_alone(t, &s) == best);
}

TEST_WITH(const struct trained_fixture *t, a_limit_of_targets_is_the_number_scored)
{
    struct spec group[3] = {worker_fixture_eval(&t->train, 16, 0),
                            worker_fixture_eval(&t->train, 16, 1),
                            worker_fixture_eval(&t->train, 200, 1)};

    for (int i = 0; i < 3; i++) group[i].eval.targets = 100;
    run_group(t, group, 3);
    for (int i = 0; i < 3; i++) {
        json_t *json = record_of(t, group, i, 3);
        assert_int_equal(json_integer_value(json_object_get(json, "tokens")), 100);
        json_decref(json);
    }
    worker_fixture_forget(t->project, &group[0]);
}

TEST_WITH(const struct trained_fixture *t, the_test_split_is_another_text)
{
    struct spec s = worker_fixture_eval(&t->train, 16, 0);
    double valid = loss_alone(t, &s);
    s.eval.split = SPEC_TEST;
    assert_true(loss_alone(t, &s) != valid);
}

static void expect_failure(const struct trained_fixture *t, const struct spec *specs, int32_t n,
                           int code, const char *word)
{
    struct err e = {0};

    assert_int_equal(worker_fixture_run(t->project, specs, n, 1, NULL, &e), code);
    if (!strstr(e.text, word)) fail_msg("\"%s\" does not say \"%s\"", e.text, word);
    assert_int_equal(worker_fixture_events(t->project, &specs[0], 1, EVENT_EVALUATED), 0);
    worker_fixture_forget(t->project, &specs[0]);
}

TEST_WITH(const struct trained_fixture *t, a_training_that_is_not_done_cannot_be_evaluated)
{
    struct spec other = t->train;
    const struct worker_options o = {.stop_after = 3};

    other.train.seed = 5;
    const struct spec s = worker_fixture_eval(&other, 16, 0);
    expect_failure(t, &s, 1, ERR_NOINPUT, "never run");
    assert_int_equal(worker_fixture_run(t->project, &other, 1, 1, &o, &e), ERR_INTERRUPTED);
    expect_failure(t, &s, 1, ERR_NOINPUT, "no attempt");
    worker_fixture_forget(t->project, &other);
}

/* A power cut may take the last word of a training that results.db knows as done. */
TEST_WITH(const struct trained_fixture *t, a_training_whose_last_word_is_torn_off_can_be_evaluated)
{
    struct spec other = t->train;
    char path[2 * WORKER_PATH_BYTES];
    struct stat st;

    other.train.seed = 5;
    worker_fixture_must_run(t->project, &other, 1);
    const struct spec s = worker_fixture_eval(&other, 16, 0);
    double loss = loss_alone(t, &s);
    worker_fixture_path(t->project, &other, 1, "events", path);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(truncate(path, st.st_size - 20), 0);
    assert_int_equal(worker_fixture_events(t->project, &other, 1, EVENT_ENDED), 0);
    assert_true(loss_alone(t, &s) == loss);
    worker_fixture_forget(t->project, &other);
}

TEST_WITH(const struct trained_fixture *t, evaluations_of_two_trainings_do_not_share_a_worker)
{
    struct spec other = t->train;
    other.train.seed = 5;
    const struct spec group[2] = {worker_fixture_eval(&t->train, 16, 0),
                                  worker_fixture_eval(&other, 16, 0)};
    expect_failure(t, group, 2, ERR_DATA, "share a worker");
    const struct spec mixed[2] = {worker_fixture_eval(&t->train, 16, 0), t->train};
    expect_failure(t, mixed, 2, ERR_DATA, "only evaluations");
}

TEST_WITH(const struct trained_fixture *t, a_damaged_checkpoint_is_refused)
{
    const struct spec s = worker_fixture_eval(&t->train, 16, 0);
    char path[2 * WORKER_PATH_BYTES];

    json_t *trained = worker_fixture_event(t->project, &t->train, 1, EVENT_TRAINED, 0);
    worker_fixture_path(t->project, &t->train, 1,
                        json_string_value(json_object_get(trained, "best_checkpoint")), path);
    json_decref(trained);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    fseek(file, -1, SEEK_END);
    int byte = fgetc(file);
    fseek(file, -1, SEEK_END);
    fputc(byte ^ 0x40, file);
    fclose(file);
    expect_failure(t, &s, 1, ERR_DATA, "damaged");
    file = fopen(path, "r+b");
    assert_non_null(file);
    fseek(file, -1, SEEK_END);
    fputc(byte, file);
    fclose(file);
    (void)loss_alone(t, &s);
}

TEST_WITH(const struct trained_fixture *t, a_signal_ends_an_evaluation_as_cancelled)
{
    const struct spec s = worker_fixture_eval(&t->train, 16, 1);
    sigset_t signals, before;

    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigprocmask(SIG_BLOCK, &signals, &before);
    raise(SIGINT);
    assert_int_equal(worker_fixture_run(t->project, &s, 1, 1, NULL, &e), ERR_INTERRUPTED);
    sigprocmask(SIG_SETMASK, &before, NULL);
    json_t *ended = worker_fixture_event(t->project, &s, 1, EVENT_ENDED, -1);
    assert_string_equal(json_string_value(json_object_get(ended, "state")), "cancelled");
    json_decref(ended);
    worker_fixture_forget(t->project, &s);
}
