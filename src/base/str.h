/* str.h - growable text in an arena, strict number parsing, names. */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

/* A text that grows in an arena; always zero-terminated. */
struct strbuf {
    struct arena *arena;
    char *text;
    size_t n, capacity;
};
void strbuf_init(struct strbuf *b, struct arena *a);
void strbuf_add(struct strbuf *b, const char *text);
void strbuf_add_n(struct strbuf *b, const char *bytes, size_t n);
void strbuf_addf(struct strbuf *b, const char *format, ...) ERR_PRINTF(2, 3);

/* str_to_int, str_to_double - true if the whole text is a decimal number in range. Hexadecimal,
 * octal, underscores, spaces, nan and inf are rejected. Independent of the locale. */
bool str_to_int(int64_t *out, const char *text);
bool str_to_double(double *out, const char *text);

enum { STR_DOUBLE_BYTES = 32 };
/* str_from_double - the shortest decimal form that parses to the same double, such as "0.1" or
 * "1e-07". */
void str_from_double(char out[STR_DOUBLE_BYTES], double value);

/* str_nearest - the name that was probably meant by text, or NULL: the one with the smallest edit
 * distance, case aside, unless that is more than a third of the text; else the one with this last
 * part (updates for train.updates) or this beginning (pos for position). A name written
 * "alias=name" is found by its alias; the result is the part behind "=". */
const char *str_nearest(const char *text, const char *const *names, size_t n);

enum { STR_HINT_BYTES = 128 };
struct str_hint {
    char text[STR_HINT_BYTES];
};
/* str_hint - "; did you mean 'NAME'?" with the nearest name, or "": the end of every message about
 * an unknown name. */
struct str_hint str_hint(const char *text, const char *const *names, size_t n);

/* str_last_line - the last line of text that is not empty, or "". Modifies text: replaces control
 * characters by '?' and cuts the line end. */
char *str_last_line(char *text);

/* str_decode_utf8 - number of bytes of the character at text < end; 0 if it is not strict UTF-8 (no
 * overlong forms, no surrogates). */
int str_decode_utf8(const char *text, const char *end, uint32_t *character);

/* Texts from outside (names, titles, cells, log files, messages) may hold characters that control a
 * terminal, reverse a line or break a file: control characters, marks of writing direction, line
 * and paragraph separators, bytes that are not UTF-8. Whoever prints such a text prints them as
 * \xNN, byte by byte.
 *
 * str_clean_step - length in bytes of the character at p < end; *clean: whether it needs no escape.
 * str_clean_n - the n bytes at text with the others escaped, except the characters of `kept`;
 * writes at most `capacity` bytes, whole characters and a zero byte. Returns the length. str_clean
 * - the same in the arena; "" for NULL, text itself if it is clean. */
int str_clean_step(bool *clean, const char *p, const char *end);
size_t str_clean_n(char *out, size_t capacity, const char *text, size_t n, const char *kept);
const char *str_clean(struct arena *a, const char *text, const char *kept);

/* str_quote - text between two of these quotes, each inside doubled, as SQL, CSV and gnuplot have
 * it. str_shell_word - text as one word of a POSIX shell, in quotes only if it needs them. */
const char *str_quote(struct arena *a, const char *text, char quote);
const char *str_shell_word(struct arena *a, const char *text);

/* str_trim - text without the spaces, tabs and carriage returns around it, cut in place. */
char *str_trim(char *text);

/* str_same - true if both texts are NULL or equal. */
bool str_same(const char *a, const char *b);

/* str_is_name - [A-Za-z0-9._-]{1,64}, not beginning with a dot or a dash. */
bool str_is_name(const char *text);
/* str_is_name_path - names with a slash between them, such as explore/methods. */
bool str_is_name_path(const char *text);

/* str_thousands - 246933504 as "246,933,504". */
char *str_thousands(struct arena *a, int64_t n);
/* str_bytes - "1.4 GB". */
char *str_bytes(struct arena *a, double bytes);

#endif
