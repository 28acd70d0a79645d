/* mutants_host.cu - bugs of host code: host against device memory, lifetimes, missing waits,
 * captures. */
#include "mutants.h"

#include "emulation_control.h"

enum { N = 256 };

static __global__ void scale_k(float *x, const float *by, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= *by;
}

static __global__ void nothing_k(int)
{
}

enum {
    HOST_NO_WAIT = 1,
    HOST_NO_EVENT,
    HOST_STALE_ARGUMENT,
    HOST_POINTER_TO_KERNEL,
    HOST_TOUCHES_DEVICE,
    HOST_USE_AFTER_FREE,
    HOST_COPY_BACKWARDS,
    HOST_COPY_BEYOND,
    HOST_BLOCK_TOO_LARGE,
    HOST_UNJOINED,
    HOST_WAITS_IN_CAPTURE,
    HOST_LOADS_IN_CAPTURE,
    HOST_SHARED_UNASKED,
    HOST_PLACE_IN_32_BITS,
    HOST_PLACE_BEYOND,
    HOST_DEVICE_LOST
};

struct fixture {
    cudaStream_t a, b;
    cudaEvent_t event;
    float *x, *by, *pinned; /* x, by on the device */
};

static struct fixture desk_open()
{
    struct fixture d;
    MUST(cudaStreamCreateWithFlags(&d.a, cudaStreamNonBlocking));
    MUST(cudaStreamCreateWithFlags(&d.b, cudaStreamNonBlocking));
    MUST(cudaEventCreateWithFlags(&d.event, cudaEventDisableTiming));
    MUST(cudaMalloc((void **)&d.x, N * sizeof(float)));
    MUST(cudaMalloc((void **)&d.by, sizeof(float)));
    MUST(cudaMallocHost((void **)&d.pinned, N * sizeof(float)));
    return d;
}

static void desk_close(struct fixture *d)
{
    MUST(cudaDeviceSynchronize());
    MUST(cudaFreeHost(d->pinned));
    if (d->x) MUST(cudaFree(d->x));
    MUST(cudaFree(d->by));
    MUST(cudaEventDestroy(d->event));
    MUST(cudaStreamDestroy(d->b));
    MUST(cudaStreamDestroy(d->a));
}

/* Sets x to 1 ... n, and by. */
static void fixture_fill(const struct fixture *d, float by)
{
    for (int i = 0; i < N; i++) d->pinned[i] = (float)(i + 1);
    MUST(cudaMemcpy(d->x, d->pinned, N * sizeof(float), cudaMemcpyHostToDevice));
    MUST(cudaMemcpy(d->by, &by, sizeof by, cudaMemcpyHostToDevice));
}

static int count_unlike(const float *x, float by)
{
    int wrong = 0;
    for (int i = 0; i < N; i++) wrong += x[i] != by * (float)(i + 1);
    return wrong;
}

/* Two streams: one scales, the other downloads the result. */
static int streams(int bug)
{
    struct fixture d = desk_open();
    fixture_fill(&d, 3);
    launch(scale_k, 2, N / 2, 0, d.a, d.x, (const float *)d.by, (int)N);
    MUST(cudaEventRecord(d.event, d.a));
    if (bug != HOST_NO_EVENT) MUST(cudaStreamWaitEvent(d.b, d.event, 0));
    MUST(cudaMemcpyAsync(d.pinned, d.x, N * sizeof(float), cudaMemcpyDeviceToHost, d.b));
    if (bug != HOST_NO_WAIT) MUST(cudaStreamSynchronize(d.b));
    int wrong = count_unlike(d.pinned, 3);
    desk_close(&d);
    return wrong;
}

