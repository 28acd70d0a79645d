/* test_query.c - ad hoc questions read and nothing else, in their time, with helpful refusals. */
#include "harness/test.h"

#include <string.h>

#include "store/store_fixture.h"

TEST_EACH(store_fixture_setup, store_fixture_teardown)

TEST_WITH(struct store_fixture *f, only_select_passes)
{
    static const char *const refused[] = {
        "DELETE FROM runs",
        "INSERT INTO claim_verdicts VALUES('a','b','c','d','supported',NULL,'now')",
        "UPDATE results SET current=0",
        "DROP TABLE runs",
        "CREATE TABLE x(y)",
        "CREATE TEMP VIEW v AS SELECT 1",
        "ATTACH ':memory:' AS x",
        "ATTACH '/tmp/never-made.db' AS x",
        "DETACH main",
        "PRAGMA journal_mode=DELETE",
        "PRAGMA user_version=7",
        "PRAGMA table_info(runs)",
        "SELECT * FROM pragma_user_version",
        "VACUUM INTO '/tmp/never-made.db'",
        "BEGIN",
        "REINDEX",
        "EXPLAIN SELECT 1",
        "SELECT load_extension('x')",
    };

    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        if (fixture_query(f, refused[i]) != ERR_USAGE) fail_msg("%s: %s", refused[i], f->e.text);
        assert_non_null(strstr(f->e.text, "only SELECT"));
    }
    assert_cell(f, "SELECT count(*) FROM sqlite_schema WHERE name='runs'", "1");
    assert_int_equal(store_check(f->store, &f->e), 0);
}

TEST_WITH(struct store_fixture *f, one_statement_only)
{
    assert_int_equal(fixture_query(f, "SELECT 1; SELECT 2"), ERR_USAGE);
    assert_non_null(strstr(f->e.text, "only one statement"));
    assert_int_equal(fixture_query(f, "SELECT 1; DROP TABLE runs"), ERR_USAGE);
    assert_int_equal(fixture_query(f, "SELECT 1; nonsense"), ERR_USAGE);
    assert_int_equal(fixture_query(f, "SELECT 1; -- done\n ;/* really */ ;"), 0);
    assert_refused(f, ERR_USAGE, "empty statement", fixture_query(f, "  -- nothing"));
}

TEST_WITH(struct store_fixture *f, a_wrong_name_gets_the_nearest)
{
    assert_refused(f, ERR_USAGE, "did you mean 'perplexity'",
                   fixture_query(f, "SELECT e.perplexty FROM evaluations e"));
    assert_refused(f, ERR_USAGE, "did you mean 'evaluations'",
                   fixture_query(f, "SELECT * FROM evaluation"));
    assert_refused(f, ERR_USAGE, "lists the views",
                   fixture_query(f, "SELECT * FROM zzzzzzzzzzzzzzzzzz"));
    assert_refused(f, ERR_USAGE, "syntax error", fixture_query(f, "SELEC 1"));
    assert_int_equal(fixture_query(f, "SELECT 1"), 0); /* and the fences are gone and back */
}

TEST_WITH(struct store_fixture *f, a_text_without_quotes_gets_a_hint)
{
    static const char *const wrong[] = {"SELECT 1 FROM evaluations WHERE position = alibi",
                                        "SELECT 1 FROM evaluations WHERE position = \"alibi\"",
                                        "SELECT \"no such name\""};

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (fixture_query(f, wrong[i]) != ERR_USAGE) fail_msg("%s: %s", wrong[i], f->e.text);
        assert_non_null(strstr(f->e.text, "in 'single quotes'"));
    }
    assert_int_equal(fixture_query(f, "SELECT e.zzzzzzzzzz FROM evaluations e"), ERR_USAGE);
    assert_null(strstr(f->e.text, "single quotes"));
}

#define ENDLESS "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) "

/* Steps of every length: SQLite's own, and functions over long texts. */
TEST_WITH(struct store_fixture *f, a_query_without_end_ends_in_its_time)
{
    static const char *const endless[] = {
        ENDLESS "SELECT count(*) FROM n",
        ENDLESS "SELECT sum(t LIKE '%0%0%0%0%0%b') FROM n, (SELECT hex(zeroblob(400000)) AS t)",
        ENDLESS "SELECT sum(length(replace(t,'0','1'))) FROM n,"
                " (SELECT hex(zeroblob(400000)) AS t)",
    };

    for (size_t i = 0; i < sizeof endless / sizeof *endless; i++) {
        assert_refused(f, ERR_UNAVAILABLE, "longer than 0.1 s",
                       store_query(f->store, endless[i], NULL, 0, 0.1, NULL, NULL, &f->e));
        assert_int_equal(fixture_query(f, "SELECT 1"), 0);
    }
}

static int ask_without_end(void *context, int columns_n, const char *const *names,
                           const struct store_cell *cells, struct err *e)
{
    struct store_fixture *f = context;

    (void)columns_n, (void)names, (void)cells;
    return store_query(f->store, ENDLESS "SELECT count(*) FROM n", NULL, 0, 1e6, NULL, NULL, e);
}

TEST_WITH(struct store_fixture *f, the_time_limit_of_a_query_includes_those_of_its_row_function)
{
    assert_refused(f, ERR_UNAVAILABLE, "longer than 0.1 s",
                   store_query(f->store, "SELECT 1", NULL, 0, 0.1, ask_without_end, f, &f->e));
    assert_int_equal(fixture_query(f, "SELECT 1"), 0);
}

struct row_text {
    char text[256];
};

