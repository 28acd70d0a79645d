/* oracle_position.c - files without a model: bias tables with the gradients of their parameters,
 * tables of rotations, and the decay of attention through layers of equal logits. Each case's
 * settings are the JSON that metadata has under its name. */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/str.h"
#include "model/oracle.h"
#include "worker/heads.h"

/* One case: its settings as text, and its method. */
struct table_case {
    struct oracle *o;
    const char *name;
    struct spec spec;
    struct position_shape shape;
    const struct position_functions *functions;
    int32_t length; /* distances, or tokens */
};

static const char *case_text(const struct oracle_texts *texts, const char *key)
{
    const struct table_case *k = texts->from;
    const json_t *value = json_object_get(k->o->json_own, key);
    char number[STR_DOUBLE_BYTES];
    if (value == NULL || json_is_string(value)) return json_string_value(value);
    str_from_double(number, json_number_value(value));
    return arena_strdup(&k->o->arena, number);
}

static int32_t case_number(const struct table_case *k, const char *key)
{
    const char *text = case_text(&(struct oracle_texts){.from = k}, key);
    int64_t value = 0;
    if (text == NULL || !str_to_int(&value, text) || value < 1 || value > 65536)
        oracle_reject(k->o, "metadata %s: %s is %s, expected a number from 1 to 65536", k->name,
                      key, text == NULL ? "absent" : text);
    return (int32_t)value;
}

static double case_real(const struct table_case *k, const char *key)
{
    const json_t *value = json_object_get(k->o->json_own, key);
    if (!json_is_number(value))
        oracle_reject(k->o, "metadata %s: %s is not a number", k->name, key);
    return json_number_value(value);
}

static void case_method(struct table_case *k)
{
    oracle_position(k->o, &k->spec, &(struct oracle_texts){.get = case_text, .from = k});
    k->shape = spec_position_shape(&k->spec);
    k->shape.length = k->length;
    k->functions = position_methods[k->spec.model.position].functions;
    oracle_must(k->o, position_check((int32_t)k->spec.model.position, &k->shape, &k->o->e));
}

/* Numbers of a bias in this case; zeroed. */
static struct position_bias case_bias(const struct table_case *k)
{
    int32_t n = position_table_length(k->functions, &k->shape, k->length);
    int32_t heads = k->spec.model.heads;
    return (struct position_bias){.table_n = n,
                                  .table = oracle_array(k->o, (int64_t)heads * n + 1),
                                  .tail = oracle_array(k->o, heads)};
}

/* The softmax ignores a constant: tables are compared relative to distance 0. */
static float *from_first(struct oracle *o, const float *table, int32_t heads, int32_t n)
{
    float *out = oracle_array(o, (int64_t)heads * n);
    for (int64_t i = 0; i < (int64_t)heads * n; i++)
        out[i] = (float)((double)table[i] - (double)table[i / n * n]);
    return out;
}

static void check_table(const struct table_case *k, const struct position_bias *bias,
                        const struct safetensors_entry *want)
{
    int32_t H = k->spec.model.heads, n = k->length;
    float *got = oracle_array(k->o, (int64_t)H * n);
    for (int64_t h = 0; h < H; h++)
        for (int32_t d = 0; d < n; d++) {
            float tail = bias->table_n > 0 ? bias->tail[h] : bias->tail[h] * (float)d;
            got[h * n + d] = d < bias->table_n ? bias->table[h * bias->table_n + d] : tail;
        }
    oracle_compare(k->o, ORACLE_TABLE, want->name, from_first(k->o, got, H, n),
                   from_first(k->o, want->data, H, n), (int64_t)H * n);
}

