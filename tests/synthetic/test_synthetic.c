/* test_synthetic.c - compares the embedded corpora with the streams and entropy of a prototype. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "data/data_support.h"
#include "synthetic/synthetic.h"

/* Articles, books and web pages, small and large; small articles of few words, and more of them;
 * a task. */
enum { CORPORA_N = 9, TRIPLES_N = 6 };

/* The corpora for which the prototype's streams and entropy are known. That of the second is the
 * prototype's with the settings of synthetic_words.c. */
static const struct {
    const char *name;
    double bits; /* per token, over the first 131,073 tokens of seed 2 */
    struct {
        uint64_t seed;
        int64_t n;
        const char *sha256;
    } stream[3];
} prototypes[] = {
    {"synthetic-wikitext103",
     3.8249,
     {{1, 6000000, "37cbdd63456b396e80eae77f72505e1d40327cf89af59a6f760d9386f1b85486"},
      {2, 131073, "aa085eff5c33e65e12539d6002c238d2cb7a9492e15b7b22558dcdaad88d09d1"},
      {3, 131073, "6e27cb17c61fbe45d0a589955b4a78993c1ebb4ebc8685bd448e1dcbcbc0179f"}}},
    {"synthetic-wikitext103-mini2",
     3.3584,
     {{1, 2000000, "b4ec24ad43ea09c86b93e27b999382e3ff4d1ce2f5f0a28e7739ba5f9b732b05"},
      {2, 131073, "35b74f3f4fc68a3af51620369a2c1bdac5ae078e7f9c42b43aef7d723a883b01"},
      {3, 131073, "cf6859f9aea835b35372b19ae83e78993cb3389e99bafeaa35e291db86a207bf"}}},
};
enum { PROTOTYPES_N = sizeof prototypes / sizeof *prototypes };

static struct synthetic_text made(struct arena *a, const struct synthetic_settings *s,
                                  uint64_t seed, int64_t tokens)
{
    struct synthetic_text text;
    synthetic_make(&text, a, s, seed, tokens);
    return text;
}

/* The prototype's symbols of a text: an empty line ends a document. Returns their number. */
static int64_t symbols_of(struct arena *a, const struct synthetic_settings *s,
                          const struct synthetic_text *text, uint16_t *out, int64_t capacity)
{
    struct map symbols;
    struct text_scan scan;
    struct err e = {0};
    int64_t n = 0;
    int item;
    bool begun = false;

    map_init(&symbols, a);
    for (int32_t i = 2; i < synthetic_words_n(s); i++) {
        char spelling[SYNTHETIC_WORD_BYTES];
        synthetic_word(spelling, s, i);
        *map_put(&symbols, spelling, strlen(spelling), NULL) = i;
    }
    text_scan_init(&scan, data_text(text->text, text->n));
    while (n < capacity && (item = text_next(&scan, &e)) > TEXT_END) {
        int32_t symbol = begun ? SYMBOL_LINE_END : SYMBOL_DOCUMENT_END;
        if (item == TEXT_WORD) assert_true(map_get(&symbols, scan.word, scan.word_n, &symbol));
        out[n++] = (uint16_t)symbol;
        begun = item == TEXT_WORD;
    }
    return n;
}

TEST_EACH(test_place_make, test_place_remove)

TEST_WITH(struct test_place *f, the_prototypes_settings_give_its_text_token_for_token)
{
    for (size_t k = 0; k < 3 * PROTOTYPES_N; k++) {
        const struct synthetic_settings *s = synthetic_find(prototypes[k / 3].name);
        uint64_t seed = prototypes[k / 3].stream[k % 3].seed;
        int64_t n = prototypes[k / 3].stream[k % 3].n;
        struct synthetic_text text = made(&f->arena, s, seed, n);
        uint16_t *symbols = arena_array(&f->arena, (size_t)n, sizeof *symbols);
        char sha256[HASH_HEX_BYTES];
        assert_int_equal(symbols_of(&f->arena, s, &text, symbols, n), n);
        hash_sha256_hex(sha256, symbols, (size_t)n * sizeof *symbols);
        assert_string_equal(sha256, prototypes[k / 3].stream[k % 3].sha256);
    }
}

