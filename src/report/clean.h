/* clean.h - texts that are not this program's own: names, titles, notes, messages.
 *
 * Escapes what could steer a terminal, reverse a line or break a file:
 * control characters, the marks of writing direction, line and paragraph separators, and bytes that
 * are not UTF-8 become \xNN, byte by byte. Each format escapes the rest in its own way. */
#ifndef REPORT_CLEAN_H
#define REPORT_CLEAN_H

#include <stdbool.h>

#include "base/arena.h"

/* report_text_step - bytes of the character at p, which is not the end of a text; *clean is whether
 * it may be shown as it is. */
int report_text_step(bool *clean, const char *p);

/* report_clean_text - the text with what is not clean written \xNN; "" for NULL. */
const char *report_clean_text(struct arena *a, const char *text);

#endif
