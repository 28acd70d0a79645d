/* test_sandbox.c - a plot.gp that is not shipped: when it runs, and what it can reach. */
#include "harness/test.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "report/report_fixture.h"
#include "report/report_internal.h"

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
static void start(struct report_fixture *f, const char *keys)
{
    report_fixture_write(f, "table.txt", keys);
    report_fixture_plant(f, "tiny", curve, sizeof curve / sizeof *curve);
}

static void start_away(struct report_fixture *f, const char *keys, const char *plot)
{
    snprintf(f->artefact_dir, sizeof f->artefact_dir, "%s/theirs", f->base->dir);
    start(f, keys);
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
                        "x = system('touch %s')\nsystem 'touch %s'\n!touch %s\n"
                        "x = \"`touch %s`\"\n"
                        "set print '|touch %s'\nprint 1\nunset print\n"
                        "stats '< touch %s; echo 1 1' nooutput\n"
                        "eval 'sys'.'tem \"touch %s\"'\n%s",
                        mark, mark, mark, mark, mark, mark, mark, plot_gp);
}

static char start_path[4096]; /* PATH as it was when this program started */

static int setup(void **state)
{
    if (!*start_path) snprintf(start_path, sizeof start_path, "%s", getenv("PATH"));
    setenv("PATH", start_path, 1);
    return report_fixture_setup(state);
}

/* A folder with gnuplot, and a bwrap of this text if there is one, becomes the PATH until the next
 * case. */
static void set_path(struct report_fixture *f, const char *bwrap)
{
    const char *bin = own_file(f, "bin"), *found = NULL;

    for (char *at = arena_strdup(&f->arena, start_path); at && !found;) {
        const char *path = arena_printf(&f->arena, "%s/gnuplot", strsep(&at, ":"));
        if (access(path, X_OK) == 0) found = path;
    }
    assert_non_null(found);
    assert_works(f->base, file_make_dirs(bin, &f->base->e));
    assert_int_equal(symlink(found, own_file(f, "bin/gnuplot")), 0);
    if (bwrap) {
        write_own(f, "bin/bwrap", bwrap);
        assert_int_equal(chmod(own_file(f, "bin/bwrap"), 0755), 0);
    }
    setenv("PATH", bin, 1);
}

/* Its report, in which undrawn_n figures were not drawn. */
static char *draw(struct report_fixture *f, bool trust, enum report_format format, int undrawn_n)
{
    struct report_undrawn undrawn = {0};
    const struct report_options o = {
        .scale = "mini", .format = format, .draw = true, .trust = trust, .undrawn = &undrawn};
    char *text = report_fixture_report(f, "tiny", &o);

    if (undrawn.n != undrawn_n) fail_msg("%d: %s", undrawn.n, undrawn.first.text);
    return text;
}

/* bwrap: see set_path; why: a part of the sentence. */
static void expect_refusal(struct report_fixture *f, const char *bwrap, const char *why)
{
    set_path(f, bwrap);
    const char *text = draw(f, false, REPORT_TEXT, 1);
    assert_contains(text, "44.00");
    assert_contains(text, "The figure was not drawn: ");
    assert_contains(text, why);
    assert_contains(text, "install bubblewrap, or pass --trust");
    assert_false(file_exists(own_file(f, "HACK")));
    assert_null(report_fixture_read(f, "plots/tiny-mini.svg"));
    assert_null(report_fixture_read(f, "plots/tiny-mini.gp"));
}

TEST_EACH(setup, report_fixture_teardown)

TEST_WITH(struct report_fixture *f, a_script_of_the_user_does_not_run_without_a_sandbox)
{
    start_away(f, FIGURE, hostile(f));
    expect_refusal(f, NULL, "(bwrap is not in PATH)");
}

TEST_WITH(struct report_fixture *f, a_script_of_the_user_does_not_run_in_a_sandbox_that_fails)
{
    start_away(f, FIGURE, hostile(f));
    expect_refusal(f, "#!/bin/sh\necho 'bwrap: No permissions' >&2\nexit 1\n",
                   "(bwrap: No permissions)");
}

/* A use: line looks beside the folder first, then among the shipped ones. */
TEST_WITH(struct report_fixture *f, a_folder_with_the_name_of_a_shipped_one_is_not_trusted)
{
    report_fixture_write(f, "plot.gp", plot_gp); /* experiments/tiny/plot.gp */
    start_away(f, FIGURE "use: tiny/plot.gp\n", NULL);
    write_own(f, "tiny/plot.gp",
              arena_printf(&f->arena, "system('touch %s')\n", own_file(f, "HACK")));
    expect_refusal(f, NULL, "tiny/plot.gp is not a shipped file");
}

TEST_WITH(struct report_fixture *f, shipped_scripts_need_no_sandbox)
{
    report_fixture_write(f, "plot.gp", plot_gp); /* experiments/tiny/plot.gp */
    start_away(f, FIGURE, plot_gp);
    set_path(f, NULL);
    draw(f, false, REPORT_TEXT, 0);
    assert_non_null(report_fixture_read(f, "plots/tiny-mini.svg"));
    assert_int_equal(unlink(own_file(f, "plots/tiny-mini.svg")), 0);
    assert_int_equal(unlink(own_file(f, "theirs/plot.gp")), 0);
    assert_int_equal(unlink(own_file(f, "theirs/table.txt")), 0);
    draw(f, false, REPORT_TEXT, 0); /* the default figure */
    assert_non_null(report_fixture_read(f, "plots/tiny-mini.svg"));
}

