/* oracle_model.c - model files: weights, log p of every target, streams, distributions, loss and
 * gradients of one or more batches, named A, B, …. */
#include <string.h>

#include "model/model_struct.h"
#include "model/oracle.h"

struct file_batch {
    char letter;
    struct model_batch batch;
    int64_t tokens_n;
};

static struct file_batch take_batch(struct oracle *o, char letter)
{
    const struct safetensors_entry *source =
        oracle_take(o, "I32", -1, oracle_name(o, "%c.src", letter));
    if (source->dims_n != 2 || source->elements_n < 1 || source->elements_n > INT32_MAX)
        oracle_reject(o, "%c.src has %d dimensions, expected 2", letter, source->dims_n);
    return (struct file_batch){
        .letter = letter,
        .batch = {.source = source->data,
                  .target = oracle_ints(o, source->elements_n, oracle_name(o, "%c.tgt", letter)),
                  .rows = (int32_t)source->dims[0],
                  .length = (int32_t)source->dims[1]},
        .tokens_n = source->elements_n};
}

/* log p of every target that is not padding, 0 elsewhere. */
static void check_logp(struct oracle *o, const struct file_batch *b)
{
    int32_t *position = oracle_int_array(o, b->tokens_n);
    float *logp = oracle_array(o, b->tokens_n), *got = oracle_array(o, b->tokens_n);
    int64_t n = 0;
    double sum = 0.0;
    for (int64_t i = 0; i < b->tokens_n; i++)
        if (b->batch.target[i] != 1) position[n++] = (int32_t)i;
    oracle_must(o, model_score(o->model_own, &b->batch, position, n, logp, &o->e));
    for (int64_t i = 0; i < n; i++) {
        got[position[i]] = logp[i];
        sum -= (double)logp[i];
    }
    oracle_check(o, ORACLE_LOGP, got, b->tokens_n, oracle_name(o, "%c.logprob", b->letter));
    float total = (float)sum;
    oracle_compare_metadata(o, ORACLE_LOSS, oracle_name(o, "%c.sum_neg_logprob", b->letter), &total,
                            1);
}

/* One residual stream that the last pass kept. At padded source positions the authors mask the
 * padding's keys and this program need not: nothing reads those rows, so they are not compared. */
static void check_stream(struct oracle *o, const struct file_batch *b, int32_t layer,
                         const char *name)
{
    struct model *m = o->model_own;
    int64_t dim = m->spec.model.dim, n = b->tokens_n * dim;
    if (!oracle_has(o, name)) return;
    const float *want = oracle_floats(o, n, name);
    const float *kept_dev = m->inner_dev_own + layer * m->tokens_max * dim;
    float *got = oracle_array(o, n);
    oracle_must(o, m->b->ops->download(m->b, got, kept_dev,
                                       (size_t)(m->last.tokens_n * dim) * sizeof *got, &o->e));
    for (int64_t i = 0; i < b->tokens_n; i++)
        if (b->batch.source[i] == 1)
            memcpy(got + i * dim, want + i * dim, (size_t)dim * sizeof *got);
    oracle_check(o, ORACLE_STREAM, got, n, name);
}

static void check_streams(struct oracle *o, const struct file_batch *b)
{
    int32_t layers = o->model_own->spec.model.layers;
    for (int32_t l = 0; l <= layers; l++)
        check_stream(o, b, l, oracle_name(o, "%c.inner.%d", b->letter, l));
    check_stream(o, b, layers + 1, oracle_name(o, "%c.features", b->letter));
}

