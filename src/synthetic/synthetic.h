/* synthetic.h - embedded corpora: generated text of an invented language whose entropy is known
 * exactly.
 *
 * 1. The probability of every choice is a function of the document's text so far, and no choice is
 *    hidden: if several choices lead to the same word, their probabilities are added. -log2 p of
 *    each token is therefore exact, and 2 to the power of their mean is the lowest perplexity that
 *    any model can have on the text, with any context.
 * 2. Sampling uses integers only: the text is the same on every machine.
 * 3. A paragraph and a heading are one line each; an empty line ends a document. Preparation turns
 *    both ends into </s>. They stay distinguishable: an end of document only follows an end of
 *    line, and an end of line never follows another. Therefore the tokens of the entropy floor are
 *    exactly the tokens of the prepared corpus.
 * 4. A split ends with the first document that reaches its number of tokens.
 *
 * 5. A corpus may put each token into a target class (data/classes.h): a byte for each token of
 * rule 3.
 *
 * The language: a document's title names four clusters of words, and a section's heading one of
 * them. Words are mostly from these clusters and recur within the document. Entities are introduced
 * with a role and a year, which later sentences repeat. Each verb prefers a preposition.
 *
 * One corpus is a task instead (synthetic_recall.c): 64 needles (k, v), 8 queries (k), 8 answers
 * (v) and 32 fillers. In each step, with probability 1/16 a needle, uniform, whose k becomes fresh;
 * with 1/24, if some k is fresh, the query of a fresh k, uniform, and then the answer of its latest
 * needle, after which k is not fresh; otherwise a filler, uniform. A document is a line of 4,096
 * tokens; needles and fresh keys stay over its end. Answers are grouped by the distance from the
 * needle to the query. */
#ifndef SYNTHETIC_SYNTHETIC_H
#define SYNTHETIC_SYNTHETIC_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

enum { SYNTHETIC_SPLITS_N = 3, SYNTHETIC_OPENINGS_N = 4, SYNTHETIC_WORD_BYTES = 16 };

enum synthetic_task { SYNTHETIC_DOCUMENTS, SYNTHETIC_RECALL };

/* Shares are in permille. A task uses only the first fields. */
struct synthetic_settings {
    const char *name;
    enum synthetic_task task;
    const char *classes;    /* names, one a line; NULL: none, as of documents */
    uint64_t language_seed; /* determines successors of clusters and prepositions of verbs */
    int64_t tokens_n[SYNTHETIC_SPLITS_N]; /* at least */
    int32_t clusters_n, years_n, entities_n;
    uint32_t from_section;   /* a content word's cluster is the section's ... */
    uint32_t from_document;  /* ... or one of the document's four ... */
    uint32_t from_successor; /* ... or follows from the cluster before; otherwise any, by Zipf */
    int32_t reuse;           /* a word is drawn from the document's counts of its cluster */
    int32_t newness; /* an entity is new with probability newness / (newness + mentions) ... */
    int32_t newness_least;                  /* ... but at least this */
    int32_t entities_most;                  /* different entities in a document; at most 64 */
    uint32_t opening[SYNTHETIC_OPENINGS_N]; /* a sentence begins with a noun phrase, an entity, a
                                              connective, a quotation mark */
    uint32_t paragraph_end;                 /* after a sentence */
    uint32_t section_end;                   /* after a paragraph */
    uint32_t document_end;                  /* after a section, from section sections_least on */
    int32_t sections_least;
};

/* synthetic_find - the settings of an embedded corpus, or NULL. */
const struct synthetic_settings *synthetic_find(const char *name);
/* synthetic_at - the settings of embedded corpus i, from 0; NULL after the last. */
const struct synthetic_settings *synthetic_at(int32_t i);

/* The text of one split. */
struct synthetic_text {
    char *text; /* n bytes */
    size_t n;
    int64_t tokens_n; /* words and line ends */
    int64_t documents_n;
    double bits;   /* sum of -log2 p over all tokens */
    char *classes; /* (tokens_n), in the arena; NULL: none */
};

/* synthetic_make - generates documents from a seed until there are tokens_n tokens; the text is in
 * the arena. The splits of an embedded corpus use the seeds 1, 2 and 3. */
void synthetic_make(struct synthetic_text *out, struct arena *a, const struct synthetic_settings *s,
                    uint64_t seed, int64_t tokens_n);
/* synthetic_floor - the lowest perplexity that any model can have on this text. */
double synthetic_floor(const struct synthetic_text *t);

/* --- symbols: line ends and marks, function words, roles, years, entities, then the clusters: each
 * has nouns, verbs and adjectives --- */

/* synthetic_words_n - number of symbols of the language, including the two line ends (0 and 1). */
int32_t synthetic_words_n(const struct synthetic_settings *s);
/* synthetic_word - the spelling of symbol 2 and above; different symbols differ. */
void synthetic_word(char out[SYNTHETIC_WORD_BYTES], const struct synthetic_settings *s,
                    int32_t symbol);

enum synthetic_symbol {
    SYMBOL_DOCUMENT_END,
    SYMBOL_LINE_END,
    SYMBOL_HEADING,
    SYMBOL_PERIOD,
    SYMBOL_COMMA,
    SYMBOL_OPEN,
    SYMBOL_CLOSE,
    SYMBOL_QUOTE,
    SYMBOL_DETERMINER,
    SYMBOL_PREPOSITION = 20,
    SYMBOL_CONNECTIVE = 36,
    SYMBOL_ADVERB = 44,
    SYMBOL_ROLE = 64,
    SYMBOL_YEAR = 96
};
enum {
    DETERMINERS_N = SYMBOL_PREPOSITION - SYMBOL_DETERMINER,
    PREPOSITIONS_N = SYMBOL_CONNECTIVE - SYMBOL_PREPOSITION,
    CONNECTIVES_N = SYMBOL_ADVERB - SYMBOL_CONNECTIVE,
    ADVERBS_N = SYMBOL_ROLE - SYMBOL_ADVERB,
    ROLES_N = SYMBOL_YEAR - SYMBOL_ROLE
};

/* Kinds of content words, and their number per cluster, in the order of the symbols. */
enum synthetic_kind { KIND_NOUN, KIND_VERB, KIND_ADJECTIVE, KINDS_N };
enum { NOUNS_N = 16, VERBS_N = 8, ADJECTIVES_N = 8, CLUSTER_N = NOUNS_N + VERBS_N + ADJECTIVES_N };

static inline int32_t symbol_first_entity(const struct synthetic_settings *s)
{
    return SYMBOL_YEAR + s->years_n;
}

static inline int32_t symbol_first_cluster(const struct synthetic_settings *s)
{
    return symbol_first_entity(s) + s->entities_n;
}

#endif
