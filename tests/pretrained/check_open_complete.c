/* check_open_complete.c - comparison with a fixture of kind complete: from text.txt to the ids,
 * counts and scores of expected.json, under each of its protocols. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "prepare/documents.h"
#include "pretrained/check_open.h"
#include "worker/score.h"

/* Tolerance of section 10 on NLL, and on the logarithms of the measures, which are shares of it. */
#define TOLERANCE 1e-5
#define TEXT "tests/fixtures/open/text.txt"
#define BEGINNING_SCORED ", beginning token scored"

struct comparison {
    struct arena arena;
    struct pretrained *pretrained_own;
    struct tokenizer *tokenizer_own;
    struct backend *backend_own;
    bool streamed;
    const char *text;
    size_t bytes;
    int64_t words;
    json_t *expected_own;
    double largest; /* relative difference of a NLL or a measure */
    int32_t runs_n;
};

static const json_t *get_value(const json_t *o, const char *key)
{
    return json_object_get(o, key);
}

static int check_count(const json_t *o, const char *key, int64_t got, struct err *e)
{
    if (json_is_integer(get_value(o, key)) && json_integer_value(get_value(o, key)) == got)
        return 0;
    return ERR(e, ERR_DATA, "%s is %lld, expected %lld", key, (long long)got,
               (long long)json_integer_value(get_value(o, key)));
}

/* --- the text ------------------------------------------------------------------------------- */

/* The ids of the text as one document. */
static int read_tokens(struct tokens *t, struct comparison *c, bool with_special, struct err *e)
{
    int32_t *ids;
    int64_t n;

    TRY(tokenizer_encode(c->tokenizer_own, c->text, c->bytes, with_special, &ids, &n, NULL, NULL,
                         e));
    int32_t *kept = arena_array(&c->arena, (size_t)n + 1, sizeof *kept);
    if (n > 0) memcpy(kept, ids, (size_t)n * sizeof *ids);
    free(ids);
    *t = (struct tokens){.n = n,
                         .width = 4,
                         .ids = kept,
                         .prefix = tokenizer_facts(c->tokenizer_own)->prefix,
                         .pad = -1};
    return 0;
}

static int check_text(struct comparison *c, const struct tokens *t, struct err *e)
{
    const json_t *ids = get_value(c->expected_own, "ids");

    TRY(check_count(c->expected_own, "text_bytes", (int64_t)c->bytes, e));
    TRY(check_count(c->expected_own, "text_words", c->words, e));
    TRY(check_count(c->expected_own, "tokens", t->n, e));
    TRY(check_count(c->expected_own, "prefix", t->prefix, e));
    if ((int64_t)json_array_size(ids) != t->n) return ERR(e, ERR_DATA, "ids has another length");
    for (int64_t i = 0; i < t->n; i++)
        if (json_integer_value(json_array_get(ids, (size_t)i)) != ((const int32_t *)t->ids)[i])
            return ERR(e, ERR_DATA, "id %lld differs", (long long)i);
    return 0;
}

/* --- a protocol ----------------------------------------------------------------------------- */

/* The sum of -log p over the windows, as an evaluation adds it up. */
static int score_windows(double *nll, struct comparison *c, const struct windows *w, struct err *e)
{
    const struct spec *s = &pretrained_facts(c->pretrained_own)->spec;
    struct shape_capacity capacity;
    struct model *m = NULL;
    struct scores scores;
    int rc = 0;

    shape_capacity_scores(&capacity, w->L, w->stride, 1, SPEC_FP32);
    capacity.streamed = c->streamed;
    *nll = 0;
    TRY(model_open(&m, c->backend_own, s, &capacity, e));
    rc = check_open_load(m, c->pretrained_own, c->streamed, e);
    const struct score_options o = {
        .model = m, .rows = capacity.rows_max, .windows = *w, .width = s->model.dim};
    scores_open(&scores, &o);
    while (rc == 0 && scores.rows_left > 0) {
        rc = scores_next(&scores, e);
        for (int64_t i = 0; rc == 0 && i < scores.n; i++) *nll -= (double)scores.item[i].logp;
    }
    scores_close(&scores);
    model_close(m);
    return rc;
}

/* Compares a number, or the logarithm of one that is the exponential of a mean. */
static int compare_number(struct comparison *c, const json_t *run, const char *key, double got,
                          bool is_log, struct err *e)
{
    if (!json_is_number(get_value(run, key)))
        return ERR(e, ERR_DATA, "a run has no number %s", key);
    double want = json_number_value(get_value(run, key));
    if (is_log) want = log(want);
    double difference = fabs(got - want) / fabs(want);
    if (!(difference <= c->largest)) c->largest = difference;
    return 0;
}

