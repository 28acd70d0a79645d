/* score.c - fills batches of rows, scores them with the model, and returns the scores. Validation
 * sums the scores of valid in double in the order of the text. */
#include "worker/score.h"

#include <math.h>

#include "group/group.h"
#include "model/model.h"
#include "shape/shape.h"

void scores_open(struct scores *s, const struct score_options *o)
{
    int64_t targets_n = o->windows.targets_n;
    int32_t length = o->L ? o->L[o->L_n - 1] : o->windows.L;
    int32_t width = targets_n < length ? (int32_t)targets_n : length;
    size_t ids_n = (size_t)o->rows * (size_t)width;

    *s = (struct scores){.options = *o, .length = length, .width = width};
    if (o->L) {
        s->options.windows = windows_prefixes(&o->windows, o->L[0], length);
        s->scored_max = (int64_t)(o->rows - 1) * o->L_n + length;
    } else {
        s->scored_max = (int64_t)o->rows * o->windows.stride;
    }
    s->rows_left = s->options.windows.windows_n;
    size_t scored_n = (size_t)s->scored_max;
    arena_init(&s->arena);
    s->source = arena_array(&s->arena, ids_n, sizeof *s->source);
    s->target = arena_array(&s->arena, ids_n, sizeof *s->target);
    s->position = arena_array(&s->arena, scored_n, sizeof *s->position);
    s->logp = arena_array(&s->arena, scored_n, sizeof *s->logp);
    if (o->keys != SCORE_NO_KEYS)
        s->keys = arena_array(&s->arena, scored_n * (size_t)o->width, sizeof *s->keys);
    s->item = arena_array(&s->arena, scored_n * (size_t)(o->L ? o->L_n : 1), sizeof *s->item);
}

void scores_close(struct scores *s)
{
    arena_fini(&s->arena);
}

/* Adds token `at` of the last row, a window, as a score of the lengths [from, end). */
static int add_target(struct scores *s, const struct window *w, int32_t at, int32_t from,
                      int32_t end, struct err *e)
{
    if (s->scored_n == s->scored_max)
        return ERR(e, ERR_INTERNAL, "a batch has more than %lld scored positions",
                   (long long)s->scored_max);
    s->position[s->scored_n] = (int32_t)(s->rows_n - 1) * s->width + at;
    for (int32_t k = from; k < end; k++)
        s->item[s->n++] = (struct score){
            .target = w->first + at, .at = at, .which = k, .index = (int32_t)s->scored_n};
    s->scored_n++;
    return 0;
}

/* Adds the scores of a row of a pass for several lengths. */
static int add_prefixes(struct scores *s, const struct window *w, struct err *e)
{
    const int32_t *L = s->options.L, L_n = s->options.L_n;
    int32_t k = 0;

    for (int32_t at = 0; w->begins && at < w->length; at++) {
        while (L[k] <= at) k++;
        TRY(add_target(s, w, at, k, L_n, e));
    }
    for (; !w->begins && k < L_n && L[k] <= w->length; k++)
        TRY(add_target(s, w, L[k] - 1, k, k + 1, e));
    return 0;
}

static int add_row(struct scores *s, struct err *e)
{
    const struct score_options *o = &s->options;
    int64_t begin = s->rows_n++ * s->width;
    struct window w;

    if (!windows_next(&s->options.windows, &w))
        return ERR(e, ERR_INTERNAL, "a pass has fewer than %lld rows",
                   (long long)o->windows.windows_n);
    tokens_read_row(o->windows.tokens, w.first, w.length, s->width, s->source + begin,
                    s->target + begin);
    if (o->L) return add_prefixes(s, &w, e);
    for (int32_t at = w.scored_from; at < w.length; at++) TRY(add_target(s, &w, at, 0, 1, e));
    return 0;
}

/* Reads the rows of the next batch. */
static int read_batch(struct scores *s, struct err *e)
{
    s->n = s->scored_n = s->rows_n = 0;
    for (; s->rows_left > 0 && s->rows_n < s->options.rows; s->rows_left--) {
        if (s->options.L && s->rows_n > 0 && windows_begins_document(&s->options.windows)) break;
        TRY(add_row(s, e));
    }
    return 0;
}

static int score_batch(struct scores *s, struct err *e)
{
    const struct model_batch batch = {.source = s->source,
                                      .target = s->target,
                                      .rows = (int32_t)s->rows_n,
                                      .length = s->width,
                                      .stated_length = s->length};
    struct model *m = s->options.model;
    bool only_keys = s->options.keys == SCORE_ONLY_KEYS;
    if (!only_keys) TRY(model_score(m, &batch, s->position, s->scored_n, s->logp, e));
    if (s->keys)
        TRY(model_keys(m, only_keys ? &batch : NULL, s->position, s->scored_n, s->keys, e));
    const bool *hit = model_hits(m);
    for (int64_t i = 0; i < s->n; i++) {
        struct score *x = &s->item[i];
        x->logp = s->logp[x->index];
        x->hit = hit && hit[x->index];
    }
    return 0;
}

