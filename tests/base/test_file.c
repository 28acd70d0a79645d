/* test_file.c - files are complete or absent; locks name their holder; hashes match published ones;
 * walks do not follow links. */
#include "harness/test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"

TEST_EACH(test_place_make, test_place_remove)

TEST_WITH(struct test_place *p, what_is_written_reads_back)
{
    char *text;
    size_t n;
    const char *path = test_place_path(p, "f");
    assert_ok(file_write_atomic(path, "a\0b", 3, &e));
    assert_ok(file_read(&p->arena, &text, &n, path, 3, &e));
    assert_int_equal(n, 3);
    assert_memory_equal(text, "a\0b", 4);
    assert_fails(ERR_DATA, "limit of 2", file_read(&p->arena, &text, &n, path, 2, &e));
    assert_int_equal(file_read(&p->arena, &text, &n, test_place_path(p, "g"), 9, &e), ERR_NOINPUT);
}

TEST_WITH(struct test_place *p, an_abandoned_file_leaves_the_old_one)
{
    struct file_writer *f;
    char *text;
    const char *path = test_place_path(p, "f");
    assert_ok(file_write_atomic(path, "old", 3, &e));
    assert_ok(file_writer_open(&f, path, &e));
    assert_ok(file_writer_add(f, "new", 3, &e));
    assert_int_equal(file_writer_close(f, ERR_DATA, &e), ERR_DATA);
    assert_ok(file_read(&p->arena, &text, NULL, path, 99, &e));
    assert_string_equal(text, "old");
    assert_int_equal(rmdir(p->path), -1); /* only f is left, no temporary file */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(p->path), 0);
}

TEST_WITH(struct test_place *p, a_scratch_folder_stays_while_its_process_lives)
{
    struct file_scratch mine, next;
    struct stat st;
    double bytes = 0;

    assert_ok(file_scratch_open(&mine, p->path, ".s", &e));
    assert_ok(file_write_atomic(arena_printf(&p->arena, "%s/part", mine.path), "12345", 5, &e));
    assert_ok(file_scratch_open(&next, p->path, ".s", &e));
    file_scratch_close(&next);
    assert_int_equal(stat(mine.path, &st), 0);
    file_unlock(mine.lock_fd); /* as when it is killed */
    file_scratch_sweep(p->path, ".", &bytes);
    assert_int_equal(stat(mine.path, &st), 0); /* another name */
    file_scratch_sweep(p->path, ".s", &bytes);
    assert_int_equal(stat(mine.path, &st), -1);
    assert_true(bytes >= 5);
    const char *place = test_place_path(p, "none");
    assert_fails(ERR_CREATE, place, file_scratch_open(&mine, place, ".s", &e));
    file_scratch_close(&mine);
}

TEST_WITH(struct test_place *p, a_folder_that_is_not_there_is_named)
{
    const char *path = test_place_path(p, "none/f");
    assert_fails(ERR_CREATE, path, file_write_atomic(path, "x", 1, &e));
}

TEST_WITH(struct test_place *p, folders_are_made_with_their_parents)
{
    assert_ok(file_make_dirs(test_place_path(p, "a/b"), &e));
    assert_ok(file_make_dirs(test_place_path(p, "a/b"), &e));
    assert_ok(file_write_atomic(test_place_path(p, "f"), "", 0, &e));
    assert_int_equal(file_make_dirs(test_place_path(p, "f/b"), &e), ERR_CREATE);
}

/* Small pieces are buffered, so that the disk's refusal comes with the close. */
TEST_WITH(struct test_place *p, a_file_that_cannot_be_flushed_leaves_the_old_one)
{
    struct file_writer *f;
    struct rlimit limit, zero;
    const char *path = test_place_path(p, "f");
    assert_ok(file_write_atomic(path, "old", 3, &e));
    assert_ok(file_writer_open(&f, path, &e));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    zero = (struct rlimit){.rlim_max = limit.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &zero), 0);
    int added = file_writer_add(f, "new", 3, &e), closed = file_writer_close(f, added, &e);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(closed, ERR_IO);
    assert_string_equal(test_place_read(p, "f", NULL), "old");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(p->path), 0); /* no temporary file */
}

