/* groups.h - target groups: what each token of a split is, when it is a target, as one byte beside
 * it. An evaluation records targets, loss and hits of each group.
 *
 * 1. groups.txt has the names, one a line; the first is group 0. SPLIT.groups has a byte for each
 *    token of the split, line ends included, in the order of the text. Both are beside the text of
 *    valid and test, and in the prepared corpus; the manifest has the names.
 * 2. The fingerprint of a corpus with groups covers names and bytes. */
#ifndef DATA_GROUPS_H
#define DATA_GROUPS_H

#include <stdint.h>

#include "base/err.h"
#include "base/file.h"

enum { GROUPS_MAX = 64, GROUP_NAME_BYTES = 32 };

struct groups {
    int32_t n; /* 0: the corpus has none */
    char name[GROUPS_MAX][GROUP_NAME_BYTES];
};

/* groups_parse - reads names separated by spaces or line ends. Errors: ERR_DATA place and the name
 * that is not one, is repeated or too many. */
int groups_parse(struct groups *out, const char *names, const char *place, struct err *e);

/* groups_open - maps the bytes of a split and checks them: as many as tokens, each the number of a
 * group. Errors: ERR_NOINPUT absent; ERR_DATA; both end with the remedy. */
int groups_open(struct file_map *out, const struct groups *g, const char *path, int64_t tokens_n,
                const char *remedy, struct err *e);

#endif
