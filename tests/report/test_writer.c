/* test_writer.c - tables in the formats other than HTML: whatever a cell contains, it does not
 * control a terminal, LaTeX compiles, Markdown keeps its columns, a spreadsheet runs no formula. */
#include "harness/test.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "report/cells.h"
#include "report/page_check.h"
#include "report/report_fixture.h"

/* A text of the given format, which is UTF-8, with every hostile text as heading and cell. */
static const char *hostile_table(struct report_fixture *f, enum report_format format)
{
    struct rows r;

    report_rows_init(&r, &f->arena, PAGE_HOSTILE_N, 2);
    for (int i = 0; i < PAGE_HOSTILE_N; i++) {
        r.name[i] = page_hostile[i];
        r.row[0][i].text = page_hostile[(i + 1) % PAGE_HOSTILE_N];
        if (i % 2 == 0) r.row[0][i].type = 't';
    }
    FILE *out = report_text_begin(f);
    for (int i = 0; i < PAGE_HOSTILE_N; i++) {
        report_write_heading(out, page_hostile[i], format, 1 + i % 2);
        report_write_paragraph(out, page_hostile[i], format);
    }
    assert_works(f->base, report_rows_write(out, &r, format, &f->base->e));
    const char *text = report_text_end(f);
    json_t *valid = json_string(text);
    assert_non_null(valid);
    json_decref(valid);
    return text;
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

TEST_EACH(report_fixture_setup, report_fixture_teardown)

TEST_WITH(struct report_fixture *f, latex_escapes_whatever_a_cell_holds)
{
    const char *text = hostile_table(f, REPORT_LATEX);

    assert_tex(text, PAGE_HOSTILE_N);
    assert_contains(text, "\\textbackslash{}input\\{x\\}");
}

TEST_WITH(struct report_fixture *f, latex_takes_no_cell_for_the_argument_of_a_command)
{
    struct rows r;

    report_rows_init(&r, &f->arena, 2, 2);
    r.name[0] = "[0pt]head";
    r.name[1] = "[1]";
    r.row[0][0].text = "[9pt]x";
    r.row[1][0].text = "*y";
    FILE *out = report_text_begin(f);
    assert_works(f->base, report_rows_write(out, &r, REPORT_LATEX, &f->base->e));
    const char *text = report_text_end(f);
    assert_contains(text, "\\toprule\n{}[0pt]head & [1] \\\\\n\\midrule\n{}[9pt]x");
    assert_contains(text, "\\\\\n{}*y");
}

TEST_WITH(struct report_fixture *f, an_infinite_cell_is_a_number_in_a_statement)
{
    struct report_answer answer;
    struct rows rows, again;
    struct strbuf sql;

    assert_works(f->base, report_rows_query(&rows, &f->arena, f->base->store, NULL,
                                            "SELECT 9e999 AS high, -9e999 AS low, 5e-324 AS tiny",
                                            NULL, 0, 0, &f->base->e));
    report_answer_rows(&answer, "here", &rows);
    const struct store_param given = REPORT_GIVEN(&answer);
    strbuf_init(&sql, &f->arena);
    report_answer_begin(&sql, &answer);
    strbuf_add(&sql, " SELECT high > 1e308, low < -1e308, tiny > 0 FROM report_answer");
    assert_works(f->base, report_rows_query(&again, &f->arena, f->base->store, NULL, sql.text,
                                            &given, 1, 0, &f->base->e));
    for (int32_t c = 0; c < 3; c++) assert_string_equal(report_rows_text(&again, 0, c), "1");
}

/* --- the others ----------------------------------------------------------------------------- */

TEST_WITH(struct report_fixture *f, no_text_controls_a_terminal)
{
    const char *text = hostile_table(f, REPORT_TEXT);

    for (const char *p = text; *p; p++)
        assert_true(*p == '\n' || ((unsigned char)*p >= 0x20 && *p != 0x7f));
    assert_lacks(text, "\xe2\x80\xae");
    assert_lacks(text, "\xc2\x85");
    assert_contains(text, "\\xe2\\x80\\xae reversed");
}

TEST_WITH(struct report_fixture *f, markdown_keeps_its_columns)
{
    const char *text = hostile_table(f, REPORT_MARKDOWN), *table = strstr(text, "\n|");

    assert_non_null(table);
    for (const char *line = table + 1; *line; line = strchr(line, '\n') + 1) {
        int bars = 0;
        for (const char *p = line; *p != '\n'; p++) bars += *p == '|' && p[-1] != '\\';
        assert_int_equal(bars, PAGE_HOSTILE_N + 1);
    }
    assert_contains(text, "\\<script>");
}

TEST(an_unknown_format_is_rejected_with_the_known_ones)
{
    enum report_format format;

    assert_fails(ERR_USAGE, "markdown", report_format_find(&format, "yaml", &e));
    assert_ok(report_format_find(&format, "json", &e));
    assert_int_equal(format, REPORT_JSON);
}

TEST_WITH(struct report_fixture *f, a_query_stops_at_its_time_limit)
{
    assert_refused(f->base, ERR_UNAVAILABLE, "0.05",
                   report_query(stdout, f->base->store,
                                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n)"
                                " SELECT count(*) FROM n",
                                0.05, REPORT_TEXT, &f->base->e));
}

TEST_WITH(struct report_fixture *f, a_ragged_tsv_names_its_line)
{
    const char *path = arena_printf(&f->arena, "%s/paper.tsv", f->artefact_dir);
    struct rows rows;

    report_fixture_write(f, "paper.tsv", "a\tb\tc\n1\t\tx\n1\t2\n");
    assert_refused(f->base, ERR_DATA, "paper.tsv:3: 2 cells, the header line has 3",
                   report_rows_tsv(&rows, &f->arena, path, &f->base->e));
    report_fixture_write(f, "paper.tsv", "a\tb\tc\n1\t\tx\n");
    assert_works(f->base, report_rows_tsv(&rows, &f->arena, path, &f->base->e));
    assert_int_equal(rows.rows_n, 1);
    assert_null(report_rows_get(&rows, 0, "b"));
    assert_string_equal(report_rows_get(&rows, 0, "c"), "x");
}

TEST_WITH(struct report_fixture *f, hostile_filters_of_two_sets_write_nothing)
{
    const struct report_plant plant = {"mini", SPEC_ALIBI, 64, 64, 512, 512, 0, 1, 44, false};

    report_fixture_plant(f, "tiny", &plant, 1);
    for (int i = 0; i < PAGE_HOSTILE_N; i++) {
        FILE *out = report_text_begin(f);
        assert_true(report_compare(out, f->base->store, page_hostile[i], "position=alibi", false,
                                   REPORT_MARKDOWN, &f->base->e) < 0);
        assert_string_equal(report_text_end(f), ""); /* nothing before the error */
    }
}
