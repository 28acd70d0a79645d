/* check_open_model.c - comparison of log p, distributions and the first layer of a checkpoint with
 * those of transformers, in fp32: expected.safetensors of a fixture of kind model. A tensor of that
 * file that is not compared fails the folder. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "interchange/safetensors.h"
#include "model/model.h"
#include "model/model_struct.h"
#include "pretrained/check_open.h"
#include "pretrained/pretrained.h"

/* Kinds of compared numbers, with the tolerances of section 10. HIDDEN: of a stream whose numbers
 * are sums of a few, so that larger ones have a larger tolerance. */
enum measure { LOGP64, LOGP, LOGITS, HIDDEN, WINDOW, SCALED, MEASURES_N };
static const struct {
    const char *name;
    double tolerance;
} measures[MEASURES_N] = {
    [LOGP64] = {"logp64", 5e-5},  [LOGP] = {"logp", 1e-4},     [LOGITS] = {"logits", 1e-4},
    [HIDDEN] = {"hidden1", 1e-4}, [WINDOW] = {"window", 1e-4}, [SCALED] = {"scaled", 1e-4},
};

struct comparison {
    struct arena arena;
    struct safetensors *expected_own;
    struct pretrained *pretrained_own;
    struct backend *backend_own;
    struct model *model_own;
    bool streamed;
    bool *used; /* by tensor of the file */
    int32_t compared_n;
    bool measured[MEASURES_N];
    double largest[MEASURES_N];
};

/* A batch of the file: ids of `short` or `long`, each but the last with its successor as target. */
struct text {
    const char *name;
    int32_t rows, T;
    int32_t *target, *position; /* (rows, T), (rows, T - 1) */
    struct model_batch batch;
};

/* --- the file ------------------------------------------------------------------------------- */

/* Returns a tensor of the file, NULL if it has none of that name, and marks it as used. */
static const struct safetensors_entry *find_tensor(struct comparison *c, const char *name)
{
    for (int32_t i = 0; i < safetensors_count(c->expected_own); i++) {
        const struct safetensors_entry *x = safetensors_at(c->expected_own, i);
        if (strcmp(x->name, name) != 0) continue;
        c->used[i] = true;
        return x;
    }
    return NULL;
}

/* Finds the values of a tensor that must have n. */
static int take_tensor(const struct safetensors_entry **out, struct comparison *c,
                       const char *dtype, int64_t n, const char *name, struct err *e)
{
    *out = find_tensor(c, name);
    if (!*out) return ERR(e, ERR_DATA, "no tensor %s", name);
    if (strcmp((*out)->dtype, dtype) == 0 && (n < 0 || (*out)->elements_n == n)) return 0;
    return ERR(e, ERR_DATA, "%s: %" PRId64 " elements of %s, expected %" PRId64 " of %s", name,
               (*out)->elements_n, (*out)->dtype, n, dtype);
}

/* Compares n numbers with those of a tensor. NaN is a difference. */
static int compare_tensor(struct comparison *c, enum measure m, const float *got, int64_t n,
                          const char *name, struct err *e)
{
    const struct safetensors_entry *x;
    bool wide = m == LOGP64;

    TRY(take_tensor(&x, c, wide ? "F64" : "F32", n, name, e));
    for (int64_t i = 0; i < n; i++) {
        double want = wide ? ((const double *)x->data)[i] : (double)((const float *)x->data)[i];
        double scale = m == HIDDEN ? fmax(1, fabs(want)) : 1;
        double difference = fabs((double)got[i] - want) / scale;
        if (!(difference <= c->largest[m])) c->largest[m] = difference;
    }
    c->measured[m] = true;
    c->compared_n++;
    return 0;
}

static int read_text(struct text *t, struct comparison *c, const char *name, struct err *e)
{
    const struct safetensors_entry *x;

    TRY(take_tensor(&x, c, "I32", -1, arena_printf(&c->arena, "%s.ids", name), e));
    if (x->dims_n != 2 || x->dims[0] < 1 || x->dims[1] < 2 || x->elements_n > INT32_MAX)
        return ERR(e, ERR_DATA, "%s.ids: expected rows of two or more ids", name);
    *t = (struct text){.name = name, .rows = (int32_t)x->dims[0], .T = (int32_t)x->dims[1]};
    t->target = arena_array(&c->arena, (size_t)x->elements_n, sizeof *t->target);
    t->position = arena_array(&c->arena, (size_t)x->elements_n, sizeof *t->position);
    for (int64_t i = 0, n = 0; i < x->elements_n; i++) {
        bool last = i % t->T == t->T - 1;
        t->target[i] = ((const int32_t *)x->data)[last ? i : i + 1];
        if (!last) t->position[n++] = (int32_t)i;
    }
    t->batch = (struct model_batch){
        .source = x->data, .target = t->target, .rows = t->rows, .length = t->T};
    return 0;
}

