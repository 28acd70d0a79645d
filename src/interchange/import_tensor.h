/* import_tensor.h - the tensors that a PyTorch checkpoint describes.
 *
 * A tensor is a view of a storage: offset, sizes and strides, in elements. Every view is checked to
 * stay inside its storage, and every storage to be in the file with the size that is claimed. */
#ifndef INTERCHANGE_IMPORT_TENSOR_H
#define INTERCHANGE_IMPORT_TENSOR_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "interchange/torch_file.h"
#include "interchange/pickle.h"

enum { IMPORT_DIMS_MAX = 8 };

enum import_dtype { IMPORT_F32, IMPORT_F16, IMPORT_BF16, IMPORT_OTHER };

struct import_tensor {
    const char *name;
    const char *key; /* of the storage */
    enum import_dtype dtype;
    const char *type; /* as PyTorch calls it, such as HalfStorage */
    int64_t storage_bytes;
    int64_t offset, elements_n;
    int32_t dims_n;
    int64_t dims[IMPORT_DIMS_MAX], strides[IMPORT_DIMS_MAX];
};

/* import_names - what the pickle of a checkpoint may name: see pickle.h. */
const struct pickle_name *import_names(size_t *n);

/* import_tensors_read - of a state dict, in its order, in the arena. Errors: ERR_DATA no dict of
 * tensors, a name twice, a view beyond its storage, a storage that is absent or of another size. */
int import_tensors_read(struct import_tensor **out, int32_t *n, const struct import_archive *z,
                        const struct pickle_value *state_dict, struct err *e);

/* import_tensor_same_view - the same numbers because it is the same place. */
int import_tensor_same_view(const struct import_tensor *x, const struct import_tensor *y);

/* import_tensor_widen - the elements in row order as fp32, from the bytes of the storage. Half
 * precision is widened exactly. The dtype is not IMPORT_OTHER. */
void import_tensor_widen(float *out, const struct import_tensor *t, const void *storage);

#endif
