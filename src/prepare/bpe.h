/* bpe.h - the byte-level pairs of GPT-2 (Radford et al. 2019), which RoBERTa uses too.
 *
 * 1. A line without white space at its ends is cut into words with their leading space, numbers,
 *    runs of other signs, contractions ('s 't 're 've 'm 'll 'd) and runs of white space, as
 * GPT-2's regular expression does.
 * 2. The bytes of a word are its first symbols; the pair that merges.txt lists first is joined, as
 *    often as there is one. A symbol is written as its number in vocab.json. */
#ifndef PREPARE_BPE_H
#define PREPARE_BPE_H

#include "base/err.h"
#include "prepare/encoded.h"

struct bpe;
/* bpe_open - Errors: ERR_NOINPUT; ERR_DATA a file that is not as GPT-2's, with its place. */
int bpe_open(struct bpe **out, const char *vocab_path, const char *merges_path, struct err *e);
void bpe_close(struct bpe *b); /* takes NULL */
/* bpe_line - adds the units of a line of n bytes. Errors: ERR_DATA with the byte that is not UTF-8,
 * or a word of more than 65,536 bytes. */
int bpe_line(struct bpe *b, struct encoded *out, const char *line, size_t n, struct err *e);

#endif
