/* attempts.c - attempts, their outcomes, and the current result of each run.
 *
 *   running --> done | failed | diverged | lost | cancelled      (a trigger protects ended rows)
 *
 * The transaction that marks an attempt done makes its result the current one of the run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "store/database.h"
#include "store/open.h"
#include "store/statements.h"

static const char *const state_names[] = {"none",     "running", "done",     "failed",
                                          "diverged", "lost",    "cancelled"};

const char *store_state_name(enum store_state state)
{
    return state_names[state];
}

enum store_state store_state_find(const char *name)
{
    for (int i = STORE_RUNNING; i <= STORE_CANCELLED; i++)
        if (strcmp(state_names[i], name) == 0) return (enum store_state)i;
    return STORE_NONE;
}

/* Rejects a second running attempt of a run with a message, before the index does. */
static int check_not_running(struct store *s, const char *run_id, struct err *e)
{
    int32_t attempt;
    int rc = database_get(s, "SELECT attempt FROM run_attempts WHERE run_id=?1 AND state='running'",
                          DATABASE_VALUES(DATABASE_TEXT(run_id)),
                          DATABASE_COLUMNS(DATABASE_TO(attempt)), e);

    if (rc <= 0) return rc;
    return ERR(e, ERR_TRYLATER, "run %s: attempt %d is still marked running", run_id, attempt);
}

int store_start_attempt(struct store *s, const struct store_attempt *a, int64_t *attempt_id,
                        struct err *e)
{
    TRY(check_not_running(s, a->run_id, e));
    TRY(DATABASE_RUN(s, e,
                     "INSERT INTO run_attempts(uid,run_id,attempt,state,slot,host,boot_id,pid,"
                     "pid_start,dir,started_at) VALUES(coalesce(?10,lower(hex(randomblob(16)))),"
                     "?1,?2,'running',?3,?4,?5,?6,?7,?8,coalesce(?9," DATABASE_NOW "))",
                     DATABASE_TEXT(a->run_id), DATABASE_INT(a->attempt), DATABASE_TEXT(a->device),
                     DATABASE_TEXT(a->host), DATABASE_TEXT(a->boot_id), DATABASE_POSITIVE(a->pid),
                     DATABASE_POSITIVE(a->pid_start), DATABASE_TEXT(a->dir),
                     DATABASE_TEXT(a->started_at), DATABASE_TEXT(a->uid)));
    *attempt_id = sqlite3_last_insert_rowid(s->connection_own);
    return 0;
}

/* The attempt's run; an attempt that has ended is an error. */
static int check_running(struct store *s, int64_t attempt_id, const char **run_id, struct err *e)
{
    char state[16];
    int32_t attempt;
    int rc = database_get(
        s, "SELECT run_id,state,attempt FROM run_attempts WHERE attempt_id=?1",
        DATABASE_VALUES(DATABASE_INT(attempt_id)),
        DATABASE_COLUMNS(DATABASE_TO(*run_id), DATABASE_TO(state), DATABASE_TO(attempt)), e);

    if (rc < 0) return rc;
    if (rc == 0) return ERR(e, ERR_INTERNAL, "attempt id %lld: not found", (long long)attempt_id);
    if (strcmp(state, "running") == 0) return 0;
    return ERR(e, ERR_INTERNAL, "run %s: attempt %d has already ended as %s", *run_id, attempt,
               state);
}

static int end_row(struct store *s, int64_t attempt_id, const struct store_end *end, struct err *e)
{
    struct record_value none = DATABASE_NULL;

    return DATABASE_RUN(
        s, e,
        "UPDATE run_attempts SET state=?2,ended_at=coalesce(?3," DATABASE_NOW "),"
        "exit_code=?4,signal=?5,message=?6 WHERE attempt_id=?1",
        DATABASE_INT(attempt_id), DATABASE_TEXT(store_state_name(end->state)),
        DATABASE_TEXT(end->ended_at), end->exit_code < 0 ? none : DATABASE_INT(end->exit_code),
        end->signal < 0 ? none : DATABASE_INT(end->signal), DATABASE_TEXT(end->message));
}

/* --- current results ------------------------------------------------------------------------ */

