/* checkpoints.c - writes checkpoints, deletes those no longer needed, resumes from one.
 *
 * Durability: weights and state are hashed while they are written (interchange/safetensors.c), then
 * synced and renamed, and their folder is synced (base/file.c); then the record is written and
 * synced (record/event.c).
 *
 * Resuming: (1) every EVENT_CHECKPOINT with a state is a candidate, in all older attempts back to
 * the newest fresh one. (2) They are tried in falling order of updates, newest attempts first. (3)
 * One is valid if its weights, its state and its best weights exist, match their hashes and belong
 * to this run. A missing file was deleted after a newer checkpoint; a file with another hash is
 * damaged and causes a warning. What a killed worker did not finish writing is deleted. */
#include "worker/checkpoints.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "interchange/interchange.h"
#include "worker/state.h"
#include "worker/weights.h"

/* The members of struct checkpoint_point in the metadata of a state file. */
static const struct point_field {
    const char *key;
    enum { POINT_INT, POINT_REAL, POINT_TEXT } kind; /* POINT_REAL: "none" if it is not finite */
    size_t offset, bytes;                            /* bytes: of a text */
} point_fields[] = {
    {"update", POINT_INT, offsetof(struct checkpoint_point, update), 0},
    {"validated", POINT_INT, offsetof(struct checkpoint_point, validated), 0},
    {"loss_nats", POINT_REAL, offsetof(struct checkpoint_point, loss_nats), 0},
    {"best_update", POINT_INT, offsetof(struct checkpoint_point, best.update), 0},
    {"best_bytes", POINT_INT, offsetof(struct checkpoint_point, best.bytes), 0},
    {"best_path", POINT_TEXT, offsetof(struct checkpoint_point, best.path), CHECKPOINT_PATH_BYTES},
    {"best_sha256", POINT_TEXT, offsetof(struct checkpoint_point, best.sha256), HASH_HEX_BYTES},
    {"best_loss_nats", POINT_REAL, offsetof(struct checkpoint_point, best_loss_nats), 0},
    {"seconds", POINT_REAL, offsetof(struct checkpoint_point, seconds), 0},
    {"wps", POINT_REAL, offsetof(struct checkpoint_point, wps), 0},
};
enum { POINT_FIELDS_N = sizeof point_fields / sizeof *point_fields };

/* --- writing -------------------------------------------------------------------------------- */

static void weights_path(char out[CHECKPOINT_PATH_BYTES], int64_t update)
{
    snprintf(out, CHECKPOINT_PATH_BYTES, "update-%09" PRId64 ".safetensors", update);
}

static void state_path(char out[CHECKPOINT_PATH_BYTES], int64_t update)
{
    snprintf(out, CHECKPOINT_PATH_BYTES, "update-%09" PRId64 ".state.safetensors", update);
}

static char *path_in(struct arena *a, const struct checkpoints *c, const char *name)
{
    return arena_printf(a, "%s/%s", c->worker->dir, name);
}

/* NULL: another rank writes the file. */
static const char *written_path(struct arena *a, const struct checkpoints *c, const char *name)
{
    return worker_writes(c->worker) ? path_in(a, c, name) : NULL;
}

static int write_weights(const struct checkpoints *c, struct arena *arena, int64_t update,
                         struct checkpoint_weights *out, struct err *e)
{
    const struct worker *a = c->worker;

    struct spec spec = a->spec[0];

    *out = (struct checkpoint_weights){.update = update};
    weights_path(out->path, update);
    /* No texts that differ between attempts, so that equal weights give equal files. */
    spec.train.keep_state = false;
    const struct safetensors_text texts[] = {
        {"format", "alibi weights 1"},     {"run_id", a->run_id[0]},
        {"spec", spec_text(&spec, arena)}, {"update", arena_printf(arena, "%" PRId64, update)},
        {"blas", a->backend->blas},
    };
    TRY(weights_save(c->model, 0, written_path(arena, c, out->path), texts,
                     sizeof texts / sizeof *texts, out->sha256, &out->bytes, e));
    return group_share(a->group, out, sizeof *out, e);
}

static const char *point_text(const struct checkpoint_point *p, const struct point_field *f,
                              struct arena *a)
{
    const void *at = (const char *)p + f->offset;
    char text[STR_DOUBLE_BYTES];

