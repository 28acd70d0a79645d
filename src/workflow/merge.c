/* merge.c - results made elsewhere, or a lost results.db made again from the run folders. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "workflow/workflow.h"

/* The folder of run folders of a path without results.db: PATH/runs, or PATH itself. */
static int find_runs(struct arena *a, const char *path, const char **runs, struct err *e)
{
    const char *below = arena_printf(a, "%s/runs", path);
    char *absolute = realpath(file_exists(below) ? below : path, NULL);

    if (!absolute) return ERR(e, ERR_NOINPUT, "%s: %s", path, strerror(errno));
    *runs = arena_strdup(a, absolute);
    free(absolute);
    return 0;
}

/* One folder that cannot be read does not keep back the others. */
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
