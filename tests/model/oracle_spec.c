/* oracle_spec.c - the model that a fixture's metadata describes, and its weights. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "model/oracle.h"

/* Keys with the only value this program computes; a file that has another one is refused. */
static const struct {
    const char *key, *value;
} fixed[] = {
    {"activation", "relu"}, {"ln_eps", "1e-5"}, {"dropout", "0"},
    {"pad_id", "1"},        {"eos_id", "2"},    {"rotary_dims", "whole head"},
    {"t5_shared", "1"},
};

static const char *get(const struct safetensors *f, const char *key, const char *otherwise)
{
    const char *text = safetensors_metadata(f, key);
    return text == NULL ? otherwise : text;
}

static int get_int(int32_t *out, const struct safetensors *f, const char *key, int64_t otherwise,
                   struct err *e)
{
    const char *text = safetensors_metadata(f, key);
    int64_t value = otherwise;
    if ((text == NULL && otherwise < 0) || (text != NULL && !str_to_int(&value, text)) ||
        value > INT32_MAX)
        return ERR(e, ERR_DATA, "metadata %s is %s, expected a number", key,
                   text == NULL ? "absent" : text);
    *out = (int32_t)value;
    return 0;
}

static int check_fixed(const struct safetensors *f, struct err *e)
{
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        const char *text = safetensors_metadata(f, fixed[i].key);
        if (text != NULL && strcmp(text, fixed[i].value) != 0)
            return ERR(e, ERR_DATA, "metadata %s is %s, only %s is computed here", fixed[i].key,
                       text, fixed[i].value);
    }
    return 0;
}

/* Metadata names an option as the key of a specification does, without "model.". */
static int set_option(struct spec *s, const char *name, const char *text, struct err *e)
{
    const struct spec_key *key = spec_key_find(name);
    if (text == NULL) return 0;
    return spec_set(s, key, text, e);
}

int oracle_position(struct spec *s, const struct oracle_texts *texts, struct err *e)
{
    const char *name = texts->get(texts, "position"), *text = NULL;
    int32_t method = -1;
    int64_t length = 0;
    for (int32_t p = 0; name != NULL && p < POSITION_METHODS_N; p++)
        if (strcmp(position_methods[p].name, name) == 0) method = p;
    if (method < 0)
        return ERR(e, ERR_DATA, "metadata position is %s, an unknown method",
                   name == NULL ? "absent" : name);
    s->model.position = (enum spec_position)method;
    s->option.t5_multiplier = 1.0;
    for (const struct position_option *o = position_methods[method].functions->options;
         o != NULL && o->name != NULL; o++) {
        if (strcmp(o->name, "model.alibi_slopes_source") == 0) continue; /* free text there */
        TRY(set_option(s, o->name, texts->get(texts, o->name + strlen("model.")), e));
    }
    if ((text = texts->get(texts, "alibi_original_length")) != NULL && method == SPEC_ALIBI) {
        if (!str_to_int(&length, text) || length < 1 || length > INT32_MAX)
            return ERR(e, ERR_DATA, "metadata alibi_original_length is %s, expected a length",
                       text);
        s->option.scaling = POSITION_SLOPES;
        s->option.original_length = (int32_t)length;
    }
    return set_option(s, "train.L", texts->get(texts, "learned_positions"), e);
}

static const char *get_metadata(const struct oracle_texts *texts, const char *key)
{
    return safetensors_metadata(texts->from, key);
}

static int set_softmax(struct spec *s, const struct safetensors *f, struct err *e)
{
    const char *text = get(f, "cutoff", "none");
    const char *tied = "True";
    s->model.adaptive_factor = 4;
    s->model.cutoffs_n = 0;
    if (strcmp(text, "none") == 0 || strcmp(text, "None") == 0) {
        s->model.softmax = SPEC_PLAIN;
        tied = get(f, "share_input_output_embed", "True");
    } else {
        s->model.softmax = SPEC_ADAPTIVE;
        if (strcmp(get(f, "tie_adaptive_weights", "True"), "True") != 0 ||
            strcmp(get(f, "tie_adaptive_proj", "True"), "True") != 0)
            tied = "False";
        TRY(get_int(&s->model.adaptive_factor, f, "adaptive_factor", 4, e));
        while (*text != '\0') {
            int used = 0, cutoff = 0;
            if (s->model.cutoffs_n == SPEC_CUTOFFS_MAX ||
                sscanf(text, "%d%n", &cutoff, &used) != 1 || cutoff < 1)
                return ERR(e, ERR_DATA, "metadata cutoff has %s, expected at most %d numbers", text,
                           SPEC_CUTOFFS_MAX);
            s->model.cutoffs[s->model.cutoffs_n++] = cutoff;
            text += used;
            while (*text == ',' || *text == ' ') text++;
        }
    }
    for (int32_t i = 0; i < s->model.cutoffs_n; i++) {
        int32_t after = i + 1 < s->model.cutoffs_n ? s->model.cutoffs[i + 1] : s->data.vocab;
        if (s->model.cutoffs[i] >= after || s->model.adaptive_factor < 1)
            return ERR(e, ERR_DATA, "metadata cutoff %d must lie below %d, adaptive_factor be >= 1",
                       s->model.cutoffs[i], after);
    }
    if (strcmp(tied, "True") != 0)
        return ERR(e, ERR_DATA, "the weights are not tied, only tied ones are computed here");
    return 0;
}

