/* import.c - reads a checkpoint's description, compares it with a spec, writes its weights.
 *
 * fairseq stores its options in `args` (a Namespace) or in `cfg` (groups `model`, `task`, …). Every
 * recorded option must agree with the spec. */
#include "interchange/interchange.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/str.h"
#include "interchange/safetensors.h"
#include "interchange/torch_file.h"
#include "record/run_folder.h"
#include "shape/shape.h"
#include "spec/code_id.h"

static const char import_file[] = "imported.safetensors";
static const double import_ln2 = 0.69314718055994530942;

/* A tensor that the file lists a second time under another name. */
struct tied_alias {
    const struct torch_tensor *listed, *parameter;
};

struct import {
    struct arena arena;
    struct torch_file file;
    struct pickle_value *checkpoint; /* content of data.pkl */
    struct torch_tensor *tensor;
    int32_t tensors_n;
    struct import_facts facts;

    /* Of import_check: the spec, its parameters, the tensor of each, and the tied ones. */
    struct spec spec;
    struct shape_params params;
    const struct torch_tensor **of;
    struct tied_alias *alias;
    int32_t aliases_n;
};

/* --- options and statistics ----------------------------------------------------------------- */

static const struct torch_tensor *find_tensor(const struct import *im, const char *name)
{
    for (int32_t i = 0; i < im->tensors_n; i++)
        if (strcmp(im->tensor[i].name, name) == 0) return &im->tensor[i];
    return NULL;
}

/* An option of fairseq, from args or cfg; NULL: not recorded. */
static const struct pickle_value *option_of(const struct pickle_value *checkpoint, const char *name)
{
    static const char *const groups[] = {"model", "task", "dataset"};
    const struct pickle_value *cfg = pickle_get(checkpoint, "cfg");

    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        const struct pickle_value *v = pickle_get(pickle_get(cfg, groups[i]), name);
        if (v && v->type != PICKLE_NONE) return v;
    }
    const struct pickle_value *v = pickle_get(pickle_get(checkpoint, "args"), name);
    return v && v->type != PICKLE_NONE ? v : NULL;
}

static bool is_number(double *out, const struct pickle_value *v)
{
    if (!v || (v->type != PICKLE_INT && v->type != PICKLE_REAL && v->type != PICKLE_BOOL))
        return false;
    *out = v->type == PICKLE_REAL ? v->real : (double)v->integer;
    return isfinite(*out);
}

/* Mean of the meter `loss` in the statistics of the last epoch, converted from bits to nats. */
static double train_loss(const struct pickle_value *checkpoint)
{
    const struct pickle_value *extra = pickle_get(checkpoint, "extra_state");
    const struct pickle_value *meters = pickle_get(pickle_get(extra, "metrics"), "train");
    double sum, count;

    for (int32_t i = 0; meters && meters->type == PICKLE_LIST && i < meters->n; i++) {
        const struct pickle_value *m = meters->item[i]; /* priority, key, class, state */
        if (m->type != PICKLE_TUPLE || m->n != 4 || m->item[1]->type != PICKLE_TEXT) continue;
        if (strcmp(m->item[1]->text, "loss") != 0) continue;
        if (is_number(&sum, pickle_get(m->item[3], "sum")) &&
            is_number(&count, pickle_get(m->item[3], "count")) && count > 0)
            return sum / count * import_ln2;
    }
    return (double)NAN;
}

/* The position method whose learned tensors the file contains; NULL: none, or several. */
static const char *find_position(const struct import *im)
{
    const char *found = NULL;
    struct spec any;

    spec_init(&any);
    const struct position_shape shape = spec_position_shape(&any);
    for (int32_t p = 0; p < POSITION_METHODS_N; p++) {
        const struct position_functions *f = position_methods[p].functions;
        struct position_tensor tensor[POSITION_TENSORS_MAX];
        int32_t has_n = 0, n = f->tensors ? f->tensors(&shape, tensor) : 0;
        for (int32_t i = 0; i < n; i++) has_n += find_tensor(im, tensor[i].name) != NULL;
        if (n == 0 || has_n < n) continue;
        if (found) return NULL;
        found = position_methods[p].name;
    }
    return found;
}

