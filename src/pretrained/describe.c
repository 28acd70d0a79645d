/* describe.c - reads config.json into a description of the model: the family's own keys
 * (families.c), then what depends on several of them: sizes, rotation, windows. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "pretrained/pretrained_internal.h"

#define ROPE(name) "rope_parameters." name "&rope_scaling." name

enum { FAMILIES_MAX = 32 };

int family_refuse(const struct config *c, const char *key, const char *value, const char *reason,
                  struct err *e)
{
    return ERR(e, ERR_UNAVAILABLE, "%s: %s = %s is not supported: %s", c->path, key, value, reason);
}

/* --- sizes ---------------------------------------------------------------------------------- */

static int refuse_divisor(const struct family *f, const struct config *c, const char *whole,
                          int32_t whole_n, const char *part, int32_t part_n, struct err *e)
{
    return ERR(e, ERR_DATA, "%s: %s = %d is not a multiple of %s = %d%s", c->path, whole, whole_n,
               part, part_n, f->defaults);
}

/* Checks sizes against each other and gives those that follow from others their neutral values. */
static int check_sizes(struct family *f, const struct config *c, struct err *e)
{
    struct spec_model *m = &f->spec.model;

    if (m->form.head_width == 0 && m->dim % m->heads != 0)
        return refuse_divisor(f, c, f->dim, m->dim, f->heads, m->heads, e);
    if (m->heads % spec_kv_heads(m) != 0)
        return refuse_divisor(f, c, f->heads, m->heads, f->kv_heads, m->form.kv_heads, e);
    if (spec_head_width(m) > POSITION_WIDTH_MAX)
        return ERR(e, ERR_UNAVAILABLE,
                   "%s: %s = %d and %s = %d make heads of %d features, more than %d%s", c->path,
                   f->dim, m->dim, f->heads, m->heads, spec_head_width(m), POSITION_WIDTH_MAX,
                   f->defaults);
    if (m->ffn == 0) m->ffn = 4 * m->dim;
    if (m->form.kv_heads == m->heads) m->form.kv_heads = 0;
    if (m->form.embedding_width == m->dim) m->form.embedding_width = 0;
    if (m->heads * m->form.head_width == m->dim) m->form.head_width = 0;
    return 0;
}

/* --- rotation ------------------------------------------------------------------------------- */

/* Types of rotary scaling (open-models SPEC.md section 5). */
static const struct {
    const char *name;
    enum position_scaling scaling;
} rope_types[] = {
    {"default", POSITION_UNSCALED}, {"linear", POSITION_PI},     {"dynamic", POSITION_DYNAMIC_NTK},
    {"yarn", POSITION_YARN},        {"llama3", POSITION_LLAMA3},
};
enum { ROPE_TYPES_N = sizeof rope_types / sizeof *rope_types };

/* Sets *at and *type to the key and the value of the type in an object of rotary parameters; leaves
 * them if the object is not there. */
static int find_type(const char **at, const char **type, const struct config *c, const char *object,
                     struct err *e)
{
    const json_t *in = config_find(c, object), *named;
    const char *key;
    json_t *value;

    if (!in) return 0;
    json_object_foreach((json_t *)(uintptr_t)in, key, value)
    {
        if (json_is_object(value))
            return ERR(e, ERR_UNAVAILABLE,
                       "%s: %s.%s is an object: parameters of each layer type are not supported",
                       c->path, object, key);
    }
    *at = arena_printf(c->arena, "%s.rope_type", object);
    named = config_find(c, *at);
    if (!named) named = config_find(c, *at = arena_printf(c->arena, "%s.type", object));
    *type = named ? config_show(c->arena, named) : rope_types[0].name;
    return 0;
}

