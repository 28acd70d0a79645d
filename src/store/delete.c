/* delete.c - removes runs with everything that belongs to them.
 *
 *   store_choose_… artefacts and runs, in temporary tables of the connection
 *   store_doom     the runs that go: those that only the chosen artefacts need; the chosen runs and
 *                  what was computed from their weights
 *   store_delete   their rows, in one transaction */
#include "store/database.h"
#include "store/statements.h"

#define IS_CHOSEN "(artefact,scale) IN (SELECT artefact,scale FROM temp.chosen)"
#define DOOMED "(SELECT run_id FROM temp.doomed)"

/* links: the weights that a run starts from, those of its training and of the parent it continues.
 * mine: runs of the chosen artefacts, and what these need. kept: what stays. */
static const char choose_tables[] =
    "CREATE TEMP TABLE IF NOT EXISTS chosen(artefact TEXT,scale TEXT,PRIMARY KEY(artefact,scale));"
    "CREATE TEMP TABLE IF NOT EXISTS links(run_id TEXT,needs TEXT);"
    "CREATE TEMP TABLE IF NOT EXISTS mine(run_id TEXT PRIMARY KEY);"
    "CREATE TEMP TABLE IF NOT EXISTS kept(run_id TEXT PRIMARY KEY);"
    "CREATE TEMP TABLE IF NOT EXISTS doomed(run_id TEXT PRIMARY KEY);"
    "DELETE FROM temp.chosen; DELETE FROM temp.links; DELETE FROM temp.mine;"
    "DELETE FROM temp.kept; DELETE FROM temp.doomed;"
    "INSERT INTO temp.links SELECT run_id,train_run_id FROM runs WHERE train_run_id IS NOT NULL"
    " UNION ALL SELECT run_id,value FROM run_settings WHERE key='train.from' AND value<>'';";

int store_choose_none(struct store *s, struct err *e)
{
    return database_script(s, choose_tables, e);
}

int store_choose_artefact(struct store *s, const char *artefact, const char *scale, bool *found,
                          struct err *e)
{
    static const char choose[] =
        "INSERT OR IGNORE INTO temp.chosen SELECT DISTINCT artefact,scale FROM points"
        " WHERE (artefact IN(?1,?1||' (earlier)') OR substr(artefact,1,length(?1)+1)=?1||'/')"
        " AND (?2 IS NULL OR scale=?2)";

    TRY(DATABASE_RUN(s, e, choose, DATABASE_TEXT(artefact), DATABASE_TEXT(scale)));
    *found = sqlite3_changes(s->connection_own) > 0;
    return 0;
}

int store_choose_run(struct store *s, const char *run_id, struct err *e)
{
    return DATABASE_RUN(s, e, "INSERT OR IGNORE INTO temp.doomed VALUES(?1)",
                        DATABASE_TEXT(run_id));
}

/* Repeats a statement that takes the next generation of runs until it takes none. */
static int each_generation(struct store *s, const char *sql, struct err *e)
{
    do TRY(DATABASE_RUN(s, e, sql, DATABASE_NULL));
    while (sqlite3_changes(s->connection_own) > 0);
    return 0;
}

static const char needed_by_kept[] = "INSERT OR IGNORE INTO temp.kept SELECT needs"
                                     " FROM temp.links JOIN temp.kept USING(run_id)";

