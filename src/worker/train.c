/* train.c - the training loop, and the learning rate schedule.
 *
 * An iteration: (1) validation, if one is due; (2) the end, if all updates are done; (3) an update:
 * forward and backward pass of every shard, then clip and step; (4) a checkpoint, if a stop was
 * requested or the last one is old. With ranks, each computes its shards of an update and its
 * batches of a validation; (4) is decided by rank 0. A checkpoint is between two updates and states
 * whether the validation due there was done, so that a resumed run continues exactly there. Time
 * only determines when checkpoints are written, never a number. */
#include "worker/train.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "backend/backend.h"
#include "base/clock.h"
#include "base/log.h"
#include "data/batches.h"
#include "data/corpus.h"
#include "model/model.h"
#include "worker/bench.h"
#include "worker/checkpoints.h"
#include "worker/parent.h"
#include "worker/score.h"
#include "worker/state.h"

struct train {
    struct worker *worker;
    const struct spec *spec;
    struct corpus corpus;
    struct batches *batches;
    struct batch_shape *shape; /* (shards) of the update */
    struct model *model;
    struct shape_capacity capacity; /* of the model */
    struct checkpoints *checkpoints;
    struct checkpoint_point now;
    struct speed speed;
    double rate_before;    /* that the parent used last; NaN: not the first update after it */
    double seconds_before; /* wall time of the attempts that this one continues */
    int64_t checkpoint_us; /* time of the last checkpoint */
};

static const double train_checkpoint_s = 60.0;

/* --- the learning rate --- */

static double schedule_cosine(const struct spec_train *t, int64_t after_warmup)
{
    const double pi = 3.14159265358979323846;
    double position = (double)after_warmup; /* updates since the period began */
    double length = t->period;
    double factor = 1.0;

    if (t->period < 1) return t->lr;
    /* With a multiplier below 1 the period would shrink to 0; repeat the last whole one. */
    while (position >= length) {
        position -= length;
        if (length * t->period_multiplier >= 1.0) length *= t->period_multiplier;
        factor *= t->lr_shrink;
    }
    return factor * (t->lr_min + 0.5 * (t->lr - t->lr_min) * (1.0 + cos(pi * position / length)));
}

double schedule_rate(const struct spec_train *t, int64_t update)
{
    if (update < t->warmup) {
        double first = t->lr_init < 0.0 ? t->lr_min : t->lr_init;
        return first + (double)update * (t->lr - first) / t->warmup;
    }
    return t->schedule == SPEC_FIXED ? t->lr : schedule_cosine(t, update - t->warmup);
}

/* --- time and checkpoints --- */

static double train_seconds(const struct train *t)
{
    return t->seconds_before + 1e-6 * (double)(clock_monotonic_us() - t->worker->started_us);
}

static double train_wps(const struct train *t)
{
    double rate = speed_rate(&t->speed);
    return isfinite(rate) ? rate : t->now.wps;
}

static int train_stopped(const struct train *t, struct err *e)
{
    return ERR(e, ERR_INTERRUPTED,
               "stopped after update %" PRId64 " of %d; rerun the command to resume", t->now.update,
               t->spec->train.updates);
}

static int train_save(struct train *t, bool best, bool last, struct err *e)
{
    t->now.seconds = train_seconds(t);
    t->now.wps = train_wps(t);
    last = last && !t->spec->train.keep_state;
    TRY(checkpoints_save(t->checkpoints, &t->now, best, last, e));
    t->checkpoint_us = clock_monotonic_us();
    return 0;
}

/* --- decisions --- */

enum train_decision { TRAIN_CONTINUE, TRAIN_SAVE, TRAIN_STOP };

/* Gives the decision of rank 0, which depends on time and on signals, to all. */
static int train_share(struct train *t, enum train_decision *decision, struct err *e)
{
    return group_share(t->worker->group, decision, sizeof *decision, e);
}

/* --- validation --- */

static bool train_validation_due(const struct train *t)
{
    int32_t every = t->spec->train.validate_every;
    int last_of_epoch = 0;

    if (t->now.update == 0 || t->now.validated == t->now.update) return false;
    if (t->now.update == t->spec->train.updates) return true;
    if (every > 0) return t->now.update % every == 0;
    batches_epoch_of(t->batches, t->now.update - 1, &last_of_epoch);
    return last_of_epoch != 0;
}

