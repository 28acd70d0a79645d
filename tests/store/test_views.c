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
    {"target_groups",
     "scale, dataset, model, position, L_train, L_valid, split, protocol, stride, seed, number, "
     "name, targets, nll, loss_nats, perplexity, hits, accuracy, run_id, train_run_id, config_id, "
     "modified, precision, checkpoint, settings, corpus"},
    {"target_blocks",
     "scale, dataset, model, position, L_train, L_valid, split, protocol, stride, seed, first, "
     "last, targets, nll, loss_nats, perplexity, run_id, train_run_id, config_id, modified, "
     "precision, checkpoint, settings, corpus"},
    {"extrapolation", "scale, dataset, model, position, L_train, L_valid, split, protocol, stride, "
                      "seed, last, near_targets, near_nats, far_targets, far_nats, "
                      "difference_nats, standard_error, run_id, train_run_id, config_id, "
                      "modified, precision, checkpoint, settings, corpus"},
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
    {"claims",
     "claim, statement, verdict, evidence, scale, artefact, judged_at, threshold, effect, "
     "error, low, high, seeds, split, runs, codes, cases"},
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

/* An evaluation has the columns of its training's keys; only the number of updates is not its own.
 */
TEST_WITH(struct store_fixture *f, a_run_has_a_column_for_each_key_that_names_one)
{
    struct spec specs[] = {fixture_train(SPEC_ALIBI, 64, 3), {0}, fixture_train(SPEC_T5, 32, 4)};
    struct arena a;
    char sql[256];
    size_t n, columns_n = 0;
    const struct spec_key *keys = spec_keys(&n);

    specs[1] = fixture_eval(&specs[0], 128);
    specs[1].eval.window = SPEC_SLIDING;
    specs[1].eval.stride = 8;
    specs[2].kind = SPEC_BENCH;
    arena_init(&a);
    for (int k = 0; k < 3; k++) {
        fixture_add(f, &specs[k], NULL);
        for (size_t i = 0; i < n; i++) {
            if (!keys[i].column) continue;
            const struct spec *s = &specs[k];
            bool has = !keys[i].applies || keys[i].applies(s) ||
                       (s->kind == SPEC_EVAL && strncmp(keys[i].name, "bench", 5) != 0 &&
                        strcmp(keys[i].name, "train.updates") != 0);
            const char *want = has ? spec_get(s, &keys[i], &a) : "none";
            snprintf(sql, sizeof sql, "SELECT coalesce(%s, 'none') FROM runs WHERE run_id = '%s'",
                     keys[i].column, f->id);
            if (strcmp(fixture_raw(f->path, sql), want) != 0)
                fail_msg("run %d: %s is not %s", k, keys[i].column, want);
            columns_n++;
        }
    }
    assert_int_equal(columns_n, 3 * 15);
    arena_fini(&a);
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

/* open-models SPEC.md section 8: 250 nats over 500 bytes and 100 words. */
TEST_WITH(struct store_fixture *f, losses_are_measured_by_byte_and_by_word_of_the_text)
{
    static const char measures[] = "SELECT bits_per_byte, byte_perplexity, word_perplexity, bytes,"
                                   " words, documents, tokenizer, tokenizer_sha256 FROM ";
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"'bytes':500,'words':100,'documents':2,'tokenizer':'gpt2','tokenizer_sha256':'ab'",
         "0.7213475204444818 1.6487212707001282 12.182493960703473 500 100 2 gpt2 ab"},
        {"'bytes':500,'words':0", "0.7213475204444818 1.6487212707001282 - 500 0 - - -"},
        {"'bytes':1,'words':250",
         "360.67376022224084 3.7464546145026734e+108 2.718281828459045 1 250 - "
         "- -"},
        {"'bytes':0", "- - - 0 - - - -"},
        {"'tokenizer':'gpt2'", "- - - - - - gpt2 -"}, /* a part of a split */
        {"'documents':null", "- - - - - - - -"},
    };
    char run_id[SPEC_ID_BYTES];

    fixture_done(f, &f->train, 2.0, NULL);
    for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) {
        const struct spec eval = fixture_eval(&f->train, 128 + i);
        spec_run_id(&eval, run_id);
        fixture_result(f, &eval, EVENT_EVALUATED,
                       "{'run_id':'%s','loss_nats':2.5,'perplexity':12.2,'tokens':100,"
                       "'nonfinite':0,%s}",
                       run_id, cases[i].text);
        char sql[320];
        snprintf(sql, sizeof sql, "%s evaluations WHERE L_valid = %d", measures, 128 + i);
        assert_rows(f, sql, cases[i].expected);
    }
}