TEST_WITH(struct test_place *p, a_held_lock_names_its_holder_and_frees_at_unlock)
{
    int one, two;
    const char *path = test_place_path(p, "lock");
    assert_ok(file_lock(&one, path, "pid 12 on host", &e));
    assert_fails(ERR_TRYLATER, "pid 12 on host", file_lock(&two, path, "pid 13", &e));
    file_unlock(one);
    assert_ok(file_lock(&two, path, "pid 13", &e));
    file_unlock(two);
}

TEST_WITH(struct test_place *p, hashes_are_the_published_ones)
{
    char hex[HASH_HEX_BYTES], of_file[HASH_HEX_BYTES];
    hash_sha256_hex(hex, "abc", 3);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_ok(file_write_atomic(test_place_path(p, "f"), "abc", 3, &e));
    assert_ok(hash_file(of_file, test_place_path(p, "f"), &e));
    assert_string_equal(hex, of_file);
    assert_int_equal(hash_crc32c(0, "123456789", 9), 0xe3069283u);
    assert_int_equal(hash_crc32c(hash_crc32c(0, "12345", 5), "6789", 4), 0xe3069283u);
}

TEST_WITH(struct test_place *p, a_map_shows_the_file)
{
    struct file_map m;
    assert_ok(file_write_atomic(test_place_path(p, "f"), "abc", 3, &e));
    assert_ok(file_map_open(&m, test_place_path(p, "f"), &e));
    assert_int_equal(m.n, 3);
    assert_memory_equal(m.data, "abc", 3);
    file_map_close(&m);
    assert_ok(file_write_atomic(test_place_path(p, "f"), "", 0, &e));
    assert_ok(file_map_open(&m, test_place_path(p, "f"), &e));
    assert_null(m.data);
    file_map_close(&m);
}

static void assert_text(struct test_place *p, const char *path, const char *expected)
{
    char *text;
    assert_ok(file_read(&p->arena, &text, NULL, path, 99, &e));
    assert_string_equal(text, expected);
}

/* A FIFO without a writer, a device and a folder are rejected without blocking. */
TEST_WITH(struct test_place *p, only_a_regular_file_is_read)
{
    const char *fifo = test_place_path(p, "fifo");
    const char *const paths[] = {fifo, p->path, "/dev/null"};
    char *text, tail[8] = "before", hex[HASH_HEX_BYTES];
    struct file_map m;
    assert_int_equal(mkfifo(fifo, 0666), 0);
    alarm(60); /* ends a read that blocks */
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        assert_int_equal(file_open_read(paths[i], &e), ERR_DATA);
        assert_non_null(strstr(e.text, paths[i]));
        assert_non_null(strstr(e.text, "is not a regular file"));
        assert_int_equal(file_read(&p->arena, &text, NULL, paths[i], 99, &e), ERR_DATA);
        assert_int_equal(file_map_open(&m, paths[i], &e), ERR_DATA);
        assert_int_equal(hash_file(hex, paths[i], &e), ERR_DATA);
        file_read_tail(tail, sizeof tail, paths[i]);
        assert_string_equal(tail, "");
    }
    alarm(0);
    assert_int_equal(file_open_read(test_place_path(p, "none"), &e), ERR_NOINPUT);
}

TEST_WITH(struct test_place *p, a_tail_is_the_end_of_the_file)
{
    char tail[4];
    assert_ok(file_write_atomic(test_place_path(p, "f"), "12345", 5, &e));
    file_read_tail(tail, sizeof tail, test_place_path(p, "f"));
    assert_string_equal(tail, "345");
    assert_ok(file_write_atomic(test_place_path(p, "f"), "12", 2, &e));
    file_read_tail(tail, sizeof tail, test_place_path(p, "f"));
    assert_string_equal(tail, "12");
}

/* file_write_atomic replaces a link; file_write_named writes to its target, through several links
 * and to a file that does not exist yet. */