static int train_validate_tick(void *context, struct err *e)
{
    struct train *t = context;
    enum train_decision next = worker_stop_requested(t->worker) ? TRAIN_STOP : TRAIN_CONTINUE;

    TRY(worker_progress(t->worker, t->now.update, t->spec->train.updates, t->now.loss_nats,
                        train_wps(t), e));
    TRY(train_share(t, &next, e));
    return next == TRAIN_STOP ? train_stopped(t, e) : 0;
}

static struct score_options train_validation(const struct train *t)
{
    return (struct score_options){.model = t->model,
                                  .group = t->worker->group,
                                  .windows.tokens = &t->corpus.split[CORPUS_VALID],
                                  .rows = shape_capacity_validation(&t->capacity, &t->spec->train)};
}

static int train_validate(struct train *t, struct err *e)
{
    const struct score_options o = train_validation(t);
    double loss = 0.0;
    int rc = validate_loss(&o, t->spec, train_validate_tick, t, &loss, e);

    /* A resumed run repeats the validation. */
    if (rc == ERR_INTERRUPTED) {
        struct err saving = {0};
        int saved = train_save(t, false, false, &saving);
        if (saved < 0) return ERR(e, saved, "%s", saving.text);
    }
    if (rc < 0) return rc;
    if (!isfinite(loss))
        return ERR(e, ERR_NUMBER, "update %" PRId64 ": the loss on valid is %g", t->now.update,
                   loss);
    bool best = t->now.best.update == 0 || loss < t->now.best_loss_nats;
    t->now.validated = t->now.update;
    if (best) t->now.best_loss_nats = loss;
    int64_t epoch = batches_epoch_of(t->batches, t->now.update - 1, NULL);
    const struct record r = {.type = EVENT_VALIDATION,
                             .validation = {.update = t->now.update,
                                            .epoch = epoch,
                                            .loss_nats = loss,
                                            .perplexity = exp(loss),
                                            .best = best}};
    TRY(record_write(t->worker->events, &r, e));
    return best ? train_save(t, true, t->now.update == t->spec->train.updates, e) : 0;
}

/* --- one update --- */

static int train_shard(struct train *t, int64_t update, int32_t shard, int64_t first_row,
                       struct err *e)
{
    struct batch batch;

    TRY(batches_get(t->batches, update, shard, &batch, e));
    const struct model_batch rows = {.source = batch.source,
                                     .target = batch.target,
                                     .rows = batch.rows,
                                     .length = batch.length,
                                     .first_row = first_row};
    return model_train_batch(t->model, &rows, (uint32_t)update, shard, NULL, e);
}

/* Computes this rank's shards, and counts those of all ranks. */
static int train_shards(struct train *t, struct model_update *step, struct err *e)
{
    int32_t first, end;
    int64_t first_row = 0;

    TRY(batches_shape(t->batches, t->now.update, t->shape, e));
    model_shards(t->model, &first, &end);
    for (int32_t shard = 0; shard < t->spec->train.shards; shard++) {
        const struct batch_shape *s = &t->shape[shard];
        if (s->rows == 0) break; /* the last ones are absent */
        if (shard >= first && shard < end) TRY(train_shard(t, t->now.update, shard, first_row, e));
        first_row += s->rows;
        step->targets_n += s->targets_n;
        step->shards_n++;
    }
    return 0;
}

static int train_update(struct train *t, int64_t *targets_n, struct err *e)
{
    double loss = 0.0, norm = 0.0;
    int64_t update = t->now.update;
    double rate = schedule_rate(&t->spec->train, update);
    double before = update > 0 ? schedule_rate(&t->spec->train, update - 1) : rate;

    if (isfinite(t->rate_before)) before = t->rate_before;
    t->rate_before = (double)NAN;
    struct model_update step = {.update = (uint32_t)update, .lr = rate, .lr_previous = before};
    TRY(train_shards(t, &step, e));
    *targets_n = step.targets_n;
    TRY(model_apply(t->model, &step, &norm, e));
    loss = model_loss(t->model);
    if (!isfinite(loss))
        return ERR(e, ERR_NUMBER, "update %" PRId64 ": the training loss is %g", update, loss);
    t->now.update++;
    t->now.loss_nats = loss / (double)*targets_n;
    const struct record r = {
        .type = EVENT_STEP,
        .step = {
            .update = t->now.update, .loss_nats = t->now.loss_nats, .lr = rate, .grad_norm = norm}};
    return record_write(t->worker->events, &r, e);
}

