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

/* The artefact's folder moves away from experiments/, where the fixture's program ships it. */
static void move_away(struct report_fixture *f)
{
    snprintf(f->artefact_dir, sizeof f->artefact_dir, "%s/theirs", f->base->dir);
    assert_works(f->base, file_make_dirs(f->artefact_dir, &f->base->e));
}

static void start(struct report_fixture *f, const char *keys)
{
    report_fixture_write(f, "table.txt", keys);
    report_fixture_plant(f, "tiny", curve, sizeof curve / sizeof *curve);
}

static char *own_file(struct report_fixture *f, const char *name)
{
    return arena_printf(&f->arena, "%s/%s", f->base->dir, name);
}

/* A file of the project in the arena; NULL when it is not there. */
static char *read_own(struct report_fixture *f, const char *name)
{
    char *text = NULL;
    file_read(&f->arena, &text, NULL, own_file(f, name), 1 << 20, NULL);
    return text;
}

static void write_file(struct report_fixture *f, const char *path, const char *text)
{
    assert_works(f->base, file_write_atomic(path, text, strlen(text), &f->base->e));
}

/* Runs a command in each way that gnuplot has, then draws. */
static void write_hostile(struct report_fixture *f)
{
    const char *mark = own_file(f, "HACK");

    report_fixture_write(f, "plot.gp",
                         arena_printf(&f->arena,
                                      "x = system('touch %s')\nsystem 'touch %s'\n!touch %s\n"
                                      "x = \"`touch %s`\"\n"
                                      "set print '|touch %s'\nprint 1\nunset print\n"
                                      "stats '< touch %s; echo 1 1' nooutput\n"
                                      "eval 'sys'.'tem \"touch %s\"'\n%s",
                                      mark, mark, mark, mark, mark, mark, mark, plot_gp));
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
    const char *bin = own_file(f, "bin"), *fake = own_file(f, "bin/bwrap"), *found = NULL;

    for (char *at = arena_strdup(&f->arena, start_path); at && !found;) {
        const char *path = arena_printf(&f->arena, "%s/gnuplot", strsep(&at, ":"));
        if (access(path, X_OK) == 0) found = path;
    }
    assert_non_null(found);
    assert_works(f->base, file_make_dirs(bin, &f->base->e));
    assert_int_equal(symlink(found, own_file(f, "bin/gnuplot")), 0);
    if (bwrap) {
        write_file(f, fake, bwrap);
        assert_int_equal(chmod(fake, 0755), 0);
    }
    setenv("PATH", bin, 1);
}

static char *draw(struct report_fixture *f, bool trust, enum report_format format,
                  struct report_undrawn *undrawn)
{
    int rc;
    const struct report_options o = {
        .scale = "mini", .format = format, .draw = true, .trust = trust, .undrawn = undrawn};

    *undrawn = (struct report_undrawn){0};
    char *text = report_fixture_report(f, "tiny", f->artefact_dir, &o, &rc);
    if (rc < 0) fail_msg("%s", f->base->e.text);
    return text;
}

/* bwrap: see set_path; why: a part of the sentence. */
static void expect_refusal(struct report_fixture *f, const char *bwrap, const char *why)
{
    struct report_undrawn undrawn;

    set_path(f, bwrap);
    char *text = draw(f, false, REPORT_TEXT, &undrawn);
    assert_int_equal(undrawn.n, 1);
    assert_contains(text, "44.00");
    assert_contains(text, "The figure was not drawn: ");
    assert_contains(text, why);
    assert_contains(text, "install bubblewrap, or pass --trust");
    assert_false(file_exists(own_file(f, "HACK")));
    assert_null(read_own(f, "plots/tiny-mini.svg"));
    assert_null(read_own(f, "plots/tiny-mini.gp"));
    free(text);
}

TEST_EACH(setup, report_fixture_teardown)

TEST_WITH(struct report_fixture *f, a_script_of_the_user_does_not_run_without_a_sandbox)
{
    move_away(f);
    start(f, FIGURE);
    write_hostile(f);
    expect_refusal(f, NULL, "(bwrap is not in PATH)");
}

