/* vec.c - see vec.h. The address of the array's pointer is passed as void *, because the element
 * type varies, and accessed with memcpy. */
#include "base/vec.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { VEC_FIRST = 16 };

static int32_t vec_capacity(int32_t capacity, int32_t n)
{
    assert(n < INT32_MAX / 2);
    if (capacity < VEC_FIRST) capacity = VEC_FIRST;
    while (capacity < n) capacity *= 2;
    return capacity;
}

void vec_grow(struct arena *a, void *item, int32_t n, int32_t *capacity, size_t element_bytes)
{
    void *old;

    if (n < *capacity) return;
    *capacity = vec_capacity(*capacity, n + 1);
    memcpy(&old, item, sizeof old);
    void *grown = arena_array(a, (size_t)*capacity, element_bytes);
    if (n > 0) memcpy(grown, old, (size_t)n * element_bytes);
    memcpy(item, &grown, sizeof grown);
}

int vec_reserve_heap(void *item, int32_t n, int32_t *capacity, size_t element_bytes,
                     const char *what, struct err *e)
{
    void *old;
    int32_t before = *capacity;

    if (n <= before) return 0;
    int32_t after = vec_capacity(before, n);
    memcpy(&old, item, sizeof old);
    char *grown = reallocarray(old, (size_t)after, element_bytes);
    if (!grown) return ERR(e, ERR_NOMEM, "out of memory for %d %s", after, what);
    memset(grown + (size_t)before * element_bytes, 0, (size_t)(after - before) * element_bytes);
    memcpy(item, &grown, sizeof grown);
    *capacity = after;
    return 0;
}
