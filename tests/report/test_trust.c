/* test_trust.c - a plot.gp that is not shipped: when it runs. */
#include "harness/test.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "report/artefact_folder.h"
#include "report/report_fixture.h"

#define FIGURE                                                                                     \
    "title: Tiny\nrows: method\ncolumns: L_valid\nvalue: perplexity\nseries: method\n"             \
    "style: position\nx: L_valid\ny: perplexity\n"
static const char plot_gp[] =
    "set title TITLE\nplot for [i = 1:CURVES] DATA index (i - 1) using 1:2 with linespoints\n";
static const struct report_plant curve[] = {
    {"mini", SPEC_ALIBI, 64, 64, 512, 512, 0, 1, 44, false},
    {"mini", SPEC_ALIBI, 64, 128, 512, 1024, 0, 1, 43, false},
};

/* An artefact with a figure, in experiments/, where the fixture's program ships it; away: in a
 * folder of the user's, with this plot.gp. */
static void write_artefact(struct report_fixture *f, const char *keys)
{
    report_fixture_write(f, "table.txt", keys);
    report_fixture_plant(f, "tiny", curve, sizeof curve / sizeof *curve);
}

static void start_away(struct report_fixture *f, const char *keys, const char *plot)
{
    snprintf(f->artefact_dir, sizeof f->artefact_dir, "%s/theirs", f->base->dir);
    write_artefact(f, keys);
    if (plot) report_fixture_write(f, "plot.gp", plot);
}

static char *own_file(struct report_fixture *f, const char *name)
{
    return arena_printf(&f->arena, "%s/%s", f->base->dir, name);
}

static void write_own(struct report_fixture *f, const char *name, const char *text)
{
    test_write(own_file(f, name), text, strlen(text));
}

/* Runs a command in each way that gnuplot has, then draws. */
static const char *hostile(struct report_fixture *f)
{
    const char *mark = own_file(f, "HACK");

    return arena_printf(&f->arena,
                        "x = system('touch %s')\nsystem 'touch %s'\n!touch '%s'\n"
                        "x = \"`touch %s`\"\n"
                        "set print '|touch %s'\nprint 1\nunset print\n"
                        "stats '< touch %s; echo 1 1' nooutput\n"
                        "eval 'sys'.'tem \"touch %s\"'\n%s",
                        mark, mark, mark, mark, mark, mark, mark, plot_gp);
}

/* HOME and the state folder are below the folder of the case. */
static int setup(void **state)
{
    int rc = report_fixture_setup(state);
    struct report_fixture *f = *state;

    setenv("HOME", f->base->dir, 1);
    setenv("XDG_STATE_HOME", own_file(f, "state"), 1);
    return rc;
}

/* Its report, in which undrawn_n figures were not drawn. */
static char *draw_report(struct report_fixture *f, bool trust, enum report_format format,
                         int undrawn_n)
{
    struct report_undrawn undrawn = {0};
    const struct report_options o = {
        .scale = "mini", .format = format, .draw = true, .trust = trust, .undrawn = &undrawn};
    char *text = report_fixture_report(f, "tiny", &o);

    if (undrawn.n != undrawn_n) fail_msg("%d: %s", undrawn.n, undrawn.first.text);
    return text;
}

static void expect_trusted(struct report_fixture *f, bool wanted)
{
    assert_int_equal(report_trust_has(&f->arena, hostile(f)), wanted);
}

static void expect_refusal(struct report_fixture *f, const char *why)
{
    const char *text = draw_report(f, false, REPORT_TEXT, 1);
    assert_contains(text, "44.00");
    assert_contains(text, "The figure was not drawn: ");
    assert_contains(text, why);
    assert_contains(text, "pass --trust");
    assert_false(file_exists(own_file(f, "HACK")));
    assert_null(report_fixture_read(f, "plots/tiny-mini.svg"));
    assert_null(report_fixture_read(f, "plots/tiny-mini.gp"));
}

TEST_EACH(setup, report_fixture_teardown)

TEST_WITH(struct report_fixture *f, a_script_of_somebody_else_does_not_run)
{
    start_away(f, FIGURE, hostile(f));
    expect_refusal(f, "theirs/plot.gp is not a shipped file");
}

/* A use: line looks beside the folder first, then among the shipped ones. */
TEST_WITH(struct report_fixture *f, a_folder_with_the_name_of_a_shipped_one_is_not_trusted)
{
    report_fixture_write(f, "plot.gp", plot_gp); /* experiments/tiny/plot.gp */
    start_away(f, FIGURE "use: tiny/plot.gp\n", NULL);
    write_own(f, "tiny/plot.gp",
              arena_printf(&f->arena, "system('touch %s')\n", own_file(f, "HACK")));
    expect_refusal(f, "tiny/plot.gp is not a shipped file");
}

