/* test_encode.c - subwords against examples worked by hand. Both encoders were also compared with
 * the tokenizers library of Hugging Face on WikiText-2 and on 3,000 lines of mixed scripts. */
#include "harness/test.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "prepare/encode.h"
#include "prepare/expected.h"
#include "prepare/unicode.h"

struct folder {
    char dir[128], vocab[160], merges[160], from[160], to[160];
    struct arena arena;
};

/* The example of the paper's own code, and some more. */
static const char pieces[] = "[UNK]\n[CLS]\n[SEP]\nwant\n##want\n##ed\nwa\nun\nrunn\n##ing\n,\n.\n"
                             "##u\n\xE4\xB8\xAD\ncafe\n##\n#\n";

/* Symbols 0 to 255 are the bytes in the order of their characters, 256 on what is merged. */
static void put_bpe(struct folder *f)
{
    static const char merges[] = "#version: 0.2\nl o\nlo w\n\xC4\xA0 low\ne r\n";
    struct strbuf text;
    struct err e = {0};
    int others = 0;

    strbuf_init(&text, &f->arena);
    strbuf_add(&text, "{");
    for (int b = 0; b < 256; b++) {
        bool printable = (b > 32 && b < 127) || (b > 160 && b != 173);
        int c = printable ? b : 256 + others++;
        strbuf_addf(&text, "\"\\u%04x\": %d, ", c, b);
    }
    strbuf_add(&text, "\"lo\": 256, \"low\":257,\n\"\\u0120low\": 258, \"er\": 259}\n");
    assert_int_equal(file_write_atomic(f->vocab, text.text, text.n, &e), 0);
    assert_int_equal(file_write_atomic(f->merges, merges, strlen(merges), &e), 0);
}

static int make_folder(void **state)
{
    struct folder *f = calloc(1, sizeof *f);
    const char *base = getenv("TMPDIR");

    assert_non_null(f);
    snprintf(f->dir, sizeof f->dir, "%s/alibi-encode-XXXXXX", base && *base ? base : "/tmp");
    assert_non_null(mkdtemp(f->dir));
    snprintf(f->vocab, sizeof f->vocab, "%s/vocab", f->dir);
    snprintf(f->merges, sizeof f->merges, "%s/merges", f->dir);
    snprintf(f->from, sizeof f->from, "%s/from", f->dir);
    snprintf(f->to, sizeof f->to, "%s/to", f->dir);
    arena_init(&f->arena);
    *state = f;
    return 0;
}

static int remove_folder(void **state)
{
    struct folder *f = *state;

    arena_fini(&f->arena);
    unlink(f->vocab);
    unlink(f->merges);
    unlink(f->from);
    unlink(f->to);
    rmdir(f->dir);
    free(f);
    return 0;
}

static int encode(struct folder *f, const struct encode_options *o, const void *text, size_t n,
                  struct err *e)
{
    struct encoder *c = NULL;

    assert_int_equal(file_write_atomic(f->from, text, n, e), 0);
    TRY(encoder_open(&c, o, e));
    int rc = encoder_file(c, f->from, f->to, NULL, e);
    encoder_close(c);
    return rc;
}

static void must_give(struct folder *f, const struct encode_options *o, const void *text, size_t n,
                      const char *expected)
{
    struct err e = {0};
    char *found;

    if (encode(f, o, text, n, &e) < 0) fail_msg("%s", e.text);
    assert_int_equal(file_read(&f->arena, &found, NULL, f->to, 1 << 20, &e), 0);
    assert_string_equal(found, expected);
}

static void wordpiece_gives(struct folder *f, const char *text, const char *expected)
{
    const struct encode_options o = {.kind = ENCODE_WORDPIECE, .vocab = f->vocab};
    must_give(f, &o, text, strlen(text), expected);
}

TEST_EACH(make_folder, remove_folder)

