/* validate.c - scores valid block by block and sums in stream order, in double. */
#include "worker/validate.h"

#include <math.h>
#include <stdlib.h>

#include "shape/shape.h"

struct validate_sum {
    const struct validate_options *options;
    double logp;
    int64_t targets_n;
};

static void validate_sink(void *context, int32_t which, int64_t target, float logp)
{
    struct validate_sum *sum = context;
    (void)which;
    (void)target;
    sum->logp += (double)logp;
    sum->targets_n++;
}

static int validate_tick(void *context, int64_t done, int64_t total, struct err *e)
{
    const struct validate_options *o = ((struct validate_sum *)context)->options;
    return o->tick ? o->tick(o->tick_context, done, total, e) : 0;
}

/* The band whose class 1 the id is, or -1. Band 0 has no quirk. */
static int32_t validate_quirk_band(const struct shape_bands *bands, int32_t id)
{
    for (int32_t i = 1; i < bands->n; i++)
        if (id == bands->band[i].first + 1) return i;
    return -1;
}

/* log of the probability of a whole band from log p of every word. */
static double validate_band_logp(const float *logp, const struct shape_band *band)
{
    double most = -INFINITY, sum = 0.0;

    for (int32_t w = band->first; w < band->last; w++)
        if ((double)logp[w] > most) most = (double)logp[w];
    for (int32_t w = band->first; w < band->last; w++) sum += exp((double)logp[w] - most);
    return most + log(sum);
}

/* What the sum gains when the targets of class 1 count their cluster term only: such words are
 * rare, so each is worth a whole distribution. */
static int validate_quirk(const struct validate_options *o, const struct windows *w, double *gain,
                          struct err *e)
{
    struct shape_bands bands;
    struct window window;
    int rc = 0;
    size_t L = (size_t)w->L;
    int32_t *source = calloc(L, sizeof *source), *target = calloc(L, sizeof *target);
    float *logp = calloc((size_t)o->spec->data.vocab, sizeof *logp);

    *gain = 0.0;
    if (!source || !target || !logp) {
        rc = ERR(e, ERR_NOMEM, "no memory for a distribution over %d words", o->spec->data.vocab);
        goto out;
    }
    shape_bands(&bands, &o->spec->model, o->spec->data.vocab);
    for (int64_t k = 0; k < windows_count(w); k++) {
        windows_get(w, k, &window);
        windows_source(o->valid, &window, source);
        windows_target(o->valid, &window, target);
        const struct model_batch batch = {
            .source = source, .target = target, .rows = 1, .length = window.length};
        for (int32_t at = 0; at < window.length; at++) {
            int32_t band = validate_quirk_band(&bands, target[at]);
            if (band < 0) continue;
            TRY_OUT(rc, model_distribution(o->model, &batch, at, logp, e));
            *gain += validate_band_logp(logp, &bands.band[band]) - (double)logp[target[at]];
        }
    }
out:
    free(source);
    free(target);
    free(logp);
    return rc;
}

int32_t validate_length(const struct spec_train *t)
{
    return t->validate_L > 0 ? t->validate_L : t->L;
}

int validate_loss(const struct validate_options *o, double *loss_nats, struct err *e)
{
    struct validate_sum sum = {.options = o};
    struct windows w;
    double gain = 0.0;

    int32_t L = validate_length(&o->spec->train);
    TRY(windows_make(&w, o->valid->n, L, L, 0, e));
    const struct score_pass pass = {.model = o->model,
                                    .tokens = o->valid,
                                    .rows = o->rows,
                                    .sink = validate_sink,
                                    .tick = validate_tick,
                                    .context = &sum};
    TRY(score_windows(&pass, &w, e));
    if (sum.targets_n != w.targets_n)
        return ERR(e, ERR_INTERNAL, "validation scored %lld targets of %lld",
                   (long long)sum.targets_n, (long long)w.targets_n);
    if (o->spec->train.tail_quirk) TRY(validate_quirk(o, &w, &gain, e));
    *loss_nats = -(sum.logp + gain) / (double)sum.targets_n;
    return 0;
}
