/* check_op.c - copies, NaN, checksums, guards and a repetition around one op. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "check/check_internal.h"

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

/* Whether the table lets the output be that argument, and it is exactly that. */
static bool may_be(const struct op_memory *output, const struct op_memory *other)
{
    return output->data == other->data && output->stride_bytes == other->stride_bytes &&
           op_argument_may_be(output->argument, other->name);
}

static int check_overlaps(const struct check *c, const struct check_span *s, struct err *e)
{
    for (int32_t i = 0; s->memory.role != ARG_READ && i < c->spans_n; i++) {
        const struct check_span *o = &c->span[i];
        if (o == s || !overlap(s, o) || may_be(&s->memory, &o->memory)) continue;
        if (o->memory.role != ARG_READ && may_be(&o->memory, &s->memory)) continue;
        return ERR(e, ERR_INTERNAL, "%s: op %s: output %s overlaps argument %s", c->base.name,
                   c->op, s->memory.name, o->memory.name);
    }
    return 0;
}

/* Whether the op also reads an output, or writes an input, as another argument. */
static bool is_shared(const struct check *c, const struct check_span *s)
{
    enum op_role same = s->memory.role;
    for (int32_t i = 0; i < c->spans_n; i++)
        if (&c->span[i] != s && c->span[i].memory.role != same && overlap(s, &c->span[i]))
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

/* Looks at each row of a span on the host. */
static int each_row(struct check *c, const struct check_span *s,
                    int (*look)(struct check *, const struct check_span *, int64_t row,
                                const unsigned char *bytes, void *context, struct err *),
                    void *context, struct err *e)
{
    const struct op_memory *m = &s->memory;
    unsigned char *row = malloc(m->row_bytes);
    int rc = 0;
    if (!row) return ERR(e, ERR_NOMEM, "check: no memory for a row of %zu bytes", m->row_bytes);
    for (int64_t i = 0; i < m->rows && rc == 0; i++) {
        rc = check_inner(c)->download(c->inner_own, row, m->data + (size_t)i * m->stride_bytes,
                                      m->row_bytes, e);
        if (rc == 0) rc = look(c, s, i, row, context, e);
    }
    free(row);
    return rc;
}

static int add_to_sum(struct check *c, const struct check_span *s, int64_t row,
                      const unsigned char *bytes, void *context, struct err *e)
{
    uint32_t *sum = context;
    (void)c, (void)row, (void)e;
    *sum = hash_crc32c(*sum, bytes, s->memory.row_bytes);
    return 0;
}

/* No element of a filled row still holds what it was filled with. */
static int is_written(struct check *c, const struct check_span *s, int64_t row,
                      const unsigned char *bytes, void *context, struct err *e)
{
    static const unsigned char unwritten[4] = {CHECK_NAN_BYTE, CHECK_NAN_BYTE, CHECK_NAN_BYTE,
                                               CHECK_NAN_BYTE};
    (void)context;
    for (size_t at = 0; at + 4 <= s->memory.row_bytes; at += 4)
        if (memcmp(bytes + at, unwritten, 4) == 0)
            return ERR(e, ERR_INTERNAL,
                       "%s: op %s left row %" PRId64 ", byte %zu of its output %s unwritten, or "
                       "made it from unwritten memory",
                       c->base.name, c->op, row, at, s->memory.name);
    return 0;
}

static int begin(struct check *c, enum op op, const void *args, struct err *e)
{
    struct op_memory memory[OP_ARGUMENTS_MAX];
    c->op = op_table[op].name;
    for (int32_t i = 0; i < c->regions_n; i++) c->region_own[i]->copied = false;
    TRY(op_arguments(&c->base, op, args, memory, &c->spans_n, e));
    for (int32_t i = 0; i < c->spans_n; i++) {
        struct check_span *s = &c->span[i];
        *s = (struct check_span){.memory = memory[i]};
        s->region = check_region_find(c, memory[i].data, extent(&memory[i]));
        if (!s->region)
            return ERR(e, ERR_INTERNAL, "%s: op %s: argument %s is outside every allocation",
                       c->base.name, c->op, memory[i].name);
    }
    return 0;
}

static int look_before(struct check *c, struct err *e)
{
    for (int32_t i = 0; i < c->spans_n; i++) {
        struct check_span *s = &c->span[i];
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
        struct check_region *r = c->span[i].region;
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

/* The argument of one of the roles that has this byte, or NULL. */
static const struct op_memory *argument_at(const struct check *c, const char *byte, bool read)
{
    for (int32_t i = 0; i < c->spans_n; i++) {
        const struct op_memory *m = &c->span[i].memory;
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

/* Everything in a copied region but what the op was to write is as before. */
static int check_outside(struct check *c, struct check_region *r, struct err *e)
{
    TRY(check_inner(c)->download(c->inner_own, r->after_own, r->user, r->bytes, e));
    memcpy(r->other_own, r->before_own, r->bytes);
    for (int32_t i = 0; i < c->spans_n; i++) {
        const struct op_memory *m = &c->span[i].memory;
        if (c->span[i].region != r || m->role == ARG_READ) continue;
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

static int wait(struct check *c, struct err *e)
{
    int rc = check_inner(c)->sync(c->inner_own, e);
    if (rc < 0) err_ctx(e, "%s: op %s", c->base.name, c->op);
    return rc;
}

static int look_after(struct check *c, struct err *e)
{
    TRY(wait(c, e));
    TRY(check_guards(c, e));
    for (int32_t i = 0; i < c->regions_n; i++)
        if (c->region_own[i]->copied) TRY(check_outside(c, c->region_own[i], e));
    for (int32_t i = 0; i < c->spans_n; i++) {
        struct check_span *s = &c->span[i];
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

/* Does the op again from what was there before; nothing where an output is too large to restore. */
static int repeat(struct check *c, enum op op, const void *args, struct err *e)
{
    for (int32_t i = 0; i < c->spans_n; i++)
        if (c->span[i].memory.role != ARG_READ && !c->span[i].region->copied) return 0;
    for (int32_t i = 0; i < c->regions_n; i++) {
        const struct check_region *r = c->region_own[i];
        if (r->copied)
            TRY(check_inner(c)->upload(c->inner_own, r->user, r->before_own, r->bytes, e));
    }
    TRY(op_run(c->inner_own, op, args, e));
    TRY(wait(c, e));
    for (int32_t i = 0; i < c->regions_n; i++) {
        const struct check_region *r = c->region_own[i];
        if (!r->copied) continue;
        TRY(check_inner(c)->download(c->inner_own, r->other_own, r->user, r->bytes, e));
        if (memcmp(r->other_own, r->after_own, r->bytes) == 0) continue;
        const struct op_memory *m = argument_at(c, r->user + first_difference(r), false);
        return ERR(e, ERR_INTERNAL, "%s: op %s gave other bits in %s when it was repeated",
                   c->base.name, c->op, m ? m->name : "memory outside its outputs");
    }
    return 0;
}

int check_op(struct backend *b, enum op op, const void *args, struct err *e)
{
    struct check *c = (struct check *)b;
    TRY(begin(c, op, args, e));
    TRY(look_before(c, e));
    TRY(op_run(c->inner_own, op, args, e));
    TRY(look_after(c, e));
    return repeat(c, op, args, e);
}
