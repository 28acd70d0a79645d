/* bench_gpu_table.c - prints a file of results as tables, by the statements of bench_gpu_table.sql;
 * the last line of a case counts. */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "bench/bench_gpu.h"
#include "shape/shape.h"

enum { TABLE_BYTES_MAX = 64 << 20 };

static const char *const statements[] = {
#include "bench/bench_gpu_table.inc"
};

/* peak_flops(gpu, precision) - NULL if unknown. */
static void peak_flops(sqlite3_context *context, int n, sqlite3_value **values)
{
    const char *gpu = (const char *)sqlite3_value_text(values[0]);
    const char *precision = (const char *)sqlite3_value_text(values[1]);
    bool bf16 = strcmp(precision, bench_precision_name(SPEC_BF16)) == 0;
    double flops = shape_peak_flops(gpu, bf16 ? SPEC_BF16 : SPEC_FP32);
    (void)n;
    if (flops > 0.0) sqlite3_result_double(context, flops);
}

static int print_row(void *unused, int n, char **values, char **names)
{
    (void)unused, (void)n, (void)names;
    puts(values[0]);
    return 0;
}

/* A line of bench_gpu is an object that names its case. */
static bool is_result(const char *line)
{
    json_t *json = json_loads(line, 0, NULL);
    const char *name = json_string_value(json_object_get(json, "case"));
    bool named = name && *name;
    json_decref(json);
    return named;
}

static int load_file(sqlite3 *db, const char *path, struct err *e)
{
    struct arena arena;
    sqlite3_stmt *insert = NULL;
    char *rest = NULL;
    int rc = 0;

    arena_init(&arena);
    TRY_OUT(rc, file_read(&arena, &rest, NULL, path, TABLE_BYTES_MAX, e));
    sqlite3_exec(db, "CREATE TABLE raw (number INTEGER PRIMARY KEY, json)", NULL, NULL, NULL);
    sqlite3_prepare_v2(db, "INSERT INTO raw VALUES (?1, ?2)", -1, &insert, NULL);
    for (int number = 1; rest; number++) {
        char *line = strsep(&rest, "\n");
        if (!*line) continue;
        if (!is_result(line)) {
            rc = ERR(e, ERR_DATA, "%s:%d: not a line of bench_gpu", path, number);
            goto out;
        }
        sqlite3_bind_int(insert, 1, number);
        sqlite3_bind_text(insert, 2, line, -1, SQLITE_STATIC);
        if (sqlite3_step(insert) != SQLITE_DONE) {
            rc = ERR(e, ERR_INTERNAL, "%s:%d: %s", path, number, sqlite3_errmsg(db));
            goto out;
        }
        sqlite3_reset(insert);
    }
out:
    sqlite3_finalize(insert);
    arena_fini(&arena);
    return rc;
}

int bench_table(const char *path, struct err *e)
{
    sqlite3 *db = NULL;
    int rc = 0;

    if (sqlite3_open(":memory:", &db) != SQLITE_OK ||
        sqlite3_create_function(db, "peak_flops", 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL,
                                peak_flops, NULL, NULL) != SQLITE_OK) {
        rc = ERR(e, ERR_NOMEM, "%s: no memory for its tables", path);
        goto out;
    }
    TRY_OUT(rc, load_file(db, path, e));
    for (size_t i = 0; rc == 0 && i < sizeof statements / sizeof *statements; i++)
        if (sqlite3_exec(db, statements[i], print_row, NULL, NULL) != SQLITE_OK)
            rc = ERR(e, ERR_INTERNAL, "%s: %s", path, sqlite3_errmsg(db));
out:
    sqlite3_close(db);
    return rc;
}
