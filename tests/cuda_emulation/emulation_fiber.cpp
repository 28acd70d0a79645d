/* emulation_fiber.cpp - fibers: stacks, switching, and the sanitizers' view of both.
 *
 * In the ThreadSanitizer build the emulator itself is compiled with -DEMULATION_TSAN and without
 * -fsanitize=thread: its bookkeeping is not an access of a kernel. */
#include "emulation_fiber.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#define EMULATION_ASAN 1
#endif

enum { STACK_BYTES = 256 << 10, GUARD_BYTES = 4096 };

#ifdef EMULATION_TSAN
extern "C" {
void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned flags);
void __tsan_switch_to_fiber(void *fiber, unsigned flags);
void __tsan_acquire(void *address);
void __tsan_release(void *address);
}
enum { SWITCH_ORDERS_NOTHING = 1 };
static void *race_janitor; /* a fiber without a stack that only frees memory */

void race_release(void *token)
{
    __tsan_release(token);
}
void race_acquire(void *token)
{
    __tsan_acquire(token);
}
void race_speak_as(struct fiber *f)
{
    __tsan_switch_to_fiber(f->thread_sanitizer, SWITCH_ORDERS_NOTHING);
}
void race_free(void *p, void *token, struct fiber *running)
{
    if (!race_janitor) race_janitor = __tsan_create_fiber(0);
    __tsan_switch_to_fiber(race_janitor, SWITCH_ORDERS_NOTHING);
    __tsan_acquire(token);
    free(p);
    race_speak_as(running);
}
#else
void race_release(void *)
{
}
void race_acquire(void *)
{
}
void race_speak_as(struct fiber *)
{
}
void race_free(void *p, void *, struct fiber *)
{
    free(p);
}
#endif

#ifdef EMULATION_ASAN
extern "C" {
void __sanitizer_start_switch_fiber(void **save, const void *stack, size_t stack_bytes);
void __sanitizer_finish_switch_fiber(void *save, const void **stack, size_t *stack_bytes);
}
#endif

#ifndef EMULATION_UCONTEXT
/* Saves the callee-saved registers and loads those of the other stack. */
extern "C" void emulation_switch(void **save, void *load);
asm(R"(
    .text
    .globl emulation_switch
    .hidden emulation_switch
    .type emulation_switch, @function
emulation_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size emulation_switch, .-emulation_switch
)");
#endif

struct fiber *fiber_make(void (*entry)())
{
    struct fiber *f = new fiber();
    char *memory = (char *)mmap(nullptr, GUARD_BYTES + STACK_BYTES, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, GUARD_BYTES, PROT_NONE) != 0)
        emulation_fail({"fiber", 0}, "no memory for one more stack");
    f->stack = memory + GUARD_BYTES;
    f->stack_bytes = STACK_BYTES;
#ifdef EMULATION_UCONTEXT
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = memory + GUARD_BYTES;
    f->context.uc_stack.ss_size = STACK_BYTES;
    makecontext(&f->context, entry, 0);
#else
    void **top = (void **)(memory + GUARD_BYTES + STACK_BYTES);
    *--top = nullptr; /* the entry never returns */
    *--top = (void *)entry;
    f->stack_top = top - 6; /* the six registers of emulation_switch */
#endif
#ifdef EMULATION_TSAN
    f->thread_sanitizer = __tsan_create_fiber(0);
#endif
    return f;
}

/* Finding the stack reads the map of all memory, so do it once: the process's stack stays. */
static void fiber_find_stack(struct fiber *f)
{
    pthread_attr_t attributes;
    void *stack = nullptr;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        emulation_fail({"fiber", 0}, "the stack of the process cannot be found");
    pthread_attr_getstack(&attributes, &stack, &f->stack_bytes);
    pthread_attr_destroy(&attributes);
    f->stack = stack;
}

void fiber_adopt(struct fiber *f)
{
    if (!f->stack) fiber_find_stack(f);
#ifdef EMULATION_TSAN
    f->thread_sanitizer = __tsan_get_current_fiber();
#endif
}

void fiber_entered()
{
#ifdef EMULATION_ASAN
    __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
}

void fiber_switch(struct fiber *from, struct fiber *to)
{
#ifdef EMULATION_ASAN
    __sanitizer_start_switch_fiber(&from->address_sanitizer, to->stack, to->stack_bytes);
#endif
    race_speak_as(to);
#ifdef EMULATION_UCONTEXT
    swapcontext(&from->context, &to->context);
#else
    emulation_switch(&from->stack_top, to->stack_top);
#endif
#ifdef EMULATION_ASAN
    __sanitizer_finish_switch_fiber(from->address_sanitizer, nullptr, nullptr);
#endif
}
