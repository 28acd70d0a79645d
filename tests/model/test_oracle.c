/* test_oracle.c - every fixture holds, and the checker sees what is wrong with a file. */
#include "harness/test.h"

#include <dirent.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "model/oracle.h"

#define FIXTURES "tests/fixtures/oracle"

enum { FIXTURES_MIN = 18, FILE_BYTES_MAX = 8 << 20 };

TEST(every_fixture_holds)
{
    DIR *folder = opendir(FIXTURES);
    int files_n = 0, failed_n = 0;
    assert_non_null(folder);
    for (const struct dirent *d = readdir(folder); d != NULL; d = readdir(folder)) {
        char path[400], line[ORACLE_LINE_BYTES];
        if (strstr(d->d_name, ".safetensors") == NULL) continue;
        snprintf(path, sizeof path, FIXTURES "/%s", d->d_name);
        files_n++;
        if (oracle_file(path, "cpu", line) == 0) continue;
        print_error("%s\n", line);
        failed_n++;
    }
    closedir(folder);
    assert_int_equal(failed_n, 0);
    assert_true(files_n >= FIXTURES_MIN);
}

/* A folder of its own for each test. */
struct place {
    char folder[200], path[300];
};

static void make_place(struct place *p)
{
    const char *root = getenv("TMPDIR");
    snprintf(p->folder, sizeof p->folder, "%s/oracle-XXXXXX", root == NULL ? "/tmp" : root);
    assert_non_null(mkdtemp(p->folder));
    snprintf(p->path, sizeof p->path, "%s/copy.safetensors", p->folder);
}

static void remove_place(const struct place *p)
{
    unlink(p->path);
    rmdir(p->folder);
}

/* Copies a fixture with `n` bytes at `from_end` before its end turned over, or with `text` of its
 * header replaced by another of the same length. */
static void copy_changed(const struct place *p, const char *fixture, size_t from_end,
                         const char *text, const char *by)
{
    struct err e = {0};
    struct arena a;
    char *content = NULL;
    size_t n = 0;
    arena_init(&a);
    assert_int_equal(file_read(&a, &content, &n, fixture, FILE_BYTES_MAX, &e), 0);
    if (from_end > 0) content[n - from_end] = (char)(content[n - from_end] ^ 0x40);
    if (text != NULL) {
        size_t at = 0, text_n = strlen(text);
        while (at + text_n < n && memcmp(content + at, text, text_n) != 0) at++;
        assert_true(at + text_n < n);
        memcpy(content + at, by, text_n);
    }
    assert_int_equal(file_write_atomic(p->path, content, n, &e), 0);
    arena_fini(&a);
}

static void assert_fails(const struct place *p, const char *word)
{
    char line[ORACLE_LINE_BYTES];
    assert_int_not_equal(oracle_file(p->path, "cpu", line), 0);
    if (strncmp(line, "copy: FAIL ", 11) != 0 || strstr(line, word) == NULL)
        fail_msg("\"%s\" does not say FAIL and %s", line, word);
}

TEST(a_changed_number_fails)
{
    static const char *const files[] = {"slopes",    "t5_buckets",      "nag_varying_lr",
                                        "clip_norm", "alibi_h4_quirks", "cosine_readme",
                                        "vocab"};
    for (int i = 0; i < 7; i++) {
        struct place p;
        char fixture[200];
        make_place(&p);
        snprintf(fixture, sizeof fixture, FIXTURES "/%s.safetensors", files[i]);
        copy_changed(&p, fixture, 1, NULL, NULL); /* the top byte of the last number */
        assert_fails(&p, "");
        remove_place(&p);
    }
}

TEST(another_model_than_the_metadata_says_fails)
{
    static const char *const changes[][3] = {
        {"\"alibi\"", "\"alibo\"", "unknown method"},
        {"\"200,600\"", "\"200,500\"", "embeddings.1.0.weight"},
        {"\"heads\":\"4\"", "\"heads\":\"2\"", "differs"},
        {"\"relu\"", "\"gelu\"", "only relu"},
        {"\"dim\":\"32\"", "\"dim\":\"3x\"", "expected a number"},
    };
    for (int i = 0; i < 5; i++) {
        struct place p;
        make_place(&p);
        copy_changed(&p, FIXTURES "/alibi_h4_quirks.safetensors", 0, changes[i][0], changes[i][1]);
        assert_fails(&p, changes[i][2]);
        remove_place(&p);
    }
}

TEST(a_tensor_that_is_not_compared_fails)
{
    struct place p;
    make_place(&p);
    copy_changed(&p, FIXTURES "/slopes.safetensors", 0, "\"slopes.7\"", "\"slipes.7\"");
    assert_fails(&p, "slipes.7 was not compared");
    remove_place(&p);
}

TEST(an_unknown_kind_fails)
{
    struct place p;
    make_place(&p);
    copy_changed(&p, FIXTURES "/nag_const_lr.safetensors", 0, "\"param0\"", "\"parom0\"");
    assert_fails(&p, "no known kind");
    remove_place(&p);
}

TEST(missing_weights_beside_an_evaluation_fail)
{
    struct place p;
    make_place(&p);
    copy_changed(&p, FIXTURES "/eval_alibi_h4.safetensors", 0, NULL, NULL);
    assert_fails(&p, "alibi_h4.safetensors");
    remove_place(&p);
}

TEST(a_file_that_is_none_fails)
{
    struct place p;
    make_place(&p);
    assert_fails(&p, "copy.safetensors"); /* absent */
    assert_int_equal(file_write_atomic(p.path, "no tensors", 10, &e), 0);
    assert_fails(&p, "");
    remove_place(&p);
}
