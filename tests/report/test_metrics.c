/* test_metrics.c - tables of several metrics, each in its own format, and columns of the
 * protocol that stand at the head of a table instead of splitting it. */
#include "harness/test.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/layout.h"
#include "report/report_fixture.h"

static const char paper[] =
    "dataset\tpanel\tseries\tmethod\tparams\tL_train\tL_valid\tsplit\tprotocol\tstride\tx_name\tx\t"
    "metric\tvalue\tunit\tnote\tsource\tposition\n"
    "wikitext103\t\t\tALiBi\t247M\t512\t512\tvalid\tnonoverlapping\t\t\t\tperplexity\t19.73\tppl\t"
    "\tp.16\talibi\n"
    "wikitext103\t\t\tALiBi\t247M\t512\t512\ttest\tnonoverlapping\t\t\t\tperplexity\t20.50\tppl\t"
    "\tp.16\talibi\n"
    "wikitext103\t\t\tALiBi\t247M\t512\t512\tvalid\tnonoverlapping\t\t\t\teval_wps\t14726\twords/s"
    "\tone GPU\tp.16\talibi\n"
    "wikitext103\t\t\tT5 Bias\t247M\t512\t512\tvalid\tnonoverlapping\t\t\t\tperplexity\t\tppl"
    "\tOOM: out of memory on a 32GB GPU\tp.16\tt5\n"
    "wikitext103\t\t\tALiBi\t247M\t512\t512\tvalid\tnonoverlapping\t\t\t\tmemory_gb\t15.3\tGB"
    "\t\tp.15\talibi\n";

static const char layout[] = "title: Tiny\ngroup: metric\nrows: method\ncolumns: split\n"
                             "value: perplexity\nformat: perplexity | %.2f\n"
                             "format: eval_wps | %.0f\npaper: perplexity, eval_wps\n";

/* One planted evaluation on each split, as rows of the metric perplexity. */
static const char query[] =
    "SELECT 'perplexity' AS metric, 'ALiBi' AS method, s.split, 33.125 AS perplexity, 7 AS stride,"
    " 'a core' AS machine, 'r' || s.split AS run_id, 'c' || s.split AS config_id"
    " FROM (SELECT 'valid' AS split UNION ALL SELECT 'test') s WHERE :artefact <> :scale";

static char *report(struct report_fixture *f)
{
    int rc;
    const struct report_options o = {.scale = "mini"};
    char *text = report_fixture_report(f, "tiny", f->artefact_dir, &o, &rc);
    if (rc < 0) fail_msg("%s", f->base->e.text);
    return text;
}

TEST_EACH(report_fixture_setup, report_fixture_teardown)

TEST_WITH(struct report_fixture *f, a_split_at_the_head_of_the_columns_does_not_split_the_table)
{
    report_fixture_write(f, "table.txt", layout);
    report_fixture_write(f, "query.sql", query);
    char *text = report(f);
    assert_contains(text, "metric = perplexity\nsplit valid, test, stride 7, on a core\n\n"
                          "method  valid   test\n"
                          "--------------------\n");
    assert_contains(text, "ALiBi   33.12  33.12\n");
    free(text);
}

TEST_WITH(struct report_fixture *f, a_column_of_the_protocol_that_is_not_shown_splits_the_table)
{
    report_fixture_write(f, "table.txt",
                         "title: Tiny\nrows: method\ncolumns: metric\nvalue: perplexity\n");
    report_fixture_write(f, "query.sql", query);
    char *text = report(f);
    assert_contains(text, "split valid, stride 7");
    assert_contains(text, "split test, stride 7");
    free(text);
}

TEST_WITH(struct report_fixture *f, the_paper_shows_each_named_metric_in_its_own_format)
{
    report_fixture_write(f, "table.txt", layout);
    report_fixture_write(f, "query.sql", query);
    report_fixture_write(f, "paper.tsv", paper);
    char *text = report(f);
    assert_contains(
        text,
        "metric = perplexity\nwikitext103, 247M parameters, split valid, test, nonoverlapping "
        "windows, p.16\n\n"
        "method   valid   test\n"
        "---------------------\n"
        "ALiBi    19.73  20.50\n"
        "T5 Bias    OOM\n");
    assert_contains(text, "metric = eval_wps\n");
    assert_contains(text, "ALiBi   14726\n");
    assert_lacks(text, "memory_gb");
    assert_lacks(text, "15.3");
    free(text);
}

TEST_EACH(NULL, NULL)

TEST(formats_of_metrics_are_read_and_bad_ones_named)
{
    struct report_layout l;
    struct arena a;

    arena_init(&a);
    if (report_layout_read(&l, &a, "table.txt", layout, &e) < 0) fail_msg("%s", e.text);
    assert_int_equal(report_layout_decimals(&l, "eval_wps"), 0);
    assert_int_equal(report_layout_decimals(&l, "perplexity"), 2);
    assert_int_equal(report_layout_decimals(&l, "another"), 2);
    assert_int_equal(report_layout_decimals(&l, NULL), 2);
    assert_int_equal(l.paper.n, 2);
    assert_int_equal(report_layout_read(&l, &a, "x.txt", "format: wps | 3\n", &e), ERR_DATA);
    assert_contains(e.text, "x.txt:1: \"3\" is no format");
    assert_int_equal(report_layout_read(&l, &a, "x.txt", "format: w p s | %.0f\n", &e), ERR_DATA);
    assert_contains(e.text, "no column name");
    arena_fini(&a);
}
