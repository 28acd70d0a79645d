/* test_datastore.c - evaluations with a datastore: their numbers from the definition, one file for
 * all, and what is not that file is never used. */
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
#include "interchange/interchange.h"
#include "worker/worker_fixture.h"
#include "worker/worker_internal.h"

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

/* The names of files in the training's folder that begin like a datastore's. */
static int32_t datastores(struct worker_fixture *f, char name[512])
{
    struct dir d;
    int32_t n = 0;

    assert_ok(dir_open(&d, worker_fixture_dir(f, &train, 1), &e));
    for (int32_t i = 0; i < d.n; i++) {
        if (strncmp(d.name_own[i], RUN_DATASTORE, strlen(RUN_DATASTORE)) != 0) continue;
        if (strstr(d.name_own[i], "lock")) continue;
        snprintf(name, 512, "%s", d.name_own[i]);
        n++;
    }
    dir_close(&d);
    return n;
}

static void delete_datastores(struct worker_fixture *f)
{
    char name[512];

    while (datastores(f, name) > 0)
        assert_int_equal(unlink(worker_fixture_path(f, &train, 1, name)), 0);
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
    delete_datastores(f);
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
    delete_datastores(f);
}

TEST_WITH(struct worker_fixture *f, a_datastore_is_built_once_and_again_if_it_is_damaged)
{
    const struct spec s = eval_of(3.0, 0.4);
    char name[512], again[512];
    struct spec shorter = s;

    const struct record_evaluated first = alone_of(f, &s);
    assert_int_equal(datastores(f, name), 1);
    const char *path = worker_fixture_path(f, &train, 1, name);
    assert_non_null(strstr(name, first.datastore_sha256));
    assert_true(alone_of(f, &s).loss_nats == first.loss_nats);

    worker_fixture_flip(path, 9);
    assert_true(alone_of(f, &s).loss_nats == first.loss_nats);
    assert_int_equal(truncate(path, 1000), 0);
    assert_true(alone_of(f, &s).loss_nats == first.loss_nats);
    assert_int_equal(datastores(f, again), 1);
    assert_string_equal(name, again); /* the same bytes */

    shorter.eval.knn.keys = KEYS - 100; /* another datastore */
    assert_true(alone_of(f, &shorter).loss_nats != first.loss_nats);
    assert_int_equal(datastores(f, again), 2);
    assert_true(alone_of(f, &s).loss_nats == first.loss_nats);
    delete_datastores(f);
}

TEST_WITH(struct worker_fixture *f, what_a_killed_worker_left_of_a_datastore_is_deleted)
{
    const struct spec s = eval_of(3.0, 0.4);
    char name[512], path[TEST_PATH_BYTES];

    const struct record_evaluated first = alone_of(f, &s);
    (void)datastores(f, name);
    size_t identity_n = strlen(RUN_DATASTORE) + 16;
    snprintf(path, sizeof path, "%s", worker_fixture_path(f, &train, 1, name));
    /* Killed before the last rename, and while writing. */
    const char *complete = arena_printf(&f->arena, "%.*s.safetensors", (int)identity_n, name);
    const char *half = arena_printf(&f->arena, "%s.tmp-77", complete);
    assert_int_equal(rename(path, worker_fixture_path(f, &train, 1, complete)), 0);
    test_write(worker_fixture_path(f, &train, 1, half), "half", 4);
    assert_true(alone_of(f, &s).loss_nats == first.loss_nats);
    assert_int_equal(datastores(f, name), 1);
    assert_non_null(strstr(name, first.datastore_sha256));
    delete_datastores(f);
}

