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

TEST_WITH(struct store_fixture *f, a_name_of_another_view_or_a_setting_gets_its_place)
{
    static const struct {
        const char *sql, *words;
    } wrong[] = {
        {"SELECT lr FROM trainings", "column: lr; it is a column of curves; a setting is a row of "
                                     "the view settings: WHERE key = 'train.lr'"},
        {"SELECT t.lr FROM trainings t", "WHERE key = 'train.lr'"},
        {"SELECT train.lr FROM settings", "column: train.lr; a setting is a row of the view "
                                          "settings: WHERE key = 'train.lr'"},
        {"SELECT loss FROM trainings", "did you mean 'final_loss_nats'"},
        {"SELECT perplexity FROM comparison", "column of evaluations, position_loss, "},
        {"SELECT e.postion FROM evaluations e", "did you mean 'position'"},
    };

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (fixture_query(f, wrong[i].sql) != ERR_USAGE || !strstr(f->e.text, wrong[i].words))
            fail_msg("%s: %s", wrong[i].sql, f->e.text);
    }
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

/* They are bound, so that they may be longer than a statement; the table ends with its statement.
 */
TEST_WITH(struct store_fixture *f, rows_are_a_table_of_one_statement)
{
    static const char made[] =
        ENDLESS "SELECT i, i/2.0, NULL, hex(zeroblob(10000)) FROM n LIMIT 100";
    static const char sql[] =
        "SELECT group_concat(DISTINCT typeof(c0)||typeof(c1)||typeof(c2)||typeof(c3)) AS types,"
        " sum(c0) AS n, sum(c1) AS reals, sum(length(c3)) AS bytes FROM given";
    struct arena a;
    struct rows rows, sums;

    arena_init(&a);
    assert_works(f, store_query(f->store, &rows, &a, made, NULL, 0, 0, &f->e));
    const struct store_param given = {"given", &rows, STORE_ROWS};
    for (int i = 0; i < 2; i++) {
        assert_works(f, fixture_ask(f, &sums, sql, &given, 1, 0));
        assert_string_equal(sums.row[0][0].text, "integerrealnulltext");
        assert_string_equal(sums.row[0][1].text, "5050");
        assert_string_equal(sums.row[0][2].text, "2525");
        assert_string_equal(sums.row[0][3].text, "2000000");
    }
    assert_refused(f, ERR_USAGE, "no such table: given", fixture_ask(f, &sums, sql, NULL, 0, 0));
    arena_fini(&a);
}

/* Steps of every length: SQLite's own, and functions over long texts. */
TEST_WITH(struct store_fixture *f, a_query_without_end_ends_in_its_time)
{
    static const char *const endless[] = {
        ENDLESS "SELECT count(*) FROM n",
        ENDLESS "SELECT sum(t LIKE '%0%0%0%0%0%b') FROM n, (SELECT hex(zeroblob(400000)) AS t)",
        ENDLESS "SELECT sum(length(replace(t,'0','1'))) FROM n,"
                " (SELECT hex(zeroblob(400000)) AS t)",
    };
    struct rows rows;

    for (size_t i = 0; i < sizeof endless / sizeof *endless; i++) {
        assert_refused(f, ERR_UNAVAILABLE, "longer than 0.1 s",
                       fixture_ask(f, &rows, endless[i], NULL, 0, 0.1));
        assert_int_equal(fixture_query(f, "SELECT 1"), 0);
    }
}

/* The cells of the only row: NAME:TYPE:TEXT;… */
static const char *cells_of(const struct rows *rows)
{
    static char text[256];
    size_t n = 0;

    assert_int_equal(rows->rows_n, 1);
    for (int32_t i = 0; i < rows->columns_n; i++) {
        const struct store_cell *cell = &rows->row[0][i];
        n += (size_t)snprintf(text + n, sizeof text - n, "%s:%c:%s;", rows->name[i], cell->type,
                              cell->text ? cell->text : "NULL");
    }
    return text;
}

TEST_WITH(struct store_fixture *f, cells_have_types_and_shortest_numbers)
{
    static const char sql[] = "SELECT 1 AS a, 0.1 AS b, 'x' AS c, NULL AS d, 1e300 AS g";
    struct rows rows;

    assert_works(f, fixture_ask(f, &rows, sql, NULL, 0, 1));
    assert_string_equal(cells_of(&rows), "a:i:1;b:r:0.1;c:t:x;d:n:NULL;g:r:1e+300;");
}

TEST_WITH(struct store_fixture *f, parameters_are_bound_by_name_and_type)
{
    static const char sql[] = "SELECT :id AS a, :digits AS b, :real AS c, :text AS d, :none AS n,"
                              " :L AS l, :length AS m";
    static const struct store_param params[] = {{"id", "1234567890123e45", STORE_TEXT},
                                                {"digits", "0012345678901234", STORE_TEXT},
                                                {"real", "0.5", STORE_TEXT},
                                                {"text", "'; --", STORE_TEXT},
                                                {"none", NULL, STORE_INTEGER},
                                                {"L", "64", STORE_INTEGER},
                                                {"length", "long", STORE_INTEGER},
                                                {"unused", "1", STORE_TEXT}};
    struct rows rows;

    assert_works(f, fixture_ask(f, &rows, sql, params, 8, 1));
    assert_string_equal(cells_of(&rows), "a:t:1234567890123e45;b:t:0012345678901234;c:t:0.5;"
                                         "d:t:'; --;n:n:NULL;l:i:64;m:t:long;");
    assert_refused(f, ERR_USAGE, ":other has no value",
                   fixture_ask(f, &rows, "SELECT :other", params, 8, 1));
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
