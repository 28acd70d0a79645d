/* pretrained.h - checkpoint folders in Hugging Face format: which model a folder holds, and its
 * weights under this program's names (open-models SPEC.md sections 1 to 6).
 *
 * 1. Nothing is executed, imported or downloaded. A malicious folder causes an error that names
 * file and key or tensor, never a crash.
 * 2. A family is a row of families.c: names, keys and switches. It fills the description in struct
 *    spec_model; the forward pass knows no families.
 * 3. Weights stay in their files in their own dtype; pretrained_read reads and converts one tensor,
 *    whose bytes never stay in memory. */
#ifndef PRETRAINED_PRETRAINED_H
#define PRETRAINED_PRETRAINED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include "interchange/safetensors.h"
#include "shape/shape.h"
#include "spec/spec.h"

struct pretrained;

/* pretrained_open - reads config.json and the headers of the weights, and checks that every tensor
 * is used and has its shape. Does not read values. Errors: ERR_NOINPUT a file is absent; ERR_DATA;
 * ERR_UNAVAILABLE a model that this program does not support. The message begins with the path. */
int pretrained_open(struct pretrained **out, const char *folder, struct err *e);
void pretrained_close(struct pretrained *p); /* takes NULL */

struct pretrained_facts {
    const char *family; /* model_type of config.json */
    const char *dtype;  /* of the largest tensor: F32, F16, BF16 or F64 */
    const char *note;   /* what a user should know (an assumed length, a rounded bias); or NULL */
    struct spec spec;   /* a training with origin pretrained: model, position options, train.L,
                           data.vocab; data, scale and model.files are not set */
    struct shape_params params; /* its tensors */
    int64_t weight_bytes;       /* of the files */
};
/* pretrained_facts - in memory of p. */
const struct pretrained_facts *pretrained_facts(const struct pretrained *p);

/* pretrained_read - the values of tensor i of facts.params in fp32, rows * cols of them: converted,
 * transposed, rows of q, k and v in order. May be called by one thread
 * at a time. Errors: ERR_DATA a value is not finite, or the file has become shorter; the message
 * names the tensor of the file. */
int pretrained_read(struct pretrained *p, int32_t i, float *out, struct err *e);

/* A file of the folder and its hash. */
struct pretrained_file {
    const char *name; /* in the folder */
    int64_t bytes;
    char sha256[HASH_HEX_BYTES];
};
/* pretrained_files - config.json, the index if any, the weight files and the tokenizer's files that
 * are there, sorted by name, hashed; in the arena. Takes as long as reading them. tick (may be
 * NULL) is called with the share done and may end the work with an error. */
typedef int pretrained_tick_fn(void *context, double share, struct err *e);
int pretrained_files(struct pretrained_file **out, int32_t *n, struct arena *a, const char *folder,
                     pretrained_tick_fn *tick, void *context, struct err *e);
/* pretrained_fingerprint - SHA-256 of the lines "sha256  name\n" of config.json, index and weight
 * files: the identity of a model (model.files). The tokenizer belongs to the corpus. */
void pretrained_fingerprint(char out[HASH_HEX_BYTES], const struct pretrained_file *file,
                            int32_t n);

#endif
