/* training_log.c - see interchange.h. A line is found by its tag; its numbers are in a JSON object
 * (`"loss": "5.2"`) or in text (`loss=5.2,` or `| loss 5.2 |`). */
#include "interchange/interchange.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/map.h"
#include "base/str.h"
#include "record/run_folder.h"

enum {
    LOG_BYTES_MAX = 256 << 20,
    LOG_LINE_MAX = 16 << 10,  /* of a line with a tag */
    LOG_POINTS_MAX = 1 << 20, /* of a curve */
    LOG_VALUE_BYTES = 40,
    LOG_UPDATES_MAX = 1000000000,
    LOG_CURVE_POINTS = 1000 /* training losses that are written, approximately */
};
static const double log_ln2 = 0.69314718055994530942;

enum log_kind { LOG_INNER, LOG_EPOCH, LOG_VALID };
static const struct {
    const char *tag, *prefix; /* prefix: of the names in JSON */
    enum log_kind kind;
} log_tags[] = {{"| train_inner | ", "train_inner_", LOG_INNER},
                {"| train | ", "train_", LOG_EPOCH},
                {"| valid | ", "valid_", LOG_VALID},
                {"| valid on 'valid' subset | ", "valid_", LOG_VALID}};

/* The file and the line that is being read. */
struct log_reader {
    const char *path;
    int64_t line; /* from 1 */
    struct arena *arena;
    struct training_log_curve inner, epoch, valid;
    char text[LOG_LINE_MAX + 1]; /* what follows the tag */
};

static int log_error(const struct log_reader *r, struct err *e, const char *problem)
{
    return ERR(e, ERR_DATA,
               "%s:%" PRId64 ": %s; expected a line of fairseq's --log-format json or simple",
               r->path, r->line, problem);
}

/* --- the numbers of a line ------------------------------------------------------------------- */

/* Copies the value that follows a name in text; false: the text has no such name. */
static bool text_value(char out[LOG_VALUE_BYTES], const char *text, const char *name)
{
    size_t n = strlen(name);

    for (const char *at = strstr(text, name); at; at = strstr(at + 1, name)) {
        bool begins = at == text || strchr(" ,|", at[-1]);
        if (!begins || (at[n] != '=' && at[n] != ' ')) continue;
        const char *value = at + n + 1 + strspn(at + n + 1, " ");
        size_t length = strcspn(value, " ,|:");
        if (length == 0 || length >= LOG_VALUE_BYTES) return false;
        memcpy(out, value, length);
        out[length] = '\0';
        return true;
    }
    return false;
}

/* Copies the value of a name in a JSON object, which fairseq writes as text. */
static bool json_value(char out[LOG_VALUE_BYTES], const json_t *object, const char *name)
{
    const json_t *v = json_object_get(object, name);

    if (json_is_string(v)) {
        if (json_string_length(v) >= LOG_VALUE_BYTES) return false;
        snprintf(out, LOG_VALUE_BYTES, "%s", json_string_value(v));
    } else if (json_is_number(v)) {
        snprintf(out, LOG_VALUE_BYTES, "%.17g", json_number_value(v));
    }
    return json_is_string(v) || json_is_number(v);
}

/* Reads a number. NaN: the line does not have it, or it is not finite. Errors: not a number. */
static int line_number(double *out, const struct log_reader *r, const json_t *object,
                       const char *prefix, const char *name, struct err *e)
{
    static const char *const unknown[] = {"nan", "inf", "-inf", "None"};
    char value[LOG_VALUE_BYTES], full[LOG_VALUE_BYTES], problem[LOG_VALUE_BYTES + 64];

    *out = (double)NAN;
    snprintf(full, sizeof full, "%s%s", prefix, name);
    bool has = object ? json_value(value, object, full) || json_value(value, object, name)
                      : text_value(value, r->text, name);
    for (size_t i = 0; has && i < sizeof unknown / sizeof *unknown; i++)
        if (strcmp(value, unknown[i]) == 0) return 0;
    if (!has || str_to_double(out, value)) return 0;
    snprintf(problem, sizeof problem, "%s '%s' is not a number", name, value);
    return log_error(r, e, problem);
}

