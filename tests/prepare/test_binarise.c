/* test_binarise.c - token files from text. Token files, dictionaries and messages do not depend on
 * the number of threads. tests/model compares the ids with those of the authors' program. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/data_support.h"
#include "prepare/dictionary.h"

TEST_EACH(data_setup, data_teardown)

TEST_WITH(struct data_folder *f, words_not_in_the_dictionary_are_counted)
{
    struct dictionary *d;
    struct binarise_counts counts;
    const char *path = data_folder_path(f, "x.tokens");
    assert_ok(dictionary_build(&d, data_text("a b", 3), 0, &e));
    assert_ok(binarise_to_file(&counts, path, d, DATA_HASH, data_text("a c\nb <unk>", 11), &e));
    assert_int_equal(counts.ids_n, 6);
    assert_int_equal(counts.unknown_n, 2);
    assert_fails(ERR_DATA, "here: the file is empty",
                 binarise_to_file(&counts, path, d, DATA_HASH, data_text("", 0), &e));
    dictionary_close(d);
}

TEST_WITH(struct data_folder *f, texts_longer_than_the_buffer_come_through_whole)
{
    enum { N = 100000 };
    char *text = calloc(N, 4);
    struct dictionary *d;
    struct binarise_counts counts;
    struct tokens tokens;
    for (int i = 0; i < N; i++) memcpy(text + 4 * i, i % 3 == 0 ? "aaa\n" : "bbb ", 4);
    const char *path = data_folder_path(f, "x.tokens");
    assert_ok(dictionary_build(&d, data_text(text, 4 * N), 0, &e));
    assert_ok(binarise_to_file(&counts, path, d, DATA_HASH, data_text(text, 4 * N), &e));
    assert_int_equal(counts.ids_n, N + (N - 1) / 3 + 1); /* N = 3k + 1: the last word ends a line */
    assert_ok(tokens_open(&tokens, path, &e));
    for (int64_t i = 0; i < tokens.n; i++) {
        static const int32_t cycle[] = {5, 2, 4, 4};
        int32_t id;
        tokens_read(&tokens, i, 1, &id);
        assert_int_equal(id, cycle[i % 4]);
    }
    tokens_close(&tokens);
    dictionary_close(d);
    free(text);
}

/* 60,000 words, many of them as frequent as others, in lines of all lengths and ends; words of two
 * bytes a letter, a special symbol, a last line without an end. *n: bytes. */
static char *make_text(size_t *n)
{
    enum { WORDS = 60000, WORD_BYTES = 24 };
    static const char *const ends[] = {"\n", "\r\n", "\n\n", " \t\n"};
    char *text = calloc(WORDS, WORD_BYTES);
    uint32_t seed = 7;

    assert_non_null(text);
    *n = 0;
    for (int i = 0; i < WORDS; i++) {
        seed = seed * 1664525u + 1013904223u;
        uint32_t word = (seed >> 8) % 5000, rare = word * word / 5000;
        const char *form = word % 97 == 0 ? "<unk>" : word % 5 == 0 ? "w\xC3\xB6rd%u" : "w%u";
        *n += (size_t)snprintf(text + *n, WORD_BYTES, form, rare);
        *n +=
            (size_t)snprintf(text + *n, WORD_BYTES, "%s", seed >> 28 ? " " : ends[seed >> 20 & 3]);
    }
    return text;
}

struct outcome {
    struct binarise_counts counts;
    const char *dictionary, *tokens;
    size_t tokens_bytes;
};

static struct outcome make(struct data_folder *f, const char *text, size_t n, int32_t threads)
{
    const struct text_progress progress = {.threads = threads};
    const struct text t = {.bytes = text, .n = n, .place = "t", .progress = &progress};
    struct outcome out;
    struct dictionary *d;

    assert_ok(dictionary_build(&d, &t, 3000, &e));
    out.dictionary = dictionary_text(d, &f->arena, NULL);
    const char *path = data_folder_path(f, "x.tokens");
    assert_ok(binarise_to_file(&out.counts, path, d, DATA_HASH, &t, &e));
    dictionary_close(d);
    out.tokens = data_folder_read(f, "x.tokens", &out.tokens_bytes);
    return out;
}

static void assert_same_for_all(struct data_folder *f, const char *text, size_t n)
{
    const struct outcome one = make(f, text, n, 1);

    for (int32_t threads = 2; threads <= PARALLEL_MAX; threads += 3) {
        const struct outcome more = make(f, text, n, threads);
        assert_string_equal(more.dictionary, one.dictionary);
        assert_int_equal(more.counts.ids_n, one.counts.ids_n);
        assert_int_equal(more.counts.unknown_n, one.counts.unknown_n);
        assert_int_equal(more.tokens_bytes, one.tokens_bytes);
        assert_memory_equal(more.tokens, one.tokens, one.tokens_bytes);
    }
    assert_true(one.counts.unknown_n > 0);
}

TEST_WITH(struct data_folder *f, any_number_of_threads_makes_the_same_files)
{
    size_t n;
    char *text = make_text(&n);
    assert_same_for_all(f, text, n);
    free(text);
}

/* Longer than a part: it is cut at a space. */
TEST_WITH(struct data_folder *f, a_line_of_nine_megabytes_is_cut)
{
    enum { LONG = 9 << 20 };
    size_t n;
    char *text = make_text(&n);
    char *whole = malloc(2 * n + LONG);
    assert_non_null(whole);
    memcpy(whole, text, n);
    for (size_t i = 0; i < LONG; i++) whole[n + i] = i % 3 == 2 ? ' ' : 'a';
    memcpy(whole + n + LONG, text, n);
    assert_same_for_all(f, whole, 2 * n + LONG);
    free(whole);
    free(text);
}

TEST_WITH(struct data_folder *f, a_fault_has_the_number_of_its_line)
{
    const struct text_progress one = {.threads = 1}, four = {.threads = 4};
    struct binarise_counts counts;
    struct dictionary *d, *none;
    struct err expected = {0};
    size_t n;
    char *bytes = make_text(&n);
    struct text text = {.bytes = bytes, .n = n, .place = "t", .progress = &one};

    assert_ok(dictionary_build(&d, &text, 0, &e));
    bytes[n - 40] = '\xFF';
    assert_int_equal(dictionary_build(&none, &text, 0, &expected), ERR_DATA);
    assert_non_null(strstr(expected.text, "is not UTF-8"));
    text.progress = &four;
    assert_int_equal(dictionary_build(&none, &text, 0, &e), ERR_DATA);
    assert_string_equal(e.text, expected.text);
    const char *path = data_folder_path(f, "x.tokens");
    assert_int_equal(binarise_to_file(&counts, path, d, DATA_HASH, &text, &e), ERR_DATA);
    assert_string_equal(e.text, expected.text);
    dictionary_close(d);
    free(bytes);
}
