/* import_fixture.h - the checkpoints that PyTorch wrote (make_checkpoint.py), their specification,
 * and zip files made from changed parts of them. */
#ifndef TESTS_IMPORT_FIXTURE_H
#define TESTS_IMPORT_FIXTURE_H

#include <stddef.h>
#include <stdint.h>

#include "harness/test.h"
#include "interchange/interchange.h"
#include "interchange/torch_file.h"
#include "spec/spec.h"

#define IMPORT_FIXTURE_TINY "tests/fixtures/checkpoints/tiny.pt"
#define IMPORT_FIXTURE_HALF "tests/fixtures/checkpoints/tiny_half.pt"

enum { IMPORT_PATH_BYTES = TEST_PATH_BYTES };

struct import_fixture {
    char root[IMPORT_PATH_BYTES], path[IMPORT_PATH_BYTES + 16]; /* path: for changed files */
    struct arena arena;
    struct torch_file file; /* tiny.pt with all its storages */
};

/* cmocka setup and teardown; *state is the fixture. */
int import_fixture_make(void **state);
int import_fixture_remove(void **state);

/* import_fixture_spec - of the training that gave the checkpoints. */
struct spec import_fixture_spec(void);

/* import_fixture_zip - writes a zip of this pickle and the fixture's storages to f->path. */
void import_fixture_zip(const struct import_fixture *f, const void *pickle, size_t n);

/* import_fixture_replace - the fixture's pickle with the first `from` replaced by `to`, in the
 * arena. */
char *import_fixture_replace(struct import_fixture *f, const char *from, size_t from_n,
                             const char *to, size_t to_n, size_t *n);

/* import_fixture_must_open - fails the case if the file is rejected. must_refuse - fails it unless
 * the error is ERR_DATA with this word. must_say - must_refuse for an existing result. */
struct import *import_fixture_must_open(const char *path);
void import_fixture_must_refuse(const char *path, const char *word);
void import_fixture_must_say(int rc, const struct err *e, const char *word);

/* import_fixture_attempt - an empty folder of an attempt under the fixture's. import_fixture_write
 * - an import into one. import_fixture_must_fail - such an import of f->path, which must_say. */
void import_fixture_attempt(const struct import_fixture *f, char dir[IMPORT_PATH_BYTES + 16]);
int import_fixture_write(const struct import_fixture *f, struct import *im, struct err *e);
void import_fixture_must_fail(const struct import_fixture *f, const char *word);

#endif
