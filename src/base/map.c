/* map.c - open addressing. A slot stores the key's hash, so that a miss rarely compares keys. */
#include "base/map.h"

#include <assert.h>
#include <string.h>

enum { MAP_FIRST_SLOTS = 64 };

struct map_key {
    size_t n;
    char bytes[];
};

struct map_slot {
    const struct map_key *key; /* NULL: free */
    uint32_t hash;
    int32_t value;
};

static uint32_t map_hash(const unsigned char *key, size_t key_n)
{
    uint64_t h = 0xCBF29CE484222325u; /* FNV-1a */

    for (size_t i = 0; i < key_n; i++) h = (h ^ key[i]) * 0x100000001B3u;
    return (uint32_t)(h ^ h >> 32);
}

/* Returns the slot of the key, or the free slot for it. */
static struct map_slot *map_find(const struct map *m, uint32_t hash, const void *key, size_t key_n)
{
    for (uint32_t i = hash;; i++) {
        struct map_slot *s = &m->slot[i & (m->slots_n - 1)];
        if (!s->key) return s;
        if (s->hash == hash && s->key->n == key_n && memcmp(s->key->bytes, key, key_n) == 0)
            return s;
    }
}

void map_init(struct map *m, struct arena *a)
{
    *m = (struct map){.arena = a, .slots_n = MAP_FIRST_SLOTS};
    m->slot = arena_array(a, m->slots_n, sizeof *m->slot);
}

static void map_grow(struct map *m)
{
    const struct map old = *m;

    assert(m->slots_n < 1u << 31);
    m->slots_n *= 2;
    m->slot = arena_array(m->arena, m->slots_n, sizeof *m->slot);
    for (uint32_t i = 0; i < old.slots_n; i++) {
        const struct map_slot *s = &old.slot[i];
        if (s->key) *map_find(m, s->hash, s->key->bytes, s->key->n) = *s;
    }
}

bool map_get(const struct map *m, const void *key, size_t key_n, int32_t *value)
{
    const struct map_slot *s = map_find(m, map_hash(key, key_n), key, key_n);

    if (s->key) *value = s->value;
    return s->key != NULL;
}

int32_t *map_put(struct map *m, const void *key, size_t key_n, bool *added)
{
    uint32_t hash = map_hash(key, key_n);
    struct map_slot *s = map_find(m, hash, key, key_n);

    if (added) *added = !s->key;
    if (s->key) return &s->value;
    if (2 * (m->n + 1) > m->slots_n) {
        map_grow(m);
        s = map_find(m, hash, key, key_n);
    }
    struct map_key *copy = arena_alloc(m->arena, sizeof *copy + key_n + 1);
    copy->n = key_n;
    memcpy(copy->bytes, key, key_n);
    *s = (struct map_slot){.key = copy, .hash = hash};
    m->n++;
    return &s->value;
}

const char *map_key(const int32_t *value)
{
    const char *slot = (const char *)value - offsetof(struct map_slot, value);

    return ((const struct map_slot *)(const void *)slot)->key->bytes;
}
