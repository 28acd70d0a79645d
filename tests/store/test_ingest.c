/* test_ingest.c - records become rows: typed, decimated, never twice. */
#include "harness/test.h"

#include <string.h>

#include "store/store_fixture.h"

static int64_t start_training(struct store_fixture *f, int32_t updates)
{
    f->train.train.updates = updates;
    return fixture_start_next(f, &f->train);
}

static void ingest_step(struct store_fixture *f, int64_t attempt, uint64_t sequence, int update)
{
    fixture_record(f, attempt, sequence, EVENT_STEP,
                   "{'update':%d,'loss_nats':%d.5,'lr':0.01,'grad_norm':1}", update, update);
}

TEST_EACH(store_fixture_setup, store_fixture_teardown)

TEST_WITH(struct store_fixture *f, steps_are_decimated_by_their_number)
{
    int64_t attempt = start_training(f, 2500);

    assert_int_equal(store_begin(f->store, &f->e), 0);
    for (int i = 1; i <= 2500; i++) ingest_step(f, attempt, (uint64_t)i, i);
    assert_int_equal(store_commit(f->store, &f->e), 0);
    /* every third, the first and the last: 833 + 2 */
    assert_rows(f, "SELECT count(*), min(step), max(step) FROM curves", "835 1 2500");
    assert_cell(f, "SELECT loss_nats FROM curves WHERE step=300 AND split='train'", "300.5");
}

/* A file from elsewhere may hold any number of records. */
TEST_WITH(struct store_fixture *f, updates_that_the_run_does_not_have_are_left_out)
{
    int64_t attempt = start_training(f, 20);
    static const int update[] = {-1, 1, 20, 21, 1000000};

    for (uint64_t i = 0; i < 5; i++) {
        ingest_step(f, attempt, 2 * i, update[i]);
        fixture_record(f, attempt, 2 * i + 1, EVENT_VALIDATION,
                       "{'update':%d,'epoch':1,'loss_nats':3.5,'perplexity':33.1,'best':false}",
                       update[i]);
    }
    assert_rows(f, "SELECT split, group_concat(step) FROM curves GROUP BY split",
                "train 1,20 ; valid 1,20");
}

TEST_WITH(struct store_fixture *f, a_short_run_keeps_every_step)
{
    int64_t attempt = start_training(f, 20);

    for (int i = 1; i <= 20; i++) ingest_step(f, attempt, (uint64_t)i, i);
    for (int i = 1; i <= 20; i++) ingest_step(f, attempt, (uint64_t)i, i);
    assert_cell(f, "SELECT count(*) FROM curves", "20");
}

TEST_WITH(struct store_fixture *f, every_validation_is_kept)
{
    int64_t attempt = start_training(f, 100000);

    for (int i = 0; i < 2; i++)
        fixture_record(f, attempt, 7, EVENT_VALIDATION,
                       "{'update':77,'epoch':1,'loss_nats':3.5,"
                       "'perplexity':33.1,'best':true}");
    assert_cell(f, "SELECT split||step||' '||epoch||' '||perplexity||' '||best FROM curves",
                "valid77 1 33.1 1");
}

TEST_WITH(struct store_fixture *f, a_resumed_training_shows_each_step_once)
{
    int64_t first = start_training(f, 20);

    for (int i = 1; i <= 12; i++) ingest_step(f, first, (uint64_t)i, i);
    fixture_end(f, first, STORE_LOST);
    int64_t second = fixture_start(f, f->id);
    for (int i = 9; i <= 20; i++) ingest_step(f, second, (uint64_t)i, i);
    assert_rows(f, "SELECT count(*), count(DISTINCT step) FROM curves", "20 20");
    assert_cell(f, "SELECT min(step) FROM curves WHERE attempt=2", "9");
    fixture_trained(f, second, f->id, 99, 2.0, "a");
    fixture_end(f, second, STORE_DONE);
    int64_t third = fixture_start(f, f->id);
    ingest_step(f, third, 1, 1);
    assert_rows(f, "SELECT count(*), max(attempt) FROM curves", "20 2");
}

TEST_WITH(struct store_fixture *f, a_loss_that_is_not_finite_is_null)
{
    int64_t attempt = start_training(f, 20);

    fixture_record(f, attempt, 1, EVENT_STEP,
                   "{'update':3,'loss_nats':null,'lr':1,"
                   "'grad_norm':null}");
    assert_cell(f, "SELECT coalesce(loss_nats,'-')||lr FROM curves", "-1.0");
}

TEST_WITH(struct store_fixture *f, started_names_the_machine_in_the_attempt)
{
    int64_t attempt = start_training(f, 20);

    assert_cell(f, "SELECT device||host FROM attempts", "cpuhere");
    fixture_record(f, attempt, 1, EVENT_STARTED,
                   "{'pid':1,'host':'there','device':'a processor',"
                   "'backend':'cpu','blas':'OpenBLAS','threads':2,"
                   "'code_id':'c0de','program':'alibi'}");
    assert_rows(f, "SELECT device, host, blas, threads, code_id FROM attempts",
                "a processor here OpenBLAS 2 c0de");
}

TEST_WITH(struct store_fixture *f, an_attempt_has_ranks_once_it_has_started_and_one_by_default)
{
    static const char *const started[] = {"'ranks':4,", "'ranks':1,", ""};

    for (int i = 0; i < 3; i++) {
        int64_t attempt = fixture_start_next(f, &f->train);
        fixture_record(f, attempt, 1, EVENT_STARTED, "{%s'device':'a GPU','code_id':'c0de'}",
                       started[i]);
        fixture_end(f, attempt, STORE_FAILED);
    }
    fixture_start_next(f, &f->train);
    assert_rows(f, "SELECT attempt, ranks FROM attempts ORDER BY attempt", "1 4 ; 2 1 ; 3 1 ; 4 -");
}