/* Makes a pass of a full shard, whose gradient is dropped, and scores a batch of valid. */
static int train_time_products(struct train *t, struct err *e)
{
    enum { TRIES = 64 }; /* few shards are not full */
    struct score_options o = train_validation(t);
    struct scores scores;
    int64_t most = 0, best = 0, full = (int64_t)batches_rows_max(t->batches) * t->spec->train.L;

    for (int64_t update = 0; update < TRIES && most < full; update++) {
        TRY(batches_shape(t->batches, update, t->shape, e));
        int64_t tokens_n = (int64_t)t->shape[0].rows * t->shape[0].length;
        if (tokens_n > most) best = update;
        if (tokens_n > most) most = tokens_n;
    }
    TRY(train_shard(t, best, 0, 0, e));
    TRY(validate_windows(&o.windows, t->spec, e));
    scores_open(&scores, &o);
    int rc = scores_next(&scores, e);
    scores_close(&scores);
    return rc;
}

/* Fixes the algorithms of products, which the bits depend on. Which products a rank meets first
 * depends on its shards; therefore rank 0 times those of a full shard and of a validation for all,
 * unless a checkpoint has recorded them. What is met later is not timed. */
static int train_choose(struct train *t, struct err *e)
{
    struct worker *a = t->worker;
    struct backend *b = a->backend;

    if (!b->ops->close_choices) return 0;
    if (!a->has_choices) {
        if (worker_writes(a)) TRY(train_time_products(t, e));
        const char *choices = worker_choices(a, &a->arena);
        TRY(worker_share_choices(a, &choices, e));
        if (!worker_writes(a)) worker_restore_choices(a, choices);
    }
    b->ops->close_choices(b);
    return 0;
}

static int train_timed_update(struct train *t, struct err *e)
{
    int64_t targets_n = 0;
    int64_t from_us = clock_monotonic_us();

    TRY(train_update(t, &targets_n, e));
    if (speed_window_ends(&t->speed)) TRY(t->worker->backend->ops->sync(t->worker->backend, e));
    speed_add(&t->speed, targets_n, 1e-6 * (double)(clock_monotonic_us() - from_us));
    return worker_progress(t->worker, t->now.update, t->spec->train.updates, t->now.loss_nats,
                           train_wps(t), e);
}

/* --- the whole training --- */

/* Opens a model with capacity for the shards of the training and the rows of its validations. */
static int train_open_model(struct train *t, struct err *e)
{
    int64_t shard_n = (int64_t)batches_rows_max(t->batches) * t->spec->train.L;

    shape_capacity(&t->capacity, t->spec);
    t->capacity.ranks_n = group_ranks_n(t->worker->group);
    t->capacity.node_ranks = group_node_ranks(t->worker->group);
    if (shard_n > (int64_t)t->capacity.rows_max * t->capacity.length_max)
        return ERR(e, ERR_INTERNAL, "a shard of %" PRId64 " tokens, but %d x %d were planned",
                   shard_n, t->capacity.rows_max, t->capacity.length_max);
    return model_open(&t->model, t->worker->backend, t->spec, &t->capacity, e);
}

/* Starts a training from its own initial values, or from its parent. */
static int train_start(struct train *t, struct err *e)
{
    TRY(model_init(t->model, (uint64_t)t->spec->train.seed, e));
    if (!t->spec->train.from[0]) return 0;
    return parent_start(t->worker, t->model, t->checkpoints->slots_n, &t->now, &t->rate_before, e);
}

