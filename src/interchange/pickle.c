/* pickle.c - interprets a pickle, a program for a stack machine. An operation pops values, then
 * pushes a new value or changes the topmost one. Every access is checked. */
#include "interchange/torch_file.h"

#include <endian.h>
#include <string.h>

struct machine {
    const unsigned char *at, *end;
    struct arena *arena;
    struct {
        struct pickle_value **item;
        int32_t n, capacity;
    } stack, memo; /* NULL on the stack: a mark; in the memo: no value */
    int64_t values_n;
    struct err *e;

    /* The operands of the current operation: the number after its code, or the number in its row;
     * the popped values, valid until the next push; and the value that it makes, recalls or
     * changes. */
    uint32_t number;
    struct pickle_value **taken, *value;
    int32_t taken_n;
};

/* Takes the next n bytes of the pickle; NULL: there are fewer. */
static const unsigned char *take_bytes(struct machine *m, uint32_t n)
{
    const unsigned char *p = m->at;

    if (n > m->end - p) {
        ERR(m->e, ERR_DATA, "expected %u more bytes, but only %td are left", n, m->end - p);
        return NULL;
    }
    m->at += n;
    return p;
}

/* Pops `count` values, or all above the newest mark. */
enum { PICKLE_MARKED = -1 };
static int pop_items(struct machine *m, int32_t count)
{
    int32_t i = m->stack.n;

    while (i > 0 && m->stack.item[i - 1] && (count == PICKLE_MARKED || m->stack.n - i < count)) i--;
    if (count == PICKLE_MARKED && i == 0) return ERR(m->e, ERR_DATA, "no mark on the stack");
    if (m->stack.n - i < count) return ERR(m->e, ERR_DATA, "no value on the stack");
    m->taken = i < m->stack.n ? m->stack.item + i : NULL;
    m->taken_n = m->stack.n - i;
    m->stack.n = i - (count == PICKLE_MARKED);
    return 0;
}

/* --- operations ----------------------------------------------------------------------------- */

static int do_integer(struct machine *m)
{
    m->value->integer = (int32_t)m->number;
    return 0;
}

/* Reads an integer of any length in two's complement. */
static int long_integer(struct machine *m)
{
    uint32_t n = m->number;
    const unsigned char *p = take_bytes(m, n);

    if (!p) return ERR_DATA;
    if (n > sizeof m->value->integer) {
        m->value->type = PICKLE_NONE; /* too long: a seed or a hash, not needed here */
        return 0;
    }
    m->value->integer = n > 0 && p[n - 1] >= 0x80 ? -1 : 0;
    memcpy(&m->value->integer, p, n);
    return 0;
}

static int do_real(struct machine *m)
{
    uint64_t bits;
    const unsigned char *p = take_bytes(m, sizeof bits);

    if (!p) return ERR_DATA;
    memcpy(&bits, p, sizeof bits);
    bits = be64toh(bits);
    memcpy(&m->value->real, &bits, sizeof bits);
    return 0;
}

static int do_text(struct machine *m)
{
    const unsigned char *p = take_bytes(m, m->number);

    if (!p) return ERR_DATA;
    m->value->text = arena_strndup(m->arena, (const char *)p, m->number);
    return 0;
}

static int do_collect(struct machine *m)
{
    for (int32_t i = 0; i < m->taken_n; i++) *vec_push(m->arena, m->value) = m->taken[i];
    return 0;
}

/* Adds the popped values to a container; the number is its type. */
static int do_extend(struct machine *m)
{
    bool dict = m->number == PICKLE_DICT;

    /* Items of an object derived from dict or list are not needed here. */
    if (m->value->type == PICKLE_OBJECT) return 0;
    if (m->value->type != m->number)
        return ERR(m->e, ERR_DATA, "adds items to a value that is not a %s",
                   dict ? "dict" : "list");
    if (dict && m->taken_n % 2 != 0) return ERR(m->e, ERR_DATA, "a key without a value");
    return do_collect(m);
}

/* Reads two lines: a module and a name. */
static int do_global(struct machine *m)
{
    const char *line[2];

    for (int i = 0; i < 2; i++) {
        const unsigned char *from = m->at, *newline = memchr(from, '\n', (size_t)(m->end - from));
        if (!newline) return ERR(m->e, ERR_DATA, "unterminated name");
        line[i] = arena_strndup(m->arena, (const char *)from, (size_t)(newline - from));
        m->at = newline + 1;
    }
    m->value->name = torch_name_find(arena_printf(m->arena, "%s.%s", line[0], line[1]));
    if (m->value->name) return 0;
    return ERR(m->e, ERR_DATA, "loads %.80s.%.80s, which is not allowed in a checkpoint", line[0],
               line[1]);
}

