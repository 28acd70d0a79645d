/* again.c - a temporary attempt, then two event files side by side. */
#include "worker/verify.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dir.h"
#include "base/file.h"
#include "base/str.h"
#include "record/event.h"
#include "worker/worker.h"

enum { AGAIN_SPEC_BYTES_MAX = 4 << 20 };

/* No checkpoint by the clock: only where the training itself wants one. */
static const double again_checkpoint_s = 1e15;

struct again {
    const struct project *project;
    const struct again_options *options;
    struct verify_report *result;
    struct arena arena;
    struct spec spec;
    const char *temporary; /* a folder, removed at the end */
    const char *dir;       /* of the temporary attempt, in it */
    json_t *record; /* of the temporary attempt: type -> update (0 where there is none) -> fields */
    json_t *started; /* its first record */
};

/* What is compared of a record, by type; the first field that is not "update" must be there. */
static const struct {
    enum event_type type;
    const char *what, *field[5];
} again_types[] = {
    {EVENT_STEP, "update", {"loss_nats", "lr", "grad_norm"}},
    {EVENT_VALIDATION, "validation after update", {"loss_nats", "perplexity", "best"}},
    {EVENT_CHECKPOINT, "checkpoint of update", {"sha256"}},
    {EVENT_EVALUATED,
     "evaluation",
     {"loss_nats", "perplexity", "tokens", "nonfinite", "checkpoint_sha256"}},
};

/* --- doing it again ------------------------------------------------------------------------- */

/* The spec of the run, from the file of the attempt that made it. */
static int again_find_spec(struct again *x, struct err *e)
{
    const char *path = arena_printf(&x->arena, "%s/spec", x->options->dir);
    char *text, id[SPEC_ID_BYTES];
    struct spec *list;
    int32_t n;

    TRY(file_read(&x->arena, &text, NULL, path, AGAIN_SPEC_BYTES_MAX, e));
    TRY(spec_parse_list(&list, &n, text, path, &x->arena, e));
    for (int32_t i = 0; i < n; i++) {
        spec_run_id(&list[i], id);
        if (strcmp(id, x->options->run_id) != 0) continue;
        x->spec = list[i];
        return 0;
    }
    return ERR(e, ERR_DATA, "%s: is no specification of run %s", path, x->options->run_id);
}

/* The first record of a type of an attempt, in the caller's hands; NULL where there is none. */
static int again_read_one(json_t **out, struct again *x, const char *dir, enum event_type type,
                          struct err *e)
{
    struct event_reader *reader = NULL;
    struct event record;
    int rc;

    *out = NULL;
    TRY(event_reader_open(&reader, arena_printf(&x->arena, "%s/events", dir), e));
    while ((rc = event_read(reader, &record, e)) == 1 && !*out)
        if (record.type == type) *out = json_incref(record.json);
    event_reader_close(reader);
    return rc < 0 ? rc : 0;
}

static const char *again_text(const json_t *json, const char *key)
{
    const char *text = json_string_value(json_object_get(json, key));
    return text ? text : "";
}

/* Its name is no number, so that the worker sees no older attempts to go on from. */
static int again_make_folder(struct again *x, struct err *e)
{
    const char *runs = arena_printf(&x->arena, "%s/runs", x->project->root);
    char *parent = arena_printf(&x->arena, "%s/.verify-XXXXXX", runs);
    const char *text = spec_text(&x->spec, &x->arena);

    TRY(file_make_dirs(runs, e));
    if (!mkdtemp(parent)) return ERR(e, ERR_CREATE, "%s: no folder can be made in it", runs);
    x->temporary = parent;
    x->dir = arena_printf(&x->arena, "%s/again", parent);
    TRY(file_make_dirs(x->dir, e));
    return file_write_atomic(arena_printf(&x->arena, "%s/spec", x->dir), text, strlen(text), e);
}

static int again_work(struct again *x, const json_t *recorded, struct err *e)
{
    bool training = x->spec.kind == SPEC_TRAIN;
    json_t *ended = NULL;

    /* A device that measures which algorithm is the fastest may choose another one today. */
    TRY(again_read_one(&ended, x, x->options->dir, EVENT_ENDED, e));
    const char *choices = arena_strdup(&x->arena, again_text(ended, "choices"));
    json_decref(ended);
    const struct worker_options o = {
        .dir = x->dir,
        .device = again_text(recorded, "backend"),
        .threads = (int)json_integer_value(json_object_get(recorded, "threads")),
        .choices = choices,
        .checkpoint_s = again_checkpoint_s,
        .stop_after = training ? x->result->updates : 0};
    struct err why = {0};
    int rc = worker_run(x->project, &o, &why);

    x->result->ran = true;
    if (rc == 0) return 0;
    if (rc == ERR_UNAVAILABLE || rc == ERR_NOINPUT) {
        x->result->ran = false;
        snprintf(x->result->why, sizeof x->result->why, "%.290s", why.text);
        return 0;
    }
    /* A training that diverged diverges again, which the records show. */
    if (rc == ERR_NUMBER) return 0;
    if (rc == ERR_INTERRUPTED && training) return 0; /* at the update asked for, or by the user */
    return ERR(e, rc, "%s", why.text);
}

