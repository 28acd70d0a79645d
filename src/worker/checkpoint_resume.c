/* checkpoint_resume.c - finding the newest valid checkpoint of older attempts.
 *
 *   1. Every EVENT_CHECKPOINT with a state, of every older attempt down to one that holds a file
 *      `fresh`, is a candidate.
 *   2. They are tried from the highest update down, the newest attempt first.
 *   3. One is valid when its weights, its state and its best weights are there, match their hashes
 *      and belong to this run. A file that is not there was deleted when a newer checkpoint came; a
 *      file that differs is damaged and gets a warning. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "worker/checkpoint_files.h"
#include "worker/weights.h"

struct checkpoint_candidate {
    int64_t update;
    int32_t attempt;
    const char *weights_path, *weights_sha256, *state_path, *state_sha256; /* paths absolute */
};

struct checkpoint_candidates {
    struct checkpoint_candidate *own;
    int32_t n, room;
};

static int checkpoint_add(struct checkpoint_candidates *list, const struct checkpoint_candidate *x,
                          struct err *e)
{
    if (list->n == list->room) {
        int32_t room = list->room ? 2 * list->room : 16;
        struct checkpoint_candidate *grown = realloc(list->own, (size_t)room * sizeof *grown);
        if (!grown) return ERR(e, ERR_NOMEM, "no memory for %d checkpoints", room);
        list->own = grown;
        list->room = room;
    }
    list->own[list->n++] = *x;
    return 0;
}

/* A path in a record is a bare file name; anything else is not ours. */
static const char *checkpoint_path_of(const json_t *json, const char *key, const char *dir,
                                      struct arena *a)
{
    const char *name = json_string_value(json_object_get(json, key));
    return name && !strchr(name, '/') ? arena_printf(a, "%s/%s", dir, name) : NULL;
}

static const char *checkpoint_text_of(const json_t *json, const char *key, struct arena *a)
{
    const char *text = json_string_value(json_object_get(json, key));
    return text ? arena_strdup(a, text) : NULL;
}

static int checkpoint_list_attempt(struct checkpoint_candidates *list, struct worker *a,
                                   int32_t number, struct err *e)
{
    struct event_reader *reader = NULL;
    struct event record;
    const char *dir = arena_printf(&a->arena, "%s/%d", a->run_dir, number);
    int rc = 0;

    TRY(event_reader_open(&reader, arena_printf(&a->arena, "%s/events", dir), e));
    while ((rc = event_read(reader, &record, e)) == 1) {
        if (record.type != EVENT_CHECKPOINT) continue;
        const struct checkpoint_candidate x = {
            .update = json_integer_value(json_object_get(record.json, "update")),
            .attempt = number,
            .weights_path = checkpoint_path_of(record.json, "path", dir, &a->arena),
            .weights_sha256 = checkpoint_text_of(record.json, "sha256", &a->arena),
            .state_path = checkpoint_path_of(record.json, "state_path", dir, &a->arena),
            .state_sha256 = checkpoint_text_of(record.json, "state_sha256", &a->arena),
        };
        if (!x.weights_path || !x.weights_sha256 || !x.state_path || !x.state_sha256) continue;
        if (!file_exists(x.weights_path) || !file_exists(x.state_path)) continue;
        TRY_OUT(rc, checkpoint_add(list, &x, e));
    }
out:
    event_reader_close(reader);
    return rc;
}

static int checkpoint_compare(const void *a, const void *b)
{
    const struct checkpoint_candidate *x = a, *y = b;
    if (x->update != y->update) return x->update > y->update ? -1 : 1;
    return (y->attempt > x->attempt) - (y->attempt < x->attempt);
}

static int checkpoint_verify(const char *path, const char *sha256, struct err *e)
{
    char found[HASH_HEX_BYTES];

    TRY(hash_file(found, path, e));
    if (strcmp(found, sha256) != 0)
        return ERR(e, ERR_DATA, "%s: SHA-256 %.12s…, recorded %.12s…: the file is damaged", path,
                   found, sha256);
    return 0;
}

static int checkpoint_read_int(int64_t *out, const struct safetensors *s, const char *key,
                               const char *path, struct err *e)
{
    const char *text = safetensors_metadata(s, key);
    if (!text || !str_to_int(out, text))
        return ERR(e, ERR_DATA, "%s: %s is \"%.40s\", expected a number", path, key,
                   text ? text : "");
    return 0;
}

static int checkpoint_read_double(double *out, const struct safetensors *s, const char *key,
                                  const char *path, struct err *e)
{
    const char *text = safetensors_metadata(s, key);

    *out = (double)NAN;
    if (text && strcmp(text, "none") == 0) return 0;
    if (!text || !str_to_double(out, text))
        return ERR(e, ERR_DATA, "%s: %s is \"%.40s\", expected a number", path, key,
                   text ? text : "");
    return 0;
}

