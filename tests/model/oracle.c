/* oracle.c - the checker's frame: which kind a file is, tensors used and compared, the line. */
#include "model/oracle.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

/* A difference is allowed up to absolute + relative * the largest number of the tensor.
 * Log p, gradients and key biases as SPEC.md section 15 suggests. The streams get the gradients'
 * bound. Losses are sums of as many log p as there are targets, whose errors do not conspire.
 * Weights after 20 updates: the authors' own float32 and float64 runs differ by 7e-7. Updates,
 * norms and rates are a handful of float operations; rates in double have 1e-12. Attention weights
 * are exponentials of scores, at most 1. Tables are computed in double and rounded once, as are
 * those they are compared with; a bias's value at distance 0, up to a few times the largest
 * difference, is taken off after the rounding. */
static const struct {
    const char *what;
    double absolute, relative;
} measures[ORACLE_MEASURES_N] = {
    [ORACLE_EXACT] = {"exact numbers", 0.0, 0.0},
    [ORACLE_LOGP] = {"log p", 2e-5, 0.0},
    [ORACLE_STREAM] = {"streams", 0.0, 2e-5},
    [ORACLE_LOSS] = {"loss", 0.0, 5e-6},
    [ORACLE_GRADIENT] = {"gradients", 0.0, 2e-5},
    [ORACLE_KEY_BIAS] = {"key-bias gradients", 1e-4, 0.0},
    [ORACLE_NORM] = {"norms", 0.0, 1e-5},
    [ORACLE_WEIGHT] = {"weights", 5e-6, 0.0},
    [ORACLE_UPDATE] = {"updates", 0.0, 1e-6},
    [ORACLE_RATE] = {"rates", 0.0, 2e-7},
    [ORACLE_RATE_EXACT] = {"rates in double", 0.0, 1e-12},
    [ORACLE_SLOPE] = {"slopes", 0.0, 6e-8},
    [ORACLE_ATTENTION] = {"attention weights", 2e-5, 0.0},
    [ORACLE_TABLE] = {"tables", 0.0, 5e-7},
    [ORACLE_ROLLOUT] = {"rollouts", 0.0, 2e-5},
    [ORACLE_DISTANCE] = {"distances", 0.0, 5e-6},
};

/* A file is of the kind that its metadata states, or of that of a tensor it has. */
static const struct {
    const char *stated, *tensor;
    void (*check)(struct oracle *o);
} kinds[] = {
    {"bias_tables", NULL, oracle_bias_tables},
    {"rope_tables", NULL, oracle_rope_tables},
    {"decay", NULL, oracle_decay},
    {"knn", NULL, oracle_knn},
    {NULL, "batch.src", oracle_trace},
    {NULL, "stream", oracle_evaluation},
    {NULL, "A.src", oracle_model},
    {NULL, "scaled_grads", oracle_half_master},
    {NULL, "param0", oracle_nag},
    {NULL, "case0.in0", oracle_clip},
    {NULL, "update", oracle_cosine},
    {NULL, "slopes.8", oracle_slopes},
    {NULL, "distance", oracle_buckets},
    {NULL, "train.text_utf8", oracle_vocabulary},
};

void oracle_reject(struct oracle *o, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(o->failure, sizeof o->failure, format, args);
    va_end(args);
    o->failures_n = 1;
    longjmp(o->rejected, 1);
}

void oracle_must(struct oracle *o, int rc)
{
    if (rc < 0) oracle_reject(o, "%s", o->e.text);
}

void oracle_fail(struct oracle *o, const char *format, ...)
{
    va_list args;
    if (o->failures_n++ > 0) return;
    va_start(args, format);
    vsnprintf(o->failure, sizeof o->failure, format, args);
    va_end(args);
}

/* ---- what the file has ---- */

const char *oracle_name(struct oracle *o, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *name = arena_vprintf(&o->arena, format, args);
    va_end(args);
    return name;
}

bool oracle_has(const struct oracle *o, const char *name)
{
    return safetensors_find(o->file_own, name) != NULL;
}

/* The number of a tensor, or the number of tensors. */
static int32_t index_of(const struct oracle *o, const char *name)
{
    int32_t i = 0, n = safetensors_count(o->file_own);
    while (i < n && strcmp(safetensors_at(o->file_own, i)->name, name) != 0) i++;
    return i;
}

const struct safetensors_entry *oracle_take(struct oracle *o, const char *dtype, int64_t elements_n,
                                            const char *name)
{
    const struct safetensors_entry *t = safetensors_find(o->file_own, name);
    if (t == NULL) oracle_reject(o, "there is no tensor %s", name);
    if (strcmp(t->dtype, dtype) != 0 || (elements_n >= 0 && t->elements_n != elements_n))
        oracle_reject(o, "%s is %s with %" PRId64 " elements, expected %s with %" PRId64, name,
                      t->dtype, t->elements_n, dtype, elements_n);
    o->used[index_of(o, name)] = true;
    return t;
}

