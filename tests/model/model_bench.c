/* model_bench.c - a tiny model for tests. */
#include "model/model_bench.h"

#include <math.h>

#include "base/arena.h"
#include "base/philox.h"
#include "harness/test.h"
#include "model/model_struct.h"

enum { BENCHES_MAX = 128 };

struct spec model_bench_spec(enum spec_position position, enum spec_softmax softmax)
{
    struct spec s;
    spec_init(&s);
    s.data.vocab = BENCH_VOCAB;
    s.model.position = position;
    s.model.layers = 2;
    s.model.dim = 32;
    s.model.heads = 4;
    s.model.ffn = 48;
    s.model.softmax = softmax;
    s.model.cutoffs_n = softmax == SPEC_ADAPTIVE ? 2 : 0;
    s.model.cutoffs[0] = 20;
    s.model.cutoffs[1] = 40;
    s.model.adaptive_factor = 4;
    s.model.final_norm = softmax == SPEC_PLAIN;
    model_bench_dropout(&s, 0.0);
    s.option.rotary_base = 10000.0;
    s.option.t5_buckets = 8;
    s.option.t5_max_distance = 16;
    s.option.t5_init_std = 0.3;
    s.option.t5_multiplier = 2.0;
    s.train.L = 64; /* learned positions have so many rows */
    s.train.seed = 11;
    s.train.optimizer = SPEC_NAG;
    s.train.momentum = 0.9;
    s.train.clip = 0.0;
    s.train.tail_quirk = false;
    return s;
}

struct spec model_bench_spec_number(int i)
{
    return model_bench_spec((enum spec_position)(i / 2), i % 2 ? SPEC_PLAIN : SPEC_ADAPTIVE);
}

void model_bench_dropout(struct spec *s, double p)
{
    s->model.dropout = s->model.dropout_attention = p;
    s->model.dropout_relu = s->model.dropout_softmax = p;
}

/* Of the running case. */
static struct model_bench benches[BENCHES_MAX];
static int32_t benches_n;
static struct arena arena;

int model_bench_fini(void **state)
{
    (void)state;
    while (benches_n > 0) model_bench_close(&benches[--benches_n]);
    arena_fini(&arena);
    arena_init(&arena);
    return 0;
}

static struct model_bench *open_capacity(struct backend *b, const struct spec *s,
                                         struct shape_capacity o)
{
    o.scored_max = (int64_t)o.rows_max * o.length_max;
    assert_true(benches_n < BENCHES_MAX);
    struct model_bench *k = &benches[benches_n++];
    *k = (struct model_bench){.b = b};
    assert_ok(model_open(&k->m, b, s, &o, &e));
    assert_ok(model_init(k->m, (uint64_t)s->train.seed, &e));
    return k;
}

struct model_bench *model_bench_open_with(struct backend *b, const struct spec *s, int32_t rows_max,
                                          int32_t length_max, bool train)
{
    return open_capacity(
        b, s,
        (struct shape_capacity){.train = train, .rows_max = rows_max, .length_max = length_max});
}

struct model_bench *model_bench_open_for_hits(const char *device, enum dtype dtype,
                                              const struct spec *s, int32_t rows_max,
                                              int32_t length_max)
{
    struct backend *b = NULL;
    assert_ok(backend_open(&b, device, 1, dtype, &e));
    return open_capacity(
        b, s,
        (struct shape_capacity){.rows_max = rows_max, .length_max = length_max, .hits = true});
}

struct model_bench *model_bench_open_on(const char *device, enum dtype dtype, const struct spec *s,
                                        int32_t rows_max, int32_t length_max, bool train)
{
    struct backend *b = NULL;
    assert_ok(backend_open(&b, device, 1, dtype, &e));
    return model_bench_open_with(b, s, rows_max, length_max, train);
}

struct model_bench *model_bench_open(const struct spec *s, int32_t rows_max, int32_t length_max,
                                     bool train)
{
    return model_bench_open_on("cpu", DTYPE_F32, s, rows_max, length_max, train);
}

void model_bench_close(struct model_bench *k)
{
    model_close(k->m);
    backend_close(k->b);
    *k = (struct model_bench){0};
}

