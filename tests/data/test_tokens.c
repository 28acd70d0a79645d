/* test_tokens.c - token files: round trips and rejected files. */
#include <stdlib.h>
#include <string.h>

#include "data/data_support.h"

TEST_EACH(test_place_make, test_place_remove)

TEST_WITH(struct test_place *f, ids_come_back_and_take_two_bytes_up_to_65536_words)
{
    static const struct {
        int32_t vocab, width;
    } cases[] = {{8, 2}, {65536, 2}, {65537, 4}, {267744, 4}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        enum { N = 70000 };
        static int32_t ids[N], found[N];
        struct tokens t;
        const char *path = test_place_path(f, "t.tokens");
        for (int32_t i = 0; i < N; i++) ids[i] = (int32_t)((int64_t)i * 7919 % cases[c].vocab);
        ids[N - 1] = cases[c].vocab - 1;
        assert_ok(data_write_tokens(path, ids, N, cases[c].vocab, &e));
        assert_ok(tokens_open(&t, path, &e));
        assert_int_equal(t.width, cases[c].width);
        assert_int_equal(t.n, N);
        tokens_read(&t, 0, N, found);
        assert_memory_equal(found, ids, sizeof ids);
        tokens_read(&t, 33333, 5, found);
        assert_memory_equal(found, ids + 33333, 5 * sizeof *ids);
        tokens_close(&t);
    }
}

TEST_WITH(struct test_place *f, the_head_keeps_vocabulary_and_dictionary_hash)
{
    struct tokens t;
    const int32_t ids[] = {1, 2, 3};
    const char *path = test_place_path(f, "t.tokens");
    assert_ok(data_write_tokens(path, ids, 3, 1032, &e));
    assert_ok(tokens_open(&t, path, &e));
    assert_int_equal(t.vocab, 1032);
    assert_string_equal(t.dictionary_sha256, DATA_HASH);
    tokens_close(&t);
}

TEST_WITH(struct test_place *f, damaged_files_are_rejected_with_what_was_expected)
{
    const int32_t ids[] = {1, 2, 3, 4, 5};
    static const struct {
        size_t at, n; /* byte overwritten with 9 (at < n), then cut or stretched to n bytes */
        const char *says;
    } cases[] = {{0, 74, "does not begin with ALIBITOK"},
                 {8, 74, "version 9"},
                 {12, 74, "damaged header: width 9"},
                 {16, 74, "9 ids of 2 bytes"},
                 {99, 73, "73 bytes, but 5 ids"},
                 {99, 75, "75 bytes"},
                 {99, 63, "too short"},
                 {99, 0, "too short"},
                 {23, 74, "74 bytes"},
                 {28, 74, "damaged head"}};
    const char *path = test_place_path(f, "t.tokens");
    assert_ok(data_write_tokens(path, ids, 5, 16, &e));
    size_t n;
    const char *whole = test_place_read(f, "t.tokens", &n);
    assert_int_equal(n, 74);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char bytes[80] = {0};
        struct tokens t;
        memcpy(bytes, whole, n);
        if (cases[i].at < cases[i].n) bytes[cases[i].at] = 9;
        test_place_write(f, "bad.tokens", bytes, cases[i].n);
        const char *bad = test_place_path(f, "bad.tokens");
        assert_fails(ERR_DATA, cases[i].says, tokens_open(&t, bad, &e));
    }
    struct tokens t;
    assert_int_equal(tokens_open(&t, test_place_path(f, "none"), &e), ERR_NOINPUT);
}

TEST_WITH(struct test_place *f, an_id_outside_the_vocabulary_is_never_written)
{
    const int32_t high[] = {1, 16}, low[] = {-1};
    const char *path = test_place_path(f, "t.tokens");
    assert_fails(ERR_DATA, "id 16 at position 1, expected 0 to 15",
                 data_write_tokens(path, high, 2, 16, &e));
    assert_int_equal(data_write_tokens(path, low, 1, 16, &e), ERR_DATA);
    assert_false(file_exists(path));
}

