/* test_corpus.c - opening and verifying a corpus: every kind of damage is named. */
#include <stdio.h>
#include <string.h>

#include "data/data_support.h"
#include "prepare/prepare.h"

/* Prepares the corpus tiny in the folder, replacing an existing one. */
static void make_corpus(struct test_place *f)
{
    data_write_texts(f, "text", "b a a\na c\n", "a c\nzz\n", "b\n");
    struct prepare_options o = {
        .name = "tiny", .text_dir = test_place_path(f, "text"), .force = true};
    assert_ok(prepare_corpus(&f->project, &o, &e));
}

static void assert_open_says(struct test_place *f, int code, const char *words)
{
    struct corpus c;
    assert_fails(code, words, corpus_open(&c, &f->project, "tiny", &e));
}

/* Replaces the first occurrence of a text in the manifest. */
static void edit_manifest(struct test_place *f, const char *from, const char *to)
{
    char *text = test_place_read(f, "data/tiny/manifest.yaml", NULL), *at = strstr(text, from);
    assert_non_null(at);
    const char *edited =
        arena_printf(&f->arena, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    test_place_write(f, "data/tiny/manifest.yaml", edited, strlen(edited));
}

TEST_EACH(test_place_make, test_place_remove)

TEST_WITH(struct test_place *f, an_absent_corpus_names_the_command_that_makes_it)
{
    assert_open_says(f, ERR_NOINPUT, "alibi data prepare tiny --text DIR");
}

TEST_WITH(struct test_place *f, damage_to_the_manifest_is_named)
{
    static const struct {
        const char *from, *to, *says;
    } cases[] = {
        {"vocab: 8", "vocab: x", "vocab is 'x', expected a count"},
        {"vocab: 8\n", "", "key vocab is missing"},
        {"format: 1", "format: 2", "format is '2', expected 1;"},
        {"name: \"tiny\"", "name: \"other\"", "describes another corpus, other"},
        {"fingerprint: \"", "fingerprint: \"z", "expected 64 hex digits"},
        {"train_tokens: 7", "train_tokens: 8", "train.tokens: 7 tokens"},
        {"vocab: 8", "vocab: 16", "the manifest states 7 and 16"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_corpus(f);
        edit_manifest(f, cases[i].from, cases[i].to);
        assert_open_says(f, ERR_DATA, cases[i].says);
    }
}

TEST_WITH(struct test_place *f, hashes_that_do_not_make_the_fingerprint_are_rejected)
{
    make_corpus(f);
    edit_manifest(f, "sha256_test: \"",
                  "sha256_test: \"0123456789abcdef0123456789abcdef"
                  "0123456789abcdef0123456789abcdef\"\nrest: \"");
    assert_open_says(f, ERR_DATA, "does not match the hashes");
}

TEST_WITH(struct test_place *f, a_file_that_changed_is_found_by_verification)
{
    static const char *const files[] = {"dict.txt", "train.tokens", "valid.tokens", "test.tokens"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        make_corpus(f);
        assert_ok(corpus_verify(&f->project, "tiny", &(struct manifest){0}, &e));
        const char *name = arena_printf(&f->arena, "data/tiny/%s", files[i]);
        size_t n;
        char *bytes = test_place_read(f, name, &n);
        bytes[n - 2] ^= 1;
        test_place_write(f, name, bytes, n);
        assert_fails(ERR_DATA, files[i],
                     corpus_verify(&f->project, "tiny", &(struct manifest){0}, &e));
    }
}

TEST_WITH(struct test_place *f, a_missing_or_short_token_file_does_not_open)
{
    make_corpus(f);
    test_place_write(f, "data/tiny/test.tokens", "ALIBITOK", 8);
    assert_open_says(f, ERR_DATA, "test.tokens: 8 bytes, too short");
    assert_int_equal(remove(test_place_path(f, "data/tiny/test.tokens")), 0);
    assert_open_says(f, ERR_NOINPUT, "test.tokens");
}

/* valid has the tokens a c </s> <unk> </s>, test b </s>. */
static void write_classes(struct test_place *f)
{
    test_place_write(f, "text/groups.txt", "word\nend\n", 9);
    test_place_write(f, "text/valid.groups", "\0\0\1\0\1", 5);
    test_place_write(f, "text/test.groups", "\0\1", 2);
}

TEST_WITH(struct test_place *f, classes_are_beside_the_tokens_and_part_of_the_identity)
{
    char without[HASH_HEX_BYTES];
    struct corpus c;

    make_corpus(f);
    assert_ok(corpus_open(&c, &f->project, "tiny", &e));
    assert_int_equal(c.classes.n, 0);
    assert_null(c.class_of[CORPUS_VALID].data);
    memcpy(without, c.fingerprint, sizeof without);
    corpus_close(&c);
    write_classes(f);
    make_corpus(f);
    assert_ok(corpus_verify(&f->project, "tiny", &(struct manifest){0}, &e));
    assert_ok(corpus_open(&c, &f->project, "tiny", &e));
    assert_int_equal(c.classes.n, 2);
    assert_string_equal(c.classes.name[1], "end");
    assert_memory_equal(c.class_of[CORPUS_VALID].data, "\0\0\1\0\1", 5);
    assert_memory_equal(c.class_of[CORPUS_TEST].data, "\0\1", 2);
    assert_null(c.class_of[CORPUS_TRAIN].data);
    assert_string_not_equal(c.fingerprint, without);
    char with[HASH_HEX_BYTES], other[HASH_HEX_BYTES];
    memcpy(with, c.fingerprint, sizeof with);
    corpus_close(&c);
    for (int i = 0; i < 2; i++) { /* another byte, another name */
        if (i == 0) test_place_write(f, "text/test.groups", "\1\1", 2);
        if (i == 1) test_place_write(f, "text/groups.txt", "word\nstop\n", 10);
        make_corpus(f);
        assert_ok(corpus_open(&c, &f->project, "tiny", &e));
        assert_string_not_equal(c.fingerprint, with);
        memcpy(other, c.fingerprint, sizeof other);
        corpus_close(&c);
        write_classes(f);
    }
    assert_string_not_equal(other, with);
}

TEST_WITH(struct test_place *f, damage_to_classes_is_named)
{
    static const struct {
        const char *file, *bytes;
        size_t n;
        int code;
        const char *words;
    } cases[] = {
        {"test.groups", "\0", 1, ERR_DATA,
         "test.groups: 1 bytes for 2 tokens; prepare the corpus again"},
        {"valid.groups", "\0\0\1\0\1\0", 6, ERR_DATA, "valid.groups: 6 bytes for 5 tokens"},
        {"valid.groups", "\0\0\1\2\1", 5, ERR_DATA,
         "valid.groups: token 3 is in group 2, but there are 2; prepare the corpus again"},
        {"test.groups", NULL, 0, ERR_NOINPUT, "test.groups not found; prepare the corpus again"},
    };
    write_classes(f);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path = arena_printf(&f->arena, "data/tiny/%s", cases[i].file);
        make_corpus(f);
        if (cases[i].bytes)
            test_place_write(f, path, cases[i].bytes, cases[i].n);
        else
            assert_int_equal(remove(test_place_path(f, path)), 0);
        assert_open_says(f, cases[i].code, cases[i].words);
    }
    make_corpus(f);
    test_place_write(f, "data/tiny/test.groups", "\1\0", 2);
    assert_fails(ERR_DATA, "test.groups",
                 corpus_verify(&f->project, "tiny", &(struct manifest){0}, &e));
    make_corpus(f);
    edit_manifest(f, "sha256_test_groups", "sha256_groups");
    assert_open_says(f, ERR_DATA, "key sha256_test_groups is missing");
    make_corpus(f);
    edit_manifest(f, "word end", "word stop"); /* the fingerprint covers the names */
    assert_open_says(f, ERR_DATA, "does not match the hashes");
}

TEST_WITH(struct test_place *f, classes_that_do_not_fit_the_text_are_refused)
{
    static const struct {
        const char *file, *bytes;
        size_t n;
        int code;
        const char *words;
    } cases[] = {
        {"test.groups", NULL, 0, ERR_NOINPUT, "test.groups not found; target groups need"},
        {"groups.txt", NULL, 0, ERR_NOINPUT, "groups.txt not found; target groups need"},
        {"test.groups", "\0\1\0", 3, ERR_DATA,
         "test.groups: 3 bytes for 2 tokens; write a byte for each token, line ends included"},
        {"test.groups", "\0\7", 2, ERR_DATA, "test.groups: token 1 is in group 7"},
        {"test.groups", "", 0, ERR_DATA, "test.groups: 0 bytes for 2 tokens"},
        {"groups.txt", "\n", 1, ERR_DATA, "groups.txt: no names of groups"},
        {"groups.txt", "a\n../b\n", 7, ERR_DATA, "groups.txt: group 1 is '../b'"},
        {"groups.txt", "a\na\n", 4, ERR_DATA, "groups 0 and 1 are both 'a'; rename one"},
        {"groups.txt", "a\n0123456789012345678901234567890123\n", 37, ERR_DATA,
         "group 1 is '0123456789012345678901234567890123', expected at most 31"},
    };
    data_write_texts(f, "text", "b a a\na c\n", "a c\nzz\n", "b\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path = arena_printf(&f->arena, "text/%s", cases[i].file);
        const struct prepare_options o = {.name = "other", .text_dir = test_place_path(f, "text")};
        write_classes(f);
        if (cases[i].bytes)
            test_place_write(f, path, cases[i].bytes, cases[i].n);
        else
            assert_int_equal(remove(test_place_path(f, path)), 0);
        assert_fails(cases[i].code, cases[i].words, prepare_corpus(&f->project, &o, &e));
        assert_false(file_exists(test_place_path(f, "data/other")));
    }
    char many[3 * 65 + 1];
    for (int i = 0; i < 65; i++) snprintf(many + 3 * i, 4, "%02d\n", i);
    write_classes(f);
    test_place_write(f, "text/groups.txt", many, 3 * 65);
    const struct prepare_options o = {.name = "other", .text_dir = test_place_path(f, "text")};
    assert_fails(ERR_DATA, "more than 64 groups", prepare_corpus(&f->project, &o, &e));
}

TEST_WITH(struct test_place *f, a_manifest_comes_back_with_every_character)
{
    struct manifest m = {.name = "n",
                         .source = "/tmp/\"odd\" \\ path\n\t\xc3\xa9 #: x",
                         .options = "",
                         .vocab = 8,
                         .tokens_n = {1, 2, 3},
                         .floor_perplexity = {0, 14.25, 15.5}},
                    found;
    hash_sha256_hex(m.dictionary_sha256, "d", 1);
    for (int i = 0; i < CORPUS_SPLITS_N; i++) hash_sha256_hex(m.tokens_sha256[i], "t", 1);
    manifest_fingerprint(m.fingerprint, &m);
    const char *path = test_place_path(f, "manifest.yaml");
    assert_ok(manifest_write(&m, path, &e));
    assert_ok(manifest_read(&found, &f->arena, path, &e));
    assert_string_equal(found.source, m.source);
    assert_string_equal(found.options, "");
    assert_memory_equal(found.tokens_n, m.tokens_n, sizeof m.tokens_n);
    assert_true(found.floor_perplexity[CORPUS_VALID] == 14.25);
    assert_true(found.floor_perplexity[CORPUS_TEST] == 15.5);
}

TEST(known_corpora_have_known_numbers)
{
    const struct manifest known = {.vocab = 267744, .tokens_n = {103227021, 217646, 245569}};
    struct manifest m = known;

    m.name = "wikitext103";
    assert_ok(manifest_check_known(&m, &known, &e));
    m.vocab = 267736;
    assert_fails(ERR_DATA, "267744", manifest_check_known(&m, &known, &e));
    m.tokens_n[CORPUS_VALID]--;
    assert_fails(ERR_DATA, "valid has 217645", manifest_check_known(&m, &known, &e));
    assert_ok(manifest_check_known(&m, &(struct manifest){0}, &e));
}

/* --- a corpus that a tokenizer made --- */

static const int32_t ids[] = {3, 4, 5, 6, 7, 3, 4};
static const int64_t document[] = {0, 4, 5};

TEST_WITH(struct test_place *f, a_corpus_of_a_tokenizer_has_prefix_documents_and_counts)
{
    struct corpus c;

    data_write_tokenized(f, "tiny", ids, 7, 9, document, 3);
    assert_ok(corpus_verify(&f->project, "tiny", &(struct manifest){0}, &e));
    assert_ok(corpus_open(&c, &f->project, "tiny", &e));
    assert_string_equal(c.tokenizer, "small");
    assert_string_equal(c.tokenizer_sha256, DATA_HASH);
    assert_int_equal(c.split[CORPUS_TRAIN].n, 0);
    assert_int_equal(c.split[CORPUS_TEST].documents_n, 3);
    assert_int_equal(c.split[CORPUS_TEST].prefix, 0);
    assert_int_equal(c.split[CORPUS_TEST].pad, -1);
    assert_int_equal(c.text[CORPUS_TEST].bytes, 35);
    assert_int_equal(c.text[CORPUS_TEST].words, 14);
    assert_int_equal(c.text[CORPUS_TEST].documents, 3);
    corpus_close(&c);
    make_corpus(f); /* one of words has none of this */
    assert_ok(corpus_open(&c, &f->project, "tiny", &e));
    assert_string_equal(c.tokenizer_sha256, "");
    assert_int_equal(c.split[CORPUS_TEST].prefix, TOKEN_LINE_END);
    assert_int_equal(c.split[CORPUS_TEST].pad, TOKEN_PAD);
    assert_null(c.split[CORPUS_TEST].document);
    corpus_close(&c);
}

TEST_WITH(struct test_place *f, damage_to_a_corpus_of_a_tokenizer_is_named)
{
    static const struct {
        const char *from, *to, *says;
    } cases[] = {
        {"tokenizer: \"small\"\n", "", "train_tokens is '0', expected a count"},
        {"sha256_tokenizer: ", "sha256_dict: ", "key sha256_tokenizer is missing"},
        {"prefix: 0", "prefix: 9", "prefix is 9, but vocab is 9"},
        {"prefix: 0", "prefix: 1", "does not match the hashes"},
        {"test_bytes: 35", "test_bytes: 36", "does not match the hashes"},
        {"test_words: 14", "test_words: -1", "test_words is '-1'"},
        {"test_documents: 3", "test_documents: 2", "24 bytes for 2 documents"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        data_write_tokenized(f, "tiny", ids, 7, 9, document, 3);
        edit_manifest(f, cases[i].from, cases[i].to);
        assert_open_says(f, ERR_DATA, cases[i].says);
    }
    data_write_tokenized(f, "tiny", ids, 7, 9, document, 3);
    test_place_write(f, "data/tiny/test.documents", (int64_t[]){0, 3, 5}, sizeof document);
    assert_fails(ERR_DATA, "test.documents",
                 corpus_verify(&f->project, "tiny", &(struct manifest){0}, &e));
}
