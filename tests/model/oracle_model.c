/* oracle_model.c - model files: weights, log p of every target, streams, distributions, loss and
 * gradients of one or more batches, named A, B, …. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/model_internal.h"
#include "model/oracle.h"

struct model_file {
    struct oracle *o;
    struct model *model_own;
    struct spec spec;
};

struct file_batch {
    char letter;
    struct model_batch batch;
    const int32_t *source;
    int64_t tokens_n;
};

static int take_batch(struct file_batch *out, struct oracle *o, char letter, struct err *e)
{
    const struct safetensors_entry *source = NULL, *target = NULL;
    TRY(oracle_take(&source, o, "I32", -1, e, "%c.src", letter));
    TRY(oracle_take(&target, o, "I32", source->elements_n, e, "%c.tgt", letter));
    if (source->dims_n != 2 || source->elements_n < 1 || source->elements_n > INT32_MAX)
        return ERR(e, ERR_DATA, "%c.src has %d dimensions, expected 2", letter, source->dims_n);
    *out = (struct file_batch){.letter = letter,
                               .batch = {.source = source->data,
                                         .target = target->data,
                                         .rows = (int32_t)source->dims[0],
                                         .length = (int32_t)source->dims[1]},
                               .source = source->data,
                               .tokens_n = source->elements_n};
    return 0;
}

/* log p of every target that is not padding, 0 elsewhere. */
static int check_logp(struct model_file *f, const struct file_batch *b, struct err *e)
{
    struct oracle *o = f->o;
    const struct safetensors_entry *want = NULL;
    TRY(oracle_take(&want, o, "F32", b->tokens_n, e, "%c.logprob", b->letter));
    int32_t *position = arena_array(&o->arena, (size_t)b->tokens_n, sizeof *position);
    float *logp = arena_array(&o->arena, (size_t)b->tokens_n, sizeof *logp);
    float *got = arena_array(&o->arena, (size_t)b->tokens_n, sizeof *got);
    int64_t n = 0;
    for (int64_t i = 0; i < b->tokens_n; i++)
        if (b->batch.target[i] != 1) position[n++] = (int32_t)i;
    TRY(model_score(f->model_own, &b->batch, position, n, logp, e));
    for (int64_t i = 0; i < n; i++) got[position[i]] = logp[i];
    oracle_compare(o, ORACLE_LOGP, want->name, got, want->data, b->tokens_n);
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum -= (double)logp[i];
    float total = (float)sum;
    char key[64];
    snprintf(key, sizeof key, "%c.sum_neg_logprob", b->letter);
    return oracle_compare_metadata(o, ORACLE_LOSS, key, &total, 1, e);
}

/* A residual stream that the last pass kept. */
static int read_stream(struct model *m, int32_t layer, float *out_host, struct err *e)
{
    int64_t c = m->spec.model.dim;
    const float *from = m->inner_dev_own + layer * m->tokens_max * c;
    return m->b->ops->download(m->b, out_host, from,
                               (size_t)(m->last.tokens_n * c) * sizeof *out_host, e);
}

/* One kept stream. At padded source positions the authors mask the padding's keys and this program
 * need not: nothing reads those rows, so they are not compared. */
static int check_stream(struct model_file *f, const struct file_batch *b, int32_t layer,
                        const char *name, struct err *e)
{
    struct oracle *o = f->o;
    const struct safetensors_entry *want = NULL;
    int64_t dim = f->spec.model.dim, n = b->tokens_n * dim;
    if (!oracle_has(o, "%s", name)) return 0;
    TRY(oracle_take(&want, o, "F32", n, e, "%s", name));
    float *got = arena_array(&o->arena, (size_t)n, sizeof *got);
    TRY(read_stream(f->model_own, layer, got, e));
    for (int64_t i = 0; i < b->tokens_n; i++)
        if (b->source[i] == 1)
            memcpy(got + i * dim, (const float *)want->data + i * dim, (size_t)dim * sizeof *got);
    oracle_compare(o, ORACLE_STREAM, name, got, want->data, n);
    return 0;
}

static int check_streams(struct model_file *f, const struct file_batch *b, struct err *e)
{
    char name[64];
    for (int32_t l = 0; l <= f->spec.model.layers; l++) {
        snprintf(name, sizeof name, "%c.inner.%d", b->letter, l);
        TRY(check_stream(f, b, l, name, e));
    }
    snprintf(name, sizeof name, "%c.features", b->letter);
    return check_stream(f, b, f->spec.model.layers + 1, name, e);
}

