/* pickle.h - reads Python pickles of protocol 2 as data: nothing is ever imported or called.
 *
 * 1. Only the operations that PyTorch's writer emits are known; any other is refused by its number.
 * 2. A pickle names classes and functions. Only names in the caller's list are accepted, and each
 *    only in the way its row allows; any other is refused by name. "Calling" one makes a node that
 *    holds the name and the arguments, and that is all.
 * 3. Sizes, counts, the stack, marks and memo are checked before use; the number of values and the
 *    bytes of the file are limited. A hostile file is an ERR_DATA, never a crash.
 * 4. Values may be shared and may hold themselves: code that walks them descends by name only. */
#ifndef INTERCHANGE_PICKLE_H
#define INTERCHANGE_PICKLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

enum { PICKLE_BYTES_MAX = 16 << 20, PICKLE_VALUES_MAX = 1 << 20 };

enum pickle_type {
    PICKLE_NONE,
    PICKLE_BOOL,
    PICKLE_INT,
    PICKLE_REAL,
    PICKLE_TEXT,      /* UTF-8, or bytes of an old string */
    PICKLE_LIST,      /* item[0 .. n) */
    PICKLE_TUPLE,     /* item[0 .. n) */
    PICKLE_DICT,      /* item[0 .. n): key, value, key, value */
    PICKLE_GLOBAL,    /* text is "module name" */
    PICKLE_OBJECT,    /* text(arguments) */
    PICKLE_PERSISTENT /* arguments is the id: in PyTorch's files, a storage */
};

struct pickle_value {
    enum pickle_type type;
    int64_t integer; /* also of PICKLE_BOOL */
    double real;
    const char *text;
    struct pickle_value **item;
    int32_t n, capacity;                          /* of item */
    const struct pickle_value *arguments, *state; /* state: what BUILD attached, or NULL */
};

/* What a name may be used for. */
enum pickle_use {
    PICKLE_USE_NAME,  /* mentioned, never called: a type of storage */
    PICKLE_USE_DICT,  /* called: an empty dict */
    PICKLE_USE_OBJECT /* called: an object of that name */
};
struct pickle_name {
    const char *name; /* "module name" */
    enum pickle_use use;
};

/* pickle_read - the one value of a pickle of n bytes, in the arena; the texts too. place names the
 * file in messages. Errors: ERR_DATA with the byte where it went wrong. */
int pickle_read(struct pickle_value **out, struct arena *a, const void *data, size_t n,
                const struct pickle_name *names, size_t names_n, const char *place, struct err *e);

/* pickle_get - the value of a text key: of a dict, or of an object's attributes; containers of
 * omegaconf are looked through. NULL if it is absent; takes NULL. */
const struct pickle_value *pickle_get(const struct pickle_value *v, const char *key);

#endif
