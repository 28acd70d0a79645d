/* checkpoint.c - writing checkpoints and deleting those no longer needed. */
#include "worker/checkpoints.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "worker/checkpoint_files.h"
#include "worker/weights.h"

enum { CHECKPOINT_WITH_STATE = 2, CHECKPOINT_NUMBER_BYTES = 24 };

void checkpoint_state_path(char out[CHECKPOINT_PATH_BYTES], int64_t update)
{
    snprintf(out, CHECKPOINT_PATH_BYTES, "update-%09" PRId64 ".state.safetensors", update);
}

static void checkpoint_weights_path(char out[CHECKPOINT_PATH_BYTES], int64_t update)
{
    snprintf(out, CHECKPOINT_PATH_BYTES, "update-%09" PRId64 ".safetensors", update);
}

int32_t checkpoint_slots(const struct spec *s)
{
    return s->train.optimizer == SPEC_ADAM ? 2 : 1;
}

struct checkpoint_weights checkpoint_last(const struct checkpoints *c)
{
    return c->kept_n ? c->kept[c->kept_n - 1].weights : (struct checkpoint_weights){0};
}

static int checkpoint_write_weights(const struct checkpoints *c, int64_t update,
                                    struct checkpoint_weights *out, struct err *e)
{
    struct arena arena;
    char number[CHECKPOINT_NUMBER_BYTES];

    *out = (struct checkpoint_weights){.update = update};
    checkpoint_weights_path(out->path, update);
    arena_init(&arena);
    snprintf(number, sizeof number, "%" PRId64, update);
    /* Nothing that differs from attempt to attempt: equal weights are equal files. */
    const struct weights_metadata texts[] = {
        {"format", "alibi weights 1"},        {"run_id", c->attempt->run_id[0]},
        {"spec", spec_text(c->spec, &arena)}, {"update", number},
        {"blas", c->attempt->backend->blas},
    };
    int rc = weights_save(c->model, arena_printf(&arena, "%s/%s", c->attempt->dir, out->path),
                          texts, sizeof texts / sizeof *texts, out->sha256, &out->bytes, e);
    arena_fini(&arena);
    return rc;
}

static const char *checkpoint_number(struct arena *a, int64_t v)
{
    return arena_printf(a, "%" PRId64, v);
}

static const char *checkpoint_double(struct arena *a, double v)
{
    char text[STR_DOUBLE_BYTES];
    if (!isfinite(v)) return "none";
    str_from_double(text, v);
    return arena_strdup(a, text);
}

static int checkpoint_write_state(const struct checkpoints *c, const struct checkpoint_point *now,
                                  const struct checkpoint_weights *weights,
                                  char path[CHECKPOINT_PATH_BYTES], char sha256[HASH_HEX_BYTES],
                                  struct err *e)
{
    struct arena arena;

    arena_init(&arena);
    checkpoint_state_path(path, now->update);
    const struct weights_metadata texts[] = {
        {"format", "alibi state 1"},
        {"run_id", c->attempt->run_id[0]},
        {"weights_sha256", weights->sha256},
        {"blas", c->attempt->backend->blas},
        {"update", checkpoint_number(&arena, now->update)},
        {"validated", checkpoint_number(&arena, now->validated)},
        {"loss_nats", checkpoint_double(&arena, now->loss_nats)},
        {"best_update", checkpoint_number(&arena, now->best.update)},
        {"best_bytes", checkpoint_number(&arena, now->best.bytes)},
        {"best_path", now->best.path},
        {"best_sha256", now->best.sha256},
        {"best_loss_nats", checkpoint_double(&arena, now->best_loss_nats)},
        {"seconds", checkpoint_double(&arena, now->seconds)},
        {"wps", checkpoint_double(&arena, now->wps)},
        {"choices", worker_choices(c->attempt, &arena)},
    };
    int rc = weights_save_state(c->model, checkpoint_slots(c->spec),
                                arena_printf(&arena, "%s/%s", c->attempt->dir, path), texts,
                                sizeof texts / sizeof *texts, sha256, NULL, e);
    arena_fini(&arena);
    return rc;
}

