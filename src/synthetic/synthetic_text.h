/* synthetic_text.h - a text that was made, with the probability of all its choices. */
#ifndef SYNTHETIC_SYNTHETIC_TEXT_H
#define SYNTHETIC_SYNTHETIC_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* The text of one split; synthetic_free frees it. */
struct synthetic_text {
    char *text; /* n bytes, no zero byte after them */
    size_t n;
    int64_t tokens_n; /* words and line ends */
    int64_t documents_n;
    double bits; /* sum of -log2 p over all tokens */
};
void synthetic_free(struct synthetic_text *t); /* takes NULL */
/* synthetic_floor - the perplexity below which no model can be on this text. */
double synthetic_floor(const struct synthetic_text *t);

#endif
