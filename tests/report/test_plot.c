/* test_plot.c - figures: data file, script, pictures; hostile names stay text. */
#include "harness/test.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "report/report_fixture.h"
#include "report/report_internal.h"

#define FIGURE_KEYS                                                                                \
    "rows: method\ncolumns: L_valid\nvalue: perplexity\nseries: method\nstyle: position\n"         \
    "x: L_valid\ny: perplexity\n"

static const char plot_gp[] =
    "set title TITLE\nset xlabel FACTS\n"
    "plot for [i = 1:CURVES] DATA index (i - 1) using 1:2 with linespoints linestyle "
    "CURVE_STYLE[i] title CURVE_TITLE[i]\n";

static const struct report_plant curve[] = {
    {"mini", SPEC_ALIBI, 64, 64, 512, 512, 0, 1, 44, false},
    {"mini", SPEC_ALIBI, 64, 128, 512, 1024, 0, 1, 43, false},
    {"mini", SPEC_ALIBI, 64, 192, 512, 1536, 0, 1, 0, false},
    {"mini", SPEC_ALIBI, 64, 256, 512, 2048, 0, 1, 0, false},
    {"mini", SPEC_ALIBI, 64, 384, 512, 3072, 0, 1, 42, false},
    {"mini", SPEC_ROTARY, 64, 64, 512, 512, 0, 1, 0, false},
};

static char *draw(struct report_fixture *f)
{
    int rc;
    const struct report_options o = {.scale = "mini", .draw = true};
    char *text = report_fixture_report(f, "tiny", f->artefact_dir, &o, &rc);
    if (rc < 0) fail_msg("%s", f->base->e.text);
    return text;
}

/* A file of plots/, in the arena; NULL when it is not there. */
static char *plot_file(struct report_fixture *f, const char *name)
{
    char path[256], *text;
    snprintf(path, sizeof path, "%s/plots/%s", f->base->dir, name);
    if (!file_exists(path)) return NULL;
    assert_works(f->base, file_read(&f->arena, &text, NULL, path, 1 << 20, &f->base->e));
    return text;
}

static void start(struct report_fixture *f, const char *table)
{
    report_fixture_write(f, "table.txt", table);
    report_fixture_write(f, "plot.gp", plot_gp);
    report_fixture_plant(f, "tiny", curve, sizeof curve / sizeof *curve);
}

TEST_EACH(report_fixture_setup, report_fixture_teardown)

TEST_WITH(struct report_fixture *f, a_figure_is_an_svg_a_png_and_a_pdf_with_its_scale_in_it)
{
    start(f, "title: Tiny\n" FIGURE_KEYS);
    char *text = draw(f);
    assert_contains(text, "Figure: plots/tiny-mini.svg, .png and .pdf\n");
    char *svg = plot_file(f, "tiny-mini.svg");
    assert_non_null(svg);
    assert_contains(svg, "</svg>");
    assert_contains(svg, "Tiny. Scale mini");
    assert_contains(svg, "split valid, nonoverlapping windows");
    char *png = plot_file(f, "tiny-mini.png");
    assert_non_null(png);
    assert_memory_equal(png, "\x89PNG\r\n", 6);
    char *pdf = plot_file(f, "tiny-mini.pdf");
    assert_non_null(pdf);
    assert_memory_equal(pdf, "%PDF-", 5);
    free(text);
}

TEST_WITH(struct report_fixture *f, a_length_has_a_subscript_and_nothing_else)
{
    start(f, "title: L_valid of x_1 and 2L_train\n" FIGURE_KEYS);
    free(draw(f));
    assert_contains(plot_file(f, "tiny-mini.gp"),
                    "\nTITLE = 'L_{valid} of x\\_1 and 2L\\_train. Scale mini'\n");
}

TEST_WITH(struct report_fixture *f, the_data_file_has_gaps_where_results_are_missing)
{
    start(f, "title: Tiny\n" FIGURE_KEYS);
    free(draw(f));
    char *data = plot_file(f, "tiny-mini.dat");
    assert_non_null(data);
    char *first = strstr(data, "# curve: ALiBi\n64 44 0 1 512 # ");
    assert_non_null(first);
    char *second = strstr(first, "\n128 43 0 1 1024 # ");
    assert_non_null(second);
    char *end = strchr(second + 1, '\n');
    assert_int_equal(strncmp(end, "\n\n384 42 0 1 3072 # ", 20),
                     0); /* one empty line for two gaps */
    assert_contains(data, "\n\n\n# curve: Rotary\nNaN NaN 0 0 0\n");
    char *svg = plot_file(f, "tiny-mini.svg");
    assert_contains(svg, "Rotary (no result)");
}

TEST_WITH(struct report_fixture *f, a_folder_without_a_layout_is_drawn_too)
{
    report_fixture_plant(f, "tiny", curve, sizeof curve / sizeof *curve);
    char *text = draw(f);
    assert_contains(text, "Figure: plots/tiny-mini.svg");
    char *svg = plot_file(f, "tiny-mini.svg");
    assert_contains(svg, "ALiBi L=64 (512)");
    free(text);
}

