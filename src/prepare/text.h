/* text.h - words and lines of a UTF-8 text, as the authors' preparation sees them (oracle SPEC.md
 * section 2).
 *
 * 1. LF, CR and CRLF end a line; a last line without an end counts, an empty file has no line.
 * 2. Words are separated by runs of Unicode white space; white space at the ends vanishes.
 * 3. Text must be strict UTF-8 (no overlong forms, no surrogates). A byte order mark is an ordinary
 *    character, so it stays part of the first word, as it does for the authors. A zero byte is
 *    refused: such a file is not text, or it is UTF-16. */
#ifndef PREPARE_TEXT_H
#define PREPARE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/parallel.h"
#include "base/str.h"

/* Where a long pass reports: what it does and the share done, 0 to 1. call may be NULL. */
struct text_progress {
    void (*call)(void *context, const char *what, double share);
    void *context;
    const char *what;
    int32_t threads; /* that the pass may take; 0: as many as it is worth */
};

/* A text in memory or a part of one. All of it is the caller's. */
struct text {
    const char *bytes;
    size_t n;
    const char *place;                    /* names the text in messages */
    const struct text_progress *progress; /* may be NULL */
    bool goes_on; /* a part that another one follows: its end is not the end of a line */
};

/* text_open - maps a file; text_close unmaps it. Errors: those of file_map_open. */
int text_open(struct text *t, const char *path, const struct text_progress *progress,
              struct err *e);
void text_close(struct text *t);

/* text_threads - how many threads a text is worth: what progress says, else by its size and the
 * processors this process may use. */
int32_t text_threads(const struct text *t);
/* text_take - the next part of at least `bytes` from *at on, which ends after white space of ASCII
 * or with the text; false at the end. Only the first part keeps the progress. */
bool text_take(struct text *out, const struct text *t, size_t *at, size_t bytes);
/* text_cut - cuts a text so into parts of about equal size, at most `wanted` and at least one;
 * returns how many. What threads make of the parts is put together in their order, so that it does
 * not depend on how many there were. Lines are numbered from the start of a part: look for a fault
 * again in the whole text. */
int32_t text_cut(struct text out[PARALLEL_MAX], int32_t wanted, const struct text *t);

enum text_item { TEXT_END, TEXT_WORD, TEXT_LINE };

struct text_scan {
    const struct text *text;
    const char *at, *end;
    const char *line_first; /* first byte of the line being read */
    const char *reported;   /* progress was reported up to here */
    int64_t line;           /* from 1 */
};

void text_scan_init(struct text_scan *s, const struct text *t);
/* text_next - the next item: TEXT_WORD sets *word and *word_bytes (inside the text), TEXT_LINE is
 * the end of a line, TEXT_END the end of the text. Errors: ERR_DATA place:line. */
int text_next(struct text_scan *s, const char **word, size_t *word_bytes, struct err *e);

/* text_report - reports the share done, at most once for so many bytes. A pass that has reported
 * anything ends by reporting 1. */
void text_report(const struct text *t, const char **reported, const char *at);

/* text_line - takes the next line, which only LF ends, from [*at, end); false at the end. A CR at
 * the end of the line is cut off if trim_cr. */
bool text_line(const char **at, const char *end, bool trim_cr, const char **line, size_t *n);

/* text_decode - the bytes of the character at p < end; 0 if it is not strict UTF-8.
 * text_decode_long - the same for one that is not ASCII. */
int text_decode_long(const char *p, const char *end, uint32_t *character);
static inline int text_decode(const char *p, const char *end, uint32_t *character)
{
    *character = (unsigned char)*p;
    return *character < 0x80 ? 1 : text_decode_long(p, end, character);
}
/* text_encode - the bytes of a character in UTF-8; returns how many. */
int text_encode(char out[4], uint32_t character);
/* text_check_utf8 - Errors: ERR_DATA with the byte of the line that is not UTF-8. */
int text_check_utf8(const char *line, size_t n, struct err *e);
/* text_add_unit - adds a unit of two parts, of which the first may be empty, to a line of units
 * separated by spaces. */
void text_add_unit(struct strbuf *line, const char *first, const char *rest, size_t rest_n);
/* text_is_long_space - white space beyond ASCII. */
bool text_is_long_space(uint32_t c);

#endif
