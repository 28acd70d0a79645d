/* test_tokenizer.c - components with ids of Hugging Face's tokenizers 0.23.3, files that are
 * refused, and long words. tests/fixtures/open/tokenizer_* has tokenizers of whole families, which
 * build/tests/check_open compares. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "harness/test.h"
#include "tokenizer/merges.h"
#include "tokenizer/stages.h"
#include "tokenizer/tokenizer.h"

#define BYTES "{'type':'ByteLevel','add_prefix_space':false,'use_regex':true}"
#define SPACE_BYTES "{'type':'ByteLevel','add_prefix_space':true,'use_regex':true}"
#define PREPEND                                                                                    \
    "{'type':'Sequence','normalizers':[{'type':'Prepend','prepend':'▁'},"                        \
    "{'type':'Replace','pattern':{'String':' '},'content':'▁'}]}"
#define METASPACE(scheme)                                                                          \
    "{'type':'Metaspace','replacement':'▁','prepend_scheme':'" scheme "','split':false}"
#define TOKEN(id, text, normalized)                                                                \
    "{'id':" #id ",'content':'" text                                                               \
    "','single_word':false,'lstrip':false,'rstrip':false,'normalized':" #normalized "}"

/* A vocabulary of the 256 bytes, whose ids are their numbers, and one of few characters. */
static const char few[] =
    "'vocab':{'<unk>':0,'a':1,'b':2,'c':3,'▁':4,'ab':5,'▁a':6,'abc':7,'aa':8,'é':9,' ':10},"
    "'merges':[['a','b'],['▁','a'],['ab','c'],['a','a']]";

static const char *all_bytes(struct arena *a)
{
    struct strbuf text;
    int others = 0;

    strbuf_init(&text, a);
    strbuf_add(&text, "'vocab':{");
    for (int b = 0; b < 256; b++) {
        bool printable = (b > 32 && b < 127) || (b > 160 && b != 173);
        strbuf_addf(&text, "'\\u%04x':%d,", printable ? b : 256 + others++, b);
    }
    strbuf_add(&text, "'lo':256,'low':257,'\\u0120low':258,'er':259},"
                      "'merges':['l o','lo w','\\u0120 low','e r']");
    return text.text;
}

/* Writes a file with ' for each ". */
static void put_json(struct test_place *f, const char *name, const char *text)
{
    char *json = arena_strdup(&f->arena, text);

    for (char *p = json; *p; p++)
        if (*p == '\'') *p = '"';
    test_place_write(f, name, json, strlen(json));
}

/* The parts of a tokenizer.json; NULL: those of `few`. */
struct parts {
    const char *normalizer, *words, *model, *vocab, *added, *after;
};

static void put_parts(struct test_place *f, const struct parts *p)
{
    put_json(
        f, "tokenizer.json",
        arena_printf(&f->arena,
                     "{'added_tokens':[%s],'normalizer':%s,'pre_tokenizer':%s,'post_processor':%s,"
                     "'model':{'type':'BPE',%s%s}}",
                     p->added ? p->added : "", p->normalizer ? p->normalizer : "null",
                     p->words ? p->words : "null", p->after ? p->after : "null",
                     p->model ? p->model : "", p->vocab ? p->vocab : few));
}

static char *ids_text(struct test_place *f, const int32_t *ids, int64_t n)
{
    struct strbuf text;

    strbuf_init(&text, &f->arena);
    strbuf_add(&text, "");
    for (int64_t i = 0; i < n; i++) strbuf_addf(&text, "%s%d", i > 0 ? " " : "", ids[i]);
    return text.text;
}

static int encode_as(struct test_place *f, char **out, bool with_special, const char *text,
                     size_t n, struct err *e)
{
    struct tokenizer *t;
    int32_t *ids;
    int64_t ids_n;

    TRY(tokenizer_open(&t, f->path, 0, e));
    int rc = tokenizer_encode(t, text, n, with_special, &ids, &ids_n, NULL, NULL, e);
    *out = ids_text(f, ids, ids_n);
    free(ids);
    tokenizer_close(t);
    return rc;
}

TEST_EACH(test_place_make, test_place_remove)