/* --- its records ---------------------------------------------------------------------------- */

static const char *again_key(struct again *x, const struct event *ev)
{
    int64_t update = json_integer_value(json_object_get(ev->json, "update"));
    return arena_printf(&x->arena, "%d %" PRId64, (int)ev->type, update);
}

/* Keeps every record; returns how many updates were done. */
static int again_read(struct again *x, int64_t *updates, struct err *e)
{
    struct event_reader *reader = NULL;
    struct event record;
    int rc = 0;

    *updates = 0;
    x->record = json_object();
    TRY(event_reader_open(&reader, arena_printf(&x->arena, "%s/events", x->dir), e));
    while ((rc = event_read(reader, &record, e)) == 1) {
        json_object_set(x->record, again_key(x, &record), record.json);
        *updates += record.type == EVENT_STEP;
    }
    event_reader_close(reader);
    return rc;
}

/* --- side by side --------------------------------------------------------------------------- */

static void verify_note_difference(struct again *x, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void verify_note_difference(struct again *x, const char *format, ...)
{
    va_list args;

    if (x->result->differ_n++ > 0) return;
    va_start(args, format);
    vsnprintf(x->result->why, sizeof x->result->why, format, args);
    va_end(args);
}

static const char *again_show(struct again *x, const json_t *value)
{
    if (json_is_string(value)) return arena_printf(&x->arena, "%.12s…", json_string_value(value));
    if (json_is_real(value)) return arena_printf(&x->arena, "%.17g", json_real_value(value));
    if (json_is_integer(value)) return arena_printf(&x->arena, "%lld", json_integer_value(value));
    return json_is_true(value) ? "true" : json_is_false(value) ? "false" : "nothing";
}

/* A record of the attempt against ours of the same type and update. */
static void again_compare(struct again *x, const struct event *ev, size_t type)
{
    const json_t *mine = json_object_get(x->record, again_key(x, ev));

    if (!mine) return;
    x->result->compared_n++;
    x->result->hashes_n += ev->type == EVENT_CHECKPOINT;
    for (size_t k = 0; k < 5 && again_types[type].field[k]; k++) {
        const char *name = again_types[type].field[k];
        const json_t *theirs = json_object_get(ev->json, name), *ours = json_object_get(mine, name);
        if (theirs == ours || (theirs && ours && json_equal(theirs, ours))) continue;
        verify_note_difference(x, "%s %lld: %s is %s, on record %s", again_types[type].what,
                               (long long)json_integer_value(json_object_get(ev->json, "update")),
                               name, again_show(x, ours), again_show(x, theirs));
        return;
    }
}

static void again_compare_makers(struct again *x, const json_t *theirs)
{
    static const char *const names[] = {"code_id", "device", "blas"};
    struct strbuf text;

    strbuf_init(&text, &x->arena);
    strbuf_add(&text, x->result->maker);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *a = again_text(theirs, names[i]), *b = again_text(x->started, names[i]);
        if (strcmp(a, b) == 0) continue;
        x->result->same_maker = false;
        if (text.n == 0) strbuf_addf(&text, "%s %s there, %s here", names[i], a, b);
    }
    snprintf(x->result->maker, sizeof x->result->maker, "%.290s", text.text);
}

/* The records of one attempt. seen: which of the updates they had. */
static int again_compare_attempt(struct again *x, const char *dir, bool *seen, struct err *e)
{
    struct event_reader *reader = NULL;
    struct event record;
    int rc = 0;

    TRY(event_reader_open(&reader, arena_printf(&x->arena, "%s/events", dir), e));
    while ((rc = event_read(reader, &record, e)) == 1) {
        const char *run = json_string_value(json_object_get(record.json, "run_id"));
        int64_t update = json_integer_value(json_object_get(record.json, "update"));
        if (record.type == EVENT_STARTED) again_compare_makers(x, record.json);
        if (record.type == EVENT_EVALUATED && (!run || strcmp(run, x->options->run_id) != 0))
            continue;
        if (record.type == EVENT_STEP && update >= 1 && update <= x->result->updates)
            seen[update] = true;
        for (size_t i = 0; i < sizeof again_types / sizeof *again_types; i++)
            if (again_types[i].type == record.type) again_compare(x, &record, i);
    }
    event_reader_close(reader);
    return rc;
}

