/* test_plot.c - figures: data file, script, pictures; hostile names stay text. */
#include "harness/test.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "report/report_fixture.h"
#include "report/rows.h"
#include "store/statements.h"

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

static char *draw_figure(struct report_fixture *f)
{
    return report_fixture_report(f, "tiny",
                                 &(struct report_options){.scale = "mini", .draw = true});
}

/* A file of plots/ that is there. */
static char *plot_file(struct report_fixture *f, const char *name)
{
    char *text = report_fixture_read(f, arena_printf(&f->arena, "plots/%s", name));
    if (!text) fail_msg("plots/%s is not there", name);
    return text;
}

static void expect_no_picture(struct report_fixture *f)
{
    assert_null(report_fixture_read(f, "plots/tiny-mini.svg"));
}

static void write_artefact(struct report_fixture *f)
{
    report_fixture_write(f, "table.txt", "title: Tiny\n" FIGURE_KEYS);
    report_fixture_write(f, "plot.gp", plot_gp);
    report_fixture_plant(f, "tiny", curve, sizeof curve / sizeof *curve);
}

TEST_EACH(report_fixture_setup, report_fixture_teardown)

TEST_WITH(struct report_fixture *f, a_figure_is_an_svg_a_png_and_a_pdf_with_its_scale_in_it)
{
    write_artefact(f);
    char *text = draw_figure(f);
    assert_contains(text, "Figure: plots/tiny-mini.svg, .png and .pdf\n");
    const char *svg = plot_file(f, "tiny-mini.svg");
    assert_contains(svg, "</svg>");
    assert_contains(svg, "Tiny. Scale mini");
    assert_contains(svg, "split valid, nonoverlapping windows");
    assert_memory_equal(plot_file(f, "tiny-mini.png"), "\x89PNG\r\n", 6);
    assert_memory_equal(plot_file(f, "tiny-mini.pdf"), "%PDF-", 5);
}

TEST_WITH(struct report_fixture *f, a_length_has_a_subscript_and_nothing_else)
{
    write_artefact(f);
    report_fixture_write(f, "table.txt", "title: L_valid of x_1 and 2L_train\n" FIGURE_KEYS);
    draw_figure(f);
    assert_contains(plot_file(f, "tiny-mini.gp"),
                    "\nTITLE = 'L_{valid} of x\\_1 and 2L\\_train. Scale mini'\n");
}

TEST_WITH(struct report_fixture *f, the_data_file_has_gaps_where_results_are_missing)
{
    write_artefact(f);
    draw_figure(f);
    const char *data = plot_file(f, "tiny-mini.dat");
    const char *first = strstr(data, "# curve: ALiBi\n64 44 0 1 512 # ");
    assert_non_null(first);
    const char *second = strstr(first, "\n128 43 0 1 1024 # ");
    assert_non_null(second);
    const char *end = strchr(second + 1, '\n');
    assert_int_equal(strncmp(end, "\n\n384 42 0 1 3072 # ", 20),
                     0); /* one empty line for two gaps */
    assert_contains(data, "\n\n\n# curve: Rotary\nNaN NaN 0 0 0\n");
    assert_contains(plot_file(f, "tiny-mini.svg"), "Rotary (no result)");
}

TEST_WITH(struct report_fixture *f, a_panel_without_a_result_is_as_wide_as_the_others)
{
    write_artefact(f);
    report_fixture_write(f, "table.txt", "title: Tiny\npanel: position\n" FIGURE_KEYS);
    draw_figure(f);
    assert_contains(plot_file(f, "tiny-mini.gp"), "\nPANEL_X_MAX[2] = 384\n");
}

TEST_WITH(struct report_fixture *f, a_folder_without_a_layout_is_drawn_too)
{
    report_fixture_plant(f, "tiny", curve, sizeof curve / sizeof *curve);
    assert_contains(draw_figure(f), "Figure: plots/tiny-mini.svg");
    const char *script = plot_file(f, "tiny-mini.gp"); /* all curves share the length */
    assert_contains(script, "\nCURVE_TITLE[1] = 'ALiBi'\n");
    assert_contains(script, ", all L=64 (512)'\n");
    assert_contains(script, "\nX_TICS = '64 128 384'\n");
}

