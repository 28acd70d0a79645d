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

#include "base/str.h"
#include "interchange/safetensors.h"
#include "interchange/torch_file.h"
#include "shape/shape.h"

static const char import_file[] = "imported.safetensors";
static const double import_ln2 = 0.69314718055994530942;

struct import {
    struct arena arena;
    struct torch_file file;
    struct pickle_value *checkpoint; /* content of data.pkl */
    struct torch_tensor *tensor;
    int32_t tensors_n;
    struct import_facts facts;

    /* Set by import_check: the spec, its parameters, and the tensor of each. parameter: for each
     * tensor, the index of its parameter (or of the one it is tied to); -1: none. */
    struct spec spec;
    struct shape_params params;
    const struct torch_tensor **of;
    int32_t *parameter;

    /* Set by import_write: two buffers that hold the largest tensor, then the facts of the written
     * file. */
    float *values_own, *tied_own;
    char run_id[SPEC_ID_BYTES], sha256[HASH_HEX_BYTES];
    int64_t updates;
};

/* --- options and statistics ----------------------------------------------------------------- */

static const struct torch_tensor *find_tensor(const struct import *im, const char *name)
{
    for (int32_t i = 0; i < im->tensors_n; i++)
        if (strcmp(im->tensor[i].name, name) == 0) return &im->tensor[i];
    return NULL;
}

/* Finds an option of fairseq in args or cfg; NULL: not recorded. */
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

/* Returns the mean of the meter `loss` in the statistics of the last epoch, converted from bits to
 * nats. */
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

/* Finds the position method whose learned tensors the file contains; NULL: none, or several. */
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
        if (im->tensor[i].type->dtype == TORCH_F16 || im->tensor[i].type->dtype == TORCH_BF16)
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

/* An option must have the value of a key of the spec, or else a given text. */
struct import_option {
    bool applies;
    const char *name, *key, *text;
};

static int check_option(struct import *im, const struct spec *s, const struct import_option *o,
                        struct err *e)
{
    const struct pickle_value *v = o->applies ? option_of(im->checkpoint, o->name) : NULL;
    const char *found = "(neither number nor text)";
    const char *expected = o->key ? spec_get(s, spec_key_find(o->key), &im->arena) : o->text;
    double number, expected_number;

    if (!v) return 0;
    if (v->type == PICKLE_TEXT) {
        if (strcmp(v->text, expected) == 0) return 0;
        found = v->text;
    } else if (is_number(&number, v)) {
        if (str_to_double(&expected_number, expected) && number == expected_number) return 0;
        found = arena_printf(&im->arena, "%g", number);
    }
    return ERR(e, ERR_DATA, "%s: trained with %s=%.60s, expected %s", im->file.path, o->name, found,
               expected);
}

