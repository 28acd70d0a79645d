/* gc.c - deletes the folders of superseded attempts. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/dir.h"
#include "base/file.h"
#include "base/log.h"
#include "workflow/workflow.h"

/* Attempt folders that no current result and no run that may still resume needs. */
static const char needless_sql[] =
    "SELECT DISTINCT a.log_path FROM attempts a WHERE a.state <> 'running' AND NOT EXISTS"
    " (SELECT 1 FROM attempts d WHERE d.log_path = a.log_path AND d.current_result)"
    " AND EXISTS (SELECT 1 FROM attempts b WHERE b.run_id = a.run_id AND b.current_result)";

struct removal {
    struct dir runs;
    struct gc_result *result;
};

/* Removes runs/RUN/N of a log's path. A link in place of RUN or N, and what it points to, is kept:
 * it was not made here. */
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
        if (why.code != ERR_NOINPUT) log_warn("runs/%s is kept: %s", run, why.text);
        return 0;
    }
    if (fstatat(d.fd, number, &st, AT_SYMLINK_NOFOLLOW) < 0) goto out; /* removed before */
    if (!S_ISDIR(st.st_mode)) {
        log_warn("runs/%s/%s is kept: not a directory", run, number);
        goto out;
    }
    rc = dir_remove_tree(d.fd, number, &r->result->bytes, e);
    if (rc < 0) err_ctx(e, "runs/%s", run);
    r->result->folders_n += rc == 0;
out:
    dir_close(&d);
    return rc;
}

int workflow_gc(struct gc_result *out, const struct project *project, struct store *store,
                struct err *e)
{
    struct removal r = {.runs.fd = -1, .result = out};
    struct arena scratch;
    int rc = 0;

    *out = (struct gc_result){0};
    arena_init(&scratch);
    const char *runs = project_path(project, &scratch, "runs");
    if (file_exists(runs)) {
        TRY_OUT(rc, dir_open(&r.runs, runs, e));
        rc = store_query(store, needless_sql, NULL, 0, 60, remove_attempt, &r, e);
    }
out:
    dir_close(&r.runs);
    arena_fini(&scratch);
    return rc;
}