/* Every method at two lengths: more curves than one row of the legend holds, with long names. */
static void plant_crowd(struct report_fixture *f)
{
    struct report_plant crowd[4 * POSITION_METHODS_N];
    int32_t n = 0;

    for (int p = 0; p < POSITION_METHODS_N; p++)
        for (int i = 0; i < 4; i++) {
            int L = 64 << (i / 2), L_valid = i % 2 ? 3 * L / 2 : L;
            crowd[n++] = (struct report_plant){
                "mini", (enum spec_position)p, L, L_valid, 8 * L, 8 * L_valid, 0, 1, 20 + n, false};
        }
    report_fixture_plant(f, "tiny", crowd, n);
}

TEST_WITH(struct report_fixture *f, a_crowded_figure_has_its_texts_on_the_page_and_apart)
{
    plant_crowd(f);
    draw_figure(f);
    report_fixture_check_svg(f, "plots/tiny-mini.svg");
    assert_contains(plot_file(f, "tiny-mini.svg"), ">96<"); /* a tick at each length */
    report_fixture_report(f, "tiny",
                          &(struct report_options){.scale = "mini", .draw = true, .width_in = 3.3});
    report_fixture_check_svg(f, "plots/tiny-mini-3.3in.svg");
    const char *narrow = plot_file(f, "tiny-mini-3.3in.svg");
    assert_lacks(narrow, "Scale mini"); /* neither title nor facts */
    assert_lacks(narrow, "split valid");
}

static int count(const char *text, const char *part)
{
    int n = 0;

    while ((text = strstr(text, part))) text += strlen(part), n++;
    return n;
}

/* Draws ALiBi at these lengths for a column of 3.3 inches. */
static const char *draw_narrow(struct report_fixture *f, const int *L_valid, int n)
{
    struct report_plant row[8];

    for (int i = 0; i < n; i++)
        row[i] = (struct report_plant){"mini",         SPEC_ALIBI, 64, L_valid[i], 512,
                                       8 * L_valid[i], 0,          1,  44,         false};
    report_fixture_plant(f, "tiny", row, n);
    report_fixture_report(f, "tiny",
                          &(struct report_options){.scale = "mini", .draw = true, .width_in = 3.3});
    report_fixture_check_svg(f, "plots/tiny-mini-3.3in.svg");
    return plot_file(f, "tiny-mini-3.3in.svg");
}

TEST_WITH(struct report_fixture *f, ticks_that_would_touch_are_in_two_lines)
{
    static const int L_valid[] = {8, 16, 32, 64, 128, 192, 256, 384};
    const char *svg = draw_narrow(f, L_valid, 8);

    for (int i = 0; i < 8; i++) assert_contains(svg, arena_printf(&f->arena, ">%d<", L_valid[i]));
}

TEST_WITH(struct report_fixture *f, marks_that_would_touch_are_left_out)
{
    static const int few[] = {64, 128, 384}, crowd[] = {64, 65, 66, 67, 68, 128, 384};

    int marks_n = count(draw_narrow(f, few, 3), "xlink:href='#gpPt6'");
    assert_int_equal(marks_n, 3 + 1); /* and one in the legend */
    assert_int_equal(count(draw_narrow(f, crowd, 7), "xlink:href='#gpPt6'"), marks_n);
}

TEST_WITH(struct report_fixture *f, labels_and_scale_of_an_axis_are_of_its_column_or_of_the_layout)
{
    write_artefact(f);
    report_fixture_write(f, "table.txt",
                         "title: Tiny\nrows: method\ncolumns: lr\nvalue: perplexity\n"
                         "series: method\nstyle: position\nx: lr\ny: perplexity\n");
    report_fixture_write(
        f, "query.sql",
        "SELECT r.scale, (SELECT 0.002 * count(*) FROM points q WHERE q.artefact = p.artefact "
        "AND q.point <= p.point) AS lr, e.perplexity, r.position, 'ALiBi' AS method, r.run_id "
        "FROM points p JOIN runs r USING (run_id) "
        "JOIN evaluations e USING (run_id) WHERE p.artefact = :artefact AND p.scale = :scale");
    draw_figure(f);
    assert_contains(plot_file(f, "tiny-mini.gp"), "\nX_LABEL = 'lr'\n"
                                                  "Y_LABEL = 'perplexity (lower is better)'\n"
                                                  "X_BASE = 0\nX_TICS = '0.002 0.004 0.01'\n");
    report_fixture_write(f, "table.txt",
                         "title: Tiny\nrows: method\ncolumns: lr\nvalue: perplexity\n"
                         "series: method\nstyle: position\nx: lr\ny: perplexity\n"
                         "xlabel: learning rate\nylabel: L_valid\nxscale: log10\n");
    draw_figure(f);
    assert_contains(plot_file(f, "tiny-mini.gp"), "\nX_LABEL = 'learning rate'\n"
                                                  "Y_LABEL = 'L_{valid}'\nX_BASE = 10\n");
}

