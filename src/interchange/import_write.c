/* import_write.c - the numbers of a checkpoint, and the folder of a training that is done. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <jansson.h>

#include "base/file.h"
#include "base/hash.h"
#include "interchange/import_internal.h"
#include "interchange/safetensors.h"
#include "record/event.h"
#include "spec/code_id.h"

static const char import_file[] = "imported.safetensors";

struct import_writing {
    const struct import *im;
    const struct spec *spec;
    const char *dir;
    struct arena arena;
    struct import_fit fit;
    struct import_storage *storage; /* bytes of every storage that is needed */
    int32_t storages_n;
    float *values_own, *twin_own; /* room for the largest tensor each */
    char run_id[SPEC_ID_BYTES];
    char sha256[HASH_HEX_BYTES];
    int64_t bytes, updates;
};

/* --- the numbers --- */

static const void *import_storage_of(const struct import_writing *w, const char *key)
{
    for (int32_t i = 0; i < w->storages_n; i++)
        if (strcmp(w->storage[i].key, key) == 0) return w->storage[i].data_own;
    return NULL;
}

static void import_want(struct import_writing *w, const struct import_tensor *t)
{
    for (int32_t i = 0; i < w->storages_n; i++)
        if (strcmp(w->storage[i].key, t->key) == 0) return;
    w->storage[w->storages_n++] = (struct import_storage){.key = t->key, .bytes = t->storage_bytes};
}

static int import_load(struct import_writing *w, struct err *e)
{
    const struct import_fit *f = &w->fit;
    int64_t most = 1;

    w->storage =
        arena_array(&w->arena, (size_t)(f->params.tensors_n + f->twins_n) + 1, sizeof *w->storage);
    for (int32_t i = 0; i < f->params.tensors_n; i++) {
        import_want(w, f->of[i]);
        if (f->of[i]->elements_n > most) most = f->of[i]->elements_n;
    }
    for (int32_t i = 0; i < f->twins_n; i++)
        if (!import_tensor_same_view(f->twin[i].listed, f->twin[i].parameter))
            import_want(w, f->twin[i].listed);
    w->values_own = malloc((size_t)most * sizeof *w->values_own);
    w->twin_own = malloc((size_t)most * sizeof *w->twin_own);
    if (!w->values_own || !w->twin_own)
        return ERR(e, ERR_NOMEM, "%s: no memory for a tensor of %" PRId64 " elements",
                   w->im->archive.path, most);
    return import_archive_read(&w->im->archive, w->storage, w->storages_n, e);
}

static void import_widen(const struct import_writing *w, float *out, const struct import_tensor *t)
{
    import_tensor_widen(out, t, import_storage_of(w, t->key));
}

/* Tied tensors that are stored apart must hold the same numbers, or this is another model. */
static int import_check_twins(struct import_writing *w, struct err *e)
{
    for (int32_t i = 0; i < w->fit.twins_n; i++) {
        const struct tied_alias *twin = &w->fit.twin[i];
        if (import_tensor_same_view(twin->listed, twin->parameter)) continue;
        import_widen(w, w->values_own, twin->parameter);
        import_widen(w, w->twin_own, twin->listed);
        size_t bytes = (size_t)twin->parameter->elements_n * sizeof *w->values_own;
        if (memcmp(w->values_own, w->twin_own, bytes) != 0)
            return ERR(e, ERR_DATA,
                       "%s: %s differs from %s, to which the specification's model ties it",
                       w->im->archive.path, twin->listed->name, twin->parameter->name);
    }
    return 0;
}

static int import_put_header(struct import_writing *w, struct safetensors_writer *file,
                             struct err *e)
{
    char source[HASH_HEX_BYTES];
    const char *slash = strrchr(w->im->archive.path, '/');