TEST_WITH(struct test_place *f, a_writer_counts_what_it_gets_and_leaves_no_file_if_abandoned)
{
    struct tokens_writer w;
    struct tokens t;
    const int32_t ids[] = {1, 2, 3};
    const char *path = test_place_path(f, "t.tokens");
    assert_ok(tokens_writer_open(&w, path, 16, DATA_HASH, &e));
    assert_ok(tokens_writer_add(&w, 1, &e));
    assert_int_equal(tokens_writer_close(&w, ERR_DATA, &e), ERR_DATA);
    assert_false(file_exists(path));
    assert_ok(data_write_tokens(path, ids, 3, 16, &e));
    assert_ok(tokens_open(&t, path, &e));
    assert_int_equal(t.n, 3);
    tokens_close(&t);
}

TEST(the_prefix_predicts_the_first_token_of_each_document)
{
    static const int64_t document[] = {0, 3, 4};
    static const int32_t ids[] = {10, 11, 12, 13, 14, 15, 16};
    static const struct {
        int64_t at, number, first, end;
        int32_t source;
    } rows[] = {{0, 0, 0, 3, 99}, {1, 0, 0, 3, 10}, {2, 0, 0, 3, 11},
                {3, 1, 3, 4, 99}, {4, 2, 4, 7, 99}, {6, 2, 4, 7, 15}};
    struct tokens t = data_tokens(ids, 7);

    t.prefix = 99;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int32_t source[3], target[3];
        int64_t first, end;
        t.document = document;
        t.documents_n = 3;
        t.pad = -1;
        assert_int_equal(tokens_document(&t, rows[i].at, &first, &end), rows[i].number);
        assert_int_equal(first, rows[i].first);
        assert_int_equal(end, rows[i].end);
        tokens_read_row(&t, rows[i].at, 1, 3, source, target);
        assert_int_equal(source[0], rows[i].source);
        assert_int_equal(target[0], ids[rows[i].at]);
        assert_int_equal(source[2], 99);
        assert_int_equal(target[1], 99);
        t.pad = 1;
        tokens_read_row(&t, rows[i].at, 1, 3, source, target);
        assert_int_equal(target[1], 1);
        t.document = NULL; /* one document */
        tokens_read_row(&t, rows[i].at, 1, 3, source, target);
        assert_int_equal(source[0], rows[i].at == 0 ? 99 : ids[rows[i].at - 1]);
    }
}

TEST_WITH(struct test_place *f, a_damaged_file_of_documents_is_rejected)
{
    static const struct {
        int64_t document[4], n, stated;
        const char *says;
    } cases[] = {{{0, 2, 4}, 3, 3, NULL},
                 {{0, 2, 4}, 3, 2, "24 bytes for 2 documents"},
                 {{0, 2, 4}, 3, 4, "24 bytes for 4 documents"},
                 {{0, 2, 4}, 3, -1, "-1 documents"},
                 {{0}, 0, 0, "0 documents do not fit 5 tokens"},
                 {{1, 2}, 2, 2, "document 0 begins at token 1"},
                 {{0, 2, 2}, 3, 3, "document 2 begins at token 2"},
                 {{0, 3, 2}, 3, 3, "document 2 begins at token 2"},
                 {{0, -1}, 2, 2, "document 1 begins at token -1"},
                 {{0, 5}, 2, 2, "2 documents do not fit 5 tokens"}};
    const int32_t ids[] = {1, 2, 3, 4, 5};
    const char *path = test_place_path(f, "t.tokens");

    assert_ok(data_write_tokens(path, ids, 5, 16, &e));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t bytes = (size_t)cases[i].n * sizeof *cases[i].document;
        struct tokens t;
        test_place_write(f, "t.documents", cases[i].document, bytes);
        assert_ok(tokens_open(&t, path, &e));
        const char *documents = test_place_path(f, "t.documents");
        if (cases[i].says)
            assert_fails(ERR_DATA, cases[i].says,
                         tokens_open_documents(&t, documents, cases[i].stated, &e));
        else
            assert_ok(tokens_open_documents(&t, documents, cases[i].stated, &e));
        tokens_close(&t);
    }
}
