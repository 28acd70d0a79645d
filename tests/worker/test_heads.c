/* test_heads.c - eval.attention_rows: what is recorded of heads, against closed forms. */
#include "harness/test.h"

#include <math.h>
#include <string.h>

#include "interchange/interchange.h"
#include "model/model.h"
#include "worker/heads.h"
#include "worker/state.h"
#include "worker/weights.h"
#include "worker/worker_fixture.h"

enum { ROWS = 2, L = 64, LAYERS = 2 };

TEST_EACH(worker_fixture_make, worker_fixture_remove)

static struct spec trained(struct worker_fixture *f, enum spec_position position)
{
    const struct spec s = worker_fixture_spec(f, position);
    worker_fixture_must_run(f, &s, 1);
    return s;
}

static struct spec heads_of(const struct spec *train, int32_t rows, int32_t length)
{
    struct spec s = worker_fixture_eval(train, length, 0);
    s.eval.attention_rows = rows;
    return s;
}

/* Means over the queries of a row of one repeated token: A[t,t-d] = e^(-m d) / sum. */
static void closed_form(double m, double *first, double *entropy, double *distance)
{
    *first = *entropy = *distance = 0.0;
    for (int t = 0; t < L; t++) {
        double sum = m > 0 ? expm1(-m * (t + 1)) / expm1(-m) : t + 1;
        *first += exp(-m * t) / sum / L;
        for (int d = 0; d <= t; d++) {
            double w = exp(-m * d) / sum;
            *entropy -= w * log(w) / L;
            *distance += w * d / L;
        }
    }
}

/* One repeated token: the streams are equal, and so are the logits. */
static void check_repeated(struct worker_fixture *f, const struct spec *s, const struct spec *train)
{
    int32_t H = train->model.heads, n = worker_fixture_count(f, s, 1, EVENT_HEAD);
    assert_int_equal(n, 3 * LAYERS * H);
    for (int32_t i = 0; i < n; i++) {
        const struct record_head r = worker_fixture_record(f, s, 1, EVENT_HEAD, i).head;
        static const char *const texts[] = {"natural", "random", "repeated"};
        bool alibi = train->model.position == SPEC_ALIBI;
        double m = alibi ? (double)position_alibi_slope((int32_t)r.head - 1, H) : 0.0;
        double first, entropy, distance;
        assert_string_equal(r.text, texts[i / (LAYERS * H)]);
        assert_int_equal(r.layer, i / H % LAYERS + 1);
        assert_int_equal(r.head, i % H + 1);
        assert_int_equal(r.rows, ROWS);
        assert_true(alibi ? r.slope == m : isnan(r.slope));
        assert_true(isnan(r.slope) == isnan(r.bound_excess));
        assert_true(!(r.bound_excess > 1e-4) && r.logit_low <= r.logit_high);
        if (strcmp(r.text, "repeated") != 0) {
            assert_true(r.logit_high - r.logit_low > 1e-3);
            continue;
        }
        closed_form(m, &first, &entropy, &distance);
        assert_true(fabs(r.first_weight - first) < 1e-5);
        assert_true(fabs(r.entropy - entropy) < 1e-4);
        assert_true(fabs(r.distance - distance) < 1e-3);
        /* Equal logits meet the bounds: the first query's weight is 1. */
        if (alibi) assert_true(fabs(r.bound_excess) < 1e-4);
    }
}

TEST_WITH(struct worker_fixture *f, a_repeated_token_gives_the_closed_form)
{
    static const enum spec_position positions[] = {SPEC_ALIBI, SPEC_NONE};
    for (int i = 0; i < 2; i++) {
        const struct spec train = trained(f, positions[i]), s = heads_of(&train, ROWS, L);
        worker_fixture_must_run(f, &s, 1);
        check_repeated(f, &s, &train);
        assert_int_equal(worker_fixture_count(f, &s, 1, EVENT_EVALUATED), 1);
    }
}

/* Equal logits: through n layers a word's weight at distance x is that of the sum of n geometric
 * distances, C(n - 1 + x, x) e^(-m x) (1 - e^(-m))^n, where the row's start does not cut it. */