/* Kills the worker at moments spread over its life; what it leaves is never used. */
TEST_WITH(struct worker_fixture *f, a_worker_killed_at_any_moment_leaves_nothing_wrong)
{
    enum { KILLS = 24 };
    const struct spec s = eval_of(3.0, 0.4);
    const struct record_evaluated expected = alone_of(f, &s);
    int32_t kept_n = 0;
    char name[512];

    for (int i = 0; i < KILLS; i++) {
        delete_datastores(f);
        pid_t child = fork();
        if (child == 0) {
            struct err why = {0};
            _exit(worker_fixture_run(f, &s, 1, 1, NULL, &why) == 0 ? 0 : 1);
        }
        usleep((useconds_t)(i * 1500));
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
        kept_n += datastores(f, name);
        worker_fixture_forget(f, &s);
        const struct record_evaluated r = alone_of(f, &s);
        assert_true(r.loss_nats == expected.loss_nats);
        assert_int_equal(datastores(f, name), 1);
        assert_non_null(strstr(name, expected.datastore_sha256));
    }
    print_message("%d faults injected, %d left a file\n", KILLS, kept_n);
    delete_datastores(f);
}

TEST_WITH(struct worker_fixture *f, a_signal_while_a_datastore_is_built_cancels_and_leaves_nothing)
{
    const struct spec s = eval_of(3.0, 0.4);
    char name[512];

    worker_fixture_must_cancel(f, &s, 1, SIGTERM);
    worker_fixture_forget(f, &s);
    assert_int_equal(datastores(f, name), 0);
}

/* --- files that are not the datastore --- */

struct forgery {
    const char *name;
    const char *key, *text;       /* replaces this metadata */
    const char *tensor, *renamed; /* replaces this name */
    int64_t keys_n, width;        /* 0: the right ones */
    int32_t value;                /* of key 5; 0: the right one */
    int64_t truncated;            /* bytes cut off */
    const char *word;
};

static void forge(const struct forgery *x, const struct datastore *d, const char *path,
                  char sha256[HASH_HEX_BYTES])
{
    static const char *const keys[] = {
        "format", "run_id", "checkpoint_sha256", "corpus_fingerprint", "window", "stride", "keys"};
    enum { TEXTS = sizeof keys / sizeof *keys };
    int64_t n = x->keys_n ? x->keys_n : KEYS, width = x->width ? x->width : DIM;
    struct safetensors_text text[TEXTS];
    struct safetensors_writer w;
    int32_t value[KEYS];
    struct err e = {0};

    for (int i = 0; i < TEXTS; i++)
        text[i] = (struct safetensors_text){keys[i], safetensors_metadata(d->file, keys[i])};
    for (int i = 0; i < TEXTS; i++)
        if (x->key && strcmp(x->key, keys[i]) == 0) text[i].text = x->text;
    struct safetensors_entry entry[] = {
        {.name = "values", .dtype = "I32", .dims = {n}, .dims_n = 1, .elements_n = n},
        {.name = "keys", .dtype = "F32", .dims = {n, width}, .dims_n = 2, .elements_n = n * width}};
    for (int i = 0; i < 2; i++)
        if (x->tensor && strcmp(x->tensor, entry[i].name) == 0) entry[i].name = x->renamed;
    const struct safetensors_content c = {
        .text = text, .texts_n = TEXTS, .entry = entry, .entries_n = 2};
    memcpy(value, d->values, sizeof value);
    if (x->value) value[5] = x->value;
    int rc = safetensors_writer_open(&w, path, &c, &e);
    if (rc == 0) rc = safetensors_writer_add(&w, value, n, &e);
    if (rc == 0) rc = safetensors_writer_add(&w, d->keys, n * width, &e);
    assert_ok(safetensors_writer_close(&w, rc, sha256, NULL, &e));
    if (x->truncated == 0) return;
    assert_int_equal(truncate(path, 4096), 0);
    assert_ok(hash_file(sha256, path, &e));
}