char *model_bench_choices(const struct model_bench *k)
{
    if (k->b->ops->choices == NULL) return NULL;
    size_t bytes = k->b->ops->choices(k->b, NULL, 0) + 1;
    char *text = arena_alloc(&arena, bytes);
    k->b->ops->choices(k->b, text, bytes);
    return text;
}

void model_bench_restore_choices(struct model_bench *k, const char *choices)
{
    if (choices != NULL) assert_ok(k->b->ops->restore_choices(k->b, choices, &e));
}

float *model_bench_array(int64_t n)
{
    return arena_array(&arena, (size_t)n, sizeof(float));
}

int32_t *model_bench_tokens(int64_t n, uint64_t seed)
{
    int32_t *ids = arena_array(&arena, (size_t)n, sizeof *ids);
    for (int64_t i = 0; i < n; i++)
        ids[i] = 2 + (int32_t)(philox_word(seed, (uint64_t)i, 0, 0x70) % (BENCH_VOCAB - 2));
    return ids;
}

struct model_batch model_bench_batch(int32_t **ids, int32_t rows, int32_t length, uint64_t seed)
{
    int32_t *drawn = model_bench_tokens((int64_t)rows * length + 1, seed);
    if (ids != NULL) *ids = drawn;
    return (struct model_batch){
        .source = drawn, .target = drawn + 1, .rows = rows, .length = length};
}

float *model_bench_score(struct model_bench *k, const struct model_batch *batch, int32_t row,
                         int32_t n)
{
    float *logp = model_bench_array(n);
    int32_t *position = arena_array(&arena, (size_t)n, sizeof *position);
    for (int32_t i = 0; i < n; i++) position[i] = row * batch->length + i;
    assert_ok(model_score(k->m, batch, position, n, logp, &e));
    return logp;
}

double model_bench_loss(struct model_bench *k, const struct model_batch *batch, uint32_t update,
                        int32_t shard)
{
    double loss = 0.0;
    assert_ok(model_train_batch(k->m, batch, update, shard, &loss, &e));
    return loss;
}

double model_bench_apply(struct model_bench *k, uint32_t update, double lr, int64_t targets_n)
{
    const struct model_update u = {.update = update,
                                   .lr = lr,
                                   .lr_previous = lr,
                                   .targets_n = targets_n,
                                   .shards_n = k->m->group.done_n};
    double norm = 0.0;
    assert_ok(model_apply(k->m, &u, &norm, &e));
    return norm;
}

void model_bench_copy(struct model_bench *to, struct model_bench *from, enum model_array array)
{
    for (int32_t i = 0; i < model_params(from->m)->tensors_n; i++)
        assert_ok(model_write(to->m, array, i, model_bench_read(from, array, i), &e));
}

int64_t model_bench_tensor_n(const struct model_bench *k, int32_t tensor)
{
    const struct shape_tensor *t = &model_params(k->m)->tensor[tensor];
    return (int64_t)t->rows * t->cols;
}

int64_t model_bench_n(const struct model_bench *k)
{
    return model_params(k->m)->parameters_n;
}

float *model_bench_read(struct model_bench *k, enum model_array array, int32_t tensor)
{
    float *out = model_bench_array(model_bench_tensor_n(k, tensor));
    assert_ok(model_read(k->m, array, tensor, out, &e));
    return out;
}

float *model_bench_all(struct model_bench *k, enum model_array array)
{
    float *out = model_bench_array(model_bench_n(k)), *to = out;
    for (int32_t i = 0; i < model_params(k->m)->tensors_n; i++) {
        assert_ok(model_read(k->m, array, i, to, &e));
        to += model_bench_tensor_n(k, i);
    }
    return out;
}

double model_bench_difference(const float *a, const float *b, int64_t n)
{
    double worst = 0.0, largest = 1e-30;
    for (int64_t i = 0; i < n; i++) {
        double difference = fabs((double)a[i] - (double)b[i]);
        worst = difference > worst || isnan(difference) ? difference : worst;
        largest = fmax(largest, fabs((double)a[i]));
    }
    return worst / largest;
}
