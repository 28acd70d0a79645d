/* test_writer.c - tables in the formats other than HTML: whatever a cell contains, it does not
 * control a terminal, LaTeX compiles, Markdown keeps its columns, a spreadsheet runs no formula. */
#include "harness/test.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "report/page_check.h"
#include "report/report_fixture.h"
#include "report/report_internal.h"

/* A text of the given format with every hostile text as heading and cell. */
static struct page_text *hostile_table(struct arena *a, enum report_format format)
{
    struct page_text *w = page_text_begin();
    struct report_rows r;

    report_rows_init(&r, a, PAGE_HOSTILE_N, 2);
    for (int i = 0; i < PAGE_HOSTILE_N; i++) {
        r.name[i] = page_hostile[i];
        r.row[0][i].text = page_hostile[(i + 1) % PAGE_HOSTILE_N];
        if (i % 2 == 0) r.row[0][i].type = 't';
    }
    for (int i = 0; i < PAGE_HOSTILE_N; i++) {
        report_write_heading(w->out, page_hostile[i], format, 1 + i % 2);
        report_write_paragraph(w->out, page_hostile[i], format);
    }
    assert_int_equal(report_rows_write(w->out, &r, format, NULL), 0);
    page_text_end(w);
    return w;
}

/* --- LaTeX, read as TeX's eyes and stomach would --------------------------------------------- */

struct tex {
    const char *at;
    int braces, environments;
    bool math;
    int ampersands; /* in this line */
};

/* A command or an escaped character. */
static void tex_command(struct tex *t)
{
    static const char *const known[] = {"textbackslash",
                                        "textasciitilde",
                                        "textasciicircum",
                                        "pm",
                                        "times",
                                        "le",
                                        "ge",
                                        "toprule",
                                        "midrule",
                                        "bottomrule",
                                        "section",
                                        "subsection",
                                        "begin",
                                        "end",
                                        "usepackage",
                                        "linewidth"};
    const char *name = ++t->at;
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz");

    if (n == 0) {
        if (!*name || !strchr("{}&%$#_\\", *name)) fail_msg("\\%c", *name);
        t->at++;
        return;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strlen(known[i]) != n || strncmp(name, known[i], n) != 0) continue;
        t->environments += strcmp(known[i], "begin") == 0;
        t->environments -= strcmp(known[i], "end") == 0;
        t->at += n;
        return;
    }
    fail_msg("the command \\%.*s", (int)n, name);
}

static void assert_tex(const char *text, int columns)
{
    struct tex t = {.at = text};

    while (*t.at) {
        char c = *t.at;
        if (strncmp(t.at, "% \\usepackage", 13) == 0) {
            t.at += strcspn(t.at, "\n");
            continue;
        }
        if (c == '\\') {
            tex_command(&t);
            continue;
        }
        if (strchr("#%_^~", c) || ((unsigned char)c < 0x20 && c != '\n'))
            fail_msg("a bare %c before \"%.30s\"", c, t.at);
        t.braces += c == '{';
        t.braces -= c == '}';
        if (t.braces < 0) fail_msg("a } too many before \"%.30s\"", t.at);
        if (c == '$') t.math = !t.math;
        t.ampersands += c == '&';
        if (c == '\n') {
            if (t.braces || t.math) fail_msg("a brace or a $ is open at the end of a line");
            if (t.ampersands && t.ampersands != columns - 1) fail_msg("%d &", t.ampersands);
            t.ampersands = 0;
        }
        t.at++;
    }
    assert_int_equal(t.environments, 0);
}

TEST_EACH(NULL, NULL)

TEST(latex_escapes_whatever_a_cell_holds)
{
    struct arena a;

    arena_init(&a);
    struct page_text *w = hostile_table(&a, REPORT_LATEX);
    assert_tex(w->text, PAGE_HOSTILE_N);
    json_t *valid = json_string(w->text); /* UTF-8 */
    assert_non_null(valid);
    json_decref(valid);
    assert_contains(w->text, "\\textbackslash{}input\\{x\\}");
    page_text_free(w);
    arena_fini(&a);
}

/* --- the others ----------------------------------------------------------------------------- */

TEST_EACH(NULL, NULL)

TEST(no_text_controls_a_terminal)
{
    struct arena a;

    arena_init(&a);
    struct page_text *w = hostile_table(&a, REPORT_TEXT);
    for (const char *p = w->text; *p; p++)
        assert_true(*p == '\n' || ((unsigned char)*p >= 0x20 && *p != 0x7f));
    assert_lacks(w->text, "\xe2\x80\xae");
    assert_lacks(w->text, "\xc2\x85");
    json_t *valid = json_string(w->text);
    assert_non_null(valid);
    json_decref(valid);
    assert_contains(w->text, "\\xe2\\x80\\xae reversed");
    page_text_free(w);
    arena_fini(&a);
}

