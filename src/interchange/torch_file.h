/* torch_file.h - reads zip files of torch.save: FOLDER/data.pkl describes tensors, FOLDER/data/KEY
 * contains the bytes of each storage.
 *
 * 1. libarchive reads the zip and checks sizes and checksums. This file checks that there is one
 *    folder, that no name occurs twice, and that no member is larger than the file.
 * 2. A tensor is a view of a storage: offset, sizes and strides in elements. Every view must be
 *    inside its storage, and every storage must be in the file with the stated size.
 * 3. Nothing in the file is executed (pickle.h). */
#ifndef INTERCHANGE_TORCH_FILE_H
#define INTERCHANGE_TORCH_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "interchange/pickle.h"

enum { TORCH_DIMS_MAX = 8 };

struct torch_storage {
    const char *key; /* of FOLDER/data/KEY */
    int64_t bytes;
    bool wanted; /* by torch_file_read */
    void *data_own;
};

struct torch_file {
    const char *path;
    struct arena *arena;
    struct torch_storage *storage; /* sorted by key */
    int32_t storages_n;
    const void *pickle; /* of FOLDER/data.pkl */
    size_t pickle_bytes;
};

/* torch_file_open - lists the file and reads its pickle into the arena. Errors: ERR_NOINPUT;
 * ERR_DATA not a zip file, written by torch.save before 1.6 or by another program, damaged,
 * truncated. */
int torch_file_open(struct torch_file *f, struct arena *a, const char *path, struct err *e);

/* torch_file_describe - the value that the pickle describes, in the arena of f. */
int torch_file_describe(struct pickle_value **out, const struct torch_file *f, struct err *e);

enum torch_dtype { TORCH_F32, TORCH_F16, TORCH_BF16, TORCH_OTHER };

struct torch_tensor {
    const char *name;
    struct torch_storage *storage;
    enum torch_dtype dtype;
    const char *type; /* PyTorch's name, such as HalfStorage */
    int64_t offset, elements_n;
    int32_t dims_n;
    int64_t dims[TORCH_DIMS_MAX], strides[TORCH_DIMS_MAX];
};

/* torch_tensors_read - reads the tensors of a state dict in its order, in the arena of f. Errors:
 * ERR_DATA not a dict of tensors, a duplicate name, a view outside its storage, a missing storage
 * or one of another size. */
int torch_tensors_read(struct torch_tensor **out, int32_t *n, const struct torch_file *f,
                       const struct pickle_value *state_dict, struct err *e);

/* torch_tensor_same_view - whether both tensors are the same view of the same storage. */
bool torch_tensor_same_view(const struct torch_tensor *x, const struct torch_tensor *y);

/* torch_file_read - reads the wanted storages in one pass over the file. Errors: ERR_DATA damaged;
 * ERR_NOMEM. torch_file_close - frees them, also after an error. */
int torch_file_read(struct torch_file *f, struct err *e);
void torch_file_close(struct torch_file *f);

/* torch_tensor_widen - converts the elements to fp32 in row order, from the bytes of the storage.
 * fp16 and bf16 convert exactly. The dtype must not be TORCH_OTHER. */
void torch_tensor_widen(float *out, const struct torch_tensor *t, const void *storage);

#endif
