/* merge.c - `alibi merge`: results made elsewhere, and a lost results.db, from run folders
 * and databases.
 *
 * Run folders
 *   1. list    the folders with a spec and records: trainings first, then evaluations as they ended
 *   2. name    the uid of an attempt is a hash of its run and records, so that it is added once;
 *              with a random uid it is known by the records in its folder
 *   3. add     runs and running rows; an evaluation needs the spec of its training, added before
 *   4. end     as after a crash: ingest the records; the last one decides
 *
 * A database, whose rows merge_rows.c copies
 *   5. The other file is not changed. It must be undamaged and readable (see schema_steps), and the
 *      folders of its current results must exist: a result whose records are absent cannot be
 *      verified, nor its training evaluated.
 *   6. An attempt is known by its uid, or by its records if both folders can be read. Attempts that
 *      run there are left out. The others get the next numbers of their run here, and the absolute
 *      path of their folder there.
 *   7. A result becomes current only if the run has none; an evaluation of another checkpoint than
 *      the current training's does not.
 *   Rows are copied although records are the truth: points, and whether a run is modified, are in
 *   no folder, and `alibi gc` deletes the folders of superseded attempts. store/publish.c copies
 *   the rows of a file without folders.
 *
 * Then their folders
 *   8. Only folders of current results are copied.
 *   9. Files are linked, or copied if linking fails. The records come last, because a folder
 *      without them counts as not started; then the rows name the new folder.
 *  10. A folder that cannot be read is left out; one that cannot be written ends the call. The next
 *      merge tries it again. */
#include "store/merge.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/map.h"
#include "record/fields.h"
#include "shape/shape.h"
#include "store/database.h"
#include "store/schema.h"
#include "store/statements.h"

static void leave_out(struct merge_skipped *s, const char *path, const char *why)
{
    if (s->n++ == 0) snprintf(s->why, sizeof s->why, "%s: %s", path, why);
    log_warn("%s is left out: %s", path, why);
}

/* --- run folders: 1. list ------------------------------------------------------------------- */

struct found_folder {
    const struct run_folder *folder;
    char records[HASH_HEX_BYTES]; /* the hash of its records */
    int64_t began_ns, ended_ns;   /* by the times of spec and records */
    struct spec *spec;
    int32_t specs_n;
    int32_t generation; /* of a training: how many others here it goes back to */
};

enum { SECOND_NS = 1000000000 };

static int read_time(int64_t *out_ns, const char *path, struct err *e)
{
    struct stat st;

    if (stat(path, &st) < 0) return ERR(e, ERR_IO, "%s: %s", path, strerror(errno));
    *out_ns = (int64_t)st.st_mtim.tv_sec * SECOND_NS + st.st_mtim.tv_nsec;
    return 0;
}

static int read_source(struct merge *m, struct found_folder *f, struct err *e)
{
    const char *path = f->folder->path;
    const char *events = run_folder_path(&m->arena, path, RUN_EVENTS);

    if (f->folder->why) return ERR(e, ERR_DATA, "%s", f->folder->why);
    TRY(hash_file(f->records, events, e));
    TRY(run_folder_read_specs(&f->spec, &f->specs_n, &m->arena, path, e));
    TRY(read_time(&f->began_ns, run_folder_path(&m->arena, path, RUN_SPEC), e));
    return read_time(&f->ended_ns, events, e);
}

static int compare_sources(const void *a, const void *b)
{
    const struct found_folder *x = a, *y = b;
    bool x_eval = x->spec[0].kind == SPEC_EVAL, y_eval = y->spec[0].kind == SPEC_EVAL;

    if (x_eval != y_eval) return x_eval - y_eval;
    if (x_eval && x->ended_ns != y->ended_ns) return x->ended_ns > y->ended_ns ? 1 : -1;
    if (x->generation != y->generation) return x->generation > y->generation ? 1 : -1;
    return (x->folder > y->folder) - (x->folder < y->folder); /* by run and number */
}