static void checkpoint_delete(const struct checkpoints *c, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", c->attempt->dir, name);
    if (unlink(path) < 0 && errno != ENOENT)
        log_warn("%s: cannot be deleted: %s", path, strerror(errno));
}

/* Whether the weights of entry i are still of use: the newest, the best, or what an entry with
 * state needs. */
static bool checkpoint_needs(const struct checkpoints *c, const struct checkpoint_point *now,
                             int32_t i)
{
    int64_t update = c->kept[i].weights.update;

    if (i == c->kept_n - 1 || update == now->best.update) return true;
    for (int32_t k = 0; k < c->kept_n; k++)
        if (c->kept[k].has_state && (k == i || c->kept[k].best_update == update)) return true;
    return false;
}

/* Keeps the state of the newest `states` checkpoints and the weights that are of use. */
static void checkpoint_prune(struct checkpoints *c, const struct checkpoint_point *now,
                             int32_t states)
{
    bool needed[CHECKPOINT_KEPT_MAX];
    int32_t kept_n = 0;

    for (int32_t i = 0; i < c->kept_n - states; i++) {
        char path[CHECKPOINT_PATH_BYTES];
        if (!c->kept[i].has_state) continue;
        checkpoint_state_path(path, c->kept[i].weights.update);
        checkpoint_delete(c, path);
        c->kept[i].has_state = false;
    }
    for (int32_t i = 0; i < c->kept_n; i++) needed[i] = checkpoint_needs(c, now, i);
    for (int32_t i = 0; i < c->kept_n; i++) {
        if (needed[i])
            c->kept[kept_n++] = c->kept[i];
        else
            checkpoint_delete(c, c->kept[i].weights.path);
    }
    c->kept_n = kept_n;
}

static json_t *checkpoint_record(const struct checkpoint_point *now,
                                 const struct checkpoint_weights *weights, const char *state_path,
                                 const char *state_sha256, bool best)
{
    json_t *json = json_pack("{s:I, s:s, s:s, s:I, s:b}", "update", (json_int_t)weights->update,
                             "path", weights->path, "sha256", weights->sha256, "bytes",
                             (json_int_t)weights->bytes, "best", best);
    if (json && *state_path) {
        json_object_set_new(json, "state_path", json_string(state_path));
        json_object_set_new(json, "state_sha256", json_string(state_sha256));
    }
    if (json && now->best.update > 0)
        json_object_set_new(json, "best_update", json_integer(now->best.update));
    return json;
}

int checkpoint_save(struct checkpoints *c, struct checkpoint_point *now, bool best, bool last,
                    struct err *e)
{
    struct checkpoint_weights weights = checkpoint_last(c);
    char state_path[CHECKPOINT_PATH_BYTES] = "", state_sha256[HASH_HEX_BYTES] = "";

    if (weights.update != now->update) {
        TRY(checkpoint_write_weights(c, now->update, &weights, e));
        c->kept[c->kept_n++] = (struct checkpoint_kept){.weights = weights};
    }
    if (best) now->best = weights;
    c->kept[c->kept_n - 1].best_update = now->best.update;
    if (!last) {
        TRY(checkpoint_write_state(c, now, &weights, state_path, state_sha256, e));
        c->kept[c->kept_n - 1].has_state = true;
    }
    TRY(event_write(c->attempt->events, EVENT_CHECKPOINT,
                    checkpoint_record(now, &weights, state_path, state_sha256, best), e));
    TRY(event_sync(c->attempt->events, e));
    checkpoint_prune(c, now, CHECKPOINT_WITH_STATE);
    return 0;
}

void checkpoint_finish(struct checkpoints *c, const struct checkpoint_point *now)
{
    checkpoint_prune(c, now, 0);
}
