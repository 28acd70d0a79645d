/* ingest_folders.c - results made elsewhere, and a lost results.db, from run folders and databases.
 *
 * Run folders (ingest_run_folders)
 *   1. list    the folders with a spec and records, in their order
 *   2. name    the uid of an attempt is a hash of its run and records, so that it is added once
 *   3. add     runs and running rows; an evaluation needs the spec of its training, added before
 *   4. end     as after a crash: ingest the records; the last one decides
 *
 * A database (store_merge)
 *   5. The other file is not changed. It must be undamaged and readable (see schema_steps).
 *   6. An attempt is known by its uid. Attempts that run there are left out. The others get the
 *      next numbers of their run here, and the absolute path of their folder there.
 *   7. A result becomes current only if the run has none; an evaluation of another checkpoint than
 *      the current training's does not.
 *
 * Their folders (ingest_copy_folders)
 *   8. Only folders of current results are copied.
 *   9. A folder is searched where its rows name it, and under runs/ of the given project, because a
 *      results.db may have been copied without its run folders. The latter must contain the record
 *      of the result.
 *  10. Files are linked, or copied if linking fails. The records come last, because a folder
 * without them counts as not started; then the rows name the new folder.
 *  11. A folder that cannot be read is left out; one that cannot be written ends the call. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/str.h"
#include "record/fields.h"
#include "shape/shape.h"
#include "store/database.h"
#include "store/ingest.h"

/* Counts a skipped folder and stores the first reason. */
static void leave_out(int32_t *n, char *why, size_t room, const char *path, const struct err *e)
{
    if ((*n)++ == 0) snprintf(why, room, "%s: %s", path, e->text);
    log_warn("%s is left out: %s", path, e->text);
}

/* --- run folders: 1. list ------------------------------------------------------------------- */

struct source_folder {
    char run_id[SPEC_ID_BYTES];
    int32_t attempt;
    const char *path;
    char records[HASH_HEX_BYTES]; /* the hash of its records */
    struct timespec began, ended; /* by the times of spec and records */
    struct spec *spec;
    int32_t specs_n;
};

struct folders {
    struct store *store;
    const struct project *project;
    struct ingest_summary *result;
    struct arena arena;
    struct source_folder *item;
    int32_t n, capacity;
};

static void skip_folder(struct folders *x, const char *path, const struct err *why)
{
    leave_out(&x->result->skipped_n, x->result->why, sizeof x->result->why, path, why);
}

static int read_folder(struct source_folder *f, struct folders *x, struct err *e)
{
    struct stat spec, events;
    const char *spec_path = run_folder_path(&x->arena, f->path, RUN_SPEC);
    const char *events_path = run_folder_path(&x->arena, f->path, RUN_EVENTS);

    TRY(hash_file(f->records, events_path, e));
    TRY(run_folder_read_specs(&f->spec, &f->specs_n, &x->arena, f->path, e));
    if (stat(spec_path, &spec) < 0) return ERR(e, ERR_IO, "%s: %s", spec_path, strerror(errno));
    if (stat(events_path, &events) < 0)
        return ERR(e, ERR_IO, "%s: %s", events_path, strerror(errno));
    f->began = spec.st_mtim;
    f->ended = events.st_mtim;
    return 0;
}

static int list_folder(void *context, const struct run_folder *found, struct err *e)
{
    struct folders *x = context;
    struct source_folder f = {.attempt = found->attempt};
    struct err why = {0};

    (void)e;
    x->result->folders_n++;
    memcpy(f.run_id, found->run_id, sizeof f.run_id);
    f.path = arena_strdup(&x->arena, found->path);
    if (found->why || read_folder(&f, x, &why) < 0)
        skip_folder(x, f.path, found->why ? found->why : &why);
    else
        *vec_push(&x->arena, x) = f;
    return 0;
}

/* Trainings by run and number, then evaluations as they ended. */
static int compare_folders(const void *a, const void *b)
{
    const struct source_folder *x = a, *y = b;
    bool x_eval = x->spec[0].kind == SPEC_EVAL, y_eval = y->spec[0].kind == SPEC_EVAL;
    const struct timespec *s = &x->ended, *t = &y->ended;

    if (x_eval != y_eval) return x_eval - y_eval;
    if (x_eval && s->tv_sec != t->tv_sec) return s->tv_sec > t->tv_sec ? 1 : -1;
    if (x_eval && s->tv_nsec != t->tv_nsec) return s->tv_nsec > t->tv_nsec ? 1 : -1;
    int order = strcmp(x->run_id, y->run_id);
    return order ? order : (x->attempt > y->attempt) - (x->attempt < y->attempt);
}

