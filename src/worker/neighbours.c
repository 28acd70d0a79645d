/* neighbours.c - finds the nearest keys of a datastore exactly, and mixes what follows them into a
 * prediction (kNN-LM).
 *
 * 1. One product on the backend gives q.k - |k|^2 / 2 for all queries of a batch and a tile of
 *    keys. It orders the keys of a query as their distance does, up to rounding.
 * 2. Of each query the best k + SPARE keys are kept. Their distances are then computed in double,
 *    and the nearest k are chosen, ties to the lower index. So neither the backend's rounding nor
 *    the tiles change a result.
 * 3. Rounding moves a product by at most a known bound. If a key that was not kept could be nearer
 *    than the k-th chosen one, the query is compared with every key in double. */
#include "worker/neighbours.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "backend/backend.h"
#include "ops/ops.h"
#include "shape/memory.h"

enum { SPARE = 32, LANES = 16 };

static double squares(const float *x, int32_t n)
{
    double sum = 0.0;
    for (int32_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
    return sum;
}

static double distance(const float *x, const float *y, int32_t n)
{
    double sum = 0.0;
    for (int32_t i = 0; i < n; i++) {
        double d = (double)x[i] - (double)y[i];
        sum += d * d;
    }
    return sum;
}

/* --- a heap of the nearest, the farthest of them first --- */

static bool is_farther(const struct neighbour *x, const struct neighbour *y)
{
    return x->distance != y->distance ? x->distance > y->distance : x->key > y->key;
}

static void swap_neighbours(struct neighbour *x, struct neighbour *y)
{
    const struct neighbour was = *x;
    *x = *y;
    *y = was;
}

static void push_neighbour(struct neighbour *heap, int32_t *n, int32_t most, struct neighbour x)
{
    int32_t at = *n;

    if (at < most) {
        heap[(*n)++] = x;
        for (; at > 0 && is_farther(&heap[at], &heap[(at - 1) / 2]); at = (at - 1) / 2)
            swap_neighbours(&heap[at], &heap[(at - 1) / 2]);
        return;
    }
    if (!is_farther(&heap[0], &x)) return;
    heap[0] = x;
    for (at = 0;;) {
        int32_t next = 2 * at + 1;
        if (next + 1 < most && is_farther(&heap[next + 1], &heap[next])) next++;
        if (next >= most || !is_farther(&heap[next], &heap[at])) return;
        swap_neighbours(&heap[next], &heap[at]);
        at = next;
    }
}

static int compare_neighbours(const void *a, const void *b)
{
    return is_farther(a, b) ? 1 : is_farther(b, a) ? -1 : 0;
}

/* --- a search --- */

void neighbours_close(struct neighbours *s)
{
    void *buffers[] = {s->queries_dev_own, s->keys_dev_own, s->halves_dev_own, s->products_dev_own};
    void *arrays[] = {s->products_own, s->halves_own, s->heap_own, s->heap_n_own};

    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        if (buffers[i]) s->options.backend->ops->release(s->options.backend, buffers[i]);
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) free(arrays[i]);
}

int neighbours_open(struct neighbours *s, const struct neighbours_options *o, struct err *e)
{
    struct backend *b = o->backend;
    int64_t tile = SHAPE_SEARCH_KEYS, queries = o->queries_max;
    const struct {
        float **out;
        int64_t n;
    } buffers[] = {{&s->queries_dev_own, queries * o->width},
                   {&s->keys_dev_own, tile * o->width},
                   {&s->halves_dev_own, tile},
                   {&s->products_dev_own, queries * tile}};

    *s = (struct neighbours){.options = *o, .kept = o->k + SPARE};
    if (o->k < 1 || o->k > o->keys_n)
        return ERR(e, ERR_DATA,
                   "eval.knn_neighbours: %d, but the datastore has %" PRId64
                   " keys; set from 1 to that",
                   o->k, o->keys_n);
    s->products_own = calloc((size_t)(queries * tile), sizeof *s->products_own);
    s->halves_own = calloc((size_t)tile, sizeof *s->halves_own);
    s->heap_own = calloc((size_t)queries * (size_t)s->kept, sizeof *s->heap_own);
    s->heap_n_own = calloc((size_t)queries, sizeof *s->heap_n_own);
    if (!s->products_own || !s->halves_own || !s->heap_own || !s->heap_n_own)
        return ERR(e, ERR_NOMEM, "out of memory for a search; lower eval.knn_neighbours = %d",
                   o->k);
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        TRY(b->ops->alloc(b, (void **)buffers[i].out, (size_t)buffers[i].n * sizeof(float), e));
    return 0;
}

/* Computes -|k|^2 / 2 of a tile, and the longest key so far. */
static int halve_keys(struct neighbours *s, const float *keys, int64_t first, int64_t n,
                      struct err *e)
{
    for (int64_t i = 0; i < n; i++) {
        double sum = squares(keys + i * s->options.width, s->options.width);
        if (!isfinite((float)sum)) /* then every product with a finite query is finite */
            return ERR(e, ERR_DATA,
                       "key %" PRId64 " of the datastore is not finite; the training has diverged",
                       first + i);
        if (sum > s->longest) s->longest = sum;
        s->halves_own[i] = (float)(-0.5 * sum);
    }
    return 0;
}