TEST_WITH(struct report_fixture *f, shipped_scripts_need_no_trust)
{
    report_fixture_write(f, "plot.gp", plot_gp); /* experiments/tiny/plot.gp */
    start_away(f, FIGURE, plot_gp);
    draw_report(f, false, REPORT_TEXT, 0);
    assert_non_null(report_fixture_read(f, "plots/tiny-mini.svg"));
    assert_int_equal(unlink(own_file(f, "plots/tiny-mini.svg")), 0);
    assert_int_equal(unlink(own_file(f, "theirs/plot.gp")), 0);
    assert_int_equal(unlink(own_file(f, "theirs/table.txt")), 0);
    draw_report(f, false, REPORT_TEXT, 0); /* the default figure */
    assert_non_null(report_fixture_read(f, "plots/tiny-mini.svg"));
    draw_report(f, true, REPORT_TEXT, 0);
    assert_null(report_fixture_read(f, "state/alibi/trusted")); /* nothing had to be trusted */
}

TEST_WITH(struct report_fixture *f, a_script_is_trusted_until_it_changes)
{
    start_away(f, FIGURE, hostile(f));
    draw_report(f, true, REPORT_TEXT, 0);
    assert_true(file_exists(own_file(f, "HACK")));
    assert_contains(report_fixture_read(f, "plots/tiny-mini.svg"), "Tiny. Scale mini");
    assert_contains(report_fixture_read(f, "state/alibi/trusted"), "theirs/plot.gp\n");

    draw_report(f, false, REPORT_HTML, 0); /* remembered */
    draw_report(f, true, REPORT_TEXT, 0);
    assert_null(strchr(strchr(report_fixture_read(f, "state/alibi/trusted"), '\n') + 1, '\n'));

    assert_works(f->base, dir_remove_tree(AT_FDCWD, own_file(f, "plots"), NULL, &f->base->e));
    assert_int_equal(unlink(own_file(f, "HACK")), 0);
    const char *changed = arena_printf(&f->arena, "%s# changed\n", hostile(f));
    report_fixture_write(f, "plot.gp", changed);
    expect_refusal(f, "theirs/plot.gp is not a shipped file");
    draw_report(f, true, REPORT_TEXT, 0);
    draw_report(f, false, REPORT_TEXT, 0);
}

TEST_WITH(struct report_fixture *f, a_file_of_trusted_scripts_that_others_can_write_is_ignored)
{
    start_away(f, FIGURE, hostile(f));
    draw_report(f, true, REPORT_TEXT, 0);
    const char *trusted = own_file(f, "state/alibi/trusted");
    assert_int_equal(chmod(trusted, 0666), 0);
    assert_works(f->base, dir_remove_tree(AT_FDCWD, own_file(f, "plots"), NULL, &f->base->e));
    assert_int_equal(unlink(own_file(f, "HACK")), 0);
    expect_refusal(f, "theirs/plot.gp is not a shipped file");
    assert_fails(ERR_DATA, "other users can write it",
                 report_trust_add(&f->arena, "", "x/plot.gp", &e));
    draw_report(f, true, REPORT_TEXT, 0); /* for this report */
    expect_trusted(f, false);
    assert_int_equal(chmod(trusted, 0600), 0);
    expect_trusted(f, true);
}

TEST_WITH(struct report_fixture *f, trust_is_remembered_in_the_state_folder_or_for_one_command)
{
    start_away(f, FIGURE, hostile(f));
    setenv("XDG_STATE_HOME", "not/absolute", 1); /* to be ignored, says its specification */
    draw_report(f, true, REPORT_TEXT, 0);
    assert_contains(report_fixture_read(f, ".local/state/alibi/trusted"), "theirs/plot.gp\n");
    expect_trusted(f, true);
    unsetenv("HOME");
    expect_trusted(f, false);
    assert_fails(ERR_UNAVAILABLE, "HOME", report_trust_add(&f->arena, "", "x/plot.gp", &e));
    draw_report(f, true, REPORT_TEXT, 0);
}

TEST_WITH(struct report_fixture *f, a_script_without_end_is_stopped)
{
    static const char *const formats[] = {"svg", NULL};
    struct strbuf data, script;

    strbuf_init(&data, &f->arena);
    strbuf_init(&script, &f->arena);
    strbuf_add(&script, "while (1) { pause 1 }\n");
    const struct report_gnuplot g = {own_file(f, "plots"), "endless", &data, &script, formats, 0.2};
    assert_fails(ERR_INTERNAL, "gnuplot did not draw endless.gp within 0.2 s and was stopped",
                 report_gnuplot_draw(&f->arena, &g, &e));
    assert_null(report_fixture_read(f, "plots/endless.svg"));
}

TEST_WITH(struct report_fixture *f, gnuplot_sees_neither_variables_nor_settings_of_the_user)
{
    write_artefact(f, FIGURE);
    write_own(f, ".gnuplot", arena_printf(&f->arena, "system('touch %s')\n", own_file(f, "HACK")));
    report_fixture_write(
        f, "plot.gp",
        arena_printf(&f->arena, "system('env >%s')\n%s", own_file(f, "seen"), plot_gp));
    setenv("GNUPLOT_LIB", "/nowhere", 1);
    setenv("ALIBI_TEST_SECRET", "1", 1);
    draw_report(f, false, REPORT_TEXT, 0);
    unsetenv("GNUPLOT_LIB");
    unsetenv("ALIBI_TEST_SECRET");
    const char *environment = report_fixture_read(f, "seen");
    assert_non_null(environment);
    assert_contains(environment, "PATH=");
    assert_lacks(environment, "GNUPLOT");
    assert_lacks(environment, "ALIBI_TEST_SECRET");
    assert_false(file_exists(own_file(f, "HACK")));
}
