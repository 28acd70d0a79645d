/* check.c - the checking backend: its life, the memory it gives, and the copies, NaN, checksums,
 * guards and the repetition around one op. */
#include "check/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/ops_table.h"
#include "base/hash.h"
#include "group/group.h"

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
    char name[32]; /* of a transfer, else unused */
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
    int32_t regions_n;
    const char *op; /* being checked */
    struct check_span *span_own;
    int32_t spans_n, spans_room;
};

static inline const struct backend_ops *check_inner(const struct check *c)
{
    return c->inner_own->ops;
}

static struct check *check_of(struct backend *b)
{
    return (struct check *)b;
}

/* ---- allocations ---- */

static int check_set_guards(struct check *c, const struct check_region *r, struct err *e)
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

static struct check_region *check_region_find(const struct check *c, const void *p, size_t bytes)
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
    struct check *c = check_of(b);
    *out = NULL;
    void *grown = reallocarray(c->region_own, (size_t)c->regions_n + 1, sizeof *c->region_own);
    if (grown) c->region_own = grown;
    struct check_region *r = calloc(1, sizeof *r);
    if (!r || !grown) {
        free(r);
        return ERR(e, ERR_NOMEM, "check: no memory for the record of an allocation");
    }
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
    struct check *c = check_of(b);
    struct check_region *r = check_region_find(c, p, 0);
    int32_t i = 0;
    if (!r) return;
    while (c->region_own[i] != r) i++;
    c->region_own[i] = c->region_own[--c->regions_n];
    region_free(c, r);
}

static void check_close(struct backend *b)
{
    struct check *c = check_of(b);
    while (c->regions_n > 0) region_free(c, c->region_own[--c->regions_n]);
    free(c->region_own);
    free(c->span_own);
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
    struct check *c = check_of(b);
    TRY(within(c, "upload", dst_dev, bytes, e));
    return c->inner_own->ops->upload(c->inner_own, dst_dev, src_host, bytes, e);
}

static int check_download(struct backend *b, void *dst_host, const void *src_dev, size_t bytes,
                          struct err *e)
{
    struct check *c = check_of(b);
    TRY(within(c, "download", src_dev, bytes, e));
    return c->inner_own->ops->download(c->inner_own, dst_host, src_dev, bytes, e);
}

static int check_copy_memory(struct backend *b, void *dst_dev, const void *src_dev, size_t bytes,
                             struct err *e)
{
    struct check *c = check_of(b);
    TRY(within(c, "copy to", dst_dev, bytes, e));
    TRY(within(c, "copy from", src_dev, bytes, e));
    return c->inner_own->ops->copy(c->inner_own, dst_dev, src_dev, bytes, e);
}

static int check_zero(struct backend *b, void *dst_dev, size_t bytes, struct err *e)
{
    struct check *c = check_of(b);
    TRY(within(c, "zero", dst_dev, bytes, e));
    return c->inner_own->ops->zero(c->inner_own, dst_dev, bytes, e);
}

static int check_sync(struct backend *b, struct err *e)
{
    struct check *c = check_of(b);
    return c->inner_own->ops->sync(c->inner_own, e);
}

static int check_peak_bytes(struct backend *b, int64_t *out, struct err *e)
{
    struct check *c = check_of(b);
    return c->inner_own->ops->peak_bytes(c->inner_own, out, e);
}

/* ---- one op ---- */

static size_t extent(const struct op_memory *m)
{
    return (size_t)(m->rows - 1) * m->stride_bytes + m->row_bytes;
}

static bool overlap(const struct check_span *a, const struct check_span *b)
{
    const struct op_memory *m = &a->memory, *o = &b->memory;
    if (a->region != b->region || m->data + extent(m) <= o->data || o->data + extent(o) <= m->data)
        return false;
    if (m->stride_bytes != o->stride_bytes || m->rows < 2) return true;
    /* Columns of one matrix side by side overlap in extent only. */
    size_t from = (size_t)(m->data - a->region->user) % m->stride_bytes;
    size_t at = (size_t)(o->data - b->region->user) % o->stride_bytes;
    return from + m->row_bytes > at && at + o->row_bytes > from;
}

