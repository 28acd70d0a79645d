/* bench_gpu_checkpoint.c - measures how long a training waits for a checkpoint: weights and
 * optimiser state written to files, hashed and synced, as by the worker between two updates.
 *
 * The files are in a temporary folder of the current one, where runs/ would be. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/bench_gpu.h"
#include "worker/weights.h"

enum { TIMES = 5, PATH_BYTES = 64, NAG_SLOTS = 1 };

/* Seconds of one checkpoint, and its bytes. */
static int save_checkpoint(struct model *m, const char *folder, double *seconds, int64_t *bytes,
                           struct err *e)
{
    char weights[PATH_BYTES], state[PATH_BYTES];
    int64_t weights_bytes = 0, state_bytes = 0, before = clock_monotonic_us();
    snprintf(weights, sizeof weights, "%s/weights", folder);
    snprintf(state, sizeof state, "%s/state", folder);
    int rc = weights_save(m, 0, weights, NULL, 0, NULL, &weights_bytes, e);
    if (rc == 0) rc = weights_save(m, NAG_SLOTS, state, NULL, 0, NULL, &state_bytes, e);
    *seconds = 1e-6 * (double)(clock_monotonic_us() - before);
    *bytes = weights_bytes + state_bytes;
    (void)unlink(weights); /* may be absent after an error */
    (void)unlink(state);
    return rc;
}

int bench_checkpoint(json_t *out, struct bench_steps *b, const struct bench_case *c,
                     const struct bench_options *o, struct err *e)
{
    char folder[] = "bench-gpu-XXXXXX";
    double seconds[TIMES], loss, norm;
    struct bench_timing t = {0};
    int64_t bytes = 0;
    int rc = 0;

    (void)c, (void)o;
    if (!mkdtemp(folder))
        return ERR(e, ERR_CREATE, "cannot create %s: %s", folder, strerror(errno));
    for (uint32_t i = 0; i < TIMES; i++) {
        TRY_OUT(rc, bench_train_step(b, i, &loss, &norm, e));
        TRY_OUT(rc, save_checkpoint(b->model, folder, &seconds[i], &bytes, e));
    }
    bench_quartiles(seconds, TIMES, &t);
    json_object_update_new(out, json_pack("{s:i, s:I, s:f, s:f, s:f}", "checkpoints", TIMES,
                                          "bytes", (json_int_t)bytes, "pause_s", t.median_s,
                                          "low_s", t.low_s, "high_s", t.high_s));
out:
    (void)rmdir(folder);
    return rc;
}
