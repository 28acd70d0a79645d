/* gc.c - deletes the folders of attempts: superseded ones, and those of deleted runs. */
#include "base/file.h"
#include "record/run_folder.h"
#include "workflow/workflow.h"

/* Folders that neither a current result or source nor a run that may still resume needs. */
static const char needless_sql[] =
    "SELECT DISTINCT a.dir FROM attempts a WHERE a.state <> 'running' AND NOT EXISTS"
    " (SELECT 1 FROM attempts d WHERE d.dir = a.dir AND d.current_result)"
    " AND EXISTS (SELECT 1 FROM run_list b WHERE b.run_id = a.run_id AND b.state = 'done')"
    " UNION SELECT s.dir FROM sources s JOIN run_list b ON b.run_id = s.id AND b.state = 'done'"
    " WHERE NOT s.current";

/* Deletes a folder of this project; those of other projects stay. */
static int remove_folder(struct gc_result *out, const struct project *project, const char *dir,
                         struct err *e)
{
    char run_id[SPEC_ID_BYTES];
    int32_t attempt;
    bool removed = false;

    if (!run_folder_parse_own(dir, run_id, &attempt)) return 0;
    TRY(run_folder_remove(project->root, run_id, attempt, &removed, &out->bytes, e));
    out->folders_n += removed;
    return 0;
}

int workflow_gc(struct gc_result *out, const struct project *project, struct arena *a,
                struct store *store, struct err *e)
{
    struct rows rows;

    *out = (struct gc_result){0};
    TRY(rows_read(&rows, a, store, needless_sql, NULL, 0, e));
    for (int32_t i = 0; i < rows.rows_n; i++)
        TRY(remove_folder(out, project, store_text(&rows.row[i][0]), e));
    file_scratch_sweep(project_path(project, a, RUN_FOLDERS), RUN_SCRATCH, &out->bytes);
    return 0;
}

int workflow_delete(struct gc_result *out, const struct project *project,
                    const struct store_doomed *doomed, struct store *store, struct err *e)
{
    *out = (struct gc_result){0};
    for (int32_t i = 0; i < doomed->folders_n; i++)
        TRY(remove_folder(out, project, doomed->folder[i], e));
    return store_delete(store, e);
}
