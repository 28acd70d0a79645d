/* pickle.c - the operations of protocol 2 that PyTorch's files consist of. */
#include "interchange/pickle.h"

#include <stdbool.h>
#include <string.h>

#include "interchange/pickle_machine.h"

/* An operation gets the number of its row. */
typedef int (*pickle_operation_fn)(struct pickle_machine *m, int argument);

static int pickle_constant(struct pickle_machine *m, int argument)
{
    struct pickle_value *v;

    TRY(pickle_push_new(m, &v, argument < 0 ? PICKLE_NONE : PICKLE_BOOL));
    v->integer = argument > 0;
    return 0;
}

/* A whole number of 1, 2 or 4 bytes; only the one of 4 has a sign. */
static int pickle_integer(struct pickle_machine *m, int argument)
{
    struct pickle_value *v;
    uint32_t number;

    TRY(pickle_take_number(m, &number, argument));
    TRY(pickle_push_new(m, &v, PICKLE_INT));
    v->integer = argument == 4 ? (int64_t)(int32_t)number : (int64_t)number;
    return 0;
}

/* A whole number of any length, two's complement; argument: bytes of its length. */
static int pickle_long(struct pickle_machine *m, int argument)
{
    struct pickle_value *v;
    const unsigned char *p = NULL;
    uint32_t n;
    uint64_t number = 0;

    TRY(pickle_take_number(m, &n, argument));
    TRY(pickle_take(m, &p, n));
    TRY(pickle_push_new(m, &v, PICKLE_INT));
    if (n > sizeof number) {
        v->type = PICKLE_NONE; /* a seed or a hash of Python: nothing here asks for such a number */
        return 0;
    }
    for (uint32_t i = 0; i < sizeof number; i++) {
        unsigned byte = i < n ? p[i] : n > 0 && p[n - 1] >= 0x80 ? 0xFFu : 0u;
        number |= (uint64_t)byte << (8 * i);
    }
    memcpy(&v->integer, &number, sizeof number);
    return 0;
}

/* A double, big endian. */
static int pickle_real(struct pickle_machine *m, int argument)
{
    struct pickle_value *v;
    const unsigned char *p = NULL;
    uint64_t bits = 0;

    (void)argument;
    TRY(pickle_take(m, &p, sizeof bits));
    TRY(pickle_push_new(m, &v, PICKLE_REAL));
    for (size_t i = 0; i < sizeof bits; i++) bits = bits << 8 | p[i];
    memcpy(&v->real, &bits, sizeof bits);
    return 0;
}

/* argument: bytes of the length. */
static int pickle_text(struct pickle_machine *m, int argument)
{
    struct pickle_value *v;
    const unsigned char *p = NULL;
    uint32_t n;

    TRY(pickle_take_number(m, &n, argument));
    TRY(pickle_take(m, &p, n));
    TRY(pickle_push_new(m, &v, PICKLE_TEXT));
    v->text = arena_strndup(m->arena, (const char *)p, n);
    v->n = n;
    return 0;
}

static int pickle_container(struct pickle_machine *m, int argument)
{
    struct pickle_value *v;
    return pickle_push_new(m, &v, (enum pickle_type)argument);
}

static int pickle_mark(struct pickle_machine *m, int argument)
{
    (void)argument;
    return pickle_push_mark(m);
}

/* A tuple or list of what is above the mark. */
static int pickle_from_mark(struct pickle_machine *m, int argument)
{
    struct pickle_value **items, *v;
    int64_t n;

    TRY(pickle_pop_mark(m, &items, &n));
    TRY(pickle_make(m, &v, (enum pickle_type)argument));
    for (int64_t i = 0; i < n; i++) TRY(pickle_append(m, v, items[i]));
    return pickle_push(m, v);
}

/* A tuple of the topmost 1, 2 or 3. */
static int pickle_tuple(struct pickle_machine *m, int argument)
{
    struct pickle_value *item[3], *v;

    for (int i = argument - 1; i >= 0; i--) TRY(pickle_pop(m, &item[i]));
    TRY(pickle_make(m, &v, PICKLE_TUPLE));
    for (int i = 0; i < argument; i++) TRY(pickle_append(m, v, item[i]));
    return pickle_push(m, v);
}

