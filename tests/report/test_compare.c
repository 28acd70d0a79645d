/* test_compare.c - two filters side by side: what is paired, what never is, and what is said
 * of a wrong filter. */
#include "harness/test.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "report/compare.h"
#include "report/page_check.h"
#include "report/report_fixture.h"

/* An eighth of the paper's lengths; stride 0: nonoverlapping. */
#define MINI(position, L, V, stride, seed, ppl)                                                    \
    {                                                                                              \
        "mini", position, L, V, (L)*8, (V)*8, stride, seed, ppl, false                             \
    }

static const struct report_plant plants[] = {
    MINI(SPEC_ALIBI, 64, 64, 0, 1, 44.5),      MINI(SPEC_ALIBI, 64, 64, 0, 2, 45),
    MINI(SPEC_ALIBI, 64, 128, 0, 1, 43),       MINI(SPEC_SINUSOIDAL, 64, 64, 0, 1, 40),
    MINI(SPEC_SINUSOIDAL, 64, 64, 0, 2, 40.5), MINI(SPEC_SINUSOIDAL, 128, 128, 0, 1, 50),
    MINI(SPEC_SINUSOIDAL, 64, 128, 1, 1, 80),  MINI(SPEC_ROTARY, 64, 64, 0, 3, 42),
};

static int compare(struct report_fixture *f, struct page_text *w, const char *a, const char *b,
                   enum report_format format)
{
    f->base->e = (struct err){0};
    return report_compare(w->out, f->base->store, a, b, format, &f->base->e);
}

static json_t *compare_json(struct report_fixture *f, const char *a, const char *b)
{
    struct page_text *w = page_text_begin();

    if (compare(f, w, a, b, REPORT_JSON) < 0) fail_msg("%s", f->base->e.text);
    json_t *rows = json_loads(page_text_end(w), 0, NULL);
    assert_true(json_is_array(rows));
    page_text_free(w);
    return rows;
}

static double number(const json_t *rows, size_t row, const char *key)
{
    const json_t *cell = json_object_get(json_array_get(rows, row), key);
    if (!json_is_number(cell)) fail_msg("row %zu has no number %s", row, key);
    return json_number_value(cell);
}

static const char *text(const json_t *rows, size_t row, const char *key)
{
    const char *value = json_string_value(json_object_get(json_array_get(rows, row), key));
    return value ? value : "";
}

static void plant(struct report_fixture *f)
{
    report_fixture_plant(f, "tiny", plants, sizeof plants / sizeof *plants);
}

TEST_EACH(report_fixture_setup, report_fixture_teardown)

TEST_WITH(struct report_fixture *f, seeds_stand_beside_their_like_at_the_papers_lengths)
{
    plant(f);
    json_t *rows = compare_json(f, "position=alibi,L_train=512,L_valid=512",
                                "position=sinusoidal,L_train=512,L_valid=512");
    assert_int_equal(json_array_size(rows), 2);
    assert_string_equal(text(rows, 0, "L_valid"), "512");
    assert_string_equal(text(rows, 0, "position"), "alibi | sinusoidal");
    assert_string_equal(text(rows, 0, "seed"), "1");
    assert_true(number(rows, 0, "A") == 44.5 && number(rows, 0, "B") == 40);
    assert_true(number(rows, 0, "A - B") == 4.5 && number(rows, 0, "A / B") == 1.1125);
    assert_string_equal(text(rows, 1, "seed"), "2");
    assert_true(number(rows, 1, "A") == 45 && number(rows, 1, "B") == 40.5);
    assert_string_equal(
        text(rows, 0, "run A"),
        fixture_cell(f->base->store,
                     "SELECT run_id FROM evaluations WHERE position='alibi' AND L_valid=64 AND "
                     "seed=1"));
    json_decref(rows);
}

TEST_WITH(struct report_fixture *f, what_has_no_partner_says_why)
{
    plant(f);
    json_t *rows = compare_json(f, "position=rotary", "position=alibi,L_valid=512");
    assert_int_equal(json_array_size(rows), 3);
    for (size_t i = 0; i < 3; i++) {
        assert_true(json_is_null(json_object_get(json_array_get(rows, i), "A - B")));
        assert_string_equal(text(rows, i, "note"),
                            i ? "A has no such evaluation" : "B has no such evaluation");
    }
    json_decref(rows);
}

TEST_WITH(struct report_fixture *f, protocols_are_never_compared)
{
    plant(f);
    const char *alibi = "position=alibi,L_train=512,L_valid=1024";
    json_t *rows = compare_json(f, alibi, "position=sinusoidal,L_train=512,L_valid=1024");
    assert_int_equal(json_array_size(rows), 2);
    assert_string_equal(text(rows, 0, "note"),
                        "not compared: B has protocol sliding, this one nonoverlapping");
    assert_string_equal(text(rows, 1, "note"),
                        "not compared: A has protocol nonoverlapping, this one sliding");
    json_decref(rows);
    /* Naming the protocols is no permission. */
    rows = compare_json(f, "protocol=nonoverlapping,L_train=512,L_valid=1024",
                        "protocol=sliding,L_train=512,L_valid=1024");
    for (size_t i = 0; i < json_array_size(rows); i++)
        assert_true(json_is_null(json_object_get(json_array_get(rows, i), "A / B")));
    json_decref(rows);
}

TEST_WITH(struct report_fixture *f, scales_are_never_compared)
{
    const struct report_plant paper = {"paper", SPEC_ALIBI, 512, 512, 512, 512, 0, 1, 19.73, false};

    plant(f);
    report_fixture_plant(f, "tiny", &paper, 1);
    json_t *rows = compare_json(f, "scale=mini,position=alibi,L_valid=512,seed=1",
                                "scale=paper,position=alibi,L_valid=512,seed=1");
    assert_int_equal(json_array_size(rows), 2);
    assert_string_equal(text(rows, 0, "note"), "not compared: B has scale paper, this one mini");
    json_decref(rows);
}

