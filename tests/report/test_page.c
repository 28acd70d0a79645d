/* test_page.c - the whole page: what is in it, that every number leads to its run, and that
 * no folder and no results.db breaks it. */
#include "harness/test.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

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

static const char *page(struct report_fixture *f, struct page_text *w, bool draw)
{
    const struct report_item item = {"tiny", f->artefact_dir, "mini", NULL};
    const struct report_options o = {.format = REPORT_HTML, .draw = draw};

    assert_works(f->base,
                 report_page(w->out, f->base->store, &f->project, &item, 1, &o, &f->base->e));
    return page_text_end(w);
}

TEST_EACH(report_fixture_setup, report_fixture_teardown)

TEST_WITH(struct report_fixture *f, the_page_leads_from_every_number_to_its_run)
{
    char expected[200];

    report_fixture_plant(f, "tiny", plants, sizeof plants / sizeof *plants);
    report_fixture_write(f, "README.md", "# Tiny\n\n**Claim.** It is small.\n\nMore.\n");
    struct page_text *w = page_text_begin();
    const char *text = page(f, w, true);
    assert_page(text, true);
    const char *config = fixture_cell(
        f->base->store, "SELECT config_id FROM evaluations WHERE L_valid=128 AND seed=1");
    snprintf(expected, sizeof expected, "<a href=\"#c-%s\">43.25 ± 0.35</a>", config);
    assert_contains(text, expected);
    snprintf(expected, sizeof expected, "<td class=\"w\" id=\"c-%s\"><details>", config);
    assert_contains(text, expected);
    assert_contains(text, "<img id=\"f-tiny\" class=\"wide\" alt=\"");
    const char *run =
        fixture_cell(f->base->store, "SELECT run_id FROM evaluations WHERE L_valid=128 AND seed=2");
    snprintf(expected, sizeof expected, "<tr id=\"r-%s\">", run);
    assert_contains(text, expected);
    assert_contains(text, "eval.L=128\n");
    assert_contains(text, ">not run</");
    assert_contains(text, "1 of 5 results is missing (not run)");
    assert_contains(text, "Scale mini: mini-wikitext103 in place of wikitext103, model tiny, 1000 "
                          "parameters, split valid, nonoverlapping windows");
    assert_contains(text, "<a href=\"#m-1\">m-1</a>");
    assert_contains(text, "<p><strong>Claim.</strong> It is small.</p>");
    assert_contains(text, "default-src 'none'");
    page_text_free(w);
}

TEST_WITH(struct report_fixture *f, a_page_without_results_names_the_command)
{
    struct page_text *w = page_text_begin();
    const char *text = page(f, w, true);
    assert_page(text, true);
    assert_contains(text, "There are no results of tiny at scale mini yet.");
    assert_contains(text, "Nothing was run yet.");
    page_text_free(w);
}

/* Puts a text into every column of results.db that a page shows. */
static void poison(struct report_fixture *f, const char *text)
{
    static const char *const columns[] = {
        "run_attempts SET device=?1",  "run_attempts SET blas=?1",    "run_attempts SET backend=?1",
        "run_attempts SET code_id=?1", "runs SET dataset=?1",         "runs SET corpus=?1",
        "runs SET model=?1",           "runs SET config_id=?1||kind", "runs SET spec=?1",
        "runs SET precision=?1",       "runs SET first_window=?1",    "run_attempts SET host=?1"};
    char sql[96];
    sqlite3 *db;
    sqlite3_stmt *statement;

    assert_int_equal(sqlite3_open(f->base->path, &db), SQLITE_OK);
    sqlite3_exec(db, "DROP TRIGGER IF EXISTS an_attempt_ends_once", NULL, NULL, NULL);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        snprintf(sql, sizeof sql, "UPDATE %s", columns[i]);
        if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
            fail_msg("%s: %s", sql, sqlite3_errmsg(db));
        sqlite3_bind_text(statement, 1, text, -1, SQLITE_STATIC);
        if (sqlite3_step(statement) != SQLITE_DONE) fail_msg("%s: %s", sql, sqlite3_errmsg(db));
        sqlite3_finalize(statement);
    }
    sqlite3_close(db);
}

TEST_WITH(struct report_fixture *f, results_that_hold_markup_make_no_markup)
{
    const struct report_plant one = {"mini", SPEC_ALIBI, 64, 64, 512, 512, 0, 1, 44, false};
    char *longest = malloc(LONG_BYTES + 1);

    assert_non_null(longest);
    memset(longest, 'x', LONG_BYTES);
    longest[LONG_BYTES] = '\0';
    report_fixture_plant(f, "tiny", &one, 1);
    for (int i = 0; i <= PAGE_HOSTILE_N; i++) {
        poison(f, i < PAGE_HOSTILE_N ? page_hostile[i] : longest);
        struct page_text *w = page_text_begin();
        const char *text = page(f, w, i < 2 || i == PAGE_HOSTILE_N);
        assert_page(text, true);
        assert_contains(text, ">44.00</a>");
        page_text_free(w);
    }
    free(longest);
}

