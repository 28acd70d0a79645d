/* synthetic_words.c - the settings of the embedded corpora and the spelling of their words. */
#include "synthetic/synthetic_internal.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Never change a row: results depend on its text. Add a new row instead.
 *
 * Substitutes for the paper's corpora: articles with headings; long documents of short paragraphs
 * with much direct speech; short documents with twice the words. The -mini ones have so few words
 * that a model of 0.1M parameters learns to use its context within a million tokens. In -mini2
 * every section has words of all clusters and a document keeps to few words of each, so that what
 * it said hundreds of tokens ago predicts the next word. Its -long text goes on after the same
 * first two million tokens, for trainings of eight times as many updates. */
#define ARTICLES                                                                                   \
    .language_seed = 20220425, .tokens_n = {2000000, 131072, 131072}, .from_section = 500,         \
    .from_document = 300, .from_successor = 120, .reuse = 700, .newness = 3, .newness_least = 20,  \
    .entities_most = 24, .opening = {520, 330, 100, 50}, .paragraph_end = 200, .section_end = 250, \
    .document_end = 300, .sections_least = 2
#define ARTICLES_OF_FEW_WORDS(train_n)                                                             \
    .language_seed = 20220425, .tokens_n = {train_n, 131072, 131072}, .from_section = 100,         \
    .from_document = 100, .from_successor = 0, .reuse = 980, .newness = 8, .newness_least = 20,    \
    .entities_most = 40, .opening = {520, 330, 100, 50}, .paragraph_end = 300, .section_end = 250, \
    .document_end = 150, .sections_least = 2
#define BOOKS                                                                                      \
    .language_seed = 20220426, .tokens_n = {2000000, 131072, 131072}, .from_section = 420,         \
    .from_document = 380, .from_successor = 120, .reuse = 750, .newness = 2, .newness_least = 5,   \
    .entities_most = 40, .opening = {300, 330, 70, 300}, .paragraph_end = 400, .section_end = 50,  \
    .document_end = 250, .sections_least = 2
#define WEB_PAGES                                                                                  \
    .language_seed = 20220427, .tokens_n = {2000000, 131072, 131072}, .from_section = 550,         \
    .from_document = 250, .from_successor = 100, .reuse = 680, .newness = 4, .newness_least = 30,  \
    .entities_most = 24, .opening = {560, 270, 130, 40}, .paragraph_end = 250, .section_end = 400, \
    .document_end = 500, .sections_least = 1

static const struct synthetic_settings synthetic_corpora[] = {
    {.name = "synthetic-wikitext103-mini",
     ARTICLES,
     .clusters_n = 8,
     .years_n = 8,
     .entities_n = 40},
    {.name = "synthetic-bookcorpus-mini", BOOKS, .clusters_n = 8, .years_n = 8, .entities_n = 40},
    {.name = "synthetic-cc100-mini", WEB_PAGES, .clusters_n = 18, .years_n = 16, .entities_n = 112},
    {.name = "synthetic-wikitext103", ARTICLES, .clusters_n = 24, .years_n = 32, .entities_n = 128},
    {.name = "synthetic-bookcorpus", BOOKS, .clusters_n = 26, .years_n = 16, .entities_n = 80},
    {.name = "synthetic-cc100", WEB_PAGES, .clusters_n = 48, .years_n = 64, .entities_n = 352},
    {.name = "synthetic-wikitext103-mini2",
     ARTICLES_OF_FEW_WORDS(2000000),
     .clusters_n = 8,
     .years_n = 8,
     .entities_n = 40},
    {.name = "synthetic-wikitext103-mini2-long",
     ARTICLES_OF_FEW_WORDS(14000000),
     .clusters_n = 8,
     .years_n = 8,
     .entities_n = 40},
    {.name = "synthetic-recall",
     .task = SYNTHETIC_RECALL,
     .tokens_n = {2000000, 524288, 524288},
     .classes = "filler\nneedle\nquery\nfrom-1\nfrom-16\nfrom-32\nfrom-48\nfrom-64\nfrom-96\n"
                "from-128\nfrom-192\nfrom-256\nfrom-384\n"},
};
enum { CORPORA_N = sizeof synthetic_corpora / sizeof *synthetic_corpora };

