/* import_fixture.c - reads the parts of the tiny checkpoint and builds changed ones. */
#include "interchange/import_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <archive.h>
#include <archive_entry.h>

int import_fixture_make(void **state)
{
    struct import_fixture *f = calloc(1, sizeof *f);
    struct err e = {0};

    assert_non_null(f);
    test_folder(f->root);
    snprintf(f->path, sizeof f->path, "%s/changed.pt", f->root);
    arena_init(&f->arena);
    if (torch_file_open(&f->file, &f->arena, IMPORT_FIXTURE_TINY, &e) < 0) fail_msg("%s", e.text);
    for (int32_t i = 0; i < f->file.storages.n; i++) f->file.storages.item[i].wanted = true;
    if (torch_file_read(&f->file, &e) < 0) fail_msg("%s", e.text);
    *state = f;
    return 0;
}

int import_fixture_remove(void **state)
{
    struct import_fixture *f = *state;

    torch_file_close(&f->file);
    arena_fini(&f->arena);
    test_folder_remove(f->root);
    free(f);
    return 0;
}

struct spec import_fixture_spec(void)
{
    static const char *const texts[][2] = {
        {"model.position", "alibi"},
        {"model.layers", "2"},
        {"model.dim", "32"},
        {"model.heads", "4"},
        {"model.ffn", "64"},
        {"model.softmax", "adaptive"},
        {"model.cutoffs", "64,128"},
        {"model.adaptive_factor", "2"},
        {"model.final_norm", "false"},
        {"data.vocab", "208"},
        {"data.train_tokens", "7347"},
        {"data.valid_tokens", "640"},
        {"data.test_tokens", "581"},
        {"data.corpus", "tiny"},
        {"train.L", "32"},
        {"train.shards", "1"},
        {"train.shard_tokens", "512"},
        {"train.updates", "150"},
    };
    struct err e = {0};
    struct spec s;

    spec_init(&s);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const struct spec_key *key = spec_key_find(texts[i][0]);
        if (!key || spec_set(&s, key, texts[i][1], &e) < 0) fail_msg("%s: %s", texts[i][0], e.text);
    }
    return s;
}

static void zip_add(struct archive *zip, const char *name, const void *data, size_t n)
{
    struct archive_entry *entry = archive_entry_new();

    assert_non_null(entry);
    archive_entry_set_pathname(entry, name);
    archive_entry_set_size(entry, (la_int64_t)n);
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0644);
    assert_int_equal(archive_write_header(zip, entry), ARCHIVE_OK);
    assert_int_equal(archive_write_data(zip, data, n), n);
    archive_entry_free(entry);
}

void import_fixture_zip(const struct import_fixture *f, const void *pickle, size_t n)
{
    struct archive *zip = archive_write_new();
    char name[64];

    assert_non_null(zip);
    assert_int_equal(archive_write_set_format_zip(zip), ARCHIVE_OK);
    assert_int_equal(archive_write_set_options(zip, "zip:compression=store"), ARCHIVE_OK);
    assert_int_equal(archive_write_open_filename(zip, f->path), ARCHIVE_OK);
    if (pickle) zip_add(zip, "archive/data.pkl", pickle, n);
    for (int32_t i = 0; i < f->file.storages.n; i++) {
        snprintf(name, sizeof name, "archive/data/%s", f->file.storages.item[i].key);
        zip_add(zip, name, f->file.storages.item[i].data_own,
                (size_t)f->file.storages.item[i].bytes);
    }
    assert_int_equal(archive_write_close(zip), ARCHIVE_OK);
    archive_write_free(zip);
}

char *import_fixture_replace(struct import_fixture *f, const char *from, size_t from_n,
                             const char *to, size_t to_n, size_t *n)
{
    const char *pickle = f->file.pickle;
    size_t bytes = f->file.pickle_bytes;
    const char *at = memmem(pickle, bytes, from, from_n);

    assert_non_null(at);
    size_t head = (size_t)(at - pickle), tail = bytes - head - from_n;
    char *out = arena_alloc(&f->arena, bytes + to_n);
    memcpy(out, pickle, head);
    memcpy(out + head, to, to_n);
    memcpy(out + head + to_n, at + from_n, tail);
    *n = head + to_n + tail;
    return out;
}

void import_fixture_must_say(int rc, const struct err *e, const char *word)
{
    assert_int_equal(rc, ERR_DATA);
    if (!strstr(e->text, word)) fail_msg("\"%s\" does not say \"%s\"", e->text, word);
}

struct import *import_fixture_must_open(const char *path)
{
    struct import *im = NULL;
    struct err e = {0};

    if (import_open(&im, path, &e) < 0) fail_msg("%s", e.text);
    return im;
}

void import_fixture_must_refuse(const char *path, const char *word)
{
    struct import *im = NULL;
    struct err e = {0};

    int rc = import_open(&im, path, &e);
    import_fixture_must_say(rc, &e, word);
    assert_null(im);
}

void import_fixture_attempt(const struct import_fixture *f, char dir[IMPORT_PATH_BYTES + 16])
{
    snprintf(dir, IMPORT_PATH_BYTES + 16, "%s/1", f->root);
    test_folder_remove(dir);
    assert_int_equal(mkdir(dir, 0777), 0);
}

int import_fixture_write(const struct import_fixture *f, struct import *im, struct err *e)
{
    struct spec s = import_fixture_spec();
    char dir[IMPORT_PATH_BYTES + 16];

    import_fixture_attempt(f, dir);
    TRY(import_check(im, &s, e));
    return import_write(im, dir, 2.5, e);
}

void import_fixture_must_fail(const struct import_fixture *f, const char *word)
{
    struct import *im = import_fixture_must_open(f->path);
    struct err e = {0};
    int rc = import_fixture_write(f, im, &e);

    import_fixture_must_say(rc, &e, word);
    import_close(im);
}
