/* test_encode.c - subwords against examples computed by hand. Both encoders also matched the
 * tokenizers library of Hugging Face on WikiText-2 and on 3,000 lines of mixed scripts. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/str.h"
#include "data/data_support.h"
#include "prepare/encode.h"
#include "prepare/subword.h"

/* The example of the paper's own code, and some more. */
static const char pieces[] = "[UNK]\n[CLS]\n[SEP]\nwant\n##want\n##ed\nwa\nun\nrunn\n##ing\n,\n.\n"
                             "##u\n\xE4\xB8\xAD\ncafe\n##\n#\n";

/* Symbols 0 to 255 are the bytes in the order of their characters, 256 on what is merged. */
static void put_bpe(struct test_place *f)
{
    static const char merges[] = "#version: 0.2\nl o\nlo w\n\xC4\xA0 low\ne r\n";
    struct strbuf text;
    int others = 0;

    strbuf_init(&text, &f->arena);
    strbuf_add(&text, "{");
    for (int b = 0; b < 256; b++) {
        bool printable = (b > 32 && b < 127) || (b > 160 && b != 173);
        int c = printable ? b : 256 + others++;
        strbuf_addf(&text, "\"\\u%04x\": %d, ", c, b);
    }
    strbuf_add(&text, "\"lo\": 256, \"low\":257,\n\"\\u0120low\": 258, \"er\": 259}\n");
    test_place_write(f, "vocab", text.text, text.n);
    test_place_write(f, "merges", merges, strlen(merges));
}

/* Options of the vocabulary in the folder. */
static struct encode_options options(struct test_place *f, enum encode_kind kind)
{
    return (struct encode_options){.kind = kind,
                                   .vocab = test_place_path(f, "vocab"),
                                   .merges = test_place_path(f, "merges"),
                                   .id_bytes = 2,
                                   .id_end = -1};
}

static int encode(struct test_place *f, const struct encode_options *o, const void *text, size_t n,
                  struct err *e)
{
    struct encoder *c;

    test_place_write(f, "from", text, n);
    TRY(encoder_open(&c, &f->arena, o, e));
    return encoder_file(c, test_place_path(f, "from"), test_place_path(f, "to"),
                        (struct text_progress){0}, e);
}

static void must_give(struct test_place *f, const struct encode_options *o, const void *text,
                      size_t n, const char *expected)
{

    assert_ok(encode(f, o, text, n, &e));
    assert_string_equal(test_place_read(f, "to", NULL), expected);
}

static void must_fail(struct test_place *f, const struct encode_options *o, const void *text,
                      size_t n, int code, const char *words)
{
    assert_fails(code, words, encode(f, o, text, n, &e));
}

static void wordpiece_gives(struct test_place *f, const char *text, const char *expected)
{
    const struct encode_options o = options(f, ENCODE_WORDPIECE);
    must_give(f, &o, text, strlen(text), expected);
}

TEST_EACH(test_place_make, test_place_remove)

TEST_WITH(struct test_place *f, words_become_their_longest_pieces)
{
    test_place_write(f, "vocab", pieces, strlen(pieces));
    wordpiece_gives(f,
                    "UNwant\xC3\xA9"
                    "d,running\n",
                    "un ##want ##ed , runn ##ing\n");
    wordpiece_gives(f, " want  want.\n\nwanted", "want want .\n\nwant ##ed\n");
    wordpiece_gives(f, "unwantedX running\n", "<unk> runn ##ing\n");
    wordpiece_gives(f, "[UNK] wa\n", "<unk> <unk> <unk> wa\n");
    /* e with a combining accent; a Chinese character is a word; control characters are dropped. */
    wordpiece_gives(f, "cafe\xCC\x81 want\xE4\xB8\xADwant wa\x01nt\r\n",
                    "cafe want \xE4\xB8\xAD want want\n");
}

TEST_WITH(struct test_place *f, cased_pieces_keep_case_and_accents)
{
    static const char vocab[] = "[UNK]\nWant\nwant\n##\xC3\xA9\n";
    struct encode_options o = options(f, ENCODE_WORDPIECE);
    o.cased = true;
    test_place_write(f, "vocab", vocab, sizeof vocab - 1);
    must_give(f, &o, "Want want WANT want\xC3\xA9\n", 22, "Want want <unk> want ##\xC3\xA9\n");
}

TEST_WITH(struct test_place *f, a_word_of_more_than_100_characters_is_unknown)
{
    char text[128] = "un";
    test_place_write(f, "vocab", pieces, strlen(pieces));
    memset(text + 2, 'u', 99);
    wordpiece_gives(f, text, "<unk>\n");
}

TEST_WITH(struct test_place *f, bytes_are_joined_by_priority)
{
    static const char text[] = "low lower  slow\n\n  lo \xC3\xA9 12ab it's\t x\n";
    const struct encode_options o = options(f, ENCODE_BPE);

    put_bpe(f);
    /* Words: low| lower| | slow and lo| <e acute>| 12|ab| it|'s|<tab>| x; numbers are bytes. */
    must_give(f, &o, text, sizeof text - 1,
              "257 258 259 32 32 115 257\n\n256 32 195 169 32 49 50 97 98 32 105 116 39 115 9 32 "
              "120\n");
}