TEST_WITH(struct report_fixture *f, a_script_of_the_user_does_not_run_in_a_sandbox_that_fails)
{
    move_away(f);
    start(f, FIGURE);
    write_hostile(f);
    expect_refusal(f, "#!/bin/sh\necho 'bwrap: No permissions' >&2\nexit 1\n",
                   "(bwrap: No permissions)");
}

/* A use: line looks beside the folder first, then among the shipped ones. */
TEST_WITH(struct report_fixture *f, a_folder_with_the_name_of_a_shipped_one_is_not_trusted)
{
    report_fixture_write(f, "plot.gp", plot_gp); /* experiments/tiny/plot.gp */
    move_away(f);
    start(f, FIGURE "use: tiny/plot.gp\n");
    assert_works(f->base, file_make_dirs(own_file(f, "tiny"), &f->base->e));
    write_file(f, own_file(f, "tiny/plot.gp"),
               arena_printf(&f->arena, "system('touch %s')\n", own_file(f, "HACK")));
    expect_refusal(f, NULL, "tiny/plot.gp is not a shipped file");
}

TEST_WITH(struct report_fixture *f, shipped_scripts_need_no_sandbox)
{
    struct report_undrawn undrawn;

    report_fixture_write(f, "plot.gp", plot_gp); /* experiments/tiny/plot.gp */
    move_away(f);
    start(f, FIGURE);
    report_fixture_write(f, "plot.gp", plot_gp);
    set_path(f, NULL);
    free(draw(f, false, REPORT_TEXT, &undrawn));
    assert_int_equal(undrawn.n, 0);
    assert_non_null(read_own(f, "plots/tiny-mini.svg"));
    assert_int_equal(unlink(own_file(f, "plots/tiny-mini.svg")), 0);
    assert_int_equal(unlink(own_file(f, "theirs/plot.gp")), 0);
    assert_int_equal(unlink(own_file(f, "theirs/table.txt")), 0);
    free(draw(f, false, REPORT_TEXT, &undrawn)); /* the default figure */
    assert_int_equal(undrawn.n, 0);
    assert_non_null(read_own(f, "plots/tiny-mini.svg"));
}

TEST_WITH(struct report_fixture *f, a_trusted_script_runs_outside_the_sandbox)
{
    struct report_undrawn undrawn;

    move_away(f);
    start(f, FIGURE);
    write_hostile(f);
    free(draw(f, true, REPORT_TEXT, &undrawn));
    if (undrawn.n > 0) fail_msg("%s", undrawn.first.text);
    assert_true(file_exists(own_file(f, "HACK")));
    assert_non_null(read_own(f, "plots/tiny-mini.svg"));
}

