/* bench_gpu.c - measures speed and memory of a GPU backend, one case a call; bench_gpu.sh runs it.
 *
 *   bench_gpu --list                            lists the cases, the most informative first
 *   bench_gpu --case NAME [--device cuda:0]     measures one, prints a line of JSON
 *   bench_gpu --case skip-… --trained FILE      uses a checkpoint's weights (safetensors)
 *   bench_gpu --case NAME --serve               runs steps on request of peer_torch_gpu.py
 *   bench_gpu --weights FILE                    writes initial values and tokens for it
 *   bench_gpu --table FILE                      prints such lines as tables, and the goals
 *
 * The model is the paper's of 247M parameters. */
#include "bench/bench_gpu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "cpu/cpu.h"
#include "scheduler/process.h"
#include "shape/shape.h"
#include "spec/code_id.h"

struct call {
    struct bench_options options;
    const char *name, *weights, *table;
    bool list;
};

/* Seconds since the exec of this process; the kernel counts in hundredths. */
static double seconds_since_exec(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    double start = (double)machine_pid_start(getpid()) / (double)sysconf(_SC_CLK_TCK);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec - start;
}

/* Closes the model, and sets *bytes to what the device holds without it. The backend is opened
 * again: cuBLASLt and the driver load kernels at their first use and keep them, tens of megabytes
 * that are no part of a plan. */
static int empty_device(struct bench_steps *b, int64_t *bytes, struct err *e)
{
    const struct backend before = *b->backend;
    model_close(b->model);
    backend_close(b->backend);
    b->model = NULL;
    b->backend = NULL;
    TRY(backend_open(&b->backend, before.name, before.threads, before.precision, e));
    return b->backend->ops->peak_bytes(b->backend, bytes, e);
}

/* The model's memory according to the plan and to the driver, and the plan's error. Comes last. */
static int add_memory(json_t *out, struct bench_steps *b, struct err *e)
{
    int64_t peak = 0, empty = 0, held = model_bytes(b->model);
    struct shape_cost cost;
    shape_cost(&cost, &b->spec);
    TRY(b->backend->ops->peak_bytes(b->backend, &peak, e));
    TRY(empty_device(b, &empty, e));
    double grown = (double)(peak - empty), planned = (double)cost.device_bytes;
    json_object_update_new(out, json_pack("{s:I, s:I, s:I, s:I, s:f}", "peak_memory_bytes",
                                          (json_int_t)peak, "empty_memory_bytes", (json_int_t)empty,
                                          "model_bytes", (json_int_t)held, "planned_bytes",
                                          (json_int_t)cost.device_bytes, "planned_off",
                                          grown > 0.0 ? fabs(planned / grown - 1.0) : 1.0));
    return 0;
}

static int add_steps(json_t *out, const struct bench_case *c, struct bench_steps *b,
                     const struct bench_timing *t, double first_s, struct err *e)
{
    const struct spec *s = &b->spec;
    double forward = shape_forward_flops(s, s->train.L);
    double flops = (bench_trains(c->kind) ? 3.0 : 1.0) * forward;
    double wps = (double)b->tokens / t->median_s;
    json_t *more = json_pack(
        "{s:s, s:i, s:b, s:I, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:s}",
        "position", spec_position_name(c->position), "L", (int)s->train.L, "dropout", c->dropout,
        "batch_tokens", (json_int_t)b->tokens, "warmup_steps", BENCH_WARMUP, "steps",
        (int)t->steps_n, "median_s", t->median_s, "low_s", t->low_s, "high_s", t->high_s, "wps",
        wps, "tflops", flops * wps * 1e-12, "loss_nats", t->first_loss, "grad_norm", t->first_norm,
        "first_step_s", first_s, "queue_s", t->queue_s, "backend", b->backend->device);
    json_object_update_new(out, more);
    return add_memory(out, b, e);
}

/* The first step is timed separately: from the start of this program to the first update. */
static int bench_steps_case(json_t *out, struct bench_steps *b, const struct bench_case *c,
                            const struct bench_options *o, struct err *e)
{
    struct bench_timing t = {0}, first = {0};
    bench_step step = bench_trains(c->kind) ? bench_train_step : bench_eval_step;

    if (o->serve) return bench_serve(out, b, step, e);
    TRY(bench_time(b, step, 0, 1, 0.0, &first, e));
    double first_s = seconds_since_exec();
    TRY(bench_time(b, step, BENCH_WARMUP, o->tiny ? BENCH_TINY_STEPS : BENCH_STEPS, o->seconds, &t,
                   e));
    t.first_loss = first.first_loss;
    t.first_norm = first.first_norm;
    return add_steps(out, c, b, &t, first_s, e);
}

