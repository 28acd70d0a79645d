/* test_score.c - every target once, the right context for each, and one pass for many lengths equal
 * bit for bit to a pass for each. The loss on valid against that of the training pass on the same
 * rows, which is computed another way: whole logits, and the quirk as an ignored class. */
#include "harness/test.h"

#include <math.h>
#include <string.h>

#include "data/corpus.h"
#include "model/model.h"
#include "shape/memory.h"
#include "worker/score.h"
#include "worker/worker_fixture.h"

enum { SCORE_LENGTHS = 5, SCORE_TARGETS = 120, SCORE_LONGEST = 40 };

static const int32_t lengths[SCORE_LENGTHS] = {1, 3, 16, 17, SCORE_LONGEST};

struct found {
    float logp[SCORE_LENGTHS][SCORE_TARGETS];
    int32_t times[SCORE_LENGTHS][SCORE_TARGETS];
    int64_t last[SCORE_LENGTHS];
    int32_t only;              /* windows call every length 0 */
    int32_t stride;            /* 0: nonoverlapping */
    const struct tokens *text; /* NULL: one document */
};

/* Where the window of a target begins: L - S before the multiple of S at or below it, or at 0. */
static int32_t begin_of(int32_t target, int32_t L, int32_t stride)
{
    int32_t S = stride && stride < L ? stride : L;
    int32_t begin = target / S * S - (L - S);
    return begin > 0 ? begin : 0;
}

static void keep_score(struct found *s, const struct score *x)
{
    int32_t k = s->only >= 0 ? s->only : x->which;

    assert_in_range(x->target, 0, SCORE_TARGETS - 1);
    assert_true(x->target > s->last[k]); /* stream order */
    int64_t first = 0, end;
    if (s->text) tokens_document(s->text, x->target, &first, &end);
    int32_t at = (int32_t)(x->target - first);
    assert_int_equal(x->at, at - begin_of(at, lengths[k], s->stride));
    s->last[k] = x->target;
    s->times[k][x->target]++;
    s->logp[k][x->target] = x->logp;
}

static void keep_all(struct found *out, const struct score_options *o)
{
    struct scores s;

    scores_open(&s, o);
    while (s.rows_left > 0) {
        assert_ok(scores_next(&s, &e));
        for (int64_t i = 0; i < s.n; i++) keep_score(out, &s.item[i]);
    }
    scores_close(&s);
}

static struct found nothing_found(void)
{
    struct found s = {.only = -1, .stride = 1};

    for (int k = 0; k < SCORE_LENGTHS; k++) s.last[k] = -1;
    return s;
}

static struct model *open_model(const struct worker_fixture *f, const struct spec *s, bool train,
                                int32_t rows)
{
    struct model *m;
    const struct shape_capacity o = {.train = train,
                                     .rows_max = rows,
                                     .length_max = SCORE_LONGEST,
                                     .scored_max = (int64_t)rows * SCORE_LONGEST};
    assert_ok(model_open(&m, f->cpu, s, &o, &e));
    assert_ok(model_init(m, 7, &e));
    return m;
}

static void score_each(struct found *out, struct worker_fixture *f, struct model *m, int32_t rows,
                       int32_t stride_of_all)
{
    const struct tokens *valid = &f->corpus.split[CORPUS_VALID];
    struct score_options o = {.model = m, .rows = rows};

    out->stride = stride_of_all;
    for (int32_t k = 0; k < SCORE_LENGTHS; k++) {
        int32_t stride = stride_of_all && stride_of_all < lengths[k] ? stride_of_all : lengths[k];
        out->only = k;
        assert_ok(
            windows_make(&o.windows, valid, WINDOWS_STRIDE, lengths[k], stride, SCORE_TARGETS, &e));
        keep_all(out, &o);
    }
}

static void assert_each_once(const struct found *s)
{
    for (int k = 0; k < SCORE_LENGTHS; k++)
        for (int t = 0; t < SCORE_TARGETS; t++) assert_int_equal(s->times[k][t], 1);
}

TEST_GROUP(worker_fixture_make, worker_fixture_remove)

