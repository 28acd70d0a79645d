/* steps.h - the steps from a text to words: normalisers, pre-tokenisers, added tokens. */
#ifndef TOKENIZER_STEPS_H
#define TOKENIZER_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"

/* A growing text of at most `limit` bytes; free item_own. */
struct buffer {
    char *item_own;
    size_t n, capacity, limit;
};

/* The closed list of patterns. Those with a text are compared with the regular expression of a
 * file; no text of a file is ever compiled. */
enum pattern_name {
    PATTERN_GPT2,
    PATTERN_BLOOM,
    PATTERN_LLAMA3,
    PATTERN_QWEN2,
    PATTERN_FALCON,
    PATTERN_PUNCTUATION,
    PATTERN_DIGITS,
    PATTERN_DIGIT,
    PATTERN_CUT,   /* runs of U+2581 and what follows each */
    PATTERN_NEWER, /* a character that is not in PCRE2's version of Unicode */
    PATTERNS_N
};
/* pattern_find - the pattern with this text in a file; PATTERNS_N: none. */
enum pattern_name pattern_find(const char *text);
enum { PATTERN_UNICODE_BYTES = 24 };
/* pattern_unicode - PCRE2's version of Unicode, such as 14.0.0. */
void pattern_unicode(char out[PATTERN_UNICODE_BYTES]);

enum step_kind {
    STEP_NFC,
    STEP_PREPEND, /* puts `to` before a text that is not empty */
    STEP_PREFIX,  /* puts `to` before a word that does not begin with it */
    STEP_REPLACE, /* replaces each `from` by `to` */
    STEP_BYTES,   /* each byte becomes its printable character (byte_level) */
    STEP_SPLIT    /* matches of a pattern, and the texts between them, are words */
};

struct pattern; /* compiled */
struct step {
    enum step_kind kind;
    const char *from, *to;
    size_t from_n, to_n;
    bool only_first; /* STEP_PREFIX: of the text's first word only */
    struct pattern *pattern_own;
    struct buffer scratch; /* the result of the step */
};

/* STEP_TEXT_MAX: bytes of from and to. STEPS_GROWTH, STEPS_GROWTH_MORE: all steps together may add
 * this many times the bytes of a text, and this many more. */
enum { STEPS_MAX = 32, STEP_TEXT_MAX = 64, STEPS_GROWTH = 15, STEPS_GROWTH_MORE = 1024 };
struct steps {
    struct step item[STEPS_MAX];
    int32_t n;
};
void steps_free(struct steps *s);
void steps_release(struct steps *s); /* frees the results of the steps */
/* steps_add - Errors: ERR_UNAVAILABLE more than STEPS_MAX; ERR_DATA more than STEP_TEXT_MAX; for
 * STEP_SPLIT, the pattern's. */
int steps_add(struct steps *s, struct step step, struct err *e);
int steps_add_split(struct steps *s, enum pattern_name name, struct err *e);

/* step_apply - a step that does not split. Sets *text and *n to the result: the input, or the
 * step's scratch. *growth: bytes that steps may still add. Errors: ERR_DATA it would add more;
 * ERR_NOMEM. */
int step_apply(struct step *s, const char **text, size_t *n, bool first, size_t *growth,
               struct err *e);
/* step_match - sets the bounds of the first match at or after `from` and returns 1; 0 if there is
 * none. Matches are not empty. Errors: ERR_NOMEM, ERR_INTERNAL of PCRE2. */
int step_match(const struct step *s, const char *text, size_t n, size_t from, size_t *begin,
               size_t *end, struct err *e);

/* Texts to find, the longest of those that begin at one place. */
struct finder {
    struct map nodes; /* node and byte to the next node */
    struct {
        int32_t *item, n, capacity; /* by node: id of the text that ends there; -1 */
    } ids;
    bool begins[256]; /* whether a text begins with this byte */
};
void finder_init(struct finder *f, struct arena *a);
/* finder_add - false if the text is in it already. */
bool finder_add(struct finder *f, const char *text, size_t n, int32_t id);
/* finder_next - the first text found at or after `from`: true, and its bounds and id. */
bool finder_next(const struct finder *f, const char *text, size_t n, size_t from, size_t *begin,
                 size_t *end, int32_t *id);

#endif