/* Makes the node that represents a call. */
static int do_call(struct machine *m)
{
    const struct pickle_value *callee = m->taken[0], *arguments = m->taken[1];

    if (callee->type != PICKLE_GLOBAL || arguments->type != PICKLE_TUPLE)
        return ERR(m->e, ERR_DATA, "calls a value that is not a name");
    if (callee->name->use == TORCH_NAME)
        return ERR(m->e, ERR_DATA, "calls %s, which is not a function", callee->name->name);
    if (callee->name->use == TORCH_DICT) m->value->type = PICKLE_DICT;
    m->value->name = callee->name;
    m->value->arguments = arguments;
    return 0;
}

static int set_state(struct machine *m)
{
    if (m->value->type != PICKLE_OBJECT && m->value->type != PICKLE_DICT)
        return ERR(m->e, ERR_DATA, "sets attributes of a value that is not an object");
    m->value->state = m->taken[0];
    return 0;
}

static int set_id(struct machine *m)
{
    m->value->arguments = m->taken[0];
    return 0;
}

static int do_memorise(struct machine *m)
{
    if (m->number >= PICKLE_VALUES_MAX)
        return ERR(m->e, ERR_DATA, "stores a value under %u, more than the limit of %d", m->number,
                   PICKLE_VALUES_MAX);
    while ((uint32_t)m->memo.n <= m->number) *vec_push(m->arena, &m->memo) = NULL;
    m->memo.item[m->number] = m->value;
    return 0;
}

static int do_recall(struct machine *m)
{
    if (m->number >= (uint32_t)m->memo.n || !m->memo.item[m->number])
        return ERR(m->e, ERR_DATA, "reads value %u, which was never stored", m->number);
    m->value = m->memo.item[m->number];
    return 0;
}

/* An operation that makes no new value recalls m->value (NULL: a mark) or changes the topmost value
 * and pushes nothing. */
enum { PICKLE_RECALLED = -1, PICKLE_CHANGED = -2 };

static const struct operation {
    unsigned char code;
    uint8_t number_bytes; /* of the little-endian number after the code */
    int takes;            /* popped values */
    int makes;            /* an enum pickle_type, or see above */
    int (*run)(struct machine *m);
    uint32_t number; /* if no number follows */
} operations[] = {
    {'N', 0, 0, PICKLE_NONE, NULL, 0},
    {0x88, 0, 0, PICKLE_BOOL, do_integer, 1},
    {0x89, 0, 0, PICKLE_BOOL, do_integer, 0},
    {'K', 1, 0, PICKLE_INT, do_integer, 0},
    {'M', 2, 0, PICKLE_INT, do_integer, 0},
    {'J', 4, 0, PICKLE_INT, do_integer, 0},
    {0x8a, 1, 0, PICKLE_INT, long_integer, 0},
    {0x8b, 4, 0, PICKLE_INT, long_integer, 0},
    {'G', 0, 0, PICKLE_REAL, do_real, 0},
    {'X', 4, 0, PICKLE_TEXT, do_text, 0},
    {'(', 0, 0, PICKLE_RECALLED, NULL, 0},
    {']', 0, 0, PICKLE_LIST, NULL, 0},
    {'a', 0, 1, PICKLE_CHANGED, do_extend, PICKLE_LIST},
    {'e', 0, PICKLE_MARKED, PICKLE_CHANGED, do_extend, PICKLE_LIST},
    {')', 0, 0, PICKLE_TUPLE, NULL, 0},
    {0x85, 0, 1, PICKLE_TUPLE, do_collect, 0},
    {0x86, 0, 2, PICKLE_TUPLE, do_collect, 0},
    {0x87, 0, 3, PICKLE_TUPLE, do_collect, 0},
    {'t', 0, PICKLE_MARKED, PICKLE_TUPLE, do_collect, 0},
    {'}', 0, 0, PICKLE_DICT, NULL, 0},
    {'s', 0, 2, PICKLE_CHANGED, do_extend, PICKLE_DICT},
    {'u', 0, PICKLE_MARKED, PICKLE_CHANGED, do_extend, PICKLE_DICT},
    {'c', 0, 0, PICKLE_GLOBAL, do_global, 0},
    {'R', 0, 2, PICKLE_OBJECT, do_call, 0},
    {0x81, 0, 2, PICKLE_OBJECT, do_call, 0},
    {'b', 0, 1, PICKLE_CHANGED, set_state, 0},
    {'Q', 0, 1, PICKLE_PERSISTENT, set_id, 0},
    {'q', 1, 0, PICKLE_CHANGED, do_memorise, 0},
    {'r', 4, 0, PICKLE_CHANGED, do_memorise, 0},
    {'h', 1, 0, PICKLE_RECALLED, do_recall, 0},
    {'j', 4, 0, PICKLE_RECALLED, do_recall, 0},
};

