/* source.c - finds a source and opens it by its kind; the kinds whose weights are a file. */
#include "source/source_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

/* --- weights in a file of the attempt's folder ------------------------------------------------ */

static int file_open(struct source *s, const struct source_found *found, const char *run_id,
                     source_tick_fn *tick, void *context, struct err *e)
{
    struct source_inside *in = s->inside;

    (void)tick;
    (void)context;
    TRY(checkpoint_open(&in->file_own, &s->spec, found->path, found->sha256, run_id, e));
    shape_params(&s->params, &in->arena, &s->spec);
    struct safetensors_entry *want =
        arena_array(&in->arena, (size_t)s->params.tensors_n, sizeof *want);
    checkpoint_entries(want, &s->params);
    int rc = checkpoint_check(in->file_own, want, s->params.tensors_n, e);
    if (rc < 0) err_ctx(e, "%s", found->path);
    return rc;
}

static int file_read_tensor(const struct source *s, int32_t i, float *out, struct err *e)
{
    const struct safetensors *file = s->inside->file_own;
    const struct safetensors_entry *x = safetensors_find(file, s->params.tensor[i].name);

    (void)e;
    memcpy(out, x->data, x->data_bytes);
    safetensors_release(file, x); /* the file is as large as the model */
    return 0;
}

/* A checkpoint is replaced by renaming, which does not change the open file. */
static int file_is_unchanged(const struct source *s, struct err *e)
{
    (void)s;
    (void)e;
    return 0;
}

/* --- kinds ------------------------------------------------------------------------------------ */

static const struct source_kind {
    const char *name;        /* in EVENT_SOURCE; NULL: a training made here */
    enum spec_origin origin; /* of the trainings that it is registered for */
    bool is_folder;          /* struct source; otherwise a file of the attempt's folder */
    int (*open)(struct source *s, const struct source_found *found, const char *run_id,
                source_tick_fn *tick, void *context, struct err *e);
    int (*read)(const struct source *s, int32_t i, float *out, struct err *e);
    int (*check)(const struct source *s, struct err *e);
} source_kinds[] = {
    {NULL, SPEC_TRAINED, false, file_open, file_read_tensor, file_is_unchanged},
    {"checkpoint", SPEC_TRAINED, false, file_open, file_read_tensor, file_is_unchanged},
    {"authors", SPEC_AUTHORS, false, file_open, file_read_tensor, file_is_unchanged},
    {"folder", SPEC_PRETRAINED, true, model_folder_open, model_folder_read, model_folder_check},
};
enum { KINDS_N = sizeof source_kinds / sizeof *source_kinds };

static const struct source_kind *find_kind(const char *name)
{
    for (int i = 0; i < KINDS_N; i++)
        if (str_same(source_kinds[i].name, name)) return &source_kinds[i];
    return NULL;
}

bool source_is_folder(const char *kind)
{
    const struct source_kind *k = find_kind(kind);
    return k && k->is_folder;
}

/* --- finding ---------------------------------------------------------------------------------- */

static void set_path(struct source_found *out, struct arena *a, const char *dir, const char *path,
                     const char *sha256)
{
    out->path = path[0] == '/' ? path : arena_printf(a, "%s/%s", dir, path);
    snprintf(out->sha256, sizeof out->sha256, "%s", sha256);
    out->dir = dir;
}

/* Reads an attempt: 1 if the search ends with it. */
static int find_in(struct source_found *out, struct arena *a, const char *dir, const char *run_id,
                   enum spec_checkpoint which, struct err *e)
{
    struct run_outcome o;

