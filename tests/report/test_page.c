/* test_page.c - the whole page: what is in it, that every number leads to its run, and that
 * no folder and no results.db breaks it. */
#include "harness/test.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "report/page_check.h"
#include "report/report_fixture.h"

enum { LONG_BYTES = 10 * 1000 };

static const struct report_plant plants[] = {
    {"mini", SPEC_ALIBI, 64, 64, 512, 512, 0, 1, 44, false},
    {"mini", SPEC_ALIBI, 64, 64, 512, 512, 0, 2, 45, false},
    {"mini", SPEC_ALIBI, 64, 128, 512, 1024, 0, 1, 43, false},
    {"mini", SPEC_ALIBI, 64, 128, 512, 1024, 0, 2, 43.5, false},
    {"mini", SPEC_ROTARY, 64, 64, 512, 512, 0, 1, 0, false},
};

/* The whole page of tiny, which is one. */
static const char *page(struct report_fixture *f, bool draw)
{
    const struct report_item item = {"tiny", f->artefact_dir, "mini", NULL};
    const struct report_options o = {.format = REPORT_HTML, .draw = draw};
    const char *text =
        report_text(f, report_page(out, f->base->store, &f->project, &item, 1, &o, &f->base->e));

    assert_page(text, true);
    return text;
}

TEST_EACH(report_fixture_setup, report_fixture_teardown)

TEST_WITH(struct report_fixture *f, the_page_leads_from_every_number_to_its_run)
{
    report_fixture_plant(f, "tiny", plants, sizeof plants / sizeof *plants);
    report_fixture_write(f, "README.md", "# Tiny\n\n**Claim.** It is small.\n\nMore.\n");
    const char *text = page(f, true);
    const char *config = fixture_cell(
        f->base->store, "SELECT config_id FROM evaluations WHERE L_valid=128 AND seed=1");
    assert_contains(text, arena_printf(&f->arena, "<a href=\"#c-%s\">43.25 ± 0.35</a>", config));
    assert_contains(text, arena_printf(&f->arena, "<td class=\"w\" id=\"c-%s\"><details>", config));
    assert_contains(text, "<img id=\"f-tiny\" class=\"wide\" alt=\"");
    const char *run =
        fixture_cell(f->base->store, "SELECT run_id FROM evaluations WHERE L_valid=128 AND seed=2");
    assert_contains(text, arena_printf(&f->arena, "<tr id=\"r-%s\">", run));
    assert_contains(text, "eval.L=128\n");
    assert_contains(text, ">not run</");
    assert_contains(text, "1 of 5 results is missing (not run)");
    assert_contains(text, "Scale mini: mini-wikitext103 in place of wikitext103, model tiny, 1000 "
                          "parameters, split valid, nonoverlapping windows");
    assert_contains(text, "<a href=\"#m-1\">m-1</a>");
    assert_contains(text, "<p><strong>Claim.</strong> It is small.</p>");
    assert_contains(text, "default-src 'none'");
}

TEST_WITH(struct report_fixture *f, several_ranks_are_a_machine_of_their_own)
{
    report_fixture_plant(f, "tiny", plants, sizeof plants / sizeof *plants);
    assert_lacks(page(f, false), "ranks</th>");
    fixture_raw(f->base->path, "UPDATE run_attempts SET ranks=4 WHERE run_id IN"
                               "(SELECT run_id FROM runs WHERE kind='train' AND seed=2)");
    const char *text = page(f, false);
    assert_contains(text, "ranks</th>");
    assert_contains(text, "<a href=\"#m-2\">m-2</a>");
}

TEST_WITH(struct report_fixture *f, a_page_without_results_names_the_command)
{
    const char *text = page(f, true);
    assert_contains(text, "There are no results of tiny at scale mini yet.");
    assert_contains(text, "Nothing was run yet.");
}

