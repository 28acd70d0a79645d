/* test_prepare.c - from text to a corpus folder: complete or absent, made once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "data/data_support.h"
#include "prepare/prepare.h"

static int prepare(struct test_place *f, const char *name, const char *text, int32_t limit,
                   bool force, struct err *e)
{
    struct prepare_options o = {.name = name,
                                .text_dir = text ? test_place_path(f, text) : NULL,
                                .vocab_limit = limit,
                                .force = force};
    return prepare_corpus(&f->project, &o, e);
}

/* Prepares data/NAME. */
static void prepared(struct test_place *f, const char *name, const char *text, bool force)
{
    assert_ok(prepare(f, name, text, 0, force, &e));
}

static void refused(struct test_place *f, const char *name, const char *text, bool force, int code,
                    const char *words)
{
    assert_fails(code, words, prepare(f, name, text, 0, force, &e));
}

static struct corpus opened(struct test_place *f, const char *name)
{
    struct corpus c;
    assert_ok(corpus_open(&c, &f->project, name, &e));
    return c;
}

static bool has(struct test_place *f, const char *name)
{
    return file_exists(test_place_path(f, name));
}

static ino_t inode_of(struct test_place *f, const char *name)
{
    struct stat st;
    assert_int_equal(stat(test_place_path(f, name), &st), 0);
    return st.st_ino;
}

TEST_EACH(test_place_make, test_place_remove)

TEST_WITH(struct test_place *f, a_text_folder_becomes_a_corpus_and_a_piece_for_grids)
{
    int32_t ids[6];
    char expected[512];
    data_write_texts(f, "text", "b a a\na c\n", "a c zz\n", "\r\nb");
    prepared(f, "tiny", "text", false);
    struct corpus c = opened(f, "tiny");
    assert_int_equal(c.vocab, 8);
    assert_true(c.floor_perplexity == 0);
    assert_int_equal(c.split[CORPUS_TRAIN].n, 7);
    assert_int_equal(c.split[CORPUS_VALID].n, 4);
    assert_int_equal(c.split[CORPUS_TEST].n, 3);
    tokens_read(&c.split[CORPUS_VALID], 0, 4, ids);
    assert_memory_equal(ids, ((const int32_t[]){4, 6, 3, 2}), 16);
    tokens_read(&c.split[CORPUS_TEST], 0, 3, ids);
    assert_memory_equal(ids, ((const int32_t[]){2, 5, 2}), 12);
    assert_ok(corpus_verify(&f->project, "tiny", &(struct manifest){0}, &e));
    assert_string_equal(test_place_read(f, "data/tiny/dict.txt", NULL),
                        "a 3\nb 1\nc 1\nmadeupword0000 0\n");
    const char *piece = test_place_read(f, "data/tiny.yaml", NULL);
    snprintf(expected, sizeof expected,
             "data:\n  dataset: \"tiny\"\n  corpus: \"tiny\"\n  vocab: 8\n  train_tokens: 7\n"
             "  valid_tokens: 4\n  test_tokens: 3\n  fingerprint: \"%s\"\n",
             c.fingerprint);
    assert_non_null(strstr(piece, expected));
    corpus_close(&c);
}

TEST_WITH(struct test_place *f, an_existing_corpus_is_left_alone)
{
    data_write_texts(f, "text", "a\n", "a\n", "a\n");
    prepared(f, "tiny", "text", false);
    ino_t inode = inode_of(f, "data/tiny/manifest.yaml");
    assert_int_equal(remove(test_place_path(f, "data/tiny.yaml")), 0);
    prepared(f, "tiny", "text", false);
    prepared(f, "tiny", NULL, false);
    assert_int_equal(inode_of(f, "data/tiny/manifest.yaml"), inode);
    assert_true(has(f, "data/tiny.yaml"));
    prepared(f, "tiny", "text", true);
    assert_ok(corpus_verify(&f->project, "tiny", &(struct manifest){0}, &e));
    assert_false(has(f, "data/.tiny.old"));
    assert_false(has(f, "data/.tiny.tmp"));
}

TEST_WITH(struct test_place *f, another_text_or_limit_asks_for_force_or_another_name)
{
    data_write_texts(f, "text", "a\n", "a\n", "a\n");
    data_write_texts(f, "other", "a\n", "a\n", "b\n");
    data_write_texts(f, "moved", "a\n", "a\n", "a\n");
    prepared(f, "tiny", "text", false);
    prepared(f, "tiny", "moved", false);
    refused(f, "tiny", "other", false, ERR_CREATE, "--force");
    assert_fails(ERR_CREATE, "vocab_limit=8", prepare(f, "tiny", "text", 8, false, &e));
    prepared(f, "tiny", "other", true);
    struct corpus c = opened(f, "tiny");
    int32_t id;
    tokens_read(&c.split[CORPUS_TEST], 0, 1, &id);
    assert_int_equal(id, TOKEN_UNKNOWN);
    corpus_close(&c);
}

