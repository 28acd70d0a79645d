/* oracle_trace.c - training traces: the authors' trainer for some updates, from w0 (or a model
 * file's weights) by w1 to wN. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/oracle.h"

struct trace {
    struct oracle *o;
    struct model *model_own;
    struct spec spec;
    const int32_t *source, *target; /* (batches, rows, length) */
    const int32_t *used;            /* (updates, per_update) batches; below 0: none */
    int32_t batches_n, rows, length;
    int64_t updates_n, per_update;
    float *loss, *norm; /* (updates, per_update), (updates) computed here */
    const float *rate;  /* (updates) */
};

/* Optimiser and rates that the trace was made with. */
static int set_training(struct trace *t, struct err *e)
{
    struct oracle *o = t->o;
    struct spec_train *train = &t->spec.train;
    const char *optimizer = safetensors_metadata(o->file_own, "optimizer");
    if (optimizer == NULL || strcmp(optimizer, "nag") != 0)
        return ERR(e, ERR_DATA, "metadata optimizer is %s, only nag is known in traces",
                   optimizer == NULL ? "absent" : optimizer);
    TRY(oracle_number(&train->momentum, o, e, "momentum"));
    TRY(oracle_number(&train->weight_decay, o, e, "weight_decay"));
    TRY(oracle_number(&train->clip, o, e, "clip_norm"));
    return oracle_number(&train->lr, o, e, "lr_max");
}

static int take_batches(struct trace *t, struct err *e)
{
    struct oracle *o = t->o;
    const struct safetensors_entry *source = NULL, *target = NULL, *used = NULL, *rate = NULL;
    TRY(oracle_take(&source, o, "I32", -1, e, "batch.src"));
    TRY(oracle_take(&target, o, "I32", source->elements_n, e, "batch.tgt"));
    TRY(oracle_take(&used, o, "I32", -1, e, "used"));
    if (source->dims_n != 3 || used->dims_n != 2 || source->elements_n > INT32_MAX)
        return ERR(e, ERR_DATA, "batch.src and used have %d and %d dimensions, expected 3 and 2",
                   source->dims_n, used->dims_n);
    t->source = source->data;
    t->target = target->data;
    t->batches_n = (int32_t)source->dims[0];
    t->rows = (int32_t)source->dims[1];
    t->length = (int32_t)source->dims[2];
    t->used = used->data;
    t->updates_n = used->dims[0];
    t->per_update = used->dims[1];
    TRY(oracle_take(&rate, o, "F32", t->updates_n, e, "lr"));
    t->rate = rate->data;
    t->loss = arena_array(&o->arena, (size_t)used->elements_n, sizeof *t->loss);
    t->norm = arena_array(&o->arena, (size_t)t->updates_n, sizeof *t->norm);
    return 0;
}

static int run_update(struct trace *t, int64_t u, struct err *e)
{
    int64_t tokens = (int64_t)t->rows * t->length, targets = 0, done = 0;
    for (int64_t j = 0; j < t->per_update; j++) {
        int32_t k = t->used[u * t->per_update + j];
        double loss = 0.0;
        if (k < 0) continue;
        if (k >= t->batches_n)
            return ERR(e, ERR_DATA, "used[%" PRId64 "] is %d, beyond the %d batches", u, k,
                       t->batches_n);
        struct model_batch batch = {.source = t->source + k * tokens,
                                    .target = t->target + k * tokens,
                                    .rows = t->rows,
                                    .length = t->length,
                                    .first_row = done * t->rows};
        TRY(model_train_batch(t->model_own, &batch, (uint32_t)u, done > 0, &loss, e));
        t->loss[u * t->per_update + j] = (float)loss;
        targets += oracle_targets(batch.target, tokens);
        done++;
    }
    double norm = 0.0;
    struct model_update update = {.update = (uint32_t)u,
                                  .lr = (double)t->rate[u],
                                  .lr_previous = u == 0 ? t->spec.train.lr : (double)t->rate[u - 1],
                                  .targets_n = targets};
    TRY(model_apply(t->model_own, &update, &norm, e));
    t->norm[u] = (float)norm;
    return 0;
}

static int compare_weights(struct trace *t, const char *prefix, struct err *e)
{
    struct oracle *o = t->o;
    const struct shape_params *params = model_params(t->model_own);
    if (!oracle_has(o, "%s.%s", prefix, params->tensor[0].name)) return 0; /* not in this trace */
    for (int32_t i = 0; i < params->tensors_n; i++) {
        const struct shape_tensor *tensor = &params->tensor[i];
        const struct safetensors_entry *want = NULL;
        int64_t n = (int64_t)tensor->rows * tensor->cols;
        TRY(oracle_take(&want, o, "F32", n, e, "%s.%s", prefix, tensor->name));
        float *got = arena_array(&o->arena, (size_t)n, sizeof *got);
        TRY(model_read(t->model_own, MODEL_VALUES, i, got, e));
        oracle_compare(o, ORACLE_WEIGHT, want->name, got, want->data, n);
    }
    return 0;
}

static int compare_course(struct trace *t, struct err *e)
{
    struct oracle *o = t->o;
    const struct safetensors_entry *want = NULL;
    TRY(oracle_take(&want, o, "F32", t->updates_n * t->per_update, e, "loss_sum"));
    oracle_compare(o, ORACLE_LOSS, want->name, t->loss, want->data, want->elements_n);
    TRY(oracle_take(&want, o, "F32", t->updates_n, e, "grad_norm"));
    oracle_compare(o, ORACLE_NORM, want->name, t->norm, want->data, want->elements_n);
    TRY(oracle_compare_metadata(o, ORACLE_LOSS, "loss_sum_exact", t->loss,
                                t->updates_n * t->per_update, e));
    TRY(oracle_compare_metadata(o, ORACLE_RATE, "lr_exact", t->rate, t->updates_n, e));
    return oracle_compare_metadata(o, ORACLE_NORM, "grad_norm_exact", t->norm, t->updates_n, e);
}

/* The start: w0.* of the trace, or the weights of the file it names. */
static int load_start(struct trace *t, struct err *e)
{
    struct safetensors *weights = NULL;
    if (oracle_has(t->o, "w0.%s", model_params(t->model_own)->tensor[0].name))
        return oracle_load(t->model_own, t->o->file_own, "w0", t->o, e);
    TRY(oracle_weights_open(&weights, t->o, e));
    int rc = oracle_load(t->model_own, weights, "w", NULL, e);
    safetensors_close(weights);
    return rc;
}

int oracle_trace(struct oracle *o, struct err *e)
{
    int rc = 0;
    struct trace t = {.o = o};
    TRY_OUT(rc, oracle_spec(&t.spec, o->file_own, e));
    TRY_OUT(rc, set_training(&t, e));
    TRY_OUT(rc, take_batches(&t, e));
    struct model_options options = {.train = true, .rows_max = t.rows, .length_max = t.length};
    TRY_OUT(rc, oracle_backend(o, e));
    TRY_OUT(rc, model_open(&t.model_own, o->backend_own, &t.spec, &options, e));
    TRY_OUT(rc, load_start(&t, e));
    for (int64_t u = 0; u < t.updates_n; u++) {
        TRY_OUT(rc, run_update(&t, u, e));
        if (u == 0) TRY_OUT(rc, compare_weights(&t, "w1", e));
    }
    TRY_OUT(rc, compare_weights(&t, "wN", e));
    TRY_OUT(rc, compare_course(&t, e));
out:
    model_close(t.model_own);
    return rc;
}
