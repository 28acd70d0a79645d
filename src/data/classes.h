/* classes.h - classes of targets: what each token of a split is, when it is a target, as one byte
 * beside it. An evaluation records targets, loss and hits of each class. Users read and write
 * "group": groups.txt, SPLIT.groups, the view target_groups.
 *
 * 1. groups.txt has the names, one a line; the first is class 0. SPLIT.groups has a byte for each
 *    token of the split, line ends included, in the order of the text. Both are beside the text of
 *    valid and test, and in the prepared corpus; the manifest has the names.
 * 2. The fingerprint of a corpus with classes covers names and bytes. */
#ifndef DATA_CLASSES_H
#define DATA_CLASSES_H

#include <stdint.h>

#include "base/err.h"
#include "base/file.h"

enum { CLASSES_MAX = 64, CLASS_NAME_BYTES = 32 };

struct classes {
    int32_t n; /* 0: the corpus has none */
    char name[CLASSES_MAX][CLASS_NAME_BYTES];
};

/* classes_parse - reads names separated by spaces or line ends. Errors: ERR_DATA path and the name
 * that is not one, is repeated or too many. */
int classes_parse(struct classes *out, const char *names, const char *path, struct err *e);

/* classes_open - maps the bytes of a split and checks them: as many as tokens, each the number of a
 * class. Errors: ERR_NOINPUT absent; ERR_DATA; both end with the remedy. */
int classes_open(struct file_map *out, const struct classes *c, const char *path, int64_t tokens_n,
                 const char *remedy, struct err *e);

#endif
