/* data_support.h - shared by the tests of src/data and src/prepare: a temporary folder, a project
 * in it, and token streams. */
#ifndef TESTS_DATA_SUPPORT_H
#define TESTS_DATA_SUPPORT_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/project.h"
#include "data/corpus.h"
#include "harness/test.h"
#include "prepare/text.h"

struct data_folder {
    char path[TEST_PATH_BYTES];
    struct project project; /* root is path */
    struct arena arena;
};
/* data_setup, data_teardown - for TEST_EACH: the fixture is a struct data_folder *. */
int data_setup(void **state);
int data_teardown(void **state);
/* data_folder_path - path/name in the arena. */
const char *data_folder_path(struct data_folder *f, const char *name);
void data_folder_write(struct data_folder *f, const char *name, const void *bytes, size_t n);
/* data_folder_text - folder/{train,valid,test}.txt. */
void data_folder_text(struct data_folder *f, const char *folder, const char *train,
                      const char *valid, const char *test);
/* data_folder_read - a whole file as text in the arena; *n (may be NULL) is its length. */
char *data_folder_read(struct data_folder *f, const char *name, size_t *n);

/* data_tokens - a stream over ids in memory. */
struct tokens data_tokens(const int32_t *ids, int64_t n);
/* data_write_tokens - a token file with these ids and DATA_HASH. */
#define DATA_HASH "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
int data_write_tokens(const char *path, const int32_t *ids, int64_t n, int32_t vocab,
                      struct err *e);

/* data_text - a text in memory with the name "here" in messages. */
#define data_text(data, length)                                                                    \
    (&(const struct text){.bytes = (data), .n = (length), .place = "here"})
/* data_count_items - words and line ends of a text. */
int data_count_items(int64_t *n, const struct text *t, struct err *e);

#endif