/* True if the table lets the output be that argument, and it is exactly that. */
static bool may_be(const struct op_memory *output, const struct op_memory *other)
{
    return output->data == other->data && output->stride_bytes == other->stride_bytes &&
           op_is_listed(output->argument->may_be, other->name);
}

static int check_overlaps(const struct check *c, const struct check_span *s, struct err *e)
{
    for (int32_t i = 0; s->memory.role != ARG_READ && i < c->spans_n; i++) {
        const struct check_span *o = &c->span_own[i];
        if (o == s || !overlap(s, o) || may_be(&s->memory, &o->memory)) continue;
        if (o->memory.role != ARG_READ && may_be(&o->memory, &s->memory)) continue;
        return ERR(e, ERR_INTERNAL, "%s: op %s: output %s overlaps argument %s", c->base.name,
                   c->op, s->memory.name, o->memory.name);
    }
    return 0;
}

/* True if the op also reads an output, or writes an input, as another argument. */
static bool is_shared(const struct check *c, const struct check_span *s)
{
    enum op_role same = s->memory.role;
    for (int32_t i = 0; i < c->spans_n; i++)
        if (&c->span_own[i] != s && c->span_own[i].memory.role != same &&
            overlap(s, &c->span_own[i]))
            return true;
    return false;
}

static int fill_span(struct check *c, struct check_span *s, struct err *e)
{
    const struct op_memory *m = &s->memory;
    unsigned char *row = malloc(m->row_bytes);
    int rc = 0;
    if (!row) return ERR(e, ERR_NOMEM, "check: no memory for a row of %zu bytes", m->row_bytes);
    memset(row, CHECK_NAN_BYTE, m->row_bytes);
    for (int64_t i = 0; i < m->rows && rc == 0; i++)
        rc = check_inner(c)->upload(c->inner_own, m->data + (size_t)i * m->stride_bytes, row,
                                    m->row_bytes, e);
    s->filled = rc == 0;
    free(row);
    return rc;
}

/* A row of a span, copied to the host. */
struct row {
    const struct check *check;
    const struct op_memory *memory;
    int64_t number;
    unsigned char *bytes;
};

/* Looks at each row of a span. */
static int each_row(struct check *c, const struct check_span *s,
                    int (*look)(const struct row *row, void *context, struct err *e), void *context,
                    struct err *e)
{
    const struct op_memory *m = &s->memory;
    struct row row = {.check = c, .memory = m, .bytes = malloc(m->row_bytes)};
    int rc = 0;
    if (!row.bytes)
        return ERR(e, ERR_NOMEM, "check: no memory for a row of %zu bytes", m->row_bytes);
    for (; row.number < m->rows && rc == 0; row.number++) {
        rc = check_inner(c)->download(c->inner_own, row.bytes,
                                      m->data + (size_t)row.number * m->stride_bytes, m->row_bytes,
                                      e);
        if (rc == 0) rc = look(&row, context, e);
    }
    free(row.bytes);
    return rc;
}

static int add_to_sum(const struct row *row, void *context, struct err *e)
{
    uint32_t *sum = context;
    (void)e;
    *sum = hash_crc32c(*sum, row->bytes, row->memory->row_bytes);
    return 0;
}

/* Checks that no element of a filled row still has the fill value. */
static int is_written(const struct row *row, void *context, struct err *e)
{
    static const unsigned char unwritten[4] = {CHECK_NAN_BYTE, CHECK_NAN_BYTE, CHECK_NAN_BYTE,
                                               CHECK_NAN_BYTE};
    (void)context;
    if (row->memory->argument->type == ARG_MASK) return 0; /* any bits are valid */
    for (size_t at = 0; at + 4 <= row->memory->row_bytes; at += 4)
        if (memcmp(row->bytes + at, unwritten, 4) == 0)
            return ERR(e, ERR_INTERNAL,
                       "%s: op %s left row %" PRId64 ", byte %zu of its output %s unwritten, or "
                       "made it from unwritten memory",
                       row->check->base.name, row->check->op, row->number, at, row->memory->name);
    return 0;
}