    TRY(hash_file(source, w->im->archive.path, e));
    const char *const texts[][2] = {
        {"format", "alibi weights 1"},
        {"run_id", w->run_id},
        {"spec", spec_text(w->spec, &w->arena)},
        {"update", arena_printf(&w->arena, "%" PRId64, w->updates)},
        {"origin", "imported"},
        {"source", slash ? slash + 1 : w->im->archive.path},
        {"source_sha256", source},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        TRY(safetensors_writer_metadata(file, texts[i][0], texts[i][1], e));
    for (int32_t i = 0; i < w->fit.params.tensors_n; i++) {
        const struct import_tensor *t = w->fit.of[i];
        TRY(safetensors_writer_declare(file, t->name, t->dims, t->dims_n, e));
    }
    return 0;
}

static int import_put_tensors(struct import_writing *w, struct safetensors_writer *file,
                              struct err *e)
{
    for (int32_t i = 0; i < w->fit.params.tensors_n; i++) {
        const struct import_tensor *t = w->fit.of[i];
        import_widen(w, w->values_own, t);
        for (int64_t k = 0; k < t->elements_n; k++)
            if (!isfinite(w->values_own[k]))
                return ERR(e, ERR_DATA, "%s: element %" PRId64 " of %s is not finite",
                           w->im->archive.path, k, t->name);
        TRY(safetensors_writer_add(file, w->values_own, t->elements_n, e));
    }
    return 0;
}

static int import_put_weights(struct import_writing *w, struct err *e)
{
    struct safetensors_writer *file = NULL;
    int rc = 0;

    TRY(safetensors_writer_open(&file, arena_printf(&w->arena, "%s/%s", w->dir, import_file), e));
    TRY_OUT(rc, import_put_header(w, file, e));
    TRY_OUT(rc, import_put_tensors(w, file, e));
    rc = safetensors_writer_commit(file, w->sha256, &w->bytes, e);
    file = NULL;
out:
    safetensors_writer_abandon(file);
    return rc;
}

/* --- the records --- */

static int import_record_start(struct import_writing *w, struct event_writer *events, struct err *e)
{
    struct utsname host;

    if (uname(&host) < 0) return ERR(e, ERR_INTERNAL, "the name of this host is not known");
    TRY(event_write(events, EVENT_STARTED,
                    json_pack("{s:I, s:s, s:s, s:s, s:i, s:s, s:s}", "pid", (json_int_t)getpid(),
                              "host", host.nodename, "device", "imported", "backend", "none",
                              "threads", 1, "code_id", code_id(), "program", "alibi import"),
                    e));
    return event_write(events, EVENT_CHECKPOINT,
                       json_pack("{s:I, s:s, s:s, s:I, s:b}", "update", (json_int_t)w->updates,
                                 "path", import_file, "sha256", w->sha256, "bytes",
                                 (json_int_t)w->bytes, "best", 1),
                       e);
}

/* Speed, memory and time of the training are not known: they are left out. */
static int import_record_end(struct import_writing *w, struct event_writer *events,
                             double loss_nats, struct err *e)
{
    struct shape_cost cost;

    shape_cost(&cost, w->spec);
    TRY(event_write(events, EVENT_TRAINED,
                    json_pack("{s:s, s:I, s:I, s:I, s:f, s:s, s:s, s:s, s:s}", "run_id", w->run_id,
                              "updates", (json_int_t)w->updates, "tokens_per_update",
                              (json_int_t)cost.tokens_per_update, "parameters",
                              (json_int_t)w->fit.params.parameters_n, "final_loss_nats", loss_nats,
                              "best_checkpoint", import_file, "best_sha256", w->sha256,
                              "last_checkpoint", import_file, "last_sha256", w->sha256),
                    e));
    TRY(event_write(
        events, EVENT_ENDED,
        json_pack("{s:s, s:s, s:s}", "state", "done", "code", err_name(0), "message", "imported"),
        e));
    return event_sync(events, e);
}

static int import_record(struct import_writing *w, double loss_nats, struct err *e)
{
    struct event_writer *events = NULL;
    const char *text = spec_text(w->spec, &w->arena);

    TRY(file_write_atomic(arena_printf(&w->arena, "%s/spec", w->dir), text, strlen(text), e));
    TRY(event_writer_open(&events, arena_printf(&w->arena, "%s/events", w->dir), e));
    int rc = import_record_start(w, events, e);
    if (rc == 0) rc = import_record_end(w, events, loss_nats, e);
    event_writer_close(events);
    return rc;
}

int import_write(const struct import *im, const struct spec *s, const char *dir, double loss_nats,
                 struct err *e)
{
    struct import_writing w = {.im = im, .spec = s, .dir = dir};
    int rc = 0;

    arena_init(&w.arena);
    spec_run_id(s, w.run_id);
    w.updates = im->facts.updates > 0 ? im->facts.updates : s->train.updates;
    TRY_OUT(rc, import_fit(&w.fit, &w.arena, im, s, e));
    TRY_OUT(rc, import_load(&w, e));
    TRY_OUT(rc, import_check_twins(&w, e));
    TRY_OUT(rc, import_put_weights(&w, e));
    rc = import_record(&w, loss_nats, e);
out:
    for (int32_t i = 0; i < w.storages_n; i++) free(w.storage[i].data_own);
    free(w.values_own);
    free(w.twin_own);
    arena_fini(&w.arena);
    return rc;
}