int results_unlink_evaluations(struct store *s, const char *train_run_id, struct err *e)
{
    return DATABASE_RUN(
        s, e,
        "UPDATE results SET current=0 WHERE current=1"
        " AND(?1 IS NULL OR run_id IN(SELECT run_id FROM runs WHERE train_run_id=?1))"
        " AND(EXISTS(SELECT 1 FROM runs r JOIN results t ON t.run_id=r.train_run_id"
        "  WHERE r.run_id=results.run_id AND t.current=1"
        "  AND results.checkpoint_sha256 NOT IN("
        "   coalesce(t.best_sha256,t.last_sha256),"
        "   coalesce(t.last_sha256,t.best_sha256)))"
        /* The id of a folder is that of its weights. */
        " OR EXISTS(SELECT 1 FROM runs r JOIN sources o ON o.id=r.train_run_id"
        "  WHERE r.run_id=results.run_id AND o.current=1 AND o.kind<>'folder'"
        "  AND results.checkpoint_sha256<>o.sha256))",
        DATABASE_TEXT(train_run_id));
}

static int results_make_current(struct store *s, int64_t attempt_id, const char *run_id,
                                struct err *e)
{
    int64_t result_id;
    int rc = database_get(s,
                          "SELECT result_id FROM results WHERE attempt_id=?1 AND late=0"
                          " ORDER BY sequence DESC LIMIT 1",
                          DATABASE_VALUES(DATABASE_INT(attempt_id)),
                          DATABASE_COLUMNS(DATABASE_TO(result_id)), e);

    if (rc < 0) return rc;
    if (rc == 0)
        return ERR(e, ERR_INTERNAL,
                   "run %s: the attempt cannot end as done, it left no result; see its log",
                   run_id);
    TRY(DATABASE_RUN(s, e, "UPDATE results SET current=0 WHERE run_id=?1 AND current=1",
                     DATABASE_TEXT(run_id)));
    TRY(DATABASE_RUN(s, e, "UPDATE results SET current=1 WHERE result_id=?1",
                     DATABASE_INT(result_id)));
    TRY(sources_replace(s, run_id, e));
    return results_unlink_evaluations(s, run_id, e);
}

int store_end_attempt(struct store *s, int64_t attempt_id, const struct store_end *end,
                      struct err *e)
{
    const char *run_id;
    int rc = 0;

    if (end->state <= STORE_RUNNING || end->state > STORE_CANCELLED)
        return ERR(e, ERR_INTERNAL, "attempt id %lld: cannot end as %d", (long long)attempt_id,
                   (int)end->state);
    TRY(store_begin(s, e));
    TRY_OUT(rc, check_running(s, attempt_id, &run_id, e));
    if (end->state == STORE_DONE) TRY_OUT(rc, results_make_current(s, attempt_id, run_id, e));
    TRY_OUT(rc, end_row(s, attempt_id, end, e));
    TRY_OUT(rc, DATABASE_RUN(s, e, "DELETE FROM progress_now WHERE attempt_id=?1",
                             DATABASE_INT(attempt_id)));
out:
    return store_finish(s, rc, e);
}

int store_run_state(struct store *s, const char *run_id, struct store_run_state *out, struct err *e)
{
    static const char sql[] =
        "SELECT coalesce(c.attempt_id,o.source_id) IS NOT NULL, coalesce(c.code_id,o.code_id),"
        " o.source_id IS NOT NULL, n.state, coalesce(max(n.attempt,o.attempt),n.attempt,o.attempt),"
        " n.message,"
        " (SELECT count(*) FROM run_attempts f WHERE f.run_id=?1 AND f.state IN('failed','lost')"
        "  AND f.attempt>(SELECT coalesce(max(g.attempt),0) FROM run_attempts g WHERE g.run_id=?1"
        "  AND g.state IN('done','cancelled')))"
        " FROM (SELECT 1) LEFT JOIN run_attempts n ON n.run_id=?1"
        " LEFT JOIN results v ON v.run_id=?1 AND v.current=1"
        " LEFT JOIN run_attempts c ON c.attempt_id=v.attempt_id"
        " LEFT JOIN sources o ON o.id=?1 AND o.current=1"
        " ORDER BY n.attempt DESC LIMIT 1";
    char state[16];

    *out = (struct store_run_state){0};
    TRY(database_refresh(s, e));
    TRY(database_get(s, sql, DATABASE_VALUES(DATABASE_TEXT(run_id)),
                     DATABASE_COLUMNS(DATABASE_TO(out->done), DATABASE_TO(out->code_id),
                                      DATABASE_TO(out->is_source), DATABASE_TO(state),
                                      DATABASE_TO(out->attempts_n), DATABASE_TO(out->last_message),
                                      DATABASE_TO(out->failures_n)),
                     e));
    out->last = store_state_find(state);
    return 0;
}

