/* test_migrate.c - older files become newer ones whole, with a copy beside them; and the frozen
 * files of every released version still open and say the same.
 *
 * frozen/v<N>.sql is the dump of a file that version N wrote for the rows of this test;
 * frozen/runs_v<N>.sql that of runs it made, for tests/cli/test_old_databases.sh, with the answers
 * that it gave. They are never changed: a new version adds files. */
#include "harness/test.h"

#include <string.h>
#include <sys/wait.h>

#include "base/file.h"
#include "store/migrate.h"
#include "store/schema.h"
#include "store/statements.h"
#include "store/store_fixture.h"

enum { MIGRATORS = 20 };

/* A next version as it might be: a column, and a table rebuilt that others point to. */
static const struct schema_step next_steps[] = {
    {.version = 7, .sql = "this is never run on a file of version 7"},
    {.version = 8,
     .sql = "ALTER TABLE results ADD COLUMN note TEXT;"
            "CREATE TABLE next_points(artefact TEXT NOT NULL, scale TEXT NOT NULL,"
            " point INTEGER NOT NULL, run_id TEXT NOT NULL REFERENCES runs(run_id),"
            " L_train_nominal INTEGER, L_valid_nominal INTEGER, stride_nominal INTEGER, title TEXT,"
            " PRIMARY KEY(artefact,scale,point)) STRICT;"
            "INSERT INTO next_points SELECT *, NULL FROM points;"
            "DROP TABLE points; ALTER TABLE next_points RENAME TO points;"},
};
static const struct schema_step broken_steps[] = {
    {.version = 7, .sql = ""},
    {.version = 8,
     .sql = "ALTER TABLE results ADD COLUMN note TEXT; CREATE TABLE broken(x NONSENSE) STRICT;"},
};
static const struct schema_step orphan_steps[] = {
    {.version = 7, .sql = ""},
    {.version = 8, .sql = "DELETE FROM runs WHERE kind='train';"},
};
static const char *const next_views[] = {
    "CREATE VIEW evaluations AS SELECT run_id, note FROM results WHERE current=1 AND kind='eval'",
    NULL};

/* Writes a frozen file to the fixture's path. */
static void thaw_file(struct store_fixture *f, const char *path)
{
    store_fixture_close(f);
    unlink(f->path);
    char *sql = test_read(path);
    fixture_raw(f->path, sql);
    free(sql);
}

static void thaw(struct store_fixture *f, int version)
{
    char path[64];

    snprintf(path, sizeof path, "tests/store/frozen/v%d.sql", version);
    thaw_file(f, path);
}
TEST_EACH(store_fixture_setup, store_fixture_teardown)

TEST_WITH(struct store_fixture *f, every_released_version_opens_with_the_same_content)
{
    for (int version = 1; version <= schema_steps_n; version++) {
        thaw(f, version);
        store_fixture_open(f, STORE_WRITE);
        assert_int_equal(store_check(f->store, &f->e), 0);
        assert_cell(f,
                    "SELECT artefact||point||' '||position||' '||L_train_nominal||' '||"
                    "L_valid_nominal||' '||perplexity||' '||device||' '||code_id FROM "
                    "artefact_evaluations",
                    "table50 alibi 512 1024 17.25 a processor c0de");
        assert_rows(f, "SELECT final_loss_nats, train_wps FROM trainings", "2.125 1000.5");
        assert_cell(f, "SELECT wps FROM benchmarks", "1234.5");
        assert_rows(f, "SELECT state FROM attempts ORDER BY 1", "done ; done ; done ; failed");
        assert_cell(f, "SELECT count(*) FROM curves", "3");
        assert_rows(f, "SELECT count(*), coalesce(sum(nll),0) FROM position_loss",
                    version < 4 ? "0 0" : "1 250"); /* not known, so no row */
        assert_rows(f, "SELECT count(*), (SELECT count(*) FROM target_blocks) FROM target_groups",
                    version < 5 ? "0 0" : "1 1");
        assert_rows(f, "SELECT first_weight, slope, bound_excess FROM attention",
                    version < 5 ? "" : "0.25 0.5 -1.25");
        assert_rows(f, "SELECT layers, distance, weight FROM attention_rollout",
                    version < 5 ? "" : "2 4 0.0625");
        assert_cell(f, "SELECT value FROM paper_values WHERE position='alibi'", "18.5");
        assert_cell(f, "SELECT verdict FROM claims", "supported");
        assert_rows(f, "SELECT effect, seeds, cases FROM claims WHERE verdict='mixed'",
                    version < 7 ? "" : "1.25 5 []");
        assert_rows(f,
                    "SELECT ours, unit, device, origin, seeds, state FROM comparison WHERE "
                    "metric='perplexity'",
                    "17.25 ppl a processor trained 1 done");
        assert_cell(f, "SELECT uid FROM run_attempts WHERE state='failed'",
                    "00000000000000000000000000000004");
        if (version < 4) continue; /* a reader migrates nothing */
        thaw(f, version);
        store_fixture_open(f, STORE_READ);
        assert_rows(f, "SELECT count(*), (SELECT count(*) FROM evaluations) FROM position_loss",
                    "1 1");
        assert_rows(f, "SELECT count(*) FROM target_groups", version < 5 ? "0" : "1");
    }
}

