/* emulation_graph.cpp - captures streams as graphs, and launches graphs.
 *
 * 1. A node is a piece of work, its captured argument, and the nodes it depends on: those its stream
 *    had seen. Events carry what one stream has seen to another.
 * 2. A launch runs any node whose dependencies are done; the order setting chooses among them. */
#include "emulation_device.h"

#include <stdlib.h>

struct CUgraphNode_st {
    struct work work; /* the node owns argument_own */
    struct node_set after;
};

struct CUgraph_st {
    struct CUgraphNode_st *node_own;
    int n, room;
};

struct CUgraphExec_st {
    struct CUgraph_st graph;
    bool *done_own;
};

static struct capture *captures_active; /* one at a time */
static cudaStream_t captured[DEPENDENCIES_MAX];
static int captured_n;

cudaError_t capture_spoil(cudaError_t error, const char *sentence)
{
    if (captures_active) captures_active->invalid = true;
    return device_error(error, sentence);
}

/* ---- capture ---- */

cudaError_t capture_forbids(cudaStream_t stream, bool waits)
{
    const struct capture *c = captures_active;
    if (cudaError_t lost = device_lost()) return lost;
    if (!c) return cudaSuccess;
    bool touches = waits && (!stream || stream->capture);
    if (!touches && !c->refuses_unsafe) return cudaSuccess;
    return capture_spoil(cudaErrorStreamCaptureUnsupported,
                         "a call that waits or allocates while a stream is captured");
}

static bool set_add(struct node_set *s, int node)
{
    for (int i = 0; i < s->n; i++)
        if (s->node[i] == node) return true;
    if (s->n == DEPENDENCIES_MAX) return false;
    s->node[s->n++] = node;
    return true;
}

cudaError_t capture_add(cudaStream_t stream, const struct work *work, const void *argument)
{
    struct CUgraph_st *g = stream->capture->graph_own;
    if (g->n == g->room) {
        int room = g->room ? 2 * g->room : 64;
        void *nodes = realloc(g->node_own, (size_t)room * sizeof *g->node_own);
        if (!nodes) return device_error(cudaErrorMemoryAllocation, nullptr);
        g->node_own = (struct CUgraphNode_st *)nodes;
        g->room = room;
    }
    struct CUgraphNode_st *node = &g->node_own[g->n];
    node->work = *work;
    node->after = stream->seen;
    node->work.argument_own = malloc(work->bytes ? work->bytes : 1);
    if (!node->work.argument_own) return device_error(cudaErrorMemoryAllocation, nullptr);
    if (work->bytes) memcpy(node->work.argument_own, argument, work->bytes);
    stream->seen.n = 1;
    stream->seen.node[0] = g->n++;
    return cudaSuccess;
}

cudaError_t capture_join(cudaStream_t stream, cudaEvent_t event)
{
    if (!event->capture || event->capture != captures_active || !stream)
        return capture_spoil(cudaErrorStreamCaptureIsolation,
                             "a captured stream and one outside wait for each other");
    if (!stream->capture) {
        if (captured_n == DEPENDENCIES_MAX)
            return capture_spoil(cudaErrorNotSupported, "too many streams in one capture");
        captured[captured_n++] = stream;
        stream->capture = event->capture;
        stream->seen.n = 0;
    }
    for (int i = 0; i < event->seen.n; i++)
        if (!set_add(&stream->seen, event->seen.node[i]))
            return capture_spoil(cudaErrorNotSupported, "too many dependencies of one node");
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    if (cudaError_t lost = device_lost()) return lost;
    if (!stream || captures_active)
        return device_error(cudaErrorStreamCaptureUnsupported,
                            "capture of the default stream, or of a second stream");
    struct capture *c = (struct capture *)calloc(1, sizeof *c);
    struct CUgraph_st *g = (struct CUgraph_st *)calloc(1, sizeof *g);
    if (!c || !g) emulation_fail({"graph", 0}, "no memory for a capture");
    c->origin = stream;
    c->graph_own = g;
    c->refuses_unsafe = mode != cudaStreamCaptureModeRelaxed;
    captures_active = c;
    captured_n = 0;
    captured[captured_n++] = stream;
    stream->capture = c;
    stream->seen.n = 0;
    return cudaSuccess;
}