TEST_WITH(struct report_fixture *f, the_same_results_give_the_same_picture)
{
    start(f, "title: Tiny\n" FIGURE_KEYS);
    free(draw(f));
    const char *once = plot_file(f, "tiny-mini.svg");
    free(draw(f));
    assert_string_equal(plot_file(f, "tiny-mini.svg"), once);
}

/* What could break out of a gnuplot string, in SQL and in a layout: an end of the quotes, of the
 * line and of a block, a macro, a backslash at the end. */
#define HOSTILE_SQL "'`touch HACK`'' @TRACE \"; }' || char(10) || 'system(\"touch HACK\") # \\'"
#define HOSTILE_TITLE "`touch HACK` ' ; system('touch HACK') ; } ' @TRACE $(touch HACK) %n \" \\"

TEST_WITH(struct report_fixture *f, hostile_titles_and_names_stay_text)
{
    start(f, "title: " HOSTILE_TITLE "\npanel: trap\n" FIGURE_KEYS);
    report_fixture_write(f, "plot.gp",
                         "set multiplot layout 1,PANELS title TITLE\n"
                         "do for [p = 1:PANELS] {\n"
                         "    set title PANEL_TITLE[p]\n    set xlabel FACTS\n"
                         "    plot for [i = PANEL_FIRST[p]:PANEL_LAST[p]] DATA index (i - 1) "
                         "using 1:2 with linespoints title CURVE_TITLE[i]\n"
                         "}\nunset multiplot\n");
    report_fixture_write(
        f, "query.sql",
        "SELECT r.scale, r.L_valid, e.perplexity, r.position, " HOSTILE_SQL
        " AS method, " HOSTILE_SQL " AS trap, " HOSTILE_SQL " AS split, " HOSTILE_SQL
        " AS protocol, r.run_id FROM points p JOIN runs r USING (run_id) "
        "JOIN evaluations e USING (run_id) WHERE p.artefact = :artefact AND p.scale = :scale");
    free(draw(f));
    const char *script = plot_file(f, "tiny-mini.gp");
    assert_non_null(script);
    assert_contains(script,
                    "\nTITLE = '`touch HACK` '' ; system(''touch HACK'') ; \\} '' \\@TRACE ");
    assert_contains(script, "\nPANEL_TITLE[1] = 'trap = `touch HACK`'' \\@TRACE \"; \\} system(\"");
    assert_contains(script, "\nCURVE_TITLE[1] = '`touch HACK`'' \\@TRACE \"; \\} system(\"");
    assert_contains(script, "\nFACTS = 'split `touch HACK`'' \\@TRACE \"; \\} system(\"");
    const char *svg = plot_file(f, "tiny-mini.svg");
    assert_non_null(svg);
    assert_contains(svg, "`touch HACK`");
    assert_contains(svg, "system(");
    assert_null(plot_file(f, "HACK"));
    assert_false(file_exists("HACK"));
}

TEST(quoting_doubles_quotes_and_drops_line_ends)
{
    struct arena a;
    struct strbuf b;

    arena_init(&a);
    strbuf_init(&b, &a);
    report_gnuplot_quote(&b, "it's `a`\nb\\");
    assert_string_equal(b.text, "'it''s `a` b\\'");
    arena_fini(&a);
}

TEST_WITH(struct report_fixture *f, without_gnuplot_the_table_is_still_the_answer)
{
    const char *path = getenv("PATH");
    char *kept = arena_strdup(&f->arena, path ? path : "");
    start(f, "title: Tiny\n" FIGURE_KEYS);
    setenv("PATH", "/nonexistent", 1);
    char *text = draw(f);
    setenv("PATH", kept, 1);
    assert_contains(text, "44.00");
    assert_contains(text, "The figure was not drawn: gnuplot is not in PATH; install the package "
                          "gnuplot-nox");
    assert_null(plot_file(f, "tiny-mini.svg"));
    free(text);
}

TEST_WITH(struct report_fixture *f, a_script_that_fails_is_quoted_and_leaves_no_picture)
{
    start(f, "title: Tiny\n" FIGURE_KEYS);
    report_fixture_write(f, "plot.gp", "plot no_such_variable\n");
    char *text = draw(f);
    assert_contains(text, "The figure was not drawn: gnuplot could not draw tiny-mini.gp:");
    assert_contains(text, "no_such_variable");
    assert_null(plot_file(f, "tiny-mini.svg"));
    free(text);
}

TEST_WITH(struct report_fixture *f, a_script_for_the_preamble_of_an_earlier_version_draws)
{
    start(f, "title: Tiny\n" FIGURE_KEYS);
    report_fixture_write(
        f, "plot.gp",
        "eval FRAME\nset yrange [0.9 * Y_MIN:1.1 * Y_MAX]\n"
        "plot for [i = 1:CURVES] DATA index (i - 1) using 1:2 with linespoints linestyle "
        "CURVE_STYLE[i] linecolor rgb (CURVE_STYLE[i] == 4 ? blue(CURVE_SHADE[i]) : "
        "orange(CURVE_SHADE[i])) title name(CURVE_STYLE[i], CURVE_SHADE[i], CURVE_TITLE[i])\n");
    free(draw(f));
    assert_non_null(plot_file(f, "tiny-mini.svg"));
}
