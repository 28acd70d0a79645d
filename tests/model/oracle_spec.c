/* oracle_spec.c - the model that a fixture's metadata describes, and its weights. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

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

/* The text of a key, or what it is without it. */
static const char *get_text(const struct safetensors *f, const char *key, const char *otherwise)
{
    const char *text = safetensors_metadata(f, key);
    return text == NULL ? otherwise : text;
}

static int32_t get_int(struct oracle *o, const struct safetensors *f, const char *key)
{
    const char *text = get_text(f, key, "absent");
    int64_t value = 0;
    if (!str_to_int(&value, text) || value > INT32_MAX)
        oracle_reject(o, "metadata %s is %s, expected a number", key, text);
    return (int32_t)value;
}

/* Metadata names an option as the key of a specification does, without "model.". */
static void set_option(struct oracle *o, struct spec *s, const char *name, const char *text)
{
    if (text != NULL) oracle_must(o, spec_set(s, spec_key_find(name), text, &o->e));
}

void oracle_position(struct oracle *o, struct spec *s, const struct oracle_texts *texts)
{
    const char *name = texts->get(texts, "position"), *text = NULL;
    int32_t method = 0;
    int64_t length = 0;
    if (name == NULL) name = "absent";
    while (method < POSITION_METHODS_N && strcmp(position_methods[method].name, name) != 0)
        method++;
    if (method == POSITION_METHODS_N)
        oracle_reject(o, "metadata position is %s, an unknown method", name);
    s->model.position = (enum spec_position)method;
    s->option.t5_multiplier = 1.0;
    for (const struct position_option *p = position_methods[method].functions->options;
         p != NULL && p->name != NULL; p++)
        if (strcmp(p->name, "model.alibi_slopes_source") != 0) /* free text there */
            set_option(o, s, p->name, texts->get(texts, p->name + strlen("model.")));
    if ((text = texts->get(texts, "alibi_original_length")) != NULL && method == SPEC_ALIBI) {
        if (!str_to_int(&length, text) || length < 1 || length > INT32_MAX)
            oracle_reject(o, "metadata alibi_original_length is %s, expected a length", text);
        s->option.scaling = POSITION_SLOPES;
        s->option.original_length = (int32_t)length;
    }
    set_option(o, s, "train.L", texts->get(texts, "learned_positions"));
}

static const char *get_metadata(const struct oracle_texts *texts, const char *key)
{
    return safetensors_metadata(texts->from, key);
}

static void set_cutoffs(struct oracle *o, struct spec *s, const char *text)
{
    int32_t before = 0;
    while (*text != '\0') {
        int used = 0, cutoff = 0;
        if (s->model.cutoffs_n == SPEC_CUTOFFS_MAX || sscanf(text, "%d%n", &cutoff, &used) != 1 ||
            cutoff <= before || cutoff >= s->data.vocab)
            oracle_reject(o, "metadata cutoff has %s, expected at most %d rising numbers below %d",
                          text, SPEC_CUTOFFS_MAX, s->data.vocab);
        s->model.cutoffs[s->model.cutoffs_n++] = before = cutoff;
        text += used;
        while (*text == ',' || *text == ' ') text++;
    }
}

static void set_softmax(struct oracle *o, struct spec *s, const struct safetensors *f)
{
    const char *cutoffs = get_text(f, "cutoff", "none");
    bool plain = strcasecmp(cutoffs, "none") == 0;
    s->model.softmax = plain ? SPEC_PLAIN : SPEC_ADAPTIVE;
    s->model.adaptive_factor = 4;
    s->model.cutoffs_n = 0;
    if (!plain) set_cutoffs(o, s, cutoffs);
    if (!plain && safetensors_metadata(f, "adaptive_factor"))
        s->model.adaptive_factor = get_int(o, f, "adaptive_factor");
    if (s->model.adaptive_factor < 1)
        oracle_reject(o, "metadata adaptive_factor is %d, expected at least 1",
                      s->model.adaptive_factor);
    bool tied = plain ? strcmp(get_text(f, "share_input_output_embed", "True"), "True") == 0
                      : strcmp(get_text(f, "tie_adaptive_weights", "True"), "True") == 0 &&
                            strcmp(get_text(f, "tie_adaptive_proj", "True"), "True") == 0;
    if (!tied) oracle_reject(o, "the weights are not tied, only tied ones are computed here");
}