static int join_cells(void *context, int columns_n, const char *const *names,
                      const struct store_cell *cells, struct err *e)
{
    struct row_text *row = context;

    (void)e;
    for (int i = 0; i < columns_n; i++) {
        size_t n = strlen(row->text);
        snprintf(row->text + n, sizeof row->text - n, "%s:%c:%s;", names[i], cells[i].type,
                 cells[i].text ? cells[i].text : "NULL");
    }
    return 0;
}

TEST_WITH(struct store_fixture *f, cells_have_types_and_shortest_numbers)
{
    struct row_text row = {""};

    assert_int_equal(store_query(f->store,
                                 "SELECT 1 AS a, 0.1 AS b, 'x' AS c, NULL AS d, 1e300 AS g", NULL,
                                 0, 1, join_cells, &row, &f->e),
                     0);
    assert_string_equal(row.text, "a:i:1;b:r:0.1;c:t:x;d:n:NULL;g:r:1e+300;");
}

TEST_WITH(struct store_fixture *f, parameters_are_bound_by_name_and_kind)
{
    struct row_text row = {""};
    struct store_param params[] = {{"scale", "mini"}, {"L", "64"},     {"x", "0.5"},
                                   {"none", NULL},    {"unused", "1"}, {"text", "'; --"}};

    assert_int_equal(store_query(f->store,
                                 "SELECT :scale AS s, :L AS l, :x AS x, :none AS n, :text AS t",
                                 params, 6, 1, join_cells, &row, &f->e),
                     0);
    assert_string_equal(row.text, "s:t:mini;l:i:64;x:r:0.5;n:n:NULL;t:t:'; --;");
    assert_refused(f, ERR_USAGE, ":other has no value",
                   store_query(f->store, "SELECT :other", params, 6, 1, join_cells, &row, &f->e));
    struct store_param ids[] = {{"a", "1234567890123e45"}, {"b", "0012345678901234"}};
    row.text[0] = '\0';
    assert_int_equal(
        store_query(f->store, "SELECT :a AS a, :b AS b", ids, 2, 1, join_cells, &row, &f->e), 0);
    assert_string_equal(row.text, "a:t:1234567890123e45;b:t:0012345678901234;");
}

static int stop_at_once(void *context, int columns_n, const char *const *names,
                        const struct store_cell *cells, struct err *e)
{
    (void)columns_n, (void)names, (void)cells;
    ++*(int *)context;
    return ERR(e, ERR_IO, "the pipe is closed");
}

TEST_WITH(struct store_fixture *f, a_reader_of_rows_may_stop)
{
    int rows = 0;

    assert_int_equal(store_query(f->store, "SELECT 1 UNION ALL SELECT 2", NULL, 0, 1, stop_at_once,
                                 &rows, &f->e),
                     ERR_IO);
    assert_int_equal(rows, 1);
    assert_string_equal(f->e.text, "the pipe is closed");
}

static int ask_again(void *context, int columns_n, const char *const *names,
                     const struct store_cell *cells, struct err *e)
{
    struct store_fixture *f = context;
    char path[256], sha256[65];

    (void)columns_n, (void)names;
    assert_string_equal(fixture_cell(f->store, "SELECT count(*) FROM trainings"), "1");
    assert_int_equal(store_clear_results(f->store, cells[0].text, &f->e), ERR_INTERNAL);
    return store_checkpoint(f->store, cells[0].text, SPEC_BEST, path, sha256, e);
}

TEST_WITH(struct store_fixture *f, a_row_function_may_query_but_not_write)
{
    fixture_done(f, &f->train, 2.0, NULL);
    assert_int_equal(
        store_query(f->store, "SELECT run_id FROM trainings", NULL, 0, 9, ask_again, f, &f->e), 0);
    assert_cell(f, "SELECT count(*) FROM trainings", "1");
    assert_int_equal(store_clear_results(f->store, f->id, &f->e), 0);
}

TEST_WITH(struct store_fixture *f, a_reader_queries_without_a_lock)
{
    struct store *reader = NULL;

    assert_int_equal(store_open(&reader, f->path, STORE_READ, &f->e), 0);
    assert_string_equal(fixture_cell(reader, "SELECT count(*) FROM trainings"), "0");
    assert_int_equal(store_begin(f->store, &f->e), 0);
    fixture_done(f, &f->train, 2.0, NULL);
    assert_string_equal(fixture_cell(reader, "SELECT count(*) FROM trainings"), "0");
    assert_int_equal(store_commit(f->store, &f->e), 0);
    assert_string_equal(fixture_cell(reader, "SELECT count(*) FROM trainings"), "1");
    store_fixture_close(f); /* the writer is gone; the reader reads on */
    assert_string_equal(fixture_cell(reader, "SELECT count(*) FROM trainings"), "1");
    assert_int_not_equal(store_clear_results(reader, f->id, &f->e), 0);
    assert_string_equal(fixture_cell(reader, "SELECT count(*) FROM trainings"), "1");
    store_close(reader);
}

TEST_WITH(struct store_fixture *f, a_readers_transaction_is_one_view_of_the_file)
{
    struct store *reader = NULL;

    assert_int_equal(store_open(&reader, f->path, STORE_READ, &f->e), 0);
    assert_int_equal(store_begin(reader, &f->e), 0);
    assert_string_equal(fixture_cell(reader, "SELECT count(*) FROM trainings"), "0");
    fixture_done(f, &f->train, 2.0, NULL);
    assert_string_equal(fixture_cell(reader, "SELECT count(*) FROM trainings"), "0");
    assert_int_equal(store_commit(reader, &f->e), 0);
    assert_string_equal(fixture_cell(reader, "SELECT count(*) FROM trainings"), "1");
    store_close(reader);
}
