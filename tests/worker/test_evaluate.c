/* test_evaluate.c - evaluations of a trained checkpoint: groups, protocols, errors. */
#include "harness/test.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/windows.h"
#include "interchange/interchange.h"
#include "model/model.h"
#include "worker/weights.h"
#include "worker/worker_fixture.h"

enum { POSITION_TARGETS = 100 };

static struct spec train; /* done, in every case */

static int make_trained(void **state)
{
    worker_fixture_make_classes(state);
    train = worker_fixture_spec(*state, SPEC_ALIBI);
    worker_fixture_must_run(*state, &train, 1);
    return 0;
}

/* The record of spec i of a group whose folder is that of spec 0. */
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

static void run_group(struct worker_fixture *f, const struct spec *specs, int32_t n)
{
    assert_ok(worker_fixture_run(f, specs, n, 1, NULL, &e));
    assert_int_equal(worker_fixture_count(f, specs, 1, EVENT_EVALUATED), n);
}

static struct record_evaluated alone_of(struct worker_fixture *f, const struct spec *s)
{
    run_group(f, s, 1);
    const struct record_evaluated r = record_of(f, s, 0, 1);
    assert_true(r.perplexity == exp(r.loss_nats));
    assert_true(r.eval_wps > 0.0);
    worker_fixture_forget(f, s);
    return r;
}

static double loss_alone(struct worker_fixture *f, const struct spec *s)
{
    return alone_of(f, s).loss_nats;
}

static void assert_same_bins(const struct record_bins *a, const struct record_bins *b)
{
    const struct record_value x = {.kind = RECORD_BINS, .known = true, .bins = a},
                              y = {.kind = RECORD_BINS, .known = true, .bins = b};
    assert_true(a->n > 0 && record_equal(&x, &y));
}

TEST_GROUP(make_trained, worker_fixture_remove)

TEST_WITH(struct worker_fixture *f, a_group_gives_each_evaluation_the_numbers_it_has_alone)
{
    struct spec group[6];
    struct record_evaluated alone[6];
    static const struct {
        int32_t L, stride;
    } protocols[6] = {{24, 1}, {16, 0}, {3, 1}, {32, 0}, {16, 1}, {16, 4}};

    for (int i = 0; i < 6; i++) {
        group[i] = worker_fixture_eval(&train, protocols[i].L, protocols[i].stride);
        alone[i] = alone_of(f, &group[i]);
    }
    run_group(f, group, 6);
    for (int i = 0; i < 6; i++) {
        const struct record_evaluated r = record_of(f, group, i, 6);
        assert_true(r.loss_nats == alone[i].loss_nats);
        assert_same_bins(&r.bins, &alone[i].bins);
        assert_same_bins(&r.blocks, &alone[i].blocks);
        assert_same_bins(&r.groups, &alone[i].groups);
        assert_int_equal(r.tokens, f->corpus.split[CORPUS_VALID].n);
        assert_int_equal(r.nonfinite, 0);
        assert_int_equal(isnan(r.eval_wps), protocols[i].stride == 1); /* a shared pass */
        assert_true(r.peak_memory_bytes > 0);
    }
    worker_fixture_forget(f, group);
}

/* -log p of target t as the last of at + 1 tokens, with the softmax in double, and whether it is
 * the most probable word. */
static double nll_of(struct worker_fixture *f, struct model *m, int64_t t, int32_t at, bool *hit)
{
    int32_t source[POSITION_TARGETS], target[POSITION_TARGETS], best = 0;
    float logp[64];

    tokens_read_row(&f->corpus.split[CORPUS_VALID], t - at, at + 1, at + 1, source, target);
    const struct model_batch batch = {
        .source = source, .target = target, .rows = 1, .length = at + 1};
    assert_ok(model_distribution(m, &batch, at, logp, &e));
    for (int32_t w = 1; w < f->corpus.vocab; w++)
        if (logp[w] > logp[best]) best = w;
    *hit = best == target[at];
    return -(double)logp[target[at]];
}

static struct model *open_trained(struct worker_fixture *f, const struct spec *of)
{
    const struct shape_capacity o = {
        .rows_max = 1, .length_max = POSITION_TARGETS, .scored_max = 1};
    const struct record_trained r = worker_fixture_trained(f, of, 1);
    const char *path = worker_fixture_path(f, of, 1, r.best_checkpoint);
    struct safetensors *weights = NULL;
    char id[SPEC_ID_BYTES];
    struct model *m = NULL;

