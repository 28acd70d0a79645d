/* adopt.c - see adopt.h.
 *
 *   1. list    runs/<16 hex digits>/<number>/ with a spec and records, in their order
 *   2. name    an attempt's uid is a hash of its run and records: found again, it is known again
 *   3. add     runs and running rows; an evaluation needs its training's spec, which came before
 *   4. settle  as after a crash: the records are taken, and their last word is believed */
#include "store/ingest_folders.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/dir.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/str.h"
#include "scheduler/lease.h"
#include "shape/shape.h"

enum { ADOPT_SPEC_BYTES_MAX = 4 << 20 };

struct adopt_folder {
    char run_id[SPEC_ID_BYTES];
    int64_t number;
    const char *path;
    char records[HASH_HEX_BYTES]; /* the hash of its records */
    int64_t began, ended;         /* seconds since 1970, by the times of spec and records */
    int64_t ended_ns;
    struct spec *spec;
    int32_t specs_n;
};

struct adopt {
    struct store *store;
    const struct project *project;
    struct ingest_summary *result;
    struct arena arena;
    struct adopt_folder *own;
    int32_t n, room;
};

/* --- 1. the folders ------------------------------------------------------------------------- */

static void adopt_skip(struct adopt *x, const char *path, const struct err *why)
{
    if (x->result->skipped_n++ == 0)
        snprintf(x->result->why, sizeof x->result->why, "%s: %s", path, why->text);
    log_warn("%s is left out: %s", path, why->text);
}

static int adopt_add_folder(struct adopt *x, const struct adopt_folder *f, struct err *e)
{
    if (x->n == x->room) {
        int32_t room = x->room ? 2 * x->room : 64;
        struct adopt_folder *grown = realloc(x->own, (size_t)room * sizeof *grown);
        if (!grown) return ERR(e, ERR_NOMEM, "no memory for %d folders", room);
        x->own = grown;
        x->room = room;
    }
    x->own[x->n++] = *f;
    return 0;
}

/* A folder without records never began. What cannot be read leaves out this folder only. */
static int adopt_look(struct adopt *x, const char *run, int64_t number, const char *path,
                      struct err *e)
{
    struct adopt_folder f = {.number = number, .path = path};
    struct stat folder, spec, records = {0};
    struct err why = {0};
    char *text;
    const char *spec_path = arena_printf(&x->arena, "%s/spec", path);
    const char *events_path = arena_printf(&x->arena, "%s/events", path);

    bool is_folder = lstat(path, &folder) == 0 && S_ISDIR(folder.st_mode);
    if (is_folder && stat(events_path, &records) < 0 && errno == ENOENT) return 0;
    if (is_folder && S_ISREG(records.st_mode) && records.st_size == 0) return 0;
    x->result->folders_n++;
    snprintf(f.run_id, sizeof f.run_id, "%s", run);
    int rc = is_folder ? hash_file(f.records, events_path, &why)
                       : ERR(&why, ERR_DATA, "not a directory");
    if (rc == 0) rc = file_read(&x->arena, &text, NULL, spec_path, ADOPT_SPEC_BYTES_MAX, &why);
    if (rc == 0) rc = spec_parse_list(&f.spec, &f.specs_n, text, spec_path, &x->arena, &why);
    if (rc == 0 && stat(spec_path, &spec) < 0)
        rc = ERR(&why, ERR_IO, "%s: %s", spec_path, strerror(errno));
    if (rc < 0) {
        adopt_skip(x, path, &why);
        return 0;
    }
    f.began = spec.st_mtim.tv_sec;
    f.ended = records.st_mtim.tv_sec;
    f.ended_ns = records.st_mtim.tv_nsec;
    return adopt_add_folder(x, &f, e);
}

static int adopt_list_run(struct adopt *x, const char *runs, const struct dir *all, const char *run,
                          struct err *e)
{
    const char *path = arena_printf(&x->arena, "%s/%s", runs, run);
    struct err why;
    struct dir d;
    int64_t number;
    int rc = 0;

    if (dir_open_at(&d, all, run, &why) < 0) {
        x->result->folders_n++;
        adopt_skip(x, path, &why);
        return 0;
    }
    for (int32_t i = 0; rc == 0 && i < d.n; i++)
        if (str_to_int(&number, d.name_own[i]) && number > 0 && number <= INT32_MAX)
            rc = adopt_look(x, run, number, arena_printf(&x->arena, "%s/%s", path, d.name_own[i]),
                            e);
    dir_close(&d);
    return rc;
}

