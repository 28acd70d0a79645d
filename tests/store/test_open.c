/* test_open.c - one writer under its lock, readers that write nothing, files that are refused. */
#include "harness/test.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "store/database.h"
#include "store/network.h"
#include "store/schema.h"
#include "store/statements.h"
#include "store/store_fixture.h"

enum { OPENERS = 20, NOBODY = 65534 };

TEST_EACH(store_fixture_setup, store_fixture_teardown)

TEST_WITH(struct store_fixture *f, a_second_writer_gets_the_name_of_the_first)
{
    struct store *second = NULL;
    char holder[32];

    snprintf(holder, sizeof holder, "pid %ld on ", (long)getpid());
    assert_refused(f, ERR_TRYLATER, holder, store_open(&second, f->path, STORE_WRITE, &f->e));
    assert_int_equal(err_exit_code(ERR_TRYLATER), 75);
    store_fixture_close(f);
    store_fixture_open(f, STORE_WRITE);
}

TEST_WITH(struct store_fixture *f, an_absent_file_names_the_command_that_makes_it)
{
    struct store *reader = NULL;
    const char *path = fixture_path(f, "other.db");

    assert_refused(f, ERR_NOINPUT, "alibi run", store_open(&reader, path, STORE_READ, &f->e));
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(store_open(&reader, "/nowhere/at/all.db", STORE_READ, &f->e), ERR_NOINPUT);
    assert_int_equal(store_open(&reader, "/nowhere/at/all.db", STORE_WRITE, &f->e), ERR_CREATE);
    close(open(path, O_CREAT | O_WRONLY, 0644));
    assert_refused(f, ERR_NOINPUT, "no results yet", store_open(&reader, path, STORE_READ, &f->e));
}

/* A project on a network file system whose results.db is a link to a local disk. */
TEST_WITH(struct store_fixture *f, a_link_to_a_file_that_is_not_there_yet_makes_it_there)
{
    struct store *s = NULL;
    char target[TEST_PATH_BYTES + 64], link_name[16];
    struct stat st;

    snprintf(target, sizeof target, "%s", fixture_path(f, "local/kept.db"));
    assert_int_equal(mkdir(fixture_path(f, "local"), 0700), 0);
    for (int i = 0; i < 2; i++) { /* the target as a path, and relative to the link */
        snprintf(link_name, sizeof link_name, "link%d.db", i);
        const char *path = fixture_path(f, link_name);
        assert_int_equal(symlink(i == 0 ? target : "local/other.db", path), 0);
        for (int mode = STORE_WRITE; mode >= STORE_READ; mode--) {
            assert_works(f, store_open(&s, path, (enum store_mode)mode, &f->e));
            store_close(s);
        }
        assert_int_equal(lstat(path, &st), 0);
        assert_true(S_ISLNK(st.st_mode));
    }
    assert_int_equal(access(target, F_OK), 0);
    assert_int_equal(access(fixture_path(f, "local/other.db"), F_OK), 0);
}

TEST_WITH(struct store_fixture *f, the_file_is_wal_full_strict_and_ours)
{
    static const struct {
        const char *sql;
        int64_t value;
    } rows[] = {{"PRAGMA application_id", 0x414c4942},
                {"PRAGMA synchronous", 2},
                {"PRAGMA foreign_keys", 1},
                {"PRAGMA busy_timeout", 60000},
                {"SELECT journal_mode='wal' FROM pragma_journal_mode", 1}};
    int64_t value = 0;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(DATABASE_NUMBER(f->store, value, &f->e, rows[i].sql), 1);
        if (value != rows[i].value) fail_msg("%s: %lld", rows[i].sql, (long long)value);
    }
    assert_cell(f,
                "SELECT count(*) FROM sqlite_schema WHERE type='table' AND sql NOT LIKE '%STRICT%'",
                "0");
}

TEST_WITH(struct store_fixture *f, a_newer_file_is_refused_untouched)
{
    char sql[64];

    store_fixture_close(f);
    fixture_raw(f->path, "PRAGMA user_version=99");
    fixture_refuse_open(f, f->path, ERR_UNAVAILABLE, "version 99");
    assert_int_equal(err_exit_code(ERR_UNAVAILABLE), 69);
    snprintf(sql, sizeof sql, "PRAGMA user_version=%d", schema_steps_n);
    fixture_raw(f->path, sql);
    store_fixture_open(f, STORE_WRITE); /* and the lock was given back */
}

