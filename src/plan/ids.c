/* ids.c - open addressing; ids are hash digits, so their first ones are the hash. */
#include "plan/ids.h"

#include <stdlib.h>
#include <string.h>

struct ids_slot {
    char id[SPEC_ID_BYTES]; /* empty: free */
    int32_t number;
};

void ids_init(struct ids *t, struct arena *a)
{
    *t = (struct ids){.arena = a, .room = 64};
    t->slot = arena_array(a, (size_t)t->room, sizeof *t->slot);
}

static struct ids_slot *find_slot(const struct ids *t, const char *id)
{
    char digits[9] = {0};

    memcpy(digits, id, 8);
    uint32_t at = (uint32_t)strtoul(digits, NULL, 16);
    for (;; at++) {
        struct ids_slot *slot = &t->slot[at & (uint32_t)(t->room - 1)];
        if (!slot->id[0] || strcmp(slot->id, id) == 0) return slot;
    }
}

static void grow(struct ids *t)
{
    struct ids old = *t;

    t->room *= 2;
    t->slot = arena_array(t->arena, (size_t)t->room, sizeof *t->slot);
    for (int32_t i = 0; i < old.room; i++)
        if (old.slot[i].id[0]) *find_slot(t, old.slot[i].id) = old.slot[i];
}

int32_t ids_add(struct ids *t, const char *id, int32_t number)
{
    if (2 * t->n >= t->room) grow(t);
    struct ids_slot *slot = find_slot(t, id);
    if (!slot->id[0]) {
        memcpy(slot->id, id, SPEC_ID_BYTES);
        slot->number = number;
        t->n++;
    }
    return slot->number;
}

bool ids_has(const struct ids *t, const char *id)
{
    return find_slot(t, id)->id[0] != '\0';
}
