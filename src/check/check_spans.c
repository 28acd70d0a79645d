/* check_spans.c - copies, NaN, checksums and guards around one op. */
#include "check/check_spans.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum { NAN_BYTE = 0xFF, GUARD_BYTE = 0xA5 };

static const struct backend_ops *inner_ops(const struct check *c)
{
    return c->inner_own->ops;
}

static int set_guards(struct check *c, const struct check_region *r, struct err *e)
{
    unsigned char guard[CHECK_GUARD_BYTES];
    memset(guard, GUARD_BYTE, sizeof guard);
    TRY(inner_ops(c)->upload(c->inner_own, r->inner_own, guard, sizeof guard, e));
    return inner_ops(c)->upload(c->inner_own, r->user + r->bytes, guard, sizeof guard, e);
}

static int fill_nan(struct check *c, const struct check_region *r, struct err *e)
{
    unsigned char some[4096];
    memset(some, NAN_BYTE, sizeof some);
    for (size_t at = 0; at < r->bytes; at += sizeof some) {
        size_t n = r->bytes - at < sizeof some ? r->bytes - at : sizeof some;
        TRY(inner_ops(c)->upload(c->inner_own, r->user + at, some, n, e));
    }
    return 0;
}

int check_region_add(struct check *c, char *inner, size_t bytes, void **out, struct err *e)
{
    if (c->regions_n == c->regions_room) {
        size_t room = c->regions_room == 0 ? 16 : 2 * c->regions_room;
        struct check_region **more = realloc(c->region_own, room * sizeof *more);
        if (more == NULL) return ERR(e, ERR_NOMEM, "check: no memory for %zu allocations", room);
        c->region_own = more;
        c->regions_room = room;
    }
    struct check_region *r = calloc(1, sizeof *r);
    if (r == NULL) return ERR(e, ERR_NOMEM, "check: no memory for an allocation's record");
    *r = (struct check_region){
        .inner_own = inner, .user = inner + CHECK_GUARD_BYTES, .bytes = bytes};
    c->region_own[c->regions_n++] = r;
    if (bytes <= CHECK_COPY_BYTES) {
        r->copy_own = malloc(bytes + 1);
        r->now_own = malloc(bytes + 1);
        if (r->copy_own == NULL || r->now_own == NULL)
            return ERR(e, ERR_NOMEM, "check: no memory for a copy of %zu bytes", bytes);
    }
    TRY(set_guards(c, r, e));
    TRY(fill_nan(c, r, e));
    *out = r->user;
    return 0;
}

struct check_region *check_region_find(const struct check *c, const void *p, size_t bytes)
{
    for (size_t i = 0; i < c->regions_n; i++) {
        struct check_region *r = c->region_own[i];
        const char *at = p;
        if (at >= r->user && at <= r->user + r->bytes && bytes <= (size_t)(r->user + r->bytes - at))
            return r;
    }
    return NULL;
}

void check_region_drop(struct check *c, struct check_region *r)
{
    size_t i = 0;
    while (i < c->regions_n && c->region_own[i] != r) i++;
    if (i < c->regions_n) c->region_own[i] = c->region_own[--c->regions_n];
    free(r->copy_own);
    free(r->now_own);
    free(r);
}

struct check *check_begin(struct backend *b, const char *op)
{
    struct check *c = (struct check *)b;
    c->op = op;
    c->spans_n = 0;
    for (size_t i = 0; i < c->regions_n; i++) c->region_own[i]->copied = false;
    return c;
}

static void add_span(struct check *c, struct check_span span)
{
    if (span.data == NULL || span.rows < 1 || span.row_bytes == 0) return;
    if (c->spans_n < CHECK_SPANS_MAX) c->span[c->spans_n++] = span;
}

void check_memory(struct check *c, const char *argument, enum check_mode mode, const void *data,
                  size_t bytes)
{
    union {
        const void *in;
        char *out;
    } address = {.in = data}; /* READ memory is never written, but a span has one type for all */
    add_span(c, (struct check_span){.argument = argument,
                                    .mode = mode,
                                    .data = address.out,
                                    .rows = 1,
                                    .row_bytes = bytes,
                                    .stride_bytes = bytes});
}

void check_tensor(struct check *c, const char *argument, enum check_mode mode,
                  const struct tensor *t)
{
    if (t == NULL) return;
    size_t element = dtype_bytes(t->dtype);
    add_span(c, (struct check_span){.argument = argument,
                                    .mode = mode,
                                    .data = t->data,
                                    .rows = t->rows,
                                    .row_bytes = (size_t)t->cols * element,
                                    .stride_bytes = (size_t)t->stride * element});
}