    if (f->kind == POINT_TEXT) return at;
    if (f->kind == POINT_INT) return arena_printf(a, "%" PRId64, *(const int64_t *)at);
    if (!isfinite(*(const double *)at)) return "none";
    str_from_double(text, *(const double *)at);
    return arena_strdup(a, text);
}

static int write_state(const struct checkpoints *c, struct arena *arena,
                       const struct checkpoint_point *now, const char *weights_sha256,
                       const char *path, char sha256[HASH_HEX_BYTES], struct err *e)
{
    const struct worker *a = c->worker;
    const char *choices = worker_choices(a, arena);
    struct safetensors_text texts[POINT_FIELDS_N + 5] = {
        {"format", "alibi state 1"},         {"run_id", a->run_id[0]},
        {"weights_sha256", weights_sha256},  {"blas", a->backend->blas},
        {"choices", choices ? choices : ""},
    };

    for (int i = 0; i < POINT_FIELDS_N; i++)
        texts[5 + i] = (struct safetensors_text){point_fields[i].key,
                                                 point_text(now, &point_fields[i], arena)};
    return weights_save(c->model, c->slots_n, written_path(arena, c, path), texts,
                        sizeof texts / sizeof *texts, sha256, NULL, e);
}

/* --- deleting ------------------------------------------------------------------------------- */

/* The files of checkpoints that are deleted from a folder: all but the n kept ones, or those that a
 * worker was killed while writing. */
struct deletion {
    char kept[6][CHECKPOINT_PATH_BYTES];
    int32_t n;
    bool unfinished;
};

static bool is_deleted(const struct deletion *x, const char *name)
{
    if (strncmp(name, "update-", strlen("update-")) != 0) return false;
    if (x->unfinished) return strstr(name, FILE_TEMPORARY) != NULL;
    for (int32_t i = 0; i < x->n; i++)
        if (strcmp(name, x->kept[i]) == 0) return false;
    return true;
}

static void delete_checkpoints(const struct deletion *x, const char *dir)
{
    struct dir d;
    struct err why;

    int rc = dir_open(&d, dir, &why);
    if (rc < 0) {
        if (rc != ERR_NOINPUT) log_warn("%s; its old checkpoints are kept", why.text);
        return;
    }
    for (int32_t i = 0; i < d.n; i++)
        if (is_deleted(x, d.name_own[i]) && unlinkat(d.fd, d.name_own[i], 0) < 0)
            log_warn("%s/%s: cannot be deleted: %s", dir, d.name_own[i], strerror(errno));
    dir_close(&d);
}

/* Keeps of the newest two checkpoints the weights, the best weights and the state; of a training
 * that is done the newest weights and the best, and with train.keep_state the newest state. */
static void prune_files(const struct checkpoints *c, bool done)
{
    struct deletion x = {0};

    for (int i = 0; i < (done ? 1 : 2); i++) {
        weights_path(x.kept[x.n++], c->kept[i].update);
        weights_path(x.kept[x.n++], c->kept[i].best);
        if (!done || c->worker->spec[0].train.keep_state)
            state_path(x.kept[x.n++], c->kept[i].update);
    }
    delete_checkpoints(&x, c->worker->dir);
}

static int save_point(struct checkpoints *c, struct arena *arena, struct checkpoint_point *now,
                      bool best, bool last, struct err *e)
{
    const struct checkpoint_weights *weights = &c->last;
    char path[CHECKPOINT_PATH_BYTES], sha256[HASH_HEX_BYTES] = ""; /* rank 0 alone has one */

    if (weights->update != now->update) {
        TRY(write_weights(c, arena, now->update, &c->last, e));
        c->kept[1] = c->kept[0];
    }
    if (best) now->best = *weights;
    c->kept[0].update = now->update;
    c->kept[0].best = now->best.update;
    state_path(path, now->update);
    if (!last) TRY(write_state(c, arena, now, weights->sha256, path, sha256, e));
    const struct record r = {
        .type = EVENT_CHECKPOINT,
        .checkpoint = {.update = weights->update,
                       .path = weights->path,
                       .sha256 = weights->sha256,
                       .bytes = weights->bytes,
                       .best = best,
                       .state_path = last ? NULL : path,
                       .state_sha256 = last ? NULL : sha256,
                       .best_update = now->best.update > 0 ? now->best.update : RECORD_NONE}};
    TRY(record_write(c->worker->events, &r, e));
    return event_sync(c->worker->events, e);
}