TEST(markdown_keeps_its_columns)
{
    struct arena a;

    arena_init(&a);
    struct page_text *w = hostile_table(&a, REPORT_MARKDOWN);
    const char *table = strstr(w->text, "\n|");
    assert_non_null(table);
    for (const char *line = table + 1; *line; line = strchr(line, '\n') + 1) {
        int bars = 0;
        for (const char *p = line; *p != '\n'; p++) bars += *p == '|' && p[-1] != '\\';
        assert_int_equal(bars, PAGE_HOSTILE_N + 1);
    }
    assert_contains(w->text, "\\<script>");
    page_text_free(w);
    arena_fini(&a);
}

TEST(a_csv_holds_no_formula)
{
    static const struct {
        const char *text, *written;
    } cases[] = {
        {"=1+1", "\"'=1+1\""},
        {"@SUM(A1)", "\"'@SUM(A1)\""},
        {"+cmd|' /C calc'!A0", "\"'+cmd|' /C calc'!A0\""},
        {"-2+3", "\"'-2+3\""},
        {"\t=1", "\"'\t=1\""},
        {"-2.5e-3", "-2.5e-3"},
        {"+7", "+7"},
        {"a=1", "a=1"},
        {"say \"a,b\"\n", "\"say \"\"a,b\"\"\n\""},
        {"", "\"\""},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a;
        e = (struct err){0};
        const char *name = "x";
        struct report_cell cell = {.text = cases[i].text, .type = 't'}, *row = &cell;
        const char *expected;
        arena_init(&a);
        struct report_rows rows = {
            .arena = &a, .name = &name, .columns_n = 1, .row = &row, .rows_n = 1};
        struct page_text *w = page_text_begin();
        assert_int_equal(report_rows_write(w->out, &rows, REPORT_CSV, &e), 0);
        expected = arena_printf(&a, "x\n%s\n", cases[i].written);
        assert_string_equal(page_text_end(w), expected);
        page_text_free(w);
        arena_fini(&a);
    }
}

TEST(an_unknown_format_is_rejected_with_the_known_ones)
{
    enum report_format format;

    assert_int_equal(report_format_find(&format, "yaml", &e), ERR_USAGE);
    assert_contains(e.text, "markdown");
    assert_int_equal(report_format_find(&format, "json", &e), 0);
    assert_int_equal(format, REPORT_JSON);
}

TEST_EACH(report_fixture_setup, report_fixture_teardown)

TEST_WITH(struct report_fixture *f, a_query_stops_at_its_time_limit)
{
    int rc = report_query(stdout, f->base->store,
                          "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n)"
                          " SELECT count(*) FROM n",
                          0.05, REPORT_TEXT, &f->base->e);
    assert_int_equal(rc, ERR_UNAVAILABLE);
    assert_contains(f->base->e.text, "0.05");
}

TEST_WITH(struct report_fixture *f, a_ragged_tsv_names_its_line)
{
    struct report_rows rows;
    char path[256];

    report_fixture_write(f, "paper.tsv", "a\tb\tc\n1\t\tx\n1\t2\n");
    snprintf(path, sizeof path, "%s/paper.tsv", f->artefact_dir);
    assert_int_equal(report_rows_tsv(&rows, &f->arena, path, &f->base->e), ERR_DATA);
    assert_contains(f->base->e.text, "paper.tsv:3: 2 cells, the header line has 3");
    report_fixture_write(f, "paper.tsv", "a\tb\tc\n1\t\tx\n");
    assert_works(f->base, report_rows_tsv(&rows, &f->arena, path, &f->base->e));
    assert_int_equal(rows.rows_n, 1);
    assert_null(report_rows_get(&rows, 0, "b"));
    assert_string_equal(report_rows_get(&rows, 0, "c"), "x");
}

TEST_WITH(struct report_fixture *f,
          two_sets_side_by_side_are_a_page_and_hostile_filters_write_nothing)
{
    const struct report_plant plant = {"mini", SPEC_ALIBI, 64, 64, 512, 512, 0, 1, 44, false};

    report_fixture_plant(f, "tiny", &plant, 1);
    for (int i = -1; i < PAGE_HOSTILE_N; i++) {
        struct page_text *w = page_text_begin();
        int rc = report_compare(w->out, f->base->store, i < 0 ? "seed=1" : page_hostile[i],
                                "position=alibi", REPORT_HTML, &f->base->e);
        page_text_end(w);
        if (i < 0) assert_page(w->text, true);
        if (i >= 0) assert_string_equal(w->text, ""); /* nothing before the error */
        assert_int_equal(rc < 0, i >= 0);
        page_text_free(w);
    }
}
