/* evaluate.c - evaluations of one checkpoint: perplexity of a split under one or more protocols.
 *
 * 1. The checkpoint is the best or the last one recorded by the newest attempt of the training that
 *    ended `done`. Its hash is verified, and its spec must be the training's.
 * 2. Every evaluation checks that it scored exactly the targets of its protocol. Scores that are
 *    not finite are counted; perplexity and loss are then null.
 * 3. Log-probabilities are summed in double in the order of the text.
 * 4. Sliding evaluations with stride 1 that differ only in length share one pass (score_prefixes).
 *    Their eval_wps is unknown, their peak memory is that of the pass, and each has an equal share
 *    of its wall_seconds.
 * 5. eval_wps: targets per second of the pass without its first batch, which is warm-up; of the
 *    whole pass if it has only one batch.
 * 6. Losses are also summed by position in the window, in bins that do not depend on the window:
 *    two per octave. They end at every power of two and halfway to the next, therefore also at the
 *    lengths of the paper. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "interchange/interchange.h"
#include "model/model.h"
#include "worker/worker_internal.h"

enum { EVALUATE_BINS = 64 }; /* the longest window has 54 */

/* The targets at some positions of the windows. */
struct evaluate_bin {
    double nll; /* nats; not finite if one of them is not */
    int64_t targets_n;
};

/* The scores of one evaluation so far. */
struct evaluate_sum {
    double logp; /* nats, sum of finite scores */
    int64_t scored_n, nonfinite_n;
    struct evaluate_bin bin[EVALUATE_BINS];
};

struct evaluate {
    struct worker *worker;
    struct spec trained;    /* spec of the training, from the checkpoint */
    const char *checkpoint; /* path */
    char sha256[HASH_HEX_BYTES];
    struct safetensors *weights;
    struct corpus corpus;
    struct evaluate_sum *sum; /* of each spec; this and the next two are in the arena */
    bool *done;               /* of each spec */
    int32_t *member;          /* specs of the current pass, by rising length */
    int32_t members_n;
    int64_t targets_done, targets_total; /* of all passes, for progress */
    int64_t rows_done;
    int64_t pass_us, first_batch_us; /* start of the pass and of its second batch */
    int64_t first_batch_scored;
};

static const struct spec_eval *evaluate_spec(const struct evaluate *v, int32_t i)
{
    return &v->worker->spec[i].eval;
}

static const struct tokens *evaluate_tokens(const struct evaluate *v, const struct spec_eval *s)
{
    return &v->corpus.split[s->split == SPEC_TRAIN_SPLIT ? CORPUS_TRAIN
                            : s->split == SPEC_VALID     ? CORPUS_VALID
                                                         : CORPUS_TEST];
}

static int32_t evaluate_stride(const struct spec_eval *s)
{
    return s->window == SPEC_SLIDING ? s->stride : s->L;
}

static int evaluate_windows(struct windows *out, const struct evaluate *v, int32_t i, struct err *e)
{
    const struct spec_eval *s = evaluate_spec(v, i);
    return windows_make(out, evaluate_tokens(v, s)->n, s->L, evaluate_stride(s), s->targets, e);
}

/* --- preparing --- */

static int evaluate_check_group(const struct evaluate *v, struct err *e)
{
    const struct spec_eval *first = evaluate_spec(v, 0);

    for (int32_t i = 1; i < v->worker->specs_n; i++) {
        const struct spec_eval *s = evaluate_spec(v, i);
        if (strcmp(s->train_run, first->train_run) != 0 || s->checkpoint != first->checkpoint ||
            s->precision != first->precision)
            return ERR(
                e, ERR_DATA,
                "evaluations %s and %s of one attempt differ in training, checkpoint or precision",
                v->worker->run_id[0], v->worker->run_id[i]);
    }
    return 0;
}

static int evaluate_prepare(struct evaluate *v, struct err *e)
{
    struct worker *a = v->worker;
    const struct spec_eval *s = evaluate_spec(v, 0);
    struct windows w;

    v->sum = arena_array(&a->arena, (size_t)a->specs_n, sizeof *v->sum);
    v->done = arena_array(&a->arena, (size_t)a->specs_n, sizeof *v->done);
    v->member = arena_array(&a->arena, (size_t)a->specs_n, sizeof *v->member);
    TRY(evaluate_check_group(v, e));
    TRY(checkpoint_find(&v->checkpoint, v->sha256, a->project, &a->arena, s->train_run,
                        s->checkpoint, e));
    TRY(checkpoint_open(&v->weights, &v->trained, v->checkpoint, v->sha256, s->train_run, e));
    TRY(corpus_open_for(&v->corpus, a->project, &v->trained, e));
    for (int32_t i = 0; i < a->specs_n; i++) {
        TRY(evaluate_windows(&w, v, i, e));
        v->targets_total += w.targets_n;
    }
    return worker_progress(a, 0, v->targets_total, (double)NAN, (double)NAN, e);
}