/* --- the model ------------------------------------------------------------------------------ */

static int read_tensor(void *context, int32_t i, float *out, struct err *e)
{
    return pretrained_read(context, i, out, e);
}

int check_open_load(struct model *m, struct pretrained *p, bool streamed, struct err *e)
{
    const struct shape_params *params = model_params(m);

    if (streamed) return model_stream(m, read_tensor, p, e);

    for (int32_t i = 0; i < params->tensors_n; i++) {
        size_t n = (size_t)params->tensor[i].rows * (size_t)params->tensor[i].cols;
        float *values = malloc(n * sizeof *values);
        int rc = values ? pretrained_read(p, i, values, e)
                        : ERR(e, ERR_NOMEM, "out of memory for %zu values", n);
        if (rc == 0) rc = model_write(m, MODEL_VALUES, i, values, e);
        free(values);
        TRY(rc);
    }
    return 0;
}

/* Opens the model as an evaluation has it. */
static int open_model(struct comparison *c, const struct text *t, const struct spec_eval *eval,
                      struct err *e)
{
    const struct spec *train = &pretrained_facts(c->pretrained_own)->spec;
    const struct spec s = eval ? spec_evaluated(train, eval) : *train;
    const struct shape_capacity capacity = {.rows_max = t->rows,
                                            .length_max = t->T,
                                            .scored_max = (int64_t)t->rows * t->T,
                                            .streamed = c->streamed};

    model_close(c->model_own);
    c->model_own = NULL;
    TRY(model_open(&c->model_own, c->backend_own, &s, &capacity, e));
    return check_open_load(c->model_own, c->pretrained_own, c->streamed, e);
}

/* Compares log p of all targets with a tensor. */
static int compare_scores(struct comparison *c, const struct text *t, enum measure m,
                          const char *name, struct err *e)
{
    int64_t n = (int64_t)t->rows * (t->T - 1);
    float *score = arena_array(&c->arena, (size_t)n, sizeof *score);

    TRY(model_score(c->model_own, &t->batch, t->position, n, score, e));
    return compare_tensor(c, m, score, n, name, e);
}

/* Compares the stream after layer 0. */
static int compare_hidden(struct comparison *c, const struct text *t, struct err *e)
{
    const struct model *m = c->model_own;
    int64_t width = m->spec.model.dim, n = (int64_t)t->rows * t->T * width;
    float *got = arena_array(&c->arena, (size_t)n, sizeof *got);

    TRY(m->b->ops->download(m->b, got, m->inner_dev_own + m->tokens_max * width,
                            (size_t)n * sizeof *got, e));
    return compare_tensor(c, HIDDEN, got, n, arena_printf(&c->arena, "%s.hidden1", t->name), e);
}

static void log_softmax(float *x, int64_t n)
{
    double most = -INFINITY, sum = 0;

    for (int64_t i = 0; i < n; i++) most = fmax(most, (double)x[i]);
    for (int64_t i = 0; i < n; i++) sum += exp((double)x[i] - most);
    for (int64_t i = 0; i < n; i++) x[i] = (float)((double)x[i] - most - log(sum));
}

/* Compares distributions at the positions that the file names. Logits are known up to a constant of
 * each row. */
static int compare_logits(struct comparison *c, const struct text *t, struct err *e)
{
    const struct safetensors_entry *positions, *logits;
    int64_t V = pretrained_facts(c->pretrained_own)->spec.data.vocab;
    float *got = arena_array(&c->arena, (size_t)V, sizeof *got);
    float *want = arena_array(&c->arena, (size_t)V, sizeof *want);

    TRY(take_tensor(&positions, c, "I32", -1, arena_printf(&c->arena, "%s.positions", t->name), e));
    TRY(take_tensor(&logits, c, "F32", t->rows * positions->elements_n * V,
                    arena_printf(&c->arena, "%s.logits", t->name), e));
    for (int64_t i = 0; i < t->rows * positions->elements_n; i++) {
        int32_t row = (int32_t)(i / positions->elements_n);
        int32_t at = ((const int32_t *)positions->data)[i % positions->elements_n];
        if (at < 0 || at >= t->T) return ERR(e, ERR_DATA, "%s.positions: %d", t->name, at);
        TRY(model_distribution(c->model_own, &t->batch, row * t->T + at, got, e));
        memcpy(want, (const float *)logits->data + i * V, (size_t)V * sizeof *want);
        log_softmax(want, V);
        for (int64_t v = 0; v < V; v++) {
            double difference = fabs((double)got[v] - (double)want[v]);
            if (!(difference <= c->largest[LOGITS])) c->largest[LOGITS] = difference;
        }
    }
    c->measured[LOGITS] = true;
    c->compared_n++;
    return 0;
}