TEST_WITH(struct store_fixture *f, the_algorithms_that_a_device_chose_stay_with_the_attempt)
{
    int64_t attempt = fixture_start_next(f, &f->train);

    fixture_record(f, attempt, 1, EVENT_ENDED,
                   "{'state':'failed','choices':'cublasLt 12\\n64x64 algo 7'}");
    fixture_end(f, attempt, STORE_FAILED);
    assert_cell(f, "SELECT choices FROM attempts", "cublasLt 12\n64x64 algo 7");
    /* an ended attempt keeps what it has */
    fixture_record(f, attempt, 1, EVENT_ENDED, "{'choices':'others'}");
    assert_cell(f, "SELECT choices FROM attempts", "cublasLt 12\n64x64 algo 7");
    attempt = fixture_start(f, f->id);
    fixture_record(f, attempt, 1, EVENT_ENDED, "{'state':'failed'}");
    assert_cell(f, "SELECT choices FROM attempts WHERE attempt=2", "NULL");
    assert_int_equal(fixture_ingest(f, attempt, 1, EVENT_ENDED, "{\"choices\":7}"), ERR_DATA);
}

TEST_WITH(struct store_fixture *f, nonfinite_targets_leave_no_perplexity)
{
    fixture_result(f, &f->eval, EVENT_EVALUATED,
                   "{'run_id':'%s','loss_nats':2.5,'perplexity':null,'tokens':100,'nonfinite':3,"
                   "'checkpoint_sha256':'x'}",
                   f->id);
    assert_rows(f, "SELECT perplexity, loss_nats, nonfinite FROM evaluations", "- - 3");
}

TEST_WITH(struct store_fixture *f, a_wrong_field_names_run_record_and_field)
{
    int64_t attempt = fixture_start_next(f, &f->eval);
    char json[256];

    snprintf(json, sizeof json,
             "{\"run_id\":\"%s\",\"loss_nats\":2.5,\"tokens\":1,\"nonfinite\":0}", f->id);
    assert_refused(f, ERR_DATA, "perplexity", fixture_ingest(f, attempt, 4, EVENT_EVALUATED, json));
    assert_non_null(strstr(f->e.text, "record 4"));
    assert_non_null(strstr(f->e.text, f->id));
    assert_refused(f, ERR_DATA, "run_id",
                   fixture_ingest(f, attempt, 5, EVENT_EVALUATED, "{\"tokens\":1}"));
    assert_int_equal(fixture_ingest(f, attempt, 6, EVENT_STEP, "{\"update\":\"three\"}"), ERR_DATA);
    assert_int_equal(fixture_ingest(f, attempt, 7, (enum event_type)99, "{}"), ERR_DATA);
    assert_int_equal(fixture_ingest(f, attempt + 1, 7, EVENT_STEP, "{}"), ERR_INTERNAL);
    assert_cell(f, "SELECT count(*) FROM results", "0");
}

TEST_WITH(struct store_fixture *f, progress_is_the_newest_of_running_attempts)
{
    int64_t attempt = start_training(f, 20);

    assert_cell(f, "SELECT coalesce(done,'-') FROM progress", "-");
    fixture_record(f, attempt, 5, EVENT_PROGRESS,
                   "{'done':5,'total':20,'loss_nats':3,'wps':100.5}");
    fixture_record(f, attempt, 4, EVENT_PROGRESS, "{'done':4,'total':20}");
    assert_cell(f, "SELECT done||'/'||total||' '||loss_nats||' '||wps FROM progress",
                "5.0/20.0 3.0 100.5");
    fixture_end(f, attempt, STORE_CANCELLED);
    assert_cell(f, "SELECT count(*) FROM progress", "0");
    fixture_record(f, attempt, 6, EVENT_PROGRESS, "{'done':6,'total':20}");
    assert_cell(f, "SELECT count(*) FROM progress_now", "0");
}

TEST_WITH(struct store_fixture *f, a_bench_shows_its_speed)
{
    struct spec bench = fixture_train(SPEC_ROTARY, 512, 1);

    bench.kind = SPEC_BENCH;
    bench.bench_mode = 1;
    fixture_result(f, &bench, EVENT_BENCHED,
                   "{'run_id':'%s','wps':1234.5,'peak_memory_bytes':77,'mfu':0.5,"
                   "'batch_tokens':512,'wall_seconds':1}",
                   f->id);
    assert_rows(f,
                "SELECT position, L_train, mode, batch_tokens, wps, peak_memory_bytes, mfu"
                " FROM benchmarks",
                "rotary 512 eval 512 1234.5 77 0.5");
}

TEST_WITH(struct store_fixture *f, text_from_outside_stays_text)
{
    static const char hostile[] = "'); DROP TABLE runs; --\"`$(x)%n";
    struct store_claim claim = {
        .claim = hostile, .statement = hostile, .verdict = "supported", .evidence = hostile};

    snprintf(f->train.data.dataset, sizeof f->train.data.dataset, "%s", hostile);
    snprintf(f->train.model.name, sizeof f->train.model.name, "%s", hostile);
    fixture_done(f, &f->train, 2.0, NULL);
    struct store_point point = {0, f->id, 64, 0, 0};
    assert_int_equal(store_set_points(f->store, hostile, hostile, &point, 1, &f->e), 0);
    assert_int_equal(store_set_claims(f->store, hostile, hostile, &claim, 1, &f->e), 0);
    assert_cell(f, "SELECT dataset FROM trainings", hostile);
    assert_cell(f, "SELECT artefact FROM claims", hostile);
    assert_cell(f, "SELECT count(*) FROM runs", "1");
}