static void read_facts(struct import *im)
{
    const struct pickle_value *checkpoint = im->checkpoint;
    struct import_facts *out = &im->facts;
    const struct pickle_value *history = pickle_get(checkpoint, "optimizer_history");
    const struct pickle_value *extra = pickle_get(checkpoint, "extra_state");
    double number;

    *out = (struct import_facts){
        .train_loss_nats = train_loss(checkpoint),
        .valid_loss_nats = (double)NAN,
        .heads_recorded = is_number(&number, option_of(checkpoint, "decoder_attention_heads")),
        .position = find_position(im)};
    for (int32_t i = 0; i < im->tensors_n; i++)
        if (im->tensor[i].dtype == TORCH_F16 || im->tensor[i].dtype == TORCH_BF16)
            out->was_fp16 = true;
    if (is_number(&number, option_of(checkpoint, "tokens_per_sample")) && number >= 1 &&
        number <= 1e6)
        out->L = (int32_t)number;
    if (history && history->type == PICKLE_LIST && history->n > 0 &&
        is_number(&number, pickle_get(history->item[history->n - 1], "num_updates")) &&
        number >= 1 && number <= 1e12)
        out->updates = (int64_t)number;
    if (is_number(&number, pickle_get(extra, "val_loss")) ||
        is_number(&number, pickle_get(extra, "best")))
        out->valid_loss_nats = number * import_ln2;
}

/* An option of the spec. */
struct import_option {
    const char *name;
    double number;
    const char *text; /* NULL: the option is a number */
};

static int check_option(const struct import *im, const struct import_option *o, struct err *e)
{
    const struct pickle_value *v = option_of(im->checkpoint, o->name);
    const char *path = im->file.path;
    double found;

    if (!v) return 0;
    if (o->text) {
        if (v->type == PICKLE_TEXT && strcmp(v->text, o->text) == 0) return 0;
        return ERR(e, ERR_DATA, "%s: trained with %s=%.60s, expected %s", path, o->name,
                   v->type == PICKLE_TEXT ? v->text : "(not text)", o->text);
    }
    if (!is_number(&found, v))
        return ERR(e, ERR_DATA, "%s: option %s is not a number, expected %g", path, o->name,
                   o->number);
    if (found == o->number) return 0;
    return ERR(e, ERR_DATA, "%s: trained with %s=%g, expected %g", path, o->name, found, o->number);
}

static int check_options(struct import *im, const struct spec *s, struct err *e)
{
    const struct spec_model *m = &s->model;
    bool adaptive = m->softmax == SPEC_ADAPTIVE;
    struct strbuf cutoffs;

    strbuf_init(&cutoffs, &im->arena);
    for (int32_t i = 0; i < m->cutoffs_n; i++)
        strbuf_addf(&cutoffs, "%s%d", i ? "," : "", m->cutoffs[i]);
    const struct import_option common[] = {
        {"tokens_per_sample", s->train.L, NULL},
        {"decoder_layers", m->layers, NULL},
        {"decoder_embed_dim", m->dim, NULL},
        {"decoder_input_dim", m->dim, NULL},
        {"decoder_output_dim", m->dim, NULL},
        {"decoder_ffn_embed_dim", m->ffn, NULL},
        {"decoder_attention_heads", m->heads, NULL},
        {"adaptive_input", adaptive, NULL},
        {"tie_adaptive_weights", adaptive, NULL},
        {"tie_adaptive_proj", adaptive, NULL},
        {"no_decoder_final_norm", !m->final_norm, NULL},
        {"decoder_learned_pos", 0, NULL},
        {"no_scale_embedding", 0, NULL},
        {"layernorm_embedding", 0, NULL},
        {"character_embeddings", 0, NULL},
        {"activation_fn", 0, "relu"},
    };
    const struct import_option bands[] = {
        {"adaptive_input_factor", m->adaptive_factor, NULL},
        {"adaptive_softmax_factor", m->adaptive_factor, NULL},
        {"adaptive_input_cutoff", 0, cutoffs.text},
        {"adaptive_softmax_cutoff", 0, cutoffs.text},
    };
    const struct import_option plain[] = {{"share_decoder_input_output_embed", 1, NULL}};

    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        TRY(check_option(im, &common[i], e));
    if (!adaptive) return check_option(im, plain, e);
    for (size_t i = 0; i < sizeof bands / sizeof *bands; i++) TRY(check_option(im, &bands[i], e));
    return 0;
}