TEST_WITH(struct test_place *f, the_long_text_begins_with_the_short_one)
{
    const struct synthetic_settings *s = synthetic_find("synthetic-wikitext103-mini2"),
                                    *more = synthetic_find("synthetic-wikitext103-mini2-long");

    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct synthetic_text a = made(&f->arena, s, seed, 20000),
                              b = made(&f->arena, more, seed, 20000);
        assert_int_equal(a.n, b.n);
        assert_memory_equal(a.text, b.text, a.n);
    }
    assert_int_equal(more->tokens_n[0], 14000000);
    for (int split = 1; split < SYNTHETIC_SPLITS_N; split++)
        assert_int_equal(more->tokens_n[split], s->tokens_n[split]);
}

TEST_WITH(struct test_place *f, the_floor_is_that_of_the_prototype)
{
    /* Ours go on to the end of the document, some hundred tokens, which cannot move the mean by
     * more than a thousandth. */
    for (size_t k = 0; k < PROTOTYPES_N; k++) {
        const struct synthetic_settings *s = synthetic_find(prototypes[k].name);
        struct synthetic_text text = made(&f->arena, s, 2, 131073);
        assert_true(text.tokens_n - 131073 < 1000);
        assert_true(fabs(text.bits / (double)text.tokens_n - prototypes[k].bits) < 0.0015);
        assert_true(synthetic_floor(&text) == exp2(text.bits / (double)text.tokens_n));
    }
}

TEST_WITH(struct test_place *f, tokens_are_counted_as_preparation_will_find_them)
{
    for (int i = 0; i < CORPORA_N; i++) {
        struct synthetic_text text = made(&f->arena, synthetic_at(i), 2, 20000);
        int64_t items, empty = 0;
        assert_ok(data_count_items(&items, data_text(text.text, text.n), &e));
        assert_int_equal(items, text.tokens_n);
        for (size_t k = 1; k < text.n; k++)
            empty += text.text[k - 1] == '\n' && text.text[k] == '\n';
        assert_int_equal(empty, text.documents_n);
        assert_true(text.n > 2 && memcmp(text.text + text.n - 2, "\n\n", 2) == 0);
    }
}

static int compare_words(const void *a, const void *b)
{
    return strcmp(a, b);
}

TEST_WITH(struct test_place *f, no_two_symbols_are_spelled_alike)
{
    for (int i = 0; i < CORPORA_N; i++) {
        const struct synthetic_settings *s = synthetic_at(i);
        int32_t n = synthetic_words_n(s);
        char(*words)[SYNTHETIC_WORD_BYTES] = arena_array(&f->arena, (size_t)n, sizeof *words);
        for (int32_t k = 2; k < n; k++) {
            synthetic_word(words[k], s, k);
            assert_true(words[k][0] != '\0' && !strpbrk(words[k], " \t\n<"));
        }
        qsort(words + 2, (size_t)n - 2, sizeof *words, compare_words);
        for (int32_t k = 3; k < n; k++) assert_string_not_equal(words[k - 1], words[k]);
    }
}

TEST_WITH(struct test_place *f, shares_of_the_settings_are_whole)
{
    for (int i = 0; i < CORPORA_N; i++) {
        const struct synthetic_settings *s = synthetic_at(i);
        assert_ptr_equal(synthetic_find(s->name), s);
        uint32_t sum = 0;
        if (s->task != SYNTHETIC_DOCUMENTS) continue;
        for (int k = 0; k < SYNTHETIC_OPENINGS_N; k++) sum += s->opening[k];
        assert_int_equal(sum, 1000);
        assert_true(s->from_section + s->from_document + s->from_successor <= 1000);
    }
    assert_null(synthetic_find("wikitext103"));
    assert_null(synthetic_at(CORPORA_N));
}

/* The differences that the descriptions of the corpora state. */
TEST_WITH(struct test_place *f, the_three_corpora_differ_as_described)
{
    double document[TRIPLES_N], quotes[TRIPLES_N], headings[TRIPLES_N];
    for (int i = 0; i < TRIPLES_N; i++) {
        struct synthetic_text text = made(&f->arena, synthetic_at(i), 2, 131072);
        quotes[i] = headings[i] = 0;
        for (size_t k = 0; k < text.n; k++) {
            quotes[i] += text.text[k] == '"';
            headings[i] += text.text[k] == '=';
        }
        quotes[i] /= (double)text.tokens_n;
        headings[i] /= (double)text.tokens_n;
        document[i] = (double)text.tokens_n / (double)text.documents_n;
    }
    for (int i = 0; i < TRIPLES_N; i += 3) {
        assert_true(document[i + 1] > 2 * document[i] && document[i] > 2 * document[i + 2]);
        assert_true(quotes[i + 1] > 4 * quotes[i] && quotes[i + 1] > 4 * quotes[i + 2]);
        assert_true(headings[i + 1] < headings[i] && headings[i] < headings[i + 2]);
    }
    assert_int_equal(synthetic_words_n(synthetic_at(0)), 400);
    assert_int_equal(synthetic_words_n(synthetic_at(2)), 800);
}