/* The answers are those of the program that wrote the file. */
static void check_sources(struct store_fixture *f)
{
    assert_rows(
        f,
        "SELECT run_id, origin, updates, final_loss_nats, parameters, substr(best_sha256,1,9),"
        " device, attempt FROM trainings WHERE device='imported' ORDER BY run_id",
        "2a91c4f6dac489f4 pretrained - - 26832 f00232c37 imported 1 ; "
        "5b5d82ed579a951d imported 150 2.8262360095977783 22656 65dfea51d imported 1 ; "
        "5c2605da6d0c42c0 authors 150 2.8262360095977783 22656 f916d5bf1 imported 1");
    assert_rows(f, "SELECT count(*), count(DISTINCT run_id) FROM trainings", "4 4");
    assert_rows(f, "SELECT train_run_id, origin, count(*) FROM evaluations GROUP BY 1 ORDER BY 1",
                "2a91c4f6dac489f4 pretrained 2 ; 5b5d82ed579a951d imported 2 ; "
                "5c2605da6d0c42c0 authors 2 ; 6c3c8224c272198d trained 2");
    assert_rows(f, "SELECT state, count(*) FROM run_list GROUP BY 1", "done 12");
}

TEST_WITH(struct store_fixture *f, a_model_that_was_an_attempt_until_version_5_becomes_a_source)
{
    char path[256], sha256[65];
    struct store_run_state st;

    thaw_file(f, "tests/store/frozen/v5_sources.sql");
    store_fixture_open(f, STORE_READ);
    check_sources(f);
    store_fixture_close(f);
    store_fixture_open(f, STORE_WRITE);
    check_sources(f);
    assert_rows(f, "SELECT kind, name, path, current FROM sources ORDER BY id",
                "folder bloom pretrained.safetensors 1 ; checkpoint  imported.safetensors 1 ; "
                "authors  imported.safetensors 1");
    assert_cell(f, "SELECT count(*) FROM run_attempts WHERE slot='imported'", "0");
    assert_cell(f, "SELECT count(*) FROM results WHERE kind='train'", "1");
    assert_int_equal(store_check(f->store, &f->e), 0);
    assert_works(f, store_run_state(f->store, "5b5d82ed579a951d", &st, &f->e));
    assert_true(st.done && st.is_source && st.attempts_n == 1);
    assert_works(f, store_checkpoint(f->store, "5b5d82ed579a951d", SPEC_BEST, path, sha256, &f->e));
    assert_string_equal(path, "runs/5b5d82ed579a951d/1/imported.safetensors");
}

