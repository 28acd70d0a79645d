/* test_layout.c - table.txt: what it says and how its faults are told. */
#include "harness/test.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "report/layout.h"

static const char good[] = "# a comment\n"
                           "title:  Two: words\n"
                           "\n"
                           "group:  L_train\n"
                           "rows:   method , L_train\n"
                           "columns: L_valid\r\n"
                           "value:  perplexity\n"
                           "format: %.3f\n"
                           "extra:  train_wps | words/s | %.0f | 1e-3\n"
                           "note:   One.\n"
                           "note:   Two.\n";

static void expect_fault(const char *text, const char *said)
{
    struct report_layout l;
    struct arena a;
    struct err e = {0};

    arena_init(&a);
    assert_int_equal(report_layout_read(&l, &a, "x/table.txt", text, &e), ERR_DATA);
    if (!strstr(e.text, said)) fail_msg("\"%s\" is not in: %s", said, e.text);
    arena_fini(&a);
}

TEST(every_key_is_read)
{
    struct report_layout l;
    struct arena a;

    arena_init(&a);
    if (report_layout_read(&l, &a, "table.txt", good, &e) < 0) fail_msg("%s", e.text);
    assert_string_equal(l.title, "Two: words");
    assert_int_equal(l.group.n, 1);
    assert_int_equal(l.rows.n, 2);
    assert_string_equal(l.rows.name[0], "method");
    assert_string_equal(l.rows.name[1], "L_train");
    assert_string_equal(l.columns, "L_valid");
    assert_int_equal(l.decimals, 3);
    assert_int_equal(l.extras_n, 1);
    assert_string_equal(l.extra[0].heading, "words/s");
    assert_true(l.extra[0].factor == 1e-3);
    assert_int_equal(l.notes_n, 2);
    assert_int_equal(l.paper.n, 0);
    arena_fini(&a);
}

TEST(an_unknown_key_names_its_line_and_the_nearest)
{
    expect_fault("title: t\ncolums: L_valid\n",
                 "x/table.txt:2: unknown key \"colums\"; did you mean columns");
    expect_fault("title: t\n\nzzzzzzzzzz: 1\n", "x/table.txt:3: unknown key");
    expect_fault("just words\n", "x/table.txt:1: \"just words\" has no colon");
}

TEST(a_format_that_is_no_number_format_is_refused)
{
    expect_fault("format: %s\n", "write %.Nf");
    expect_fault("format: %.9f\n", "N from 0 to 6");
    expect_fault("format: %n.2f\n", "is no format");
}

TEST(a_key_twice_or_lacking_is_refused)
{
    expect_fault("title: a\ntitle: b\n", "x/table.txt:2: title: is there twice");
    expect_fault("title: a\nrows: method\nvalue: p\n", "columns: must be there");
    expect_fault("title: a\nrows: m\ncolumns: c\nvalue: p\nx: L_valid\n", "a figure needs all of");
    expect_fault("extra: a | b | %.0f\n", "3 parts");
    expect_fault("rows: a, b c\n", "\"b c\" is no column name");
    expect_fault("rows: a,b,c,d,e\n", "more than 4 columns");
}

TEST(another_layout_gives_the_keys_that_are_not_given_here)
{
    struct report_layout l, from;
    struct arena a;

    arena_init(&a);
    assert_int_equal(report_layout_read(&from, &a, "from/table.txt", good, &e), 0);
    assert_int_equal(report_layout_read(&l, &a, "table.txt",
                                        "use: from/table.txt\nuse: other/query.sql\ntitle: Mine\n"
                                        "note: Only this.\nformat: p | %.1f\n",
                                        &e),
                     0);
    assert_int_equal(report_layout_inherit(&l, &from, "table.txt", &e), 0);
    assert_string_equal(l.title, "Mine");
    assert_int_equal(l.rows.n, 2);
    assert_string_equal(l.columns, "L_valid");
    assert_int_equal(l.notes_n, 1);
    assert_string_equal(l.note[0], "Only this.");
    assert_int_equal(l.decimals, 2); /* a format here replaces every one there */
    assert_int_equal(report_layout_decimals(&l, "p"), 1);
    assert_int_equal(l.extras_n, 1);
    assert_string_equal(report_layout_used(&l, "query.sql")->folder, "other");
    assert_int_equal(report_layout_used(&l, "query.sql")->line, 2);
    assert_null(report_layout_used(&l, "plot.gp"));
    arena_fini(&a);
}

TEST(a_file_of_another_artefact_is_named_as_folder_and_file)
{
    expect_fault("use: table2\n", "x/table.txt:1: use: \"table2\" is no file of another artefact");
    expect_fault("use: ../table2/query.sql\n", "write it as table2/query.sql");
    expect_fault("use: table2/quary.sql\n", "did you mean query.sql");
    expect_fault("use: table2/grid.yaml\n", "none of query.sql, table.txt, plot.gp, claim.sql");
    expect_fault("use: a/query.sql\nuse: b/query.sql\n", "x/table.txt:2: use: a second query.sql");
}