static int read_numbers(struct training_log_point *out, const struct log_reader *r,
                        const json_t *object, const char *prefix, struct err *e)
{
    double update, loss, ppl, epoch;
    char problem[120];

    TRY(line_number(&update, r, object, prefix, "num_updates", e));
    TRY(line_number(&loss, r, object, prefix, "loss", e));
    TRY(line_number(&ppl, r, object, prefix, "ppl", e));
    TRY(line_number(&out->lr, r, object, prefix, "lr", e));
    TRY(line_number(&out->grad_norm, r, object, prefix, "gnorm", e));
    TRY(line_number(&epoch, r, object, prefix, "epoch", e));
    if (!(update >= 1 && update <= LOG_UPDATES_MAX && update == floor(update)))
        return log_error(r, e, "num_updates is missing or is not the number of an update");
    if (!isfinite(loss) && !isfinite(ppl)) loss = ppl = (double)NAN;
    if (isfinite(loss) && loss < 0) return log_error(r, e, "the loss is negative");
    /* Both are rounded: the loss to 3 digits, the perplexity to 2. */
    if (isfinite(loss) && isfinite(ppl) && fabs(exp2(loss) - ppl) > 0.01 * ppl + 0.01) {
        snprintf(problem, sizeof problem,
                 "ppl %g is not 2^loss (loss %g), so the loss is not in bits", ppl, loss);
        return log_error(r, e, problem);
    }
    out->update = (int64_t)update;
    out->loss_nats = loss * log_ln2;
    out->perplexity = exp(out->loss_nats);
    out->epoch = epoch >= 1 && epoch <= 1e9 ? (int32_t)epoch : 0;
    return 0;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* A resumed training repeats updates. */
static int add_point(struct log_reader *r, struct training_log_curve *curve,
                     const struct training_log_point *p, struct err *e)
{
    while (curve->n > 0 && curve->item[curve->n - 1].update >= p->update) curve->n--;
    if (curve->n == LOG_POINTS_MAX) return log_error(r, e, "more than a million losses");
    *vec_push(r->arena, curve) = *p;
    return 0;
}

static int read_line(struct log_reader *r, const char *line, size_t n, struct err *e)
{
    struct training_log_point p = {0};
    json_t *object = NULL;
    const char *at = NULL;
    size_t i = 0;

    for (; !at && i < sizeof log_tags / sizeof *log_tags; i++)
        at = memmem(line, n, log_tags[i].tag, strlen(log_tags[i].tag));
    if (!at) return 0;
    if (n > LOG_LINE_MAX) return log_error(r, e, "the line is longer than 16 KiB");
    if (memchr(line, '\0', n)) return log_error(r, e, "the line contains a zero byte");
    at += strlen(log_tags[i - 1].tag);
    size_t length = (size_t)(line + n - at);
    memcpy(r->text, at, length);
    r->text[length] = '\0';
    if (r->text[0] == '{') {
        object = json_loads(r->text, JSON_REJECT_DUPLICATES, NULL);
        if (!object) return log_error(r, e, "not a JSON object");
    }
    int rc = read_numbers(&p, r, object, log_tags[i - 1].prefix, e);
    json_decref(object);
    TRY(rc);
    struct training_log_curve *curve = log_tags[i - 1].kind == LOG_INNER   ? &r->inner
                                       : log_tags[i - 1].kind == LOG_EPOCH ? &r->epoch
                                                                           : &r->valid;
    return add_point(r, curve, &p, e);
}

/* Finds the option tokens_per_sample, which fairseq prints first, as Python writes it; 0: none. */
static int32_t find_length(const char *text, size_t n)
{
    static const char name[] = "tokens_per_sample";
    char value[12] = "";
    size_t length = 0;
    const char *at = memmem(text, n, name, strlen(name)), *end = text + n;

    if (!at) return 0;
    at += strlen(name);
    while (at < end && memchr("'\": =", *at, 5)) at++;
    while (at + length < end && length < 7 && at[length] >= '0' && at[length] <= '9') {
        value[length] = at[length];
        length++;
    }
    return (int32_t)strtol(value, NULL, 10);
}

static void mark_best(struct training_log_curve *valid)
{
    double best = (double)INFINITY;

    for (int32_t i = 0; i < valid->n; i++) {
        valid->item[i].best = valid->item[i].loss_nats < best;
        if (valid->item[i].best) best = valid->item[i].loss_nats;
    }
}

static int read_lines(struct log_reader *r, const char *text, size_t n, struct err *e)
{
    for (const char *end = text + n, *next; text < end; text = next) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        next = newline ? newline + 1 : end;
        r->line++;
        TRY(read_line(r, text, (size_t)((newline ? newline : end) - text), e));
    }
    return 0;
}