int store_running(struct store *s, struct arena *a, struct store_running **out, int32_t *n,
                  struct err *e)
{
    struct {
        struct store_running *item;
        int32_t n, capacity;
    } rows = {0};
    struct store_running r;
    sqlite3_stmt *row;
    int rc = 0;

    TRY(database_refresh(s, e));
    TRY(database_select(s, &row,
                        "SELECT attempt_id,run_id,attempt,dir,host,boot_id,pid,pid_start,slot "
                        "FROM run_attempts WHERE state='running'"
                        " ORDER BY min(attempt_id) OVER(PARTITION BY dir),attempt_id",
                        NULL, 0, e));
    while ((rc = database_next(s, row,
                               DATABASE_COLUMNS(DATABASE_TO(r.attempt_id), DATABASE_TO(r.run_id),
                                                DATABASE_TO(r.attempt), DATABASE_TO(r.dir),
                                                DATABASE_TO(r.host), DATABASE_TO(r.boot_id),
                                                DATABASE_TO(r.pid), DATABASE_TO(r.pid_start),
                                                DATABASE_TO(r.slot)),
                               e)) > 0)
        *vec_push(a, &rows) = r;
    *out = rows.item;
    *n = rows.n;
    return rc;
}

int store_clear_results(struct store *s, const char *run_id, struct err *e)
{
    TRY(sources_replace(s, run_id, e));
    return DATABASE_RUN(s, e, "UPDATE results SET current=0 WHERE run_id=?1 AND current=1",
                        DATABASE_TEXT(run_id));
}

int store_checkpoint(struct store *s, const char *train_run_id, enum spec_checkpoint which,
                     char path[256], char sha256[65], struct err *e)
{
    static const char *const names[] = {"best", "last"};
    const char *dir, *name, *hash;

    TRY(database_refresh(s, e));
    int rc = database_get(
        s,
        "SELECT a.dir, CASE ?2 WHEN 0 THEN v.best_checkpoint ELSE v.last_checkpoint END,"
        " CASE ?2 WHEN 0 THEN v.best_sha256 ELSE v.last_sha256 END FROM results v"
        " JOIN run_attempts a USING(attempt_id) WHERE v.run_id=?1 AND v.current=1"
        " UNION ALL SELECT dir,path,sha256 FROM sources WHERE id=?1 AND current=1",
        DATABASE_VALUES(DATABASE_TEXT(train_run_id), DATABASE_INT(which)),
        DATABASE_COLUMNS(DATABASE_TO(dir), DATABASE_TO(name), DATABASE_TO(hash)), e);
    if (rc < 0) return rc;
    if (rc == 0)
        return ERR(e, ERR_NOINPUT, "training %s: is not done; the plan that needs it runs it first",
                   train_run_id);
    if (!*name || !*hash)
        return ERR(e, ERR_NOINPUT, "training %s: left no %s checkpoint", train_run_id,
                   names[which]);
    bool is_folder = name[0] == '/';
    if (snprintf(path, 256, "%s%s%s", is_folder ? "" : dir, is_folder ? "" : "/", name) >= 256)
        return ERR(e, ERR_DATA, "training %s: the path of its checkpoint is longer than 255 bytes",
                   train_run_id);
    snprintf(sha256, 65, "%s", hash);
    return 0;
}

int store_flops_rate(struct store *s, enum spec_kind kind, const char *device_like,
                     double flops_min, double *flops_per_s, struct err *e)
{
    static const char sql[] =
        "SELECT ifnull(max(rate),0) FROM(SELECT r.flops/v.wall_seconds AS rate FROM results v"
        " JOIN runs r USING(run_id) JOIN run_attempts a USING(attempt_id) WHERE v.current=1"
        " AND v.kind=?1 AND r.flops>0 AND r.flops>=?3 AND v.wall_seconds>0"
        " AND (?2 IS NULL OR a.slot LIKE ?2 OR a.device LIKE ?2)"
        " AND NOT EXISTS(SELECT 1 FROM run_attempts b WHERE b.run_id=v.run_id AND b.ranks>1)"
        " ORDER BY v.result_id DESC LIMIT 51)";

    TRY(database_refresh(s, e));
    int rc = database_get(s, sql,
                          DATABASE_VALUES(DATABASE_TEXT(spec_kind_name(kind)),
                                          DATABASE_TEXT(device_like), DATABASE_REAL(flops_min)),
                          DATABASE_COLUMNS(DATABASE_TO(*flops_per_s)), e);
    return rc < 0 ? rc : 0;
}
