/* documents.h - texts as a tokenizer cuts them: the ids of each document after one another.
 *
 * A document is a file as it is, without handling of lines. It must be strict UTF-8 and have at
 * least one token. A folder has train.txt, valid.txt and test.txt, each a document of its split;
 * those that are absent leave their split empty. Files are documents of the split test, in order.
 */
#ifndef PREPARE_DOCUMENTS_H
#define PREPARE_DOCUMENTS_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "data/corpus.h"
#include "prepare/text.h"
#include "tokenizer/tokenizer.h"

enum { DOCUMENTS_OWN_PREFIX = -1 }; /* that of the tokenizer */

struct documents {
    struct arena *arena;
    struct tokenizer *tokenizer_own;
    struct {
        const char **path;
        int64_t n;
    } split[CORPUS_SPLITS_N];
    int64_t bytes_n, done_n; /* of all files, for progress */
};

/* documents_open - opens the tokenizer of a folder, finds the texts (a folder, or files), and
 * describes both in the manifest: tokenizer and its hash, prefix, vocabulary, source, options.
 * documents_close also follows an error. Errors: ERR_NOINPUT; ERR_USAGE no prefix, or one that is
 * not an id; those of tokenizer_open. */
int documents_open(struct documents *d, struct arena *a, struct manifest *m, const char *tokenizer,
                   const char *const *text, int32_t text_n, int64_t prefix, struct err *e);
void documents_close(struct documents *d);

/* documents_write - writes SPLIT.tokens and SPLIT.documents into a folder, and their counts and
 * hashes into the manifest. Errors: ERR_DATA a file that is not UTF-8, with the byte, or has no
 * token; those of tokens_writer. */
int documents_write(struct documents *d, struct manifest *m, const char *folder, int split,
                    struct text_progress progress, struct err *e);
/* documents_warn - says on stderr what of the texts the tokenizer dropped or does not know. */
void documents_warn(const struct documents *d);

/* documents_words - pieces of a text in UTF-8 between runs of white space, with an empty one at
 * each end that has some (open-models SPEC.md section 8). */
int64_t documents_words(const char *text, size_t n);

#endif
