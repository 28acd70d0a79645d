/* export.c - copies the tensors and writes down the model. */
#include "interchange/export.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "interchange/safetensors.h"
#include "shape/shape.h"
#include "spec/spec.h"

static int export_open(struct safetensors **out, struct spec *s, const struct export_options *o,
                       struct err *e)
{
    char found[HASH_HEX_BYTES], run_id[SPEC_ID_BYTES];

    TRY(hash_file(found, o->checkpoint, e));
    if (strcmp(found, o->sha256) != 0)
        return ERR(e, ERR_DATA, "%s: SHA-256 %.12s…, recorded %.12s…: the checkpoint is damaged",
                   o->checkpoint, found, o->sha256);
    TRY(safetensors_open(out, o->checkpoint, e));
    const char *text = safetensors_metadata(*out, "spec");
    if (!text) return ERR(e, ERR_DATA, "%s: holds no specification", o->checkpoint);
    TRY(spec_parse(s, text, e));
    spec_run_id(s, run_id);
    if (strcmp(run_id, o->run_id) == 0) return 0;
    return ERR(e, ERR_DATA, "%s: the specification inside is that of run %s, expected %s",
               o->checkpoint, run_id, o->run_id);
}

static int export_put_tensors(const struct safetensors *from, const char *path,
                              const struct export_options *o, struct err *e)
{
    struct safetensors_writer *w = NULL;
    int rc = 0;

    TRY(safetensors_writer_open_named(&w, path, e));
    /* Loaders of the PyTorch world ask for this key. */
    TRY_OUT(rc, safetensors_writer_metadata(w, "format", "pt", e));
    TRY_OUT(rc, safetensors_writer_metadata(w, "run_id", o->run_id, e));
    for (int32_t i = 0; i < safetensors_count(from); i++) {
        const struct safetensors_entry *t = safetensors_at(from, i);
        TRY_OUT(rc, safetensors_writer_declare(w, t->name, t->dims, t->dims_n, e));
    }
    for (int32_t i = 0; i < safetensors_count(from); i++) {
        const struct safetensors_entry *t = safetensors_at(from, i);
        TRY_OUT(rc, safetensors_writer_add(w, t->data, t->elements_n, e));
    }
    rc = safetensors_writer_commit(w, NULL, NULL, e);
    w = NULL;
out:
    safetensors_writer_abandon(w);
    return rc;
}

static json_t *export_text(const struct spec *s, const char *key, struct arena *a)
{
    return json_string(spec_get(s, spec_key_find(key), a));
}

/* An option of the position method; numbers as numbers. */
static json_t *export_option(const struct spec *s, const struct position_option *p, struct arena *a)
{
    const void *field = (const char *)&s->option + p->offset;

    if (p->type == POSITION_INT) return json_integer(*(const int32_t *)field);
    if (p->type == POSITION_REAL) return json_real(*(const double *)field);
    return export_text(s, p->name, a);
}

/* How to read the tensors: what a loader needs to know, under plain names. */
static json_t *export_config(const struct spec *s, const struct export_options *o,
                             const char *update, struct arena *a)
{
    const struct spec_model *m = &s->model;
    json_t *cutoffs = json_array(), *config;

    for (int32_t i = 0; m->softmax == SPEC_ADAPTIVE && i < m->cutoffs_n; i++)
        json_array_append_new(cutoffs, json_integer(m->cutoffs[i]));
    config = json_pack(
        "{s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:o, s:i, s:b, s:s, s:i, s:o, s:o, s:o, s:o, s:{s:i, "
        "s:i, s:i, s:i}}",
        "architecture", "alibi-decoder-1", "position", spec_position_name(m->position),
        "vocab_size", (int)s->data.vocab, "layers", (int)m->layers, "dim", (int)m->dim, "heads",
        (int)m->heads, "ffn", (int)m->ffn, "cutoffs", cutoffs, "adaptive_factor",
        (int)m->adaptive_factor, "final_norm", (int)m->final_norm, "run_id", o->run_id, "L_train",
        (int)s->train.L, "model", export_text(s, "model.name", a), "dataset",
        export_text(s, "data.dataset", a), "corpus_fingerprint",
        export_text(s, "data.fingerprint", a), "update", json_string(update ? update : ""),
        "special_ids", "begin", 0, "pad", 1, "line_end", 2, "unknown", 3);
    for (const struct position_option *p = position_methods[m->position].functions->options;
         config && p && p->name; p++)
        json_object_set_new(config, p->name + strlen("model."), export_option(s, p, a));
    if (config && o->results) json_object_set(config, "results", o->results);
    return config;
}

int export_write(const struct export_options *o, struct err *e)
{
    struct safetensors *from = NULL;
    struct spec s;
    struct arena arena;
    json_t *config = NULL;
    char *text = NULL;
    int rc = 0;

    arena_init(&arena);
    TRY_OUT(rc, export_open(&from, &s, o, e));
    TRY_OUT(rc, file_make_dirs(o->dir, e));
    TRY_OUT(rc,
            export_put_tensors(from, arena_printf(&arena, "%s/model.safetensors", o->dir), o, e));
    config = export_config(&s, o, safetensors_metadata(from, "update"), &arena);
    text = config ? json_dumps(config, JSON_INDENT(1)) : NULL;
    if (!text) {
        rc = ERR(e, ERR_NOMEM, "no memory for config.json");
        goto out;
    }
    rc = file_write_named(arena_printf(&arena, "%s/config.json", o->dir), text, strlen(text), e);
out:
    free(text);
    json_decref(config);
    safetensors_close(from);
    arena_fini(&arena);
    return rc;
}
