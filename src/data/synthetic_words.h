/* synthetic_words.h - how the symbols of the invented languages are numbered.
 *
 * Line ends and marks, function words, roles, years, entities, then the clusters: each has nouns,
 * verbs and adjectives. */
#ifndef DATA_SYNTHETIC_WORDS_H
#define DATA_SYNTHETIC_WORDS_H

#include "data/synthetic.h"

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
