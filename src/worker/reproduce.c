/* reproduce.c - runs a temporary attempt and compares its records with those of the verified one.
 */
#include "worker/worker.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/map.h"
#include "base/str.h"
#include "record/run_folder.h"

/* Interval that disables checkpoints by time. */
static const double never_checkpoint_s = 1e15;

struct reproduction {
    const struct project *project;
    const struct reproduce_options *options;
    struct reproduce_report *report;
    struct arena arena;
    struct spec spec;
    struct file_scratch folder; /* of the temporary attempt */
    struct {
        struct record *item;
        int32_t n, capacity;
    } ours;                /* records of the temporary attempt */
    struct map ours_index; /* type and update -> index of the newest record */
    struct head_counts {
        int64_t heads, rollouts;
    } ours_count, theirs_count; /* read so far */
    int64_t first;              /* update that the training goes on from: its parent's last, or 0 */
    int64_t done;               /* updates of the temporary attempt */
    bool *seen;                 /* updates for which the verified attempts have a record */
};

/* Names of record types in messages; NULL: not compared. */
static const char *const record_names[] = {[EVENT_STEP] = "update",
                                           [EVENT_VALIDATION] = "validation after update",
                                           [EVENT_CHECKPOINT] = "checkpoint of update",
                                           [EVENT_EVALUATED] = "evaluation",
                                           [EVENT_CONTINUED] = "parent",
                                           [EVENT_HEAD] = "head",
                                           [EVENT_ROLLOUT] = "rollout",
                                           [EVENT_ENDED] = NULL};

static void note_difference(struct reproduction *v, const char *format, ...) ERR_PRINTF(2, 3);
static void note_difference(struct reproduction *v, const char *format, ...)
{
    va_list args;

    if (v->report->differ_n++ > 0) return;
    va_start(args, format);
    vsnprintf(v->report->why, sizeof v->report->why, format, args);
    va_end(args);
}

/* --- reproducing ---------------------------------------------------------------------------- */

/* Reads the run's spec from the verified attempt's file. */
static int find_spec(struct reproduction *v, struct err *e)
{
    char id[SPEC_ID_BYTES];
    struct spec *list;
    int32_t n;

    TRY(run_folder_read_specs(&list, &n, &v->arena, v->options->dir, e));
    for (int32_t i = 0; i < n; i++) {
        spec_run_id(&list[i], id);
        if (strcmp(id, v->options->run_id) != 0) continue;
        v->spec = list[i];
        return 0;
    }
    return ERR(e, ERR_DATA, "%s contains no spec of run %s",
               run_folder_path(&v->arena, v->options->dir, RUN_SPEC), v->options->run_id);
}

/* Makes a folder whose name is not a number, so that the worker finds no older attempts to resume
 * from. */
static int make_folder(struct reproduction *v, struct err *e)
{
    const char *runs = arena_printf(&v->arena, "%s/" RUN_FOLDERS, v->project->root);
    const struct spec *spec = &v->spec;

    TRY(file_make_dirs(runs, e));
    TRY(file_scratch_open(&v->folder, runs, RUN_SCRATCH, e));
    return run_folder_write_specs(v->folder.path, &spec, 1, e);
}

static int reproduce_updates(struct reproduction *v, const struct record_started *recorded,
                             struct err *e)
{
    bool training = v->spec.kind == SPEC_TRAIN;
    struct record ended = {0};

    /* A device that selects algorithms by timing might select others now. */
    TRY(run_folder_find(&ended, &v->arena, v->options->dir, EVENT_ENDED, e));
    const struct worker_options o = {.dir = v->folder.path,
                                     .device = recorded->backend ? recorded->backend : "",
                                     .threads = (int)recorded->threads,
                                     .choices = ended.type ? ended.ended.choices : NULL,
                                     .checkpoint_s = never_checkpoint_s,
                                     .stop_after = training ? v->first + v->report->updates : 0,
                                     .losses = v->options->losses};
    struct err why = {0};
    int rc = worker_run(v->project, &o, &why);