TEST_WITH(struct test_place *f, components_give_the_ids_of_tokenizers)
{
    const char *bytes = all_bytes(&f->arena);
    const char *digits = "'vocab':{'1':0,'2':1,'a':2,'12':3},'merges':['1 2']";
    const struct {
        struct parts parts;
        const char *text, *ids;
    } rows[] = {
        {{.words = BYTES, .vocab = bytes}, "low lower  slow", "257 258 259 32 32 115 257"},
        {{.words = SPACE_BYTES, .vocab = bytes}, "low low", "258 258"},
        {{.words = "{'type':'Sequence','pretokenizers':[{'type':'Punctuation','behavior':"
                   "'Contiguous'}," SPACE_BYTES "]}",
          .vocab = bytes},
         "low.low",
         "258 32 46 258"},
        {{.normalizer = "{'type':'NFC'}"}, "e\u0301abe\u0301", "9 5 9"},
        {{.normalizer = PREPEND, .added = TOKEN(11, "<s>", false)}, "ab<s>c a", "4 5 11 4 3 6"},
        {{.normalizer = PREPEND, .added = TOKEN(11, "<s>", true)}, "c <s>a", "4 3 11 1"},
        {{.added = TOKEN(11, "bb", false) "," TOKEN(12, "bbc", false) "," TOKEN(2, "b", false)},
         "abbcbbb",
         "1 12 11 2"},
        {{.words = METASPACE("always"), .added = TOKEN(11, "<s>", false)},
         "ab<s>c a",
         "4 5 11 4 3 6"},
        {{.words = METASPACE("first"), .added = TOKEN(11, "<s>", false)}, "ab<s>c a", "4 5 11 3 6"},
        {{.words = METASPACE("first"), .added = TOKEN(11, "<s>", false)}, "<s>c a", "11 3 6"},
        {{.words = METASPACE("never")}, "ab c a", "5 4 3 6"},
        {{.model = "'unk_token':'<unk>',"}, "axyb\u20ac", "1 0 0 2 0"},
        {{.model = "'unk_token':'<unk>','fuse_unk':true,"}, "axyb\u20acz", "1 0 2 0"},
        {{.model = "'ignore_merges':true,", .vocab = "'vocab':{'a':0,'b':1,'ab':2},'merges':[]"},
         "ab",
         "2"},
        {{.vocab = "'vocab':{'a':0,'b':1,'ab':2},'merges':[]"}, "ab", "0 1"},
        /* Words are cut before U+2581 only if that changes no id. */
        {{.model = "'ignore_merges':true,",
          .vocab = "'vocab':{'▁':0,'a':1,'b':2,'ab':3},'merges':[]"},
         "ab▁a",
         "1 2 0 1"},
        {{.vocab = "'vocab':{'▁':0,'a':1,'a▁':2},'merges':['a ▁']"}, "a▁a", "2 1"},
        /* A byte without a symbol is dropped before its neighbours merge, or is unk_token. */
        {{.words = BYTES}, "axb", "5"},
        {{.words = BYTES}, "xyz", ""},
        {{.words = BYTES, .model = "'unk_token':'<unk>',"}, "axyb", "1 0 0 2"},
        {{.words = BYTES, .model = "'unk_token':'<unk>','fuse_unk':true,"}, "axyb", "1 0 2"},
        {{.words = "{'type':'Digits','individual_digits':true}", .vocab = digits},
         "1a12",
         "0 2 0 1"},
        {{.words = "{'type':'Digits'}", .vocab = digits}, "1a12", "0 2 3"},
        {{0}, "aaaaab", "8 8 5"}, /* of equal pairs the leftmost */
        {{0}, "", ""},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *ids = NULL;
        put_parts(f, &rows[i].parts);
        assert_ok(encode_as(f, &ids, false, rows[i].text, strlen(rows[i].text), &e));
        if (strcmp(ids, rows[i].ids) != 0) fail_msg("row %zu: %s, not %s", i, ids, rows[i].ids);
    }
    put_parts(f, &(struct parts){.words = BYTES, .vocab = bytes});
    char *ids = NULL;
    assert_ok(encode_as(f, &ids, false, "a\0b", 3, &e));
    assert_string_equal(ids, "97 0 98");
}

