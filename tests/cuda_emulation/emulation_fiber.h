/* emulation_fiber.h - fibers: stacks that are switched explicitly, and declared to the sanitizers.
 * Internal. */
#ifndef EMULATION_FIBER_H
#define EMULATION_FIBER_H

#include <deque>

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
    void *stack_top; /* saved while the fiber does not run */
#endif
    const void *stack; /* lowest byte */
    size_t stack_bytes;
    void *thread_sanitizer, *address_sanitizer;

    /* The CUDA thread that it runs; set by the machine. */
    unsigned thread;
    uint3 index; /* threadIdx */
    bool done;
    const char *waits_in; /* for reports */
    emulation_place waits_at;
    std::deque<emulation_copy> copies; /* pending */
    long group;                        /* number of the open group */
};

/* fiber_make - makes a fiber that runs entry(), which never returns. */
struct fiber *fiber_make(void (*entry)());
/* fiber_adopt - makes f represent the code that runs on the process's own stack. */
void fiber_adopt(struct fiber *f);
/* fiber_switch - switches from `from`, which is running, to `to`. */
void fiber_switch(struct fiber *from, struct fiber *to);
/* fiber_entered - must be the first call in a fiber's entry(). */
void fiber_entered();

/* Declarations to ThreadSanitizer; no effect in other builds. A release of a token happens before
 * the acquires after it. */
void race_release(void *token);
void race_acquire(void *token);
/* race_speak_as - accesses from here on count as f's, whichever stack runs. */
void race_speak_as(struct fiber *f);
/* race_free - frees memory used by fibers that have released `token`; orders nothing else. */
void race_free(void *p, void *token, struct fiber *running);

#ifdef EMULATION_TSAN
/* Neighbouring blocks run on disjoint sets of fibers. With one set, the program order of a fiber
 * together with a barrier would hide every race between blocks. */
enum { FIBER_SETS = 2 };
#else
enum { FIBER_SETS = 1 };
#endif

#endif
