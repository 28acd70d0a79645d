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
    return (struct tokens){
        .n = n, .width = 4, .ids = ids, .prefix = TOKEN_LINE_END, .pad = TOKEN_PAD};
}

int data_write_tokens(const char *path, const int32_t *ids, int64_t n, int32_t vocab, struct err *e)
{
    struct tokens_writer w;
    int rc = tokens_writer_open(&w, path, vocab, DATA_HASH, e);
    TRY(rc);
    for (int64_t i = 0; i < n && rc == 0; i++) rc = tokens_writer_add(&w, ids[i], e);
    return tokens_writer_close(&w, rc, e);
}

void data_write_tokenized(struct test_place *f, const char *name, const int32_t *ids, int64_t n,
                          int32_t vocab, const int64_t *document, int64_t documents_n)
{
    struct manifest m = {.name = name,
                         .source = "ids",
                         .options = "test",
                         .vocab = vocab,
                         .tokenizer = "small",
                         .dictionary_sha256 = DATA_HASH,
                         .tokens_n[CORPUS_TEST] = n,
                         .text[CORPUS_TEST] = {5 * n, 2 * n, documents_n}};

    assert_ok(file_make_dirs(test_place_path(f, arena_printf(&f->arena, "data/%s", name)), &e));
    for (int i = 0; i < CORPUS_SPLITS_N; i++) {
        bool empty = i != CORPUS_TEST;
        const char *stem = arena_printf(&f->arena, "data/%s/%s", name, corpus_split_name(i));
        const char *path = test_place_path(f, arena_printf(&f->arena, "%s.tokens", stem));
        assert_ok(data_write_tokens(path, ids, empty ? 0 : n, vocab, &e));
        assert_ok(hash_file(m.tokens_sha256[i], path, &e));
        path = test_place_path(f, arena_printf(&f->arena, "%s.documents", stem));
        size_t bytes = empty ? 0 : (size_t)documents_n * sizeof *document;
        assert_ok(file_write_atomic(path, document, bytes, &e));
        assert_ok(hash_file(m.documents_sha256[i], path, &e));
    }
    manifest_fingerprint(m.fingerprint, &m);
    const char *path = arena_printf(&f->arena, "data/%s/manifest.yaml", name);
    assert_ok(manifest_write(&m, test_place_path(f, path), &e));
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
