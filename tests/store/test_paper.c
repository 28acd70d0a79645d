/* test_paper.c - paper.tsv becomes rows, or says where it is wrong. */
#include "harness/test.h"

#include <string.h>

#include "store/database.h"
#include "store/store_fixture.h"

static int set_paper(struct store_fixture *f, const char *text)
{
    return fixture_set_paper(f, "table5", text);
}

TEST_EACH(store_fixture_setup, store_fixture_teardown)

TEST_WITH(struct store_fixture *f, a_cell_is_a_typed_row)
{
    assert_int_equal(set_paper(f, FIXTURE_PAPER
                               "\r\n"
                               "wikitext103\tleft\tALiBi L=512\t\t247M\t512\t1024\tvalid"
                               "\tsliding\t1\tL_valid\t1024\tperplexity\t17.92\tppl\t"
                               "a 'note'; -- \"x\"\tp. 24\r\n"),
                     0);
    assert_rows(f, "SELECT * FROM paper_values",
                "table5 wikitext103 left ALiBi L=512 - 247M 512 1024 valid sliding 1 L_valid 1024 "
                "perplexity 17.92 ppl a 'note'; -- \"x\" p. 24 alibi 2");
}

TEST_WITH(struct store_fixture *f, an_empty_value_is_null_where_memory_ran_out)
{
    assert_int_equal(set_paper(f, FIXTURE_PAPER
                               "\n\t\t\tT5 Bias\t\t512\t15512\tvalid\tnonoverlapping\t\t"
                               "\t\tperplexity\t\t\tout of memory\t"),
                     0);
    assert_rows(f, "SELECT position, value, stride FROM paper_values", "t5 - -");
}

TEST_WITH(struct store_fixture *f, positions_come_from_the_column_the_method_or_the_series)
{
    static const struct {
        const char *position, *method, *series, *expected;
    } rows[] = {
        {"", "Sinusoidal", "", "sinusoidal"},
        {"", "Rotary", "", "rotary"},
        {"", "T5 Bias", "", "t5"},
        {"", "T5 bias", "", "t5"},
        {"", "ALiBi", "", "alibi"},
        {"", "", "Sinusoidal L=3072", "sinusoidal"},
        {"alibi", "our method", "", "alibi"},
        {"", "Sinusoidal std. dev.", "", "NULL"},
        {"", "Transformer-XL", "", "NULL"},
        {"", "ALiBi L=", "", "NULL"},
    };
    char text[1024];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(text, sizeof text,
                 "position\t" FIXTURE_PAPER
                 "\n%s\t\t\t%s\t%s\t\t\t\t\t\t\t\t\tperplexity\t1\t\t\t\n",
                 rows[i].position, rows[i].series, rows[i].method);
        assert_works(f, set_paper(f, text));
        assert_cell(f, "SELECT position FROM paper_values", rows[i].expected);
    }
}

TEST_WITH(struct store_fixture *f, a_mistake_has_file_line_and_column)
{
    static const struct {
        const char *text, *where, *word;
    } wrong[] = {
        {"", "paper.tsv:0:1", "no header"},
        {"dataset\tpanel\tserie\n", "paper.tsv:1:15", "did you mean 'series'"},
        {"dataset\tdataset\n", "paper.tsv:1:9", "second column 'dataset'"},
        {"dataset\tpanel\n", "paper.tsv:1:1", "lacks the column 'series'"},
        {FIXTURE_PAPER "\n\t\t\n", "paper.tsv:2:3", "3 cells, the header has 17"},
        {FIXTURE_PAPER "\n\t\t\t\t\tabc\t\t\t\t\t\t\tperplexity\t\t\t\t\n", "paper.tsv:2:6",
         "'abc'"},
        {FIXTURE_PAPER "\n\t\t\t\t\t-5\t\t\t\t\t\t\tperplexity\t\t\t\t\n", "paper.tsv:2:6", "'-5'"},
        {FIXTURE_PAPER "\n\t\t\t\t\t\t\t\t\t\t\t\tperplexity\t1,5\t\t\t\n", "paper.tsv:2:24",
         "'1,5'"},
        {FIXTURE_PAPER "\n\t\t\t\t\t\t\t\t\t\t\t\tperplexity\tnan\t\t\t\n", "paper.tsv:2:24",
         "'nan'"},
        {FIXTURE_PAPER "\n\t\t\t\t\t\t\tdev\t\t\t\t\tperplexity\t1\t\t\t\n", "paper.tsv:2:8",
         "'dev'"},
        {FIXTURE_PAPER "\n\t\t\t\t\t\t\t\t\t\t\t\t\t1\t\t\t\n", "paper.tsv:2:13", "metric"},
    };

    assert_int_equal(set_paper(f, FIXTURE_PAPER "\n\t\t\t\t\t\t\t\t\t\t\t\tgood\t1\t\t\t\n"), 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(set_paper(f, wrong[i].text), ERR_DATA);
        if (!strstr(f->e.text, wrong[i].where) || !strstr(f->e.text, wrong[i].word))
            fail_msg("%s: expected %s and %s", f->e.text, wrong[i].where, wrong[i].word);
        assert_cell(f, "SELECT group_concat(metric) FROM paper_values", "good");
    }
}

TEST_WITH(struct store_fixture *f, the_same_file_again_changes_nothing)
{
    const char *text = FIXTURE_PAPER "\n\t\t\t\t\t\t\t\t\t\t\t\tperplexity\t1\t\t\t\n";

    assert_int_equal(set_paper(f, text), 0);
    int changes_n = sqlite3_total_changes(f->store->connection_own);
    assert_in_range(changes_n, 1, 100);
    assert_int_equal(set_paper(f, text), 0);
    assert_int_equal(sqlite3_total_changes(f->store->connection_own), changes_n);
    assert_cell(f, "SELECT count(*) FROM paper_values", "1");
    assert_int_equal(set_paper(f, FIXTURE_PAPER "\n"), 0);
    assert_cell(f, "SELECT count(*) FROM paper_values", "0");
    assert_int_equal(store_set_paper(f->store, "table5", "/nowhere/paper.tsv", &f->e), ERR_NOINPUT);
}
