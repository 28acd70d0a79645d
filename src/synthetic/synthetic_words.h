/* synthetic_words.h - settings of the invented languages; numbers and spelling of their symbols.
 *
 * Line ends and marks, function words, roles, years, entities, then the clusters: each has nouns,
 * verbs and adjectives. */
#ifndef SYNTHETIC_SYNTHETIC_WORDS_H
#define SYNTHETIC_SYNTHETIC_WORDS_H

#include <stdint.h>

#include "data/corpus_split.h"

enum { SYNTHETIC_OPENINGS_N = 4, SYNTHETIC_WORD_BYTES = 16 };

/* Shares are in permille. */
struct synthetic_settings {
    const char *name;
    uint64_t language_seed; /* which cluster follows which, which preposition a verb has */
    int64_t tokens_n[CORPUS_SPLITS_N]; /* at least */
    int32_t clusters_n, years_n, entities_n;
    int32_t from_section;   /* a content word's cluster is the section's ... */
    int32_t from_document;  /* ... or one of the document's four ... */
    int32_t from_successor; /* ... or follows from the cluster before; otherwise any, by Zipf */
    int32_t reuse;          /* a word is drawn from the document's own counts of its cluster */
    int32_t newness; /* an entity is new with probability newness / (newness + mentions) ... */
    int32_t newness_least;                 /* ... but at least this */
    int32_t entities_most;                 /* different entities in a document; at most 64 */
    int32_t opening[SYNTHETIC_OPENINGS_N]; /* a sentence begins with a noun phrase, an entity, a
                                              connective, a quotation mark */
    int32_t paragraph_end;                 /* after a sentence */
    int32_t section_end;                   /* after a paragraph */
    int32_t document_end;                  /* after a section, from section sections_least on */
    int32_t sections_least;
};

/* synthetic_find - the settings of an embedded corpus; NULL if the name is unknown. */
const struct synthetic_settings *synthetic_find(const char *name);
/* synthetic_name - the name of the i-th embedded corpus; NULL after the last. */
const char *synthetic_name(int32_t i);

/* synthetic_words_n - symbols of the language, the two line ends (0 and 1) included. */
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

/* Kinds of content words and how many a cluster has of each, in the order of their numbers. */
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
