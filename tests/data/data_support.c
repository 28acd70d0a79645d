/* data_support.c - helpers of the tests of src/data. */
#include "data/data_support.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"

int data_setup(void **state)
{
    struct data_folder *f = calloc(1, sizeof *f);
    assert_non_null(f);
    test_folder(f->path);
    f->project = (struct project){.root = f->path, .share = f->path, .program = f->path};
    arena_init(&f->arena);
    *state = f;
    return 0;
}

int data_teardown(void **state)
{
    struct data_folder *f = *state;
    test_folder_remove(f->path);
    arena_fini(&f->arena);
    free(f);
    return 0;
}

const char *data_folder_path(struct data_folder *f, const char *name)
{
    return arena_printf(&f->arena, "%s/%s", f->path, name);
}

void data_folder_write(struct data_folder *f, const char *name, const void *bytes, size_t n)
{
    test_write(data_folder_path(f, name), bytes, n);
}

void data_folder_text(struct data_folder *f, const char *folder, const char *train,
                      const char *valid, const char *test)
{
    const char *const texts[] = {train, valid, test};
    for (int i = 0; i < CORPUS_SPLITS_N; i++) {
        const char *name = arena_printf(&f->arena, "%s/%s.txt", folder, corpus_split_name(i));
        if (texts[i]) data_folder_write(f, name, texts[i], strlen(texts[i]));
    }
}

char *data_folder_read(struct data_folder *f, const char *name, size_t *n)
{
    char *text;
    assert_ok(file_read(&f->arena, &text, n, data_folder_path(f, name), 1 << 26, &e));
    return text;
}

struct tokens data_tokens(const int32_t *ids, int64_t n)
{
    return (struct tokens){.n = n, .width = 4, .ids = ids};
}

int data_write_tokens(const char *path, const int32_t *ids, int64_t n, int32_t vocab, struct err *e)
{
    struct tokens_writer w;
    int rc = tokens_writer_open(&w, path, vocab, DATA_HASH, e);
    TRY(rc);
    for (int64_t i = 0; i < n && rc == 0; i++) rc = tokens_writer_add(&w, ids[i], e);
    return tokens_writer_close(&w, rc, e);
}

int data_count_items(int64_t *n, const struct text *t, struct err *e)
{
    struct text_scan scan;
    int item;
    *n = 0;
    text_scan_init(&scan, t);
    while ((item = text_next(&scan, e)) > TEXT_END) ++*n;
    return item;
}
