/* test_seeds.c - every seed of every fuzz target is read without a fault: well-formed files, and
 * those that once crashed a reader. */
#include "harness/test.h"

#include <sqlite3.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/log.h"
#include "fuzz/targets.h"
#include "store/schema.h"

enum { SEED_BYTES_MAX = 1 << 24 };

static const char database_seed[] = "tests/fuzz/seeds/database/small";

TEST(every_seed_of_every_target_is_read)
{
    int32_t seeds_n = 0;

    for (int32_t i = 0; i < fuzz_targets_n; i++) {
        struct arena a;
        struct dir d;
        char folder[128];
        snprintf(folder, sizeof folder, "tests/fuzz/seeds/%s", fuzz_targets[i].name);
        arena_init(&a);
        assert_ok(dir_open(&d, folder, &e));
        assert_true(d.n > 0);
        for (int32_t k = 0; k < d.n; k++) {
            char *bytes, *path = arena_printf(&a, "%s/%s", folder, d.name_own[k]);
            size_t n;
            assert_ok(file_read(&a, &bytes, &n, path, SEED_BYTES_MAX, &e));
            fuzz_target_read(&fuzz_targets[i], (const uint8_t *)bytes, n);
        }
        seeds_n += d.n;
        dir_close(&d);
        arena_fini(&a);
    }
    print_message("%d faults injected\n", seeds_n);
}

/* Lets the tables take NULL, sets a column, and puts their text back. */
static const char set_null[] =
    "PRAGMA ignore_check_constraints=ON;"
    "CREATE TEMP TABLE kept AS SELECT name, sql FROM main.sqlite_schema WHERE type='table';"
    "PRAGMA writable_schema=ON;"
    "UPDATE sqlite_schema SET sql=replace(replace(replace(replace(sql,'TEXT NOT NULL','TEXT'),"
    "'INTEGER NOT NULL','INTEGER'),'STRICT, ',''),') STRICT',')') WHERE type='table';"
    "PRAGMA writable_schema=RESET;"
    "UPDATE %s SET %s=NULL;"
    "PRAGMA writable_schema=ON;"
    "UPDATE sqlite_schema SET sql=(SELECT k.sql FROM temp.kept k WHERE k.name=tbl_name)"
    " WHERE type='table';"
    "PRAGMA writable_schema=RESET";

/* Every command reads the file with NULL in this column of every row. */
static void read_with_null(const char *path, const char *table, const char *column)
{
    struct arena a;
    struct err e = {0};
    sqlite3 *raw = NULL;
    char *bytes;
    size_t n;

    arena_init(&a);
    assert_ok(file_read(&a, &bytes, &n, database_seed, SEED_BYTES_MAX, &e));
    test_write(path, bytes, n);
    assert_int_equal(sqlite3_open(path, &raw), SQLITE_OK);
    char *why = NULL, *sql = arena_printf(&a, set_null, table, column);
    assert_int_equal(sqlite3_exec(raw, "DROP TRIGGER an_attempt_ends_once", NULL, NULL, NULL),
                     SQLITE_OK);
    if (sqlite3_exec(raw, sql, NULL, NULL, &why) != SQLITE_OK)
        fail_msg("%s.%s: %s", table, column, why);
    assert_int_equal(sqlite3_exec(raw, schema_trigger, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(raw);
    assert_ok(file_read(&a, &bytes, &n, path, SEED_BYTES_MAX, &e));
    for (int32_t way = 0; way < fuzz_database_ways; way++)
        fuzz_database((const uint8_t *)bytes, n, way, &a, &e);
    arena_fini(&a);
}

/* The columns that the schema never lets be NULL, in a file whose schema is right. */
TEST(a_null_where_the_schema_has_none_crashes_no_command)
{
    /* SQLite itself keeps NULL out of the key of a table without rowids. */
    static const char columns[] =
        "SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c"
        " WHERE t.type='table' AND c.\"notnull\""
        " AND NOT (c.pk AND t.sql LIKE '%WITHOUT ROWID')";
    char dir[TEST_PATH_BYTES], path[TEST_PATH_BYTES + 16];
    sqlite3 *raw = NULL;
    sqlite3_stmt *row = NULL;
    int32_t columns_n = 0;

    test_folder(dir);
    snprintf(path, sizeof path, "%s/x.db", dir);
    log_set_level(LOG_QUIET);
    assert_int_equal(sqlite3_open_v2(database_seed, &raw, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(raw, columns, -1, &row, NULL), SQLITE_OK);
    for (; sqlite3_step(row) == SQLITE_ROW; columns_n++)
        read_with_null(path, (const char *)sqlite3_column_text(row, 0),
                       (const char *)sqlite3_column_text(row, 1));
    sqlite3_finalize(row);
    sqlite3_close(raw);
    log_set_level(LOG_INFO);
    assert_in_range(columns_n, 30, 100);
    test_folder_remove(dir);
}
