/* schema.c - the tables of results.db, one step a version, and its views (views.sql).
 *
 * Here are the columns that no record has and those with a condition; the others of record_fields
 * are added after each step, which makes a file of any age have them all.
 *
 * Lengths are in tokens, memory in bytes, time in seconds. Every number that can be missing is
 * NULL, never NaN and never zero in its place. */
#include "store/schema.h"

#include "position/position.h"

static const char version_1[] =
    /* The runs: one row each, whichever artefacts need them. */
    "CREATE TABLE runs("
    " run_id TEXT PRIMARY KEY,"
    " kind TEXT NOT NULL CHECK(kind IN('train','eval','bench')),"
    " config_id TEXT NOT NULL,"
    " train_run_id TEXT REFERENCES runs(run_id),"
    " scale TEXT NOT NULL,"
    " modified INTEGER NOT NULL CHECK(modified IN(0,1)),"
    " origin TEXT NOT NULL CHECK(origin IN('trained','imported')),"
    " dataset TEXT NOT NULL,"
    " corpus TEXT NOT NULL,"
    " model TEXT NOT NULL,"
    " position TEXT NOT NULL,"
    " L_train INTEGER NOT NULL,"
    " seed INTEGER NOT NULL,"
    " precision TEXT NOT NULL,"
    " parameters INTEGER,"
    " L_valid INTEGER,"
    " split TEXT,"
    " protocol TEXT,"
    " stride INTEGER,"
    " first_window TEXT,"
    " checkpoint TEXT,"
    " targets INTEGER,"
    " mode TEXT,"
    " flops REAL,"
    " canonical TEXT NOT NULL,"
    " spec TEXT NOT NULL,"
    " created_at TEXT NOT NULL,"
    " CHECK((kind='eval')=(train_run_id IS NOT NULL)),"
    " CHECK(kind<>'eval' OR(L_valid IS NOT NULL AND split IS NOT NULL AND protocol IS NOT NULL)),"
    " CHECK((kind='bench')=(mode IS NOT NULL))) STRICT;"
    "CREATE INDEX runs_of_training ON runs(train_run_id);"

    /* Which artefact needs which run, with the paper's lengths. */
    "CREATE TABLE points("
    " artefact TEXT NOT NULL,"
    " scale TEXT NOT NULL,"
    " point INTEGER NOT NULL,"
    " run_id TEXT NOT NULL REFERENCES runs(run_id),"
    " L_train_nominal INTEGER,"
    " L_valid_nominal INTEGER,"
    " stride_nominal INTEGER,"
    " PRIMARY KEY(artefact,scale,point)) STRICT;"
    "CREATE INDEX points_of_run ON points(run_id);"

    /* Attempts: running -> done | failed | diverged | lost | cancelled, then never rewritten. */
    "CREATE TABLE run_attempts("
    " attempt_id INTEGER PRIMARY KEY,"
    " uid TEXT NOT NULL UNIQUE,"
    " run_id TEXT NOT NULL REFERENCES runs(run_id),"
    " attempt INTEGER NOT NULL CHECK(attempt>=1),"
    " state TEXT NOT NULL"
    "  CHECK(state IN('running','done','failed','diverged','lost','cancelled')),"
    " slot TEXT,"
    " boot_id TEXT,"
    " pid INTEGER,"
    " pid_start INTEGER,"
    " dir TEXT NOT NULL,"
    " started_at TEXT NOT NULL,"
    " ended_at TEXT,"
    " exit_code INTEGER,"
    " signal INTEGER,"
    " message TEXT,"
    " merged_from TEXT,"
    " UNIQUE(run_id,attempt),"
    " CHECK((state='running')=(ended_at IS NULL))) STRICT;"
    "CREATE UNIQUE INDEX one_running_attempt ON run_attempts(run_id) WHERE state='running';"
    "CREATE TRIGGER an_attempt_ends_once BEFORE UPDATE ON run_attempts WHEN OLD.state<>'running'"
    " BEGIN SELECT RAISE(ABORT,'an ended attempt is never rewritten'); END;"

    /* Results. current: the one of its run that views show. late: it was read after its attempt had
     * ended, so it never becomes current. */
    "CREATE TABLE results("
    " result_id INTEGER PRIMARY KEY,"
    " attempt_id INTEGER NOT NULL REFERENCES run_attempts(attempt_id),"
    " run_id TEXT NOT NULL REFERENCES runs(run_id),"
    " kind TEXT NOT NULL CHECK(kind IN('train','eval','bench')),"
    " sequence INTEGER NOT NULL,"
    " current INTEGER NOT NULL CHECK(current IN(0,1)),"
    " late INTEGER NOT NULL CHECK(late IN(0,1)),"
    " updates INTEGER,"
    " final_loss_nats REAL,"
    " perplexity REAL,"
    " tokens INTEGER,"
    " nonfinite INTEGER,"
    " wps REAL,"
    " UNIQUE(attempt_id,sequence),"
    " CHECK(current=0 OR late=0),"
    " CHECK(kind<>'train' OR(updates IS NOT NULL AND final_loss_nats IS NOT NULL)),"
    " CHECK(kind<>'eval' OR(tokens IS NOT NULL AND nonfinite IS NOT NULL"
    "  AND(nonfinite=0)=(perplexity IS NOT NULL))),"
    " CHECK(kind<>'bench' OR wps IS NOT NULL)) STRICT;"
    "CREATE UNIQUE INDEX one_current_result ON results(run_id) WHERE current=1;"
    "CREATE INDEX results_of_run ON results(run_id);"

    "CREATE TABLE checkpoint_files("
    " attempt_id INTEGER NOT NULL REFERENCES run_attempts(attempt_id),"
    " sequence INTEGER NOT NULL,"
    " step INTEGER NOT NULL,"
    " path TEXT NOT NULL,"
    " sha256 TEXT NOT NULL,"
    " best INTEGER NOT NULL CHECK(best IN(0,1)),"
    " PRIMARY KEY(attempt_id,sequence)) STRICT;"

    /* Decimated: every step stays in the event file. */
    "CREATE TABLE curve_points("
    " attempt_id INTEGER NOT NULL REFERENCES run_attempts(attempt_id),"
    " split TEXT NOT NULL CHECK(split IN('train','valid')),"
    " step INTEGER NOT NULL,"
    " best INTEGER CHECK(best IN(0,1)),"
    " PRIMARY KEY(attempt_id,split,step)) STRICT, WITHOUT ROWID;"

    "CREATE TABLE progress_now("
    " attempt_id INTEGER PRIMARY KEY REFERENCES run_attempts(attempt_id),"
    " sequence INTEGER NOT NULL,"
    " updated_at TEXT NOT NULL) STRICT;"

    "CREATE TABLE paper_files("
    " artefact TEXT PRIMARY KEY,"
    " sha256 TEXT NOT NULL,"
    " read_at TEXT NOT NULL) STRICT;"
    "CREATE TABLE paper_cells("
    " artefact TEXT NOT NULL REFERENCES paper_files(artefact) ON DELETE CASCADE,"
    " line INTEGER NOT NULL,"
    " dataset TEXT, panel TEXT, series TEXT, method TEXT, params TEXT,"
    " L_train INTEGER, L_valid INTEGER, split TEXT, protocol TEXT, stride INTEGER,"
    " x_name TEXT, x REAL, metric TEXT NOT NULL, value REAL, unit TEXT, note TEXT, source TEXT,"
    " position TEXT,"
    " PRIMARY KEY(artefact,line)) STRICT;"

    "CREATE TABLE claim_verdicts("
    " artefact TEXT NOT NULL,"
    " scale TEXT NOT NULL,"
    " claim TEXT NOT NULL,"
    " statement TEXT NOT NULL,"
    " verdict TEXT NOT NULL CHECK(verdict IN('supported','contradicted','not run')),"
    " evidence TEXT,"
    " judged_at TEXT NOT NULL,"
    " PRIMARY KEY(artefact,scale,claim)) STRICT;";

