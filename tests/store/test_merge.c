/* test_merge.c - results made elsewhere are ingested once, and what is here stays. */
#include "harness/test.h"

#include <string.h>

#include <sqlite3.h>

#include "store/store_fixture.h"

struct pair {
    struct store_fixture *here, *there;
};

static int setup_pair(void **state)
{
    struct pair *p = calloc(1, sizeof *p);
    void *fixture;

    assert_non_null(p);
    store_fixture_setup(&fixture);
    p->here = fixture;
    store_fixture_setup(&fixture);
    p->there = fixture;
    *state = p;
    return 0;
}

static int teardown_pair(void **state)
{
    struct pair *p = *state;
    void *fixture = p->here;

    store_fixture_teardown(&fixture);
    fixture = p->there;
    store_fixture_teardown(&fixture);
    free(p);
    return 0;
}

TEST_EACH(setup_pair, teardown_pair)

TEST_WITH(struct pair *p, runs_made_elsewhere_are_ingested)
{
    struct spec train = fixture_train(SPEC_ALIBI, 64, 1);
    struct spec eval = fixture_eval(&train, 128);
    char train_id[SPEC_ID_BYTES], id[SPEC_ID_BYTES], expected[256], path[256], sha256[65];
    int32_t added = -1;

    fixture_done(p->there, &train, 2.0, train_id);
    fixture_done(p->there, &eval, 9.0, id);
    struct store_point point = {4, id, 512, 1024, 0};
    assert_int_equal(store_set_points(p->there->store, "table5", "mini", &point, 1, &p->there->e),
                     0);
    /* the folder names the results.db in it; its writer may be at work */
    if (store_merge(p->here->store, p->there->dir, &added, &p->here->e) < 0)
        fail_msg("%s", p->here->e.text);
    assert_int_equal(added, 2);
    assert_cell(p->here, "SELECT perplexity||' '||L_valid_nominal FROM evaluations", "9.0 1024");
    assert_cell(p->here, "SELECT targets||' '||nll FROM position_loss", "100 250.0");
    snprintf(expected, sizeof expected, "%s/runs/%s/1/log", p->there->dir, id);
    assert_cell(p->here,
                "SELECT log_path FROM attempts WHERE run_id=(SELECT run_id FROM evaluations)",
                expected);
    assert_int_equal(
        store_checkpoint(p->here->store, train_id, SPEC_BEST, path, sha256, &p->here->e), 0);
    assert_int_equal(path[0], '/');
    assert_int_equal(store_check(p->here->store, &p->here->e), 0);
}

TEST_WITH(struct pair *p, a_file_that_lacks_a_field_is_merged_without_it)
{
    struct spec train = fixture_train(SPEC_ALIBI, 64, 1);
    char id[SPEC_ID_BYTES];
    int32_t added = -1;

    fixture_done(p->there, &train, 2.0, id);
    store_fixture_close(p->there);
    fixture_raw(p->there->path, "PRAGMA writable_schema=ON; DELETE FROM sqlite_schema WHERE "
                                "type='view'; PRAGMA writable_schema=RESET; ALTER TABLE results "
                                "DROP COLUMN mfu");
    if (store_merge(p->here->store, p->there->path, &added, &p->here->e) < 0)
        fail_msg("%s", p->here->e.text);
    assert_int_equal(added, 1);
    assert_cell(p->here, "SELECT final_loss_nats||coalesce(mfu,'-') FROM results", "2.0-");
}

TEST_WITH(struct pair *p, merging_twice_changes_nothing)
{
    struct spec train = fixture_train(SPEC_ALIBI, 64, 1);
    char id[SPEC_ID_BYTES];
    int32_t added = -1;

    fixture_done(p->there, &train, 2.0, id);
    assert_int_equal(store_merge(p->here->store, p->there->path, &added, &p->here->e), 0);
    assert_int_equal(store_merge(p->here->store, p->there->path, &added, &p->here->e), 0);
    assert_int_equal(added, 0);
    assert_cell(p->here, "SELECT count(*) FROM attempts", "1");
    assert_cell(p->here, "SELECT count(*) FROM results", "1");
    assert_cell(p->there, "SELECT count(*) FROM results", "1");
}

TEST_WITH(struct pair *p, a_result_that_is_here_stays)
{
    struct spec train = fixture_train(SPEC_ALIBI, 64, 1);
    struct spec other = fixture_train(SPEC_ALIBI, 64, 2);
    char id[SPEC_ID_BYTES];
    int32_t added = -1;

    fixture_done(p->here, &train, 1.0, id);
    fixture_done(p->there, &train, 2.0, id);
    fixture_done(p->there, &other, 3.0, id);
    fixture_start(p->there, id); /* running there: not ours to settle */
    assert_int_equal(store_merge(p->here->store, p->there->path, &added, &p->here->e), 0);
    assert_int_equal(added, 1);
    assert_cell(p->here,
                "SELECT group_concat(pair) FROM (SELECT seed||':'||final_loss_nats AS pair FROM "
                "trainings ORDER BY seed)",
                "1:1.0,2:3.0");
    assert_cell(p->here,
                "SELECT group_concat(attempt) FROM attempts JOIN runs USING(run_id) WHERE "
                "seed=1",
                "1,2");
    assert_cell(p->here, "SELECT count(*) FROM attempts WHERE state='running'", "0");
}

TEST_WITH(struct pair *p, an_evaluation_of_another_checkpoint_is_not_shown)
{
    struct spec train = fixture_train(SPEC_ALIBI, 64, 1);
    struct spec eval = fixture_eval(&train, 128);
    char train_id[SPEC_ID_BYTES], id[SPEC_ID_BYTES];
    int32_t added = -1;

    fixture_add(p->here, &train, train_id);
    int64_t attempt = fixture_start(p->here, train_id);
    fixture_trained(p->here, attempt, train_id, 1, 2.0, "mine");
    fixture_end(p->here, attempt, STORE_DONE);
    fixture_done(p->there, &train, 2.0, train_id);
    fixture_done(p->there, &eval, 9.0, id);
    assert_int_equal(store_merge(p->here->store, p->there->path, &added, &p->here->e), 0);
    assert_int_equal(added, 0);
    assert_cell(p->here, "SELECT count(*) FROM evaluations", "0");
    assert_cell(p->here, "SELECT count(*) FROM results", "3");
}

TEST_WITH(struct pair *p, what_cannot_be_merged_says_why)
{
    sqlite3 *raw = NULL;

    assert_int_equal(store_merge(p->here->store, "/nowhere/results.db", NULL, &e), ERR_NOINPUT);
    assert_int_equal(store_merge(p->here->store, p->here->path, NULL, &e), ERR_USAGE);
    assert_non_null(strstr(e.text, "own file"));
    assert_int_equal(store_begin(p->here->store, &e), 0);
    assert_int_equal(store_merge(p->here->store, p->there->path, NULL, &e), ERR_USAGE);
    store_rollback(p->here->store);
    store_fixture_close(p->there);
    assert_int_equal(sqlite3_open(p->there->path, &raw), SQLITE_OK);
    sqlite3_exec(raw, "PRAGMA user_version=99", NULL, NULL, NULL);
    sqlite3_close(raw);
    assert_int_equal(store_merge(p->here->store, p->there->path, NULL, &e), ERR_UNAVAILABLE);
    assert_non_null(strstr(e.text, "version 99"));
}
