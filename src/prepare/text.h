/* text.h - words and lines of a UTF-8 text as in the authors' preparation (oracle SPEC.md section
 * 2).
 *
 * 1. LF, CR and CRLF end a line; the last line may have no end; an empty file has no lines.
 * 2. Words are separated by runs of Unicode white space; white space at the ends of a line is
 *    ignored.
 * 3. Text must be strict UTF-8 (no overlong forms, no surrogates). A byte order mark is part of the
 *    first word, as in the authors' code. A zero byte is an error: the file is not text, or it is
 *    UTF-16. */
#ifndef PREPARE_TEXT_H
#define PREPARE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

/* Reports progress of a long pass: what it does and the share done, 0 to 1. call may be NULL. */
struct text_progress {
    void (*call)(void *context, const char *what, double share);
    void *context;
    const char *what;
};

/* A text in memory; borrowed. */
struct text {
    const char *bytes;
    size_t n;
    const char *name; /* of the text, in messages */
    struct text_progress progress;
};

/* text_open - maps a file; text_close unmaps it. Errors: those of file_map_open. */
int text_open(struct text *t, const char *path, struct text_progress progress, struct err *e);
void text_close(struct text *t);

enum text_item { TEXT_END, TEXT_WORD, TEXT_LINE };

struct text_scan {
    const struct text *text;
    const char *at;
    const char *word;       /* the last word, in the text */
    size_t word_n;          /* bytes */
    const char *line_first; /* first byte of the line being read */
    int64_t line;           /* from 1 */
    const char *reported;   /* end of the last reported progress */
};

void text_scan_init(struct text_scan *s, const struct text *t);
/* text_next - the next item: TEXT_WORD, TEXT_LINE at the end of a line, TEXT_END at the end of the
 * text. Errors: ERR_DATA name:line. */
int text_next(struct text_scan *s, struct err *e);

/* text_report - reports the share done, at most once per so many bytes. A pass that has reported
 * progress ends by reporting 1. */
void text_report(const struct text *t, const char **reported, const char *at);

/* text_line - takes the next line, ended by LF only, from [*at, end); false at the end. With
 * trim_cr, removes a CR at the end of the line. */
bool text_line(const char **at, const char *end, bool trim_cr, const char **line, size_t *n);

/* text_decode - number of bytes of the character at p < end; 0 if it is not strict UTF-8. */
static inline int text_decode(const char *p, const char *end, uint32_t *character)
{
    *character = (unsigned char)*p;
    return *character < 0x80 ? 1 : str_decode_utf8(p, end, character);
}
/* text_encode - writes a character in UTF-8; returns its number of bytes. */
int text_encode(char out[4], uint32_t character);
/* text_not_utf8 - ERR_DATA for the byte at p of a line. */
int text_not_utf8(const char *line, const char *p, struct err *e);
/* text_is_space - true if the character is white space as in Python's \s. text_is_long_space - of
 * those outside ASCII. */
bool text_is_space(uint32_t c);
bool text_is_long_space(uint32_t c);

#endif
