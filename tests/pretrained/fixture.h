/* fixture.h - a copy of a small valid checkpoint folder, to be edited, and folders whose weights
 * are the numbers of their elements. Texts may be written with ' instead of ". */
#ifndef TESTS_PRETRAINED_FIXTURE_H
#define TESTS_PRETRAINED_FIXTURE_H

#include "harness/test.h"
#include "pretrained/pretrained.h"

/* open_folder_copy - a new folder `name` in p with the files of the valid one; its path. */
const char *open_folder_copy(struct test_place *p, const char *name);
/* open_folder_edit - replaces a text of a file of the folder, in a safetensors file of its header.
 */
void open_folder_edit(struct test_place *p, const char *folder, const char *file, const char *from,
                      const char *to);
/* open_folder_write - writes a file of the folder. */
void open_folder_write(struct test_place *p, const char *folder, const char *file,
                       const char *text);
/* open_folder_weights - writes model.safetensors of the tensors of a list such as "wte.weight 8
 * 4;ln_f.weight 4". They are F32, and element i is i; the first tensor may have other values. */
struct open_folder_values {
    const char *dtype;
    size_t bytes; /* of an element */
    const void *values;
};
void open_folder_weights(struct test_place *p, const char *folder, const char *list,
                         const struct open_folder_values *first);
/* open_folder_read - opens a folder and reads all its tensors. */
int open_folder_read(const char *folder, struct err *e);

#endif