    spec_run_id(of, id);
    assert_ok(checkpoint_open(&weights, NULL, path, r.best_sha256, id, &e));
    assert_ok(model_open(&m, f->cpu, of, &o, &e));
    assert_ok(weights_load(m, 0, weights, path, &e));
    safetensors_close(weights);
    return m;
}

/* Sums over [0, POSITION_TARGETS) from the definition of the protocol. */
struct expected {
    double nll[POSITION_TARGETS];
    bool hit[POSITION_TARGETS];
    int32_t at[POSITION_TARGETS]; /* position in the window */
};

static struct expected expected_of(struct worker_fixture *f, struct model *m, const struct spec *s)
{
    int32_t L = s->eval.L, S = s->eval.stride ? s->eval.stride : L;
    struct expected x;

    for (int32_t t = 0; t < POSITION_TARGETS; t++) {
        int32_t begin = t / S * S - (L - S);
        x.at[t] = t - (begin > 0 ? begin : 0);
        x.nll[t] = nll_of(f, m, t, x.at[t], &x.hit[t]);
    }
    return x;
}

/* A bin of a record against the targets that `number` puts in [first, last]. */
static void check_bin(const struct record_bin *b, const struct expected *x,
                      int64_t (*number)(const struct expected *x, int32_t t))
{
    int64_t targets_n = 0, hits_n = 0;
    double nll = 0.0;

    for (int32_t t = 0; t < POSITION_TARGETS; t++) {
        if (number(x, t) < b->first || number(x, t) > b->last) continue;
        targets_n++;
        hits_n += x->hit[t];
        nll += x->nll[t];
    }
    assert_int_equal(b->targets, targets_n);
    /* Scores are floats of shares that were rounded: some ulp of a loss below 8 nats. */
    assert_true(fabs(b->nll - nll) <= (double)targets_n * 8 * 8 * 0x1p-24);
    assert_true(b->hits == (b->name ? hits_n : RECORD_NONE));
}

static int64_t position_number(const struct expected *x, int32_t t)
{
    return x->at[t] + 1;
}

static int64_t part_number(const struct expected *x, int32_t t)
{
    (void)x;
    return t + 1;
}

static int64_t class_number(const struct expected *x, int32_t t)
{
    (void)x;
    return t % 3 == 2;
}

/* The sums of a record add up to the evaluation. */
static void check_sum(const struct record_evaluated *r, const struct record_bins *bins)
{
    double sum = 0.0, total = r->loss_nats * (double)r->tokens;
    int64_t targets_n = 0;

    for (int32_t k = 0; k < bins->n; k++) {
        sum += bins->bin[k].nll;
        targets_n += bins->bin[k].targets;
    }
    assert_int_equal(targets_n, r->tokens);
    /* The same numbers in another order: each addition rounds by at most 2^-53 of the sum. */
    assert_true(fabs(sum - total) <= 2 * POSITION_TARGETS * 0x1p-53 * total);
}

static void check_positions(const struct record_evaluated *r, const struct expected *x, int32_t L)
{
    int32_t from = 0;

    for (int32_t k = 0; k < r->bins.n; k++) {
        int32_t first = (int32_t)r->bins.bin[k].first, last = (int32_t)r->bins.bin[k].last;
        assert_int_equal(first, from + 1);
        /* one, one, two, two, four, four … positions after the first two */
        int32_t width = 1;
        while (3 * width + 2 <= first) width *= 2;
        assert_int_equal(last, fmin(L, from + (first < 3 ? 1 : width)));
        check_bin(&r->bins.bin[k], x, position_number);
        from = last;
    }
    assert_true(from >= fmin(L, POSITION_TARGETS));
}

/* 64 parts of one or two targets; two classes, and a third one without targets. */
static void check_parts_and_classes(const struct record_evaluated *r, const struct expected *x)
{
    int64_t from = 0;

    assert_int_equal(r->blocks.n, 64);
    for (int32_t k = 0; k < r->blocks.n; k++) {
        const struct record_bin *b = &r->blocks.bin[k];
        assert_int_equal(b->first, from + 1);
        assert_in_range(b->targets, 1, 2);
        check_bin(b, x, part_number);
        from = b->last;
    }
    assert_int_equal(r->groups.n, 2);
    assert_string_equal(r->groups.bin[0].name, "two");
    assert_string_equal(r->groups.bin[1].name, "third");
    for (int32_t k = 0; k < r->groups.n; k++) check_bin(&r->groups.bin[k], x, class_number);
}

