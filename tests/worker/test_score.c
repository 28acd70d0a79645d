/* test_score.c - every target once, the right context for each, and one pass for many lengths equal
 * bit for bit to a pass for each. */
#include "harness/test.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "worker/worker_fixture.h"
#include "worker/worker_internal.h"

enum { SCORE_LENGTHS = 5, SCORE_TARGETS = 120, SCORE_LONGEST = 40 };

static const int32_t lengths[SCORE_LENGTHS] = {1, 3, 16, 17, SCORE_LONGEST};

struct scores {
    float logp[SCORE_LENGTHS][SCORE_TARGETS];
    int32_t times[SCORE_LENGTHS][SCORE_TARGETS];
    int64_t last[SCORE_LENGTHS];
    int32_t only;   /* score_windows calls every length 0 */
    int32_t stride; /* 0: nonoverlapping */
};

/* Where the window of a target begins: L - S before the multiple of S at or below it, or at 0. */
static int32_t begin_of(int32_t target, int32_t L, int32_t stride)
{
    int32_t S = stride && stride < L ? stride : L;
    int32_t begin = target / S * S - (L - S);
    return begin > 0 ? begin : 0;
}

static void keep(void *context, int32_t which, int64_t target, int32_t at, float logp)
{
    struct scores *s = context;
    int32_t k = s->only >= 0 ? s->only : which;

    assert_in_range(target, 0, SCORE_TARGETS - 1);
    assert_true(target > s->last[k]); /* stream order */
    assert_int_equal(at, target - begin_of((int32_t)target, lengths[k], s->stride));
    s->last[k] = target;
    s->times[k][target]++;
    s->logp[k][target] = logp;
}

static struct scores *scores_make(void)
{
    struct scores *s = calloc(1, sizeof *s);
    assert_non_null(s);
    for (int k = 0; k < SCORE_LENGTHS; k++) s->last[k] = -1;
    s->only = -1;
    s->stride = 1;
    return s;
}

static struct model *open_model(const struct worker_fixture *f, const struct spec *s, int32_t rows)
{
    struct err e = {0};
    struct model *m = NULL;
    const struct model_options o = {
        .rows_max = rows, .length_max = SCORE_LONGEST, .scored_max = (int64_t)rows * SCORE_LONGEST};
    if (model_open(&m, f->cpu, s, &o, &e) < 0 || model_init(m, 7, &e) < 0) fail_msg("%s", e.text);
    return m;
}

static void score_each(struct scores *out, struct worker_fixture *f, struct model *m, int32_t rows,
                       int32_t stride_of_all)
{
    struct err e = {0};
    const struct score_pass pass = {.model = m,
                                    .tokens = &f->corpus.split[CORPUS_VALID],
                                    .rows = rows,
                                    .sink = keep,
                                    .sink_context = out};
    out->stride = stride_of_all;
    for (int32_t k = 0; k < SCORE_LENGTHS; k++) {
        struct windows w;
        int32_t stride = stride_of_all && stride_of_all < lengths[k] ? stride_of_all : lengths[k];
        out->only = k;
        assert_int_equal(windows_make(&w, pass.tokens->n, lengths[k], stride, SCORE_TARGETS, &e),
                         0);
        if (score_windows(&pass, &w, &e) < 0) fail_msg("%s", e.text);
    }
}

static void assert_each_once(const struct scores *s)
{
    for (int k = 0; k < SCORE_LENGTHS; k++)
        for (int t = 0; t < SCORE_TARGETS; t++) assert_int_equal(s->times[k][t], 1);
}

TEST_GROUP(worker_fixture_make, worker_fixture_remove)

