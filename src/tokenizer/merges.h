/* merges.h - a vocabulary of symbols and the pairs of them that merge: byte pair encoding.
 *
 * 1. A word begins as its characters. The listed pair with the lowest priority, its number in the
 *    list, is merged, of equal ones the leftmost, until none is left.
 * 2. A word of n characters takes O(n log n) time and about 9 bytes of memory for each byte; n has
 *    no limit.
 * 3. Results of short words are cached, because texts repeat them. */
#ifndef TOKENIZER_MERGES_H
#define TOKENIZER_MERGES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "base/str.h"

enum {
    MERGES_FILE_BYTES_MAX = 64 << 20,
    MERGES_VALUES_MAX = 2 << 20, /* of a JSON file */
    MERGES_IDS_MAX = 100000000,  /* of a vocabulary whose model is unknown */
    MERGES_CHARS = 0x300,        /* characters whose symbols are in a table */
    MERGES_BYTE_NAME = sizeof "<0x00>"
};

/* A growing list of ids; free item_own. */
struct ids {
    int32_t *item_own;
    int64_t n, capacity;
};
/* ids_reserve - capacity for `more` further ids. Errors: ERR_NOMEM. */
int ids_reserve(struct ids *ids, int64_t more, struct err *e);

struct merges {
    struct arena *arena;
    struct map symbols;    /* text to id */
    struct map priorities; /* of a pair of ids */
    struct {
        int32_t *item, n, capacity; /* by priority: the id of the merged pair */
    } merged;
    int32_t ids_limit, ids_n; /* ids are below ids_limit; ids_n: one more than the highest */
    uint8_t *used;            /* a bit for each id below used_n */
    int64_t used_n;
    bool whole;        /* a word that is a symbol is not split */
    bool fuse_unknown; /* a run of characters without symbols is one unknown symbol */
    bool bytes;        /* a character without a symbol becomes its bytes */
    bool byte_level;   /* characters are those of byte_level */
    int32_t unknown;   /* id of other characters without symbols; -1: there is none */
    int64_t dropped_n; /* byte characters so far that had neither a symbol nor `unknown` */
    int32_t of_byte[256], of_char[MERGES_CHARS];
    struct strbuf joined; /* scratch */
    struct map known;     /* words to offsets in known_ids: the number of ids, then the ids */
    struct {
        int32_t *item, n, capacity;
    } known_ids;
    /* Called now and then in long words; NULL: not. A negative value ends the work. */
    int (*tick)(void *context, struct err *e);
    void *tick_context;
};

/* merges_init - an empty vocabulary in an arena. ids_limit 0: unknown. */
void merges_init(struct merges *m, struct arena *a, int32_t ids_limit);

/* merges_add_id - reserves the id of a symbol. Errors: ERR_DATA it is not an integer in range, or
 * it is taken; ERR_NOMEM. */
int merges_add_id(struct merges *m, int32_t *out, const char *symbol, const json_t *id,
                  struct err *e);
/* merges_add_vocab - adds an object of symbols and ids. */
int merges_add_vocab(struct merges *m, json_t *vocab, struct err *e);
/* merges_add_pair - adds the pair of the next priority. A pair that is listed twice has its last
 * priority. Errors: ERR_DATA a symbol is not in the vocabulary. */
int merges_add_pair(struct merges *m, const char *left, size_t left_n, const char *right,
                    size_t right_n, struct err *e);
/* merges_add_line - adds a pair written as two symbols with one space between them. */
int merges_add_line(struct merges *m, const char *line, size_t n, struct err *e);
/* merges_add_lines - adds the lines of a merges.txt, the first of which may begin with #version. */
int merges_add_lines(struct merges *m, const char *text, size_t n, const char *path, struct err *e);

/* merges_finish - completes a vocabulary. With m->bytes it must have <0x00> to <0xFF>. Errors:
 * ERR_DATA names the byte. */
int merges_finish(struct merges *m, struct err *e);
/* merges_lacks - true if the character of a byte has no symbol in a finished vocabulary. */
bool merges_lacks(const struct merges *m, unsigned char byte);

/* merges_spell - appends the ids of a word in strict UTF-8. A byte character without a symbol and
 * without `unknown` is dropped before its neighbours merge. Errors: ERR_DATA another character
 * without a symbol; ERR_NOMEM; those of tick. */
int merges_spell(struct merges *m, struct ids *out, const char *word, size_t n, struct err *e);

/* byte_level - writes the printable characters of n bytes, at most 2 bytes each, and returns their
 * length: 33-126, 161-172 and 174-255 stand for themselves, the others are U+0100, U+0101, … in
 * rising order of the byte. */
size_t byte_level(char *out, const char *bytes, size_t n);

#endif