TEST_WITH(struct worker_fixture *f, losses_and_hits_by_class_are_those_of_the_definition)
{
    static const struct {
        int32_t L, stride;
    } protocols[] = {{1, 0}, {2, 0}, {16, 0}, {16, 1}, {16, 4}, {33, 7}, {90, 50}, {200, 0}};
    struct model *m = open_trained(f, &train);

    for (size_t i = 0; i < sizeof protocols / sizeof *protocols; i++) {
        struct spec s = worker_fixture_eval(&train, protocols[i].L, protocols[i].stride);
        s.eval.targets = POSITION_TARGETS;
        run_group(f, &s, 1);
        const struct record_evaluated r = record_of(f, &s, 0, 1);
        const struct expected x = expected_of(f, m, &s);
        check_positions(&r, &x, s.eval.L);
        check_parts_and_classes(&r, &x);
        check_sum(&r, &r.bins);
        check_sum(&r, &r.blocks);
        check_sum(&r, &r.groups);
        worker_fixture_forget(f, &s);
    }
    model_close(m);
}

/* With slopes that depend on the window's length, a window is not a prefix of a longer row. */
TEST_WITH(struct worker_fixture *f, scores_that_follow_the_window_do_not_share_passes)
{
    struct spec group[3];
    double alone[3], plain = 0.0;

    for (int i = 0; i < 3; i++) {
        group[i] = worker_fixture_eval(&train, 40 + 40 * i, 1);
        group[i].eval.targets = 100;
        if (i == 2) plain = loss_alone(f, &group[i]);
        group[i].eval.scaling = POSITION_SLOPES;
        alone[i] = loss_alone(f, &group[i]);
    }
    assert_true(alone[2] != plain);
    run_group(f, group, 3);
    for (int i = 0; i < 3; i++) assert_true(record_of(f, group, i, 3).loss_nats == alone[i]);
    worker_fixture_forget(f, group);
}

/* Slopes are powers of two and bf16 has every number up to 256, so that in rows of 200 tokens no
 * form rounds anything; in rows of 300 the keys from 257 on are rounded. */
TEST_WITH(struct worker_fixture *f, a_bias_changes_the_loss_only_where_it_is_rounded)
{
    static const struct {
        enum position_alibi_bias bias;
        enum position_format format;
        int32_t L;
        bool changes;
    } rows[] = {{POSITION_OF_DISTANCE, POSITION_BF16, 200, false},
                {POSITION_OF_DISTANCE, POSITION_FP16, 300, false},
                {POSITION_OF_KEY, POSITION_FP32, 300, false},
                {POSITION_OF_KEY, POSITION_BF16, 200, false},
                {POSITION_OF_KEY, POSITION_FP16, 300, false},
                {POSITION_OF_KEY, POSITION_BF16, 300, true}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct spec s = worker_fixture_eval(&train, rows[i].L, 0);
        double plain = loss_alone(f, &s);
        s.eval.alibi_bias = rows[i].bias;
        s.eval.alibi_format = rows[i].format;
        double difference = fabs(loss_alone(f, &s) - plain);
        if (rows[i].changes ? difference < 1e-5 : difference > 1e-6)
            fail_msg("row %zu: %g differs from %g by %g", i, loss_alone(f, &s), plain, difference);
    }
}

TEST_WITH(struct worker_fixture *f, temperatures_do_not_share_passes)
{
    struct spec group[3];
    double alone[3];

    for (int i = 0; i < 3; i++) {
        group[i] = worker_fixture_eval(&train, 40 + 40 * (i / 2), 1);
        group[i].eval.targets = 100;
        if (i > 0) group[i].eval.temperature = SPEC_EVAL_LOG;
        group[i].eval.temperature_length = i == 1 ? 4 : 16;
        alone[i] = loss_alone(f, &group[i]);
    }
    assert_true(alone[0] != alone[1]);
    run_group(f, group, 3);
    for (int i = 0; i < 3; i++) assert_true(record_of(f, group, i, 3).loss_nats == alone[i]);
    worker_fixture_forget(f, group);
}

TEST_WITH(struct worker_fixture *f, a_stride_of_the_whole_window_is_nonoverlapping)
{
    const struct spec blocks = worker_fixture_eval(&train, 16, 0);
    const struct spec sliding = worker_fixture_eval(&train, 16, 16);
    assert_true(loss_alone(f, &blocks) == loss_alone(f, &sliding));
}

TEST_WITH(struct worker_fixture *f,
          validation_in_training_is_the_nonoverlapping_evaluation_of_the_best)
{
    const struct spec s = worker_fixture_eval(&train, train.train.L, 0);
    double best = INFINITY;

    for (int32_t i = 0; i < 2; i++)
        best = fmin(best,
                    worker_fixture_record(f, &train, 1, EVENT_VALIDATION, i).validation.loss_nats);
    assert_true(loss_alone(f, &s) == best);
}

