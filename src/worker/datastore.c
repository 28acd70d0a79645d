/* datastore.c - finds, builds and checks the datastore of a training. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "record/run_folder.h"
#include "worker/worker_internal.h"

enum { IDENTITY_DIGITS = 16, TEXTS_MAX = 12, VALUES_AT_A_TIME = 65536, LOCK_WAIT_MS = 200 };

/* The file's metadata: everything that determines the keys. */
struct identity {
    struct safetensors_text text[TEXTS_MAX];
    int32_t n;
    const char *prefix; /* of the file's name */
};

static void add_text(struct identity *id, const char *key, const char *text)
{
    id->text[id->n++] = (struct safetensors_text){key, text};
}

static struct identity identity_of(const struct datastore_options *o, struct arena *a)
{
    char run_id[SPEC_ID_BYTES], hash[HASH_HEX_BYTES];
    const struct spec_knn *k = &o->knn;
    bool untrained = k->control == SPEC_KNN_UNTRAINED;
    struct identity id = {0};
    struct strbuf b;

    spec_run_id(&o->source->spec, run_id);
    add_text(&id, "format", "alibi datastore 1");
    add_text(&id, "run_id", arena_strdup(a, run_id));
    add_text(&id, "checkpoint_sha256", untrained ? "initial values" : o->source->sha256);
    add_text(&id, "corpus_fingerprint", o->corpus->fingerprint);
    add_text(&id, "window", arena_printf(a, "%d", k->window));
    add_text(&id, "stride", arena_printf(a, "%d", k->stride));
    add_text(&id, "keys", arena_printf(a, "%" PRId64, k->keys));
    strbuf_init(&b, a);
    for (int32_t i = 0; i < id.n; i++) strbuf_addf(&b, "%s=%s\n", id.text[i].key, id.text[i].text);
    hash_sha256_hex(hash, b.text, strlen(b.text));
    id.prefix = arena_printf(a, RUN_DATASTORE "%.*s", IDENTITY_DIGITS, hash);
    return id;
}

/* --- opening -------------------------------------------------------------------------------- */

void datastore_close(struct datastore *d)
{
    safetensors_close(d->file);
    *d = (struct datastore){0};
}

static int check_tensor(const struct safetensors *s, const char *name, const char *dtype,
                        int64_t rows, int64_t cols, struct err *e)
{
    const struct safetensors_entry *x = safetensors_find(s, name);

    if (!x) return ERR(e, ERR_DATA, "tensor %s is missing", name);
    if (strcmp(x->dtype, dtype) != 0)
        return ERR(e, ERR_DATA, "%s is %s, expected %s", name, x->dtype, dtype);
    if (x->dims_n != (cols > 0 ? 2 : 1) || x->dims[0] != rows || (cols > 0 && x->dims[1] != cols))
        return ERR(e, ERR_DATA,
                   "%s has %" PRId64 " elements in %d dimensions, expected %" PRId64
                   " rows of %" PRId64,
                   name, x->elements_n, x->dims_n, rows, cols > 0 ? cols : 1);
    return 0;
}

static int check(const struct datastore *d, const struct datastore_options *o, struct arena *a,
                 struct err *e)
{
    const struct identity id = identity_of(o, a);

    for (int32_t i = 0; i < id.n; i++) {
        const char *key = id.text[i].key, *text = safetensors_metadata(d->file, key);
        if (!text || strcmp(text, id.text[i].text) != 0)
            return ERR(e, ERR_DATA, "%s is %.64s, expected %.64s", key, text ? text : "absent",
                       id.text[i].text);
    }
    if (safetensors_count(d->file) != 2)
        return ERR(e, ERR_DATA, "%d tensors, expected keys and values", safetensors_count(d->file));
    TRY(check_tensor(d->file, "keys", "F32", o->knn.keys, o->source->spec.model.dim, e));
    TRY(check_tensor(d->file, "values", "I32", o->knn.keys, 0, e));
    const int32_t *values = safetensors_find(d->file, "values")->data;
    for (int64_t i = 0; i < o->knn.keys; i++)
        if (values[i] < 0 || values[i] >= o->corpus->vocab)
            return ERR(e, ERR_DATA, "value %" PRId64 " is %d, outside the dictionary of %d words",
                       i, values[i], o->corpus->vocab);
    return 0;
}

