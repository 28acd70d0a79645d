/* emulation_fiber.h - stacks that are switched by hand, made known to the sanitizers. Internal. */
#ifndef EMULATION_FIBER_H
#define EMULATION_FIBER_H

#include "emulation_machine.h"

#if !defined(__x86_64__)
#define EMULATION_UCONTEXT 1
#endif
#ifdef EMULATION_UCONTEXT
#include <ucontext.h>
#endif

struct fiber {
#ifdef EMULATION_UCONTEXT
    ucontext_t context;
#else
    void *stack_top; /* while it does not run */
#endif
    const void *stack; /* lowest byte */
    size_t stack_bytes;
    void *thread_sanitizer, *address_sanitizer;

    /* The CUDA thread that it plays, kept by the machine. */
    unsigned thread;
    uint3 index; /* threadIdx */
    bool done;
    const char *waits_in; /* what and where, for reports */
    emulation_place waits_at;
    emulation_copy *copies; /* not yet waited for: from copies_first to copies_n */
    int copies_first, copies_n, copies_room;
    long group; /* number of the group that is open */
};

/* fiber_make - a fiber which, when first switched to, runs entry() (which never returns). */
struct fiber *fiber_make(void (*entry)());
/* fiber_adopt - makes f stand for the code that is running on the process's own stack. */
void fiber_adopt(struct fiber *f);
/* fiber_switch - leaves `from`, which is running, for `to`. */
void fiber_switch(struct fiber *from, struct fiber *to);
/* fiber_entered - the first call in a new fiber's entry. */
void fiber_entered();

/* What ThreadSanitizer learns; nothing in other builds. An order is known from each release of a
 * token to the acquires after it. */
void race_release(void *token);
void race_acquire(void *token);
/* race_speak_as - from here on accesses count as f's, whichever stack runs. */
void race_speak_as(struct fiber *f);
/* race_free - frees memory that fibers which released `token` have used; orders nothing else. */
void race_free(void *p, void *token, struct fiber *running);

#ifdef EMULATION_TSAN
/* Neighbouring blocks run on two disjoint sets of fibers: in one set, the order of a fiber's own
 * program, with a barrier, would hide every race between blocks. */
enum { FIBER_SETS = 2 };
#else
enum { FIBER_SETS = 1 };
#endif

#endif
