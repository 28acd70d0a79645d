/* test_publish.c - a published file says what its source says and nothing of the machine; a file
 * that the user names is read and left as it is. */
#include "harness/test.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "store/database.h"
#include "store/store_fixture.h"

/* The dump of a file that an earlier program wrote, at the fixture's path. */
static void thaw(struct store_fixture *f, const char *name)
{
    char path[64];

    snprintf(path, sizeof path, "tests/store/frozen/%s.sql", name);
    store_fixture_close(f);
    unlink(f->path);
    char *sql = test_read(path);
    fixture_raw(f->path, sql);
    free(sql);
}

static void publish(struct store_fixture *f, const char *name)
{
    assert_works(f, store_publish(f->store, fixture_path(f, name), NULL, &f->e));
}

static struct store *open_given(struct store_fixture *f, const char *name)
{
    struct store *s = NULL;

    assert_works(f, store_open(&s, fixture_path(f, name), STORE_GIVEN, &f->e));
    return s;
}

/* Asserts that the query has the same rows, at least `least`, in both. */
static void compare_rows(struct store *a, struct store *b, const char *sql, int32_t least)
{
    struct arena arena;
    struct rows x, y;
    struct err e = {0};

    arena_init(&arena);
    if (store_query(a, &x, &arena, sql, NULL, 0, 0, &e) < 0 ||
        store_query(b, &y, &arena, sql, NULL, 0, 0, &e) < 0)
        fail_msg("%s: %s", sql, e.text);
    if (x.rows_n != y.rows_n || x.rows_n < least)
        fail_msg("%s: %d and %d rows", sql, x.rows_n, y.rows_n);
    for (int32_t r = 0; r < x.rows_n; r++)
        for (int32_t c = 0; c < x.columns_n; c++)
            if (strcmp(store_text(&x.row[r][c]), store_text(&y.row[r][c])) != 0)
                fail_msg("%s: %s is '%s' and '%s'", sql, x.name[c], store_text(&x.row[r][c]),
                         store_text(&y.row[r][c]));
    arena_fini(&arena);
}

/* Compares the view whose last column is row `last` of the list of columns. */
static void compare_view(struct store *a, struct store *b, struct arena *arena,
                         const struct rows *views, int32_t last)
{
    /* attempts and progress have columns of this machine, current_evaluations numbers of rows;
     * curves is thinner */
    static const char *const others[] = {"attempts", "progress", "current_evaluations", "curves"};
    const char *name = store_text(&views->row[last][0]), *order = "1";
    bool is_last =
        last + 1 == views->rows_n || strcmp(name, store_text(&views->row[last + 1][0])) != 0;

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!is_last || strcmp(name, others[i]) == 0) return;
    for (int32_t n = 2; n <= atoi(store_text(&views->row[last][1])); n++)
        order = arena_printf(arena, "%s,%d", order, n);
    compare_rows(a, b, arena_printf(arena, "SELECT * FROM %s ORDER BY %s", name, order), 0);
}

TEST_EACH(store_fixture_setup, store_fixture_teardown)

TEST_WITH(struct store_fixture *f, a_published_file_answers_every_view_as_its_source_does)
{
    static const char *const files[] = {"v2", "v3", "v4", "v5", "v6", "runs_v5", "v5_sources"};
    struct arena arena;
    struct rows views;

    arena_init(&arena);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        thaw(f, files[i]);
        store_fixture_open(f, STORE_READ);
        publish(f, "published.db");
        struct store *s = open_given(f, "published.db");
        assert_works(f, store_check(s, &f->e));
        assert_works(f, store_views(s, &views, &arena, &f->e));
        assert_true(views.rows_n > 200);
        for (int32_t v = 0; v < views.rows_n; v++) compare_view(f->store, s, &arena, &views, v);
        compare_rows(f->store, s, "SELECT run_id, perplexity FROM evaluations ORDER BY 1", 1);
        compare_rows(f->store, s, "SELECT run_id, key, value FROM settings ORDER BY 1,2", 20);
        compare_rows(f->store, s,
                     "SELECT run_id, attempt, state, device, code_id, started_at FROM"
                     " attempts WHERE run_id NOT IN(SELECT id FROM sources) ORDER BY 1,2",
                     1);
        store_close(s);
    }
    arena_fini(&arena);
}

