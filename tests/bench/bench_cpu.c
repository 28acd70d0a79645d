/* bench_cpu.c - measures whole training and evaluation steps of the CPU backend.
 *
 * A call measures one profile with one number of threads: a plain tied softmax, final norm, NAG,
 * clipping and a position method (ALiBi) on random tokens. It prints one line of JSON, which run.sh
 * compares with that of peer_torch.py: the same model from the file of --weights, which must have
 * the same loss and gradient norm. The peak is that of fused multiply-adds of the same
 * instruction set, measured in the same process and in processor time, so that the share of the
 * peak is fair on a throttled or shared machine. ALIBI_KERNELS=v3 measures an AVX-512 machine
 * without AVX-512. With --ranks P as many processes share the shards of a training step. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/str.h"
#include "bench/bench_steps.h"
#include "cpu/cpu.h"
#include "group/group.h"

struct profile {
    const char *name;
    int32_t layers, dim, vocab, L, batch_tokens;
};
static const struct profile profiles[] = {
    {"d64", 2, 64, 1024, 64, 768},     {"d64-long", 2, 64, 1024, 384, 768},
    {"d128", 3, 128, 1024, 64, 1024},  {"d256", 4, 256, 8192, 256, 2048},
    {"d512", 6, 512, 8192, 512, 2048},
};
enum { HEADS = 8, WARMUP = 3, STEPS = 5, RANKS_STEPS = 8, PEAK_ROUNDS = 400000 };

struct bench {
    const struct profile *profile;
    enum spec_position position;
    int32_t threads, length, shards;
    int32_t rank, ranks_n;
    double seconds;   /* of timed training; evaluation gets half as much. Ranks make RANKS_STEPS */
    const char *blas; /* NULL: what the backend chooses */
    const char *weights; /* NULL, or a file: only writes it */
    struct bench_steps steps;
};

/* Twelve independent chains of multiply-adds: enough to hide their latency. Returns flops. */
#if defined(__x86_64__)
__attribute__((target("avx512f"))) static double peak_avx512(float *out)
{
    __m512 x[12], a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(0.001f);
#pragma GCC unroll 12
    for (int i = 0; i < 12; i++) x[i] = _mm512_set1_ps((float)i);
    for (int r = 0; r < PEAK_ROUNDS; r++)
#pragma GCC unroll 12
        for (int i = 0; i < 12; i++) x[i] = _mm512_fmadd_ps(x[i], a, b);
#pragma GCC unroll 12
    for (int i = 1; i < 12; i++) x[0] = _mm512_add_ps(x[0], x[i]);
    *out = _mm512_reduce_add_ps(x[0]);
    return 12.0 * 16.0 * 2.0 * PEAK_ROUNDS;
}

__attribute__((target("avx2,fma"))) static double peak_avx2(float *out)
{
    __m256 x[12], a = _mm256_set1_ps(0.999f), b = _mm256_set1_ps(0.001f);
#pragma GCC unroll 12
    for (int i = 0; i < 12; i++) x[i] = _mm256_set1_ps((float)i);
    for (int r = 0; r < PEAK_ROUNDS; r++)
#pragma GCC unroll 12
        for (int i = 0; i < 12; i++) x[i] = _mm256_fmadd_ps(x[i], a, b);
#pragma GCC unroll 12
    for (int i = 1; i < 12; i++) x[0] = _mm256_add_ps(x[0], x[i]);
    float lane[8];
    _mm256_storeu_ps(lane, x[0]);
    *out = lane[0];
    return 12.0 * 8.0 * 2.0 * PEAK_ROUNDS;
}
#endif

static double peak_flops(const char *kernels, float *out)
{
#if defined(__x86_64__)
    if (strcmp(kernels, "v4") == 0) return peak_avx512(out);
    if (strcmp(kernels, "v3") == 0) return peak_avx2(out);
#endif
    (void)kernels;
    *out = 0.0f;
    return 0.0;
}

/* The best of five bursts of a thread, GFLOP per second of its processor time; 0 if not implemented
 * for these kernels. */
static double peak_gflops(const char *kernels)
{
    double best = 0.0;
    for (int round = 0; round < 5; round++) {
        float out;
        clock_t start = clock();
        double flops = peak_flops(kernels, &out);
        double took = (double)(clock() - start) / CLOCKS_PER_SEC;
        double rate = took > 0.0 ? flops / took * 1e-9 : 0.0;
        if (out == 12345.0f) fputs(" ", stderr); /* so that the compiler keeps the chains */
        if (rate > best) best = rate;
    }
    return best;
}