/* --- 2. name -------------------------------------------------------------------------------- */

static void attempt_uid(char out[HASH_HEX_BYTES], struct folders *x, const struct source_folder *f,
                        const char *run_id)
{
    const char *text = arena_printf(&x->arena, "%s %s", run_id, f->records);

    hash_sha256_hex(out, text, strlen(text));
    out[32] = '\0';
}

/* The folder as a row names it: the project's own without the project's path. */
static const char *row_dir(struct folders *x, const struct source_folder *f)
{
    const char *own = run_folder_name(&x->arena, f->run_id, f->attempt);

    return strcmp(project_path(x->project, &x->arena, own), f->path) == 0 ? own : f->path;
}

/* --- 3. add --------------------------------------------------------------------------------- */

/* The spec of an evaluation has only its own keys; those of the training are in its row. */
static int complete_spec(struct store *s, struct spec *spec, char config_id[SPEC_ID_BYTES],
                         struct err *e)
{
    struct spec whole;
    sqlite3_stmt *row;
    char train_config[SPEC_ID_BYTES];

    if (spec->kind != SPEC_EVAL) {
        spec_config_id(spec, NULL, config_id);
        return 0;
    }
    TRY(DATABASE_SELECT(s, &row, e, "SELECT spec,config_id FROM runs WHERE run_id=?1",
                        DATABASE_TEXT(spec->eval.train_run)));
    int rc = database_next(s, row, e);
    if (rc == 0)
        return ERR(e, ERR_NOINPUT, "an evaluation of training %s, whose folder is not here",
                   spec->eval.train_run);
    if (rc < 0) return rc;
    rc = spec_parse(&whole, (const char *)sqlite3_column_text(row, 0), e);
    database_text(train_config, sizeof train_config, row, 1);
    database_reset(row);
    if (rc < 0) return rc;
    whole.kind = SPEC_EVAL;
    whole.eval = spec->eval;
    memcpy(whole.scale, spec->scale, sizeof whole.scale);
    *spec = whole;
    spec_config_id(spec, train_config, config_id);
    return 0;
}

static int add_run(struct store *store, const struct spec *given, const char *run_id, struct err *e)
{
    struct spec s = *given;
    struct shape_cost cost;
    char config_id[SPEC_ID_BYTES];

    TRY(complete_spec(store, &s, config_id, e));
    s.modified = true; /* until a plan requests it unmodified */
    shape_cost(&cost, &s);
    const struct store_run row = {.spec = &s,
                                  .run_id = run_id,
                                  .config_id = config_id,
                                  .train_run_id = s.kind == SPEC_EVAL ? s.eval.train_run : NULL,
                                  .parameters_n = cost.parameters_n,
                                  .flops = cost.flops};
    return store_add_run(store, &row, e);
}

/* The device as the scheduler names it: `imported`, or the name of the backend. NULL: not recorded.
 */
static int find_slot(const char **out, struct folders *x, const struct source_folder *f,
                     struct err *e)
{
    struct record r;

    *out = NULL;
    int rc = run_folder_find(&r, &x->arena, f->path, EVENT_STARTED, e);
    if (rc != 1) return rc == ERR_DATA ? 0 : rc; /* a wrong record is judged with the others */
    bool imported = strcmp(r.started.device, "imported") == 0;
    *out = imported || !r.started.backend ? r.started.device : r.started.backend;
    return 0;
}