TEST_WITH(struct worker_fixture *f, attention_through_layers_of_a_repeated_token_is_the_closed_form)
{
    const struct spec train = trained(f, SPEC_ALIBI), s = heads_of(&train, ROWS, L);
    int32_t n, checked_n = 0;

    worker_fixture_must_run(f, &s, 1);
    n = worker_fixture_count(f, &s, 1, EVENT_ROLLOUT);
    for (int32_t i = 0; i < n; i++) {
        const struct record_rollout r = worker_fixture_record(f, &s, 1, EVENT_ROLLOUT, i).rollout;
        double m = (double)position_alibi_slope((int32_t)r.head - 1, train.model.heads), paths = 1;
        double x = (double)r.distance, layers = (double)r.layers;
        if (strcmp(r.text, "repeated") != 0 || m < 0.25 || r.distance > L / 2) continue;
        for (int64_t k = 1; k < r.layers; k++) paths *= (x + (double)k) / (double)k;
        double curve = paths * exp(-m * x) * pow(-expm1(-m), layers);
        assert_true(fabs(r.weight - curve) < 1e-4); /* the cut: e^(-m L / 2) at most */
        checked_n++;
    }
    assert_int_equal(checked_n, 2 * 11); /* slopes 1/2 and 1/4; 0, 1, 2, 3, 4, 6 … 32 */
}

/* The rollout of natural rows: the product of the matrices, in plain loops. */
struct product {
    double all[8][L][L]; /* by head: layers seen so far */
    double first[LAYERS][8];
};

static int multiply(void *context, const struct heads_layer *l, struct err *err)
{
    struct product *p = context;
    (void)err;
    for (int32_t h = 0; h < l->H; h++) {
        double next[L][L] = {0};
        const float *A = l->weight + (int64_t)h * L * L;
        for (int i = 0; i < L; i++) p->first[l->layer][h] += (double)A[i * L] / L / ROWS;
        for (int i = 0; i < L; i++)
            for (int k = 0; k < L; k++)
                for (int j = 0; j < L; j++)
                    next[i][j] += (double)A[i * L + k] * (l->layer == 0 ? k == j : p->all[h][k][j]);
        memcpy(p->all[h], next, sizeof next);
    }
    return 0;
}

/* The trained model, for rows of L tokens. */
static struct model *open_trained(struct worker_fixture *f, const struct spec *train)
{
    const struct shape_capacity o = {.rows_max = 1, .length_max = L, .scored_max = 1};
    const struct record_trained r = worker_fixture_trained(f, train, 1);
    const char *path = worker_fixture_path(f, train, 1, r.best_checkpoint);
    struct safetensors *weights = NULL;
    char id[SPEC_ID_BYTES];
    struct model *m = NULL;

    spec_run_id(train, id);
    assert_ok(checkpoint_open(&weights, NULL, path, r.best_sha256, id, &e));
    assert_ok(model_open(&m, f->cpu, train, &o, &e));
    assert_ok(weights_load(m, 0, weights, path, &e));
    safetensors_close(weights);
    return m;
}

/* Learned slopes fill a table of distances, in which a slope is found again; T5's table has none.
 */
TEST_WITH(struct worker_fixture *f, the_slope_of_a_head_is_the_learned_one_after_training)
{
    const struct spec learned = trained(f, SPEC_ALIBI_LEARNED), s = heads_of(&learned, ROWS, L);
    const struct spec t5 = trained(f, SPEC_T5), other = heads_of(&t5, ROWS, L);
    struct model *m = open_trained(f, &learned);
    int32_t u = shape_find(model_params(m), "decoder.alibi.slope_parameter");
    float slope_log[8];

    assert_ok(model_read(m, MODEL_VALUES, u, slope_log, &e));
    model_close(m);
    worker_fixture_must_run(f, &s, 1);
    worker_fixture_must_run(f, &other, 1);
    for (int32_t i = 0; i < 3 * LAYERS * learned.model.heads; i++) {
        const struct record_head r = worker_fixture_record(f, &s, 1, EVENT_HEAD, i).head;
        double slope = exp((double)slope_log[r.head - 1]);
        assert_true(fabs(r.slope / slope - 1) < 1e-6);
        assert_true(r.slope != (double)position_alibi_slope((int32_t)r.head - 1, 8));
        assert_true(!(r.bound_excess > 1e-4));
    }
    assert_true(isnan(worker_fixture_record(f, &other, 1, EVENT_HEAD, 0).head.slope));
}