TEST_WITH(struct report_fixture *f, in_the_sandbox_a_script_draws_and_reaches_nothing_else)
{
    struct report_undrawn undrawn;

    if (report_gnuplot_check_sandbox(&f->arena, "plot.gp", &f->base->e) < 0) {
        print_message("skipped: no sandbox: %s\n", f->base->e.text);
        skip();
    }
    move_away(f);
    start(f, FIGURE);
    write_hostile(f);
    free(draw(f, false, REPORT_TEXT, &undrawn));
    assert_int_equal(undrawn.n, 0);
    assert_false(file_exists(own_file(f, "HACK")));
    assert_contains(read_own(f, "plots/tiny-mini.svg"), "Tiny. Scale mini");
    assert_memory_equal(read_own(f, "plots/tiny-mini.png"), "\x89PNG\r\n", 6);
    /* Commands do run in it, but find neither the project nor a network nor a place to write. */
    write_file(f, own_file(f, "secret"), "hunter2\n");
    report_fixture_write(
        f, "plot.gp",
        arena_printf(&f->arena,
                     "set xlabel 'ran '.system('echo yes; cat %s; ls /plots /sys/class/net /proc; "
                     "echo x >other; echo x >tiny-mini.dat')\n%s",
                     own_file(f, "secret"), strstr(plot_gp, "plot for")));
    free(draw(f, false, REPORT_TEXT, &undrawn));
    const char *svg = read_own(f, "plots/tiny-mini.svg");
    assert_contains(svg, "ran yes");
    assert_contains(svg, "tiny-mini.dat");
    assert_lacks(svg, "hunter2");
    assert_null(read_own(f, "plots/other"));
    assert_contains(read_own(f, "plots/tiny-mini.dat"), "# curve: ALiBi");
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
    struct report_undrawn undrawn;
    int32_t binds_n = 0;
    char *words;

    move_away(f);
    start(f, FIGURE);
    report_fixture_write(f, "plot.gp", plot_gp);
    set_path(f, fake);
    char *text = draw(f, false, REPORT_TEXT, &undrawn);
    assert_contains(text, "Figure: plots/tiny-mini.svg");
    const char *path = own_file(f, "bin/words");
    assert_works(f->base, file_read(&f->arena, &words, NULL, path, 1 << 20, &f->base->e));
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) assert_contains(words, wanted[i]);
    assert_lacks(words, "--share-net");
    assert_lacks(words, f->base->dir);
    for (const char *p = words; (p = strstr(p, "\n--bind\n")); binds_n++) {
        p += strlen("\n--bind\n");
        assert_int_equal(strncmp(p, "tiny-mini.", 10), 0);
        assert_int_equal(strncmp(p + 13, ".tmp-", 5), 0);
    }
    assert_int_equal(binds_n, 3); /* SVG, PNG and PDF */
    free(text);
}

TEST_WITH(struct report_fixture *f, a_page_links_a_figure_from_the_sandbox_instead_of_embedding_it)
{
    static const char fake[] =
        "#!/bin/sh\nwhile [ $# -gt 0 ]; do\n"
        "    [ \"$1\" = --bind ] && echo '<svg viewBox=\"0 0 1 1\"></svg></div><h1>Forged</h1>' "
        ">\"$2\"\n"
        "    shift\ndone\nexit 0\n";
    struct report_undrawn undrawn;

    move_away(f);
    start(f, FIGURE);
    report_fixture_write(f, "plot.gp", plot_gp);
    set_path(f, fake);
    char *text = draw(f, false, REPORT_HTML, &undrawn);
    assert_int_equal(undrawn.n, 0);
    assert_contains(text, "Figure: plots/tiny-mini.svg");
    assert_lacks(text, "Forged");
    free(text);
}

TEST_WITH(struct report_fixture *f, gnuplot_sees_neither_variables_nor_settings_of_the_user)
{
    char *environment;
    struct report_undrawn undrawn;

    start(f, FIGURE);
    const char *home = arena_strdup(&f->arena, getenv("HOME") ? getenv("HOME") : "/");
    const char *seen = own_file(f, "seen");
    write_file(f, own_file(f, ".gnuplot"),
               arena_printf(&f->arena, "system('touch %s')\n", own_file(f, "HACK")));
    report_fixture_write(f, "plot.gp",
                         arena_printf(&f->arena, "system('env >%s')\n%s", seen, plot_gp));
    setenv("HOME", f->base->dir, 1);
    setenv("GNUPLOT_LIB", "/nowhere", 1);
    setenv("ALIBI_TEST_SECRET", "1", 1);
    free(draw(f, false, REPORT_TEXT, &undrawn));
    setenv("HOME", home, 1);
    unsetenv("GNUPLOT_LIB");
    unsetenv("ALIBI_TEST_SECRET");
    assert_works(f->base, file_read(&f->arena, &environment, NULL, seen, 1 << 20, &f->base->e));
    assert_contains(environment, "PATH=");
    assert_lacks(environment, "GNUPLOT");
    assert_lacks(environment, "ALIBI_TEST_SECRET");
    assert_false(file_exists(own_file(f, "HACK")));
}
