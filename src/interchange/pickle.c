/* pickle.c - interprets a pickle, a program for a stack machine. An operation pops values, then
 * pushes a new value or changes the topmost one. Every access is checked. */
#include "interchange/torch_file.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct pickle_values {
    struct pickle_value **item;
    int32_t n, capacity;
};

struct pickle_machine {
    const unsigned char *first, *at, *end;
    struct arena *arena;
    const struct pickle_name *names;
    size_t names_n;
    const char *place;
    struct pickle_values stack, memo; /* NULL on the stack: a mark; in the memo: no value */
    int64_t values_n;
    struct err *e;

    /* Of the current operation: the number after its code (or of its row); the popped values, valid
     * until the next push; and the value it makes, pushed after it (NULL: none). */
    uint32_t number;
    struct pickle_value **taken, *made;
    int32_t taken_n;
};

/* Values that an operation pops: a number, or all above the newest mark. */
enum { PICKLE_MARKED = -1 };

static int pickle_fail(const struct pickle_machine *m, const char *format, ...) ERR_PRINTF(2, 3);
static int pickle_fail(const struct pickle_machine *m, const char *format, ...)
{
    char text[300];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return ERR(m->e, ERR_DATA, "%s: byte %lld of the pickle: %s", m->place,
               (long long)(m->at - m->first), text);
}

/* --- input, stack --------------------------------------------------------------------------- */

static int pickle_take(struct pickle_machine *m, const unsigned char **out, uint64_t n)
{
    if (n > (uint64_t)(m->end - m->at))
        return pickle_fail(m, "expected %llu more bytes, but only %lld are left",
                           (unsigned long long)n, (long long)(m->end - m->at));
    *out = m->at;
    m->at += n;
    return 0;
}

/* Reads a line into the arena, without its newline. */
static int pickle_take_line(struct pickle_machine *m, const char **out)
{
    const unsigned char *newline = memchr(m->at, '\n', (size_t)(m->end - m->at));

    if (!newline) return pickle_fail(m, "unterminated name");
    *out = arena_strndup(m->arena, (const char *)m->at, (size_t)(newline - m->at));
    m->at = newline + 1;
    return 0;
}

static int pickle_make(struct pickle_machine *m, enum pickle_type type)
{
    if (++m->values_n > PICKLE_VALUES_MAX)
        return pickle_fail(m, "more than %d values; not the description of a checkpoint",
                           PICKLE_VALUES_MAX);
    m->made = arena_alloc(m->arena, sizeof *m->made);
    m->made->type = type;
    return 0;
}

/* Pops `count` values. */
static int pickle_pop(struct pickle_machine *m, int32_t count)
{
    struct pickle_value **stack = m->stack.item;
    int32_t i = m->stack.n;

    while (i > 0 && stack[i - 1] && (count == PICKLE_MARKED || m->stack.n - i < count)) i--;
    if (count == PICKLE_MARKED && i == 0) return pickle_fail(m, "no mark on the stack");
    if (m->stack.n - i < count) return pickle_fail(m, "no value on the stack");
    m->taken = stack ? stack + i : NULL;
    m->taken_n = m->stack.n - i;
    m->stack.n = i - (count == PICKLE_MARKED);
    return 0;
}

/* The topmost value, without popping it. */
static int pickle_top(struct pickle_machine *m, struct pickle_value **out)
{
    *out = m->stack.n > 0 ? m->stack.item[m->stack.n - 1] : NULL;
    return *out ? 0 : pickle_fail(m, "no value on the stack");
}

/* --- operations ----------------------------------------------------------------------------- */

static int pickle_integer(struct pickle_machine *m)
{
    m->made->integer = (int64_t)m->number;
    return 0;
}

static int pickle_signed(struct pickle_machine *m)
{
    m->made->integer = (int64_t)(int32_t)m->number;
    return 0;
}

