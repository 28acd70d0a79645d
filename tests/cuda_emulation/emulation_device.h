/* emulation_device.h - memory, streams, captures and the state of the device: what the files of the
 * emulated runtime share. Internal.
 *
 * 1. A piece of work is a function. A stream is a queue of work, which runs in order when something
 *    waits for it (stream_drain).
 * 2. Under capture, work is added to a graph instead. A launch queues the work of the graph.
 * 3. Device memory is accessible only while work runs. */
#ifndef EMULATION_DEVICE_H
#define EMULATION_DEVICE_H

#include <functional>

#include "emulation_control.h"
#include "emulation_machine.h"

/* ---- the device (emulation_device.cpp) ---- */

/* device_error - records the error and returns it; prints the sentence on stderr. */
cudaError_t device_error(cudaError_t error, const char *sentence);
/* device_lost - the error of a lost device, or cudaSuccess. */
cudaError_t device_lost();
/* device_count_launch - counts a launch, at which the device may be lost. */
cudaError_t device_count_launch();
/* device_refuse_kernel - the error EMULATION_LAUNCH of every kernel, such as 209: no kernel image;
 * products of the library are not kernels. */
cudaError_t device_refuse_kernel();

/* ---- memory (emulation_memory.cpp) ---- */

enum memory_side { MEMORY_PAGEABLE, MEMORY_PINNED, MEMORY_DEVICE };

/* memory_side_of - the side of p. *room: bytes from p to the end of its allocation (device,
 * pinned). */
enum memory_side memory_side_of(const void *p, size_t *room);
/* Device memory is accessible between memory_open and memory_close; the calls nest. */
void memory_open();
void memory_close();
void memory_release_all();

/* ---- streams (emulation_stream.cpp) ---- */

typedef std::function<void()> work;

/* stream_put - queues work; captures it during a capture; runs it at once on the default
 * stream. */
cudaError_t stream_put(cudaStream_t stream, const work &w);
/* stream_drain_all - runs all work of every stream. */
void stream_drain_all();
bool stream_is_captured(cudaStream_t stream);
/* capture_spoil - makes a capture in progress invalid; records the error and returns it. */
cudaError_t capture_spoil(cudaError_t error, const char *sentence);
/* capture_forbids - the error of a call that waits or allocates during a capture, which it makes
 * invalid; else cudaSuccess, or the error of a lost device. */
cudaError_t capture_forbids();

/* In a sample of blocks (order_is_sample) copies and fills of more bytes are skipped. */
enum { SAMPLE_BYTES_MAX = 64 << 20 };

#endif