static int set_mask(struct spec *s, const struct safetensors *f, struct err *e)
{
    static const char *const keys[] = {"model.attention_window", "model.attention_sinks",
                                       "model.sink_positions"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        TRY(set_option(s, keys[i], safetensors_metadata(f, keys[i] + strlen("model.")), e));
    return 0;
}

int oracle_spec(struct spec *s, const struct safetensors *f, struct err *e)
{
    spec_init(s);
    TRY(check_fixed(f, e));
    TRY(get_int(&s->data.vocab, f, "vocab", -1, e));
    TRY(get_int(&s->model.dim, f, "dim", -1, e));
    TRY(get_int(&s->model.heads, f, "heads", -1, e));
    TRY(get_int(&s->model.ffn, f, "ffn", -1, e));
    TRY(get_int(&s->model.layers, f, "layers", -1, e));
    s->model.final_norm = strcmp(get(f, "final_norm", "False"), "True") == 0;
    s->model.dropout = s->model.dropout_attention = 0.0;
    s->model.dropout_relu = s->model.dropout_softmax = 0.0;
    TRY(oracle_position(s, &(struct oracle_texts){.get = get_metadata, .from = f}, e));
    TRY(set_mask(s, f, e));
    TRY(set_softmax(s, f, e));
    double scale = 0.0;
    const char *text = safetensors_metadata(f, "embed_scale");
    if (text != NULL &&
        (!str_to_double(&scale, text) || fabs(scale - sqrt((double)s->model.dim)) > 1e-9 * scale))
        return ERR(e, ERR_DATA, "metadata embed_scale is %s, only sqrt(dim) is computed here",
                   text);
    s->train.tail_quirk = true; /* as the authors' losses and gradients have it */
    s->train.optimizer = SPEC_NAG;
    s->train.precision = SPEC_FP32;
    return 0;
}

int oracle_load(struct model *m, const struct safetensors *file, const char *prefix,
                struct oracle *o, struct err *e)
{
    const struct shape_params *params = model_params(m);
    for (int32_t i = 0; i < params->tensors_n; i++) {
        const struct shape_tensor *want = &params->tensor[i];
        char name[200];
        snprintf(name, sizeof name, "%s.%s", prefix, want->name);
        const struct safetensors_entry *t = safetensors_find(file, name);
        if (t == NULL) return ERR(e, ERR_DATA, "there is no tensor %s", name);
        if (strcmp(t->dtype, "F32") != 0 || t->elements_n != (int64_t)want->rows * want->cols ||
            t->dims_n != want->dims || t->dims[t->dims_n - 1] != want->cols)
            return ERR(e, ERR_DATA,
                       "%s is %s with %" PRId64 " elements in %d dimensions, expected F32 of %d x "
                       "%d",
                       name, t->dtype, t->elements_n, t->dims_n, want->rows, want->cols);
        TRY(model_write(m, MODEL_VALUES, i, t->data, e));
        if (o != NULL) TRY(oracle_take(&t, o, "F32", -1, e, "%s", name));
    }
    return 0;
}

int oracle_weights_open(struct safetensors **out, struct oracle *o, struct err *e)
{
    const char *file = safetensors_metadata(o->file_own, "weights_file");
    if (file == NULL || strchr(file, '/') != NULL)
        return ERR(e, ERR_DATA,
                   "metadata weights_file is %s, expected the name of a file beside it",
                   file == NULL ? "absent" : file);
    const char *slash = strrchr(o->path, '/');
    int folder = slash == NULL ? 0 : (int)(slash - o->path) + 1;
    return safetensors_open(out, arena_printf(&o->arena, "%.*s%s", folder, o->path, file), e);
}
