/* emulation_stream.cpp - streams and launches.
 *
 * Work runs as late as CUDA allows: when something waits for it. If a stream waits for an event,
 * the other stream's work runs up to that event only. The default stream first finishes the streams
 * ordered with it, then runs its own work at once. */
#include "emulation_block.h"
#include "emulation_device.h"

#include <dlfcn.h>
#include <stdlib.h>

enum { WAITING_MAX = 4096, WAITING_BYTES_MAX = 64 << 20 };

static struct CUstream_st *streams;

/* The device's clock, which events read: each piece of work takes WORK_MS plus emulation_spend(). */
static const double WORK_MS = 0.01;
static double clock_ms;

void emulation_spend(double ms)
{
    clock_ms += ms;
}

void work_do(const struct work *work)
{
    clock_ms += WORK_MS;
    if (work->on_host) {
        work->call(work->argument_own);
        return;
    }
    memory_open();
    work->call(work->argument_own);
    memory_close();
}

/* Removes the first work of a non-empty queue. */
static struct work *stream_take(cudaStream_t stream)
{
    struct work *w = stream->first;
    stream->first = w->next;
    if (!w->next) stream->last = &stream->first;
    stream->waiting_n--;
    stream->waiting_bytes -= w->bytes;
    return w;
}

static void stream_do(const struct work *w);

/* Runs work up to the event; with NULL, all of it. */
static void stream_work(cudaStream_t stream, cudaEvent_t until, long serial)
{
    while (stream->first && !(until && until->reached >= serial)) {
        struct work *w = stream_take(stream);
        stream_do(w);
        free(w->argument_own);
        free(w);
    }
}

static void stream_do(const struct work *w)
{
    if (w->record) {
        w->record->reached = w->serial;
        w->record->reached_ms = clock_ms;
    } else if (w->wait) {
        if (w->wait->reached < w->serial) stream_work(w->wait->stream, w->wait, w->serial);
    } else {
        work_do(w);
    }
}

void stream_drain(cudaStream_t stream)
{
    memory_open(); /* once for all of it */
    stream_work(stream, nullptr, 0);
    memory_close();
}

void stream_drain_until(cudaEvent_t event)
{
    memory_open();
    stream_work(event->stream, event, event->recorded);
    memory_close();
}

/* Runs all work of the streams without these flags. */
static void stream_drain_those(unsigned without_flags)
{
    for (;;) {
        int n = 0;
        for (cudaStream_t s = streams; s; s = s->next) n += s->first && !(s->flags & without_flags);
        if (n == 0) return;
        int chosen = order_pick(n);
        cudaStream_t s = streams;
        while (!s->first || (s->flags & without_flags) || chosen-- > 0) s = s->next;
        stream_drain(s);
    }
}

void stream_drain_all()
{
    stream_drain_those(0);
}

cudaError_t stream_put(cudaStream_t stream, const struct work *work, const void *argument)
{
    if (stream && stream->capture) return capture_add(stream, work, argument);
    struct work *w = (struct work *)malloc(sizeof *w);
    void *copy = malloc(work->bytes ? work->bytes : 1);
    if (!w || !copy) emulation_fail({"stream", 0}, "no memory for one more work");
    *w = *work;
    w->next = nullptr;
    w->argument_own = copy;
    if (work->bytes) memcpy(copy, argument, work->bytes);
    if (!stream) {
        cudaError_t error = capture_forbids(nullptr, true);
        if (!error) {
            stream_drain_those(cudaStreamNonBlocking);
            stream_do(w);
        }
        free(copy);
        free(w);
        return error;
    }
    *stream->last = w;
    stream->last = &w->next;
    stream->waiting_bytes += work->bytes;
    if (++stream->waiting_n > WAITING_MAX || stream->waiting_bytes > WAITING_BYTES_MAX)
        stream_drain(stream);
    return cudaSuccess;
}

cudaError_t emulation_enqueue(cudaStream_t stream, void (*call)(void *argument),
                              const void *argument, size_t bytes)
{
    struct work work = {};
    work.call = call;
    work.bytes = bytes;
    if (cudaError_t lost = device_count_launch()) return lost;
    return order_is_sample() ? cudaSuccess : stream_put(stream, &work, argument);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data)
{
    struct host_call {
        cudaHostFn_t function;
        void *data;
    } call = {function, data};
    struct work work = {};
    work.call = [](void *p) { ((struct host_call *)p)->function(((struct host_call *)p)->data); };
    work.on_host = true;
    work.bytes = sizeof call;
    if (cudaError_t lost = device_lost()) return lost;
    return stream_put(stream, &work, &call);
}

/* ---- launches ---- */

/* The closure follows it. */
struct alignas(16) launched {
    dim3 grid, block;
    size_t shared_bytes;
    void (*call)(void *closure);
};

static void launch_run(void *argument)
{
    struct launched *l = (struct launched *)argument;
    struct machine_grid g = {l->grid, l->block, l->shared_bytes, l->call, l + 1};
    machine_run(&g);
}