TEST_WITH(struct report_fixture *f, a_trusted_script_runs_outside_the_sandbox)
{
    start_away(f, FIGURE, hostile(f));
    draw(f, true, REPORT_TEXT, 0);
    assert_true(file_exists(own_file(f, "HACK")));
    assert_non_null(report_fixture_read(f, "plots/tiny-mini.svg"));
}

TEST_WITH(struct report_fixture *f, in_the_sandbox_a_script_draws_and_reaches_nothing_else)
{
    if (report_gnuplot_check_sandbox(&f->arena, "plot.gp", &f->base->e) < 0) {
        print_message("skipped: no sandbox: %s\n", f->base->e.text);
        skip();
    }
    start_away(f, FIGURE, hostile(f));
    draw(f, false, REPORT_TEXT, 0);
    assert_false(file_exists(own_file(f, "HACK")));
    assert_contains(report_fixture_read(f, "plots/tiny-mini.svg"), "Tiny. Scale mini");
    assert_memory_equal(report_fixture_read(f, "plots/tiny-mini.png"), "\x89PNG\r\n", 6);
    /* Commands do run in it, but find neither the project nor a network nor a place to write. */
    write_own(f, "secret", "hunter2\n");
    report_fixture_write(
        f, "plot.gp",
        arena_printf(&f->arena,
                     "set xlabel 'ran '.system('echo yes; cat %s; ls /plots /sys/class/net /proc; "
                     "echo x >other; echo x >tiny-mini.dat')\n%s",
                     own_file(f, "secret"), strstr(plot_gp, "plot for")));
    draw(f, false, REPORT_TEXT, 0);
    const char *svg = report_fixture_read(f, "plots/tiny-mini.svg");
    assert_contains(svg, "ran yes");
    assert_contains(svg, "tiny-mini.dat");
    assert_lacks(svg, "hunter2");
    assert_null(report_fixture_read(f, "plots/other"));
    assert_contains(report_fixture_read(f, "plots/tiny-mini.dat"), "# curve: ALiBi");
}

/* Where bubblewrap is not installed too: a bwrap that notes how it was started. */
TEST_WITH(struct report_fixture *f, the_sandbox_has_no_network_and_one_file_to_write)
{
    static const char fake[] =
        "#!/bin/sh\nprintf '%s\\n' \"$@\" \"HOME=${HOME-}\" >>\"${0%/*}/words\"\n"
        "while [ $# -gt 0 ]; do\n"
        "    [ \"$1\" = --bind ] && echo '<svg viewBox=\"0 0 1 1\"></svg>' >\"$2\"\n"
        "    shift\ndone\nexit 0\n";
    static const char *const wanted[] = {"--unshare-all\n",
                                         "--die-with-parent\n",
                                         "--new-session\n",
                                         "--cap-drop\nALL\n",
                                         "HOME=\n",
                                         "--ro-bind\ntiny-mini.gp\n/plots/tiny-mini.gp\n",
                                         "--ro-bind\ntiny-mini.dat\n/plots/tiny-mini.dat\n"};
    int32_t binds_n = 0;

    start_away(f, FIGURE, plot_gp);
    set_path(f, fake);
    const char *text = draw(f, false, REPORT_TEXT, 0);
    assert_contains(text, "Figure: plots/tiny-mini.svg");
    const char *words = report_fixture_read(f, "bin/words");
    assert_non_null(words);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) assert_contains(words, wanted[i]);
    assert_lacks(words, "--share-net");
    assert_lacks(words, f->base->dir);
    for (const char *p = words; (p = strstr(p, "\n--bind\n")); binds_n++) {
        p += strlen("\n--bind\n");
        assert_int_equal(strncmp(p, "tiny-mini.", 10), 0);
        assert_int_equal(strncmp(p + 13, ".tmp-", 5), 0);
    }
    assert_int_equal(binds_n, 3); /* SVG, PNG and PDF */
}

TEST_WITH(struct report_fixture *f, a_page_links_a_figure_from_the_sandbox_instead_of_embedding_it)
{
    static const char fake[] =
        "#!/bin/sh\nwhile [ $# -gt 0 ]; do\n"
        "    [ \"$1\" = --bind ] && echo '<svg viewBox=\"0 0 1 1\"></svg></div><h1>Forged</h1>' "
        ">\"$2\"\n"
        "    shift\ndone\nexit 0\n";
    start_away(f, FIGURE, plot_gp);
    set_path(f, fake);
    const char *text = draw(f, false, REPORT_HTML, 0);
    assert_contains(text, "Figure: plots/tiny-mini.svg");
    assert_lacks(text, "Forged");
}

TEST_WITH(struct report_fixture *f, gnuplot_sees_neither_variables_nor_settings_of_the_user)
{
    start(f, FIGURE);
    const char *home = arena_strdup(&f->arena, getenv("HOME") ? getenv("HOME") : "/");
    write_own(f, ".gnuplot", arena_printf(&f->arena, "system('touch %s')\n", own_file(f, "HACK")));
    report_fixture_write(
        f, "plot.gp",
        arena_printf(&f->arena, "system('env >%s')\n%s", own_file(f, "seen"), plot_gp));
    setenv("HOME", f->base->dir, 1);
    setenv("GNUPLOT_LIB", "/nowhere", 1);
    setenv("ALIBI_TEST_SECRET", "1", 1);
    draw(f, false, REPORT_TEXT, 0);
    setenv("HOME", home, 1);
    unsetenv("GNUPLOT_LIB");
    unsetenv("ALIBI_TEST_SECRET");
    const char *environment = report_fixture_read(f, "seen");
    assert_non_null(environment);
    assert_contains(environment, "PATH=");
    assert_lacks(environment, "GNUPLOT");
    assert_lacks(environment, "ALIBI_TEST_SECRET");
    assert_false(file_exists(own_file(f, "HACK")));
}