int family_find_rope(struct family *f, const struct config *c, struct err *e)
{
    const char *at = NULL, *type = NULL, *other_at = NULL, *other = NULL;

    f->has_rope = true;
    TRY(find_type(&at, &type, c, "rope_parameters", e));
    TRY(find_type(&other_at, &other, c, "rope_scaling", e));
    if (type && other && strcmp(type, other) != 0)
        return ERR(e, ERR_DATA, "%s: %s = %s, but %s = %s", c->path, at, type, other_at, other);
    if (other) at = other_at, type = other;
    while (type && f->rope_type < ROPE_TYPES_N && strcmp(rope_types[f->rope_type].name, type) != 0)
        f->rope_type++;
    if (f->rope_type < ROPE_TYPES_N) return 0;
    return ERR(e, ERR_UNAVAILABLE, "%s: %s = %s, expected default, linear, dynamic, yarn or llama3",
               c->path, at, type);
}

/* Returns what YaRN's cosines and sines are multiplied by. */
static double growth(double mscale, double factor)
{
    return factor <= 1 ? 1 : 0.1 * mscale * log(factor) + 1;
}

static int read_yarn(struct position_options *o, struct config *c, struct err *e)
{
    double some, all;
    bool truncate;

    TRY(config_real(&o->yarn_beta_fast, c, ROPE("beta_fast"), "model.yarn_beta_fast", 32, e));
    TRY(config_real(&o->yarn_beta_slow, c, ROPE("beta_slow"), "model.yarn_beta_slow", 1, e));
    TRY(config_flag(&truncate, c, ROPE("truncate"), true, e));
    TRY(config_real(&o->yarn_attention_factor, c, ROPE("attention_factor"),
                    "model.yarn_attention_factor", 0, e));
    TRY(config_real_or_0(&some, c, ROPE("mscale"), NULL, 0, e));
    TRY(config_real_or_0(&all, c, ROPE("mscale_all_dim"), NULL, 0, e));
    o->yarn_truncate = truncate ? POSITION_WHOLE_ENDS : POSITION_EXACT_ENDS;
    if (o->yarn_attention_factor == 0 && some > 0 && all > 0)
        o->yarn_attention_factor = growth(some, o->scaling_factor) / growth(all, o->scaling_factor);
    return 0;
}

static int read_llama3(struct position_options *o, struct config *c, struct err *e)
{
    TRY(config_real(&o->llama3_low, c, ROPE("low_freq_factor"), "model.llama3_low_freq_factor",
                    CONFIG_REQUIRED, e));
    const char *low = c->name;
    TRY(config_real(&o->llama3_high, c, ROPE("high_freq_factor"), "model.llama3_high_freq_factor",
                    CONFIG_REQUIRED, e));
    if (o->llama3_low < o->llama3_high) return 0;
    return ERR(e, ERR_DATA, "%s: %s = %s is not below %s = %s", c->path, low,
               config_show_real(c->arena, o->llama3_low), c->name,
               config_show_real(c->arena, o->llama3_high));
}

static int read_rope(struct family *f, struct config *c, struct err *e)
{
    struct position_options *o = &f->spec.option;

    o->scaling = rope_types[f->rope_type].scaling;
    if (o->scaling == POSITION_UNSCALED) return 0;
    TRY(config_real(&o->scaling_factor, c, ROPE("factor"), "model.rope_scaling_factor",
                    CONFIG_REQUIRED, e));
    if (o->scaling != POSITION_YARN && o->scaling != POSITION_LLAMA3) return 0;
    TRY(config_count(&o->original_length, c,
                     ROPE("original_max_position_embeddings") "&original_max_position_embeddings",
                     "model.rope_original_length", 0, e));
    return o->scaling == POSITION_YARN ? read_yarn(o, c, e) : read_llama3(o, c, e);
}

