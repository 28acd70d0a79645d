/* memory.c - device memory, scratch memory, uploads and downloads.
 *
 * Uploads and downloads of any size alternate between two pinned buffers: while one is being
 * copied, the host fills or empties the other. */
#include <stdlib.h>
#include <string.h>

#include "context.h"

int cuda_memory_open(struct cuda *c, struct err *e)
{
    for (int i = 0; i < CUDA_STAGES_N; i++) {
        struct cuda_stage *s = &c->stage[i];
        TRY(cuda_fault(c, cudaMallocHost(&s->host_own, CUDA_STAGE_BYTES), "pinned memory", e));
        TRY(cuda_fault(c, cudaEventCreateWithFlags(&s->done_own, cudaEventDisableTiming),
                       "an event", e));
    }
    cuda_watch_memory(c);
    return 0;
}

/* Ignores errors: no caller can act on them. */
void cuda_memory_close(struct cuda *c)
{
    for (int i = 0; i < CUDA_STAGES_N; i++) {
        if (c->stage[i].done_own) (void)cudaEventDestroy(c->stage[i].done_own);
        (void)cudaFreeHost(c->stage[i].host_own);
    }
    cuda_scratch_tidy(c);
    (void)cudaFree(c->scratch_own);
}

void cuda_watch_memory(struct cuda *c)
{
    size_t unused_bytes = 0, total_bytes = 0;
    if (cudaMemGetInfo(&unused_bytes, &total_bytes) != cudaSuccess) return;
    size_t used = total_bytes - unused_bytes;
    if (used > c->peak_bytes) c->peak_bytes = used;
}

int cuda_alloc(struct backend *b, void **out, size_t bytes, struct err *e)
{
    struct cuda *c = cuda_of(b);
    size_t unused_bytes = 0, total_bytes = 0;
    *out = NULL;
    TRY(cuda_forbid_in_capture(c, "an allocation", e));
    cudaError_t status = cudaMalloc(out, bytes > 0 ? bytes : 1);
    if (status == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError(); /* clears the error: a later check must not see it */
        (void)cudaMemGetInfo(&unused_bytes, &total_bytes);
        return ERR(e, ERR_NOMEM,
                   "%s: no memory for %zu bytes: %zu of the GPU's %zu are free; use a smaller "
                   "batch or another GPU",
                   b->name, bytes, unused_bytes, total_bytes);
    }
    TRY(cuda_fault(c, status, "alloc", e));
    cuda_watch_memory(c);
    return 0;
}

void cuda_release(struct backend *b, void *p)
{
    (void)b;
    (void)cudaFree(p); /* a fault of the device surfaces at the next call that returns errors */
}

void cuda_scratch_tidy(struct cuda *c)
{
    for (int32_t i = 0; i < c->outgrown_n; i++) (void)cudaFree(c->outgrown_own[i]);
    free(c->outgrown_own);
    c->outgrown_own = NULL;
    c->outgrown_n = 0;
}

/* Graphs hold addresses of scratch memory, so it is kept until the last graph is freed. */
static int memory_outgrow(struct cuda *c, struct err *e)
{
    size_t pieces = (size_t)c->outgrown_n + 1;
    /* cudaFree waits for work that may still use the memory. */
    if (c->graphs_n == 0) return cuda_fault(c, cudaFree(c->scratch_own), "scratch memory", e);
    void **list = realloc(c->outgrown_own, pieces * sizeof *list);
    if (!list) return ERR(e, ERR_NOMEM, "%s: no memory for a list", c->backend.name);
    list[c->outgrown_n++] = c->scratch_own;
    c->outgrown_own = list;
    return 0;
}

int cuda_scratch(struct cuda *c, void **out, size_t bytes, struct err *e)
{
    if (c->scratch_bytes < bytes) {
        TRY(cuda_forbid_in_capture(c, "growth of scratch memory", e));
        TRY(memory_outgrow(c, e));
        c->scratch_own = NULL;
        c->scratch_bytes = 0;
        TRY(cuda_alloc(&c->backend, &c->scratch_own, bytes, e));
        c->scratch_bytes = bytes;
    }
    *out = c->scratch_own;
    return 0;
}

