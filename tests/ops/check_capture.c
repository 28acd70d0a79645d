/* check_capture.c - work captured and launched as a graph, on the backends named on the command
 * line.
 *
 *   check_capture DEVICE… */
#include "harness/test.h"

#include <string.h>

#include "base/philox.h"
#include "ops/ops.h"
#include "worker/train.h"

enum { N = 12, C = 40 };

TEST_DEVICES(NULL)

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
    void *p = NULL;
    assert_ok(b->ops->alloc(b, &p, bytes, &e));
    assert_ok(b->ops->zero(b, p, bytes, &e));
    return p;
}

static void open_fixture(struct fixture *d)
{
    struct backend *b = NULL;
    assert_ok(backend_open(&b, test_device, 1, DTYPE_F32, &e));
    assert_non_null(b->ops->graph_begin);
    d->b = b;
    d->x = tensor_make(memory_of(b, sizeof d->ones), N, C, DTYPE_F32);
    d->y = tensor_make(memory_of(b, sizeof d->ones), N, C, DTYPE_F32);
    d->theta_dev = memory_of(b, sizeof d->ones);
    d->momentum_dev = memory_of(b, sizeof d->ones);
    d->squares_dev = memory_of(b, sizeof *d->squares_dev);
    d->step_dev = memory_of(b, sizeof *d->step_dev);
    for (int i = 0; i < N * C; i++) d->ones[i] = 1.0f;
    assert_ok(b->ops->upload(b, d->x.data, d->ones, sizeof d->ones, &e));
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
static void run_ops(struct fixture *d)
{
    struct dropout at = site;
    at.step_dev = d->step_dev;
    assert_ok(OPS(d->b, dropout, &e, .y = d->y, .x = d->x, .dropout = at));
    assert_ok(
        OPS(d->b, sum_squares, &e, .out_dev = d->squares_dev, .x_dev = d->x.data, .n = N * C));
    assert_ok(OPS(d->b, nag, &e, .theta_dev = d->theta_dev, .momentum_dev = d->momentum_dev,
                  .grad_dev = d->x.data, .n = N * C, .mu = 0.0f, .weight_decay = 0.0f,
                  .squares_dev = d->squares_dev, .step_dev = d->step_dev));
}

static void check_step(struct fixture *d, const struct step_state *s, float theta)
{
    float y[N * C], weight = 0.0f;
    uint32_t below = philox_keep_below(site.p);
    int64_t from = site.first_row + site.span * s->first_row;
    assert_ok(d->b->ops->download(d->b, y, d->y.data, sizeof y, &e));
    assert_ok(d->b->ops->download(d->b, &weight, d->theta_dev, sizeof weight, &e));
    for (int64_t i = 0; i < N * C; i++) {
        uint32_t word = philox_word(site.key, (uint64_t)(from * C + i), s->update, site.stream);
        assert_true(y[i] == (word < below ? 1.0f / (1.0f - site.p) : 0.0f));
    }
    assert_true(weight == theta);
}

TEST(masks_and_rates_are_those_of_each_launch)
{
    struct fixture d;
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
        assert_ok(d.b->ops->upload(d.b, d.step_dev, &now, sizeof now, &e));
        if (update == 1) {
            assert_ok(d.b->ops->graph_begin(d.b, &e));
            run_ops(&d);
            assert_ok(d.b->ops->graph_end(d.b, &graph, &e));
        }
        if (update == 0)
            run_ops(&d);
        else
            assert_ok(d.b->ops->graph_launch(d.b, graph, &e));
        assert_true(now.lr > 0.0f);
        theta -= now.lr;
        check_step(&d, &now, theta);
    }
    d.b->ops->graph_free(d.b, graph);
    close_fixture(&d);
}

/* Launches a graph, captured with little scratch memory, after other work needed much. */
TEST(a_graph_keeps_scratch_memory_that_grew_later)
{
    enum { MANY = 1 << 20 };
    struct fixture d;
    void *graph = NULL;
    double squares = 0.0;
    open_fixture(&d);
    float *many = memory_of(d.b, MANY * sizeof *many);
    run_ops(&d);
    assert_ok(d.b->ops->graph_begin(d.b, &e));
    run_ops(&d);
    assert_ok(d.b->ops->graph_end(d.b, &graph, &e));
    assert_ok(OPS(d.b, sum_squares, &e, .out_dev = d.squares_dev, .x_dev = many, .n = MANY));
    assert_ok(d.b->ops->graph_launch(d.b, graph, &e));
    assert_ok(d.b->ops->download(d.b, &squares, d.squares_dev, sizeof squares, &e));
    assert_true(squares == N * C);
    d.b->ops->graph_free(d.b, graph);
    d.b->ops->release(d.b, many);
    close_fixture(&d);
}

/* Calls that a capture forbids. */
enum forbidden { ALLOC, UPLOAD, DOWNLOAD, SYNC, BEGIN, LAUNCH, SCRATCH, PRODUCT, FORBIDDEN_N };

static int try_call(struct fixture *d, enum forbidden which, struct err *e)
{
    const struct backend_ops *ops = d->b->ops;
    struct tensor product = tensor_make(d->y.data, N, N, DTYPE_F32);
    void *p = NULL;
    switch (which) {
    case ALLOC:
        return ops->alloc(d->b, &p, 64, e);
    case UPLOAD:
        return ops->upload(d->b, d->y.data, d->ones, sizeof d->ones, e);
    case DOWNLOAD:
        return ops->download(d->b, d->ones, d->x.data, sizeof d->ones, e);
    case SYNC:
        return ops->sync(d->b, e);
    case BEGIN:
        return ops->graph_begin(d->b, e);
    case LAUNCH:
        return ops->graph_launch(d->b, NULL, e);
    case SCRATCH:
        return OPS(d->b, sum_squares, e, .out_dev = d->squares_dev, .x_dev = d->x.data, .n = N * C);
    default:
        return OPS(d->b, linear, e, .y = product, .x = d->x, .w = d->x);
    }
}

TEST(calls_that_a_capture_forbids_are_named)
{
    static const char *const words[FORBIDDEN_N] = {[ALLOC] = "an allocation",
                                                   [UPLOAD] = "an upload",
                                                   [DOWNLOAD] = "a download",
                                                   [SYNC] = "a sync",
                                                   [BEGIN] = "a second capture",
                                                   [LAUNCH] = "a graph launch",
                                                   [SCRATCH] = "growth of scratch memory",
                                                   [PRODUCT] = "a product of 12 x 12 x 40"};
    struct fixture d;
    open_fixture(&d);
    for (int i = 0; i < FORBIDDEN_N; i++) {
        assert_ok(d.b->ops->graph_begin(d.b, &e));
        assert_fails(ERR_INTERNAL, words[i], try_call(&d, (enum forbidden)i, &e));
        assert_fails(ERR_INTERNAL, "during graph capture", try_call(&d, (enum forbidden)i, &e));
        assert_ok(d.b->ops->graph_end(d.b, NULL, &e));
        assert_ok(d.b->ops->sync(d.b, &e));
    }
    assert_fails(ERR_INTERNAL, "no capture is in progress", d.b->ops->graph_end(d.b, NULL, &e));
    close_fixture(&d);
}