/* Kinds without a function here are cases of steps. */
static bench_steps_fn *const measures[BENCH_KINDS_N] = {[BENCH_REPEAT] = bench_repeat,
                                                        [BENCH_CHECKPOINT] = bench_checkpoint,
                                                        [BENCH_GRAPHS] = bench_graphs,
                                                        [BENCH_SKIP] = bench_skip,
                                                        [BENCH_SLIDING] = bench_sliding};

static int bench_case_run(json_t *out, const struct bench_case *c, const struct bench_options *o,
                          struct err *e)
{
    struct bench_steps b = {0};
    struct spec s;
    bool has_model = c->kind != BENCH_CEILINGS && c->kind != BENCH_OPS;
    if (o->serve && (!has_model || measures[c->kind]))
        return ERR(e, ERR_USAGE, "--serve: %s is not a case of steps", c->name);
    if (!has_model) return (c->kind == BENCH_OPS ? bench_ops : bench_ceilings)(out, c, o, e);
    bench_spec(&s, c, o);
    int rc = bench_steps_open(&b, &s, o->device, 1, true, e);
    if (rc == 0) rc = (measures[c->kind] ? measures[c->kind] : bench_steps_case)(out, &b, c, o, e);
    bench_steps_close(&b);
    return rc;
}

/* A refused case is a result too. */
static int bench_measure(const struct call *call, struct err *e)
{
    struct bench_case cases[BENCH_CASES_MAX];
    const struct bench_case *c = NULL;
    char date[CLOCK_TEXT_BYTES];
    int32_t n = bench_cases(cases);

    for (int32_t i = 0; i < n; i++)
        if (strcmp(cases[i].name, call->name) == 0) c = &cases[i];
    if (!c) return ERR(e, ERR_USAGE, "unknown case '%s' (see bench_gpu --list)", call->name);
    clock_utc(date);
    json_t *out = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:b}", "case", c->name, "device",
                            call->options.device, "gpu", call->options.gpu, "code_id", code_id(),
                            "date", date, "precision", bench_precision_name(c->precision), "tiny",
                            call->options.tiny);
    int rc = bench_case_run(out, c, &call->options, e);
    if (rc < 0) json_object_set_new(out, "refused", json_string(e->text));
    if (rc < 0 || !call->options.serve) {
        json_dumpf(out, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
        puts("");
    }
    json_decref(out);
    return rc;
}

static int parse_arguments(struct call *c, int count, char **values, struct err *e)
{
    const struct {
        const char *name;
        const char **to;
    } texts[] = {{"--case", &c->name},       {"--device", &c->options.device},
                 {"--gpu", &c->options.gpu}, {"--trained", &c->options.trained},
                 {"--weights", &c->weights}, {"--table", &c->table}};

    for (int i = 1; i < count; i++) {
        const char **to = NULL;
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
            if (strcmp(values[i], texts[k].name) == 0) to = texts[k].to;
        if (strcmp(values[i], "--list") == 0)
            c->list = true;
        else if (strcmp(values[i], "--serve") == 0)
            c->options.serve = true;
        else if (strcmp(values[i], "--tiny") == 0)
            c->options.tiny = true;
        else if (to && i + 1 < count)
            *to = values[++i];
        else if (strcmp(values[i], "--seconds") != 0 || i + 1 == count ||
                 !str_to_double(&c->options.seconds, values[++i]))
            return ERR(e, ERR_USAGE,
                       "%s: expected --list, --case, --device, --gpu, --trained, "
                       "--weights, --table, --serve, --tiny or --seconds",
                       values[i]);
    }
    if (!c->list && !c->name && !c->weights && !c->table)
        return ERR(e, ERR_USAGE,
                   "usage: bench_gpu --list | --case NAME | --weights FILE | --table FILE");
    return 0;
}

static int run_call(const struct call *c, struct err *e)
{
    struct bench_case cases[BENCH_CASES_MAX];

    if (c->table) return bench_table(c->table, e);
    if (c->weights) return bench_write_weights(c->weights, &c->options, e);
    if (c->name) return bench_measure(c, e);
    int32_t n = bench_cases(cases);
    for (int32_t i = 0; i < n; i++) puts(cases[i].name);
    return 0;
}

int main(int count, char **values)
{
    struct call c = {.options = {.device = "cuda:0", .gpu = "", .seconds = 2.0}};
    struct err e = {0};
    backend_register(backend_cpu_library());
    int rc = parse_arguments(&c, count, values, &e);
    if (rc == 0) rc = run_call(&c, &e);
    if (rc < 0) fprintf(stderr, "bench_gpu: %s\n", e.text);
    return err_exit_code(rc);
}