static int train_prepare(struct train *t, struct err *e)
{
    const struct spec_train *s = &t->spec->train;
    const struct batches_options o = {
        .L = s->L, .shards = s->shards, .shard_tokens = s->shard_tokens, .seed = (uint64_t)s->seed};

    TRY(corpus_open_for(&t->corpus, t->worker->project, t->spec, e));
    if (*t->corpus.tokenizer_sha256) /* its id 1 is a word, but padding of a model trained here */
        return ERR(
            e, ERR_UNAVAILABLE,
            "data/%s has the ids of a tokenizer, which only imported models read; prepare the "
            "text without --tokenizer",
            t->corpus.name);
    TRY(batches_open(&t->batches, &t->corpus.split[CORPUS_TRAIN], &o, e));
    t->shape = arena_array(&t->worker->arena, (size_t)s->shards, sizeof *t->shape);
    TRY(train_open_model(t, e));
    t->checkpoints->model = t->model;
    t->checkpoints->slots_n = s->optimizer == SPEC_ADAM ? 2 : 1;
    t->rate_before = t->now.wps = t->now.loss_nats = t->now.best_loss_nats = (double)NAN;
    TRY(checkpoints_resume(t->checkpoints, &t->now, e));
    if (t->now.update == 0)
        TRY(train_start(t, e));
    else
        t->seconds_before = t->now.seconds;
    TRY(train_choose(t, e));
    speed_init(&t->speed, &t->worker->arena, s->updates - t->now.update);
    t->checkpoint_us = clock_monotonic_us();
    return worker_progress(t->worker, t->now.update, s->updates, t->now.loss_nats, t->now.wps, e);
}

static int train_loop(struct train *t, struct err *e)
{
    const struct worker_options *o = t->worker->options;
    double every_s = o->checkpoint_s > 0.0 ? o->checkpoint_s : train_checkpoint_s;

    for (;;) {
        if (train_validation_due(t)) TRY(train_validate(t, e));
        if (t->now.update >= t->spec->train.updates) return 0;
        TRY(train_timed_update(t, e));
        bool stop = worker_stop_requested(t->worker) ||
                    (o->stop_after > 0 && t->now.update >= o->stop_after);
        bool old = 1e-6 * (double)(clock_monotonic_us() - t->checkpoint_us) >= every_s;
        /* If a validation is due, save after it: it may make these weights the best, and the files
         * of a checkpoint never change after their hashes are recorded. The last update is always
         * validated. */
        enum train_decision next = stop                              ? TRAIN_STOP
                                   : old && !train_validation_due(t) ? TRAIN_SAVE
                                                                     : TRAIN_CONTINUE;
        TRY(train_share(t, &next, e));
        if (next != TRAIN_CONTINUE) TRY(train_save(t, false, false, e));
        if (next == TRAIN_STOP) return train_stopped(t, e);
    }
}

static int train_finish(struct train *t, struct err *e)
{
    int64_t peak = 0;
    const struct spec_train *s = &t->spec->train;

    const struct checkpoint_weights *last = &t->checkpoints->last;
    if (last->update != t->now.update) TRY(train_save(t, false, true, e));
    TRY(worker_peak_bytes(t->worker, &peak, e));
    const struct record r = {
        .type = EVENT_TRAINED,
        .trained = {.run_id = t->worker->run_id[0],
                    .peak_memory_bytes = peak,
                    .wall_seconds = train_seconds(t),
                    .updates = t->now.update,
                    .tokens_per_update = (int64_t)s->shards * (s->shard_tokens / s->L) * s->L,
                    .parameters = model_params(t->model)->parameters_n,
                    .final_loss_nats = t->now.loss_nats,
                    .train_wps = train_wps(t),
                    .best_checkpoint = t->now.best.path,
                    .best_sha256 = t->now.best.sha256,
                    .last_checkpoint = last->path,
                    .last_sha256 = last->sha256}};
    return record_write(t->worker->events, &r, e);
}

int train_run(struct worker *a, struct checkpoints *kept, struct err *e)
{
    struct train t = {.worker = a, .spec = &a->spec[0], .checkpoints = kept};

    int rc = train_prepare(&t, e);
    if (rc == 0) rc = train_loop(&t, e);
    if (rc == 0) rc = train_finish(&t, e);
    kept->model = NULL;
    model_close(t.model);
    batches_close(t.batches);
    corpus_close(&t.corpus);
    return rc;
}
