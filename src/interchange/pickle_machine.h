/* pickle_machine.h - the stack machine that a pickle is a program for; shared by pickle.c (its
 * operations) and pickle_machine.c (its stack, memo and input). */
#ifndef INTERCHANGE_PICKLE_MACHINE_H
#define INTERCHANGE_PICKLE_MACHINE_H

#include "interchange/pickle.h"

struct pickle_machine {
    const unsigned char *first, *at, *end;
    struct arena *arena;
    const struct pickle_name *names;
    size_t names_n;
    const char *place;
    struct pickle_value **stack_own;
    int64_t stack_n, stack_room;
    int64_t *mark_own; /* heights of the stack */
    int64_t marks_n, marks_room;
    struct pickle_value **memo_own;
    int64_t memo_room;
    int64_t values_n;
    struct err *e;
};

void pickle_machine_close(struct pickle_machine *m);

/* pickle_fail - ERR_DATA with the file and the byte. */
int pickle_fail(const struct pickle_machine *m, const char *format, ...) ERR_PRINTF(2, 3);

/* pickle_take - the next n bytes of the program. pickle_take_number - `bytes` of them, 1 to 4, as
 * an unsigned little-endian number. */
int pickle_take(struct pickle_machine *m, const unsigned char **out, uint64_t n);
int pickle_take_number(struct pickle_machine *m, uint32_t *out, int bytes);
/* pickle_take_line - up to the next newline, which is passed over; in the arena. */
int pickle_take_line(struct pickle_machine *m, const char **out);

/* pickle_make - a new value; pickle_push puts it on the stack. */
int pickle_make(struct pickle_machine *m, struct pickle_value **out, enum pickle_type type);
int pickle_push(struct pickle_machine *m, struct pickle_value *v);
/* pickle_push_new - both at once. */
int pickle_push_new(struct pickle_machine *m, struct pickle_value **out, enum pickle_type type);
/* pickle_pop - never below the newest mark. pickle_top - the same value, left where it is. */
int pickle_pop(struct pickle_machine *m, struct pickle_value **out);
int pickle_top(struct pickle_machine *m, struct pickle_value **out);
int pickle_push_mark(struct pickle_machine *m);
/* pickle_pop_mark - the values above the newest mark: n of them from *items, which hold until the
 * next push. */
int pickle_pop_mark(struct pickle_machine *m, struct pickle_value ***items, int64_t *n);

int pickle_memo_put(struct pickle_machine *m, uint32_t index);
int pickle_memo_get(struct pickle_machine *m, uint32_t index);

/* pickle_append - adds an item, or a dict's key or value, to a container. */
int pickle_append(struct pickle_machine *m, struct pickle_value *to, struct pickle_value *item);

#endif
