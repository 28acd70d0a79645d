/* test_dictionary.c - the rules of the dictionary, and token files from text; tests/model compares
 * both with the authors' program. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/data_support.h"
#include "prepare/dictionary.h"

static struct dictionary built(struct test_place *f, const char *text, int32_t limit)
{
    struct dictionary d;
    assert_ok(dictionary_build(&d, &f->arena, data_text(text, strlen(text)), limit, &e));
    return d;
}

static void assert_dict_text(struct test_place *f, const struct dictionary *d, const char *expected)
{
    assert_string_equal(dictionary_text(d, &f->arena, NULL), expected);
}

TEST_EACH(test_place_make, test_place_remove)

TEST_WITH(struct test_place *f, equal_counts_are_ordered_by_code_point)
{
    /* U+10400 comes after U+FF5E, though its first UTF-16 unit would come before. */
    struct dictionary d = built(f, "z \xf0\x90\x90\x80 \xef\xbd\x9e \xc3\xa9 Z ab a b b", 0);
    static const char *const order[] = {
        "b", "Z", "a", "ab", "z", "\xc3\xa9", "\xef\xbd\x9e", "\xf0\x90\x90\x80"};
    assert_int_equal(d.entries.n, 16);
    for (int i = 0; i < 8; i++) {
        assert_string_equal(d.entries.item[4 + i].word, order[i]);
        assert_int_equal(dictionary_find(&d, order[i], strlen(order[i])), 4 + i);
    }
    assert_string_equal(d.entries.item[12].word, "madeupword0000");
    assert_int_equal(dictionary_find(&d, "never", 5), TOKEN_UNKNOWN);
}

TEST_WITH(struct test_place *f, special_spellings_in_the_text_are_the_specials)
{
    struct dictionary d = built(f, "<unk> <s> </s> <pad> w x y z <unk>", 0);
    assert_int_equal(d.entries.n, 8);
    assert_int_equal(dictionary_find(&d, "<unk>", 5), 3);
    assert_int_equal(dictionary_find(&d, "</s>", 4), 2);
    assert_dict_text(f, &d, "w 1\nx 1\ny 1\nz 1\n");
}

TEST_WITH(struct test_place *f, a_filler_that_is_a_word_of_the_text_is_left_out)
{
    struct dictionary d = built(f, "madeupword0001", 0);
    assert_dict_text(f, &d,
                     "madeupword0001 1\nmadeupword0000 0\nmadeupword0002 0\nmadeupword0003 0\n");
}

TEST_WITH(struct test_place *f, a_limit_keeps_the_most_frequent_and_fills_to_eight)
{
    struct dictionary d = built(f, "a a a b b c c d e f g h", 8);
    assert_dict_text(f, &d, "a 3\nb 2\nc 2\nd 1\n");
    assert_int_equal(dictionary_find(&d, "e", 1), TOKEN_UNKNOWN);
    d = built(f, "a a a b b c c d e f g h", 9);
    assert_dict_text(f, &d,
                     "a 3\nb 2\nc 2\nd 1\ne 1\nmadeupword0000 0\nmadeupword0001 0\n"
                     "madeupword0002 0\nmadeupword0003 0\nmadeupword0004 0\n"
                     "madeupword0005 0\nmadeupword0006 0\n");
    assert_fails(ERR_USAGE, "limit 7", dictionary_build(&d, &f->arena, data_text("a", 1), 7, &e));
}

TEST_WITH(struct test_place *f, many_words_grow_the_table)
{
    enum { N = 20000 };
    struct strbuf text;
    strbuf_init(&text, &f->arena);
    for (int i = 0; i < N; i++) strbuf_addf(&text, "w%05d ", i);
    struct dictionary d = built(f, text.text, 0);
    assert_int_equal(d.entries.n, 20008);
    for (int i = 0; i < N; i++) assert_int_equal(dictionary_find(&d, text.text + 7 * i, 6), 4 + i);
}

