/* data_support.h - what the tests of src/data share: a folder that goes away, a project in it,
 * token streams in memory, and the int32 tensors of a fixture. */
#ifndef TESTS_DATA_SUPPORT_H
#define TESTS_DATA_SUPPORT_H

#include <stddef.h>
#include <stdint.h>

#include "base/project.h"
#include "data/corpus.h"

struct data_folder {
    char path[256];
    struct project project; /* root is path */
};
void data_folder_make(struct data_folder *f);
void data_folder_remove(struct data_folder *f);
/* data_folder_path - path/name in one of eight buffers, used in turn. */
const char *data_folder_path(const struct data_folder *f, const char *name);
void data_folder_write(const struct data_folder *f, const char *name, const void *bytes, size_t n);
/* data_folder_text - folder/{train,valid,test}.txt. */
void data_folder_text(const struct data_folder *f, const char *folder, const char *train,
                      const char *valid, const char *test);
/* data_folder_read - a whole file as text, from malloc. */
char *data_folder_read(const struct data_folder *f, const char *name);

/* data_tokens - a stream over ids in memory. */
struct tokens data_tokens(const int32_t *ids, int64_t n);

/* A safetensors file, of which only I32 tensors are read. */
struct data_fixture {
    struct file_map map;
    char *head;
    size_t head_n;
};
void data_fixture_open(struct data_fixture *f, const char *path);
void data_fixture_close(struct data_fixture *f);
/* data_fixture_ids - a tensor by name and its number of elements. */
const int32_t *data_fixture_ids(const struct data_fixture *f, const char *name, int64_t *n);
/* data_fixture_bytes - a tensor of one byte an element, as text from malloc. */
char *data_fixture_bytes(const struct data_fixture *f, const char *name, size_t *n);

#endif