    TRY(run_folder_outcome(&o, a, dir, run_id, e));
    const struct record_trained *t = &o.result.trained;
    if (o.result.type == EVENT_SOURCE) {
        out->source = o.result.source;
        bool is_absolute = out->source.path[0] == '/';
        if (is_absolute != source_is_folder(out->source.kind) ||
            (!is_absolute && strchr(out->source.path, '/')))
            return ERR(e, ERR_DATA, "%s: '%.200s' is not a path of weights of kind %.20s", dir,
                       out->source.path, out->source.kind);
        set_path(out, a, dir, out->source.path, out->source.sha256);
        return 1;
    }
    if (o.result.type != EVENT_TRAINED || (!o.done && (o.ended.type || out->path))) return 0;
    const char *name = which == SPEC_BEST ? t->best_checkpoint : t->last_checkpoint;
    const char *hash = which == SPEC_BEST ? t->best_sha256 : t->last_sha256;
    if (!name || strchr(name, '/') || !hash) return 0;
    set_path(out, a, dir, name, hash);
    if (strcmp(name, SOURCE_OLD_FILE) == 0) TRY(model_folder_find_old(out, a, run_id, e));
    return o.done;
}

int source_find(struct source_found *out, const struct project *p, struct arena *a,
                const char *run_id, enum spec_checkpoint which, struct err *e)
{
    const char *run_dir = arena_printf(a, "%s/" RUN_FOLDERS "/%s", p->root, run_id);
    int32_t *attempt, n;

    *out = (struct source_found){0};
    int rc = run_folder_attempts(&attempt, &n, a, run_dir, e);
    if (rc == ERR_NOINPUT)
        return ERR(e, rc, "%s not found: the training was not run in this project", run_dir);
    TRY(rc);
    for (int32_t i = n - 1; rc == 0 && i >= 0; i--)
        rc = find_in(out, a, arena_printf(a, "%s/%d", run_dir, attempt[i]), run_id, which, e);
    if (rc < 0 || out->path) return rc < 0 ? rc : 0;
    return ERR(e, ERR_NOINPUT, "%s: no finished attempt of training %s", run_dir, run_id);
}

/* --- opening ---------------------------------------------------------------------------------- */

int source_open(struct source *out, const struct project *p, const char *run_id,
                enum spec_checkpoint which, source_tick_fn *tick, void *context, struct err *e)
{
    struct source_inside *in = calloc(1, sizeof *in);
    struct source_found found;
    int rc = 0;

    *out = (struct source){.inside = in};
    if (!in) return ERR(e, ERR_NOMEM, "out of memory while opening run %s", run_id);
    arena_init(&in->arena);
    TRY_OUT(rc, source_find(&found, p, &in->arena, run_id, which, e));
    in->kind = find_kind(found.source.kind);
    if (!in->kind)
        TRY_OUT(rc, ERR(e, ERR_UNAVAILABLE,
                        "run %s: a newer version registered its weights (%.40s); use that version",
                        run_id, found.source.kind));
    out->path = found.path;
    out->is_folder = in->kind->is_folder;
    out->tokenizer = found.source.tokenizer;
    memcpy(out->sha256, found.sha256, sizeof out->sha256);
    rc = in->kind->open(out, &found, run_id, tick, context, e);
out:
    if (rc < 0) source_close(out);
    return rc;
}

int source_read(const struct source *s, int32_t i, float *out, struct err *e)
{
    return s->inside->kind->read(s, i, out, e);
}

int source_check(const struct source *s, struct err *e)
{
    return s->inside->kind->check(s, e);
}

void source_close(struct source *s)
{
    struct source_inside *in = s->inside;

    s->inside = NULL;
    if (!in) return;
    safetensors_close(in->file_own);
    pretrained_close(in->folder_own);
    arena_fini(&in->arena);
    free(in);
}

/* --- registering ------------------------------------------------------------------------------ */

int source_register(const char *dir, const struct spec *spec, const struct record_source *source,
                    struct err *e)
{
    struct record r = {.type = EVENT_SOURCE, .source = *source};
    struct event_writer *events = NULL;

    for (int i = 0; !r.source.kind && i < KINDS_N; i++)
        if (source_kinds[i].origin == spec->train.origin) r.source.kind = source_kinds[i].name;
    TRY(run_folder_write_specs(dir, &spec, 1, e));
    TRY(run_folder_sync(dir, e));
    int rc = run_folder_append(&events, dir, e);
    if (rc == 0) rc = record_write(events, &r, e);
    if (rc == 0) rc = event_sync(events, e);
    event_writer_close(events);
    return rc;
}
