/* bench_gpu_repeat.c - do two trainings of one seed give the same bits?
 *
 * The second training opens device and model again and restores the algorithms that the first chose
 * by timing, as a resumed attempt does. We compare the loss and norm of every update, and every
 * tensor of the final weights. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "bench/bench_gpu.h"

enum { UPDATES = 5 };
static const double rate = 0.1;

struct run {
    double loss[UPDATES], norm[UPDATES];
    char (*hash_own)[HASH_HEX_BYTES]; /* of each tensor */
    int32_t tensors_n;
};

static int keep_weights(struct run *r, struct model *m, struct err *e)
{
    const struct shape_params *p = model_params(m);
    int rc = 0;
    float *values = malloc((size_t)p->elements_n * sizeof *values);
    r->tensors_n = p->tensors_n;
    r->hash_own = calloc((size_t)p->tensors_n, sizeof *r->hash_own);
    if (!values || !r->hash_own) {
        rc = ERR(e, ERR_NOMEM, "no memory for a copy of the weights");
        goto out;
    }
    for (int32_t i = 0; i < p->tensors_n; i++) {
        size_t n = (size_t)p->tensor[i].rows * (size_t)p->tensor[i].cols;
        TRY_OUT(rc, model_read(m, MODEL_VALUES, i, values, e));
        hash_sha256_hex(r->hash_own[i], values, n * sizeof *values);
    }
out:
    free(values);
    return rc;
}

static int train(struct run *r, struct bench_steps *b, struct err *e)
{
    b->lr = rate;
    for (uint32_t u = 0; u < UPDATES; u++) TRY(bench_train_step(b, u, &r->loss[u], &r->norm[u], e));
    return keep_weights(r, b->model, e);
}

/* Opens device and model again, with the algorithm choices of the first time. */
static int open_again(struct bench_steps *b, const char *device, struct err *e)
{
    const struct spec s = b->spec;
    char *choices = bench_choices(b->backend);
    bench_steps_close(b);
    *b = (struct bench_steps){0};
    int rc = bench_steps_open(b, &s, device, 1, true, e);
    if (rc == 0 && choices && b->backend->ops->restore_choices)
        rc = b->backend->ops->restore_choices(b->backend, choices, e);
    free(choices);
    return rc;
}

int bench_repeat(json_t *out, struct bench_steps *b, const struct bench_case *c,
                 const struct bench_options *o, struct err *e)
{
    struct run runs[2] = {0};
    int rc = 0, updates_differ = 0, tensors_differ = 0;

    (void)c;
    TRY_OUT(rc, train(&runs[0], b, e));
    TRY_OUT(rc, open_again(b, o->device, e));
    TRY_OUT(rc, train(&runs[1], b, e));
    for (int u = 0; u < UPDATES; u++)
        updates_differ += memcmp(&runs[0].loss[u], &runs[1].loss[u], sizeof(double)) != 0 ||
                          memcmp(&runs[0].norm[u], &runs[1].norm[u], sizeof(double)) != 0;
    for (int32_t i = 0; i < runs[0].tensors_n; i++)
        tensors_differ += strcmp(runs[0].hash_own[i], runs[1].hash_own[i]) != 0;
    json_object_update_new(out, json_pack("{s:i, s:i, s:i, s:i, s:i, s:f, s:f}", "updates", UPDATES,
                                          "updates_differ", updates_differ, "tensors",
                                          (int)runs[0].tensors_n, "tensors_differ", tensors_differ,
                                          "differ", updates_differ + tensors_differ, "loss_nats",
                                          runs[0].loss[UPDATES - 1] / b->spec.train.shard_tokens,
                                          "grad_norm", runs[0].norm[UPDATES - 1]));
out:
    free(runs[0].hash_own);
    free(runs[1].hash_own);
    return rc;
}
