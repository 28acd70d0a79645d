/* check.c - life and memory of the distrusting backend; check_ops.c has its ops. */
#include "check/check.h"

#include <stdio.h>
#include <stdlib.h>

#include "check/check_spans.h"

static struct check *self(struct backend *b)
{
    return (struct check *)b;
}

static void check_close(struct backend *b)
{
    struct check *c = self(b);
    while (c->regions_n > 0) {
        struct check_region *r = c->region_own[c->regions_n - 1];
        c->inner_own->ops->release(c->inner_own, r->inner_own);
        check_region_drop(c, r);
    }
    free(c->region_own);
    backend_close(c->inner_own);
    free(c);
}

static int check_alloc(struct backend *b, void **out, size_t bytes, struct err *e)
{
    struct check *c = self(b);
    void *inner = NULL;
    *out = NULL;
    TRY(c->inner_own->ops->alloc(c->inner_own, &inner, bytes + 2 * CHECK_GUARD_BYTES, e));
    int rc = check_region_add(c, inner, bytes, out, e);
    if (rc == 0) return 0;
    struct check_region *r = check_region_find(c, (char *)inner + CHECK_GUARD_BYTES, bytes);
    if (r != NULL) check_region_drop(c, r);
    c->inner_own->ops->release(c->inner_own, inner);
    return rc;
}

static void check_release(struct backend *b, void *p)
{
    struct check *c = self(b);
    struct check_region *r = check_region_find(c, p, 0);
    if (r == NULL) return;
    c->inner_own->ops->release(c->inner_own, r->inner_own);
    check_region_drop(c, r);
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

static int check_wrap(struct backend **out, struct backend *inner_own, struct err *e)
{
    struct check *c = calloc(1, sizeof *c);
    *out = NULL;
    if (c == NULL) {
        backend_close(inner_own);
        return ERR(e, ERR_NOMEM, "no memory for the checking backend");
    }
    c->base = *inner_own; /* device, library, threads, precision as of the wrapped one */
    int n = snprintf(c->base.name, sizeof c->base.name, "check:%.*s",
                     (int)(sizeof c->base.name - sizeof "check:"), inner_own->name);
    (void)n; /* a long name is cut */
    c->inner_own = inner_own;
    check_slots(c);
    c->slots.close = check_close;
    c->slots.alloc = check_alloc;
    c->slots.release = check_release;
    c->slots.upload = check_upload;
    c->slots.download = check_download;
    c->slots.copy = check_copy_memory;
    c->slots.zero = check_zero;
    c->slots.sync = check_sync;
    c->slots.peak_bytes = check_peak_bytes;
    c->base.ops = &c->slots;
    *out = &c->base;
    return 0;
}

static const struct backend_library check_library = {
    .version = BACKEND_VERSION, .name = "check", .wrap = check_wrap};

const struct backend_library *backend_check_library(void)
{
    return &check_library;
}
