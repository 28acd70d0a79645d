/* emulation_stream.cpp - streams, events and graphs.
 *
 * 1. Work runs as late as CUDA allows: when something waits for it. Waiting for an event runs the
 *    work before it only. The default stream runs its work at once.
 * 2. A graph is the work that a stream was given during a capture. */
#include "emulation_device.h"

#include <algorithm>
#include <deque>
#include <vector>

enum { WAITING_MAX = 4096 };

struct CUgraph_st {
    std::vector<work> works;
};

struct CUgraphExec_st {
    struct CUgraph_st graph;
};

struct CUstream_st {
    std::deque<work> queue;
};

struct CUevent_st {
    cudaStream_t stream;    /* of the last recording */
    long recorded, reached; /* serial numbers of recordings */
    double reached_ms;
};

static std::vector<cudaStream_t> streams;

/* The capture in progress. */
static struct {
    cudaStream_t stream; /* NULL: none */
    bool invalid;
    struct CUgraph_st graph;
} capture;

/* The device's clock, which events read: each piece of work takes WORK_MS plus emulation_spend(). */
static const double WORK_MS = 0.01;
static double clock_ms;

void emulation_spend(double ms)
{
    clock_ms += ms;
}

/* ---- work ---- */

static void work_do(const work &w)
{
    clock_ms += WORK_MS;
    memory_open();
    w();
    memory_close();
}

/* Runs work up to the last recording of the event; with NULL, all of it. */
static void stream_drain(cudaStream_t stream, cudaEvent_t until)
{
    memory_open(); /* once for all of it */
    while (!stream->queue.empty() && !(until && until->reached >= until->recorded)) {
        work first = std::move(stream->queue.front());
        stream->queue.pop_front();
        first();
    }
    memory_close();
}

void stream_drain_all()
{
    for (cudaStream_t stream : streams) stream_drain(stream, nullptr);
}

bool stream_is_captured(cudaStream_t stream)
{
    return stream && stream == capture.stream;
}

cudaError_t stream_put(cudaStream_t stream, const work &w)
{
    if (!stream) {
        if (cudaError_t error = capture_forbids()) return error;
        work_do(w);
        return cudaSuccess;
    }
    if (stream_is_captured(stream)) {
        capture.graph.works.push_back(w);
        return cudaSuccess;
    }
    stream->queue.push_back([w] { work_do(w); });
    if (stream->queue.size() > WAITING_MAX) stream_drain(stream, nullptr);
    return cudaSuccess;
}

cudaError_t emulation_enqueue(cudaStream_t stream, void (*call)(void *argument),
                              const void *argument, size_t bytes)
{
    std::vector<char> copy((const char *)argument, (const char *)argument + bytes);
    if (cudaError_t lost = device_count_launch()) return lost;
    if (order_is_sample()) return cudaSuccess;
    return stream_put(stream, [=]() mutable { call(copy.data()); });
}

/* ---- streams ---- */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned)
{
    *stream = nullptr;
    if (cudaError_t lost = device_lost()) return lost;
    *stream = new CUstream_st();
    streams.push_back(*stream);
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    auto at = std::find(streams.begin(), streams.end(), stream);
    if (at == streams.end())
        return device_error(cudaErrorInvalidResourceHandle, "there is no such stream");
    stream_drain(stream, nullptr);
    streams.erase(at);
    delete stream;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    if (cudaError_t error = capture_forbids()) return error;
    if (stream) stream_drain(stream, nullptr);
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize()
{
    if (cudaError_t error = capture_forbids()) return error;
    stream_drain_all();
    return cudaSuccess;
}

/* ---- events ---- */

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned)
{
    *event = nullptr;
    if (cudaError_t lost = device_lost()) return lost;
    *event = new CUevent_st();
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}

/* Queued work may still refer to the event. */
cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    if (!event) return device_error(cudaErrorInvalidResourceHandle, "there is no such event");
    stream_drain_all();
    delete event;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    if (cudaError_t lost = device_lost()) return lost;
    if (!stream || stream_is_captured(stream))
        return capture_spoil(cudaErrorStreamCaptureUnsupported,
                             "an event of a capture or of the default stream");
    event->stream = stream;
    long serial = ++event->recorded;
    stream->queue.push_back([=] {
        event->reached = serial;
        event->reached_ms = clock_ms;
    });
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    if (cudaError_t lost = device_lost()) return lost;
    if (event->stream) stream_drain(event->stream, event);
    return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    *ms = 0;
    if (!from->recorded || !to->recorded)
        return device_error(cudaErrorInvalidResourceHandle, "an event that was never recorded");
    if (from->reached < from->recorded || to->reached < to->recorded) return cudaErrorNotReady;
    *ms = (float)(to->reached_ms - from->reached_ms);
    return cudaSuccess;
}

/* ---- capture ---- */

cudaError_t capture_spoil(cudaError_t error, const char *sentence)
{
    capture.invalid = true;
    return device_error(error, sentence);
}

cudaError_t capture_forbids()
{
    if (cudaError_t lost = device_lost()) return lost;
    if (!capture.stream) return cudaSuccess;
    return capture_spoil(cudaErrorStreamCaptureUnsupported,
                         "a call that waits or allocates while a stream is captured");
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode)
{
    if (cudaError_t lost = device_lost()) return lost;
    if (!stream || capture.stream)
        return device_error(cudaErrorStreamCaptureUnsupported,
                            "capture of the default stream, or of a second stream");
    capture = {stream, false, {}};
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    *graph = nullptr;
    if (cudaError_t lost = device_lost()) return lost;
    if (!stream_is_captured(stream))
        return capture_spoil(cudaErrorStreamCaptureUnmatched, "no capture began on this stream");
    capture.stream = nullptr;
    if (capture.invalid)
        return device_error(cudaErrorStreamCaptureInvalidated, "the capture was made invalid");
    *graph = new CUgraph_st(std::move(capture.graph));
    return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
    *status = !stream_is_captured(stream) ? cudaStreamCaptureStatusNone
              : capture.invalid           ? cudaStreamCaptureStatusInvalidated
                                          : cudaStreamCaptureStatusActive;
    return device_lost();
}

/* ---- graphs ---- */

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    delete graph;
    return graph ? cudaSuccess : device_error(cudaErrorInvalidValue, "there is no such graph");
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long)
{
    *exec = nullptr;
    if (cudaError_t lost = device_lost()) return lost;
    *exec = new CUgraphExec_st{*graph};
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    if (cudaError_t lost = device_lost()) return lost;
    if (!exec) return device_error(cudaErrorInvalidValue, "there is no such graph");
    for (size_t i = 0; i < exec->graph.works.size(); i++)
        if (cudaError_t lost = device_count_launch()) return lost;
    for (const work &w : exec->graph.works)
        if (cudaError_t error = stream_put(stream, w)) return error;
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    delete exec;
    return exec ? cudaSuccess : device_error(cudaErrorInvalidValue, "there is no such graph");
}
