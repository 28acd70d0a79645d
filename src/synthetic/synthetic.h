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
#ifndef SYNTHETIC_SYNTHETIC_H
#define SYNTHETIC_SYNTHETIC_H

#include <stdint.h>

#include "base/err.h"
#include "data/corpus_split.h"
#include "synthetic/synthetic_text.h"
#include "synthetic/synthetic_words.h"

/* Raised when the text of any embedded corpus changes. */
enum { SYNTHETIC_VERSION = 2 };

/* synthetic_make - the text of seed: 1 + the split's number for an embedded corpus. Errors:
 * ERR_NOMEM. */
int synthetic_make(struct synthetic_text *out, const struct synthetic_settings *s, uint64_t seed,
                   int64_t tokens_n, struct err *e);

/* synthetic_write - writes {train,valid,test}.txt into a folder and tells the floors. */
int synthetic_write(const struct synthetic_settings *s, const char *folder,
                    double floor_perplexity[CORPUS_SPLITS_N], struct err *e);

#endif
