/* tokenizer.h - the tokenizers of checkpoint folders in Hugging Face format (open-models SPEC.md
 * section 7): byte-level and SentencePiece BPE from tokenizer.json, or vocab.json and merges.txt.
 *
 * 1. A component that is not read is refused by name. A pattern is looked up in a closed list and
 *    never compiled from a file, because a hostile one could make any engine run for ever.
 * 2. Encoding takes O(n log n) for a word of n characters, and words have no limit. What files
 *    expand to has one: the text (stages.h), the template and the added tokens (tokenizer.c).
 * 3. Ids are those of HF tokenizers 0.23.3, but for characters of later Unicode versions than its
 *    NFC (9) and its punctuation have, or than those of PCRE2 (10.42: 14).
 * 4. A byte-level vocabulary may lack bytes, as most published ones do: such a byte becomes
 *    unk_token, or is dropped and counted. Another character without a token and without unk_token
 *    is an error; HF tokenizers drops it. */
#ifndef TOKENIZER_TOKENIZER_H
#define TOKENIZER_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hash.h"

struct tokenizer;

enum { TOKENIZER_LACKS_BYTES = 1024, TOKENIZER_UNICODE_BYTES = 24 };

/* tokenizer_open - reads the tokenizer of a folder. vocab: classes of the model; no id may reach
 * it; 0: unknown. Errors: ERR_NOINPUT no tokenizer; ERR_DATA; ERR_UNAVAILABLE a component that this
 * program does not support. */
int tokenizer_open(struct tokenizer **out, const char *folder, int32_t vocab, struct err *e);
void tokenizer_close(struct tokenizer *t); /* takes NULL */

struct tokenizer_facts {
    int32_t ids_n;  /* one more than the highest id */
    int32_t prefix; /* bos_token, else eos_token: the source that predicts a text's first token; -1:
                       neither */
    char sha256[HASH_HEX_BYTES];       /* of what determines ids: its files, by name */
    char lacks[TOKENIZER_LACKS_BYTES]; /* bytes of UTF-8 without a symbol: "0x04 0x13-0x16"; "" */
    bool drops;                        /* drops those bytes; else they become unk_token */
    /* In the texts encoded so far: bytes that were dropped, and, if the tokenizer is byte-level,
     * characters newer than the Unicode of the patterns. */
    int64_t dropped_n, newer_n;
    char unicode[TOKENIZER_UNICODE_BYTES]; /* version of Unicode of the patterns, such as 14.0.0 */
};
const struct tokenizer_facts *tokenizer_facts(const struct tokenizer *t);

/* tokenizer_encode - the ids of a text in strict UTF-8, without special tokens of the template, or
 * with them. *ids: malloc'ed, *ids_n of them; also set to NULL and 0 by an error. tick (may be
 * NULL) is called with the share done and may end the work with an error. Errors: ERR_DATA names
 * the byte that is not UTF-8, or stages expand the text too far; ERR_NOMEM. */
typedef int tokenizer_tick_fn(void *context, double share, struct err *e);
int tokenizer_encode(struct tokenizer *t, const char *text, size_t n, bool with_special,
                     int32_t **ids, int64_t *ids_n, tokenizer_tick_fn *tick, void *context,
                     struct err *e);

#endif
