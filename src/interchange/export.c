/* export.c - writes the tensors and describes the model. */
#include "interchange/interchange.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"

static int export_put_tensors(const struct safetensors *from, const char *path,
                              const struct export_options *o, struct err *e)
{
    /* PyTorch loaders require the key "format". */
    const struct safetensors_text texts[] = {{"format", "pt"}, {"run_id", o->run_id}};
    const struct safetensors_content content = {.named = true,
                                                .text = texts,
                                                .texts_n = sizeof texts / sizeof *texts,
                                                .entry = safetensors_at(from, 0),
                                                .entries_n = safetensors_count(from)};
    struct safetensors_writer w;
    int rc = safetensors_writer_open(&w, path, &content, e);
    for (int32_t i = 0; rc == 0 && i < content.entries_n; i++)
        rc = safetensors_writer_add(&w, content.entry[i].data, content.entry[i].elements_n, e);
    return safetensors_writer_close(&w, rc, NULL, NULL, e);
}

static json_t *export_text(const struct spec *s, const char *key, struct arena *a)
{
    return json_string(spec_get(s, spec_key_find(key), a));
}

/* Returns the slopes of ALiBi, one for each head: a loader need not know how they are chosen. */
static json_t *export_slopes(const struct spec *s, struct arena *a)
{
    const struct position_shape shape = spec_position_shape(s);
    float *tail = arena_array(a, (size_t)s->model.heads, sizeof *tail);
    struct position_bias bias = {.tail = tail};
    json_t *slopes = json_array();

    position_methods[s->model.position].functions->fill(&shape, NULL, &bias);
    for (int32_t h = 0; h < s->model.heads; h++)
        json_array_append_new(slopes, json_real(-(double)tail[h]));
    return slopes;
}

/* Returns an option of the position method as JSON; numbers as numbers. */
static json_t *export_option(const struct spec *s, const struct position_option *p, struct arena *a)
{
    const void *field = (const char *)&s->option + p->offset;

    if (p->type == POSITION_REALS) return export_slopes(s, a);
    if (p->type == POSITION_INT) return json_integer(*(const int32_t *)field);
    if (p->type == POSITION_REAL) return json_real(*(const double *)field);
    return export_text(s, p->name, a);
}

/* Makes config.json, from which a loader interprets the tensors. */
static json_t *export_config(const struct spec *s, const struct export_options *o,
                             const char *update, struct arena *a)
{
    const struct spec_model *m = &s->model;
    json_t *cutoffs = json_array(), *config;

    for (int32_t i = 0; m->softmax == SPEC_ADAPTIVE && i < m->cutoffs_n; i++)
        json_array_append_new(cutoffs, json_integer(m->cutoffs[i]));
    config = json_pack(
        "{s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:o, s:i, s:b, s:i, s:i, s:o, s:s, s:i, s:o, s:o, "
        "s:o, s:o, s:{s:i, s:i, s:i, s:i}}",
        "architecture", "alibi-decoder-1", "position", spec_position_name(m->position),
        "vocab_size", (int)s->data.vocab, "layers", (int)m->layers, "dim", (int)m->dim, "heads",
        (int)m->heads, "ffn", (int)m->ffn, "cutoffs", cutoffs, "adaptive_factor",
        (int)m->adaptive_factor, "final_norm", (int)m->final_norm, "attention_window",
        (int)m->mask.window, "attention_sinks", (int)m->mask.sinks, "sink_positions",
        export_text(s, "model.sink_positions", a), "run_id", o->run_id, "L_train", (int)s->train.L,
        "model", export_text(s, "model.name", a), "dataset", export_text(s, "data.dataset", a),
        "corpus_fingerprint", export_text(s, "data.fingerprint", a), "update",
        update ? json_integer(strtoll(update, NULL, 10)) : json_null(), "special_ids", "begin", 0,
        "pad", 1, "line_end", 2, "unknown", 3);
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
    TRY_OUT(rc, checkpoint_open(&from, &s, o->checkpoint, o->sha256, o->run_id, e));
    TRY_OUT(rc, file_make_dirs(o->dir, e));
    TRY_OUT(rc,
            export_put_tensors(from, arena_printf(&arena, "%s/model.safetensors", o->dir), o, e));
    config = export_config(&s, o, safetensors_metadata(from, "update"), &arena);
    text = config ? json_dumps(config, JSON_INDENT(1)) : NULL;
    if (!text) {
        rc = ERR(e, ERR_NOMEM, "out of memory for config.json");
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
