/* test_scoreboard.c - what `alibi report all` ends with: a row for each artefact. */
#include "harness/test.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "report/report_fixture.h"

static char *summary(struct report_fixture *f, const struct report_item *items, int32_t n,
                     enum report_format format)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    const struct report_options o = {.format = format};

    assert_non_null(out);
    f->base->e = (struct err){0};
    int rc = report_summary(out, f->base->store, &f->project, items, n, &o, &f->base->e);
    fclose(out);
    if (rc < 0) fail_msg("%s", f->base->e.text);
    return text;
}

#define CLAIM(name, verdict, counted)                                                              \
    "SELECT '" name "' AS claim, 'S.' AS statement, '" verdict "' AS verdict, NULL AS evidence,"   \
    " " counted " AS counted"

TEST_EACH(report_fixture_setup, report_fixture_teardown)

TEST_WITH(struct report_fixture *f, claims_are_counted_and_the_contradicted_ones_are_named)
{
    char other[200];
    const struct report_item items[] = {{"tiny", f->artefact_dir, "mini", NULL},
                                        {"other", other, "mini", NULL}};

    snprintf(other, sizeof other, "%.150s/../other", f->artefact_dir);
    assert_works(f->base, file_make_dirs(other, &f->base->e));
    report_fixture_write(
        f, "claim.sql",
        CLAIM("P1", "supported", "1") " UNION ALL " CLAIM(
            "P2", "contradicted",
            "1") " UNION ALL " CLAIM("P3", "contradicted",
                                     "1") " UNION ALL " CLAIM("P4", "not run",
                                                              "1") " UNION ALL " CLAIM("X1",
                                                                                       "supported",
                                                                                       "0"));
    char *text = summary(f, items, 2, REPORT_TEXT);
    assert_string_equal(text,
                        "\nSummary\n\n"
                        "artefact  scale  claims supported  contradicted  not run  not judged\n"
                        "--------------------------------------------------------------------\n"
                        "tiny      mini   1 of 4            P2, P3        P4\n"
                        "other     mini\n");
    free(text);
    text = summary(f, items, 2, REPORT_CSV);
    assert_string_equal(text, "");
    free(text);
}

TEST_WITH(struct report_fixture *f, cells_are_counted_where_an_artefact_is_at_scale_paper)
{
    char path[256];
    const struct report_plant plants[] = {
        {"paper", SPEC_ALIBI, 512, 512, 512, 512, 0, 1, 20, false},
        {"paper", SPEC_ALIBI, 512, 1024, 512, 1024, 0, 1, 30, false},
        {"paper", SPEC_ALIBI, 512, 2048, 512, 2048, 0, 1, 0, false}};
    const struct report_item items[] = {{"tiny", f->artefact_dir, "paper", NULL}};

    report_fixture_write(f, "table.txt",
                         "title: T\nrows: method\ncolumns: L_valid\nvalue: perplexity\n"
                         "verdict: perplexity | 1 % | 5 %\n");
    report_fixture_write(
        f, "paper.tsv",
        "dataset\tpanel\tseries\tmethod\tparams\tL_train\tL_valid\tsplit\tprotocol\tstride\tx_name"
        "\tx\tmetric\tvalue\tunit\tnote\tsource\n"
        "\t\t\tALiBi\t\t512\t512\tvalid\tnonoverlapping\t\t\t\tperplexity\t20\tppl\t\t\n"
        "\t\t\tALiBi\t\t512\t1024\tvalid\tnonoverlapping\t\t\t\tperplexity\t20\tppl\t\t\n"
        "\t\t\tALiBi\t\t512\t2048\tvalid\tnonoverlapping\t\t\t\tperplexity\t20\tppl\t\t\n");
    snprintf(path, sizeof path, "%s/paper.tsv", f->artefact_dir);
    assert_works(f->base, store_set_paper(f->base->store, "tiny", path, &f->base->e));
    report_fixture_plant(f, "tiny", plants, 3);
    char *text = summary(f, items, 1, REPORT_MARKDOWN);
    assert_contains(text, "| artefact | scale | reproduced | within | not reproduced | cells not "
                          "run | other device | noisy | claims supported |");
    assert_contains(text, "| tiny | paper | 1 |  | 1 | 1 |  |  |");
    free(text);
}