/* Begins an op of so many spans at most. */
static int begin_call(struct check *c, const char *op, int32_t spans_max, struct err *e)
{
    c->op = op;
    c->spans_n = 0;
    for (int32_t i = 0; i < c->regions_n; i++) c->region_own[i]->copied = false;
    if (spans_max <= c->spans_room) return 0;
    void *grown = reallocarray(c->span_own, (size_t)spans_max, sizeof *c->span_own);
    if (!grown) return ERR(e, ERR_NOMEM, "check: no memory for %d spans", spans_max);
    c->span_own = grown;
    c->spans_room = spans_max;
    return 0;
}

static int add_span(struct check *c, const struct op_memory *memory, struct err *e)
{
    struct check_span *s = &c->span_own[c->spans_n++];
    *s = (struct check_span){.memory = *memory};
    s->region = check_region_find(c, memory->data, extent(memory));
    if (s->region) return 0;
    return ERR(e, ERR_INTERNAL, "%s: op %s: argument %s is outside every allocation", c->base.name,
               c->op, memory->name);
}

static int begin_op(struct check *c, enum op op, const void *args, struct err *e)
{
    struct op_memory memory[OP_ARGUMENTS_MAX];
    int32_t n = 0;
    TRY(begin_call(c, op_name(op), OP_ARGUMENTS_MAX, e));
    TRY(op_arguments(&c->base, op, args, memory, &n, e));
    for (int32_t i = 0; i < n; i++) TRY(add_span(c, &memory[i], e));
    return 0;
}

static int look_before(struct check *c, struct err *e)
{
    for (int32_t i = 0; i < c->spans_n; i++) {
        struct check_span *s = &c->span_own[i];
        const struct op_memory *m = &s->memory;
        bool small = (size_t)m->rows * m->row_bytes <= CHECK_COPY_BYTES;
        TRY(check_overlaps(c, s, e));
        if (m->role == ARG_WRITE && small && !is_shared(c, s)) TRY(fill_span(c, s, e));
        if (m->role == ARG_READ && small && !s->region->before_own && !is_shared(c, s)) {
            TRY(each_row(c, s, add_to_sum, &s->sum, e));
            s->summed = true;
        }
    }
    for (int32_t i = 0; i < c->spans_n; i++) {
        struct check_region *r = c->span_own[i].region;
        if (r->copied || !r->before_own) continue;
        TRY(check_inner(c)->download(c->inner_own, r->before_own, r->user, r->bytes, e));
        r->copied = true;
    }
    return 0;
}

static int check_guards(struct check *c, struct err *e)
{
    unsigned char band[2 * CHECK_GUARD_BYTES];
    for (int32_t i = 0; i < c->regions_n; i++) {
        const struct check_region *r = c->region_own[i];
        TRY(check_inner(c)->download(c->inner_own, band, r->inner_own, CHECK_GUARD_BYTES, e));
        TRY(check_inner(c)->download(c->inner_own, band + CHECK_GUARD_BYTES, r->user + r->bytes,
                                     CHECK_GUARD_BYTES, e));
        for (int32_t j = 0; j < 2 * CHECK_GUARD_BYTES; j++) {
            if (band[j] == CHECK_GUARD_BYTE) continue;
            int rc = ERR(e, ERR_INTERNAL, "%s: op %s wrote %d bytes %s an allocation of %zu bytes",
                         c->base.name, c->op,
                         j < CHECK_GUARD_BYTES ? CHECK_GUARD_BYTES - j : j - CHECK_GUARD_BYTES + 1,
                         j < CHECK_GUARD_BYTES ? "before" : "past the end of", r->bytes);
            struct err ignored;
            (void)check_set_guards(c, r, &ignored); /* so that the next op is not blamed too */
            return rc;
        }
    }
    return 0;
}