/* --- opening -------------------------------------------------------------------------------- */

int import_open(struct import **out, const char *path, struct err *e)
{
    struct import *im = calloc(1, sizeof *im);
    int rc = 0;

    *out = NULL;
    if (!im) return ERR(e, ERR_NOMEM, "out of memory while reading %s", path);
    arena_init(&im->arena);
    TRY_OUT(rc, torch_file_open(&im->file, &im->arena, arena_strdup(&im->arena, path), e));
    TRY_OUT(rc, torch_file_describe(&im->checkpoint, &im->file, e));
    TRY_OUT(rc, torch_tensors_read(&im->tensor, &im->tensors_n, &im->file,
                                   pickle_get(im->checkpoint, "model"), e));
    read_facts(im);
    *out = im;
    im = NULL;
out:
    import_close(im);
    return rc;
}

void import_close(struct import *im)
{
    if (!im) return;
    torch_file_close(&im->file);
    arena_fini(&im->arena);
    free(im);
}

const struct import_facts *import_facts(const struct import *im)
{
    return &im->facts;
}

/* --- matching tensors ------------------------------------------------------------------------- */

static int fit_parameter(const struct torch_tensor **out, struct import *im,
                         const struct shape_tensor *p, struct err *e)
{
    const struct torch_tensor *t = *out = find_tensor(im, p->name);
    struct strbuf shape;

    if (!t) return ERR(e, ERR_DATA, "%s: tensor %s is missing", im->file.path, p->name);
    if (t->dtype == TORCH_OTHER)
        return ERR(e, ERR_DATA, "%s: %s is %s, expected float, half or bfloat16", im->file.path,
                   t->name, t->type);
    if (p->dims == 1 ? t->dims_n == 1 && t->dims[0] == (int64_t)p->rows * p->cols
                     : t->dims_n == 2 && t->dims[0] == p->rows && t->dims[1] == p->cols)
        return 0;
    strbuf_init(&shape, &im->arena);
    for (int32_t i = 0; i < t->dims_n; i++)
        strbuf_addf(&shape, "%s%" PRId64, i ? "," : "", t->dims[i]);
    return ERR(e, ERR_DATA, "%s: %s has shape (%s), expected (%d,%d)", im->file.path, t->name,
               shape.text, p->rows, p->cols);
}

/* The parameter to which the tensor of this name is tied (oracle SPEC.md section 14); -1: none. */
static int32_t tied_parameter(const struct shape_params *params, const char *name)
{
    static const struct {
        const char *listed, *parameter; /* %d: number of a tail, and of its band */
    } tied[] = {
        {"decoder.adaptive_softmax.head.word_proj.weight",
         "decoder.embed_tokens.embeddings.0.0.weight"},
        {"decoder.adaptive_softmax.tail.%d.0.weight",
         "decoder.embed_tokens.embeddings.%d.1.weight"},
        {"decoder.adaptive_softmax.tail.%d.2.weight",
         "decoder.embed_tokens.embeddings.%d.0.weight"},
        {"decoder.output_projection.weight", "decoder.embed_tokens.weight"},
    };
    char text[SHAPE_NAME_BYTES];

    for (size_t i = 0; i < sizeof tied / sizeof *tied; i++)
        for (int tail = 0; tail < SPEC_CUTOFFS_MAX; tail++) {
            snprintf(text, sizeof text, tied[i].listed, tail);
            if (strcmp(text, name) != 0) continue;
            snprintf(text, sizeof text, tied[i].parameter, tail + 1);
            return shape_find(params, text);
        }
    return -1;
}

/* Checks a tensor that is not a parameter: tied or bookkeeping; anything else is another
 * architecture. */
