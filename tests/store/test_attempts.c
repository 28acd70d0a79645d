/* test_attempts.c - attempts end once, one result of a run is current, nothing late is shown. */
#include "harness/test.h"

#include <string.h>

#include "store/store_fixture.h"

TEST_EACH(store_fixture_setup, store_fixture_teardown)

TEST_WITH(struct store_fixture *f, a_run_is_added_once)
{
    fixture_add(f, &f->train, NULL);
    fixture_add(f, &f->train, NULL);
    assert_cell(f, "SELECT count(*) FROM runs", "1");
}

TEST_WITH(struct store_fixture *f, an_evaluation_without_its_training_is_refused)
{
    struct store_run r = {
        .spec = &f->eval, .run_id = "e", .config_id = "c", .train_run_id = "not there"};

    assert_refused(f, ERR_INTERNAL, "FOREIGN KEY", store_add_run(f->store, &r, &f->e));
}

TEST_WITH(struct store_fixture *f, a_run_has_one_running_attempt)
{
    int64_t attempt_id;
    struct store_attempt second = {.attempt = 2, .dir = "runs/x/2"};

    fixture_add(f, &f->train, NULL);
    fixture_start(f, f->id);
    second.run_id = f->id;
    assert_refused(f, ERR_TRYLATER, "attempt 1 is still marked running",
                   store_start_attempt(f->store, &second, &attempt_id, &f->e));
}

TEST_WITH(struct store_fixture *f, done_needs_a_result)
{
    struct store_end end = {.state = STORE_DONE, .exit_code = 0, .signal = -1};
    struct store_run_state now;

    int64_t attempt = fixture_start_next(f, &f->train);
    assert_refused(f, ERR_INTERNAL, "no result", store_end_attempt(f->store, attempt, &end, &f->e));
    assert_int_equal(store_run_state(f->store, f->id, &now, &f->e), 0);
    assert_int_equal(now.last, STORE_RUNNING);
}

TEST_WITH(struct store_fixture *f, an_ended_attempt_is_never_rewritten)
{
    struct store_end end = {.state = STORE_FAILED, .exit_code = 1, .signal = -1};

    int64_t attempt = fixture_start_next(f, &f->train);
    fixture_end(f, attempt, STORE_LOST);
    assert_refused(f, ERR_INTERNAL, "already ended as lost",
                   store_end_attempt(f->store, attempt, &end, &f->e));
    assert_cell(f, "SELECT state FROM attempts", "lost");
}

TEST_WITH(struct store_fixture *f, a_late_result_is_kept_and_never_shown)
{
    int64_t first = fixture_start_next(f, &f->train);
    fixture_end(f, first, STORE_LOST);
    int64_t second = fixture_start(f, f->id);
    fixture_trained(f, first, f->id, 9, 1.0, "old");
    fixture_trained(f, second, f->id, 9, 2.0, "new");
    fixture_end(f, second, STORE_DONE);
    assert_cell(f, "SELECT group_concat(final_loss_nats) FROM trainings", "2.0");
    assert_cell(f, "SELECT group_concat(final_loss_nats||':'||current||late) FROM results",
                "1.0:01,2.0:10");
}

TEST_WITH(struct store_fixture *f, a_result_twice_is_one_row)
{
    int64_t attempt = fixture_start_next(f, &f->train);
    fixture_trained(f, attempt, f->id, 9, 2.0, "a");
    fixture_trained(f, attempt, f->id, 9, 2.0, "a");
    fixture_end(f, attempt, STORE_DONE);
    fixture_trained(f, attempt, f->id, 9, 2.0, "a");
    assert_rows(f, "SELECT count(*), sum(current), sum(late) FROM results", "1 1 0");
}

TEST_WITH(struct store_fixture *f, a_shared_event_file_gives_each_run_its_own_result)
{
    char id[2][SPEC_ID_BYTES];
    int64_t attempt[2];

    fixture_done(f, &f->train, 2.0, NULL);
    for (int i = 0; i < 2; i++) {
        struct spec eval = fixture_eval(&f->train, 64 * (i + 1));
        fixture_add(f, &eval, id[i]);
        attempt[i] = fixture_start(f, id[i]);
    }
    for (int i = 0; i < 2; i++) {
        fixture_evaluated(f, attempt[i], id[0], 5, 30, "abc");
        fixture_evaluated(f, attempt[i], id[1], 6, 40, "abc");
    }
    for (int i = 0; i < 2; i++) fixture_end(f, attempt[i], STORE_DONE);
    assert_rows(f, "SELECT L_valid, perplexity FROM evaluations ORDER BY L_valid",
                "64 30 ; 128 40");
    assert_cell(f, "SELECT count(*) FROM results WHERE kind='eval'", "2");
}