    v->report->ran = rc != ERR_UNAVAILABLE && rc != ERR_NOINPUT;
    if (!v->report->ran) {
        snprintf(v->report->why, sizeof v->report->why, "%.290s", why.text);
        return 0;
    }
    /* A diverged training diverges again, which the records show. An interrupted one stopped at the
     * requested update or by the user. */
    if (rc == 0 || rc == ERR_NUMBER || (rc == ERR_INTERRUPTED && training)) return 0;
    return ERR(e, rc, "%s", why.text);
}

/* --- comparing ------------------------------------------------------------------------------ */

/* The key by which records are paired. Other types occur once or are not compared. */
struct record_key {
    int64_t type, update;
};

/* Heads and rollouts are paired in their order; `count` is of those before. */
static struct record_key key_of(const struct record *r, struct head_counts *count)
{
    return (struct record_key){r->type, r->type == EVENT_STEP         ? r->step.update
                                        : r->type == EVENT_VALIDATION ? r->validation.update
                                        : r->type == EVENT_CHECKPOINT ? r->checkpoint.update
                                        : r->type == EVENT_HEAD       ? count->heads++
                                        : r->type == EVENT_ROLLOUT    ? count->rollouts++
                                                                      : 0};
}

static int take_ours(void *context, const struct event *ev, struct err *e)
{
    struct reproduction *v = context;
    struct record r;

    TRY(record_read(&r, ev, e));
    const struct record_key key = key_of(&r, &v->ours_count);
    *map_put(&v->ours_index, &key, sizeof key, NULL) = v->ours.n;
    record_copy(vec_push(&v->arena, &v->ours), &r, &v->arena);
    if (r.type == EVENT_STEP) v->done = r.step.update - v->first;
    return 0;
}

/* Finds our record with the key; NULL: none. */
static const struct record *find_ours(const struct reproduction *v, struct record_key key)
{
    int32_t i;

    return map_get(&v->ours_index, &key, sizeof key, &i) ? &v->ours.item[i] : NULL;
}

static void compare_record(struct reproduction *v, const struct record *theirs)
{
    const struct record_key key = key_of(theirs, &v->theirs_count);
    const struct record *ours = find_ours(v, key);

    if (!ours) return;
    v->report->compared_n++;
    v->report->hashes_n += theirs->type == EVENT_CHECKPOINT;
    for (int32_t k = 0; k < record_fields_n; k++) {
        const struct record_field *f = &record_fields[k];
        if (f->type != theirs->type || !f->verified) continue;
        const struct record_value a = record_get(theirs, f), b = record_get(ours, f);
        if (record_equal(&a, &b)) continue;
        note_difference(v, "%s %" PRId64 ": %s is %s, on record %s", record_names[theirs->type],
                        key.update, f->name, record_format(&b, &v->arena),
                        record_format(&a, &v->arena));
        return;
    }
}

static void compare_makers(struct reproduction *v, const struct record *recorded)
{
    const struct record_started *theirs = &recorded->started;
    const struct record_started *ours =
        &find_ours(v, (struct record_key){.type = EVENT_STARTED})->started;
    const struct {
        const char *name, *theirs, *ours;
    } makers[] = {{"code_id", theirs->code_id, ours->code_id},
                  {"device", theirs->device, ours->device},
                  {"blas", theirs->blas ? theirs->blas : "", ours->blas}};

    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
        if (strcmp(makers[i].theirs, makers[i].ours) == 0) continue;
        v->report->same_maker = false;
        if (!*v->report->maker)
            snprintf(v->report->maker, sizeof v->report->maker, "recorded with %s %s, now %s",
                     makers[i].name, makers[i].theirs, makers[i].ours);
    }
}

static int compare_event(void *context, const struct event *ev, struct err *e)
{
    struct reproduction *v = context;
    struct err wrong;
    struct record r;

    (void)e;
    if (record_read(&r, ev, &wrong) < 0) return 0;
    const char *run_id = record_run_id(&r);
    if (run_id && strcmp(run_id, v->options->run_id) != 0) return 0;
    if (r.type == EVENT_STARTED) compare_makers(v, &r);
    int64_t own = r.type == EVENT_STEP ? r.step.update - v->first : 0;
    if (own >= 1 && own <= v->report->updates) v->seen[own] = true;
    if (record_names[r.type]) compare_record(v, &r);
    return 0;
}