static int adopt_list(struct adopt *x, const char *runs, struct err *e)
{
    struct dir d;
    int rc = 0;

    TRY(dir_open(&d, runs, e));
    for (int32_t i = 0; rc == 0 && i < d.n; i++)
        if (strlen(d.name_own[i]) == SPEC_ID_BYTES - 1 &&
            strspn(d.name_own[i], "0123456789abcdef") == SPEC_ID_BYTES - 1)
            rc = adopt_list_run(x, runs, &d, d.name_own[i], e);
    dir_close(&d);
    return rc;
}

/* Trainings by run and number, then evaluations as they ended. */
static int adopt_compare(const void *a, const void *b)
{
    const struct adopt_folder *x = a, *y = b;
    bool x_eval = x->spec[0].kind == SPEC_EVAL, y_eval = y->spec[0].kind == SPEC_EVAL;

    if (x_eval != y_eval) return x_eval - y_eval;
    if (x_eval && x->ended != y->ended) return x->ended > y->ended ? 1 : -1;
    if (x_eval && x->ended_ns != y->ended_ns) return x->ended_ns > y->ended_ns ? 1 : -1;
    int order = strcmp(x->run_id, y->run_id);
    return order ? order : (x->number > y->number) - (x->number < y->number);
}

/* --- 2. names ------------------------------------------------------------------------------- */

static void adopt_uid(char out[HASH_HEX_BYTES], struct adopt *x, const struct adopt_folder *f,
                      const char *run_id)
{
    const char *text = arena_printf(&x->arena, "%s %s", run_id, f->records);

    hash_sha256_hex(out, text, strlen(text));
    out[32] = '\0';
}

/* As the scheduler would have named it: the project's own folders without the project's path. */
static const char *adopt_dir(struct adopt *x, const struct adopt_folder *f)
{
    size_t n = strlen(x->project->root);
    bool own = strncmp(f->path, x->project->root, n) == 0 &&
               strncmp(f->path + n, "/runs/", strlen("/runs/")) == 0;
    return own ? f->path + n + 1 : f->path;
}

/* --- 3. rows -------------------------------------------------------------------------------- */

struct adopt_training {
    struct adopt *adopt;
    struct spec spec;
    char config_id[SPEC_ID_BYTES];
    bool found;
};

static int adopt_take_training(void *context, int columns_n, const char *const *names,
                               const struct store_cell *cells, struct err *e)
{
    struct adopt_training *t = context;

    (void)columns_n;
    (void)names;
    t->found = true;
    snprintf(t->config_id, sizeof t->config_id, "%s", cells[1].text);
    return spec_parse(&t->spec, cells[0].text, e);
}

/* An evaluation's file holds its own keys only: the training's are those of its row. */
static int adopt_complete(struct adopt *x, struct spec *s, char config_id[SPEC_ID_BYTES],
                          struct err *e)
{
    struct adopt_training t = {.adopt = x};
    const struct store_param run = {"run", s->eval.train_run};

    if (s->kind != SPEC_EVAL) {
        spec_config_id(s, NULL, config_id);
        return 0;
    }
    TRY(store_query(x->store, "SELECT spec, config_id FROM run_list WHERE run_id = :run", &run, 1,
                    0, adopt_take_training, &t, e));
    if (!t.found)
        return ERR(e, ERR_NOINPUT, "an evaluation of training %s, whose folder is not here",
                   s->eval.train_run);
    struct spec whole = t.spec;
    whole.kind = SPEC_EVAL;
    whole.eval = s->eval;
    memcpy(whole.scale, s->scale, sizeof whole.scale);
    *s = whole;
    spec_config_id(s, t.config_id, config_id);
    return 0;
}

static int adopt_add_run(struct adopt *x, const struct spec *given, const char *run_id,
                         struct err *e)
{
    struct spec s = *given;
    struct shape_cost cost;
    char config_id[SPEC_ID_BYTES];

    TRY(adopt_complete(x, &s, config_id, e));
    s.modified = true; /* until a plan asks for it as it is */
    shape_cost(&cost, &s);
    const struct store_run row = {.spec = &s,
                                  .run_id = run_id,
                                  .config_id = config_id,
                                  .train_run_id = s.kind == SPEC_EVAL ? s.eval.train_run : NULL,
                                  .parameters_n = cost.parameters_n,
                                  .flops = cost.flops};
    return store_add_run(x->store, &row, e);
}

/* What the scheduler called the device: of an import `imported`, else the backend's name. */
static int adopt_slot(const char **out, struct adopt *x, const struct adopt_folder *f,
                      struct err *e)
{
    struct event_reader *reader = NULL;
    struct event record;