/* The attempts that made a training: up to the given one, from the newest that began again. */
static int again_compare_training(struct again *x, bool *seen, struct err *e)
{
    char *run_dir = arena_strdup(&x->arena, x->options->dir), *slash = strrchr(run_dir, '/');
    int64_t number = 0, first;

    if (!slash || !str_to_int(&number, slash + 1) || number < 1)
        return again_compare_attempt(x, x->options->dir, seen, e);
    *slash = '\0';
    for (first = number; first > 1; first--)
        if (file_exists(arena_printf(&x->arena, "%s/%" PRId64 "/fresh", run_dir, first))) break;
    for (int64_t i = first; i <= number; i++)
        TRY(again_compare_attempt(x, arena_printf(&x->arena, "%s/%" PRId64, run_dir, i), seen, e));
    return 0;
}

static int again_compare_all(struct again *x, struct err *e)
{
    bool *seen = arena_array(&x->arena, (size_t)x->result->updates + 1, sizeof *seen);

    x->result->same_maker = true;
    TRY(again_read_one(&x->started, x, x->dir, EVENT_STARTED, e));
    if (x->spec.kind == SPEC_EVAL) {
        TRY(again_compare_attempt(x, x->options->dir, seen, e));
        if (x->result->compared_n == 0)
            verify_note_difference(x, "no record of the evaluation is there");
        return 0;
    }
    TRY(again_compare_training(x, seen, e));
    for (int64_t i = 1; i <= x->result->updates; i++)
        if (!seen[i]) verify_note_difference(x, "update %" PRId64 ": no record of it is there", i);
    return 0;
}

/* Whether it can be done again at all; otherwise the result says why. */
static bool again_is_possible(struct again *x, const json_t *recorded)
{
    const char *why = NULL;

    if (!recorded) {
        verify_note_difference(x, "its records are damaged from the first on");
        x->result->ran = x->result->same_maker = true;
        return false;
    }
    if (strcmp(again_text(recorded, "device"), "imported") == 0)
        why = "its weights were imported: nothing here trained them";
    if (x->spec.kind == SPEC_BENCH) why = "a measurement of speed does not repeat itself";
    if (why) snprintf(x->result->why, sizeof x->result->why, "%s", why);
    return !why;
}

/* Fewer updates than asked for: the user stopped it, or it diverged. */
static int again_check_end(struct again *x, int64_t done, struct err *e)
{
    const char *key = arena_printf(&x->arena, "%d 0", (int)EVENT_ENDED);

    if (done >= x->result->updates) return 0;
    if (strcmp(again_text(json_object_get(x->record, key), "state"), "cancelled") == 0)
        return ERR(e, ERR_INTERRUPTED, "stopped after %" PRId64 " updates", done);
    x->result->updates = done;
    return 0;
}

static int again_do(struct again *x, const json_t *recorded, struct err *e)
{
    int64_t done = 0, wanted = x->options->updates;

    if (x->spec.kind == SPEC_TRAIN)
        x->result->updates = wanted < x->spec.train.updates ? wanted : x->spec.train.updates;
    TRY(again_make_folder(x, e));
    TRY(again_work(x, recorded, e));
    if (!x->result->ran) return 0;
    TRY(again_read(x, &done, e));
    TRY(again_check_end(x, done, e));
    return again_compare_all(x, e);
}

int verify_run(struct verify_report *out, const struct project *p, const struct again_options *o,
               struct err *e)
{
    struct again x = {.project = p, .options = o, .result = out};
    json_t *recorded = NULL;
    int rc = 0;

    *out = (struct verify_report){0};
    arena_init(&x.arena);
    if (!file_exists(arena_printf(&x.arena, "%s/events", o->dir))) {
        snprintf(out->why, sizeof out->why, "its records are not here (%.200s)", o->dir);
        goto out;
    }
    TRY_OUT(rc, again_find_spec(&x, e));
    TRY_OUT(rc, again_read_one(&recorded, &x, o->dir, EVENT_STARTED, e));
    if (again_is_possible(&x, recorded)) rc = again_do(&x, recorded, e);
out:
    if (x.temporary) dir_remove_tree(AT_FDCWD, x.temporary, NULL, NULL);
    json_decref(recorded);
    json_decref(x.started);
    json_decref(x.record);
    arena_fini(&x.arena);
    return rc;
}