static int fit_other(struct import *im, const struct torch_tensor *t, struct err *e)
{
    static const char *const bookkeeping[] = {".version", "._float_tensor", ".buffer"};
    int32_t k = tied_parameter(&im->params, t->name);
    size_t n = strlen(t->name);

    for (size_t i = 0; i < sizeof bookkeeping / sizeof *bookkeeping; i++) {
        size_t end = strlen(bookkeeping[i]);
        if (t->elements_n <= 1 && n > end && strcmp(t->name + n - end, bookkeeping[i]) == 0)
            return 0;
    }
    if (k < 0 || t->dims_n != 2 || t->dims[0] != im->of[k]->dims[0] ||
        t->dims[1] != im->of[k]->dims[1] || t->dtype == TORCH_OTHER)
        return ERR(e, ERR_DATA, "%s: unexpected tensor %.80s, which the spec's model does not have",
                   im->file.path, t->name);
    im->alias[im->aliases_n++] = (struct tied_alias){t, im->of[k]};
    return 0;
}

int import_check(struct import *im, const struct spec *s, struct err *e)
{
    struct shape_params *p = &im->params;

    TRY(check_options(im, s, e));
    im->spec = *s;
    shape_params(p, &im->arena, s);
    im->of = arena_array(&im->arena, (size_t)p->tensors_n + 1, sizeof *im->of);
    im->alias = arena_array(&im->arena, (size_t)im->tensors_n + 1, sizeof *im->alias);
    im->aliases_n = 0;
    for (int32_t i = 0; i < p->tensors_n; i++) TRY(fit_parameter(&im->of[i], im, &p->tensor[i], e));
    for (int32_t i = 0; i < im->tensors_n; i++)
        if (shape_find(p, im->tensor[i].name) < 0) TRY(fit_other(im, &im->tensor[i], e));
    return 0;
}

/* --- writing weights -------------------------------------------------------------------------- */

struct import_writing {
    struct import *im;
    const char *dir;
    float *values_own, *tied_own; /* capacity for the largest tensor each */
    char run_id[SPEC_ID_BYTES], sha256[HASH_HEX_BYTES];
    int64_t bytes, updates;
};

static int load_storages(struct import_writing *w, struct err *e)
{
    struct import *im = w->im;
    int64_t most = 1;

    for (int32_t i = 0; i < im->params.tensors_n; i++) {
        im->of[i]->storage->wanted = true;
        if (im->of[i]->elements_n > most) most = im->of[i]->elements_n;
    }
    for (int32_t i = 0; i < im->aliases_n; i++) im->alias[i].listed->storage->wanted = true;
    w->values_own = malloc((size_t)most * sizeof *w->values_own);
    w->tied_own = malloc((size_t)most * sizeof *w->tied_own);
    if (!w->values_own || !w->tied_own)
        return ERR(e, ERR_NOMEM, "%s: out of memory for a tensor of %" PRId64 " elements",
                   im->file.path, most);
    return torch_file_read(&im->file, e);
}

/* Tied tensors with separate storage must have equal numbers. */
static int check_tied(struct import_writing *w, struct err *e)
{
    for (int32_t i = 0; i < w->im->aliases_n; i++) {
        const struct tied_alias *x = &w->im->alias[i];
        if (torch_tensor_same_view(x->listed, x->parameter)) continue;
        torch_tensor_widen(w->values_own, x->parameter, x->parameter->storage->data_own);
        torch_tensor_widen(w->tied_own, x->listed, x->listed->storage->data_own);
        size_t bytes = (size_t)x->parameter->elements_n * sizeof *w->values_own;
        if (memcmp(w->values_own, w->tied_own, bytes) != 0)
            return ERR(e, ERR_DATA, "%s: %s differs from %s, but the spec's model ties them",
                       w->im->file.path, x->listed->name, x->parameter->name);
    }
    return 0;
}

static int read_parameter(void *context, int32_t i, const float **values, struct err *e)
{
    struct import_writing *w = context;
    const struct torch_tensor *t = w->im->of[i];

    torch_tensor_widen(w->values_own, t, t->storage->data_own);
    for (int64_t k = 0; k < t->elements_n; k++)
        if (!isfinite(w->values_own[k]))
            return ERR(e, ERR_DATA, "%s: element %" PRId64 " of %s is not finite", w->im->file.path,
                       k, t->name);
    *values = w->values_own;
    return 0;
}

