/* selftest_runtime.cu - streams, events, graphs, copies and errors of the runtime, as host code uses
 * them. */
#include "selftest.h"

enum { N = 256 };

/* x = (x + *by) * 2 of n elements. */
static __global__ void add_double_k(float *x, const float *by, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = (x[i] + *by) * 2.0f;
}

static __global__ void nothing_k(int)
{
}

/* A stream, its memory on the device, and a page of the host. */
struct fixture {
    cudaStream_t s;
    cudaEvent_t begin, end;
    struct both<float> x, by;
    float *pinned;
};

/* x is zeros and by is 1; kernels are loaded, so that a capture may hold them. */
static struct fixture fixture_open()
{
    struct fixture f;
    MUST(cudaStreamCreateWithFlags(&f.s, cudaStreamNonBlocking));
    MUST(cudaEventCreate(&f.begin));
    MUST(cudaEventCreateWithFlags(&f.end, cudaEventDefault));
    MUST(cudaMallocHost((void **)&f.pinned, N * sizeof(float)));
    for (int i = 0; i < N; i++) f.pinned[i] = -1;
    f.x = both_make<float>(N);
    f.by = both_make<float>(1);
    f.by.host_own[0] = 1;
    both_up(&f.by);
    MUST(launch(add_double_k, 1, 1, 0, f.s, f.x.device_own, (const float *)f.by.device_own, 0));
    return f;
}

static void fixture_close(struct fixture *f)
{
    MUST(cudaDeviceSynchronize());
    MUST(cudaFreeHost(f->pinned));
    both_free(&f->x), both_free(&f->by);
    MUST(cudaEventDestroy(f->begin));
    MUST(cudaEventDestroy(f->end));
    MUST(cudaStreamDestroy(f->s));
}

static void step(const struct fixture *f, const float *by)
{
    MUST(launch(add_double_k, 2, N / 2, 0, f->s, f->x.device_own, by, (int)N));
}

static void download(const struct fixture *f)
{
    MUST(cudaMemcpyAsync(f->pinned, f->x.device_own, N * sizeof(float), cudaMemcpyDeviceToHost,
                         f->s));
}

static int count_unlike(const struct fixture *f, float value)
{
    int wrong = 0;
    for (int i = 0; i < N; i++) wrong += f->pinned[i] != value;
    return wrong;
}

enum { STREAM_NO_WAIT = 1, STREAM_EARLY_EVENT };

/* Five steps, waited for by an event; then a sixth. */
static int streams(int bug)
{
    struct fixture f = fixture_open();
    float ms = -1;
    MUST(cudaEventRecord(f.begin, f.s));
    for (int i = 0; i < 5; i++) step(&f, f.by.device_own);
    if (bug == STREAM_EARLY_EVENT) MUST(cudaEventRecord(f.end, f.s));
    download(&f);
    if (bug != STREAM_EARLY_EVENT) MUST(cudaEventRecord(f.end, f.s));
    MUST(cudaEventSynchronize(f.end));
    MUST(cudaEventElapsedTime(&ms, f.begin, f.end));
    int wrong = count_unlike(&f, 62) + (ms < 0);
    step(&f, f.by.device_own);
    download(&f);
    if (bug != STREAM_NO_WAIT) MUST(cudaStreamSynchronize(f.s));
    wrong += count_unlike(&f, 126);
    fixture_close(&f);
    return wrong;
}

enum { COPY_BACKWARDS = 1, COPY_BEYOND, COPY_PAGEABLE };

static int copies(int bug)
{
    struct fixture f = fixture_open();
    float home[N], *x = f.x.device_own;
    int wrong = 0;
    for (int i = 0; i < 6; i++) f.pinned[i] = (float)i;
    MUST(cudaMemsetAsync(x, 0, 12 * sizeof(float), f.s));
    MUST(cudaMemcpyAsync(x + 3, f.pinned, 6 * sizeof(float),
                         bug == COPY_BACKWARDS ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice,
                         f.s));
    MUST(cudaMemcpyAsync(x + 12, x, 12 * sizeof(float), cudaMemcpyDeviceToDevice, f.s));
    MUST(cudaMemcpyAsync(bug == COPY_PAGEABLE ? home : f.pinned, x + (bug == COPY_BEYOND),
                         N * sizeof(float), cudaMemcpyDeviceToHost, f.s));
    MUST(cudaStreamSynchronize(f.s));
    for (int i = 0; i < 24; i++)
        wrong += f.pinned[i] != (float)(i % 12 >= 3 && i % 12 < 9 ? i % 12 - 3 : 0);
    fixture_close(&f);
    return wrong;
}

enum { GRAPH_STALE_ARGUMENT = 1, GRAPH_WAITS, GRAPH_LOADS };

/* Captures a step and launches it twice, with another number. Arguments are those of the capture;
 * device memory is read at each launch. */
static int graphs(int bug)
{
    struct fixture f = fixture_open();
    struct both<float> other = both_make<float>(1);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec;
    const float *by = f.by.device_own;
    MUST(cudaStreamSynchronize(f.s));
    MUST(cudaStreamBeginCapture(f.s, cudaStreamCaptureModeThreadLocal));
    step(&f, by);
    if (bug == GRAPH_WAITS) (void)cudaStreamSynchronize(f.s);
    if (bug == GRAPH_LOADS) (void)launch(nothing_k, 1, 1, 0, f.s, (int)N);
    MUST(cudaStreamEndCapture(f.s, &graph));
    MUST(cudaGraphInstantiate(&exec, graph, 0));
    MUST(cudaGraphDestroy(graph));
    struct both<float> *changed = bug == GRAPH_STALE_ARGUMENT ? &other : &f.by;
    changed->host_own[0] = 4;
    both_up(changed);
    for (int i = 0; i < 2; i++) MUST(cudaGraphLaunch(exec, f.s));
    download(&f);
    MUST(cudaStreamSynchronize(f.s));
    int wrong = count_unlike(&f, 24);
    MUST(cudaGraphExecDestroy(exec));
    both_free(&other);
    fixture_close(&f);
    return wrong;
}