const struct synthetic_settings *synthetic_at(int32_t i)
{
    return i < CORPORA_N ? &synthetic_corpora[i] : NULL;
}

const struct synthetic_settings *synthetic_find(const char *name)
{
    const struct synthetic_settings *s = NULL;

    for (int32_t i = 0; (s = synthetic_at(i)) && strcmp(s->name, name) != 0;) i++;
    return s;
}

int32_t synthetic_words_n(const struct synthetic_settings *s)
{
    if (s->task != SYNTHETIC_DOCUMENTS) return synthetic_recall_words_n();
    return symbol_first_cluster(s) + s->clusters_n * CLUSTER_N;
}

static const char *const fixed_words[SYMBOL_YEAR] = {
    "", "", "=", ".", ",", "(", ")", "\"",
    /* determiners */
    "the", "a", "this", "that", "its", "every", "each", "some", "another", "one", "no", "any",
    /* prepositions */
    "of", "in", "to", "for", "on", "with", "at", "by", "from", "into", "over", "after", "under",
    "near", "through", "against",
    /* connectives */
    "however", "meanwhile", "then", "later", "therefore", "instead", "finally", "today",
    /* adverbs */
    "often", "soon", "slowly", "rarely", "openly", "almost", "quickly", "again", "mostly", "partly",
    "gladly", "always", "never", "twice", "once", "barely", "firmly", "quietly", "together",
    "alone",
    /* roles */
    "king", "queen", "poet", "painter", "bishop", "general", "singer", "farmer", "judge", "author",
    "captain", "miner", "pilot", "teacher", "doctor", "merchant", "sculptor", "architect", "actor",
    "chemist", "printer", "botanist", "composer", "dancer", "engineer", "governor", "historian",
    "inventor", "mayor", "novelist", "senator", "weaver"};

enum { ONSETS_N = 16, VOWELS_N = 5 };
static const char onsets[ONSETS_N + 1] = "bdfghjklmnprstvz";
static const char vowels[VOWELS_N + 1] = "aeiou";

/* Two letters, different for 80 numbers. */
static void add_syllable(char *out, int32_t number)
{
    out[0] = onsets[number % ONSETS_N];
    out[1] = vowels[number / ONSETS_N % VOWELS_N];
}

/* Entities are the only words that begin with a capital letter: Balia, Delio. */
static void spell_entity(char out[SYNTHETIC_WORD_BYTES], int32_t number)
{
    static const char middles[] = "lnrstvdm";
    int32_t rest = number / (ONSETS_N * VOWELS_N);

    assert(rest < (int32_t)sizeof middles - 1);
    snprintf(out, SYNTHETIC_WORD_BYTES, "..%cia", middles[rest]);
    add_syllable(out, number);
    out[0] = (char)(out[0] - 'a' + 'A');
}

/* The cluster determines the first syllable, the kind the ending: babul, babeth, babish. */
static void spell_content(char out[SYNTHETIC_WORD_BYTES], int32_t cluster, int32_t word)
{
    const char *ending = word < NOUNS_N ? "ul" : word < NOUNS_N + VERBS_N ? "eth" : "ish";
    int32_t within = word < NOUNS_N ? word : (word - NOUNS_N) % VERBS_N;

    assert(cluster < ONSETS_N * VOWELS_N);
    snprintf(out, SYNTHETIC_WORD_BYTES, "..%c%s", onsets[within], ending);
    add_syllable(out, cluster);
}

void synthetic_word(char out[SYNTHETIC_WORD_BYTES], const struct synthetic_settings *s,
                    int32_t symbol)
{
    int32_t entity = symbol - symbol_first_entity(s);
    int32_t content = symbol - symbol_first_cluster(s);

    assert(symbol >= 0 && symbol < synthetic_words_n(s));
    if (s->task != SYNTHETIC_DOCUMENTS)
        synthetic_recall_word(out, symbol);
    else if (symbol < SYMBOL_YEAR)
        snprintf(out, SYNTHETIC_WORD_BYTES, "%s", fixed_words[symbol]);
    else if (entity < 0)
        snprintf(out, SYNTHETIC_WORD_BYTES, "%d", 1841 + symbol - SYMBOL_YEAR);
    else if (content < 0)
        spell_entity(out, entity);
    else
        spell_content(out, content / CLUSTER_N, content % CLUSTER_N);
}
