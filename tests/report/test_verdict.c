/* test_verdict.c - the verdict of a cell: the four of them, who gets none, and how each
 * format shows them. */
#include "harness/test.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "report/layout.h"
#include "report/report_fixture.h"
#include "store/database.h"

/* Shares that are exact in binary, so that a number can lie on the bound. */
static const char layout[] = "title: Tiny\nrows: method, L_train\ncolumns: L_valid\n"
                             "value: perplexity\npaper: perplexity\n"
                             "verdict: perplexity | 12.5 % | 25 %\n";
static const char paper[] =
    "dataset\tpanel\tseries\tmethod\tparams\tL_train\tL_valid\tsplit\tprotocol\tstride\tx_name\tx\t"
    "metric\tvalue\tunit\tnote\tsource\tposition\n"
#define PAPER_ROW(L, V, value)                                                                     \
    "wikitext103\t\t\tALiBi\t247M\t" L "\t" V "\tvalid\tnonoverlapping\t\t\t\tperplexity\t" value  \
    "\tppl\t\tp.19\talibi\n"
    PAPER_ROW("512", "512", "20") PAPER_ROW("512", "1024", "16") PAPER_ROW("512", "2048", "16")
        PAPER_ROW("512", "3072", "16") PAPER_ROW("512", "4096", "");

#define PLANT(scale, L, V, seed, ppl)                                                              \
    {                                                                                              \
        scale, SPEC_ALIBI, L, V, 512, (V) * (512 / (L)), 0, seed, ppl, false                       \
    }

static void write_folder(struct report_fixture *f)
{
    char path[256];

    report_fixture_write(f, "table.txt", layout);
    report_fixture_write(f, "paper.tsv", paper);
    snprintf(path, sizeof path, "%s/paper.tsv", f->artefact_dir);
    if (store_set_paper(f->base->store, "tiny", path, &f->base->e) < 0)
        fail_msg("%s", f->base->e.text);
}

/* On the bound of the first, on that of the second, just above it, not run, and one of which the
 * paper has no number. */
static void plant(struct report_fixture *f, const char *scale, int32_t L, bool modified)
{
    const int32_t k = L / 64;
    struct report_plant plants[] = {
        PLANT(scale, L, 64 * k, 1, 22.5), PLANT(scale, L, 128 * k, 1, 12),
        PLANT(scale, L, 256 * k, 1, 20.001), PLANT(scale, L, 384 * k, 1, 0),
        PLANT(scale, L, 512 * k, 1, 17)};

    for (int i = 0; i < 5; i++) plants[i].modified = modified;
    write_folder(f);
    report_fixture_plant(f, "tiny", plants, 5);
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

TEST_WITH(struct report_fixture *f, each_of_the_four_verdicts_is_told)
{
    plant(f, "paper", 512, false);
    char *text = report(f, "paper", REPORT_TEXT);
    assert_contains(text,
                    "\nVerdicts on 4 numbers of the paper: 1 reproduced, 1 within 25 %, 1 not "
                    "reproduced, 1 not run.\n");
    assert_contains(
        text, "perplexity: reproduced up to 12.5 % from the paper's number, \"within\" up to 25 %");
    assert_contains(
        text,
        "method  L_train  L_valid  seeds   ours  paper  difference  relative  verdict\n"
        "-----------------------------------------------------------------------------------\n"
        "ALiBi       512      512      1  22.50  20.00       +2.50   +12.5 %  reproduced\n"
        "ALiBi       512     1024      1  12.00  16.00       -4.00   -25.0 %  within 25 %\n"
        "ALiBi       512     2048      1  20.00  16.00       +4.00   +25.0 %  not reproduced\n"
        "ALiBi       512     3072      0      –  16.00                        not run\n");
    free(text);
}

TEST_WITH(struct report_fixture *f, every_format_holds_the_verdicts)
{
    static const struct {
        enum report_format format;
        const char *part;
    } cases[] = {
        {REPORT_MARKDOWN,
         "| ALiBi | 512 | 1024 | 1 | 12.00 | 16.00 | -4.00 | -25.0 % | within 25 % |\n"},
        {REPORT_LATEX, "ALiBi & 512 & 3072 & 0 & -- & 16.00 &  &  & not run \\\\\n"},
        {REPORT_LATEX, "& +25.0 \\% & not reproduced \\\\\n"},
        {REPORT_HTML, "not reproduced"},
        {REPORT_HTML, "within 25 %"},
    };

    plant(f, "paper", 512, false);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = report(f, "paper", cases[i].format);
        assert_contains(text, cases[i].part);
        free(text);
    }
}

