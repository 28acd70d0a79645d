/* corpus_split.c - their names. */
#include "data/corpus_split.h"

const char *corpus_split_name(enum corpus_split split)
{
    static const char *const names[CORPUS_SPLITS_N] = {"train", "valid", "test"};
    return names[split];
}
