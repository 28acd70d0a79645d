/* model_graph.h - captured passes, which a launch repeats. */
#ifndef MODEL_MODEL_GRAPH_H
#define MODEL_MODEL_GRAPH_H

#include <stdint.h>

#include "base/err.h"
#include "model/model.h"
#include "model/model_lists.h"

struct model_pass;

enum { MODEL_GRAPHS = 64 }; /* shapes in the cache of graphs */

/* Work on the backend that can be captured. p: the pass, or NULL. */
typedef int model_body(struct model *m, const struct model_pass *p, struct err *e);

/* A shape of passes and its graph. */
struct model_graph {
    model_body *body;
    int32_t rows, length; /* 0 without a pass */
    int32_t leaf;
    struct model_lists lists;
    void *handle;      /* the backend's graph; NULL: not captured yet */
    int64_t last_used; /* value of `clock` at its last use */
};

struct model_graphs {
    struct model_graph graph[MODEL_GRAPHS];
    int32_t n;
    int64_t clock; /* number of passes */
    struct model_graph_counts counts;
};

/* model_graph_run - runs the body, or launches its graph for a known shape. */
int model_graph_run(struct model *m, model_body *body, const struct model_pass *p, struct err *e);
/* model_graphs_forget - frees all graphs. */
void model_graphs_forget(struct model *m);

#endif