/* Launches a captured scaling with another factor. */
static int captures(int bug)
{
    struct fixture d = desk_open();
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec;
    float *by = d.by, four = 4;
    fixture_fill(&d, 3);
    float *other;
    MUST(cudaMalloc((void **)&other, sizeof *other));
    MUST(cudaMemcpy(other, &four, sizeof four, cudaMemcpyHostToDevice));
    launch(scale_k, 1, 1, 0, d.a, d.x, (const float *)by, 0); /* none: it is loaded */
    MUST(cudaStreamBeginCapture(d.a, cudaStreamCaptureModeGlobal));
    launch(scale_k, 2, N / 2, 0, d.a, d.x, (const float *)by, (int)N);
    if (bug == HOST_WAITS_IN_CAPTURE) (void)cudaStreamSynchronize(d.a);
    if (bug == HOST_LOADS_IN_CAPTURE) launch(nothing_k, 1, 1, 0, d.a, (int)N);
    if (bug == HOST_UNJOINED) {
        MUST(cudaEventRecord(d.event, d.a));
        MUST(cudaStreamWaitEvent(d.b, d.event, 0));
        launch(scale_k, 2, N / 2, 0, d.b, d.x, (const float *)by, (int)N);
    }
    MUST(cudaStreamEndCapture(d.a, &graph));
    MUST(cudaGraphInstantiate(&exec, graph, 0));
    if (bug == HOST_STALE_ARGUMENT)
        by = other; /* the graph keeps the pointer that it was captured with */
    else
        MUST(cudaMemcpy(by, &four, sizeof four, cudaMemcpyHostToDevice));
    MUST(cudaGraphLaunch(exec, d.a));
    MUST(cudaMemcpyAsync(d.pinned, d.x, N * sizeof(float), cudaMemcpyDeviceToHost, d.a));
    MUST(cudaStreamSynchronize(d.a));
    int wrong = count_unlike(d.pinned, 4);
    MUST(cudaGraphExecDestroy(exec));
    MUST(cudaGraphDestroy(graph));
    MUST(cudaFree(other));
    desk_close(&d);
    return wrong;
}

/* Memory of the wrong side, beyond its end, after it is freed. */
static int sides(int bug)
{
    struct fixture d = desk_open();
    float by = 2, home[N];
    fixture_fill(&d, by);
    if (bug == HOST_DEVICE_LOST) emulation_lose_device(0);
    const float *factor = bug == HOST_POINTER_TO_KERNEL ? &by : d.by;
    int threads = bug == HOST_BLOCK_TOO_LARGE ? 2048 : N;
    launch(scale_k, 1, threads, 0, d.a, d.x, factor, (int)N);
    if (bug == HOST_TOUCHES_DEVICE) by = d.x[0];
    if (bug == HOST_USE_AFTER_FREE) {
        float *x = d.x;
        d.x = nullptr;
        MUST(cudaFree(x));
        launch(scale_k, 1, N, 0, d.a, x + 1, factor, (int)N);
    }
    size_t bytes = N * sizeof(float) + (bug == HOST_COPY_BEYOND ? 4 : 0);
    if (bug == HOST_COPY_BACKWARDS)
        MUST(cudaMemcpyAsync(home, d.x, bytes, cudaMemcpyHostToDevice, d.a));
    else if (bug != HOST_USE_AFTER_FREE)
        MUST(cudaMemcpyAsync(home, d.x, bytes, cudaMemcpyDeviceToHost, d.a));
    MUST(cudaStreamSynchronize(d.a));
    MUST(cudaGetLastError());
    int wrong = bug == HOST_USE_AFTER_FREE ? 0 : count_unlike(home, 2);
    desk_close(&d);
    return wrong;
}

