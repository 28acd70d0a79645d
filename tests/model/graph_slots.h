/* graph_slots.h - slots that watch a backend's recorder, or play one. One backend at a time. */
#ifndef MODEL_GRAPH_SLOTS_H
#define MODEL_GRAPH_SLOTS_H

#include "backend/backend.h"

struct graph_slots {
    const struct backend_ops *inner; /* the backend's own */
    struct backend_ops slots;        /* what it has now; a test may change more of them */
    int records_n, replays_n, downloads_n;
    int alive_n, alive_most; /* graphs kept and not freed */
    int play;                /* what the slots do */
};

/* graph_slots_watch - the backend's recorder, which it must have, counted. */
struct graph_slots *graph_slots_watch(struct backend *b);
/* graph_slots_now - a recorder that does the work at once and keeps no graph: every pass is done as
 * it is, with the lists of a backend that records. */
struct graph_slots *graph_slots_now(struct backend *b);
/* graph_slots_pretend - the same, but it keeps graphs, whose replay does nothing: only what is
 * counted means something. */
struct graph_slots *graph_slots_pretend(struct backend *b);

#endif
