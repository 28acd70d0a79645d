/* model_graph.c - passes that a backend can capture as graphs and launch again.
 *
 * 1. A body works on the backend only: lists and step state, uploaded before it, hold what differs
 *    between passes of one shape; results are fetched after it. A shape is the body, the sizes of
 *    the batch, the gradient array, and offset and length of every list. Lists are padded
 *    (model_lists.c), so that there are few shapes.
 * 2. The first pass of a shape runs directly, because the backend selects algorithms and grows its
 *    scratch memory in it. The second pass is captured, and later ones launch its graph: the same
 *    work in the same order gives the same bits.
 * 3. A cache holds MODEL_GRAPHS shapes; a new one replaces the least recently used. If more shapes
 *    alternate, their passes run directly, without the cost of a capture.
 * 4. A backend without graph_begin runs every body directly. */
#include "model/model_graph.h"

#include <string.h>

#include "model/model_pass.h"
#include "model/model_struct.h"

static struct model_graph *graph_find(struct model_graphs *graphs, const struct model_graph *shape)
{
    for (int32_t i = 0; i < graphs->n; i++) {
        struct model_graph *g = &graphs->graph[i];
        if (g->body == shape->body && g->rows == shape->rows && g->length == shape->length &&
            g->leaf == shape->leaf && memcmp(&g->lists, &shape->lists, sizeof g->lists) == 0)
            return g;
    }
    return NULL;
}

/* Adds a shape to the cache. */
static void graph_remember(struct model *m, const struct model_graph *shape)
{
    struct model_graphs *graphs = &m->graphs;
    struct model_graph *entry = &graphs->graph[0];
    if (graphs->n < MODEL_GRAPHS) {
        entry = &graphs->graph[graphs->n++];
    } else {
        for (int32_t i = 1; i < graphs->n; i++)
            if (graphs->graph[i].last_used < entry->last_used) entry = &graphs->graph[i];
        m->b->ops->graph_free(m->b, entry->handle);
        graphs->counts.evicted++;
    }
    *entry = *shape;
    entry->last_used = ++graphs->clock;
}

static int graph_capture(struct model *m, struct model_graph *g, const struct model_pass *p,
                         struct err *e)
{
    struct err second = {0};
    TRY(m->b->ops->graph_begin(m->b, e));
    int rc = g->body(m, p, e);
    m->graphs.counts.captured += rc == 0;
    if (rc == 0) return m->b->ops->graph_end(m->b, &g->handle, e);
    (void)m->b->ops->graph_end(m->b, NULL, &second); /* the first error is reported */
    return rc;
}

int model_graph_run(struct model *m, model_body *body, const struct model_pass *p, struct err *e)
{
    if (m->b->ops->graph_begin == NULL) {
        m->graphs.counts.direct++;
        return body(m, p, e);
    }
    struct model_graph shape = {.body = body};
    if (p != NULL) {
        shape.leaf = p->leaf;
        shape.rows = p->rows;
        shape.length = p->length;
        shape.lists = m->lists;
    }
    struct model_graph *g = graph_find(&m->graphs, &shape);
    if (g == NULL) {
        m->graphs.counts.direct++;
        TRY(body(m, p, e));
        graph_remember(m, &shape);
        return 0;
    }
    g->last_used = ++m->graphs.clock;
    if (g->handle == NULL) TRY(graph_capture(m, g, p, e));
    return m->b->ops->graph_launch(m->b, g->handle, e);
}

struct model_graph_counts model_graph_counts(const struct model *m)
{
    return m->graphs.counts;
}

void model_graphs_forget(struct model *m)
{
    for (int32_t i = 0; i < m->graphs.n; i++)
        m->b->ops->graph_free(m->b, m->graphs.graph[i].handle);
    m->graphs.n = 0;
}
