/* test_artefact_folder.c - a folder may use the files of another: found beside it, in the project
 * or among what is shipped; every fault names the line; and no two shipped folders hold one text.
 */
#include "harness/test.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "report/artefact_folder.h"
#include "report/paper_plant.h"

static const char *const file_names[] = {"query.sql", "table.txt", "plot.gp", "claim.sql"};
enum { FILES_N = 4 };

static void expect_fault(struct report_fixture *f, const char *layout, const char *expected)
{
    struct report_folder folder;

    report_fixture_write(f, "table.txt", layout);
    assert_refused(
        f->base, ERR_DATA, expected,
        report_folder_open(&folder, &f->arena, &f->project, "tiny", f->artefact_dir, &f->base->e));
}

static const char other_layout[] = "title: Other\nrows: method\ncolumns: L_valid\n"
                                   "value: perplexity\nnote: Of the other.\n";

TEST_EACH(report_fixture_setup, report_fixture_teardown)

TEST_WITH(struct report_fixture *f, a_folder_uses_the_files_of_its_neighbour)
{
    struct report_folder folder;

    report_fixture_write(f, "../other/query.sql", "SELECT 'other'");
    report_fixture_write(f, "../other/claim.sql", "SELECT 'claims'");
    report_fixture_write(f, "../other/plot.gp", "plot x");
    report_fixture_write(f, "../other/table.txt", other_layout);
    report_fixture_write(f, "table.txt",
                         "use: other/table.txt\nuse: other/query.sql\nuse: other/plot.gp\n"
                         "title: Tiny\n");
    report_fixture_open(f, &folder, "tiny");
    assert_string_equal(folder.query, "SELECT 'other'");
    assert_non_null(strstr(folder.query_path, "other/query.sql"));
    assert_string_equal(folder.plot, "plot x");
    assert_null(folder.claims); /* only what is named */
    assert_string_equal(folder.layout.title, "Tiny");
    assert_string_equal(folder.layout.note[0], "Of the other.");
}

TEST_WITH(struct report_fixture *f,
          a_folder_outside_uses_what_the_project_has_and_then_what_is_shipped)
{
    struct report_folder folder;
    const char *dir = arena_printf(&f->arena, "%s/elsewhere/mine", f->base->dir);

    f->project.share = "."; /* the tree */
    report_fixture_write(f, "../../elsewhere/mine/table.txt",
                         "use: table5/query.sql\nuse: table2/table.txt\ntitle: Mine\n");
    report_fixture_write(f, "../table5/query.sql", "SELECT 'the project'");
    assert_works(f->base,
                 report_folder_open(&folder, &f->arena, &f->project, "mine", dir, &f->base->e));
    assert_string_equal(folder.query, "SELECT 'the project'");
    assert_string_equal(folder.layout.columns, "method");
}

TEST_WITH(struct report_fixture *f, faults_of_a_use_line_name_it)
{
    expect_fault(f, "title: T\nuse: nowhere/query.sql\nrows: m\ncolumns: c\nvalue: v\n",
                 "tiny/table.txt:2: use: there is no nowhere/query.sql in ");
    report_fixture_write(f, "../other/query.sql", "SELECT 1");
    report_fixture_write(f, "../other/table.txt", "use: third/table.txt\ntitle: Other\n");
    report_fixture_write(f, "../third/table.txt", other_layout);
    expect_fault(f, "use: other/table.txt\n",
                 "table.txt:1: use: other/table.txt itself uses third/table.txt; name that one");
    expect_fault(f, "use: tiny/table.txt\n", "itself uses");
    report_fixture_write(f, "../third/table.txt", "title: Third\nrows: m\ncolumns: c\nvalue: v\n");
    report_fixture_write(f, "../other/table.txt", other_layout);
    report_fixture_write(f, "query.sql", "SELECT 2");
    expect_fault(f, "use: other/query.sql\nuse: third/table.txt\n",
                 "table.txt:1: use: other/query.sql, but ");
    expect_fault(f, "use: other/claim.sql\nuse: third/table.txt\n", "there is no other/claim.sql");
}

/* The text without its comments, so that a heading of its own does not make a file another. */
static char *read_bare(struct arena *a, const char *path, struct err *e)
{
    char *text, *out;
    size_t n = 0;

    if (file_read(a, &text, NULL, path, 1 << 20, e) < 0) fail_msg("%s", e->text);
    out = arena_alloc(a, strlen(text) + 1);
    for (char *line = text; *line;) {
        size_t length = strcspn(line, "\n");
        if (*line != '#' && strncmp(line, "--", 2) != 0) {
            memcpy(out + n, line, length + 1);
            n += length + 1;
        }
        line += length + (line[length] == '\n');
    }
    out[n] = '\0';
    return out;
}

TEST_WITH(struct report_fixture *f, a_link_may_not_lead_out_of_its_folder)
{
    static const char *const names[] = {"query.sql", "table.txt", "claim.sql",
                                        "plot.gp",   "paper.tsv", "README.md"};
    static const char text[] = "metric\tvalue\nhunter2\t1\n";
    const struct report_options o = {.scale = "mini", .format = REPORT_HTML};
    const struct report_plant planted = {"mini", SPEC_ALIBI, 64, 64, 512, 512, 0, 1, 44, false};

    report_fixture_plant(f, "tiny", &planted, 1);
    test_write(arena_printf(&f->arena, "%s/secret", f->base->dir), text, sizeof text - 1);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *path = arena_printf(&f->arena, "%s/%s", f->artefact_dir, names[i]);
        const char *kept = arena_printf(&f->arena, "%s/sub/kept", f->artefact_dir);
        char *page;
        size_t n;
        assert_int_equal(symlink("../../secret", path), 0);
        FILE *out = open_memstream(&page, &n);
        int rc = report_artefact(out, f->base->store, &f->project, "tiny", f->artefact_dir, &o,
                                 &f->base->e);
        fclose(out);
        if (rc != ERR_DATA || !strstr(f->base->e.text, "a link that leads out of its folder"))
            fail_msg("%s: %d, %s", names[i], rc, f->base->e.text);
        assert_null(strstr(page, "hunter2"));
        free(page);
        assert_int_equal(unlink(path), 0);
        test_write(kept, text, sizeof text - 1);
        assert_int_equal(symlink("sub/kept", path), 0);
        assert_works(f->base, report_folder_check(path, &f->base->e));
        assert_int_equal(unlink(path), 0);
    }
}

TEST_WITH(struct report_fixture *f, no_two_shipped_folders_hold_the_same_text)
{
    int32_t compared = 0;

    paper_plant_list(f);
    const char **text = arena_array(&f->arena, (size_t)f->artefacts_n, sizeof *text);
    for (int k = 0; k < FILES_N; k++) {
        for (int32_t i = 0; i < f->artefacts_n; i++) {
            const char *path =
                arena_printf(&f->arena, "experiments/%s/%s", f->artefact[i], file_names[k]);
            text[i] = file_exists(path) ? read_bare(&f->arena, path, &f->base->e) : NULL;
            for (int32_t j = 0; j < i && text[i]; j++) {
                if (text[j] && strcmp(text[i], text[j]) == 0)
                    fail_msg("%s of %s is that of %s", file_names[k], f->artefact[i],
                             f->artefact[j]);
                compared++;
            }
        }
    }
    assert_true(compared > 100);
}
