/* map.h - a hash table from texts to numbers, in an arena.
 *
 * Keys are bytes of any length and are copied. Numbers are the caller's: indices of an array, ids,
 * counts. A table at most half full with linear probing; the order of the keys is not kept. */
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

/* map_get - the number of the key; false if it is absent. */
bool map_get(const struct map *m, const void *key, size_t key_n, int32_t *value);

/* map_put - the number of the key, to be read or written until the next map_put; 0 for a new key,
 * which *added (may be NULL) reports. */
int32_t *map_put(struct map *m, const void *key, size_t key_n, bool *added);

/* map_key - the table's copy of the key whose number map_put returned, ended by a zero byte; valid
 * as long as the arena. */
const char *map_key(const int32_t *value);

#endif
