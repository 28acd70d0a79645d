/* safetensors.h - reading and writing .safetensors files: u64 length of the header, a JSON header,
 * then the tensors' bytes; all little endian.
 *
 * 1. A reader trusts nothing: the header's length, its JSON, every dtype, size, offset and the
 *    alignment are checked before a tensor is handed out, so a hostile file is an ERR_DATA, never a
 *    crash. Tensors must fill the file without holes or overlaps, as the format says.
 * 2. Tensors are mapped, never copied; they live until safetensors_close.
 * 3. A written file is complete or absent, and its hash is known when it is complete. */
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

/* What a file is to hold. */
struct safetensors_text {
    const char *key, *text;
};
struct safetensors_content {
    bool named;                          /* the user named the path: see file_writer_open_named */
    const struct safetensors_text *text; /* __metadata__ */
    int32_t texts_n;
    const struct safetensors_entry *entry; /* name and dims of each tensor, in their order */
    int32_t entries_n;
    /* The values of tensor i, which hold until the next call. NULL: entry[i].data. */
    int (*read)(void *context, int32_t i, const float **values, struct err *e);
    void *context;
};

/* safetensors_write - replaces the file; every tensor is F32. sha256 and bytes are of the whole
 * file and may be NULL. Errors: those of `read`; ERR_CREATE, ERR_IO, ERR_NOMEM; ERR_INTERNAL a name
 * or a text is not UTF-8. */
int safetensors_write(const char *path, const struct safetensors_content *c,
                      char sha256[HASH_HEX_BYTES], int64_t *bytes, struct err *e);

#endif
