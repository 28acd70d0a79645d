/* merge.c - results made elsewhere come home.
 *
 * 1. The other file is only read; its schema must have our version, and it must be sound.
 * 2. An attempt is known by its random uid: merging the same file twice adds nothing.
 * 3. Attempts that run there are left out. The others get the next numbers of their run here, and
 *    their folder is named by its absolute path there.
 * 4. A result becomes current only where the run has none; an evaluation of another checkpoint than
 *    the current training's does not. */
#include <stdio.h>
#include <string.h>

#include "store/database.h"
#include "store/results.h"

/* ?1 is the other file's folder. */
static const char *const merge_steps[] = {
    "INSERT INTO main.runs SELECT * FROM other.runs o"
    " WHERE NOT EXISTS(SELECT 1 FROM main.runs h WHERE h.run_id=o.run_id)",

    "INSERT INTO main.run_attempts(uid,run_id,attempt,state,slot,device,backend,host,boot_id,pid,"
    "pid_start,blas,threads,code_id,program,dir,started_at,ended_at,exit_code,signal,message,"
    "choices,merged_from) SELECT o.uid,o.run_id,o.attempt+(SELECT coalesce(max(h.attempt),0)"
    " FROM main.run_attempts h WHERE h.run_id=o.run_id),o.state,o.slot,o.device,o.backend,o.host,"
    "o.boot_id,o.pid,o.pid_start,o.blas,o.threads,o.code_id,o.program,"
    "CASE WHEN substr(o.dir,1,1)='/' THEN o.dir ELSE ?1||'/'||o.dir END,o.started_at,o.ended_at,"
    "o.exit_code,o.signal,o.message,o.choices,coalesce(o.merged_from,?1) FROM other.run_attempts o"
    " WHERE o.state<>'running'"
    " AND NOT EXISTS(SELECT 1 FROM main.run_attempts h WHERE h.uid=o.uid)"
    " ORDER BY o.run_id,o.attempt",

    "INSERT INTO main.results(attempt_id,run_id,kind,sequence,current,late,peak_memory_bytes,"
    "wall_seconds,updates,tokens_per_update,parameters,final_loss_nats,train_wps,best_checkpoint,"
    "best_sha256,last_checkpoint,last_sha256,loss_nats,perplexity,tokens,nonfinite,eval_wps,"
    "checkpoint_sha256,wps,mfu,batch_tokens) SELECT h.attempt_id,o.run_id,o.kind,o.sequence,0,"
    "o.late,o.peak_memory_bytes,o.wall_seconds,o.updates,o.tokens_per_update,o.parameters,"
    "o.final_loss_nats,o.train_wps,o.best_checkpoint,o.best_sha256,o.last_checkpoint,"
    "o.last_sha256,o.loss_nats,o.perplexity,o.tokens,o.nonfinite,o.eval_wps,o.checkpoint_sha256,"
    "o.wps,o.mfu,o.batch_tokens FROM other.results o"
    " JOIN other.run_attempts t ON t.attempt_id=o.attempt_id"
    " JOIN main.run_attempts h ON h.uid=t.uid"
    " WHERE NOT EXISTS(SELECT 1 FROM main.results v WHERE v.attempt_id=h.attempt_id"
    "  AND v.sequence=o.sequence)",

    "INSERT INTO main.checkpoint_files SELECT h.attempt_id,o.sequence,o.step,o.path,o.sha256,"
    "o.bytes,o.best FROM other.checkpoint_files o"
    " JOIN other.run_attempts t ON t.attempt_id=o.attempt_id"
    " JOIN main.run_attempts h ON h.uid=t.uid"
    " WHERE NOT EXISTS(SELECT 1 FROM main.checkpoint_files v WHERE v.attempt_id=h.attempt_id"
    "  AND v.sequence=o.sequence)",

    "INSERT INTO main.curve_points SELECT h.attempt_id,o.split,o.step,o.loss_nats,o.lr,"
    "o.grad_norm,o.epoch,o.perplexity,o.best FROM other.curve_points o"
    " JOIN other.run_attempts t ON t.attempt_id=o.attempt_id"
    " JOIN main.run_attempts h ON h.uid=t.uid"
    " WHERE NOT EXISTS(SELECT 1 FROM main.curve_points v WHERE v.attempt_id=h.attempt_id"
    "  AND v.split=o.split AND v.step=o.step)",

    "INSERT INTO main.points SELECT * FROM other.points o"
    " WHERE NOT EXISTS(SELECT 1 FROM main.points h WHERE h.artefact=o.artefact"
    "  AND h.scale=o.scale)",

    "UPDATE main.results SET current=1 WHERE result_id IN("
    " SELECT v.result_id FROM other.results o"
    " JOIN other.run_attempts t ON t.attempt_id=o.attempt_id"
    " JOIN main.run_attempts h ON h.uid=t.uid"
    " JOIN main.results v ON v.attempt_id=h.attempt_id AND v.sequence=o.sequence"
    " WHERE o.current=1 AND NOT EXISTS(SELECT 1 FROM main.results c WHERE c.run_id=v.run_id"
    "  AND c.current=1))",
    NULL};

