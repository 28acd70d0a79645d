/* test_run_folder.c - the folders of attempts: names, files, records, walks. */
#include "harness/test.h"

#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "store/store_fixture.h"

#define RUN_A "00000000000000aa"
#define RUN_B "00000000000000bb"

/* Records of an attempt: a result of the run where result is true, then an end where state is. */
static void write_attempt(struct test_place *p, const char *name, bool result, const char *state)
{
    struct err e = {0};
    struct event_writer *w;
    const struct record started = {EVENT_STARTED, .started = {.device = "cpu", .code_id = "c0de"}};
    const struct record benched = {EVENT_BENCHED, .benched = {.run_id = RUN_A, .wps = 5}};
    const struct record ended = {EVENT_ENDED, .ended = {.state = state, .message = "so"}};

    assert_int_equal(file_make_dirs(test_place_path(p, name), &e), 0);
    assert_int_equal(run_folder_append(&w, test_place_path(p, name), &e), 0);
    assert_int_equal(record_write(w, &started, &e), 0);
    if (result) assert_int_equal(record_write(w, &benched, &e), 0);
    if (state) assert_int_equal(record_write(w, &ended, &e), 0);
    event_writer_close(w);
}

TEST_EACH(test_place_make, test_place_remove)

TEST_WITH(struct test_place *p, each_claim_gets_a_number_of_its_own)
{
    char *dir;
    int32_t attempt;

    for (int32_t i = 1; i <= 3; i++) {
        assert_int_equal(run_folder_claim(&dir, &attempt, &p->arena, p->path, RUN_A, 1, &e), 0);
        assert_int_equal(attempt, i);
        assert_string_equal(dir, run_folder_name(&p->arena, RUN_A, i));
        assert_int_equal(access(test_place_path(p, dir), F_OK), 0);
    }
    assert_int_equal(run_folder_claim(&dir, &attempt, &p->arena, p->path, RUN_A, 7, &e), 0);
    assert_int_equal(attempt, 7);
    test_write(test_place_path(p, "runs/" RUN_B), "", 0);
    assert_int_equal(run_folder_claim(&dir, &attempt, &p->arena, p->path, RUN_B, 1, &e),
                     ERR_CREATE);
}

/* Folders synced, in their order: this fsync takes the place of that of libc. */
static char synced[4][FILE_PATH_BYTES];
static int synced_n;

int fsync(int fd)
{
    char link[32];

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = synced_n < 4 ? readlink(link, synced[synced_n], FILE_PATH_BYTES - 1) : -1;
    if (n >= 0) synced[synced_n++][n] = '\0';
    return 0;
}

/* A power failure must not take the folder of an attempt whose result is in results.db. */
TEST_WITH(struct test_place *p, a_claim_syncs_every_folder_that_got_an_entry)
{
    char *dir;
    int32_t attempt;
    const char *runs = test_place_path(p, "runs"), *run = test_place_path(p, "runs/" RUN_A);

    synced_n = 0;
    assert_ok(run_folder_claim(&dir, &attempt, &p->arena, p->path, RUN_A, 1, &e));
    assert_int_equal(synced_n, 3);
    assert_string_equal(synced[0], p->path);
    assert_string_equal(synced[1], runs);
    assert_string_equal(synced[2], run);
    synced_n = 0;
    assert_ok(run_folder_claim(&dir, &attempt, &p->arena, p->path, RUN_A, 1, &e));
    assert_int_equal(synced_n, 1);
    assert_string_equal(synced[0], run);
}

TEST(names_are_recognised)
{
    static const struct {
        const char *path, *run_id;
        int32_t attempt;
    } cases[] = {{"runs/" RUN_A "/3", RUN_A, 3},
                 {"/elsewhere/project/runs/" RUN_A "/12", RUN_A, 12},
                 {RUN_A "/1", RUN_A, 1},
                 {"runs/" RUN_A "/0", NULL, 0},
                 {"runs/" RUN_A "/x", NULL, 0},
                 {"runs/" RUN_A, NULL, 0},
                 {"runs/0000/3", NULL, 0},
                 {"runs/" RUN_A "a/3", NULL, 0},
                 {"runs/00000000000000AA/3", NULL, 0},
                 {"3", NULL, 0},
                 {"", NULL, 0}};
    char run_id[SPEC_ID_BYTES];
    int32_t attempt;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool parsed = run_folder_parse(cases[i].path, run_id, &attempt);
        if (parsed != (cases[i].run_id != NULL)) fail_msg("%s", cases[i].path);
        if (!parsed) continue;
        assert_string_equal(run_id, cases[i].run_id);
        assert_int_equal(attempt, cases[i].attempt);
        assert_int_equal(run_folder_parse_own(cases[i].path, run_id, &attempt), i == 0);
    }
    assert_false(run_folder_parse_own("runs/" RUN_A "/03", NULL, NULL));
}