/* An attempt's folder may move: a merge copies it here. */
#define ENDS_ONCE_2                                                                                \
    "CREATE TRIGGER an_attempt_ends_once BEFORE UPDATE OF attempt_id,uid,run_id,attempt,state,"    \
    "slot,device,backend,host,boot_id,pid,pid_start,blas,threads,code_id,program,started_at,"      \
    "ended_at,exit_code,signal,message,merged_from,choices ON run_attempts"                        \
    " WHEN OLD.state<>'running'"                                                                   \
    " BEGIN SELECT RAISE(ABORT,'an ended attempt is never rewritten'); END"

static const char version_2[] = "DROP TRIGGER an_attempt_ends_once;" ENDS_ONCE_2 ";";

/* Until version 2 a claim that was not judged was kept as not run, with evidence that says why. */
#define CLAIMS_OF_2                                                                                \
    "SELECT artefact, scale, claim, statement,"                                                    \
    " CASE WHEN evidence>='not judged ' AND evidence<'not judged!' THEN 'not judged'"              \
    "  ELSE verdict END AS verdict, evidence, judged_at FROM main.claim_verdicts"

static const char version_3[] =
    "CREATE TABLE next_verdicts("
    " artefact TEXT NOT NULL,"
    " scale TEXT NOT NULL,"
    " claim TEXT NOT NULL,"
    " statement TEXT NOT NULL,"
    " verdict TEXT NOT NULL"
    "  CHECK(verdict IN('supported','contradicted','not run','not judged')),"
    " evidence TEXT,"
    " judged_at TEXT NOT NULL,"
    " PRIMARY KEY(artefact,scale,claim)) STRICT;"
    "INSERT INTO next_verdicts " CLAIMS_OF_2 ";"
    "DROP TABLE claim_verdicts;"
    "ALTER TABLE next_verdicts RENAME TO claim_verdicts;";