/* Checks the features that rotate. Their number is made the share of a head. */
static int check_rotation(struct family *f, const struct config *c, struct err *e)
{
    struct position_options *o = &f->spec.option;
    int32_t width = spec_head_width(&f->spec.model), n = f->rotated_n;
    int32_t least = o->scaling == POSITION_DYNAMIC_NTK ? 4 : 2;
    double rotated = n > 0 ? n : floor(o->rotary_share * width);
    const char *stated =
        !f->rotated ? ""
                    : arena_printf(c->arena, "%s = %s: ", f->rotated,
                                   config_show_real(c->arena, n > 0 ? n : o->rotary_share));

    if (rotated < least || rotated > width || fmod(rotated, 2) != 0)
        return ERR(e, ERR_DATA,
                   "%s: %s%g of %d features of a head rotate, expected an even number from %d up",
                   c->path, stated, rotated, width, least);
    if (n == 0) return 0;
    o->rotary_share = rotated / width;
    while (floor(o->rotary_share * width) < rotated)
        o->rotary_share = nextafter(o->rotary_share, 2);
    return 0;
}

/* --- windows -------------------------------------------------------------------------------- */

/* Whether layer l has the window of the model. *types: layer_types of the config, or NULL. */
static int layer_has_window(bool *has, const struct family *f, const struct config *c,
                            const json_t *types, int32_t l, struct err *e)
{
    const char *type = json_string_value(json_array_get(types, (size_t)l));

    *has = !types && l >= f->max_window_layers;
    if (!types) return 0;
    *has = type && strcmp(type, "sliding_attention") == 0;
    if (*has || (type && strcmp(type, "full_attention") == 0)) return 0;
    return ERR(e, ERR_DATA,
               "%s: layer_types = %s: expected full_attention or sliding_attention for each of %d "
               "layers",
               c->path, config_show(c->arena, types), f->spec.model.layers);
}

static int read_windows(struct family *f, const struct config *c, struct err *e)
{
    struct spec_model *m = &f->spec.model;
    const json_t *types = config_find(c, "layer_types");
    int32_t with_n = 0, window = m->mask.window;
    bool decides = f->windows == FAMILY_WINDOWS_BY_LAYER && window > 0, has;

    if (f->windows == FAMILY_WINDOWS_IGNORED || (!types && !decides)) return 0;
    for (int32_t l = 0; l < m->layers; l++) {
        TRY(layer_has_window(&has, f, c, types, l, e));
        with_n += has;
        if (l < POSITION_LIST_MAX) m->window_layers.value[l] = has ? window : 0;
    }
    bool mixed = with_n > 0 && with_n < m->layers;
    if (types && json_array_size(types) != (size_t)m->layers)
        return ERR(e, ERR_DATA, "%s: layer_types has %zu entries for %d layers", c->path,
                   json_array_size(types), m->layers);
    if (!decides && mixed && f->windows == FAMILY_WINDOWS_ALIKE)
        return ERR(e, ERR_UNAVAILABLE,
                   "%s: layer_types = %s is not supported: all layers of this family are alike",
                   c->path, config_show(c->arena, types));
    if (!decides) return 0;
    if (mixed && m->layers > POSITION_LIST_MAX)
        return ERR(e, ERR_UNAVAILABLE, "%s: windows of more than %d layers are not supported",
                   c->path, POSITION_LIST_MAX);
    m->window_layers.n = mixed ? m->layers : 0;
    if (with_n < m->layers) m->mask.window = 0;
    return 0;
}

/* --- families ------------------------------------------------------------------------------- */

/* Models with an encoder. */
static const char encoder_decoders[] =
    " bart bigbird_pegasus blenderbot blenderbot-small encoder-decoder fsmt led longt5"
    " m2m_100 marian mbart mt5 mvp nllb-moe pegasus pegasus_x plbart prophetnet rag"
    " speech_to_text speecht5 switch_transformers t5 t5gemma umt5 vision-encoder-decoder"
    " whisper xlm-prophetnet ";