static const char *launch_fault(dim3 grid, dim3 block, size_t shared_bytes)
{
    unsigned long threads = (unsigned long)block.x * block.y * block.z;
    if (threads == 0 || threads > WARPS_MAX * WARP || block.z > 64)
        return "launch: a block needs 1 to 1024 threads, 64 in z";
    if (grid.x == 0 || grid.x > 0x7fffffff || grid.y == 0 || grid.y > 65535 || grid.z == 0 ||
        grid.z > 65535)
        return "launch: a grid needs 1 to 2147483647, 65535, 65535 blocks";
    if (shared_bytes > emulation_shared_most())
        return "launch: more shared memory than a block of this device may have";
    return nullptr;
}

/* A kernel and its largest launch. */
struct kernel {
    const void *address;
    unsigned threads;
    size_t shared_bytes;
};

/* Kernels that were launched outside a capture, and are therefore loaded. */
static struct {
    struct kernel *kernel_own;
    int n, room;
} loaded;

static struct kernel *kernel_find(const void *address)
{
    for (int i = 0; i < loaded.n; i++)
        if (loaded.kernel_own[i].address == address) return &loaded.kernel_own[i];
    return nullptr;
}

static void launches_print()
{
    FILE *f = fopen(getenv("EMULATION_LAUNCHES"), "a");
    if (!f) return;
    for (int i = 0; i < loaded.n; i++) {
        const struct kernel *k = &loaded.kernel_own[i];
        Dl_info at = {};
        if (dladdr(k->address, &at))
            fprintf(f, "%lx %u %zu\n", (long)((const char *)k->address - (const char *)at.dli_fbase),
                    k->threads, k->shared_bytes);
    }
    fclose(f);
}

static void kernel_load(const void *kernel)
{
    if (loaded.n == loaded.room) {
        loaded.room = loaded.room ? 2 * loaded.room : 64;
        size_t bytes = (size_t)loaded.room * sizeof *loaded.kernel_own;
        if (loaded.n == 0 && getenv("EMULATION_LAUNCHES")) atexit(launches_print);
        loaded.kernel_own = (struct kernel *)realloc(loaded.kernel_own, bytes);
        if (!loaded.kernel_own) emulation_fail({"launch", 0}, "no memory for a list of kernels");
    }
    loaded.kernel_own[loaded.n++] = {kernel, 0, 0};
}

void emulation_launch(const void *kernel, dim3 grid, dim3 block, size_t shared_bytes,
                      cudaStream_t stream, void (*call)(void *closure), const void *closure,
                      size_t closure_bytes)
{
    const char *fault = launch_fault(grid, block, shared_bytes);
    struct work work = {};
    struct launched l = {grid, block, shared_bytes, call};
    if (device_lost() || device_count_launch()) return;
    if (fault) {
        device_error(cudaErrorInvalidConfiguration, fault);
        return;
    }
    if (!kernel_find(kernel)) {
        if (stream && stream->capture) {
            capture_spoil(cudaErrorStreamCaptureUnsupported,
                          "launch: a kernel that was never launched before it is captured");
            return;
        }
        kernel_load(kernel);
    }
    struct kernel *known = kernel_find(kernel);
    known->threads = block.x * block.y * block.z;
    if (shared_bytes > known->shared_bytes) known->shared_bytes = shared_bytes;
    work.call = launch_run;
    work.bytes = sizeof l + closure_bytes;
    char *argument = (char *)malloc(work.bytes);
    if (!argument) emulation_fail({"launch", 0}, "no memory for the arguments of a launch");
    memcpy(argument, &l, sizeof l);
    memcpy(argument + sizeof l, closure, closure_bytes);
    stream_put(stream, &work, argument);
    free(argument);
}

/* ---- streams ---- */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    *stream = nullptr;
    if (cudaError_t lost = device_lost()) return lost;
    struct CUstream_st *s = (struct CUstream_st *)calloc(1, sizeof *s);
    if (!s) return device_error(cudaErrorMemoryAllocation, nullptr);
    s->flags = flags;
    s->last = &s->first;
    s->next = streams;
    streams = s;
    *stream = s;
    return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    if (!stream) return device_error(cudaErrorInvalidResourceHandle, "there is no such stream");
    stream_drain(stream);
    for (struct CUstream_st **p = &streams; *p; p = &(*p)->next)
        if (*p == stream) {
            *p = stream->next;
            free(stream);
            return cudaSuccess;
        }
    return device_error(cudaErrorInvalidResourceHandle, "there is no such stream");
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    if (cudaError_t lost = device_lost()) return lost;
    if (cudaError_t error = capture_forbids(stream, true)) return error;
    if (stream)
        stream_drain(stream);
    else
        stream_drain_those(cudaStreamNonBlocking);
    return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    if (cudaError_t lost = device_lost()) return lost;
    if (stream && stream->capture) return capture_forbids(stream, true);
    if (!stream || !stream->first) return cudaSuccess;
    stream_drain(stream); /* so that polling in a loop ends, but not at the first query */
    return cudaErrorNotReady;
}

cudaError_t cudaDeviceSynchronize()
{
    if (cudaError_t lost = device_lost()) return lost;
    if (cudaError_t error = capture_forbids(nullptr, true)) return error;
    stream_drain_all();
    return cudaSuccess;
}