TEST_WITH(struct worker_fixture *f, one_pass_for_all_lengths_equals_a_pass_for_each_bit_for_bit)
{
    static const int64_t documents[] = {0, 1, 9, 40};
    struct tokens *valid = &f->corpus.split[CORPUS_VALID];

    for (int i = 0; i < 2 * (SPEC_ALIBI - SPEC_SINUSOIDAL + 1); i++) {
        struct spec s = worker_fixture_spec(f, (enum spec_position)(SPEC_SINUSOIDAL + i / 2));
        s.option.t5_init_std = 0.5;
        valid->document = i % 2 == 0 ? documents : NULL;
        valid->documents_n = sizeof documents / sizeof *documents;
        struct found each = nothing_found(), shared = nothing_found();
        each.text = shared.text = valid;
        struct model *m = open_model(f, &s, false, 7);
        score_each(&each, f, m, 7, 1);
        model_close(m);
        m = open_model(f, &s, false, 4);
        struct score_options o = {.model = m, .rows = 4, .L = lengths, .L_n = SCORE_LENGTHS};
        assert_ok(
            windows_make(&o.windows, valid, WINDOWS_STRIDE, lengths[0], 1, SCORE_TARGETS, &e));
        keep_all(&shared, &o);
        model_close(m);
        assert_each_once(&each);
        assert_each_once(&shared);
        assert_memory_equal(each.logp, shared.logp, sizeof each.logp);
    }
}

TEST_WITH(struct worker_fixture *f, batching_changes_no_score)
{
    const struct spec s = worker_fixture_spec(f, SPEC_ALIBI);
    static const int32_t strides[] = {0, 1, 2, 5, 16};

    for (size_t i = 0; i < sizeof strides / sizeof *strides; i++) {
        struct found alone = nothing_found(), together = nothing_found();
        struct model *m = open_model(f, &s, false, 9);
        score_each(&alone, f, m, 1, strides[i]);
        score_each(&together, f, m, 9, strides[i]);
        model_close(m);
        assert_each_once(&alone);
        assert_memory_equal(alone.logp, together.logp, sizeof alone.logp);
    }
}

/* log p of target t with `context` tokens before the one that predicts it, from a direct call. */
static float direct(struct worker_fixture *f, struct model *m, int64_t t, int32_t context)
{
    int32_t source[SCORE_LONGEST], target[SCORE_LONGEST], first = (int32_t)t - context;
    float logp;

    for (int32_t i = 0; i <= context; i++) {
        if (first + i == 0)
            source[i] = 2;
        else
            tokens_read(&f->corpus.split[CORPUS_VALID], first + i - 1, 1, &source[i]);
        tokens_read(&f->corpus.split[CORPUS_VALID], first + i, 1, &target[i]);
    }
    const struct model_batch batch = {
        .source = source, .target = target, .rows = 1, .length = context + 1};
    assert_ok(model_score(m, &batch, &context, 1, &logp, &e));
    return logp;
}

TEST_WITH(struct worker_fixture *f, each_target_is_scored_with_the_context_of_its_protocol)
{
    const struct spec s = worker_fixture_spec(f, SPEC_ALIBI);
    static const int32_t strides[] = {0, 1, 5};

    for (size_t i = 0; i < sizeof strides / sizeof *strides; i++) {
        struct found got = nothing_found();
        struct model *m = open_model(f, &s, false, 5);
        score_each(&got, f, m, 5, strides[i]);
        for (int32_t k = 0; k < SCORE_LENGTHS; k++) {
            for (int32_t t = 0; t < SCORE_TARGETS; t++) {
                float expected = direct(f, m, t, t - begin_of(t, lengths[k], strides[i]));
                assert_memory_equal(&got.logp[k][t], &expected, sizeof expected);
            }
        }
        model_close(m);
    }
}

static int stop_at_second(void *context, struct err *e)
{
    return ++*(int *)context == 2 ? ERR(e, ERR_INTERRUPTED, "stop") : 0;
}

TEST_WITH(struct worker_fixture *f, a_tick_ends_a_validation_between_two_batches)
{
    const struct spec s = worker_fixture_spec(f, SPEC_ALIBI);
    struct model *m = open_model(f, &s, false, 4);
    const struct score_options o = {
        .model = m, .windows.tokens = &f->corpus.split[CORPUS_VALID], .rows = 4};
    double loss;
    int ticks = 0;

    assert_fails(ERR_INTERRUPTED, "stop", validate_loss(&o, &s, stop_at_second, &ticks, &loss, &e));
    assert_int_equal(ticks, 2);
    model_close(m);
}

