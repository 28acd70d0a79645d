/* graph.c - work written down once and replayed: captures of the stream as CUDA graphs.
 *
 * 1. While work is recorded the stream does nothing. What would need it to, or would change what
 * the graph points at, is refused by cuda_outside() before the runtime is asked: so the recording
 *    stays whole and the sentence names what was tried.
 * 2. A graph keeps the addresses it was recorded with. Scratch memory that was outgrown is
 * therefore kept as long as there is a graph (memory.c). */
#include "context.h"

int cuda_graph_begin(struct backend *b, struct err *e)
{
    struct cuda *c = cuda_of(b);
    TRY(cuda_outside(c, "a second recording", e));
    TRY(cuda_fault(c, cudaStreamBeginCapture(c->stream_own, cudaStreamCaptureModeThreadLocal),
                   "graph_begin", e));
    c->recording = 1;
    return 0;
}

int cuda_graph_end(struct backend *b, void **graph_out, struct err *e)
{
    int rc = 0;
    struct cuda *c = cuda_of(b);
    cudaGraph_t written_own = NULL;
    cudaGraphExec_t graph = NULL;

    if (graph_out) *graph_out = NULL;
    if (!c->recording) return ERR(e, ERR_INTERNAL, "%s: graph_end: nothing is recorded", b->name);
    c->recording = 0;
    TRY_OUT(rc, cuda_fault(c, cudaStreamEndCapture(c->stream_own, &written_own), "graph_end", e));
    if (!graph_out) goto out;
    TRY_OUT(rc, cuda_fault(c, cudaGraphInstantiate(&graph, written_own, 0), "graph_end", e));
    c->graphs_n++;
    *graph_out = graph;
    cuda_watch_memory(c);
out:
    if (written_own) (void)cudaGraphDestroy(written_own);
    return rc;
}

int cuda_graph_launch(struct backend *b, void *graph, struct err *e)
{
    struct cuda *c = cuda_of(b);
    TRY(cuda_outside(c, "a replay", e));
    return cuda_fault(c, cudaGraphLaunch((cudaGraphExec_t)graph, c->stream_own), "graph_launch", e);
}

void cuda_graph_free(struct backend *b, void *graph)
{
    struct cuda *c = cuda_of(b);
    if (!graph) return;
    (void)cudaGraphExecDestroy((cudaGraphExec_t)graph); /* after its last replay, if one goes on */
    if (--c->graphs_n == 0) cuda_scratch_tidy(c);
}
