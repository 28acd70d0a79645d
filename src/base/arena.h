/* arena.h - an arena allocator for plans, specs and strings: everything in an arena is freed at
 * once.
 *
 * Allocations never move and cannot be freed one by one. An arena that cannot grow calls abort:
 * texts and plans are small and bounded. Tensors do not use arenas (see backend/backend.h). */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

#include "base/err.h"

struct arena_block;
struct arena {
    struct arena_block *last_own; /* newest block; each block points to the previous one */
};

void arena_init(struct arena *a);
void arena_fini(struct arena *a); /* takes NULL */

/* arena_alloc - bytes of zeroed memory, aligned for any type. */
void *arena_alloc(struct arena *a, size_t bytes);
/* arena_array - n zeroed elements; the product is checked. */
void *arena_array(struct arena *a, size_t n, size_t element_bytes);
char *arena_strdup(struct arena *a, const char *text);
char *arena_strndup(struct arena *a, const char *text, size_t n);
char *arena_printf(struct arena *a, const char *format, ...) ERR_PRINTF(2, 3);
char *arena_vprintf(struct arena *a, const char *format, va_list args);

#endif