TEST_WITH(struct test_place *f, what_a_byte_level_vocabulary_loses_is_named_and_counted)
{
    /* Two words with 0x04, thrice; a digit of Unicode 16 (Garay); a noncharacter, which no version
     * has; U+40000, whose first byte 0xF1 has no symbol. */
    static const char text[] = "\4a\4 a\4 \xf0\x90\xb5\x80\xef\xbf\xbe\xf1\x80\x80\x80";
    struct tokenizer *t;
    int32_t *ids;
    int64_t n;

    assert_ok(tokenizer_open(&t, "tests/fixtures/open/tokenizer_gaps_digits", 0, &e));
    const struct tokenizer_facts *facts = tokenizer_facts(t);
    assert_string_equal(facts->lacks, "0x04 0x06 0x13-0x14 0x16 0x1D 0xF1-0xF2");
    assert_true(facts->drops);
    for (int i = 1; i <= 2; i++) { /* the second time, words may come from the cache */
        assert_ok(tokenizer_encode(t, text, sizeof text - 1, false, &ids, &n, NULL, NULL, &e));
        free(ids);
        assert_int_equal(facts->dropped_n, 4 * i);
        assert_int_equal(facts->newer_n, (strcmp(facts->unicode, "16") < 0 ? 2 : 1) * i);
    }
    tokenizer_close(t);
    assert_ok(tokenizer_open(&t, "tests/fixtures/open_models/bloom_complete", 0, &e));
    assert_string_equal(tokenizer_facts(t)->lacks, "");
    tokenizer_close(t);
    put_parts(f, &(struct parts){.words = BYTES, .model = "'unk_token':'<unk>',"});
    assert_ok(tokenizer_open(&t, f->path, 0, &e));
    assert_false(tokenizer_facts(t)->drops);
    tokenizer_close(t);
}

/* Many marks that are not in canonical order: sorting them by exchanges takes minutes. */
TEST_WITH(struct test_place *f, nfc_orders_any_number_of_marks)
{
    enum { N = 100000 };
    char *text = arena_alloc(&f->arena, 4 * N + 2);
    struct tokenizer *t;
    int32_t *ids;
    int64_t n = 0;

    text[0] = 'a';
    for (int i = 0; i < N; i++) memcpy(text + 1 + 4 * i, "\u0301\u0323", 4);
    put_parts(f, &(struct parts){.normalizer = "{'type':'NFC'}",
                                 .words = BYTES,
                                 .vocab = all_bytes(&f->arena)});
    assert_ok(tokenizer_open(&t, f->path, 0, &e));
    assert_ok(tokenizer_encode(t, text, 4 * N + 1, false, &ids, &n, NULL, NULL, &e));
    assert_int_equal(n, 3 + 4 * N - 2); /* U+1EA1 for a and one dot below */
    assert_memory_equal(ids, ((const int32_t[]){0xE1, 0xBA, 0xA1, 0xCC, 0xA3}), 20);
    assert_memory_equal(ids + n - 4, ((const int32_t[]){0xCC, 0x81, 0xCC, 0x81}), 16);
    free(ids);
    tokenizer_close(t);
}

TEST_WITH(struct test_place *f, the_template_and_the_prefix)
{
#define TEMPLATE                                                                                   \
    "{'type':'Sequence','processors':[{'type':'ByteLevel'},{'type':'TemplateProcessing',"          \
    "'single':[{'SpecialToken':{'id':'b'}},{'Sequence':{'id':'A'}},{'SpecialToken':{'id':'c'}}],"  \
    "'special_tokens':{'b':{'ids':[2,2]},'c':{'ids':[3]}}}]}"
    static const struct {
        const char *after, *config, *ids;
        int32_t prefix;
    } rows[] = {
        {NULL, "{}", "1", -1},
        {NULL, "{'eos_token':'c','model_max_length':1000000000000000019884624838656}", "1", 3},
        {NULL, "{'bos_token':null,'eos_token':'c'}", "1", 3},
        {NULL, "{'bos_token':{'content':'b'},'eos_token':'c'}", "1", 2},
        {TEMPLATE, "{'bos_token':'b'}", "2 2 1 3", 2},
        {TEMPLATE, "{'bos_token':'b','add_bos_token':true}", "2 1", 2},
        {TEMPLATE, "{'bos_token':'b','add_bos_token':false}", "1", 2},
        {TEMPLATE, "{'bos_token':'b','add_bos_token':null}", "2 2 1 3", 2},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tokenizer *t;
        char *ids = NULL;
        put_parts(f, &(struct parts){.after = rows[i].after});
        put_json(f, "tokenizer_config.json", rows[i].config);
        assert_ok(encode_as(f, &ids, true, "a", 1, &e));
        if (strcmp(ids, rows[i].ids) != 0) fail_msg("row %zu: %s, not %s", i, ids, rows[i].ids);
        assert_ok(tokenizer_open(&t, f->path, 0, &e));
        assert_int_equal(tokenizer_facts(t)->prefix, rows[i].prefix);
        tokenizer_close(t);
    }
}