static int compare_measures(struct comparison *c, const json_t *run, double nll, int64_t n,
                            struct err *e)
{
    double bits = nll / log(2.0);

    TRY(compare_number(c, run, "nll", nll, false, e));
    TRY(compare_number(c, run, "perplexity", nll / (double)n, true, e));
    TRY(compare_number(c, run, "bits_per_token", bits / (double)n, false, e));
    TRY(compare_number(c, run, "bits_per_byte", bits / (double)c->bytes, false, e));
    TRY(compare_number(c, run, "byte_perplexity", nll / (double)c->bytes, true, e));
    return compare_number(c, run, "word_perplexity", nll / (double)c->words, true, e);
}

static int compare_run(struct comparison *c, const json_t *run, struct err *e)
{
    const char *protocol = json_string_value(get_value(run, "protocol"));
    int64_t L = json_integer_value(get_value(run, "L")),
            stride = json_integer_value(get_value(run, "stride"));
    struct windows w;
    struct tokens t;
    double nll;

    if (!protocol || L < 1 || L > INT32_MAX) return ERR(e, ERR_DATA, "a run has no protocol or L");
    size_t n = strcspn(protocol, ",");
    bool rolling = n == 7 && strncmp(protocol, "rolling", n) == 0;
    bool scored = strcmp(protocol + n, BEGINNING_SCORED) == 0;
    bool known = rolling || (n == 7 && strncmp(protocol, "sliding", n) == 0) ||
                 (n == 14 && strncmp(protocol, "nonoverlapping", n) == 0);
    if (!known || (protocol[n] && !scored))
        return ERR(e, ERR_DATA, "protocol %.60s is not known", protocol);
    if (rolling) stride = L;
    TRY(read_tokens(&t, c, scored, e));
    TRY(windows_make(&w, &t, rolling ? WINDOWS_ROLLING : WINDOWS_STRIDE, (int32_t)L,
                     (int32_t)stride, 0, e));
    TRY(check_count(run, "windows", w.windows_n, e));
    TRY(check_count(get_value(run, "tokens") ? run : c->expected_own, "tokens", t.n, e));
    TRY(score_windows(&nll, c, &w, e));
    c->runs_n++;
    return compare_measures(c, run, nll, t.n, e);
}

/* --- a folder ------------------------------------------------------------------------------- */

static int compare_folder(struct comparison *c, const char *folder, const char *device,
                          struct err *e)
{
    const char *path = arena_printf(&c->arena, "%s/expected.json", folder);
    struct tokens t;
    json_error_t problem;
    const json_t *run;
    size_t i;

    c->expected_own = json_load_file(path, 0, &problem);
    if (!c->expected_own) return ERR(e, ERR_DATA, "%s: %s", path, problem.text);
    char *text;
    TRY(file_read(&c->arena, &text, &c->bytes, TEXT, 1 << 30, e));
    c->text = text;
    c->words = documents_words(c->text, c->bytes);
    TRY(pretrained_open(&c->pretrained_own, folder, e));
    TRY(tokenizer_open(&c->tokenizer_own, folder,
                       pretrained_facts(c->pretrained_own)->spec.data.vocab, e));
    TRY(backend_open(&c->backend_own, device, 1, DTYPE_F32, e));
    c->streamed = strstr(device, "cpu") != NULL;
    TRY(read_tokens(&t, c, false, e));
    TRY(check_text(c, &t, e));
    json_array_foreach(get_value(c->expected_own, "runs"), i, run) TRY(compare_run(c, run, e));
    return c->runs_n > 0 ? 0 : ERR(e, ERR_DATA, "%s has no runs", path);
}

int check_open_complete(const char *folder, const char *device, char line[CHECK_OPEN_LINE_BYTES])
{
    struct comparison c = {.runs_n = 0};
    struct err e = {0};

    arena_init(&c.arena);
    bool holds = compare_folder(&c, folder, device, &e) == 0;
    bool close = c.largest <= TOLERANCE;
    snprintf(line, CHECK_OPEN_LINE_BYTES,
             "%.400s: %s (%d protocols, nll and measures %.1e%s)%s%.500s", folder,
             holds && close ? "ok" : "FAIL", c.runs_n, c.largest, close ? "" : " TOO LARGE",
             holds ? "" : " ", e.text);
    backend_close(c.backend_own);
    tokenizer_close(c.tokenizer_own);
    pretrained_close(c.pretrained_own);
    json_decref(c.expected_own);
    arena_fini(&c.arena);
    return holds && close ? 0 : -1;
}
