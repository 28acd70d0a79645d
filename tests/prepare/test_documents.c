/* test_documents.c - corpora that a tokenizer cuts: texts become documents as they are. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "data/data_support.h"
#include "prepare/prepare.h"

/* Words of letters a, b and spaces; every other character is unk_token. */
#define TOKENIZER(more)                                                                            \
    "{\"model\": {\"type\": \"BPE\", \"unk_token\": \"?\", \"vocab\": {\"<s>\": 0, \"a\": 1, "     \
    "\"b\": 2, \" \": 3, \"?\": 4, \"ab\": 5, \"\\n\": 6" more "}, \"merges\": [\"a b\"]}, "       \
    "\"added_tokens\": [{\"id\": 0, \"content\": \"<s>\", \"special\": true}]}"

static void write_text(struct test_place *f, const char *name, const char *text)
{
    test_place_write(f, name, text, strlen(text));
}

static void write_tokenizer(struct test_place *f, const char *folder, const char *json,
                            const char *config)
{
    write_text(f, arena_printf(&f->arena, "%s/tokenizer.json", folder), json);
    write_text(f, arena_printf(&f->arena, "%s/tokenizer_config.json", folder), config);
}

/* Two tokenizers: small, whose prefix is 0, and bare, which has none. */
static int make(void **state)
{
    int rc = test_place_make(state);
    write_tokenizer(*state, "small", TOKENIZER(""), "{\"bos_token\": \"<s>\"}");
    write_tokenizer(*state, "bare", TOKENIZER(", \"c\": 7"), "{}");
    return rc;
}

/* Prepares data/cut from up to three texts. */
static int prepare_texts(struct test_place *f, const char *tokenizer, int64_t prefix,
                         const char *const text[3], bool force, struct err *e)
{
    const char *path[3];
    struct prepare_options o = {.name = "cut",
                                .tokenizer = test_place_path(f, tokenizer),
                                .text = path,
                                .prefix = prefix,
                                .force = force};

    for (; o.text_n < 3 && text[o.text_n]; o.text_n++)
        path[o.text_n] = test_place_path(f, text[o.text_n]);
    return prepare_corpus(&f->project, &o, e);
}

static void check_split(struct test_place *f, enum corpus_split split, const char *ids,
                        const struct corpus_text *text, int64_t prefix)
{
    struct corpus c;
    struct strbuf found;

    assert_ok(corpus_verify(&f->project, "cut", &(struct manifest){0}, &e));
    assert_ok(corpus_open(&c, &f->project, "cut", &e));
    const struct tokens *t = &c.split[split];
    strbuf_init(&found, &f->arena);
    for (int64_t i = 0, first, end; i < t->n; i++) {
        int32_t id;
        tokens_read(t, i, 1, &id);
        tokens_document(t, i, &first, &end);
        strbuf_addf(&found, "%s%d", first == i ? "|" : "", id);
    }
    assert_string_equal(found.n ? found.text : "", ids);
    assert_int_equal(c.text[split].bytes, text->bytes);
    assert_int_equal(c.text[split].words, text->words);
    assert_int_equal(c.text[split].documents, text->documents);
    assert_int_equal(t->prefix, prefix);
    assert_int_equal(t->pad, -1);
    corpus_close(&c);
}

TEST_EACH(make, test_place_remove)

/* The text is not cut at lines; a special token in it is its id; white space alone is a text. */
TEST_WITH(struct test_place *f, texts_become_documents_as_they_are)
{
    write_text(f, "1.txt", "ab a\n\nb");
    write_text(f, "2.txt", " <s>ba ");
    write_text(f, "3.txt", " \n ");
    assert_ok(prepare_texts(f, "small", DOCUMENTS_OWN_PREFIX,
                            (const char *[3]){"1.txt", "2.txt", "3.txt"}, false, &e));
    check_split(f, CORPUS_TEST, "|531662|30213|363", &(struct corpus_text){17, 8, 3}, 0);
    check_split(f, CORPUS_TRAIN, "", &(struct corpus_text){0, 0, 0}, 0);
    const char *piece = test_place_read(f, "data/cut.yaml", NULL);
    assert_non_null(strstr(piece, "corpus: \"cut\"\n  train_tokens: 0\n  valid_tokens: 0\n"
                                  "  test_tokens: 14\n  fingerprint: "));
}

TEST_WITH(struct test_place *f, a_folder_has_a_document_for_each_split_and_absent_ones_are_empty)
{
    write_text(f, "text/valid.txt", "aab");
    write_text(f, "text/train.txt", "b\n");
    assert_ok(prepare_texts(f, "bare", 4, (const char *[3]){"text"}, false, &e));
    check_split(f, CORPUS_TRAIN, "|26", &(struct corpus_text){2, 2, 1}, 4);
    check_split(f, CORPUS_VALID, "|15", &(struct corpus_text){3, 1, 1}, 4);
    check_split(f, CORPUS_TEST, "", &(struct corpus_text){0, 0, 0}, 4);
}