/* Two panels of a setting, curves of another, and a setting that ends like it in one of them. */
static const char query_of_settings[] =
    "SELECT r.scale, r.L_valid, e.perplexity, r.position, 'ALiBi model.alibi_bias_max=' || "
    "CASE WHEN r.L_valid > 100 THEN '4 train.precision=fp32 eval.precision=bf16' ELSE '8 "
    "train.lr=1'"
    " END AS method, iif(r.L_valid > 200, 64, 0) AS \"eval.attention_window\", r.run_id "
    "FROM points p JOIN runs r USING (run_id) JOIN evaluations e USING (run_id) "
    "WHERE p.artefact = :artefact AND p.scale = :scale ORDER BY p.point";

TEST_WITH(struct report_fixture *f, labels_and_short_names_are_in_table_figure_and_latex_alike)
{
    write_artefact(f);
    report_fixture_write(f, "query.sql", query_of_settings);
    report_fixture_write(f, "table.txt",
                         "title: Tiny\ngroup: eval.attention_window\npanel: eval.attention_window\n"
                         "label: model.alibi_bias_max=4 | steep & long\n"
                         "label: eval.attention_window | window\nlabel: train.lr |\n" FIGURE_KEYS);
    const char *text = draw_figure(f);
    assert_contains(text, "\nwindow 0\n");
    assert_contains(text, "\nwindow 64\n");
    assert_contains(text, "\nALiBi alibi_bias_max=8   "); /* the rate is hidden */
    assert_contains(text, "\nALiBi steep & long train.precision=fp32 eval.precision=bf16 ");
    const char *script = plot_file(f, "tiny-mini.gp");
    assert_contains(script, "\nPANEL_TITLE[2] = 'window 64'\n");
    assert_contains(script, "\nCURVE_TITLE[1] = 'ALiBi alibi\\_bias\\_max=8'\n");
    assert_contains(script, "\nCURVE_TITLE[2] = 'ALiBi steep \\& long train.precision=fp32 "
                            "eval.precision=bf16'\n");
    assert_contains(script, "\nCURVE_DASH[2] = 2\n"); /* a label is still a setting */
    const struct report_options latex = {
        .scale = "mini", .format = REPORT_LATEX, .table_only = true};
    assert_contains(report_fixture_report(f, "tiny", &latex), "\nALiBi steep \\& long train");
    const struct report_options csv = {.scale = "mini", .format = REPORT_CSV};
    assert_contains(report_fixture_report(f, "tiny", &csv), ",ALiBi model.alibi_bias_max=4 ");
}

TEST_WITH(struct report_fixture *f, shades_tell_lengths_apart_within_each_setting)
{
    static const struct report_plant sweep[] = {
        {"mini", SPEC_ALIBI, 64, 128, 512, 1024, 0, 1, 44, false},
        {"mini", SPEC_ALIBI, 64, 256, 512, 2048, 0, 1, 43, false},
        {"mini", SPEC_ALIBI, 128, 128, 1024, 1024, 0, 1, 42, false},
        {"mini", SPEC_ALIBI, 128, 256, 1024, 2048, 0, 1, 41, false},
    };
    write_artefact(f);
    report_fixture_plant(f, "tiny", sweep, 4);
    report_fixture_write(
        f, "query.sql",
        "SELECT r.scale, r.L_valid, e.perplexity, r.position, 'ALiBi L=' || r.L_train || "
        "iif(r.L_valid = 128, '', ' eval.attention_sinks=4') AS method, r.run_id "
        "FROM points p JOIN runs r USING (run_id) JOIN evaluations e USING (run_id) "
        "WHERE p.artefact = :artefact AND p.scale = :scale ORDER BY p.point");
    draw_figure(f);
    const char *script = plot_file(f, "tiny-mini.gp");
    for (int i = 0; i < 4; i++) /* 64, 64 with sinks, 128, 128 with sinks */
        assert_contains(script,
                        arena_printf(&f->arena, "\nCURVE_SHADE[%d] = %s\nCURVE_DASH[%d] = %d",
                                     i + 1, i < 2 ? "0.3000" : "1.0000", i + 1, i % 2 + 1));
}