/* The second range has a target whose loss is not finite. Records of older programs have lines of
 * 64 bytes. */
#define BINS "[[1,1,3,1.5],[2,2,2,null],[3,4,95,237.5]]"
#define POSITION_LOSS                                                                              \
    "         1         1               3                        1.5\\n"                           \
    "         2         2               2                           \\n"                           \
    "         3         4              95                      237.5\\n"

TEST_WITH(struct store_fixture *f, losses_by_position_are_rows_of_current_results)
{
    struct spec train = fixture_train(SPEC_ALIBI, 64, 3);
    struct spec eval = fixture_eval(&train, 128);
    static const char *const texts[] = {"", ",\"position_loss\":\"" POSITION_LOSS "\"",
                                        ",\"bins\":" BINS};
    static const char rows[] = "1 1 3 1.5 0.5 1.65 ; 2 2 2 - - - ; 3 4 95 237.5 2.5 12.18";
    static const char *const expected[] = {"", rows, rows};

    for (int i = 0; i < 3; i++) { /* older programs', then a repetition */
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

/* Trained on 64: near are 33 to 64, 600 nats of 200 targets; far 65 to 384, 3800 of 1200; the
 * ranges that reach beyond 64 or 384 do not count. Blocks of 3.0 and 3.2 nats: the mean of 1500
 * targets has a variance of 0.01, so a mean of 200 less one of 1200 has 0.01 * 1500 * (1/200 +
 * 1/1200) = 0.0875. */
TEST_WITH(struct store_fixture *f, losses_beyond_the_training_length_are_compared_in_the_same_rows)
{
    static const char *const ranges[] = {
        "[1,32,100,400.0],[33,64,200,600.0],[65,96,400,1400.0],[97,384,800,2400.0],"
        "[385,512,100,900.0]",
        "[1,32,100,400.0],[33,65,200,600.0],[66,96,400,1400.0]", /* no near range */
        "[1,32,100,400.0],[33,64,200,600.0],[65,96,400,null]"};  /* not finite */
    static const char *const expected[] = {"384 200 3 1200 3.1667 0.1667 0.2958", "", ""};
    struct spec train = fixture_train(SPEC_ALIBI, 64, 3);
    struct spec eval = fixture_eval(&train, 512);

    for (int i = 0; i < 3; i++) {
        int64_t attempt = fixture_start_next(f, &eval);
        fixture_record(f, attempt, 2, EVENT_EVALUATED,
                       "{'run_id':'%s','loss_nats':2.5,'perplexity':12.0,'tokens':100,"
                       "'nonfinite':0,'checkpoint_sha256':'x','bins':[%s],"
                       "'blocks':[[1,750,750,2250.0],[751,1500,750,2400.0]]}",
                       f->id, ranges[i]);
        fixture_end(f, attempt, STORE_DONE);
        assert_rows(f,
                    "SELECT last, near_targets, near_nats, far_targets, round(far_nats,4),"
                    " round(difference_nats,4), round(standard_error,4) FROM extrapolation",
                    expected[i]);
    }
}

/* A class with a target that is not finite, one whose hits are not known, and a repetition. */
TEST_WITH(struct store_fixture *f, losses_by_class_and_part_are_rows_of_current_results)
{
    struct spec train = fixture_train(SPEC_ALIBI, 64, 3);
    struct spec eval = fixture_eval(&train, 128);

    for (int i = 0; i < 2; i++) {
        int64_t attempt = fixture_start_next(f, &eval);
        fixture_record(f, attempt, 2, EVENT_EVALUATED,
                       "{'run_id':'%s','loss_nats':2.5,'perplexity':12.0,'tokens':100,"
                       "'nonfinite':0,'checkpoint_sha256':'x','blocks':[[1,50,50,100.0],"
                       "[51,100,50,25.0]],'groups':[[0,0,80,40.0,60,'rest'],"
                       "[3,3,15,null,0,'far'],[4,4,5,2.5,null,'old']]}",
                       f->id);
        fixture_end(f, attempt, STORE_DONE);
        assert_rows(
            f,
            "SELECT number, name, targets, nll, loss_nats, round(perplexity,2), hits,"
            " accuracy FROM target_groups ORDER BY number",
            "0 rest 80 40 0.5 1.65 60 0.75 ; 3 far 15 - - - 0 0 ; 4 old 5 2.5 0.5 1.65 - -");
        assert_rows(f, "SELECT first, last, targets, nll, loss_nats FROM target_blocks ORDER BY 1",
                    "1 50 50 100 2 ; 51 100 50 25 0.5");
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

/* An attempt by so many ranks, 0: of an older program, that leaves a checkpoint or a result. */
static void train_with(struct store_fixture *f, int ranks, enum store_state state)
{
    char member[16] = "";
    int64_t id = fixture_start_next(f, &f->train);

    if (ranks) snprintf(member, sizeof member, "'ranks':%d,", ranks);
    fixture_record(f, id, 1, EVENT_STARTED, "{%s'device':'a GPU','code_id':'c0de'}", member);
    if (state != STORE_FAILED)
        fixture_record(f, id, 2, EVENT_CHECKPOINT, "{'update':9,'path':'a','sha256':'b'}");
    if (state == STORE_DONE) fixture_trained(f, id, f->id, 3, 2.0, "abc");
    fixture_end(f, id, state);
}

TEST_WITH(struct store_fixture *f, a_training_has_the_ranks_of_all_attempts_that_it_goes_on_from)
{
    static const struct {
        int first, second;
        enum store_state ends; /* of the first */
        const char *ranks, *speed;
    } rows[] = {
        {1, 1, STORE_LOST, "1", "1 1000.5 4096"},   {0, 1, STORE_LOST, "1", "1 1000.5 4096"},
        {4, 4, STORE_LOST, "4", "4 - -"},           {4, 2, STORE_LOST, "-", "- - -"},
        {4, 1, STORE_LOST, "-", "- - -"},           {4, 0, STORE_LOST, "-", "- - -"},
        {4, 1, STORE_FAILED, "1", "1 1000.5 4096"}, /* it left no checkpoint */
        {1, 4, STORE_DONE, "4", "4 - -"},           /* the second is of --redo */
        {4, 1, STORE_DONE, "1", "1 1000.5 4096"}};
    char id[SPEC_ID_BYTES];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        f->train.train.seed = 10 + (int64_t)i;
        struct spec eval = fixture_eval(&f->train, 128);
        fixture_add(f, &eval, id);
        const struct store_point point = {0, id, 512, 0, 0};
        assert_works(f, store_set_points(f->store, "table5", "mini", &point, 1, &f->e));
        train_with(f, rows[i].first, rows[i].ends);
        train_with(f, rows[i].second, STORE_DONE);
        char sql[128];
        snprintf(sql, sizeof sql, "SELECT ranks FROM trainings WHERE seed=%zu", 10 + i);
        assert_rows(f, sql, rows[i].ranks);
        assert_rows(f,
                    "SELECT train_ranks, train_wps, train_memory_bytes FROM wanted_evaluations"
                    " WHERE artefact='table5'",
                    rows[i].speed);
    }
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

/* Another value of a key, as text. */
static const char *other_value(const struct spec *s, const struct spec_key *key, struct arena *a)
{
    const char *value = spec_get(s, key, a);

    for (int i = 0; key->names && key->names[i]; i++)
        if (strcmp(key->names[i], value) != 0) return key->names[i];
    return strcmp(value, "3") == 0 ? "2" : key->high < 3 ? "1" : "3";
}

/* The evaluations that the artefact asks for, by the columns that describe them: a pivot over these
 * has one result a cell. */
#define PROTOCOL " L_valid, split, protocol, stride, precision, checkpoint, targets, "
#define OF_ARTEFACT " WHERE artefact='own'"
static const char *const described[] = {
    "SELECT" PROTOCOL "settings FROM evaluations JOIN artefact_points USING (run_id)" OF_ARTEFACT,
    "SELECT" PROTOCOL "settings FROM artefact_evaluations" OF_ARTEFACT,
    "SELECT" PROTOCOL "settings FROM wanted_evaluations" OF_ARTEFACT,
    "SELECT" PROTOCOL "g.settings FROM grid_settings g JOIN evaluations USING (run_id)" OF_ARTEFACT,
    "SELECT config_id FROM comparison" OF_ARTEFACT,
};

TEST_WITH(struct store_fixture *f, evaluations_that_differ_in_any_key_have_different_columns)
{
    struct spec all = fixture_eval(&f->train, 128); /* every key applies */
    struct arena a;
    size_t n;
    const struct spec_key *keys = spec_keys(&n);
    char first[SPEC_ID_BYTES];
    int differ_n = 0;

    arena_init(&a);
    all.eval.window = SPEC_SLIDING, all.eval.stride = 1;
    all.eval.scaling = POSITION_LONGROPE, all.eval.scaling_factor = 2;
    all.eval.longrope_short = all.eval.longrope_long = (struct position_list){1, {2}};
    all.eval.temperature = SPEC_EVAL_LOG;
    all.eval.mask = (struct spec_mask){.window = 32, .sinks = 4};
    all.eval.knn = (struct spec_knn){.neighbours = 4, .temperature = 1, .lambda = 0.5};
    fixture_done(f, &f->train, 2.0, NULL);
    fixture_done(f, &all, 9.0, first);
    for (size_t i = 0; i < n; i++) {
        struct spec s = all;
        if (strncmp(keys[i].name, "eval.", 5) != 0 || strcmp(keys[i].name, "eval.train_run") == 0)
            continue;
        if (keys[i].applies && !keys[i].applies(&all)) fail_msg("%s does not apply", keys[i].name);
        assert_int_equal(spec_set(&s, &keys[i], other_value(&all, &keys[i], &a), &f->e), 0);
        fixture_done(f, &s, 9.0, NULL);
        const struct store_point points[] = {{0, first, 64, 128, 1}, {1, f->id, 64, 128, 1}};
        assert_int_equal(store_set_points(f->store, "own", "mini", points, 2, &f->e), 0);
        for (size_t v = 0; v < sizeof described / sizeof *described; v++) {
            const char *sql = arena_printf(&a, "SELECT count(*) FROM (SELECT DISTINCT * FROM (%s))",
                                           described[v]);
            if (strcmp(fixture_cell(f->store, sql), "2") != 0)
                fail_msg("%s: one row for evaluations that differ in %s", described[v],
                         keys[i].name);
        }
        differ_n++;
    }
    assert_in_range(differ_n, 12, SPEC_KEYS_MAX);
    arena_fini(&a);
}

TEST_WITH(struct store_fixture *f, trainings_that_differ_in_any_key_have_other_settings)
{
    struct arena a;
    size_t n;
    const struct spec_key *keys = spec_keys(&n);
    int differ_n = 0;

    arena_init(&a);
    fixture_done(f, &f->train, 2.0, NULL);
    for (size_t i = 0; i < n; i++) {
        struct spec s = f->train;
        const char *column = keys[i].column;
        bool own = strncmp(keys[i].name, "eval.", 5) != 0 && keys[i].hashed;
        if (!own || (keys[i].applies && !keys[i].applies(&s))) continue;
        if (column && strcmp(column, "updates") != 0) continue; /* a column of the view, too */
        if (spec_set(&s, &keys[i], other_value(&s, &keys[i], &a), NULL) < 0) continue; /* a text */
        fixture_add(f, &s, NULL);
        differ_n++;
    }
    assert_in_range(differ_n, 20, SPEC_KEYS_MAX);
    assert_cell(f, "SELECT count(*) - count(DISTINCT settings) FROM training_settings", "0");
    arena_fini(&a);
}

TEST_WITH(struct store_fixture *f, settings_of_an_evaluation_have_neutral_values)
{
    struct spec plain = fixture_eval(&f->train, 64), own = plain;

    own.eval.scaling = POSITION_SLOPES, own.eval.scaling_factor = 1.5;
    own.eval.mask = (struct spec_mask){.window = 32, .sinks = 4};
    fixture_done(f, &f->train, 2.0, NULL);
    fixture_done(f, &plain, 9.0, NULL);
    fixture_done(f, &own, 9.0, NULL);
    assert_rows(f,
                "SELECT position_scaling, position_scaling_factor, attention_window,"
                " attention_sinks, '<' || settings || '>' FROM evaluations ORDER BY settings",
                "none 0 0 0 <> ; slopes 1.5 32 4 <eval.attention_sinks=4 eval.attention_window=32 "
                "eval.position_scaling=slopes eval.position_scaling_factor=1.5 "
                "eval.sink_positions=text>");
}

/* A pivot over position and all_settings averages no two models, and a training without a change
 * keeps an empty text whatever else is there. */
TEST_WITH(struct store_fixture *f, all_settings_tell_the_models_of_a_sweep_apart)
{
    static const double lr[] = {0.25, 0.25, 0.5, 0.5};
    static const int64_t seed[] = {1, 2, 1, 2};

    for (int i = 0; i < 4; i++) {
        struct spec train = f->train;
        train.train.lr = lr[i];
        train.train.seed = seed[i];
        struct spec eval = fixture_eval(&train, 128);
        fixture_done(f, &train, 2, NULL);
        fixture_done(f, &eval, 20 + i, NULL);
        if (i == 1)
            assert_cell(f, "SELECT max(all_settings) FROM evaluations WHERE settings = ''", "");
        eval.eval.mask.window = 8;
        fixture_done(f, &eval, 30 + i, NULL);
    }
    assert_rows(f,
                "SELECT count(*), count(DISTINCT config_id), count(DISTINCT all_settings)"
                " FROM evaluations",
                "8 4 4");
    assert_cell(f,
                "SELECT max(n) FROM (SELECT count(DISTINCT config_id) AS n"
                " FROM evaluations GROUP BY position, all_settings)",
                "1");
    assert_cell(f,
                "SELECT count(*) FROM evaluations e JOIN settings s USING (run_id)"
                " WHERE s.key = 'train.lr'"
                " AND all_settings = trim('train.lr=' || s.value || ' ' || e.settings)",
                "8");
    assert_cell(f,
                "SELECT count(*) FROM training_settings t JOIN settings s USING (run_id)"
                " WHERE s.key = 'train.lr' AND t.settings = 'train.lr=' || s.value",
                "4");
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

/* The seeds of `alibi run --seeds 3`, then of one seed, as tables see them. */
TEST_WITH(struct store_fixture *f, seeds_that_were_run_stay_when_fewer_are_asked_for)
{
    static const char seeds_sql[] = "SELECT group_concat(seed) FROM (SELECT seed FROM"
                                    " wanted_evaluations WHERE artefact='a' ORDER BY seed)";
    char id[4][SPEC_ID_BYTES];
    struct store_point points[4];

    for (int i = 0; i < 4; i++) {
        struct spec train = fixture_train(SPEC_ALIBI, 64, i + 1), eval = fixture_eval(&train, 128);
        if (i < 3) fixture_done(f, &eval, 20 + i, id[i]);
        if (i == 3) fixture_add(f, &eval, id[i]); /* asked for and not run */
        points[i] = (struct store_point){i, id[i], 512, 1024, 0};
    }
    for (int again = 0; again < 2; again++) {
        assert_works(f, store_set_points(f->store, "a", "mini", points, 4, &f->e));
        assert_works(f, store_set_points(f->store, "a", "mini", points, 1, &f->e));
        assert_cell(f, seeds_sql, "1,2,3");
        assert_rows(f, "SELECT seeds, ours FROM comparison WHERE artefact='a'", "3 21");
    }
    /* Another length of the paper is another cell, and a grid without the configuration drops it.
     */
    points[0].L_valid_nominal = 1025;
    assert_works(f, store_set_points(f->store, "a", "mini", points, 1, &f->e));
    assert_cell(f, seeds_sql, "1");
    points[0].L_valid_nominal = 1024;
    assert_works(f, store_set_points(f->store, "a", "mini", points, 1, &f->e));
    assert_cell(f, seeds_sql, "1,2,3");
    assert_works(f, store_hide_seeds(f->store, 2, &f->e));
    assert_cell(f, seeds_sql, "1,2");
    assert_works(f, store_set_points(f->store, "a", "mini", NULL, 0, &f->e));
    assert_cell(f, seeds_sql, "NULL");
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
    struct store_claim first[] = {{"P1", "grows", "supported", .evidence = "1.3 >= 1.2"},
                                  {"P2", "stays", "not run", .runs = "a b"}};
    struct store_claim second[] = {{"P1", "grows", "mixed", .evidence = "1.1", .effect = "0.5"}};
    struct store_claim wrong[] = {{"P1", "grows", "maybe", .evidence = "1.1"}};

    assert_int_equal(store_set_claims(f->store, "table5", "mini", first, 2, &f->e), 0);
    assert_int_equal(store_set_claims(f->store, "table5", "small", first, 2, &f->e), 0);
    assert_int_equal(store_set_claims(f->store, "table5", "mini", second, 1, &f->e), 0);
    assert_cell(f,
                "SELECT group_concat(claim||verdict||evidence||effect) FROM claims WHERE "
                "scale='mini'",
                "P1mixed1.10.5");
    assert_cell(f, "SELECT count(*) FROM claims WHERE scale='small'", "2");
    assert_int_equal(store_set_claims(f->store, "table5", "mini", wrong, 1, &f->e), ERR_INTERNAL);
    assert_cell(f, "SELECT count(*) FROM claims", "3");
}
