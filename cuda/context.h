/* context.h - the inside of the CUDA backend: its state and what its files share.
 *
 * 1. One device, one stream, one thread. All work is queued on the stream; uploads go through
 *    pinned memory so that the caller's memory is free at the return; a download waits.
 * 2. A fault of the device is typed where it surfaces: memory ERR_NOMEM, a device that is gone
 *    ERR_UNAVAILABLE, everything else is our own mistake: ERR_INTERNAL.
 * 3. Scratch memory grows to the largest need: nothing is allocated in a training step after the
 *    first.
 * 4. Between graph_begin and graph_end (graph.c) work is written down, not done. */
#ifndef CUDA_CONTEXT_H
#define CUDA_CONTEXT_H

#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/backend.h"
#include "base/err.h"
#include "gemm.h"

enum { CUDA_STAGES_N = 2, CUDA_STAGE_BYTES = 4 << 20 };

/* A pinned buffer on its way to the device; `done` is the event after its last copy. */
struct cuda_stage {
    void *host_own;
    cudaEvent_t done_own;
};

struct cuda {
    struct backend backend;       /* first: a struct backend * is a struct cuda * */
    struct backend_ops functions; /* cuda_functions, or those of them that are wanted */
    cudaStream_t stream_own;
    struct gemm *gemm_own;
    struct cuda_stage stage[CUDA_STAGES_N];
    int32_t stage_next;
    void *scratch_own;
    size_t scratch_bytes;
    void **outgrown_own; /* scratch memory that graphs may still use; outgrown_n pieces */
    int32_t outgrown_n;
    int32_t graphs_n; /* kept and not forgotten */
    int recording;
    size_t used_most; /* bytes of the device in use, the most that was seen */
};

static inline struct cuda *cuda_of(struct backend *b)
{
    return (struct cuda *)(void *)b;
}

/* cuda_open - the device `ordinal` of this process under that name. Errors: ERR_UNAVAILABLE with
 * the driver's reason, ERR_NOMEM. */
int cuda_open(struct backend **out, const char *name, int ordinal, enum dtype precision,
              struct err *e);

/* cuda_close - gives everything back; takes NULL. */
void cuda_close(struct backend *b);

/* error.c. cuda_is_lost - whether that says that the device cannot be used any more, whatever we
 * do. */
int cuda_is_lost(int status);
/* cuda_fault - turns what a call of the runtime or a launcher returned into an error; 0 stays 0. */
int cuda_fault(struct cuda *c, int status, const char *where, struct err *e);
/* cuda_outside - refuses what may not happen while work is recorded, by its name. */
int cuda_outside(struct cuda *c, const char *what, struct err *e);

/* memory.c */
/* cuda_scratch - scratch memory of at least `bytes`, for work queued before the next call of this
 * function. Errors: ERR_NOMEM. */
int cuda_scratch(struct cuda *c, void **out, size_t bytes, struct err *e);
/* cuda_scratch_tidy - gives back outgrown scratch memory; no graph may be left. */
void cuda_scratch_tidy(struct cuda *c);
/* cuda_watch_memory - asks the driver how much of the device is in use, and keeps the most. */
void cuda_watch_memory(struct cuda *c);

int cuda_memory_open(struct cuda *c, struct err *e);
void cuda_memory_close(struct cuda *c);
int cuda_alloc(struct backend *b, void **out, size_t bytes, struct err *e);
void cuda_release(struct backend *b, void *p);
int cuda_upload(struct backend *b, void *dst_dev, const void *src_host, size_t bytes,
                struct err *e);
int cuda_download(struct backend *b, void *dst_host, const void *src_dev, size_t bytes,
                  struct err *e);
int cuda_copy(struct backend *b, void *dst_dev, const void *src_dev, size_t bytes, struct err *e);
int cuda_zero(struct backend *b, void *dst_dev, size_t bytes, struct err *e);
int cuda_sync(struct backend *b, struct err *e);
int cuda_peak_bytes(struct backend *b, int64_t *out, struct err *e);

/* graph.c */
int cuda_graph_begin(struct backend *b, struct err *e);
int cuda_graph_end(struct backend *b, void **graph_out, struct err *e);
int cuda_graph_launch(struct backend *b, void *graph, struct err *e);
void cuda_graph_free(struct backend *b, void *graph);

/* linear.c */
int cuda_run_linear(struct backend *b, const struct linear_args *a, struct err *e);
int cuda_run_linear_rows(struct backend *b, const struct linear_rows_args *a, struct err *e);
int cuda_run_linear_relu(struct backend *b, const struct linear_relu_args *a, struct err *e);
int cuda_run_linear_bwd_input(struct backend *b, const struct linear_bwd_input_args *a,
                              struct err *e);
int cuda_run_linear_bwd_relu(struct backend *b, const struct linear_bwd_relu_args *a,
                             struct err *e);
int cuda_run_linear_bwd_weight(struct backend *b, const struct linear_bwd_weight_args *a,
                               struct err *e);

/* ops.c */
extern const struct backend_ops cuda_functions;

#endif
