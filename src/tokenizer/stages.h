/* stages.h - the stages from a text to words: normalisers, pre-tokenisers, added tokens. */
#ifndef TOKENIZER_STAGES_H
#define TOKENIZER_STAGES_H

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

enum stage_kind {
    STAGE_NFC,
    STAGE_PREPEND, /* puts `to` before a text that is not empty */
    STAGE_PREFIX,  /* puts `to` before a word that does not begin with it */
    STAGE_REPLACE, /* replaces each `from` by `to` */
    STAGE_BYTES,   /* each byte becomes its printable character (byte_level) */
    STAGE_SPLIT    /* matches of a pattern, and the texts between them, are words */
};

struct pattern; /* compiled */
struct stage {
    enum stage_kind kind;
    const char *from, *to;
    size_t from_n, to_n;
    bool only_first; /* STAGE_PREFIX: of the text's first word only */
    struct pattern *pattern_own;
    struct buffer scratch; /* the result of the stage */
};

/* STAGE_TEXT_MAX: bytes of from and to. STAGES_GROWTH, STAGES_GROWTH_MORE: all stages together may
 * add this many times the bytes of a text, and this many more. */
enum { STAGES_MAX = 32, STAGE_TEXT_MAX = 64, STAGES_GROWTH = 15, STAGES_GROWTH_MORE = 1024 };
struct stages {
    struct stage item[STAGES_MAX];
    int32_t n;
};
void stages_free(struct stages *s);
void stages_release(struct stages *s); /* frees the results of the stages */
/* stages_add - Errors: ERR_UNAVAILABLE more than STAGES_MAX; ERR_DATA more than STAGE_TEXT_MAX; for
 * STAGE_SPLIT, the pattern's. */
int stages_add(struct stages *s, struct stage stage, struct err *e);
int stages_add_split(struct stages *s, enum pattern_name name, struct err *e);

/* stage_apply - a stage that does not split. Sets *text and *n to the result: the input, or the
 * stage's scratch. *growth: bytes that stages may still add. Errors: ERR_DATA it would add more;
 * ERR_NOMEM. */
int stage_apply(struct stage *s, const char **text, size_t *n, bool first, size_t *growth,
                struct err *e);
/* stage_match - sets the bounds of the first match at or after `from` and returns 1; 0 if there is
 * none. Matches are not empty. Errors: ERR_NOMEM, ERR_INTERNAL of PCRE2. */
int stage_match(const struct stage *s, const char *text, size_t n, size_t from, size_t *begin,
                size_t *end, struct err *e);

/* Texts to find, the longest of those that begin at one offset. */
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
