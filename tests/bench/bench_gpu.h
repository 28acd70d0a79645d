/* bench_gpu.h - the cases of bench_gpu, and the functions that measure them.
 *
 * One process measures a case and prints one JSON object on one line. Its keys are case, device,
 * gpu, code_id, date, precision, and those that the kind of case adds. A case that the build or the
 * device refuses has "refused" with the message instead. Times are seconds: the median, and the
 * quartiles low and high, device-synchronised, after a warm-up. */
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
    BENCH_REPEAT,     /* the same updates twice: whether the bits are the same */
    BENCH_CHECKPOINT, /* how long a training waits for a checkpoint */
    BENCH_EVAL,       /* a shard of windows */
    BENCH_EVAL1,      /* one window, as the paper's speeds of Tables 2 to 4 and 6 are measured */
    BENCH_GRAPHS,     /* how many shapes batches of text have, and what their graphs cost */
    BENCH_SKIP,       /* what attention skips under ALiBi, and whether results change */
    BENCH_SLIDING,    /* stride 1: separate windows of each length, and one shared pass */
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
    const char *gpu;     /* driver, clocks and power from nvidia-smi; may be empty */
    const char *trained; /* weights for cases of BENCH_SKIP, or NULL */
    bool tiny;           /* a tiny model, lengths / 32, for tests of the benchmark itself */
    bool serve;          /* steps on request instead of a measurement */
    double seconds;      /* of timed steps */
};

/* bench_cases - every case, the most informative first. */
int32_t bench_cases(struct bench_case out[BENCH_CASES_MAX]);

/* bench_trains - whether cases of the kind open the model for training. */
bool bench_trains(enum bench_kind kind);
/* bench_length - the length in tokens for a length of the paper. */
int32_t bench_length(int32_t paper, const struct bench_options *o);
const char *bench_precision_name(enum spec_precision p);

/* bench_spec - the 247M model (or the tiny one) of a case. */
void bench_spec(struct spec *s, const struct bench_case *c, const struct bench_options *o);

/* Each adds its keys to a case's object. bench_ceilings: copy bandwidth, and matrix products by
 * cuda/gemm.h. bench_ops: every op at the model's shapes. */
int bench_ceilings(json_t *out, const struct bench_case *c, const struct bench_options *o,
                   struct err *e);
int bench_ops(json_t *out, const struct bench_case *c, const struct bench_options *o,
              struct err *e);

/* Cases of an open model. bench_repeat: a few updates twice from the same seed, and which tensors
 * differ. bench_checkpoint: how long an update waits for one. bench_skip: scores with and without
 * skipping, and the share of tiles that is not skipped. bench_sliding: seconds a target of every
 * length of Tables 13 to 15, separately and shared, and how many scores differ. bench_graphs:
 * graphs captured and given up in updates of different batches. */
enum { BENCH_WARMUP = 3, BENCH_STEPS = 20, BENCH_TINY_STEPS = 2 };
typedef int bench_steps_fn(json_t *out, struct bench_steps *b, const struct bench_case *c,
                           const struct bench_options *o, struct err *e);
bench_steps_fn bench_repeat, bench_checkpoint, bench_graphs, bench_skip, bench_sliding;

/* bench_serve - runs whole steps on request of another process. First prints `out` with the sizes
 * of a step and the loss and norm of the first. Then, for each number read from stdin, runs so many
 * steps and prints a line with their seconds, losses and norms. Dropout masks differ from step to
 * step, the weights do not. */
int bench_serve(json_t *out, struct bench_steps *b, bench_step step, struct err *e);

/* bench_write_weights - the initial values of every method's tensors, and a batch of tokens, as
 * safetensors for another program. */
int bench_write_weights(const char *path, const struct bench_options *o, struct err *e);

/* bench_table - prints the results in a file as tables. */
int bench_table(const char *path, struct err *e);

#endif
