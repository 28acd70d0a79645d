/* model_graph.c - passes that a backend can record and replay.
 *
 * 1. A body is work on the backend alone: what differs between passes of one shape lies in lists
 * and step state that were uploaded before, results are fetched afterwards. The shape is the body,
 *    the sizes of the batch and where every list lies; lists are filled up (model_lists.c) so that
 *    there are few shapes.
 * 2. A shape is done as it is when it is met first, for then the backend chooses algorithms and its
 *    scratch memory grows; it is recorded when it is met again, and replayed from then on. It is
 * the same work in the same order, so the bits are the same.
 * 3. MODEL_GRAPHS shapes are remembered; a new one takes the place of that which was met longest
 *    ago. So shapes that come often stay, whatever rare ones pass by, and a validation gets its
 *    graphs although the training came first. A round of more shapes than that is done as it is and
 *    costs no recording: only what is met again while it is remembered is recorded.
 * 4. A backend without `record` does every body as it is. */
#include <string.h>

#include "model/model_internal.h"

static struct model_graph *graph_find(struct model_graphs *graphs, const struct model_graph *shape)
{
    for (int32_t i = 0; i < graphs->n; i++) {
        struct model_graph *g = &graphs->graph[i];
        if (g->body == shape->body && g->rows == shape->rows && g->length == shape->length &&
            g->accumulate == shape->accumulate &&
            memcmp(&g->lists, &shape->lists, sizeof g->lists) == 0)
            return g;
    }
    return NULL;
}

/* Remembers a shape that was met first. */
static void graph_remember(struct model *m, const struct model_graph *shape)
{
    struct model_graphs *graphs = &m->graphs;
    struct model_graph *place = &graphs->graph[0];
    if (graphs->n < MODEL_GRAPHS) {
        place = &graphs->graph[graphs->n++];
    } else {
        for (int32_t i = 1; i < graphs->n; i++)
            if (graphs->graph[i].met < place->met) place = &graphs->graph[i];
        m->b->ops->graph_free(m->b, place->own);
    }
    *place = *shape;
    place->met = ++graphs->clock;
}

static int graph_record(struct model *m, struct model_graph *g, const struct model_pass *p,
                        struct err *e)
{
    struct err second = {0};
    TRY(m->b->ops->graph_begin(m->b, e));
    int rc = g->body(m, p, e);
    if (rc == 0) return m->b->ops->graph_end(m->b, &g->own, e);
    (void)m->b->ops->graph_end(m->b, NULL, &second); /* the first error is the one to tell */
    return rc;
}

int model_graph_run(struct model *m, model_body *body, const struct model_pass *p, struct err *e)
{
    if (m->b->ops->graph_begin == NULL) return body(m, p, e);
    struct model_graph shape = {.body = body};
    if (p != NULL) {
        shape.accumulate = p->accumulate;
        shape.rows = p->rows;
        shape.length = p->length;
        shape.lists = m->lists;
    }
    struct model_graph *g = graph_find(&m->graphs, &shape);
    if (g == NULL) {
        TRY(body(m, p, e));
        graph_remember(m, &shape);
        return 0;
    }
    g->met = ++m->graphs.clock;
    if (g->own == NULL) TRY(graph_record(m, g, p, e));
    return m->b->ops->graph_launch(m->b, g->own, e);
}

void model_graphs_forget(struct model *m)
{
    for (int32_t i = 0; i < m->graphs.n; i++) m->b->ops->graph_free(m->b, m->graphs.graph[i].own);
    m->graphs.n = 0;
}
