/* command_store.c - alibi merge, gc, verify: keeping results and disk in order. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/str.h"
#include "cli/planning.h"
#include "store/store.h"

int cli_merge(struct cli *c, const struct cli_command *self, int argc, char **argv, struct err *e)
{
    struct cli_list rest;
    struct store *store = NULL;
    struct stat st;
    int32_t added = 0;
    int rc = cli_parse(c, self, NULL, argc, argv, &rest, 1, 1, e);

    if (rc != 0) return rc < 0 ? rc : 0;
    TRY(cli_open(c, e));
    const char *path = rest.item[0];
    if (stat(path, &st) < 0) return ERR(e, ERR_NOINPUT, "%s: %s", path, strerror(errno));
    if (S_ISDIR(st.st_mode)) path = arena_printf(&c->arena, "%s/results.db", path);
    TRY_OUT(rc, store_open(&store, cli_results(c), STORE_WRITE, e));
    TRY_OUT(rc, store_merge(store, path, &added, e));
    printf("%d results taken over from %s\n", added, path);
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
                           e)); /* the lock: no run is in progress */
    TRY_OUT(rc, store_query(store, needless_sql, NULL, 0, 60, remove_attempt, &r, e));
    printf("%d attempts removed, %s given back\n", r.folders_n, planning_bytes(&c->arena, r.bytes));
out:
    store_close(store);
    return rc;
}

struct verification {
    struct cli *cli;
    struct store *store;
    const char *prefix;
    int32_t checked, wrong;
};

static int verify_training(void *context, int columns_n, const char *const *names,
                           const struct store_cell *cells, struct err *e)
{
    static const enum spec_checkpoint which[] = {SPEC_BEST, SPEC_LAST};
    struct verification *v = context;
    char path[256], want[HASH_HEX_BYTES], got[HASH_HEX_BYTES];

    (void)columns_n;
    (void)names;
    if (v->prefix && strncmp(cells[0].text, v->prefix, strlen(v->prefix)) != 0) return 0;
    for (size_t i = 0; i < sizeof which / sizeof *which; i++) {
        struct err why = {0};
        TRY(store_checkpoint(v->store, cells[0].text, which[i], path, want, e));
        int rc = hash_file(got, project_path(&v->cli->project, &v->cli->arena, path), &why);
        bool ok = rc == 0 && strcmp(got, want) == 0;
        printf("%-5s %s\n", ok ? "ok" : "WRONG", path);
        if (!ok)
            printf("      %s\n",
                   rc < 0 ? why.text
                          : arena_printf(&v->cli->arena, "hash %s, recorded %s", got, want));
        v->checked++;
        v->wrong += !ok;
    }
    return 0;
}

int cli_verify(struct cli *c, const struct cli_command *self, int argc, char **argv, struct err *e)
{
    struct cli_list rest;
    struct store *store = NULL;
    int rc = cli_parse(c, self, NULL, argc, argv, &rest, 0, 1, e);

    if (rc != 0) return rc < 0 ? rc : 0;
    TRY(cli_open(c, e));
    TRY_OUT(rc, store_open(&store, cli_results(c), STORE_READ, e));
    TRY_OUT(rc, store_check(store, e));
    struct verification v = {.cli = c, .store = store, .prefix = rest.n ? rest.item[0] : NULL};
    TRY_OUT(rc, store_query(store, "SELECT run_id FROM trainings ORDER BY run_id", NULL, 0, 3600,
                            verify_training, &v, e));
    printf("results.db is whole; %d checkpoints hashed, %d wrong\n", v.checked, v.wrong);
    if (v.wrong)
        rc = ERR(e, ERR_DATA,
                 "%d checkpoints are not what was recorded; run the artefact with --redo to make "
                 "them again",
                 v.wrong);
    else if (v.prefix && v.checked == 0)
        rc = ERR(e, ERR_NOINPUT, "%s: no finished training begins so", v.prefix);
out:
    store_close(store);
    return rc;
}
