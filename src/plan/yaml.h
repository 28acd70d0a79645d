/* yaml.h - a YAML file as a tree whose nodes know their line and column.
 *
 * 1. Scalars stay text, without guessing types (`no`, `1e-5`, `0x10`): the spec keys determine
 *    types.
 * 2. Rejected: duplicate keys, anchors, aliases, tags, several documents, depth above
 *    PLAN_MAX_DEPTH, files above PLAN_MAX_YAML_BYTES, NUL, invalid UTF-8.
 * 3. Errors read "file:line:column: problem". Only yaml.c uses libyaml. */
#ifndef PLAN_YAML_H
#define PLAN_YAML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

enum yaml_kind { YAML_SCALAR, YAML_LIST, YAML_MAP };

struct yaml_node {
    enum yaml_kind kind;
    const char *file;              /* path, as in messages */
    int32_t line, column;          /* from 1; columns count characters */
    const char *text;              /* scalar */
    int32_t n;                     /* list: items; mapping: pairs */
    const struct yaml_node **item; /* list: items; mapping: values */
    const struct yaml_node **key;  /* mapping: its keys, all scalars */
};

/* yaml_read - reads a file into a tree in the arena; the root is a mapping. Errors: ERR_NOINPUT,
 * ERR_DATA, ERR_IO. */
int yaml_read(const struct yaml_node **out, struct arena *a, const char *path, struct err *e);

/* yaml_parse - yaml_read from n bytes; file is their name in messages. */
int yaml_parse(const struct yaml_node **out, struct arena *a, const char *file, const char *bytes,
               size_t n, struct err *e);

/* yaml_error - sets and returns ERR_DATA with the message, prefixed "file:line:column: ". */
int yaml_error(const struct yaml_node *at, struct err *e, const char *format, ...) ERR_PRINTF(3, 4);

/* yaml_place - returns rc; if it is negative, prefixes "file:line:column: " to the message in e. */
int yaml_place(const struct yaml_node *at, int rc, struct err *e);

/* yaml_get - the value of a key of a mapping, or NULL. */
const struct yaml_node *yaml_get(const struct yaml_node *map, const char *key);

/* yaml_take - sets *out to the value of a key, or NULL. Errors: ERR_DATA it is not of this kind. */
int yaml_take(const struct yaml_node **out, const struct yaml_node *map, const char *key,
              enum yaml_kind kind, struct err *e);

/* yaml_each - the n items of a list; anything else counts as a list of itself. */
const struct yaml_node *const *yaml_each(const struct yaml_node *const *node, int32_t *n);

/* yaml_items - reads the list of mappings under a key, if present, into an array of n zeroed items
 * of so many bytes in the arena. */
typedef int yaml_item_fn(void *item, struct arena *a, const struct yaml_node *map, struct err *e);
int yaml_items(void **out, int32_t *n, size_t bytes, struct arena *a, const struct yaml_node *map,
               const char *key, yaml_item_fn *read, struct err *e);

/* yaml_want - ERR_DATA if node is not of this kind; `what` is its name in the message, such as
 * "base". */
int yaml_want(const struct yaml_node *node, enum yaml_kind kind, const char *what, struct err *e);

/* yaml_known - ERR_DATA at the first key of the mapping that is not one of the n names, with the
 * nearest of them. */
int yaml_known(const struct yaml_node *map, const char *const *names, size_t n, struct err *e);

#endif