/* An integer of any length in two's complement. */
static int pickle_long(struct pickle_machine *m)
{
    const unsigned char *p = NULL;
    uint32_t n = m->number;
    uint64_t number = 0;

    TRY(pickle_take(m, &p, n));
    if (n > sizeof number) {
        m->made->type = PICKLE_NONE; /* too long: a seed or a hash, not needed here */
        return 0;
    }
    for (uint32_t i = 0; i < sizeof number; i++) {
        unsigned byte = i < n ? p[i] : n > 0 && p[n - 1] >= 0x80 ? 0xFFu : 0u;
        number |= (uint64_t)byte << (8 * i);
    }
    memcpy(&m->made->integer, &number, sizeof number);
    return 0;
}

/* A double, big endian. */
static int pickle_real(struct pickle_machine *m)
{
    const unsigned char *p = NULL;
    uint64_t bits = 0;

    TRY(pickle_take(m, &p, sizeof bits));
    for (size_t i = 0; i < sizeof bits; i++) bits = bits << 8 | p[i];
    memcpy(&m->made->real, &bits, sizeof bits);
    return 0;
}

static int pickle_text(struct pickle_machine *m)
{
    const unsigned char *p = NULL;

    TRY(pickle_take(m, &p, m->number));
    m->made->text = arena_strndup(m->arena, (const char *)p, m->number);
    return 0;
}

static int pickle_mark(struct pickle_machine *m)
{
    *vec_push(m->arena, &m->stack) = NULL;
    return 0;
}

static int pickle_collect(struct pickle_machine *m)
{
    for (int32_t i = 0; i < m->taken_n; i++) *vec_push(m->arena, m->made) = m->taken[i];
    return 0;
}

/* Adds the popped values to the container below; the number is the container's type. */
static int pickle_fill(struct pickle_machine *m)
{
    enum pickle_type type = (enum pickle_type)m->number;
    struct pickle_value *to;

    TRY(pickle_top(m, &to));
    /* Items of an object derived from dict or list are not needed here. */
    if (to->type == PICKLE_OBJECT) return 0;
    if (to->type != type)
        return pickle_fail(m, "adds items to a value that is not a %s",
                           type == PICKLE_DICT ? "dict" : "list");
    if (type == PICKLE_DICT && m->taken_n % 2 != 0) return pickle_fail(m, "a key without a value");
    m->made = to;
    TRY(pickle_collect(m));
    m->made = NULL;
    return 0;
}

static const struct pickle_name *pickle_find_name(const struct pickle_machine *m, const char *name)
{
    for (size_t i = 0; i < m->names_n; i++)
        if (strcmp(m->names[i].name, name) == 0) return &m->names[i];
    return NULL;
}

static int pickle_global(struct pickle_machine *m)
{
    const char *module, *name;

    TRY(pickle_take_line(m, &module));
    TRY(pickle_take_line(m, &name));
    m->made->text = arena_printf(m->arena, "%s %s", module, name);
    if (pickle_find_name(m, m->made->text)) return 0;
    return pickle_fail(m, "loads %.80s.%.80s, which is not allowed in a checkpoint", module, name);
}

/* Makes the node that represents a call, as the row of the name permits. */
static int pickle_call(struct pickle_machine *m)
{
    const struct pickle_value *callee = m->taken[0], *arguments = m->taken[1];

    if (callee->type != PICKLE_GLOBAL || arguments->type != PICKLE_TUPLE)
        return pickle_fail(m, "calls a value that is not a name");
    const struct pickle_name *name = pickle_find_name(m, callee->text);
    if (!name || name->use == PICKLE_USE_NAME)
        return pickle_fail(m, "calls %.80s, which is not a function", callee->text);
    if (name->use == PICKLE_USE_DICT) m->made->type = PICKLE_DICT;
    m->made->text = callee->text;
    m->made->arguments = arguments;
    return 0;
}

static int pickle_build(struct pickle_machine *m)
{
    struct pickle_value *v;

    TRY(pickle_top(m, &v));
    if (v->type != PICKLE_OBJECT && v->type != PICKLE_DICT)
        return pickle_fail(m, "sets attributes of a value that is not an object");
    v->state = m->taken[0];
    return 0;
}