/* Whole distributions at the stated positions of a row: X.full_logprob.rowN. */
static void check_distributions(struct oracle *o, const struct file_batch *b)
{
    int64_t n = 0, vocab = o->model_own->spec.data.vocab;
    const char *key = oracle_name(o, "%c.full_logprob.positions", b->letter);
    for (int32_t row = 0; row < b->batch.rows; row++) {
        const char *name = oracle_name(o, "%c.full_logprob.row%d", b->letter, row);
        if (!oracle_has(o, name)) continue;
        const double *position = oracle_numbers(o, &n, key);
        float *got = oracle_array(o, n * vocab);
        for (int64_t i = 0; i < n; i++) {
            if (!(position[i] >= 0.0 && position[i] < b->batch.length))
                oracle_reject(o, "%s has %g, beyond the row", key, position[i]);
            int32_t at = row * b->batch.length + (int32_t)position[i];
            oracle_must(o, model_distribution(o->model_own, &b->batch, at, got + i * vocab, &o->e));
        }
        oracle_check(o, ORACLE_LOGP, got, n * vocab, name);
    }
}

/* Key biases have no effect unless they are rotated: their gradient is rounding noise. */
static enum oracle_measure gradient_measure(const struct oracle *o, const char *name)
{
    bool key_bias = strstr(name, "k_proj.bias") != NULL;
    bool rotates = o->model_own->position.functions->frequencies != NULL;
    return key_bias && !rotates ? ORACLE_KEY_BIAS : ORACLE_GRADIENT;
}

static void check_gradients(struct oracle *o, const struct file_batch *b)
{
    const struct shape_params *params = model_params(o->model_own);
    for (int32_t i = 0; i < params->tensors_n; i++) {
        const struct shape_tensor *t = &params->tensor[i];
        const char *name = oracle_name(o, "g%c.%s", b->letter, t->name);
        int64_t n = (int64_t)t->rows * t->cols;
        if (!oracle_has(o, name)) continue;
        float *got = oracle_array(o, n);
        oracle_must(o, model_read(o->model_own, MODEL_GRADIENTS, i, got, &o->e));
        oracle_check(o, gradient_measure(o, t->name), got, n, name);
    }
}

static void check_loss(struct oracle *o, const struct file_batch *b)
{
    const char *name = oracle_name(o, "%c.loss_sum", b->letter);
    int32_t targets_n = (int32_t)oracle_targets(b->batch.target, b->tokens_n);
    double sum = 0.0;
    oracle_must(o, model_train_batch(o->model_own, &b->batch, 0, 0, &sum, &o->e));
    float loss = (float)sum;
    oracle_check(o, ORACLE_LOSS, &loss, 1, name);
    oracle_check_ints(o, &targets_n, 1, oracle_name(o, "%c.sample_size", b->letter));
    if (oracle_text(o, name) != NULL)
        oracle_compare_number(o, ORACLE_LOSS, name, sum, oracle_number(o, name));
    check_gradients(o, b);
}

void oracle_model(struct oracle *o)
{
    struct spec spec;
    struct file_batch batch[26];
    int32_t batches_n = 0;
    struct shape_capacity options = {.train = true};
    oracle_spec(o, &spec, o->file_own);
    for (char letter = 'A'; letter <= 'Z'; letter++) {
        if (!oracle_has(o, oracle_name(o, "%c.src", letter))) continue;
        struct file_batch *b = &batch[batches_n++];
        *b = take_batch(o, letter);
        if (b->batch.rows > options.rows_max) options.rows_max = b->batch.rows;
        if (b->batch.length > options.length_max) options.length_max = b->batch.length;
        if (b->tokens_n > options.scored_max) options.scored_max = b->tokens_n;
    }
    oracle_model_open(o, &spec, &options);
    oracle_load(o, "w");
    oracle_must(o, model_keep_inner(o->model_own, &o->e));
    for (int32_t i = 0; i < batches_n; i++) {
        check_logp(o, &batch[i]);
        check_streams(o, &batch[i]);
        check_distributions(o, &batch[i]);
        oracle_attention(o, batch[i].letter, &batch[i].batch);
        check_loss(o, &batch[i]);
        /* The training pass keeps its own activations: its streams must be the same. */
        if (i == 0) check_streams(o, &batch[i]);
    }
}
