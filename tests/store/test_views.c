/* test_views.c - the contract of results.db: names and columns of the views, and what they show. */
#include "harness/test.h"

#include <string.h>

#include "store/store_fixture.h"

/* DESIGN section 6, word for word and in its order. */
static const struct {
    const char *view, *columns;
} contract[] = {
    {"evaluations",
     "scale, dataset, model, position, L_train, L_valid, L_train_nominal, L_valid_nominal, split, "
     "protocol, stride, first_window, precision, seed, perplexity, loss_nats, tokens, nonfinite, "
     "eval_wps, peak_memory_bytes, device, origin, run_id, train_run_id, config_id, code_id, "
     "finished_at"},
    {"artefact_evaluations",
     "artefact, point, scale, dataset, model, position, L_train, L_valid, L_train_nominal, "
     "L_valid_nominal, split, protocol, stride, first_window, precision, seed, perplexity, "
     "loss_nats, tokens, nonfinite, eval_wps, peak_memory_bytes, device, origin, run_id, "
     "train_run_id, config_id, code_id, finished_at"},
    {"position_loss",
     "scale, dataset, model, position, L_train, L_valid, split, protocol, stride, seed, first, "
     "last, targets, nll, loss_nats, perplexity, run_id, train_run_id, config_id, modified"},
    {"trainings", "scale, dataset, model, position, L_train, L_train_nominal, seed, updates, "
                  "tokens_per_update, parameters, final_loss_nats, train_wps, peak_memory_bytes, "
                  "wall_seconds, device, run_id, config_id, code_id, finished_at"},
    {"benchmarks", "position, L_train, mode, batch_tokens, wps, peak_memory_bytes, mfu, device"},
    {"curves", "scale, dataset, model, position, L_train, seed, run_id, split, step, loss_nats, "
               "lr, grad_norm, epoch, perplexity, best"},
    {"paper_values", "artefact, dataset, panel, series, method, params, L_train, L_valid, split, "
                     "protocol, stride, x_name, x, metric, value, unit, note, source"},
    {"comparison", "artefact, scale, position, L_train_nominal, L_valid_nominal, metric, ours, "
                   "ours_std, seeds, paper, delta"},
    {"attempts", "run_id, attempt, state, device, host, blas, threads, started_at, ended_at, "
                 "exit_code, signal, message, log_path"},
    {"claims", "claim, statement, verdict, evidence, scale, artefact, judged_at"},
};

TEST_EACH(store_fixture_setup, store_fixture_teardown)

TEST_WITH(struct store_fixture *f, the_views_have_the_columns_of_the_contract)
{
    char sql[128];

    for (size_t i = 0; i < sizeof contract / sizeof *contract; i++) {
        snprintf(sql, sizeof sql, "SELECT group_concat(name,', ') FROM pragma_table_info('%s')",
                 contract[i].view);
        const char *columns = fixture_raw(f->path, sql);
        size_t n = strlen(contract[i].columns);
        if (strncmp(columns, contract[i].columns, n) != 0 || (columns[n] && columns[n] != ','))
            fail_msg("%s: %s", contract[i].view, columns); /* columns may follow */
        snprintf(sql, sizeof sql, "SELECT * FROM %s", contract[i].view);
        if (fixture_query(f, sql) < 0) fail_msg("%s: %s", contract[i].view, f->e.text);
    }
}