/* --- a pass --- */

static bool evaluate_shares(const struct evaluate *v, int32_t i, int32_t k)
{
    const struct spec_eval *x = evaluate_spec(v, i), *y = evaluate_spec(v, k);
    return evaluate_stride(x) == 1 && evaluate_stride(y) == 1 && x->split == y->split &&
           x->targets == y->targets && x->scaling == y->scaling &&
           x->scaling_factor == y->scaling_factor && x->mask.window == y->mask.window &&
           x->mask.sinks == y->mask.sinks && x->mask.sink_positions == y->mask.sink_positions;
}

/* Whether windows of this evaluation are scored like prefixes of longer ones. */
static bool evaluate_has_prefixes(const struct evaluate *v, int32_t i)
{
    const struct spec s = spec_evaluated(&v->trained, evaluate_spec(v, i));
    const struct position_shape shape = spec_position_shape(&s);
    return !position_follows_length((int32_t)s.model.position, &shape);
}

/* Sets up the pass of evaluation i and of those that share its rows. */
static void evaluate_gather(struct evaluate *v, int32_t i)
{
    bool prefixes = evaluate_has_prefixes(v, i);
    v->members_n = 0;
    for (int32_t k = i; k < v->worker->specs_n; k++) {
        if (v->done[k] || (k != i && (!prefixes || !evaluate_shares(v, i, k)))) continue;
        int32_t at = v->members_n++;
        for (; at > 0 && evaluate_spec(v, v->member[at - 1])->L > evaluate_spec(v, k)->L; at--)
            v->member[at] = v->member[at - 1];
        v->member[at] = k;
    }
}

/* Of positions from 0: 0, 1, 2, 3, 4-5, 6-7, 8-11, 12-15, 16-23 and so on. */
static int32_t evaluate_bin_of(int32_t at)
{
    if (at < 2) return at;
    int32_t octave = 31 - __builtin_clz((unsigned)at);
    return 2 * octave + (at >> (octave - 1) & 1);
}

static int32_t evaluate_bin_first(int32_t bin)
{
    return bin < 2 ? bin : (2 + (bin & 1)) << (bin / 2 - 1);
}

static void evaluate_sink(void *context, int32_t which, int64_t target, int32_t at, float logp)
{
    struct evaluate *v = context;
    struct evaluate_sum *sum = &v->sum[v->member[which]];
    struct evaluate_bin *bin = &sum->bin[evaluate_bin_of(at)];

    (void)target;
    bin->nll -= (double)logp;
    bin->targets_n++;
    sum->scored_n++;
    if (isfinite(logp))
        sum->logp += (double)logp;
    else
        sum->nonfinite_n++;
}

static int evaluate_tick(void *context, int64_t rows_done, int64_t rows_n, struct err *e)
{
    struct evaluate *v = context;
    int64_t scored = 0;

    (void)rows_n;
    for (int32_t i = 0; i < v->members_n; i++) scored += v->sum[v->member[i]].scored_n;
    if (rows_done > 0 && v->first_batch_us == 0) {
        v->first_batch_us = clock_monotonic_us();
        v->first_batch_scored = scored;
    }
    if (worker_stop_requested(v->worker))
        return ERR(e, ERR_INTERRUPTED,
                   "stopped while evaluating; rerun the command to evaluate again");
    double seconds = 1e-6 * (double)(clock_monotonic_us() - v->pass_us);
    return worker_progress(v->worker, v->targets_done + scored, v->targets_total, (double)NAN,
                           scored > 0 ? (double)scored / seconds : (double)NAN, e);
}

static int evaluate_score(struct evaluate *v, struct model *m, const struct windows *w,
                          int32_t rows, struct err *e)
{
    const struct spec_eval *s = evaluate_spec(v, v->member[0]);
    const struct score_pass pass = {.model = m,
                                    .tokens = evaluate_tokens(v, s),
                                    .rows = rows,
                                    .sink = evaluate_sink,
                                    .sink_context = v,
                                    .tick = evaluate_tick,
                                    .tick_context = v};

    v->pass_us = clock_monotonic_us();
    v->first_batch_us = 0;
    if (v->members_n == 1) return score_windows(&pass, w, e);
    int32_t *L = arena_array(&v->worker->arena, (size_t)v->members_n, sizeof *L);
    for (int32_t i = 0; i < v->members_n; i++) L[i] = evaluate_spec(v, v->member[i])->L;
    return score_prefixes(&pass, w->targets_n, L, v->members_n, e);
}

