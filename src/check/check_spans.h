/* check_spans.h - the memory an op reads and writes, before and after it. Internal to check. */
#ifndef CHECK_CHECK_SPANS_H
#define CHECK_CHECK_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/backend.h"

enum {
    CHECK_GUARD_BYTES = 256,
    CHECK_SPANS_MAX = 24,
    /* Larger allocations are not copied, larger arguments not looked at: it would take longer than
     * any op. */
    CHECK_COPY_BYTES = 4 << 20
};

/* One allocation: guard, the caller's bytes, guard. */
struct check_region {
    char *inner_own; /* as the wrapped backend gave it */
    char *user;      /* the caller's address */
    size_t bytes;
    unsigned char *copy_own, *now_own; /* room for the caller's bytes on the host, or NULL */
    bool copied;                       /* copy_own holds what was there before the op */
};

/* READ must stay as it is, WRITE is overwritten whole, UPDATE may change. */
enum check_mode { CHECK_READ, CHECK_WRITE, CHECK_UPDATE };

struct check_span {
    const char *argument;
    enum check_mode mode;
    char *data;
    int64_t rows;
    size_t row_bytes, stride_bytes;
    struct check_region *region;
    bool filled; /* with NaN, to be found again if the op leaves it */
    bool summed; /* sum is its checksum before the op */
    uint32_t sum;
};

struct check {
    struct backend base; /* first */
    struct backend_ops slots;
    struct backend *inner_own;
    struct check_region **region_own;
    size_t regions_n, regions_room;
    const char *op; /* being watched */
    struct check_span span[CHECK_SPANS_MAX];
    int32_t spans_n;
};

/* Regions. check_region_add registers an allocation of the wrapped backend, fills it with NaN and
 * sets its guards. */
int check_region_add(struct check *c, char *inner, size_t bytes, void **out, struct err *e);
struct check_region *check_region_find(const struct check *c, const void *p, size_t bytes);
void check_region_drop(struct check *c, struct check_region *r);

/* check_begin, then the op's memory, then check_before, the op, check_after with its result. */
struct check *check_begin(struct backend *b, const char *op);
void check_memory(struct check *c, const char *argument, enum check_mode mode, const void *data,
                  size_t bytes);
void check_tensor(struct check *c, const char *argument, enum check_mode mode,
                  const struct tensor *t);
/* check_list - an index list, or targets. */
void check_list(struct check *c, const char *argument, const int32_t *list, int64_t n);
int check_before(struct check *c, struct err *e);
int check_after(struct check *c, int rc, struct err *e);

/* check_ops.c: the watched op slots into c->slots, where the wrapped backend has them. */
void check_slots(struct check *c);
void check_update_slots(struct check *c); /* check_update.c: a part of them */

static inline enum check_mode check_output(int accumulate)
{
    return accumulate ? CHECK_UPDATE : CHECK_WRITE;
}

#endif