TEST_WITH(struct report_fixture *f, a_label_may_name_a_column_and_its_value)
{
    write_artefact(f);
    report_fixture_write(f, "table.txt",
                         "title: Tiny\nlabel: method=ALiBi | ours\nlabel: method | model\n"
                         "label: L_valid=128 | twice\n" FIGURE_KEYS);
    const char *text = draw_figure(f);
    assert_contains(text, "\nmodel ");
    assert_contains(text, "  twice  192 (1536)");
    assert_contains(text, "\nours ");
    assert_contains(plot_file(f, "tiny-mini.gp"), "\nCURVE_TITLE[1] = 'ours'\n");
    const struct report_options narrow = {.scale = "mini",
                                          .without = (const char *const[]){"128 (1024)", NULL}};
    assert_lacks(report_fixture_report(f, "tiny", &narrow), "twice");
    report_fixture_write(f, "table.txt", "title: Tiny\nlabel: methd | model\n" FIGURE_KEYS);
    assert_fails(ERR_DATA, "query.sql; did you mean 'method'?",
                 report_artefact(stdout, f->base->store, &f->project, "tiny",
                                 report_fixture_dir(f, "tiny"), &narrow, &e));
}

TEST_WITH(struct report_fixture *f, the_same_results_give_the_same_picture)
{
    write_artefact(f);
    draw_figure(f);
    const char *once = plot_file(f, "tiny-mini.svg");
    draw_figure(f);
    assert_string_equal(plot_file(f, "tiny-mini.svg"), once);
}

/* What could break out of a gnuplot string, in SQL and in a layout: an end of the quotes, of the
 * line and of a block, a macro, a backslash at the end. */
#define HOSTILE_SQL "'`touch HACK`'' @TRACE \"; }' || char(10) || 'system(\"touch HACK\") # \\'"
#define HOSTILE_TITLE "`touch HACK` ' ; system('touch HACK') ; } ' @TRACE $(touch HACK) %n \" \\"

TEST_WITH(struct report_fixture *f, hostile_titles_and_names_stay_text)
{
    write_artefact(f);
    report_fixture_write(f, "table.txt", "title: " HOSTILE_TITLE "\npanel: trap\n" FIGURE_KEYS);
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
    draw_figure(f);
    const char *script = plot_file(f, "tiny-mini.gp");
    assert_contains(script,
                    "\nTITLE = '`touch HACK` '' ; system(''touch HACK'') ; \\} '' \\@TRACE ");
    assert_contains(script, "\nPANEL_TITLE[1] = '`touch HACK`'' \\@TRACE \"; \\} system(\"");
    assert_contains(script, "\nCURVE_TITLE[1] = '`touch HACK`'' \\@TRACE \"; \\} system(\"");
    assert_contains(script, "\nFACTS = 'split `touch HACK`'' \\@TRACE \"; \\} system(\"");
    const char *svg = plot_file(f, "tiny-mini.svg");
    assert_contains(svg, "`touch HACK`");
    assert_contains(svg, "system(");
    assert_null(report_fixture_read(f, "plots/HACK"));
    assert_false(file_exists("HACK"));
}

TEST_WITH(struct report_fixture *f, quoting_doubles_quotes_and_drops_line_ends)
{
    struct strbuf b;

    strbuf_init(&b, &f->arena);
    report_gnuplot_quote(&b, "it's `a`\nb\\");
    assert_string_equal(b.text, "'it''s `a` b\\'");
}

TEST_WITH(struct report_fixture *f, without_gnuplot_the_table_is_still_the_answer)
{
    const char *path = getenv("PATH");
    char *kept = arena_strdup(&f->arena, path ? path : "");
    write_artefact(f);
    setenv("PATH", "/nonexistent", 1);
    char *text = draw_figure(f);
    setenv("PATH", kept, 1);
    assert_contains(text, "44.00");
    assert_contains(text, "The figure was not drawn: gnuplot is not in PATH; install the package "
                          "gnuplot-nox");
    expect_no_picture(f);
}

TEST_WITH(struct report_fixture *f, a_figure_of_perplexities_of_two_tokenizers_is_refused)
{
    const struct report_options o = {.scale = "mini", .draw = true};
    struct store *store = f->base->store;
    FILE *null = fopen("/dev/null", "w");

    write_artefact(f);
    report_fixture_write(f, "table.txt",
                         "title: Tiny\nrows: method\ncolumns: L_valid\nvalue: bits_per_byte\n"
                         "series: method\nstyle: position\nx: L_valid\ny: perplexity\n");
    assert_ok(database_script(store,
                              "UPDATE results SET tokenizer = 'a', tokenizer_sha256 = 'aa'"
                              " WHERE perplexity = 43",
                              &e));
    assert_fails(
        ERR_DATA, "perplexity: numbers of the tokenizers dict.txt",
        report_artefact(null, store, &f->project, "tiny", report_fixture_dir(f, "tiny"), &o, &e));
    expect_no_picture(f);
    assert_ok(database_script(store, "UPDATE results SET tokenizer_sha256 = 'aa'", &e));
    assert_contains(draw_figure(f), "Figure: plots/tiny-mini.svg");
    fclose(null);
}

