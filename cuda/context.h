/* context.h - the state of the CUDA backend and the functions its files share.
 *
 * 1. One device, one stream, one thread. All work is queued on the stream. Uploads are copied to
 *    pinned memory, so the caller may reuse its memory at once. Downloads wait.
 * 2. The place that sees a fault gives it its code: ERR_NOMEM for memory, ERR_UNAVAILABLE for a
 *    device that is gone, ERR_INTERNAL for everything else, which is our own mistake.
 * 3. Scratch memory grows to the largest need. After the first training step nothing is allocated.
 * 4. Between graph_begin and graph_end (graph.c) work is captured, not done. */
#ifndef CUDA_CONTEXT_H
#define CUDA_CONTEXT_H

#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/backend.h"
#include "base/err.h"
#include "gemm.h"

enum { CUDA_STAGES_N = 2, CUDA_STAGE_BYTES = 4 << 20 };

/* A pinned buffer between host and device; done_own is the event after its last copy. */
struct cuda_stage {
    void *host_own;
    cudaEvent_t done_own;
};

struct cuda {
    struct backend backend;       /* first: a struct backend * is a struct cuda * */
    struct backend_ops functions; /* cuda_functions, without graphs if ALIBI_CUDA_GRAPHS=0 */
    cudaStream_t stream_own;
    struct gemm *gemm_own;
    struct cuda_stage stage[CUDA_STAGES_N];
    int32_t stage_next;
    void *scratch_own;
    size_t scratch_bytes;
    void **outgrown_own; /* outgrown_n pieces of scratch memory that graphs may still use */
    int32_t outgrown_n;
    int32_t graphs_n; /* captured and not freed */
    int capturing;
    struct cuda_ranks *ranks_own; /* after cuda_group_join */
    size_t peak_bytes;            /* the most memory of the device that was in use */
};

static inline struct cuda *cuda_of(struct backend *b)
{
    return (struct cuda *)(void *)b;
}

/* cuda_open - opens device `ordinal` of this process as the backend `name`. Errors: ERR_UNAVAILABLE
 * with the driver's reason, ERR_NOMEM. */
int cuda_open(struct backend **out, const char *name, int ordinal, enum dtype precision,
              struct err *e);

/* cuda_close - frees everything; takes NULL. */
void cuda_close(struct backend *b);

/* ---- error.c ---- */

/* cuda_is_lost - true if this status means that the process cannot use the device any more. */
int cuda_is_lost(int status);
/* cuda_fault - turns the status of a runtime call or a launcher into an error; 0 stays 0. */
int cuda_fault(struct cuda *c, int status, const char *where, struct err *e);
/* cuda_forbid_in_capture - ERR_INTERNAL during a graph capture; `what` names the call. */
int cuda_forbid_in_capture(struct cuda *c, const char *what, struct err *e);

/* ---- memory.c ---- */

/* cuda_scratch - scratch memory of at least `bytes`, for work that is queued before the next call
 * of this function. Errors: ERR_NOMEM. */
int cuda_scratch(struct cuda *c, void **out, size_t bytes, struct err *e);
/* cuda_scratch_tidy - frees outgrown scratch memory; no graph may be left. */
void cuda_scratch_tidy(struct cuda *c);
/* cuda_watch_memory - asks the driver how much memory is in use and updates peak_bytes. */
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

/* ---- graph.c ---- */
int cuda_graph_begin(struct backend *b, struct err *e);
int cuda_graph_end(struct backend *b, void **graph_out, struct err *e);
int cuda_graph_launch(struct backend *b, void *graph, struct err *e);
void cuda_graph_free(struct backend *b, void *graph);

/* ---- group.c ---- */
int cuda_group_join(struct backend *b, struct group *g, struct err *e);
int cuda_exchange(struct backend *b, const struct group_transfer *list, int32_t n, struct err *e);
/* cuda_group_leave - waits for the stream. */
void cuda_group_leave(struct cuda *c);
/* cuda_transport - transport of struct backend_library. */
int cuda_transport(char *text, size_t bytes, struct err *e);

/* ---- ops.c, linear.c ---- */
#define CUDA_FUNCTION(NAME, name, args)                                                            \
    int cuda_run_##name(struct backend *b, const struct args *a, struct err *e);
BACKEND_OPS(CUDA_FUNCTION)
#undef CUDA_FUNCTION
extern const struct backend_ops cuda_functions;

#endif
