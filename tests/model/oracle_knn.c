/* oracle_knn.c - knn files: the nearest keys of each query, their weights, and the mixture. Keys
 * and queries are given, or those of a model: keys of train_stream, queries of stream, in windows
 * of knn_length tokens with knn_context tokens of context. */
#include <math.h>

#include "data/tokens.h"
#include "data/windows.h"
#include "model/oracle.h"
#include "worker/neighbours.h"
#include "worker/score.h"

enum { ROWS = 16 };
static const double logp_of_miss = -10000.0;

struct knn {
    const float *keys, *queries, *logp; /* (keys_n, width), (queries_n, width), (queries_n) */
    const int32_t *values, *target;
    int64_t keys_n, queries_n;
    int32_t width, k;
    double temperature, lambda;
};

/* Scores a stream in windows: the keys of its targets, and log p of each (NULL: not wanted). */
static const float *keys_of(struct oracle *o, const struct tokens *stream, int32_t width,
                            float *logp)
{
    struct score_options options = {.model = o->model_own,
                                    .rows = ROWS,
                                    .keys = logp ? SCORE_AND_KEYS : SCORE_ONLY_KEYS,
                                    .width = width};
    int32_t length = (int32_t)oracle_number(o, "knn_length");
    int32_t stride = length - (int32_t)oracle_number(o, "knn_context");
    float *keys = oracle_array(o, stream->n * width);
    struct scores scores;
    int64_t done = 0;
    int rc = 0;

    oracle_must(o,
                windows_make(&options.windows, stream, WINDOWS_STRIDE, length, stride, 0, &o->e));
    scores_open(&scores, &options);
    while (rc == 0 && scores.rows_left > 0) {
        rc = scores_next(&scores, &o->e);
        for (int64_t i = 0; rc == 0 && i < scores.n; i++, done++) {
            for (int32_t c = 0; c < width; c++) keys[done * width + c] = scores.keys[i * width + c];
            if (logp) logp[done] = scores.item[i].logp;
        }
    }
    scores_close(&scores);
    oracle_must(o, rc);
    if (done != stream->n) oracle_reject(o, "the windows do not score every target of the stream");
    return keys;
}

static struct tokens stream_of(struct oracle *o, const char *name)
{
    const struct safetensors_entry *t = oracle_take(o, "I32", -1, name);
    return (struct tokens){
        .n = t->elements_n, .width = 4, .ids = t->data, .prefix = TOKEN_LINE_END, .pad = TOKEN_PAD};
}

static void compute_keys(struct oracle *o, struct knn *k)
{
    const struct tokens train = stream_of(o, "train_stream"), stream = stream_of(o, "stream");
    struct shape_capacity capacity = {.rows_max = ROWS, .keys = true};
    struct spec spec;

    oracle_open_weights(o, &spec);
    capacity.length_max = (int32_t)oracle_number(o, "knn_length");
    capacity.scored_max = (int64_t)ROWS * capacity.length_max;
    oracle_model_open(o, &spec, &capacity);
    oracle_load_weights(o, &spec);
    float *logp = oracle_array(o, stream.n);
    k->width = spec.model.dim;
    k->keys = keys_of(o, &train, k->width, NULL);
    k->keys_n = train.n;
    k->queries = keys_of(o, &stream, k->width, logp);
    k->queries_n = stream.n;
    k->logp = logp;
    k->target = stream.ids;
    oracle_check(o, ORACLE_STREAM, k->keys, train.n * k->width, "keys");
    oracle_check(o, ORACLE_LOGP, logp, stream.n, "lm_logprob");
    oracle_check_ints(o, train.ids, train.n, "values");
    k->values = train.ids;
}

static void take_keys(struct oracle *o, struct knn *k)
{
    const struct safetensors_entry *keys = oracle_take(o, "F32", -1, "keys");
    if (keys->dims_n != 2) oracle_reject(o, "keys has %d dimensions, expected 2", keys->dims_n);
    k->keys = keys->data;
    k->keys_n = keys->dims[0];
    k->width = (int32_t)keys->dims[1];
    k->target = oracle_take(o, "I32", -1, "target")->data;
    k->queries_n = oracle_take(o, "I32", -1, "target")->elements_n;
    k->queries = oracle_floats(o, k->queries_n * k->width, "queries");
    k->values = oracle_ints(o, k->keys_n, "values");
    k->logp = oracle_floats(o, k->queries_n, "lm_logprob");
}

