/* model_bench.c - a tiny model for tests. */
#include "model/model_bench.h"

#include <math.h>
#include <stdlib.h>

#include "base/philox.h"
#include "harness/test.h"

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

void model_bench_open_with(struct model_bench *k, struct backend *b, const struct spec *s,
                           int32_t rows_max, int32_t length_max, bool train)
{
    const struct model_options o = {.train = train,
                                    .rows_max = rows_max,
                                    .length_max = length_max,
                                    .scored_max = (int64_t)rows_max * length_max};
    int64_t most = 0;

    *k = (struct model_bench){.b = b};
    assert_ok(model_open(&k->m, b, s, &o, &e));
    assert_ok(model_init(k->m, 3, &e));
    for (int32_t i = 0; i < model_params(k->m)->tensors_n; i++)
        if (model_bench_tensor(k, i) > most) most = model_bench_tensor(k, i);
    k->values = malloc((size_t)most * sizeof *k->values);
    k->gradients = malloc((size_t)most * sizeof *k->gradients);
    assert_true(k->values != NULL && k->gradients != NULL);
}

void model_bench_open_on(struct model_bench *k, const char *device, enum dtype dtype,
                         const struct spec *s, int32_t rows_max, int32_t length_max, bool train)
{
    struct backend *b = NULL;

    assert_ok(backend_open(&b, device, 1, dtype, &e));
    model_bench_open_with(k, b, s, rows_max, length_max, train);
}

void model_bench_open(struct model_bench *k, const struct spec *s, int32_t rows_max,
                      int32_t length_max, bool train)
{
    model_bench_open_on(k, "cpu", DTYPE_F32, s, rows_max, length_max, train);
}

void model_bench_close(struct model_bench *k)
{
    model_close(k->m);
    backend_close(k->b);
    free(k->values);
    free(k->gradients);
}

char *model_bench_choices(const struct model_bench *k)
{
    if (k->b->ops->choices == NULL) return NULL;
    size_t bytes = k->b->ops->choices(k->b, NULL, 0) + 1;
    char *text = malloc(bytes);
    assert_non_null(text);
    k->b->ops->choices(k->b, text, bytes);
    return text;
}

void model_bench_restore_choices(struct model_bench *k, const char *choices)
{
    if (choices != NULL) assert_ok(k->b->ops->restore_choices(k->b, choices, &e));
}

void model_bench_tokens(int32_t *out, int64_t n, uint64_t seed)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = 2 + (int32_t)(philox_word(seed, (uint64_t)i, 0, 0x70) % (BENCH_VOCAB - 2));
}

struct model_batch model_bench_batch(int32_t *ids, int32_t rows, int32_t length, uint64_t seed)
{
    model_bench_tokens(ids, (int64_t)rows * length + 1, seed);
    return (struct model_batch){.source = ids, .target = ids + 1, .rows = rows, .length = length};
}

void model_bench_score(struct model_bench *k, const struct model_batch *batch, int32_t row,
                       int32_t n, float *logp)
{
    int32_t position[BENCH_TOKENS_MAX];

    assert_true(n <= BENCH_TOKENS_MAX);
    for (int32_t i = 0; i < n; i++) position[i] = row * batch->length + i;
    assert_ok(model_score(k->m, batch, position, n, logp, &e));
}

void model_bench_copy(struct model_bench *to, struct model_bench *from, enum model_block block)
{
    for (int32_t i = 0; i < model_params(from->m)->tensors_n; i++) {
        assert_ok(model_read(from->m, block, i, from->values, &e));
        assert_ok(model_write(to->m, block, i, from->values, &e));
    }
}

double model_bench_loss(struct model_bench *k, const struct model_batch *batch, uint32_t update,
                        int accumulate)
{
    double loss = 0.0;
    assert_ok(model_train_batch(k->m, batch, update, accumulate, &loss, &e));
    return loss;
}

int64_t model_bench_tensor(const struct model_bench *k, int32_t tensor)
{
    const struct shape_tensor *t = &model_params(k->m)->tensor[tensor];
    return (int64_t)t->rows * t->cols;
}

float *model_bench_all(struct model_bench *k, enum model_block block, int64_t *n)
{
    const struct shape_params *params = model_params(k->m);
    float *out = malloc((size_t)params->parameters_n * sizeof *out);
    assert_non_null(out);
    *n = 0;
    for (int32_t i = 0; i < params->tensors_n; i++) {
        assert_ok(model_read(k->m, block, i, out + *n, &e));
        *n += model_bench_tensor(k, i);
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