/* Returns the argument of one of the roles that has this byte, or NULL. */
static const struct op_memory *argument_at(const struct check *c, const char *byte, bool read)
{
    for (int32_t i = 0; i < c->spans_n; i++) {
        const struct op_memory *m = &c->span_own[i].memory;
        if ((m->role == ARG_READ) != read || byte < m->data || byte >= m->data + extent(m))
            continue;
        if ((size_t)(byte - m->data) % m->stride_bytes < m->row_bytes) return m;
    }
    return NULL;
}

static size_t first_difference(const struct check_region *r)
{
    size_t at = 0;
    while (r->other_own[at] == r->after_own[at]) at++;
    return at;
}

/* Checks that a copied region is unchanged except for the output of the op. */
static int check_outside(struct check *c, struct check_region *r, struct err *e)
{
    TRY(check_inner(c)->download(c->inner_own, r->after_own, r->user, r->bytes, e));
    memcpy(r->other_own, r->before_own, r->bytes);
    for (int32_t i = 0; i < c->spans_n; i++) {
        const struct op_memory *m = &c->span_own[i].memory;
        if (c->span_own[i].region != r || m->role == ARG_READ) continue;
        for (int64_t row = 0; row < m->rows; row++) {
            size_t at = (size_t)(m->data - r->user) + (size_t)row * m->stride_bytes;
            memcpy(r->other_own + at, r->after_own + at, m->row_bytes);
        }
    }
    if (memcmp(r->other_own, r->after_own, r->bytes) == 0) return 0;
    size_t at = first_difference(r);
    const struct op_memory *input = argument_at(c, r->user + at, true);
    if (input)
        return ERR(e, ERR_INTERNAL, "%s: op %s changed its input %s at byte %zu", c->base.name,
                   c->op, input->name, (size_t)(r->user + at - input->data));
    return ERR(e, ERR_INTERNAL,
               "%s: op %s wrote outside its outputs, at byte %zu of an allocation of %zu bytes",
               c->base.name, c->op, at, r->bytes);
}

static int wait_for_stream(struct check *c, struct err *e)
{
    int rc = check_inner(c)->sync(c->inner_own, e);
    if (rc < 0) err_ctx(e, "%s: op %s", c->base.name, c->op);
    return rc;
}

static int look_after(struct check *c, struct err *e)
{
    TRY(wait_for_stream(c, e));
    TRY(check_guards(c, e));
    for (int32_t i = 0; i < c->regions_n; i++)
        if (c->region_own[i]->copied) TRY(check_outside(c, c->region_own[i], e));
    for (int32_t i = 0; i < c->spans_n; i++) {
        struct check_span *s = &c->span_own[i];
        uint32_t sum = 0;
        if (s->filled) TRY(each_row(c, s, is_written, NULL, e));
        if (!s->summed) continue;
        TRY(each_row(c, s, add_to_sum, &sum, e));
        if (sum != s->sum)
            return ERR(e, ERR_INTERNAL, "%s: op %s changed its input %s", c->base.name, c->op,
                       s->memory.name);
    }
    return 0;
}

/* Copies the bits of a mask that have no meaning from the first result to the repeated one. */
static void forget_padding(const struct check *c, const struct check_region *r)
{
    for (int32_t i = 0; i < c->spans_n; i++) {
        const struct op_memory *m = &c->span_own[i].memory;
        size_t bits = (size_t)m->mask_bits;
        if (c->span_own[i].region != r || m->role != ARG_WRITE || bits == 0) continue;
        for (int64_t row = 0; row < m->rows; row++) {
            size_t first = (size_t)(m->data - r->user) + (size_t)row * m->stride_bytes;
            for (size_t at = bits / 8; at < m->row_bytes; at++) {
                unsigned char *to = (unsigned char *)r->other_own + first + at;
                unsigned char from = ((const unsigned char *)r->after_own)[first + at];
                unsigned kept = at == bits / 8 ? (1u << bits % 8) - 1 : 0;
                *to = (unsigned char)((*to & kept) | (from & ~kept));
            }
        }
    }
}