/* Counts the parents of each training, which are added before it. */
static void find_generations(struct merge *m, struct found_folder *source, int32_t n)
{
    struct map of_run; /* index of a folder of the run */

    map_init(&of_run, &m->arena);
    for (int32_t i = 0; i < n; i++)
        *map_put(&of_run, source[i].folder->run_id, SPEC_ID_BYTES - 1, NULL) = i;
    for (int32_t i = 0; i < n; i++)
        for (int32_t k = i; source[i].generation < n; source[i].generation++) {
            const char *needed = source[k].spec[0].train.from;
            if (!map_get(&of_run, needed, strlen(needed), &k)) break;
        }
}

/* --- 2. name -------------------------------------------------------------------------------- */

void ingest_uid(char out[HASH_HEX_BYTES], const char *run_id, const char *records)
{
    char text[SPEC_ID_BYTES + HASH_HEX_BYTES];
    int n = snprintf(text, sizeof text, "%s %s", run_id, records);

    hash_sha256_hex(out, text, (size_t)n);
    out[32] = '\0';
}

bool merge_hash_records(char out[HASH_HEX_BYTES], struct merge *m, const char *dir)
{
    const char *events = run_folder_path(&m->arena, dir, RUN_EVENTS);
    struct stat st;

    return stat(events, &st) == 0 && st.st_size > 0 && hash_file(out, events, NULL) == 0;
}

int merge_find_records(struct merge *m, const char *run_id, const char *records, struct err *e)
{
    char found[HASH_HEX_BYTES];
    const char *dir;
    bool known = false;
    sqlite3_stmt *row;
    int rc;

    TRY(database_select(m->store, &row,
                        "SELECT dir FROM main.run_attempts WHERE run_id=?1"
                        " UNION ALL SELECT dir FROM main.sources WHERE id=?1",
                        DATABASE_VALUES(DATABASE_TEXT(run_id)), e));
    while ((rc = database_next(m->store, row, DATABASE_COLUMNS(DATABASE_TO(dir)), e)) > 0)
        known = known || (merge_hash_records(found, m, project_path(m->project, &m->arena, dir)) &&
                          strcmp(found, records) == 0);
    return rc < 0 ? rc : known;
}

/* The folder as a row names it: the project's own without the project's path. */
static const char *row_dir(struct merge *m, const struct run_folder *f)
{
    const char *own = run_folder_name(&m->arena, f->run_id, f->attempt);

    return strcmp(project_path(m->project, &m->arena, own), f->path) == 0 ? own : f->path;
}

/* --- 3. add --------------------------------------------------------------------------------- */

/* Finds the cost and the config id of a run, which depend on the training it needs. The spec of an
 * evaluation has only its own keys; those of the training are in its row. */
static int complete_spec(struct store *s, struct spec *spec, struct shape_cost *cost,
                         char config_id[SPEC_ID_BYTES], struct err *e)
{
    struct spec whole;
    char train_config[SPEC_ID_BYTES];
    const char *text, *needed = spec_needs(spec, NULL);

    shape_cost(cost, spec);
    if (!*needed) {
        spec_config_id(spec, NULL, config_id);
        return 0;
    }
    int rc = database_get(s, "SELECT spec,config_id FROM runs WHERE run_id=?1",
                          DATABASE_VALUES(DATABASE_TEXT(needed)),
                          DATABASE_COLUMNS(DATABASE_TO(text), DATABASE_TO(train_config)), e);
    if (rc < 0) return rc;
    if (rc == 0)
        return ERR(e, ERR_NOINPUT, "%s training %s, whose folder is not here",
                   spec->kind == SPEC_EVAL ? "an evaluation of" : "continues", needed);
    TRY(spec_parse(&whole, text, e));
    if (spec->kind == SPEC_TRAIN) {
        shape_cost_continued(cost, spec, &whole);
        spec_config_id(spec, train_config, config_id);
        return 0;
    }
    whole.kind = SPEC_EVAL;
    whole.eval = spec->eval;
    memcpy(whole.scale, spec->scale, sizeof whole.scale);
    *spec = whole;
    shape_cost(cost, spec);
    spec_config_id(spec, train_config, config_id);
    return 0;
}

