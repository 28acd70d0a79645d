/* selftest_runtime.cu - tests streams, events, graphs, copies and errors of the runtime, as host code
 * uses them. */
#include "selftest.h"

enum { N = 1000 };

static __global__ void add_k(int *x, int n, int by)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += by;
}

static __global__ void double_k(int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 2;
}

static __global__ void add_from_k(int *x, const int *by, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += *by;
}

static void add(cudaStream_t s, int *x, int by)
{
    launch(add_k, (N + 127) / 128, 128, 0, s, x, (int)N, by);
}

static void twice(cudaStream_t s, int *x)
{
    launch(double_k, (N + 127) / 128, 128, 0, s, x, (int)N);
}

static int count_unlike(const struct both<int> *b, int value)
{
    int wrong = 0;
    both_down(b);
    for (size_t i = 0; i < b->n; i++) wrong += b->host_own[i] != value;
    return wrong;
}

static int a_stream_keeps_its_order()
{
    cudaStream_t s;
    struct both<int> x = both_make<int>(N);
    MUST(cudaStreamCreate(&s));
    for (int i = 0; i < 5; i++) {
        add(s, x.device_own, 1);
        twice(s, x.device_own);
    }
    MUST(cudaStreamSynchronize(s));
    int wrong = count_unlike(&x, 62);
    MUST(cudaStreamDestroy(s));
    both_free(&x);
    return wrong;
}

