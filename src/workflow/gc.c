/* gc.c - deletes the folders of superseded attempts. */
#include <string.h>

#include "record/run_folder.h"
#include "workflow/workflow.h"

/* Attempt folders that no current result and no run that may still resume needs. */
static const char needless_sql[] =
    "SELECT DISTINCT a.log_path FROM attempts a WHERE a.state <> 'running' AND NOT EXISTS"
    " (SELECT 1 FROM attempts d WHERE d.log_path = a.log_path AND d.current_result)"
    " AND EXISTS (SELECT 1 FROM attempts b WHERE b.run_id = a.run_id AND b.current_result)";

struct removal {
    const struct project *project;
    struct gc_result *result;
};

/* Removes the folder of a log, if it is one of this project's. */
static int remove_attempt(void *context, int columns_n, const char *const *names,
                          const struct store_cell *cells, struct err *e)
{
    struct removal *r = context;
    struct arena a;
    char run_id[SPEC_ID_BYTES];
    int32_t attempt;
    bool removed = false;

    (void)columns_n;
    (void)names;
    arena_init(&a);
    const char *log_path = cells[0].text, *slash = strrchr(log_path, '/');
    const char *dir = arena_strndup(&a, log_path, slash ? (size_t)(slash - log_path) : 0);
    bool own = run_folder_parse(dir, run_id, &attempt) &&
               strcmp(dir, run_folder_name(&a, run_id, attempt)) == 0;
    arena_fini(&a);
    if (!own) return 0;
    TRY(run_folder_remove(r->project->root, run_id, attempt, &removed, &r->result->bytes, e));
    r->result->folders_n += removed;
    return 0;
}

int workflow_gc(struct gc_result *out, const struct project *project, struct store *store,
                struct err *e)
{
    struct removal r = {project, out};

    *out = (struct gc_result){0};
    return store_query(store, needless_sql, NULL, 0, 60, remove_attempt, &r, e);
}