/* The running row of one run of the folder, unless its attempt is known. */
static int start_row(struct folders *x, const struct source_folder *f, const struct spec *spec,
                     const char *slot, struct store_running *row, bool *started, struct err *e)
{
    struct store_run_state st;
    char uid[HASH_HEX_BYTES], began[CLOCK_TEXT_BYTES];

    *row = (struct store_running){0};
    spec_run_id(spec, row->run_id);
    snprintf(row->dir, sizeof row->dir, "%s", row_dir(x, f));
    attempt_uid(uid, x, f, row->run_id);
    int known = DATABASE_EXISTS(
        x->store, e, "SELECT 1 FROM run_attempts WHERE run_id=?1 AND (uid=?2 OR dir=?3)",
        DATABASE_TEXT(row->run_id), DATABASE_TEXT(uid), DATABASE_TEXT(row->dir));
    x->result->known_n += known > 0;
    *started = known == 0;
    if (known != 0) return known < 0 ? known : 0;
    TRY(add_run(x->store, spec, row->run_id, e));
    TRY(store_run_state(x->store, row->run_id, &st, e));
    bool own = strcmp(row->run_id, f->run_id) == 0 && f->attempt > st.attempts_n;
    row->attempt = own ? f->attempt : st.attempts_n + 1;
    clock_utc_at(began, f->began.tv_sec);
    const struct store_attempt attempt = {.run_id = row->run_id,
                                          .attempt = row->attempt,
                                          .device = slot,
                                          .dir = row->dir,
                                          .uid = uid,
                                          .started_at = began};
    return store_start_attempt(x->store, &attempt, &row->attempt_id, e);
}

/* Steps 2 to 4 of a folder, inside a transaction. */
static int add_rows(struct folders *x, const struct source_folder *f, struct err *e)
{
    struct store_running *row = arena_array(&x->arena, (size_t)f->specs_n, sizeof *row);
    char ended[CLOCK_TEXT_BYTES];
    const char *slot;
    int32_t n = 0;
    bool started;

    if (strlen(row_dir(x, f)) >= sizeof row->dir)
        return ERR(e, ERR_DATA, "the path is longer than %zu bytes", sizeof row->dir - 1);
    TRY(find_slot(&slot, x, f, e));
    for (int32_t i = 0; i < f->specs_n; i++) {
        TRY(start_row(x, f, &f->spec[i], slot, &row[n], &started, e));
        n += started;
    }
    clock_utc_at(ended, f->ended.tv_sec);
    if (n > 0) TRY(ingest_abandoned(x->store, f->path, row, n, ended, e));
    x->result->attempts_n += n;
    return 0;
}

/* Skips a folder with errors; an error of the store ends the call. */
static int ingest_folder(struct folders *x, const struct source_folder *f, struct err *e)
{
    struct err why = {0};
    int32_t attempts_n = x->result->attempts_n;

    TRY(store_begin(x->store, e));
    int rc = add_rows(x, f, &why);
    if (rc == 0) return store_commit(x->store, e);
    store_rollback(x->store);
    x->result->attempts_n = attempts_n;
    if (rc != ERR_DATA && rc != ERR_NOINPUT) return ERR(e, rc, "%s: %s", f->path, why.text);
    skip_folder(x, f->path, &why);
    return 0;
}

int ingest_run_folders(struct store *s, const struct project *p, const char *runs,
                       struct ingest_summary *out, struct err *e)
{
    struct folders x = {.store = s, .project = p, .result = out};
    int rc = 0;

    *out = (struct ingest_summary){0};
    arena_init(&x.arena);
    TRY_OUT(rc, run_folder_walk(runs, list_folder, &x, e));
    if (x.n > 1) qsort(x.item, (size_t)x.n, sizeof *x.item, compare_folders);
    for (int32_t i = 0; i < x.n; i++) TRY_OUT(rc, ingest_folder(&x, &x.item[i], e));
out:
    arena_fini(&x.arena);
    return rc;
}

/* --- a database ----------------------------------------------------------------------------- */

static const char merge_current[] =
    "UPDATE main.results SET current=1 WHERE result_id IN("
    " SELECT v.result_id FROM other.results o"
    " JOIN other.run_attempts t ON t.attempt_id=o.attempt_id"
    " JOIN main.run_attempts h ON h.uid=t.uid"
    " JOIN main.results v ON v.attempt_id=h.attempt_id AND v.sequence=o.sequence"
    " WHERE o.current=1 AND NOT EXISTS(SELECT 1 FROM main.results c WHERE c.run_id=v.run_id"
    "  AND c.current=1))";

/* What is copied, in this order. Of each table the columns that both files have: a row o of the
 * other file, the row h here of its attempt, ?1 the other file's folder. */
#define OF_ATTEMPT                                                                                 \
    " o JOIN other.run_attempts t ON t.attempt_id=o.attempt_id"                                    \
    " JOIN main.run_attempts h ON h.uid=t.uid WHERE NOT EXISTS(SELECT 1 FROM main."

