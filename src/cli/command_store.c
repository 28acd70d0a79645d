/* command_store.c - alibi merge, gc: keeping results and disk in order. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/dir.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/planning.h"
#include "store/ingest.h"
#include "store/store.h"

/* The folder of run folders that lies where results.db does not: PATH/runs, or PATH itself. */
static int find_runs(struct cli *c, const char *path, char **runs, struct err *e)
{
    const char *below = arena_printf(&c->arena, "%s/runs", path);
    char *absolute = realpath(file_exists(below) ? below : path, NULL);

    if (!absolute) return ERR(e, ERR_NOINPUT, "%s: %s", path, strerror(errno));
    *runs = arena_strdup(&c->arena, absolute);
    free(absolute);
    return 0;
}

/* What a merge left out: one folder does not keep back the others. */
struct left_out {
    int32_t n;
    const char *why; /* the first of them */
};

static void leave_out(struct left_out *l, struct cli *c, int32_t n, const char *why)
{
    if (n > 0 && l->n == 0) l->why = arena_strdup(&c->arena, why);
    l->n += n;
}

/* From the run folders alone: those of this project, whose results.db was lost, or another's. */
static int merge_folders(struct cli *c, struct store *store, const char *path, struct left_out *l,
                         struct err *e)
{
    struct ingest_summary r;
    char *runs = NULL;

    TRY(find_runs(c, path, &runs, e));
    TRY(ingest_run_folders(store, &c->project, runs, &r, e));
    if (r.folders_n == 0)
        return ERR(e, ERR_NOINPUT,
                   "%s: holds neither results.db nor run folders (runs/<run>/<attempt>/)", path);
    printf("%d attempts taken over from %d folders of %s, %d known before", r.attempts_n,
           r.folders_n, runs, r.known_n);
    if (r.skipped_n) printf(", %d folders left out (the first: %s)", r.skipped_n, r.why);
    printf("\nnext: alibi run ARTEFACT, which runs nothing that is here and registers what the "
           "artefact asks for\n");
    leave_out(l, c, r.skipped_n, r.why);
    return 0;
}

static int merge_database(struct store *store, const char *path, struct err *e)
{
    int32_t added = 0;

    TRY(store_merge(store, path, &added, e));
    printf("%d results taken over from %s\n", added, path);
    return 0;
}

static int bring_home(struct cli *c, struct store *store, const char *other, struct left_out *l,
                      struct err *e)
{
    struct ingest_copies h;

    TRY(ingest_copy_folders(store, &c->project, other, &h, e));
    if (h.folders_n)
        printf("%d run folders brought home to runs/, %s\n", h.folders_n,
               planning_bytes(&c->arena, h.bytes));
    if (h.remote_n)
        printf("%d run folders are not to be found: their numbers are here, their checkpoints are "
               "not; alibi merge FOLDER brings them\n",
               h.remote_n);
    if (h.skipped_n) printf("%d of them cannot be read (the first: %s)\n", h.skipped_n, h.why);
    leave_out(l, c, h.skipped_n, h.why);
    return 0;
}

int cli_merge(struct cli *c, const struct cli_command *self, int argc, char **argv, struct err *e)
{
    struct cli_list rest;
    struct store *store = NULL;
    struct left_out left = {0};
    struct stat st;
    int rc = cli_parse(c, self, NULL, argc, argv, &rest, 1, 1, e);

    if (rc != 0) return rc < 0 ? rc : 0;
    TRY(cli_open(c, e));
    const char *path = rest.item[0];
    if (stat(path, &st) < 0) return ERR(e, ERR_NOINPUT, "%s: %s", path, strerror(errno));
    const char *database = arena_printf(&c->arena, "%s/results.db", path);
    bool folder = S_ISDIR(st.st_mode), folders = folder && !file_exists(database);
    TRY_OUT(rc, store_open(&store, cli_results(c), STORE_WRITE, e));
    if (folders)
        TRY_OUT(rc, merge_folders(c, store, path, &left, e));
    else
        TRY_OUT(rc, merge_database(store, folder ? database : path, e));
    TRY_OUT(rc, bring_home(c, store, folder ? path : NULL, &left, e));
    if (left.n)
        rc = ERR(e, ERR_DATA, "%d run folder%s left out; the first: %s", left.n,
                 left.n == 1 ? "" : "s", left.why);
out:
    store_close(store);
    return rc;
}

/* Attempt folders that no current result and no run that may still resume needs. */
static const char needless_sql[] =
    "SELECT DISTINCT a.log_path FROM attempts a WHERE a.state <> 'running' AND NOT EXISTS"
    " (SELECT 1 FROM attempts d WHERE d.log_path = a.log_path AND d.current_result)"
    " AND EXISTS (SELECT 1 FROM attempts b WHERE b.run_id = a.run_id AND b.current_result)";

struct removal {
    struct dir runs;
    double bytes;
    int32_t folders_n;
};

/* Removes runs/RUN/N of a log's path. A link in place of RUN or N is left as it is, and so is what
 * it points to: it was not made here. */
static int remove_attempt(void *context, int columns_n, const char *const *names,
                          const struct store_cell *cells, struct err *e)
{
    struct removal *r = context;
    const char *log_path = cells[0].text;
    char run[SPEC_ID_BYTES], number[12];
    int end = 0, rc = 0;
    struct dir d;
    struct err why;
    struct stat st;

    (void)columns_n;
    (void)names;
    if (sscanf(log_path, "runs/%16[0-9a-f]/%10[0-9]/log%n", run, number, &end) != 2 || end == 0 ||
        log_path[end] != '\0' || strlen(run) != SPEC_ID_BYTES - 1)
        return 0; /* another project's */
    if (dir_open_at(&d, &r->runs, run, &why) < 0) {
        if (why.code != ERR_NOINPUT) log_warn("runs/%s is left as it is: %s", run, why.text);
        return 0;
    }
    if (fstatat(d.fd, number, &st, AT_SYMLINK_NOFOLLOW) < 0) goto out; /* removed before */
    if (!S_ISDIR(st.st_mode)) {
        log_warn("runs/%s/%s is left as it is: not a directory", run, number);
        goto out;
    }
    rc = dir_remove_tree(d.fd, number, &r->bytes, e);
    if (rc < 0) err_ctx(e, "runs/%s", run);
    r->folders_n += rc == 0;
out:
    dir_close(&d);
    return rc;
}

int cli_gc(struct cli *c, const struct cli_command *self, int argc, char **argv, struct err *e)
{
    struct cli_list rest;
    struct store *store = NULL;
    struct removal r = {.runs.fd = -1};
    int rc = cli_parse(c, self, NULL, argc, argv, &rest, 0, 0, e);

    if (rc != 0) return rc < 0 ? rc : 0;
    TRY(cli_open(c, e));
    if (!file_exists(cli_results(c)))
        return ERR(e, ERR_NOINPUT, "%s: not there; nothing to give back", cli_results(c));
    TRY_OUT(rc, store_open(&store, cli_results(c), STORE_WRITE,
                           e)); /* the lock: no scheduler is at work */
    const char *runs = project_path(&c->project, &c->arena, "runs");
    if (file_exists(runs)) {
        TRY_OUT(rc, dir_open(&r.runs, runs, e));
        TRY_OUT(rc, store_query(store, needless_sql, NULL, 0, 60, remove_attempt, &r, e));
    }
    printf("%d attempts removed, %s given back\n", r.folders_n, planning_bytes(&c->arena, r.bytes));
out:
    dir_close(&r.runs);
    store_close(store);
    return rc;
}