static int an_event_orders_two_streams()
{
    cudaStream_t a, b;
    cudaEvent_t added, done;
    float ms = -1;
    struct both<int> x = both_make<int>(N);
    MUST(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    MUST(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    MUST(cudaEventCreate(&added));
    MUST(cudaEventCreate(&done));
    add(a, x.device_own, 3);
    MUST(cudaEventRecord(added, a));
    MUST(cudaStreamWaitEvent(b, added, 0));
    twice(b, x.device_own);
    MUST(cudaEventRecord(done, b));
    MUST(cudaEventSynchronize(done));
    MUST(cudaEventElapsedTime(&ms, added, done));
    int wrong = count_unlike(&x, 6) + (ms < 0) + (cudaEventQuery(done) != cudaSuccess);
    MUST(cudaEventDestroy(added));
    MUST(cudaEventDestroy(done));
    MUST(cudaStreamDestroy(a));
    MUST(cudaStreamDestroy(b));
    both_free(&x);
    return wrong;
}

static int copies_and_fills_go_where_they_should()
{
    cudaStream_t s;
    int *pinned, from[6] = {1, 2, 3, 4, 5, 6}, wrong = 0;
    struct both<int> x = both_make<int>(12);
    MUST(cudaStreamCreate(&s));
    MUST(cudaMallocHost((void **)&pinned, 12 * sizeof *pinned));
    MUST(cudaMemsetAsync(x.device_own, 0xff, 12 * sizeof(int), s));
    MUST(cudaMemcpy2DAsync(x.device_own + 1, 4 * sizeof(int), from, 2 * sizeof(int),
                           2 * sizeof(int), 3, cudaMemcpyHostToDevice, s));
    from[0] = 100; /* pageable memory is read before the call returns */
    MUST(cudaMemcpyAsync(pinned, x.device_own, 12 * sizeof(int), cudaMemcpyDeviceToHost, s));
    MUST(cudaStreamSynchronize(s));
    for (int i = 0; i < 12; i++) {
        bool inside = i % 4 == 1 || i % 4 == 2;
        wrong += pinned[i] != (inside ? i / 4 * 2 + i % 4 : -1);
    }
    MUST(cudaFreeHost(pinned));
    MUST(cudaStreamDestroy(s));
    both_free(&x);
    return wrong;
}

/* Launches the kernel once, which loads it: its first launch should not be captured. */
static void load(cudaStream_t s)
{
    struct both<int> x = both_make<int>(N);
    add(s, x.device_own, 0);
    twice(s, x.device_own);
    launch(add_from_k, 1, 1, 0, s, x.device_own, (const int *)x.device_own, 0);
    MUST(cudaStreamSynchronize(s));
    both_free(&x);
}

static cudaGraphExec_t captured(cudaStream_t s, cudaStream_t side, struct both<int> *x, int *by,
                                size_t *nodes_n)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaEvent_t fork, join;
    MUST(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    MUST(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    load(s);
    MUST(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    launch(add_from_k, (N + 127) / 128, 128, 0, s, x[0].device_own, (const int *)by, (int)N);
    MUST(cudaEventRecord(fork, s));
    MUST(cudaStreamWaitEvent(side, fork, 0));
    add(side, x[1].device_own, 1);
    MUST(cudaEventRecord(join, side));
    twice(s, x[0].device_own);
    MUST(cudaStreamWaitEvent(s, join, 0));
    MUST(cudaMemsetAsync(x[2].device_own, 0, N * sizeof(int), s));
    MUST(cudaStreamEndCapture(s, &graph));
    MUST(cudaGraphGetNodes(graph, nullptr, nodes_n));
    MUST(cudaGraphInstantiate(&exec, graph, 0));
    MUST(cudaGraphDestroy(graph));
    MUST(cudaEventDestroy(fork));
    MUST(cudaEventDestroy(join));
    return exec;
}

/* Arguments are those of the capture; device memory is read at each launch. */
static int a_graph_runs_what_was_captured()
{
    cudaStream_t s, side;
    size_t nodes_n = 0;
    int by[2] = {1, 10}, *by_device;
    struct both<int> x[3] = {
        both_make<int>(N), both_make<int>(N), both_make<int>(N)
    };
    MUST(cudaMalloc((void **)&by_device, sizeof *by_device));
    MUST(cudaMemset(x[2].device_own, 1, N * sizeof(int)));
    MUST(cudaStreamCreate(&s));
    MUST(cudaStreamCreate(&side));
    cudaGraphExec_t exec = captured(s, side, x, by_device, &nodes_n);
    int wrong = (nodes_n != 4) + count_unlike(&x[0], 0); /* capturing does nothing */
    for (int i = 0; i < 2; i++) {
        MUST(cudaMemcpyAsync(by_device, &by[i], sizeof *by, cudaMemcpyHostToDevice, s));
        MUST(cudaGraphLaunch(exec, s));
    }
    MUST(cudaStreamSynchronize(s));
    wrong += count_unlike(&x[0], 24) + count_unlike(&x[1], 2) + count_unlike(&x[2], 0);
    MUST(cudaGraphExecDestroy(exec));
    MUST(cudaStreamDestroy(side));
    MUST(cudaStreamDestroy(s));
    MUST(cudaFree(by_device));
    for (int i = 0; i < 3; i++) both_free(&x[i]);
    return wrong;
}

static int waiting_makes_a_capture_invalid()
{
    cudaStream_t s;
    cudaGraph_t graph = nullptr;
    enum cudaStreamCaptureStatus status;
    struct both<int> x = both_make<int>(N);
    MUST(cudaStreamCreate(&s));
    load(s);
    MUST(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    add(s, x.device_own, 1);
    int wrong = cudaStreamSynchronize(s) != cudaErrorStreamCaptureUnsupported;
    MUST(cudaStreamIsCapturing(s, &status));
    wrong += status != cudaStreamCaptureStatusInvalidated;
    wrong += cudaStreamEndCapture(s, &graph) != cudaErrorStreamCaptureInvalidated || graph;
    (void)cudaGetLastError();
    MUST(cudaStreamIsCapturing(s, &status));
    wrong += status != cudaStreamCaptureStatusNone;
    add(s, x.device_own, 1); /* the stream works again */
    wrong += count_unlike(&x, 1);
    MUST(cudaStreamDestroy(s));
    both_free(&x);
    return wrong;
}

static int wrong_launches_and_sizes_are_errors_that_pass()
{
    size_t unused_bytes = 0, total_bytes = 0;
    void *p = nullptr;
    struct both<int> x = both_make<int>(N);
    launch(add_k, 1, 2000, 0, 0, x.device_own, (int)N, 1);
    int wrong = cudaGetLastError() != cudaErrorInvalidConfiguration;
    wrong += cudaGetLastError() != cudaSuccess;
    MUST(cudaMemGetInfo(&unused_bytes, &total_bytes));
    wrong += cudaMalloc(&p, total_bytes + 1) != cudaErrorMemoryAllocation;
    wrong += cudaGetLastError() != cudaErrorMemoryAllocation;
    wrong += unused_bytes > total_bytes;
    add(0, x.device_own, 1);
    wrong += count_unlike(&x, 1);
    both_free(&x);
    return wrong;
}

static void note(void *data)
{
    int *at = (int *)data;
    at[1] = at[0] + 1;
}

static int a_host_function_runs_in_stream_order()
{
    cudaStream_t s;
    int *pinned;
    struct both<int> x = both_make<int>(N);
    MUST(cudaStreamCreate(&s));
    MUST(cudaMallocHost((void **)&pinned, 2 * sizeof *pinned));
    add(s, x.device_own, 41);
    MUST(cudaMemcpyAsync(pinned, x.device_own, sizeof *pinned, cudaMemcpyDeviceToHost, s));
    MUST(cudaLaunchHostFunc(s, note, pinned));
    MUST(cudaStreamSynchronize(s));
    int wrong = pinned[1] != 42;
    MUST(cudaFreeHost(pinned));
    MUST(cudaStreamDestroy(s));
    both_free(&x);
    return wrong;
}

const struct selftest_case selftest_runtime[] = {
    {"a stream keeps its order", a_stream_keeps_its_order},
    {"an event orders two streams", an_event_orders_two_streams},
    {"copies and fills go where they should", copies_and_fills_go_where_they_should},
    {"a graph runs what was captured", a_graph_runs_what_was_captured},
    {"waiting makes a capture invalid", waiting_makes_a_capture_invalid},
    {"wrong launches and sizes are errors that pass",
     wrong_launches_and_sizes_are_errors_that_pass},
    {"a host function runs in stream order", a_host_function_runs_in_stream_order},
    {nullptr, nullptr},
};
