/* text.h - words and lines of a UTF-8 text, as the authors' preparation sees them (oracle SPEC.md
 * section 2).
 *
 * 1. LF, CR and CRLF end a line; a last line without an end counts, an empty file has no line.
 * 2. Words are separated by runs of Unicode white space; white space at the ends vanishes.
 * 3. Text must be strict UTF-8 (no overlong forms, no surrogates). A byte order mark is an ordinary
 *    character, so it stays part of the first word, as it does for the authors. A zero byte is
 *    refused: such a file is no text, or it is UTF-16. */
#ifndef PREPARE_TEXT_H
#define PREPARE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Where a long pass reports: what it does and the share done, 0 to 1. call may be NULL. */
struct text_progress {
    void (*call)(void *context, const char *what, double share);
    void *context;
    const char *what;
    int32_t threads; /* that the pass may take; 0: as many as it is worth */
};

enum text_item { TEXT_END, TEXT_WORD, TEXT_LINE };

struct text_scan {
    const unsigned char *at, *first, *end;
    const unsigned char *line_first; /* first byte of the line being read */
    const unsigned char *reported;   /* up to here progress was told */
    const char *place;               /* names the text in messages */
    const struct text_progress *progress;
    int64_t line; /* from 1 */
};

/* text_scan_init - text (n bytes) stays the caller's; place names it in messages; progress may be
 * NULL. */
void text_scan_init(struct text_scan *s, const char *text, size_t n, const char *place,
                    const struct text_progress *progress);

/* text_next - the next item: TEXT_WORD sets *word and *word_bytes (inside the text), TEXT_LINE is
 * the end of a line, TEXT_END the end of the text. Errors: ERR_DATA place:line. */
int text_next(struct text_scan *s, const char **word, size_t *word_bytes, struct err *e);

/* text_decode - length of the character of two to four bytes at p, which begins with a byte of 128
 * or above; 0 if it is not strict UTF-8. */
int text_decode(const unsigned char *p, const unsigned char *end, uint32_t *character);
/* text_is_long_space - white space beyond ASCII. */
bool text_is_long_space(uint32_t c);

/* text_measure - words and lines of a whole text. Errors: as text_next. */
int text_measure(int64_t *words_n, int64_t *lines_n, const char *text, size_t n, const char *place,
                 struct err *e);

#endif
