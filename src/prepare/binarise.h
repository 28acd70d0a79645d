/* binarise.h - text to ids: the words of every line, then one </s> (oracle SPEC.md sections 2, 3).
 * Words that the dictionary lacks become <unk>. */
#ifndef PREPARE_BINARISE_H
#define PREPARE_BINARISE_H

#include <stdint.h>

#include "base/err.h"
#include "prepare/dictionary.h"
#include "prepare/text.h"

struct binarise_counts {
    int64_t ids_n, unknown_n; /* unknown_n: words the dictionary lacks, or <unk> in the text */
};
/* binarise_to_file - the ids of a text as a token file at path. Errors: ERR_DATA place:line, or a
 * text without any line; ERR_NOMEM; ERR_CREATE, ERR_IO. */
int binarise_to_file(struct binarise_counts *out, const char *path, const struct dictionary *d,
                     const char *dictionary_sha256, const struct text *t, struct err *e);

#endif