TEST_WITH(struct folder *f, words_become_their_longest_pieces)
{
    assert_int_equal(file_write_atomic(f->vocab, pieces, strlen(pieces), &e), 0);
    wordpiece_gives(f,
                    "UNwant\xC3\xA9"
                    "d,running\n",
                    "un ##want ##ed , runn ##ing\n");
    wordpiece_gives(f, " want  want.\n\nwanted", "want want .\n\nwant ##ed\n");
    wordpiece_gives(f, "unwantedX running\n", "<unk> runn ##ing\n");
    wordpiece_gives(f, "[UNK] wa\n", "<unk> <unk> <unk> wa\n");
    /* e and a combining accent; a Chinese character stands alone; control characters vanish. */
    wordpiece_gives(f, "cafe\xCC\x81 want\xE4\xB8\xADwant wa\x01nt\r\n",
                    "cafe want \xE4\xB8\xAD want want\n");
}

TEST_WITH(struct folder *f, cased_pieces_keep_case_and_accents)
{
    const struct encode_options o = {.kind = ENCODE_WORDPIECE, .vocab = f->vocab, .cased = true};
    static const char vocab[] = "[UNK]\nWant\nwant\n##\xC3\xA9\n";
    assert_int_equal(file_write_atomic(f->vocab, vocab, sizeof vocab - 1, &e), 0);
    must_give(f, &o, "Want want WANT want\xC3\xA9\n", 22, "Want want <unk> want ##\xC3\xA9\n");
}

TEST_WITH(struct folder *f, a_word_of_more_than_100_characters_is_unknown)
{
    char text[128] = "un";
    assert_int_equal(file_write_atomic(f->vocab, pieces, strlen(pieces), &e), 0);
    memset(text + 2, 'u', 99);
    text[101] = '\0';
    wordpiece_gives(f, text, "<unk>\n");
}

TEST_WITH(struct folder *f, bytes_are_joined_by_rank)
{
    const struct encode_options o = {.kind = ENCODE_BPE, .vocab = f->vocab, .merges = f->merges};
    static const char text[] = "low lower  slow\n\n  lo \xC3\xA9 12ab it's\t x\n";

    put_bpe(f);
    /* Words: low| lower| | slow and lo| <e acute>| 12|ab| it|'s|<tab>| x; numbers are bytes. */
    must_give(f, &o, text, sizeof text - 1,
              "257 258 259 32 32 115 257\n\n256 32 195 169 32 49 50 97 98 32 105 116 39 115 9 32 "
              "120\n");
}

TEST_WITH(struct folder *f, ids_become_words_and_lines)
{
    static const unsigned char two[] = {7, 0, 0, 1, 255, 255, 7, 0, 2, 0};
    static const unsigned char four[] = {1, 0, 1, 0, 2, 0, 0, 0};
    struct encode_options o = {.kind = ENCODE_IDS, .id_bytes = 2, .id_end = -1};

    must_give(f, &o, two, sizeof two, "7 256 65535 7 2\n");
    o.id_end = 65535;
    must_give(f, &o, two, sizeof two, "7 256\n7 2\n");
    o.id_bytes = 4;
    must_give(f, &o, four, sizeof four, "65537 2\n");
    assert_int_equal(encode(f, &o, two, sizeof two, &e), ERR_DATA);
    assert_non_null(strstr(e.text, "whole number of ids"));
    o.id_bytes = 3;
    assert_int_equal(encode(f, &o, two, sizeof two, &e), ERR_USAGE);
}

TEST_WITH(struct folder *f, what_is_not_utf8_names_its_line)
{
    struct encode_options o = {.kind = ENCODE_WORDPIECE, .vocab = f->vocab};

    assert_int_equal(file_write_atomic(f->vocab, pieces, strlen(pieces), &e), 0);
    assert_int_equal(encode(f, &o, "want\nwa\xFFnt\n", 11, &e), ERR_DATA);
    assert_non_null(strstr(e.text, "from:2"));
    put_bpe(f);
    o = (struct encode_options){.kind = ENCODE_BPE, .vocab = f->vocab, .merges = f->merges};
    assert_int_equal(encode(f, &o, "low\n\xC3\n", 6, &e), ERR_DATA);
    assert_non_null(strstr(e.text, "from:2"));
    assert_non_null(strstr(e.text, "0xc3"));
}

