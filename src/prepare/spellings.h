/* spellings.h - texts and the number of each: the vocabulary of a subword encoder. */
#ifndef PREPARE_SPELLINGS_H
#define PREPARE_SPELLINGS_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

struct spelling {
    const char *text; /* in the arena */
    uint32_t hash, n; /* n bytes */
    int32_t value;    /* from 0; -1: the slot is free */
};

struct spellings {
    struct arena texts;
    struct spelling *slot_own;
    uint32_t slots_n, used_n; /* a power of two, at least twice used_n */
};

int spellings_open(struct spellings *s, struct err *e);
void spellings_close(struct spellings *s); /* also of one that is all zero */
/* spellings_add - Errors: ERR_DATA it is there already; ERR_NOMEM. */
int spellings_add(struct spellings *s, const char *text, size_t n, int32_t value, struct err *e);
/* spellings_find - the value, or -1. */
int32_t spellings_find(const struct spellings *s, const char *text, size_t n);

#endif
