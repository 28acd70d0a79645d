/* check_internal.h - the state of the checking backend and the memory of the op being checked. */
#ifndef CHECK_CHECK_INTERNAL_H
#define CHECK_CHECK_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/ops_table.h"

enum {
    CHECK_GUARD_BYTES = 256,
    CHECK_NAN_BYTE = 0xFF,
    CHECK_GUARD_BYTE = 0xA5,
    /* Larger allocations are not copied, larger arguments not looked at: it would take longer than
     * any op. */
    CHECK_COPY_BYTES = 4 << 20
};

/* One allocation: guard, the caller's bytes, guard. */
struct check_region {
    char *inner_own; /* as the wrapped backend gave it */
    char *user;      /* the caller's address */
    size_t bytes;
    /* Room on the host for the caller's bytes, or NULL: before the op, after it, and for comparing.
     */
    unsigned char *before_own, *after_own, *other_own;
    bool copied; /* before_own holds what was there before the op */
};

struct check_span {
    struct op_memory memory;
    struct check_region *region;
    bool filled; /* with NaN, to be found again if the op leaves it */
    bool summed; /* sum is its checksum before the op */
    uint32_t sum;
};

struct check {
    struct backend base; /* first */
    struct backend_ops table;
    struct backend *inner_own;
    struct check_region **region_own;
    int32_t regions_n, regions_capacity;
    const char *op; /* being checked */
    struct check_span span[OP_ARGUMENTS_MAX];
    int32_t spans_n;
};

static inline const struct backend_ops *check_inner(const struct check *c)
{
    return c->inner_own->ops;
}

/* check_region_find - the allocation that holds these bytes, or NULL. */
struct check_region *check_region_find(const struct check *c, const void *p, size_t bytes);
int check_set_guards(struct check *c, const struct check_region *r, struct err *e);

/* check_op - the op of the wrapped backend, between two looks at memory. */
int check_op(struct backend *b, enum op op, const void *args, struct err *e);

#endif