int scores_next(struct scores *s, struct err *e)
{
    TRY(read_batch(s, e));
    return score_batch(s, e);
}

/* --- validation ----------------------------------------------------------------------------- */

/* Finds the band whose class 1 the id is; -1: none. Band 0 has no quirk. */
static int32_t validate_quirk_band(const struct shape_bands *bands, int32_t id)
{
    for (int32_t i = 1; i < bands->n; i++)
        if (id == bands->band[i].first + 1) return i;
    return -1;
}

/* Sums log p of every word to the log probability of a whole band. */
static double validate_band_logp(const float *logp, const struct shape_band *band)
{
    double most = -INFINITY, sum = 0.0;

    for (int32_t w = band->first; w < band->last; w++)
        if ((double)logp[w] > most) most = (double)logp[w];
    for (int32_t w = band->first; w < band->last; w++) sum += exp((double)logp[w] - most);
    return most + log(sum);
}

/* Corrects the sum so that targets of class 1 count only their cluster term. Such words are rare,
 * so each may cost a whole distribution. */
static int validate_quirk(const struct score_options *o, const struct spec *s, double *gain,
                          struct err *e)
{
    struct windows windows = o->windows;
    struct shape_bands bands;
    struct window window;
    struct arena a;
    int rc = 0;

    arena_init(&a);
    int32_t *source = arena_array(&a, (size_t)o->windows.L, sizeof *source);
    int32_t *target = arena_array(&a, (size_t)o->windows.L, sizeof *target);
    float *logp = arena_array(&a, (size_t)s->data.vocab, sizeof *logp);
    *gain = 0.0;
    shape_bands(&bands, &s->model, s->data.vocab);
    while (windows_next(&windows, &window)) {
        tokens_read_row(windows.tokens, window.first, window.length, window.length, source, target);
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
    arena_fini(&a);
    return rc;
}

/* Adds log p of the targets of the next batches, one for each rank, in the order of the text. logp
 * has room for them. */
static int validate_batches(struct scores *s, float *logp, double *sum, int64_t *targets_n,
                            struct err *e)
{
    struct group *g = s->options.group;
    size_t end[GROUP_RANKS_MAX], n = 0;

    for (int32_t rank = 0; rank < group_ranks_n(g); rank++) {
        TRY(read_batch(s, e));
        if (rank == group_rank(g) && s->n > 0) TRY(score_batch(s, e));
        for (int64_t i = 0; rank == group_rank(g) && i < s->n; i++)
            logp[n + (size_t)i] = s->item[i].logp;
        n += (size_t)s->n;
        end[rank] = n * sizeof *logp;
    }
    TRY(group_gather(g, logp, end, e));
    for (size_t i = 0; i < n; i++) *sum += (double)logp[i];
    *targets_n += (int64_t)n;
    return 0;
}

int validate_windows(struct windows *w, const struct spec *s, struct err *e)
{
    int32_t L = s->train.validate_L > 0 ? s->train.validate_L : s->train.L;
    return windows_make(w, w->tokens, WINDOWS_STRIDE, L, L, 0, e);
}

int validate_loss(const struct score_options *o, const struct spec *s, validate_tick_fn tick,
                  void *context, double *loss_nats, struct err *e)
{
    struct score_options options = *o;
    struct scores scores;
    int64_t targets_n = 0;
    double logp = 0.0, gain = 0.0;
    int rc = 0;

    TRY(validate_windows(&options.windows, s, e));
    scores_open(&scores, &options);
    float *all = arena_array(
        &scores.arena, (size_t)group_ranks_n(o->group) * (size_t)scores.scored_max, sizeof *all);
    while (rc == 0 && scores.rows_left > 0) {
        if (tick) rc = tick(context, e);
        if (rc == 0) rc = validate_batches(&scores, all, &logp, &targets_n, e);
    }
    scores_close(&scores);
    TRY(rc);
    if (targets_n != options.windows.targets_n)
        return ERR(e, ERR_INTERNAL, "validation scored %lld of %lld targets", (long long)targets_n,
                   (long long)options.windows.targets_n);
    if (s->train.tail_quirk && group_rank(o->group) == 0)
        TRY(validate_quirk(&options, s, &gain, e));
    TRY(group_share(o->group, &gain, sizeof gain, e));
    *loss_nats = -(logp + gain) / (double)targets_n;
    return 0;
}
