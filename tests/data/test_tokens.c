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