/* Puts a text, given as an expression of SQL, into every column of results.db that a page shows. */
static void poison(struct report_fixture *f, const char *text)
{
    static const char *const columns[] = {
        "run_attempts SET device=",  "run_attempts SET blas=",    "run_attempts SET backend=",
        "run_attempts SET code_id=", "runs SET dataset=",         "runs SET corpus=",
        "runs SET model=",           "runs SET config_id=kind||", "runs SET spec=",
        "runs SET precision=",       "runs SET first_window=",    "run_attempts SET host=",
        "run_settings SET value=",   "run_attempts SET message="};

    fixture_raw(f->base->path, "DROP TRIGGER IF EXISTS an_attempt_ends_once");
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        fixture_raw(f->base->path, arena_printf(&f->arena, "UPDATE %s%s", columns[i], text));
}

/* A text of any bytes as an expression of SQL. */
static const char *sql_text(struct report_fixture *f, const char *text)
{
    struct strbuf b;

    strbuf_init(&b, &f->arena);
    strbuf_add(&b, "CAST(x'");
    for (; *text; text++) strbuf_addf(&b, "%02x", (unsigned char)*text);
    strbuf_add(&b, "' AS TEXT)");
    return b.text;
}

/* The hostile texts, and one that is long. */
static const char *hostile(struct report_fixture *f, int i)
{
    if (i < PAGE_HOSTILE_N) return page_hostile[i];
    char *longest = arena_alloc(&f->arena, LONG_BYTES + 1);
    memset(longest, 'x', LONG_BYTES);
    longest[LONG_BYTES] = '\0';
    return longest;
}

TEST_WITH(struct report_fixture *f, results_that_hold_markup_make_no_markup)
{
    report_fixture_plant(f, "tiny", plants, 1);
    poison(f, "'short'");
    const char *harmless = page_skeleton(&f->arena, page(f, false));
    poison(f, "'`code`, and words that need a wider cell than those of numbers are'");
    harmless = arena_printf(&f->arena, "%s%s", harmless, page_skeleton(&f->arena, page(f, false)));
    for (int i = 0; i <= PAGE_HOSTILE_N; i++) {
        poison(f, sql_text(f, hostile(f, i)));
        assert_contains(page(f, i < 2 || i == PAGE_HOSTILE_N), ">44.00</a>");
        assert_true(page_has_tags(&f->arena, harmless, page_skeleton(&f->arena, page(f, false))));
    }
}

/* The page of a folder whose title, note, heading, README and series are this text, drawn. */
static const char *folder_of(struct report_fixture *f, const char *text_of_all)
{
    const char *line =
        strchr(text_of_all, '\n') ? "x" : text_of_all; /* a line of table.txt has no line end */
    const char *heading = strchr(line, '|') ? "x" : line;
    report_fixture_write(
        f, "table.txt",
        arena_printf(&f->arena,
                     "title: %s\nrows: method\ncolumns: L_valid\nvalue: perplexity\nnote: %s\n"
                     "extra: L_train | %s | %%.0f | 1\nseries: method\nstyle: position\n"
                     "x: L_valid\ny: perplexity\n",
                     line, line, heading));
    report_fixture_write(f, "README.md", text_of_all);
    report_fixture_write(
        f, "query.sql",
        arena_printf(
            &f->arena,
            "SELECT r.scale, r.position, %s AS method, r.L_train, r.L_valid, e.perplexity,"
            " r.run_id, r.config_id, 1 AS seed FROM points p JOIN runs r USING(run_id)"
            " LEFT JOIN evaluations e USING(run_id) WHERE p.artefact=:artefact AND p.scale=:scale",
            sql_text(f, text_of_all)));
    const char *text = page(f, true);
    assert_contains(text, "<img id=\"f-tiny\"");
    assert_contains(text, ">44.50 ± 0.71</a>");
    assert_lacks(text, "not drawn");
    return page_skeleton(&f->arena, text);
}

