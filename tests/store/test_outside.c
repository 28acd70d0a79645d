/* test_outside.c - what others write reaches nothing: statements of a project's files and of the
 * command line, the views and triggers of a results.db, and files that are not databases. */
#include "harness/test.h"

#include <signal.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "store/database.h"
#include "store/store_fixture.h"

/* A statement that is refused, and a word of the reason. */
struct refusal {
    const char *sql;
    int code;
    const char *word;
};

/* Without a limit of time, so that a busy machine gives no other reason. */
static int ask(struct store_fixture *f, const char *sql)
{
    struct rows rows;
    return fixture_ask(f, &rows, sql, NULL, 0, 0);
}

static void assert_all_refused(struct store_fixture *f, const struct refusal *refusals, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int rc = ask(f, refusals[i].sql);
        if (rc != refusals[i].code || !strstr(f->e.text, refusals[i].word))
            fail_msg("%.200s: %d %s", refusals[i].sql, rc, f->e.text);
        assert_int_equal(ask(f, "SELECT 1"), 0);
    }
}

TEST_EACH(store_fixture_setup, store_fixture_teardown)

TEST_WITH(struct store_fixture *f, functions_outside_the_list_are_refused)
{
    static const struct refusal refusals[] = {
        {"SELECT fts3_tokenizer('simple')", ERR_USAGE, "fts3_tokenizer() is not allowed"},
        {"SELECT hex(FTS3_Tokenizer('simple'))", ERR_USAGE, "fts3_tokenizer() is not allowed"},
        {"SELECT fts3_tokenizer('mine', x'4141414141414141')", ERR_USAGE, "fts3_tokenizer()"},
        {"SELECT 1 WHERE EXISTS(SELECT fts3_tokenizer('simple'))", ERR_USAGE, "fts3_tokenizer()"},
        {"SELECT address FROM theirs", ERR_USAGE, "fts3_tokenizer()"},
        {"SELECT load_extension('x.so')", ERR_USAGE, "load_extension()"},
        {"SELECT json_group_array(name) FROM sqlite_schema", ERR_USAGE, "json_group_array()"},
        {"SELECT sqlite_compileoption_get(0)", ERR_USAGE, "sqlite_compileoption_get()"},
        {"SELECT nobody_made_this(1)", ERR_USAGE, "no such function"},
    };
    struct store_param name = {"name", "simple", STORE_TEXT};
    struct rows rows;

    fixture_raw(f->path, "CREATE VIEW theirs AS SELECT fts3_tokenizer('simple') AS address");
    assert_all_refused(f, refusals, sizeof refusals / sizeof *refusals);
    /* SQLite takes a bound name even where the function is switched off */
    assert_int_equal(fixture_ask(f, &rows, "SELECT fts3_tokenizer(:name)", &name, 1, 0), ERR_USAGE);
}

/* The file of somebody who wants a pointer of his choice called. */
TEST_WITH(struct store_fixture *f, virtual_tables_are_not_read)
{
    static const struct refusal refusals[] = {
        {"SELECT * FROM pages", ERR_USAGE, "no such module"},
        {"SELECT * FROM pages WHERE text MATCH 'x'", ERR_USAGE, "no such module"},
        {"SELECT * FROM words", ERR_USAGE, "no such module"},
        {"SELECT value FROM json_each('[1]')", ERR_USAGE, "table-valued function json_each()"},
        {"SELECT * FROM Generate_Series (1, 9)", ERR_USAGE, "function Generate_Series()"},
        {"SELECT * FROM pragma_user_version", ERR_USAGE, "only SELECT"},
        {"SELECT count(*) FROM pragma_table_info('runs')", ERR_USAGE, "only SELECT"},
        {"SELECT * FROM dbstat", ERR_USAGE, "no such table"},
        {"SELECT sql FROM sqlite_stmt", ERR_USAGE, "no such table"},
    };

    fixture_raw(f->path, "CREATE VIRTUAL TABLE pages USING fts3(text);"
                         "CREATE VIEW words AS SELECT text FROM pages");
    assert_all_refused(f, refusals, sizeof refusals / sizeof *refusals);
}

#define ENDLESS "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) "
#define NULLS "NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL"
#define MEGABYTE "hex(zeroblob(500000))" /* less than the limit */