static int write_weights(struct import_writing *w, struct err *e)
{
    char source[HASH_HEX_BYTES];
    struct arena *a = &w->im->arena;
    const char *from = w->im->file.path, *slash = strrchr(from, '/');
    int32_t n = w->im->params.tensors_n;
    struct safetensors_entry *entry = arena_array(a, (size_t)n, sizeof *entry);

    TRY(hash_file(source, from, e));
    const struct safetensors_text texts[] = {
        {"format", "alibi weights 1"},
        {"run_id", w->run_id},
        {"spec", spec_text(&w->im->spec, a)},
        {"update", arena_printf(a, "%" PRId64, w->updates)},
        {"origin", "imported"},
        {"source", slash ? slash + 1 : from},
        {"source_sha256", source},
    };
    for (int32_t i = 0; i < n; i++) {
        const struct torch_tensor *t = w->im->of[i];
        entry[i] = (struct safetensors_entry){
            .name = t->name, .dims_n = t->dims_n, .elements_n = t->elements_n};
        memcpy(entry[i].dims, t->dims, (size_t)t->dims_n * sizeof *t->dims);
    }
    const struct safetensors_content content = {.text = texts,
                                                .texts_n = sizeof texts / sizeof *texts,
                                                .entry = entry,
                                                .entries_n = n,
                                                .read = read_parameter,
                                                .context = w};
    return safetensors_write(arena_printf(a, "%s/%s", w->dir, import_file), &content, w->sha256,
                             &w->bytes, e);
}

/* --- writing records -------------------------------------------------------------------------- */

/* Speed, memory and time of the training are unknown. */
static int write_records(const struct import_writing *w, struct event_writer *events,
                         double loss_nats, struct err *e)
{
    struct shape_cost cost;
    struct utsname host;

    if (uname(&host) < 0) return ERR(e, ERR_INTERNAL, "cannot get the name of this host");
    shape_cost(&cost, &w->im->spec);
    const struct record records[] = {
        {.type = EVENT_STARTED,
         .started = {.pid = getpid(),
                     .threads = 1,
                     .host = host.nodename,
                     .device = "imported",
                     .backend = "none",
                     .code_id = code_id(),
                     .program = "alibi import"}},
        {.type = EVENT_CHECKPOINT,
         .checkpoint = {.update = w->updates,
                        .path = import_file,
                        .sha256 = w->sha256,
                        .bytes = w->bytes,
                        .best = true,
                        .best_update = RECORD_NONE}},
        {.type = EVENT_TRAINED,
         .trained = {.run_id = w->run_id,
                     .peak_memory_bytes = RECORD_NONE,
                     .wall_seconds = (double)NAN,
                     .updates = w->updates,
                     .tokens_per_update = cost.tokens_per_update,
                     .parameters = w->im->params.parameters_n,
                     .final_loss_nats = loss_nats,
                     .train_wps = (double)NAN,
                     .best_checkpoint = import_file,
                     .best_sha256 = w->sha256,
                     .last_checkpoint = import_file,
                     .last_sha256 = w->sha256}},
        {.type = EVENT_ENDED,
         .ended = {.state = "done", .code = err_name(0), .message = "imported"}},
    };
    for (size_t i = 0; i < sizeof records / sizeof *records; i++)
        TRY(record_write(events, &records[i], e));
    return event_sync(events, e);
}

int import_write(struct import *im, const char *dir, double loss_nats, struct err *e)
{
    struct import_writing w = {.im = im, .dir = dir};
    const struct spec *spec = &im->spec;
    struct event_writer *events = NULL;
    int rc = 0;

    spec_run_id(spec, w.run_id);
    w.updates = im->facts.updates > 0 ? im->facts.updates : spec->train.updates;
    TRY_OUT(rc, load_storages(&w, e));
    TRY_OUT(rc, check_tied(&w, e));
    TRY_OUT(rc, write_weights(&w, e));
    TRY_OUT(rc, run_folder_write_specs(dir, &spec, 1, e));
    TRY_OUT(rc, run_folder_sync(dir, e));
    TRY_OUT(rc, run_folder_append(&events, dir, e));
    rc = write_records(&w, events, loss_nats, e);
out:
    event_writer_close(events);
    free(w.values_own);
    free(w.tied_own);
    return rc;
}