static const struct {
    const char *name, *from;
} merge_tables[] = {
    {"runs", " o WHERE NOT EXISTS(SELECT 1 FROM main.runs h WHERE h.run_id=o.run_id)"},
    {"run_attempts", " o WHERE o.state<>'running' AND NOT EXISTS(SELECT 1 FROM main.run_attempts h"
                     " WHERE h.uid=o.uid) ORDER BY o.run_id,o.attempt"},
    {"results", OF_ATTEMPT "results v WHERE v.attempt_id=h.attempt_id AND v.sequence=o.sequence)"},
    {"checkpoint_files",
     OF_ATTEMPT "checkpoint_files v WHERE v.attempt_id=h.attempt_id AND v.sequence=o.sequence)"},
    {"curve_points", OF_ATTEMPT "curve_points v WHERE v.attempt_id=h.attempt_id"
                                " AND v.split=o.split AND v.step=o.step)"},
    {"points", " o WHERE NOT EXISTS(SELECT 1 FROM main.points h WHERE h.artefact=o.artefact"
               " AND h.scale=o.scale)"},
};

/* The columns of table ?1 and their values. NULL: a new number. */
static const char merge_columns[] =
    "SELECT group_concat(name), group_concat(CASE"
    " WHEN name='result_id' OR(name='attempt_id' AND ?1='run_attempts') THEN 'NULL'"
    " WHEN name='attempt_id' THEN 'h.attempt_id'"
    " WHEN name='attempt' THEN 'o.attempt+(SELECT coalesce(max(h.attempt),0)"
    "  FROM main.run_attempts h WHERE h.run_id=o.run_id)'"
    " WHEN name='dir' THEN 'CASE WHEN substr(o.dir,1,1)=''/'' THEN o.dir ELSE ?1||''/''||o.dir END'"
    " WHEN name='merged_from' THEN 'coalesce(o.merged_from,?1)'"
    " WHEN name='current' THEN '0' ELSE 'o.'||name END)"
    " FROM pragma_table_info(?1,'main')"
    " WHERE name IN(SELECT name FROM pragma_table_info(?1,'other'))";

/* A step that names the other file's tables is prepared while it is attached and not kept. */
static int run_step(struct store *s, const char *sql, const char *folder, struct err *e)
{
    const struct database_value value = DATABASE_TEXT(folder);
    return database_first(s, NULL, 0, sql, &value, 1, e);
}

static int merge_table(struct store *s, const char *name, const char *from, const char *folder,
                       struct err *e)
{
    sqlite3_stmt *row;

    TRY(DATABASE_SELECT(s, &row, e, merge_columns, DATABASE_TEXT(name)));
    int rc = database_next(s, row, e);
    if (rc < 0) return rc;
    const char *sql = arena_printf(&s->arena, "INSERT INTO main.%s(%s) SELECT %s FROM other.%s%s",
                                   name, (const char *)sqlite3_column_text(row, 0),
                                   (const char *)sqlite3_column_text(row, 1), name, from);
    database_reset(row);
    return run_step(s, sql, folder, e);
}

static int current_count(struct store *s, int64_t *out, struct err *e)
{
    return database_number(s, out, "SELECT count(*) FROM main.results WHERE current=1", e);
}

static int merge_rows(struct store *s, const char *folder, int32_t *added, struct err *e)
{
    int64_t before = 0, after = 0;
    int rc = 0;

    TRY(store_begin(s, e));
    TRY_OUT(rc, current_count(s, &before, e));
    for (size_t i = 0; i < sizeof merge_tables / sizeof *merge_tables; i++)
        TRY_OUT(rc, merge_table(s, merge_tables[i].name, merge_tables[i].from, folder, e));
    TRY_OUT(rc, run_step(s, merge_current, folder, e));
    TRY_OUT(rc, results_unlink_evaluations(s, NULL, e));
    rc = current_count(s, &after, e);
out:
    rc = store_finish(s, rc, e);
    if (rc == 0 && added) *added = (int32_t)(after - before);
    return rc;
}

/* Checks that the other file is undamaged and that the steps read tables: a view would run a
 * foreign statement. */
static int check_other(struct store *other, struct err *e)
{
    int64_t tables_n = 0;

    TRY(store_check(other, e));
    TRY(database_number(other, &tables_n,
                        "SELECT count(*) FROM sqlite_schema WHERE type='table' AND"
                        " sql LIKE 'CREATE TABLE %' AND name IN('runs','run_attempts','results',"
                        "'checkpoint_files','curve_points','points')",
                        e));
    return tables_n == 6 ? 0 : ERR(e, ERR_DATA, "%s: lacks a table of results.db", other->path);
}