/* Until version 4 the settings of a run and the losses by position of a result were text, which is
 * still that of an older file or record.
 * run_settings: the lines of `spec`, the run's own. hashed: it is a line of `canonical`, too: the
 * run id is made from it, and its value is not the neutral one.
 * position_losses: struct record_bins of a result. */
#define TABLES_OF_4(TEMP)                                                                          \
    "CREATE " TEMP "TABLE run_settings("                                                           \
    " run_id TEXT NOT NULL REFERENCES runs(run_id),"                                               \
    " key TEXT NOT NULL,"                                                                          \
    " value TEXT NOT NULL,"                                                                        \
    " hashed INTEGER NOT NULL CHECK(hashed IN(0,1)),"                                              \
    " PRIMARY KEY(run_id,key)) STRICT, WITHOUT ROWID;"                                             \
    "CREATE " TEMP "TABLE position_losses("                                                        \
    " result_id INTEGER NOT NULL REFERENCES results(result_id),"                                   \
    " first INTEGER NOT NULL,"                                                                     \
    " last INTEGER NOT NULL,"                                                                      \
    " targets INTEGER NOT NULL,"                                                                   \
    " nll REAL,"                                                                                   \
    " PRIMARY KEY(result_id,first)) STRICT, WITHOUT ROWID;"

/* A foreign text of many lines must not take long: the number of lines is limited. */
#define SETTINGS_OF_TEXTS                                                                          \
    "INSERT INTO run_settings"                                                                     \
    " WITH RECURSIVE lines(n,run_id,canonical,line,rest) AS("                                      \
    "  SELECT 0,run_id,char(10)||canonical,NULL,spec||char(10) FROM runs"                          \
    "   WHERE NOT EXISTS(SELECT 1 FROM run_settings s WHERE s.run_id=runs.run_id)"                 \
    "  UNION ALL SELECT n+1,run_id,canonical,substr(rest,1,instr(rest,char(10))-1),"               \
    "   substr(rest,instr(rest,char(10))+1) FROM lines WHERE rest<>'' AND n<256)"                  \
    " SELECT run_id,substr(line,1,instr(line,'=')-1),substr(line,instr(line,'=')+1),"              \
    "  instr(canonical,char(10)||line||char(10))>0 FROM lines WHERE line<>''"                      \
    " ON CONFLICT DO NOTHING;"

/* The text has a line of 64 bytes for each range: first and last position (10 bytes each), targets
 * (16), the sum of their losses (27, empty where it is not finite), a newline. */
#define LOSSES_OF_TEXTS(WHICH)                                                                     \
    "INSERT INTO position_losses"                                                                  \
    " WITH RECURSIVE lines(n,result_id,line,rest) AS("                                             \
    "  SELECT 0,result_id,NULL,position_loss FROM results WHERE position_loss<>''" WHICH           \
    "   AND NOT EXISTS(SELECT 1 FROM position_losses p WHERE p.result_id=results.result_id)"       \
    "  UNION ALL SELECT n+1,result_id,substr(rest,1,64),substr(rest,65) FROM lines"                \
    "   WHERE rest<>'' AND n<64)"                                                                  \
    " SELECT result_id,CAST(substr(line,1,10) AS INTEGER),CAST(substr(line,11,10) AS INTEGER),"    \
    "  CAST(substr(line,21,16) AS INTEGER),"                                                       \
    "  CAST(nullif(trim(substr(line,37,27)),'') AS REAL) FROM lines WHERE line<>''"                \
    " ON CONFLICT DO NOTHING;"

static const char version_4[] = TABLES_OF_4("");

