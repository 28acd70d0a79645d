/* graph.c - captures the stream's work as a CUDA graph, and launches graphs.
 *
 * 1. During a capture the stream does nothing. Calls that wait for it, and calls that change memory
 *    a graph points at, are rejected by cuda_forbid_in_capture() before they reach the runtime. The
 *    capture stays valid, and the message names the call.
 * 2. A graph keeps the addresses it was captured with. Outgrown scratch memory is therefore kept as
 *    long as there is a graph (memory.c). */
#include "context.h"

int cuda_graph_begin(struct backend *b, struct err *e)
{
    struct cuda *c = cuda_of(b);
    TRY(cuda_forbid_in_capture(c, "a second capture", e));
    TRY(cuda_fault(c, cudaStreamBeginCapture(c->stream_own, cudaStreamCaptureModeThreadLocal),
                   "graph_begin", e));
    c->capturing = 1;
    return 0;
}

int cuda_graph_end(struct backend *b, void **graph_out, struct err *e)
{
    int rc = 0;
    struct cuda *c = cuda_of(b);
    cudaGraph_t captured_own = NULL;
    cudaGraphExec_t graph = NULL;

    if (graph_out) *graph_out = NULL;
    if (!c->capturing)
        return ERR(e, ERR_INTERNAL, "%s: graph_end: no capture is in progress", b->name);
    c->capturing = 0;
    TRY_OUT(rc, cuda_fault(c, cudaStreamEndCapture(c->stream_own, &captured_own), "graph_end", e));
    if (!graph_out) goto out;
    TRY_OUT(rc, cuda_fault(c, cudaGraphInstantiate(&graph, captured_own, 0), "graph_end", e));
    c->graphs_n++;
    *graph_out = graph;
    cuda_watch_memory(c);
out:
    if (captured_own) (void)cudaGraphDestroy(captured_own);
    return rc;
}

int cuda_graph_launch(struct backend *b, void *graph, struct err *e)
{
    struct cuda *c = cuda_of(b);
    TRY(cuda_forbid_in_capture(c, "a graph launch", e));
    return cuda_fault(c, cudaGraphLaunch((cudaGraphExec_t)graph, c->stream_own), "graph_launch", e);
}

void cuda_graph_free(struct backend *b, void *graph)
{
    struct cuda *c = cuda_of(b);
    if (!graph) return;
    (void)cudaGraphExecDestroy((cudaGraphExec_t)graph); /* waits for a launch in progress */
    if (--c->graphs_n == 0) cuda_scratch_tidy(c);
}
