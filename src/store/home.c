/* home.c - the folders of results that were merged come home.
 *
 * 1. Only folders of current results: what nothing shows stays where it was made.
 * 2. A folder is looked for where its rows name it, and under runs/ of the project that is given: a
 *    results.db may have travelled without its run folders. The second must hold the very record.
 * 3. The folder gets the first number that is free from its own on. Files are linked, or copied
 *    where a link cannot be; the records go last, because a folder without them counts for nobody.
 * 4. The rows of its attempts name the new folder only when all is there.
 * 5. A folder that cannot be read is left out; one that cannot be written ends the call. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/dir.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "record/event.h"
#include "store/database.h"

enum { HOME_NUMBER_MAX = 1000000 };

struct home {
    struct arena arena;
    char *root;        /* the project's folder */
    const char *other; /* another's, which may be NULL */
    bool unreadable;   /* the error is one of the folder to bring */
    double bytes;
};

/* A folder that is elsewhere, and one result in it by which it is known again. */
struct away {
    const char *dir, *sha256; /* of the checkpoint; NULL: a benchmark, which has none */
    int64_t sequence;
};

/* runs/<run>/<number> of a folder's path; false when it does not end so. */
static bool split_path(const char *dir, struct arena *a, const char **run, int64_t *number)
{
    char *path = arena_strdup(a, dir), *slash = strrchr(path, '/');

    if (!slash || !str_to_int(number, slash + 1) || *number < 1) return false;
    *slash = '\0';
    slash = strrchr(path, '/');
    *run = slash ? slash + 1 : path;
    return strlen(*run) == 16 && strspn(*run, "0123456789abcdef") == 16;
}

static int claim_folder(struct home *h, const char *run, int64_t number, const char **dir,
                        struct err *e)
{
    TRY(file_make_dirs(arena_printf(&h->arena, "%s/runs/%s", h->root, run), e));
    for (; number <= HOME_NUMBER_MAX; number++) {
        *dir = arena_printf(&h->arena, "runs/%s/%lld", run, (long long)number);
        const char *path = arena_printf(&h->arena, "%s/%s", h->root, *dir);
        if (mkdir(path, 0777) == 0) return 0;
        if (errno != EEXIST)
            return ERR(e, ERR_CREATE, "%s: cannot be created: %s", path, strerror(errno));
    }
    return ERR(e, ERR_CREATE, "%s/runs/%s: holds more than %d attempts", h->root, run,
               HOME_NUMBER_MAX);
}

/* The result of a call that only reads the folder to bring. */
static int source(struct home *h, int rc)
{
    if (rc < 0) h->unreadable = true;
    return rc;
}

static int bring_file(struct home *h, const char *from, const char *to, struct err *e)
{
    struct file_map map;
    struct stat st;

    if (lstat(from, &st) < 0) return source(h, ERR(e, ERR_IO, "%s: %s", from, strerror(errno)));
    if (!S_ISREG(st.st_mode)) return 0;
    h->bytes += (double)st.st_size;
    if (link(from, to) == 0) return 0;
    TRY(source(h, file_map_open(&map, from, e)));
    int rc = file_write_atomic(to, map.data, map.n, e);
    file_map_close(&map);
    return rc;
}

/* All plain files of a folder, the records last. */
static int bring_files(struct home *h, const char *from, const char *to, struct err *e)
{
    const char *records = arena_printf(&h->arena, "%s/events", from);
    const char *records_here = arena_printf(&h->arena, "%s/events", to);
    struct dir d;
    int rc = 0;

    TRY(source(h, dir_open(&d, from, e)));
    for (int32_t i = 0; rc == 0 && i < d.n; i++) {
        const char *name = d.name_own[i];
        if (name[0] == '.' || strcmp(name, "events") == 0) continue;
        rc = bring_file(h, arena_printf(&h->arena, "%s/%s", from, name),
                        arena_printf(&h->arena, "%s/%s", to, name), e);
    }
    dir_close(&d);
    if (rc == 0) rc = bring_file(h, records, records_here, e);
    if (rc < 0 || file_exists(records_here)) return rc;
    return source(h, ERR(e, ERR_DATA, "%s is not a regular file", records));
}

/* Whether the records of a folder are those the result was made from. */
static int holds_record(struct home *h, const char *dir, const struct away *away, bool *holds,
                        struct err *e)
{
    struct event_reader *reader = NULL;
    struct event record;
    int rc;