TEST_WITH(struct report_fixture *f, a_folder_that_holds_markup_makes_no_markup)
{
    report_fixture_plant(f, "tiny", plants, sizeof plants / sizeof *plants);
    report_fixture_write(
        f, "plot.gp",
        "set title TITLE\nset xlabel FACTS\n"
        "plot for [i = 1:CURVES] DATA index (i - 1) using 1:2 with linespoints title "
        "CURVE_TITLE[i]\n");
    /* A README makes these; nothing else does. */
    const char *harmless = folder_of(f, "Some `code` and **more**.\n\n- a line\n\n## Heading\n");
    for (int i = 0; i <= PAGE_HOSTILE_N; i++)
        assert_true(page_has_tags(&f->arena, harmless, folder_of(f, hostile(f, i))));
    assert_false(file_exists("HACK"));
}

/* Two folders with a claim in the same words, and a third with other words for it. */
TEST_WITH(struct report_fixture *f, a_claim_that_folders_share_is_one_row)
{
    static const struct {
        const char *name, *claims;
    } folders[] = {
        {"one",
         "SELECT 'C1' AS claim, 'Shared.' AS statement, 'supported' AS verdict, '1' AS evidence"
         " UNION ALL SELECT 'C2', 'Differs.', 'supported', '1'"
         " UNION ALL SELECT 'C4', 'In part.', 'supported', '1'"},
        {"two",
         "SELECT 'C1' AS claim, 'Shared.' AS statement, 'supported' AS verdict, '2' AS evidence"
         " UNION ALL SELECT 'C2', 'Differs.', 'contradicted', '2'"
         " UNION ALL SELECT 'C4', 'In part.', 'not run', '2'"},
        {"three", "SELECT 'C1' AS claim, 'Other words.' AS statement, 'not run' AS verdict, '3' AS "
                  "evidence, NULL AS effect, NULL AS threshold"
                  " UNION ALL SELECT 'C3', 'Flat.', 'supported', '3', 'context', 0.05"},
    };
    enum { FOLDERS_N = sizeof folders / sizeof *folders };
    struct report_item items[FOLDERS_N];
    const struct report_options o = {.format = REPORT_HTML};

    for (int i = 0; i < FOLDERS_N; i++) {
        const char *dir =
            arena_printf(&f->arena, "%s/experiments/%s", f->base->dir, folders[i].name);
        report_fixture_write(f, arena_printf(&f->arena, "../%s/claim.sql", folders[i].name),
                             folders[i].claims);
        items[i] = (struct report_item){folders[i].name, dir, "mini", NULL};
    }
    const char *text = report_text(
        f, report_page(out, f->base->store, &f->project, items, FOLDERS_N, &o, &f->base->e));
    assert_page(text, true);
    assert_contains(text, "<tr><td><a href=\"#a-one\">one</a> <a href=\"#a-two\">two</a></td>"
                          "<td>C1</td><td>mini</td>"
                          "<td><span class=\"badge yes\">supported</span></td>"
                          "<td class=\"w\">Shared.</td></tr>");
    assert_contains(text, "<td><span class=\"badge no\">contradicted</span> <a href=\"#a-two\">two"
                          "</a> <span class=\"badge yes\">supported</span> <a href=\"#a-one\">one"
                          "</a></td><td class=\"w\">Differs.</td></tr>");
    assert_contains(text, "<tr><td><a href=\"#a-three\">three</a></td><td>C1</td>");
    assert_contains(text,
                    "<span class=\"badge open\">not judged</span></td><td class=\"w\">Flat. Not "
                    "judged at this scale: the threshold is 5 %, and what context is worth "
                    "was not measured.</td>");
    /* The command counts as the page does. */
    struct report_options as_text = {.format = REPORT_TEXT, .scale = "mini"};
    int32_t contradicted;
    assert_contains(text, "<p>2 supported, 1 mixed, 0 contradicted, 1 not run, 1 not judged");
    assert_contains(
        report_text(f, report_claims(out, f->base->store, &f->project, items, FOLDERS_N, &as_text,
                                     &contradicted, &f->base->e)),
        "\n2 supported (C4 in 1 of 2 tables), 1 mixed, 0 contradicted, 1 not run, 1 not judged.");
}