TEST_WITH(struct worker_fixture *f, a_limit_of_targets_is_the_number_scored)
{
    struct spec group[3] = {worker_fixture_eval(&train, 16, 0), worker_fixture_eval(&train, 16, 1),
                            worker_fixture_eval(&train, 200, 1)};

    for (int i = 0; i < 3; i++) group[i].eval.targets = 100;
    run_group(f, group, 3);
    for (int i = 0; i < 3; i++) assert_int_equal(record_of(f, group, i, 3).tokens, 100);
    worker_fixture_forget(f, group);
}

TEST_WITH(struct worker_fixture *f, the_test_split_is_another_text)
{
    struct spec s = worker_fixture_eval(&train, 16, 0);
    double valid = loss_alone(f, &s);
    s.eval.split = SPEC_TEST;
    assert_true(loss_alone(f, &s) != valid);
}

TEST_WITH(struct worker_fixture *f, a_training_that_is_not_done_cannot_be_evaluated)
{
    struct spec other = train;

    other.train.seed = 5;
    const struct spec s = worker_fixture_eval(&other, 16, 0);
    worker_fixture_must_fail(f, &s, 1, ERR_NOINPUT, "not run in this project");
    worker_fixture_must_stop(f, &other, 1, 3, 0.0);
    worker_fixture_must_fail(f, &s, 1, ERR_NOINPUT, "no finished attempt");
    worker_fixture_forget(f, &other);
}

/* A power failure may lose the last record of a training that is done in results.db. */
TEST_WITH(struct worker_fixture *f, a_training_whose_last_record_is_torn_off_can_be_evaluated)
{
    struct spec other = train;
    struct stat st;

    other.train.seed = 5;
    worker_fixture_must_run(f, &other, 1);
    const struct spec s = worker_fixture_eval(&other, 16, 0);
    double loss = loss_alone(f, &s);
    const char *path = worker_fixture_path(f, &other, 1, "events");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(truncate(path, st.st_size - 20), 0);
    assert_int_equal(worker_fixture_count(f, &other, 1, EVENT_ENDED), 0);
    assert_true(loss_alone(f, &s) == loss);
    worker_fixture_forget(f, &other);
}

TEST_WITH(struct worker_fixture *f, evaluations_of_two_trainings_do_not_share_a_worker)
{
    struct spec other = train;
    other.train.seed = 5;
    const struct spec group[2] = {worker_fixture_eval(&train, 16, 0),
                                  worker_fixture_eval(&other, 16, 0)};
    worker_fixture_must_fail(f, group, 2, ERR_DATA, "differ in training");
    const struct spec mixed[2] = {worker_fixture_eval(&train, 16, 0), train};
    worker_fixture_must_fail(f, mixed, 2, ERR_DATA, "only evaluations");
}

TEST_WITH(struct worker_fixture *f, a_damaged_checkpoint_is_rejected)
{
    const struct spec s = worker_fixture_eval(&train, 16, 0);
    const char *path =
        worker_fixture_path(f, &train, 1, worker_fixture_trained(f, &train, 1).best_checkpoint);

    worker_fixture_flip(path, 1);
    worker_fixture_must_fail(f, &s, 1, ERR_DATA, "damaged");
    worker_fixture_flip(path, 1);
    (void)loss_alone(f, &s);
}

TEST_WITH(struct worker_fixture *f, a_signal_ends_an_evaluation_as_cancelled)
{
    const struct spec s = worker_fixture_eval(&train, 16, 1);

    worker_fixture_must_cancel(f, &s, 1, SIGINT);
    worker_fixture_forget(f, &s);
}

/* --- a text that a tokenizer cut --- */

enum { DOCUMENTS_N = 3 };

/* Makes the corpus one of a tokenizer with the same ids, whose documents begin at these tokens of
 * valid. The test split is empty. */
