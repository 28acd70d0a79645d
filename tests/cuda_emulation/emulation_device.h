/* emulation_device.h - memory, streams, graphs and the state of the device: what the files of the
 * emulated runtime share. Internal.
 *
 * 1. A piece of work is a function and a copy of its argument. A stream is a queue of work; work
 *    runs when something waits for it (stream_drain), in the order of the queue.
 * 2. Under capture, work becomes a node of a graph instead. It depends on the nodes that its stream
 *    has seen. A launch runs nodes in any order that respects this.
 * 3. Device memory is accessible only while work runs. */
#ifndef EMULATION_DEVICE_H
#define EMULATION_DEVICE_H

#include "emulation_control.h"
#include "emulation_machine.h"

/* ---- the device (emulation_device.cpp) ---- */

/* device_error - records the error and returns it; prints the sentence on stderr. */
cudaError_t device_error(cudaError_t error, const char *sentence);
/* device_lost - the error of a lost device, or cudaSuccess. */
cudaError_t device_lost();
/* device_count_launch - counts a launch, at which the device may be lost. */
cudaError_t device_count_launch();

/* ---- memory (emulation_memory.cpp) ---- */

enum memory_side { MEMORY_PAGEABLE, MEMORY_PINNED, MEMORY_DEVICE };

/* memory_side_of - the side of p. *room: bytes from p to the end of its allocation (device,
 * pinned).
 */
enum memory_side memory_side_of(const void *p, size_t *room);
/* Device memory is accessible between memory_open and memory_close; the calls nest. */
void memory_open();
void memory_close();
void memory_release_all();

/* ---- streams (emulation_stream.cpp) ---- */

enum { DEPENDENCIES_MAX = 16 };

/* Nodes of a graph by number. */
struct node_set {
    int node[DEPENDENCIES_MAX];
    int n;
};

struct work {
    void (*call)(void *argument);
    bool on_host;       /* must not access device memory */
    cudaEvent_t record; /* instead of a call: mark this event as reached */
    cudaEvent_t wait;   /* or: wait for this event */
    long serial;        /* which recording of the event */
    size_t bytes;
    void *argument_own;
    struct work *next;
};

struct CUstream_st {
    unsigned flags;
    struct work *first, **last;
    long waiting_n;
    size_t waiting_bytes;
    struct capture *capture; /* NULL: none */
    struct node_set seen;    /* under capture: what the next node depends on */
    struct CUstream_st *next;
};

struct CUevent_st {
    cudaStream_t stream;    /* of the last recording */
    long recorded, reached; /* serial numbers of recordings */
    double reached_ms;
    struct capture *capture; /* of the last recording, with what the stream had seen */
    struct node_set seen;
};

/* stream_put - queues a copy of the work with `bytes` of argument; captures it during a capture;
 * runs it at once on the default stream. */
cudaError_t stream_put(cudaStream_t stream, const struct work *work, const void *argument);
/* stream_drain - runs all work of the stream; _all: of every stream. */
void stream_drain(cudaStream_t stream);
void stream_drain_all();
/* stream_drain_until - runs the work of the event's stream up to its last recording. */
void stream_drain_until(cudaEvent_t event);
/* work_do - calls the work's function. */
void work_do(const struct work *work);

/* ---- graphs (emulation_graph.cpp) ---- */

/* A capture in progress. Global and thread-local modes reject unsafe calls. */
struct capture {
    cudaStream_t origin;
    cudaGraph_t graph_own;
    bool refuses_unsafe, invalid;
};

/* capture_add - adds the work as a node that depends on what the stream has seen. */
cudaError_t capture_add(cudaStream_t stream, const struct work *work, const void *argument);
/* capture_join - adds what the event has seen to what the stream has seen. */
cudaError_t capture_join(cudaStream_t stream, cudaEvent_t event);
/* capture_spoil - makes a capture in progress invalid; records the error and returns it. */
cudaError_t capture_spoil(cudaError_t error, const char *sentence);
/* capture_forbids - the error of a call that waits or allocates during a capture, which it makes
 * invalid; cudaSuccess without one. stream: the stream to wait for, or NULL for all. */
cudaError_t capture_forbids(cudaStream_t stream, bool waits);

/* In a sample of blocks (order_is_sample) copies and fills of more bytes are skipped. */
enum { SAMPLE_BYTES_MAX = 64 << 20 };
/* order_pick - one of n > 0 choices, according to the order setting. */
int order_pick(int n);

#endif
