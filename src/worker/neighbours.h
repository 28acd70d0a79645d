/* neighbours.h - exact search in tiles, see neighbours.c. */
#ifndef WORKER_NEIGHBOURS_H
#define WORKER_NEIGHBOURS_H

#include <stdint.h>

#include "base/err.h"

struct backend;

struct neighbours_options {
    struct backend *backend;
    const float *keys; /* (keys_n, width) on the host; borrowed */
    int64_t keys_n;
    int32_t width, k, queries_max;
    int (*tick)(void *context, struct err *e); /* before each tile; a negative code ends the
                                                  search; may be NULL */
    void *context;
};
struct neighbour {
    double distance; /* squared */
    int64_t key;
};
struct neighbours {
    struct neighbours_options options;
    float *queries_dev_own, *keys_dev_own, *halves_dev_own, *products_dev_own;
    float *products_own, *halves_own;
    struct neighbour *heap_own; /* (queries_max, kept) */
    int32_t *heap_n_own, kept;
    double longest;     /* largest square of a key */
    int64_t repeated_n; /* queries that were compared with every key */
};
/* neighbours_open - Errors: ERR_DATA k is not from 1 to keys_n; ERR_NOMEM. neighbours_close also
 * follows an error. */
int neighbours_open(struct neighbours *s, const struct neighbours_options *o, struct err *e);
void neighbours_close(struct neighbours *s);
/* neighbours_find - the k nearest keys of each query (queries_n, width); ties to the lower index.
 * Errors: ERR_DATA a key is not finite. neighbours_of - those of a query of the last call, by
 * rising distance; NaN if the query is not finite. */
int neighbours_find(struct neighbours *s, const float *queries, int32_t queries_n, struct err *e);
const struct neighbour *neighbours_of(const struct neighbours *s, int32_t query);
/* neighbours_weigh - softmax(-distance / temperature). neighbours_mix - log((1 - lambda) e^logp +
 * lambda p). */
void neighbours_weigh(double *weight, const struct neighbour *near, int32_t k, double temperature);
double neighbours_mix(double logp, double p, double lambda);

#endif
