/* tokens.h - token files: mapped for reading, written in pieces.
 *
 * 1. The file is a struct tokens_head, then the ids, all little-endian. Ids take 2 bytes when the
 *    vocabulary has at most 65,536 entries, otherwise 4.
 * 2. A file of documents has the number of the first token of each document as int64, rising from
 *    0. Documents are separate texts: the prefix predicts the first token of each. A token file
 *    without one is a single document. */
#ifndef DATA_TOKENS_H
#define DATA_TOKENS_H

#include <stdint.h>

#include "base/err.h"
#include "base/file.h"
#include "base/hash.h"

/* The first ids of every dictionary: <s>, <pad>, </s>, <unk>. */
enum { TOKEN_BEGIN, TOKEN_PAD, TOKEN_LINE_END, TOKEN_UNKNOWN, TOKEN_SPECIALS_N };

enum { TOKENS_HASH_BYTES = 32 };
struct tokens_head {
    char magic[8];           /* "ALIBITOK" */
    uint32_t version, width; /* 1; bytes per id */
    uint64_t n;              /* ids */
    uint32_t vocab, zero;
    unsigned char dictionary_sha256[TOKENS_HASH_BYTES]; /* of dict.txt, or of the tokenizer */
};

/* A mapped token file. */
struct tokens {
    struct file_map map;
    int64_t n;            /* tokens */
    int32_t width, vocab; /* width: bytes per id, 2 or 4 */
    char dictionary_sha256[HASH_HEX_BYTES];
    const void *ids;
    int32_t prefix; /* source that predicts the first token of a document; </s> after opening */
    int32_t pad;    /* fills rows on the right; <pad> after opening; -1: the prefix does */
    struct file_map documents_map;
    const int64_t *document; /* first token of each; NULL: one document */
    int64_t documents_n;
};
/* tokens_open - Errors: ERR_NOINPUT; ERR_DATA not a token file, another version, damaged,
 * truncated. t is closed after an error. */
int tokens_open(struct tokens *t, const char *path, struct err *e);
void tokens_close(struct tokens *t);
/* tokens_open_documents - maps and checks a file of documents, which has n of them. Errors:
 * ERR_NOINPUT absent; ERR_DATA another number of documents, or one without tokens. */
int tokens_open_documents(struct tokens *t, const char *path, int64_t n, struct err *e);
/* tokens_document - the number of the document that has token `at`, and its tokens [*first, *end).
 */
int64_t tokens_document(const struct tokens *t, int64_t at, int64_t *first, int64_t *end);
/* tokens_read - reads ids [first, first + n), which must be within t->n, as int32. */
void tokens_read(const struct tokens *t, int64_t first, int64_t n, int32_t *out);
/* tokens_read_row - reads the ids [first, first + n), n >= 1, as targets, and as sources the inputs
 * that predict them: each preceding id, and the prefix before the first of a document. The ids
 * should be of one document. Both are padded on the right to `length`. */
void tokens_read_row(const struct tokens *t, int64_t first, int32_t n, int32_t length,
                     int32_t *source, int32_t *target);

/* Writes a token file: open, add, close. The file is complete or absent. path must stay valid until
 * then. Errors: ERR_DATA an id is not below vocab; those of file_writer. */
struct tokens_writer {
    struct file_writer *file;
    const char *path;
    struct tokens_head head; /* n is written by tokens_writer_close */
};
int tokens_writer_open(struct tokens_writer *w, const char *path, int32_t vocab,
                       const char *dictionary_sha256, struct err *e);
int tokens_writer_add(struct tokens_writer *w, int32_t id, struct err *e);
/* tokens_writer_close - file_writer_close. */
int tokens_writer_close(struct tokens_writer *w, int rc, struct err *e);

#endif
