/* score.c - fills batches of rows, asks the model, passes each score to the sink. Validation sums
 * the scores of valid in stream order, in double. */
#include "worker/score.h"

#include <math.h>
#include <stdlib.h>

#include "shape/shape.h"

enum { SCORE_PAD = 1 };

/* Instead of the index of a length: the position serves every length that reaches over it. */
enum { SCORE_ALL_LENGTHS = -1 };

/* One batch under construction: rows, and the positions scored in them. */
struct score_batch {
    const struct score_pass *pass;
    int32_t width;   /* tokens of the longest window: the room of a row */
    int32_t longest; /* of the rows so far: the length the model is given */
    int32_t rows_n;
    int64_t positions_n, positions_max;
    struct window *row_own;
    int32_t *source_own, *target_own; /* (rows, longest) once filled */
    int32_t *position_own;            /* row * width + token; row * longest + token once filled */
    int32_t *which_own;               /* index of the length, or SCORE_ALL_LENGTHS */
    int64_t *stream_own;              /* index in the stream */
    float *logp_own;
    const int32_t *L; /* rising; NULL: one length */
    int32_t L_n;
};

static void score_batch_fini(struct score_batch *b)
{
    free(b->row_own);
    free(b->source_own);
    free(b->target_own);
    free(b->position_own);
    free(b->which_own);
    free(b->stream_own);
    free(b->logp_own);
}

static int score_batch_init(struct score_batch *b, const struct score_pass *p, int32_t width,
                            int64_t positions_max, struct err *e)
{
    size_t ids_n = (size_t)p->rows * (size_t)width, positions_n = (size_t)positions_max;

    *b = (struct score_batch){.pass = p, .width = width, .positions_max = positions_max};
    b->row_own = calloc((size_t)p->rows, sizeof *b->row_own);
    b->source_own = calloc(ids_n, sizeof *b->source_own);
    b->target_own = calloc(ids_n, sizeof *b->target_own);
    b->position_own = calloc(positions_n, sizeof *b->position_own);
    b->which_own = calloc(positions_n, sizeof *b->which_own);
    b->stream_own = calloc(positions_n, sizeof *b->stream_own);
    b->logp_own = calloc(positions_n, sizeof *b->logp_own);
    if (!b->row_own || !b->source_own || !b->target_own || !b->position_own || !b->which_own ||
        !b->stream_own || !b->logp_own)
        return ERR(e, ERR_NOMEM, "no memory for a batch of %d rows of %d tokens", p->rows, width);
    return 0;
}

static void score_batch_add_row(struct score_batch *b, const struct window *w)
{
    b->row_own[b->rows_n++] = *w;
    if (w->length > b->longest) b->longest = w->length;
}

/* Scores token `at` of the row added last. */
static int score_batch_add_position(struct score_batch *b, int32_t at, int32_t which, struct err *e)
{
    int64_t i = b->positions_n;

    if (i == b->positions_max)
        return ERR(e, ERR_INTERNAL, "a batch scores more than %lld positions",
                   (long long)b->positions_max);
    b->position_own[i] = (b->rows_n - 1) * b->width + at;
    b->which_own[i] = which;
    b->stream_own[i] = b->row_own[b->rows_n - 1].first + at;
    b->positions_n++;
    return 0;
}

static void score_batch_fill(struct score_batch *b)
{
    for (int32_t r = 0; r < b->rows_n; r++) {
        const struct window *w = &b->row_own[r];
        int32_t *source = b->source_own + (int64_t)r * b->longest;
        int32_t *target = b->target_own + (int64_t)r * b->longest;
        windows_source(b->pass->tokens, w, source);
        windows_target(b->pass->tokens, w, target);
        for (int32_t t = w->length; t < b->longest; t++) source[t] = target[t] = SCORE_PAD;
    }
    for (int64_t i = 0; i < b->positions_n; i++) {
        int32_t row = b->position_own[i] / b->width, at = b->position_own[i] % b->width;
        b->position_own[i] = row * b->longest + at;
    }
}

