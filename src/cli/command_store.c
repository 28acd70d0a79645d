/* command_store.c - alibi merge, gc: keeping results and disk in order. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/planning.h"
#include "scheduler/adopt.h"
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

/* From the run folders alone: those of this project, whose results.db was lost, or another's. */
static int merge_folders(struct cli *c, struct store *store, const char *path, struct err *e)
{
    struct adopt_result r;
    char *runs = NULL;

    TRY(find_runs(c, path, &runs, e));
    TRY(scheduler_adopt(store, &c->project, runs, &r, e));
    if (r.folders_n == 0)
        return ERR(e, ERR_NOINPUT,
                   "%s: holds neither results.db nor run folders (runs/<run>/<attempt>/)", path);
    printf("%d attempts taken over from %d folders of %s, %d known before", r.attempts_n,
           r.folders_n, runs, r.known_n);
    if (r.skipped_n) printf(", %d folders left out (the first: %s)", r.skipped_n, r.why);
    printf("\nnext: alibi run ARTEFACT, which runs nothing that is here and registers what the "
           "artefact asks for\n");
    return 0;
}

static int merge_database(struct store *store, const char *path, struct err *e)
{
    int32_t added = 0;

    TRY(store_merge(store, path, &added, e));
    printf("%d results taken over from %s\n", added, path);
    return 0;
}

static int bring_home(struct cli *c, struct store *store, const char *other, struct err *e)
{
    int32_t folders_n, away_n;
    double bytes;

    TRY(store_bring_home(store, other, &folders_n, &bytes, &away_n, e));
    if (folders_n)
        printf("%d run folders brought home to runs/, %s\n", folders_n,
               planning_bytes(&c->arena, bytes));
    if (away_n)
        printf("%d run folders are not to be found: their numbers are here, their checkpoints are "
               "not; alibi merge FOLDER brings them\n",
               away_n);
    return 0;
}

int cli_merge(struct cli *c, const struct cli_command *self, int argc, char **argv, struct err *e)
{
    struct cli_list rest;
    struct store *store = NULL;
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
        TRY_OUT(rc, merge_folders(c, store, path, e));
    else
        TRY_OUT(rc, merge_database(store, folder ? database : path, e));
    rc = bring_home(c, store, folder ? path : NULL, e);
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
    struct cli *cli;
    double bytes;
    int32_t folders_n;
};

/* Removes the plain files of runs/<run>/<attempt> and the folder itself. */
static int remove_attempt(void *context, int columns_n, const char *const *names,
                          const struct store_cell *cells, struct err *e)
{
    struct removal *r = context;
    struct arena *a = &r->cli->arena;
    struct dirent *entry;
    struct stat st;

    (void)columns_n;
    (void)names;
    char *dir = project_path(&r->cli->project, a, cells[0].text);
    if (strncmp(cells[0].text, "runs/", 5) != 0 || strstr(cells[0].text, "..")) return 0;
    *strrchr(dir, '/') = '\0'; /* the log's name */
    DIR *folder = opendir(dir);
    if (!folder) return 0; /* given back before */
    while ((entry = readdir(folder))) {
        char *path = arena_printf(a, "%s/%s", dir, entry->d_name);
        if (lstat(path, &st) < 0 || S_ISDIR(st.st_mode)) continue;
        if (unlink(path) < 0) {
            closedir(folder);
            return ERR(e, ERR_IO, "%s: %s", path, strerror(errno));
        }
        r->bytes += (double)st.st_size;
    }
    closedir(folder);
    rmdir(dir);
    r->folders_n++;
    return 0;
}

int cli_gc(struct cli *c, const struct cli_command *self, int argc, char **argv, struct err *e)
{
    struct cli_list rest;
    struct store *store = NULL;
    struct removal r = {.cli = c};
    int rc = cli_parse(c, self, NULL, argc, argv, &rest, 0, 0, e);

    if (rc != 0) return rc < 0 ? rc : 0;
    TRY(cli_open(c, e));
    if (!file_exists(cli_results(c)))
        return ERR(e, ERR_NOINPUT, "%s: not there; nothing to give back", cli_results(c));
    TRY_OUT(rc, store_open(&store, cli_results(c), STORE_WRITE,
                           e)); /* the lock: no scheduler is at work */
    TRY_OUT(rc, store_query(store, needless_sql, NULL, 0, 60, remove_attempt, &r, e));
    printf("%d attempts removed, %s given back\n", r.folders_n, planning_bytes(&c->arena, r.bytes));
out:
    store_close(store);
    return rc;
}
