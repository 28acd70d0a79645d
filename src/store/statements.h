/* statements.h - statements of a store and the values they bind, for src/store only.
 *
 * 1. SQL is constant text; values from outside are bound, never pasted.
 * 2. Statements are cached by the address of their text, which must live as long as the store.
 * 3. Transactions nest: the outermost is BEGIN IMMEDIATE, inner ones are savepoints.
 * 4. Rows of database_next are read to the end: a statement that stays open holds its transaction.
 */
#ifndef STORE_STATEMENTS_H
#define STORE_STATEMENTS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "record/fields.h"
#include "store/store.h"

/* Bound values. A number that is not finite and a text that is NULL become NULL. */
#define DATABASE_INT(v)                                                                            \
    ((struct record_value){.kind = RECORD_INT, .known = true, .integer = (int64_t)(v)})
#define DATABASE_REAL(v) ((struct record_value){.kind = RECORD_REAL, .known = true, .real = (v)})
#define DATABASE_TEXT(v) ((struct record_value){.kind = RECORD_TEXT, .known = true, .text = (v)})
#define DATABASE_NULL ((struct record_value){.known = false})
/* the number, or NULL for 0 */
#define DATABASE_POSITIVE(v)                                                                       \
    ((struct record_value){.kind = RECORD_INT, .known = (v) != 0, .integer = (int64_t)(v)})
#define DATABASE_VALUES(...)                                                                       \
    (const struct record_value[]){__VA_ARGS__},                                                    \
        (int)(sizeof((const struct record_value[]){__VA_ARGS__}) / sizeof(struct record_value))

/* Now, as clock_utc writes it. */
#define DATABASE_NOW "strftime('%Y-%m-%dT%H:%M:%SZ','now')"

/* database_run - runs a statement without rows. Values are bound from ?1 on, as many as the
 * statement has parameters. */
#define DATABASE_RUN(s, e, sql, ...) database_run((s), (sql), DATABASE_VALUES(__VA_ARGS__), (e))
int database_run(struct store *s, const char *sql, const struct record_value *values, int n,
                 struct err *e);
/* The destination of a row's column: a bool, int32_t, int64_t or double, 0 for NULL; an array of
 * char, truncated, or a const char *, in the store's arena, both "" for NULL. */
struct database_column {
    char type;
    void *to;
    size_t bytes;
};
#define DATABASE_TO(x)                                                                             \
    ((struct database_column){_Generic((x),                                                        \
                                  bool: 'b',                                                       \
                                  int32_t: 'w',                                                    \
                                  int64_t: 'i',                                                    \
                                  double: 'r',                                                     \
                                  char *: 't',                                                     \
                                  const char *: 's'),                                              \
                              &(x), sizeof(x)})
#define DATABASE_COLUMNS(...)                                                                      \
    (const struct database_column[]){__VA_ARGS__},                                                 \
        (int)(sizeof((const struct database_column[]){__VA_ARGS__}) /                              \
              sizeof(struct database_column))

/* database_get - the first row of a statement: 1; without a row 0, and the columns are 0 or NULL.
 * database_select, database_next - each row: 1, then 0. */
int database_get(struct store *s, const char *sql, const struct record_value *values, int values_n,
                 const struct database_column *column, int columns_n, struct err *e);
int database_select(struct store *s, sqlite3_stmt **out, const char *sql,
                    const struct record_value *values, int n, struct err *e);
int database_next(struct store *s, sqlite3_stmt *statement, const struct database_column *column,
                  int n, struct err *e);
/* DATABASE_EXISTS - whether a statement has a row: 1 or 0. DATABASE_NUMBER - its first column. */
#define DATABASE_EXISTS(s, e, sql, ...)                                                            \
    database_get((s), (sql), DATABASE_VALUES(__VA_ARGS__), NULL, 0, (e))
#define DATABASE_NUMBER(s, x, e, sql)                                                              \
    database_get((s), (sql), NULL, 0, DATABASE_COLUMNS(DATABASE_TO(x)), (e))

/* database_script - several statements of constant text. */
int database_script(struct store *s, const char *sql, struct err *e);

/* database_forget_statements - frees the cached statements. */
void database_forget_statements(struct store *s);

/* database_error - the connection's error as an ERR_ code, with a message that names the file. */
int database_error(struct store *s, int sqlite_code, struct err *e);
/* database_replaced_error - the file was deleted or replaced while it was open. */
int database_replaced_error(const struct store *s, struct err *e);

#endif