int datastore_open(struct datastore *d, const struct datastore_options *o, const char *path,
                   const char *sha256, struct err *e)
{
    struct arena a;

    *d = (struct datastore){.n = o->knn.keys};
    snprintf(d->sha256, sizeof d->sha256, "%s", sha256);
    arena_init(&a);
    int rc = hash_check(path, sha256, "the file is damaged; delete it", e);
    if (rc == 0) rc = safetensors_open(&d->file, path, e);
    if (rc == 0) {
        rc = check(d, o, &a, e);
        if (rc < 0) err_ctx(e, "%s: not the datastore of this training; delete it", path);
    }
    arena_fini(&a);
    if (rc < 0) {
        datastore_close(d);
        return rc;
    }
    d->keys = safetensors_find(d->file, "keys")->data;
    d->values = safetensors_find(d->file, "values")->data;
    return 0;
}

/* --- building ------------------------------------------------------------------------------- */

int datastore_model(struct model **out, const struct datastore_options *o, const struct spec *s,
                    const struct shape_capacity *capacity, struct err *e)
{
    TRY(model_open(out, o->worker->backend, s, capacity, e));
    int rc = o->knn.control == SPEC_KNN_UNTRAINED
                 ? model_init(*out, (uint64_t)s->train.seed, e)
                 : weights_of_source(o->source, o->worker, *out, e);
    if (rc < 0) {
        model_close(*out);
        *out = NULL;
    }
    return rc;
}

static int write_values(struct safetensors_writer *file, const struct datastore_options *o,
                        struct arena *a, struct err *e)
{
    const struct tokens *text = &o->corpus->split[CORPUS_TRAIN];
    int32_t *ids = arena_array(a, VALUES_AT_A_TIME, sizeof *ids);

    for (int64_t at = 0; at < o->knn.keys; at += VALUES_AT_A_TIME) {
        int64_t n = o->knn.keys - at < VALUES_AT_A_TIME ? o->knn.keys - at : VALUES_AT_A_TIME;
        tokens_read(text, at, n, ids);
        TRY(safetensors_writer_add(file, ids, n, e));
    }
    return 0;
}

static int write_keys(struct safetensors_writer *file, const struct datastore_options *o,
                      struct model *m, int32_t rows, struct err *e)
{
    int32_t width = o->source->spec.model.dim;
    struct score_options options = {
        .model = m, .rows = rows, .keys = SCORE_ONLY_KEYS, .width = width};
    struct scores scores;
    int64_t done = 0;
    int rc = 0;

    TRY(windows_make(&options.windows, &o->corpus->split[CORPUS_TRAIN], WINDOWS_STRIDE,
                     o->knn.window, o->knn.stride, o->knn.keys, e));
    scores_open(&scores, &options);
    while (rc == 0 && scores.rows_left > 0) {
        if (worker_stop_requested(o->worker))
            rc = ERR(e, ERR_INTERRUPTED,
                     "stopped while building a datastore; rerun the command to build it again");
        if (rc == 0)
            rc = worker_progress(o->worker, done, o->knn.keys + o->more, (double)NAN, (double)NAN,
                                 e);
        if (rc == 0) rc = scores_next(&scores, e);
        for (int64_t i = 0; rc == 0 && i < scores.n * width; i++)
            if (!isfinite(scores.keys[i]))
                rc = ERR(e, ERR_NUMBER,
                         "%s: the key of target %" PRId64 " of the training text is not finite",
                         o->source->path, done + i / width);
        if (rc == 0) rc = safetensors_writer_add(file, scores.keys, scores.n * width, e);
        done += scores.n;
    }
    scores_close(&scores);
    return rc;
}

static int write_file(const char *path, const struct identity *id,
                      const struct datastore_options *o, struct arena *a,
                      char sha256[HASH_HEX_BYTES], struct err *e)
{
    int64_t n = o->knn.keys, width = o->source->spec.model.dim;
    const struct safetensors_entry entry[] = {
        {.name = "values", .dtype = "I32", .dims = {n}, .dims_n = 1, .elements_n = n},
        {.name = "keys", .dtype = "F32", .dims = {n, width}, .dims_n = 2, .elements_n = n * width}};
    const struct safetensors_content content = {
        .text = id->text, .texts_n = id->n, .entry = entry, .entries_n = 2};
    struct safetensors_writer file = {0};
    struct shape_capacity capacity;
    struct model *m = NULL;

    shape_capacity_scores(&capacity, o->knn.window, o->knn.stride, 1, SPEC_FP32);
    capacity.keys = true;
    capacity.streamed = weights_are_streamed(o->source, o->worker);
    TRY(datastore_model(&m, o, &o->source->spec, &capacity, e));
    int rc = safetensors_writer_open(&file, path, &content, e);
    if (rc == 0) rc = write_values(&file, o, a, e);
    if (rc == 0) rc = write_keys(&file, o, m, capacity.rows_max, e);
    rc = safetensors_writer_close(&file, rc, sha256, NULL, e);
    model_close(m);
    return rc;
}

