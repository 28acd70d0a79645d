/* check.c - life and memory of the checking backend; check_op.c has its ops. */
#include "check/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "check/check_internal.h"

static struct check *self(struct backend *b)
{
    return (struct check *)b;
}

/* ---- allocations ---- */

int check_set_guards(struct check *c, const struct check_region *r, struct err *e)
{
    unsigned char guard[CHECK_GUARD_BYTES];
    memset(guard, CHECK_GUARD_BYTE, sizeof guard);
    TRY(check_inner(c)->upload(c->inner_own, r->inner_own, guard, sizeof guard, e));
    return check_inner(c)->upload(c->inner_own, r->user + r->bytes, guard, sizeof guard, e);
}

static int fill_nan(struct check *c, const struct check_region *r, struct err *e)
{
    unsigned char some[4096];
    memset(some, CHECK_NAN_BYTE, sizeof some);
    for (size_t at = 0; at < r->bytes; at += sizeof some) {
        size_t n = r->bytes - at < sizeof some ? r->bytes - at : sizeof some;
        TRY(check_inner(c)->upload(c->inner_own, r->user + at, some, n, e));
    }
    return 0;
}

struct check_region *check_region_find(const struct check *c, const void *p, size_t bytes)
{
    for (int32_t i = 0; i < c->regions_n; i++) {
        struct check_region *r = c->region_own[i];
        const char *at = p;
        if (at >= r->user && at <= r->user + r->bytes && bytes <= (size_t)(r->user + r->bytes - at))
            return r;
    }
    return NULL;
}

static void region_free(struct check *c, struct check_region *r)
{
    if (r->inner_own) check_inner(c)->release(c->inner_own, r->inner_own);
    free(r->before_own);
    free(r->after_own);
    free(r->other_own);
    free(r);
}

static int region_init(struct check *c, struct check_region *r, size_t bytes, struct err *e)
{
    void *inner = NULL;
    TRY(check_inner(c)->alloc(c->inner_own, &inner, bytes + 2 * CHECK_GUARD_BYTES, e));
    r->inner_own = inner;
    r->user = r->inner_own + CHECK_GUARD_BYTES;
    r->bytes = bytes;
    if (bytes <= CHECK_COPY_BYTES) {
        r->before_own = malloc(bytes + 1);
        r->after_own = malloc(bytes + 1);
        r->other_own = malloc(bytes + 1);
        if (!r->before_own || !r->after_own || !r->other_own)
            return ERR(e, ERR_NOMEM, "check: no memory for copies of %zu bytes", bytes);
    }
    TRY(check_set_guards(c, r, e));
    return fill_nan(c, r, e);
}

static int check_alloc(struct backend *b, void **out, size_t bytes, struct err *e)
{
    struct check *c = self(b);
    *out = NULL;
    TRY(vec_reserve_heap(&c->region_own, c->regions_n + 1, &c->regions_capacity,
                         sizeof *c->region_own, "the allocations of check", e));
    struct check_region *r = calloc(1, sizeof *r);
    if (!r) return ERR(e, ERR_NOMEM, "check: no memory for the record of an allocation");
    int rc = region_init(c, r, bytes, e);
    if (rc < 0) {
        region_free(c, r);
        return rc;
    }
    c->region_own[c->regions_n++] = r;
    *out = r->user;
    return 0;
}

static void check_release(struct backend *b, void *p)
{
    struct check *c = self(b);
    struct check_region *r = check_region_find(c, p, 0);
    int32_t i = 0;
    if (!r) return;
    while (c->region_own[i] != r) i++;
    c->region_own[i] = c->region_own[--c->regions_n];
    region_free(c, r);
}

static void check_close(struct backend *b)
{
    struct check *c = self(b);
    while (c->regions_n > 0) region_free(c, c->region_own[--c->regions_n]);
    free(c->region_own);
    backend_close(c->inner_own);
    free(c);
}

