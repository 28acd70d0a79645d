/* emulation_copy.cpp - copies and fills, queued on streams.
 *
 * Pointers must be on the side that the kind names, with room for all bytes. Host memory of a
 * stream's copies must be pinned. It is read and written when the copy runs, which exposes code that
 * forgets to wait. */
#include "emulation_device.h"

/* One end of a copy: `device` is the side it must be on. */
static cudaError_t end_check(const void *p, size_t bytes, bool device, cudaStream_t stream)
{
    size_t room;
    enum memory_side side = memory_side_of(p, &room);
    if (device != (side == MEMORY_DEVICE))
        return device_error(cudaErrorInvalidValue, "copy: a pointer is on the other side");
    if (side == MEMORY_PAGEABLE && stream)
        return device_error(cudaErrorInvalidValue, "copy: pageable memory on a stream");
    if (side != MEMORY_PAGEABLE && bytes > room)
        return device_error(cudaErrorInvalidValue, "copy: beyond the end of an allocation");
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    if (cudaError_t lost = device_lost()) return lost;
    if (bytes == 0) return cudaSuccess;
    if (cudaError_t error = end_check(to, bytes, kind != cudaMemcpyDeviceToHost, stream))
        return error;
    if (cudaError_t error = end_check(from, bytes, kind != cudaMemcpyHostToDevice, stream))
        return error;
    return stream_put(stream, [=] {
        if (!order_is_sample() || bytes <= SAMPLE_BYTES_MAX) memmove(to, from, bytes);
    });
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    return cudaMemcpyAsync(to, from, bytes, kind, nullptr);
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    size_t room;
    if (cudaError_t lost = device_lost()) return lost;
    if (bytes == 0) return cudaSuccess;
    if (memory_side_of(to, &room) != MEMORY_DEVICE || room < bytes)
        return device_error(cudaErrorInvalidValue, "fill: not so many bytes of device memory");
    return stream_put(stream, [=] {
        if (!order_is_sample() || bytes <= SAMPLE_BYTES_MAX) memset(to, value, bytes);
    });
}