TEST_WITH(struct test_place *p, specs_read_back)
{
    const struct spec train = fixture_train(SPEC_ALIBI, 64, 1);
    struct spec eval = fixture_eval(&train, 128);
    struct spec *read;
    int32_t n;

    struct spec other = eval;
    other.eval.L = 256;
    const struct spec *both[] = {&eval, &other};
    assert_int_equal(run_folder_write_specs(p->path, both, 2, &e), 0);
    if (run_folder_read_specs(&read, &n, &p->arena, p->path, &e) < 0) fail_msg("%s", e.text);
    assert_int_equal(n, 2);
    assert_int_equal(read[0].eval.L, 128);
    assert_int_equal(read[1].eval.L, 256);
}

TEST_WITH(struct test_place *p, work_continues_from_the_newest_fresh_attempt)
{
    for (int32_t i = 1; i <= 5; i++)
        file_make_dirs(test_place_path(p, run_folder_name(&p->arena, RUN_A, i)), &e);
    const char *third = test_place_path(p, "runs/" RUN_A "/3");
    assert_int_equal(run_folder_first(third, 5), 1);
    assert_int_equal(run_folder_set_fresh(third, &e), 0);
    assert_int_equal(run_folder_first(third, 5), 3);
    assert_int_equal(run_folder_first(third, 3), 3);
    assert_int_equal(run_folder_first(third, 2), 1);
}

TEST_WITH(struct test_place *p, an_outcome_needs_the_last_record_and_the_result)
{
    static const struct {
        bool result;
        const char *state, *run_id;
        bool done;
    } cases[] = {{true, "done", RUN_A, true},
                 {false, "done", RUN_A, false},
                 {true, NULL, RUN_A, false},
                 {true, "failed", RUN_A, false},
                 {true, "done", RUN_B, false}};
    struct run_outcome out;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *name = run_folder_name(&p->arena, RUN_A, (int32_t)i + 1);
        write_attempt(p, name, cases[i].result, cases[i].state);
        assert_int_equal(
            run_folder_outcome(&out, &p->arena, test_place_path(p, name), cases[i].run_id, &e), 0);
        if (out.done != cases[i].done) fail_msg("case %zu", i);
    }
    assert_int_equal(
        run_folder_outcome(&out, &p->arena, test_place_path(p, "runs/none"), RUN_A, &e), 0);
    assert_false(out.done);
}

TEST_WITH(struct test_place *p, what_started_is_listed_in_order_with_what_cannot_be_read)
{
    struct run_folder *f;
    char text[128] = "";
    int32_t n;

    write_attempt(p, "runs/" RUN_B "/10", true, "done");
    write_attempt(p, "runs/" RUN_B "/9", true, NULL);
    write_attempt(p, "runs/" RUN_A "/2", true, "done");
    file_make_dirs(test_place_path(p, "runs/" RUN_A "/3"), &e); /* never started */
    test_write(test_place_path(p, "runs/" RUN_A "/4"), "x", 1); /* not a directory */
    write_attempt(p, "runs/.verify-x/again", true, "");         /* not a run */
    assert_int_equal(symlink(RUN_A, test_place_path(p, "runs/00000000000000cc")), 0);
    assert_int_equal(run_folder_list(&f, &n, &p->arena, test_place_path(p, "runs"), &e), 0);
    for (int32_t i = 0; i < n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%.2s/%d%s ", f[i].run_id + 14,
                 (int)f[i].attempt, f[i].why ? "!" : "");
    assert_string_equal(text, "aa/2 aa/4! bb/9 bb/10 cc/0! ");
    assert_int_equal(run_folder_list(&f, &n, &p->arena, test_place_path(p, "none"), &e),
                     ERR_NOINPUT);
}

TEST_WITH(struct test_place *p, removal_spares_links_and_what_they_lead_to)
{
    double bytes = 0;
    bool removed;

    write_attempt(p, "runs/" RUN_A "/1", true, "done");
    write_attempt(p, "elsewhere/" RUN_B "/1", true, "done");
    assert_int_equal(symlink("../elsewhere/" RUN_B, test_place_path(p, "runs/" RUN_B)), 0);
    assert_int_equal(symlink("../../elsewhere/" RUN_B "/1", test_place_path(p, "runs/" RUN_A "/2")),
                     0);
    static const struct {
        const char *run_id;
        int32_t attempt;
        bool removed;
    } cases[] = {{RUN_A, 1, true},
                 {RUN_A, 1, false},
                 {RUN_A, 2, false},
                 {RUN_B, 1, false},
                 {"00000000000000dd", 1, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(
            run_folder_remove(p->path, cases[i].run_id, cases[i].attempt, &removed, &bytes, &e), 0);
        if (removed != cases[i].removed) fail_msg("case %zu", i);
    }
    assert_true(bytes > 0);
    assert_int_equal(access(test_place_path(p, "elsewhere/" RUN_B "/1/events"), F_OK), 0);
}
