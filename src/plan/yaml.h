/* yaml.h - a YAML file as a tree whose every node knows its line and column.
 *
 * 1. Scalars stay text: no resolver guesses types (`no`, `1e-5`, `0x10` are what they spell); the
 *    key table of src/spec decides.
 * 2. What can surprise or exhaust is refused: duplicate keys, anchors, aliases, tags, several
 *    documents, depth above PLAN_MAX_DEPTH, files above PLAN_MAX_YAML_BYTES, NUL, bad UTF-8.
 * 3. Every refusal reads "file:line:column: what is wrong". libyaml is named in yaml.c only. */
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
    const char *file;              /* as the user may open it */
    int32_t line, column;          /* from 1; columns count characters */
    const char *text;              /* scalar */
    int32_t n;                     /* list: items; mapping: pairs */
    const struct yaml_node **item; /* list: items; mapping: values */
    const struct yaml_node **key;  /* mapping: its keys, all scalars */
};

/* yaml_read - the tree of a file, in the arena; the root is a mapping. Errors: ERR_NOINPUT,
 * ERR_DATA, ERR_IO. */
int yaml_read(const struct yaml_node **out, struct arena *a, const char *path, struct err *e);

/* yaml_parse - the same from n bytes; file names them in messages. */
int yaml_parse(const struct yaml_node **out, struct arena *a, const char *file, const char *bytes,
               size_t n, struct err *e);

/* yaml_error - ERR_DATA "file:line:column: " and the sentence; returns the code. */
int yaml_error(const struct yaml_node *at, struct err *e, const char *format, ...) ERR_PRINTF(3, 4);

/* yaml_place - prefixes "file:line:column: " to what e already says. */
void yaml_place(const struct yaml_node *at, struct err *e);

/* yaml_get - the value of a key of a mapping, or NULL. */
const struct yaml_node *yaml_get(const struct yaml_node *map, const char *key);

/* yaml_want - ERR_DATA when node is not of this kind; what names it in the sentence, such as
 * "base". */
int yaml_want(const struct yaml_node *node, enum yaml_kind kind, const char *what, struct err *e);

/* yaml_known - ERR_DATA at the first key of the mapping that is none of the n names, with the
 * nearest right one. */
int yaml_known(const struct yaml_node *map, const char *const *names, size_t n, struct err *e);

#endif