/* The words of a text, "" for a line end; *n of them. */
static const char **words_of(struct arena *a, const struct synthetic_text *text, int64_t *n)
{
    const char **words = arena_array(a, (size_t)text->tokens_n, sizeof *words);
    struct text_scan scan;
    struct err e = {0};
    int item;

    text_scan_init(&scan, data_text(text->text, text->n));
    for (*n = 0; (item = text_next(&scan, &e)) > TEXT_END; ++*n)
        words[*n] = item == TEXT_WORD ? arena_strndup(a, scan.word, scan.word_n) : "";
    assert_int_equal(*n, text->tokens_n);
    return words;
}

/* The name of the class of a token. */
static const char *class_of(struct arena *a, const struct synthetic_settings *s,
                            const struct synthetic_text *text, int64_t at)
{
    const char *line = s->classes;
    for (int k = 0; k < text->classes[at]; k++) line = strchr(line, '\n') + 1;
    assert_true(*line != '\0');
    return arena_strndup(a, line, strcspn(line, "\n"));
}

/* The largest of the numbers in the names from `first` on that x reaches, as "first-NUMBER". */
static const char *bin_name(struct arena *a, const char *first, const int *from, int n, int64_t x)
{
    int best = from[0];
    for (int i = 0; i < n && x >= from[i]; i++) best = from[i];
    return arena_printf(a, "%s-%d", first, best);
}

TEST_WITH(struct test_place *f, recall_has_the_probabilities_and_classes_of_its_description)
{
    static const int from[] = {1, 16, 32, 48, 64, 96, 128, 192, 256, 384};
    const struct synthetic_settings *s = synthetic_find("synthetic-recall");
    struct synthetic_text text = made(&f->arena, s, 2, 100000);
    int64_t n, needle[8] = {0}, answers_n = 0, needles_n = 0, line = 0;
    int value[8] = {0}, fresh[8] = {0};
    const char **word = words_of(&f->arena, &text, &n);
    double bits = 0;

    for (int64_t t = 0; t < n; t++) {
        const char *want = "filler";
        int fresh_n = 0, k = word[t][0] ? word[t][1] - '0' : 0;
        for (int i = 0; i < 8; i++) fresh_n += fresh[i];
        if (word[t][0] == 'n') {
            bits += log2(16 * 64);
            value[k] = word[t][2] - '0';
            needle[k] = t;
            fresh[k] = 1;
            want = "needle";
            needles_n++;
        } else if (word[t][0] == 'q') {
            assert_true(fresh[k]);
            bits += log2(24.0 * fresh_n);
            want = "query";
        } else if (word[t][0] == 'a') {
            int key = word[t - 1][1] - '0';
            assert_int_equal(word[t - 1][0], 'q');
            assert_int_equal(k, value[key]);
            want = bin_name(&f->arena, "from", from, 10, t - 1 - needle[key]);
            fresh[key] = 0;
            answers_n++;
        } else if (word[t][0] == 'f') {
            bits += log2(32 / (1 - 1.0 / 16 - (fresh_n ? 1.0 / 24 : 0)));
        } else if (word[t - 1][0] == '\0') { /* the end of a document */
            assert_in_range(t + 1 - line, 4095, 4096);
            line = t + 1;
        }
        assert_string_equal(class_of(&f->arena, s, &text, t), want);
    }
    assert_true(fabs(bits - text.bits) < 1e-6 * bits);
    /* Expected in so many steps: some deviations of a binomial. */
    double steps = (double)(n - answers_n);
    assert_true(fabs((double)needles_n - steps / 16) < 5 * sqrt(steps / 16));
    assert_true((double)answers_n < steps / 24 && (double)answers_n > 0.9 * steps / 24);
}