TEST_WITH(struct test_place *f, the_hash_names_everything_that_determines_ids)
{
    static const char *const configs[] = {NULL, "{}", "{'bos_token':'b'}"};
    char seen[4][HASH_HEX_BYTES];

    for (int i = 0; i < 4; i++) {
        struct tokenizer *t;
        put_parts(f, &(struct parts){.normalizer = i == 3 ? "{'type':'NFC'}" : NULL});
        if (i > 0) put_json(f, "tokenizer_config.json", configs[i < 3 ? i : 2]);
        assert_ok(tokenizer_open(&t, f->path, 0, &e));
        assert_int_equal(tokenizer_facts(t)->ids_n, 11);
        memcpy(seen[i], tokenizer_facts(t)->sha256, sizeof seen[i]);
        for (int k = 0; k < i; k++) assert_string_not_equal(seen[k], seen[i]);
        tokenizer_close(t);
    }
}

TEST_WITH(struct test_place *f, parts_that_are_not_supported_or_wrong_are_refused)
{
#define VOCAB(extra) "'vocab':{'a':0,'b':1,'ab':2" extra "},'merges':"
    static const struct {
        struct parts parts;
        int code;
        const char *words;
    } rows[] = {
        {{.normalizer = "{'type':'NFKC'}"}, ERR_UNAVAILABLE, "normalizer: type = NFKC"},
        {{.normalizer = "[]"}, ERR_DATA, "normalizer: expected an object"},
        {{.normalizer = "{'type':'Sequence','normalizers':7}"}, ERR_DATA, "normalizers"},
        {{.normalizer = "{'type':'Replace','pattern':{'Regex':'x'},'content':''}"},
         ERR_UNAVAILABLE,
         "Replace"},
        {{.normalizer = "{'type':'Replace','pattern':{'String':''},'content':''}"},
         ERR_UNAVAILABLE,
         "Replace"},
        {{.normalizer = "{'type':'Prepend'}"}, ERR_DATA, "Prepend has no text"},
        {{.words = "{'type':'Whitespace'}"}, ERR_UNAVAILABLE, "pre_tokenizer: type = Whitespace"},
        {{.words = "{}"}, ERR_DATA, "pre_tokenizer: no type"},
        {{.words = "{'type':7}"}, ERR_DATA, "type: expected a text"},
        {{.words = "{'type':'ByteLevel','add_prefix_space':1}"}, ERR_DATA, "add_prefix_space"},
        {{.words = "{'type':'Split','pattern':{'Regex':'.'},'behavior':'Isolated'}"},
         ERR_UNAVAILABLE,
         "not supported: ."},
        {{.words = "{'type':'Split','pattern':{'String':' '},'behavior':'Isolated'}"},
         ERR_UNAVAILABLE,
         "Regex only"},
        {{.words = "{'type':'Split','pattern':{'Regex':'[0-9][0-9][0-9]'},'behavior':'Removed'}"},
         ERR_UNAVAILABLE,
         "behavior = Removed"},
        {{.words = "{'type':'Split','pattern':{'Regex':'[0-9][0-9][0-9]'},'behavior':'Isolated',"
                   "'invert':true}"},
         ERR_UNAVAILABLE,
         "invert = true"},
        {{.words = "{'type':'Punctuation'}"}, ERR_UNAVAILABLE, "behavior = null"},
        {{.words = "{'type':'Digits','individual_digits':1}"}, ERR_DATA, "individual_digits"},
        {{.words = "{'type':'Metaspace','replacement':'_'}"}, ERR_UNAVAILABLE, "split = true"},
        {{.words = METASPACE("last")}, ERR_UNAVAILABLE, "prepend_scheme = last"},
        {{.after = "{'type':'BertProcessing'}"}, ERR_UNAVAILABLE, "post_processor: type"},
        {{.after = "{'type':'TemplateProcessing','single':[]}"}, ERR_DATA, "the text A once"},
        {{.after = "{'type':'TemplateProcessing','single':[{'SpecialToken':{'id':'x'}}]}"},
         ERR_DATA,
         "no ids of 'x'"},
        {{.after = "{'type':'TemplateProcessing','single':[{'SpecialToken':{'id':'x'}}],"
                   "'special_tokens':{'x':{'ids':[11]}}}"},
         ERR_DATA,
         "that no token has"},
        {{.model = "'dropout':0.5,"}, ERR_UNAVAILABLE, "dropout = 0.5"},
        {{.model = "'end_of_word_suffix':'</w>',"}, ERR_UNAVAILABLE, "end_of_word_suffix = </w>"},
        {{.model = "'byte_fallback':true,"}, ERR_DATA, "<0x00>"},
        {{.model = "'unk_token':'x',"}, ERR_DATA, "unk_token = x is not in vocab"},
        {{.model = "'fuse_unk':'yes',"}, ERR_DATA, "fuse_unk: expected true or false"},
        {{.vocab = "'vocab':[]"}, ERR_DATA, "vocab is not an object"},
        {{.vocab = "'vocab':{'a':0.5},'merges':[]"}, ERR_DATA, "'a' is not an integer"},
        {{.vocab = "'vocab':{'a':100000000},'merges':[]"}, ERR_DATA, "expected 0 to 99999999"},
        {{.vocab = "'vocab':{'a':0,'a':1},'merges':[]"}, ERR_DATA, "duplicate object key"},
        {{.vocab = "'vocab':{'a':0}"}, ERR_DATA, "merges is not a list"},
        {{.vocab = VOCAB("") "[7]"}, ERR_DATA, "merges[0]: expected two symbols"},
        {{.vocab = VOCAB("") "['a  b']"}, ERR_DATA, "one space"},
        {{.vocab = VOCAB("") "['a b ']"}, ERR_DATA, "one space"},
        {{.vocab = VOCAB("") "[['a','b'],['a']]"}, ERR_DATA, "merges[1]"},
        {{.vocab = VOCAB("") "[['a','b','ab']]"}, ERR_DATA, "merges[0]"},
        {{.added = TOKEN(10, "x", false)}, ERR_DATA, "which another symbol has"},
        {{.added = TOKEN(11, "x", false) "," TOKEN(12, "x", false)}, ERR_DATA, "listed twice"},
        {{.added = TOKEN(11, "", false)}, ERR_DATA, "must have a text"},
        {{.added = "{'id':11,'content':'x','lstrip':true}"}, ERR_UNAVAILABLE, "lstrip = true"},
        {{.added = TOKEN(9, "é", true) "," TOKEN(11, "e\u0301", true),
          .normalizer = "{'type':'NFC'}"},
         ERR_DATA,
         "after normalising"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tokenizer *t = NULL;
        put_parts(f, &rows[i].parts);
        print_message("row %zu\n", i);
        assert_fails(rows[i].code, rows[i].words, tokenizer_open(&t, f->path, 0, &e));
        assert_fails(rows[i].code, "/tokenizer.json:", tokenizer_open(&t, f->path, 0, &e));
        assert_null(t);
    }
    struct tokenizer *t = NULL;
    put_parts(f, &(struct parts){0});
    assert_fails(ERR_DATA, "the id of ' ' is 10, expected 0 to 9",
                 tokenizer_open(&t, f->path, 10, &e));
    put_json(f, "tokenizer_config.json", "{'bos_token':'x'}");
    assert_fails(ERR_DATA, "bos_token = 'x' is not a token", tokenizer_open(&t, f->path, 0, &e));
    put_json(f, "tokenizer_config.json", "{'add_bos_token':true}");
    assert_fails(ERR_DATA, "there is no bos_token", tokenizer_open(&t, f->path, 0, &e));
}

TEST_WITH(struct test_place *f, two_files_replace_tokenizer_json)
{
    char *vocab = arena_strdup(&f->arena, all_bytes(&f->arena) + strlen("'vocab':")), *ids = NULL;
    struct tokenizer *t = NULL;

    *strstr(vocab, ",'merges'") = '\0';
    assert_fails(ERR_NOINPUT, "tokenizer.json not found", tokenizer_open(&t, f->path, 0, &e));
    put_json(f, "vocab.json", vocab);
    assert_fails(ERR_NOINPUT, "merges.txt", tokenizer_open(&t, f->path, 0, &e));
    put_json(f, "merges.txt", "#version: 0.2\r\nl o\r\n\nlo w\nĠ low");
    assert_ok(encode_as(f, &ids, true, "low low", 7, &e));
    assert_string_equal(ids, "257 258");
    put_json(f, "tokenizer_config.json",
             "{'add_prefix_space':true,'bos_token':'er','unk_token':'er','add_bos_token':true}");
    assert_ok(encode_as(f, &ids, true, "lower", 5, &e));
    assert_string_equal(ids, "259 258 259");
    put_json(f, "tokenizer_config.json", "{'pad_token':'<pad>'}");
    assert_fails(ERR_DATA, "pad_token", tokenizer_open(&t, f->path, 0, &e));
    put_json(f, "tokenizer_config.json", "{}");
    put_json(f, "merges.txt", "l o\nlo  w\n");
    assert_fails(ERR_DATA, "merges.txt:2: ", tokenizer_open(&t, f->path, 0, &e));
}

TEST_WITH(struct test_place *f, a_hostile_file_is_refused_at_once)
{
    char *path = test_place_path(f, "tokenizer.json"), *outside;
    struct test_place *other;
    struct tokenizer *t = NULL;
    struct strbuf text;
    void *state;

    assert_int_equal(mkfifo(path, 0600), 0);
    assert_fails(ERR_DATA, "not a regular file", tokenizer_open(&t, f->path, 0, &e));
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_fails(ERR_DATA, "not a regular file", tokenizer_open(&t, f->path, 0, &e));
    rmdir(path);
    assert_int_equal(symlink("/dev/zero", path), 0);
    assert_fails(ERR_DATA, "symbolic link", tokenizer_open(&t, f->path, 0, &e));
    unlink(path);
    assert_int_equal(test_place_make(&state), 0);
    other = state;
    put_parts(other, &(struct parts){0});
    outside = test_place_path(other, "tokenizer.json");
    assert_int_equal(symlink(outside, path), 0);
    assert_fails(ERR_DATA, "symbolic link", tokenizer_open(&t, f->path, 0, &e));
    unlink(path);
    test_place_remove(&state);

    /* A vocabulary of 10 million entries has 130 MB or more. */
    test_place_write(f, "tokenizer.json", "{", 1);
    assert_int_equal(truncate(path, 130 << 20), 0);
    assert_fails(ERR_DATA, "more than the limit", tokenizer_open(&t, f->path, 0, &e));
    char *commas = arena_alloc(&f->arena, MERGES_VALUES_MAX + 1);
    memset(commas, '[', MERGES_VALUES_MAX + 1);
    test_place_write(f, "tokenizer.json", commas, MERGES_VALUES_MAX + 1);
    assert_fails(ERR_DATA, "values", tokenizer_open(&t, f->path, 0, &e));
    test_place_write(f, "tokenizer.json", commas, 100000);
    assert_fails(ERR_DATA, "depth", tokenizer_open(&t, f->path, 0, &e));
    strbuf_init(&text, &f->arena);
    for (int i = 0; i < 1000; i++)
        strbuf_add(&text, "{'type':'Sequence','normalizers':[{'type':'NFC'},");
    put_parts(f, &(struct parts){.normalizer = text.text});
    assert_fails(ERR_DATA, "tokenizer.json:1:", tokenizer_open(&t, f->path, 0, &e));
    strbuf_add(&text, "{'type':'NFC'}");
    for (int i = 0; i < 1000; i++) strbuf_add(&text, "]}");
    put_parts(f, &(struct parts){.normalizer = text.text});
    assert_fails(ERR_UNAVAILABLE, "steps", tokenizer_open(&t, f->path, 0, &e));
    put_json(f, "tokenizer.json", "[]");
    assert_fails(ERR_DATA, "expected a JSON object", tokenizer_open(&t, f->path, 0, &e));
    test_place_write(f, "tokenizer.json", "{\"\xff\": 1}", 8);
    assert_fails(ERR_DATA, "byte 0xff", tokenizer_open(&t, f->path, 0, &e));
    put_json(f, "tokenizer.json", "{}");
    assert_fails(ERR_UNAVAILABLE, "type = null", tokenizer_open(&t, f->path, 0, &e));
}

static char *repeat(struct test_place *f, const char *part, int n, const char *last)
{
    struct strbuf text;

    strbuf_init(&text, &f->arena);
    for (int i = 0; i < n; i++) strbuf_add(&text, part);
    strbuf_add(&text, last);
    return text.text;
}

TEST_WITH(struct test_place *f, a_file_that_expands_without_limit_is_refused)
{
#define LIST(key, items) arena_printf(&f->arena, "{'type':'Sequence','" key "':[%s]}", items)
#define REPLACE(n)                                                                                 \
    arena_printf(&f->arena, "{'type':'Replace','pattern':{'String':'a'},'content':'%s'}",          \
                 repeat(f, "a", n, ""))
    const char *grow = REPLACE(64), *doubling = REPLACE(2);
    const char *cubed =
        LIST("normalizers", repeat(f, arena_printf(&f->arena, "%s,", grow), 2, grow));
    const char *doubled = LIST("normalizers", repeat(f, arena_printf(&f->arena, "%s,", doubling),
                                                     STAGES_MAX - 1, doubling));
    const char *prefixes = LIST(
        "pretokenizers", repeat(f, "{'type':'Metaspace','replacement':'        ','split':false},",
                                STAGES_MAX / 2 - 2, METASPACE("always")));
    const char *template = "{'type':'TemplateProcessing','single':[%s{'Sequence':{'id':'A'}}],"
                           "'special_tokens':{'b':{'ids':[%s2]}}}";
    const char *special = repeat(f, "{'SpecialToken':{'id':'b'}},", 33, "");
    struct strbuf nested, many;
    struct tokenizer *t = NULL;
    char *ids;

    strbuf_init(&nested, &f->arena);
    strbuf_init(&many, &f->arena);
    for (int i = 1; i <= 257; i++)
        strbuf_addf(&nested, "%s{'id':%d,'content':'%s'}", i > 1 ? "," : "", 10 + i,
                    repeat(f, "z", i, ""));
    for (int i = 0; i < 9000; i++)
        strbuf_addf(&many, "%s{'id':%d,'content':'%0250d'}", i > 0 ? "," : "", 11 + i, i);
    const struct {
        struct parts parts;
        const char *words;
    } rows[] = {
        {{.normalizer = REPLACE(65)}, "normalizer: a text to put in or to replace has 65 bytes"},
        {{.normalizer = arena_printf(&f->arena, "{'type':'Prepend','prepend':'%s'}",
                                     repeat(f, "p", 1 << 20, ""))},
         "has 1048576 bytes, more than 64"},
        {{.words = arena_printf(&f->arena, "{'type':'Metaspace','replacement':'%s','split':false}",
                                repeat(f, "_", 65, ""))},
         "pre_tokenizer: a text to put in"},
        {{.normalizer = cubed, .added = TOKEN(1, "a", true)},
         "added_tokens[0]: the tokenizer expands a text to more than 257 bytes"},
        {{.normalizer = doubled, .added = TOKEN(1, "a", true)}, "more than 257 bytes"},
        {{.added = nested.text}, "added_tokens[256]: an added token has 257 bytes, more than 256"},
        {{.added = many.text}, "the added tokens have more than 2097152 bytes"},
        {{.after = arena_printf(&f->arena, template, special, "2,")}, "add more than 64 ids"},
        {{.after = arena_printf(&f->arena, "{'type':'Sequence','processors':[%s,%s]}",
                                arena_printf(&f->arena, template, special, ""),
                                arena_printf(&f->arena, template, special, ""))},
         "post_processor: the templates add more than 64 ids"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        print_message("row %zu\n", i);
        put_parts(f, &rows[i].parts);
        assert_fails(ERR_DATA, rows[i].words, tokenizer_open(&t, f->path, 0, &e));
    }
    /* The files below open; a text shows their growth. */
    const struct parts texts[] = {
        {.normalizer = cubed}, {.normalizer = doubled}, {.words = prefixes}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        put_parts(f, &texts[i]);
        assert_fails(ERR_DATA, "the tokenizer expands a text to more than",
                     encode_as(f, &ids, false, " a", 2, &e));
    }
    /* The limits are far from what tokenizers do. */
    put_parts(f,
              &(struct parts){.normalizer = REPLACE(16), .vocab = "'vocab':{'a':0},'merges':[]"});
    assert_ok(encode_as(f, &ids, false, "aa", 2, &e));
    assert_int_equal(strlen(ids), 2 * 32 - 1);
}

TEST_WITH(struct test_place *f, a_text_that_has_no_ids_names_the_place)
{
    static const struct {
        const char *text, *words;
    } rows[] = {
        {"a\xff", "byte 0xff (byte 2 of the text)"},
        {"ab\xc0\x80", "byte 0xc0 (byte 3 of the text)"},
        {"\xed\xa0\x80", "byte 0xed (byte 1 of the text)"},
        {"aa\xe2\x82", "byte 0xe2 (byte 3 of the text)"},
        {"ax", "no token for U+0078"},
    };

    put_parts(f, &(struct parts){0});
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *ids;
        assert_fails(ERR_DATA, rows[i].words,
                     encode_as(f, &ids, false, rows[i].text, strlen(rows[i].text), &e));
    }
}

static int stop_at_half(void *context, double share, struct err *e)
{
    assert_true(share >= *(double *)context && share <= 1);
    *(double *)context = share;
    return share > 0.5 ? ERR(e, ERR_INTERRUPTED, "stopped") : 0;
}

TEST_WITH(struct test_place *f, a_tick_has_the_share_and_may_end_the_work)
{
    enum { N = 1 << 21 };
    struct tokenizer *t;
    char *text = arena_alloc(&f->arena, N);
    int32_t *ids;
    int64_t ids_n;
    double share = 0;

    for (int i = 0; i < N; i++) text[i] = i % 4 == 3 ? ' ' : 'x';
    put_parts(f, &(struct parts){.words = BYTES, .vocab = all_bytes(&f->arena)});
    assert_ok(tokenizer_open(&t, f->path, 0, &e));
    assert_fails(ERR_INTERRUPTED, "stopped",
                 tokenizer_encode(t, text, N, false, &ids, &ids_n, stop_at_half, &share, &e));
    assert_null(ids);
    assert_int_equal(ids_n, 0);
    tokenizer_close(t);
}

/* --- merging --- */

/* Merges pair by pair, as the definition says. */
static size_t merge_plainly(const struct merges *m, int32_t *id, size_t n)
{
    for (;;) {
        int32_t best = INT32_MAX, priority;
        size_t at = 0;
        for (size_t i = 0; i + 1 < n; i++)
            if (map_get(&m->priorities, &id[i], 2 * sizeof *id, &priority) && priority < best) {
                best = priority;
                at = i;
            }
        if (best == INT32_MAX) return n;
        id[at] = m->merged.item[best];
        memmove(&id[at + 1], &id[at + 2], (n - at - 2) * sizeof *id);
        n--;
    }
}

TEST_WITH(struct test_place *f, words_of_all_lengths_merge_pair_by_pair)
{
    enum { SYMBOLS = 60, LONGEST = 5000 };
    static const size_t lengths[] = {1, 2, 3, 15, 16, 17, 64, 65, 255, 257, 1024, 1025, LONGEST};
    const char *name[SYMBOLS] = {"a", "b"};
    char word[LONGEST];
    struct ids out = {0};
    struct merges m;
    uint32_t seed = 1;
    int32_t plain[LONGEST], n = 2;

    /* Symbols from two earlier ones, in an order of priorities that is not that of their lengths.
     */
    merges_init(&m, &f->arena, 0);
    *map_put(&m.symbols, "a", 1, NULL) = 0;
    *map_put(&m.symbols, "b", 1, NULL) = 1;
    int32_t left[SYMBOLS], right[SYMBOLS];
    while (n < SYMBOLS) {
        bool fresh;
        left[n] = (int32_t)((seed = seed * 1664525 + 1013904223) >> 8) % n;
        right[n] = (int32_t)((seed = seed * 1664525 + 1013904223) >> 8) % n;
        if (strlen(name[left[n]]) + strlen(name[right[n]]) > 12) continue;
        name[n] = arena_printf(&f->arena, "%s%s", name[left[n]], name[right[n]]);
        int32_t *id = map_put(&m.symbols, name[n], strlen(name[n]), &fresh);
        if (fresh) *id = n++;
    }
    for (int32_t i = SYMBOLS - 1; i >= 2; i -= i % 3 == 0 ? 1 : 2)
        assert_ok(merges_add_pair(&m, name[left[i]], strlen(name[left[i]]), name[right[i]],
                                  strlen(name[right[i]]), &e));
    for (int32_t i = 2; i < SYMBOLS; i++)
        assert_ok(merges_add_pair(&m, name[left[i]], strlen(name[left[i]]), name[right[i]],
                                  strlen(name[right[i]]), &e));
    assert_ok(merges_finish(&m, &e));
    for (int round = 0; round < 20; round++)
        for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
            for (size_t i = 0; i < lengths[k]; i++) {
                seed = seed * 1664525 + 1013904223;
                plain[i] = (int32_t)(seed >> 16) % (1 + round % 3 + (round == 0)) % 2;
                word[i] = (char)('a' + plain[i]);
            }
            size_t plain_n = merge_plainly(&m, plain, lengths[k]);
            for (int again = 0; again < 2; again++) { /* the second from the cache */
                out.n = 0;
                assert_ok(merges_spell(&m, &out, word, lengths[k], &e));
                assert_int_equal(out.n, plain_n);
                assert_memory_equal(out.item_own, plain, plain_n * sizeof *plain);
            }
        }
    free(out.item_own);
}