TEST_WITH(struct store_fixture *f,
          a_published_file_has_superseded_results_without_parts_and_nothing_of_the_machine)
{
    static const char *const secrets[] = {"my-host", "/my/alibi", "/home/me"};

    f->train.train.updates = 900;
    fixture_done(f, &f->train, 2.0, NULL);
    assert_works(f, store_clear_results(f->store, f->id, &f->e));
    int64_t id = fixture_start(f, f->id);
    fixture_record(f, id, 1, EVENT_STARTED,
                   "{'device':'a processor','host':'my-host','code_id':'c0de',"
                   "'program':'/my/alibi'}");
    for (int update = 1; update <= 900; update++)
        fixture_record(f, id, (uint64_t)update + 1, EVENT_STEP,
                       "{'update':%d,'loss_nats':2.5,'lr':0.1,'grad_norm':1,'epoch':1}", update);
    fixture_trained(f, id, f->id, 999, 1.5, "def");
    fixture_end(f, id, STORE_DONE);
    store_fixture_close(f);
    fixture_raw(f->path, "UPDATE run_attempts SET dir='/home/me/runs/0123456789abcdef/'||attempt;"
                         "INSERT INTO position_losses SELECT result_id,1,64,64,3.5 FROM results");
    store_fixture_open(f, STORE_READ);
    assert_cell(f, "SELECT count(*) FROM results", "2");
    publish(f, "published.db");
    struct store *s = open_given(f, "published.db");
    assert_string_equal(fixture_rows(s, "SELECT final_loss_nats FROM results WHERE current"),
                        "1.5");
    assert_string_equal(fixture_cell(s, "SELECT count(*) FROM results"), "2");
    assert_string_equal(fixture_cell(s, "SELECT count(*) FROM position_losses"), "1");
    assert_string_equal(fixture_cell(s, "SELECT count(*) FROM attempts"), "2");
    assert_string_equal(fixture_cell(s, "SELECT min(dir) FROM attempts"),
                        "runs/0123456789abcdef/1");
    assert_string_equal(fixture_rows(s, "SELECT count(*), max(step), min(loss_nats) FROM curves"),
                        "32 900 2.5");
    store_close(s);

    char *bytes = test_read(fixture_path(f, "published.db"));
    struct stat st;
    assert_int_equal(stat(fixture_path(f, "published.db"), &st), 0);
    for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++)
        assert_null(memmem(bytes, (size_t)st.st_size, secrets[i], strlen(secrets[i])));
    free(bytes);
}

static void assert_same_bytes(struct store_fixture *f, const char *a, const char *b)
{
    struct stat x, y;
    char *of_a = test_read(fixture_path(f, a));
    assert_int_equal(stat(fixture_path(f, a), &x), 0);
    char *of_b = test_read(fixture_path(f, b));
    assert_int_equal(stat(fixture_path(f, b), &y), 0);

    assert_int_equal(x.st_size, y.st_size);
    assert_memory_equal(of_a, of_b, (size_t)x.st_size);
    free(of_a);
    free(of_b);
}

/* Numbers of rows here follow the order in which runs ended; in the published file they do not. */
TEST_WITH(struct store_fixture *f, equal_results_are_published_as_equal_bytes)
{
    for (int32_t L = 32; L <= 256; L += 32) {
        struct spec train = fixture_train(SPEC_ALIBI, L, 1), eval = fixture_eval(&train, 2 * L);
        fixture_done(f, &train, 2.0, NULL);
        fixture_done(f, &eval, 9.0, NULL);
    }
    store_fixture_close(f);
    store_fixture_open(f, STORE_READ);
    publish(f, "a.db");
    publish(f, "b.db");
    assert_same_bytes(f, "a.db", "b.db");
    struct store *s = open_given(f, "a.db");
    assert_works(f, store_publish(s, fixture_path(f, "c.db"), NULL, &f->e));
    store_close(s);
    assert_same_bytes(f, "a.db", "c.db");
}

TEST_WITH(struct store_fixture *f, a_projects_file_is_never_overwritten)
{
    fixture_done(f, &f->train, 2.0, NULL);
    store_fixture_close(f);
    store_fixture_open(f, STORE_READ);
    assert_refused(f, ERR_USAGE, "name another file",
                   store_publish(f->store, f->path, NULL, &f->e));
    assert_int_equal(link(f->path, fixture_path(f, "other name.db")), 0);
    assert_refused(f, ERR_USAGE, "name another file",
                   store_publish(f->store, fixture_path(f, "other name.db"), NULL, &f->e));
    test_write(fixture_path(f, "theirs.db"), "theirs", 6);
    test_write(fixture_path(f, "theirs.db.lock"), "", 0);
    assert_refused(f, ERR_USAGE, "results.db of a project",
                   store_publish(f->store, fixture_path(f, "theirs.db"), NULL, &f->e));
    assert_refused(f, ERR_CREATE, "no/such",
                   store_publish(f->store, fixture_path(f, "no/such.db"), NULL, &f->e));
    assert_rows(f, "SELECT final_loss_nats FROM trainings", "2");
}

