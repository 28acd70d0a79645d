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
#include "prepare/text.h"

enum { DICTIONARY_MULTIPLE = 8 };

struct dictionary;

/* dictionary_build - the dictionary of a training text. limit 0: every word. Otherwise at least 8:
 * the number of entries kept, including special symbols; fillers pad the size to a multiple of 8.
 * Errors: ERR_DATA place:line, ERR_USAGE limit. */
int dictionary_build(struct dictionary **out, const struct text *t, int32_t limit, struct err *e);
/* dictionary_parse - parses the bytes of a dict.txt. Errors: ERR_DATA place:line. */
int dictionary_parse(struct dictionary **out, const struct text *t, struct err *e);
/* dictionary_load - dictionary_parse for a file. */
int dictionary_load(struct dictionary **out, const char *path, struct err *e);
void dictionary_close(struct dictionary *d); /* takes NULL */

/* dictionary_text - the bytes of dict.txt in the arena. */
char *dictionary_text(const struct dictionary *d, struct arena *a, size_t *n);
/* dictionary_save - writes dict.txt atomically. */
int dictionary_save(const struct dictionary *d, const char *path, struct err *e);

/* dictionary_size - V, the number of entries including special symbols and fillers. */
int32_t dictionary_size(const struct dictionary *d);
/* dictionary_find - the id of a word of n bytes, or TOKEN_UNKNOWN. */
int32_t dictionary_find(const struct dictionary *d, const char *word, size_t n);
/* dictionary_word - the zero-terminated word of an id. */
const char *dictionary_word(const struct dictionary *d, int32_t id);

/* Counts of a text converted to ids: the words of every line, then one </s> (oracle SPEC.md
 * sections 2, 3). Words not in the dictionary become <unk>. */
struct binarise_counts {
    int64_t ids_n, unknown_n; /* unknown_n: words not in the dictionary, or <unk> in the text */
};
/* binarise_to_file - writes the ids of a text to a token file. Errors: ERR_DATA place:line, or a
 * text without lines; ERR_NOMEM; ERR_CREATE, ERR_IO. */
int binarise_to_file(struct binarise_counts *out, const char *path, const struct dictionary *d,
                     const char *dictionary_sha256, const struct text *t, struct err *e);

#endif
