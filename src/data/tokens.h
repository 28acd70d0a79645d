/* tokens.h - token files: mapped for reading, written in pieces.
 *
 * The file is a struct tokens_head, then the ids, all little-endian. Ids take 2 bytes when the
 * vocabulary has at most 65,536 entries, otherwise 4. */
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
    unsigned char dictionary_sha256[TOKENS_HASH_BYTES]; /* of dict.txt */
};

/* A mapped token file. */
struct tokens {
    struct file_map map;
    int64_t n;            /* tokens */
    int32_t width, vocab; /* width: bytes per id, 2 or 4 */
    char dictionary_sha256[HASH_HEX_BYTES];
    const void *ids;
};
/* tokens_open - Errors: ERR_NOINPUT; ERR_DATA not a token file, another version, damaged,
 * truncated. t is closed after an error. */
int tokens_open(struct tokens *t, const char *path, struct err *e);
void tokens_close(struct tokens *t);
/* tokens_read - reads ids [first, first + n), which must be within t->n, as int32. */
void tokens_read(const struct tokens *t, int64_t first, int64_t n, int32_t *out);
/* tokens_read_row - reads the ids [first, first + n), n >= 1, as targets, and as sources the inputs
 * that predict them: each preceding id, and </s> before the first of the file. Both are padded on
 * the right to `length`. */
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