static void fill_spec(struct spec *s, const struct bench *b)
{
    const struct profile *p = b->profile;
    spec_init(s);
    s->kind = SPEC_TRAIN;
    s->model.position = b->position;
    s->model.layers = p->layers;
    s->model.dim = p->dim;
    s->model.heads = HEADS;
    s->model.ffn = 4 * p->dim;
    s->model.softmax = SPEC_PLAIN;
    s->model.final_norm = true;
    s->model.dropout = s->model.dropout_attention = 0.0;
    s->model.dropout_relu = s->model.dropout_softmax = 0.0;
    s->data.vocab = p->vocab;
    s->train.L = b->length;
    s->train.shards = b->shards;
    s->train.shard_tokens = p->batch_tokens > b->length ? p->batch_tokens : b->length;
    s->train.optimizer = SPEC_NAG;
    s->train.momentum = 0.99;
    s->train.clip = 0.1;
    s->train.seed = 1;
}

/* Floating-point operations of one token forward, attention counted causally. */
static double forward_flops(const struct bench *b)
{
    const struct profile *p = b->profile;
    double d = p->dim, layer = 2.0 * (4.0 * d * d + 2.0 * d * 4.0 * d) + 2.0 * b->length * d;
    return p->layers * layer + 2.0 * d * p->vocab;
}

static double rate(const struct bench *b, double seconds)
{
    return (double)b->steps.tokens / seconds;
}

/* Shares of the peak are of processor time: on a machine with other load they stay comparable. */
static void bench_print(const struct bench *b, const struct bench_timing *train,
                        const struct bench_timing *eval)
{
    double peak = peak_gflops(cpu_of(b->steps.backend)->simd->name);
    double eval_gflops = forward_flops(b) * rate(b, eval->cpu_s) * 1e-9;
    double gflops = 3.0 * forward_flops(b) * rate(b, train->cpu_s) * 1e-9;
    printf("{\"side\": \"alibi\", \"profile\": \"%s\", \"position\": \"%s\", \"L\": %d, "
           "\"threads\": %d, \"ranks\": %d, \"shards\": %d, \"kernels\": \"%s\", "
           "\"train_tok_s\": %.0f, \"train_tok_s_best\": %.0f, \"train_tok_cpu_s\": %.0f, "
           "\"eval_tok_s\": %.0f, \"eval_tok_s_best\": %.0f, \"eval_tok_cpu_s\": %.0f, ",
           b->profile->name, spec_position_name(b->position), b->length, b->threads, b->ranks_n,
           b->shards, cpu_of(b->steps.backend)->simd->name, rate(b, train->median_s),
           rate(b, train->best_s), rate(b, train->cpu_s), rate(b, eval->median_s),
           rate(b, eval->best_s), rate(b, eval->cpu_s));
    printf("\"train_gflops\": %.1f, \"eval_gflops\": %.1f, \"peak_gflops\": %.1f, "
           "\"share_of_peak\": %.3f, \"eval_share_of_peak\": %.3f, "
           "\"loss_nats\": %.9g, \"eval_loss_nats\": %.9g, \"grad_norm\": %.9g, "
           "\"device\": \"%s\", \"blas\": \"%s\"}\n",
           gflops, eval_gflops, peak, peak > 0.0 ? gflops / peak : 0.0,
           peak > 0.0 ? eval_gflops / peak : 0.0, train->first_loss, eval->first_loss,
           train->first_norm, b->steps.backend->device, b->steps.backend->blas);
}

static int bench_run(struct bench *b, struct err *e)
{
    struct bench_timing train, eval;
    struct spec s;
    fill_spec(&s, b);
    b->steps.lr = 1e-3;
    TRY(bench_steps_open(&b->steps, &s, "cpu", b->threads, false, e));
    if (b->weights) return bench_steps_write(&b->steps, b->weights, e);
    if (b->blas) TRY(cpu_use_library(b->steps.backend, e));
    /* All ranks make the same number of steps. */
    int32_t steps_n = b->ranks_n > 1 ? RANKS_STEPS : STEPS;
    double seconds = b->ranks_n > 1 ? 0.0 : b->seconds;
    /* Scoring first, so that both start from the initial weights. */
    TRY(bench_time(&b->steps, bench_eval_step, WARMUP, STEPS, seconds / 2.0, &eval, e));
    TRY(bench_time(&b->steps, bench_train_step, WARMUP, steps_n, seconds, &train, e));
    if (b->rank == 0) bench_print(b, &train, &eval);
    return 0;
}

