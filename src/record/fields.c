/* fields.c - the table, and what iterates over it. */
#include "record/fields.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#define ROW(T, t, kind, name, need, table, column, verified)                                       \
    {EVENT_##T, #name,   offsetof(struct record, t.name), RECORD_##kind, RECORD_##need, table,     \
     column,    verified},
#define ROWS(T, t) RECORD_##T(ROW, T, t)
const struct record_field record_fields[] = {RECORD_TYPES(ROWS)};
const int32_t record_fields_n = sizeof record_fields / sizeof *record_fields;

/* The first row of a type; NULL: there is no such type. */
static const struct record_field *fields_of(enum event_type type)
{
    for (int32_t i = 0; i < record_fields_n; i++)
        if (record_fields[i].type == type) return &record_fields[i];
    return NULL;
}

static bool is_field_of(const struct record_field *f, enum event_type type)
{
    return f < record_fields + record_fields_n && f->type == type;
}

struct record_value record_get(const struct record *r, const struct record_field *f)
{
    const char *at = (const char *)r + f->offset;
    struct record_value v = {.kind = f->kind};

    switch (f->kind) {
    case RECORD_INT:
        v.integer = *(const int64_t *)(const void *)at;
        v.known = v.integer != RECORD_NONE;
        break;
    case RECORD_REAL:
        v.real = *(const double *)(const void *)at;
        v.known = isfinite(v.real);
        break;
    case RECORD_TEXT:
        v.text = *(const char *const *)(const void *)at;
        v.known = v.text != NULL;
        break;
    case RECORD_BOOL:
        v.integer = *(const bool *)at;
        v.known = true;
        break;
    case RECORD_BINS:
        v.bins = (const struct record_bins *)(const void *)at;
        v.known = v.bins->n > 0;
        break;
    }
    return v;
}

static void record_set(struct record *r, const struct record_field *f, const struct record_value *v)
{
    char *at = (char *)r + f->offset;

    switch (f->kind) {
    case RECORD_INT:
        *(int64_t *)(void *)at = v->known ? v->integer : RECORD_NONE;
        break;
    case RECORD_REAL:
        *(double *)(void *)at = v->known ? v->real : (double)NAN;
        break;
    case RECORD_TEXT:
        *(const char **)(void *)at = v->known ? v->text : NULL;
        break;
    case RECORD_BOOL:
        *(bool *)at = v->known && v->integer;
        break;
    case RECORD_BINS:
        if (v->known)
            memcpy(at, v->bins, sizeof *v->bins);
        else
            ((struct record_bins *)(void *)at)->n = 0;
        break;
    }
}

/* --- writing -------------------------------------------------------------------------------- */

static json_t *json_text(const char *text)
{
    json_t *json = json_string(text);

    if (json) return json;
    char *ascii = strdup(text);
    if (!ascii) return NULL;
    for (char *c = ascii; *c; c++)
        if ((unsigned char)*c >= 0x80) *c = '?';
    json = json_string(ascii);
    free(ascii);
    return json;
}

static json_t *json_bins(const struct record_bins *bins)
{
    json_t *json = json_array();

    for (int32_t i = 0; i < bins->n; i++) {
        const struct record_bin *b = &bins->bin[i];
        json_t *row =
            json_pack("[I,I,I]", (json_int_t)b->first, (json_int_t)b->last, (json_int_t)b->targets);
        json_array_append_new(row, isfinite(b->nll) ? json_real(b->nll) : json_null());
        if (b->name) {
            bool known = b->hits != RECORD_NONE;
            json_array_append_new(row, known ? json_integer(b->hits) : json_null());
            json_array_append_new(row, json_text(b->name));
        }
        json_array_append_new(json, row);
    }
    return json;
}