const float *oracle_floats(struct oracle *o, int64_t n, const char *name)
{
    return oracle_take(o, "F32", n, name)->data;
}

const int32_t *oracle_ints(struct oracle *o, int64_t n, const char *name)
{
    return oracle_take(o, "I32", n, name)->data;
}

const char *oracle_next(struct oracle *o, int32_t *i, const char *ending)
{
    size_t ending_n = strlen(ending);
    while (*i < safetensors_count(o->file_own)) {
        const char *name = safetensors_at(o->file_own, (*i)++)->name;
        size_t n = strlen(name);
        if (n > ending_n && strcmp(name + n - ending_n, ending) == 0)
            return arena_strndup(&o->arena, name, n - ending_n);
    }
    return NULL;
}

float *oracle_array(struct oracle *o, int64_t n)
{
    return arena_array(&o->arena, (size_t)n, sizeof(float));
}

int32_t *oracle_int_array(struct oracle *o, int64_t n)
{
    return arena_array(&o->arena, (size_t)n, sizeof(int32_t));
}

const char *oracle_text(const struct oracle *o, const char *key)
{
    return safetensors_metadata(o->file_own, key);
}

double oracle_number(struct oracle *o, const char *key)
{
    const char *text = oracle_text(o, key);
    double number = 0.0;
    if (text == NULL || !str_to_double(&number, text))
        oracle_reject(o, "metadata %s is %s, expected a number", key,
                      text == NULL ? "absent" : text);
    return number;
}

const double *oracle_numbers(struct oracle *o, int64_t *n, const char *key)
{
    const char *text = oracle_text(o, key);
    if (text == NULL) oracle_reject(o, "there is no metadata %s", key);
    double *list = arena_array(&o->arena, strlen(text) + 1, sizeof *list);
    char *copy = arena_strdup(&o->arena, text), *rest = copy;
    *n = 0;
    for (char *item = strtok_r(copy, "[], ", &rest); item != NULL;
         item = strtok_r(NULL, "[], ", &rest))
        if (!str_to_double(&list[(*n)++], item))
            oracle_reject(o, "metadata %s has %s, expected numbers", key, item);
    return list;
}

/* ---- the device ---- */

struct backend *oracle_backend(struct oracle *o)
{
    if (o->backend_own == NULL)
        oracle_must(o, backend_open(&o->backend_own, o->device, 1, DTYPE_F32, &o->e));
    return o->backend_own;
}

void *oracle_memory(struct oracle *o, size_t bytes)
{
    struct backend *b = oracle_backend(o);
    if (o->memory_own) b->ops->release(b, o->memory_own);
    o->memory_own = NULL;
    oracle_must(o, b->ops->alloc(b, &o->memory_own, bytes, &o->e));
    oracle_must(o, b->ops->zero(b, o->memory_own, bytes, &o->e));
    return o->memory_own;
}

void oracle_model_open(struct oracle *o, const struct spec *s, const struct shape_capacity *options)
{
    oracle_must(o, model_open(&o->model_own, oracle_backend(o), s, options, &o->e));
}

/* ---- comparisons ---- */

/* The largest difference in the measure's own unit: of the tolerance's absolute or relative part.
 */
static void note(struct oracle *o, enum oracle_measure measure, const char *name, double worst,
                 double scale, int64_t at)
{
    double allowed = measures[measure].absolute + measures[measure].relative * scale;
    double shown = measures[measure].relative > 0.0 && scale > 0.0 ? worst / scale : worst;
    o->measured[measure] = true;
    if (!(shown <= o->largest[measure])) o->largest[measure] = shown;
    if (!(worst <= allowed))
        oracle_fail(o, "%s differs by %.3g at element %" PRId64 ", at most %.3g is allowed", name,
                    worst, at, allowed);
}

/* A tensor that is compared twice counts once; a name that is several of the file's tensors joined
 * counts as one. */
static void count(struct oracle *o, const char *name)
{
    int32_t i = index_of(o, name);
    o->compared_n += !o->counted[i];
    o->counted[i] = i < safetensors_count(o->file_own);
}

void oracle_compare(struct oracle *o, enum oracle_measure measure, const char *name,
                    const float *got, const float *want, int64_t n)
{
    double worst = 0.0, scale = 0.0;
    int64_t at = 0;
    count(o, name);
    for (int64_t i = 0; i < n; i++) {
        double difference = fabs((double)got[i] - (double)want[i]);
        if (fabs((double)want[i]) > scale) scale = fabs((double)want[i]);
        if (difference <= worst || (isinf(got[i]) && got[i] == want[i])) continue;
        worst = isfinite(difference) ? difference : INFINITY;
        at = i;
    }
    note(o, measure, name, worst, scale, at);
}