/* Transfers stay inside one allocation. */
static int within(const struct check *c, const char *what, const void *p, size_t bytes,
                  struct err *e)
{
    if (check_region_find(c, p, bytes) != NULL) return 0;
    return ERR(e, ERR_INTERNAL, "%s: %s of %zu bytes goes beyond an allocation", c->base.name, what,
               bytes);
}

static int check_upload(struct backend *b, void *dst_dev, const void *src_host, size_t bytes,
                        struct err *e)
{
    struct check *c = self(b);
    TRY(within(c, "upload", dst_dev, bytes, e));
    return c->inner_own->ops->upload(c->inner_own, dst_dev, src_host, bytes, e);
}

static int check_download(struct backend *b, void *dst_host, const void *src_dev, size_t bytes,
                          struct err *e)
{
    struct check *c = self(b);
    TRY(within(c, "download", src_dev, bytes, e));
    return c->inner_own->ops->download(c->inner_own, dst_host, src_dev, bytes, e);
}

static int check_copy_memory(struct backend *b, void *dst_dev, const void *src_dev, size_t bytes,
                             struct err *e)
{
    struct check *c = self(b);
    TRY(within(c, "copy to", dst_dev, bytes, e));
    TRY(within(c, "copy from", src_dev, bytes, e));
    return c->inner_own->ops->copy(c->inner_own, dst_dev, src_dev, bytes, e);
}

static int check_zero(struct backend *b, void *dst_dev, size_t bytes, struct err *e)
{
    struct check *c = self(b);
    TRY(within(c, "zero", dst_dev, bytes, e));
    return c->inner_own->ops->zero(c->inner_own, dst_dev, bytes, e);
}

static int check_sync(struct backend *b, struct err *e)
{
    struct check *c = self(b);
    return c->inner_own->ops->sync(c->inner_own, e);
}

static int check_peak_bytes(struct backend *b, int64_t *out, struct err *e)
{
    struct check *c = self(b);
    return c->inner_own->ops->peak_bytes(c->inner_own, out, e);
}

#define CHECKED(NAME, name, args)                                                                  \
    static int check_##name(struct backend *b, const struct args *a, struct err *e)                \
    {                                                                                              \
        return check_op(b, OP_##NAME, a, e);                                                       \
    }
BACKEND_OPS(CHECKED)

/* A fused function that the wrapped backend lacks stays empty, so that it is composed. So do record
 * and its kin: memory can be looked at before and after an op only if the op is done now. */
static void check_fill_table(struct check *c)
{
    c->table = (struct backend_ops){
        .close = check_close,
        .alloc = check_alloc,
        .release = check_release,
        .upload = check_upload,
        .download = check_download,
        .copy = check_copy_memory,
        .zero = check_zero,
        .sync = check_sync,
        .peak_bytes = check_peak_bytes,
        .attention_rotates = check_inner(c)->attention_rotates,
    };
#define ENTRY(NAME, name, args)                                                                    \
    if (check_inner(c)->name) c->table.name = check_##name;
    BACKEND_OPS(ENTRY)
}

static int check_wrap(struct backend **out, struct backend *inner_own, struct err *e)
{
    struct check *c = calloc(1, sizeof *c);
    *out = NULL;
    if (!c) {
        backend_close(inner_own);
        return ERR(e, ERR_NOMEM, "no memory for the checking backend");
    }
    c->base = *inner_own; /* device, library, threads, precision as of the wrapped one */
    int n = snprintf(c->base.name, sizeof c->base.name, "check:%.*s",
                     (int)(sizeof c->base.name - sizeof "check:"), inner_own->name);
    (void)n; /* a long name is cut */
    c->inner_own = inner_own;
    check_fill_table(c);
    c->base.ops = &c->table;
    *out = &c->base;
    return 0;
}

static const struct backend_library check_library = {
    .version = BACKEND_VERSION, .name = "check", .wrap = check_wrap};

const struct backend_library *backend_check_library(void)
{
    return &check_library;
}