/* Opens the other file as a reader; fails if it cannot be merged. */
static int look_at_other(struct store *s, const char **path, const char **folder, const char **uri,
                         const char *other_path, struct err *e)
{
    struct store *other = NULL;
    struct stat st;
    bool is_folder = stat(other_path, &st) == 0 && S_ISDIR(st.st_mode);

    *path = arena_printf(&s->arena, "%s%s", other_path, is_folder ? "/results.db" : "");
    TRY(store_open(&other, *path, STORE_READ, e));
    *path = arena_strdup(&s->arena, other->path);
    *folder = arena_strdup(&s->arena, other->folder);
    *uri = database_uri(&s->arena, *path, other->immutable ? "immutable=1" : "mode=ro");
    bool same =
        other->opened.st_dev == s->opened.st_dev && other->opened.st_ino == s->opened.st_ino;
    int rc =
        same ? ERR(e, ERR_USAGE, "%s is this project's own file", *path) : check_other(other, e);
    store_close(other);
    return rc;
}

int store_merge(struct store *s, const char *other_path, int32_t *added, struct err *e)
{
    const char *path, *folder, *uri;

    if (added) *added = 0;
    if (s->depth > 0) return ERR(e, ERR_USAGE, "merge: cannot be part of a transaction");
    TRY(look_at_other(s, &path, &folder, &uri, other_path, e));
    TRY(DATABASE_RUN(s, e, "ATTACH ?1 AS other", DATABASE_TEXT(uri)));
    int rc = merge_rows(s, folder, added, e);
    if (rc < 0) err_ctx(e, "merge of %s", path);
    database_script(s, "DETACH other", NULL);
    return rc;
}

/* --- their folders -------------------------------------------------------------------------- */

struct copies {
    struct arena arena;
    const struct project *project;
    const char *other; /* another's folder, or NULL */
    bool unreadable;   /* the error is one of the folder to copy */
    double bytes;
};

/* A folder in another project, and a result that identifies it. */
struct remote {
    const char *dir, *sha256; /* of the checkpoint; NULL: a benchmark, which has none */
    int64_t sequence;
};

/* Marks an error of reading the folder to copy. */
static int source(struct copies *c, int rc)
{
    if (rc < 0) c->unreadable = true;
    return rc;
}

static int copy_file(struct copies *c, const char *from, const char *to, struct err *e)
{
    struct file_map map;
    struct stat st;

    if (lstat(from, &st) < 0) return source(c, ERR(e, ERR_IO, "%s: %s", from, strerror(errno)));
    if (!S_ISREG(st.st_mode)) return 0;
    c->bytes += (double)st.st_size;
    if (link(from, to) == 0) return 0;
    TRY(source(c, file_map_open(&map, from, e)));
    int rc = file_write_atomic(to, map.data, map.n, e);
    file_map_close(&map);
    return rc;
}

/* All regular files of a folder, the records last. */
static int copy_files(struct copies *c, const char *from, const char *to, struct err *e)
{
    const char *records = run_folder_path(&c->arena, from, RUN_EVENTS);
    const char *records_here = run_folder_path(&c->arena, to, RUN_EVENTS);
    struct dir d;
    int rc = 0;

    TRY(source(c, dir_open(&d, from, e)));
    for (int32_t i = 0; rc == 0 && i < d.n; i++) {
        const char *path = arena_printf(&c->arena, "%s/%s", from, d.name_own[i]);
        if (d.name_own[i][0] == '.' || strcmp(path, records) == 0) continue;
        rc = copy_file(c, path, arena_printf(&c->arena, "%s/%s", to, d.name_own[i]), e);
    }
    dir_close(&d);
    if (rc == 0) rc = copy_file(c, records, records_here, e);
    if (rc < 0 || file_exists(records_here)) return rc;
    return source(c, ERR(e, ERR_DATA, "%s is not a regular file", records));
}

