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
};

/* A file that has this tensor (or one that begins with it, where it ends with a dot) is of this
 * kind. */
static const struct {
    const char *tensor;
    int (*check)(struct oracle *o, struct err *e);
} kinds[] = {
    {"batch.src", oracle_trace},  {"stream", oracle_evaluation},
    {"A.src", oracle_model},      {"scaled_grads", oracle_half_master},
    {"param0", oracle_nag},       {"case0.in0", oracle_clip},
    {"update", oracle_cosine},    {"slopes.", oracle_slopes},
    {"distance", oracle_buckets}, {"train.text_utf8", oracle_vocabulary},
};

/* Files without a model say their kind. */
static const struct {
    const char *kind;
    int (*check)(struct oracle *o, struct err *e);
} stated_kinds[] = {
    {"bias_tables", oracle_bias_tables},
    {"rope_tables", oracle_rope_tables},
};

bool oracle_has(const struct oracle *o, const char *format, ...)
{
    char name[200];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    return safetensors_find(o->file_own, name) != NULL;
}

int oracle_take(const struct safetensors_entry **out, struct oracle *o, const char *dtype,
                int64_t elements_n, struct err *e, const char *format, ...)
{
    char name[200];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    for (int32_t i = 0; i < safetensors_count(o->file_own); i++) {
        const struct safetensors_entry *t = safetensors_at(o->file_own, i);
        if (strcmp(t->name, name) != 0) continue;
        if (strcmp(t->dtype, dtype) != 0 || (elements_n >= 0 && t->elements_n != elements_n))
            return ERR(e, ERR_DATA, "%s is %s with %" PRId64 " elements, expected %s with %" PRId64,
                       name, t->dtype, t->elements_n, dtype, elements_n);
        o->used[i] = true;
        *out = t;
        return 0;
    }
    return ERR(e, ERR_DATA, "there is no tensor %s", name);
}

void oracle_fail(struct oracle *o, const char *format, ...)
{
    va_list args;
    if (o->failures_n++ > 0) return;
    va_start(args, format);
    vsnprintf(o->failure, sizeof o->failure, format, args);
    va_end(args);
}

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
    for (int32_t i = 0; i < safetensors_count(o->file_own); i++) {
        if (strcmp(safetensors_at(o->file_own, i)->name, name) != 0) continue;
        o->compared_n += !o->counted[i];
        o->counted[i] = true;
        return;
    }
    o->compared_n++;
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

void oracle_compare_ints(struct oracle *o, const char *name, const int32_t *got,
                         const int32_t *want, int64_t n)
{
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

int oracle_number(double *out, const struct oracle *o, struct err *e, const char *format, ...)
{
    char key[200];
    va_list args;
    va_start(args, format);
    vsnprintf(key, sizeof key, format, args);
    va_end(args);
    const char *text = safetensors_metadata(o->file_own, key);
    if (text == NULL || !str_to_double(out, text))
        return ERR(e, ERR_DATA, "metadata %s is %s, expected a number", key,
                   text == NULL ? "absent" : text);
    return 0;
}

int oracle_numbers(const double **out, int64_t *n, struct oracle *o, const char *key, struct err *e)
{
    const char *text = safetensors_metadata(o->file_own, key);
    if (text == NULL) return ERR(e, ERR_DATA, "there is no metadata %s", key);
    double *list = arena_array(&o->arena, strlen(text) + 1, sizeof *list);
    char *copy = arena_strdup(&o->arena, text), *rest = copy;
    *n = 0;
    for (char *item = strtok_r(copy, "[], ", &rest); item != NULL;
         item = strtok_r(NULL, "[], ", &rest))
        if (!str_to_double(&list[(*n)++], item))
            return ERR(e, ERR_DATA, "metadata %s has %s, expected numbers", key, item);
    *out = list;
    return 0;
}

int oracle_compare_metadata(struct oracle *o, enum oracle_measure measure, const char *key,
                            const float *got, int64_t n, struct err *e)
{
    const double *want = NULL;
    int64_t want_n = 0;
    if (safetensors_metadata(o->file_own, key) == NULL) return 0;
    TRY(oracle_numbers(&want, &want_n, o, key, e));
    if (want_n != n) return 0;
    for (int64_t i = 0; i < n; i++) oracle_compare_number(o, measure, key, (double)got[i], want[i]);
    return 0;
}

int64_t oracle_targets(const int32_t *target, int64_t n)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) count += target[i] != 1;
    return count;
}

int oracle_backend(struct oracle *o, struct err *e)
{
    if (o->backend_own != NULL) return 0;
    return backend_open(&o->backend_own, o->device, 1, DTYPE_F32, e);
}

/* Whether the file has the tensor, or one that begins so. */
static bool is_kind(const struct oracle *o, const char *tensor)
{
    size_t n = strlen(tensor);
    if (tensor[n - 1] != '.') return safetensors_find(o->file_own, tensor) != NULL;
    for (int32_t i = 0; i < safetensors_count(o->file_own); i++)
        if (strncmp(safetensors_at(o->file_own, i)->name, tensor, n) == 0) return true;
    return false;
}

static int check(struct oracle *o, struct err *e)
{
    int rc = 1;
    TRY(safetensors_open(&o->file_own, o->path, e));
    int32_t tensors_n = safetensors_count(o->file_own);
    o->used = arena_array(&o->arena, (size_t)tensors_n + 1, sizeof *o->used);
    o->counted = arena_array(&o->arena, (size_t)tensors_n + 1, sizeof *o->counted);
    const char *kind = safetensors_metadata(o->file_own, "kind");
    for (size_t i = 0; i < sizeof stated_kinds / sizeof *stated_kinds && kind != NULL; i++)
        if (strcmp(kind, stated_kinds[i].kind) == 0) rc = stated_kinds[i].check(o, e);
    if (kind != NULL && rc > 0) return ERR(e, ERR_DATA, "kind %s is not checked", kind);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && rc > 0; i++)
        if (is_kind(o, kinds[i].tensor)) rc = kinds[i].check(o, e);
    if (rc > 0) return ERR(e, ERR_DATA, "a file of no known kind");
    for (int32_t i = 0; i < tensors_n && rc == 0; i++)
        if (!o->used[i])
            oracle_fail(o, "tensor %s was not compared", safetensors_at(o->file_own, i)->name);
    return rc;
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
    struct err e = {0};
    struct oracle o = {.path = path, .device = device};
    arena_init(&o.arena);
    int rc = check(&o, &e);
    if (rc < 0) {
        o.failures_n = 0;
        oracle_fail(&o, "%s", e.text);
    }
    write_line(line, &o);
    safetensors_close(o.file_own);
    backend_close(o.backend_own);
    arena_fini(&o.arena);
    return o.failures_n == 0 ? 0 : ERR_DATA;
}
