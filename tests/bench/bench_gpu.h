/* bench_gpu.h - the inside of bench_gpu: cases, and the parts that measure them.
 *
 * A case is measured by one process and becomes one object of JSON on one line. Its keys: case,
 * device, gpu, code_id, date, precision, and what the kind of case adds; a case that the build or
 * the device refuses has "refused" with the sentence instead. Times are seconds: the median, and
 * the quartiles low and high, device-synchronised, after a warm-up. */
#ifndef TESTS_BENCH_GPU_H
#define TESTS_BENCH_GPU_H

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"
#include "bench/bench_steps.h"
#include "spec/spec.h"

enum { BENCH_NAME_BYTES = 64, BENCH_CASES_MAX = 128 };

enum bench_kind { BENCH_CEILINGS, BENCH_OPS, BENCH_TRAIN, BENCH_EVAL };

/* Such as train-alibi-1024-drop-bf16; the length is the paper's. */
struct bench_case {
    char name[BENCH_NAME_BYTES];
    enum bench_kind kind;
    enum spec_position position;
    int32_t length;
    bool dropout;
    enum spec_precision precision;
};

struct bench_options {
    const char *device;
    const char *gpu; /* what nvidia-smi says of driver, clocks, power; may be empty */
    bool tiny;       /* a model for a test of the benchmark itself: lengths / 32 */
    double seconds;  /* of timed steps */
};

/* bench_cases - every case, the ones that say most first. */
int32_t bench_cases(struct bench_case out[BENCH_CASES_MAX]);

/* bench_spec - the 247M model (or the tiny one) of a case. */
void bench_spec(struct spec *s, const struct bench_case *c, const struct bench_options *o);

/* bench_rows - one measured op: a name, its seconds and what it moves and computes. */
json_t *bench_row(const char *name, const struct bench_timing *t, double bytes, double flops);

/* Each adds its keys to a case's object. bench_ceilings: copy bandwidth and matrix products as
 * cuda/gemm.h makes them. bench_ops: every op at the model's shapes. */
int bench_ceilings(json_t *out, const struct bench_case *c, const struct bench_options *o,
                   struct err *e);
int bench_ops(json_t *out, const struct bench_case *c, const struct bench_options *o,
              struct err *e);

/* bench_serve - whole steps as another process asks for them: a first line on stdout, out with the
 * loss and norm of the first step, then for each number on stdin a line with the seconds of so many
 * steps, until the end of stdin. */
int bench_serve(json_t *out, struct bench_steps *b, bench_step step, struct err *e);

/* bench_write_weights - the initial values of every method's tensors, and a batch of tokens, as
 * safetensors for another program. */
int bench_write_weights(const char *path, const struct bench_options *o, struct err *e);

/* bench_table - the results of a file of lines, for people. */
int bench_table(const char *path, struct err *e);

#endif
