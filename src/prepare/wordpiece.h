/* wordpiece.h - the word pieces of a BERT vocabulary (Devlin et al. 2018).
 *
 * 1. A line is cut at white space, and before and after each punctuation mark and each Chinese
 *    character; control characters are dropped, letters of an uncased vocabulary lose case
 *    and accents (prepare/unicode.h).
 * 2. A word becomes the longest piece that begins it, then the longest "##piece" that goes on, and
 *    so forth. One that cannot be spelled so, or of more than 100 characters, becomes <unk>. */
#ifndef PREPARE_WORDPIECE_H
#define PREPARE_WORDPIECE_H

#include <stdbool.h>

#include "base/err.h"
#include "prepare/encoded.h"

struct wordpiece;
/* wordpiece_open - from vocab.txt: one piece a line. Errors: ERR_NOINPUT; ERR_DATA. */
int wordpiece_open(struct wordpiece **out, const char *path, bool cased, struct err *e);
void wordpiece_close(struct wordpiece *w); /* takes NULL */
/* wordpiece_line - adds the units of a line of n bytes. Errors: ERR_DATA with the byte that is not
 * UTF-8. */
int wordpiece_line(struct wordpiece *w, struct encoded *out, const char *line, size_t n,
                   struct err *e);

#endif
