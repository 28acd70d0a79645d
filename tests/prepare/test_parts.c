/* test_parts.c - a text cut for threads: the parts are the text, and neither a dictionary nor a
 * token file nor a message depends on how many threads there were. */
#include "harness/test.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/data_support.h"
#include "prepare/binarise.h"
#include "prepare/parts.h"

static const char hash[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

TEST(parts_end_where_lines_do_and_make_up_the_text)
{
    static const char *const texts[] = {"a\nb\nc\nd\ne\nf\ng\nh\n",
                                        "a long first line\nb\nc",
                                        "no end",
                                        "one\r\ntwo\r\nthree\r\n",
                                        "\n\n\n\n\n\n\n\n\n\n",
                                        "a\rb\rc\r",
                                        ""};
    struct parts p;

    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
        for (int32_t wanted = 1; wanted <= PARTS_MAX; wanted++) {
            size_t n = strlen(texts[t]);
            parts_cut(&p, wanted, texts[t], n);
            assert_in_range(p.n, 1, wanted);
            assert_ptr_equal(p.bound[0], texts[t]);
            assert_ptr_equal(p.bound[p.n], texts[t] + n);
            for (int32_t i = 1; i < p.n; i++) {
                assert_true(p.bound[i] > p.bound[i - 1]);
                assert_int_equal(p.bound[i][-1], '\n');
            }
        }
    parts_cut(&p, 4, texts[0], strlen(texts[0]));
    assert_int_equal(p.n, 4);
    parts_cut(&p, 4, texts[2], strlen(texts[2]));
    assert_int_equal(p.n, 1);
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
    char *dictionary, *tokens;
    int64_t tokens_bytes;
};

static struct outcome make(const struct data_folder *f, const char *text, size_t n, int32_t threads)
{
    const struct text_progress progress = {.threads = threads};
    const char *path = data_folder_path(f, "x.tokens");
    struct outcome out;
    struct dictionary *d;
    struct arena arena;
    struct err e = {0};

    arena_init(&arena);
    if (dictionary_build(&d, text, n, "t", 3000, &progress, &e) < 0) fail_msg("%s", e.text);
    out.dictionary = strdup(dictionary_text(d, &arena, NULL));
    if (binarise_to_file(&out.counts, path, d, hash, text, n, "t", &progress, &e) < 0)
        fail_msg("%s", e.text);
    dictionary_close(d);
    arena_fini(&arena);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    out.tokens = calloc(1, (size_t)out.counts.ids_n * 4 + 64);
    out.tokens_bytes = (int64_t)fread(out.tokens, 1, (size_t)out.counts.ids_n * 4 + 64, file);
    fclose(file);
    return out;
}

static void outcome_free(struct outcome *o)
{
    free(o->dictionary);
    free(o->tokens);
}

static void assert_same_for_all(const char *text, size_t n)
{
    struct data_folder folder;

    data_folder_make(&folder);
    struct outcome one = make(&folder, text, n, 1);
    for (int32_t threads = 2; threads <= PARTS_MAX; threads += 3) {
        struct outcome more = make(&folder, text, n, threads);
        assert_string_equal(more.dictionary, one.dictionary);
        assert_int_equal(more.counts.ids_n, one.counts.ids_n);
        assert_int_equal(more.counts.unknown_n, one.counts.unknown_n);
        assert_int_equal(more.tokens_bytes, one.tokens_bytes);
        assert_memory_equal(more.tokens, one.tokens, (size_t)one.tokens_bytes);
        outcome_free(&more);
    }
    assert_true(one.counts.unknown_n > 0);
    outcome_free(&one);
    data_folder_remove(&folder);
}

TEST(any_number_of_threads_makes_the_same_files)
{
    size_t n;
    char *text = make_text(&n);
    assert_same_for_all(text, n);
    free(text);
}

/* Longer than the room of a part: the rest goes the way of one thread. */
TEST(a_line_of_nine_megabytes_is_no_hindrance)
{
    enum { LONG = 9 << 20 };
    size_t n;
    char *text = make_text(&n);
    char *whole = malloc(2 * n + LONG);
    assert_non_null(whole);
    memcpy(whole, text, n);
    for (size_t i = 0; i < LONG; i++) whole[n + i] = i % 3 == 2 ? ' ' : 'a';
    memcpy(whole + n + LONG, text, n);
    assert_same_for_all(whole, 2 * n + LONG);
    free(whole);
    free(text);
}

TEST(a_fault_has_the_number_of_its_line)
{
    const struct text_progress one = {.threads = 1}, four = {.threads = 4};
    struct data_folder folder;
    struct binarise_counts counts;
    struct dictionary *d;
    struct err expected = {0};
    size_t n;
    char *text = make_text(&n);

    data_folder_make(&folder);
    assert_int_equal(dictionary_build(&d, text, n, "t", 0, NULL, &e), 0);
    text[n - 40] = '\xFF';
    struct dictionary *none;
    assert_int_equal(dictionary_build(&none, text, n, "t", 0, &one, &expected), ERR_DATA);
    assert_non_null(strstr(expected.text, "is not UTF-8"));
    assert_int_equal(dictionary_build(&none, text, n, "t", 0, &four, &e), ERR_DATA);
    assert_string_equal(e.text, expected.text);
    const char *path = data_folder_path(&folder, "x.tokens");
    assert_int_equal(binarise_to_file(&counts, path, d, hash, text, n, "t", &four, &e), ERR_DATA);
    assert_string_equal(e.text, expected.text);
    dictionary_close(d);
    free(text);
    data_folder_remove(&folder);
}
