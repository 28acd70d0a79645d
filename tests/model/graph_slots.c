/* graph_slots.c - slots that watch a backend's recorder, or play one. */
#include "model/graph_slots.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct graph_slots seen;

static void kept(void *const *graph_out)
{
    if (graph_out && *graph_out) seen.alive_n++;
    if (seen.alive_n > seen.alive_most) seen.alive_most = seen.alive_n;
}

static int watch_record(struct backend *b, struct err *e)
{
    seen.records_n++;
    return seen.inner->graph_begin(b, e);
}

static int watch_keep(struct backend *b, void **graph_out, struct err *e)
{
    TRY(seen.inner->graph_end(b, graph_out, e));
    kept(graph_out);
    return 0;
}

static int watch_replay(struct backend *b, void *graph, struct err *e)
{
    seen.replays_n++;
    return seen.inner->graph_launch(b, graph, e);
}

static void watch_forget(struct backend *b, void *graph)
{
    seen.alive_n -= graph != NULL;
    seen.inner->graph_free(b, graph);
}

static int play_record(struct backend *b, struct err *e)
{
    (void)b;
    (void)e;
    seen.records_n++;
    return 0;
}

static int now_keep(struct backend *b, void **graph_out, struct err *e)
{
    (void)b;
    (void)e;
    if (graph_out) *graph_out = NULL;
    return 0;
}

static int pretend_keep(struct backend *b, void **graph_out, struct err *e)
{
    (void)b;
    (void)e;
    if (graph_out) *graph_out = &seen;
    kept(graph_out);
    return 0;
}

static int play_replay(struct backend *b, void *graph, struct err *e)
{
    (void)b;
    (void)graph;
    (void)e;
    seen.replays_n++;
    return 0;
}

static void play_forget(struct backend *b, void *graph)
{
    (void)b;
    seen.alive_n -= graph != NULL;
}

static int watch_download(struct backend *b, void *dst_host, const void *src_dev, size_t bytes,
                          struct err *e)
{
    seen.downloads_n++;
    return seen.inner->download(b, dst_host, src_dev, bytes, e);
}

static struct graph_slots *place(struct backend *b)
{
    seen = (struct graph_slots){.inner = b->ops, .slots = *b->ops};
    seen.slots.download = watch_download;
    b->ops = &seen.slots;
    return &seen;
}

struct graph_slots *graph_slots_watch(struct backend *b)
{
    assert_non_null(b->ops->graph_begin);
    place(b);
    seen.slots.graph_begin = watch_record;
    seen.slots.graph_end = watch_keep;
    seen.slots.graph_launch = watch_replay;
    seen.slots.graph_free = watch_forget;
    return &seen;
}

struct graph_slots *graph_slots_now(struct backend *b)
{
    place(b);
    seen.slots.graph_begin = play_record;
    seen.slots.graph_end = now_keep;
    seen.slots.graph_launch = play_replay;
    seen.slots.graph_free = play_forget;
    return &seen;
}

struct graph_slots *graph_slots_pretend(struct backend *b)
{
    graph_slots_now(b);
    seen.slots.graph_end = pretend_keep;
    return &seen;
}