/* The gradient of head h is row h, modulo their number, of dtable. */
static struct position_bias case_gradient(const struct table_case *k,
                                          const struct safetensors_entry *dtable)
{
    struct position_bias grad = case_bias(k);
    int64_t rows = dtable->dims[0], cols = dtable->dims[1];
    for (int64_t h = 0; h < k->spec.model.heads; h++)
        for (int32_t d = 0; d < k->length; d++) {
            float g = ((const float *)dtable->data)[h % rows * cols + d];
            if (d < grad.table_n)
                grad.table[h * grad.table_n + d] = g;
            else
                grad.tail[h] += g;
        }
    return grad;
}

static void check_bias_case(struct table_case *k)
{
    struct oracle *o = k->o;
    struct position_tensor tensor[POSITION_TENSORS_MAX];
    const float *values[POSITION_TENSORS_MAX];
    float *gradients[POSITION_TENSORS_MAX];
    const struct safetensors_entry *dtable = oracle_take(o, "F32", -1, "dtable");
    const struct safetensors_entry *table =
        oracle_take(o, "F32", -1, oracle_name(o, "%s.table", k->name));
    k->spec.model.heads = case_number(k, "heads");
    k->spec.model.dim = 8 * k->spec.model.heads;
    if (table->dims_n != 2 || dtable->dims_n != 2 || table->dims[0] != k->spec.model.heads ||
        dtable->dims[0] < 1 || table->dims[1] < 1 || table->dims[1] > dtable->dims[1])
        oracle_reject(o, "%s and dtable are not (heads, distances)", table->name);
    k->length = (int32_t)table->dims[1];
    case_method(k);
    if (k->functions->fill == NULL)
        oracle_reject(o, "metadata %s: the method has no bias", k->name);
    int32_t n = k->functions->tensors != NULL ? k->functions->tensors(&k->shape, tensor) : 0;
    for (int32_t i = 0; i < n; i++) {
        int64_t elements_n = (int64_t)tensor[i].rows * tensor[i].cols;
        values[i] =
            oracle_floats(o, elements_n, oracle_name(o, "%s.w.%s", k->name, tensor[i].name));
        gradients[i] = oracle_array(o, elements_n);
    }
    struct position_bias bias = case_bias(k);
    k->functions->fill(&k->shape, values, &bias);
    check_table(k, &bias, table);
    if (n == 0) return;
    const struct position_bias grad = case_gradient(k, dtable);
    k->functions->pullback(&k->shape, values, &grad, gradients);
    for (int32_t i = 0; i < n; i++)
        oracle_check(o, ORACLE_GRADIENT, gradients[i], (int64_t)tensor[i].rows * tensor[i].cols,
                     oracle_name(o, "%s.g.%s", k->name, tensor[i].name));
}

static void check_rope_case(struct table_case *k)
{
    struct oracle *o = k->o;
    double theta[POSITION_WIDTH_MAX / 2];
    json_object_set_new(o->json_own, "position", json_string("rotary"));
    k->spec.model.dim = case_number(k, "width");
    k->spec.model.heads = 1;
    k->length = case_number(k, "length");
    if (k->spec.model.dim > POSITION_WIDTH_MAX)
        oracle_reject(o, "metadata %s: heads of width %d", k->name, k->spec.model.dim);
    case_method(k);
    int64_t half = k->spec.model.dim / 2, n = k->length * half;
    float *cosine = oracle_array(o, n), *sine = oracle_array(o, n);
    float *frequency = oracle_array(o, half);
    double factor = k->functions->frequencies(&k->shape, theta);
    for (int64_t p = 0; p < half; p++) frequency[p] = (float)theta[p];
    position_rotation(k->functions, &k->shape, k->length, false, cosine, sine);
    oracle_check(o, ORACLE_TABLE, frequency, half, oracle_name(o, "%s.frequency", k->name));
    oracle_check(o, ORACLE_TABLE, cosine, n, oracle_name(o, "%s.cosine", k->name));
    oracle_check(o, ORACLE_TABLE, sine, n, oracle_name(o, "%s.sine", k->name));
    oracle_compare_number(o, ORACLE_RATE_EXACT, "attention_factor", factor,
                          oracle_number(o, oracle_name(o, "%s.attention_factor", k->name)));
}

