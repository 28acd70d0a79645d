/* results.c - current results: made, forgotten, and asked for. */
#include "store/results.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/database.h"

enum { RESULTS_RATES_MAX = 51 };

/* What an evaluation's checkpoint is compared with: both of the training's current result. */
#define RESULTS_OTHER_CHECKPOINT                                                                   \
    " AND EXISTS(SELECT 1 FROM runs r JOIN results t ON t.run_id=r.train_run_id AND t.current=1"   \
    " WHERE r.run_id=results.run_id AND results.checkpoint_sha256 NOT IN("                         \
    "  coalesce(t.best_sha256,t.last_sha256),coalesce(t.last_sha256,t.best_sha256)))"

int results_unlink_evaluations(struct store *s, const char *train_run_id, struct err *e)
{
    return DATABASE_RUN(s, e,
                        "UPDATE results SET current=0 WHERE current=1 AND run_id IN"
                        "(SELECT run_id FROM runs WHERE train_run_id=?1)" RESULTS_OTHER_CHECKPOINT,
                        DATABASE_TEXT(train_run_id));
}

int results_detach_all(struct store *s, struct err *e)
{
    return database_run(
        s, "UPDATE results SET current=0 WHERE current=1 AND kind='eval'" RESULTS_OTHER_CHECKPOINT,
        NULL, 0, e);
}

/* A training's origin is that of its current result: an import may take the place of a training,
 * and a training that of an import. */
static int results_set_origin(struct store *s, int64_t attempt_id, const char *run_id,
                              struct err *e)
{
    return DATABASE_RUN(s, e,
                        "UPDATE runs SET origin=CASE WHEN EXISTS(SELECT 1 FROM run_attempts WHERE"
                        " attempt_id=?2 AND slot='imported') THEN 'imported' ELSE 'trained' END"
                        " WHERE run_id=?1 AND kind='train'",
                        DATABASE_TEXT(run_id), DATABASE_INT(attempt_id));
}

int results_make_current(struct store *s, int64_t attempt_id, const char *run_id, struct err *e)
{
    sqlite3_stmt *row;

    TRY(DATABASE_SELECT(s, &row, e,
                        "SELECT result_id FROM results WHERE attempt_id=?1 AND late=0 ORDER BY "
                        "sequence DESC LIMIT 1",
                        DATABASE_INT(attempt_id)));
    int rc = database_next(s, row, e);
    if (rc < 0) return rc;
    if (rc == 0)
        return ERR(e, ERR_INTERNAL,
                   "run %s: the attempt cannot end as done, it left no result; see its log",
                   run_id);
    int64_t result_id = sqlite3_column_int64(row, 0);
    database_reset(row);
    TRY(DATABASE_RUN(s, e, "UPDATE results SET current=0 WHERE run_id=?1 AND current=1",
                     DATABASE_TEXT(run_id)));
    TRY(DATABASE_RUN(s, e, "UPDATE results SET current=1 WHERE result_id=?1",
                     DATABASE_INT(result_id)));
    TRY(results_set_origin(s, attempt_id, run_id, e));
    return results_unlink_evaluations(s, run_id, e);
}

int store_clear_results(struct store *s, const char *run_id, struct err *e)
{
    return DATABASE_RUN(s, e, "UPDATE results SET current=0 WHERE run_id=?1 AND current=1",
                        DATABASE_TEXT(run_id));
}

int store_checkpoint(struct store *s, const char *train_run_id, enum spec_checkpoint which,
                     char path[256], char sha256[65], struct err *e)
{
    static const char *const names[] = {"best", "last"};
    sqlite3_stmt *row;
    int rc = 0;

    TRY(database_refresh(s, e));
    TRY(DATABASE_SELECT(
        s, &row, e,
        "SELECT a.dir, CASE ?2 WHEN 0 THEN v.best_checkpoint ELSE v.last_checkpoint END,"
        " CASE ?2 WHEN 0 THEN v.best_sha256 ELSE v.last_sha256 END FROM results v"
        " JOIN run_attempts a USING(attempt_id) WHERE v.run_id=?1 AND v.current=1",
        DATABASE_TEXT(train_run_id), DATABASE_INT(which)));
    rc = database_next(s, row, e);
    if (rc < 0) return rc;
    if (rc == 0)
        return ERR(e, ERR_NOINPUT, "training %s: is not done; the plan that needs it runs it first",
                   train_run_id);
    rc = 0;
    const char *dir = (const char *)sqlite3_column_text(row, 0);
    const char *name = (const char *)sqlite3_column_text(row, 1);
    if (!name || sqlite3_column_type(row, 2) == SQLITE_NULL)
        rc = ERR(e, ERR_NOINPUT, "training %s: left no %s checkpoint", train_run_id, names[which]);
    else if (snprintf(path, 256, "%s/%s", dir, name) >= 256)
        rc = ERR(e, ERR_DATA, "training %s: the path of its checkpoint is longer than 255 bytes",
                 train_run_id);
    else
        database_text(sha256, 65, row, 2);
    database_reset(row);
    return rc;
}

static int compare_rates(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int store_flops_rate(struct store *s, enum spec_kind kind, const char *device_like,
                     double *flops_per_s, struct err *e)
{
    double rate[RESULTS_RATES_MAX];
    size_t n = 0;
    sqlite3_stmt *row;
    int rc = 0;

    *flops_per_s = 0;
    TRY(database_refresh(s, e));
    TRY(DATABASE_SELECT(s, &row, e,
                        "SELECT r.flops/v.wall_seconds FROM results v JOIN runs r USING(run_id)"
                        " JOIN run_attempts a USING(attempt_id) WHERE v.current=1 AND v.kind=?1"
                        " AND r.flops>0 AND v.wall_seconds>0"
                        " AND (?2 IS NULL OR a.slot LIKE ?2 OR a.device LIKE ?2)"
                        " ORDER BY v.result_id DESC LIMIT ?3",
                        DATABASE_TEXT(spec_kind_name(kind)), DATABASE_TEXT(device_like),
                        DATABASE_INT(RESULTS_RATES_MAX)));
    while ((rc = database_next(s, row, e)) > 0)
        if (n < RESULTS_RATES_MAX) rate[n++] = sqlite3_column_double(row, 0);
    if (rc < 0 || n == 0) return rc;
    qsort(rate, n, sizeof *rate, compare_rates);
    *flops_per_s = rate[n / 2];
    return 0;
}