int training_log_read(struct training_log *out, struct arena *a, const char *path, struct err *e)
{
    struct log_reader *r = arena_alloc(a, sizeof *r);
    struct file_map map;

    *r = (struct log_reader){.path = path, .arena = a};
    *out = (struct training_log){.path = path};
    TRY(file_map_open(&map, path, e));
    int rc = 0;
    if (map.n > LOG_BYTES_MAX)
        rc = ERR(e, ERR_DATA, "%s: %zu bytes, more than the %d of a training log", path, map.n,
                 LOG_BYTES_MAX);
    else if (map.n > 0) {
        rc = read_lines(r, map.data, map.n, e);
        out->L = find_length(map.data, map.n);
    }
    file_map_close(&map);
    TRY(rc);
    out->train = r->inner.n ? r->inner : r->epoch;
    out->valid = r->valid;
    mark_best(&out->valid);
    if (out->train.n + out->valid.n > 0) return 0;
    return ERR(e, ERR_DATA,
               "%s: not a training log of fairseq: no line with | train_inner |, | train | or "
               "| valid |",
               path);
}

int training_log_check(const struct training_log *log, const struct spec *s, struct err *e)
{
    const struct training_log_curve *curves[] = {&log->train, &log->valid};

    if (log->L && log->L != s->train.L)
        return ERR(e, ERR_DATA, "%s: trained with tokens_per_sample=%d, expected %d", log->path,
                   log->L, s->train.L);
    for (int i = 0; i < 2; i++) {
        int64_t last = curves[i]->n ? curves[i]->item[curves[i]->n - 1].update : 0;
        if (last > s->train.updates)
            return ERR(e, ERR_DATA, "%s: update %" PRId64 " of a training of %d updates", log->path,
                       last, s->train.updates);
    }
    return 0;
}

/* --- records ---------------------------------------------------------------------------------- */

static int write_point(struct event_writer *events, const struct training_log_point *p, bool valid,
                       struct err *e)
{
    const struct record step = {.type = EVENT_STEP,
                                .step = {.update = p->update,
                                         .loss_nats = p->loss_nats,
                                         .lr = p->lr,
                                         .grad_norm = p->grad_norm}};
    const struct record validation = {.type = EVENT_VALIDATION,
                                      .validation = {.update = p->update,
                                                     .epoch = p->epoch ? p->epoch : RECORD_NONE,
                                                     .loss_nats = p->loss_nats,
                                                     .perplexity = p->perplexity,
                                                     .best = p->best}};
    return record_write(events, valid ? &validation : &step, e);
}

static int write_curves(struct event_writer *events, const struct training_log *log,
                        const struct spec *s, struct err *e)
{
    const struct record ended = {.type = EVENT_ENDED,
                                 .ended = {.state = "cancelled",
                                           .code = err_name(0),
                                           .message = "imported log",
                                           .rank = RECORD_NONE}};
    int64_t width = (s->train.updates + LOG_CURVE_POINTS - 1) / LOG_CURVE_POINTS, group = -1;

    for (int32_t i = 0; i < log->train.n; i++) {
        const struct training_log_point *p = &log->train.item[i];
        if ((p->update - 1) / width == group && i < log->train.n - 1) continue;
        group = (p->update - 1) / width;
        TRY(write_point(events, p, false, e));
    }
    for (int32_t i = 0; i < log->valid.n; i++)
        TRY(write_point(events, &log->valid.item[i], true, e));
    TRY(record_write(events, &ended, e));
    return event_sync(events, e);
}

int training_log_write(const struct training_log *log, const struct spec *s, const char *dir,
                       struct err *e)
{
    struct event_writer *events = NULL;
    int rc = import_begin(&events, dir, s, e);

    if (rc == 0) rc = write_curves(events, log, s, e);
    event_writer_close(events);
    return rc;
}
