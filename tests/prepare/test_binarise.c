/* test_binarise.c - ids and line lengths against the authors' binariser. */
#include "harness/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/data_support.h"
#include "prepare/binarise.h"

static const char hash[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/* One split of the fixture, in memory and through a token file. */
static void assert_split(const struct data_fixture *fixture, const struct dictionary *d,
                         const char *split)
{
    char name[64];
    size_t text_n;
    int64_t ids_n, lines_n;
    struct binarised found;
    struct binarise_counts counts;
    struct tokens tokens;
    struct data_folder folder;
    struct err e = {0};
    snprintf(name, sizeof name, "%s.text_utf8", split);
    char *text = data_fixture_bytes(fixture, name, &text_n);
    snprintf(name, sizeof name, "%s.ids", split);
    const int32_t *ids = data_fixture_ids(fixture, name, &ids_n);
    snprintf(name, sizeof name, "%s.line_lengths", split);
    const int32_t *lengths = data_fixture_ids(fixture, name, &lines_n);
    assert_int_equal(binarise_text(&found, d, text, text_n, split, &e), 0);
    assert_int_equal(found.ids_n, ids_n);
    assert_int_equal(found.lines_n, lines_n);
    assert_memory_equal(found.ids, ids, (size_t)ids_n * 4);
    assert_memory_equal(found.line_lengths, lengths, (size_t)lines_n * 4);
    data_folder_make(&folder);
    const char *path = data_folder_path(&folder, "x.tokens");
    assert_int_equal(binarise_to_file(&counts, path, d, hash, text, text_n, split, NULL, &e), 0);
    assert_int_equal(counts.ids_n, ids_n);
    assert_int_equal(tokens_open(&tokens, path, &e), 0);
    assert_int_equal(tokens.n, ids_n);
    tokens_read(&tokens, 0, ids_n, found.ids);
    assert_memory_equal(found.ids, ids, (size_t)ids_n * 4);
    tokens_close(&tokens);
    binarised_free(&found);
    data_folder_remove(&folder);
    free(text);
}

TEST(both_splits_of_the_fixture_are_binarised_as_the_authors_do)
{
    struct data_fixture fixture;
    struct dictionary *d;
    size_t text_n;
    data_fixture_open(&fixture, "tests/fixtures/oracle/vocab.safetensors");
    char *text = data_fixture_bytes(&fixture, "train.text_utf8", &text_n);
    assert_int_equal(dictionary_build(&d, text, text_n, "fixture", 0, NULL, &e), 0);
    assert_split(&fixture, d, "train");
    assert_split(&fixture, d, "valid");
    dictionary_close(d);
    free(text);
    data_fixture_close(&fixture);
}

TEST(words_not_in_the_dictionary_are_counted)
{
    struct dictionary *d;
    struct binarise_counts counts;
    struct data_folder folder;
    data_folder_make(&folder);
    const char *path = data_folder_path(&folder, "x.tokens");
    assert_int_equal(dictionary_build(&d, "a b", 3, "here", 0, NULL, &e), 0);
    assert_int_equal(binarise_to_file(&counts, path, d, hash, "a c\nb <unk>", 11, "t", NULL, &e),
                     0);
    assert_int_equal(counts.ids_n, 6);
    assert_int_equal(counts.unknown_n, 2);
    assert_int_equal(binarise_to_file(&counts, path, d, hash, "", 0, "t.txt", NULL, &e), ERR_DATA);
    assert_non_null(strstr(e.text, "t.txt: the file is empty"));
    dictionary_close(d);
    data_folder_remove(&folder);
}

TEST(texts_longer_than_the_buffer_come_through_whole)
{
    enum { N = 100000 };
    char *text = calloc(N, 4);
    struct dictionary *d;
    struct binarise_counts counts;
    struct tokens tokens;
    struct data_folder folder;
    for (int i = 0; i < N; i++) memcpy(text + 4 * i, i % 3 == 0 ? "aaa\n" : "bbb ", 4);
    data_folder_make(&folder);
    const char *path = data_folder_path(&folder, "x.tokens");
    assert_int_equal(dictionary_build(&d, text, 4 * N, "here", 0, NULL, &e), 0);
    assert_int_equal(binarise_to_file(&counts, path, d, hash, text, 4 * N, "t", NULL, &e), 0);
    assert_int_equal(counts.ids_n, N + (N - 1) / 3 + 1); /* N = 3k + 1: the last word ends a line */
    assert_int_equal(tokens_open(&tokens, path, &e), 0);
    for (int64_t i = 0; i < tokens.n; i++) {
        static const int32_t cycle[] = {5, 2, 4, 4};
        int32_t id;
        tokens_read(&tokens, i, 1, &id);
        assert_int_equal(id, cycle[i % 4]);
    }
    tokens_close(&tokens);
    dictionary_close(d);
    data_folder_remove(&folder);
    free(text);
}
