/* test_answer.c - CSV and JSON, and answers in every format. */
#include "harness/test.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "report/report_fixture.h"
#include "report/writer.h"

/* The answer of a query in a format; the caller frees it. */
static char *answer(struct report_fixture *f, const char *sql, enum report_format format)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    int rc = report_query(out, f->base->store, sql, 5, format, &f->base->e);
    fclose(out);
    if (rc < 0) fail_msg("%s", f->base->e.text);
    return text;
}

TEST_EACH(report_fixture_setup, report_fixture_teardown)

TEST_WITH(void *fixture_of_case, csv_quotes_commas_quotes_and_line_ends)
{
    void **state = &fixture_of_case;
    char *text = answer(*state,
                        "SELECT 'a,b' AS x, 'say \"no\"' AS y, 'two' || char(10) || 'lines' AS z,"
                        " NULL AS none, '' AS empty, 0.1 AS f, 7 AS i",
                        REPORT_CSV);
    assert_string_equal(text, "x,y,z,none,empty,f,i\n"
                              "\"a,b\",\"say \"\"no\"\"\",\"two\nlines\",,\"\",0.1,7\n");
    free(text);
}

TEST_WITH(void *fixture_of_case, json_keeps_types_and_every_digit)
{
    void **state = &fixture_of_case;
    char *text =
        answer(*state, "SELECT 'a\"b' AS t, 0.1+0.2 AS f, 12 AS i, NULL AS n, 1.0 AS one, 2 AS i",
               REPORT_JSON);
    json_t *array = json_loads(text, 0, NULL);
    assert_non_null(array);
    const json_t *row = json_array_get(array, 0);
    assert_string_equal(json_string_value(json_object_get(row, "t")), "a\"b");
    assert_true(json_real_value(json_object_get(row, "f")) == 0.1 + 0.2);
    assert_int_equal(json_integer_value(json_object_get(row, "i")), 12);
    assert_int_equal(json_integer_value(json_object_get(row, "i_2")), 2);
    assert_true(json_is_null(json_object_get(row, "n")));
    assert_contains(text, "0.30000000000000004");
    json_decref(array);
    free(text);
}

TEST_WITH(void *fixture_of_case, an_empty_answer_is_an_empty_array)
{
    void **state = &fixture_of_case;
    char *text = answer(*state, "SELECT 1 AS x WHERE 0", REPORT_JSON);
    assert_string_equal(text, "[]\n");
    free(text);
}

TEST_WITH(void *fixture_of_case, text_aligns_by_characters_not_bytes)
{
    void **state = &fixture_of_case;
    char *text = answer(*state,
                        "SELECT 'ALiBi' AS method, 1.5 AS ppl, '1 ± 2' AS wide"
                        " UNION ALL SELECT '–', 22.25, NULL",
                        REPORT_TEXT);
    assert_string_equal(text, "method    ppl  wide\n"
                              "--------------------\n"
                              "ALiBi     1.5  1 ± 2\n"
                              "–       22.25\n");
    free(text);
}

TEST_WITH(void *fixture_of_case, markdown_escapes_bars_and_points_numbers_right)
{
    void **state = &fixture_of_case;
    char *text = answer(*state, "SELECT 'a|b' AS t, 3 AS n", REPORT_MARKDOWN);
    assert_string_equal(text, "| t | n |\n| :--- | ---: |\n| a\\|b | 3 |\n");
    free(text);
}

TEST_WITH(void *fixture_of_case, latex_is_a_booktabs_table_with_its_signs_escaped)
{
    void **state = &fixture_of_case;
    char *text = answer(*state, "SELECT 'L_train 5% – 1 ± 2' AS 'a&b', 3 AS n", REPORT_LATEX);
    assert_string_equal(text,
                        "\\begin{tabular}{lr}\n\\toprule\na\\&b & n \\\\\n\\midrule\n"
                        "L\\_train 5\\% -- 1 $\\pm$ 2 & 3 \\\\\n\\bottomrule\n\\end{tabular}\n");
    free(text);
}

TEST_WITH(void *fixture_of_case, latex_breaks_sentences_into_lines_and_sets_a_minus)
{
    void **state = &fixture_of_case;
    char *text = answer(*state,
                        "SELECT 'P1' AS id, substr(hex(zeroblob(40)), 1, 61) AS long,"
                        " substr(hex(zeroblob(40)), 1, 60) AS short, -0.5 AS d",
                        REPORT_LATEX);
    assert_contains(text, "\\begin{tabular}{lp{0.70\\linewidth}lr}\n");
    assert_contains(text, " & $-$0.5 \\\\\n");
    free(text);
}

TEST_WITH(void *fixture_of_case, control_characters_do_not_reach_the_terminal)
{
    void **state = &fixture_of_case;
    char *text = answer(*state, "SELECT char(27) || '[2J' AS t", REPORT_TEXT);
    assert_contains(text, "\\x1b[2J");
    assert_null(strchr(text, 27));
    free(text);
}

TEST(an_unknown_format_names_those_there_are)
{
    enum report_format format;
    assert_int_equal(report_format_find(&format, "yaml", &e), ERR_USAGE);
    assert_contains(e.text, "markdown");
    assert_int_equal(report_format_find(&format, "json", &e), 0);
    assert_int_equal(format, REPORT_JSON);
}

TEST_WITH(struct report_fixture *f, a_query_that_writes_is_refused_and_says_so)
{
    assert_int_equal(
        report_query(stdout, f->base->store, "DELETE FROM runs", 5, REPORT_TEXT, &f->base->e),
        ERR_USAGE);
    assert_contains(f->base->e.text, "SELECT");
}

TEST_WITH(struct report_fixture *f, a_query_past_its_time_is_given_up)
{
    int rc = report_query(stdout, f->base->store,
                          "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n)"
                          " SELECT count(*) FROM n",
                          0.05, REPORT_TEXT, &f->base->e);
    assert_int_equal(rc, ERR_UNAVAILABLE);
    assert_contains(f->base->e.text, "0.05");
}

TEST_WITH(struct report_fixture *f, a_ragged_tsv_names_its_line)
{
    struct report_rows rows;
    struct arena a;
    char path[256];

    report_fixture_write(f, "paper.tsv", "a\tb\tc\n1\t\tx\n1\t2\n");
    snprintf(path, sizeof path, "%s/paper.tsv", f->artefact_dir);
    arena_init(&a);
    assert_int_equal(report_rows_tsv(&rows, &a, path, &f->base->e), ERR_DATA);
    assert_contains(f->base->e.text, "paper.tsv:3: 2 cells, the header line has 3");
    report_fixture_write(f, "paper.tsv", "a\tb\tc\n1\t\tx\n");
    assert_int_equal(report_rows_tsv(&rows, &a, path, &f->base->e), 0);
    assert_int_equal(rows.rows_n, 1);
    assert_null(report_rows_text(&rows, 0, report_rows_column(&rows, "b")));
    assert_string_equal(report_rows_text(&rows, 0, report_rows_column(&rows, "c")), "x");
    arena_fini(&a);
}