TEST_WITH(struct store_fixture *f,
          a_merged_file_of_version_5_leaves_sources_and_no_attempts_of_them)
{
    const struct project project = {.root = f->dir};
    struct store *s = NULL;
    struct merge_result m;
    char path[128];

    thaw_file(f, "tests/store/frozen/v5_sources.sql");
    fixture_make_folders(f);
    snprintf(path, sizeof path, "%s/other.db", f->dir);
    assert_int_equal(store_open(&s, path, STORE_WRITE, &f->e), 0);
    for (int times = 0; times < 2; times++)
        assert_works(f, store_merge(s, &m, &project, f->path, &f->e));
    store_close(s);
    snprintf(f->path, sizeof f->path, "%s", path);
    store_fixture_open(f, STORE_READ);
    check_sources(f);
    assert_cell(f, "SELECT count(*) FROM attempts WHERE slot='imported'", "0");
}

/* The answers are those of the program that wrote the file. */
static void check_texts(struct store_fixture *f)
{
    assert_rows(f,
                "SELECT settings, position_scaling, attention_window, attention_sinks"
                " FROM evaluations ORDER BY run_id",
                "eval.position_scaling=slopes slopes 0 0 ; eval.attention_window=8 none 8 0 ; "
                "eval.attention_sinks=4 eval.attention_window=8 none 8 4 ;  none 0 0");
    assert_rows(f, "SELECT count(*), sum(targets), sum(nll) FROM position_loss",
                "40 512 2996.627472281456");
    assert_rows(f,
                "SELECT first, last, targets, nll FROM position_loss"
                " WHERE settings LIKE '%sinks%' AND first > 16 ORDER BY first",
                "17 24 32 183.57873392105103 ; 25 32 32 198.02858018875122");
    assert_rows(f,
                "SELECT count(*), sum(length(key)), sum(length(value)), sum(key='model.heads')"
                " FROM settings",
                "270 3793 1103 5");
}

TEST_WITH(struct store_fixture *f, settings_and_losses_that_version_3_kept_as_text_become_rows)
{
    struct store *s = NULL;
    struct merge_result m;
    const struct project project = {.root = f->dir};
    char path[128];

    thaw_file(f, "tests/store/frozen/v3_positions.sql");
    fixture_make_folders(f);
    store_fixture_open(f, STORE_READ);
    check_texts(f);
    snprintf(path, sizeof path, "%s/other.db", f->dir);
    assert_int_equal(store_open(&s, path, STORE_WRITE, &f->e), 0);
    assert_works(f, store_merge(s, &m, &project, f->path, &f->e));
    store_close(s);
    store_fixture_close(f);
    store_fixture_open(f, STORE_WRITE);
    check_texts(f);
    assert_int_equal(store_check(f->store, &f->e), 0);
    store_fixture_close(f);
    snprintf(f->path, sizeof f->path, "%s", path); /* and where they were merged */
    store_fixture_open(f, STORE_READ);
    check_texts(f);
}

/* The parts between commas of the tables, indices and triggers of a file, sorted: where a column is
 * says only when its field came. */
static char *list_schema(const char *path)
{
    return strdup(fixture_raw(
        path, "SELECT group_concat(part,x'0a') FROM (SELECT trim(j.value) AS part"
              " FROM sqlite_schema s,"
              " json_each('[\"'||replace(replace(s.sql,'\"','\\\"'),',','\",\"')||'\"]') j"
              " WHERE s.type<>'view' AND s.sql IS NOT NULL ORDER BY s.name,part)"));
}

/* Fails when a table is edited instead of migrated: then add a step to schema.c, and the dump of a
 * file it makes as the next frozen file. */
TEST_WITH(struct store_fixture *f, the_frozen_file_has_the_tables_of_today)
{
    char *today = list_schema(f->path);

    thaw(f, schema_steps_n);
    store_fixture_open(f, STORE_WRITE); /* adds the columns of fields that it did not know */
    store_fixture_close(f);
    char *frozen = list_schema(f->path);
    assert_in_range(strlen(today), 2000, FIXTURE_RAW_BYTES - 2);
    assert_string_equal(frozen, today);
    free(today);
    free(frozen);
}

