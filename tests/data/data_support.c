/* data_support.c - helpers of the tests of src/data. */
#include "data/data_support.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"

void data_write_texts(struct test_place *f, const char *folder, const char *train,
                      const char *valid, const char *test)
{
    const char *const texts[] = {train, valid, test};
    for (int i = 0; i < CORPUS_SPLITS_N; i++) {
        const char *name = arena_printf(&f->arena, "%s/%s.txt", folder, corpus_split_name(i));
        if (texts[i]) test_place_write(f, name, texts[i], strlen(texts[i]));
    }
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
