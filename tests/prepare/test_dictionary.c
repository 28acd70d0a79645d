/* test_dictionary.c - the dictionary against the authors' own, and its rules one by one. */
#include "harness/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/data_support.h"
#include "prepare/dictionary.h"

static struct dictionary *built(const char *text, int32_t limit)
{
    struct dictionary *d;
    struct err e = {0};
    if (dictionary_build(&d, text, strlen(text), "here", limit, NULL, &e) < 0)
        fail_msg("%s", e.text);
    return d;
}

static void assert_dict_text(const struct dictionary *d, const char *expected)
{
    struct arena arena;
    arena_init(&arena);
    assert_string_equal(dictionary_text(d, &arena, NULL), expected);
    arena_fini(&arena);
}

TEST(the_dictionary_of_the_fixture_is_that_of_the_authors)
{
    struct data_fixture fixture;
    struct dictionary *d, *loaded;
    struct arena arena;
    size_t text_n, expected_n, found_n;
    int64_t counts_n;
    data_fixture_open(&fixture, "tests/fixtures/oracle/vocab.safetensors");
    char *text = data_fixture_bytes(&fixture, "train.text_utf8", &text_n);
    char *expected = data_fixture_bytes(&fixture, "dict_txt_utf8", &expected_n);
    const int32_t *counts = data_fixture_ids(&fixture, "counts", &counts_n);
    assert_int_equal(dictionary_build(&d, text, text_n, "fixture", 0, NULL, &e), 0);
    assert_int_equal(dictionary_size(d), counts_n);
    for (int32_t i = 0; i < counts_n; i++) assert_int_equal(dictionary_count(d, i), counts[i]);
    arena_init(&arena);
    const char *found = dictionary_text(d, &arena, &found_n);
    assert_int_equal(found_n, expected_n);
    assert_memory_equal(found, expected, expected_n);
    assert_int_equal(dictionary_parse(&loaded, expected, expected_n, "dict.txt", &e), 0);
    assert_int_equal(dictionary_size(loaded), counts_n);
    for (int32_t i = 0; i < counts_n; i++) {
        assert_string_equal(dictionary_word(loaded, i), dictionary_word(d, i));
        assert_int_equal(dictionary_count(loaded, i), counts[i]);
    }
    arena_fini(&arena);
    dictionary_close(d);
    dictionary_close(loaded);
    free(text);
    free(expected);
    data_fixture_close(&fixture);
}

TEST(equal_counts_are_ordered_by_code_point)
{
    /* U+10400 comes after U+FF5E, though its first UTF-16 unit would come before. */
    struct dictionary *d = built("z \xf0\x90\x90\x80 \xef\xbd\x9e \xc3\xa9 Z ab a b b", 0);
    static const char *const order[] = {
        "b", "Z", "a", "ab", "z", "\xc3\xa9", "\xef\xbd\x9e", "\xf0\x90\x90\x80"};
    assert_int_equal(dictionary_size(d), 16);
    for (int i = 0; i < 8; i++) {
        assert_string_equal(dictionary_word(d, 4 + i), order[i]);
        assert_int_equal(dictionary_find(d, order[i], strlen(order[i])), 4 + i);
    }
    assert_string_equal(dictionary_word(d, 12), "madeupword0000");
    assert_int_equal(dictionary_find(d, "never", 5), DICTIONARY_UNKNOWN);
    dictionary_close(d);
}

TEST(special_spellings_in_the_text_are_the_specials)
{
    struct dictionary *d = built("<unk> <s> </s> <pad> w x y z <unk>", 0);
    assert_int_equal(dictionary_size(d), 8);
    assert_int_equal(dictionary_find(d, "<unk>", 5), 3);
    assert_int_equal(dictionary_find(d, "</s>", 4), 2);
    assert_dict_text(d, "w 1\nx 1\ny 1\nz 1\n");
    dictionary_close(d);
}

TEST(a_filler_that_is_a_word_of_the_text_is_left_out)
{
    struct dictionary *d = built("madeupword0001", 0);
    assert_dict_text(d, "madeupword0001 1\nmadeupword0000 0\nmadeupword0002 0\nmadeupword0003 0\n");
    dictionary_close(d);
}

TEST(a_limit_keeps_the_most_frequent_and_fills_to_eight)
{
    struct dictionary *d = built("a a a b b c c d e f g h", 8);
    assert_dict_text(d, "a 3\nb 2\nc 2\nd 1\n");
    assert_int_equal(dictionary_find(d, "e", 1), DICTIONARY_UNKNOWN);
    dictionary_close(d);
    d = built("a a a b b c c d e f g h", 9);
    assert_dict_text(d, "a 3\nb 2\nc 2\nd 1\ne 1\nmadeupword0000 0\nmadeupword0001 0\n"
                        "madeupword0002 0\nmadeupword0003 0\nmadeupword0004 0\n"
                        "madeupword0005 0\nmadeupword0006 0\n");
    dictionary_close(d);
    assert_int_equal(dictionary_build(&d, "a", 1, "here", 7, NULL, &e), ERR_USAGE);
    assert_non_null(strstr(e.text, "limit of 7"));
}

TEST(many_words_grow_the_table)
{
    enum { N = 20000 };
    char *text = calloc(N, 8);
    size_t at = 0;
    for (int i = 0; i < N; i++) at += (size_t)snprintf(text + at, 8, "w%05d ", i);
    struct dictionary *d;
    assert_int_equal(dictionary_build(&d, text, at, "here", 0, NULL, &e), 0);
    assert_int_equal(dictionary_size(d), 20008);
    for (int i = 0; i < N; i++) assert_int_equal(dictionary_find(d, text + 7 * i, 6), 4 + i);
    dictionary_close(d);
    free(text);
}

TEST(a_damaged_dict_txt_names_its_line)
{
    static const struct {
        const char *text, *says;
    } cases[] = {{"a 2\nb\n", "d:2: 'b' is not"},        {"a 2\nb x\n", "d:2: 'b x' is not"},
                 {"a 2\n\nb 1\n", "d:2: '' is not"},     {"a 2\na 1\n", "d:2: 'a' is there twice"},
                 {"<unk> 2\n", "d:1: '<unk>' is there"}, {"a -1\n", "d:1: 'a -1' is not"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dictionary *d;
        e = (struct err){0};
        assert_int_equal(dictionary_parse(&d, cases[i].text, strlen(cases[i].text), "d", &e),
                         ERR_DATA);
        if (!strstr(e.text, cases[i].says)) fail_msg("'%s' lacks '%s'", e.text, cases[i].says);
        assert_null(d);
    }
}

TEST(a_saved_dictionary_loads_as_it_was)
{
    struct data_folder folder;
    struct dictionary *d = built("one two two three three three", 0), *loaded;
    data_folder_make(&folder);
    const char *path = data_folder_path(&folder, "dict.txt");
    assert_int_equal(dictionary_save(d, path, &e), 0);
    assert_int_equal(dictionary_load(&loaded, path, &e), 0);
    assert_dict_text(loaded, "three 3\ntwo 2\none 1\nmadeupword0000 0\n");
    dictionary_close(loaded);
    dictionary_close(d);
    assert_int_equal(dictionary_load(&d, data_folder_path(&folder, "none"), &e), ERR_NOINPUT);
    assert_null(d);
    data_folder_remove(&folder);
}