TEST_WITH(struct store_fixture *f, a_migration_is_whole_and_leaves_a_copy)
{
    char copy[128];
    int64_t version = 0;

    thaw(f, schema_steps_n);
    store_fixture_open(f, STORE_WRITE);
    assert_works(f, migrate_run(f->store, next_steps, 2, next_views, &f->e));
    assert_int_equal(DATABASE_NUMBER(f->store, version, &f->e, "PRAGMA user_version"), 1);
    assert_int_equal(version, 8);
    assert_cell(f, "SELECT count(note)||count(*) FROM evaluations", "01");
    assert_cell(f, "SELECT artefact||coalesce(title,'-') FROM points", "table5-");
    assert_cell(f, "SELECT count(*) FROM sqlite_schema WHERE type='view'", "1");
    assert_int_equal(store_check(f->store, &f->e), 0);
    store_fixture_close(f);
    snprintf(copy, sizeof copy, "%s.backup-v7", f->path);
    snprintf(f->path, sizeof f->path, "%.90s", copy);
    store_fixture_open(f, STORE_WRITE); /* the copy is a results.db of version 7 */
    assert_cell(f, "SELECT perplexity FROM evaluations", "17.25");
    assert_cell(f, "SELECT count(*) FROM run_attempts", "4");
}

TEST_WITH(struct store_fixture *f, a_migration_that_fails_leaves_the_old_file)
{
    int64_t version = 0;

    thaw(f, schema_steps_n);
    store_fixture_open(f, STORE_WRITE);
    assert_true(migrate_run(f->store, broken_steps, 2, next_views, &f->e) < 0);
    assert_non_null(strstr(f->e.text, "migration from version 7 to 8"));
    assert_refused(f, ERR_DATA, "rows that do not exist",
                   migrate_run(f->store, orphan_steps, 2, next_views, &f->e));
    assert_int_equal(DATABASE_NUMBER(f->store, version, &f->e, "PRAGMA user_version"), 1);
    assert_int_equal(version, 7);
    assert_int_equal(DATABASE_NUMBER(f->store, version, &f->e, "PRAGMA foreign_keys"), 1);
    assert_int_equal(version, 1);
    store_fixture_close(f);
    store_fixture_open(f, STORE_WRITE);
    assert_cell(f, "SELECT perplexity FROM evaluations", "17.25");
}

TEST_WITH(struct store_fixture *f, a_file_of_the_next_version_is_not_read)
{
    struct store *reader = NULL;

    thaw(f, schema_steps_n);
    store_fixture_open(f, STORE_WRITE);
    assert_int_equal(migrate_run(f->store, next_steps, 2, next_views, &f->e), 0);
    /* this program knows version 7 and meets version 8 */
    assert_refused(f, ERR_UNAVAILABLE, "version 8",
                   store_open(&reader, f->path, STORE_READ, &f->e));
}

/* Until version 2 a claim that was not judged was stored as not run. */
TEST_WITH(struct store_fixture *f, a_claim_of_version_2_that_was_not_judged_is_read_as_not_judged)
{
    static const char verdicts[] =
        "SELECT group_concat(claim||' '||verdict) FROM (SELECT * FROM claims ORDER BY claim)";
    static const char wanted[] = "C1 not run,C2 not judged,P1 supported";
    struct store *s = NULL;

    thaw(f, 2);
    fixture_raw(f->path, "INSERT INTO claim_verdicts VALUES"
                         "('a','mini','C1','s','not run','not judgedly said','now'),"
                         "('a','mini','C2','s','not run','not judged at this scale: speed','now')");
    assert_works(f, store_open(&s, f->path, STORE_READ, &f->e));
    assert_string_equal(fixture_cell(s, verdicts), wanted);
    store_close(s);
    store_fixture_open(f, STORE_WRITE);
    assert_cell(f, verdicts, wanted);
    assert_cell(f, "SELECT verdict FROM claim_verdicts WHERE claim='C2'", "not judged");
    assert_int_equal(store_set_claims(f->store, "a", "mini",
                                      &(struct store_claim){"C1", "s", "not judged", .runs = NULL},
                                      1, &f->e),
                     0);
    assert_cell(f, verdicts, "C1 not judged,P1 supported");
}

