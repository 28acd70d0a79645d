/* arena.c - a chain of growing chunks, and arrays in them. */
#include "base/arena.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ARENA_ALIGN = 16,
    ARENA_FIRST_BYTES = 4096,
    ARENA_MAX_BLOCK_BYTES = 1 << 20,
    VEC_FIRST = 16
};

struct arena_chunk {
    struct arena_chunk *before;
    size_t used_bytes, size_bytes;
    _Alignas(ARENA_ALIGN) unsigned char bytes[];
};

void arena_init(struct arena *a)
{
    a->last_own = NULL;
}

void arena_fini(struct arena *a)
{
    if (!a) return;
    while (a->last_own) {
        struct arena_chunk *before = a->last_own->before;
        free(a->last_own);
        a->last_own = before;
    }
}

void *arena_try(struct arena *a, size_t bytes)
{
    struct arena_chunk *b = a->last_own;

    assert(bytes < SIZE_MAX / 2);
    bytes = (bytes + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
    if (!b || b->size_bytes - b->used_bytes < bytes) {
        size_t size = b ? b->size_bytes * 2 : ARENA_FIRST_BYTES;
        if (size > ARENA_MAX_BLOCK_BYTES) size = ARENA_MAX_BLOCK_BYTES;
        if (size < bytes) size = bytes;
        b = malloc(sizeof *b + size);
        if (!b) return NULL;
        *b = (struct arena_chunk){.before = a->last_own, .size_bytes = size};
        a->last_own = b;
    }
    void *p = b->bytes + b->used_bytes;
    b->used_bytes += bytes;
    return memset(p, 0, bytes);
}

void *arena_alloc(struct arena *a, size_t bytes)
{
    void *p = arena_try(a, bytes);

    if (p) return p;
    fprintf(stderr, "alibi: out of memory: %zu bytes for text\n", bytes);
    abort();
}

void *arena_array(struct arena *a, size_t n, size_t element_bytes)
{
    assert(element_bytes > 0 && n <= SIZE_MAX / 4 / element_bytes);
    return arena_alloc(a, n * element_bytes);
}

char *arena_strndup(struct arena *a, const char *text, size_t n)
{
    char *copy = arena_alloc(a, n + 1);
    memcpy(copy, text, n);
    return copy;
}

char *arena_strdup(struct arena *a, const char *text)
{
    return arena_strndup(a, text, strlen(text));
}

char *arena_vprintf(struct arena *a, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    assert(n >= 0);
    char *text = arena_alloc(a, (size_t)n + 1);
    vsnprintf(text, (size_t)n + 1, format, again);
    va_end(again);
    return text;
}

char *arena_printf(struct arena *a, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = arena_vprintf(a, format, args);
    va_end(args);
    return text;
}

void vec_grow(struct arena *a, void *item, int32_t n, int32_t *capacity, size_t element_bytes)
{
    void *old;

    if (n < *capacity) return;
    assert(n < INT32_MAX / 2);
    *capacity = n < VEC_FIRST ? VEC_FIRST : 2 * n;
    memcpy(&old, item, sizeof old);
    void *grown = arena_array(a, (size_t)*capacity, element_bytes);
    if (n > 0) memcpy(grown, old, (size_t)n * element_bytes);
    memcpy(item, &grown, sizeof grown);
}