static int pickle_persistent(struct pickle_machine *m)
{
    m->made->arguments = m->taken[0];
    return 0;
}

static int pickle_put(struct pickle_machine *m)
{
    struct pickle_value *v;

    TRY(pickle_top(m, &v));
    if (m->number >= PICKLE_VALUES_MAX)
        return pickle_fail(m, "stores a value under %u, more than the limit of %d", m->number,
                           PICKLE_VALUES_MAX);
    while ((uint32_t)m->memo.n <= m->number) *vec_push(m->arena, &m->memo) = NULL;
    m->memo.item[m->number] = v;
    return 0;
}

static int pickle_recall(struct pickle_machine *m)
{
    if (m->number >= (uint32_t)m->memo.n || !m->memo.item[m->number])
        return pickle_fail(m, "reads value %u, which was never stored", m->number);
    m->made = m->memo.item[m->number];
    return 0;
}

static int pickle_drop(struct pickle_machine *m)
{
    (void)m; /* the table pops the value */
    return 0;
}

enum { PICKLE_NOTHING = -1 };

static const struct pickle_operation {
    unsigned char code;
    int number_bytes; /* of the little-endian number after the code */
    int takes;        /* popped values */
    int makes;        /* an enum pickle_type */
    int (*run)(struct pickle_machine *m);
    uint32_t number; /* if no number follows */
} pickle_operations[] = {
    {'N', 0, 0, PICKLE_NONE, pickle_integer, 0},
    {0x88, 0, 0, PICKLE_BOOL, pickle_integer, 1},
    {0x89, 0, 0, PICKLE_BOOL, pickle_integer, 0},
    {'K', 1, 0, PICKLE_INT, pickle_integer, 0},
    {'M', 2, 0, PICKLE_INT, pickle_integer, 0},
    {'J', 4, 0, PICKLE_INT, pickle_signed, 0},
    {0x8a, 1, 0, PICKLE_INT, pickle_long, 0},
    {0x8b, 4, 0, PICKLE_INT, pickle_long, 0},
    {'G', 0, 0, PICKLE_REAL, pickle_real, 0},
    {'U', 1, 0, PICKLE_TEXT, pickle_text, 0},
    {'T', 4, 0, PICKLE_TEXT, pickle_text, 0},
    {'X', 4, 0, PICKLE_TEXT, pickle_text, 0},
    {'(', 0, 0, PICKLE_NOTHING, pickle_mark, 0},
    {']', 0, 0, PICKLE_LIST, pickle_collect, 0},
    {'l', 0, PICKLE_MARKED, PICKLE_LIST, pickle_collect, 0},
    {'a', 0, 1, PICKLE_NOTHING, pickle_fill, PICKLE_LIST},
    {'e', 0, PICKLE_MARKED, PICKLE_NOTHING, pickle_fill, PICKLE_LIST},
    {')', 0, 0, PICKLE_TUPLE, pickle_collect, 0},
    {0x85, 0, 1, PICKLE_TUPLE, pickle_collect, 0},
    {0x86, 0, 2, PICKLE_TUPLE, pickle_collect, 0},
    {0x87, 0, 3, PICKLE_TUPLE, pickle_collect, 0},
    {'t', 0, PICKLE_MARKED, PICKLE_TUPLE, pickle_collect, 0},
    {'}', 0, 0, PICKLE_DICT, pickle_collect, 0},
    {'s', 0, 2, PICKLE_NOTHING, pickle_fill, PICKLE_DICT},
    {'u', 0, PICKLE_MARKED, PICKLE_NOTHING, pickle_fill, PICKLE_DICT},
    {'c', 0, 0, PICKLE_GLOBAL, pickle_global, 0},
    {'R', 0, 2, PICKLE_OBJECT, pickle_call, 0},
    {0x81, 0, 2, PICKLE_OBJECT, pickle_call, 0},
    {'b', 0, 1, PICKLE_NOTHING, pickle_build, 0},
    {'Q', 0, 1, PICKLE_PERSISTENT, pickle_persistent, 0},
    {'q', 1, 0, PICKLE_NOTHING, pickle_put, 0},
    {'r', 4, 0, PICKLE_NOTHING, pickle_put, 0},
    {'h', 1, 0, PICKLE_NOTHING, pickle_recall, 0},
    {'j', 4, 0, PICKLE_NOTHING, pickle_recall, 0},
    {'0', 0, 1, PICKLE_NOTHING, pickle_drop, 0},
};