TEST_WITH(void *fixture_of_case, rows_for_programs_carry_the_verdict_of_their_cell)
{
    void **state = &fixture_of_case;
    static const char *const said[] = {"reproduced", "within 25 %", "not reproduced", "not run"};
    struct report_fixture *f = *state;

    plant(f, "paper", 512, false);
    char *text = report(f, "paper", REPORT_CSV);
    assert_contains(text, ",compared,ours_mean,ours_std,seeds,paper,delta,verdict\n");
    assert_contains(text, ",perplexity,22.5,,1,20,2.5,reproduced\n");
    assert_contains(text, ",perplexity,,,0,16,,not run\n");
    assert_contains(text, ",perplexity,17,,1,,,\n"); /* the paper has no number */
    free(text);
    text = report(f, "paper", REPORT_JSON);
    json_t *array = json_loads(text, 0, NULL);
    assert_int_equal(json_array_size(array), 5);
    for (size_t i = 0; i < 4; i++) {
        const json_t *row = json_array_get(array, i);
        assert_string_equal(json_string_value(json_object_get(row, "verdict")), said[i]);
    }
    const json_t *second = json_array_get(array, 1);
    assert_true(json_number_value(json_object_get(second, "delta")) == -4);
    assert_true(json_is_null(json_object_get(json_array_get(array, 4), "verdict")));
    json_decref(array);
    free(text);
}

static void no_cell_has_a_verdict(struct report_fixture *f, const char *scale)
{
    char *text = report(f, scale, REPORT_TEXT);
    assert_lacks(text, "reproduced");
    assert_lacks(text, "Verdicts on");
    assert_lacks(text, "within");
    free(text);
    text = report(f, scale, REPORT_CSV);
    assert_contains(text,
                    ",perplexity,22.5,,1,,,\n"); /* the mean is there, the paper's number is not */
    assert_lacks(text, "reproduced");
    assert_lacks(text, "not run");
    free(text);
}

TEST_WITH(void *fixture_of_case, a_smaller_scale_gets_no_verdict)
{
    void **state = &fixture_of_case;
    plant(*state, "mini", 64, false);
    no_cell_has_a_verdict(*state, "mini");
}

TEST_WITH(void *fixture_of_case, a_modified_specification_gets_no_verdict)
{
    void **state = &fixture_of_case;
    plant(*state, "paper", 512, true);
    no_cell_has_a_verdict(*state, "paper");
}

TEST_WITH(struct report_fixture *f, the_mean_of_the_seeds_is_judged)
{
    const struct report_plant seeds[] = {PLANT("paper", 512, 512, 1, 15),
                                         PLANT("paper", 512, 512, 2, 20),
                                         PLANT("paper", 512, 512, 3, 25)};

    write_folder(f);
    report_fixture_plant(f, "tiny", seeds, 3);
    char *text = report(f, "paper", REPORT_TEXT);
    assert_contains(text, "3  20.00 ± 5.00  20.00       +0.00    +0.0 %  reproduced\n");
    free(text);
    text = report(f, "paper", REPORT_CSV);
    assert_contains(text, ",perplexity,20,5,3,20,0,reproduced\n");
    free(text);
}

TEST_WITH(struct report_fixture *f, a_training_that_diverged_did_not_reproduce)
{
    char id[SPEC_ID_BYTES];
    const struct report_plant plants[] = {PLANT("paper", 512, 512, 1, 0)};
    struct spec train = fixture_train(SPEC_ALIBI, 512, 1);

    write_folder(f);
    report_fixture_plant(f, "tiny", plants, 1);
    snprintf(train.scale, sizeof train.scale, "paper");
    fixture_add(f->base, &train, id);
    fixture_end(f->base, fixture_start(f->base, id), STORE_DIVERGED);
    char *text = report(f, "paper", REPORT_TEXT);
    assert_contains(text, "0  diverged  20.00                        not reproduced\n");
    free(text);
}

TEST_WITH(struct report_fixture *f, a_number_of_an_imported_checkpoint_says_so)
{
    plant(f, "paper", 512, false);
    assert_int_equal(
        database_script(f->base->store, "UPDATE runs SET origin='imported'", &f->base->e), 0);
    char *text = report(f, "paper", REPORT_TEXT);
    assert_contains(text, "imported      1  22.50  20.00");
    free(text);
}

TEST_WITH(struct report_fixture *f, numbers_without_a_rule_are_shown_and_not_judged)
{
    plant(f, "paper", 512, false);
    report_fixture_write(f, "table.txt",
                         "title: T\nrows: method\ncolumns: L_valid\nvalue: perplexity\n");
    char *text = report(f, "paper", REPORT_TEXT);
    assert_contains(text, "22.50  20.00       +2.50   +12.5 %\n");
    assert_lacks(text, "reproduced");
    free(text);
}