TEST_WITH(struct worker_fixture *f, a_file_that_is_not_the_datastore_is_refused)
{
    static const struct forgery rows[] = {
        {.name = "right"},
        {.name = "other format", .key = "format", .text = "alibi datastore 2", .word = "format is"},
        {.name = "other run",
         .key = "run_id",
         .text = "0123456789abcdef",
         .word = "run_id is 0123"},
        {.name = "other checkpoint",
         .key = "checkpoint_sha256",
         .text = "00",
         .word = "checkpoint_sha"},
        {.name = "other dictionary",
         .key = "corpus_fingerprint",
         .text = "00",
         .word = "corpus_finger"},
        {.name = "other window",
         .key = "window",
         .text = "17",
         .word = "window is 17, expected 16"},
        {.name = "other stride", .key = "stride", .text = "9", .word = "stride is 9, expected 8"},
        {.name = "other number", .key = "keys", .text = "1", .word = "keys is 1, expected 333"},
        {.name = "fewer keys", .keys_n = KEYS - 1, .word = "expected 333 rows of 32"},
        {.name = "other width", .width = DIM - 8, .word = "expected 333 rows of 32"},
        {.name = "no keys", .tensor = "keys", .renamed = "key", .word = "tensor keys is missing"},
        {.name = "no values",
         .tensor = "values",
         .renamed = "v",
         .word = "tensor values is missing"},
        {.name = "a word too many",
         .value = 1000,
         .word = "value 5 is 1000, outside the dictionary"},
        {.name = "a negative word", .value = -1, .word = "value 5 is -1"},
        {.name = "truncated", .truncated = 1, .word = "forged"},
    };
    const struct spec s = eval_of(3.0, 0.4);
    const struct record_trained r = worker_fixture_trained(f, &train, 1);
    struct worker worker = {.project = &f->project, .backend = f->cpu};
    struct source source = {.path = worker_fixture_path(f, &train, 1, r.best_checkpoint),
                            .spec = train};
    struct datastore_options o = {.worker = &worker,
                                  .source = &source,
                                  .corpus = &f->corpus,
                                  .knn = spec_datastore(&s.eval, &train)};
    struct datastore right, d;
    char name[512], sha256[HASH_HEX_BYTES];

    memcpy(source.sha256, r.best_sha256, sizeof source.sha256);
    const char *hash = arena_strdup(&f->arena, alone_of(f, &s).datastore_sha256);
    (void)datastores(f, name);
    assert_ok(datastore_open(&right, &o, worker_fixture_path(f, &train, 1, name), hash, &e));
    const char *path = worker_fixture_path(f, &train, 1, "forged");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct err why = {0};
        print_message("%s\n", rows[i].name);
        forge(&rows[i], &right, path, sha256);
        int rc = datastore_open(&d, &o, path, sha256, &why);
        assert_int_equal(rc, rows[i].word ? ERR_DATA : 0);
        if (rows[i].word) {
            assert_non_null(strstr(why.text, rows[i].word));
            assert_non_null(strstr(why.text, path));
            assert_null(d.file);
        }
        datastore_close(&d);
        if (i > 0)
            assert_fails(ERR_DATA, "damaged; delete it", datastore_open(&d, &o, path, hash, &e));
    }
    datastore_close(&right);
    /* Under the right name the wrong file is replaced. */
    char *end = strstr(name, hash);
    const char *wrong =
        arena_printf(&f->arena, "%.*s%s.safetensors", (int)(end - name), name, sha256);
    assert_int_equal(rename(path, worker_fixture_path(f, &train, 1, wrong)), 0);
    assert_int_equal(unlink(worker_fixture_path(f, &train, 1, name)), 0);
    assert_string_equal(alone_of(f, &s).datastore_sha256, hash);
    assert_int_equal(datastores(f, name), 1);
    delete_datastores(f);
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

/* Another worker holds the lock for a moment. */
TEST_WITH(struct worker_fixture *f, a_worker_waits_while_another_one_builds)
{
    const struct spec s = eval_of(3.0, 0.4);
    const char *path = worker_fixture_path(f, &train, 1, RUN_DATASTORE "lock");
    int ready[2];
    char byte;

    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        int fd;
        struct err why = {0};
        if (file_lock(&fd, path, "a test", &why) < 0 || write(ready[1], "x", 1) != 1) _exit(1);
        usleep(300000);
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    (void)alone_of(f, &s);
    int status = -1;
    assert_int_equal(waitpid(child, &status, WNOHANG), child); /* it ended before the evaluation */
    assert_int_equal(status, 0);
    close(ready[0]);
    close(ready[1]);
    delete_datastores(f);
}