/* Cutting takes time in proportion to the lines times their bytes. */
TEST_WITH(struct store_fixture *f, a_foreign_text_of_many_lines_is_cut_after_256)
{
    thaw(f, 3);
    fixture_raw(f->path, "UPDATE runs SET spec=(WITH RECURSIVE k(i) AS(SELECT 1 UNION ALL SELECT"
                         " i+1 FROM k WHERE i<20000) SELECT group_concat('k'||i||'=1',char(10))"
                         " FROM k) WHERE kind='bench'");
    store_fixture_open(f, STORE_READ);
    assert_cell(f, "SELECT count(*) FROM settings JOIN run_list USING(run_id) WHERE kind='bench'",
                "256");
}

TEST_WITH(struct store_fixture *f, a_file_of_version_2_is_merged_and_not_changed)
{
    const struct project project = {.root = f->dir};
    struct store *s = NULL;
    struct merge_result m;
    char path[128];
    int32_t version;

    thaw(f, 2);
    snprintf(path, sizeof path, "%s/other.db", f->dir);
    assert_int_equal(store_open(&s, path, STORE_WRITE, &f->e), 0);
    fixture_make_folders(f);
    assert_works(f, store_merge(s, &m, &project, f->path, &f->e));
    assert_int_equal(m.results_n, 3);
    assert_string_equal(fixture_cell(s, "SELECT perplexity FROM evaluations"), "17.25");
    assert_string_equal(fixture_cell(s, "SELECT blas FROM attempts WHERE blas='some' LIMIT 1"),
                        "some");
    store_close(s);
    assert_int_equal(store_open(&s, f->path, STORE_READ, &f->e), 0);
    assert_int_equal(DATABASE_NUMBER(s, version, &e, "PRAGMA user_version"), 1);
    assert_int_equal(version, 2);
    store_close(s);
}

TEST_WITH(struct store_fixture *f, a_reader_needs_a_writer_to_migrate_version_1_first)
{
    struct store *s = NULL;

    thaw(f, 1);
    assert_refused(f, ERR_UNAVAILABLE, "its schema has version 1, this program reads version 7",
                   store_open(&s, f->path, STORE_READ, &f->e));
    store_fixture_open(f, STORE_WRITE);
    assert_int_equal(store_open(&s, f->path, STORE_READ, &f->e), 0);
    store_close(s);
}

TEST_WITH(struct store_fixture *f, a_copy_takes_writes_and_leaves_a_file_of_any_version_as_it_is)
{
    for (int version = 2; version <= schema_steps_n; version++) {
        struct store *copy;
        char run_id[SPEC_ID_BYTES], backup[64];
        thaw(f, version);
        store_fixture_open(f, STORE_READ);
        snprintf(run_id, sizeof run_id, "%s",
                 fixture_cell(f->store, "SELECT run_id FROM evaluations"));
        struct store_point point = {0, run_id, 512, 1024, 0};
        assert_works(f, store_copy(&copy, f->store, &f->e));
        assert_works(f, store_set_points(copy, "own", "mini", &point, 1, &f->e));
        assert_string_equal(
            fixture_cell(copy, "SELECT perplexity FROM artefact_evaluations WHERE artefact='own'"),
            "17.25");
        store_close(copy);
        assert_cell(f, "SELECT count(*) FROM artefact_points WHERE artefact='own'", "0");
        store_fixture_close(f);
        assert_int_equal(atoi(fixture_raw(f->path, "PRAGMA user_version")), version);
        snprintf(backup, sizeof backup, "results.db.backup-v%d", version);
        assert_int_equal(access(fixture_path(f, backup), F_OK), -1);
    }
}

/* The file of a program that did not know a field yet, as far as its tables go. */
static void forget_field(struct store_fixture *f)
{
    thaw(f, schema_steps_n);
    fixture_raw(f->path, "CREATE VIEW my_own AS SELECT 7 AS seven; DROP VIEW wanted_evaluations;"
                         "DROP VIEW wanted_benchmarks; DROP VIEW benchmarks;"
                         "ALTER TABLE results DROP COLUMN mfu");
}