/* Runs the benchmark as one of several ranks, which it starts. */
static int bench_ranks(struct bench *b, struct err *e)
{
    char dir[] = "/tmp/alibi-bench-XXXXXX", meet[sizeof dir + 8];
    if (!mkdtemp(dir)) return ERR(e, ERR_CREATE, "%s: cannot be created", dir);
    snprintf(meet, sizeof meet, "%s/meet", dir);
    while (b->rank + 1 < b->ranks_n) {
        pid_t pid = fork();
        if (pid < 0) return ERR(e, ERR_NOMEM, "rank %d: no process", b->rank + 1);
        if (pid > 0) break;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        b->rank++;
    }
    const struct group_options o = {.rank = b->rank,
                                    .ranks_n = b->ranks_n,
                                    .meet = meet,
                                    .label = "here",
                                    .identity = "",
                                    .meet_s = 60.0,
                                    .stall_s = 600.0};
    TRY(group_open(&b->steps.group, &o, e));
    int rc = group_close(b->steps.group, bench_run(b, e), e);
    while (wait(NULL) > 0) {
    }
    if (b->rank == 0) rmdir(dir);
    return rc;
}

/* Reads one option; false if it is unknown or its value is invalid. */
static bool bench_argument(struct bench *b, const char *name, const char *value)
{
    int64_t whole = 0;
    if (strcmp(name, "--profile") == 0) {
        for (size_t p = 0; p < sizeof profiles / sizeof *profiles; p++)
            if (strcmp(profiles[p].name, value) == 0) b->profile = &profiles[p];
        return b->profile != NULL;
    }
    if (strcmp(name, "--position") == 0) {
        for (int p = SPEC_SINUSOIDAL; p <= SPEC_ALIBI; p++) {
            b->position = (enum spec_position)p;
            if (strcmp(spec_position_name(b->position), value) == 0) return true;
        }
        return false;
    }
    if (strcmp(name, "--seconds") == 0) return str_to_double(&b->seconds, value);
    const struct {
        const char *name, **to;
    } texts[] = {{"--blas", &b->blas}, {"--weights", &b->weights}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(name, texts[i].name) == 0) {
            *texts[i].to = value;
            return true;
        }
    if (!str_to_int(&whole, value) || whole < 1 || whole > INT32_MAX) return false;
    const struct {
        const char *name;
        int32_t *to;
    } numbers[] = {{"--threads", &b->threads},
                   {"--length", &b->length},
                   {"--shards", &b->shards},
                   {"--ranks", &b->ranks_n}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(name, numbers[i].name) == 0) {
            *numbers[i].to = (int32_t)whole;
            return true;
        }
    return false;
}

static int bench_arguments(struct bench *b, int count, char **values, struct err *e)
{
    for (int i = 1; i < count; i += 2)
        if (i + 1 == count || !bench_argument(b, values[i], values[i + 1]))
            return ERR(e, ERR_USAGE,
                       "%s %s: expected --profile d64|d64-long|d128|d256|d512, --threads N, "
                       "--ranks N, --shards N, --length N, --position METHOD, --seconds S, --blas "
                       "onednn or --weights FILE",
                       values[i], i + 1 < count ? values[i + 1] : "(nothing)");
    if (!b->profile) return ERR(e, ERR_USAGE, "expected --profile");
    if (b->blas && strcmp(b->blas, "onednn") != 0)
        return ERR(e, ERR_USAGE, "--blas %s: expected onednn", b->blas);
    if (b->length == 0) b->length = b->profile->L;
    return 0;
}

int main(int count, char **values)
{
    struct bench b = {
        .threads = 1, .shards = 1, .ranks_n = 1, .seconds = 2.0, .position = SPEC_ALIBI};
    struct err e = {0};
    backend_register(backend_cpu_library());
    int rc = bench_arguments(&b, count, values, &e);
    if (rc == 0) rc = b.ranks_n > 1 ? bench_ranks(&b, &e) : bench_run(&b, &e);
    if (rc < 0) fprintf(stderr, "bench_cpu: %s\n", e.text);
    bench_steps_close(&b.steps);
    return err_exit_code(rc);
}