    *holds = false;
    TRY(event_reader_open(&reader, arena_printf(&h->arena, "%s/events", dir), e));
    while ((rc = event_read(reader, &record, e)) == 1) {
        if ((int64_t)record.sequence != away->sequence) continue;
        const char *name = record.type == EVENT_TRAINED ? "last_sha256" : "checkpoint_sha256";
        const char *found = json_string_value(json_object_get(record.json, name));
        *holds = found && away->sha256 ? strcmp(found, away->sha256) == 0 : found == away->sha256;
        break;
    }
    event_reader_close(reader);
    return rc < 0 ? rc : 0;
}

/* The folder itself, or the one of its name in the other project; NULL: neither is there. */
static int find_folder(struct home *h, const struct away *away, const char *run, int64_t number,
                       const char **from, struct err *e)
{
    bool holds = file_exists(arena_printf(&h->arena, "%s/events", away->dir));

    *from = holds ? away->dir : NULL;
    if (holds || !h->other) return 0;
    const char *dir = arena_printf(&h->arena, "%s/runs/%s/%lld", h->other, run, (long long)number);
    TRY(holds_record(h, dir, away, &holds, e));
    if (holds) *from = dir;
    return 0;
}

static int bring_folder(struct store *s, struct home *h, const struct away *away, bool *came,
                        struct err *e)
{
    const char *run, *from, *dir = NULL;
    int64_t number;

    *came = false;
    if (!split_path(away->dir, &h->arena, &run, &number)) return 0;
    TRY(source(h, find_folder(h, away, run, number, &from, e)));
    if (!from) return 0;
    TRY(claim_folder(h, run, number, &dir, e));
    const char *here = arena_printf(&h->arena, "%s/%s", h->root, dir);
    double before = h->bytes;
    int rc = bring_files(h, from, here, e);
    if (rc < 0) {
        h->bytes = before;
        dir_remove_tree(AT_FDCWD, here, NULL, NULL);
        return rc;
    }
    TRY(DATABASE_RUN(s, e, "UPDATE run_attempts SET dir=?2 WHERE dir=?1", DATABASE_TEXT(away->dir),
                     DATABASE_TEXT(dir)));
    *came = true;
    return 0;
}

/* The folders of current results that lie elsewhere, in the arena; dir NULL ends them. */
static int list_away(struct store *s, struct home *h, struct away **out, struct err *e)
{
    static const char sql[] =
        "SELECT a.dir, max(v.sequence), coalesce(v.last_sha256,v.checkpoint_sha256)"
        " FROM run_attempts a JOIN results v USING(attempt_id)"
        " WHERE v.current=1 AND substr(a.dir,1,1)='/' GROUP BY a.dir ORDER BY a.dir";
    int64_t n = 0, i = 0;
    sqlite3_stmt *row;
    int rc;

    TRY(database_number(
        s, &n, "SELECT count(DISTINCT dir) FROM run_attempts WHERE substr(dir,1,1)='/'", e));
    *out = arena_array(&h->arena, (size_t)n + 1, sizeof **out);
    TRY(database_select(s, &row, sql, NULL, 0, e));
    while ((rc = database_next(s, row, e)) > 0) {
        const char *sha256 = (const char *)sqlite3_column_text(row, 2);
        (*out)[i++] =
            (struct away){.dir = arena_strdup(&h->arena, (const char *)sqlite3_column_text(row, 0)),
                          .sha256 = sha256 ? arena_strdup(&h->arena, sha256) : NULL,
                          .sequence = sqlite3_column_int64(row, 1)};
    }
    return rc;
}

int ingest_copy_folders(struct store *s, const char *other, struct store_home *out, struct err *e)
{
    struct home h = {.other = other};
    struct away *away = NULL;
    bool came;
    int rc = 0;

    *out = (struct store_home){0};
    arena_init(&h.arena);
    h.root = arena_strndup(&h.arena, s->path, (size_t)(strrchr(s->path, '/') - s->path));
    TRY_OUT(rc, list_away(s, &h, &away, e));
    for (int64_t i = 0; away[i].dir; i++) {
        h.unreadable = false;
        rc = bring_folder(s, &h, &away[i], &came, e);
        if (rc < 0 && !h.unreadable) goto out;
        if (rc < 0) log_warn("%s is left out: %s", away[i].dir, e->text);
        if (rc < 0 && out->skipped_n++ == 0)
            snprintf(out->why, sizeof out->why, "%s: %s", away[i].dir, e->text);
        rc = 0;
        out->folders_n += came;
        out->remote_n += !came;
    }
out:
    out->bytes = h.bytes;
    arena_fini(&h.arena);
    return rc;
}
