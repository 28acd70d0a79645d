/* bench_gpu_cases.c - the list of cases, and the spec of each.
 *
 * Model and shard are the paper's (configs/model/wt103_247m.yaml, configs/train), and so are
 * lengths. The tiny model takes milliseconds. */
#include <stdio.h>

#include "bench/bench_gpu.h"

enum { TINY_DIVISOR = 32, BENCH_SEED = 1, SHARD_TOKENS = 9216, PAPER_SHARDS = 8 };

static const char *const kind_names[] = {
    [BENCH_CEILINGS] = "ceilings",     [BENCH_OPS] = "ops",
    [BENCH_TRAIN] = "train",           [BENCH_UPDATE] = "update",
    [BENCH_REPEAT] = "repeat",         [BENCH_EVAL] = "eval",
    [BENCH_CHECKPOINT] = "checkpoint", [BENCH_EVAL1] = "eval1",
    [BENCH_GRAPHS] = "graphs",         [BENCH_SKIP] = "skip",
    [BENCH_SLIDING] = "sliding"};

/* Cases that differ only in the position method. */
struct series {
    enum bench_kind kind;
    int32_t length;
    bool dropout, alibi_only, bf16_only;
};

static const struct series all_series[] = {
    {.kind = BENCH_TRAIN, .length = 1024},
    {.kind = BENCH_TRAIN, .length = 1024, .dropout = true},
    {.kind = BENCH_EVAL, .length = 1024},
    {.kind = BENCH_UPDATE, .length = 1024, .alibi_only = true, .bf16_only = true},
    {.kind = BENCH_TRAIN, .length = 3072},
    {.kind = BENCH_TRAIN, .length = 3072, .dropout = true},
    {.kind = BENCH_EVAL, .length = 3072},
    {.kind = BENCH_EVAL, .length = 16384, .alibi_only = true},
    {.kind = BENCH_EVAL1, .length = 3072},
    {.kind = BENCH_EVAL1, .length = 512},
    {.kind = BENCH_EVAL1, .length = 15512, .alibi_only = true},
    {.kind = BENCH_SLIDING, .length = 3072, .alibi_only = true},
    {.kind = BENCH_SKIP, .length = 3072, .alibi_only = true, .bf16_only = true},
    {.kind = BENCH_SKIP, .length = 16384, .alibi_only = true, .bf16_only = true},
    {.kind = BENCH_SKIP, .length = 1024, .alibi_only = true, .bf16_only = true},
    {.kind = BENCH_REPEAT, .length = 1024, .dropout = true},
    {.kind = BENCH_CHECKPOINT, .length = 1024, .alibi_only = true},
    {.kind = BENCH_GRAPHS, .length = 1024, .alibi_only = true, .bf16_only = true},
    {.kind = BENCH_TRAIN, .length = 512},
    {.kind = BENCH_TRAIN, .length = 512, .dropout = true},
    {.kind = BENCH_EVAL, .length = 512},
};

const char *bench_precision_name(enum spec_precision p)
{
    return p == SPEC_BF16 ? "bf16" : "fp32";
}

static void add_case(struct bench_case *out, int32_t *n, struct bench_case c)
{
    const char *kind = kind_names[c.kind], *precision = bench_precision_name(c.precision);
    if (c.kind == BENCH_CEILINGS)
        snprintf(c.name, sizeof c.name, "%s", kind);
    else if (c.kind == BENCH_OPS)
        snprintf(c.name, sizeof c.name, "%s-%s", kind, precision);
    else
        snprintf(c.name, sizeof c.name, "%s-%s-%d%s-%s", kind, spec_position_name(c.position),
                 c.length, c.dropout ? "-drop" : "", precision);
    out[(*n)++] = c;
}

static void add_series(struct bench_case *out, int32_t *n, const struct series *s,
                       enum spec_precision precision)
{
    static const enum spec_position positions[] = {SPEC_ALIBI, SPEC_SINUSOIDAL, SPEC_ROTARY,
                                                   SPEC_T5};
    if (s->bf16_only && precision != SPEC_BF16) return;
    for (size_t p = 0; p < (s->alibi_only ? 1 : sizeof positions / sizeof *positions); p++)
        add_case(out, n,
                 (struct bench_case){.kind = s->kind,
                                     .position = positions[p],
                                     .length = s->length,
                                     .dropout = s->dropout,
                                     .precision = precision});
}

int32_t bench_cases(struct bench_case out[BENCH_CASES_MAX])
{
    static const enum spec_precision precisions[] = {SPEC_BF16, SPEC_FP32};
    int32_t n = 0;
    add_case(out, &n, (struct bench_case){.kind = BENCH_CEILINGS, .precision = SPEC_BF16});
    for (size_t i = 0; i < sizeof precisions / sizeof *precisions; i++) {
        for (size_t k = 0; k < sizeof all_series / sizeof *all_series; k++)
            add_series(out, &n, &all_series[k], precisions[i]);
        add_case(out, &n, (struct bench_case){.kind = BENCH_OPS, .precision = precisions[i]});
    }
    return n;
}

bool bench_trains(enum bench_kind kind)
{
    return kind == BENCH_TRAIN || kind == BENCH_UPDATE || kind == BENCH_REPEAT ||
           kind == BENCH_CHECKPOINT || kind == BENCH_GRAPHS;
}

int32_t bench_length(int32_t paper, const struct bench_options *o)
{
    return o->tiny ? paper / TINY_DIVISOR : paper;
}

static void spec_of_model(struct spec_model *m, const struct bench_case *c, bool tiny)
{
    m->position = c->position;
    m->layers = tiny ? 2 : 16;
    m->dim = tiny ? 64 : 1024;
    m->heads = 8;
    m->ffn = 4 * m->dim;
    m->softmax = SPEC_ADAPTIVE;
    m->cutoffs_n = 2;
    m->cutoffs[0] = tiny ? 100 : 20000;
    m->cutoffs[1] = tiny ? 300 : 60000;
    m->adaptive_factor = tiny ? 2 : 4;
    m->dropout = c->dropout ? 0.3 : 0.0;
    m->dropout_attention = m->dropout_relu = c->dropout ? 0.1 : 0.0;
    m->dropout_softmax = c->dropout ? 0.2 : 0.0;
}

/* A row longer than a shard, and a single window, make one shard. */
void bench_spec(struct spec *s, const struct bench_case *c, const struct bench_options *o)
{
    bool alone = c->kind == BENCH_EVAL1 || c->kind == BENCH_SLIDING || c->length > SHARD_TOKENS;
    spec_init(s);
    s->kind = c->kind == BENCH_SKIP ? SPEC_TRAIN : SPEC_BENCH; /* trains and scores, or one */
    s->bench_mode = !bench_trains(c->kind);
    spec_of_model(&s->model, c, o->tiny);
    s->option.t5_init_std = 0.03125;
    s->data.vocab = o->tiny ? 1000 : 267744;
    s->train.L = bench_length(c->length, o);
    s->train.shards = c->kind == BENCH_UPDATE ? PAPER_SHARDS : 1;
    s->train.shard_tokens = alone ? s->train.L : bench_length(SHARD_TOKENS, o);
    s->train.optimizer = SPEC_NAG;
    s->train.momentum = 0.99;
    s->train.clip = 0.1;
    s->train.seed = BENCH_SEED;
    s->train.precision = s->eval.precision = c->precision;
}
