/* binarise.h - text to ids: the words of every line, then one </s> (oracle SPEC.md sections 2, 3).
 * Words that the dictionary lacks become <unk>. */
#ifndef PREPARE_BINARISE_H
#define PREPARE_BINARISE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "prepare/dictionary.h"
#include "prepare/text.h"

struct binarised {
    int32_t *ids;          /* the lines joined */
    int32_t *line_lengths; /* ids of each line, its </s> included */
    int64_t ids_n, lines_n;
};
/* binarise_text - a text in memory; binarised_free frees what it made. Errors: ERR_DATA place:line,
 * ERR_NOMEM. */
int binarise_text(struct binarised *out, const struct dictionary *d, const char *text, size_t n,
                  const char *place, struct err *e);
void binarised_free(struct binarised *b); /* takes NULL */

struct binarise_counts {
    int64_t ids_n, unknown_n; /* unknown_n: words the dictionary lacks, or <unk> in the text */
};
/* binarise_to_file - the same into a token file at path, with little memory. Errors also:
 * ERR_CREATE, ERR_IO; ERR_DATA a text without any line. */
int binarise_to_file(struct binarise_counts *out, const char *path, const struct dictionary *d,
                     const char *dictionary_sha256, const char *text, size_t n, const char *place,
                     const struct text_progress *progress, struct err *e);

#endif