/* --- a file that the user names -----------------------------------------------------------------
 */

static int32_t files_n(struct store_fixture *f)
{
    struct dir d;

    assert_works(f, dir_open(&d, f->dir, &f->e));
    int32_t n = d.n;
    dir_close(&d);
    return n;
}

TEST_WITH(struct store_fixture *f,
          a_file_that_cannot_be_read_is_refused_without_a_command_that_writes)
{
    static const struct {
        const char *name, *sql, *word;
        int code;
    } cases[] = {
        {"newer.db", "PRAGMA application_id=0x414c4942; PRAGMA user_version=99; CREATE TABLE x(y)",
         "use the newer program", ERR_UNAVAILABLE},
        {"older.db", NULL, "copy it to an empty folder as results.db", ERR_UNAVAILABLE},
        {"theirs.db", "PRAGMA application_id=7; CREATE TABLE x(y)", "another program", ERR_DATA},
        {"text.db", "", "not a database", ERR_DATA},
        {"empty.db", "", "holds no results", ERR_NOINPUT},
        {"cut.db", "", "malformed", ERR_DATA},
        {"absent.db", NULL, "absent.db not found", ERR_NOINPUT},
    };
    static const char text[] = "A text that is long enough to be looked at, not SQLite.";
    struct store *s = NULL;
    struct stat st;

    thaw(f, "v1");
    assert_int_equal(rename(f->path, fixture_path(f, "older.db")), 0);
    thaw(f, "v6");
    assert_int_equal(rename(f->path, fixture_path(f, "cut.db")), 0);
    assert_int_equal(stat(fixture_path(f, "cut.db"), &st), 0);
    assert_int_equal(truncate(fixture_path(f, "cut.db"), st.st_size / 2), 0);
    test_write(fixture_path(f, "text.db"), text, sizeof text);
    test_write(fixture_path(f, "empty.db"), "", 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (cases[i].sql && *cases[i].sql)
            fixture_raw(fixture_path(f, cases[i].name), cases[i].sql);
        const int32_t before = files_n(f);
        assert_refused(f, cases[i].code, cases[i].word,
                       store_open(&s, fixture_path(f, cases[i].name), STORE_GIVEN, &f->e));
        assert_null(s);
        assert_null(strstr(f->e.text, "alibi run"));
        assert_null(strstr(f->e.text, "alibi merge"));
        assert_int_equal(files_n(f), before);
    }
    assert_refused(f, ERR_DATA, "not a regular file", store_open(&s, f->dir, STORE_GIVEN, &f->e));
}

/* A reader of the project's own file would leave an empty log beside a file in WAL mode. */
TEST_WITH(struct store_fixture *f, reading_a_named_file_leaves_it_and_its_folder_as_they_are)
{
    struct store *s, *copy;
    struct stat before, after;

    fixture_done(f, &f->train, 2.0, NULL);
    store_fixture_close(f);
    assert_int_equal(stat(f->path, &before), 0);
    const int32_t files = files_n(f);
    char *bytes = test_read(f->path);
    assert_works(f, store_open(&s, f->path, STORE_GIVEN, &f->e));
    assert_string_equal(fixture_cell(s, "SELECT final_loss_nats FROM trainings"), "2");
    assert_works(f, store_copy(&copy, s, &f->e));
    assert_works(f, store_clear_results(copy, f->id, &f->e));
    assert_string_equal(fixture_cell(s, "SELECT count(*) FROM trainings"), "1");
    assert_int_equal(files_n(f), files);
    store_close(copy);
    store_close(s);
    assert_int_equal(files_n(f), files);
    assert_int_equal(stat(f->path, &after), 0);
    assert_int_equal(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
    char *now = test_read(f->path);
    assert_memory_equal(bytes, now, (size_t)before.st_size);
    free(bytes);
    free(now);
    store_fixture_open(f, STORE_WRITE);
}
