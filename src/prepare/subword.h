/* subword.h - the subword encoders of prepare/encode.h, line by line.
 *
 * WordPiece is here because the paper's BookCorpus uses BERT's vocabulary
 * (configs/data/bookcorpus.yaml). Characters are classified by unicode.c, not by PCRE2 as in
 * tokenizer/: its tables differ between versions, but the ids of a corpus must not. */
#ifndef PREPARE_SUBWORD_H
#define PREPARE_SUBWORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "base/str.h"

/* unit_add - appends a unit to a line of units separated by spaces. The unit is `first` (may be
 * empty) followed by `rest`. */
void unit_add(struct strbuf *line, const char *first, const char *rest, size_t rest_n);
/* unit_add_number - unit_add of a decimal number. */
void unit_add_number(struct strbuf *line, uint32_t number);

/* Classes of characters used by the encoders. */
enum unicode_class {
    UNICODE_OTHER = '-',
    UNICODE_LETTER = 'L',
    UNICODE_NUMBER = 'N',
    UNICODE_PUNCTUATION = 'P', /* includes every ASCII symbol that is not a letter or digit */
    UNICODE_MARK = 'M'         /* combining accents: category Mn */
};
enum { UNICODE_N = 0x110000, UNICODE_SIMPLE_N = 0x2000 };
struct unicode {
    char class[UNICODE_N]; /* enum unicode_class; 0: other */
    /* The character in lower case without accents, if that is one character; else itself. */
    uint16_t simple[UNICODE_SIMPLE_N];
};
const struct unicode *unicode_make(struct arena *a);

/* The word pieces of a BERT vocabulary (Devlin et al. 2018).
 *
 * 1. A line is split at white space, and before and after each punctuation mark and each Chinese
 *    character. Control characters are dropped; for an uncased vocabulary, letters lose case and
 *    accents.
 * 2. A word becomes the longest piece that begins it, then the longest "##piece" that continues it,
 *    and so on. A word without such pieces or with more than 100 characters becomes <unk>. */
struct wordpiece;
/* wordpiece_open - reads vocab.txt, one piece per line, into the arena. Errors: ERR_NOINPUT;
 * ERR_DATA. */
int wordpiece_open(struct wordpiece **out, struct arena *a, const char *path, bool cased,
                   struct err *e);
/* wordpiece_line - appends the units of a line. Errors: ERR_DATA names the byte that is not UTF-8.
 */
int wordpiece_line(struct wordpiece *w, struct strbuf *out, const char *line, size_t n,
                   struct err *e);

/* The byte-level pairs of GPT-2 (Radford et al. 2019), which RoBERTa uses too.
 *
 * 1. A line without white space at its ends is split into words with their leading space, numbers,
 *    runs of other symbols, contractions ('s 't 're 've 'm 'll 'd) and runs of white space, like
 *    GPT-2's regular expression.
 * 2. A word begins as its bytes. The pair that merges.txt lists first is merged, until no listed
 *    pair is left. A symbol is written as its number in vocab.json. */
struct bpe;
/* bpe_open - reads vocab.json, an object of symbols and their numbers, and merges.txt, a pair per
 * line after an optional line "#version: …", into the arena. Errors: ERR_NOINPUT; ERR_DATA with the
 * place. */
int bpe_open(struct bpe **out, struct arena *a, const char *vocab_path, const char *merges_path,
             struct err *e);
/* bpe_line - appends the units of a line. Errors: ERR_DATA names the byte that is not UTF-8;
 * ERR_NOMEM. */
int bpe_line(struct bpe *b, struct strbuf *out, const char *line, size_t n, struct err *e);

#endif