/* Keeps the best of a tile of products of one query. */
static void keep_best(struct neighbours *s, int32_t query, int64_t first, int64_t n)
{
    const float *product = s->products_own + (int64_t)query * SHAPE_SEARCH_KEYS;
    struct neighbour *heap = s->heap_own + (int64_t)query * s->kept;
    int32_t *heap_n = &s->heap_n_own[query];

    for (int64_t i = 0; i < n; i += LANES) {
        bool full = *heap_n == s->kept;
        float least = full ? (float)(-0.5 * heap[0].distance) : -INFINITY;
        int better = 0;
        /* Products beyond n are those of an earlier tile, or 0. */
        for (int64_t k = i; k < i + LANES; k++) better |= product[k] > least;
        for (int64_t k = i; better && k < i + LANES && k < n; k++)
            push_neighbour(
                heap, heap_n, s->kept,
                (struct neighbour){.distance = -2.0 * (double)product[k], .key = first + k});
    }
}

static int search_tile(struct neighbours *s, int64_t first, int64_t n, int32_t queries_n,
                       struct err *e)
{
    struct backend *b = s->options.backend;
    int64_t width = s->options.width;
    const float *keys = s->options.keys + first * width;
    struct tensor products =
        tensor_make(s->products_dev_own, queries_n, SHAPE_SEARCH_KEYS, DTYPE_F32);

    TRY(halve_keys(s, keys, first, n, e));
    TRY(b->ops->upload(b, s->keys_dev_own, keys, (size_t)(n * width) * sizeof *keys, e));
    TRY(b->ops->upload(b, s->halves_dev_own, s->halves_own, (size_t)n * sizeof *s->halves_own, e));
    products.cols = n;
    TRY(OPS(b, linear, e, .y = products,
            .x = tensor_make(s->queries_dev_own, queries_n, width, DTYPE_F32),
            .w = tensor_make(s->keys_dev_own, n, width, DTYPE_F32),
            .bias = tensor_make(s->halves_dev_own, 1, n, DTYPE_F32)));
    TRY(b->ops->download(b, s->products_own, s->products_dev_own,
                         (size_t)queries_n * SHAPE_SEARCH_KEYS * sizeof *s->products_own, e));
    for (int32_t q = 0; q < queries_n; q++) keep_best(s, q, first, n);
    return 0;
}

/* Compares a query with every key. */
static void search_all(struct neighbours *s, const float *query, struct neighbour *heap, int32_t *n)
{
    int32_t width = s->options.width;

    *n = 0;
    for (int64_t i = 0; i < s->options.keys_n; i++)
        push_neighbour(
            heap, n, s->options.k,
            (struct neighbour){.distance = distance(query, s->options.keys + i * width, width),
                               .key = i});
    s->repeated_n++;
}

/* Sorts a query's kept keys by their distances in double. */
static void choose_nearest(struct neighbours *s, const float *query, int32_t q)
{
    struct neighbour *heap = s->heap_own + (int64_t)q * s->kept;
    int32_t width = s->options.width, k = s->options.k;
    double length = squares(query, width), limit = heap[0].distance;
    /* Every order of summation of a product of `width` terms and a sum is this near, with a
     * rounded |k|^2 / 2. */
    double error = (width + 8) * 0x1p-23 * (sqrt(length * s->longest) + s->longest);

    bool finite = isfinite((float)length);
    for (int32_t i = 0; !finite && i < k; i++)
        heap[i] = (struct neighbour){.distance = (double)NAN};
    if (!finite) return;
    for (int32_t i = 0; i < s->heap_n_own[q]; i++)
        heap[i].distance = distance(query, s->options.keys + heap[i].key * width, width);
    qsort(heap, (size_t)s->heap_n_own[q], sizeof *heap, compare_neighbours);
    if (s->heap_n_own[q] == s->options.keys_n) return;
    if (s->heap_n_own[q] >= k && heap[k - 1].distance < length + limit - 2 * error) return;
    search_all(s, query, heap, &s->heap_n_own[q]);
    qsort(heap, (size_t)s->heap_n_own[q], sizeof *heap, compare_neighbours);
}

int neighbours_find(struct neighbours *s, const float *queries, int32_t queries_n, struct err *e)
{
    const struct neighbours_options *o = &s->options;
    size_t bytes = (size_t)queries_n * (size_t)o->width * sizeof *queries;

    if (queries_n < 0 || queries_n > o->queries_max)
        return ERR(e, ERR_INTERNAL, "a search of %d queries, at most %d", queries_n,
                   o->queries_max);
    for (int32_t q = 0; q < queries_n; q++) s->heap_n_own[q] = 0;
    TRY(o->backend->ops->upload(o->backend, s->queries_dev_own, queries, bytes, e));
    for (int64_t first = 0; first < o->keys_n; first += SHAPE_SEARCH_KEYS) {
        int64_t left = o->keys_n - first;
        if (o->tick) TRY(o->tick(o->context, e));
        TRY(search_tile(s, first, left < SHAPE_SEARCH_KEYS ? left : SHAPE_SEARCH_KEYS, queries_n,
                        e));
    }
    for (int32_t q = 0; q < queries_n; q++) choose_nearest(s, queries + (int64_t)q * o->width, q);
    return 0;
}

const struct neighbour *neighbours_of(const struct neighbours *s, int32_t query)
{
    return s->heap_own + (int64_t)query * s->kept;
}

/* --- mixing --- */

void neighbours_weigh(double *weight, const struct neighbour *near, int32_t k, double temperature)
{
    double sum = 0.0;

    for (int32_t i = 0; i < k; i++) {
        weight[i] = exp(-(near[i].distance - near[0].distance) / temperature);
        sum += weight[i];
    }
    for (int32_t i = 0; i < k; i++) weight[i] /= sum;
}

double neighbours_mix(double logp, double p, double lambda)
{
    double model = log1p(-lambda) + logp, keys = log(lambda * p);
    double most = fmax(model, keys);

    if (isnan(p) || !(lambda * p > 0.0)) return isnan(p) ? (double)NAN : model;
    return most + log(exp(model - most) + exp(keys - most));
}
