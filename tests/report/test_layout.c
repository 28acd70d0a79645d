/* test_layout.c - table.txt: its keys and the messages about its faults. */
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
                           "format: eval_wps | %.0f\n"
                           "paper:  perplexity, eval_wps\n"
                           "extra:  train_wps | words/s | %.0f | 1e-3\n"
                           "note:   One.\n"
                           "note:   Two.\n"
                           "label:  train.lr=0.5 | high = fast\n"
                           "label:  eval.attention_window|\n";

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
    assert_int_equal(l.labels_n, 2);
    assert_string_equal(l.label[0].key, "train.lr");
    assert_string_equal(l.label[0].value, "0.5");
    assert_string_equal(l.label[0].words, "high = fast");
    assert_int_equal(l.label[0].line, 14);
    assert_null(l.label[1].value);
    assert_string_equal(l.label[1].words, "");
    assert_int_equal(l.paper.n, 2);
    assert_int_equal(report_layout_decimals(&l, "eval_wps"), 0);
    assert_int_equal(report_layout_decimals(&l, "another"), 3);
    assert_int_equal(report_layout_decimals(&l, NULL), 3);
    arena_fini(&a);
}

TEST(every_fault_names_its_line_and_the_remedy)
{
    static const struct {
        const char *text, *fault;
    } cases[] = {
        {"title: t\ncolums: L_valid\n",
         "x/table.txt:2: unknown key \"colums\" (src/report/layout.h lists them); did you mean "
         "'columns'?"},
        {"title: t\n\nzzzzzzzzzz: 1\n", "x/table.txt:3: unknown key"},
        {"just words\n", "x/table.txt:1: \"just words\" has no colon"},
        {"format: %s\n", "write %.Nf"},
        {"format: %.9f\n", "N from 0 to 6"},
        {"format: %n.2f\n", "is not a format"},
        {"format: wps | 3\n", "x/table.txt:1: \"3\" is not a format"},
        {"format: w p s | %.0f\n", "\"w p s\" is not a column name"},
        {"title: a\ntitle: b\n", "x/table.txt:2: title: is given twice"},
        {"title: a\nrows: method\nvalue: p\n", "the key columns: is missing"},
        {"title: a\nrows: m\ncolumns: c\nvalue: p\nx: L_valid\n", "a figure needs all of"},
        {"extra: a | b | %.0f\n", "3 parts"},
        {"extra: a | b | %.0f | x\n", "\"x\" is not a factor"},
        {"xscale: log\n", "x/table.txt:1: xscale: expected linear, log2 or log10, found \"log\""},
        {"rows: a, b c\n", "\"b c\" is not a column name"},
        {"rows: a,b,c,d,e\n", "more than 4 "},
        {"use: table2\n", "x/table.txt:1: use: \"table2\" is not a file of another artefact"},
        {"use: ../table2/query.sql\n", "write it as table2/query.sql"},
        {"use: table2/quary.sql\n", "did you mean 'query.sql'"},
        {"use: table2/grid.yaml\n", "expected query.sql, table.txt, plot.gp or claim.sql"},
        {"use: a/query.sql\nuse: b/query.sql\n", "x/table.txt:2: use: a second query.sql"},
        {"verdict: perplexity | 1 %\n", "2 parts"},
        {"verdict: perplexity | 1 | 5 %\n", "\"1\" is not a share"},
        {"verdict: perplexity | 0 % | 5 %\n", "\"0 %\" is not a share"},
        {"verdict: perplexity | 5 % | 1 %\n", "far (1 %) is less than near (5 %)"},
        {"verdict: perplexity | 1 % | 5 % | \n", "the device has no name"},
        {"verdict: perplexity | 1 % | 5 % | V100 | x\n", "5 parts"},
        {"verdict: per plexity | 1 % | 5 %\n", "is not a column name"},
        {"label: train.lr=1\n", "1 part; write label: SETTING=VALUE | words"},
        {"label: train.lr | a | b\n", "x/table.txt:1: 3 parts; write label:"},
        {"label: a b=1 | c\n", "\"a b\" is not a column name"},
        {"label: a=1 | c\nlabel: a = 1 | d\n", "x/table.txt:2: a second label: for a=1"},
        {"verdict: p | 1 % | 5 %\nverdict: p | 2 % | 5 %\n", "x/table.txt:2: a second verdict:"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct report_layout l;
        struct arena a;
        e = (struct err){0};
        arena_init(&a);
        int rc = report_layout_read(&l, &a, "x/table.txt", cases[i].text, &e);
        if (rc != ERR_DATA || !strstr(e.text, cases[i].fault))
            fail_msg("%s: \"%s\" is not in: %s", cases[i].text, cases[i].fault, e.text);
        arena_fini(&a);
    }
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
