/* subword.h - the encoders of prepare/encode.h, a line at a time. */
#ifndef PREPARE_SUBWORD_H
#define PREPARE_SUBWORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "base/str.h"

/* What the encoders ask of a character. */
enum unicode_class {
    UNICODE_OTHER = '-',
    UNICODE_LETTER = 'L',
    UNICODE_NUMBER = 'N',
    UNICODE_PUNCTUATION = 'P', /* also every sign of ASCII that is not a letter or digit */
    UNICODE_MARK = 'M'         /* accents that follow their letter: category Mn */
};
enum { UNICODE_N = 0x110000, UNICODE_SIMPLE_N = 0x2000 };
struct unicode {
    char class[UNICODE_N]; /* enum unicode_class; 0: other */
    /* Lower case without accents, where that is one character; any other character as it is. */
    uint16_t simple[UNICODE_SIMPLE_N];
};
const struct unicode *unicode_make(struct arena *a);

/* The word pieces of a BERT vocabulary (Devlin et al. 2018).
 *
 * 1. A line is cut at white space, and before and after each punctuation mark and each Chinese
 *    character; control characters are dropped, letters of an uncased vocabulary lose case
 *    and accents.
 * 2. A word becomes the longest piece that begins it, then the longest "##piece" that goes on, and
 *    so forth. One that cannot be spelled so, or of more than 100 characters, becomes <unk>. */
struct wordpiece;
/* wordpiece_open - from vocab.txt: one piece a line; all of it is in the arena. Errors:
 * ERR_NOINPUT; ERR_DATA. */
int wordpiece_open(struct wordpiece **out, struct arena *a, const char *path, bool cased,
                   struct err *e);
/* wordpiece_line - adds the units of a line. Errors: ERR_DATA with the byte that is not UTF-8. */
int wordpiece_line(struct wordpiece *w, struct strbuf *out, const char *line, size_t n,
                   struct err *e);

/* The byte-level pairs of GPT-2 (Radford et al. 2019), which RoBERTa uses too.
 *
 * 1. A line without white space at its ends is cut into words with their leading space, numbers,
 *    runs of other signs, contractions ('s 't 're 've 'm 'll 'd) and runs of white space, as
 *    GPT-2's regular expression does.
 * 2. The bytes of a word are its first symbols; the pair that merges.txt lists first is joined, as
 *    often as there is one. A symbol is written as its number in vocab.json. */
struct bpe;
/* bpe_open - vocab.json: one object of symbols and their numbers; merges.txt: a pair a line, the
 * first line may be "#version: …". All of it is in the arena. Errors: ERR_NOINPUT; ERR_DATA a file
 * that is not as GPT-2's, with its place. */
int bpe_open(struct bpe **out, struct arena *a, const char *vocab_path, const char *merges_path,
             struct err *e);
/* bpe_line - adds the units of a line. Errors: ERR_DATA with the byte that is not UTF-8, or a word
 * of more than 65,536 bytes. */
int bpe_line(struct bpe *b, struct strbuf *out, const char *line, size_t n, struct err *e);

#endif