static int check_options(struct import *im, const struct spec *s, struct err *e)
{
    bool adaptive = s->model.softmax == SPEC_ADAPTIVE;
    const struct import_option options[] = {
        {true, "tokens_per_sample", "train.L", NULL},
        {true, "decoder_layers", "model.layers", NULL},
        {true, "decoder_embed_dim", "model.dim", NULL},
        {true, "decoder_input_dim", "model.dim", NULL},
        {true, "decoder_output_dim", "model.dim", NULL},
        {true, "decoder_ffn_embed_dim", "model.ffn", NULL},
        {true, "decoder_attention_heads", "model.heads", NULL},
        {true, "adaptive_input", NULL, adaptive ? "1" : "0"},
        {true, "tie_adaptive_weights", NULL, adaptive ? "1" : "0"},
        {true, "tie_adaptive_proj", NULL, adaptive ? "1" : "0"},
        {true, "no_decoder_final_norm", NULL, s->model.final_norm ? "0" : "1"},
        {true, "decoder_learned_pos", NULL, "0"},
        {true, "no_scale_embedding", NULL, "0"},
        {true, "layernorm_embedding", NULL, "0"},
        {true, "character_embeddings", NULL, "0"},
        {true, "activation_fn", NULL, "relu"},
        {adaptive, "adaptive_input_factor", "model.adaptive_factor", NULL},
        {adaptive, "adaptive_softmax_factor", "model.adaptive_factor", NULL},
        {adaptive, "adaptive_input_cutoff", "model.cutoffs", NULL},
        {adaptive, "adaptive_softmax_cutoff", "model.cutoffs", NULL},
        {!adaptive, "share_decoder_input_output_embed", NULL, "1"},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        TRY(check_option(im, s, &options[i], e));
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
    TRY_OUT(rc, pickle_read(&im->checkpoint, &im->arena, im->file.pickle, im->file.pickle_bytes,
                            path, e));
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
    free(im->values_own);
    free(im->tied_own);
    torch_file_close(&im->file);
    arena_fini(&im->arena);
    free(im);
}

const struct import_facts *import_facts(const struct import *im)
{
    return &im->facts;
}

/* --- matching tensors ------------------------------------------------------------------------- */

static int check_shape(struct import *im, const struct torch_tensor *t,
                       const struct shape_tensor *p, struct err *e)
{
    struct strbuf shape;

    if (t->type->dtype == TORCH_OTHER)
        return ERR(e, ERR_DATA, "%s: %s is %s, expected float, half or bfloat16", im->file.path,
                   t->name, t->type->name + strlen("torch."));
    if (p->dims == 1 ? t->dims_n == 1 && t->dims[0] == (int64_t)p->rows * p->cols
                     : t->dims_n == 2 && t->dims[0] == p->rows && t->dims[1] == p->cols)
        return 0;
    strbuf_init(&shape, &im->arena);
    for (int32_t i = 0; i < t->dims_n; i++)
        strbuf_addf(&shape, "%s%" PRId64, i ? "," : "", t->dims[i]);
    return ERR(e, ERR_DATA, "%s: %s has shape (%s), expected (%d,%d)", im->file.path, t->name,
               shape.text, p->rows, p->cols);
}

/* Finds the parameter to which the tensor of this name is tied (oracle SPEC.md section 14); -1:
 * none. */
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

static bool is_bookkeeping(const struct torch_tensor *t)
{
    static const char *const endings[] = {".version", "._float_tensor", ".buffer"};
    size_t n = strlen(t->name);

    for (size_t i = 0; t->elements_n <= 1 && i < sizeof endings / sizeof *endings; i++) {
        size_t end = strlen(endings[i]);
        if (n > end && strcmp(t->name + n - end, endings[i]) == 0) return true;
    }
    return false;
}

int import_check(struct import *im, const struct spec *s, struct err *e)
{
    struct shape_params *p = &im->params;

    TRY(check_options(im, s, e));
    im->spec = *s;
    shape_params(p, &im->arena, s);
    im->of = arena_array(&im->arena, (size_t)p->tensors_n + 1, sizeof *im->of);
    im->parameter = arena_array(&im->arena, (size_t)im->tensors_n + 1, sizeof *im->parameter);
    for (int32_t i = 0; i < p->tensors_n; i++) {
        im->of[i] = find_tensor(im, p->tensor[i].name);
        if (!im->of[i])
            return ERR(e, ERR_DATA, "%s: tensor %s is missing", im->file.path, p->tensor[i].name);
    }
    for (int32_t i = 0; i < im->tensors_n; i++) {
        const struct torch_tensor *t = &im->tensor[i];
        int32_t k = shape_find(p, t->name);
        if (k < 0) k = tied_parameter(p, t->name);
        if (k < 0 && !is_bookkeeping(t)) /* another architecture */
            return ERR(e, ERR_DATA,
                       "%s: unexpected tensor %.80s, which the spec's model does not have",
                       im->file.path, t->name);
        if (k >= 0) TRY(check_shape(im, t, &p->tensor[k], e));
        im->parameter[i] = k;
    }
    return 0;
}

/* --- writing weights -------------------------------------------------------------------------- */

static int load_storages(struct import *im, struct err *e)
{
    int64_t most = 1;

    for (int32_t i = 0; i < im->tensors_n; i++) {
        if (im->parameter[i] < 0) continue;
        im->tensor[i].storage->wanted = true;
        if (im->tensor[i].elements_n > most) most = im->tensor[i].elements_n;
    }
    im->values_own = malloc((size_t)most * sizeof *im->values_own);
    im->tied_own = malloc((size_t)most * sizeof *im->tied_own);
    if (!im->values_own || !im->tied_own)
        return ERR(e, ERR_NOMEM, "%s: out of memory for a tensor of %" PRId64 " elements",
                   im->file.path, most);
    return torch_file_read(&im->file, e);
}

static bool is_same_view(const struct torch_tensor *a, const struct torch_tensor *b)
{
    size_t n = (size_t)a->dims_n * sizeof *a->dims;

    return a->storage == b->storage && a->offset == b->offset && a->dims_n == b->dims_n &&
           memcmp(a->dims, b->dims, n) == 0 && memcmp(a->strides, b->strides, n) == 0;
}

/* Checks that tied tensors have equal numbers. */
static int check_tied(const struct import *im, struct err *e)
{
    for (int32_t i = 0; i < im->tensors_n; i++) {
        const struct torch_tensor *listed = &im->tensor[i];
        const struct torch_tensor *t = im->parameter[i] < 0 ? listed : im->of[im->parameter[i]];
        if (t == listed || is_same_view(t, listed)) continue;
        torch_tensor_widen(im->values_own, t, t->storage->data);
        torch_tensor_widen(im->tied_own, listed, listed->storage->data);
        torch_storage_release(&im->file, t->storage);
        torch_storage_release(&im->file, listed->storage);
        if (memcmp(im->values_own, im->tied_own, (size_t)t->elements_n * sizeof(float)) != 0)
            return ERR(e, ERR_DATA, "%s: %s differs from %s, but the spec's model ties them",
                       im->file.path, listed->name, t->name);
    }
    return 0;
}

/* Writes the parameter of this tensor. */
static int write_parameter(struct safetensors_writer *w, const struct import *im,
                           const struct torch_tensor *t, struct err *e)
{
    torch_tensor_widen(im->values_own, t, t->storage->data);
    torch_storage_release(&im->file, t->storage);
    for (int64_t k = 0; k < t->elements_n; k++)
        if (!isfinite(im->values_own[k]))
            return ERR(e, ERR_DATA, "%s: element %" PRId64 " of %s is not finite", im->file.path, k,
                       t->name);
    return safetensors_writer_add(w, im->values_own, t->elements_n, e);
}

static int write_weights(struct import *im, const char *dir, struct err *e)
{
    char source[HASH_HEX_BYTES];
    struct arena *a = &im->arena;
    const char *from = im->file.path, *slash = strrchr(from, '/');
    int32_t n = im->params.tensors_n;
    struct safetensors_entry *entry = arena_array(a, (size_t)n, sizeof *entry);

    TRY(hash_file(source, from, e));
    const struct safetensors_text texts[] = {
        {"format", "alibi weights 1"},
        {"run_id", im->run_id},
        {"spec", spec_text(&im->spec, a)},
        {"update", arena_printf(a, "%" PRId64, im->updates)},
        {"origin", "imported"},
        {"source", slash ? slash + 1 : from},
        {"source_sha256", source},
    };
    for (int32_t i = 0; i < n; i++) {
        const struct torch_tensor *t = im->of[i];
        entry[i] = (struct safetensors_entry){
            .name = t->name, .dims_n = t->dims_n, .elements_n = t->elements_n};
        memcpy(entry[i].dims, t->dims, sizeof t->dims);
    }
    const struct safetensors_content content = {
        .text = texts, .texts_n = sizeof texts / sizeof *texts, .entry = entry, .entries_n = n};
    struct safetensors_writer w;
    int rc = safetensors_writer_open(&w, arena_printf(a, "%s/%s", dir, import_file), &content, e);
    for (int32_t i = 0; rc == 0 && i < n; i++) rc = write_parameter(&w, im, im->of[i], e);
    return safetensors_writer_close(&w, rc, im->sha256, NULL, e);
}

int import_write(struct import *im, const char *dir, struct import_written *out, struct err *e)
{
    spec_run_id(&im->spec, im->run_id);
    im->updates = im->facts.updates > 0 ? im->facts.updates : im->spec.train.updates;
    TRY(load_storages(im, e));
    TRY(check_tied(im, e));
    TRY(write_weights(im, dir, e));
    *out = (struct import_written){import_file, im->sha256, im->updates, im->params.parameters_n};
    return 0;
}
