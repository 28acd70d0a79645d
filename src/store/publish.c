/* publish.c - `alibi export --results`: results.db merged into an empty file in memory, without
 * what only this machine understands. */
#include <sys/stat.h>

#include "store/database.h"
#include "store/merge.h"
#include "store/open.h"
#include "store/schema.h"
#include "store/statements.h"

#define UNNUMBERED "rtrim(dir,'0123456789')" /* …/runs/RUN/ of …/runs/RUN/ATTEMPT */
#define SUPERSEDED " FROM results WHERE NOT current);"

/* A folder is named as in its own project. A superseded result, such as that of another processor,
 * loses its parts. Of a training's losses the last of each 32nd part of its updates is kept. */
static const char publish_strip[] =
    "DROP TRIGGER an_attempt_ends_once;"
    "UPDATE run_attempts SET host=NULL,boot_id=NULL,pid=NULL,pid_start=NULL,program=NULL,"
    " merged_from=NULL,"
    " dir=CASE substr(" UNNUMBERED ",-23,6) WHEN '/runs/' THEN"
    "  'runs/'||substr(" UNNUMBERED ",-17)||substr(dir,length(" UNNUMBERED ")+1)"
    "  ELSE 'runs/'||run_id||'/'||attempt END;"
    "UPDATE sources SET merged_from=NULL,path=name,dir='runs/'||id||'/'||attempt;"
    "DELETE FROM position_losses WHERE result_id IN(SELECT result_id" SUPERSEDED
    "DELETE FROM group_losses WHERE result_id IN(SELECT result_id" SUPERSEDED
    "DELETE FROM attention_heads WHERE attempt_id IN(SELECT attempt_id" SUPERSEDED
    "DELETE FROM attention_rollouts WHERE attempt_id IN(SELECT attempt_id" SUPERSEDED
    "CREATE TEMP TABLE kept(attempt_id INTEGER,step INTEGER,PRIMARY KEY(attempt_id,step))"
    "WITHOUT ROWID;"
    "INSERT INTO temp.kept SELECT attempt_id,max(step) FROM curve_points JOIN("
    "  SELECT attempt_id,max(step) AS steps FROM curve_points WHERE split='train' GROUP BY 1)"
    " USING(attempt_id) WHERE split='train' GROUP BY attempt_id,32*step/(steps+1);"
    "DELETE FROM curve_points AS c WHERE split='train' AND NOT EXISTS("
    " SELECT 1 FROM temp.kept k WHERE k.attempt_id=c.attempt_id AND k.step=c.step);"
    "DROP TABLE temp.kept;";

static int publish_rows(struct merge *m, struct err *e)
{
    static const char *const others[] = {"claim_verdicts", "paper_files", "paper_cells"};

    TRY(merge_rows(m, "", e));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        TRY(merge_table(m->store, others[i], " o WHERE true ORDER BY 1,2,3", "", e));
    TRY(database_script(m->store, "DETACH other", e));
    TRY(database_script(m->store, publish_strip, e));
    return database_script(m->store, schema_trigger, e);
}

static int publish_to(struct store *s, const char *path, const struct store_artefact *artefacts,
                      struct err *e)
{
    struct merge_result result = {0};
    struct merge m = {.result = &result};
    int rc = 0;

    arena_init(&m.arena);
    TRY_OUT(rc, database_memory(&m.store, s, false, e));
    TRY_OUT(rc, merge_attach(&m, s, e));
    TRY_OUT(rc, publish_rows(&m, e));
    if (artefacts) {
        TRY_OUT(rc, store_doom_others(m.store, artefacts, e));
        TRY_OUT(rc, store_delete(m.store, e));
    }
    rc = database_write(m.store, path, e);
out:
    store_close(m.store);
    arena_fini(&m.arena);
    return rc;
}

int store_publish(struct store *s, const char *path, const struct store_artefact *artefacts,
                  struct err *e)
{
    struct store *written = NULL;
    struct stat st;

    bool is_own =
        stat(path, &st) == 0 && st.st_dev == s->opened.st_dev && st.st_ino == s->opened.st_ino;
    if (is_own || store_is_of_project(path))
        return ERR(e, ERR_USAGE, "%s is the results.db of a project; name another file", path);
    TRY(store_check(s, e));
    TRY(publish_to(s, path, artefacts, e));
    if (!artefacts) return 0;
    /* Numbers the rows again, which else would tell of the deleted ones. */
    TRY(store_open(&written, path, STORE_GIVEN, e));
    int rc = publish_to(written, path, NULL, e);
    store_close(written);
    return rc;
}
