/* score.c - fills batches of rows, scores them with the model, and passes each score to the sink.
 * Validation sums the scores of valid in double in the order of the text. */
#include "worker/worker_internal.h"

#include <math.h>

#include "shape/shape.h"

/* In place of the index of a length: the position is scored for all lengths above it. */
enum { SCORE_ALL_LENGTHS = -1 };

/* A position that is scored. */
struct score_target {
    int64_t target; /* of the stream */
    int32_t at;     /* token of the row */
    int32_t which;  /* index of a length, or SCORE_ALL_LENGTHS */
};

/* A batch under construction: rows, and their scored positions. */
struct score_batch {
    const struct score_pass *pass;
    struct arena arena; /* of the arrays */
    int32_t length;     /* nominal length of a row */
    int32_t width;      /* tokens of a row, padded */
    int32_t rows_n;
    int64_t scored_n, scored_max;
    int32_t *source, *target; /* (rows, width) */
    struct score_target *scored;
    int32_t *position; /* of each target: row * width + at */
    float *logp;       /* of each target */
    const int32_t *L;  /* rising; NULL: one length */
    int32_t L_n;
};

static void score_batch_init(struct score_batch *b, const struct score_pass *p, int32_t length,
                             int64_t targets_n, int64_t scored_max)
{
    int32_t width = targets_n < length ? (int32_t)targets_n : length;
    size_t ids_n = (size_t)p->rows * (size_t)width, scored_n = (size_t)scored_max;

    *b =
        (struct score_batch){.pass = p, .length = length, .width = width, .scored_max = scored_max};
    arena_init(&b->arena);
    b->source = arena_array(&b->arena, ids_n, sizeof *b->source);
    b->target = arena_array(&b->arena, ids_n, sizeof *b->target);
    b->scored = arena_array(&b->arena, scored_n, sizeof *b->scored);
    b->position = arena_array(&b->arena, scored_n, sizeof *b->position);
    b->logp = arena_array(&b->arena, scored_n, sizeof *b->logp);
}

/* Adds token `at` of the last row, a window, to the targets. */
static int score_batch_add(struct score_batch *b, const struct window *w, int32_t at, int32_t which,
                           struct err *e)
{
    if (b->scored_n == b->scored_max)
        return ERR(e, ERR_INTERNAL, "a batch has more than %lld scored positions",
                   (long long)b->scored_max);
    b->position[b->scored_n] = (b->rows_n - 1) * b->width + at;
    b->scored[b->scored_n++] = (struct score_target){w->first + at, at, which};
    return 0;
}

/* Runs the batch, passes on its scores and empties it. */
static int score_batch_run(struct score_batch *b, struct err *e)
{
    const struct score_pass *p = b->pass;
    const struct model_batch batch = {.source = b->source,
                                      .target = b->target,
                                      .rows = b->rows_n,
                                      .length = b->width,
                                      .stated_length = b->length};

    if (b->scored_n > 0) TRY(model_score(p->model, &batch, b->position, b->scored_n, b->logp, e));
    for (int64_t i = 0; i < b->scored_n; i++) {
        const struct score_target *t = &b->scored[i];
        if (t->which != SCORE_ALL_LENGTHS)
            p->sink(p->sink_context, t->which, t->target, t->at, b->logp[i]);
        else
            for (int32_t k = 0; k < b->L_n; k++)
                if (t->target < b->L[k]) p->sink(p->sink_context, k, t->target, t->at, b->logp[i]);
    }
    b->rows_n = 0;
    b->scored_n = 0;
    return 0;
}

/* Adds a row. First runs the batch if it is full, and calls tick before a new one. */
static int score_batch_add_row(struct score_batch *b, const struct window *w, struct err *e)
{
    const struct score_pass *p = b->pass;

    if (b->rows_n == p->rows) TRY(score_batch_run(b, e));
    if (b->rows_n == 0 && p->tick) TRY(p->tick(p->tick_context, e));
    int64_t begin = (int64_t)b->rows_n++ * b->width;
    windows_source(p->tokens, w, b->source + begin);
    windows_target(p->tokens, w, b->target + begin);
    for (int64_t i = begin + w->length; i < begin + b->width; i++)
        b->source[i] = b->target[i] = TOKEN_PAD;
    return 0;
}

