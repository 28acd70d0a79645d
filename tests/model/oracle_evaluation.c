/* oracle_evaluation.c - eval files: windows of every case L<L>_S<S>, and the score of each target
 * of the stream. Weights are those of another file beside it. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/windows.h"
#include "model/oracle.h"

enum { PAD = 1, LINE_END = 2, ROWS = 16 };

struct evaluation {
    struct oracle *o;
    struct safetensors *weights_own;
    struct model *model_own;
    struct tokens stream; /* points into the file */
};

/* Windows of one case as arrays that the file also has. */
struct eval_case {
    char name[64]; /* such as L32_S16 */
    struct windows windows;
    int64_t windows_n;
    int32_t *context, *scored, *source; /* (windows), (windows), (windows, L) */
    int32_t *target;                    /* (windows, L) */
};

/* L and S of "L<L>_S<S>". */
static bool parse_case(const char *name, size_t n, int32_t *L, int32_t *stride)
{
    int used = 0;
    return sscanf(name, "L%d_S%d%n", L, stride, &used) == 2 && (size_t)used == n && *L > 0;
}

static int cut_windows(struct evaluation *v, struct eval_case *c, int32_t L, int32_t stride,
                       struct err *e)
{
    struct arena *a = &v->o->arena;
    TRY(windows_make(&c->windows, v->stream.n, L, stride, 0, e));
    c->windows_n = windows_count(&c->windows);
    size_t cells = (size_t)c->windows_n * (size_t)L;
    c->context = arena_array(a, (size_t)c->windows_n, sizeof *c->context);
    c->scored = arena_array(a, (size_t)c->windows_n, sizeof *c->scored);
    c->source = arena_array(a, cells, sizeof *c->source);
    c->target = arena_array(a, cells, sizeof *c->target);
    for (size_t i = 0; i < cells; i++) c->source[i] = c->target[i] = PAD;
    for (int64_t k = 0; k < c->windows_n; k++) {
        struct window w;
        windows_get(&c->windows, k, &w);
        c->context[k] = w.scored_from;
        c->scored[k] = w.length - w.scored_from;
        windows_source(&v->stream, &w, c->source + k * L);
        windows_target(&v->stream, &w, c->target + k * L);
    }
    return 0;
}

static int compare_windows(struct evaluation *v, const struct eval_case *c, struct err *e)
{
    struct oracle *o = v->o;
    const struct safetensors_entry *t = NULL;
    TRY(oracle_take(&t, o, "I32", c->windows_n, e, "%s.ctx", c->name));
    oracle_compare_ints(o, t->name, c->context, t->data, t->elements_n);
    TRY(oracle_take(&t, o, "I32", c->windows_n, e, "%s.scored", c->name));
    oracle_compare_ints(o, t->name, c->scored, t->data, t->elements_n);
    TRY(oracle_take(&t, o, "I32", c->windows_n * c->windows.L, e, "%s.src", c->name));
    oracle_compare_ints(o, t->name, c->source, t->data, t->elements_n);
    return 0;
}

/* Scores of up to ROWS windows from k on; appended to `score`. */
static int score_some(struct evaluation *v, const struct eval_case *c, int64_t k, int32_t rows,
                      float *score, int64_t *scored_n, struct err *e)
{
    int32_t L = c->windows.L;
    int32_t *position = arena_array(&v->o->arena, (size_t)rows * (size_t)L, sizeof *position);
    int64_t n = 0;
    for (int32_t row = 0; row < rows; row++)
        for (int32_t t = 0; t < c->scored[k + row]; t++)
            position[n++] = row * L + c->context[k + row] + t;
    struct model_batch batch = {
        .source = c->source + k * L, .target = c->target + k * L, .rows = rows, .length = L};
    TRY(model_score(v->model_own, &batch, position, n, score + *scored_n, e));
    *scored_n += n;
    return 0;
}

