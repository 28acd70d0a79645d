/* map.h - a hash table from byte strings to numbers, in an arena.
 *
 * Keys have any length and are copied. Values are the caller's: array indices, ids, counts. Linear
 * probing, at most half full; keys have no order. */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct map_slot;
struct map {
    struct arena *arena;
    struct map_slot *slot;
    uint32_t slots_n, n; /* slots_n: a power of two; n: keys */
};

void map_init(struct map *m, struct arena *a);

/* map_get - sets *value to the key's value; false if the key is absent. */
bool map_get(const struct map *m, const void *key, size_t key_n, int32_t *value);

/* map_put - returns the key's value for reading and writing until the next map_put. A new key is
 * added with value 0 and sets *added (may be NULL) to true. */
int32_t *map_put(struct map *m, const void *key, size_t key_n, bool *added);

/* map_key - the map's zero-terminated copy of the key whose value map_put returned; valid as long
 * as the arena. */
const char *map_key(const int32_t *value);

#endif