/* 1 if the record is the one that the result was made from. */
static int is_record_of(void *context, const struct event *ev, struct err *e)
{
    const struct remote *remote = context;
    struct record r;

    if ((int64_t)ev->sequence != remote->sequence) return 0;
    TRY(record_read(&r, ev, e));
    const char *found = r.type == EVENT_TRAINED     ? r.trained.last_sha256
                        : r.type == EVENT_EVALUATED ? r.evaluated.checkpoint_sha256
                                                    : NULL;
    return found && remote->sha256 ? strcmp(found, remote->sha256) == 0 : found == remote->sha256;
}

/* The folder, or the one of the same name in the other project; NULL: neither exists. */
static int find_folder(struct copies *c, struct remote *remote, const char *name, const char **from,
                       struct err *e)
{
    bool holds = file_exists(run_folder_path(&c->arena, remote->dir, RUN_EVENTS));

    *from = holds ? remote->dir : NULL;
    if (holds || !c->other) return 0;
    const char *dir = arena_printf(&c->arena, "%s/%s", c->other, name);
    int rc = run_folder_each(dir, is_record_of, remote, e);
    if (rc == 1) *from = dir;
    return rc < 0 ? rc : 0;
}

static int copy_folder(struct store *s, struct copies *c, struct remote *remote, bool *copied,
                       struct err *e)
{
    char run_id[SPEC_ID_BYTES], *dir;
    const char *from;
    int32_t attempt;

    *copied = false;
    if (!run_folder_parse(remote->dir, run_id, &attempt)) return 0;
    TRY(source(c, find_folder(c, remote, run_folder_name(&c->arena, run_id, attempt), &from, e)));
    if (!from) return 0;
    TRY(run_folder_claim(&dir, &attempt, &c->arena, c->project->root, run_id, attempt, e));
    const char *here = project_path(c->project, &c->arena, dir);
    double before = c->bytes;
    int rc = copy_files(c, from, here, e);
    if (rc < 0) {
        c->bytes = before;
        dir_remove_tree(AT_FDCWD, here, NULL, NULL);
        return rc;
    }
    TRY(DATABASE_RUN(s, e, "UPDATE run_attempts SET dir=?2 WHERE dir=?1",
                     DATABASE_TEXT(remote->dir), DATABASE_TEXT(dir)));
    *copied = true;
    return 0;
}

/* Lists the folders of current results in other projects, in the arena. */
static int list_remote(struct store *s, struct copies *c, struct remote **out, int32_t *n,
                       struct err *e)
{
    static const char sql[] =
        "SELECT a.dir, max(v.sequence), coalesce(v.last_sha256,v.checkpoint_sha256)"
        " FROM run_attempts a JOIN results v USING(attempt_id)"
        " WHERE v.current=1 AND substr(a.dir,1,1)='/' GROUP BY a.dir ORDER BY a.dir";
    struct {
        struct remote *item;
        int32_t n, capacity;
    } all = {0};
    sqlite3_stmt *row;
    int rc;

    TRY(database_select(s, &row, sql, NULL, 0, e));
    while ((rc = database_next(s, row, e)) > 0) {
        const char *sha256 = (const char *)sqlite3_column_text(row, 2);
        const char *dir = (const char *)sqlite3_column_text(row, 0);
        *vec_push(&c->arena, &all) =
            (struct remote){.dir = arena_strdup(&c->arena, dir),
                            .sha256 = sha256 ? arena_strdup(&c->arena, sha256) : NULL,
                            .sequence = sqlite3_column_int64(row, 1)};
    }
    *out = all.item;
    *n = all.n;
    return rc;
}

int ingest_copy_folders(struct store *s, const struct project *p, const char *other,
                        struct ingest_copies *out, struct err *e)
{
    struct copies c = {.project = p, .other = other};
    struct remote *remote = NULL;
    int32_t n = 0;
    bool copied;
    int rc = 0;

    *out = (struct ingest_copies){0};
    arena_init(&c.arena);
    TRY_OUT(rc, list_remote(s, &c, &remote, &n, e));
    for (int32_t i = 0; i < n; i++) {
        struct err why = {0};
        c.unreadable = false;
        rc = copy_folder(s, &c, &remote[i], &copied, &why);
        if (rc < 0 && !c.unreadable) {
            rc = ERR(e, rc, "%s", why.text);
            goto out;
        }
        if (rc < 0) leave_out(&out->skipped_n, out->why, sizeof out->why, remote[i].dir, &why);
        rc = 0;
        out->folders_n += copied;
        out->remote_n += !copied;
    }
out:
    out->bytes = c.bytes;
    arena_fini(&c.arena);
    return rc;
}