static int compare_scores(struct evaluation *v, const struct eval_case *c, struct err *e)
{
    struct oracle *o = v->o;
    const struct safetensors_entry *want = NULL;
    TRY(oracle_take(&want, o, "F32", v->stream.n, e, "%s.score", c->name));
    float *score = arena_array(&o->arena, (size_t)v->stream.n + 1, sizeof *score);
    int64_t scored_n = 0, targets_n = 0;
    for (int64_t k = 0; k < c->windows_n; k++) targets_n += c->scored[k];
    if (targets_n != v->stream.n)
        return ERR(e, ERR_DATA, "%s: the windows score %" PRId64 " of %" PRId64 " targets", c->name,
                   targets_n, v->stream.n);
    for (int64_t k = 0; k < c->windows_n; k += ROWS) {
        int32_t rows = c->windows_n - k < ROWS ? (int32_t)(c->windows_n - k) : ROWS;
        TRY(score_some(v, c, k, rows, score, &scored_n, e));
    }
    oracle_compare(o, ORACLE_LOGP, want->name, score, want->data, v->stream.n);

    double sum = 0.0, loss = 0.0, perplexity = 0.0;
    for (int64_t i = 0; i < v->stream.n; i++) sum += (double)score[i];
    TRY(oracle_number(&loss, o, e, "%s.loss_base2", c->name));
    TRY(oracle_number(&perplexity, o, e, "%s.ppl", c->name));
    double mean = -sum / (double)v->stream.n;
    /* A mean of log p is as near as they are; its exponential then is so in relation. */
    oracle_compare_number(o, ORACLE_LOGP, "loss", mean, loss * log(2.0));
    oracle_compare_number(o, ORACLE_LOGP, "perplexity", mean, log(perplexity));
    return 0;
}

static int check_case(struct evaluation *v, const char *name, size_t n, struct err *e)
{
    struct eval_case c = {0};
    int32_t L = 0, stride = 0;
    snprintf(c.name, sizeof c.name, "%.*s", (int)n, name);
    if (!parse_case(name, n, &L, &stride))
        return ERR(e, ERR_DATA, "case %s, expected a name such as L32_S16", c.name);
    TRY(cut_windows(v, &c, L, stride, e));
    TRY(compare_windows(v, &c, e));
    return compare_scores(v, &c, e);
}

/* The longest L of the cases. */
static int32_t longest_case(const struct safetensors *file)
{
    int32_t most = 1, L = 0, stride = 0;
    for (int32_t i = 0; i < safetensors_count(file); i++) {
        const char *name = safetensors_at(file, i)->name, *dot = strchr(name, '.');
        if (dot != NULL && parse_case(name, (size_t)(dot - name), &L, &stride) && L > most)
            most = L;
    }
    return most;
}

/* Lines cover the stream, and each ends with </s>. */
static int check_lines(struct evaluation *v, struct err *e)
{
    const struct safetensors_entry *t = NULL;
    if (!oracle_has(v->o, "sentence_lengths")) return 0;
    TRY(oracle_take(&t, v->o, "I32", -1, e, "sentence_lengths"));
    const int32_t *length = t->data, *ids = v->stream.ids;
    int64_t at = 0;
    for (int64_t i = 0; i < t->elements_n; i++) {
        at += length[i];
        if (length[i] < 1 || at > v->stream.n || ids[at - 1] != LINE_END) {
            oracle_fail(v->o, "line %" PRId64 " of the stream does not end with id 2", i);
            return 0;
        }
    }
    if (at != v->stream.n) oracle_fail(v->o, "the lines do not cover the stream");
    oracle_compare_ints(v->o, t->name, length, length, t->elements_n);
    return 0;
}

static int open_model(struct evaluation *v, struct err *e)
{
    struct oracle *o = v->o;
    struct spec spec, of_weights;
    TRY(oracle_weights_open(&v->weights_own, o, e));
    TRY(oracle_spec(&spec, o->file_own, e));
    TRY(oracle_spec(&of_weights, v->weights_own, e));
    if (spec.data.vocab != of_weights.data.vocab || spec.model.dim != of_weights.model.dim ||
        spec.model.layers != of_weights.model.layers || spec.model.heads != of_weights.model.heads)
        return ERR(e, ERR_DATA, "the weights are those of another model");
    int32_t longest = longest_case(o->file_own);
    struct model_options options = {
        .rows_max = ROWS, .length_max = longest, .scored_max = (int64_t)ROWS * longest};
    TRY(oracle_backend(o, e));
    TRY(model_open(&v->model_own, o->backend_own, &spec, &options, e));
    return oracle_load(v->model_own, v->weights_own, "w", NULL, e);
}

int oracle_evaluation(struct oracle *o, struct err *e)
{
    int rc = 0;
    struct evaluation v = {.o = o};
    const struct safetensors_entry *stream = NULL;
    TRY_OUT(rc, oracle_take(&stream, o, "I32", -1, e, "stream"));
    v.stream = (struct tokens){.n = stream->elements_n, .width = 4, .ids = stream->data};
    TRY_OUT(rc, check_lines(&v, e));
    TRY_OUT(rc, open_model(&v, e));
    for (int32_t i = 0; i < safetensors_count(o->file_own); i++) {
        const char *name = safetensors_at(o->file_own, i)->name;
        size_t n = strlen(name);
        if (n > 6 && strcmp(name + n - 6, ".score") == 0)
            TRY_OUT(rc, check_case(&v, name, n - 6, e));
    }
out:
    model_close(v.model_own);
    safetensors_close(v.weights_own);
    return rc;
}