static int checkpoint_read_point(struct checkpoint_point *out, const struct safetensors *s,
                                 const char *path, struct err *e)
{
    const char *best_path = safetensors_metadata(s, "best_path");
    const char *best_sha256 = safetensors_metadata(s, "best_sha256");

    *out = (struct checkpoint_point){0};
    TRY(checkpoint_read_int(&out->update, s, "update", path, e));
    TRY(checkpoint_read_int(&out->validated, s, "validated", path, e));
    TRY(checkpoint_read_double(&out->loss_nats, s, "loss_nats", path, e));
    TRY(checkpoint_read_int(&out->best.update, s, "best_update", path, e));
    TRY(checkpoint_read_int(&out->best.bytes, s, "best_bytes", path, e));
    TRY(checkpoint_read_double(&out->best_loss_nats, s, "best_loss_nats", path, e));
    TRY(checkpoint_read_double(&out->seconds, s, "seconds", path, e));
    TRY(checkpoint_read_double(&out->wps, s, "wps", path, e));
    if (!best_path || !best_sha256 || strchr(best_path, '/'))
        return ERR(e, ERR_DATA, "%s: the best weights are not named", path);
    snprintf(out->best.path, sizeof out->best.path, "%s", best_path);
    snprintf(out->best.sha256, sizeof out->best.sha256, "%s", best_sha256);
    return 0;
}

/* Copies the best weights so far into this attempt's folder. */
static int checkpoint_take_best(struct checkpoints *c, const struct checkpoint_point *point,
                                int32_t attempt, struct err *e)
{
    struct worker *a = c->attempt;
    struct file_map map = {0};
    char found[HASH_HEX_BYTES];
    int rc = 0;

    if (point->best.update == 0) return 0;
    const char *from = arena_printf(&a->arena, "%s/%d/%s", a->run_dir, attempt, point->best.path);
    const char *to = arena_printf(&a->arena, "%s/%s", a->dir, point->best.path);
    TRY(file_map_open(&map, from, e));
    hash_sha256_hex(found, map.data, map.n);
    if (strcmp(found, point->best.sha256) != 0) {
        rc = ERR(e, ERR_DATA, "%s: SHA-256 %.12s…, recorded %.12s…: the file is damaged", from,
                 found, point->best.sha256);
        goto out;
    }
    TRY_OUT(rc, file_write_atomic(to, map.data, map.n, e));
    c->kept[c->kept_n++] =
        (struct checkpoint_kept){.weights = point->best, .best_update = point->best.update};
out:
    file_map_close(&map);
    return rc;
}

static int checkpoint_load(struct checkpoints *c, const struct checkpoint_candidate *x,
                           struct checkpoint_point *out, struct err *e)
{
    struct safetensors *weights = NULL, *state = NULL;
    int rc = 0;

    TRY_OUT(rc, checkpoint_verify(x->weights_path, x->weights_sha256, e));
    TRY_OUT(rc, checkpoint_verify(x->state_path, x->state_sha256, e));
    TRY_OUT(rc, safetensors_open(&weights, x->weights_path, e));
    TRY_OUT(rc, safetensors_open(&state, x->state_path, e));
    const char *run_id = safetensors_metadata(state, "run_id");
    const char *sha256 = safetensors_metadata(state, "weights_sha256");
    if (!run_id || strcmp(run_id, c->attempt->run_id[0]) != 0 || !sha256 ||
        strcmp(sha256, x->weights_sha256) != 0) {
        rc = ERR(e, ERR_DATA, "%s: belongs to run %.16s, not to %s with these weights",
                 x->state_path, run_id ? run_id : "(none)", c->attempt->run_id[0]);
        goto out;
    }
    TRY_OUT(rc, checkpoint_read_point(out, state, x->state_path, e));
    TRY_OUT(rc, checkpoint_take_best(c, out, x->attempt, e));
    TRY_OUT(rc, weights_load_training(c->model, checkpoint_slots(c->spec), weights, x->weights_path,
                                      state, x->state_path, e));
    worker_restore_choices(c->attempt, safetensors_metadata(state, "choices"));
    const char *blas = safetensors_metadata(state, "blas");
    if (blas && strcmp(blas, c->attempt->backend->blas) != 0)
        log_warn("going on with %s what was begun with %s: the last digits may differ from an "
                 "unbroken run",
                 c->attempt->backend->blas, blas);
out:
    safetensors_close(weights);
    safetensors_close(state);
    return rc;
}

/* The oldest attempt whose checkpoints may be used: the newest that was told to begin again. */
static int32_t checkpoint_oldest(struct worker *a)
{
    for (int32_t number = a->number; number > 1; number--)
        if (file_exists(arena_printf(&a->arena, "%s/%d/fresh", a->run_dir, number))) return number;
    return 1;
}

int checkpoint_resume(struct checkpoints *c, struct checkpoint_point *now, struct err *e)
{
    struct checkpoint_candidates list = {0};
    struct checkpoint_point point;
    int rc = 0;

    for (int32_t number = checkpoint_oldest(c->attempt); number < c->attempt->number; number++)
        TRY_OUT(rc, checkpoint_list_attempt(&list, c->attempt, number, e));
    if (list.n > 1) qsort(list.own, (size_t)list.n, sizeof *list.own, checkpoint_compare);
    for (int32_t i = 0; i < list.n; i++) {
        struct err fault = {0};
        rc = checkpoint_load(c, &list.own[i], &point, &fault);
        if (rc == 0) {
            *now = point;
            log_info("going on after update %" PRId64 " of attempt %d", now->update,
                     list.own[i].attempt);
            goto out;
        }
        if (rc != ERR_DATA && rc != ERR_NOINPUT) {
            rc = ERR(e, rc, "%s", fault.text);
            goto out;
        }
        log_warn("%s; trying an older checkpoint", fault.text);
        c->kept_n = 0;
    }
    rc = 0;
out:
    free(list.own);
    return rc;
}
