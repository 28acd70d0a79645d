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

enum bench_kind {
    BENCH_CEILINGS,   /* copies, matrix products */
    BENCH_OPS,        /* one op at a time */
    BENCH_TRAIN,      /* an update of one shard */
    BENCH_UPDATE,     /* one of the paper's eight shards */
    BENCH_REPEAT,     /* the same updates twice: do they give the same bits */
    BENCH_CHECKPOINT, /* how long a training waits for one */
    BENCH_EVAL,       /* a shard of windows */
    BENCH_EVAL1,      /* one window, as the paper's speeds of Tables 2 to 4 and 6 are measured */
    BENCH_SKIP,       /* what ALiBi leaves out of attention, and whether it shows */
    BENCH_SLIDING,    /* stride 1: windows of each length, and one pass that serves all lengths */
    BENCH_KINDS_N
};

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
    const char *gpu;     /* what nvidia-smi reports of driver, clocks, power; may be empty */
    const char *trained; /* weights for cases of BENCH_SKIP, or NULL */
    bool tiny;           /* a model for a test of the benchmark itself: lengths / 32 */
    double seconds;      /* of timed steps */
};

/* bench_cases - every case, the ones that say most first. */
int32_t bench_cases(struct bench_case out[BENCH_CASES_MAX]);

/* bench_trains - whether cases of the kind open the model for training. */
bool bench_trains(enum bench_kind kind);
/* bench_length - tokens that represent so many of the paper's model. */
int32_t bench_length(int32_t paper, const struct bench_options *o);
const char *bench_precision_name(enum spec_precision p);

/* bench_spec - the 247M model (or the tiny one) of a case. */
void bench_spec(struct spec *s, const struct bench_case *c, const struct bench_options *o);

/* Each adds its keys to a case's object. bench_ceilings: copy bandwidth and matrix products as
 * cuda/gemm.h makes them. bench_ops: every op at the model's shapes. */
int bench_ceilings(json_t *out, const struct bench_case *c, const struct bench_options *o,
                   struct err *e);
int bench_ops(json_t *out, const struct bench_case *c, const struct bench_options *o,
              struct err *e);

/* bench_repeat: a few updates twice from the same seed, and which tensors differ. bench_skip:
 * scores with and without what attention leaves out, and the share that it does not. bench_sliding:
 * seconds a target of every length of Tables 13 to 15 apart and together, and which scores differ.
 */
int bench_repeat(json_t *out, const struct bench_case *c, const struct bench_options *o,
                 struct err *e);
int bench_checkpoint(json_t *out, const struct bench_case *c, const struct bench_options *o,
                     struct err *e);
int bench_skip(json_t *out, const struct bench_case *c, const struct bench_options *o,
               struct err *e);
int bench_sliding(json_t *out, const struct bench_case *c, const struct bench_options *o,
                  struct err *e);

/* bench_serve - whole steps as another process asks for them: a first line on stdout, out with the
 * sizes of a step and the loss and norm of the first, then for each number on stdin a line with
 * seconds, losses and norms of so many steps, until the end of stdin. Dropout's masks differ from
 * step to step, the weights do not. */
int bench_serve(json_t *out, struct bench_steps *b, bench_step step, struct err *e);

/* bench_write_weights - the initial values of every method's tensors, and a batch of tokens, as
 * safetensors for another program. */
int bench_write_weights(const char *path, const struct bench_options *o, struct err *e);

/* bench_table - the results of a file of lines, for people. */
int bench_table(const char *path, struct err *e);

#endif
