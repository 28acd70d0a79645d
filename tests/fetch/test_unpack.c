/* test_unpack.c - archives of a corpus, and malicious archives. */
#include "harness/test.h"

#include <archive.h>
#include <archive_entry.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"
#include "fetch/fetch.h"

static const struct unpack_file wanted[] = {{"wiki.train.tokens", "train.txt"},
                                            {"wiki.valid.tokens", "valid.txt"}};

struct folder {
    char dir[TEST_PATH_BYTES], archive[TEST_PATH_BYTES + 16], train[TEST_PATH_BYTES + 16],
        valid[TEST_PATH_BYTES + 16];
};

static int make_folder(void **state)
{
    struct folder *f = calloc(1, sizeof *f);

    test_folder(f->dir);
    snprintf(f->archive, sizeof f->archive, "%s/archive", f->dir);
    snprintf(f->train, sizeof f->train, "%s/train.txt", f->dir);
    snprintf(f->valid, sizeof f->valid, "%s/valid.txt", f->dir);
    *state = f;
    return 0;
}

static int remove_folder(void **state)
{
    struct folder *f = *state;
    unlink(f->archive);
    unlink(f->train);
    unlink(f->valid);
    assert_int_equal(rmdir(f->dir), 0); /* nothing else was written */
    free(f);
    return 0;
}

struct member {
    const char *path, *text, *link;
};

static void put_archive(const struct folder *f, int (*format)(struct archive *),
                        const struct member *members, int n)
{
    struct archive *out = archive_write_new();

    assert_int_equal(format(out), ARCHIVE_OK);
    assert_int_equal(archive_write_open_filename(out, f->archive), ARCHIVE_OK);
    for (int i = 0; i < n; i++) {
        struct archive_entry *entry = archive_entry_new();
        size_t bytes = members[i].text ? strlen(members[i].text) : 0;
        archive_entry_set_pathname(entry, members[i].path);
        archive_entry_set_size(entry, (la_int64_t)bytes);
        archive_entry_set_filetype(entry, members[i].link ? AE_IFLNK : AE_IFREG);
        if (members[i].link) archive_entry_set_symlink(entry, members[i].link);
        archive_entry_set_perm(entry, 0644);
        assert_int_equal(archive_write_header(out, entry), ARCHIVE_OK);
        if (bytes > 0) assert_int_equal(archive_write_data(out, members[i].text, bytes), bytes);
        archive_entry_free(entry);
    }
    assert_int_equal(archive_write_close(out), ARCHIVE_OK);
    archive_write_free(out);
}

static void must_refuse(const struct folder *f, int64_t bytes_max, const char *word)
{
    assert_fails(ERR_DATA, word, unpack_files(f->archive, f->dir, wanted, 2, bytes_max, &e));
}

static void must_hold(const char *path, const char *text)
{
    struct arena a;
    char *found;

    arena_init(&a);
    assert_ok(file_read(&a, &found, NULL, path, 1000, &e));
    assert_string_equal(found, text);
    arena_fini(&a);
}

TEST_EACH(make_folder, remove_folder)

TEST_WITH(struct folder *f, wanted_files_get_our_names)
{
    static const struct member members[] = {{"wikitext-2/README", "hello\n", NULL},
                                            {"wikitext-2/wiki.train.tokens", "a b\n", NULL},
                                            {"wikitext-2/wiki.valid.tokens", "b\n", NULL}};
    int (*const formats[])(struct archive *) = {archive_write_set_format_zip,
                                                archive_write_set_format_pax_restricted};

    for (size_t i = 0; i < 2; i++) {
        put_archive(f, formats[i], members, 3);
        assert_ok(unpack_files(f->archive, f->dir, wanted, 2, 100, &e));
        must_hold(f->train, "a b\n");
        must_hold(f->valid, "b\n");
    }
}

TEST_WITH(struct folder *f, paths_that_lead_out_are_rejected)
{
    static const char *const paths[] = {"../wiki.train.tokens", "/etc/wiki.train.tokens",
                                        "a/../../wiki.train.tokens", "..", "a/.."};

    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        const struct member member = {paths[i], "x\n", NULL};
        put_archive(f, archive_write_set_format_pax_restricted, &member, 1);
        must_refuse(f, 100, "leads out");
    }
    assert_false(file_exists(f->train));
}

TEST_WITH(struct folder *f, a_link_in_place_of_a_file_is_rejected)
{
    static const struct member member = {"x/wiki.train.tokens", NULL, "/etc/hostname"};
    put_archive(f, archive_write_set_format_pax_restricted, &member, 1);
    must_refuse(f, 100, "not a regular file");
}

TEST_WITH(struct folder *f, missing_and_repeated_files_are_named)
{
    static const struct member members[] = {{"x/wiki.train.tokens", "a\n", NULL},
                                            {"y/wiki.train.tokens", "b\n", NULL}};
    put_archive(f, archive_write_set_format_zip, members, 1);
    must_refuse(f, 100, "contains no wiki.valid.tokens");
    put_archive(f, archive_write_set_format_zip, members, 2);
    must_refuse(f, 100, "twice");
}

TEST_WITH(struct folder *f, more_bytes_than_allowed_are_not_written)
{
    static const struct member members[] = {{"x/wiki.train.tokens", "aaaaaaaaaa", NULL},
                                            {"x/wiki.valid.tokens", "b\n", NULL}};
    put_archive(f, archive_write_set_format_zip, members, 2);
    must_refuse(f, 9, "limit");
    must_refuse(f, 11, "limit");
    assert_false(file_exists(f->valid));
}

TEST_WITH(struct folder *f, a_damaged_archive_is_rejected)
{
    static const struct member members[] = {{"x/wiki.train.tokens", "the same old words", NULL},
                                            {"x/wiki.valid.tokens", "b\n", NULL}};
    struct arena a;
    char *whole;
    size_t n;

    put_archive(f, archive_write_set_format_zip, members, 2);
    arena_init(&a);
    assert_ok(file_read(&a, &whole, &n, f->archive, 10000, &e));
    whole[70] ^= 1; /* in the first file's data */
    assert_ok(file_write_atomic(f->archive, whole, n, &e));
    must_refuse(f, 100, "damaged");
    assert_false(file_exists(f->train));
    assert_ok(file_write_atomic(f->archive, whole, 40, &e));
    must_refuse(f, 100, f->archive);
    assert_ok(file_write_atomic(f->archive, "no archive at all", 17, &e));
    must_refuse(f, 100, "not an archive");
    arena_fini(&a);
}

TEST_WITH(const struct folder *f, an_absent_archive_is_no_input)
{
    assert_int_equal(unpack_files(f->archive, f->dir, wanted, 2, 100, &e), ERR_NOINPUT);
}

TEST(every_source_is_complete)
{
    int32_t n;
    const struct fetch_source *s = fetch_sources(&n);

    assert_true(n >= 2);
    for (int32_t i = 0; i < n; i++) {
        assert_ptr_equal(fetch_source_find(s[i].name), &s[i]);
        assert_int_equal(strlen(s[i].sha256), 64);
        assert_int_equal(strspn(s[i].sha256, "0123456789abcdef"), 64);
        assert_int_equal(strncmp(s[i].url[0], "https://", 8), 0);
        assert_true(s[i].archive_bytes_max > 0 && s[i].text_bytes_max > 0);
        for (int k = 0; k < SOURCES_FILES_N; k++) assert_non_null(s[i].file[k].member);
    }
    assert_null(fetch_source_find("wikitext"));
}
