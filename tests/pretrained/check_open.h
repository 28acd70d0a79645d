/* check_open.h - comparisons with folders of open models (open-models SPEC.md section 10). */
#ifndef TESTS_PRETRAINED_CHECK_OPEN_H
#define TESTS_PRETRAINED_CHECK_OPEN_H

#include <stdbool.h>

#include "model/model.h"
#include "pretrained/pretrained.h"

enum { CHECK_OPEN_LINE_BYTES = 1200 };

/* Compares a folder of one kind and writes one line with the largest differences. Returns 0 only if
 * all hold. device: of models, such as cpu. */
typedef int check_open_fn(const char *folder, const char *device, char line[CHECK_OPEN_LINE_BYTES]);
check_open_fn check_open_model, check_open_tokenizer, check_open_complete;

/* check_open_load - gives a folder's weights to a model, which reads them until both are closed if
 * it is streamed. */
int check_open_load(struct model *m, struct pretrained *p, bool streamed, struct err *e);

#endif
