/* bench_gpu_graphs.c - how many graphs does a training need?
 *
 * Batches of text differ in the lengths of the lists of their bands, and each combination is a
 * shape with a graph. If a training meets more shapes than a model keeps graphs, shapes are evicted
 * and their passes run directly, at several times the host's work. Tokens are drawn by Zipf's law;
 * the topics of a text vary more. */
#include <stdlib.h>

#include "base/clock.h"
#include "bench/bench_gpu.h"

int bench_graphs(json_t *out, struct bench_steps *b, const struct bench_case *c,
                 const struct bench_options *o, struct err *e)
{
    enum { UPDATES = 300, TINY_UPDATES = 8, STEADY = 3 /* the last third is timed */ };
    int32_t n = o->tiny ? TINY_UPDATES : UPDATES, timed_n = 0;
    double loss, norm, seconds[UPDATES];
    struct bench_timing t = {0};

    (void)c;
    for (int32_t u = 0; u < n; u++) {
        bench_steps_draw(b, u, true);
        int64_t before = clock_monotonic_us();
        TRY(bench_train_step(b, (uint32_t)u, &loss, &norm, e));
        if (u >= n - n / STEADY)
            seconds[timed_n++] = 1e-6 * (double)(clock_monotonic_us() - before);
    }
    struct model_graph_counts counts = model_graph_counts(b->model);
    bench_quartiles(seconds, timed_n, &t);
    json_object_update_new(
        out, json_pack("{s:i, s:I, s:I, s:I, s:f, s:f, s:f}", "updates", (int)n, "direct_passes",
                       (json_int_t)counts.direct, "graphs_captured", (json_int_t)counts.captured,
                       "graphs_evicted", (json_int_t)counts.evicted, "update_s", t.median_s,
                       "update_low_s", t.low_s, "update_high_s", t.high_s));
    return 0;
}
