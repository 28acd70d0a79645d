/* expected.c - the table. Tokens include the </s> of every line; the vocabulary its fillers.
 * Sources: fairseq-preprocess on the files of wikitext-103-v1.zip and wikitext-2-v1.zip. */
#include "prepare/expected.h"

#include <stddef.h>
#include <string.h>

static const struct {
    const char *name;
    int32_t vocab;
    int64_t tokens_n[CORPUS_SPLITS_N];
} expected[] = {
    {"wikitext103", 267744, {103227021, 217646, 245569}},
    {"wikitext2", 33280, {2088628, 217646, 245569}},
};

int expected_check(const char *name, int32_t vocab, const int64_t tokens_n[CORPUS_SPLITS_N],
                   struct err *e)
{
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        if (strcmp(expected[i].name, name) != 0) continue;
        for (int k = 0; k < CORPUS_SPLITS_N; k++)
            if (tokens_n[k] != expected[i].tokens_n[k])
                return ERR(e, ERR_DATA,
                           "%s: %s has %lld tokens, the corpus of this name has %lld; take the "
                           "files of its archive, or prepare this text under another name",
                           name, corpus_split_name((enum corpus_split)k), (long long)tokens_n[k],
                           (long long)expected[i].tokens_n[k]);
        if (vocab == expected[i].vocab) return 0;
        return ERR(e, ERR_DATA,
                   "%s: a vocabulary of %d, the corpus of this name has %d; prepare this under "
                   "another name",
                   name, vocab, expected[i].vocab);
    }
    return 0;
}