/* --- validation ----------------------------------------------------------------------------- */

static double training_loss(struct worker_fixture *f, struct model *m, const struct spec *s)
{
    struct windows w;
    struct window window;
    const struct tokens *valid = &f->corpus.split[CORPUS_VALID];
    double sum = 0.0;
    int32_t source[64], target[64];

    assert_ok(windows_make(&w, valid, WINDOWS_STRIDE, s->train.L, s->train.L, 0, &e));
    while (windows_next(&w, &window)) {
        double loss = 0.0;
        tokens_read_row(valid, window.first, window.length, window.length, source, target);
        const struct model_batch batch = {
            .source = source, .target = target, .rows = 1, .length = window.length};
        assert_ok(model_train_batch(m, &batch, 0, 0, &loss, &e));
        sum += loss;
    }
    return sum / (double)valid->n;
}

static double validation_loss(struct worker_fixture *f, bool quirk, double *expected)
{
    struct spec s = worker_fixture_spec(f, SPEC_ALIBI);
    double loss;

    s.model.dropout = s.model.dropout_attention = 0.0;
    s.train.tail_quirk = quirk;
    struct model *m = open_model(f, &s, true, 4);
    *expected = training_loss(f, m, &s);
    const struct score_options o = {
        .model = m, .windows.tokens = &f->corpus.split[CORPUS_VALID], .rows = 4};
    assert_ok(validate_loss(&o, &s, NULL, NULL, &loss, &e));
    model_close(m);
    return loss;
}

TEST_WITH(struct worker_fixture *f, validation_is_the_mean_loss_of_every_target)
{
    double expected = 0.0;
    double loss = validation_loss(f, false, &expected);
    assert_true(fabs(loss - expected) < 1e-5);
}

TEST_WITH(struct worker_fixture *f, with_the_quirk_class_1_of_a_tail_counts_its_cluster_only)
{
    double expected = 0.0, without = 0.0;
    double loss = validation_loss(f, true, &expected);
    assert_true(fabs(loss - expected) < 1e-5);
    /* The case would prove nothing if no such word occurred. */
    assert_true(loss < validation_loss(f, false, &without) - 1e-3);
}

/* Longer than training rows, longer than a whole shard, shorter than training rows. */
TEST_WITH(struct worker_fixture *f, blocks_of_any_length_give_the_loss_of_an_evaluation)
{
    struct spec train = worker_fixture_spec(f, SPEC_ALIBI);
    const int32_t blocks[] = {2 * train.train.L, train.train.shard_tokens + 5,
                              train.train.L / 2 + 1};

    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        train.train.validate_L = blocks[i];
        worker_fixture_must_run(f, &train, 1);
        struct spec eval = worker_fixture_eval(&train, blocks[i], 0);
        eval.eval.checkpoint = SPEC_LAST;
        worker_fixture_must_run(f, &eval, 1);
        double validated =
            worker_fixture_record(f, &train, 1, EVENT_VALIDATION, -1).validation.loss_nats;
        double evaluated =
            worker_fixture_record(f, &eval, 1, EVENT_EVALUATED, -1).evaluated.loss_nats;
        assert_true(fabs(validated - evaluated) <= 1e-9 * evaluated);
    }
}

TEST_WITH(struct worker_fixture *f, the_length_of_validations_changes_no_number_of_the_training)
{
    struct spec plain = worker_fixture_spec(f, SPEC_ALIBI), other = plain;
    char plain_id[SPEC_ID_BYTES], other_id[SPEC_ID_BYTES];

    other.train.validate_L = 3 * plain.train.L;
    spec_run_id(&plain, plain_id);
    spec_run_id(&other, other_id);
    assert_string_not_equal(plain_id, other_id);
    assert_true(worker_fixture_unbroken(f, &plain).final_loss_nats ==
                worker_fixture_unbroken(f, &other).final_loss_nats);
}

TEST_WITH(struct worker_fixture *f, a_validation_length_of_0_is_not_part_of_the_identity)
{
    struct spec s = worker_fixture_spec(f, SPEC_ALIBI);

    assert_null(strstr(spec_canonical(&s, &f->arena), "validate_L"));
    s.train.validate_L = s.train.L;
    assert_non_null(strstr(spec_canonical(&s, &f->arena), "train.validate_L="));
}