TEST_WITH(struct store_fixture *f, a_file_with_tables_and_no_version_is_refused_untouched)
{
    static const char *const versions[] = {"0", "-1"};
    char sql[64];

    store_fixture_close(f);
    for (int i = 0; i < 2; i++) {
        snprintf(sql, sizeof sql, "PRAGMA user_version=%s", versions[i]);
        fixture_raw(f->path, sql);
        snprintf(sql, sizeof sql, "its schema has version %s", versions[i]);
        fixture_refuse_open(f, f->path, ERR_DATA, sql);
    }
    assert_false(file_exists(fixture_path(f, "results.db.backup-v0")));
}

TEST_WITH(struct store_fixture *f, temporary_files_of_a_killed_writer_are_deleted)
{
    static const struct {
        const char *name;
        bool stays;
    } rows[] = {{"results.db.tmp-4711", false},   {"results.db.backup-v3.tmp-1", false},
                {"results.db.open.tmp-2", false}, {"results.db.tmp-", true},
                {"results.db.tmp-mine", true},    {"results.db.tmp-1.copy", true},
                {"other.db.tmp-1", true}};

    store_fixture_close(f);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        test_write(fixture_path(f, rows[i].name), "x", 1);
    store_fixture_open(f, STORE_READ);
    assert_true(file_exists(fixture_path(f, rows[0].name))); /* a writer may be at work */
    store_fixture_close(f);
    store_fixture_open(f, STORE_WRITE);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (file_exists(fixture_path(f, rows[i].name)) != rows[i].stays)
            fail_msg("%s: expected %d", rows[i].name, rows[i].stays);
}

TEST_WITH(struct store_fixture *f, a_file_of_another_program_is_refused)
{
    char text[4000];

    fixture_raw(fixture_path(f, "other.db"), "CREATE TABLE theirs(x)");
    fixture_refuse_open(f, fixture_path(f, "other.db"), ERR_DATA, "another program");
    memset(text, 'x', sizeof text);
    test_write(fixture_path(f, "text.db"), text, sizeof text);
    fixture_refuse_open(f, fixture_path(f, "text.db"), ERR_DATA, "`alibi merge runs/`");
}

TEST_WITH(struct store_fixture *f, a_deleted_or_replaced_file_is_noticed)
{
    unlink(f->path);
    assert_refused(f, ERR_IO, "deleted or replaced", store_begin(f->store, &f->e));
    fixture_raw(f->path, "CREATE TABLE another(x)");
    assert_int_equal(store_begin(f->store, &f->e), ERR_IO);
}

/* A copy of the file as VACUUM INTO and .backup of the sqlite3 shell write it. */
static void copy_database(struct store_fixture *f, const char *to, bool vacuum)
{
    char sql[TEST_PATH_BYTES + 64];
    sqlite3 *from = NULL, *copy = NULL;

    if (vacuum) {
        snprintf(sql, sizeof sql, "VACUUM INTO '%s'", to);
        fixture_raw(f->path, sql);
        return;
    }
    assert_int_equal(sqlite3_open(f->path, &from), SQLITE_OK);
    assert_int_equal(sqlite3_open(to, &copy), SQLITE_OK);
    sqlite3_backup *backup = sqlite3_backup_init(copy, "main", from, "main");
    assert_int_equal(sqlite3_backup_step(backup, -1), SQLITE_DONE);
    assert_int_equal(sqlite3_backup_finish(backup), SQLITE_OK);
    sqlite3_close(copy);
    sqlite3_close(from);
}

/* SQLite leaves the log of a replaced file under its name, and would replay it into the copy. */
TEST_WITH(struct store_fixture *f, a_copy_put_in_place_of_the_open_file_stays_whole)
{
    char copy[TEST_PATH_BYTES + 64], moved[TEST_PATH_BYTES + 64];

    snprintf(copy, sizeof copy, "%s", fixture_path(f, "copy.db"));
    snprintf(moved, sizeof moved, "%s", fixture_path(f, "moved.db"));
    for (int i = 0; i < 8; i++) {
        bool vacuum = i & 1, noticed = i & 2, kept = i & 4;
        f->train.train.seed = 10 * i + 1;
        fixture_done(f, &f->train, 2.0, NULL);
        copy_database(f, copy, vacuum);
        f->train.train.seed++;
        fixture_done(f, &f->train, 2.0, NULL);
        if (kept) assert_int_equal(rename(f->path, moved), 0);
        assert_int_equal(rename(copy, f->path), 0);
        if (noticed) assert_refused(f, ERR_IO, "merge runs/", store_begin(f->store, &f->e));
        store_fixture_close(f);
        store_fixture_open(f, STORE_WRITE);
        assert_works(f, store_check(f->store, &f->e));
        char *trainings = arena_printf(&f->store->arena, "%d", i + 1);
        assert_cell(f, "SELECT count(*) FROM trainings", trainings);
        if (!kept) continue;
        char *newest = arena_printf(&f->store->arena, "%d", 10 * i + 2);
        assert_string_equal(fixture_raw(moved, "SELECT max(seed) FROM trainings"), newest);
    }
}

