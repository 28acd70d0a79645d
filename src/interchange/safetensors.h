/* safetensors.h - reading and writing .safetensors files: u64 length of the header, a JSON header,
 * then the tensors' bytes; all little endian.
 *
 * 1. A reader trusts nothing: the header's length, its JSON, every dtype, size, offset and the
 * alignment are checked before a tensor is handed out, so a hostile file is an ERR_DATA, never a
 * crash. Tensors must fill the file without holes or overlaps, as the format says.
 * 2. Tensors are mapped, never copied; they live until safetensors_close.
 * 3. A writer's file is complete or absent, holds F32 only, and its hash is known when it is there.
 */
#ifndef INTERCHANGE_SAFETENSORS_H
#define INTERCHANGE_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hash.h"

enum { SAFETENSORS_DIMS_MAX = 8 };

struct safetensors;

struct safetensors_entry {
    const char *name;
    const char *dtype; /* as the file spells it: "F32", "I32", "F16", "BF16", "F64", "I64", … */
    int64_t dims[SAFETENSORS_DIMS_MAX];
    int32_t dims_n;     /* 0: a scalar */
    int64_t elements_n; /* product of dims */
    const void *data;   /* aligned for its dtype; not NULL even for no elements */
    size_t data_bytes;
};

/* safetensors_open - maps and checks a file. Errors: ERR_NOINPUT absent, ERR_DATA with the tensor
 * and what is wrong, ERR_IO, ERR_NOMEM. */
int safetensors_open(struct safetensors **out, const char *path, struct err *e);
void safetensors_close(struct safetensors *s); /* takes NULL */

/* Tensors in the order of their bytes in the file. safetensors_at takes 0 <= i < count. */
int32_t safetensors_count(const struct safetensors *s);
const struct safetensors_entry *safetensors_at(const struct safetensors *s, int32_t i);
/* safetensors_find - NULL if there is none of that name. */
const struct safetensors_entry *safetensors_find(const struct safetensors *s, const char *name);
/* safetensors_metadata - the text of a key of __metadata__, or NULL. */
const char *safetensors_metadata(const struct safetensors *s, const char *key);

/* Writing: open, all metadata and declarations, then one add per tensor in the order of
 * declaration, then commit or abandon (exactly one of them, which frees w). */
struct safetensors_writer;
int safetensors_writer_open(struct safetensors_writer **out, const char *path, struct err *e);
/* safetensors_writer_open_named - for a path that a user named: see file_writer_open_named. */
int safetensors_writer_open_named(struct safetensors_writer **out, const char *path, struct err *e);
int safetensors_writer_metadata(struct safetensors_writer *w, const char *key, const char *text,
                                struct err *e);
int safetensors_writer_declare(struct safetensors_writer *w, const char *name, const int64_t *dims,
                               int32_t dims_n, struct err *e);
int safetensors_writer_add(struct safetensors_writer *w, const float *values, int64_t elements_n,
                           struct err *e);
/* safetensors_writer_commit - sha256 and bytes of the whole file; either may be NULL. */
int safetensors_writer_commit(struct safetensors_writer *w, char sha256[HASH_HEX_BYTES],
                              int64_t *bytes, struct err *e);
void safetensors_writer_abandon(struct safetensors_writer *w); /* takes NULL */

#endif