/* Whether the origin stream has seen every node: every branch has joined it. */
static bool capture_joined(const struct capture *c)
{
    const struct CUgraph_st *g = c->graph_own;
    int found = 0;
    bool *reached = (bool *)calloc((size_t)g->n + 1, sizeof *reached);
    if (!reached) emulation_fail({"graph", 0}, "no memory for a capture");
    for (int i = 0; i < c->origin->seen.n; i++) reached[c->origin->seen.node[i]] = true;
    for (int i = g->n - 1; i >= 0; i--) { /* a node's dependencies have lower numbers */
        if (!reached[i]) continue;
        found++;
        for (int k = 0; k < g->node_own[i].after.n; k++)
            reached[g->node_own[i].after.node[k]] = true;
    }
    free(reached);
    return found == g->n;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    struct capture *c = captures_active;
    cudaError_t error = cudaSuccess;
    *graph = nullptr;
    if (cudaError_t lost = device_lost()) return lost;
    if (!c || !stream || c->origin != stream)
        return capture_spoil(cudaErrorStreamCaptureUnmatched, "no capture began on this stream");
    if (c->invalid)
        error = device_error(cudaErrorStreamCaptureInvalidated, "the capture was made invalid");
    else if (!capture_joined(c))
        error = device_error(cudaErrorStreamCaptureUnjoined, "a branch was never waited for");
    for (int i = 0; i < captured_n; i++) captured[i]->capture = nullptr;
    captures_active = nullptr;
    if (error)
        cudaGraphDestroy(c->graph_own);
    else
        *graph = c->graph_own;
    free(c);
    return error;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
    const struct capture *c = stream ? stream->capture : nullptr;
    *status = !c           ? cudaStreamCaptureStatusNone
              : c->invalid ? cudaStreamCaptureStatusInvalidated
                           : cudaStreamCaptureStatusActive;
    return device_lost();
}

/* ---- graphs ---- */

static void graph_clear(struct CUgraph_st *g)
{
    for (int i = 0; i < g->n; i++) free(g->node_own[i].work.argument_own);
    free(g->node_own);
}

/* If nodes is NULL, only counts them. */
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *nodes_n)
{
    for (int i = 0; nodes && i < graph->n && (size_t)i < *nodes_n; i++)
        nodes[i] = &graph->node_own[i];
    *nodes_n = (size_t)graph->n;
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    if (!graph) return device_error(cudaErrorInvalidValue, "there is no such graph");
    graph_clear(graph);
    free(graph);
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long)
{
    *exec = nullptr;
    if (cudaError_t lost = device_lost()) return lost;
    struct CUgraphExec_st *x = (struct CUgraphExec_st *)calloc(1, sizeof *x);
    size_t n = (size_t)graph->n;
    if (!x) return device_error(cudaErrorMemoryAllocation, nullptr);
    x->graph.node_own = (struct CUgraphNode_st *)calloc(n + 1, sizeof *x->graph.node_own);
    x->done_own = (bool *)calloc(n + 1, sizeof *x->done_own);
    if (!x->graph.node_own || !x->done_own) emulation_fail({"graph", 0}, "no memory for a graph");
    for (; x->graph.n < graph->n; x->graph.n++) {
        struct CUgraphNode_st *node = &x->graph.node_own[x->graph.n];
        *node = graph->node_own[x->graph.n];
        void *argument = malloc(node->work.bytes ? node->work.bytes : 1);
        if (!argument) emulation_fail({"graph", 0}, "no memory for a graph");
        memcpy(argument, node->work.argument_own, node->work.bytes);
        node->work.argument_own = argument;
    }
    *exec = x;
    return cudaSuccess;
}

static bool node_ready(const struct CUgraphExec_st *x, int i)
{
    const struct node_set *after = &x->graph.node_own[i].after;
    for (int k = 0; k < after->n; k++)
        if (!x->done_own[after->node[k]]) return false;
    return !x->done_own[i];
}

static void graph_run(void *argument)
{
    enum { WINDOW = 64 }; /* nodes considered, from the first that is not done */
    struct CUgraphExec_st *x = *(struct CUgraphExec_st **)argument;
    int first = 0;
    memset(x->done_own, 0, (size_t)x->graph.n * sizeof *x->done_own);
    while (first < x->graph.n) {
        int ready[WINDOW], n = 0;
        for (int i = first; i < x->graph.n && i < first + WINDOW; i++)
            if (node_ready(x, i)) ready[n++] = i;
        int chosen = ready[order_pick(n)];
        work_do(&x->graph.node_own[chosen].work);
        x->done_own[chosen] = true;
        while (first < x->graph.n && x->done_own[first]) first++;
    }
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    struct work work = {};
    if (cudaError_t lost = device_lost()) return lost;
    if (!exec) return device_error(cudaErrorInvalidValue, "there is no such graph");
    work.call = graph_run;
    work.bytes = sizeof exec;
    for (int i = 0; i < exec->graph.n; i++)
        if (cudaError_t lost = device_count_launch()) return lost;
    return stream_put(stream, &work, &exec);
}

cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t)
{
    return device_lost();
}

/* Queued launches still need it. */
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    if (!exec) return device_error(cudaErrorInvalidValue, "there is no such graph");
    stream_drain_all();
    graph_clear(&exec->graph);
    free(exec->done_own);
    free(exec);
    return cudaSuccess;
}