static int run_opcode(struct machine *m, unsigned char code)
{
    const struct operation *o = operations;
    const struct operation *end = o + sizeof operations / sizeof *operations;

    while (o < end && o->code != code) o++;
    if (o == end)
        return ERR(m->e, ERR_DATA, "unknown operation 0x%02x; torch.save does not write it", code);
    const unsigned char *p = take_bytes(m, o->number_bytes);
    if (!p) return ERR_DATA;
    m->number = o->number;
    memcpy(&m->number, p, o->number_bytes);
    TRY(pop_items(m, o->takes));
    m->value = NULL;
    if (o->makes >= 0) {
        if (++m->values_n > PICKLE_VALUES_MAX)
            return ERR(m->e, ERR_DATA, "more than %d values; not the description of a checkpoint",
                       PICKLE_VALUES_MAX);
        m->value = arena_alloc(m->arena, sizeof *m->value);
        m->value->type = (enum pickle_type)o->makes;
    } else if (o->makes == PICKLE_CHANGED) {
        m->value = m->stack.n > 0 ? m->stack.item[m->stack.n - 1] : NULL;
        if (!m->value) return ERR(m->e, ERR_DATA, "no value on the stack");
    }
    if (o->run) TRY(o->run(m));
    if (o->makes != PICKLE_CHANGED) *vec_push(m->arena, &m->stack) = m->value;
    return 0;
}

/* Reads the two bytes of the protocol, then operations up to STOP. */
static int run_program(struct machine *m, struct pickle_value **out)
{
    const unsigned char *p = take_bytes(m, 2);

    if (!p) return ERR_DATA;
    if (p[0] != 0x80) return ERR(m->e, ERR_DATA, "does not begin like a pickle of protocol 2");
    if (p[1] != 2) return ERR(m->e, ERR_DATA, "protocol %u, expected 2", p[1]);
    while ((p = take_bytes(m, 1)) && *p != '.') TRY(run_opcode(m, *p));
    if (!p) return ERR_DATA;
    TRY(pop_items(m, 1));
    *out = m->taken[0];
    return m->stack.n == 0 ? 0 : ERR(m->e, ERR_DATA, "ends with values left over");
}

int pickle_read(struct pickle_value **out, struct arena *a, const void *data, size_t n,
                const char *path, struct err *e)
{
    const unsigned char *first = data;
    struct machine m = {.at = first, .end = first + n, .arena = a, .e = e};

    int rc = run_program(&m, out);
    if (rc < 0) err_ctx(e, "%s: byte %lld of the pickle", path, (long long)(m.at - first));
    return rc;
}

/* --- looking up values ------------------------------------------------------------------------ */

static const struct pickle_value *find_key(const struct pickle_value *dict, const char *key)
{
    if (!dict || dict->type != PICKLE_DICT) return NULL;
    for (int32_t i = dict->n - 2; i >= 0; i -= 2) /* the last value of a key counts */
        if (dict->item[i]->type == PICKLE_TEXT && strcmp(dict->item[i]->text, key) == 0)
            return dict->item[i + 1];
    return NULL;
}

const struct pickle_value *pickle_get(const struct pickle_value *v, const char *key)
{
    if (!v || v->type != PICKLE_OBJECT) return find_key(v, key);
    /* omegaconf: containers store items in _content, leaves their value in _val. */
    const struct pickle_value *content = find_key(v->state, "_content");
    const struct pickle_value *found = find_key(content ? content : v->state, key);
    const struct pickle_value *leaf =
        found && found->type == PICKLE_OBJECT ? find_key(found->state, "_val") : NULL;
    return leaf ? leaf : found;
}