static int spoilt_captures(int)
{
    struct fixture f = fixture_open();
    cudaGraph_t graph = nullptr;
    enum cudaStreamCaptureStatus status;
    MUST(cudaStreamSynchronize(f.s));
    MUST(cudaStreamBeginCapture(f.s, cudaStreamCaptureModeThreadLocal));
    step(&f, f.by.device_own);
    int wrong = cudaStreamSynchronize(f.s) != cudaErrorStreamCaptureUnsupported;
    MUST(cudaStreamIsCapturing(f.s, &status));
    wrong += status != cudaStreamCaptureStatusInvalidated;
    wrong += cudaStreamEndCapture(f.s, &graph) != cudaErrorStreamCaptureInvalidated || graph;
    (void)cudaGetLastError();
    MUST(cudaStreamIsCapturing(f.s, &status));
    wrong += status != cudaStreamCaptureStatusNone;
    step(&f, f.by.device_own); /* the stream works again */
    download(&f);
    MUST(cudaStreamSynchronize(f.s));
    wrong += count_unlike(&f, 2);
    fixture_close(&f);
    return wrong;
}

static int errors(int)
{
    size_t unused_bytes = 0, total_bytes = 0;
    void *p = nullptr;
    int wrong = launch(nothing_k, 1, 2000, 0, 0, (int)N) != cudaErrorInvalidConfiguration;
    wrong += cudaGetLastError() != cudaErrorInvalidConfiguration;
    MUST(cudaMemGetInfo(&unused_bytes, &total_bytes));
    wrong += cudaMalloc(&p, total_bytes + 1) != cudaErrorMemoryAllocation;
    MUST(launch(nothing_k, 1, 32, 0, 0, (int)N)); /* the error before is not its own */
    wrong += cudaGetLastError() != cudaErrorMemoryAllocation;
    wrong += unused_bytes > total_bytes;
    return wrong;
}

enum { SIDE_POINTER_TO_KERNEL = 1, SIDE_TOUCHES_DEVICE, SIDE_USE_AFTER_FREE };

/* Memory of the wrong side, or after it is freed. */
static int sides(int bug)
{
    struct fixture f = fixture_open();
    float one = 1, *freed = nullptr;
    MUST(cudaMalloc((void **)&freed, 2 * sizeof *freed));
    if (bug == SIDE_USE_AFTER_FREE) MUST(cudaFree(freed));
    if (bug == SIDE_TOUCHES_DEVICE) one = f.by.device_own[0];
    step(&f, bug == SIDE_POINTER_TO_KERNEL ? &one : f.by.device_own);
    if (bug == SIDE_USE_AFTER_FREE)
        MUST(launch(add_double_k, 1, 1, 0, f.s, freed + 1, (const float *)f.by.device_own, 1));
    download(&f);
    MUST(cudaStreamSynchronize(f.s));
    int wrong = count_unlike(&f, 2 * one);
    if (bug != SIDE_USE_AFTER_FREE) MUST(cudaFree(freed));
    fixture_close(&f);
    return wrong;
}

const struct selftest_row selftest_runtime[] = {
    {"a stream keeps its order, and events mark it", streams, 0, PASSES, PASSES, PASSES},
    {"a result read before it is waited for", streams, STREAM_NO_WAIT, WRONG, WRONG, WRONG},
    {"an event recorded before its copy", streams, STREAM_EARLY_EVENT, WRONG, WRONG,
     WRONG},
    {"copies and fills go where they should", copies, 0, PASSES, PASSES, PASSES},
    {"a copy in the wrong direction", copies, COPY_BACKWARDS, WRONG, WRONG, WRONG},
    {"a copy beyond an allocation's end", copies, COPY_BEYOND, WRONG, WRONG, WRONG},
    {"pageable memory in a copy of a stream", copies, COPY_PAGEABLE, WRONG, WRONG, WRONG},
    {"a graph runs what was captured", graphs, 0, PASSES, PASSES, PASSES},
    {"a graph expected to follow a host variable", graphs, GRAPH_STALE_ARGUMENT, WRONG, WRONG,
     WRONG},
    {"waiting for a stream under capture", graphs, GRAPH_WAITS, WRONG, WRONG, WRONG},
    {"a kernel first launched under capture", graphs, GRAPH_LOADS, WRONG, WRONG, WRONG},
    {"waiting makes a capture invalid", spoilt_captures, 0, 0, 0, 0},
    {"wrong launches and sizes are errors that pass", errors, 0, 0, 0, 0},
    {"host and kernels access their own memory", sides, 0, PASSES, PASSES, PASSES},
    {"a host pointer given to a kernel", sides, SIDE_POINTER_TO_KERNEL, STOPPED, STOPPED, STOPPED},
    {"host code that reads device memory", sides, SIDE_TOUCHES_DEVICE, PASSES, ADDRESS, ANY},
    {"a kernel that uses freed memory", sides, SIDE_USE_AFTER_FREE, STOPPED, STOPPED, STOPPED},
    {nullptr, nullptr, 0, 0, 0, 0},
};