/* Targets per second of the pass; NaN if it was shared. */
static double evaluate_wps(const struct evaluate *v, int64_t targets_n)
{
    int64_t now = clock_monotonic_us();
    bool whole = v->first_batch_us == 0;
    int64_t us = now - (whole ? v->pass_us : v->first_batch_us);

    if (v->members_n > 1 || us <= 0) return (double)NAN;
    return (double)(targets_n - (whole ? 0 : v->first_batch_scored)) / (1e-6 * (double)us);
}

/* The bins as record_evaluated has them. */
static const char *evaluate_bins_text(const struct evaluate *v, int32_t i)
{
    struct strbuf text;
    int32_t L = evaluate_spec(v, i)->L;

    strbuf_init(&text, &v->worker->arena);
    for (int32_t k = 0; k < EVALUATE_BINS && evaluate_bin_first(k) < L; k++) {
        const struct evaluate_bin *bin = &v->sum[i].bin[k];
        int32_t last = evaluate_bin_first(k + 1);
        if (bin->targets_n == 0) continue;
        strbuf_addf(&text, "%10d%10d%16" PRId64, evaluate_bin_first(k) + 1, last < L ? last : L,
                    bin->targets_n);
        if (isfinite(bin->nll))
            strbuf_addf(&text, "%27.17g\n", bin->nll);
        else
            strbuf_addf(&text, "%27s\n", "");
    }
    return text.text;
}

static int evaluate_record(struct evaluate *v, int32_t i, int64_t targets_n, double wps,
                           int64_t peak, double seconds, struct err *e)
{
    const struct evaluate_sum *sum = &v->sum[i];
    struct worker *a = v->worker;
    double loss = sum->nonfinite_n ? (double)NAN : -sum->logp / (double)targets_n;

    if (sum->scored_n != targets_n)
        return ERR(e, ERR_INTERNAL,
                   "evaluation %s scored %" PRId64 " targets, but its protocol has %" PRId64,
                   a->run_id[i], sum->scored_n, targets_n);
    const struct record r = {.type = EVENT_EVALUATED,
                             .evaluated = {.run_id = a->run_id[i],
                                           .peak_memory_bytes = peak,
                                           .wall_seconds = seconds,
                                           .loss_nats = loss,
                                           .perplexity = exp(loss),
                                           .tokens = targets_n,
                                           .nonfinite = sum->nonfinite_n,
                                           .eval_wps = wps,
                                           .checkpoint_sha256 = v->sha256,
                                           .position_loss = evaluate_bins_text(v, i)}};
    TRY(record_write(a->events, &r, e));
    v->done[i] = true;
    v->targets_done += targets_n;
    return 0;
}

/* Opens a model for each pass, because the shape of batches differs; this is cheap compared with
 * the pass. */
static int evaluate_pass(struct evaluate *v, int32_t first, struct err *e)
{
    struct worker *a = v->worker;
    struct model *m = NULL;
    struct windows w;
    struct shape_capacity capacity;
    int64_t peak = 0, from_us = clock_monotonic_us();
    int rc = 0;

    evaluate_gather(v, first);
    const struct spec_eval *longest = evaluate_spec(v, v->member[v->members_n - 1]);
    TRY(evaluate_windows(&w, v, v->member[0], e));
    shape_capacity_scores(&capacity, longest->L, w.stride, v->members_n, longest->precision);
    const struct model_options options = model_options_for(&capacity);
    const struct spec spec = spec_evaluated(&v->trained, longest);
    worker_peak_reset(a);
    TRY_OUT(rc, model_open(&m, a->backend, &spec, &options, e));
    TRY_OUT(rc, weights_load(m, 0, v->weights, v->checkpoint, e));
    TRY_OUT(rc, evaluate_score(v, m, &w, capacity.rows_max, e));
    double wps = evaluate_wps(v, w.targets_n);
    TRY_OUT(rc, worker_peak_bytes(a, &peak, e));
    double seconds = 1e-6 * (double)(clock_monotonic_us() - from_us) / v->members_n;
    for (int32_t i = 0; i < v->members_n; i++)
        TRY_OUT(rc, evaluate_record(v, v->member[i], w.targets_n, wps, peak, seconds, e));
out:
    model_close(m);
    return rc;
}

int evaluate_run(struct worker *a, struct err *e)
{
    struct evaluate v = {.worker = a};
    int rc = 0;

    TRY_OUT(rc, evaluate_prepare(&v, e));
    for (int32_t i = 0; i < a->specs_n; i++)
        if (!v.done[i]) TRY_OUT(rc, evaluate_pass(&v, i, e));
out:
    safetensors_close(v.weights);
    corpus_close(&v.corpus);
    return rc;
}
