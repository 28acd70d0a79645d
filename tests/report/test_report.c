/* test_report.c - what `alibi report` prints for planted results. */
#include "harness/test.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/file.h"
#include "report/report_fixture.h"

static const char layout[] = "title: Tiny\nrows: method, L_train\ncolumns: L_valid\n"
                             "value: perplexity\npaper: perplexity\n";
static const char paper_header[] =
    "dataset\tpanel\tseries\tmethod\tparams\tL_train\tL_valid\tsplit\tprotocol\tstride\tx_name\tx\t"
    "metric\tvalue\tunit\tnote\tsource\tposition\n";
#define PAPER_ROW(method, L, V, value, position)                                                   \
    "wikitext103\t\t\t" method "\t247M\t" L "\t" V "\tvalid\tnonoverlapping\t\tL_valid\t" V        \
    "\tperplexity\t" value "\tppl\t\tp.19\t" position "\n"

/* mini: 64 stands for 512, 128 for 1024. */
#define MINI(position, L, V, seed, ppl)                                                            \
    {                                                                                              \
        "mini", position, L, V, (L)*8, (V)*8, 0, seed, ppl, false                                  \
    }
#define PAPER(position, L, V, seed, ppl)                                                           \
    {                                                                                              \
        "paper", position, L, V, L, V, 0, seed, ppl, false                                         \
    }

static char *report(struct report_fixture *f, const char *scale, enum report_format format)
{
    int rc;
    const struct report_options o = {.scale = scale, .format = format};
    char *text = report_fixture_report(f, "tiny", f->artefact_dir, &o, &rc);
    if (rc < 0) fail_msg("%s", f->base->e.text);
    return text;
}

TEST_EACH(report_fixture_setup, report_fixture_teardown)

TEST_WITH(struct report_fixture *f, a_table_shows_numbers_gaps_and_lengths_of_both_scales)
{
    const struct report_plant plants[] = {
        MINI(SPEC_ALIBI, 64, 64, 1, 44.125), MINI(SPEC_ALIBI, 64, 128, 1, 43.5),
        MINI(SPEC_SINUSOIDAL, 64, 64, 1, 0), MINI(SPEC_SINUSOIDAL, 128, 128, 1, 52.25)};

    report_fixture_write(f, "table.txt", layout);
    report_fixture_plant(f, "tiny", plants, 4);
    char *text = report(f, "mini", REPORT_TEXT);
    assert_contains(text, "Tiny. Scale mini\n");
    assert_contains(text, "the numbers may not.\n");
    assert_contains(
        text,
        "wikitext103, model tiny, 1000 parameters, split valid, nonoverlapping windows, fp32, "
        "100 tokens scored, seed 1\n");
    assert_contains(text, "method         L_train  64 (512)  128 (1024)\n"
                          "--------------------------------------------\n"
                          "ALiBi         64 (512)     44.12       43.50\n"
                          "Sinusoidal    64 (512)         –\n"
                          "Sinusoidal  128 (1024)                 52.25\n");
    char command[512];
    snprintf(command, sizeof command,
             "1 of 4 results is missing (–). The command that makes them: alibi run tiny --scale "
             "mini\n");
    assert_contains(text, command);
    assert_lacks(text, "The paper's numbers");
    free(text);
}

TEST_WITH(struct report_fixture *f, several_seeds_give_mean_and_standard_deviation)
{
    const struct report_plant plants[] = {
        MINI(SPEC_ALIBI, 64, 64, 1, 40),  MINI(SPEC_ALIBI, 64, 64, 2, 41),
        MINI(SPEC_ALIBI, 64, 64, 3, 45),  MINI(SPEC_ALIBI, 64, 128, 1, 39),
        MINI(SPEC_ALIBI, 64, 128, 2, 38), MINI(SPEC_ALIBI, 64, 128, 3, 0)};

    report_fixture_plant(f, "tiny", plants, 6);
    char *text = report(f, "mini", REPORT_TEXT);
    assert_contains(text, "tiny: perplexity. Scale mini\n"); /* no table.txt: the default layout */
    assert_contains(text, "seeds 1, 2, 3 (mean ± standard deviation)\n");
    assert_contains(text, "42.00 ± 2.65");       /* 40, 41, 45: variance (4 + 1 + 9) / 2 = 7 */
    assert_contains(text, "38.50 ± 0.71 (n=2)"); /* 39, 38 */
    free(text);
}