/* The steps name the other file's tables, so they are prepared while it is attached and not kept.
 */
static int run_step(struct store *s, const char *sql, const char *folder, struct err *e)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(s->connection_own, sql, -1, &statement, NULL);

    if (rc == SQLITE_OK && sqlite3_bind_parameter_count(statement) > 0)
        rc = sqlite3_bind_text(statement, 1, folder, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK) rc = sqlite3_step(statement);
    int code = rc == SQLITE_DONE || rc == SQLITE_OK ? 0 : database_error(s, rc, e);
    sqlite3_finalize(statement);
    return code;
}

static int current_count(struct store *s, int64_t *out, struct err *e)
{
    return database_number(s, out, "SELECT count(*) FROM main.results WHERE current=1", e);
}

static int take_over(struct store *s, const char *folder, int32_t *added, struct err *e)
{
    int64_t before = 0, after = 0;
    int rc = 0;

    TRY(store_begin(s, e));
    TRY_OUT(rc, current_count(s, &before, e));
    for (int i = 0; merge_steps[i]; i++) TRY_OUT(rc, run_step(s, merge_steps[i], folder, e));
    TRY_OUT(rc, results_detach_all(s, e));
    TRY_OUT(rc, current_count(s, &after, e));
    TRY_OUT(rc, store_commit(s, e));
    if (added) *added = (int32_t)(after - before);
    return 0;
out:
    store_rollback(s);
    return rc;
}

/* A file from elsewhere is sound, and what the steps read are tables: a view would run a statement
 * of its maker's. */
static int check_other(struct store *other, struct err *e)
{
    int64_t tables_n = 0;

    TRY(store_check(other, e));
    TRY(database_number(other, &tables_n,
                        "SELECT count(*) FROM sqlite_schema WHERE type='table' AND"
                        " sql LIKE 'CREATE TABLE %' AND name IN('runs','run_attempts','results',"
                        "'checkpoint_files','curve_points','points')",
                        e));
    return tables_n == 6 ? 0 : ERR(e, ERR_DATA, "%s: lacks a table of results.db", other->path);
}

/* Opens the other file as a reader, which says whether it can be taken, and how. */
static int look_at_other(struct store *s, char *path, size_t room, const char *other_path,
                         bool *immutable, struct err *e)
{
    struct store *other = NULL;
    struct stat st;

    if (stat(other_path, &st) == 0 && S_ISDIR(st.st_mode))
        snprintf(path, room, "%s/results.db", other_path);
    else
        snprintf(path, room, "%s", other_path);
    TRY(store_open(&other, path, STORE_READ, e));
    snprintf(path, room, "%s", other->path);
    *immutable = other->immutable;
    bool same =
        other->opened.st_dev == s->opened.st_dev && other->opened.st_ino == s->opened.st_ino;
    int rc =
        same ? ERR(e, ERR_USAGE, "%s: is this project's own file", path) : check_other(other, e);
    store_close(other);
    return rc;
}

int store_merge(struct store *s, const char *other_path, int32_t *added, struct err *e)
{
    char path[DATABASE_PATH_BYTES], folder[DATABASE_PATH_BYTES], uri[3 * DATABASE_PATH_BYTES];
    bool immutable = false;
    int rc = 0;

    if (added) *added = 0;
    if (s->depth > 0) return ERR(e, ERR_USAGE, "merge: cannot be part of a transaction");
    TRY(look_at_other(s, path, sizeof path, other_path, &immutable, e));
    TRY(database_uri(uri, sizeof uri, path, immutable ? "immutable=1" : "mode=ro", e));
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    TRY(DATABASE_RUN(s, e, "ATTACH ?1 AS other", DATABASE_TEXT(uri)));
    rc = take_over(s, folder, added, e);
    if (rc < 0) err_ctx(e, "merge of %s", path);
    database_script(s, "DETACH other", NULL);
    return rc;
}
