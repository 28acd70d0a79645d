/* unicode.h - what the subword encoders ask of a character. */
#ifndef PREPARE_UNICODE_H
#define PREPARE_UNICODE_H

#include <stdbool.h>
#include <stdint.h>

bool unicode_is_letter(uint32_t c); /* category L */
bool unicode_is_number(uint32_t c); /* category N */
/* unicode_is_punctuation - category P, and every sign of ASCII that is no letter or digit. */
bool unicode_is_punctuation(uint32_t c);
bool unicode_is_mark(uint32_t c); /* category Mn: accents that follow their letter */

/* unicode_simple - lower case without accents, where that is one character below U+2000; any other
 * character as it is. */
uint32_t unicode_simple(uint32_t c);

#endif