TEST_WITH(struct test_place *p, a_link_that_the_user_names_leads_to_the_file)
{
    struct stat st;
    assert_ok(file_make_dirs(test_place_path(p, "a/b"), &e));
    assert_int_equal(symlink("a/link", test_place_path(p, "link")), 0);
    assert_int_equal(symlink("b/f", test_place_path(p, "a/link")), 0);
    assert_ok(file_write_named(test_place_path(p, "link"), "new", 3, &e));
    assert_text(p, test_place_path(p, "a/b/f"), "new");
    assert_ok(file_write_named(test_place_path(p, "link"), "newer", 5, &e));
    assert_text(p, test_place_path(p, "a/b/f"), "newer");
    assert_int_equal(lstat(test_place_path(p, "link"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_ok(file_write_atomic(test_place_path(p, "link"), "own", 3, &e));
    assert_text(p, test_place_path(p, "a/b/f"), "newer");
    assert_int_equal(symlink("loop", test_place_path(p, "loop")), 0);
    assert_int_equal(file_write_named(test_place_path(p, "loop"), "x", 1, &e), ERR_CREATE);
    assert_fails(ERR_CREATE, "is a directory",
                 file_write_named(test_place_path(p, "a"), "x", 1, &e));
}

TEST_WITH(struct test_place *p, a_device_or_a_pipe_is_written_in_place)
{
    char text[8] = "";
    struct stat st;
    assert_int_equal(mkfifo(test_place_path(p, "fifo"), 0666), 0);
    int fd = open(test_place_path(p, "fifo"), O_RDWR | O_NONBLOCK);
    assert_ok(file_write_named(test_place_path(p, "fifo"), "abc", 3, &e));
    assert_int_equal(read(fd, text, sizeof text - 1), 3);
    assert_string_equal(text, "abc");
    close(fd);
    assert_int_equal(stat(test_place_path(p, "fifo"), &st), 0);
    assert_true(S_ISFIFO(st.st_mode));
    assert_int_equal(symlink("/dev/full", test_place_path(p, "full")), 0);
    assert_int_equal(file_write_named(test_place_path(p, "full"), "abc", 3, &e), ERR_IO);
    assert_int_equal(lstat(test_place_path(p, "full"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));
}

/* Such as /proc/self/fd/N of a deleted file. */
TEST_WITH(struct test_place *p, a_file_without_a_name_is_written_in_place)
{
    char text[8] = "";
    int fd = open(test_place_path(p, "f"), O_RDWR | O_CREAT, 0666);
    assert_int_equal(unlink(test_place_path(p, "f")), 0);
    assert_ok(file_write_named(arena_printf(&p->arena, "/proc/self/fd/%d", fd), "abc", 3, &e));
    assert_int_equal(pread(fd, text, sizeof text - 1, 0), 3);
    assert_string_equal(text, "abc");
    close(fd);
    assert_int_equal(rmdir(p->path), 0);
}

TEST_WITH(struct test_place *p, a_link_in_place_of_our_own_file_is_not_followed)
{
    int fd;
    assert_ok(file_write_atomic(test_place_path(p, "victim"), "kept", 4, &e));
    const char *temporary = arena_printf(&p->arena, "%s/f.tmp-%ld", p->path, (long)getpid());
    assert_int_equal(symlink("victim", temporary), 0);
    assert_ok(file_write_atomic(test_place_path(p, "f"), "new", 3, &e));
    assert_text(p, test_place_path(p, "f"), "new");
    assert_int_equal(symlink("victim", test_place_path(p, "lock")), 0);
    assert_int_equal(file_lock(&fd, test_place_path(p, "lock"), "pid 12", &e), ERR_CREATE);
    assert_text(p, test_place_path(p, "victim"), "kept");
}

TEST_WITH(struct test_place *p, what_was_printed_in_vain_is_an_error)
{
    FILE *out = fopen("/dev/full", "w");
    assert_ok(file_check_output(out, &e));
    fputs("x", out);
    fflush(out);
    assert_int_equal(file_check_output(out, &e), ERR_OUTPUT);
    assert_int_equal(err_exit_code(ERR_OUTPUT), 74);
    fclose(out);
}

TEST(durations_are_in_hours_minutes_and_seconds)
{
    static const struct {
        double seconds;
        const char *want;
    } rows[] = {{5.55, "5.5s"},   {59.96, "1m 00s"},         {184, "3m 04s"},
                {3720, "1h 02m"}, {3 * 86400.0, "3.0 days"}, {4e8, "12.7 years"},
                {-1, "unknown"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[CLOCK_TEXT_BYTES];
        clock_duration(text, rows[i].seconds);
        if (i == 0)
            assert_true(!strcmp(text, "5.5s") || !strcmp(text, "5.6s"));
        else
            assert_string_equal(text, rows[i].want);
    }
}

TEST_WITH(struct test_place *p, a_launcher_that_names_itself_is_the_program)
{
    char path[256];
    assert_int_equal(setenv("ALIBI_PROGRAM", "/bundle/bin/alibi", 1), 0);
    assert_ok(file_program(path, sizeof path, &e));
    assert_string_equal(path, "/bundle/bin/alibi");
    assert_int_equal(unsetenv("ALIBI_PROGRAM"), 0);
    assert_ok(file_program(path, sizeof path, &e));
    assert_non_null(strstr(path, "/test_file"));
}

/* --- folders: a walk is sorted, and nothing below the first folder follows a link --- */

/* tree/{a/b/f, a/link -> ../../victim, 10, 2, pipe, link -> ../victim} and victim/f. */
static void make_tree(struct test_place *p)
{
    static const char *const files[] = {"victim/f", "tree/a/b/f", "tree/2", "tree/10"};
    for (int i = 0; i < 4; i++) test_place_write(p, files[i], "12345", 5);
    assert_int_equal(symlink("../victim", test_place_path(p, "tree/link")), 0);
    assert_int_equal(symlink("../../victim", test_place_path(p, "tree/a/link")), 0);
    assert_int_equal(mkfifo(test_place_path(p, "tree/pipe"), 0666), 0);
}

TEST_WITH(struct test_place *p, names_come_in_order)
{
    static const char *const names[] = {"10", "2", "a", "link", "pipe"};
    struct dir d;
    make_tree(p);
    assert_ok(dir_open(&d, test_place_path(p, "tree"), &e));
    assert_int_equal(d.n, 5);
    for (int32_t i = 0; i < d.n; i++) assert_string_equal(d.name_own[i], names[i]);
    dir_close(&d);
    assert_int_equal(d.fd, -1);
    dir_close(&d);
}

TEST_WITH(struct test_place *p, a_link_is_followed_only_where_a_walk_begins)
{
    struct dir d, below;
    make_tree(p);
    assert_ok(dir_open(&d, test_place_path(p, "tree/link"), &e));
    assert_int_equal(d.n, 1);
    dir_close(&d);
    assert_ok(dir_open(&d, test_place_path(p, "tree"), &e));
    assert_ok(dir_open_at(&below, &d, "a", &e));
    dir_close(&below);
    assert_int_equal(dir_open_at(&below, &d, "link", &e), ERR_DATA);
    assert_fails(ERR_DATA, "2 is not a directory", dir_open_at(&below, &d, "2", &e));
    assert_int_equal(dir_open_at(&below, &d, "pipe", &e), ERR_DATA);
    assert_int_equal(dir_open_at(&below, &d, "none", &e), ERR_NOINPUT);
    dir_close(&d);
}

TEST_WITH(struct test_place *p, a_removed_tree_leaves_what_its_links_point_to)
{
    double bytes = 0;
    make_tree(p);
    assert_ok(dir_remove_tree(AT_FDCWD, test_place_path(p, "tree"), &bytes, &e));
    assert_false(file_exists(test_place_path(p, "tree")));
    assert_true(file_exists(test_place_path(p, "victim/f")));
    assert_true(bytes == 15);
    assert_ok(dir_remove_tree(AT_FDCWD, test_place_path(p, "tree"), &bytes, &e));
}

TEST_WITH(struct test_place *p, a_link_itself_is_removed)
{
    struct dir d;
    make_tree(p);
    assert_ok(dir_open(&d, test_place_path(p, "tree"), &e));
    assert_ok(dir_remove_tree(d.fd, "link", NULL, &e));
    assert_ok(dir_remove_tree(d.fd, "a", NULL, &e));
    dir_close(&d);
    assert_ok(dir_open(&d, test_place_path(p, "tree"), &e));
    assert_int_equal(d.n, 3);
    dir_close(&d);
    assert_true(file_exists(test_place_path(p, "victim/f")));
}