static json_t *json_value(const struct record_value *v)
{
    if (!v->known) return json_null();
    switch (v->kind) {
    case RECORD_INT:
        return json_integer(v->integer);
    case RECORD_REAL:
        return json_real(v->real);
    case RECORD_TEXT:
        return json_text(v->text);
    case RECORD_BOOL:
        return json_boolean(v->integer);
    case RECORD_BINS:
        return json_bins(v->bins);
    }
    return NULL;
}

int record_write(struct event_writer *w, const struct record *r, struct err *e)
{
    json_t *json = json_object();

    for (const struct record_field *f = fields_of(r->type); f && is_field_of(f, r->type); f++) {
        struct record_value v = record_get(r, f);
        if (!v.known && f->kind != RECORD_REAL) continue; /* a number that is not finite is null */
        if (json_object_set_new(json, f->name, json_value(&v)) < 0) {
            json_decref(json);
            return ERR(e, ERR_NOMEM, "a record: no memory for its field %s", f->name);
        }
    }
    return event_write(w, r->type, json, e);
}

/* --- reading -------------------------------------------------------------------------------- */

static bool read_bins(struct record_bins *out, const json_t *json)
{
    size_t n = json_array_size(json); /* of another type: 0 */

    if (n == 0 || n > RECORD_BINS_MAX) return false;
    for (out->n = 0; out->n < (int32_t)n; out->n++) {
        const json_t *row = json_array_get(json, (size_t)out->n), *nll = json_array_get(row, 3),
                     *hits = json_array_get(row, 4);
        for (size_t i = 0; i < 3; i++)
            if (!json_is_integer(json_array_get(row, i))) return false;
        out->bin[out->n] = (struct record_bin){
            .first = json_integer_value(json_array_get(row, 0)),
            .last = json_integer_value(json_array_get(row, 1)),
            .targets = json_integer_value(json_array_get(row, 2)),
            .nll = json_is_number(nll) ? json_number_value(nll) : (double)NAN,
            .hits = json_is_integer(hits) ? json_integer_value(hits) : RECORD_NONE,
            .name = json_string_value(json_array_get(row, 5)),
        };
    }
    return true;
}

/* bins: room for a value of that kind. */
static struct record_value value_of(const json_t *json, enum record_kind kind,
                                    struct record_bins *bins)
{
    struct record_value v = {.kind = kind, .bins = bins};
    double real = json_number_value(json);

    if (kind == RECORD_REAL && json_is_number(json)) {
        v.real = real;
        v.known = true;
    } else if (kind == RECORD_INT && json_is_integer(json)) {
        v.integer = json_integer_value(json);
        v.known = true;
    } else if (kind == RECORD_INT && json_is_real(json) && real >= -9e15 && real <= 9e15 &&
               real == (double)(int64_t)real) {
        v.integer = (int64_t)real;
        v.known = true;
    } else if (kind == RECORD_TEXT && json_is_string(json)) {
        v.text = json_string_value(json);
        v.known = true;
    } else if (kind == RECORD_BOOL && json_is_boolean(json)) {
        v.integer = json_is_true(json);
        v.known = true;
    } else if (kind == RECORD_BINS) {
        v.known = read_bins(bins, json);
    }
    return v;
}

int record_read(struct record *out, const struct event *ev, struct err *e)
{
    const struct record_field *first = fields_of(ev->type);
    unsigned long long sequence = ev->sequence;
    struct record_bins bins;

    *out = (struct record){.type = ev->type};
    if (!first)
        return ERR(e, ERR_DATA, "record %llu has the unknown type %d", sequence, (int)ev->type);
    for (const struct record_field *f = first; is_field_of(f, ev->type); f++) {
        const json_t *json = json_object_get(ev->json, f->name);
        struct record_value v = value_of(json, f->kind, &bins);
        bool absent = !json || json_is_null(json);
        if (!v.known && (f->need == RECORD_REQUIRED || !absent))
            return ERR(e, ERR_DATA, "record %llu of type %d: %s is %s", sequence, (int)ev->type,
                       f->name, absent ? "missing" : "of another type");
        record_set(out, f, &v);
    }
    if (ev->type != EVENT_EVALUATED) return 0;
    struct record_value none = {0};
    for (const struct record_field *f = first; is_field_of(f, ev->type); f++) {
        if (f->need != RECORD_IF_FINITE) continue;
        /* A mean over the finite targets only would read like a perplexity. */
        if (out->evaluated.nonfinite > 0) record_set(out, f, &none);
        if (out->evaluated.nonfinite == 0 && !record_get(out, f).known)
            return ERR(e, ERR_DATA, "record %llu of type %d: %s is missing", sequence,
                       (int)ev->type, f->name);
    }
    return 0;
}

