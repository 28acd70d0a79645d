/* test_corpus.c - opening and verifying a corpus: every kind of damage is named. */
#include <stdio.h>
#include <string.h>

#include "data/data_support.h"
#include "prepare/prepare.h"

/* Prepares the corpus tiny in the folder, replacing an existing one. */
static void make_corpus(struct test_place *f)
{
    data_write_texts(f, "text", "b a a\na c\n", "a c zz\n", "b\n");
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
