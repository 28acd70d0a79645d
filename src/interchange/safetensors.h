/* safetensors.h - reads and writes .safetensors files: u64 length of the header, a JSON header, the
 * tensors' bytes; all little-endian.
 *
 * 1. The reader checks the header's length, its JSON, every dtype, size, offset and alignment
 *    before returning a tensor. A malicious file causes ERR_DATA, never a crash. Tensors must fill
 *    the file without gaps or overlaps, as the format requires.
 * 2. Tensors are mapped, not copied; they are valid until safetensors_close.
 * 3. A written file is complete or absent; its hash is computed while writing. */
#ifndef INTERCHANGE_SAFETENSORS_H
#define INTERCHANGE_SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hash.h"

enum { SAFETENSORS_DIMS_MAX = 8 };

struct safetensors;

struct safetensors_entry {
    const char *name;
    const char *dtype; /* as in the file: "F32", "I32", "F16", "BF16", "F64", "I64", … */
    int64_t dims[SAFETENSORS_DIMS_MAX];
    int32_t dims_n;     /* 0: a scalar */
    int64_t elements_n; /* product of dims */
    const void *data;   /* aligned for its dtype, unless the file is foreign; not NULL even for no
                           elements */
    size_t data_bytes;
};

/* safetensors_open - maps and checks a file. Errors: ERR_NOINPUT absent; ERR_DATA with tensor and
 * problem; ERR_IO; ERR_NOMEM. */
int safetensors_open(struct safetensors **out, const char *path, struct err *e);
/* safetensors_open_foreign - the same for a file of another program, whose tensors may be unaligned
 * or have a dtype that is not in the list, such as F8_E4M3. Read it with safetensors_copy. */
int safetensors_open_foreign(struct safetensors **out, const char *path, struct err *e);
void safetensors_close(struct safetensors *s); /* takes NULL */

/* Tensors in the order of their bytes in the file. safetensors_at takes 0 <= i < count. */
int32_t safetensors_count(const struct safetensors *s);
const struct safetensors_entry *safetensors_at(const struct safetensors *s, int32_t i);
/* safetensors_find - the tensor of that name, or NULL. */
const struct safetensors_entry *safetensors_find(const struct safetensors *s, const char *name);
/* safetensors_release - takes a tensor's bytes out of memory until they are read again. */
void safetensors_release(const struct safetensors *s, const struct safetensors_entry *tensor);
/* safetensors_copy - n bytes of a tensor from byte `first` on, read from the file instead of the
 * map, so that a file that became shorter causes an error. Errors: ERR_DATA, ERR_IO, which name the
 * tensor. safetensors_bytes - of the file. */
int safetensors_copy(const struct safetensors *s, const struct safetensors_entry *tensor,
                     size_t first, void *out, size_t n, struct err *e);
size_t safetensors_bytes(const struct safetensors *s);
/* safetensors_metadata - the text of a key of __metadata__, or NULL. */
const char *safetensors_metadata(const struct safetensors *s, const char *key);

/* A key of __metadata__ and its text. struct safetensors_content is the header of a file to write.
 */
struct safetensors_text {
    const char *key, *text;
};
struct safetensors_content {
    bool named;                          /* the user gave the path: use file_writer_open_named */
    const struct safetensors_text *text; /* __metadata__ */
    int32_t texts_n;
    const struct safetensors_entry *entry; /* name, dtype and dims of each tensor, in order */
    int32_t entries_n;
};

/* Writes a file: open, add the values of each tensor in order, close, which also follows an error
 * of open. Every tensor is I32, or F32, also if its dtype is NULL. The file replaces an existing
 * one if rc is 0; sha256 and bytes of the whole file may be NULL. Close returns rc or its own
 * error. Errors: ERR_CREATE, ERR_IO, ERR_NOMEM; ERR_INTERNAL a name or a text is not UTF-8. */
struct safetensors_writer {
    struct file_writer *file_own;
    struct hash_state *hash_own;
    int64_t bytes;
};
int safetensors_writer_open(struct safetensors_writer *w, const char *path,
                            const struct safetensors_content *c, struct err *e);
int safetensors_writer_add(struct safetensors_writer *w, const void *values, int64_t elements_n,
                           struct err *e);
int safetensors_writer_close(struct safetensors_writer *w, int rc, char sha256[HASH_HEX_BYTES],
                             int64_t *bytes, struct err *e);

#endif