/* What a list or a dict gets: argument is PICKLE_LIST or PICKLE_DICT. */
static int pickle_fill(struct pickle_machine *m, enum pickle_type type,
                       struct pickle_value *const *items, int64_t n)
{
    struct pickle_value *to;

    TRY(pickle_top(m, &to));
    /* An object that is a dict or a list, and keeps items beside its attributes, is not asked. */
    if (to->type == PICKLE_OBJECT) return 0;
    if (to->type != type)
        return pickle_fail(m, "adds items to what is no %s", type == PICKLE_DICT ? "dict" : "list");
    if (type == PICKLE_DICT && n % 2 != 0) return pickle_fail(m, "a key without a value");
    for (int64_t i = 0; i < n; i++) TRY(pickle_append(m, to, items[i]));
    return 0;
}

static int pickle_add_one(struct pickle_machine *m, int argument)
{
    struct pickle_value *item[2];
    int n = argument == PICKLE_DICT ? 2 : 1;

    for (int i = n - 1; i >= 0; i--) TRY(pickle_pop(m, &item[i]));
    return pickle_fill(m, (enum pickle_type)argument, item, n);
}

static int pickle_add_marked(struct pickle_machine *m, int argument)
{
    struct pickle_value **items;
    int64_t n;

    TRY(pickle_pop_mark(m, &items, &n));
    return pickle_fill(m, (enum pickle_type)argument, items, n);
}

static const struct pickle_name *pickle_find_name(const struct pickle_machine *m, const char *name)
{
    for (size_t i = 0; i < m->names_n; i++)
        if (strcmp(m->names[i].name, name) == 0) return &m->names[i];
    return NULL;
}

static int pickle_global(struct pickle_machine *m, int argument)
{
    const char *module, *name;
    struct pickle_value *v;

    (void)argument;
    TRY(pickle_take_line(m, &module));
    TRY(pickle_take_line(m, &name));
    const char *whole = arena_printf(m->arena, "%s %s", module, name);
    if (!pickle_find_name(m, whole))
        return pickle_fail(m, "names %.80s.%.80s, which a checkpoint has no need of; refused",
                           module, name);
    TRY(pickle_push_new(m, &v, PICKLE_GLOBAL));
    v->text = whole;
    return 0;
}

/* Makes the node that stands for a call; the name's row says which, or that it may not be. */
static int pickle_call(struct pickle_machine *m, int argument)
{
    struct pickle_value *arguments, *callee, *v;

    (void)argument;
    TRY(pickle_pop(m, &arguments));
    TRY(pickle_pop(m, &callee));
    if (callee->type != PICKLE_GLOBAL || arguments->type != PICKLE_TUPLE)
        return pickle_fail(m, "calls what is no name");
    const struct pickle_name *name = pickle_find_name(m, callee->text);
    if (!name || name->use == PICKLE_USE_NAME)
        return pickle_fail(m, "calls %.80s, which is no function", callee->text);
    TRY(pickle_push_new(m, &v, name->use == PICKLE_USE_DICT ? PICKLE_DICT : PICKLE_OBJECT));
    v->text = callee->text;
    v->arguments = arguments;
    return 0;
}

static int pickle_build(struct pickle_machine *m, int argument)
{
    struct pickle_value *state, *v;

    (void)argument;
    TRY(pickle_pop(m, &state));
    TRY(pickle_top(m, &v));
    if (v->type != PICKLE_OBJECT && v->type != PICKLE_DICT)
        return pickle_fail(m, "gives attributes to what is no object");
    v->state = state;
    return 0;
}

static int pickle_persistent(struct pickle_machine *m, int argument)
{
    struct pickle_value *id, *v;

    (void)argument;
    TRY(pickle_pop(m, &id));
    TRY(pickle_push_new(m, &v, PICKLE_PERSISTENT));
    v->arguments = id;
    return 0;
}

static int pickle_put(struct pickle_machine *m, int argument)
{
    uint32_t index;
    TRY(pickle_take_number(m, &index, argument));
    return pickle_memo_put(m, index);
}

static int pickle_again(struct pickle_machine *m, int argument)
{
    uint32_t index;
    TRY(pickle_take_number(m, &index, argument));
    return pickle_memo_get(m, index);
}