/* Two neighbours may swap if their distances are as near as the compared ones may be. */
static void check_neighbours(struct oracle *o, const struct knn *k, const int32_t *got,
                             const float *distance)
{
    const int32_t *want = oracle_ints(o, k->queries_n * k->k, "neighbour");
    int32_t *near = oracle_int_array(o, k->queries_n * k->k);

    for (int64_t i = 0; i < k->queries_n * k->k; i++) {
        near[i] = got[i];
        if (got[i] == want[i] || want[i] < 0 || want[i] >= k->keys_n) continue;
        const float *q = k->queries + i / k->k * k->width, *key = k->keys + want[i] * k->width;
        double sum = 0.0;
        for (int32_t c = 0; c < k->width; c++)
            sum += ((double)q[c] - (double)key[c]) * ((double)q[c] - (double)key[c]);
        if (fabs(sum - (double)distance[i]) <= 5e-6 * sum) near[i] = want[i];
    }
    oracle_check_ints(o, near, k->queries_n * k->k, "neighbour");
}

/* Keys of a float32 model move a distance, and a temperature below 1 multiplies that. */
static void check_softened(struct oracle *o, enum oracle_measure measure, const struct knn *k,
                           const float *got, int64_t n, const char *name)
{
    const float *want = oracle_floats(o, n, name);
    float *mine = oracle_array(o, n), *theirs = oracle_array(o, n);
    float soft = (float)fmin(1.0, k->temperature);

    for (int64_t i = 0; i < n; i++) {
        mine[i] = soft * got[i];
        theirs[i] = soft * want[i];
    }
    oracle_compare(o, measure, name, mine, theirs, n);
}

static void check_search(struct oracle *o, const struct knn *k, struct neighbours *search)
{
    int64_t n = k->queries_n * k->k;
    float *distance = oracle_array(o, n), *weights = oracle_array(o, n);
    float *knn = oracle_array(o, k->queries_n), *mixed = oracle_array(o, k->queries_n);
    int32_t *neighbour = oracle_int_array(o, n), *hit = oracle_int_array(o, k->queries_n);
    double *weight = arena_array(&o->arena, (size_t)k->k, sizeof *weight);
    double sum_lm = 0.0, sum = 0.0;

    for (int64_t q = 0; q < k->queries_n; q++) {
        const struct neighbour *near = neighbours_of(search, (int32_t)q);
        double p = 0.0;
        neighbours_weigh(weight, near, k->k, k->temperature);
        for (int32_t i = 0; i < k->k; i++) {
            distance[q * k->k + i] = (float)near[i].distance;
            neighbour[q * k->k + i] = (int32_t)near[i].key;
            weights[q * k->k + i] = (float)weight[i];
            if (k->values[near[i].key] != k->target[q]) continue;
            hit[q] = 1;
            p += weight[i];
        }
        knn[q] = (float)(hit[q] ? log(p) : logp_of_miss);
        mixed[q] = (float)neighbours_mix((double)k->logp[q], p, k->lambda);
        sum_lm -= (double)k->logp[q];
        sum -= (double)mixed[q];
    }
    oracle_check(o, ORACLE_DISTANCE, distance, n, "distance");
    check_neighbours(o, k, neighbour, distance);
    check_softened(o, ORACLE_ATTENTION, k, weights, n, "neighbour_weight");
    oracle_check_ints(o, hit, k->queries_n, "knn_hit");
    check_softened(o, ORACLE_LOGP, k, knn, k->queries_n, "knn_logprob");
    check_softened(o, ORACLE_LOGP, k, mixed, k->queries_n, "mixed_logprob");
    double targets = (double)k->queries_n;
    oracle_compare_number(o, ORACLE_LOGP, "ppl_lm", sum_lm / targets,
                          log(oracle_number(o, "ppl_lm")));
    oracle_compare_number(o, ORACLE_LOGP, "ppl_mixed", sum / targets,
                          log(oracle_number(o, "ppl_mixed")));
}

void oracle_knn(struct oracle *o)
{
    struct knn k = {.k = (int32_t)oracle_number(o, "knn_k"),
                    .temperature = oracle_number(o, "knn_temperature"),
                    .lambda = oracle_number(o, "knn_lambda")};
    struct neighbours search;

    if (oracle_has(o, "train_stream"))
        compute_keys(o, &k);
    else
        take_keys(o, &k);
    const struct neighbours_options options = {.backend = oracle_backend(o),
                                               .keys = k.keys,
                                               .keys_n = k.keys_n,
                                               .width = k.width,
                                               .k = k.k,
                                               .queries_max = (int32_t)k.queries_n};
    int rc = neighbours_open(&search, &options, &o->e);
    if (rc == 0) rc = neighbours_find(&search, k.queries, (int32_t)k.queries_n, &o->e);
    if (rc == 0) check_search(o, &k, &search);
    neighbours_close(&search);
    oracle_must(o, rc);
}
