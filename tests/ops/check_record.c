/* check_record.c - work captured and launched as a graph, on the backends named on the command
 * line.
 *
 *   check_record DEVICE… */
#include "harness/test.h"

#include <stdio.h>
#include <string.h>

#include "base/philox.h"
#include "ops/ops.h"
#include "worker/worker_internal.h"

enum { N = 12, C = 40 };

static const char *device; /* of the running group */

static void ok(int rc, const struct err *e)
{
    if (rc < 0) fail_msg("%s", e->text);
}

/* A backend and some memory on it. */
struct fixture {
    struct backend *b;
    struct tensor x, y; /* (N,C) */
    float *theta_dev, *momentum_dev;
    double *squares_dev;
    struct step_state *step_dev;
    float ones[N * C];
};

static void *memory_of(struct backend *b, size_t bytes)
{
    struct err e = {0};
    void *p = NULL;
    ok(b->ops->alloc(b, &p, bytes, &e), &e);
    ok(b->ops->zero(b, p, bytes, &e), &e);
    return p;
}

static void open_fixture(struct fixture *d)
{
    struct err e = {0};
    struct backend *b = NULL;
    ok(backend_open(&b, device, 1, DTYPE_F32, &e), &e);
    assert_non_null(b->ops->graph_begin);
    d->b = b;
    d->x = tensor_make(memory_of(b, sizeof d->ones), N, C, DTYPE_F32);
    d->y = tensor_make(memory_of(b, sizeof d->ones), N, C, DTYPE_F32);
    d->theta_dev = memory_of(b, sizeof d->ones);
    d->momentum_dev = memory_of(b, sizeof d->ones);
    d->squares_dev = memory_of(b, sizeof *d->squares_dev);
    d->step_dev = memory_of(b, sizeof *d->step_dev);
    for (int i = 0; i < N * C; i++) d->ones[i] = 1.0f;
    ok(b->ops->upload(b, d->x.data, d->ones, sizeof d->ones, &e), &e);
}

static void close_fixture(struct fixture *d)
{
    void *all[] = {d->x.data,       d->y.data,      d->theta_dev,
                   d->momentum_dev, d->squares_dev, d->step_dev};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) d->b->ops->release(d->b, all[i]);
    backend_close(d->b);
}

static const struct dropout site = {.p = 0.3f, .key = 77, .stream = 9, .first_row = 2, .span = 5};

/* y = dropout(x); theta and momentum a step of gradient x. */
static void step(struct fixture *d)
{
    struct err e = {0};
    struct dropout at = site;
    at.step_dev = d->step_dev;
    ok(ops_dropout(d->b, &d->y, &d->x, &at, &e), &e);
    ok(ops_sum_squares(d->b, d->squares_dev, d->x.data, N * C, &e), &e);
    ok(ops_nag(d->b,
               &(struct nag_args){.theta_dev = d->theta_dev,
                                  .momentum_dev = d->momentum_dev,
                                  .grad_dev = d->x.data,
                                  .n = N * C,
                                  .mu = 0.0f,
                                  .weight_decay = 0.0f,
                                  .squares_dev = d->squares_dev,
                                  .step_dev = d->step_dev},
               &e),
       &e);
}

static void check_step(struct fixture *d, const struct step_state *s, float theta)
{
    struct err e = {0};
    float y[N * C], weight = 0.0f;
    uint32_t below = philox_keep_below(site.p);
    int64_t from = site.first_row + site.span * s->first_row;
    ok(d->b->ops->download(d->b, y, d->y.data, sizeof y, &e), &e);
    ok(d->b->ops->download(d->b, &weight, d->theta_dev, sizeof weight, &e), &e);
    for (int64_t i = 0; i < N * C; i++) {
        uint32_t word = philox_word(site.key, (uint64_t)(from * C + i), s->update, site.stream);
        assert_true(y[i] == (word < below ? 1.0f / (1.0f - site.p) : 0.0f));
    }
    assert_true(weight == theta);
}

static void masks_and_rates_are_those_of_each_replay(void **state)
{
    (void)state;
    struct fixture d;
    struct err e = {0};
    void *graph = NULL;
    struct spec s;
    float theta = 0.0f;
    spec_init(&s);
    s.train.lr = 1.0;
    s.train.warmup = 64;
    open_fixture(&d);
    for (uint32_t update = 0; update < 4; update++) {
        const struct step_state now = {.lr = (float)schedule_rate(&s.train, 10 * update + 1),
                                       .gradient_scale = 1.0f,
                                       .update = update,
                                       .first_row = 3 * update};
        ok(d.b->ops->upload(d.b, d.step_dev, &now, sizeof now, &e), &e);
        if (update == 1) {
            ok(d.b->ops->graph_begin(d.b, &e), &e);
            step(&d);
            ok(d.b->ops->graph_end(d.b, &graph, &e), &e);
        }
        if (update == 0)
            step(&d);
        else
            ok(d.b->ops->graph_launch(d.b, graph, &e), &e);
        assert_true(now.lr > 0.0f);
        theta -= now.lr;
        check_step(&d, &now, theta);
    }
    d.b->ops->graph_free(d.b, graph);
    close_fixture(&d);
}