/* Reverses a block's numbers through static shared memory, 4096 bytes, and dynamic. */
static __global__ void reverse_k(float *x)
{
    SHARED(float, still, [1024]);
    SHARED_DYNAMIC(float, moving);
    still[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    moving[threadIdx.x] = still[N - 1 - threadIdx.x];
    x[threadIdx.x] = moving[threadIdx.x];
}

/* 44 + 4 KiB are within the default limit. 46 + 4 are not, and launch() raises the limit only if the
 * dynamic part alone exceeds 48. */
static int shared_kinds(int bug)
{
    struct fixture d = desk_open();
    float home[N];
    int wrong = 0;
    fixture_fill(&d, 1);
    launch(reverse_k, 1, N, (bug == HOST_SHARED_UNASKED ? 46 : 44) << 10, d.a, d.x);
    MUST(cudaMemcpyAsync(home, d.x, sizeof home, cudaMemcpyDeviceToHost, d.a));
    MUST(cudaStreamSynchronize(d.a));
    for (int i = 0; i < N; i++) wrong += home[i] != (float)(N - i);
    desk_close(&d);
    return wrong;
}

static __global__ void number_k(char *x, int bug)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (bug == HOST_PLACE_IN_32_BITS) i = (int)blockIdx.x * (int)blockDim.x + (int)threadIdx.x;
    if (bug == HOST_PLACE_BEYOND) i += blockDim.x;
    x[i] = (char)(i % 100);
}

/* Three blocks of a launch over 2^32 bytes, of which only a few pages are touched. */
static int places(int bug)
{
    const int64_t bytes = (int64_t)1 << 32, last = bytes - 1;
    char *x = nullptr, home = 0, first = 1;
    emulation_set_blocks(3);
    emulation_set_memory(2 * (size_t)bytes);
    MUST(cudaMalloc((void **)&x, (size_t)bytes));
    launch(number_k, (unsigned)(bytes / 32), 32, 0, nullptr, x, bug);
    MUST(cudaMemcpy(&home, x + last, 1, cudaMemcpyDeviceToHost));
    MUST(cudaMemcpy(&first, x, 1, cudaMemcpyDeviceToHost));
    MUST(cudaFree(x));
    return home != (char)(last % 100) || first != 0;
}

const struct mutant mutants_host[] = {
    {"a result read before it is waited for", streams, HOST_NO_WAIT, WRONG, WRONG, WRONG},
    {"no event between two streams", streams, HOST_NO_EVENT, WRONG, WRONG, WRONG},
    {"a graph expected to follow a host variable", captures, HOST_STALE_ARGUMENT, WRONG, WRONG,
     WRONG},
    {"a branch of a capture never joined", captures, HOST_UNJOINED, WRONG, WRONG, WRONG},
    {"waiting for a stream under capture", captures, HOST_WAITS_IN_CAPTURE, WRONG, WRONG, WRONG},
    {"a kernel first launched under capture", captures, HOST_LOADS_IN_CAPTURE, WRONG, WRONG, WRONG},
    {"shared memory of two kinds, too much without asking", shared_kinds, HOST_SHARED_UNASKED,
     STOPPED, STOPPED, STOPPED},
    {"a place that 32 bits cannot hold", places, HOST_PLACE_IN_32_BITS, CRASHED,
     UNDEFINED | ADDRESS | CRASHED, CRASHED},
    {"a place beyond gigabytes of memory", places, HOST_PLACE_BEYOND, CRASHED, ADDRESS, CRASHED},
    {"a host pointer given to a kernel", sides, HOST_POINTER_TO_KERNEL, STOPPED, STOPPED, STOPPED},
    {"host code that reads device memory", sides, HOST_TOUCHES_DEVICE, PASSES, ADDRESS, ANY},
    {"a kernel that uses freed memory", sides, HOST_USE_AFTER_FREE, STOPPED, STOPPED, STOPPED},
    {"a copy in the wrong direction", sides, HOST_COPY_BACKWARDS, WRONG, WRONG, WRONG},
    {"a copy beyond an allocation's end", sides, HOST_COPY_BEYOND, WRONG, WRONG, WRONG},
    {"a block of 2048 threads", sides, HOST_BLOCK_TOO_LARGE, WRONG, WRONG, WRONG},
    {"a device that is lost", sides, HOST_DEVICE_LOST, WRONG, WRONG, WRONG},
    {nullptr, nullptr, 0, 0, 0, 0},
};
