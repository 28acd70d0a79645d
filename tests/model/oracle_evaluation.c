/* oracle_evaluation.c - eval files: windows of every case L<L>_S<S>, and the score of each target
 * of the stream. Weights are those of another file beside it. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "data/tokens.h"
#include "data/windows.h"
#include "model/oracle.h"

enum { LINE_END = 2, ROWS = 16 };

/* Windows of one case as arrays that the file also has. */
struct eval_case {
    const char *name; /* such as L32_S16 */
    struct windows windows;
    int64_t windows_n;
    int32_t *context, *scored, *source; /* (windows), (windows), (windows, L) */
    int32_t *target;                    /* (windows, L) */
};

/* L and S of "L<L>_S<S>". */
static void parse_case(struct oracle *o, const char *name, int32_t *L, int32_t *stride)
{
    int used = 0;
    if (sscanf(name, "L%d_S%d%n", L, stride, &used) != 2 || name[used] != '\0' || *L < 1)
        oracle_reject(o, "case %s, expected a name such as L32_S16", name);
}

static struct eval_case cut_windows(struct oracle *o, const struct tokens *stream, const char *name)
{
    struct eval_case c = {.name = name};
    int32_t L = 0, stride = 0;
    parse_case(o, name, &L, &stride);
    oracle_must(o, windows_make(&c.windows, stream, WINDOWS_STRIDE, L, stride, 0, &o->e));
    c.windows_n = c.windows.windows_n;
    int64_t cells = c.windows_n * L;
    c.context = oracle_int_array(o, c.windows_n);
    c.scored = oracle_int_array(o, c.windows_n);
    c.source = oracle_int_array(o, cells);
    c.target = oracle_int_array(o, cells);
    for (int64_t k = 0; k < c.windows_n; k++) {
        struct window w = {0};
        (void)windows_next(&c.windows, &w);
        c.context[k] = w.scored_from;
        c.scored[k] = w.length - w.scored_from;
        tokens_read_row(stream, w.first, w.length, L, c.source + k * L, c.target + k * L);
    }
    oracle_check_ints(o, c.context, c.windows_n, oracle_name(o, "%s.ctx", name));
    oracle_check_ints(o, c.scored, c.windows_n, oracle_name(o, "%s.scored", name));
    oracle_check_ints(o, c.source, cells, oracle_name(o, "%s.src", name));
    return c;
}

/* Scores of up to ROWS windows from k on; returns their number. */
static int64_t score_some(struct oracle *o, const struct eval_case *c, int64_t k, float *score)
{
    int32_t L = c->windows.L;
    int32_t rows = c->windows_n - k < ROWS ? (int32_t)(c->windows_n - k) : ROWS;
    int32_t *position = oracle_int_array(o, (int64_t)rows * L);
    int64_t n = 0;
    for (int32_t row = 0; row < rows; row++)
        for (int32_t t = 0; t < c->scored[k + row]; t++)
            position[n++] = row * L + c->context[k + row] + t;
    const struct model_batch batch = {
        .source = c->source + k * L, .target = c->target + k * L, .rows = rows, .length = L};
    oracle_must(o, model_score(o->model_own, &batch, position, n, score, &o->e));
    return n;
}

static void check_scores(struct oracle *o, const struct eval_case *c, int64_t n)
{
    float *score = oracle_array(o, n + 1);
    int64_t scored_n = 0, targets_n = 0;
    for (int64_t k = 0; k < c->windows_n; k++) targets_n += c->scored[k];
    if (targets_n != n)
        oracle_reject(o, "%s: the windows score %" PRId64 " of %" PRId64 " targets", c->name,
                      targets_n, n);
    for (int64_t k = 0; k < c->windows_n; k += ROWS)
        scored_n += score_some(o, c, k, score + scored_n);
    oracle_check(o, ORACLE_LOGP, score, n, oracle_name(o, "%s.score", c->name));

    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += (double)score[i];
    double loss = oracle_number(o, oracle_name(o, "%s.loss_base2", c->name));
    double perplexity = oracle_number(o, oracle_name(o, "%s.ppl", c->name));
    double mean = -sum / (double)n;
    /* A mean of log p is as near as they are; its exponential then is so in relation. */
    oracle_compare_number(o, ORACLE_LOGP, "loss", mean, loss * log(2.0));
    oracle_compare_number(o, ORACLE_LOGP, "perplexity", mean, log(perplexity));
}

/* Lines cover the stream, and each ends with </s>. */
static void check_lines(struct oracle *o, const struct tokens *stream)
{
    if (!oracle_has(o, "sentence_lengths")) return;
    const struct safetensors_entry *t = oracle_take(o, "I32", -1, "sentence_lengths");
    const int32_t *length = t->data, *ids = stream->ids;
    int64_t at = 0;
    for (int64_t i = 0; i < t->elements_n; i++) {
        at += length[i];
        if (length[i] >= 1 && at <= stream->n && ids[at - 1] == LINE_END) continue;
        oracle_fail(o, "line %" PRId64 " of the stream does not end with id 2", i);
        return;
    }
    if (at != stream->n) oracle_fail(o, "the lines do not cover the stream");
    oracle_check_ints(o, length, t->elements_n, t->name);
}

/* For windows of the longest case. */
static void open_model(struct oracle *o)
{
    struct spec spec;
    struct shape_capacity options = {.rows_max = ROWS, .length_max = 1};
    const char *name;
    for (int32_t i = 0; (name = oracle_next(o, &i, ".score"));) {
        int32_t L = 0, stride = 0;
        parse_case(o, name, &L, &stride);
        if (L > options.length_max) options.length_max = L;
    }
    options.scored_max = (int64_t)ROWS * options.length_max;
    oracle_spec(o, &spec, o->file_own);
    oracle_model_open(o, &spec, &options);
    oracle_load_weights(o, &spec);
}

void oracle_evaluation(struct oracle *o)
{
    const struct safetensors_entry *t = oracle_take(o, "I32", -1, "stream");
    const struct tokens stream = {
        .n = t->elements_n, .width = 4, .ids = t->data, .prefix = TOKEN_LINE_END, .pad = TOKEN_PAD};
    const char *name;
    check_lines(o, &stream);
    open_model(o);
    for (int32_t i = 0; (name = oracle_next(o, &i, ".score"));) {
        const struct eval_case c = cut_windows(o, &stream, name);
        check_scores(o, &c, stream.n);
    }
}
