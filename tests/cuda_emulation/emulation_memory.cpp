/* emulation_memory.cpp - device and pinned memory.
 *
 * Device memory is a host allocation of exactly the requested size, so that AddressSanitizer guards
 * its ends and its lifetime. While no work runs it is poisoned. If only a sample of blocks runs
 * (emulation_set_blocks), it is a mapping between inaccessible pages instead. */
#include "emulation_device.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
extern "C" void __asan_poison_memory_region(void const volatile *p, size_t bytes);
extern "C" void __asan_unpoison_memory_region(void const volatile *p, size_t bytes);
#else
static void __asan_poison_memory_region(void const volatile *, size_t)
{
}
static void __asan_unpoison_memory_region(void const volatile *, size_t)
{
}
#endif

struct allocation {
    char *p;
    size_t bytes;
    enum memory_side side;
    void *mapped; /* begin of the mapping, with its inaccessible pages; NULL: on the heap */
};

static struct {
    std::vector<struct allocation> list;
    int opened;
    size_t used, limit; /* bytes of the device */
} memory;

void emulation_set_memory(size_t bytes)
{
    memory.limit = bytes;
}

static size_t memory_limit()
{
    if (!memory.limit) {
        const char *text = getenv("EMULATION_MEMORY");
        memory.limit = text ? strtoull(text, nullptr, 10) : (size_t)4 << 30;
    }
    return memory.limit;
}

/* The allocation that contains the byte at p. */
static struct allocation *memory_find(const void *p)
{
    for (struct allocation &a : memory.list)
        if ((const char *)p >= a.p && (const char *)p < a.p + a.bytes) return &a;
    return nullptr;
}

enum memory_side memory_side_of(const void *p, size_t *room)
{
    const struct allocation *a = memory_find(p);
    *room = a ? (size_t)(a->p + a->bytes - (const char *)p) : 0;
    return a ? a->side : MEMORY_PAGEABLE;
}

void emulation_check_argument(const void *p, int number)
{
    size_t room;
    if (!p || memory_side_of(p, &room) == MEMORY_DEVICE) return;
    if (memory_side_of((const char *)p - 1, &room) != MEMORY_DEVICE) /* p may be an end */
        emulation_fail({"launch", 0}, "argument %d, %p, is a pointer that is not device memory",
                       number, p);
}

/* A mapping costs the host only the pages that are touched, so nothing may write all of it, not even
 * the sanitizer's marks. */
void memory_open()
{
    if (memory.opened++ || order_is_sample()) return;
    for (const struct allocation &a : memory.list) __asan_unpoison_memory_region(a.p, a.bytes);
}

void memory_close()
{
    if (--memory.opened || order_is_sample()) return;
    for (const struct allocation &a : memory.list)
        if (a.side == MEMORY_DEVICE) __asan_poison_memory_region(a.p, a.bytes);
}

enum { PAGE = 4096, ALIGNMENT = 256 };

static size_t memory_mapped_bytes(size_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE + 2 * PAGE;
}

/* System calls instead of mmap() and munmap(): ThreadSanitizer intercepts those and marks the whole
 * mapping, which takes half a minute for gigabytes. */
static void *memory_map_pages(size_t bytes)
{
    return (void *)syscall(SYS_mmap, nullptr, bytes, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, (long)0);
}

/* The allocation ends at the end of the mapping, up to the alignment of its begin. */
static bool memory_map(struct allocation *a)
{
    size_t whole = memory_mapped_bytes(a->bytes);
    size_t used = (a->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    void *p = memory_map_pages(whole);
    if (p == MAP_FAILED) return false;
    a->mapped = p;
    a->p = (char *)p + whole - PAGE - used;
    return mprotect((char *)p + PAGE, whole - 2 * PAGE, PROT_READ | PROT_WRITE) == 0;
}

static bool memory_from_heap(struct allocation *a)
{
    void *p = nullptr;
    if (posix_memalign(&p, ALIGNMENT, a->bytes) != 0) return false;
    memset(p, 0xff, a->bytes);
    a->p = (char *)p;
    if (a->side == MEMORY_DEVICE && !memory.opened) __asan_poison_memory_region(p, a->bytes);
    return true;
}

static void memory_give_back(struct allocation *a)
{
    if (a->mapped) {
        (void)syscall(SYS_munmap, a->mapped, memory_mapped_bytes(a->bytes));
        return;
    }
    __asan_unpoison_memory_region(a->p, a->bytes);
    free(a->p);
}

static cudaError_t memory_add(void **out, size_t bytes, enum memory_side side)
{
    struct allocation a = {nullptr, bytes, side, nullptr};
    *out = nullptr;
    if (cudaError_t error = capture_forbids()) return error;
    if (bytes == 0) return cudaSuccess;
    if (side == MEMORY_DEVICE && bytes > memory_limit() - memory.used)
        return device_error(cudaErrorMemoryAllocation, nullptr);
    bool there = side == MEMORY_DEVICE && order_is_sample() ? memory_map(&a) : memory_from_heap(&a);
    if (!there) return device_error(cudaErrorMemoryAllocation, nullptr);
    if (side == MEMORY_DEVICE) memory.used += bytes;
    memory.list.push_back(a);
    *out = a.p;
    return cudaSuccess;
}

static cudaError_t memory_remove(void *p, enum memory_side side)
{
    if (!p) return cudaSuccess;
    struct allocation *a = memory_find(p);
    if (!a || a->p != p || a->side != side)
        return device_error(cudaErrorInvalidValue, "this pointer was not allocated here");
    if (side == MEMORY_DEVICE) memory.used -= a->bytes;
    memory_give_back(a);
    *a = memory.list.back();
    memory.list.pop_back();
    return cudaSuccess;
}

void memory_release_all()
{
    while (!memory.list.empty()) memory_remove(memory.list.back().p, memory.list.back().side);
}

cudaError_t cudaMalloc(void **out, size_t bytes)
{
    return memory_add(out, bytes, MEMORY_DEVICE);
}

cudaError_t cudaMallocHost(void **out, size_t bytes)
{
    return memory_add(out, bytes, MEMORY_PINNED);
}

/* As in CUDA, first waits for the work that may use the memory. */
static cudaError_t memory_free(void *p, enum memory_side side)
{
    if (cudaError_t error = capture_forbids()) return error;
    stream_drain_all();
    return memory_remove(p, side);
}

cudaError_t cudaFree(void *p)
{
    return memory_free(p, MEMORY_DEVICE);
}

cudaError_t cudaFreeHost(void *p)
{
    return memory_free(p, MEMORY_PINNED);
}

cudaError_t cudaMemGetInfo(size_t *unused_bytes, size_t *total_bytes)
{
    if (cudaError_t lost = device_lost()) return lost;
    *total_bytes = memory_limit();
    const char *others = getenv("EMULATION_OTHERS");
    *unused_bytes = memory_limit() - memory.used - (others ? strtoull(others, nullptr, 10) : 0);
    return cudaSuccess;
}
