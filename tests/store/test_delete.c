/* test_delete.c - what a deletion takes, and that nothing of it stays in any table. */
#include "harness/test.h"

#include <string.h>
#include <unistd.h>

#include "store/store_fixture.h"

TEST_EACH(store_fixture_setup, store_fixture_teardown)

static struct store_doomed choose_runs(struct store_fixture *f, const char *artefact,
                                       const char *run_id)
{
    struct store_doomed doomed;
    bool found = true;
    static struct arena a;

    assert_works(f, store_choose_none(f->store, &f->e));
    if (artefact) assert_works(f, store_choose_artefact(f->store, artefact, NULL, &found, &f->e));
    if (run_id) assert_works(f, store_choose_run(f->store, run_id, &f->e));
    assert_true(found);
    arena_fini(&a);
    arena_init(&a);
    assert_works(f, store_doom(&doomed, &a, f->store, &f->e));
    return doomed;
}

static void need(struct store_fixture *f, const char *artefact, const char *run_id)
{
    const struct store_point point = {.point = 0, .run_id = run_id};

    assert_works(f, store_set_points(f->store, artefact, "mini", &point, 1, &f->e));
}

/* Fails at a table whose rows are not as `expected` says: some, or none. */
static void check_tables(const struct store_fixture *f, const char *tables, bool expected)
{
    char sql[256], *names = strdup(tables);

    for (char *rest = names, *name; (name = strsep(&rest, " "));) {
        snprintf(sql, sizeof sql, "SELECT count(*)>0 FROM %s", name);
        if ((fixture_raw(f->path, sql)[0] == '1') != expected)
            fail_msg("%s has %s rows", name, expected ? "no" : "some");
    }
    free(names);
}

/* The frozen file has rows in every table but progress_now and sources, which get one here. */
static void fill_every_table(struct store_fixture *f)
{
    store_fixture_close(f);
    unlink(f->path);
    char *dump = test_read("tests/store/frozen/v6.sql");
    fixture_raw(f->path, dump);
    free(dump);
    fixture_raw(
        f->path,
        "INSERT INTO progress_now(attempt_id,sequence,updated_at) SELECT attempt_id,9,'now'"
        " FROM run_attempts LIMIT 1;"
        "INSERT INTO sources(uid,id,kind,name,current,attempt,dir,path,sha256,registered_at)"
        " SELECT 'u',run_id,'folder','m',0,9,'runs/x/9','p','s','now' FROM runs LIMIT 1;");
}

TEST_WITH(struct store_fixture *f, nothing_of_deleted_runs_stays_in_any_table)
{
    struct store_doomed doomed;
    struct arena a;
    bool found;

    fill_every_table(f);
    char *tables = strdup(fixture_raw(
        f->path, "SELECT group_concat(name,' ') FROM sqlite_schema WHERE type='table'"));
    char *ids = strdup(fixture_raw(f->path, "SELECT group_concat(run_id,' ') FROM runs"));
    check_tables(f, tables, true);
    store_fixture_open(f, STORE_WRITE);
    assert_works(f, store_choose_none(f->store, &f->e));
    assert_works(f, store_choose_artefact(f->store, "table5", NULL, &found, &f->e));
    for (char *rest = ids, *id; (id = strsep(&rest, " "));)
        assert_works(f, store_choose_run(f->store, id, &f->e));
    arena_init(&a);
    assert_works(f, store_doom(&doomed, &a, f->store, &f->e));
    arena_fini(&a);
    assert_works(f, store_delete(f->store, &f->e));
    store_fixture_close(f);
    check_tables(f, tables, false);
    free(ids);
    free(tables);
}

TEST_WITH(struct store_fixture *f, what_another_artefact_needs_stays_with_its_training)
{
    char train[SPEC_ID_BYTES], eval[SPEC_ID_BYTES];
    struct spec longer = fixture_eval(&f->train, 256);

    fixture_done(f, &f->train, 2.0, train);
    fixture_done(f, &f->eval, 9.0, eval);
    need(f, "other", eval);
    fixture_done(f, &longer, 8.0, NULL);
    need(f, "mine", f->id);
    struct store_doomed doomed = choose_runs(f, "mine", NULL);
    assert_int_equal(doomed.trainings_n, 0);
    assert_int_equal(doomed.evaluations_n, 1);
    assert_works(f, store_delete(f->store, &f->e));
    assert_cell(f, "SELECT count(*) FROM evaluations", "1");
    assert_cell(f, "SELECT count(*) FROM trainings", "1");
    assert_works(f, store_check(f->store, &f->e));
}

TEST_WITH(struct store_fixture *f, a_training_takes_its_evaluations_and_a_needed_run_stays_wanted)
{
    char train[SPEC_ID_BYTES], eval[SPEC_ID_BYTES];

    fixture_done(f, &f->train, 2.0, train);
    fixture_done(f, &f->eval, 9.0, eval);
    need(f, "other", eval);
    struct store_doomed doomed = choose_runs(f, NULL, train);
    assert_int_equal(doomed.trainings_n + doomed.evaluations_n, 2);
    assert_string_equal(doomed.needed_by, "other");
    assert_works(f, store_delete(f->store, &f->e));
    assert_rows(f, "SELECT kind, state FROM run_list ORDER BY kind", "eval none ; train none");
    assert_works(f, store_check(f->store, &f->e));
}

TEST_WITH(struct store_fixture *f, a_run_that_is_marked_running_is_refused)
{
    struct store_doomed doomed;
    struct arena a;

    fixture_start_next(f, &f->train);
    arena_init(&a);
    assert_works(f, store_choose_none(f->store, &f->e));
    assert_works(f, store_choose_run(f->store, f->id, &f->e));
    assert_refused(f, ERR_TRYLATER, "marked running", store_doom(&doomed, &a, f->store, &f->e));
    arena_fini(&a);
}