/* Whole distributions at the stated positions of a row: X.full_logprob.rowN. */
static int check_distributions(struct model_file *f, const struct file_batch *b, struct err *e)
{
    struct oracle *o = f->o;
    char key[64];
    const double *position = NULL;
    int64_t n = 0, vocab = f->spec.data.vocab;
    for (int32_t row = 0; row < b->batch.rows; row++) {
        const struct safetensors_entry *want = NULL;
        if (!oracle_has(o, "%c.full_logprob.row%d", b->letter, row)) continue;
        snprintf(key, sizeof key, "%c.full_logprob.positions", b->letter);
        TRY(oracle_numbers(&position, &n, o, key, e));
        TRY(oracle_take(&want, o, "F32", n * vocab, e, "%c.full_logprob.row%d", b->letter, row));
        float *got = arena_array(&o->arena, (size_t)(n * vocab), sizeof *got);
        for (int64_t i = 0; i < n; i++) {
            if (!(position[i] >= 0.0 && position[i] < b->batch.length))
                return ERR(e, ERR_DATA, "%s has %g, beyond the row", key, position[i]);
            TRY(model_distribution(f->model_own, &b->batch,
                                   row * b->batch.length + (int32_t)position[i], got + i * vocab,
                                   e));
        }
        oracle_compare(o, ORACLE_LOGP, want->name, got, want->data, n * vocab);
    }
    return 0;
}

/* Key biases have no effect unless they are rotated: their gradient is rounding noise. */
static enum oracle_measure gradient_measure(const struct model_file *f, const char *name)
{
    bool key_bias = strstr(name, "k_proj.bias") != NULL;
    return key_bias && f->spec.model.position != SPEC_ROTARY ? ORACLE_KEY_BIAS : ORACLE_GRADIENT;
}

static int check_gradients(struct model_file *f, const struct file_batch *b, struct err *e)
{
    struct oracle *o = f->o;
    const struct shape_params *params = model_params(f->model_own);
    for (int32_t i = 0; i < params->tensors_n; i++) {
        const struct shape_tensor *t = &params->tensor[i];
        const struct safetensors_entry *want = NULL;
        int64_t n = (int64_t)t->rows * t->cols;
        if (!oracle_has(o, "g%c.%s", b->letter, t->name)) continue;
        TRY(oracle_take(&want, o, "F32", n, e, "g%c.%s", b->letter, t->name));
        float *got = arena_array(&o->arena, (size_t)n, sizeof *got);
        TRY(model_read(f->model_own, MODEL_GRADIENTS, i, got, e));
        oracle_compare(o, gradient_measure(f, t->name), want->name, got, want->data, n);
    }
    return 0;
}

static int check_loss(struct model_file *f, const struct file_batch *b, struct err *e)
{
    struct oracle *o = f->o;
    const struct safetensors_entry *loss = NULL, *size = NULL;
    double sum = 0.0, exact = 0.0;
    TRY(oracle_take(&loss, o, "F32", 1, e, "%c.loss_sum", b->letter));
    TRY(oracle_take(&size, o, "I32", 1, e, "%c.sample_size", b->letter));
    TRY(model_train_batch(f->model_own, &b->batch, 0, 0, &sum, e));
    float got = (float)sum;
    int32_t targets = (int32_t)oracle_targets(b->batch.target, b->tokens_n);
    oracle_compare(o, ORACLE_LOSS, loss->name, &got, loss->data, 1);
    oracle_compare_ints(o, size->name, &targets, size->data, 1);
    char key[32];
    snprintf(key, sizeof key, "%c.loss_sum", b->letter);
    if (safetensors_metadata(o->file_own, key) != NULL) {
        TRY(oracle_number(&exact, o, e, "%s", key));
        oracle_compare_number(o, ORACLE_LOSS, key, sum, exact);
    }
    TRY(oracle_attention(o, f->model_own, b->letter, e));
    return check_gradients(f, b, e);
}

static int check_batches(struct model_file *f, const struct file_batch *batch, int32_t batches_n,
                         struct err *e)
{
    TRY(oracle_load(f->model_own, f->o->file_own, "w", f->o, e));
    TRY(model_keep_inner(f->model_own, e));
    for (int32_t i = 0; i < batches_n; i++) {
        TRY(check_logp(f, &batch[i], e));
        TRY(check_streams(f, &batch[i], e));
        TRY(check_distributions(f, &batch[i], e));
        TRY(check_loss(f, &batch[i], e));
        /* The training pass keeps its own activations: its streams must be the same. */
        if (i == 0) TRY(check_streams(f, &batch[i], e));
    }
    return 0;
}

int oracle_model(struct oracle *o, struct err *e)
{
    int rc = 0;
    struct model_file f = {.o = o};
    struct file_batch batch[26];
    int32_t batches_n = 0;
    struct model_options options = {.train = true};
    TRY_OUT(rc, oracle_spec(&f.spec, o->file_own, e));
    for (char letter = 'A'; letter <= 'Z'; letter++) {
        if (!oracle_has(o, "%c.src", letter)) continue;
        struct file_batch *b = &batch[batches_n++];
        TRY_OUT(rc, take_batch(b, o, letter, e));
        if (b->batch.rows > options.rows_max) options.rows_max = b->batch.rows;
        if (b->batch.length > options.length_max) options.length_max = b->batch.length;
        if (b->tokens_n > options.scored_max) options.scored_max = b->tokens_n;
    }
    TRY_OUT(rc, oracle_backend(o, e));
    TRY_OUT(rc, model_open(&f.model_own, o->backend_own, &f.spec, &options, e));
    TRY_OUT(rc, check_batches(&f, batch, batches_n, e));
out:
    model_close(f.model_own);
    return rc;
}