TEST_WITH(struct test_place *f, a_damaged_dict_txt_names_its_line)
{
    static const struct {
        const char *text, *says;
    } cases[] = {{"a 2\nb\n", "dict.txt:2: expected a word, a space and its count, found 'b'"},
                 {"a 2\nb x\n", "dict.txt:2: expected a word, a space and its count, found 'b x'"},
                 {"a 2\n\nb 1\n", "dict.txt:2: expected a word, a space and its count, found ''"},
                 {"a 2\na 1\n", "dict.txt:2: 'a' occurs twice"},
                 {"<unk> 2\n", "dict.txt:1: '<unk>' occurs"},
                 {"a -1\n", "dict.txt:1: expected a word, a space and its count, found 'a -1'"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dictionary d;
        test_place_write(f, "dict.txt", cases[i].text, strlen(cases[i].text));
        assert_fails(ERR_DATA, cases[i].says,
                     dictionary_load(&d, &f->arena, test_place_path(f, "dict.txt"), &e));
    }
}

TEST_WITH(struct test_place *f, a_saved_dictionary_loads_as_it_was)
{
    struct dictionary d = built(f, "one two two three three three", 0), loaded;
    size_t n;
    const char *text = dictionary_text(&d, &f->arena, &n);
    test_place_write(f, "dict.txt", text, n);
    assert_ok(dictionary_load(&loaded, &f->arena, test_place_path(f, "dict.txt"), &e));
    assert_dict_text(f, &loaded, "three 3\ntwo 2\none 1\nmadeupword0000 0\n");
    assert_int_equal(dictionary_load(&d, &f->arena, test_place_path(f, "none"), &e), ERR_NOINPUT);
}

TEST_WITH(struct test_place *f, words_not_in_the_dictionary_are_counted)
{
    struct dictionary d;
    struct binarise_counts counts;
    const char *path = test_place_path(f, "x.tokens");
    assert_ok(dictionary_build(&d, &f->arena, data_text("a b", 3), 0, &e));
    assert_ok(binarise_to_file(&counts, path, &d, DATA_HASH, data_text("a c\nb <unk>", 11), &e));
    assert_int_equal(counts.ids_n, 6);
    assert_int_equal(counts.unknown_n, 2);
    assert_fails(ERR_DATA, "here: the file is empty",
                 binarise_to_file(&counts, path, &d, DATA_HASH, data_text("", 0), &e));
}

TEST_WITH(struct test_place *f, texts_longer_than_the_buffer_come_through_whole)
{
    enum { N = 100000 };
    static char text[4 * N + 1];
    struct dictionary d;
    struct binarise_counts counts;
    struct tokens tokens;
    for (int i = 0; i < N; i++) memcpy(text + 4 * i, i % 3 == 0 ? "aaa\n" : "bbb ", 4);
    const char *path = test_place_path(f, "x.tokens");
    assert_ok(dictionary_build(&d, &f->arena, data_text(text, 4 * N), 0, &e));
    assert_ok(binarise_to_file(&counts, path, &d, DATA_HASH, data_text(text, 4 * N), &e));
    assert_int_equal(counts.ids_n, N + (N - 1) / 3 + 1); /* N = 3k + 1: the last word ends a line */
    assert_ok(tokens_open(&tokens, path, &e));
    for (int64_t i = 0; i < tokens.n; i++) {
        static const int32_t cycle[] = {5, 2, 4, 4};
        int32_t id;
        tokens_read(&tokens, i, 1, &id);
        assert_int_equal(id, cycle[i % 4]);
    }
    tokens_close(&tokens);
}

TEST_WITH(struct test_place *f, a_fault_in_the_text_leaves_no_token_file)
{
    struct binarise_counts counts;
    struct dictionary d = built(f, "a", 0);
    const char *path = test_place_path(f, "x.tokens");
    assert_fails(ERR_DATA, "here:2: byte 0xff (byte 3 of the line) is not UTF-8",
                 binarise_to_file(&counts, path, &d, DATA_HASH, data_text("a\na \xff", 5), &e));
    assert_false(file_exists(path));
}
