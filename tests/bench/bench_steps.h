/* bench_steps.h - whole training and evaluation steps on made-up tokens, timed: what bench_cpu and
 * bench_gpu share. A training step is one update over all shards of the spec.
 *
 * 1. A step ends when its device is done with it.
 * 2. Steps that warm up are not counted; the figure is the median, beside the quartiles.
 * 3. The first step's loss and gradient norm are those of the initial weights: what another program
 *    with the same weights and tokens must find too. */
#ifndef TESTS_BENCH_STEPS_H
#define TESTS_BENCH_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/backend.h"
#include "base/err.h"
#include "model/model.h"

enum { BENCH_STEPS_MAX = 1000 };

struct bench_steps {
    struct backend *backend;
    struct model *model;
    int32_t *source, *target; /* (shards, rows, length) */
    int32_t *position;        /* (rows, length) */
    float *logp;              /* (rows, length), of the last evaluation step */
    int32_t rows, length, shards;
    int64_t tokens;      /* of a step */
    double lr;           /* 0 keeps every step's numbers alike and costs the same */
    int64_t empty_bytes; /* in use on the device before the model was opened */
    int64_t queue_us;    /* of the last training step: till its first shard was queued */
};

/* bench_steps_open - the spec's model with its seed's initial values on a device, and a step's
 * tokens: uniform ones, or with the frequencies of Zipf's law, so that the bands of an adaptive
 * softmax get their natural shares. The spec of a benchmark opens what its plan counts, any other
 * kind a model that both trains and scores. On an error bench_steps_close is still to be called. */
int bench_steps_open(struct bench_steps *b, const struct spec *s, const char *device,
                     int32_t threads, bool zipf, struct err *e);
void bench_steps_close(struct bench_steps *b);

/* bench_steps_write - the model's values under their names, and the batch's tokens as source and
 * target, as safetensors for another program. Errors: ERR_NOMEM, ERR_CREATE, ERR_IO. */
int bench_steps_write(struct bench_steps *b, const char *path, struct err *e);

/* One step; *loss: nats of the batch; *norm: of the gradient before clipping, 0 of an evaluation.
 */
typedef int (*bench_step)(struct bench_steps *b, uint32_t update, double *loss, double *norm,
                          struct err *e);
int bench_train_step(struct bench_steps *b, uint32_t update, double *loss, double *norm,
                     struct err *e);
int bench_eval_step(struct bench_steps *b, uint32_t update, double *loss, double *norm,
                    struct err *e);

/* Seconds of a step, and of processor time, which is what to trust on a machine that others use.
 * first_loss: nats a token. */
struct bench_timing {
    double median_s, low_s, high_s, best_s, cpu_s; /* low, high: quartiles */
    double queue_s; /* median of what the host does before the device can begin a training step */
    int32_t steps_n;
    double first_loss, first_norm;
};

/* bench_time - `warmup` steps, then at least `least_n` and `seconds` of them, BENCH_STEPS_MAX at
 * most. */
int bench_time(struct bench_steps *b, bench_step step, int32_t warmup, int32_t least_n,
               double seconds, struct bench_timing *out, struct err *e);

/* bench_quartiles - fills the first four of out from n seconds, which it sorts. */
void bench_quartiles(double *seconds, int32_t n, struct bench_timing *out);

#endif