/* --- a folder ------------------------------------------------------------------------------- */

static int compare_text(struct comparison *c, const struct text *t, struct err *e)
{
    const char *hidden = arena_printf(&c->arena, "%s.hidden1", t->name);

    TRY(open_model(c, t, NULL, e));
    if (find_tensor(c, hidden)) TRY(model_keep_inner(c->model_own, e));
    TRY(compare_scores(c, t, LOGP64, arena_printf(&c->arena, "%s.logp64", t->name), e));
    TRY(compare_scores(c, t, LOGP, arena_printf(&c->arena, "%s.logp", t->name), e));
    if (find_tensor(c, hidden)) TRY(compare_hidden(c, t, e));
    return compare_logits(c, t, e);
}

/* Compares the evaluations with a window, and with each scaling that the file has. */
static int compare_evaluations(struct comparison *c, const struct text *t, struct err *e)
{
    struct spec_eval eval = {.mask.sink_positions = SPEC_SINKS_TEXT};
    const char *window = safetensors_metadata(c->expected_own, "window");

    if (find_tensor(c, "window.logp")) {
        if (!window || sscanf(window, "[%d, %d]", &eval.mask.window, &eval.mask.sinks) != 2)
            return ERR(e, ERR_DATA, "metadata window is not [window, sinks]");
        TRY(open_model(c, t, &eval, e));
        TRY(compare_scores(c, t, WINDOW, "window.logp", e));
    }
    eval.mask = (struct spec_mask){0};
    for (int kind = 0; position_scaling_names[kind]; kind++) {
        const char *name = arena_printf(&c->arena, "scaled.%s.logp", position_scaling_names[kind]);
        if (!find_tensor(c, name)) continue;
        eval.scaling = (enum position_scaling)kind;
        TRY(open_model(c, t, &eval, e));
        TRY(compare_scores(c, t, SCALED, name, e));
    }
    return 0;
}

static int compare_folder(struct comparison *c, const char *folder, const char *device,
                          struct err *e)
{
    const char *path = arena_printf(&c->arena, "%s/expected.safetensors", folder);
    struct text t;

    TRY(safetensors_open(&c->expected_own, path, e));
    int32_t n = safetensors_count(c->expected_own);
    c->used = arena_array(&c->arena, (size_t)n + 1, sizeof *c->used);
    TRY(pretrained_open(&c->pretrained_own, folder, e));
    TRY(backend_open(&c->backend_own, device, 1, DTYPE_F32, e));
    c->streamed = strstr(device, "cpu") != NULL;
    TRY(read_text(&t, c, "short", e));
    TRY(compare_text(c, &t, e));
    if (find_tensor(c, "long.ids")) {
        TRY(read_text(&t, c, "long", e));
        TRY(compare_text(c, &t, e));
        TRY(compare_evaluations(c, &t, e));
    }
    for (int32_t i = 0; i < n; i++)
        if (!c->used[i])
            return ERR(e, ERR_DATA, "%s is not compared", safetensors_at(c->expected_own, i)->name);
    return 0;
}

static void print_line(const struct comparison *c, bool holds, const char *folder,
                       const char *problem, char line[CHECK_OPEN_LINE_BYTES])
{
    size_t n =
        (size_t)snprintf(line, CHECK_OPEN_LINE_BYTES, "%.400s: %s", folder, holds ? "ok" : "FAIL");
    const char *between = " (";

    for (int m = 0; m < MEASURES_N; m++) {
        if (!c->measured[m]) continue;
        n += (size_t)snprintf(line + n, CHECK_OPEN_LINE_BYTES - n, "%s%s %.1e%s", between,
                              measures[m].name, c->largest[m],
                              c->largest[m] <= measures[m].tolerance ? "" : " TOO LARGE");
        between = ", ";
    }
    if (*between == ',') n += (size_t)snprintf(line + n, CHECK_OPEN_LINE_BYTES - n, ")");
    if (*problem) snprintf(line + n, CHECK_OPEN_LINE_BYTES - n, " %.500s", problem);
}

int check_open_model(const char *folder, const char *device, char line[CHECK_OPEN_LINE_BYTES])
{
    struct comparison c = {.compared_n = 0};
    struct err e = {0};

    arena_init(&c.arena);
    bool holds = compare_folder(&c, folder, device, &e) == 0;
    for (int m = 0; m < MEASURES_N; m++) holds = holds && c.largest[m] <= measures[m].tolerance;
    print_line(&c, holds, folder, e.text, line);
    model_close(c.model_own);
    backend_close(c.backend_own);
    pretrained_close(c.pretrained_own);
    safetensors_close(c.expected_own);
    arena_fini(&c.arena);
    return holds ? 0 : -1;
}