TEST_WITH(struct store_fixture *f, what_is_too_large_names_its_limit)
{
    static const struct refusal refusals[] = {
        {"SELECT zeroblob(60000000)", ERR_DATA, "limit of 1 MiB"},
        {"SELECT " MEGABYTE "||" MEGABYTE, ERR_DATA, "limit of 1 MiB"},
        {"SELECT replace(" MEGABYTE ",'0','three')", ERR_DATA, "limit of 1 MiB"},
        {ENDLESS "SELECT group_concat(hex(zeroblob(5000))) FROM (SELECT i FROM n LIMIT 200)",
         ERR_DATA, "limit of 1 MiB"},
        {"SELECT statement FROM claims", ERR_DATA, "limit of 1 MiB"},
        {ENDLESS "SELECT " MEGABYTE " FROM n", ERR_DATA, "limit of 64 MiB"},
        {ENDLESS "SELECT " NULLS "," NULLS "," NULLS "," NULLS " FROM n", ERR_DATA,
         "more than 4000000 cells"},
        {ENDLESS "SELECT randomblob(500000) FROM n UNION SELECT 1", ERR_DATA, "limit of 256 MiB"},
    };

    fixture_raw(f->path,
                "INSERT INTO claim_verdicts(artefact,scale,claim,statement,verdict,judged_at)"
                " VALUES('table5','mini','1',hex(zeroblob(600000)),'not run','now')");
    assert_all_refused(f, refusals, sizeof refusals / sizeof *refusals);
    assert_int_equal(sqlite3_hard_heap_limit64(-1), 0); /* of queries only */
    assert_int_equal(sqlite3_soft_heap_limit64(-1), 0);
}

/* Asks in a process of its own, whose messages go to the file. */
static pid_t ask_apart(const struct store_fixture *f, const char *sql, const char *messages)
{
    pid_t pid = fork();
    if (pid != 0) return pid;

    struct store *reader;
    struct rows rows;
    struct arena a;
    sigset_t all;

    arena_init(&a);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL); /* as the parent process may leave it */
    bool asks =
        freopen(messages, "a", stderr) && store_open(&reader, f->path, STORE_READ, NULL) == 0;
    if (asks) store_query(reader, &rows, &a, sql, NULL, 0, 0.1, NULL);
    _exit(asks ? 0 : 99);
}

/* Each takes more than half a minute in one call, and SQLite looks at the clock between calls. */
TEST_WITH(struct store_fixture *f, a_function_without_end_ends_the_process)
{
    static const char *const endless[] = {
        "SELECT printf(replace(hex(zeroblob(100)),'00','%.999999999c'))",
        "SELECT instr(t,substr(t,500000)||'1') FROM (SELECT " MEGABYTE " AS t)",
        "SELECT trim(" MEGABYTE ",replace(hex(zeroblob(32000)),'00','12')||'0')",
    };
    enum { N = sizeof endless / sizeof *endless };
    static const char line[] = "alibi: query: took longer than 0.1 s; narrow it, or give `alibi "
                               "query` a longer --limit\n";
    char messages[TEST_PATH_BYTES + 64], *text;
    pid_t pid[N];
    size_t n;

    snprintf(messages, sizeof messages, "%s", fixture_path(f, "messages"));
    for (int i = 0; i < N; i++) pid[i] = ask_apart(f, endless[i], messages);
    for (int i = 0, status; i < N; i++) {
        assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != err_exit_code(ERR_UNAVAILABLE))
            fail_msg("%s: status %d", endless[i], status);
    }
    assert_works(f, file_read(&f->store->arena, &text, &n, messages, 1 << 16, &f->e));
    assert_int_equal(n, N * strlen(line));
    for (int i = 0; i < N; i++)
        assert_memory_equal(text + (size_t)i * strlen(line), line, strlen(line));
}

TEST_WITH(struct store_fixture *f, a_query_leaves_the_programs_own_alarm)
{
    struct sigaction action = {.sa_handler = SIG_IGN}, after;

    sigaction(SIGALRM, &action, NULL);
    alarm(600);
    assert_int_equal(fixture_query(f, "SELECT 1"), 0);
    assert_in_range(alarm(0), 500, 600);
    sigaction(SIGALRM, NULL, &after);
    assert_true(after.sa_handler == SIG_IGN);
    signal(SIGALRM, SIG_DFL);
}

