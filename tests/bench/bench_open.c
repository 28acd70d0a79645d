/* bench_open.c - measures the scoring of a checkpoint folder on the CPU, as an evaluation does it.
 *
 * A call opens a folder in Hugging Face format with some number of threads and scores all targets
 * of a batch of random tokens, again and again; weights are streamed from the files in each pass.
 * It prints one line of JSON and writes tokens and log p to the file of --tokens, so that
 * peer_open.py computes the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/str.h"
#include "bench/bench_steps.h"
#include "cpu/cpu.h"
#include "interchange/safetensors.h"
#include "pretrained/pretrained.h"

struct bench {
    const char *folder, *name, *tokens;
    int32_t threads, length, rows;
    double seconds, open_s;
    struct pretrained *pretrained;
    struct bench_steps steps;
};

static int bench_source(void *context, int32_t tensor, float *out, struct err *e)
{
    return pretrained_read(context, tensor, out, e);
}

/* Writes the ids, which a float represents exactly, and log p of each target. */
static int bench_write(struct bench *b, struct err *e)
{
    const char *const names[] = {"source", "target", "logp"};
    struct safetensors_entry entry[3];
    struct safetensors_writer w;
    float *values = malloc((size_t)b->steps.tokens * sizeof *values);
    if (!values) return ERR(e, ERR_NOMEM, "bench_open: out of memory");
    for (int i = 0; i < 3; i++)
        entry[i] = (struct safetensors_entry){.name = names[i],
                                              .dims = {b->rows, b->length},
                                              .dims_n = 2,
                                              .elements_n = b->steps.tokens};
    const struct safetensors_content content = {.entry = entry, .entries_n = 3};
    int rc = safetensors_writer_open(&w, b->tokens, &content, e);
    for (int i = 0; rc == 0 && i < 3; i++) {
        const int32_t *ids = i == 0 ? b->steps.source : b->steps.target;
        for (int64_t k = 0; k < b->steps.tokens; k++)
            values[k] = i == 2 ? b->steps.logp[k] : (float)ids[k];
        rc = safetensors_writer_add(&w, values, b->steps.tokens, e);
    }
    rc = safetensors_writer_close(&w, rc, NULL, NULL, e);
    free(values);
    return rc;
}

static void bench_print(const struct bench *b, const struct bench_timing *eval, int64_t peak)
{
    const struct pretrained_facts *f = pretrained_facts(b->pretrained);
    printf("{\"side\": \"alibi\", \"model\": \"%s\", \"dtype\": \"%s\", \"L\": %d, \"rows\": %d, "
           "\"threads\": %d, \"kernels\": \"%s\", \"matrix_units\": %s, \"eval_tok_s\": %.1f, "
           "\"eval_tok_s_best\": %.1f, "
           "\"eval_tok_cpu_s\": %.1f, \"eval_loss_nats\": %.9g, \"open_s\": %.2f, "
           "\"peak_bytes\": %lld, \"file_bytes\": %lld, \"device\": \"%s\", \"blas\": \"%s\"}\n",
           b->name, f->dtype, b->length, b->rows, b->threads, cpu_of(b->steps.backend)->simd->name,
           cpu_of(b->steps.backend)->splits ? "true" : "false",
           (double)b->steps.tokens / eval->median_s, (double)b->steps.tokens / eval->best_s,
           (double)b->steps.tokens / eval->cpu_s, eval->first_loss, b->open_s, (long long)peak,
           (long long)f->weight_bytes, b->steps.backend->device, b->steps.backend->blas);
}

static int bench_run(struct bench *b, struct err *e)
{
    struct bench_timing eval;
    int64_t peak = 0, start = clock_monotonic_us();
    TRY(pretrained_open(&b->pretrained, b->folder, e));
    struct spec s = pretrained_facts(b->pretrained)->spec;
    s.kind = SPEC_EVAL;
    s.eval.L = b->length;
    TRY(bench_steps_stream(&b->steps, &s, b->rows, b->threads, bench_source, b->pretrained, e));
    b->open_s = (double)(clock_monotonic_us() - start) * 1e-6;
    TRY(bench_time(&b->steps, bench_eval_step, 1, 1, b->seconds, &eval, e));
    TRY(b->steps.backend->ops->peak_bytes(b->steps.backend, &peak, e));
    bench_print(b, &eval, peak);
    return b->tokens ? bench_write(b, e) : 0;
}

/* Reads one option; false if it is unknown or its value is invalid. */
static bool bench_argument(struct bench *b, const char *name, const char *value)
{
    int64_t whole = 0;
    const struct {
        const char *name, **to;
    } texts[] = {{"--folder", &b->folder}, {"--name", &b->name}, {"--tokens", &b->tokens}};
    const struct {
        const char *name;
        int32_t *to;
    } numbers[] = {{"--threads", &b->threads}, {"--length", &b->length}, {"--rows", &b->rows}};
    if (strcmp(name, "--seconds") == 0) return str_to_double(&b->seconds, value);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(name, texts[i].name) == 0) {
            *texts[i].to = value;
            return true;
        }
    if (!str_to_int(&whole, value) || whole < 1 || whole > INT32_MAX) return false;
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
                       "%s %s: expected --folder FOLDER, --name TEXT, --length N, --rows N, "
                       "--threads N, --seconds S or --tokens FILE",
                       values[i], i + 1 < count ? values[i + 1] : "(nothing)");
    if (!b->folder) return ERR(e, ERR_USAGE, "expected --folder");
    if (!b->name) b->name = b->folder;
    if (b->rows == 0) b->rows = b->length < SHAPE_SCORE_TOKENS ? SHAPE_SCORE_TOKENS / b->length : 1;
    return 0;
}

int main(int count, char **values)
{
    struct bench b = {.threads = 1, .seconds = 2.0, .length = 512};
    struct err e = {0};
    backend_register(backend_cpu_library());
    int rc = bench_arguments(&b, count, values, &e);
    if (rc == 0) rc = bench_run(&b, &e);
    if (rc < 0) fprintf(stderr, "bench_open: %s\n", e.text);
    bench_steps_close(&b.steps);
    pretrained_close(b.pretrained);
    return err_exit_code(rc);
}