/* The log stays where a reader has the file open as the writer closes it. */
TEST_WITH(struct store_fixture *f, a_copy_put_in_place_of_a_closed_file_stays_whole)
{
    struct store *reader = NULL;
    char copy[TEST_PATH_BYTES + 64];

    snprintf(copy, sizeof copy, "%s", fixture_path(f, "copy.db"));
    fixture_done(f, &f->train, 2.0, NULL);
    copy_database(f, copy, true);
    f->train.train.seed++;
    fixture_done(f, &f->train, 2.0, NULL);
    assert_works(f, store_open(&reader, f->path, STORE_READ, &f->e));
    store_fixture_close(f);
    store_close(reader);
    assert_int_equal(access(fixture_path(f, "results.db-wal"), F_OK), 0);
    assert_int_equal(rename(copy, f->path), 0);
    for (int mode = STORE_READ; mode <= STORE_WRITE; mode++) {
        store_fixture_open(f, (enum store_mode)mode);
        assert_works(f, store_check(f->store, &f->e));
        assert_cell(f, "SELECT count(*) FROM trainings", "1");
        store_fixture_close(f);
    }
    assert_int_equal(access(fixture_path(f, "results.db.deleted-wal"), F_OK), 0);
}

TEST_WITH(struct store_fixture *f, a_new_file_takes_nothing_from_a_deleted_one)
{
    /* the writer is not closed, so its log stays, as after a crash */
    fixture_done(f, &f->train, 2.0, NULL);
    pid_t child = fork();
    if (child == 0) {
        struct store *s = NULL;
        unlink(f->path);
        unlink(fixture_path(f, "results.db.lock"));
        if (store_open(&s, f->path, STORE_WRITE, &e) < 0) _exit(1);
        if (strcmp(fixture_cell(s, "SELECT count(*) FROM runs"), "0") != 0) _exit(2);
        if (store_check(s, &e) < 0) _exit(3);
        store_close(s);
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

TEST_WITH(struct store_fixture *f, damage_is_found)
{
    char garbage[4096];

    memset(garbage, 0x5a, sizeof garbage);
    store_fixture_close(f);
    int fd = open(f->path, O_WRONLY);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, garbage, sizeof garbage, 5 * 4096), (ssize_t)sizeof garbage);
    close(fd);
    struct store *s = NULL;
    int rc = store_open(&s, f->path, STORE_WRITE, &f->e);
    if (rc == 0) rc = store_check(s, &f->e);
    assert_refused(f, ERR_DATA, "`alibi merge runs/`", rc);
    assert_non_null(strstr(f->e.text, "backup"));
    store_close(s);
    assert_int_equal(truncate(f->path, 4096), 0);
    rc = store_open(&s, f->path, STORE_WRITE, &f->e);
    if (rc == 0) rc = store_check(s, &f->e);
    assert_int_equal(rc, ERR_DATA);
    store_close(s);
}

/* Opens for writing as soon as it can. */
static int open_in_time(const struct store_fixture *f)
{
    struct store *s = NULL;
    struct err e;
    int rc;

    while ((rc = store_open(&s, f->path, STORE_WRITE, &e)) == ERR_TRYLATER) continue;
    store_close(s);
    return rc != 0;
}

TEST_WITH(struct store_fixture *f, many_openers_leave_one_schema)
{
    store_fixture_close(f);
    unlink(f->path);
    assert_int_equal(fixture_race(f, OPENERS, open_in_time), 0);
    store_fixture_open(f, STORE_WRITE);
    assert_int_equal(store_check(f->store, &f->e), 0);
    assert_cell(f, "SELECT count(*) FROM sqlite_schema WHERE name='runs'", "1");
}

/* As an ordinary user in a folder that cannot be written: 0, or the step that went wrong. */
static int read_in_closed_folder(const char *path, int in, int out)
{
    struct store *s = NULL;
    struct err e = {0};
    char byte = 'x';

    if (getuid() == 0 && (setgid(NOBODY) < 0 || setuid(NOBODY) < 0)) return 1;
    if (store_open(&s, path, STORE_READ, &e) < 0) {
        fprintf(stderr, "%s\n", e.text);
        return 2;
    }
    if (strcmp(fixture_cell(s, "SELECT count(*) FROM trainings"), "1") != 0) return 3;
    if (write(out, &byte, 1) != 1 || read(in, &byte, 1) != 1) return 4;
    if (strcmp(fixture_cell(s, "SELECT count(*) FROM trainings"), "2") != 0) return 5;
    store_close(s);
    return 0;
}