/* Does the op again from what was there before; nothing where an output is too large to restore. */
static int repeat(struct check *c, enum op op, const void *args, struct err *e)
{
    for (int32_t i = 0; i < c->spans_n; i++)
        if (c->span_own[i].memory.role != ARG_READ && !c->span_own[i].region->copied) return 0;
    for (int32_t i = 0; i < c->regions_n; i++) {
        const struct check_region *r = c->region_own[i];
        if (r->copied)
            TRY(check_inner(c)->upload(c->inner_own, r->user, r->before_own, r->bytes, e));
    }
    TRY(op_run(c->inner_own, op, args, e));
    TRY(wait_for_stream(c, e));
    for (int32_t i = 0; i < c->regions_n; i++) {
        const struct check_region *r = c->region_own[i];
        if (!r->copied) continue;
        TRY(check_inner(c)->download(c->inner_own, r->other_own, r->user, r->bytes, e));
        forget_padding(c, r);
        if (memcmp(r->other_own, r->after_own, r->bytes) == 0) continue;
        const struct op_memory *m = argument_at(c, r->user + first_difference(r), false);
        return ERR(e, ERR_INTERNAL, "%s: op %s gave other bits in %s when it was repeated",
                   c->base.name, c->op, m ? m->name : "memory outside its outputs");
    }
    return 0;
}

static int check_op(struct backend *b, enum op op, const void *args, struct err *e)
{
    struct check *c = (struct check *)b;
    TRY(begin_op(c, op, args, e));
    TRY(look_before(c, e));
    TRY(op_run(c->inner_own, op, args, e));
    TRY(look_after(c, e));
    return repeat(c, op, args, e);
}

/* ---- ranks ---- */

static int check_group_join(struct backend *b, struct group *g, struct err *e)
{
    struct check *c = check_of(b);
    TRY(check_inner(c)->group_join(c->inner_own, g, e));
    const struct backend *inner = c->inner_own;
    c->base.group = inner->group;
    memcpy(c->base.transport, inner->transport, sizeof inner->transport);
    memcpy(c->base.transport_warning, inner->transport_warning, sizeof inner->transport_warning);
    return 0;
}

/* Adds what transfer `number` reads or writes. */
static int add_transfer(struct check *c, int32_t number, enum op_role role, const void *data,
                        size_t bytes, struct err *e)
{
    static const struct op_argument transferred = {.type = ARG_F32};
    struct check_span *s = &c->span_own[c->spans_n];
    char name[sizeof s->name];
    const struct op_memory m = {.argument = &transferred,
                                .role = role,
                                .name = name,
                                .data = (char *)(uintptr_t)data,
                                .rows = 1,
                                .row_bytes = bytes,
                                .stride_bytes = bytes};
    if (bytes == 0) return 0;
    snprintf(name, sizeof name, "%s %d", role == ARG_READ ? "send" : "receive", number);
    TRY(add_span(c, &m, e));
    memcpy(s->name, name, sizeof name);
    s->memory.name = s->name;
    return 0;
}

/* Not repeated: the other ranks take part once. */
static int check_exchange(struct backend *b, const struct group_transfer *list, int32_t n,
                          struct err *e)
{
    struct check *c = check_of(b);
    TRY(begin_call(c, "exchange", 2 * n, e));
    for (int32_t i = 0; i < n; i++) {
        TRY(add_transfer(c, i, ARG_READ, list[i].send, list[i].send_bytes, e));
        TRY(add_transfer(c, i, ARG_UPDATE, list[i].receive, list[i].receive_bytes, e));
    }
    TRY(look_before(c, e));
    TRY(check_inner(c)->exchange(c->inner_own, list, n, e));
    return look_after(c, e);
}

#define CHECKED(NAME, name, args)                                                                  \
    static int check_##name(struct backend *b, const struct args *a, struct err *e)                \
    {                                                                                              \
        return check_op(b, OP_##NAME, a, e);                                                       \
    }
BACKEND_OPS(CHECKED)

/* A fused function that the wrapped backend lacks stays empty, so that it is composed. The graph
 * functions stay empty as well: an op must run at once so that memory can be inspected before and
 * after it. */
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
        .group_join = check_inner(c)->group_join ? check_group_join : NULL,
        .exchange = check_inner(c)->exchange ? check_exchange : NULL,
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
