/* data_support.c - helpers of the tests of src/data. */
#include "data/data_support.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"

void data_folder_make(struct data_folder *f)
{
    const char *base = getenv("TMPDIR");
    snprintf(f->path, sizeof f->path, "%s/alibi-data-XXXXXX", base && *base ? base : "/tmp");
    assert_non_null(mkdtemp(f->path));
    f->project = (struct project){.root = f->path, .share = f->path, .program = f->path};
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

void data_folder_remove(struct data_folder *f)
{
    nftw(f->path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

const char *data_folder_path(const struct data_folder *f, const char *name)
{
    static char paths[8][512];
    static unsigned turn;
    char *path = paths[turn++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", f->path, name);
    return path;
}

void data_folder_write(const struct data_folder *f, const char *name, const void *bytes, size_t n)
{
    struct err e = {0};
    char *path = strdup(data_folder_path(f, name));
    char *slash = strrchr(path, '/');
    *slash = '\0';
    assert_int_equal(file_make_dirs(path, &e), 0);
    *slash = '/';
    assert_int_equal(file_write_atomic(path, bytes, n, &e), 0);
    free(path);
}

void data_folder_text(const struct data_folder *f, const char *folder, const char *train,
                      const char *valid, const char *test)
{
    const char *const texts[] = {train, valid, test};
    for (int i = 0; i < CORPUS_SPLITS_N; i++) {
        char name[128];
        snprintf(name, sizeof name, "%s/%s.txt", folder, corpus_split_name(i));
        if (texts[i]) data_folder_write(f, name, texts[i], strlen(texts[i]));
    }
}

char *data_folder_read(const struct data_folder *f, const char *name)
{
    struct file_map map;
    struct err e = {0};
    assert_int_equal(file_map_open(&map, data_folder_path(f, name), &e), 0);
    char *text = calloc(1, map.n + 1);
    assert_non_null(text);
    if (map.n > 0) memcpy(text, map.data, map.n);
    file_map_close(&map);
    return text;
}

struct tokens data_tokens(const int32_t *ids, int64_t n)
{
    return (struct tokens){.n = n, .width = 4, .ids = ids};
}

void data_fixture_open(struct data_fixture *f, const char *path)
{
    struct err e = {0};
    uint64_t head_n;
    if (file_map_open(&f->map, path, &e) < 0) fail_msg("%s", e.text);
    assert_true(f->map.n > 8);
    memcpy(&head_n, f->map.data, sizeof head_n);
    assert_true(head_n < f->map.n - 8);
    f->head_n = (size_t)head_n;
    f->head = calloc(1, f->head_n + 1);
    assert_non_null(f->head);
    memcpy(f->head, (const char *)f->map.data + 8, f->head_n);
}

void data_fixture_close(struct data_fixture *f)
{
    file_map_close(&f->map);
    free(f->head);
}

const int32_t *data_fixture_ids(const struct data_fixture *f, const char *name, int64_t *n)
{
    char key[128];
    snprintf(key, sizeof key, "\"%s\":{", name);
    const char *entry = strstr(f->head, key);
    if (!entry) {
        snprintf(key, sizeof key, "\"%s\": {", name);
        entry = strstr(f->head, key);
    }
    if (!entry) fail_msg("the fixture has no tensor %s", name);
    const char *offsets = strstr(entry, "\"data_offsets\"");
    assert_non_null(offsets);
    char *end;
    long long first = strtoll(strchr(offsets, '[') + 1, &end, 10);
    long long last = strtoll(strchr(end, ',') + 1, NULL, 10);
    *n = (last - first) / 4;
    return (const int32_t *)(const void *)((const char *)f->map.data + 8 + f->head_n + first);
}

char *data_fixture_bytes(const struct data_fixture *f, const char *name, size_t *n)
{
    int64_t count;
    const int32_t *ids = data_fixture_ids(f, name, &count);
    char *text = calloc(1, (size_t)count + 1);
    assert_non_null(text);
    for (int64_t i = 0; i < count; i++) text[i] = (char)ids[i];
    *n = (size_t)count;
    return text;
}
