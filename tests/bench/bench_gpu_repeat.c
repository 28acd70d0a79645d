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
    char *choices_own;
};

static void run_fini(struct run *r)
{
    free(r->hash_own);
    free(r->choices_own);
}

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

static int keep_choices(struct run *r, struct backend *b, struct err *e)
{
    if (!b->ops->choices) return 0;
    size_t bytes = b->ops->choices(b, NULL, 0) + 1;
    r->choices_own = malloc(bytes);
    if (!r->choices_own) return ERR(e, ERR_NOMEM, "no memory for %zu bytes of choices", bytes);
    (void)b->ops->choices(b, r->choices_own, bytes);
    return 0;
}

/* choices: NULL, or algorithm choices to restore. */
static int train(struct run *r, const struct spec *s, const char *device, const char *choices,
                 struct err *e)
{
    struct bench_steps b = {.lr = rate};
    int rc = bench_steps_open(&b, s, device, 1, true, e);
    if (rc == 0 && choices && b.backend->ops->restore_choices)
        rc = b.backend->ops->restore_choices(b.backend, choices, e);
    for (uint32_t u = 0; rc == 0 && u < UPDATES; u++)
        rc = bench_train_step(&b, u, &r->loss[u], &r->norm[u], e);
    if (rc == 0) rc = keep_weights(r, b.model, e);
    if (rc == 0) rc = keep_choices(r, b.backend, e);
    bench_steps_close(&b);
    return rc;
}

int bench_repeat(json_t *out, const struct bench_case *c, const struct bench_options *o,
                 struct err *e)
{
    struct run runs[2] = {0};
    struct spec s;
    int rc = 0, updates_differ = 0, tensors_differ = 0;

    bench_spec(&s, c, o);
    TRY_OUT(rc, train(&runs[0], &s, o->device, NULL, e));
    TRY_OUT(rc, train(&runs[1], &s, o->device, runs[0].choices_own, e));
    for (int u = 0; u < UPDATES; u++)
        updates_differ += memcmp(&runs[0].loss[u], &runs[1].loss[u], sizeof(double)) != 0 ||
                          memcmp(&runs[0].norm[u], &runs[1].norm[u], sizeof(double)) != 0;
    for (int32_t i = 0; i < runs[0].tensors_n; i++)
        tensors_differ += strcmp(runs[0].hash_own[i], runs[1].hash_own[i]) != 0;
    json_object_update_new(out, json_pack("{s:i, s:i, s:i, s:i, s:i, s:f, s:f}", "updates", UPDATES,
                                          "updates_differ", updates_differ, "tensors",
                                          (int)runs[0].tensors_n, "tensors_differ", tensors_differ,
                                          "differ", updates_differ + tensors_differ, "loss_nats",
                                          runs[0].loss[UPDATES - 1] / s.train.shard_tokens,
                                          "grad_norm", runs[0].norm[UPDATES - 1]));
out:
    run_fini(&runs[0]);
    run_fini(&runs[1]);
    return rc;
}