TEST_WITH(struct worker_fixture *f, one_pass_for_all_lengths_equals_a_pass_for_each_bit_for_bit)
{
    for (int p = SPEC_SINUSOIDAL; p <= SPEC_ALIBI; p++) {
        struct spec s = worker_fixture_spec(f, (enum spec_position)p);
        s.option.t5_init_std = 0.5;
        struct scores *each = scores_make(), *shared = scores_make();
        struct model *m = open_model(f, &s, 7);
        score_each(each, f, m, 7, 1);
        model_close(m);
        m = open_model(f, &s, 4);
        const struct score_pass pass = {.model = m,
                                        .tokens = &f->corpus.split[CORPUS_VALID],
                                        .rows = 4,
                                        .sink = keep,
                                        .sink_context = shared};
        if (score_prefixes(&pass, SCORE_TARGETS, lengths, SCORE_LENGTHS, &e) < 0)
            fail_msg("%s", e.text);
        model_close(m);
        assert_each_once(each);
        assert_each_once(shared);
        assert_memory_equal(each->logp, shared->logp, sizeof each->logp);
        free(each);
        free(shared);
    }
}

TEST_WITH(struct worker_fixture *f, batching_changes_no_score)
{
    const struct spec s = worker_fixture_spec(f, SPEC_ALIBI);
    static const int32_t strides[] = {0, 1, 2, 5, 16};

    for (size_t i = 0; i < sizeof strides / sizeof *strides; i++) {
        struct scores *alone = scores_make(), *together = scores_make();
        struct model *m = open_model(f, &s, 9);
        score_each(alone, f, m, 1, strides[i]);
        score_each(together, f, m, 9, strides[i]);
        model_close(m);
        assert_each_once(alone);
        assert_memory_equal(alone->logp, together->logp, sizeof alone->logp);
        free(alone);
        free(together);
    }
}

/* log p of target t with `context` tokens before the one that predicts it, from a direct call. */
static float direct(struct worker_fixture *f, struct model *m, int64_t t, int32_t context)
{
    struct err e = {0};
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
    assert_int_equal(model_score(m, &batch, &context, 1, &logp, &e), 0);
    return logp;
}

TEST_WITH(struct worker_fixture *f, each_target_is_scored_with_the_context_of_its_protocol)
{
    const struct spec s = worker_fixture_spec(f, SPEC_ALIBI);
    static const int32_t strides[] = {0, 1, 5};

    for (size_t i = 0; i < sizeof strides / sizeof *strides; i++) {
        struct scores *got = scores_make();
        struct model *m = open_model(f, &s, 5);
        score_each(got, f, m, 5, strides[i]);
        for (int32_t k = 0; k < SCORE_LENGTHS; k++) {
            for (int32_t t = 0; t < SCORE_TARGETS; t++) {
                float expected = direct(f, m, t, t - begin_of(t, lengths[k], strides[i]));
                assert_memory_equal(&got->logp[k][t], &expected, sizeof expected);
            }
        }
        model_close(m);
        free(got);
    }
}

static int stop_at_once(void *context, int64_t rows_done, int64_t rows_n, struct err *e)
{
    assert_true(rows_n == SCORE_TARGETS);
    if (rows_done == 0) return 0;
    (*(int *)context)++;
    return ERR(e, ERR_INTERRUPTED, "stop");
}

static void ignore(void *context, int32_t which, int64_t target, int32_t at, float logp)
{
    (void)context;
    (void)which;
    (void)target;
    (void)at;
    (void)logp;
}

TEST_WITH(struct worker_fixture *f, a_tick_ends_a_pass_between_two_batches)
{
    const struct spec s = worker_fixture_spec(f, SPEC_ALIBI);
    struct windows w;
    int ticks = 0;

    struct model *m = open_model(f, &s, 4);
    const struct score_pass pass = {.model = m,
                                    .tokens = &f->corpus.split[CORPUS_VALID],
                                    .rows = 4,
                                    .sink = ignore,
                                    .tick = stop_at_once,
                                    .tick_context = &ticks};
    assert_int_equal(windows_make(&w, pass.tokens->n, 8, 1, SCORE_TARGETS, &e), 0);
    assert_int_equal(score_windows(&pass, &w, &e), ERR_INTERRUPTED);
    assert_int_equal(ticks, 1);
    model_close(m);
}
