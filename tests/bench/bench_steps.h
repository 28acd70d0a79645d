/* bench_steps.h - times whole training and evaluation steps on random tokens, for bench_cpu and
 * bench_gpu. A training step is one update over all shards of the spec.
 *
 * 1. A step ends when its device has finished it.
 * 2. Warm-up steps are not counted. The result is the median, with quartiles.
 * 3. The first step's loss and gradient norm are those of the initial weights: another program with
 *    the same weights and tokens must get the same. */
#ifndef TESTS_BENCH_STEPS_H
#define TESTS_BENCH_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/backend.h"
#include "base/err.h"
#include "model/model.h"

enum { BENCH_STEPS_MAX = 1000 };

struct bench_steps {
    struct spec spec;
    struct backend *backend;
    struct group *group; /* the ranks that share a training step, set before open; NULL: alone */
    struct model *model;
    int32_t *source, *target; /* (shards, rows, length) */
    int32_t *position;        /* (rows, length) */
    float *logp;              /* (rows, length), of the last evaluation step */
    int32_t rows, length, shards;
    int64_t tokens;   /* of a step */
    double lr;        /* 0: every step computes the same numbers, at the same cost */
    int64_t queue_us; /* of the last training step: until its first shard was queued */
};

/* bench_steps_open - opens the spec's model with its seed's initial values on a device, and draws a
 * step's tokens: uniformly, or by Zipf's law, so that the bands of an adaptive softmax get
 * realistic shares. The spec of a benchmark opens what its plan counts; any other kind opens a
 * model that both trains and scores. Call bench_steps_close also after an error. */
int bench_steps_open(struct bench_steps *b, const struct spec *s, const char *device,
                     int32_t threads, bool zipf, struct err *e);
/* bench_steps_stream - the same for scoring `rows` rows of spec.eval.L uniform tokens on the CPU,
 * with streamed weights from a source. */
int bench_steps_stream(struct bench_steps *b, const struct spec *s, int32_t rows, int32_t threads,
                       model_source_fn *source, void *context, struct err *e);
void bench_steps_close(struct bench_steps *b);

/* bench_steps_draw - draws another batch of the same sizes; number 0 is the one that was drawn
 * first. */
void bench_steps_draw(struct bench_steps *b, int64_t number, bool zipf);

/* bench_steps_write - writes the model's tensors, and the batch's tokens as source and target, as
 * safetensors. Errors: ERR_NOMEM, ERR_CREATE, ERR_IO. */
int bench_steps_write(struct bench_steps *b, const char *path, struct err *e);

/* One step. *loss: nats of the batch; *norm: gradient norm before clipping, 0 for an evaluation. */
typedef int (*bench_step)(struct bench_steps *b, uint32_t update, double *loss, double *norm,
                          struct err *e);
int bench_train_step(struct bench_steps *b, uint32_t update, double *loss, double *norm,
                     struct err *e);
int bench_eval_step(struct bench_steps *b, uint32_t update, double *loss, double *norm,
                    struct err *e);

/* Seconds of a step, and its CPU seconds, which are more reliable on a shared machine. first_loss:
 * nats a token. */
struct bench_timing {
    double median_s, low_s, high_s, best_s, cpu_s; /* low, high: quartiles */
    double queue_s; /* median host time before the device can begin a training step */
    int32_t steps_n;
    double first_loss, first_norm;
};

/* bench_time - runs `warmup` steps, then at least `least_n` steps and `seconds` seconds, but at
 * most BENCH_STEPS_MAX steps. */
int bench_time(struct bench_steps *b, bench_step step, int32_t warmup, int32_t least_n,
               double seconds, struct bench_timing *out, struct err *e);

/* bench_choices - the device's algorithm choices in new heap memory; NULL: it has none, or no
 * memory. cuda/README.md explains the format. */
char *bench_choices(struct backend *b);

/* bench_quartiles - sorts n seconds and sets the first four members of out. */
void bench_quartiles(double *seconds, int32_t n, struct bench_timing *out);

#endif