static int refuse_type(const struct config *c, struct arena *a, const char *type, struct err *e)
{
    const char *names[FAMILIES_MAX], *file = NULL, *key;
    struct strbuf why;
    json_t *value;

    for (int32_t i = 0; i < family_rows_n; i++) names[i] = family_rows[i].name;
    strbuf_init(&why, a);
    strbuf_add(&why, str_hint(type, names, (size_t)family_rows_n).text);
    json_object_foreach((json_t *)(uintptr_t)config_find(c, "auto_map"), key, value)
    {
        if (json_is_string(value) && (!file || strncmp(key, "AutoModel", 9) == 0))
            file = json_string_value(value);
    }
    const char *end = file ? strrchr(file, '.') : NULL;
    if (file)
        strbuf_addf(&why,
                    "; its code is remote (auto_map names %.*s.py), and this program runs none",
                    end ? (int)(end - file < 100 ? end - file : 100) : 100, file);
    if (config_find(c, "num_local_experts") || config_find(c, "num_experts"))
        strbuf_add(&why, "; mixtures of experts are not supported");
    return ERR(e, ERR_UNAVAILABLE, "%s: model_type = %s is not supported%s", c->path, type,
               why.text);
}

static int refuse_quantised(const struct config *c, struct arena *a, struct err *e)
{
    const json_t *method = config_find(c, "quantization_config.quant_method");

    if (!config_find(c, "quantization_config")) return 0;
    return ERR(e, ERR_UNAVAILABLE,
               "%s: quantization_config%s%s: quantised weights are not supported; use the original "
               "checkpoint",
               c->path, method ? ".quant_method = " : "", method ? config_show(a, method) : "");
}

/* Returns the index of a family. */
static int32_t find_family(const char *name)
{
    int32_t i = 0;
    while (i < family_rows_n && strcmp(family_rows[i].name, name) != 0) i++;
    return i;
}

int family_find(struct family *f, struct arena *a, const struct config *c, struct err *e)
{
    const json_t *value = config_find(c, "model_type");
    const json_t *encoder = config_find(c, "is_encoder_decoder");
    struct strbuf names;

    *f = (struct family){.note = NULL};
    strbuf_init(&names, a);
    for (int32_t i = 0; i < family_rows_n; i++)
        strbuf_addf(&names, "%s%s", i ? ", " : "", family_rows[i].name);
    if (!value)
        return ERR(e, ERR_DATA, "%s: no model_type; expected one of %s", c->path, names.text);
    const char *type = config_show(a, value);
    bool known = find_family(type) < family_rows_n, two = json_is_true(encoder);
    two = two || strstr(encoder_decoders, arena_printf(a, " %s ", type)) != NULL;
    if (two)
        return ERR(e, ERR_UNAVAILABLE,
                   "%s: model_type = %s is an encoder-decoder; only decoders are supported",
                   c->path, type);
    if (!known || !json_is_string(value)) return refuse_type(c, a, type, e);
    f->name = family_rows[find_family(type)].name;
    return refuse_quantised(c, a, e);
}

const char *family_tensor(const struct family *f, const char *role)
{
    const char *const *n = f->tensors.name;

    while (*n && strcmp(*n, role) != 0) n += 2;
    return *n ? n[1] : role;
}

/* Notes values that the config does not state. */
static void note_defaults(struct family *f, struct config *c)
{
    if (f->spec.option.alibi_rounding != POSITION_EXACT)
        strbuf_add(&c->lengths, "; the bias of each key is rounded to bf16, so that neighbouring "
                                "keys get equal biases in rows of more than 256 tokens");
    f->defaults = c->sizes.n ? c->sizes.text : "";
    f->note = c->lengths.n ? c->lengths.text + 2 : NULL;
}

int family_describe(struct family *f, struct config *c, struct err *e)
{
    struct spec *s = &f->spec;

    spec_init(s);
    s->kind = SPEC_TRAIN;
    s->train.origin = SPEC_PRETRAINED;
    s->model.softmax = SPEC_PLAIN;
    s->model.final_norm = true;
    s->model.form.embedding_scaled = false;
    TRY(family_rows[find_family(f->name)].read(f, c, e));
    note_defaults(f, c);
    TRY(check_sizes(f, c, e));
    if (f->has_rope) TRY(read_rope(f, c, e));
    if (s->model.position == SPEC_ROTARY) TRY(check_rotation(f, c, e));
    TRY(read_windows(f, c, e));
    int rc = spec_check(s, e);
    if (rc < 0) err_ctx(e, "%s", c->path);
    return rc;
}
