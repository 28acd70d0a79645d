/* graph_slots.h - backend functions that watch or emulate graph capture, for one backend at a time.
 */
#ifndef MODEL_GRAPH_SLOTS_H
#define MODEL_GRAPH_SLOTS_H

#include "backend/backend.h"

struct graph_slots {
    const struct backend_ops *inner; /* the backend's own */
    struct backend_ops slots;        /* its current functions; a test may replace more of them */
    int captures_n, launches_n, downloads_n;
    int alive_n, alive_most; /* graphs captured and not freed */
    int play;                /* what the functions do */
};

/* graph_slots_watch - counts captures of the backend, which must support them. */
struct graph_slots *graph_slots_watch(struct backend *b);
/* graph_slots_now - executes work at once and keeps no graph: every pass runs directly, with the
 * lists of a backend with graphs. */
struct graph_slots *graph_slots_now(struct backend *b);
/* graph_slots_pretend - graph_slots_now, but keeps graphs whose launch does nothing: only the
 * counts are valid. */
struct graph_slots *graph_slots_pretend(struct backend *b);

#endif