void oracle_check(struct oracle *o, enum oracle_measure measure, const float *got, int64_t n,
                  const char *name)
{
    oracle_compare(o, measure, name, got, oracle_floats(o, n, name), n);
}

void oracle_check_ints(struct oracle *o, const int32_t *got, int64_t n, const char *name)
{
    const int32_t *want = oracle_ints(o, n, name);
    count(o, name);
    for (int64_t i = 0; i < n; i++) {
        if (got[i] == want[i]) continue;
        oracle_fail(o, "%s is %d at element %" PRId64 ", expected %d", name, got[i], i, want[i]);
        return;
    }
}

void oracle_compare_number(struct oracle *o, enum oracle_measure measure, const char *name,
                           double got, double want)
{
    double difference = fabs(got - want);
    note(o, measure, name, isfinite(difference) ? difference : INFINITY, fabs(want), 0);
}

void oracle_compare_metadata(struct oracle *o, enum oracle_measure measure, const char *key,
                             const float *got, int64_t n)
{
    int64_t want_n = 0;
    if (oracle_text(o, key) == NULL) return;
    const double *want = oracle_numbers(o, &want_n, key);
    for (int64_t i = 0; want_n == n && i < n; i++)
        oracle_compare_number(o, measure, key, (double)got[i], want[i]);
}

int64_t oracle_targets(const int32_t *target, int64_t n)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) count += target[i] != 1;
    return count;
}

/* ---- a file ---- */

static bool is_kind(const struct oracle *o, size_t i)
{
    const char *stated = oracle_text(o, "kind");
    if (stated == NULL) return kinds[i].tensor != NULL && oracle_has(o, kinds[i].tensor);
    return kinds[i].stated != NULL && strcmp(stated, kinds[i].stated) == 0;
}

static void check_oracle(struct oracle *o)
{
    enum { KINDS_N = sizeof kinds / sizeof *kinds };
    size_t kind = 0;
    oracle_must(o, safetensors_open(&o->file_own, o->path, &o->e));
    int32_t tensors_n = safetensors_count(o->file_own);
    o->used = arena_array(&o->arena, (size_t)tensors_n + 1, sizeof *o->used);
    o->counted = arena_array(&o->arena, (size_t)tensors_n + 1, sizeof *o->counted);
    while (kind < KINDS_N && !is_kind(o, kind)) kind++;
    if (kind == KINDS_N) oracle_reject(o, "a file of no known kind");
    kinds[kind].check(o);
    for (int32_t i = 0; i < tensors_n; i++)
        if (!o->used[i])
            oracle_fail(o, "tensor %s was not compared", safetensors_at(o->file_own, i)->name);
}

static void check_or_reject(struct oracle *o)
{
    if (setjmp(o->rejected) == 0) check_oracle(o);
}

/* The file's name without folder and ending. */
static void base_name(char *out, size_t capacity, const char *path)
{
    const char *slash = strrchr(path, '/');
    snprintf(out, capacity, "%s", slash == NULL ? path : slash + 1);
    char *dot = strrchr(out, '.');
    if (dot != NULL && strcmp(dot, ".safetensors") == 0) *dot = '\0';
}

static void write_line(char line[ORACLE_LINE_BYTES], const struct oracle *o)
{
    char name[200];
    struct arena arena;
    struct strbuf text;
    arena_init(&arena);
    strbuf_init(&text, &arena);
    base_name(name, sizeof name, o->path);
    if (o->failures_n == 0) {
        strbuf_addf(&text, "%s: ok (%d tensors compared, largest differences", name, o->compared_n);
        const char *before = "";
        for (int i = 0; i < ORACLE_MEASURES_N; i++) {
            if (!o->measured[i]) continue;
            strbuf_addf(&text, "%s %s %.2g%s", before, measures[i].what, o->largest[i],
                        measures[i].relative > 0.0 ? " relative" : "");
            before = ",";
        }
        strbuf_addf(&text, "%s)", before[0] == '\0' ? " none" : "");
    } else {
        strbuf_addf(&text, "%s: FAIL %s", name, o->failure);
        if (o->failures_n > 1) strbuf_addf(&text, " (and %d more)", o->failures_n - 1);
    }
    snprintf(line, ORACLE_LINE_BYTES, "%s", text.text);
    arena_fini(&arena);
}

int oracle_file(const char *path, const char *device, char line[ORACLE_LINE_BYTES])
{
    struct oracle o = {.path = path, .device = device};
    arena_init(&o.arena);
    check_or_reject(&o);
    write_line(line, &o);
    json_decref(o.json_own);
    model_close(o.model_own);
    if (o.memory_own) o.backend_own->ops->release(o.backend_own, o.memory_own);
    safetensors_close(o.file_own);
    safetensors_close(o.weights_own);
    backend_close(o.backend_own);
    arena_fini(&o.arena);
    return o.failures_n == 0 ? 0 : ERR_DATA;
}
