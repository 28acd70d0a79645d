/* encoded.h - a line of units as it is gathered, for prepare/bpe.h, prepare/wordpiece.h and
 * prepare/encode.h. */
#ifndef PREPARE_ENCODED_H
#define PREPARE_ENCODED_H

#include <stddef.h>

/* Units of a line, separated by spaces. Out of memory is noted and told at the end of the line. */
struct encoded {
    char *text_own;
    size_t n, room;
    int out_of_memory;
};
/* encoded_add - one unit of two parts, of which the first may be empty. */
void encoded_add(struct encoded *out, const char *first, size_t first_n, const char *rest,
                 size_t rest_n);

#endif
