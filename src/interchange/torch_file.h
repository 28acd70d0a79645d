/* torch_file.h - reads zip files of torch.save: FOLDER/data.pkl describes tensors, FOLDER/data/KEY
 * contains the bytes of each storage.
 *
 * 1. The file is mapped. libarchive reads the zip and checks sizes and checksums. This file checks
 *    that no name occurs twice, and that no member is larger than the file.
 * 2. A tensor is a view of a storage: offset, sizes and strides in elements. Every view must be
 *    inside its storage, and every storage must be in the file with the stated size.
 * 3. Nothing in the file is executed. */
#ifndef INTERCHANGE_TORCH_FILE_H
#define INTERCHANGE_TORCH_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "base/map.h"

/* --- pickle.c: reads Python pickles of protocol 2 as data, without calling anything ---
 *
 * 1. Only the operations that torch.save writes are supported; any other is an error.
 * 2. A pickle names classes and functions. Only the names that torch_name_find knows are accepted,
 *    and only for the use that their row allows. A "call" only makes a node with the name and the
 *    arguments.
 * 3. Sizes, counts, stack, marks and memo are checked before use; the number of values and the size
 *    of the file are limited. A malicious file causes ERR_DATA, never a crash.
 * 4. Values may be shared and may contain themselves: look them up by name, do not traverse them.
 */

enum { PICKLE_BYTES_MAX = 16 << 20, PICKLE_VALUES_MAX = 1 << 20 };

enum pickle_type {
    PICKLE_NONE,
    PICKLE_BOOL,
    PICKLE_INT,
    PICKLE_REAL,
    PICKLE_TEXT,      /* UTF-8 */
    PICKLE_LIST,      /* item[0 .. n) */
    PICKLE_TUPLE,     /* item[0 .. n) */
    PICKLE_DICT,      /* item[0 .. n): key, value, key, value */
    PICKLE_GLOBAL,    /* name */
    PICKLE_OBJECT,    /* name(arguments) */
    PICKLE_PERSISTENT /* arguments is the id: in PyTorch's files, a storage */
};

struct pickle_value {
    enum pickle_type type;
    int64_t integer; /* also of PICKLE_BOOL */
    double real;
    const char *text;
    struct pickle_value **item;
    int32_t n, capacity; /* of item */
    const struct torch_name *name;
    const struct pickle_value *arguments, *state; /* state: what BUILD attached, or NULL */
};

/* pickle_read - the value of a pickle of n bytes, in the arena. path names the file in messages.
 * Errors: ERR_DATA with the position of the invalid byte. */
int pickle_read(struct pickle_value **out, struct arena *a, const void *data, size_t n,
                const char *path, struct err *e);

/* pickle_get - the value of a key of a dict, or of an object's attribute, also within containers of
 * omegaconf. NULL if absent; v may be NULL. */
const struct pickle_value *pickle_get(const struct pickle_value *v, const char *key);

/* --- torch_file.c --------------------------------------------------------------------------- */

/* A name that the pickle of a checkpoint may contain. */
enum torch_use {
    TORCH_NAME, /* not called */
    TORCH_DICT, /* called: an empty dict */
    TORCH_CALL  /* called: an object with that name */
};
enum torch_dtype { TORCH_OTHER, TORCH_F32, TORCH_F16, TORCH_BF16 };
struct torch_name {
    const char *name; /* "module.name" */
    enum torch_use use;
    enum torch_dtype dtype; /* of a type of storage */
    int32_t bytes;          /* of an element of this type; 0: another name */
};
/* torch_name_find - the row of a name, or NULL. */
const struct torch_name *torch_name_find(const char *name);

enum { TORCH_DIMS_MAX = 8 };

struct torch_storage {
    const char *key; /* of FOLDER/data/KEY */
    int64_t bytes;
    bool wanted;      /* by torch_file_read */
    const void *data; /* in the map, or data_own if the zip compresses it */
    void *data_own;
};

struct torch_file {
    const char *path;
    struct arena *arena;
    struct file_map map;
    struct {
        struct torch_storage *item;
        int32_t n, capacity;
    } storages;
    struct map storage_of; /* key -> index */
    const void *pickle;    /* of FOLDER/data.pkl */
    size_t pickle_bytes;
};

/* torch_file_open - lists the file and reads its pickle into the arena. torch_file_close is called
 * also after an error. Errors: ERR_NOINPUT; ERR_DATA not a zip file, written by torch.save before
 * 1.6 or by another program, damaged, truncated. */
int torch_file_open(struct torch_file *f, struct arena *a, const char *path, struct err *e);
void torch_file_close(struct torch_file *f);

struct torch_tensor {
    const char *name;
    struct torch_storage *storage;
    const struct torch_name *type; /* of the storage */
    int64_t offset, elements_n;
    int32_t dims_n;
    int64_t dims[TORCH_DIMS_MAX], strides[TORCH_DIMS_MAX];
};

/* torch_tensors_read - reads the tensors of a state dict in its order, in the arena of f. Errors:
 * ERR_DATA not a dict of tensors, a duplicate name, a view outside its storage, a missing storage
 * or one of another size. */
int torch_tensors_read(struct torch_tensor **out, int32_t *n, const struct torch_file *f,
                       const struct pickle_value *state_dict, struct err *e);

/* torch_file_read - reads the wanted storages in one pass over the file. Errors: ERR_DATA damaged;
 * ERR_NOMEM. */
int torch_file_read(struct torch_file *f, struct err *e);
/* torch_storage_release - takes a storage's bytes out of memory until they are read again: only the
 * largest storage need be in memory. */
void torch_storage_release(const struct torch_file *f, const struct torch_storage *s);

/* torch_tensor_widen - converts the elements to fp32 in row order, from the bytes of the storage.
 * fp16 and bf16 convert exactly. The dtype must not be TORCH_OTHER. */
void torch_tensor_widen(float *out, const struct torch_tensor *t, const void *storage);

#endif