static int add_run(struct store *store, const struct spec *given, const char *run_id, struct err *e)
{
    struct spec s = *given;
    struct shape_cost cost;
    char config_id[SPEC_ID_BYTES];

    TRY(complete_spec(store, &s, &cost, config_id, e));
    s.modified = true; /* until a plan requests it unmodified */
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
static int find_slot(const char **out, struct merge *m, const char *path, struct err *e)
{
    struct record r;

    *out = NULL;
    int rc = run_folder_find(&r, &m->arena, path, EVENT_STARTED, e);
    if (rc != 1) return rc == ERR_DATA ? 0 : rc; /* a wrong record is judged with the others */
    bool imported = strcmp(r.started.device, RECORD_IMPORTED) == 0;
    *out = imported || !r.started.backend ? r.started.device : r.started.backend;
    return 0;
}

/* Whether the attempt or the source of a run in the folder is known: 1 or 0. */
static int is_known(struct merge *m, const struct found_folder *f, const char *run_id,
                    const char *uid, const char *dir, struct err *e)
{
    int known =
        DATABASE_EXISTS(m->store, e,
                        "SELECT 1 FROM run_attempts WHERE run_id=?1 AND (uid=?2 OR dir=?3)"
                        " UNION ALL SELECT 1 FROM sources WHERE id=?1 AND (uid=?2 OR dir=?3)",
                        DATABASE_TEXT(run_id), DATABASE_TEXT(uid), DATABASE_TEXT(dir));
    if (known == 0) known = merge_find_records(m, run_id, f->records, e);
    m->result->known_n += known > 0;
    return known;
}

/* Adds the source that the folder registers: 1, or 0 if it is known. */
static int add_source(struct merge *m, const struct found_folder *f,
                      const struct record_source *record, struct err *e)
{
    char run_id[SPEC_ID_BYTES], uid[HASH_HEX_BYTES], at[CLOCK_TEXT_BYTES];
    const char *dir = row_dir(m, f->folder);

    spec_run_id(&f->spec[0], run_id);
    if (strcmp(record->run_id, run_id) != 0)
        return ERR(e, ERR_DATA, "its record is of run %.16s, its spec of %s", record->run_id,
                   run_id);
    ingest_uid(uid, run_id, f->records);
    int known = is_known(m, f, run_id, uid, dir, e);
    if (known != 0) return known < 0 ? known : 0;
    TRY(add_run(m->store, &f->spec[0], run_id, e));
    clock_utc_at(at, f->ended_ns / SECOND_NS);
    const struct store_source source = {.record = record,
                                        .attempt = f->folder->attempt,
                                        .dir = dir,
                                        .uid = uid,
                                        .registered_at = at};
    TRY(store_add_source(m->store, &source, e));
    return 1;
}

/* Adds the running row of one run of the folder: 1, or 0 if its attempt is known. */
static int start_row(struct merge *m, const struct found_folder *f, const struct spec *spec,
                     const char *slot, struct store_running *row, struct err *e)
{
    struct store *s = m->store;
    struct store_run_state st;
    char uid[HASH_HEX_BYTES], began[CLOCK_TEXT_BYTES];
    const char *dir = row_dir(m, f->folder);

    spec_run_id(spec, row->run_id);
    ingest_uid(uid, row->run_id, f->records);
    int known = is_known(m, f, row->run_id, uid, dir, e);
    if (known != 0) return known < 0 ? known : 0;
    TRY(add_run(s, spec, row->run_id, e));
    TRY(store_run_state(s, row->run_id, &st, e));
    bool own = strcmp(row->run_id, f->folder->run_id) == 0 && f->folder->attempt > st.attempts_n;
    clock_utc_at(began, f->began_ns / SECOND_NS);
    const struct store_attempt attempt = {.run_id = row->run_id,
                                          .attempt = own ? f->folder->attempt : st.attempts_n + 1,
                                          .device = slot,
                                          .dir = dir,
                                          .uid = uid,
                                          .started_at = began};
    TRY(store_start_attempt(s, &attempt, &row->attempt_id, e));
    return 1;
}

/* Steps 2 to 4 of a folder, inside a transaction. *n: rows added. */
static int add_rows(struct merge *m, const struct found_folder *f, int32_t *n, struct err *e)
{
    struct store_running *row = arena_array(&m->arena, (size_t)f->specs_n, sizeof *row);
    char ended[CLOCK_TEXT_BYTES];
    const char *slot;
    struct record r;

    *n = 0;
    int found = run_folder_find(&r, &m->arena, f->folder->path, EVENT_SOURCE, NULL);
    if (found == 1) {
        *n = add_source(m, f, &r.source, e);
        return *n < 0 ? *n : 0;
    }
    TRY(find_slot(&slot, m, f->folder->path, e));
    for (int32_t i = 0; i < f->specs_n; i++) {
        int added = start_row(m, f, &f->spec[i], slot, &row[*n], e);
        if (added < 0) return added;
        *n += added;
    }
    clock_utc_at(ended, f->ended_ns / SECOND_NS);
    return *n > 0 ? ingest_abandoned(m->store, f->folder->path, row, *n, ended, e) : 0;
}

/* Leaves out a folder with errors; an error of the store ends the call. */
static int merge_folder(struct merge *m, const struct found_folder *f, struct err *e)
{
    struct err why = {0};
    int32_t n;

    TRY(store_begin(m->store, e));
    int rc = store_finish(m->store, add_rows(m, f, &n, &why), &why);
    if (rc == 0)
        m->result->attempts_n += n;
    else if (rc == ERR_DATA || rc == ERR_NOINPUT)
        leave_out(&m->result->skipped, f->folder->path, why.text);
    else
        return ERR(e, rc, "%s: %s", f->folder->path, why.text);
    return 0;
}

static int list_folders(struct merge *m, struct run_folder **out, const char *path, struct err *e)
{
    struct merge_result *r = m->result;
    const char *below = arena_printf(&m->arena, "%s/" RUN_FOLDERS, path);

    if (!realpath(file_exists(below) ? below : path, r->runs))
        return ERR(e, ERR_NOINPUT, "%s: %s", path, strerror(errno));
    TRY(run_folder_list(out, &r->folders_n, &m->arena, r->runs, e));
    if (r->folders_n > 0) return 0;
    return ERR(e, ERR_NOINPUT,
               "%s contains neither results.db nor run folders (runs/<run>/<attempt>/)", path);
}

static int merge_folders(struct merge *m, const char *path, struct err *e)
{
    struct merge_result *r = m->result;
    struct run_folder *folder;
    int32_t n = 0;

    TRY(list_folders(m, &folder, path, e));
    struct found_folder *source = arena_array(&m->arena, (size_t)r->folders_n, sizeof *source);
    for (int32_t i = 0; i < r->folders_n; i++) {
        struct err why;
        source[n].folder = &folder[i];
        if (read_source(m, &source[n], &why) < 0)
            leave_out(&r->skipped, folder[i].path, why.text);
        else
            n++;
    }
    find_generations(m, source, n);
    qsort(source, (size_t)n, sizeof *source, compare_sources);
    for (int32_t i = 0; i < n; i++) TRY(merge_folder(m, &source[i], e));
    return database_script(m->store, schema_sources_of_attempts, e); /* of older programs */
}

/* --- a database ----------------------------------------------------------------------------- */

/* Checks that the other file is another and undamaged. s NULL: nothing is here yet. */
static int check_other(const struct store *s, struct store *other, struct err *e)
{
    if (s && other->opened.st_dev == s->opened.st_dev && other->opened.st_ino == s->opened.st_ino)
        return ERR(e, ERR_USAGE, "%s is this project's own file", other->path);
    return store_check(other, e);
}

static bool has_records(struct merge *m, const char *dir)
{
    return file_exists(run_folder_path(&m->arena, dir, RUN_EVENTS));
}

/* The folder of the other project: that of its file, or, if that is on another disk, of the link to
 * it that has this name. */
static const char *other_project(struct merge *m, const struct store *other, const char *name)
{
    const char *slash = strrchr(name, '/');
    char folder[PATH_MAX];

    if (file_exists(arena_printf(&m->arena, "%s/" RUN_FOLDERS, other->folder)) ||
        !realpath(slash ? arena_strndup(&m->arena, name, (size_t)(slash - name) + 1) : ".", folder))
        return arena_strdup(&m->arena, other->folder);
    return arena_strdup(&m->arena, folder);
}

/* Rejects a file without the run folders of its current results. */
static int check_folders(struct merge *m, struct store *other, const char *folder, struct err *e)
{
    static const char sql[] = "SELECT DISTINCT a.dir FROM run_attempts a JOIN results v"
                              " USING(attempt_id) WHERE v.current=1"
                              " UNION SELECT dir FROM sources WHERE current=1 ORDER BY 1";
    const char *dir, *first = NULL;
    int32_t n = 0;
    sqlite3_stmt *row;
    int rc;

    TRY(database_select(other, &row, sql, NULL, 0, e));
    while ((rc = database_next(other, row, DATABASE_COLUMNS(DATABASE_TO(dir)), e)) > 0) {
        dir = merge_dir(m, folder, dir);
        if (has_records(m, dir) || n++ > 0) continue;
        first = arena_strdup(&m->arena, dir);
    }
    if (rc < 0 || n == 0) return rc;
    return ERR(e, ERR_NOINPUT,
               "%s: holds results without their run folders (missing: %d, such as %s); read it "
               "where it is, as with `alibi report all --db %s`",
               other->path, n, first, other->path);
}

/* Rejects another kind of file, which the user named by mistake. */
static int check_header(const char *path, struct err *e)
{
    static const char magic[] = "SQLite format 3";
    char found[sizeof magic] = "";
    int fd = file_open_read(path, e);

    if (fd < 0) return fd;
    ssize_t n = pread(fd, found, sizeof found, 0);
    close(fd);
    if (n == (ssize_t)sizeof found && memcmp(found, magic, sizeof found) == 0) return 0;
    return ERR(e, ERR_DATA,
               "%s: is neither a project folder nor a results.db; name a project's folder, its "
               "results.db, or a folder of run folders such as runs/",
               path);
}

/* Opens the other file if it can be merged. *folder: of its project. */
static int open_other(struct merge *m, struct store **other, const char **folder, const char *path,
                      struct err *e)
{
    TRY(store_open(other, path, STORE_READ, e));
    *folder = other_project(m, *other, path);
    int rc = check_other(m->store, *other, e);
    return rc < 0 ? rc : check_folders(m, *other, *folder, e);
}

static int merge_database(struct merge *m, const char *path, struct err *e)
{
    struct store *s = m->store, *other = NULL;
    const char *folder;

    if (s->depth > 0) return ERR(e, ERR_USAGE, "merge: cannot be part of a transaction");
    int rc = open_other(m, &other, &folder, path, e);
    if (rc == 0) {
        path = arena_strdup(&m->arena, other->path);
        rc = merge_attach(m, other, e);
    }
    store_close(other);
    if (rc < 0) return rc;
    rc = merge_rows(m, folder, e);
    if (rc < 0) err_ctx(e, "merge of %s", path);
    database_script(s, "DETACH other", NULL);
    return rc;
}

/* --- their folders -------------------------------------------------------------------------- */

/* Marks an error of reading the folder to copy. */
static int reading(struct merge *m, int rc)
{
    if (rc < 0) m->unreadable = true;
    return rc;
}

static int copy_file(struct merge *m, const char *from, const char *to, double *bytes,
                     struct err *e)
{
    struct file_map map;
    struct stat st;

    if (lstat(from, &st) < 0) return reading(m, ERR(e, ERR_IO, "%s: %s", from, strerror(errno)));
    if (!S_ISREG(st.st_mode)) return 0;
    *bytes += (double)st.st_size;
    if (link(from, to) == 0) return 0;
    TRY(reading(m, file_map_open(&map, from, e)));
    int rc = file_write_atomic(to, map.data, map.n, e);
    file_map_close(&map);
    return rc;
}

/* All regular files of a folder, the records last. */
static int copy_files(struct merge *m, const char *from, const char *to, double *bytes,
                      struct err *e)
{
    const char *records = run_folder_path(&m->arena, from, RUN_EVENTS);
    const char *records_here = run_folder_path(&m->arena, to, RUN_EVENTS);
    struct dir d;
    int rc = 0;

    TRY(reading(m, dir_open(&d, from, e)));
    for (int32_t i = 0; rc == 0 && i < d.n; i++) {
        const char *path = arena_printf(&m->arena, "%s/%s", from, d.name_own[i]);
        if (d.name_own[i][0] == '.' || strcmp(path, records) == 0) continue;
        rc = copy_file(m, path, arena_printf(&m->arena, "%s/%s", to, d.name_own[i]), bytes, e);
    }
    dir_close(&d);
    if (rc == 0) rc = copy_file(m, records, records_here, bytes, e);
    if (rc < 0 || file_exists(records_here)) return rc;
    return reading(m, ERR(e, ERR_DATA, "%s is not a regular file", records));
}

static int copy_folder(struct merge *m, const char *remote, struct err *e)
{
    char run_id[SPEC_ID_BYTES], *dir;
    double bytes = 0;
    int32_t attempt;

    if (!run_folder_parse(remote, run_id, &attempt) || !has_records(m, remote)) return 0;
    TRY(run_folder_claim(&dir, &attempt, &m->arena, m->project->root, run_id, attempt, e));
    const char *here = project_path(m->project, &m->arena, dir);
    int rc = copy_files(m, remote, here, &bytes, e);
    if (rc == 0) rc = file_sync(here, e);
    if (rc < 0) {
        dir_remove_tree(AT_FDCWD, here, NULL, NULL);
        return rc;
    }
    m->result->bytes += bytes;
    m->result->copied_n++;
    TRY(DATABASE_RUN(m->store, e, "UPDATE sources SET dir=?2 WHERE dir=?1", DATABASE_TEXT(remote),
                     DATABASE_TEXT(dir)));
    return DATABASE_RUN(m->store, e, "UPDATE run_attempts SET dir=?2 WHERE dir=?1",
                        DATABASE_TEXT(remote), DATABASE_TEXT(dir));
}

struct folder_list {
    const char **item;
    int32_t n, capacity;
};

/* The folders of current results in other projects. */
static int list_remote(struct merge *m, struct folder_list *out, struct err *e)
{
    static const char sql[] =
        "SELECT DISTINCT a.dir FROM run_attempts a JOIN results v USING(attempt_id)"
        " WHERE v.current=1 AND substr(a.dir,1,1)='/'"
        " UNION SELECT dir FROM sources WHERE current=1 AND substr(dir,1,1)='/' ORDER BY 1";
    const char *dir;
    sqlite3_stmt *row;
    int rc;

    TRY(database_select(m->store, &row, sql, NULL, 0, e));
    while ((rc = database_next(m->store, row, DATABASE_COLUMNS(DATABASE_TO(dir)), e)) > 0)
        *vec_push(&m->arena, out) = dir;
    return rc;
}

static int copy_folders(struct merge *m, struct err *e)
{
    struct folder_list remote = {0};
    struct err why;

    TRY(list_remote(m, &remote, e));
    for (int32_t i = 0; i < remote.n; i++) {
        m->unreadable = false;
        int rc = copy_folder(m, remote.item[i], &why);
        if (rc < 0 && !m->unreadable) return ERR(e, rc, "%s", why.text);
        if (rc < 0) leave_out(&m->result->unreadable, remote.item[i], why.text);
    }
    return 0;
}

/* The results.db that path means; NULL: run folders. */
static int find_database(const char **out, struct merge *m, const char *path, struct err *e)
{
    bool is_folder = file_is_folder(path);

    *out = is_folder ? arena_printf(&m->arena, "%s/results.db", path) : path;
    if (!file_exists(*out)) *out = NULL;
    return is_folder || !*out ? 0 : check_header(path, e);
}

int store_merge_check(const char *path, struct err *e)
{
    struct merge_result found = {0};
    struct merge m = {.result = &found};
    struct store *other = NULL;
    struct run_folder *list;
    const char *database, *folder;
    int rc = 0;

    arena_init(&m.arena);
    TRY_OUT(rc, find_database(&database, &m, path, e));
    rc = database ? open_other(&m, &other, &folder, database, e) : list_folders(&m, &list, path, e);
    store_close(other);
out:
    arena_fini(&m.arena);
    return rc;
}

int store_merge(struct store *s, struct merge_result *out, const struct project *p,
                const char *path, struct err *e)
{
    struct merge m = {.store = s, .project = p, .result = out};
    const char *database;
    int rc = 0;

    *out = (struct merge_result){0};
    arena_init(&m.arena);
    TRY_OUT(rc, find_database(&database, &m, path, e));
    TRY_OUT(rc, database ? merge_database(&m, database, e) : merge_folders(&m, path, e));
    rc = copy_folders(&m, e);
out:
    arena_fini(&m.arena);
    return rc;
}
