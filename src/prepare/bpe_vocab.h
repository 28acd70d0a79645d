/* bpe_vocab.h - the symbols and the merges of a byte-level BPE vocabulary, read from its files. */
#ifndef PREPARE_BPE_VOCAB_H
#define PREPARE_BPE_VOCAB_H

#include <stdint.h>

#include "base/err.h"

/* Two neighbouring symbols that become one; the lower rank goes first. */
struct bpe_merge {
    int32_t left, right; /* left -1: the slot is free */
    int32_t rank, merged;
};

struct bpe_vocab {
    int32_t of_byte[256];
    struct bpe_merge *slot_own;
    uint32_t slots_n; /* a power of two, at least twice the merges */
};

/* bpe_vocab_read - vocab.json: one object of symbols and their numbers; merges.txt: a pair a line,
 * the first line may be "#version: …". Errors: ERR_NOINPUT; ERR_DATA file and place. */
int bpe_vocab_read(struct bpe_vocab *v, const char *vocab_path, const char *merges_path,
                   struct err *e);
void bpe_vocab_free(struct bpe_vocab *v);

/* bpe_vocab_find - NULL when the pair is not merged. */
const struct bpe_merge *bpe_vocab_find(const struct bpe_vocab *v, int32_t left, int32_t right);

#endif
