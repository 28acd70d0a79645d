/* oracle_trace.c - training traces: the authors' trainer for some updates, from w0 (or a model
 * file's weights) by w1 to wN. The trace of a continued training begins at update update_first,
 * with the optimiser state m0 (Adam: also v0) if the file has it. */
#include <inttypes.h>
#include <string.h>

#include "model/oracle.h"

struct trace {
    struct spec spec;
    const int32_t *source, *target; /* (batches, rows, length) */
    const int32_t *used;            /* (updates, per_update) batches; below 0: none */
    int32_t batches_n, rows, length;
    int64_t updates_n, per_update;
    float *loss, *norm; /* (updates, per_update), (updates) computed here */
    const float *rate;  /* (updates) */
    int64_t first;      /* the number of the first update */
    double rate_before; /* of the update before it */
};

/* Model, optimiser and rates that the trace was made with. */
static void set_training(struct trace *t, struct oracle *o)
{
    struct spec_train *train = &t->spec.train;
    const char *optimizer = oracle_text(o, "optimizer");
    if (optimizer == NULL) oracle_reject(o, "there is no metadata optimizer");
    oracle_spec(o, &t->spec, o->file_own);
    oracle_must(o, spec_set(&t->spec, spec_key_find("train.optimizer"), optimizer, &o->e));
    if (train->optimizer == SPEC_ADAM) {
        train->adam_beta1 = oracle_number(o, "adam_beta1");
        train->adam_beta2 = oracle_number(o, "adam_beta2");
        train->adam_eps = oracle_number(o, "adam_eps");
    } else {
        train->momentum = oracle_number(o, "momentum");
    }
    train->weight_decay = oracle_number(o, "weight_decay");
    train->clip = oracle_number(o, "clip_norm");
    train->lr = oracle_number(o, "lr_max");
    t->first = oracle_text(o, "update_first") ? (int64_t)oracle_number(o, "update_first") : 0;
    t->rate_before = oracle_text(o, "lr_before") ? oracle_number(o, "lr_before") : train->lr;
}

static void take_batches(struct trace *t, struct oracle *o)
{
    const struct safetensors_entry *source = oracle_take(o, "I32", -1, "batch.src");
    const struct safetensors_entry *used = oracle_take(o, "I32", -1, "used");
    if (source->dims_n != 3 || used->dims_n != 2 || source->elements_n > INT32_MAX)
        oracle_reject(o, "batch.src and used have %d and %d dimensions, expected 3 and 2",
                      source->dims_n, used->dims_n);
    t->source = source->data;
    t->target = oracle_ints(o, source->elements_n, "batch.tgt");
    t->batches_n = (int32_t)source->dims[0];
    t->rows = (int32_t)source->dims[1];
    t->length = (int32_t)source->dims[2];
    t->used = used->data;
    t->updates_n = used->dims[0];
    t->per_update = used->dims[1];
    t->rate = oracle_floats(o, t->updates_n, "lr");
    t->loss = oracle_array(o, used->elements_n);
    t->norm = oracle_array(o, t->updates_n);
}

static void run_update(struct trace *t, struct oracle *o, int64_t u)
{
    int64_t tokens = (int64_t)t->rows * t->length, targets = 0, done = 0;
    double loss = 0.0, norm = 0.0;
    for (int64_t j = 0; j < t->per_update; j++) {
        int32_t k = t->used[u * t->per_update + j];
        if (k < 0) continue;
        if (k >= t->batches_n)
            oracle_reject(o, "used[%" PRId64 "] is %d, beyond the %d batches", u, k, t->batches_n);
        const struct model_batch batch = {.source = t->source + k * tokens,
                                          .target = t->target + k * tokens,
                                          .rows = t->rows,
                                          .length = t->length,
                                          .first_row = done * t->rows};
        oracle_must(o, model_train_batch(o->model_own, &batch, (uint32_t)(t->first + u),
                                         (int32_t)done, &loss, &o->e));
        t->loss[u * t->per_update + j] = (float)loss;
        targets += oracle_targets(batch.target, tokens);
        done++;
    }
    const struct model_update update = {.update = (uint32_t)(t->first + u),
                                        .lr = (double)t->rate[u],
                                        .lr_previous =
                                            u == 0 ? t->rate_before : (double)t->rate[u - 1],
                                        .targets_n = targets,
                                        .shards_n = (int32_t)done};
    oracle_must(o, model_apply(o->model_own, &update, &norm, &o->e));
    t->norm[u] = (float)norm;
}

/* Optimiser state that the updates begin with; without it: zeros. */
static void load_state(struct oracle *o, const char *prefix, enum model_array array)
{
    const struct shape_params *params = model_params(o->model_own);
    if (!oracle_has(o, oracle_name(o, "%s.%s", prefix, params->tensor[0].name))) return;
    for (int32_t i = 0; i < params->tensors_n; i++) {
        int64_t n = (int64_t)params->tensor[i].rows * params->tensor[i].cols;
        const char *name = oracle_name(o, "%s.%s", prefix, params->tensor[i].name);
        oracle_must(o, model_write(o->model_own, array, i, oracle_floats(o, n, name), &o->e));
    }
}

static void check_weights(struct oracle *o, const char *prefix)
{
    const struct shape_params *params = model_params(o->model_own);
    if (!oracle_has(o, oracle_name(o, "%s.%s", prefix, params->tensor[0].name))) return;
    for (int32_t i = 0; i < params->tensors_n; i++) {
        int64_t n = (int64_t)params->tensor[i].rows * params->tensor[i].cols;
        float *got = oracle_array(o, n);
        oracle_must(o, model_read(o->model_own, MODEL_VALUES, i, got, &o->e));
        oracle_check(o, ORACLE_WEIGHT, got, n,
                     oracle_name(o, "%s.%s", prefix, params->tensor[i].name));
    }
}

void oracle_trace(struct oracle *o)
{
    struct trace t;
    set_training(&t, o);
    take_batches(&t, o);
    t.spec.train.shards = (int32_t)t.per_update;
    const struct shape_capacity options = {
        .train = true, .rows_max = t.rows, .length_max = t.length};
    oracle_model_open(o, &t.spec, &options);
    if (oracle_has(o, oracle_name(o, "w0.%s", model_params(o->model_own)->tensor[0].name)))
        oracle_load(o, "w0");
    else
        oracle_load_weights(o, &t.spec);
    load_state(o, "m0", MODEL_STATE_0);
    load_state(o, "v0", MODEL_STATE_1);
    for (int64_t u = 0; u < t.updates_n; u++) {
        run_update(&t, o, u);
        if (u == 0) check_weights(o, "w1");
    }
    check_weights(o, "wN");
    int64_t batches_n = t.updates_n * t.per_update;
    oracle_check(o, ORACLE_LOSS, t.loss, batches_n, "loss_sum");
    oracle_check(o, ORACLE_NORM, t.norm, t.updates_n, "grad_norm");
    oracle_compare_metadata(o, ORACLE_LOSS, "loss_sum_exact", t.loss, batches_n);
    oracle_compare_metadata(o, ORACLE_RATE, "lr_exact", t.rate, t.updates_n);
    oracle_compare_metadata(o, ORACLE_NORM, "grad_norm_exact", t.norm, t.updates_n);
}
