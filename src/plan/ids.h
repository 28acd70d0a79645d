/* ids.h - a table from run ids to numbers, in an arena. */
#ifndef PLAN_IDS_H
#define PLAN_IDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "spec/spec.h"

struct ids {
    struct arena *arena;
    struct ids_slot *slot;
    int32_t n, room; /* room is a power of two, more than n */
};
void ids_init(struct ids *t, struct arena *a);
/* ids_add - the number kept under the id: `number` itself when the id is new. */
int32_t ids_add(struct ids *t, const char *id, int32_t number);
bool ids_has(const struct ids *t, const char *id);

#endif
