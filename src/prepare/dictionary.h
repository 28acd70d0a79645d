/* dictionary.h - words and their ids, exactly as fairseq-preprocess makes them (oracle SPEC.md
 * section 2).
 *
 * 1. Ids 0..3 are <s>, <pad>, </s>, <unk>; a word of the text spelled like one of them has its id.
 * 2. The other words follow by falling count in the training text, equal counts by rising code
 *    point.
 * 3. Fillers madeupword0000, madeupword0001, ... of count 0 bring the size to a multiple of 8; a
 *    filler whose name is a word already there is left out.
 * 4. dict.txt has a "word count" line for every entry but the four; loading adds nothing. */
#ifndef PREPARE_DICTIONARY_H
#define PREPARE_DICTIONARY_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "prepare/text.h"

enum { DICTIONARY_MULTIPLE = 8 };

struct dictionary;

/* dictionary_build - the dictionary of a training text. limit: 0: every word; otherwise at least 8:
 * that many entries are kept, specials included, and fillers bring a limit that is not a multiple
 * of 8 up to one. Errors: ERR_DATA place:line, ERR_USAGE limit. */
int dictionary_build(struct dictionary **out, const struct text *t, int32_t limit, struct err *e);
/* dictionary_parse - from the bytes of a dict.txt. Errors: ERR_DATA place:line. */
int dictionary_parse(struct dictionary **out, const struct text *t, struct err *e);
/* dictionary_load - the same from a file. */
int dictionary_load(struct dictionary **out, const char *path, struct err *e);
void dictionary_close(struct dictionary *d); /* takes NULL */

/* dictionary_text - the bytes of dict.txt in the arena. */
char *dictionary_text(const struct dictionary *d, struct arena *a, size_t *n);
/* dictionary_save - writes dict.txt atomically. */
int dictionary_save(const struct dictionary *d, const char *path, struct err *e);

/* dictionary_size - V: entries, specials and fillers included. */
int32_t dictionary_size(const struct dictionary *d);
/* dictionary_find - the id of a word of n bytes; TOKEN_UNKNOWN when it is absent. */
int32_t dictionary_find(const struct dictionary *d, const char *word, size_t n);
/* dictionary_word - the spelling of an id, ended by a zero byte. */
const char *dictionary_word(const struct dictionary *d, int32_t id);

/* A text as ids: the words of every line, then one </s> (oracle SPEC.md sections 2, 3). Words that
 * the dictionary lacks become <unk>. */
struct binarise_counts {
    int64_t ids_n, unknown_n; /* unknown_n: words the dictionary lacks, or <unk> in the text */
};
/* binarise_to_file - the ids of a text as a token file at path. Errors: ERR_DATA place:line, or a
 * text without any line; ERR_NOMEM; ERR_CREATE, ERR_IO. */
int binarise_to_file(struct binarise_counts *out, const char *path, const struct dictionary *d,
                     const char *dictionary_sha256, const struct text *t, struct err *e);

#endif