int checkpoints_save(struct checkpoints *c, struct checkpoint_point *now, bool best, bool last,
                     struct err *e)
{
    struct arena arena;

    arena_init(&arena);
    int rc = save_point(c, &arena, now, best, last, e);
    arena_fini(&arena);
    if (rc == 0 && worker_writes(c->worker)) prune_files(c, false);
    return rc;
}

void checkpoints_finish(struct checkpoints *c)
{
    prune_files(c, true);
}

/* --- resuming ------------------------------------------------------------------------------- */

struct candidate {
    struct record_checkpoint record;
    int32_t attempt;
};

struct candidates {
    struct candidate *item;
    int32_t n, capacity;
    struct arena *arena;
    int32_t attempt; /* that is being read */
};

/* Adds a checkpoint whose paths are plain file names; others are ignored. */
static int add_candidate(void *context, const struct event *ev, struct err *e)
{
    struct candidates *list = context;
    struct err wrong;
    struct record read, r;

    (void)e;
    if (ev->type != EVENT_CHECKPOINT || record_read(&read, ev, &wrong) < 0) return 0;
    record_copy(&r, &read, list->arena);
    const struct record_checkpoint *c = &r.checkpoint;
    if (!c->state_path || !c->state_sha256 || strchr(c->path, '/') || strchr(c->state_path, '/'))
        return 0;
    *vec_push(list->arena, list) = (struct candidate){.record = *c, .attempt = list->attempt};
    return 0;
}

static int compare_candidates(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->record.update != y->record.update) return x->record.update > y->record.update ? -1 : 1;
    return (y->attempt > x->attempt) - (y->attempt < x->attempt);
}

static int read_point(struct checkpoint_point *out, const struct safetensors *s, const char *path,
                      struct err *e)
{
    *out = (struct checkpoint_point){0};
    for (const struct point_field *f = point_fields; f < point_fields + POINT_FIELDS_N; f++) {
        const char *text = safetensors_metadata(s, f->key);
        void *at = (char *)out + f->offset;
        bool ok = text != NULL;
        if (ok && f->kind == POINT_TEXT)
            ok = snprintf(at, f->bytes, "%s", text) < (int)f->bytes;
        else if (ok && f->kind == POINT_INT)
            ok = str_to_int(at, text);
        else if (ok && strcmp(text, "none") == 0)
            *(double *)at = (double)NAN;
        else if (ok)
            ok = str_to_double(at, text);
        if (!ok)
            return ERR(e, ERR_DATA, "%s: %s is \"%.40s\", expected %s", path, f->key,
                       text ? text : "", f->kind == POINT_TEXT ? "a shorter text" : "a number");
    }
    if (strchr(out->best.path, '/'))
        return ERR(e, ERR_DATA, "%s: best_path is not the name of a file", path);
    return 0;
}

/* Copies the best weights into this attempt's folder. */
static int copy_best(struct checkpoints *c, const struct checkpoint_weights *best, const char *dir,
                     struct err *e)
{
    struct worker *a = c->worker;
    struct safetensors *checked = NULL;
    struct file_map map = {0};
    const char *from = arena_printf(&a->arena, "%s/%s", dir, best->path);

    if (best->update == 0 || !worker_writes(a)) return 0;
    TRY(checkpoint_open(&checked, NULL, from, best->sha256, a->run_id[0], e));
    safetensors_close(checked);
    TRY(file_map_open(&map, from, e));
    int rc = file_write_atomic(path_in(&a->arena, c, best->path), map.data, map.n, e);
    file_map_close(&map);
    return rc;
}

static int load_candidate(struct checkpoints *c, const struct candidate *x,
                          struct checkpoint_point *out, const char **choices, struct err *e)
{
    struct worker *a = c->worker;
    struct safetensors *weights = NULL, *state = NULL;
    const char *run_id = a->run_id[0], *sha256 = x->record.sha256;
    const char *dir = run_folder_sibling(&a->arena, a->dir, x->attempt);
    const char *path = arena_printf(&a->arena, "%s/%s", dir, x->record.path);
    const char *states = arena_printf(&a->arena, "%s/%s", dir, x->record.state_path);
    int rc = 0;

