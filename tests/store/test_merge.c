/* test_merge.c - results made elsewhere are ingested once, and what is here stays. */
#include "harness/test.h"

#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "record/run_folder.h"
#include "store/store_fixture.h"

static struct store_fixture *here, *there;

static int setup(void **state)
{
    (void)state;
    return store_fixture_setup((void **)&here) + store_fixture_setup((void **)&there);
}

static int teardown(void **state)
{
    (void)state;
    return store_fixture_teardown((void **)&here) + store_fixture_teardown((void **)&there);
}

/* Merges what is there with its run folders, which adds so many done runs. The folder names the
 * results.db in it. */
static void merge(int32_t expected)
{
    struct merge_result m;

    fixture_make_folders(there);
    assert_works(here, fixture_merge(here, &m, there->dir));
    assert_int_equal(m.results_n, expected);
}

TEST_EACH(setup, teardown)

TEST(runs_made_elsewhere_are_ingested)
{
    char train_id[SPEC_ID_BYTES], expected[256], path[256], sha256[65];

    fixture_done(there, &there->train, 2.0, train_id);
    fixture_done(there, &there->eval, 9.0, NULL);
    struct store_point point = {4, there->id, 512, 1024, 0};
    assert_works(there, store_set_points(there->store, "table5", "mini", &point, 1, &there->e));
    /* its writer may be at work */
    merge(2);
    assert_rows(here, "SELECT perplexity, L_valid_nominal FROM evaluations", "9 1024");
    assert_rows(here, "SELECT targets, nll FROM position_loss", "100 250");
    assert_rows(here, "SELECT targets, nll, hits, name FROM target_groups", "100 250 40 all");
    assert_rows(here, "SELECT first, last, targets, nll FROM target_blocks", "1 100 100 250");
    snprintf(expected, sizeof expected, "runs/%s/1/log", there->id);
    assert_cell(here, "SELECT log_path FROM attempts WHERE run_id=(SELECT run_id FROM evaluations)",
                expected);
    assert_works(here, store_checkpoint(here->store, train_id, SPEC_BEST, path, sha256, &here->e));
    assert_memory_equal(path, "runs/", 5);
    assert_int_equal(store_check(here->store, &here->e), 0);
}

TEST(a_file_that_lacks_a_field_is_merged_without_it)
{

    fixture_done(there, &there->train, 2.0, NULL);
    store_fixture_close(there);
    fixture_raw(there->path, "PRAGMA writable_schema=ON; DELETE FROM sqlite_schema WHERE "
                             "type='view'; PRAGMA writable_schema=RESET; ALTER TABLE results "
                             "DROP COLUMN mfu");
    merge(1);
    assert_cell(here, "SELECT final_loss_nats||coalesce(mfu,'-') FROM results", "2.0-");
}

TEST(merging_twice_changes_nothing)
{

    fixture_done(there, &there->train, 2.0, NULL);
    merge(1);
    merge(0);
    assert_cell(here, "SELECT count(*) FROM attempts", "1");
    assert_cell(here, "SELECT count(*) FROM results", "1");
    assert_cell(there, "SELECT count(*) FROM results", "1");
}

/* Adds a training there, as a row with a random uid and as a run folder. */
static void train_there(void)
{
    struct spec *spec = &there->train;
    struct record r[] = {
        {EVENT_STARTED, .started = {.device = "a processor", .code_id = "c0de"}},
        {EVENT_TRAINED,
         .trained = {.updates = 20, .tokens_per_update = 768, .final_loss_nats = 2, .run_id = ""}},
        {EVENT_ENDED, .ended = {.state = "done"}}};
    struct event_writer *w;

    spec->model.layers = spec->model.heads = 1;
    spec->model.dim = spec->model.ffn = spec->data.vocab = 8;
    spec->model.softmax = SPEC_PLAIN;
    spec->data.train_tokens = spec->data.valid_tokens = spec->data.test_tokens = 1000;
    spec->train.shard_tokens = spec->train.L;
    spec->train.period = 1;
    fixture_done(there, spec, 2.0, NULL);
    r[1].trained.run_id = there->id;
    char *dir = fixture_path(there, "runs/");
    strcat(strcat(dir, there->id), "/1");
    assert_works(there, file_make_dirs(dir, &there->e));
    assert_works(there, run_folder_write_specs(dir, (const struct spec *[]){spec}, 1, &there->e));
    assert_works(there, run_folder_append(&w, dir, &there->e));
    for (size_t i = 0; i < sizeof r / sizeof *r; i++)
        assert_works(there, record_write(w, &r[i], &there->e));
    event_writer_close(w);
}

TEST(an_attempt_is_ingested_once_from_a_database_and_its_folder)
{
    struct merge_result m;

    train_there();
    merge(1);
    assert_rows(here, "SELECT attempt, substr(dir,1,5) FROM attempts", "1 runs/");
    assert_works(here, fixture_merge(here, &m, fixture_path(there, "runs")));
    assert_int_equal(m.attempts_n, 0);
    assert_int_equal(m.known_n, 1);
    assert_cell(here, "SELECT count(*) FROM attempts", "1");
}

TEST(an_attempt_is_ingested_once_from_its_folder_and_a_database)
{
    struct merge_result m;

    train_there();
    assert_works(here, fixture_merge(here, &m, fixture_path(there, "runs")));
    assert_int_equal(m.attempts_n, 1);
    merge(0);
    assert_rows(here, "SELECT attempt, substr(dir,1,5) FROM attempts", "1 runs/");
    fixture_done(there, &there->train, 3.0, NULL); /* without a folder */
    merge(0);
    assert_cell(here, "SELECT count(*) FROM attempts", "2");
}

