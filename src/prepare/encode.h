/* encode.h - converts text to units of a subword vocabulary, written as text.
 *
 * A file of units is a text: units separated by one space, with the same lines. It is then prepared
 * like a text of words (dictionary by frequency, ids, </s> at the end of each line), as fairseq
 * does. Units that do not occur in the training text are not in the dictionary.
 *
 * - wordpiece: pieces of a BERT vocabulary (vocab.txt), uncased or cased; see prepare/subword.h
 * - bpe: numbers of a GPT-2 vocabulary (vocab.json, merges.txt), as in RoBERTa; see the same
 * - ids: numbers of files that hold ids already, 2 or 4 bytes each, little-endian */
#ifndef PREPARE_ENCODE_H
#define PREPARE_ENCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "prepare/text.h"

enum encode_kind { ENCODE_NONE, ENCODE_WORDPIECE, ENCODE_BPE, ENCODE_IDS };

struct encode_options {
    enum encode_kind kind;
    const char *vocab, *merges; /* files; merges only for bpe */
    bool cased;                 /* wordpiece: keep case and accents */
    int32_t id_bytes;           /* ids: 2 or 4 */
    int64_t id_end;             /* ids: the id that ends a line and becomes </s>; -1: none */
};

/* encode_describe - describes the units with hashes of their files, for the manifest; nothing for
 * ENCODE_NONE. Errors: those of hash_file. */
int encode_describe(const char **out, struct arena *a, const struct encode_options *o,
                    struct err *e);

/* encoder_open - the encoder is in the arena. Errors: ERR_NOINPUT, ERR_DATA of the vocabulary's
 * files; ERR_USAGE. */
struct encoder;
int encoder_open(struct encoder **out, struct arena *a, const struct encode_options *o,
                 struct err *e);
/* encoder_file - writes the units of the file `from` to the file `to`. Errors: ERR_DATA from:line;
 * ERR_IO. */
int encoder_file(struct encoder *c, const char *from, const char *to, struct text_progress progress,
                 struct err *e);

#endif
