/* datastore.c - computes the datastore of a training in memory. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "worker/datastore.h"

#include "data/corpus.h"
#include "model/model.h"
#include "source/source.h"
#include "worker/score.h"
#include "worker/state.h"
#include "worker/weights.h"

void datastore_close(struct datastore *d)
{
    free(d->keys_own);
    free(d->values_own);
    *d = (struct datastore){0};
}

int datastore_model(struct model **out, const struct datastore_options *o, const struct spec *s,
                    const struct shape_capacity *capacity, struct err *e)
{
    TRY(model_open(out, o->worker->backend, s, capacity, e));
    int rc = o->knn.control == SPEC_KNN_UNTRAINED
                 ? model_init(*out, (uint64_t)s->train.seed, e)
                 : weights_of_source(o->source, o->worker, *out, e);
    if (rc < 0) {
        model_close(*out);
        *out = NULL;
    }
    return rc;
}

/* Keeps the keys of a batch, which follow `done` others. */
static int keep_keys(struct datastore *d, const struct datastore_options *o, const struct scores *s,
                     int64_t done, struct err *e)
{
    int32_t width = o->source->spec.model.dim;

    if (s->n > d->n - done)
        return ERR(e, ERR_INTERNAL, "more than %" PRId64 " keys of a training text", d->n);
    for (int64_t i = 0; i < s->n * width; i++) {
        if (!isfinite(s->keys[i]))
            return ERR(e, ERR_NUMBER,
                       "%s: the key of target %" PRId64 " of the training text is not finite",
                       o->source->path, done + i / width);
        d->keys_own[done * width + i] = s->keys[i];
    }
    return 0;
}

static int compute_keys(struct datastore *d, const struct datastore_options *o, struct model *m,
                        int32_t rows, struct err *e)
{
    struct score_options options = {
        .model = m, .rows = rows, .keys = SCORE_ONLY_KEYS, .width = o->source->spec.model.dim};
    struct scores scores;
    int64_t done = 0;
    int rc = 0;

    TRY(windows_make(&options.windows, &o->corpus->split[CORPUS_TRAIN], WINDOWS_STRIDE,
                     o->knn.window, o->knn.stride, d->n, e));
    scores_open(&scores, &options);
    while (rc == 0 && scores.rows_left > 0) {
        if (worker_stop_requested(o->worker))
            rc = ERR(e, ERR_INTERRUPTED,
                     "stopped while building a datastore; rerun the command to build it again");
        if (rc == 0)
            rc = worker_progress(o->worker, done, d->n + o->more, (double)NAN, (double)NAN, e);
        if (rc == 0) rc = scores_next(&scores, e);
        if (rc == 0) rc = keep_keys(d, o, &scores, done, e);
        done += scores.n;
    }
    scores_close(&scores);
    return rc;
}

/* Hashes the values, then the keys. */
static int hash_datastore(struct datastore *d, int32_t width, struct err *e)
{
    struct hash_state *h = NULL;

    TRY(hash_open(&h, e));
    int rc = hash_add(h, d->values_own, (size_t)d->n * sizeof *d->values_own, e);
    if (rc == 0) rc = hash_add(h, d->keys_own, (size_t)(d->n * width) * sizeof *d->keys_own, e);
    int closed = hash_close(h, d->sha256, rc == 0 ? e : NULL);
    return rc < 0 ? rc : closed;
}

static int build_datastore(struct datastore *d, const struct datastore_options *o, struct err *e)
{
    int32_t width = o->source->spec.model.dim;
    struct shape_capacity capacity;
    struct model *m = NULL;

    d->keys_own = malloc((size_t)(d->n * width) * sizeof *d->keys_own);
    d->values_own = malloc((size_t)d->n * sizeof *d->values_own);
    if (!d->keys_own || !d->values_own)
        return ERR(e, ERR_NOMEM,
                   "out of memory: %" PRId64 " keys of %d numbers need %" PRId64
                   " MB; lower eval.knn_keys",
                   d->n, width, 4 * d->n * (width + 1) / 1000000);
    tokens_read(&o->corpus->split[CORPUS_TRAIN], 0, d->n, d->values_own);
    shape_capacity_scores(&capacity, o->knn.window, o->knn.stride, 1, SPEC_FP32);
    capacity.keys = true;
    capacity.streamed = weights_are_streamed(o->source, o->worker);
    TRY(datastore_model(&m, o, &o->source->spec, &capacity, e));
    int rc = compute_keys(d, o, m, capacity.rows_max, e);
    model_close(m);
    return rc < 0 ? rc : hash_datastore(d, width, e);
}

int datastore_build(struct datastore *d, const struct datastore_options *o, struct err *e)
{
    *d = (struct datastore){.n = o->knn.keys};
    int rc = build_datastore(d, o, e);
    if (rc < 0) datastore_close(d);
    return rc;
}
