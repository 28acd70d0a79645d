/* test_unpack.c - archives of a corpus, and malicious archives. */
#include "harness/test.h"

#include <archive.h>
#include <archive_entry.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "fetch/fetch.h"

static const struct unpack_file wanted[] = {{"wiki.train.tokens", "train.txt"},
                                            {"wiki.valid.tokens", "valid.txt"}};

/* Nothing but the archive and the wanted files was written. */
static int remove_place(void **state)
{
    static const char *const files[] = {"archive", "train.txt", "valid.txt"};
    struct test_place *f = *state;

    for (int i = 0; i < 3; i++) unlink(test_place_path(f, files[i]));
    assert_int_equal(rmdir(f->path), 0);
    return test_place_remove(state);
}

struct member {
    const char *path, *text, *link;
};

static void put_archive(struct test_place *f, int (*format)(struct archive *),
                        const struct member *members, int n)
{
    struct archive *out = archive_write_new();

    assert_int_equal(format(out), ARCHIVE_OK);
    assert_int_equal(archive_write_open_filename(out, test_place_path(f, "archive")), ARCHIVE_OK);
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

static int unpack(struct test_place *f, int64_t bytes_max, struct err *e)
{
    return unpack_files(test_place_path(f, "archive"), f->path, wanted, 2, bytes_max, e);
}

static void must_refuse(struct test_place *f, int64_t bytes_max, const char *word)
{
    assert_fails(ERR_DATA, word, unpack(f, bytes_max, &e));
}

static bool has(struct test_place *f, const char *name)
{
    return file_exists(test_place_path(f, name));
}

TEST_EACH(test_place_make, remove_place)

TEST_WITH(struct test_place *f, wanted_files_get_our_names)
{
    static const struct member members[] = {{"wikitext-2/README", "hello\n", NULL},
                                            {"wikitext-2/wiki.train.tokens", "a b\n", NULL},
                                            {"wikitext-2/wiki.valid.tokens", "b\n", NULL}};
    int (*const formats[])(struct archive *) = {archive_write_set_format_zip,
                                                archive_write_set_format_pax_restricted};

    for (size_t i = 0; i < 2; i++) {
        put_archive(f, formats[i], members, 3);
        assert_ok(unpack(f, 100, &e));
        assert_string_equal(test_place_read(f, "train.txt", NULL), "a b\n");
        assert_string_equal(test_place_read(f, "valid.txt", NULL), "b\n");
    }
}

TEST_WITH(struct test_place *f, paths_that_lead_out_are_rejected)
{
    static const char *const paths[] = {"../wiki.train.tokens", "/etc/wiki.train.tokens",
                                        "a/../../wiki.train.tokens", "..", "a/.."};

    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        const struct member member = {paths[i], "x\n", NULL};
        put_archive(f, archive_write_set_format_pax_restricted, &member, 1);
        must_refuse(f, 100, "leads out");
    }
    assert_false(has(f, "train.txt"));
}

TEST_WITH(struct test_place *f, a_link_in_place_of_a_file_is_rejected)
{
    static const struct member member = {"x/wiki.train.tokens", NULL, "/etc/hostname"};
    put_archive(f, archive_write_set_format_pax_restricted, &member, 1);
    must_refuse(f, 100, "not a regular file");
}

TEST_WITH(struct test_place *f, missing_and_repeated_files_are_named)
{
    static const struct member members[] = {{"x/wiki.train.tokens", "a\n", NULL},
                                            {"y/wiki.train.tokens", "b\n", NULL}};
    put_archive(f, archive_write_set_format_zip, members, 1);
    must_refuse(f, 100, "contains no wiki.valid.tokens");
    put_archive(f, archive_write_set_format_zip, members, 2);
    must_refuse(f, 100, "twice");
}

TEST_WITH(struct test_place *f, more_bytes_than_allowed_are_not_written)
{
    static const struct member members[] = {{"x/wiki.train.tokens", "aaaaaaaaaa", NULL},
                                            {"x/wiki.valid.tokens", "b\n", NULL}};
    put_archive(f, archive_write_set_format_zip, members, 2);
    must_refuse(f, 9, "limit");
    must_refuse(f, 11, "limit");
    assert_false(has(f, "valid.txt"));
}

TEST_WITH(struct test_place *f, a_damaged_archive_is_rejected)
{
    static const struct member members[] = {{"x/wiki.train.tokens", "the same old words", NULL},
                                            {"x/wiki.valid.tokens", "b\n", NULL}};
    size_t n;

    put_archive(f, archive_write_set_format_zip, members, 2);
    char *whole = test_place_read(f, "archive", &n);
    whole[70] ^= 1; /* in the first file's data */
    test_place_write(f, "archive", whole, n);
    must_refuse(f, 100, "damaged");
    assert_false(has(f, "train.txt"));
    test_place_write(f, "archive", whole, 40);
    must_refuse(f, 100, test_place_path(f, "archive"));
    test_place_write(f, "archive", "no archive at all", 17);
    must_refuse(f, 100, "not an archive");
}

TEST_WITH(struct test_place *f, an_absent_archive_is_no_input)
{
    assert_int_equal(unpack(f, 100, &e), ERR_NOINPUT);
}
