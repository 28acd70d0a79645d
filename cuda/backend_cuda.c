/* backend_cuda.c - opens a GPU as a backend and closes it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"

void cuda_close(struct backend *b)
{
    if (!b) return;
    struct cuda *c = cuda_of(b);
    cuda_group_leave(c);
    if (c->stream_own) (void)cudaStreamSynchronize(c->stream_own);
    gemm_close(c->gemm_own);
    cuda_memory_close(c);
    if (c->stream_own) (void)cudaStreamDestroy(c->stream_own);
    free(c);
}

/* The kernels need so much shared memory a block; sm_86, sm_89 and sm_120 have no more. */
enum { SHARED_LEAST = 99 << 10 };

/* Describes the device: "NVIDIA H200, sm_90, 132 processors, 139.8 GiB". */
static int cuda_describe(struct cuda *c, int ordinal, struct err *e)
{
    struct cudaDeviceProp p;
    TRY(cuda_fault(c, cudaGetDeviceProperties(&p, ordinal), "open", e));
    if (p.major < 8)
        return ERR(
            e, ERR_UNAVAILABLE,
            "%s: %s has compute capability %d.%d, alibi needs 8.0 (A100, RTX 30 series) or later: "
            "bf16 tensor cores, asynchronous copies",
            c->backend.name, p.name, p.major, p.minor);
    if (p.sharedMemPerBlockOptin < SHARED_LEAST)
        return ERR(
            e, ERR_UNAVAILABLE,
            "%s: %s allows a block %zu KB of shared memory, alibi needs %d; take another GPU",
            c->backend.name, p.name, p.sharedMemPerBlockOptin >> 10, SHARED_LEAST >> 10);
    snprintf(c->backend.device, sizeof c->backend.device, "%.48s, sm_%d%d, %d processors, %.1f GiB",
             p.name, p.major, p.minor, p.multiProcessorCount, (double)p.totalGlobalMem / (1 << 30));
    return 0;
}

/* Makes the device the current one. Without a driver devices_n stays 0. */
static int cuda_select(struct cuda *c, int ordinal, struct err *e)
{
    int devices_n = 0;
    TRY(cuda_fault(c, cudaGetDeviceCount(&devices_n), "open", e));
    if (ordinal >= devices_n)
        return ERR(e, ERR_UNAVAILABLE, "%s not found: this process sees %d GPUs", c->backend.name,
                   devices_n);
    TRY(cuda_fault(c, cudaSetDevice(ordinal), "open", e));
    TRY(cuda_describe(c, ordinal, e));
    return cuda_fault(c, cudaStreamCreateWithFlags(&c->stream_own, cudaStreamNonBlocking), "open",
                      e);
}

/* ALIBI_CUDA_GRAPHS=0 in the environment turns graphs off. The bits are the same; an error then
 * names its op, and one can measure what graphs gain. */
static void cuda_choose_functions(struct cuda *c)
{
    const char *graphs = getenv("ALIBI_CUDA_GRAPHS");
    c->functions = cuda_functions;
    c->backend.ops = &c->functions;
    if (!graphs || strcmp(graphs, "0") != 0) return;
    c->functions.graph_begin = NULL;
    c->functions.graph_end = NULL;
    c->functions.graph_launch = NULL;
    c->functions.graph_free = NULL;
}

int cuda_open(struct backend **out, const char *name, int ordinal, enum dtype precision,
              struct err *e)
{
    int rc = 0;
    struct cuda *c = calloc(1, sizeof *c);

    *out = NULL;
    if (!c) return ERR(e, ERR_NOMEM, "%s: no memory for the backend", name);
    c->backend = (struct backend){.threads = 1, .precision = precision};
    cuda_choose_functions(c);
    snprintf(c->backend.name, sizeof c->backend.name, "%s", name);
    TRY_OUT(rc, cuda_select(c, ordinal, e));
    TRY_OUT(rc, cuda_memory_open(c, e));
    TRY_OUT(rc, gemm_open(&c->gemm_own, c->stream_own, c->backend.blas, sizeof c->backend.blas, e));
    cuda_watch_memory(c);
    *out = &c->backend;
out:
    if (rc < 0) cuda_close(&c->backend);
    return rc;
}