TEST_WITH(void *fixture_of_case, vocabularies_that_are_none_are_refused)
{
    void **state = &fixture_of_case;
    static const struct {
        const char *vocab, *word;
    } cases[] = {
        {"", "expected {"},
        {"[1]", "expected {"},
        {"{\"a\" 1}", "expected {"},
        {"{\"a\": x}", "without a number"},
        {"{\"a\": 1, \"a\": 2}", "twice"},
        {"{\"a\": 999999999}", "number"},
        {"{\"\\ud800x\": 1}", "half a character"},
        {"{\"\\q\": 1}", "escape"},
        {"{\"abc", "does not end"},
        {"{\"a\": 1}", "no symbol for the byte 0x00"},
    };
    struct folder *f = *state;
    struct encode_options o = {.kind = ENCODE_BPE, .vocab = f->vocab, .merges = f->merges};

    assert_int_equal(encode(f, &o, "x", 1, &e), ERR_NOINPUT);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(file_write_atomic(f->vocab, cases[i].vocab, strlen(cases[i].vocab), &e),
                         0);
        assert_int_equal(encode(f, &o, "x", 1, &e), ERR_DATA);
        if (!strstr(e.text, cases[i].word)) fail_msg("%s: %s", cases[i].vocab, e.text);
    }
    put_bpe(f);
    assert_int_equal(file_write_atomic(f->merges, "l o\nzz q\n", 9, &e), 0);
    assert_int_equal(encode(f, &o, "x", 1, &e), ERR_DATA);
    assert_non_null(strstr(e.text, "merges:2"));
    o.kind = ENCODE_WORDPIECE;
    assert_int_equal(file_write_atomic(f->vocab, "want\n##ed\n", 10, &e), 0);
    assert_int_equal(encode(f, &o, "x", 1, &e), ERR_DATA);
    assert_non_null(strstr(e.text, "[UNK]"));
}

TEST_EACH(NULL, NULL)

TEST(characters_have_their_classes)
{
    assert_true(unicode_is_letter('z') && unicode_is_letter(0xE9) && unicode_is_letter(0x4E2D));
    assert_false(unicode_is_letter('0') || unicode_is_letter(0xD7) || unicode_is_letter(0x10FFFF));
    assert_true(unicode_is_number('7') && unicode_is_number(0xB2) && unicode_is_number(0x661));
    assert_true(unicode_is_punctuation('$') && unicode_is_punctuation(0x2014));
    assert_false(unicode_is_punctuation('a') || unicode_is_punctuation(0xE9));
    assert_true(unicode_is_mark(0x301));
    assert_int_equal(unicode_simple(0xC9), 'e');    /* E acute */
    assert_int_equal(unicode_simple(0x416), 0x436); /* Cyrillic zhe */
    assert_int_equal(unicode_simple(0xF8), 0xF8);   /* o with stroke is a letter of its own */
}

TEST(known_corpora_have_known_numbers)
{
    int64_t n[CORPUS_SPLITS_N] = {103227021, 217646, 245569};

    assert_int_equal(expected_check("wikitext103", 267744, n, &e), 0);
    assert_int_equal(expected_check("wikitext103", 267736, n, &e), ERR_DATA);
    assert_non_null(strstr(e.text, "267744"));
    n[CORPUS_VALID]--;
    assert_int_equal(expected_check("wikitext103", 267744, n, &e), ERR_DATA);
    assert_non_null(strstr(e.text, "valid has 217645"));
    assert_int_equal(expected_check("mytext", 5, n, &e), 0);
}
