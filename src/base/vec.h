/* vec.h - growable arrays.
 *
 *   struct { struct plan_run *item; int32_t n, capacity; } runs = {0}; *vec_push(arena, &runs) =
 *   (struct plan_run){...};
 *
 * The elements are in an arena. Growing doubles the capacity, copies them and leaves the old copy
 * to the arena. Pointers to elements are valid until the next push. Code that must survive
 * exhausted memory uses vec_reserve_heap instead. */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

/* vec_push - appends a zeroed element and returns its address. */
#define vec_push(arena, v)                                                                         \
    (vec_grow((arena), &(v)->item, (v)->n, &(v)->capacity, sizeof *(v)->item), &(v)->item[(v)->n++])

/* vec_grow - capacity for at least n + 1 elements. item: the address of the array's pointer. */
void vec_grow(struct arena *a, void *item, int32_t n, int32_t *capacity, size_t element_bytes);

/* vec_reserve_heap - capacity for n elements of an array from malloc; new elements are zeroed. The
 * array is unchanged on error. Errors: ERR_NOMEM names `what`. */
int vec_reserve_heap(void *item, int32_t n, int32_t *capacity, size_t element_bytes,
                     const char *what, struct err *e);

#endif