static int pickle_step(struct pickle_machine *m, unsigned char code)
{
    const struct pickle_operation *o = pickle_operations;
    const struct pickle_operation *end = o + sizeof pickle_operations / sizeof *pickle_operations;
    const unsigned char *p = NULL;

    while (o < end && o->code != code) o++;
    if (o == end)
        return pickle_fail(m, "unknown operation 0x%02x; torch.save does not write it", code);
    TRY(pickle_take(m, &p, (uint64_t)o->number_bytes));
    m->number = o->number;
    for (int k = 0; k < o->number_bytes; k++) m->number |= (uint32_t)p[k] << (8 * k);
    m->made = NULL;
    TRY(pickle_pop(m, o->takes));
    if (o->makes != PICKLE_NOTHING) TRY(pickle_make(m, (enum pickle_type)o->makes));
    TRY(o->run(m));
    if (m->made) *vec_push(m->arena, &m->stack) = m->made;
    return 0;
}

/* Reads the two bytes of the protocol, then operations up to STOP. */
static int pickle_run(struct pickle_machine *m, struct pickle_value **out)
{
    const unsigned char *p = NULL;

    TRY(pickle_take(m, &p, 2));
    if (p[0] != 0x80) return pickle_fail(m, "does not begin like a pickle of protocol 2");
    if (p[1] != 2) return pickle_fail(m, "protocol %u, expected 2", p[1]);
    for (;;) {
        TRY(pickle_take(m, &p, 1));
        if (*p == '.') break;
        TRY(pickle_step(m, *p));
    }
    TRY(pickle_pop(m, 1));
    *out = m->taken[0];
    return m->stack.n == 0 ? 0 : pickle_fail(m, "ends with values left over");
}

int pickle_read(struct pickle_value **out, struct arena *a, const void *data, size_t n,
                const struct pickle_name *names, size_t names_n, const char *place, struct err *e)
{
    struct pickle_machine m = {.first = data,
                               .at = data,
                               .end = (const unsigned char *)data + n,
                               .arena = a,
                               .names = names,
                               .names_n = names_n,
                               .place = place,
                               .e = e};

    *out = NULL;
    if (n > PICKLE_BYTES_MAX)
        return ERR(e, ERR_DATA, "%s: a pickle of %zu bytes, more than the limit of %d", place, n,
                   PICKLE_BYTES_MAX);
    return pickle_run(&m, out);
}

/* --- looking up values ------------------------------------------------------------------------ */

static const struct pickle_value *pickle_find(const struct pickle_value *dict, const char *key)
{
    if (!dict || dict->type != PICKLE_DICT) return NULL;
    for (int32_t i = dict->n - 2; i >= 0; i -= 2) /* the last value of a key counts */
        if (dict->item[i]->type == PICKLE_TEXT && strcmp(dict->item[i]->text, key) == 0)
            return dict->item[i + 1];
    return NULL;
}

const struct pickle_value *pickle_get(const struct pickle_value *v, const char *key)
{
    if (!v) return NULL;
    if (v->type == PICKLE_DICT) return pickle_find(v, key);
    if (v->type != PICKLE_OBJECT) return NULL;
    /* omegaconf: containers store items in _content, leaves their value in _val. */
    const struct pickle_value *content = pickle_find(v->state, "_content");
    const struct pickle_value *found = pickle_find(content ? content : v->state, key);
    if (!found || found->type != PICKLE_OBJECT) return found;
    const struct pickle_value *leaf = pickle_find(found->state, "_val");
    return leaf ? leaf : found;
}