TEST_WITH(struct report_fixture *f, the_papers_numbers_stand_apart_under_their_own_heading)
{
    const struct report_plant plants[] = {MINI(SPEC_ALIBI, 64, 64, 1, 44)};
    char paper[2048];

    snprintf(paper, sizeof paper, "%s%s%s", paper_header,
             PAPER_ROW("ALiBi", "512", "512", "19.73", "alibi"),
             PAPER_ROW("ALiBi", "512", "1024", "18.81", "alibi"));
    report_fixture_write(f, "table.txt", layout);
    report_fixture_write(f, "paper.tsv", paper);
    report_fixture_plant(f, "tiny", plants, 1);
    char *text = report(f, "mini", REPORT_TEXT);
    const char *heading = strstr(text, "\nThe paper's numbers (not comparable with scale mini)\n");
    assert_non_null(heading);
    assert_contains(heading, "wikitext103, 247M parameters, split valid, nonoverlapping windows, "
                             "p.19\n");
    assert_contains(heading, "ALiBi       512  19.73  18.81\n");
    assert_lacks(heading, "44.00");
    *(char *)(uintptr_t)heading = '\0';
    assert_lacks(text, "19.73");
    assert_lacks(text, "Ours beside");
    free(text);
}

TEST_WITH(struct report_fixture *f, numbers_of_one_scale_do_not_appear_at_another)
{
    const struct report_plant mini[] = {MINI(SPEC_ALIBI, 64, 64, 1, 44)};
    const struct report_plant small[] = {
        {"small", SPEC_ALIBI, 512, 512, 512, 512, 0, 1, 31, false}};

    report_fixture_plant(f, "tiny", mini, 1);
    report_fixture_plant(f, "tiny", small, 1);
    char *text = report(f, "small", REPORT_TEXT);
    assert_contains(text, "Scale small");
    assert_contains(text, "31.00");
    assert_lacks(text, "44.00");
    free(text);
    text = report(f, "paper", REPORT_TEXT);
    assert_contains(text, "There are no results of tiny at scale paper yet. The command that makes "
                          "them: alibi run tiny --scale paper");
    assert_lacks(text, "31.00");
    free(text);
}

TEST_WITH(struct report_fixture *f, at_scale_paper_ours_stand_beside_the_papers)
{
    char paper[2048], path[256];
    const struct report_plant plants[] = {PAPER(SPEC_ALIBI, 512, 512, 1, 19.5),
                                          PAPER(SPEC_SINUSOIDAL, 512, 512, 1, 21)};

    snprintf(paper, sizeof paper, "%s%s%s", paper_header,
             PAPER_ROW("ALiBi", "512", "512", "20", "alibi"),
             PAPER_ROW("Sinusoidal", "512", "512", "20", "sinusoidal"));
    report_fixture_write(f, "table.txt", layout);
    report_fixture_write(f, "paper.tsv", paper);
    snprintf(path, sizeof path, "%s/paper.tsv", f->artefact_dir);
    if (store_set_paper(f->base->store, "tiny", path, &f->base->e) < 0)
        fail_msg("%s", f->base->e.text);
    report_fixture_plant(f, "tiny", plants, 2);
    char *text = report(f, "paper", REPORT_TEXT);
    assert_contains(text, "Ours beside the paper's (unmodified specification only)");
    assert_contains(text, "19.50  20.00       -0.50    -2.5 %");
    assert_contains(text, "21.00  20.00       +1.00    +5.0 %");
    assert_contains(text, "\nThe paper's numbers\n");
    free(text);
}

TEST_WITH(struct report_fixture *f, a_modified_specification_is_called_so_and_not_compared)
{
    const struct report_plant plants[] = {
        {"paper", SPEC_ALIBI, 512, 512, 512, 512, 0, 1, 19.5, true},
        {"paper", SPEC_ALIBI, 512, 1024, 512, 1024, 0, 1, 0, true}}; /* not run */
    char paper[1024];

    snprintf(paper, sizeof paper, "%s%s", paper_header,
             PAPER_ROW("ALiBi", "512", "512", "20", "alibi"));
    report_fixture_write(f, "table.txt", layout);
    report_fixture_write(f, "paper.tsv", paper);
    report_fixture_plant(f, "tiny", plants, 2);
    char *text = report(f, "paper", REPORT_TEXT);
    assert_contains(text, "alibi run tiny --scale paper\n");
    assert_contains(text, ", modified\n");
    assert_contains(text, "There is no result of the paper's own specification yet.");
    free(text);
}

TEST_WITH(struct report_fixture *f, windows_of_two_protocols_never_share_a_table)
{
    const struct report_plant plants[] = {MINI(SPEC_ALIBI, 64, 64, 1, 44),
                                          {"mini", SPEC_ALIBI, 64, 64, 512, 512, 1, 1, 41, false}};

    report_fixture_write(f, "table.txt", layout);
    report_fixture_plant(f, "tiny", plants, 2);
    char *text = report(f, "mini", REPORT_TEXT);
    const char *sliding = strstr(text, "sliding windows, stride 1");
    assert_non_null(sliding);
    assert_contains(sliding, "41.00");
    assert_lacks(sliding, "44.00");
    assert_non_null(strstr(text, "nonoverlapping windows"));
    free(text);
}