const char schema_query_name[] = "lines";
const char schema_rows_of_texts[] = SETTINGS_OF_TEXTS LOSSES_OF_TEXTS("");
const char schema_rows_of_attempt[] = LOSSES_OF_TEXTS(" AND attempt_id=?1");

/* group_losses: struct record_bins of a result, by `grouping`: the classes of its corpus, or
 * equal parts of its targets. attention_heads, attention_rollouts: RECORD_HEAD and RECORD_ROLLOUT.
 * An older file has none. */
#define TABLES_OF_5(TEMP)                                                                          \
    "CREATE " TEMP "TABLE group_losses("                                                           \
    " result_id INTEGER NOT NULL REFERENCES results(result_id),"                                   \
    " grouping TEXT NOT NULL CHECK(grouping IN('group','block')),"                                 \
    " first INTEGER NOT NULL,"                                                                     \
    " last INTEGER NOT NULL,"                                                                      \
    " name TEXT,"                                                                                  \
    " targets INTEGER NOT NULL,"                                                                   \
    " nll REAL,"                                                                                   \
    " hits INTEGER,"                                                                               \
    " PRIMARY KEY(result_id,grouping,first)) STRICT, WITHOUT ROWID;"                               \
    "CREATE " TEMP "TABLE attention_heads("                                                        \
    " attempt_id INTEGER NOT NULL REFERENCES run_attempts(attempt_id),"                            \
    " text TEXT NOT NULL,"                                                                         \
    " layer INTEGER NOT NULL,"                                                                     \
    " head INTEGER NOT NULL,"                                                                      \
    " rows INTEGER NOT NULL,"                                                                      \
    " first_weight REAL,"                                                                          \
    " entropy REAL,"                                                                               \
    " distance REAL,"                                                                              \
    " logit_low REAL,"                                                                             \
    " logit_high REAL,"                                                                            \
    " slope REAL,"                                                                                 \
    " bound_excess REAL,"                                                                          \
    " PRIMARY KEY(attempt_id,text,layer,head)) STRICT, WITHOUT ROWID;"                             \
    "CREATE " TEMP "TABLE attention_rollouts("                                                     \
    " attempt_id INTEGER NOT NULL REFERENCES run_attempts(attempt_id),"                            \
    " text TEXT NOT NULL,"                                                                         \
    " layers INTEGER NOT NULL,"                                                                    \
    " head INTEGER NOT NULL,"                                                                      \
    " distance INTEGER NOT NULL,"                                                                  \
    " weight REAL,"                                                                                \
    " PRIMARY KEY(attempt_id,text,layers,head,distance)) STRICT, WITHOUT ROWID;"

static const char version_5[] = TABLES_OF_5("");

/* Weights that were made elsewhere, which stand for those of a training. The fields of
 * EVENT_SOURCE, where they are and since when. current: views show it; neither a later source nor a
 * training has replaced it. Until version 6 such a source was a finished attempt on the device
 * `imported`. */
#define TABLES_OF_6(TEMP)                                                                          \
    "CREATE " TEMP "TABLE sources("                                                                \
    " source_id INTEGER PRIMARY KEY,"                                                              \
    " uid TEXT NOT NULL UNIQUE,"                                                                   \
    " id TEXT NOT NULL REFERENCES runs(run_id),"                                                   \
    " kind TEXT NOT NULL,"                                                                         \
    " name TEXT NOT NULL,"                                                                         \
    " current INTEGER NOT NULL CHECK(current IN(0,1)),"                                            \
    " attempt INTEGER NOT NULL CHECK(attempt>=1),"                                                 \
    " dir TEXT NOT NULL,"                                                                          \
    " path TEXT NOT NULL,"                                                                         \
    " sha256 TEXT NOT NULL,"                                                                       \
    " tokenizer TEXT,"                                                                             \
    " files TEXT,"                                                                                 \
    " updates INTEGER,"                                                                            \
    " tokens_per_update INTEGER,"                                                                  \
    " final_loss_nats REAL,"                                                                       \
    " parameters INTEGER,"                                                                         \
    " code_id TEXT,"                                                                               \
    " registered_at TEXT NOT NULL,"                                                                \
    " merged_from TEXT) STRICT;"

