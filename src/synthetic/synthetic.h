/* synthetic.h - embedded corpora: generated text of an invented language whose entropy is known
 * exactly.
 *
 * 1. The probability of every choice is a function of the document's text so far, and no choice is
 *    hidden: if two ways lead to the same word, their probabilities are added. -log2 p of each
 *    token is therefore exact, and 2 to the power of their mean is the lowest perplexity that any
 *    model can have on the text, however long its context.
 * 2. Sampling uses integers only: the text is the same on every machine.
 * 3. A paragraph and a heading are one line each; an empty line ends a document. After preparation
 *    the end of a line is the token </s>, and an empty line is one more </s>. The generator's two
 *    kinds of end are thus one token, and nothing is hidden: an end of document only follows an
 *    end of line, and an end of line never follows another. The tokens of the floor are therefore,
 *    one for one, the tokens of the prepared corpus.
 * 4. A split ends with the first document that reaches its number of tokens.
 *
 * The language: a document's title names four clusters of words, a section's heading one of them;
 * words come mostly from these clusters and recur within the document; entities are introduced
 * with a role and a year, which later sentences repeat; each verb prefers a preposition. */
#ifndef SYNTHETIC_SYNTHETIC_H
#define SYNTHETIC_SYNTHETIC_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "data/corpus_split.h"
#include "synthetic/synthetic_words.h"

/* The text of one split; synthetic_free frees it. */
struct synthetic_text {
    char *text; /* n bytes, no zero byte after them */
    size_t n;
    int64_t tokens_n; /* words and line ends */
    int64_t documents_n;
    double bits; /* sum of -log2 p over all tokens */
};
void synthetic_free(struct synthetic_text *t); /* takes NULL */
/* synthetic_floor - the lowest perplexity that any model can have on this text. */
double synthetic_floor(const struct synthetic_text *t);

/* synthetic_make - generates the documents of a seed until there are tokens_n tokens. The splits of
 * an embedded corpus have the seeds 1, 2 and 3. Errors: ERR_NOMEM. */
int synthetic_make(struct synthetic_text *out, const struct synthetic_settings *s, uint64_t seed,
                   int64_t tokens_n, struct err *e);

/* synthetic_write - writes {train,valid,test}.txt into a folder and returns the splits' lowest
 * perplexities. Errors: ERR_NOMEM, those of file_write_atomic. */
int synthetic_write(const struct synthetic_settings *s, const char *folder,
                    double floor_perplexity[CORPUS_SPLITS_N], struct err *e);

#endif
