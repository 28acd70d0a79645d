/* emulation_event.cpp - events: marks in a stream that other streams and the host wait for. */
#include "emulation_device.h"

#include <stdlib.h>

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned)
{
    *event = nullptr;
    if (cudaError_t lost = device_lost()) return lost;
    *event = (struct CUevent_st *)calloc(1, sizeof **event);
    return *event ? cudaSuccess : device_error(cudaErrorMemoryAllocation, nullptr);
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
    free(event);
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    struct work work = {};
    if (cudaError_t lost = device_lost()) return lost;
    event->capture = stream ? stream->capture : nullptr;
    if (event->capture) {
        event->seen = stream->seen;
        return cudaSuccess;
    }
    event->stream = stream;
    work.record = event;
    work.serial = ++event->recorded;
    return stream_put(stream, &work, nullptr);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned)
{
    struct work work = {};
    if (cudaError_t lost = device_lost()) return lost;
    if (event->capture || (stream && stream->capture)) return capture_join(stream, event);
    work.wait = event;
    work.serial = event->recorded;
    return stream_put(stream, &work, nullptr);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    if (cudaError_t lost = device_lost()) return lost;
    if (event->capture)
        return device_error(cudaErrorStreamCaptureUnsupported, "event of a capture");
    if (event->reached < event->recorded) stream_drain_until(event);
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    if (cudaError_t lost = device_lost()) return lost;
    if (event->capture)
        return device_error(cudaErrorStreamCaptureUnsupported, "event of a capture");
    if (event->reached == event->recorded) return cudaSuccess;
    stream_drain_until(event);
    return cudaErrorNotReady;
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