#define SOURCES_OF_ATTEMPTS                                                                        \
    "INSERT INTO sources"                                                                          \
    " SELECT NULL,a.uid,a.run_id,CASE o.value WHEN 'pretrained' THEN 'folder'"                     \
    "  WHEN 'authors' THEN 'authors' ELSE 'checkpoint' END,coalesce(m.value,''),1,a.attempt,"      \
    "  a.dir,v.best_checkpoint,v.best_sha256,NULL,NULL,nullif(v.updates,0),"                       \
    "  nullif(v.tokens_per_update,0),CASE WHEN v.updates>0 THEN v.final_loss_nats END,"            \
    "  v.parameters,a.code_id,a.ended_at,a.merged_from FROM results v"                             \
    " JOIN run_attempts a USING(attempt_id)"                                                       \
    " LEFT JOIN run_settings o ON o.run_id=v.run_id AND o.key='train.origin' AND o.hashed"         \
    " LEFT JOIN run_settings m ON m.run_id=v.run_id AND m.key='model.name'"                        \
    " WHERE v.current=1 AND v.kind='train' AND a.slot='imported'"                                  \
    "  AND v.best_checkpoint IS NOT NULL AND v.best_sha256 IS NOT NULL;"

/* Deletes these attempts with their results and the records of their checkpoints. */
#define DELETE_FROM(table)                                                                         \
    "DELETE FROM " table " WHERE attempt_id IN(SELECT attempt_id FROM run_attempts"                \
    " WHERE uid IN(SELECT uid FROM sources));"
#define ATTEMPTS_OF_SOURCES                                                                        \
    DELETE_FROM("checkpoint_files") DELETE_FROM("results") DELETE_FROM("run_attempts")

const char schema_sources_of_attempts[] = SOURCES_OF_ATTEMPTS ATTEMPTS_OF_SOURCES;

static const char version_6[] =
    TABLES_OF_6("") "CREATE UNIQUE INDEX one_current_source ON sources(id) WHERE current=1;"
                    "ALTER TABLE runs DROP COLUMN origin;";

/* Until version 7 a claim was a verdict with its evidence as text. */
#define UNKNOWN_OF_7                                                                               \
    ", NULL AS threshold, NULL AS effect, NULL AS error, NULL AS low, NULL AS high,"               \
    " NULL AS seeds, NULL AS split, NULL AS runs, NULL AS codes, NULL AS cases"
static const char version_7[] =
    "CREATE TABLE next_verdicts("
    " artefact TEXT NOT NULL,"
    " scale TEXT NOT NULL,"
    " claim TEXT NOT NULL,"
    " statement TEXT NOT NULL,"
    " verdict TEXT NOT NULL"
    "  CHECK(verdict IN('supported','contradicted','mixed','not run','not judged')),"
    " evidence TEXT,"
    " judged_at TEXT NOT NULL,"
    " threshold REAL,"
    " effect REAL,"
    " error REAL,"
    " low REAL,"
    " high REAL,"
    " seeds INTEGER,"
    " split TEXT,"
    " runs TEXT,"
    " codes TEXT,"
    " cases TEXT,"
    " PRIMARY KEY(artefact,scale,claim)) STRICT;"
    "INSERT INTO next_verdicts SELECT *" UNKNOWN_OF_7 " FROM claim_verdicts;"
    "DROP TABLE claim_verdicts;"
    "ALTER TABLE next_verdicts RENAME TO claim_verdicts;";

const char schema_trigger_name[] = "an_attempt_ends_once";
const char schema_trigger[] = ENDS_ONCE_2;

const struct schema_step schema_steps[] = {
    {1, version_1, NULL, NULL, NULL},
    {2, version_2, NULL, NULL, NULL},
    {3, version_3, "", NULL, NULL}, /* a reader has the view of version 7 */
    {4, version_4, TABLES_OF_4("TEMP "), schema_rows_of_texts, NULL},
    {5, version_5, TABLES_OF_5("TEMP "), NULL, NULL},
    {6, version_6, TABLES_OF_6("TEMP "), SOURCES_OF_ATTEMPTS, ATTEMPTS_OF_SOURCES},
    {7, version_7,
     "CREATE TEMP VIEW claim_verdicts AS SELECT *" UNKNOWN_OF_7 " FROM (" CLAIMS_OF_2 ")", NULL,
     NULL},
};
const int schema_steps_n = sizeof schema_steps / sizeof *schema_steps;

#define METHOD_ROW(NAME, name, display, place, style, bounded)                                     \
    " UNION ALL SELECT '" #name "','" display "'," #place "," #style "," #bounded

const char *const schema_views[] = {
    "CREATE VIEW position_methods AS SELECT NULL AS position, NULL AS display, NULL AS place,"
    " NULL AS style, NULL AS bounded WHERE 0" POSITION_METHODS(METHOD_ROW),
#include "store/views.inc"
    NULL};