/* Launches a graph, captured with little scratch memory, after other work needed much. */
static void a_graph_keeps_scratch_memory_that_grew_later(void **state)
{
    (void)state;
    enum { MANY = 1 << 20 };
    struct fixture d;
    struct err e = {0};
    void *graph = NULL;
    double squares = 0.0;
    open_fixture(&d);
    float *many = memory_of(d.b, MANY * sizeof *many);
    step(&d);
    ok(d.b->ops->graph_begin(d.b, &e), &e);
    step(&d);
    ok(d.b->ops->graph_end(d.b, &graph, &e), &e);
    ok(ops_sum_squares(d.b, d.squares_dev, many, MANY, &e), &e);
    ok(d.b->ops->graph_launch(d.b, graph, &e), &e);
    ok(d.b->ops->download(d.b, &squares, d.squares_dev, sizeof squares, &e), &e);
    assert_true(squares == N * C);
    d.b->ops->graph_free(d.b, graph);
    d.b->ops->release(d.b, many);
    close_fixture(&d);
}

static int try_alloc(struct fixture *d, struct err *e)
{
    void *p = NULL;
    return d->b->ops->alloc(d->b, &p, 64, e);
}

static int try_upload(struct fixture *d, struct err *e)
{
    return d->b->ops->upload(d->b, d->y.data, d->ones, sizeof d->ones, e);
}

static int try_download(struct fixture *d, struct err *e)
{
    return d->b->ops->download(d->b, d->ones, d->x.data, sizeof d->ones, e);
}

static int try_sync(struct fixture *d, struct err *e)
{
    return d->b->ops->sync(d->b, e);
}

static int try_record(struct fixture *d, struct err *e)
{
    return d->b->ops->graph_begin(d->b, e);
}

static int try_replay(struct fixture *d, struct err *e)
{
    return d->b->ops->graph_launch(d->b, NULL, e);
}

static int try_scratch(struct fixture *d, struct err *e)
{
    return ops_sum_squares(d->b, d->squares_dev, d->x.data, N * C, e);
}

static int try_product(struct fixture *d, struct err *e)
{
    struct tensor y = tensor_make(d->y.data, N, N, DTYPE_F32);
    return ops_linear(d->b, &y, &d->x, &d->x, NULL, 0, e);
}

static void calls_that_a_capture_forbids_are_named(void **state)
{
    (void)state;
    static const struct {
        int (*attempt)(struct fixture *d, struct err *e);
        const char *word;
    } rows[] = {
        {try_alloc, "an allocation"},
        {try_upload, "an upload"},
        {try_download, "a download"},
        {try_sync, "a sync"},
        {try_record, "a second capture"},
        {try_replay, "a graph launch"},
        {try_scratch, "growth of scratch memory"},
        {try_product, "a product of 12 x 12 x 40"},
    };
    struct fixture d;
    open_fixture(&d);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct err e = {0}, none = {0};
        ok(d.b->ops->graph_begin(d.b, &none), &none);
        assert_int_equal(rows[i].attempt(&d, &e), ERR_INTERNAL);
        if (strstr(e.text, rows[i].word) == NULL || strstr(e.text, "during graph capture") == NULL)
            fail_msg("%s: expected %s", e.text, rows[i].word);
        ok(d.b->ops->graph_end(d.b, NULL, &none), &none);
        ok(d.b->ops->sync(d.b, &none), &none);
    }
    struct err e = {0};
    assert_int_equal(d.b->ops->graph_end(d.b, NULL, &e), ERR_INTERNAL);
    assert_non_null(strstr(e.text, "no capture is in progress"));
    close_fixture(&d);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masks_and_rates_are_those_of_each_replay),
        cmocka_unit_test(a_graph_keeps_scratch_memory_that_grew_later),
        cmocka_unit_test(calls_that_a_capture_forbids_are_named),
    };
    int failed = 0;
    if (argc < 2 || argv[1][0] == '-') {
        fputs("usage: check_record DEVICE...\n", stderr);
        return 64;
    }
    for (int i = 1; i < argc; i++) {
        device = argv[i];
        failed += cmocka_run_group_tests_name(device, tests, NULL, NULL);
    }
    return failed == 0 ? 0 : 1;
}