int score_windows(const struct score_pass *p, const struct windows *w, struct err *e)
{
    struct score_batch b;
    struct window window;
    int rc = 0;

    score_batch_init(&b, p, w->L, w->targets_n, (int64_t)p->rows * w->stride);
    for (int64_t k = 0; k < windows_count(w); k++) {
        windows_get(w, k, &window);
        TRY_OUT(rc, score_batch_add_row(&b, &window, e));
        for (int32_t at = window.scored_from; at < window.length; at++)
            TRY_OUT(rc, score_batch_add(&b, &window, at, 0, e));
    }
    rc = score_batch_run(&b, e);
out:
    arena_fini(&b.arena);
    return rc;
}

int score_prefixes(const struct score_pass *p, int64_t targets_n, const int32_t *L, int32_t L_n,
                   struct err *e)
{
    struct score_batch b;
    int rc = 0;
    int32_t longest = L[L_n - 1];
    int64_t starts_n = targets_n > L[0] ? targets_n - L[0] + 1 : 1;

    score_batch_init(&b, p, longest, targets_n, (int64_t)(p->rows - 1) * L_n + longest);
    b.L = L;
    b.L_n = L_n;
    for (int64_t s = 0; s < starts_n; s++) {
        int64_t left = targets_n - s;
        const struct window row = {.first = s, .length = left < longest ? (int32_t)left : longest};
        TRY_OUT(rc, score_batch_add_row(&b, &row, e));
        for (int32_t at = 0; s == 0 && at < row.length; at++)
            TRY_OUT(rc, score_batch_add(&b, &row, at, SCORE_ALL_LENGTHS, e));
        for (int32_t k = 0; s > 0 && k < L_n && L[k] <= row.length; k++)
            TRY_OUT(rc, score_batch_add(&b, &row, L[k] - 1, k, e));
    }
    rc = score_batch_run(&b, e);
out:
    arena_fini(&b.arena);
    return rc;
}

/* --- validation ----------------------------------------------------------------------------- */

struct validate_sum {
    double logp;
    int64_t targets_n;
};

static void validate_sink(void *context, int32_t which, int64_t target, int32_t at, float logp)
{
    struct validate_sum *sum = context;
    (void)which;
    (void)target;
    (void)at;
    sum->logp += (double)logp;
    sum->targets_n++;
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

/* Correction of the sum so that targets of class 1 count only their cluster term. Such words are
 * rare, so each may cost a whole distribution. */
static int validate_quirk(const struct score_pass *p, const struct spec *s, const struct windows *w,
                          double *gain, struct err *e)
{
    struct shape_bands bands;
    struct window window;
    struct arena a;
    int rc = 0;

    arena_init(&a);
    int32_t *source = arena_array(&a, (size_t)w->L, sizeof *source);
    int32_t *target = arena_array(&a, (size_t)w->L, sizeof *target);
    float *logp = arena_array(&a, (size_t)s->data.vocab, sizeof *logp);
    *gain = 0.0;
    shape_bands(&bands, &s->model, s->data.vocab);
    for (int64_t k = 0; k < windows_count(w); k++) {
        windows_get(w, k, &window);
        windows_source(p->tokens, &window, source);
        windows_target(p->tokens, &window, target);
        const struct model_batch batch = {
            .source = source, .target = target, .rows = 1, .length = window.length};
        for (int32_t at = 0; at < window.length; at++) {
            int32_t band = validate_quirk_band(&bands, target[at]);
            if (band < 0) continue;
            TRY_OUT(rc, model_distribution(p->model, &batch, at, logp, e));
            *gain += validate_band_logp(logp, &bands.band[band]) - (double)logp[target[at]];
        }
    }
out:
    arena_fini(&a);
    return rc;
}

int validate_loss(const struct score_pass *p, const struct spec *s, double *loss_nats,
                  struct err *e)
{
    struct validate_sum sum = {0};
    struct score_pass pass = *p;
    struct windows w;
    double gain = 0.0;
    int32_t L = s->train.validate_L > 0 ? s->train.validate_L : s->train.L;

    pass.sink = validate_sink;
    pass.sink_context = &sum;
    TRY(windows_make(&w, p->tokens->n, L, L, 0, e));
    TRY(score_windows(&pass, &w, e));
    if (sum.targets_n != w.targets_n)
        return ERR(e, ERR_INTERNAL, "validation scored %lld of %lld targets",
                   (long long)sum.targets_n, (long long)w.targets_n);
    if (s->train.tail_quirk) TRY(validate_quirk(p, s, &w, &gain, e));
    *loss_nats = -(sum.logp + gain) / (double)sum.targets_n;
    return 0;
}