/* log is a temperature of evaluations, the others of models */
static void set_temperature(struct oracle *o, struct spec *s, const struct safetensors *f)
{
    static const char *const names[] = {"temperature", "temperature_bias", "temperature_length",
                                        "temperature_scale"};
    bool log = strcmp(get_text(f, "temperature", "none"), "log") == 0;
    for (size_t i = 0; i < (log ? 3 : 4); i++)
        set_option(o, s, oracle_name(o, "%s.%s", log ? "eval" : "model", names[i]),
                   safetensors_metadata(f, names[i]));
    *s = spec_evaluated(s, &s->eval);
}

void oracle_spec(struct oracle *o, struct spec *s, const struct safetensors *f)
{
    static const char *const masks[] = {"model.attention_window", "model.attention_sinks",
                                        "model.sink_positions", "model.position_layers",
                                        "model.attention_window_layers"};
    spec_init(s);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (strcmp(get_text(f, fixed[i].key, fixed[i].value), fixed[i].value) != 0)
            oracle_reject(o, "metadata %s is %s, only %s is computed here", fixed[i].key,
                          get_text(f, fixed[i].key, ""), fixed[i].value);
    s->data.vocab = get_int(o, f, "vocab");
    s->model.dim = get_int(o, f, "dim");
    s->model.heads = get_int(o, f, "heads");
    s->model.ffn = get_int(o, f, "ffn");
    s->model.layers = get_int(o, f, "layers");
    s->model.final_norm = strcmp(get_text(f, "final_norm", "False"), "True") == 0;
    s->model.dropout = s->model.dropout_attention = 0.0;
    s->model.dropout_relu = s->model.dropout_softmax = 0.0;
    oracle_position(o, s, &(struct oracle_texts){.get = get_metadata, .from = f});
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++)
        set_option(o, s, masks[i], safetensors_metadata(f, masks[i] + strlen("model.")));
    set_temperature(o, s, f);
    set_softmax(o, s, f);
    double root = sqrt((double)s->model.dim), scale = root;
    const char *text = safetensors_metadata(f, "embed_scale");
    if (text != NULL && (!str_to_double(&scale, text) || fabs(scale - root) > 1e-9 * scale))
        oracle_reject(o, "metadata embed_scale is %s, only sqrt(dim) is computed here", text);
    s->train.tail_quirk = true; /* as the authors' losses and gradients have it */
    s->train.optimizer = SPEC_NAG;
    s->train.precision = SPEC_FP32;
}

/* The tensors PREFIX.<name> of a file. */
static void load_tensors(struct oracle *o, const struct safetensors *file, const char *prefix)
{
    const struct shape_params *params = model_params(o->model_own);
    for (int32_t i = 0; i < params->tensors_n; i++) {
        const struct shape_tensor *want = &params->tensor[i];
        const char *name = oracle_name(o, "%s.%s", prefix, want->name);
        const struct safetensors_entry *t = safetensors_find(file, name);
        if (t == NULL) oracle_reject(o, "there is no tensor %s", name);
        if (strcmp(t->dtype, "F32") != 0 || t->elements_n != (int64_t)want->rows * want->cols ||
            t->dims_n != want->dims || t->dims[t->dims_n - 1] != want->cols)
            oracle_reject(
                o, "%s is %s with %" PRId64 " elements in %d dimensions, expected F32 of %d x %d",
                name, t->dtype, t->elements_n, t->dims_n, want->rows, want->cols);
        oracle_must(o, model_write(o->model_own, MODEL_VALUES, i, t->data, &o->e));
        if (file == o->file_own) oracle_take(o, "F32", -1, name);
    }
}

void oracle_load(struct oracle *o, const char *prefix)
{
    load_tensors(o, o->file_own, prefix);
}

void oracle_open_weights(struct oracle *o, struct spec *theirs)
{
    const char *file = oracle_text(o, "weights_file"), *slash = strrchr(o->path, '/');
    if (file == NULL || strchr(file, '/') != NULL)
        oracle_reject(o, "metadata weights_file is %s, expected the name of a file beside it",
                      file == NULL ? "absent" : file);
    int folder = slash == NULL ? 0 : (int)(slash - o->path) + 1;
    const char *path = oracle_name(o, "%.*s%s", folder, o->path, file);
    if (o->weights_own == NULL) oracle_must(o, safetensors_open(&o->weights_own, path, &o->e));
    oracle_spec(o, theirs, o->weights_own);
}

void oracle_load_weights(struct oracle *o, const struct spec *s)
{
    struct spec theirs;
    oracle_open_weights(o, &theirs);
    if (s->data.vocab != theirs.data.vocab || s->model.dim != theirs.model.dim ||
        s->model.layers != theirs.model.layers || s->model.heads != theirs.model.heads)
        oracle_reject(o, "the weights are those of another model");
    load_tensors(o, o->weights_own, "w");
}