/* Compares the attempts of a training, from the newest fresh one up to the given one, or that of an
 * evaluation. */
static int compare_all(struct reproduction *v, struct err *e)
{
    const char *dir = v->options->dir;
    int32_t last = 0;

    v->seen = arena_array(&v->arena, (size_t)v->report->updates + 1, sizeof *v->seen);
    v->report->same_maker = true;
    if (v->spec.kind == SPEC_TRAIN && run_folder_parse(dir, NULL, &last)) {
        for (int32_t i = run_folder_first(dir, last); i <= last; i++)
            TRY(run_folder_each(run_folder_sibling(&v->arena, dir, i), compare_event, v, e));
    } else {
        TRY(run_folder_each(dir, compare_event, v, e));
    }
    if (v->spec.kind == SPEC_EVAL && v->report->compared_n == 0)
        note_difference(v, "the record of the evaluation is missing");
    for (int64_t i = 1; i <= v->report->updates; i++)
        if (!v->seen[i])
            note_difference(v, "update %" PRId64 ": its record is missing", v->first + i);
    return 0;
}

/* Checks for fewer updates than requested: the user stopped the run, or it diverged. */
static int check_end(struct reproduction *v, struct err *e)
{
    const struct record *ended = find_ours(v, (struct record_key){.type = EVENT_ENDED});

    if (v->done >= v->report->updates) return 0;
    if (ended && strcmp(ended->ended.state, "cancelled") == 0)
        return ERR(e, ERR_INTERRUPTED, "stopped after %" PRId64 " updates", v->done);
    v->report->updates = v->done;
    return 0;
}

/* Finds the update that a training with a parent goes on from. */
static int find_first(struct reproduction *v, struct err *e)
{
    struct record continued;
    const char *dir = v->options->dir;
    int32_t last = 0;

    if (run_folder_parse(dir, NULL, &last))
        dir = run_folder_sibling(&v->arena, dir, run_folder_first(dir, last));
    int found = run_folder_find(&continued, &v->arena, dir, EVENT_CONTINUED, e);
    if (found == 1) v->first = continued.continued.update;
    return found < 0 ? found : 0;
}

static int reproduce_and_compare(struct reproduction *v, struct err *e)
{
    struct reproduce_report *report = v->report;
    struct record recorded;
    const char *why = NULL;

    TRY(find_spec(v, e));
    int found = run_folder_find(&recorded, &v->arena, v->options->dir, EVENT_STARTED, e);
    TRY(found);
    if (!found) {
        note_difference(v, "its first record is damaged");
        report->ran = report->same_maker = true;
        return 0;
    }
    if (strcmp(recorded.started.device, RECORD_IMPORTED) == 0)
        why = "its weights were imported, not trained here";
    if (v->spec.kind == SPEC_BENCH) why = "a measurement of speed cannot be reproduced";
    if (why) {
        snprintf(report->why, sizeof report->why, "%s", why);
        return 0;
    }
    if (v->spec.kind == SPEC_TRAIN) {
        TRY(find_first(v, e));
        int64_t updates_n = v->spec.train.updates - v->first;
        report->updates = v->options->updates < updates_n ? v->options->updates : updates_n;
    }
    TRY(make_folder(v, e));
    TRY(reproduce_updates(v, &recorded.started, e));
    if (!report->ran) return 0;
    TRY(run_folder_each(v->folder.path, take_ours, v, e));
    TRY(check_end(v, e));
    return compare_all(v, e);
}

int reproduce_run(struct reproduce_report *out, const struct project *p,
                  const struct reproduce_options *o, struct err *e)
{
    struct reproduction v = {.project = p, .options = o, .report = out, .folder = {.lock_fd = -1}};
    int rc = 0;

    *out = (struct reproduce_report){0};
    arena_init(&v.arena);
    map_init(&v.ours_index, &v.arena);
    if (file_exists(run_folder_path(&v.arena, o->dir, RUN_EVENTS)))
        rc = reproduce_and_compare(&v, e);
    else
        snprintf(out->why, sizeof out->why, "its records are not on this machine (%.200s)", o->dir);
    file_scratch_close(&v.folder);
    arena_fini(&v.arena);
    return rc;
}
