/* test_datastore.c - evaluations with a datastore: their numbers from the definition, alone and in
 * a group. */
#include "harness/test.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "data/corpus.h"
#include "interchange/interchange.h"
#include "model/model.h"
#include "shape/memory.h"
#include "source/source.h"
#include "worker/datastore.h"
#include "worker/weights.h"
#include "worker/worker_fixture.h"

enum { TARGETS = 60, KEYS = 333, NEIGHBOURS = 12, DIM = 32 };

static struct spec train; /* done, in every case */

static int make_trained(void **state)
{
    worker_fixture_make(state);
    train = worker_fixture_spec(*state, SPEC_ALIBI);
    worker_fixture_must_run(*state, &train, 1);
    return 0;
}

static struct spec eval_of(double temperature, double lambda)
{
    struct spec s = worker_fixture_eval(&train, 16, 8);

    s.eval.targets = TARGETS;
    s.eval.knn = (struct spec_knn){
        .neighbours = NEIGHBOURS, .temperature = temperature, .lambda = lambda, .keys = KEYS};
    return s;
}

static struct record_evaluated record_of(struct worker_fixture *f, const struct spec *specs,
                                         int32_t i, int32_t n)
{
    char id[SPEC_ID_BYTES];

    spec_run_id(&specs[i], id);
    for (int32_t k = 0; k < n; k++) {
        const struct record r = worker_fixture_record(f, specs, 1, EVENT_EVALUATED, k);
        if (strcmp(r.evaluated.run_id, id) == 0) return r.evaluated;
    }
    fail_msg("no record of %s", id);
    return (struct record_evaluated){0};
}

static struct record_evaluated alone_of(struct worker_fixture *f, const struct spec *s)
{
    assert_ok(worker_fixture_run(f, s, 1, 1, NULL, &e));
    const struct record_evaluated r = record_of(f, s, 0, 1);
    worker_fixture_forget(f, s);
    return r;
}

/* --- the definition --- */

struct definition {
    float key[KEYS * DIM], query[TARGETS * DIM], logp[TARGETS];
    int32_t value[KEYS], target[TARGETS];
};

/* Keys, and log p of the targets (NULL: not wanted), one target at a time. */
static void score_each(struct worker_fixture *f, struct model *m, enum corpus_split split,
                       int32_t n, float *key, int32_t *id, float *logp)
{
    int32_t source[16], target[16];

    for (int32_t t = 0; t < n; t++) {
        int32_t first = t / 8 * 8 - 8 < 0 ? 0 : t / 8 * 8 - 8, at = t - first;
        tokens_read_row(&f->corpus.split[split], first, at + 1, at + 1, source, target);
        const struct model_batch batch = {
            .source = source, .target = target, .rows = 1, .length = at + 1};
        assert_ok(model_keys(m, &batch, &at, 1, key + t * DIM, &e));
        id[t] = target[at];
        if (logp) assert_ok(model_score(m, &batch, &at, 1, logp + t, &e));
    }
}

static struct model *open_model(struct worker_fixture *f, bool untrained)
{
    const struct shape_capacity o = {
        .rows_max = 1, .length_max = 16, .scored_max = 1, .keys = true};
    const struct record_trained r = worker_fixture_trained(f, &train, 1);
    const char *path = worker_fixture_path(f, &train, 1, r.best_checkpoint);
    struct safetensors *weights = NULL;
    struct model *m = NULL;

    assert_ok(model_open(&m, f->cpu, &train, &o, &e));
    if (untrained) {
        assert_ok(model_init(m, (uint64_t)train.train.seed, &e));
        return m;
    }
    assert_ok(safetensors_open(&weights, path, &e));
    assert_ok(weights_load(m, 0, weights, path, &e));
    safetensors_close(weights);
    return m;
}

static struct definition define(struct worker_fixture *f, bool untrained)
{
    struct definition d;
    struct model *m = open_model(f, false), *keys = open_model(f, untrained);

    score_each(f, keys, CORPUS_TRAIN, KEYS, d.key, d.value, NULL);
    score_each(f, keys, CORPUS_VALID, TARGETS, d.query, d.target, NULL);
    score_each(f, m, CORPUS_VALID, TARGETS, d.query, d.target, d.logp);
    if (untrained) score_each(f, keys, CORPUS_VALID, TARGETS, d.query, d.target, NULL);
    model_close(m);
    model_close(keys);
    return d;
}

static double distance_of(const struct definition *d, int q, int i)
{
    double sum = 0.0;
    for (int c = 0; c < DIM; c++) {
        double x = (double)d->query[q * DIM + c] - (double)d->key[i * DIM + c];
        sum += x * x;
    }
    return sum;
}

/* p of target q: the weight of the keys that have it, among those to which fewer than NEIGHBOURS
 * are nearer. */