static struct cuda_stage *memory_next_stage(struct cuda *c)
{
    struct cuda_stage *s = &c->stage[c->stage_next];
    c->stage_next = (c->stage_next + 1) % CUDA_STAGES_N;
    return s;
}

static size_t memory_part(size_t bytes, size_t done)
{
    return bytes - done < CUDA_STAGE_BYTES ? bytes - done : CUDA_STAGE_BYTES;
}

int cuda_upload(struct backend *b, void *dst_dev, const void *src_host, size_t bytes, struct err *e)
{
    struct cuda *c = cuda_of(b);
    TRY(cuda_forbid_in_capture(c, "an upload", e));
    for (size_t done = 0, part; done < bytes; done += part) {
        struct cuda_stage *s = memory_next_stage(c);
        part = memory_part(bytes, done);
        TRY(cuda_fault(c, cudaEventSynchronize(s->done_own), "upload", e));
        memcpy(s->host_own, (const char *)src_host + done, part);
        TRY(cuda_fault(c,
                       cudaMemcpyAsync((char *)dst_dev + done, s->host_own, part,
                                       cudaMemcpyHostToDevice, c->stream_own),
                       "upload", e));
        TRY(cuda_fault(c, cudaEventRecord(s->done_own, c->stream_own), "upload", e));
    }
    return 0;
}

int cuda_download(struct backend *b, void *dst_host, const void *src_dev, size_t bytes,
                  struct err *e)
{
    struct cuda *c = cuda_of(b);
    const struct cuda_stage *before = NULL;
    size_t before_at = 0, before_bytes = 0;
    TRY(cuda_forbid_in_capture(c, "a download", e));
    for (size_t done = 0, part = 0; done < bytes || before; done += part) {
        struct cuda_stage *s = NULL;
        part = memory_part(bytes, done);
        if (part > 0) {
            s = memory_next_stage(c);
            TRY(cuda_fault(c, cudaEventSynchronize(s->done_own), "download", e));
            TRY(cuda_fault(c,
                           cudaMemcpyAsync(s->host_own, (const char *)src_dev + done, part,
                                           cudaMemcpyDeviceToHost, c->stream_own),
                           "download", e));
            TRY(cuda_fault(c, cudaEventRecord(s->done_own, c->stream_own), "download", e));
        }
        if (before) {
            TRY(cuda_fault(c, cudaEventSynchronize(before->done_own), "download", e));
            memcpy((char *)dst_host + before_at, before->host_own, before_bytes);
        }
        before = s;
        before_at = done;
        before_bytes = part;
    }
    return 0;
}

int cuda_copy(struct backend *b, void *dst_dev, const void *src_dev, size_t bytes, struct err *e)
{
    struct cuda *c = cuda_of(b);
    if (bytes == 0) return 0;
    return cuda_fault(
        c, cudaMemcpyAsync(dst_dev, src_dev, bytes, cudaMemcpyDeviceToDevice, c->stream_own),
        "copy", e);
}

int cuda_zero(struct backend *b, void *dst_dev, size_t bytes, struct err *e)
{
    struct cuda *c = cuda_of(b);
    if (bytes == 0) return 0;
    return cuda_fault(c, cudaMemsetAsync(dst_dev, 0, bytes, c->stream_own), "zero", e);
}

int cuda_sync(struct backend *b, struct err *e)
{
    struct cuda *c = cuda_of(b);
    TRY(cuda_forbid_in_capture(c, "a sync", e));
    return cuda_fault(c, cudaStreamSynchronize(c->stream_own), "sync", e);
}

/* The driver counts the whole device; a GPU has one worker, so that is the run's memory. We ask
 * only where memory grows and here: at each sync, a step would wait for the driver. */
int cuda_peak_bytes(struct backend *b, int64_t *out, struct err *e)
{
    struct cuda *c = cuda_of(b);
    TRY(cuda_sync(b, e));
    cuda_watch_memory(c);
    *out = (int64_t)c->peak_bytes;
    return 0;
}