TEST_WITH(struct store_fixture *f, a_finished_evaluation_shows_every_column)
{
    struct spec train = fixture_train(SPEC_ALIBI, 64, 3);
    struct spec eval = fixture_eval(&train, 128);
    char train_id[SPEC_ID_BYTES], eval_id[SPEC_ID_BYTES], config_id[SPEC_ID_BYTES];
    char train_config[SPEC_ID_BYTES], expected[512];

    fixture_done(f, &train, 2.0, train_id);
    fixture_done(f, &eval, 17.25, eval_id);
    spec_config_id(&train, NULL, train_config);
    spec_config_id(&eval, train_config, config_id);
    snprintf(expected, sizeof expected,
             "mini wikitext103 tiny alibi 64 128 64 128 valid nonoverlapping - whole fp32 3 17.25 "
             "2.5 100 0 - 2048 a processor trained %s %s %s c0de 1",
             eval_id, train_id, config_id);
    assert_rows(f,
                "SELECT scale, dataset, model, position, L_train, L_valid, L_train_nominal,"
                " L_valid_nominal, split, protocol, stride, first_window, precision, seed,"
                " perplexity, loss_nats, tokens, nonfinite, eval_wps, peak_memory_bytes, device,"
                " origin, run_id, train_run_id, config_id, code_id, finished_at LIKE '20__-%Z'"
                " FROM evaluations",
                expected);
    snprintf(expected, sizeof expected, "mini 64 64 3 20 768 1000 2 1000.5 4096 2.5 %s", train_id);
    assert_rows(f,
                "SELECT scale, L_train, L_train_nominal, seed, updates, tokens_per_update,"
                " parameters, final_loss_nats, train_wps, peak_memory_bytes, wall_seconds, run_id"
                " FROM trainings",
                expected);
}

/* 64 bytes a line; the second has a target whose loss is not finite. */
#define POSITION_LOSS                                                                              \
    "         1         1               3                        1.5\\n"                           \
    "         2         2               2                           \\n"                           \
    "         3         4              95                      237.5\\n"

TEST_WITH(struct store_fixture *f, losses_by_position_are_rows_of_current_results)
{
    struct spec train = fixture_train(SPEC_ALIBI, 64, 3);
    struct spec eval = fixture_eval(&train, 128);
    static const char *const texts[] = {"", ",\"position_loss\":\"" POSITION_LOSS "\""};
    static const char *const expected[] = {"", "1 1 3 1.5 0.5 1.65 ; 2 2 2 - - - ; "
                                               "3 4 95 237.5 2.5 12.18"};

    for (int i = 0; i < 2; i++) { /* an older program's, then a repetition */
        int64_t attempt = fixture_start_next(f, &eval);
        fixture_record(f, attempt, 2, EVENT_EVALUATED,
                       "{'run_id':'%s','loss_nats':2.5,'perplexity':12.0,'tokens':100,"
                       "'nonfinite':0,'checkpoint_sha256':'x'%s}",
                       f->id, texts[i]);
        fixture_end(f, attempt, STORE_DONE);
        assert_rows(f,
                    "SELECT first, last, targets, nll, loss_nats, round(perplexity,2)"
                    " FROM position_loss ORDER BY first",
                    expected[i]);
    }
}

TEST_WITH(struct store_fixture *f, what_is_wanted_is_there_with_a_result_and_without)
{
    struct spec done = fixture_eval(&f->train, 128), asked = fixture_eval(&f->train, 256);
    char train_id[SPEC_ID_BYTES], done_id[SPEC_ID_BYTES], asked_id[SPEC_ID_BYTES];

    fixture_done(f, &f->train, 2.0, train_id);
    fixture_done(f, &done, 17.25, done_id);
    fixture_add(f, &asked, asked_id);
    const struct store_point points[] = {
        {0, train_id, 512, 0, 0}, {1, asked_id, 512, 2048, 0}, {2, done_id, 512, 1024, 0}};
    assert_int_equal(store_set_points(f->store, "table5", "mini", points, 3, &f->e), 0);
    assert_rows(f,
                "SELECT method, trained_on, place, L_valid, L_valid_nominal, perplexity, train_wps"
                " FROM wanted_evaluations WHERE artefact='table5' ORDER BY point",
                "ALiBi L=64 (512) 4 256 2048 - 1000.5 ; ALiBi L=64 (512) 4 128 1024 17.25 1000.5");
    assert_cell(f, "SELECT count(*) FROM wanted_benchmarks", "0");
}