void check_list(struct check *c, const char *argument, const int32_t *list, int64_t n)
{
    check_memory(c, argument, CHECK_READ, list, (size_t)n * sizeof *list);
}

static size_t span_extent(const struct check_span *s)
{
    return (size_t)(s->rows - 1) * s->stride_bytes + s->row_bytes;
}

/* Whether s shares memory with another argument that the op reads (or, with written, writes). */
static bool is_shared(const struct check *c, const struct check_span *s, bool written)
{
    for (int32_t i = 0; i < c->spans_n; i++) {
        const struct check_span *o = &c->span[i];
        if (o == s || o->region != s->region) continue;
        if (o->mode == (written ? CHECK_READ : CHECK_WRITE)) continue;
        bool apart = o->data + span_extent(o) <= s->data || s->data + span_extent(s) <= o->data;
        /* Columns of one matrix side by side overlap in extent only. */
        if (!apart && o->stride_bytes == s->stride_bytes && s->rows > 1) {
            size_t from = (size_t)(o->data - o->region->user) % s->stride_bytes;
            size_t at = (size_t)(s->data - s->region->user) % s->stride_bytes;
            apart = from + o->row_bytes <= at || at + s->row_bytes <= from;
        }
        if (!apart) return true;
    }
    return false;
}

static int fill_span(struct check *c, struct check_span *s, struct err *e)
{
    unsigned char *row = malloc(s->row_bytes);
    int rc = 0;
    if (row == NULL)
        return ERR(e, ERR_NOMEM, "check: no memory for a row of %zu bytes", s->row_bytes);
    memset(row, NAN_BYTE, s->row_bytes);
    for (int64_t i = 0; i < s->rows && rc == 0; i++)
        rc = inner_ops(c)->upload(c->inner_own, s->data + (size_t)i * s->stride_bytes, row,
                                  s->row_bytes, e);
    s->filled = rc == 0;
    free(row);
    return rc;
}

/* The checksum of a span's content. */
static int sum_span(struct check *c, const struct check_span *s, uint32_t *sum, struct err *e)
{
    unsigned char *row = malloc(s->row_bytes);
    int rc = 0;
    if (row == NULL)
        return ERR(e, ERR_NOMEM, "check: no memory for a row of %zu bytes", s->row_bytes);
    *sum = 0;
    for (int64_t i = 0; i < s->rows && rc == 0; i++) {
        rc = inner_ops(c)->download(c->inner_own, row, s->data + (size_t)i * s->stride_bytes,
                                    s->row_bytes, e);
        *sum = hash_crc32c(*sum, row, s->row_bytes);
    }
    free(row);
    return rc;
}

int check_before(struct check *c, struct err *e)
{
    for (int32_t i = 0; i < c->spans_n; i++) {
        struct check_span *s = &c->span[i];
        s->region = check_region_find(c, s->data, span_extent(s));
        if (s->region == NULL)
            return ERR(e, ERR_INTERNAL, "%s: op %s: argument %s lies outside every allocation",
                       c->base.name, c->op, s->argument);
    }
    for (int32_t i = 0; i < c->spans_n; i++) {
        struct check_span *s = &c->span[i];
        bool small = (size_t)s->rows * s->row_bytes <= CHECK_COPY_BYTES;
        if (s->mode == CHECK_WRITE && small && !is_shared(c, s, false)) TRY(fill_span(c, s, e));
        if (s->mode == CHECK_READ && small && s->region->copy_own == NULL &&
            !is_shared(c, s, true)) {
            TRY(sum_span(c, s, &s->sum, e));
            s->summed = true;
        }
    }
    for (int32_t i = 0; i < c->spans_n; i++) {
        struct check_region *r = c->span[i].region;
        if (r->copied || r->copy_own == NULL) continue;
        TRY(inner_ops(c)->download(c->inner_own, r->copy_own, r->user, r->bytes, e));
        r->copied = true;
    }
    return 0;
}

