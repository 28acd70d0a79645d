/* test_dictionary.c - the rules of the dictionary; tests/model compares it with the authors'
 * program. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/data_support.h"
#include "prepare/dictionary.h"

static struct dictionary *built(const char *text, int32_t limit)
{
    struct dictionary *d;
    assert_ok(dictionary_build(&d, data_text(text, strlen(text)), limit, &e));
    return d;
}

static void assert_dict_text(const struct dictionary *d, const char *expected)
{
    struct arena arena;
    arena_init(&arena);
    assert_string_equal(dictionary_text(d, &arena, NULL), expected);
    arena_fini(&arena);
}

TEST_EACH(data_setup, data_teardown)

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
    assert_int_equal(dictionary_find(d, "never", 5), TOKEN_UNKNOWN);
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
    assert_int_equal(dictionary_find(d, "e", 1), TOKEN_UNKNOWN);
    dictionary_close(d);
    d = built("a a a b b c c d e f g h", 9);
    assert_dict_text(d, "a 3\nb 2\nc 2\nd 1\ne 1\nmadeupword0000 0\nmadeupword0001 0\n"
                        "madeupword0002 0\nmadeupword0003 0\nmadeupword0004 0\n"
                        "madeupword0005 0\nmadeupword0006 0\n");
    dictionary_close(d);
    assert_fails(ERR_USAGE, "limit 7", dictionary_build(&d, data_text("a", 1), 7, &e));
}

TEST(many_words_grow_the_table)
{
    enum { N = 20000 };
    char *text = calloc(N, 8);
    size_t at = 0;
    for (int i = 0; i < N; i++) at += (size_t)snprintf(text + at, 8, "w%05d ", i);
    struct dictionary *d;
    assert_ok(dictionary_build(&d, data_text(text, at), 0, &e));
    assert_int_equal(dictionary_size(d), 20008);
    for (int i = 0; i < N; i++) assert_int_equal(dictionary_find(d, text + 7 * i, 6), 4 + i);
    dictionary_close(d);
    free(text);
}

TEST(a_damaged_dict_txt_names_its_line)
{
    static const struct {
        const char *text, *says;
    } cases[] = {{"a 2\nb\n", "here:2: expected a word, a space and its count, found 'b'"},
                 {"a 2\nb x\n", "here:2: expected a word, a space and its count, found 'b x'"},
                 {"a 2\n\nb 1\n", "here:2: expected a word, a space and its count, found ''"},
                 {"a 2\na 1\n", "here:2: 'a' occurs twice"},
                 {"<unk> 2\n", "here:1: '<unk>' occurs"},
                 {"a -1\n", "here:1: expected a word, a space and its count, found 'a -1'"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dictionary *d;
        assert_fails(ERR_DATA, cases[i].says,
                     dictionary_parse(&d, data_text(cases[i].text, strlen(cases[i].text)), &e));
        assert_null(d);
    }
}

TEST_WITH(struct data_folder *f, a_saved_dictionary_loads_as_it_was)
{
    struct dictionary *d = built("one two two three three three", 0), *loaded;
    const char *path = data_folder_path(f, "dict.txt");
    assert_ok(dictionary_save(d, path, &e));
    assert_ok(dictionary_load(&loaded, path, &e));
    assert_dict_text(loaded, "three 3\ntwo 2\none 1\nmadeupword0000 0\n");
    dictionary_close(loaded);
    dictionary_close(d);
    assert_int_equal(dictionary_load(&d, data_folder_path(f, "none"), &e), ERR_NOINPUT);
    assert_null(d);
}
