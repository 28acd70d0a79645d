/* bench_gpu_peer.c - our side of peer_torch_gpu.py: writes the weights and tokens, and runs steps
 * on request, so that both sides alternate on one GPU. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "bench/bench_gpu.h"

enum { SERVE_WARMUP = 5, SERVE_LINE_BYTES = 32 };

static void answer(json_t *json)
{
    json_dumpf(json, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
    puts("");
    fflush(stdout);
    json_decref(json);
}

static int serve_turn(struct bench_steps *b, bench_step step, int64_t steps_n, uint32_t *update,
                      struct err *e)
{
    double loss = 0.0, norm = 0.0;
    json_t *seconds = json_array(), *losses = json_array(), *norms = json_array();
    int rc = 0;
    for (int64_t i = 0; rc == 0 && i < steps_n; i++) {
        int64_t before = clock_monotonic_us();
        rc = step(b, ++*update, &loss, &norm, e);
        json_array_append_new(seconds, json_real(1e-6 * (double)(clock_monotonic_us() - before)));
        json_array_append_new(losses, json_real(loss / (double)b->tokens));
        json_array_append_new(norms, json_real(norm));
    }
    json_t *turn =
        json_pack("{s:o, s:o, s:o}", "seconds", seconds, "loss_nats", losses, "grad_norm", norms);
    if (rc == 0) answer(json_incref(turn));
    json_decref(turn);
    return rc;
}

int bench_serve(json_t *out, struct bench_steps *b, bench_step step, struct err *e)
{
    struct bench_timing t = {0};
    char line[SERVE_LINE_BYTES];
    uint32_t update = SERVE_WARMUP;
    int64_t steps_n = 0, peak = 0;

    TRY(bench_time(b, step, SERVE_WARMUP - 1, 1, 0.0, &t, e));
    TRY(b->backend->ops->peak_bytes(b->backend, &peak, e));
    json_object_update_new(out, json_pack("{s:i, s:I, s:f, s:f, s:I}", "L", (int)b->length,
                                          "batch_tokens", (json_int_t)b->tokens, "loss_nats",
                                          t.first_loss, "grad_norm", t.first_norm,
                                          "peak_memory_bytes", (json_int_t)peak));
    answer(json_incref(out));
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        if (!str_to_int(&steps_n, line) || steps_n < 1 || steps_n > BENCH_STEPS_MAX)
            return ERR(e, ERR_USAGE, "--serve: '%s' is not a number of steps from 1 to %d", line,
                       BENCH_STEPS_MAX);
        TRY(serve_turn(b, step, steps_n, &update, e));
    }
    return 0;
}

/* Writes the T5 model: the other models have its tensors except the table, with the same values.
 * The tokens are those of the longest case; other cases use a prefix. */
int bench_write_weights(const char *path, const struct bench_options *o, struct err *e)
{
    int rc = 0;
    struct spec s;
    struct bench_steps b = {0};
    const struct bench_case c = {
        .kind = BENCH_EVAL, .position = SPEC_T5, .length = 16384, .precision = SPEC_FP32};

    bench_spec(&s, &c, o);
    TRY_OUT(rc, bench_steps_open(&b, &s, "cpu", 1, true, e));
    rc = bench_steps_write(&b, path, e);
out:
    bench_steps_close(&b);
    return rc;
}