TEST_WITH(struct test_place *f, missing_files_are_named)
{
    data_write_texts(f, "text", NULL, "a\n", NULL);
    refused(f, "tiny", "text", false, ERR_NOINPUT, "contains no train.txt, test.txt;");
    refused(f, "tiny", "nowhere", false, ERR_NOINPUT, "nowhere not found");
    refused(f, "tiny", NULL, false, ERR_NOINPUT, "`alibi data list`");
    refused(f, "../tiny", "text", false, ERR_USAGE, "");
    refused(f, "synthetic-cc100", "text", false, ERR_USAGE, "embedded");
}

TEST_WITH(struct test_place *f, a_text_that_cannot_be_used_leaves_nothing_behind)
{
    data_write_texts(f, "text", "fine\n", "fine\nbad \xff here\n", "fine\n");
    refused(f, "tiny", "text", false, ERR_DATA, "text/valid.txt:2: byte 0xff");
    data_write_texts(f, "text", "fine\n", "", "fine\n");
    refused(f, "tiny", "text", false, ERR_DATA, "valid.txt: the file is empty");
    assert_false(has(f, "data/tiny"));
    assert_false(has(f, "data/.tiny.tmp"));
    assert_false(has(f, "data/tiny.yaml"));
}

TEST_WITH(struct test_place *f, the_rest_of_an_interrupted_preparation_is_cleared)
{
    data_write_texts(f, "text", "a\n", "a\n", "a\n");
    test_place_write(f, "data/.tiny.tmp/half.tokens", "x", 1);
    test_place_write(f, "data/.tiny.old/dict.txt", "x", 1);
    prepared(f, "tiny", "text", false);
    assert_false(has(f, "data/tiny/half.tokens"));
    assert_false(has(f, "data/.tiny.old"));
}

TEST_WITH(struct test_place *f, a_folder_that_is_not_a_corpus_is_never_replaced)
{
    data_write_texts(f, "data/mine", "a\n", "a\n", "a\n");
    refused(f, "mine", "data/mine", true, ERR_CREATE, "not a prepared corpus");
    assert_true(has(f, "data/mine/train.txt"));
}

TEST_WITH(struct test_place *f, two_preparations_of_one_corpus_exclude_each_other)
{
    int lock;
    data_write_texts(f, "text", "a\n", "a\n", "a\n");
    test_place_write(f, "data/.tiny.lock", "", 0);
    assert_ok(file_lock(&lock, test_place_path(f, "data/.tiny.lock"), "the other", &e));
    refused(f, "tiny", "text", false, ERR_TRYLATER, "the other");
    file_unlock(lock);
    prepared(f, "tiny", "text", false);
}

TEST_WITH(struct test_place *f, a_limit_that_makes_words_unknown_takes_the_floor_away)
{
    assert_ok(prepare(f, "synthetic-bookcorpus", NULL, 64, false, &e));
    struct corpus c = opened(f, "synthetic-bookcorpus");
    assert_int_equal(c.vocab, 64);
    assert_true(c.floor_perplexity == 0);
    corpus_close(&c);
}

TEST_WITH(struct test_place *f, damage_is_an_error_in_a_text_corpus_and_repaired_in_an_embedded_one)
{
    data_write_texts(f, "text", "a\n", "a\n", "a\n");
    prepared(f, "tiny", "text", false);
    test_place_write(f, "data/tiny/test.tokens", "x", 1);
    refused(f, "tiny", "text", false, ERR_DATA, "test.tokens: 1 bytes");
    refused(f, "tiny", NULL, false, ERR_DATA, "test.tokens: 1 bytes");
    prepared(f, "synthetic-cc100", NULL, false);
    test_place_write(f, "data/synthetic-cc100/test.tokens", "x", 1);
    prepared(f, "synthetic-cc100", NULL, false);
    assert_ok(corpus_verify(&f->project, "synthetic-cc100", &(struct manifest){0}, &e));
}

struct reports {
    int calls, ends;
};

static void report(void *context, const char *what, double share)
{
    struct reports *r = context;
    assert_true(*what && share > 0 && share <= 1);
    r->calls++;
    r->ends += share == 1;
}

TEST_WITH(struct test_place *f, long_passes_report_their_progress)
{
    struct reports reports = {0};
    struct prepare_options o = {
        .name = "synthetic-wikitext103", .progress = report, .progress_context = &reports};
    assert_ok(prepare_corpus(&f->project, &o, &e));
    assert_int_equal(reports.ends, 2); /* counting the words and writing the ids of train.txt */
    assert_in_range(reports.calls, 4, 20);
}

TEST_WITH(struct test_place *f, wikitext2_has_the_published_token_counts)
{
    const char *text = getenv("ALIBI_TEST_WIKITEXT2");
    if (!text) {
        print_message("set ALIBI_TEST_WIKITEXT2 to a folder with train.txt, valid.txt and test.txt "
                      "of WikiText-2 to run this case\n");
        skip();
    }
    struct prepare_options o = {.name = "wikitext2", .text_dir = text};
    assert_ok(prepare_corpus(&f->project, &o, &e));
    struct corpus c = opened(f, "wikitext2");
    assert_int_equal(c.vocab, 33280);
    assert_int_equal(c.split[CORPUS_TRAIN].n, 2088628);
    assert_int_equal(c.split[CORPUS_VALID].n, 217646);
    assert_int_equal(c.split[CORPUS_TEST].n, 245569);
    corpus_close(&c);
}