TEST_WITH(struct worker_fixture *f, natural_rows_are_the_first_of_the_split)
{
    static struct product p;
    static double rolled[8][L];
    const struct spec train = trained(f, SPEC_ALIBI), s = heads_of(&train, ROWS, L);
    struct model *m = open_trained(f, &train);
    int32_t source[L], target[L], H = train.model.heads;
    const struct model_batch batch = {.source = source, .target = target, .rows = 1, .length = L};

    worker_fixture_must_run(f, &s, 1);
    for (int32_t row = 0; row < ROWS; row++) {
        tokens_read_row(&f->corpus.split[CORPUS_VALID], row * L, L, L, source, target);
        assert_ok(heads_see(m, f->cpu, &train.model, &batch, multiply, &p, &e));
        for (int32_t h = 0; h < H; h++)
            for (int d = 0; d < L; d++) rolled[h][d] += p.all[h][L - 1][L - 1 - d] / ROWS;
    }
    model_close(m);
    for (int32_t i = 0; i < LAYERS * H; i++) {
        const struct record_head r = worker_fixture_record(f, &s, 1, EVENT_HEAD, i).head;
        assert_true(fabs(r.first_weight - p.first[i / H][i % H]) < 1e-6);
    }
    int32_t checked = 0, n = worker_fixture_count(f, &s, 1, EVENT_ROLLOUT);
    for (int32_t i = 0; i < n; i++) {
        const struct record_rollout r = worker_fixture_record(f, &s, 1, EVENT_ROLLOUT, i).rollout;
        if (strcmp(r.text, "natural") != 0 || r.layers < LAYERS) continue;
        assert_true(fabs(r.weight - rolled[r.head - 1][r.distance]) < 1e-6);
        checked++;
    }
    assert_int_equal(checked, 12 * H); /* 0, 1, 2, 3, 4, 6 … 48 */
}

TEST_WITH(struct worker_fixture *f, heads_are_reproduced_bit_for_bit)
{
    const struct spec train = trained(f, SPEC_ALIBI), s = heads_of(&train, ROWS, 16);
    struct reproduce_report r;
    char id[SPEC_ID_BYTES];

    worker_fixture_must_run(f, &s, 1);
    spec_run_id(&s, id);
    const struct reproduce_options o = {.dir = worker_fixture_dir(f, &s, 1), .run_id = id};
    assert_ok(reproduce_run(&r, &f->project, &o, &e));
    assert_int_equal(r.differ_n, 0);
    assert_int_equal(r.compared_n, 1 + worker_fixture_count(f, &s, 1, EVENT_HEAD) +
                                       worker_fixture_count(f, &s, 1, EVENT_ROLLOUT));
}

TEST_WITH(struct worker_fixture *f, a_split_that_is_too_short_is_refused)
{
    const struct spec train = trained(f, SPEC_ROTARY), s = heads_of(&train, 100, L);
    worker_fixture_must_fail(f, &s, 1, ERR_DATA, "eval.attention_rows: 100 rows");
}

/* --- memory --- */

static int (*real_alloc)(struct backend *b, void **out, size_t bytes, struct err *e);
static size_t allocated_bytes, refused_bytes;

static int limited(struct backend *b, void **out, size_t bytes, struct err *err)
{
    if (bytes == refused_bytes) return ERR(err, ERR_NOMEM, "cpu: out of memory");
    allocated_bytes += bytes;
    return real_alloc(b, out, bytes, err);
}

static int ignore(void *context, const struct heads_layer *layer, struct err *err)
{
    (void)context;
    (void)layer;
    (void)err;
    return 0;
}

TEST_WITH(struct worker_fixture *f, a_row_allocates_what_a_plan_states_or_names_the_settings)
{
    const struct spec train = trained(f, SPEC_ALIBI);
    struct model *m = open_trained(f, &train);
    const struct backend_ops *real = f->cpu->ops;
    struct backend_ops ops = *real;
    struct shape_heads need;
    int32_t token[L] = {0};
    const struct model_batch row = {.source = token, .target = token, .rows = 1, .length = L};

    shape_heads(&need, &train.model, L);
    real_alloc = real->alloc;
    ops.alloc = limited;
    f->cpu->ops = &ops;
    assert_ok(heads_see(m, f->cpu, &train.model, &row, ignore, NULL, &e));
    assert_int_equal(allocated_bytes, need.device_bytes);
    refused_bytes = (size_t)need.device_bytes;
    int rc = heads_see(m, f->cpu, &train.model, &row, ignore, NULL, &e);
    f->cpu->ops = real;
    model_close(m);
    assert_int_equal(rc, ERR_NOMEM);
    assert_non_null(strstr(e.text, "eval.attention_rows needs "));
    assert_non_null(strstr(e.text, "lower eval.L, or set eval.attention_rows to 0"));
}

/* No machine has 2^54 bytes. */
TEST_WITH(struct worker_fixture *f, weights_of_more_layers_than_fit_into_memory_are_an_error)
{
    struct spec train = trained(f, SPEC_ALIBI), s = heads_of(&train, ROWS, L);
    struct worker a = {.spec = &s};

    train.model.layers = 1 << 30;
    train.model.heads = 1 << 10;
    assert_fails(ERR_NOMEM, "lower eval.L",
                 heads_record(&a, 0, &train, NULL, &f->corpus.split[CORPUS_VALID], &e));
}
