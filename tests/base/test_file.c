/* test_file.c - files are whole or absent; locks name their holder; hashes are the published ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"

struct place {
    struct arena arena;
    char dir[64];
    struct err e;
};

static int setup(void **state)
{
    struct place *p = calloc(1, sizeof *p);
    arena_init(&p->arena);
    strcpy(p->dir, "/tmp/alibi-file-XXXXXX");
    *state = p;
    return mkdtemp(p->dir) ? 0 : -1;
}

static int teardown(void **state)
{
    struct place *p = *state;
    static const char *const names[] = {"f", "lock", "a/b", "a", ""};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        remove(arena_printf(&p->arena, "%s/%s", p->dir, names[i]));
    arena_fini(&p->arena);
    free(p);
    return 0;
}

static char *path_of(struct place *p, const char *name)
{
    return arena_printf(&p->arena, "%s/%s", p->dir, name);
}

static void what_is_written_reads_back(void **state)
{
    struct place *p = *state;
    char *text;
    size_t n;
    const char *path = path_of(p, "f");
    assert_int_equal(file_write_atomic(path, "a\0b", 3, &p->e), 0);
    assert_int_equal(file_read(&p->arena, &text, &n, path, 3, &p->e), 0);
    assert_int_equal(n, 3);
    assert_memory_equal(text, "a\0b", 4);
    assert_int_equal(file_read(&p->arena, &text, &n, path, 2, &p->e), ERR_DATA);
    assert_non_null(strstr(p->e.text, "limit of 2"));
    assert_int_equal(file_read(&p->arena, &text, &n, path_of(p, "g"), 9, &p->e), ERR_NOINPUT);
}

static void an_abandoned_file_leaves_the_old_one(void **state)
{
    struct place *p = *state;
    struct file_writer *f;
    char *text;
    const char *path = path_of(p, "f");
    assert_int_equal(file_write_atomic(path, "old", 3, &p->e), 0);
    assert_int_equal(file_writer_open(&f, path, &p->e), 0);
    assert_int_equal(file_writer_add(f, "new", 3, &p->e), 0);
    file_writer_abandon(f);
    assert_int_equal(file_read(&p->arena, &text, NULL, path, 99, &p->e), 0);
    assert_string_equal(text, "old");
    assert_int_equal(rmdir(p->dir), -1); /* only f is left, no temporary */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(p->dir), 0);
}

static void a_folder_that_is_not_there_is_named(void **state)
{
    struct place *p = *state;
    const char *path = path_of(p, "none/f");
    assert_int_equal(file_write_atomic(path, "x", 1, &p->e), ERR_CREATE);
    assert_non_null(strstr(p->e.text, path));
}

static void folders_are_made_with_their_parents(void **state)
{
    struct place *p = *state;
    assert_int_equal(file_make_dirs(path_of(p, "a/b"), &p->e), 0);
    assert_int_equal(file_make_dirs(path_of(p, "a/b"), &p->e), 0);
    assert_int_equal(file_write_atomic(path_of(p, "f"), "", 0, &p->e), 0);
    assert_int_equal(file_make_dirs(path_of(p, "f/b"), &p->e), ERR_CREATE);
}

static void a_held_lock_names_its_holder_and_frees_at_unlock(void **state)
{
    struct place *p = *state;
    int one, two;
    const char *path = path_of(p, "lock");
    assert_int_equal(file_lock(&one, path, "pid 12 on host", &p->e), 0);
    assert_int_equal(file_lock(&two, path, "pid 13", &p->e), ERR_TRYLATER);
    assert_non_null(strstr(p->e.text, "pid 12 on host"));
    file_unlock(one);
    assert_int_equal(file_lock(&two, path, "pid 13", &p->e), 0);
    file_unlock(two);
}

static void hashes_are_the_published_ones(void **state)
{
    struct place *p = *state;
    char hex[HASH_HEX_BYTES], of_file[HASH_HEX_BYTES];
    hash_sha256_hex(hex, "abc", 3);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_int_equal(file_write_atomic(path_of(p, "f"), "abc", 3, &p->e), 0);
    assert_int_equal(hash_file(of_file, path_of(p, "f"), &p->e), 0);
    assert_string_equal(hex, of_file);
    assert_int_equal(hash_crc32c(0, "123456789", 9), 0xe3069283u);
    assert_int_equal(hash_crc32c(hash_crc32c(0, "12345", 5), "6789", 4), 0xe3069283u);
}

static void a_map_shows_the_file(void **state)
{
    struct place *p = *state;
    struct file_map m;
    assert_int_equal(file_write_atomic(path_of(p, "f"), "abc", 3, &p->e), 0);
    assert_int_equal(file_map_open(&m, path_of(p, "f"), &p->e), 0);
    assert_int_equal(m.n, 3);
    assert_memory_equal(m.data, "abc", 3);
    file_map_close(&m);
    assert_int_equal(file_write_atomic(path_of(p, "f"), "", 0, &p->e), 0);
    assert_int_equal(file_map_open(&m, path_of(p, "f"), &p->e), 0);
    assert_null(m.data);
    file_map_close(&m);
}

static void durations_read_as_people_say_them(void **state)
{
    (void)state;
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

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(what_is_written_reads_back),
        CASE(an_abandoned_file_leaves_the_old_one),
        CASE(a_folder_that_is_not_there_is_named),
        CASE(folders_are_made_with_their_parents),
        CASE(a_held_lock_names_its_holder_and_frees_at_unlock),
        CASE(hashes_are_the_published_ones),
        CASE(a_map_shows_the_file),
        CASE(durations_read_as_people_say_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