TEST(a_result_that_is_here_stays)
{
    struct spec other = fixture_train(SPEC_ALIBI, 64, 2);

    fixture_done(here, &there->train, 1.0, NULL);
    fixture_done(there, &there->train, 2.0, NULL);
    fixture_done(there, &other, 3.0, NULL);
    fixture_start(there, there->id); /* running there: not merged */
    merge(1);
    assert_rows(here, "SELECT seed, final_loss_nats FROM trainings ORDER BY seed", "1 1 ; 2 3");
    assert_cell(here,
                "SELECT group_concat(attempt) FROM attempts JOIN runs USING(run_id) WHERE "
                "seed=1",
                "1,2");
    assert_cell(here, "SELECT count(*) FROM attempts WHERE state='running'", "0");
}

TEST(an_evaluation_of_another_checkpoint_is_not_shown)
{
    int64_t attempt = fixture_start_next(here, &here->train);
    fixture_trained(here, attempt, here->id, 1, 2.0, "mine");
    fixture_end(here, attempt, STORE_DONE);
    fixture_done(there, &there->train, 2.0, NULL);
    fixture_done(there, &there->eval, 9.0, NULL);
    merge(0);
    assert_cell(here, "SELECT count(*) FROM evaluations", "0");
    assert_cell(here, "SELECT count(*) FROM results", "3");
}

/* A number that is valid there is none after the last one here. */
TEST(a_row_that_breaks_a_rule_is_wrong_data)
{
    struct merge_result m;

    fixture_done(here, &here->train, 2.0, NULL);
    fixture_done(there, &there->train, 2.0, NULL);
    fixture_make_folders(there);
    store_fixture_close(there);
    char *trigger = strdup(fixture_raw(there->path, "SELECT sql FROM sqlite_schema WHERE"
                                                    " type='trigger'"));
    fixture_raw(there->path, "DROP TRIGGER an_attempt_ends_once;"
                             "UPDATE run_attempts SET attempt=9223372036854775807");
    fixture_raw(there->path, trigger);
    free(trigger);
    assert_refused(here, ERR_DATA, "a row of run_attempts", fixture_merge(here, &m, there->path));
    assert_cell(here, "SELECT count(*) FROM attempts", "1");
}

/* Its results could not be verified, nor its trainings evaluated. */
TEST(a_file_without_its_run_folders_is_read_where_it_is)
{
    struct merge_result m;

    fixture_done(there, &there->train, 2.0, NULL);
    assert_refused(here, ERR_NOINPUT, "without their run folders (missing: 1, ",
                   fixture_merge(here, &m, there->path));
    assert_non_null(strstr(here->e.text, "`alibi report all --db /"));
    assert_cell(here, "SELECT count(*) FROM attempts", "0");
    merge(1);
}

/* A results.db on a local disk, behind a link: the run folders are beside the link. */
TEST(a_project_whose_file_is_behind_a_link_is_merged)
{
    char target[TEST_PATH_BYTES + 64];

    fixture_done(there, &there->train, 2.0, NULL);
    fixture_make_folders(there);
    store_fixture_close(there);
    assert_works(there, file_make_dirs(fixture_path(there, "disk"), &there->e));
    snprintf(target, sizeof target, "%s", fixture_path(there, "disk/results.db"));
    assert_int_equal(rename(there->path, target), 0);
    assert_int_equal(symlink(target, there->path), 0);
    merge(1);
}

TEST(what_cannot_be_merged_says_why)
{
    static const struct {
        const char *sql; /* first, by another program on the file that is there */
        int code;
        const char *word;
    } rows[] = {
        {"PRAGMA user_version=99", ERR_UNAVAILABLE, "version 99"},
        {"PRAGMA user_version=7; PRAGMA legacy_alter_table=ON; ALTER TABLE points RENAME TO kept;"
         "CREATE VIEW points AS SELECT * FROM kept; ALTER TABLE results RENAME TO kept_results;"
         "CREATE VIEW results AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n)"
         " SELECT k.* FROM kept_results k, n",
         ERR_DATA, "'points' is missing"},
    };
    struct merge_result m;
    struct store_run_state run;

    assert_refused(here, ERR_NOINPUT, "", fixture_merge(here, &m, "/nowhere/results.db"));
    assert_refused(here, ERR_USAGE, "own file", fixture_merge(here, &m, here->path));
    assert_refused(here, ERR_DATA, "neither a project folder nor a results.db",
                   fixture_merge(here, &m, "README.md"));
    assert_works(here, store_begin(here->store, &here->e));
    assert_refused(here, ERR_USAGE, "transaction", fixture_merge(here, &m, there->path));
    store_rollback(here->store);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fixture_raw(there->path, rows[i].sql);
        assert_refused(here, rows[i].code, rows[i].word, fixture_merge(here, &m, there->path));
        assert_non_null(strstr(here->e.text, there->path));
    }
    /* nor does the open store read a view in place of a table */
    assert_refused(there, ERR_DATA, "view or trigger",
                   store_run_state(there->store, "0123456789abcdef", &run, &there->e));
}

/* The message must not make a user move his own file away. */
TEST(damage_of_a_merged_file_names_that_file)
{
    struct merge_result m;

    store_fixture_close(there);
    assert_int_equal(truncate(there->path, 5 * 4096), 0);
    assert_refused(here, ERR_DATA, there->path, fixture_merge(here, &m, there->path));
    assert_null(strstr(here->e.text, here->path));
    assert_non_null(strstr(here->e.text, "`alibi merge runs/`"));
}