/* The model of a case: parameters that are all zero give equal logits in every layer. */
static void open_equal(struct table_case *k, double slope, int32_t layers)
{
    struct oracle *o = k->o;
    k->spec.model = (struct spec_model){.form = k->spec.model.form,
                                        .position = SPEC_ALIBI,
                                        .layers = layers,
                                        .dim = 8,
                                        .heads = 1,
                                        .ffn = 8,
                                        .softmax = SPEC_PLAIN};
    k->spec.option.alibi_slopes = (struct position_list){.n = 1, .value = {slope}};
    k->spec.data.vocab = 8;
    k->spec.train.L = k->length;
    model_close(o->model_own);
    o->model_own = NULL;
    oracle_model_open(o, &k->spec,
                      &(struct shape_capacity){.rows_max = 1, .length_max = k->length});
}

/* The last row of the product of t + 1 equal matrices of weights, and L(x) = ln C(t+x, x) - m x. */
static void check_decay_case(struct table_case *k)
{
    struct oracle *o = k->o;
    int32_t N = k->length = case_number(k, "N"), top = 0;
    double slope = case_real(k, "slope"), t = case_real(k, "t");
    if (!(slope > 0.0 && t >= 0.0 && t == floor(t) && (t + 1) * N * N <= 1e8))
        oracle_reject(o, "metadata %s: N = %d, t = %g, slope = %g", k->name, N, t, slope);
    open_equal(k, slope, (int32_t)t + 1);
    const float *weight = oracle_row_weights(o, oracle_int_array(o, N), N);
    double *row = arena_array(&o->arena, (size_t)N, sizeof *row);
    double *spare = arena_array(&o->arena, (size_t)N, sizeof *spare);
    float *got = oracle_array(o, N), *curve = oracle_array(o, N);
    row[N - 1] = 1.0;
    for (int32_t l = (int32_t)t; l >= 0; l--)
        heads_roll(row, spare, weight + (int64_t)l * N * N, N);
    for (int32_t x = 0; x < N; x++) {
        got[x] = (float)row[x];
        curve[x] = (float)(lgamma(t + x + 1.0) - lgamma(x + 1.0) - lgamma(t + 1.0) - slope * x);
        if (curve[x] > curve[top]) top = x;
    }
    oracle_check(o, ORACLE_ROLLOUT, got, N, oracle_name(o, "%s.rollout_last", k->name));
    oracle_check(o, ORACLE_TABLE, curve, N, oracle_name(o, "%s.L", k->name));
    oracle_compare_number(o, ORACLE_EXACT, "argmax", top, case_real(k, "argmax"));
    oracle_compare_number(o, ORACLE_RATE_EXACT, "x_star", t / expm1(slope), case_real(k, "x_star"));
}

static void each_case(struct oracle *o, void (*check)(struct table_case *))
{
    const char *list = oracle_text(o, "cases");
    if (list == NULL) oracle_reject(o, "there is no metadata cases");
    char *rest = arena_strdup(&o->arena, list);
    for (char *name; (name = strtok_r(rest, ", ", &rest));) {
        struct table_case k = {.o = o, .name = name};
        const char *text = oracle_text(o, name);
        json_decref(o->json_own);
        o->json_own = text == NULL ? NULL : json_loads(text, 0, NULL);
        if (!json_is_object(o->json_own))
            oracle_reject(o, "metadata %s is absent or not a JSON object", name);
        spec_init(&k.spec);
        check(&k);
    }
}

void oracle_bias_tables(struct oracle *o)
{
    each_case(o, check_bias_case);
}

void oracle_rope_tables(struct oracle *o)
{
    each_case(o, check_rope_case);
}

void oracle_decay(struct oracle *o)
{
    each_case(o, check_decay_case);
}