/* lm-eval's count: len(re.split(r"\s+", text)). */
TEST(words_are_the_pieces_between_runs_of_white_space)
{
    static const struct {
        const char *text;
        size_t n;
        int64_t words;
    } cases[] = {{"", 0, 1},
                 {" ", 1, 2},
                 {"a", 1, 1},
                 {" a", 2, 2},
                 {"a \t\r\n b", 7, 2},
                 {"a\x1c"
                  "b\x1f"
                  "c",
                  5, 3},
                 {"a\xc2\x85"
                  "b",
                  4, 2},
                 {"a\xe3\x80\x80\xe2\x80\x89z ", 9, 3},
                 {"a\xe2\x80\x8b"
                  "b",
                  5, 1},
                 {"a\0b", 3, 1}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(documents_words(cases[i].text, cases[i].n), cases[i].words);
}

TEST_WITH(struct test_place *f, what_cannot_be_cut_is_refused_and_leaves_nothing)
{
    static const struct {
        const char *tokenizer;
        int64_t prefix;
        const char *text[3];
        int code;
        const char *says;
    } cases[] = {
        {"small",
         -1,
         {"good.txt", "latin.txt"},
         ERR_DATA,
         "latin.txt: byte 0xe9 (byte 2 of the text) is not UTF-8"},
        {"small", -1, {"good.txt", "empty.txt"}, ERR_DATA, "empty.txt: no token"},
        {"small", -1, {"good.txt", "absent.txt"}, ERR_NOINPUT, "absent.txt"},
        {"small", -1, {"good.txt", "text"}, ERR_NOINPUT, "text is not a regular file"},
        {"small", -1, {"text"}, ERR_NOINPUT, "none of the files train.txt"},
        {"small", 7, {"good.txt"}, ERR_USAGE, "--prefix 7: the ids of"},
        {"bare", -1, {"good.txt"}, ERR_USAGE, "neither bos_token nor eos_token; pass --prefix"},
        {"absent", -1, {"good.txt"}, ERR_NOINPUT, "--tokenizer"},
        {"text", -1, {"good.txt"}, ERR_NOINPUT, "tokenizer.json"},
    };

    write_text(f, "good.txt", "ab");
    write_text(f, "latin.txt", "a\xe9 b");
    write_text(f, "empty.txt", "");
    write_text(f, "text/other.txt", "ab");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_fails(
            cases[i].code, cases[i].says,
            prepare_texts(f, cases[i].tokenizer, cases[i].prefix, cases[i].text, false, &e));
        assert_false(file_exists(test_place_path(f, "data/cut")));
        assert_false(file_exists(test_place_path(f, "data/cut.yaml")));
        assert_false(file_exists(test_place_path(f, "data/.cut.tmp")));
    }
}

TEST_WITH(struct test_place *f, a_corpus_of_another_tokenizer_prefix_or_text_is_not_replaced)
{
    const char *const text[3] = {"1.txt", "2.txt"}, *const turned[3] = {"2.txt", "1.txt"};

    write_text(f, "1.txt", "ab");
    write_text(f, "2.txt", "b");
    assert_ok(prepare_texts(f, "bare", 1, text, false, &e));
    assert_ok(prepare_texts(f, "bare", 1, text, false, &e));
    assert_fails(ERR_CREATE, "--force", prepare_texts(f, "bare", 2, text, false, &e));
    assert_fails(ERR_CREATE, "--force", prepare_texts(f, "small", 1, text, false, &e));
    assert_fails(ERR_CREATE, "--force", prepare_texts(f, "bare", 1, turned, false, &e));
    check_split(f, CORPUS_TEST, "|5|2", &(struct corpus_text){3, 2, 2}, 1);
    /* The next preparation deletes the files that a killed one left. */
    write_text(f, "data/.cut.tmp/test.documents", "half");
    assert_ok(prepare_texts(f, "small", 1, turned, true, &e));
    assert_false(file_exists(test_place_path(f, "data/.cut.tmp")));
    check_split(f, CORPUS_TEST, "|2|5", &(struct corpus_text){3, 2, 2}, 1);
}

TEST_WITH(struct test_place *f, options_of_words_are_refused_with_a_tokenizer)
{
    const char *text = test_place_path(f, "1.txt");
    const struct prepare_options good = {
        .name = "cut", .tokenizer = test_place_path(f, "small"), .text = &text, .text_n = 1};
    struct prepare_options o = good;

    write_text(f, "1.txt", "ab");
    o.vocab_limit = 16;
    assert_fails(ERR_USAGE, "--tokenizer cannot be combined", prepare_corpus(&f->project, &o, &e));
    o = good;
    o.encode.kind = ENCODE_BPE;
    assert_fails(ERR_USAGE, "--tokenizer cannot be combined", prepare_corpus(&f->project, &o, &e));
    o = good;
    o.name = "synthetic-cc100";
    assert_fails(ERR_USAGE, "embedded corpus", prepare_corpus(&f->project, &o, &e));
    o = good;
    o.known.vocab = 33280;
    assert_fails(ERR_USAGE, "public corpus of words", prepare_corpus(&f->project, &o, &e));
}