static int check_guards(struct check *c, struct err *e)
{
    unsigned char band[2 * CHECK_GUARD_BYTES];
    for (size_t i = 0; i < c->regions_n; i++) {
        const struct check_region *r = c->region_own[i];
        TRY(inner_ops(c)->download(c->inner_own, band, r->inner_own, CHECK_GUARD_BYTES, e));
        TRY(inner_ops(c)->download(c->inner_own, band + CHECK_GUARD_BYTES, r->user + r->bytes,
                                   CHECK_GUARD_BYTES, e));
        for (int32_t j = 0; j < 2 * CHECK_GUARD_BYTES; j++) {
            if (band[j] == GUARD_BYTE) continue;
            int rc = ERR(e, ERR_INTERNAL, "%s: op %s wrote %d bytes %s an allocation of %zu bytes",
                         c->base.name, c->op,
                         j < CHECK_GUARD_BYTES ? CHECK_GUARD_BYTES - j : j - CHECK_GUARD_BYTES + 1,
                         j < CHECK_GUARD_BYTES ? "before" : "past the end of", r->bytes);
            struct err ignored;
            (void)set_guards(c, r, &ignored); /* so that the next op is not blamed too */
            return rc;
        }
    }
    return 0;
}

/* Says whose byte changed that the op was not to write. */
static int blame(const struct check *c, const struct check_region *r, size_t at, struct err *e)
{
    const char *byte = r->user + at;
    for (int32_t i = 0; i < c->spans_n; i++) {
        const struct check_span *s = &c->span[i];
        if (s->mode != CHECK_READ || byte < s->data || byte >= s->data + span_extent(s)) continue;
        if ((size_t)(byte - s->data) % s->stride_bytes < s->row_bytes)
            return ERR(e, ERR_INTERNAL, "%s: op %s changed its input %s at byte %zu", c->base.name,
                       c->op, s->argument, (size_t)(byte - s->data));
    }
    return ERR(e, ERR_INTERNAL,
               "%s: op %s wrote outside its outputs, at byte %zu of an allocation of %zu bytes",
               c->base.name, c->op, at, r->bytes);
}

/* Everything in a copied region but what the op was to write is as before. */
static int check_copy(struct check *c, struct check_region *r, struct err *e)
{
    TRY(inner_ops(c)->download(c->inner_own, r->now_own, r->user, r->bytes, e));
    for (int32_t i = 0; i < c->spans_n; i++) {
        const struct check_span *s = &c->span[i];
        if (s->region != r || s->mode == CHECK_READ) continue;
        for (int64_t row = 0; row < s->rows; row++) {
            size_t at = (size_t)(s->data - r->user) + (size_t)row * s->stride_bytes;
            memcpy(r->copy_own + at, r->now_own + at, s->row_bytes);
        }
    }
    if (memcmp(r->copy_own, r->now_own, r->bytes) == 0) return 0;
    size_t at = 0;
    while (r->copy_own[at] == r->now_own[at]) at++;
    return blame(c, r, at, e);
}

/* No element of a filled span still holds what it was filled with. */
static int check_written(struct check *c, const struct check_span *s, struct err *e)
{
    static const unsigned char unwritten[4] = {NAN_BYTE, NAN_BYTE, NAN_BYTE, NAN_BYTE};
    unsigned char *row = malloc(s->row_bytes);
    int rc = 0;
    if (row == NULL)
        return ERR(e, ERR_NOMEM, "check: no memory for a row of %zu bytes", s->row_bytes);
    for (int64_t i = 0; i < s->rows && rc == 0; i++) {
        rc = inner_ops(c)->download(c->inner_own, row, s->data + (size_t)i * s->stride_bytes,
                                    s->row_bytes, e);
        for (size_t at = 0; rc == 0 && at + 4 <= s->row_bytes; at += 4)
            if (memcmp(row + at, unwritten, 4) == 0)
                rc = ERR(e, ERR_INTERNAL,
                         "%s: op %s left row %" PRId64 ", byte %zu of its output %s unwritten, or "
                         "made it from memory nobody wrote",
                         c->base.name, c->op, i, at, s->argument);
    }
    free(row);
    return rc;
}

int check_after(struct check *c, int rc, struct err *e)
{
    if (rc < 0) return rc;
    rc = inner_ops(c)->sync(c->inner_own, e);
    if (rc < 0) {
        err_ctx(e, "%s: op %s", c->base.name, c->op);
        return rc;
    }
    TRY(check_guards(c, e));
    for (size_t i = 0; i < c->regions_n; i++)
        if (c->region_own[i]->copied) TRY(check_copy(c, c->region_own[i], e));
    for (int32_t i = 0; i < c->spans_n; i++) {
        struct check_span *s = &c->span[i];
        uint32_t sum = 0;
        if (s->filled) TRY(check_written(c, s, e));
        if (!s->summed) continue;
        TRY(sum_span(c, s, &sum, e));
        if (sum != s->sum)
            return ERR(e, ERR_INTERNAL, "%s: op %s changed its input %s", c->base.name, c->op,
                       s->argument);
    }
    return 0;
}
