/* synthetic.h - corpora the program can make by itself: text of an invented language whose entropy
 * is known exactly.
 *
 * 1. Every choice the generator makes has a probability that is a function of the text of the
 *    document so far, and no choice is hidden: where two ways lead to the same word their
 *    probabilities are added. So -log2 p of each token is exact, and 2 to the power of their mean
 *    is the lowest perplexity any model can have on that text, however long its context.
 * 2. Sampling uses integers only: the text is the same on every machine.
 * 3. A paragraph and a heading are one line each; an empty line ends a document. After preparation
 *    the end of a line is the token </s>, and an empty line is one more </s>. The generator's two
 *    kinds of end are thus one token, and still nothing is hidden: an end of document comes after
 * an end of line and nowhere else, an end of line never comes after another one. The tokens of the
 *    floor are therefore, one for one, the tokens of the prepared corpus.
 * 4. A split ends with the first document that reaches its number of tokens.
 *
 * The language: a document's title names four clusters of words, a section's heading one of them;
 * words come mostly from these clusters and are used again within the document; entities are
 * introduced with a role and a year which later sentences repeat; verbs prefer a preposition. */
#ifndef DATA_SYNTHETIC_H
#define DATA_SYNTHETIC_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "data/corpus.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when the text of any embedded corpus changes. */
enum { SYNTHETIC_VERSION = 1 };
enum { SYNTHETIC_OPENINGS_N = 4, SYNTHETIC_WORD_BYTES = 16 };

/* Shares are in permille. */
struct synthetic_settings {
    const char *name;
    uint64_t language_seed; /* which cluster follows which, which preposition a verb has */
    int64_t tokens_n[CORPUS_SPLITS_N]; /* at least so many */
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

/* synthetic_find - the settings of an embedded corpus; NULL if there is none of that name. */
const struct synthetic_settings *synthetic_find(const char *name);
/* synthetic_names - the names of all, for messages: "a, b, c". */
const char *synthetic_names(void);

/* The text of one split; synthetic_free frees it. */
struct synthetic_text {
    char *text; /* n bytes, no zero byte after them */
    size_t n;
    int64_t tokens_n; /* words and line ends */
    int64_t documents_n;
    double bits; /* sum of -log2 p over all tokens */
};
/* synthetic_make - the text of seed: 1 + the split's number for an embedded corpus. Errors:
 * ERR_NOMEM. */
int synthetic_make(struct synthetic_text *out, const struct synthetic_settings *s, uint64_t seed,
                   int64_t tokens_n, struct err *e);
void synthetic_free(struct synthetic_text *t); /* takes NULL */
/* synthetic_floor - the perplexity below which no model can be on this text. */
double synthetic_floor(const struct synthetic_text *t);

/* synthetic_words_n - symbols of the language, the two line ends (0 and 1) included. */
int32_t synthetic_words_n(const struct synthetic_settings *s);
/* synthetic_word - the spelling of symbol 2 and above; different symbols have different ones. */
void synthetic_word(char out[SYNTHETIC_WORD_BYTES], const struct synthetic_settings *s,
                    int32_t symbol);

/* synthetic_write - writes {train,valid,test}.txt into a folder and tells the floors. */
int synthetic_write(const struct synthetic_settings *s, const char *folder,
                    double floor_perplexity[CORPUS_SPLITS_N], struct err *e);

#ifdef __cplusplus
}
#endif
#endif