static int find_doomed(struct store *s, struct err *e)
{
    static const char derived[] = "INSERT OR IGNORE INTO temp.doomed SELECT l.run_id"
                                  " FROM temp.links l JOIN temp.doomed d ON l.needs=d.run_id";
    static const char needed_by_mine[] = "INSERT OR IGNORE INTO temp.mine SELECT needs"
                                         " FROM temp.links JOIN temp.mine USING(run_id)";
    static const char others[] = "INSERT OR IGNORE INTO temp.kept SELECT run_id FROM runs"
                                 " WHERE run_id NOT IN " DOOMED
                                 " AND (run_id NOT IN (SELECT run_id FROM temp.mine) OR run_id IN"
                                 "  (SELECT run_id FROM points WHERE NOT " IS_CHOSEN "))";

    TRY(each_generation(s, derived, e));
    TRY(database_script(
        s, "INSERT OR IGNORE INTO temp.mine SELECT run_id FROM points WHERE " IS_CHOSEN, e));
    TRY(each_generation(s, needed_by_mine, e));
    TRY(database_script(s, others, e));
    TRY(each_generation(s, needed_by_kept, e));
    return database_script(s,
                           "INSERT OR IGNORE INTO temp.doomed SELECT run_id FROM temp.mine"
                           " WHERE run_id NOT IN (SELECT run_id FROM temp.kept)",
                           e);
}

int store_doom_others(struct store *s, const struct store_artefact *artefacts, struct err *e)
{
    static const char keep[] = "DELETE FROM temp.chosen WHERE scale=?2 AND (artefact=?1"
                               " OR substr(artefact,1,length(?1)+7)=?1||' --set ')";

    TRY(store_choose_none(s, e));
    TRY(database_script(s, "INSERT INTO temp.chosen SELECT DISTINCT artefact,scale FROM points",
                        e));
    for (const struct store_artefact *k = artefacts; k->name; k++)
        TRY(DATABASE_RUN(s, e, keep, DATABASE_TEXT(k->name), DATABASE_TEXT(k->scale)));
    TRY(database_script(
        s, "INSERT INTO temp.kept SELECT DISTINCT run_id FROM points WHERE NOT " IS_CHOSEN, e));
    TRY(each_generation(s, needed_by_kept, e));
    return database_script(s,
                           "INSERT INTO temp.doomed SELECT run_id FROM runs"
                           " WHERE run_id NOT IN (SELECT run_id FROM temp.kept)",
                           e);
}

static int check_none_runs(struct store *s, struct err *e)
{
    const char *run_id;
    int32_t attempt;
    int rc = database_get(
        s, "SELECT run_id,attempt FROM run_attempts WHERE state='running' AND run_id IN " DOOMED,
        NULL, 0, DATABASE_COLUMNS(DATABASE_TO(run_id), DATABASE_TO(attempt)), e);

    if (rc <= 0) return rc;
    return ERR(e, ERR_TRYLATER,
               "run %s: attempt %d is marked running; `alibi run` of its artefact ends or resumes "
               "it, then delete it",
               run_id, attempt);
}

static int count_runs(struct store_doomed *out, struct arena *a, struct store *s, struct err *e)
{
#define COUNT(kind) "count(*) FILTER(WHERE kind='" kind "')"
    static const char doomed[] = "SELECT " COUNT("train") "," COUNT("eval") "," COUNT(
        "bench") ","
                 " (SELECT count(*) FROM results WHERE current=1 AND run_id IN " DOOMED ")"
                 " FROM runs WHERE run_id IN " DOOMED;
    static const char kept[] =
        "SELECT count(DISTINCT v.run_id) FROM points p JOIN results v ON v.run_id=p.run_id"
        " WHERE v.current=1 AND " IS_CHOSEN " AND p.run_id NOT IN " DOOMED;
    static const char needed_by[] =
        "SELECT group_concat(artefact,', ') FROM (SELECT DISTINCT artefact FROM points"
        " WHERE run_id IN " DOOMED " AND NOT " IS_CHOSEN " ORDER BY 1)";
    const char *artefacts;

    TRY(database_get(s, doomed, NULL, 0,
                     DATABASE_COLUMNS(DATABASE_TO(out->trainings_n),
                                      DATABASE_TO(out->evaluations_n),
                                      DATABASE_TO(out->benchmarks_n), DATABASE_TO(out->results_n)),
                     e));
    TRY(DATABASE_NUMBER(s, out->kept_n, e, kept));
    TRY(DATABASE_NUMBER(s, artefacts, e, needed_by));
    out->needed_by = *artefacts ? arena_strdup(a, artefacts) : NULL;
    return 0;
}