/* Opening a FIFO waits for its other end. */
TEST_WITH(struct store_fixture *f, only_a_regular_file_is_opened)
{
    static const char *const beside[] = {"results.db-journal", "results.db-wal", "results.db-shm",
                                         "results.db.open"};
    static const char *const names[] = {"pipe", "link", "folder"};
    static const char word[] = "not a regular file";
    struct merge_result m;

    store_fixture_close(f);
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        unlink(fixture_path(f, beside[i]));
        assert_int_equal(mkfifo(fixture_path(f, beside[i]), 0600), 0);
        fixture_refuse_open(f, f->path, ERR_DATA, word);
        assert_int_equal(unlink(fixture_path(f, beside[i])), 0);
    }
    store_fixture_open(f, STORE_WRITE);
    assert_int_equal(mkfifo(fixture_path(f, "pipe"), 0600), 0);
    assert_int_equal(symlink("pipe", fixture_path(f, "link")), 0);
    assert_int_equal(mkdir(fixture_path(f, "folder"), 0700), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        fixture_refuse_open(f, fixture_path(f, names[i]), ERR_DATA, word);
    assert_refused(f, ERR_DATA, word, fixture_merge(f, &m, fixture_path(f, "pipe")));
}

/* SQLite would delete that file, after undoing the transaction. */
TEST_WITH(struct store_fixture *f, a_journal_that_names_another_file_is_not_obeyed)
{
    char kept[TEST_PATH_BYTES + 64], journal[TEST_PATH_BYTES + 64];
    unsigned char bytes[1024] = "x";
    unsigned sum = 0;
    size_t n = 512;

    store_fixture_close(f);
    snprintf(kept, sizeof kept, "%s", fixture_path(f, "kept"));
    snprintf(journal, sizeof journal, "%s", fixture_path(f, "results.db-journal"));
    test_write(kept, "x", 1);
    for (const char *c = kept; *c; c++) sum += (unsigned)*c, bytes[n++] = (unsigned char)*c;
    const unsigned char end[] = {0,
                                 0,
                                 0,
                                 (unsigned char)strlen(kept),
                                 0,
                                 0,
                                 (unsigned char)(sum >> 8),
                                 (unsigned char)sum,
                                 0xd9,
                                 0xd5,
                                 0x05,
                                 0xf9,
                                 0x20,
                                 0xa1,
                                 0x63,
                                 0xd7};
    memcpy(bytes + n, end, sizeof end);
    for (int mode = STORE_READ; mode <= STORE_WRITE; mode++) {
        struct store *s = NULL;
        test_write(journal, bytes, n + sizeof end);
        int rc = store_open(&s, f->path, (enum store_mode)mode, &f->e);
        store_close(s);
        assert_int_equal(access(kept, F_OK), 0);
        assert_refused(f, ERR_DATA, "names another file", rc);
    }
    unlink(journal);
    store_fixture_open(f, STORE_WRITE);
}

/* Ends in the middle of a transaction whose pages are in the file. */
static int stop_in_transaction(const struct store_fixture *f)
{
    fixture_raw(f->path, "PRAGMA journal_mode=DELETE");
    sqlite3 *raw = NULL;
    sqlite3_open(f->path, &raw);
    return sqlite3_exec(raw,
                        "PRAGMA cache_size=1; BEGIN; UPDATE runs SET seed=777;"
                        "CREATE TABLE theirs AS SELECT zeroblob(100000) AS x",
                        NULL, NULL, NULL) != SQLITE_OK;
}

TEST_WITH(struct store_fixture *f, an_unfinished_transaction_is_not_read)
{
    struct store *s = NULL;
    struct merge_result m;

    fixture_done(f, &f->train, 2.0, NULL);
    store_fixture_close(f);
    assert_int_equal(fixture_race(f, 1, stop_in_transaction), 0);
    assert_refused(f, ERR_UNAVAILABLE, "did not finish",
                   store_open(&s, f->path, STORE_READ, &f->e));
    assert_int_equal(rename(f->path, fixture_path(f, "other.db")), 0);
    char from[TEST_PATH_BYTES + 64];
    snprintf(from, sizeof from, "%s", fixture_path(f, "results.db-journal"));
    assert_int_equal(rename(from, fixture_path(f, "other.db-journal")), 0);
    store_fixture_open(f, STORE_WRITE);
    assert_refused(f, ERR_UNAVAILABLE, "did not finish",
                   fixture_merge(f, &m, fixture_path(f, "other.db")));
    store_fixture_close(f);
    snprintf(f->path, sizeof f->path, "%s", fixture_path(f, "other.db"));
    store_fixture_open(f, STORE_WRITE);
    assert_cell(f, "SELECT seed FROM trainings", "1");
}

/* Puts new instead of old into the text of a table. */
#define EDIT(table, old, new)                                                                      \
    "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql=replace(sql,'" old                    \
    "','" new "') WHERE name='" table "'"

