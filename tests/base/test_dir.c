/* test_dir.c - a walk is sorted, and nothing below the first folder follows a link. */
#include "harness/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"

struct place {
    struct arena arena;
    char root[TEST_PATH_BYTES];
    struct err e;
};

static char *path_of(struct place *p, const char *name)
{
    return arena_printf(&p->arena, "%s/%s", p->root, name);
}

static void write_file(struct place *p, const char *name)
{
    assert_ok(file_write_atomic(path_of(p, name), "12345", 5, &e));
}

/* tree/{a/b/f, a/link -> ../../victim, 10, 2, pipe, link -> ../victim} and victim/f. */
static int setup(void **state)
{
    struct place *p = calloc(1, sizeof *p);
    arena_init(&p->arena);
    test_folder(p->root);
    *state = p;
    assert_ok(file_make_dirs(path_of(p, "tree/a/b"), &e));
    assert_ok(file_make_dirs(path_of(p, "victim"), &e));
    write_file(p, "victim/f");
    write_file(p, "tree/a/b/f");
    write_file(p, "tree/2");
    write_file(p, "tree/10");
    assert_int_equal(symlink("../victim", path_of(p, "tree/link")), 0);
    assert_int_equal(symlink("../../victim", path_of(p, "tree/a/link")), 0);
    return mkfifo(path_of(p, "tree/pipe"), 0666);
}

static int teardown(void **state)
{
    struct place *p = *state;
    int rc = dir_remove_tree(AT_FDCWD, p->root, NULL, &p->e);
    arena_fini(&p->arena);
    free(p);
    return rc;
}

TEST_EACH(setup, teardown)

TEST_WITH(struct place *p, names_come_in_order)
{
    static const char *const names[] = {"10", "2", "a", "link", "pipe"};
    struct dir d;
    assert_ok(dir_open(&d, path_of(p, "tree"), &e));
    assert_int_equal(d.n, 5);
    for (int32_t i = 0; i < d.n; i++) assert_string_equal(d.name_own[i], names[i]);
    dir_close(&d);
    assert_int_equal(d.fd, -1);
    dir_close(&d);
}

TEST_WITH(struct place *p, a_link_is_followed_only_where_a_walk_begins)
{
    struct dir d, below;
    assert_ok(dir_open(&d, path_of(p, "tree/link"), &e));
    assert_int_equal(d.n, 1);
    dir_close(&d);
    assert_ok(dir_open(&d, path_of(p, "tree"), &e));
    assert_ok(dir_open_at(&below, &d, "a", &e));
    dir_close(&below);
    assert_int_equal(dir_open_at(&below, &d, "link", &p->e), ERR_DATA);
    assert_fails(ERR_DATA, "2 is not a directory", dir_open_at(&below, &d, "2", &e));
    assert_int_equal(dir_open_at(&below, &d, "pipe", &p->e), ERR_DATA);
    assert_int_equal(dir_open_at(&below, &d, "none", &p->e), ERR_NOINPUT);
    dir_close(&d);
}

TEST_WITH(struct place *p, a_removed_tree_leaves_what_its_links_point_to)
{
    double bytes = 0;
    assert_ok(dir_remove_tree(AT_FDCWD, path_of(p, "tree"), &bytes, &e));
    assert_false(file_exists(path_of(p, "tree")));
    assert_true(file_exists(path_of(p, "victim/f")));
    assert_true(bytes == 15);
    assert_ok(dir_remove_tree(AT_FDCWD, path_of(p, "tree"), &bytes, &e));
}

TEST_WITH(struct place *p, a_link_itself_is_removed)
{
    struct dir d;
    assert_ok(dir_open(&d, path_of(p, "tree"), &e));
    assert_ok(dir_remove_tree(d.fd, "link", NULL, &e));
    assert_ok(dir_remove_tree(d.fd, "a", NULL, &e));
    dir_close(&d);
    assert_ok(dir_open(&d, path_of(p, "tree"), &e));
    assert_int_equal(d.n, 3);
    dir_close(&d);
    assert_true(file_exists(path_of(p, "victim/f")));
}