static void put_query(struct report_fixture *f, const char *text)
{
    char sql[64 * 1024], hex[2 * LONG_BYTES + 1];
    size_t n = strlen(text);

    for (size_t i = 0; i <= n && i < LONG_BYTES; i++)
        snprintf(hex + 2 * i, 3, "%02x", (unsigned char)text[i]);
    hex[2 * n] = '\0';
    snprintf(
        sql, sizeof sql,
        "SELECT r.scale, r.position, CAST(x'%s' AS TEXT) AS method, r.L_train, r.L_valid,"
        " e.perplexity, r.run_id, r.config_id, 1 AS seed FROM points p JOIN runs r USING(run_id)"
        " LEFT JOIN evaluations e USING(run_id) WHERE p.artefact=:artefact AND p.scale=:scale",
        hex);
    report_fixture_write(f, "query.sql", sql);
}

/* The page of a folder whose title, note, heading, README and series are this text, drawn. */
static void assert_folder_of(struct report_fixture *f, const char *hostile)
{
    const char *line =
        strchr(hostile, '\n') ? "x" : hostile; /* a line of table.txt has no line end */
    const char *heading = strchr(line, '|') ? "x" : line;
    report_fixture_write(
        f, "table.txt",
        arena_printf(&f->arena,
                     "title: %s\nrows: method\ncolumns: L_valid\nvalue: perplexity\nnote: %s\n"
                     "extra: L_train | %s | %%.0f | 1\nseries: method\nstyle: position\n"
                     "x: L_valid\ny: perplexity\n",
                     line, line, heading));
    report_fixture_write(f, "README.md", hostile);
    put_query(f, hostile);
    struct page_text *w = page_text_begin();
    const char *text = page(f, w, true);
    assert_page(text, true);
    assert_contains(text, "<img id=\"f-tiny\"");
    assert_contains(text, ">44.50 ± 0.71</a>");
    assert_lacks(text, "not drawn");
    page_text_free(w);
}

TEST_WITH(struct report_fixture *f, a_folder_that_holds_markup_makes_no_markup)
{
    char longest[LONG_BYTES];

    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    report_fixture_plant(f, "tiny", plants, sizeof plants / sizeof *plants);
    report_fixture_write(
        f, "plot.gp",
        "set title TITLE\nset xlabel FACTS\n"
        "plot for [i = 1:CURVES] DATA index (i - 1) using 1:2 with linespoints title "
        "CURVE_TITLE[i]\n");
    for (int i = 0; i < PAGE_HOSTILE_N; i++) assert_folder_of(f, page_hostile[i]);
    assert_folder_of(f, longest);
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
         " UNION ALL SELECT 'C2', 'Differs.', 'supported', '1'"},
        {"two",
         "SELECT 'C1' AS claim, 'Shared.' AS statement, 'supported' AS verdict, '2' AS evidence"
         " UNION ALL SELECT 'C2', 'Differs.', 'contradicted', '2'"},
        {"three", "SELECT 'C1' AS claim, 'Other words.' AS statement, 'not run' AS verdict, '3' AS "
                  "evidence"},
    };
    enum { FOLDERS_N = sizeof folders / sizeof *folders };
    struct err *const err = &f->base->e;
    struct report_item items[FOLDERS_N];
    const struct report_options o = {.format = REPORT_HTML};

    for (int i = 0; i < FOLDERS_N; i++) {
        const char *dir =
            arena_printf(&f->arena, "%s/experiments/%s", f->base->dir, folders[i].name);
        const char *path = arena_printf(&f->arena, "%s/claim.sql", dir);
        if (file_make_dirs(dir, err) < 0 ||
            file_write_atomic(path, folders[i].claims, strlen(folders[i].claims), err) < 0)
            fail_msg("%s", err->text);
        items[i] = (struct report_item){folders[i].name, dir, "mini", NULL};
    }
    struct page_text *w = page_text_begin();
    if (report_page(w->out, f->base->store, &f->project, items, FOLDERS_N, &o, err) < 0)
        fail_msg("%s", err->text);
    const char *text = page_text_end(w);
    assert_page(text, true);
    assert_contains(text, "<tr><td><a href=\"#a-one\">one</a> <a href=\"#a-two\">two</a></td>"
                          "<td>C1</td><td>mini</td>"
                          "<td><span class=\"badge yes\">supported</span></td>"
                          "<td class=\"w\">Shared.</td></tr>");
    assert_contains(text, "<td><span class=\"badge no\">contradicted</span> <a href=\"#a-two\">two"
                          "</a> <span class=\"badge yes\">supported</span> <a href=\"#a-one\">one"
                          "</a></td><td class=\"w\">Differs.</td></tr>");
    assert_contains(text, "<tr><td><a href=\"#a-three\">three</a></td><td>C1</td>");
    assert_contains(text, "<p>1 supported, 1 contradicted, 1 not run,");
    page_text_free(w);
}