    TRY_OUT(rc, checkpoint_open(&weights, NULL, path, sha256, run_id, e));
    TRY_OUT(rc, checkpoint_open(&state, NULL, states, x->record.state_sha256, run_id, e));
    const char *of = safetensors_metadata(state, "weights_sha256");
    if (!of || strcmp(of, sha256) != 0) {
        rc = ERR(e, ERR_DATA, "%s: belongs to weights with SHA-256 %.12s…, expected %.12s…", states,
                 of ? of : "(none)", sha256);
        goto out;
    }
    TRY_OUT(rc, read_point(out, state, states, e));
    TRY_OUT(rc, copy_best(c, &out->best, dir, e));
    TRY_OUT(rc, weights_load(c->model, 0, weights, path, e));
    TRY_OUT(rc, weights_load(c->model, c->slots_n, state, states, e));
    const char *recorded = safetensors_metadata(state, "choices");
    *choices = recorded ? arena_strdup(&a->arena, recorded) : NULL;
    const char *blas = safetensors_metadata(state, "blas");
    if (blas && strcmp(blas, a->backend->blas) != 0)
        log_warn("resuming with %s a training started with %s: the last digits may differ from an "
                 "uninterrupted run",
                 a->backend->blas, blas);
out:
    safetensors_close(weights);
    safetensors_close(state);
    return rc;
}

static int find_candidates(struct candidates *list, const struct worker *a, struct err *e)
{
    list->attempt = run_folder_first(a->dir, a->number);
    for (; list->attempt < a->number; list->attempt++) {
        const char *dir = run_folder_sibling(list->arena, a->dir, list->attempt);
        if (worker_writes(a)) delete_checkpoints(&(struct deletion){.unfinished = true}, dir);
        TRY(run_folder_each(dir, add_candidate, list, e));
    }
    if (list->n > 1) qsort(list->item, (size_t)list->n, sizeof *list->item, compare_candidates);
    return 0;
}

/* The checkpoint that rank 0 has loaded. */
struct choice {
    int32_t attempt; /* 0: none */
    char state_sha256[HASH_HEX_BYTES];
};

/* Loads the newest valid checkpoint. */
static int load_newest(struct checkpoints *c, const struct candidates *list,
                       struct checkpoint_point *now, struct choice *chosen, const char **choices,
                       struct err *e)
{
    for (int32_t i = 0; i < list->n; i++) {
        const struct candidate *x = &list->item[i];
        struct err why = {0};
        int rc = load_candidate(c, x, now, choices, &why);
        if (rc == 0) {
            chosen->attempt = x->attempt;
            snprintf(chosen->state_sha256, sizeof chosen->state_sha256, "%s",
                     x->record.state_sha256);
            return 0;
        }
        if (rc != ERR_DATA && rc != ERR_NOINPUT) return ERR(e, rc, "%s", why.text);
        if (rc == ERR_DATA) log_warn("%s; trying an older checkpoint", why.text);
    }
    return 0;
}

/* Loads the checkpoint that rank 0 has chosen. */
static int load_chosen(struct checkpoints *c, const struct candidates *list,
                       struct checkpoint_point *now, const struct choice *chosen,
                       const char **choices, struct err *e)
{
    for (int32_t i = 0; i < list->n; i++) {
        const struct candidate *x = &list->item[i];
        if (x->attempt == chosen->attempt &&
            strcmp(x->record.state_sha256, chosen->state_sha256) == 0)
            return load_candidate(c, x, now, choices, e);
    }
    return ERR(
        e, ERR_NOINPUT,
        "the records of attempt %d do not have the checkpoint (state %.12s…) from which rank "
        "0 resumes; all ranks need the same files",
        chosen->attempt, chosen->state_sha256);
}

int checkpoints_resume(struct checkpoints *c, struct checkpoint_point *now, struct err *e)
{
    struct worker *a = c->worker;
    struct candidates list = {.arena = &a->arena};
    struct checkpoint_point point;
    struct choice chosen = {0};
    const char *choices = NULL;

    TRY(find_candidates(&list, a, e));
    if (worker_writes(a)) TRY(load_newest(c, &list, &point, &chosen, &choices, e));
    TRY(group_share(a->group, &chosen, sizeof chosen, e));
    if (chosen.attempt == 0) return 0;
    if (!worker_writes(a)) TRY(load_chosen(c, &list, &point, &chosen, &choices, e));
    TRY(worker_share_choices(a, &choices, e));
    worker_restore_choices(a, choices);
    *now = point;
    log_info("resuming after update %" PRId64 " of attempt %d", now->update, chosen.attempt);
    return 0;
}