TEST_WITH(struct report_fixture *f, unlike_configurations_in_one_cell_are_refused)
{
    int rc;
    const struct report_options o = {.scale = "mini"};
    const struct report_plant plants[] = {MINI(SPEC_ALIBI, 64, 64, 1, 44),
                                          MINI(SPEC_ALIBI, 128, 64, 1, 43)};

    report_fixture_write(f, "table.txt",
                         "title: T\nrows: method\ncolumns: L_valid\nvalue: perplexity\n");
    report_fixture_plant(f, "tiny", plants, 2);
    char *text = report_fixture_report(f, "tiny", f->artefact_dir, &o, &rc);
    assert_int_equal(rc, ERR_DATA);
    assert_contains(f->base->e.text, "2 configurations");
    free(text);
}

TEST_WITH(struct report_fixture *f, a_generated_corpus_shows_its_floor)
{
    const struct report_plant plants[] = {MINI(SPEC_ALIBI, 64, 64, 1, 44)};
    char path[256];
    static const char manifest[] = "name: mini-wikitext103\nfloor_perplexity: 14.1734\n";

    snprintf(path, sizeof path, "%s/data/mini-wikitext103", f->base->dir);
    assert_int_equal(file_make_dirs(path, &f->base->e), 0);
    snprintf(path, sizeof path, "%s/data/mini-wikitext103/manifest.yaml", f->base->dir);
    assert_int_equal(file_write_atomic(path, manifest, strlen(manifest), &f->base->e), 0);
    report_fixture_plant(f, "tiny", plants, 1);
    char *text = report(f, "mini", REPORT_TEXT);
    assert_contains(text, "No model can be below perplexity 14.17 on this text");
    free(text);
}

TEST_WITH(struct report_fixture *f, csv_and_json_give_the_rows_with_their_provenance)
{
    const struct report_plant plants[] = {MINI(SPEC_ALIBI, 64, 64, 1, 44.125),
                                          MINI(SPEC_ALIBI, 64, 128, 1, 0)};

    report_fixture_plant(f, "tiny", plants, 2);
    char *text = report(f, "mini", REPORT_CSV);
    assert_int_equal(strncmp(text, "artefact,scale,dataset,", 23), 0);
    assert_contains(text, ",44.125,");
    assert_contains(text, ",c0de,");
    free(text);
    text = report(f, "mini", REPORT_JSON);
    json_t *array = json_loads(text, 0, NULL);
    assert_int_equal(json_array_size(array), 2);
    const json_t *row = json_array_get(array, 0);
    assert_true(json_real_value(json_object_get(row, "perplexity")) == 44.125);
    assert_string_equal(json_string_value(json_object_get(row, "scale")), "mini");
    assert_int_equal(strlen(json_string_value(json_object_get(row, "run_id"))), 16);
    assert_true(json_is_null(json_object_get(json_array_get(array, 1), "perplexity")));
    json_decref(array);
    free(text);
}

TEST_WITH(struct report_fixture *f, markdown_and_latex_hold_the_same_table)
{
    const struct report_plant plants[] = {MINI(SPEC_ALIBI, 64, 64, 1, 44)};

    report_fixture_write(f, "table.txt", layout);
    report_fixture_plant(f, "tiny", plants, 1);
    char *text = report(f, "mini", REPORT_MARKDOWN);
    assert_contains(text, "## Tiny. Scale mini\n\n");
    assert_contains(text, "| method | L\\_train | 64 (512) |\n| :--- | ---: | ---: |\n"
                          "| ALiBi | 64 (512) | 44.00 |\n");
    free(text);
    text = report(f, "mini", REPORT_LATEX);
    assert_contains(text, "\\section*{Tiny. Scale mini}");
    assert_contains(text, "ALiBi & 64 (512) & 44.00 \\\\");
    free(text);
}

TEST_WITH(struct report_fixture *f, faults_of_the_folder_name_their_file)
{
    int rc;
    const struct report_options o = {.scale = "mini"};
    const struct report_plant plants[] = {MINI(SPEC_ALIBI, 64, 64, 1, 44)};

    free(report_fixture_report(f, "tiny", "/nowhere/tiny", &o, &rc));
    assert_int_equal(rc, ERR_NOINPUT);
    free(report_fixture_report(f, "../tiny", f->artefact_dir, &o, &rc));
    assert_int_equal(rc, ERR_USAGE);
    report_fixture_plant(f, "tiny", plants, 1);
    report_fixture_write(f, "query.sql", "SELECT wrong FROM points");
    free(report_fixture_report(f, "tiny", f->artefact_dir, &o, &rc));
    assert_true(rc < 0);
    assert_contains(f->base->e.text, "query.sql");
    report_fixture_write(f, "query.sql", "SELECT 'x' AS method, 1 AS perplexity");
    free(report_fixture_report(f, "tiny", f->artefact_dir, &o, &rc));
    assert_int_equal(rc, ERR_DATA);
    assert_contains(f->base->e.text, "names the column L_train, which the rows do not have");
}
