/* graph_slots.c - see graph_slots.h. */
#include "model/graph_slots.h"

#include "harness/test.h"

static struct graph_slots seen;

enum play { WATCH, RUN_NOW, PRETEND };

static int graph_begin(struct backend *b, struct err *e)
{
    seen.captures_n++;
    return seen.play == WATCH ? seen.inner->graph_begin(b, e) : 0;
}

static int graph_end(struct backend *b, void **graph_out, struct err *e)
{
    if (seen.play == WATCH) TRY(seen.inner->graph_end(b, graph_out, e));
    if (seen.play != WATCH && graph_out) *graph_out = seen.play == PRETEND ? &seen : NULL;
    if (graph_out && *graph_out) seen.alive_n++;
    if (seen.alive_n > seen.alive_most) seen.alive_most = seen.alive_n;
    return 0;
}

static int graph_launch(struct backend *b, void *graph, struct err *e)
{
    seen.launches_n++;
    return seen.play == WATCH ? seen.inner->graph_launch(b, graph, e) : 0;
}

static void graph_free(struct backend *b, void *graph)
{
    seen.alive_n -= graph != NULL;
    if (seen.play == WATCH) seen.inner->graph_free(b, graph);
}

static int watch_download(struct backend *b, void *dst_host, const void *src_dev, size_t bytes,
                          struct err *e)
{
    seen.downloads_n++;
    return seen.inner->download(b, dst_host, src_dev, bytes, e);
}

static struct graph_slots *place(struct backend *b, enum play play)
{
    seen = (struct graph_slots){.inner = b->ops, .slots = *b->ops, .play = play};
    seen.slots.download = watch_download;
    seen.slots.graph_begin = graph_begin;
    seen.slots.graph_end = graph_end;
    seen.slots.graph_launch = graph_launch;
    seen.slots.graph_free = graph_free;
    b->ops = &seen.slots;
    return &seen;
}

struct graph_slots *graph_slots_watch(struct backend *b)
{
    assert_non_null(b->ops->graph_begin);
    return place(b, WATCH);
}

struct graph_slots *graph_slots_now(struct backend *b)
{
    return place(b, RUN_NOW);
}

struct graph_slots *graph_slots_pretend(struct backend *b)
{
    return place(b, PRETEND);
}
