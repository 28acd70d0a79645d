/* test_corpus.c - opening and verifying a corpus: every kind of damage is named. */
#include "harness/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/data_support.h"
#include "data/manifest.h"
#include "prepare/prepare.h"

/* A folder with the corpus tiny in it. */
static void make_corpus(struct data_folder *f)
{
    struct err e = {0};
    data_folder_make(f);
    data_folder_text(f, "text", "b a a\na c\n", "a c zz\n", "b\n");
    struct prepare_options o = {.name = "tiny", .text_dir = data_folder_path(f, "text")};
    if (prepare_corpus(&f->project, &o, &e) < 0) fail_msg("%s", e.text);
}

static void assert_open_says(const struct data_folder *f, const char *name, int code,
                             const char *words)
{
    struct corpus c;
    struct err e = {0};
    assert_int_equal(corpus_open(&c, &f->project, name, &e), code);
    if (!strstr(e.text, words)) fail_msg("'%s' lacks '%s'", e.text, words);
}

/* Replaces the first occurrence of a text in the manifest. */
static void edit_manifest(const struct data_folder *f, const char *from, const char *to)
{
    char *text = data_folder_read(f, "data/tiny/manifest.yaml");
    char *at = strstr(text, from);
    char edited[4096];
    assert_non_null(at);
    int n =
        snprintf(edited, sizeof edited, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    data_folder_write(f, "data/tiny/manifest.yaml", edited, (size_t)n);
    free(text);
}

TEST(an_absent_corpus_names_the_command_that_makes_it)
{
    struct data_folder f;
    data_folder_make(&f);
    assert_open_says(&f, "tiny", ERR_NOINPUT, "alibi data prepare tiny --text DIR");
    data_folder_remove(&f);
}

TEST(damage_to_the_manifest_is_named)
{
    static const struct {
        const char *from, *to, *says;
    } cases[] = {
        {"vocab: 8", "vocab: x", "vocab is 'x', expected a count"},
        {"vocab: 8\n", "", "lacks the key vocab"},
        {"format: 1", "format: 2", "format 2, this program reads 1"},
        {"name: \"tiny\"", "name: \"other\"", "describes the corpus other"},
        {"fingerprint: \"", "fingerprint: \"z", "expected 64 hex digits"},
        {"train_tokens: 7", "train_tokens: 8", "train.tokens: 7 tokens"},
        {"vocab: 8", "vocab: 16", "the manifest says 7 and 16"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct data_folder f;
        make_corpus(&f);
        edit_manifest(&f, cases[i].from, cases[i].to);
        assert_open_says(&f, "tiny", ERR_DATA, cases[i].says);
        data_folder_remove(&f);
    }
}

TEST(hashes_that_do_not_make_the_fingerprint_are_refused)
{
    struct data_folder f;
    make_corpus(&f);
    edit_manifest(&f, "sha256_test: \"",
                  "sha256_test: \"0123456789abcdef0123456789abcdef"
                  "0123456789abcdef0123456789abcdef\"\nrest: \"");
    assert_open_says(&f, "tiny", ERR_DATA, "is not that of the hashes");
    data_folder_remove(&f);
}

TEST(a_file_that_changed_is_found_by_verification)
{
    static const char *const files[] = {"dict.txt", "train.tokens", "valid.tokens", "test.tokens"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct data_folder f;
        make_corpus(&f);
        char name[64];
        e = (struct err){0};
        assert_int_equal(corpus_verify(&f.project, "tiny", &e), 0);
        snprintf(name, sizeof name, "data/tiny/%s", files[i]);
        struct file_map map;
        assert_int_equal(file_map_open(&map, data_folder_path(&f, name), &e), 0);
        char bytes[256];
        size_t n = map.n;
        memcpy(bytes, map.data, n);
        file_map_close(&map);
        bytes[n - 2] ^= 1;
        data_folder_write(&f, name, bytes, n);
        assert_int_equal(corpus_verify(&f.project, "tiny", &e), ERR_DATA);
        if (!strstr(e.text, files[i])) fail_msg("'%s' does not name %s", e.text, files[i]);
        data_folder_remove(&f);
    }
}

TEST(a_missing_or_short_token_file_does_not_open)
{
    struct data_folder f;
    make_corpus(&f);
    data_folder_write(&f, "data/tiny/test.tokens", "ALIBITOK", 8);
    assert_open_says(&f, "tiny", ERR_DATA, "test.tokens: 8 bytes, too short");
    assert_int_equal(remove(data_folder_path(&f, "data/tiny/test.tokens")), 0);
    assert_open_says(&f, "tiny", ERR_NOINPUT, "test.tokens");
    data_folder_remove(&f);
}

TEST(a_manifest_comes_back_with_every_character)
{
    struct data_folder f;
    struct arena arena;
    struct manifest m = {.name = "n",
                         .source = "/tmp/\"odd\" \\ path\n\t\xc3\xa9 #: x",
                         .options = "",
                         .vocab = 8,
                         .tokens_n = {1, 2, 3},
                         .floor_perplexity = {0, 14.25, 15.5}},
                    found;
    data_folder_make(&f);
    arena_init(&arena);
    hash_sha256_hex(m.dictionary_sha256, "d", 1);
    for (int i = 0; i < CORPUS_SPLITS_N; i++) hash_sha256_hex(m.tokens_sha256[i], "t", 1);
    manifest_fingerprint(m.fingerprint, &m);
    assert_int_equal(manifest_write(&m, f.path, &e), 0);
    if (manifest_read(&found, &arena, f.path, &e) < 0) fail_msg("%s", e.text);
    assert_string_equal(found.source, m.source);
    assert_string_equal(found.options, "");
    assert_memory_equal(found.tokens_n, m.tokens_n, sizeof m.tokens_n);
    assert_true(found.floor_perplexity[CORPUS_VALID] == 14.25);
    assert_true(found.floor_perplexity[CORPUS_TEST] == 15.5);
    arena_fini(&arena);
    data_folder_remove(&f);
}
