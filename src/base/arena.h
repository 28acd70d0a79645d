/* arena.h - an arena allocator for plans, specs, strings and growing arrays: everything in an arena
 * is freed at once.
 *
 * Allocations never move and cannot be freed one by one. An arena that cannot grow calls abort:
 * texts and plans are small and bounded. Tensors do not use arenas (see backend/backend.h). */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct arena_chunk;
struct arena {
    struct arena_chunk *last_own; /* newest chunk; each chunk points to the previous one */
};

void arena_init(struct arena *a);
void arena_fini(struct arena *a); /* takes NULL */

/* arena_alloc - bytes of zeroed memory, aligned for any type. arena_try - NULL if there is no
 * memory: for a size from a file. */
void *arena_alloc(struct arena *a, size_t bytes);
void *arena_try(struct arena *a, size_t bytes);
/* arena_array - n zeroed elements; the product is checked. */
void *arena_array(struct arena *a, size_t n, size_t element_bytes);
char *arena_strdup(struct arena *a, const char *text);
char *arena_strndup(struct arena *a, const char *text, size_t n);
char *arena_printf(struct arena *a, const char *format, ...) ERR_PRINTF(2, 3);
char *arena_vprintf(struct arena *a, const char *format, va_list args);

/* vec_push - appends a zeroed element to an array in the arena and returns its address:
 *
 *   struct { struct plan_run *item; int32_t n, capacity; } runs = {0};
 *   *vec_push(arena, &runs) = (struct plan_run){...};
 *
 * Growing doubles the capacity, copies the elements and leaves the old copy to the arena. Pointers
 * to elements are valid until the next push. */
#define vec_push(arena, v)                                                                         \
    (vec_grow((arena), &(v)->item, (v)->n, &(v)->capacity, sizeof *(v)->item), &(v)->item[(v)->n++])

/* vec_grow - capacity for at least n + 1 elements. item: the address of the array's pointer, whose
 * type varies. */
void vec_grow(struct arena *a, void *item, int32_t n, int32_t *capacity, size_t element_bytes);

#endif