TEST_WITH(struct store_fixture *f, tables_that_alibi_did_not_make_are_refused)
{
    static const struct {
        const char *sql, *word;
    } rows[] = {
        {EDIT("runs", "spec TEXT NOT NULL", "spec TEXT"), "table 'runs'"},
        {EDIT("points", "artefact TEXT NOT NULL", "artefact TEXT"), "table 'points'"},
        {EDIT("results", ") STRICT", ")"), "table 'results'"},
        {EDIT("run_attempts", "slot TEXT", "slot TEXT AS(message LIKE dir)"), "'run_attempts'"},
        {EDIT("run_attempts", "slot TEXT", "slot TEXT DEFAULT(hex(zeroblob(9)))"),
         "'run_attempts'"},
        {EDIT("run_attempts", "attempt>=1", "slot LIKE dir OR attempt>=1"), "'run_attempts'"},
        {EDIT("run_attempts", "slot TEXT", "slot TEXT, extra TEXT AS(dir)"), "'run_attempts'"},
        {"CREATE INDEX theirs ON runs(length(spec))", "index 'theirs'"},
        {"CREATE INDEX theirs ON runs(seed) WHERE spec LIKE canonical", "index 'theirs'"},
        {"DROP INDEX one_current_result", "'one_current_result' is missing"},
        {"ALTER TABLE paper_cells RENAME TO kept_cells", "'paper_cells' is missing"},
    };
    char copy[TEST_PATH_BYTES + 64], sql[TEST_PATH_BYTES + 64];
    struct merge_result m;

    fixture_done(f, &f->train, 2.0, NULL);
    snprintf(copy, sizeof copy, "%s", fixture_path(f, "copy.db"));
    snprintf(sql, sizeof sql, "VACUUM INTO '%s'", copy);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        unlink(copy);
        fixture_raw(f->path, sql);
        fixture_raw(copy, rows[i].sql);
        fixture_refuse_open(f, copy, ERR_DATA, rows[i].word);
        assert_refused(f, ERR_DATA, rows[i].word, fixture_merge(f, &m, copy));
    }
    /* what users add */
    store_fixture_close(f);
    fixture_raw(f->path,
                "CREATE TABLE mine(x TEXT, y TEXT AS(x||x)); CREATE INDEX i ON mine(y,x||y);"
                "CREATE INDEX j ON runs(seed,spec); ALTER TABLE runs ADD COLUMN note TEXT");
    for (int mode = STORE_READ; mode <= STORE_WRITE; mode++) {
        store_fixture_open(f, (enum store_mode)mode);
        assert_works(f, store_check(f->store, &f->e));
        store_fixture_close(f);
    }
}

/* A foreign condition that takes hours, in a table that no statement of alibi reads. */
TEST_WITH(struct store_fixture *f, a_table_of_another_name_is_not_computed)
{
    fixture_raw(
        f->path,
        "CREATE TABLE theirs(x, CHECK((x LIKE '%'||hex(zeroblob(20000))||'1') IS NOT NULL));"
        "PRAGMA ignore_check_constraints=ON;"
        "INSERT INTO theirs VALUES(hex(zeroblob(400000)))");
    assert_works(f, store_check(f->store, &f->e));
}

TEST_WITH(struct store_fixture *f, another_makers_trigger_does_not_run)
{
    static const char *const triggers[] = {
        "CREATE TRIGGER theirs AFTER INSERT ON runs BEGIN DELETE FROM results; END",
        "DROP TRIGGER an_attempt_ends_once;"
        "CREATE TRIGGER an_attempt_ends_once AFTER UPDATE ON results BEGIN DELETE FROM runs; END",
    };
    struct store *s = NULL;
    struct spec other = fixture_train(SPEC_ALIBI, 64, 2);
    struct store_run run = {.spec = &other, .run_id = "0123456789abcdef", .config_id = "c"};

    fixture_done(f, &f->train, 2.0, NULL);
    fixture_raw(f->path, triggers[0]); /* while the writer is at work */
    assert_refused(f, ERR_DATA, "trigger", store_add_run(f->store, &run, &f->e));
    assert_cell(f, "SELECT count(*) FROM trainings", "1");
    store_fixture_close(f);
    for (size_t i = 0; i < sizeof triggers / sizeof *triggers; i++) {
        if (i) fixture_raw(f->path, triggers[i]);
        assert_refused(f, ERR_DATA, i ? "'an_attempt_ends_once'" : "'theirs'",
                       store_open(&s, f->path, STORE_WRITE, &f->e));
        store_fixture_open(f, STORE_READ); /* a reader runs none */
        assert_cell(f, "SELECT count(*) FROM trainings", "1");
        store_fixture_close(f);
        fixture_raw(f->path, "DROP TRIGGER IF EXISTS theirs");
    }
}
