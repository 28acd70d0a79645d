/* pickle.h - reads Python pickles of protocol 2 as data, without importing or calling anything.
 *
 * 1. Only the operations that torch.save writes are supported; any other is an error.
 * 2. A pickle names classes and functions. Only names in the caller's list are accepted, and only
 *    for the use that their row allows. A "call" only makes a node with the name and the arguments.
 * 3. Sizes, counts, stack, marks and memo are checked before use; the number of values and the size
 *    of the file are limited. A malicious file causes ERR_DATA, never a crash.
 * 4. Values may be shared and may contain themselves: look them up by name, do not traverse them.
 */
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
    PICKLE_TEXT,      /* UTF-8, or the bytes of a Python 2 string */
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

/* The permitted use of a name. */
enum pickle_use {
    PICKLE_USE_NAME,  /* not called: a type of storage */
    PICKLE_USE_DICT,  /* called: an empty dict */
    PICKLE_USE_OBJECT /* called: an object with that name */
};
struct pickle_name {
    const char *name; /* "module name" */
    enum pickle_use use;
};

/* pickle_read - the value of a pickle of n bytes, in the arena. place names the file in messages.
 * Errors: ERR_DATA with the position of the invalid byte. */
int pickle_read(struct pickle_value **out, struct arena *a, const void *data, size_t n,
                const struct pickle_name *names, size_t names_n, const char *place, struct err *e);

/* pickle_get - the value of a key of a dict, or of an object's attribute, also within containers of
 * omegaconf. NULL if absent; dict may be NULL. */
const struct pickle_value *pickle_get(const struct pickle_value *v, const char *key);

#endif