static int pickle_drop(struct pickle_machine *m, int argument)
{
    struct pickle_value *v;
    (void)argument;
    return pickle_pop(m, &v);
}

static const struct {
    unsigned char code;
    pickle_operation_fn run;
    int argument;
} pickle_operations[] = {
    {'(', pickle_mark, 0},
    {'0', pickle_drop, 0},
    {'G', pickle_real, 0},
    {'J', pickle_integer, 4},
    {'K', pickle_integer, 1},
    {'M', pickle_integer, 2},
    {'N', pickle_constant, -1},
    {'Q', pickle_persistent, 0},
    {'R', pickle_call, 0},
    {'T', pickle_text, 4},
    {'U', pickle_text, 1},
    {'X', pickle_text, 4},
    {']', pickle_container, PICKLE_LIST},
    {'a', pickle_add_one, PICKLE_LIST},
    {'b', pickle_build, 0},
    {'c', pickle_global, 0},
    {'e', pickle_add_marked, PICKLE_LIST},
    {'h', pickle_again, 1},
    {'j', pickle_again, 4},
    {'l', pickle_from_mark, PICKLE_LIST},
    {'q', pickle_put, 1},
    {'r', pickle_put, 4},
    {'s', pickle_add_one, PICKLE_DICT},
    {'t', pickle_from_mark, PICKLE_TUPLE},
    {'u', pickle_add_marked, PICKLE_DICT},
    {'}', pickle_container, PICKLE_DICT},
    {')', pickle_container, PICKLE_TUPLE},
    {0x81, pickle_call, 0},
    {0x85, pickle_tuple, 1},
    {0x86, pickle_tuple, 2},
    {0x87, pickle_tuple, 3},
    {0x88, pickle_constant, 1},
    {0x89, pickle_constant, 0},
    {0x8a, pickle_long, 1},
    {0x8b, pickle_long, 4},
};

static int pickle_step(struct pickle_machine *m, unsigned char code)
{
    for (size_t i = 0; i < sizeof pickle_operations / sizeof *pickle_operations; i++)
        if (pickle_operations[i].code == code)
            return pickle_operations[i].run(m, pickle_operations[i].argument);
    return pickle_fail(m, "operation 0x%02x is none that PyTorch writes", code);
}

/* The two bytes that say the protocol, operations, and the full stop. */
static int pickle_run(struct pickle_machine *m, struct pickle_value **out)
{
    const unsigned char *p = NULL;

    TRY(pickle_take(m, &p, 2));
    if (p[0] != 0x80) return pickle_fail(m, "does not begin as a pickle of protocol 2");
    if (p[1] != 2) return pickle_fail(m, "protocol %u, expected 2 as torch.save writes", p[1]);
    for (;;) {
        TRY(pickle_take(m, &p, 1));
        if (*p == '.') break;
        TRY(pickle_step(m, *p));
    }
    TRY(pickle_pop(m, out));
    if (m->stack_n != 0 || m->marks_n != 0) return pickle_fail(m, "ends with values left over");
    return 0;
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
    int rc = pickle_run(&m, out);
    pickle_machine_close(&m);
    return rc;
}

static const struct pickle_value *pickle_find(const struct pickle_value *dict, const char *key)
{
    const struct pickle_value *found = NULL;

    if (!dict || dict->type != PICKLE_DICT) return NULL;
    for (int64_t i = 0; i < dict->n; i++) {
        const struct pickle_value *k = dict->item[2 * i];
        if (k->type == PICKLE_TEXT && strcmp(k->text, key) == 0) found = dict->item[2 * i + 1];
    }
    return found;
}

const struct pickle_value *pickle_get(const struct pickle_value *v, const char *key)
{
    if (!v) return NULL;
    if (v->type == PICKLE_DICT) return pickle_find(v, key);
    if (v->type != PICKLE_OBJECT) return NULL;
    /* omegaconf: a container holds its items in _content, a leaf its value in _val. */
    const struct pickle_value *content = pickle_find(v->state, "_content");
    const struct pickle_value *found = pickle_find(content ? content : v->state, key);
    if (!found || found->type != PICKLE_OBJECT) return found;
    const struct pickle_value *leaf = pickle_find(found->state, "_val");
    return leaf ? leaf : found;
}