static void cut_corpus(struct worker_fixture *f, const int64_t document[DOCUMENTS_N])
{
    const char *dir = arena_printf(&f->arena, "%s/data/tiny", f->root);
    const char *manifest = arena_printf(&f->arena, "%s/manifest.yaml", dir);
    const int64_t all = 0;
    struct manifest m;

    assert_ok(manifest_read(&m, &f->arena, manifest, &e));
    m.classes = NULL;
    m.tokenizer = "small";
    m.prefix = 7;
    for (int i = 0; i < CORPUS_SPLITS_N; i++) {
        bool valid = i == CORPUS_VALID;
        const char *path = arena_printf(&f->arena, "%s/%s.documents", dir,
                                        corpus_split_name((enum corpus_split)i));
        assert_ok(file_write_atomic(path, valid ? document : &all,
                                    sizeof all * (valid ? DOCUMENTS_N : 1), &e));
        assert_ok(hash_file(m.documents_sha256[i], path, &e));
        m.text[i] = (struct corpus_text){4000 + i, 700 + i, valid ? DOCUMENTS_N : 1};
    }
    manifest_fingerprint(m.fingerprint, &m);
    assert_ok(manifest_write(&m, manifest, &e));
    corpus_close(&f->corpus);
    assert_ok(corpus_open(&f->corpus, &f->project, "tiny", &e));
}

/* The loss of one text after another, each in rolling windows: SPEC.md section 8. */
static double rolling_nll(struct worker_fixture *f, struct model *m, int32_t L)
{
    const struct tokens *valid = &f->corpus.split[CORPUS_VALID];
    double nll = 0.0;
    bool hit;

    for (int32_t d = 0; d < DOCUMENTS_N; d++) {
        int64_t first = valid->document[d],
                end = d + 1 < DOCUMENTS_N ? valid->document[d + 1] : valid->n;
        int64_t n = end - first, scored = n < L ? n : L;
        for (int64_t t = 0; t < scored; t++) nll += nll_of(f, m, first + t, (int32_t)t, &hit);
        for (int64_t from = scored; from < n; from = scored) {
            scored = from + L < n ? from + L : n;
            for (int64_t t = from; t < scored; t++)
                nll += nll_of(f, m, first + t, (int32_t)(t - (scored - L)), &hit);
        }
    }
    return nll;
}

TEST_WITH(struct worker_fixture *f, documents_are_scored_apart_with_the_bytes_and_words_of_the_text)
{
    static const int64_t document[DOCUMENTS_N] = {0, 1, 38};
    static const int32_t lengths[] = {1, 16, 50, 90};
    struct spec other = train;

    other.train.seed = 5;
    *other.data.fingerprint = '\0'; /* not stated: the ids remain, but the corpus changes */
    worker_fixture_must_run(f, &other, 1);
    struct model *m = open_trained(f, &other);

    const struct spec plain = worker_fixture_eval(&other, 16, 0);
    const struct record_evaluated words = alone_of(f, &plain);
    assert_true(words.bytes == RECORD_NONE && words.words == RECORD_NONE);
    assert_null(words.tokenizer_sha256);
    cut_corpus(f, document);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        struct spec s = worker_fixture_eval(&other, lengths[i], 0);
        s.eval.window = SPEC_ROLLING;
        run_group(f, &s, 1);
        const struct record_evaluated r = record_of(f, &s, 0, 1);
        double nll = rolling_nll(f, m, s.eval.L);
        assert_int_equal(r.tokens, f->corpus.split[CORPUS_VALID].n);
        assert_true(fabs(r.loss_nats * (double)r.tokens - nll) <=
                    (double)r.tokens * 8 * 8 * 0x1p-24);
        assert_int_equal(r.bytes, 4001);
        assert_int_equal(r.words, 701);
        assert_int_equal(r.documents, DOCUMENTS_N);
        assert_string_equal(r.tokenizer, "small");
        assert_string_equal(r.tokenizer_sha256, f->corpus.tokenizer_sha256);
        assert_int_equal(r.groups.n, 0);
        check_sum(&r, &r.bins);
        check_sum(&r, &r.blocks);
        worker_fixture_forget(f, &s);
    }
    struct spec part = worker_fixture_eval(&other, 16, 1);
    part.eval.targets = 50; /* only a part of the text */
    run_group(f, &part, 1);
    const struct record_evaluated r = record_of(f, &part, 0, 1);
    assert_true(r.bytes == RECORD_NONE && r.words == RECORD_NONE && r.documents == RECORD_NONE);
    worker_fixture_forget(f, &part);
    struct spec heads =
        worker_fixture_eval(&other, 38, 0); /* only the last document has rows of 38 */
    heads.eval.attention_rows = (int32_t)(f->corpus.split[CORPUS_VALID].n / 38);
    worker_fixture_must_fail(f, &heads, 1, ERR_DATA, "eval.attention_rows");
    worker_fixture_forget(f, &other);
    worker_fixture_must_fail(f, &other, 1, ERR_UNAVAILABLE, "only imported models read");
    model_close(m);
}