TEST_WITH(struct store_fixture *f, a_redone_run_shows_the_new_result_only)
{
    struct store_run_state now;

    fixture_done(f, &f->train, 2.0, NULL);
    assert_int_equal(store_clear_results(f->store, f->id, &f->e), 0);
    assert_int_equal(store_run_state(f->store, f->id, &now, &f->e), 0);
    assert_false(now.done);
    assert_int_equal(now.last, STORE_DONE);
    fixture_done(f, &f->train, 3.0, NULL);
    assert_cell(f, "SELECT group_concat(final_loss_nats) FROM trainings", "3.0");
    assert_cell(f, "SELECT count(*) FROM results", "2");
    assert_cell(f, "SELECT group_concat(attempt||state) FROM attempts", "1done,2done");
}

TEST_WITH(struct store_fixture *f, evaluations_of_a_replaced_checkpoint_are_no_longer_current)
{
    fixture_done(f, &f->train, 2.0, NULL);
    fixture_done(f, &f->eval, 9.0, NULL);
    fixture_done(f, &f->train, 2.0, NULL); /* the same bits: the evaluation stays */
    assert_cell(f, "SELECT count(*) FROM evaluations", "1");
    int64_t attempt = fixture_start(f, f->id);
    fixture_trained(f, attempt, f->id, 1, 2.0, "other");
    fixture_end(f, attempt, STORE_DONE);
    assert_cell(f, "SELECT count(*) FROM evaluations", "0");
    assert_cell(f, "SELECT count(*) FROM trainings", "1");
}

TEST_WITH(struct store_fixture *f, failures_count_since_the_last_good_end)
{
    struct store_run_state now;
    struct store_end failed = {
        .state = STORE_FAILED, .exit_code = 70, .signal = -1, .message = "it broke"};

    fixture_add(f, &f->train, NULL);
    assert_int_equal(store_run_state(f->store, f->id, &now, &f->e), 0);
    assert_true(now.last == STORE_NONE && now.attempts_n == 0 && now.failures_n == 0 && !now.done);
    fixture_end(f, fixture_start(f, f->id), STORE_LOST);
    fixture_end(f, fixture_start(f, f->id), STORE_CANCELLED);
    fixture_end(f, fixture_start(f, f->id), STORE_LOST);
    assert_int_equal(store_end_attempt(f->store, fixture_start(f, f->id), &failed, &f->e), 0);
    assert_int_equal(store_run_state(f->store, f->id, &now, &f->e), 0);
    assert_int_equal(now.attempts_n, 4);
    assert_int_equal(now.failures_n, 2);
    assert_int_equal(now.last, STORE_FAILED);
    assert_string_equal(now.last_message, "it broke");
    assert_cell(f, "SELECT exit_code||message||coalesce(signal,'-') FROM attempts WHERE attempt=4",
                "70it broke-");
    assert_cell(f, "SELECT log_path LIKE 'runs/%/4/log' FROM attempts WHERE attempt=4", "1");
}

TEST_WITH(struct store_fixture *f, every_run_has_a_state)
{
    fixture_add(f, &f->train, NULL);
    assert_cell(f, "SELECT state FROM run_list", "none");
    fixture_end(f, fixture_start(f, f->id), STORE_LOST);
    assert_cell(f, "SELECT state FROM run_list", "lost");
    fixture_done(f, &f->train, 2.0, NULL);
    assert_cell(f, "SELECT state FROM run_list", "done");
    assert_rows(f, "SELECT current_result FROM attempts ORDER BY attempt", "0 ; 1");
    assert_int_equal(store_clear_results(f->store, f->id, &f->e), 0);
    assert_cell(f, "SELECT state FROM run_list", "none");
}

TEST_WITH(struct store_fixture *f, running_attempts_are_listed_for_the_next_scheduler)
{
    struct arena a;
    struct store_running *list;
    int32_t n;

    arena_init(&a);
    for (int i = 0; i < 20; i++) {
        f->train.train.seed = i + 1;
        int64_t attempt = fixture_start_next(f, &f->train);
        if (i == 0) fixture_end(f, attempt, STORE_LOST);
    }
    assert_int_equal(store_running(f->store, &a, &list, &n, &f->e), 0);
    assert_int_equal(n, 19);
    assert_int_equal(list[18].pid, 100);
    assert_int_equal(list[18].pid_start, 7);
    assert_string_equal(list[18].run_id, f->id);
    assert_string_equal(list[18].host, "here");
    assert_string_equal(list[18].boot_id, "boot");
    arena_fini(&a);
}