TEST_WITH(struct report_fixture *f, a_named_column_may_differ)
{
    plant(f);
    json_t *rows = compare_json(f, "position=alibi,L_train=512,L_valid=1024",
                                "position=sinusoidal,L_train=1024,L_valid=1024");
    assert_int_equal(json_array_size(rows), 1);
    assert_string_equal(text(rows, 0, "L_train"), "512 | 1024");
    assert_true(number(rows, 0, "A - B") == -7);
    json_decref(rows);
}

TEST_WITH(struct report_fixture *f, an_id_stands_for_its_training_or_its_evaluation)
{
    char a[24], b[24];

    plant(f);
    snprintf(a, sizeof a, "%s",
             fixture_cell(f->base->store, "SELECT train_run_id FROM evaluations WHERE "
                                          "position='alibi' AND seed=1 LIMIT 1"));
    snprintf(b, sizeof b, "run=%.8s",
             fixture_cell(f->base->store, "SELECT train_run_id FROM evaluations WHERE "
                                          "position='alibi' AND seed=2 LIMIT 1"));
    json_t *rows = compare_json(f, a, b);
    assert_int_equal(json_array_size(rows), 2); /* at 512 both, at 1024 only one seed */
    assert_string_equal(text(rows, 0, "seed"), "1 | 2");
    assert_true(number(rows, 0, "A - B") == -0.5);
    assert_string_equal(text(rows, 1, "note"), "B has no such evaluation");
    json_decref(rows);
}

TEST_WITH(void *fixture_of_case, a_wrong_filter_names_what_is_right)
{
    void **state = &fixture_of_case;
    static const struct {
        const char *filter, *said;
        int code;
    } cases[] = {
        {"positoin=alibi", "unknown column positoin; the nearest is position", ERR_USAGE},
        {"zzz=1", "unknown column zzz; alibi compare --help", ERR_USAGE},
        {"position", "neither column=value nor a run id", ERR_USAGE},
        {"position=", "neither column=value nor a run id", ERR_USAGE},
        {"", "neither column=value nor a run id", ERR_USAGE},
        {"position=alibi,,seed=1", "neither column=value nor a run id", ERR_USAGE},
        {"position=alibi,position=t5", "position is given twice", ERR_USAGE},
        {"run=xyz", "is not a run id (4 to 16 hex digits)", ERR_USAGE},
        {"position=albi", "no evaluation has position albi; there are alibi, rotary, sinusoidal",
         ERR_NOINPUT},
        {"L_train=64", "no evaluation has L_train 64; there are 512, 1024", ERR_NOINPUT},
        {"position=rotary,seed=1", "no evaluation in results.db matches", ERR_NOINPUT},
        {"ffffffff", "no evaluation in results.db matches", ERR_NOINPUT},
        {"position=' OR 1=1 --", "no evaluation has position ' OR 1=1 --", ERR_NOINPUT},
    };
    struct report_fixture *f = *state;

    plant(f);
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        struct page_text *w = page_text_begin();
        const char *wrong = cases[i / 2].filter, *right = "position=alibi";
        int rc = compare(f, w, i % 2 ? right : wrong, i % 2 ? wrong : right, REPORT_TEXT);
        assert_int_equal(rc, cases[i / 2].code);
        assert_contains(f->base->e.text, cases[i / 2].said);
        assert_string_equal(page_text_end(w), ""); /* nothing before the error */
        page_text_free(w);
    }
}

TEST_WITH(struct report_fixture *f, spaces_around_a_filter_do_not_matter)
{
    plant(f);
    json_t *rows = compare_json(f, " position = alibi , seed = 1 ,L_valid=512",
                                "position=sinusoidal, seed=1, L_valid= 512 ");
    assert_int_equal(json_array_size(rows), 1);
    json_decref(rows);
}

TEST_WITH(void *fixture_of_case, every_format_says_the_same)
{
    void **state = &fixture_of_case;
    static const struct {
        enum report_format format;
        const char *row;
    } cases[] = {
        {REPORT_TEXT, "44.5000  40.0000  4.5000  1.1125"},
        {REPORT_MARKDOWN, "| 44.5000 | 40.0000 | 4.5000 | 1.1125 |"},
        {REPORT_LATEX, " & 44.5000 & 40.0000 & 4.5000 & 1.1125 & "},
        {REPORT_HTML, "<td class=\"n\">4.5000</td><td class=\"n\">1.1125</td>"},
        {REPORT_CSV, ",44.5,40,4.5,1.1125,"},
    };
    struct report_fixture *f = *state;
    const char *a = "position=alibi,seed=1,L_valid=512", *b = "position=sinusoidal,L_valid=512";

    plant(f);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct page_text *w = page_text_begin();
        if (compare(f, w, a, b, cases[i].format) < 0) fail_msg("%s", f->base->e.text);
        assert_contains(page_text_end(w), cases[i].row);
        if (cases[i].format == REPORT_HTML) assert_page(w->text, true);
        if (cases[i].format != REPORT_CSV) assert_contains(w->text, "Lengths are the paper");
        page_text_free(w);
    }
}

TEST_WITH(struct report_fixture *f, hostile_filters_are_shown_as_text)
{
    plant(f);
    for (int i = 0; i < PAGE_HOSTILE_N; i++) {
        struct page_text *w = page_text_begin();
        assert_true(compare(f, w, page_hostile[i], "position=alibi", REPORT_HTML) < 0);
        assert_string_equal(page_text_end(w), "");
        page_text_free(w);
    }
}