static void score_batch_emit(const struct score_batch *b, int64_t i)
{
    const struct score_pass *p = b->pass;

    if (b->which_own[i] != SCORE_ALL_LENGTHS) {
        p->sink(p->context, b->which_own[i], b->stream_own[i], b->logp_own[i]);
        return;
    }
    for (int32_t k = 0; k < b->L_n; k++)
        if (b->stream_own[i] < b->L[k]) p->sink(p->context, k, b->stream_own[i], b->logp_own[i]);
}

/* Runs what the batch holds and empties it. */
static int score_batch_run(struct score_batch *b, struct err *e)
{
    if (b->rows_n == 0) return 0;
    score_batch_fill(b);
    const struct model_batch batch = {.source = b->source_own,
                                      .target = b->target_own,
                                      .rows = b->rows_n,
                                      .length = b->longest,
                                      .stated_length = b->width};
    if (b->positions_n > 0)
        TRY(model_score(b->pass->model, &batch, b->position_own, b->positions_n, b->logp_own, e));
    for (int64_t i = 0; i < b->positions_n; i++) score_batch_emit(b, i);
    b->rows_n = b->longest = 0;
    b->positions_n = 0;
    return 0;
}

/* Before a row is added: runs a full batch, and lets the caller count, report or stop. */
static int score_batch_make_room(struct score_batch *b, int64_t rows_done, int64_t rows_n,
                                 struct err *e)
{
    if (b->rows_n == b->pass->rows) TRY(score_batch_run(b, e));
    if (b->rows_n == 0 && b->pass->tick)
        return b->pass->tick(b->pass->context, rows_done, rows_n, e);
    return 0;
}

int score_windows(const struct score_pass *p, const struct windows *w, struct err *e)
{
    struct score_batch b;
    struct window window;
    int rc = 0;
    int64_t windows_n = windows_count(w);

    TRY_OUT(rc, score_batch_init(&b, p, w->L, (int64_t)p->rows * w->stride, e));
    for (int64_t k = 0; k < windows_n; k++) {
        TRY_OUT(rc, score_batch_make_room(&b, k, windows_n, e));
        windows_get(w, k, &window);
        score_batch_add_row(&b, &window);
        for (int32_t at = window.scored_from; at < window.length; at++)
            TRY_OUT(rc, score_batch_add_position(&b, at, 0, e));
    }
    rc = score_batch_run(&b, e);
out:
    score_batch_fini(&b);
    return rc;
}

int score_prefixes(const struct score_pass *p, int64_t targets_n, const int32_t *L, int32_t L_n,
                   struct err *e)
{
    struct score_batch b;
    int rc = 0;
    int32_t longest = L[L_n - 1];
    int64_t starts_n = targets_n > L[0] ? targets_n - L[0] + 1 : 1;

    TRY_OUT(rc, score_batch_init(&b, p, longest, (int64_t)(p->rows - 1) * L_n + longest, e));
    b.L = L;
    b.L_n = L_n;
    for (int64_t s = 0; s < starts_n; s++) {
        int64_t left = targets_n - s;
        const struct window row = {.first = s, .length = left < longest ? (int32_t)left : longest};
        TRY_OUT(rc, score_batch_make_room(&b, s, starts_n, e));
        score_batch_add_row(&b, &row);
        for (int32_t at = 0; s == 0 && at < row.length; at++)
            TRY_OUT(rc, score_batch_add_position(&b, at, SCORE_ALL_LENGTHS, e));
        for (int32_t k = 0; s > 0 && k < L_n && L[k] <= row.length; k++)
            TRY_OUT(rc, score_batch_add_position(&b, L[k] - 1, k, e));
    }
    rc = score_batch_run(&b, e);
out:
    score_batch_fini(&b);
    return rc;
}

/* --- validation ----------------------------------------------------------------------------- */

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

int validate_loss(const struct validate_options *o, double *loss_nats, struct err *e)
{
    struct validate_sum sum = {.options = o};
    struct windows w;
    double gain = 0.0;

    int32_t L = o->spec->train.validate_L > 0 ? o->spec->train.validate_L : o->spec->train.L;
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