TEST_WITH(struct store_fixture *f, a_sliding_evaluation_shows_its_stride_and_first_window)
{
    struct spec train = fixture_train(SPEC_T5, 64, 1);
    struct spec eval = fixture_eval(&train, 64);

    eval.eval.window = SPEC_SLIDING;
    eval.eval.stride = 1;
    fixture_done(f, &train, 2.0, NULL);
    fixture_done(f, &eval, 9.0, NULL);
    assert_rows(f, "SELECT protocol, stride, first_window FROM evaluations", "sliding 1 growing");
}

TEST_WITH(struct store_fixture *f, nominal_lengths_are_the_smallest_that_points_ask_for)
{
    struct spec eval = fixture_eval(&f->train, 65);
    char train_id[SPEC_ID_BYTES];

    fixture_done(f, &f->train, 2.0, train_id);
    fixture_done(f, &eval, 9.0, NULL);
    assert_rows(f, "SELECT L_train_nominal, L_valid_nominal FROM evaluations", "64 65");
    struct store_point figure[] = {{0, f->id, 512, 522, 0}, {1, f->id, 512, 523, 0}};
    struct store_point table[] = {{7, f->id, 512, 520, 0}, {8, train_id, 512, 0, 0}};
    assert_int_equal(store_set_points(f->store, "figure1", "mini", figure, 2, &f->e), 0);
    assert_int_equal(store_set_points(f->store, "table5", "mini", table, 2, &f->e), 0);
    assert_rows(f, "SELECT L_train_nominal, L_valid_nominal FROM evaluations", "512 520");
    assert_cell(f, "SELECT L_train_nominal FROM trainings", "512");
    assert_cell(f,
                "SELECT group_concat(point||':'||L_valid_nominal) FROM artefact_evaluations "
                "WHERE artefact='figure1'",
                "0:522,1:523");
    assert_cell(f, "SELECT count(*) FROM artefact_evaluations", "3");
    assert_int_equal(store_set_points(f->store, "figure1", "mini", figure, 1, &f->e), 0);
    assert_cell(f, "SELECT count(*) FROM artefact_evaluations WHERE artefact='figure1'", "1");
}

TEST_WITH(struct store_fixture *f, points_of_an_unknown_run_are_refused_and_the_old_ones_stay)
{
    fixture_add(f, &f->train, NULL);
    struct store_point good = {0, f->id, 512, 0, 0};
    struct store_point bad[] = {{0, f->id, 512, 0, 0}, {1, "0000000000000000", 512, 0, 0}};
    assert_int_equal(store_set_points(f->store, "a", "mini", &good, 1, &f->e), 0);
    assert_refused(f, ERR_INTERNAL, "points of a",
                   store_set_points(f->store, "a", "mini", bad, 2, &f->e));
    assert_cell(f, "SELECT count(*) FROM points", "1");
}

TEST_WITH(struct store_fixture *f, claims_of_an_artefact_and_scale_are_replaced)
{
    struct store_claim first[] = {{"P1", "grows", "supported", "1.3 >= 1.2"},
                                  {"P2", "stays", "not run", NULL}};
    struct store_claim second[] = {{"P1", "grows", "contradicted", "1.1"}};
    struct store_claim wrong[] = {{"P1", "grows", "maybe", "1.1"}};

    assert_int_equal(store_set_claims(f->store, "table5", "mini", first, 2, &f->e), 0);
    assert_int_equal(store_set_claims(f->store, "table5", "small", first, 2, &f->e), 0);
    assert_int_equal(store_set_claims(f->store, "table5", "mini", second, 1, &f->e), 0);
    assert_cell(f,
                "SELECT group_concat(claim||verdict||coalesce(evidence,'-')) FROM claims "
                "WHERE scale='mini'",
                "P1contradicted1.1");
    assert_cell(f, "SELECT count(*) FROM claims WHERE scale='small'", "2");
    assert_int_equal(store_set_claims(f->store, "table5", "mini", wrong, 1, &f->e), ERR_INTERNAL);
    assert_cell(f, "SELECT count(*) FROM claims", "3");
}
