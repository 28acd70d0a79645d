/* files.c - the outcome of a call, golden files and temporary folders: what fixtures need that the
 * fuzzer links, too, which has a main of its own. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "harness/test.h"

void test_call(int rc, const struct err *e, int code, const char *words, const char *call,
               const char *file, int line)
{
    bool as_expected = code == 0 ? rc == 0 : rc == code && strstr(e->text, words) != NULL;
    if (as_expected) return;
    print_error("%s returned %d, \"%s\"", call, rc, rc < 0 ? e->text : "");
    if (code < 0) print_error(", expected %d and \"%s\"", code, words);
    print_error("\n");
    _fail(file, line);
}

static void show_difference(const char *path, const char *text)
{
    char actual[] = "/tmp/alibi-golden-XXXXXX", command[1024];
    int fd = mkstemp(actual);

    if (fd < 0) return;
    if (write(fd, text, strlen(text)) < 0) print_error("%s: %s\n", actual, strerror(errno));
    close(fd);
    fflush(NULL);
    snprintf(command, sizeof command, "diff -u '%s' '%s' | head -n 60 >&2", path, actual);
    if (system(command) < 0) print_error("diff cannot be started\n");
    unlink(actual);
}

void test_golden(const char *name, const char *text, const char *file, int line)
{
    char path[TEST_PATH_BYTES];
    const char *update = getenv("TEST_UPDATE");

    snprintf(path, sizeof path, "tests/%s", name);
    if (update && *update && strcmp(update, "0") != 0) {
        test_write(path, text, strlen(text));
        return;
    }
    char *expected = file_exists(path) ? test_read(path) : NULL;
    bool same = expected && strcmp(expected, text) == 0;
    free(expected);
    if (same) return;
    show_difference(path, text);
    _fail(file, line);
}

void test_folder(char path[TEST_PATH_BYTES])
{
    const char *base = getenv("TMPDIR");

    snprintf(path, TEST_PATH_BYTES, "%s/alibi-test-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(path)) fail_msg("%s: %s", path, strerror(errno));
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)at;
    return kind == FTW_DP ? rmdir(path) : unlink(path);
}

/* A case may leave folders without permissions behind; chmod them on the way down. */
static int open_entry(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)at;
    if (kind == FTW_D || kind == FTW_DNR) return chmod(path, st->st_mode | 0700);
    return 0;
}

void test_folder_remove(const char *path)
{
    nftw(path, open_entry, 16, FTW_PHYS);
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

void test_write(const char *path, const void *bytes, size_t n)
{
    char folder[4096];
    struct err e = {0};

    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash && slash != folder) {
        *slash = '\0';
        if (file_make_dirs(folder, &e) < 0) fail_msg("%s", e.text);
    }
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, n, f) != n) fail_msg("%s: %s", path, strerror(errno));
    if (fclose(f) != 0) fail_msg("%s: %s", path, strerror(errno));
}

char *test_read(const char *path)
{
    struct stat st;
    FILE *f = fopen(path, "rb");

    if (!f || fstat(fileno(f), &st) < 0) fail_msg("%s: %s", path, strerror(errno));
    char *text = calloc(1, (size_t)st.st_size + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)st.st_size, f), st.st_size);
    fclose(f);
    return text;
}

int test_place_make(void **state)
{
    struct test_place *p = *state = calloc(1, sizeof *p);

    assert_non_null(p);
    test_folder(p->path);
    p->project = (struct project){.root = p->path, .share = p->path, .program = p->path};
    arena_init(&p->arena);
    return 0;
}

int test_place_remove(void **state)
{
    struct test_place *p = *state;

    test_folder_remove(p->path);
    arena_fini(&p->arena);
    free(p);
    return 0;
}

char *test_place_path(struct test_place *p, const char *name)
{
    return arena_printf(&p->arena, "%s/%s", p->path, name);
}

void test_place_write(struct test_place *p, const char *name, const void *bytes, size_t n)
{
    test_write(test_place_path(p, name), bytes, n);
}

char *test_place_read(struct test_place *p, const char *name, size_t *n)
{
    char *text;

    assert_ok(file_read(&p->arena, &text, n, test_place_path(p, name), 1 << 26, &e));
    return text;
}