TEST_WITH(struct store_fixture *f, a_read_only_folder_can_be_read_and_reread)
{
    char byte;
    int up[2], down[2], status = -1;

    fixture_done(f, &f->train, 2.0, NULL);
    store_fixture_close(f);
    assert_int_equal(chmod(f->dir, 0555), 0);
    assert_int_equal(pipe(up), 0);
    assert_int_equal(pipe(down), 0);
    pid_t child = fork();
    if (child == 0) _exit(read_in_closed_folder(f->path, down[0], up[1]));
    close(up[1]);
    if (read(up[0], &byte, 1) == 1) { /* the child holds the file open: change it */
        assert_int_equal(chmod(f->dir, 0755), 0);
        store_fixture_open(f, STORE_WRITE);
        f->train.train.seed = 2;
        fixture_done(f, &f->train, 2.0, NULL);
        store_fixture_close(f);
        assert_int_equal(chmod(f->dir, 0555), 0);
        assert_int_equal(write(down[1], "y", 1), 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    chmod(f->dir, 0755);
    close(up[0]), close(down[0]), close(down[1]);
    assert_int_equal(WEXITSTATUS(status), 0);
    store_fixture_open(f, STORE_WRITE);
}

TEST(network_file_systems_are_known_by_number_and_mount)
{
    static const char mountinfo[] =
        "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
        "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw\n"
        "40 22 0:44 / /home/u/far rw,nosuid shared:9 - fuse.sshfs u@far:/ rw,user_id=1000\n"
        "41 22 0:45 / / rw - fuse.fuse-overlayfs overlay rw\n";
    char type[64];

    assert_string_equal(network_magic_name(0x6969), "NFS");
    assert_string_equal(network_magic_name((long)0xff534d42), "CIFS");
    assert_string_equal(network_magic_name(0x0bd00bd0), "Lustre");
    assert_string_equal(network_magic_name(0x47504653), "GPFS");
    assert_null(network_magic_name(0xef53)); /* ext4 */
    FILE *file = fmemopen((void *)(uintptr_t)mountinfo, sizeof mountinfo - 1, "r");
    assert_non_null(file);
    network_mount_type(type, sizeof type, file, 0, 44);
    assert_string_equal(type, "fuse.sshfs");
    assert_string_equal(network_mount_name(type), "sshfs");
    rewind(file);
    network_mount_type(type, sizeof type, file, 0, 45);
    assert_null(network_mount_name(type)); /* a container's own root is local */
    rewind(file);
    network_mount_type(type, sizeof type, file, 9, 9);
    assert_string_equal(type, "");
    fclose(file);
    assert_null(network_name("/proc"));
}

TEST_WITH(struct store_fixture *f, a_foreign_writer_makes_it_try_later)
{
    sqlite3 *shell = NULL;

    assert_int_equal(sqlite3_open(f->path, &shell), SQLITE_OK);
    assert_int_equal(sqlite3_exec(shell, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_busy_timeout(f->store->connection_own, 5);
    assert_refused(f, ERR_TRYLATER, "another program holds it", store_begin(f->store, &f->e));
    assert_int_equal(sqlite3_exec(shell, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(store_begin(f->store, &f->e), 0);
    assert_int_equal(store_commit(f->store, &f->e), 0);
    sqlite3_close(shell);
}

TEST_WITH(struct store_fixture *f, a_full_disk_undoes_the_transaction_and_the_store_stays_usable)
{
    struct store_point point = {0, NULL, 64, 0, 0};
    char name[64];
    int rc = 0;

    fixture_done(f, &f->train, 2.0, NULL);
    point.run_id = f->id;
    fixture_raw(f->path, "SELECT 1");
    assert_int_equal(database_script(f->store, "PRAGMA max_page_count=1", &f->e), 0);
    assert_int_equal(store_begin(f->store, &f->e), 0);
    for (int i = 0; i < 2000 && rc == 0; i++) {
        snprintf(name, sizeof name, "an artefact with quite a long name %d", i);
        rc = store_set_points(f->store, name, "mini", &point, 1, &f->e);
    }
    assert_refused(f, ERR_IO, "free space", rc);
    store_rollback(f->store);
    assert_int_equal(database_script(f->store, "PRAGMA max_page_count=1000000", &f->e), 0);
    assert_int_equal(store_set_points(f->store, "a", "mini", &point, 1, &f->e), 0);
    assert_cell(f, "SELECT count(*) FROM points", "1");
    assert_int_equal(store_check(f->store, &f->e), 0);
}