/* --- speed ---------------------------------------------------------------------------------- */

static const char speed_layout[] =
    "title: Tiny\nrows: position\ncolumns: L_train\nvalue: wps\nformat: %.0f\npaper: train_wps\n"
    "verdict: train_wps | 5 % | 10 % | V100\n";
static const char speed_query[] =
    "SELECT r.position, r.L_train, p.L_train_nominal, b.wps, b.device AS machine, r.run_id,"
    " r.config_id FROM points p JOIN runs r ON r.run_id=p.run_id LEFT JOIN benchmarks b ON"
    " b.run_id=r.run_id WHERE p.artefact=:artefact AND p.scale=:scale";
static const char speed_paper[] =
    "dataset\tpanel\tseries\tmethod\tparams\tL_train\tL_valid\tsplit\tprotocol\tstride\tx_name\tx\t"
    "metric\tvalue\tunit\tnote\tsource\tposition\n"
    "wikitext103\t\t\tALiBi\t247M\t512\t\ttrain\t\t\t\t\ttrain_wps\t20000\twords/s\t\t\talibi\n";

TEST_EACH(NULL, NULL)

TEST(a_speed_is_judged_on_the_papers_device_and_elsewhere_a_ratio)
{
    static const struct {
        const char *device, *said, *sentence;
        double wps;
    } cases[] = {
        {"NVIDIA H200", "× 2.50 on NVIDIA H200", "paper: 1 on another device (ratio alone).",
         50000},
        {"a processor", "× 0.01 on a processor", "paper: 1 on another device (ratio alone).", 200},
        {"Tesla V100-SXM2-32GB", "reproduced", "paper: 1 reproduced.", 20900},
        {"Tesla V100-SXM2-32GB", "within 10 %", "paper: 1 within 10 %.", 18500},
        {"Tesla V100-SXM2-32GB", "not reproduced", "paper: 1 not reproduced.", 50000},
    };
    char id[SPEC_ID_BYTES], path[256], expected[128];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        void *own = NULL;
        assert_int_equal(report_fixture_setup(&own), 0);
        struct report_fixture *f = own;
        struct spec s = fixture_train(SPEC_ALIBI, 512, 1);
        s.kind = SPEC_BENCH;
        snprintf(s.scale, sizeof s.scale, "paper");
        report_fixture_write(f, "table.txt", speed_layout);
        report_fixture_write(f, "query.sql", speed_query);
        report_fixture_write(f, "paper.tsv", speed_paper);
        snprintf(path, sizeof path, "%s/paper.tsv", f->artefact_dir);
        assert_int_equal(store_set_paper(f->base->store, "tiny", path, &f->base->e), 0);
        fixture_benched(f->base, &s, cases[i].device, cases[i].wps, "null", id);
        struct store_point point = {0, id, 512, 0, 0};
        assert_int_equal(store_set_points(f->base->store, "tiny", "paper", &point, 1, &f->base->e),
                         0);
        char *text = report(f, "paper", REPORT_TEXT);
        snprintf(expected, sizeof expected, "  %s\n", cases[i].said);
        assert_contains(text, expected);
        assert_contains(text, cases[i].sentence);
        free(text);
        text = report(f, "paper", REPORT_CSV);
        snprintf(expected, sizeof expected, ",%s\n", cases[i].said);
        assert_contains(text, expected);
        free(text);
        report_fixture_teardown(&own);
    }
}

/* --- the rule ------------------------------------------------------------------------------- */

TEST(a_rule_that_cannot_be_read_is_refused_with_its_line)
{
    static const struct {
        const char *line, *word;
    } cases[] = {
        {"perplexity | 1 %", "2 parts"},
        {"perplexity | 1 | 5 %", "\"1\" is no share"},
        {"perplexity | 0 % | 5 %", "\"0 %\" is no share"},
        {"perplexity | 5 % | 1 %", "far (1 %) is less than near (5 %)"},
        {"perplexity | 1 % | 5 % | ", "the device has no name"},
        {"perplexity | 1 % | 5 % | V100 | x", "5 parts"},
        {"per plexity | 1 % | 5 %", "no column name"},
        {"perplexity | 1 % | 5 %\nverdict: perplexity | 2 % | 5 %", "a second verdict:"},
    };
    char text[256];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct report_layout l;
        struct arena a;
        e = (struct err){0};
        arena_init(&a);
        snprintf(text, sizeof text, "title: T\nverdict: %s\n", cases[i].line);
        assert_int_equal(report_layout_read(&l, &a, "x.txt", text, &e), ERR_DATA);
        assert_contains(e.text, i == 7 ? "x.txt:3: " : "x.txt:2: ");
        assert_contains(e.text, cases[i].word);
        arena_fini(&a);
    }
}