TEST_WITH(struct report_fixture *f, a_script_that_fails_is_quoted_and_leaves_no_picture)
{
    write_artefact(f);
    report_fixture_write(f, "plot.gp", "plot no_such_variable\n");
    char *text = draw_figure(f);
    assert_contains(text, "The figure was not drawn: gnuplot could not draw tiny-mini.gp:");
    assert_contains(text, "no_such_variable");
    expect_no_picture(f);
}

/* The numbers of an array of preamble.gp; returns how many. */
static int preamble_numbers(int64_t *out, int max, const char *preamble, const char *name)
{
    const char *p = strstr(preamble, name);
    int n = 0;

    if (!p || !(p = strstr(p, "] = ["))) fail_msg("preamble.gp has no %s", name);
    for (p += 4; *p != ']' && n < max; p += strcspn(p, ",]")) {
        p += 1 + strspn(p + 1, " \\\n");
        out[n++] = strtoll(p, NULL, 0);
    }
    return n;
}

/* The lightness of a colour in a print in grey, 0 to 255: ITU-R BT.601. */
static double grey(int64_t rgb)
{
    return 0.299 * (double)(rgb >> 16) + 0.587 * (double)(rgb >> 8 & 255) +
           0.114 * (double)(rgb & 255);
}

TEST_WITH(struct report_fixture *f, the_papers_four_methods_differ_in_grey)
{
    static const enum spec_position methods[] = {SPEC_SINUSOIDAL, SPEC_ROTARY, SPEC_T5, SPEC_ALIBI};
    int64_t color[64];
    char *text;

    assert_works(f->base, file_read(&f->arena, &text, NULL, "experiments/preamble.gp", 1 << 20,
                                    &f->base->e));
    preamble_numbers(color, 64, text, "array COLOR");
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < i; k++) {
            double a = grey(color[position_methods[methods[i]].style - 1]);
            double b = grey(color[position_methods[methods[k]].style - 1]);
            if (fabs(a - b) < 20)
                fail_msg("%s %.0f, %s %.0f", position_methods[methods[i]].display, a,
                         position_methods[methods[k]].display, b);
        }
}

TEST_WITH(struct report_fixture *f, each_method_has_a_colour_and_a_mark_with_dash_of_its_own)
{
    enum { STYLES_MAX = 64 };
    static const char *const names[] = {"array COLOR", "array FILLED", "array DASH", "array OPEN",
                                        "array SIZE"};
    int64_t of[5][STYLES_MAX];
    char *text;

    assert_works(f->base, file_read(&f->arena, &text, NULL, "experiments/preamble.gp", 1 << 20,
                                    &f->base->e));
    int n = (int)strtol(strstr(text, "STYLES = ") + 9, NULL, 10);
    for (int i = 0; i < 5; i++)
        assert_int_equal(preamble_numbers(of[i], STYLES_MAX, text, names[i]), n);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++) {
            if (of[0][i] == of[0][k]) fail_msg("styles %d and %d have one colour", k + 1, i + 1);
            if (of[1][i] == of[1][k] && of[2][i] == of[2][k])
                fail_msg("styles %d and %d have one mark and dash", k + 1, i + 1);
        }
    for (int p = 0; p < POSITION_METHODS_N; p++) assert_in_range(position_methods[p].style, 1, n);
}

TEST_WITH(struct report_fixture *f, a_script_for_the_preamble_of_an_earlier_version_draws)
{
    write_artefact(f);
    report_fixture_write(
        f, "plot.gp",
        "eval FRAME\nset yrange [0.9 * Y_MIN:1.1 * Y_MAX]\n"
        "plot for [i = 1:CURVES] DATA index (i - 1) using 1:2 with linespoints linestyle "
        "CURVE_STYLE[i] linecolor rgb (CURVE_STYLE[i] == 4 ? blue(CURVE_SHADE[i]) : "
        "orange(CURVE_SHADE[i])) title name(CURVE_STYLE[i], CURVE_SHADE[i], CURVE_TITLE[i])\n");
    draw_figure(f);
    plot_file(f, "tiny-mini.svg");
}
