/* tokens.h - token files: mapped for reading, never copied; written whole or piece by piece.
 *
 * The file is 64 bytes of head, then the ids, all little-endian:
 *   0  magic "ALIBITOK"   8  u32 version, 1   12  u32 width, 2 or 4   16  u64 ids
 *  24  u32 vocabulary    28  u32 zero         32  32 bytes SHA-256 of dict.txt
 * Ids take 2 bytes when the vocabulary has at most 65,536 entries, otherwise 4. */
#ifndef DATA_TOKENS_H
#define DATA_TOKENS_H

#include <stdint.h>

#include "base/err.h"
#include "base/file.h"
#include "base/hash.h"

/* A mapped token file. */
struct tokens {
    struct file_map map;
    int64_t n;     /* tokens */
    int32_t width; /* bytes an id: 2 or 4 */
    const void *ids;
};
int tokens_open(struct tokens *t, const char *path,
                struct err *e); /* ERR_DATA: damaged, with what was expected */
void tokens_close(struct tokens *t);
/* tokens_read - ids [first, first + n) as int32; the caller keeps within t->n. */
void tokens_read(const struct tokens *t, int64_t first, int64_t n, int32_t *out);
/* tokens_write - writes a token file atomically; ids below vocab. */
int tokens_write(const char *path, const int32_t *ids, int64_t n, int32_t vocab,
                 const char *dictionary_sha256, struct err *e);

struct tokens_head {
    int32_t vocab, width;
    int64_t n;
    char dictionary_sha256[HASH_HEX_BYTES];
};
/* tokens_head_read - the head of a token file of file_bytes bytes; place names it in messages.
 * Errors: ERR_DATA no token file, another version, damaged, cut short. */
int tokens_head_read(struct tokens_head *out, const void *data, uint64_t file_bytes,
                     const char *place, struct err *e);

/* Opened for exactly n ids below vocab; then committed or abandoned, which frees it. */
struct tokens_writer;
int tokens_writer_open(struct tokens_writer **out, const char *path, int64_t n, int32_t vocab,
                       const char *dictionary_sha256, struct err *e);
int tokens_writer_add(struct tokens_writer *w, const int32_t *ids, int64_t n, struct err *e);
int tokens_writer_commit(struct tokens_writer *w, struct err *e);
void tokens_writer_abandon(struct tokens_writer *w); /* takes NULL */

#endif
