/* dictionary.h - words and their ids, exactly as in fairseq-preprocess (oracle SPEC.md section 2).
 *
 * 1. Ids 0..3 are <s>, <pad>, </s>, <unk>. A word of the text with this spelling has the same id.
 * 2. The other words follow by falling count in the training text; words with equal counts by
 *    rising code point.
 * 3. Fillers madeupword0000, madeupword0001, ... with count 0 pad the size to a multiple of 8. A
 *    filler whose name is already a word is omitted.
 * 4. dict.txt has a line "word count" for every other entry; loading adds nothing. */
#ifndef PREPARE_DICTIONARY_H
#define PREPARE_DICTIONARY_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "prepare/text.h"

enum { DICTIONARY_MULTIPLE = 8 };

struct dictionary_entry {
    const char *word; /* zero-terminated */
    size_t n;         /* bytes */
    int64_t count;    /* of no meaning for special symbols */
};

/* A dictionary in an arena. */
struct dictionary {
    struct arena *arena;
    struct map ids; /* of each word; TOKEN_UNKNOWN for words beyond the limit */
    struct {
        struct dictionary_entry *item; /* by id, including special symbols and fillers */
        int32_t n, capacity;
    } entries;
};

/* dictionary_build - the dictionary of a training text. limit 0: every word. Otherwise at least 8:
 * the number of entries kept, including special symbols; fillers pad the size to a multiple of 8.
 * Errors: ERR_DATA name:line, ERR_USAGE limit. */
int dictionary_build(struct dictionary *d, struct arena *a, const struct text *t, int32_t limit,
                     struct err *e);
/* dictionary_load - parses a dict.txt. Errors: those of file_map_open; ERR_DATA path:line. */
int dictionary_load(struct dictionary *d, struct arena *a, const char *path, struct err *e);

/* dictionary_text - the *n bytes of dict.txt in the arena. */
char *dictionary_text(const struct dictionary *d, struct arena *a, size_t *n);
/* dictionary_find - the id of a word of n bytes, or TOKEN_UNKNOWN. */
int32_t dictionary_find(const struct dictionary *d, const char *word, size_t n);

/* Counts of a text converted to ids: the words of every line, then one </s> (oracle SPEC.md
 * sections 2, 3). Words not in the dictionary become <unk>. */
struct binarise_counts {
    int64_t ids_n, unknown_n; /* unknown_n: words not in the dictionary, or <unk> in the text */
};
/* binarise_to_file - writes the ids of a text to a token file. Errors: ERR_DATA name:line, or a
 * text without lines; ERR_CREATE, ERR_IO. */
int binarise_to_file(struct binarise_counts *out, const char *path, const struct dictionary *d,
                     const char *dictionary_sha256, const struct text *t, struct err *e);

#endif
