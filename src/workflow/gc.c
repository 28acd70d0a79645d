/* gc.c - deletes the folders of superseded attempts. */
#include "record/run_folder.h"
#include "workflow/workflow.h"

/* Folders that neither a current result or source nor a run that may still resume needs. */
static const char needless_sql[] =
    "SELECT DISTINCT a.dir FROM attempts a WHERE a.state <> 'running' AND NOT EXISTS"
    " (SELECT 1 FROM attempts d WHERE d.dir = a.dir AND d.current_result)"
    " AND EXISTS (SELECT 1 FROM run_list b WHERE b.run_id = a.run_id AND b.state = 'done')"
    " UNION SELECT s.dir FROM sources s JOIN run_list b ON b.run_id = s.id AND b.state = 'done'"
    " WHERE NOT s.current";

int workflow_gc(struct gc_result *out, const struct project *project, struct arena *a,
                struct store *store, struct err *e)
{
    struct rows rows;

    *out = (struct gc_result){0};
    TRY(rows_read(&rows, a, store, needless_sql, NULL, 0, e));
    for (int32_t i = 0; i < rows.rows_n; i++) {
        const char *dir = store_text(&rows.row[i][0]);
        char run_id[SPEC_ID_BYTES];
        int32_t attempt;
        bool removed = false;
        if (!run_folder_parse_own(dir, run_id, &attempt)) continue;
        TRY(run_folder_remove(project->root, run_id, attempt, &removed, &out->bytes, e));
        out->folders_n += removed;
    }
    return 0;
}