TEST_WITH(struct store_fixture *f, a_checkpoint_is_named_from_the_project)
{
    char path[256], sha256[65], expected[256];

    fixture_add(f, &f->train, NULL);
    assert_refused(f, ERR_NOINPUT, "not done",
                   store_checkpoint(f->store, f->id, SPEC_BEST, path, sha256, &f->e));
    fixture_done(f, &f->train, 2.0, NULL);
    assert_int_equal(store_checkpoint(f->store, f->id, SPEC_BEST, path, sha256, &f->e), 0);
    snprintf(expected, sizeof expected, "runs/%s/1/best.safetensors", f->id);
    assert_string_equal(path, expected);
    assert_string_equal(sha256, "abc");
    assert_int_equal(store_checkpoint(f->store, f->id, SPEC_LAST, path, sha256, &f->e), 0);
    assert_string_equal(sha256, "abc-last");
}

TEST_WITH(struct store_fixture *f, the_rate_is_the_best_of_like_runs_by_one_process)
{
    static const struct {
        enum spec_kind kind;
        const char *device_like;
        double flops_min, rate;
    } rows[] = {{SPEC_TRAIN, "cpu", 0, 5e9 / 2.5},
                {SPEC_TRAIN, "a proc%", 5e9, 5e9 / 2.5},
                {SPEC_TRAIN, "cpu", 6e9, 0}, /* these runs are too short */
                {SPEC_TRAIN, "cuda:0", 0, 0},
                {SPEC_EVAL, NULL, 0, 0}};
    double rate = -1;

    assert_works(f, store_flops_rate(f->store, SPEC_TRAIN, "cpu", 0, &rate, &f->e));
    assert_true(rate == 0);
    fixture_done(f, &f->train, 2.0, NULL);
    for (int64_t seed = 2; seed < 5; seed++) { /* of a busy machine */
        struct spec slowed = fixture_train(SPEC_ALIBI, 64, seed);
        char run_id[SPEC_ID_BYTES];
        spec_run_id(&slowed, run_id);
        fixture_result(f, &slowed, EVENT_TRAINED,
                       "{'run_id':'%s','updates':3,'tokens_per_update':64,'final_loss_nats':2,"
                       "'wall_seconds':90}",
                       run_id);
    }
    struct spec parallel = fixture_train(SPEC_ALIBI, 64, 5);
    int64_t id = fixture_start_next(f, &parallel);
    fixture_record(f, id, 1, EVENT_STARTED, "{'ranks':4,'device':'a processor','code_id':'c'}");
    fixture_record(f, id, 2, EVENT_TRAINED,
                   "{'run_id':'%s','updates':3,'tokens_per_update':64,'final_loss_nats':2,"
                   "'wall_seconds':1}",
                   f->id);
    fixture_end(f, id, STORE_DONE);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_works(f, store_flops_rate(f->store, rows[i].kind, rows[i].device_like,
                                         rows[i].flops_min, &rate, &f->e));
        if (rate != rows[i].rate) fail_msg("row %zu: %g", i, rate);
    }
}

TEST_WITH(struct store_fixture *f, an_inner_transaction_fails_without_the_outer)
{
    struct store_end end = {.state = STORE_DONE, .exit_code = 0, .signal = -1};

    fixture_add(f, &f->train, NULL);
    assert_int_equal(store_begin(f->store, &f->e), 0);
    int64_t attempt = fixture_start(f, f->id);
    assert_int_equal(store_end_attempt(f->store, attempt, &end, &f->e), ERR_INTERNAL);
    fixture_trained(f, attempt, f->id, 3, 2.0, "a");
    fixture_end(f, attempt, STORE_DONE);
    assert_int_equal(store_commit(f->store, &f->e), 0);
    assert_cell(f, "SELECT count(*) FROM trainings", "1");
    assert_int_equal(store_commit(f->store, &f->e), ERR_INTERNAL);
}

TEST_WITH(struct store_fixture *f, a_rollback_leaves_nothing)
{
    assert_int_equal(store_begin(f->store, &f->e), 0);
    fixture_done(f, &f->train, 2.0, NULL);
    store_rollback(f->store);
    assert_cell(f, "SELECT count(*) FROM runs", "0");
    fixture_done(f, &f->train, 2.0, NULL); /* the attempt's id is used again */
    assert_cell(f, "SELECT count(*) FROM trainings", "1");
}