void record_copy(struct record *out, const struct record *r, struct arena *a)
{
    *out = *r;
    for (const struct record_field *f = fields_of(r->type); f && is_field_of(f, r->type); f++) {
        struct record_value v = record_get(r, f);
        struct record_bins *bins = (struct record_bins *)(void *)((char *)out + f->offset);
        for (int32_t i = 0; f->kind == RECORD_BINS && i < bins->n; i++)
            if (bins->bin[i].name) bins->bin[i].name = arena_strdup(a, bins->bin[i].name);
        if (f->kind != RECORD_TEXT || !v.known) continue;
        v.text = arena_strdup(a, v.text);
        record_set(out, f, &v);
    }
}

const char *record_run_id(const struct record *r)
{
    switch (r->type) {
    case EVENT_TRAINED:
        return r->trained.run_id;
    case EVENT_EVALUATED:
        return r->evaluated.run_id;
    case EVENT_BENCHED:
        return r->benched.run_id;
    case EVENT_HEAD:
        return r->head.run_id;
    case EVENT_ROLLOUT:
        return r->rollout.run_id;
    case EVENT_SOURCE:
        return r->source.run_id;
    default:
        return NULL;
    }
}

bool record_is_result(const struct record *r)
{
    return r->type == EVENT_TRAINED || r->type == EVENT_EVALUATED || r->type == EVENT_BENCHED;
}

/* --- values --------------------------------------------------------------------------------- */

static bool bins_equal(const struct record_bins *a, const struct record_bins *b)
{
    for (int32_t i = 0; a->n == b->n && i < a->n; i++) {
        const struct record_bin *x = &a->bin[i], *y = &b->bin[i];
        if (memcmp(x, y, offsetof(struct record_bin, name)) != 0 || !str_same(x->name, y->name))
            return false;
    }
    return a->n == b->n;
}

bool record_equal(const struct record_value *a, const struct record_value *b)
{
    if (a->kind != b->kind || a->known != b->known) return false;
    if (!a->known) return true;
    if (a->kind == RECORD_TEXT) return strcmp(a->text, b->text) == 0;
    if (a->kind == RECORD_BINS) return bins_equal(a->bins, b->bins);
    if (a->kind == RECORD_REAL) return memcmp(&a->real, &b->real, sizeof a->real) == 0;
    return a->integer == b->integer;
}

bool record_equals_cell(const struct record_value *v, const char *cell)
{
    double number;

    if (!v->known || !cell) return !v->known && !cell;
    if (v->kind == RECORD_TEXT) return strcmp(v->text, cell) == 0;
    if (!str_to_double(&number, cell)) return false;
    return number == (v->kind == RECORD_REAL ? v->real : (double)v->integer);
}

char *record_format(const struct record_value *v, struct arena *a)
{
    if (!v->known) return arena_strdup(a, "nothing");
    switch (v->kind) {
    case RECORD_INT:
        return arena_printf(a, "%lld", (long long)v->integer);
    case RECORD_REAL:
        return arena_printf(a, "%.17g", v->real);
    case RECORD_BOOL:
        return arena_strdup(a, v->integer ? "true" : "false");
    case RECORD_BINS:
        return arena_printf(a, "%d bins", v->bins->n);
    case RECORD_TEXT:
        break;
    }
    return arena_strdup(a, v->text);
}