TEST_WITH(struct store_fixture *f, a_field_that_the_tables_lack_becomes_a_column)
{
    struct store *reader = NULL;
    char copy[128];

    forget_field(f);
    assert_works(f, store_open(&reader, f->path, STORE_READ, &f->e));
    assert_string_equal(fixture_cell(reader, "SELECT wps||coalesce(mfu,'-') FROM benchmarks"),
                        "1234.5-"); /* a reader changes nothing and reads NULL */
    store_close(reader);
    store_fixture_open(f, STORE_WRITE);
    assert_cell(f, "SELECT wps||coalesce(mfu,'-') FROM benchmarks", "1234.5-");
    assert_cell(f, "SELECT sql LIKE '%mfu REAL%' FROM sqlite_schema WHERE name='results'", "1");
    assert_cell(f, "SELECT seven FROM my_own", "7");
    snprintf(copy, sizeof copy, "%s.backup-v%d", f->path, schema_steps_n);
    assert_true(file_exists(copy));
}

TEST_WITH(struct store_fixture *f, a_key_that_the_runs_lack_becomes_a_column)
{
    thaw(f, schema_steps_n);
    fixture_raw(f->path, "PRAGMA writable_schema=ON; DELETE FROM sqlite_schema WHERE type='view'");
    fixture_raw(f->path, "ALTER TABLE runs DROP COLUMN updates");
    store_fixture_open(f, STORE_WRITE);
    assert_cell(f, "SELECT sql LIKE '%updates INTEGER%' FROM sqlite_schema WHERE name='runs'", "1");
}

/* 1: it has migrated the file; 0: another was first, and the file is newer now. */
static int migrate_in_time(const struct store_fixture *f)
{
    struct store *s = NULL;
    struct err e;
    int rc;

    while ((rc = store_open(&s, f->path, STORE_WRITE, &e)) == ERR_TRYLATER) continue;
    if (rc == ERR_UNAVAILABLE) return 0;
    if (rc == 0) rc = migrate_run(s, next_steps, 2, next_views, &e);
    store_close(s);
    return rc == 0 ? 1 : MIGRATORS;
}

/* Twenty processes meet an older file at once: each ends well, and it is migrated once. */
TEST_WITH(struct store_fixture *f, a_race_migrates_once)
{
    thaw(f, schema_steps_n);
    assert_int_equal(fixture_race(f, MIGRATORS, migrate_in_time), 1);
    print_message("%d faults injected\n", MIGRATORS);
    unlink(f->path);
    store_fixture_open(f, STORE_WRITE);
}

/* An earlier program of the same version made fewer views, and others. */
static void age_the_views(struct store_fixture *f)
{
    store_fixture_close(f);
    fixture_raw(f->path, "DROP VIEW wanted_evaluations; DROP VIEW claims;"
                         "CREATE VIEW claims AS SELECT 1 AS old;"
                         "CREATE VIEW my_own AS SELECT 7 AS seven");
}

TEST_WITH(struct store_fixture *f, a_reader_of_an_earlier_programs_file_sees_todays_views)
{
    age_the_views(f);
    store_fixture_open(f, STORE_READ);
    assert_cell(f, "SELECT count(verdict) FROM claims", "0");
    assert_cell(f, "SELECT count(perplexity) FROM wanted_evaluations", "0");
    assert_cell(f, "SELECT seven FROM my_own", "7");
    store_fixture_close(f);
    fixture_raw(f->path, "SELECT old FROM claims"); /* and has changed nothing */
}

TEST_WITH(struct store_fixture *f, a_writer_replaces_an_earlier_programs_views_once)
{
    int64_t first = 0, second = 0;

    age_the_views(f);
    store_fixture_open(f, STORE_WRITE);
    assert_int_equal(DATABASE_NUMBER(f->store, first, &f->e, "PRAGMA schema_version"), 1);
    store_fixture_close(f);
    store_fixture_open(f, STORE_WRITE);
    assert_int_equal(DATABASE_NUMBER(f->store, second, &f->e, "PRAGMA schema_version"), 1);
    assert_int_equal(first, second);
    store_fixture_close(f);
    /* as any SQLite tool sees them */
    fixture_raw(f->path,
                "SELECT verdict FROM claims; SELECT seven FROM my_own, wanted_evaluations");
}