/* A folder that also holds a run that stays, stays. */
#define FOLDERS(in)                                                                                \
    "SELECT dir FROM run_attempts WHERE run_id " in " " DOOMED                                     \
    " UNION SELECT dir FROM sources WHERE id " in " " DOOMED
#define FOLDERS_OF_DOOMED " FROM (" FOLDERS("IN") ") WHERE dir NOT IN (" FOLDERS("NOT IN") ")"

static int list_folders(struct store_doomed *out, struct arena *a, struct store *s, struct err *e)
{
    sqlite3_stmt *statement;
    const char *dir;
    int32_t n;
    int rc;

    TRY(DATABASE_NUMBER(s, n, e, "SELECT count(*)" FOLDERS_OF_DOOMED));
    out->folder = arena_alloc(a, (size_t)n * sizeof *out->folder);
    TRY(database_select(s, &statement, "SELECT dir" FOLDERS_OF_DOOMED, NULL, 0, e));
    while ((rc = database_next(s, statement, DATABASE_COLUMNS(DATABASE_TO(dir)), e)) > 0)
        if (out->folders_n < n) out->folder[out->folders_n++] = arena_strdup(a, dir);
    return rc;
}

int store_doom(struct store_doomed *out, struct arena *a, struct store *s, struct err *e)
{
    *out = (struct store_doomed){0};
    TRY(find_doomed(s, e));
    TRY(check_none_runs(s, e));
    TRY(count_runs(out, a, s, e));
    return list_folders(out, a, s, e);
}

#define OF_RUNS " WHERE run_id IN " DOOMED
#define OF_ATTEMPTS " WHERE attempt_id IN (SELECT attempt_id FROM run_attempts" OF_RUNS ");"
#define OF_RESULTS " WHERE result_id IN (SELECT result_id FROM results" OF_RUNS ");"

/* Children before parents. */
static const char delete_results[] =
    "DELETE FROM position_losses" OF_RESULTS "DELETE FROM group_losses" OF_RESULTS
    "DELETE FROM checkpoint_files" OF_ATTEMPTS "DELETE FROM curve_points" OF_ATTEMPTS
    "DELETE FROM progress_now" OF_ATTEMPTS "DELETE FROM attention_heads" OF_ATTEMPTS
    "DELETE FROM attention_rollouts" OF_ATTEMPTS "DELETE FROM results" OF_RUNS ";"
    "DELETE FROM run_attempts" OF_RUNS ";DELETE FROM sources WHERE id IN " DOOMED ";"
    "DELETE FROM claim_verdicts WHERE " IS_CHOSEN ";DELETE FROM points WHERE " IS_CHOSEN ";"
    "DELETE FROM paper_files WHERE artefact IN (SELECT artefact FROM temp.chosen)"
    " AND artefact NOT IN (SELECT artefact FROM points);";

/* A run that an artefact needs keeps its row, and so do the runs that it starts from. */
static int delete_runs(struct store *s, struct err *e)
{
    static const char needed_by_others[] =
        "DELETE FROM temp.doomed WHERE run_id IN"
        " (SELECT needs FROM temp.links WHERE run_id NOT IN " DOOMED ")";

    TRY(database_script(s, "DELETE FROM temp.doomed WHERE run_id IN (SELECT run_id FROM points)",
                        e));
    TRY(each_generation(s, needed_by_others, e));
    return database_script(s, "DELETE FROM run_settings" OF_RUNS ";DELETE FROM runs" OF_RUNS, e);
}

int store_delete(struct store *s, struct err *e)
{
    int rc = 0;

    TRY(store_begin(s, e));
    TRY_OUT(rc, database_script(s, delete_results, e));
    rc = delete_runs(s, e);
out:
    return store_finish(s, rc, e);
}
