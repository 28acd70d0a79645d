/* folders.c - run folders. merge ingests results from other projects or rebuilds a lost results.db;
 * gc deletes the folders of superseded attempts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "record/run_folder.h"
#include "workflow/workflow.h"

/* Finds the folder of run folders for a path without results.db: PATH/runs or PATH. */
static int find_runs(struct arena *a, const char *path, const char **runs, struct err *e)
{
    const char *below = arena_printf(a, "%s/runs", path);
    char *absolute = realpath(file_exists(below) ? below : path, NULL);

    if (!absolute) return ERR(e, ERR_NOINPUT, "%s: %s", path, strerror(errno));
    *runs = arena_strdup(a, absolute);
    free(absolute);
    return 0;
}

/* Counts a folder that cannot be read; ingesting continues with the others. */
static void skip(struct merge_result *out, struct arena *a, int32_t n, const char *why)
{
    if (n > 0 && out->skipped_n == 0) out->why = arena_strdup(a, why);
    out->skipped_n += n;
}

int workflow_merge(struct merge_result *out, const struct project *project, struct arena *a,
                   struct store *store, const char *path, struct err *e)
{
    struct stat st;

    *out = (struct merge_result){0};
    if (stat(path, &st) < 0) return ERR(e, ERR_NOINPUT, "%s: %s", path, strerror(errno));
    bool is_folder = S_ISDIR(st.st_mode);
    const char *database = is_folder ? arena_printf(a, "%s/results.db", path) : path;
    if (file_exists(database)) {
        TRY(store_merge(store, database, &out->results_n, e));
    } else {
        TRY(find_runs(a, path, &out->folders, e));
        TRY(ingest_run_folders(store, project, out->folders, &out->summary, e));
        if (out->summary.folders_n == 0)
            return ERR(e, ERR_NOINPUT,
                       "%s contains neither results.db nor run folders (runs/<run>/<attempt>/)",
                       path);
        skip(out, a, out->summary.skipped_n, out->summary.why);
    }
    TRY(ingest_copy_folders(store, project, is_folder ? path : NULL, &out->copied, e));
    skip(out, a, out->copied.skipped_n, out->copied.why);
    return 0;
}

/* --- gc ------------------------------------------------------------------------------------- */

/* Attempt folders that neither a current result nor a run that may still resume needs. */
static const char needless_sql[] =
    "SELECT DISTINCT a.log_path FROM attempts a WHERE a.state <> 'running' AND NOT EXISTS"
    " (SELECT 1 FROM attempts d WHERE d.log_path = a.log_path AND d.current_result)"
    " AND EXISTS (SELECT 1 FROM attempts b WHERE b.run_id = a.run_id AND b.current_result)";

int workflow_gc(struct gc_result *out, const struct project *project, struct arena *a,
                struct store *store, struct err *e)
{
    struct rows rows;

    *out = (struct gc_result){0};
    TRY(rows_read(&rows, a, store, needless_sql, NULL, 0, e));
    for (int32_t i = 0; i < rows.n; i++) {
        const char *log_path = rows.row[i][0].text, *slash = strrchr(log_path, '/');
        const char *dir = arena_strndup(a, log_path, slash ? (size_t)(slash - log_path) : 0);
        char run_id[SPEC_ID_BYTES];
        int32_t attempt;
        bool removed = false;
        /* Folders elsewhere stay: they are of another project. */
        if (!run_folder_parse(dir, run_id, &attempt) ||
            strcmp(dir, run_folder_name(a, run_id, attempt)) != 0)
            continue;
        TRY(run_folder_remove(project->root, run_id, attempt, &removed, &out->bytes, e));
        out->folders_n += removed;
    }
    return 0;
}