    *out = NULL;
    TRY(event_reader_open(&reader, arena_printf(&x->arena, "%s/events", f->path), e));
    int rc = event_read(reader, &record, e);
    if (rc == 1 && record.type == EVENT_STARTED) {
        const char *device = json_string_value(json_object_get(record.json, "device"));
        const char *backend = json_string_value(json_object_get(record.json, "backend"));
        bool imported = device && strcmp(device, "imported") == 0;
        *out = imported || !backend ? device : backend;
        if (*out) *out = arena_strdup(&x->arena, *out);
    }
    event_reader_close(reader);
    return rc < 0 ? rc : 0;
}

/* The running row of one run of the folder, unless its attempt is known. */
static int adopt_start(struct adopt *x, const struct adopt_folder *f, const struct spec *s,
                       const char *slot, struct store_running *row, bool *started, struct err *e)
{
    struct store_run_state st;
    char uid[HASH_HEX_BYTES], began[CLOCK_TEXT_BYTES];
    bool known;

    *row = (struct store_running){0};
    spec_run_id(s, row->run_id);
    snprintf(row->dir, sizeof row->dir, "%s", adopt_dir(x, f));
    adopt_uid(uid, x, f, row->run_id);
    TRY(store_has_attempt(x->store, row->run_id, uid, row->dir, &known, e));
    x->result->known_n += known;
    *started = !known;
    if (known) return 0;
    TRY(adopt_add_run(x, s, row->run_id, e));
    TRY(store_run_state(x->store, row->run_id, &st, e));
    bool own = strcmp(row->run_id, f->run_id) == 0 && f->number > st.attempts_n;
    row->attempt = own ? (int32_t)f->number : st.attempts_n + 1;
    clock_utc_at(began, f->began);
    const struct store_attempt attempt = {.run_id = row->run_id,
                                          .attempt = row->attempt,
                                          .device = slot,
                                          .dir = row->dir,
                                          .uid = uid,
                                          .started_at = began};
    return store_start_attempt(x->store, &attempt, &row->attempt_id, e);
}

/* Steps 2 to 4 of a folder, inside a transaction. */
static int adopt_rows(struct adopt *x, const struct adopt_folder *f, struct err *e)
{
    struct store_running *row = arena_array(&x->arena, (size_t)f->specs_n, sizeof *row);
    char ended[CLOCK_TEXT_BYTES];
    const char *slot;
    int32_t n = 0;
    bool started;

    if (strlen(adopt_dir(x, f)) >= sizeof row->dir)
        return ERR(e, ERR_DATA, "the path is longer than %zu bytes", sizeof row->dir - 1);
    TRY(adopt_slot(&slot, x, f, e));
    for (int32_t i = 0; i < f->specs_n; i++) {
        TRY(adopt_start(x, f, &f->spec[i], slot, &row[n], &started, e));
        n += started;
    }
    clock_utc_at(ended, f->ended);
    if (n > 0) TRY(attempt_close_stale(x->store, x->project, row, n, ended, e));
    x->result->attempts_n += n;
    return 0;
}

/* A folder that is wrong in itself is left out; a store that cannot be written ends the call. */
static int adopt_folder(struct adopt *x, const struct adopt_folder *f, struct err *e)
{
    struct err why = {0};
    int32_t attempts_n = x->result->attempts_n;

    TRY(store_begin(x->store, e));
    int rc = adopt_rows(x, f, &why);
    if (rc == 0) return store_commit(x->store, e);
    store_rollback(x->store);
    x->result->attempts_n = attempts_n;
    if (rc != ERR_DATA && rc != ERR_NOINPUT) return ERR(e, rc, "%s: %s", f->path, why.text);
    adopt_skip(x, f->path, &why);
    return 0;
}

int ingest_run_folders(struct store *s, const struct project *p, const char *runs,
                       struct ingest_summary *out, struct err *e)
{
    struct adopt x = {.store = s, .project = p, .result = out};
    int rc = 0;

    *out = (struct ingest_summary){0};
    arena_init(&x.arena);
    TRY_OUT(rc, adopt_list(&x, runs, e));
    if (x.n > 1) qsort(x.own, (size_t)x.n, sizeof *x.own, adopt_compare);
    for (int32_t i = 0; i < x.n; i++) TRY_OUT(rc, adopt_folder(&x, &x.own[i], e));
out:
    free(x.own);
    arena_fini(&x.arena);
    return rc;
}
