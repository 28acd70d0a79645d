/* encoded.c - the line grows as units are added. */
#include "prepare/encoded.h"

#include <stdlib.h>
#include <string.h>

void encoded_add(struct encoded *out, const char *first, size_t first_n, const char *rest,
                 size_t rest_n)
{
    size_t needed = out->n + first_n + rest_n + 2;

    if (needed > out->room) {
        size_t room = 2 * needed + 4096;
        char *grown = realloc(out->text_own, room);
        if (!grown) {
            out->out_of_memory = 1;
            return;
        }
        out->text_own = grown;
        out->room = room;
    }
    if (out->n > 0) out->text_own[out->n++] = ' ';
    memcpy(out->text_own + out->n, first, first_n);
    memcpy(out->text_own + out->n + first_n, rest, rest_n);
    out->n += first_n + rest_n;
}
