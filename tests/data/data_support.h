/* data_support.h - shared by the tests of src/data and src/prepare: texts and token streams. */
#ifndef TESTS_DATA_SUPPORT_H
#define TESTS_DATA_SUPPORT_H

#include <stddef.h>
#include <stdint.h>

#include "data/corpus.h"
#include "harness/test.h"
#include "prepare/text.h"

/* data_write_texts - folder/{train,valid,test}.txt. */
void data_write_texts(struct test_place *f, const char *folder, const char *train,
                      const char *valid, const char *test);
/* data_tokens - a stream over ids in memory. */
struct tokens data_tokens(const int32_t *ids, int64_t n);
/* data_write_tokens - a token file with these ids and DATA_HASH. */
#define DATA_HASH "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
int data_write_tokens(const char *path, const int32_t *ids, int64_t n, int32_t vocab,
                      struct err *e);

/* data_write_tokenized - a corpus data/NAME as a tokenizer makes it: splits train and valid are
 * empty, test has documents that begin at these tokens. Its prefix is 0. */
void data_write_tokenized(struct test_place *f, const char *name, const int32_t *ids, int64_t n,
                          int32_t vocab, const int64_t *document, int64_t documents_n);

/* data_text - a text in memory with the name "here" in messages. */
#define data_text(data, length)                                                                    \
    (&(const struct text){.bytes = (data), .n = (length), .name = "here"})
/* data_count_items - words and line ends of a text. */
int data_count_items(int64_t *n, const struct text *t, struct err *e);

#endif