static double p_of(const struct definition *d, int q, const struct spec_knn *k)
{
    double sum = 0.0, hit = 0.0;

    for (int i = 0; i < KEYS; i++) {
        int32_t nearer = 0;
        for (int j = 0; j < KEYS; j++) {
            double x = distance_of(d, q, j), y = distance_of(d, q, i);
            nearer += x < y || (x == y && j < i);
        }
        bool all = k->control == SPEC_KNN_UNIGRAM;
        if (!all && nearer >= NEIGHBOURS) continue;
        double weight = all ? 1.0 : exp(-distance_of(d, q, i) / k->temperature);
        sum += weight;
        if (d->value[i] == d->target[q]) hit += weight;
    }
    return hit / sum;
}

TEST_GROUP(make_trained, worker_fixture_remove)

TEST_WITH(struct worker_fixture *f, a_mixture_has_the_numbers_of_the_definition)
{
    for (int control = SPEC_KNN_KEYS; control <= SPEC_KNN_UNIGRAM; control++) {
        struct spec s = eval_of(3.0, 0.4), plain = s;
        s.eval.knn.control = (enum spec_knn_control)control;
        plain.eval.knn.neighbours = 0;
        const struct definition d = define(f, control == SPEC_KNN_UNTRAINED);
        double nll = 0.0;
        for (int q = 0; q < TARGETS; q++)
            nll -= log(0.6 * exp((double)d.logp[q]) + 0.4 * p_of(&d, q, &s.eval.knn));
        const struct record_evaluated r = alone_of(f, &s);
        /* Scores are floats below 8 nats; a softmax of distances amplifies nothing here. */
        assert_float_equal(r.loss_nats, nll / TARGETS, 1e-5);
        assert_int_equal(r.datastore_sha256 != NULL, control != SPEC_KNN_UNIGRAM);
        double gain = alone_of(f, &plain).loss_nats - r.loss_nats;
        assert_true(fabs(gain) > 1e-3);
    }
}

TEST_WITH(struct worker_fixture *f, a_group_gives_each_mixture_the_numbers_it_has_alone)
{
    struct spec group[5] = {eval_of(3.0, 0.4), eval_of(3.0, 0.1), eval_of(0.5, 0.4),
                            eval_of(3.0, 0.4), eval_of(3.0, 0.4)};
    double alone[5];

    group[3].eval.split = SPEC_TEST;
    group[4].eval.L = 12;
    for (int i = 0; i < 5; i++) alone[i] = alone_of(f, &group[i]).loss_nats;
    assert_ok(worker_fixture_run(f, group, 5, 1, NULL, &e));
    for (int i = 0; i < 5; i++) {
        assert_true(record_of(f, group, i, 5).loss_nats == alone[i]);
        for (int k = 0; k < i; k++) assert_true(alone[i] != alone[k]);
    }
    worker_fixture_forget(f, group);
    struct spec others[2] = {eval_of(3.0, 0.4), eval_of(3.0, 0.4)};
    others[1].eval.knn.keys = KEYS - 1;
    worker_fixture_must_fail(f, others, 2, ERR_DATA,
                             "differ in training, checkpoint, precision or");
}

TEST_WITH(struct worker_fixture *f, a_datastore_is_identified_by_its_values_and_keys)
{
    struct spec s = eval_of(3.0, 0.4), shorter = s;
    const struct definition d = define(f, false);
    static char bytes[sizeof d.value + sizeof d.key];
    char expected[HASH_HEX_BYTES];

    memcpy(bytes, d.value, sizeof d.value);
    memcpy(bytes + sizeof d.value, d.key, sizeof d.key);
    hash_sha256_hex(expected, bytes, sizeof bytes);
    const struct record_evaluated first = alone_of(f, &s);
    assert_string_equal(first.datastore_sha256, expected);
    shorter.eval.knn.keys = KEYS - 100;
    const struct record_evaluated other = alone_of(f, &shorter);
    assert_string_not_equal(other.datastore_sha256, expected);
    assert_true(other.loss_nats != first.loss_nats);
}

TEST_WITH(struct worker_fixture *f, a_signal_while_a_datastore_is_built_cancels)
{
    const struct spec s = eval_of(3.0, 0.4);

    worker_fixture_must_cancel(f, &s, 1, SIGTERM);
    worker_fixture_forget(f, &s);
}

/* No machine has 2^57 bytes. */
TEST_WITH(struct worker_fixture *f, keys_that_do_not_fit_into_memory_name_the_setting)
{
    struct source source = {.path = "last", .spec = train};
    struct datastore_options o = {
        .source = &source, .corpus = &f->corpus, .knn = {.keys = INT64_C(1) << 50}};
    struct datastore d;

    assert_fails(ERR_NOMEM, "lower eval.knn_keys", datastore_build(&d, &o, &e));
    assert_null(d.keys_own);
}

TEST_WITH(struct worker_fixture *f, a_worker_refuses_what_only_the_training_shows)
{
    struct spec s = eval_of(3.0, 0.4);

    s.eval.knn.keys = 0;
    s.eval.knn.neighbours = 60000;
    worker_fixture_must_fail(f, &s, 1, ERR_DATA, "more than the");
    s = eval_of(3.0, 0.4);
    s.eval.knn.keys = 100000;
    worker_fixture_must_fail(f, &s, 1, ERR_DATA, "set eval.knn_keys: 0 for all");
}
