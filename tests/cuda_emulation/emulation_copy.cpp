/* emulation_copy.cpp - copies and fills, queued on streams.
 *
 * 1. Pointers must be on the side that the kind names, with room for all bytes.
 * 2. As in CUDA, pageable host memory is read when the copy is called and written before it returns.
 *    Pinned memory is read and written when the copy runs, which exposes code that forgets to wait.
 *    Under capture both are accessed at each launch of the graph. */
#include "emulation_device.h"

#include <stdlib.h>

struct copy {
    char *to;
    const char *from; /* NULL: the bytes after this struct */
    size_t to_pitch, from_pitch, width, height;
};

struct fill {
    void *to;
    int value;
    size_t bytes;
};

static void copy_run(void *argument)
{
    const struct copy *c = (const struct copy *)argument;
    const char *from = c->from ? c->from : (const char *)(c + 1);
    if (order_is_sample() && c->width * c->height > SAMPLE_BYTES_MAX) return;
    for (size_t row = 0; row < c->height; row++)
        memmove(c->to + row * c->to_pitch, from + row * c->from_pitch, c->width);
}

static void fill_run(void *argument)
{
    const struct fill *f = (const struct fill *)argument;
    if (order_is_sample() && f->bytes > SAMPLE_BYTES_MAX) return;
    memset(f->to, f->value, f->bytes);
}

/* The side of a copy's source or destination: 0 host, 1 device, -1 either. */
static int kind_side(enum cudaMemcpyKind kind, bool to)
{
    switch (kind) {
    case cudaMemcpyHostToHost:
        return 0;
    case cudaMemcpyHostToDevice:
        return to;
    case cudaMemcpyDeviceToHost:
        return !to;
    case cudaMemcpyDeviceToDevice:
        return 1;
    case cudaMemcpyDefault:
        break;
    }
    return -1;
}

static cudaError_t copy_check(const struct copy *c, enum cudaMemcpyKind kind)
{
    const void *ends[2] = {c->from, c->to};
    for (int to = 0; to < 2; to++) {
        size_t room, pitch = to ? c->to_pitch : c->from_pitch;
        enum memory_side side = memory_side_of(ends[to], &room);
        int wanted = kind_side(kind, to == 1);
        if (wanted >= 0 && wanted != (side == MEMORY_DEVICE))
            return device_error(cudaErrorInvalidValue,
                                to ? "copy: the destination is on the other side"
                                   : "copy: the source is on the other side");
        if (pitch < c->width) return device_error(cudaErrorInvalidValue, "copy: pitch below width");
        if (side != MEMORY_PAGEABLE && (c->height - 1) * pitch + c->width > room)
            return device_error(cudaErrorInvalidValue, "copy: beyond the end of an allocation");
    }
    return cudaSuccess;
}

/* Reads the source now; the packed bytes follow the copy in the queue. */
static cudaError_t copy_put_staged(const struct copy *c, const struct work *work,
                                   cudaStream_t stream)
{
    struct work staged = *work;
    staged.bytes = sizeof *c + c->width * c->height;
    char *argument = (char *)malloc(staged.bytes);
    if (!argument) return device_error(cudaErrorMemoryAllocation, nullptr);
    struct copy packed = *c;
    packed.from = nullptr;
    packed.from_pitch = c->width;
    memcpy(argument, &packed, sizeof packed);
    for (size_t row = 0; row < c->height; row++)
        memcpy(argument + sizeof packed + row * c->width, c->from + row * c->from_pitch, c->width);
    cudaError_t error = stream_put(stream, &staged, argument);
    free(argument);
    return error;
}

static cudaError_t copy_put(const struct copy *c, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    size_t room;
    struct work work = {};
    work.call = copy_run;
    work.bytes = sizeof *c;
    if (cudaError_t lost = device_lost()) return lost;
    if (c->width == 0 || c->height == 0) return cudaSuccess;
    if (cudaError_t error = copy_check(c, kind)) return error;
    bool captured = stream && stream->capture;
    if (!captured && stream && memory_side_of(c->from, &room) == MEMORY_PAGEABLE)
        return copy_put_staged(c, &work, stream);
    cudaError_t error = stream_put(stream, &work, c);
    if (!error && !captured && stream && memory_side_of(c->to, &room) == MEMORY_PAGEABLE)
        stream_drain(stream);
    return error;
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                              size_t width, size_t height, enum cudaMemcpyKind kind,
                              cudaStream_t stream)
{
    struct copy c = {(char *)to, (const char *)from, to_pitch, from_pitch, width, height};
    return copy_put(&c, kind, stream);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    return cudaMemcpy2DAsync(to, bytes, from, bytes, bytes, 1, kind, stream);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    if (cudaError_t error = capture_forbids(nullptr, true)) return error;
    return cudaMemcpyAsync(to, from, bytes, kind, nullptr);
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    size_t room;
    struct fill f = {to, value, bytes};
    struct work work = {};
    work.call = fill_run;
    work.bytes = sizeof f;
    if (cudaError_t lost = device_lost()) return lost;
    if (bytes == 0) return cudaSuccess;
    if (memory_side_of(to, &room) != MEMORY_DEVICE || room < bytes)
        return device_error(cudaErrorInvalidValue, "fill: not so many bytes of device memory");
    return stream_put(stream, &work, &f);
}

cudaError_t cudaMemset(void *to, int value, size_t bytes)
{
    if (cudaError_t error = capture_forbids(nullptr, true)) return error;
    return cudaMemsetAsync(to, value, bytes, nullptr);
}
