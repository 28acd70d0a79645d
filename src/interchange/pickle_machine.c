/* pickle_machine.c - stack, marks, memo and input, each access checked. */
#include "interchange/pickle_machine.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PICKLE_MESSAGE_BYTES = 300 };

void pickle_machine_close(struct pickle_machine *m)
{
    free(m->stack_own);
    free(m->mark_own);
    free(m->memo_own);
}

int pickle_fail(const struct pickle_machine *m, const char *format, ...)
{
    char text[PICKLE_MESSAGE_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return ERR(m->e, ERR_DATA, "%s: byte %lld of the pickle: %s", m->place,
               (long long)(m->at - m->first), text);
}

/* --- input --- */

int pickle_take(struct pickle_machine *m, const unsigned char **out, uint64_t n)
{
    if (n > (uint64_t)(m->end - m->at))
        return pickle_fail(m, "%llu bytes are announced, %lld are left", (unsigned long long)n,
                           (long long)(m->end - m->at));
    *out = m->at;
    m->at += n;
    return 0;
}

int pickle_take_number(struct pickle_machine *m, uint32_t *out, int bytes)
{
    const unsigned char *p = NULL;

    *out = 0;
    TRY(pickle_take(m, &p, (uint64_t)bytes));
    for (int i = 0; i < bytes; i++) *out |= (uint32_t)p[i] << (8 * i);
    return 0;
}

int pickle_take_line(struct pickle_machine *m, const char **out)
{
    const unsigned char *newline = memchr(m->at, '\n', (size_t)(m->end - m->at));

    if (!newline) return pickle_fail(m, "a name has no end");
    *out = arena_strndup(m->arena, (const char *)m->at, (size_t)(newline - m->at));
    m->at = newline + 1;
    return 0;
}

/* --- the stack --- */

/* Room for one more element of an array that is counted from 0. */
static int pickle_grow(const struct pickle_machine *m, void **array_own, int64_t *room, int64_t n,
                       size_t element_bytes)
{
    if (n < *room) return 0;
    int64_t more = *room ? 2 * *room : 256;
    void *grown = realloc(*array_own, (size_t)more * element_bytes);
    if (!grown) return ERR(m->e, ERR_NOMEM, "%s: no memory to read it", m->place);
    *array_own = grown;
    *room = more;
    return 0;
}

int pickle_make(struct pickle_machine *m, struct pickle_value **out, enum pickle_type type)
{
    if (++m->values_n > PICKLE_VALUES_MAX)
        return pickle_fail(m, "more than %d values, far more than a checkpoint's description has",
                           PICKLE_VALUES_MAX);
    *out = arena_alloc(m->arena, sizeof **out);
    (*out)->type = type;
    return 0;
}

int pickle_push(struct pickle_machine *m, struct pickle_value *v)
{
    void *array = m->stack_own;

    TRY(pickle_grow(m, &array, &m->stack_room, m->stack_n, sizeof *m->stack_own));
    m->stack_own = array;
    m->stack_own[m->stack_n++] = v;
    return 0;
}

int pickle_push_new(struct pickle_machine *m, struct pickle_value **out, enum pickle_type type)
{
    TRY(pickle_make(m, out, type));
    return pickle_push(m, *out);
}

int pickle_top(struct pickle_machine *m, struct pickle_value **out)
{
    int64_t floor = m->marks_n ? m->mark_own[m->marks_n - 1] : 0;

    if (m->stack_n <= floor) return pickle_fail(m, "takes a value where none is");
    *out = m->stack_own[m->stack_n - 1];
    return 0;
}

int pickle_pop(struct pickle_machine *m, struct pickle_value **out)
{
    TRY(pickle_top(m, out));
    m->stack_n--;
    return 0;
}

int pickle_push_mark(struct pickle_machine *m)
{
    void *array = m->mark_own;

    TRY(pickle_grow(m, &array, &m->marks_room, m->marks_n, sizeof *m->mark_own));
    m->mark_own = array;
    m->mark_own[m->marks_n++] = m->stack_n;
    return 0;
}

int pickle_pop_mark(struct pickle_machine *m, struct pickle_value ***items, int64_t *n)
{
    if (m->marks_n == 0) return pickle_fail(m, "goes back to a mark where none is");
    int64_t first = m->mark_own[--m->marks_n];
    *items = m->stack_own ? m->stack_own + first : NULL;
    *n = m->stack_n - first;
    m->stack_n = first;
    return 0;
}

/* --- memo and containers --- */

/* Every index a writer uses was put once, in order: there are never more than bytes in the file. */
int pickle_memo_put(struct pickle_machine *m, uint32_t index)
{
    struct pickle_value *v;

    TRY(pickle_top(m, &v));
    if (index >= PICKLE_VALUES_MAX)
        return pickle_fail(m, "remembers a value under %u, more than the limit of %d", index,
                           PICKLE_VALUES_MAX);
    while (index >= m->memo_room) {
        int64_t old = m->memo_room;
        void *array = m->memo_own;
        TRY(pickle_grow(m, &array, &m->memo_room, old, sizeof *m->memo_own));
        m->memo_own = array;
        memset(m->memo_own + old, 0, (size_t)(m->memo_room - old) * sizeof *m->memo_own);
    }
    m->memo_own[index] = v;
    return 0;
}

int pickle_memo_get(struct pickle_machine *m, uint32_t index)
{
    if (index >= m->memo_room || !m->memo_own[index])
        return pickle_fail(m, "asks for value %u, which was never remembered", index);
    return pickle_push(m, m->memo_own[index]);
}

int pickle_append(struct pickle_machine *m, struct pickle_value *to, struct pickle_value *item)
{
    int64_t items_n = to->type == PICKLE_DICT ? 2 * to->n + (to->integer != 0) : to->n;

    if (items_n == to->room) {
        int64_t more = to->room ? 2 * to->room : 8;
        struct pickle_value **grown = arena_array(m->arena, (size_t)more, sizeof *grown);
        if (items_n > 0) memcpy(grown, to->item, (size_t)items_n * sizeof *grown);
        to->item = grown;
        to->room = more;
    }
    to->item[items_n] = item;
    if (to->type != PICKLE_DICT) {
        to->n++;
        return 0;
    }
    to->n += to->integer != 0; /* a pair is whole with its second half */
    to->integer = to->integer == 0;
    return 0;
}