TEST_WITH(struct test_place *f, ids_become_words_and_lines)
{
    static const unsigned char two[] = {7, 0, 0, 1, 255, 255, 7, 0, 2, 0};
    static const unsigned char four[] = {1, 0, 1, 0, 2, 0, 0, 0};
    struct encode_options o = options(f, ENCODE_IDS);

    must_give(f, &o, two, sizeof two, "7 256 65535 7 2\n");
    o.id_end = 65535;
    must_give(f, &o, two, sizeof two, "7 256\n7 2\n");
    o.id_bytes = 4;
    must_give(f, &o, four, sizeof four, "65537 2\n");
    must_fail(f, &o, two, sizeof two, ERR_DATA, "multiple of the id size");
    o.id_bytes = 3;
    must_fail(f, &o, two, sizeof two, ERR_USAGE, "3 bytes");
}

TEST_WITH(struct test_place *f, what_is_not_utf8_names_its_line)
{
    struct encode_options o = options(f, ENCODE_WORDPIECE);

    test_place_write(f, "vocab", pieces, strlen(pieces));
    must_fail(f, &o, "want\nwa\xFFnt\n", 11, ERR_DATA, "from:2: byte 0xff (byte 3 of the line)");
    put_bpe(f);
    o = options(f, ENCODE_BPE);
    must_fail(f, &o, "low\n\xC3\n", 6, ERR_DATA, "from:2: byte 0xc3");
}

TEST_WITH(struct test_place *f, files_that_are_not_vocabularies_are_rejected)
{
    static const struct {
        const char *vocab, *words;
    } cases[] = {
        {"", "vocab:1:0: "},
        {"[1]", "expected a JSON object"},
        {"{\"a\" 1}", "vocab:1:6: not JSON: ':' expected"},
        {"{\"a\": x}", "vocab:1:7: not JSON: invalid token"},
        {"{\"a\": \"x\"}", "the id of 'a' is not an integer"},
        {"{\"a\": 1, \"a\": 2}", "duplicate object key"},
        {"{\"a\": 1, \"b\": 1}", "the id of 'b' is 1, which another symbol has"},
        {"{\"a\": 999999999}", "vocab: the id of 'a' is 999999999, expected 0 to"},
        {"{\"\\ud800x\": 1}", "invalid Unicode"},
        {"{\"\\q\": 1}", "invalid escape"},
        {"{\"abc", "premature end"},
        {"{\"a\": 1}", "no symbol for byte 0x00"},
    };
    struct encode_options o = options(f, ENCODE_BPE);

    must_fail(f, &o, "x", 1, ERR_NOINPUT, "vocab");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        test_place_write(f, "vocab", cases[i].vocab, strlen(cases[i].vocab));
        must_fail(f, &o, "x", 1, ERR_DATA, cases[i].words);
    }
    put_bpe(f);
    test_place_write(f, "merges", "l o\nzz q\n", 9);
    must_fail(f, &o, "x", 1, ERR_DATA, "merges:2: 'zz' is not in the vocabulary");
    test_place_write(f, "merges", "l o\nlo\n", 7);
    must_fail(f, &o, "x", 1, ERR_DATA, "merges:2: 'lo': expected two symbols");
    o.kind = ENCODE_WORDPIECE;
    test_place_write(f, "vocab", "want\n##ed\n", 10);
    must_fail(f, &o, "x", 1, ERR_DATA, "[UNK]");
    test_place_write(f, "vocab", "want\n##ed\nwant\n", 15);
    must_fail(f, &o, "x", 1, ERR_DATA, "vocab:3: 'want' occurs twice");
}

TEST_WITH(struct test_place *f, characters_have_their_classes)
{
    static const struct {
        uint32_t character;
        enum unicode_class class;
    } cases[] = {
        {'z', UNICODE_LETTER},   {0xE9, UNICODE_LETTER},     {0x4E2D, UNICODE_LETTER},
        {'0', UNICODE_NUMBER},   {'7', UNICODE_NUMBER},      {0xB2, UNICODE_NUMBER},
        {0x661, UNICODE_NUMBER}, {'$', UNICODE_PUNCTUATION}, {0x2014, UNICODE_PUNCTUATION},
        {0x301, UNICODE_MARK},   {0xE01EF, UNICODE_MARK},    {0xD7, UNICODE_OTHER},
        {' ', UNICODE_OTHER},    {0xE0080, UNICODE_OTHER},
    };
    static const uint16_t simple[][2] = {
        {'Q', 'q'},    {0xC9, 'e'},     {0x416, 0x436}, {0xF8, 0xF8}, /* o with stroke */
        {0x1EA6, 'a'}, {0x1F82, 0x3B1}, {0x622, 0x627}, {0x13F5, 0x13FD}, {0x1FFE, 0x1FFE}};
    const struct unicode *u = unicode_make(&f->arena);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(u->class[cases[i].character], cases[i].class);
    assert_int_equal(u->class[0x10FFFF], 0);
    for (size_t i = 0; i < sizeof simple / sizeof *simple; i++)
        assert_int_equal(u->simple[simple[i][0]], simple[i][1]);
}