/* Gives the file its name only once it is complete. */
static int build(struct datastore *d, const struct identity *id, const char *dir,
                 const struct datastore_options *o, struct arena *a, struct err *e)
{
    const char *path = arena_printf(a, "%s/%s.safetensors", dir, id->prefix);
    char sha256[HASH_HEX_BYTES];

    TRY(write_file(path, id, o, a, sha256, e));
    const char *named = arena_printf(a, "%s/%s-%s.safetensors", dir, id->prefix, sha256);
    if (rename(path, named) < 0)
        return ERR(e, ERR_IO, "%s: cannot be renamed: %s", path, strerror(errno));
    TRY(file_sync(dir, e));
    TRY(datastore_open(d, o, named, sha256, e));
    d->built = true;
    return 0;
}

/* --- finding -------------------------------------------------------------------------------- */

/* Opens the file of this name if it is the datastore; deletes it if it is not complete or not
 * right. */
static int try_file(struct datastore *d, const struct identity *id, const struct dir *dir,
                    const char *path, const char *name, const struct datastore_options *o,
                    struct err *e)
{
    size_t prefix_n = strlen(id->prefix);
    char sha256[HASH_HEX_BYTES];
    struct err why = {0};
    int used = 0;

    if (strncmp(name, id->prefix, prefix_n) != 0 || d->file) return 0;
    if (sscanf(name + prefix_n, "-%64[0-9a-f].safetensors%n", sha256, &used) == 1 && used > 0 &&
        name[prefix_n + (size_t)used] == '\0') {
        int rc = datastore_open(d, o, path, sha256, &why);
        if (rc == 0) return 0;
        if (rc != ERR_DATA) return ERR(e, rc, "%s", why.text);
        log_warn("%s; building it again", why.text);
    }
    if (unlinkat(dir->fd, name, 0) < 0)
        return ERR(e, ERR_IO, "%s: cannot be deleted: %s", path, strerror(errno));
    return 0;
}

static int find(struct datastore *d, const struct identity *id, const char *dir,
                const struct datastore_options *o, struct arena *a, struct err *e)
{
    struct dir names;
    int rc = 0;

    TRY(dir_open(&names, dir, e));
    for (int32_t i = 0; rc == 0 && i < names.n; i++) {
        const char *name = names.name_own[i];
        rc = try_file(d, id, &names, arena_printf(a, "%s/%s", dir, name), name, o, e);
    }
    dir_close(&names);
    return rc;
}

/* Waits until no other worker has the lock. */
static int lock(int *fd, const char *path, const struct datastore_options *o, struct err *e)
{
    const struct timespec wait = {.tv_nsec = LOCK_WAIT_MS * 1000000L};
    struct err held = {0};
    int rc;

    while ((rc = file_lock(fd, path, o->worker->dir, &held)) == ERR_TRYLATER) {
        if (worker_stop_requested(o->worker))
            return ERR(e, ERR_INTERRUPTED, "stopped while another worker builds a datastore");
        TRY(worker_progress(o->worker, 0, o->more, (double)NAN, (double)NAN, e));
        nanosleep(&wait, NULL);
    }
    return rc < 0 ? ERR(e, rc, "%s", held.text) : 0;
}

int datastore_get(struct datastore *d, const struct datastore_options *o, struct err *e)
{
    struct arena a;
    int fd = -1, rc = 0;

    *d = (struct datastore){0};
    arena_init(&a);
    const struct identity id = identity_of(o, &a);
    const char *dir = o->source->dir;
    TRY_OUT(rc, lock(&fd, arena_printf(&a, "%s/" RUN_DATASTORE "lock", dir), o, e));
    TRY_OUT(rc, find(d, &id, dir, o, &a, e));
    if (!d->file) rc = build(d, &id, dir, o, &a, e);
out:
    file_unlock(fd);
    arena_fini(&a);
    return rc;
}
