/* str.h - growing text in an arena, strict numbers, names. */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

/* A text that grows in an arena; text is always ended by a zero byte. */
struct strbuf {
    struct arena *arena;
    char *text;
    size_t n, room;
};
void strbuf_init(struct strbuf *b, struct arena *a);
void strbuf_add(struct strbuf *b, const char *text);
void strbuf_add_n(struct strbuf *b, const char *bytes, size_t n);
void strbuf_addf(struct strbuf *b, const char *format, ...) ERR_PRINTF(2, 3);

/* str_to_int, str_to_double - the whole text must be a decimal number in range; false otherwise. No
 * hexadecimal, no octal, no underscores, no spaces, no nan, no inf. The locale does not matter. */
bool str_to_int(int64_t *out, const char *text);
bool str_to_double(double *out, const char *text);

enum { STR_DOUBLE_BYTES = 32 };
/* str_from_double - the shortest decimal form that reads back as the same double, such as "0.1" or
 * "1e-07". */
void str_from_double(char out[STR_DOUBLE_BYTES], double value);

/* str_nearest - of n names the one with the smallest edit distance to text; NULL if none is near
 * (more than a third of the length differs). */
const char *str_nearest(const char *text, const char *const *names, size_t n);

/* str_last_line - the last line of a text that is not empty, without what ends it; characters that
 * would steer a terminal become '?'. The text is changed; "" when there is none. */
char *str_last_line(char *text);

/* str_is_name - [A-Za-z0-9._-]{1,64}, not beginning with a dot or a dash. */
bool str_is_name(const char *text);

/* str_thousands - 246933504 as "246,933,504". */
char *str_thousands(struct arena *a, int64_t n);
/* str_bytes - "1.4 GB". */
char *str_bytes(struct arena *a, double bytes);

#endif
